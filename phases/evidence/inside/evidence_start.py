"""Note which test runs which line, and how each test ends. Imported at the start of every Python of a check.

PIPELINE_EVIDENCE is the directory for the notes, PIPELINE_WORKSPACE the code that is looked at. A test is called
`path::Class::test`; a subprocess of a test belongs to the test, and what runs outside of tests belongs to none.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import line_probes  # type: ignore[import-not-found]

NOTES, WORKSPACE, TEST, LINES = "PIPELINE_EVIDENCE", "PIPELINE_WORKSPACE", "PIPELINE_TEST", "PIPELINE_LINES"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
BEGUN, ENDED = "begun", "ended"


def note(row: dict[str, Any]) -> None:
    """Add a line to the notes of this process."""
    row["command"] = os.environ.get("PIPELINE_COMMAND", "")
    with open(os.path.join(os.environ[NOTES], f"notes.{os.getpid()}.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(row, separators=(",", ":")) + "\n")


def note_test(test: str, outcome: str) -> None:
    """Note how a test ended."""
    note({"test": test, "outcome": outcome})


def note_session(what: str) -> None:
    """Note the start or end of a test run, and the import paths in the workspace."""
    workspace = os.path.realpath(os.environ[WORKSPACE])
    inside = [os.path.realpath(path) for path in sys.path]
    paths = [os.path.relpath(path, workspace) for path in inside if f"{path}/".startswith(f"{workspace}/")]
    note({"session": what, "paths": paths})


def begin_test(test: str) -> None:
    """Attribute the following lines to this test; empty: to none."""
    _note_lines()
    os.environ[TEST] = test


def _note_lines() -> None:
    """Note which lines ran since the last time, and the test that ran them."""
    if lines := line_probes.take():
        note({"ran": os.environ.get(TEST, ""), "lines": lines})


def name_test(file: str, parts: list[str]) -> str:
    """Return `tests/test_a.py::TestB::test_c`; a test with parameters has one name for all of them."""
    return "::".join([os.path.relpath(os.path.realpath(file), os.path.realpath(os.environ[WORKSPACE])), *parts])


def _watch_unittest() -> None:
    """Make unittest note its tests. Those that pytest runs are noted by its plugin."""
    import unittest

    run_test, run_all = unittest.TestCase.run, unittest.TextTestRunner.run

    @wraps(run_test)
    def run_noted(self: Any, result: Any = None) -> Any:
        if "PYTEST_CURRENT_TEST" in os.environ:
            return run_test(self, result)
        name = _name_of_case(self)
        self._callTestMethod = _noted_method(self, self._callTestMethod, name)
        begin_test(name)
        try:
            return run_test(self, result)
        finally:
            begin_test("")

    @wraps(run_all)
    def run_all_noted(self: Any, test: Any) -> Any:
        note_session(BEGUN)
        found = run_all(self, test)
        note_session(ENDED)
        return found

    for name in ("_handleClassSetUp", "_handleModuleFixture"):
        _note_set_up(unittest.TestSuite, name)
    unittest.TestCase.run = run_noted  # type: ignore[method-assign]
    unittest.TextTestRunner.run = run_all_noted  # type: ignore[method-assign]


def _note_set_up(suite: Any, name: str) -> None:
    """Attribute the setup of a test class or module to that class or module."""
    usual = getattr(suite, name)

    @wraps(usual)
    def set_up(self: Any, test: Any, result: Any) -> Any:
        file = getattr(sys.modules.get(type(test).__module__), "__file__", None)
        parts = type(test).__qualname__.split(".") if name == "_handleClassSetUp" else []
        begin_test(name_test(file, parts) if file else "")
        try:
            return usual(self, test, result)
        finally:
            begin_test("")

    setattr(suite, name, set_up)


def _noted_method(case: Any, call: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """Wrap the call of a test so that its end is noted. unittest itself only counts, and a test can change that."""
    import unittest

    @wraps(call)
    def noted(method: Any) -> Any:
        expected = getattr(case, "__unittest_expecting_failure__", False)
        expected = expected or getattr(method, "__unittest_expecting_failure__", False)
        try:
            found = call(method)
        except unittest.SkipTest:
            note_test(name, SKIPPED)
            raise
        except BaseException:
            note_test(name, SKIPPED if expected else FAILED)
            raise
        if case._outcome.success:  # noqa: SLF001 - failures of subtests never leave the test
            note_test(name, SKIPPED if expected else PASSED)
        else:
            note_test(name, FAILED)
        return found

    return noted


def _name_of_case(case: Any) -> str:
    function = getattr(case, "_testFunc", None)  # of a test that is a plain function
    place = function or type(case)
    file = getattr(sys.modules.get(place.__module__), "__file__", None) or "?"
    if function:
        return name_test(file, [function.__qualname__])
    method = case._testMethodName  # noqa: SLF001 - its own id() is made of it
    return name_test(file, [*place.__qualname__.split("."), method])


def _begin() -> None:
    os.environ.setdefault(TEST, "")
    if os.environ.get(LINES):
        line_probes.begin(os.environ[WORKSPACE], lambda path, lines: note({"could_run": {path: lines}}))
        atexit.register(_note_lines)
        os.register_at_fork(before=_note_lines)
        end = os._exit

        def end_noted(status: int) -> NoReturn:
            _note_lines()
            end(status)

        os._exit = end_noted
    _watch_unittest()


_begin()
