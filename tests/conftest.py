"""What all tests share: signals that they can send, and directories that cost no time."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator

import pytest

from tests.rows import Later


def _shrug(number: int, _frame: object) -> None:
    """Ignores a signal as SIG_IGN does, but a process that is started has its default again."""


def shrug_instead_of_ignoring() -> None:
    """The commands that tests start and stop must heed these signals, and the tests must still outlive a terminal."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        of_nohup = number == signal.SIGHUP and "PYTEST_XDIST_WORKER" in os.environ  # its parent may shrug as well
        if signal.getsignal(number) is signal.SIG_IGN or of_nohup:
            signal.signal(number, _shrug)


shrug_instead_of_ignoring()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Puts the directories of tests into memory, where there is enough: on a disk, half of a test is waiting for its syncs.

    `--basetemp` chooses another place.
    """
    memory = "/dev/shm"
    on_workers = hasattr(config, "workerinput")  # they get theirs from the process that starts them
    if on_workers or config.option.basetemp:
        return
    if os.access(memory, os.W_OK):
        room = os.statvfs(memory)
        if room.f_bavail * room.f_frsize >= 4 * 2**30 and not room.f_flag & os.ST_NOEXEC:
            config.option.basetemp = tempfile.mkdtemp(prefix="pipeline-tests-", dir=memory)
            config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All tests are made at once, and then stay: the collector goes through them once, and not again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Make the large values of this test's row."""
    for name, value in pyfuncitem.funcargs.items():
        if isinstance(value, Later):
            pyfuncitem.funcargs[name] = value.make()


def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two cores: a test waits for the processes that it starts, and a fourth worker would need 500 MB more."""
    return 3 * (os.cpu_count() or 1) // 2 or 1
