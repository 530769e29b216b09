"""Watch the checks of one completion request, collect the evidence, and try changes to the code."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any, NamedTuple

from phases.evidence.doubts import find_doubts
from phases.evidence.locate import read_sources
from phases.evidence.mutants import Job
from phases.evidence.observation import NOTHING, OF_USER, Observation, Watch, read_rows
from phases.evidence.traceability import build_table
from phases.sandbox.box import NONE, Box, CommandResult
from phases.sandbox.commands import run_command
from phases.workspace.backup_tree import copy_tree
from phases.workspace.command_runner import CommandRunner
from phases.workspace.syntax import parse_python
from phases.workspace.workspace import Workspace
from pipeline.base.files import read_bytes, write_durable
from pipeline.base.logs import logger
from pipeline.base.threads import reporting_thread_shortage

OFF = "off"
Rows = list[dict[str, Any]]
_MOST_WORKERS = 4
_MOST_SECONDS = 60
"""Per change; tests that take longer on changed code count as having noticed it."""
_REPORT_SECONDS = 1.0
_UNCHANGED, _LAID_OUT = -1, -2
"""The numbers of the two runs that change nothing of what the code does."""


class EvidenceSetting(NamedTuple):
    """Settings of the observation."""

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


def run_trials(
    jobs: Sequence[Job],
    box: Box,
    watch: Watch,
    paths: Sequence[str],
    user_tests: str = "",
    report: Callable[[int, int], None] = lambda number, total: None,
) -> dict[int, bool]:
    """Return, by the number of each job that could be run, whether its tests noticed the change: by a failure of any kind.

    Args:
        paths: Where in the workspace tests find modules.
        user_tests: The directory of the tests that the user gave.
    A test that fails on the unchanged copy says nothing, and is not counted.
    """
    count = min(os.cpu_count() or 1, _MOST_WORKERS, len(jobs))
    shares = [range(first, len(jobs), count) for first in range(count)]
    with reporting_thread_shortage(), ThreadPoolExecutor(count) as pool:
        found = [pool.submit(_run_share, share, jobs, box, watch, paths, user_tests) for share in shares]
        while True:
            report(min(len(jobs), 1 + sum(_count_tried(watch.notes, share) for share in shares)), len(jobs))
            if not wait(found, timeout=_REPORT_SECONDS).not_done:
                break
    results = {number: result for part in found for number, result in part.result().items()}
    logger.debug("{} of {} changes were tried, in {} copies", len(results), len(jobs), count)
    return results


def _run_share(
    share: range, jobs: Sequence[Job], box: Box, watch: Watch, paths: Sequence[str], user_tests: str
) -> dict[int, bool]:
    """Run the jobs of one copy, one after another."""
    root = os.path.join(watch.notes, f"share-{share.start}")
    notes, copy = os.path.join(root, "notes"), os.path.join(root, "workspace")
    os.makedirs(notes, mode=0o700)
    if not copy_tree(box.workspace, copy):
        return {}
    if user_tests and not copy_tree(user_tests, os.path.join(root, OF_USER.strip("./"))):
        return {}
    everyone = sorted({test for number in share for test in jobs[number].tests})
    rows = [_row(_UNCHANGED, {}, everyone)]
    # A test that fails already where only the layout of the files is another one looks at the text, and not at what it does.
    changed = sorted({path for number in share if (path := jobs[number].mutant.path).endswith(".py")})
    if laid_out := {path: plain for path in changed if (plain := _laid_out(box, path))}:
        rows.append(_row(_LAID_OUT, laid_out, everyone))
    for number in share:
        job = jobs[number]
        rows.append(_row(number, {job.mutant.path: job.mutant.source}, job.tests))
    write_durable(os.path.join(root, "jobs.json"), json.dumps(rows).encode())
    worker = "import mutation_worker as w, sys; w.main(sys.argv[1], sys.argv[2])"
    words = ["python", "-P", "-c", worker, os.path.join(root, "jobs.json"), os.path.join(notes, "results.jsonl")]
    variables = {"PIPELINE_EVIDENCE": notes, "PIPELINE_WORKSPACE": copy, "PIPELINE_PATHS": json.dumps(list(paths))}
    own = box._replace(workspace=copy, readable=(*box.readable, root), writable=(notes,))
    finished = run_command(own, shlex.join(words), seconds=len(rows) * _MOST_SECONDS, variables=variables)
    logger.debug("the changes of one copy ended with {}: {}", finished.exit_code, finished.output[-300:])
    results = _read_results(os.path.join(notes, "results.jsonl"))
    shutil.rmtree(root, ignore_errors=True)
    return results


def _count_tried(notes: str, share: range) -> int:
    """Return how many changes of a share were tried so far; 0 once it is over and its notes are gone."""
    rows = read_rows(os.path.join(notes, f"share-{share.start}", "notes", "results.jsonl"))
    return sum(row.get("job") in share for row in rows)


def _laid_out(box: Box, path: str) -> str:
    """Return a file's code as formatted by Python itself; empty if it cannot be read."""
    tree = parse_python(read_bytes(os.path.join(box.workspace, path)).decode("utf-8", "replace"))
    return ast.unparse(tree) if tree else ""


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _row(number: int, sources: Mapping[str, str], tests: Sequence[str]) -> dict[str, Any]:
    """Return a job as the worker reads it."""
    return {"job": number, "sources": sources, "tests": tests, "seconds": _MOST_SECONDS}


def _read_results(path: str) -> dict[int, bool]:
    failing, results = frozenset[str](), dict[int, bool]()
    for row in read_rows(path):
        failed, number = frozenset(_texts(row.get("failed"))), row.get("job")
        if number in (_UNCHANGED, _LAID_OUT):
            failing |= failed
            if number == _UNCHANGED and not _texts(row.get("passed")):
                return {}  # the tests do not run like this, so a failure would say nothing
        elif isinstance(number, int):
            # A change under which nothing can be collected fails every test, and no test says so.
            results[number] = bool(failed - failing) or (row.get("code") != 0 and not failed)
    return results
