"""Build kernel/checkpoint.json and kernel-report.json (section 9).

Both are for people: no run is restored from them (decision 51).
"""

from __future__ import annotations

from typing import Any

from phases.supervision.enums import SupervisorPhase
from phases.supervision.serialization import to_json
from phases.supervision.state import KernelState, Setting
from phases.supervision.work_ledger import PASSED

VERSION = 1


def build_checkpoint(state: KernelState, *, task: str, turn: int, trigger: str) -> dict[str, Any]:
    """Return the content of kernel/checkpoint.json."""
    graph = state.graph.graph
    return {
        "runtimeVersion": VERSION,
        "taskId": task,
        "round": state.round,
        "turn": turn,
        "trigger": trigger,
        "currentNode": {"id": graph.current.id, "title": graph.current.title} if graph else None,
        "verificationPending": bool(state.ledger.files) and state.ledger.test_summary != PASSED,
        "lastStopReason": state.stopped,
        "supervisorState": to_json(state),
    }


def kernel_report(
    state: KernelState, setting: Setting, *, stop_reason: str | None, detail: str, warning: str
) -> dict[str, Any]:
    """Return the report so far. `stop_reason` is None while the run goes on."""
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
            "recovery": {
                "rounds": recovery.rounds,
                "effectiveRounds": recovery.effective_rounds,
                "retries": max(recovery.retries.values(), default=0),
                "peakTokenRatio": round(recovery.peak_token_ratio, 4),
                "extended": recovery.extended,
            },
            "branchDebt": len(state.refused),
            "branchTriggers": counts.blocks,
        },
        "warning": warning or None,
    }
