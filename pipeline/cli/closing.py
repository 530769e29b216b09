"""The last screen of a run: what was made, where, what is not done, and what to type next."""

from __future__ import annotations

import os
import re
from typing import Any

from pipeline.cli.assembly import command_name, near
from pipeline.cli.console import advise, complain, say, say_json
from pipeline.cli.program import program
from pipeline.errors import PipelineError
from pipeline.store import TaskStore

_SHOWN = 8
_RESUME = re.compile(
    r"pipeline resume(?: (?!-)\S+)*? (--(?:add-usd|batch-usd|max-usd|max-tokens|max-turns|max-minutes) (?:N|[0-9]+(?:\.[0-9]+)?))"
)
"""These flags alone: a reason may hold words of a stranger, and what stands under Next is typed without a second look."""


def show_report(store: TaskStore, report: dict[str, Any], *, as_json: bool) -> int:
    """Prints the report for a person, or as JSON, and returns the exit code."""
    if as_json:
        say_json(report)
    elif report["status"] in ("error", "cancelled") or report["exit_code"] == 1:
        complain(report["reason"])
        for line in _spent(report):
            say(line)
        say(f"\nTask {report['id']}: {report['status']}. What is done is kept in {near(store.root)}")
        for line in _after_an_error(store, report):
            say(line)
    else:
        for line in _screen(store, report):
            advise(line)
    return int(report["exit_code"])


def _after_an_error(store: TaskStore, report: dict[str, Any]) -> list[str]:
    """What to type next. Where every phase has its result, the work itself ended so: a required todo failed, say."""
    name, pipeline = command_name(store), program()
    ended = report["status"] == "error" and all(row["status"] in ("done", "skipped") for row in report["phases"])
    if not ended:
        return [f"Go on with:  {pipeline} resume {name}"]
    return [
        f"See why:     {pipeline} show {name} acceptance",
        f"Go on with:  {pipeline} resume {name} --code-model NAME",
        f"Begin anew:  {pipeline} resume {name} --redo implement",
    ]


def _screen(store: TaskStore, report: dict[str, Any]) -> list[str]:
    lines = ["", f"Task {report['id']}: {report['status']}. {_sentence(report['reason'])}", ""]
    lines += [f"  {path:<34} {what}" for path, what in _made(store, report)]
    lines += _spent(report)
    lines += _not_done(store, report)
    rows = _next(store, report)
    width = max(len(command) for command, _ in rows) + 1
    return [*lines, "", "Next:", *(f"  {command:<{width}} {what}" for command, what in rows)]


def _spent(report: dict[str, Any]) -> list[str]:
    """What models cost, where they cost anything."""
    usage = report["usage"]
    if not usage["tokens_in"] + usage["tokens_out"]:
        return []
    told = f"{usage['tokens_in']:,} tokens read, {usage['tokens_out']:,} written"
    return ["", f"Spent: ${usage['usd']:.4f} in {usage['calls']} calls: {told}"]


def _made(store: TaskStore, report: dict[str, Any]) -> list[tuple[str, str]]:
    root, files = near(store.root), report["files"]
    written = f"the code: {files['written']} of {files['planned']} planned files"
    candidates = [
        ("paper.md", "the paper as Markdown"),
        ("outline.json", "its sections, equations, tables, references"),
        ("initial_plan.txt", "the plan; every requirement cites section and page"),
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
    return f"code of {count} that the paper stands on; {program()} search {command_name(store)} QUERY"


def _not_done(store: TaskStore, report: dict[str, Any]) -> list[str]:
    requirements = report["requirements"]
    lines: list[str] = []
    open_ones = requirements["missing"]
    if open_ones:
        lines += ["", f"Not implemented: {len(open_ones)} of {requirements['total']} requirements of the paper"]
        lines += [f"  {row['id']:<5} {row['status']:<8} {_short(row['text'])}" for row in open_ones[:_SHOWN]]
        if len(open_ones) > _SHOWN:
            lines.append(f"  … and {len(open_ones) - _SHOWN} more: {program()} trace {command_name(store)}")
    lines += [f"  not written: {path}" for path in report["files"]["missing"]]
    if shown := report.get("reference_files"):
        licences = ", ".join(sorted({row["licence"] or "none found" for row in shown}))
        lines += [
            "",
            f"The model was shown {len(shown)} files of other people (licences: {licences}); report.json names them.",
        ]
    for row in report["phases"]:
        if row["status"] == "degraded":
            again = f"{program()} resume {command_name(store)} --redo {row['number']}"
            lines.append(f"  left out: {row['number']} {row['name']} ({row['error']}); when that is mended: {again}")
    if report["sandbox"] == "off":
        lines += ["", "The agent's commands ran WITHOUT a sandbox, with your own rights."]
    return lines


def _next(store: TaskStore, report: dict[str, Any]) -> list[tuple[str, str]]:
    name, pipeline = command_name(store), program()
    if report["status"] == "paused":
        gate = [row for row in report["phases"] if row["name"] == "plan_review" and row["status"] == "stopped"]
        if gate:
            return [
                (f"{pipeline} review {name}", "read the plan"),
                (f"{pipeline} review {name} --approve", "approve it (or --edit, --change TEXT, --reject)"),
                (f"{pipeline} resume {name}", "then go on"),
            ]
        limit = _higher_limit(report["reason"])
        return [
            (f"{pipeline} resume {name}{limit}", "go on, with a higher limit" if limit else "go on"),
            (f"{pipeline} why {name}", "what would run, and why"),
        ]
    return [
        *(_of_acceptance(name, pipeline, report) if report["status"] == "incomplete" else []),
        (f"{pipeline} show {name} plan", "read the plan"),
        *(
            [(f"{pipeline} trace {name}", "which requirement is where in the code")]
            if store.exists("traceability.json")
            else []
        ),
        (f"{pipeline} resume {name}", "after you edited a document: makes what reads it again"),
    ]


def _of_acceptance(name: str, pipeline: str, report: dict[str, Any]) -> list[tuple[str, str]]:
    """What helps where the work was not accepted, or where it waits for its user."""
    story = (f"{pipeline} show {name} acceptance", "what was refused, and why")
    if any(row["status"] == "stopped" for row in report["phases"]):
        return [story, (f"{pipeline} resume {name}", "go on, when that is mended")]
    if "not accepted (" not in report["reason"]:
        return []
    return [
        story,
        (f"{pipeline} rewind {name}", "go back to a refusal; the last one: to judge it anew, with a hook mended, say"),
        (f"{pipeline} resume {name} --code-model NAME", "let another model go on with the code"),
    ]


def _higher_limit(reason: str) -> str:
    """The flag, with its value, that a run which a limit paused needs to go on; empty where it needs none."""
    found = _RESUME.findall(reason)
    return f" {found[-1]}" if found else ""


def _short(text: str, width: int = 76) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
