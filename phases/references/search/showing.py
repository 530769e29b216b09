"""A stretch of a fetched file, as it was when it was fetched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from phases.references.index.sources import Folder
from phases.references.parse.languages import language_of
from phases.references.parse.parsing import text_of
from phases.references.parse.sifting import BINARY, HEAD, left_out
from pipeline.base.errors import PipelineError

LARGEST_SHOWN = 2 * 2**20
"""Bytes of text. A notebook may be larger by what is no code in it: outputs, pictures."""
LONGEST_LINE, LONGEST = 500, 20_000
"""Characters: a page of prose may stand on one line, and what is shown is paid for."""


class NotShown(PipelineError):
    """Why nothing of a file is shown."""


class Stretch(NamedTuple):
    """Lines of a file, counted over the text that was parsed: of a notebook its code cells joined, every line end a newline."""

    line: int
    end: int
    text: str


def lines_of(code_base: str, repository: str, path: str, line: int, most: int) -> Stretch:
    """At most `most` lines from `line` on. Raises NotShown.

    Only what the repository's manifest lists is opened, so no path leads elsewhere.
    """
    folder = _folder(code_base, repository)
    _, manifest = folder.manifest()
    row: dict[str, Any] | None = next((row for row in manifest["files"] if row["path"] == path), None)
    if row is None:
        raise NotShown(f"there is no file {path[:200]!r} in {repository}")
    if row["bytes"] > LARGEST_SHOWN and not path.endswith(".ipynb"):
        raise NotShown(f"{path} has {row['bytes']:,} bytes, and nothing of files over {LARGEST_SHOWN:,} is shown")
    data = folder.read(path, row["sha256"])
    if data is None:
        raise NotShown(
            f"{path} in {repository} was changed or taken away since it was fetched, or is too large; it is not shown"
        )
    lines = _text(path, data).removesuffix("\n").split("\n")
    if line > len(lines):
        raise NotShown(f"{path} has {len(lines):,} lines")
    shown = _bounded(lines[line - 1 : line - 1 + most])
    return Stretch(line, line + len(shown) - 1, "\n".join(shown))


def _bounded(lines: Sequence[str]) -> list[str]:
    """The first of them, so many as there is room for; one at least."""
    shown: list[str] = []
    room = LONGEST
    for line in lines:
        more = len(line) - LONGEST_LINE
        row = f"{line[:LONGEST_LINE]} … ({more:,} more characters)" if more > 0 else line
        room -= len(row) + 1
        if shown and room < 0:
            break
        shown.append(row)
    return shown


def _text(path: str, data: bytes) -> str:
    """The text that the index counts lines in."""
    language = language_of(path, data[:HEAD])
    if language is None or left_out(path, len(data), data[:HEAD]) == BINARY:
        raise NotShown(f"{path} is no text")
    text = text_of(language, data)[0]
    if len(text) > LARGEST_SHOWN:
        raise NotShown(f"{path} has {len(text):,} characters of text, and nothing over {LARGEST_SHOWN:,} is shown")
    return text


def _folder(code_base: str, repository: str) -> Folder:
    plain = os.path.basename(repository) == repository and not repository.startswith(".")
    if not plain or not os.path.exists(os.path.join(code_base, f"{repository}.json")):
        raise NotShown(f"there is no repository {repository[:100]!r}")
    return Folder(code_base, repository)
