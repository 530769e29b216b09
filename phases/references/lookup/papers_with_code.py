"""Reads the dump of links that Papers with Code left behind; nothing is asked on a network.

links-between-papers-and-code.json, or the same as .json.gz: one list of objects with paper_title, paper_arxiv_id, repo_url,
is_official, mentioned_in_paper, mentioned_in_github and framework, among others. The service itself is closed since 2025.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from phases.references.find.links import repository_of
from phases.references.lookup.agreement import FoundPaper, agreement_of, squeeze_text
from phases.references.lookup.service import NoServiceAnswer, best_candidates, text_in
from phases.references.values import Candidate, Entry
from pipeline.base.safe_tree import open_file

_LARGEST, _MOST_ROWS, _LONGEST_ROW = 2 * 1024**3, 3_000_000, 1_000_000
_CHUNK = 1024 * 1024
_BLANK = " \t\r\n,"
_NOT_OFFICIAL = 0.8


class _Link(NamedTuple):
    title: str
    arxiv: str
    url: str
    official: bool
    mentioned: bool


class PapersWithCode:
    """The dump, read once, when it is first asked."""

    name = "paperswithcode"

    def __init__(self, path: str) -> None:
        self._path = path
        self._links: dict[str, list[_Link]] | None = None

    def ask(self, entry: Entry) -> list[Candidate]:
        """The repositories that the dump links to the paper."""
        if self._links is None:
            self._links = _by_paper(self._path)
        keys = [entry.arxiv or "", squeeze_text(entry.title or "")]
        links = dict.fromkeys(link for key in keys if key for link in self._links.get(key, ()))
        return best_candidates([candidate for link in links if (candidate := self._judged(entry, link))])

    def _judged(self, entry: Entry, link: _Link) -> Candidate | None:
        address = repository_of(link.url)
        if not address:
            return None
        agrees = agreement_of(entry, FoundPaper(link.title, (), _year_of(link.arxiv), "", link.arxiv))
        kind = "official" if link.official else "not its authors'"
        named = ", named in the paper" if link.mentioned else ""
        confidence = round(agrees.confidence * (1.0 if link.official else _NOT_OFFICIAL), 3)
        why = f"Papers with Code links it to {link.title!r} ({kind}{named}); {agrees.why}"
        return Candidate(entry.id, address, self.name, why, confidence)


def _by_paper(path: str) -> dict[str, list[_Link]]:
    links: dict[str, list[_Link]] = {}
    for row in _read_rows(path):
        title, arxiv = text_in(row, "paper_title", 300), text_in(row, "paper_arxiv_id", 50)
        official, mentioned = row.get("is_official") is True, row.get("mentioned_in_paper") is True
        link = _Link(title, arxiv.partition("v")[0], text_in(row, "repo_url", 300), official, mentioned)
        if link.url:
            for key in filter(None, (link.arxiv, squeeze_text(title))):
                links.setdefault(key, []).append(link)
    return links


def _read_rows(path: str) -> Iterator[dict[str, Any]]:
    """The objects of the list, one after the other: the dump is larger than one wants in memory at once."""
    decoder, left, number = json.JSONDecoder(), "", 0
    for piece in _read_pieces(path):
        left += piece if number or left else piece.lstrip("\ufeff" + _BLANK).removeprefix("[")
        at = 0
        while (at := _after_blanks(left, at)) < len(left) and left[at] != "]":
            try:
                row, at = decoder.raw_decode(left, at)
            except (ValueError, RecursionError) as error:
                if len(left) - at > _LONGEST_ROW + _CHUNK or not isinstance(error, json.JSONDecodeError):
                    raise NoServiceAnswer(
                        f"{path} is damaged after {number:,} rows ({error}); download it again"
                    ) from error
                break
            number += 1
            if not isinstance(row, dict) or number > _MOST_ROWS:
                raise NoServiceAnswer(f"{path}, row {number:,}: not a link between a paper and its code")
            yield row
        left = left[at:]
    if left.strip(_BLANK) != "]" or not number:
        raise NoServiceAnswer(f"{path} is no whole list of links: it ends after {number:,} rows; download it again")


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _read_pieces(path: str) -> Iterator[str]:
    """The text of the dump. Raises NoServiceAnswer where it cannot be read."""
    decoder, size = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        with open_file(os.path.realpath(path)) as file:  # the user may name a link
            unpacked = gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file
            while piece := unpacked.read(_CHUNK):
                size += len(piece)
                if size > _LARGEST:
                    raise NoServiceAnswer(
                        f"{path} holds more than {_LARGEST:,} bytes: that is no dump of Papers with Code"
                    )
                yield decoder.decode(piece)
            yield decoder.decode(b"", final=True)
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        raise NoServiceAnswer(f"cannot read {path}: {error}; download it again") from error


def _year_of(arxiv: str) -> int | None:
    """The year in an arXiv number; the old ones have it after the name of an archive."""
    digits = arxiv.rpartition("/")[2][:2]
    if not digits.isdecimal() or not digits.isascii():
        return None
    return (1900 if int(digits) > 90 else 2000) + int(digits)
