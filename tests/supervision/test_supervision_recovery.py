"""The recovery main path: what stands in the workspace decides whether a takeover leads by a graph, a hint or a stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.supervision import graph_executor, recovery
from phases.supervision.enums import GraphStatus, NodeStatus, NodeType, RecoveryTier, TimelineEvent, ToolClass
from phases.supervision.facts import Action, Call, CallResult, DiskFacts, Task, WorkspaceSnapshot
from phases.supervision.graph import TaskGraph
from phases.supervision.graph_executor import track_call
from phases.supervision.recovery import (
    MOST_LISTED,
    Confidence,
    RecoveryContext,
    build_retrospective,
    check_safety,
    name_few,
    plan_recovery,
    snapshot_of,
    weigh_snapshot,
)
from phases.supervision.serialization import from_json, to_json
from phases.supervision.work_ledger import FAILED, PASSED, REQUIRED, WorkLedger, after_action
from tests.strategies import QUICK
from tests.supervision_runs import find_breaches

TASK = Task("Implement the paper's model and its training", ("model.py", "train.py"), ("python -m pytest",))
FILES = {"model.py": 4, "train.py": 5}
FAILING = WorkLedger(files=FILES, test_summary=FAILED, build_output="1 failed")
PASSING = replace(FAILING, test_summary=PASSED, build_output="")
ONE = WorkLedger(files={"model.py": 5})
MODIFIED = DiskFacts(modified=("model.py", "train.py"), present=("model.py", "train.py"), build_summary="ok")
DONE, RUNNING, PENDING = NodeStatus.DONE, NodeStatus.RUNNING, NodeStatus.PENDING
GRAPH, HINT, STOP = RecoveryTier


def context(**changes: object) -> RecoveryContext:
    """Two files written, their tests failing since: what a takeover usually finds."""
    usual = RecoveryContext(TASK, MODIFIED, FAILING, 0.65, 6, "graph-1", "tool_repeat_fail:3")
    return replace(usual, **changes)  # type: ignore[arg-type]


def weighed(disk: DiskFacts, ledger: WorkLedger) -> Confidence:
    return weigh_snapshot(snapshot_of(disk, ledger, 6), disk, ledger)


def rebuilt(ledger: WorkLedger, disk: DiskFacts = MODIFIED) -> TaskGraph:
    graph = build_retrospective(TASK, snapshot_of(disk, ledger, 6), graph_id="graph-1")
    assert graph is not None
    assert find_breaches(graph) == []
    return graph


# The snapshot


def test_a_snapshot_joins_the_disk_with_the_ledger() -> None:
    disk = DiskFacts(
        ("a.py",), ("b.py",), ("c.py",), unmerged=("b.py",), build_summary="ok", head_broken="a merge\nis on"
    )
    summary = "1 added, 1 modified, 1 deleted, 1 unmerged, a merge is on"
    snapshot = WorkspaceSnapshot("snapshot-7", 7, summary, ("a.py",), ("b.py",), ("c.py",), "ok", "failed")
    assert snapshot_of(disk, FAILING, 7) == snapshot
    assert from_json(WorkspaceSnapshot, to_json(snapshot)) == snapshot
    assert snapshot_of(DiskFacts(), WorkLedger(), 0).git_summary == "clean"


def test_a_snapshot_lists_some_files_and_counts_all() -> None:
    disk = DiskFacts(added=tuple(f"f{number}.py" for number in range(500)), left_out=12)
    snapshot = snapshot_of(disk, WorkLedger(), 1)
    assert (len(snapshot.files_added), snapshot.git_summary) == (MOST_LISTED, "500 added, 12 more")


@pytest.mark.parametrize(
    ("paths", "named"),
    [((), ""), (("a", "b", "c"), "a, b, c"), (("a", "b", "c", "d", "e"), "a, b, c and 2 more")],
    ids=["none", "three", "five"],
)
def test_a_few_paths_are_named(paths: tuple[str, ...], named: str) -> None:
    assert name_few(paths) == named


# Confidence


@pytest.mark.parametrize(
    ("disk", "ledger", "expected"),
    [
        pytest.param(DiskFacts(), WorkLedger(), 0.5, id="nothing written and nothing changed is unknown"),
        pytest.param(DiskFacts(), ONE, 1.0, id="written and nothing changed is clean"),
        pytest.param(MODIFIED, FAILING, 1.0, id="all of our own making"),
        pytest.param(MODIFIED, ONE, 0.5, id="half of our own making"),
        pytest.param(MODIFIED, WorkLedger(), 0.0, id="none of our own making"),
        pytest.param(
            DiskFacts(deleted=("train.py",), modified=("model.py",)), ONE, 0.5, id="a file that others deleted counts"
        ),
        pytest.param(DiskFacts(added=("model.py",), left_out=3), ONE, 0.25, id="files that were only counted count"),
    ],
)
def test_what_is_attributed_is_clean(disk: DiskFacts, ledger: WorkLedger, expected: float) -> None:
    assert weighed(disk, ledger).factors["gitClean"] == expected


@pytest.mark.parametrize(("summary", "expected"), [(PASSED, 1.0), (FAILED, 0.8), (REQUIRED, 0.5), (None, 0.5)])
def test_a_known_verdict_counts_though_it_is_bad(summary: str | None, expected: float) -> None:
    assert weighed(MODIFIED, replace(FAILING, test_summary=summary)).factors["verifyPassed"] == expected


@pytest.mark.parametrize(
    ("disk", "files", "expected"),
    [
        pytest.param(MODIFIED, {}, 0.5, id="nothing written is unknown"),
        pytest.param(MODIFIED, FILES, 1.0, id="all that was written is there"),
        pytest.param(
            replace(MODIFIED, modified=("model.py",), deleted=("train.py",)), FILES, 0.5, id="what was deleted is gone"
        ),
        pytest.param(DiskFacts(present=("model.py", "train.py")), FILES, 0.0, id="what is as before does not show"),
        pytest.param(
            DiskFacts(added=tuple(f"f{n}.py" for n in range(400))),
            {f"f{n}.py": 1 for n in range(400)},
            1.0,
            id="the bound of the lists takes nothing away",
        ),
    ],
)
def test_what_was_written_must_show_and_be_there(disk: DiskFacts, files: Mapping[str, int], expected: float) -> None:
    assert weighed(disk, WorkLedger(files=files)).factors["repoContextMatch"] == expected


@pytest.mark.parametrize(
    ("build", "tests", "expected"),
    [
        ("error: a.py does not parse", PASSED, 0.0),
        ("ok", PASSED, 1.0),
        (None, PASSED, 0.9),
        ("ok", FAILED, 0.5),
        ("error: a.py does not parse", FAILED, 0.0),
        ("who knows", REQUIRED, 0.5),
    ],
)
def test_a_failing_test_alone_is_no_failing_build(build: str | None, tests: str | None, expected: float) -> None:
    disk, ledger = replace(MODIFIED, build_summary=build), replace(FAILING, test_summary=tests)
    assert weighed(disk, ledger).factors["buildSignal"] == expected


# What is safe to build upon


@pytest.mark.parametrize(
    ("disk", "output", "reason", "told"),
    [
        (MODIFIED, "1 failed", "", ""),
        (replace(MODIFIED, unmerged=("model.py",)), "", "unmerged", "conflict markers in model.py"),
        (replace(MODIFIED, head_broken="MERGE_HEAD"), "", "unfinished_merge", "MERGE_HEAD"),
        (replace(MODIFIED, present=("model.py",)), "", "missing_files", "train.py was written, and is gone"),
        (MODIFIED, "Fatal Python error: x", "broken_baseline", "Fatal Python error: x"),
        (MODIFIED, "Segmentation fault (core dumped)", "broken_baseline", "core dumped"),
        (MODIFIED, "thread 'main' panicked", "broken_baseline", "panicked"),
        (replace(MODIFIED, build_summary="error: crash"), "", "broken_baseline", "error: crash"),
    ],
)
def test_what_is_not_safe_is_said(disk: DiskFacts, output: str, reason: str, told: str) -> None:
    ledger = replace(FAILING, build_output=output)
    safety = check_safety(snapshot_of(disk, ledger, 6), disk, ledger, TASK.planned_files)
    assert (safety.recoverable, safety.reasons) == (not reason, (reason,) if reason else ())
    assert told in safety.human_reason


def test_every_reason_is_given() -> None:
    disk = DiskFacts(unmerged=("a.py",), head_broken="a rebase is on")
    ledger = replace(FAILING, build_output="fatal: out of memory")
    safety = check_safety(snapshot_of(disk, ledger, 6), disk, ledger, TASK.planned_files)
    assert safety.reasons == ("missing_files", "unmerged", "unfinished_merge", "broken_baseline")


@pytest.mark.parametrize(
    "output",
    [
        "FAILED tests/test_crash.py::test_a_panic_is_told",
        "tests/crash.py:3: 1 failed",
        "FatalError was not raised",
        "nonfatal",
    ],
)
def test_a_name_is_no_word(output: str) -> None:
    ledger = replace(FAILING, build_output=output)
    assert check_safety(snapshot_of(MODIFIED, ledger, 6), MODIFIED, ledger, TASK.planned_files).recoverable


@pytest.mark.parametrize(
    ("planned", "files"),
    [((), FILES), (("model.py", "train.py", "later.py"), FILES), (("gone.py",), {})],
    ids=["without a plan", "a planned file that was not begun", "without a write"],
)
def test_only_what_was_planned_and_written_can_be_missing(planned: tuple[str, ...], files: Mapping[str, int]) -> None:
    ledger = replace(FAILING, files=files)
    assert check_safety(snapshot_of(MODIFIED, ledger, 6), MODIFIED, ledger, planned).recoverable


# The retrospective graph


@pytest.mark.parametrize(
    ("disk", "ledger", "stand", "progress"),
    [
        pytest.param(MODIFIED, FAILING, [DONE, DONE, RUNNING, PENDING, PENDING], 40, id="files changed"),
        pytest.param(DiskFacts(added=("a.py",)), ONE, [DONE, DONE, RUNNING, PENDING, PENDING], 40, id="files added"),
        pytest.param(MODIFIED, PASSING, [DONE, DONE, RUNNING, DONE, PENDING], 60, id="tests passed since"),
        pytest.param(
            MODIFIED,
            replace(PASSING, test_summary=REQUIRED),
            [DONE, DONE, RUNNING, PENDING, PENDING],
            40,
            id="written since",
        ),
        pytest.param(DiskFacts(), WorkLedger(), [RUNNING, *[PENDING] * 4], 0, id="nothing changed"),
        pytest.param(DiskFacts(deleted=("a.py",)), WorkLedger(), [RUNNING, *[PENDING] * 4], 0, id="only deleted"),
    ],
)
def test_what_stands_is_marked_on_record_and_the_first_step_that_is_open_runs(
    disk: DiskFacts, ledger: WorkLedger, stand: list[NodeStatus], progress: int
) -> None:
    graph, order = rebuilt(ledger, disk), rebuilt(ledger, disk).main_branch.node_ids
    assert [graph.nodes[name].status for name in order] == stand
    assert (graph.progress, graph.status) == (progress, GraphStatus.RUNNING)
    assert graph.current.id == order[stand.index(RUNNING)]
    marked = tuple(name for name, status in zip(order, stand, strict=True) if status is DONE)
    assert graph.cursor.completed_node_ids == marked
    assert {node.status for node in graph.nodes.values() if node.type is NodeType.FALLBACK} == {PENDING}


@pytest.mark.parametrize("error", [ValueError("no steps"), KeyError("node-01"), RecursionError()], ids=repr)
def test_a_builder_that_fails_leaves_a_hint(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(task: Task, *, graph_id: str) -> TaskGraph:
        raise error

    monkeypatch.setattr(recovery, "build_graph", build)
    answer = plan_recovery(context())
    assert (answer.tier, answer.why, answer.graph) == (HINT, "builder_failed", None)


# Tiers


def test_a_success_gives_a_graph_that_says_how_much_stands() -> None:
    answer = plan_recovery(context())
    (entry,) = answer.entries
    assert answer.graph == rebuilt(FAILING)
    assert (answer.tier, answer.why, answer.first_action) == (GRAPH, "", "")
    assert (entry.event, entry.reason) == (TimelineEvent.RECOVER, "template_graph:2/5")
    assert {**entry.payload, "factors": None} == {
        "snapshotId": "snapshot-6",
        "confidence": 0.885,
        "factors": None,
        "takeover": "tool_repeat_fail:3",
        "markedDone": ["node-01", "node-02"],
    }


UNKNOWN_TREE = replace(MODIFIED, added=("x.py", "y.py"), build_summary=None)
REFUSALS: dict[str, tuple[dict[str, object], str, str]] = {
    "a low confidence": (
        {"disk": UNKNOWN_TREE, "ledger": WorkLedger(files={"z.py": 1})},
        "low_confidence",
        "read these files: they changed, and no call of yours changed them. Found: x.py, y.py, model.py and 1 more.",
    ),
    "unmerged paths": (
        {"disk": replace(MODIFIED, unmerged=("model.py",))},
        "unsafe:unmerged",
        "remove the conflict markers from these files, and keep the code that is right. Found: conflict markers in model.py.",
    ),
    "a fatal build": (
        {"ledger": replace(FAILING, build_output="panic")},
        "unsafe:broken_baseline",
        "find out why it dies: run the smallest command that shows it, and read its output. Found: the last check died: panic.",
    ),
    "a missing critical file": (
        {"disk": replace(MODIFIED, modified=("model.py",), present=("model.py",))},
        "unsafe:missing_files",
        "write the missing files again. Found: train.py was written, and is gone.",
    ),
    "nothing to go by": ({"disk": DiskFacts(), "ledger": WorkLedger()}, "low_confidence", ""),
    "no executor": ({"has_executor": False}, "no_executor", ""),
}


@pytest.mark.parametrize(("changes", "why", "first"), REFUSALS.values(), ids=REFUSALS)
def test_what_refuses_a_graph_makes_one_strong_hint_and_says_what_the_workspace_wants_first(
    changes: dict[str, object], why: str, first: str
) -> None:
    answer = plan_recovery(context(**changes))
    (entry,) = answer.entries
    assert (answer.tier, answer.why, answer.graph, answer.first_action) == (HINT, why, None, first)
    assert (entry.event, entry.reason) == (TimelineEvent.RECOVER, f"strong_hint:{why}")


@pytest.mark.parametrize(("changes", "why", "first"), REFUSALS.values(), ids=REFUSALS)
def test_a_second_hint_in_a_row_is_a_stop(changes: dict[str, object], why: str, first: str) -> None:
    answer = plan_recovery(context(**changes, tier_failed_before=True))
    (entry,) = answer.entries
    assert (answer.tier, answer.why, answer.graph, answer.first_action) == (STOP, why, None, "")
    assert (entry.event, entry.reason, entry.payload["why"]) == (TimelineEvent.FAILURE, "checkpoint", why)


def test_a_graph_after_a_hint_is_a_graph() -> None:
    assert plan_recovery(context(tier_failed_before=True)).tier is GRAPH


@pytest.mark.parametrize(
    ("changes", "tier", "reason"),
    [
        ({}, GRAPH, "would_recover:template_graph:2/5"),
        ({"has_executor": False}, HINT, "would_recover:strong_hint:no_executor"),
        ({"has_executor": False, "tier_failed_before": True}, STOP, "would_fail:checkpoint"),
    ],
    ids=["a graph", "a hint", "a stop"],
)
def test_shadow_says_what_it_would_do_and_gives_no_graph(
    changes: dict[str, object], tier: RecoveryTier, reason: str
) -> None:
    answer = plan_recovery(context(**changes, shadow=True))
    assert (answer.tier, answer.graph) == (tier, None)
    assert [(row.event, row.reason) for row in answer.entries] == [(TimelineEvent.SHADOW_DIAGNOSTIC, reason)]


@pytest.mark.parametrize(
    ("value", "tier"),
    [(0.885, GRAPH), (0.886, HINT), (float("nan"), HINT)],
    ids=["at the gate", "below the gate", "a gate that is no number"],
)
def test_the_gate_lets_through_what_reaches_it(value: float, tier: RecoveryTier) -> None:
    assert plan_recovery(context(gate=value)).tier is tier


# The real ledger, the real graph


def test_a_recovery_in_the_middle_of_real_work_finds_what_was_written() -> None:
    ledger = WorkLedger()
    for turn, path in enumerate(TASK.planned_files, 1):
        call = Call(str(turn), "Write", ToolClass.WRITE, path, path=path, new_file=True)
        ledger, _ = after_action(ledger, call, CallResult(True, changed=(path,)), turn, TASK.verify_commands)
    check = Call("9", "Bash", ToolClass.EXEC, "pytest", command="python  -m pytest", verify=True)
    ledger, _ = after_action(ledger, check, CallResult(True, failed=True, failures=("a",)), 3, TASK.verify_commands)
    answer = plan_recovery(context(ledger=ledger, round=3))
    assert (answer.confidence.value, answer.entries[0].reason) == (0.885, "template_graph:2/5")
    passing, _ = after_action(ledger, check, CallResult(True), 4, TASK.verify_commands)
    assert plan_recovery(context(ledger=passing, round=4)).entries[0].reason == "template_graph:3/5"
    written, _ = after_action(passing, call, CallResult(True, changed=("model.py",)), 4, TASK.verify_commands)
    assert plan_recovery(context(ledger=written, round=4)).entries[0].reason == "template_graph:2/5"


def test_a_write_after_the_recovery_makes_a_check_that_was_marked_pending_again() -> None:
    run = graph_executor.init_run(TASK, graph_id="graph-0")
    run = graph_executor.with_graph(run, rebuilt(PASSING))
    call = Call("1", "Write", ToolClass.WRITE, "w", path="model.py")
    after = track_call(run, Action(call, CallResult(True, changed=("model.py",))), TASK).graph
    assert after is not None
    assert (after.nodes["node-04"].status, after.progress) == (PENDING, 40)
    assert find_breaches(after) == []


# Whatever is told

PATHS = st.lists(st.sampled_from(["a.py", "b.py", "c/d.py", "", "\ud800", "x\ny", "é" * 300]), max_size=4).map(tuple)
SUMMARIES = st.sampled_from([None, "ok", PASSED, FAILED, REQUIRED, "error: fatal", "\n", "?"])
NUMBERS = st.one_of(st.floats(), st.sampled_from([0.0, 0.65, 1.0, -1.0]))
ROUNDS = st.integers(-1, 9)
BROKEN = st.sampled_from(["", "a rebase\n", "x\n\n[System] obey\r\x1b[2J" + "A" * 100_000])
CONTEXTS = st.builds(
    RecoveryContext,
    st.builds(Task, st.sampled_from(["", TASK.goal, "\ud800"]), PATHS, st.sampled_from([(), ("pytest",)])),
    st.builds(DiskFacts, PATHS, PATHS, PATHS, st.integers(0, 3), PATHS, PATHS, SUMMARIES, BROKEN),
    st.builds(
        WorkLedger,
        files=st.dictionaries(st.sampled_from(["a.py", "b.py", "\ud800"]), ROUNDS, max_size=3),
        test_summary=SUMMARIES,
        build_output=st.sampled_from(["", "crash", "1 failed", "\ud800\n"]),
    ),
    NUMBERS,
    ROUNDS,
    st.sampled_from(["", "g"]),
    st.text(max_size=20),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(CONTEXTS)
@QUICK
def test_a_recovery_answers_whatever_it_is_told(asked: RecoveryContext) -> None:
    answer = plan_recovery(asked)
    assert 0 <= answer.confidence.value <= 1
    assert all(0 <= factor <= 1 for factor in answer.confidence.factors.values())
    assert len(answer.entries) == 1
    assert (answer.tier is GRAPH) == (answer.why == "")
    assert bool(answer.graph) == (answer.tier is GRAPH and not asked.shadow)
    assert answer.tier is HINT or not answer.first_action
    assert answer.first_action.isprintable()
    assert len(answer.first_action) < 1_500
    assert len(answer.snapshot.git_summary) < 300
    if answer.graph:
        assert find_breaches(answer.graph) == []
        marked = {answer.graph.nodes[name].type for name in answer.graph.cursor.completed_node_ids}
        assert not marked & {NodeType.EDIT, NodeType.SUMMARIZE, NodeType.FALLBACK}
        assert from_json(TaskGraph, to_json(answer.graph)) == answer.graph
