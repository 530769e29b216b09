"""What stands in a paragraph of a Word document, as Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from phases.readers.docx.math import omml_tex
from phases.readers.docx.styles import Look, Styles, look_of
from phases.readers.docx.xml import XmlNode
from phases.readers.markdown_blocks import (
    PageContext,
    escape_prose,
    one_line,
    render_link,
    render_script,
    strip_invisible,
)
from phases.readers.reading import Hidden

_SKIPPED = frozenset((
    "w:del", "w:moveFrom", "w:rt", "w:pPr", "w:rPr", "w:instrText", "w:delText", "w:sdtPr", "w:sdtEndPr",
    "m:oMathParaPr",
))  # fmt: skip
_SPACES = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:ptab": "\t", "w:noBreakHyphen": "-"}
_ADDRESS = re.compile(r'\s*HYPERLINK\s+"([^"\s]{1,2000})"')
_SYMBOL = dict(zip("abcdefghijklmnopqrstuvwxyz", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True))
_MOST_HIDDEN, _LONGEST_HIDDEN, _DEEPEST_FIELDS = 200, 2000, 50
DISPLAY = "display"


@dataclass
class DocumentContext:
    """What is shared by all paragraphs, and what is collected beside their text."""

    styles: Styles
    found: PageContext
    addresses: dict[str, str]
    """The targets of links by the id of their relation."""
    hidden: list[Hidden] = field(default_factory=list)

    def hide(self, text: str, how: str) -> None:
        """Adds hidden text, joined to what stands right before it."""
        if self.hidden and self.hidden[-1].how == how and len(self.hidden[-1].text) + len(text) < _LONGEST_HIDDEN:
            self.hidden[-1] = Hidden(self.hidden[-1].text + text, 1, how)
        elif text.strip() and len(self.hidden) < _MOST_HIDDEN:
            self.hidden.append(Hidden(text[:_LONGEST_HIDDEN], 1, how))


class ParagraphReader:
    """A paragraph that is being read."""

    def __init__(self, beside: DocumentContext, look: Look, *, raw: bool = False) -> None:
        self.pieces: list[tuple[str, str]] = []
        """(`text` or `display`, what it is)."""
        self.boxes: list[XmlNode] = []
        """Text boxes that are anchored in the paragraph."""
        self._beside, self._look, self._raw = beside, look, raw
        self._fields: list[tuple[list[str], int]] = []

    @property
    def text(self) -> str:
        """All of it as text, with its spaces and line breaks."""
        return "".join(f" ${piece}$ " if kind == DISPLAY else piece for kind, piece in self.pieces)

    def read(self, node: XmlNode) -> None:
        """Takes what stands in a node."""
        for child in node.children:
            if child.name == "w:r":
                self._run(child)
            elif child.name in ("w:hyperlink", "w:fldSimple"):
                self._read_link(child)
            elif child.name == "m:oMathPara":
                texts = [omml_tex(one) for one in child.children if one.name == "m:oMath"]
                self.pieces += [(DISPLAY, text) for text in texts if text]
            elif child.name == "m:oMath":
                if tex := omml_tex(child):
                    self._add(f"${tex}$")
            elif child.name == "mc:AlternateContent":
                # several forms of the same content: the first is the one to read
                if child.children:
                    self.read(child.children[0])
            elif child.name not in _SKIPPED:
                self.read(child)

    def _add(self, text: str) -> None:
        self.pieces.append(("text", text))

    def _run(self, run: XmlNode) -> None:
        properties = run.find("w:rPr")
        look = self._look
        if properties:
            named = properties.value("w:rStyle")
            if named:
                look = look.combine(self._beside.styles.style(named).look)
            look = look_of(properties, look)
        for child in run.children:
            text = self._text(child)
            if text and look.how:
                self._beside.hide(strip_invisible(text), look.how)
            elif text:
                self._write_text(text, properties)
            else:
                self._other(child, seen=not look.how)

    def _write_text(self, text: str, properties: XmlNode | None) -> None:
        place = properties.value("w:vertAlign") if properties else None
        text = strip_invisible(text) if self._raw else escape_prose(text)
        if place in ("superscript", "subscript") and not self._raw:
            text = render_script(text.strip(), "^" if place == "superscript" else "_")
        self._add(text)

    def _text(self, node: XmlNode) -> str:
        if node.name == "w:t":
            return node.text
        if node.name == "w:sym":
            code = node.attributes.get("w:char", "")
            number = int(code, 16) if re.fullmatch("[0-9a-fA-F]{1,4}", code) else 0
            letter = chr(number - 0xF000) if 0xF000 < number < 0xF100 else chr(number) if 31 < number < 0xD800 else ""
            return _SYMBOL.get(letter, letter)
        return _SPACES.get(node.name, "")

    def _other(self, node: XmlNode, *, seen: bool) -> None:
        if node.name in ("w:footnoteReference", "w:endnoteReference"):
            kind = node.name.removeprefix("w:").removesuffix("Reference")
            number = self._beside.found.notes.number(f"{kind} {node.attributes.get('w:id', '')}")
            self._add(f"[^{number}]")
        elif node.name == "w:fldChar":
            self._field(node.attributes.get("w:fldCharType", ""))
        elif node.name == "w:instrText" and self._fields:
            self._fields[-1][0].append(node.text[:_LONGEST_HIDDEN])
        elif node.name == "mc:AlternateContent" and node.children:
            self._other(node.children[0], seen=seen)
        elif node.name in ("w:drawing", "w:pict", "mc:Choice", "mc:Fallback") and seen:
            self.boxes += _text_boxes(node)
        elif node.name in ("w:ruby", "w:rubyBase"):
            self.read(node)

    def _field(self, kind: str) -> None:
        """The begin, the middle or the end of a field: of what it does, only a link matters, and its result."""
        if kind == "begin" and len(self._fields) < _DEEPEST_FIELDS:
            self._fields.append(([], len(self.pieces)))
        elif kind == "separate" and self._fields:
            self._fields[-1] = (self._fields[-1][0], len(self.pieces))
        elif kind == "end" and self._fields:
            instruction, start = self._fields.pop()
            address = _ADDRESS.match("".join(instruction))
            if address:
                self._link(start, address.group(1))

    def _read_link(self, node: XmlNode) -> None:
        start = len(self.pieces)
        self.read(node)
        address = _ADDRESS.match(node.attributes.get("w:instr", ""))
        target = self._beside.addresses.get(node.attributes.get("r:id", ""), "")
        self._link(start, address.group(1) if address else target)

    def _link(self, start: int, address: str) -> None:
        pieces = self.pieces[start:]
        if address and pieces and all(kind == "text" for kind, _ in pieces):
            self.pieces[start:] = [
                ("text", render_link("".join(text for _, text in pieces), address, self._beside.found))
            ]


def plain_text(line: ParagraphReader) -> str:
    """A paragraph on one line."""
    return one_line(line.text)


def _text_boxes(node: XmlNode) -> list[XmlNode]:
    found: list[XmlNode] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.name == "w:txbxContent":
            found.append(one)
        elif one.name == "mc:AlternateContent":
            waiting += one.children[:1]
        else:
            waiting.extend(reversed(one.children))
    return found
