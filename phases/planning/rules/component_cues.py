"""How likely a name is that of a part which has to be built: what speaks for it and against it in words, weighed.

The weights were learnt from gold that was made by hand (benchmarks/planning/learn_components.py, decision 310).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from phases.planning.rules.component_names import HEAD_KINDS, WORDS_OF_PAPERS, is_wide, name_words
from phases.planning.rules.component_phrases import VERB, Phrase
from phases.planning.rules.component_readings import Offer
from phases.planning.rules.component_weights import WEIGHTS
from phases.planning.rules.passages import PaperText
from phases.planning.rules.sections import BACKGROUND, BUILD, MIXED, RESULTS, SETUP
from phases.readers.line_patterns import ABSTRACT, plain_title

_STEPS = (
    (0, "none"),
    (1, "one"),
    (2, "two"),
    (4, "3 or 4"),
    (8, "5 to 8"),
    (16, "9 to 16"),
    (math.inf, "more than 16"),
)
_SURE_READINGS = ("an algorithm", "a heading of build", "proposed", "called", "abbreviated", "a run-in heading")
_SHARES = (
    ("determiner", 0.5),
    ("deed", 0.1),
    ("cited", 0.15),
    ("defined", 0.1),
    ("capital", 0.5),
    ("instrument", 0.2),
    ("agent", 0.15),
    ("subject", 0.2),
)


@dataclass
class Candidate:
    """A name that may be a component's, with every place where the paper offers it."""

    name: str
    offers: list[Offer] = field(default_factory=list)
    shorts: list[str] = field(default_factory=list)
    """Its abbreviations."""

    @property
    def algorithm(self) -> str:
        return next((offer.algorithm for offer in self.offers if offer.algorithm), "")


@dataclass(frozen=True)
class PaperSigns:
    """What is looked up for each name: texts in the words of name_words, each with a blank before and behind it."""

    title: str
    abstract: str
    headings: str
    captions: str
    listings: str
    by_section: tuple[tuple[str, str], ...]
    """Role and text of each section."""
    phrases: dict[str, Phrase]
    ranks: dict[int, list[int]]
    """Number of words -> how often each phrase of as many is said where something is made."""
    often: Counter[str]
    """The last word of phrases that are said twice at least where something is made -> how many have words before it."""
    by_head: dict[str, list[Phrase]]
    """The last word of phrases -> the phrases: each name is looked up among its own kind alone."""
    data: frozenset[str]
    own: frozenset[str]
    """Names of data sets and metrics, and of the method itself, as keys."""


def read_signs(paper: PaperText, phrases: dict[str, Phrase], data: Iterable[str], own: Iterable[str]) -> PaperSigns:
    outline = paper.outline
    texts: dict[str, list[str]] = {}
    for sentence in paper.sentences:
        texts.setdefault(sentence.section["id"], []).append(sentence.text)
    titles = {section["id"]: section["title"] for section in outline["sections"]}
    front = [" ".join(said) for name, said in texts.items() if plain_title(titles.get(name, "")) in ABSTRACT]
    return PaperSigns(
        _in_words([str(outline.get("title") or "")]),
        _in_words([str(outline.get("abstract") or ""), *front]),
        _in_words(titles.values()),
        _in_words(str(row["text"]) for kind in ("figures", "tables") for row in outline.get(kind, ())),
        _in_words([*(str(row["text"]) for row in outline["algorithms"]), *(text for text, _, _ in paper.listings)]),
        tuple((paper.roles.get(name, ""), _in_words(said)) for name, said in texts.items()),
        phrases,
        {
            number: [one.said for one in phrases.values() if min(len(one.key.split()), 4) == number]
            for number in range(5)
        },
        Counter(key.rpartition(" ")[2] for key, one in phrases.items() if one.said > 1 and " " in key),
        _by_head(phrases),
        *(frozenset(" ".join(name_words(name)) for name in names) for names in (data, own)),
    )


def _by_head(phrases: dict[str, Phrase]) -> dict[str, list[Phrase]]:
    found: dict[str, list[Phrase]] = {}
    for one in phrases.values():
        found.setdefault(one.key.rpartition(" ")[2], []).append(one)
    return found


def _in_words(texts: Iterable[str]) -> str:
    return " | ".join(f" {' '.join(name_words(text))} " for text in texts)


def likelihood_of(cues: Iterable[str]) -> float:
    """How likely it is that what has these cues is a component: 0 to 1."""
    return 1 / (1 + math.exp(-sum(WEIGHTS.get(cue, 0.0) for cue in cues)))


def cues_of(one: Candidate, signs: PaperSigns) -> list[str]:
    """All cues of a name."""
    words = name_words(one.name)
    keys = [" ".join(words), *(" ".join(name_words(short)) for short in one.shorts)]
    return [
        "any name",
        *_cues_of_readings(one),
        *_cues_of_words(one.name, words),
        *_cues_of_places(keys, signs),
        *_cues_of_use(keys[0], signs),
    ]


def _cues_of_readings(one: Candidate) -> Iterator[str]:
    readings = {
        f"{offer.reading}{' of others' if offer.sentence and offer.sentence.role == BACKGROUND else ''}"
        for offer in one.offers
    }
    size = min(len(one.name.split()), 3)
    for reading in sorted(readings):
        yield f"read as {reading}"
        yield f"{size} words, read as {reading}"
    yield f"readings: {min(len(readings), 5)}"
    yield f"sure readings: {min(len(readings.intersection(_SURE_READINGS)), 3)}"
    if one.shorts:
        yield "name: has an abbreviation"
    yield f"first in: a section of level {one.offers[0].section['level']}"


def _cues_of_words(name: str, words: list[str]) -> Iterator[str]:
    yield f"name: {min(len(words), 5)} words"
    head = words[-1] if words else ""
    if len(words) > 1:
        yield f"first word ends in: {_ending(words[0])}"
        if VERB.fullmatch(words[0]):
            yield "first word: a deed"
        if any(VERB.fullmatch(word) for word in re.findall(r"\w+", name.lower())[1:-1]):
            yield "inner word: a deed"
    if VERB.fullmatch(re.findall(r"\w+", name.lower())[-1]):
        yield "head: a deed"
    kinds = [kind for kind, heads in HEAD_KINDS.items() if head in heads]
    yield from (f"head: {kind}" for kind in kinds or ["unknown"])
    yield f"head ends in: {_ending(head)}"
    yield from (f"word of papers: {kind}" for kind, pattern in WORDS_OF_PAPERS if pattern.search(name))
    if re.search(r"[a-z][A-Z]|[A-Z]{2}", name):
        yield f"name: capitals inside, {min(len(name.split()), 3)} words"
    elif name[:1].isupper() and len(name.split()) > 1 and all(word[0].isupper() for word in name.split()):
        yield "name: capitals"
    elif name[:1].isupper():
        yield "name: a capital"
    if "-" in name:
        yield "name: a hyphen"
    if any(is_wide(word) for word in words):
        yield "name: a wide word"
    if is_wide(head):
        yield "head: a wide word"


def _ending(word: str) -> str:
    endings = ("tion", "sion", "ing", "ment", "er", "or", "ity", "ness", "ance", "ence", "ed", "ly", "al", "ic", "ive")
    return next((ending for ending in endings if word.endswith(ending) and len(word) > len(ending) + 2), "none")


def _cues_of_places(keys: list[str], signs: PaperSigns) -> Iterator[str]:
    def count(text: str) -> int:
        return sum(text.count(f" {key} ") for key in keys)

    for place in ("title", "abstract", "headings", "captions", "listings"):
        if found := count(getattr(signs, place)):
            yield f"in the {place}"
            if found > 2:
                yield f"often in the {place}"
    by_role: Counter[str] = Counter()
    sections = 0
    for role, text in signs.by_section:
        if found := count(text):
            by_role[role] += found
            sections += role in (BUILD, SETUP, MIXED)
    yield f"sections that say it: {min(sections, 5)}"
    for role in (BUILD, SETUP, MIXED, RESULTS, BACKGROUND):
        yield f"said in {role}: {_step(by_role[role])}"
    made = by_role[BUILD] + by_role[SETUP] + by_role[MIXED]
    number = min(len(keys[0].split()), 4)
    yield f"{number} words, said {_step(made)}"
    yield f"others of its kind: {_step(signs.often[keys[0].rpartition(' ')[2]])}"
    rank = sum(count > made for count in signs.ranks[number])
    yield f"{min(number, 3)} words, rank {_step(rank)}"
    for name, keys_of in (("data", signs.data), ("own", signs.own)):
        if keys_of.intersection(keys):
            yield f"one of {name}"
        elif any(f" {other} " in f" {key} " for other in keys_of for key in keys):
            yield f"has one of {name} in it"
    yield f"said where it is made: {_step(made)}"
    if made and by_role[BUILD] >= 0.5 * sum(by_role.values()):
        yield "mostly said where it is built"


def _cues_of_use(key: str, signs: PaperSigns) -> Iterator[str]:
    phrase = signs.phrases.get(key)
    if phrase is None:
        yield "in sentences: no phrase"
        return
    total = sum(phrase.spellings.values())
    yield f"in sentences: alone {_step(phrase.counts['alone'])}"
    yield from (f"in sentences: {sign}" for sign, share in _SHARES if phrase.counts[sign] > share * total)
    for sign in ("deed", "subject", "agent", "instrument", "our", "formula", "defined"):
        if phrase.counts[sign]:
            yield f"in sentences: {sign}, {'once' if phrase.counts[sign] == 1 else 'again'}"
    longer = [other for other in signs.by_head[key.rpartition(" ")[2]] if other.key.endswith(f" {key}")]
    if any(sum(other.spellings.values()) > 0.6 * total for other in longer):
        yield "in sentences: part of a longer name"
    shorter = signs.phrases.get(key.partition(" ")[2])
    if shorter is not None and sum(shorter.spellings.values()) > 3 * total:
        yield "in sentences: a kind of something"


def _step(number: int) -> str:
    return next(name for most, name in _STEPS if number <= most)
