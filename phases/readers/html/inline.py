"""What stands within a line of an HTML page, as Markdown: links, raised signs, code, the labels of references."""

from __future__ import annotations

import re

from phases.readers.dialect.beside import Found, link, shifted
from phases.readers.dialect.blocks import one_line
from phases.readers.html.tree import HEADINGS, Element, descend, text_of

_LEVELS = {"ltx_title_part": 1, "ltx_title_chapter": 2, "ltx_title_section": 3, "ltx_title_appendix": 3}
_LEVELS |= {"ltx_title_bibliography": 3, "ltx_title_subsection": 4, "ltx_title_subsubsection": 5}
_RUN_IN = {"ltx_runin", "ltx_title_paragraph", "ltx_title_subparagraph", "ltx_title_theorem", "ltx_title_proof"}
_LABEL = re.compile(r"[\[(]?([^\s\[\]()]{1,40})[\])]?\.?")


def linked(element: Element, text: str, found: Found) -> str:
    """The text of an anchor as a link, if it leads out of the page."""
    return link(text, element.attributes.get("href", ""), found)


def raised(element: Element, text: str) -> str:
    """A superscript or subscript of a page: a citation, an exponent or an index, or the text as it is."""
    anchors = (one for one in descend(element) if one.tag == "a")
    if text[:1].isdigit() and any(one.attributes.get("href", "").startswith("#") for one in anchors):
        return f" [{text}]"
    return shifted(text, "^" if element.tag == "sup" else "_")


def code_span(element: Element) -> str:
    """Code within a line."""
    text = one_line(text_of(element))
    return f"`{text}`" if text and "`" not in text else text


def reference_text(element: Element, text: str) -> str:
    """A reference with its label, unless that only repeats author and year."""
    tag = next((text_of(one).strip() for one in descend(element) if "ltx_tag_bibitem" in one.classes), "")
    label = _LABEL.fullmatch(tag)
    return f"[{label.group(1)}] {text}" if label else text


def heading_level(element: Element) -> int:
    """How deep a heading stands, by its class, else by its tag; only the order of the levels counts."""
    by_class = next((_LEVELS[name] for name in element.classes if name in _LEVELS), 0)
    return by_class or (int(element.tag[1]) if element.tag in HEADINGS else 1)


def is_run_in(element: Element) -> bool:
    """Whether a heading stands at the beginning of its paragraph."""
    return not _RUN_IN.isdisjoint(element.classes)
