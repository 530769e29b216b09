"""Read the pages of a PDF with the default engine: text, mathematics and tables from liteparse, the rest from pypdfium2."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from phases.readers.pdf.characters import (
    is_accent,
    is_bold,
    is_language,
    is_right_to_left,
    mend_letters,
    with_accent,
    with_signs,
)
from phases.readers.pdf.crosscheck import items_of_lines, split_run_in, with_dropped, with_subscripts, with_symbols
from phases.readers.pdf.formulas import with_braces
from phases.readers.pdf.page import Bookmark, BoundingBox, Document, Item, Page
from phases.readers.pdf.scan import Scan, open_pdf
from phases.readers.reading import BROKEN, ENCRYPTED, GARBLED, NO_TEXT, OK, PARTIAL, Link, Unreadable

MOST_PAGES = 2000
_LONGEST_LINK = 200
_MARGIN = 0.08
_SMALLEST_SIZE = 2.0
"""Font sizes below this are scaled elsewhere."""
_COUNTED = re.compile(r"[0-9A-Z][0-9.]*\s+\S.{0,100}$")
_CELL_GAP = 1.0
"""White that separates two cells, as a share of the letter height."""
_MOST_WORDS = 200
_MOST_SILENT = 0.1
"""Share of pages without text from which on they are reported: a figure may fill a page."""
_MOST_NUMBERS = 20
_SIZE_OF_HEIGHT = 0.75
"""Font size as a share of letter height, for fonts whose stated size is 1 or far above that height: they are scaled elsewhere."""
_LARGEST_OF_HEIGHT = 2.0


def read_document(path: str, password: str | None) -> Document:
    """Read a PDF file with both engines (PdfEngine)."""
    # decision 30: text pieces with position and font, because liteparse's own Markdown gets headings and references wrong
    name = f"liteparse {version('liteparse')}, pypdfium2 {version('pypdfium2')}"
    parsed = _parse_document(path, password)
    if parsed.total_pages > MOST_PAGES:
        raise Unreadable(
            BROKEN, f"it has {parsed.total_pages} pages, more than the {MOST_PAGES} that are read; cut it first"
        )
    verdict = _verdict_on(parsed.pages)
    if verdict != OK:
        return Document(verdict, name)
    with open_pdf(path, password) as scan:
        pages = {page.page_num: _build_page(page, scan) for page in parsed.pages}
        # pypdfium2 finds white words, object by object
        pale = sorted({row.page for row in scan.hidden if row.how == "white"})
        if pale:
            # decision 32: only if asked for colours does the engine separate white words from black ones in the same line
            coloured = _parse_document(path, password, pages=",".join(map(str, pale)))
            pages.update({page.page_num: _build_page(page, scan) for page in coloured.pages})
        links = one_each(link for page in parsed.pages for link in _links_of(page))
        marks = tuple(Bookmark(*entry) for entry in scan.bookmarks())
        title, authors = scan.title_and_authors()
        missing = _tell_missing(tuple(pages.values()), scan)
        verdict = PARTIAL if missing else OK
        return Document(verdict, name, tuple(pages.values()), marks, title, authors, links, tuple(scan.hidden), missing)


def _tell_missing(pages: Sequence[Page], scan: Scan) -> str:
    """Describe the pages without text, if there are more than a figure or two; else return ""."""
    found = {page.number for page in pages if page.items}
    silent = sorted((scan.unopened | scan.pictured) - found)
    if not (scan.unopened - found) and len(silent) <= _MOST_SILENT * scan.count:
        return ""
    numbers = ", ".join(map(str, silent[:_MOST_NUMBERS])) + (", …" if len(silent) > _MOST_NUMBERS else "")
    return f"{len(silent)} of {scan.count} pages give no text, they are damaged or pictures: {numbers}"


def _parse_document(path: str, password: str | None, *, pages: str | None = None) -> Any:
    """Parse all pages with liteparse, or the given ones including the colours of words."""
    import liteparse  # imported here: the plain engine must work even if this one crashes

    # ocr_enabled=False: by default a scanned page triggers the download of a language model
    engine = liteparse.LiteParse(
        ocr_enabled=False,
        output_format="text",
        quiet=True,
        include_complexity=True,
        emit_word_boxes=True,
        extract_annotations=True,
        extract_text_metadata=pages is not None,
        target_pages=pages,
        max_pages=MOST_PAGES,
        num_workers=1,
        password=password,
    )
    try:
        return engine.parse(path)
    except liteparse.ParseError as error:
        detail = " ".join(str(error).split())[:200]
        raise Unreadable(ENCRYPTED if "password" in detail.lower() else BROKEN, detail) from error


def _verdict_on(pages: list[Any]) -> str:
    """Return the verdict on most pages: no text for scans, garbled for text without any common word of a language."""
    reasons = [set(page.complexity.reasons if page.complexity else ()) for page in pages]
    garbled = 2 * sum("garbled" in found for found in reasons) > len(pages)
    blank = 2 * sum(bool(found & {"no-text", "scanned"}) for found in reasons) > len(pages)
    text = " ".join(page.text or "" for page in pages)
    # the engine judges by fonts and pictures, so the words decide
    if (garbled or blank) and is_language(text):
        # fonts that draw letters as pictures look garbled to the engine; common words prove that they are not
        return OK
    if garbled:
        return GARBLED
    return NO_TEXT if blank or not any(map(str.isalnum, text)) else OK


def _build_page(page: Any, scan: Scan) -> Page:
    pieces = [piece for piece in page.text_items if piece.text.strip()]
    sideways = sum(piece.rotation % 180 != 0 for piece in pieces)
    turned = sideways * 2 > len(pieces)
    # arXiv's stamp along the margin is rotated; so is a table on a page of its own, which is kept
    result = [piece for piece in pieces if (piece.rotation % 180 != 0) == turned]
    items = [item for piece in result for item in items_of(piece, page, turned)]
    with scan.page(page.page_num) as looked:
        items = [with_end_style(item, looked.font_at) for item in items if not looked.hides(item.box)]
        text = looked.text()
        if not turned and text:
            known = " ".join(piece.text for piece in pieces)
            if text.doubtful_letters:
                items = with_signs(items, text.doubtful_letters)
                known = " ".join(item.text for item in items)
            for instead, box in looked.replaced:
                # the engine returns the words of the file, while the page shows others
                items = [item for item in items if not box.holds(item.box) and item.text not in instead]
                known = known.replace(instead, " ")
            if is_right_to_left(known):
                items = items_of_lines(text, looked.unseen)
            else:
                items = with_subscripts(with_dropped(items, text, known, looked.unseen), text)
                items = split_run_in(with_symbols(items, text), text)
        rulings = () if turned else tuple(looked.rulings)
        glyphs = tuple(with_braces(text.formula_lines())) if not turned and text else ()
    size = (page.height, page.width) if turned else (page.width, page.height)
    return Page(page.page_num, *size, tuple(items), *_texts_aside(page, pieces, turned), rulings, glyphs)


def _texts_aside(page: Any, pieces: list[Any], turned: bool) -> tuple[str, str]:
    others = sorted(
        (piece for piece in pieces if (piece.rotation % 180 != 0) != turned), key=lambda piece: (piece.x, -piece.y)
    )
    texts: dict[bool, list[str]] = {True: [], False: []}
    for piece in others:
        texts[_MARGIN * page.width < piece.x < (1 - _MARGIN) * page.width].append(mend_letters(piece.text))
    return " ".join(texts[True]), " ".join(texts[False])


def one_each(links: Iterable[Link]) -> tuple[Link, ...]:
    """Return each address once; a link across lines is joined."""
    result: dict[str, Link] = {}
    for link in links:
        first = result.setdefault(link.url, link)
        if link is not first and link.page == first.page and link.text not in first.text:
            result[link.url] = Link(link.url, first.page, f"{first.text} {link.text}".strip()[:_LONGEST_LINK])
    return tuple(result.values())


def _links_of(page: Any) -> list[Link]:
    result = []
    for annotation in page.annotations or ():
        if annotation.uri and annotation.uri.startswith(("http://", "https://")) and annotation.rect:
            box = _box_of(annotation.rect)
            words = [piece.text for piece in page.text_items if box.holds(_box_of(piece))]
            result.append(Link(annotation.uri, page.page_num, " ".join(" ".join(words).split())[:_LONGEST_LINK]))
    return result


def _box_of(piece: Any) -> BoundingBox:
    return BoundingBox(piece.x, piece.y, piece.x + piece.width, piece.y + piece.height)


def read_plainly(path: str, password: str | None) -> Document:
    """Read a PDF file with pypdfium2 alone (PdfEngine)."""
    name = f"pypdfium2 {version('pypdfium2')}"
    with open_pdf(path, password) as scan:
        pages = tuple(_build_plain_page(scan, number) for number in range(1, min(scan.count, MOST_PAGES) + 1))
        title, authors = scan.title_and_authors()
    verdict = OK if any(page.items for page in pages) else NO_TEXT
    return Document(verdict, name, pages, (), title, authors, (), tuple(scan.hidden))


def _build_plain_page(scan: Scan, number: int) -> Page:
    with scan.page(number) as looked:
        items = []
        for piece in looked.pieces():
            words = mend_letters(piece.text)
            if words and not looked.hides(piece.box):
                font = looked.font_at(piece.box) or ""
                size = round(piece.size if piece.size >= _SMALLEST_SIZE else piece.box.height, 1)
                items.append(Item(words, piece.box, size, font.rpartition("+")[2], is_bold(font), is_bold(font)))
        return Page(number, looked.width, looked.height, tuple(items))


def items_of(piece: Any, page: Any, turned: bool) -> list[Item]:
    """Return the items of a liteparse text piece; `turned` means that the page is read sideways."""
    box = _box_of(piece)
    if turned and piece.rotation % 360 == 270:
        box = BoundingBox(page.height - box.y1, box.x0, page.height - box.y0, box.x1)
    elif turned:
        box = BoundingBox(box.y0, page.width - box.x1, box.y1, page.width - box.x0)
    size = piece.font_size or 0.0
    scaled = size < _SMALLEST_SIZE or size > _LARGEST_OF_HEIGHT * max(box.height, _SMALLEST_SIZE)
    size = round(box.height * _SIZE_OF_HEIGHT if scaled else size, 1)
    font = piece.font_name or ""
    bold = is_bold(font)
    words = [] if turned or len(piece.words or ()) > _MOST_WORDS else list(piece.words or ())
    item = Item(mend_letters(_with_accents(piece.text, words)), box, size, font.rpartition("+")[2], bold, bold)
    return _split_cells(item, piece.text, words)


def with_end_style(item: Item, font_at: Callable[[BoundingBox], str | None]) -> Item:
    """Return the item with the style of its last letters: not bold to the end, or the font of the words after a number."""
    if not item.bold and not _COUNTED.match(item.text):
        return item
    last = font_at(item.box)
    if last is None or (item.bold and is_bold(last)):
        return item
    return replace(item, bold_end=False) if item.bold else replace(item, font=last.rpartition("+")[2])


def _with_accents(text: str, words: list[Any]) -> str:
    """Return the text of a piece, with accents that the engine found after all words put on their letters."""
    loose = [word for word in words if is_accent(word.text)]
    result = [word for word in words if not is_accent(word.text)]
    if not loose or text != " ".join(word.text for word in result) + "".join(word.text for word in loose):
        return text
    texts = [word.text for word in result]
    for accent in loose:
        middle = accent.x + accent.width / 2
        for index, word in enumerate(result):
            if word.x - 1 <= middle <= word.x + word.width + 1 and word.width:
                texts[index] = with_accent(texts[index], (middle - word.x) / word.width, accent.text)
    return " ".join(texts)


def _split_cells(item: Item, text: str, words: list[Any]) -> list[Item]:
    """Return an item for each cell, where the engine merged cells of a table into one piece."""
    gaps = [right.x - left.x - left.width for left, right in itertools.pairwise(words)]
    if not words or "".join(word.text for word in words) != text.replace(" ", ""):
        return [item]
    parts: list[list[Any]] = [[words[0]]]
    for gap, word in zip(gaps, words[1:], strict=True):
        if gap >= _CELL_GAP * item.size:
            parts.append([])
        parts[-1].append(word)
    return [
        replace(
            item,
            text=mend_letters(" ".join(word.text for word in part)) if len(parts) > 1 else item.text,
            box=BoundingBox(part[0].x, item.box.y0, part[-1].x + part[-1].width, item.box.y1)
            if len(parts) > 1
            else item.box,
            words=tuple((mend_letters(word.text), word.x, word.x + word.width) for word in part),
        )
        for part in parts
    ]
