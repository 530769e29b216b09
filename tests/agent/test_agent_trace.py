"""Which requirement is a stub, named or missing: read from the syntax tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.agent.reports import requirement_counts
from phases.evidence.places import find_places
from phases.evidence.traceability import trace_requirements
from phases.evidence.values import value_difference
from phases.workspace.syntax import LARGEST_PYTHON
from phases.workspace.workspace import Workspace
from tests.strategies import QUICK

FUNCTION = 'def wait(room):\n    """R1: waits."""\n'


def traced(
    folder: Path, files: dict[str, str], identifiers: tuple[str, ...] = ("R1",), kind: str = "algorithm"
) -> dict[str, Any]:
    workspace = Workspace(str(folder))
    for path, text in files.items():
        workspace.write(path, text)
    plan = {
        "requirements": [{"id": name, "kind": kind, "text": f"text of {name}"} for name in identifiers],
        "file_structure": [{"path": path} for path in files],
    }
    return trace_requirements(workspace, plan)


CODE = [
    pytest.param(FUNCTION + "    return room + 1\n", "named", id="a function that works"),
    pytest.param(FUNCTION, "stubbed", id="a docstring and nothing else"),
    pytest.param(FUNCTION + "    pass\n", "stubbed", id="pass"),
    pytest.param(FUNCTION + "    ...\n", "stubbed", id="an ellipsis"),
    pytest.param(FUNCTION + "    raise NotImplementedError\n", "stubbed", id="NotImplementedError"),
    pytest.param(FUNCTION + "    raise NotImplementedError('R1')\n", "stubbed", id="NotImplementedError with words"),
    pytest.param(FUNCTION + "    raise ValueError(room)\n", "named", id="another error"),
    pytest.param("async " + FUNCTION + "    pass\n", "stubbed", id="a coroutine that does nothing"),
    pytest.param('class Room:\n    """R1."""\n', "stubbed", id="an empty class"),
    pytest.param('class Room:\n    """R1."""\n    size = 3\n', "named", id="a class of values"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        raise NotImplementedError\n', "stubbed",
                 id="a class of stubs"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        return 1\n', "named",
                 id="a class with a method that works"),
    pytest.param('class Room:\n    def a(self):\n        """R1."""\n        return 1\n', "named", id="a method"),
    pytest.param("RATE = 0.1  # R1 (hyperparameter), page 3\n", "named", id="a value"),
    pytest.param("RATE: float = 0.1  # R1\n", "named", id="a value with its type"),
    pytest.param('def wait():\n    """R12 and R10."""\n    return 1\n', "missing", id="other requirements"),
    pytest.param("# R1 is done, I promise\n\nX = 'R1'\n", "missing", id="a promise in a comment"),
    pytest.param("# R1, page 3\nRATE = 0.1\n", "named", id="a comment right above a value"),
    pytest.param("# R1, page 3\n# in words\n@fast\ndef wait():\n    return 1\n", "named", id="above a decorator"),
    pytest.param('X = """\n# R1"""\nY = 1\n', "missing", id="a text that looks like a comment"),
    pytest.param("x = 1; y = '# R1'\n", "missing", id="a text behind a value"),
    pytest.param("x = '# R1'\n", "missing", id="a text as a value"),
    pytest.param("RATE = None  # R1\n", "stubbed", id="a value that is none"),
    pytest.param("RATE = ...  # R1\n", "stubbed", id="a value that is an ellipsis"),
    pytest.param("RATE: float  # R1\n", "stubbed", id="a value that is not given"),
    pytest.param("class Room:\n    rate: float  # R1\n", "named", id="a field"),
    pytest.param("class Room:\n    rate = 0.1  # R1\n", "named", id="a class attribute"),
    pytest.param("class Room:\n    class Bed:\n        # R1\n        def a(self):\n            return 1\n", "named",
                 id="a method of a class in a class"),
    pytest.param("if True:\n    def wait():\n        '''R1.'''\n        return 1\n", "named", id="under a condition"),
    pytest.param("try:\n    import a\nexcept ImportError:\n    def wait():\n        '''R1.'''\n        return 1\n",
                 "named", id="in a handler"),
    pytest.param("def outer():\n    def wait():\n        '''R1.'''\n        pass\n    return wait\n", "stubbed",
                 id="a function in a function"),
    pytest.param(FUNCTION + "    return None\n", "stubbed", id="return None alone"),
    pytest.param(FUNCTION + "    return\n", "stubbed", id="return alone"),
    pytest.param(FUNCTION + "    # TODO\n    pass\n", "stubbed", id="a thing to do"),
    pytest.param(FUNCTION + "    import os\n    raise NotImplementedError\n", "stubbed", id="an import before the error"),
    pytest.param(FUNCTION + "    room = 1\n    raise NotImplementedError\n", "stubbed", id="work before the error"),
    pytest.param(FUNCTION + "    if room:\n        raise NotImplementedError\n    return 2\n", "named",
                 id="the error in one case alone"),
    pytest.param(FUNCTION + "    return 0\n", "stubbed", id="a constant, whatever comes in"),
    pytest.param(FUNCTION + "    return room\n", "stubbed", id="what came in goes out"),
    pytest.param('class Room:\n    """R1."""\n    def __init__(self):\n        self.a = 1\n    def a(self):\n        pass\n',
                 "stubbed", id="a class that is only set up"),
    pytest.param('class Room:\n    """R1."""\n    def __init__(self):\n        self.a = 1\n', "named",
                 id="a class that holds values"),
    pytest.param("x = 1\r\n# R1\r\ndef wait():\r\n    return 1\r\n", "named", id="lines of another system"),
    pytest.param("if a:\n    b = 1\n" + "elif a:\n    b = 1\n" * 80 + "c = 1  # R1\n", "named", id="a long chain"),
    pytest.param("if a:\n    b = 1\n" + "elif a:\n    b = 1\n" * 28_000, "missing", id="a chain without end"),
    pytest.param("def wait(:\n", "missing", id="a file that does not parse"),
    pytest.param("", "missing", id="an empty file"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "status"), CODE)
def test_the_status_of_a_requirement_is_what_its_code_does(code: str, status: str, tmp_path: Path) -> None:
    [row] = traced(tmp_path, {"room/a.py": code})["requirements"]
    assert row["status"] == status
    assert bool(row["places"]) == (status != "missing")


STUB = 'def wait(room):\n    """R1."""\n    raise NotImplementedError\n\n\n'
WORKS = 'def leave(room):\n    """R1."""\n    return room + 1\n\n\n'
BESIDE = [
    pytest.param("SIZE = 3  # R1\n" + STUB, "stubbed", "named", id="a value beside a stub"),
    pytest.param("SIZE = 3  # R1\n" + WORKS, "named", "named", id="a value beside what works"),
    pytest.param("SIZE = None  # R1\n" + WORKS, "named", "named", id="no value beside what works"),
    pytest.param("SIZE: int  # R1\n" + STUB, "stubbed", "stubbed", id="no value beside a stub"),
    pytest.param("SIZE = 3  # R1\n", "named", "named", id="a value alone"),
    pytest.param("SIZE = 3  # R1\nMORE = None  # R1\n", "named", "named", id="one of two values"),
    pytest.param(WORKS + STUB, "stubbed", "named", id="a stub beside what works"),
    pytest.param("class Room:\n    # R1\n    def a(self):\n        return 1\n    # R1\n    def b(self):\n        pass\n",
                 "stubbed", "named", id="a method that works and one that does not"),
    pytest.param("class Room:\n    # R1\n    size = 3\n    # R1\n    def b(self):\n        pass\n",
                 "stubbed", "named", id="a class attribute beside a method that does not"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        return 1\n    # R1\n    def b(self):\n        pass\n',
                 "stubbed", "stubbed", id="a class that works with a method of its own that does not"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        return 1\n    def b(self):\n        pass\n',
                 "named", "named", id="a class that works, and a method that names nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "status", "of_hyperparameter"), BESIDE)
def test_a_stub_leaves_a_requirement_open_whatever_stands_beside_it_and_a_value_is_enough_for_a_hyperparameter(
    code: str, status: str, of_hyperparameter: str, tmp_path: Path
) -> None:
    assert traced(tmp_path, {"a.py": code}, kind="algorithm")["requirements"][0]["status"] == status
    assert traced(tmp_path, {"a.py": code}, kind="hyperparameter")["requirements"][0]["status"] == of_hyperparameter


def test_every_place_is_told_and_a_stub_in_another_file_counts(tmp_path: Path) -> None:
    files = {"a.py": FUNCTION + "    pass\n", "b.py": FUNCTION + "    return room + 1\n"}
    [row] = traced(tmp_path, files)["requirements"]
    assert (row["status"], row["places"]) == ("stubbed", ["a.py:wait", "b.py:wait"])


def test_a_file_over_the_limit_implements_nothing(tmp_path: Path) -> None:
    code = FUNCTION + "    return room + 1\n"
    assert traced(tmp_path, {"a.py": code})["requirements"][0]["status"] == "named"
    [row] = traced(tmp_path, {"a.py": code + "#" * LARGEST_PYTHON})["requirements"]
    assert (row["status"], row["places"]) == ("missing", [])


TESTS = [
    pytest.param("def test_r1_waits():\n    assert wait() == 1\n", ["test_r1_waits"], id="its name names it"),
    pytest.param('def test_a():\n    """R1."""\n    assert wait() == 1\n', ["test_a"], id="its docstring names it"),
    pytest.param("# R1\ndef test_a():\n    assert wait() == 1\n", ["test_a"], id="a comment above it names it"),
    pytest.param("async def test_r1():\n    assert await wait() == 1\n", ["test_r1"], id="a coroutine"),
    pytest.param("class A(TestCase):\n    def test_r1(self):\n        self.assertEqual(wait(), 1)\n", ["A.test_r1"],
                 id="a method that asserts"),
    pytest.param("def test_r1():\n    with pytest.raises(ValueError):\n        wait()\n", ["test_r1"], id="an error is expected"),
    pytest.param("def test_r1():\n    np.testing.assert_allclose(a, b)\n", ["test_r1"], id="a library asserts"),
    pytest.param("def test_r1():\n    if wait() != 1:\n        raise AssertionError\n", ["test_r1"], id="it raises"),
    pytest.param("def test_r1():\n    wait()\n", ["test_r1"], id="it asserts nothing"),
    pytest.param("def test_r1():\n    assert True\n", ["test_r1"], id="it asserts what is always true"),
    pytest.param("@pytest.mark.skip\ndef test_r1():\n    assert wait() == 1\n", ["test_r1"], id="it is skipped"),
    pytest.param("@unittest.skip('later')\ndef test_r1():\n    assert wait() == 1\n", ["test_r1"], id="skipped by unittest"),
    pytest.param("def check_r1():\n    assert wait() == 1\n", [], id="it is no test"),
    pytest.param("def test_r12():\n    assert wait() == 1\n", [], id="it is of another requirement"),
    pytest.param("RATE = 1  # R1\n", [], id="a value in a file of tests"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "names"), TESTS)
@pytest.mark.parametrize("path", ["tests/test_a.py", "room/a_test.py"])
def test_a_test_that_names_a_requirement_is_listed_and_is_no_implementation(
    path: str, code: str, names: list[str], tmp_path: Path
) -> None:
    [row] = traced(tmp_path, {path: code})["requirements"]
    assert (row["status"], row["places"]) == ("missing", [])
    assert row["tests"] == [f"{path}:{name}" for name in names]


def test_a_file_that_was_not_planned_is_looked_at_too(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    workspace.write("more.py", FUNCTION + "    return room + 1\n")
    plan = {"requirements": [{"id": "R1", "text": "a"}], "file_structure": [{"path": "gone.py"}]}
    assert trace_requirements(workspace, plan)["requirements"][0]["places"] == ["more.py:wait"]


def test_a_place_knows_its_lines(tmp_path: Path) -> None:
    code = "import os\n\n# R1\n@fast\ndef wait(\n    room,\n):\n    return 1\n\nRATE = (\n    1\n)  # R2\n"
    places = find_places("a.py", code, {"R1", "R2"})
    assert [(place.name, place.first, place.last) for place in places] == [("a.py:wait", 4, 8), ("a.py:RATE", 10, 12)]


VALUES = [
    pytest.param("RATE = 0.1  # R1", 0.1, "", id="the same"),
    pytest.param("RATE = 1e-1  # R1", "0.1", "", id="the same in another spelling"),
    pytest.param("RATE = 0.01  # R1", 0.1, "the plan says 0.1, a.py:RATE is 0.01", id="another number"),
    pytest.param("RATE = -1  # R1", 1, "the plan says 1, a.py:RATE is -1", id="another sign"),
    pytest.param("NAME = 'sgd'  # R1", "SGD", "", id="the same name"),
    pytest.param("NAME = 'adam'  # R1", "sgd", "the plan says 'sgd', a.py:NAME is 'adam'", id="another name"),
    pytest.param("RATE = 0.1  # R1\nSIZE = 7  # R1", 0.1, "", id="one of two values"),
    pytest.param("RATE = 10 ** -3  # R1", 0.001, "", id="the same as a power"),
    pytest.param("SIZE = 2**19  # R1", "2^19", "", id="the same as the paper prints it"),
    pytest.param("SIZE = 2**18  # R1", "2^19", "the plan says '2^19', a.py:SIZE is 262144", id="another power"),
    pytest.param("RATE = 0.5  # R1", "1/2", "", id="a fraction"),
    pytest.param("SHARE = 0.8  # R1", "80/20", "", id="a split is no quotient"),
    pytest.param("SHARE = 0.9  # R1", "09/10", "", id="no number of Python begins with 0"),
    pytest.param("SIZE = 8 * 1024  # R1", 8192, "", id="a product"),
    pytest.param("SIZE = 9**9**9**9  # R1", 1, "", id="what is too large to compute is not judged"),
    pytest.param("SIZE = ROOMS * 2  # R1", 1, "", id="what is computed of names is not judged"),
    pytest.param("RATE = 1 / 0  # R1", 1, "", id="what cannot be computed is not judged"),
    pytest.param("RATE = 0.1  # R1", "a tenth", "", id="what is in words is not judged"),
    pytest.param("RATE = None  # R1", 0.1, "", id="nothing is no other value"),
    pytest.param("RATE = 1" + "+1" * 9000 + "  # R1", 1, "", id="what is nested too deeply is not judged"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "value", "words"), VALUES)
def test_a_constant_is_compared_with_the_value_of_the_plan(code: str, value: object, words: str) -> None:
    requirement = {"id": "R1", "kind": "hyperparameter", "value": value}
    assert value_difference(requirement, find_places("a.py", code + "\n", {"R1"})) == words
    assert value_difference({**requirement, "kind": "metric"}, find_places("a.py", code + "\n", {"R1"})) == ""


@given(st.text("R1#'\"\\\n\r :=()defclasx@é", max_size=60))
@QUICK
def test_no_source_surprises_the_trace(source: str) -> None:
    assert all(place.identifier == "R1" for place in find_places("a.py", source, {"R1"}))
    assert all(place.is_test for place in find_places("tests/test_a.py", source, {"R1"}))


def test_a_planned_file_that_is_not_there_implements_nothing(tmp_path: Path) -> None:
    plan = {"requirements": [{"id": "R1", "text": "a"}], "file_structure": [{"path": "gone.py"}]}
    assert trace_requirements(Workspace(str(tmp_path)), plan)["requirements"][0]["status"] == "missing"


def test_the_report_counts_what_is_open(tmp_path: Path) -> None:
    made = traced(tmp_path, {"a.py": FUNCTION + "    pass\n\n\nX = 1  # R2\n"}, ("R1", "R2", "R3"))
    counts = requirement_counts(made)
    assert (counts["total"], counts["implemented"], counts["stubbed"]) == (3, 0, 1)
    assert counts["rungs"] == {
        "missing": 1,
        "named": 1,
        "stubbed": 1,
        "executed": 0,
        "tested": 0,
        "guarded": 0,
        "differs": 0,
    }
    assert [(row["id"], row["status"]) for row in counts["missing"]] == [
        ("R1", "stubbed"),
        ("R2", "named"),
        ("R3", "missing"),
    ]
