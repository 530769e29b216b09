"""What L2 would have done: a machine of its own, with a budget of its own, that touches nothing (section 9)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision import recovery_budget
from phases.supervision.facts import Round
from phases.supervision.outbox import Outbox
from phases.supervision.phases import Decision, PhaseContext, PhaseState, as_shadow, commit, compute_next
from phases.supervision.recovery import recover
from phases.supervision.recovery_budget import RecoveryBudget
from phases.supervision.state import KernelState, Setting
from phases.supervision.takeover import LED, Disk, recovery_of
from phases.supervision.words import DecisionKind


def shadowed(
    state: KernelState, setting: Setting, turn: Round, context: PhaseContext, disk: Disk, out: Outbox
) -> KernelState:
    """The virtual machine goes on as the real one would; nothing else changes."""
    virtual, budget, config = state.shadow_phase, state.shadow_recovery, setting.config.adaptive_takeover
    if virtual.phase in LED:
        spent = recovery_budget.after_round(budget, turn, config)
        budget, context = spent.budget, replace(context, exhausted=spent.which)
    decision = compute_next(virtual, context, setting.config.adaptive_free, config)
    _, entries = as_shadow(decision, state.phase)
    out.note(*entries)
    if decision.kind is DecisionKind.TAKEOVER:
        budget = RecoveryBudget()
        out.note(*recover(recovery_of(state, setting, decision.reason, disk())).entries)
    return replace(state, shadow_phase=_after(virtual, decision), shadow_recovery=budget)


def _after(virtual: PhaseState, decision: Decision) -> PhaseState:
    """The real run would have stopped where it fails: this one goes on, and so the machine starts anew."""
    failed = decision.kind is DecisionKind.FAIL
    return PhaseState(takeovers=virtual.takeovers, handoffs=virtual.handoffs) if failed else commit(virtual, decision)
