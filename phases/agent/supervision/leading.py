"""One round of L2: what is seen, whether the supervisor leads, and the one way in which it then speaks (sections 7 and 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phases.agent.supervision import executor, observer, recovery_budget
from phases.agent.supervision.branch_budget import BranchBudget, granted
from phases.agent.supervision.config import Recovery
from phases.agent.supervision.constraints import cleared_recovery
from phases.agent.supervision.corrections import Block
from phases.agent.supervision.facts import Round
from phases.agent.supervision.ledger import progress_of
from phases.agent.supervision.mode import submit
from phases.agent.supervision.outbox import Outbox
from phases.agent.supervision.phases import Decision, PhaseContext, Signal, as_shadow, commit, compute_next
from phases.agent.supervision.policy import is_critical
from phases.agent.supervision.recovery import RecoveryContext, recover
from phases.agent.supervision.risk import risk_level, risk_score
from phases.agent.supervision.speaking import corrected, warned
from phases.agent.supervision.state import KernelState, Setting, runtime_of
from phases.agent.supervision.texts import CIRCUIT_BREAKER, evidence_lines, handoff_text, ladder, takeover_text
from phases.agent.supervision.tiers import lowered, raised
from phases.agent.supervision.timeline import Entry
from phases.agent.supervision.timeline import recover as recovered_entry
from phases.agent.supervision.words import (
    CorrectionKind,
    DecisionKind,
    DegradedTier,
    DeviationSignal,
    ModeSignal,
    ProgressClass,
    RecoveryTier,
    StopReason,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)
from phases.agent.supervision.workspace import DiskFacts

TAKEOVER_PIN, RECOVERY_PIN, LADDER_PIN = "takeover", "recovery", "failures"
Disk = Callable[[], DiskFacts]
"""What stands in the workspace now. Asked for when a takeover begins, and not else."""


def led(
    state: KernelState, setting: Setting, turn: Round, loops: tuple[Signal, ...], disk: Disk, out: Outbox
) -> KernelState:
    """The end of a round, as L2 sees it."""
    if not setting.policy.observer:
        return state
    seen = observer.Seen(
        turn,
        setting.task,
        state.ledger,
        branch_recover=state.budget_triggers > 0,
        budget_triggers=state.budget_triggers,
        force_takeover=state.force_takeover,
        loops=loops,
    )
    observed = observer.observe(state.observer, seen, setting.config.triggers)
    out.note(*observed.entries)
    state = replace(state, observer=observed.state, force_takeover=False)
    state = _on_the_ladder(state, setting, out)
    if not setting.policy.recovery_supervisor or setting.policy.mode is not SupervisorMode.ADAPTIVE:
        return state
    if setting.policy.shadow:
        return _shadowed(state, setting, turn, observed, disk, out)
    state, spent = _spent(state, setting, turn, out)
    decision = compute_next(
        state.phase, _context(state, setting, turn, observed, spent), setting.config.adaptive_free, _recovery(setting)
    )
    return _committed(state, setting, decision, disk, out)


def _context(
    state: KernelState, setting: Setting, turn: Round, observed: observer.Observed, exhausted: str
) -> PhaseContext:
    runtime, config = runtime_of(state, setting), setting.config.execution_mode
    return PhaseContext(
        setting.policy.mode,
        is_critical(setting.domain),
        risk_score(runtime, risk_level(runtime, config)),
        turn.number,
        observed.now,
        observed.live,
        meaningful=progress_of(turn) is ProgressClass.MEANINGFUL_PROGRESS,
        exhausted=exhausted,
    )


def _recovery(setting: Setting) -> Recovery:
    return setting.config.strict if setting.policy.mode is SupervisorMode.STRICT else setting.config.adaptive_takeover


def _spent(state: KernelState, setting: Setting, turn: Round, out: Outbox) -> tuple[KernelState, str]:
    """The recovery budget after this round; only a takeover costs."""
    if state.phase.phase not in (SupervisorPhase.TAKEOVER, SupervisorPhase.HANDOFF_PENDING):
        return state, ""
    budget, config = recovery_budget.spend(state.recovery, turn, progress_of(turn)), _recovery(setting)
    budget, extended = recovery_budget.try_extension(budget, config, turn.number)
    if extended:
        out.note(recovery_budget.extended_entry())
    which = recovery_budget.exhausted(budget, config)
    return replace(state, recovery=budget), which


def _committed(state: KernelState, setting: Setting, decision: Decision, disk: Disk, out: Outbox) -> KernelState:
    before, state = state.phase.phase, replace(state, phase=commit(state.phase, decision))
    if decision.kind is DecisionKind.TAKEOVER:
        return _taken_over(state, setting, decision, disk, out)
    if decision.kind is DecisionKind.HANDOFF_PENDING:
        out.note(Entry(TimelineEvent.HANDOFF, "handoff_pending"))
    elif decision.kind is DecisionKind.HANDOFF:
        return _handed_back(state, setting, out)
    elif decision.kind is DecisionKind.FAIL:
        return _given_up(state, setting, out)
    elif decision.rerun_recovery:
        out.note(Entry(TimelineEvent.HANDOFF, "handoff_withdrawn"))
        return _recovered(state, setting, "handoff_withdrawn", disk, out)
    elif before is SupervisorPhase.COOLDOWN and state.phase.phase is SupervisorPhase.FREE:
        out.note(Entry(TimelineEvent.HANDOFF, "cooldown_over"))
    return state


def _taken_over(state: KernelState, setting: Setting, decision: Decision, disk: Disk, out: Outbox) -> KernelState:
    """Section 7.3: the phase is committed already; then exactly one text, the floor of L1, and the main path."""
    reasons = [signal.reason + (f" ({signal.detail})" if signal.detail else "") for signal in decision.signals]
    out.note(recovered_entry(decision.reason, signals=reasons))
    text = takeover_text(
        setting.task.goal,
        decision.reason,
        reasons,
        setting.domain,
        evidence_lines(state.ledger, setting.task.verify_commands),
    )
    state = replace(
        state,
        mode=submit(state.mode, ModeSignal.RECOVERY_PENDING),
        recovery=recovery_budget.RecoveryBudget(),
        recovery_failed=False,
        graph=executor.enter_takeover(state.graph),
        budget=granted(state.budget),
    )
    state = corrected(state, setting, Block(CorrectionKind.TAKEOVER, text, True), out, pin=TAKEOVER_PIN)
    out.unpinned.append(LADDER_PIN)
    out.triggers.append("takeover")
    return _recovered(state, setting, decision.reason, disk, out)


def _recovered(state: KernelState, setting: Setting, reason: str, disk: Disk, out: Outbox) -> KernelState:
    """The recovery main path (section 7.6)."""
    made = recover(_recovery_of(state, setting, reason, disk()))
    out.note(*made.entries)
    out.snapshot = made.snapshot
    if made.tier is RecoveryTier.MANUAL_CHECKPOINT:
        out.end(StopReason.USER_CHECKPOINT, f"a second recovery found no way either ({made.why})")
        return state
    if made.graph is None:
        state = corrected(state, setting, Block(CorrectionKind.RECOVERY, made.text, True), out, pin=RECOVERY_PIN)
        return replace(state, recovery_failed=True, mode=lowered(state.mode, DegradedTier.STEP_QUEUE))
    run = replace(state.graph, planned_files=len(setting.task.planned_files), open_files=state.open_files)
    graph = executor.enter_takeover(executor.with_graph(run, made.graph, state.round))
    counts = replace(state.counts, graphs=state.counts.graphs + 1)
    return replace(state, graph=graph, mode=raised(state.mode), recovery_failed=False, counts=counts)


def _recovery_of(state: KernelState, setting: Setting, reason: str, disk: DiskFacts) -> RecoveryContext:
    return RecoveryContext(
        setting.task,
        disk,
        state.ledger,
        setting.config.snapshot_confidence,
        state.round,
        f"graph-{state.counts.graphs + 1}",
        setting.domain,
        reason,
        tier_failed_before=state.recovery_failed,
        has_executor=setting.policy.task_graph,
        shadow=setting.policy.shadow,
    )


def _handed_back(state: KernelState, setting: Setting, out: Outbox) -> KernelState:
    """Section 7.4: everything that the takeover brought about is taken back, so that nothing forces for ever."""
    out.note(Entry(TimelineEvent.HANDOFF, "handoff"))
    out.unpinned += [TAKEOVER_PIN, RECOVERY_PIN, LADDER_PIN]
    out.triggers.append("handoff")
    state = corrected(state, setting, Block(CorrectionKind.GRAPH_HINT, handoff_text()), out)
    return replace(
        state,
        graph=executor.pause(executor.exit_takeover(state.graph), state.round),
        mode=cleared_recovery(state.mode),
        observer=observer.clear(state.observer),
        recovery=recovery_budget.RecoveryBudget(),
        recovery_failed=False,
        budget=BranchBudget(triggers=state.budget.triggers),
    )


def _given_up(state: KernelState, setting: Setting, out: Outbox) -> KernelState:
    which = recovery_budget.exhausted(state.recovery, _recovery(setting))
    out.note(recovery_budget.exhausted_entry(which), Entry(TimelineEvent.FAILURE, "checkpoint"))
    kinds = {signal.kind for signal in state.observer.live}
    reason = StopReason.STUCK_CYCLE if DeviationSignal.CYCLE in kinds else StopReason.USER_CHECKPOINT
    spent = state.recovery
    out.end(
        reason,
        f"the supervisor led for {spent.rounds} rounds, {spent.effective_rounds} of them with progress, and the work did not "
        f"become stable (its budget of {which} is spent)",
    )
    return state


def _on_the_ladder(state: KernelState, setting: Setting, out: Outbox) -> KernelState:
    """What is said, and when it is enough, where every call of several rounds failed (section 8)."""
    failed = state.ledger.consecutive_failed_rounds
    rung = ladder(failed, evidence_lines(state.ledger, ()))
    if not rung.text:
        out.unpinned += [LADDER_PIN] if failed == 0 else []
        return state
    if setting.policy.shadow:
        out.note(Entry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:ladder:{rung.level}"))
        return state
    if rung.level == CIRCUIT_BREAKER:
        out.note(Entry(TimelineEvent.FAILURE, "circuit_breaker", {"rounds": failed}))
        out.end(StopReason.CIRCUIT_BREAKER, f"every call of the last {failed} rounds failed")
        return state
    out.note(recovered_entry(f"ladder:{rung.level}", rounds=failed))
    return warned(state, setting, Block(CorrectionKind.RECOVERY, rung.text), out, pin=LADDER_PIN)


def _shadowed(
    state: KernelState, setting: Setting, turn: Round, observed: observer.Observed, disk: Disk, out: Outbox
) -> KernelState:
    """The virtual machine goes on as the real one would; nothing else changes."""
    context = _context(state, setting, turn, observed, "")
    decision = compute_next(state.shadow_phase, context, setting.config.adaptive_free, _recovery(setting))
    _, entries = as_shadow(decision, state.phase)
    out.note(*entries)
    if decision.kind is DecisionKind.TAKEOVER:
        out.note(*recover(_recovery_of(state, setting, decision.reason, disk())).entries)
    return replace(state, shadow_phase=commit(state.shadow_phase, decision))
