"""Server-sent events, read strictly: what is not an event stream is said to be none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pipeline.base.errors import FormatError

DONE = "[DONE]"
LARGEST_EVENT = 8 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")
_FIELD = re.compile(r"[A-Za-z][A-Za-z_-]{0,30}(:|$)")
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event; `name` is empty where the server gave none."""

    name: str
    data: str


def read_events(pieces: Iterable[bytes]) -> Iterator[Event]:
    """The events in the bytes of a stream, however these are cut. Raises FormatError for what is no event stream.

    An event that the stream's end cuts off is dropped, as the standard has it; only the end mark needs no empty line.
    """
    name, data, size = "", list[str](), 0
    for line in _lines(pieces):
        if line:
            if line.startswith(":"):
                continue
            if not _FIELD.match(line):
                raise FormatError(f"no event stream: it says {line[:80]!r}")
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
                size += len(value)
            elif field == "event":
                name = value
            if size > LARGEST_EVENT:
                raise FormatError("an event without an end")
            continue
        if data:
            yield Event(name, "\n".join(data))
        name, data, size = "", [], 0
    if data == [DONE]:
        yield Event(name, DONE)


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Lines, whichever way they end; the last one even without an end."""
    held, size, after_return, first = list[bytes](), 0, False, True
    for piece in filter(None, pieces):
        rest = piece.removeprefix(b"\n") if after_return else piece
        after_return = rest.endswith(b"\r") if rest else False
        *whole, rest = _LINE_END.split(rest)
        for part in whole:
            line = b"".join([*held, part])
            yield _text(line.removeprefix(_BOM) if first else line)
            held, size, first = [], 0, False
        if rest:
            held.append(rest)
            size += len(rest)
        if size > LARGEST_EVENT:
            raise FormatError("a line without an end")
    if held:
        line = b"".join(held)
        yield _text(line.removeprefix(_BOM) if first else line, cut_off=True)


def _text(line: bytes, *, cut_off: bool = False) -> str:
    try:
        return line.decode("utf-8", "ignore" if cut_off else "strict")
    except UnicodeDecodeError as error:
        raise FormatError(f"bytes that are not UTF-8 ({error.reason})") from error
