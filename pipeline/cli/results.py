"""`pipeline results`: compare the paper's tables with the code's results, as text, CSV, JSON or a page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, zip_longest
from textwrap import wrap
from typing import Any

import click

from phases.pages.render import write_figure
from phases.workspace.data_sets import describe_data
from pipeline.base.errors import UsageError
from pipeline.base.files import write_durable
from pipeline.base.safe_tree import read_beneath
from pipeline.cli.arguments import answers_about, complete_files, html_option, task_or_newest
from pipeline.cli.assembly import command_name, relative_path
from pipeline.cli.output import (
    Answer,
    notify,
    print_table,
    print_text,
    print_warning,
    width_of_terminal,
    wrap_text,
    write_page,
)
from pipeline.engine.store import TaskStore

_RESULTS = "results.json"
_LEAST = 24
"""Columns for both labels of a row, however narrow the terminal is."""
_MOST_REASONS = 8
_MOST_FILES, _LARGEST = 40, 4 << 20
_FIGURES = ("paper", "spread", "ours", "our_spread", "difference", "tolerance")


@click.command("results")
@answers_about(task_or_newest)
@click.option("--csv", "csv_file", metavar="FILE", shell_complete=complete_files, help="Also write the cells as CSV.")
@html_option("draws the paper's figures next to ours")
def results_command(store: TaskStore, csv_file: str | None, html: str | None) -> Answer:
    """Show every cell of the paper's tables: its figure, ours, how far they are apart, and what that shows.

    \b
    pipeline results paper
    pipeline results paper --html results.html --csv results.csv
    """
    results = _read_results(store)
    if csv_file:
        write_durable(csv_file, _as_csv(results["cells"]).encode())
        notify(f"wrote {csv_file}")
    if html:
        from phases.pages.results_page import PAGE_START, render_page  # imported here: only --html needs it

        title = str(store.load("initial_plan.txt")["paper"]["title"])
        write_page(html, PAGE_START, lambda: render_page(title, results, read_curves(store, results)))
    return Answer(results, lambda: _show_results(store.id, results))


def _read_results(store: TaskStore) -> dict[str, Any]:
    name = command_name(store)
    if not store.exists(_RESULTS):
        raise UsageError(f"task {store.id} has no results yet; run its experiments with: pipeline reproduce {name}")
    phase = store.graph.writer(_RESULTS)
    stamp = store.stamps.get(phase.number) if phase else None
    if phase and stamp and (why := store.stale_reason(phase, stamp.settings)):
        print_warning(f"these results are old ({why}); update them with: pipeline reproduce {name}")
    return dict(store.load(_RESULTS))


def read_curves(store: TaskStore, results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the curves in the experiments' files along epochs or steps."""
    from phases.pages.results_page import draw_curves  # imported here: only pages need it

    curves = []
    paths = [file["path"] for row in results["experiments"] for file in row["files"]]
    for path in [path for path in paths if path.endswith((".csv", ".jsonl"))][:_MOST_FILES]:
        with suppress(OSError, ValueError, csv.Error):
            text = read_beneath(store.root, path, _LARGEST).decode("utf-8")
            curves += draw_curves(path.removeprefix("results/"), _read_metrics(text, is_csv=path.endswith(".csv")))
    return curves


def _read_metrics(text: str, *, is_csv: bool) -> list[dict[str, Any]]:
    """Return the rows of a file along epochs or steps; none of other files, which may have many."""
    from phases.pages.results_page import find_steps  # imported here: as above

    if is_csv:
        table = csv.DictReader(io.StringIO(text))
        return list(table) if find_steps(table.fieldnames or ()) else []
    first, _, _ = text.partition("\n")
    rows = map(json.loads, text.splitlines()) if find_steps(json.loads(first)) else ()
    return [row for row in rows if isinstance(row, dict)]


def _show_results(name: str, results: dict[str, Any]) -> None:
    print_text(wrap_text(f"{name}: {results['sentence']}"))
    for fault in results["faults"]:
        print_warning(fault)
    for table, cells in groupby(results["cells"], key=lambda cell: cell["table"]):
        _show_table(table, list(cells))
    orders = results["orderings"]
    if orders["of"]:
        size = " at the quick size" if results["size"] == "quick" else ""
        told = f"Of {orders['of']} pairs that the paper clearly orders in a column, {orders['held']} are so here{size}."
        print_text(wrap_text(f"\n{told}"))
    for row in results.get("attempts", ()):
        changed = f"changed {', '.join(row['changed'])} ({row['changes']})" if row["changed"] else "changed nothing"
        print_text(
            wrap_text(f"\nattempt {row['number']}: the agent was sent {row['told']} cells, and {changed}", hanging=4)
        )
        print_text(wrap_text(f"  before it: {row['before']}", hanging=4))
    for number, line in enumerate(describe_data(results.get("data", ()))):
        print_text(wrap_text(line if number else f"\n{line}", hanging=4))
    print_text("\nExperiments:")
    for row in results["experiments"]:
        ended = row["why"] or f"{row['seconds']:.0f} s, {_count_files(len(row['files']))}, {row['log']}"
        print_text(wrap_text(f"  {row['name']} ({results['size']}): {row['status']}; {ended}", hanging=4))


def summarize_tables(store: TaskStore, report: dict[str, Any]) -> list[str]:
    """Summarize the paper's tables for the closing screen."""
    lines = ["", wrap_text(f"The paper's tables: {report['reproduction']['sentence']}")]
    lines.append(f"  each cell: pipeline results {command_name(store)}")
    results = store.load(_RESULTS)
    if report["reproduction"]["verdicts"].get("reported") and not results["held_out"]:
        lines.append("  only labels of yours can show that a figure is reproduced: --held-out DIR")
    attempts = results.get("attempts") if report["exit_code"] == 3 else None
    if attempts and attempts[-1]["changed"]:
        task = relative_path(store.root)
        undo = f"patch -R -p1 -d {task}/generate_code -i {store.path(attempts[-1]['changes'])}"
        lines.append(f"  to undo the last attempt: {undo}")
    return lines


def _show_table(table: str, cells: list[dict[str, Any]]) -> None:
    print_text(f"\n{table}")
    header = ("ID", "ROW", "COLUMN", "PAPER", "OURS", "VERDICT")
    rows: list[tuple[str, ...]] = [
        (
            cell["id"],
            cell["row"],
            cell["column"],
            write_figure(cell["paper"], cell["spread"]),
            write_figure(
                cell["ours"], None if cell["our_spread"] is None or cell["spread"] is None else cell["our_spread"]
            ),
            cell["verdict"],
        )
        for cell in cells
    ]
    print_table([line for row in rows for line in _fold_labels(row, *_label_widths([header, *rows]))], header=header)
    reasons: dict[str, list[str]] = {}
    for cell in cells:
        if reason := _describe_reason(cell):
            reasons.setdefault(f"{cell['verdict']}: {reason}", []).append(cell["id"])
    for reason, names in list(reasons.items())[:_MOST_REASONS]:
        print_text(wrap_text(f"  {_list_names(names)}: {reason}", hanging=4))


def _count_files(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"


def _describe_reason(cell: dict[str, Any]) -> str:
    """Return why a cell has its verdict; empty if that is plain."""
    if cell["why"] or cell["verdict"] not in ("near", "differs"):
        return str(cell["why"])
    return f"{abs(cell['difference']):.3g} apart, and {cell['tolerance']:.3g} is allowed ({cell['tolerance_from']})"


def _list_names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]} ({len(names)})"


def _label_widths(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return widths of the columns ROW and COLUMN that leave room for the others in the terminal."""
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    room = max(width_of_terminal() - (sum(widths) - widths[1] - widths[2]), _LEAST)
    column = min(widths[2], max(room - widths[1], room * 2 // 5))
    return min(widths[1], room - column) - 2, column - 2


def _fold_labels(row: Sequence[str], first: int, second: int) -> Iterator[tuple[str, ...]]:
    """Yield a row in as many lines as its labels take: labels may differ in their last words alone."""
    lines = zip_longest(wrap(row[1], first) or [""], wrap(row[2], second), fillvalue="")
    for number, (name, column) in enumerate(lines):
        yield ("", name, column, *[""] * 3) if number else (row[0], name, column, *row[3:])


def _as_csv(cells: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    names = ("id", "table", "row", "column", "unit", "measure", *_FIGURES, "verdict", "agrees", "known_from", "why")
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([_harmless(cell[name]) for name in names] for cell in cells)
    return text.getvalue()


def _harmless(value: object) -> object:
    """Return text of the paper that no spreadsheet reads as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
