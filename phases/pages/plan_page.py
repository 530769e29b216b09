"""The page on which a plan is reviewed: what is uncertain, its tables, and each row next to its page of the paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from phases.pages.marked_paper import Block, cut_blocks, find_quotes
from phases.pages.render import embed_picture, page_start, render_file
from phases.planning.plan_words import (
    count_rows,
    describe_tables,
    group_doubts,
    group_mentions,
    group_results,
    name_place,
    steps_of,
    without_only_page,
    write_printed,
)
from phases.planning.quotes import quote_of
from phases.readers.markdown import PAGE_MARK
from phases.readers.page_pictures import Box, Picture, QuotePlace
from pipeline.base.formats import Markdown

PAGE_START = page_start("review")
_DOUBT = re.compile(r"(?:line [0-9]+: )?([RCVEX][0-9]+): ")
"""The line of the file and the row's id, with which a doubt begins."""
Row = Mapping[str, Any]
_LINE = 8.0
"""Points: marks this close are on one line."""
_NEAR = 0.012
"""Share of a page's height: tags this close in the margin share a line."""


class Reviewed(NamedTuple):
    """The content of the page."""

    plan: Row
    paper: Markdown
    digest: str
    standing: str
    """Open, approved, …"""
    command: str
    """The command that reviews this task: `pipeline review paper`."""
    doubts: Sequence[str] = ()
    difference: Sequence[str] = ()
    """Lines that begin with +, ~ or -, against the version before."""
    pictures: Mapping[int, Picture] = {}
    """Page number -> picture; a page without one is shown as text."""
    places: Mapping[str, Sequence[QuotePlace]] = {}
    """Row id -> places of its words on the pictures."""
    floats: Mapping[str, Picture] = {}
    """Pictures of the paper's figures and tables, by label."""
    is_drawn_later: bool = False
    """The page requests its pictures itself."""


def render_review(shown: Reviewed) -> str:
    """Return the page, as HTML. It runs and loads nothing."""
    values = {**describe_plan(shown), "commands": _list_commands(shown)}
    return render_file(PAGE_START, shown.plan["paper"]["title"], "plan_file.html", values, ("uncertain", "paper"))


def describe_plan(shown: Reviewed) -> dict[str, Any]:
    """Return the values of the template."""
    plan = without_only_page(shown.plan)
    values = {
        "plan": plan,
        "counts": count_rows(plan),
        "digest": shown.digest,
        "standing": shown.standing,
        "doubts": [_split_doubt(line) for line in shown.doubts],
        "uncertain": list(group_doubts(plan)),
        "difference": [(line[:1], line[1:].strip()) for line in shown.difference if line.strip()],
        "components": [{**row, "shown_steps": steps_of(row)} for row in plan.get("components", ())],
        "mentions": list(group_mentions(plan)),
        "tables": describe_tables(plan),
        "results": [_describe_target(shown, place, rows) for place, rows in group_results(plan)],
        "experiments": [
            *plan.get("experiments", ()),
            *({"what": text} for text in plan["validation_approach"].get("experiments", ())),
        ],
        "files": _list_files(plan),
        "sheets": describe_sheets(shown),
    }
    there = {
        **values,
        "decide": shown.command,
        "changes": values["difference"],
        "values": plan.get("values"),
        "data": values["mentions"],
    }
    return {**values, "sections": [(name, head) for name, head in _SECTIONS if there.get(name, True)]}


_SECTIONS = (
    ("changes", "What changed"),
    ("decide", "How to decide"),
    ("components", "Components"),
    ("values", "Values"),
    ("data", "Data sets, metrics, baselines"),
    ("results", "Expected results"),
    ("experiments", "Experiments"),
    ("files", "Files"),
    ("checks", "Checks and packages"),
    ("paper", "Each row beside its page"),
)


def _split_doubt(line: str) -> tuple[str, str]:
    match = _DOUBT.match(line)
    return (match.group(1), line[match.end() :]) if match else ("", line)


def _list_commands(shown: Reviewed) -> list[tuple[str, str]]:
    requirement = next((row["id"] for row in shown.plan["requirements"]), "R1")
    value = next((row["id"] for row in shown.plan.get("values", ())), "V1")
    rows = [
        (f"--strike {requirement}", "strike a row: a requirement, value, component, expected result or experiment"),
        (f"--set {value}.value=0.1", "change a field of a row; also .owner, .condition, .name, .text"),
        ('--add value "batch size = 32"', "add a value"),
        ('--add requirement "It must log every step."', "add a requirement"),
        ("--diff", "what changed since the version before"),
        ('--change "use the second data set too"', "ask the planner for another plan"),
        (f"--approve --plan {shown.digest[:12]}", "approve exactly this plan"),
        ("--reject", "reject it"),
    ]
    return [(f"{shown.command} {flags}", what) for flags, what in rows]


def _describe_target(shown: Reviewed, place: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return a table of expected results; a condition that all rows share is given once."""
    conditions = {str(row.get("condition") or "") for row in rows}
    drawn = shown.floats.get(str(rows[0]["table"]).partition(", part ")[0])
    return {
        "place": place,
        "page": rows[0]["page"],
        "rows": rows,
        "said": conditions.pop() if len(conditions) == 1 else None,
        "picture": embed_picture(drawn.png) if drawn else "",
    }


def _list_files(plan: Row) -> list[Row]:
    files = {row["path"]: row for row in plan["file_structure"]}
    return [
        files.get(path, {"path": path, "purpose": "is not in file_structure"})
        for path in plan["implementation_strategy"]
    ]


def describe_sheets(shown: Reviewed) -> list[dict[str, Any]]:
    """Return the pages of the paper, each with the rows taken from it; last page 0, with rows from no page."""
    numbers = sorted({*shown.pictures, *(int(mark.group(1)) for mark in PAGE_MARK.finditer(shown.paper.text))})
    rows = [*shown.plan["requirements"], *shown.plan.get("values", ())]
    targets = shown.plan.get("expected_results", ())
    listings = [(_page_of_steps(shown.paper, row), row) for row in shown.plan.get("components", ()) if row.get("steps")]
    made = []
    for number in numbers:
        own = [row for row in rows if row["source"]["page"] == number]
        columns = _count_columns(shown, own, number)
        own.sort(key=lambda row: _place_on(shown, row, number, columns))
        made.append(
            {
                "number": number,
                "title": "The paper" if numbers == [1] else f"Page {number}",
                "articles": _group_rows(shown, own),
                "listings": [{**row, "shown_steps": steps_of(row)} for page, row in listings if page == number],
                "targets": [row for row in targets if row["page"] == number],
                "figure": _describe_picture(shown, number) if number in shown.pictures else None,
                "blocks": [] if number in shown.pictures or shown.is_drawn_later else _cut_page(shown, number),
            }
        )
    rest = [row for row in rows if row["source"]["page"] not in numbers]
    return [*made, *([{"number": 0, "title": "On no page", "articles": _group_rows(shown, rest)}] if rest else [])]


def _page_of_steps(paper: Markdown, component: Row) -> int:
    """Return the page of a component's longest step; the component's own page if there is none."""
    step = max(component["steps"], key=len)
    place = paper.text.find(step[:200], paper.body_start)
    marks = [mark for mark in PAGE_MARK.finditer(paper.text, paper.body_start) if mark.start() < place]
    return int(marks[-1].group(1)) if marks else int(component["source"]["page"])


def _group_rows(shown: Reviewed, rows: Sequence[Row]) -> list[dict[str, Any]]:
    texts = [" ".join(str(row["text"]).split()) for row in rows if "text" in row]
    made = []
    for _, group in groupby(rows, key=lambda row: row["id"] if "text" in row else row["source"]["quote"]):
        alike = list(group)
        quote = " ".join(alike[0]["source"]["quote"].split())
        is_known = "text" in alike[0] or not quote or any(quote in text for text in texts)
        made.append({"rows": [_describe_row(shown, row) for row in alike], "quote": "" if is_known else quote})
    return made


def _describe_row(shown: Reviewed, row: Row) -> dict[str, Any]:
    if "text" in row:
        names = {item["id"]: item["name"] for item in shown.plan.get("components", ())}
        status = "" if row["status"] == "stated" else row["status"]
        parts = [row["kind"], names.get(row.get("component", ""), ""), status]
    else:
        condition = row.get("condition", "")
        parts = [write_printed(row), f"of {row['owner']}", "" if condition == row["owner"] else condition, row["kind"]]
    section = row["source"]["section"]
    # the page is shown once, above its rows
    about = " · ".join(item for item in (*parts, name_place(row) if section == "review" else section) if item)
    return {**row, "about": about, "is_lost": not _is_marked(shown, row)}


def _is_marked(shown: Reviewed, row: Row) -> bool:
    page = row["source"]["page"]
    return not quote_of(row) or page not in shown.pictures or bool(shown.places.get(row["id"]))


def _place_on(shown: Reviewed, row: Row, number: int, columns: int) -> tuple[bool, bool, float, float]:
    """Return the sort key of a row on its page: column by column, from the top; rows not found come last."""
    boxes = _boxes_on(shown, row["id"], number)
    if not boxes:
        return True, False, 0.0, 0.0
    left, top, _, bottom = boxes[0]
    # rows on one line are in the order of their words
    return False, columns > 1 and left >= _middle(shown, number), round((top + bottom) / 2 / _LINE), left


def _middle(shown: Reviewed, number: int) -> float:
    return 0.49 * shown.pictures[number].box[2]


def _count_columns(shown: Reviewed, rows: Sequence[Row], number: int) -> int:
    """Return two, unless a mark crosses the middle of the page."""
    boxes = [box for row in rows for box in _boxes_on(shown, row["id"], number)]
    margin = 0.06 * shown.pictures[number].box[2] if boxes else 0.0
    crosses = (box[0] < _middle(shown, number) - margin and box[2] > _middle(shown, number) + margin for box in boxes)
    return 1 if any(crosses) else 2


def _boxes_on(shown: Reviewed, identifier: str, number: int) -> Sequence[Box]:
    if number not in shown.pictures:
        return ()
    return [box for place in shown.places.get(identifier, ()) if place.page == number for box in place.boxes]


def _describe_picture(shown: Reviewed, number: int) -> dict[str, Any]:
    picture = shown.pictures[number]
    return {"src": embed_picture(picture.png), **describe_figure(shown, number)}


def describe_figure(shown: Reviewed, number: int) -> dict[str, Any]:
    """Return the size of a page's picture, its marks, and the tags in the margin next to their first lines."""
    _, _, width, height = shown.pictures[number].box
    marks: list[dict[str, Any]] = []
    tags: list[tuple[bool, float, list[str]]] = []
    drawn: list[Box] = []
    for row in (*shown.plan["requirements"], *shown.plan.get("values", ())):
        boxes = _boxes_on(shown, row["id"], number)
        for at, box in enumerate(boxes):
            # words that two rows quote are tinted once
            again = any(_covers(other, box) for other in drawn)
            drawn.append(box)
            left, top, right, bottom = box
            place = {"x": left, "y": top, "width": right - left, "height": bottom - top}
            rounded = {name: round(value, 2) for name, value in place.items()}
            marks.append({"id": row["id"], "first": at == 0, "again": again, **rounded})
        if boxes:
            _add_tag(tags, boxes[0][0] >= _middle(shown, number), boxes[0][1] / height, row["id"])
    shown_tags = [
        {
            "x": round(width * 0.995 if is_right else width * 0.005, 1),
            "y": round(down * height + _LINE, 1),
            "anchor": "end" if is_right else "start",
            "ids": ids,
        }
        for is_right, down, ids in tags
    ]
    return {"number": number, "width": width, "height": height, "marks": marks, "tags": shown_tags}


def _add_tag(tags: list[tuple[bool, float, list[str]]], is_right: bool, down: float, identifier: str) -> None:
    near = next((tag for tag in tags if tag[0] == is_right and abs(tag[1] - down) < _NEAR), None)
    if near:
        near[2].append(identifier)
    else:
        tags.append((is_right, down, [identifier]))


def _covers(one: Box, other: Box) -> bool:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    area = (other[2] - other[0]) * (other[3] - other[1])
    return across > 0 and down > 0 and across * down > 0.6 * area


def _cut_page(shown: Reviewed, number: int) -> list[Block]:
    """Return the blocks of a page, with the quotes of the rows marked."""
    rows = {row["id"]: row for row in (*shown.plan["requirements"], *shown.plan.get("values", ()))}
    here = {name: row for name, row in rows.items() if row["source"]["page"] == number}
    quotes = sorted(find_quotes(shown.paper, here, dict.fromkeys(here, "demand")))
    marks = [*PAGE_MARK.finditer(shown.paper.text, shown.paper.body_start), None]
    return [
        block
        for mark, after in pairwise(marks)
        if mark and int(mark.group(1)) == number
        for block in cut_blocks(shown.paper, quotes, mark.end(), after.start() if after else None)
    ]
