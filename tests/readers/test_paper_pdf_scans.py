"""Text that a program recognized: one font, a piece for each word, sheets that do not lie alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from phases.readers.pdf.blocks import EQUATION, PARAGRAPH, PdfBlock
from phases.readers.pdf.formulas import with_equations
from phases.readers.pdf.headings import longest_run
from phases.readers.pdf.lines import Line, Words
from phases.readers.pdf.page import BoundingBox, Character, Page
from phases.readers.pdf.reader import read_pdf, title_of
from tests.readers.test_paper_pdf_layouts import Read, Sheet, printed, prose, width_of, wrapped

SIDES = (60.0, 320.0)
STRETCHED = 6.0
"""White between the words, in points: too wide for the engine to take them for one piece."""


def put_words(sheet: Sheet, x: float, y: float, line: str, size: float = 9.0) -> None:
    """Sets a line word by word."""
    for word in line.split():
        sheet.put(x, y, word, size)
        x += width_of(word, size) + STRETCHED


def put_column(sheet: Sheet, x: float, y: float, lines: list[str]) -> float:
    for line in lines:
        put_words(sheet, x, y, line)
        y += 11.0
    return y


def read_sheets(folder: Path, sheets: list[Sheet]) -> Read:
    (folder / "paper.pdf").write_bytes(printed(sheets))
    return Read(read_pdf(str(folder / "paper.pdf")))


@pytest.fixture
def scanned(tmp_path: Path) -> Read:
    """Three sheets of two columns, each a little higher and more to the left than the one before."""
    sheets = []
    for number in range(3):
        sheet, shift = Sheet(), 4.0 * number
        for side, x in enumerate(SIDES):
            seed = 10 * number + side + 1
            lines = wrapped(prose(seed, 6), 190, 9)
            y = put_column(sheet, x - shift, 100 - shift, lines)
            put_words(sheet, x - shift, y + 14, f"Doors of the {('left', 'right')[side]} hall {'ABC'[number]}")
            put_column(sheet, x - shift, y + 36, wrapped(prose(seed + 50, 9), 190, 9))
        for row, words in enumerate(("Letters", "of the Halls", "Number")):
            put_words(sheet, SIDES[1] - shift, 735 - shift + 9 * row, words, 7)
            put_words(
                sheet, SIDES[1] + 100 - shift, 735 - shift + 9 * row, ("June 1975", "Volume 18", "Issue 6")[row], 7
            )
        sheets.append(sheet)
    return read_sheets(tmp_path, sheets)


@pytest.mark.slow
def test_columns_of_single_words_are_read_one_after_the_other(scanned: Read) -> None:
    text = " ".join(scanned.text.split())
    places = [text.index(f"room {seed * 100}") for page in range(3) for seed in (10 * page + 1, 10 * page + 2)]
    assert places == sorted(places)
    assert "|" not in text


@pytest.mark.slow
def test_a_line_between_white_heads_the_prose_below_it_where_all_is_set_alike(scanned: Read) -> None:
    wanted = [f"Doors of the {side} hall {sheet}" for sheet in "ABC" for side in ("left", "right")]
    assert [heading.lstrip("# ") for heading in scanned.headings] == wanted


def test_feet_of_three_lines_are_furniture_though_the_sheets_lie_differently(scanned: Read) -> None:
    assert {row.reason for row in scanned.reading.left_out} == {"furniture"}
    assert "Volume 18" not in scanned.text
    assert "Letters" not in scanned.text


def test_a_sentence_that_begins_with_an_algorithm_is_no_caption(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.column(72, 100, wrapped(prose(1, 3), 220))
    sheet.column(
        72, 220, ["Algorithm 1 is patterned after doors", "that open by themselves in the night,", "and is short."]
    )
    text = read_sheets(tmp_path, [sheet]).text
    assert "Algorithm 1 is patterned after doors that open by themselves" in text
    assert "```" not in text


def test_of_two_runs_of_numbers_that_with_titles_is_taken() -> None:
    titles = ["1 Doors", "2 Windows", "3 Halls", "4 g(r, a) = t; fail.", "4 Stairs"]
    assert list(longest_run(titles)) == [0, 1, 2, 4]


def _line(text: str, y: float, size: float) -> Line:
    box = BoundingBox(60, y, 400, y + size)
    return Line(text, box, size, "Arial", False, False, 1, box, fresh=y < 60, gap=3.0)


def test_a_title_that_the_properties_say_is_found_where_letters_were_recognized_as_others() -> None:
    lines = [_line("X3: A Low Overhead High Performance", 50, 17), _line("Door Replacement Algorithm *", 70, 17)]
    said = "2Q: A Low Overhead High Performance Door Replacement Algorithm"
    title, place = title_of([*lines, _line("Ada Lovelace", 120, 12)], said, Words([]))
    assert (title, place) == (said, range(2))


@pytest.mark.parametrize("mark", [" *", "⋆,⋆⋆", "a)", "$^{\\ast}$"])
def test_a_title_ends_before_the_mark_of_its_footnote(mark: str) -> None:
    lines = [_line(f"The Order of the Rooms{mark}", 50, 17), _line("Ada Lovelace", 120, 12)]
    assert title_of(lines, None, Words([]))[0] == "The Order of the Rooms"


def test_the_number_of_a_report_and_what_follows_the_introduction_are_no_title() -> None:
    lines = [_line("IMECE2023-XXXX", 50, 17), _line("The Order of the Rooms", 70, 17), _line("1 Introduction", 300, 9),
             _line("Letters of a formula that are larger than all others", 320, 30)]  # fmt: skip
    assert title_of(lines, None, Words([]))[0] == "The Order of the Rooms"


@pytest.mark.parametrize(
    "text",
    ["s 3 0 state 1: e 2 i 6 h 1", "27: <1a,2> 27: <2a, 2, C>", "</history>')", "'nvarchar(400)') =", "A=0 A=0 »)"],
)
def test_a_list_a_drawing_or_code_is_no_formula(text: str) -> None:
    [block] = with_equations([PdfBlock(EQUATION, 1, [_line(text, 320, 9)])], {})
    assert block.kind == PARAGRAPH


@pytest.mark.parametrize(
    "text", ["x : = y + 1", "f : X → Y", "k ← 2k", "$x$ = \\frac{1}{2}", "a < b", "P(y | x) ∈ [0, 1]"]
)
def test_what_relates_two_things_is_a_formula(text: str) -> None:
    [block] = with_equations([PdfBlock(EQUATION, 1, [_line(text, 320, 9)])], {})
    assert block.kind == EQUATION


@pytest.mark.parametrize(("font", "kind"), [("TimesNewRoman,Italic", PARAGRAPH), ("CMMI10", EQUATION)])
def test_words_beside_a_relation_are_doubted_where_no_font_is_the_papers_own(font: str, kind: str) -> None:
    glyph = Character("x", BoundingBox(500, 700, 505, 709), 9, font)
    page = Page(1, 600, 800, (), glyphs=((glyph,),))
    [block] = with_equations([PdfBlock(EQUATION, 1, [_line("while state = fail", 320, 9)])], {1: page})
    assert block.kind == kind
