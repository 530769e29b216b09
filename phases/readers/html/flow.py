"""The elements of an HTML page to blocks of Markdown, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable

from phases.readers.dialect import blocks as markdown
from phases.readers.dialect.beside import Found
from phases.readers.dialect.blocks import HEADING, PARAGRAPH, REFERENCE, Block, one_line
from phases.readers.html.figures import figure_blocks, listing_text
from phases.readers.html.inline import code_span, heading_level, is_run_in, linked, raised, reference_text
from phases.readers.html.math import clean_tex, formula_of, pieces
from phases.readers.html.notes import define_notes, is_note_mark, is_notes, note_key
from phases.readers.html.sight import names
from phases.readers.html.tables import equations_of, is_equation, is_table, rows_of
from phases.readers.html.tree import HEADINGS, Element, descend, text_of

_BLOCKS = names(
    "address article aside blockquote body center dd details div dl dt fieldset figure footer header hgroup hr li main ol p "
    "section summary table tbody td tfoot th thead tr ul"
)
_SKIPPED = names(
    "ltx_authors ltx_creator ltx_dates ltx_tag_item ltx_tag_bibitem ltx_bib_cited ltx_pagination ltx_note_mark ltx_tag_note "
    "ltx_title_document ltx_tag_listingline footnote-back reversefootnote mw-cite-backlink"
)
_NAMES, _PARTS = frozenset(("author", "authors", "date", "byline")), ("article", "main", "section")


class Flow:
    """The blocks so far, and the paragraph that is being filled."""

    def __init__(self, found: Found) -> None:
        self.blocks: list[Block] = []
        self._found, self._inline = found, False
        self._line: list[str] = []
        self._lead, self._within = "", 0
        self._by_tag: dict[str, Callable[[Element], None]] = {
            "math": self._math, "script": self._math, "img": self._math, "a": self._link, "sup": self._raised,
            "sub": self._raised, "code": self._code, "pre": self._listing, "ul": self._list, "ol": self._list, "dl": self._list,
            "figcaption": self._caption, "caption": self._caption, "figure": self._figure, "header": self._header,
            "table": self._table,
        }  # fmt: skip
        self._by_class: dict[str, Callable[[Element], None]] = {
            "ltx_note": self._note, "ltx_bibitem": self._reference, "csl-entry": self._reference, "ltx_caption": self._caption,
            "ltx_listing": self._listing, "ltx_tabular": self._table, "abstract": self._abstract, "ltx_float": self._figure,
            "abstract-title": self._heading, "ltx_title": self._heading, "ltx_abstract": self._abstract,
            "ltx_verbatim": self._listing, "math": self._typeset,
        }  # fmt: skip

    def read(self, element: Element) -> list[Block]:
        """The blocks of an element's content."""
        self._content(element)
        self._end()
        return self.blocks

    def inline(self, element: Element) -> str:
        """All of an element's content on one line."""
        return one_line(self._unstripped(element))

    def inside(self, element: Element) -> list[Block]:
        """The blocks of an element's content, apart from the flow."""
        return Flow(self._found).read(element)

    def _unstripped(self, element: Element) -> str:
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
        """Ends the paragraph."""
        if self._inline:
            self._line.append(" ")
            return
        text = one_line("".join(self._line))
        self._line = []
        if text:
            block = Block(PARAGRAPH, self._lead + text)
            self._lead = ""
            self.blocks.append(markdown.caption(text) if markdown.is_caption(block.text) else block)

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
        for kind, piece in pieces(text, dollars=formula or self._found.dollars):
            if kind == "display":
                self._display(piece)
            elif kind == "inline":
                self._formula(piece)
            else:
                self._line.append(markdown.prose(piece))

    def _formula(self, tex: str) -> None:
        if tex:
            self._line.append(f"${tex}$")

    def _display(self, tex: str, number: str = "") -> None:
        if self._inline or not tex:
            self._formula(tex)
        else:
            self._add(markdown.equation(tex, number))

    def _math(self, element: Element) -> None:
        tex, display = formula_of(element)
        (self._display if display else self._formula)(tex)

    def _typeset(self, element: Element) -> None:
        """A formula that a script sets, of which the page has the LaTeX alone."""
        text, bare = text_of(element), set(element.classes) & {"inline", "display"}
        if any(isinstance(child, Element) for child in element.children):
            self._content(element)
        elif bare and not text.lstrip().startswith(("$", "\\(", "\\[")):
            self._formula(clean_tex(text)) if "inline" in bare else self._display(clean_tex(text))
        else:
            self._text(text, formula=True)

    def _link(self, element: Element) -> None:
        if is_note_mark(element):
            self._line.append(f"[^{self._found.notes.number(note_key(element))}]")
        else:
            self._line.append(linked(element, self._unstripped(element), self._found))

    def _raised(self, element: Element) -> None:
        self._line.append(raised(element, self.inline(element)))

    def _code(self, element: Element) -> None:
        self._line.append(code_span(element))

    def _note(self, element: Element) -> None:
        content = next((one for one in descend(element) if "ltx_note_content" in one.classes), element)
        text = self.inline(content)
        if any(map(str.isalnum, text)):
            self._line.append(f"[^{self._found.notes.add(text)}]")

    def _heading(self, element: Element) -> None:
        text = self.inline(element)
        if text and is_run_in(element) and not self._inline:
            self._end()
            self._lead = f"**{text}{'' if text[-1] in '.:?!' else '.'}** "
        elif text:
            self._add(Block(HEADING, text, heading_level(element)))

    def _header(self, element: Element) -> None:
        if self._within or element.attributes.get("id") == "title-block-header":
            self._block(element)

    def _abstract(self, element: Element) -> None:
        titled = "heading" in element.holds or any("abstract-title" in one.classes for one in descend(element))
        if not titled and element.tag not in HEADINGS:
            self._add(Block(HEADING, "Abstract", 1))
        self._block(element)

    def _reference(self, element: Element) -> None:
        self._add(Block(REFERENCE, reference_text(element, self.inline(element))))

    def _caption(self, element: Element) -> None:
        self._add(markdown.caption(self.inline(element)))

    def _listing(self, element: Element) -> None:
        self._add(markdown.code(listing_text(element, self._unstripped)))

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
            self._add(markdown.table(rows))

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
        self.blocks += markdown.item(self.inside(element), lead, label)
