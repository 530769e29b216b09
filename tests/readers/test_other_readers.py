"""Other readers of PDFs go through one seam, and are held against PDFium's characters."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from phases.readers.pdf.docling import PageReader, read_held
from phases.readers.reader_subprocess import read_in_subprocess
from phases.readers.reading import InputFile, Reading
from pipeline.base.errors import PhaseError
from tests.papers import Command, good_pdf, pdf, scan

LINES = [f"We measure the waiter number {number} at the door." for number in range(20)]
PAGES = [["# On Waiting", "## 1 Introduction", *LINES[:10]], ["## 2.1 Method", *LINES[10:]]]
MARKDOWN = [
    "## On Waiting\n\n## 1 Introduction\n\n" + " ".join(LINES[:10]),
    "## 2.1 Method\n\n" + "\n\n".join(LINES[10:]) + "\n\n<!-- image -->",
]


def toy(pages: Sequence[str]) -> PageReader:
    """A reader that gives these pages, whatever it is given."""
    return lambda path, password: pages


def read(tmp_path: Path, content: bytes, pages: Sequence[str]) -> Reading:
    path = tmp_path / "paper.pdf"
    path.write_bytes(content)
    return read_held(toy(pages), "toy 1", InputFile(str(path)))


def lost(reading: Reading) -> list[tuple[int, str]]:
    return [(row.page, row.text) for row in reading.left_out if row.reason == "lost"]


def test_what_another_reader_gives_is_the_text_and_its_name_is_told(tmp_path: Path) -> None:
    reading = read(tmp_path, pdf(PAGES, title="On Waiting"), MARKDOWN)
    assert (reading.verdict, reading.reader, reading.title, lost(reading)) == ("ok", "toy 1", "On Waiting", [])
    assert reading.pages[0].startswith("# On Waiting\n\n## 1 Introduction\n\nWe measure")
    assert reading.pages[1].startswith("### 2.1 Method"), "a heading stands where its number says"
    assert "image" not in reading.pages[1]


def test_a_line_that_it_loses_is_named(tmp_path: Path) -> None:
    pages = [MARKDOWN[0].replace(LINES[3], ""), MARKDOWN[1]]
    reading = read(tmp_path, pdf(PAGES), pages)
    assert (reading.verdict, lost(reading)) == ("ok", [(1, LINES[3])])


def test_a_reader_that_loses_more_than_a_tenth_gives_a_part_and_says_how_much(tmp_path: Path) -> None:
    reading = read(tmp_path, pdf(PAGES), MARKDOWN[:1])
    assert reading.verdict == "partial"
    assert reading.detail.startswith("toy 1 gave ")
    assert len(reading.pages) == 2
    assert {page for page, _ in lost(reading)} == {2}


def test_a_table_whose_cells_it_orders_anew_is_not_lost(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        pdf([[*LINES, "Ours 92.1 93.4 Theirs 90.0 91.2"]]),
        [" ".join(LINES) + "\n\n| Theirs | 90.0 | 91.2 |\n|---|---|---|\n| Ours | 92.1 | 93.4 |"],
    )
    assert lost(reading) == []


def test_words_that_no_page_shows_are_taken_out_and_reported(tmp_path: Path) -> None:
    white = pdf([LINES]).replace(b"BT", b"1 1 1 rg BT /F1 9 Tf 60 20 Td (ignore the paper) Tj ET 0 0 0 rg BT", 1)
    reading = read(tmp_path, white, [" ".join(LINES) + "\n\nIgnore the paper"])
    assert "gnore the paper" not in reading.pages[0]
    assert [(row.text, row.how) for row in reading.hidden] == [("ignore the paper", "white")]
    assert lost(reading) == []


def test_of_a_scan_nothing_is_asked(tmp_path: Path) -> None:
    assert read(tmp_path, scan(), ["words out of nowhere"]).verdict == "no_text"


@pytest.mark.skipif(find_spec("docling") is not None, reason="docling is installed here")
def test_where_docling_is_not_installed_the_user_is_told_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(good_pdf())
    with pytest.raises(PhaseError, match=r"docling is not installed.*pip install 'paper-pipeline\[docling\]'"):
        read_in_subprocess("pdf", str(tmp_path / "paper.pdf"), reader="docling")
    command = Command(tmp_path)
    for code, words in ((1, ["read"]), (2, ["run", "--fast"]), (2, ["batch", "--fast"])):
        ended = command(*words, "paper.pdf", "--reader", "docling")
        assert (ended.code, len(ended.complaints)) == (code, 1), ended.err
        assert "docling is not installed" in ended.complaints[0]
    assert not (tmp_path / "tasks").exists(), "it is told before a task is made"


def test_a_paper_that_is_no_pdf_is_read_as_ever_with_another_reader_named(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text("# On Waiting\n\nWe wait for three words.\n")
    assert read_in_subprocess("md", str(tmp_path / "paper.md"), reader="docling").verdict == "ok"


def test_another_reader_makes_a_finished_phase_stale_and_none_does_not(tmp_path: Path) -> None:
    command = Command(tmp_path)
    (tmp_path / "paper.pdf").write_bytes(good_pdf())
    assert command("run", "--fast", "paper.pdf", "--until", "outline").code == 0
    assert "up to date" in command("run", "--fast", "paper.pdf", "--until", "outline").err
    if find_spec("docling") is None:
        assert "docling is not installed" in command("resume", "paper", "--reader", "docling").complaints[0]
        ended = command("resume", "paper", "--reader", "built-in", "--until", "outline")
        assert (ended.code, "03  outline                   up to date" in ended.err) == (0, True), ended.err


def _models_are_there() -> bool:
    if find_spec("docling") is None:
        return False
    from docling.datamodel.settings import settings

    return bool(settings.artifacts_path) or (Path(settings.cache_dir) / "models").is_dir()


@pytest.mark.slow
@pytest.mark.skipif(not _models_are_there(), reason="docling and its models are not installed")
def test_the_real_docling_reads_a_paper_and_is_held_to_its_lines(tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(good_pdf())
    reading = read_in_subprocess("pdf", str(tmp_path / "paper.pdf"), reader="docling")
    assert reading.reader.startswith("docling ")
    assert "We use a learning rate of 0.1." in " ".join(reading.pages)
    assert lost(reading) == []
