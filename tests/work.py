"""The only clocks of the tests: count the work of a call, end what hangs, wait until something happens.

No test compares a duration: a slower machine must not fail it. `assert_linear` compares the work of an input with that of
one twice as long. `must_end` and `wait_until` have generous limits, and one verdict each: it hangs, it never happened.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _typeshed import TraceFunction

HUNG = 300.0
"""Seconds after which something hangs, on a machine however busy."""
_LINEAR = 2.4
"""How many times the work may grow with an input twice as long; it grows four times where it takes the square."""


def count_steps(work: Callable[[], object]) -> int:
    """Return how many lines of Python and calls of C a piece of work takes. What happens inside of C is one step."""
    steps = 0

    def count_lines(frame: FrameType, event: str, value: object) -> TraceFunction:
        nonlocal steps
        steps += 1
        return count_lines

    def count_calls(frame: FrameType, event: str, value: object) -> None:
        nonlocal steps
        steps += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.setprofile(count_calls)
    sys.settrace(count_lines)
    try:
        work()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return steps


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Assert that twice the input takes about twice the steps; `work` gets the size of its input."""
    work(2)  # imports and caches are paid for here
    once, twice = (count_steps(lambda: work(many)) for many in (size, 2 * size))  # noqa: B023
    assert twice <= _LINEAR * once, f"{once:,} steps for {size:,}, {twice:,} for twice as many"


@contextmanager
def must_end(seconds: float = HUNG) -> Iterator[None]:
    """Fail the test where this hangs. What does not even heed the signal is killed, with the process of the tests."""

    def fail(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"it hangs: no end after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(2 * seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def wait_until(holds: Callable[[], object], what: str = "", seconds: float = HUNG) -> None:
    """Wait until something holds. The only failure is that it never happens."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"it never happened: {what or holds}")
        time.sleep(0.01)


def wait_until_after(moment: int) -> None:
    """Wait until the clock of the files, in nanoseconds, is past a moment."""
    wait_until(lambda: time.time_ns() > moment, "the clock goes on")


def deadline_in(seconds: float) -> float:
    """Return a moment of the clock that product code takes its deadlines from."""
    return time.monotonic() + seconds


def is_over(deadline: float) -> bool:
    return time.monotonic() >= deadline
