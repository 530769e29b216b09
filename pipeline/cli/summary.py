"""The last screen of a run: what was made, where, what is not done, and what to type next."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from shlex import quote
from shutil import which
from typing import Any

from pipeline.base.errors import ContractError, PipelineError, StorageError
from pipeline.cli.assembly import (
    GIVEN_CODE,
    command_name,
    is_served,
    locate_task,
    model_for,
    relative_path,
    tasks_dir_flag,
)
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
from pipeline.engine.phase import Phase
from pipeline.engine.stamps import FINISHED
from pipeline.engine.store import TaskStore

_SHOWN = 5
_FORMULA = re.compile(r"[\\^{}←∑∈≤⟨]|[_$]\S|\S+\$")
"""Where a formula begins: as one line of text nobody can read it."""
_FEW = 30
"""Characters of words in front of a formula that are too few to tell a reader anything."""
_NARROW = 94


def show_summary(store: TaskStore, report: dict[str, Any], *, as_json: bool, passed: Phase | None = None) -> int:
    """Prints the report for a person, or as JSON, and returns the exit code."""
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
    for line in [
        *_spending_lines(report),
        # else they are of an earlier run
        *(_check_lines(report) if not failed or _is_end_of_work(store, report) else []),
        *([] if failed else _unfinished_lines(store, report)),
        *_reproduction_lines(store, report),
    ]:
        print_advice(line)
    print_advice("\nNext:")
    print_pairs(next_steps(store, report, passed))
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
    """What models cost, where they cost anything."""
    usage = report["usage"]
    if not usage["tokens_in"] + usage["tokens_out"]:
        return []
    told = f"{usage['tokens_in']:,} tokens read, {usage['tokens_out']:,} written"
    return ["", f"Spent: ${usage['usd']:.4f} in {usage['calls']} calls: {told}"]


def _check_lines(report: dict[str, Any]) -> list[str]:
    """The commands that checked the code, how many tests each ran, and what that shows."""
    from phases.acceptance.attempt_report import describe_check  # imported here: TAB must import no phase

    told = [f"  {describe_check(check)}" for check in report.get("checks", ())]
    told += [wrap_text(f"  {_to_sentence(evidence)}", hanging=2)] if (evidence := untold_evidence(report)) else []
    return ["", "Checks:", *told] if told else []


def untold_evidence(report: Mapping[str, Any]) -> str:
    """Return who vouches for the code and the counts of its evidence; empty if the reason of the status says it."""
    if not report["requirements"]:  # the run has not ended
        return ""
    from phases.evidence.traceability import describe_evidence  # imported here: as above

    told = describe_evidence(report["requirements"], report.get("verified_by", ()))
    return "" if told in report["reason"] else told


def _reproduction_lines(store: TaskStore, report: dict[str, Any]) -> list[str]:
    """How the paper's tables came out, where that was asked for."""
    if "reproduction" not in report:
        return []
    from pipeline.cli.results import summarize_tables  # imported here: few runs have experiments

    return summarize_tables(store, report)


def _result_rows(store: TaskStore, report: dict[str, Any]) -> list[tuple[str, str]]:
    root, files = relative_path(store.root), report["files"]
    what = "a scaffold, constants and stubs" if report.get("scaffold") else "the code"
    written = f"{what}: {files['written']} of {files['planned']} planned files"
    candidates = [
        ("paper.md", "the paper as Markdown"),
        ("outline.json", "its sections, equations, tables, references"),
        ("initial_plan.txt", "the plan; each requirement cites its page"),
        ("generate_code", written),
        ("traceability.json", "where each requirement is in the code"),
        ("results.json", "the paper's tables beside what the code gave"),
        ("code_base", _describe_repositories(store)),
        ("report.json", "this report as JSON"),
    ]
    return [
        (os.path.join(root, name), what)
        for name, what in candidates
        if what
        and store.exists(name)
        and (files["planned"] or name != "generate_code")  # a paused run has counted none
    ]


def _load_sound(store: TaskStore, document: str) -> dict[str, Any]:
    """A document; empty where it is not there, or damaged: whoever reads it next says so."""
    try:
        return dict(store.load(document)) if store.exists(document) else {}
    except PipelineError:
        return {}


def _describe_repositories(store: TaskStore) -> str:
    """How much of other people's code there is; empty where there is none."""
    rows = _load_sound(store, "code_base.json").get("repositories", ())
    count = "a repository" if len(rows) == 1 else f"{len(rows)} repositories"
    return f"code of {count} that the paper builds on; pipeline search {command_name(store)} QUERY" if rows else ""


def _unfinished_lines(store: TaskStore, report: dict[str, Any]) -> list[str]:
    told = "The code is a scaffold, written without a model: constants of the paper, and stubs."
    lines = ["", wrap_text(told)] if report.get("scaffold") else []
    lines += _open_requirement_lines(store, report["requirements"])
    lines += [f"  not written: {path}" for path in report["files"]["missing"]]
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


def _open_requirement_lines(store: TaskStore, requirements: dict[str, Any]) -> list[str]:
    """The first few requirements that are not met; those that are little but a formula come last."""
    rows = [(row, _readable_start(row["text"])) for row in requirements["open"]]
    if not rows:
        return []
    rows.sort(key=lambda row: len(row[1]) < min(_FEW, len(row[0]["text"])))
    room = min(width_of_terminal(), _NARROW) - 18
    more = len(rows) - _SHOWN
    told = f"{len(rows)} of {requirements['total']} requirements and values of the paper ({_count_statuses(rows)})"
    return [
        "",
        wrap_text(f"Open: {told}", hanging=6),
        *(f"  {row['id']:<5} {row['status']:<8} {_shorten_text(start, room)}" for row, start in rows[:_SHOWN]),
        *([f"  … and {more} more: pipeline trace {command_name(store)}"] if more > 0 else []),
    ]


def _count_statuses(rows: list[tuple[dict[str, Any], str]]) -> str:
    """Return how many requirements have each status."""
    counts = Counter(row["status"] for row, _ in rows)
    return ", ".join(f"{count} {'not located' if status == 'unlocated' else status}" for status, count in counts.items())


def _readable_start(text: str) -> str:
    """A requirement as far as it is words."""
    formula = _FORMULA.search(text)
    return f"{text[: formula.start()].rstrip(' ($')} …" if formula else text


def count_repositories(store: TaskStore) -> str:
    """How many repositories were fetched, where some could not be had; empty where all were, or none was wanted."""
    code_base = _load_sound(store, "code_base.json")
    if not code_base.get("refused"):
        return ""
    from phases.references.values import count_fetched  # imported here: TAB must import no phase

    return count_fetched(code_base)


def _unfetched_lines(store: TaskStore) -> list[str]:
    """How many repositories could not be had, and what to type."""
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


Steps = list[tuple[str, str]]
_REJECTED = 4
_OCR = ("no_text", "garbled_text")


def next_steps(store: TaskStore, report: dict[str, Any], passed: Phase | None = None) -> Steps:
    """The steps that fit the end that the report tells of; `passed` is where the run was to stop, and had been before."""
    again = f"run phase {passed.label} again, and everything after it" if passed else ""
    steps = [(f"pipeline resume {command_name(store)} --redo {passed.number}", again)] if passed else []
    if report["exit_code"] == _REJECTED:
        return steps + _after_a_rejection(command_name(store))
    if report["status"] in ("error", "cancelled") or report["exit_code"] == 1:
        return steps + _after_an_error(store, report)
    if report["status"] == "paused":
        return steps + _after_a_pause(command_name(store), report)
    return steps + _after_the_end(store, report)


def _after_a_rejection(name: str) -> Steps:
    return [
        (f"pipeline review {name} --change TEXT", "ask for another plan; TEXT says what must change"),
        (f"pipeline review {name} --edit", "or change the plan yourself"),
        (f"pipeline review {name} --approve", "or take the rejection back"),
        (f"pipeline resume {name}", "then continue"),
    ]


def _after_an_error(store: TaskStore, report: dict[str, Any]) -> Steps:
    name, verdict = command_name(store), report["input_verdict"]
    if _is_end_of_work(store, report):
        return [  # every phase has its result, and the work itself ended so: a required todo failed, say
            (f"pipeline show {name} acceptance", "what was rejected, and why"),
            (f"pipeline resume {name} --code-model NAME", "have another model continue the code"),
            (f"pipeline resume {name} --redo implement", "write the code again from scratch"),
        ]
    if report["status"] == "error" and (found := _find_damaged(store)):
        phase, document, replaceable = found
        path = relative_path(store.path(document))
        again = (f"pipeline resume {name} --redo {phase.number}", f"make {path} again, and everything after it")
        return [*([again] * replaceable), (f"pipeline resume {name}", f"continue, once you have fixed {path}")]
    if verdict in _OCR:
        install = [] if which("ocrmypdf") else [("apt-get install ocrmypdf", "or brew install ocrmypdf")]
        return [*install, (f"pipeline resume {name} --ocr", "have ocrmypdf recognize its letters, and continue")]
    if verdict == "encrypted":
        return [(f"pipeline resume {name} --password", "continue; you are asked for the password")]
    if report["status"] == "error" and verdict not in (None, "ok", "partial") and not report.get("resume_with"):
        return _with_another_file(store, report)
    return [_continue(name, report), *_without_model(store, report)]


def _is_end_of_work(store: TaskStore, report: dict[str, Any]) -> bool:
    """Whether the work itself ended in an error. After a damaged document every phase has a result, too, of an earlier run."""
    finished = all(row["status"] in ("done", "skipped") for row in report["phases"])
    return finished and report["status"] == "error" and not _find_damaged(store)


def _continue(name: str, report: dict[str, Any]) -> tuple[str, str]:
    """The command that continues, with the flag that raises the limit which the run reached."""
    if flag := report.get("resume_with"):
        more = "plan it all the same" if flag == "--anyway" else "continue, with a higher limit"
        return f"pipeline resume {name} {flag}", more
    return f"pipeline resume {name}", "continue, once that is fixed" if report["status"] == "error" else "continue"


def _without_model(store: TaskStore, report: dict[str, Any]) -> Steps:
    """The way back to the rules where a model could not plan; later it would throw the plan away."""
    failed = any(row["name"] == "plan" and row["status"] == "failed" for row in report["phases"])
    settings = store.load("task.json")["settings"] if failed and store.exists("task.json") else {}  # it may be gone
    if not settings:
        return []
    flag = "--plan-model" if settings["plan_model"] else "--model"
    back = [(f"pipeline resume {command_name(store)} {flag} offline", "or go back to planning without a model")]
    return back if is_served(model_for(settings, "plan")) else []


def _with_another_file(store: TaskStore, report: dict[str, Any]) -> Steps:
    """The task keeps a copy of its source, so a resume alone would read what could not be read once more."""
    source = str(store.load("task.json")["source"])
    on_disk = os.path.isabs(source)  # else a URL or an arXiv id
    source = relative_path(source) if on_disk else source
    begin = "pipeline run --fast" if report["mode"] == "fast" else "pipeline run"
    begin += tasks_dir_flag(os.path.dirname(store.root))
    fixed = "once the source is fixed" if on_disk else "try again, once the address answers"
    return [(f"{begin} {quote(source)}", fixed)]


def _find_damaged(store: TaskStore) -> tuple[Phase, str, bool] | None:
    """Return the phase and the name of the first damaged document, and whether running the phase again replaces it."""
    for phase in store.graph.phases:
        stamp = store.stamps.get(phase.number)
        for name in phase.writes if stamp and stamp.status in FINISHED else ():
            if not name.endswith("/") and store.exists(name):
                try:
                    store.load(name)
                except ContractError:
                    return phase, name, True
                except StorageError:
                    return phase, name, False
    return None


def _after_a_pause(name: str, report: dict[str, Any]) -> Steps:
    if any(row["name"] == "plan_review" and row["status"] == "stopped" for row in report["phases"]):
        return [
            (f"pipeline review {name}", "read the plan"),
            (f"pipeline review {name} --approve", "approve it (or --edit, --change TEXT, --reject)"),
            (f"pipeline resume {name}", "then continue"),
        ]
    return [
        _continue(name, report),
        (f"pipeline why {name}", "what would run next, and why"),
    ]


def _after_the_end(store: TaskStore, report: dict[str, Any]) -> Steps:
    name = command_name(store)
    steps = _of_acceptance(store, report) if report["status"] == "incomplete" else []
    if report["requirements"]["open"] and model_for(store.load("task.json")["settings"], "implement") == "offline":
        steps += [
            ("pipeline models", "list the models and what each one needs"),
            (f"pipeline resume {name} --model PROVIDER:NAME", "have a model plan and write the code"),
        ]
    if report.get("missing_packages"):
        steps += [(f"pipeline resume {name} --install allowed", "install the plan's packages, and check again")]
    steps += [(f"pipeline show {name} plan", "read the plan")]
    if store.exists("traceability.json"):
        steps += [(f"pipeline trace {name}", "where each requirement is in the code")]
    return [*steps, (f"pipeline resume {name}", "after editing a document, run what depends on it")]


def _of_acceptance(store: TaskStore, report: dict[str, Any]) -> Steps:
    """What helps where the work was not accepted, or where it waits for its user."""
    name = command_name(store)
    story = (f"pipeline show {name} acceptance", "what was rejected, and why")
    if any(row["status"] == "stopped" for row in report["phases"]):
        return [story, (f"pipeline resume {name}", "continue, once that is fixed")]
    if not _was_refused(store, report):
        return []
    if model_for(store.load("task.json")["settings"], "implement") == GIVEN_CODE:
        return [story]
    more = _load_sound(store, "acceptance.json")["max_continues"] * 2 or 1
    exhausted = _load_sound(store, "acceptance.json")["stop_reason"] == "accept_continue_exhausted"
    again = [(f"pipeline resume {name} --max-acceptance-continues {more}", "let the model try again")]
    return [
        story,
        *(again if exhausted else []),
        (
            f"pipeline rewind {name}",
            "go back to a rejected attempt (the last one: check it again, say after fixing a hook)",
        ),
        (f"pipeline resume {name} --code-model NAME", "have another model continue the code"),
    ]


def _was_refused(store: TaskStore, report: dict[str, Any]) -> bool:
    """Whether a check refused the work. A scaffold of the offline model always is, for what it leaves open."""
    reason = _load_sound(store, "acceptance.json").get("stop_reason", "accepted")
    left_open = report["requirements"]["open"] or report["files"]["missing"]
    offline = model_for(store.load("task.json")["settings"], "implement") == "offline"
    return reason != "accepted" and not (offline and left_open and reason == "accept_continue_exhausted")
