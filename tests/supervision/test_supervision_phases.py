"""Who leads: each row of the table in section 7.2, and what holds for any run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.config import RecoveryLimits
from phases.supervision.enums import DecisionKind, DeviationSignal, SupervisorPhase, TimelineEvent
from phases.supervision.serialization import from_json, to_json
from phases.supervision.signals import BLOCKED, HINTED, Signal
from phases.supervision.state import PhaseState
from phases.supervision.takeover import PhaseContext, PhaseDecision, compute_next, shadow_entries

FREE, TAKEOVER, PENDING, COOLDOWN = SupervisorPhase
CONTINUE, TAKE, TO_PENDING, HANDOFF, FAIL = DecisionKind
D = DeviationSignal


def signal(kind: DeviationSignal = D.TOOL_REPEAT_FAIL, value: float = 3) -> Signal:
    return Signal(kind, value, 1)


TROUBLE = PhaseContext(1, (signal(),), (signal(),))
CALM = PhaseContext(2, meaningful=True)
NOISY = replace(CALM, now=(signal(),))
LED = PhaseState(TAKEOVER, takeover_start_round=1, takeovers=1)
NEARLY = replace(LED, stable_rounds=2, effective_rounds=2)
WAITING = PhaseState(PENDING, takeover_start_round=1, stable_rounds=3, effective_rounds=3, takeovers=1)
COOLING = PhaseState(COOLDOWN, takeover_start_round=1, cooldown_remaining=3, takeovers=1, handoffs=1)


def decided(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits | None = None) -> PhaseDecision:
    return compute_next(state, context, recovery or RecoveryLimits())


def followed(contexts: Sequence[PhaseContext], recovery: RecoveryLimits | None = None) -> list[tuple[int, str]]:
    """Round and decision, of all that is not continue; and each round in which the phase changes without one."""
    state, told = PhaseState(), []
    for number, context in enumerate(contexts, 1):
        decision = decided(state, replace(context, round=number), recovery)
        if decision.kind is not CONTINUE:
            told.append((number, str(decision.kind)))
        elif decision.next.phase is not state.phase:
            told.append((number, str(decision.next.phase)))
        state = decision.next
    return told


# free: one condition


@pytest.mark.parametrize("kind", D)
@pytest.mark.parametrize("now", [True, False], ids=["of this round", "of a round before"])
def test_any_signal_that_went_on_after_a_word_and_after_kept_back_calls_is_taken_over(
    kind: DeviationSignal, now: bool
) -> None:
    live = (signal(kind),)
    decision = decided(PhaseState(), PhaseContext(1, live if now else (), live))
    assert (decision.kind, decision.reason, decision.signals) == (TAKE, f"{kind}:3", live)
    assert decision.next == LED


@pytest.mark.parametrize("stages", [[], [HINTED], [BLOCKED], [HINTED, BLOCKED]])
def test_what_was_only_told_of_or_kept_back_is_not_taken_over_yet(stages: list[int]) -> None:
    live = tuple(replace(signal(), stage=stage) for stage in stages)
    decision = decided(PhaseState(), PhaseContext(1, live, live))
    assert (decision.kind, decision.next) == (CONTINUE, PhaseState())


def test_the_reason_names_each_kind_that_is_due_once_with_its_last_number() -> None:
    early = replace(signal(D.FILE_LOOP, 4), stage=HINTED)
    live = (signal(value=3), signal(D.NO_PROGRESS, 4), early, signal(value=5))
    assert decided(PhaseState(), replace(TROUBLE, live=live)).reason == "tool_repeat_fail:5,no_progress:4"


def test_a_second_look_at_a_committed_takeover_takes_nothing_over_again() -> None:
    again = decided(decided(PhaseState(), TROUBLE).next, TROUBLE)
    assert (again.kind, again.next) == (CONTINUE, LED)


# takeover


@pytest.mark.parametrize("which", ["rounds", "tokens", "retries"])
def test_a_spent_budget_ends_a_takeover_before_anything_else(which: str) -> None:
    state = replace(LED, stable_rounds=9, effective_rounds=9)
    decision = decided(state, replace(CALM, exhausted=which))
    assert (decision.kind, decision.reason, decision.next) == (FAIL, "checkpoint", state)


@pytest.mark.parametrize("state", [PhaseState(), WAITING, COOLING], ids=["free", "pending", "cooldown"])
def test_outside_a_takeover_no_budget_counts(state: PhaseState) -> None:
    assert decided(state, replace(CALM, exhausted="rounds")).kind is not FAIL


@pytest.mark.parametrize("context", [NOISY, replace(CALM, failed_round=True)], ids=["a signal", "a failed round"])
def test_trouble_in_a_takeover_begins_the_count_of_stable_rounds_anew(context: PhaseContext) -> None:
    decision = decided(NEARLY, context)
    assert (decision.kind, decision.next) == (CONTINUE, LED)


@pytest.mark.parametrize("change", [{"check_failed": True}, {"proof": False}], ids=["a failing check", "no proof"])
def test_quiet_rounds_hand_nothing_back_while_a_check_fails_or_nothing_shows_that_the_work_got_better(
    change: dict[str, bool],
) -> None:
    decision = decided(NEARLY, replace(CALM, **change))  # type: ignore[arg-type]
    assert (decision.kind, decision.next.phase, decision.next.stable_rounds) == (CONTINUE, TAKEOVER, 3)
    assert decided(decision.next, replace(CALM, round=3)).kind is TO_PENDING


def test_a_takeover_looks_at_this_round_alone_and_does_not_count_the_one_in_which_it_begins() -> None:
    assert decided(NEARLY, replace(CALM, live=(signal(),))).kind is TO_PENDING
    assert decided(LED, replace(CALM, round=1)).next == LED


def test_stable_rounds_without_any_progress_do_not_hand_over() -> None:
    state = LED
    for number in range(2, 12):
        decision = decided(state, replace(CALM, meaningful=False, round=number))
        assert decision.kind is CONTINUE
        state = decision.next
    assert state.stable_rounds == 10
    assert decided(state, replace(CALM, round=12)).kind is TO_PENDING


# handoff_pending and cooldown


@pytest.mark.parametrize(
    ("context", "again"),
    [(NOISY, True), (replace(CALM, failed_round=True), False), (replace(CALM, check_failed=True), False)],
    ids=["a signal", "a failed round", "a failed check"],
)
def test_trouble_before_the_handback_leads_back_and_a_signal_runs_the_main_path_again(
    context: PhaseContext, again: bool
) -> None:
    decision = decided(WAITING, context)
    assert (decision.kind, decision.rerun_recovery, decision.next) == (CONTINUE, again, LED)


def test_outside_a_takeover_failures_alone_decide_nothing() -> None:
    failing = replace(CALM, failed_round=True, check_failed=True)
    assert decided(PhaseState(), failing).next == PhaseState()
    assert decided(COOLING, failing).next == replace(COOLING, cooldown_remaining=2)


def test_a_calm_round_before_the_handback_hands_back() -> None:
    decision = decided(WAITING, replace(CALM, live=(signal(),)))
    assert (decision.kind, decision.next) == (
        HANDOFF,
        replace(WAITING, phase=COOLDOWN, cooldown_remaining=3, handoffs=1),
    )


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
def test_only_a_strong_signal_ends_a_cooldown(kind: DeviationSignal, value: float, ends: bool) -> None:
    live = (signal(kind, value),)
    decision = decided(COOLING, PhaseContext(9, live, live))
    assert decision.kind is (TAKE if ends else CONTINUE)
    assert decision.next.phase is (TAKEOVER if ends else COOLDOWN)
    assert decision.next.cooldown_remaining == (0 if ends else 2)


@pytest.mark.parametrize("stage", [HINTED, BLOCKED])
def test_a_strong_signal_that_is_not_answered_by_a_takeover_yet_ends_no_cooldown(stage: int) -> None:
    live = (replace(signal(value=9), stage=stage),)
    assert decided(COOLING, PhaseContext(9, live, live)).next == replace(COOLING, cooldown_remaining=2)


@pytest.mark.parametrize(("remaining", "phase"), [(3, COOLDOWN), (2, COOLDOWN), (1, FREE), (0, FREE)])
def test_a_cooldown_counts_down_and_ends(remaining: int, phase: SupervisorPhase) -> None:
    decision = decided(replace(COOLING, cooldown_remaining=remaining), CALM)
    assert (decision.kind, decision.next.phase) == (CONTINUE, phase)
    assert decision.next.cooldown_remaining == max(0, remaining - 1)


# Whole courses


@pytest.mark.parametrize(
    ("window", "pending", "handoff", "free"), [(3, 4, 5, 8), (4, 5, 6, 9)], ids=["window 3", "window 4"]
)
def test_a_calm_takeover_is_handed_back_on_time(window: int, pending: int, handoff: int, free: int) -> None:
    told = followed([TROUBLE] + [CALM] * 9, RecoveryLimits(stability_window_rounds=window))
    assert told == [(1, "takeover"), (pending, "handoff_pending"), (handoff, "handoff"), (free, "free")]


@pytest.mark.parametrize(
    ("course", "told"),
    [
        pytest.param([CALM, NOISY, CALM, CALM, CALM], [(6, "handoff_pending")], id="a signal puts the handback off"),
        pytest.param(
            [CALM, CALM, CALM, NOISY, CALM, CALM, CALM, CALM],
            [(4, "handoff_pending"), (5, "takeover"), (8, "handoff_pending"), (9, "handoff")],
            id="a signal while the handback waits leads back",
        ),
        pytest.param([replace(CALM, meaningful=False)] * 3 + [NOISY], [], id="talk is not handed over"),
    ],
)
def test_a_takeover_with_trouble_is_handed_back_later(course: list[PhaseContext], told: list[tuple[int, str]]) -> None:
    assert followed([TROUBLE, *course])[1:] == told


# Shadow


@pytest.mark.parametrize(
    ("state", "context", "reason"),
    [
        (PhaseState(), TROUBLE, "tool_repeat_fail:3"),
        (NEARLY, CALM, "would_handoff_pending"),
        (WAITING, CALM, "would_handoff"),
        (LED, replace(CALM, exhausted="tokens"), "would_fail:checkpoint"),
        (PhaseState(), CALM, ""),
    ],
)
def test_a_virtual_machine_says_what_it_would_have_done(state: PhaseState, context: PhaseContext, reason: str) -> None:
    told = [(entry.event, entry.reason) for entry in shadow_entries(decided(state, context))]
    assert told == ([(TimelineEvent.SHADOW_DIAGNOSTIC, reason)] if reason else [])


# Any course

SIGNALS = st.lists(
    st.builds(Signal, st.sampled_from(D), st.floats(0, 9), st.integers(0, 50), stage=st.sampled_from([1, 2, 3, 3])),
    max_size=2,
).map(tuple)
CONTEXTS = st.builds(
    PhaseContext,
    st.just(0),
    SIGNALS,
    SIGNALS,
    st.booleans(),
    st.sampled_from(["", "", "", "rounds"]),
    st.booleans(),
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
        before, context = state, replace(context, round=number)
        decision = decided(state, context, recovery)
        assert decided(state, context, recovery) == decision
        state = decision.next
        assert state.phase in ALLOWED[before.phase]
        assert state.cooldown_remaining >= 0
        assert (state.cooldown_remaining == 0) or state.phase is COOLDOWN
        assert (state.takeover_start_round > 0) is (state.phase is not FREE)
        assert 0 <= state.effective_rounds <= state.stable_rounds
        assert state.takeovers - state.handoffs == (state.phase in (TAKEOVER, PENDING))
        assert state.handoffs - before.handoffs == (decision.kind is HANDOFF)
        assert state.takeovers - before.takeovers == (decision.kind is TAKE)
        assert not decision.rerun_recovery or (context.now and (before.phase, state.phase) == (PENDING, TAKEOVER))
        assert from_json(PhaseState, json.loads(json.dumps(to_json(state)))) == state
