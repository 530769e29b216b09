"""Reads the members of a tar in one pass over its headers; names and sizes in them are a stranger's claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from phases.readers.reading import BROKEN, Unreadable

_BLOCK = 512
_LONGEST_HEADER = 1 << 16
_REGULAR, _FOLDER, _LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL = b"0\x007", b"5", b"L", b"K", b"xX", b"g"


@dataclass(frozen=True)
class Member:
    """One entry of an archive; `content(limit)` gives its bytes or raises Unreadable where they are more."""

    name: str
    refusal: str
    """Why it is left out: "folder", a kind that is no file; empty for a regular file."""
    content: Callable[[int], bytes]


def is_tar(data: bytes) -> bool:
    """Whether the bytes begin with a tar header, or are an empty tar."""
    header = data[:_BLOCK]
    return len(header) == _BLOCK and (_checks(header) or not any(data[: 2 * _BLOCK]))


def tar_members(data: bytes) -> Iterator[Member]:
    """Every member in order; also those that nobody should unpack, with the reason."""
    position, name, size = 0, "", -1
    while len(header := data[position : position + _BLOCK]) == _BLOCK and any(header):
        if not _checks(header):
            raise Unreadable(BROKEN, "the tar archive is damaged")
        kind, length = header[156:157], _number(header[124:136])
        start = position + _BLOCK
        if kind in (_LONG_NAME, _LONG_LINK) or kind in _PAX or kind == _PAX_FOR_ALL:
            extra = data[start : start + min(length, _LONGEST_HEADER)]
            if kind == _LONG_NAME:
                name = _text(extra)
            elif kind in _PAX:
                records = _pax(extra)
                name, size = records.get("path", name), int(records.get("size", str(size)))
            member = Member("", "folder", lambda limit: b"")  # it counts as one, a flood of them is refused
        else:
            length = size if size >= 0 else length
            member = _member(data, header, start, length, name)
            name, size = "", -1
        if length > len(data) - start:
            raise Unreadable(BROKEN, "the tar archive ends too early")
        yield member
        position = start + -(-length // _BLOCK) * _BLOCK


def _member(data: bytes, header: bytes, start: int, length: int, name: str) -> Member:
    def read(limit: int) -> bytes:
        if length > limit:
            raise Unreadable(BROKEN, f"it unpacks to more than {limit >> 20} MiB")
        return data[start : start + length]

    prefix = _text(header[345:500]) if header[257:263] == b"ustar\x00" else ""
    own = _text(header[:100])
    name = name or (f"{prefix}/{own}" if prefix else own)
    kind = header[156:157]
    if kind == _FOLDER or (kind in _REGULAR and name.endswith("/")):
        return Member(name, "folder", read)
    return Member(name, "" if kind in _REGULAR else "no regular file", read)


def _checks(header: bytes) -> bool:
    """Whether the header's own sum is right."""
    try:
        claimed = int(header[148:156].split(b"\x00")[0].strip() or b"x", 8)
    except ValueError:
        return False
    return claimed == sum(header) - sum(header[148:156]) + 8 * 32


def _number(field: bytes) -> int:
    """A size: octal digits, or binary where the first bit is set."""
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    try:
        size = int(field.split(b"\x00")[0].strip() or b"0", 8)
    except ValueError:
        size = -1
    if size < 0:
        raise Unreadable(BROKEN, "the tar archive is damaged")
    return size


def _text(field: bytes) -> str:
    """A name, up to its first NUL."""
    raw = field.split(b"\x00", 1)[0]
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _pax(extra: bytes) -> dict[str, str]:
    """The records `length key=value` of an extended header, as far as they are sound."""
    records: dict[str, str] = {}
    position = 0
    while position < len(extra):
        space = extra.find(b" ", position, position + 8)
        digits = extra[position:space] if space > 0 else b""
        if not digits.isdigit() or int(digits) <= space - position:
            break
        key, _, value = extra[space + 1 : position + int(digits) - 1].partition(b"=")
        text = value.decode("utf-8", "replace")
        if key == b"path" or (key == b"size" and value.isdigit() and len(value) < 16):
            records[key.decode()] = text
        position += int(digits)
    return records
