"""Decide for L2 who leads: the phases, their transitions and the budget of a takeover (section 7.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from phases.supervision.config import RecoveryLimits
from phases.supervision.effects import TimelineEntry
from phases.supervision.enums import (
    DecisionKind,
    ProgressClass,
    SupervisorPhase,
    TimelineEvent,
)
from phases.supervision.facts import Round
from phases.supervision.signals import SIGNALS, TOLD, Signal

CHECKPOINT = "checkpoint"


@dataclass(frozen=True)
class PhaseState:
    phase: SupervisorPhase = SupervisorPhase.FREE
    takeover_start_round: int = 0
    stable_rounds: int = 0
    """Consecutive rounds of the takeover without a signal."""
    effective_rounds: int = 0
    """Stable rounds with meaningful progress."""
    cooldown_remaining: int = 0
    takeovers: int = 0
    handoffs: int = 0


@dataclass(frozen=True)
class PhaseContext:
    round: int
    now: tuple[Signal, ...] = ()
    """Signals of this round: takeover and handoff_pending decide by them."""
    live: tuple[Signal, ...] = ()
    """Signals that are not too old: free and cooldown decide by them."""
    meaningful: bool = False
    """This round made meaningful progress."""
    exhausted: str = ""
    """The recovery budget that is spent: rounds, tokens or retries; empty if none is."""
    failed_round: bool = False
    """Every call of this round failed, or was kept back."""
    check_failed: bool = False
    """The last check, or the completion gate, is known to have failed."""
    proof: bool = True
    """In this takeover a check passed, or a planned file became sound: quiet rounds alone prove nothing."""


@dataclass(frozen=True)
class PhaseDecision:
    """What L2 decides, and the state that follows once it is committed."""

    kind: DecisionKind
    reason: str = ""
    """For a takeover its signals, `tool_repeat_fail:3,no_progress:4`; for fail, `checkpoint`."""
    signals: tuple[Signal, ...] = ()
    rerun_recovery: bool = False
    """A signal led back from handoff_pending to takeover: the recovery main path runs again."""
    next: PhaseState = field(default_factory=PhaseState)


def compute_next(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits) -> PhaseDecision:
    """Return the decision of the table of section 7.2, the first row that applies."""
    if state.phase is SupervisorPhase.TAKEOVER:
        return _in_takeover(state, context, recovery)
    if state.phase is SupervisorPhase.HANDOFF_PENDING:
        return _in_handoff_pending(state, context, recovery)
    if state.phase is SupervisorPhase.COOLDOWN:
        return _in_cooldown(state, context)
    return _in_free(state, context)


def shadow_entries(decision: PhaseDecision) -> tuple[TimelineEntry, ...]:
    """Return the log line of a decision of the virtual machine."""
    if decision.kind is DecisionKind.CONTINUE:
        return ()
    named = {DecisionKind.TAKEOVER: decision.reason, DecisionKind.FAIL: f"would_fail:{decision.reason}"}
    reason = named.get(decision.kind, f"would_{decision.kind}")
    return (TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, reason),)


def _stay_in(state: PhaseState) -> PhaseDecision:
    return PhaseDecision(DecisionKind.CONTINUE, next=state)


def _in_free(state: PhaseState, context: PhaseContext) -> PhaseDecision:
    # decision 428: one condition. A hint and refused calls come before a takeover.
    due = tuple(signal for signal in context.live if signal.stage >= TOLD)
    if not due:
        return _stay_in(state)
    # The last of each kind is enough: the list may hold three of one.
    latest = {signal.kind: signal for signal in due}
    reason = ",".join(signal.reason for signal in latest.values())
    begun = PhaseState(
        phase=SupervisorPhase.TAKEOVER,
        takeover_start_round=context.round,
        takeovers=state.takeovers + 1,
        handoffs=state.handoffs,
    )
    return PhaseDecision(DecisionKind.TAKEOVER, reason=reason, signals=tuple(latest.values()), next=begun)


def _in_takeover(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits) -> PhaseDecision:
    if context.exhausted:
        return PhaseDecision(DecisionKind.FAIL, reason=CHECKPOINT, next=state)
    if context.now or context.failed_round:
        return _stay_in(replace(state, stable_rounds=0, effective_rounds=0))
    # The round that began the takeover was not led, so it does not count as stable.
    if context.round == state.takeover_start_round:
        return _stay_in(state)
    counted = replace(
        state, stable_rounds=state.stable_rounds + 1, effective_rounds=state.effective_rounds + context.meaningful
    )
    # Quiet rounds without progress are not enough: a model that only talks is stable too.
    stable = counted.stable_rounds >= recovery.stability_window_rounds and counted.effective_rounds >= 1
    if stable and context.proof and not context.check_failed:
        return PhaseDecision(DecisionKind.HANDOFF_PENDING, next=replace(counted, phase=SupervisorPhase.HANDOFF_PENDING))
    return _stay_in(counted)


def _in_handoff_pending(state: PhaseState, context: PhaseContext, recovery: RecoveryLimits) -> PhaseDecision:
    if context.now or context.failed_round or context.check_failed:
        back = replace(state, phase=SupervisorPhase.TAKEOVER, stable_rounds=0, effective_rounds=0)
        return PhaseDecision(DecisionKind.CONTINUE, rerun_recovery=bool(context.now), next=back)
    handed = replace(
        state,
        phase=SupervisorPhase.COOLDOWN,
        cooldown_remaining=recovery.handoff_cooldown_rounds,
        handoffs=state.handoffs + 1,
    )
    return PhaseDecision(DecisionKind.HANDOFF, next=handed)


def _in_cooldown(state: PhaseState, context: PhaseContext) -> PhaseDecision:
    released = PhaseState(takeovers=state.takeovers, handoffs=state.handoffs)
    if any(signal.value >= SIGNALS[signal.kind].strong_from and signal.stage >= TOLD for signal in context.live):
        return _in_free(released, context)
    left = state.cooldown_remaining - 1
    return _stay_in(replace(state, cooldown_remaining=left) if left > 0 else released)


ROUNDS, TOKENS, RETRIES = "rounds", "tokens", "retries"
_RECENT_ROUNDS = 5
_CHEAP = 0.1
_MOST_SIGNATURES = 50


@dataclass(frozen=True)
class RecoveryBudget:
    """Resources spent in one takeover."""

    rounds: int = 0
    """Rounds of any kind: a takeover without progress must end too."""
    effective_rounds: int = 0
    """Rounds with meaningful progress."""
    peak_token_ratio: float = 0.0
    """Growth of the requests since the takeover began, as a share of the model's window."""
    first_token_ratio: float | None = None
    """Token ratio of the first round."""
    retries: Mapping[str, int] = field(default_factory=dict)
    """Call with result -> how often it failed again with that result; bounded, the least recent dropped."""
    extended: bool = False
    last_progress_round: int = 0


def spend_round(budget: RecoveryBudget, turn: Round, progress: ProgressClass) -> RecoveryBudget:
    effective = progress is ProgressClass.MEANINGFUL_PROGRESS
    first = turn.token_ratio if budget.first_token_ratio is None else budget.first_token_ratio
    return replace(
        budget,
        rounds=budget.rounds + 1,
        effective_rounds=budget.effective_rounds + effective,
        first_token_ratio=first,
        # decision 61: the growth alone counts, else a long conversation would end a takeover at once.
        peak_token_ratio=max(budget.peak_token_ratio, turn.token_ratio - first),
        retries=_count_retries(budget.retries, turn),
        last_progress_round=turn.number if effective else budget.last_progress_round,
    )


class BudgetOutcome(NamedTuple):
    budget: RecoveryBudget
    extended: bool
    which: str
    """The part that is spent; empty if none is."""


def settle_round(
    budget: RecoveryBudget, turn: Round, progress: ProgressClass, recovery: RecoveryLimits
) -> BudgetOutcome:
    """Return the budget after a round of the takeover, extended if that is due."""
    budget, extended = try_extension(spend_round(budget, turn, progress), recovery, turn.number)
    return BudgetOutcome(budget, extended, find_exhausted(budget, recovery))


def find_exhausted(budget: RecoveryBudget, recovery: RecoveryLimits) -> str:
    """Return the part that is spent: rounds, tokens or retries; empty if none is."""
    most = recovery.max_recovery_rounds
    if budget.effective_rounds > most * (1 + budget.extended) or budget.rounds >= most * (2 + budget.extended):
        return ROUNDS
    if budget.peak_token_ratio > recovery.recovery_token_ratio:
        return TOKENS
    return RETRIES if max(budget.retries.values(), default=0) > recovery.max_recovery_retries else ""


def try_extension(budget: RecoveryBudget, recovery: RecoveryLimits, turn: int) -> tuple[RecoveryBudget, bool]:
    """Extend the rounds once, if only they are spent, progress is recent and few tokens were used."""
    recent = budget.last_progress_round > 0 and turn - budget.last_progress_round < _RECENT_ROUNDS
    longer = replace(budget, extended=True)
    helps = find_exhausted(budget, recovery) == ROUNDS and not find_exhausted(longer, recovery)
    return (longer, True) if helps and recent and budget.peak_token_ratio < _CHEAP else (budget, False)


def _count_retries(before: Mapping[str, int], turn: Round) -> dict[str, int]:
    retries = dict(before)
    for action in turn.actions:
        if action.result.executed and action.result.failed:
            key = f"{action.call.signature} {action.result.digest}"
            retries[key] = retries.pop(key, -1) + 1
    return dict(list(retries.items())[-_MOST_SIGNATURES:])
