"""Publish the words of a reply while they come, a line at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from phases.llm.redaction import redact_text

_LONGEST = 400
"""Longest line in characters: a longer one is shown in parts."""
_OVERLAP = 200
"""Characters of a part that wait for what follows: a key that a cut would split is not recognised."""
_LINE_END = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")
_KEY_BEGINS, _KEY_ENDS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?!.*-----END )"), "-----END "
ARGUMENTS = "arguments"


class LiveWords:
    """Takes a reply piece by piece, and shows lines without keys."""

    def __init__(self, show: Callable[[str], None], secrets: Sequence[str]) -> None:
        self._show, self._secrets = show, secrets
        self._kind, self._held = "", ""
        self._in_key = False

    def add(self, kind: str, piece: str) -> None:
        """Add a piece of a kind: text, reasoning, arguments of a call. Another kind begins a line."""
        if kind != self._kind:
            self.end()
            self._kind = kind
        may_end = "\n" in piece or (kind == ARGUMENTS and "\\" in self._held[-1:] + piece)
        self._held += piece
        if may_end:  # else a reply that comes letter by letter would be looked through for each of them
            *whole, self._held = self._split(self._held)
            for line in whole:
                self._tell(line)
        if len(self._held) > _LONGEST + _OVERLAP:
            clean = redact_text(self._held, self._secrets)
            self._tell(clean[:-_OVERLAP])
            self._held = clean[-_OVERLAP:]

    def end(self) -> None:
        """Show what has come of the last line."""
        self._tell(self._held)
        self._held, self._in_key = "", False

    def _split(self, text: str) -> list[str]:
        """Split into lines; in the arguments of a call, which are JSON, also within their strings."""
        return _LINE_END.split(text) if self._kind == ARGUMENTS else text.split("\n")

    def _tell(self, line: str) -> None:
        if self._kind == ARGUMENTS:
            line = _unescape(line)
        if self._in_key:  # a private key has many lines, of which one by itself looks like nothing
            self._in_key = _KEY_ENDS not in line
            line = line.partition(_KEY_ENDS)[2].partition("-----")[2]
        self._in_key = self._in_key or bool(_KEY_BEGINS.search(line))
        if line.strip():
            self._show(redact_text(line, self._secrets))


def _unescape(line: str) -> str:
    """Return the meaning of part of a JSON string; unchanged if it is cut in an escape, or contains JSON syntax."""
    try:
        text = json.loads(f'"{line}"', strict=False)
    except ValueError:
        return line.replace('\\"', '"').replace("\\t", "\t")
    return str(text)
