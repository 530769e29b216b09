"""Runs one hook now, on the workspace of a task, as a run would: with the same input, environment and limits."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from phases.agent.acceptance.chain import BASE
from phases.agent.acceptance.code_check import check_code
from phases.agent.acceptance.events import Events
from phases.agent.acceptance.executor import Executor, Occasion, Outside
from phases.agent.acceptance.gate_hooks import GateHooks
from phases.agent.acceptance.hook import Hook
from phases.agent.acceptance.manifest import Manifest, Manifests, changes, manifest_from_json
from phases.agent.acceptance.payload import (
    EndingFacts,
    FileChange,
    RecentTool,
    Response,
    RunFacts,
    SessionFacts,
    SubagentFacts,
    ToolFacts,
    session_input,
    subagent_input,
    tool_input,
)
from phases.agent.acceptance.points import ACCEPT_GATE, BEFORE_TOOL, SESSION_END, SESSION_START, SUBAGENT_STOP, TOOL_FAILED
from phases.agent.acceptance.subagents import task_id_of
from phases.agent.acceptance.todos import applied, plan_todos, summary_of
from phases.agent.assignment import Places, places_in
from phases.agent.beginning import order_of
from phases.agent.commands import Commands
from phases.agent.journal import recorded_rows
from phases.agent.models.providers import PROVIDERS
from phases.agent.sandbox.commands import Box, kind_of_sandbox
from phases.agent.sandbox.installs import environment_in
from phases.agent.sandbox.snapshots import Snapshot
from phases.agent.workspace import Workspace, WorkspaceError
from pipeline.errors import UsageError
from pipeline.files import make_folder, sha256

TRIALS = "hooks/tried"
"""The logs of trials, apart from those of runs."""
_TASK = "Task"
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
    environment: Mapping[str, str]
    """The user's."""

    @property
    def places(self) -> Places:
        """Where the task keeps what."""
        return places_in(self.root)

    @property
    def planned(self) -> tuple[str, ...]:
        """The files that the plan names."""
        return order_of(self.plan) if self.plan else ()


def tried(trial: Trial, hook: Hook) -> dict[str, Any]:
    """What came of one hook. The caller holds the task, and the workspace stays as the hook leaves it."""
    places, rows = trial.places, recorded_rows(trial.places.journal)
    make_folder(places.hooks)
    folder = os.path.join(trial.root, TRIALS)
    header, replies = rows[0] if rows else {}, [row for row in rows if row["kind"] == "reply"]
    model = replies[-1]["result"]["model"] if replies else trial.settings["code_model"] or trial.settings["model"]
    run = RunFacts(trial.id, f"{trial.id}-{header.get('run', 1)}", os.path.realpath(places.workspace), model)
    secret = [provider.key_variable for provider in PROVIDERS.values() if provider.key_variable]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as aside:
        commands = Commands(_box(trial), Snapshot(places.workspace, os.path.join(aside, "before")))
        executor = Executor(run, Outside(folder, trial.environment, secret), Events(folder), commands)
        ask = _at_the_gate if hook.point == ACCEPT_GATE else _elsewhere
        row = ask(trial, hook, rows, GateHooks(
            (hook,), run, executor, commands, Workspace(places.workspace), Manifests(), trial.planned,
            partial(_check, trial, rows, commands),
        ))  # fmt: skip
    log = os.path.join(os.path.dirname(folder), row["log"]) if row.get("log") else ""
    return {
        **{name: row.get(name) for name in ("status", "fact", "reason", "tail", "message", "context", "exit_code")},
        **{name: row.get(name) for name in ("notes", "wrote", "changed", "verification", "policy")},
        "log": log if os.path.exists(log) else "",
        "seconds": round(time.monotonic() - started, 1),
    }


def _at_the_gate(trial: Trial, hook: Hook, rows: Sequence[Row], gate: GateHooks) -> dict[str, Any]:
    """As at a first claim to be done."""
    base = next((row["result"]["manifest"] for row in reversed(rows) if row["kind"] == BASE), None)
    start, head = manifest_from_json(base) if base else Manifest({}, sha256(b"")), gate.now()
    found = changes(start, head, planned=trial.planned)
    replies = [row for row in rows if row["kind"] == "reply"]
    turn = replies[-1]["key"]["turn"] if replies else 0
    calls = [(call["name"], bool(result["result"]["failed"])) for call, result in _calls(rows)]
    facts = EndingFacts(
        str(turn),
        replies[-1]["result"].get("text", "") if replies else "",
        found.changed,
        start.sha256,
        head.sha256,
        [FileChange(path, change) for path, change in found.files],
        found.truncated,
        _todo_summary(trial, rows),
        [RecentTool(name, failed) for name, failed in calls],
        max_continues=int(trial.settings["max_acceptance_continues"]),
    )
    row = gate.ask({"turn": turn, "look": 0, "round": 1, "hook": hook.key}, facts, "")
    gate.commands.settled()
    return {**row, "changed": found.changed}


def _elsewhere(trial: Trial, hook: Hook, rows: Sequence[Row], gate: GateHooks) -> dict[str, Any]:
    """As at another point, on the last call that it would have watched."""
    before = gate.now()
    gate.commands.step = f"try-{hook.key}"
    result = gate.executor.run(hook, _occasion(trial, hook, rows, gate.run))
    gate.commands.settled()
    wrote = [path for path, _ in changes(before, gate.now(), planned=trial.planned).files]
    return {**result._asdict(), "notes": list(result.notes), "wrote": wrote, "policy": hook.failure_policy}


def _occasion(trial: Trial, hook: Hook, rows: Sequence[Row], run: RunFacts) -> Occasion:
    if hook.point in (SESSION_START, SESSION_END):
        session = SessionFacts("startup" if hook.point == SESSION_START else "accepted")
        return Occasion(hook.point, partial(session_input, run=run, session=session))
    for call, row in reversed(_calls(rows)):
        turn, result = row["key"]["turn"], row["result"]
        response = Response(result["text"], result["failed"])
        if not _watches(hook, call["name"], failed=result["failed"]):
            continue
        if hook.point == SUBAGENT_STOP:
            state = "failed" if result["failed"] else "succeeded"
            ended = SubagentFacts(str(turn), task_id_of(turn, call["id"]), "explore", state, response.text)
            body = partial(subagent_input, run=run, ended=ended)
        else:
            said = None if hook.point == BEFORE_TOOL else response
            facts = ToolFacts(str(turn), call["name"], call["arguments"], call["id"], said)
            body = partial(tool_input, run=run, call=facts)
        return Occasion(hook.point, body, call["name"], call["id"])
    raise UsageError(
        f"{hook.key} runs at {hook.point}, and task {trial.id} has no call of a tool on record that it would watch; try it "
        "on a task whose agent has made one"
    )


def _watches(hook: Hook, tool: str, *, failed: bool) -> bool:
    if hook.point == SUBAGENT_STOP and tool != _TASK:
        return False
    if hook.point == TOOL_FAILED and not failed:
        return False
    return not hook.matcher or re.fullmatch(hook.matcher, tool) is not None


def _calls(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """The calls of tools that were answered, each with the row of its result."""
    called: dict[tuple[int, str], Row] = {}
    found = []
    for row in rows:
        if row["kind"] == "reply":
            called.update({(row["key"]["turn"], call["id"]): call for call in row["result"]["calls"]})
        elif row["kind"] == "result":
            call = called.get((row["key"]["turn"], row["key"]["call"]))
            found += [(call, row)] if call else []
    return found


def _todo_summary(trial: Trial, rows: Sequence[Row]) -> dict[str, int]:
    todos = plan_todos(trial.plan) if trial.plan else ()
    for call, row in _calls(rows):
        if call["name"] == "TodoWrite" and not row["result"]["failed"]:
            todos = applied(todos, call["arguments"], row["key"]["turn"])
    return summary_of(todos)


def _check(trial: Trial, rows: Sequence[Row], commands: Commands) -> dict[str, Any]:
    if trial.plan is None:
        raise UsageError(f"task {trial.id} has no plan yet, and the built-in check goes by it")
    workspace = Workspace(trial.places.workspace)
    return check_code(workspace, dict(trial.plan), commands, _untouched(workspace, rows))


def _untouched(workspace: Workspace, rows: Sequence[Row]) -> list[str]:
    """Files that the work was to change, were written by no tool, and are as they were."""
    begun = rows[0].get("begun", {}) if rows else {}
    before = begun.get("before", {})
    written = {path for row in rows if row["kind"] == "result" for path in row["result"].get("files", ())}
    there = [path for path in begun.get("write", ()) if path in before and path not in written]
    return [path for path in there if _digest(workspace, path) == before[path]]


def _digest(workspace: Workspace, path: str) -> str:
    try:
        return sha256(workspace.read_bytes(path))
    except WorkspaceError:
        return ""


def _box(trial: Trial) -> Box:
    """What the agent's commands run in, with the packages of the plan where they are installed."""
    places = trial.places
    venv = environment_in(places.packages)
    python = venv if trial.settings["install"] == "allowed" and os.path.isdir(venv) else None
    return Box(places.workspace, kind_of_sandbox(str(trial.settings["sandbox"])), (places.paper,), python)
