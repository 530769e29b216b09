"""The workspace and the tools: nothing leads out of the folder, and nonsense is answered, never raised."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.agent.model import ToolCall
from phases.agent.sandbox import NONE, OFF
from phases.agent.tools import LARGEST_ANSWER, Tools
from phases.agent.workspace import LARGEST_FILE, Workspace, WorkspaceError
from pipeline.errors import StorageError
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


def test_what_is_written_can_be_read(outside: Outside) -> None:
    workspace, _ = outside
    workspace.write("deep/er/a.py", "x = 'ä'\n")
    workspace.write("deep/er/a.py", "x = 2\n")
    assert workspace.read("deep/er/a.py") == "x = 2\n"
    assert workspace.files() == [("deep/er/a.py", b"x = 2\n")]
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
    assert [path for path, _ in workspace.files()] == []


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
    assert workspace.files() == []
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
    assert workspace.files() == []


def test_a_file_over_the_limit_is_neither_written_nor_read(outside: Outside) -> None:
    workspace, _ = outside
    with pytest.raises(WorkspaceError, match="over the limit"):
        workspace.write("a.py", "x" * (LARGEST_FILE + 1))
    Path(workspace.root, "b.py").write_bytes(b"x" * (LARGEST_FILE + 1))
    with pytest.raises(WorkspaceError, match="at most"):
        workspace.read("b.py")


# tools

CALLS: list[Any] = [
    pytest.param("Fly", {}, id="a tool that there is not"),
    pytest.param("", {}, id="no name"),
    pytest.param(None, {}, id="a name that is none"),
    pytest.param("Read", {}, id="no argument"),
    pytest.param("Read", {"path": "a.py", "more": "x"}, id="one argument too many"),
    pytest.param("Read", {"path": 7}, id="a number for a path"),
    pytest.param("Read", {"path": None}, id="nothing for a path"),
    pytest.param("Read", {"path": "gone.py"}, id="a file that is not there"),
    pytest.param("Read", {"path": "../out/secret.py"}, id="a path that leads out"),
    pytest.param("Read", {"path": "\ud800"}, id="a path that is no text"),
    pytest.param("Read", ["path"], id="a list of arguments"),
    pytest.param("Read", None, id="arguments that are none"),
    pytest.param("Read", "path", id="arguments that are text"),
    pytest.param("Write", {"path": "a.py"}, id="no content"),
    pytest.param("Write", {"path": "a.py", "content": "def ("}, id="Python that does not parse"),
    pytest.param("Write", {"path": "a.py", "content": "x = 1\x00"}, id="Python with a NUL byte"),
    pytest.param("Write", {"path": "a.py", "content": "(" * 9999}, id="Python that is nested too deeply"),
    pytest.param("Write", {"path": ".git/hooks/pre-commit", "content": "x"}, id="a hook of git"),
    pytest.param("Write", {"path": "a.py/b.py", "content": "x = 1"}, id="a file as a folder"),
    pytest.param("Write", {"path": "a.txt", "content": "x" * (LARGEST_FILE + 1)}, id="too much content"),
    pytest.param("Bash", {"command": "exit 7"}, id="a command that fails"),
    pytest.param("Bash", {"command": "a\x00b"}, id="a command with a NUL byte"),
    pytest.param("Bash", {"command": "echo \ud800"}, id="a command that is no text"),
    pytest.param("Bash", {"command": "x" * 3_000_000}, id="a command that is too long"),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
@pytest.mark.parametrize("kind", [NONE, OFF], ids=["commands refused", "commands allowed"])
def test_a_call_that_makes_no_sense_is_answered_with_an_error(
    kind: str, name: str, arguments: Any, outside: Outside
) -> None:
    workspace, folder = outside
    if name == "Write" and isinstance(arguments, dict) and arguments["path"] == "a.py/b.py":
        workspace.write("a.py", "x = 1\n")
    answer = Tools(workspace, kind).answer(ToolCall("c1", name, arguments))
    assert answer["failed"] is True
    assert isinstance(answer["text"], str)
    assert answer["text"].strip()
    assert SECRET not in answer["text"]
    assert os.listdir(folder) == ["secret.py"]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)),
    max_leaves=6,
)


@given(st.sampled_from(["Read", "Write", "Nothing"]), JSON)
@FEW
def test_no_arguments_surprise_a_tool(tmp_path_factory: pytest.TempPathFactory, name: str, arguments: Any) -> None:
    answer = Tools(Workspace(str(tmp_path_factory.mktemp("w"))), NONE).answer(ToolCall("c1", name, arguments))
    assert isinstance(answer["text"], str)


def test_an_answer_is_of_bounded_size(outside: Outside) -> None:
    workspace, _ = outside
    workspace.write("a.txt", "x" * 100_000)
    answer = Tools(workspace, NONE).answer(ToolCall("c1", "Read", {"path": "a.txt"}))
    assert len(answer["text"]) < LARGEST_ANSWER + 100
    assert "more" in answer["text"][-40:]


def test_a_command_without_a_sandbox_is_not_run_and_says_what_to_install(outside: Outside) -> None:
    workspace, _ = outside
    answer = Tools(workspace, NONE).answer(ToolCall("c1", "Bash", {"command": "touch ran"}))
    assert answer["failed"] is True
    assert "--unsandboxed" in answer["text"]
    assert workspace.files() == []


def test_every_tool_tells_a_model_what_it_takes(outside: Outside) -> None:
    for schema in Tools(outside[0], NONE).schemas():
        assert schema["description"]
        assert schema["parameters"]["additionalProperties"] is False
        assert schema["parameters"]["required"] == list(schema["parameters"]["properties"])
