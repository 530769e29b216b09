"""indexes/<repository>.json read back, a row at a time."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO

from phases.references.parse.frames import Nonsense, parsed_in
from phases.references.parse.parsed import Import, Parsed, Symbol
from pipeline.base.errors import FormatError, StorageError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json

_LARGEST_ROW = 64 * 1024 * 1024
_LARGEST = 2 * 1024**3
_HEAD_LINES = 5
_END = b"]\n}\n"


def digests_in(into: str) -> dict[str, str]:
    """The digest of each document's file name, as the last finished run wrote it to index.json; empty where none has."""
    try:
        rows = parse_json(read_bytes(os.path.join(into, "index.json")))["files"]
        return {os.path.basename(str(row["path"])): str(row["sha256"]) for row in rows}
    except (StorageError, FormatError, KeyError, TypeError):
        return {}


def head_of(path: str) -> tuple[str, str]:
    """The manifest's digest and what the document was made by; empty where it is not there or not of this shape."""
    try:
        with _opened(path) as file:
            lines = [file.readline(4096) for _ in range(_HEAD_LINES)]
        fields = parse_json(b"".join(lines).rstrip().rstrip(b",") + b"}")
        return str(fields.get("manifest_sha256", "")), str(fields.get("made_by", ""))
    except (OSError, FormatError, AttributeError):
        return "", ""


def digest_of(path: str) -> tuple[str, int]:
    """The digest and the size of a document, read in parts. Raises FormatError where it is not there."""
    digest, size = hashlib.sha256(), 0
    with _opened(path) as file:
        while part := file.read(1 << 20):
            digest.update(part)
            size += len(part)
    return digest.hexdigest(), size


def rows_in(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of a document as ("files" or "left_out", row). Raises FormatError where it is not ours to its last line."""
    part, end = "", b""
    with _opened(path) as file:
        for _ in range(_HEAD_LINES - 1):
            file.readline(4096)
        while line := file.readline(_LARGEST_ROW):
            if line.startswith(b'  "files": ['):
                part = "files"
            elif line.startswith(b'  "left_out": ['):
                part = "left_out"
            elif line.startswith(b"    {") and part:
                yield part, _row(path, line)
            end = end[-len(_END) :] + line[-len(_END) :]
    if part != "left_out" or not end.endswith(_END):
        raise FormatError(f"{path} is cut off")


def parsed_of(row: dict[str, Any]) -> Parsed:
    """What a row says was parsed, without pieces. Raises FormatError."""
    try:
        symbols = [Symbol(**one) for one in row.get("symbols", ())]
        imports = [Import(one["module"], tuple(one.get("names", ())), one["line"]) for one in row.get("imports", ())]
        return parsed_in({"parsed": [row["lines"], symbols, imports, (), row.get("fault", "")]})
    except (Nonsense, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"a row of an index is not as it is written: {error!r}"[:300]) from error


def _row(path: str, line: bytes) -> dict[str, Any]:
    row = parse_json(line.rstrip().rstrip(b","))
    words = (row.get(key, "") for key in ("path", "language", "sha256", "why")) if isinstance(row, dict) else (0,)
    if not all(isinstance(word, str) for word in words):
        raise FormatError(f"{path} has a row that is not as it is written")
    return dict(row)


def _opened(path: str) -> BinaryIO:
    """A regular file, without following a link or waiting at a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        os.close(descriptor)
        raise FormatError(f"{path} is no regular file, or larger than any index")
    return os.fdopen(descriptor, "rb")
