"""How a text of the supervisor reaches the model: through the port, counted, and on record."""

from __future__ import annotations

from dataclasses import replace

from phases.agent.supervision import executor
from phases.agent.supervision.corrections import Block, Injected, Where, compose_graph_hint, inject
from phases.agent.supervision.outbox import Injection, Outbox
from phases.agent.supervision.state import KernelState, Setting
from phases.agent.supervision.words import CorrectionKind, CorrectionSource, SupervisorMode, SupervisorPhase


def corrected(state: KernelState, setting: Setting, block: Block, out: Outbox, *, pin: str = "") -> KernelState:
    """A correction of the supervisor. What the boundary or the budget refuses is logged, and not said."""
    injected = inject(state.corrections, block, where_of(state, setting), setting.config.correction_budget)
    return _taken_in(state, injected, block, out, pin)


def hinted(state: KernelState, setting: Setting, text: str, tag: str, out: Outbox) -> KernelState:
    """A hint of the graph: dropped in free mode."""
    injected = compose_graph_hint(
        state.corrections,
        (text, tag),
        state.mode.execution_mode,
        where_of(state, setting),
        setting.config.correction_budget,
    )
    return _taken_in(state, injected, Block(CorrectionKind.GRAPH_HINT, text), out, "")


def warned(state: KernelState, setting: Setting, block: Block, out: Outbox, *, pin: str = "") -> KernelState:
    """A word of the lifecycle where nobody leads, of the supervisor where it does."""
    free = state.phase.phase is SupervisorPhase.FREE
    where = replace(
        where_of(state, setting), source=CorrectionSource.LIFECYCLE if free else CorrectionSource.SUPERVISOR
    )
    return _taken_in(state, inject(state.corrections, block, where, setting.config.correction_budget), block, out, pin)


def where_of(state: KernelState, setting: Setting) -> Where:
    """The supervisor, here and now."""
    graph = state.graph.graph
    node = graph.current.id if graph and executor.is_active(state.graph) else ""
    strict = setting.policy.mode is SupervisorMode.STRICT
    return Where(state.phase.phase, CorrectionSource.SUPERVISOR, state.round, node, strict)


def _taken_in(state: KernelState, injected: Injected, block: Block, out: Outbox, pin: str) -> KernelState:
    out.note(*injected.entries)
    counts = state.counts
    if injected.accepted:
        out.injections.append(Injection(block.kind, block.content, pin))
        counts = replace(counts, hints=counts.hints + (block.kind is not CorrectionKind.TAKEOVER))
    return replace(state, corrections=injected.state, counts=counts)
