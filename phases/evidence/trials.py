"""Run the tests of requirements on changed copies of the code, side by side, in the sandbox."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from phases.evidence.mutants import Job
from phases.evidence.observation import OF_USER, Watch, read_rows
from phases.sandbox.box import Box
from phases.sandbox.commands import run_command
from phases.workspace.backup_tree import copy_tree
from phases.workspace.syntax import parse_python
from pipeline.base.files import read_bytes, write_durable
from pipeline.base.logs import logger
from pipeline.base.threads import reporting_thread_shortage

_MOST_WORKERS = 4
_MOST_SECONDS = 60
"""Per change; tests that take longer on changed code count as having noticed it."""
_REPORT_SECONDS = 1.0
_UNCHANGED, _LAID_OUT = -1, -2
"""The numbers of the two runs that change nothing of what the code does."""


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
    """Return a file's code as Python formats it; empty if it cannot be read."""
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
