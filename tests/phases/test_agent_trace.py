"""Which requirement is stubbed, implemented or missing: read from the syntax tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phases.agent.implement import requirement_counts
from phases.agent.trace import trace
from phases.agent.workspace import Workspace

FUNCTION = 'def wait(room):\n    """R1: waits."""\n'


def traced(folder: Path, files: dict[str, str], identifiers: tuple[str, ...] = ("R1",)) -> dict[str, Any]:
    workspace = Workspace(str(folder))
    for path, text in files.items():
        workspace.write(path, text)
    plan = {
        "requirements": [{"id": name, "text": f"text of {name}"} for name in identifiers],
        "file_structure": [{"path": path} for path in files],
    }
    return trace(workspace, plan)


CODE = [
    pytest.param(FUNCTION + "    return room + 1\n", "implemented", id="a function that works"),
    pytest.param(FUNCTION, "stubbed", id="a docstring and nothing else"),
    pytest.param(FUNCTION + "    pass\n", "stubbed", id="pass"),
    pytest.param(FUNCTION + "    ...\n", "stubbed", id="an ellipsis"),
    pytest.param(FUNCTION + "    raise NotImplementedError\n", "stubbed", id="NotImplementedError"),
    pytest.param(FUNCTION + "    raise NotImplementedError('R1')\n", "stubbed", id="NotImplementedError with words"),
    pytest.param(FUNCTION + "    raise ValueError('no')\n", "implemented", id="another error"),
    pytest.param("async " + FUNCTION + "    pass\n", "stubbed", id="a coroutine that does nothing"),
    pytest.param('class Room:\n    """R1."""\n', "stubbed", id="an empty class"),
    pytest.param('class Room:\n    """R1."""\n    size = 3\n', "implemented", id="a class of values"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        raise NotImplementedError\n', "stubbed",
                 id="a class of stubs"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        return 1\n', "implemented",
                 id="a class with a method that works"),
    pytest.param('class Room:\n    def a(self):\n        """R1."""\n        return 1\n', "implemented", id="a method"),
    pytest.param("RATE = 0.1  # R1 (hyperparameter), page 3\n", "implemented", id="a value"),
    pytest.param("RATE: float = 0.1  # R1\n", "implemented", id="a value with its type"),
    pytest.param('def wait():\n    """R12 and R10."""\n    return 1\n', "missing", id="other requirements"),
    pytest.param("# R1 is done, I promise\nX = 'R1'\n", "missing", id="a promise in a comment"),
    pytest.param("def wait(:\n", "missing", id="a file that does not parse"),
    pytest.param("", "missing", id="an empty file"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "status"), CODE)
def test_the_status_of_a_requirement_is_what_its_code_does(code: str, status: str, tmp_path: Path) -> None:
    [row] = traced(tmp_path, {"room/a.py": code})["requirements"]
    assert row["status"] == status
    assert bool(row["places"]) == (status != "missing")


def test_one_place_that_works_is_enough_and_every_place_is_told(tmp_path: Path) -> None:
    files = {"a.py": FUNCTION + "    pass\n", "b.py": FUNCTION + "    return 1\n"}
    [row] = traced(tmp_path, files)["requirements"]
    assert (row["status"], row["places"]) == ("implemented", ["a.py:wait", "b.py:wait"])


def test_tests_are_told_and_are_no_implementation(tmp_path: Path) -> None:
    code = 'def test_r1_waits():\n    assert True\n\n\ndef test_more():\n    """R1 again."""\n    assert True\n'
    [row] = traced(tmp_path, {"tests/test_a.py": code})["requirements"]
    assert (row["status"], row["places"]) == ("missing", [])
    assert row["tests"] == ["tests/test_a.py:test_r1_waits", "tests/test_a.py:test_more"]


def test_a_planned_file_that_is_not_there_implements_nothing(tmp_path: Path) -> None:
    plan = {"requirements": [{"id": "R1", "text": "a"}], "file_structure": [{"path": "gone.py"}]}
    assert trace(Workspace(str(tmp_path)), plan)["requirements"][0]["status"] == "missing"


def test_the_report_counts_what_is_open(tmp_path: Path) -> None:
    made = traced(tmp_path, {"a.py": FUNCTION + "    pass\n\n\nX = 1  # R2\n"}, ("R1", "R2", "R3"))
    counts = requirement_counts(made)
    assert (counts["total"], counts["implemented"], counts["stubbed"]) == (3, 1, 1)
    assert [(row["id"], row["status"]) for row in counts["missing"]] == [("R1", "stubbed"), ("R3", "missing")]
