"""Reads a PDF: from the engine's pieces of text to a paper, page by page, in the dialect of paper.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

from phases.readers.pdf.blocks import Marks, blocks_of, in_flow, starts_float
from phases.readers.pdf.engine import read_document, read_plainly
from phases.readers.pdf.equations import with_equations
from phases.readers.pdf.furniture import contents_of, without_furniture
from phases.readers.pdf.headings import body_of, headings_of
from phases.readers.pdf.lines import Line, lines_of_pages
from phases.readers.pdf.listings import find_listings
from phases.readers.pdf.markdown import text_of
from phases.readers.pdf.page import Bookmark, Document, PdfEngine
from phases.readers.pdf.ruled_tables import with_ruled_tables
from phases.readers.pdf.tables import table_text, tables_of
from phases.readers.pdf.titles import title_of
from phases.readers.pdf.words import Words
from phases.readers.reading import NO_TEXT, READABLE, InputFile, LeftOut, Reading

VERSION = 3
_MOST_LEFT_OUT = 5000


def read_pdf(path: str, password: str | None = None, engine: PdfEngine = read_document) -> Reading:
    """The reading of a PDF file. Raises Unreadable where there is no document in it."""
    document = engine(path, password)
    reader = f"pdf {VERSION}, {document.engine}"
    if document.verdict not in READABLE:
        return Reading(document.verdict, reader)
    title, pages, left_out = _build_pages(document)
    if not any(character.isalnum() for page in pages for character in page):
        return Reading(NO_TEXT, reader)
    return Reading(
        document.verdict,
        reader,
        tuple(pages),
        title,
        document.authors,
        document.links,
        document.hidden,
        document.missing,
        tuple(left_out[:_MOST_LEFT_OUT]),
    )


def read_pdf_input(source: InputFile) -> Reading:
    """The reading of a PDF (InputKind.reader)."""
    return read_pdf(source.path, source.password)


def read_pdf_plainly(source: InputFile) -> Reading:
    """The reading of a PDF that the usual engine crashes on (InputKind.fallback)."""
    return read_pdf(source.path, source.password, read_plainly)


def _build_pages(document: Document) -> tuple[str | None, list[str], list[LeftOut]]:
    """The title, the text of each page, and what of the pages is in no text."""
    pages, left_out = without_furniture(document.pages)
    pages = [with_ruled_tables(page) for page in pages]
    lines = list(chain.from_iterable(lines_of_pages(pages)))
    words = Words(line.text for line in lines)
    title, place = title_of(lines, document.title, words)
    lines = [line for index, line in enumerate(lines) if index not in place]
    marks = _find_marks(lines, document.bookmarks, words)
    found: dict[int, list[str]] = defaultdict(list)
    if title:
        found[1].append(f"# {title}")
    blocks = with_equations(blocks_of(lines, marks, words), {page.number: page for page in pages})
    for block in in_flow(blocks, marks.body):
        found[block.page].append(table_text(block.table) if block.table else text_of(block, words))
    for page in pages:
        if page.aside:
            found[page.number].append(f"> In another direction: {page.aside}")
    return title, ["\n\n".join(text for text in found[page.number] if text) for page in pages], left_out


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
