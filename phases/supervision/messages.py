"""How a text of the supervisor reaches the model: through the port, counted, and on record."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from phases.supervision.corrections import Correction, CorrectionOutcome, Speaker, compose_graph_hint, inject_correction
from phases.supervision.effects import Effects, Injection, TimelineEntry
from phases.supervision.enums import CorrectionKind, CorrectionSource, SupervisorMode, SupervisorPhase, TimelineEvent
from phases.supervision.state import KernelState, Setting


class OutgoingText(NamedTuple):
    block: Correction
    pin: str = ""
    """It stays there under this name."""
    name: str = ""
    """For the log of a shadow; its kind, where there is none."""


def send_correction(
    state: KernelState, setting: Setting, block: Correction, out: Effects, *, pin: str = ""
) -> KernelState:
    """A correction of the supervisor. What the boundary or the budget refuses is logged, and not said."""
    return _send_as(speaker_of(state, setting), state, setting, OutgoingText(block, pin), out)


def send_hint(state: KernelState, setting: Setting, text: str, tag: str, out: Effects) -> KernelState:
    """A hint of the graph: dropped in free mode."""
    injected = compose_graph_hint(
        state.corrections,
        (text, tag),
        state.mode.execution_mode,
        speaker_of(state, setting),
        setting.config.correction_budget,
    )
    said = OutgoingText(Correction(CorrectionKind.GRAPH_HINT, text), name=f"{CorrectionKind.GRAPH_HINT}:{tag}")
    return _deliver_text(state, setting, injected, said, out)


def send_warning(
    state: KernelState, setting: Setting, block: Correction, out: Effects, *, pin: str = ""
) -> KernelState:
    """A word of the lifecycle where nobody leads, of the supervisor where it does."""
    # decision 60: as the lifecycle where nobody leads, else one budget would leave a second loop without a word.
    speaker = speaker_of(state, setting)
    if state.phase.phase is SupervisorPhase.FREE:
        speaker = replace(speaker, source=CorrectionSource.LIFECYCLE)
    return _send_as(speaker, state, setting, OutgoingText(block, pin), out)


def speaker_of(state: KernelState, setting: Setting) -> Speaker:
    graph = state.graph.graph
    node = graph.current.id if graph and graph.active else ""
    strict = setting.policy.mode is SupervisorMode.STRICT
    return Speaker(state.phase.phase, CorrectionSource.SUPERVISOR, node, strict)


def _send_as(speaker: Speaker, state: KernelState, setting: Setting, said: OutgoingText, out: Effects) -> KernelState:
    injected = inject_correction(state.corrections, said.block, speaker, setting.config.correction_budget)
    return _deliver_text(state, setting, injected, said, out)


def _deliver_text(
    state: KernelState, setting: Setting, injected: CorrectionOutcome, said: OutgoingText, out: Effects
) -> KernelState:
    block = said.block
    if setting.policy.shadow and injected.accepted:
        out.note(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:{said.name or block.kind}"))
        return state
    out.note(*injected.entries)
    counts = state.counts
    if injected.accepted:
        out.injections.append(Injection(block.kind, block.content, said.pin))
        counts = replace(counts, hints=counts.hints + (block.kind is not CorrectionKind.TAKEOVER))
    return replace(state, corrections=injected.state, counts=counts)
