"""The journal as Claude Code writes its transcripts, a JSON object a line: hooks that were written for it read what the agent
said and did there. Nothing is ever read back from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pipeline.base.errors import StorageError
from pipeline.base.files import make_directory, write_without_sync
from pipeline.base.jsonl import append_without_sync

FILE = "transcript.jsonl"
Row = Mapping[str, Any]


class Transcript:
    """The transcript of one run. It grows with the journal, and begins anew with each start of the run."""

    def __init__(
        self, path: str, session: str, cwd: str, rows: Callable[[], Sequence[Row]], in_place: Callable[[], None]
    ) -> None:
        """`rows`: of the journal, as they are by now."""
        self.path, self._session, self._cwd, self._rows, self._in_place = path, session, cwd, rows, in_place
        self._seen = self._written = 0

    def write(self) -> None:
        """Brings it up to date. A disk that says no to it keeps no hook from running."""
        rows = self._rows()
        lines = [self._line(entry) for row in rows[self._seen :] for entry in _entries_of(row)]
        with contextlib.suppress(StorageError, OSError):
            self._in_place()
            make_directory(os.path.dirname(self.path))
            if not self._seen:
                write_without_sync(self.path, b"")
            if lines:
                append_without_sync(self.path, b"\n".join(lines))
            self._seen = len(rows)

    def _line(self, entry: Mapping[str, Any]) -> bytes:
        before, self._written = self._written, self._written + 1
        line = {
            "parentUuid": self._name(before) if before else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self._session,
            **entry,
            "uuid": self._name(self._written),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def _name(self, number: int) -> str:
        # No random ones: the transcript is written anew with each start, and an entry must keep its name.
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._session}/{number}"))


def _entries_of(row: Row) -> Iterator[dict[str, Any]]:
    """What a row of the journal is in a transcript: nothing, where the model neither said it nor was told it."""
    kind, result = row["kind"], row["result"]
    if kind == "reply" and result["outcome"] == "ok":
        yield {"type": "assistant", "message": _assistant_message(row["key"]["turn"], result)}
    elif kind == "result":
        yield _user_entry([_tool_result(row["key"]["call"], result)])
        for text in result.get("hooks_say", ()):
            yield _user_entry(text)
    elif kind == "verdict" and result["feedback"]:
        yield _user_entry(result["feedback"])
    elif kind == "tables":
        yield _user_entry(result["text"])
    elif kind == "said":
        for text in result["texts"]:
            yield _user_entry(text)


def _assistant_message(turn: int, reply: Row) -> dict[str, Any]:
    said = [{"type": "text", "text": reply["text"]}] if reply.get("text") else []
    calls = [
        {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
        for call in reply["calls"]
    ]
    return {
        "id": f"msg_{turn}",
        "type": "message",
        "role": "assistant",
        "model": reply["model"],
        "content": [*said, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": reply["tokens_in"], "output_tokens": reply["tokens_out"]},
    }


def _tool_result(call: str, result: Row) -> dict[str, Any]:
    return {"tool_use_id": call, "type": "tool_result", "content": result["text"], "is_error": result["failed"]}


def _user_entry(content: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}}
