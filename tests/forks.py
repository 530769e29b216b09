"""Forks of the process of the tests: a piece of work in a process of its own, without the start of a Python and its imports."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence


def fork(work: Callable[[], object], keep: Sequence[int] = ()) -> int:
    """The number of a process that does this and ends, with code 1 where it fails. Of the open files it has `keep` alone."""
    child = os.fork()
    if child:
        return child
    try:
        last = 2
        for descriptor in sorted(keep):
            os.closerange(last + 1, descriptor)
            last = descriptor
        os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))
        work()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as a second run of the tests
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(1)
