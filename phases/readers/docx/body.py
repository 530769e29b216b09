"""The paragraphs and tables of a Word document to blocks of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from phases.readers.dialect import blocks as markdown
from phases.readers.dialect.blocks import (
    CODE,
    EQUATION,
    HEADING,
    ITEM,
    PARAGRAPH,
    REFERENCE,
    TABLE,
    Block,
    one_line,
)
from phases.readers.docx import styles as roles
from phases.readers.docx.line import DISPLAY, Beside, Line, plain_text
from phases.readers.docx.look import PLAIN, Look, is_shade
from phases.readers.docx.styles import Numbering, Style, numbering_of
from phases.readers.docx.xml import Node

_WRAPPERS = (
    "w:sdt",
    "w:sdtContent",
    "w:ins",
    "w:moveTo",
    "w:customXml",
    "w:smartTag",
    "mc:AlternateContent",
    "mc:Choice",
)
_NUMBER = re.compile(r"\(([A-Z]?[0-9.\-]{1,8}[a-z]?)\)")
_HASH_NUMBER = re.compile(r"\\#\s*\(([A-Z]?[0-9.\-]{1,8}[a-z]?)\)(?=\s*(?:\\end\{aligned\}\s*)?$)")
_LONE_FORMULA = re.compile(r"\$((?:[^$\\]|\\.)+)\$\s*(?:[.,;]\s*)?(?:\(([A-Z]?[0-9.\-]{1,8}[a-z]?)\))?")
_MOST_COLUMNS = 60
_TABLE_WORDS = ("**Table", "**Tabelle", "**表")


@dataclass
class Body:
    """The blocks so far, and what is read beside them."""

    beside: Beside
    numbering: Numbering
    blocks: list[Block] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)

    def read(self, node: Node, look: Look = PLAIN) -> None:
        """Takes all paragraphs and tables of a node, in order."""
        for child in node.children:
            if child.name == "w:p":
                self._paragraph(child, look)
            elif child.name == "w:tbl":
                self._table(child, look)
            elif child.name in _WRAPPERS and not _is_contents(child):
                self.read(child, look)
            elif child.name == "m:oMathPara":
                line = Line(self.beside, look)
                line.read(Node("", {}, [child]))
                self._flow(line)

    def _paragraph(self, node: Node, look: Look) -> None:
        properties = node.find("w:pPr")
        style = self.beside.styles.style(properties.value("w:pStyle") if properties else None)
        shaded = is_shade(properties.find("w:shd")) if properties else False
        own = replace(style.look, shaded=style.look.shaded or look.shaded or shaded)
        line = Line(self.beside, own, raw=style.role == roles.CODE)
        line.read(node)
        self._take(line, style, properties)
        for box in line.boxes:
            self.read(box, look)

    def _take(self, line: Line, style: Style, properties: Node | None) -> None:
        text, role = plain_text(line), style.role
        if not text or role == roles.SKIPPED:
            return
        outline = (properties.value("w:outlineLvl") if properties else None) or ""
        level = int(outline) + 1 if re.fullmatch("[0-8]", outline) else style.level
        if role == roles.TITLE and not self.blocks:
            self.titles.append(text)
        elif role == roles.AUTHOR and not any(block.kind == HEADING for block in self.blocks):
            self.authors.append(text)
        elif role == roles.ABSTRACT_TITLE or level:
            self.blocks.append(Block(HEADING, text, max(1, level)))
        elif role == roles.CODE:
            self._code(line.text)
        elif role == roles.CAPTION or markdown.is_caption(text):
            self._caption(markdown.caption(text))
        elif role == roles.REFERENCE:
            self.blocks.append(Block(REFERENCE, text))
        else:
            self._item(line, numbering_of(properties) or style.numbering)

    def _item(self, line: Line, numbering: tuple[str, int] | None) -> None:
        label = self.numbering.label(numbering) if numbering else ""
        if label and numbering:
            self.blocks.append(Block(ITEM, plain_text(line), numbering[1] + 1, label))
        else:
            self._flow(line)

    def _flow(self, line: Line) -> None:
        """A paragraph of text and display equations, each a block of its own."""
        words = [one_line(piece) for kind, piece in line.pieces if kind != DISPLAY]
        formulas = [piece for kind, piece in line.pieces if kind == DISPLAY]
        number = _NUMBER.fullmatch("".join(words))
        alone = _LONE_FORMULA.fullmatch(plain_text(line)) if not formulas else None
        if alone:
            self.blocks.append(_equation(alone.group(1), alone.group(2) or ""))
        elif formulas and number:
            self.blocks += [_equation(tex, number.group(1) if tex is formulas[-1] else "") for tex in formulas]
        else:
            self.blocks += _split(line)

    def _code(self, text: str) -> None:
        if self.blocks and self.blocks[-1].kind == CODE:
            text = f"{self.blocks.pop().text}\n{text}"
        self.blocks.append(markdown.code(text))

    def _caption(self, caption: Block) -> None:
        """A table's caption stands before the table, even if the document has it below."""
        below = len(self.blocks) > 0 and self.blocks[-1].kind == TABLE and caption.text.startswith(_TABLE_WORDS)
        captioned = below and len(self.blocks) > 1 and self.blocks[-2].text.startswith(_TABLE_WORDS)
        self.blocks.insert(len(self.blocks) - (below and not captioned), caption)

    def _table(self, node: Node, look: Look) -> None:
        named = node.value("w:tblPr", "w:tblStyle")
        shaded = look.shaded or (bool(named) and self.beside.styles.style(named).shaded)
        rows = list(_parts(node, "w:tr"))
        cells = [list(_parts(row, "w:tc")) for row in rows]
        if len(rows) < 2 or max(map(len, cells), default=0) < 2:
            self._laid_out(cells, replace(look, shaded=shaded))
            return
        table = [self._row(row, replace(look, shaded=shaded)) for row in cells]
        table = [row for row in table if any(row)]
        if table:
            self.blocks.append(markdown.table(table))

    def _laid_out(self, rows: list[list[Node]], look: Look) -> None:
        """A table of one row or one column sets out the page: an equation with its number, or boxes."""
        inner = Body(self.beside, self.numbering)
        for row in rows:
            for cell in row:
                inner.read(cell, _in_cell(cell, look))
        kinds = [block.kind for block in inner.blocks]
        number = _NUMBER.fullmatch(inner.blocks[-1].text) if inner.blocks else None
        if kinds == [EQUATION, PARAGRAPH] and number and "\\tag" not in inner.blocks[0].text:
            self.blocks.append(_equation(inner.blocks[0].text.strip("$ "), number.group(1)))
        else:
            self.blocks += inner.blocks

    def _row(self, cells: list[Node], look: Look) -> list[str]:
        texts: list[str] = []
        for cell in cells:
            properties = cell.find("w:tcPr")
            span = (properties.value("w:gridSpan") if properties else None) or "1"
            wide = int(span) if re.fullmatch("[0-9]{1,3}", span) else 1
            merged = properties.value("w:vMerge") if properties else None
            text = "" if merged in ("", "continue") else self._cell(cell, _in_cell(cell, look))
            if len(texts) < _MOST_COLUMNS:
                texts += [text, *[""] * (min(max(wide, 1), _MOST_COLUMNS - len(texts)) - 1)]
            else:
                texts[-1] = f"{texts[-1]} {text}"
        return texts

    def _cell(self, cell: Node, look: Look) -> str:
        inner = Body(self.beside, self.numbering)
        inner.read(cell, look)
        return inner.line()

    def line(self) -> str:
        """All blocks on one line; tables in it are flattened."""
        texts = []
        for block in self.blocks:
            text = block.text.replace("$$ ", "$").replace(" $$", "$") if block.kind == EQUATION else block.text
            texts.append(text.replace("|", " ").replace("---", "") if block.kind == TABLE else text)
        return one_line(" ".join(texts))


def _split(line: Line) -> Iterator[Block]:
    words: list[str] = []
    for kind, piece in [*line.pieces, (DISPLAY, "")]:
        if kind != DISPLAY:
            words.append(piece)
            continue
        text = one_line("".join(words))
        words = []
        if text:
            yield Block(PARAGRAPH, text)
        if piece:
            yield _equation(piece, "")


def _equation(tex: str, number: str) -> Block:
    """A display equation; Word keeps its number behind a `#` in it, where it has one."""
    found = _HASH_NUMBER.search(tex)
    if found and not number:
        tex, number = tex[: found.start()] + tex[found.end() :], found.group(1)
    return markdown.equation(tex, number)


def _in_cell(cell: Node, look: Look) -> Look:
    properties = cell.find("w:tcPr")
    shaded = is_shade(properties.find("w:shd")) if properties else False
    return replace(look, shaded=look.shaded or shaded)


def _parts(node: Node, name: str) -> Iterator[Node]:
    """The rows of a table or the cells of a row, those in wrappers too."""
    waiting = list(reversed(node.children))
    while waiting:
        one = waiting.pop()
        if one.name == name:
            yield one
        elif one.name in _WRAPPERS:
            waiting.extend(reversed(one.children))


def _is_contents(node: Node) -> bool:
    """Whether a block is a table of contents that Word made."""
    return "contents" in (node.value("w:sdtPr", "w:docPartObj", "w:docPartGallery") or "").lower()
