"""A machine that refuses at the calls that nobody thinks of: one line, exit code 1, and the next run gets to the same end."""

from __future__ import annotations

import re

import pytest

from tests.drills import scenes
from tests.drills.aftermath import Reference, at_each, last_words, reference_on
from tests.drills.faults import Call, call_with, path_of
from tests.drills.ground import Ended
from tests.drills.points import Share, shares

pytestmark = pytest.mark.slow

FAULTS = {
    "a process cannot be started": ("EAGAIN", "clone clone3 fork vfork"),
    "there is no descriptor for a pipe": ("EMFILE", "pipe2 socketpair"),
    "there is no descriptor for a file": ("EMFILE", "openat"),
    "the disk does not tell how full it is": ("EIO", "statfs fstatfs"),
    "a directory cannot be listed": ("EIO", "getdents64"),
    "a file cannot be closed": ("EIO", "close"),
    "a file may not be removed": ("EPERM", "unlink unlinkat"),
}
PLACES = 12
"""Calls of each kind, spread over the run."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference_on(scenes.paper(tmp_path_factory.mktemp("alone"), tools=False), may_lose_copies=True)


@shares(4, few=3)
@pytest.mark.parametrize("kind", FAULTS)
def test_a_call_that_the_machine_refuses_is_one_line_and_the_next_run_gets_over_it(
    alone: Reference, kind: str, share: Share
) -> None:
    error, names = FAULTS[kind]
    base = str(alone.ground.base)
    calls = [call for call in alone.calls(names) if base in (path_of(call) or call.text) or not _names_a_place(call)]
    if not calls:
        pytest.skip(f"a run makes no such call here: {names}")
    points = share.of(calls[:: max(1, len(calls) // PLACES)])
    if not points:
        pytest.skip("there are fewer calls than shares")
    at_each(alone, points, lambda call: _refused_at(alone, call, error))


def _names_a_place(call: Call) -> bool:
    """Whether a call is about a file: those of the libraries are not ours."""
    return re.search(r'"/|</', call.text) is not None


def _refused_at(alone: Reference, call: Call, error: str) -> list[str]:
    ended = call_with(alone.ground, f"error={error}", call)
    problems = alone.problems_untold(call) if ended.code == alone.code else _untold(ended, error)
    return [*problems, *alone.problems_afterwards()]


def _untold(ended: Ended, error: str) -> list[str]:
    try:
        ended.assert_failed()
        # a process of ours that got no room says so, and not which call it was
        assert error in ended.complaints[0] or "EAGAIN" in ended.complaints[0], ended.complaints[0]
        assert ended.code == 1, f"it ends with {ended.code}: {last_words(ended)}"
    except AssertionError as problem:
        return [str(problem)]
    return []
