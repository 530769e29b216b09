"""The one way in which supervision puts a text before the model (section 8): who may say what, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.supervision.bounded_map import count_one_more
from phases.supervision.config import CorrectionLimits
from phases.supervision.effects import TimelineEntry, failure_entry, recovery_entry
from phases.supervision.enums import CorrectionKind, CorrectionSource, ExecutionMode, SupervisorPhase

_COUNTED = (CorrectionKind.RECOVERY, CorrectionKind.GRAPH_HINT)
_STRATEGIC = (CorrectionKind.TAKEOVER, CorrectionKind.RECOVERY)
_AFTER = (SupervisorPhase.HANDOFF_PENDING, SupervisorPhase.COOLDOWN)


@dataclass(frozen=True)
class Correction:
    kind: CorrectionKind
    content: str


@dataclass(frozen=True)
class Speaker:
    phase: SupervisorPhase
    source: CorrectionSource
    node_id: str = ""
    """The graph's current step; empty where there is none."""
    strict: bool = False
    """The run is in strict mode: each step has a budget of its own."""


@dataclass(frozen=True)
class CorrectionBudget:
    """What of the budget of a task is used. `by_node` is strict mode's."""

    used: int = 0
    by_node: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CorrectionOutcome:
    """What became of a correction. `block` is to be shown to the model; it is None where nothing may be said."""

    state: CorrectionBudget
    accepted: bool
    entries: tuple[TimelineEntry, ...] = ()
    block: Correction | None = None


def why_out_of_bounds(kind: CorrectionKind, source: CorrectionSource, phase: SupervisorPhase) -> str:
    """Why this may not be said by this one in this phase; empty where it may."""
    ours = source is CorrectionSource.SUPERVISOR
    if kind is CorrectionKind.TAKEOVER and not ours:
        return f"takeover_from_{source}"
    if kind is CorrectionKind.TAKEOVER and phase is SupervisorPhase.FREE:
        return "takeover_in_free"
    if phase is SupervisorPhase.TAKEOVER and not ours:
        return f"{source}_in_takeover"
    if phase in _AFTER and not ours and kind in _STRATEGIC:
        return f"{kind}_from_{source}_in_{phase}"
    return ""


def is_countable(kind: CorrectionKind, source: CorrectionSource, phase: SupervisorPhase) -> bool:
    return phase is SupervisorPhase.FREE and source is CorrectionSource.SUPERVISOR and kind in _COUNTED


def inject_correction(
    state: CorrectionBudget, block: Correction, where: Speaker, config: CorrectionLimits
) -> CorrectionOutcome:
    """The port: boundary first, then the budget. A refusal says nothing to the model, and is logged."""
    if rejected := why_out_of_bounds(block.kind, where.source, where.phase):
        return CorrectionOutcome(
            state, False, (failure_entry(f"recovery_boundary_rejected:{rejected}", kind=block.kind.value),)
        )
    if not is_countable(block.kind, where.source, where.phase):
        return CorrectionOutcome(state, True, block=block)
    if _is_spent(state, where, config):
        return CorrectionOutcome(
            state, False, (failure_entry(f"correction_budget_exhausted:{block.kind}", nodeId=where.node_id),)
        )
    return CorrectionOutcome(_pay_budget(state, where), True, block=block)


def compose_graph_hint(
    state: CorrectionBudget,
    hint: tuple[str, str],
    execution_mode: ExecutionMode,
    where: Speaker,
    config: CorrectionLimits,
) -> CorrectionOutcome:
    """A hint of the graph: dropped in free mode, through the port in forced mode.

    It comes with a tag: evaluate_round, forced_step_warn or forced_step_block.
    """
    text, tag = hint
    if execution_mode is ExecutionMode.FREE:
        return CorrectionOutcome(state, False, (failure_entry(f"graph_hint_dropped:{tag}", nodeId=where.node_id),))
    injected = inject_correction(state, Correction(CorrectionKind.GRAPH_HINT, text), where, config)
    if not injected.accepted:
        return injected
    return replace(injected, entries=(recovery_entry(f"graph_hint:{tag}", nodeId=where.node_id),))


def _is_spent(state: CorrectionBudget, where: Speaker, config: CorrectionLimits) -> bool:
    # decision 60: in strict mode each step has a hint of its own.
    if where.strict:
        return state.by_node.get(where.node_id, 0) >= config.strict_max_per_node
    return state.used >= config.free_segment_max_per_task


def _pay_budget(state: CorrectionBudget, where: Speaker) -> CorrectionBudget:
    if not where.strict:
        return replace(state, used=state.used + 1)
    return replace(state, by_node=count_one_more(state.by_node, where.node_id))
