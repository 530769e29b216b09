"""What L2 makes of a round in which something spoke against the work, or in which somebody leads (section 7)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision.corrections import Correction
from phases.supervision.effects import LADDER_PIN, Effects, TimelineEntry, failure_entry, recovery_entry
from phases.supervision.enums import (
    LED,
    CorrectionKind,
    DecisionKind,
    ProgressClass,
    StopReason,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)
from phases.supervision.execution_mode import risk_level, risk_score
from phases.supervision.facts import Round, classify_round
from phases.supervision.l2_phases import (
    PhaseContext,
    PhaseDecision,
    commit_phase,
    compute_next,
    entry_of_extension,
    settle_round,
)
from phases.supervision.messages import send_warning
from phases.supervision.observer import Observation
from phases.supervision.policy import is_critical
from phases.supervision.round import runtime_of
from phases.supervision.signals import SIGNALS, Signal
from phases.supervision.state import KernelState, Setting
from phases.supervision.takeover import Disk, give_up, hand_back, recover_work, step_shadow, take_over
from phases.supervision.wording import CIRCUIT_BREAKER, evidence_lines, ladder_rung
from phases.supervision.work_ledger import check_fails

_FOR_EVER = 40
"""A signal that stops a run says with such a number that nothing gets on any more."""


def step_l2(
    state: KernelState, setting: Setting, turn: Round, observed: Observation, disk: Disk, out: Effects
) -> KernelState:
    """What L2 decides at the end of a round."""
    state = answer_failed_rounds(state, setting, out)
    if not setting.policy.recovery_supervisor or setting.policy.mode is not SupervisorMode.ADAPTIVE:
        return _stop_hopeless(state, setting, observed.now, out)
    context = _phase_context(state, setting, turn, observed)
    if setting.policy.shadow:
        return step_shadow(state, setting, turn, context, disk, out)
    state, context = _pay_recovery(state, setting, turn, context, out)
    decision = compute_next(state.phase, context, setting.config.adaptive_free, setting.config.adaptive_takeover)
    return _commit_decision(state, setting, decision, disk, out)


def _stop_hopeless(state: KernelState, setting: Setting, now: tuple[Signal, ...], out: Effects) -> KernelState:
    """Where nobody takes over, in strict mode or without that layer, what goes on for ever must end here."""
    # decision 67: no limit on turns should be the only end where nobody takes over.
    worst = next((one for one in now if SIGNALS[one.kind].stops_unled and one.value >= _FOR_EVER), None)
    if worst and not setting.policy.shadow:
        out.note(failure_entry("checkpoint", why=worst.reason))
        about = f", {worst.detail}" if worst.detail else ""
        out.end(StopReason.USER_CHECKPOINT, f"nothing gets on any more ({worst.reason}{about})")
    return state


def _phase_context(state: KernelState, setting: Setting, turn: Round, observed: Observation) -> PhaseContext:
    runtime, progress = runtime_of(state, setting), classify_round(turn)
    return PhaseContext(
        setting.policy.mode,
        is_critical(setting.domain),
        risk_score(runtime, risk_level(runtime, setting.config.execution_mode)),
        turn.number,
        observed.now,
        observed.live,
        meaningful=progress is ProgressClass.MEANINGFUL_PROGRESS,
        failed_round=progress is ProgressClass.ALL_FAILED_OR_BLOCKED,
        check_failed=check_fails(state.ledger),
    )


def _pay_recovery(
    state: KernelState, setting: Setting, turn: Round, context: PhaseContext, out: Effects
) -> tuple[KernelState, PhaseContext]:
    """The recovery budget after this round; only a takeover costs."""
    if state.phase.phase not in LED:
        return state, context
    spent = settle_round(state.recovery, turn, setting.config.adaptive_takeover)
    if spent.extended:
        out.note(entry_of_extension())
    return replace(state, recovery=spent.budget), replace(context, exhausted=spent.which)


def _commit_decision(
    state: KernelState, setting: Setting, decision: PhaseDecision, disk: Disk, out: Effects
) -> KernelState:
    before, state = state.phase.phase, replace(state, phase=commit_phase(state.phase, decision))
    if decision.kind is DecisionKind.TAKEOVER:
        return take_over(state, setting, decision, disk, out)
    if decision.kind is DecisionKind.HANDOFF_PENDING:
        out.note(TimelineEntry(TimelineEvent.HANDOFF, "handoff_pending"))
    elif decision.kind is DecisionKind.HANDOFF:
        return hand_back(state, setting, out)
    elif decision.kind is DecisionKind.FAIL:
        return give_up(state, setting, out)
    elif before is SupervisorPhase.HANDOFF_PENDING:
        out.note(TimelineEntry(TimelineEvent.HANDOFF, "handoff_withdrawn"))
        return recover_work(state, setting, "handoff_withdrawn", disk, out) if decision.rerun_recovery else state
    elif before is SupervisorPhase.COOLDOWN and state.phase.phase is SupervisorPhase.FREE:
        out.note(TimelineEntry(TimelineEvent.HANDOFF, "cooldown_over"))
    return state


def answer_failed_rounds(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """The step of the ladder that is due after a round."""
    rounds, first = _count_failed_rounds(state)
    if rounds == 0 or 0 < state.ledger.failed_last < state.round:  # the model does something else now
        out.unpinned.append(LADDER_PIN)
        return state
    executed, in_a_row = any(row.round >= first for row in state.ledger.recent_failures), first > state.round - rounds
    rung = ladder_rung(
        rounds, evidence_lines(state.ledger, ()), executed=executed, rules=setting.rules, in_a_row=in_a_row
    )
    if not rung.text:
        return state
    if setting.policy.shadow:
        out.note(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:ladder:{rung.level}"))
        return state
    if rung.level == CIRCUIT_BREAKER:
        out.note(failure_entry("circuit_breaker", rounds=rounds))
        which = f"the last {rounds} rounds" if in_a_row else f"{rounds} rounds since the last progress"
        out.end(StopReason.CIRCUIT_BREAKER, f"every call of {which} failed or was kept back")
        return state
    out.note(recovery_entry(f"ladder:{rung.level}", rounds=rounds))
    return send_warning(state, setting, Correction(CorrectionKind.RECOVERY, rung.text), out, pin=LADDER_PIN)


def _count_failed_rounds(state: KernelState) -> tuple[int, int]:
    """How many there are, and the first of them; under rules 1, which keep no first one, they are in a row."""
    ledger = state.ledger
    rounds = ledger.consecutive_failed_rounds
    return rounds, ledger.failed_since or state.round - rounds + 1
