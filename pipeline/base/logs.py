"""One log a task: logs/system.jsonl, one JSON object a line.

Two ways lead there. The machine tells the story of a run with `story`, which costs nothing to import. Everybody else uses
loguru as usual: whatever is logged inside a task goes to that task's file, found by a contextvar, so several tasks in one
process do not mix. loguru itself takes 45 ms to import, so it is wired up when somebody imports it and not before.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.machinery import PathFinder
from typing import Any

from pipeline.base.files import storage_error
from pipeline.base.jsonl import last_line

_LOOK_BACK = 100
_current: ContextVar[TaskLog | None] = ContextVar("task_log", default=None)


class TaskLog:
    """The open log of one task. Lines are numbered, so that their order never depends on a clock."""

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags, 0o644)
            size = os.fstat(self._descriptor).st_size
            last = last_line(self._descriptor, size)
            if last and not last.endswith(b"\n"):
                os.write(self._descriptor, b"\n")
            self._sequence = _last_sequence(self._descriptor, size, last)
        except OSError as error:
            raise storage_error("log to", path, error) from error

    def write(self, level: str, message: str, **fields: Any) -> None:
        """Appends one line. A log that cannot be written never ends a run: the documents hold what counts."""
        self._sequence += 1
        line = {"seq": self._sequence, "at": utc_timestamp(), "level": level, "message": message, **fields}
        try:
            json.dumps(fields, default=str)
        except (TypeError, ValueError, RecursionError):
            line = {**line, **{name: repr(value) for name, value in fields.items()}}
        try:
            os.write(
                self._descriptor, json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
            )
        except OSError:
            return

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def task_log(path: str) -> Iterator[TaskLog]:
    """Inside, everything that is logged goes to this file."""
    log = TaskLog(path)
    token = _current.set(log)
    attach_loguru()
    try:
        yield log
    finally:
        _current.reset(token)
        log.close()


def log_event(message: str, *, level: str = "INFO", **fields: Any) -> None:
    """A line of the run's story, in the current task's log; outside a task it goes nowhere."""
    log = _current.get()
    if log:
        log.write(level, message, **fields)


def utc_timestamp(seconds: float | None = None) -> str:
    """UTC, ISO 8601, to the millisecond."""
    moment = time.time() if seconds is None else seconds
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment * 1000) % 1000:03d}Z"


def attach_loguru() -> None:
    """Sends loguru to the task logs: now if it is imported already, else at the moment that somebody imports it."""
    if "loguru" in sys.modules:
        _configure()
    elif not any(isinstance(finder, _LoguruWatcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _LoguruWatcher())


class _LoguruWatcher:
    """An import hook that looks out for one name and takes itself out when it has seen it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "loguru":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_then_configure(module: Any) -> None:
                execute(module)
                _configure()

            spec.loader.exec_module = execute_then_configure  # type: ignore[method-assign]
        return spec


_configured: list[int] = []


def _configure() -> None:
    if not _configured:
        from loguru import logger

        logger.remove()
        _configured.append(logger.add(_from_loguru, level="DEBUG", format="{message}"))


def _from_loguru(message: Any) -> None:
    log, record = _current.get(), message.record
    if log is None:
        sys.stderr.write(f"{record['level'].name}: {record['message']}\n")
        return
    fields = {"module": record["name"]}
    if record["extra"]:
        fields["extra"] = {str(name): str(value) for name, value in record["extra"].items()}
    if record["exception"]:
        fields["traceback"] = str(message)
    log.write(record["level"].name, record["message"], **fields)


def _last_sequence(descriptor: int, size: int, last: bytes) -> int:
    """The number of the last line that has one; a torn line has none, so the one before it is asked."""
    for _ in range(_LOOK_BACK):
        try:
            return int(json.loads(last)["seq"])
        except (ValueError, KeyError, TypeError, RecursionError):
            size -= len(last)
            if size <= 0:
                return 0
            last = last_line(descriptor, size)
    return 0
