"""Read a PDF: find the title, group the engine's text into blocks, and render them page by page in the dialect of paper.md."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain
from statistics import median

from phases.readers.line_patterns import ABSTRACT, plain_title
from phases.readers.pdf.blocks import (
    ALGORITHM,
    CAPTION,
    CODE,
    CONTENTS,
    EQUATION,
    FOOTNOTE,
    HEADING,
    ITEM,
    PICTURE,
    REFERENCE,
    Marks,
    PdfBlock,
    blocks_of,
    in_flow,
    starts_float,
)
from phases.readers.pdf.engine import read_document, read_plainly
from phases.readers.pdf.formulas import with_equations
from phases.readers.pdf.furniture import contents_of, without_furniture
from phases.readers.pdf.headings import body_of, headings_of, style_of
from phases.readers.pdf.lines import Line, Words, has_holes, lines_of_pages
from phases.readers.pdf.listings import find_listings, is_set_in_typewriter, split_number
from phases.readers.pdf.page import Bookmark, Document, PdfEngine
from phases.readers.pdf.tables import FLOAT_LABEL, table_text, tables_of, with_ruled_tables
from phases.readers.reading import NO_TEXT, READABLE, InputFile, LeftOut, Reading

VERSION = 3
_MOST_LEFT_OUT = 5000
_MARKS = re.compile(r"(?:[\s,]|\$\^\{?[*∗†‡§¶⋆★,\d]+\}?\$|\$\^\{\\(?:ast|star|dagger)\}\$|[*∗†‡§¶⋆★])+$")
_LETTERED = re.compile(r"(?<=[a-z])[a-z]\)$")
_FEWEST_LETTERS = 8
_FEWEST_CJK = 4
_FEWEST_ALIKE, _MOST_ALIKE = 24, 0.93
"""Length from which on titles are equal if this share of their letters is."""
_LONGEST = 300
_MOST_LINES = 8
_ADDRESS = re.compile(r"\b10\.[0-9]{4,}/|\bdoi\b|https?:|www\.|\.(?:pdf|dvi|docx?|tex|indd)$", re.IGNORECASE)
_INTRODUCTION = ("introduction", "einleitung", "einführung")
_CODE = re.compile(r"\S*[0-9]\S*")
"""One word with a digit: the number of a paper or a report."""
_PERIODICAL = re.compile(
    r"journal homepage|contents lists available|sciencedirect|\bissn\b|\bvol(?:ume|\.)\s*[0-9]|\bno\.\s*[0-9]+,",
    re.IGNORECASE,
)
_SHORT_NAME, _NEAR = 5, 3
_CLOSE, _SPREAD = 1.1, 1.5
"""White between the lines of a title, in letter sizes: the maximum, and the maximum within one font and size."""
_HOLE, _RECOGNIZED_HOLE = 1.6, 3.2
_ALIKE, _RECOGNIZED = 0.6, 0.15
"""Size difference between the lines of a title, at most: in points, and as a share for recognized letters."""
_LABEL = re.compile(r"^((?:[^\W\d_]+\.?)\s*(?:[IVX]{1,6}|[0-9A-Z][0-9.]*?))\s*[:.|：]?\s+(?=\S)")
_TAG = re.compile(r"\s*\(([0-9A-Z.]{1,6}[a-z]?)\)$")
_MARKER = re.compile(r"^[•◦▪■●‣∙⋄–\-*]\s*")
_ORDERED = re.compile(r"^\(?([0-9]{1,2})[.)]\s+")
_FOOTNOTE = re.compile(r"^([0-9]{1,2}|[*∗†‡§¶])\s?")
_STRUCTURE = re.compile(r"^(?=#{1,6}\s|```|~~~|<!--|>|\|)")
_DEEPEST = 6
_STEP = 10.0
"""Points of indentation rendered as two blanks, if the lines do not show their own step."""
_LEAST_STEP, _MOST_STEP = 0.7, 4.0
_DEEPEST_STEP = 12
_LEANING = 0.1
"""Share of a step by which lines may lean: places around half a step count as the step before."""


def read_pdf(path: str, password: str | None = None, engine: PdfEngine = read_document) -> Reading:
    """Read a PDF file. Raises Unreadable if it holds no document."""
    document = engine(path, password)
    reader = f"pdf {VERSION}, {document.engine}"
    if document.verdict not in READABLE:
        return Reading(document.verdict, reader)
    title, pages, left_out = _build_pages(document)
    if not any(character.isalnum() for page in pages for character in page):
        return Reading(NO_TEXT, reader)
    facts = (document.authors, document.links, document.hidden, document.missing)
    return Reading(document.verdict, reader, tuple(pages), title, *facts, tuple(left_out[:_MOST_LEFT_OUT]))


def read_pdf_input(source: InputFile) -> Reading:
    """Read a PDF (InputKind.reader)."""
    return read_pdf(source.path, source.password)


def read_pdf_plainly(source: InputFile) -> Reading:
    """Read a PDF on which the default engine crashes (InputKind.fallback)."""
    return read_pdf(source.path, source.password, read_plainly)


def _build_pages(document: Document) -> tuple[str | None, list[str], list[LeftOut]]:
    pages, left_out = without_furniture(document.pages)
    pages = [with_ruled_tables(page) for page in pages]
    lines = list(chain.from_iterable(lines_of_pages(pages)))
    words = Words(line.text for line in lines)
    title, place = title_of(lines, document.title, words)
    lines = [line for index, line in enumerate(lines) if index not in place]
    marks = _find_marks(lines, document.bookmarks, words)
    result: dict[int, list[str]] = defaultdict(list)
    if title:
        result[1].append(f"# {title}")
    blocks = with_equations(blocks_of(lines, marks, words), {page.number: page for page in pages})
    for block in in_flow(blocks, marks.body):
        result[block.page].append(table_text(block.table) if block.table else text_of(block, words))
    for page in pages:
        if page.aside:
            result[page.number].append(f"> In another direction: {page.aside}")
    return title, ["\n\n".join(text for text in result[page.number] if text) for page in pages], left_out


def _find_marks(lines: Sequence[Line], bookmarks: Sequence[Bookmark], words: Words) -> Marks:
    contents = contents_of(lines)
    tables = {table.first: table for table in tables_of(lines, contents)}
    in_tables = {table.first + row for table in tables.values() for row in range(table.count)}
    headings = headings_of(lines, bookmarks, words, contents | in_tables)
    in_headings = {heading.first + row for heading in headings for row in range(heading.count)}
    floats = {index for index in range(len(lines)) if starts_float(lines, index)}
    body = body_of(lines)
    listings = find_listings(lines, body, contents | in_tables | in_headings | floats)
    return Marks({heading.first: heading for heading in headings}, contents, tables, listings, body)


def title_of(lines: Sequence[Line], said: str | None, words: Words) -> tuple[str | None, range]:
    """Return the title and its lines on the first page; None and no lines if there is none."""
    first = [line for line in lines if line.page == lines[0].page] if lines else []
    if said and not _ADDRESS.search(said) and (place := _place_of(first, said)):
        printed = words.join([first[index].text for index in place])
        return (printed if plain_title(printed) == plain_title(said) else said), place
    place = _largest_lines(first)
    text = words.join([first[index].text for index in place])
    return (_without_marks(text), place) if text and len(text) <= _LONGEST else (None, range(0))


def _without_marks(title: str) -> str:
    """Remove the footnote marks of a title; AIP uses small letters with a parenthesis."""
    title = _MARKS.sub("", title)
    return title if "(" in title else _LETTERED.sub("", title)


def _place_of(lines: Sequence[Line], said: str) -> range | None:
    wanted = plain_title(said)
    if len(wanted) < _FEWEST_CJK:
        return None
    alike = SequenceMatcher(None, "", wanted, autojunk=False)
    for start in range(len(lines)):
        given = ""
        for end in range(start, min(start + _MOST_LINES, len(lines))):
            given += plain_title(lines[end].text)
            if given == wanted or (given.startswith(wanted) and len(given) < len(wanted) + 4):
                return range(start, end + 1)
            if len(given) > len(wanted) + 4:
                break
            alike.set_seq1(given)
            if len(wanted) >= _FEWEST_ALIKE and len(given) > len(wanted) - 4 and alike.ratio() > _MOST_ALIKE:
                return range(start, end + 1)
    return None


def _largest_lines(lines: Sequence[Line]) -> range:
    ends = (*ABSTRACT, *_INTRODUCTION)
    until = next((index for index, line in enumerate(lines) if plain_title(line.text) in ends), len(lines))
    above = list(lines[: until or len(lines)])
    sizes = sorted({line.size for line in above}, reverse=True)
    for size in sizes:
        runs = [run for run in _runs_of(above, size) if _is_telling(above, run)]
        if runs:
            first = min(runs, key=lambda run: above[run[0]].box.y0)
            coded = len(first) > 1 and _CODE.fullmatch(above[first[0]].text)
            return range(first.start + 1, first.stop) if coded else first
    return range(0)


def _runs_of(lines: Sequence[Line], size: float) -> list[range]:
    runs: list[range] = []
    slack = _RECOGNIZED * size if len({line.font for line in lines}) == 1 else _ALIKE
    for index, line in enumerate(lines):
        large = line.size > size - slack and line.size > 0
        spread = _SPREAD if style_of(line) == style_of(lines[index - 1]) else _CLOSE
        near = (
            runs
            and runs[-1].stop == index
            and line.gap < spread * size
            and line.bold_start == lines[index - 1].bold_start
        )
        if large and near:
            runs[-1] = range(runs[-1].start, index + 1)
        elif large:
            runs.append(range(index, index + 1))
    return [run for run in runs if len(run) <= _MOST_LINES]


def _is_telling(lines: Sequence[Line], run: range) -> bool:
    text = " ".join(lines[index].text for index in run)
    # recognized words of large type are far apart
    hole = _HOLE if len({line.font for line in lines}) > 1 else _RECOGNIZED_HOLE
    if FLOAT_LABEL.match(lines[run[0]].text) or (
        len(run) > 1 and sum(has_holes(lines[index], widest=hole) for index in run) * 2 > len(run)
    ):
        return False
    if (
        _ADDRESS.search(text)
        or _CODE.fullmatch(text)
        or (len(text.split()) <= _SHORT_NAME and _is_masthead(lines, run))
    ):
        return False
    letters = [character for character in text if character.isalpha()]
    wide = sum(ord(character) > 0x2E80 for character in letters)
    spaced = sum(len(word) == 1 for word in text.split()) > len(text.split()) / 2 and not wide
    return (len(letters) >= _FEWEST_LETTERS or wide >= _FEWEST_CJK) and not spaced


def _is_masthead(lines: Sequence[Line], run: range) -> bool:
    """Return whether a short text is next to words about a periodical, and so names it."""
    around = [*lines[max(0, run.start - _NEAR) : run.start], *lines[run.stop : run.stop + _NEAR]]
    return any(_PERIODICAL.search(line.text) for line in around)


def text_of(block: PdfBlock, words: Words) -> str:
    """Render a block as Markdown, except tables."""
    text = block.text or words.join([line.text for line in block.lines])
    if block.kind == HEADING:
        return f"{'#' * min(block.level + 1, _DEEPEST)} {text}"
    if block.kind == CAPTION:
        return f"> {_LABEL.sub(lambda match: f'**{match.group(1)}.** ', text, count=1)}"
    if block.kind == PICTURE:
        return f"> In the picture: {text}"
    if block.kind == EQUATION:
        return _render_equation(block)
    if block.kind == ALGORITHM:
        return _render_algorithm(block)
    if block.kind == CODE and len(block.lines) > 1:
        return "\n".join(["```", *_indent_lines(block.lines), "```"])
    if block.kind == FOOTNOTE:
        return _FOOTNOTE.sub(lambda match: f"[^{match.group(1)}]: ", text, count=1)
    if block.kind in (ITEM, CONTENTS):
        return _render_item(text)
    return text if block.kind == REFERENCE else escape_prose(text)


def escape_prose(text: str) -> str:
    """Escape prose that would read as structure."""
    return _STRUCTURE.sub(r"\\", text).replace("<!--", r"\<!--")


def _render_equation(block: PdfBlock) -> str:
    pieces, number = [], ""
    for text in [block.text] if block.text else [line.text for line in block.lines]:
        tag = _TAG.search(text)
        number = tag.group(1) if tag else number
        pieces.append(text[: tag.start()] if tag else text)
    content = " ".join(" ".join(pieces).replace("$", " ").split())
    return f"$$ {content} \\tag{{{number}}} $$" if number else f"$$ {content} $$"


def _render_algorithm(block: PdfBlock) -> str:
    caption = re.sub(r"^(\S+\s*[0-9]+(?:\.[0-9]+)*)\s*[:.]?\s*", r"\1: ", block.lines[0].text)
    return "\n".join(["```algorithm", caption, *_indent_lines(block.lines[1:]), "```"])


def _indent_lines(lines: Sequence[Line]) -> list[str]:
    """Render lines with the indentation they have on the page, after their numbers, if any."""
    steps = [split_number(line) for line in lines]
    numbered = sum(bool(number) for number, _, _ in steps) * 2 > len(lines)
    if not numbered:
        steps = [("", line.box.x0, line.text) for line in lines]
    widest = max((len(number) for number, _, _ in steps), default=0)
    result = [None if at is None else at - edge for (_, at, _), edge in zip(steps, _edges_of(lines), strict=True)]
    # inputs and outputs may be unnumbered, and as far left as the numbers
    left = min(
        (at for (number, _, _), at in zip(steps, result, strict=True) if at is not None and (number or not numbered)),
        default=0.0,
    )
    # a formula that the engine returns together with its number is as far left as any step
    places = [left if at is None else at for at in result]
    letters = [
        (line.box.x1 - at) / len(text)
        for line, (_, at, text) in zip(lines, steps, strict=True)
        if text and at is not None and is_set_in_typewriter(line)
    ]
    # two monospaced letters are two blanks, else the usual step
    step = 2 * median(letters) if len(letters) * 2 > len(lines) else _step_of(lines, places)
    return [
        f"{number.ljust(widest + 1) if numbered else ''}"
        f"{'  ' * min(round(max(place - left, 0) / step - _LEANING), _DEEPEST_STEP)}{text}".replace(
            "```", "'''"
        ).rstrip()
        for (number, _, text), place in zip(steps, places, strict=True)
    ]


def _edges_of(lines: Sequence[Line]) -> Iterator[float]:
    edge, before = 0.0, None
    for line in lines:
        if before is None or line.page != before.page or line.box.y0 < before.box.y0 - line.size:
            edge = line.column.x0
        yield edge
        before = line


def _step_of(lines: Sequence[Line], places: Sequence[float]) -> float:
    deeper = [
        after - before
        for (before, after), line in zip(itertools.pairwise(places), lines, strict=False)
        if _LEAST_STEP * line.size < after - before < _MOST_STEP * line.size
    ]
    if not deeper:
        return _STEP
    [(usual, _)] = Counter(map(round, deeper)).most_common(1)
    return median(step for step in deeper if round(step) == usual)


def _render_item(text: str) -> str:
    if _ORDERED.match(text):
        return _ORDERED.sub(r"\1. ", text, count=1)
    return f"- {_MARKER.sub('', text, count=1)}"
