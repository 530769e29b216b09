"""Wrap the PDFium calls that the reader needs, with plain values in and out. One thread at a time."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pypdfium2
import pypdfium2.raw as raw

from phases.readers.reading import BROKEN, Unreadable

PdfiumError = pypdfium2.PdfiumError
Matrix = tuple[float, float, float, float, float, float]
TEXT, PATH, IMAGE, FORM = raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM
_NEVER_SHOWN = (raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP)
_DEEPEST_FORM = 4
_UPRIGHT = 0.1
_MOST_MARKS = 8
_RECTANGLE, _SOLID, _INK = 6, 255, 24
_FEWEST_PIXELS, _MOST_PIXELS = 4, 4_000_000
_MOST_OBJECTS = 200_000
_FINE = 20
_HYPHEN_CODE, _PARTED = 2, "\ufffe"
# one set for all calls: a page may have a hundred thousand objects, and one thread uses PDFium
_BOUNDS = tuple(ctypes.c_float() for _ in range(4))
_WIDE, _LENGTH = (ctypes.c_ushort * 600)(), ctypes.c_ulong()
_EDGES = tuple(ctypes.c_double() for _ in range(4))
_COLOUR = tuple(ctypes.c_uint() for _ in range(4))


def open_document(path: str, password: str | None) -> Any:
    """Open the document in a file. Raises Unreadable."""
    try:
        return pypdfium2.PdfDocument(path, password=password)
    except PdfiumError as error:
        raise Unreadable(BROKEN, " ".join(str(error).split())) from error


@contextmanager
def open_page(document: Any, number: int) -> Iterator[Any]:
    """Open a page, counted from 1, as a context; None if it cannot be opened."""
    try:
        page = document[number - 1] if number > 0 else None
    except (PdfiumError, IndexError):
        page = None
    try:
        yield page
    finally:
        if page is not None:
            page.close()


def objects_of(page: Any) -> Iterator[tuple[int, Any, Matrix | None]]:
    """Yield kind and object of everything on a page in drawing order, including the content of forms.

    An object inside a form comes with the matrix from the form's coordinates to the page's.
    """
    outermost = _downwards(raw.FPDFPage_CountObjects(page))
    todo: list[tuple[Any, int, Matrix | None]] = [(raw.FPDFPage_GetObject(page, index), 0, None) for index in outermost]
    for _ in range(_MOST_OBJECTS):
        if not todo:
            return
        item, depth, matrix = todo.pop()
        kind = raw.FPDFPageObj_GetType(item)
        yield kind, item, matrix
        if kind == FORM and depth < _DEEPEST_FORM:
            inner = _matrix_of(item, matrix)
            inside = _downwards(raw.FPDFFormObj_CountObjects(item))
            todo += [(raw.FPDFFormObj_GetObject(item, index), depth + 1, inner) for index in inside]


def _matrix_of(form: Any, outer: Matrix | None) -> Matrix | None:
    own = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(form, own):
        return outer
    if outer is None:
        return own.a, own.b, own.c, own.d, own.e, own.f
    a, b, c, d, e, f = outer
    return (
        own.a * a + own.b * c,
        own.a * b + own.b * d,
        own.c * a + own.d * c,
        own.c * b + own.d * d,
        own.e * a + own.f * c + e,
        own.e * b + own.f * d + f,
    )


def _downwards(count: int) -> range:
    return range(min(count, _MOST_OBJECTS) - 1, -1, -1)


def bounds_of(item: Any, matrix: Matrix | None) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top of an object, in points from the page's bottom left."""
    left, bottom, right, top = _BOUNDS
    raw.FPDFPageObj_GetBounds(item, left, bottom, right, top)
    if matrix is None:
        return left.value, bottom.value, right.value, top.value
    a, b, c, d, e, f = matrix
    corners = [(x, y) for x in (left.value, right.value) for y in (bottom.value, top.value)]
    across, up = [a * x + c * y + e for x, y in corners], [b * x + d * y + f for x, y in corners]
    return min(across), min(up), max(across), max(up)


def fill_of(item: Any) -> tuple[int, int, int, int] | None:
    """Return red, green, blue and alpha of an object's fill."""
    if not raw.FPDFPageObj_GetFillColor(item, *_COLOUR):
        return None
    red, green, blue, alpha = (part.value for part in _COLOUR)
    return red, green, blue, alpha


def is_never_shown(text: Any) -> bool:
    """Return whether a text object is drawn without ink."""
    return raw.FPDFTextObj_GetTextRenderMode(text) in _NEVER_SHOWN


def size_of(text: Any) -> float | None:
    """Return the font size of a text object in points."""
    size, matrix = ctypes.c_float(), raw.FS_MATRIX()
    if not (raw.FPDFTextObj_GetFontSize(text, size) and raw.FPDFPageObj_GetMatrix(text, matrix)):
        return None
    return float(size.value * max(abs(matrix.d), abs(matrix.b)))


def words_of(text: Any, text_page: Any) -> str:
    """Return the words of a text object; `text_page` is its page's `get_textpage()`."""
    length = raw.FPDFTextObj_GetText(text, text_page, None, 0)
    letters = (ctypes.c_ushort * max(length // 2, 1))()
    raw.FPDFTextObj_GetText(text, text_page, letters, length)
    return " ".join(bytes(letters).decode("utf-16-le", "ignore").replace("\x00", " ").split())


def font_of(text: Any) -> str | None:
    """Return the font name of a text object."""
    font = raw.FPDFTextObj_GetFont(text)
    length = raw.FPDFFont_GetBaseFontName(font, None, 0) if font else 0
    if not length:
        return None
    name = ctypes.create_string_buffer(length)
    raw.FPDFFont_GetBaseFontName(font, name, length)
    return name.value.decode("utf-8", "replace")


def letter_size(text_page: Any, place: int | None) -> float:
    """Return the size of the letter at an index of a page's text; 0 if there is none."""
    return float(raw.FPDFText_GetFontSize(text_page, place)) if place is not None and place >= 0 else 0.0


def height_of_target(target: Any) -> float | None:
    """Return the height above the page's bottom that a bookmark points to, if it has one."""
    mode, place = target.get_view()
    return float(place[1]) if mode == raw.PDFDEST_VIEW_XYZ and len(place) > 1 and place[1] else None


def text_of(text_page: Any, most: int) -> tuple[str, Sequence[int]]:
    """Return up to `most` characters of a page's text in PDFium's order, and the letter index of each."""
    count = min(raw.FPDFText_CountChars(text_page), most)
    text = str(text_page.get_text_range(0, count)) if count > 0 else ""
    if len(text) == count and not any(sign > "\uffff" for sign in text):
        return text, range(count)
    # letters beyond U+FFFF are two numbers or one, or missing, consistently in a text, depending on the font's map
    signs, numbers = [], []
    codes = [raw.FPDFText_GetUnicode(text_page, number) for number in range(max(count, 0))]
    for number, (code, after) in enumerate(itertools.zip_longest(codes, codes[1:], fillvalue=0)):
        paired = 0xD800 <= code < 0xDC00 and 0xDC00 <= after < 0xE000
        whole = 0x10000 + (code - 0xD800) * 0x400 + (after - 0xDC00) if paired else code
        if not 0xD800 <= whole < 0xE000:
            signs.append(_PARTED if whole == _HYPHEN_CODE else chr(whole))
            numbers.append(number)
    return "".join(signs), numbers


def box_of_letter(text_page: Any, index: int) -> tuple[float, float, float, float] | None:
    """Return left, right, bottom and top of a letter; None without ink."""
    left, right, bottom, top = _EDGES
    if index < 0 or not raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top):
        return None
    known = left.value, right.value, bottom.value, top.value
    return known if known[1] > known[0] or known[3] > known[2] else None


def object_of_letter(text_page: Any, index: int) -> tuple[int, Any]:
    """Return the text object of a letter, and its address."""
    found = raw.FPDFText_GetTextObject(text_page, index) if index >= 0 else None
    return (ctypes.addressof(found.contents), found) if found else (0, None)


def is_turned(text_page: Any, index: int) -> bool:
    """Return whether a letter is rotated."""
    angle = raw.FPDFText_GetCharAngle(text_page, index) if index >= 0 else 0.0
    return bool(_UPRIGHT < angle < math.tau - _UPRIGHT)


def marks_of(item: Any) -> list[tuple[str, str]]:
    """Return the names of an object's content marks, each with its replacement text, if any."""
    result = []
    for index in range(min(raw.FPDFPageObj_CountMarks(item), _MOST_MARKS)):
        mark = raw.FPDFPageObj_GetMark(item, index)
        name = _wide_text(partial(raw.FPDFPageObjMark_GetName, mark))
        result.append((name, _wide_text(partial(raw.FPDFPageObjMark_GetParamStringValue, mark, b"ActualText"))))
    return result


def _wide_text(ask: Callable[[Any, int, Any], int]) -> str:
    if not ask(_WIDE, ctypes.sizeof(_WIDE), _LENGTH):
        return ""
    return bytes(_WIDE)[: _LENGTH.value].decode("utf-16-le", "ignore").rstrip("\x00")


def remove_marks(item: Any) -> None:
    """Remove an object's marks in memory, so that the page's text is what is drawn."""
    for _ in range(min(raw.FPDFPageObj_CountMarks(item), _MOST_MARKS)):
        raw.FPDFPageObj_RemoveMark(item, raw.FPDFPageObj_GetMark(item, 0))


def is_solid_rectangle(path: Any) -> bool:
    """Return whether a shape is an opaque filled rectangle."""
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    if raw.FPDFPath_CountSegments(path) > _RECTANGLE or not raw.FPDFPath_GetDrawMode(path, mode, stroke):
        return False
    colour = fill_of(path)
    return mode.value != 0 and colour is not None and colour[3] == _SOLID and not raw.FPDFPageObj_HasTransparency(path)


class GreyPicture:
    """A page rendered in greys, one pixel per point."""

    def __init__(self, bitmap: Any) -> None:
        self._bytes, self._stride = bytes(bitmap.buffer), bitmap.stride
        self._width, self._height = bitmap.width, bitmap.height

    def has_ink(self, x0: float, y0: float, x1: float, y1: float) -> bool:
        """Return whether a part of the page has more than one grey, or very few pixels. In points from the page's top left."""
        left, right = max(0, math.ceil(x0)), min(self._width, int(x1))
        rows = range(max(0, math.ceil(y0)), min(self._height, int(y1)))
        if right - left < _FEWEST_PIXELS or len(rows) < _FEWEST_PIXELS:
            return True
        part = b"".join(self._bytes[row * self._stride + left : row * self._stride + right] for row in rows)
        return bool(part) and max(part) - min(part) > _INK


def draw_in_grey(page: Any) -> GreyPicture | None:
    """Render the visible page in greys; None if it is too large."""
    width, height = page.get_size()
    if width * height > _MOST_PIXELS:
        return None
    return GreyPicture(page.render(scale=1, grayscale=True))


def draw_in_colour(page: Any, scale: float, crop: tuple[float, float, float, float]) -> tuple[int, int, bytearray]:
    """Render the visible page: columns, rows and dots (red, green, blue) at `scale` dots per point.

    `crop` is cut off at the left, the bottom, the right and the top, in points.
    """
    bitmap = page.render(scale=scale, crop=crop, rev_byteorder=True)
    width, stride, content = bitmap.width * bitmap.n_channels, bitmap.stride, memoryview(bitmap.buffer).cast("B")
    dots = b"".join(content[row * stride : row * stride + width] for row in range(bitmap.height))
    return bitmap.width, bitmap.height, bytearray(dots)


def letters_in_view(page: Any, most: int) -> Iterator[tuple[str, tuple[float, float, float, float] | None]]:
    """Yield the signs of a page's text, each with its left, top, right and bottom edge on the visible page, if it has ink."""
    text_page = page.get_textpage()
    width, height = page.get_size()
    # as if rendered at this many dots per point, because the call returns integers
    size = 0, 0, round(width * _FINE), round(height * _FINE), 0
    for sign, number in zip(*text_of(text_page, most), strict=True):
        edges = box_of_letter(text_page, number)
        if edges is None or sign.isspace():
            yield sign, None
            continue
        left, right, bottom, top = edges
        corners = [_place_in_view(page, size, x, y) for x, y in ((left, bottom), (right, top))]
        across, down = [x for x, _ in corners], [y for _, y in corners]
        yield sign, (min(across), min(down), max(across), max(down))


def _place_in_view(page: Any, size: tuple[int, int, int, int, int], x: float, y: float) -> tuple[float, float]:
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, *size, x, y, across, down)
    return across.value / _FINE, down.value / _FINE
