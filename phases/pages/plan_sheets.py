"""The pages of the paper on the page of a review: pictures with the words that rows quote marked, and the rows beside them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from phases.pages.marked_paper import find_quotes, render_paper
from phases.pages.markup import in_html
from phases.planning.plan_words import name_value, read_aloud, read_formula, steps_of, write_value
from phases.readers.markdown import PAGE_MARK
from phases.readers.page_pictures import Box, Picture, QuotePlace
from pipeline.base.formats import Markdown

_LINE = 8.0
"""Points: what stands this close is on one line."""
_NEAR = 0.012
"""Of a page's height: tags that stand closer in the margin share a line."""
Row = Mapping[str, Any]


class Reviewed(NamedTuple):
    """All that the page shows."""

    plan: Row
    paper: Markdown
    digest: str
    standing: str
    """In a word: open, approved, …"""
    command: str
    """What the review of this task is typed as: `pipeline review paper`."""
    doubts: Sequence[str] = ()
    difference: Sequence[str] = ()
    """Lines that begin with +, ~ or -, against the version before."""
    pictures: Mapping[int, Picture] = {}
    """By the number of the page; a page without one is shown by its text."""
    places: Mapping[str, Sequence[QuotePlace]] = {}
    """Id of a row -> where its words stand on the pictures."""
    floats: Mapping[str, Picture] = {}
    """Pictures of the paper's figures and tables, by label."""


def render_sheets(shown: Reviewed) -> str:
    """The pages of the paper in their order, each with what is taken from it; then what is on no page."""
    numbers = sorted({*shown.pictures, *(int(mark.group(1)) for mark in PAGE_MARK.finditer(shown.paper.text))})
    rows = [*shown.plan["requirements"], *shown.plan.get("values", ())]
    targets = shown.plan.get("expected_results", ())
    listings = [(_page_of_steps(shown.paper, row), row) for row in shown.plan.get("components", ()) if row.get("steps")]
    pages = "".join(
        _render_page(
            shown,
            number,
            [row for row in rows if row["source"]["page"] == number],
            _render_listings(row for page, row in listings if page == number)
            + _render_targets([row for row in targets if row["page"] == number]),
        )
        for number in numbers
    )
    rest = [row for row in rows if row["source"]["page"] not in numbers]
    others = f"<section class=sheet><h3>On no page</h3><div class=rows>{_render_rows(shown, rest)}</div></section>"
    return pages + (others if rest else "")


def _render_page(shown: Reviewed, number: int, rows: Sequence[Row], more: str) -> str:
    columns = _count_columns(shown, rows, number)
    rows = sorted(rows, key=lambda row: _place_on(shown, row, number, columns))
    sheet = _render_sheet(shown, number)
    if not rows and not more:
        told = f"Page {number}: nothing is taken from it"
        return f'<details class=sheet id="page-{number}"><summary>{told}</summary>{sheet}</details>\n'
    return (
        f'<section class=sheet id="page-{number}"><h3>Page {number}</h3><div class=pair>{sheet}'
        f"<div class=rows>{_render_rows(shown, rows)}{more}</div></div></section>\n"
    )


def _render_targets(rows: Sequence[Row]) -> str:
    read = "".join(
        f"<li>{link_row(row['id'])} {in_html(row['row'])}, {in_html(row['column'])}: <b>{in_html(write_value(row))}</b>"
        for row in rows
    )
    return f"<article class=targets><p class=soft>Expected results</p><ul>{read}</ul></article>" if read else ""


def _render_listings(components: Iterable[Row]) -> str:
    """The steps of algorithms, to be held against their listings."""
    made = []
    for row in components:
        steps = "".join(f"<li>{in_html(read_aloud(one))}" for one in steps_of(row))
        head = f"{link_row(row['id'])}<span>{in_html(row['name'])}</span>"
        label = f"<span class=soft>{in_html(row.get('algorithm', ''))}</span>"
        made.append(f"<article class=targets><div class=head>{head}{label}</div><ol>{steps}</ol></article>")
    return "".join(made)


def _page_of_steps(paper: Markdown, component: Row) -> int:
    """The page on which the longest step of a component stands; that of the component where it is on none."""
    step = max(component["steps"], key=len)
    place = paper.text.find(step[:200], paper.body_start)
    marks = [mark for mark in PAGE_MARK.finditer(paper.text, paper.body_start) if mark.start() < place]
    return int(marks[-1].group(1)) if marks else int(component["source"]["page"])


def _render_rows(shown: Reviewed, rows: Sequence[Row]) -> str:
    """Each requirement and value, where the marks lead to; values of one quote stand together."""
    texts = [" ".join(str(row["text"]).split()) for row in rows if "text" in row]
    made = []
    for _, group in groupby(rows, key=lambda row: row["id"] if "text" in row else row["source"]["quote"]):
        alike = list(group)
        quote = " ".join(alike[0]["source"]["quote"].split())
        is_known = "text" in alike[0] or not quote or any(quote in text for text in texts)
        said = "" if is_known else f"<q>{in_html(read_aloud(quote))}</q>"
        made.append(f"<article>{''.join(_render_row(shown, row) for row in alike)}{said}</article>")
    return "".join(made)


def _render_row(shown: Reviewed, row: Row) -> str:
    identifier = write_id(row)
    if "text" in row:
        names = {one["id"]: one["name"] for one in shown.plan.get("components", ())}
        told = [
            row["kind"],
            names.get(row.get("component", ""), ""),
            "" if row["status"] == "stated" else row["status"],
        ]
        head, said = "", f"<p>{in_html(read_aloud(row['text']))}</p>"
        said += f"<p class=formula>{in_html(read_formula(row['formula']))}</p>" if row.get("formula") else ""
    else:
        condition = row.get("condition", "")
        told = [f"of {row['owner']}", "" if condition == row["owner"] else condition, row["kind"]]
        head, said = f"<span>{in_html(name_value(row))} = <b>{in_html(write_value(row))}</b></span>", ""
    lost = "" if _is_marked(shown, row) else "<p class=lost>Its words are not found on the page: look for them.</p>"
    about = " · ".join(in_html(one) for one in told if one)
    return (
        f'<div class=row id={identifier}><div class=head><a class=id href="#at-{identifier}">{identifier}</a>{head}'
        f"<span class=soft>{about}</span></div>{said}{lost}</div>"
    )


def _is_marked(shown: Reviewed, row: Row) -> bool:
    page = row["source"]["page"]
    return not row["source"]["quote"] or page not in shown.pictures or bool(shown.places.get(row["id"]))


def _place_on(shown: Reviewed, row: Row, number: int, columns: int) -> tuple[bool, bool, float, float]:
    """Where a row stands among those of its page: column by column, from the top; what is not found last."""
    boxes = _boxes_on(shown, row["id"], number)
    if not boxes:
        return True, False, 0.0, 0.0
    left, top, _, bottom = boxes[0]
    # what begins on one line is in the order of the words
    return False, columns > 1 and left >= _middle(shown, number), round((top + bottom) / 2 / _LINE), left


def _middle(shown: Reviewed, number: int) -> float:
    return 0.49 * shown.pictures[number].box[2]


def _count_columns(shown: Reviewed, rows: Sequence[Row], number: int) -> int:
    """Two, unless a mark crosses the middle of the page."""
    boxes = [box for row in rows for box in _boxes_on(shown, row["id"], number)]
    margin = 0.06 * shown.pictures[number].box[2] if boxes else 0.0
    crosses = (box[0] < _middle(shown, number) - margin and box[2] > _middle(shown, number) + margin for box in boxes)
    return 1 if any(crosses) else 2


def _boxes_on(shown: Reviewed, identifier: str, number: int) -> Sequence[Box]:
    if number not in shown.pictures:
        return ()
    return [box for place in shown.places.get(identifier, ()) if place.page == number for box in place.boxes]


def _render_sheet(shown: Reviewed, number: int) -> str:
    """A page of the paper: its picture with the marks over it, or its text with the marks in it."""
    if number not in shown.pictures:
        return f"<div class=text>{_render_text(shown, number)}</div>"
    picture = shown.pictures[number]
    data = base64.b64encode(picture.png).decode("ascii")
    _, _, width, height = picture.box
    marks = "".join(_render_marks(shown, number, width, height))
    return (
        f'<figure><img alt="page {number} of the paper" loading=lazy width={width:.0f} height={height:.0f} '
        f'src="data:image/png;base64,{data}">{marks}</figure>'
    )


def _render_marks(shown: Reviewed, number: int, width: float, height: float) -> Iterator[str]:
    """The marks, and the tags in the margin beside their first lines."""
    tags: list[tuple[bool, float, list[str]]] = []
    drawn: list[Box] = []
    for row in (*shown.plan["requirements"], *shown.plan.get("values", ())):
        identifier = write_id(row)
        boxes = _boxes_on(shown, row["id"], number)
        for at, (left, top, right, bottom) in enumerate(boxes):
            name = "" if at else f' id="at-{identifier}"'
            place = (left / width, top / height, (right - left) / width, (bottom - top) / height)
            x, y, w, h = (f"{100 * edge:.2f}%" for edge in place)
            # where two rows quote the same words, the tint stands once
            again = any(_covers(one, (left, top, right, bottom)) for one in drawn)
            drawn.append((left, top, right, bottom))
            yield (
                f'<a class="mark{" again" if again else ""}"{name} href="#{identifier}" tabindex=-1 title="{identifier}" '
                f'style="left:{x};top:{y};width:{w};height:{h}"></a>'
            )
        if boxes:
            is_right, down = boxes[0][0] >= _middle(shown, number), boxes[0][1] / height
            near = next((tag for tag in tags if tag[0] == is_right and abs(tag[1] - down) < _NEAR), None)
            if near:
                near[2].append(row["id"])
            else:
                tags.append((is_right, down, [row["id"]]))
    for is_right, down, ids in tags:
        side = "right" if is_right else "left"
        yield f'<span class="tags {side}" style="top:{100 * down:.2f}%">{"".join(map(link_row, ids))}</span>'


def _covers(one: Box, other: Box) -> bool:
    """Whether most of a box is under another."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    area = (other[2] - other[0]) * (other[3] - other[1])
    return across > 0 and down > 0 and across * down > 0.6 * area


def _render_text(shown: Reviewed, number: int) -> str:
    rows = {row["id"]: row for row in (*shown.plan["requirements"], *shown.plan.get("values", ()))}
    here = {name: row for name, row in rows.items() if row["source"]["page"] == number}
    quotes = sorted(find_quotes(shown.paper, here, dict.fromkeys(here, "demand")))
    marks = [*PAGE_MARK.finditer(shown.paper.text, shown.paper.body_start), None]
    for mark, after in pairwise(marks):
        if mark and int(mark.group(1)) == number:
            text = render_paper(shown.paper, quotes, mark.end(), after.start() if after else None)
            return text.replace('id="quote-', 'id="at-')
    return ""


def write_id(row: Row) -> str:
    return in_html(str(row["id"]))


def link_row(identifier: str) -> str:
    return f'<a class=id href="#{in_html(identifier)}">{in_html(identifier)}</a>'
