"""Publish what the phases of a run are doing, one line each, for commands and pages in other processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress

from pipeline.base.errors import FormatError, StorageError
from pipeline.base.files import write_without_sync
from pipeline.base.formats import dump_json, parse_json
from pipeline.base.safe_tree import read_beneath

NAME = "logs/activity.json"
_LARGEST = 1 << 16


class Activity:
    """Lines of a run, by phase number. Losing one is harmless, so no failure to write is raised."""

    def __init__(self, root: str) -> None:
        self._path, self._lines, self._lock = os.path.join(root, NAME), dict[str, str](), threading.Lock()

    def note(self, phase: str, line: str) -> None:
        """Publish a line, from whichever thread."""
        with self._lock, suppress(StorageError):
            self._lines[phase] = line
            write_without_sync(self._path, dump_json(self._lines))

    def end(self) -> None:
        """Remove the lines: nothing is at work any more."""
        with self._lock, suppress(OSError):
            os.unlink(self._path)


def read_activity(root: str) -> Mapping[str, str]:
    """Return the lines by phase number; empty for none, and for a damaged file. Ask only while the task has a holder."""
    try:
        lines = parse_json(read_beneath(root, NAME, _LARGEST))
    except (OSError, FormatError):
        return {}
    return {str(phase): str(line) for phase, line in lines.items()} if isinstance(lines, dict) else {}
