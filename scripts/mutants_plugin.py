"""A plugin of pytest for scripts/mutants.py: notes every line under the test that runs it, and how long each test takes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import coverage
import pytest

CONFIGURATION, CONTEXT, SECONDS = "MUTANTS_COVERAGE", "MUTANTS_CONTEXT", "MUTANTS_SECONDS"
_RUNNING: list[coverage.Coverage] = []


def start(context: str) -> None:
    """Begins to note lines in this process, under a test's name; what is noted is saved when it ends, by os._exit too."""
    noted = coverage.Coverage(config_file=os.environ[CONFIGURATION], context=context or None, data_suffix=True)
    noted.start()
    _RUNNING.append(noted)


def pytest_configure(config: pytest.Config) -> None:
    if CONFIGURATION in os.environ and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        start("")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    os.environ[CONTEXT] = item.nodeid
    for noted in _RUNNING:
        noted.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _RUNNING and report.when == "call":
        with open(f"{os.environ[SECONDS]}.{os.getpid()}", "a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, report.duration]) + "\n")


def pytest_sessionfinish(session: Any) -> None:
    del session
    for noted in _RUNNING:
        noted.stop()
        noted.save()
