"""Parse one printed reference into its parts; each part is a piece of the printed text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from phases.references.find.authors import Authors, authors_in
from phases.references.find.links import links_in, repository_key, repository_of
from phases.references.find.text import tidy_reference
from phases.references.values import Entry

LABEL = re.compile(
    r"[-*\s]{0,4}(?:\[([^\[\]\n]{1,24})\]|\(([0-9]{1,4})\)(?=\s)|([0-9]{1,4})\.?(?=\s+[^\W\d_]))[.:]?\s*"
)
"""Label of a printed reference, [12], [Smi19], 12. or (12), in one of three groups."""
_ORGANISATION = re.compile(r"([^\W\d_][\w&'’ -]{0,80})(?=[.:]\s)")
_DATED = re.compile(
    r"(?:\.?\s[(\[](?:1[7-9]|20)[0-9]{2}[a-z]?[)\]]|[.,]\s(?:(?:1[7-9]|20)[0-9]{2}\s?[-–]\s?)?(?:1[7-9]|20)[0-9]{2}[a-z]?\.\s)"
)
_BESIDE_AUTHORS = re.compile(
    r"[\s.,]{0,3}\((?:Eds?|Hrsg|Hg|in\spress|n\.\s?d|o\.\s?J|forthcoming|to\sappear|submitted|im\sDruck)\.?\)(?=[\s.,:])",
    re.IGNORECASE,
)
"""Words in place of the year or before it: (in press), (n.d.), (Hrsg.)."""
_MOST = 3000
_LONGEST_LIST = 2500
_MOST_SPANS = 40


def entries_of(references: Sequence[Mapping[str, str]]) -> tuple[Entry, ...]:
    """Parse the references of outline.json."""
    return tuple(_parse_entry(row["id"], row["raw"]) for row in references[:_MOST])


def label_of(raw: str) -> str | None:
    """Return the label that the list prints before a reference, without brackets."""
    match = LABEL.match(raw)
    return next((group for group in match.groups() if group), None) if match else None


def letter_of(raw: str) -> str:
    """Return the letter after the year that tells works of one year apart; empty if there is none."""
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
    """Return the text before `(2006).` or `. 2006.` as author: an organisation, or names in an unknown style."""
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
    """Return the end of a leading organisation name: `OpenAI. GPT-4 technical report.`"""
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


_DOI = re.compile(
    r"(?:https?://(?:www\.)?(?:dx\.)?doi\.org/\s?|(?:dx\.)?doi\.org/\s?|\bdoi\s{0,2}[:=]?\s{0,2}(?:https?://\S{0,20}doi\.org/)?)?"
    r"\b(10\.\s?[0-9]{4,9}/\s?[^\s\"<>“”]{1,200})",
    re.IGNORECASE,
)
_ARXIV_NEW = r"[0-9]{4}\.\s?[0-9]{4,5}"
_ARXIV_OLD = r"[a-z-]{2,12}(?:\.[A-Z]{2})?/[0-9]{7}"
_ARXIV = re.compile(
    rf"(?:arxiv\s{{0,2}}[:.]?\s{{0,2}}(?:preprint\s{{0,2}})?(?:arxiv\s{{0,2}}:\s{{0,2}})?(?:abs/)?|"
    rf"arxiv\.org/(?:abs|pdf|html)/\s?|\babs/)({_ARXIV_NEW}|{_ARXIV_OLD})(?:v[0-9]{{1,2}})?(?![0-9])",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"(?:https?\s?:\s?//|ftp://|www\.|(?<![\w.@/-])(?:github|gitlab)\.com/)\s?[^\s<>\"“”]{1,300}", re.IGNORECASE
)
_MORE = re.compile(r" ([^\s<>\"“”]{1,200})")
_AFTER = ".,;:!?*'\"`’”»>"


class Identifiers(NamedTuple):
    """Identifiers that a reference prints, with their positions in the text."""

    doi: str | None
    arxiv: str | None
    urls: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Start and end of each place, in order; nothing in them is a title or a year."""


def identifiers_in(text: str) -> Identifiers:
    """Return all identifiers of a tidy reference."""
    spans: list[tuple[int, int]] = []
    urls = []
    for start, end, url in _addresses_in(text):
        spans.append((start, end))
        urls.append(url)
    doi = _DOI.search(text)
    arxiv = _ARXIV.search(text)
    spans += [match.span() for match in (doi, arxiv) if match]
    return Identifiers(
        doi=_bare_doi(doi.group(1)) if doi else None,
        arxiv="".join(arxiv.group(1).split()) if arxiv else None,
        urls=tuple(dict.fromkeys(urls)),
        spans=tuple(sorted(spans)),
    )


def _bare_doi(printed: str) -> str:
    doi = "".join(printed.split()).lower()
    for mark in (",url", ";url", "}"):
        doi = doi.partition(mark)[0]
    while doi and (
        doi[-1] in _AFTER or (doi[-1] in ")]" and doi.count("(") + doi.count("[") < doi.count(")") + doi.count("]"))
    ):
        doi = doi[:-1]
    return doi


def _addresses_in(text: str) -> list[tuple[int, int, str]]:
    addresses: list[tuple[int, int, str]] = []
    for match in _ADDRESS.finditer(text):
        if addresses and match.start() < addresses[-1][1]:
            continue
        end = match.end()
        for _ in range(4):
            more = _MORE.match(text, end)
            if not more or not _is_broken(text[match.start() : end], more.group(1)):
                break
            end = more.end()
        url = "".join(text[match.start() : end].split()).rstrip(_AFTER)
        if url.endswith(")") and url.count("(") < url.count(")"):
            url = url[:-1].rstrip(_AFTER)
        addresses.append((match.start(), end, url))
    return addresses


def _is_broken(url: str, following: str) -> bool:
    """Return whether an address certainly continues after a space at which a line ended."""
    bare = following.rstrip(_AFTER)
    if not bare or "://" in bare or not re.match(r"[\w/~%#?=&-]", bare):
        return False
    host_is_whole = re.match(r"\w{3,5}\s?:\s?//\s?[\w-]+(?:\.[\w-]+)*\.[a-z]{2,6}/", url, re.IGNORECASE) is not None
    if not host_is_whole:
        return (
            url.endswith((".", "/", "-"))
            and re.match(r"[\w-]+(?:\.[\w-]+)*/|(?:com|org|net|edu|io)\b", bare) is not None
        )
    if url.endswith("."):
        return re.fullmatch(r"[0-9]{3,6}|pdf|html?|git", bare) is not None
    if url.endswith(("/", "-", "_", "=", "#")):
        return bool(re.search(r"[/._#=&0-9-]", bare)) or following[-1:] in ".," or url.count("/") == 4
    return bare.startswith("/") and len(bare) > 1


_QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "»": "«", "‘": "’", "'": "'", "`": "'", "”": "”"}
_LEAD = re.compile(r"[\s.,:;·．。，：]{0,6}(?:(?:et al|\((?:Eds?|Hrsg|Hg)\.?\)|Eds?|Hrsg|editors?)\.?[\s.,:;]{1,4})?")
_STOP = re.compile(r"[.．。?!？！]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(-])(?:[A-Za-z]|vs|St|Dr|Mr|Mrs|Prof|e\.g|i\.e|cf|etc|resp|ca|approx|bzw|z\.B|Bd|Nr|Inc|al|Vol|Jr|Mt|Ph|Fig|Eq)$"
)
_VENUE = re.compile(
    r"""[\s"'“”]* (?: [Ii]n:?\s | (?:Proc(?:\.|eedings)?|Advances|Journal|Transactions|Trans\.|IEEE|ACM|J\.|CoRR|arXiv|ArXiv|arxiv
        |Technical|Tech\.|PhD|Ph\.D|Master|Communications|International|Annual|Conference|Springer|Elsevier|Nature|Science
        |MIT|Cambridge|Oxford|Academic|Wiley|URL|https?:|www\.|doi|DOI|Available|Accessed|Preprint|preprint|Lecture|LNCS
        |Neural\ [Cc]omputation|Pattern|Artificial|Machine|Foundations|SIAM|PMLR|NeurIPS
        |ICML|ICLR|CVPR|ICCV|AAAI|ACL|EMNLP|NAACL|In$)\b
        | (?:1[7-9]|20)[0-9]{2}\b | \[(?:J|M|C|D|R|S|P|N|EB|OL|Z|A)[\]/] | pp?\.\s | (?:[Vv]ol|[Nn]o)\. )""",
    re.VERBOSE,
)
_KIND = re.compile(r"\s?\[(?:[JMCDRSPNZA]|EB|DB|CP)(?:/OL)?\]")
_TAIL = re.compile(
    r"(?:[,;]\s(?:1[7-9]|20)[0-9]{2}[a-z]?|[,.;]?\s?\(?(?:1[7-9]|20)[0-9]{2}[a-z]?\)|,\s(?:volume|vol\.?|Band|Bd\.?)\s?[0-9IVX]{1,5}"
    r"(?:\sof\s.{1,80})?|,\s(?:[0-9]{1,2}(?:st|nd|rd|th)|[Ss]econd|[Tt]hird)\s[Ee]d(?:ition|\.)?|,\sarXiv.{0,40})$"
)
_CHUNK_OF_VENUE = re.compile(
    r"\s*(?:in:?\s|In:?\s|Proc|Advances|Journal|J\.\s|[A-Z][\w.]*\s(?:J\.|Journal|Trans\.|Lett\.|Rev\.)|IEEE|ACM\s|arXiv|CoRR|Springer|Elsevier|Wiley"
    r"|Nature\b|Science\b|Neural Networks?\s[0-9]|[A-Z][\w.&\s]{2,60}\s[0-9]{1,4}\s?[(:]|(?:1[7-9]|20)[0-9]{2}"
    r"|vol|pp?\.|Ph\.?D|Technical|Tech\.|University"
    r"|(?:[A-Z][a-z]{0,8}\.\s?){2,6})"
)
_LONGEST = 400


def title_in(text: str, start: int, skip: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Start and end of the title that is looked for from here on; the same place twice where there is none."""
    lead = _LEAD.match(text, start)
    begin = lead.end() if lead else start
    if quoted := _quoted_title(text, begin):
        return quoted
    end = _sentence_end(text, begin, [span for span in skip if span[1] > begin])
    unquoted = _without_venue(text, begin, end, after_comma=text[start:begin].strip().startswith(","))
    return _trim_title(text, begin, unquoted)


def without_tail(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return the span of a title without a trailing year, volume or edition."""
    for _ in range(3):
        tail = _TAIL.search(text, max(begin, end - 140), end)
        if not tail or tail.start() - begin < 3:
            break
        end = tail.start()
    return begin, end


def _quoted_title(text: str, begin: int) -> tuple[int, int] | None:
    """Return the span of a title in quotation marks that begins here."""
    opening = text[begin : begin + 1]
    if opening not in _QUOTES or not opening:
        return None
    inner = begin + (2 if text[begin : begin + 2] in ("``", "''", ",,") else 1)
    closers = _QUOTES[opening]
    for place in range(inner + 1, min(len(text), inner + _LONGEST)):
        if text[place] in closers or (opening == "“" and text[place] == '"'):
            after = text[place + 1 : place + 2]
            ends = text[place - 1] in ".,?!" or after in ("", ".", ",", ";", "'")
            if (ends or opening not in "'‘`") and (after == "" or not after.isalnum()) and text[place - 1] != " ":
                return _trim_title(text, inner, place) if place - inner >= 3 else None
    return None


def _sentence_end(text: str, begin: int, skip: Sequence[tuple[int, int]]) -> int:
    """Return the end of the sentence that begins here; an address or an identifier ends it."""
    limit = min([len(text), begin + _LONGEST, *(span[0] for span in skip if span[0] > begin)])
    kind = _KIND.search(text, begin, limit)
    if kind:
        return kind.start()
    for stop in _STOP.finditer(text, begin, limit):
        after = text[stop.end() : stop.end() + 1]
        if stop.group() in "．。":
            return stop.start()
        if (
            after
            and not after.isspace()
            and not (after in "\"”'’)" and text[stop.end() + 1 : stop.end() + 2] in ("", " "))
        ):
            continue
        if stop.group() == ".":
            if not _ABBREVIATION.search(text, max(begin, stop.start() - 7), stop.start()) or _VENUE.match(
                text, stop.end() + 1
            ):
                return stop.start()
            continue
        begins = text[stop.end() + 1 : stop.end() + 2].isupper() and not _goes_on(text, stop.end(), limit)
        if begins or not after or _VENUE.match(text, stop.end()):
            return stop.end()
    return limit


def _goes_on(text: str, place: int, limit: int) -> bool:
    """Return whether a second half of the title follows a question mark: a sentence, then a venue."""
    for stop in re.compile(r"\.\s").finditer(text, place, limit):
        if not _ABBREVIATION.search(text, max(place, stop.start() - 7), stop.start()):
            return _VENUE.match(text, stop.end()) is not None
    return False


def _without_venue(text: str, begin: int, end: int, *, after_comma: bool) -> int:
    """Return the end of a title that a comma separates from its venue: `Title, in: Proceedings`."""
    inside = re.compile(
        r",?\s(?:In|in):\s|,\sin\s(?=Proc|Advances|[A-Z]{3,})|[.,]?\s\(?[Uu][Rr][Ll]\)?:?\s?$|\.?\s(?:doi|DOI):?\s?$"
    )
    if cut := inside.search(text, begin + 3, end):
        end = cut.start()
    if not after_comma:
        return end
    place = begin
    while (comma := text.find(", ", place, end)) >= 0:
        if _CHUNK_OF_VENUE.match(text, comma + 1, len(text)):
            return comma
        place = comma + 2
    return end


def _trim_title(text: str, begin: int, end: int) -> tuple[int, int]:
    while end > begin and text[end - 1] in ' .,;:-–—"“”':
        end -= 1
    while begin < end and text[begin] in " .,;:-–—":
        begin += 1
    return without_tail(text, begin, end)


_VENUE_LEAD = re.compile(
    r"[\s.,:;\"”“'’?!»\])]{0,8}(?:\[[JMCDRSPNZA](?:/OL)?\][\s.,:]{0,3})?(?:[Ii]n(?::\s?|\s)|en\.\s[Ii]n:\s)?[\s:(]{0,2}"
)
_NOT_A_VENUE = re.compile(r"(?:https?:|www\.|URL|doi|DOI|[Aa]ccessed|[Aa]vailable|pp?\.|pages?\s|[0-9(])")
_END = re.compile(
    r"""[,.;:]?\s\(?(?:1[7-9]|20)[0-9]{2}[a-z]?\b(?!\s[A-Z])     # a year that does not begin a name
      | [,.;]?\s(?:pp?\.|pages?|vol(?:ume|\.)|Vol(?:ume|\.)|no\.|number|Bd\.|S\.|Eds?\.
          |edited|editors?|ISSN|ISBN|URL|https?:|doi|DOI|abs/|abgerufen)
      | ,\s[0-9]{1,5}\b | \s[0-9]{1,4}\s?[(:,] | \s[0-9]{1,4}\.[0-9] | [.?!]\s | [.,;]?$""",
    re.VERBOSE,
)
_SHORT = re.compile(r"(?:^|[\s.(])(?:[A-Z]|[A-Z][a-z]{0,9}|Proc|Conf|Int|Trans|Assoc|Comput)$")
_MONTH = re.compile(
    r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Sept|Oct|Nov|Dec)[a-z]*|eds?|en|English", re.IGNORECASE
)
_LONGEST_VENUE = 250


def venue_in(text: str, start: int) -> str | None:
    """Return the venue printed after the title; None if there is none."""
    lead = _VENUE_LEAD.match(text, start)
    begin = lead.end() if lead else start
    if begin >= len(text) or _NOT_A_VENUE.match(text, begin):
        return None
    limit = min(len(text), begin + _LONGEST_VENUE)
    for match in _END.finditer(text, begin, limit):
        abbreviated = match.group().startswith(". ") and _SHORT.search(
            text, max(begin, match.start() - 12), match.start()
        )
        if match.start() > begin and not abbreviated:
            return _clean_venue(text[begin : match.start()])
    return _clean_venue(text[begin:limit])


def _clean_venue(text: str) -> str | None:
    venue = text.strip(' .,;:"”“')
    return venue if len(venue) > 1 and not _MONTH.fullmatch(venue) else None


YEAR = r"(?:1[7-9]|20)[0-9]{2}"
BEHIND_AUTHORS = re.compile(
    rf"[\s.,:]{{0,3}}[(\[]\s?(?:c\.\s?)?({YEAR})(?:[-–/](?:{YEAR}|[0-9]{{2}}))?([a-z])?(?:\s?,[^()\[\]]{{1,24}})?\s?[)\]]"
    rf"|[\s.,]{{1,3}}(?:{YEAR}\s?[-–]\s?)?({YEAR})([a-z])?\s?[.:](?=\s)"
)
"""A year that follows the authors: (2019), [2019], (2019, May), `. 2019.`, `, 2019.`"""
_ANY = re.compile(rf"(?<![\w./:@#–-])({YEAR})([a-z])?(?![\w@/]|[-–][0-9])")
_IN_PARENTHESES = re.compile(rf"\((?:[^()0-9]{{0,20}}\s)?({YEAR})([a-z])?\)")
_LOOKED_UP = re.compile(
    r"\b(?:accessed|retrieved|visited|abgerufen|zugriff|last checked|original-date)\b.{0,40}", re.IGNORECASE
)
_PAGES = re.compile(r"\b(?:pp?|pages?|S|vol(?:ume)?|no|article)\.?\s?$", re.IGNORECASE)


def year_in(text: str, title: tuple[int, int], skip: Sequence[tuple[int, int]]) -> tuple[int, str] | None:
    """Return the year of a reference and its letter: the one in parentheses, otherwise the last one."""
    aside = [title, *skip, *(match.span() for match in _LOOKED_UP.finditer(text))]
    for pattern, which in ((_IN_PARENTHESES, 0), (_ANY, -1)):
        for spans in (aside, [*skip]):
            matches = [
                match
                for match in pattern.finditer(text)
                if not _is_inside(match, spans) and not _is_a_page(text, match)
            ]
            if matches:
                return int(matches[which].group(1)), matches[which].group(2) or ""
    return None  # the day on which somebody looked at a page is no year of it


def _is_inside(match: re.Match[str], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= match.start() < end for start, end in spans)


def _is_a_page(text: str, match: re.Match[str]) -> bool:
    return _PAGES.search(text, max(0, match.start() - 10), match.start()) is not None
