"""indexes/<repository>.json read back, a row at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from phases.reference.parse.parsed import Import, Parsed, Symbol
from pipeline.errors import FormatError
from pipeline.formats import parse_json

_LARGEST_ROW = 64 * 1024 * 1024
_HEAD_LINES = 5


def head_of(path: str) -> tuple[str, str]:
    """The manifest's digest and what the document was made by; empty where it is not there or not of this shape."""
    try:
        with open(path, "rb") as file:
            lines = [file.readline(4096) for _ in range(_HEAD_LINES)]
        fields = parse_json(b"".join(lines).rstrip().rstrip(b",") + b"}")
        return str(fields.get("manifest_sha256", "")), str(fields.get("made_by", ""))
    except (OSError, FormatError, AttributeError):
        return "", ""


def digest_of(path: str) -> tuple[str, int]:
    """The digest and the size of a document, read in parts."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
            size += len(part)
    return digest.hexdigest(), size


def rows_in(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of a document as ("files" or "left_out", row). Raises FormatError where the shape is not ours."""
    part = ""
    with open(path, "rb") as file:
        for _ in range(_HEAD_LINES - 1):
            file.readline(4096)
        while line := file.readline(_LARGEST_ROW):
            if line.startswith(b'  "files": ['):
                part = "files"
            elif line.startswith(b'  "left_out": ['):
                part = "left_out"
            elif line.startswith(b"    {") and part:
                yield part, parse_json(line.rstrip().rstrip(b","))


def parsed_of(row: dict[str, Any]) -> Parsed:
    """What a row says was parsed, without pieces."""
    symbols = tuple(Symbol(**one) for one in row.get("symbols", ()))
    imports = tuple(Import(one["module"], tuple(one.get("names", ())), one["line"]) for one in row.get("imports", ()))
    return Parsed(row["lines"], symbols, imports, (), row.get("fault", ""))
