"""Reads a paper that is an HTML page: arXiv's, a journal's, a blog's."""

from __future__ import annotations

import codecs
import re
from itertools import pairwise

from phases.readers.dialect.beside import Found
from phases.readers.dialect.blocks import HEADING, Block, compose, plain
from phases.readers.html.flow import Flow
from phases.readers.html.front import authors_of, title_of
from phases.readers.html.markup import parse_html
from phases.readers.html.tree import Element, Page, descend, text_of
from phases.readers.reading import BROKEN, OK, Reading, Unreadable

READER = "html 1"
LARGEST = 16 << 20
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([a-zA-Z0-9_:.\-]{1,40})", re.IGNORECASE)
_TOO_FEW_WORDS = 200
_WORD = re.compile(r"[^\W\d_]+")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def read_html(data: bytes, base: str | None = None) -> Reading:
    """The reading of an HTML page, as one page; its links are resolved against `base`, the address it came from."""
    if len(data) > LARGEST:
        raise Unreadable(BROKEN, f"is an HTML page of more than {LARGEST >> 20} MiB")
    page = parse_html(_decoded(data))
    title, authors = title_of(page), authors_of(page)
    found = Found(_base(page, base), page.math_in_text)
    blocks = Flow(found).read(_paper(page.root))
    if _is_hardly_text(blocks, title, " ".join(f"{link.text} {link.url}" for link in found.links)):
        raise Unreadable(BROKEN, "is an HTML page with hardly any text, perhaps a login page saved by mistake")
    text = compose(blocks, title=title, authors=authors, notes=found.notes.texts)
    return Reading(OK, READER, (text,), title, authors, tuple(found.links), page.hidden)


def _decoded(data: bytes) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    told = _CHARSET.search(data[:4096])
    names = [told.group(1).decode("ascii")] if told else []
    for name in (*names, "utf-8"):
        try:
            if codecs.lookup(name).name not in ("utf-16", "utf-16-le", "utf-16-be", "utf-7", "idna", "punycode"):
                return data.decode(name)
        except (LookupError, UnicodeError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def _base(page: Page, base: str | None) -> str:
    return page.base if re.match("https?://", page.base, re.IGNORECASE) else base or ""


def _paper(root: Element) -> Element:
    """The part of the page that is the paper: what is marked as such, if that is most of the text there is."""
    marked = [one for one in descend(root) if one.tag in ("article", "main") or "ltx_document" in one.classes]
    own = next((one for one in marked if "ltx_document" in one.classes), None)
    if own is not None:
        return own
    body = next((one for one in descend(root) if one.tag == "body"), root)
    whole = len(text_of(body))
    sizes = ((len(text_of(one)), one) for one in marked[:8])
    return next((one for size, one in sizes if size * 2 > whole), body)


def _is_hardly_text(blocks: list[Block], title: str | None, linked: str) -> bool:
    words = sum(_count(block.text) for block in blocks) - _count(linked)
    sections = [
        one
        for one, following in pairwise(blocks)
        if one.kind == HEADING and following.kind != HEADING and plain(one.text) != plain(title or "")
    ]
    return words < _TOO_FEW_WORDS and not sections


def _count(text: str) -> int:
    return len(_WORD.findall(text)) + len(_IDEOGRAPH.findall(text))
