"""Read a paper from an HTML page: arXiv's, a journal's, a blog's."""

from __future__ import annotations

import codecs
import re
from itertools import pairwise

from phases.readers.html.flow import Flow
from phases.readers.html.math import math_tex
from phases.readers.html.tree import Element, HtmlPage, parse_html, text_of, walk_elements
from phases.readers.markdown_blocks import HEADING, Block, PageContext, compose_page, normalize_title, one_line
from phases.readers.reading import BROKEN, OK, InputFile, Reading, Unreadable

READER = "html 1"
LARGEST = 16 << 20
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([a-zA-Z0-9_:.\-]{1,40})", re.IGNORECASE)
_TOO_FEW_WORDS = 200
_WORD = re.compile(r"[^\W\d_]+")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TITLES = ("citation_title", "dc.title", "og:title", "twitter:title")
_AUTHORS = ("citation_author", "dc.creator", "dc.contributor", "author", "article:author", "parsely-author")
_LONGEST_TITLE, _LONGEST_NAME, _MOST_AUTHORS = 400, 80, 500
_NOT_A_NAME = re.compile(r"[0-9@/\\{}<>=|]|https?:|universit|institut|department|google|research\b", re.IGNORECASE)
_NAME_MARKS = re.compile(r"[*†‡§¶∗⋆,;:^\s\u00a0]+$|^[*†‡§¶∗⋆,;:^&\s]+")


def read_html(data: bytes, base: str | None = None) -> Reading:
    """Read an HTML page as one page; links are resolved against `base`, the address of its download."""
    if len(data) > LARGEST:
        raise Unreadable(BROKEN, f"is an HTML page of more than {LARGEST >> 20} MiB")
    page = parse_html(_decode_page(data))
    title, authors = title_of(page), authors_of(page)
    # a saved page may name a base that is not a web address
    own_base = page.base if re.match("https?://", page.base, re.IGNORECASE) else ""
    found = PageContext(own_base or base or "", page.math_in_text)
    blocks = Flow(found).read(_find_paper(page.root))
    if _is_hardly_text(blocks, title, " ".join(f"{link.text} {link.url}" for link in found.links)):
        raise Unreadable(BROKEN, "is an HTML page with hardly any text, perhaps a login page saved by mistake")
    text = compose_page(blocks, title=title, authors=authors, notes=found.notes.texts)
    return Reading(OK, READER, (text,), title, authors, tuple(found.links), page.hidden)


def read_html_input(source: InputFile) -> Reading:
    """Read an HTML file (InputKind.reader)."""
    return read_html(source.content(), source.address or None)


def _decode_page(data: bytes) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    declared = _CHARSET.search(data[:4096])
    names = [declared.group(1).decode("ascii")] if declared else []
    for name in (*names, "utf-8"):
        try:
            # a declaration found as ASCII is wrong if it says UTF-16
            if codecs.lookup(name).name not in ("utf-16", "utf-16-le", "utf-16-be", "utf-7", "idna", "punycode"):
                return data.decode(name)
        except (LookupError, UnicodeError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def _find_paper(root: Element) -> Element:
    """Return the element marked as the paper, if it holds most of the page's text; else the page."""
    marked = [
        element
        for element in walk_elements(root)
        if element.tag in ("article", "main") or "ltx_document" in element.classes
    ]
    own = next((element for element in marked if "ltx_document" in element.classes), None)
    if own is not None:
        return own
    body = next((element for element in walk_elements(root) if element.tag == "body"), root)
    whole = len(text_of(body))
    sizes = ((len(text_of(element)), element) for element in marked[:8])
    return next((element for size, element in sizes if size * 2 > whole), body)


def _is_hardly_text(blocks: list[Block], title: str | None, linked: str) -> bool:
    words = sum(_count_words(block.text) for block in blocks) - _count_words(linked)
    sections = [
        element
        for element, following in pairwise(blocks)
        if element.kind == HEADING
        and following.kind != HEADING
        and normalize_title(element.text) != normalize_title(title or "")
    ]
    return words < _TOO_FEW_WORDS and not sections


def _count_words(text: str) -> int:
    return len(_WORD.findall(text)) + len(_IDEOGRAPH.findall(text))


def title_of(page: HtmlPage) -> str | None:
    """Return the title of the paper."""
    headings = [element for element in walk_elements(page.root) if element.tag == "h1"]
    own = next((element for element in headings if {"ltx_title_document", "title"} & set(element.classes)), None)
    if own is not None and "ltx_title_document" in own.classes:
        return _words_of(own) or None
    metas = dict(reversed(page.metas))
    named = next((metas[name] for name in _TITLES if metas.get(name)), page.title)
    shown = [_words_of(element) for element in ([own] if own is not None else headings)]
    # the heading is the title without the name of the site after it
    for text in shown:
        if text and (normalize_title(text) in normalize_title(named) or not named):
            return text[:_LONGEST_TITLE]
    return named[:_LONGEST_TITLE] or next(filter(None, shown), "")[:_LONGEST_TITLE] or None


def authors_of(page: HtmlPage) -> tuple[str, ...]:
    """Return the distinct authors as printed."""
    for name in _AUTHORS:
        names = [
            _first_name_first(content) for key, content in page.metas if key == name and not content.startswith("http")
        ]
        if names:
            return _drop_repeats(
                names if name.startswith("citation") else [part for element in names for part in _split_names(element)]
            )
    people = [element for element in walk_elements(page.root) if "ltx_personname" in element.classes]
    if not people:
        people = [
            element
            for element in walk_elements(page.root)
            if element.tag in ("p", "span", "a") and "author" in element.classes
        ]
    return _drop_repeats([name for element in people for name in _split_names(_first_lines(element))])


def _words_of(element: Element) -> str:
    parts: list[str] = []
    waiting: list[Element | str] = [element]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            parts.append(one)
        elif not {"ltx_note", "ltx_ERROR", "header-anchor"} & set(one.classes) and one.tag != "sup":
            parts += ["\n"] if one.tag == "br" else [f"${math_tex(one)}$"] if one.tag == "math" else []
            waiting.extend(reversed(one.children) if one.tag != "math" else ())
    return one_line("".join(parts)) if element.tag == "h1" else "".join(parts)


def _first_lines(element: Element) -> str:
    text = _words_of(element)
    return ", ".join(group.strip().split("\n")[0] for group in re.split(r"&|\\And|\n[ \t]*\n", text))


def _split_names(text: str) -> list[str]:
    return re.split(r",|;|\band\b|\bund\b|、|，", text)


def _first_name_first(name: str) -> str:
    """Turn `Vaswani, Ashish` into `Ashish Vaswani`."""
    family, comma, given = name.partition(",")
    return f"{given.strip()} {family.strip()}" if comma and "," not in given and given.strip() else name


def _drop_repeats(names: list[str]) -> tuple[str, ...]:
    clean = (_NAME_MARKS.sub("", _NAME_MARKS.sub("", one_line(name))) for name in names)
    good = (name for name in clean if 1 < len(name) <= _LONGEST_NAME and not _NOT_A_NAME.search(name))
    return tuple(dict.fromkeys(good))[:_MOST_AUTHORS]
