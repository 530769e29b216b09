"""What is said, and when it is enough, where nothing came of any call of several rounds (section 8)."""

from __future__ import annotations

from phases.supervision.corrections import Block
from phases.supervision.outbox import LADDER_PIN, Outbox
from phases.supervision.speaking import warned
from phases.supervision.state import KernelState, Setting
from phases.supervision.texts import CIRCUIT_BREAKER, evidence_lines, ladder
from phases.supervision.timeline import Entry, failure, recover
from phases.supervision.words import CorrectionKind, StopReason, TimelineEvent


def answered(state: KernelState, setting: Setting, out: Outbox) -> KernelState:
    """The step of the ladder that is due after a round."""
    rounds, first = _failed_rounds(state)
    if rounds == 0 or 0 < state.ledger.failed_last < state.round:  # the model does something else now
        out.unpinned.append(LADDER_PIN)
        return state
    executed, in_a_row = any(row.round >= first for row in state.ledger.recent_failures), first > state.round - rounds
    rung = ladder(rounds, evidence_lines(state.ledger, ()), executed=executed, rules=setting.rules, in_a_row=in_a_row)
    if not rung.text:
        return state
    if setting.policy.shadow:
        out.note(Entry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:ladder:{rung.level}"))
        return state
    if rung.level == CIRCUIT_BREAKER:
        out.note(failure("circuit_breaker", rounds=rounds))
        which = f"the last {rounds} rounds" if in_a_row else f"{rounds} rounds since the last progress"
        out.end(StopReason.CIRCUIT_BREAKER, f"every call of {which} failed or was kept back")
        return state
    out.note(recover(f"ladder:{rung.level}", rounds=rounds))
    return warned(state, setting, Block(CorrectionKind.RECOVERY, rung.text), out, pin=LADDER_PIN)


def _failed_rounds(state: KernelState) -> tuple[int, int]:
    """How many there are, and the first of them; under rules 1, which keep no first one, they are in a row."""
    ledger = state.ledger
    rounds = ledger.consecutive_failed_rounds
    return rounds, ledger.failed_since or state.round - rounds + 1
