"""Print the closing screen of a run: results, paths, open ends, and what to type next."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.cli.assembly import command_name, locate_task, model_for, relative_path
from pipeline.cli.next_steps import is_end_of_work, load_sound, next_steps
from pipeline.cli.output import (
    paint_text,
    print_advice,
    print_error,
    print_json,
    print_pairs,
    print_raw,
    print_text,
    rewrite_commands,
    width_of_terminal,
    wrap_text,
)
from pipeline.cli.streams import finish_output
from pipeline.engine.phase import TYPED, Phase
from pipeline.engine.store import TaskStore

_SHOWN, _SHOWN_ASSUMED = 5, 3
_ASKS_MODELS = ("pipeline resume ", "pipeline iterate ")
_NARROW = 94


def show_summary(
    store: TaskStore, report: dict[str, Any], *, as_json: bool, passed: Phase | None = None, again: str = ""
) -> int:
    """Print the report for a person, or as JSON, and return the exit code. `again`: flags that a resume needs once more."""
    if as_json:
        print_json(report)
        return int(report["exit_code"])
    failed = report["status"] in ("error", "cancelled") or report["exit_code"] == 1
    reason = locate_task(report["reason"], store.root)
    if failed:
        print_error(reason)
        _show_title(report, f"Finished work is kept in {relative_path(store.root)}")
    else:
        _show_title(report, _to_sentence(reason))
        if passed and report["status"] != "paused":  # whose reason says it
            print_advice(f"Phase {passed.label} was done before, so there was nothing to stop for.")
        print_advice()
        print_pairs(_result_rows(store, report), dim=True)
    # else they are of an earlier run; and the tests of a scaffold show little
    is_checked = is_end_of_work(store, report) if failed else not report.get("scaffold")
    for line in [
        *_spending_lines(report),
        *(_check_lines(report) if is_checked else []),
        *([] if failed else _unfinished_lines(store, report)),
        *_reproduction_lines(store, report),
    ]:
        print_advice(line)
    print_advice("\nNext:")
    steps = next_steps(store, report, passed)
    # another model may be on another server
    own = [step.startswith(_ASKS_MODELS) and "model NAME" not in step for step, _ in steps]
    print_pairs([(f"{step}{again}" if is_own else step, why) for is_own, (step, why) in zip(own, steps, strict=True)])
    finish_output()  # whether anybody sees the screen says nothing about the run
    return int(report["exit_code"])


def _show_title(report: dict[str, Any], sentence: str) -> None:
    print_advice()
    first, *more = wrap_text(rewrite_commands(f"Task {report['id']}: {report['status']}. {sentence}")).split("\n")
    name, colon, rest = first.partition(f": {report['status']}.")
    print_raw(paint_text(name) + colon[:2] + paint_text(colon[2:-1], report["status"]) + colon[-1:] + paint_text(rest))
    for line in more:
        print_text(line)


def _spending_lines(report: dict[str, Any]) -> list[str]:
    """Describe the cost of models, if any."""
    usage = report["usage"]
    if not usage["tokens_in"] + usage["tokens_out"]:
        return []
    told = f"{usage['tokens_in']:,} tokens read, {usage['tokens_out']:,} written"
    return ["", f"Spent: ${usage['usd']:.4f} in {usage['calls']} calls: {told}"]


def _check_lines(report: dict[str, Any]) -> list[str]:
    """Describe the commands that checked the code, and their tests."""
    told = []
    if checks := report.get("checks", ()):
        from phases.acceptance.attempt_report import describe_check  # imported here: many runs have no check

        told += [wrap_text(f"  {describe_check(check)}", hanging=4) for check in checks]
    told += [wrap_text(f"  {_to_sentence(evidence)}", hanging=2)] if (evidence := evidence_of(report)) else []
    return ["", "Checks:", *told] if told else []


def evidence_of(report: Mapping[str, Any]) -> str:
    """Return who vouches for the code and the counts of its evidence, in words; empty if the run has not ended."""
    if not report["requirements"] or not (report["requirements"]["total"] or report["verified_by"]):
        return ""
    from phases.evidence.traceability import describe_evidence  # imported here: as above

    return describe_evidence(report["requirements"], report["verified_by"])


def _reproduction_lines(store: TaskStore, report: dict[str, Any]) -> list[str]:
    """Describe the result of the paper's tables, if they were requested."""
    if "reproduction" not in report:
        return []
    from pipeline.cli.results import summarize_tables  # imported here: few runs have experiments

    return summarize_tables(store, report)


def _result_rows(store: TaskStore, report: dict[str, Any]) -> list[tuple[str, str]]:
    root, files = relative_path(store.root), report["files"]
    what = "constants and stubs" if report.get("scaffold") else "the code"
    written = f"{what}: {files['written']} of {files['planned']} planned files"
    is_request = str(load_sound(store, "task.json").get("source", "")).startswith(TYPED)
    few = ("plan.md", "generate_code", "code_base") if report.get("scaffold") else ()
    candidates = [
        ("generate_code", written),
        ("plan.md", "the plan" if is_request else "the plan; each requirement cites its page"),
        ("results.json", "the paper's tables next to the code's results"),
        ("traceability.json", "where each requirement is in the code"),
        ("code_base", _describe_repositories(store)),
        ("paper.md", "" if is_request else "the paper as Markdown"),
        ("outline.json", "" if is_request else "its sections, equations, tables, references"),
        ("report.json", "this report as JSON"),
    ]
    return [
        (os.path.join(root, name), what)
        for name, what in candidates
        if what
        and store.exists(name)
        and (not few or name in few)
        and (files["planned"] or name != "generate_code")  # a paused run has counted none
    ]


def _describe_repositories(store: TaskStore) -> str:
    """Return how many repositories there are; empty for none."""
    rows = load_sound(store, "code_base.json").get("repositories", ())
    count = "a repository" if len(rows) == 1 else f"{len(rows)} repositories"
    return f"code of {count} that the paper builds on; pipeline search {command_name(store)} QUERY" if rows else ""


def _unfinished_lines(store: TaskStore, report: dict[str, Any]) -> list[str]:
    plan = load_sound(store, "initial_plan.txt")
    lines = (
        _scaffold_lines(store, plan)
        if report.get("scaffold")
        else _open_requirement_lines(store, report["requirements"])
    )
    lines += [f"  not written: {path}" for path in report["files"]["missing"]]
    lines += [] if report.get("scaffold") else _assumption_lines(store, plan)
    for row in report.get("questions", ()):
        said = "you said" if row["by"] == "user" else "assumed"
        lines.append(wrap_text(f"  {said}: {row['question']} {row['answer']}", hanging=4))
    if shown := report.get("reference_files"):
        files = "1 file" if len(shown) == 1 else f"{len(shown)} files"
        licences = ", ".join(sorted({row["licence"] or "none found" for row in shown}))
        told = f"The model was shown {files} by other people (licences: {licences}); report.json names them."
        lines += ["", wrap_text(told)]
    for row in report["phases"]:
        if row["status"] == "degraded":
            again = f"pipeline resume {command_name(store)} --redo {row['number']}"
            why = locate_task(row["error"], store.root)
            lines += [
                wrap_text(f"  left out: {row['number']} {row['name']} ({why}); once that is fixed:"),
                f"    {again}",
            ]
    lines += _unfetched_lines(store)
    if by := report.get("recognized_by"):
        lines += ["", wrap_text(f"The paper is a scan: {by} recognized its text, figures in it may be wrong.")]
    if report["sandbox"] == "off":
        lines += ["", "The agent's commands ran WITHOUT a sandbox, with your own rights."]
    return lines


def _assumption_lines(store: TaskStore, plan: dict[str, Any]) -> list[str]:
    """Return the first few assumptions of the plan."""
    told = [row["what"] for row in plan.get("uncertain", ())]
    told += [row["text"] for row in plan.get("requirements", ()) if row["status"] == "missing"]
    if not told:
        return []
    room, more = min(width_of_terminal(), _NARROW) - 4, len(told) - _SHOWN_ASSUMED
    shown = [wrap_text(f"  - {_shorten_text(one, 2 * room)}", hanging=4) for one in told[:_SHOWN_ASSUMED]]
    rest = f"  … and {more} more: " if more > 0 else "  In full: "
    return ["", "Open or assumed in the plan:", *shown, f"{rest}pipeline review {command_name(store)}"]


def _scaffold_lines(store: TaskStore, plan: dict[str, Any]) -> list[str]:
    """Describe the plan behind a scaffold: who wrote it, what it has, and where to begin to read."""
    from phases.planning.plan_words import count_rows  # imported here: TAB must import no phase

    counts = f": {count_rows(plan)}" if plan else ""
    settings = load_sound(store, "task.json").get("settings")
    planner = model_for(settings, "plan") if settings else "offline"
    if planner != "offline":
        return ["", wrap_text(f"Planned by {planner}{counts}. What is uncertain or missing comes first in plan.md.")]
    return ["", wrap_text(f"Planned by rules, without a model{counts}. Where they are unsure, plan.md says so first.")]


def _open_requirement_lines(store: TaskStore, requirements: dict[str, Any]) -> list[str]:
    """Return the first few requirements that are not met."""
    rows = requirements["open"]
    if not rows:
        return []
    from phases.planning.plan_words import read_aloud  # imported here: few runs end with open requirements

    room = min(width_of_terminal(), _NARROW) - 18
    more = len(rows) - _SHOWN
    told = f"{len(rows)} of {requirements['total']} requirements and values ({_count_statuses(rows)})"
    return [
        "",
        wrap_text(f"Open: {told}", hanging=6),
        *(
            f"  {row['id']:<5} {row['status']:<8} {_shorten_text(read_aloud(row['text']), room)}"
            for row in rows[:_SHOWN]
        ),
        *([f"  … and {more} more: pipeline trace {command_name(store)}"] if more > 0 else []),
    ]


def _count_statuses(rows: list[dict[str, Any]]) -> str:
    """Return how many requirements have each status."""
    counts = Counter(row["status"] for row in rows)
    return ", ".join(
        f"{count} {'not located' if status == 'unlocated' else status}" for status, count in counts.items()
    )


def count_repositories(store: TaskStore) -> str:
    """Return how many repositories were fetched if some are missing; empty otherwise."""
    code_base = load_sound(store, "code_base.json")
    if not code_base.get("refused"):
        return ""
    from phases.references.values import count_fetched  # imported here: TAB must import no phase

    return count_fetched(code_base)


def _unfetched_lines(store: TaskStore) -> list[str]:
    """Describe the missing repositories, with what to type."""
    told, name = count_repositories(store), command_name(store)
    if not told:
        return []
    return [
        "",
        # named, and the phase is done: a resume would otherwise try them again each time (decision 103)
        f"Repositories: {told}",
        f"  why not: pipeline show {name} repositories",
        f"  once that is fixed: pipeline resume {name} --redo 07",
    ]


def _shorten_text(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rpartition(" ")[0].rstrip(" ,;:") + " …"


def _to_sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
