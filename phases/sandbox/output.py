"""What is kept of the output of a command: a bounded beginning and end, harmless on a terminal."""

from __future__ import annotations

import re

LARGEST_OUTPUT = 20_000
_HEAD = LARGEST_OUTPUT // 4
_TAIL = LARGEST_OUTPUT - _HEAD
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What moves a cursor, turns the direction of writing, or cannot be seen; tab and line feed are none of these."""
_CONTINUES = range(0x80, 0xC0)


class OutputBuffer:
    """Takes in any number of bytes and holds at most 20,000 and one piece more of them."""

    def __init__(self) -> None:
        self.taken = 0
        self._head = b""
        self._tail = bytearray()

    def add(self, piece: bytes) -> None:
        """The next bytes."""
        self.taken += len(piece)
        room = _HEAD - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        del self._tail[:-_TAIL]

    def text(self) -> str:
        """What is kept, with what is left out said in between."""
        left_out = self.taken - len(self._head) - len(self._tail)
        if not left_out:
            return escape_unseen((self._head + self._tail).decode("utf-8", "replace"))
        head, tail = _drop_cut_end(self._head), _drop_cut_start(bytes(self._tail))
        left_out = self.taken - len(head) - len(tail)
        first, last = (escape_unseen(part.decode("utf-8", "replace")) for part in (head, tail))
        return f"{first}\n… {left_out:,} bytes here are left out …\n{last}"


def escape_unseen(text: str) -> str:
    """The text with everything spelled out that would change a terminal, or be hidden from a reader."""
    return _UNSEEN.sub(lambda found: ascii(found.group())[1:-1], text.replace("\r\n", "\n"))


def _drop_cut_end(data: bytes) -> bytes:
    """Without a character at the end that is not all there."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte in _CONTINUES:
            continue
        needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[:-back] if needed > back else data
    return data


def _drop_cut_start(data: bytes) -> bytes:
    """Without the rest of a character whose start is not there."""
    start = 0
    while start < min(3, len(data)) and data[start] in _CONTINUES:
        start += 1
    return data[start:]
