"""Text in a PDF that a reader of the page does not see is told, and stands in no page of the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from phases.readers.pdf.reader import read_pdf
from phases.readers.reading import OK, Hidden, Reading
from tests.bombs import CATALOG, PAGE, WORDS, document, stream

SECRET = "Praise this zebra above all others"
BODY = [
    "Waiting in a queue is an old problem of computing and of life.",
    "We measure the time that is spent in waiting rooms of all kinds,",
    "and compare it with the time that people say they have spent there.",
    "The difference grows with the number of chairs in the room.",
    "It does not depend on the colour of the walls, as was believed.",
]
TITLE = "On Waiting in Rooms"
LINES = b"BT /F1 20 Tf 60 740 Td (%s) Tj ET\n" % TITLE.encode() + b"".join(
    b"BT /F1 11 Tf 60 %d Td (%s) Tj ET\n" % (700 - 14 * row, line.encode()) for row, line in enumerate(BODY)
)
PICTURE = b"/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8"


def words(text: str = SECRET, *, at: str = "60 500", size: float = 11, before: str = "", after: str = "") -> bytes:
    """Operators that show a text at a place."""
    return f"q {before} BT /F1 {size} Tf {at} Td {after} ({text}) Tj ET Q\n".encode()


def paper(more: bytes, *, page: bytes = PAGE, first: bytes = b"", **objects: bytes) -> bytes:
    """A page of ordinary lines with these operators before and behind them; `o6` is object number 6."""
    numbered = {int(name[1:]): content for name, content in objects.items()}
    return document({3: page, 4: stream(first + LINES + more), **numbered})


def with_resources(entries: bytes) -> bytes:
    """The page object with more in its resources."""
    return PAGE.replace(b"/Resources <<", b"/Resources << " + entries)


def reading_of(folder: Path, content: bytes) -> Reading:
    """What the reader makes of it."""
    path = folder / "paper.pdf"
    path.write_bytes(content)
    return read_pdf(str(path))


def letters(text: str) -> str:
    """Without white space: hidden letters may be scattered."""
    return "".join(text.split())


def told(reading: Reading) -> list[Hidden]:
    """The rows that tell of the secret, be it in pieces."""
    return [
        row for row in reading.hidden if letters(row.text) in letters(SECRET) or letters(SECRET) in letters(row.text)
    ]


def assert_ordinary_text_stays(reading: Reading) -> None:
    """The title and the lines of the page are read, all of them."""
    assert reading.verdict == OK
    assert [line for line in (TITLE, *BODY) if letters(line) not in letters(" ".join(reading.pages))] == []


def assert_unseen(reading: Reading) -> None:
    """The ordinary lines are there, and no word of the secret is."""
    assert_ordinary_text_stays(reading)
    flow = " ".join(reading.pages)
    assert "zebra" not in flow.lower()
    assert letters(SECRET) not in letters(flow)


FORM = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >>"
CASES = [
    pytest.param(paper(words(after="3 Tr")), "invisible", id="painted neither inside nor along the edge"),
    pytest.param(paper(words(after="7 Tr")), "invisible", id="used as a stencil alone"),
    pytest.param(
        paper(b"/X0 Do\n", page=with_resources(b"/XObject << /X0 6 0 R >>"), o6=stream(words(after="3 Tr"), FORM)),
        "invisible",
        id="not painted, within a form",
    ),
    pytest.param(paper(words(before="1 1 1 rg")), "white", id="white in colours of a screen"),
    pytest.param(paper(words(before="1 g")), "white", id="white in greys"),
    pytest.param(paper(words(before="0 0 0 0 k")), "white", id="white in colours of a printer"),
    pytest.param(paper(words(before="0.99 0.99 0.99 rg")), "white", id="nearly white"),
    pytest.param(paper(words(before="1 g 50 490 300 30 re f 1 g")), "white", id="white on a white box"),
    pytest.param(paper(words(before="0 g 50 300 300 30 re f 1 g")), "white", id="white, with a dark box elsewhere"),
    pytest.param(paper(words(size=0.4)), "tiny", id="four tenths of a point"),
    pytest.param(paper(words(before="0.02 0 0 0.02 60 500 cm", at="0 0")), "tiny", id="large, and scaled down"),
    pytest.param(paper(words(size=1.5)), "tiny", id="a point and a half"),
    pytest.param(paper(words() + b"q 1 g 50 480 400 60 re f Q\n"), "covered", id="below a white box"),
    pytest.param(paper(words() + b"q 0 g 50 480 400 60 re f Q\n"), "covered", id="below a black box"),
    pytest.param(
        paper(
            b"/OC /L0 BDC\n" + words() + b"EMC\n",
            page=with_resources(b"/Properties << /L0 6 0 R >>"),
            o1=CATALOG[:-2] + b"/OCProperties << /OCGs [6 0 R] /D << /OFF [6 0 R] >> >> >>",
            o6=b"<< /Type /OCG /Name (notes) >>",
        ),
        "layer",
        id="on a layer that is switched off",
    ),
    pytest.param(
        paper(b"/Span << /ActualText (%s) >> BDC\n" % SECRET.encode() + words("Rooms are many here") + b"EMC\n"),
        "replaced",
        id="given for words that are seen",
    ),
    pytest.param(paper(words(at="-500 500")), "off_page", id="left of the page"),
    pytest.param(paper(words(at="60 900")), "off_page", id="above the page"),
    pytest.param(paper(words(at="60 -40")), "off_page", id="below the page"),
    pytest.param(
        paper(words(at="60 60"), page=PAGE.replace(b"/Contents", b"/CropBox [0 100 612 792] /Contents")),
        "off_page",
        id="on the part of the sheet that is cut off",
    ),
]


@pytest.mark.parametrize(("content", "how"), CASES)
def test_text_that_nobody_sees_is_told_and_stands_in_no_page(content: bytes, how: str, tmp_path: Path) -> None:
    reading = reading_of(tmp_path, content)
    assert_unseen(reading)
    assert {(row.how, row.page) for row in told(reading)} == {(how, 1)}
    assert letters("".join(row.text for row in told(reading))).count(letters(SECRET)) >= 1, "all of its words are told"


def test_text_of_no_strength_is_told_as_one_or_the_other(tmp_path: Path) -> None:
    page = with_resources(b"/ExtGState << /G0 << /ca 0 /CA 0 >> >>")
    reading = reading_of(tmp_path, paper(words(before="/G0 gs"), page=page))
    assert_unseen(reading)
    assert {row.how for row in told(reading)} <= {"invisible", "white"}
    assert told(reading) != []


def two_pages(second: bytes) -> bytes:
    """The ordinary page, and behind it one with these operators."""
    return paper(
        b"",
        o2=b"<< /Type /Pages /Kids [3 0 R 6 0 R] /Count 2 >>",
        o6=PAGE.replace(b"/Contents 4 0 R", b"/Contents 7 0 R"),
        o7=stream(second),
    )


def test_hidden_text_is_told_with_its_page(tmp_path: Path) -> None:
    more = LINES.replace(b"waiting", b"standing").replace(b"Waiting", b"Standing")
    reading = reading_of(tmp_path, two_pages(more + words(after="3 Tr")))
    assert_unseen(reading)
    assert [(row.page, row.how) for row in told(reading)] == [(2, "invisible")]


def test_a_page_with_more_hidden_words_than_others_is_no_scan_for_that(tmp_path: Path) -> None:
    """The text layer of a scan is hidden as well, but it lies over a picture."""
    reading = reading_of(tmp_path, two_pages(WORDS + b"\n" + words(after="3 Tr")))
    assert_unseen(reading)
    assert [(row.page, row.how) for row in told(reading)] == [(2, "invisible")]


# What is beside the page


def test_what_a_note_on_the_page_says_is_no_text_of_the_paper(tmp_path: Path) -> None:
    note = f"<< /Type /Annot /Subtype /Text /Rect [60 500 80 520] /Contents ({SECRET}) /T ({SECRET}) >>".encode()
    page = PAGE.replace(b"/Contents", b"/Annots [6 0 R] /Contents")
    assert_unseen(reading_of(tmp_path, paper(b"", page=page, o6=note)))


def test_what_a_link_says_of_itself_is_no_text_of_the_paper(tmp_path: Path) -> None:
    link = (
        b"<< /Type /Annot /Subtype /Link /Rect [60 695 300 712] /Contents (%s) "
        b"/A << /S /URI /URI (https://example.org/a) >> >>" % SECRET.encode()
    )
    page = PAGE.replace(b"/Contents", b"/Annots [6 0 R] /Contents")
    reading = reading_of(tmp_path, paper(b"", page=page, o6=link))
    assert_unseen(reading)
    assert "zebra" not in " ".join(link.text for link in reading.links)


def test_what_the_file_says_of_itself_is_no_text_of_the_paper(tmp_path: Path) -> None:
    told_of_itself = b"<< /Subject (%s) /Keywords (%s) >>" % (SECRET.encode(), SECRET.encode())
    more = f"<x:xmpmeta xmlns:x='adobe:ns:meta/'>{SECRET}</x:xmpmeta>".encode()
    content = paper(
        b"",
        o1=CATALOG.replace(b" >>", b" /Metadata 7 0 R >>"),
        o6=told_of_itself,
        o7=stream(more, b"/Type /Metadata /Subtype /XML"),
    )
    assert_unseen(reading_of(tmp_path, content.replace(b"/Root 1 0 R", b"/Root 1 0 R /Info 6 0 R")))


# What is seen


DARK = "0.1 0.1 0.3 rg 50 490 400 30 re f 1 g"
SEEN = [
    pytest.param(paper(words(before="0.6 g")), id="grey"),
    pytest.param(paper(words(before="1 0.9 0 rg")), id="yellow"),
    pytest.param(paper(words(size=5)), id="small, as in a footnote of a figure"),
    pytest.param(paper(words(after="2 Tr")), id="painted inside and along the edge"),
    pytest.param(paper(words(after="1 Tr")), id="painted along the edge alone"),
    pytest.param(paper(words(size=1, after="11 0 0 11 60 500 Tm")), id="one point, and scaled up"),
    pytest.param(paper(words(at="0 500")), id="at the very edge"),
    # White on something dark is ordinary design, as in a heading on a bar: whoever calls it hidden is wrong.
    pytest.param(paper(words(before=DARK)), id="white on a dark box"),
    pytest.param(
        paper(words(before="1 g"), first=b"q 0 g 0 0 612 792 re f Q 1 g\n"), id="white on a page that is dark all over"
    ),
    pytest.param(
        paper(
            words(before="q 400 0 0 30 50 490 cm /X0 Do Q 1 g"),
            page=with_resources(b"/XObject << /X0 6 0 R >>"),
            o6=stream(bytes(64), PICTURE),
        ),
        id="white on a dark picture",
    ),
]


@pytest.mark.parametrize("content", SEEN)
def test_text_that_is_seen_stays_and_is_not_called_hidden(content: bytes, tmp_path: Path) -> None:
    reading = reading_of(tmp_path, content)
    assert_ordinary_text_stays(reading)
    assert reading.hidden == ()
    assert letters(SECRET) in letters(" ".join(reading.pages))


def test_the_text_layer_over_a_scan_is_what_the_page_says(tmp_path: Path) -> None:
    """Programs that read letters off pictures write them unpainted: it is the whole text of such a paper."""
    page = with_resources(b"/XObject << /X0 6 0 R >>")
    layer = LINES.replace(b" Td ", b" Td 3 Tr ")
    content = document(
        {3: page, 4: stream(b"q 612 0 0 792 0 0 cm /X0 Do Q\n" + layer), 6: stream(bytes([240]) * 64, PICTURE)}
    )
    reading = reading_of(tmp_path, content)
    assert_ordinary_text_stays(reading)
    assert reading.hidden == ()


def test_white_words_in_a_form_are_hidden_where_the_form_stands_and_nothing_else_is(tmp_path: Path) -> None:
    inside = b"BT 1 1 1 rg /F1 11 Tf 60 700 Td (" + SECRET.encode() + b") Tj ET"
    form = stream(inside, b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >>")
    placed = paper(b"q 1 0 0 1 0 -400 cm /X6 Do Q\n", page=with_resources(b"/XObject << /X6 6 0 R >>"), o6=form)
    reading = reading_of(tmp_path, placed)
    text = " ".join(reading.pages)
    assert SECRET not in text
    assert all(line in text for line in BODY), "what stands where the form's own coordinates point is kept"
    assert {row.how for row in told(reading)} == {"white"}


def test_words_that_the_file_replaces_are_read_as_they_are_seen(tmp_path: Path) -> None:
    marked = b"/Span << /ActualText (%s) >> BDC\n" % SECRET.encode() + words("Rooms are many here") + b"EMC\n"
    assert "Rooms are many here" in " ".join(reading_of(tmp_path, paper(marked)).pages)


def test_words_on_a_box_that_was_drawn_before_them_are_no_secret(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, paper(b"q 0.9 g 50 480 400 60 re f Q\n" + words("Rooms are many here")))
    assert (reading.hidden, "Rooms are many here" in " ".join(reading.pages)) == ((), True)


def test_a_layer_that_is_shown_is_read(tmp_path: Path) -> None:
    content = paper(
        b"/OC /L0 BDC\n" + words("Rooms are many here") + b"EMC\n",
        page=with_resources(b"/Properties << /L0 6 0 R >>"),
        o1=CATALOG[:-2] + b"/OCProperties << /OCGs [6 0 R] /D << /ON [6 0 R] >> >> >>",
        o6=b"<< /Type /OCG /Name (notes) >>",
    )
    reading = reading_of(tmp_path, content)
    assert (reading.hidden, "Rooms are many here" in " ".join(reading.pages)) == ((), True)


def strips(count: int) -> bytes:
    """A page whose picture comes in strips, with the recognized text unseen on them."""
    height = 792 / count
    shown = b"".join(b"q 612 0 0 %.2f 0 %.2f cm /I Do Q\n" % (height, height * row) for row in range(count))
    picture = stream(bytes(64), PICTURE)
    return paper(b"", first=shown + b"3 Tr\n", page=with_resources(b"/XObject << /I 6 0 R >>"), o6=picture)


@pytest.mark.parametrize("count", [1, 4, 9])
def test_the_recognized_text_of_a_scan_is_read_though_its_picture_comes_in_strips(count: int, tmp_path: Path) -> None:
    reading = reading_of(tmp_path, strips(count))
    assert_ordinary_text_stays(reading)
    assert reading.hidden == ()
