"""What a hook is, and what came of running one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from phases.acceptance.points import FAIL_CLOSED, POINTS

INTERNAL, USER, REPO = "internal", "user", "repo"
SOURCES = (INTERNAL, USER, REPO)
"""In the order in which their hooks run."""
BUILTIN, COMMAND, HTTP = "builtin", "command", "http"
STRICT, CLAUDE, AUTO = "strict", "claude", "auto"
"""What exit codes mean: 0 or a block; Claude Code's protocol; 0 passes, 1 and 2 block."""
PASS, BLOCK, FAILED, STOP = "pass", "block", "failed", "stop"
"""It may go on; it may not, and why; the hook gave no verdict; the whole run shall end."""
DOWNGRADED = "hook block downgraded"
NO_VERDICT = "it gave no verdict, and is closed then"
WORKSPACE_CHANGED, ALWAYS = "workspace_changed", "always"


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
    """Of the kind: `command` (text) or `args` (list) of a command; `handler` and its own of a builtin; those of http."""
    matcher: str = ""
    """A regular expression that the whole name of a tool must fit; empty: any."""
    when: str = WORKSPACE_CHANGED
    """At accept_gate: `workspace_changed` or `always`."""
    fail_fast: bool = False
    """Where it does not pass, later hooks are not run."""
    allow_writes: bool = False
    """At accept_gate: it may change files (a formatter). Without it, a hook that does blocks."""
    sandbox: bool = False
    """The command runs in the sandbox of the agent's own commands, without input, and exit codes alone count."""
    env: Mapping[str, str] = field(default_factory=dict)
    env_allow: tuple[str, ...] = ()
    """Names of variables that are given though they look like secrets."""

    @property
    def key(self) -> str:
        """What it is called where hooks of several sources meet."""
        return f"{self.source}:{self.id}"

    @property
    def command(self) -> str:
        """The command in words; empty for other kinds."""
        return str(self.params.get("command") or shlex.join(map(str, self.params.get("args", ()))))


class Result(NamedTuple):
    """What came of one hook. Every text is clean: no control characters but line ends and tabs, bounded."""

    status: str
    """pass, block, failed or stop."""
    reason: str = ""
    """Why it blocks, failed or stops, for the model and for people."""
    tail: str = ""
    """The end of what the command printed (8 KiB at most)."""
    message: str = ""
    """For the user alone."""
    context: str = ""
    """For the model, though nothing is blocked."""
    exit_code: int | None = None
    timed_out: bool = False
    notes: tuple[str, ...] = ()
    """What a person should know of how it was taken: a downgraded block, an answer that is not understood."""
    seconds: float = 0.0


def is_broken(kind: str, status: str, notes: Sequence[str]) -> bool:
    """Whether a hook that should have said something did not. One that only observes has nothing to say."""
    return kind != HTTP and (status == FAILED or any(note.startswith("hook_failed") for note in notes))


def downgraded(result: Result, point: str) -> Result:
    """A block where none can hold is a pass; nothing of what was said is lost, and what the model may mend it is told."""
    if result.status != BLOCK or POINTS[point].blocks:
        return result
    told = f"{DOWNGRADED}: {point} does not allow blocking"
    heard = POINTS[point].heard and NO_VERDICT not in result.notes
    context = "\n".join(filter(None, [result.reason, result.context])) if heard else result.context
    message = result.message or result.reason
    return result._replace(status=PASS, message=message, context=context, notes=(*result.notes, told))
