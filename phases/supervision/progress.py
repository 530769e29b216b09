"""What a round came to (section 7.1)."""

from __future__ import annotations

from phases.supervision.facts import Action, Round
from phases.supervision.words import ProgressClass, ToolClass


def progress_of(turn: Round) -> ProgressClass:
    """A command that ended well is progress, and so is a write that changed a file.

    A check that fails is how work goes, and no failed round. Notes that were taken change nothing.
    """
    if not turn.actions:
        return ProgressClass.NO_TOOL
    counted = [action for action in turn.actions if not is_note(action)]
    done = [action for action in counted if action.ok]
    if any(action.result.changed or _finished(action) for action in done):
        return ProgressClass.MEANINGFUL_PROGRESS
    if done or all(is_run_of_check(action) for action in counted):
        return ProgressClass.NON_PROGRESS_SUCCESS
    return ProgressClass.ALL_FAILED_OR_BLOCKED


def is_note(action: Action) -> bool:
    """A call that touched nothing but what the model keeps for itself."""
    return action.call.tool_class is ToolClass.NEUTRAL and action.result.executed


def is_run_of_check(action: Action) -> bool:
    """A check that was run, whatever it said."""
    return action.call.checks and action.result.executed


def _finished(action: Action) -> bool:
    return action.call.tool_class is ToolClass.EXEC and not action.result.background
