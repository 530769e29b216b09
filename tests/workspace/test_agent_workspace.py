"""The workspace: nothing leads out of the folder, whatever it is called and whoever is faster."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.workspace.workspace import LARGEST_FILE, FileDigest, Workspace, WorkspaceError
from pipeline.base.errors import StorageError
from pipeline.base.files import sha256
from tests.papers import HANGS
from tests.strategies import FEW

SECRET = "a secret outside"
PATHS = [
    "", "/", ".", "..", "../out.py", "a/../../out.py", "a/..", "./a.py", "a//b.py", "/etc/passwd", "a/", "\x00", "a\x00b",
    "a\\..\\b", ".git", ".git/config", "a/.git/hooks/pre-commit", "a/" * 40 + "b", "x" * 300, "a/" + "y" * 300, "\ud800",
    "a/\udcff.py",
]  # fmt: skip
Outside = tuple[Workspace, Path]


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    """A workspace, and a folder beside it that nothing may reach."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.py").write_text(SECRET)
    return Workspace(str(tmp_path / "inside")), tmp_path / "out"


def files_of(workspace: Workspace) -> list[tuple[str, str]]:
    return [(path, workspace.read(path)) for path in workspace.paths()]


def test_what_is_written_can_be_read(outside: Outside) -> None:
    workspace, _ = outside
    workspace.write("deep/er/a.py", "x = 'ä'\n")
    workspace.write("deep/er/a.py", "x = 2\n")
    assert workspace.read("deep/er/a.py") == "x = 2\n"
    assert files_of(workspace) == [("deep/er/a.py", "x = 2\n")]
    assert os.listdir(os.path.join(workspace.root, "deep", "er")) == ["a.py"], "no temporary file is left"


@pytest.mark.parametrize("path", PATHS, ids=[f"path {number}: {path[:20]!r}" for number, path in enumerate(PATHS)])
def test_a_path_that_leads_nowhere_good_is_refused(path: str, outside: Outside) -> None:
    workspace, folder = outside
    with pytest.raises(WorkspaceError):
        workspace.write(path, "x")
    with pytest.raises(WorkspaceError):
        workspace.read(path)
    assert not workspace.exists(path)
    assert os.listdir(folder) == ["secret.py"]
    assert workspace.paths() == []


@given(st.text(max_size=60))
@example("a/\ud83d")
@FEW
def test_no_path_surprises_the_workspace(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "inside").mkdir()
    workspace = Workspace(str(folder / "inside"))
    try:
        workspace.write(path, "x")
    except WorkspaceError:
        assert os.listdir(folder / "inside") == [] or "/" in path
    else:
        assert workspace.read(path) == "x"
    assert os.listdir(folder) == ["inside"]


def test_a_link_to_a_file_is_neither_read_nor_written_through(outside: Outside) -> None:
    workspace, folder = outside
    os.symlink(folder / "secret.py", os.path.join(workspace.root, "a.py"))
    with pytest.raises(WorkspaceError):
        workspace.read("a.py")
    workspace.write("a.py", "mine")
    assert (folder / "secret.py").read_text() == SECRET
    assert not os.path.islink(os.path.join(workspace.root, "a.py"))


def test_a_link_to_a_folder_is_not_followed(outside: Outside) -> None:
    workspace, folder = outside
    os.symlink(folder, os.path.join(workspace.root, "package"))
    for act in (lambda: workspace.read("package/secret.py"), lambda: workspace.write("package/new.py", "x")):
        with pytest.raises(WorkspaceError):
            act()
    assert workspace.digests() == []
    assert os.listdir(folder) == ["secret.py"]


def test_a_workspace_that_is_a_link_is_refused(outside: Outside, tmp_path: Path) -> None:
    os.symlink(outside[1], tmp_path / "link")
    with pytest.raises(StorageError, match="link: Not a directory"):
        Workspace(str(tmp_path / "link")).read("secret.py")


def test_a_pipe_is_refused_at_once(outside: Outside) -> None:
    workspace, _ = outside
    os.mkfifo(os.path.join(workspace.root, "pipe.py"))
    with pytest.raises(WorkspaceError, match="not a regular file"):
        workspace.read("pipe.py")
    assert workspace.digests() == []


def test_a_file_over_the_limit_is_neither_written_nor_read(outside: Outside) -> None:
    workspace, _ = outside
    with pytest.raises(WorkspaceError, match="over the limit"):
        workspace.write("a.py", "x" * (LARGEST_FILE + 1))
    Path(workspace.root, "b.py").write_bytes(b"x" * (LARGEST_FILE + 1))
    with pytest.raises(WorkspaceError, match="at most"):
        workspace.read("b.py")


def test_what_is_removed_is_gone_and_a_link_is_removed_itself(outside: Outside) -> None:
    workspace, folder = outside
    workspace.write("a/b.py", "x = 1\n")
    os.symlink(folder / "secret.py", os.path.join(workspace.root, "link.py"))
    workspace.remove("a/b.py")
    workspace.remove("link.py")
    assert (workspace.paths(), workspace.strays()) == ([], [])
    assert os.listdir(folder) == ["secret.py"]


@pytest.mark.parametrize("path", ["gone.py", "a", "a/gone.py", "../out/secret.py", "link/secret.py"])
def test_what_is_not_a_file_of_the_workspace_is_not_removed(path: str, outside: Outside) -> None:
    workspace, folder = outside
    workspace.write("a/b.py", "x = 1\n")
    os.symlink(folder, os.path.join(workspace.root, "link"))
    with pytest.raises(WorkspaceError):
        workspace.remove(path)
    assert workspace.paths() == ["a/b.py"]
    assert os.listdir(folder) == ["secret.py"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        pytest.param("a/b.py", "a/b.py", id="as it should be"),
        pytest.param("./a/b.py", "a/b.py", id="from here"),
        pytest.param("{root}/a/b.py", "a/b.py", id="absolute and inside"),
        pytest.param("{root}", ".", id="the workspace"),
        pytest.param("{root}/", ".", id="the workspace with a slash"),
        pytest.param(".", ".", id="a dot"),
        pytest.param("", ".", id="nothing"),
        pytest.param("a/", "a", id="a folder with a slash"),
        pytest.param("/etc/passwd", "/etc/passwd", id="absolute and outside stays what it is"),
        pytest.param("{root}-more/a.py", "{root}-more/a.py", id="a folder that only begins like the workspace"),
    ],
)
def test_a_path_may_be_written_as_models_write_it(given: str, meant: str, outside: Outside) -> None:
    workspace, _ = outside
    assert workspace.relative(given.format(root=workspace.root)) == meant.format(root=workspace.root)


@pytest.mark.parametrize("twin", ["Model.py", "MODEL.PY", "Package/b.py"])
def test_a_second_name_that_differs_in_case_alone_is_refused(twin: str, outside: Outside) -> None:
    workspace, _ = outside
    workspace.write("model.py", "x = 1\n")
    workspace.write("package/a.py", "x = 1\n")
    with pytest.raises(WorkspaceError, match="differs in case alone"):
        workspace.write(twin, "x = 2\n")
    workspace.write("model.py", "x = 3\n")
    assert files_of(workspace) == [("model.py", "x = 3\n"), ("package/a.py", "x = 1\n")]


def test_paths_and_strays_are_all_that_there_is(outside: Outside) -> None:
    workspace, folder = outside
    for path in ("b.py", "a/c.py", "a/b/d.txt", "__pycache__/x.pyc", "a/__pycache__/x.pyc"):
        (Path(workspace.root) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(workspace.root) / path).write_text("x")
    os.symlink(folder, os.path.join(workspace.root, "link"))
    os.mkfifo(os.path.join(workspace.root, "a", "pipe"))
    Path(os.fsdecode(os.fsencode(workspace.root) + b"/a/odd-\xff")).write_text("x")
    assert workspace.paths() == ["a/b/d.txt", "a/c.py", "b.py"]
    assert [row.path for row in workspace.digests()] == workspace.paths()
    assert [row.partition(":")[0] for row in workspace.strays()] == ["'a/odd-\\udcff'", "'a/pipe'", "'link'"]


def test_a_large_file_is_no_stray_and_counts_by_its_size_alone(outside: Outside) -> None:
    workspace, _ = outside
    workspace.write("a.py", "x = 1\n")
    (Path(workspace.root) / "data").mkdir()
    for name, size in (("data/at.bin", LARGEST_FILE), ("data/over.bin", LARGEST_FILE + 1), ("data/huge.bin", 2**40)):
        with open(os.path.join(workspace.root, name), "wb") as file:
            file.truncate(size)
    assert workspace.strays() == []
    assert workspace.digests() == [
        FileDigest("a.py", 6, sha256(b"x = 1\n")),
        FileDigest("data/at.bin", LARGEST_FILE, sha256(bytes(LARGEST_FILE))),
        FileDigest("data/huge.bin", 2**40, None),
        FileDigest("data/over.bin", LARGEST_FILE + 1, None),
    ]
    assert not workspace.exists("data/over.bin")
    with pytest.raises(WorkspaceError, match="not a regular file of at most"):
        workspace.read("data/over.bin")


def test_all_digests_take_no_more_memory_than_a_few_files(outside: Outside) -> None:
    workspace, _ = outside
    for number in range(40):
        Path(workspace.root, f"{number}.bin").write_bytes(bytes([number]) * LARGEST_FILE)
    tracemalloc.start()
    try:
        digests = workspace.digests()
        strays = workspace.strays()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len({row.sha256 for row in digests}), strays) == (40, [])
    assert peak < 4 * LARGEST_FILE


def test_what_cannot_be_taken_in_is_told_by_what_it_is_and_has_no_digest(outside: Outside) -> None:
    workspace, folder = outside
    os.symlink(folder / "secret.py", os.path.join(workspace.root, "link"))
    os.symlink(folder, os.path.join(workspace.root, "package"))
    os.mkfifo(os.path.join(workspace.root, "pipe"))
    Path(workspace.root, "odd\n.py").write_text("x")
    with socket.socket(socket.AF_UNIX) as listening:
        with contextlib.chdir(workspace.root):  # an address has 108 bytes at most
            listening.bind("socket")
        assert workspace.strays() == [
            "'link': it is a link",
            "'odd\\n.py': the path 'odd\\n.py' is refused: give a path inside the workspace, like package/module.py",
            "'package': it is a link",
            "'pipe': it is a pipe, a socket or a device",
            "'socket': it is a pipe, a socket or a device",
        ]
    assert workspace.digests() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads whatever it likes")
def test_what_may_not_be_read_is_a_stray(outside: Outside) -> None:
    workspace, _ = outside
    workspace.write("a.py", "x = 1\n")
    workspace.write("b/c.py", "x = 1\n")
    os.chmod(os.path.join(workspace.root, "a.py"), 0)
    os.chmod(os.path.join(workspace.root, "b"), 0)
    try:
        assert workspace.strays() == [
            "'a.py': cannot read a.py: Permission denied",
            "'b': it is a folder that lies too deep or cannot be opened",
        ]
        assert workspace.digests() == []
        workspace.write("a.py", "x = 2\n")
        assert workspace.read("a.py") == "x = 2\n", "whoever writes a file can read it"
    finally:
        os.chmod(os.path.join(workspace.root, "b"), 0o755)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(0o755, 0o755, id="what can be run"),
        pytest.param(0o644, 0o644, id="what cannot"),
        pytest.param(0o700, 0o700, id="what only its owner can run"),
        pytest.param(0o7777, 0o755, id="what runs as somebody else does so no more"),
        pytest.param(0o444, 0o644, id="what could not be written"),
    ],
)
def test_a_file_that_is_replaced_keeps_its_permissions(before: int, after: int, outside: Outside) -> None:
    workspace, _ = outside
    workspace.write("run.sh", "echo one\n")
    path = Path(workspace.root, "run.sh")
    path.chmod(before)
    workspace.write("run.sh", "echo two\n")
    assert path.stat().st_mode & 0o7777 == after


def test_a_file_in_the_place_of_a_link_takes_nothing_from_what_the_link_leads_to(outside: Outside) -> None:
    workspace, folder = outside
    (folder / "secret.py").chmod(0o755)
    os.symlink(folder / "secret.py", os.path.join(workspace.root, "a.py"))
    workspace.write("a.py", "mine")
    assert Path(workspace.root, "a.py").stat().st_mode & 0o111 == 0


def test_a_tree_that_is_too_deep_is_told_and_not_descended_into(outside: Outside) -> None:
    workspace, _ = outside
    deep = Path(workspace.root).joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    (deep / "a.py").write_text("x")
    assert workspace.paths() == []
    assert workspace.strays() == [f"'{'/'.join('d' * 32)}': it is a folder that lies too deep or cannot be opened"]


@pytest.mark.slow
def test_a_folder_that_is_swapped_for_a_link_all_the_time_never_leads_out(outside: Outside) -> None:
    workspace, folder = outside
    inside, kept = os.path.join(workspace.root, "package"), os.path.join(workspace.root, "kept")
    os.mkdir(inside)
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            os.rename(inside, kept)
            with contextlib.suppress(FileExistsError):  # the other side makes a folder where it finds none
                os.symlink(folder, inside)
                os.unlink(inside)
            while os.path.exists(kept):
                shutil.rmtree(inside, ignore_errors=True)
                with contextlib.suppress(OSError):
                    os.rename(kept, inside)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for number in range(1000):
            with contextlib.suppress(WorkspaceError):
                workspace.write("package/secret.py", f"x = {number}\n")
            with contextlib.suppress(WorkspaceError):
                assert SECRET not in workspace.read("package/secret.py")
            with contextlib.suppress(WorkspaceError):
                workspace.remove("package/secret.py")
            assert sha256(SECRET.encode()) not in [row.sha256 for row in workspace.digests()]
    finally:
        ended.set()
        swapping.join(HANGS)
    assert os.listdir(folder) == ["secret.py"]
    assert (folder / "secret.py").read_text() == SECRET
