"""The last screen of a run: what was made, where, what is not done, and what to type next."""

from __future__ import annotations

import os
from typing import Any

from pipeline.base.errors import PipelineError
from pipeline.cli.assembly import command_name, near
from pipeline.cli.console import advise, complain, paint, put, say, say_json, say_pairs, width_of_terminal, wrap
from pipeline.cli.next_steps import next_steps
from pipeline.cli.program import as_called
from pipeline.cli.streams import finish_output
from pipeline.engine.phase import Phase
from pipeline.engine.store import TaskStore

_SHOWN = 8
_NARROW = 94


def show_report(store: TaskStore, report: dict[str, Any], *, as_json: bool, passed: Phase | None = None) -> int:
    """Prints the report for a person, or as JSON, and returns the exit code."""
    if as_json:
        say_json(report)
        return int(report["exit_code"])
    failed = report["status"] in ("error", "cancelled") or report["exit_code"] == 1
    if failed:
        complain(report["reason"])
        _show_title(report, f"What is done is kept in {near(store.root)}")
    else:
        _show_title(report, _sentence(report["reason"]))
        if passed and report["status"] != "paused":  # whose reason says it
            advise(f"Phase {passed.label} was done before, so there was nothing to stop for.")
        advise()
        say_pairs(_made(store, report), dim=True)
    for line in [*_spent(report), *_checked(report), *([] if failed else _not_done(store, report))]:
        advise(line)
    advise("\nNext:")
    say_pairs(next_steps(store, report, passed))
    finish_output()  # whether anybody sees the screen says nothing about the run
    return int(report["exit_code"])


def _show_title(report: dict[str, Any], sentence: str) -> None:
    advise()
    first, *more = wrap(as_called(f"Task {report['id']}: {report['status']}. {sentence}")).split("\n")
    name, colon, rest = first.partition(f": {report['status']}.")
    put(paint(name) + colon[:2] + paint(colon[2:-1], report["status"]) + colon[-1:] + paint(rest))
    for line in more:
        say(line)


def _spent(report: dict[str, Any]) -> list[str]:
    """What models cost, where they cost anything."""
    usage = report["usage"]
    if not usage["tokens_in"] + usage["tokens_out"]:
        return []
    told = f"{usage['tokens_in']:,} tokens read, {usage['tokens_out']:,} written"
    return ["", f"Spent: ${usage['usd']:.4f} in {usage['calls']} calls: {told}"]


def _checked(report: dict[str, Any]) -> list[str]:
    """The commands that checked the code, and how many tests each ran."""
    from phases.acceptance.story import describe_check

    checks = report.get("checks", ())
    return ["", "Checks:", *(f"  {describe_check(check)}" for check in checks)] if checks else []


def _made(store: TaskStore, report: dict[str, Any]) -> list[tuple[str, str]]:
    root, files = near(store.root), report["files"]
    written = f"the code: {files['written']} of {files['planned']} planned files"
    candidates = [
        ("paper.md", "the paper as Markdown"),
        ("outline.json", "its sections, equations, tables, references"),
        ("initial_plan.txt", "the plan; each requirement cites its page"),
        ("generate_code", written),
        ("traceability.json", "which requirement is where in the code"),
        ("code_base", _fetched(store)),
        ("report.json", "this report, for programs"),
    ]
    return [
        (os.path.join(root, name), what)
        for name, what in candidates
        if what
        and store.exists(name)
        and (files["planned"] or name != "generate_code")  # a paused run has counted none
    ]


def _fetched(store: TaskStore) -> str:
    """How much of other people's code there is; empty where there is none."""
    try:
        rows = store.load("code_base.json").get("repositories", ()) if store.exists("code_base.json") else ()
    except PipelineError:
        return ""  # it is damaged: whoever reads it next says so
    if not rows:
        return ""
    count = "a repository" if len(rows) == 1 else f"{len(rows)} repositories"
    return f"code of {count} that the paper stands on; pipeline search {command_name(store)} QUERY"


def _not_done(store: TaskStore, report: dict[str, Any]) -> list[str]:
    requirements = report["requirements"]
    lines: list[str] = []
    open_ones = requirements["missing"]
    if open_ones:
        room = min(width_of_terminal(), _NARROW) - 18
        lines += ["", f"Not implemented: {len(open_ones)} of {requirements['total']} requirements of the paper"]
        lines += [f"  {row['id']:<5} {row['status']:<8} {_short(row['text'], room)}" for row in open_ones[:_SHOWN]]
        if len(open_ones) > _SHOWN:
            lines.append(f"  … and {len(open_ones) - _SHOWN} more: pipeline trace {command_name(store)}")
    lines += [f"  not written: {path}" for path in report["files"]["missing"]]
    if shown := report.get("reference_files"):
        licences = ", ".join(sorted({row["licence"] or "none found" for row in shown}))
        told = f"The model was shown {len(shown)} files of other people (licences: {licences}); report.json names them."
        lines += ["", wrap(told)]
    for row in report["phases"]:
        if row["status"] == "degraded":
            again = f"pipeline resume {command_name(store)} --redo {row['number']}"
            lines += [
                wrap(f"  left out: {row['number']} {row['name']} ({row['error']}); when that is mended:"),
                f"    {again}",
            ]
    lines += _not_fetched(store)
    if report["sandbox"] == "off":
        lines += ["", "The agent's commands ran WITHOUT a sandbox, with your own rights."]
    return lines


def _not_fetched(store: TaskStore) -> list[str]:
    """How many repositories could not be had, and what to type."""
    try:
        code_base = store.load("code_base.json") if store.exists("code_base.json") else {}
    except PipelineError:
        return []
    if not code_base.get("refused"):
        return []
    from phases.references.values import count_fetched

    name = command_name(store)
    return [
        "",
        f"Repositories: {count_fetched(code_base)}",
        f"  why not: pipeline show {name} repositories",
        f"  when that is mended: pipeline resume {name} --redo 07",
    ]


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
