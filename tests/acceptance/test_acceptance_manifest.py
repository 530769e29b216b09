"""Whether a run has changed its workspace: by what lies there, never by what a tool says of itself."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from phases.workspace import manifest
from phases.workspace.manifest import (
    MOST_KEPT,
    MOST_LISTED,
    Changes,
    Manifest,
    ManifestReader,
    compare_manifests,
    manifest_from_json,
    manifest_to_json,
    tree_digest,
)
from phases.workspace.workspace import _TOOL_DIRECTORIES, LARGEST_FILE, Workspace
from pipeline.base.errors import StorageError
from tests.papers import HANGS
from tests.work import wait_until_after

UNCHANGED = Changes(changed=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "generate_code"
    (folder / "net").mkdir(parents=True)
    (folder / "a.py").write_text("A = 1\n")
    (folder / "net" / "model.py").write_text("class Model: ...\n")
    return folder


def taken(root: Path) -> Manifest:
    """A manifest as another process would take it."""
    return ManifestReader().take(Workspace(str(root)))


def bash(root: Path, command: str) -> int:
    """A command as the agent's shell runs it."""
    return subprocess.run(["bash", "-c", command], cwd=root, timeout=HANGS, capture_output=True, check=False).returncode


# What is a change

SAME_SIZE_AND_TIME = "printf 'A = 3\\n' > x && touch -r a.py x && cat x > a.py && touch -r x a.py && rm x"
RUNS = [
    pytest.param("python3 -c 'open(\"b.py\", \"w\").write(\"B\")'", ("b.py", "added"), id="a program writes"),
    pytest.param("rm a.py", ("a.py", "deleted"), id="a file is removed and nothing else"),
    pytest.param("echo 'A = 2' > a.py; exit 1", ("a.py", "modified"), id="a command fails after it wrote"),
    pytest.param("cp a.py net/b.py && touch -r a.py net/b.py", ("net/b.py", "added"), id="a copy with an old time"),
    pytest.param("mv net/model.py net/nets.py", ("net/model.py", "deleted"), id="a file is moved"),
    pytest.param(SAME_SIZE_AND_TIME, ("a.py", "modified"), id="same size and time"),
    pytest.param("ln -s a.py link", ("link", "added"), id="a link"),
    pytest.param("mkfifo pipe", ("pipe", "added"), id="a pipe"),
    pytest.param("echo x > $'odd\\ny'", ("'odd\\ny'", "added"), id="a name that no file may have"),
    pytest.param("echo 'x' > .hidden", (".hidden", "added"), id="a hidden file"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "change"), RUNS)
def test_whatever_a_command_leaves_is_seen_in_what_lies_there(
    command: str, change: tuple[str, str], root: Path
) -> None:
    base = taken(root)
    bash(root, command)
    found = compare_manifests(base, taken(root))
    assert found.changed
    assert change in found.files
    assert not found.truncated


def test_a_file_that_a_sub_agent_wrote_is_a_change_like_any_other(root: Path) -> None:
    base = taken(root)
    Workspace(str(root)).write("net/extra.py", "x = 1\n")
    assert compare_manifests(base, taken(root)) == Changes(True, (("net/extra.py", "added"),))


def test_a_file_that_is_again_as_it_was_is_no_change(root: Path) -> None:
    base = taken(root)
    bash(root, "cp a.py /tmp/$$ && echo x > a.py && cat /tmp/$$ > a.py; rm /tmp/$$; mkdir empty; touch net/model.py")
    assert compare_manifests(base, taken(root)) == UNCHANGED
    assert taken(root) == base


def test_caches_are_no_change(root: Path) -> None:
    base = taken(root)
    assert bash(root, "python3 -B -c pass; python3 -m py_compile a.py net/model.py") == 0
    assert list(root.rglob("*.pyc"))
    for name in _TOOL_DIRECTORIES:
        (root / "net" / name).mkdir(exist_ok=True)
        (root / "net" / name / "x.py").write_text("x")
    shutil.copy(next(root.rglob("*.pyc")), root / "loose.pyc")
    assert compare_manifests(base, taken(root)) == UNCHANGED


def test_a_large_file_that_keeps_its_size_is_seen_to_change(root: Path) -> None:
    large = root / "weights.bin"
    large.write_bytes(bytes(3 * 2**20))
    base, digest = taken(root), tree_digest(Workspace(str(root)))
    with large.open("r+b") as file:
        file.seek(LARGEST_FILE + 7)
        file.write(b"x")
    assert compare_manifests(base, taken(root)) == Changes(True, (("weights.bin", "modified"),))
    assert tree_digest(Workspace(str(root))) != digest


def test_a_sparse_file_of_any_size_is_not_read_and_counts_as_changed(root: Path) -> None:
    with (root / "huge.bin").open("wb") as file:
        file.truncate(2**40)
    base = taken(root)
    assert (base.truncated, base.files["huge.bin"]) == (True, "unread")
    assert compare_manifests(base, taken(root)).changed


def test_the_digest_of_a_manifest_is_that_of_the_tree(root: Path) -> None:
    (root / "weights.bin").write_bytes(bytes(3 * 2**20))
    assert taken(root).sha256 == tree_digest(Workspace(str(root)))


# What cannot be looked at

BROKEN = [
    pytest.param("rm -r ../generate_code", id="the workspace is gone"),
    pytest.param("rm -r ../generate_code; echo x > ../generate_code", id="the workspace is a file"),
    pytest.param("mv ../generate_code ../away; ln -s away ../generate_code", id="the workspace is a link"),
    pytest.param(f"mkdir -p {'d/' * 40}", id="a folder lies too deep"),
]


@pytest.mark.parametrize("command", BROKEN)
def test_a_scan_that_fails_counts_as_a_change(command: str, root: Path) -> None:
    base = taken(root)
    bash(root, command)
    found = compare_manifests(base, taken(root))
    assert (found.changed, found.truncated) == (True, True)
    assert found.files == (), "nothing is said of files that were not looked for"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads whatever it likes")
def test_a_file_that_may_not_be_read_counts_as_a_change(root: Path) -> None:
    base = taken(root)
    (root / "a.py").chmod(0)
    found = compare_manifests(base, taken(root))
    assert (found.changed, found.truncated) == (True, True)


@pytest.mark.parametrize("name", ["a.py", "package", "package/b.py"])
@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOMEM, errno.EIO], ids=errno.errorcode.get)
def test_what_the_machine_refuses_once_is_raised_and_never_recorded_as_another_tree(
    name: str, code: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "package").mkdir()
    (root / "package" / "b.py").write_text("B = 1\n")
    whole, opened = taken(root), os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == os.path.basename(name):
            raise OSError(code, os.strerror(code), path)
        return opened(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr("os.open", refuse)
        with pytest.raises(StorageError, match=errno.errorcode[code]):
            taken(root)
        with pytest.raises(StorageError, match=errno.errorcode[code]):
            tree_digest(Workspace(str(root)))
    assert taken(root) == whole


def test_the_digest_of_a_tree_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot read .*gone.*ENOENT"):
        tree_digest(Workspace(str(tmp_path / "gone")))


def test_more_files_than_are_looked_at_count_as_a_change_and_none_of_them_as_deleted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = MOST_LISTED + 20
    monkeypatch.setattr(manifest, "MOST_FILES", most)
    base = taken(root)
    (root / "a").mkdir()
    for number in range(most):
        (root / "a" / str(number)).touch()
    head = taken(root)
    assert (head.truncated, len(head.files)) == (True, most)
    found = compare_manifests(base, head)
    assert (found.changed, len(found.files), found.truncated) == (True, MOST_LISTED, True)
    assert found.left_out == most - MOST_LISTED
    assert {change for _, change in found.files} == {"added"}, "a.py comes behind, and was not met"
    assert compare_manifests(head, head) == Changes(True, truncated=True)


@pytest.mark.slow
def test_behind_more_files_than_a_journal_keeps_a_change_is_still_seen(root: Path) -> None:
    (root / "a").mkdir()
    for number in range(MOST_KEPT):
        (root / "a" / str(number)).touch()
    base = taken(root)
    assert (base.truncated, base.sha256) == (False, tree_digest(Workspace(str(root))))
    assert compare_manifests(base, taken(root)) == UNCHANGED
    (root / "net" / "model.py").write_text("class Other: ...\n")
    head = taken(root)
    assert compare_manifests(base, head) == Changes(True, (("net/model.py", "modified"),))
    assert head.sha256 == tree_digest(Workspace(str(root)))


def test_a_journal_keeps_so_many_paths_and_takes_the_others_for_changed() -> None:
    whole = Manifest({f"{number:06}": "0" for number in range(MOST_KEPT)}, "1")
    assert manifest_from_json(manifest_to_json(whole)) == whole
    more = Manifest({**whole.files, "x.py": "0"}, "1")
    kept = manifest_from_json(manifest_to_json(more))
    assert (kept.files, kept.truncated, kept.sha256) == (whole.files, True, more.sha256)
    assert compare_manifests(kept, more) == Changes(True, truncated=True), "nobody can say what was not kept"


# What is known is not read again


def read_by_this_process() -> int:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


@pytest.mark.skipif(not os.access("/proc/self/io", os.R_OK), reason="this system does not count what a process reads")
def test_a_file_that_did_not_change_is_read_once(root: Path) -> None:
    (root / "weights.bin").write_bytes(bytes(5 * 2**20))
    manifests = ManifestReader()
    written = (root / "weights.bin").stat().st_ctime_ns
    wait_until_after(written + 200_000_000)  # before that, a change might not show
    first, before = manifests.take(Workspace(str(root))), read_by_this_process()
    assert manifests.take(Workspace(str(root))) == first
    assert read_by_this_process() - before < 2**20
    with (root / "weights.bin").open("r+b") as file:
        file.write(b"x")
    os.utime(root / "weights.bin", ns=(1, 1))
    again = manifests.take(Workspace(str(root)))
    assert compare_manifests(first, again).files == (("weights.bin", "modified"),)
    assert again == taken(root)


def test_changes_in_the_same_tick_of_the_clock_are_all_seen(root: Path) -> None:
    manifests, seen = ManifestReader(), set[str]()
    for number in range(200):
        (root / "a.py").write_text(f"A = {number:03}\n")
        os.utime(root / "a.py", ns=(1, 1))
        seen.add(manifests.take(Workspace(str(root))).sha256)
    assert len(seen) == 200


# Caches


def test_what_tools_leave_in_their_caches_is_no_change_unless_it_is_planned(root: Path) -> None:
    base = taken(root)
    bash(root, "mkdir -p net/.pytest_cache node_modules/x target/debug build; echo x > .gitignore; touch a.pyc")
    bash(root, "touch net/.pytest_cache/v node_modules/x/i.js target/debug/a build/CMakeCache.txt build.py target.py")
    found = compare_manifests(base, taken(root), planned=["build/CMakeCache.txt"])
    assert [path for path, _ in found.files] == [".gitignore", "build.py", "build/CMakeCache.txt", "target.py"]


def test_a_manifest_survives_the_journal(root: Path) -> None:
    (root / "weights.bin").write_bytes(bytes(3 * 2**20))
    Path(os.fsdecode(os.fsencode(str(root)) + b"/odd-\xff")).write_text("x")
    base = taken(root)
    kept = json.dumps(manifest_to_json(base), ensure_ascii=False).encode()
    assert manifest_from_json(json.loads(kept)) == base
