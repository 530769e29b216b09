"""Recordings of agents that loop on a failing test: one that is led out of it, and one that supervision stops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phases.llm.model import Reply, ToolCall, reply_to_json
from tests.drills import scenes
from tests.drills.ground import Ground

Turn = Sequence[tuple[str, dict[str, Any]]]
"""The calls of one reply; one without calls says that the work is done."""

_CODE = {
    str(arguments["file_path"]): str(arguments["content"])
    for _, _, (_, calls) in scenes.SAID
    for name, arguments in calls
    if name == "Write"
}
RIGHT = _CODE["decay.py"].replace("BETA * before\n", "BETA * weight\n")
"""decay.py as the test wants it."""
_CHECK: Turn = [("Bash", {"command": scenes.CHECK})]
_LOOK: Turn = [("Read", {"file_path": "decay.py"})]
_NOTE: Turn = [("TodoWrite", {"todos": [{"content": "check it", "status": "completed"}]})]
_DONE: Turn = []


def _write(*paths: str) -> Turn:
    return [("Write", {"file_path": path, "content": _CODE[path]}) for path in paths]


def _decay(content: str) -> Turn:
    return [("Write", {"file_path": "decay.py", "content": content})]


def _wrong(number: int) -> Turn:
    """Another decay.py, which fails in just the same way."""
    return _decay(_CODE["decay.py"].replace("    return", f"    attempt = {number}\n    return"))


_FIRST = (
    _write("config.py"),
    _write("decay.py"),
    _write("data.py", "tests/__init__.py"),
    _write("tests/test_decay.py"),
)


def _tries(count: int) -> list[Turn]:
    return [turn for number in range(count) for turn in (_CHECK, _wrong(number))]


LED: Sequence[Turn] = (
    *_FIRST,
    *_tries(4),  # hints after turns 9 and 12
    _CHECK,  # it fails in one way for the fifth time, which is the reason of a takeover
    _decay(RIGHT),  # turn 14
    _CHECK,
    _NOTE,
    _CHECK,
    _NOTE,
    _CHECK,
    [("Bash", {"command": "echo done >> log.txt"})],
    _LOOK,
    _DONE,
)
"""Mends it when it is led."""
STOPS_AT = 21
"""The turn after which supervision stops the run that does not recover, for the first time."""
LOST: Sequence[Turn] = (*_FIRST, *_tries(40), _LOOK, _decay(RIGHT), _CHECK, _DONE)
"""Never mends it while it is led. Once it goes on it is stopped again, and again, until it mends it at the end."""

SOUND: Sequence[Turn] = (*_FIRST, _decay(RIGHT), _CHECK, _DONE, _DONE)
"""Makes no detour, and says twice that it is done: a hook may refuse it once."""


def looping(base: Path, turns: Sequence[Turn], *words: str) -> Ground:
    """The real phases on the small paper, with a recording of these turns; `words` are added to the command."""
    base.mkdir(parents=True, exist_ok=True)
    path = base / "recording.jsonl"
    replies = [("plan", 1, Reply("ok", json.dumps(scenes.PLAN)))]
    for turn, calls in enumerate(turns, 1):
        named = tuple(ToolCall(f"c{place}", name, arguments) for place, (name, arguments) in enumerate(calls))
        replies.append(("implement", turn, Reply("ok", "" if named else "Done.", named)))
    rows = [
        {"kind": "reply", "key": {"thread": thread, "turn": turn}, "result": reply_to_json(reply)}
        for thread, turn, reply in replies
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return scenes.modelled(base, "--model", f"replay:{path}", *words)
