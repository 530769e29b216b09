"""How a text of the supervisor reaches the model: through the port, counted, and on record."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from phases.supervision import executor
from phases.supervision.corrections import Block, Injected, Where, compose_graph_hint, inject
from phases.supervision.outbox import Injection, Outbox
from phases.supervision.state import KernelState, Setting
from phases.supervision.timeline import Entry
from phases.supervision.words import (
    CorrectionKind,
    CorrectionSource,
    SupervisorMode,
    SupervisorPhase,
    TimelineEvent,
)


class Said(NamedTuple):
    """A text, and how it is put before the model."""

    block: Block
    pin: str = ""
    """It stays there under this name."""
    name: str = ""
    """For the log of a shadow; its kind, where there is none."""


def corrected(state: KernelState, setting: Setting, block: Block, out: Outbox, *, pin: str = "") -> KernelState:
    """A correction of the supervisor. What the boundary or the budget refuses is logged, and not said."""
    injected = inject(state.corrections, block, where_of(state, setting), setting.config.correction_budget)
    return _taken_in(state, setting, injected, Said(block, pin), out)


def hinted(state: KernelState, setting: Setting, text: str, tag: str, out: Outbox) -> KernelState:
    """A hint of the graph: dropped in free mode."""
    injected = compose_graph_hint(
        state.corrections,
        (text, tag),
        state.mode.execution_mode,
        where_of(state, setting),
        setting.config.correction_budget,
    )
    said = Said(Block(CorrectionKind.GRAPH_HINT, text), name=f"{CorrectionKind.GRAPH_HINT}:{tag}")
    return _taken_in(state, setting, injected, said, out)


def warned(state: KernelState, setting: Setting, block: Block, out: Outbox, *, pin: str = "") -> KernelState:
    """A word of the lifecycle where nobody leads, of the supervisor where it does."""
    free = state.phase.phase is SupervisorPhase.FREE
    where = replace(
        where_of(state, setting), source=CorrectionSource.LIFECYCLE if free else CorrectionSource.SUPERVISOR
    )
    injected = inject(state.corrections, block, where, setting.config.correction_budget)
    return _taken_in(state, setting, injected, Said(block, pin), out)


def where_of(state: KernelState, setting: Setting) -> Where:
    """The supervisor, here and now."""
    graph = state.graph.graph
    node = graph.current.id if graph and executor.is_active(state.graph) else ""
    strict = setting.policy.mode is SupervisorMode.STRICT
    return Where(state.phase.phase, CorrectionSource.SUPERVISOR, state.round, node, strict)


def _taken_in(state: KernelState, setting: Setting, injected: Injected, said: Said, out: Outbox) -> KernelState:
    block = said.block
    if setting.policy.shadow and injected.accepted:
        out.note(Entry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_say:{said.name or block.kind}"))
        return state
    out.note(*injected.entries)
    counts = state.counts
    if injected.accepted:
        out.injections.append(Injection(block.kind, block.content, said.pin))
        counts = replace(counts, hints=counts.hints + (block.kind is not CorrectionKind.TAKEOVER))
    return replace(state, corrections=injected.state, counts=counts)
