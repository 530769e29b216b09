"""Render blocks of a paper from HTML or Word in the Markdown of paper.md (docs/architecture.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin

from phases.readers.reading import Link

HEADING, PARAGRAPH, ITEM, CAPTION, TABLE = "heading", "paragraph", "item", "caption", "table"
CODE, EQUATION, REFERENCE = "code", "equation", "reference"
# section headings have two marks: only the title has one
_WHOLE_WIDTH = 2
_DEEPEST, _LONGEST_CAPTION = 6, 600
_REFERENCES = (
    "references", "bibliography", "literature cited", "works cited", "literatur", "literaturverzeichnis", "参考文献",
    "참고문헌",
)  # fmt: skip
_TOP = (*_REFERENCES, "abstract", "zusammenfassung", "摘要", "초록")
_LABEL = re.compile(
    r"^\W{0,3}(fig(?:ure|\.)?|tab(?:le|elle|\.)?|algorithm|algorithmus|listing|scheme|box|abb(?:ildung|\.)|图|表|그림|표)"
    r"[ \u00a0]*((?:[A-Z]{1,2}[.\-]?)?[0-9]{1,4}(?:[.\-][0-9]{1,3}){0,3}[a-z]?|[IVX]{1,5}|[A-Z])(?![\w])[ ]*[.:|。：—–-]?[ ]*",
    re.IGNORECASE,
)
_WORDS = {"fig": "Figure", "fig.": "Figure", "tab": "Table", "tab.": "Table", "abb.": "Abbildung"}
_NUMBERED = re.compile(r"^((?:[0-9]{1,3}|[A-Z])(?:\.[0-9]{1,3})*)[.:)](?=\s)")
_APPENDIX = re.compile(r"^appendix\s+([A-Z](?:\.[0-9]+)*)[.:]?\s+(?=\S)", re.IGNORECASE)
_REFERENCE_NUMBER = re.compile(r"^(?:\[([0-9]{1,4})\]|\(([0-9]{1,4})\)|([0-9]{1,4})[.)](?=\s))\s*")
_NOTE = re.compile(r"\[\^([0-9]{1,6})\]")
_STRUCTURE = re.compile(r"(?=#|```|~~~|<!--|>|\|)")
_CONTROL: dict[int, str | None] = dict.fromkeys([*range(9), 11, *range(14, 32), *range(0x7F, 0xA0)], " ")
_CONTROL |= dict.fromkeys(
    [0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
_CONTROL |= dict.fromkeys(range(0xE0000, 0xE0080))
_MOST_LINKS, _LONGEST_ADDRESS, _LONGEST_RAISED = 10_000, 2000, 12
_ORDINALS = ("st", "nd", "rd", "th")
_WEB = re.compile(r"https?://[^/]", re.IGNORECASE)
_QUOTED = str.maketrans({"(": "%28", ")": "%29", "<": "%3C", ">": "%3E"})


@dataclass(frozen=True)
class Block:
    """A heading, paragraph, table and so on. `text` is Markdown without the marks of its kind."""

    kind: str
    text: str
    level: int = 0
    """Depth of a heading or list item, from 1; only the order of levels counts."""
    label: str = ""
    """Mark of a list item (`-`, `3.`), or the language of code."""


def compose_page(
    blocks: Iterable[Block], *, title: str | None, authors: Sequence[str], notes: Mapping[int, str]
) -> str:
    """Compose the page: title, authors, blocks, and each footnote at the end of the section that first cites it."""
    rest, waiting = dict(notes), list[str]()
    parts = [f"# {title}"] if title else []
    parts += [escape_structure(", ".join(authors))] if authors else []
    items: list[str] = []
    for block in [*_set_levels(_with_references(_without_title(blocks, title))), Block(HEADING, "")]:
        text = _render_block(block)
        if block.kind == ITEM:
            items.append(text)
        else:
            parts += ["\n".join(items)] if items else []
            items = []
        if block.kind == HEADING:
            parts += waiting
            waiting = []
        parts += [text] if block.text and block.kind != ITEM else []
        found = (int(number) for number in _NOTE.findall(text))
        waiting += [f"[^{number}]: {rest.pop(number)}" for number in found if number in rest]
    return "\n\n".join([*parts, *(f"[^{number}]: {text}" for number, text in rest.items())]) + "\n"


def normalize_title(text: str) -> str:
    """Return a title without case, spaces and punctuation, for comparison."""
    return re.sub(r"[\W_]+", "", text).casefold()


def one_line(text: str) -> str:
    """Collapse each run of white space to one space."""
    return " ".join(text.split())


def strip_invisible(text: str) -> str:
    """Remove invisible characters: controls, soft hyphens, direction marks, tags."""
    return text if text.isascii() and text.isprintable() else text.translate(_CONTROL)


def escape_prose(text: str) -> str:
    """Escape the author's words so that no sign reads as mathematics or as a comment."""
    return strip_invisible(text).replace("$", "\\$").replace("<!--", "\\<!--")


def escape_structure(text: str) -> str:
    """Escape a line of prose that would read as Markdown structure."""
    return _STRUCTURE.sub(r"\\", text, count=1) if _STRUCTURE.match(text) else text


def caption_block(text: str) -> Block:
    """Return a caption block with its label (`Figure 3`) in bold."""
    match = _LABEL.match(text)
    if not match:
        return Block(CAPTION, text)
    word = match.group(1).lower()
    word = _WORDS.get(word, word[0].upper() + word[1:])
    space = " " if word.isascii() else ""
    return Block(CAPTION, f"**{word}{space}{match.group(2)}.** {text[match.end() :]}".strip())


def is_caption(text: str) -> bool:
    """Return whether a paragraph starts like a caption (`Figure 3.`, `Table 2:`) and is as short as one."""
    match = _LABEL.match(text) if len(text) < _LONGEST_CAPTION and not text.startswith("**") else None
    return match is not None and match.group().rstrip()[-1] in ".:|。："


def equation_block(tex: str, number: str = "") -> Block:
    """Return a display equation; `number` is as printed, with or without brackets."""
    tex = one_line(tex)
    bare = number.strip().strip("()[] ")
    tag = f" \\tag{{{bare}}}" if bare and "\\tag{" not in tex else ""
    return Block(EQUATION, f"$$ {tex}{tag} $$")


def item_blocks(blocks: Iterable[Block], lead: str, label: str) -> list[Block]:
    """Return the blocks of a list item: its paragraphs on one line, then whatever cannot be on it."""
    texts, rest = list[str](), list[Block]()
    for block in blocks:
        if block.kind == PARAGRAPH and not rest:
            texts.append(block.text)
        else:
            rest.append(replace(block, level=block.level + 1) if block.kind == ITEM else block)
    text = (lead + " ".join(texts)).strip()
    return [Block(ITEM, text, 1, label), *rest] if text else rest


def table_block(rows: Sequence[Sequence[str]]) -> Block:
    """Return a pipe table with its first row as head. Short rows are padded, unless padding would be most of the table."""
    width = max((len(row) for row in rows), default=0)
    # one row of a thousand cells must not widen every other row
    fill = width * len(rows) <= 4 * sum(map(len, rows)) + 200
    lines: list[str] = []
    for row in rows:
        cells = [one_line(cell).replace("|", "\\|") for cell in row]
        cells += [""] * (width - len(cells)) if fill or not lines else []
        lines.append(f"| {' | '.join(cells)} |")
    return Block(TABLE, "\n".join([*lines[:1], "|" + "---|" * width, *lines[1:]]))


def code_block(text: str, language: str = "") -> Block:
    """Return a block of verbatim lines."""
    return Block(CODE, text.strip("\n"), label=language)


def is_references(heading: str) -> bool:
    """Return whether a heading starts the list of references."""
    return _bare_heading(heading) in _REFERENCES


def _bare_heading(heading: str) -> str:
    return re.sub(r"^[\W\d_]+|[\W\d_]+$", "", heading).casefold()


def _without_title(blocks: Iterable[Block], title: str | None) -> Iterator[Block]:
    wanted = normalize_title(title or "")
    for block in blocks:
        if wanted and block.kind == HEADING and normalize_title(block.text) == wanted:
            wanted = ""
        elif block.text:
            yield block


def _with_references(blocks: Iterable[Block]) -> Iterator[Block]:
    """Turn paragraphs below the references heading into references, and give an untitled list of them a heading."""
    inside, level = False, 0
    for block in blocks:
        if block.kind == HEADING and (not inside or block.level <= level or is_references(block.text)):
            inside, level = is_references(block.text), block.level
        elif block.kind == REFERENCE and not inside:
            yield Block(HEADING, "References", 1)
            inside, level = True, 1
        if inside and block.kind in (PARAGRAPH, ITEM, REFERENCE):
            yield replace(block, kind=REFERENCE, text=_format_reference(block))
        else:
            yield block


def _format_reference(block: Block) -> str:
    match = _REFERENCE_NUMBER.match(block.text)
    if match:
        return f"[{match.group(1) or match.group(2) or match.group(3)}] {block.text[match.end() :]}"
    number = block.label.rstrip(".")
    return f"[{number}] {block.text}" if number.isdigit() and not block.text.startswith("[") else block.text


def _set_levels(blocks: Iterable[Block]) -> Iterator[Block]:
    """Set heading depths: each heading is one level below the nearest preceding heading of a higher level."""
    above: list[int] = []
    for block in blocks:
        if block.kind != HEADING:
            yield block
            continue
        depth = _WHOLE_WIDTH
        if _bare_heading(block.text) not in _TOP:
            while above and above[-1] >= block.level:
                above.pop()
            depth += len(above)
            above.append(block.level)
        text = _APPENDIX.sub(r"\1 ", _NUMBERED.sub(r"\1", block.text, count=1), count=1)
        yield replace(block, level=min(depth, _DEEPEST), text=text)


def _render_block(block: Block) -> str:
    match block.kind:
        case "heading":
            return f"{'#' * block.level} {block.text}"
        case "item":
            return f"{'  ' * (block.level - 1)}{block.label or '-'} {block.text}"
        case "caption":
            return f"> {block.text}"
        case "code":
            longest = max(map(len, re.findall("`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{fence}{block.label}\n{block.text}\n{fence}"
        case "table" | "equation":
            return block.text
        case _:
            return escape_structure(block.text)


@dataclass
class Footnotes:
    """Footnotes by number, in the order in which the page cites them."""

    texts: dict[int, str] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def add(self, text: str) -> int:
        """Number a footnote whose text is at its mark."""
        self._count += 1
        self.texts[self._count] = text
        return self._count

    def number(self, key: str) -> int:
        """Return the number of the footnote with this name."""
        if key not in self._numbers:
            self._count += 1
            self._numbers[key] = self._count
        return self._numbers[key]

    def knows(self, key: str) -> bool:
        """Return whether the page has cited the footnote with this name."""
        return key in self._numbers


@dataclass
class PageContext:
    """Links, footnotes and settings collected for the whole paper."""

    base: str
    dollars: bool
    """Read `$...$` in the text as mathematics."""
    links: list[Link] = field(default_factory=list)
    notes: Footnotes = field(default_factory=Footnotes)


def render_link(text: str, href: str, found: PageContext) -> str:
    """Render a text as a link if its address is another web page, and record the link in `found`."""
    words = one_line(text)
    url = _resolve_address(href, found.base) if len(found.links) < _MOST_LINKS else ""
    if not url or not words or "](" in words:
        return text
    found.links.append(Link(url, 1, words))
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' * before}[{words}]({url}){' ' * after}"


def render_script(text: str, sign: str) -> str:
    """Render a short superscript (`^`) or subscript (`_`); a longer text or an ordinal's ending stays as it is."""
    short = len(text) <= _LONGEST_RAISED and text not in _ORDINALS and not text.startswith("[")
    if short and "$" not in text and any(map(str.isalnum, text)):
        return sign + (text if len(text) == 1 else f"{{{text}}}")
    return text


def _resolve_address(href: str, base: str) -> str:
    href = "".join(href.split())
    if not href or href.startswith("#") or len(href) > _LONGEST_ADDRESS:
        return ""
    try:
        url = urljoin(base, href)
    except ValueError:  # brackets that do not hold an IPv6 host, for one
        return ""
    page, mark, _ = url.partition("#")
    same = bool(base) and bool(mark) and page == base.partition("#")[0]
    return url.translate(_QUOTED) if _WEB.match(url) and not same else ""
