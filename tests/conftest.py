"""Lets the tests run under nohup and in the background of a script: what is ignored there would stay so in all they start."""

from __future__ import annotations

import os
import signal


def _shrug(number: int, _frame: object) -> None:
    """Ignores a signal as SIG_IGN does, but a process that is started has its default again."""


def shrug_instead_of_ignoring() -> None:
    """The commands that tests start and stop must heed these signals, and the tests must still outlive a terminal."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        of_nohup = number == signal.SIGHUP and "PYTEST_XDIST_WORKER" in os.environ  # its parent may shrug as well
        if signal.getsignal(number) is signal.SIG_IGN or of_nohup:
            signal.signal(number, _shrug)


shrug_instead_of_ignoring()
