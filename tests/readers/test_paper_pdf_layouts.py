"""What the layout of a PDF says to a reader: columns, headings, notes, captions, tables and references come out as such.

The pages are set here, with the fonts that every reader of PDFs knows by heart; how wide their letters are is near enough.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phases.readers.markdown import paper_document
from phases.readers.outline import outline_of
from phases.readers.pdf.reader import read_pdf
from phases.readers.reading import OK, Reading

WIDTH, HEIGHT = 612.0, 792.0
LEFT, RIGHT, COLUMN = 72.0, 316.0, 224.0
TOP, FOOT = 90.0, 700.0
ROMAN, BOLD, ITALIC, SANS, TYPED = "Times-Roman", "Times-Bold", "Times-Italic", "Helvetica", "Courier"
FONTS = (ROMAN, BOLD, ITALIC, SANS, TYPED)
NARROW, BROAD = set("ijltfIr.,;:'()[]-/ "), set("mwMW@")
NOUNS = ("encoder", "estimator", "schedule", "sampler", "kernel", "teacher", "buffer", "gradient", "margin", "corpus")
VERBS = ("reduces", "explains", "controls", "recovers", "sharpens", "limits", "confirms", "predicts")
OBJECTS = (
    "the variance",
    "the cost of waiting",
    "most of the errors",
    "a large part of the noise",
    "the order of the rooms",
)
ENDINGS = (
    "in practice",
    "for large batches",
    "under mild conditions",
    "on unseen rooms",
    "without more labels",
    "at no cost",
)


@dataclass(frozen=True)
class Piece:
    """Words at a place: `x` from the left, `y` of the baseline from the top."""

    x: float
    y: float
    text: str
    size: float = 10.0
    font: str = ROMAN


@dataclass
class Sheet:
    """A page that is being set."""

    pieces: list[Piece] = field(default_factory=list)
    rules: list[tuple[float, float, float]] = field(default_factory=list)

    def rule(self, x0: float, x1: float, y: float) -> None:
        """Draws a ruling from the left to the right, at a height from the top."""
        self.rules.append((x0, x1, y))

    def put(self, x: float, y: float, text: str, size: float = 10.0, font: str = ROMAN) -> None:
        """Sets a piece as it is."""
        self.pieces.append(Piece(x, y, text, size, font))

    def column(self, x: float, y: float, lines: Iterable[str], *, size: float = 10.0, font: str = ROMAN) -> float:
        """Sets lines one below the other; a tab sets one in. Gives the place of the next."""
        for line in lines:
            self.put(x + size * (len(line) - len(line.lstrip("\t"))), y, line.lstrip("\t"), size, font)
            y += 1.2 * size
        return y


def width_of(text: str, size: float = 10.0) -> float:
    """How wide a line is in letters with serifs, about."""
    return size * sum(
        0.3 if sign in NARROW else 0.75 if sign in BROAD else 0.7 if sign.isupper() else 0.47 for sign in text
    )


def wrapped(text: str, width: float = COLUMN, size: float = 10.0) -> list[str]:
    """A text in lines that fit."""
    lines = [""]
    for word in text.split():
        if lines[-1] and width_of(f"{lines[-1]} {word}", size) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def prose(seed: int, sentences: int = 4) -> str:
    """Sentences that nobody else has."""
    dice = random.Random(seed)
    return " ".join(
        f"The {dice.choice(NOUNS)} of room {seed * 100 + index} {dice.choice(VERBS)} {dice.choice(OBJECTS)} "
        f"{dice.choice(ENDINGS)}, and the {dice.choice(NOUNS)} {dice.choice(VERBS)} {dice.choice(OBJECTS)}."
        for index in range(sentences)
    )


def filled(sheet: Sheet, x: float, y: float, seed: int, until: float = FOOT, width: float = COLUMN) -> list[str]:
    """Fills a column with paragraphs of four sentences, each set in; gives their texts."""
    texts = []
    while y < until - 72:
        texts.append(prose(seed))
        y = sheet.column(
            x, y, [f"\t{line}" if not index else line for index, line in enumerate(wrapped(texts[-1], width))]
        )
        seed += 1
    return texts


def printed(sheets: Sequence[Sheet], marks: Sequence[tuple[str, int, int]] = ()) -> bytes:
    """The PDF of these pages; `marks` are its own outline: title, level from 0, page from 0."""
    objects: dict[int, bytes] = {2: b""}
    for number, font in enumerate(FONTS):
        objects[10 + number] = (
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>".encode()
        )
    fonts = " ".join(f"/F{number} {10 + number} 0 R" for number in range(len(FONTS)))
    for index, sheet in enumerate(sheets):
        content = b"BT\n" + b"\n".join(_shown(piece) for piece in sheet.pieces) + b"\nET"
        content += b"".join(b"\n%.1f %.1f %.1f 0.8 re f" % (x0, HEIGHT - y, x1 - x0) for x0, x1, y in sheet.rules)
        objects[20 + 2 * index] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH:.0f} {HEIGHT:.0f}] /Contents {21 + 2 * index} 0 R "
            f"/Resources << /Font << {fonts} >> >> >>"
        ).encode()
        objects[21 + 2 * index] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)
    kids = " ".join(f"{20 + 2 * index} 0 R" for index in range(len(sheets)))
    objects[2] = f"<< /Type /Pages /Kids [{kids}] /Count {len(sheets)} >>".encode()
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R%s >>" % (b" /Outlines 5000 0 R" if marks else b"")
    return _file({**objects, **_outline(marks)})


def _shown(piece: Piece) -> bytes:
    plain = piece.text.encode("cp1252", "replace").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")
    place = f"/F{FONTS.index(piece.font)} {piece.size:.2f} Tf 1 0 0 1 {piece.x:.2f} {HEIGHT - piece.y:.2f} Tm "
    return place.encode() + b"(" + plain + b") Tj"


def _outline(marks: Sequence[tuple[str, int, int]]) -> dict[int, bytes]:
    """The objects of an outline of any depth."""
    kids: dict[int, list[int]] = {-1: []}
    parents: dict[int, int] = {}
    for index, (_, level, _) in enumerate(marks):
        above = next((other for other in range(index - 1, -1, -1) if marks[other][1] < level), -1)
        kids.setdefault(above, []).append(index)
        parents[index] = above
    objects: dict[int, bytes] = {}
    for index, (title, _, page) in enumerate(marks):
        row = f"<< /Title ({title}) /Parent {5001 + parents[index]} 0 R /Dest [{20 + 2 * page} 0 R /Fit]"
        mine = kids[parents[index]]
        if mine[-1] != index:
            row += f" /Next {5001 + mine[mine.index(index) + 1]} 0 R"
        objects[5001 + index] = (row + _ends(kids.get(index, [])) + " >>").encode()
    if marks:
        objects[5000] = f"<< /Type /Outlines{_ends(kids[-1])} >>".encode()
    return objects


def _ends(kids: Sequence[int]) -> str:
    return f" /First {5001 + kids[0]} 0 R /Last {5001 + kids[-1]} 0 R /Count {len(kids)}" if kids else ""


def _file(objects: dict[int, bytes]) -> bytes:
    out, table = bytearray(b"%PDF-1.4\n"), []
    for number, content in sorted(objects.items()):
        table.append(b"%d 1\n%010d 00000 n \n" % (number, len(out)))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n" + b"".join(table)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (max(objects) + 1, start)
    return bytes(out)


@dataclass(frozen=True)
class Read:
    """What became of a PDF."""

    reading: Reading

    @property
    def text(self) -> str:
        return "\n\n".join(self.reading.pages)

    @property
    def blocks(self) -> list[str]:
        return [block for block in self.text.split("\n\n") if block.strip()]

    @property
    def headings(self) -> list[str]:
        return [block for block in self.blocks if block.startswith(("## ", "###"))]

    @property
    def outline(self) -> dict[str, Any]:
        return outline_of(paper_document(self.reading, "0" * 64, "pdf"))

    def starting(self, words: str) -> str:
        """The block that begins with these words."""
        found = [block for block in self.blocks if block.startswith(words)]
        assert len(found) == 1, f"{words!r} begins {len(found)} blocks of {self.blocks}"
        return found[0]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Reads pages that were set here."""

    def reads(sheets: Sequence[Sheet], marks: Sequence[tuple[str, int, int]] = ()) -> Read:
        path = tmp_path / "paper.pdf"
        path.write_bytes(printed(sheets, marks))
        reading = read_pdf(str(path))
        assert reading.verdict == OK, reading.detail
        return Read(reading)

    return reads


def first_sheet(title: Sequence[str] = ("Slow Waiting in Many Rooms",)) -> Sheet:
    """A page with a title over both columns."""
    sheet = Sheet()
    for index, line in enumerate(title):
        sheet.put((WIDTH - width_of(line, 18)) / 2, 60 + 22 * index, line, 18, BOLD)
    return sheet


# Columns


def test_the_left_column_is_read_before_the_right_one(read: Any) -> None:
    sheet = first_sheet()
    left, right = filled(sheet, LEFT, 130, 1), filled(sheet, RIGHT, 130, 50)
    found = read([sheet])
    assert [block for block in found.blocks if block.startswith("The ")] == [*left, *right]


def test_three_columns_are_read_one_after_the_other(read: Any) -> None:
    sheet = first_sheet()
    texts = [filled(sheet, 40 + 185 * number, 130, 1 + 10 * number, width=165) for number in range(3)]
    found = read([sheet]).text
    places = [found.index(" ".join(text.split()[:8])) for column in texts for text in column]
    assert len(places) > 9
    assert places == sorted(places)


def test_a_title_over_both_columns_is_the_title(read: Any) -> None:
    sheet = first_sheet(("Slow Waiting in Many Rooms", "Without a Schedule"))
    filled(sheet, LEFT, 130, 1)
    filled(sheet, RIGHT, 130, 50)
    found = read([sheet])
    assert found.reading.title == "Slow Waiting in Many Rooms Without a Schedule"
    assert found.blocks[0] == "# Slow Waiting in Many Rooms Without a Schedule"


def test_a_table_is_no_title(read: Any) -> None:
    """Nothing on the page is larger than the text."""
    sheet = Sheet()
    y = sheet.column(LEFT, TOP, wrapped(prose(1, 8), 460))
    sheet.put(LEFT + 100, y + 14, "Table 1: What the waiters were given.")
    for row in range(5):
        for place, cell in enumerate((f"room {row}", f"{row}.5", f"{row}2.5", f"{row}3.5")):
            sheet.put(LEFT + 100 + 70 * place, y + 32 + 13 * row, cell)
    sheet.column(LEFT, y + 120, wrapped(prose(2, 8), 460))
    found = read([sheet])
    assert "Table 1" not in (found.reading.title or "")
    assert found.starting("> **Table 1.**") == "> **Table 1.** What the waiters were given."


def test_a_paragraph_that_the_column_cuts_is_whole(read: Any) -> None:
    sheet = first_sheet()
    filled(sheet, LEFT, 130, 1, until=660)
    text = prose(40, 6)
    lines = wrapped(text)
    end = max(piece.y for piece in sheet.pieces) + 12
    sheet.column(LEFT, end, [f"\t{lines[0]}", *lines[1:4]])
    y = sheet.column(RIGHT, 130, lines[4:])
    filled(sheet, RIGHT, y, 50)
    assert text in read([sheet]).blocks


def test_hanging_references_beside_each_other_do_not_move_the_gutter(read: Any) -> None:
    """Most lines of the right column are set in: what begins further left still belongs to it."""
    sheets = [first_sheet(), Sheet()]
    filled(sheets[0], LEFT, 130, 1)
    filled(sheets[0], RIGHT, 130, 50)
    sheets[1].put(LEFT, TOP, "References", 12, BOLD)
    wanted = []
    number = 0
    for x, start in ((LEFT, TOP + 24), (RIGHT, TOP)):
        y = start
        while y < FOOT - 80:
            number += 1
            wanted.append(f"[{number}] A. Author{number}. {prose(number, 2)} Journal of Rooms, {1950 + number}.")
            lines = wrapped(wanted[-1], COLUMN - 46)
            sheets[1].put(x, y, lines[0])
            y = sheets[1].column(x + 46, y + 12, lines[1:]) + 12
    found = read(sheets)
    assert [row["raw"] for row in found.outline["references"]] == wanted


def test_a_table_over_both_columns_has_all_of_its_cells(read: Any) -> None:
    sheet = Sheet()
    sheet.put(130, TOP, "Table 1: What the waiters of all rooms were given at the end of the year.")
    rows = [["Model", "Size", "North", "South", "East", "West"]] + [
        [f"waiter {'abcdef'[row]}", f"{row * 7 + 3}M", *(f"{row * 10 + place}.5" for place in range(4))]
        for row in range(5)
    ]
    for row, cells in enumerate(rows):
        for place, cell in enumerate(cells):
            sheet.put(130 + 62 * place, TOP + 20 + 13 * row + (5 if row else 0), cell, 9)
    filled(sheet, LEFT, 220, 1)
    filled(sheet, RIGHT, 220, 50)
    table = next(block for block in read([sheet]).blocks if block.startswith("|"))
    assert [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "---" not in line
    ] == rows


def test_cells_that_stand_close_are_cells(read: Any) -> None:
    """The white between two cells is 12 points where a table is as tight as LaTeX sets it."""
    sheet = first_sheet()
    y = sheet.column(LEFT, TOP, wrapped(prose(1, 8), 460))
    sheet.put(LEFT + 100, y + 14, "Table 1: What the waiters were given.")
    rows = [
        ["Room", "AAAAA", "BBBBB", "CCCCC", "DDDDD"],
        *([f"no {row}", "12.5", "13.5", "14.5", "15.5"] for row in range(4)),
    ]
    for row, cells in enumerate(rows):
        for place, cell in enumerate(cells):
            sheet.put(LEFT + 100 + 48 * place, y + 32 + 13 * row, cell)
    sheet.column(LEFT, y + 120, wrapped(prose(2, 8), 460))
    table = next(block for block in read([sheet]).blocks if block.startswith("|"))
    assert [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "---" not in line
    ] == rows


def ruled_table(sheet: Sheet, rows: Sequence[Sequence[tuple[float, str]]], y: float, *, rules: Sequence[int]) -> None:
    """Sets rows of cells from a height on, with rulings above the rows of these numbers and below the last."""
    sheet.put(LEFT, y - 14, "Table 1: What waiting costs in each room.", 10)
    for number, row in enumerate(rows):
        if number in rules:
            sheet.rule(LEFT, LEFT + 300, y + 12 * number - 9)
        for x, text in row:
            sheet.put(x, y + 12 * number, text, 9)
    sheet.rule(LEFT, LEFT + 300, y + 12 * len(rows) - 8)


def test_a_table_between_rulings_has_its_columns_though_words_stand_close(read: Any) -> None:
    sheet = first_sheet()
    rows = [
        [(76, "Method"), (150, "Rooms"), (200, "Cost"), (250, "Share")],
        [(76, "Waiting in the hall"), (155, "12"), (200, "0.5"), (250, "97 %")],
        [(76, "Our way"), (155, "3"), (200, "12.25"), (250, "3 %")],
        [(76, "None"), (155, "450"), (200, "-1"), (250, "0 %")],
    ]
    ruled_table(sheet, rows, 300, rules=(0, 1))
    filled(sheet, LEFT, 400, 1, width=460)
    found = read([sheet])
    assert [line for line in found.text.splitlines() if line.startswith("| ")] == [
        "| Method | Rooms | Cost | Share |",
        "| Waiting in the hall | 12 | 0.5 | 97 % |",
        "| Our way | 3 | 12.25 | 3 % |",
        "| None | 450 | -1 | 0 % |",
    ]


def test_columns_of_numbers_that_stand_close_are_columns(read: Any) -> None:
    """As tight as in proceedings: less white than a blank between numbers, and the names of the columns in one piece."""
    sheet = first_sheet()
    rows = [[(76, "Method"), (150, "Top-1 Top-5 Sec")]]
    rows += [
        [(76, name), (152, f"{21.5 + index} {44.25 - index} {3.5 * index + 10}")] for index, name in enumerate("ABCD")
    ]
    ruled_table(sheet, rows, 300, rules=(0, 1))
    filled(sheet, LEFT, 400, 1, width=460)
    found = [line for line in read([sheet]).text.splitlines() if line.startswith("| ")]
    assert found[0] == "| Method | Top-1 | Top-5 | Sec |"
    assert found[2:4] == ["| B | 22.5 | 43.25 | 13.5 |", "| C | 23.5 | 42.25 | 17.0 |"]


def test_numbers_along_the_axis_of_a_figure_are_no_table(read: Any) -> None:
    sheet = first_sheet()
    for x in (LEFT, LEFT + 150, LEFT + 300):
        sheet.put(x, 300, "0.5 1.5 2.5", 9)
        sheet.put(x + 14, 312, "1,000 rooms", 9)
        sheet.put(x + 20, 324, "(1)", 9)
    filled(sheet, LEFT, 400, 1, width=460)
    assert "|" not in read([sheet]).text


def test_a_name_over_two_columns_stands_over_both(read: Any) -> None:
    sheet = first_sheet()
    rows = [
        [(150, "Rooms with a view"), (260, "Others")],
        [(76, "Method"), (150, "first"), (205, "second"), (260, "all")],
        [(76, "Ours"), (150, "0.5"), (205, "0.6"), (260, "0.7")],
        [(76, "Theirs"), (150, "0.1"), (205, "0.2"), (260, "0.3")],
    ]
    ruled_table(sheet, rows, 300, rules=(0, 2))
    sheet.rule(150, 240, 303)
    filled(sheet, LEFT, 400, 1, width=460)
    found = read([sheet])
    assert "|  | Rooms with a view | Rooms with a view | Others |" in found.text
    assert "| Ours | 0.5 | 0.6 | 0.7 |" in found.text


def test_names_over_one_ruling_share_the_columns_below_it(read: Any) -> None:
    sheet = first_sheet()
    rows = [
        [(160, "Mean"), (250, "Max")],
        [(76, "Rooms"), (140, "Loss"), (190, "Error"), (240, "Loss"), (290, "Error")],
        *([(76, name), (140, "0.1"), (190, "0.2"), (240, "0.3"), (290, "0.4")] for name in ("Lobby", "Hall", "Cellar")),
    ]
    ruled_table(sheet, rows, 300, rules=(0, 2))
    sheet.rule(135, 320, 303)
    filled(sheet, LEFT, 400, 1, width=460)
    found = read([sheet])
    assert "|  | Mean | Mean | Max | Max |" in found.text
    assert "| Rooms | Loss | Error | Loss | Error |" in found.text


def test_prose_in_a_frame_is_no_table(read: Any) -> None:
    sheet = first_sheet()
    lines = wrapped(prose(7), 280, 9)
    sheet.rule(LEFT, LEFT + 300, 290)
    sheet.column(LEFT + 4, 302, lines, size=9)
    sheet.rule(LEFT, LEFT + 300, 306 + 11 * len(lines))
    filled(sheet, LEFT, 420, 1, width=460)
    found = read([sheet])
    assert "|---|" not in found.text
    assert prose(7) in found.text


# What the printer put there


@pytest.mark.slow
def test_running_heads_are_named_as_left_out_with_the_reason(read: Any) -> None:
    sheets, _ = pages_of_prose()
    for number, sheet in enumerate(sheets, 1):
        sheet.put(LEFT, 50, "Journal of Rooms, Volume 7", 9)
        sheet.put(300, 745, str(number), 10)
    rows = read(sheets).outline["left_out"]
    assert {row["reason"] for row in rows} == {"furniture"}
    assert [(row["text"], row["page"]) for row in rows if row["page"] == 2] == [
        ("Journal of Rooms, Volume 7", 2),
        ("2", 2),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("leading", [10.0, 12.0, 20.0], ids=["set solid", "usual", "wide"])
def test_lines_of_the_text_at_the_edges_of_each_page_are_no_running_heads(read: Any, leading: float) -> None:
    sheets, wanted = [], []
    for page in range(8):
        sheet = Sheet()
        y, row = 66.0, 0
        while y < 735:
            for x in (LEFT, RIGHT):
                wanted.append(f"Line {row} of page {page} at {int(x)} says what it has to say")
                sheet.put(x, y, wanted[-1], 9)
            y, row = y + leading, row + 1
        sheets.append(sheet)
    found = read(sheets)
    letters = "".join(found.text.split())
    assert [line for line in wanted if "".join(line.split()) not in letters] == []
    assert found.outline["left_out"] == []


def pages_of_prose(count: int = 5, width: float = 460) -> tuple[list[Sheet], list[str]]:
    """Pages of one column, and their paragraphs."""
    sheets, texts = [], []
    for number in range(count):
        sheet = Sheet()
        texts += filled(sheet, LEFT, TOP, 1 + 20 * number, width=width)
        sheets.append(sheet)
    return sheets, texts


@pytest.mark.parametrize(
    ("head", "foot"),
    [
        pytest.param(
            lambda number: "Journal of Rooms, Volume 7",
            lambda number: str(number),
            id="the same head, and a number",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda number: "A. Author and B. Author" if number % 2 else "Slow Waiting in Many Rooms",
            lambda number: str(number),
            id="odd pages name the authors and even ones the title",
        ),
        pytest.param(lambda number: "", lambda number: f"Page {number} of 5", id="Page 3 of 5", marks=pytest.mark.slow),
        pytest.param(lambda number: f"{number}    Waiting", lambda number: "", id="number and name in the head"),
        pytest.param(lambda number: "", lambda number: f"- {number} -", id="a number between dashes"),
    ],
)
def test_running_heads_and_page_numbers_are_no_part_of_the_text(read: Any, head: Any, foot: Any) -> None:
    sheets, texts = pages_of_prose()
    for number, sheet in enumerate(sheets, 1):
        sheet.put(LEFT, 50, head(number), 9)
        sheet.put(300, 745, foot(number), 10)
    found = read(sheets)
    assert [block for block in found.blocks if block not in texts] == []


@pytest.mark.slow
def test_a_page_number_well_above_the_edge_of_the_paper_is_no_part_of_the_text(read: Any) -> None:
    """A book's text is short: its page numbers stand at seven eighths of the page."""
    sheets, texts = pages_of_prose()
    for number, sheet in enumerate(sheets, 1):
        lowest = max(piece.y for piece in sheet.pieces)
        sheet.put(300, max(lowest + 30, 682), str(number))
    assert [block for block in read(sheets).blocks if block not in texts] == []


@pytest.mark.parametrize(
    "step",
    [pytest.param(1, marks=pytest.mark.slow), 5],
    ids=["every line has a number", "every fifth line has a number"],
)
def test_line_numbers_in_the_margin_are_no_part_of_the_text(read: Any, step: int) -> None:
    sheets, texts = pages_of_prose(3)
    count = 0
    for sheet in sheets:
        for piece in list(sheet.pieces):
            count += 1
            if count % step == 0:
                sheet.put(55 - width_of(str(count), 7), piece.y, str(count), 7)
    assert [block for block in read(sheets).blocks if block not in texts] == []


def test_line_numbers_on_both_sides_of_two_columns_are_no_part_of_the_text(read: Any) -> None:
    """One line that runs over the edge of its column does not bring them back."""
    sheet = Sheet()
    left, right = filled(sheet, LEFT, TOP, 1), filled(sheet, RIGHT, TOP, 50)
    lines = list(sheet.pieces)
    for number, piece in enumerate(lines, 101):
        outer = 50.0 if piece.x < 200 else 556.0
        sheet.put(outer, piece.y, str(number), 6)
    overfull = next(index for index, piece in enumerate(lines) if piece.x == RIGHT and width_of(piece.text) > 200)
    sheet.pieces[overfull] = replace(lines[overfull], text=f"{lines[overfull].text} wwwwwww")
    text = read([sheet]).text
    assert re.findall(r"(?<![0-9])1[0-9]{2}(?![0-9])", re.sub(r"room [0-9]+", "", text)) == []
    assert left[0] in text
    assert right[-1] in text


def test_references_that_are_counted_in_the_margin_keep_their_numbers(read: Any) -> None:
    """They count up like the lines of a manuscript, but not every line has one."""
    sheets, _ = pages_of_prose(1)
    sheet = Sheet()
    sheet.put(LEFT, TOP, "References", 14, BOLD)
    y = TOP + 24
    for number in range(1, 15):
        lines = wrapped(f"A. Author{number}. {prose(number, 2)} Journal of Rooms, {1990 + number}.", 430)
        sheet.put(LEFT, y, f"{number}.")
        y = sheet.column(LEFT + 20, y, lines) + 4
    references = read([*sheets, sheet]).outline["references"]
    assert [row["raw"].split()[0] for row in references] == [f"[{number}]" for number in range(1, 15)]


# Lines to paragraphs


@pytest.mark.parametrize(
    ("lines", "whole"),
    [
        (["we look at the general-", "ization of waiters"], "we look at the generalization of waiters"),
        (["it is a state-of-the-", "art waiter"], "it is a state-of-the-art waiter"),
        (["the well-known room, and a well-", "known waiter"], "the well-known room, and a well-known waiter"),
        (["as was shown by Smith-", "Jones in the rooms"], "as was shown by Smith-Jones in the rooms"),
        (["see https://example.org/rooms/", "waiters.html for more"], "see https://example.org/rooms/waiters.html for more"),
        (["see https://www.", "example.org/rooms/all for more"], "see https://www.example.org/rooms/all for more"),
        (["see https://doi.org/10.", "1234/rooms.5 for more"], "see https://doi.org/10.1234/rooms.5 for more"),
        (["we ask https://example.org.", "Then we wait."], "we ask https://example.org. Then we wait."),
    ],
    ids=[
        "a word that the printer broke",
        "a compound that breaks at its last hyphen",
        "a compound that stands elsewhere in one line",
        "a double name",
        "an address cut at a slash",
        "an address cut in the name of the host",
        "an identifier cut at a full stop",
        "an address at the end of a sentence",
    ],
)  # fmt: skip
def test_what_the_end_of_a_line_cut_is_whole_again(read: Any, lines: list[str], whole: str) -> None:
    sheet = first_sheet()
    before, after = wrapped(prose(1, 3), 460), wrapped(f"{lines[1]} {prose(2, 3)}", 460)
    cut = wrapped(prose(3, 3), 460 - width_of(f" {lines[0]}"))[0]
    sheet.column(LEFT, TOP, [*before[:-1], f"{cut} {lines[0]}", *after])
    assert whole in read([sheet]).text


def test_a_footnote_stands_apart_and_whole(read: Any) -> None:
    """The mark before it is smaller than its words."""
    sheet = Sheet()
    filled(sheet, LEFT, TOP, 1, until=600)
    filled(sheet, RIGHT, TOP, 50)
    note = (
        "This holds for all of the rooms that were open in the year of the study, as long as nobody had to wait outside, "
        "which is rare in any of them."
    )
    lines = wrapped(note, COLUMN - 12, 8)
    assert len(lines) > 2
    sheet.put(LEFT + 6, 662, "1", 6)
    sheet.put(LEFT + 10, 664, lines[0], 8)
    sheet.column(LEFT, 674, lines[1:], size=8)
    assert f"[^1]: {note}" in read([sheet]).blocks


def test_a_caption_stands_apart_and_the_paragraph_around_it_is_whole(read: Any) -> None:
    sheet = Sheet()
    text = prose(3, 6)
    lines = wrapped(text, 460)
    y = sheet.column(LEFT, TOP, [f"\t{lines[0]}", *lines[1:3]])
    sheet.put(250, y + 30, "encoder", 8, SANS)
    sheet.put(330, y + 50, "reward", 8, SANS)
    caption = "Figure 1: The encoder and its reward, as they stand in the first of the rooms. The arrows are ours."
    y = sheet.column(LEFT, y + 90, wrapped(caption, 460)) + 20
    y = sheet.column(LEFT, y, lines[3:])
    filled(sheet, LEFT, y, 10, width=460)
    found = read([sheet])
    assert found.starting("> **Figure 1.**") == f"> **Figure 1.** {caption.partition(': ')[2]}"
    assert text in found.blocks


@pytest.mark.parametrize(
    ("printed_label", "label"),
    [("Table 2: ", "Table 2"), ("TABLE II. ", "TABLE II"), ("Fig. 3. ", "Fig. 3"), ("Figure A.1: ", "Figure A.1")],
    ids=["Table 2:", "Roman number and full stop", "short name and full stop", "of an appendix"],
)
def test_captions_are_known_by_their_labels(read: Any, printed_label: str, label: str) -> None:
    sheet = Sheet()
    y = sheet.column(LEFT, TOP, wrapped(prose(1, 5), 460)) + 24
    y = sheet.column(LEFT, y, [f"{printed_label}What the waiters of the rooms were given."]) + 24
    sheet.column(LEFT, y, wrapped(prose(2, 5), 460))
    assert f"> **{label}.** What the waiters of the rooms were given." in read([sheet]).blocks


def test_a_list_has_its_items_one_by_one(read: Any) -> None:
    sheet = Sheet()
    y = sheet.column(LEFT, TOP, wrapped(prose(1, 4), 460)) + 6
    items = [prose(seed, 2) for seed in (5, 6, 7)]
    for item in items:
        lines = wrapped(item, 420)
        sheet.put(LEFT + 12, y, "\u2022")
        y = sheet.column(LEFT + 24, y, lines) + 6
    sheet.column(LEFT, y, wrapped(prose(2, 4), 460))
    assert [block for block in read([sheet]).blocks if block.startswith("- ")] == [f"- {item}" for item in items]


# Headings


def chaptered(headings: Sequence[tuple[str, float, str]], width: float = 460, x: float = LEFT) -> list[Sheet]:
    """Pages on which prose follows each heading: text (lines with a bar between), size, font."""
    sheets = [first_sheet()]
    y = TOP
    for index, (text, size, font) in enumerate(headings):
        if y > FOOT - 160:
            sheets.append(Sheet())
            y = TOP
        y = sheets[-1].column(x, y + 18, text.split("|"), size=size, font=font) + 8
        y = sheets[-1].column(x, y, wrapped(prose(index + 1, 5), width))
    return sheets


SECTIONS = [("1 Introduction", 14, BOLD), ("2 Rooms", 14, BOLD)]
RESULTS = ("3 Results", 14, BOLD)
HEADINGS = [
    pytest.param(
        [*SECTIONS, ("2.1 Doors: open, or not?", 12, BOLD), ("2.1.1 Keys", 10, BOLD), ("2.2 Windows", 12, BOLD), RESULTS,
         ("Acknowledgments", 14, BOLD), ("A Proofs", 14, BOLD), ("A.1 A lemma", 12, BOLD)],
        ["## 1 Introduction", "## 2 Rooms", "### 2.1 Doors: open, or not?", "#### 2.1.1 Keys", "### 2.2 Windows", "## 3 Results",
         "## Acknowledgments", "## A Proofs", "### A.1 A lemma"],
        id="numbers give the levels"),
    pytest.param(
        [*SECTIONS, ("Doors and keys", 10, SANS), ("Windows", 10, SANS), RESULTS],
        ["## 1 Introduction", "## 2 Rooms", "### Doors and keys", "### Windows", "## 3 Results"],
        id="a font of their own, neither bold nor large"),
    pytest.param(
        [("1.1 Doors", 12, BOLD), ("1.2 Windows", 12, BOLD), ("2.1 Stairs", 12, BOLD), ("2.2 Lifts", 12, BOLD)],
        ["### 1.1 Doors", "### 1.2 Windows", "### 2.1 Stairs", "### 2.2 Lifts"],
        id="below chapters whose numbers are drawn"),
    pytest.param(
        [*SECTIONS, ("2.1 Doors", 10, ROMAN), ("2.1.1 Keys", 10, BOLD), ("2.2 Windows", 12, BOLD), RESULTS],
        ["## 1 Introduction", "## 2 Rooms", "#### 2.1.1 Keys", "### 2.2 Windows", "## 3 Results"],
        id="one set like the text takes no others with it"),
    pytest.param(
        [("I. INTRODUCTION", 10, BOLD), ("II. ROOMS", 10, BOLD), ("A. Doors", 10, ITALIC), ("1. Keys", 10, ITALIC),
         ("2. Locks", 10, ITALIC), ("B. Windows", 10, ITALIC), ("III. RESULTS", 10, BOLD), ("A. Waiting", 10, ITALIC),
         ("IV. END", 10, BOLD)],
        ["## I. INTRODUCTION", "## II. ROOMS", "### A. Doors", "#### 1. Keys", "#### 2. Locks", "### B. Windows",
         "## III. RESULTS", "### A. Waiting", "## IV. END"],
        id="Roman sections with lettered and counted ones"),
    pytest.param(
        [*SECTIONS, ("Proposition 4.2 (Rooms are finite).", 10, BOLD), RESULTS],
        ["## 1 Introduction", "## 2 Rooms", "## 3 Results"],
        id="a proposition with a name is none"),
    pytest.param(
        [("1 I N T R O D U C T I O N", 14, BOLD), ("2 R O O M S", 14, BOLD), ("A B and C", 14, BOLD)],
        ["## 1 INTRODUCTION", "## 2 ROOMS", "## A B and C"],
        id="letter-spaced words are closed up"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "headings"), HEADINGS)
def test_headings_are_found_with_their_levels(
    read: Any, rows: list[tuple[str, float, str]], headings: list[str]
) -> None:
    found = read(chaptered(rows)).headings
    assert [heading for heading in found if heading.lstrip("# ") != "2.1 Doors"] == headings


def test_headings_without_white_above_them_are_found_by_number_and_face(read: Any) -> None:
    sheet, y = first_sheet(), TOP
    for index, heading in enumerate(("1 Introduction", "2 Rooms", "2.1 Doors", "3 Results")):
        y = sheet.column(LEFT, y, [heading], size=12, font=BOLD) - 2.4
        y = sheet.column(LEFT, y, wrapped(prose(index + 1, 5), 460))
    assert read([sheet]).headings == ["## 1 Introduction", "## 2 Rooms", "### 2.1 Doors", "## 3 Results"]


def run_in(heading: str, font: str, index: int, sheet: Sheet, y: float) -> float:
    """Sets a heading with the text behind it in its line."""
    lines = wrapped(prose(index, 5), 460)
    sheet.put(LEFT, y, heading, 10, font)
    sheet.put(LEFT + width_of(heading) + 8, y, lines[0][:40].rsplit(" ", 1)[0], 10)
    return sheet.column(LEFT, y + 12, lines[1:]) + 14


@pytest.mark.parametrize(
    ("font", "ends", "headings"),
    [
        pytest.param(BOLD, ".", ["2.1. Doors", "2.2. Windows"], id="bold words and a full stop"),
        pytest.param(ITALIC, ":", ["2.1 Doors", "2.2 Windows"], id="italics and a colon"),
    ],
)
def test_a_numbered_heading_ends_where_the_text_goes_on_in_its_line(
    read: Any, font: str, ends: str, headings: list[str]
) -> None:
    sheets = chaptered([("1 Introduction", 14, BOLD), ("2 Rooms", 14, BOLD)])
    sheets.append(Sheet())
    y = TOP
    for index, heading in enumerate(headings):
        y = run_in(heading + ends, font, 70 + index, sheets[-1], y)
    y = sheets[-1].column(LEFT, y + 18, ["3 Results"], size=14, font=BOLD) + 8
    sheets[-1].column(LEFT, y, wrapped(prose(80, 5), 460))
    found = read(sheets)
    assert found.headings == ["## 1 Introduction", "## 2 Rooms", *(f"### {one}" for one in headings), "## 3 Results"]
    assert " ".join(prose(70, 5).split()[:4]) in found.text


def test_a_list_in_bold_words_is_no_section(read: Any) -> None:
    sheets = chaptered([("1 Introduction", 14, BOLD), ("2 Rooms", 14, BOLD), ("3 Results", 14, BOLD)])
    sheets.append(Sheet())
    y = TOP
    for index in range(4):
        y = run_in(f"{index + 1}) Wait.", BOLD, 70 + index, sheets[-1], y)
    assert read(sheets).headings == ["## 1 Introduction", "## 2 Rooms", "## 3 Results"]


@pytest.mark.parametrize("gap", [1.2, 1.9], ids=["set close", "set wide apart"])
def test_a_bold_heading_over_three_lines_is_one_however_far_they_stand_apart(read: Any, gap: float) -> None:
    sheets = chaptered([("1 Introduction", 14, BOLD), ("2 Rooms", 14, BOLD)])
    sheets.append(Sheet())
    y = sheets[-1].column(LEFT, TOP, wrapped(prose(50, 5), 460)) + 40
    for line in ("3 What is left of the", "rooms when all", "have waited"):
        sheets[-1].put(LEFT, y, line, 14, BOLD)
        y += 14 * gap
    sheets[-1].column(LEFT, y + 20, wrapped(prose(51, 5), 460))
    assert read(sheets).headings[-1] == "## 3 What is left of the rooms when all have waited"


def test_the_number_of_a_chapter_stands_above_its_title(read: Any) -> None:
    sheets: list[Sheet] = []
    for number, name in enumerate(("Introduction", "Rooms", "Results"), 1):
        sheet = Sheet() if sheets else first_sheet()
        sheet.put(LEFT, 120, f"Chapter {number}", 14, BOLD)
        sheet.put(LEFT, 150, name, 16, BOLD)
        y = sheet.column(LEFT, 200, wrapped(prose(number, 6), 460)) + 20
        sheet.put(LEFT, y, f"{number}.1 Doors", 12, BOLD)
        sheet.column(LEFT, y + 24, wrapped(prose(number + 10, 6), 460))
        sheets.append(sheet)
    assert read(sheets).headings == [
        "## 1 Introduction", "### 1.1 Doors", "## 2 Rooms", "### 2.1 Doors", "## 3 Results", "### 3.1 Doors",
    ]  # fmt: skip


def test_a_heading_of_five_lines_is_one_heading(read: Any) -> None:
    sheet = first_sheet()
    filled(sheet, LEFT, TOP, 1)
    lines = [
        "2 A Theory of the Rooms of",
        "the Second Kind with Doors",
        "That Open in Both Directions",
        "and of Waiters Who Do Not",
        "Know Which of Them",
    ]
    y = sheet.column(RIGHT, TOP, ["1 Introduction"], size=14, font=BOLD) + 6
    y = sheet.column(RIGHT, y, wrapped(prose(60, 4))) + 14
    y = sheet.column(RIGHT, y, lines, size=14, font=BOLD) + 6
    filled(sheet, RIGHT, y, 50)
    assert read([sheet]).headings == ["## 1 Introduction", f"## {' '.join(lines)}"]


def test_a_heading_whose_words_are_spread_over_a_narrow_column_is_one(read: Any) -> None:
    sheet = first_sheet()
    filled(sheet, LEFT, TOP, 1)
    y = sheet.column(RIGHT, TOP, ["1 Introduction"], size=14, font=BOLD) + 6
    y = sheet.column(RIGHT, y, wrapped(prose(60, 4))) + 14
    for x, word in zip((0, 24, 96, 162, 212), ("2", "Doors,", "Keys,", "and", "Is"), strict=True):
        sheet.put(RIGHT + x, y, word, 14, BOLD)
    sheet.put(RIGHT + 24, y + 17, "There a Window", 14, BOLD)
    filled(sheet, RIGHT, y + 40, 50)
    assert read([sheet]).headings == ["## 1 Introduction", "## 2 Doors, Keys, and Is There a Window"]


def test_the_last_of_the_lettered_appendices_has_its_letter_before_the_references_too(read: Any) -> None:
    rows = [
        ("1 Introduction", 14, BOLD),
        ("2 Rooms", 14, BOLD),
        ("A Proofs", 14, BOLD),
        ("A.1 A lemma", 12, BOLD),
        ("B Tables", 14, BOLD),
        ("References", 14, BOLD),
    ]
    sections = read(chaptered(rows)).outline["sections"]
    assert [(row["number"], row["title"]) for row in sections][-3:] == [
        ("A.1", "A lemma"),
        ("B", "Tables"),
        (None, "References"),
    ]


def test_the_lines_of_a_contents_page_are_no_headings(read: Any) -> None:
    rows = [
        ("1 Introduction", 14, BOLD),
        ("2 Rooms", 14, BOLD),
        ("2.1 Doors", 12, BOLD),
        ("3 Results", 14, BOLD),
        ("4 Outlook", 14, BOLD),
    ]
    contents = Sheet()
    contents.put(LEFT, TOP, "Contents", 14, BOLD)
    for index, (text, _, _) in enumerate(rows):
        bold = BOLD if "." not in text else ROMAN
        contents.put(LEFT, TOP + 26 + 16 * index, text, 10, bold)
        contents.put(LEFT + 440, TOP + 26 + 16 * index, f"{index + 2}", 10, bold)
    found = read([contents, *chaptered(rows)]).headings
    assert [heading for heading in found if "Contents" not in heading] == [
        "## 1 Introduction", "## 2 Rooms", "### 2.1 Doors", "## 3 Results", "## 4 Outlook",
    ]  # fmt: skip


def test_a_pdfs_own_outline_gives_headings_without_numbers_their_levels(read: Any) -> None:
    """Nothing in their type tells the levels apart."""
    rows = [("Waiting Rooms", 12, BOLD), ("Doors", 12, BOLD), ("Keys of Iron", 12, BOLD), ("Opening Hours", 12, BOLD)]
    marks = [("Waiting Rooms", 0, 0), ("Doors", 1, 0), ("Keys of Iron", 2, 0), ("Opening Hours", 0, 0)]
    found = read(chaptered(rows), marks).headings
    assert found == ["## Waiting Rooms", "### Doors", "#### Keys of Iron", "## Opening Hours"]


@pytest.mark.parametrize("name", ["Abstract.", "Abstract\u2014", "ABSTRACT:"])
def test_an_abstract_that_begins_in_the_line_of_its_name_is_whole(read: Any, name: str) -> None:
    sheet = first_sheet()
    text = prose(1, 5)
    y = sheet.column(LEFT, 110, wrapped(f"{name} {text}", 460)) + 14
    y = sheet.column(LEFT, y, ["1 Introduction"], size=14, font=BOLD) + 6
    filled(sheet, LEFT, y, 10, width=460)
    assert read([sheet]).outline["abstract"] == text


def test_bold_headings_without_numbers_stand_one_level_below_numbered_ones(read: Any) -> None:
    sheet = first_sheet()
    y = 110.0
    for number, name in enumerate(("1 Introduction", "2 The Rooms", "3 The End"), 1):
        sheet.put(LEFT, y, name, 12, BOLD)
        y = sheet.column(LEFT, y + 20, wrapped(prose(number, 2), 460)) + 8
        for part in ("Doors and Windows", "Chairs"):
            sheet.put(LEFT, y, f"{part} {'ABC'[number - 1]}x", 10, BOLD)
            y = sheet.column(LEFT, y + 16, wrapped(prose(10 * number, 2), 460)) + 8
    found = read([sheet])
    assert found.headings[:4] == ["## 1 Introduction", "### Doors and Windows Ax", "### Chairs Ax", "## 2 The Rooms"]
    assert len(found.headings) == 9


def test_bold_words_of_a_figure_are_no_headings(read: Any) -> None:
    sheet = first_sheet()
    sheet.put(LEFT, 110, "1 Introduction", 12, BOLD)
    y = sheet.column(LEFT, 130, wrapped(prose(1, 2), 460)) + 40
    for x, word in ((90, "Waiting Room"), (250, "Entrance Hall"), (400, "Way Out")):
        sheet.put(x, y, word, 8, BOLD)
        sheet.put(x, y + 40, word[::-1].title(), 8, BOLD)
    sheet.put(LEFT, y + 80, "Figure 1: The rooms.", 9)
    y = sheet.column(LEFT, y + 110, wrapped(prose(2, 2), 460)) + 14
    sheet.put(LEFT, y, "2 The Rooms", 12, BOLD)
    sheet.column(LEFT, y + 20, wrapped(prose(3, 2), 460))
    assert read([sheet]).headings == ["## 1 Introduction", "## 2 The Rooms"]


def test_references_that_go_on_counting_are_no_headings(read: Any) -> None:
    sheet = first_sheet()
    y = 110.0
    for number, name in enumerate(("1 Introduction", "2 The Rooms", "3 The End"), 1):
        sheet.put(LEFT, y, name, 12, BOLD)
        y = sheet.column(LEFT, y + 20, wrapped(prose(number, 2), 460)) + 14
    sheet.put(LEFT, y, "References", 12, BOLD)
    y += 24
    for number in range(1, 8):
        text = f"{number}. Author, A.: Waiting in room {number}. In: Rooms, pp. 1-9. Press (200{number})"
        sheet.put(LEFT, y, text, 8.5, SANS)
        y += 16
    assert read([sheet]).headings == ["## 1 Introduction", "## 2 The Rooms", "## 3 The End", "## References"]


def test_the_name_of_a_periodical_is_no_title(read: Any) -> None:
    sheet = Sheet()
    sheet.put(200, 50, "Contents lists available at RoomDirect", 8)
    sheet.put(180, 72, "Rooms and Halls", 20, SANS)
    sheet.put(200, 92, "journal homepage: www.example.org/rooms", 8)
    sheet.put(LEFT, 130, "A study of slow waiting in many rooms", 15, BOLD)
    sheet.put(LEFT, 150, "Ann Author and Ben Writer", 11)
    filled(sheet, LEFT, 200, 1, width=460)
    assert read([sheet]).reading.title == "A study of slow waiting in many rooms"


# References


def test_references_that_close_a_paper_without_a_name_are_references(read: Any) -> None:
    sheets = chaptered([("1 Introduction", 14, BOLD), ("2 Rooms", 14, BOLD)])
    sheets.append(Sheet())
    y = sheets[-1].column(LEFT, TOP, wrapped(prose(30, 5), 460)) + 20
    rows = [f"[{number}] A. Author, Journal of Rooms {number}, 12 ({1990 + number})." for number in range(1, 9)]
    sheets[-1].column(LEFT, y, rows)
    found = read(sheets)
    assert found.headings[-1] == "## References"
    assert [row["raw"] for row in found.outline["references"]] == rows


def test_numbers_in_brackets_within_the_text_begin_no_references(read: Any) -> None:
    sheets = [first_sheet(), Sheet()]
    y = TOP
    for number in range(1, 7):
        y = sheets[-1].column(
            LEFT,
            y,
            [f"[{number}] {line}" if not index else line for index, line in enumerate(wrapped(prose(number, 9), 460))],
        )
    assert "References" not in read(sheets).text


@pytest.mark.parametrize("number", ["(1)", "(2.13)", "(A1)"])
def test_the_number_of_a_formula_may_stand_on_its_left(read: Any, number: str) -> None:
    sheet = first_sheet()
    y = sheet.column(LEFT, 150, wrapped(prose(1, 4), 460)) + 20
    sheet.put(LEFT, y, number)
    sheet.put(LEFT + 190, y, "y = x + 2z")
    sheet.column(LEFT, y + 24, wrapped(prose(2, 4), 460))
    assert f"$$ y = x + 2z \\tag{{{number[1:-1]}}} $$" in read([sheet]).text


@pytest.mark.parametrize(
    "columns", [1, pytest.param(2, marks=pytest.mark.slow)], ids=["in one column", "in two columns"]
)
def test_references_without_labels_are_told_apart_by_their_indents(read: Any, columns: int) -> None:
    width = COLUMN if columns == 2 else 460
    sheets, _ = pages_of_prose(1) if columns == 1 else ([first_sheet()], [])
    if columns == 2:
        filled(sheets[0], LEFT, 130, 1)
        filled(sheets[0], RIGHT, 130, 50)
    sheet = Sheet()
    sheet.put(LEFT, TOP, "References", 14, BOLD)
    wanted = []
    for x, start in ((LEFT, TOP + 24), (RIGHT, TOP))[:columns]:
        y = start
        for number in range(12):
            wanted.append(
                f"Author{'abcdefghijkl'[number]}, A. and Other, B. {prose(int(x) + number, 1)} Journal of Rooms, {1980 + number}."
            )
            lines = wrapped(wanted[-1], width - 12)
            sheet.put(x, y, lines[0])
            y = sheet.column(x + 12, y + 12, lines[1:])
    assert [row["raw"] for row in read([*sheets, sheet]).outline["references"]] == wanted


def test_references_without_indents_are_told_apart_by_the_white_between_them(read: Any) -> None:
    sheets, _ = pages_of_prose(1)
    sheet = Sheet()
    sheet.put(LEFT, TOP, "References", 14, BOLD)
    wanted, y = [], TOP + 24.0
    for number in range(14):
        wanted.append(
            f"A. Author and B. Other. {prose(number + 3, 1)} And in all other rooms. Journal of Rooms, {1980 + number}."
        )
        y = sheet.column(LEFT, y, wrapped(wanted[-1], 460)) + 6
    assert [row["raw"] for row in read([*sheets, sheet]).outline["references"]] == wanted


# Anything at all

WORDS = st.sampled_from(sorted({*NOUNS, *VERBS, *" ".join([*OBJECTS, *ENDINGS]).split()}))
PLACES = st.builds(
    Piece,
    x=st.floats(20, 560),
    y=st.floats(20, 770),
    text=st.lists(WORDS, min_size=1, max_size=6).map(" ".join),
    size=st.sampled_from([6.0, 8.0, 10.0, 14.0, 24.0]),
    font=st.sampled_from(FONTS),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PLACES, min_size=1, max_size=40))
def test_whatever_stands_wherever_on_a_page_it_is_read_without_a_fault(tmp_path: Path, pieces: list[Piece]) -> None:
    path = tmp_path / "anything.pdf"
    path.write_bytes(printed([Sheet(pieces)]))
    first, again = read_pdf(str(path)), read_pdf(str(path))
    assert first == again


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=12, max_size=40), st.booleans())
def test_every_word_of_a_page_is_in_its_text(tmp_path: Path, rows: list[list[str]], two: bool) -> None:
    """One below the other, in one column or in two, with a paragraph below them."""
    sheet = Sheet()
    half = (len(rows) + 1) // 2 if two else len(rows)
    sheet.column(LEFT, TOP, (" ".join(row) for row in rows[:half]))
    sheet.column(RIGHT, TOP, (" ".join(row) for row in rows[half:]))
    sheet.column(LEFT, TOP + 12 * len(rows) + 30, wrapped(prose(1), 468))
    path = tmp_path / "words.pdf"
    path.write_bytes(printed([sheet]))
    wanted = " ".join([prose(1), *(word for row in rows for word in row)])
    found = Counter(re.findall(r"[a-z]+", " ".join(read_pdf(str(path)).pages).lower()))
    assert Counter(re.findall(r"[a-z]+", wanted.lower())) - found == Counter()
