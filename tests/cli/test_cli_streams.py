"""stdout and stderr that are closed, full, gone, slow or ASCII alone: no command does anything else because of them."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.papers import PAPER, SECONDS, Command, Ended, command_line
from tests.toys import write_toy, write_toys

GIVES_UP = '''"""A toy that gives up."""
from pipeline.base.errors import PhaseError
from pipeline.engine.phase import Phase
def run(inputs, ctx):
    raise PhaseError("the well is dry; dig another one")
PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run{more})
'''
BREAKS_A_PIPE = GIVES_UP.replace(
    'PhaseError("the well is dry; dig another one")', "BrokenPipeError(32, 'a child left')"
)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    made = Command(tmp_path)
    made.environment["PIPELINE_PHASES"] = str(write_toys(tmp_path / "toys", 3))
    (tmp_path / "pâper.md").write_text(PAPER)
    return made


@contextmanager
def pipe_without_reader() -> Iterator[int]:
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@contextmanager
def full_disk() -> Iterator[int]:
    writing = os.open("/dev/full", os.O_WRONLY)
    yield writing
    os.close(writing)


@contextmanager
def terminal_that_is_gone() -> Iterator[int]:
    master, terminal = pty.openpty()
    os.close(master)
    yield terminal
    os.close(terminal)


BROKEN = [
    pytest.param(pipe_without_reader, id="a pipe that nobody reads"),
    pytest.param(full_disk, id="a full disk"),
    pytest.param(terminal_that_is_gone, id="a terminal that is gone"),
]
STREAMS = [
    pytest.param(("stdout",), id="stdout"),
    pytest.param(("stderr",), id="stderr"),
    pytest.param(("stdout", "stderr"), id="both"),
]


def call(command: Command, *arguments: str, **streams: Any) -> Ended:
    """Runs the command with these streams; the others are read."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    ended = subprocess.run(
        command_line(*arguments),
        cwd=command.folder,
        env=command.environment,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
        **given,
    )
    return Ended(ended.returncode, ended.stdout or "", ended.stderr or "")


def assert_whole(command: Command, task: str = "p-per") -> None:
    """Everything that a run makes is there."""
    assert command.document(task, "report.json")["status"] == "completed"
    assert (command.task(task) / "toy02.json").exists()
    assert command("check", task).code == 0


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("names", STREAMS)
def test_a_run_whose_output_cannot_be_written_goes_on_to_its_end_and_its_exit_code(
    names: tuple[str, ...], broken: Callable[[], Any], command: Command
) -> None:
    with broken() as stream:
        ended = call(command, "run", "pâper.md", **dict.fromkeys(names, stream))
    assert ended.code == 0
    assert "Traceback" not in ended.err
    assert "Exception ignored" not in ended.err
    assert_whole(command)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_run_that_fails_has_the_exit_code_of_its_report_whoever_reads(
    broken: Callable[[], Any], command: Command
) -> None:
    write_more(command, GIVES_UP)
    with broken() as stream:
        assert call(command, "run", "pâper.md", stdout=stream, stderr=stream).code == 1
    assert command.document("p-per", "report.json")["exit_code"] == 1


@pytest.mark.slow
def test_a_run_piped_into_head_is_a_run(command: Command) -> None:
    line = " ".join(command_line("run", "pâper.md"))
    ended = call_shell(command, f"{line} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}")
    assert ended.code == 0
    assert ended.out.count("\n") == 1
    assert_whole(command)


@pytest.mark.parametrize(
    "closing",
    [
        pytest.param(">&-", marks=pytest.mark.slow),
        pytest.param("2>&-", marks=pytest.mark.slow),
        ">&- 2>&-",
        "<&- >&- 2>&-",
    ],
)
def test_a_run_without_streams_writes_into_its_documents_and_nowhere_else(closing: str, command: Command) -> None:
    (command.folder / "toys" / "phase01_toy01.py").write_text(
        (command.folder / "toys" / "phase01_toy01.py")
        .read_text()
        .replace("    before =", "    import subprocess\n    subprocess.run(['echo', 'a child speaks'])\n    before =")
    )
    line = " ".join(command_line("run", "pâper.md"))
    ended = call_shell(command, f"{line} {closing}")
    assert ended.code == 0
    assert_whole(command)
    spoken = [path for path in command.task("p-per").rglob("*") if path.is_file() and b"a child" in path.read_bytes()]
    assert spoken == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_an_ascii_terminal_is_shown_escapes(environment: dict[str, str], command: Command) -> None:
    call(command, "run", "pâper.md", "--stop-at", "toy01")
    command.environment |= environment
    ended = call(command, "resume")
    assert (ended.code, ended.complaints) == (0, [])
    assert_whole(command)
    shown = call(command, "show", "p-per", "task")
    assert (shown.code, shown.err) == (0, "")
    assert r"p\xe2per.md" in shown.out


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("list",), marks=pytest.mark.slow),
        pytest.param(("show", "p-per", "task"), marks=pytest.mark.slow),
        ("logs",),
        ("status",),
        ("--help",),
    ],
)
def test_a_reader_that_leaves_ends_a_command_that_prints_in_silence(
    arguments: tuple[str, ...], command: Command
) -> None:
    call(command, "run", "pâper.md")
    with pipe_without_reader() as stream:
        ended = call(command, *arguments, stdout=stream)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("list",), ("show", "p-per", "task"), ("check",)])
def test_output_that_does_not_fit_on_the_disk_is_told_in_one_line(arguments: tuple[str, ...], command: Command) -> None:
    call(command, "run", "pâper.md")
    with full_disk() as stream:
        ended = call(command, *arguments, stdout=stream)
    assert (ended.code, ended.err) == (
        1,
        "pipeline: cannot print to stdout: No space left on device (ENOSPC)\n",
    )


@pytest.mark.slow
def test_a_slow_reader_of_a_pipe_that_does_not_block_is_waited_for(command: Command) -> None:
    call(command, "run", "pâper.md")
    log = command.task("p-per") / "logs" / "system.jsonl"
    log.write_bytes(log.read_bytes() * 500)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with subprocess.Popen(
        command_line("logs", "--json"), cwd=command.folder, env=command.environment, stdout=writing
    ) as process:
        os.close(writing)
        time.sleep(0.5)
        with open(reading, "rb") as file:
            assert file.read() == log.read_bytes()
    assert process.returncode == 0


@pytest.mark.slow
def test_a_pipe_that_breaks_elsewhere_is_a_bug_and_no_good_end(command: Command) -> None:
    write_more(command, BREAKS_A_PIPE)
    ended = call(command, "run", "pâper.md")
    assert ended.code == 70


def write_more(command: Command, body: str) -> None:
    """A fourth toy."""
    write_toy(command.folder / "toys", 3, body=body)


def call_shell(command: Command, line: str) -> Ended:
    ended = subprocess.run(
        ["bash", "-c", line],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)
