"""Who leads: each row of the table in section 7.2, and what holds for any run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.config import AdaptiveFree, RecoveryLimits
from phases.supervision.enums import (
    DecisionKind,
    DeviationSignal,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)
from phases.supervision.l2_phases import PhaseContext, PhaseDecision, PhaseState, compute_next, shadow_entries
from phases.supervision.serialization import from_json, to_json
from phases.supervision.signals import Signal

FREE, TAKEOVER, PENDING, COOLDOWN = SupervisorPhase
CONTINUE, TAKE, TO_PENDING, HANDOFF, FAIL = DecisionKind
D = DeviationSignal
ADAPTIVE = SupervisorMode.ADAPTIVE


def signal(kind: DeviationSignal = D.TOOL_REPEAT_FAIL, value: float = 3) -> Signal:
    return Signal(kind, value, 1)


RISKY = PhaseContext(ADAPTIVE, True, 0.7, 1, (signal(),), (signal(),))
CALM = PhaseContext(ADAPTIVE, True, 0.7, 2, meaningful=True)
LED = PhaseState(TAKEOVER, takeover_start_round=1, takeovers=1)
WAITING = PhaseState(PENDING, takeover_start_round=1, stable_rounds=3, effective_rounds=3, takeovers=1)
COOLING = PhaseState(COOLDOWN, takeover_start_round=1, cooldown_remaining=3, takeovers=1, handoffs=1)


def decided(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits | None = None) -> PhaseDecision:
    return compute_next(state, context, AdaptiveFree(), recovery or RecoveryLimits())


def followed(contexts: Sequence[PhaseContext], recovery: RecoveryLimits | None = None) -> list[tuple[int, str]]:
    """Round and decision, of all that is not continue; and each round in which the phase is free again."""
    state, told = PhaseState(), []
    for number, context in enumerate(contexts, 1):
        decision = decided(state, replace(context, round=number), recovery)
        after = decision.next
        if decision.kind is not CONTINUE:
            told.append((number, str(decision.kind)))
        elif after.phase is not state.phase:
            told.append((number, str(after.phase)))
        state = after
    return told


# free


def test_scenario_32_danger_in_a_critical_task_is_taken_over() -> None:
    decision = decided(PhaseState(), RISKY)
    assert (decision.kind, decision.reason, decision.signals) == (TAKE, "tool_repeat_fail:3", RISKY.live)
    assert decision.next == LED


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"critical": False}, id="not critical"),
        pytest.param({"risk_score": 0.59}, id="little risk"),
        pytest.param({"live": (), "now": ()}, id="no signal"),
        pytest.param({"mode": SupervisorMode.STRICT}, id="strict"),
        pytest.param({"mode": SupervisorMode.OFF}, id="off"),
    ],
)
def test_scenario_32_without_any_one_condition_the_run_goes_on(change: dict[str, object]) -> None:
    decision = decided(PhaseState(), replace(RISKY, **change))  # type: ignore[arg-type]
    assert (decision.kind, decision.next) == (CONTINUE, PhaseState())


def test_the_threshold_itself_is_risk_enough() -> None:
    assert decided(PhaseState(), replace(RISKY, risk_score=0.6)).kind is TAKE


def test_free_looks_at_signals_that_are_still_live_not_at_this_round_alone() -> None:
    assert decided(PhaseState(), replace(RISKY, now=())).kind is TAKE


@pytest.mark.parametrize(("critical", "kind"), [(True, TAKE), (False, CONTINUE)])
def test_a_user_who_wants_a_takeover_needs_no_risk_but_a_critical_task(critical: bool, kind: DecisionKind) -> None:
    asked = (signal(D.USER_FORCE_TAKEOVER, 1),)
    assert decided(PhaseState(), replace(RISKY, risk_score=0.0, critical=critical, now=asked, live=asked)).kind is kind


def test_the_reason_names_each_kind_once_with_its_last_number() -> None:
    live = (signal(value=3), signal(D.NO_PROGRESS, 4), signal(value=5))
    assert decided(PhaseState(), replace(RISKY, live=live)).reason == "tool_repeat_fail:5,no_progress:4"


def test_a_second_look_at_a_committed_takeover_takes_nothing_over_again() -> None:
    """Scenario 33, the decision: one text for one takeover."""
    state = decided(PhaseState(), RISKY).next
    again = decided(state, RISKY)
    assert (state.phase, again.kind, again.next.takeovers) == (TAKEOVER, CONTINUE, 1)


# takeover


@pytest.mark.parametrize("which", ["rounds", "tokens", "retries"])
def test_a_spent_budget_ends_a_takeover_before_anything_else(which: str) -> None:
    decision = decided(replace(LED, stable_rounds=9, effective_rounds=9), replace(CALM, exhausted=which))
    assert (decision.kind, decision.reason) == (FAIL, "checkpoint")
    assert decision.next == replace(LED, stable_rounds=9, effective_rounds=9)


def test_scenario_39_outside_a_takeover_no_budget_counts() -> None:
    for state in (PhaseState(), WAITING, COOLING):
        assert decided(state, replace(CALM, exhausted="rounds")).kind is not FAIL


def test_a_signal_in_a_takeover_begins_the_count_of_stable_rounds_anew() -> None:
    decision = decided(replace(LED, stable_rounds=2, effective_rounds=2), replace(CALM, now=(signal(),)))
    assert (decision.kind, decision.next) == (CONTINUE, LED)


def test_a_failed_round_in_a_takeover_begins_the_count_anew_without_any_signal() -> None:
    decision = decided(replace(LED, stable_rounds=2, effective_rounds=2), replace(CALM, failed_round=True))
    assert (decision.kind, decision.next) == (CONTINUE, LED)


def test_nothing_is_stable_while_a_check_is_known_to_fail() -> None:
    state, failing = replace(LED, stable_rounds=2, effective_rounds=2), replace(CALM, check_failed=True)
    decision = decided(state, failing)
    assert (decision.kind, decision.next.phase, decision.next.stable_rounds) == (CONTINUE, TAKEOVER, 3)
    assert decided(decision.next, replace(CALM, round=3)).kind is TO_PENDING


def test_a_takeover_looks_at_this_round_alone() -> None:
    decision = decided(replace(LED, stable_rounds=2, effective_rounds=2), replace(CALM, live=(signal(),)))
    assert decision.kind is TO_PENDING


def test_the_round_in_which_a_takeover_begins_is_not_counted() -> None:
    assert decided(LED, replace(CALM, round=1)).next == LED


def test_stable_rounds_without_any_progress_do_not_hand_over() -> None:
    idle = replace(CALM, meaningful=False)
    state = LED
    for number in range(2, 12):
        decision = decided(state, replace(idle, round=number))
        assert decision.kind is CONTINUE
        state = decision.next
    assert state.stable_rounds == 10
    assert decided(state, replace(CALM, round=12)).kind is TO_PENDING


def test_scenario_35_three_rounds_of_talk_are_not_handed_over() -> None:
    talk = replace(CALM, meaningful=False)
    stuck = replace(talk, now=(signal(D.NO_PROGRESS, 4),), live=(signal(D.NO_PROGRESS, 4),))
    assert followed([RISKY, talk, talk, talk, stuck]) == [(1, "takeover")]


# handoff_pending and cooldown


def test_a_signal_before_the_handback_leads_back_and_the_main_path_runs_again() -> None:
    decision = decided(WAITING, replace(CALM, now=(signal(),)))
    assert (decision.kind, decision.rerun_recovery, decision.next) == (CONTINUE, True, LED)


@pytest.mark.parametrize(
    "change", [{"failed_round": True}, {"check_failed": True}], ids=["a failed round", "a failed check"]
)
def test_a_failure_before_the_handback_leads_back_on_the_same_graph(change: dict[str, bool]) -> None:
    decision = decided(WAITING, replace(CALM, **change))  # type: ignore[arg-type]
    assert (decision.kind, decision.rerun_recovery, decision.next) == (CONTINUE, False, LED)


def test_outside_a_takeover_failures_alone_decide_nothing() -> None:
    failing = replace(CALM, failed_round=True, check_failed=True)
    assert decided(PhaseState(), failing).next == PhaseState()
    assert decided(COOLING, failing).next == replace(COOLING, cooldown_remaining=2)


def test_a_calm_round_before_the_handback_hands_back() -> None:
    decision = decided(WAITING, replace(CALM, live=(signal(),)))
    assert (decision.kind, decision.next.phase, decision.next.cooldown_remaining) == (HANDOFF, COOLDOWN, 3)
    assert decision.next.handoffs == 1


@pytest.mark.parametrize(
    ("kind", "value", "ends"),
    [
        (D.TOOL_REPEAT_FAIL, 4, False),
        (D.TOOL_REPEAT_FAIL, 5, True),
        (D.NO_PROGRESS, 5, False),
        (D.NO_PROGRESS, 6, True),
        (D.USER_FORCE_TAKEOVER, 1, True),
        (D.FILE_LOOP, 99, False),
        (D.CYCLE, 99, False),
    ],
)
def test_scenario_36_only_a_strong_signal_ends_a_cooldown(kind: DeviationSignal, value: float, ends: bool) -> None:
    live = (signal(kind, value),)
    decision = decided(COOLING, replace(RISKY, round=9, now=live, live=live))
    assert decision.kind is (TAKE if ends else CONTINUE)
    assert decision.next.phase is (TAKEOVER if ends else COOLDOWN)
    assert decision.next.cooldown_remaining == (0 if ends else 2)


def test_scenario_36_a_strong_signal_without_the_other_conditions_leaves_the_run_free() -> None:
    live = (signal(value=5),)
    decision = decided(COOLING, replace(RISKY, critical=False, live=live))
    assert (decision.kind, decision.next) == (CONTINUE, PhaseState(takeovers=1, handoffs=1))


@pytest.mark.parametrize(("remaining", "phase"), [(3, COOLDOWN), (2, COOLDOWN), (1, FREE), (0, FREE)])
def test_a_cooldown_counts_down_and_ends(remaining: int, phase: SupervisorPhase) -> None:
    decision = decided(replace(COOLING, cooldown_remaining=remaining), CALM)
    assert (decision.kind, decision.next.phase) == (CONTINUE, phase)
    assert decision.next.cooldown_remaining == max(0, remaining - 1)


# Whole courses (scenario 34)


@pytest.mark.parametrize(
    ("window", "pending", "handoff", "free"), [(3, 4, 5, 8), (4, 5, 6, 9)], ids=["window 3", "window 4"]
)
def test_scenario_34_a_calm_takeover_is_handed_back_on_time(window: int, pending: int, handoff: int, free: int) -> None:
    told = followed([RISKY] + [CALM] * 9, RecoveryLimits(stability_window_rounds=window))
    assert told == [(1, "takeover"), (pending, "handoff_pending"), (handoff, "handoff"), (free, "free")]


def test_scenario_34_a_signal_in_the_third_round_puts_the_handback_off() -> None:
    noisy = replace(CALM, now=(signal(),))
    assert followed([RISKY, CALM, noisy, CALM, CALM, CALM])[-1] == (6, "handoff_pending")


def test_scenario_34_a_signal_while_the_handback_waits_leads_back_to_takeover() -> None:
    noisy = replace(CALM, now=(signal(),))
    told = followed([RISKY, CALM, CALM, CALM, noisy, CALM, CALM, CALM, CALM])
    assert told[1:] == [(4, "handoff_pending"), (5, "takeover"), (8, "handoff_pending"), (9, "handoff")]


@pytest.mark.parametrize(
    "state", [PhaseState(), LED, WAITING, COOLING], ids=["free", "takeover", "pending", "cooldown"]
)
@pytest.mark.parametrize("mode", [SupervisorMode.OFF, SupervisorMode.STRICT], ids=str)
def test_off_and_strict_always_go_on_as_they_are(mode: SupervisorMode, state: PhaseState) -> None:
    decision = decided(state, replace(RISKY, mode=mode, exhausted="rounds"))
    assert decision == PhaseDecision(CONTINUE, next=state)


# Shadow (scenario 41)


def test_scenario_41_a_virtual_machine_says_what_it_would_have_done_and_changes_nothing() -> None:
    virtual, told = PhaseState(), []
    for number in range(1, 9):
        decision = decided(virtual, replace(RISKY if number == 1 else CALM, round=number))
        virtual = decision.next
        told += [(number, entry.event, entry.reason) for entry in shadow_entries(decision)]
    event = TimelineEvent.SHADOW_DIAGNOSTIC
    assert told == [
        (1, event, "tool_repeat_fail:3"),
        (4, event, "would_handoff_pending"),
        (5, event, "would_handoff"),
    ]


def test_a_shadow_says_which_failure_it_would_have_been() -> None:
    entries = shadow_entries(decided(LED, replace(CALM, exhausted="tokens")))
    assert [entry.reason for entry in entries] == ["would_fail:checkpoint"]


# Any course

SIGNALS = st.lists(st.builds(Signal, st.sampled_from(D), st.floats(0, 9), st.integers(0, 50)), max_size=2).map(tuple)
CONTEXTS = st.builds(
    PhaseContext,
    st.sampled_from([ADAPTIVE, ADAPTIVE, ADAPTIVE, SupervisorMode.STRICT]),
    st.sampled_from([True, True, False]),
    st.floats(0, 1),
    st.just(0),
    SIGNALS,
    SIGNALS,
    st.booleans(),
    st.sampled_from(["", "", "", "rounds"]),
    st.booleans(),
    st.booleans(),
)
RECOVERIES = st.builds(
    RecoveryLimits, stability_window_rounds=st.integers(0, 4), handoff_cooldown_rounds=st.integers(0, 4)
)
ALLOWED = {
    FREE: {FREE, TAKEOVER},
    TAKEOVER: {TAKEOVER, PENDING},
    PENDING: {TAKEOVER, COOLDOWN},
    COOLDOWN: {COOLDOWN, FREE, TAKEOVER},
}


@pytest.mark.slow
@given(st.lists(CONTEXTS, max_size=40), RECOVERIES)
@settings(max_examples=100, deadline=None)
def test_whatever_happens_the_machine_keeps_its_invariants(
    contexts: list[PhaseContext], recovery: RecoveryLimits
) -> None:
    state = PhaseState()
    for number, context in enumerate(contexts, 1):
        context = replace(context, round=number)
        before = state
        decision = decided(state, context, recovery)
        assert decided(state, context, recovery) == decision
        assert state == before
        state = decision.next
        assert state.phase in ALLOWED[before.phase] or context.mode is not ADAPTIVE
        assert state.cooldown_remaining >= 0
        assert (state.cooldown_remaining == 0) or state.phase is COOLDOWN
        assert (state.takeover_start_round > 0) is (state.phase is not FREE)
        assert 0 <= state.effective_rounds <= state.stable_rounds
        assert state.takeovers - state.handoffs == (state.phase in (TAKEOVER, PENDING))
        assert state.handoffs - before.handoffs == (decision.kind is HANDOFF)
        assert state.takeovers - before.takeovers == (decision.kind is TAKE)
        assert not decision.rerun_recovery or (context.now and (before.phase, state.phase) == (PENDING, TAKEOVER))
        assert from_json(PhaseState, json.loads(json.dumps(to_json(state)))) == state
