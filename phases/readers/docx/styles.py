"""Interpret styles and lists of Word documents: headings, captions, hidden text, bullets and numbers."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, replace

from phases.readers.docx.xml import XmlNode, walk_nodes

TITLE, AUTHOR, ABSTRACT_TITLE, CAPTION, CODE, REFERENCE, SKIPPED, BODY = (
    "title", "author", "abstract title", "caption", "code", "reference", "skipped", "",
)  # fmt: skip
_ROLES = {
    "title": TITLE, "titel": TITLE, "author": AUTHOR, "authors": AUTHOR, "autor": AUTHOR, "abstract title": ABSTRACT_TITLE,
    "caption": CAPTION, "beschriftung": CAPTION, "image caption": CAPTION, "table caption": CAPTION, "figure caption": CAPTION,
    "题注": CAPTION, "캡션": CAPTION, "source code": CODE, "html preformatted": CODE, "code": CODE, "macro": CODE,
    "plain text": CODE, "bibliography": REFERENCE, "literaturverzeichnis": REFERENCE, "references": REFERENCE,
    "toc heading": SKIPPED, "header": SKIPPED, "footer": SKIPPED, "subtitle": BODY, "date": BODY, "abstract": BODY,
}  # fmt: skip
_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|标题|제목)[ _]*([1-9])$")
# styles of templates: "MDPI_1.2_title", "paper title"
_ENDINGS = (
    (re.compile(r"(?:^|[ _])(?:paper ?)?title$"), TITLE),
    (re.compile(r"(?:^|[ _])author(?:s|names?| names?)?$"), AUTHOR),
    (re.compile(r"(?:^|[ _])references?$"), REFERENCE),
    (re.compile(r"_(?:figure|table)_caption$"), CAPTION),
)
_CONTENTS = re.compile(r"(?:toc|table of figures|index|verzeichnis)\s*[0-9]*")
_LONGEST_CHAIN, _MOST_LEVELS = 20, 9
_BULLETS = ("bullet", "none")


@dataclass(frozen=True)
class Look:
    """Appearance of a run: what decides whether it is visible, and whether it is bold."""

    vanished: bool = False
    white: bool = False
    tiny: bool = False
    shaded: bool = False
    bold: bool = False

    @property
    def how(self) -> str:
        """The way it is hidden; empty if it is visible."""
        if self.vanished:
            return "invisible"
        return "white" if self.white and not self.shaded else "tiny" if self.tiny else ""

    def combine(self, other: Look) -> Look:
        """Return the look with the properties of both."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Look(*(one or another for one, another in pairs))


PLAIN = Look()


@dataclass(frozen=True)
class Style:
    """Meaning of a paragraph or run style."""

    role: str = BODY
    level: int = 0
    """Heading level from 1; 0 for anything else."""
    numbering: tuple[str, int] | None = None
    look: Look = PLAIN
    shaded: bool = False
    """For table styles: whether cells have a background colour."""


class Styles:
    """Styles of a document by id."""

    def __init__(self, part: XmlNode | None) -> None:
        nodes = (node for node in part.children if node.name == "w:style") if part else iter(())
        self._nodes = {node.attributes.get("w:styleId", ""): node for node in nodes}
        self._known: dict[str, Style] = {}
        default = (key for key, node in self._nodes.items() if node.attributes.get("w:default") in ("1", "true"))
        self._default = next((key for key in default if self._nodes[key].attributes.get("w:type") == "paragraph"), "")

    def style(self, identity: str | None) -> Style:
        """Return the style with this id; the default style for None."""
        key = identity or self._default
        if key not in self._known:
            self._known[key] = self._resolve_style(key)
        return self._known[key]

    def _resolve_style(self, key: str) -> Style:
        # by name, not id: Word translates ids, and templates have names of their own
        chain: list[XmlNode] = []
        role, level = None, 0
        # styles may be based on each other in a circle
        while key in self._nodes and len(chain) < _LONGEST_CHAIN:
            node = self._nodes[key]
            chain.append(node)
            if role is None:
                role, level = _role_of(node, key)
            key = node.value("w:basedOn") or ""
        if not chain and role is None:
            role, level = _role_by_name(key)
        numbering = next((found for one in chain if (found := numbering_of(one.find("w:pPr")))), None)
        look = PLAIN
        for one in reversed(chain):
            look = look_of(one.find("w:rPr"), look)
        shaded = any(is_shade(one) for node in chain for one in walk_nodes(node) if one.name == "w:shd")
        return Style(role or BODY, level, numbering, look, shaded)


class Numbering:
    """Lists of a document with their counters."""

    def __init__(self, part: XmlNode | None) -> None:
        children = part.children if part else []
        abstract = {
            node.attributes.get("w:abstractNumId", ""): node for node in children if node.name == "w:abstractNum"
        }
        self._lists = {
            node.attributes.get("w:numId", ""): _list_levels(abstract.get(node.value("w:abstractNumId") or ""))
            for node in children
            if node.name == "w:num"
        }
        self._counts: dict[str, list[int]] = {}

    def label(self, numbering: tuple[str, int]) -> str:
        """Return the mark of the next list item: `-` or a number with a dot; empty if the list is unknown."""
        identity, level = numbering
        if identity not in self._lists or identity == "0":
            return ""
        kind, start = self._lists[identity].get(str(level), ("bullet", 1))
        if kind in _BULLETS:
            return "-"
        counts = self._counts.setdefault(identity, [0] * 10)
        counts[level] = counts[level] + 1 if counts[level] else start
        counts[level + 1 :] = [0] * (9 - level)
        return f"{counts[level]}."


def numbering_of(properties: XmlNode | None) -> tuple[str, int] | None:
    """Return list and level named by paragraph properties."""
    number = properties.find("w:numPr") if properties else None
    identity = number.value("w:numId") if number else None
    level = (number.value("w:ilvl") if number else None) or "0"
    return (identity, int(level) if re.fullmatch("[0-8]", level) else 0) if identity else None


def _list_levels(abstract: XmlNode | None) -> dict[str, tuple[str, int]]:
    result: dict[str, tuple[str, int]] = {}
    for level in abstract.children if abstract else ():
        if level.name == "w:lvl" and len(result) < _MOST_LEVELS:
            start = level.value("w:start") or "1"
            first = int(start) if re.fullmatch("[0-9]{1,6}", start) else 1
            result[level.attributes.get("w:ilvl", "0")] = (level.value("w:numFmt") or "bullet", first)
    return result


def _role_of(node: XmlNode, key: str) -> tuple[str | None, int]:
    role, level = _role_by_name((node.value("w:name") or key).lower())
    outline = node.value("w:pPr", "w:outlineLvl")
    if role is None and outline and re.fullmatch("[0-8]", outline):
        return BODY, int(outline) + 1
    return role, level


def _role_by_name(name: str) -> tuple[str | None, int]:
    name = name.lower().strip()
    if name in _ROLES:
        return _ROLES[name], 0
    for pattern, role in _ENDINGS:
        if pattern.search(name):
            return role, 0
    heading = _HEADING.search(name)
    if heading:
        return BODY, int(heading.group(1))
    return (SKIPPED, 0) if _CONTENTS.fullmatch(name) else (None, 0)


# in half points
_TINY = 2
_NO_FILL = ("", "auto", "ffffff", "none")


def look_of(properties: XmlNode | None, above: Look) -> Look:
    """Return the look of a run; properties it does not set are inherited from `above`."""
    if properties is None:
        return above
    look = above
    if properties.find("w:vanish") or properties.find("w:specVanish"):
        look = replace(look, vanished=properties.is_on("w:vanish") or properties.is_on("w:specVanish"))
    if properties.find("w:b"):
        look = replace(look, bold=properties.is_on("w:b"))
    colour = properties.value("w:color")
    if colour is not None:
        look = replace(look, white=bool(re.fullmatch("(?:[fF][a-fA-F]){3}", colour)))
    size = properties.value("w:sz")
    if size and re.fullmatch("[0-9]{1,6}", size):
        look = replace(look, tiny=int(size) <= _TINY)
    marked = properties.value("w:highlight") not in (None, "none", "white")
    if marked or is_shade(properties.find("w:shd")):
        look = replace(look, shaded=True)
    return look


def is_shade(shade: XmlNode | None) -> bool:
    """Return whether a shading has a background other than white."""
    if shade is None:
        return False
    pattern = shade.value() == "solid" and shade.attributes.get("w:color", "auto").lower() not in _NO_FILL
    return pattern or shade.attributes.get("w:fill", "").lower() not in _NO_FILL or "w:themeFill" in shade.attributes
