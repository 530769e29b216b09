"""Sub-agents are counted once each, by their last state, and the same after a resume."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.acceptance.tool_hooks import SubAgents, events_of, read_subagents, task_id_of
from tests.strategies import QUICK


def after(*steps: tuple[str, str]) -> tuple[SubAgents, list[bool]]:
    """What came of starts and ends, and which of them changed anything."""
    agents, changes = SubAgents(), []
    for task, state in steps:
        agents, changed = agents.started(task) if state == "started" else agents.ended(task, state)
        changes.append(changed)
    return agents, changes


def counts(*steps: tuple[str, str]) -> tuple[int, ...]:
    """started, running, completed, failed."""
    return tuple(after(*steps)[0].counts.values())


def test_results_are_counted_once_each_and_those_without_an_id_never() -> None:
    agents, changes = after(("a", "succeeded"), ("a", "succeeded"), ("b", "failed"), ("", "succeeded"))
    assert agents.counts == {"started": 2, "running": 0, "completed": 1, "failed": 1}
    assert changes == [True, False, True, False]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([], (0, 0, 0, 0), id="nothing"),
        pytest.param([("a", "started")], (1, 1, 0, 0), id="it runs"),
        pytest.param([("a", "started"), ("a", "started")], (1, 1, 0, 0), id="it starts twice"),
        pytest.param([("a", "started"), ("b", "started"), ("a", "completed")], (2, 1, 1, 0), id="one of two ended"),
        pytest.param([("a", "started"), ("a", "canceled")], (1, 0, 0, 1), id="canceled is failed"),
        pytest.param([("a", "failed"), ("a", "succeeded")], (1, 0, 1, 0), id="it failed, then succeeded"),
        pytest.param([("a", "failed"), ("a", "canceled")], (1, 0, 0, 1), id="it failed for two reasons"),
        pytest.param([("a", "succeeded"), ("a", "started")], (1, 0, 1, 0), id="a start that comes late"),
        pytest.param([("a", "started"), ("a", "perhaps")], (1, 1, 0, 0), id="a state that is no end"),
        pytest.param([("", "started")], (0, 0, 0, 0), id="no id"),
    ],
)
def test_the_last_state_of_a_task_wins(steps: list[tuple[str, str]], expected: tuple[int, ...]) -> None:
    assert counts(*steps) == expected


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b", "c"]), st.sampled_from(["started", "succeeded", "failed", "canceled", "x"])
    )
)


@given(STEPS)
@QUICK
def test_the_counts_always_add_up_and_a_repeated_step_changes_nothing(steps: list[tuple[str, str]]) -> None:
    agents, _ = after(*steps)
    told = agents.counts
    assert told["started"] == told["running"] + told["completed"] + told["failed"]
    for task, state in steps[-1:]:
        again, changed = agents.started(task) if state == "started" else agents.ended(task, state)
        assert (again, changed) == (agents, False)


def test_a_value_that_was_handed_out_never_changes() -> None:
    first, _ = SubAgents().started("a")
    first.ended("a", "failed")
    assert first.counts == {"started": 1, "running": 1, "completed": 0, "failed": 0}


# Journals


def reply(turn: int, *calls: tuple[str, str], outcome: str = "ok") -> dict[str, Any]:
    asked = [{"id": name, "name": tool, "arguments": {}} for name, tool in calls]
    return {"kind": "reply", "key": {"turn": turn}, "result": {"outcome": outcome, "calls": asked}}


def result(turn: int, call: str, *, failed: bool = False, skipped: bool = False) -> dict[str, Any]:
    kept = {"kept_back": True} if skipped else {}
    told = {"text": "x", "failed": failed or skipped, **({"skipped": True} if skipped else {})}
    return {"kind": "result", "key": {"turn": turn, "call": call, **kept}, "result": told}


ROWS = [
    reply(1, ("a", "Task"), ("b", "Task"), ("c", "Read")), result(1, "a"), result(1, "b", failed=True),
    result(1, "c", failed=True), {"kind": "window", "key": {"turn": 1}, "result": {"window": 9}},
    reply(2, ("a", "Task"), outcome="truncated"), reply(3, ("a", "Task"), ("d", "Task")), result(3, "a", skipped=True),
]  # fmt: skip


def test_a_journal_gives_the_counts_back_that_a_run_had() -> None:
    assert read_subagents(ROWS).counts == {"started": 3, "running": 1, "completed": 1, "failed": 1}
    assert dict(read_subagents(ROWS).states) == {"1-a": "completed", "1-b": "failed", "3-d": "running"}
    assert task_id_of(3, "d") == "3-d"


def counted(rows: list[dict[str, Any]]) -> dict[str, int]:
    """The same counts by another way: from sets of calls."""
    replies = [row for row in rows if row["kind"] == "reply" and row["result"]["outcome"] == "ok"]
    asked = {
        (row["key"]["turn"], call["id"]) for row in replies for call in row["result"]["calls"] if call["name"] == "Task"
    }
    results = {(row["key"]["turn"], row["key"]["call"]): row["result"] for row in rows if row["kind"] == "result"}
    asked -= {key for key, told in results.items() if told.get("skipped")}
    failed, ended = sum(results[key]["failed"] for key in asked & results.keys()), len(asked & results.keys())
    return {"started": len(asked), "running": len(asked) - ended, "completed": ended - failed, "failed": failed}


@pytest.mark.slow
@given(
    st.lists(
        st.one_of(
            st.builds(
                reply,
                st.integers(1, 3),
                st.tuples(st.sampled_from("ab"), st.sampled_from(["Task", "Read"])),
                outcome=st.sampled_from(["ok", "truncated"]),
            ),
            st.builds(result, st.integers(1, 3), st.sampled_from("ab"), failed=st.booleans(), skipped=st.booleans()),
        ),
        max_size=12,
    )
)
@QUICK
def test_any_journal_has_the_counts_that_its_replies_and_results_have(rows: list[dict[str, Any]]) -> None:
    assert read_subagents(rows).counts == counted(rows)


def test_going_on_from_a_journal_counts_on() -> None:
    agents, changed = read_subagents(ROWS).ended("3-d", "succeeded")
    assert changed
    assert agents.counts == {"started": 3, "running": 0, "completed": 2, "failed": 1}
    assert agents.ended("1-b", "failed") == (agents, False)


# Events


def test_a_change_is_told_by_two_events_in_their_order() -> None:
    before, after_it = SubAgents(), after(("a", "started"))[0]
    told = {"started_count": 1, "running_count": 1, "completed_count": 0, "failed_count": 0}
    assert events_of(before, after_it, {"run_id": "r1", "todos": []}) == [
        ("subagent_snapshot_updated", {"reason": "tool_result", "subagent": told}),
        (
            "runtime_snapshot_updated",
            {"reason": "subagent_updated", "snapshot": {"run_id": "r1", "todos": [], "subagents": told}},
        ),
    ]


def test_nothing_is_told_where_nothing_changed() -> None:
    agents = after(("a", "succeeded"))[0]
    again, _ = agents.ended("a", "succeeded")
    assert events_of(agents, again, {}) == []
    assert events_of(agents, after(("a", "failed"), ("a", "succeeded"))[0], {}) == []
