"""What does not make sense in a plan that a person edited, each with its line: ids, quotes, packages, checks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.planning.model.material import split_pages
from phases.planning.model.plan_validation import problems_of
from phases.planning.model.quote_index import QuoteIndex
from phases.planning.plan_edits import constant_faults
from phases.planning.plan_words import read_aloud
from phases.planning.rules import NUMBER, WORDS, Grid, caption_of, fold, number_of, read_paper
from pipeline.base.formats import Markdown
from pipeline.base.plain_yaml import locate_yaml

Row = Mapping[str, Any]
_NUMBER = re.compile(NUMBER)
_TYPED_NUMBER = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+|[-+]?[0-9]+\.?[0-9]*[eE][-+]?[0-9]+")
"""What a person types for a number, and YAML reads as a text."""
_SCALES = (1, 100, 1_000, 1_000_000, 1_000_000_000)
"""A value may be written as 0.1 or 10 %, 36000000 or 36M."""
_FEWEST_LETTERS, _FEWEST_DIGITS = 6, 4
_BEHIND = 200
"""Characters behind a quote in which the rest of its sentence stands."""
_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_MARKS = re.compile(r"[*†‡]")
"""By these alone a variant's name may differ: R2D2 and R2D2*."""
_PART = re.compile(r", part [0-9]+ of [0-9]+$")
_IN_NO_TABLE = re.compile(r"text\b|fig", re.IGNORECASE)
_FEW_LOST = 0.5
"""The share of lines that are missing where the others are copied."""
_FAR = 4_000
"""Characters behind the caption of an algorithm in which its listing begins."""


def differences_from_paper(
    plan: Row, pages: Sequence[tuple[int, str]], text: str, outline: Mapping[str, Any]
) -> Iterator[str]:
    """Return a line for each difference, beginning with the id of its row. `pages`: number and text; `text`: paper.md."""
    by_number = dict(pages)
    yield from _value_faults(plan, by_number)
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


def _text_behind(quote: str, paragraph: str) -> str:
    """Return the text after a quote that ends inside a sentence: the value may be there."""
    words = quote.split()
    at = paragraph.find(" ".join(words[-3:]))
    if at < 0 or quote.rstrip().endswith((".", "!", "?")):
        return ""
    return paragraph[at:][:_BEHIND]


def _paragraph_of(quote: str, page: str) -> str:
    """Return the paragraph that a quote begins: the value may follow the quote."""
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


def _step_faults(plan: Row, text: str, outline: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a listing that no step has, where most of them are copied: a model may write formulas in its own way."""
    listings = {row["label"]: row for row in outline["algorithms"]}
    for row in plan["components"]:
        label = str(row.get("algorithm") or "")
        if not row.get("steps") or label not in listings:
            continue
        said, lines = _letters(" ".join(row["steps"])), _listing_of(text, listings[label])
        long = [
            line
            for line in lines
            if len(_letters(line)) >= _FEWEST_LETTERS and not _letters(line).startswith(_letters(label))
        ]
        lost = [line for line in long if _letters(line) not in said]
        if lost and len(lost) <= _FEW_LOST * len(long):
            told = f"{row['id']}: a line of {label} is missing from its steps: '{read_aloud(' '.join(lost[0].split()))[:90]}'"
            yield f"{told}, and so with {len(lost) - 1} more" if len(lost) > 1 else told


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


_ID = re.compile(r"\b[RVCEX][0-9]+\b")
_LISTS = {"R": "requirements", "V": "values", "C": "components", "E": "expected_results", "X": "experiments"}


def doubts_about(
    plan: Mapping[str, Any], data: bytes, paper: Markdown, outline: Mapping[str, Any], requests: list[str]
) -> list[str]:
    """One line a fault, with the line of the file where it is known: first what leads nowhere, then what the paper says
    otherwise."""
    pages = split_pages(paper.text[paper.body_start :])
    faults = [fault for fault in problems_of(plan, QuoteIndex(pages, requests)) if not _is_borne(fault)]
    by = paper.front.get("recognized_by")
    scan = [f"the paper is a scan, and {by} recognized its text: hold figures against the pages"] if by else []
    return scan + [
        f"{_place(fault, plan, data)}{fault}"
        for fault in (*faults, *constant_faults(plan), *differences_from_paper(plan, pages, paper.text, outline))
    ]


def _is_borne(fault: str) -> bool:
    """What a reviewer added quotes the reviewer, and nobody asked for it before; an item of a list may be short; and an address
    that no paper prints is a reviewer's: a model can name none."""
    added = "no request has what it quotes" in fault or fault.startswith("datasets: the address ")
    return added or "the quote is too short" in fault


def _place(fault: str, plan: Mapping[str, Any], data: bytes) -> str:
    """ "line 12: ", by the first id or path that a fault names."""
    if match := _ID.search(fault):
        name = _LISTS[match.group()[0]]
        at = next((number for number, row in enumerate(plan.get(name, ())) if row["id"] == match.group()), None)
        if at is not None and fault.startswith(match.group()):
            return _line(data, (name, at))
    for number, row in enumerate(plan["file_structure"]):
        if row["path"] in fault:
            return _line(data, ("file_structure", number))
    section = fault.partition(":")[0]
    return _line(data, (section,)) if section in plan else ""


def _line(data: bytes, path: tuple[str | int, ...]) -> str:
    line, _ = locate_yaml(data, path)
    return f"line {line}: " if line else ""
