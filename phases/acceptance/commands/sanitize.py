"""What is left of a hostile text when it is shown: what a reader can see, in bounded length, without our own tag."""

from __future__ import annotations

import codecs
import re

from pipeline.base.text_escaping import UNSEEN

_HEAD_SHARE = 4
_ROOM_TO_SAY_SO = 60
_CONTINUES = range(0x80, 0xC0)
_SEQUENCES = re.compile(
    # No part of a sequence can begin another one, so the time is linear in the text. What is not closed ends with its line.
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x9c|\x1b\\\\)?"
    "|\x1b[ -/]*[0-~]?"
)
_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?acceptance\s*+[-_\u2010-\u2015\u2212]\s*+feedback)", re.IGNORECASE)


def strip_control(data: bytes | str, most: int) -> str:
    """What can be seen of it: its first quarter and its last three where it has more than `most` bytes of UTF-8."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    text = _SEQUENCES.sub("", text)
    if "\r" in text:
        text = "\n".join(map(_last_shown, text.split("\n")))
    return cut_middle(UNSEEN.sub("", text).encode(), most).decode()


def mask_tag(text: str) -> str:
    """The text with no `<acceptance-feedback` and no `</acceptance-feedback` in it, in whatever spelling; as long as before."""
    return _TAG.sub("[", text)


def cut_middle(data: bytes, most: int) -> bytes:
    """The beginning and the end of it, no character cut in two, with what is left out said in between."""
    if len(data) <= most:
        return data
    if most <= _ROOM_TO_SAY_SO:
        return tail_of(data, most)
    head = head_of(data, (most - _ROOM_TO_SAY_SO) // _HEAD_SHARE)
    tail = tail_of(data, most - _ROOM_TO_SAY_SO - len(head))
    return join_with_note(head, tail, len(data))


def join_with_note(head: bytes, tail: bytes, whole: int) -> bytes:
    """Both parts of something that had `whole` bytes, and what is missing, said in at most 60 bytes."""
    said = f"\n… {whole - len(head) - len(tail):,} bytes here are left out …\n"
    return head + said.encode() + tail


def head_of(data: bytes, most: int) -> bytes:
    """The first bytes, without a character at their end that is not all there."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[:most])
    return data[: min(most, len(data)) - len(decoder.getstate()[0])]


def tail_of(data: bytes, most: int) -> bytes:
    """The last bytes, without the rest of a character whose start is not among them."""
    if len(data) <= most:
        return data
    start = first = max(0, len(data) - most)
    while start < min(first + 3, len(data)) and data[start] in _CONTINUES:
        start += 1
    return data[start:]


def _last_shown(line: str) -> str:
    """Of a line that is written over and over, as progress is, what stands there at the end."""
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")
