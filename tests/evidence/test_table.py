"""The table of evidence: where a requirement is, which passing tests run it, and what is said of its values."""

from __future__ import annotations

from typing import Any

import pytest

from phases.evidence.locate import find_tests
from phases.evidence.observation import FAILED, PASSED, Observation
from phases.evidence.places import is_test_file
from phases.evidence.traceability import build_table, count_evidence, describe_counts, find_stubs, find_unread

CODE = 'def score(x):\n    """The score."""\n    return 2 * x\n'
CITED = CODE.replace("The score.", "R1: the score.")


def plan_of(text: str = "The score doubles its input.", **more: Any) -> dict[str, Any]:
    """A plan of one requirement, in src/score.py."""
    row = {"id": "R1", "kind": "equation", "text": text, "source": {"section": "2.1 Scores", "page": 3, "quote": ""}}
    plan = {"requirements": [{**row, **more}], "file_structure": [{"path": "src/score.py", "implements": ["R1"]}]}
    return {**plan, "components": [], "values": []}


def seen_by(*tests: str, path: str = "src/score.py", line: int = 3, outcome: str = PASSED) -> Observation:
    """Tests that ended so, all of which ran one line."""
    return Observation(dict.fromkeys(tests, outcome), {path: {line: frozenset(tests)}})


def row_of(files: dict[str, str], seen: Observation, plan: dict[str, Any] | None = None) -> dict[str, Any]:
    return build_table(plan or plan_of(), files, seen)[0]


@pytest.mark.parametrize(
    "test",
    [
        pytest.param("tests/test_score.py::test_anything", id="a function without an id in its name"),
        pytest.param("tests/test_score.py::TestScore::test_r34_scores_of_all", id="a method with the id of another"),
        pytest.param("checks/deep/score_test.py::test_R1_one_step", id="in any directory, in any spelling"),
    ],
)
def test_any_passing_test_that_runs_the_code_counts_whatever_its_name(test: str) -> None:
    row = row_of({"src/score.py": CITED}, seen_by(test))
    assert (row["level"], row["tests"], row["note"]) == ("run", [test], "")


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(seen_by("test_score.py::test_r1", outcome=FAILED), id="a test that fails"),
        pytest.param(seen_by("test_score.py::test_r1", line=1), id="a test that only imports it"),
        pytest.param(seen_by("test_score.py::test_r1", path="src/other.py"), id="a test of another file"),
    ],
)
def test_what_no_passing_test_runs_is_located_and_says_so(seen: Observation) -> None:
    row = row_of({"src/score.py": CITED, "src/other.py": "x = 1\n"}, seen)
    assert (row["level"], row["note"]) == ("located", "no passing test runs src/score.py:score")


@pytest.mark.parametrize(
    ("files", "how", "places"),
    [
        pytest.param({"src/score.py": CITED}, "cited", ["src/score.py:score"], id="by its id"),
        pytest.param({"src/other.py": CODE.replace("The score", "Section 2.1")}, "cited", ["src/other.py:score"],
            id="by its section"),
        pytest.param({"src/other.py": CODE.replace("The score", "Eq. (4)")}, "cited", ["src/other.py:score"],
            id="by its equation"),
        pytest.param({"src/score.py": CODE}, "planned", ["src/score.py:(module)"], id="by the file that the plan names"),
        pytest.param({"web/score.js": "// R1: the score\nconst score = x => 2 * x;\n"}, "cited", ["web/score.js:1"],
            id="in JavaScript"),
    ],
)  # fmt: skip
def test_code_is_located_as_it_cites_the_paper(files: dict[str, str], how: str, places: list[str]) -> None:
    row = row_of(files, Observation({}, {}), plan_of(formula="s = 2x \\tag{4}"))
    assert (row["how"], row["places"]) == (how, places)


@pytest.mark.parametrize(
    ("path", "reads", "level"),
    [
        pytest.param("src/settings.py", "return RATE * x", "run", id="in a module of constants"),
        pytest.param("config.yaml", 'return load()["RATE"] * x', "run", id="in a data file"),
        pytest.param("src/settings.py", "return 2 * x", "located", id="that nothing reads"),
    ],
)
def test_a_value_is_run_when_tests_run_a_file_that_names_it(path: str, reads: str, level: str) -> None:
    value = "RATE: 2  # R1\n" if path.endswith(".yaml") else "RATE = 2  # R1\n"
    files = {path: value, "src/score.py": CODE.replace("return 2 * x", reads)}
    assert row_of(files, seen_by("tests/test_score.py::test_score"))["level"] == level


@pytest.mark.parametrize("path", ["README.md", "docs/paper.rst", "tests/test_score.py", "notes.txt"])
def test_prose_and_tests_that_cite_a_requirement_do_not_locate_it(path: str) -> None:
    row = row_of({path: CITED}, Observation({}, {}))
    assert (row["level"], row["places"]) == ("unlocated", [])


def test_a_component_of_foreign_code_is_located_by_its_name() -> None:
    plan = plan_of() | {"components": [{"id": "C1", "name": "Score", "requirements": ["R1"]}]}
    row = row_of({"lib/metrics.py": CODE}, Observation({}, {}), plan)
    assert (row["how"], row["places"]) == ("named", ["lib/metrics.py:score"])


def test_a_function_that_cites_a_requirement_and_does_nothing_is_a_stub() -> None:
    files = {"src/score.py": 'def score(x):\n    """R1"""\n    pass\n'}
    assert row_of(files, seen_by("test_score.py::test_it"))["level"] == "stubbed"
    assert [place.name for place in find_stubs(plan_of(), files)] == ["src/score.py:score"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param('from abc import abstractmethod\nclass Base:\n    @abstractmethod\n    def score(self):\n        """R1"""\n',
            id="abstract"),
        pytest.param(CITED + "\n\ndef on_end():\n    pass\n", id="a hook that cites nothing"),
        pytest.param("LIMIT = None  # R1: no limit\n", id="a value"),
    ],
)  # fmt: skip
def test_an_honest_empty_body_is_not_a_stub(code: str) -> None:
    assert find_stubs(plan_of(), {"src/score.py": code}) == []


def value_note(value: object, unit: str, code: str) -> str:
    """What the table says of a value that the code gives."""
    row = {"id": "V1", "name": "rate", "value": value, "unit": unit, "owner": "method", "kind": "hyperparameter"}
    plan = plan_of() | {"values": [{**row, "source": {"section": None, "page": 1, "quote": ""}}]}
    table = build_table(
        plan, {"src/score.py": CITED, "src/settings.py": f"rate = {code}\n"}, seen_by("test_s.py::test")
    )
    return str(table[1]["note"]) if "plan says" in table[1]["note"] else ""


def test_a_value_in_any_scale_of_its_unit_is_the_value() -> None:
    same: list[tuple[object, str, str]] = [
        (8, "kHz", "8000"), (8, "kHz", "8"), (16, "KB", "16384"), ("36M", "", "36_000_000"), (5, "%", "0.05"), (5, "%", "5"),
        (100, "ms", "0.1"), (2, "s", "2000"), (1, "min", "60"), ("2^19", "", "2 ** 19"), ("Adam", "", "'adam'"),
        ("middle of each test track", "", "'middle'"), (0.001, "", "1e-3"), ([16, 32], "", "32"),
    ]  # fmt: skip
    assert [case for case in same if value_note(*case)] == []


def test_another_value_is_noted_with_its_unit_and_nothing_else_follows() -> None:
    assert value_note(8, "kHz", "16000") == "the plan says 8 kHz, src/settings.py:rate is 16000"
    assert value_note("Adam", "", "'sgd'") == "the plan says 'Adam', src/settings.py:rate is 'sgd'"
    assert value_note(True, "", "False") == "the plan says True, src/settings.py:rate is False"


def test_what_is_written_in_another_language_is_not_measured_and_says_so() -> None:
    plan = plan_of() | {"file_structure": [{"path": "src/main.rs", "implements": ["R1"]}]}
    row = row_of({"src/main.rs": "fn score() {}\n"}, seen_by("tests/test_a.py::test"), plan)
    assert (row["level"], row["measured"], row["note"]) == ("located", False, "which lines tests run was not measured")


def test_the_counts_of_every_report_add_up() -> None:
    common = {"measured": True, "tried": 0}
    levels = ["guarded", "run", "run", "located", "stubbed", "unlocated"]
    counts = count_evidence([{"status": level, **common} for level in levels])
    assert counts["located"] + counts["stubbed"] + counts["unlocated"] == counts["total"] == 6
    assert describe_counts(counts) == "4 of 6 requirements and values located, 3 run by passing tests, 1 stub"


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/helpers.py", True), ("src/test_score.py", True), ("wc_test.go", True), ("web/app.test.js", True),
        ("src/App.spec.tsx", True), ("src/ScoreTest.java", True), ("src/latest.py", False), ("src/contest.js", False),
        ("attest.py", False), ("index.html", False),
    ],
)  # fmt: skip
def test_files_of_tests_are_known_by_their_paths_in_any_language(path: str, is_test: bool) -> None:
    assert is_test_file(path) is is_test


def test_a_test_is_found_by_the_name_that_a_run_noted() -> None:
    files = {"tests/test_a.py": "class TestA:\n    def test_b(self):\n        assert 1\n\n\ndef test_c():\n    pass\n"}
    names = ["tests/test_a.py::TestA::test_b", "tests/test_a.py::test_c", "tests/test_a.py::gone", "gone.py::test"]
    assert [(place.symbol, place.first) for place in find_tests(names, files)] == [("TestA.test_b", 2), ("test_c", 6)]


@pytest.mark.parametrize(
    ("path", "level"),
    [
        ("tests/test_api.py", "located"),
        ("tests/__init__.py", "located"),
        ("web/form.test.js", "located"),
        ("x.md", "unlocated"),
    ],
)
def test_a_requirement_on_the_tests_is_located_in_the_tests_that_the_plan_names(path: str, level: str) -> None:
    plan = plan_of("The service has tests.") | {"file_structure": [{"path": path, "implements": ["R1"]}]}
    files = {"tests/test_api.py": "", "tests/__init__.py": "", "web/form.test.js": "", "x.py": "Y = 1\n"}
    assert row_of(files, seen_by("tests/test_api.py::test_it", path="x.py", line=1), plan)["level"] == level


@pytest.mark.parametrize(
    ("doubt", "stays"),
    [
        ("a.py:f returns a constant for any input (R1)", False),
        ("a.py:g returns a constant for any input (R2)", True),
        ("the code that cites R1, R2 shares no word with them (2 of 2 requirements)", True),
        ("5 of 6 tests assert nothing: test_a", True),
        ("test_a.py replaces assertEqual by one that cannot fail", True),
    ],
)
def test_a_reviewer_settles_doubts_about_the_requirements_it_decided_on_and_no_others(doubt: str, stays: bool) -> None:
    rows = [{"id": "R1", "judged": {"verdict": "meets"}}, {"id": "R2", "judged": {"verdict": "cannot tell"}}]
    assert find_unread([doubt], rows) == [doubt] * stays


def test_a_file_that_only_a_name_in_code_is_like_is_not_run() -> None:
    files = {"package.json": '{"scripts": {}}\n', "a.js": 'const json = 1; // "json", which the tests run\n'}
    plan = {**plan_of(), "file_structure": [{"path": "package.json", "purpose": "x", "implements": ["R1"]}]}
    row = row_of(files, seen_by("tests/a.test.js", path="a.js", line=1), plan)
    assert (row["level"], row["tests"]) == ("located", [])
