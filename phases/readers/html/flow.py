"""Convert the elements of an HTML page to blocks of Markdown, in reading order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from phases.readers import markdown_blocks as markdown
from phases.readers.html.math import clean_tex, formula_of, math_tex, split_at_formulas
from phases.readers.html.tree import HEADINGS, Element, text_of, walk_elements, word_set
from phases.readers.markdown_blocks import (
    CAPTION,
    CODE,
    HEADING,
    PARAGRAPH,
    REFERENCE,
    Block,
    Footnotes,
    PageContext,
    one_line,
    render_link,
    render_script,
)

_BLOCKS = word_set(
    "address article aside blockquote body center dd details div dl dt fieldset figure footer header hgroup hr li main ol p "
    "section summary table tbody td tfoot th thead tr ul"
)
_SKIPPED = word_set(
    "ltx_authors ltx_creator ltx_dates ltx_tag_item ltx_tag_bibitem ltx_bib_cited ltx_pagination ltx_note_mark ltx_tag_note "
    "ltx_title_document ltx_tag_listingline footnote-back reversefootnote mw-cite-backlink"
)
_NAMES, _PARTS = frozenset(("author", "authors", "date", "byline")), ("article", "main", "section")
_ALGORITHM = re.compile(r"\*\*(Algorithm\w* [^*]*?)\.\*\* *")
_WIDE = {"\u2003": "  ", "\u2001": "  ", "\t": "    "}
_LEVELS = {"ltx_title_part": 1, "ltx_title_chapter": 2, "ltx_title_section": 3, "ltx_title_appendix": 3}
_LEVELS |= {"ltx_title_bibliography": 3, "ltx_title_subsection": 4, "ltx_title_subsubsection": 5}
_RUN_IN = {"ltx_runin", "ltx_title_paragraph", "ltx_title_subparagraph", "ltx_title_theorem", "ltx_title_proof"}
_LABEL = re.compile(r"[\[(]?([^\s\[\]()]{1,40})[\])]?\.?")
_MARK = re.compile(r"#_?(?:fn|ftn|footnote|user-content-fn)[^/\s]{0,80}", re.IGNORECASE)
_MARKS = {"footnote-ref", "footnote-reference", "footnoteref", "footref"}
_LISTS = {"footnotes", "footnote-list", "footnotes-list", "endnotes"}
_EQUATIONS = {"ltx_equation", "ltx_equationgroup", "ltx_eqn_table"}
_ROWS, _CELLS = {"ltx_tr", "ltx_eqn_row"}, {"ltx_td", "ltx_th"}
_MOST_COLUMNS, _MOST_ROWS_SPANNED, _LONGEST_CELL = 60, 500, 1500
_NUMBER = re.compile(r"\s*\(([A-Z]?[0-9.]{1,8}[a-z]?)\)\s*")


class Flow:
    """Converts elements to blocks; holds the blocks so far and the open paragraph."""

    def __init__(self, found: PageContext) -> None:
        self.blocks: list[Block] = []
        self._found, self._inline = found, False
        self._line: list[str] = []
        self._lead, self._within = "", 0
        self._by_tag: dict[str, Callable[[Element], None]] = {
            "math": self._math, "script": self._math, "img": self._math, "a": self._link,
            "sup": self._super_or_subscript, "sub": self._super_or_subscript, "code": self._code, "pre": self._listing,
            "ul": self._list, "ol": self._list, "dl": self._list, "figcaption": self._caption, "caption": self._caption,
            "figure": self._figure, "header": self._header, "table": self._table,
        }  # fmt: skip
        self._by_class: dict[str, Callable[[Element], None]] = {
            "ltx_note": self._note, "ltx_bibitem": self._reference, "csl-entry": self._reference, "ltx_caption": self._caption,
            "ltx_listing": self._listing, "ltx_tabular": self._table, "abstract": self._abstract, "ltx_float": self._figure,
            "abstract-title": self._heading, "ltx_title": self._heading, "ltx_abstract": self._abstract,
            "ltx_verbatim": self._listing, "math": self._typeset,
        }  # fmt: skip

    def read(self, element: Element) -> list[Block]:
        """Return the blocks of an element's content."""
        self._content(element)
        self._end()
        return self.blocks

    def inline(self, element: Element) -> str:
        """Return an element's content on one line."""
        return one_line(self._collect_line(element))

    def inside(self, element: Element) -> list[Block]:
        """Return the blocks of an element's content, separate from the flow."""
        return Flow(self._found).read(element)

    def _collect_line(self, element: Element) -> str:
        line, inline = self._line, self._inline
        self._line, self._inline = [], True
        self._content(element)
        text = "".join(self._line)
        self._line, self._inline = line, inline
        return text

    def _content(self, element: Element) -> None:
        for child in element.children:
            if isinstance(child, str):
                self._text(child)
            else:
                self._element(child)

    def _element(self, element: Element) -> None:
        classes = element.classes
        back = element.attributes.get("role") == "doc-backlink"
        if back or not _SKIPPED.isdisjoint(classes) or (element.tag in _BLOCKS and not _NAMES.isdisjoint(classes)):
            return
        if is_equation(element):
            for tex, number in equations_of(element):
                self._display(tex, number)
        elif is_notes(element):
            self._end()
            define_notes(self._found.notes, element, self.inline)
        else:
            self._act(element, classes)

    def _act(self, element: Element, classes: list[str]) -> None:
        act = next((self._by_class[name] for name in classes if name in self._by_class), None)
        act = act or (self._heading if element.tag in HEADINGS else self._by_tag.get(element.tag))
        if act:
            act(element)
        elif element.tag in _BLOCKS:
            self._block(element)
        else:
            self._line += ["\n"] if element.tag == "br" else []
            self._content(element)

    def _block(self, element: Element) -> None:
        self._within += element.tag in _PARTS
        self._end()
        self._content(element)
        self._end()
        self._within -= element.tag in _PARTS

    def _end(self) -> None:
        if self._inline:
            self._line.append(" ")
            return
        text = one_line("".join(self._line))
        self._line = []
        if text:
            block = Block(PARAGRAPH, self._lead + text)
            self._lead = ""
            self.blocks.append(markdown.caption_block(text) if markdown.is_caption(block.text) else block)

    def _add(self, *blocks: Block) -> None:
        self._end()
        if self._inline:
            self._line += [f" {block.text} " for block in blocks]
            return
        if self._lead and blocks:
            self.blocks.append(Block(PARAGRAPH, self._lead.strip()))
            self._lead = ""
        self.blocks += blocks

    def _text(self, text: str, *, formula: bool = False) -> None:
        for kind, piece in split_at_formulas(text, dollars=formula or self._found.dollars):
            if kind == "display":
                self._display(piece)
            elif kind == "inline":
                self._formula(piece)
            else:
                self._line.append(markdown.escape_prose(piece))

    def _formula(self, tex: str) -> None:
        if tex:
            self._line.append(f"${tex}$")

    def _display(self, tex: str, number: str = "") -> None:
        if self._inline or not tex:
            self._formula(tex)
        else:
            self._add(markdown.equation_block(tex, number))

    def _math(self, element: Element) -> None:
        tex, display = formula_of(element)
        (self._display if display else self._formula)(tex)

    def _typeset(self, element: Element) -> None:
        """Add a formula typeset by a script, of which the page holds only the LaTeX."""
        text, bare = text_of(element), set(element.classes) & {"inline", "display"}
        if any(isinstance(child, Element) for child in element.children):
            self._content(element)
        elif bare and not text.lstrip().startswith(("$", "\\(", "\\[")):
            self._formula(clean_tex(text)) if "inline" in bare else self._display(clean_tex(text))
        else:
            self._text(text, formula=True)

    def _link(self, element: Element) -> None:
        href = element.attributes.get("href", "")
        if is_note_mark(element):
            self._line.append(f"[^{self._found.notes.number(href[1:])}]")
        else:
            self._line.append(render_link(self._collect_line(element), href, self._found))

    def _super_or_subscript(self, element: Element) -> None:
        self._line.append(render_raised(element, self.inline(element)))

    def _code(self, element: Element) -> None:
        text = one_line(text_of(element))
        self._line.append(f"`{text}`" if text and "`" not in text else text)

    def _note(self, element: Element) -> None:
        content = next((one for one in walk_elements(element) if "ltx_note_content" in one.classes), element)
        text = self.inline(content)
        if any(map(str.isalnum, text)):
            self._line.append(f"[^{self._found.notes.add(text)}]")

    def _heading(self, element: Element) -> None:
        text = self.inline(element)
        if text and not self._inline and not _RUN_IN.isdisjoint(element.classes):
            # it is at the beginning of its paragraph
            self._end()
            self._lead = f"**{text}{'' if text[-1] in '.:?!' else '.'}** "
        elif text:
            self._add(Block(HEADING, text, heading_level(element)))

    def _header(self, element: Element) -> None:
        if self._within or element.attributes.get("id") == "title-block-header":
            self._block(element)

    def _abstract(self, element: Element) -> None:
        titled = "heading" in element.holds or any("abstract-title" in one.classes for one in walk_elements(element))
        if not titled and element.tag not in HEADINGS:
            self._add(Block(HEADING, "Abstract", 1))
        self._block(element)

    def _reference(self, element: Element) -> None:
        self._add(Block(REFERENCE, reference_text(element, self.inline(element))))

    def _caption(self, element: Element) -> None:
        self._add(markdown.caption_block(self.inline(element)))

    def _listing(self, element: Element) -> None:
        self._add(markdown.code_block(listing_text(element, self._collect_line)))

    def _figure(self, element: Element) -> None:
        if self._inline:
            self._content(element)
        else:
            self._add(*figure_blocks(element, self.inside(element)))

    def _table(self, element: Element) -> None:
        if self._inline or not is_table(element):
            self._block(element)
            return
        for one in element.children:
            if isinstance(one, Element) and one.tag == "caption":
                self._caption(one)
        rows = rows_of(element, self.inline)
        if rows:
            self._add(markdown.table_block(rows))

    def _list(self, element: Element) -> None:
        if self._inline:
            self._content(element)
            return
        start = element.attributes.get("start", "1")
        number = int(start) if start.isdecimal() and len(start) < 7 else 1
        self._end()
        for child in element.children:
            if isinstance(child, str):
                self._text(child)
            elif child.tag == "dt":
                self._add()
                self._lead = f"**{self.inline(child)}** "
            elif child.tag in ("li", "dd") and "ltx_bibitem" not in child.classes:
                self._item(child, f"{number}." if element.tag == "ol" else "-")
                number += 1
            else:
                self._element(child)

    def _item(self, element: Element, label: str) -> None:
        self._end()
        lead, self._lead = self._lead, ""
        self.blocks += markdown.item_blocks(self.inside(element), lead, label)


def figure_blocks(element: Element, blocks: list[Block]) -> list[Block]:
    """Return the blocks of a figure, caption first."""
    captions = [block for block in blocks if block.kind == CAPTION]
    algorithm = _ALGORITHM.match(captions[0].text) if len(captions) == 1 else None
    if algorithm and any(block.kind == CODE for block in blocks):
        name = f"{algorithm.group(1)}: {captions[0].text[algorithm.end() :]}".rstrip(": ")
        steps = [block.text for block in blocks if block.kind not in (CAPTION, HEADING)]
        return [markdown.code_block("\n".join([name, *steps]), "algorithm")]
    if len(captions) == 1:
        return captions + [block for block in blocks if block.kind != CAPTION]
    own = [child for child in element.children if isinstance(child, Element)]
    captioned = any(child.tag == "figcaption" or "ltx_caption" in child.classes for child in own)
    if captioned and blocks and blocks[-1].kind == CAPTION:
        return [blocks[-1], *blocks[:-1]]
    return blocks


def listing_text(element: Element, raw: Callable[[Element], str]) -> str:
    """Return the lines of a listing. `raw` gives an element's text with its formulas and spaces."""
    lines = [one for one in walk_elements(element) if "ltx_listingline" in one.classes]
    if lines:
        return "\n".join(_listing_line(line, raw) for line in lines)
    return text_of(element).replace("\u00a0", " ").rstrip()


def _listing_line(line: Element, raw: Callable[[Element], str]) -> str:
    tag = next(
        (text_of(element).strip() for element in walk_elements(line) if "ltx_tag_listingline" in element.classes), ""
    )
    text = raw(line).removeprefix(" " if tag else "")
    text = text.lstrip("\n\r\t ") if text.startswith("\n") else text
    text = "".join(_WIDE.get(sign, " " if sign.isspace() else sign) for sign in text).rstrip()
    return f"{tag} {text}".rstrip() if tag.endswith(":") else text


def render_raised(element: Element, text: str) -> str:
    """Render a superscript or subscript: a citation, an exponent, an index, or plain text."""
    anchors = (one for one in walk_elements(element) if one.tag == "a")
    if text[:1].isdigit() and any(one.attributes.get("href", "").startswith("#") for one in anchors):
        return f" [{text}]"
    return render_script(text, "^" if element.tag == "sup" else "_")


def reference_text(element: Element, text: str) -> str:
    """Return a reference with its label, unless the label only repeats author and year."""
    tag = next((text_of(one).strip() for one in walk_elements(element) if "ltx_tag_bibitem" in one.classes), "")
    label = _LABEL.fullmatch(tag)
    return f"[{label.group(1)}] {text}" if label else text


def heading_level(element: Element) -> int:
    """Return the heading depth by class, else by tag; only the order of levels counts."""
    by_class = next((_LEVELS[name] for name in element.classes if name in _LEVELS), 0)
    return by_class or (int(element.tag[1]) if element.tag in HEADINGS else 1)


def define_notes(notes: Footnotes, element: Element, inline: Callable[[Element], str]) -> None:
    """Read the texts from a list of footnotes."""
    named = [
        one for one in walk_elements(element) if one.tag in ("li", "p", "div", "aside") and one.attributes.get("id")
    ]
    for one in named or [element]:
        key = one.attributes.get("id", "")
        text = inline(one)
        if text and one is not element:
            notes.texts.setdefault(notes.number(key), text)
        elif text:
            notes.add(text)


def is_note_mark(element: Element) -> bool:
    """Return whether an anchor is the mark of a footnote."""
    href = element.attributes.get("href", "")
    named = element.attributes.get("role") == "doc-noteref" or bool(_MARKS & set(element.classes))
    return href.startswith("#") and (named or bool(_MARK.fullmatch(href)))


def is_notes(element: Element) -> bool:
    """Return whether an element is a list of footnotes at the end of a page or a section."""
    if element.tag not in ("section", "aside", "div", "ol"):
        return False
    return element.attributes.get("role") in ("doc-endnotes", "doc-footnotes") or bool(_LISTS & set(element.classes))


def is_equation(element: Element) -> bool:
    """Return whether an element with all its content is a display equation or a group of them."""
    if not _EQUATIONS.isdisjoint(element.classes):
        return True
    if element.tag != "table" or element.holds:
        return False
    rows = list(_row_elements(element))
    cells = _cell_elements(rows[0]) if len(rows) == 1 else []
    formulas = [one for cell in cells for one in walk_elements(cell) if one.tag == "math"]
    return len(cells) > 1 and len(formulas) == 1 and bool(_NUMBER.fullmatch(text_of(cells[-1])))


def equations_of(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the equations of an element with their numbers. Rows without a number belong to the preceding one."""
    lines: list[str] = []
    number = ""
    for row in list(_row_elements(element)) or [element]:
        tex = " ".join(filter(None, (math_tex(one) for one in walk_elements(row) if one.tag == "math")))
        own = _equation_number(row)
        if lines and own and number:
            yield _join_lines(lines), number
            lines, number = [], ""
        lines += [tex] if tex else []
        number = own or number
    if lines:
        yield _join_lines(lines), number


def is_table(element: Element) -> bool:
    """Return whether a table holds values rather than page layout."""
    if "ltx_tabular" in element.classes:
        return True
    if element.holds or element.attributes.get("role") == "presentation":
        return False
    captioned = any(isinstance(child, Element) and child.tag == "caption" for child in element.children)
    rows = list(_row_elements(element))
    widest = max((len(_cell_elements(row)) for row in rows), default=0)
    longest = max((len(text_of(cell)) for row in rows for cell in _cell_elements(row)), default=0)
    return captioned or (widest > 1 and longest <= _LONGEST_CELL) or (len(rows) > 1 and longest <= 200)


def rows_of(element: Element, inline: Callable[[Element], str]) -> list[list[str]]:
    """Return the cells of a table. A spanning cell fills the first of its places; the others are empty."""
    rows: list[list[str]] = []
    spanned: dict[int, int] = {}
    for row in _row_elements(element):
        texts: list[str] = []
        for cell in _cell_elements(row):
            _fill_spans(texts, spanned)
            wide = _span_of(cell, "colspan", _MOST_COLUMNS)
            down = _span_of(cell, "rowspan", _MOST_ROWS_SPANNED)
            if len(texts) >= _MOST_COLUMNS:
                texts[-1] = f"{texts[-1]} {inline(cell)}"
                continue
            if down > 1:
                spanned |= dict.fromkeys(range(len(texts), min(len(texts) + wide, _MOST_COLUMNS)), down)
            texts += [inline(cell), *[""] * (min(wide, _MOST_COLUMNS - len(texts)) - 1)]
        _fill_spans(texts, spanned)
        spanned = {column: left - 1 for column, left in spanned.items() if left > 1}
        if any(texts):
            rows.append(texts)
    return rows


def _fill_spans(texts: list[str], spanned: dict[int, int]) -> None:
    while spanned.get(len(texts), 0) and len(texts) < _MOST_COLUMNS:
        texts.append("")


def _row_elements(element: Element) -> Iterator[Element]:
    waiting = [element]
    while waiting:
        one = waiting.pop()
        if one is not element and (one.tag == "tr" or not _ROWS.isdisjoint(one.classes)):
            yield one
        elif one is element or one.tag in ("tbody", "thead", "tfoot") or one.tag in ("span", "div"):
            waiting.extend(child for child in reversed(one.children) if isinstance(child, Element))


def _cell_elements(row: Element) -> list[Element]:
    cells = (child for child in row.children if isinstance(child, Element))
    return [cell for cell in cells if cell.tag in ("td", "th") or not _CELLS.isdisjoint(cell.classes)]


def _span_of(cell: Element, name: str, most: int) -> int:
    value = cell.attributes.get(name, "1").strip()
    return max(1, min(int(value), most)) if re.fullmatch("[0-9]{1,6}", value) else 1


def _equation_number(row: Element) -> str:
    for element in walk_elements(row):
        if "ltx_tag_equation" in element.classes or "ltx_tag_equationgroup" in element.classes:
            return text_of(element).strip()
    cells = _cell_elements(row)
    match = _NUMBER.fullmatch(text_of(cells[-1])) if cells else None
    return match.group(1) if match else ""


def _join_lines(lines: list[str]) -> str:
    return lines[0] if len(lines) == 1 else "\\begin{aligned} " + " \\\\ ".join(lines) + " \\end{aligned}"
