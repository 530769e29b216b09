"""PDFium's characters decide what stands on a page: lines that the engine drops come back, and formulas are made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.readers.markdown import paper_document
from phases.readers.pdf.characters import TextLine, box_around, mend_letters
from phases.readers.pdf.crosscheck import fold, items_of_lines, with_dropped, with_subscripts, with_symbols
from phases.readers.pdf.formulas import latex_of, with_braces
from phases.readers.pdf.page import BoundingBox, Character, Item
from phases.readers.pdf.reader import read_pdf
from phases.readers.pdf.scan import open_pdf
from phases.readers.reading import NO_TEXT, OK, PARTIAL
from tests.papers import example_reading, pdf, scan

WIDE = 5.0


def set_line(text: str, x: float = 70.0, y: float = 100.0, size: float = 10.0, font: str = "Times") -> list[Character]:
    """The characters of a line, each as wide as the others, on a base line."""
    found, blank = [], False
    for index, sign in enumerate(text):
        box = BoundingBox(x + WIDE * index, y - 0.7 * size, x + WIDE * index + WIDE, y)
        if not sign.isspace():
            found.append(Character(sign, box, size, font, blank))
        blank = sign.isspace()
    return found


class Printed:
    """A page's text as PDFium gives it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def lines(self) -> Iterator[TextLine]:
        """All lines, the first at the top."""
        for index, line in enumerate(self._lines):
            yield TextLine(line, index)

    def characters(self, line: TextLine) -> list[Character]:
        """Those of one line."""
        return set_line(line.text, y=100.0 + 12 * line.start)


def given_items(lines: Sequence[str], kept: Sequence[int]) -> list[Item]:
    """What an engine makes of these lines, but for those that it drops."""
    return [
        Item(line, BoundingBox(70, 91 + 12 * index, 70 + WIDE * len(line), 103 + 12 * index), 10, "Times", False, False)
        for index, line in enumerate(lines)
        if index in kept
    ]


LINES = [
    "rounds, in which the pages to be sent",
    "n are those of round n − 1 (all pages",
    "are sent in the first round)",
]


def test_a_line_that_the_engine_drops_comes_back_in_its_place() -> None:
    items = given_items(LINES, (0, 2))
    found = with_dropped(items, Printed(LINES), " ".join(item.text for item in items), [])  # type: ignore[arg-type]
    assert [item.text for item in sorted(found, key=lambda item: item.box.y0)] == LINES


@pytest.mark.parametrize(
    ("line", "given"),
    [
        pytest.param(
            "Here \U0001d465 holds for all runs of the group", "Here holds for all runs of the group", id="a letter"
        ),
        pytest.param("trained for all runs of the group 10 times", "trained for all runs of the group times", id="a number"),
    ],
)  # fmt: skip
def test_no_figure_and_no_letter_of_mathematics_is_let_go(line: str, given: str) -> None:
    items = given_items([given], (0,))
    (found,) = with_dropped(items, Printed([line]), given, [])  # type: ignore[arg-type]
    assert fold(found.text) == fold(line)


def test_the_small_number_of_a_line_of_code_is_no_loss() -> None:
    class Code(Printed):
        def characters(self, line: TextLine) -> list[Character]:
            return [*set_line("1", size=5.0), *set_line(line.text[2:], x=85.0)]

    items = given_items(["   for each of the rooms wait"], (0,))
    assert with_dropped(items, Code(["1 for each of the rooms wait"]), items[0].text, []) == items  # type: ignore[arg-type]


def test_a_letter_beyond_the_first_plane_moves_no_place(tmp_path: Path) -> None:
    """PDFium counts it as two places: what stands behind it in the page's text has its own box and font all the same."""
    path = tmp_path / "paper.pdf"
    path.write_bytes(with_map(pdf([["ab cd", "the next line of the page"]]), {"a": "\U0001d44e", "c": "\U0001d450"}))
    with open_pdf(str(path), None) as scan_of, scan_of.page(1) as page:
        text = page.text()
        assert text is not None
        first, second = text.lines()
        assert first.text == "\U0001d44eb \U0001d450d"
        assert "".join(one.text for one in text.characters(second)) == "thenextlineofthepage".replace("a", "\U0001d44e")
        assert [round(one.box.x0) for one in text.characters(first)][:2] == [60, 67]


MISNAMED = {"=": "Z", "+": "C", "(": "ð", ")": "Þ", "[": "½", "<": "!"}
"""What fonts of some publishers' typesetting say that their signs are."""


def test_a_letter_that_is_drawn_as_a_sign_is_that_sign(tmp_path: Path) -> None:
    lines = ["We set g(x) = [a + b < y for all the rooms", "of the house, and a Zebra (or two) is in each of them."]
    path = tmp_path / "paper.pdf"
    path.write_bytes(with_map(pdf([lines]), MISNAMED))
    with open_pdf(str(path), None) as scan_of, scan_of.page(1) as page:
        text = page.text()
        assert text is not None
        assert [line.text for line in text.lines()] == lines
    read = paper_document(read_pdf(str(path)), "0" * 64, "pdf").text
    assert all(line in read.replace("\n", " ") for line in lines), read


def test_letters_that_are_drawn_as_themselves_stay(tmp_path: Path) -> None:
    lines = ["K Z w P ! C O N À ð Þ ½ ¼ þ Q", "Zhang and Koh wrote PP! K = Z"]
    path = tmp_path / "paper.pdf"
    path.write_bytes(pdf([lines]))
    with open_pdf(str(path), None) as scan_of, scan_of.page(1) as page:
        text = page.text()
        assert text is not None
        assert (text.doubtful_letters, [line.text for line in text.lines()]) == ([], lines)


def with_map(content: bytes, letters: Mapping[str, str]) -> bytes:
    """The PDF with a font that says these letters are others (ToUnicode); the table of places is mended by who reads it."""
    rows = "\n".join(f"<{ord(letter):02x}> <{other.encode('utf-16-be').hex()}>" for letter, other in letters.items())
    stream = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def /CMapType 2 def\n"
        "1 begincodespacerange <00> <ff> endcodespacerange\n"
        f"{len(letters)} beginbfchar\n{rows}\nendbfchar\nendcmap end end"
    ).encode()
    mapped = content.replace(b"/Encoding /WinAnsiEncoding", b"/Encoding /WinAnsiEncoding /ToUnicode 9 0 R")
    return mapped.replace(
        b"3 0 obj", b"9 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n3 0 obj" % (len(stream), stream), 1
    )


def test_what_nobody_sees_does_not_come_back() -> None:
    items = given_items(LINES, (0, 2))
    unseen = [BoundingBox(60, 103, 500, 115)]
    assert with_dropped(items, Printed(LINES), " ".join(item.text for item in items), unseen) == items  # type: ignore[arg-type]


@pytest.mark.slow
@given(
    st.lists(st.text("abcdefghij ×±−≈0123456789.", min_size=1, max_size=40), min_size=1, max_size=8),
    st.sets(st.integers(0, 7)),
)
def test_every_letter_of_the_page_is_in_its_items(lines: list[str], kept: set[int]) -> None:
    items = given_items(lines, sorted(kept))
    found = with_dropped(items, Printed(lines), " ".join(item.text for item in items), [])  # type: ignore[arg-type]
    have = fold("".join(item.text for item in found))
    assert all(have.count(sign) >= 1 for line in lines for sign in fold(line))
    for line in lines:
        assert len(fold(line)) < 5 or fold(line) in have


def test_a_line_that_is_there_is_not_given_twice() -> None:
    items = given_items(LINES, (0, 1, 2))
    assert with_dropped(items, Printed(LINES), " ".join(LINES), []) == items  # type: ignore[arg-type]


def test_lam_and_alef_of_one_glyph_stand_in_their_order() -> None:
    class Arabic(Printed):
        def characters(self, line: TextLine) -> list[Character]:
            one, two = BoundingBox(80, 93, 85, 100), BoundingBox(70, 93, 78, 100)
            return [Character("خ", one, 10, "T"), Character("ا", two, 10, "T"), Character("ل", two, 10, "T")]

    assert [item.text for item in items_of_lines(Arabic(["خال"]), [])] == ["خلا"]  # type: ignore[arg-type]


def placed(text: str, x: float, y: float, size: float = 10.0, font: str = "CMMI10") -> list[Character]:
    """Signs side by side, without blanks."""
    return [
        Character(sign, BoundingBox(x + 5 * index, y - 0.7 * size, x + 5 * index + 5, y), size, font)
        for index, sign in enumerate(text)
    ]


def test_a_fraction_stands_over_its_bar() -> None:
    signs = [*placed("y=", 50, 100), *placed("a+b", 70, 92), *placed("cd", 72, 108)]
    assert latex_of(signs, [BoundingBox(69, 97, 86, 97.5)]) == r"y= \frac{a+b}{cd}"


def test_limits_stand_below_and_above_their_sum() -> None:
    total = [Character("∑", BoundingBox(60, 90, 72, 104), 10, "CMEX10")]
    signs = [*total, *placed("k=1", 60, 112, 7, "CMMI7"), *placed("d", 64, 88, 7, "CMMI7"), *placed("x", 75, 100)]
    found = latex_of([*signs, *placed("k", 80, 102, 7, "CMMI7")], [])
    assert found.replace(" ", "") == r"\sum_{k=1}^{d}x_{k}"


def test_raised_and_lowered_letters_are_scripts() -> None:
    signs = [*placed("x", 50, 100), *placed("i", 55, 102, 7), *placed("2", 55, 95, 7), *placed("+1", 62, 100)]
    assert latex_of(signs, []).replace(" ", "") == "x_{i}^{2}+1"


def test_lines_behind_a_tall_brace_are_cases() -> None:
    pieces = [
        Character(sign, BoundingBox(70, 80 + 10 * index, 75, 90 + 10 * index), 10, "CMEX10")
        for index, sign in enumerate("\uf8f1\uf8f2\uf8f3")
    ]
    signs = [*placed("f=", 50, 98), *pieces, *placed("0,x", 80, 90), *placed("1,y", 80, 106)]
    assert latex_of(signs, []).replace(" ", "") == r"f=\begin{cases}0,x\\1,y\end{cases}"


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abxyz012=+−∑∫√{}()⟨,.\uf8f1\uf8f2"),
            st.integers(0, 120),
            st.integers(0, 60),
            st.sampled_from([5.0, 7.0, 10.0, 0.0]),
            st.sampled_from(["CMMI10", "CMR10", "CMEX10", ""]),
        ),
        max_size=30,
    ),
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 60), st.integers(1, 60)), max_size=5),
)
def test_wherever_signs_stand_their_formula_has_all_letters(
    signs: list[tuple[str, int, int, float, str]], bars: list[tuple[int, int, int]]
) -> None:
    characters = [Character(sign, BoundingBox(x, y, x + 5, y + 7), size, font) for sign, x, y, size, font in signs]
    found = latex_of(characters, [BoundingBox(x, y, x + wide, y + 0.5) for x, y, wide in bars])
    for sign in "abxyz012":
        wanted = sum(one.text == sign for one in characters)
        assert found.count(sign) >= wanted


def test_a_paper_of_which_pages_are_pictures_alone_is_partial_and_says_which(tmp_path: Path) -> None:
    path = tmp_path / "paper.pdf"
    lines = ["# Slow Waiting", *["Waiting is old, and it has been studied many times."] * 20]
    path.write_bytes(with_pictures(pdf([lines, lines, lines, [], []]), (4, 5)))
    reading = read_pdf(str(path))
    assert (reading.verdict, reading.detail) == (
        PARTIAL,
        "2 of 5 pages give no text, they are damaged or pictures: 4, 5",
    )
    assert "studied many times" in reading.pages[0]


def test_an_empty_page_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "paper.pdf"
    lines = ["# Slow Waiting", *["Waiting is old, and it has been studied many times."] * 20]
    path.write_bytes(pdf([lines, [], lines, []]))
    assert read_pdf(str(path)).verdict == OK


def test_a_scan_without_text_has_none(tmp_path: Path) -> None:
    path = tmp_path / "paper.pdf"
    path.write_bytes(scan())
    assert read_pdf(str(path)).verdict == NO_TEXT


def with_pictures(content: bytes, pages: Sequence[int]) -> bytes:
    """The PDF with a picture over the whole of these pages, which are empty."""
    picture = b"q 612 0 0 792 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x40 EI Q"
    parts = content.split(b"BT\nET")
    assert len(parts) == len(pages) + 1
    grown = (b"<< /Length 5 >>", b"<< /Length %d >>" % len(picture))
    return picture.join(parts).replace(*grown)


@pytest.mark.parametrize("text", ["\\max (V_{i})-\\min", "σ and \\sigma", "ﬁne", "10^{-6}"])
def test_latex_counts_as_what_it_shows(text: str) -> None:
    assert fold(text) in ("maxvimin", "σandσ", "fine", "106")


def test_signs_of_keys_are_the_signs_of_mathematics_that_they_stand_for() -> None:
    assert mend_letters("about 150⇥ with ↵ of ⇡") == "about 150× with α of π"


@pytest.mark.parametrize(
    ("said", "mended"), [("max⎛a, b⎞", "max(a, b)"), ("⎡1 0⎤ ⎣0 1⎦", "⎡1 0⎤ ⎣0 1⎦"), ("⎛⎜⎝a⎞⎟⎠", "⎛⎜⎝a⎞⎟⎠")]
)
def test_the_top_of_a_bracket_of_pieces_stays_one(said: str, mended: str) -> None:
    assert mend_letters(said) == mended


def test_a_brace_that_reads_as_a_parenthesis_is_the_brace_of_its_cases() -> None:
    """TeX's large font has no map: its code for a brace is that of a parenthesis, and what closes tells them apart."""
    brace, large = Character("(", BoundingBox(70, 80, 76, 110), 10, "CMEX10"), "CMEX10"
    rows = [*set_line("x", 80, 92, font="CMMI10"), *set_line("y", 80, 108, font="CMMI10")]
    ((first, *_),) = with_braces([(brace, *rows)])
    assert first.text == "{"
    assert latex_of([first, *rows], []) == "\\begin{cases} x \\\\ y \\end{cases}"
    closing = Character(")", BoundingBox(90, 80, 96, 110), 10, large)
    assert with_braces([(brace, *rows, closing)])[0][0].text == "("


@pytest.mark.parametrize(
    ("sign", "font", "tex"),
    [
        pytest.param("X", "ABCDEF+CMEX10", "\\sum", id="a sum"),
        pytest.param("\u00cd", "txexs", "\\sum", id="a sum of the fonts of proceedings"),
        pytest.param('"', "CMEX10", "[", id="a tall bracket"),
        pytest.param("L", "CMSY10", "\\mathcal{L}", id="a capital of the signs"),
        pytest.param("E", "MSBM10", "\\mathbb{E}", id="a capital on a blackboard"),
        pytest.param("\U0001d53c", "LibertineMathMI", "\\mathbb{E}", id="the same with a place of its own"),
        pytest.param("\U0001d465", "LibertineMathMI", "x", id="an italic letter with a place of its own"),
    ],
)
def test_a_sign_is_what_its_font_says(sign: str, font: str, tex: str) -> None:
    assert latex_of(set_line(sign, font=font), []) == tex


def test_a_tall_letter_below_the_line_is_no_exponent() -> None:
    below = replace(set_line("θ", 75.5, 101.4, 7.0, "CMMI7")[0], box=BoundingBox(75.5, 96.5, 79.0, 101.4))
    f = replace(set_line("f", font="CMMI10")[0], box=BoundingBox(70, 93, 75, 102))
    assert latex_of([f, below], []) == "f_{\\theta }"


@pytest.mark.parametrize(
    "formula",
    [
        pytest.param(r"\max (0, \gamma - y \langle w, x\rangle )", id="large brackets, whose codes are no letters"),
        pytest.param(r"(\eta _{0} / \sqrt{t} )", id="a root as wide as one letter", marks=pytest.mark.slow),
        pytest.param("Keep an accumulator $a_{j}$ and a stamp", id="an index in the text"),
        pytest.param(r"g ← t $-1-\max (\tau _{j}, t_{0}$)", id="an index behind a formula"),
        pytest.param(
            r"\bar{w} = w_{T} - \frac{c}{T - t_{0}} , c = \sum _{t= 1}^{T} \max (0, t - 1 - t_{0} ) \Delta _{t} . \tag{6}",
            id="limits, a fraction and a number in one line",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_the_example_prints_is_in_its_formulas(formula: str) -> None:
    assert any(formula in page for page in example_reading().pages)


class Drawn:
    """A line whose letters are given by font, size and how far they are lowered."""

    def __init__(self, *runs: tuple[str, str, float, float]) -> None:
        self._found: list[Character] = []
        for text, font, size, lowered in runs:
            for sign in text:
                x, base = 70.0 + WIDE * len(self._found), 100.0 + lowered
                self._found.append(
                    Character(sign, BoundingBox(x, base - 0.7 * size, x + WIDE, base), size, font, False)
                )
        self.runs = [text for text, *_ in runs]
        self._runs = [number for number, (text, *_) in enumerate(runs) for _ in text]
        self.text = "".join(one.text for one in self._found)
        self.item = Item(self.text, box_around(self._found), 10, "Times", False, False)

    def lines(self) -> Iterator[TextLine]:
        yield TextLine(self.text, 0)

    def characters(self, line: TextLine) -> list[Character]:
        return [one for one in self._found[line.start : line.start + len(line.text)] if not one.text.isspace()]

    def are_drawn_together(self, first: int, last: int) -> bool:
        return self._runs[first] == self._runs[last]


TEXT, ITALIC, SIGNS, TYPED = "Times", "CMMI10", "CMSY10", "Courier"


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        pytest.param(
            [("Keep ", TEXT, 10, 0), ("a", ITALIC, 10, 0), ("j", ITALIC, 7, 1.5)], "Keep $a_{j}$", id="an index"
        ),
        pytest.param([("R", ITALIC, 10, 0), ("D", ITALIC, 7, -4)], "$R^{D}$", id="an exponent"),
        pytest.param([("p", ITALIC, 10, 0), ("0", SIGNS, 7, -4)], "$p'$", id="a prime, whose code is a zero"),
        pytest.param(
            [("h", SIGNS, 10, 0), ("op, v", ITALIC, 10, 0), ("i", SIGNS, 10, 0)], "⟨op, v⟩", id="brackets as letters"
        ),
        pytest.param([("paper", TEXT, 10, 0), ("4", TEXT, 7, -4)], "paper4", id="the mark of a footnote"),
        pytest.param([("T", TEXT, 10, 0), ("APAS", TEXT, 7, 0)], "TAPAS", id="small capitals"),
        pytest.param(
            [("w", ITALIC, 10, 0), ("t", ITALIC, 7, 1.5), ("-1", SIGNS, 7, 1.5)], "wt-1", id="an index that goes on"
        ),
        pytest.param(
            [("p", ITALIC, 10, 0), ("f", ITALIC, 7, 1.5), (" ", TEXT, 1, 0), ("ree", ITALIC, 7, 1.5)],
            "pf ree",
            id="an index with a blank in it",
        ),
        pytest.param(
            [
                ("a", ITALIC, 10, 0),
                ("j", ITALIC, 7, 1.5),
                (" ", TEXT, 10, 0),
                ("b", ITALIC, 10, 0),
                ("k", ITALIC, 7, 1.5),
            ],
            "$a_{j}$ $b_{k}$",
            id="two letters with an index each",
        ),
    ],
)
def test_a_letter_with_an_index_is_a_formula(runs: list[tuple[str, str, float, float]], said: str) -> None:
    drawn = Drawn(*runs)
    assert [item.text for item in with_subscripts([drawn.item], drawn)] == [said]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        pytest.param([("of 2", TEXT, 10, 0), ("19", TEXT, 7, -4), (" keys", TEXT, 10, 0)], "of $2^{19}$ keys", id="of two"),
        pytest.param([("10", TEXT, 10, 0), ("−7", SIGNS, 7, -4)], "$10^{-7}$", id="a negative one"),
        pytest.param([("32", TEXT, 10, 0), ("2", TEXT, 7, -4), (" = 1024", TEXT, 10, 0)], "$32^{2}$ = 1024", id="a square"),
        pytest.param([("in 2019", TEXT, 10, 0), ("3", TEXT, 7, -4)], "in 20193", id="the mark of a footnote"),
        pytest.param([("10", TEXT, 10, 0), ("2", TEXT, 7, 1.5)], "102", id="a base of numbers"),
        pytest.param([("1.2", TEXT, 10, 0), ("10", TEXT, 7, -4)], "1.210", id="behind a point"),
        pytest.param([("219 keys", TEXT, 10, 0)], "219 keys", id="a number"),
    ],
)  # fmt: skip
def test_a_raised_exponent_is_read_as_a_power_and_not_as_more_digits(
    runs: list[tuple[str, str, float, float]], said: str
) -> None:
    drawn = Drawn(*runs)
    assert [item.text for item in with_subscripts([drawn.item], drawn)] == [said]  # type: ignore[arg-type]


class DrawnInLines(Drawn):
    """The same with each run on a line of its own, as PDFium has what is raised."""

    def lines(self) -> Iterator[TextLine]:
        start = 0
        for text in self.runs:
            yield TextLine(text, start)
            start += len(text)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (["with probability ", "p", "2", " each"], "with probability $p^{2}$ each"),
        (["of ", "h", "n", " values"], "of $h^{n}$ values"),
        (["times (1-p)", "F", " of"], "times (1-p)$^{F}$ of"),
        (["times (1-p)", "2", " of"], "times (1-p)$^{2}$ of"),
        (["it is (see below)", "2", " of"], "it is (see below)2 of"),
        (["Smith J", "2", ", Doe"], "Smith J2, Doe"),
        (["some words", "2", " of"], "some words2 of"),
    ],
)
def test_an_exponent_on_a_line_of_its_own_is_one_of_its_letter(runs: list[str], said: str) -> None:
    def is_raised(place: int) -> bool:
        return place == len(runs) - 2

    drawn = DrawnInLines(
        *(
            (
                text,
                ITALIC if len(text) == 1 and not is_raised(place) else TEXT,
                *((7, -4) if is_raised(place) else (10, 0)),
            )
            for place, text in enumerate(runs)
        )
    )
    assert [item.text for item in with_subscripts([drawn.item], drawn)] == [said]  # type: ignore[arg-type]


def test_an_exponent_that_the_engine_has_apart_becomes_one() -> None:
    drawn = DrawnInLines(("p", ITALIC, 10, 0), ("2", TEXT, 7, -4))
    base, raised = (replace(drawn.item, text=one.text, box=one.box) for one in drawn.characters(TextLine("p2", 0)))
    assert [item.text for item in with_subscripts([base, raised], drawn)] == ["p", "$^{2}$"]  # type: ignore[arg-type]


def test_brackets_around_primes_are_mended_on_both_sides() -> None:
    """PDFium has each prime on a line of its own."""

    class Parted(Drawn):
        def lines(self) -> Iterator[TextLine]:
            for start, end in ((0, 2), (2, 3), (3, 7), (7, 8)):
                yield TextLine(self.text[start:end], start)

    primed = [("h", SIGNS, 10.0, 0.0), ("v", ITALIC, 10.0, 0.0), ("0", SIGNS, 7.0, -4.0), (", ", TEXT, 10.0, 0.0)]
    drawn = Parted(*primed, ("z", ITALIC, 10, 0), ("0", SIGNS, 7, -4), ("i", SIGNS, 10, 0))
    assert [item.text for item in with_subscripts([drawn.item], drawn)] == ["⟨v0, z0⟩"]  # type: ignore[arg-type]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.text("ahijk 0T-α", min_size=1, max_size=4),
            st.sampled_from([TEXT, ITALIC, SIGNS]),
            st.sampled_from([7.0, 10.0]),
            st.sampled_from([-4.0, 0.0, 1.5]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_letter_of_the_text_is_lost_to_formulas(runs: list[tuple[str, str, float, float]]) -> None:
    drawn = Drawn(*runs)
    (item,) = with_subscripts([drawn.item], drawn)  # type: ignore[arg-type]
    assert "$$" not in item.text
    assert item.text.count("$") % 2 == 0
    assert [sign for sign in fold(item.text) if sign in "at"] == [sign for sign in fold(drawn.text) if sign in "at"]


def test_a_word_beside_dollar_signs_of_the_text_leaves_them_alone() -> None:
    drawn = Drawn(("kill $$ for ", TEXT, 10, 0), ("a", ITALIC, 10, 0), ("j", ITALIC, 7, 1.5))
    assert with_subscripts([drawn.item], drawn)[0].text == "kill $$ for $a_{j}$"  # type: ignore[arg-type]


class Found(Drawn):
    """A line that also says which of its letters are of which font."""

    def find(self, letters: set[str], fonts: re.Pattern[str]) -> Iterator[Character]:
        coded = {one.text for one in self._found if one.text in letters and fonts.search(one.font)}
        yield from (one for one in self._found if one.text in coded)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([("v", ITALIC, 10, 0), ("0", SIGNS, 7, -4), (" is 10", TEXT, 10, 0)], "v′ is 10"),
        ([("leader ", TEXT, 10, 0), ("`", ITALIC, 10, 0), (" of `x`", TEXT, 10, 0)], "leader ℓ of `x`"),
        ([("x ", ITALIC, 10, 0), ("6", SIGNS, 10, 0), ("= 6", TEXT, 10, 0)], "x ≠ 6"),
        ([("t ", ITALIC, 10, 0), ("7!", SIGNS, 10, 0), (" x?", TEXT, 10, 0)], "t ↦ x?"),
        ([("CAS(a, ", TYPED, 9, 0), ("?", SIGNS, 9, 0), (") ? b : c > d", TYPED, 9, 0)], "CAS(a, ⊥) ? b : c > d"),
        ([("in 2010 it was 0", TEXT, 10, 0)], "in 2010 it was 0"),
    ],
    ids=["a prime", "an l of handwriting", "unequal", "an arrow with a foot", "bottom", "figures"],
)
def test_a_code_of_tex_s_fonts_is_its_sign(runs: list[tuple[str, str, float, float]], said: str) -> None:
    drawn = Found(*runs)
    assert with_symbols([drawn.item], drawn)[0].text == said  # type: ignore[arg-type]


def test_a_sign_that_the_engine_knew_stays_as_it_wrote_it() -> None:
    drawn = Found(("e", ITALIC, 10, 0), ("0", SIGNS, 7, -4), (" or e", TEXT, 10, 0), ("0", SIGNS, 7, -4))
    [item] = with_symbols([replace(drawn.item, text="$e'$ or e0")], drawn)  # type: ignore[arg-type]
    assert item.text == "$e'$ or e′"
    [other] = with_symbols([replace(drawn.item, text="e0 or")], drawn)  # type: ignore[arg-type]
    assert other.text == "e0 or", "what has other letters than the page is left alone"


@given(st.text("0`6=7!>?;a '$\\", max_size=12), st.lists(st.sampled_from(["0", "`", "6", "?"]), max_size=6))
def test_any_text_with_codes_keeps_its_other_letters(text: str, signs: list[str]) -> None:
    drawn = Found(*[(sign, SIGNS, 10, 0) for sign in signs], ("a", TEXT, 10, 0))
    [item] = with_symbols([replace(drawn.item, text=text)], drawn)  # type: ignore[arg-type]
    assert [sign for sign in item.text if sign in "a$\\"] == [sign for sign in text if sign in "a$\\"]
