"""The task graph at work: how calls, rounds, verdicts and switches move it, and that it stays sound whatever comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision import graph_executor
from phases.supervision.enums import FallbackReason, GraphStatus, ModeSignal, NodeStatus, NodeType, TaskPhase, ToolClass
from phases.supervision.facts import Action, Call, CallResult, GateVerdict, Round, Task
from phases.supervision.graph import CLOSED, GraphRun, StepUse, TaskGraph, build_graph, close_step, is_active
from phases.supervision.graph_executor import (
    Evaluated,
    evaluate_round,
    evaluate_verdict,
    force_switch,
    sync_phase,
    track_call,
)
from phases.supervision.serialization import from_json, to_json
from tests.supervision_runs import find_breaches

TASK = Task("Add a login page to the shop", (), ("pytest",))
PLANNED = replace(TASK, planned_files=("a.py", "b.py", "c.py", "d.py", "e.py"))
UNCHECKED = replace(PLANNED, verify_commands=())
PENDING, DONE, SKIPPED, FAILED = NodeStatus.PENDING, NodeStatus.DONE, NodeStatus.SKIPPED, NodeStatus.FAILED
INSPECT, SEARCH, EDIT, VERIFY, SUMMARIZE, FALLBACK = NodeType


def call(kind: ToolClass, what: str = "a.py", *, verify: bool = False) -> Call:
    return Call("1", kind.lower(), kind, f"{kind} {what}", path=what, command=what, verify=verify)


def did(kind: ToolClass, what: str = "a.py", *, failed: bool = False) -> Action:
    changed = (what,) if kind is ToolClass.WRITE and not failed else ()
    return Action(call(kind, what), CallResult(True, failed, changed, error="no such file" if failed else ""))


def checked(*, passed: bool) -> Action:
    result = CallResult(True, not passed, failures=() if passed else ("test_login fails",))
    return Action(call(ToolClass.EXEC, "pytest", verify=True), result, verified=passed)


READ, LOOKED, WRITE = did(ToolClass.READ), did(ToolClass.SEARCH), did(ToolClass.WRITE)
PASSED, BROKE = checked(passed=True), checked(passed=False)
HEALTHY = {INSPECT: (), SEARCH: (READ,), EDIT: (WRITE,), VERIFY: (PASSED,), SUMMARIZE: ()}


class Work:
    """A run with its rounds counted: what a test drives."""

    def __init__(self, task: Task = TASK) -> None:
        self.task, self.number, self.open_files = task, 1, 0
        self.run = graph_executor.init_run(task, graph_id="g")

    def call(self, action: Action) -> None:
        self.run = track_call(self.run, action, self.task)
        assert find_breaches(self.graph) == []

    def round(self, *actions: Action, text: str = "", leave: FallbackReason | None = None) -> Evaluated:
        for action in actions:
            self.call(action)
        turn = Round(self.number, actions, text, open_files=self.open_files)
        return self._after(evaluate_round(self.run, turn, self.task, leave=leave), rounds=1)

    def gate(self, *, passed: bool) -> Evaluated:
        verdict = GateVerdict(passed, () if passed else ("test_login fails",))
        return self._after(evaluate_verdict(self.run, verdict), rounds=1)

    def switch(self, reason: FallbackReason = FallbackReason.NO_PROGRESS) -> Evaluated:
        return self._after(force_switch(self.run, reason), rounds=0)

    def _after(self, evaluated: Evaluated, rounds: int) -> Evaluated:
        self.run, self.number = evaluated.run, self.number + rounds
        assert find_breaches(self.graph) == []
        return evaluated

    @property
    def graph(self) -> TaskGraph:
        assert self.run.graph is not None
        return self.run.graph

    @property
    def taken(self) -> list[FallbackReason | None]:
        """Why each fallback that was taken was taken."""
        return [branch.reason for branch in self.graph.fallback_branches if branch.attempt_count]

    @property
    def at(self) -> NodeType:
        return self.graph.current.type

    def status(self, kind: NodeType) -> NodeStatus:
        return next(node.status for node in self.graph.nodes.values() if node.type is kind)

    def tries(self, kind: NodeType) -> int:
        return next(node.retry_count for node in self.graph.nodes.values() if node.type is kind)

    def to(self, kind: NodeType) -> Work:
        """At the running step of this kind, along the healthy way."""
        while self.at is not kind:
            self.round(*HEALTHY[self.at], text="step done")
        return self

    def done(self) -> Work:
        self.to(SUMMARIZE).round(text="All is written and tested.")
        assert self.graph.status is GraphStatus.DONE
        return self


# The healthy way


def test_a_run_through_every_step_counts_20_40_60_80_100_and_ends_done() -> None:
    work, seen = Work(), []
    for kind, actions in HEALTHY.items():
        assert work.at is kind
        assert work.round(*actions, text="I know what to do. Step done.").moved
        seen.append(work.graph.progress)
    assert seen == [20, 40, 60, 80, 100]
    assert (work.graph.status, work.run.task_phase) == (GraphStatus.DONE, TaskPhase.FINAL)


def test_clean_rounds_that_write_raise_no_signal_and_switch_no_branch_however_many() -> None:
    work = Work(PLANNED).to(EDIT)
    work.open_files = 1
    for index in range(60):
        evaluated = work.round(READ, LOOKED, did(ToolClass.WRITE, f"m{index}.py"))
        assert (evaluated.signals, evaluated.entries) == ((), ())
    assert (work.at, work.taken) == (EDIT, [])


@pytest.mark.parametrize("kind", [SEARCH, EDIT, VERIFY, SUMMARIZE])
def test_only_the_first_step_is_done_by_saying_so(kind: NodeType) -> None:
    work = Work().to(kind)
    work.round(did(ToolClass.NEUTRAL), text="step done")
    assert work.at is kind


@pytest.mark.parametrize("actions", [[WRITE], [PASSED], [WRITE, PASSED]], ids=["a write", "a check", "both"])
def test_an_edit_is_not_complete_while_a_planned_file_is_open(actions: list[Action]) -> None:
    work = Work(PLANNED)
    work.open_files = 2
    work.to(EDIT).round(*actions)
    assert work.at is EDIT
    work.open_files = 0
    work.round(WRITE)
    assert work.at is VERIFY


def test_writing_and_testing_in_one_round_completes_both_steps() -> None:
    work = Work().to(EDIT)
    work.round(WRITE, PASSED)
    assert work.at is SUMMARIZE


def test_of_several_checks_all_must_pass() -> None:
    work = Work(replace(TASK, verify_commands=("pytest", "ruff check"))).to(VERIFY)
    work.round(replace(PASSED, verified=False))
    assert work.at is VERIFY
    work.round(PASSED)
    assert work.at is SUMMARIZE


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(replace(PASSED, result=CallResult(False), verified=False), id="a call that was kept back"),
        pytest.param(did(ToolClass.NEUTRAL), id="a note"),
        pytest.param(
            replace(PASSED, result=CallResult(True, background=True), verified=False), id="a command in the background"
        ),
    ],
)
def test_what_was_not_done_completes_nothing(action: Action) -> None:
    work = Work().to(VERIFY)
    work.round(action)
    assert work.at is VERIFY


def test_the_phase_moves_the_cursor_forward_once_and_never_back() -> None:
    run = sync_phase(graph_executor.init_run(TASK, graph_id="g"), TaskPhase.EDITING)
    assert run.graph is not None
    assert (run.graph.current.type, run.graph.progress) == (EDIT, 40)
    assert sync_phase(run, TaskPhase.EDITING) == run
    assert sync_phase(run, TaskPhase.CONTEXT) == run
    assert sync_phase(GraphRun(), TaskPhase.FINAL).task_phase is TaskPhase.FINAL


@pytest.mark.parametrize("open_files", [0, 3], ids=["before the first write", "while planned files are open"])
def test_a_check_that_fails_in_the_edit_step_costs_no_try(open_files: int) -> None:
    work = Work(PLANNED)
    work.open_files = open_files
    work.to(EDIT)
    for index in range(8):
        work.round(*([did(ToolClass.WRITE, f"m{index}.py")] if open_files else []), BROKE)
    assert (work.at, work.taken) == (EDIT, [])
    assert {node.retry_count for node in work.graph.nodes.values()} == {0}


# Checks that fail, checks that go stale


def test_a_failed_check_opens_the_edit_again_while_tries_are_left() -> None:
    work = Work().to(VERIFY)
    progress = work.graph.progress
    assert work.round(BROKE).signals == ()
    assert (work.at, work.status(VERIFY), work.tries(VERIFY)) == (EDIT, PENDING, 1)
    assert work.graph.progress < progress


@pytest.mark.parametrize(
    ("at", "fail"),
    [
        pytest.param(VERIFY, lambda work: work.round(BROKE), id="a check"),
        pytest.param(SUMMARIZE, lambda work: work.gate(passed=False), id="the completion gate"),
    ],
)
def test_a_check_whose_tries_are_spent_takes_the_fallback_that_is_bound_to_it(
    at: NodeType, fail: Callable[[Work], Evaluated]
) -> None:
    work = Work(PLANNED)
    for _ in range(2):
        fail(work.to(at))
        assert work.at is EDIT
    evaluated = fail(work.to(at))
    assert work.graph.current.id == "node-fb02"
    assert evaluated.signals == (ModeSignal.BRANCH_SWITCHED,)
    assert [entry.reason for entry in evaluated.entries] == ["graph_switch:verify_fail"]
    assert (work.graph.branch.failed_node_id, work.graph.branch.reason) == ("node-04", FallbackReason.VERIFY_FAIL)


def test_a_check_that_fails_alike_again_and_again_takes_its_fallback_at_once() -> None:
    work = Work().to(VERIFY)
    work.round(BROKE, leave=FallbackReason.REPEATED_FAILURE)
    assert (work.graph.current.id, work.tries(VERIFY)) == ("node-fb02", 0)
    assert work.graph.branch.reason is FallbackReason.REPEATED_FAILURE


@pytest.mark.parametrize("done", [False, True], ids=["before the summary", "after the whole graph is done"])
def test_a_write_after_a_passed_check_asks_for_the_check_again_with_all_its_tries(done: bool) -> None:
    work = Work().to(VERIFY)
    work.round(BROKE)
    work = work.done() if done else work.to(SUMMARIZE)
    progress = work.graph.progress
    work.call(WRITE)
    assert (work.status(VERIFY), work.tries(VERIFY), work.graph.status) == (PENDING, 0, GraphStatus.RUNNING)
    assert work.graph.progress < progress
    work.round()
    work.round(PASSED)
    assert work.status(VERIFY) is DONE
    assert (work.graph.status is GraphStatus.DONE) == done


@pytest.mark.parametrize("arrange", [lambda: Work().to(VERIFY), lambda: Work().to(SUMMARIZE), lambda: Work().done()])
def test_a_failed_gate_opens_the_edit_again_from_the_check_on(arrange: Callable[[], Work]) -> None:
    work = arrange()
    assert work.gate(passed=False).moved
    assert (work.at, work.graph.status) == (EDIT, GraphStatus.RUNNING)


@pytest.mark.parametrize("kind", [INSPECT, SEARCH, EDIT])
def test_a_failed_gate_before_the_check_moves_nothing(kind: NodeType) -> None:
    work = Work().to(kind)
    before = work.graph
    assert not work.gate(passed=False).moved
    assert work.graph == before


@pytest.mark.parametrize(
    "arrange",
    [
        lambda work: work,
        lambda work: work.to(EDIT),
        lambda work: work.to(VERIFY),
        lambda work: work.to(SUMMARIZE),
        lambda work: work.to(EDIT).switch() and work,
        lambda work: work.to(VERIFY).switch() and work,
    ],
    ids=["first step", "edit", "verify", "summary", "fallback of the edit", "fallback of the check"],
)
def test_a_passed_gate_closes_the_whole_graph(arrange: Callable[[Work], Work]) -> None:
    work = arrange(Work(PLANNED))
    assert work.gate(passed=True).moved
    assert (work.graph.status, work.graph.progress) == (GraphStatus.DONE, 100)


@pytest.mark.parametrize("kind", [VERIFY, SUMMARIZE])
def test_a_fix_in_the_reply_of_a_failed_check_opens_the_edit_again_and_costs_one_try(kind: NodeType) -> None:
    work = Work().to(kind)
    work.call(BROKE)
    work.call(WRITE)
    assert (work.at, work.status(VERIFY)) == (EDIT, PENDING)
    work.round()
    assert (work.at, work.tries(VERIFY)) == (VERIFY, kind is VERIFY)


def test_fixes_in_the_reply_of_a_failed_check_cost_no_more_than_all_tries() -> None:
    work = Work()
    for _ in range(5):
        work.to(VERIFY).round(BROKE, WRITE)
    assert (work.tries(VERIFY), work.taken) == (2, [])


def test_a_second_part_of_a_fix_opens_the_edit_again_and_costs_no_more() -> None:
    work = Work().to(VERIFY)
    work.round(BROKE)
    work.round(WRITE)
    assert work.at is VERIFY
    work.call(did(ToolClass.WRITE, "b.py"))
    assert (work.at, work.tries(VERIFY)) == (EDIT, 1)


def test_where_nothing_checks_a_failed_command_opens_the_edit_again_and_a_good_one_is_the_check() -> None:
    main = did(ToolClass.EXEC, "python main.py")
    fails = did(ToolClass.EXEC, "python main.py", failed=True)
    work = Work(UNCHECKED).to(EDIT)
    work.round(fails)
    work.round(WRITE)
    assert (work.at, work.tries(VERIFY)) == (VERIFY, 0)
    work.round(fails)
    assert (work.at, work.tries(VERIFY)) == (EDIT, 1)
    work.round(WRITE)
    work.round(fails, main)
    assert (work.at, work.tries(VERIFY)) == (SUMMARIZE, 1)


# Fallbacks


def test_a_switch_marks_the_step_as_failed_with_the_reason() -> None:
    work = Work().to(EDIT)
    evaluated = work.switch(FallbackReason.RETRIES_EXCEEDED)
    edit = work.graph.nodes["node-03"]
    assert (edit.status, edit.error, work.at) == (FAILED, "retries_exceeded", FALLBACK)
    assert evaluated.signals == (ModeSignal.BRANCH_SWITCHED,)
    assert graph_executor.pending_steps(work.run) == 1


def test_a_fallback_of_the_edit_replaces_it_and_the_check_is_next() -> None:
    work = Work(PLANNED).to(EDIT)
    work.switch()
    work.open_files = 1
    work.round(WRITE)
    assert work.at is FALLBACK, "a planned file is open"
    work.open_files = 0
    work.round(WRITE)
    edit = work.graph.nodes["node-03"]
    assert (work.at, edit.status, edit.error) == (VERIFY, SKIPPED, None)
    work.round(BROKE)
    assert (work.graph.current.id, work.status(EDIT)) == ("node-03", NodeStatus.RUNNING)
    work.done()


def test_a_fallback_of_the_check_asks_for_the_check_again_with_all_its_tries() -> None:
    work = Work(PLANNED).to(VERIFY)
    work.round(BROKE)
    work.to(VERIFY).switch(FallbackReason.VERIFY_FAIL)
    work.round(WRITE)
    assert (work.graph.current.id, work.tries(VERIFY), work.graph.progress) == ("node-04", 0, 60)
    assert work.graph.status is GraphStatus.RUNNING


@pytest.mark.parametrize("kind", [EDIT, VERIFY])
def test_a_fallback_is_taken_once_and_then_the_graph_has_failed(kind: NodeType) -> None:
    work = Work(PLANNED).to(kind)
    assert not work.switch().graph_failed
    evaluated = work.switch()
    assert (evaluated.graph_failed, evaluated.signals) == (True, (ModeSignal.RECOVERY_PENDING,))
    assert [entry.reason for entry in evaluated.entries] == ["graph_failed:no_progress"]
    assert work.graph.status is GraphStatus.FAILED
    again = work.switch()
    assert (again.graph_failed, again.signals) == (False, ())
    assert not is_active(work.run)
    assert graph_executor.pending_steps(work.run) == 0


def test_a_write_on_a_fallback_of_the_edit_asks_again_for_a_check_that_was_done() -> None:
    work = Work().to(EDIT)
    work.run = replace(work.run, graph=close_step(work.graph, "node-04", DONE))
    work.switch()
    work.call(WRITE)
    assert (work.at, work.status(VERIFY)) == (FALLBACK, PENDING)


def test_a_check_that_fails_on_a_fallback_costs_one_try_and_the_second_one_fails_the_graph() -> None:
    work = Work().to(EDIT)
    work.switch()
    work.round(BROKE)
    work.round(READ)
    assert (work.at, work.tries(FALLBACK)) == (FALLBACK, 1)
    assert work.round(BROKE).graph_failed


def test_a_fallback_that_was_taken_is_not_taken_again_when_its_step_fails_once_more() -> None:
    work = Work().to(VERIFY)
    work.switch(FallbackReason.VERIFY_FAIL)
    work.round(WRITE)
    assert work.at is VERIFY
    assert work.switch(FallbackReason.VERIFY_FAIL).graph_failed


@pytest.mark.parametrize("kind", [INSPECT, SEARCH, SUMMARIZE])
def test_a_step_that_only_serves_the_work_is_skipped_and_fails_no_graph(kind: NodeType) -> None:
    work = Work().to(kind)
    evaluated = work.switch()
    assert (work.status(kind), evaluated.graph_failed, evaluated.signals) == (SKIPPED, False, ())
    assert work.graph.status is (GraphStatus.DONE if kind is SUMMARIZE else GraphStatus.RUNNING)


def test_a_step_with_something_to_show_gets_a_fifth_more_rounds_once() -> None:
    work, rounds = Work(PLANNED).to(VERIFY), 0
    while work.at is VERIFY and rounds < 50:
        work.round(did(ToolClass.EXEC, f"ls {rounds}"))
        rounds += 1
    assert rounds == 5 + 1 + 1  # the contract's, a fifth of it, and the one that is too many
    assert work.taken == [FallbackReason.INVALID_OUTPUT]


# Pause, another graph


def test_a_paused_graph_neither_leads_nor_follows() -> None:
    work = Work().to(EDIT)
    work.run = graph_executor.pause_graph(work.run)
    before = work.graph
    assert before.status is GraphStatus.PAUSED
    assert not is_active(work.run)
    assert not graph_executor.has_pending_edit(work.run)
    assert graph_executor.pending_steps(work.run) == 0
    work.round(WRITE)
    work.gate(passed=False)
    assert work.graph == before


def test_a_done_graph_that_was_put_away_is_not_opened_again() -> None:
    work = Work().done()
    work.run = graph_executor.pause_graph(work.run)
    work.round(WRITE)
    work.gate(passed=False)
    assert work.graph.status is GraphStatus.DONE


def test_another_graph_begins_with_fresh_counters_and_takes_part_again() -> None:
    work = Work().to(EDIT)
    work.round(READ, did(ToolClass.WRITE, failed=True))
    other = build_graph(TASK, graph_id="h")
    work.run = graph_executor.with_graph(graph_executor.pause_graph(work.run), other)
    assert (work.graph.graph_id, work.graph.current.status) == ("h", NodeStatus.RUNNING)
    assert (work.run.use, work.run.paused) == (StepUse(), False)


# Counts and snapshots


def test_fallbacks_that_were_not_taken_are_no_pending_steps() -> None:
    work = Work()
    assert graph_executor.pending_steps(work.run) == 5
    work.gate(passed=True)
    assert graph_executor.pending_steps(work.run) == 0
    assert work.status(FALLBACK) is PENDING


def test_a_graph_comes_back_from_its_json_as_it_was() -> None:
    work = Work(PLANNED).to(VERIFY)
    work.round(BROKE)
    work.switch()
    assert from_json(TaskGraph, json.loads(json.dumps(to_json(work.graph)))) == work.graph


# Whatever comes

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
        error=st.sampled_from(["", "no such file"]),
        background=st.booleans(),
    ),
    st.booleans(),
)
REASONS = st.sampled_from(FallbackReason)
STEPS = st.one_of(
    st.tuples(
        st.just("round"),
        st.lists(ACTIONS, max_size=5),
        st.sampled_from(["", "step done"]),
        st.integers(0, 2),
        st.none() | REASONS,
    ),
    st.tuples(st.just("gate"), st.booleans()),
    st.tuples(st.just("switch"), REASONS),
    st.tuples(st.just("sync"), st.sampled_from(TaskPhase)),
    st.tuples(st.sampled_from(["pause", "replace", "json"])),
)


@pytest.mark.slow
@given(st.sampled_from([TASK, PLANNED, UNCHECKED]), st.lists(STEPS, max_size=40))
@settings(max_examples=150, deadline=None)
def test_whatever_comes_the_graph_stays_sound_and_only_a_rewind_lowers_progress(
    task: Task, moves: list[tuple[object, ...]]
) -> None:
    run = graph_executor.init_run(task, graph_id="g")
    for number, (name, *arguments) in enumerate(moves, 1):
        before = run.graph
        for after in stages(run, str(name), arguments, task, number):
            assert after.graph is not None
            assert find_breaches(after.graph) == []
            assert 0 <= after.graph.progress <= 100
            run = after
        assert before is not None
        assert run.graph is not None
        if run.graph.graph_id == before.graph_id:
            closed = [step for step, node in before.nodes.items() if node.status in CLOSED]
            opened = {before.nodes[step].type for step in closed if run.graph.nodes[step].status not in CLOSED}
            rewinds = name == "round" or (name == "gate" and not arguments[0])
            assert not opened or (rewinds and opened <= {EDIT, VERIFY})


def stages(run: GraphRun, name: str, arguments: Sequence[object], task: Task, number: int) -> list[GraphRun]:
    """The run after each part of one thing that happens."""
    match name, arguments:
        case "round", [list() as actions, str() as text, int() as open_files, leave]:
            runs = [run]
            for action in actions:
                runs.append(track_call(runs[-1], action, task))
            turn = Round(number, tuple(actions), text, open_files=open_files)
            reason = FallbackReason(leave) if isinstance(leave, str) else None
            return [*runs, evaluate_round(runs[-1], turn, task, leave=reason).run]
        case "gate", [bool() as passed]:
            return [evaluate_verdict(run, GateVerdict(passed)).run]
        case "switch", [FallbackReason() as reason]:
            return [force_switch(run, reason).run]
        case "sync", [TaskPhase() as phase]:
            return [sync_phase(run, phase)]
        case "pause", _:
            return [graph_executor.pause_graph(run)]
        case "replace", _:
            return [graph_executor.with_graph(run, build_graph(task, graph_id=f"g{number}"))]
        case _:
            return [from_json(GraphRun, json.loads(json.dumps(to_json(run))))]
