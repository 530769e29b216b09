"""The ground floor of the disk: old or new and never half, and reads that nothing planted can trap."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.base.errors import StorageError
from pipeline.base.files import (
    make_directory,
    read_bytes,
    set_aside,
    sha256,
    sweep_temporary_files,
    sync_tree,
    temporary_name,
    write_all_durable,
    write_durable,
)
from pipeline.base.jsonl import append_durable, repair_tail
from tests.strategies import FEW

OLD, NEW = b"the old content\n", b"the new content, which is longer\n" * 10

CALLS = ("open", "write", "fsync", "replace")


@contextmanager
def failing(name: str, at: int, code: int) -> Iterator[list[int]]:
    """Inside, the call number `at` of os.<name> fails with this errno; gives the list of calls so far."""
    real, calls = getattr(os, name), list[int]()

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(len(calls))
        if len(calls) == at:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, call)
        yield calls


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def plant(kind: str, path: Path) -> None:
    """Puts something there that is not a regular file."""
    if kind == "a folder":
        path.mkdir()
    elif kind == "a link":
        path.symlink_to("task.json")
    else:
        os.mkfifo(path)


def how_often(name: str, work: Callable[[], None]) -> int:
    with failing(name, -1, 0) as calls:
        work()
    return len(calls)


# Whole files


def test_a_written_file_is_read_back(tmp_path: Path) -> None:
    path = str(tmp_path / "a.json")
    write_durable(path, OLD)
    write_durable(path, NEW)
    assert read_bytes(path) == NEW
    assert names(tmp_path) == {"a.json"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT], ids=errno.errorcode.get)
@pytest.mark.parametrize("name", CALLS)
def test_a_write_that_fails_leaves_the_old_or_the_new_file(tmp_path: Path, name: str, code: int) -> None:
    path = str(tmp_path / "a.json")
    write_durable(path, OLD)
    count = how_often(name, lambda: write_durable(path, OLD))
    assert count >= 1
    for at in range(1, count + 1):
        write_durable(path, OLD)
        with failing(name, at, code), pytest.raises(StorageError) as caught:
            write_durable(path, NEW)
        assert read_bytes(path) in (OLD, NEW)
        assert names(tmp_path) == {"a.json"}, "a temporary file was left"
        assert f"cannot write {tmp_path}" in str(caught.value)
        assert f"{os.strerror(code)} ({errno.errorcode[code]})" in str(caught.value)
        write_durable(path, NEW)
        assert read_bytes(path) == NEW


@pytest.mark.parametrize("name", CALLS)
def test_several_files_of_which_one_fails_are_each_old_or_new(tmp_path: Path, name: str) -> None:
    paths = [str(tmp_path / folder / "a.json") for folder in ("x", "y", "z")]
    for path in paths:
        os.mkdir(os.path.dirname(path))
    old, new = dict.fromkeys(paths, OLD), dict.fromkeys(paths, NEW)
    count = how_often(name, lambda: write_all_durable(old))
    assert count >= len(paths)
    for at in range(1, count + 1):
        write_all_durable(old)
        with failing(name, at, errno.ENOSPC), pytest.raises(StorageError, match=r"cannot write .*ENOSPC"):
            write_all_durable(new)
        for path in paths:
            assert read_bytes(path) in (OLD, NEW)
            assert names(Path(path).parent) == {"a.json"}, "a temporary file was left"


def test_no_file_is_renamed_before_all_are_written(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    write_all_durable(dict.fromkeys(paths, OLD))
    with failing("write", 3, errno.ENOSPC), pytest.raises(StorageError, match=r"cannot write .*/c: "):
        write_all_durable(dict.fromkeys(paths, NEW))
    assert [read_bytes(path) for path in paths] == [OLD, OLD, OLD]


def test_an_interrupted_rename_is_tried_again(tmp_path: Path) -> None:
    path = str(tmp_path / "a.json")
    with failing("replace", 1, errno.EINTR) as calls:
        write_durable(path, NEW)
    assert len(calls) == 2
    assert read_bytes(path) == NEW


def test_a_rename_that_is_interrupted_for_ever_is_an_error_in_the_end(tmp_path: Path) -> None:
    def interrupted(*_: Any) -> None:
        raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(StorageError, match="EINTR"):
            write_durable(str(tmp_path / "a.json"), NEW)
    assert names(tmp_path) == set()


def test_a_disk_that_takes_one_byte_at_a_time_gets_the_whole_file(tmp_path: Path) -> None:
    real = os.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:1]))
        write_durable(str(tmp_path / "a"), NEW)
    assert (tmp_path / "a").read_bytes() == NEW


def test_what_a_killed_writer_left_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    Path(temporary_name(str(path))).write_bytes(b"half")
    write_durable(str(path), NEW)
    assert path.read_bytes() == NEW
    assert names(tmp_path) == {"a.json"}


def test_a_link_in_place_of_the_temporary_file_is_never_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(OLD)
    path = tmp_path / "a.json"
    Path(temporary_name(str(path))).symlink_to(victim)
    write_durable(str(path), NEW)
    assert victim.read_bytes() == OLD
    assert path.read_bytes() == NEW


def test_a_link_in_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "a.json"
    victim.write_bytes(OLD)
    path.symlink_to(victim)
    write_durable(str(path), NEW)
    assert victim.read_bytes() == OLD
    assert not path.is_symlink()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        write_durable(str(tmp_path / "no" / "a.json"), NEW)
    assert str(caught.value) == f"cannot write {tmp_path}/no/a.json: No such file or directory (ENOENT)"


def test_only_temporary_files_are_swept(tmp_path: Path) -> None:
    for name in ("a.json", ".a.json.tmp", ".lock", "b.tmp", ".b.jsonl.tmp"):
        (tmp_path / name).write_bytes(OLD)
    sweep_temporary_files(str(tmp_path))
    assert names(tmp_path) == {"a.json", ".lock", "b.tmp"}


# Appends


@pytest.mark.parametrize("name", ["open", "write", "fdatasync"])
def test_an_append_that_fails_takes_its_line_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tasks.jsonl"
    append_durable(str(path), b"one")
    with failing(name, 1, errno.ENOSPC), pytest.raises(StorageError) as caught:
        append_durable(str(path), b"two")
    assert str(caught.value) == f"cannot append to {path}: No space left on device (ENOSPC)"
    assert path.read_bytes() == b"one\n"
    append_durable(str(path), b"three")
    assert path.read_bytes() == b"one\nthree\n"


@pytest.mark.parametrize("fits", range(7))
def test_a_line_of_which_only_a_part_fits_is_taken_back(tmp_path: Path, fits: int) -> None:
    path, real, left = tmp_path / "tasks.jsonl", os.write, [fits]
    append_durable(str(path), b"one")

    def write(descriptor: int, data: Any) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(descriptor, bytes(data)[: left[0]])
        left[0] -= written
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(StorageError, match="ENOSPC"):
            append_durable(str(path), b"second")
    assert path.read_bytes() == b"one\n"


def test_nothing_is_appended_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(OLD)
    (tmp_path / "a").symlink_to(tmp_path / "victim")
    with pytest.raises(StorageError, match="/a is a symbolic link, not a regular file"):
        append_durable(str(tmp_path / "a"), b"line")
    assert (tmp_path / "victim").read_bytes() == OLD


def test_an_append_to_a_pipe_fails_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    with pytest.raises(StorageError, match="/a is a pipe or a socket, not a regular file"):
        append_durable(str(tmp_path / "a"), b"line")


# Torn tails

WHOLE = '{"id": "eins"}\n{"id": "zwei"}\n{"id": "dreißig 😀"}\n'.encode()
LAST = WHOLE.rindex(b"\n", 0, -1) + 1


def test_a_tail_torn_at_any_byte_is_cut_off_and_kept(tmp_path: Path) -> None:
    path, corrupt = tmp_path / "tasks.jsonl", tmp_path / "tasks.jsonl.corrupt"
    for end in range(LAST, len(WHOLE) + 1):
        corrupt.unlink(missing_ok=True)
        path.write_bytes(WHOLE[:end])
        torn = b"" if end in (LAST, len(WHOLE)) else WHOLE[LAST:end]
        assert repair_tail(str(path)) == torn, end
        assert path.read_bytes() == WHOLE[: end if not torn else LAST], end
        assert (corrupt.read_bytes() if corrupt.exists() else b"") == (torn + b"\n" if torn else b""), end
        assert repair_tail(str(path)) == b"", end


@pytest.mark.parametrize("size", [1, 4094, 4095, 4096, 4097, 4098, 65535, 65536, 65537, 200_000])
@pytest.mark.parametrize("before", [b"", b"\n", b"first\n"], ids=["alone", "after a blank line", "after a line"])
def test_a_torn_tail_of_any_length_is_cut_off(tmp_path: Path, size: int, before: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(before + b"x" * size)
    assert repair_tail(str(path)) == b"x" * size
    assert path.read_bytes() == before
    path.write_bytes(before + b"x" * size + b"\n")
    assert repair_tail(str(path)) == b""
    assert path.read_bytes() == before + b"x" * size + b"\n"


@FEW
@given(content=st.binary(max_size=50))
def test_a_repair_loses_nothing_and_leaves_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("tail") / "a"
    path.write_bytes(content)
    torn = repair_tail(str(path))
    assert path.read_bytes() + torn == content
    assert not path.read_bytes() or path.read_bytes().endswith(b"\n")


def test_a_file_that_is_not_there_has_no_torn_tail(tmp_path: Path) -> None:
    assert repair_tail(str(tmp_path / "a")) == b""
    assert names(tmp_path) == set()


@pytest.mark.parametrize("name", ["ftruncate", "fsync"])
def test_a_repair_that_fails_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntw")
    (tmp_path / "a.corrupt").write_bytes(b"earlier\n")
    with failing(name, 1, errno.EROFS), pytest.raises(StorageError) as caught:
        repair_tail(str(path))
    assert str(caught.value) == f"cannot repair {path}: Read-only file system (EROFS)"


# Reads


def test_a_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "plan.json")
    with pytest.raises(StorageError) as caught:
        read_bytes(str(tmp_path / "plan.json"))
    assert str(caught.value) == f"{tmp_path}/plan.json is a pipe, not a regular file"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        read_bytes(str(tmp_path))
    assert str(caught.value) == f"{tmp_path} is a directory, not a regular file"


@pytest.mark.parametrize("target", ["there", "not there", "itself"])
def test_a_link_is_refused_wherever_it_leads(tmp_path: Path, target: str) -> None:
    (tmp_path / "there").write_bytes(OLD)
    link = tmp_path / "itself"
    link.symlink_to(tmp_path / target)
    with pytest.raises(StorageError) as caught:
        read_bytes(str(link))
    assert str(caught.value) == f"{link} is a symbolic link, not a regular file; put the file itself there"


@pytest.mark.parametrize("device", [os.devnull, "/dev/zero"])
def test_a_device_is_refused(device: str) -> None:
    with pytest.raises(StorageError) as caught:
        read_bytes(device)
    assert str(caught.value) == f"{device} is a device, not a regular file"


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        with pytest.raises(StorageError, match="s is a pipe or a socket, not a regular file"):
            read_bytes("s")


def test_a_file_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with failing("read", 1, errno.EIO) as calls, pytest.raises(StorageError) as caught:
        read_bytes(str(path), limit=10)
    assert str(caught.value) == f"{path} holds 1,099,511,627,776 bytes, over the limit of 10"
    assert calls == []


@pytest.mark.parametrize("size", [0, 1, 9, 10])
def test_a_file_up_to_the_limit_is_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes(b"x" * size)
    assert read_bytes(str(tmp_path / "a"), limit=10) == b"x" * size


def test_a_file_that_grows_while_it_is_read_stays_under_the_limit(tmp_path: Path) -> None:
    path, real, reads = tmp_path / "a", os.read, list[int]()
    path.write_bytes(b"x" * 10)

    def read(descriptor: int, size: int) -> bytes:
        reads.append(size)
        data = real(descriptor, size)
        if len(reads) < 200:
            with path.open("ab") as file:
                file.write(b"x" * 10)
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "read", read)
        with pytest.raises(StorageError, match="over the limit of 100"):
            read_bytes(str(path), limit=100)


def test_a_name_with_a_nul_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="embedded null byte"):
        read_bytes(str(tmp_path / "a\0b"))


def test_a_file_that_is_not_there_is_told_with_its_errno(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        read_bytes(str(tmp_path / "a"))
    assert str(caught.value) == f"cannot read {tmp_path}/a: No such file or directory (ENOENT)"
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_disk_that_fails_under_a_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(OLD)
    with failing("read", 1, errno.EIO), pytest.raises(StorageError, match=r"cannot read .*/a: .*\(EIO\)"):
        read_bytes(str(tmp_path / "a"))


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a link"])
def test_a_refused_read_leaves_no_descriptor_open(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    plant(kind, path)
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        with pytest.raises(StorageError):
            read_bytes(str(path))
    assert len(os.listdir("/proc/self/fd")) == len(before)


# Folders and what is set aside


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "logs"
    make_directory(str(path))
    (path / "a").touch()
    make_directory(str(path))
    assert names(path) == {"a"}


@pytest.mark.parametrize("kind", ["a file", "a link to a folder", "a link to nothing"])
def test_what_is_not_a_folder_is_not_taken_for_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "logs"
    if kind == "a file":
        path.touch()
    else:
        path.symlink_to(tmp_path if kind == "a link to a folder" else tmp_path / "nothing")
    with pytest.raises(StorageError) as caught:
        make_directory(str(path))
    assert str(caught.value) == f"{path} is not a directory, and one is needed there; move it away"


def test_a_folder_without_a_parent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot make .*/a/b: .*\(ENOENT\)"):
        make_directory(str(tmp_path / "a" / "b"))


def test_what_is_set_aside_is_numbered_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "code"
    for number in range(4):
        path.mkdir()
        (path / str(number)).touch()
        set_aside(str(path))
    assert names(tmp_path) == {"code.prev", "code.prev2", "code.prev3", "code.prev4"}
    assert [names(tmp_path / f"code.prev{number}") for number in ("", 2, 3, 4)] == [{"0"}, {"1"}, {"2"}, {"3"}]


def test_a_name_that_a_dead_link_holds_is_not_free(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(OLD)
    (tmp_path / "a.prev").symlink_to(tmp_path / "nothing")
    set_aside(str(tmp_path / "a"))
    assert names(tmp_path) == {"a.prev", "a.prev2"}
    assert (tmp_path / "a.prev").is_symlink()


def test_nothing_to_set_aside_is_fine(tmp_path: Path) -> None:
    set_aside(str(tmp_path / "a"))
    assert names(tmp_path) == set()


def test_setting_aside_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with failing("rename", 1, errno.EROFS), pytest.raises(StorageError, match=r"cannot set aside .*/a: .*EROFS"):
        set_aside(str(tmp_path / "a"))
    assert names(tmp_path) == {"a"}


def test_the_digest_is_sha256() -> None:
    assert sha256(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_tree_is_durable_file_by_file_where_the_system_has_no_call_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f.txt").write_text("x")
    (tmp_path / "a" / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "a" / "pipe")
    told, real = [], os.fsync

    def watch(descriptor: int) -> None:
        told.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    sync_tree(str(tmp_path / "a"))
    assert told == []  # one call does it all
    monkeypatch.setattr("pipeline.base.files.sync_file_system", lambda path: False)
    sync_tree(str(tmp_path / "a"))
    assert told == [str(tmp_path / "a" / name).rstrip("/.") for name in ("b/f.txt", "b", ".")]


def test_a_disk_that_fails_to_sync_a_tree_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot sync .*: No such file or directory"):
        sync_tree(str(tmp_path / "gone"))
