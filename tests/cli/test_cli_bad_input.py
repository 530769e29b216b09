"""Bad input: exit code 1, one line that names the file, what is wrong and what to do, and the task is listed."""

from __future__ import annotations

import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.papers import SHARED, Command, good_pdf, pdf, scan

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 858165\n"
HTML = "\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in</body></html>\n"


def _zip() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    return data.getvalue()


def _tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz"):
        pass
    return data.getvalue()


def _file(name: str, data: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return make


def _folder(folder: Path) -> Path:
    (folder / "paper.pdf").mkdir()
    return folder / "paper.pdf"


def _circle(folder: Path) -> Path:
    (folder / "paper.pdf").symlink_to("paper.pdf")
    return folder / "paper.pdf"


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "paper.pdf")
    return folder / "paper.pdf"


Maker = Callable[[Path], Path]
BAD: dict[str, tuple[Maker, str, str, str | None]] = {
    # what it is: (how to make it, what is wrong, what to do, the verdict)
    "a file that is not there": (lambda folder: folder / "paper.pdf", "not there", "check the name", None),
    "a folder": (_folder, "holds no LaTeX source", "give a PDF, LaTeX source", "broken"),
    "a link in a circle": (_circle, "paper.pdf", "check", None),
    "a named pipe": (_pipe, "pipe", "check", None),
    "an empty file": (_file("paper.pdf", b""), "empty", "fetch", "broken"),
    "a file of spaces": (_file("paper.md", b" \n\t\n"), "empty", "fetch", "broken"),
    "HTML saved as PDF": (_file("paper.pdf", HTML.encode()), "HTML", "download", "broken"),
    "a git-LFS pointer": (_file("paper.pdf", LFS.encode()), "LFS pointer", "git lfs pull", "broken"),
    "a zip archive": (_file("paper.pdf", _zip()), "word/document.xml", "give another format", "broken"),
    "a gzip archive": (_file("paper.md", _tar()), "archive without LaTeX", "give a PDF, LaTeX source", "broken"),
    "random bytes": (_file("paper.md", b"\xff\xfe\x00\x01" * 99), "no UTF-8", "give a PDF, LaTeX source", "broken"),
    "text with NUL bytes": (_file("paper.md", b"# A\x00B\n"), "NUL", "give a PDF, LaTeX source", "broken"),
    "text without words": (_file("paper.md", b"# -- !!\n***\n"), "no words", "give the paper as", "broken"),
    "an encrypted PDF": (_file("paper.pdf", pdf([["a b"]], locked=True)), "encrypted", "qpdf --decrypt", "encrypted"),
    "a truncated PDF": (_file("paper.pdf", good_pdf()[:400]), "cannot be read", "download it again", "broken"),
    "a PDF with its head only": (_file("paper.pdf", b"%PDF-1.7\n"), "cannot be read", "download it again", "broken"),
    "a PDF of empty pages": (_file("paper.pdf", pdf([[], []])), "no text", "ocrmypdf", "no_text"),
    "a PDF that is a scan": (_file("paper.pdf", scan()), "no text", "ocrmypdf", "no_text"),
    "a file over the limit": (
        _file("paper.md", b"# A\n" + b"word " * 240_000),
        "over the limit",
        "max_source_mb",
        None,
    ),
}


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path, PIPELINE_MAX_SOURCE_MB="1")


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_in_one_line_and_is_listed(name: str, command: Command) -> None:
    make, wrong, cure, verdict = BAD[name]
    source = make(command.folder)
    ended = command("run", "--fast", source)
    assert ended.code == 1, ended.err
    assert len(ended.complaints) == 1, ended.err
    for words in (source.name, wrong, cure):
        assert words in ended.complaints[0]
    assert "Traceback" not in ended.err
    [entry] = command("list", "--json").json()
    assert (entry["status"], entry["source"]) == ("error", str(source))
    report = command.document("paper", "report.json")
    assert (report["status"], report["exit_code"]) == ("error", 1)
    if verdict:
        assert report["input_verdict"] == verdict
    assert not (command.task("paper") / "initial_plan.txt").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_said_so(command: Command) -> None:
    source = command.folder / "paper.md"
    source.write_text("# A\n\nwords\n")
    source.chmod(0)
    ended = command("run", "--fast", source)
    assert (ended.code, len(ended.complaints)) == (1, 1)
    assert "EACCES" in ended.err
    assert "check that you may read it" in ended.err


def test_an_address_is_refused_with_what_to_do(command: Command) -> None:
    ended = command("run", "--fast", "https://example.org/paper.pdf")
    assert ended.code == 1
    assert "https://example.org/paper.pdf" in ended.complaints[0]
    assert "download" in ended.complaints[0]


def test_a_bad_paper_that_was_mended_goes_on_in_the_same_task(command: Command) -> None:
    source = command.folder / "paper.md"
    source.write_bytes(b"")
    assert command("run", "--fast", source).code == 1
    source.write_text("# A\n\n## 1 Method\n\nWe minimize the loss.\n")
    assert command("run", "--fast", source, "--until", "outline").code == 5
    assert [entry["id"] for entry in command("list", "--json").json()] == ["paper"]


def _shared() -> list[Any]:
    if not (SHARED / "manifest.json").is_file():
        return [pytest.param({}, marks=pytest.mark.skip(reason="the shared papers are not beside this checkout"))]
    rows = json.loads((SHARED / "manifest.json").read_text(encoding="utf-8"))
    return [pytest.param(row, id=row["id"]) for row in rows if row["id"].startswith(("bad_", "enc_", "pwl_"))]


@pytest.mark.parametrize("row", _shared())
def test_a_real_paper_gets_the_verdict_that_its_manifest_expects(row: dict[str, Any], tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command("run", "--fast", "--until", "acquire", "--json", SHARED / row["file"])
    report = ended.json()
    if row["expect"] == "ok":
        assert (ended.code, report["input_verdict"]) == (5, "ok"), report["reason"]
    else:
        wanted = {"broken_or_partial": "broken"}.get(row["expect"], row["expect"])
        assert (ended.code, report["input_verdict"]) == (1, wanted), report["reason"]
        assert row["file"] in report["reason"]
