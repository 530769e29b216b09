"""Detect changes of a task by a cheap look at its files, for pages that listen."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Generic, TypeVar

from pipeline.engine.activity import NAME as ACTIVITY
from pipeline.engine.catalog import NAME as CATALOG
from pipeline.engine.lock import holder_of

_TASK = (
    *("state.jsonl", "state.json", "report.json", "initial_plan.txt", "plan_decision.json", "plan_review.json"),
    *("journal.jsonl", "plan_journal.jsonl", "logs/llm.jsonl", "logs/system.jsonl", "logs/words.jsonl"),
    *("kernel/supervisor-events.jsonl", ACTIVITY),
)
Signature = tuple[object, ...]
T = TypeVar("T")


class Newest(Generic[T]):
    """Keeps what was made last for each of so many keys, as long as its signature holds. A journal that grows leaves nothing."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[Hashable, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, signature: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            before = self._kept.get(key)
            if before and before[0] == signature:
                self._kept.move_to_end(key)
                return before[1]
        made = make()
        with self._lock:
            self._kept[key] = (signature, made)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


def file_signature(path: str) -> tuple[int, int]:
    """Return a value that changes with a file; zeros without one."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def task_signature(root: str) -> Signature:
    """Return a value that changes with anything a page of a task shows. Pages share a look for a second."""
    return _look_at_task(root, int(time.monotonic()))


def list_signature(folder: str) -> Signature:
    """Return a value that changes with the list of tasks."""
    return file_signature(os.path.join(folder, CATALOG))


@lru_cache(maxsize=256)
def _look_at_task(root: str, second: int) -> Signature:
    return (*(file_signature(os.path.join(root, name)) for name in _TASK), holder_of(root))
