"""What a step allows, what completes it, how a model that strays from it is led back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.enums import NodeType, OutputSignal, TaskIntent, TaskPhase, ToolClass
from phases.supervision.facts import Action, Call, CallResult, Task
from phases.supervision.graph import Escalation, Node, StepUse
from phases.supervision.graph_executor import CountedStep, count_use, signals_of
from phases.supervision.step_contracts import (
    CONTRACTS,
    LEVEL_BLOCK,
    LEVEL_HINT,
    LEVEL_NONE,
    LEVEL_SWITCH,
    NEXT,
    REMEDIES,
    ContractCheck,
    Deviation,
    FailureClass,
    Severity,
    Terms,
    check_contract,
    class_refusal,
    contract_of,
    deviation_of,
    escalate_deviation,
    failure_class,
    is_check,
    is_completed,
)

TASK = Task("goal", TaskIntent.EDIT, (), ("pytest",))
R, S, W, X, D = ToolClass.READ, ToolClass.SEARCH, ToolClass.WRITE, ToolClass.EXEC, ToolClass.DELEGATE
DRIVING = (R, S, W, X, D)


def node(kind: NodeType) -> Node:
    return Node("node-01", kind, "The step", TaskPhase.INTENT)


def call(kind: ToolClass, signature: str = "s") -> Call:
    return Call("1", "tool", kind, signature)


def asked(
    kind: NodeType, tool: ToolClass, use: StepUse | None = None, terms: Terms | None = None, task: Task = TASK
) -> ContractCheck:
    step = node(kind)
    return check_contract(step, contract_of(step, task), use or StepUse(), call(tool), terms or Terms())


# --- before a call --------------------------------------------------------------------------------------------------

TABLE = {  # what each class of call meets, in the order of DRIVING: allow, warn, warn and tolerate, block
    NodeType.INSPECT: "a a b b a",
    NodeType.SEARCH: "a a b w a",
    NodeType.READ: "a w b b w",
    NodeType.EDIT: "a a a t a",
    NodeType.VERIFY: "a a b a a",
    NodeType.SUMMARIZE: "w w b b w",
    NodeType.FALLBACK: "a a a a a",
    NodeType.DELEGATE: "a a b b a",
}
CELLS = [
    (kind, tool, {"a": "allow", "w": "warn", "t": "tolerate", "b": "block"}[cell])
    for kind, row in TABLE.items()
    for tool, cell in zip(DRIVING, row.split(), strict=True)
]


def test_every_kind_of_step_has_a_contract_that_is_not_empty() -> None:
    assert CONTRACTS.keys() == set(NodeType) == TABLE.keys()
    assert all(contract.allowed or contract.forbidden for contract in CONTRACTS.values())


@pytest.mark.parametrize(("kind", "tool", "expected"), CELLS, ids=[f"{kind}-{tool}" for kind, tool, _ in CELLS])
def test_a_call_meets_what_the_table_says(kind: NodeType, tool: ToolClass, expected: str) -> None:
    assert asked(kind, tool).action == expected.replace("tolerate", "warn")


@pytest.mark.parametrize(("kind", "tool", "expected"), CELLS, ids=[f"{kind}-{tool}" for kind, tool, _ in CELLS])
def test_strict_blocks_what_would_be_warned_of(kind: NodeType, tool: ToolClass, expected: str) -> None:
    strict = {"allow": "allow", "tolerate": "warn"}.get(expected, "block")
    assert asked(kind, tool, terms=Terms(strict=True)).action == strict
    assert asked(kind, tool, terms=Terms(blocking=True)).action == ("allow" if expected == "allow" else "block")


@pytest.mark.parametrize("terms", [Terms(), Terms(strict=True), Terms(blocking=True)], ids=["", "strict", "blocking"])
@pytest.mark.parametrize("like", [False, True], ids=["a check", "with more around it"])
@pytest.mark.parametrize("kind", list(NodeType))
def test_a_check_belongs_to_every_step_in_every_mode(kind: NodeType, like: bool, terms: Terms) -> None:
    step, checks = node(kind), replace(call(X), verify=not like, like_check=like)
    spent = StepUse(calls=99, last_signature="s", same_calls=9)
    assert check_contract(step, contract_of(step, TASK), spent, checks, terms) == ContractCheck("allow")
    assert class_refusal(kind, checks, Terms()) == ""


@pytest.mark.parametrize("kind", [NodeType.VERIFY, NodeType.SUMMARIZE])
@pytest.mark.parametrize(
    ("terms", "expected"),
    [(Terms(strict=True), "block"), (Terms(True, mending=True), "allow"), (Terms(True, True, unchecked=True), "allow")],
    ids=["checks stand", "a check failed", "there is no check"],
)
def test_code_is_written_after_the_edit_step_where_a_fix_is_wanted_or_nothing_checks(
    kind: NodeType, terms: Terms, expected: str
) -> None:
    assert asked(kind, W, terms=terms).action == expected
    assert bool(class_refusal(kind, call(W), terms)) == (expected == "block")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(NodeType.INSPECT, "block"), (NodeType.EDIT, "allow"), (NodeType.SUMMARIZE, "allow"), (NodeType.VERIFY, "allow")],
)
def test_where_the_plan_has_no_checks_a_command_is_one_once_code_is_written(kind: NodeType, expected: str) -> None:
    assert asked(kind, X, terms=Terms(strict=True, unchecked=True)).action == expected


def test_what_says_that_the_work_is_right_is_a_check() -> None:
    without = replace(TASK, verify_commands=())
    assert [is_check(call(X), task) for task in (TASK, without)] == [False, True]
    assert is_check(replace(call(X), verify=True), TASK)
    assert is_check(replace(call(X), like_check=True), TASK)
    assert not is_check(call(W), without)


@pytest.mark.parametrize(("kind", "counted"), [(NodeType.SEARCH, S), (NodeType.EDIT, S), (NodeType.DELEGATE, D)])
def test_to_delegate_is_to_search_where_searching_belongs_to_the_step(kind: NodeType, counted: ToolClass) -> None:
    step = node(kind)
    use = count_use(
        StepUse(), Action(call(D), CallResult(True)), CountedStep(kind, contract_of(step, TASK), checks=False)
    )
    assert use.round_calls == (counted,)
    assert deviation_of(step, contract_of(step, TASK), use) is Deviation.NONE
    assert is_completed(step, contract_of(step, TASK), use, 0) == (kind is not NodeType.EDIT)


def test_a_search_for_tests_may_run_them() -> None:
    assert asked(NodeType.SEARCH, X, task=replace(TASK, intent=TaskIntent.TEST)).action == "allow"


@pytest.mark.parametrize("kind", list(NodeType))
def test_a_neutral_call_is_free_of_every_contract(kind: NodeType) -> None:
    assert asked(kind, ToolClass.NEUTRAL, terms=Terms(True, True)) == ContractCheck("allow")
    assert class_refusal(kind, call(ToolClass.NEUTRAL), Terms()) == ""


def test_the_same_call_is_warned_of_the_sixth_time_and_another_is_not() -> None:
    assert asked(NodeType.EDIT, R, StepUse(last_signature="s", same_calls=4)).action == "allow"
    assert asked(NodeType.EDIT, R, StepUse(last_signature="s", same_calls=5)).action == "warn"
    assert asked(NodeType.EDIT, R, StepUse(last_signature="t", same_calls=9)).action == "allow"


def test_a_step_that_had_its_calls_warns() -> None:
    assert asked(NodeType.SEARCH, R, StepUse(calls=5)).action == "allow"
    assert asked(NodeType.SEARCH, R, StepUse(calls=6)).text == (
        "The step 'The step' has had its 6 calls. Read or search something that the work needs."
    )


def test_a_block_says_why_and_what_to_do_instead() -> None:
    assert asked(NodeType.VERIFY, W).text == (
        "Writing files is not part of the step 'The step' (verify). "
        "Run the verify commands; where one fails, the edit step opens again."
    )
    assert all(NEXT[kind] for kind in NodeType)


@pytest.mark.parametrize(("kind", "tool", "expected"), CELLS, ids=[f"{kind}-{tool}" for kind, tool, _ in CELLS])
def test_the_queue_of_steps_refuses_what_is_forbidden_alone(kind: NodeType, tool: ToolClass, expected: str) -> None:
    assert bool(class_refusal(kind, call(tool), Terms())) == (expected == "block")


# --- what completes a step ------------------------------------------------------------------------------------------


def test_more_planned_files_are_worth_more_rounds() -> None:
    task = replace(TASK, planned_files=tuple(str(index) for index in range(23)))
    edit = contract_of(node(NodeType.EDIT), task)
    assert (edit.max_rounds, edit.max_calls) == (8 + 46, 12 + 46)
    assert contract_of(node(NodeType.SEARCH), task) == CONTRACTS[NodeType.SEARCH]


G = OutputSignal


@pytest.mark.parametrize(
    ("kind", "use", "open_files", "said", "expected"),
    [
        (NodeType.INSPECT, StepUse(calls=3), 0, False, False),
        (NodeType.INSPECT, StepUse(), 0, True, True),
        (NodeType.SEARCH, StepUse(calls=1), 0, True, False),
        (NodeType.SEARCH, StepUse(calls=1, signals=(G.SEARCH_COMPLETED,)), 9, False, True),
        (NodeType.SEARCH, StepUse(calls=0, signals=(G.FILE_READ,)), 0, False, False),
        (NodeType.EDIT, StepUse(calls=1, signals=(G.FILE_WRITTEN,)), 0, False, True),
        (NodeType.EDIT, StepUse(calls=1, signals=(G.FILE_WRITTEN,)), 1, True, False),
        (NodeType.EDIT, StepUse(calls=1, signals=(G.FILE_READ,)), 0, True, False),
        (NodeType.VERIFY, StepUse(calls=1, signals=(G.COMMAND_EXECUTED,)), 0, False, False),
        (NodeType.VERIFY, StepUse(calls=1, signals=(G.VERIFICATION_DONE,)), 0, False, True),
        (NodeType.SUMMARIZE, StepUse(), 0, True, False),
        (NodeType.SUMMARIZE, StepUse(signals=(G.SUMMARY_GENERATED,)), 0, False, True),
        (NodeType.FALLBACK, StepUse(calls=1, signals=(G.TEST_PASSED,)), 0, False, True),
        (NodeType.FALLBACK, StepUse(calls=1, signals=(G.FILE_WRITTEN,)), 1, False, False),
        (NodeType.DELEGATE, StepUse(calls=1, signals=(G.DELEGATE_DONE,)), 0, False, True),
        (NodeType.DELEGATE, StepUse(calls=3, reads=3), 0, False, True),
        (NodeType.DELEGATE, StepUse(calls=3, reads=2), 0, False, False),
    ],
)
def test_a_step_is_done_when_it_has_what_it_takes(
    kind: NodeType, use: StepUse, open_files: int, said: bool, expected: bool
) -> None:
    step = node(kind)
    assert is_completed(step, contract_of(step, TASK), use, open_files, said_done=said) == expected


def test_where_no_check_is_known_a_command_that_ends_well_is_one() -> None:
    step = node(NodeType.VERIFY)
    ran = StepUse(calls=1, signals=(G.COMMAND_EXECUTED,))
    assert is_completed(step, contract_of(step, replace(TASK, verify_commands=())), ran, 0)
    assert not is_completed(step, contract_of(step, TASK), ran, 0)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Action(call(R), CallResult(True)), {G.FILE_READ}),
        (Action(call(S), CallResult(True)), {G.SEARCH_COMPLETED}),
        (Action(call(W), CallResult(True)), {G.FILE_WRITTEN}),
        (Action(call(W), CallResult(True, changed=("a",))), {G.FILE_WRITTEN, G.FILE_CHANGED}),
        (Action(call(X), CallResult(True)), {G.COMMAND_EXECUTED}),
        (Action(replace(call(X), verify=True), CallResult(True)), {G.COMMAND_EXECUTED, G.VERIFICATION_DONE}),
        (
            Action(replace(call(X), verify=True), CallResult(True), verified=True),
            {G.COMMAND_EXECUTED, G.VERIFICATION_DONE, G.TEST_PASSED},
        ),
        (Action(call(X), CallResult(True, background=True)), set()),
        (Action(call(D), CallResult(True)), {G.DELEGATE_DONE, G.SEARCH_COMPLETED}),
        (Action(call(W), CallResult(True, failed=True)), set()),
        (Action(call(W), CallResult(False)), set()),
        (Action(call(ToolClass.NEUTRAL), CallResult(True)), set()),
    ],
)
def test_a_call_brings_about_its_signals(action: Action, expected: set[OutputSignal]) -> None:
    assert set(signals_of(action)) == expected


# --- deviation and escalation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "use", "expected"),
    [
        (NodeType.EDIT, StepUse(), Deviation.NONE),
        (NodeType.EDIT, StepUse(round_calls=(X,)), Deviation.NONE),
        (NodeType.SEARCH, StepUse(round_calls=(X,)), Deviation.TOOL_MISMATCH),
        (NodeType.EDIT, StepUse(round_calls=(X,), round_checks=1), Deviation.NONE),
        (NodeType.INSPECT, StepUse(round_calls=(X,), round_checks=1), Deviation.NONE),
        (NodeType.EDIT, StepUse(round_calls=(X, W)), Deviation.NONE),
        (NodeType.EDIT, StepUse(round_calls=(R, S), reads_since_write=4), Deviation.SCOPE_CREEP),
        (NodeType.EDIT, StepUse(round_calls=(R, S), reads_since_write=3), Deviation.NONE),
        (NodeType.EDIT, StepUse(round_calls=(R, W), reads_since_write=4), Deviation.NONE),
        (NodeType.SEARCH, StepUse(round_calls=(R,), reads_since_write=9), Deviation.NONE),
        (NodeType.EDIT, StepUse(round_calls=(R,), away_rounds=2), Deviation.NONE),
        (NodeType.EDIT, StepUse(round_calls=(R,), away_rounds=3), Deviation.PHASE_MISMATCH),
        (NodeType.VERIFY, StepUse(round_calls=(R,), away_rounds=3), Deviation.PHASE_MISMATCH),
        (NodeType.SEARCH, StepUse(round_calls=(R,), away_rounds=9), Deviation.NONE),
        (NodeType.SUMMARIZE, StepUse(round_calls=(R,)), Deviation.TOOL_MISMATCH),
    ],
)
def test_a_round_deviates_as_the_text_says(kind: NodeType, use: StepUse, expected: Deviation) -> None:
    step = node(kind)
    assert deviation_of(step, contract_of(step, TASK), use) is expected


def actions_of(*severities: Severity) -> list[int]:
    state, actions = Escalation(), []
    for severity in severities:
        state, action = escalate_deviation(state, severity)
        actions.append(action)
    return actions


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        ([Severity.NONE] * 20, [LEVEL_NONE] * 20),
        ([Severity.SOFT] * 5, [LEVEL_NONE, LEVEL_HINT, LEVEL_HINT, LEVEL_BLOCK, LEVEL_SWITCH]),
        ([Severity.HARD] * 3, [LEVEL_HINT, LEVEL_BLOCK, LEVEL_SWITCH]),
        ([Severity.CRITICAL] * 2, [LEVEL_BLOCK, LEVEL_SWITCH]),
        ([Severity.SOFT, Severity.NONE, Severity.SOFT, Severity.NONE], [LEVEL_NONE] * 4),
        ([Severity.HARD, Severity.NONE, Severity.HARD], [LEVEL_HINT, LEVEL_NONE, LEVEL_HINT]),
    ],
    ids=["clean", "soft", "hard", "critical", "soft now and then", "hard now and then"],
)
def test_a_deviation_escalates_step_by_step(severities: list[Severity], expected: list[int]) -> None:
    assert actions_of(*severities) == expected


def test_a_clean_round_takes_one_level_back_and_forgets_no_hint() -> None:
    once = Escalation(1, 0, 2, 1, False)
    assert escalate_deviation(Escalation(2, 3, 2, 1, True), Severity.NONE) == (once, LEVEL_NONE)
    assert escalate_deviation(once, Severity.NONE) == (Escalation(0, 0, 2, 1, False), LEVEL_NONE)


def test_after_a_switch_the_level_is_zero() -> None:
    assert escalate_deviation(Escalation(2, 0, 2, 1, True), Severity.HARD) == (Escalation(level=0), LEVEL_SWITCH)


@pytest.mark.parametrize(
    ("failure", "action"),
    [
        (FailureClass.REPO_MISMATCH, LEVEL_BLOCK),
        (FailureClass.BRANCH_EXHAUSTED, LEVEL_SWITCH),
        (FailureClass.NOT_FOUND, LEVEL_NONE),
    ],
    ids=["degraded", "fatal", "neither"],
)
def test_a_grave_failure_asks_for_a_level_by_itself(failure: FailureClass, action: int) -> None:
    assert escalate_deviation(Escalation(), Severity.NONE, failure)[1] == action


@pytest.mark.parametrize(
    ("error", "verify", "expected"),
    [
        ("grep: a.py: No such file", False, FailureClass.NOT_FOUND),
        ("Permission denied", False, FailureClass.PERMISSION),
        ("the command timed out", True, FailureClass.TIMEOUT),
        ("ModuleNotFoundError: No module named 'x'", False, FailureClass.CONTEXT_MISSING),
        ("exit 1: no such file", True, FailureClass.VERIFICATION_FAIL),
        ("exit 1", False, FailureClass.TOOL_ERROR),
    ],
)
def test_a_failure_is_classed_by_what_it_says(error: str, verify: bool, expected: FailureClass) -> None:
    action = Action(replace(call(X), verify=verify), CallResult(True, failed=True, error=error))
    assert failure_class(action) is expected


def test_what_did_not_fail_has_no_class() -> None:
    assert failure_class(Action(call(X), CallResult(True))) is None
    assert failure_class(Action(call(X), CallResult(False, failed=True))) is None
    assert REMEDIES.keys() == set(FailureClass)


@given(st.lists(st.tuples(st.sampled_from(Severity), st.none() | st.sampled_from(FailureClass)), max_size=60))
@settings(max_examples=100, deadline=None)
def test_whatever_comes_the_escalation_stays_within_its_levels(
    rows: list[tuple[Severity, FailureClass | None]],
) -> None:
    state = Escalation()
    for severity, failure in rows:
        state, action = escalate_deviation(state, severity, failure)
        assert -1 <= state.level <= 2
        assert state.hints <= 2
        assert state.blocks <= 1
        assert action in (LEVEL_NONE, LEVEL_HINT, LEVEL_BLOCK, LEVEL_SWITCH)
        assert action == LEVEL_NONE or severity is not Severity.NONE or failure is not None
