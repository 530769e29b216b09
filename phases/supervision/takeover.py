"""Decide for L2 who leads after a round, and carry the decision out: takeover, handback, stop (section 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from phases.supervision import graph_executor
from phases.supervision.config import RecoveryLimits
from phases.supervision.effects import Effects, TimelineEntry, failure_entry
from phases.supervision.effects import recovery_entry as entry_of_recovery
from phases.supervision.enums import (
    LED,
    CorrectionKind,
    DecisionKind,
    DeviationSignal,
    ModeSignal,
    ProgressClass,
    RecoveryTier,
    StopReason,
    SupervisorPhase,
    TaskPhase,
    TimelineEvent,
)
from phases.supervision.execution_mode import clear_recovery, submit_signals
from phases.supervision.facts import DiskFacts, Round, relative_paths
from phases.supervision.graph_executor import sync_phase
from phases.supervision.observer import Observation, ObserverState, is_hopeless, without_stall
from phases.supervision.progress import begin_takeover, has_plateau, is_run_of_check
from phases.supervision.recovery import RecoveryContext, RecoveryPlan, plan_recovery
from phases.supervision.signals import SIGNALS, TOLD, Signal
from phases.supervision.state import KernelState, PhaseState, RecoveryBudget, Setting
from phases.supervision.wording import HANDED_BACK, describe_signal, describe_stall, lead_block, send_text
from phases.supervision.work_ledger import check_fails

ROUNDS, TOKENS, RETRIES = "rounds", "tokens", "retries"
_SPENT = {
    ROUNDS: "no more turns are given to that",
    TOKENS: "its requests grew too large",
    RETRIES: "one call failed too often in the same way",
}


def step_l2(
    state: KernelState,
    setting: Setting,
    turn: Round,
    observed: Observation,
    before: ObserverState,
    disk: Disk,
    out: Effects,
) -> KernelState:
    """Return the state after L2 has decided on the round. `before`: the observer before this round."""
    if not setting.policy.shadow:
        _stop_hopeless(state, setting, observed.now, before, out)
    if not setting.policy.recovery_supervisor or out.stop:
        return state
    if not observed.live:  # the attempts of the last takeover are settled
        state = replace(state, tried=())
    proved = (state.proved or _is_proof(state, setting, turn)) and not _is_held_up(state, setting)
    state = replace(state, proved=proved)
    context = _phase_context(state, setting, turn, observed)
    if setting.policy.shadow:
        return step_shadow(state, setting, turn, context, disk, out)
    state, context = _pay_recovery(state, setting, turn, context, out)
    decision = compute_next(state.phase, context, setting.config.takeover)
    return _commit_decision(state, setting, decision, disk, out)


def _stop_hopeless(
    state: KernelState, setting: Setting, now: tuple[Signal, ...], before: ObserverState, out: Effects
) -> None:
    """Stop a run that stalls despite a hint, refused calls and, with L2 on, a takeover."""
    if is_hopeless(before, state.progress, setting.config.triggers, led=state.phase.phase in LED):
        since, cause = state.progress.since, describe_stall(state.progress)
        cycle = any(signal.kind is DeviationSignal.CYCLE for signal in now)
        out.note(failure_entry("stalled", since=since, why=cause))
        out.end(
            StopReason.STUCK_CYCLE if cycle else StopReason.CIRCUIT_BREAKER,
            f"the last turns produced nothing new, although the model was told so: {cause}",
        )
        return
    # Without takeovers, the limit on turns must not be the only end.
    led = setting.policy.recovery_supervisor
    worst = next((signal for signal in now if signal.value >= SIGNALS[signal.kind].stops_from and not led), None)
    if worst:
        out.note(failure_entry("checkpoint", why=worst.reason))
        out.end(StopReason.USER_CHECKPOINT, f"{worst.detail} failed {worst.value:g} times with the same failures")


def _phase_context(state: KernelState, setting: Setting, turn: Round, observed: Observation) -> PhaseContext:
    progress = state.progress.last
    return PhaseContext(
        turn.number,
        observed.now,
        observed.live,
        meaningful=progress is ProgressClass.MEANINGFUL_PROGRESS,
        failed_round=progress is ProgressClass.ALL_FAILED_OR_BLOCKED,
        check_failed=_is_held_up(state, setting),
        proof=state.proved,
    )


def _is_held_up(state: KernelState, setting: Setting) -> bool:
    """Return whether a failing check forbids a handback; it does not while planned files are open that it may need."""
    stuck = has_plateau(state.progress, setting.config.triggers.plateau_repeats)
    return check_fails(state.ledger) and (stuck or not state.open_files)


def _is_proof(state: KernelState, setting: Setting, turn: Round) -> bool:
    """Return whether the round improved the work; for a plan without files and checks, whether it made progress."""
    if any(action.result.sound or (action.ok and is_run_of_check(action)) for action in turn.actions):
        return True
    nothing = not (setting.task.verify_commands or setting.task.planned_files)
    return nothing and state.progress.last is ProgressClass.MEANINGFUL_PROGRESS


def _pay_recovery(
    state: KernelState, setting: Setting, turn: Round, context: PhaseContext, out: Effects
) -> tuple[KernelState, PhaseContext]:
    """Return the state with the recovery budget after this round; only a takeover spends it."""
    if state.phase.phase not in LED:
        return state, context
    spent = settle_round(state.recovery, turn, state.progress.last, setting.config.takeover)
    if spent.extended:
        out.note(failure_entry(f"budget_extended:{ROUNDS}"))
    return replace(state, recovery=spent.budget), replace(context, exhausted=spent.which)


def _commit_decision(
    state: KernelState, setting: Setting, decision: PhaseDecision, disk: Disk, out: Effects
) -> KernelState:
    before, state = state.phase.phase, replace(state, phase=decision.next)
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
        if decision.rerun_recovery:
            return _follow_plan(state, setting, _plan_of(state, setting, "handoff_withdrawn", disk), out)
    elif before is SupervisorPhase.COOLDOWN and state.phase.phase is SupervisorPhase.FREE:
        out.note(TimelineEntry(TimelineEvent.HANDOFF, "cooldown_over"))
    return state


Disk = Callable[[], DiskFacts]
"""Return the current state of the workspace: called when a takeover begins or is planned again."""


def take_over(state: KernelState, setting: Setting, decision: PhaseDecision, disk: Disk, out: Effects) -> KernelState:
    """Begin a takeover whose phase is committed: a fresh stall and budget, then the recovery main path (section 7.3)."""
    seen = [signal for signal in decision.signals if signal.kind is not DeviationSignal.USER_FORCE_TAKEOVER]
    state = replace(
        state,
        mode=submit_signals(state.mode, ModeSignal.RECOVERY_PENDING),
        recovery=RecoveryBudget(),
        recovery_failed=False,
        proved=False,
        tried=tuple(dict.fromkeys(describe_signal(signal, state.progress) for signal in seen)),
        progress=begin_takeover(state.progress, state.round),
        observer=without_stall(state.observer),
    )
    reasons = [signal.reason + (f" ({signal.detail})" if signal.detail else "") for signal in decision.signals]
    plan = _plan_of(state, setting, decision.reason, disk)
    text = lead_block(replace(state, first_action=plan.first_action), setting)
    out.note(
        entry_of_recovery(decision.reason, signals=reasons, text=text, assertion=relative_paths(state.ledger.assertion))
    )
    out.triggers.append("takeover")
    return _follow_plan(state, setting, plan, out)


def _plan_of(state: KernelState, setting: Setting, reason: str, disk: Disk) -> RecoveryPlan:
    return plan_recovery(recovery_of(state, setting, reason, disk()))


def _follow_plan(state: KernelState, setting: Setting, made: RecoveryPlan, out: Effects) -> KernelState:
    out.note(*made.entries)
    out.snapshot = made.snapshot
    if made.tier is RecoveryTier.MANUAL_CHECKPOINT:
        out.end(StopReason.USER_CHECKPOINT, f"a second recovery in a row could not rebuild the graph ({made.why})")
        return state
    state = replace(state, first_action=made.first_action)
    # Without a graph only the next action leads.
    if made.graph is None:
        return replace(state, recovery_failed=True)
    run = replace(state.graph, open_files=state.open_files)
    # The model has already explored: the graph begins at the edit at the earliest.
    graph = sync_phase(graph_executor.with_graph(run, made.graph), TaskPhase.EDITING)
    counts = replace(state.counts, graphs=state.counts.graphs + 1)
    return replace(state, graph=graph, recovery_failed=False, counts=counts)


def recovery_of(state: KernelState, setting: Setting, reason: str, disk: DiskFacts) -> RecoveryContext:
    return RecoveryContext(
        setting.task,
        disk,
        state.ledger,
        setting.config.takeover.template_graph_min,
        state.round,
        f"graph-{state.counts.graphs + 1}",
        reason,
        tier_failed_before=state.recovery_failed,
        has_executor=setting.policy.task_graph,
        shadow=setting.policy.shadow,
    )


def hand_back(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """End a takeover, and undo everything that it set, so that nothing forces forever (section 7.4)."""
    out.note(TimelineEntry(TimelineEvent.HANDOFF, "handoff"))
    out.triggers.append("handoff")
    state = send_text(state, setting, CorrectionKind.GRAPH_HINT, HANDED_BACK, out)
    strict = setting.policy.first_round_graph
    return replace(
        state,
        tried=(),
        first_action="",
        graph=state.graph if strict else graph_executor.pause_graph(state.graph),
        mode=clear_recovery(state.mode),
        observer=ObserverState(has_written=state.observer.has_written),
        recovery=RecoveryBudget(),
        recovery_failed=False,
    )


def give_up(state: KernelState, setting: Setting, out: Effects) -> KernelState:
    """Stop the run: the budget of the takeover is spent."""
    which = find_exhausted(state.recovery, setting.config.takeover)
    out.note(failure_entry(f"budget_exhausted:{which}"), failure_entry("checkpoint"))
    kinds = {signal.kind for signal in state.observer.live}
    reason = StopReason.STUCK_CYCLE if DeviationSignal.CYCLE in kinds else StopReason.USER_CHECKPOINT
    spent = state.recovery
    out.end(
        reason,
        f"the supervisor led for {spent.rounds} turns, {spent.effective_rounds} of them with progress, and the work did not "
        f"become stable ({_SPENT[which]})",
    )
    return state


def step_shadow(
    state: KernelState, setting: Setting, turn: Round, context: PhaseContext, disk: Disk, out: Effects
) -> KernelState:
    """Advance the virtual machine of shadow mode and log its decision; nothing else changes."""
    virtual, budget, config = state.shadow_phase, state.shadow_recovery, setting.config.takeover
    if virtual.phase in LED:
        spent = settle_round(budget, turn, state.progress.last, config)
        budget, context = spent.budget, replace(context, exhausted=spent.which)
    decision = compute_next(virtual, context, config)
    out.note(*shadow_entries(decision))
    if decision.kind is DecisionKind.TAKEOVER:
        budget = RecoveryBudget()
        out.note(*plan_recovery(recovery_of(state, setting, decision.reason, disk())).entries)
    # A real run would stop at FAIL; this one continues, so the machine starts again.
    anew = PhaseState(takeovers=virtual.takeovers, handoffs=virtual.handoffs)
    phase = anew if decision.kind is DecisionKind.FAIL else decision.next
    return replace(state, shadow_phase=phase, shadow_recovery=budget)


CHECKPOINT = "checkpoint"


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
    """Every call of this round failed or was refused."""
    check_failed: bool = False
    """The last check, or the completion gate, is known to have failed."""
    proof: bool = True
    """A check passed, or a planned file became sound, in this takeover: quiet rounds alone prove nothing."""


@dataclass(frozen=True)
class PhaseDecision:
    """A decision of L2, and the state that follows once it is committed."""

    kind: DecisionKind
    reason: str = ""
    """Takeover: its signals, `tool_repeat_fail:3,no_progress:4`; fail: `checkpoint`."""
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
    # Quiet rounds without progress are not enough: a model that only talks is also stable.
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


_RECENT_ROUNDS = 5
_CHEAP = 0.1
_MOST_SIGNATURES = 50


def spend_round(budget: RecoveryBudget, turn: Round, progress: ProgressClass) -> RecoveryBudget:
    effective = progress is ProgressClass.MEANINGFUL_PROGRESS
    first = turn.token_ratio if budget.first_token_ratio is None else budget.first_token_ratio
    return replace(
        budget,
        rounds=budget.rounds + 1,
        effective_rounds=budget.effective_rounds + effective,
        first_token_ratio=first,
        # decision 61: only the growth counts, or a long conversation would end a takeover at once.
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
