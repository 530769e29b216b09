"""`pipeline trace`: show where each requirement of the paper is in the code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from phases.evidence.locate import demands_of, find_tests, locate_demands, read_sources
from phases.evidence.places import Place, split_lines
from phases.evidence.traceability import count_evidence, describe_evidence, describe_judgement
from phases.planning.plan_words import read_aloud
from phases.workspace.workspace import Workspace
from pipeline.base.errors import UsageError
from pipeline.cli.arguments import answers_about, html_option, task_or_newest
from pipeline.cli.assembly import command_name
from pipeline.cli.output import Answer, print_text, print_warning, wrap_text, write_page
from pipeline.engine.settings import did_you_mean
from pipeline.engine.store import TaskStore

_LONGEST_TEXT = 200
_TOO_LITTLE = 3
if TYPE_CHECKING:
    from phases.pages.trace_page import Traced


@click.command("trace")
@answers_about(task_or_newest)
@click.argument("requirement", metavar="[R3]", required=False)
@html_option("puts the paper next to the code")
@click.option(
    "--fail-under",
    metavar="PERCENT",
    type=click.FloatRange(0, 100),
    help="Exit with 3 if passing tests run the code of less than this percentage of requirements.",
)
def trace_command(store: TaskStore, requirement: str | None, html: str | None, fail_under: float | None) -> Answer:
    """Show which requirement of the paper is where in the code, and which is not; with R3, that one and its code.

    \b
    pipeline trace paper                      every requirement, its status, places and tests
    pipeline trace paper R3                   one of them, with its code
    pipeline trace paper --html trace.html    the paper beside the code
    pipeline trace paper --fail-under 80      for CI: exits with 3 if tests run less
    """
    rows, plan = read_trace(store)
    counts = count_evidence(rows)
    run = 100 * counts["run"] / counts["total"] if rows else 100.0
    is_under = fail_under is not None and run < fail_under
    told = (
        (f"tests run the code of {run:.0f} % of the requirements; --fail-under asks for {fail_under:g} %",)
        if is_under
        else ()
    )
    workspace, places = read_code(store, plan)
    verified_by = read_verifiers(store)
    rows = _choose_rows(join_plan(rows, plan), requirement)
    if html:
        _write_page(store, plan, (workspace, places), html)
    return Answer(
        {"task": store.id, "verified_by": verified_by, "counts": count_evidence(rows), "requirements": rows},
        lambda: _show_whole(rows[0], workspace, places) if requirement else _show_all(store.id, rows, verified_by),
        _TOO_LITTLE if is_under else 0,
        told,
    )


def read_trace(store: TaskStore) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of traceability.json, and the plan."""
    if not store.exists("traceability.json"):
        raise UsageError(
            f"task {store.id} has no traceability.json yet: phase 09 writes it; go on with: pipeline resume {command_name(store)}"
        )
    return store.load("traceability.json")["requirements"], store.load("initial_plan.txt")


def read_verifiers(store: TaskStore) -> list[str]:
    """Return who vouches for the code, by the report of the last run."""
    report = store.load("report.json") if store.exists("report.json") else {}
    return list(report.get("verified_by", ()))


def read_code(store: TaskStore, plan: dict[str, Any]) -> tuple[Workspace | None, list[Place]]:
    """Return the code as it is now, and the places of the requirements in it."""
    if not os.path.isdir(store.path("generate_code")):
        return None, []
    workspace = Workspace(store.path("generate_code"))
    return workspace, locate_demands(plan, read_sources(workspace))


def join_plan(rows: list[dict[str, Any]], plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Join each row with its part of the plan. An edited plan may have less."""
    planned = {row["id"]: row for row in demands_of(plan)}
    unknown = {"kind": "", "source": {"section": None, "page": 0, "quote": ""}}
    if changed := sorted({row["id"] for row in rows} ^ set(planned)):
        print_warning(f"the plan was changed since the code was traced: {', '.join(changed[:10])}")
    return [
        {
            **row,
            **{name: planned.get(row["id"], unknown)[name] for name in ("kind", "source")},
        }
        for row in rows
    ]


def _choose_rows(rows: list[dict[str, Any]], requirement: str | None) -> list[dict[str, Any]]:
    if not requirement:
        return rows
    found = [row for row in rows if row["id"] == requirement.upper()]
    if not found:
        names = [row["id"] for row in rows]
        raise UsageError(
            f"there is no requirement '{requirement}'{did_you_mean(requirement.upper(), names)}; `pipeline trace` lists them"
        )
    return found


def _show_all(name: str, rows: list[dict[str, Any]], verified_by: list[str]) -> None:
    print_text(wrap_text(f"{name}: {describe_evidence(count_evidence(rows), verified_by)}", hanging=4))
    for row in rows:
        text = " ".join(read_aloud(row["text"]).split())
        _show_row(row, text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…")


def _show_row(row: dict[str, Any], text: str) -> None:
    source = row["source"]
    place = [f"section {source['section']}"] * bool(source["section"]) + [f"page {source['page']}"] * bool(
        source["page"]
    )
    print_text(f"\n{row['id']:<5} {row['status']:<12} {', '.join([row['kind'], *place])}")
    print_text(wrap_text(text, indent=6))
    if source["quote"]:
        _show_field("quote", f'"{" ".join(read_aloud(source["quote"]).split())}"')
    for word, names in (("code", row["places"]), ("tests", row["tests"]), ("yours", row.get("user_tests", ()))):
        for number, name in enumerate(names):
            _show_field("" if number else word, name)
    if (more := row.get("test_count", 0) - len(row["tests"])) > 0:
        _show_field("", f"… and {more} more tests")
    if row["tried"]:
        _show_field("seen", f"its tests noticed {row['noticed']} of {row['tried']} changes to its code")
    for word, told in (("review", describe_judgement(row)), ("note", row["note"])):
        if told:
            _show_field(word, told)


def _show_field(word: str, text: str) -> None:
    print_text(f"      {word:<6} {wrap_text(text, indent=13).lstrip()}")


def _show_whole(row: dict[str, Any], workspace: Workspace | None, places: list[Place]) -> None:
    """Print a requirement, and below it the lines that meet it."""
    _show_row(row, read_aloud(row["text"]))
    own = [place for place in places if place.identifier == row["id"]]
    if sorted({place.name for place in own}) != sorted(row["places"]):
        print_warning("the code was changed since it was traced; this is its current state")
    for place in [*own, *(find_tests(row["tests"], read_sources(workspace)) if workspace else [])]:
        print_text(f"\n{place.path}, lines {place.first} to {place.last}: {place.symbol}")
        lines = split_lines(workspace.read(place.path)) if workspace else []
        for number in range(place.first, min(place.last, len(lines)) + 1):
            print_text(f"{number:>6}  {lines[number - 1]}".rstrip())


def _write_page(store: TaskStore, plan: dict[str, Any], code: tuple[Workspace | None, list[Place]], out: str) -> None:
    from phases.pages.trace_page import PAGE_START, render_page  # imported here: only --html needs it

    write_page(out, PAGE_START, lambda: render_page(collect_page(store, plan, code)))


def collect_page(store: TaskStore, plan: dict[str, Any], code: tuple[Workspace | None, list[Place]]) -> Traced:
    """Collect the content of the page."""
    from phases.pages.trace_page import Traced  # imported here: as above

    workspace, places = code
    there = [row.path for row in workspace.digests() if row.sha256] if workspace else []
    files = {path: workspace.read(path) for path in there} if workspace else {}
    shown = {path: text for path, text in files.items() if "\x00" not in text}
    rows = store.load("traceability.json")["requirements"]
    return Traced(store.load("paper.md"), plan, rows, places, shown, read_verifiers(store))
