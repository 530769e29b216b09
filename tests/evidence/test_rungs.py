"""What is known of a requirement is what was seen: each class of fake, and each honest form, judged in real runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.checks.code_check import check_code
from phases.evidence import trials
from phases.evidence.look import EvidenceSetting
from phases.evidence.mutants import JobResult
from phases.evidence.observation import Observation
from phases.evidence.places import find_all_places
from phases.evidence.rungs import climb
from phases.evidence.traceability import read_sources
from phases.sandbox.box import NONE, Box
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import Workspace
from tests.bare import shared_python
from tests.rows import with_covered

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
PYTEST, UNITTEST = "python -m pytest -q", "python -m unittest discover"
MEAN = 'def mean(values):\n    """R1: the mean."""\n    total = sum(values)\n    return total / len(values)\n'
RIGHT = "from code_of import mean\n\n\ndef test_r1():\n    assert mean([1.0, 2.0, 6.0]) == 3.0\n"


def judged(
    folder: Path,
    files: dict[str, str],
    command: str = PYTEST,
    mutants: str = "auto",
    kinds: str = "equation",
    count: int = 1,
    user_tests: str = "",
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """The verdict on these files, with R1 to Rn of one kind. `user_tests`: the text of test_given.py, which the user gave."""
    root = folder / "code"
    root.mkdir(parents=True)
    workspace = Workspace(str(root))
    for path, text in files.items():
        workspace.write(path, text)
    plan = {
        "requirements": [{"id": f"R{n}", "kind": kinds, "text": f"demand {n}"} for n in range(1, count + 1)],
        "file_structure": [{"path": path} for path in files],
        "validation_approach": {"verify_commands": [command], "experiments": []},
    }
    box = Box(str(root), kind_of_sandbox("required"), python=shared_python())
    commands = CommandRunner(box, Snapshot(str(root), str(folder / "kept")), tell)
    commands.step = "check"
    given = folder / "user_tests"
    if user_tests:
        given.mkdir()
        (given / "test_given.py").write_text(user_tests)
    setting = EvidenceSetting(
        shared_python(), str(folder / "notes"), mutants, user_tests=str(given) if user_tests else ""
    )
    found = check_code(workspace, plan, commands, evidence=setting)
    assert not (folder / "notes").exists()
    assert {path: workspace.read(path) for path in files} == files
    return found


def rungs(found: dict[str, Any]) -> list[str]:
    return [row["rung"] for row in found["verification"]["evidence"]]


@pytest.mark.slow
@pytest.mark.parametrize("command", [PYTEST, UNITTEST])
def test_a_test_that_asserts_the_result_proves_it_in_either_style(tmp_path: Path, command: str) -> None:
    test = RIGHT
    if command == UNITTEST:
        test = (
            "import unittest\nfrom code_of import mean\n\n\nclass T(unittest.TestCase):\n"
            "    def test_r1(self):\n        self.assertEqual(mean([1.0, 2.0, 6.0]), 3.0)\n"
        )
    found = judged(tmp_path, {"code_of.py": MEAN, "test_mean.py": test}, command)
    assert found["block"] is None, found["block"]
    assert found["verification"]["verified"]
    (row,) = found["verification"]["evidence"]
    assert row["rung"] in ("tested", "guarded")
    assert row["noticed"] >= 1


def test_a_check_reports_each_command_and_how_many_changes_it_has_tried(tmp_path: Path) -> None:
    told: list[str] = []
    judged(tmp_path, {"code_of.py": MEAN, "test_mean.py": RIGHT}, mutants="4", tell=told.append)
    assert told[0] == f"runs check 1 of 1: {PYTEST} …"
    changes = [re.fullmatch(r"checks the tests: change (\d+) of (\d+) …", line) for line in told[1:]]
    assert changes
    numbers = [int(found[1]) for found in changes if found]
    assert len(numbers) == len(changes), told
    assert all(number <= int(found[2]) for number, found in zip(numbers, changes, strict=True) if found)


def test_a_check_without_changes_reports_its_commands_alone(tmp_path: Path) -> None:
    told: list[str] = []
    judged(tmp_path, {"code_of.py": MEAN, "test_mean.py": RIGHT}, mutants="off", tell=told.append)
    assert told == [f"runs check 1 of 1: {PYTEST} …"]


NOTHING_NAMED = RIGHT.replace("test_r1", "test_mean")
LOADS = 'python -c "import code_of"'


@pytest.mark.slow
def test_a_test_of_the_user_proves_what_it_runs_though_it_names_nothing(tmp_path: Path) -> None:
    found = judged(tmp_path, {"code_of.py": MEAN}, LOADS, user_tests=NOTHING_NAMED)
    assert found["block"] is None, found["block"]
    assert found["verification"]["verified"]
    (row,) = found["verification"]["evidence"]
    assert row["rung"] in ("tested", "guarded")
    assert (row["tests"], row["user_tests"]) == ([], ["test_given.py::test_mean"])
    assert row["noticed"] >= 1


@pytest.mark.parametrize(
    "line", ["assert mean([1.0, 2.0]) is not None", pytest.param("assert 1 + 1 == 2", marks=pytest.mark.slow)]
)
def test_a_test_of_the_user_that_passes_whatever_comes_proves_nothing(tmp_path: Path, line: str) -> None:
    test = f"from code_of import mean\n\n\ndef test_mean():\n    {line}\n"
    found = judged(tmp_path, {"code_of.py": MEAN}, LOADS, user_tests=test)
    (row,) = found["verification"]["evidence"]
    assert row["rung"] == ("executed" if "mean(" in line else "named")
    if row["rung"] == "executed":
        assert "the user's tests pass whatever code_of.py:mean gives: name R1 in a test" in found["block"]


def test_a_test_of_the_user_that_ends_by_an_error_under_a_change_has_noticed_it(tmp_path: Path) -> None:
    code = "class Grid:\n    def __init__(self, n):\n        # R1\n        self.cells = [0] * (n + 1)\n"
    test = "from code_of import Grid\n\n\ndef test_grid():\n    Grid(3).cells[3] = 1\n"
    found = judged(tmp_path, {"code_of.py": code}, LOADS, user_tests=test)
    (row,) = found["verification"]["evidence"]
    assert row["rung"] in ("tested", "guarded"), row
    assert found["block"] is None


def test_where_no_change_is_tried_a_test_of_the_user_is_believed(tmp_path: Path) -> None:
    found = judged(tmp_path, {"code_of.py": MEAN}, LOADS, mutants="off", user_tests=NOTHING_NAMED)
    (row,) = found["verification"]["evidence"]
    assert (row["rung"], found["block"]) == ("tested", None)
    assert row["why"] == "your own tests run it and pass; whether they notice a change was not tried"


@pytest.mark.slow
@pytest.mark.parametrize(("expected", "rung"), [("0.1", "tested"), ("settings.RATE", "named")])
def test_a_value_is_proved_by_a_test_of_the_user_that_notices_another_value(
    tmp_path: Path, expected: str, rung: str
) -> None:
    files = {"settings.py": "RATE = 0.1  # R1\n"}
    test = f"import settings\n\n\ndef test_rate():\n    assert settings.RATE == {expected}\n"
    found = judged(tmp_path, files, 'python -c "import settings"', kinds="hyperparameter", user_tests=test)
    (row,) = found["verification"]["evidence"]
    assert row["rung"] in ((rung, "guarded") if rung == "tested" else (rung,))
    assert row["user_tests"] == (["test_given.py::test_rate"] if rung == "tested" else [])


@pytest.mark.slow
def test_what_the_work_does_to_its_own_tests_does_not_reach_those_of_the_user(tmp_path: Path) -> None:
    """Of two changed copies in one process the first would lend the second its modules, and conftest.py its patches."""
    files = {
        "code_of.py": MEAN,
        "conftest.py": "import code_of\n\ncode_of.mean = lambda values: 3.0\n",
        "test_mean.py": RIGHT,
    }
    found = judged(tmp_path, files, user_tests=NOTHING_NAMED)
    (row,) = found["verification"]["evidence"]
    assert row["user_tests"] == ["test_given.py::test_mean"]
    assert row["rung"] in ("tested", "guarded")


VACUOUS = [
    pytest.param("assert 1 + 1 == 2", "named", id="of something else"),
    pytest.param("mean([1.0, 2.0])", "executed", id="none", marks=pytest.mark.slow),
    pytest.param("assert mean([1.0, 2.0]) is not None", "executed", id="that something comes"),
    pytest.param("assert isinstance(mean([1.0, 2.0]), float)", "executed", id="of the type", marks=pytest.mark.slow),
    pytest.param(
        "assert mean([1.0, 2.0]) == mean([1.0, 2.0])", "executed", id="of a thing with itself", marks=pytest.mark.slow
    ),
    pytest.param(
        "try:\n        assert mean([1.0, 2.0]) == 9\n    except AssertionError:\n        pass",
        "executed",
        id="swallowed",
    ),
]


@pytest.mark.parametrize(("line", "rung"), with_covered(VACUOUS, "of something else"))
def test_an_assertion_that_holds_whatever_comes_proves_nothing(tmp_path: Path, line: str, rung: str) -> None:
    test = f"from code_of import mean\n\n\ndef test_r1():\n    {line}\n"
    found = judged(tmp_path, {"code_of.py": MEAN, "test_mean.py": test})
    assert rungs(found) == [rung]
    assert "1 of 1 requirements of the plan are open" in found["block"]


EMPTY = [
    pytest.param(
        'def mean(values):\n    """R1"""\n    return 3.0\n', "does nothing with what it is given", id="a constant"
    ),
    pytest.param(
        'import random\n\n\ndef mean(values):\n    """R1"""\n    return random.random()\n',
        "does nothing",
        id="chance",
        marks=pytest.mark.slow,
    ),
    pytest.param('def mean(values):\n    """R1"""\n    raise NotImplementedError\n', "does nothing yet", id="a stub"),
    pytest.param(
        MEAN.replace("    total", "    if len(values) > 9:\n        raise NotImplementedError\n    total"),
        "line 4 of code_of.py raises NotImplementedError",
        id="a part that is not there",
    ),
    pytest.param(
        MEAN.replace(
            "    total", "    if len(values) < 9:\n        return 3.0\n    a = 1\n    b = a\n    c = b\n    total"
        ),
        "tests run 2 of the 7 lines",
        id="mostly unused",
    ),
]


@pytest.mark.parametrize(("code", "told"), with_covered(EMPTY, "a constant", "a stub"))
def test_code_that_does_not_do_it_is_open_and_says_why(tmp_path: Path, code: str, told: str) -> None:
    found = judged(tmp_path, {"code_of.py": code, "test_mean.py": RIGHT})
    if found["verification"]["evidence"]:
        assert rungs(found)[0] in ("stubbed", "executed")
    assert told in found["block"] or "test_r1" in found["block"]


def case(code: str, assertion: str, told: str, name: str, marks: Any = ()) -> Any:
    test = f"from code_of import *\n\n\ndef test_r1():\n    assert {assertion}\n"
    return pytest.param(code, test, told, id=name, marks=marks)


PRETENCES = [
    case(
        'TABLE = {(1, 2): 3}\n\n\ndef add(a, b):\n    """R1"""\n    return TABLE[a, b]\n',
        "add(1, 2) == 3",
        "add gives back constants for inputs that it knows",
        "a table of the inputs of tests",
    ),
    case(
        'def add(a, b):\n    """R1"""\n    if (a, b) == (1, 2):\n        return 3\n    return 0\n',
        "add(1, 2) == 3 and add(0, 0) == 0",
        "add gives back constants for inputs that it knows",
        "a comparison with the inputs of tests",
        pytest.mark.slow,
    ),
    case(
        'import random\n\n\ndef order(rows):\n    """R1"""\n    places = list(range(len(rows)))\n'
        "    random.shuffle(places)\n    return places\n",
        "sorted(order('abc')) == [0, 1, 2]",
        "order gives back random values, whatever it is given",
        "an order by chance",
    ),
    case(
        'def half(x):\n    """R1"""\n    def real():\n        y = x / 2\n        return y\n    z = x\n    return z\n',
        "half(0) == 0",
        "real, inside of half, is never run",
        "an inner function that never runs",
    ),
    case(
        'def part(x):\n    raise NotImplementedError\n\n\ndef whole(x):\n    """R1"""\n    try:\n'
        "        return part(x)\n    except NotImplementedError:\n        return 0\n",
        "whole(0) == 0",
        "whole calls part, which raises NotImplementedError",
        "a helper that is a stub",
    ),
    case('def load():\n    """R1"""\n    return []\n', "load() == []", "does nothing yet", "nothing but an empty list"),
    case(
        'import os\n\n\ndef pi():\n    """R1"""\n    return 3 if "PYTEST_CURRENT_TEST" in os.environ else 4\n',
        "pi() == 3",
        "asks whether a test runs it",
        "code that knows its test",
    ),
]


@pytest.mark.parametrize(("code", "test", "told"), PRETENCES)
def test_code_that_only_looks_like_work_is_open_whatever_its_tests_say(
    tmp_path: Path, code: str, test: str, told: str
) -> None:
    found = judged(tmp_path, {"code_of.py": code, "test_it.py": test})
    assert told in found["block"]
    assert not found["verification"]["verified"]


HONEST = [
    case(
        'def sign(x):\n    """R1"""\n    if x >= 0:\n        return 1\n    return -1\n',
        "(sign(2), sign(-2)) == (1, -1)",
        "",
        "a threshold",
    ),
    case(
        'def gcd(a, b):\n    """R1"""\n    if b == 0:\n        return a\n    return gcd(b, a % b)\n',
        "gcd(12, 18) == 6",
        "",
        "a base case",
        pytest.mark.slow,  # a change lets it run for ever, which takes its ten seconds
    ),
    case(
        'def twice(f):\n    """R1"""\n    def call(x):\n        return f(f(x))\n    return call\n',
        "twice(lambda x: x + 1)(1) == 3",
        "",
        "an inner function",
        pytest.mark.slow,
    ),
    case(
        'import random\n\n\ndef noise(count, seed):\n    """R1"""\n    rng = random.Random(seed)\n'
        "    return [rng.random() for _ in range(count)]\n",
        "[round(each, 3) for each in noise(2, 7)] == [0.324, 0.151]",
        "",
        "chance with a seed",
    ),
]


@pytest.mark.parametrize(("code", "test", "told"), HONEST)
def test_honest_code_of_such_a_form_is_tested(tmp_path: Path, code: str, test: str, told: str) -> None:
    found = judged(tmp_path, {"code_of.py": code, "test_it.py": test})
    assert found["block"] is None, found["block"] + told
    assert rungs(found)[0] in ("tested", "guarded")


def test_a_value_that_there_was_no_time_to_try_is_not_known_and_is_no_fault(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    workspace.write("settings.py", "RATE = 0.1  # R1\n")
    workspace.write("test_settings.py", "import settings\n\n\ndef test_r1():\n    assert settings.RATE == 0.1\n")
    row = {"id": "R1", "kind": "hyperparameter", "text": "The learning rate is 0.1."}
    plan = {"requirements": [row], "file_structure": [{"path": "settings.py"}]}
    seen = Observation({"test_settings.py::test_r1": "passed"}, {})
    places, sources = find_all_places(workspace, plan), read_sources(workspace)
    [cut_off] = climb([row], places, sources, seen, run_jobs=lambda jobs: {})
    assert (cut_off["rung"], cut_off["is_open"], cut_off["is_unknown"]) == ("named", False, True)
    assert "there was no time" in cut_off["why"]
    [tried] = climb([row], places, sources, seen, run_jobs=lambda jobs: {0: JobResult(frozenset(), frozenset())})
    assert (tried["is_open"], tried["is_unknown"]) == (True, False)


FIT = 'def fit(xs):\n    """R1"""\n    total = sum(xs)\n    return total / len(xs)\n'
SHARED = [
    pytest.param(
        "import pytest\nfrom code_of import fit\n\n\n"
        "@pytest.fixture(scope='module')\ndef model():\n    return fit([1, 2, 6])\n\n\n"
        "def test_other(model):\n    assert model\n\n\ndef test_r1(model):\n    assert model == 3\n",
        PYTEST,
        id="a fixture of the module",
    ),
    pytest.param(
        "import unittest\nfrom code_of import fit\n\n\nclass T(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n"
        "        cls.model = fit([1, 2, 6])\n\n    def test_r1(self):\n        self.assertEqual(self.model, 3)\n",
        UNITTEST,
        id="setUpClass",
    ),
    pytest.param(
        "import unittest\nfrom code_of import fit\n\n\nclass Base:\n    def test_r1(self):\n"
        "        self.assertEqual(fit(self.given), 3)\n\n\nclass T(Base, unittest.TestCase):\n    given = [1, 2, 6]\n",
        PYTEST,
        id="a test of a base class",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "from code_of import fit\nfrom helpers import assert_near\n\n\ndef test_r1():\n    assert_near(fit([1, 2, 6]), 3)\n",
        PYTEST,
        id="an assertion in a helper of the package",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("tests", "command"), SHARED)
def test_tests_that_share_or_inherit_prove_what_they_assert(tmp_path: Path, tests: str, command: str) -> None:
    helpers = (
        "def assert_near(found, wanted):\n    if abs(found - wanted) > 1e-9:\n        raise AssertionError(found)\n"
    )
    found = judged(tmp_path, {"code_of.py": FIT, "helpers.py": helpers, "test_fit.py": tests}, command)
    assert found["block"] is None, found["block"]
    assert rungs(found)[0] in ("tested", "guarded")


TEXTS = [
    pytest.param(
        {"NOTES.md": "R1: softmax\n"},
        'assert "softmax" in open("NOTES.md").read()',
        "holds a value or a text",
        id="notes",
    ),
    pytest.param(
        {"m.py": 'LOSS = "p * q"  # R1\n'},
        'import m; assert m.LOSS == "p * q"',
        "holds a value or a text",
        id="a string",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        {"m.py": 'def mix(p, q):\n    """R1"""\n    # p + q\n    return p - q\n'},
        'import inspect, m; assert "# p + q" in inspect.getsource(m.mix) and m.mix(1, 1) is not None',
        "passes whatever m.py:mix gives",
        id="the text of the code",
    ),
    pytest.param(
        {
            "m.py": 'def rate(x):\n    return x / 2\n\n\ndef train(xs):\n    """R1"""\n    return [rate(x) for x in xs]\n'
        },
        "import m; m.train([1, 2]); assert m.rate(4) == 2",
        "passes whatever m.py:train gives",
        id="a helper alone",
    ),
]


@pytest.mark.parametrize(("files", "line", "told"), with_covered(TEXTS, "a helper alone"))
def test_what_must_be_worked_out_is_proved_by_its_own_work_alone(
    tmp_path: Path, files: dict[str, str], line: str, told: str
) -> None:
    found = judged(tmp_path, {**files, "test_it.py": f"def test_r1():\n    {line}\n"})
    assert told in found["block"]


def test_one_function_does_not_prove_all_that_a_docstring_claims(tmp_path: Path) -> None:
    code = '"""Implements R1-R6."""\n\n\ndef scale(x, by):\n    return x * by\n'
    tests = '"""Tests of R1-R6."""\nfrom code_of import scale\n\n\ndef test_scale():\n    assert scale(2, 3) == 6\n'
    found = judged(tmp_path, {"code_of.py": code, "test_it.py": tests}, count=6)
    assert set(rungs(found)) == {"executed"}
    assert "is too small for all of R1, R2, R3, R4, R5, R6" in found["block"]


@pytest.mark.slow
def test_the_r2_score_is_no_requirement(tmp_path: Path) -> None:
    code = 'def score(y):\n    """The R2 score."""\n    return 1 - y\n'
    tests = "from code_of import score\n\n\ndef test_r2_score():\n    assert score(1) == 0\n"
    found = judged(tmp_path, {"code_of.py": code, "test_it.py": tests}, count=2)
    assert rungs(found) == ["missing", "missing"]


@pytest.mark.slow
def test_a_value_between_lines_that_end_as_on_an_old_mac_is_changed_in_its_place(tmp_path: Path) -> None:
    code, test = "RATE = 0.5  # R1\rOTHER = 2\r", "import m\n\n\ndef test_r1():\n    assert m.RATE == 0.5\n"
    found = judged(tmp_path, {"m.py": code, "test_it.py": test}, kinds="hyperparameter")
    assert rungs(found)[0] in ("tested", "guarded")


def test_one_small_function_is_not_the_code_of_many_requirements(tmp_path: Path) -> None:
    code = 'def clamp(x):\n    """R1, R2, R3"""\n    return max(0, min(1, x))\n'
    tests = "".join(f"def test_r{n}():\n    assert clamp({n}) == 1\n\n\n" for n in (1, 2, 3))
    found = judged(tmp_path, {"code_of.py": code, "test_it.py": f"from code_of import clamp\n\n\n{tests}"}, count=3)
    assert "clamp is too small for all of R1, R2, R3: name the code of each" in found["block"]


def test_a_test_that_fails_behind_an_exit_code_of_0_is_refused(tmp_path: Path) -> None:
    wrong = RIGHT.replace("3.0", "4.0")
    found = judged(tmp_path, {"code_of.py": MEAN, "test_mean.py": wrong}, f"{PYTEST} || true")
    assert "tests failed all the same: test_mean.py::test_r1" in found["block"]


def test_a_conftest_that_calls_a_failure_a_pass_deceives_nobody(tmp_path: Path) -> None:
    conftest = (
        "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    report = yield\n    report.outcome = 'passed'\n    report.longrepr = None\n    return report\n"
    )
    files = {"code_of.py": MEAN, "test_mean.py": RIGHT.replace("3.0", "4.0"), "conftest.py": conftest}
    assert "tests failed all the same" in judged(tmp_path, files)["block"]


def test_a_run_of_tests_that_is_ended_from_within_is_refused(tmp_path: Path) -> None:
    test = "import os\n\n\ndef test_a():\n    os._exit(0)\n\n\n" + RIGHT
    assert "did not come to its end" in judged(tmp_path, {"code_of.py": MEAN, "test_mean.py": test})["block"]


def test_code_that_only_a_subprocess_of_a_test_runs_was_run_by_that_test(tmp_path: Path) -> None:
    program = 'import sys\n\n\ndef main():\n    """R1"""\n    print(2 * int(sys.argv[1]))\n\n\nmain()\n'
    test = (
        "import subprocess, sys\n\n\ndef test_r1():\n"
        "    assert subprocess.check_output([sys.executable, 'double.py', '4']) == b'8\\n'\n"
    )
    assert rungs(judged(tmp_path, {"double.py": program, "test_double.py": test}))[0] in ("tested", "guarded")


VALUES = [
    pytest.param("settings.py", "RATE = 0.5  # R1\n", "import settings\n\nGIVEN = settings.RATE\n", id="a constant"),
    pytest.param(
        "settings.py",
        "S = {\n    'rate': 0.5,  # R1\n}\n",
        "import settings\n\nGIVEN = settings.S['rate']\n",
        id="an entry of a dict",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "s.toml",
        "rate = 0.5  # R1\n",
        "import tomllib\n\nGIVEN = tomllib.load(open('s.toml', 'rb'))['rate']\n",
        id="TOML",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "s.json", '{"rate_R1": 0.5}\n', "import json\n\nGIVEN = json.load(open('s.json'))['rate_R1']\n", id="JSON"
    ),
]


@pytest.mark.parametrize(("path", "text", "read"), with_covered(VALUES, "a constant"))
def test_a_value_is_tested_where_a_test_that_names_it_fails_with_another(
    tmp_path: Path, path: str, text: str, read: str
) -> None:
    files = {path: text}
    use = read + "\n\ndef step(x):\n    return x * GIVEN\n"
    test = "from use import step\n\n\ndef test_r1():\n    assert step(4) == 2.0\n"
    found = judged(tmp_path / "used", {**files, "use.py": use, "test_use.py": test}, kinds="hyperparameter")
    assert rungs(found)[0] in ("tested", "guarded"), found
    unused = judged(
        tmp_path / "unused", {**files, "test_use.py": "def test_r1():\n    assert 1\n"}, kinds="hyperparameter"
    )
    assert rungs(unused) == ["named"]


def test_ids_that_stand_in_the_tests_alone_are_about_the_code_that_they_run(tmp_path: Path) -> None:
    files = {"code_of.py": MEAN.replace("R1: t", "T"), "test_mean.py": RIGHT}
    found = judged(tmp_path, files)
    (row,) = found["verification"]["evidence"]
    assert (row["rung"] in ("tested", "guarded"), row["places"]) == (True, ["code_of.py:mean"])


def test_a_range_and_the_parameters_of_a_test_name_requirements(tmp_path: Path) -> None:
    code = '"""R1-R2."""\n\n\ndef double(x):\n    return x * 2\n'
    test = (
        "import pytest\nfrom code_of import double\n\n\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, id='R1-one'), pytest.param(2, id='R2-two')])\n"
        "def test_it(x):\n    assert double(x) == x + x\n"
    )
    found = judged(tmp_path, {"code_of.py": code, "test_it.py": test}, count=2)
    assert all(rung in ("tested", "guarded") for rung in rungs(found)), found


@pytest.mark.slow
def test_changes_that_are_tried_in_several_copies_say_what_they_say_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, run_share = list[range](), trials._run_share

    def noted(share: range, *arguments: Any) -> dict[int, JobResult]:
        begun.append(share)
        return run_share(share, *arguments)

    monkeypatch.setattr(trials, "_run_share", noted)
    files = {"code_of.py": MEAN, "test_mean.py": RIGHT}
    one = judged(tmp_path / "one", files)
    assert len(begun) == 1, "tests of a moment are not worth two"
    monkeypatch.setattr(trials, "_WORTH", 0.01)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    several = judged(tmp_path / "several", files)
    assert len(begun) == 3
    assert several["verification"]["evidence"] == one["verification"]["evidence"]


@pytest.mark.slow
def test_without_changes_nothing_is_known_to_be_tested_and_nothing_is_refused_for_it(tmp_path: Path) -> None:
    found = judged(tmp_path, {"code_of.py": MEAN, "test_mean.py": RIGHT}, mutants="off")
    assert found["block"] is None
    assert rungs(found) == ["executed"]
    assert not found["verification"]["verified"]
    assert "1 of 1 requirements are not known to be tested" in found["verification"]["why"]


def test_what_is_in_another_language_is_named_and_costs_no_attempt(tmp_path: Path) -> None:
    files = {
        "kernel.cu": "// R1\n__global__ void add() {}\n",
        "code_of.py": MEAN.replace("R1: t", "T"),
        "test_mean.py": RIGHT,
    }
    files["test_mean.py"] = RIGHT.replace("test_r1", "test_mean")
    found = judged(tmp_path, files)
    assert found["block"] is None
    assert rungs(found) == ["named"]
    assert "in another language" in found["verification"]["why"]


@pytest.mark.slow
def test_what_the_machine_has_beside_it_is_not_found(tmp_path: Path) -> None:
    test = "import importlib.util\n\n\ndef test_a():\n    assert importlib.util.find_spec('click') is None\n"
    found = judged(tmp_path, {"test_a.py": test}, count=0)
    assert found["block"] is None, found["block"]
