"""Processes that parse hostile bytes: whoever takes one over finds no network, no file of the user's, and nothing to write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from phases.readers.reader_subprocess import read_in_subprocess
from phases.references.parse.worker_queue import parse_files
from phases.sandbox import parsers
from phases.sandbox.bubblewrap import find_bubblewrap
from phases.sandbox.landlock import OLDEST_ABI, landlock_abi
from phases.sandbox.parsers import confine_parser
from pipeline.base.workers import WorkerStart
from tests.papers import good_pdf

ATTEMPT = """
import json, os, socket, sys
paper, other, home = sys.argv[1:]
attempts = {
    "paper": lambda: open(paper).read(),
    "other": lambda: open(other).read(),
    "beside": lambda: os.listdir(os.path.dirname(paper)),
    "home": lambda: os.listdir(home),
    "written": lambda: open(other, "a"),
    "made": lambda: open(os.path.dirname(paper) + "/made", "w"),
    "kept": lambda: open("/var/tmp/of-a-parser", "w"),
    "tcp": lambda: socket.create_connection(("127.0.0.1", 9)),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "parent": lambda: open(f"/proc/{os.getppid()}/mem", "rb"),
    "signal": lambda: os.kill(int(os.environ["TZ"]), 0),
}
done = {}
for name, attempt in attempts.items():
    try:
        done[name] = str(attempt())
    except OSError as error:
        done[name] = ""
print(json.dumps(done))
"""


@pytest.fixture(params=["landlock", "bubblewrap"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "landlock" and landlock_abi() < OLDEST_ABI:
        pytest.skip("the kernel has no Landlock")
    if request.param == "bubblewrap":
        if not find_bubblewrap():
            pytest.skip("bubblewrap is not installed")
        monkeypatch.setattr(parsers, "landlock_abi", lambda: 0)
    return str(request.param)


def test_a_parser_that_is_taken_over_reads_its_paper_and_reaches_nothing_else(kind: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (tmp_path / "paper").write_text("words")
    (tmp_path / "other").write_text("secret")
    argv = [sys.executable, "-I", "-c", ATTEMPT, str(tmp_path / "paper"), str(tmp_path / "other"), str(home)]
    given = {"PATH": os.defpath, "TZ": str(os.getpid())}
    ended = subprocess.run(
        confine_parser(argv, [str(tmp_path / "paper")]),
        env=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    reached = {name for name, what in json.loads(ended.stdout).items() if what}
    if kind == "bubblewrap":  # a directory and processes of its own, which hold the paper and bubblewrap alone
        assert "secret" not in ended.stdout
        reached -= {"beside", "parent"}
    assert reached == {"paper"}
    assert not (tmp_path / "made").exists()
    assert (tmp_path / "other").read_text() == "secret"


def test_papers_and_code_are_read_as_before(kind: str, tmp_path: Path) -> None:
    from functools import partial

    from phases.readers.reader_subprocess import run_worker

    start = WorkerStart({}, confine_parser)
    (tmp_path / "paper.pdf").write_bytes(good_pdf())
    run = partial(run_worker, start=start)
    reading = read_in_subprocess("pdf", str(tmp_path / "paper.pdf"), run=run)
    assert (reading.verdict, len(reading.pages)) == ("ok", 2)
    ((_, parsed),) = parse_files([(0, "python", b"def good():\n    pass\n")], start=start)
    assert [symbol.name for symbol in parsed.symbols] == ["good"]


def test_a_parser_that_burns_the_processor_is_named_by_that_also_in_a_sandbox(kind: str) -> None:
    from pipeline.base.workers import exit_code_of

    burn = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass"
    ended = subprocess.run(confine_parser([sys.executable, "-I", "-c", burn], ()), timeout=60, check=False)
    assert exit_code_of(ended.returncode) == -24


def test_libraries_that_the_environment_names_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "file").write_text("words")
    argv = [sys.executable, "-I", "-c", f"print(open({str(tmp_path / 'lib' / 'file')!r}).read())"]
    start = WorkerStart({"LD_LIBRARY_PATH": f"{tmp_path / 'lib'}:"}, confine_parser)
    ended = subprocess.run(start.command(argv, ()), capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == "words\n"
