"""Define the kernel's input: the task, the model's calls with their results, and the state of the workspace."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from phases.supervision.enums import ToolClass


@dataclass(frozen=True)
class Task:
    """The assignment of a run, constant for its whole life."""

    goal: str
    planned_files: tuple[str, ...] = ()
    verify_commands: tuple[str, ...] = ()
    from_nothing: bool = False
    """The workspace is empty at the start: nothing can be inspected or searched before the first write."""


@dataclass(frozen=True)
class Call:
    id: str
    tool: str
    """The tool's name as the model calls it; only for texts."""
    tool_class: ToolClass
    signature: str
    """A digest of the tool and its arguments: equal calls have equal signatures."""
    path: str = ""
    """READ and WRITE: the path relative to the workspace, POSIX."""
    command: str = ""
    """EXEC only."""
    new_file: bool = False
    """WRITE: the file does not exist yet."""
    verify: bool = False
    """EXEC: one of the plan's verify commands."""
    rollback: bool = False
    """EXEC: it would discard work, which needs the user's consent."""
    like_check: bool = False
    """EXEC: the command contains one of the plan's checks, or runs tests or a build in another way."""

    about: str = ""
    """The subject of a call without path or command; only for texts."""

    @property
    def checks(self) -> bool:
        """Return whether the call runs a check, alone or among other things: that one fails is normal work."""
        return self.verify or self.like_check


def without_verdict(call: Call) -> Call:
    """Return a check whose outcome is unknown as a command that merely contains one."""
    # decision 123: it verifies nothing, and does not count as a failure.
    made = Call(call.id, call.tool, call.tool_class, call.signature, call.path, call.command, call.new_file)
    return replace(made, rollback=call.rollback, like_check=True)


@dataclass(frozen=True)
class CallResult:
    executed: bool
    """False if the gate refused the call."""
    failed: bool = False
    changed: tuple[str, ...] = ()
    """Files that the call changed, by whatever means."""
    lines: int = 0
    """Lines added and removed in those files."""
    digest: str = ""
    """Digest of the result, without what differs between runs."""
    error: str = ""
    """The error of a failed call, on one line."""
    failures: tuple[str, ...] = ()
    """Failed verify command: the failing tests, sorted, without times and places."""
    background: bool = False
    """The command was started and runs on."""
    undecided: bool = False
    """Check: the visible output does not show whether it passed."""
    way: str = ""
    """Failed call: the kind of failure, without numbers, places and names."""
    limit: str = ""
    """Failed call: the machine's limitation that caused it, as a sentence; empty without one."""
    gap: float | None = None
    """Check that compares a number: its distance from the target."""
    assertion: str = ""
    """Failed check: the whole first assertion, with its test and place."""
    sound: tuple[str, ...] = ()
    """Planned files that became sound with this call."""
    forgotten: bool = False
    """A Read of content that was shown before and has been cut from the conversation."""


@dataclass(frozen=True)
class Action:
    """A call with its result. `verified`: with it, every check of the plan has passed since the last write."""

    call: Call
    result: CallResult
    verified: bool = False

    @property
    def ok(self) -> bool:
        return self.result.executed and not self.result.failed

    @property
    def may_have_changed(self) -> bool:
        """Return whether it is a successful command other than a check: it may have changed something unobserved."""
        return (
            self.ok and self.call.tool_class is ToolClass.EXEC and not self.call.verify and not self.result.background
        )


@dataclass(frozen=True)
class Round:
    """One reply of the model, with the results of its calls."""

    number: int
    actions: tuple[Action, ...] = ()
    text: str = ""
    """The text of the reply."""
    token_ratio: float = 0.0
    """Tokens of the request, as a share of the model's window."""
    open_files: int = 0
    """Number of planned files that are missing or not sound."""
    next_file: str = ""
    """The first of them."""
    missing: tuple[str, ...] = ()
    """Gaps of the work against the plan, in words: open files, requirements that were not located."""


@dataclass(frozen=True)
class GateVerdict:
    """The completion gate's verdict on the whole work, after a round without calls."""

    passed: bool
    failures: tuple[str, ...] = ()
    """The failures, sorted, without times and places."""
    limit: str = ""
    """The machine's limitation, if the gate refused for that alone: no takeover follows."""


def describe_call(call: Call) -> str:
    """Return the subject of a call, for a text."""
    return " ".join((call.path or call.command or call.about).split())[:120]


OK, ERROR = "ok", "error"
"""First word of a build summary."""


@dataclass(frozen=True)
class DiskFacts:
    """The files of the workspace compared with its state at the start. Paths are relative to it."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    left_out: int = 0
    """Number of further changed files, beyond the bound of these lists."""
    unmerged: tuple[str, ...] = ()
    """Files that contain conflict markers."""
    present: tuple[str, ...] = ()
    """Planned files that exist."""
    build_summary: str | None = None
    """`ok`, or `error: path does not parse: …`; None without a file to parse."""
    head_broken: str = ""
    """A fault of the repository itself, such as an unfinished merge; empty if none is known."""

    @property
    def dirty(self) -> tuple[str, ...]:
        """Return every file that differs from the start."""
        return *self.added, *self.modified, *self.deleted


@dataclass(frozen=True)
class WorkspaceSnapshot:
    """The workspace at the end of one round (M5). The lists are bounded; `git_summary` counts everything."""

    snapshot_id: str
    at: int
    git_summary: str
    files_added: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()
    build_summary: str | None = None
    test_summary: str | None = None
    """passed, failed or required."""

    @property
    def changed(self) -> bool:
        """Return whether a file was added or modified."""
        return bool(self.files_added or self.files_modified)


LONGEST_QUOTE = 160
_WORKSPACE = re.compile(r"(?:/[^\s:'\"]*)?/generate_code/")
"""The workspace's path on the host, which precedes every path of a text."""


def quote_text(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Return a text on one line: paths relative, invisible characters removed, truncated."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text[: 4 * longest]).split())
    line = _WORKSPACE.sub("", line)
    return line if len(line) <= longest else line[: longest - 1] + "…"


def relative_paths(text: str) -> str:
    """Return a text with the workspace's paths as the model knows them."""
    return _WORKSPACE.sub("", text)
