"""Parse XML parts of a document without expanding entities, including files or opening addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from xml.parsers import expat

from phases.readers.reading import BROKEN, Unreadable

_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": "r",
    "http://purl.oclc.org/ooxml/officeDocument/relationships": "r",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.w3.org/2001/XInclude": "xi",
}
_DEEPEST, _MOST_ELEMENTS, _LARGEST = 120, 800_000, 64 << 20


@dataclass(slots=True, eq=False)
class XmlNode:
    """An element: name with a short prefix (`w:p`), attributes, text and children."""

    name: str
    attributes: dict[str, str]
    children: list[XmlNode] = field(default_factory=list)
    text: str = ""

    def find(self, *path: str) -> XmlNode | None:
        """Return the first element along a path of names."""
        node: XmlNode | None = self
        for name in path:
            node = next((child for child in node.children if child.name == name), None) if node else None
        return node

    def value(self, *path: str) -> str | None:
        """Return the attribute `val` of the element at the end of a path: "" if unset, None if there is no such element."""
        node = self.find(*path)
        return None if node is None else node.attributes.get("w:val", node.attributes.get("m:val", ""))

    def is_on(self, *path: str) -> bool:
        """Return whether a switch at the end of a path is present and not off."""
        return (self.value(*path) or "on") not in ("0", "false", "off") if self.find(*path) else False


def parse_xml(data: bytes, part: str) -> XmlNode:
    """Parse an XML part. Raises Unreadable for a document type, entities, inclusions and malformed XML."""
    # expat with own handlers: a tree-building library would expand entities before they could be refused
    parser = expat.ParserCreate(namespace_separator=" ")
    builder = _XmlBuilder(part)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.EntityDeclHandler = builder.refuse
    if len(data) > _LARGEST:
        raise Unreadable(BROKEN, f"{part} is larger than {_LARGEST >> 20} MiB")
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # the latter two: an unknown encoding
        raise Unreadable(BROKEN, f"{part} is not valid XML: {error}") from error
    return builder.root


def walk_nodes(node: XmlNode) -> Iterator[XmlNode]:
    """Yield a node and all its descendants, in order."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(one.children))


class _XmlBuilder:
    """Builds the tree from parser events; holds the open elements."""

    def __init__(self, part: str) -> None:
        self.root = XmlNode("", {})
        self._part = part
        self._stack = [self.root]
        self._texts: list[list[str] | None] = [None]
        self._elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        short = _short_name(name)
        if short.startswith("xi:"):
            self.refuse()
        if len(self._stack) > _DEEPEST or self._elements > _MOST_ELEMENTS:
            raise Unreadable(BROKEN, f"{self._part} has more or deeper elements than a paper")
        node = XmlNode(short, {_short_name(key): value for key, value in attributes.items()} if attributes else {})
        self._stack[-1].children.append(node)
        self._stack.append(node)
        self._texts.append(None)

    def end(self, _: str) -> None:
        node = self._stack.pop()
        parts = self._texts.pop()
        if parts:
            node.text = "".join(parts)

    def characters(self, text: str) -> None:
        parts = self._texts[-1]
        if parts is None:
            self._texts[-1] = [text]
        else:
            parts.append(text)

    def refuse(self, *_: object) -> None:
        raise Unreadable(BROKEN, f"{self._part} declares entities or includes files, which papers do not need")


@lru_cache(maxsize=2000)
def _short_name(name: str) -> str:
    space, _, local = name.rpartition(" ")
    return f"{_PREFIXES[space]}:{local}" if space in _PREFIXES else local
