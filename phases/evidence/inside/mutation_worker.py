"""Run tests on changed code, in the sandbox: for each change a fork of this process, which has pytest imported already.

    mutation_worker.py JOBS RESULTS

JOBS is a list of {job, sources, tests, seconds}: `sources` are the changed files by their paths. For each job RESULTS gets a
line {job, code, failed, passed}: the exit code of pytest (null: it did not end in its time), and the tests by how they ended.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import sys
import time
from typing import Any

_OF_USER = "../user_tests/"
"""Prefix of the user's tests: they are next to the copy, and take no settings from it."""


def main(jobs_path: str, results_path: str) -> None:
    """Run all jobs."""
    from _pytest.config import default_plugins  # before the forks, which then have pytest and all that it loads

    for plugin in default_plugins:
        importlib.import_module(f"_pytest.{plugin}")
    gc.freeze()  # the collector of each fork leaves alone what is shared with this process: a fifth of its time
    with open(jobs_path, encoding="utf-8") as file:
        jobs = json.load(file)
    notes = os.environ["PIPELINE_EVIDENCE"]
    there = _files_here()
    for number, job in enumerate(jobs):
        own = os.path.join(notes, f"job-{number}")
        os.makedirs(own)
        code = _run_changed(job, own)
        row = {"job": job["job"], "code": code, **_read_notes(own)}
        for path in _files_here() - there:  # what a test leaves behind must not tell the next run what to expect
            with contextlib.suppress(OSError):
                os.unlink(path)
        shutil.rmtree(own, ignore_errors=True)
        with open(results_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _files_here() -> set[str]:
    return {os.path.join(folder, name) for folder, _, names in os.walk(".") for name in names}


def _run_changed(job: dict[str, Any], notes: str) -> int | None:
    """Return the first exit code of the job's tests that is not 0, on the changed files; None after a timeout."""
    before = dict[str, bytes]()
    # The user's tests have a process of their own: what the work's own tests load or change must not reach them.
    of_user = [test for test in job["tests"] if test.startswith(_OF_USER)]
    own = [test for test in job["tests"] if not test.startswith(_OF_USER)]
    try:
        for path, source in job["sources"].items():
            with open(path, "rb") as file:
                before[path] = file.read()
            with open(path, "w", encoding="utf-8", newline="") as text:
                text.write(source)
        codes = [
            _run_tests(tests, notes, job["seconds"], first_failure=job["job"] >= 0) for tests in (own, of_user) if tests
        ]
        return None if None in codes else next(filter(None, codes), 0)
    finally:
        for path, content in before.items():
            with open(path, "wb") as file:
                file.write(content)


def _run_tests(tests: list[str], notes: str, seconds: float, *, first_failure: bool) -> int | None:
    child = os.fork()
    if child == 0:
        _become_tests(tests, notes, first_failure=first_failure)
    return _wait(child, seconds)


def _become_tests(tests: list[str], notes: str, *, first_failure: bool) -> None:
    # By their files and not by their ids: pytest runs none at all where it does not know one of them.
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    words = [*(["-x"] if first_failure else []), *(file for file in files if os.path.isfile(file))]
    if tests[0].startswith(_OF_USER):
        words = ["-c", os.devnull, "--rootdir", _OF_USER, "--confcutdir", _OF_USER, *words]
    try:
        os.setsid()
        os.environ["PIPELINE_EVIDENCE"], os.environ["PIPELINE_ONLY"] = notes, json.dumps(tests)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        import pytest

        sys.path[:0] = [os.path.abspath(path) for path in json.loads(os.environ["PIPELINE_PATHS"])]
        sys.argv = ["pytest"]
        code = int(pytest.main(["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "evidence_pytest", *words]))
        os._exit(code)
    finally:
        os._exit(3)


def _wait(child: int, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    code = None
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # also what the tests left running
    if code is None:
        os.waitpid(child, 0)
    return code


def _read_notes(directory: str) -> dict[str, list[str]]:
    """Return the tests by outcome. A parametrized test failed if any of its cases did."""
    outcomes: dict[str, list[str]] = {"failed": [], "passed": []}
    for name in sorted(os.listdir(directory)):
        if not name.startswith("notes."):
            continue
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            for row in map(json.loads, file):
                if "test" in row and row["outcome"] in outcomes:
                    outcomes[row["outcome"]].append(row["test"])
    outcomes["passed"] = [test for test in outcomes["passed"] if test not in outcomes["failed"]]
    return {name: sorted(set(tests)) for name, tests in outcomes.items()}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
