"""The identifiers that a reference prints: DOI, number on arXiv, address."""

from __future__ import annotations

import re
from typing import NamedTuple

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
    """What a reference names itself by, and the places of the text that say so."""

    doi: str | None
    arxiv: str | None
    urls: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Start and end of each place, in order; nothing in them is a title or a year."""


def identifiers_in(text: str) -> Identifiers:
    """All identifiers of a tidy reference."""
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


def _bare_doi(found: str) -> str:
    doi = "".join(found.split()).lower()
    for mark in (",url", ";url", "}"):
        doi = doi.partition(mark)[0]
    while doi and (
        doi[-1] in _AFTER or (doi[-1] in ")]" and doi.count("(") + doi.count("[") < doi.count(")") + doi.count("]"))
    ):
        doi = doi[:-1]
    return doi


def _addresses_in(text: str) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    for match in _ADDRESS.finditer(text):
        if found and match.start() < found[-1][1]:
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
        found.append((match.start(), end, url))
    return found


def _is_broken(url: str, following: str) -> bool:
    """Whether an address surely goes on behind a space: a line ended within it."""
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
