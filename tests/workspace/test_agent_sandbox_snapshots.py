"""The copy of a workspace: what a command did is undone to the last name, and nothing else is touched."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.workspace.backup_tree import back_up_tree, carry_file_over
from phases.workspace.snapshots import Snapshot
from phases.workspace.tree import start_of_changes, sync_changed
from pipeline.base.errors import StorageError
from pipeline.base.safe_tree import open_regular


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "task" / "generate_code"
    (root / "package" / "empty").mkdir(parents=True)
    (tmp_path / "task" / "paper.md").write_text("the paper")
    (root / "main.py").write_text("print(1)\n")
    (root / "package" / "a.py").write_text("A = 1\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("main.py")
    (root / "out").symlink_to("../paper.md")
    return root


def seen(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything in a folder: kind and mode of each name, and its content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content: object = None
        if stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            content = (path.read_bytes(), status.st_mtime_ns)
        found[str(path.relative_to(root))] = (oct(status.st_mode), content)
    return found


def snapshot(workspace: Path) -> Snapshot:
    """A new one, as after a restart."""
    return Snapshot(str(workspace), str(workspace.parent / "kept"))


def test_what_was_changed_made_and_deleted_is_undone(workspace: Path) -> None:
    before = seen(workspace)
    assert snapshot(workspace).take("call-1")
    (workspace / "main.py").write_text("print(2)\n")
    (workspace / "package" / "a.py").unlink()
    (workspace / "new" / "deep").mkdir(parents=True)
    (workspace / "new" / "deep" / "x").write_text("x")
    (workspace / "run.sh").chmod(0o000)
    (workspace / "link").unlink()
    (workspace / "link").mkdir()
    (workspace / "package" / "empty").rmdir()
    (workspace / "package" / "empty").symlink_to("/")
    os.mkfifo(workspace / "pipe")
    after_a_crash = snapshot(workspace)
    assert after_a_crash.pending() == "call-1"
    after_a_crash.restore()
    assert seen(workspace) == before
    assert after_a_crash.pending() == "call-1", "until it is dropped, it can be cut off and be done again"
    after_a_crash.drop()
    assert after_a_crash.pending() is None
    assert (workspace.parent / "paper.md").read_text() == "the paper"


def test_a_change_that_shows_in_no_sign_is_undone_too(workspace: Path) -> None:
    kept = snapshot(workspace)
    assert kept.take("call-1")
    before = seen(workspace)
    status = (workspace / "main.py").stat()
    with open(workspace / "main.py", "r+") as file:
        file.write("print(3)\n")
    os.utime(workspace / "main.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    kept.restore()
    assert seen(workspace) == before
    assert kept.take("call-2")
    snapshot(workspace).restore()
    assert seen(workspace) == before


def test_only_what_changed_is_copied_the_next_time(workspace: Path) -> None:
    kept = snapshot(workspace)
    for name in ("call-1", "call-2", "call-3"):
        assert kept.take(name)
    copies = {path.name: path.stat().st_ino for path in (workspace.parent / "kept" / "files").iterdir()}
    (workspace / "main.py").write_text("print(4)\n")
    assert snapshot(workspace).take("call-4")
    now = {path.name: path.stat().st_ino for path in (workspace.parent / "kept" / "files").iterdir()}
    assert len(set(now.items()) & set(copies.items())) == len(copies) - 1
    assert len(now) == len(copies), "the copy that nobody needs is gone"


def test_a_mode_that_shuts_out_everybody_is_undone(workspace: Path) -> None:
    before = seen(workspace)
    kept = snapshot(workspace)
    assert kept.take("call-1")
    (workspace / "package").chmod(0)
    kept.restore()
    assert seen(workspace) == before


def test_a_tree_that_is_nested_without_end_is_taken_away(workspace: Path) -> None:
    before = seen(workspace)
    kept = snapshot(workspace)
    assert kept.take("call-1")
    folder = os.open(workspace, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    assert not Snapshot(str(workspace), str(workspace.parent / "other")).take("call-2")
    kept.restore()
    assert seen(workspace) == before


def test_a_folder_that_became_a_link_leads_nowhere(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside" / "empty").mkdir(parents=True)
    (tmp_path / "outside" / "a.py").write_text("not ours")
    before, outside = seen(workspace), seen(tmp_path / "outside")
    kept = snapshot(workspace)
    assert kept.take("call-1")
    shutil.rmtree(workspace / "package")
    (workspace / "package").symlink_to(tmp_path / "outside")
    kept.restore()
    assert seen(workspace) == before
    assert seen(tmp_path / "outside") == outside


@pytest.mark.parametrize("size", [2 * 2**20, 2 * 2**20 + 1])
def test_a_workspace_over_the_limits_is_not_copied(size: int, workspace: Path) -> None:
    (workspace / "large").write_bytes(b"x" * size)
    kept = snapshot(workspace)
    assert kept.take("call-1") is (size <= 2 * 2**20)
    assert (kept.pending() is None) is (size > 2 * 2**20)
    with open(workspace / "sparse", "wb") as file:
        file.truncate(2**30)
    assert not kept.take("call-2")
    assert kept.pending() is None, "an old mark would lead back too far"
    with pytest.raises(StorageError, match=r"there is no copy of .*generate_code to go back to"):
        kept.restore()


@pytest.mark.parametrize("name", ["taken.json", "tree.json", "files"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_copy_is_never_put_back(name: str, damage: str, workspace: Path) -> None:
    kept_root = workspace.parent / "kept"
    assert snapshot(workspace).take("call-1")
    target = kept_root / name
    if name == "files":
        target = next(path for path in target.iterdir() if path.read_bytes() == b"A = 1\n")
    target.write_bytes(target.read_bytes()[:-3] if damage == "cut" else b"[[1]]")
    (workspace / "main.py").write_text("changed")
    with pytest.raises(StorageError, match=r"there is no copy|is damaged; the workspace is left as it is"):
        snapshot(workspace).restore()
    assert (workspace / "main.py").read_text() == "changed"


def test_a_copy_that_was_cut_off_is_not_pending(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = snapshot(workspace)
    assert kept.take("call-1")
    (workspace / "main.py").write_text("print(5)\n")

    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Snapshot, "_write_mark", crash)
    with pytest.raises(KeyboardInterrupt):
        kept.take("call-2")
    assert snapshot(workspace).pending() is None


NAMES = st.sampled_from(["a", "b", "c", "a/x", "a/y", "b/x", "c/x/y", "ä\n", "\udcff"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "folder", "link", "pipe", "remove", "move", "mode"]), NAMES, NAMES), max_size=12
)


def act(root: str, step: tuple[str, str, str]) -> None:
    """One step of a command; one that cannot be done is none."""
    verb, name, other = step
    path, target = os.path.join(root, name), os.path.join(root, other)
    try:
        if verb == "write":
            with open(path, "w") as file:
                file.write(ascii(other))
        elif verb == "folder":
            os.makedirs(path)
        elif verb == "link":
            os.symlink(other, path)
        elif verb == "pipe":
            os.mkfifo(path)
        elif verb == "move":
            os.rename(path, target)
        elif verb == "mode":
            os.chmod(path, 0o600, follow_symlinks=os.path.islink(path))
        elif os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except (OSError, NotImplementedError):
        return


@settings(deadline=None, max_examples=60)
@given(STEPS, STEPS)
def test_whatever_a_command_does_the_tree_is_as_before(
    first: list[tuple[str, str, str]], then: list[tuple[str, str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "workspace")
        os.mkdir(root)
        for step in first:
            if step[0] != "write" or not os.path.exists(os.path.join(root, step[1])):  # not into a pipe
                act(root, step)
        before = seen(Path(root))
        assert Snapshot(root, os.path.join(folder, "kept")).take("x")
        for step in then:
            if (
                step[0] != "write"
                or not os.path.exists(os.path.join(root, step[1]))
                or os.path.isfile(os.path.join(root, step[1]))
            ):
                act(root, step)
        Snapshot(root, os.path.join(folder, "kept")).restore()
        assert seen(Path(root)) == before


def test_what_is_put_back_is_durable_when_it_is_called_put_back(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = Snapshot(str(workspace), str(workspace.parent / "kept"))
    (workspace / "inner").mkdir()
    (workspace / "inner" / "f.txt").write_text("before")
    time.sleep(0.15)
    assert snapshot.take("a command")
    (workspace / "inner" / "f.txt").write_text("after")
    told = synced(workspace, snapshot.restore, monkeypatch)
    assert told.index("inner/f.txt") < told.index("inner")


def synced(root: Path, do: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is made durable, by paths; a whole file system is `all`."""
    told: list[str] = []
    real = os.fsync

    def watch(descriptor: int) -> None:
        told.append(os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), root))
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", watch)
        patch.setattr("phases.workspace.tree.sync_tree", lambda path: told.append("all"))
        do()
    return told


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda root: None, [], id="nothing"),
        pytest.param(lambda root: (root / "a" / "f.txt").write_text("x"), ["a/f.txt"], id="a file written in place"),
        pytest.param(lambda root: (root / "a" / "g").write_text("x"), ["a/g", "a"], id="a new file"),
        pytest.param(lambda root: (root / "a" / "f.txt").unlink(), ["a"], id="a file removed"),
        pytest.param(lambda root: (root / "a" / "f.txt").rename(root / "f"), ["a", "f", "."], id="a file moved"),
        pytest.param(lambda root: (root / "a" / "f.txt").chmod(0o755), ["a/f.txt"], id="a mode"),
        pytest.param(lambda root: (root / "b").mkdir(), ["b", "."], id="a new folder"),
        pytest.param(lambda root: (root / "link").symlink_to("/etc"), ["."], id="a link"),
        pytest.param(lambda root: [(root / f"n{n}").touch() for n in range(65)], ["all"], id="more than a few"),
    ],
)
def test_what_changed_since_a_moment_is_made_durable_files_first_then_their_folders(
    change: Callable[[Path], object], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f.txt").write_text("before")
    time.sleep(0.05)
    since = start_of_changes()
    change(tmp_path)
    told = synced(tmp_path, lambda: sync_changed(str(tmp_path), since), monkeypatch)
    assert told[-1:] == expected[-1:]
    assert sorted(told if expected != ["all"] else told[-1:]) == sorted(expected)
    assert all(told.index(path) < told.index(".") for path in told if path != "." and "." in told)


def test_a_disk_that_fails_to_sync_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    since = start_of_changes()
    (tmp_path / "f.txt").write_text("x")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match=r"cannot sync .*: Input/output error \(EIO\)"):
        sync_changed(str(tmp_path), since)


def test_what_is_put_back_or_copied_lends_nobodys_rights(workspace: Path) -> None:
    tool = workspace / "run.sh"
    tool.chmod(0o6755)
    time.sleep(0.15)
    snapshot = Snapshot(str(workspace), str(workspace.parent / "kept"))
    assert snapshot.take("a command")
    tool.write_text("changed")
    snapshot.restore()
    assert stat.S_IMODE(tool.stat().st_mode) == 0o755
    tool.chmod(0o6755)
    assert back_up_tree(str(workspace), str(workspace.parent / "copy"))
    assert stat.S_IMODE((workspace.parent / "copy" / "run.sh").stat().st_mode) == 0o755
    carry_file_over("run.sh", str(workspace), str(workspace.parent / "brought"))
    assert stat.S_IMODE((workspace.parent / "brought" / "run.sh").stat().st_mode) == 0o755


def test_a_copy_has_every_name_with_its_mode_and_time_and_no_pipe(workspace: Path) -> None:
    (workspace / "package").chmod(0o555)
    before, copy = seen(workspace), workspace.parent / "copy"
    os.mkfifo(workspace / "pipe")
    assert back_up_tree(str(workspace), str(copy))
    assert seen(copy) == before
    for name in ("main.py", "package"):
        assert (copy / name).stat().st_mtime_ns == (workspace / name).stat().st_mtime_ns


def test_a_file_that_becomes_a_link_while_it_is_copied_brings_nothing_from_outside(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("a secret")

    def swap(name: str, directory: int | None = None) -> int:
        os.unlink(name, dir_fd=directory)
        os.symlink(tmp_path / "secret", name, dir_fd=directory)
        return open_regular(name, directory)

    monkeypatch.setattr("phases.workspace.backup_tree.open_regular", swap)
    carry_file_over("main.py", str(workspace), str(tmp_path / "task" / "brought"))
    assert not back_up_tree(str(workspace), str(tmp_path / "task" / "copy"))
    assert sorted(os.listdir(tmp_path / "task")) == ["generate_code", "paper.md"]


@pytest.mark.parametrize("path", ["../paper.md", "package/../main.py", "out", "away/paper.md", "package", "gone"])
def test_no_file_is_carried_over_a_link_or_from_outside(path: str, workspace: Path, tmp_path: Path) -> None:
    (workspace / "away").symlink_to("..")
    carry_file_over(path, str(workspace), str(tmp_path / "brought"))
    assert not (tmp_path / "brought").exists()


def test_a_workspace_nested_without_end_is_not_copied(workspace: Path) -> None:
    (workspace / "/".join(["d"] * 70)).mkdir(parents=True)
    assert not back_up_tree(str(workspace), str(workspace.parent / "copy"))
    assert sorted(os.listdir(workspace.parent)) == ["generate_code", "paper.md"]


@pytest.mark.parametrize("refused", ["unlink", "scandir", "rmdir"])
def test_a_copy_that_cannot_be_removed_is_not_left_without_a_word(
    workspace: Path, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other work, whose steps have the same names, would go back to it."""
    assert snapshot(workspace).take("call-1")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(f"os.{refused}", refuse)
        with pytest.raises(StorageError, match=r"cannot remove .*/kept: Input/output error \(EIO\)"):
            snapshot(workspace).clear()
    kept = snapshot(workspace)
    kept.clear()
    kept.clear()  # there is nothing to remove
    assert kept.pending() is None
    assert not (workspace.parent / "kept").exists()
    assert kept.take("call-2"), "and the same one takes the next copy"
    assert kept.pending() == "call-2"
