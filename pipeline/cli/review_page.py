"""Collect the content of a review's page: the plan, its doubts, its changes, and the pages of the paper."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from phases.pages.plan_page import PAGE_START, Reviewed, render_review
from phases.planning.quotes import quote_of
from phases.readers.kinds import PDF
from phases.readers.page_pictures import Picture, QuotePlace, View, draw_floats, draw_views, find_quotes
from phases.readers.reader_subprocess import copy_name, run_worker
from phases.sandbox.parsers import confine_parser
from pipeline.base.workers import WorkerStart
from pipeline.cli.assembly import command_name
from pipeline.cli.output import rewrite_commands, write_page
from pipeline.engine.store import TaskStore

MOST_PAGES, _DOTS_PER_INCH = 60, 96
_run = partial(run_worker, start=WorkerStart(os.environ, confine_parser))


def write_review_page(
    store: TaskStore, out: str, standing: str, doubts: Sequence[str], difference: Sequence[str]
) -> None:
    """Write the page of the plan as it is now. Raises UsageError where there is something else under that name."""
    plan, paper = store.load("initial_plan.txt"), store.load("paper.md")
    path = find_source(store)
    pictures = draw_sheets(path, paper.front["pages"]) if path else {}
    places = locate_rows(path, plan) if path else {}
    floats = _draw_tables(path, plan, store.load("outline.json")) if path else {}
    shown = Reviewed(
        plan,
        paper,
        store.digest("initial_plan.txt") or "",
        standing,
        rewrite_commands(f"pipeline review {command_name(store)}"),
        doubts,
        difference,
        pictures,
        places,
        floats,
    )
    write_page(out, PAGE_START, lambda: render_review(shown))


def draw_sheets(path: str, pages: int) -> dict[int, Picture]:
    """Return the pictures of a PDF's pages by number."""
    return _draw(path, range(1, min(pages, MOST_PAGES) + 1))


def draw_sheet(path: str, page: int) -> Picture | None:
    """Draw one page of a PDF; None if it cannot be drawn."""
    return _draw(path, (page,)).get(page)


def _draw(path: str, pages: Sequence[int]) -> dict[int, Picture]:
    views = [View(number) for number in pages]
    drawn = draw_views(path, views, dots_per_inch=_DOTS_PER_INCH, run=_run)
    return {view.page: picture for view, picture in zip(views, drawn, strict=True) if picture}


def locate_rows(path: str, plan: Mapping[str, Any]) -> dict[str, tuple[QuotePlace, ...]]:
    """Return where the quotes of each row of a plan are on the pages of a PDF, by the row's id."""
    rows = [row for row in (*plan["requirements"], *plan.get("values", ())) if row["source"]["page"]]
    # a requirement is marked in whole where its words are the paper's, else as far as it is quoted
    texts = [(row["source"]["page"], str(row.get("text") or quote_of(row))) for row in rows]
    quotes = [(row["source"]["page"], quote_of(row)) for row in rows]
    found = find_quotes(path, [*texts, *quotes], run=_run)
    whole, part = found[: len(rows)], found[len(rows) :]
    return {row["id"]: here or quoted for row, here, quoted in zip(rows, whole, part, strict=True)}


def _draw_tables(path: str, plan: Mapping[str, Any], outline: Mapping[str, Any]) -> dict[str, Picture]:
    """Return the pictures of the tables by label."""
    tables = list_targets(plan, outline)
    shown = {"figures": [], "tables": tables}
    return draw_floats(path, shown, dots_per_inch=_DOTS_PER_INCH, run=_run) if tables else {}


def list_targets(plan: Mapping[str, Any], outline: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables of the plan's expected results, also the parts of one table."""
    wanted = {str(row["table"]).partition(", part ")[0] for row in plan.get("expected_results", ())}
    return [row for row in outline["tables"] if row["label"] in wanted]


def find_source(store: TaskStore) -> str:
    """Return the task's PDF, of a scan the one with text; empty if there is none in the task's own directory."""
    given = store.load("input.json") if store.exists("input.json") else {}
    if given.get("kind") != PDF:
        return ""
    is_recognized = store.exists("paper.md") and "recognized_by" in store.load("paper.md").front
    name = copy_name(given["sha256"]) if is_recognized else given["files"][0]["path"]
    path, directory = (os.path.realpath(store.path(one)) for one in (name, name.partition("/")[0]))
    return path if path.startswith(directory + os.sep) and os.path.isfile(path) else ""
