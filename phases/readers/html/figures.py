"""Figures of a page with what stands in them: their caption first, and algorithms as one listing."""

from __future__ import annotations

import re
from collections.abc import Callable

from phases.readers.dialect import blocks as markdown
from phases.readers.dialect.blocks import CAPTION, CODE, HEADING, Block
from phases.readers.html.tree import Element, descend, text_of

_ALGORITHM = re.compile(r"\*\*(Algorithm\w* [^*]*?)\.\*\* *")
_WIDE = {"\u2003": "  ", "\u2001": "  ", "\t": "    "}


def figure_blocks(element: Element, blocks: list[Block]) -> list[Block]:
    """The blocks of a figure in the order of the dialect."""
    captions = [block for block in blocks if block.kind == CAPTION]
    algorithm = _ALGORITHM.match(captions[0].text) if len(captions) == 1 else None
    if algorithm and any(block.kind == CODE for block in blocks):
        name = f"{algorithm.group(1)}: {captions[0].text[algorithm.end() :]}".rstrip(": ")
        steps = [block.text for block in blocks if block.kind not in (CAPTION, HEADING)]
        return [markdown.code("\n".join([name, *steps]), "algorithm")]
    if len(captions) == 1:
        return captions + [block for block in blocks if block.kind != CAPTION]
    own = any(isinstance(child, Element) and _is_caption(child) for child in element.children)
    if own and blocks and blocks[-1].kind == CAPTION:
        return [blocks[-1], *blocks[:-1]]
    return blocks


def listing_text(element: Element, raw: Callable[[Element], str]) -> str:
    """The lines of a listing as they stand. `raw` gives an element's text with its formulas and spaces."""
    lines = [one for one in descend(element) if "ltx_listingline" in one.classes]
    if lines:
        return "\n".join(_line(line, raw) for line in lines)
    return text_of(element).replace("\u00a0", " ").rstrip()


def _line(line: Element, raw: Callable[[Element], str]) -> str:
    tag = next((text_of(one).strip() for one in descend(line) if "ltx_tag_listingline" in one.classes), "")
    text = raw(line).removeprefix(" " if tag else "")
    text = text.lstrip("\n\r\t ") if text.startswith("\n") else text
    text = "".join(_WIDE.get(sign, " " if sign.isspace() else sign) for sign in text).rstrip()
    return f"{tag} {text}".rstrip() if tag.endswith(":") else text


def _is_caption(element: Element) -> bool:
    return element.tag == "figcaption" or "ltx_caption" in element.classes
