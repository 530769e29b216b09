"""The sentence that says what a component is or does: no result, no pointer elsewhere, no example."""

from __future__ import annotations

import re
from collections.abc import Sequence

from phases.planning.rules.cues import says_what_is_done, why_not
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BACKGROUND, BUILD, MIXED, SETUP, Section
from phases.planning.rules.sentences import is_whole, leans_on

_LONGEST_TOLD, _LONG = 400, 260
_IS = re.compile(
    r"\)? ?(?:is|are|was|consists?|contains?|maintains?|keeps?|holds?|stores?|takes?|maps?|returns?|computes?|represents?"
    r"|decides?|selects?|sends?|performs?|divides?|splits?|requires?|uses?|finds?|works|assumes?|estimates?|runs?)\b"
)
_INTRODUCED = re.compile(
    r"\b(?:call(?:ed)?|named?|term(?:ed)?|dubbed|known as|(?:we|section|paper) (?:\w+ )?(?:propose|introduce|use|employ|define"
    r"|maintain|build|construct|design|compute|describe)s?|to (?:compute|construct|build|find|obtain)) (?:\w+ ){0,3}$",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\bthan\b(?! (?:or equal|the (?:threshold|number)))")
_OF_OTHERS = re.compile(
    r"\bbaselines?\b|\bcompared methods\b|\bcompetitors\b|\bcomparison (?:methods|partners)\b", re.IGNORECASE
)
_MACHINE = re.compile(r"\b(?:[GT]B|GHz|cores|equipped with|(?:run|performed|conducted) on (?:an?|the))\b")
_EXAMPLE = re.compile(
    r"\bfor example\b|\bfor instance\b|\be\.g\.|^(?:consider|suppose|in this (?:section|paper)|section)\b",
    re.IGNORECASE,
)


def find_telling(names: Sequence[str], section: Section, label: str, paper: PaperText) -> Sentence | None:
    """The sentence that tells best what has these names, or the algorithm of this label; None where none tells it.

    Its own section counts for more than others.
    """
    forms = [name.lower().removesuffix("s") if len(name) > 4 else name.lower() for name in names]
    forms += [label.lower()] if label else []
    best, most = None, 0.0
    before: Sentence | None = None
    for sentence in paper.sentences:
        if sentence.role not in (BUILD, SETUP, MIXED, BACKGROUND) or len(sentence.text) > _LONGEST_TOLD:
            continue
        if is_of_others(sentence.section):
            continue
        said = sentence.text.lower()
        found = [form for form in forms if form in said]
        if not found:
            continue
        points = max(_tells(sentence, form) for form in found)
        points += 0.6 * (sentence.section["id"] == section["id"]) + 0.3 * (sentence.role == BUILD)
        if sentence.role == BACKGROUND:
            before = before or (sentence if points > 1 else None)
        elif points > most:
            best, most = sentence, points
    return best or before


def is_of_others(section: Section) -> bool:
    """Whether a section is about what the method is compared with."""
    return bool(_OF_OTHERS.search(str(section["title"])))


def find_first(section: Section, paper: PaperText) -> Sentence | None:
    """The first sentence of a section that says what is done and stands by itself: what a heading is told by at last."""
    return next(
        (
            one
            for one in paper.sentences
            if one.section["id"] == section["id"]
            and says_what_is_done(one.text)
            and _is_finished(one)
            and not why_not(one.text)
            and not leans_on(one.text)
        ),
        None,
    )


def _is_finished(one: Sentence) -> bool:
    return is_whole(one.text) or bool(one.formula)


def _tells(sentence: Sentence, form: str) -> float:
    """How well a sentence tells what this name stands for."""
    said = sentence.text.lower()
    led = re.match(rf"{re.escape(form)}s?[:.] ", said)
    said = said[led.end() :] if led and form in said[led.end() :] else said  # "Encoder: The encoder is"
    match = re.search(rf"(?<![\w-]){re.escape(form)}(?:e?s)?(?![\w])", said)
    if match is None:
        return -9.0
    before, after = said[: match.start()], said[match.end() :]
    points = 1.0
    if len(before.split()) < 2 or re.fullmatch(r"(?:the|our|an?|each|every|this) (?:[\w-]+ )?", before):
        points += 2.0 * bool(_IS.match(after)) + 0.3
    points += 1.2 * bool(_INTRODUCED.search(before)) + 0.3 * says_what_is_done(sentence.text)
    why = why_not(sentence.text)
    points -= {"": 0.0, "result": 2.5, "of authors": 3.0, "no sentence": 3.0}.get(why, 1.2)
    points -= 0.5 * leans_on(sentence.text) + 1.2 * (not _is_finished(sentence)) + 0.8 * bool(_EXAMPLE.search(said))
    points -= 1.5 * bool(_COMPARED.search(said)) + 2.0 * (
        sentence.role != BUILD and bool(_MACHINE.search(sentence.text))
    )
    return points - 0.3 * (len(said) > _LONG)
