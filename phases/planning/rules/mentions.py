"""The data sets, metrics and baselines that a paper names, each with the place where it does."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from phases.planning.rules.known_names import (
    KNOWN_DATA,
    KNOWN_MACHINES,
    KNOWN_METHODS,
    KNOWN_METRICS,
    KNOWN_MODELS,
    WIDE_METRICS,
)
from phases.planning.rules.name_candidates import Candidate, key_of_name
from phases.planning.rules.name_patterns import LIKE_A_METRIC
from phases.planning.rules.name_weights import WEIGHTS
from phases.planning.rules.passages import Sentence
from phases.planning.rules.tables import SETTING_NAME

DATASETS, METRICS, BASELINES = KINDS = ("datasets", "metrics", "baselines")
_LIKELY = {DATASETS: 0.4, METRICS: 0.35, BASELINES: 0.35}
_MOST = {DATASETS: 14, METRICS: 8, BASELINES: 16}
_FEWEST, _POSSIBLE = 3, {DATASETS: 0.25, METRICS: 0.2, BASELINES: 0.2}
"""So many are told where they are possible, if not likely: what is measured is compared, but not always on data."""
_SURE = 0.7
_COMPARED = {"section on baselines", "a heading below baselines", "begins an item of baselines"}
"""Where a part of the method does not stand: what is named there is compared with."""
_OFTENER, _QUOTE = 3, 200
_NAMELESS = re.compile(
    r"(?:(?:competitive|strong(?:er|est)?|simple|standard|common|existing|other|previous|prior|recent|best|better|main"
    r"|various|several|different|similar|corresponding|respective|against|sampling|outperforming|target-setting)[ -])+"
    r"(?:baseline|heuristic|method|approach|model|algorithm)(?:e?s)?",
    re.IGNORECASE,
)
"""What says how good something is, and not what it is called."""
_AVERAGED = re.compile(r"(?:average|mean|median|final|total|top-[15]|overall) ", re.IGNORECASE)


_LISTED = 1.0
"""Points of a baseline for standing in one list with a likely one: "we compare with A, B and C"."""
_FEW, _MANY, _NAMES_KEPT = 2, 5, 4096
_WIDE_SIGNS = ("section: ", "sentence: ", "before: a part of it", "before: used", "before: written in", "after: a number",
               "after: is a", "after: a library")  # fmt: skip
"""Signs that a name said often is bound to have somewhere: they count where half of its places have them."""


class Mention(NamedTuple):
    """A name, and the sentence that has it."""

    name: str
    sentence: Sentence
    is_sure: bool = True
    """Whether it is likely of its kind, and not only more likely than the other names."""


def find_mentions(
    kind: str, found: Sequence[Candidate], own: Iterable[str] = (), parts: Iterable[str] = ()
) -> list[Mention]:
    """The names of one of KINDS among those of a paper: none of its `own`, and of `parts` of its method only those that are sure.

    Each has the place that says most of it.
    """
    mine, built = ({key_of_name(name) for name in names} for names in (own, parts))
    chosen = [
        (one, chance)
        for one, chance in choose_names(kind, found, WEIGHTS)
        if (key := key_of_name(one.name)) not in mine
        and (key not in built or chance > _SURE or _COMPARED & one.cues.keys())
    ]
    return [
        Mention(one.name, max(one.sentences, key=lambda place: place[0])[1], chance > _LIKELY[kind])
        for one, chance in chosen
    ]


def choose_names(
    kind: str, found: Sequence[Candidate], weights: Mapping[str, Mapping[str, float]]
) -> list[tuple[Candidate, float]]:
    """Those that are likely of this kind, and of no other more so, each with how likely; of a name's forms one."""
    likely: list[tuple[float, int]] = []
    for at, chances in enumerate(_weigh_names(found, weights)):
        is_called = kind != BASELINES or not _NAMELESS.fullmatch(found[at].name)
        if is_called and chances[kind] > _POSSIBLE[kind] and chances[kind] >= max(chances.values()):
            likely.append((chances[kind], at))
    likely.sort(key=lambda pair: -pair[0])
    best = [
        (found[at], chance)
        for place, (chance, at) in enumerate(likely[: _MOST[kind]])
        if chance > _LIKELY[kind] or place < _FEWEST
    ]
    kept = [row for row in best if not any(_is_form_of(row[0], other) for other, _ in best if other is not row[0])]
    return sorted(kept, key=lambda row: found.index(row[0]))


def _weigh_names(found: Sequence[Candidate], weights: Mapping[str, Mapping[str, float]]) -> list[dict[str, float]]:
    """How likely each name is of each kind, by its own signs; a baseline by those of the names that it is listed with, too."""
    points = [
        {kind: sum(counted.get(cue, 0.0) for cue in cues) for kind, counted in weights.items()}
        for cues in (dict.fromkeys(cues_of_candidate(one)) for one in found)
    ]
    places = {key_of_name(name): at for at, one in enumerate(found) for name in one.spellings}
    compared = {key for key, at in places.items() if points[at][BASELINES] > 0}
    for one, told in zip(found, points, strict=True):
        if compared & one.beside - {key_of_name(name) for name in one.spellings} and not (one.is_own or one.has_own):
            told[BASELINES] += _LISTED
    return [{kind: 1 / (1 + math.exp(-said)) for kind, said in told.items()} for told in points]


def _is_form_of(one: Candidate, other: Candidate) -> bool:
    """Whether a name is another without its number or year (ImageNet and ImageNet-1K), or a wider word for it."""
    if re.fullmatch(rf"{re.escape(one.name)}(?:[ -]|(?<![0-9]))v?[0-9]\S*", other.name, re.IGNORECASE):
        return True
    if _AVERAGED.match(one.name) and one.name.endswith(f" {other.name}"):
        return True
    is_longer = other.name.endswith(f" {one.name}") and not _AVERAGED.match(other.name)
    return is_longer and one.places < _OFTENER * other.places


def cues_of_candidate(one: Candidate) -> Iterator[str]:
    """The signs of a name, in words; the names in name_weights.py."""
    yield "any"
    for cue, count in one.cues.items():
        if count * 2 >= one.places or cue.endswith("we compare") or not cue.startswith(_WIDE_SIGNS):
            yield cue
    yield f"said: {'once' if one.places < _FEW else 'some times' if one.places < _MANY else 'often'}"
    yield from _cues_of_shape(one.name)
    if one.is_word:
        yield "name: a word of the text"
    if one.is_own:
        yield "the paper's own"
    elif one.has_own:
        yield "name: has the paper's own"


@lru_cache(_NAMES_KEPT)
def _cues_of_shape(name: str) -> tuple[str, ...]:
    return tuple(_read_shape(name))


def _read_shape(name: str) -> Iterator[str]:
    words = name.split()
    known = (
        ("data", KNOWN_DATA), ("method", KNOWN_METHODS), ("model", KNOWN_MODELS), ("machine", KNOWN_MACHINES),
        ("metric", KNOWN_METRICS),
    )  # fmt: skip
    for kind, pattern in known:
        if match := pattern.search(name):
            is_wide = kind == "metric" and WIDE_METRICS.match(name)
            whole = match.start() == 0 and re.fullmatch(r"[ -]?v?[0-9.]*|s", name[match.end() :])
            yield "a wide metric" if is_wide else f"known {kind}" if whole else f"has a known {kind}"
    yield f"name: {len(words) if len(words) < 4 else 'many'} words"
    if name.islower():
        yield "name: small letters"
    elif name.isupper():
        yield "name: capitals"
    elif re.search(r"[a-z][A-Z]|[A-Z]{2}", name):
        yield "name: capitals inside"
    elif len(words) == 1 and re.fullmatch(r"[A-Z][a-z]+", name):
        yield "name: a plain word"
    elif len(words) > 1 and all(word[:1].isupper() for word in words):
        yield "name: plain words with capitals"
    if re.search(r"\d", name):
        yield "name: a digit"
    if "+" in name or "w/" in name:
        yield "name: with a plus"
    if LIKE_A_METRIC.search(name):
        yield "name: like a metric"
    if re.search(
        r"(?:method|policy|algorithm|allocator|attention|baseline|strategy|heuristic|classifier|hash|tree)s?$",
        name,
        re.IGNORECASE,
    ):
        yield "name: like a method"
    if re.search(r"(?:task|game|equation|problem|corpus|corpora|data ?set|bank|bench|trace)s?$", name, re.IGNORECASE):
        yield "name: like data"
    if SETTING_NAME.match(name):
        yield "name: like a setting"
    if " al." in name:
        yield "name: authors"


def mention_row(one: Mention) -> dict[str, Any]:
    """A mention as the plan has it."""
    source = one.sentence
    return {
        "name": one.name,
        "source": {
            "section": source.section["number"] or source.section["title"] or None,
            "page": source.page,
            "quote": source.text[:_QUOTE],
        },
    }
