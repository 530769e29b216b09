"""What is said, and when it is enough, where nothing came of any call of several rounds (section 8)."""

from __future__ import annotations

from phases.agent.supervision.corrections import Block
from phases.agent.supervision.outbox import LADDER_PIN, Outbox
from phases.agent.supervision.speaking import warned
from phases.agent.supervision.state import KernelState, Setting
from phases.agent.supervision.texts import CIRCUIT_BREAKER, evidence_lines, ladder
from phases.agent.supervision.timeline import Entry, failure, recover
from phases.agent.supervision.words import CorrectionKind, StopReason, TimelineEvent


def answered(state: KernelState, setting: Setting, out: Outbox) -> KernelState:
    """The step of the ladder that is due after a round."""
    rounds = state.ledger.consecutive_failed_rounds
    executed = any(row.round > state.round - rounds for row in state.ledger.recent_failures)
    rung = ladder(rounds, evidence_lines(state.ledger, ()), executed=executed)
    if not rung.text:
        out.unpinned += [LADDER_PIN] if rounds == 0 else []
        return state
    if setting.policy.shadow:
        out.note(Entry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:ladder:{rung.level}"))
        return state
    if rung.level == CIRCUIT_BREAKER:
        out.note(failure("circuit_breaker", rounds=rounds))
        out.end(StopReason.CIRCUIT_BREAKER, f"every call of the last {rounds} rounds failed or was kept back")
        return state
    out.note(recover(f"ladder:{rung.level}", rounds=rounds))
    return warned(state, setting, Block(CorrectionKind.RECOVERY, rung.text), out, pin=LADDER_PIN)
