"""What a user may type next, once a run has ended: a command, and what it does."""

from __future__ import annotations

import os
import re
from shlex import quote
from typing import Any

from pipeline.base.errors import ContractError
from pipeline.cli.assembly import command_name, model_for, near
from pipeline.engine.phase import Phase
from pipeline.engine.stamps import FINISHED
from pipeline.engine.store import TaskStore

Steps = list[tuple[str, str]]
_RESUME = re.compile(
    r"pipeline resume(?: (?!-)\S+)*? (--(?:add-usd|batch-usd|max-usd|max-tokens|max-output-tokens"
    r"|max-turns|max-minutes) (?:N|[0-9]+(?:\.[0-9]+)?))"
)
"""These flags alone: a reason may hold words of a stranger, and what stands under Next is typed without a second look."""
_REJECTED = 4
_OCR = ("no_text", "garbled_text")


def next_steps(store: TaskStore, report: dict[str, Any], passed: Phase | None = None) -> Steps:
    """The steps that fit the end that the report tells of; `passed` is where the run was to stop, and had been before."""
    again = f"make phase {passed.label} again, and all that follows" if passed else ""
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
        (f"pipeline resume {name}", "then go on"),
    ]


def _after_an_error(store: TaskStore, report: dict[str, Any]) -> Steps:
    name, verdict = command_name(store), report["input_verdict"]
    if report["status"] == "error" and all(row["status"] in ("done", "skipped") for row in report["phases"]):
        return [  # every phase has its result, and the work itself ended so: a required todo failed, say
            (f"pipeline show {name} acceptance", "what was refused, and why"),
            (f"pipeline resume {name} --code-model NAME", "let another model go on with the code"),
            (f"pipeline resume {name} --redo implement", "write the code again from the beginning"),
        ]
    if report["status"] == "error" and (found := _damaged(store)):
        phase, document = found
        path = near(store.path(document))
        return [
            (f"pipeline resume {name} --redo {phase.number}", f"make {path} again, and what follows"),
            (f"pipeline resume {name}", f"or go on, when you have mended {path}"),
        ]
    if verdict == "encrypted":
        return [(f"pipeline resume {name} --password", "go on; the password is asked for")]
    if report["status"] == "error" and verdict not in (None, "ok"):
        return _with_another_file(store, report)
    limit = _higher_limit(report["reason"])
    return [(f"pipeline resume {name}{limit}", "go on, with a higher limit" if limit else "go on")]


def _with_another_file(store: TaskStore, report: dict[str, Any]) -> Steps:
    """The task keeps a copy of its source, so a resume alone would read what could not be read once more."""
    source = near(str(store.load("task.json")["source"]))
    begin = "pipeline run --fast" if report["mode"] == "fast" else "pipeline run"
    if report["input_verdict"] in _OCR:
        copy = quote(f"ocr-{os.path.basename(source)}")
        return [
            (f"ocrmypdf --force-ocr {quote(source)} {copy}", "recognize its text"),
            (f"{begin} {copy}", "then run the copy"),
        ]
    return [(f"{begin} {quote(source)}", "when the source is mended")]


def _damaged(store: TaskStore) -> tuple[Phase, str] | None:
    """The first document that does not fit its schema any more, and its phase."""
    for phase in store.graph.phases:
        stamp = store.stamps.get(phase.number)
        for name in phase.writes if stamp and stamp.status in FINISHED else ():
            if not name.endswith("/") and store.exists(name):
                try:
                    store.load(name)
                except ContractError:
                    return phase, name
    return None


def _after_a_pause(name: str, report: dict[str, Any]) -> Steps:
    if any(row["name"] == "plan_review" and row["status"] == "stopped" for row in report["phases"]):
        return [
            (f"pipeline review {name}", "read the plan"),
            (f"pipeline review {name} --approve", "approve it (or --edit, --change TEXT, --reject)"),
            (f"pipeline resume {name}", "then go on"),
        ]
    limit = _higher_limit(report["reason"])
    return [
        (f"pipeline resume {name}{limit}", "go on, with a higher limit" if limit else "go on"),
        (f"pipeline why {name}", "what would run, and why"),
    ]


def _after_the_end(store: TaskStore, report: dict[str, Any]) -> Steps:
    name = command_name(store)
    steps = _of_acceptance(name, report) if report["status"] == "incomplete" else []
    if report["requirements"]["missing"] and model_for(store.load("task.json")["settings"], "implement") == "offline":
        steps += [
            ("pipeline models", "the models, and what each needs"),
            (f"pipeline resume {name} --model PROVIDER:NAME", "let a model plan and write it"),
        ]
    if report.get("missing_packages"):
        steps += [(f"pipeline resume {name} --allow-install", "install the plan's packages, and check again")]
    steps += [(f"pipeline show {name} plan", "read the plan")]
    if store.exists("traceability.json"):
        steps += [(f"pipeline trace {name}", "each requirement, and its code")]
    return [*steps, (f"pipeline resume {name}", "after you edited a document")]


def _of_acceptance(name: str, report: dict[str, Any]) -> Steps:
    """What helps where the work was not accepted, or where it waits for its user."""
    story = (f"pipeline show {name} acceptance", "what was refused, and why")
    if any(row["status"] == "stopped" for row in report["phases"]):
        return [story, (f"pipeline resume {name}", "go on, when that is mended")]
    if "not accepted (" not in report["reason"]:
        return []
    return [
        story,
        (f"pipeline rewind {name}", "go back to a refusal; the last one: to judge it anew, with a hook mended, say"),
        (f"pipeline resume {name} --code-model NAME", "let another model go on with the code"),
    ]


def _higher_limit(reason: str) -> str:
    """The flag, with its value, that a run which a limit paused needs to go on; empty where it needs none."""
    found = _RESUME.findall(reason)
    return f" {found[-1]}" if found else ""
