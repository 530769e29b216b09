"""Run commands in the sandbox, each on the tree that it began with: an interrupted one runs again on the same tree."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from phases.sandbox.box import Box, CommandResult
from phases.sandbox.commands import run_command
from phases.workspace.backup_tree import back_up_tree
from phases.workspace.jobs import VARIABLE, Jobs
from phases.workspace.snapshots import Snapshot
from phases.workspace.tree import start_of_changes, sync_changed
from phases.workspace.workspace import remove_bytecode
from pipeline.base.files import make_directory, next_aside
from pipeline.base.logs import logger

_TIMING = re.compile(r"(?<= in )[0-9]+\.[0-9]+ ?s(?:econds)?\b")
# Two equal runs would differ in it, in the journal and in what a model is told (decision 17).


class CommandRunner:
    """The commands of one run. `step` names what is being done, one command or several, the same before and after a kill."""

    def __init__(
        self, box: Box, snapshot: Snapshot, tell: Callable[[str], None] = lambda text: None, jobs: Jobs | None = None
    ) -> None:
        self.box, self._snapshot, self.tell = box, snapshot, tell
        self.jobs = jobs or Jobs("")
        self.step = self.begun = ""
        """`begun`: the step that the workspace was copied for; empty: none since the last record."""
        self._since = 0

    def report(self, what: str, number: int, total: int, detail: str = "") -> None:
        """Show how far a long piece of work is: "checks the tests: change 41 of 120 …". Its line is replaced by the next."""
        self.tell(f"{what} {number} of {total}{f': {detail}' if detail else ''} …")

    def run(
        self,
        command: str,
        seconds: int,
        variables: Mapping[str, str] | None = None,
        writable: tuple[str, ...] = (),
        readable: tuple[str, ...] = (),
    ) -> CommandResult:
        """Run a shell command in the workspace; with these variables, and these directories to write to and to read as well."""
        remove_bytecode(self.box.workspace)
        self.begin()
        box = self.box._replace(writable=writable, readable=(*self.box.readable, *readable))
        finished = run_command(box, command, seconds=seconds, variables=variables)
        return finished._replace(output=_TIMING.sub("… s", finished.output))

    def bash(self, command: str, seconds: int) -> tuple[int | None, str]:
        """Run a command of the model. Only these may read the output of jobs; no check may depend on it."""
        jobs = self.jobs.directory
        finished = (
            self.run(command, seconds, {VARIABLE: jobs}, readable=(jobs,))
            if os.path.isdir(jobs)
            else self.run(command, seconds)
        )
        limit = f"stopped by a limit: {finished.limit}\n" if finished.limit else ""
        return finished.exit_code, limit + finished.output

    def can_take_back(self) -> bool:
        """Return whether there is a copy of the workspace from the start of this step; one that is too large has none."""
        self.begin()
        return self._snapshot.pending() == self.step

    def take_back(self) -> None:
        """Restore the workspace to the start of this step; files left by checks are not work."""
        if self.begun == self.step and self._snapshot.pending() == self.step:
            self._snapshot.restore()

    def sync(self) -> None:
        """Make the changes of this step durable, so that it may be recorded. Raises StorageError."""
        if self.begun == self.step:
            sync_changed(self.box.workspace, self._since)

    def settled(self) -> None:
        """Drop the tree that the step began with; the step has been recorded."""
        if self.begun:
            self._snapshot.drop()
            self.begun = ""

    def begin(self) -> None:
        """Record the tree, so that this step can run again on it if it is interrupted."""
        if self.begun == self.step:
            return
        # Nobody knows whether a shell command may be repeated, so the tree is put back instead (decision 46).
        self._since = start_of_changes()
        if self._snapshot.pending() == self.step:
            self._go_back()
        elif not self._snapshot.take(self.step):
            logger.debug("no copy of the workspace before {}: it is too large, or cannot be read", self.step)
        self.begun = self.step

    def _go_back(self) -> None:
        backup = next_aside(f"{self.box.workspace}.interrupted")
        if not back_up_tree(self.box.workspace, backup):  # a hand may have changed it since, and that must not be lost
            os.rename(self.box.workspace, backup)
            make_directory(self.box.workspace)
        name = os.path.basename(backup)
        self.tell(f"a command was cut off and is run again on the tree that it began with; what it left is {name}")
        self._snapshot.restore()
