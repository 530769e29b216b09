"""One printed reference as an entry: its parts, each of them a piece of what is printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from phases.references.find.authors import Authors, authors_in
from phases.references.find.identifiers import Identifiers, identifiers_in
from phases.references.find.links import links_in, repository_key, repository_of
from phases.references.find.text import tidy_reference
from phases.references.find.titles import title_in
from phases.references.find.venues import venue_in
from phases.references.find.years import BEHIND_AUTHORS, year_in
from phases.references.values import Entry

LABEL = re.compile(
    r"[-*\s]{0,4}(?:\[([^\[\]\n]{1,24})\]|\(([0-9]{1,4})\)(?=\s)|([0-9]{1,4})\.?(?=\s+[^\W\d_]))[.:]?\s*"
)
"""[12], [Smi19], 12. or (12) before a reference; one of three groups holds it."""
_ORGANISATION = re.compile(r"([^\W\d_][\w&'’ -]{0,80})(?=[.:]\s)")
_DATED = re.compile(
    r"(?:\.?\s[(\[](?:1[7-9]|20)[0-9]{2}[a-z]?[)\]]|[.,]\s(?:(?:1[7-9]|20)[0-9]{2}\s?[-–]\s?)?(?:1[7-9]|20)[0-9]{2}[a-z]?\.\s)"
)
_BESIDE_AUTHORS = re.compile(
    r"[\s.,]{0,3}\((?:Eds?|Hrsg|Hg|in\spress|n\.\s?d|o\.\s?J|forthcoming|to\sappear|submitted|im\sDruck)\.?\)(?=[\s.,:])",
    re.IGNORECASE,
)
"""What stands where the year is wanted, or before it: (in press), (n.d.), (Hrsg.)."""
_MOST = 3000
_LONGEST_LIST = 2500
_MOST_SPANS = 40


def entries_of(references: Sequence[Mapping[str, str]]) -> tuple[Entry, ...]:
    """The references of outline.json, taken apart."""
    return tuple(_parse_entry(row["id"], row["raw"]) for row in references[:_MOST])


def label_of(raw: str) -> str | None:
    """The label that the list prints before a reference, without brackets."""
    match = LABEL.match(raw)
    return next((group for group in match.groups() if group), None) if match else None


def letter_of(raw: str) -> str:
    """The letter behind the year by which a list tells works of one year apart, or nothing."""
    found = _split_reference(_text_of(raw))[2]
    return found[1] if found else ""


def _parse_entry(name: str, raw: str) -> Entry:
    text = _text_of(raw)
    authors, (begin, end), year, known = _split_reference(text)
    title = text[begin:end] or None
    repositories = {
        repository_key(found): found
        for found in map(repository_of, [*known.urls, *(url for url, _ in links_in(text))])
        if found
    }
    return Entry(
        id=name,
        raw=raw,
        title=title,
        authors=authors.names,
        year=year[0] if year else None,
        venue=venue_in(text, end) if title else None,
        doi=known.doi,
        arxiv=known.arxiv,
        url=known.urls[0] if known.urls else None,
        repositories=tuple(repositories.values()),
    )


def _text_of(raw: str) -> str:
    text = tidy_reference(raw)
    label = LABEL.match(text)
    return text[label.end() :] if label else text


def _split_reference(text: str) -> tuple[Authors, tuple[int, int], tuple[int, str] | None, Identifiers]:
    """Authors, the place of the title, the year with its letter, and the identifiers."""
    known = identifiers_in(text)
    authors = authors_in(text)
    if not authors.names:
        authors = _name_before_year(text) or _organisation_name(text) or authors
    year = None
    start = authors.end
    if authors.names and (beside := _BESIDE_AUTHORS.match(text, start)):
        start = beside.end()
    if authors.names and (dated := BEHIND_AUTHORS.match(text, start)):
        first, second = dated.group(1), dated.group(3)
        year = (int(first or second), dated.group(2) or dated.group(4) or "")
        start = dated.end()
    title = title_in(text, start, known.spans)
    if title[0] >= title[1] and authors.names and not year:  # what looked like names was a title
        authors, title = Authors((), 0), title_in(text, 0, known.spans)
    return authors, title, year or year_in(text, title, known.spans[:_MOST_SPANS]), known


def _name_before_year(text: str) -> Authors | None:
    """Whoever stands before `(2006).` or `. 2006.` is an author: an organisation, or names that no style explains."""
    for match in _DATED.finditer(text, 0, _LONGEST_LIST):
        place = match.start()
        before = text[:place].rstrip(" .,")
        if not before or re.search(r"[\"“”]|[?!]\s|[a-zà-ÿ]{3}\.\s", before):
            return None
        if "," not in before:
            return Authors((before,), place) if place <= 120 else None
        names = tuple(name.strip() for name in re.split(r",\s(?:and\s|&\s)?|\s(?:and|&)\s", before) if name.strip())
        return Authors(names, place) if all(name[0].isupper() and len(name) <= 60 for name in names) else None
    return None


def _organisation_name(text: str) -> Authors | None:
    """`OpenAI. GPT-4 technical report.`: one word, or a few that all begin large, and a sentence that is no venue behind it."""
    match = _ORGANISATION.match(text)
    if not match or not match.group(1).strip():
        return None
    words = match.group(1).split()
    rest = text[match.end() + 1 :].strip()
    if len(words) > 6:
        return None
    plain = len(words) == 1 or all(word[0].isupper() or word in ("of", "and", "for", "the") for word in words)
    is_title = re.match(r"[A-Z\"“][^.]{8,}", rest) and not re.match(r"(?:In|Proc|https?|www|arXiv|URL|[0-9])\b", rest)
    return Authors((match.group(1).strip(),), match.end(1)) if plain and is_title and ". " in rest else None
