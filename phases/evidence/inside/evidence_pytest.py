"""The plugin of pytest that notes each test: which lines are its own, and how it ended, read before anything can change that."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from typing import Any

import evidence_start  # type: ignore[import-not-found]
import pytest

_FAULTS = pytest.StashKey[list[BaseException]]()
_SEEN = pytest.StashKey[list[str]]()


def pytest_sessionstart() -> None:
    evidence_start.note_session(evidence_start.BEGUN)


def pytest_sessionfinish() -> None:
    evidence_start.note_session(evidence_start.ENDED)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    name = _name_of(item)
    item.stash[_FAULTS], item.stash[_SEEN] = [], []
    evidence_start.begin_test(name)
    try:
        return (yield)
    finally:
        _note_end(item, name)
        evidence_start.begin_test("")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Read how a part of a test really ended: the error itself, not the report that hooks of the workspace may have changed."""
    report = yield  # pytest's own part for unittest hands the error over meanwhile
    item.stash[_SEEN].append(call.when)
    if call.excinfo is not None:
        item.stash[_FAULTS].append(call.excinfo.value)
    return report


def _note_end(item: pytest.Item, name: str) -> None:
    faults = item.stash[_FAULTS]
    skips = [error for error in faults if type(error).__name__ in ("Skipped", "XFailed", "SkipTest")]
    expected = item.get_closest_marker("xfail") is not None
    if skips or expected or "call" not in item.stash[_SEEN]:
        real = [error for error in faults if error not in skips]
        outcome = evidence_start.FAILED if real and not expected else evidence_start.SKIPPED
    else:
        outcome = evidence_start.FAILED if faults else evidence_start.PASSED
    evidence_start.note_test(name, outcome)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Select the requested tests, in their order; an unknown name does not prevent the others from running."""
    if not (wanted := os.environ.get("PIPELINE_ONLY")):
        return
    order = {name: number for number, name in enumerate(json.loads(wanted))}
    items[:] = sorted((item for item in items if _name_of(item) in order), key=lambda item: order[_name_of(item)])


def _name_of(item: pytest.Item) -> str:
    parts = item.nodeid.split("[")[0].split("::")[1:]
    return str(evidence_start.name_test(str(item.path), parts))
