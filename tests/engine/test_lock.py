"""One writer a task: the second is told who the first is, and a lock is taken over only from a holder that is surely gone."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.configuration.repo_hooks import write_trust
from phases.references.index.cache import lock_file as locked_cache
from pipeline.base import lease
from pipeline.base.errors import StorageError, TaskBusy
from pipeline.base.lease import own_record
from pipeline.engine.catalog import Catalog
from pipeline.engine.contract import Contracts
from pipeline.engine.graph import Graph
from pipeline.engine.lock import holder_of, holding_process, lock_task
from pipeline.engine.store import TaskStore
from tests.base.test_files import plant
from tests.cli.test_batch import _WAITS as WAITS
from tests.papers import Command, paper
from tests.toys import write_toy, write_toys
from tests.work import wait_until

HOLDER = """
import sys
from pipeline.engine.lock import lock_task
with lock_task(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def held_by_another(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Inside, another process holds the lock of the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def leave(folder: Path, **content: object) -> None:
    """What a holder that was killed leaves."""
    (folder / ".lock").write_text(json.dumps({"pid": 4711, "started": "2026-01-31T12:00:00.000Z", **content}))


def test_a_free_lock_is_taken_without_words_and_given_back(tmp_path: Path) -> None:
    for _ in range(3):
        assert holder_of(str(tmp_path)) is None
        with lock_task(str(tmp_path)) as left:
            assert left is None
            content = json.loads((tmp_path / ".lock").read_bytes())
            assert (content["pid"], content["host"]) == (os.getpid(), socket.gethostname())
    assert (tmp_path / ".lock").read_bytes() == b""


def test_the_second_taker_is_told_who_the_first_is(tmp_path: Path) -> None:
    with held_by_another(tmp_path) as process:
        with pytest.raises(TaskBusy) as caught, lock_task(str(tmp_path)):
            pass
        assert f"process {process.pid} on {socket.gethostname()} since 2" in str(caught.value)
        assert str(caught.value).startswith(f"{tmp_path} is in use by ")
        assert str(caught.value).endswith("; wait for it to end, or stop it first")
        assert str(process.pid) in str(holder_of(str(tmp_path)))


def test_the_second_taker_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with lock_task(str(tmp_path)):
        with pytest.raises(TaskBusy, match=f"process {os.getpid()} "), lock_task(str(tmp_path)):
            pass
        assert f"process {os.getpid()} " in str(holder_of(str(tmp_path)))


def test_a_refused_taker_leaves_the_holders_words_alone(tmp_path: Path) -> None:
    with lock_task(str(tmp_path)):
        before = (tmp_path / ".lock").read_bytes()
        with pytest.raises(TaskBusy), lock_task(str(tmp_path)):
            pass
        assert (tmp_path / ".lock").read_bytes() == before


def test_a_lock_of_a_killed_process_is_taken_over_and_the_words_say_from_whom(tmp_path: Path) -> None:
    with held_by_another(tmp_path) as process:
        process.kill()
        process.wait()
        assert holder_of(str(tmp_path)) is None
        with lock_task(str(tmp_path)) as left:
            assert left is not None
            assert left.startswith(f"took over from process {process.pid} on {socket.gethostname()} since 2")
            assert left.endswith(", which ended without releasing its lock")
    with lock_task(str(tmp_path)) as left:
        assert left is None


def test_a_lock_given_back_by_an_error_is_given_back(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock_task(str(tmp_path)):
        raise KeyError("x")
    with lock_task(str(tmp_path)) as left:
        assert left is None, "its holder did let go"


def test_the_number_of_a_process_counts_for_nothing(tmp_path: Path) -> None:
    leave(tmp_path, pid=os.getppid(), host=socket.gethostname(), boot=boot_id())  # it lives: another got its number
    with lock_task(str(tmp_path)) as left:
        assert left is not None
        assert f"took over from process {os.getppid()} " in left


@pytest.mark.parametrize(
    ("host", "boot"),
    [
        pytest.param("this", "this", id="this machine, since it was started"),
        pytest.param("this", "another", id="this machine, before it was started again"),
        pytest.param("another", "this", id="this machine under its former name"),
    ],
)
def test_a_holder_that_was_on_this_machine_is_surely_gone(tmp_path: Path, host: str, boot: str) -> None:
    leave(
        tmp_path,
        host=socket.gethostname() if host == "this" else "another.example.org",
        boot=boot_id() if boot == "this" else "00000000-0000-0000-0000-000000000000",
    )
    with lock_task(str(tmp_path)) as left:
        assert str(left).startswith("took over from process 4711 on ")


def test_a_holder_on_another_machine_may_be_at_work_and_is_left_alone(tmp_path: Path) -> None:
    leave(tmp_path, host="another.example.org", boot="00000000-0000-0000-0000-000000000000")
    before = (tmp_path / ".lock").read_bytes()
    with pytest.raises(TaskBusy) as caught, lock_task(str(tmp_path)):
        pass
    path = tmp_path / ".lock"
    assert f"{path} was left by process 4711 on another.example.org since 2026-01-31" in str(caught.value)
    assert str(caught.value).endswith(f"if it is not, delete {path}")
    assert path.read_bytes() == before
    path.unlink()
    with lock_task(str(tmp_path)) as left:
        assert left is None


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0" * 512,
        b"{",
        b"[1, 2]",
        b'"text"',
        b"null",
        b"\xff\xfe",
        b"4711\n",
        b"{}",
        b'{"pid": [1], "host": null}',
        b"[" * 100_000,
        b"NaN",
    ],
    ids=lambda garbage: ascii(garbage[:20]),
)
def test_garbage_in_a_lock_that_nobody_holds_is_taken_over(tmp_path: Path, garbage: bytes) -> None:
    (tmp_path / ".lock").write_bytes(garbage)
    with lock_task(str(tmp_path)) as left:
        assert left is None or ("took over from process" in left and "\n" not in left)
    assert (tmp_path / ".lock").read_bytes() == b""


@pytest.mark.parametrize("garbage", [b"\0" * 512, b"{", b"[1]", pytest.param(b"", marks=pytest.mark.slow)], ids=ascii)
def test_garbage_in_a_lock_that_somebody_holds_is_still_busy(tmp_path: Path, garbage: bytes) -> None:
    with held_by_another(tmp_path):
        (tmp_path / ".lock").write_bytes(garbage)
        with (
            pytest.raises(TaskBusy, match="is in use by process unknown on this machine since"),
            lock_task(str(tmp_path)),
        ):
            pass
        assert holder_of(str(tmp_path)) == "process unknown on this machine since ?"


@pytest.mark.parametrize("kind", ["a folder", "a link", "a pipe"])
def test_what_is_no_file_is_no_lock(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".lock"
    plant(kind, path)
    with pytest.raises(StorageError, match=r"\.lock"), lock_task(str(tmp_path)):
        pass
    assert holder_of(str(tmp_path)) is None


def test_a_folder_that_is_not_there_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught, lock_task(str(tmp_path / "no")):
        pass
    assert str(caught.value) == f"cannot lock {tmp_path}/no/.lock: No such file or directory (ENOENT)"
    assert holder_of(str(tmp_path / "no")) is None


@pytest.mark.parametrize("name", ["pwrite", "ftruncate", "pread"])
def test_a_disk_that_fails_under_the_lock_is_told_and_the_lock_is_free_again(tmp_path: Path, name: str) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, fail)
        words = r"cannot lock .*/\.lock: No space left on device \(ENOSPC\)"
        with pytest.raises(StorageError, match=words), lock_task(str(tmp_path)):
            pass
    with lock_task(str(tmp_path)):
        pass


def lock_the_task(folder: Path) -> None:
    with lock_task(str(folder)):
        pass


def lock_the_cache(folder: Path) -> None:
    with locked_cache(str(folder / "cache.bin")):
        pass


LOCKERS = {
    "a task": lock_the_task,
    "the list of the tasks": lambda folder: Catalog(str(folder)).record("a", "running", mode="fast", source="a.md"),
    "the list, written anew": lambda folder: Catalog(str(folder)).rebuild(list),
    "the cache of an index": lock_the_cache,
    "the store of what is trusted": lambda folder: write_trust(
        str(folder / "trusted.json"), str(folder), {}, lambda value: None
    ),
}


def without_locks(monkeypatch: pytest.MonkeyPatch, code: str = "ENOLCK") -> None:
    """From here on every file system says that it has no locks."""

    def fail(*_: Any) -> None:
        raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)))

    monkeypatch.setattr(fcntl, "flock", fail)


@pytest.mark.parametrize("code", ["ENOLCK", "EOPNOTSUPP", "ENOSYS"])
@pytest.mark.parametrize("lock", LOCKERS.values(), ids=LOCKERS)
def test_a_file_system_without_locks_is_worked_on_all_the_same_and_nothing_is_left(
    lock: Callable[[Path], None], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch, code)
    for _ in range(2):
        lock(tmp_path)
    assert not list(tmp_path.glob("*lease*"))
    assert not list(tmp_path.glob(".*lease*"))


NO_LOCKS = "import fcntl\ndef fail(*_):\n    raise OSError(37, 'No locks available')\nfcntl.flock = fail\n"


@pytest.mark.slow
def test_two_runs_on_a_file_system_without_locks_are_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_LOCKS)
    toys = write_toys(tmp_path / "toys", 2)
    write_toy(toys, 1, body=WAITS)
    paper(tmp_path)
    command = Command(tmp_path, PYTHONPATH=str(tmp_path), PIPELINE_PHASES=str(toys), WAIT="30", RUNS=str(tmp_path))
    with command.start("run", "--fast", "paper.md") as first:
        wait_until((tmp_path / "runs").exists)
        second = command("resume", "paper")
        assert (second.code, f"in use by process {first.pid} on" in second.err) == (75, True), second.err
        assert command("list", "--json").json()[0]["status"] == "running"
        first.kill()
    assert command("list", "--json").json()[0]["status"] == "interrupted"
    resumed = command("resume", "paper", WAIT="0")
    assert resumed.code == 0, resumed.err
    assert "took over from process" in resumed.err


def test_a_process_that_got_the_number_of_a_dead_holder_is_not_that_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    record = {**json.loads(own_record("another")), "pid": os.getppid(), "born": "1"}
    (tmp_path / ".lease").write_text(json.dumps(record))
    with lock_task(str(tmp_path)) as left:
        assert f"took over from process {os.getppid()} " in str(left)
    record["born"] = ""
    (tmp_path / ".lease").write_text(json.dumps(record))
    with pytest.raises(TaskBusy, match="gave a sign of life"), lock_task(str(tmp_path)):
        pass


def lease_of_another_machine(folder: Path, age: float, **more: object) -> Path:
    """A lease as a process of another machine holds it, whose last sign of life was so many seconds ago."""
    path = folder / ".lease"
    record = {"pid": 4711, "host": "node7", "boot": "another", "started": "2026-01-31T12:00:00.000Z", "attempt": "a"}
    path.write_text(json.dumps({**record, **more}))
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_a_task_that_another_machine_works_on_is_busy_though_the_kernel_knows_nothing(tmp_path: Path) -> None:
    path = lease_of_another_machine(tmp_path, age=5)
    (tmp_path / ".lock").touch()
    before = path.read_bytes()
    with pytest.raises(TaskBusy) as caught, lock_task(str(tmp_path)):
        pass
    assert re.search(
        r"in use by process 4711 on node7 since 2026-01-31.*, which gave a sign of life [5-9] s ago", str(caught.value)
    )
    assert f"delete {path}" in str(caught.value)
    assert holder_of(str(tmp_path)) == "process 4711 on node7 since 2026-01-31T12:00:00.000Z"
    assert holding_process(str(tmp_path)) is None
    assert path.read_bytes() == before


def test_a_lease_without_a_sign_of_life_for_a_minute_is_taken_over_with_a_line(tmp_path: Path) -> None:
    lease_of_another_machine(tmp_path, age=75)
    (tmp_path / ".lock").write_text(json.dumps({"pid": 4711, "host": "node7", "boot": "another", "attempt": "a"}))
    assert holder_of(str(tmp_path)) is None
    with lock_task(str(tmp_path)) as left:
        assert re.fullmatch(
            r"took over from process 4711 on node7 since .*, which gave no sign of life for 7\d s", str(left)
        )
    assert not (tmp_path / ".lease").exists()


def test_a_machine_that_was_started_again_since_is_gone_at_once(tmp_path: Path) -> None:
    lease_of_another_machine(tmp_path, age=1, host=socket.gethostname())
    with lock_task(str(tmp_path)) as left:
        assert "took over from process 4711" in str(left)


@pytest.mark.slow
def test_clocks_that_are_an_hour_apart_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    for apart in (3600.0, -3600.0):
        path = lease_of_another_machine(tmp_path, age=5)
        monkeypatch.setattr(time, "time", lambda by=apart: real() + by)
        with pytest.raises(TaskBusy), lock_task(str(tmp_path)):
            pass
        os.utime(path, (real() - 75,) * 2)
        with lock_task(str(tmp_path)) as left:
            assert "no sign of life" in str(left)
        monkeypatch.undo()


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE, errno.ESTALE], ids=errno.errorcode.get)
def test_a_lease_that_cannot_be_read_is_a_fault_of_the_machine_and_no_takeover(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkdir(tmp_path / "task")
    store = TaskStore(str(tmp_path / "task"), Graph(()), Contracts())
    real = os.open

    def fails(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(path).endswith(".lease"):
            raise OSError(code, os.strerror(code), path)
        return real(path, flags, mode, dir_fd=dir_fd)

    with store.writing():
        monkeypatch.setattr(os, "open", fails)
        with pytest.raises(StorageError, match=rf"cannot read .*\.lease: .*\({errno.errorcode[code]}\)"):
            store.assert_in_place()
        monkeypatch.undo()
        store.assert_in_place()


def test_who_was_taken_over_writes_nothing_more(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "task")
    store = TaskStore(str(tmp_path / "task"), Graph(()), Contracts())
    with store.writing():
        store.assert_in_place()
        lease_of_another_machine(Path(store.root), age=0)
        with pytest.raises(StorageError, match=r"was taken over by process .* nothing more is written there"):
            store.assert_in_place()
    assert (Path(store.root) / ".lease").exists(), "it is not his any more"


def test_a_holder_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT", 0.01)
    with lock_task(str(tmp_path)):
        path = tmp_path / ".lease"
        os.utime(path, (0, 0))
        wait_until(lambda: path.stat().st_mtime > time.time() - 60)


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"", marks=pytest.mark.slow),
        b"{",
        pytest.param(b"[1]", marks=pytest.mark.slow),
        b"\0" * 300,
        b'{"pid": -1, "host": 7}',
    ],
    ids=ascii,
)
def test_a_lease_that_nobody_can_read_counts_for_a_minute_where_there_are_no_locks(
    tmp_path: Path, garbage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    path = lease_of_another_machine(tmp_path, age=0)
    path.write_bytes(garbage)
    with pytest.raises(TaskBusy), lock_task(str(tmp_path)):
        pass
    os.utime(path, (time.time() - 75,) * 2)
    with lock_task(str(tmp_path)) as left:
        assert "\n" not in str(left)


@pytest.mark.parametrize("garbage", [pytest.param(b"", marks=pytest.mark.slow), b"\0" * 300], ids=["empty", "zeros"])
def test_a_lease_that_a_power_cut_left_without_words_keeps_nobody_out(tmp_path: Path, garbage: bytes) -> None:
    path = lease_of_another_machine(tmp_path, age=0)
    path.write_bytes(garbage)
    with lock_task(str(tmp_path)):
        assert json.loads(path.read_text())["pid"] == os.getpid()


@pytest.mark.parametrize("kind", ["a folder", "a link", "a pipe"])
def test_what_is_no_file_is_no_lease(tmp_path: Path, kind: str) -> None:
    plant(kind, tmp_path / ".lease")
    with pytest.raises(StorageError), lock_task(str(tmp_path)):
        pass
    assert holder_of(str(tmp_path)) is None


def test_of_many_takers_of_a_dead_lease_one_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_locks(monkeypatch)
    for _ in range(5):
        lease_of_another_machine(tmp_path, age=75)
        assert takers_of(tmp_path, 6) == ["busy"] * 5 + ["held"]
        (tmp_path / ".lease").write_text(json.dumps({**json.loads(own_record("dead")), "pid": 2**22 + 1}))
        assert takers_of(tmp_path, 6) == ["busy"] * 5 + ["held"]


LOOKER = """
import sys, threading
from pipeline.engine.lock import holder_of
done = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
print("looks", flush=True)
while not done.is_set():
    holder_of(sys.argv[1])
"""


@pytest.mark.slow
def test_who_only_looks_never_gets_in_the_way_of_who_takes(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    command = [sys.executable, "-c", LOOKER, str(tmp_path)]
    lookers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    refused: list[str] = []
    try:
        for looker in lookers:
            assert looker.stdout is not None
            assert looker.stdout.readline() == b"looks\n"
        for _ in range(500):
            try:
                with lock_task(str(tmp_path)):
                    pass
            except TaskBusy as error:
                refused.append(str(error))
    finally:
        for looker in lookers:
            looker.communicate(timeout=60)
    assert refused == [], f"{len(refused)} of 500 takers were refused though nobody worked on the task"


def takers_of(folder: Path, takers: int) -> list[str]:
    """What came of so many that wanted the task at once, in order."""
    line, done = threading.Barrier(takers, timeout=60), threading.Barrier(takers, timeout=60)
    got: list[str] = []

    def take() -> None:
        line.wait()
        try:
            with lock_task(str(folder)):
                got.append("held")
                done.wait()
        except TaskBusy:
            got.append("busy")
            done.wait()

    threads = [threading.Thread(target=take) for _ in range(takers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(got)


def test_of_many_takers_at_once_exactly_one_gets_it(tmp_path: Path) -> None:
    assert takers_of(tmp_path, 8) == ["busy"] * 7 + ["held"]
