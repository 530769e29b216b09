"""The values of reading: what a reader is given and gives back, its verdict on the text, and its one error."""

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
"""The verdict of a reader that is not installed; it is said of no paper."""
READABLE = (OK, PARTIAL)
"""A paper with one of these verdicts has pages; with the others it has none."""
WRONG_WORD = "the password is wrong"
TOO_MUCH_MEMORY = "reading it takes more memory than a paper may"
"""The detail of an encrypted paper for which a password was given."""
NOTHING_RECOGNIZED = "nothing was recognized"
"""The detail of a scan in whose pictures no letters were found."""
CURES = {
    NO_TEXT: "has no text layer, it is a scan; have ocrmypdf recognize its letters with --ocr",
    GARBLED: "has a text layer of wrong letters; have ocrmypdf recognize them anew with --ocr",
    NOTHING_RECOGNIZED: "shows no letters that ocrmypdf could recognize; scan it again with more dots an inch",
    ENCRYPTED: (
        "is encrypted; give the password of a PDF with --password, or save a copy without one "
        "(qpdf --decrypt --password=… {name} {open})"
    ),
    WRONG_WORD: "is encrypted, and that password is wrong; give the right one with --password, or leave it out to be asked",
    BROKEN: "cannot be read ({detail}); download it again, or give another format",
}


@dataclass(frozen=True)
class InputFile:
    """What the reader of a kind is given: a file, or a directory of LaTeX source."""

    path: str
    address: str = ""
    """Where it was downloaded from."""
    password: str | None = None

    def content(self) -> bytes:
        """The bytes of the file."""
        with open_file(self.path) as file:
            return file.read()

    def files(self) -> dict[str, bytes]:
        """The files of the directory, by their paths in it."""
        found: dict[str, bytes] = {}
        for base, _, names in os.walk(self.path):
            for path in (os.path.join(base, name) for name in sorted(names)):
                found[os.path.relpath(path, self.path)] = InputFile(path).content()
        return found


@dataclass(frozen=True)
class Link:
    """An address that the paper points to, with the words that carry it. `page` counts from 1."""

    url: str
    page: int
    text: str = ""


@dataclass(frozen=True)
class Hidden:
    """Text that is not seen on the page. It is reported, and never mixed into the text."""

    text: str
    page: int
    how: str
    """invisible, white, tiny, off_page, covered (by a box), layer (switched off) or replaced (given for words that are seen)."""


@dataclass(frozen=True)
class LeftOut:
    """Text that stands on a page and not in paper.md, and the reason."""

    text: str
    page: int
    reason: str
    """furniture (running heads, page numbers, line numbers), margin (what is printed along the edge of the sheet) or lost (by a
    reader that the user chose)."""


@dataclass(frozen=True)
class Reading:
    """A paper as Markdown (see docs/architecture.md), a text for each page, with its title, authors, links and hidden text."""

    verdict: str
    reader: str
    """Engine and version: it decides what the text looks like."""
    pages: tuple[str, ...] = ()
    title: str | None = None
    authors: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    detail: str = ""
    """Why the verdict is not ok."""
    left_out: tuple[LeftOut, ...] = ()
    recognized_by: str = ""
    """The program that recognized the text in pictures of the pages; empty where the paper has a text of its own."""


class Unreadable(PipelineError):
    """A paper that cannot be read: the verdict, and in a few words why. The only error that a reader raises."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(f"{verdict}: {detail}")
        self.verdict = verdict
        self.detail = detail


class OtherText(Unreadable):
    """A text that is taken for something other than a paper or a requirement. Its user may know better."""


class UnclearDirectory(Unreadable):
    """A directory without one paper at its top: a task takes one. `names` are paths in it of which one may be meant."""

    def __init__(self, names: list[str], *, is_deep: bool = False) -> None:
        where = "no paper at its top, but deeper in it" if is_deep else "several papers"
        super().__init__(BROKEN, f"holds {where} ({_join_names(names)}); name the one that you mean")
        self.names = names
        self.is_deep = is_deep


def unpack(data: bytes) -> Unpacked:
    """The files in a tar (plain, gz, bz2, xz), a zip, or a gzip of one file; raises Unreadable and nothing else."""
    from pipeline.base import archives  # imported here: most papers are no archives

    try:
        return archives.unpack(data)
    except archives.BadArchive as error:
        raise Unreadable(BROKEN, str(error)) from error


def _join_names(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def explain_verdict(reading: Reading, name: str) -> str:
    """What is wrong with a paper whose verdict is not ok, and what to type."""
    key = reading.detail if reading.detail in CURES else reading.verdict
    opened = quote(f"open-{os.path.basename(name)}")
    return CURES[key].format(name=quote(name), detail=reading.detail or "no detail", open=opened)


def installation() -> str:
    """Which installation of the readers this is: its version, and where it lies."""
    return f"{__version__} in {os.path.dirname(os.path.realpath(__file__))}"
