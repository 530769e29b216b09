"""Commands in the sandbox, each on the tree that it began with: one that a kill cut off is run again on exactly that."""

from __future__ import annotations

import re

from phases.agent.sandbox.commands import Box, Finished, run_in
from phases.agent.sandbox.snapshots import Snapshot

_TIMING = re.compile(r"(?<= in )[0-9]+\.[0-9]+ ?s(?:econds)?\b")
"""How long tests took: it would make two equal runs differ, in the journal and in what a model is told."""


class Commands:
    """The commands of one run. `step` names what is being done, the same before and after a kill."""

    def __init__(self, box: Box, snapshot: Snapshot) -> None:
        self.box, self._snapshot, self.step = box, snapshot, ""
        self._taken = False

    def run(self, command: str, seconds: int, part: str = "") -> Finished:
        """Runs a shell command in the workspace."""
        step = f"{self.step}{part}"
        if self._snapshot.pending() == step:
            self._snapshot.restore()
        else:
            self._snapshot.take(step)
        self._taken = True
        finished = run_in(self.box, command, seconds=seconds)
        return finished._replace(output=_TIMING.sub("… s", finished.output))

    def bash(self, command: str, seconds: int) -> tuple[int | None, str]:
        """Exit code and output, for the tool of that name."""
        finished = self.run(command, seconds)
        limit = f"stopped by a limit: {finished.limit}\n" if finished.limit else ""
        return finished.exit_code, limit + finished.output

    def settled(self) -> None:
        """What was run is on record: the tree that it began with is not needed any more."""
        if self._taken:
            self._snapshot.drop()
            self._taken = False
