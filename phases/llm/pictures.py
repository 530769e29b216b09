"""Pictures next to the text of a message: recognized by their first bytes, kept as files by their digest."""

from __future__ import annotations

import hashlib
import os
import struct
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pipeline.base.errors import PipelineError
from pipeline.base.files import make_directory, read_bytes, write_durable

LARGEST_PICTURE, LONGEST_SIDE = 3_500_000, 8_000
"""Limits that every vendor accepts, in bytes and in pixels."""
_PIXELS_A_TOKEN, _FEWEST, _MOST = 500, 1_000, 5_000
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_SIZES_IN_JPEG = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Marks of a JPEG's parts that say its size."""


@dataclass(frozen=True)
class Picture:
    media: str
    """image/png, image/jpeg, image/gif or image/webp."""
    width: int
    """Width in pixels, as is `height`."""
    height: int
    data: bytes = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def tokens(self) -> int:
        """Estimate the tokens of a picture, on the high side: vendors count pixels or tiles in different ways."""
        return min(_MOST, max(_FEWEST, self.width * self.height // _PIXELS_A_TOKEN))

    @cached_property
    def base64(self) -> str:
        return b64encode(self.data).decode()

    @property
    def data_url(self) -> str:
        return f"data:{self.media};base64,{self.base64}"

    def describe(self) -> str:
        return f"a picture ({self.media.partition('/')[2].upper()}, {self.width} x {self.height} pixels)"


def parse_picture(data: bytes) -> Picture | None:
    """Parse a picture by its first bytes; None for anything else, and for a broken one."""
    with suppress(struct.error, IndexError):
        if data.startswith(_PNG) and data[12:16] == b"IHDR":
            return _sized("image/png", struct.unpack(">II", data[16:24]), data)
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return _sized("image/gif", struct.unpack("<HH", data[6:10]), data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _parse_webp(data)
        if data.startswith(_JPEG):
            return _parse_jpeg(data)
    return None


def why_not_shown(picture: Picture) -> str:
    """Return why a picture cannot be shown to a model, or an empty string."""
    if len(picture.data) > LARGEST_PICTURE:
        return f"its {len(picture.data):,} bytes are over the limit of {LARGEST_PICTURE:,}"
    if max(picture.width, picture.height) > LONGEST_SIDE or not picture.width * picture.height:
        return f"its sides must have 1 to {LONGEST_SIDE:,} pixels"
    return ""


@dataclass(frozen=True)
class PictureStore:
    """Pictures shown to a model, in a directory of the task."""

    directory: str
    in_place: Callable[[], None]
    """Raises where the task was moved, before anything is written into it."""

    def keep(self, picture: Picture) -> dict[str, Any]:
        """Write its bytes, and return what a journal says of it."""
        self.in_place()
        make_directory(self.directory)
        path = self._path(picture.sha256)
        if not os.path.lexists(path):
            write_durable(path, picture.data)
        return {"media": picture.media, "sha256": picture.sha256, "bytes": len(picture.data)}

    def load(self, rows: Iterable[Mapping[str, Any]]) -> tuple[Picture, ...]:
        """Return a journal's pictures that still exist unchanged."""
        found: list[Picture] = []
        for row in rows:
            with suppress(PipelineError):
                picture = parse_picture(read_bytes(self._path(str(row["sha256"])), limit=LARGEST_PICTURE))
                if picture and picture.sha256 == row["sha256"]:
                    found.append(picture)
        return tuple(found)

    def _path(self, digest: str) -> str:
        return os.path.join(self.directory, os.path.basename(digest))


def _sized(media: str, size: tuple[Any, ...], data: bytes) -> Picture:
    width, height = size
    return Picture(media, width, height, data)


def _parse_webp(data: bytes) -> Picture | None:
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (1 + int.from_bytes(data[place : place + 3], "little") for place in (24, 27))
    elif kind == b"VP8 ":
        width, height = (side & 0x3FFF for side in struct.unpack("<HH", data[26:30]))
    elif kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    else:
        return None
    return Picture("image/webp", width, height, data)


def _parse_jpeg(data: bytes) -> Picture | None:
    place = 2
    while data[place] == 0xFF:
        mark, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        if mark in _SIZES_IN_JPEG:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return Picture("image/jpeg", width, height, data)
        place += 2 + max(length, 2)
    return None
