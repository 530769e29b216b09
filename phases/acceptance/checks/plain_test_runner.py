"""Runs test files in the sandbox where pytest is not installed: plain test functions and classes, and those of unittest.

Given to `python -c` as it stands, with the paths of the files behind it. Tests that take fixtures or are coroutines are skipped:
only pytest can run them.
"""

from __future__ import annotations

import inspect
import os
import sys
import unittest
from collections.abc import Callable, Iterator


def main(paths: list[str]) -> int:
    """Runs what the files hold, and says so as unittest does. Returns the exit code."""
    suite = unittest.TestSuite(test for path in paths for test in _tests_of(path))
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


def _tests_of(path: str) -> Iterator[unittest.TestCase | unittest.TestSuite]:
    directory, name = os.path.split(os.path.abspath(path))
    top, parts = _top_of(directory, name.removesuffix(".py"))
    # It imports the file, and makes a failing test of whatever that raises.
    yield unittest.defaultTestLoader.discover(directory, name, top)
    module = sys.modules.get(".".join(parts))
    for name, found in vars(module).items() if module else ():
        if inspect.isfunction(found) and name.startswith("test") and found.__module__ == ".".join(parts):
            yield _test(f"{path}::{name}", found)
        elif inspect.isclass(found) and name.startswith("Test") and not issubclass(found, unittest.TestCase):
            for method, function in inspect.getmembers(found, inspect.isfunction):
                if method.startswith("test"):
                    yield _test(f"{path}::{name}::{method}", function, found)


def _top_of(directory: str, name: str) -> tuple[str, list[str]]:
    """Where the imports of a test file start, as pytest has it: the first directory above it that is no package. And the
    parts of the module's name from there."""
    parts = [name]
    while os.path.exists(os.path.join(directory, "__init__.py")):
        directory, part = os.path.split(directory)
        parts.insert(0, part)
    return directory, parts


def _test(name: str, function: Callable[..., object], owner: type | None = None) -> unittest.TestCase:
    needs = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    if len(needs) > (owner is not None) or inspect.iscoroutinefunction(function):
        return unittest.FunctionTestCase(_skips("only pytest can run it"), description=name)
    run = (lambda: function(owner())) if owner else function
    return unittest.FunctionTestCase(run, description=name)


def _skips(why: str) -> Callable[[], object]:
    def skip() -> None:
        raise unittest.SkipTest(why)

    return skip


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
