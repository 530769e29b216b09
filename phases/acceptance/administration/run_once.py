"""Runs one hook now, on the workspace of a task, as a run would: with the same input, environment and limits."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from phases.acceptance.administration.payload_preview import completion_facts, occasion_of
from phases.acceptance.chain import GateHooks
from phases.acceptance.checks.code_check import check_code
from phases.acceptance.hook import ACCEPT_GATE, COMMAND, Hook
from phases.acceptance.hook_executor import HookContext, HookEvents, HookExecutor
from phases.acceptance.hook_registry import HookSetting, register_hooks
from phases.acceptance.payload import RunFacts
from phases.acceptance.protected_files import build_protected_files, read_history
from phases.llm.journal import read_journal
from phases.llm.providers import PROVIDERS
from phases.sandbox.box import Box, limits_from, with_machine
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import ManifestReader, compare_manifests
from phases.workspace.packages import find_python
from phases.workspace.snapshots import Snapshot
from phases.workspace.task_paths import TaskPaths, task_paths
from phases.workspace.workspace import CONTROL, Workspace
from pipeline.base.errors import UsageError
from pipeline.base.files import make_directory
from pipeline.base.text_escaping import one_line

Row = Mapping[str, Any]
TRIALS = "hooks/tried"
"""The logs of trials, apart from those of runs."""
_FIELDS = (
    "status", "fact", "reason", "tail", "message", "context", "exit_code", "notes", "wrote", "changed", "verification",
)  # fmt: skip
_WORDS = {"pass": "passes", "block": "blocks", "failed": "gives no verdict", "stop": "would end the run"}
_LINES, _WIDTH, _NAMED = 20, 200, 20


@dataclass(frozen=True)
class Trial:
    """What a trial needs to know of its task. The journal is only read."""

    root: str
    """The task."""
    id: str
    settings: Mapping[str, Any]
    """What a run of the task would go by."""
    plan: Mapping[str, Any] | None
    planned: Sequence[str]
    """The files of the plan."""
    hooks: HookSetting
    """What the user says of hooks."""
    package_store: str = ""
    """Where the environments of packages are that tasks share."""

    @property
    def places(self) -> TaskPaths:
        """Where the task keeps what."""
        return task_paths(self.root)


def run_once(trial: Trial, hook: Hook) -> dict[str, Any]:
    """What came of one hook. The caller holds the task, and the workspace stays as a run would leave it."""
    rows = read_journal(trial.places.journal)
    _refuse_edited(trial, hook, rows)
    make_directory(trial.places.hooks)
    directory = os.path.join(trial.root, TRIALS)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as aside:
        gate = _build_gate(trial, hook, rows, directory, aside)
        run = _run_at_gate if hook.point == ACCEPT_GATE else _run_elsewhere
        row = run(trial, hook, rows, gate)
        gate.commands.settled()
    log = os.path.join(os.path.dirname(directory), row["log"]) if row.get("log") else ""
    return {
        **{name: row.get(name) for name in _FIELDS},
        "log": log if os.path.exists(log) else "",
        "seconds": round(time.monotonic() - started, 1),
    }


def trial_lines(hook: Hook, outcome: Mapping[str, Any]) -> Iterator[str]:
    """What came of a trial. What a command printed is behind a bar."""
    yield f"{hook.key} {_WORDS[outcome['status']]} ({outcome['seconds']:g} s{_exit_text(outcome)})"
    if hook.command:
        yield f"  runs: {_short_line(hook.command)}"
    if outcome["changed"] is False and hook.when != "always":
        yield "  a run would not call it now: nothing has changed since the run began"
    if outcome["status"] == "failed":
        yield f"  it is {hook.failure_policy}: {_policy_text(hook)}"
    yield from _verification_lines(outcome["verification"])
    if outcome["fact"] and outcome["status"] != "pass":
        yield f"  {_short_line(outcome['fact'])}"
    yield from (f"  | {line[:_WIDTH]}" for line in _last_lines(outcome))
    for word in ("message", "context"):
        if outcome[word]:
            yield f"  {word}: {_short_line(outcome[word])}"
    yield from (f"  note: {_short_line(note)}" for note in outcome["notes"] or ())
    if wrote := outcome["wrote"]:
        more = f" and {len(wrote) - _NAMED} more" if len(wrote) > _NAMED else ""
        yield f"  it wrote: {', '.join(_short_line(path) for path in wrote[:_NAMED])}{more}"
    if outcome["log"]:
        yield f"  all of its output: {outcome['log']}"


def _refuse_edited(trial: Trial, hook: Hook, rows: Sequence[Row]) -> None:
    """What a run would not run is not run for a trial either: the agent may have edited the script. Raises UsageError."""
    root = os.path.realpath(trial.places.workspace)
    past = read_history(rows[0].get("begun", {}), rows[1:]) if rows else None
    # A builtin runs no script that the agent could have edited.
    if hook.kind != COMMAND or past is None or past.files is None:
        return
    if odd := build_protected_files(register_hooks(trial.hooks, root), past, trial.planned, root).changed_for(hook):
        raise UsageError(
            f"{hook.key} is not run: {', '.join(odd)} is not what it was when the agent began, and the agent may have edited it; "
            f"look at it, then: pipeline hooks trust {trial.id}"
        )


def _build_gate(trial: Trial, hook: Hook, rows: Sequence[Row], directory: str, aside: str) -> GateHooks:
    """The gate with this hook alone. What it puts aside, it puts into `aside`: a run may keep a tree of its own."""
    places, facts = trial.places, _run_facts(trial, rows)
    workspace, commands = (
        Workspace(places.workspace),
        CommandRunner(_build_box(trial), Snapshot(places.workspace, os.path.join(aside, "before"))),
    )
    secret = [provider.key_variable for provider in PROVIDERS.values() if provider.key_variable]
    executor = HookExecutor(
        facts, HookContext(directory, trial.hooks.environment, secret), HookEvents(directory), commands
    )
    check = partial(_check_code, trial, workspace, commands)
    return GateHooks((hook,), facts, executor, commands, workspace, ManifestReader(), trial.planned, check)


def _run_facts(trial: Trial, rows: Sequence[Row]) -> RunFacts:
    replies = [row["result"]["model"] for row in rows if row["kind"] == "reply"]
    model = replies[-1] if replies else str(trial.settings["code_model"] or trial.settings["model"])
    run = rows[0].get("run", 1) if rows else 1
    root = os.path.realpath(trial.places.workspace)
    return RunFacts(trial.id, f"{trial.id}-{run}", root, model, settings_directory=trial.hooks.own_folder)


def _run_at_gate(trial: Trial, hook: Hook, rows: Sequence[Row], gate: GateHooks) -> dict[str, Any]:
    most = int(trial.settings["max_acceptance_continues"])
    facts = completion_facts(trial.plan, trial.planned, rows, gate.now(), most)
    step = {"turn": int(facts.turn_id), "look": 0, "round": 1, "hook": hook.key}
    return {**gate.ask(step, facts, ""), "changed": facts.changed}


def _run_elsewhere(trial: Trial, hook: Hook, rows: Sequence[Row], gate: GateHooks) -> dict[str, Any]:
    occasion = occasion_of(hook, rows, gate.run)
    if occasion is None:
        raise UsageError(
            f"{hook.key} runs at {hook.point}, and task {trial.id} has no call of a tool on record that it would watch; try it "
            "on a task whose agent has made one"
        )
    before, gate.commands.step = gate.now(), f"try-{hook.key}"
    result = gate.executor.run(hook, occasion)
    wrote = [path for path, _ in compare_manifests(before, gate.now(), planned=gate.planned).files]
    return {**result._asdict(), "notes": list(result.notes), "wrote": wrote}


def _check_code(trial: Trial, workspace: Workspace, commands: CommandRunner) -> dict[str, Any]:
    if trial.plan is None:
        raise UsageError(f"task {trial.id} has no plan yet, and the built-in check goes by it")
    return check_code(workspace, dict(trial.plan), commands)


def _build_box(trial: Trial) -> Box:
    """What the agent's commands run in, with the packages of the plan where they are installed."""
    places = trial.places
    python, own = find_python(places, trial.settings, trial.package_store), str(trial.settings.get("python") or "")
    kind = kind_of_sandbox(str(trial.settings["sandbox"]))
    box = Box(places.workspace, kind, (places.paper, *filter(None, [own])), python, limits_from(trial.settings))
    return with_machine(box._replace(read_only=(os.path.join(places.workspace, CONTROL),)), trial.settings)


def _short_line(text: str) -> str:
    return one_line(text.strip().replace("\n", " ⏎ "), _WIDTH)


def _exit_text(outcome: Mapping[str, Any]) -> str:
    return f", exit code {outcome['exit_code']}" if outcome["exit_code"] is not None else ""


def _policy_text(hook: Hook) -> str:
    at_the_gate = hook.point == "accept_gate"
    if hook.failure_policy == "fail_open":
        return "a run would go on" + (", and its work would not count as verified" if at_the_gate else "")
    return "a run would end there, incomplete" if at_the_gate else "what it watches would be blocked"


def _verification_lines(verification: Mapping[str, Any] | None) -> Iterator[str]:
    """What the built-in check has run."""
    if not verification:
        return
    told = (
        "yes" if verification["verified"] else f"no: {_short_line(str(verification.get('why') or 'nothing was run'))}"
    )
    yield f"  verified: {told} (sandbox: {verification['sandbox']})"
    for row in verification["commands"]:
        yield f"  {'passed' if row['exit_code'] == 0 else 'failed'}: {_short_line(row['command'])}"


def _last_lines(outcome: Mapping[str, Any]) -> list[str]:
    text = outcome["tail"] if outcome["status"] == "pass" else outcome["reason"] or outcome["tail"]
    return [line for line in str(text or "").splitlines() if line.strip()][-_LINES:]
