"""What the kernel is told: the task, the calls of a model, and what came of them. Values, almost without behaviour."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from phases.supervision.enums import ToolClass


@dataclass(frozen=True)
class Task:
    """What a run is for; the same for all its life."""

    goal: str
    planned_files: tuple[str, ...] = ()
    verify_commands: tuple[str, ...] = ()
    from_nothing: bool = False
    """Nothing stands in the workspace yet: there is nothing to inspect or to search before the first write."""


@dataclass(frozen=True)
class Call:
    id: str
    tool: str
    """As the model calls it; for texts alone."""
    tool_class: ToolClass
    signature: str
    """Stands for the tool with its arguments, as canonical JSON: two equal calls have one."""
    path: str = ""
    """Of READ and WRITE: relative to the workspace, POSIX."""
    command: str = ""
    """Of EXEC."""
    new_file: bool = False
    """Of WRITE: nothing is there yet."""
    verify: bool = False
    """Of EXEC: one of the plan's verify commands."""
    rollback: bool = False
    """Of EXEC: it would take work back, and a person must say yes."""
    like_check: bool = False
    """Of EXEC: the command holds one of the plan's checks, and more; or runs tests or a build in another way."""

    about: str = ""
    """What it looks for, where it has neither path nor command; for texts alone."""

    @property
    def checks(self) -> bool:
        """Whether a check of the plan is run, alone or among other things: that it fails is how work goes."""
        return self.verify or self.like_check


def without_verdict(call: Call) -> Call:
    """A check of which nobody knows how it ended: a command that holds one, and no more."""
    # decision 123: it verifies nothing, and is held against nobody.
    made = Call(call.id, call.tool, call.tool_class, call.signature, call.path, call.command, call.new_file)
    return replace(made, rollback=call.rollback, like_check=True)


@dataclass(frozen=True)
class CallResult:
    executed: bool
    """False where the gate kept it from the tool."""
    failed: bool = False
    changed: tuple[str, ...] = ()
    """Files that are other than before, by whatever means."""
    lines: int = 0
    """Added and removed, in those files."""
    digest: str = ""
    """Of the result, without what differs from run to run."""
    error: str = ""
    """In one line, where it failed."""
    failures: tuple[str, ...] = ()
    """Of a verify command that failed: what fails, sorted, without times and places."""
    background: bool = False
    """It was started, and nobody waited for its end."""
    undecided: bool = False
    """Of a check: what is shown of its output does not say how it ended."""
    way: str = ""
    """Where it failed: in which way, without numbers, places and names."""
    limit: str = ""
    """Where it failed for want of what this machine does not have: what that is, as a sentence."""
    gap: float | None = None
    """Of a check that compares a number: how far it is from what is wanted."""
    told: str = ""
    """Of a check that failed: the first assertion, whole, with its test and its place."""
    sound: tuple[str, ...] = ()
    """Planned files that were not sound, or not there, before."""
    forgotten: bool = False
    """A Read of what the conversation showed before, and no longer shows."""


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
        """Whether it is a command that ended well, and no check: it may have changed what nobody looks at."""
        return (
            self.ok and self.call.tool_class is ToolClass.EXEC and not self.call.verify and not self.result.background
        )


@dataclass(frozen=True)
class Round:
    """One reply of a model, with all that came of it."""

    number: int
    actions: tuple[Action, ...] = ()
    text: str = ""
    """What the model said."""
    token_ratio: float = 0.0
    """Tokens of the request, as a share of the model's window."""
    open_files: int = 0
    """Planned files that are not there, or not sound."""
    next_file: str = ""
    """The first of them."""
    missing: tuple[str, ...] = ()
    """What the plan still misses, in words: open files, requirements that were not located."""


@dataclass(frozen=True)
class GateVerdict:
    """What the completion gate said of the whole work, after a round without calls."""

    passed: bool
    failures: tuple[str, ...] = ()
    """What fails, sorted, without times and places."""
    limit: str = ""
    """What this machine does not have, where the gate refused for that alone: nobody is led for it."""


def describe_call(call: Call) -> str:
    """What a call is about, for a text."""
    return " ".join((call.path or call.command or call.about).split())[:120]


OK, ERROR = "ok", "error"
"""What a build summary begins with."""


@dataclass(frozen=True)
class DiskFacts:
    """The files of the work, against what was there when it began. Paths are relative to the workspace."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    left_out: int = 0
    """Further changed files, over the bound of these lists."""
    unmerged: tuple[str, ...] = ()
    """Files with the marks of a merge in them."""
    present: tuple[str, ...] = ()
    """Planned files that are there."""
    build_summary: str | None = None
    """`ok`, or `error: path does not parse: …`; None where there is nothing to parse."""
    head_broken: str = ""
    """What is wrong with the repository itself, like a merge that is not finished; empty where nothing is known to be."""

    @property
    def dirty(self) -> tuple[str, ...]:
        """All that is other than it was."""
        return *self.added, *self.modified, *self.deleted


@dataclass(frozen=True)
class WorkspaceSnapshot:
    """A workspace at the end of one round (M5). The lists are bounded; `git_summary` counts everything."""

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
        """Whether a file of the work was added or modified."""
        return bool(self.files_added or self.files_modified)


LONGEST_QUOTE = 160
_WORKSPACE = re.compile(r"(?:/[^\s:'\"]*)?/generate_code/")
"""The host's path of the workspace, in which all paths of a text are."""


def quote_text(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Return a text in one line, paths relative, without what no person can see, cut off where it is long."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text[: 4 * longest]).split())
    line = _WORKSPACE.sub("", line)
    return line if len(line) <= longest else line[: longest - 1] + "…"


def relative_paths(text: str) -> str:
    """Return a text with paths of the workspace as the model knows them."""
    return _WORKSPACE.sub("", text)
