"""Read PDFs with docling (the extra `docling`), if it and its models are installed. Nothing is downloaded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from phases.readers.kinds import DOCLING_MODELS, why_no_reader
from phases.readers.markdown import PAGE_MARK
from phases.readers.pdf.characters import mend_letters
from phases.readers.pdf.crosscheck import fold
from phases.readers.pdf.reader import read_pdf
from phases.readers.pdf.scan import Scan, open_pdf
from phases.readers.reading import BROKEN, NO_READER, OK, PARTIAL, READABLE, InputFile, LeftOut, Reading, Unreadable

LOST = "lost"
_MOST_LOST = 0.1
_MOST_ROWS = 5000
_ALIKE = 0.9
"""Share of a line's letters that must occur in words of the page: a reader may reorder the cells of a row of figures."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_NUMBER = re.compile(r"(?:[0-9]{1,2}|[A-Z])((?:\.[0-9]{1,2}){0,4})\.? ")
_SHORTEST_HIDDEN = 4
PageReader = Callable[[str, str | None], Sequence[str]]
"""Another reader of PDFs: (path, password) -> the Markdown of each page. Raises Unreadable."""
_PLACES = re.compile(r"[^\W_]+")


def read_docling_input(source: InputFile) -> Reading:
    """Read a PDF with docling (PDF_READERS)."""
    if why := why_no_reader("docling"):
        raise Unreadable(NO_READER, why)
    return read_held(_read_pages, f"docling {version('docling')}", source)


def _read_pages(path: str, password: str | None) -> Sequence[str]:
    converter = _open_converter(password)
    from docling.exceptions import ConversionError  # see below

    try:
        document = converter.convert(path).document
    except (ConversionError, RuntimeError, OSError) as error:
        raise Unreadable(BROKEN, f"docling: {' '.join(str(error).split())[:200]}") from error
    numbers = range(1, max(document.pages, default=0) + 1)
    return [document.export_to_markdown(page_no=number, escape_underscores=False) for number in numbers]


def _open_converter(password: str | None) -> Any:
    # imported here: it takes seconds, and few users have it
    from docling.datamodel.backend_options import PdfBackendOptions
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.pipeline_options import PdfPipelineOptions
    from docling.datamodel.settings import settings
    from docling.document_converter import DocumentConverter, PdfFormatOption

    # without a local directory it would download models while it holds a hostile file
    models = settings.artifacts_path or os.path.join(settings.cache_dir, "models")
    if not os.path.isdir(models):
        raise Unreadable(NO_READER, f"docling's models are not in {models}; fetch them with: {DOCLING_MODELS}")
    options = PdfPipelineOptions(artifacts_path=models, do_ocr=False, enable_remote_services=False)
    backend = PdfBackendOptions(password=password) if password else PdfBackendOptions()
    return DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options, backend_options=backend)},
    )


def read_held(read_pages: PageReader, name: str, source: InputFile) -> Reading:
    """Read a PDF with another reader called `name`, and report lost text. Raises Unreadable."""
    own = read_pdf(source.path, source.password)
    if own.verdict not in READABLE:
        return own
    given = list(read_pages(source.path, source.password))
    with open_pdf(source.path, source.password) as scan:
        pages = [*given, *[""] * (scan.count - len(given))][: scan.count]
        pages = [_without_hidden(page, number, own) for number, page in enumerate(pages, 1)]
        rows, lost, letters = _find_losses(scan, pages, own)
    detail = own.detail
    if lost > _MOST_LOST * letters:
        share = 100 * lost // max(letters, 1)
        detail = "; ".join(filter(None, (detail, f"{name} gave {100 - share} % of the letters on the pages")))
    return replace(
        own,
        verdict=PARTIAL if detail else OK,
        reader=name,
        pages=tuple(_in_dialect(page, own.title) for page in pages),
        detail=detail,
        left_out=(*own.left_out, *rows)[:_MOST_ROWS],
    )


def _without_hidden(page: str, number: int, own: Reading) -> str:
    """Remove the reader's comments, and lines of words that are invisible on the page."""
    text = _COMMENT.sub("", PAGE_MARK.sub("", page))
    for row in own.hidden:
        words = _PLACES.findall(row.text)
        if row.page == number and len(fold(row.text)) >= _SHORTEST_HIDDEN:
            text = re.sub(r"[\W_]+".join(map(re.escape, words)), "", text, flags=re.IGNORECASE)
    return text


def _find_losses(scan: Scan, pages: Sequence[str], own: Reading) -> tuple[list[LeftOut], int, int]:
    """Return the lines that a reader did not return, the count of their letters and digits, and that of all lines."""
    rows, lost, count = [], 0, 0
    known = {(row.page, fold(row.text)) for row in own.left_out}
    for number in range(1, scan.count + 1):
        # a paragraph across a page break may be returned with either page
        near = " ".join(pages[max(0, number - 2) : number + 1])
        body, words = fold(near), {fold(word) for word in near.split()}
        aside = "".join(text for page, text in known if page == number)
        for text in _lines_of(scan, number):
            letters = fold(text)
            if letters in aside:
                continue
            count += len(letters)
            if not _is_given(text, letters, body, words):
                lost += len(letters)
                rows.append(LeftOut(" ".join(text.split()), number, LOST))
    return rows, lost, count


def _lines_of(scan: Scan, number: int) -> Iterator[str]:
    with scan.page(number) as looked:
        text = looked.text()
        for line in text.lines() if text else ():
            seen = [one for one in text.characters(line) if not looked.hides(one.box)] if text else []
            shown = "".join(f" {one.text}" if one.blank else one.text for one in seen)
            if fold(shown):
                yield mend_letters(shown)


def _is_given(text: str, letters: str, body: str, words: Container[str]) -> bool:
    """Return whether a page has the letters of a line; a line with numbers may be in any order, but with each number."""
    if letters in body:
        return True
    said = [word for word in map(fold, text.split()) if word]
    figures = [word for word in said if any(map(str.isdigit, word))]
    found = sum(len(word) for word in said if word in words)
    return bool(figures) and all(word in words for word in figures) and found >= _ALIKE * len(letters)


def _in_dialect(page: str, title: str | None) -> str:
    """Number heading levels, and keep the title once, as in paper.md (docs/architecture.md)."""

    def mark(found: re.Match[str]) -> str:
        words = found[1].strip("* ")
        if title and fold(words) == fold(title):
            return f"# {words}"
        number = _NUMBER.match(words)
        return f"{'#' * min(6, 2 + (number[1].count('.') if number else 0))} {words}"

    return _HEADING.sub(mark, page).strip()
