"""The footnotes of a page: their marks in the text, wherever their own text stands."""

from __future__ import annotations

import re
from collections.abc import Callable

from phases.readers.dialect.beside import Notes
from phases.readers.html.tree import Element, descend

_MARK = re.compile(r"#_?(?:fn|ftn|footnote|user-content-fn)[^/\s]{0,80}", re.IGNORECASE)
_MARKS = {"footnote-ref", "footnote-reference", "footnoteref", "footref"}
_LISTS = {"footnotes", "footnote-list", "footnotes-list", "endnotes"}


def define_notes(notes: Notes, element: Element, inline: Callable[[Element], str]) -> None:
    """Takes the texts from a list of footnotes."""
    named = [one for one in descend(element) if one.tag in ("li", "p", "div", "aside") and one.attributes.get("id")]
    for one in named or [element]:
        key = one.attributes.get("id", "")
        text = inline(one)
        if text and one is not element:
            notes.texts.setdefault(notes.number(key), text)
        elif text:
            notes.add(text)


def is_note_mark(element: Element) -> bool:
    """Whether an anchor is the mark of a footnote."""
    href = element.attributes.get("href", "")
    named = element.attributes.get("role") == "doc-noteref" or bool(_MARKS & set(element.classes))
    return href.startswith("#") and (named or bool(_MARK.fullmatch(href)))


def note_key(element: Element) -> str:
    """The name of the footnote that a mark points to."""
    return element.attributes.get("href", "")[1:]


def is_notes(element: Element) -> bool:
    """Whether an element is a list of footnotes at the end of a page or a section."""
    if element.tag not in ("section", "aside", "div", "ol"):
        return False
    return element.attributes.get("role") in ("doc-endnotes", "doc-footnotes") or bool(_LISTS & set(element.classes))
