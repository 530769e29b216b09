"""One look at what is known of the requirements: the checks are watched, then the code is changed and the tests run again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from phases.evidence.demands import demands_of
from phases.evidence.lookup import find_by_name, name_all
from phases.evidence.mutants import MOST
from phases.evidence.observation import NOTHING, Observation, Watch
from phases.evidence.places import find_all_places
from phases.evidence.rungs import ALL, MISSING, OFF, STUB_ALONE, climb
from phases.evidence.traceability import read_sources
from phases.evidence.trials import run_trials
from phases.sandbox.box import NONE, CommandResult
from phases.workspace.command_runner import CommandRunner
from phases.workspace.workspace import Workspace

AUTO = "auto"
_QUICK = 20.0
"""Seconds of all checks, up to which every change is tried without anybody asking for it."""
_NO_NAME = "no name in the code fits it; a docstring that names it would"
Rows = list[dict[str, Any]]


class EvidenceSetting(NamedTuple):
    """What the user wants to know, and where it is found out."""

    bare: str = ""
    """The environment with the tools (bare_python.py); empty: nothing is observed."""
    notes: str = ""
    """A directory for notes, outside the workspace."""
    mutants: str = AUTO
    """off, auto, or how many changes are tried for each requirement."""
    by_name: bool = False
    """The code was made elsewhere and names no requirement: its places are found by their names, and any test may prove them."""
    user_tests: str = ""
    """The directory of the tests that the user gave; empty: there are none."""


class Look:
    """The checks of one completion request, watched. `commands.step` is set by the caller."""

    def __init__(self, setting: EvidenceSetting, commands: CommandRunner) -> None:
        self._setting, self._commands, self._took = setting, commands, 0.0
        self._watch = Watch(setting.notes) if setting.bare and commands.box.kind != NONE else None
        self._number = 0
        if self._watch:
            self._watch.begin()

    @property
    def seconds(self) -> int:
        """What a check may take."""
        return self._commands.box.limits.seconds

    def report(self, what: str, number: int, total: int, detail: str) -> None:
        """Show how far the checks are."""
        self._commands.report(what, number, total, detail)

    def run(self, command: str, seconds: int) -> CommandResult:
        """Runs a check, and has it noted which tests run which lines."""
        return self._watched(command, seconds)

    def _watched(self, command: str, seconds: int, readable: tuple[str, ...] = ()) -> CommandResult:
        began, self._number = monotonic(), self._number + 1
        variables: dict[str, str] = {}
        if self._watch:
            variables = {**self._watch.variables(self._commands.box.workspace), "PIPELINE_COMMAND": str(self._number)}
        finished = self._run(command, seconds, variables, readable)
        self._took += monotonic() - began
        return finished

    def run_user_tests(self, seconds: int) -> CommandResult | None:
        """What came of the user's tests; None where there are none.

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
        return self._watched(command, seconds, (tests,))

    def count_last(self) -> tuple[int, int, int] | None:
        """How many tests of the last command passed, failed and were skipped, as they were noted; None where none was."""
        return self._watch.count(str(self._number)) if self._watch else None

    def observe(self) -> Observation:
        """What is known of the tests and lines so far."""
        if not self._watch:
            return NOTHING
        return self._watch.collect()

    def judge(self, workspace: Workspace, plan: dict[str, Any], seen: Observation, *, change: bool) -> Rows:
        """What is known of each requirement. `change` is False where the checks do not pass: then changes say nothing."""
        by_name, sources = self._setting.by_name, read_sources(workspace)
        places = find_by_name(workspace, plan) if by_name else find_all_places(workspace, plan)
        seen = seen._replace(named=name_all(seen, places)) if by_name else seen
        watch, mutants, most = self._watch, *self._wanted()
        if watch is None or not change or mutants == OFF:
            return self._in_words(climb(demands_of(plan), places, sources, seen))

        def run_jobs(jobs: Sequence[Any]) -> Mapping[int, Any]:
            return run_trials(
                *(jobs, self._commands.box, watch, seen.paths, self._took, self._setting.user_tests),
                report=partial(self._commands.report, "checks the tests: change"),
            )

        return self._in_words(climb(demands_of(plan), places, sources, seen, run_jobs, mutants, most))

    def _in_words(self, rows: Rows) -> Rows:
        """Code that was made elsewhere need not name a requirement."""
        if not self._setting.by_name:
            return rows
        return [{**row, "why": _NO_NAME} if row["rung"] == MISSING else row for row in rows]

    def end(self) -> None:
        """Leaves no notes behind."""
        if self._watch:
            self._watch.end()

    def _wanted(self) -> tuple[str, int]:
        if self._setting.mutants == OFF:
            return OFF, 0
        if self._setting.mutants == AUTO:
            return (ALL if self._took < _QUICK else STUB_ALONE), MOST
        return ALL, int(self._setting.mutants)

    def _run(
        self, command: str, seconds: int, variables: Mapping[str, str], readable: tuple[str, ...] = ()
    ) -> CommandResult:
        notes = (self._setting.notes,) if self._watch else ()
        return self._commands.run(command, seconds, variables, notes, readable)
