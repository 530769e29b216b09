"""Runs one hook now, on the workspace of a task, as a run would: with the same input, environment and limits."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from phases.acceptance.checks.code_check import check_code
from phases.acceptance.gate_hooks import GateHooks
from phases.acceptance.hook import ACCEPT_GATE, COMMAND, Hook
from phases.acceptance.hook_events import HookEvents
from phases.acceptance.hook_executor import HookContext, HookExecutor
from phases.acceptance.hook_registry import HookSetting, register_hooks
from phases.acceptance.payload import RunFacts
from phases.acceptance.protected_files import build_protected_files, read_history
from phases.agent.earlier_code import order_files, untouched_files
from phases.llm.journal import read_journal
from phases.llm.providers import PROVIDERS
from phases.sandbox.box import Box
from phases.sandbox.commands import kind_of_sandbox
from phases.sandbox.installs import environment_in
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import ManifestReader, compare_manifests
from phases.workspace.snapshots import Snapshot
from phases.workspace.task_paths import TaskPaths, task_paths
from phases.workspace.workspace import Workspace
from pipeline.base.errors import UsageError
from pipeline.base.files import make_directory
from pipeline.cli.hooks_given import completion_facts, occasion_of

TRIALS = "hooks/tried"
"""The logs of trials, apart from those of runs."""
_TOLD = (
    "status",
    "fact",
    "reason",
    "tail",
    "message",
    "context",
    "exit_code",
    "notes",
    "wrote",
    "changed",
    "verification",
)
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """What a trial needs to know of its task. The journal is only read."""

    root: str
    """The task."""
    id: str
    settings: Mapping[str, Any]
    """What a run of the task would go by."""
    plan: Mapping[str, Any] | None
    hooks: HookSetting
    """What the user says of hooks."""

    @property
    def places(self) -> TaskPaths:
        """Where the task keeps what."""
        return task_paths(self.root)


def run_once(trial: Trial, hook: Hook) -> dict[str, Any]:
    """What came of one hook. The caller holds the task, and the workspace stays as a run would leave it."""
    rows = read_journal(trial.places.journal)
    _refuse_edited(trial, hook, rows)
    make_directory(trial.places.hooks)
    folder = os.path.join(trial.root, TRIALS)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as aside:
        gate = _build_gate(trial, hook, rows, folder, aside)
        row = (
            _run_at_gate(trial, hook, rows, gate)
            if hook.point == ACCEPT_GATE
            else _run_elsewhere(trial, hook, rows, gate)
        )
        gate.commands.settled()
    log = os.path.join(os.path.dirname(folder), row["log"]) if row.get("log") else ""
    return {
        **{name: row.get(name) for name in _TOLD},
        "log": log if os.path.exists(log) else "",
        "seconds": round(time.monotonic() - started, 1),
    }


def _refuse_edited(trial: Trial, hook: Hook, rows: Sequence[Row]) -> None:
    """What a run would not run is not run for a trial either: the agent may have edited the script. Raises UsageError."""
    root = os.path.realpath(trial.places.workspace)
    past = read_history(rows[0].get("begun", {}), rows[1:]) if rows else None
    if hook.kind != COMMAND or past is None or past.files is None:
        return
    planned = order_files(trial.plan) if trial.plan else ()
    if odd := build_protected_files(register_hooks(trial.hooks, root), past, planned, root).changed_for(hook):
        raise UsageError(
            f"{hook.key} is not run: {', '.join(odd)} is not what it was when the agent began, and the agent may have edited it; "
            f"look at it, then: pipeline hooks trust {trial.id}"
        )


def _build_gate(trial: Trial, hook: Hook, rows: Sequence[Row], folder: str, aside: str) -> GateHooks:
    """The gate with this hook alone. What it puts aside, it puts into `aside`: a run may keep a tree of its own."""
    places, facts = trial.places, _run_facts(trial, rows)
    workspace, commands = (
        Workspace(places.workspace),
        CommandRunner(_build_box(trial), Snapshot(places.workspace, os.path.join(aside, "before"))),
    )
    secret = [provider.key_variable for provider in PROVIDERS.values() if provider.key_variable]
    executor = HookExecutor(facts, HookContext(folder, trial.hooks.environment, secret), HookEvents(folder), commands)
    planned = order_files(trial.plan) if trial.plan else ()
    check = partial(_check_code, trial, rows, workspace, commands)
    return GateHooks((hook,), facts, executor, commands, workspace, ManifestReader(), planned, check)


def _run_facts(trial: Trial, rows: Sequence[Row]) -> RunFacts:
    replies = [row["result"]["model"] for row in rows if row["kind"] == "reply"]
    model = replies[-1] if replies else str(trial.settings["code_model"] or trial.settings["model"])
    run = rows[0].get("run", 1) if rows else 1
    return RunFacts(trial.id, f"{trial.id}-{run}", os.path.realpath(trial.places.workspace), model)


def _run_at_gate(trial: Trial, hook: Hook, rows: Sequence[Row], gate: GateHooks) -> dict[str, Any]:
    facts = completion_facts(trial.plan, rows, gate.now())._replace(
        max_continues=int(trial.settings["max_acceptance_continues"])
    )
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


def _check_code(trial: Trial, rows: Sequence[Row], workspace: Workspace, commands: CommandRunner) -> dict[str, Any]:
    if trial.plan is None:
        raise UsageError(f"task {trial.id} has no plan yet, and the built-in check goes by it")
    untouched = untouched_files(rows[0].get("begun", {}), rows, workspace) if rows else []
    return check_code(workspace, dict(trial.plan), commands, untouched)


def _build_box(trial: Trial) -> Box:
    """What the agent's commands run in, with the packages of the plan where they are installed."""
    places = trial.places
    venv = environment_in(places.packages)
    python = venv if trial.settings["install"] == "allowed" and os.path.isdir(venv) else None
    return Box(places.workspace, kind_of_sandbox(str(trial.settings["sandbox"])), (places.paper,), python)
