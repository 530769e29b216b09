"""hooks/events.jsonl: what hooks did and what was decided, a line each, for people and programs that look on.

Nothing is ever read back from it: the journal holds what counts. A disk that says no to it changes nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pipeline.base.errors import StorageError
from pipeline.base.files import make_directory
from pipeline.base.jsonl import append_without_sync, row_line

FILE = "events.jsonl"
_LONGEST = 4096


class HookEvents:
    """The event log of one task."""

    def __init__(
        self,
        folder: str,
        in_place: Callable[[], None] = lambda: None,
        clean: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        """`clean` takes out what may be in no file."""
        self._folder, self._in_place, self._clean = folder, in_place, clean

    def emit(self, event: str, **fields: Any) -> None:
        """Adds one line. Texts are cut at 4 KiB."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        kept = self._clean(fields)
        cut = {name: value[:_LONGEST] if isinstance(value, str) else value for name, value in kept.items()}
        with contextlib.suppress(StorageError, OSError):
            self._in_place()
            make_directory(self._folder)
            append_without_sync(os.path.join(self._folder, FILE), row_line({"at": at, "event": event, **cut}))
