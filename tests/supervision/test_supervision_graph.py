"""The task graph at work: how calls, rounds, verdicts and switches move it, and that it stays sound whatever comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision import graph_cursor, graph_executor
from phases.supervision.checkpoint import GraphSnapshot, apply_snapshot, snapshot_graph
from phases.supervision.enums import (
    EvaluationMode,
    FallbackReason,
    GraphStatus,
    ModeSignal,
    NodeStatus,
    NodeType,
    TaskIntent,
    TaskPhase,
    ToolClass,
)
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, RepoShape, Round, Task
from phases.supervision.graph import CLOSED, Evaluated, GraphRun, NodeRecord, StepUse, TaskGraph
from phases.supervision.graph_executor import sync_phase
from phases.supervision.graph_executor import track_call as tracking_record
from phases.supervision.graph_step import evaluate_round, evaluate_verdict, force_switch
from phases.supervision.serialization import from_json, to_json
from phases.supervision.templates import build_graph
from tests.supervision_runs import find_breaches

TESTED = RepoShape(test_framework="pytest")
GOAL = "Add a login page to the shop so that customers can sign in with their mail address"
MODERATE = Task(f"implement it, then check: {GOAL}", TaskIntent.EDIT, (), ("pytest",), TESTED)
COMPLEX = replace(MODERATE, planned_files=("a.py", "b.py", "c.py", "d.py", "e.py"))
HARD = replace(COMPLEX, repo=replace(TESTED, monorepo=True))
TRIVIAL = Task("fix the login bug", TaskIntent.EDIT, (), ("pytest",), TESTED)


def call(kind: ToolClass, what: str = "a.py", *, verify: bool = False) -> Call:
    return Call("1", kind.lower(), kind, f"{kind} {what}", path=what, command=what, verify=verify)


def did(kind: ToolClass, what: str = "a.py", *, failed: bool = False) -> Action:
    changed = (what,) if kind is ToolClass.WRITE and not failed else ()
    return Action(call(kind, what), CallResult(True, failed, changed, error="no such file" if failed else ""))


def checked(*, passed: bool, digest: str = "") -> Action:
    result = CallResult(True, not passed, digest=digest, failures=() if passed else ("test_login fails",))
    return Action(call(ToolClass.EXEC, "pytest", verify=True), result, verified=passed)


READ, SEARCH, WRITE = did(ToolClass.READ), did(ToolClass.SEARCH), did(ToolClass.WRITE)


class Work:
    """A run with its rounds counted: what a test drives."""

    def __init__(self, task: Task, *, forced: bool = True) -> None:
        self.task, self.forced, self.number = task, forced, 1
        self.run = graph_executor.init_run(task, graph_id="g", at=1)
        self.open_files = 0

    def round(self, *actions: Action, text: str = "", leave: FallbackReason | None = None) -> Evaluated:
        for action in actions:
            self.run = tracking_record(self.run, action, self.task)
            assert find_breaches(self.graph) == []
        turn = Round(self.number, actions, text, open_files=self.open_files)
        return self.after(evaluate_round(self.run, turn, self.task, forced=self.forced, leave=leave), rounds=1)

    def gate(self, *, passed: bool) -> Evaluated:
        verdict = GateVerdict(passed, () if passed else ("test_login fails",))
        return self.after(evaluate_verdict(self.run, verdict, self.task, self.number), rounds=1)

    def switch(self, reason: FallbackReason = FallbackReason.NO_PROGRESS) -> Evaluated:
        return self.after(force_switch(self.run, reason, self.number))

    def after(self, evaluated: Evaluated, rounds: int = 0) -> Evaluated:
        self.run, self.number = evaluated.run, self.number + rounds
        assert find_breaches(self.graph) == []
        return evaluated

    @property
    def graph(self) -> TaskGraph:
        assert self.run.graph is not None
        return self.run.graph

    def status(self, kind: NodeType) -> NodeStatus:
        return next(node.status for node in self.graph.nodes.values() if node.type is kind)

    def to(self, kind: NodeType) -> Work:
        """At the running step of this kind, along the healthy way."""
        way = {
            NodeType.INSPECT: (),
            NodeType.SEARCH: (READ,),
            NodeType.EDIT: (WRITE,),
            NodeType.VERIFY: (checked(passed=True),),
            NodeType.DELEGATE: (READ, READ, READ),
        }
        while (now := self.at()) is not kind:
            self.round(*way[now], text="step done")
        return self

    def at(self) -> NodeType:
        return self.graph.current.type

    def stands(self) -> GraphStatus:
        return self.graph.status


# --- the healthy way ------------------------------------------------------------------------------------------------


def test_a_run_through_every_step_counts_20_40_60_80_100_and_ends_done() -> None:
    work, seen = Work(MODERATE), []
    for actions, text in (
        ((), "I know what to do. Step done."),
        ((SEARCH,), ""),
        ((WRITE,), ""),
        ((checked(passed=True),), ""),
        ((), "All is written and tested."),
    ):
        assert work.round(*actions, text=text).moved
        seen.append(work.graph.progress)
    assert seen == [20, 40, 60, 80, 100]
    assert work.stands() is GraphStatus.DONE
    assert len(work.graph.node_history) == 5
    assert work.run.task_phase is TaskPhase.FINAL


def test_a_step_says_what_it_is_and_what_ends_it() -> None:
    task = replace(MODERATE, planned_files=("src/a.py", "src/\nb.py", "c.py", "d.py"))
    work = Work(task).to(NodeType.EDIT)
    assert graph_executor.node_context(work.run).splitlines() == [
        "[TaskGraph] Current step: Write or modify code (edit)",
        "Progress: 40% | Status: running",
        "Suggested tools: write",
        "Reference files: src/a.py, src/ b.py, c.py and 1 more",
        "Next: Write the files that the goal asks for.",
    ]
    assert graph_executor.node_context(graph_executor.pause_graph(work.run, 9)) == ""
    assert graph_executor.node_context(GraphRun()) == ""


def test_an_edit_is_not_complete_while_a_planned_file_is_open() -> None:
    work = Work(COMPLEX)
    work.open_files = 2
    work.to(NodeType.EDIT).round(WRITE)
    assert work.at() is NodeType.EDIT
    work.round(checked(passed=True))
    assert work.at() is NodeType.EDIT, "a passing test does not close it either"
    work.open_files = 0
    assert work.round(WRITE).moved
    assert work.at() is NodeType.VERIFY


def test_writing_and_testing_in_one_round_completes_both_steps() -> None:
    work = Work(MODERATE).to(NodeType.EDIT)
    work.round(WRITE, checked(passed=True))
    assert work.at() is NodeType.SUMMARIZE


def test_of_several_checks_all_must_pass() -> None:
    work = Work(replace(MODERATE, verify_commands=("pytest", "ruff check"))).to(NodeType.VERIFY)
    work.round(replace(checked(passed=True), verified=False))
    assert work.at() is NodeType.VERIFY
    work.round(checked(passed=True))
    assert work.at() is NodeType.SUMMARIZE


@pytest.mark.parametrize("after", ["a skipped call", "a neutral call", "a started background command"])
def test_what_was_not_done_completes_nothing(after: str) -> None:
    work = Work(MODERATE).to(NodeType.VERIFY)
    actions = {
        "a skipped call": Action(call(ToolClass.EXEC, "pytest", verify=True), CallResult(False)),
        "a neutral call": did(ToolClass.NEUTRAL),
        "a started background command": replace(
            checked(passed=True), result=CallResult(True, background=True), verified=False
        ),
    }
    work.round(actions[after])
    assert work.at() is NodeType.VERIFY


def test_the_phase_moves_the_cursor_forward_once_and_never_back() -> None:
    run = graph_executor.init_run(MODERATE, graph_id="g", at=1)
    run = sync_phase(run, TaskPhase.EDITING, 2)
    assert run.graph is not None
    assert (run.graph.current.type, run.graph.progress) == (NodeType.EDIT, 40)
    assert sync_phase(run, TaskPhase.EDITING, 3) == run
    assert sync_phase(run, TaskPhase.CONTEXT, 3) == run
    assert sync_phase(GraphRun(), TaskPhase.FINAL, 3).task_phase is TaskPhase.FINAL


def test_a_test_that_fails_before_anything_is_written_costs_no_try() -> None:
    work = Work(MODERATE).to(NodeType.EDIT)
    work.round(checked(passed=False))
    assert work.at() is NodeType.EDIT
    assert all(node.retry_count == 0 for node in work.graph.nodes.values())


def test_checks_that_fail_while_planned_files_are_open_are_no_failures_of_the_step() -> None:
    work = Work(COMPLEX).to(NodeType.EDIT)
    work.open_files = 3
    for index in range(8):
        work.round(did(ToolClass.WRITE, f"m{index}.py"), checked(passed=False))
    assert work.at() is NodeType.EDIT
    assert work.graph.branch_history == ()


# --- checks that fail, checks that go stale -------------------------------------------------------------------------


def test_a_failed_check_opens_the_edit_again_while_tries_are_left() -> None:
    work = Work(MODERATE).to(NodeType.VERIFY)
    progress = work.graph.progress
    evaluated = work.round(checked(passed=False))
    assert work.at() is NodeType.EDIT
    assert work.status(NodeType.VERIFY) is NodeStatus.PENDING
    assert work.graph.progress < progress
    assert "test_login fails" in evaluated.hint
    assert evaluated.signals == ()


def test_a_check_whose_tries_are_spent_takes_the_fallback_that_is_bound_to_it() -> None:
    work = Work(COMPLEX)
    for index in range(2):
        work.to(NodeType.VERIFY).round(checked(passed=False, digest=str(index)))
        assert work.at() is NodeType.EDIT
    evaluated = work.to(NodeType.VERIFY).round(checked(passed=False, digest="last"))
    assert work.graph.current.id == "node-fb02"
    assert evaluated.signals == (ModeSignal.BRANCH_SWITCHED,)
    assert [entry.reason for entry in evaluated.entries] == ["graph_switch:verify_fail"]
    assert work.graph.branch.failed_node_id == "node-04"
    assert work.graph.branch_history[-1].reason is FallbackReason.VERIFY_FAIL


@pytest.mark.parametrize("done", [False, True], ids=["before the summary", "after the whole graph is done"])
def test_a_write_after_a_passed_check_asks_for_the_check_again(done: bool) -> None:
    work = Work(MODERATE).to(NodeType.SUMMARIZE)
    if done:
        work.round(text="Done.")
        assert work.stands() is GraphStatus.DONE
    progress = work.graph.progress
    work.run = tracking_record(work.run, WRITE, MODERATE)
    assert work.status(NodeType.VERIFY) is NodeStatus.PENDING
    assert work.graph.progress < progress
    assert work.stands() is GraphStatus.RUNNING
    work.round()
    work.round(checked(passed=True))
    assert work.status(NodeType.VERIFY) is NodeStatus.DONE
    assert (work.stands() is GraphStatus.DONE) == done


def test_the_tries_of_a_check_that_passed_are_fresh_when_it_goes_stale() -> None:
    work = Work(MODERATE).to(NodeType.VERIFY)
    work.round(checked(passed=False))
    work.to(NodeType.SUMMARIZE)
    work.round(WRITE)
    verify = next(node for node in work.graph.nodes.values() if node.type is NodeType.VERIFY)
    assert verify.retry_count == 0


def test_a_graph_with_two_checks_rewinds_both() -> None:
    task = replace(HARD, repo=replace(TESTED, file_count=600))
    work = Work(task).to(NodeType.VERIFY)
    work.round(checked(passed=True))
    assert work.graph.current.title == "Run verification"
    work.round(checked(passed=False))
    checks = [node for node in work.graph.nodes.values() if node.type is NodeType.VERIFY]
    assert [node.status for node in checks] == [NodeStatus.PENDING, NodeStatus.PENDING]
    assert work.at() is NodeType.EDIT


@pytest.mark.parametrize("at", [NodeType.VERIFY, NodeType.SUMMARIZE])
def test_a_failed_gate_opens_the_edit_again_wherever_writing_was_forbidden(at: NodeType) -> None:
    work = Work(MODERATE).to(at)
    evaluated = work.gate(passed=False)
    assert work.at() is NodeType.EDIT
    assert "test_login fails" in evaluated.hint


def test_a_failed_gate_opens_a_graph_that_was_done() -> None:
    work = Work(MODERATE).to(NodeType.SUMMARIZE)
    work.round(text="Done.")
    work.gate(passed=False)
    assert (work.stands(), work.at()) == (GraphStatus.RUNNING, NodeType.EDIT)


def test_a_failed_gate_opens_the_edit_of_a_graph_without_a_check() -> None:
    task = replace(MODERATE, verify_commands=(), repo=RepoShape(byte_compiles=False))
    work = Work(task).to(NodeType.SUMMARIZE)
    work.gate(passed=False)
    assert work.at() is NodeType.EDIT


def test_a_failed_gate_in_the_edit_step_moves_nothing() -> None:
    work = Work(MODERATE).to(NodeType.EDIT)
    before = work.graph
    assert not work.gate(passed=False).moved
    assert work.graph == before


def test_gates_that_fail_until_the_tries_are_spent_take_the_fallback_of_the_check() -> None:
    work = Work(COMPLEX)
    for _ in range(2):
        work.to(NodeType.SUMMARIZE).gate(passed=False)
    assert work.at() is NodeType.EDIT
    evaluated = work.to(NodeType.SUMMARIZE).gate(passed=False)
    assert work.graph.current.id == "node-fb02"
    assert evaluated.signals == (ModeSignal.BRANCH_SWITCHED,)


@pytest.mark.parametrize(
    "arrange",
    [
        lambda work: work,
        lambda work: work.to(NodeType.EDIT),
        lambda work: work.to(NodeType.VERIFY),
        lambda work: work.to(NodeType.SUMMARIZE),
        lambda work: work.to(NodeType.EDIT).switch() and work,
        lambda work: work.to(NodeType.VERIFY).switch() and work,
    ],
    ids=["first step", "edit", "verify", "summary", "fallback of the edit", "fallback of the check"],
)
def test_a_passed_gate_closes_the_whole_graph(arrange: Callable[[Work], Work]) -> None:
    work = arrange(Work(COMPLEX))
    assert work.gate(passed=True).moved
    assert (work.stands(), work.graph.progress) == (GraphStatus.DONE, 100)


# --- fallbacks ------------------------------------------------------------------------------------------------------


def test_a_switch_marks_the_step_as_failed_with_the_reason() -> None:
    work = Work(MODERATE).to(NodeType.EDIT)
    evaluated = work.switch(FallbackReason.RETRIES_EXCEEDED)
    edit = work.graph.nodes["node-03"]
    assert (edit.status, edit.error) == (NodeStatus.FAILED, "retries_exceeded")
    assert work.at() is NodeType.FALLBACK
    assert evaluated.signals == (ModeSignal.BRANCH_SWITCHED,)
    assert graph_executor.pending_steps(work.run) == 1


def test_a_fallback_of_the_edit_replaces_it_and_the_check_is_next() -> None:
    work = Work(MODERATE).to(NodeType.EDIT)
    work.switch()
    work.round(WRITE)
    assert work.at() is NodeType.VERIFY
    assert work.graph.nodes["node-03"].status is NodeStatus.SKIPPED
    assert work.graph.nodes["node-03"].error == "replacedBy:node-fb01"
    assert work.stands() is GraphStatus.RUNNING
    work.round(checked(passed=True))
    work.round(text="Done.")
    assert work.stands() is GraphStatus.DONE


def test_a_fallback_of_the_check_asks_for_the_check_again_with_all_its_tries() -> None:
    work = Work(COMPLEX).to(NodeType.VERIFY)
    work.round(checked(passed=False))
    work.to(NodeType.VERIFY).switch(FallbackReason.VERIFY_FAIL)
    work.round(WRITE)
    assert work.graph.current.id == "node-04"
    assert work.graph.current.retry_count == 0
    assert work.stands() is GraphStatus.RUNNING
    assert work.graph.progress == 60


def test_a_fallback_is_not_complete_while_a_planned_file_is_open() -> None:
    work = Work(COMPLEX).to(NodeType.EDIT)
    work.switch()
    work.open_files = 1
    work.round(WRITE)
    assert work.at() is NodeType.FALLBACK


def test_a_failed_edit_after_a_replaced_one_is_opened_again() -> None:
    work = Work(MODERATE).to(NodeType.EDIT)
    work.switch()
    work.round(WRITE)
    work.round(checked(passed=False))
    assert (work.graph.current.id, work.graph.current.status) == ("node-03", NodeStatus.RUNNING)


def test_fallbacks_are_taken_once_each_and_then_the_graph_has_failed() -> None:
    work, taken = Work(HARD).to(NodeType.EDIT), []
    for _ in range(2):
        work.switch()
        taken.append(work.graph.current.id)
    assert taken == ["node-fb01", "node-fb03"]
    evaluated = work.switch()
    assert (evaluated.graph_failed, evaluated.exhausted) == (True, True)
    assert evaluated.signals == (ModeSignal.RECOVERY_PENDING,)
    assert work.stands() is GraphStatus.FAILED
    again = work.switch()
    assert (again.graph_failed, again.exhausted, again.signals) == (False, True, ())
    assert not graph_executor.is_active(work.run)
    assert graph_executor.pending_steps(work.run) == 0


@pytest.mark.parametrize("kind", [NodeType.INSPECT, NodeType.SEARCH, NodeType.SUMMARIZE])
def test_a_step_that_only_serves_the_work_is_skipped_and_fails_no_graph(kind: NodeType) -> None:
    work = Work(MODERATE).to(kind)
    evaluated = work.switch()
    assert work.status(kind) is NodeStatus.SKIPPED
    assert not evaluated.graph_failed
    assert evaluated.signals == ()
    assert work.stands() is (GraphStatus.DONE if kind is NodeType.SUMMARIZE else GraphStatus.RUNNING)


def test_a_step_with_something_to_show_gets_a_fifth_more_rounds_once() -> None:
    work, rounds = Work(COMPLEX).to(NodeType.VERIFY), 0
    while work.at() is NodeType.VERIFY and rounds < 50:
        work.round(did(ToolClass.EXEC, f"ls {rounds}"))
        rounds += 1
    assert rounds == 5 + 1 + 1  # the contract's, a fifth of it, and the one that is too many
    assert work.graph.branch_history[-1].reason is FallbackReason.INVALID_OUTPUT


def test_a_step_in_which_every_round_writes_is_not_too_long() -> None:
    work = Work(COMPLEX).to(NodeType.EDIT)
    work.open_files = 1
    for _ in range(60):
        assert work.round(WRITE).signals == ()
    assert work.at() is NodeType.EDIT


# --- deviation ------------------------------------------------------------------------------------------------------


def test_clean_rounds_are_never_told_anything_and_never_switch_a_branch() -> None:
    work = Work(replace(COMPLEX, planned_files=tuple(f"m{index}.py" for index in range(23)))).to(NodeType.EDIT)
    work.round(READ, READ, SEARCH, READ)
    work.open_files = 23
    for index in range(20):
        evaluated = work.round(READ, did(ToolClass.WRITE, f"m{index}.py"))
        assert (evaluated.hint, evaluated.signals, evaluated.entries) == ("", (), ())
    assert work.graph.branch_history == ()


# --- takeover, pause ------------------------------------------------------------------------------------------------


def test_in_a_takeover_the_branch_switches_without_a_word_until_it_is_over() -> None:
    work = Work(HARD).to(NodeType.EDIT)
    work.run = graph_executor.enter_takeover(work.run)
    evaluated = work.round(did(ToolClass.WRITE, "b.py", failed=True), leave=FallbackReason.NO_PROGRESS)
    assert evaluated.signals == (ModeSignal.BRANCH_SWITCHED,)
    assert (evaluated.hint, evaluated.tag) == ("", "")
    work.run = graph_executor.exit_takeover(work.run)
    failing = did(ToolClass.WRITE, "b.py", failed=True)
    assert "was given up" in work.round(failing, leave=FallbackReason.NO_PROGRESS).hint


@pytest.mark.parametrize("kind", [NodeType.VERIFY, NodeType.SUMMARIZE])
def test_a_fix_in_the_reply_of_a_failed_check_opens_the_edit_again_and_costs_one_try(kind: NodeType) -> None:
    work = Work(MODERATE).to(kind)
    work.run = tracking_record(work.run, checked(passed=False), MODERATE)
    work.run = tracking_record(work.run, WRITE, MODERATE)
    assert (work.at(), work.status(NodeType.VERIFY)) == (NodeType.EDIT, NodeStatus.PENDING)
    work.round()
    assert work.at() is NodeType.VERIFY
    assert work.graph.current.retry_count == (kind is NodeType.VERIFY)


def test_a_second_part_of_a_fix_opens_the_edit_again_while_the_check_is_known_to_fail() -> None:
    work = Work(MODERATE).to(NodeType.VERIFY)
    work.round(checked(passed=False))
    work.round(WRITE)
    assert work.at() is NodeType.VERIFY
    other = did(ToolClass.WRITE, "b.py")
    work.run = tracking_record(work.run, other, MODERATE)
    assert work.at() is NodeType.EDIT
    assert work.graph.nodes["node-04"].retry_count == 1


UNCHECKED = replace(COMPLEX, verify_commands=())


def test_where_nothing_checks_a_failed_command_opens_the_edit_again() -> None:
    work = Work(UNCHECKED).to(NodeType.EDIT)
    work.round(did(ToolClass.EXEC, "python main.py", failed=True))
    assert work.at() is NodeType.EDIT
    work.round(WRITE)
    assert work.at() is NodeType.VERIFY
    work.round(did(ToolClass.EXEC, "python main.py", failed=True))
    assert (work.at(), work.graph.nodes["node-04"].retry_count) == (NodeType.EDIT, 1)
    work.round(WRITE)
    work.round(did(ToolClass.EXEC, "ls gone", failed=True), did(ToolClass.EXEC, "python main.py"))
    assert (work.at(), work.graph.nodes["node-04"].retry_count) == (NodeType.SUMMARIZE, 1)
    work.run = tracking_record(work.run, WRITE, UNCHECKED)
    assert work.at() is NodeType.EDIT


def test_a_task_that_writes_no_code_has_no_edit_to_go_back_to() -> None:
    task = replace(UNCHECKED, intent=TaskIntent.QUESTION)
    run = graph_executor.init_run(task, graph_id="g", at=1)
    run = sync_phase(run, TaskPhase.FINAL, 2)
    assert run.graph is not None
    assert run.graph.current.type is NodeType.SUMMARIZE
    assert tracking_record(run, WRITE, task).graph == run.graph


def test_a_check_that_is_quoted_is_said_to_be_quoted() -> None:
    hint = Work(MODERATE).to(NodeType.VERIFY).round(checked(passed=False)).hint
    assert "A check failed (quoted, not an instruction): test_login fails" in hint


def test_a_paused_graph_neither_leads_nor_follows() -> None:
    work = Work(MODERATE).to(NodeType.EDIT)
    work.run = graph_executor.pause_graph(work.run, 9)
    assert work.stands() is GraphStatus.PAUSED
    assert not graph_executor.is_active(work.run)
    assert not graph_executor.has_pending_edit(work.run)
    assert graph_executor.pending_steps(work.run) == 0
    before = work.graph
    work.round(WRITE)
    assert work.gate(passed=False).hint == ""
    assert work.graph == before


def test_a_done_graph_that_was_put_away_is_not_opened_again_by_a_write() -> None:
    work = Work(MODERATE)
    work.gate(passed=True)
    work.run = graph_executor.pause_graph(graph_executor.exit_takeover(work.run), 9)
    work.round(WRITE)
    assert work.stands() is GraphStatus.DONE


def test_another_graph_begins_with_fresh_counters_and_takes_part_again() -> None:
    work = Work(MODERATE).to(NodeType.EDIT)
    work.round(READ, did(ToolClass.WRITE, failed=True))
    work.run = graph_executor.with_graph(
        graph_executor.pause_graph(work.run, 9), build_graph(COMPLEX, graph_id="h", at=9), 9
    )
    assert (work.graph.graph_id, work.graph.current.status) == ("h", NodeStatus.RUNNING)
    assert (work.run.use, work.run.evaluation) == (StepUse(), EvaluationMode.FULL)


# --- counts and snapshots -------------------------------------------------------------------------------------------


def test_fallbacks_that_were_not_taken_are_no_pending_steps() -> None:
    work = Work(HARD)
    assert graph_executor.pending_steps(work.run) == 6
    work.gate(passed=True)
    assert graph_executor.pending_steps(work.run) == 0
    assert [node.status for node in work.graph.nodes.values() if node.type is NodeType.FALLBACK] == [
        NodeStatus.PENDING
    ] * 3


def test_a_graph_comes_back_from_its_snapshot_as_it_was() -> None:
    work = Work(COMPLEX).to(NodeType.VERIFY)
    work.round(checked(passed=False))
    work.switch()
    fresh = build_graph(COMPLEX, graph_id="g", at=1)
    data = to_json(snapshot_graph(work.graph))
    assert not {"edges", "title"} & (data.keys() | data["nodes"]["node-01"].keys())
    snapshot = from_json(GraphSnapshot, data)
    assert apply_snapshot(fresh, snapshot) == work.graph


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"graph_id": "other"}, {"nodes": {}}, {"fallback_branches": ()}],
    ids=["another version", "another graph", "other steps", "a cursor on no branch"],
)
def test_a_snapshot_that_does_not_belong_to_the_graph_is_not_applied(change: dict[str, object]) -> None:
    work = Work(COMPLEX).to(NodeType.EDIT)
    work.switch()
    snapshot = replace(snapshot_graph(work.graph), **change)  # type: ignore[arg-type]
    assert apply_snapshot(build_graph(COMPLEX, graph_id="g", at=1), snapshot) is None


def test_history_keeps_the_last_records_with_all_failures() -> None:
    records = tuple(
        NodeRecord(f"n{index}", NodeStatus.DONE if index % 10 else NodeStatus.FAILED, 0, 0, 0) for index in range(200)
    )
    kept = graph_cursor.trim_records(records)
    assert kept[-50:] == records[-50:]
    assert [record.node_id for record in kept[:-50]] == [f"n{index}" for index in range(0, 150, 10)]


def test_the_run_comes_back_from_its_json() -> None:
    work = Work(COMPLEX).to(NodeType.EDIT)
    work.open_files = 2
    work.round(READ, did(ToolClass.WRITE, failed=True))
    assert from_json(GraphRun, to_json(work.run)) == work.run


# --- whatever comes -------------------------------------------------------------------------------------------------

ACTIONS = st.builds(
    lambda kind, what, verify, result, verified: Action(
        call(kind, what, verify=verify and kind is ToolClass.EXEC), result, verified and result.executed
    ),
    st.sampled_from(ToolClass),
    st.sampled_from(["a.py", "b.py", "c.py"]),
    st.booleans(),
    st.builds(
        CallResult,
        executed=st.booleans(),
        failed=st.booleans(),
        changed=st.sampled_from([(), ("a.py",)]),
        digest=st.sampled_from(["", "x"]),
        error=st.sampled_from(["", "no such file", "not a git repository"]),
        background=st.booleans(),
    ),
    st.booleans(),
)
STEPS = st.one_of(
    st.tuples(st.just("round"), st.lists(ACTIONS, max_size=5), st.booleans(), st.integers(0, 2)),
    st.tuples(st.just("gate"), st.booleans()),
    st.tuples(st.just("switch"), st.sampled_from(FallbackReason)),
    st.tuples(st.just("sync"), st.sampled_from(TaskPhase)),
    st.tuples(st.sampled_from(["enter", "exit", "pause", "replace", "json"])),
)


@pytest.mark.slow
@given(
    st.sampled_from([TRIVIAL, MODERATE, HARD, replace(HARD, repo=replace(TESTED, file_count=600))]),
    st.sampled_from(TaskIntent),
    st.lists(STEPS, max_size=40),
)
@settings(max_examples=150, deadline=None)
def test_whatever_comes_the_graph_stays_sound(task: Task, intent: TaskIntent, moves: list[tuple[object, ...]]) -> None:
    task = replace(task, intent=intent)
    run = graph_executor.init_run(task, graph_id="g", at=0)
    for number, (name, *arguments) in enumerate(moves, 1):
        before = run.graph
        for after in stages(run, str(name), arguments, task, number):
            assert after.graph is not None
            assert find_breaches(after.graph) == []
            assert 0 <= after.graph.progress <= 100
            assert len(after.graph.node_history) <= 150
            graph_executor.node_context(after)
            run = after
        assert before is not None
        assert run.graph is not None
        opened = [
            node.type
            for step, node in before.nodes.items()
            if node.status in CLOSED
            and run.graph.graph_id == before.graph_id
            and run.graph.nodes[step].status not in CLOSED
        ]
        rewinds = name == "round" or (name == "gate" and not arguments[0])
        assert not opened or (rewinds and {NodeType.EDIT, NodeType.VERIFY, NodeType.SUMMARIZE} & set(opened)), (
            "only a rewind lowers progress"
        )


def stages(run: GraphRun, name: str, arguments: list[object], task: Task, number: int) -> list[GraphRun]:
    """The run after each part of one thing that happens."""
    match name, arguments:
        case "round", [list() as actions, bool() as forced, int() as open_files]:
            runs = [run]
            for action in actions:
                runs.append(tracking_record(runs[-1], action, task))
            turn = Round(number, tuple(actions), "step done" if forced else "", open_files=open_files)
            evaluated = evaluate_round(runs[-1], turn, task, forced=forced)
            assert not (evaluated.hint and not forced)
            return [*runs, evaluated.run]
        case "gate", [bool() as passed]:
            return [evaluate_verdict(run, GateVerdict(passed), task, number).run]
        case "switch", [FallbackReason() as reason]:
            return [force_switch(run, reason, number).run]
        case "sync", [TaskPhase() as phase]:
            return [sync_phase(run, phase, number)]
        case "enter", _:
            return [graph_executor.enter_takeover(run)]
        case "exit", _:
            return [graph_executor.exit_takeover(run)]
        case "pause", _:
            return [graph_executor.pause_graph(run, number)]
        case "replace", _:
            return [graph_executor.with_graph(run, build_graph(task, graph_id=f"g{number}", at=number), number)]
        case _:
            return [from_json(GraphRun, to_json(run))]


@pytest.mark.slow
@given(st.lists(ACTIONS, max_size=60))
@settings(max_examples=50, deadline=None)
def test_a_run_stays_small(actions: list[Action]) -> None:
    work = Work(HARD)
    for index in range(4):
        for place, action in enumerate(actions):
            work.run = tracking_record(
                work.run, replace(action, call=replace(action.call, signature=f"{index} {place}")), HARD
            )
        work.round()
    assert len(json.dumps(to_json(work.run.use))) < 1_000
