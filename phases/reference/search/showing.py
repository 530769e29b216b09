"""A stretch of a fetched file, as it was when it was fetched."""

from __future__ import annotations

import os
from typing import Any

from pipeline.errors import PipelineError
from pipeline.files import read_bytes, sha256
from pipeline.formats import parse_json

LARGEST_SHOWN = 2 * 2**20


class NotShown(PipelineError):
    """Why nothing of a file is shown."""


def lines_of(code_base: str, repository: str, path: str, line: int, most: int) -> tuple[int, int, str]:
    """First line, last line and text of at most `most` lines from `line` on. Raises NotShown.

    Only what the repository's manifest lists is opened, so no path leads elsewhere.
    """
    manifest = _manifest(code_base, repository)
    row: dict[str, Any] | None = next((row for row in manifest["files"] if row["path"] == path), None)
    if row is None:
        raise NotShown(f"there is no file {path[:200]!r} in {repository}")
    if row["bytes"] > LARGEST_SHOWN:
        raise NotShown(f"{path} has {row['bytes']:,} bytes, and nothing of files over {LARGEST_SHOWN:,} is shown")
    data = read_bytes(os.path.join(code_base, repository, *path.split("/")))
    if sha256(data) != row["sha256"]:
        raise NotShown(f"{path} in {repository} was changed since it was fetched; it is not shown")
    if b"\0" in data[:8192]:
        raise NotShown(f"{path} is no text")
    lines = data.decode("utf-8", "replace").split("\n")
    if line > len(lines):
        raise NotShown(f"{path} has {len(lines):,} lines")
    shown = lines[line - 1 : line - 1 + most]
    return line, line + len(shown) - 1, "\n".join(shown)


def _manifest(code_base: str, repository: str) -> dict[str, Any]:
    if os.path.basename(repository) != repository or repository.startswith("."):
        raise NotShown(f"there is no repository {repository[:100]!r}")
    path = os.path.join(code_base, f"{repository}.json")
    if not os.path.exists(path):
        raise NotShown(f"there is no repository {repository[:100]!r}")
    found = parse_json(read_bytes(path))
    return found if isinstance(found, dict) else {"files": []}
