"""Hooks, hook points and hook results."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

INTERNAL, USER, REPO = "internal", "user", "repo"
"""Sources of hooks, in the order in which they run."""
BUILTIN, COMMAND = "builtin", "command"
STRICT, CLAUDE, AUTO = "strict", "claude", "auto"
"""Exit policies: strict blocks unless 0; claude is Claude Code's protocol; auto blocks for 1 and 2."""
PASS, BLOCK, FAILED, STOP = "pass", "block", "failed", "stop"
"""It may go on; it may not, and why; the hook gave no verdict; the whole run shall end."""
NO_VERDICT = "it gave no verdict, and is closed then"
WORKSPACE_CHANGED, ALWAYS = "workspace_changed", "always"

FAIL_OPEN, FAIL_CLOSED = "fail_open", "fail_closed"


@dataclass(frozen=True)
class Hook:
    """One hook, with every default filled in."""

    id: str
    source: str
    point: str
    kind: str = COMMAND
    priority: int = 0
    """Higher runs first, within one source; ties keep the order of the file."""
    seconds: float = 60.0
    failure_policy: str = FAIL_CLOSED
    """fail_open or fail_closed: what it means when the hook gives no verdict."""
    exit_policy: str = CLAUDE
    timeout_blocks: bool = False
    """A timeout is a block, and not a failure of the hook."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Of the kind: `command` (text) or `args` (list) of a command; `handler` and its own of a builtin."""
    matcher: str = ""
    """A regular expression that the whole name of a tool must fit, or at session_start `startup` or `resume`; empty: any."""
    when: str = WORKSPACE_CHANGED
    """At accept_gate: `workspace_changed` or `always`."""
    fail_fast: bool = False
    """If it does not pass, later hooks are not run."""
    allow_writes: bool = False
    """At accept_gate: it may change files (a formatter). Without it, a hook that does blocks."""
    sandbox: bool = False
    """The command runs in the sandbox of the agent's own commands, without input, and exit codes alone count."""
    env: Mapping[str, str] = field(default_factory=dict)
    env_allow: tuple[str, ...] = ()
    """Names of variables that are given though they look like secrets."""

    @property
    def key(self) -> str:
        """Return the name that is unique among all sources."""
        return f"{self.source}:{self.id}"

    @property
    def command(self) -> str:
        """Return the command as text; empty for other kinds."""
        return str(self.params.get("command") or shlex.join(map(str, self.params.get("args", ()))))


class HookResult(NamedTuple):
    """Result of one hook. Texts are sanitized: bounded, and without control characters except newlines and tabs."""

    status: str
    """pass, block, failed or stop."""
    reason: str = ""
    """Reason of a block, failure or stop, for the model and for people."""
    tail: str = ""
    """The end of what the command printed (8 KiB at most)."""
    message: str = ""
    """For the user alone."""
    context: str = ""
    """For the model, though nothing is blocked."""
    exit_code: int | None = None
    timed_out: bool = False
    notes: tuple[str, ...] = ()
    """Notes for the user: a downgraded block, an answer that was not understood."""
    fault: str = ""
    """Reason for a missing verdict that is not a failure: the hook passes, and verifies nothing."""
    closed: bool = False
    """It gave no verdict, and its policy makes a block of that."""
    tampered: bool = False
    """It was not run, because a file that it rests on was changed."""
    downgraded: str = ""
    """Reason why its block became a pass."""
    seconds: float = 0.0


def is_broken(status: str, fault: str) -> bool:
    """Return whether a hook that should have said something did not."""
    return status == FAILED or bool(fault)


def downgrade_block(result: HookResult, point: str) -> HookResult:
    """Turn a block at a point that cannot block into a pass; the model still gets its reason if it can act on it."""
    if result.status != BLOCK or POINTS[point].blocks:
        return result
    note = f"hook block downgraded: {point} does not allow blocking"
    heard = POINTS[point].heard and not result.closed
    context = "\n".join(filter(None, [result.reason, result.context])) if heard else result.context
    message = result.message or result.reason
    notes = (*result.notes, note)
    return result._replace(status=PASS, message=message, context=context, notes=notes, downgraded=note)


SESSION_START, BEFORE_TOOL, AFTER_TOOL, TOOL_FAILED, SUBAGENT_STOP, ACCEPT_GATE, SESSION_END = (
    "session_start", "before_tool_call", "after_tool_result", "after_tool_failure", "subagent_stop", "accept_gate", "session_end",
)  # fmt: skip


STARTUP, RESUME = "startup", "resume"
"""Ways in which a run begins, which a matcher at session_start may select."""


class HookPoint(NamedTuple):
    """One moment of a run."""

    name: str
    claude: str
    """Name in Claude Code and Codex, the input's `hook_event_name`; empty if they have none."""
    gemini: str = ""
    blocks: bool = False
    """A block takes effect; elsewhere it becomes a pass."""
    heard: bool = False
    """The model gets the reason of a block that has no effect: it may still fix what was done."""
    mountable: bool = True
    """The user and the repository may mount hooks here."""
    fires: bool = True
    """Phase 09 reaches it. A hook at a point that never fires is refused (decision 82)."""
    seconds: float = 60.0
    """Default timeout."""
    failure_policy: str = FAIL_OPEN
    """Default policy for a hook that gives no verdict."""


_TABLE = (
    HookPoint(SESSION_START, "SessionStart", "SessionStart"),
    HookPoint("user_prompt_submit", "UserPromptSubmit", "BeforeAgent", blocks=True, fires=False, seconds=30.0),
    HookPoint(BEFORE_TOOL, "PreToolUse", "BeforeTool", blocks=True),
    HookPoint("before_permission_decision", "PermissionRequest", blocks=True, mountable=False, fires=False),
    HookPoint(AFTER_TOOL, "PostToolUse", "AfterTool", heard=True),
    HookPoint(TOOL_FAILED, "PostToolUseFailure", heard=True),
    HookPoint("pre_compact", "PreCompact", "PreCompress", blocks=True, mountable=False, fires=False),
    HookPoint("post_compact", "PostCompact", fires=False),
    HookPoint("subagent_start", "SubagentStart", blocks=True, mountable=False, fires=False),
    HookPoint(SUBAGENT_STOP, "SubagentStop", heard=True),
    HookPoint(ACCEPT_GATE, "Stop", "AfterAgent", blocks=True, seconds=600.0, failure_policy=FAIL_CLOSED),
    HookPoint(SESSION_END, "SessionEnd", "SessionEnd", seconds=5.0),
)
POINTS: Mapping[str, HookPoint] = MappingProxyType({point.name: point for point in _TABLE})
