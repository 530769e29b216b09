"""Reads the manifest of a repository, and believes nothing of its shape: the folder may come from a stranger."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from phases.references.fetch.git_objects import OID
from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json
from pipeline.base.safe_tree import read_beneath

_LARGEST_MANIFEST = 64 * 2**20
_DIGEST = re.compile(r"[0-9a-f]{64}")
Manifest = dict[str, Any]


def manifest_path(name: str, into: str) -> str:
    """Where the manifest of a repository lies."""
    return os.path.join(into, f"{name}.json")


def manifest_of(name: str, into: str) -> Manifest | None:
    """The manifest under this name, also one that is damaged or of another version; None where none is ours."""
    try:
        value = parse_json(read_beneath(into, f"{name}.json", _LARGEST_MANIFEST))
    except (OSError, FormatError, ValueError):
        return None
    if not isinstance(value, dict) or value.get("name") != name:
        return None
    return value if len(value.keys() & _CHECKS.keys()) > len(_CHECKS) // 2 else None


def is_sound(manifest: Mapping[str, Any]) -> bool:
    """Whether all that a manifest must say is there, and of its kind."""
    if manifest.keys() != _CHECKS.keys() or not all(check(manifest[key]) for key, check in _CHECKS.items()):
        return False
    return bool(manifest["bytes"] == sum(row["bytes"] for row in manifest["files"]))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0  # True is an int, too


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value.isprintable()


def _is_text_or_none(value: Any) -> bool:
    return value is None or _is_text(value)


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(key) and _is_count(count) for key, count in value.items())


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_row, value)) and len({row["path"] for row in value}) == len(value)


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or row.keys() != {"path", "bytes", "sha256"}:
        return False
    digest = row["sha256"]
    known = isinstance(digest, str) and bool(_DIGEST.fullmatch(digest))
    return known and _is_text(row["path"]) and _is_count(row["bytes"])


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "version": lambda value: type(value) is int and value == 1,
    "name": _is_text,
    "url": _is_text,
    "fetched_from": _is_text,
    "commit": lambda value: value is None or (isinstance(value, str) and bool(OID.fullmatch(value))),
    "licence": _is_text_or_none,
    "licence_file": _is_text_or_none,
    "bytes": _is_count,
    "left_out": _are_counts,
    "files": _are_rows,
}
