"""Start threads, and run tasks that mostly wait in parallel."""

from __future__ import annotations

import errno
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from pipeline.base.errors import PipelineError, StorageError

Result = TypeVar("Result")
_SHORT = "can't start new thread"
"""The text of the RuntimeError that Python raises where the system refuses a thread."""


@contextmanager
def reporting_thread_shortage() -> Iterator[None]:
    """Raise StorageError if the machine refuses to start a thread inside."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != _SHORT:
            raise
        why = f"the machine starts no more threads: {os.strerror(errno.EAGAIN)} (EAGAIN)"
        advice = "end other programs, or raise the limits on processes and memory, and type the command again"
        raise StorageError(f"{why}; {advice}", code=errno.EAGAIN) from error


def start_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """Start a daemon thread: it does not keep the process alive. Raise StorageError where the machine refuses it."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    with reporting_thread_shortage():
        thread.start()
    return thread


def run_side_by_side(work: Mapping[str, Callable[[], Result]], most: int) -> dict[str, Callable[[], Result]]:
    """Do the work in at most `most` threads; return when all of it is over. A signal ends the wait.

    Each key gets a function that returns its result, or raises its PipelineError.
    """
    waiting, over = queue.SimpleQueue[str](), queue.SimpleQueue[str]()
    results: dict[str, Result] = {}
    errors: dict[str, PipelineError] = {}
    for key in work:
        waiting.put(key)

    def run() -> None:
        while not waiting.empty():
            with suppress(queue.Empty):
                key = waiting.get_nowait()
                try:
                    results[key] = work[key]()
                except PipelineError as error:
                    errors[key] = error
                finally:
                    over.put(key)

    def give(key: str) -> Result:
        if key in errors:
            raise errors[key]
        if key not in results:
            raise RuntimeError(f"a thread ended in {key} with a bug; its traceback is on stderr")
        return results[key]

    for _ in range(min(most, len(work))):
        start_thread(partial(copy_context().run, run), "side by side")
    for _ in work:
        over.get()
    return {key: partial(give, key) for key in work}
