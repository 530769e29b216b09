"""Files of one JSON object a line, as journals, ledgers and recordings are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pipeline.base.append import append_durable, append_soon
from pipeline.base.errors import FormatError, PhaseError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json

Row = dict[str, Any]


def read_rows(path: str, fits: Callable[[Row], bool], what: str, cure: str) -> list[Row]:
    """Every row of such a file; none where there is no file. Raises PhaseError, naming the line, for one that is no `what`."""
    return list(_rows(path, fits, what, cure)) if os.path.exists(path) else []


def append_row(path: str, row: Mapping[str, Any], *, durable: bool = True) -> None:
    """Adds a row, its keys in their order, so that what is read back is what was written.

    A durable one is on the disk when this returns, and so are those before it; any other survives a kill.
    """
    append_durable(path, row_line(row)) if durable else append_soon(path, row_line(row))


def row_line(row: Mapping[str, Any]) -> bytes:
    """A row as bytes, without its line end."""
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _rows(path: str, fits: Callable[[Row], bool], what: str, cure: str) -> Iterator[Row]:
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        if line.strip():
            try:
                row = parse_json(line, strict=False)
            except FormatError as error:
                raise PhaseError(f"{path}, line {number}: {error}; {cure}") from error
            if not isinstance(row, dict) or not fits(row):
                raise PhaseError(f"{path}, line {number}: not {what}; {cure}")
            yield row
