"""Holds a plan against its paper: values against the words that they quote, results against their tables, steps against listings.

What differs is told to the reviewer and refused to nobody: a person may know better, and a text layer may be torn.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from phases.planning.plan_words import read_aloud, write_ids
from phases.planning.quotes import quote_of
from phases.planning.rules import (
    BACKGROUND,
    NUMBER,
    OTHER,
    PROOF,
    WORDS,
    Grid,
    caption_of,
    fold,
    number_of,
    read_paper,
    roles_of,
)

Row = Mapping[str, Any]
_NUMBER = re.compile(NUMBER)
_TYPED_NUMBER = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+|[-+]?[0-9]+\.?[0-9]*[eE][-+]?[0-9]+")
"""What a person types for a number, and YAML reads as a text."""
_SCALES = (1, 100, 1_000, 1_000_000, 1_000_000_000)
"""A value may be written as 0.1 or 10 %, 36000000 or 36M."""
_FEWEST_LETTERS, _FEWEST_DIGITS = 6, 4
_LOOKED_FOR = 80
"""Characters of a quote by which its section is found."""
_BEHIND = 200
"""Characters behind a quote in which the rest of its sentence stands."""
_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_MARKS = re.compile(r"[*†‡]")
"""By these alone a variant's name may differ: R2D2 and R2D2*."""
_PART = re.compile(r", part [0-9]+ of [0-9]+$")
_IN_NO_TABLE = re.compile(r"text\b|fig", re.IGNORECASE)
_FEW_LOST, _MOST_STEPS = 0.3, 200
"""The share of lines that are missing where the others are copied, and how many lines are looked at."""
_COMMENT = re.compile(r"(?:▷|▹|//).*|^\s*[0-9]{1,3}[:.)]? ")
_DRESS = re.compile(
    r"\\(?:math\w+|tilde|hat|bar|overline|left|right|frac|text|quad|var(?=[a-z])|operatorname|boldsymbol|ldots|cdot)|[\\${}_^]"
)
"""What of a formula says how it looks."""
_GREEK = {
    chr(code): unicodedata.name(chr(code)).split()[-1].lower().replace("lamda", "lambda")
    for code in (*range(0x3B1, 0x3CA), *range(0x391, 0x3AA))
    if code != 0x3A2
}
_FAR = 4_000
"""Characters behind the caption of an algorithm in which its listing begins."""


def differences_from_paper(
    plan: Row, pages: Sequence[tuple[int, str]], text: str, outline: Mapping[str, Any]
) -> Iterator[str]:
    """A line a difference, which begins with the id of its row. `pages`: number and text; `text` is that of paper.md."""
    by_number = dict(pages)
    yield from _value_faults(plan, by_number)
    yield from _owner_faults(plan, by_number, outline)
    yield from _section_faults(plan, text, outline)
    yield from _step_faults(plan, text, outline)
    yield from _result_faults(plan, text, outline)


def _value_faults(plan: Row, pages: Mapping[int, str]) -> Iterator[str]:
    for row in plan["values"]:
        quote = row["source"]["quote"]
        if not quote or row["source"]["section"] == "review":
            continue
        around = quote + _text_behind(quote, _paragraph_of(quote, pages.get(row["source"]["page"], "")))
        given = row["values"] if "values" in row else [row["value"]]
        for one in (one for one in given if isinstance(one, str) and _TYPED_NUMBER.fullmatch(one)):
            yield f"{row['id']}: {one!r} is a text here, which code cannot count with; write {number_of(one)}"
        if lost := [value for value in given if not _holds(around, value)]:
            yield f"{row['id']}: {', '.join(map(str, lost))} does not stand in the words that it quotes: {quote[:90]!r}"


def _owner_faults(plan: Row, pages: Mapping[int, str], outline: Mapping[str, Any]) -> Iterator[str]:
    """Owners that are named nowhere near their value; the method is the owner where nothing else is named."""
    titles = {str(section["number"] or section["title"]): section["title"] for section in outline["sections"]}
    own = _letters(f"method {plan['paper']['title']} {plan['paper']['core_contribution']}")
    strangers: dict[str, list[Row]] = {}
    for row in plan["values"]:
        source, owner = row["source"], row["owner"]
        if source["section"] == "review" or not source["quote"] or _letters(owner) in own:
            continue
        said = [
            source["quote"],
            _paragraph_of(source["quote"], pages.get(source["page"], "")),
            row.get("condition", ""),
        ]
        if _letters(owner) not in _letters(" ".join([*said, titles.get(str(source["section"]), "")])):
            strangers.setdefault(owner, []).append(row)
    yield from _split_owners(plan, [row["id"] for rows in strangers.values() for row in rows])
    for owner, rows in strangers.items():
        told = f"{_name(row['id'] for row in rows)}: {'their' if len(rows) > 1 else 'its'} owner {owner!r}"
        yield f"{told} is not named in the words around it: {rows[0]['source']['quote'][:90]!r}"


def _split_owners(plan: Row, told: Sequence[str]) -> Iterator[str]:
    """Owners that their own sentence does not name, where a value of the same words is the method's."""
    by_words: dict[str, list[Row]] = defaultdict(list)
    for row in plan["values"]:
        if row["source"]["quote"]:
            by_words[row["source"]["quote"]].append(row)
    for quote, rows in by_words.items():
        for row in rows:
            other = next((one for one in rows if one["owner"] == "method"), None)
            is_named = row["owner"] == "method" or _letters(row["owner"]) in _letters(
                f"{quote} {row.get('condition', '')}"
            )
            if other and not is_named and row["id"] not in told:
                beside = f"{other['id']} of the same words is of the method"
                yield f"{row['id']}: its owner {row['owner']!r} is not named in its sentence, and {beside}"


def _text_behind(quote: str, paragraph: str) -> str:
    """What follows a quote that ends inside a sentence: the value may stand there."""
    words = quote.split()
    at = paragraph.find(" ".join(words[-3:]))
    if at < 0 or quote.rstrip().endswith((".", "!", "?")):
        return ""
    return paragraph[at:][:_BEHIND]


def _paragraph_of(quote: str, page: str) -> str:
    """The paragraph that a quote begins: a quote may end before the value."""
    start = _letters(quote)[:24]
    return next((one for one in page.split("\n\n") if start and start in _letters(one)), "")


def _holds(text: str, value: object) -> bool:
    if isinstance(value, bool):
        return True
    number = value if isinstance(value, (int, float)) else number_of(str(value))
    if number is None and re.fullmatch(r"\S+ to \S+", str(value)):
        return all(_holds(text, end) for end in str(value).split(" to "))
    if number is None:
        return _letters(str(value)) in _letters(text)
    digits = _letters(str(value))
    # 6, 066: so many digits in a row are no chance
    return _has_number(text, float(number)) or (len(digits) >= _FEWEST_DIGITS and digits in _letters(text))


def _has_number(text: str, wanted: float) -> bool:
    plain = fold(text)
    found = [number_of(match.group()) for match in _NUMBER.finditer(plain)]
    found += [WORDS[word] for word in re.findall(r"[a-z]+", plain.lower()) if word in WORDS]
    return any(
        abs(abs(float(number)) * factor - abs(wanted)) <= 1e-6 * abs(wanted)
        for number in found
        if number is not None
        for factor in (*_SCALES, 0.01)
    )


def _section_faults(plan: Row, text: str, outline: Mapping[str, Any]) -> Iterator[str]:
    """Requirements of sections where nothing is built, by where their words stand, else by what they name."""
    roles = roles_of(outline["sections"])
    by_name: dict[str, Row] = {}
    for section in outline["sections"]:
        by_name.setdefault(str(section["number"] or section["title"]), section)
    found: dict[str, list[str]] = {}
    for row in plan["requirements"]:
        section = _section_of(quote_of(row), text, outline) or by_name.get(str(row["source"]["section"] or ""))
        if section and roles[section["id"]] in (BACKGROUND, OTHER, PROOF):
            found.setdefault(section["title"], []).append(row["id"])
    for title, ids in found.items():
        comes = "they come" if len(ids) > 1 else "it comes"
        yield f"{_name(ids)}: {comes} from {title!r}, where nothing is built"


def _name(ids: Iterable[str]) -> str:
    """The first id alone, by which a doubt is found, and the others behind it."""
    first, *others = ids
    return f"{first} (also {write_ids(others)})" if others else first


def _section_of(quote: str, text: str, outline: Mapping[str, Any]) -> Row | None:
    """The section that holds the words of a quote; None where they stand in several, or are not found as they are."""
    words = quote[:_LOOKED_FOR]
    at = text.find(words) if len(words) >= _FEWEST_LETTERS else -1
    if at < 0 or text.find(words, at + 1) >= 0:
        return None
    return next((one for one in outline["sections"] if one["start"] <= at < one["end"]), None)


def _step_faults(plan: Row, text: str, outline: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a listing that are no step of the component which is that algorithm."""
    listings = {row["label"]: row for row in outline["algorithms"]}
    for row in plan["components"]:
        label = str(row.get("algorithm") or "")
        if not row.get("steps") or label not in listings:
            continue
        lines = [line for line in _listing_of(text, listings[label]) if not _letters(line).startswith(_letters(label))]
        if lost := list(_lost_lines(lines, row["steps"])):
            told = f"{row['id']}: a line of {label} is missing from its steps: '{read_aloud(' '.join(lost[0].split()))[:90]}'"
            yield f"{told}, and so with {len(lost) - 1} more" if len(lost) > 1 else told


def _lost_lines(lines: Sequence[str], steps: Sequence[str]) -> Iterator[str]:
    """The lines that no step has, letter by letter; where few are written so, those of which no step has most words."""
    said, long = _letters(" ".join(steps)), [line[:300] for line in lines[:_MOST_STEPS]]
    long = [line for line in long if len(_letters(line)) >= _FEWEST_LETTERS]
    lost = [line for line in long if _letters(line) not in said]
    if len(lost) <= _FEW_LOST * len(long):
        yield from lost
        return
    # a model writes formulas in its own way, and joins lines that the page breaks
    words = [Counter(_words(step)) for step in steps[:_MOST_STEPS]]
    for line in lost:
        own = Counter(_words(_COMMENT.sub("", line)))
        if own and not any(2 * (own & step).total() >= own.total() for step in words):
            yield line


def _words(line: str) -> list[str]:
    """The words, names and numbers of a line, Greek letters and LaTeX's commands by their names."""
    plain = _DRESS.sub(" ", unicodedata.normalize("NFKC", line))
    spelled = "".join(f" {_GREEK.get(sign, sign)} " if sign in _GREEK else sign for sign in plain)
    return re.findall(r"[a-z]+|[0-9]+", spelled.lower())


def _listing_of(text: str, row: Row) -> list[str]:
    own = text[row["start"] : row["end"]]
    match = _FENCE.search(own) or _FENCE.match(text[row["end"] : row["end"] + _FAR].lstrip())
    return match.group(1).split("\n") if match else []


def _result_faults(plan: Row, text: str, outline: Mapping[str, Any]) -> Iterator[str]:
    tables: dict[int, list[tuple[str, Grid]]] = defaultdict(list)
    paper = read_paper(text, outline)
    for table in paper.tables:
        tables[table.page].append((_letters(caption_of(table, paper)[0]), table.grid))
    for row in plan["expected_results"]:
        # a result of a sentence or a drawing is in no table
        here = [] if _IN_NO_TABLE.match(row["table"]) else tables.get(row["page"], [])
        value = number_of(str(row["value"]))
        if not here or value is None:
            continue
        called = _letters(_PART.sub("", row["table"]))
        grids = [grid for label, grid in here if label and label == called] or [grid for _, grid in here]
        cells = [cell for grid in grids for _, cells in grid.rows for cell in cells]
        named = [
            cell
            for grid in grids
            for label, cells in grid.rows
            for head, cell in zip(grid.heads, cells, strict=False)
            if _is_same(label, row["row"]) and _is_same(head, row["column"])
        ]
        if not any(_has_number(cell, float(value)) for cell in named or cells):
            place = (
                f"the row {row['row']!r} and column {row['column']!r} of {row['table']} on"
                if named
                else "the tables of"
            )
            held = f", where {named[0]!r} stands" if named else ""
            yield f"{row['id']}: {row['value']} is not in {place} page {row['page']}{held}"


def _is_same(one: str, other: str) -> bool:
    return bool(_letters(other)) and _letters(one) == _letters(other) and _MARKS.findall(one) == _MARKS.findall(other)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
