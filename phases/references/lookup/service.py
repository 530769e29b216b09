"""What a lookup is: an entry in, the repositories that a service has for it out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from phases.references.find.links import repository_of
from phases.references.lookup.agreement import FoundPaper, agreement_of
from phases.references.values import Candidate, Entry
from pipeline.base.errors import PipelineError

LEAST_CONFIDENCE = 0.6
"""What is less sure than this is not given at all."""
MOST_CANDIDATES = 3
"""So many for one entry, from one service."""


class NoServiceAnswer(PipelineError):
    """A service that gave no answer; the text says why, in words for a person."""


class Lookup(Protocol):
    """A service that is asked."""

    name: str
    """As in the setting, and in the document."""

    def ask(self, entry: Entry) -> list[Candidate]:
        """The likeliest first, and none below LEAST_CONFIDENCE. Raises NoServiceAnswer."""
        ...


def best_candidates(candidates: list[Candidate]) -> list[Candidate]:
    """The likeliest candidates that are sure enough, each repository once."""
    first: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: (-candidate.confidence, candidate.url)):
        if candidate.confidence >= LEAST_CONFIDENCE:
            first.setdefault(candidate.url, candidate)
    return list(first.values())[:MOST_CANDIDATES]


LONGEST_TEXT = 600
_MOST_LINKS, _MOST_WORDS, _LONGEST_ABSTRACT = 40, 50_000, 100_000
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,40}>")
_LINK = re.compile(r"(?:https?://)?(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}/[^\s<>\"'{}|\\^`]{1,300}")
_AFTER = ".,;:!?)]}*_"
_YEARS = range(1500, 2200)


def text_in(row: Any, name: str, most: int = LONGEST_TEXT) -> str:
    """A text, on one line, without markup and without what cannot be seen; empty where there is none."""
    value = row.get(name) if isinstance(row, dict) else None
    return plain_text(value, most) if isinstance(value, str) else ""


def rows_in(row: Any, name: str, most: int = 50) -> list[dict[str, Any]]:
    """The objects of a list."""
    value = row.get(name) if isinstance(row, dict) else None
    return [item for item in value[:most] if isinstance(item, dict)] if isinstance(value, list) else []


def year_in(row: Any, name: str) -> int | None:
    """A year: a number, or what a date begins with."""
    value = row.get(name) if isinstance(row, dict) else None
    if isinstance(value, str) and re.match(r"[0-9]{4}(?![0-9])", value):
        value = int(value[:4])
    return value if isinstance(value, int) and not isinstance(value, bool) and value in _YEARS else None


def words_in(row: Any, name: str) -> str:
    """The words of an inverted index (word: places), in any order: a link is one word."""
    value = row.get(name) if isinstance(row, dict) else None
    return "\n".join(list(value)[:_MOST_WORDS])[:_LONGEST_ABSTRACT] if isinstance(value, dict) else ""


def long_text_in(row: Any, name: str) -> str:
    """A text as it stands, to look for links in it."""
    value = row.get(name) if isinstance(row, dict) else None
    return value[:_LONGEST_ABSTRACT] if isinstance(value, str) else ""


def repositories_in(text: str) -> list[str]:
    """The repositories that a text links, each once, in its order."""
    found: dict[str, None] = {}
    for number, match in enumerate(_LINK.finditer(text)):
        if number == _MOST_LINKS:
            break
        link = match[0].rstrip(_AFTER)
        address = repository_of(link if link.lower().startswith("http") else f"https://{link}")
        if address:
            found[address] = None
    return list(found)


def plain_text(text: str, most: int = LONGEST_TEXT) -> str:
    """A text as it may stand in a line for people."""
    bare = _MARKUP.sub("", text[: most * 4])
    return " ".join("".join(letter if letter.isprintable() else " " for letter in bare).split())[:most].rstrip()


class PaperRecord(NamedTuple):
    """One record, and the texts of it that may name code: what they are, and what they say."""

    record: FoundPaper
    texts: tuple[tuple[str, str], ...]


def candidates_of(entry: Entry, papers: Sequence[PaperRecord], service: str) -> list[Candidate]:
    """The repositories that the records of this very paper name."""
    found = []
    for paper in papers:
        agrees = agreement_of(entry, paper.record)
        for what, text in paper.texts:
            for address in repositories_in(text):
                why = f"{service}: the {what} of {paper.record.title!r} names it; {agrees.why}"
                found.append(Candidate(entry.id, address, service, why, agrees.confidence))
    return best_candidates(found)
