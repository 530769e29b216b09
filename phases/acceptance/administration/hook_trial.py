"""Run one hook now on the workspace of a task, as a run would: with the same input, environment and limits."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from phases.acceptance.chain import GateHooks
from phases.acceptance.checks.code_check import check_code
from phases.acceptance.hook import (
    ACCEPT_GATE,
    BEFORE_TOOL,
    COMMAND,
    RESUME,
    SESSION_END,
    SESSION_START,
    STARTUP,
    SUBAGENT_STOP,
    TOOL_FAILED,
    Hook,
)
from phases.acceptance.hook_executor import HookContext, HookEvents, HookExecutor, Occasion
from phases.acceptance.hook_registry import HookSetting, register_hooks
from phases.acceptance.payload import (
    EndingFacts,
    RunFacts,
    SessionFacts,
    ToolFacts,
    ToolResponse,
    call_input,
    session_input,
)
from phases.acceptance.protected_files import BASE, build_protected_files, read_history
from phases.acceptance.todos import apply_change, plan_todos, summarize_todos
from phases.llm.journal import read_journal
from phases.llm.providers import PROVIDERS
from phases.sandbox.box import Box, limits_from, with_machine
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import Manifest, ManifestReader, compare_manifests, manifest_from_json
from phases.workspace.packages import find_python
from phases.workspace.snapshots import Snapshot
from phases.workspace.task_paths import task_paths
from phases.workspace.workspace import CONTROL, Workspace
from pipeline.base.errors import UsageError
from pipeline.base.files import make_directory, sha256
from pipeline.base.text_escaping import one_line

Row = Mapping[str, Any]
TRIALS = "hooks/tried"
"""The logs of trials, apart from those of runs."""
_FIELDS = (
    "status", "fact", "reason", "tail", "message", "context", "exit_code", "notes", "wrote", "changed", "verification",
)  # fmt: skip
_WORDS = {"pass": "passes", "block": "blocks", "failed": "gives no verdict", "stop": "would end the run"}
_LINES, _WIDTH, _MOST_NAMED = 20, 200, 20


class TrialTask(NamedTuple):
    """A task, and what a run of it would go by. Its journal is only read."""

    root: str
    id: str
    settings: Mapping[str, Any]
    plan: Mapping[str, Any] | None
    planned: Sequence[str]
    """The files of the plan."""
    hooks: HookSetting
    package_store: str = ""
    """The directory of the package environments that tasks share."""


def run_hook(task: TrialTask, hook: Hook) -> dict[str, Any]:
    """Run the hook and return its result. The caller holds the task's lock; the workspace stays as a run would leave it."""
    places = task_paths(task.root)
    rows = read_journal(places.journal)
    _refuse_edited(task, hook, rows)
    make_directory(places.hooks)
    directory = os.path.join(task.root, TRIALS)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as aside:  # a run may keep a tree of its own
        gate = _build_gate(task, hook, rows, directory, aside)
        result = (_run_at_gate if hook.point == ACCEPT_GATE else _run_elsewhere)(task, hook, rows, gate)
        gate.commands.settled()
    log = os.path.join(os.path.dirname(directory), result["log"]) if result.get("log") else ""
    return {
        **{name: result.get(name) for name in _FIELDS},
        "log": log if os.path.exists(log) else "",
        "seconds": round(time.monotonic() - started, 1),
    }


def describe_result(hook: Hook, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a result for a terminal. What a command printed is behind a bar."""
    code = f", exit code {result['exit_code']}" if result["exit_code"] is not None else ""
    yield f"{hook.key} {_WORDS[result['status']]} ({result['seconds']:g} s{code})"
    if hook.command:
        yield f"  runs: {_shorten(hook.command)}"
    if result["changed"] is False and hook.when != "always":
        yield "  a run would not call it now: nothing has changed since the run began"
    if result["status"] == "failed":
        yield f"  it is {hook.failure_policy}: {_describe_policy(hook)}"
    if checked := result["verification"]:
        why = _shorten(str(checked.get("why") or "nothing was run"))
        yield f"  verified: {'yes' if checked['verified'] else f'no: {why}'} (sandbox: {checked['sandbox']})"
        for row in checked["commands"]:
            yield f"  {'passed' if row['exit_code'] == 0 else 'failed'}: {_shorten(row['command'])}"
    if result["fact"] and result["status"] != "pass":
        yield f"  {_shorten(result['fact'])}"
    text = result["tail"] if result["status"] == "pass" else result["reason"] or result["tail"]
    yield from (
        f"  | {line[:_WIDTH]}" for line in [line for line in (text or "").splitlines() if line.strip()][-_LINES:]
    )
    yield from (f"  {word}: {_shorten(result[word])}" for word in ("message", "context") if result[word])
    yield from (f"  note: {_shorten(note)}" for note in result["notes"] or ())
    if wrote := result["wrote"]:
        more = f" and {len(wrote) - _MOST_NAMED} more" if len(wrote) > _MOST_NAMED else ""
        yield f"  it wrote: {', '.join(map(_shorten, wrote[:_MOST_NAMED]))}{more}"
    if result["log"]:
        yield f"  all of its output: {result['log']}"


def _refuse_edited(task: TrialTask, hook: Hook, rows: Sequence[Row]) -> None:
    """Raise UsageError if the agent may have edited a file of the hook: a run would refuse it too."""
    root = os.path.realpath(task_paths(task.root).workspace)
    past = read_history(rows[0].get("begun", {}), rows[1:]) if rows else None
    if hook.kind != COMMAND or past is None or past.files is None:
        return
    if odd := build_protected_files(register_hooks(task.hooks, root), past, task.planned, root).changed_for(hook):
        raise UsageError(
            f"{hook.key} is not run: {', '.join(odd)} has changed since the agent began, which may have edited it; "
            f"look at it, then: pipeline hooks trust {task.id}"
        )


def _build_gate(task: TrialTask, hook: Hook, rows: Sequence[Row], directory: str, aside: str) -> GateHooks:
    """Build the gate with this hook alone; what it puts aside goes into `aside`."""
    places = task_paths(task.root)
    workspace = Workspace(places.workspace)
    commands = CommandRunner(_build_box(task), Snapshot(places.workspace, os.path.join(aside, "before")))
    replies = [row["result"]["model"] for row in rows if row["kind"] == "reply"]
    model = replies[-1] if replies else str(task.settings["code_model"] or task.settings["model"])
    name = f"{task.id}-{rows[0].get('run', 1) if rows else 1}"
    root = os.path.realpath(places.workspace)
    facts = RunFacts(task.id, name, root, model, settings_directory=task.hooks.own_folder)
    secret = [provider.key_variable for provider in PROVIDERS.values() if provider.key_variable]
    context = HookContext(directory, task.hooks.environment, secret)
    executor = HookExecutor(facts, context, HookEvents(directory), commands)
    check = partial(_check_code, task, workspace, commands)
    return GateHooks((hook,), facts, executor, commands, workspace, ManifestReader(), task.planned, check)


def _build_box(task: TrialTask) -> Box:
    """Build the box of the agent's commands, with the packages of the plan if they are installed."""
    places = task_paths(task.root)
    python, own = find_python(places, task.settings, task.package_store), str(task.settings.get("python") or "")
    kind = kind_of_sandbox(str(task.settings["sandbox"]))
    box = Box(places.workspace, kind, (places.paper, *filter(None, [own])), python, limits_from(task.settings))
    return with_machine(box._replace(read_only=(os.path.join(places.workspace, CONTROL),)), task.settings)


def _check_code(task: TrialTask, workspace: Workspace, commands: CommandRunner) -> dict[str, Any]:
    if task.plan is None:
        raise UsageError(f"task {task.id} has no plan yet, which the built-in check needs")
    return check_code(workspace, dict(task.plan), commands)


def _run_at_gate(task: TrialTask, hook: Hook, rows: Sequence[Row], gate: GateHooks) -> dict[str, Any]:
    facts = _completion_facts(task, rows, gate.now())
    step = {"turn": int(facts.turn_id), "look": 0, "round": 1, "hook": hook.key}
    return {**gate.ask(step, facts, ""), "changed": facts.changed}


def _completion_facts(task: TrialTask, rows: Sequence[Row], head: Manifest) -> EndingFacts:
    """Return the facts of a first completion request on the workspace as it is."""
    base = next((row["result"]["manifest"] for row in reversed(rows) if row["kind"] == BASE), None)
    start = manifest_from_json(base) if base else Manifest({}, sha256(b""))
    changes = compare_manifests(start, head, planned=task.planned)
    last = next((row for row in reversed(rows) if row["kind"] == "reply"), None)
    calls = _find_calls(rows)
    todos = plan_todos(task.plan) if task.plan else ()
    for call, row in calls:
        if call["name"] == "TodoWrite" and not row["result"]["failed"]:
            todos = apply_change(todos, call["arguments"])
    return EndingFacts(
        str(last["key"]["turn"] if last else 0),
        str(last["result"].get("text", "")) if last else "",
        changes.changed,
        start.sha256,
        head.sha256,
        changes.files,
        changes.truncated,
        summarize_todos(todos),
        [(call["name"], bool(row["result"]["failed"])) for call, row in calls],
        max_continues=int(task.settings["max_acceptance_continues"]),
    )


def _run_elsewhere(task: TrialTask, hook: Hook, rows: Sequence[Row], gate: GateHooks) -> dict[str, Any]:
    occasion = _find_occasion(hook, rows, gate.run)
    if occasion is None:
        raise UsageError(
            f"{hook.key} runs at {hook.point}, and task {task.id} has no recorded tool call that it would watch; test it on "
            "a task whose agent has made one"
        )
    before, gate.commands.step = gate.now(), f"try-{hook.key}"
    result = gate.executor.run(hook, occasion)
    wrote = [path for path, _ in compare_manifests(before, gate.now(), planned=gate.planned).files]
    return {**result._asdict(), "notes": list(result.notes), "wrote": wrote}


def _find_occasion(hook: Hook, rows: Sequence[Row], run: RunFacts) -> Occasion | None:
    """Return the input of a hook on a session, or on the last recorded tool call that it would have watched, if any."""
    if hook.point in (SESSION_START, SESSION_END):
        begins = STARTUP if not hook.matcher or re.fullmatch(hook.matcher, STARTUP) else RESUME
        session = SessionFacts(begins if hook.point == SESSION_START else "accepted")
        return Occasion(hook.point, partial(session_input, run=run, session=session))
    for call, row in reversed(_find_calls(rows)):
        result, tool = row["result"], call["name"]
        is_point = hook.point not in (SUBAGENT_STOP, TOOL_FAILED)
        is_point |= (hook.point == SUBAGENT_STOP and tool == "Task") or (hook.point == TOOL_FAILED and result["failed"])
        if is_point and (not hook.matcher or re.fullmatch(hook.matcher, tool)):
            answer = None if hook.point == BEFORE_TOOL else ToolResponse(result["text"], result["failed"])
            facts = ToolFacts(str(row["key"]["turn"]), tool, call["arguments"], call["id"], answer)
            return Occasion(hook.point, partial(call_input, run=run, call=facts), tool, call["id"])
    return None


def _find_calls(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Return the answered tool calls, each with the journal row of its result."""
    called: dict[tuple[int, str], Row] = {}
    answered = []
    for row in rows:
        if row["kind"] == "reply":
            called.update({(row["key"]["turn"], call["id"]): call for call in row["result"]["calls"]})
        elif row["kind"] == "result" and (call := called.get((row["key"]["turn"], row["key"]["call"]))):
            answered.append((call, row))
    return answered


def _shorten(text: str) -> str:
    return one_line(text.strip().replace("\n", " ⏎ "), _WIDTH)


def _describe_policy(hook: Hook) -> str:
    at_gate = hook.point == ACCEPT_GATE
    if hook.failure_policy == "fail_open":
        return "a run would go on" + (", and its work would not count as verified" if at_gate else "")
    return "a run would end there, incomplete" if at_gate else "what it watches would be blocked"
