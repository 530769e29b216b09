"""How many sub-agents a run has started, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from phases.llm.model import OK

RUNNING, COMPLETED, FAILED = "running", "completed", "failed"
_TOOL = "Task"
_ENDS = {"succeeded": COMPLETED, COMPLETED: COMPLETED, FAILED: FAILED, "canceled": FAILED}
_Row = Mapping[str, Any]


@dataclass(frozen=True)
class SubAgents:
    """Every sub-agent of a run by the id of its task, with its last state."""

    states: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def started(self, task_id: str) -> tuple[SubAgents, bool]:
        """With one more, and whether that changed anything: one that is known, or has no id, does not."""
        return (self, False) if task_id in self.states else self._with(task_id, RUNNING)

    def ended(self, task_id: str, state: str) -> tuple[SubAgents, bool]:
        """With the end of one (succeeded, completed, failed or canceled), and whether that changed anything.

        The last state wins, and a word that is no end changes nothing. One that was not seen to start has started as well.
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
    """What the sub-agent of a call is called."""
    return f"{turn}-{call_id}"


def read_subagents(rows: Iterable[_Row]) -> SubAgents:
    """The sub-agents that a journal tells of, so that a run that is gone on with counts on. What was kept back never began."""
    asked: dict[str, None] = {}
    results: dict[str, _Row] = {}
    for row in rows:
        if row["kind"] == "reply" and row["result"]["outcome"] == OK:
            calls = (call for call in row["result"]["calls"] if call["name"] == _TOOL)
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
    before: SubAgents, after: SubAgents, snapshot: _Row, reason: str = "tool_result"
) -> list[tuple[str, dict[str, Any]]]:
    """The two events of a change, in their order; none where nothing changed.

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
