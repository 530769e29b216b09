"""From bytes to paper.md: kinds by content, verdicts on PDFs, Markdown and its page marks."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.readers.kinds import KINDS, kind_of
from phases.readers.markdown import PAGE_MARK, paper_document
from phases.readers.page_pictures import draw_pages
from phases.readers.pdf.characters import is_language
from phases.readers.reader_subprocess import WorkerResult, read_in_subprocess, run_worker
from phases.readers.reading import Reading, explain_verdict
from phases.readers.text import read_text
from phases.sandbox.parsers import confine_parser
from pipeline.base.errors import PhaseError
from pipeline.base.formats import Markdown, parse_markdown
from pipeline.base.logs import task_log
from pipeline.base.workers import WorkerStart
from pipeline.engine.contract import Contracts
from tests.papers import EXAMPLE, PAPER, ROOT, environment_of, good_pdf, pdf, scan
from tests.rows import with_covered
from tests.strategies import QUICK


def zipped(name: str) -> bytes:
    """A zip with an empty file of that name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, b"")
    return packed.getvalue()


CONTENTS = [
    pytest.param(b"%PDF-1.7\n...", "pdf", id="a PDF"),
    pytest.param(b"\xef\xbb\xbf\r\n%PDF-1.4\n", "pdf", id="a PDF behind a few bytes"),
    pytest.param(b"# Title\n\nwords", "md", id="text with a heading"),
    pytest.param(b"---\ntitle: A\n---\nwords", "md", id="text with front matter"),
    pytest.param(b"\xef\xbb\xbf# Title\n\nwords", "md", id="Markdown behind a byte order mark"),
    pytest.param("摘要\n数据集".encode(), "requirement", id="a few words of Chinese"),
    pytest.param(b"Build a queue that waits.\n", "requirement", id="a few plain words"),
    pytest.param(b"A Paper\n\nAbstract\n\nWe wait.\n\n1 Introduction\n", "txt", id="a paper as plain text"),
    pytest.param(b"\n\n <!DOCTYPE HTML><html>", "html", id="HTML in capitals"),
    pytest.param(b"<HTML><body>", "html", id="HTML without a doctype"),
    pytest.param(b"%c\n\\documentclass{article}\n", "tex", id="LaTeX"),
    pytest.param("\\documentclass{article} é".encode("latin-1"), "tex", id="LaTeX of old encoding"),
    pytest.param(zipped("word/document.xml"), "docx", id="a Word file"),
    pytest.param(zipped("main.tex"), "archive", id="a zip archive"),
    pytest.param(b"\x1f\x8b\x08", "archive", id="a gzip archive"),
    pytest.param(b"# About\n\n<html> is a tag", "md", id="Markdown about HTML"),
]
REFUSED = [
    pytest.param(b"", "empty", id="nothing"),
    pytest.param(b" \r\n\t ", "empty", id="spaces"),
    pytest.param(b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull", id="a git-LFS pointer"),
    pytest.param(b"\x89PNG\r\n\x1a\n", "picture", id="a picture"),
    pytest.param(b"%!PS-Adobe", "PostScript", id="PostScript"),
    pytest.param(b"\xff\xfeA\x00", "not valid UTF-8", id="UTF-16"),
    pytest.param(b"a\x00b", "NUL", id="NUL bytes"),
    pytest.param(b"... --- ###\n", "no words", id="marks alone"),
]


@pytest.mark.parametrize(("data", "name"), CONTENTS)
def test_a_file_is_what_its_content_says(data: bytes, name: str) -> None:
    assert kind_of(data).name == name


@pytest.mark.parametrize(("data", "words"), REFUSED)
def test_what_is_no_paper_is_refused_with_a_reason_and_what_to_do(data: bytes, words: str) -> None:
    kind = kind_of(data)
    assert kind.name is None
    assert words in kind.reason
    assert ";" in kind.reason, "what is wrong; what to do"


@given(st.binary(max_size=300))
@QUICK
def test_no_bytes_surprise_the_reader(data: bytes) -> None:
    kind = kind_of(data)
    assert (kind.name is None) == bool(kind.reason)
    if kind.name in ("md", "txt"):
        paper_document(read_text(data, markdown=kind.name == "md"), "0" * 64, kind.name)


# PDFs


def reading_of(folder: Path, data: bytes) -> Reading:
    path = folder / "paper.pdf"
    path.write_bytes(data)
    return read_in_subprocess("pdf", str(path))


@pytest.mark.slow
def test_a_good_pdf_is_read_with_its_title_its_outline_and_a_text_a_page(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, good_pdf())
    assert (reading.verdict, reading.title, len(reading.pages)) == ("ok", "Slow Waiting", 2)
    assert "learning rate of 0.1" in reading.pages[1]
    assert "liteparse 2." in reading.reader
    assert "pypdfium2 5." in reading.reader


BAD = [
    pytest.param(pdf([["words enough for everyone"]], locked=True), "encrypted", id="a password"),
    pytest.param(good_pdf()[:300], "broken", id="cut off early"),
    pytest.param(good_pdf()[:-600], "broken", id="cut off late"),
    pytest.param(b"%PDF-1.4\n%%EOF\n", "broken", id="a head and a tail"),
    pytest.param(b"%PDF-1.4\n" + bytes(range(256)) * 40, "broken", id="rubbish behind the head"),
    pytest.param(pdf([[], [], []]), "no_text", id="empty pages"),
    pytest.param(scan(), "no_text", id="a page that is one picture"),
]


@pytest.mark.parametrize(
    ("data", "verdict"),
    with_covered(BAD, "a password", "cut off early", "rubbish behind the head", "a page that is one picture"),
)
def test_a_bad_pdf_gets_its_verdict_and_a_cure(data: bytes, verdict: str, tmp_path: Path) -> None:
    reading = reading_of(tmp_path, data)
    assert reading.verdict == verdict
    told = explain_verdict(reading, "paper.pdf")
    assert "; " in told
    wanted = {"encrypted": "paper.pdf", "no_text": "--ocr"}.get(verdict, "")
    assert wanted in told


@pytest.mark.parametrize("place", with_covered(range(0, 1000, 90), "0", "90", "180", "450", "540", "630", "720", "990"))
def test_a_pdf_with_a_broken_byte_never_raises(place: int, tmp_path: Path) -> None:
    data = bytearray(good_pdf())
    data[place : place + 5] = b"\xff\x00<<("
    reading = reading_of(tmp_path, bytes(data))
    assert reading.verdict in ("ok", "broken", "no_text", "encrypted", "garbled_text")
    assert reading.verdict != "ok" or reading.pages


@pytest.mark.slow
def test_a_pdf_that_is_not_there_is_broken_and_no_crash(tmp_path: Path) -> None:
    assert read_in_subprocess("pdf", str(tmp_path / "gone.pdf")).verdict == "broken"


@pytest.fixture
def impostor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """The pids of children that read with limits of their own, but burn the processor over a file that begins with SPIN."""
    script, pids, launched = tmp_path / "impostor.py", [], subprocess.Popen
    script.write_text(
        "from phases.readers import reader_worker\n"
        "real = reader_worker.read_input\n"
        "def read(kind, source, **how):\n"
        "    start = open(source.path, 'rb').read(4)\n"
        "    while start == b'SPIN': pass\n"
        "    if start == b'FALL': raise IndexError('no such table \\x1b[2J')\n"
        "    return real(kind, source, **how)\n"
        "reader_worker.read_input = read\n"
        "reader_worker.main()\n"
    )

    def launch(command: list[str], **how: Any) -> Any:
        how["env"] |= {"PYTHONPATH": str(ROOT)}
        process = launched([sys.executable, str(script), *command[4:]], **how)
        pids.append(process.pid)
        return process

    monkeypatch.setattr("phases.readers.reader_subprocess.subprocess.Popen", launch)
    monkeypatch.setattr("phases.readers.reader_subprocess.SECONDS", 2)
    return pids


def test_a_reader_that_burns_the_processor_is_ended(impostor: list[int], tmp_path: Path) -> None:
    reading = reading_of(tmp_path, b"SPIN")
    assert (reading.verdict, reading.detail) == ("broken", "reading it took more than 2 s of processor time")
    assert len(impostor) == 1, "it is not tried again"


def test_a_fault_of_a_reader_leaves_its_traceback_in_the_log_of_the_task(impostor: list[int], tmp_path: Path) -> None:
    with task_log(str(tmp_path / "system.jsonl")):
        reading = reading_of(tmp_path, b"FALL")
    fault = "IndexError: no such table ?[2J"
    said = f"the reader has a fault that this file brings out: {fault}; please report it with its traceback"
    assert (reading.verdict, reading.detail) == ("broken", said)
    lines = [json.loads(line) for line in (tmp_path / "system.jsonl").read_text().splitlines()]
    (told,) = [line["message"] for line in lines if line["level"] == "ERROR"]
    assert "Traceback (most recent call last):" in told
    assert told.rstrip().endswith(fault), "nothing in it reaches a terminal as a command"


def test_a_worker_of_another_installation_is_refused(tmp_path: Path) -> None:
    answer = {"installation": "0.0.9 in /elsewhere", "reading": asdict(Reading("ok", "text 2", ("words",)))}
    with pytest.raises(PhaseError, match=r"but of another one \('0.0.9 in /elsewhere'\)"):
        read_in_subprocess("txt", str(tmp_path), run=lambda *_: WorkerResult(0, json.dumps(answer).encode()))


@pytest.mark.parametrize("answer", [b"", b"[]", b'"words"', b"{", b"7"])
def test_an_answer_that_is_none_is_a_fault_of_the_reader(answer: bytes, tmp_path: Path) -> None:
    reading = read_in_subprocess("txt", str(tmp_path), run=lambda *_: WorkerResult(0, answer))
    assert (reading.verdict, "please report it" in reading.detail) == ("broken", True)


def test_a_kind_without_a_reader_is_refused_and_not_read_as_text(tmp_path: Path) -> None:
    with pytest.raises(PhaseError, match="no reader is known for the kind 'epub'; known are pdf, tex, html"):
        read_in_subprocess("epub", str(tmp_path), run=lambda *_: WorkerResult(None))


def test_each_kind_of_input_has_a_reader_and_is_known_to_the_schema() -> None:
    schema = json.loads((ROOT / "schemas/input.schema.json").read_text())
    assert set(KINDS) == set(schema["properties"]["kind"]["enum"])
    for kind in KINDS.values():
        for name in filter(None, (kind.reader, kind.fallback)):
            module, _, function = name.partition(":")
            assert callable(getattr(import_module(f"phases.readers.{module}"), function))


@pytest.mark.slow
def test_a_reader_that_gets_no_processor_is_waited_for(impostor: list[int], tmp_path: Path) -> None:
    def starve() -> None:
        while not impostor:
            time.sleep(0.001)
        os.kill(impostor[0], signal.SIGSTOP)
        time.sleep(3)
        os.kill(impostor[0], signal.SIGCONT)

    starving = threading.Thread(target=starve)
    starving.start()
    reading = reading_of(tmp_path, good_pdf())
    starving.join()
    assert (reading.verdict, len(reading.pages)) == ("ok", 2)


def test_a_reader_that_never_gets_a_processor_says_nothing_of_the_paper(
    impostor: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_reader() -> None:
        while not impostor:
            time.sleep(0.001)
        os.kill(impostor[0], signal.SIGSTOP)

    monkeypatch.setattr("phases.readers.reader_subprocess.PATIENCE", 1)
    threading.Thread(target=stop_reader).start()
    with pytest.raises(PhaseError, match="was not given 2 s of processor time, because the machine is busy"):
        reading_of(tmp_path, good_pdf())


def test_a_reader_that_the_machine_kills_says_nothing_of_the_paper(tmp_path: Path) -> None:
    with pytest.raises(PhaseError, match="its process was killed, as a machine does that runs out of memory"):
        read_in_subprocess("pdf", str(tmp_path), run=lambda *_: WorkerResult(-signal.SIGKILL))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("ulimit -v 60000", "may have 60,000 KiB of memory (ulimit -v), and a worker needs 1,048,576; raise that limit"),
        ("ulimit -t 1", ""),
        ("ulimit -f 100000", ""),
    ],
)  # fmt: skip
def test_a_limit_of_the_environment_is_told_as_such_where_it_ends_the_reader(
    limit: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "paper.pdf").write_bytes(good_pdf())
    program = (
        "from phases.readers.reader_subprocess import read_in_subprocess as read\n"
        "from pipeline.base.errors import PhaseError\n"
        "try: print(read('pdf', 'paper.pdf').verdict)\n"
        "except PhaseError as error: print(error)\n"
    )
    words = ["bash", "-c", f'{limit}; exec "$@"', "-", sys.executable, "-c", program]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stderr == ""
    assert told in ended.stdout if told else ended.stdout == "ok\n"


def test_a_reader_that_does_nothing_at_all_is_ended(
    impostor: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phases.readers.reader_subprocess.PATIENCE", 1)
    os.mkfifo(tmp_path / "pipe")
    assert read_in_subprocess("html", str(tmp_path / "pipe")).detail == "reading it took more than 2 s"


@pytest.mark.slow
def test_a_reader_holds_none_of_the_users_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[dict[str, str]] = []
    launched = subprocess.Popen

    def launch(*words: Any, **how: Any) -> Any:
        process = launched(*words, **how)
        held.append(environment_of(process.pid))
        return process

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr("phases.readers.reader_subprocess.subprocess.Popen", launch)
    (tmp_path / "paper.pdf").write_bytes(good_pdf())
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": "/root"}
    run = partial(run_worker, start=WorkerStart(environment, confine_parser))
    assert read_in_subprocess("pdf", str(tmp_path / "paper.pdf"), run=run).verdict == "ok"
    assert draw_pages(str(tmp_path / "paper.pdf"), None, run=run)
    assert len(held) == 2
    for one in held:
        assert one.pop("LC_ALL") == "C.UTF-8"
        assert one.keys() <= {"PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "LC_CTYPE"}


@pytest.mark.slow
def test_the_example_paper_is_read_with_title_and_all_pages() -> None:
    reading = read_in_subprocess("pdf", str(EXAMPLE))
    assert reading.verdict == "ok"
    assert (reading.title or "").startswith("Averaged Perceptrons with Lazy Updates")
    assert len(reading.pages) >= 4
    assert all(page.strip() for page in reading.pages)


ENGLISH = "the scheduler of the model is trained for a while and then it is kept as it was in the run before " * 9
GERMAN = "der Lauf wird mit einem Plan begonnen und die Zahlen sind nicht für das Modell von gestern gemacht " * 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(ENGLISH, True, id="English"),
        pytest.param(GERMAN, True, id="German"),
        pytest.param("I ) / 9 9 %&!&1 6 / %&(=1 L M ) D 4 5 / 4 5 4 51 6 4 " * 20, False, id="wrong letters"),
        pytest.param("wkh vfkhgxohu ri wkh prgho lv wudlqhg iru d zkloh " * 20, False, id="letters that are shifted"),
        pytest.param("the of and", False, id="too few words to tell"),
    ],
)
def test_a_text_layer_is_garbled_only_if_no_common_word_is_in_it(text: str, expected: bool) -> None:
    assert is_language(text) is expected


# paper.md


def document(text: str) -> Markdown:
    return paper_document(read_text(text.encode("utf-8"), markdown=True), "0" * 64, "md")


def test_a_markdown_paper_keeps_its_words_and_gets_a_title() -> None:
    made = document(PAPER)
    assert made.front["title"] == "Slow Waiting for Everyone"
    assert (made.front["pages"], made.front["verdict"]) == (1, "ok")
    assert made.text.split("<!-- page 1 -->")[1].split() == PAPER.split()


@pytest.mark.parametrize(
    "block",
    [
        pytest.param("```python\n# a comment\nx = 1\n```", id="a comment"),
        pytest.param("```yaml\n---\na: 1\n```", id="three dashes"),
        pytest.param("```\n## 1 two marks\n```", id="what looks like a heading"),
    ],
)
def test_a_block_of_code_in_a_markdown_paper_stays_as_it_is(block: str) -> None:
    assert block in document(f"# A\n\n## 1 One\n\n{block}\n\nwords\n").text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("---\ntitle: A\n---\n# A\n\nwords\n", id="with front matter of its own"),
        pytest.param("# A\r\n\r\nwords\r\n", id="with line ends of Windows"),
        pytest.param("# A\r\rwords\r", id="with line ends of an old Mac"),
        pytest.param("\ufeff# A\n\nwords\n", id="with a byte order mark"),
    ],
)
def test_how_a_file_was_saved_makes_no_difference(text: str) -> None:
    made = document(text)
    assert made.front["title"] == "A"
    assert made.text[made.body_start :].split() == ["<!--", "page", "1", "-->", "#", "A", "words"]


@pytest.mark.parametrize(
    "mark",
    [
        "<!-- page 7 -->",
        pytest.param("<!-- page 7 --> ", id="with a space behind it"),
        pytest.param("<!-- page 7 -->\x0c", id="with a form feed behind it"),
        pytest.param("<!-- page 7 -->\u2003", id="with a wide space behind it"),
        pytest.param("<!-- page 7 -->\t", id="with a tab behind it"),
    ],
)
def test_a_page_mark_in_the_source_is_no_page_mark(mark: str) -> None:
    made = document(f"# A\n\none\n\n{mark}\n\ntwo\n")
    assert [found.group(1) for found in PAGE_MARK.finditer(made.text)] == ["1"]


def test_a_page_mark_in_a_pdf_is_no_page_mark() -> None:
    made = paper_document(Reading("ok", "x 1", ("one", "<!-- page 9 -->\n\ntwo")), "0" * 64, "pdf")
    assert [found.group(1) for found in PAGE_MARK.finditer(made.text)] == ["1", "2"]


def test_every_page_has_its_mark_in_order() -> None:
    made = paper_document(Reading("ok", "x 1", ("one", "", "three")), "0" * 64, "pdf")
    assert [int(found.group(1)) for found in PAGE_MARK.finditer(made.text)] == [1, 2, 3]


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), st.text(max_size=40))
@example("---", "a")
@example("a: b # c\n---\n", "\x85")
@example("\u2028\x07\x9b", "\ufeff")
@QUICK
def test_any_title_and_author_survive_on_the_disk(title: str, author: str) -> None:
    author = author.encode("utf-8", "ignore").decode("utf-8")
    made = paper_document(Reading("ok", "x 1", ("body",), title or None, (author,)), "0" * 64, "pdf")
    data = Contracts().serialise("paper.md", made, writer="a test")
    again = parse_markdown(data)
    assert (again.front["title"], again.front["authors"]) == (title or None, [author])
    assert again.text[again.body_start :] == made.text[made.body_start :] == "<!-- page 1 -->\n\nbody\n\n"


@pytest.mark.slow
def test_the_outline_of_a_pdf_decides_what_is_a_heading(tmp_path: Path) -> None:
    pages = [["# Slow Waiting", "1 One", "words of the first section"], ["Two", "more words of the second", "3 Three"]]
    marks = [("1 One", 0), ("Two", 1), ("2.1 Deep", 1)]
    reading = reading_of(tmp_path, pdf(pages, title="Slow Waiting", marks=marks))
    headings = [line for page in reading.pages for line in page.splitlines() if line.startswith("#")]
    assert headings == ["# Slow Waiting", "## 1 One", "## Two"]
