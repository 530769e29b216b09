"""Define the values of reading: input, result with verdict, and the one error."""

from __future__ import annotations

import os
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from pipeline import __version__
from pipeline.base.errors import PipelineError
from pipeline.base.safe_tree import open_file

if TYPE_CHECKING:
    from pipeline.base.archives import Unpacked

OK, PARTIAL, NO_TEXT, GARBLED, ENCRYPTED, BROKEN = "ok", "partial", "no_text", "garbled_text", "encrypted", "broken"
NO_READER = "no_reader"
"""Verdict if a reader is not installed; never about a paper."""
READABLE = (OK, PARTIAL)
"""Verdicts of papers with pages; all others have none."""
WRONG_WORD = "the password is wrong"
TOO_MUCH_MEMORY = "reading it takes more memory than allowed"
"""Detail of a file whose reading exceeds the memory limit."""
NOTHING_RECOGNIZED = "nothing was recognized"
"""Detail of a scan in whose pictures no letters were found."""
CURES = {
    NO_TEXT: "has no text layer, it is a scan; have ocrmypdf recognize its letters with --ocr",
    GARBLED: "has a text layer of wrong letters; have ocrmypdf recognize them again with --ocr",
    NOTHING_RECOGNIZED: "shows no letters that ocrmypdf could recognize; scan it again at a higher resolution",
    ENCRYPTED: (
        "is encrypted; give the password of a PDF with --password, or save a copy without one "
        "(qpdf --decrypt --password=… {name} {open})"
    ),
    WRONG_WORD: "is encrypted, and that password is wrong; give the right one with --password, or leave it out to be asked",
    BROKEN: "cannot be read ({detail}); download it again, or give another format",
}


@dataclass(frozen=True)
class InputFile:
    """Input of a reader: a file, or a directory of LaTeX source."""

    path: str
    address: str = ""
    """Address of its download."""
    password: str | None = None

    def content(self) -> bytes:
        """Return the bytes of the file."""
        with open_file(self.path) as file:
            return file.read()

    def files(self) -> dict[str, bytes]:
        """Return the files of the directory by relative path."""
        result: dict[str, bytes] = {}
        for base, _, names in os.walk(self.path):
            for path in (os.path.join(base, name) for name in sorted(names)):
                result[os.path.relpath(path, self.path)] = InputFile(path).content()
        return result


@dataclass(frozen=True)
class Link:
    """A link of the paper with its text. `page` counts from 1."""

    url: str
    page: int
    text: str = ""


@dataclass(frozen=True)
class Hidden:
    """Text that is invisible on the page. It is reported, and never mixed into the text."""

    text: str
    page: int
    how: str
    """invisible, white, tiny, off_page, covered (by a box), layer (switched off), replaced (other text for visible words)."""


@dataclass(frozen=True)
class LeftOut:
    """Text of a page that is not in paper.md, with the reason."""

    text: str
    page: int
    reason: str
    """furniture (running heads, page numbers, line numbers), margin (along the edge of the sheet) or lost (by a reader that the
    user chose).
    """


@dataclass(frozen=True)
class Reading:
    """A paper as Markdown (docs/architecture.md), one text per page, with title, authors, links and hidden text."""

    verdict: str
    reader: str
    """Engine and version, which determine the text."""
    pages: tuple[str, ...] = ()
    title: str | None = None
    authors: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    detail: str = ""
    """Reason for a verdict other than ok."""
    left_out: tuple[LeftOut, ...] = ()
    recognized_by: str = ""
    """Program that recognized the text in page pictures; empty if the paper has a text layer."""


class Unreadable(PipelineError):
    """A paper that cannot be read: a verdict and a short reason. The only error raised by readers."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(f"{verdict}: {detail}")
        self.verdict = verdict
        self.detail = detail


class OtherText(Unreadable):
    """A text taken for something other than a paper or a requirement. The user may know better."""


class UnclearDirectory(Unreadable):
    """A directory without exactly one paper at its top. `names` are candidate paths in it."""

    def __init__(self, names: list[str], *, is_deep: bool = False) -> None:
        where = "no paper at its top, but deeper in it" if is_deep else "several papers"
        super().__init__(BROKEN, f"holds {where} ({_join_names(names)}); name the one that you mean")
        self.names = names
        self.is_deep = is_deep


def unpack(data: bytes) -> Unpacked:
    """Return the files in a tar (plain, gz, bz2, xz), a zip, or a gzip of one file. Raises only Unreadable."""
    from pipeline.base import archives  # imported here: most papers are not archives

    try:
        return archives.unpack(data)
    except archives.BadArchive as error:
        raise Unreadable(BROKEN, str(error)) from error


def _join_names(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def explain_verdict(reading: Reading, name: str) -> str:
    """Explain a verdict other than ok, and name the next step."""
    key = reading.detail if reading.detail in CURES else reading.verdict
    opened = quote(f"open-{os.path.basename(name)}")
    return CURES[key].format(name=quote(name), detail=reading.detail or "no detail", open=opened)


def installation() -> str:
    """Identify this installation of the readers: its version and location."""
    return f"{__version__} in {os.path.dirname(os.path.realpath(__file__))}"
