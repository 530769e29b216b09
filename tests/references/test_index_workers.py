"""Parsing apart: children that crash, hang, swell or lie hurt their own file alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from phases.references.parse.ipc import pack_request, parse_answer
from phases.references.parse.model import Parsed
from phases.references.parse.worker_queue import BATCH_FILES, SECONDS, parse_files, start_worker
from phases.sandbox.parsers import confine_parser
from pipeline.base.errors import PhaseError
from pipeline.base.workers import WorkerStart
from tests.papers import HANGS, environment_of
from tests.work import wait_until

GOOD = b"def good():\n    return 1\n"


def found(files: list[tuple[int, str, bytes]], *, seconds: float = SECONDS) -> list[tuple[int, Parsed]]:
    return list(parse_files(files, count=2, seconds=seconds))


def names(parsed: Parsed) -> list[str]:
    return [symbol.name for symbol in parsed.symbols]


@pytest.fixture
def impostor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A child that does what the file says: the real one, but for files that begin with CRASH, HANG, SWELL or LIE."""
    script = tmp_path / "impostor.py"
    script.write_text(
        "import os, signal, sys, time\n"
        "from phases.references.parse import worker\n"
        "real = worker.build_answer\n"
        "spoilt = False\n"
        "def answer(language, data, number):\n"
        "    global spoilt\n"
        "    if spoilt: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    spoilt = data.startswith(b'SPOIL')\n"
        "    if language == 'text': return real(language, data, number)\n"
        "    if data.startswith(b'CRASH'): os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    if data.startswith(b'EXIT'): os._exit(3)\n"
        "    if data.startswith(b'HANG'): time.sleep(3600)\n"
        "    if data.startswith(b'SPIN'):\n"
        "        while True: pass\n"
        "    if data.startswith(b'SWELL'): return b'x' * (1 << 34)\n"
        "    if data.startswith(b'LIE'): return b'[]\\n'\n"
        "    if data.startswith(b'HUGE'): return b'x' * (100 << 20)\n"
        "    if data.startswith(b'TWICE'): return real(language, b'', number) * 2\n"
        "    if data.startswith(b'KIND'):\n"
        "        return worker.pack_answer(worker.Parsed(1, (('a', 'spell', 1, 1, '', '', ''),)), number)\n"
        "    return real(language, data, number)\n"
        "worker.build_answer = answer\n"
        "worker.run_worker()\n"
    )
    launched = subprocess.Popen

    def launch(command: list[str], **how: object) -> object:
        how["env"] = {"PYTHONPATH": str(Path(__file__).parents[2])}
        return launched([sys.executable, str(script), *command[4:]], **how)  # type: ignore[call-overload]

    monkeypatch.setattr("phases.references.parse.worker_queue.subprocess.Popen", launch)
    return script


def test_files_come_back_in_the_order_given_each_with_its_key() -> None:
    files = [(number, "python", b"x%d = %d\n" % (number, number)) for number in range(150)]
    given = found(files)
    assert [key for key, _ in given] == list(range(150))
    assert all(names(parsed) == [f"x{key}"] for key, parsed in given)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every worker that is started."""
    processes: list[subprocess.Popen[bytes]] = []
    launched = subprocess.Popen

    def launch(*command: object, **how: object) -> subprocess.Popen[bytes]:
        processes.append(launched(*command, **how))  # type: ignore[call-overload]
        return processes[-1]

    monkeypatch.setattr("phases.references.parse.worker_queue.subprocess.Popen", launch)
    return processes


def test_nothing_to_parse_starts_no_worker(started: list[subprocess.Popen[bytes]]) -> None:
    assert found([]) == []
    assert started == []


@pytest.mark.parametrize(("files", "workers"), [(BATCH_FILES - 1, 1), (BATCH_FILES * 2 + 1, 3)])
def test_each_batch_of_files_has_a_fresh_worker(
    started: list[subprocess.Popen[bytes]], files: int, workers: int
) -> None:
    assert len(found([(number, "text", b"words\n") for number in range(files)])) == files
    assert len(started) == workers


@pytest.mark.parametrize(
    ("trap", "why"),
    [
        (b"CRASH", "ended with signal 11"),
        (b"EXIT", "please report it"),
        (b"LIE", "answered nonsense"),
        (b"HUGE", "answered nonsense"),
        (b"KIND", "answered nonsense"),
        (b"SWELL", ""),
    ],
    ids=["crash", "exit", "no-object", "too-long", "unknown-kind", "swell"],
)
def test_a_child_that_fails_over_a_file_harms_no_other(impostor: Path, trap: bytes, why: str) -> None:
    files = [(number, "python", trap + b" word\n" if number in (3, 4, 30) else GOOD) for number in range(40)]
    given = dict(found(files))
    assert len(given) == 40
    for number, parsed in given.items():
        if number in (3, 4, 30):
            assert why in parsed.fault
            assert parsed.fault
            assert [piece.kind for piece in parsed.pieces] == ["text"], "a search still finds its words"
        else:
            assert (names(parsed), parsed.fault) == (["good"], "")


@pytest.mark.parametrize("trap", [b"TWICE", b"SPOIL"])
def test_a_file_that_spoils_its_child_harms_none_after_it(impostor: Path, trap: bytes) -> None:
    files = [(number, "python", trap + b" = 1\n" if number in (3, 30) else GOOD) for number in range(40)]
    given = dict(found(files))
    assert len(given) == 40
    for number in set(range(40)) - {3, 30}:
        assert (names(given[number]), given[number].fault) == (["good"], "")


def test_a_file_is_not_blamed_for_the_time_that_the_machine_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("phases.references.parse.worker_queue.time.monotonic", lambda: float(next(clock)))
    faults = [parsed.fault for _, parsed in found([(number, "python", GOOD * 100) for number in range(300)])]
    assert faults == [""] * 300


def test_half_a_character_in_an_answer_becomes_a_mark() -> None:
    answer = {"number": 0, "parsed": [1, [["a\ud800", "function", 1, 1, "", "", ""]], [], ""]}
    assert parse_answer(json.dumps(answer).encode(), 0).symbols[0].name == "a?"


@pytest.mark.parametrize(("trap", "limit"), [(b"HANG", "2 s"), (b"SPIN", "1 s of processor time")])
def test_a_child_that_hangs_is_ended_and_said_to_have_hung(
    impostor: Path, trap: bytes, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phases.references.parse.worker_queue.PATIENCE", 2 if trap == b"HANG" else 20)
    given = dict(found([(0, "python", GOOD), (1, "python", trap), (2, "python", GOOD)], seconds=1))
    assert given[1].fault == f"given up: parsing it took more than {limit}"
    assert names(given[0]) == names(given[2]) == ["good"]


def test_a_worker_that_gets_no_processor_is_waited_for(started: list[subprocess.Popen[bytes]]) -> None:
    def files() -> Iterator[tuple[int, str, bytes]]:
        yield 0, "python", GOOD
        waking.start()

    def stop_and_wake() -> None:
        while not started:
            time.sleep(0.001)
        started[0].send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        started[0].send_signal(signal.SIGCONT)

    waking = threading.Thread(target=stop_and_wake)
    ((_, parsed),) = parse_files(files(), count=1, seconds=1)
    waking.join()
    assert (names(parsed), parsed.fault) == (["good"], "")


def test_a_worker_that_the_machine_gives_no_turn_is_the_machine_s_fault_and_not_the_file_s(
    impostor: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phases.references.parse.worker_queue.PATIENCE", 2)

    def stop_worker() -> None:
        while not started:
            time.sleep(0.001)
        time.sleep(0.5)
        started[0].send_signal(signal.SIGSTOP)

    threading.Thread(target=stop_worker).start()
    with pytest.raises(PhaseError, match="did not get 1 s of processor time in 2 s"):
        list(parse_files([(0, "python", b"HANG")], count=1, seconds=1))


@pytest.fixture
def waiting_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The process of a worker that has answered and waits for more."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    given = {**os.environ, "LC_ALL": "C.UTF-8", "AWS_SECRET_ACCESS_KEY": "secret", "HOME": "/root"}
    end, requests = os.pipe()
    with (
        start_worker(end, SECONDS, WorkerStart(given, confine_parser)) as worker,
        os.fdopen(requests, "wb", buffering=0) as pipe,
    ):
        assert worker.stdout
        pipe.write(pack_request("python", GOOD))
        while not worker.stdout.read(1 << 16).endswith(b"}\n"):
            pass
        yield worker.pid
        worker.kill()
    os.close(end)


def test_a_worker_holds_none_of_the_users_secrets(waiting_worker: int) -> None:
    held = environment_of(waiting_worker)
    assert held.pop("LC_ALL") == "C.UTF-8"
    assert held.keys() <= {"PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "LC_CTYPE"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "seconds"), [(3, 9999.0), (9999, 2.0)], ids=["after so many files", "after so many seconds"]
)
def test_a_repository_of_traps_is_taken_as_text_after_a_while(
    impostor: Path, monkeypatch: pytest.MonkeyPatch, files: int, seconds: float
) -> None:
    monkeypatch.setattr("phases.references.parse.worker_queue.MOST_GIVEN_UP", files)
    monkeypatch.setattr("phases.references.parse.worker_queue.LONGEST_GIVEN_UP", seconds)
    monkeypatch.setattr("phases.references.parse.worker_queue.PATIENCE", 1)
    given = dict(found([(number, "python", b"HANG = word\n") for number in range(100)], seconds=1))
    faults = [parsed.fault for parsed in given.values()]
    assert 2 <= sum("parsing it took more" in fault for fault in faults) <= 5
    assert sum("this one was not tried" in fault for fault in faults) >= 95
    assert all([piece.kind for piece in parsed.pieces] == ["text"] for parsed in given.values())


def test_a_notebook_is_not_taken_as_text_for_its_lines_are_others(
    impostor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phases.references.parse.worker_queue.MOST_GIVEN_UP", 0)
    ((_, parsed),) = found([(0, "notebook", b'{"cells": [\n]}')])
    assert (parsed.pieces, parsed.lines, "not tried" in parsed.fault) == ((), 2, True)


def test_no_worker_outlives_the_one_who_asked(started: list[subprocess.Popen[bytes]]) -> None:
    files = [(number, "python", GOOD) for number in range(BATCH_FILES * 3)]
    with closing(parse_files(files, count=2)) as given:
        next(given)
    assert started
    assert all(process.returncode is not None for process in started)
    assert threading.active_count() == 1


def test_few_files_are_read_ahead_of_need() -> None:
    read = 0

    def files() -> Iterator[tuple[int, str, bytes]]:
        nonlocal read
        for number in range(50_000):
            read += 1
            yield number, "text", b"word\n"

    with closing(parse_files(files(), count=2)) as given:
        next(given)
        assert read <= 4 * BATCH_FILES


def test_a_worker_dies_with_its_parent() -> None:
    program = (
        "import os, time\n"
        "from phases.references.parse.worker_queue import start_worker\n"
        "from pipeline.base.workers import UNCONFINED\n"
        "print(start_worker(os.pipe()[0], 20, UNCONFINED).pid, flush=True)\n"
        "time.sleep(3600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        parent.kill()
        parent.wait(HANGS)

    def is_gone() -> bool:
        try:
            os.kill(pid, 0)
            return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]
        except (ProcessLookupError, FileNotFoundError):
            return True

    wait_until(is_gone, "the child ends")


def test_a_worker_writes_no_file_and_has_bounded_memory(waiting_worker: int) -> None:
    limits = Path(f"/proc/{waiting_worker}/limits")
    if not limits.exists():
        pytest.skip("no /proc to read limits from")
    rows = {line[:25].strip(): line[26:46].strip() for line in limits.read_text().splitlines()}
    assert rows["Max file size"] == "0"
    assert rows["Max core file size"] == "0"
    assert rows["Max address space"] == str(1024**3)
