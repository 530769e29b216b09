"""Turn a service's records into candidate repositories of a reference, with a confidence.

The title decides, the rest confirms: confidence = title^3 x (0.60 + 0.25 x authors + 0.15 x year), each part from 0 to 1,
because the same authors write papers whose titles differ in a word or two. An unknown part counts half. If no author agrees,
the confidence is halved: many papers share a title.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from phases.references.find.links import repository_of
from phases.references.values import Candidate, Entry
from pipeline.base.errors import PipelineError

LEAST_CONFIDENCE = 0.6
"""Candidates below this confidence are dropped."""
MOST_CANDIDATES = 3
"""Candidates for one entry from one service."""


class NoServiceAnswer(PipelineError):
    """A service that gave no answer; the text says why, in words for a person."""


class Lookup(Protocol):
    """A service that is asked."""

    name: str
    """As in the setting, and in the document."""

    def ask(self, entry: Entry) -> list[Candidate]:
        """Return candidates, most likely first, none below LEAST_CONFIDENCE. Raises NoServiceAnswer."""
        ...


def best_candidates(candidates: list[Candidate]) -> list[Candidate]:
    """Return the most likely candidates above LEAST_CONFIDENCE, each repository once."""
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
    """Return a text field on one line, without markup and invisible characters; empty if it is missing."""
    value = row.get(name) if isinstance(row, dict) else None
    return plain_text(value, most) if isinstance(value, str) else ""


def rows_in(row: Any, name: str, most: int = 50) -> list[dict[str, Any]]:
    """Return the objects of a list field."""
    value = row.get(name) if isinstance(row, dict) else None
    return [item for item in value[:most] if isinstance(item, dict)] if isinstance(value, list) else []


def year_in(row: Any, name: str) -> int | None:
    """Return a year from a number or from the beginning of a date."""
    value = row.get(name) if isinstance(row, dict) else None
    if isinstance(value, str) and re.match(r"[0-9]{4}(?![0-9])", value):
        value = int(value[:4])
    return value if isinstance(value, int) and not isinstance(value, bool) and value in _YEARS else None


def words_in(row: Any, name: str) -> str:
    """Return the words of an inverted index (word: places), in any order; a link is one word."""
    value = row.get(name) if isinstance(row, dict) else None
    return "\n".join(list(value)[:_MOST_WORDS])[:_LONGEST_ABSTRACT] if isinstance(value, dict) else ""


def long_text_in(row: Any, name: str) -> str:
    """Return an unchanged text field, to look for links in it."""
    value = row.get(name) if isinstance(row, dict) else None
    return value[:_LONGEST_ABSTRACT] if isinstance(value, str) else ""


def repositories_in(text: str) -> list[str]:
    """Return the repositories that a text links, each once, in its order."""
    repositories: dict[str, None] = {}
    for number, match in enumerate(_LINK.finditer(text)):
        if number == _MOST_LINKS:
            break
        link = match[0].rstrip(_AFTER)
        address = repository_of(link if link.lower().startswith("http") else f"https://{link}")
        if address:
            repositories[address] = None
    return list(repositories)


def plain_text(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text as one printable line of limited length."""
    bare = _MARKUP.sub("", text[: most * 4])
    return " ".join("".join(letter if letter.isprintable() else " " for letter in bare).split())[:most].rstrip()


class PaperRecord(NamedTuple):
    """One record, and the texts of it that may name code: what they are, and what they say."""

    record: FoundPaper
    texts: tuple[tuple[str, str], ...]


def candidates_of(entry: Entry, papers: Sequence[PaperRecord], service: str) -> list[Candidate]:
    """Return the repositories that the records of this paper name."""
    candidates = []
    for paper in papers:
        agrees = agreement_of(entry, paper.record)
        for what, text in paper.texts:
            for address in repositories_in(text):
                why = f"{service}: the {what} of {paper.record.title!r} names it; {agrees.why}"
                candidates.append(Candidate(entry.id, address, service, why, agrees.confidence))
    return best_candidates(candidates)


_AUTHORS, _YEAR = 0.25, 0.15
_UNKNOWN = 0.5
_SHARPNESS = 3
_MOST_AUTHORS = 20
_FEW_WORDS, _MOST_OF_FEW = 3, 0.5
"""A title of less than three words is the title of much else, too: alone it is not enough."""
_NOT_ANOTHER = 0.3
"""If the identifier is equal and the titles agree less than this, the identifier was misread."""
_YEARS_APART = (1.0, 0.8, 0.4)
"""A preprint and its print are a year apart, now and then two."""
_EMPTY = frozenset(
    {"a", "an", "the", "of", "for", "and", "in", "on", "to", "with", "by", "from", "at", "is", "are", "as", "via"}
)
_NOBODY = frozenset({"al", "et", "others"})


class FoundPaper(NamedTuple):
    """One paper as a service describes it."""

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    doi: str = ""
    arxiv: str = ""


class Agreement(NamedTuple):
    """Probability from 0 to 1 that two records are the same paper, with the reason."""

    confidence: float
    why: str


def agreement_of(entry: Entry, record: FoundPaper) -> Agreement:
    """Compare a reference with a record of a service."""
    same = _same_number(entry, record)
    title = title_agreement(entry.title or "", record.title)
    if same and (not entry.title or not record.title or title >= _NOT_ANOTHER):
        title = 1.0
    authors = author_agreement(entry.authors, record.authors)
    confidence = title**_SHARPNESS * confirmation_weight(authors, year_agreement(entry.year, record.year))
    # a number alone may have been read wrongly; with both titles there, it is the same paper under other names
    if authors == 0.0 and not (same and entry.title and record.title):
        confidence *= 0.5
    if len(title_words(entry.title or "")) < _FEW_WORDS and not same and not authors:
        confidence = min(confidence, _MOST_OF_FEW)
    return Agreement(round(confidence, 3), _explain_agreement(title, authors, record.year, same))


def confirmation_weight(authors: float | None, year: float | None) -> float:
    """Return the factor that agreement of authors and year gives to a title; None means unknown."""
    known = [_UNKNOWN if part is None else part for part in (authors, year)]
    return (1 - _AUTHORS - _YEAR) + _AUTHORS * known[0] + _YEAR * known[1]


def title_agreement(one: str, other: str) -> float:
    """Return the share of words that both titles have; 1.0 if only blanks, hyphens and signs differ."""
    if squeeze_text(one) and squeeze_text(one) == squeeze_text(other):
        return 1.0
    mine, theirs = title_words(one), title_words(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine and theirs else 0.0


def author_agreement(mine: Iterable[str], theirs: Iterable[str]) -> float | None:
    """Return the share of authors that both lists name; None if one of them is empty."""
    ours = [name for name in list(mine)[:_MOST_AUTHORS] if family_name(name)]
    others = [name for name in list(theirs)[:_MOST_AUTHORS] if family_name(name)]
    if not ours or not others:
        return None
    return sum(any(_is_same_person(one, other) for other in others) for one in ours) / len(ours)


def year_agreement(one: int | None, other: int | None) -> float | None:
    """1.0 for the same year, less for one or two years apart; None where one is not known."""
    if one is None or other is None:
        return None
    apart = abs(one - other)
    return _YEARS_APART[apart] if apart < len(_YEARS_APART) else 0.0


def title_words(text: str) -> set[str]:
    """Return the meaningful words, without accents and case."""
    words = _fold_words(text)
    return {word for word in words if word not in _EMPTY} or set(words)


def search_words(text: str, most: int) -> str:
    """Return the words of a title as a query of limited length."""
    words = _fold_words(text)
    while words and len(" ".join(words)) > most:
        words.pop()
    return " ".join(words)


def squeeze_text(text: str) -> str:
    """Return letters and digits only."""
    return "".join(_fold_words(text))


def family_name(author: str) -> str:
    """Return the family name of an author in any spelling; empty if there is none."""
    words = _fold_words(author.partition(",")[0] if "," in author else author)
    return "" if not words or set(words) & _NOBODY or len(words[-1]) < 2 else words[-1]


def _is_same_person(one: str, other: str) -> bool:
    return family_name(one) in _fold_words(other) and family_name(other) in _fold_words(one)


def _same_number(entry: Entry, record: FoundPaper) -> bool:
    doi, arxiv = (entry.doi or "").lower(), (entry.arxiv or "").lower()
    return bool((doi and doi == record.doi.lower()) or (arxiv and arxiv == record.arxiv.lower()))


def _fold_words(text: str) -> list[str]:
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", text[:2000]) if not unicodedata.combining(letter))
    return re.findall(r"[^\W_]+", bare.casefold())


def _explain_agreement(title: float, authors: float | None, year: int | None, same: bool) -> str:
    reasons = ["the same number" if same else f"{title:.0%} of the title"]
    reasons.append("authors not known" if authors is None else f"{authors:.0%} of the authors")
    return ", ".join([*reasons, f"year {year}" if year else "year not known"])
