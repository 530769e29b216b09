"""What the kernel is told: the task, the calls of a model, and what came of them. Values, almost without behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from phases.supervision.enums import ProgressClass, TaskIntent, ToolClass


@dataclass(frozen=True)
class RepoShape:
    """What is known of the code base before any template is chosen."""

    file_count: int = 0
    monorepo: bool = False
    backend: bool = False
    fullstack: bool = False
    test_framework: str = "none"
    byte_compiles: bool = True
    """Whether a byte-compile or import check is there, where no command verifies."""


@dataclass(frozen=True)
class Task:
    """What a run is for; the same for all its life."""

    goal: str
    intent: TaskIntent
    planned_files: tuple[str, ...] = ()
    verify_commands: tuple[str, ...] = ()
    repo: RepoShape = field(default_factory=RepoShape)
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
    """Of EXEC: the command holds one of the plan's checks, and more."""

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


@dataclass(frozen=True)
class GateVerdict:
    """What the completion gate said of the whole work, after a round without calls."""

    passed: bool
    failures: tuple[str, ...] = ()
    """What fails, sorted, without times and places."""


def classify_round(turn: Round) -> ProgressClass:
    """A command that ended well is progress, and so is a write that changed a file.

    A check that fails is how work goes, and no failed round. Notes that were taken change nothing.
    """
    if not turn.actions:
        return ProgressClass.NO_TOOL
    counted = [action for action in turn.actions if not is_note(action)]
    done = [action for action in counted if action.ok]
    if any(action.result.changed or _is_finished(action) for action in done):
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


def _is_finished(action: Action) -> bool:
    return action.call.tool_class is ToolClass.EXEC and not action.result.background
