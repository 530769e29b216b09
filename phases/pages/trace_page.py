"""A page that shows the paper next to the code, with each requirement marked in both. It is escaped, and loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.evidence.locate import demands_of
from phases.evidence.places import Place, split_lines
from phases.evidence.traceability import count_evidence, describe_evidence, describe_judgement
from phases.pages.marked_paper import cut_blocks, find_quotes
from phases.pages.render import page_start, render_file
from pipeline.base.formats import Markdown

PAGE_START = page_start("trace")
MOST_LINES = 5000


class Traced(NamedTuple):
    """The content of the page."""

    paper: Markdown
    plan: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    """The rows of traceability.json."""
    places: Sequence[Place]
    files: Mapping[str, str]
    verified_by: Sequence[str] = ()
    """Verifiers of the code."""


def render_page(traced: Traced) -> str:
    """Return the page, as HTML."""
    title = traced.plan["paper"]["title"] or "untitled"
    return render_file(PAGE_START, title, "trace_file.html", describe_trace(traced), ("requirements", "paper", "code"))


def describe_trace(traced: Traced) -> dict[str, Any]:
    """Return the values of the template: the rows with their links, the paper's blocks, the files' lines."""
    requirements = {row["id"]: row for row in demands_of(traced.plan)}
    statuses = {row["id"]: row["status"] for row in traced.rows}
    quotes = sorted(find_quotes(traced.paper, requirements, statuses))
    quoted = {quote.identifier for quote in quotes}
    anchors = _code_anchors(traced)
    return {
        "title": traced.plan["paper"]["title"] or "untitled",
        "evidence": describe_evidence(count_evidence(traced.rows), traced.verified_by),
        "rows": [
            {
                **row,
                "demand": requirements.get(row["id"], {}),
                "is_quoted": row["id"] in quoted,
                "judgement": describe_judgement(row),
            }
            for row in traced.rows
        ],
        "anchors": anchors,
        "blocks": list(cut_blocks(traced.paper, quotes)),
        "files": [_describe_file(path, text, traced, statuses) for path, text in traced.files.items()],
    }


def _code_anchors(traced: Traced) -> dict[str, str]:
    numbers = {path: number for number, path in enumerate(traced.files)}
    return {
        place.name: f"code-{numbers[place.path]}-{place.first}"
        for place in reversed(traced.places)
        if place.path in numbers and place.first <= MOST_LINES
    }


def _describe_file(path: str, text: str, traced: Traced, statuses: Mapping[str, str]) -> dict[str, Any]:
    lines = split_lines(text)
    lines = lines[:-1] if lines[-1] == "" else lines
    colours: dict[int, str] = {}
    tags: dict[int, list[tuple[str, str]]] = {}
    own = [place for place in traced.places if place.path == path]
    for place in sorted(own, key=lambda place: place.first - place.last):  # the innermost colours last
        kind = "stubbed" if place.is_stub else statuses.get(place.identifier, "located")
        colours |= dict.fromkeys(range(place.first, min(place.last, MOST_LINES) + 1), kind)
        tags.setdefault(place.first, []).append((kind, place.identifier))
    shown = enumerate(lines[:MOST_LINES], 1)
    return {
        "path": path,
        "lines": [(number, line, colours.get(number, ""), tags.get(number, ())) for number, line in shown],
        "more": max(0, len(lines) - MOST_LINES),
    }
