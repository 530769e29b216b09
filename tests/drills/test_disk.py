"""Drills 3, 4, 8, 9, 14 and 15: a disk that says no is told in one line, costs nothing that is done, and is got over."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.drills import scenes
from tests.drills.aftermath import Reference, at_each, last_words, reference_on
from tests.drills.faults import Call, call_with, mount, path_of, small_disk
from tests.drills.ground import Ended, Ground, held, let_go
from tests.drills.points import Share, shares
from tests.drills.trees import differences, half_written, tree_of

pytestmark = pytest.mark.slow

ERRORS = ("EIO", "ENOSPC", "EROFS", "EDQUOT")
PAGE = 4096


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference_on(scenes.chain(tmp_path_factory.mktemp("toys")))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference_on(scenes.paper(tmp_path_factory.mktemp("alone"), tools=False), may_lose_copies=True)


@shares(64, few=32)
def test_a_disk_error_at_any_call_is_one_line_and_the_next_run_gets_over_it(toys: Reference, share: Share) -> None:
    points = [(call, error) for call in _on_the_disk(toys) for error in ERRORS]
    at_each(toys, share.of(points), lambda point: _refused_at(toys, *point))


@shares(288, few=12)
def test_a_disk_error_at_any_call_of_a_fast_run_is_one_line_and_the_next_run_gets_over_it(
    alone: Reference, share: Share
) -> None:
    points = [(call, ERRORS[index % len(ERRORS)]) for index, call in enumerate(_on_the_disk(alone))]
    at_each(alone, share.of(points), lambda point: _refused_at(alone, *point))


@pytest.mark.parametrize("name", ["rename", "renameat"])
def test_an_interrupted_rename_is_tried_again(alone: Reference, name: str) -> None:
    calls = [call for call in alone.calls() if call.name == name]
    if not calls:
        pytest.skip(f"a run makes no {name} here")
    at_each(alone, calls[:: max(1, len(calls) // 5)], lambda call: _refused_at(alone, call, "EINTR", may_fail=False))


def test_a_rename_that_is_interrupted_for_ever_is_reported(toys: Reference) -> None:
    at_each(
        toys,
        [Call("rename", 1, ""), Call("rename", 4, "")],
        lambda call: _refused_at(toys, call, "EINTR", for_ever=True),
    )


def test_an_answer_that_cannot_be_printed_is_a_failure(toys: Reference) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    toys.ground.call()
    ended = toys.ground.call("list", before=("/bin/sh", "-c", 'exec "$@" > /dev/full', "sh"))
    ended.assert_failed("ENOSPC")


def test_a_catalog_line_that_meets_a_size_limit_halfway_is_taken_back(tmp_path: Path) -> None:
    ground = scenes.chain(tmp_path)
    ground.call()
    size = _pad_catalog(ground, 64 * 1024)
    (ground.task / "toy03.json").unlink()  # so that there is something to do, and to tell of
    _assert_line_taken_back(ground, ground.call(before=_with_limit(size + 30)), "EFBIG")


def test_a_catalog_line_that_meets_a_full_disk_halfway_is_taken_back(tmp_path: Path) -> None:
    """Other files of a run need room before the list does: with one page after the other, the list is the first without."""
    ground = scenes.chain(tmp_path)
    ground.call()
    _pad_catalog(ground, 16 * PAGE - 30)
    (ground.task / "toy03.json").unlink()
    kept = shutil.copytree(ground.tasks, ground.base / "kept")
    for pages in range(1, 12):
        with small_disk(ground.tasks, "size=1m"):
            shutil.copytree(kept, ground.tasks, dirs_exist_ok=True)
            filler = ground.tasks / "filler"
            _fill(filler)
            os.truncate(filler, filler.stat().st_size - pages * PAGE)
            ended = ground.call()
            filler.unlink()
            ended.assert_failed("ENOSPC")
            if "tasks.jsonl" in ended.complaints[0]:
                _assert_line_taken_back(ground, ended, "ENOSPC")
                return
    pytest.fail("the list never met the end of the disk")


def test_a_disk_out_of_inodes_is_one_line_and_the_next_run_gets_over_it(tmp_path: Path) -> None:
    ground = scenes.chain(tmp_path)
    ground.call()
    tree = tree_of(ground)
    ground.fresh()
    needed = sum(not name.startswith("home") for name in tree)
    for inodes in range(3, needed, 2):
        with small_disk(ground.tasks, f"size=1m,nr_inodes={inodes}"):
            ground.call().assert_failed("ENOSPC", "tasks")
            assert not half_written(ground)
            mount("-o", "remount,nr_inodes=1000", str(ground.tasks))
            assert ground.call().code == 0
            assert not differences(tree_of(ground), tree), f"with {inodes} inodes"


def test_a_full_disk_of_any_size_is_one_line_and_the_next_run_gets_over_it(tmp_path: Path) -> None:
    ground = scenes.chain(tmp_path)
    ground.call()
    tree = tree_of(ground)
    ground.fresh()
    for pages in range(1, 12):
        with small_disk(ground.tasks, f"size={pages * PAGE}"):
            ended = ground.call()
            if ended.code == 0:
                break
            ended.assert_failed("ENOSPC", "tasks")
            assert not half_written(ground)
            mount("-o", "remount,size=1m", str(ground.tasks))
            assert ground.call().code == 0
            assert not differences(tree_of(ground), tree), f"with {pages} pages"


def test_a_task_folder_that_becomes_read_only_in_the_middle_is_one_line(tmp_path: Path) -> None:
    ground = scenes.waiting(tmp_path)
    with held(ground) as process, _read_only(ground.task):
        let_go(ground)
        ground.wait(process).assert_failed("EROFS", str(ground.task))
    assert ground.call().code == 0
    assert "everything is up to date" in ground.call("why", "paper").out


@pytest.mark.parametrize("place", ["the task", "all tasks"])
@pytest.mark.parametrize(
    "command",
    ["status", "status paper", "list", "show paper", "show paper toy00.json", "check paper", "why paper", "logs paper"],
)
def test_a_read_only_task_can_still_be_read(finished: Ground, command: str, place: str) -> None:
    with _read_only(finished.task if place == "the task" else finished.tasks):
        ended = finished.call(*command.split())
    assert ended.code == 0, last_words(ended)
    assert not ended.err


@pytest.mark.parametrize("command", ["run paper.md", "resume paper", "step paper", "run tasks/paper --redo 00"])
def test_a_read_only_task_is_not_run(finished: Ground, command: str) -> None:
    with _read_only(finished.tasks):
        finished.call(*command.split()).assert_failed("EROFS", "tasks")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    ground = scenes.chain(tmp_path_factory.mktemp("finished"))
    assert ground.call().code == 0
    return ground


def _on_the_disk(reference: Reference) -> list[Call]:
    """The calls of a run on its own files: what it changes, and the files that it opens in order to write."""
    changing = [call for call in reference.calls() if not re.match("[12]<", call.text)]
    # How often a run opens files to read them hangs on the clock: a number that is another file's the next time is no point.
    again = {call.nth: _without_numbers(path_of(call)) for call in reference.calls("openat")}
    opening = [
        call
        for call in reference.calls("openat")
        if "O_CREAT" in call.text
        and str(reference.ground.work) in path_of(call)
        and again.get(call.nth) == _without_numbers(path_of(call))
    ]
    return [*changing, *opening]


def _without_numbers(path: str) -> str:
    """Return a path without numbers of processes and inodes."""
    return re.sub(r"\d+", "#", path)


def _refused_at(
    reference: Reference, call: Call, error: str, *, may_fail: bool = True, for_ever: bool = False
) -> list[str]:
    ground = reference.ground
    ended = call_with(ground, f"error={error}", call, for_ever=for_ever)
    if ended.code == reference.code:  # it could do without that call: then nothing may be amiss
        problems = reference.problems_untold(call)
    elif may_fail:
        problems = _untold(ended, error, _place_of(call, ground))
    else:
        problems = [f"it fails: {last_words(ended)}"]
    return [*problems, *reference.problems_afterwards()]


def _place_of(call: Call, ground: Ground) -> str:
    """Where a call was refused, which the one line names: the disk of temporary files may be another than that of the tasks."""
    temporary = str(ground.temporary)
    return temporary if temporary in call.text else ground.tasks.name


def _untold(ended: Ended, error: str, place: str) -> list[str]:
    try:
        ended.assert_failed(error, place)
    except AssertionError as problem:
        return [str(problem)]
    return []


def _with_limit(size: int) -> tuple[str, ...]:
    """A launcher under which no file can grow over that size."""
    program = "import os, sys; from resource import *; setrlimit(RLIMIT_FSIZE, ({0}, {0})); os.execv(sys.argv[1], sys.argv[1:])"
    return (sys.executable, "-c", program.format(size))


def _pad_catalog(ground: Ground, size: int) -> int:
    """Makes tasks.jsonl exactly that large, with records of other tasks, and returns the size."""
    path = ground.tasks / "tasks.jsonl"
    data = path.read_bytes()
    last = data.splitlines()[-1]
    assert data.endswith(last + b"\n")
    while len(data) < size:
        line = last.replace(b'"id": "paper"', b'"id": "other"')
        room = size - len(data) - len(line) - 1
        padding = b"x" * (room if room < 2 * len(line) else 100)
        line = line.replace(b'"reason": "', b'"reason": "' + padding)
        data = line + b"\n" + data
    path.write_bytes(data)
    assert len(data) == size
    return size


def _assert_line_taken_back(ground: Ground, ended: Ended, error: str) -> None:
    ended.assert_failed("tasks.jsonl", error)
    assert ground.call().code == 0
    listed = ground.call("list")
    assert "warning" not in listed.err
    assert re.search(r"^paper +completed", listed.out, re.MULTILINE)
    assert not (ground.tasks / "tasks.jsonl.corrupt").exists()


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * PAGE):
                pass
        except OSError:
            return


@contextmanager
def _read_only(folder: Path) -> Iterator[None]:
    """The folder, mounted over itself so that nothing in it can be changed; what is open already stays open."""
    mount("--bind", str(folder), str(folder))
    try:
        mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=True)
