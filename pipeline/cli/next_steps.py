"""Suggest the next commands after a run, and for a task."""

from __future__ import annotations

import os
import re
from shlex import quote
from shutil import which
from typing import Any

from pipeline.base.errors import ContractError, PipelineError, StorageError
from pipeline.cli.assembly import GIVEN_CODE, command_name, is_served, model_for, relative_path, tasks_dir_flag
from pipeline.engine.phase import Phase
from pipeline.engine.stamps import FINISHED
from pipeline.engine.store import TaskStore

Steps = list[tuple[str, str]]
_REJECTED = 4
_WITH = {
    "--anyway": "plan it all the same",
    "--redo implement": "write the code again from scratch",
    "--redo plan": "plan again from scratch",
}
_REDO = re.compile(r"--redo \w+")
_OCR = ("no_text", "garbled_text")


def next_steps(store: TaskStore, report: dict[str, Any], passed: Phase | None = None) -> Steps:
    """Return the steps that fit the report; `passed` is a phase to stop before that was done already."""
    again = f"run phase {passed.label} again, and everything after it" if passed else ""
    steps = [(f"pipeline resume {command_name(store)} --redo {passed.number}", again)] if passed else []
    if report["exit_code"] == _REJECTED:
        return steps + _after_a_rejection(command_name(store))
    if report["status"] in ("error", "cancelled") or report["exit_code"] == 1:
        return steps + _after_an_error(store, report)
    if report["status"] == "paused":
        return steps + _after_a_pause(command_name(store), report)
    return steps + _after_the_end(store, report)


def load_sound(store: TaskStore, document: str) -> dict[str, Any]:
    """Load a document; empty if it is missing or damaged, which its next reader reports."""
    try:
        return dict(store.load(document)) if store.exists(document) else {}
    except PipelineError:
        return {}


def _after_a_rejection(name: str) -> Steps:
    return [
        (f"pipeline review {name} --change TEXT", "ask for another plan; TEXT says what must change"),
        (f"pipeline review {name} --edit", "or change the plan yourself"),
        (f"pipeline review {name} --approve", "or take the rejection back"),
        (f"pipeline resume {name}", "then continue"),
    ]


def _after_an_error(store: TaskStore, report: dict[str, Any]) -> Steps:
    name, verdict = command_name(store), report["input_verdict"]
    if is_end_of_work(store, report):
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


def is_end_of_work(store: TaskStore, report: dict[str, Any]) -> bool:
    """Return whether the work itself failed: behind a damaged document every phase has a result of an earlier run."""
    finished = all(row["status"] in ("done", "skipped") for row in report["phases"])
    return finished and report["status"] == "error" and not _find_damaged(store)


def _continue(name: str, report: dict[str, Any]) -> tuple[str, str]:
    """Return the command that continues, with the flag that gets the run further."""
    redo = _REDO.search(report["reason"])
    if flag := report.get("resume_with") or (redo and redo[0]):
        return f"pipeline resume {name} {flag}", _WITH.get(flag, "continue, with a higher limit")
    return f"pipeline resume {name}", "continue, once that is fixed" if report["status"] == "error" else "continue"


def _without_model(store: TaskStore, report: dict[str, Any]) -> Steps:
    """Return the way back to the rules after a model failed to plan; later it would throw the plan away."""
    failed = any(row["name"] == "plan" and row["status"] == "failed" for row in report["phases"])
    settings = store.load("task.json")["settings"] if failed and store.exists("task.json") else {}  # it may be gone
    if not settings:
        return []
    flag = "--plan-model" if settings["plan_model"] else "--model"
    back = [(f"pipeline resume {command_name(store)} {flag} offline", "or go back to planning without a model")]
    return back if is_served(model_for(settings, "plan")) else []


def _with_another_file(store: TaskStore, report: dict[str, Any]) -> Steps:
    """Return a run of another file: the task keeps a copy of its source, so a resume would fail again."""
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
    is_judged = report["status"] == "incomplete" and store.exists("generate_code/")
    steps = _of_acceptance(store, report) if is_judged else []
    read = (f"pipeline show {name} plan", "read the plan")
    if report.get("scaffold"):
        steps += [
            read,
            (f"pipeline review {name}", "see all of it, and change it"),
            ("pipeline models", "list the models and their keys"),
            (f"pipeline resume {name} --model NAME", "have a model plan and write the code"),
        ]
    if report.get("missing_packages") and not report.get("verified"):  # verified code does without them
        steps += [(f"pipeline resume {name} --install allowed", "install the plan's packages, and check again")]
    if programs := report.get("missing_programs"):
        from phases.acceptance.checks.missing_programs import programs_option  # imported here: TAB must import no phase

        told = f"show commands the directory of {', '.join(programs)}, and check again"
        steps += [(f"pipeline resume {name} {programs_option(programs[0])}", told)]
    if report.get("scaffold"):
        return steps
    steps += [read]
    if store.exists("traceability.json"):
        steps += [(f"pipeline trace {name}", "where each requirement is in the code")]
    declares = os.path.lexists(store.path("generate_code/experiments.yaml"))
    if declares and "reproduction" not in report and load_sound(store, "initial_plan.txt").get("expected_results"):
        told = "run its experiments small, and compare the paper's tables"
        steps += [(f"pipeline reproduce {name} --size quick", told)]
    if is_served(model_for(store.load("task.json")["settings"], "implement")):
        steps += [(f'pipeline iterate {name} "WHAT"', "change it: say in words what should change")]
    return [*steps, (f"pipeline resume {name}", "after editing a document, run what depends on it")]


def _of_acceptance(store: TaskStore, report: dict[str, Any]) -> Steps:
    """Return the steps after work that was not accepted or waits for its user."""
    name = command_name(store)
    story = (f"pipeline show {name} acceptance", "what was rejected, and why")
    if any(row["status"] == "stopped" for row in report["phases"]):
        return [story, (f"pipeline resume {name}", "continue, once that is fixed")]
    if not _was_refused(store, report):
        return []
    if model_for(store.load("task.json")["settings"], "implement") == GIVEN_CODE:
        return [story]
    more = load_sound(store, "acceptance.json")["max_continues"] * 2 or 1
    exhausted = load_sound(store, "acceptance.json")["stop_reason"] == "accept_continue_exhausted"
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
    """Return whether a check refused the work. A scaffold of the offline model always is, for what it leaves open."""
    reason = load_sound(store, "acceptance.json").get("stop_reason", "accepted")
    left_open = report["requirements"]["open"] or report["files"]["missing"]
    offline = model_for(store.load("task.json")["settings"], "implement") == "offline"
    return reason != "accepted" and not (offline and left_open and reason == "accept_continue_exhausted")
