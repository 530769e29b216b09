"""What a sentence sets: a number or a word, what it is called, and the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from phases.planning.rules.numbers import Scalar, fold, join_thousands, parse_value, part_units, without_pointers
from phases.planning.rules.value_names import words_before
from phases.planning.rules.value_patterns import (
    GOES_ON,
    LISTED,
    LONGEST_QUOTE,
    ONE,
    UNIT_AFTER,
)
from phases.planning.rules.value_readings import Reading, readings_of

LOOSE = "loose"
_TIMELESS = re.compile(
    r"\b(?:size|rate|number of .*|dimension|layers|heads|width|depth|seed|momentum|dropout|weight|ratio|rank)s?$",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?:ms|[µμun]s|s|secs?|seconds?|mins?|minutes?|hours?|days?|weeks?)\b")
"""No unit of what has no time in it: an "s" behind a batch size is torn from a word."""
_TWO_CASES = re.compile(
    rf" and ({ONE})(?: [a-z][a-z-]{{1,20}}){{0,2}} (for|on|in) "
    r"([^\s,.;][^,.;=]{0,40}?) and ([^\s,.;][^,.;=]{0,40}?),? respectively\b"
)
"""What goes on behind a number with another of the same, and the case of each: "4 and 2 tasks for 1-shot and 5-shot training"."""
_ROOM = 60
_LONGEST = 2_000
"""Characters of a sentence. What is longer is a list or a dump that nobody set a value by, and some patterns take its square."""


@dataclass(frozen=True)
class Value:
    """Something that a sentence sets, and the words that say so."""

    name: str
    value: Scalar | tuple[Scalar, ...]
    quote: str
    symbol: str = ""
    unit: str = ""
    start: int = 0
    end: int = 0
    """Where the value stands in its sentence."""
    condition: str = ""
    case: str = ""
    """Which of several named things it belongs to: "3 and 5 layers for MNIST and SVHN, respectively"."""
    reading: str = ""
    """The way in which it was found."""
    printed: str = ""
    """As the paper writes it, with plain signs for formulas: 10^-4, 36M, two."""
    before: str = ""
    after: str = ""
    """What stands beside it in its sentence, with plain signs for formulas."""


def values_in(text: str) -> list[Value]:
    """What one sentence or list item sets by its words alone, from left to right."""
    return [one for one in candidates_in(text) if one.reading != LOOSE]


def candidates_in(text: str) -> list[Value]:
    """What a sentence may set, from left to right: each number with a name; of two readings of one the first rule's holds.

    Nothing of a text that is longer than any sentence.
    """
    if len(text) > _LONGEST:
        return []
    read, places = part_units(*join_thousands(*fold(text)))
    read = without_pointers(read)
    taken: list[tuple[int, int, str]] = []
    found: list[Value] = []
    for reading in readings_of(read):
        for one in _apart(reading, read):
            place = (one.start, one.end, one.kind if one.kind == "signs" else one.name)
            is_chained = one.kind == "signs" and place in taken  # d_k = d_v = 64 are two
            if not is_chained and any(start < one.end and one.start < end for start, end, _ in taken):
                continue
            taken.append(place)
            if not one.name:
                continue
            quote = _quote(text, places[one.first], places[one.end])
            found.append(
                Value(
                    one.name,
                    one.value,
                    quote,
                    one.symbol,
                    one.unit or _unit_behind(one, read),
                    places[one.start],
                    places[one.end],
                    one.condition,
                    one.case,
                    one.kind,
                    " ".join(read[one.start : one.end].split()),
                    words_before(read, one.start),
                    read[one.end : one.end + _ROOM],
                )
            )
    return sorted(found, key=lambda value: value.start)


def _unit_behind(one: Reading, read: str) -> str:
    """The unit of a number that is known by a name: a timeout of 30 s."""
    unit = UNIT_AFTER.match(read, one.end) if one.kind not in ("counted", "words", "formulas") else None
    is_word = isinstance(one.value, str) and one.kind != "ranges"
    if not unit or is_word or (_TIMELESS.search(one.name) and _TIME.match(unit.group(1))):
        return ""
    return unit.group(1)


def _apart(one: Reading, read: str) -> Iterator[Reading]:
    """Two numbers joined by "and" are two values, and what goes on with "and N for" is another; a set or grid is one.

    Numbers that belong to as many names, respectively, are as many values.
    """
    if isinstance(one.value, tuple):
        shown, cases = read[one.start : one.end], _respective_cases(one, read)
        is_pair = len(one.value) == 2 and " and " in shown and read[one.start - 1] not in "{[("
        if cases or is_pair:
            places = re.finditer(ONE, shown)
            for part, match, case in zip_longest(one.value, places, cases):
                if part is not None and match is not None:
                    start, end = one.start + match.start(), one.start + match.end()
                    yield replace(one, value=part, start=start, end=end, case=case or "")
            return
    if (two := _TWO_CASES.match(read, one.end)) and not isinstance(one.value, tuple):
        yield from _for_two_cases(one, two)
        return
    yield one
    if more := GOES_ON.match(read, one.end):
        second = parse_value(more.group(2))
        if second is not None and not isinstance(second, tuple):
            yield replace(
                one, value=second, start=more.start(2), end=more.end(2), condition=more.group(3).strip(), case=""
            )


def _for_two_cases(one: Reading, match: re.Match[str]) -> Iterator[Reading]:
    """A number and the one behind it, each with its case; numbers within the cases are none of their own."""
    second, first_case, second_case = parse_value(match.group(1)), match.group(3).split(), match.group(4).split()
    cases = [*first_case, *second_case[len(first_case) :]], second_case  # "1-shot and 5-shot training"
    told = [f"{match.group(2)} {' '.join(case)}" for case in cases]
    yield replace(one, condition=told[0], case="")
    if second is not None:
        yield replace(one, value=second, start=match.start(1), end=match.end(1), condition=told[1], case="")
    yield replace(one, name="", start=match.start(3), end=match.end(4))


def _respective_cases(one: Reading, read: str) -> list[str]:
    """The names to which several numbers belong, in their order; none where there are not as many."""
    place = read.find("respectively", one.end)
    if place < 0 or not isinstance(one.value, tuple):
        return []
    parts = (re.sub(r" +(?=[ ,])", "", part) for part in (read[one.end : place], read[: one.start]))
    listed = (names for part in parts for names in reversed(LISTED.findall(part)))
    return next((names for names in map(_split_names, listed) if len(names) == len(one.value)), [])


def _split_names(listed: str) -> list[str]:
    bare = re.sub(r" ?\([^()]*\)", "", listed)
    return [name.strip(" ,") for name in re.split(r",? and |, ", bare) if name.strip(" ,")]


def _quote(text: str, start: int, end: int) -> str:
    """The clause around a value, in whole words; all of a short sentence."""
    if len(text) <= LONGEST_QUOTE:
        return text
    room = max(LONGEST_QUOTE - (end - start), 40)
    first = text.rfind(" ", 0, max(0, start - room // 2)) + 1 if start > room // 2 else 0
    last = text.find(" ", min(len(text), end + room // 2))
    return text[first : last if last > 0 else len(text)].strip()
