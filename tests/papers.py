"""Small papers for tests, good and bad ones, and the real command as a process of its own that reads them."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from phases.planning.rules import plan_by_rules
from phases.readers.markdown import paper_document
from phases.readers.outline import outline_of
from phases.readers.pdf.reader import read_pdf
from phases.readers.reading import Reading
from phases.readers.segments import segments_of
from phases.readers.text import read_text
from pipeline.base.formats import Markdown
from pipeline.cli.assembly import discover_phases
from pipeline.engine.graph import Graph
from tests import command_server
from tests.bare import lend_python
from tests.work import wait_until

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "averaged-perceptron" / "paper.pdf"
SHARED = ROOT.parent / "shared" / "papers"
SECONDS = 120
HANGS = 60
"""What takes so many seconds hangs; no test says how fast anything is."""
PIECES = st.sampled_from(
    [
        "# A Title", "## 1 Introduction", "### 2.1 Deep", "## References", "## Appendix A", "## A Proofs", "#", "##  ",
        "#### ", "```", "```python", "~~~", "# in code", "[1] A. Author. 1999.", "- [2] B. 2001.", "", " ", "words, words.",
        "Algorithm 1: Wait", "Table 2: Results", "Figure A.1: Picture", "$$ y = x $$", "y = x + 1 (3)", "<!-- page 3 -->",
        "https://example.org/a.", "learning rate of 0.1", "---", "We minimize the loss.", "\u2028", "\x0c", "|a|b|",
        "x" * 900, "We use the data set. " * 120,
    ]
)  # fmt: skip
ALL_NUMBERS = sorted(path.name.removeprefix("phase").partition("_")[0] for path in (ROOT / "phases").glob("phase*.py"))
"""Of the built-in phases: no test counts them, so adding one breaks none."""
NUMBERS = [number for number in ALL_NUMBERS if number != "10"]
"""Of those that run without being asked for."""
MARKDOWN = st.lists(st.one_of(PIECES, st.text(st.characters(exclude_categories=["Cs"]), max_size=40)), max_size=40).map(
    "\n".join
)

PAPER = """\
# Slow Waiting for Everyone

## Abstract

We wait, and measure how long.

## 1 Introduction

Waiting is old [1]. The code is at https://github.com/example/waiting.

## 2 Method

We minimize the cross-entropy loss of the waiter over all rooms.

Algorithm 1: Wait a little

$$ y = x + 1 $$

### 2.1 Waiting model

The model waits first and then answers all of the questions at once.

## 3 Experiments

We use the Lobby data set with a learning rate of 0.1 and a batch size of 32. We report the accuracy over 5 epochs.
We compare with the Hurry baseline in all of the rooms.

Table 1: Results of waiting

Figure 1: A waiting room

## References

[1] A. Author. On time. 1999.

[2] B. Author. On more time.
In a journal, 2001. https://github.com/example/more

[3] C. Author. On no time at all. 2005.
"""


@cache
def built_in_phases() -> Graph:
    """The phases that a run has."""
    return discover_phases("")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)

    @property
    def complaints(self) -> list[str]:
        """The lines that say what went wrong."""
        return [line for line in self.err.splitlines() if line.startswith("pipeline: ")]


class Command:
    """The installed `pipeline` in a folder and a home of its own, with none of the caller's settings.

    A call is a process that is forked from one that has imported the program; `start` is a start.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        lend_python(self.home)
        path = f"{os.environ['PATH']}:{os.path.dirname(sys.executable)}"  # the shell finds the program, as usual
        self.environment = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", **environment}

    def __call__(self, *arguments: str | Path, **environment: str) -> Ended:
        whole = {**self.environment, **environment}
        if command_server.fits(whole):
            return Ended(*command_server.call([*map(str, arguments)], self.folder, whole, SECONDS))
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate(timeout=SECONDS)
        return Ended(process.returncode, out, err)

    def start(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        """The process, still running."""
        return subprocess.Popen(
            command_line(*arguments),
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def task(self, name: str) -> Path:
        """A task directory."""
        return self.folder / "tasks" / name

    def document(self, task: str, name: str) -> Any:
        """A JSON document of a task."""
        return json.loads((self.task(task) / name).read_text(encoding="utf-8"))

    def attempts(self, task: str) -> dict[str, int]:
        """How often each phase of a task ran, by name."""
        return {phase["name"]: phase["attempts"] for phase in self("status", task, "--json").json()["phases"]}

    def configure(self, text: str) -> Path:
        """Writes the user's settings file."""
        path = self.home / ".config" / "pipeline" / "config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def copy_command(original: Command, folder: Path) -> Command:
    """A command in a folder and a home with all that another one made: what many tests begin with is made once."""
    left = shutil.ignore_patterns(".cache")
    shutil.copytree(original.folder, folder, symlinks=True, dirs_exist_ok=True, ignore=left)
    return Command(folder)


def command_line(*arguments: str | Path) -> list[str]:
    """The argument list that starts the installed command."""
    return [str(Path(sys.executable).with_name("pipeline")), *map(str, arguments)]


def paper(folder: Path, text: str = PAPER, name: str = "paper.md") -> Path:
    """A Markdown paper on the disk."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Read:
    """A paper after the phases 02 to 05, without a task directory."""

    document: Markdown
    outline: dict[str, Any]
    index: dict[str, Any]
    texts: dict[str, str]
    requirements: list[dict[str, Any]]
    plan: dict[str, Any]


def read(text: str, requests: Sequence[str] = ()) -> Read:
    """What the phases make of a Markdown paper."""
    document = paper_document(read_text(text.encode("utf-8"), markdown=True), "0" * 64, "md")
    return read_on(document, requests)


def read_on(document: Markdown, requests: Sequence[str] = ()) -> Read:
    """What the phases make of paper.md."""
    outline = outline_of(document)
    index, texts = segments_of(document.text, outline)
    plan = plan_by_rules(document.text, outline, list(requests), body_start=document.body_start)
    return Read(document, outline, index, texts, plan["requirements"], plan)


@cache
def example_reading() -> Reading:
    """The project's own example paper, as its PDF is read."""
    return read_pdf(str(EXAMPLE))


@cache
def example_paper() -> Read:
    """What the phases make of it."""
    return read_on(paper_document(example_reading(), "0" * 64, "pdf"))


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    title: str | None = None,
    marks: Sequence[tuple[str, int]] = (),
    locked: bool = False,
) -> bytes:
    """A PDF with these lines on its pages, a line that begins with `#` being large; `marks` are its own outline."""
    objects: dict[int, bytes] = {
        1: b"<< /Type /Catalog /Pages 2 0 R" + (b" /Outlines 4 0 R" if marks else b"") + b" >>",
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    }
    first, kids = 10, []
    for index, lines in enumerate(pages):
        number = first + 2 * index
        kids.append(f"{number} 0 R")
        content = _text_stream(lines)
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        ).encode()
        objects[number + 1] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)
    objects[2] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    objects |= _outline_objects(marks, first, 1000)
    more = b""
    if title:
        objects[5] = b"<< /Title (%s) >>" % _escaped(title)
        more += b" /Info 5 0 R"
    if locked:  # no empty password fits these 32 bytes, and that is all a reader finds out
        entry = b"<" + b"5a" * 32 + b">"
        objects[6] = b"<< /Filter /Standard /V 1 /R 2 /P -4 /O %s /U %s >>" % (entry, entry)
        more += b" /Encrypt 6 0 R /ID [<%s> <%s>]" % (b"5a" * 16, b"5a" * 16)
    return _assembled(objects, more)


def scan(picture: bytes = bytes(range(256)) * 64, width: int = 128, height: int = 128) -> bytes:
    """A PDF of one page that is a picture and nothing else; the picture is a byte a dot."""
    content = b"q 612 0 0 792 0 0 cm /I Do Q"
    return _assembled(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /XObject << /I 5 0 R >> >> >>",
            4: b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            5: b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray "
            b"/BitsPerComponent 8 /Length %d >>\nstream\n%s\nendstream" % (width, height, len(picture), picture),
        },
        b"",
    )


def good_pdf() -> bytes:
    """A two-page PDF that reads well."""
    return pdf(
        [
            ["# Slow Waiting", "## 1 Introduction", *["Waiting is old, and it has been studied many times."] * 8],
            ["## 2 Method", "We minimize the cross-entropy loss of the waiter.", "We use a learning rate of 0.1."],
        ],
        title="Slow Waiting",
        marks=[("1 Introduction", 0), ("2 Method", 1), ("3 Nowhere", 1)],
    )


def _text_stream(lines: Sequence[str]) -> bytes:
    parts, y = [b"BT"], 740
    for line in lines:
        size = {0: 11, 1: 22}.get(len(line) - len(line.lstrip("#")), 15)
        parts.append(b"/F1 %d Tf 1 0 0 1 60 %d Tm (%s) Tj" % (size, y, _escaped(line.lstrip("# "))))
        y -= 2 * size
    return b"\n".join([*parts, b"ET"])


def _outline_objects(marks: Sequence[tuple[str, int]], first_page: int, base: int) -> Mapping[int, bytes]:
    objects = {}
    for index, (text, page) in enumerate(marks):
        following = b" /Next %d 0 R" % (base + index + 1) if index + 1 < len(marks) else b""
        objects[base + index] = b"<< /Title (%s) /Parent 4 0 R /Dest [%d 0 R /Fit]%s >>" % (
            _escaped(text),
            first_page + 2 * page,
            following,
        )
    if marks:
        objects[4] = b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>" % (
            base,
            base + len(marks) - 1,
            len(marks),
        )
    return objects


def _escaped(text: str) -> bytes:
    plain = text.encode("latin-1", "replace")
    return plain.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _assembled(objects: Mapping[int, bytes], more: bytes) -> bytes:
    out, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), {}
    for number, content in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        out += b"%d 1\n%010d 00000 n \n" % (number, place)
    size = max(objects) + 1
    out += b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (size, more, start)
    return bytes(out)


@dataclass(frozen=True)
class Screen:
    """What a person saw in a terminal, and how the command ended."""

    code: int
    text: str


def in_terminal(
    command: Command,
    *arguments: str | Path,
    answers: Sequence[str] = (),
    prompt: str = ": ",
    columns: int = 100,
    environment: Mapping[str, str] | None = None,
) -> Screen:
    """Runs the command in a terminal of its own; each answer is typed when `prompt` stands at the end of the screen.

    When no answer is left and the command asks again, the terminal says that the input is over (Ctrl-D).
    """
    mine, its = os.openpty()
    shown = {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "40", "PAGER": "cat", **(environment or {})}
    with _begin_in(its, command, arguments, {**command.environment, **shown}) as process:
        os.close(its)
        seen, asked, waiting = b"", 0, [*answers]
        while piece := _piece(mine):
            seen += piece
            if seen[asked:].endswith(prompt.encode()):
                asked = len(seen)
                os.write(mine, waiting.pop(0).encode() + b"\n" if waiting else b"\x04")
        code = process.wait(timeout=SECONDS)
    os.close(mine)
    return Screen(code, seen.decode("utf-8", "replace"))


def _begin_in(
    terminal: int, command: Command, arguments: Sequence[str | Path], environment: Mapping[str, str]
) -> command_server.Begun | subprocess.Popen[bytes]:
    if command_server.fits(environment):
        return command_server.begin([*map(str, arguments)], command.folder, environment, [terminal] * 3)
    return subprocess.Popen(
        command_line(*arguments),
        cwd=command.folder,
        env=environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )


def _piece(terminal: int) -> bytes:
    """What a terminal shows next; nothing when the command is gone, or is silent for ever."""
    if not select.select([terminal], [], [], SECONDS)[0]:
        return b""
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def environment_of(pid: int) -> dict[str, str]:
    """What a process was started with. Skips the test where the system does not tell."""
    path = Path(f"/proc/{pid}/environ")
    if not path.exists():
        pytest.skip("no /proc to read the environment of a process from")
    wait_until(path.read_text, "the process has its environment")  # it is there a little before
    rows = (row.partition("=") for row in path.read_text().split("\0") if row)
    return {name: value for name, _, value in rows}
