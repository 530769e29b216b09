"""The calls of PDFium that the reader needs, with plain values in and out. One thread at a time."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as raw

from phases.paper.reading import BROKEN, Unreadable

PdfiumError = pypdfium2.PdfiumError
TEXT, PATH, IMAGE, FORM = raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM
_NEVER_SHOWN = (raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP)
_DEEPEST_FORM = 4
_MOST_OBJECTS = 200_000
_BOUNDS = tuple(ctypes.c_float() for _ in range(4))
_COLOUR = tuple(ctypes.c_uint() for _ in range(4))


def open_document(path: str, password: str | None) -> Any:
    """The document in a file. Raises Unreadable."""
    try:
        return pypdfium2.PdfDocument(path, password=password)
    except PdfiumError as error:
        raise Unreadable(BROKEN, " ".join(str(error).split())) from error


def objects_of(page: Any) -> Iterator[tuple[int, Any, int]]:
    """Kind, object and depth of all that is on a page, forms looked into, in the order of drawing."""
    todo = [(raw.FPDFPage_GetObject(page, index), 0) for index in _downwards(raw.FPDFPage_CountObjects(page))]
    for _ in range(_MOST_OBJECTS):
        if not todo:
            return
        item, depth = todo.pop()
        kind = raw.FPDFPageObj_GetType(item)
        yield kind, item, depth
        if kind == FORM and depth < _DEEPEST_FORM:
            inside = _downwards(raw.FPDFFormObj_CountObjects(item))
            todo += [(raw.FPDFFormObj_GetObject(item, index), depth + 1) for index in inside]


def _downwards(count: int) -> range:
    return range(min(count, _MOST_OBJECTS) - 1, -1, -1)


def bounds_of(item: Any) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of an object, in points from the page's bottom left."""
    left, bottom, right, top = _BOUNDS
    raw.FPDFPageObj_GetBounds(item, left, bottom, right, top)
    return left.value, bottom.value, right.value, top.value


def fill_of(item: Any) -> tuple[int, int, int, int] | None:
    """Red, green, blue and alpha of what an object is filled with."""
    if not raw.FPDFPageObj_GetFillColor(item, *_COLOUR):
        return None
    red, green, blue, alpha = (part.value for part in _COLOUR)
    return red, green, blue, alpha


def is_never_shown(text: Any) -> bool:
    """Whether a text object is drawn without ink."""
    return raw.FPDFTextObj_GetTextRenderMode(text) in _NEVER_SHOWN


def size_of(text: Any) -> float | None:
    """The size in which a text object is set, in points."""
    size, matrix = ctypes.c_float(), raw.FS_MATRIX()
    if not (raw.FPDFTextObj_GetFontSize(text, size) and raw.FPDFPageObj_GetMatrix(text, matrix)):
        return None
    return float(size.value * max(abs(matrix.d), abs(matrix.b)))


def words_of(text: Any, text_page: Any) -> str:
    """The words of a text object; `text_page` is its page's `get_textpage()`."""
    length = raw.FPDFTextObj_GetText(text, text_page, None, 0)
    letters = (ctypes.c_ushort * max(length // 2, 1))()
    raw.FPDFTextObj_GetText(text, text_page, letters, length)
    return " ".join(bytes(letters).decode("utf-16-le", "ignore").replace("\x00", " ").split())


def font_of(text: Any) -> str | None:
    """The name of the font of a text object."""
    font = raw.FPDFTextObj_GetFont(text)
    length = raw.FPDFFont_GetBaseFontName(font, None, 0) if font else 0
    if not length:
        return None
    name = ctypes.create_string_buffer(length)
    raw.FPDFFont_GetBaseFontName(font, name, length)
    return name.value.decode("utf-8", "replace")


def letter_size(text_page: Any, place: int | None) -> float:
    """The size of the letter at a place of a page's text; 0 where there is none."""
    return float(raw.FPDFText_GetFontSize(text_page, place)) if place is not None and place >= 0 else 0.0


def height_of_target(target: Any) -> float | None:
    """How far above the page's bottom a bookmark points, if it says so."""
    mode, place = target.get_view()
    return float(place[1]) if mode == raw.PDFDEST_VIEW_XYZ and len(place) > 1 and place[1] else None
