"""Title and authors of a page, from its head where that names them, else from its first lines."""

from __future__ import annotations

import re

from phases.readers.dialect.blocks import one_line, plain
from phases.readers.html.math import math_tex
from phases.readers.html.tree import Element, Page, descend

_TITLES = ("citation_title", "dc.title", "og:title", "twitter:title")
_AUTHORS = ("citation_author", "dc.creator", "dc.contributor", "author", "article:author", "parsely-author")
_LONGEST_TITLE, _LONGEST_NAME, _MOST_AUTHORS = 400, 80, 500
_NOT_A_NAME = re.compile(r"[0-9@/\\{}<>=|]|https?:|universit|institut|department|google|research\b", re.IGNORECASE)
_MARKS = re.compile(r"[*†‡§¶∗⋆,;:^\s\u00a0]+$|^[*†‡§¶∗⋆,;:^&\s]+")


def title_of(page: Page) -> str | None:
    """The title of the paper."""
    headings = [one for one in descend(page.root) if one.tag == "h1"]
    own = next((one for one in headings if {"ltx_title_document", "title"} & set(one.classes)), None)
    if own is not None and "ltx_title_document" in own.classes:
        return _words(own) or None
    metas = dict(reversed(page.metas))
    told = next((metas[name] for name in _TITLES if metas.get(name)), page.title)
    shown = [_words(one) for one in ([own] if own is not None else headings)]
    for text in shown:  # the heading is the title without the name of the site behind it
        if text and (plain(text) in plain(told) or not told):
            return text[:_LONGEST_TITLE]
    return told[:_LONGEST_TITLE] or next(filter(None, shown), "")[:_LONGEST_TITLE] or None


def authors_of(page: Page) -> tuple[str, ...]:
    """The authors of the paper, each once, as they are printed."""
    for name in _AUTHORS:
        names = [_turned(content) for key, content in page.metas if key == name and not content.startswith("http")]
        if names:
            return _each_once(
                names if name.startswith("citation") else [part for one in names for part in _parted(one)]
            )
    people = [one for one in descend(page.root) if "ltx_personname" in one.classes]
    if not people:
        people = [one for one in descend(page.root) if one.tag in ("p", "span", "a") and "author" in one.classes]
    return _each_once([name for one in people for name in _parted(_first_lines(one))])


def _words(element: Element) -> str:
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
    """The first line of each group of lines: below a name stands where its bearer works."""
    text = _words(element)
    return ", ".join(group.strip().split("\n")[0] for group in re.split(r"&|\\And|\n[ \t]*\n", text))


def _parted(text: str) -> list[str]:
    return re.split(r",|;|\band\b|\bund\b|、|，", text)


def _turned(name: str) -> str:
    """`Vaswani, Ashish` as it is spoken."""
    family, comma, given = name.partition(",")
    return f"{given.strip()} {family.strip()}" if comma and "," not in given and given.strip() else name


def _each_once(names: list[str]) -> tuple[str, ...]:
    clean = (_MARKS.sub("", _MARKS.sub("", one_line(name))) for name in names)
    good = (name for name in clean if 1 < len(name) <= _LONGEST_NAME and not _NOT_A_NAME.search(name))
    return tuple(dict.fromkeys(good))[:_MOST_AUTHORS]
