"""The data sets, metrics and baselines that a paper names, each with the place where it does."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.planning.rules.name_candidates import Candidate, cues_of_candidate, key_of_name
from phases.planning.rules.name_weights import WEIGHTS
from phases.planning.rules.passages import Sentence

DATASETS, METRICS, BASELINES = KINDS = ("datasets", "metrics", "baselines")
_LIKELY = {DATASETS: 0.4, METRICS: 0.35, BASELINES: 0.35}
_MOST = {DATASETS: 14, METRICS: 8, BASELINES: 16}
_FEWEST, _POSSIBLE = 3, 0.2
"""So many are told where they are possible, if not likely."""
_OFTENER, _QUOTE = 3, 200
_AVERAGED = re.compile(r"(?:average|mean|median|final|total|top-[15]|overall) ", re.IGNORECASE)


class Mention(NamedTuple):
    """A name, and the sentence that has it."""

    name: str
    sentence: Sentence


def find_mentions(kind: str, found: Sequence[Candidate], others: Iterable[str] = ()) -> list[Mention]:
    """The names of one of KINDS among those of a paper, without `others`, each with the place that says most of it."""
    taken = {key_of_name(name) for name in others}
    chosen = [one for one in choose_names(kind, found, WEIGHTS) if key_of_name(one.name) not in taken]
    return [Mention(one.name, max(one.sentences, key=lambda place: place[0])[1]) for one in chosen]


def choose_names(kind: str, found: Sequence[Candidate], weights: Mapping[str, Mapping[str, float]]) -> list[Candidate]:
    """Those that are more likely than not of this kind, and of no other more so; the likeliest of a name's forms."""
    likely: list[tuple[float, int]] = []
    for at, one in enumerate(found):
        cues = list(dict.fromkeys(cues_of_candidate(one)))
        chances = {name: _likelihood(cues, counted) for name, counted in weights.items()}
        if chances[kind] > _POSSIBLE and chances[kind] >= max(chances.values()):
            likely.append((chances[kind], at))
    likely.sort(key=lambda pair: -pair[0])
    best = [
        found[at]
        for place, (chance, at) in enumerate(likely[: _MOST[kind]])
        if chance > _LIKELY[kind] or place < _FEWEST
    ]
    kept = [one for one in best if not any(_is_form_of(one, other) for other in best if other is not one)]
    return sorted(kept, key=found.index)


def _likelihood(cues: Iterable[str], weights: Mapping[str, float]) -> float:
    return 1 / (1 + math.exp(-sum(weights.get(cue, 0.0) for cue in cues))) if weights else 0.0


def _is_form_of(one: Candidate, other: Candidate) -> bool:
    """Whether a name is another without its number or year (ImageNet and ImageNet-1K), or a wider word for it."""
    if re.fullmatch(rf"{re.escape(one.name)}(?:[ -]|(?<![0-9]))v?[0-9]\S*", other.name, re.IGNORECASE):
        return True
    if one.name.endswith(f" {other.name}"):
        return bool(_AVERAGED.match(one.name)) or other.places >= _OFTENER * one.places
    return (
        other.name.endswith(f" {one.name}") and not _AVERAGED.match(other.name) and one.places < _OFTENER * other.places
    )


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
