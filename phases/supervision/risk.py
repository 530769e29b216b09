"""How much a round can break (section 5.5), from what the run is like."""

from __future__ import annotations

from dataclasses import dataclass

from phases.supervision.config import Mode
from phases.supervision.words import ModeSignal, RiskLevel, ToolClass

_READ_ONLY = frozenset((ToolClass.READ, ToolClass.SEARCH, ToolClass.NEUTRAL))
_BASE = {RiskLevel.L0: 20, RiskLevel.L1: 50, RiskLevel.L2: 70}
_MOST_OF_L0, _WHOLE = 40, 100


@dataclass(frozen=True)
class RuntimeState:
    """What L1 looks at before a round: of the round before it, but for what says otherwise."""

    round: int = 0
    task_graph_active: bool = False
    pending_step_count: int = 0
    """Pending or running steps of the current branch."""
    write_targets: int = 0
    """Distinct files written in the last round."""
    planned_write_targets: int = 0
    """Distinct files whose writing a gate kept back in the last round."""
    accumulated_diff_lines: int = 0
    """Added and removed since the last passed verification."""
    branch_switched: bool = False
    checkpoint_resumed: bool = False
    last_tool_success: bool = True
    """False where tools were executed, and all of them failed."""
    recovery_pending: bool = False
    branch_debt: int = 0
    stable_rounds: int = 0
    edit_step_open: bool = False
    """The active graph has an edit step that is pending or running."""
    tool_classes: tuple[ToolClass, ...] = ()
    """Of the calls of the last round, executed or not."""
    files_changed: int = 0
    """Distinct files changed since the last passed verification."""
    consecutive_failures: int = 0
    """Rounds in a row in which every executed tool failed."""
    manifest_touched: bool = False
    """A file that says what a project is or needs was written (pyproject.toml, requirements.txt, setup.cfg, …)."""
    irreversible: bool = False
    """A call of the last round would have taken work back."""


def derived_signals(state: RuntimeState, config: Mode) -> tuple[ModeSignal, ...]:
    """The reasons to enter forced mode that can be seen from the run itself, the strongest first (section 5.2)."""
    holds = {
        ModeSignal.CHECKPOINT_RESUMED: state.checkpoint_resumed,
        ModeSignal.TASK_GRAPH_ACTIVE: state.task_graph_active,
        ModeSignal.BRANCH_SWITCHED: state.branch_switched,
        ModeSignal.PENDING_STEPS: state.pending_step_count >= config.pending_steps_enter_threshold,
        ModeSignal.TOOL_FAILURE: not state.last_tool_success,
        ModeSignal.MULTI_WRITE: state.write_targets > config.write_targets_enter_threshold,
        ModeSignal.LARGE_DIFF: state.accumulated_diff_lines > config.diff_lines_enter_threshold,
        ModeSignal.EXPLICIT_IMPL: state.edit_step_open,
    }
    return tuple(signal for signal, held in holds.items() if held)


def risk_level(state: RuntimeState, config: Mode) -> RiskLevel:
    """L0 where nothing is under way, L2 where the run itself gives a reason for forced mode, else L1."""
    if _only_looks(state):
        return RiskLevel.L0
    return RiskLevel.L2 if derived_signals(state, config) else RiskLevel.L1


def risk_score(state: RuntimeState, level: RiskLevel) -> float:
    """The level as a number from 0 to 1, and what makes it worse. Counted in hundredths, so that sums are exact."""
    score = _BASE[level]
    score += 5 * min(4, max(0, state.files_changed - 1))
    score += 5 * min(4, max(0, state.consecutive_failures))
    score += 10 * state.irreversible + 10 * state.manifest_touched
    return min(score, _MOST_OF_L0 if level is RiskLevel.L0 else _WHOLE) / _WHOLE


def _only_looks(state: RuntimeState) -> bool:
    open_work = (
        state.task_graph_active
        or state.edit_step_open
        or state.pending_step_count > 0
        or state.write_targets > 0
        or state.planned_write_targets > 0
        or state.accumulated_diff_lines > 0
    )
    trouble = (
        state.branch_switched
        or state.checkpoint_resumed
        or not state.last_tool_success
        or state.recovery_pending
        or state.branch_debt > 0
    )
    return not open_work and not trouble and _READ_ONLY.issuperset(state.tool_classes)
