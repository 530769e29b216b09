"""`pipeline cost`: what a task has spent on models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from pipeline.cli.arguments import task_or_newest, tasks_dir_option
from pipeline.cli.assembly import open_task, settings_from
from pipeline.cli.console import printable, say, say_json

Row = Mapping[str, Any]
_LONGEST_NAME = 120
_LIMITS = (("max_usd", "usd"), ("max_tokens", "tokens"), ("max_minutes", "minutes"))
_PHASES = {"plan": "05 plan", "references": "06 references"}


@click.command("cost")
@task_or_newest
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cost_command(task: str | None, tasks_dir: str | None, as_json: bool) -> None:
    """Tell what a task has cost, by phase, file and sub-agent; without ID, the newest task.

    What was paid for and gave nothing (a reply that was cut off, say) is counted too.

    \b
    pipeline cost paper
    """
    from phases.llm.ledger_rows import rows_by_now

    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    rows = rows_by_now(store.path("logs/llm.jsonl"))
    costs = {
        "id": store.id,
        "total": _summed(rows),
        "limits": {name: store.load("task.json")["settings"].get(name, 0) for name, _ in _LIMITS},
        "by_phase": _grouped(rows, lambda row: _PHASES.get(row["thread"], "09 implement")),
        "by_file": _grouped(
            (row for row in rows if not _is_sub_agents(row)), lambda row: str(row["about"]) or f"({row['thread']})"
        ),
        "by_sub_agent": _grouped(filter(_is_sub_agents, rows), lambda row: str(row["thread"])),
        "by_model": _grouped(rows, lambda row: str(row["model"])),
        "of_no_use": _summed(row for row in rows if row["outcome"] != "ok"),
    }
    if as_json:
        say_json(costs)
    else:
        _show(costs)


def _is_sub_agents(row: Row) -> bool:
    return str(row["thread"]).startswith("explore-")


def _summed(rows: Iterable[Row]) -> dict[str, Any]:
    from phases.llm.ledger_rows import sums

    total = sums(rows)
    seconds = total.pop("seconds")
    return {**total, "usd": round(total["usd"], 6), "minutes": round(seconds / 60, 2)}


def _grouped(rows: Iterable[Row], name_of: Callable[[Row], str]) -> dict[str, Any]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(name_of(row), []).append(row)
    return {name: _summed(group) for name, group in groups.items()}


def _show(costs: dict[str, Any]) -> None:
    total = costs["total"]
    if not total["calls"]:
        say(f"Task {costs['id']} has asked no model yet.")
        return
    say(f"Task {costs['id']}: {_line(total)}")
    limits = [f"{name} = {limit}" for name, limit in costs["limits"].items() if limit]
    say(f"  limits: {', '.join(limits) or 'none (set one with --max-usd N)'}")
    if costs["of_no_use"]["calls"]:
        say(f"  of that for replies that were of no use: {_line(costs['of_no_use'])}")
    for title in ("by_phase", "by_file", "by_sub_agent", "by_model"):
        if costs[title]:
            say(f"\n{title.replace('_', ' ').capitalize()}")
        for name, row in costs[title].items():
            say(f"  {_one_line(name):<44} {_line(row)}")


def _one_line(name: str) -> str:
    """A name that a model may have chosen, as one line of the screen."""
    line = printable(" ".join(name.split()))
    return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1] + "…"


def _line(row: Mapping[str, Any]) -> str:
    cached = f" ({row['tokens_cached']:,} cached)" if row["tokens_cached"] else ""
    calls = "1 call " if row["calls"] == 1 else f"{row['calls']} calls"
    return f"${row['usd']:.4f}  {calls}  {row['tokens_in']:,} tokens in{cached}, {row['tokens_out']:,} out"
