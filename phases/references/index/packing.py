"""How the cache's rows are packed: what was parsed from a file, and the words of its pieces."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from phases.references.parse.ipc import LARGEST, parse_answer
from phases.references.parse.model import Parsed, Piece

CHUNK = 64
"""Pieces that are packed together at most."""
_LARGE = 64 * 1024
"""Characters after which a chunk ends, so that little is unpacked for one hit in a large file."""


class CacheUnusable(Exception):
    """The cache is not there, damaged, or made by another version: it is to be made anew."""


class Chunk(NamedTuple):
    """Some pieces of one file, in its order."""

    path: str
    """The words of its path."""
    pieces: tuple[Piece, ...]


def pack_parsed(parsed: Parsed) -> bytes:
    """All but the pieces."""
    return _pack_json([parsed.lines, parsed.symbols, parsed.imports, parsed.fault])


def unpack_parsed(data: bytes) -> Parsed:
    """What was packed, without pieces. Raises Unusable."""
    try:
        lines, symbols, imports, fault = _unpack_json(data)
        return parse_answer({"parsed": [lines, symbols, imports, (), fault]})
    except (ValueError, TypeError) as error:
        raise CacheUnusable(f"a row of the cache is damaged: {error}") from error


def chunks_of(path: str, pieces: Sequence[Piece]) -> Iterator[tuple[bytes, Sequence[Piece]]]:
    """Pieces in chunks, each packed and as it is."""
    start = size = 0
    for at, piece in enumerate(pieces):
        if at - start >= CHUNK or size >= _LARGE:
            yield _pack_json([path, pieces[start:at]]), pieces[start:at]
            start, size = at, 0
        size += len(piece.names) + len(piece.doc) + len(piece.body)
    if start < len(pieces):
        yield _pack_json([path, pieces[start:]]), pieces[start:]


def unpack_chunk(data: bytes) -> Chunk:
    """What was packed. Raises Unusable."""
    try:
        path, rows = _unpack_json(data)
        if not isinstance(path, str):
            raise ValueError("words that are none")
        return Chunk(path, parse_answer({"parsed": [0, (), (), rows, ""]}).pieces)
    except (ValueError, TypeError) as error:
        raise CacheUnusable(f"a row of the cache is damaged: {error}") from error


def parse_cached_json(text: str) -> Any:
    """What a text says. Raises Unusable."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CacheUnusable(f"a row of the cache is damaged: {error}") from error


def _pack_json(value: object) -> bytes:
    return zlib.compress(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), 1)


def _unpack_json(data: bytes) -> Any:
    try:
        opened = zlib.decompressobj()
        text = opened.decompress(data, LARGEST)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not opened.eof:
        raise ValueError("it is cut off, or larger than any that is written")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
