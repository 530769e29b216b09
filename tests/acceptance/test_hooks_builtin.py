"""Builtin hooks: a required file is looked for inside the workspace alone, and the others block nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.acceptance.hook import BLOCK, BUILTIN, FAILED, PASS, USER, Hook, HookResult
from phases.acceptance.hook_executor import file_fault, run_builtin
from tests.strategies import FEW


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    """A workspace with something beside it."""
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("a", encoding="utf-8")
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text("b", encoding="utf-8")
    (root / "link-out").symlink_to(tmp_path / "secret")
    (root / "link-in").symlink_to("a.txt")
    (root / "folder-out").symlink_to(tmp_path / "outside")
    (root / "dangling-out").symlink_to(tmp_path / "nowhere")
    (root / "dangling-in").symlink_to("nowhere")
    (root / "round").symlink_to("round")
    os.mkfifo(root / "pipe")
    return root


def hook(point: str, **params: Any) -> Hook:
    return Hook("it", USER, point, kind=BUILTIN, params=params)


def required(ground: Path, path: str, point: str = "accept_gate", **params: Any) -> HookResult:
    return run_builtin(hook(point, handler="require_file_exists", path=path, **params), str(ground))


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "sub/../a.txt", "link-in", "../ws/a.txt"])
def test_a_file_of_the_workspace_is_there(ground: Path, path: str) -> None:
    assert required(ground, path) == HookResult(PASS)


def test_an_absolute_path_into_the_workspace_is_there(ground: Path) -> None:
    assert required(ground, str(ground / "a.txt")) == HookResult(PASS)


def test_a_workspace_that_is_reached_by_a_link_is_the_same_one(ground: Path, tmp_path: Path) -> None:
    (tmp_path / "door").symlink_to(ground)
    assert required(tmp_path / "door", "a.txt") == HookResult(PASS)
    assert required(tmp_path / "door", str(tmp_path / "door" / "a.txt")) == HookResult(PASS)


OUT = "leads out of the workspace"


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        pytest.param("../secret", OUT, id="a step up"),
        pytest.param("sub/../../secret", OUT, id="more steps up than down"),
        pytest.param("/etc/passwd", OUT, id="an absolute path outside"),
        pytest.param("link-out", OUT, id="a link out"),
        pytest.param("folder-out/b.txt", OUT, id="a file behind a linked folder"),
        pytest.param("folder-out/missing.txt", OUT, id="a missing file behind a linked folder"),
        pytest.param("folder-out/x/y/missing.txt", OUT, id="missing folders behind a linked folder"),
        pytest.param("dangling-out", OUT, id="a link to nothing outside"),
        pytest.param("../ws-2/a.txt", OUT, id="a neighbour whose name begins the same"),
        pytest.param("dangling-in", "is not there", id="a link to nothing inside"),
        pytest.param("missing.txt", "is not there", id="a missing file"),
        pytest.param("sub/missing/x.txt", "is not there", id="a missing folder"),
        pytest.param("a.txt/x", "is not there", id="a file taken for a folder"),
        pytest.param("x" * 5000, "is not there", id="a name that is too long"),
        pytest.param("sub", "is a directory", id="a directory"),
        pytest.param(".", "is a directory", id="the workspace itself"),
        pytest.param("pipe", "is not a regular file", id="a pipe"),
        pytest.param("round", "is not a regular file", id="a link to itself"),
        pytest.param("a\0.txt", "is not a path", id="a NUL"),
        pytest.param("a\ud800.txt", "is not a path", id="half a surrogate pair"),
        pytest.param("", "is not a path", id="nothing"),
    ],
)
def test_what_is_no_file_of_the_workspace_blocks_with_the_reason(ground: Path, path: str, fault: str) -> None:
    result = required(ground, path)
    assert result.status == BLOCK
    assert result.reason.startswith("the required file ")
    assert result.reason.endswith(f" {fault}")


def test_away_from_the_gate_a_missing_file_is_a_failed_hook(ground: Path) -> None:
    assert required(ground, "b.txt", "before_tool_call") == HookResult(FAILED, "the required file b.txt is not there")


def test_the_message_of_the_configuration_comes_first_and_the_reason_stays(ground: Path) -> None:
    result = required(ground, "out/report.md", message="write the report")
    assert result.reason == "write the report (the required file out/report.md is not there)"


def test_a_path_is_told_without_what_a_terminal_would_obey(ground: Path) -> None:
    assert required(ground, "\x1b[2Jb\x07.txt").reason == "the required file b.txt is not there"


@FEW
@given(
    st.text(st.characters(exclude_categories=[]), max_size=20)
    | st.lists(st.sampled_from(["..", ".", "/", "a.txt"])).map("/".join)
)
def test_whatever_the_path_is_only_a_file_inside_is_found(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    root = tmp_path_factory.mktemp("ws")
    (root / "a.txt").touch()
    if file_fault(str(root), path) is None:
        assert Path(os.path.realpath(root / path)) == Path(os.path.realpath(root / "a.txt"))


@pytest.mark.parametrize(
    ("params", "tool", "message"),
    [
        pytest.param({"tool_name": "Bash"}, "Bash", "the tool Bash is called", id="its own words"),
        pytest.param({"tool_name": "bash", "message": "careful"}, "Bash", "careful", id="the user's words, in any case"),
        pytest.param({"tool_names": ["Edit", "Write"], "message": "careful"}, "Write", "careful", id="one of several"),
        pytest.param({"tool_names": ["Edit", "Write"], "message": "careful"}, "Read", "", id="another tool"),
        pytest.param({"tool_name": "Bash", "message": "careful"}, "", "", id="no tool at all"),
    ],
)  # fmt: skip
def test_a_warning_is_for_the_user_and_blocks_nothing(params: dict[str, Any], tool: str, message: str) -> None:
    warns = hook("before_tool_call", handler="warn_on_tool_call", **params)
    assert run_builtin(warns, "/nowhere", tool) == HookResult(PASS, message=message)


@pytest.mark.parametrize("name", ["note", "message"])
def test_a_note_is_for_the_model_and_blocks_nothing(name: str) -> None:
    notes = hook("session_start", handler="add_context_note", **{name: "Use \x1b[1mpathlib\x1b[0m."})
    assert run_builtin(notes, "/nowhere") == HookResult(PASS, context="Use pathlib.")


def test_a_builtin_that_does_not_exist_gives_no_verdict() -> None:
    assert run_builtin(hook("accept_gate", handler="no\nsuch"), "/nowhere") == HookResult(
        FAILED, r"hook user:it: there is no builtin 'no\nsuch'"
    )
