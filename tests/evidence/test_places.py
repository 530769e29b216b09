"""Which code cites a requirement, and whether it is a stub: read from the syntax tree."""

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


def traced(folder: Path, files: dict[str, str], identifiers: tuple[str, ...] = ("R1",)) -> dict[str, Any]:
    workspace = Workspace(str(folder))
    for path, text in files.items():
        workspace.write(path, text)
    plan = {
        "requirements": [{"id": name, "kind": "algorithm", "text": f"text of {name}"} for name in identifiers],
        "file_structure": [{"path": path} for path in files],
    }
    return trace_requirements(workspace, plan)


CODE = [
    pytest.param(FUNCTION + "    return room + 1\n", "located", id="a function that works"),
    pytest.param(FUNCTION, "stubbed", id="a docstring and nothing else"),
    pytest.param(FUNCTION + "    pass\n", "stubbed", id="pass"),
    pytest.param(FUNCTION + "    ...\n", "stubbed", id="an ellipsis"),
    pytest.param(FUNCTION + "    raise NotImplementedError\n", "stubbed", id="NotImplementedError"),
    pytest.param(FUNCTION + "    raise NotImplementedError('R1')\n", "stubbed", id="NotImplementedError with words"),
    pytest.param(FUNCTION + "    raise ValueError(room)\n", "located", id="another error"),
    pytest.param("async " + FUNCTION + "    pass\n", "stubbed", id="a coroutine that does nothing"),
    pytest.param('class Room:\n    """R1."""\n', "stubbed", id="an empty class"),
    pytest.param('class Room:\n    """R1."""\n    size = 3\n', "located", id="a class of values"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        raise NotImplementedError\n', "stubbed",
                 id="a class of stubs"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        return 1\n', "located",
                 id="a class with a method that works"),
    pytest.param('class Room:\n    def a(self):\n        """R1."""\n        return 1\n', "located", id="a method"),
    pytest.param("RATE = 0.1  # R1 (hyperparameter), page 3\n", "located", id="a value"),
    pytest.param("RATE: float = 0.1  # R1\n", "located", id="a value with its type"),
    pytest.param('def wait():\n    """R12 and R10."""\n    return 1\n', "unlocated", id="other requirements"),
    pytest.param("# R1 is done, I promise\n\nX = 'R1'\n", "unlocated", id="a promise in a comment"),
    pytest.param("# R1, page 3\nRATE = 0.1\n", "located", id="a comment right above a value"),
    pytest.param("# R1, page 3\n# in words\n@fast\ndef wait():\n    return 1\n", "located", id="above a decorator"),
    pytest.param('X = """\n# R1"""\nY = 1\n', "unlocated", id="a text that looks like a comment"),
    pytest.param("x = 1; y = '# R1'\n", "unlocated", id="a text behind a value"),
    pytest.param("x = '# R1'\n", "unlocated", id="a text as a value"),
    pytest.param("RATE = None  # R1\n", "located", id="a value that is none"),
    pytest.param("RATE: float  # R1\n", "located", id="a value that is not given"),
    pytest.param("class Room:\n    rate: float  # R1\n", "located", id="a field"),
    pytest.param("class Room:\n    rate = 0.1  # R1\n", "located", id="a class attribute"),
    pytest.param("class Room:\n    class Bed:\n        # R1\n        def a(self):\n            return 1\n", "located",
                 id="a method of a class in a class"),
    pytest.param("if True:\n    def wait():\n        '''R1.'''\n        return 1\n", "located", id="under a condition"),
    pytest.param("try:\n    import a\nexcept ImportError:\n    def wait():\n        '''R1.'''\n        return 1\n",
                 "located", id="in a handler"),
    pytest.param("def outer():\n    def wait():\n        '''R1.'''\n        pass\n    return wait\n", "stubbed",
                 id="a function in a function"),
    pytest.param(FUNCTION + "    return None\n", "stubbed", id="return None alone"),
    pytest.param(FUNCTION + "    return\n", "stubbed", id="return alone"),
    pytest.param(FUNCTION + "    # TODO\n    pass\n", "stubbed", id="a thing to do"),
    pytest.param(FUNCTION + "    import os\n    raise NotImplementedError\n", "stubbed", id="an import before the error"),
    pytest.param(FUNCTION + "    room = 1\n    raise NotImplementedError\n", "stubbed", id="work before the error"),
    pytest.param(FUNCTION + "    if room:\n        return 1\n    raise NotImplementedError\n", "located",
                 id="the error in the last case alone"),
    pytest.param(FUNCTION + "    if room:\n        raise NotImplementedError\n    return 2\n", "located",
                 id="the error in one case alone"),
    pytest.param(FUNCTION + "    return 0\n", "located", id="a constant, which is at most a doubt"),
    pytest.param(FUNCTION + "    return room\n", "located", id="what came in goes out"),
    pytest.param('class Room:\n    """R1."""\n    def __init__(self):\n        self.a = 1\n    def a(self):\n        pass\n',
                 "stubbed", id="a class that is only set up"),
    pytest.param('class Room:\n    """R1."""\n    def __init__(self):\n        self.a = 1\n', "located",
                 id="a class that holds values"),
    pytest.param("x = 1\r\n# R1\r\ndef wait():\r\n    return 1\r\n", "located", id="lines of another system"),
    pytest.param("if a:\n    b = 1\n" + "elif a:\n    b = 1\n" * 80 + "c = 1  # R1\n", "located", id="a long chain"),
    pytest.param("if a:\n    b = 1\n" + "elif a:\n    b = 1\n" * 28_000, "unlocated", id="a chain without end"),
    pytest.param("def wait(:\n", "unlocated", id="a file that does not parse"),
    pytest.param("", "unlocated", id="an empty file"),
]  # fmt: skip
STUB = 'def wait(room):\n    """R1."""\n    raise NotImplementedError\n\n\n'
WORKS = 'def leave(room):\n    """R1."""\n    return room + 1\n\n\n'
CODE += [
    pytest.param("SIZE = 3  # R1\n" + STUB, "stubbed", id="a value beside a stub"),
    pytest.param("SIZE = None  # R1\n" + WORKS, "located", id="no value beside what works"),
    pytest.param(WORKS + STUB, "stubbed", id="a stub beside what works"),
    pytest.param("class Room:\n    # R1\n    def a(self):\n        return 1\n    # R1\n    def b(self):\n        pass\n",
                 "stubbed", id="a method that works and one that does not"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        return 1\n    # R1\n    def b(self):\n        pass\n',
                 "stubbed", id="a class that works with a method of its own that does not"),
    pytest.param('class Room:\n    """R1."""\n    def a(self):\n        return 1\n    def b(self):\n        pass\n',
                 "located", id="a class that works, and a method that cites nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "status"), CODE)
def test_code_that_cites_a_requirement_locates_it_and_a_stub_leaves_it_open(
    code: str, status: str, tmp_path: Path
) -> None:
    [row] = traced(tmp_path, {"room/a.py": code})["requirements"]
    assert row["status"] == status
    assert bool(row["places"]) == (status != "unlocated")


def test_every_place_is_told_and_a_stub_in_another_file_counts(tmp_path: Path) -> None:
    files = {"a.py": FUNCTION + "    pass\n", "b.py": FUNCTION + "    return room + 1\n"}
    [row] = traced(tmp_path, files)["requirements"]
    assert (row["status"], row["places"]) == ("stubbed", ["a.py:wait", "b.py:wait"])


def test_a_file_over_the_limit_implements_nothing(tmp_path: Path) -> None:
    code = FUNCTION + "    return room + 1\n"
    assert traced(tmp_path, {"a.py": code})["requirements"][0]["status"] == "located"
    [row] = traced(tmp_path, {"a.py": code + "#" * LARGEST_PYTHON})["requirements"]
    assert (row["status"], row["places"]) == ("unlocated", [])


BASE = 'class Base:\n    def score(self, x):\n        """R1: the score."""\n        raise NotImplementedError\n'
SUB = "\n\nclass Dot(Base):\n    def score(self, x):\n        return 2 * x\n"
GENERIC = "class Outer:\n    class Dot(Base[int]):\n        def score(self, x):\n            return 2 * x\n"
OVERRIDES = [
    pytest.param({"a.py": BASE + SUB}, ["a.py:Dot.score"], id="in the same file"),
    pytest.param({"a.py": BASE, "b.py": GENERIC}, ["b.py:Outer.Dot.score"], id="in another file"),
    pytest.param({"a.py": BASE.replace("Base:", "Base(ABC):").replace(
        "    def", "    @abstractmethod\n    def"), "b.py": SUB}, ["b.py:Dot.score"], id="of an abstract method"),
    pytest.param({"a.py": 'class Base:\n    """R1."""\n    def score(self, x):\n        ...\n' + SUB}, ["a.py:Dot.score"],
                 id="of a class"),
    pytest.param({"a.py": BASE + SUB.replace("return 2 * x", "pass")}, [], id="that are stubs themselves"),
    pytest.param({"a.py": BASE + "\n\nclass Dot(Base):\n    rate = 0.9\n"}, [], id="that define nothing"),
    pytest.param({"a.py": BASE + SUB.replace("score", "rate")}, [], id="of another method"),
    pytest.param({"a.py": BASE, "tests/test_a.py": SUB}, [], id="in a test"),
    pytest.param({"a.py": BASE + SUB.replace("(Base)", "")}, [], id="in a class that derives from nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "places"), OVERRIDES)
def test_a_method_that_subclasses_define_is_located_there_and_is_no_stub(
    files: dict[str, str], places: list[str], tmp_path: Path
) -> None:
    [row] = traced(tmp_path, files)["requirements"]
    status, own = ("located", row["places"][1:]) if places else ("stubbed", [])
    assert (row["status"], own) == (status, places)


@pytest.mark.parametrize(
    ("path", "places"), [("more.py", ["more.py:wait"]), ("deep/er/more.py", ["deep/er/more.py:wait"]), (".hidden/more.py", [])]
)  # fmt: skip
def test_a_file_that_was_not_planned_is_looked_at_too(path: str, places: list[str], tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    workspace.write(path, FUNCTION + "    return room + 1\n")
    plan = {"requirements": [{"id": "R1", "text": "a"}], "file_structure": [{"path": "gone.py", "implements": ["R1"]}]}
    [row] = trace_requirements(workspace, plan)["requirements"]
    assert (row["places"], row["status"]) == (places, "located" if places else "unlocated")


def test_a_place_knows_its_lines() -> None:
    code = "import os\n\n# R1\n@fast\ndef wait(\n    room,\n):\n    return 1\n\nRATE = (\n    1\n)  # R2\n"
    places = find_places("a.py", code, {"R1", "R2"})
    assert [(place.name, place.first, place.last) for place in places] == [("a.py:wait", 4, 8), ("a.py:RATE", 10, 12)]


VALUES = [
    pytest.param("RATE = 0.1  # R1", 0.1, "", id="the same"),
    pytest.param("RATE = 1e-1  # R1", "0.1", "", id="the same in another spelling"),
    pytest.param("RATE = 0.01  # R1", 0.1, "the plan says 0.1, a.py:RATE is 0.01", id="another number"),
    pytest.param("RATE = -1  # R1", 1, "the plan says 1, a.py:RATE is -1", id="another sign"),
    pytest.param("RATE = 0.1  # R1\nSIZE = 7  # R1", 0.1, "", id="one of two values"),
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
    places = find_places("a.py", code + "\n", {"R1"})
    assert value_difference({"id": "R1", "value": value}, places) == words
    assert value_difference({"id": "R1"}, places) == ""


@given(st.text("R1#'\"\\\n\r :=()defclasx@é", max_size=60))
@QUICK
def test_no_source_surprises_the_trace(source: str) -> None:
    assert all(place.identifier == "R1" for place in find_places("a.py", source, {"R1"}))
    assert find_places("tests/test_a.py", source, {"R1"}) == []


def test_the_report_counts_what_is_open(tmp_path: Path) -> None:
    made = traced(tmp_path, {"a.py": FUNCTION + "    pass\n\n\nX = 1  # R2\n"}, ("R1", "R2", "R3"))
    counts = requirement_counts(made)
    levels = ("total", "unlocated", "stubbed", "located", "run", "guarded")
    assert [counts[level] for level in levels] == [3, 1, 1, 1, 0, 0]
    assert [(row["id"], row["status"]) for row in counts["open"]] == [("R1", "stubbed"), ("R3", "unlocated")]
