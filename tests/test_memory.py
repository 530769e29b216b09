"""The growth of a process: its own, whatever its parent holds, and all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.forks import fork
from tests.memory import measure_growth
from tests.papers import ROOT

MIB = 2**20
HELD = 600 * MIB
PROGRAM = """
from tests.memory import measure_growth
growth = measure_growth()
taken = bytearray(b"x") * (80 << 20)
print(growth())
"""


def take(size: int) -> bytearray:
    """Return memory that is resident: zeros would not be."""
    return bytearray(b"x") * size


def keep() -> int:
    growth = measure_growth()
    kept = take(80 * MIB)
    return growth() if kept else 0


def release() -> int:
    growth = measure_growth()
    take(80 * MIB)
    return growth()


def release_more_before() -> int:
    take(200 * MIB)
    return keep()


def execute() -> int:
    return int(subprocess.check_output([sys.executable, "-c", PROGRAM], cwd=ROOT))


def in_fork(work: Callable[[], int], held: int = 0) -> int:
    """Return the result of the work in a fork, below a process that holds this much more than the tests."""
    end, start = os.pipe()

    def write() -> None:
        os.write(start, b"%d" % work())

    def hold() -> None:
        kept = take(held)
        assert os.waitpid(fork(write, [start]), 0)[1] == 0
        assert len(kept) == held

    parent = fork(hold, [start])
    os.close(start)
    with os.fdopen(end, "rb") as answer:
        text = answer.read()
    assert os.waitpid(parent, 0)[1] == 0
    return int(text)


@pytest.mark.parametrize("work", [keep, release, release_more_before, execute])
@pytest.mark.parametrize("held", [0, HELD], ids=["small parent", "large parent"])
def test_the_growth_of_a_child_is_what_it_takes_itself(work: Callable[[], int], held: int) -> None:
    assert 70 < in_fork(work, held) < 120


def test_a_child_that_takes_nothing_does_not_grow_by_what_its_parent_holds() -> None:
    assert in_fork(lambda: measure_growth()(), HELD) < 20
