"""What one turn does to the workspace: the tools bound to it, and what became of the planned files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.checks.planned_files import planned_file_fault
from phases.agent.explore import Explorers
from phases.agent.interfaces import interface_of
from phases.agent.tools.toolbox import Notes, Toolbox
from phases.llm.model import ToolCall
from phases.workspace.command_runner import CommandRunner
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.files import sha256

_ODD = "odd"
"""Stands for the digest of what cannot be read."""


class RunnerContext(NamedTuple):
    """What is watched over while tools work."""

    workspace: Workspace
    planned: Sequence[str]
    commands: CommandRunner
    explorers: Explorers
    notes: Notes
    there: Mapping[str, str]
    """The sha256 of planned files that were there when the work began."""


class ToolRunner:
    """The tools of one run, and a watch over the planned files."""

    def __init__(self, box: Toolbox, watched: RunnerContext) -> None:
        self._box, self._watched = box, watched
        self.schemas = box.schemas()
        self._read: dict[str, tuple[tuple[int, ...] | None, str]] = {}
        # What is told of a file follows from the journal, never from what a run that was cut off left on the disk.
        self._told = {path: watched.there.get(path, "") for path in watched.planned}
        self._forgotten = 0

    def act(self, call: ToolCall, step: str, *, again: bool) -> dict[str, Any]:
        """The answer to one call, with what became of the planned files that it changed, as the journal keeps it.

        `again`: a run that was cut off may have done it already.
        """
        self._watched.commands.step = self._watched.explorers.step = step
        answer = self._box.answer(call, again=again)
        return {**answer, "files": self._changed(answer["touched"])}

    def begin(self, step: str, *, again: bool, hooked: bool) -> None:
        """Before a call, and before hooks around it: what is cut off is done again, all of it, on the tree that is there now."""
        self._watched.commands.step = step
        if again or hooked:
            self._watched.commands.begin()

    def do_durably(self, do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The record of a call; what commands of it wrote, and hooks around it, is on the disk by then."""
        row = do()
        self._watched.commands.sync()
        return row

    def may_change(self, call: ToolCall) -> bool:
        """Whether doing a call may have changed something."""
        return not self._box.reads_only(call.name)

    def settled(self, result: Mapping[str, Any]) -> None:
        """To be called when a result is on the disk, by this run or an earlier one."""
        for path, state in result.get("files", {}).items():
            self._told[path] = state.get("sha256", "")
        self._watched.notes.learn(result.get("seen", {}))
        self._watched.commands.settled()

    def forget(self, times: int) -> None:
        """To be called with how often the transcript lost turns: what they showed may be asked for again."""
        if times != self._forgotten:
            self._forgotten = times
            self._watched.notes.forget()

    def _changed(self, touched: Sequence[str]) -> dict[str, dict[str, Any]]:
        files = {}
        for path, told in self._told.items():
            now = self._digest(path)
            if now != told or path in touched:
                files[path] = {**state_of(self._watched.workspace, path), "sha256": now}
        return files

    def _digest(self, path: str) -> str:
        """Of a planned file as it is now; empty where there is none. What looks unchanged is not read again."""
        stamp = _stat_key(self._watched.workspace, path)
        known, digest = self._read.get(path, (None, ""))
        if stamp != known:
            digest = _digest_of(self._watched.workspace, path) if stamp else ""
            self._read[path] = stamp, digest
        return digest


def skipped_result(text: str) -> dict[str, Any]:
    """The answer to a call that was not done, as the journal keeps it."""
    return {"text": text, "failed": True, "skipped": True, "touched": [], "seen": {}, "files": {}}


def state_of(workspace: Workspace, path: str) -> dict[str, Any]:
    """A planned file as the transcript keeps it: its `interface`, and whether it is `sound`."""
    fault = planned_file_fault(workspace, path)
    if fault:
        return {"sound": False, "interface": f"{path} is not usable: {fault}"}
    try:
        return {"sound": True, "interface": interface_of(path, workspace.read(path))}
    except WorkspaceError as error:
        return {"sound": False, "interface": f"{path} is not usable: {error}"}


def interfaces_of(workspace: Workspace, paths: Sequence[str]) -> dict[str, Any]:
    """The interfaces of those files that are there and sound."""
    states: Mapping[str, Mapping[str, Any]] = {path: state_of(workspace, path) for path in paths}
    return {path: state["interface"] for path, state in states.items() if state["sound"]}


def _digest_of(workspace: Workspace, path: str) -> str:
    try:
        return sha256(workspace.read_bytes(path))
    except WorkspaceError:
        return _ODD


def _stat_key(workspace: Workspace, path: str) -> tuple[int, ...] | None:
    """What changes when a file is written; None where it is not there. A stat follows no link at its end and reads nothing."""
    try:
        status = os.lstat(os.path.join(workspace.root, path))
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
