"""Citations by author and year: (Smith et al., 2019; Lee and Kim, 2020a), Smith (2019)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from phases.references.find.authors import surname_of
from phases.references.find.entries import label_of, letter_of
from phases.references.find.places import PaperPlaces
from phases.references.find.text import letters_of
from phases.references.find.years import YEAR
from phases.references.values import Entry

_YEARS = re.compile(rf"(?<![\w.])({YEAR})([a-z])?((?:\s?[,;&]\s?[a-z](?![\w]))*)(?!\w|\.[0-9])")
_WORD = re.compile(r"[^\W\d_][^\W\d_'’ʼ`´-]*(?:['’ʼ`´-][^\W\d_]+)*|[;.(]|&")
_REACH = 110
_JOINS = frozenset({"and", "&", "und", "et", "al", "others"})
_ONLY_MARKS = re.compile(r"[\s,;]{1,4}(?:and\s)?")
_MOST_WORDS = 14
_MOST_ALIKE = 30

_Index = dict[tuple[str, int], list[tuple[Entry, str, tuple[str, ...]]]]


def citations_by_name(entries: Sequence[Entry], places: PaperPlaces) -> Iterator[tuple[str, int, int]]:
    """Citations by name: the reference's id, and start and end of the year that ends each."""
    index = _index_entries(entries)
    if not index:
        return
    previous: tuple[int, list[str]] = (-1, [])
    for match in _YEARS.finditer(places.text, places.body_start):
        start = match.start()
        if places.is_aside(start):
            continue
        go_on = previous[0] >= 0 and _ONLY_MARKS.fullmatch(places.text, previous[0], start) is not None
        words = previous[1] if go_on else _words_before(places.text, max(places.body_start, start - _REACH), start)
        given = [match.group(2) or "", *re.findall(r"[a-z]", match.group(3))]
        hits = [hit for letter in given if (hit := _match_entry(index, words, int(match.group(1)), letter))]
        for hit in dict.fromkeys(hits):
            yield hit, start, match.end()
        previous = (match.end(), words) if hits else (-1, [])


def _index_entries(entries: Sequence[Entry]) -> _Index:
    """Entries by surname of the first author and year, each with its letter and the surnames of all."""
    index: _Index = {}
    for entry in entries:
        if entry.year is None or not entry.authors:
            continue
        names = tuple(map(surname_of, entry.authors))
        keys = {names[0], letters_of(entry.authors[0])}
        for key in keys - {""}:
            rows = index.setdefault((key, entry.year), [])
            if len(rows) < _MOST_ALIKE:
                rows.append((entry, letter_of(entry.raw), names))
    return index


def _words_before(text: str, low: int, start: int) -> list[str]:
    """The words of the names that end right before a year, in order; what is neither a name nor joins names ends them."""
    found: list[str] = []
    for word in reversed(_WORD.findall(text, low, start)):
        if word == ";" or (word in ".(" and found and found[-1] != "al"):
            if word == "." and found and len(found[-1]) > 1:
                break
            if word != ".":
                break
            continue
        if word in ".(":
            continue
        small = word[0].islower()
        if small and word not in _JOINS and not (found and len(word) <= 4):
            break
        found.append(word)
        if len(found) >= _MOST_WORDS:
            break
    return found[::-1]


def _match_entry(index: _Index, words: list[str], year: int, letter: str) -> str | None:
    """The reference that these names and this year mean."""
    keys = [letters_of(word) for word in words]
    for place, key in enumerate(keys):
        rows = index.get((key, year)) or (index.get((key + keys[place + 1], year)) if place + 1 < len(keys) else None)
        if not rows:
            continue
        behind = [word for word in keys[place + 1 :] if word not in _JOINS and word]
        best = max(rows, key=lambda row: _score_fit(row, words[place + 1 :], behind, letter))
        if _score_fit(best, words[place + 1 :], behind, letter) >= 0:
            return best[0].id
    return None


def _score_fit(row: tuple[Entry, str, tuple[str, ...]], after: list[str], behind: list[str], letter: str) -> int:
    """How well the rest of a citation agrees with a reference; below 0 where it contradicts it."""
    _, own, names = row
    points = 4 if letter == own else -8 if letter and own else 0
    if "al" in after:
        return points + (2 if len(names) >= 3 or _is_short(row[0]) else 0 if len(names) == 2 else -3)
    if behind and any(word in after for word in ("and", "&", "und", "et")):
        wanted = set(names[1:])
        return points + 3 if behind[-1] in wanted else -1
    return points + (2 if len(names) == 1 else 0)


def _is_short(entry: Entry) -> bool:
    return "et al" in entry.raw or label_of(entry.raw) is not None
