"""Run hooks around tool calls and at both ends of a run. Their results belong to the record of the call."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from phases.acceptance.hook import (
    AFTER_TOOL,
    BEFORE_TOOL,
    BLOCK,
    RESUME,
    SESSION_END,
    SESSION_START,
    STARTUP,
    STOP,
    SUBAGENT_STOP,
    TOOL_FAILED,
    Hook,
    HookResult,
    is_broken,
)
from phases.acceptance.hook_executor import HookEvents, HookExecutor, Occasion, select_hooks
from phases.acceptance.payload import RunFacts, SessionFacts, ToolFacts, ToolResponse, call_input, session_input
from phases.acceptance.stop_reasons import HOOK_STOPPED, HOOK_TAMPERED
from phases.llm.model import OK, ToolCall

HOOK_BLOCKED = "hook_blocked"
UNGUARDED = "unguarded"
"""In the record of a call: hooks that should have watched over it, or over the calls of its sub-agent, and could not."""
_SUBAGENT = "Task"
_AROUND = (BEFORE_TOOL, AFTER_TOOL, TOOL_FAILED, SUBAGENT_STOP)
Row = dict[str, Any]


@dataclass(frozen=True)
class ToolHooks:
    """The hooks of one run, but for those of the gate."""

    hooks: tuple[Hook, ...]
    run: RunFacts
    executor: HookExecutor
    events: HookEvents
    subagents: Callable[[], SubAgents]
    """As the journal tells of them."""
    notify: Callable[[str], None] = lambda text: None
    """Shows the user a line."""
    notified: dict[str, str] = field(default_factory=dict)
    """Hooks without a verdict that the user was notified of -> what the call went on without, if it went on."""

    def watch_calls(self) -> bool:
        """Return whether any hook watches tool calls."""
        return any(hook.point in _AROUND for hook in self.hooks)

    def are_there_for(self, call: ToolCall) -> bool:
        """Return whether a call has hooks around it."""
        return any(select_hooks(self.hooks, point, call.name) for point in _AROUND)

    def around(self, call: ToolCall, turn: int, do: Callable[[], Row]) -> Row:
        """The record of a call: refused by a hook, or done. `hooks_say` is for the model; `stopped` ends the run."""
        answers = self._ask(BEFORE_TOOL, call, turn, None)
        unguarded = self._unguarded(answers)
        stops = [(hook, result) for hook, result in answers if result.status == STOP]
        blocks = [(hook, result) for hook, result in answers if result.status == BLOCK]
        # A stop wins: it ends the run, where a block only refuses the call.
        if stops or blocks:
            hook, result = (stops or blocks)[0]
            return _with_hooks(_refusal_row(hook, result), answers, unguarded)
        row = self._with_subagent(call, turn, do) if call.name == _SUBAGENT else do()
        response = ToolResponse(row["text"], row["failed"])
        answers += self._ask(AFTER_TOOL, call, turn, response)
        if row["failed"]:
            answers += self._ask(TOOL_FAILED, call, turn, response)
        if call.name == _SUBAGENT:
            answers += self._ask(SUBAGENT_STOP, call, turn, response)
            # A sub-agent makes calls of its own, and their records are not kept: what they lacked is taken from the notices.
            unguarded += [fault for fault in self.notified.values() if fault and fault not in unguarded]
        return _with_hooks(row, answers, unguarded)

    def _unguarded(self, answers: list[tuple[Hook, HookResult]]) -> list[str]:
        """Report the hooks that gave no verdict on a call that is made anyway, each once."""
        faults = []
        for hook, result in answers:
            if not (result.closed or is_broken(result.status, result.fault)):
                continue
            fault = _fault_text(hook, result)
            faults += [] if result.closed else [fault]
            if hook.key not in self.notified:
                self.notified[hook.key] = "" if result.closed else fault
                follows = (
                    "the call is not done"
                    if result.closed
                    else "calls go on unwatched, and the work will not be verified"
                )
                test = f"pipeline hooks test {shlex.quote(self.run.session_id)} {shlex.quote(hook.key)}"
                self.notify(f"{fault}; it watches tool calls: {follows}; try it with: {test}")
        return faults

    def _with_subagent(self, call: ToolCall, turn: int, do: Callable[[], Row]) -> Row:
        task, before = task_id_of(turn, call.id), self.subagents()
        started, _ = before.started(task)
        self._emit(before, started)
        row = do()
        self._emit(started, started.ended(task, "failed" if row["failed"] else "succeeded")[0])
        return row

    def _emit(self, before: SubAgents, after: SubAgents) -> None:
        for name, fields in events_of(before, after, {"run_id": self.run.run_id, "session_id": self.run.session_id}):
            self.events.emit(name, **fields)

    def at_start(self, *, resumed: bool) -> list[str]:
        """Return what they report for the model; no start hook can stop the run."""
        return self._at_an_end(SESSION_START, RESUME if resumed else STARTUP, "")

    def at_end(self, reason: str, detail: str) -> None:
        """The same of an end."""
        self._at_an_end(SESSION_END, reason, detail)

    def _at_an_end(self, point: str, word: str, detail: str) -> list[str]:
        contexts = []
        for hook in select_hooks(self.hooks, point, word):
            body = partial(session_input, run=self.run, session=SessionFacts(word, detail))
            result = self.executor.run(hook, Occasion(point, body))
            self._notify(hook, result)
            contexts += [f"{hook.key}: {result.context}"] if result.context else []
        return contexts

    def _ask(
        self, point: str, call: ToolCall, turn: int, response: ToolResponse | None
    ) -> list[tuple[Hook, HookResult]]:
        facts = ToolFacts(str(turn), call.name, call.arguments, call.id, response)
        body = partial(call_input, run=self.run, call=facts)
        answers = []
        for hook in select_hooks(self.hooks, point, call.name):
            result = self.executor.run(hook, Occasion(point, body, call.name, call.id))
            self._notify(hook, result)
            answers.append((hook, result))
            if result.status in (BLOCK, STOP):
                break  # the call is not done, whatever the others would say
        return answers

    def _notify(self, hook: Hook, result: HookResult) -> None:
        if result.message:
            self.notify(f"{hook.key}: {result.message}")


def _fault_text(hook: Hook, result: HookResult) -> str:
    fault = result.reason or result.fault
    return fault if hook.key in fault else f"hook {hook.key}: {fault}"


def _refusal_row(hook: Hook, result: HookResult) -> Row:
    text = f"{HOOK_BLOCKED}: {hook.key} does not allow this call: {result.reason}"
    row = {"text": text, "failed": True, "skipped": True, "error_class": HOOK_BLOCKED, "touched": [], "seen": {}}
    return {**row, "files": {}}


def _with_hooks(row: Row, answers: list[tuple[Hook, HookResult]], unguarded: list[str]) -> Row:
    contexts = [f"{hook.key}: {result.context}" for hook, result in answers if result.context]
    stops = [
        {"stopped": f"{hook.key}: {result.reason}", "stop_reason": HOOK_TAMPERED if result.tampered else HOOK_STOPPED}
        for hook, result in answers
        if result.status == STOP
    ]
    return {
        **row,
        **({"hooks_say": contexts} if contexts else {}),
        **(stops[0] if stops else {}),
        **({UNGUARDED: unguarded} if unguarded else {}),
    }


RUNNING, COMPLETED, FAILED = "running", "completed", "failed"
_ENDS = {"succeeded": COMPLETED, COMPLETED: COMPLETED, FAILED: FAILED, "canceled": FAILED}


@dataclass(frozen=True)
class SubAgents:
    """Every sub-agent of a run by the id of its task, with its last state."""

    states: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def started(self, task_id: str) -> tuple[SubAgents, bool]:
        """With one more, and whether that changed anything: one that is known, or has no id, does not."""
        return (self, False) if task_id in self.states else self._with(task_id, RUNNING)

    def ended(self, task_id: str, state: str) -> tuple[SubAgents, bool]:
        """Record the end of a sub-agent (succeeded, completed, failed or canceled); return whether that changed anything.

        The last state wins, and any other word changes nothing. A sub-agent that was not seen to start has started too.
        """
        return self._with(task_id, _ENDS[state]) if state in _ENDS else (self, False)

    @property
    def counts(self) -> dict[str, int]:
        """started, running, completed and failed."""
        states = list(self.states.values())
        return {"started": len(states), **{state: states.count(state) for state in (RUNNING, COMPLETED, FAILED)}}

    def _with(self, task_id: str, state: str) -> tuple[SubAgents, bool]:
        if not task_id or self.states.get(task_id) == state:
            return self, False
        return SubAgents(MappingProxyType({**self.states, task_id: state})), True


def task_id_of(turn: int, call_id: str) -> str:
    """Return the id of a call's sub-agent."""
    return f"{turn}-{call_id}"


def read_subagents(rows: Iterable[Mapping[str, Any]]) -> SubAgents:
    """Restore the sub-agents of a journal, so that a resumed run counts on. Calls held back never began."""
    asked: dict[str, None] = {}
    results: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["kind"] == "reply" and row["result"]["outcome"] == OK:
            calls = (call for call in row["result"]["calls"] if call["name"] == _SUBAGENT)
            asked |= {task_id_of(row["key"]["turn"], call["id"]): None for call in calls}
        elif row["kind"] == "result":
            results[task_id_of(row["key"]["turn"], row["key"]["call"])] = row["result"]
    states = {}
    for name in asked:
        result = results.get(name)
        if result is None or not result.get("skipped"):
            states[name] = RUNNING if result is None else FAILED if result["failed"] else COMPLETED
    return SubAgents(MappingProxyType(states))


def events_of(
    before: SubAgents, after: SubAgents, snapshot: Mapping[str, Any], reason: str = "tool_result"
) -> list[tuple[str, dict[str, Any]]]:
    """Return the two events of a change, in order; none if nothing changed.

    `snapshot`: what else is known of the run at that moment (run_id, todos, …).
    """
    if before.states == after.states:
        return []
    counts = {f"{name}_count": number for name, number in after.counts.items()}
    return [
        ("subagent_snapshot_updated", {"reason": reason, "subagent": counts}),
        (
            "runtime_snapshot_updated",
            {"reason": "subagent_updated", "snapshot": {**snapshot, "subagents": dict(counts)}},
        ),
    ]
