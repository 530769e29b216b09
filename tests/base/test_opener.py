"""The one opener of files that others may have put there: what is not a regular file is refused at once, and left as it is."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from pipeline.base.errors import StorageError
from pipeline.base.files import make_directory, read_bytes, sweep_temporary_files, write_durable
from pipeline.base.jsonl import append_durable, repair_tail
from pipeline.base.lease import claim_lease
from pipeline.base.logs import TaskLog
from pipeline.base.safe_tree import NotRegularError, open_file
from pipeline.engine.lock import lock_task

THEIRS = b"the user's own words\n"
Mode = Literal["rb", "wb", "ab", "r+b"]
MODES: list[Mode] = ["rb", "wb", "ab", "r+b"]


def plant_socket(path: Path) -> None:
    """The name of a socket may not be long."""
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.getcwd()
        os.chdir(path.parent)
        listening.bind(path.name)
        os.chdir(before)


PLANTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (lambda path: path.symlink_to(path.with_name("theirs")), "is a symbolic link"),
    "a link to nothing": (lambda path: path.symlink_to(path.with_name("nothing")), "is a symbolic link"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "is a symbolic link"),
    "a pipe": (os.mkfifo, "is a pipe"),
    "a socket": (plant_socket, "a socket"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_not_a_regular_file_is_refused_by_its_name_and_kind(plant: str, mode: Mode, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(THEIRS)
    make, kind = PLANTS[plant]
    make(tmp_path / "file")
    with pytest.raises(NotRegularError, match=f"{tmp_path}/file .*{kind}"):
        open_file(str(tmp_path / "file"), mode)
    assert (tmp_path / "theirs").read_bytes() == THEIRS
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("mode", MODES)
def test_a_device_and_a_directory_are_refused(mode: Mode, tmp_path: Path) -> None:
    for path in ("/dev/zero", str(tmp_path)):
        with pytest.raises(OSError, match=path):
            open_file(path, mode)


def test_a_regular_file_is_opened_as_open_would(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for mode, text, whole in (("xb", b"one", b"one"), ("ab", b" two", b"one two"), ("wb", b"three", b"three")):
        with open_file(str(path), mode) as file:  # type: ignore[arg-type]
            file.write(text)
        assert path.read_bytes() == whole
    with open_file(str(path)) as file:
        assert file.read() == b"three"


USES: dict[str, Callable[[str], object]] = {
    "read": read_bytes,
    "write": lambda path: write_durable(path, b"ours"),
    "append": lambda path: append_durable(path, b"ours"),
    "repair": repair_tail,
    "log": TaskLog,
    "lease": lambda path: claim_lease(path, "ours", alone=True),
    "open": open_file,
    "make a directory": lambda path: make_directory(f"{path}.new"),
    "sweep": lambda path: sweep_temporary_files(os.path.dirname(path)),
}


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("place", ["logs", "results/first", "hooks"])
def test_no_directory_of_a_task_is_a_link(use: str, place: str, tmp_path: Path) -> None:
    task, home = tmp_path / "tasks" / "stranger", tmp_path / "home"
    (task / place).parent.mkdir(parents=True)
    home.mkdir()
    (task / "task.json").write_text("{}")
    for name in ("file", ".file.tmp", "task.json"):  # the last: the link may lead to another task
        (home / name).write_bytes(THEIRS)
    (task / place).symlink_to(home)
    before = files_of(home)
    with pytest.raises((StorageError, NotRegularError), match=f"{task / place} is a symbolic link"):
        USES[use](str(task / place / "file"))
    assert files_of(home) == before
    assert sorted(entry.name for entry in home.iterdir()) == [".file.tmp", "file", "task.json"]


def test_a_lock_is_not_taken_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(THEIRS)
    (tmp_path / ".lock").symlink_to("theirs")
    with pytest.raises(StorageError, match=r"\.lock is a symbolic link"), lock_task(str(tmp_path)):
        pass
    assert (tmp_path / "theirs").read_bytes() == THEIRS


@pytest.mark.parametrize("linked", ["home", "home/tasks", "home/tasks/own"])
def test_a_link_above_a_task_is_the_user_s_and_followed(linked: str, tmp_path: Path) -> None:
    real = tmp_path / "disk"
    real.mkdir()
    where = tmp_path / linked
    where.parent.mkdir(parents=True, exist_ok=True)
    where.symlink_to(real)
    task = tmp_path / "home" / "tasks" / "own"
    task.mkdir(parents=True, exist_ok=True)
    (task / "task.json").write_text("{}")
    (task / "logs").mkdir()
    for use in ("write", "read", "append", "repair", "make a directory", "sweep"):
        USES[use](str(task / "logs" / "file"))
    assert (task / "logs" / "file").read_bytes() == b"oursours\n"
