"""How forced mode is driven when its graph fails: one tier lower each time, and never free (section 5.6, axiom I7)."""

from __future__ import annotations

from dataclasses import replace

from phases.supervision.mode import ModeState
from phases.supervision.words import DegradedTier

_ORDER = tuple(DegradedTier)


def lowered(state: ModeState, tier: DegradedTier) -> ModeState:
    """The state with this tier, or with its own where that is lower already."""
    now = state.forced_degraded_tier
    return state if now and _ORDER.index(now) >= _ORDER.index(tier) else replace(state, forced_degraded_tier=tier)


def raised(state: ModeState) -> ModeState:
    """The state with a new graph: it drives again."""
    return replace(state, forced_degraded_tier=DegradedTier.GRAPH)


def next_tier(tier: DegradedTier | None) -> DegradedTier | None:
    """The tier under this one; None where all are spent, and a person is needed. No tier yet is as good as graph."""
    lower = _ORDER[_ORDER.index(tier or DegradedTier.GRAPH) + 1 :]
    return lower[0] if lower else None
