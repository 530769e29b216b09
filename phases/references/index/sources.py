"""Read back the files of a fetched repository, unchanged or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from phases.references.parse.file_kinds import language_of, why_left_out
from pipeline.base.errors import PhaseError, StorageError
from pipeline.base.files import read_bytes, sha256
from pipeline.base.formats import parse_json

LARGEST = 16 * 1024 * 1024
"""Bytes of a file; what is larger is not read at all."""
CHANGED = "changed since it was fetched"
_HEAD = 8192


class SourceFile(NamedTuple):
    """One file of a manifest, and why it is left out or else its language."""

    path: str
    bytes: int
    sha256: str
    language: str
    why: str
    """The reason for not indexing it; empty if it is indexed."""


class FetchedRepository:
    """A repository in code_base, read without following a link."""

    def __init__(self, code_base: str, name: str) -> None:
        self.name = name
        self._root = os.path.join(os.path.realpath(code_base), name)
        self._manifest = os.path.join(code_base, name + ".json")
        self._safe: dict[str, bool] = {"": not os.path.islink(self._root)}

    def manifest(self) -> tuple[bytes, dict[str, Any]]:
        """code_base/<name>.json, as bytes and parsed."""
        data = read_bytes(self._manifest)
        manifest = parse_json(data)
        if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), list):
            raise PhaseError(f"{self._manifest} lists no files (written by phase 07); fetch the repository again")
        return data, manifest

    def read(self, path: str, digest: str) -> bytes | None:
        """Return the bytes of a file if they match the manifest."""
        if not self._is_inside(os.path.dirname(path)) or os.path.basename(path) in ("", ".", ".."):
            return None
        try:
            data = read_bytes(os.path.join(self._root, path), limit=LARGEST)
        except StorageError:
            return None
        return data if sha256(data) == digest else None

    def source(self, row: Mapping[str, Any]) -> SourceFile:
        """Return a row of the manifest with its language, or why it is left out."""
        path, size, digest = str(row["path"]), int(row["bytes"]), str(row["sha256"])
        why = "huge" if size > LARGEST else why_left_out(path, size, b"")
        if why:
            return SourceFile(path, size, digest, "", why)
        data = self.read(path, digest)
        if data is None:
            return SourceFile(path, size, digest, "", CHANGED)
        head = data[:_HEAD]
        language = language_of(path, head)
        why = why_left_out(path, size, head) or ("" if language else "not text")
        return SourceFile(path, size, digest, language or "", why)

    def _is_inside(self, folder: str) -> bool:
        """Return whether a directory is the repository's own, reached without a link."""
        if folder not in self._safe:
            parent, name = os.path.split(folder)
            place = os.path.join(self._root, folder)
            plain = name not in ("", ".", "..") and "\0" not in name and not folder.startswith("/")
            self._safe[folder] = plain and self._is_inside(parent) and not os.path.islink(place)
        return self._safe[folder]


def invalid_name(names: Iterable[str]) -> str | None:
    """Return the first name that cannot name a repository in paths and documents."""
    fits = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,199}")
    return next((name for name in names if not fits.fullmatch(name) or name == "index"), None)
