"""Watch the checks of one completion request, and collect the evidence that they leave."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from phases.evidence.doubts import find_doubts
from phases.evidence.locate import read_sources
from phases.evidence.mutants import Job
from phases.evidence.observation import NOTHING, Observation, Watch
from phases.evidence.table import build_table
from phases.evidence.trials import run_trials
from phases.sandbox.box import NONE, CommandResult
from phases.workspace.command_runner import CommandRunner
from phases.workspace.workspace import Workspace

OFF = "off"
Rows = list[dict[str, Any]]


class EvidenceSetting(NamedTuple):
    """Scope and tools of an observation."""

    bare: str = ""
    """The environment with the tools (bare_python.py); empty: nothing is observed."""
    notes: str = ""
    """A directory for notes, outside the workspace."""
    mutants: str = OFF
    """off, or how many changes are tried on each requirement's code."""
    user_tests: str = ""
    """The directory of the tests that the user gave; empty: there are none."""
    require: str = ""
    """The level of evidence that the user demands of each requirement; empty: none."""


class Look:
    """The checks of one completion request, watched. `commands.step` is set by the caller."""

    def __init__(self, setting: EvidenceSetting, commands: CommandRunner) -> None:
        self._setting, self._commands = setting, commands
        self._watch = Watch(setting.notes) if setting.bare and commands.box.kind != NONE else None
        self._number = 0
        if self._watch:
            self._watch.begin()

    @property
    def seconds(self) -> int:
        return self._commands.box.limits.seconds

    def report(self, what: str, number: int, total: int, detail: str) -> None:
        """Show how far the checks are."""
        self._commands.report(what, number, total, detail)

    def run(self, command: str, seconds: int, readable: tuple[str, ...] = ()) -> CommandResult:
        """Run a check, and note which tests run which lines."""
        self._number += 1
        if not self._watch:
            return self._commands.run(command, seconds, {}, (), readable)
        variables = {**self._watch.variables(self._commands.box.workspace), "PIPELINE_COMMAND": str(self._number)}
        return self._commands.run(command, seconds, variables, (self._setting.notes,), readable)

    def run_user_tests(self, seconds: int) -> CommandResult | None:
        """Run the user's tests; None if there are none.

        They find the modules of the workspace, and take nothing else from it: no conftest.py, no settings of pytest.
        """
        tests = self._setting.user_tests
        if not tests:
            return None
        own = shlex.quote(tests)
        source = "PYTHONPATH=src " if os.path.isdir(os.path.join(self._commands.box.workspace, "src")) else ""
        command = (
            f"{source}python -m pytest -q -p no:cacheprovider -c /dev/null --rootdir {own} --confcutdir {own} {own}"
        )
        return self.run(command, seconds, (tests,))

    def count_last(self) -> tuple[int, int, int] | None:
        """Return how many tests of the last command passed, failed and were skipped, as noted; None if none was noted."""
        return self._watch.count(str(self._number)) if self._watch else None

    def observe(self, sources: Mapping[str, str]) -> Observation:
        """Return what was noted of tests and lines so far. `sources`: the text files of the workspace by path."""
        return self._watch.collect(self._commands.box.workspace, sources) if self._watch else NOTHING

    def collect(
        self, workspace: Workspace, plan: Mapping[str, Any], seen: Observation, *, passed: bool
    ) -> tuple[Rows, list[str]]:
        """Return the table of evidence and the doubts about the code. Changes are tried only on code whose checks passed."""
        sources, watch = read_sources(workspace), self._watch
        changes = int(self._setting.mutants) if passed and self._setting.mutants != OFF else 0

        def run_jobs(jobs: Sequence[Job]) -> Mapping[int, bool]:
            if watch is None:
                return {}
            report = partial(self._commands.report, "checks the tests: change")
            return run_trials(jobs, self._commands.box, watch, seen.paths, self._setting.user_tests, report)

        rows = build_table(plan, sources, seen, changes=changes, run_jobs=run_jobs)
        return rows, find_doubts(plan, sources, seen)

    def end(self) -> None:
        """Delete the notes."""
        if self._watch:
            self._watch.end()
