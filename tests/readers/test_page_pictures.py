"""Pictures of a PDF's pages with marked places, and the places of quotes: real files, drawn in the worker."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from phases.readers.page_pictures import Box, Picture, View, draw_floats, draw_views, find_quotes
from phases.readers.reader_subprocess import WorkerResult
from tests.papers import good_pdf, pdf

SENTENCE = "We minimize the cross-entropy loss of the waiter."
WHITE = (255, 255, 255)


@pytest.fixture
def paper(tmp_path: Path) -> str:
    return save(tmp_path, good_pdf())


def save(folder: Path, content: bytes) -> str:
    (folder / "paper.pdf").write_bytes(content)
    return str(folder / "paper.pdf")


def draw(path: str, view: View, dots_per_inch: int = 72) -> Picture:
    (picture,) = draw_views(path, [view], dots_per_inch=dots_per_inch)
    assert picture is not None
    return picture


def dots_of(picture: Picture) -> tuple[int, int, list[bytes]]:
    """Columns, rows, and the dots of each row, three bytes each; a picture in greys has one."""
    columns, rows = struct.unpack(">II", picture.png[16:24])
    is_grey = picture.png[25] == 0
    place = picture.png.index(b"IDAT")
    (length,) = struct.unpack(">I", picture.png[place - 4 : place])
    content = zlib.decompress(picture.png[place + 4 : place + 4 + length])
    width = (1 if is_grey else 3) * columns + 1
    assert len(content) == rows * width
    lines = [content[row * width + 1 : (row + 1) * width] for row in range(rows)]
    return columns, rows, [bytes(one for one in line for _ in range(3)) if is_grey else line for line in lines]


def dot(picture: Picture, x: int, y: int) -> tuple[int, ...]:
    return tuple(dots_of(picture)[2][y][3 * x : 3 * x + 3])


def has_ink(picture: Picture, box: Box) -> bool:
    """Whether anything dark is in this place."""
    rows = dots_of(picture)[2]
    x0, y0, x1, y1 = (int(edge) for edge in box)
    return any(min(row[3 * x0 : 3 * x1], default=255) < 100 for row in rows[y0:y1])


@pytest.mark.slow
def test_a_marked_place_is_tinted_and_the_rest_is_as_it_was(paper: str) -> None:
    marked, plain = (draw(paper, View(1, marks)) for marks in (((300.0, 400.0, 320.0, 410.0),), ()))
    assert dot(plain, 310, 405) == WHITE
    red, green, blue = dot(marked, 310, 405)
    assert (red, green > 200, blue < 150) == (255, True, True)
    assert [dot(marked, *place) for place in ((299, 405), (321, 405), (310, 399), (310, 411))] == [WHITE] * 4


@pytest.mark.slow
def test_a_page_without_colours_is_a_picture_in_greys_and_a_marked_one_in_colours(paper: str) -> None:
    plain, marked = draw(paper, View(1)), draw(paper, View(1, ((300.0, 400.0, 320.0, 410.0),)))
    assert (plain.png[25], marked.png[25]) == (0, 2)
    assert {one % 17 for line in dots_of(marked)[2] for one in line} == {0}, "in sixteen shades"


@pytest.mark.slow
def test_a_part_of_a_page_is_that_part(paper: str) -> None:
    whole, part = draw(paper, View(1)), draw(paper, View(1, (), (50.0, 30.0, 250.0, 130.0)))
    assert list(whole.box) == [0, 0, 612, 792]
    assert list(part.box) == [50, 30, 250, 130]
    columns, rows, dots = dots_of(part)
    assert (columns, rows) == (200, 100)
    assert dots == [row[3 * 50 : 3 * 250] for row in dots_of(whole)[2][30:130]]


@pytest.mark.slow
def test_more_dots_an_inch_make_a_larger_picture(paper: str) -> None:
    assert dots_of(draw(paper, View(1), dots_per_inch=144))[:2] == (1224, 1584)


@pytest.mark.slow
def test_a_page_of_enormous_size_is_drawn_with_fewer_dots(tmp_path: Path) -> None:
    path = save(tmp_path, good_pdf().replace(b"[0 0 612 792]", b"[0 0 14400 14400]"))
    columns, rows, _ = dots_of(draw(path, View(1), dots_per_inch=300))
    assert columns * rows < 7_000_000


def test_what_is_not_there_is_not_drawn_and_the_rest_is(paper: str) -> None:
    views = [View(9), View(0), View(-1), View(1, (), (9.0, 9.0, 9.0, 20.0)), View(2)]
    assert [picture is not None for picture in draw_views(paper, views)] == [False, False, False, False, True]


@pytest.mark.slow
def test_a_quote_is_found_where_its_words_are_printed(paper: str) -> None:
    ((place,),) = find_quotes(paper, [(2, SENTENCE)])
    assert place.page == 2
    ((x0, y0, x1, y1),) = place.boxes
    # the second line of the page: 30 points below a baseline at 792 - 740, in 11 points
    assert (round(x0), round(y1)) == (60, 84)
    assert 8 <= y1 - y0 <= 13
    assert 200 < x1 < 330
    page = draw(paper, View(2))
    assert has_ink(page, place.boxes[0])
    assert not has_ink(page, (x1 + 2, y0, 600, y1))


@pytest.mark.slow
@pytest.mark.parametrize("turn", [90, 180, 270])
def test_places_are_those_of_the_page_as_it_is_shown(tmp_path: Path, turn: int) -> None:
    cropped = b"/CropBox [40 100 612 780] /Rotate %d /MediaBox [0 0 612 792]" % turn
    path = save(tmp_path, good_pdf().replace(b"/MediaBox [0 0 612 792]", cropped))
    ((place,),) = find_quotes(path, [(2, SENTENCE)])
    page = draw(path, View(2))
    assert page.box[2:] == ((572, 680) if turn == 180 else (680, 572))
    x0, y0, x1, y1 = place.boxes[0]
    assert has_ink(page, place.boxes[0])
    assert (x1 - x0 > y1 - y0) == (turn == 180)


PAGES = (
    [
        "# Rooms",
        "The scheduler keeps every waiter in a queue that",
        "is sorted by patience; the impa-",
        "tient leave it.",
    ],
    ["# Doors", "first, and nobody complains about a door that stays open."],
)


@pytest.mark.parametrize(
    ("quote", "pages", "lines"),
    [
        pytest.param(
            "every waiter in a queue that is sorted by patience", [1], 2, id="over two lines", marks=pytest.mark.slow
        ),
        pytest.param(
            "sorted by patience; the impatient leave it",
            [1],
            2,
            id="a word that a hyphen parts",
            marks=pytest.mark.slow,
        ),
        pytest.param("Every waiter, in a *queue* that is $sorted$ by patience", [1], 2, id="other signs and capitals"),
        pytest.param(
            "keeps each waiter in one queue that is sorted by patience",
            [1],
            2,
            id="two words of ten are others",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "the impatient leave it. Doors first, and nobody complains", [1, 2], 4, id="a page break within it"
        ),
        pytest.param("nobody complains about a door", [2], 1, id="on the next page"),
        pytest.param("the committee approved the budget of the town", [], 0, id="not there at all"),
        pytest.param("the", [], 0, id="too short to tell"),
        pytest.param("", [], 0, id="nothing"),
    ],
)
def test_a_quote_is_found_by_its_words(tmp_path: Path, quote: str, pages: list[int], lines: int) -> None:
    (found,) = find_quotes(save(tmp_path, pdf(PAGES)), [(1, quote)])
    assert [place.page for place in found] == pages
    assert sum(len(place.boxes) for place in found) == lines


def test_each_quote_has_the_place_of_its_own_number(tmp_path: Path) -> None:
    quotes = [(2, "nobody complains about a door"), (1, "not in here at all, is it"), (1, "keeps every waiter")]
    found = find_quotes(save(tmp_path, pdf(PAGES)), quotes)
    assert [[place.page for place in places] for places in found] == [[2], [], [1]]


WIDE = "This is a line of the text, and it runs over all of the width that the page has for it."
DRAWN = b"80 570 180 130 re S 300 570 100 60 re S 60 440 m 300 440 l S 60 400 m 300 400 l S 60 340 m 300 340 l S\nBT"
"""Two boxes over the caption of the figure, and three rulings under that of the table."""
FLOATS = pdf([[WIDE, *[""] * 8, "Figure 1. A room with a door.", "", WIDE, "", "Table 1. The rooms.", "", "room size"]])


def outline(*labels: str) -> dict[str, list[dict[str, object]]]:
    texts = {"Figure 1": "A room with a door.", "Table 1": "The rooms.", "Figure 7": "Nothing of this sort."}
    rows = [{"label": label, "text": texts[label], "page": 1} for label in labels]
    return {
        f"{kind.lower()}s": [row for row in rows if str(row["label"]).startswith(kind)] for kind in ("Figure", "Table")
    }


@pytest.mark.slow
def test_figures_and_tables_are_drawn_without_the_text_around_them(tmp_path: Path) -> None:
    path = save(tmp_path, FLOATS.replace(b"BT", DRAWN, 1))
    found = draw_floats(path, outline("Figure 1", "Table 1", "Figure 7"), dots_per_inch=72)
    assert sorted(found) == ["Figure 1", "Table 1"]
    for label, edges in (("Figure 1", (80, 92, 400, 222)), ("Table 1", (60, 352, 300, 452))):
        assert all(abs(one - other) <= 10 for one, other in zip(found[label].box, edges, strict=True)), label
        assert found[label].png.startswith(b"\x89PNG")


def test_a_caption_with_no_ink_near_it_has_no_picture(tmp_path: Path) -> None:
    assert draw_floats(save(tmp_path, FLOATS), outline("Figure 1", "Table 1")) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        pytest.param(b"%PDF-1.7\n", marks=pytest.mark.slow),
        good_pdf()[:300],
        pytest.param(pdf([["words"]], locked=True), marks=pytest.mark.slow),
    ],
    ids=["empty", "head", "cut", "locked"],
)
def test_of_a_file_that_cannot_be_opened_nothing_is_drawn_or_found(tmp_path: Path, content: bytes) -> None:
    path = save(tmp_path, content)
    assert draw_views(path, [View(1)]) == [None]
    assert find_quotes(path, [(1, "some words that are not there")]) == [()]


@pytest.mark.parametrize(
    "row",
    [
        {"index": 0}, {"index": 7, "png": "", "box": [0, 0, 1, 1]}, {"index": 0, "png": "AAAA", "box": [0, 0, 1, 1]}, 17,
        {"index": 0, "png": "§", "box": [0, 0, 1, 1]}, {"index": 0, "png": "iVBORw0KGgo=", "box": [0, 0, float("nan"), 1]},
        {"index": 0, "places": [{"page": "1", "boxes": [[0, 0, 1, 1]]}]}, {"index": 0, "places": [{"page": 1, "boxes": [[0]]}]},
        {"index": 0, "places": [7]}, {"index": 0, "places": 7}, {"index": 0, "box": [0, 0, "wide", 1]},
    ],
)  # fmt: skip
def test_what_a_worker_says_that_was_taken_over_is_not_believed(row: object) -> None:
    def impostor(_: Sequence[str], __: bytes, ___: int) -> WorkerResult:
        return WorkerResult(0, json.dumps(row).encode() + b"\n{half a row")

    assert draw_views("paper.pdf", [View(1)], run=impostor) == [None]
    assert find_quotes("paper.pdf", [(1, "some words")], run=impostor) == [()]
    assert draw_floats("paper.pdf", outline("Figure 1"), run=impostor) == {}
