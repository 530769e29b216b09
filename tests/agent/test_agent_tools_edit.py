"""An edit that may have been made already: a crash between doing and recording loses nothing and does nothing twice."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from phases.agent.tools.files import EditError, Replacement, apply_replacement, file_tools, text_before
from phases.agent.tools.toolbox import Notes, Toolbox
from phases.llm.model import ToolCall
from phases.workspace.workspace import Workspace
from pipeline.base.files import sha256
from pipeline.engine.contract import Contracts
from tests.strategies import FEW, QUICK

few_letters = st.text("ab", max_size=8)
replacements = st.builds(Replacement, st.text("ab", min_size=1, max_size=3), st.text("ab", max_size=4), st.booleans())


class Crash(Exception):
    """The process ends here."""


class CrashingWorkspace(Workspace):
    """Ends the process before or after the next write."""

    crash = ""

    def write(self, path: str, text: str) -> None:
        if self.crash == "before":
            raise Crash
        super().write(path, text)
        if self.crash == "after":
            raise Crash


def box_on(workspace: Workspace, seen: dict[str, str]) -> Toolbox:
    notes = Notes()
    notes.learn(seen)
    return Toolbox(file_tools(workspace, notes), Contracts().breach)


def outcome(folder: Path, text: str, arguments: dict[str, Any], when: str) -> tuple[dict[str, Any], str, str]:
    """The answer, the file and a Read after it, of an edit that a crash came to, or none."""
    workspace = CrashingWorkspace(str(folder))
    workspace.write("a.txt", text)
    seen = {"a.txt": sha256(text.encode())}
    call = ToolCall("c1", "Edit", {"file_path": "a.txt", **arguments})
    box = box_on(workspace, seen)
    if when:
        workspace.crash = when
        with contextlib.suppress(Crash):
            box.answer(call)
        workspace.crash = ""
        box = box_on(workspace, seen)
    answer = box.answer(call, again=bool(when))
    return answer, workspace.read("a.txt"), box.answer(ToolCall("c2", "Read", {"file_path": "a.txt"}))["text"]


@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.slow), "after"])
@given(text=few_letters, replacement=replacements)
@example(text="ab", replacement=Replacement("a", "ab", False))
@example(text="aabb", replacement=Replacement("ab", "", False))
@example(text="aab", replacement=Replacement("aa", "a", False))
@example(text="ab", replacement=Replacement("a", "aa", True))
@FEW
def test_a_crash_before_or_after_an_edit_leaves_the_same_tree_and_the_same_answer(
    tmp_path_factory: pytest.TempPathFactory, when: str, text: str, replacement: Replacement
) -> None:
    arguments = {
        "old_string": replacement.old,
        "new_string": replacement.new,
        "replace_all": replacement.everywhere,
    }
    folder = tmp_path_factory.mktemp("w")
    for name in ("crashed", "whole"):
        (folder / name).mkdir()
    crashed = outcome(folder / "crashed", text, arguments, when)
    whole = outcome(folder / "whole", text, arguments, "")
    assert crashed[1] == whole[1]
    for fact in ("text", "failed", "touched"):
        assert crashed[0][fact] == whole[0][fact]
    if not replacement.everywhere:  # after a crash, what was replaced everywhere may be sent once more
        assert (crashed[0], crashed[2]) == (whole[0], whole[2])


@given(few_letters, replacements)
@QUICK
def test_an_edit_that_was_made_is_known_by_what_its_author_saw(text: str, replacement: Replacement) -> None:
    try:
        after = apply_replacement(text, replacement)
    except EditError:
        assume(False)
    known = sha256(text.encode())
    assert text_before(text, replacement, known) is None
    before = text_before(after, replacement, known)
    assert before is not None
    assert replacement.everywhere or before == text


LINES = "import os\n\n\ndef wait(room):\n    return room\n"
ORDINARY = [
    Replacement("import os", "import os\nimport sys"),
    Replacement("    return room\n", ""),
    Replacement("room", "hall", everywhere=True),
    Replacement("wait", "await_it"),
    Replacement("def wait(room):\n    return room", "def go():\n    pass"),
]


@pytest.mark.parametrize("replacement", ORDINARY)
def test_an_ordinary_edit_is_known_by_its_text_alone(replacement: Replacement) -> None:
    assert text_before(LINES, replacement, None) is None
    assert text_before(apply_replacement(LINES, replacement), replacement, None) is not None


def test_on_a_resume_an_edit_that_was_never_possible_stays_an_error_and_a_write_is_made_again(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    workspace.write("a.txt", "one\n")
    edit = ToolCall("c1", "Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "three"})
    for call in (edit, ToolCall("c1", "Write", {"file_path": "a.py", "content": "x = 1\n"})):
        first = box_on(workspace, {}).answer(call)
        assert box_on(workspace, {}).answer(call, again=True) == first


@pytest.mark.slow
def test_a_long_file_does_not_hold_up_a_resume() -> None:
    text = "ab" * 500_000
    assert text_before(text, Replacement("c", "a"), "0" * 64) is not None
    assert text_before(text, Replacement("c", ""), None) is not None


@pytest.mark.parametrize(("text", "old"), [("aaa", "aa"), ("x\nx\nx\n", "x\nx\n"), ("ababa", "aba")])
def test_places_that_overlap_are_two_and_neither_is_the_one(text: str, old: str) -> None:
    with pytest.raises(EditError, match="occurs 2 times"):
        apply_replacement(text, Replacement(old, "new"))
