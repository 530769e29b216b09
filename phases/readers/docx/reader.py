"""Read Word documents (.docx)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from phases.readers import markdown_blocks as markdown
from phases.readers.docx import styles as roles
from phases.readers.docx.math import omml_tex
from phases.readers.docx.styles import PLAIN, Look, Numbering, Style, Styles, is_shade, look_of, numbering_of
from phases.readers.docx.xml import XmlNode, parse_xml
from phases.readers.line_patterns import number_of
from phases.readers.markdown_blocks import (
    CODE,
    EQUATION,
    HEADING,
    ITEM,
    PARAGRAPH,
    REFERENCE,
    TABLE,
    Block,
    PageContext,
    compose_page,
    escape_prose,
    one_line,
    render_link,
    render_script,
    strip_invisible,
)
from phases.readers.reading import BROKEN, ENCRYPTED, OK, Hidden, InputFile, Reading, Unreadable, unpack

READER = "docx 2"
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED, _OLD_WORD = ("EncryptedPackage".encode("utf-16-le"), "WordDocument".encode("utf-16-le"))
_MAIN, _CORE = "word/document.xml", "docProps/core.xml"
_LONGEST_TITLE, _LONGEST_NAME, _LONGEST_HEADING = 400, 200, 120
_FEWEST_BOLD = 2
_WRAPPERS = (
    "w:sdt", "w:sdtContent", "w:ins", "w:moveTo", "w:customXml", "w:smartTag", "mc:AlternateContent", "mc:Choice",
)  # fmt: skip
_NUMBER = re.compile(r"\(([A-Z]?[0-9.\-]{1,8}[a-z]?)\)")
_HASH_NUMBER = re.compile(r"\\#\s*\(([A-Z]?[0-9.\-]{1,8}[a-z]?)\)(?=\s*(?:\\end\{aligned\}\s*)?$)")
_LONE_FORMULA = re.compile(r"\$((?:[^$\\]|\\.)+)\$\s*(?:[.,;]\s*)?(?:\(([A-Z]?[0-9.\-]{1,8}[a-z]?)\))?")
_MOST_COLUMNS = 60
_TABLE_WORDS = ("**Table", "**Tabelle", "**表")
_SKIPPED = frozenset((
    "w:del", "w:moveFrom", "w:rt", "w:pPr", "w:rPr", "w:instrText", "w:delText", "w:sdtPr", "w:sdtEndPr",
    "m:oMathParaPr",
))  # fmt: skip
_SPACES = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:ptab": "\t", "w:noBreakHyphen": "-"}
_ADDRESS = re.compile(r'\s*HYPERLINK\s+"([^"\s]{1,2000})"')
_SYMBOL = dict(zip("abcdefghijklmnopqrstuvwxyz", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True))
_MOST_HIDDEN, _LONGEST_HIDDEN, _DEEPEST_FIELDS = 200, 2000, 50
DISPLAY = "display"


def read_docx(data: bytes) -> Reading:
    """Read a Word document as one page."""
    # decision 33: libraries for Word files drop equations silently
    files = _unpack_document(data)
    main = _main_part(files)
    directory = posixpath.dirname(main)
    found = PageContext("", dollars=False)
    beside = DocumentContext(Styles(_parse_part(files, f"{directory}/styles.xml")), found, _link_targets(files, main))
    body = Body(beside, Numbering(_parse_part(files, f"{directory}/numbering.xml")))
    document = parse_xml(files[main], main).find("w:document", "w:body")
    if document is None:
        raise Unreadable(BROKEN, f"{main} has no document text")
    body.read(document)
    _read_notes(files, directory, beside, body.numbering)
    _promote_bold(body)
    title, authors = _find_title(body, _parse_part(files, _CORE)), _find_authors(body)
    text = compose_page(body.blocks, title=title, authors=authors, notes=found.notes.texts)
    if not any(map(str.isalnum, text)):
        raise Unreadable(BROKEN, "is a Word document without words")
    return Reading(OK, READER, (text,), title, authors, tuple(found.links), tuple(beside.hidden))


def read_docx_input(source: InputFile) -> Reading:
    """Read a Word file (InputKind.reader)."""
    return read_docx(source.content())


def _unpack_document(data: bytes) -> dict[str, bytes]:
    if data.startswith(_OLE):
        if _OLD_WORD in data and _ENCRYPTED not in data:
            raise Unreadable(BROKEN, "is an old Word file (.doc); save it as .docx or PDF")
        raise Unreadable(ENCRYPTED, "is a Word document with a password")
    if not data.startswith(b"PK"):
        raise Unreadable(BROKEN, "is not a Word document: a .docx is a zip archive")
    return unpack(data).files


def _main_part(files: dict[str, bytes]) -> str:
    for relation in _relations_of(files, "_rels/.rels"):
        target = relation.attributes.get("Target", "").lstrip("/")
        if relation.attributes.get("Type", "").endswith("/officeDocument") and target in files:
            return target
    if _MAIN not in files:
        raise Unreadable(BROKEN, f"is a zip archive without {_MAIN}, so it is not a Word document")
    return _MAIN


def _parse_part(files: dict[str, bytes], name: str) -> XmlNode | None:
    return next(iter(parse_xml(files[name], name).children), None) if name in files else None


def _relations_of(files: dict[str, bytes], name: str) -> list[XmlNode]:
    part = _parse_part(files, name)
    return [node for node in part.children if node.name == "rel:Relationship"] if part else []


def _link_targets(files: dict[str, bytes], part: str) -> dict[str, str]:
    directory, name = posixpath.split(part)
    return {
        node.attributes.get("Id", ""): node.attributes.get("Target", "")
        for node in _relations_of(files, f"{directory}/_rels/{name}.rels")
        if node.attributes.get("TargetMode") == "External"
    }


def _read_notes(files: dict[str, bytes], directory: str, beside: DocumentContext, numbering: Numbering) -> None:
    for kind in ("footnote", "endnote"):
        name = f"{directory}/{kind}s.xml"
        part = _parse_part(files, name)
        beside.addresses = _link_targets(files, name)
        for note in part.children if part else ():
            key = f"{kind} {note.attributes.get('w:id', '')}"
            if note.attributes.get("w:type", "normal") == "normal" and beside.found.notes.knows(key):
                inner = Body(beside, numbering)
                inner.read(note)
                beside.found.notes.texts[beside.found.notes.number(key)] = inner.line()


def _find_title(body: Body, core: XmlNode | None) -> str | None:
    headings = (block.text for block in body.blocks if block.kind == HEADING)
    property_ = core.find("dc:title") if core else None
    written = one_line(strip_invisible(property_.text)) if property_ else ""
    # Word fills in the file name if its author gave no title
    written = "" if written.startswith("Microsoft Word") else written
    title = " ".join(body.titles) or written or next(headings, "")
    return title[:_LONGEST_TITLE] or None


def _find_authors(body: Body) -> tuple[str, ...]:
    # not from file properties: they often name whoever saved the file
    names = [one_line(name) for line in body.authors for name in re.split(r"[,;、，\n]|\band\b|\bund\b", line)]
    clean = (re.sub(r"\^(?:\{[^{}]*\}|\w)|[*†‡§]", "", name).strip() for name in names)
    return tuple(dict.fromkeys(name for name in clean if 1 < len(name) <= _LONGEST_NAME))


def _promote_bold(body: Body) -> None:
    """Make bold paragraphs the title and the headings of a document that has no styles for them."""
    if len(body.bold) < _FEWEST_BOLD or any(block.kind == HEADING for block in body.blocks):
        return
    if not body.titles and body.blocks[0] is body.bold[0]:
        body.titles.append(body.blocks.pop(0).text)
    bold = set(map(id, body.bold))
    for place, block in enumerate(body.blocks):
        if id(block) in bold:
            level = (number_of(block.text) or "").rstrip(".").count(".") + 1
            body.blocks[place] = replace(block, kind=HEADING, level=level)


@dataclass
class Body:
    """Blocks read so far, with title, authors and bold paragraphs."""

    beside: DocumentContext
    numbering: Numbering
    blocks: list[Block] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    bold: list[Block] = field(default_factory=list)
    """Short paragraphs that are bold throughout; also in `blocks`."""

    def read(self, node: XmlNode, look: Look = PLAIN) -> None:
        """Read all paragraphs and tables of a node, in order."""
        for child in node.children:
            if child.name == "w:p":
                self._paragraph(child, look)
            elif child.name == "w:tbl":
                self._table(child, look)
            elif child.name in _WRAPPERS:
                # a table of contents generated by Word is not part of the text
                kind = child.value("w:sdtPr", "w:docPartObj", "w:docPartGallery") or ""
                if "contents" not in kind.lower():
                    self.read(child, look)
            elif child.name == "m:oMathPara":
                line = ParagraphReader(self.beside, look)
                line.read(XmlNode("", {}, [child]))
                self._flow(line)

    def _paragraph(self, node: XmlNode, look: Look) -> None:
        properties = node.find("w:pPr")
        style = self.beside.styles.style(properties.value("w:pStyle") if properties else None)
        shaded = is_shade(properties.find("w:shd")) if properties else False
        own = replace(style.look, shaded=style.look.shaded or look.shaded or shaded)
        line = ParagraphReader(self.beside, own, raw=style.role == roles.CODE)
        line.read(node)
        self._take(line, style, properties)
        for box in line.boxes:
            self.read(box, look)

    def _take(self, line: ParagraphReader, style: Style, properties: XmlNode | None) -> None:
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
            self._caption(markdown.caption_block(text))
        elif role == roles.REFERENCE:
            self.blocks.append(Block(REFERENCE, text))
        else:
            self._item(line, numbering_of(properties) or style.numbering)

    def _item(self, line: ParagraphReader, numbering: tuple[str, int] | None) -> None:
        label = self.numbering.label(numbering) if numbering else ""
        if label and numbering:
            self.blocks.append(Block(ITEM, plain_text(line), numbering[1] + 1, label))
        elif line.is_bold and len(text := plain_text(line)) <= _LONGEST_HEADING and text[-1] not in ".,;:$":
            self.bold.append(Block(PARAGRAPH, text))
            self.blocks.append(self.bold[-1])
        else:
            self._flow(line)

    def _flow(self, line: ParagraphReader) -> None:
        """Split a paragraph into blocks of text and display equations."""
        words = [one_line(piece) for kind, piece in line.pieces if kind != DISPLAY]
        formulas = [piece for kind, piece in line.pieces if kind == DISPLAY]
        number = _NUMBER.fullmatch("".join(words))
        alone = _LONE_FORMULA.fullmatch(plain_text(line)) if not formulas else None
        if alone:
            self.blocks.append(_equation_with_number(alone.group(1), alone.group(2) or ""))
        elif formulas and number:
            self.blocks += [
                _equation_with_number(tex, number.group(1) if tex is formulas[-1] else "") for tex in formulas
            ]
        else:
            self.blocks += _split_display(line)

    def _code(self, text: str) -> None:
        if self.blocks and self.blocks[-1].kind == CODE:
            text = f"{self.blocks.pop().text}\n{text}"
        self.blocks.append(markdown.code_block(text))

    def _caption(self, caption: Block) -> None:
        """Add a caption. A table's caption precedes the table, even if the document has it below."""
        below = len(self.blocks) > 0 and self.blocks[-1].kind == TABLE and caption.text.startswith(_TABLE_WORDS)
        captioned = below and len(self.blocks) > 1 and self.blocks[-2].text.startswith(_TABLE_WORDS)
        self.blocks.insert(len(self.blocks) - (below and not captioned), caption)

    def _table(self, node: XmlNode, look: Look) -> None:
        named = node.value("w:tblPr", "w:tblStyle")
        shaded = look.shaded or (bool(named) and self.beside.styles.style(named).shaded)
        rows = list(_find_parts(node, "w:tr"))
        cells = [list(_find_parts(row, "w:tc")) for row in rows]
        # an equation and its number are usually laid out as a table of one row
        if len(rows) < 2 or max(map(len, cells), default=0) < 2:
            self._laid_out(cells, replace(look, shaded=shaded))
            return
        table = [self._row(row, replace(look, shaded=shaded)) for row in cells]
        table = [row for row in table if any(row)]
        if table:
            self.blocks.append(markdown.table_block(table))

    def _laid_out(self, rows: list[list[XmlNode]], look: Look) -> None:
        """Read a table of one row or one column, which is layout: an equation with its number, or boxes."""
        inner = Body(self.beside, self.numbering)
        for row in rows:
            for cell in row:
                inner.read(cell, _in_cell(cell, look))
        kinds = [block.kind for block in inner.blocks]
        number = _NUMBER.fullmatch(inner.blocks[-1].text) if inner.blocks else None
        if kinds == [EQUATION, PARAGRAPH] and number and "\\tag" not in inner.blocks[0].text:
            self.blocks.append(_equation_with_number(inner.blocks[0].text.strip("$ "), number.group(1)))
        else:
            self.blocks += inner.blocks

    def _row(self, cells: list[XmlNode], look: Look) -> list[str]:
        texts: list[str] = []
        for cell in cells:
            properties = cell.find("w:tcPr")
            span = (properties.value("w:gridSpan") if properties else None) or "1"
            wide = int(span) if re.fullmatch("[0-9]{1,3}", span) else 1
            merged = properties.value("w:vMerge") if properties else None
            inner = Body(self.beside, self.numbering)
            if merged not in ("", "continue"):
                inner.read(cell, _in_cell(cell, look))
            text = inner.line()
            if len(texts) < _MOST_COLUMNS:
                texts += [text, *[""] * (min(max(wide, 1), _MOST_COLUMNS - len(texts)) - 1)]
            else:
                texts[-1] = f"{texts[-1]} {text}"
        return texts

    def line(self) -> str:
        """Return all blocks on one line, with flattened tables."""
        texts = []
        for block in self.blocks:
            text = block.text.replace("$$ ", "$").replace(" $$", "$") if block.kind == EQUATION else block.text
            texts.append(text.replace("|", " ").replace("---", "") if block.kind == TABLE else text)
        return one_line(" ".join(texts))


def _split_display(line: ParagraphReader) -> Iterator[Block]:
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
            yield _equation_with_number(piece, "")


def _equation_with_number(tex: str, number: str) -> Block:
    """Return a display equation; Word keeps its number after a `#` inside it."""
    found = _HASH_NUMBER.search(tex)
    if found and not number:
        tex, number = tex[: found.start()] + tex[found.end() :], found.group(1)
    return markdown.equation_block(tex, number)


def _in_cell(cell: XmlNode, look: Look) -> Look:
    properties = cell.find("w:tcPr")
    shaded = is_shade(properties.find("w:shd")) if properties else False
    return replace(look, shaded=look.shaded or shaded)


def _find_parts(node: XmlNode, name: str) -> Iterator[XmlNode]:
    waiting = list(reversed(node.children))
    while waiting:
        one = waiting.pop()
        if one.name == name:
            yield one
        elif one.name in _WRAPPERS:
            waiting.extend(reversed(one.children))


@dataclass
class DocumentContext:
    """State shared by all paragraphs: styles, links, footnotes, hidden text."""

    styles: Styles
    found: PageContext
    addresses: dict[str, str]
    """Link targets by relation id."""
    hidden: list[Hidden] = field(default_factory=list)

    def hide(self, text: str, how: str) -> None:
        """Add hidden text, joined to the hidden text directly before it."""
        if self.hidden and self.hidden[-1].how == how and len(self.hidden[-1].text) + len(text) < _LONGEST_HIDDEN:
            self.hidden[-1] = Hidden(self.hidden[-1].text + text, 1, how)
        elif text.strip() and len(self.hidden) < _MOST_HIDDEN:
            self.hidden.append(Hidden(text[:_LONGEST_HIDDEN], 1, how))


class ParagraphReader:
    """Reads one paragraph into text and display equations."""

    def __init__(self, beside: DocumentContext, look: Look, *, raw: bool = False) -> None:
        self.pieces: list[tuple[str, str]] = []
        """Pairs of kind (`text` or `display`) and content."""
        self.boxes: list[XmlNode] = []
        """Text boxes anchored in the paragraph."""
        self.is_bold: bool | None = None
        """Whether every word so far is bold; None before the first."""
        self._beside, self._look, self._raw = beside, look, raw
        self._fields: list[tuple[list[str], int]] = []

    @property
    def text(self) -> str:
        """The whole text, with its spaces and line breaks."""
        return "".join(f" ${piece}$ " if kind == DISPLAY else piece for kind, piece in self.pieces)

    def read(self, node: XmlNode) -> None:
        """Read the content of a node."""
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
                # alternative forms of the same content: read the first
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
                if text.strip():
                    self.is_bold = look.bold and self.is_bold is not False
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
        """Handle the begin, separator or end of a field; only links matter, and results."""
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
    """Return a paragraph on one line."""
    return one_line(line.text)


def _text_boxes(node: XmlNode) -> list[XmlNode]:
    result: list[XmlNode] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.name == "w:txbxContent":
            result.append(one)
        elif one.name == "mc:AlternateContent":
            waiting += one.children[:1]
        else:
            waiting.extend(reversed(one.children))
    return result
