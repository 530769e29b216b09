"""The engine that reads PDFs by default: liteparse for text, mathematics and tables, pypdfium2 for what it leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from phases.readers.pdf.letters import is_language, mend_letters
from phases.readers.pdf.page import Bookmark, BoundingBox, Document, Item, Page
from phases.readers.pdf.pieces import is_bold, items_of, with_end_style
from phases.readers.pdf.scan import Scan, open_pdf
from phases.readers.reading import BROKEN, ENCRYPTED, GARBLED, NO_TEXT, OK, Link, Unreadable

MOST_PAGES = 2000
_LONGEST_LINK = 200
_MARGIN = 0.08
_SMALLEST = 2.0


def read_document(path: str, password: str | None) -> Document:
    """The document in a PDF file (PdfEngine)."""
    # decision 30: pieces of text with place and font, not liteparse's own Markdown, which gets headings and references wrong
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
        pale = sorted({row.page for row in scan.hidden if row.how == "white"})
        if pale:
            # decision 32: only asked for its colours does the engine part white words from black ones in the same line.
            coloured = _parse_document(path, password, pages=",".join(map(str, pale)))
            pages.update({page.page_num: _build_page(page, scan) for page in coloured.pages})
        links = one_each(link for page in parsed.pages for link in _links_of(page))
        marks = tuple(Bookmark(*entry) for entry in scan.bookmarks())
        title, authors = scan.title_and_authors()
        return Document(verdict, name, tuple(pages.values()), marks, title, authors, links, tuple(scan.hidden))


def _parse_document(path: str, password: str | None, *, pages: str | None = None) -> Any:
    """What liteparse makes of all pages; of a few of them, with the colours of their words."""
    import liteparse  # late: the plain engine goes without it

    # ocr_enabled=False: with the default, a scanned page makes it download a language model.
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


def draw_page(path: str, password: str | None, number: int, dots_per_inch: int) -> bytes | None:
    """A page as PNG, or None where there is no such page."""
    import liteparse  # late, as above

    engine = liteparse.LiteParse(ocr_enabled=False, quiet=True, dpi=dots_per_inch, password=password)
    pictures = engine.screenshot(path, page_numbers=[number])
    return bytes(pictures[0].image_bytes) if pictures else None


def _verdict_on(pages: list[Any]) -> str:
    """Most pages decide. A scan has no text; a garbled text layer has the wrong letters, and no common word of any language."""
    reasons = [set(page.complexity.reasons if page.complexity else ()) for page in pages]
    garbled = 2 * sum("garbled" in found for found in reasons) > len(pages)
    blank = 2 * sum(bool(found & {"no-text", "scanned"}) for found in reasons) > len(pages)
    text = " ".join(page.text or "" for page in pages)
    if (garbled or blank) and is_language(text):
        return OK  # letters drawn as pictures look suspicious, and read well
    if garbled:
        return GARBLED
    return NO_TEXT if blank or not any(map(str.isalnum, text)) else OK


def _build_page(page: Any, scan: Scan) -> Page:
    pieces = [piece for piece in page.text_items if piece.text.strip()]
    sideways = sum(piece.rotation % 180 != 0 for piece in pieces)
    turned = sideways * 2 > len(pieces)
    # The stamp that arXiv prints along the margin is turned; so is a table on a page of its own, and that is kept.
    kept = [piece for piece in pieces if (piece.rotation % 180 != 0) == turned]
    items = [item for piece in kept for item in items_of(piece, page, turned)]
    with scan.page(page.page_num) as looked:
        items = [with_end_style(item, looked.font_at) for item in items if not looked.hides(item.box)]
    size = (page.height, page.width) if turned else (page.width, page.height)
    return Page(page.page_num, *size, tuple(items), _text_aside(page, pieces, turned))


def _text_aside(page: Any, pieces: list[Any], turned: bool) -> str:
    """The words that stand in the other direction, but for the stamp along the margin."""
    others = [piece for piece in pieces if (piece.rotation % 180 != 0) != turned]
    inner = [piece for piece in others if _MARGIN * page.width < piece.x < (1 - _MARGIN) * page.width]
    return " ".join(mend_letters(piece.text) for piece in sorted(inner, key=lambda piece: (piece.x, -piece.y)))


def one_each(links: Iterable[Link]) -> tuple[Link, ...]:
    """Each address once: a link that is broken over lines is one, and a repeated one is left out."""
    found: dict[str, Link] = {}
    for link in links:
        first = found.setdefault(link.url, link)
        if link is not first and link.page == first.page and link.text not in first.text:
            found[link.url] = Link(link.url, first.page, f"{first.text} {link.text}".strip()[:_LONGEST_LINK])
    return tuple(found.values())


def _links_of(page: Any) -> list[Link]:
    found = []
    for annotation in page.annotations or ():
        if annotation.uri and annotation.uri.startswith(("http://", "https://")) and annotation.rect:
            rect = annotation.rect
            box = BoundingBox(rect.x, rect.y, rect.x + rect.width, rect.y + rect.height)
            words = [piece.text for piece in page.text_items if box.holds(_middle_of(piece))]
            found.append(Link(annotation.uri, page.page_num, " ".join(" ".join(words).split())[:_LONGEST_LINK]))
    return found


def _middle_of(piece: Any) -> BoundingBox:
    return BoundingBox(piece.x, piece.y, piece.x + piece.width, piece.y + piece.height)


def read_plainly(path: str, password: str | None) -> Document:
    """The document in a PDF file (PdfEngine)."""
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
                size = round(piece.size if piece.size >= _SMALLEST else piece.box.height, 1)
                items.append(Item(words, piece.box, size, font.rpartition("+")[2], is_bold(font), is_bold(font)))
        return Page(number, looked.width, looked.height, tuple(items))
