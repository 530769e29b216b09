"""Run the tools that a model calls, each once and inside the user's hooks, and watch the planned files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any

from phases.acceptance.tool_hooks import ToolHooks
from phases.agent.explore import Explorers
from phases.agent.interfaces import state_of
from phases.agent.tools.toolbox import Answer, Notes, Toolbox, ToolKind
from phases.llm.journal import Journal
from phases.llm.model import ToolCall
from phases.llm.pictures import Picture, PictureStore
from phases.workspace.command_runner import CommandRunner
from phases.workspace.workspace import Workspace
from pipeline.base.logs import logger
from pipeline.base.threads import run_side_by_side

Row = dict[str, Any]
"""Result of a call, as recorded in the journal."""
_MOST_TOGETHER = 4
"""Sub-agents that ask at the same time: vendors limit the calls a minute."""
_UNREADABLE = "odd"
"""Digest of a file that cannot be read."""


@dataclass
class ToolRunner:
    """The tools of one run, and a watch over the planned files."""

    box: Toolbox
    hooks: ToolHooks
    workspace: Workspace
    commands: CommandRunner
    explorers: Explorers
    notes: Notes
    digests: dict[str, str]
    """sha256 of planned files by the journal, empty for missing ones. Never from the disk, where an interrupted run may have left
    changes that are still to be recorded.
    """
    pictures: PictureStore | None = None
    """Pictures shown to the model; None if it takes none."""
    _on_disk: dict[str, tuple[tuple[int, ...] | None, str]] = field(default_factory=dict)
    _ahead: dict[str, Callable[[], Answer]] = field(default_factory=dict)
    """Pending answers of sub-agents that were asked together, by step."""
    _forgotten: int = 0

    def __post_init__(self) -> None:
        self.schemas = self.box.schemas()
        self.kinds = self.box.kinds()
        self.hooked = self.hooks.watch_calls()

    def forget(self, times: int) -> None:
        """Forget what the model has seen if the transcript lost turns since."""
        if times != self._forgotten:
            self._forgotten = times
            self.notes.forget()

    def ask_together(self, turn: int, index: int, calls: Sequence[ToolCall]) -> None:
        """Ask sub-agents of a reply concurrently if only reading calls lie between them.

        Their answers are recorded one after the other, as usual (decision 191).
        """
        reading = takewhile(lambda row: self.box.reads_only(row[1].name), enumerate(calls[index:], index))
        asked = {f"{turn}-{place}": call for place, call in reading if self.kinds.get(call.name) is ToolKind.DELEGATE}
        if len(asked) > 1 and not self.hooked and not asked.keys() <= self._ahead.keys():
            logger.debug("turn {}: {} sub-agents are asked side by side", turn, len(asked))
            work = {step: partial(self._answer_at, step, call) for step, call in asked.items()}
            self._ahead = run_side_by_side(work, _MOST_TOGETHER)

    def answer(self, step: str, call: ToolCall, *, again: bool) -> Answer:
        """Return the answer to a call, or the one asked for ahead."""
        ahead = self._ahead.pop(step, None)
        return ahead() if ahead else self.box.answer(call, again=again)

    def _answer_at(self, step: str, call: ToolCall) -> Answer:
        self.explorers.step = step
        return self.box.answer(call)

    def load_pictures(self, result: Mapping[str, Any]) -> tuple[Picture, ...]:
        """Return the pictures of a result."""
        return self.pictures.load(result["pictures"]) if self.pictures and "pictures" in result else ()

    def changed_files(self, touched: Sequence[str]) -> dict[str, Row]:
        """Return the present state of planned files that were written or differ from the journal."""
        files = {}
        for path, known in self.digests.items():
            now = self._digest_of(path)
            if now != known or path in touched:
                files[path] = {**state_of(self.workspace, path), "sha256": now}
        return files

    def settle(self, result: Mapping[str, Any]) -> None:
        """Apply a recorded result, of this run or an earlier one."""
        self.digests.update({path: state.get("sha256", "") for path, state in result.get("files", {}).items()})
        self.notes.learn(result.get("seen", {}))
        if self.commands.begun:
            self.commands.settled()

    def _digest_of(self, path: str) -> str:
        """Return the digest of a planned file, empty if it is missing; read only if its status changed."""
        stamp = _stat_key(self.workspace, path)
        known, digest = self._on_disk.get(path, (None, ""))
        if stamp != known:
            digest = (self.workspace.digest_of(path) or _UNREADABLE) if stamp else ""
            self._on_disk[path] = stamp, digest
        return digest


@dataclass(frozen=True)
class ToolCallStep:
    """One tool call of a reply: run, repeated after a kill, and recorded."""

    tools: ToolRunner
    call: ToolCall
    turn: int
    index: int
    """Its place among the calls of the turn."""
    refusal: str = ""
    """Reason for refusing the call; empty if it is not refused."""

    @property
    def step(self) -> str:
        return f"{self.turn}-{self.index}"

    def run(self, journal: Journal) -> Row:
        """Return the result on record, or do the call now and record its result."""
        key = {"turn": self.turn, "call": self.call.id, **({"kept_back": True} if self.refusal else {})}
        result = journal.replay("result", key)
        if result is None:
            result = self._skip() if self.refusal else self._do(again=journal.cut_here)
            # What changed nothing may be lost in a power cut and is asked for again: no sync of the disk (decision 44).
            durable = not self.refusal and not self.tools.box.reads_only(self.call.name)
            result = journal.record("result", key, result, durable=durable)
        self.tools.settle(result)
        return result

    def describe(self, result: Mapping[str, Any]) -> str:
        """Describe the call in a few words."""
        first = next((value for value in self.call.arguments.values() if isinstance(value, str)), "")
        note = " (kept back)" if self.refusal else " (failed)" if result["failed"] else ""
        return f"{self.call.name} {' '.join(first[:200].split())[:80]}".strip() + note

    def _do(self, *, again: bool) -> Row:
        """Do the call. `again`: an earlier start may have been cut off in it. A command then gets the tree that it began with
        (decision 46), and an edit is made only if it is missing.
        """
        tools, commands = self.tools, self.tools.commands
        commands.step = tools.explorers.step = self.step
        hooked = tools.hooked and tools.hooks.are_there_for(self.call)
        if again:
            logger.debug(
                "call {} of turn {} may have been cut off: {} is done again", self.index, self.turn, self.call.name
            )
        if again or hooked:  # hooks may write, too: what is cut off is done again as a whole
            commands.begin()
        # Sub-agents are told of in the event log by the hooks' own module, whether hooks are asked or not.
        is_sub_agent = tools.kinds.get(self.call.name) is ToolKind.DELEGATE
        if hooked or is_sub_agent:
            row = tools.hooks.around(self.call, self.turn, lambda: self._answer(again=again))
        else:
            row = self._answer(again=again)
        # Before the record: what is on record is never done again, so it must be on the disk.
        if commands.begun:
            commands.sync()
        return row

    def _answer(self, *, again: bool) -> Row:
        answer = self.tools.answer(self.step, self.call, again=again)
        return {**answer, "files": self.tools.changed_files(answer["touched"])}

    def _skip(self) -> Row:
        return {"text": self.refusal, "failed": True, "skipped": True, "touched": [], "seen": {}, "files": {}}


def _stat_key(workspace: Workspace, path: str) -> tuple[int, ...] | None:
    """Return what a write changes in a file's status; None if there is no file. Follows no link."""
    try:
        status = os.lstat(os.path.join(workspace.root, path))
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
