"""Batches of a task directory: batches.jsonl names the papers of each; their state is that of the tasks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.base.errors import FormatError
from pipeline.base.files import make_directory, read_bytes
from pipeline.base.formats import dump_json_line, parse_json
from pipeline.base.jsonl import append_durable, repair_tail
from pipeline.base.logs import utc_timestamp

NAME = "batches.jsonl"
_LARGEST = 64 << 20


class Batch(NamedTuple):
    """Arguments of one `batch`."""

    name: str
    at: str
    sources: tuple[str, ...]
    """Sources as the list of tasks names them."""

    @property
    def mark(self) -> str:
        """Return a mark that is equal for the same papers."""
        return hashlib.sha256("\n".join(sorted(self.sources)).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def record_batch(tasks_dir: str, words: Sequence[str], sources: Iterable[str]) -> None:
    """Note that a batch begins; `words` are those of the command line."""
    name = os.path.basename(words[0].rstrip(os.sep)) or words[0]
    name += f" and {len(words) - 1} more" if len(words) > 1 else ""
    path = os.path.join(tasks_dir, NAME)
    make_directory(tasks_dir)
    repair_tail(path)
    append_durable(path, dump_json_line({"version": 1, "at": utc_timestamp(), "name": name, "sources": [*sources]}))


def read_batches(tasks_dir: str) -> list[Batch]:
    """Return the batches, the newest first, each once. An unreadable line is skipped: nothing depends on it."""
    path = os.path.join(tasks_dir, NAME)
    if not os.path.isfile(path) or os.path.islink(path) or os.path.getsize(path) > _LARGEST:
        return []
    found: dict[str, Batch] = {}
    for line in reversed(read_bytes(path).splitlines()):
        try:
            row = parse_json(line)
        except FormatError:
            continue
        if isinstance(row, dict) and isinstance(row.get("sources"), list):
            batch = Batch(str(row.get("name", "")), str(row.get("at", "")), tuple(map(str, row["sources"])))
            found.setdefault(batch.mark, batch)
    return list(found.values())
