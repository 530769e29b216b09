"""Group lines into blocks in reading order: headings, paragraphs, captions, tables, equations, algorithms, notes, references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from statistics import median

from phases.readers.line_patterns import ABSTRACT, REFERENCES, plain_title
from phases.readers.pdf.headings import BodyStyle, Heading
from phases.readers.pdf.lines import Line, Words, has_holes
from phases.readers.pdf.listings import is_prose
from phases.readers.pdf.tables import Table

HEADING, PARAGRAPH, CAPTION, TABLE, EQUATION = "heading", "paragraph", "caption", "table", "equation"
ALGORITHM, FOOTNOTE, ITEM, REFERENCE, PICTURE, CONTENTS, CODE = (
    "algorithm", "footnote", "item", "reference", "picture", "contents", "code",
)  # fmt: skip
_CAPTION = re.compile(
    r"^(?:figure|fig\.|table|tab\.|listing|abbildung|abb\.|tabelle|图|圖|表|그림|표|図)\s*(?:[IVX]{1,6}|[0-9A-Z][0-9.]*)(?:\s*[:.|：]|$)|^(?:图|圖|表|그림|표|図)\s*[0-9]+",
    re.IGNORECASE,
)
_BOLD_CAPTION = re.compile(r"^(?:figure|fig\.|table|tab\.)\s*[0-9A-Z][0-9.]*\s", re.IGNORECASE)
_TABLE_CAPTION = re.compile(r"^(?:table|tab\.|tabelle|表|표)", re.IGNORECASE)
_FIGURE = re.compile(r"^(?:figure|fig\.|abbildung|abb\.|图|圖|그림|図)", re.IGNORECASE)
_ALGORITHM = re.compile(r"^(?:algorithm|algorithmus|procedure|算法|알고리즘)\s*[0-9]+", re.IGNORECASE)
_SENTENCE = re.compile(r"^\S+\s*[0-9]+,?\s+[a-z]")
_BULLET = re.compile(r"^[•◦▪■●‣∙⋄–\-*]\s+(?=\S)|^•")
_ORDERED = re.compile(r"^(?:\(?(?:[0-9]{1,2}|[a-z]|[ivx]{1,4})\)|[0-9]{1,2}\.)\s+(?=\S)")
_STEP = re.compile(r"^(?:Step|Stage|Phase)\s+[^\s:(]{0,6}[0-9]\S{0,8}(?:\s|$)", re.IGNORECASE)
"""A step of a procedure: the word Step and its number, in bold or with a colon."""
_FOOTNOTE = re.compile(r"^([0-9]{1,2}|[*∗†‡§¶])\s?(?=[A-Za-z\u00c0-\uffff(\"“])")
TAG = re.compile(r"\([0-9A-Z.]{1,6}[a-z]?\)\}*\$?$")
_SCRAP = 24
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u0400-\u04ff]{3,}|[\u2e80-\u9fff\uac00-\ud7af]+")
_ENDED = re.compile(r"[.!?:。！？：][\"”’)\]]?$")
_MOST_STEPS, _FEWEST_STEPS = 120, 2
_FARTHEST_CAPTION = 5.0
"""White between code and the caption below it, in sizes of the caption's letters."""
_ABSTRACT = re.compile(rf"^(?:{'|'.join(ABSTRACT)})\s*[.:—–-]+\s*(?=\S)", re.IGNORECASE)
_WORDS_OF_PROSE = 5
_ASIDE = (CAPTION, FOOTNOTE, TABLE, PICTURE, ALGORITHM)
_BRACKETED = re.compile(r"^\[[^\]\s][^\]]{0,24}\]\s*(?=\S)")
_COUNTED = re.compile(r"^\(?([0-9]{1,3})[.)]?\s+(?=\S)")
_LABEL = re.compile(r"^\[([0-9]{1,3})\]\s*(?=\S)")
_RAISED, _SMALL = re.compile(r"^([0-9]{1,3})\s?(?=[^\W\d_])"), 0.85
_FEWEST_UNNAMED, _MOST_LINES, _LATE = 5, 8, 0.8
_INDENT = 3.0
_YEAR = re.compile(r"\b(?:1[89]|20)[0-9]{2}[a-z]?\b")
_ENOUGH = 0.1


@dataclass
class PdfBlock:
    """Lines that belong together. `text` is set if it differs from the text of the lines."""

    kind: str
    page: int
    lines: list[Line] = field(default_factory=list)
    text: str = ""
    level: int = 0
    fresh: bool = False
    """Whether it is the first in its column, so that it may continue a paragraph of the previous column."""
    table: Table | None = None


@dataclass(frozen=True)
class Marks:
    """Marks on lines, found before the lines are grouped."""

    headings: Mapping[int, Heading]
    contents: Set[int]
    tables: Mapping[int, Table]
    """Tables by first line."""
    listings: Mapping[int, int]
    """Number of lines of each listing, by first line."""
    body: BodyStyle


def blocks_of(lines: Sequence[Line], marks: Marks, words: Words) -> list[PdfBlock]:
    """Return the blocks in reading order."""
    usual = _usual_gap(lines, marks.body)
    blocks: list[PdfBlock] = []
    index, references = 0, False
    named = any(plain_title(heading.text) in REFERENCES for heading in marks.headings.values())
    unnamed = None if named else find_unnamed(lines, marks.body.size)
    while index < len(lines):
        heading = marks.headings.get(index)
        if index == unnamed and not heading:
            blocks.append(PdfBlock(HEADING, lines[index].page, text="References", level=1))
            references, unnamed = True, None
        if heading:
            references = plain_title(heading.text) in REFERENCES
            blocks.append(PdfBlock(HEADING, lines[index].page, text=heading.text, level=heading.level))
            index += heading.count
        elif references:
            index = _add_references(lines, index, marks, usual, blocks, words)
        else:
            index = _add_block(lines, index, marks, usual, blocks)
    return blocks


def _add_references(
    lines: Sequence[Line], index: int, marks: Marks, usual: float, blocks: list[PdfBlock], words: Words
) -> int:
    """Add the references from a line on, with floats between them; return the next line."""
    listed: list[Line] = []
    while index < len(lines) and index not in marks.headings:
        if index in marks.tables or kind_of(lines, index, marks.body) in (CAPTION, ALGORITHM):
            index = _add_block(lines, index, marks, usual, blocks)
        else:
            listed.append(lines[index])
            index += 1
    groups = references_of(listed)
    blocks.extend(PdfBlock(REFERENCE, group[0].page, group, reference_text(group, words)) for group in groups)
    return index


def _usual_gap(lines: Sequence[Line], body: BodyStyle) -> float:
    gaps = [line.gap for line in lines if not line.fresh and abs(line.size - body.size) < 0.6]
    return median(gaps) if gaps else 0.3 * body.size


def _add_block(lines: Sequence[Line], index: int, marks: Marks, usual: float, blocks: list[PdfBlock]) -> int:
    line = lines[index]
    table = marks.tables.get(index)
    if table:
        end = index + table.count
        blocks.append(PdfBlock(TABLE, line.page, list(lines[index:end]), fresh=line.fresh, table=table))
        return end
    kind = CONTENTS if index in marks.contents else kind_of(lines, index, marks.body)
    if index in marks.listings:
        kind, end = CODE, index + marks.listings[index]
    elif kind == ALGORITHM:
        end = _end_of_algorithm(lines, index, marks)
    else:
        end = index + 1
        while end < len(lines) and not _is_break(lines, index, end, kind, marks, usual):
            end += 1
    blocks.append(PdfBlock(kind, line.page, list(lines[index:end]), fresh=line.fresh))
    return end


def kind_of(lines: Sequence[Line], index: int, body: BodyStyle) -> str:
    """Return the kind of block that a line begins."""
    line = lines[index]
    if starts_float(lines, index):
        return ALGORITHM if _ALGORITHM.match(line.text) else CAPTION
    if line.size < body.size - 0.7 and _FOOTNOTE.match(line.text):
        return FOOTNOTE
    if _BULLET.match(line.text) or _ORDERED.match(line.text) or _is_step(line):
        return ITEM
    return EQUATION if is_display(line, body) else PARAGRAPH


def _is_step(line: Line) -> bool:
    found = _STEP.match(line.text)
    return found is not None and (line.bold_start or found.group().rstrip().endswith(":"))


def starts_float(lines: Sequence[Line], index: int) -> bool:
    """Return whether a line is the first of a caption, or of an algorithm with its caption."""
    line = lines[index]
    label = _CAPTION.match(line.text)
    if label and label.group()[-1] in ":|：":
        return True
    if index and _is_within_text(lines[index - 1], line):
        return False
    if label or (line.bold_start and _BOLD_CAPTION.match(line.text)):
        return True
    is_sentence = len(line.text) >= 90 or _SENTENCE.match(line.text)
    return bool(_ALGORITHM.match(line.text)) and (line.bold_start or not is_sentence)


def _is_within_text(before: Line, line: Line) -> bool:
    """Return whether a sentence continues from the previous line: "... are shown in" and "Table 6. Both ..."."""
    alike = line.font == before.font and abs(line.size - before.size) < 0.3 and not line.bold_start
    close = not line.fresh and line.gap < 0.6 * line.size
    full = before.box.x1 > before.column.x1 - 0.06 * before.column.width and not _ENDED.search(before.text)
    return alike and close and full and not _CAPTION.match(before.text)


def is_display(line: Line, body: BodyStyle) -> bool:
    """Return whether a line is displayed mathematics: indented, with hardly a word. Limits of sums are such lines too."""
    left, right = line.box.x0 - line.column.x0, line.column.x1 - line.box.x1
    words = len(_WORD.findall(re.sub(r"\$[^$]*\$", " ", line.text)))
    if left < 1.2 * body.size and not TAG.search(line.text):
        return False
    if not words and len(line.text) <= _SCRAP and left > 0.1 * line.column.width:
        return True
    signs = line.text.count("$") >= 2 or bool(re.search(r"[=≤≥<>∑∏∫≈∈→←±×]", line.text))
    centred = left > 0.1 * line.column.width and abs(left - right) < 0.2 * line.column.width and "=" in line.text
    return signs and words <= (6 if centred else 2)


def _is_break(lines: Sequence[Line], first: int, index: int, kind: str, marks: Marks, usual: float) -> bool:
    line, before, start = lines[index], lines[index - 1], lines[first]
    if index in marks.headings or index in marks.tables or index in marks.listings:
        return True
    if (index in marks.contents) != (kind == CONTENTS):
        return True
    if kind == CONTENTS:
        return True
    if line.fresh or line.page != before.page:
        return True
    begins = kind_of(lines, index, marks.body)
    if kind == EQUATION:
        another = bool(TAG.search(before.text)) and len(line.text) > _SCRAP
        return begins != EQUATION or another or line.gap > 1.6 * line.size
    if begins == EQUATION:
        return True
    if begins in (CAPTION, ALGORITHM, FOOTNOTE) or (
        begins == ITEM and (kind == ITEM or line.gap > usual + 0.1 or _is_step(line))
    ):
        return True
    if kind == ITEM and _is_step(start) and start.box.x0 + 3 < lines[first + 1].box.x0 and index > first + 1:
        # a line less indented than the rest of a step does not belong to it
        return line.box.x0 < lines[first + 1].box.x0 - 3
    if kind == FOOTNOTE:
        # the first line of a footnote may have the size of its mark
        start = lines[first + 1]
    if abs(line.size - start.size) > 0.8 and "$" not in line.text:
        return True
    if kind == CAPTION and has_holes(line):
        # a line with holes below a caption is the head of the table
        return True
    return line.gap > max(usual, 0.0) + 0.32 * marks.body.size or (kind == PARAGRAPH and _is_set_in(line, before))


def _is_set_in(line: Line, before: Line) -> bool:
    indent = line.box.x0 - line.column.x0
    early = before.box.x1 < before.column.x1 - 0.12 * before.column.width and bool(_ENDED.search(before.text))
    flush = abs(before.box.x0 - before.column.x0) < 3
    return (0.7 * line.size < indent < 4 * line.size and flush) or (early and indent < 0.7 * line.size and flush)


def _end_of_algorithm(lines: Sequence[Line], first: int, marks: Marks) -> int:
    """Return the line after the last step: where prose of full width continues, or a column or a heading begins."""
    start = lines[first]
    end = first + 1
    while end < min(len(lines), first + _MOST_STEPS):
        line = lines[end]
        full = line.box.width > 0.85 * line.column.width and line.size >= marks.body.size - 0.3
        flush = abs(line.box.x0 - line.column.x0) < 4 or _begins_paragraph(lines, end)
        prose = full and flush and not re.match(r"\s*[0-9]{1,2}[:.]?\s", line.text)
        if end in marks.headings or line.fresh or line.page != start.page:
            break
        if line.size > median(step.size for step in lines[first + 1 : end + 1]) + 0.7 and is_prose(line, marks.body):
            break
        if prose and end > first + 1 and (line.gap > 0.5 * line.size or abs(line.size - lines[end - 1].size) > 0.3):
            break
        if _CAPTION.match(line.text) or _ALGORITHM.match(line.text):
            break
        end += 1
    return end


def _begins_paragraph(lines: Sequence[Line], index: int) -> bool:
    """Return whether an indented line is followed by a long flush one, which no step of an algorithm is."""
    line, after = lines[index], lines[index + 1] if index + 1 < len(lines) else None
    if after is None or after.fresh or after.page != line.page:
        return False
    return abs(after.box.x0 - line.column.x0) < 4 and after.box.width > 0.95 * line.column.width


def is_figure_caption(block: PdfBlock) -> bool:
    return block.kind == CAPTION and bool(_FIGURE.match(block.lines[0].text))


def goes_on(before: str, after: str) -> bool:
    """Return whether a paragraph continues in the next column or on the next page."""
    return not _ENDED.search(before.rstrip()) and bool(re.match(r"[a-zà-ÿ0-9($\[“\"'‘\u3040-\uffff]", after.lstrip()))


def in_flow(blocks: Sequence[PdfBlock], body: BodyStyle) -> list[PdfBlock]:
    """Return the blocks in the order in which they are read."""
    return list(_with_abstract(_join_paragraphs(_with_listings(_join_tables(_with_pictures(blocks, body))))))


def _with_listings(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    """Join code that continues in the next column, and move its caption before it."""
    result: list[PdfBlock] = []
    for block in blocks:
        last = result[-1] if result else block
        is_rest = block.kind == CODE and block.fresh and last.kind in (CODE, ALGORITHM)
        if is_rest and min(len(last.lines), len(block.lines)) >= _FEWEST_STEPS and block is not last:
            last.lines.extend(block.lines)
        elif block.kind == CAPTION and _is_below_code(block, result):
            result.insert(-1, block)
        else:
            result.append(block)
    return result


def _is_below_code(caption: PdfBlock, before: Sequence[PdfBlock]) -> bool:
    """Return whether a caption belongs to the code above it, which has none of its own above."""
    code = before[-1] if before else caption
    if code.kind != CODE or code.page != caption.page or len(code.lines) < _FEWEST_STEPS:
        return False
    above = before[-2] if len(before) > 1 and before[-2].kind == CAPTION and before[-2].page == code.page else None
    white = caption.lines[0].box.y0 - code.lines[-1].box.y1
    own = above is not None and 0 <= code.lines[0].box.y0 - above.lines[-1].box.y1 < white
    return (
        white < _FARTHEST_CAPTION * caption.lines[0].size
        and not own
        and not _TABLE_CAPTION.match(caption.lines[0].text)
    )


def _join_tables(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    result: list[PdfBlock] = []
    for block in blocks:
        last = result[-1] if result else block
        goes_on = block.table and last.table and block.fresh and len(block.table.rows[0]) == len(last.table.rows[0])
        if goes_on and block is not last and block.table and last.table:
            again = block.table.rows[0] == last.table.rows[0]
            last.table = replace(last.table, rows=(*last.table.rows, *block.table.rows[again:]))
        else:
            result.append(block)
    return result


def _with_pictures(blocks: Sequence[PdfBlock], body: BodyStyle) -> list[PdfBlock]:
    result: list[PdfBlock] = []
    for block in blocks:
        result.append(block)
        if not is_figure_caption(block):
            continue
        words: list[Line] = []
        while len(result) > 1 and result[-2].page == block.page and _is_label(result[-2], body):
            words = [*result.pop(-2).lines, *words]
        if words:
            result.append(PdfBlock(PICTURE, block.page, words))
    return result


def _is_label(block: PdfBlock, body: BodyStyle) -> bool:
    """Return whether a block is a label in a picture: a paragraph has two lines of words, or the style of the text."""
    if block.kind not in (PARAGRAPH, ITEM, EQUATION, FOOTNOTE):
        return False
    counts = [len(re.findall(r"[^\W\d_]{3,}", line.text)) for line in block.lines]
    as_text = all(line.font == body.font and abs(line.size - body.size) < 0.3 for line in block.lines)
    prose = sum(count >= _WORDS_OF_PROSE for count in counts)
    if block.kind == FOOTNOTE and max(counts) >= _WORDS_OF_PROSE:
        return False
    if len(block.lines) == 1 and not re.search(r"[.!?:;,]$", block.lines[0].text):
        return max(counts) < 2 * _WORDS_OF_PROSE
    return prose < 2 and not (as_text and max(counts) >= _WORDS_OF_PROSE // 2)


def _join_paragraphs(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    """Join paragraphs interrupted by a float, a column or a page, where they began."""
    result: list[PdfBlock] = []
    last: PdfBlock | None = None
    crossed = False
    for before, block in zip((None, *blocks), blocks, strict=False):
        # code below its caption floats, like figures
        aside = block.kind in _ASIDE or (block.kind == CODE and before is not None and before.kind == CAPTION)
        crossed = crossed or block.fresh or aside
        continued = (
            last is not None
            and block.kind == PARAGRAPH
            and crossed
            and abs(block.lines[0].size - last.lines[-1].size) < 0.6
            and goes_on(last.lines[-1].text, block.lines[0].text)
        )
        if continued and last is not None:
            last.lines.extend(block.lines)
            crossed = False
            continue
        result.append(block)
        if block.kind in (PARAGRAPH, ITEM):
            last, crossed = block, False
        elif not aside:
            last = None
    return result


def _with_abstract(blocks: Sequence[PdfBlock]) -> Iterator[PdfBlock]:
    """Give an abstract that begins with its name, in the same line, a heading."""
    named = any(block.kind == HEADING and plain_title(block.text) in ABSTRACT for block in blocks)
    for block in blocks:
        match = _ABSTRACT.match(block.lines[0].text) if block.kind == PARAGRAPH and not named else None
        if match and block.page <= 2:
            named = True
            yield PdfBlock(HEADING, block.page, text=match.group().rstrip(" .:—–-"), level=1)
            block.lines[0] = replace(block.lines[0], text=block.lines[0].text[match.end() :])
        yield block


def references_of(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines of each reference. Lines before the first label belong to the first reference."""
    starts = _by_brackets(lines) or _by_numbers(lines) or _by_indents(lines) or _by_white(lines)
    if not starts:
        return [list(lines)] if lines else []
    starts = [0, *[start for start in starts if start > 0]]
    return [list(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def find_unnamed(lines: Sequence[Line], size: float) -> int | None:
    """Return where references without a heading begin at the end of a paper: [1], [2], [3], or raised numbers, as in physics.

    `size` is the letter size of the text.
    """
    first, reached, last = 0, 0, 0
    for index, line in enumerate(lines):
        match = _LABEL.match(line.text) or (_RAISED.match(line.text) if line.items[0].size < _SMALL * size else None)
        number = int(match.group(1)) if match else 0
        if number == 1:
            first, reached, last = index, 1, index
        elif number == reached + 1 and reached:
            reached, last = number, index
    # the notes of a paper are numbered as well, but far apart
    dense = last - first <= _MOST_LINES * reached
    return first if reached >= _FEWEST_UNNAMED and dense and last > _LATE * len(lines) else None


def reference_text(lines: Sequence[Line], words: Words) -> str:
    """Return a reference as one line, with its label in brackets."""
    text = words.join([line.text for line in lines])
    return _COUNTED.sub(lambda match: f"[{match.group(1)}] ", text, count=1) if _is_counted(text) else text


def _is_counted(text: str) -> bool:
    match = _COUNTED.match(text)
    return bool(match) and not _YEAR.match(text)


def _by_brackets(lines: Sequence[Line]) -> list[int]:
    starts = [index for index, line in enumerate(lines) if _BRACKETED.match(line.text)]
    return starts if len(starts) >= max(3, _ENOUGH * len(lines)) else []


def _by_numbers(lines: Sequence[Line]) -> list[int]:
    """Return lines that begin with 1, 2, 3 and so on; a year at the start of a line is not a label."""
    starts: list[int] = []
    wanted = 1
    for index, line in enumerate(lines):
        match = _COUNTED.match(line.text)
        if match and int(match.group(1)) == wanted:
            starts.append(index)
            wanted += 1
    return starts if len(starts) >= max(3, _ENOUGH * len(lines)) else []


def _by_indents(lines: Sequence[Line]) -> list[int]:
    """Return lines that begin further left than the lines after them; each column has its own edge."""
    starts: list[int] = []
    hanging = 0
    for stretch in _column_indexes(lines):
        left = min(lines[index].box.x0 for index in stretch)
        outer = [index for index in stretch if lines[index].box.x0 < left + _INDENT]
        inner = len(stretch) - len(outer)
        hanging += inner
        if not inner and len(stretch) > 2 and starts:
            # a column that only continues a reference of the previous column begins none
            continue
        starts += outer
    return starts if hanging > 0.2 * len(lines) and len(starts) >= 2 else []


def _column_indexes(lines: Sequence[Line]) -> list[list[int]]:
    stretches: list[list[int]] = []
    for index, line in enumerate(lines):
        if not stretches or line.fresh or line.page != lines[index - 1].page:
            stretches.append([])
        stretches[-1].append(index)
    return stretches


def _by_white(lines: Sequence[Line]) -> list[int]:
    """Return lines below more white than usual, or at the top of a column after a line that ends with a full stop."""
    gaps = sorted(line.gap for line in lines if not line.fresh)
    if not gaps:
        return []
    usual = gaps[len(gaps) // 4]
    wide = [index for index, line in enumerate(lines) if not line.fresh and line.gap > usual + 0.18 * line.size]
    ended = [
        index for index in range(1, len(lines)) if lines[index].fresh and lines[index - 1].text.rstrip().endswith(".")
    ]
    return sorted({0, *wide, *ended}) if len(wide) >= 2 else []
