"""Code and pseudo-code of a PDF come out as one block each, with their indents, beside their captions."""

from __future__ import annotations

from pathlib import Path

import pytest

from phases.readers.pdf.blocks import CODE, PdfBlock
from phases.readers.pdf.headings import BodyStyle
from phases.readers.pdf.lines import Line, Words
from phases.readers.pdf.listings import find_listings
from phases.readers.pdf.page import BoundingBox, Item
from phases.readers.pdf.reader import read_pdf, text_of
from tests.readers.test_paper_pdf_layouts import (
    COLUMN,
    FOOT,
    LEFT,
    RIGHT,
    ROMAN,
    TOP,
    TYPED,
    Read,
    Sheet,
    filled,
    first_sheet,
    printed,
    prose,
    wrapped,
)
from tests.work import assert_linear

SEARCH = (
    "function search(table, key)",
    "\tslot := hash(key);",
    "\twhile table[slot] is taken do",
    "\t\tif table[slot] holds key then",
    "\t\t\treturn slot",
    "\t\tend if",
    "\t\tslot := slot + 1;",
    "\tend while",
    "end function",
)
STEPS = "\n".join(line.replace("\t", "  ") for line in SEARCH)


def read_pages(folder: Path, *sheets: Sheet) -> Read:
    path = folder / "paper.pdf"
    path.write_bytes(printed([first_sheet(), *sheets]))
    return Read(read_pdf(str(path)))


def line_of(text: str, box: BoundingBox, size: float, font: str, column: BoundingBox) -> Line:
    """A line that is one item."""
    return Line(text, box, size, font, False, False, 1, column, items=(Item(text, box, size, font, False, False),))


def set_code(sheet: Sheet, x: float, y: float, lines: tuple[str, ...] = SEARCH, font: str = ROMAN) -> float:
    if font == TYPED:
        lines = tuple(line.replace("\t", "    ") for line in lines)
    return sheet.column(x + 12, y, lines, size=9, font=font)


@pytest.mark.parametrize("font", [pytest.param(ROMAN, id="in the text's letters"), pytest.param(TYPED, id="typed")])
def test_code_in_a_figure_is_one_block_with_its_indents_behind_its_caption(tmp_path: Path, font: str) -> None:
    sheet = Sheet()
    y = set_code(sheet, LEFT, TOP, font=font)
    sheet.put(LEFT, y + 12, "Figure 1: Pseudo code of the search.")
    filled(sheet, LEFT, y + 40, 3)
    filled(sheet, RIGHT, TOP, 30)
    made = read_pages(tmp_path, sheet)
    code = made.blocks.index(made.starting("```"))
    assert made.blocks[code - 1] == "> **Figure 1.** Pseudo code of the search."
    lines = made.blocks[code].split("\n")[1:-1]
    assert [line.strip() for line in lines] == [line.strip() for line in SEARCH]
    depths = [len(line) - len(line.lstrip()) for line in lines]
    assert depths[0] == depths[-1] == 0 < depths[1] == depths[7] < depths[3] < depths[4], lines
    [row] = made.outline["algorithms"]
    assert (row["label"], row["text"]) == ("Figure 1", "Pseudo code of the search.")


def test_a_sign_of_another_font_does_not_tear_code(tmp_path: Path) -> None:
    sheet = Sheet()
    y = sheet.column(LEFT, TOP, ("void put(cell *c, int v)", "\tc->next = first;"), size=9, font=TYPED)
    sheet.put(LEFT + 9, y, "if (c->value == ", 9, TYPED)
    sheet.put(LEFT + 9 + 16 * 5.4, y, "\xd8", 9)
    sheet.put(LEFT + 9 + 18 * 5.4, y, ") c->value = v;", 9, TYPED)
    y = sheet.column(LEFT, y + 10.8, ("\t// it had been taken", "\t*last := c;", "\treturn;"), size=9, font=TYPED)
    sheet.put(LEFT, y + 6, "Listing 2. How a value is put.")
    filled(sheet, LEFT, y + 40, 3)
    made = read_pages(tmp_path, sheet)
    code = made.starting("```")
    assert len(code.split("\n")) == 8, code
    assert "if (c->value" in code
    assert "*last" in code
    [row] = made.outline["algorithms"]
    assert (row["label"], row["text"]) == ("Listing 2", "How a value is put.")


@pytest.mark.slow
def test_a_long_page_of_what_is_no_listing_is_read_in_the_time_of_its_length() -> None:
    def find(many: int) -> None:
        lines = []
        for number in range(many):
            box = BoundingBox(60, number * 10.0, 260, number * 10.0 + 8)
            lines.append(line_of("value = other;", box, 8, ROMAN, BoundingBox(50, 0, 550, 20_000)))
        assert find_listings(lines, BodyStyle(ROMAN, 10), set()) == {}

    assert_linear(find, 300)


def test_code_that_goes_on_in_the_next_column_is_one_block(tmp_path: Path) -> None:
    sheet = Sheet()
    y = TOP
    for seed in (3, 4, 5, 6):
        y = sheet.column(LEFT, y, wrapped(prose(seed)))
    set_code(sheet, LEFT, y + 12, SEARCH[:5])
    y = set_code(sheet, RIGHT, TOP, SEARCH[5:])
    filled(sheet, RIGHT, y + 24, 30)
    code = read_pages(tmp_path, sheet).starting("```").split("\n")[1:-1]
    assert "\n".join(code) == STEPS, code


def test_the_indents_of_numbered_lines_are_those_behind_the_numbers(tmp_path: Path) -> None:
    sheet = Sheet()
    y = set_code(sheet, LEFT + 18, TOP)
    for number in range(len(SEARCH)):
        sheet.put(LEFT, TOP + 10.8 * number, str(number + 1), 9)
    filled(sheet, LEFT, y + 24, 3)
    lines = read_pages(tmp_path, sheet).starting("```").split("\n")[1:-1]
    assert lines == [f"{number} {line}" for number, line in enumerate(STEPS.split("\n"), 1)]


def test_numbers_in_the_margin_beside_code_stay_with_its_lines(tmp_path: Path) -> None:
    sheet = Sheet()
    y = TOP
    for seed in (3, 4, 5, 6):
        y = sheet.column(LEFT, y, wrapped(prose(seed)))
    for number in range(len(SEARCH)):
        sheet.put(LEFT - 14, y + 14 + 10.8 * number, str(number + 56), 6)
    y = set_code(sheet, LEFT, y + 12, font=TYPED)
    filled(sheet, LEFT, y + 24, 3)
    lines = read_pages(tmp_path, sheet).starting("```").split("\n")[1:-1]
    assert lines == [
        f"{number} {line}" for number, line in enumerate((line.replace("\t", "    ") for line in SEARCH), 56)
    ]


def test_each_step_is_two_blanks_where_only_the_first_words_are_typed() -> None:
    depths = (0, 1, 2, 3, 4, 5, 4, 3, 2, 1)
    lines = []
    for number, depth in enumerate(depths):
        box = BoundingBox(50 + 7.47 * depth, number * 12, 50 + 7.47 * depth + 92, number * 12 + 10)
        lines.append(line_of("while slot is full do", box, 10, TYPED, BoundingBox(50, 0, 300, 700)))
    told = text_of(PdfBlock(CODE, 1, lines), Words([])).split("\n")[1:-1]
    assert tuple(len(line) - len(line.lstrip()) for line in told) == tuple(2 * depth for depth in depths), told


def test_prose_right_below_code_is_no_part_of_it(tmp_path: Path) -> None:
    sheet = Sheet()
    y = set_code(sheet, LEFT, TOP)
    sheet.column(LEFT, y, wrapped(prose(7)))
    made = read_pages(tmp_path, sheet)
    assert made.starting("```").endswith("end function\n```")
    assert prose(7) in made.blocks


def test_an_algorithm_ends_where_words_in_the_text_s_size_begin(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.put(LEFT, TOP, "Algorithm 3: Search")
    y = set_code(sheet, LEFT, TOP + 14)
    said = [f"\t{line}" for line in wrapped(prose(8), COLUMN - 10)]
    sheet.column(LEFT, y, said)
    filled(sheet, RIGHT, TOP, 30, until=FOOT - 200)
    made = read_pages(tmp_path, sheet)
    assert made.starting("```algorithm").endswith("end function\n```")
    assert prose(8) in made.blocks


def test_a_paragraph_goes_on_behind_floating_code(tmp_path: Path) -> None:
    sheet = Sheet()
    lines = wrapped(prose(9))
    filled(sheet, LEFT, TOP, 3)
    sheet.column(LEFT, FOOT - 40, lines[:3])
    y = set_code(sheet, RIGHT, TOP)
    sheet.put(RIGHT, y + 6, "Figure 4: Pseudo code of the search.")
    sheet.column(RIGHT, y + 40, lines[3:])
    assert prose(9) in read_pages(tmp_path, sheet).blocks


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["The code is at", "https://example.org/a/very/long/", "path/of/it.md"], id="an address"),
        pytest.param(
            ["We return to this, for it holds", "while the others do not; in", "the end it is so."], id="prose"
        ),
        pytest.param(
            [
                "for each dataset we go from 1 to 10",
                "class imbalance",
                "with the following properties:",
                "return on investment",
                "process mining",
                "print quality matters",
                "If (as we believe) it is so",
                "end",
            ],
            id="terms",
        ),
    ],
)
def test_words_that_a_language_shares_make_no_listing(tmp_path: Path, lines: list[str]) -> None:
    sheet = Sheet()
    y = sheet.column(LEFT, TOP, wrapped(prose(1)))
    for line in lines:
        sheet.put(LEFT, y, line, 10, TYPED if "/" in line else ROMAN)
        y += 12
    filled(sheet, LEFT, y, 30)
    assert "```" not in read_pages(tmp_path, sheet).text


@pytest.mark.parametrize(
    ("lines", "font"),
    [
        pytest.param(["3https://example.org/a/very/long/", "path/of/it.md", "part-two"], TYPED, id="an address"),
        pytest.param(["3Note that x = y;"], ROMAN, id="words"),
    ],
)
def test_a_note_right_below_code_is_no_part_of_it(tmp_path: Path, lines: list[str], font: str) -> None:
    sheet = Sheet()
    y = set_code(sheet, LEFT, TOP)
    for line in lines:
        sheet.put(LEFT, y, line, 8, font)
        y += 9.6
    filled(sheet, LEFT, y + 24, 3)
    filled(sheet, RIGHT, TOP, 30)
    made = read_pages(tmp_path, sheet)
    assert made.starting("```").endswith("end function\n```")
    assert made.starting("[^3]: ").startswith(f"[^3]: {lines[0][1:]}")


def test_a_label_with_a_colon_begins_a_caption_even_right_below_a_sentence(tmp_path: Path) -> None:
    sheet = Sheet()
    lines = ("The hash function was the best of all that were", "compared here by us, as anyone can see from our")
    y = sheet.column(LEFT, TOP, [*lines, "Figure 6: How long each of them took."])
    filled(sheet, LEFT, y + 24, 3, width=COLUMN - 60)
    assert "> **Figure 6.** How long each of them took." in read_pages(tmp_path, sheet).blocks


def test_a_sentence_that_goes_on_with_the_number_of_a_table_is_no_caption(tmp_path: Path) -> None:
    sheet = Sheet()
    lines = (
        "The hash function was the best of all that were",
        "compared here by us, as anyone can see from our",
        "Table 6. Both",
    )
    y = sheet.column(LEFT, TOP, [*lines, "of them used it, and neither was told the width."])
    filled(sheet, LEFT, y + 24, 3, width=COLUMN - 60)
    made = read_pages(tmp_path, sheet)
    assert not made.outline["tables"]
    assert any("see from our Table 6. Both of them used it" in block for block in made.blocks), made.blocks
