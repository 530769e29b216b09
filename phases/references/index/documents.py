"""Write indexes/<repository>.json row by row."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import distributions
from threading import get_native_id
from types import TracebackType
from typing import Any, BinaryIO, Self

from phases.references.index.sources import SourceFile
from phases.references.parse.ipc import GIVEN_UP
from phases.references.parse.model import VERSION, Parsed, Symbol
from pipeline.base.errors import FormatError
from pipeline.base.files import replace_file, storage_error, sync_directory, temporary_name
from pipeline.base.formats import dump_json_line
from pipeline.base.safe_tree import open_file

CheckRow = Callable[[dict[str, Any]], str | None]
_LARGEST = 2 * 1024**3


@dataclass
class Summary:
    """Counts of a document, and what identifies it."""

    files: int = 0
    symbols: int = 0
    languages: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    faults: int = 0
    sha256: str = ""
    bytes: int = 0
    manifest: str = ""
    """The digest of the manifest that it was made from."""
    made_by: str = ""

    def as_row(self) -> dict[str, Any]:
        return asdict(self)

    def count(self, row: dict[str, Any]) -> None:
        """Count a row of `files`."""
        self.files += 1
        self.symbols += len(row.get("symbols", ()))
        self.languages[row["language"]] = self.languages.get(row["language"], 0) + 1
        self.faults += "fault" in row

    def count_out(self, row: dict[str, Any]) -> None:
        """Count a row of `left_out`, by the words before a colon."""
        why = row["why"].partition(":")[0]
        self.left_out[why] = self.left_out.get(why, 0) + 1


def document_path(into: str, name: str) -> str:
    """Return the path of a repository's index document."""
    return os.path.join(into, name + ".json")


def row_of(source: SourceFile, parsed: Parsed) -> dict[str, Any]:
    """Return a row of `files`, without empty fields."""
    row: dict[str, Any] = {"path": source.path, "language": source.language, "bytes": source.bytes}
    row |= {"sha256": source.sha256, "lines": parsed.lines}
    if parsed.symbols:
        row["symbols"] = [_symbol_row(symbol) for symbol in parsed.symbols]
    if parsed.fault:
        row["fault"] = parsed.fault
    return row


class DocumentWriter:
    """A document while it is written, under a temporary name until finish()."""

    def __init__(self, into: str, head: tuple[str, str, str], check_row: CheckRow) -> None:
        """`head`: name of the repository, digest of its manifest, and what it is made by."""
        self._path, self._check = document_path(into, head[0]), check_row
        self._summary, self._digest = Summary(manifest=head[1], made_by=head[2]), hashlib.sha256()
        self._left_out: list[dict[str, str]] = []
        self._beside = temporary_name(f"{self._path}.{get_native_id()}")  # another process may write the same document
        _remove_temporary(self._beside)
        try:
            self._file = open_file(self._beside, "xb")  # finish() and abandon() close it
        except OSError as error:
            raise storage_error("write", self._beside, error) from error
        names = ("name", "manifest_sha256", "made_by")
        fields = (b'  "%s": %s' % (key.encode(), dump_json_line(value)) for key, value in zip(names, head, strict=True))
        self._put(b'{\n  "version": 1,\n' + b",\n".join(fields) + b',\n  "files": [')

    def add(self, row: dict[str, Any]) -> None:
        """Add a row of `files`; one that breaks the schema is left out and counted."""
        fault = self._check(row)
        try:
            line = dump_json_line(row)
        except FormatError as error:
            fault = str(error)
        if fault:
            self.leave_out(str(row["path"]).encode("utf-8", "replace").decode(), f"not valid: {fault}"[:300])
            return
        self._put((b",\n    " if self._summary.files else b"\n    ") + line)
        self._summary.count(row)

    def leave_out(self, path: str, why: str) -> None:
        """One row of `left_out`."""
        self._left_out.append({"path": path, "why": why})
        self._summary.count_out(self._left_out[-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove an unfinished document."""
        self._file.close()
        _remove_temporary(self._beside)

    def finish(self) -> Summary:
        """Move the document to its place, durably."""
        rows = b",".join(b"\n    " + dump_json_line(row) for row in self._left_out)
        self._put((b"\n  " if self._summary.files else b"") + b'],\n  "left_out": [' + rows)
        self._put((b"\n  " if rows else b"") + b"]\n}\n")
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._summary.bytes = self._file.tell()
            self._file.close()
            replace_file(self._beside, self._path)
            sync_directory(os.path.dirname(self._path))
        except OSError as error:
            raise storage_error("write", self._path, error) from error
        self._summary.sha256 = self._digest.hexdigest()
        return self._summary

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise storage_error("write", self._path, error) from error
        self._digest.update(data)


def _symbol_row(symbol: Symbol) -> dict[str, Any]:
    row: dict[str, Any] = {"name": symbol.name, "kind": symbol.kind, "line": symbol.line, "end": symbol.end}
    return row | {key: value for key in ("parent", "signature", "doc") if (value := getattr(symbol, key))}


def _remove_temporary(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # not there, or not ours to remove: the write that follows says so


def digest_of(path: str) -> tuple[str, int]:
    """Return the digest and size of a document. Raises FormatError if it is missing."""
    digest, size = hashlib.sha256(), 0
    with _open_document(path) as file:
        while part := file.read(1 << 20):
            digest.update(part)
            size += len(part)
    return digest.hexdigest(), size


def _open_document(path: str) -> BinaryIO:
    try:
        file = open_file(path)
    except OSError as error:
        raise FormatError(str(storage_error("read", path, error))) from error
    if os.fstat(file.fileno()).st_size > _LARGEST:
        file.close()
        raise FormatError(f"{path} is larger than any index")
    return file


_GRAMMARS = "tree-sitter"


def index_version() -> str:
    """`1, python 3.11, tree-sitter 0.26.1, c 0.24.2`: our version, and those of all that parses."""
    versions = {
        str(name).lower().replace("_", "-"): distribution.version
        for distribution in distributions()
        if (name := distribution.metadata["Name"]) and str(name).lower().startswith(("tree-sitter", "tree_sitter"))
    }
    grammars = [f"{name.removeprefix(_GRAMMARS + '-')} {versions[name]}" for name in sorted(versions)]
    return ", ".join((str(VERSION), f"python {sys.version_info[0]}.{sys.version_info[1]}", *grammars))


def file_version(by: str, parsed: Parsed) -> str:
    """Return the version of a file's row; a file that was given up has another one, so that the next run tries again."""
    return f"{by} (given up)" if parsed.fault.startswith(GIVEN_UP) else by
