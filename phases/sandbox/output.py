"""Bound the output of a command to its beginning and end, and make it harmless on a terminal."""

from __future__ import annotations

import codecs

from pipeline.base.text_escaping import escape_text

LARGEST_OUTPUT = 20_000
_HEAD_SHARE = 4
_ROOM_TO_SAY_SO = 60
_CONTINUES = range(0x80, 0xC0)


class OutputBuffer:
    """Takes in any number of bytes, and holds a first quarter and a last three of them, `most` together."""

    def __init__(self, most: int = LARGEST_OUTPUT) -> None:
        self.taken = 0
        self._most, self._room = most, most // _HEAD_SHARE
        self._head, self._tail = b"", bytearray()

    def add(self, piece: bytes) -> None:
        self.taken += len(piece)
        room = self._room - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        del self._tail[: self._room - self._most]

    def is_whole(self) -> bool:
        return self.taken <= self._most

    def data(self) -> bytes:
        """Return the kept output, at most `most` bytes, with a note on what is left out."""
        if self.is_whole():
            return self._head + self._tail
        head, tail = (
            head_of(self._head, self._room),
            tail_of(bytes(self._tail), self._most - self._room - _ROOM_TO_SAY_SO),
        )
        return _join_ends(head, tail, self.taken)

    def text(self) -> str:
        """Return the output as text that is safe to show."""
        return escape_unseen(self.data().decode("utf-8", "replace"))


def escape_unseen(text: str) -> str:
    """Return the text with everything spelled out that would change a terminal, or be hidden from a reader."""
    return escape_text(text.replace("\r\n", "\n"))


def cut_middle(data: bytes, most: int) -> bytes:
    """Return its beginning and end without cutting a character, with a note on what is left out."""
    if len(data) <= most:
        return data
    if most <= _ROOM_TO_SAY_SO:
        return tail_of(data, most)
    head = head_of(data, (most - _ROOM_TO_SAY_SO) // _HEAD_SHARE)
    return _join_ends(head, tail_of(data, most - _ROOM_TO_SAY_SO - len(head)), len(data))


def head_of(data: bytes, most: int) -> bytes:
    """Return the first bytes, without an incomplete character at their end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[:most])
    return data[: min(most, len(data)) - len(decoder.getstate()[0])]


def tail_of(data: bytes, most: int) -> bytes:
    """Return the last bytes, without an incomplete character at their start."""
    if len(data) <= most:
        return data
    start = first = max(0, len(data) - most)
    while start < min(first + 3, len(data)) and data[start] in _CONTINUES:
        start += 1
    return data[start:]


def _join_ends(head: bytes, tail: bytes, whole: int) -> bytes:
    """Join both ends of `whole` bytes, with a note of at most 60 bytes on what is missing."""
    return head + f"\n… {whole - len(head) - len(tail):,} bytes left out here …\n".encode() + tail
