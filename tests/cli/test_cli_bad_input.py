"""Bad input: exit code 1, one line that names the file, what is wrong and what to do, and the task is listed."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phases.readers.kinds import kind_of
from tests.papers import SHARED, Command, good_pdf, pdf, scan
from tests.rows import with_covered

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
    "a folder": (_folder, "is an empty directory", "give a PDF, LaTeX source", "broken"),
    "a link in a circle": (_circle, "paper.pdf", "put the file itself there", None),
    "a named pipe": (_pipe, "pipe", "give the file of a paper", None),
    "an empty file": (_file("paper.pdf", b""), "empty", "fetch", "broken"),
    "a file of spaces": (_file("paper.md", b" \n\t\n"), "empty", "fetch", "broken"),
    "HTML saved as PDF": (_file("paper.pdf", HTML.encode()), "HTML", "download", "broken"),
    "a git-LFS pointer": (_file("paper.pdf", LFS.encode()), "LFS pointer", "git lfs pull", "broken"),
    "a zip archive": (_file("paper.pdf", _zip()), "word/document.xml", "give another format", "broken"),
    "a gzip archive": (
        _file("paper.md", _tar()),
        "an archive must hold LaTeX source",
        "give a PDF, LaTeX source",
        "broken",
    ),
    "random bytes": (
        _file("paper.md", b"\xff\xfe\x00\x01" * 99),
        "not valid UTF-8",
        "give a PDF, LaTeX source",
        "broken",
    ),
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


STRANGE = [
    pytest.param("data.csv", b"id,name,score\n1,ann,0.5\n2,bob,0.7\n", "a table (CSV)", id="a CSV"),
    pytest.param("data.txt", b"a\t1\t2\nb\t3\t4\nc\t5\t6\n", "a table (CSV)", id="a table with tabs"),
    pytest.param(
        "model.py", b"import os\n# load it\ndef load(path):\n    return open(path)\n", "source code", id="Python"
    ),
    pytest.param("m.c", b"#include <stdio.h>\nint main() {\n  return 0;\n}\n", "source code", id="C"),
    pytest.param("run.sh", b"#!/bin/sh\necho hello to all of you\n", "a script", id="a script"),
    pytest.param("a.png", b"\x89PNG\r\n\x1a\n\0\0", "a picture", id="a picture"),
    pytest.param("a.gif", b"GIF89a\0\0\0", "a picture", id="another picture"),
    pytest.param("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><path/></svg>", "an SVG picture", id="an SVG"),
    pytest.param("a.eml", b"From: a@b.c\nTo: d@e.f\nSubject: hi\n\nRead this paper.\n", "a mail", id="a mail"),
    pytest.param("a.json", b'{"title": "A paper", "pages": 3}', "JSON", id="JSON"),
    pytest.param("tool", b"\x7fELF\2\1\1\0\0", "a program", id="a program"),
    pytest.param("tool.exe", b"MZ\x90\0\3\0\0\0", "a program", id="a program for Windows"),
    pytest.param("todo.txt", b"TODO\n", "a text of 1 word", id="hardly a text"),
]


@pytest.mark.parametrize(("name", "content", "what"), with_covered(STRANGE, "a CSV", "JSON", "a program for Windows"))
def test_what_is_neither_paper_nor_requirement_is_named_before_anything_is_planned(
    name: str, content: bytes, what: str, command: Command
) -> None:
    (command.folder / name).write_bytes(content)
    ended = command("run", "--fast", name)
    assert (ended.code, len(ended.complaints)) == (1, 1), ended.err
    assert f"is {what}" in ended.complaints[0]
    assert "05" not in [line.split()[0] for line in ended.err.splitlines()]
    read = command("read", name)
    assert (read.code, f"is {what}" in read.err) == (1, True)


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        pytest.param(
            "Makefile", b"all:\n\techo the words of a recipe\n", "text in a file whose name has no", id="by name"
        ),
        pytest.param("events.txt", b"[10:00:00] the build has begun\n" * 3, "a log", id="by text"),
    ],
)
def test_a_text_that_is_meant_is_planned_by_the_command_that_the_refusal_names(
    name: str, content: bytes, what: str, command: Command
) -> None:
    (command.folder / name).write_bytes(content)
    refused = command("run", "--fast", name, "--until", "outline")
    assert (refused.code, f"is {what}" in refused.complaints[0]) == (1, True)
    task = name.partition(".")[0]
    assert f"pipeline resume {task} --anyway" in refused.out
    assert command("resume", task, "--anyway", "--until", "outline").code == 0
    assert command("resume", task, "--until", "outline").code == 0
    (command.folder / name).write_bytes(content + content)
    assert command("run", "--fast", "--anyway", name, "--until", "outline").code == 0
    assert command.document(f"{task}-2", "input.json")["bytes"] == 2 * len(content)
    shown = command("read", name)
    assert f"pipeline run --fast --anyway {name}" in shown.err


PLANNABLE = [
    pytest.param(b"Build a queue.", "requirement", id="three words"),
    pytest.param(b"Write a tool that\nreads lines;\ncounts words;\nprints them;\n", "requirement", id="a list"),
    pytest.param(b"Load a.csv, b.csv, c.csv\nand join them, by id, by name\n", "requirement", id="commas"),
    pytest.param(b"BM25 ranks documents. Build it.", "requirement", id="letters that begin a picture, too"),
    pytest.param(b"[1] says how to wait. Build the waiter of it.", "requirement", id="a bracket at the beginning"),
    pytest.param(
        b"# Wait\n\nWe wait.\n\n```python\nimport os\nx = 1\ny = 2\nz = 3\n```\n", "md", id="a paper with code"
    ),
    pytest.param("写一个队列".encode(), "requirement", id="Chinese"),
    pytest.param(b"From: here to there we walk.\n\nBuild the way.", "requirement", id="one line like a header"),
]


@pytest.mark.parametrize(("content", "kind"), PLANNABLE)
def test_what_only_looks_strange_is_planned_as_ever(content: bytes, kind: str) -> None:
    assert kind_of(content).name == kind


# A folder, a mistyped name


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["a.pdf", "b.pdf", "c.pdf"], id="three PDFs"),
        pytest.param(["a.pdf", "b.md"], id="a PDF and a paper as Markdown", marks=pytest.mark.slow),
        pytest.param(["a/main.tex", "b/main.tex"], id="two LaTeX papers in folders of their own"),
        pytest.param(["a.tex", "letter.tex"], id="two LaTeX papers", marks=pytest.mark.slow),
        pytest.param(["deep/in/it/main.tex"], id="one that lies deep in a project"),
    ],
)
def test_a_folder_of_several_papers_is_refused_with_how_to_run_one(names: list[str], command: Command) -> None:
    for name in names:
        path = command.folder / "my papers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(OF_A_KIND[path.suffix])
    for verb in ("run --fast", "read"):
        refused = command(*verb.split(), "my papers")
        assert (refused.code, len(refused.complaints)) == (2, 1)
        assert not (command.folder / "tasks").exists()
        for name in names:
            assert name in refused.complaints[0]
        line = shlex.split(refused.complaints[0].rpartition(": ")[2])
        assert line == ["pipeline", *verb.split(), f"my papers/{names[0]}"]
        assert command(*line[1:], *(["--until", "outline"] if verb != "read" else [])).code in (0, 5)
        shutil.rmtree(command.folder / "tasks", ignore_errors=True)


LATEX = (
    b"\\documentclass{article}\n\\begin{document}\n\\section{Method}\n"
    + b"We wait for all of the people in all of the rooms, and count how many of them come. " * 9
    + b"\\end{document}\n"
)
OF_A_KIND = {
    ".pdf": good_pdf(),
    ".md": b"# A\n\n## Abstract\n\nWe wait.\n\n## 1 Method\n\nWe wait more.\n",
    ".tex": LATEX,
}


@pytest.mark.parametrize(
    ("beside", "kind"),
    [
        pytest.param({"README.md": b"# Notes\n\nRead the paper.\n", "data.csv": b"a,b\n1,2\n"}, "pdf", id="one PDF"),
        pytest.param({"main.tex": LATEX, "figures/plot.pdf": good_pdf()}, "tex", id="LaTeX with figures"),
        pytest.param(
            {"main.tex": LATEX, "figures/a.tex": LATEX.replace(b"article", b"standalone")},
            "tex",
            id="LaTeX with drawings",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_folder_with_one_paper_is_that_paper(beside: dict[str, bytes], kind: str, command: Command) -> None:
    for name, content in {"paper.pdf": good_pdf(), **beside}.items():
        (command.folder / "one" / name).parent.mkdir(parents=True, exist_ok=True)
        (command.folder / "one" / name).write_bytes(content)
    ended = command("run", "--fast", "one", "--until", "outline")
    assert ended.code == 0
    assert f"one: the paper is {'paper.pdf' if kind == 'pdf' else 'main.tex'}\n" in ended.err
    assert command.document("one", "input.json")["kind"] == kind
    assert command("run", "--fast", "one").code == 3
    assert [entry["id"] for entry in command("list", "--json").json()] == ["one"]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        pytest.param("paperr.pdf", "did you mean paper.pdf?", id="a letter too many", marks=pytest.mark.slow),
        pytest.param("Paper.PDF", "did you mean paper.pdf?", id="other capitals"),
        pytest.param("other/papr.pdf", "did you mean other/paper.pdf?", id="in another folder", marks=pytest.mark.slow),
        pytest.param("othr/paper.pdf", "there is no directory othr", id="a folder that is not there"),
        pytest.param("zzz", "check the name", id="nothing like it"),
        pytest.param("done", "pipeline resume done", id="the name of a task", marks=pytest.mark.slow),
    ],
)
def test_a_mistyped_name_makes_no_task_and_says_what_is_there(typed: str, told: str, command: Command) -> None:
    (command.folder / "other").mkdir()
    for folder in (command.folder, command.folder / "other"):
        (folder / "paper.pdf").write_bytes(good_pdf())
    assert command("run", "--fast", "paper.pdf", "--id", "done", "--until", "intake").code == 0
    for verb in (["run", "--fast"], ["read"]):
        refused = command(*verb, typed)
        assert (refused.code, len(refused.complaints)) == (2, 1), refused.err
        assert "does not exist" in refused.err
        assert told in refused.err
    assert os.listdir(command.folder / "tasks") == ["done"] or set(os.listdir(command.folder / "tasks")) == {
        "done", "tasks.jsonl", ".tasks.jsonl.lock"
    }  # fmt: skip


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path, PIPELINE_MAX_SOURCE_MB="1")


@pytest.mark.parametrize(
    "name",
    with_covered(
        BAD,
        "a file of spaces",
        "HTML saved as PDF",
        "a zip archive",
        "a gzip archive",
        "random bytes",
        "text with NUL bytes",
        "text without words",
        "an encrypted PDF",
        "a truncated PDF",
        "a PDF with its head only",
        "a PDF of empty pages",
        "a PDF that is a scan",
    ),
)
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
    assert command("run", "--fast", source, "--until", "outline").code == 0
    assert [entry["id"] for entry in command("list", "--json").json()] == ["paper"]


def _shared() -> list[Any]:
    if not (SHARED / "manifest.json").is_file():
        return [pytest.param({}, marks=pytest.mark.skip(reason="the shared papers are not beside this checkout"))]
    rows = json.loads((SHARED / "manifest.json").read_text(encoding="utf-8"))
    return [pytest.param(row, id=row["id"]) for row in rows if row["id"].startswith(("bad_", "enc_", "pwl_"))]


@pytest.mark.slow
@pytest.mark.parametrize("row", _shared())
def test_a_real_paper_gets_the_verdict_that_its_manifest_expects(row: dict[str, Any], tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command("run", "--fast", "--until", "acquire", "--json", SHARED / row["file"])
    report = ended.json()
    if row["expect"] == "ok":
        assert (ended.code, report["input_verdict"]) == (0, "ok"), report["reason"]
    else:
        wanted = {"broken_or_partial": "broken"}.get(row["expect"], row["expect"])
        assert (ended.code, report["input_verdict"]) == (1, wanted), report["reason"]
        assert row["file"] in report["reason"]
