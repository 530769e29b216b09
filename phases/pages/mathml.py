"""Convert LaTeX formulas to MathML. The library only parses: the output has known elements and attributes only."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from phases.planning.plan_words import read_formula

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_INLINE = re.compile(r"\$([^$\n]{1,2000})\$")
_LONGEST, _MOST_ELEMENTS, _DEEPEST = 600, 1000, 40
_EXPANDS = re.compile(r"\\(?:(?:re)?new|provide|def|[egx]def|let|Declare|html|require)|\*\s*\{")
"""Commands that expand a short formula, or are not part of a formula."""
# fmt: off
_TAGS = frozenset((
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder",
    "mover", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom",
))
_ATTRIBUTES = frozenset((
    "display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form", "separator", "accent", "accentunder",
    "movablelimits", "linethickness", "columnalign", "lspace", "rspace", "width", "minsize", "maxsize",
))
# fmt: on
_VALUE = re.compile(r"-?[A-Za-z0-9.% ]{1,24}")
_FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError)
"""Exceptions that the library also raises on invalid LaTeX."""


class MathElement(NamedTuple):
    """An element of MathML."""

    tag: str
    attributes: dict[str, object]
    text: str
    inside: tuple[MathElement, ...]
    title: str = ""


def split_formulas(text: str) -> list[str | MathElement]:
    """Yield the words of a text and the formulas between `$`; an unsupported formula stays text."""
    pieces: list[str | MathElement] = []
    end = 0
    for match in _INLINE.finditer(text):
        pieces += [text[end : match.start()], set_formula(match[1])]
        end = match.end()
    return [piece for piece in (*pieces, text[end:]) if piece]


@lru_cache(4096)
def set_formula(formula: str) -> str | MathElement:
    """Return a formula as MathML; as text if it is unsupported or too long, or the extra `[web]` is not installed."""
    if len(formula) > _LONGEST or _EXPANDS.search(formula) or not _has_library():
        return read_formula(formula)
    parsed = _parse(formula.strip())
    is_known = parsed is not None and sum(1 for _ in parsed.iter()) <= _MOST_ELEMENTS
    return (_take(parsed, 0) if parsed is not None and is_known else None) or read_formula(formula)


@cache
def _has_library() -> bool:
    return importlib.util.find_spec("latex2mathml") is not None


def _parse(formula: str) -> Element | None:
    from latex2mathml import converter, exceptions  # imported here: it takes a quarter of a second

    own = (kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception))
    caught: tuple[type[Exception], ...] = (*own, *_FAILURES)
    try:
        return converter.convert_to_element(formula)
    except caught:
        return None


def _take(element: Element, depth: int) -> MathElement | None:
    """Return the element with its known parts; None if it contains unknown ones, or an undefined command."""
    text = unescape(element.text or "").strip("\n")
    if element.tag not in _TAGS or depth > _DEEPEST or text.startswith("\\"):
        return None
    inside = [_take(child, depth + 1) for child in element]
    known = [child for child in inside if child]
    if len(known) < len(inside):
        return None
    return MathElement(element.tag, dict(_take_attributes(element)), text, tuple(known))


def _take_attributes(element: Element) -> Iterator[tuple[str, object]]:
    for name, value in element.attrib.items():
        if name in _ATTRIBUTES and _VALUE.fullmatch(value):
            yield name, value
