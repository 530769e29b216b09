"""Write one log a task: logs/system.jsonl, one JSON object a line; next to it the live words of models (words.jsonl).

The machine tells what it does with `log_event`, which needs no library. The work of the phases logs with loguru:

    from pipeline.base.logs import logger

    logger.info("{} references, {} with a repository", len(entries), count)
    logger.debug("{} is left out: {}", path, reason)

`logger` is loguru's own, imported at its first call (45 ms), so a module may import it at the top and cost nothing until it
logs. A line goes to the log of the task that a contextvar names; several tasks in one process stay apart. A thread that is
to log needs the context of its task: `contextvars.copy_context().run`. Outside a task nothing below WARNING is shown, and
for such a line loguru is not imported.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pipeline.base.files import storage_error
from pipeline.base.jsonl import last_line
from pipeline.base.safe_tree import open_regular

Echo = Callable[[str, str], None]
"""Shows a line of the log, by its level and its message, to the person who watches."""
WORDS = "words.jsonl"
_MOST_WORDS = 8 * 1024 * 1024
"""Largest file in bytes, after which it starts again. The journals hold every reply."""
_LOOK_BACK = 100
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT
_WARNING = 30
_FOR_A_TASK = ("trace", "debug", "info", "success")
_handlers: list[int] = []
_configuring = threading.Lock()
_current: ContextVar[TaskLog | None] = ContextVar("task_log", default=None)


class TaskLog:
    """The open log of one task. Lines are numbered, so that their order never depends on a clock."""

    def __init__(self, path: str, *, echo: Echo | None = None) -> None:
        self._echo, self._words, self._beside = echo, -1, os.path.join(os.path.dirname(path), WORDS)
        self._opening = threading.Lock()
        try:
            self._descriptor = open_regular(path, flags=_FLAGS)
            size = os.fstat(self._descriptor).st_size
            last = last_line(self._descriptor, size)
            if last and not last.endswith(b"\n"):
                os.write(self._descriptor, b"\n")
            self._sequence = _last_sequence(self._descriptor, size, last)
        except OSError as error:
            raise storage_error("log to", path, error) from error

    def write(self, level: str, message: str, **fields: Any) -> None:
        """Append one line. A log that cannot be written never ends a run: the documents hold what counts."""
        if self._echo:
            self._echo(level, message)
        self._sequence += 1
        line = {"seq": self._sequence, "at": utc_timestamp(), "level": level, "message": message, **fields}
        try:
            json.dumps(fields, default=str)
        except (TypeError, ValueError, RecursionError):
            line = {**line, **{name: repr(value) for name, value in fields.items()}}
        data = json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace")
        with suppress(OSError):
            os.write(self._descriptor, data + b"\n")

    def show_words(self, who: str, text: str) -> None:
        """Show words of a model here or in another terminal, without holding up the run."""
        if self._echo:
            self._echo(who, f"| {text}")
        with suppress(OSError), self._opening:
            if self._words < 0:
                self._words = open_regular(self._beside, flags=_FLAGS | os.O_TRUNC)
            if os.fstat(self._words).st_size > _MOST_WORDS:
                os.ftruncate(self._words, 0)
            os.write(self._words, json.dumps({"who": who, "text": text}).encode() + b"\n")

    def close(self) -> None:
        os.close(self._descriptor)
        if self._words >= 0:
            os.close(self._words)


@contextmanager
def task_log(path: str, *, echo: Echo | None = None) -> Iterator[TaskLog]:
    """Log everything inside to this file, and to `echo`."""
    log = TaskLog(path, echo=echo)
    token = _current.set(log)
    if "loguru" in sys.modules:  # a phase of the user's own may have imported it by itself
        _send_to_task_logs()
    try:
        yield log
    finally:
        _current.reset(token)
        log.close()


def log_event(message: str, *, level: str = "INFO", **fields: Any) -> None:
    """Add a line to the log of the task that is at work; outside a task it goes nowhere."""
    log = _current.get()
    if log:
        log.write(level, message, **fields)


def show_words(who: str, text: str) -> None:
    """Show a line that a model says, where the log of a task is open; outside a task it goes nowhere."""
    log = _current.get()
    if log:
        log.show_words(who, text)


def utc_timestamp(seconds: float | None = None) -> str:
    """Return a time in UTC, ISO 8601, to the millisecond."""
    moment = time.time() if seconds is None else seconds
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment * 1000) % 1000:03d}Z"


class _LazyLogger:
    """Stands for loguru's logger until something is logged."""

    def __getattr__(self, name: str) -> Any:
        if name in _FOR_A_TASK and _current.get() is None:
            return _ignore  # a worker, or a command without a task: the line would be lost
        import loguru  # late: 45 ms, which toy phases and commands that only look never pay

        _send_to_task_logs()
        return getattr(loguru.logger, name)


def _ignore(message: str, *_: Any, **__: Any) -> None:
    """Drops a line."""


if TYPE_CHECKING:
    from loguru import logger as logger
else:
    logger = _LazyLogger()


def _send_to_task_logs() -> None:
    """Make loguru, which was imported, write to the log of the task that is at work."""
    from loguru import logger as real  # late: 45 ms, see above

    with _configuring:
        if not _handlers:
            real.remove()
            # diagnose would write the values of variables into the log, and a key may be one of them
            _handlers.append(real.add(_write_record, level="DEBUG", format="{message}", diagnose=False))


def _write_record(message: Any) -> None:
    log, record = _current.get(), message.record
    if log is None:
        if record["level"].no >= _WARNING:
            sys.stderr.write(f"{record['level'].name}: {record['message']}\n")
        return
    fields = {"module": record["name"]}
    if record["extra"]:
        fields["extra"] = {str(name): str(value) for name, value in record["extra"].items()}
    if record["exception"]:
        fields["traceback"] = str(message)
    log.write(record["level"].name, record["message"], **fields)


def _last_sequence(descriptor: int, size: int, last: bytes) -> int:
    """Return the number of the last complete line, also before a torn one."""
    for _ in range(_LOOK_BACK):
        try:
            return int(json.loads(last)["seq"])
        except (ValueError, KeyError, TypeError, RecursionError):
            size -= len(last)
            if size <= 0:
                return 0
            last = last_line(descriptor, size)
    return 0
