"""kernel-report.json: how a supervised run went, in numbers."""

from __future__ import annotations

from typing import Any

from phases.supervision.state import KernelState, Setting
from phases.supervision.words import SupervisorPhase


def kernel_report(
    state: KernelState, setting: Setting, *, stop_reason: str | None, detail: str, warning: str
) -> dict[str, Any]:
    """The report, so far. `stop_reason` is None while the run goes on."""
    counts, recovery = state.counts, state.recovery
    return {
        "version": 1,
        "mode": setting.policy.mode.value,
        "shadow": setting.policy.shadow,
        "stopReason": stop_reason,
        "detail": detail,
        "rounds": state.round,
        "modeRounds": {"free": counts.free_rounds, "forced": counts.forced_rounds},
        "modeSwitches": counts.mode_switches,
        "phaseRounds": {phase.value: counts.phase_rounds.get(phase.value, 0) for phase in SupervisorPhase},
        "takeovers": state.phase.takeovers,
        "handoffs": state.phase.handoffs,
        "interventions": {"hints": counts.hints, "blocks": counts.blocks, "takeovers": state.phase.takeovers},
        "budgets": {
            "corrections": state.corrections.used + sum(state.corrections.by_node.values()),
            "recovery": {
                "rounds": recovery.rounds,
                "effectiveRounds": recovery.effective_rounds,
                "retries": max(recovery.retries.values(), default=0),
                "peakTokenRatio": round(recovery.peak_token_ratio, 4),
                "extended": recovery.extended,
            },
            "branchDebt": state.budget.debt,
            "branchTriggers": state.budget.triggers,
        },
        "warning": warning or None,
    }
