"""Whether something has changed, by a cheap look at the files: what pages that listen are told of."""

from __future__ import annotations

import os
import time
from functools import lru_cache

from pipeline.engine.catalog import NAME as CATALOG
from pipeline.engine.lock import holder_of

_TASK = (
    *("state.jsonl", "state.json", "report.json", "initial_plan.txt", "plan_decision.json", "plan_review.json"),
    *("journal.jsonl", "plan_journal.jsonl", "logs/llm.jsonl", "logs/system.jsonl", "logs/words.jsonl"),
)
Signature = tuple[object, ...]


def file_signature(path: str) -> tuple[int, int]:
    """What changes when a file does; zeros where there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def task_signature(root: str) -> Signature:
    """What changes when anything does that a page of a task shows. Pages that ask within a second share a look."""
    return _look_at_task(root, int(time.monotonic()))


def list_signature(folder: str) -> Signature:
    """The same of the list of tasks."""
    return file_signature(os.path.join(folder, CATALOG))


@lru_cache(maxsize=256)
def _look_at_task(root: str, second: int) -> Signature:
    return (*(file_signature(os.path.join(root, name)) for name in _TASK), holder_of(root))
