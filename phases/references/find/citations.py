"""Find every place in a paper's text that cites a reference, in one pass for each citation style."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.references.find.authors import surname_of
from phases.references.find.entries import YEAR, label_of, letter_of
from phases.references.find.places import PaperPlaces
from phases.references.find.text import letters_of
from phases.references.values import Entry, Mention

_MOST_PLACES = 20_000
_MOST_EACH = 200
"""Mentions recorded for one reference."""


def citations_of(
    entries: Sequence[Entry], text: str, body_start: int, outline: Mapping[str, Any]
) -> dict[str, tuple[Mention, ...]]:
    """Return the citations of each reference, by id, in the order of the text; uncited references are missing."""
    places = PaperPlaces(text, body_start, outline)
    spans: set[tuple[int, int]] = set()
    mentions: dict[str, dict[int, tuple[int, int]]] = {}
    for name, start, end in _find_citations(entries, places):
        if len(spans) >= _MOST_PLACES:
            break
        spans.add((start, end))
        spots = mentions.setdefault(name, {})
        if len(spots) < _MOST_EACH:
            spots.setdefault(start, (start, end))
    cache: dict[tuple[int, int], Mention] = {}
    for spots in mentions.values():
        for span in spots.values():
            if span not in cache:
                where = "footnote" if places.footnote(span[0]) else "text"
                cache[span] = places.mention(where, *span)
    return {
        entry.id: tuple(cache[span] for _, span in sorted(mentions[entry.id].items()))
        for entry in entries
        if entry.id in mentions
    }


def _find_citations(entries: Sequence[Entry], places: PaperPlaces) -> Iterator[tuple[str, int, int]]:
    """Yield citations by printed labels; by names if the list prints none; by position if it has neither."""
    by_name = list(citations_by_name(entries, places))
    has_labels = sum(label_of(entry.raw) is not None for entry in entries) * 2 > len(entries)
    if has_labels or len({name for name, _, _ in by_name}) * 3 < len(entries):
        by_label = list(citations_by_label(entries, places))
        yield from by_label
        yield from raised_citations(entries, places, {name for name, _, _ in by_label})
    yield from by_name


_BRACKETS = re.compile(r"\[([^\[\]\n^]{1,160})\](?![(:])")
_UP_TO = re.compile(r"\s?[-–—]\s?\[([0-9]{1,4})\]")
"""[1]-[3]: the second bracket of a range."""
_INTERVAL = re.compile(
    r"(?:\b(?:clip|scale|rescale|normali[sz]e|map|uniform|range|interval|value|sample)\w*|∈)(?:\s[\w$\\]{1,20}){0,3}\s?$",
    re.IGNORECASE,
)
_OF_A_WORD = re.compile(r"[^\W\d_]{2,40}[0-9]{0,6}$|(?<![\w.])[0-9]{1,6}\.[0-9]{1,6}$")
"""Text directly before a bracket that cites: MNIST[2], CIFAR10[5], 0.1[36]; but not x[1]."""
_NUMBERS = re.compile(r"\s*([0-9]{1,4})(?:\s*[-–—]\s*([0-9]{1,4}))?\s*")
_RAISED = re.compile(
    r"(?:(?<=[^\W\d_][^\W\d_][^\W\d_])|(?<=[^\W\d_]al\.)|(?<= al\.)|(?<=[’ʼ]s)|(?<=[^\W\d_][^\W\d_][.,)]))"
    r"(?:\$?\^\{?|<sup>)?([0-9]{1,3}(?:\s?[,–-]\s?[0-9]{1,3}){0,12})(?:\}?\$|\}|</sup>)?(?=\)?(?:[.,;:)]?(?:\s|$)|[.;:][A-Z]))"
)
_WORD_BEFORE = re.compile(r"[^\W_]{1,40}[.,)’ʼ]?s?$")
_LONGEST_RANGE = 60
_LINE = 400
"""Characters before a bracket in which its line, and what makes it a formula, is looked for."""
_FEWEST_SHARE = 0.3
"""The share of a numbered list that must be cited by raised numbers before they are believed."""


def citations_by_label(entries: Sequence[Entry], places: PaperPlaces) -> Iterator[tuple[str, int, int]]:
    """Yield citations in square brackets: the reference's id, and start and end of the brackets."""
    labels = _ids_by_label(entries)
    if not labels:
        return
    done = 0
    for match in _BRACKETS.finditer(places.text, places.body_start):
        if match.start() < done:
            continue
        last = _UP_TO.match(places.text, match.end())
        names = _ids_in_brackets(f"{match.group(1)}-{last.group(1)}" if last else match.group(1), labels)
        aside = names and (_is_formula(places.text, match.start(), match.end()) or places.is_aside(match.start()))
        done = last.end() if last else 0
        if names and not aside:
            for name in names:
                yield name, match.start(), match.end()


def raised_citations(entries: Sequence[Entry], places: PaperPlaces, known: set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield citations by raised numbers: networks1,2. Only accepted if there are many, and no footnotes."""
    labels = {label: name for label, name in _ids_by_label(entries).items() if label.isdigit()}
    if len(labels) < 3:
        return
    citations = []
    for match in _RAISED.finditer(places.text, places.body_start):
        section = places.section(match.start())
        names = _ids_in_brackets(match.group(1), labels)
        if not section or not names or not _is_plain_word(places.text, match.start()):
            continue
        notes = places.footnotes(places.page(match.start()))
        if places.footnote(match.start()) or places.is_aside(match.start()) or match.group(1) in notes:
            continue
        citations += [(name, match.start(), match.end()) for name in names]
    if len({name for name, _, _ in citations} - known) >= _FEWEST_SHARE * len(labels):
        yield from citations


def _ids_by_label(entries: Sequence[Entry]) -> dict[str, str]:
    """Id by label. A list without labels is counted, as its order is all that a number can mean."""
    known = {label: entry.id for entry in reversed(entries) if (label := label_of(entry.raw))}
    if len(known) >= max(1, len(entries) // 2):
        return known
    return {str(index): entry.id for index, entry in enumerate(entries, 1)}


def _ids_in_brackets(inside: str, labels: dict[str, str]) -> list[str]:
    """Return the ids of the references in a bracket if it holds labels of this list only."""
    names: list[str] = []
    for piece in re.split(r"[,;]", inside):
        bare = " ".join(piece.split())
        if bare in labels:
            names.append(labels[bare])
        elif number := _NUMBERS.fullmatch(piece):
            first, last = int(number.group(1)), int(number.group(2) or number.group(1))
            if not 0 <= last - first <= _LONGEST_RANGE or str(first) not in labels or str(last) not in labels:
                return []
            names += [labels[str(one)] for one in range(first, last + 1) if str(one) in labels]
        elif not re.match(
            r"\s*(?:pp?\.|Sec|Thm|Theorem|Chap|Ch\.|Fig|Eq|Lemma|Prop|App|Def|§|Alg|Tab|Part|see|e\.g)", piece
        ):
            return []
    return list(dict.fromkeys(names))


def _is_formula(text: str, start: int, end: int) -> bool:
    """Return whether a bracket is part of a formula or an index: x[1], $[0,1]$."""
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    low = max(0, start - _LINE)
    line = text[max(low, text.rfind("\n", low, start) + 1) : start]
    if before.isalnum() and not (_is_plain_word(text, start) or _OF_A_WORD.search(text, max(0, start - 48), start)):
        return True
    if re.fullmatch(r"\[[0-9]{1,4}\s?,\s?[0-9]{1,4}\]", text[start:end]) and _INTERVAL.search(
        text, max(low, start - 80), start
    ):
        return True
    return (
        before in ("_", "\\", "^", "=", "]")
        or after in ("^", "_")
        or line.count("$") % 2 == 1
        or line.startswith(("$$", "    "))
    )


def _is_plain_word(text: str, start: int) -> bool:
    """Return whether the word before a raised number is an ordinary word; ResNet50, T5 and Conv4 are not."""
    word = _WORD_BEFORE.search(text, max(0, start - 42), start)
    bare = word.group().strip(".,)’ʼ") if word else ""
    return (
        len(bare) >= 2
        and bare[1:].islower()
        and bare.lower() not in ("fig", "table", "eq", "conv", "layer", "stage", "block", "step", "top")
    )


_YEARS = re.compile(rf"(?<![\w.])({YEAR})([a-z])?((?:\s?[,;&]\s?[a-z](?![\w]))*)(?!\w|\.[0-9])")
_WORD = re.compile(r"[^\W\d_][^\W\d_'’ʼ`´-]*(?:['’ʼ`´-][^\W\d_]+)*|[;.(]|&")
_REACH = 110
_JOINS = frozenset({"and", "&", "und", "et", "al", "others"})
_ONLY_MARKS = re.compile(r"[\s,;]{1,4}(?:and\s)?")
_MOST_WORDS = 14
_MOST_ALIKE = 30

_Index = dict[tuple[str, int], list[tuple[Entry, str, tuple[str, ...]]]]


def citations_by_name(entries: Sequence[Entry], places: PaperPlaces) -> Iterator[tuple[str, int, int]]:
    """Yield citations by name: the reference's id, and start and end of the year that ends each."""
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
    """Return entries by surname of the first author and year, each with its letter and all surnames."""
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
    """Return the author words that end right before a year, in order."""
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
    """Return the reference that these names and this year identify."""
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
    """Return how well the rest of a citation agrees with a reference; negative if it contradicts it."""
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
