"""Logs: one file a task, in the order of its numbers, and nothing of one task in the file of another."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.base.errors import StorageError
from pipeline.base.logs import TaskLog, log_event, logger, task_log, utc_timestamp
from tests.base.test_files import plant
from tests.strategies import FEW, texts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "system.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def tell(path: Path, *messages: str) -> None:
    with task_log(str(path)):
        for message in messages:
            log_event(message)


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def test_a_line_says_what_when_and_how_grave(path: Path) -> None:
    with task_log(str(path)):
        log_event("00 intake runs: never ran", level="WARNING", phase="00")
    (line,) = lines(path)
    assert (line["seq"], line["level"], line["message"], line["phase"]) == (
        1,
        "WARNING",
        "00 intake runs: never ran",
        "00",
    )
    assert line["at"].endswith("Z")


def test_the_numbers_go_on_where_they_ended(path: Path) -> None:
    tell(path, "a", "b")
    tell(path)
    tell(path, "c")
    assert [(line["seq"], line["message"]) for line in lines(path)] == [(1, "a"), (2, "b"), (3, "c")]


WHOLE = '{"seq": 1, "message": "a"}\n{"seq": 2, "message": "é😀"}\n'.encode()


def test_the_numbers_go_on_after_a_line_torn_at_any_byte(path: Path) -> None:
    for end in range(WHOLE.index(b"\n") + 2, len(WHOLE)):
        path.write_bytes(WHOLE[:end])
        tell(path, "next")
        last = json.loads(path.read_bytes().split(b"\n")[-2])
        assert last["message"] == "next", end
        assert last["seq"] == (3 if end == len(WHOLE) - 1 else 2), end
        assert path.read_bytes().startswith(WHOLE[:end] + b"\n"), end


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n\n",
        b"\0" * 100 + b"\n",
        b"[1]\n",
        b'{"seq": "x"}\n',
        b'{"seq": null}\n',
        b"\xff\n",
        b"text\n",
        b'{"s": 1}\n',
    ],
    ids=ascii,
)
def test_the_numbers_go_on_over_lines_that_are_none(path: Path, garbage: bytes) -> None:
    path.write_bytes(WHOLE + garbage)
    tell(path, "next")
    assert json.loads(path.read_bytes().split(b"\n")[-2])["seq"] == 3


def test_the_numbers_go_on_after_a_very_long_line(path: Path) -> None:
    tell(path, "a", "b", "x" * 200_000)
    tell(path, "next")
    assert [line["seq"] for line in lines(path)] == [1, 2, 3, 4]


@FEW
@given(message=texts, field=texts)
def test_any_text_is_one_line_of_json(tmp_path_factory: pytest.TempPathFactory, message: str, field: str) -> None:
    path = tmp_path_factory.mktemp("logs") / "system.jsonl"
    with task_log(str(path)):
        log_event(message, field=field)
    (line,) = lines(path)
    assert (line["message"], line["field"]) == (message, field)


@pytest.mark.parametrize(
    "odd",
    [object(), {1, 2}, b"bytes", Path("a"), ValueError("x"), float("nan"), "\ud800", {("a", "b"): 1}, [[object()]]],
    ids=lambda odd: type(odd).__name__,
)
def test_a_field_that_is_no_json_never_ends_a_run(path: Path, odd: object) -> None:
    with task_log(str(path)):
        log_event("odd", field=odd)
        log_event("next")
    assert [line["message"] for line in lines(path)][-1] == "next"


def test_a_full_disk_never_ends_a_run(path: Path) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with task_log(str(path)):
        log_event("a")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", full)
            log_event("lost")
        log_event("b")
    assert [line["message"] for line in lines(path)] == ["a", "b"]


def test_outside_a_task_the_story_goes_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log_event("nobody hears this")
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_after_a_task_the_log_is_the_one_from_before(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    with task_log(str(outer)):
        log_event("outer 1")
        with contextlib.suppress(KeyError), task_log(str(inner)):
            log_event("inner")
            raise KeyError("x")
        log_event("outer 2")
    log_event("nowhere")
    assert [line["message"] for line in lines(outer)] == ["outer 1", "outer 2"]
    assert [line["message"] for line in lines(inner)] == ["inner"]


def test_two_tasks_in_two_threads_do_not_mix(tmp_path: Path) -> None:
    both, after = threading.Barrier(2, timeout=60), threading.Barrier(2, timeout=60)

    def work(name: str) -> None:
        with task_log(str(tmp_path / name)):
            both.wait()
            for number in range(50):
                log_event(f"{name} {number}")
            after.wait()

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in "ab":
        assert [line["message"] for line in lines(tmp_path / name)] == [f"{name} {number}" for number in range(50)]


def test_threads_of_one_task_never_share_a_number_or_a_line(path: Path) -> None:
    log = TaskLog(str(path))

    def write() -> None:
        for _ in range(300):
            log.write("INFO", "x" * 500)

    threads = [threading.Thread(target=write) for _ in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    log.close()
    assert sorted(line["seq"] for line in lines(path)) == list(range(1, 1201))


@pytest.mark.parametrize("kind", ["a folder", "a link", "a pipe"])
def test_a_log_that_is_no_file_is_refused_by_name(path: Path, kind: str) -> None:
    plant(kind, path)
    with pytest.raises(StorageError, match=r"system\.jsonl"), task_log(str(path)):
        pass


LATE = """
import sys
from pipeline.base.logs import log_event, logger, task_log
logger.info("a line for no task")
with task_log(sys.argv[1]):
    log_event("before")
    assert "loguru" not in sys.modules
    logger.bind(phase="03").info("through {}", "loguru")
    log_event("after")
with task_log(sys.argv[2]):
    from loguru import logger
    logger.debug("the second task")
logger.info("for nobody")
logger.warning("outside")
"""


def test_the_logger_imports_loguru_at_its_first_line_in_a_task_and_writes_to_the_log_of_that_task(
    tmp_path: Path,
) -> None:
    ended = run(LATE, str(tmp_path / "a"), str(tmp_path / "b"))
    first, second = lines(tmp_path / "a"), lines(tmp_path / "b")
    assert [line["message"] for line in first] == ["before", "through loguru", "after"]
    assert [line["seq"] for line in first] == [1, 2, 3]
    assert (first[1]["level"], first[1]["module"], first[1]["extra"]) == ("INFO", "__main__", {"phase": "03"})
    assert [(line["message"], line["level"]) for line in second] == [("the second task", "DEBUG")]
    assert (ended.stdout, ended.stderr) == ("", "WARNING: outside\n")


EARLY = """
import sys
from loguru import logger
from pipeline.base.logs import task_log
with task_log(sys.argv[1]):
    logger.info("one")
    try:
        1 / 0
    except ZeroDivisionError:
        logger.exception("it broke")
"""


def test_loguru_imported_before_a_task_ends_up_in_its_log_with_tracebacks(path: Path) -> None:
    ended = run(EARLY, str(path))
    one, broke = lines(path)
    assert (one["message"], broke["message"], broke["level"]) == ("one", "it broke", "ERROR")
    assert "ZeroDivisionError" in broke["traceback"]
    assert ended.stderr == ""


THREADS = """
import contextvars, sys, threading
from pipeline.base.logs import task_log
both = threading.Barrier(2, timeout=60)
def work(path):
    with task_log(path):
        both.wait()
        from pipeline.base.logs import logger
        for number in range(20):
            logger.info("{} {}", path[-1], number)
        both.wait()
threads = [threading.Thread(target=work, args=(path,)) for path in sys.argv[1:]]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_loguru_in_two_tasks_at_once_does_not_mix(tmp_path: Path) -> None:
    ended = run(THREADS, str(tmp_path / "a"), str(tmp_path / "b"))
    assert ended.stderr == ""
    for name in "ab":
        assert [line["message"] for line in lines(tmp_path / name)] == [f"{name} {number}" for number in range(20)]


FIELDS = """
import sys
from loguru import logger
from pipeline.base.logs import task_log
with task_log(sys.argv[1]):
    logger.info("{level} {message} {seq} {at} {self}", level="a", message="b", seq="c", at="d", self="e")
    logger.bind(level="x", module="y").info("bound")
"""


def test_a_loguru_line_whose_fields_are_named_like_ours_is_not_lost(path: Path) -> None:
    ended = run(FIELDS, str(path))
    assert ended.stderr == ""
    assert [(line["seq"], line["level"], line["message"]) for line in lines(path)] == [
        (1, "INFO", "a b c d e"),
        (2, "INFO", "bound"),
    ]


SECRET = """
import sys
from pipeline.base.logs import logger, task_log
def ask(key):
    raise ValueError("refused")
with task_log(sys.argv[1]):
    try:
        ask("sk-" + "secret")
    except ValueError:
        logger.exception("it broke")
"""


def test_a_traceback_in_the_log_shows_no_values(path: Path) -> None:
    run(SECRET, str(path))
    (line,) = lines(path)
    assert "refused" in line["traceback"]
    assert "sk-secret" not in path.read_text()


def test_what_is_logged_is_echoed_to_who_watches(path: Path) -> None:
    heard: list[tuple[str, str]] = []
    with task_log(str(path), echo=lambda level, message: heard.append((level, message))):
        log_event("00 intake runs")
        logger.debug("{} is left out", "a.py")
    assert heard == [("INFO", "00 intake runs"), ("DEBUG", "a.py is left out")]


def test_importing_the_logs_imports_no_loguru() -> None:
    run("import sys; import pipeline.base.logs; assert 'loguru' not in sys.modules")


@FEW
@given(st.floats(0, 4_102_444_800))
def test_a_timestamp_is_utc_to_the_millisecond(seconds: float) -> None:
    text = utc_timestamp(seconds)
    assert len(text) == len("2026-01-31T12:00:00.000Z")
    assert text.endswith("Z")


def test_timestamps_sort_like_the_moments_that_they_name() -> None:
    moments = [0.0, 0.0015, 0.9994, 1.0, 1.5, 59.999, 86_399.9996, 86_400.0]
    written = [utc_timestamp(moment) for moment in moments]
    assert written == sorted(written)
    assert written[0] == "1970-01-01T00:00:00.000Z"
