"""The one way in which supervision tells a model something after a round: counted, and on record."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision.effects import Effects, Injection, TimelineEntry
from phases.supervision.enums import CorrectionKind, TimelineEvent
from phases.supervision.state import KernelState, Setting


def send_text(state: KernelState, setting: Setting, kind: CorrectionKind, text: str, out: Effects) -> KernelState:
    """Tell the model. In shadow mode it is logged, and not said."""
    if setting.policy.shadow:
        out.note(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:{kind}"))
        return state
    out.injections.append(Injection(kind, text))
    words = kind is CorrectionKind.RECOVERY  # a handback is none
    return replace(state, spoke_at=state.round, counts=replace(state.counts, hints=state.counts.hints + words))
