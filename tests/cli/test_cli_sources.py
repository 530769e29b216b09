"""What `pipeline run` takes: every kind of source, from the disk and from the net, each of them once."""

from __future__ import annotations

import hashlib
import io
import os
import re
import signal
import struct
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.papers import PAPER, Command, Ended, good_pdf, in_terminal, paper, pdf
from tests.rows import with_covered
from tests.web import Script, Server, head, redirects, says, serving
from tests.work import wait_until

MAIN = b"""\\documentclass{article}
\\title{Slow Waiting}
\\author{A. Author}
\\begin{document}
\\maketitle
\\section{Introduction}
Waiting is old, and it has been studied many times.
\\input{sections/method}
\\end{document}
"""
METHOD = b"\\section{Method}\nWe minimize the cross-entropy loss with a learning rate of 0.1.\n"
LATEX = {"main.tex": MAIN, "sections/method.tex": METHOD}
PAGE = (
    "<!doctype html><html><head><title>Slow Waiting</title></head><body><h1>Slow Waiting</h1><h2>1 Introduction</h2>"
    f"<p>{'Waiting is old. ' * 30}</p><h2>2 Method</h2><p>We use a learning rate of 0.1.</p></body></html>"
)
PLAIN = (
    "Slow\n\nAbstract\n\nWe wait.\n\n1 Introduction\n\nWaiting is old.\n\n2 Method\n\nWe use a learning rate of 0.1.\n"
)
WISH = "Build a queue that keeps its items on the disk. It must survive a crash."
WORD = "correct-horse-7f3a"
PATIENCE = 60.0
"""Seconds. What is not over then will never be."""
UNTIL = ("run", "--fast", "--until", "acquire")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "temporary").mkdir()
    return Command(tmp_path, TMPDIR=str(tmp_path / "temporary"))


@pytest.fixture
def online(command: Command) -> Iterator[tuple[Command, Callable[..., Server]]]:
    """A command that may ask this machine, and a way to begin a server that stands for arXiv too."""
    opened = []

    def serve(*scripts: Script) -> Server:
        context = serving(*scripts)
        server = context.__enter__()
        opened.append(context)
        command.environment |= {"PIPELINE_PRIVATE_ADDRESSES": "allowed", "PIPELINE_ARXIV": server.base}
        return server

    yield command, serve
    for context in opened:
        context.__exit__(None, None, None)


Online = tuple[Command, Callable[..., Server]]


def laid(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def tar(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in sorted(members.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def word_file() -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    texts = (
        "Slow Waiting",
        "1 Introduction",
        *["Waiting is old, and it has been studied."] * 8,
        "2 Method",
        "We wait.",
    )
    rows = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
    kinds = (
        '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", kinds)
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{rows}</w:body></w:document>')
    return buffer.getvalue()


def asked(server: Server) -> list[str]:
    return [question.split()[1] for question in server.questions]


def tasks(command: Command) -> list[str]:
    """The names of all tasks; this asks the disk, for that is faster than the command."""
    return sorted(path.name for path in (command.folder / "tasks").iterdir() if path.is_dir())


def assert_done(ended: Ended) -> None:
    assert ended.code in (0, 5), ended.err
    assert "Traceback" not in ended.err


# Every kind of source

SOURCES: dict[str, tuple[str, Mapping[str, bytes], str, str]] = {
    # what it is: (what is given, the files that are there, the kind, the task's name)
    "a folder of LaTeX": ("slow", {f"slow/{name}": content for name, content in LATEX.items()}, "tex", "slow"),
    "a .tex file and what it names": ("main.tex", LATEX, "tex", "main"),
    "an archive of LaTeX": ("slow.tar.gz", {"slow.tar.gz": tar(LATEX)}, "tex", "slow"),
    "a web page": ("slow.html", {"slow.html": PAGE.encode()}, "html", "slow"),
    "a Word file": ("slow.docx", {"slow.docx": word_file()}, "docx", "slow"),
    "a PDF": ("slow.pdf", {"slow.pdf": good_pdf()}, "pdf", "slow"),
    "Markdown": ("slow.md", {"slow.md": PAPER.encode()}, "md", "slow"),
    "plain text": ("slow.txt", {"slow.txt": PLAIN.encode()}, "txt", "slow"),
    "a requirement": ("wish.txt", {"wish.txt": WISH.encode()}, "requirement", "wish"),
}


@pytest.mark.parametrize(
    "name",
    with_covered(SOURCES, "an archive of LaTeX", "a Word file", "a PDF", "Markdown", "plain text", "a requirement"),
)
def test_a_source_of_every_kind_becomes_a_plan(name: str, command: Command) -> None:
    given, files, kind, task = SOURCES[name]
    laid(command.folder, files)
    ended = command("run", "--fast", "--review", "file", given)
    assert ended.code == 5, ended.err
    taken = command.document(task, "input.json")
    assert (taken["kind"], taken["origin"]) == (kind, str(command.folder / given))
    assert command.document(task, "report.json")["input_verdict"] == "ok"
    text = (command.task(task) / "paper.md").read_text(encoding="utf-8")
    assert "Waiting is old" in text or "survive a crash" in text
    assert (command.task(task) / "initial_plan.txt").stat().st_size > 500
    for row in taken["files"]:
        assert hashlib.sha256((command.task(task) / row["path"]).read_bytes()).hexdigest() == row["sha256"]
    assert command("check", task).code == 0


def test_latex_is_read_with_what_it_names(command: Command) -> None:
    laid(command.folder, {**LATEX, "sections/unused.tex": b"\\section{Unused}"})
    assert_done(command(*UNTIL, "main.tex"))
    text = (command.task("main") / "paper.md").read_text(encoding="utf-8")
    assert "cross-entropy" in text
    assert not (command.task("main") / "source/sections/unused.tex").exists()


@pytest.mark.slow
def test_what_lies_outside_a_paper_is_never_taken_in(command: Command) -> None:
    laid(command.folder, {"secret.tex": b"\\section{SECRET}", "paper/x.tex": b"x"})
    inputs = f"\\input{{../secret}}\\input{{{command.folder}/secret}}\\input{{link}}\\input{{up/secret}}\n".encode()
    laid(command.folder / "paper", {"main.tex": MAIN.replace(b"\\input", inputs + b"\\input")})
    (command.folder / "paper" / "link.tex").symlink_to("../secret.tex")
    (command.folder / "paper" / "up").symlink_to("..")
    for given in ("paper", "paper/main.tex"):
        assert_done(command(*UNTIL, given))
    for name in tasks(command):
        held = b"".join(path.read_bytes() for path in command.task(name).rglob("*") if path.is_file())
        assert b"SECRET" not in held


@pytest.mark.slow
def test_a_finished_run_from_latex_leaves_code(command: Command) -> None:
    laid(command.folder, LATEX)
    ended = command("run", "--fast", "--review", "auto", "--unsandboxed", "main.tex")
    assert ended.code in (0, 3), ended.err
    assert list((command.task("main") / "generate_code").rglob("*.py"))


# Typed words


@pytest.mark.slow
def test_typed_words_become_a_plan_of_what_they_ask_for(command: Command) -> None:
    ended = command("chat", "--fast", "--review", "file", WISH)
    assert ended.code == 5, ended.err
    [task] = tasks(command)
    assert task == "Build-a-queue-that-keeps-its"
    taken = command.document(task, "input.json")
    assert (taken["kind"], taken["files"][0]["path"]) == ("requirement", "source/requirement.txt")
    plan = (command.task(task) / "initial_plan.txt").read_text(encoding="utf-8")
    assert "survive a crash" in plan


@pytest.mark.slow
def test_typed_words_are_one_requirement_however_they_are_quoted(command: Command) -> None:
    assert_done(command("chat", "--fast", "--until", "acquire", *WISH.split()))
    assert_done(command("chat", "--fast", "--until", "acquire", WISH))
    assert len(tasks(command)) == 1


@pytest.mark.slow
def test_other_words_are_another_task(command: Command) -> None:
    for words in (WISH, WISH + " It must be fast."):
        assert_done(command("chat", "--fast", "--until", "acquire", words))
    assert len(tasks(command)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        pytest.param("http://127.0.0.1:9/paper.pdf and \\input{/etc/passwd}", id="an address"),
        pytest.param("../../etc/passwd is a file", id="a path"),
        pytest.param("\x1b]0;owned\x07 <!-- page 9 --> words", id="an escape"),
        pytest.param("论文 实现一个队列。它必须可靠。", id="Chinese"),
        pytest.param("word " * 20_000, id="very many words"),
        pytest.param("a" * 100_000, id="a very long word"),
    ],
)
def test_typed_words_are_words_and_nothing_else(words: str, command: Command) -> None:
    with command.start("chat", "--fast", "--anyway", "--review", "file", words) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail("words that a command line holds are soon read")
    assert_done(Ended(process.returncode, out, err))
    assert "\x1b" not in out + err
    [task] = tasks(command)
    assert [path.name for path in (command.task(task) / "source").iterdir()] == ["requirement.txt"]


@pytest.mark.parametrize("words", [[], [""], ["...", "!"]], ids=["nothing", "an empty word", "signs alone"])
def test_no_words_are_usage(words: list[str], command: Command) -> None:
    ended = command("chat", "--fast", *words)
    assert (ended.code, len(ended.complaints)) == (2, 1)
    assert not (command.folder / "tasks").exists()


# From the net


@pytest.mark.slow
def test_an_address_is_downloaded_and_where_it_came_from_is_written_down(online: Online) -> None:
    command, serve = online
    server = serve(redirects("/real/slow.pdf?x=1"), says(good_pdf(), "Content-Type: application/pdf"))
    ended = command(*UNTIL, f"{server.base}/slow.pdf#page=2")
    assert_done(ended)
    assert asked(server) == ["/slow.pdf", "/real/slow.pdf?x=1"]
    taken = command.document("slow", "input.json")
    assert (taken["kind"], taken["origin"]) == ("pdf", f"{server.base}/slow.pdf#page=2")
    assert taken["fetched"] == {
        "url": f"{server.base}/real/slow.pdf?x=1",
        "content_type": "application/pdf",
        "arxiv": None,
    }
    assert (command.task("slow") / "source/paper.pdf").read_bytes() == good_pdf()


@pytest.mark.parametrize(
    "given",
    [
        "2401.12345",
        pytest.param("arXiv:2401.12345", marks=pytest.mark.slow),
        pytest.param("https://arxiv.org/abs/2401.12345", marks=pytest.mark.slow),
        "https://arxiv.org/pdf/2401.12345.pdf",
    ],
)
def test_an_arxiv_paper_is_taken_from_its_latex_in_every_spelling(given: str, online: Online) -> None:
    command, serve = online
    server = serve(says(tar(LATEX), "Content-Type: application/gzip"))
    assert_done(command(*UNTIL, given))
    assert asked(server) == ["/e-print/2401.12345"]
    assert tasks(command) == ["arxiv-2401.12345"]
    taken = command.document("arxiv-2401.12345", "input.json")
    assert (taken["kind"], taken["fetched"]["arxiv"]) == ("tex", "2401.12345")
    assert "cross-entropy" in (command.task("arxiv-2401.12345") / "paper.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_arxiv_paper_without_source_is_taken_from_its_pdf_and_keeps_its_version(online: Online) -> None:
    command, serve = online
    server = serve(says(b"none", status="404 Not Found"), says(good_pdf()))
    assert_done(command(*UNTIL, "arXiv:2401.12345v3"))
    assert asked(server) == ["/e-print/2401.12345v3", "/pdf/2401.12345v3"]
    taken = command.document("arxiv-2401.12345v3", "input.json")
    assert (taken["kind"], taken["fetched"]["arxiv"]) == ("pdf", "2401.12345v3")


def test_an_old_arxiv_paper_has_a_name_that_is_a_folder_name(online: Online) -> None:
    command, serve = online
    server = serve(says(MAIN.replace(b"\\input{sections/method}", METHOD)))
    assert_done(command(*UNTIL, "math.GT/0309136"))
    assert asked(server) == ["/e-print/math/0309136"]
    assert tasks(command) == ["arxiv-math-0309136"]


@pytest.mark.slow
def test_two_versions_of_an_arxiv_paper_are_two_tasks(online: Online) -> None:
    command, serve = online
    serve(says(tar(LATEX)))
    for given in ("2401.12345v1", "2401.12345v2", "2401.12345v1"):
        assert_done(command(*UNTIL, given))
    assert tasks(command) == ["arxiv-2401.12345v1", "arxiv-2401.12345v2"]


@pytest.mark.parametrize(
    "given", ["{}/slow.pdf", pytest.param("2401.12345", marks=pytest.mark.slow)], ids=["an address", "an arXiv id"]
)
def test_what_is_downloaded_is_not_downloaded_again(given: str, online: Online) -> None:
    command, serve = online
    server = serve(says(good_pdf()))
    source = given.format(server.base)
    assert_done(command("run", "--fast", source, "--until", "intake"))
    before = len(server.questions)
    assert_done(command("resume", "--until", "acquire"))
    assert_done(command("run", "--fast", source, "--until", "outline"))
    [task] = tasks(command)
    assert_done(command("run", "--fast", f"tasks/{task}", "--until", "outline"))
    assert command("read", f"tasks/{task}/source/paper.pdf").code == 0
    assert len(server.questions) == before == 1
    assert command.attempts(task)["intake"] == 1


def test_it_is_downloaded_again_when_that_is_asked_for(online: Online) -> None:
    command, serve = online
    server = serve(says(good_pdf()), says(PAPER.encode()))
    assert_done(command(*UNTIL, f"{server.base}/slow"))
    assert_done(command("resume", "--redo", "intake", "--until", "acquire"))
    assert command.document("slow", "input.json")["kind"] == "md"
    assert len(server.questions) == 2


@pytest.mark.slow
def test_the_same_id_in_another_spelling_goes_on_with_the_same_task(online: Online) -> None:
    command, serve = online
    server = serve(says(tar(LATEX)))
    for given in ("2401.12345", "arXiv:2401.12345", "https://arxiv.org/abs/2401.12345"):
        assert_done(command(*UNTIL, given))
    assert tasks(command) == ["arxiv-2401.12345"]
    assert len(server.questions) == 1


@pytest.mark.parametrize("given", ["{}/slow.pdf", "2401.12345"], ids=["an address", "the setting for arXiv"])
def test_this_machine_is_not_asked_without_leave(given: str, command: Command) -> None:
    with serving(says(good_pdf())) as server:
        ended = command(*UNTIL, given.format(server.base), PIPELINE_ARXIV=server.base)
    assert (ended.code, len(ended.complaints)) == (1, 1), ended.err
    assert "127.0.0.1" in ended.complaints[0]
    assert "is not allowed" in ended.complaints[0]
    assert server.connections == 0


def test_a_redirect_to_this_machine_needs_leave_too_and_only_http_is_followed(online: Online) -> None:
    command, serve = online
    server = serve(redirects("file:///etc/passwd"))
    ended = command(*UNTIL, f"{server.base}/slow.pdf")
    assert (ended.code, len(ended.complaints)) == (1, 1)
    assert "file: is not fetched" in ended.complaints[0]
    assert b"root:" not in held_by(command)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param(says(b"", status="404 Not Found"), "it is not there (404)", id="nothing there"),
        pytest.param(
            says(b"", status="403 Forbidden"),
            "refuses it to programs",
            id="a shut door",
            marks=pytest.mark.slow,
        ),
        pytest.param(says(b"<!doctype html><html>Sign in</html>"), "login page", id="a login page"),
        pytest.param(says(b"\x89PNG"), "a picture", id="a picture", marks=pytest.mark.slow),
        pytest.param(
            says(tar({"a.txt": b"words"})),
            "must hold LaTeX source",
            id="an archive of nothing",
            marks=pytest.mark.slow,
        ),
        pytest.param(says(b"x" * 1_100_000), "1,048,576|MiB|limit|more than", id="too much"),
    ],
)
def test_a_download_that_is_no_paper_ends_in_one_line_and_the_next_run_tries_again(
    script: Script, words: str, online: Online
) -> None:
    command, serve = online
    server = serve(script, says(good_pdf()))
    source = f"{server.base}/slow.pdf"
    ended = command(*UNTIL, source, PIPELINE_MAX_SOURCE_MB="1")
    assert (ended.code, len(ended.complaints)) == (1, 1), ended.err
    assert source in ended.complaints[0]
    assert any(word in ended.complaints[0] for word in words.split("|")), ended.complaints[0]
    assert list((command.folder / "temporary").iterdir()) == []
    if "login" not in words:  # a page was taken in as what it is: it is the reading of it that failed
        assert_done(command(*UNTIL, source))
        assert tasks(command) == ["slow"]


def stalling(folder: Path, number: signal.Signals, command: Command, serve: Callable[..., Server]) -> Server:
    """A run that gets a signal amid its download; the second answer of the server is whole."""
    sent = folder / "sent"

    def half(connection: Any) -> None:
        connection.sendall(head("Content-Length: 500000") + good_pdf() + bytes(200_000))
        sent.touch()
        connection.recv(1)  # until nobody is there any more

    server = serve(half, says(good_pdf()))
    with command.start(*UNTIL, f"{server.base}/slow.pdf") as process:
        wait_until(sent.exists, "half of it is sent")
        time.sleep(0.1)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number), err
    assert "Traceback" not in err
    return server


def test_a_run_that_is_killed_amid_a_download_leaves_no_half_file_and_goes_on(online: Online) -> None:
    command, serve = online
    server = stalling(command.folder, signal.SIGKILL, command, serve)
    assert not (command.task("slow") / "input.json").exists()
    assert good_pdf()[:99] not in held_by(command), "neither the task nor the home holds half a paper"
    assert list(command.folder.rglob("*.pdf")) == []
    assert_done(command("resume", "--until", "acquire"))
    assert (command.task("slow") / "source/paper.pdf").read_bytes() == good_pdf()
    assert len(server.questions) == 2


@pytest.mark.slow
def test_a_run_that_is_stopped_amid_a_download_leaves_nothing_at_all(online: Online) -> None:
    command, serve = online
    stalling(command.folder, signal.SIGINT, command, serve)
    assert not (command.task("slow") / "input.json").exists()
    assert list((command.folder / "temporary").iterdir()) == []
    assert_done(command("resume", "--until", "acquire"))


# The same source, and a changed one


@pytest.mark.parametrize(
    "name",
    with_covered(SOURCES, "an archive of LaTeX", "a Word file", "a PDF", "Markdown", "plain text", "a requirement"),
)
def test_the_same_source_goes_on_with_its_task_and_a_changed_one_leaves_that_and_makes_a_new_one(
    name: str, command: Command
) -> None:
    given, files, kind, task = SOURCES[name]
    laid(command.folder, files)
    assert_done(command(*UNTIL, given))
    before = (command.task(task) / "paper.md").read_bytes()
    again = command(*UNTIL, f"./{given}")
    assert_done(again)
    assert tasks(command) == [task]
    assert re.search("intake +up to date", again.err), "nothing is taken in twice"
    if kind == "tex":
        files = {path: LATEX["main.tex"].replace(b"old", b"new") for path in files if path.endswith("main.tex")} or {
            given: tar({**LATEX, "main.tex": MAIN.replace(b"old", b"new")})
        }
    else:
        last = min(files)
        of_text = PAPER.replace("Waiting", "Resting").encode()
        files = {last: of_text if kind in ("md", "txt", "requirement") else good_pdf() + b"\n%%"}
    laid(command.folder, files)
    assert_done(command(*UNTIL, given))
    assert tasks(command) == [task, f"{task}-2"]
    assert (command.task(task) / "paper.md").read_bytes() == before


@pytest.mark.parametrize("given", ["main.tex", "."], ids=["a .tex file", "a folder"])
@pytest.mark.parametrize("change", ["edited", "gone", "new"])
def test_a_change_in_a_file_that_belongs_to_the_paper_makes_a_new_task(
    given: str, change: str, command: Command
) -> None:
    folder = laid(command.folder / "slow", LATEX | ({"sections/method.tex": b""} if change == "new" else {}))
    method = folder / "sections/method.tex"
    if change == "new":
        method.unlink()
    assert_done(command(*UNTIL, folder / given))
    [first] = tasks(command)
    if change == "gone":
        method.unlink()
    else:
        method.write_bytes(METHOD.replace(b"0.1", b"0.2"))
    assert_done(command(*UNTIL, folder / given))
    assert tasks(command) == sorted([first, f"{first}-2"])


@pytest.mark.slow
def test_a_change_in_a_file_beside_the_paper_makes_no_new_task(command: Command) -> None:
    folder = laid(command.folder / "slow", {**LATEX, "notes.txt": b"old", "main.log": b"log"})
    assert_done(command(*UNTIL, "slow"))
    laid(folder, {"notes.txt": b"new", "main.aux": b"aux", "plot.png": b"\x89PNG"})
    assert_done(command(*UNTIL, "slow"))
    assert tasks(command) == ["slow"]


def test_a_source_that_is_gone_goes_on_from_what_was_taken(command: Command) -> None:
    source = paper(command.folder, name="slow.md")
    assert_done(command(*UNTIL, source))
    source.unlink()
    assert_done(command("run", "--fast", source, "--until", "outline"))
    assert tasks(command) == ["slow"]


def test_a_folder_whose_names_are_no_text_breaks_nothing(command: Command) -> None:
    folder = laid(command.folder / "slow", LATEX)
    Path(os.fsdecode(os.fsencode(folder) + b"/a\xff.tex")).write_bytes(METHOD)
    for _ in range(2):
        ended = command(*UNTIL, "slow")
        assert ended.code in (0, 1), ended.err
        assert "Traceback" not in ended.err


# Passwords: RC4 with 40 bits, the oldest lock of a PDF; a page is one encrypted stream

PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")


def rc4(key: bytes, content: bytes) -> bytes:
    state, at = list(range(256)), 0
    for index in range(256):
        at = (at + state[index] + key[index % len(key)]) % 256
        state[index], state[at] = state[at], state[index]
    out, first, second = bytearray(), 0, 0
    for byte in content:
        first = (first + 1) % 256
        second = (second + state[first]) % 256
        state[first], state[second] = state[second], state[first]
        out.append(byte ^ state[(state[first] + state[second]) % 256])
    return bytes(out)


def locked_pdf(word: str) -> bytes:
    """A PDF that opens with this password alone."""
    plain = pdf(
        [["# Slow Waiting", "1 Introduction", *["Waiting is old, and it has been studied many times."] * 9]],
        locked=True,
    )
    owner = rc4(hashlib.md5((word.encode() + PADDING)[:32]).digest()[:5], (word.encode() + PADDING)[:32])
    key = hashlib.md5((word.encode() + PADDING)[:32] + owner + struct.pack("<i", -4) + b"\x5a" * 16).digest()[:5]
    own = b"<" + b"5a" * 32 + b">"
    plain = plain.replace(b"/O " + own, b"/O <%s>" % owner.hex().encode())
    plain = plain.replace(b"/U " + own, b"/U <%s>" % rc4(key, PADDING).hex().encode())
    begin = plain.index(b"stream\n") + 7
    end = plain.index(b"\nendstream")
    number = int(plain[: plain.rindex(b" 0 obj", 0, begin)].rpartition(b"\n")[2])
    inner = hashlib.md5(key + number.to_bytes(3, "little") + bytes(2)).digest()[:10]
    return plain[:begin] + rc4(inner, plain[begin:end]) + plain[end:]


def held_by(command: Command) -> bytes:
    """Every byte and name of the tasks and of the home."""
    parts = []
    for root in (command.folder / "tasks", command.home):
        for path in root.rglob("*"):
            parts += [str(path).encode(), path.read_bytes() if path.is_file() else b""]
    return b"\n".join(parts)


@pytest.fixture
def locked(command: Command) -> Path:
    path = command.folder / "slow.pdf"
    path.write_bytes(locked_pdf(WORD))
    return path


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        pytest.param(["--password", WORD], {}, id="on the command line"),
        pytest.param([], {"PIPELINE_PASSWORD": WORD}, id="in the environment"),
    ],
)
def test_an_encrypted_pdf_is_read_with_its_password_which_no_file_keeps(
    flags: list[str], environment: dict[str, str], command: Command, locked: Path
) -> None:
    ended = command("run", "--fast", "--anyway", "--review", "auto", "--unsandboxed", *flags, locked, **environment)
    assert ended.code in (0, 3), ended.err
    assert "Waiting is old" in (command.task("slow") / "paper.md").read_text(encoding="utf-8")
    assert WORD.encode() not in held_by(command)
    assert WORD not in ended.out + ended.err
    assert list((command.folder / "temporary").iterdir()) == []


def test_a_password_can_be_typed_unseen(command: Command, locked: Path) -> None:
    screen = in_terminal(command, *UNTIL, locked, "--password", answers=[WORD])
    assert screen.code == 0, screen.text
    assert WORD not in screen.text
    assert WORD.encode() not in held_by(command)


@pytest.mark.slow
def test_a_password_in_the_users_settings_opens_a_paper(command: Command, locked: Path) -> None:
    command.configure(f"password: {WORD}\n")
    assert_done(command(*UNTIL, locked))
    held = [path for path in command.folder.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()]
    assert [path.name for path in held] == ["config.yaml"]


@pytest.mark.parametrize(
    "word",
    [
        "wrong-word-0815",
        "c",
        pytest.param("ünïcode-0815", marks=pytest.mark.slow),
        pytest.param("a b c 0815", marks=pytest.mark.slow),
        "x" * 3000,
    ],
)
def test_a_wrong_password_is_said_to_be_wrong_and_kept_nowhere(word: str, command: Command, locked: Path) -> None:
    ended = command(*UNTIL, locked, "--password", word)
    assert (ended.code, len(ended.complaints)) == (1, 1), ended.err
    assert "password is wrong" in ended.complaints[0] or "wrong password" in ended.complaints[0]
    assert command.document("slow", "report.json")["input_verdict"] == "encrypted"
    if len(word) > 1:
        assert word.encode() not in held_by(command)
        assert word not in ended.err


@pytest.mark.slow
def test_without_a_password_it_is_said_how_to_give_it(command: Command, locked: Path) -> None:
    ended = command(*UNTIL, locked)
    assert (ended.code, len(ended.complaints)) == (1, 1)
    assert "--password" in ended.complaints[0]
    assert "wrong" not in ended.complaints[0]


@pytest.mark.slow
def test_after_a_wrong_password_the_right_one_goes_on_in_the_same_task(command: Command, locked: Path) -> None:
    assert command(*UNTIL, locked, "--password", "wrong-word").code == 1
    assert_done(command("resume", "--until", "acquire", "--password", WORD))
    assert_done(command("run", "--fast", locked, "--until", "outline"))
    assert tasks(command) == ["slow"]
    assert command.attempts("slow")["intake"] == 1


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        pytest.param(["--password", WORD], {}, id="on the command line"),
        pytest.param([], {"PIPELINE_PASSWORD": WORD}, id="in the environment", marks=pytest.mark.slow),
    ],
)
def test_read_opens_an_encrypted_pdf_and_its_pictures(
    flags: list[str], environment: dict[str, str], command: Command, locked: Path
) -> None:
    ended = command("read", locked, *flags, "--html", "look.html", **environment)
    assert ended.code == 0, ended.err
    page = (command.folder / "look.html").read_text(encoding="utf-8")
    assert "Waiting is old" in page
    assert "data:image/png" in page
    assert WORD not in page + ended.out + ended.err


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="this system shows no command lines of processes")
def test_no_child_process_shows_the_password_on_its_command_line(command: Command, locked: Path) -> None:
    command.environment["PIPELINE_PASSWORD"] = WORD
    with command.start(*UNTIL, locked) as process:
        seen = []
        while process.poll() is None:
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    try:
                        words = (entry / "cmdline").read_bytes()
                    except OSError:
                        continue
                    if str(command.folder).encode() in words:
                        seen.append(words)
        process.communicate()
    assert process.returncode == 0
    assert any(b"phases.readers.reader_worker" in words for words in seen), "the child was seen"
    assert [words for words in seen if WORD.encode() in words] == []
