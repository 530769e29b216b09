"""`pipeline cost`: show a task's spending on models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from phases.llm.ledger_rows import rows_by_now, sum_rows
from pipeline.base.text_escaping import one_line
from pipeline.cli.arguments import answers_about, task_or_newest
from pipeline.cli.output import Answer, print_pairs, print_text
from pipeline.engine.store import TaskStore

LedgerRow = Mapping[str, Any]
_LONGEST_NAME = 120
_LIMITS = (("max_usd", "usd"), ("max_tokens", "tokens"), ("max_minutes", "minutes"))
_PHASES = {"plan": "05 plan", "references": "06 references"}


@click.command("cost")
@answers_about(task_or_newest)
def cost_command(store: TaskStore) -> Answer:
    """Show what a task has cost, by phase, file and sub-agent; without ID, the newest task.

    What was paid for and gave nothing (a reply that was cut off, say) is counted too.

    \b
    pipeline cost paper
    """
    costs = sum_costs(store)
    return Answer(costs, lambda: _show_costs(costs))


def sum_costs(store: TaskStore) -> dict[str, Any]:
    """Collect the output of `pipeline cost --json`."""
    rows = rows_by_now(store.path("logs/llm.jsonl"))
    return {
        "id": store.id,
        "total": _sum_rows(rows),
        "limits": {name: store.load("task.json")["settings"].get(name, 0) for name, _ in _LIMITS},
        "by_phase": _group_rows(rows, lambda row: _PHASES.get(row["thread"], "09 implement")),
        "by_file": _group_rows(
            (row for row in rows if not _is_sub_agents(row)), lambda row: str(row["about"]) or f"({row['thread']})"
        ),
        "by_sub_agent": _group_rows(filter(_is_sub_agents, rows), lambda row: str(row["thread"])),
        "by_model": _group_rows(rows, lambda row: str(row["model"])),
        "of_no_use": _sum_rows(row for row in rows if row["outcome"] != "ok"),
    }


def _is_sub_agents(row: LedgerRow) -> bool:
    return str(row["thread"]).startswith("explore-")


def _sum_rows(rows: Iterable[LedgerRow]) -> dict[str, Any]:
    total = sum_rows(rows)
    seconds = total.pop("seconds")
    return {**total, "usd": round(total["usd"], 6), "minutes": round(seconds / 60, 2)}


def _group_rows(rows: Iterable[LedgerRow], name_of: Callable[[LedgerRow], str]) -> dict[str, Any]:
    groups: dict[str, list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault(name_of(row), []).append(row)
    return {name: _sum_rows(group) for name, group in groups.items()}


def _show_costs(costs: dict[str, Any]) -> None:
    total = costs["total"]
    if not total["calls"]:
        print_text(f"Task {costs['id']} has asked no model yet.")
        return
    print_text(f"Task {costs['id']}: {_describe_cost(total)}")
    limits = [f"{name} = {limit}" for name, limit in costs["limits"].items() if limit]
    print_text(f"  limits: {', '.join(limits) or 'none (set one with --max-usd N)'}")
    if costs["of_no_use"]["calls"]:
        print_text(f"  of that for unusable replies: {_describe_cost(costs['of_no_use'])}")
    for title in ("by_phase", "by_file", "by_sub_agent", "by_model"):
        if costs[title]:
            print_text(f"\n{title.replace('_', ' ').capitalize()}")
        print_pairs([(one_line(name, _LONGEST_NAME), _describe_cost(row)) for name, row in costs[title].items()])


def _describe_cost(row: Mapping[str, Any]) -> str:
    cached = f" ({row['tokens_cached']:,} cached)" if row["tokens_cached"] else ""
    calls = "1 call " if row["calls"] == 1 else f"{row['calls']} calls"
    return f"${row['usd']:.4f}  {calls}  {row['tokens_in']:,} tokens in{cached}, {row['tokens_out']:,} out"
