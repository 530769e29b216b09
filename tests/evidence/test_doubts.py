"""Doubts: signs of fake work are reported, and honest code has none."""

from __future__ import annotations

import pytest

from phases.evidence.doubts import find_doubts
from phases.evidence.observation import PASSED, Observation
from tests.evidence.test_table import plan_of

TEST = "from code_of import *\n\n\ndef test_it():\n    assert mean([1, 3]) == 2\n"


def doubts_of(code: str, tests: str = TEST, texts: tuple[str, ...] = ("The mean of the values.",)) -> list[str]:
    """The doubts about code of which every line was run by every test."""
    rows = [{**plan_of(text)["requirements"][0], "id": f"R{number}"} for number, text in enumerate(texts, 1)]
    plan = {**plan_of(), "requirements": rows, "file_structure": [{"path": "code_of.py"}]}
    files = {"code_of.py": code, "test_code.py": tests}
    names = frozenset(
        f"test_code.py::{line.split('(')[0][4:]}" for line in tests.splitlines() if line.startswith("def test")
    )
    lines = dict.fromkeys(range(1, code.count("\n") + 1), names)
    seen = Observation(dict.fromkeys(names, PASSED), {"code_of.py": lines})
    return find_doubts(plan, files, seen)


def test_nonsense_of_one_shape_with_its_own_tests_is_in_doubt() -> None:
    parts = "\n\n".join(
        f'def part_{k}(x, y):\n    """R{k}"""\n    total = x * {k} + y\n    return [total, total - {k}]\n'
        for k in range(1, 9)
    )
    tests = "from code_of import *\n\n\n" + "\n\n".join(
        f"def test_{k}():\n    assert part_{k}(1, 2)[0] == {k + 2}\n" for k in range(1, 9)
    )
    found = "\n".join(doubts_of(parts, tests, ("Sort the buckets by length.",) * 8))
    assert "are 8 copies of one function with other constants" in found
    assert "shares no word with them (8 of 8 requirements)" in found


@pytest.mark.parametrize(
    ("code", "told"),
    [
        pytest.param('def mean(v):\n    """R1"""\n    return 2.0\n', "returns a constant for any input", id="a constant"),
        pytest.param('TABLE = {1: 2.0, 3: 4.0}\n\n\ndef mean(v):\n    """R1"""\n    return TABLE[v]\n',
            "constants for inputs that it knows", id="a table"),
        pytest.param('import random\n\n\ndef mean(v):\n    """R1"""\n    return random.random() * len(v)\n', "random values",
            id="chance"),
        pytest.param(
            'def mean(v, weights=None):\n    """R1"""\n    if weights:\n        raise NotImplementedError\n'
            "    return sum(v) / len(v)\n",
            "",
            id="a case that a test ran",
        ),
        pytest.param("MOST = 3  # V1\n" + 'def mean(v):\n    """R1"""\n    return sum(v) / len(v)\n', "", id="honest"),
    ],
)  # fmt: skip
def test_code_that_computes_nothing_is_in_doubt(code: str, told: str) -> None:
    found = doubts_of(code)
    assert (told in found[0] and len(found) == 1) if told else found == []


HONEST = 'def mean(v):\n    """R1: the mean."""\n    return sum(v) / len(v)\n'


@pytest.mark.parametrize(
    ("line", "is_silent"),
    [
        ("mean([1])", True), ("assert mean([1]) is not None", True), ("assert isinstance(mean([1]), float)", True),
        ("assert 1 + 1 == 2", True), ("assert mean([1]) == mean([1])", True), ("assert 'the mean is right'", True),
        ("try:\n        assert mean([1]) == 1\n    except AssertionError:\n        pass", True),
        ("assert mean([1, 3]) == 2", False), ("assert abs(mean([1]) - 1) < 1e-9", False), ("check(mean([1]), 1)", False),
        ("with raises(ValueError):\n        mean([])", False), ("assert mean([1])", False),
        ("assert mean([2]) in (2, 2.0)", False),
    ],
)  # fmt: skip
def test_a_suite_that_asserts_nothing_is_in_doubt_and_no_other(line: str, is_silent: bool) -> None:
    tests = f"from code_of import mean\n\n\ndef test_it():\n    {line}\n"
    assert bool(doubts_of(HONEST, tests)) is is_silent


def test_a_helper_that_asserts_makes_its_tests_assert() -> None:
    tests = "def holds(a, b):\n    assert a == b\n\n\ndef test_it():\n    holds(mean([1]), 1)\n"
    assert doubts_of(HONEST, tests) == []
    assert "assert nothing" in doubts_of(HONEST, tests.replace("assert a == b", "print(a, b)"))[0]


def test_a_test_that_another_of_its_name_replaces_is_in_doubt() -> None:
    tests = TEST + "\n\ndef test_it():\n    assert mean([2]) == 2\n"
    assert doubts_of(HONEST, tests) == ["test_code.py defines test_it more than once: only the last one runs"]


def test_a_value_that_nothing_reads_is_in_doubt() -> None:
    value = {"id": "V1", "name": "rate", "value": 3, "owner": "method", "kind": "training"}
    plan = plan_of() | {"values": [{**value, "source": {"section": None, "page": 1, "quote": ""}}]}
    files = {"src/score.py": "RATE = 3  # V1\n", "test_a.py": "def test_a():\n    assert RATE == 3\n"}
    seen = Observation({}, {}, is_blind=True)
    assert find_doubts(plan, files, seen) == ["nothing reads src/score.py:RATE (V1)"]
    files["src/use.py"] = "from score import RATE\n\nprint(RATE)\n"
    assert find_doubts(plan, files, seen) == []
