"""The points at which hooks may be mounted: the one table that configuration and execution both go by."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

FAIL_OPEN, FAIL_CLOSED = "fail_open", "fail_closed"
SESSION_START, BEFORE_TOOL, AFTER_TOOL, TOOL_FAILED, SUBAGENT_STOP, ACCEPT_GATE, SESSION_END = (
    "session_start", "before_tool_call", "after_tool_result", "after_tool_failure", "subagent_stop", "accept_gate", "session_end",
)  # fmt: skip


class Point(NamedTuple):
    """One moment of a run."""

    name: str
    claude: str
    """What Claude Code and Codex call it: the `hook_event_name` of the input. Empty where they have no such moment."""
    gemini: str = ""
    blocks: bool = False
    """Whether a hook's block holds there; elsewhere it is taken for a pass."""
    heard: bool = False
    """Whether the model is told why, where a block does not hold: it may still mend what was done."""
    mountable: bool = True
    """Whether the user and the repository may mount hooks there."""
    fires: bool = True
    """Whether phase 09 comes by it. A hook at a point that never fires is refused, so that nobody waits for it."""
    seconds: float = 60.0
    """How long a hook may take, unless it says otherwise."""
    failure_policy: str = FAIL_OPEN
    """What a hook that gives no verdict means, unless it says otherwise."""


_TABLE = (
    Point(SESSION_START, "SessionStart", "SessionStart"),
    Point("user_prompt_submit", "UserPromptSubmit", "BeforeAgent", blocks=True, fires=False, seconds=30.0),
    Point(BEFORE_TOOL, "PreToolUse", "BeforeTool", blocks=True),
    Point("before_permission_decision", "PermissionRequest", blocks=True, mountable=False, fires=False),
    Point(AFTER_TOOL, "PostToolUse", "AfterTool", heard=True),
    Point(TOOL_FAILED, "PostToolUseFailure", heard=True),
    Point("pre_compact", "PreCompact", "PreCompress", blocks=True, mountable=False, fires=False),
    Point("post_compact", "PostCompact", fires=False),
    Point("subagent_start", "SubagentStart", blocks=True, mountable=False, fires=False),
    Point(SUBAGENT_STOP, "SubagentStop", heard=True),
    Point(ACCEPT_GATE, "Stop", "AfterAgent", blocks=True, seconds=600.0, failure_policy=FAIL_CLOSED),
    Point(SESSION_END, "SessionEnd", "SessionEnd", seconds=5.0),
)
POINTS: Mapping[str, Point] = MappingProxyType({point.name: point for point in _TABLE})
