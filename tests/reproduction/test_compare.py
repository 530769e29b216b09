"""The paper's figures beside ours: how cells are read, how far apart they may be, and what follows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.reproduction.artifacts import count_digits, find_constants, read_artifacts, read_labels
from phases.reproduction.compare import (
    HELD_BACK,
    MEASURED,
    OWN_LABELS,
    WORD,
    Doubts,
    Figure,
    Ours,
    compare_orders,
    describe_counts,
    judge_cell,
    read_figure,
    tolerance_of,
)
from phases.reproduction.declared import read_declared
from phases.workspace.workspace import Workspace
from pipeline.engine.contract import Contracts
from tests.strategies import QUICK


def ours(value: float, known_from: str = HELD_BACK) -> Ours:
    return Ours(value, None, 1, 100, known_from, "accuracy")


def judged(paper: float, here: float, tolerance: float, known_from: str = HELD_BACK, **doubts: Any) -> tuple[str, str]:
    found = judge_cell(Figure(paper, None), ours(here, known_from), tolerance, Doubts(**doubts))
    return found.verdict, found.agrees


@pytest.mark.parametrize(
    ("cell", "figure"),
    [
        (17.49, (17.49, None)), (3, (3.0, None)), ("17.49 ± 0.95", (17.49, 0.95)), ("17.49±0.95", (17.49, 0.95)),
        ("92.1 (0.3)", (92.1, 0.3)), ("92.1%", (92.1, None)), ("4.4e-14", (4.4e-14, None)), ("1,024", (1024.0, None)),
        ("−0.5", (-0.5, None)), ("**21.34** ± 1.31", (21.34, 1.31)), ("17.5 +/- 0.2", (17.5, 0.2)),
        ("–", None), ("n/a", None), ("12 of 60", None), (True, None), ("", None),
    ],
)  # fmt: skip
def test_a_cell_is_read_with_its_spread(cell: object, figure: tuple[float, float | None] | None) -> None:
    found = read_figure(cell)
    assert (tuple(found)[:2] if found else None) == figure


@pytest.mark.parametrize(
    ("cell", "rounding"),
    [(0.3, 0.05), (17.49, 0.005), (3, 0.0), (20.0, 0.0), ("4.4e-14", 5e-16), ("0.30 ± 0.1", 0.005)],
)
def test_a_figure_is_as_fine_as_it_is_printed(cell: object, rounding: float) -> None:
    found = read_figure(cell)
    assert found
    assert found.rounding == pytest.approx(rounding, rel=1e-9, abs=1e-300)


def test_the_tolerance_is_the_users_else_the_papers_else_five_percent() -> None:
    assert tolerance_of(Figure(20.0, 0.5), 0.0) == (0.5, "the paper's spread")
    assert tolerance_of(Figure(-20.0, None), 0.0) == (1.0, "5 % of the paper's value")
    assert tolerance_of(Figure(0.3, None, 0.05), 0.0) == (0.05, "the paper's rounding")
    assert tolerance_of(Figure(20.0, 0.5), 10.0) == (2.0, "--tolerance")


@pytest.mark.parametrize(
    ("here", "verdict"),
    [(20.0, "reproduced"), (21.0, "reproduced"), (21.001, "near"), (22.0, "near"), (22.001, "differs"), (18.0, "near")],
)
def test_a_figure_at_the_edge_is_still_within(here: float, verdict: str) -> None:
    assert judged(20.0, here, 1.0)[0] == verdict


@QUICK
@given(
    st.floats(-1e3, 1e3),
    st.floats(-1e3, 1e3),
    st.floats(0, 100),
    st.sampled_from([HELD_BACK, OWN_LABELS, MEASURED, WORD]),
    st.fixed_dictionaries(
        {
            "stand_in": st.sampled_from(["", "ImageNet"]),
            "suspect": st.sampled_from(["", "a.py:1"]),
            "is_quick": st.booleans(),
            "is_unconfined": st.booleans(),
        }
    ),
)
def test_nothing_counts_as_reproduced_but_predictions_on_labels_that_were_held_back(
    paper: float, here: float, tolerance: float, known_from: str, doubts: dict[str, Any]
) -> None:
    verdict, agrees = judged(paper, here, tolerance, known_from, **doubts)
    trusted = known_from == HELD_BACK and not any(doubts.values())
    assert (verdict in ("reproduced", "near")) == (trusted and agrees != "no")
    if abs(here - paper) > 2.001 * tolerance + 1e-9:
        assert agrees == "no"


def test_what_differs_needs_no_trust() -> None:
    assert [judged(20.0, 30.0, 1.0, known)[0] for known in (HELD_BACK, OWN_LABELS, MEASURED, WORD)] == ["differs"] * 4


def _row(verdict: str, why: str = "", **more: Any) -> dict[str, Any]:
    return {"verdict": verdict, "why": why, "agrees": "yes", **more}


def test_the_sentence_counts_what_happened_and_says_why_the_rest_did_not_run() -> None:
    cells = (
        [_row("reproduced")] * 4 + [_row("near")] * 2 + [_row("differs")] + [_row("not run", "ImageNet is missing")] * 5
    )
    expected = "4 of 12 cells reproduced, 2 near, 1 differs, 5 not run (ImageNet is missing)"
    assert describe_counts(cells) == expected


def test_orders_that_the_paper_makes_clear_are_looked_for() -> None:
    def cell(paper: float, here: float) -> dict[str, Any]:
        return {"table": "T", "column": "C", "paper": paper, "ours": here, "tolerance": 1.0}

    assert compare_orders([cell(10, 11), cell(20, 25), cell(20.5, 3)]) == {"held": 1, "of": 2}


# What the code leaves and says


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("predictions.csv", "result,y\nE1,1\n", "predictions.csv: it needs the column y_pred"),
        ("predictions.csv", "y_pred\n1\n", "predictions.csv: it needs a column `result`"),
        ("predictions.csv", "result,y_pred\nE1\n", "predictions.csv: line 2 does not have the 2 columns"),
        ("predictions.csv", "result,y_pred,y_true\nE1,1,1\nE1,1,\n", "predictions.csv: some rows of E1 have y_true"),
        ("measurements.csv", "result,value\nE1,nan\n", "measurements.csv: nan is not a finite number"),
        ("measurements.csv", "result,value\nE1,\n", "measurements.csv: could not convert"),
        ("metrics.json", "[1]", "metrics.json: it must be one object"),
        ("metrics.json", '{"E1": true}', "metrics.json: E1 must be a number"),
        ("metrics.json", '{"E1": 1e999}', "metrics.json: "),
        ("metrics.json", "{", "metrics.json: "),
    ],
)
def test_a_file_that_is_not_as_it_must_be_is_named_and_gives_nothing(
    name: str, text: str, fault: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    found = read_artifacts(str(tmp_path), "metrics.json")
    assert len(found.faults) == 1
    assert found.faults[0].startswith(fault)


def test_a_link_out_of_the_results_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("result,value\nE1,1\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "measurements.csv").symlink_to(tmp_path / "secret.csv")
    found = read_artifacts(str(tmp_path / "results"), "metrics.json")
    assert not found.measurements
    assert "measurements.csv cannot be read" in found.faults[0]


def test_labels_are_read_by_seed_and_row_and_no_row_has_two() -> None:
    assert read_labels(b"row,y_true,seed\n1,a,0\n1,b,1\n") == {("0", "1"): "a", ("1", "1"): "b"}
    with pytest.raises(ValueError, match="two labels for row 1"):
        read_labels(b"row,y_true\n1,a\n1,a\n")


def _declared(folder: Path, text: str, size: str = "full") -> Any:
    workspace = Workspace(str(folder))
    workspace.write("experiments.yaml", text)
    parse = Contracts().parse
    return read_declared(workspace, size, {"E1", "E2"}, lambda data: dict(parse("experiments.yaml", data, writer="it")))


@pytest.mark.parametrize("bad", ["{name: b, results: [E2]}", "{name: b, results: E2, full: run}", "7"])
def test_one_bad_experiment_is_told_and_costs_itself_alone(bad: str, tmp_path: Path) -> None:
    declared = _declared(tmp_path, f"experiments: [{bad}, {{name: a b, results: [E1], full: run}}]")
    assert [(one.name, one.results) for one in declared.experiments] == [("a-b", ("E1",))]
    assert len(declared.faults) == 1
    assert "experiments" in declared.faults[0]


def test_what_is_declared_twice_or_of_nothing_is_told(tmp_path: Path) -> None:
    row = "  - {name: a, full: x, results: [E1, E9]}\n"
    found = _declared(tmp_path, f"experiments:\n{row}{row}  - {{name: b, full: x, results: [E1]}}\n")
    assert [(one.name, one.results) for one in found.experiments] == [("a", ("E1", "E9")), ("b", ())]
    assert found.faults == (
        "experiments.yaml: two experiments are called a",
        "experiments.yaml: E1 is spoken of twice",
        "experiments.yaml: E9 is spoken of twice",
        "experiments.yaml: the plan expects no E9",
    )


@pytest.mark.parametrize(
    ("name", "safe"), [("../a", "a"), ("a/b", "a-b"), ("-a", "a"), ("a b", "a-b"), ("..", "experiment")]
)
def test_a_name_leads_nowhere_else(name: str, safe: str, tmp_path: Path) -> None:
    found = _declared(tmp_path, f"experiments:\n  - {{name: '{name}', full: x, results: [E1]}}\n")
    assert ([one.name for one in found.experiments], found.faults) == ([safe], ())


def test_an_experiment_without_a_name_is_refused(tmp_path: Path) -> None:
    found = _declared(tmp_path, "experiments:\n  - {name: '', full: x, results: [E1]}\n")
    assert not found.experiments
    assert "name" in found.faults[0]


# Constants


@pytest.mark.parametrize(
    "code",
    [
        "x = 19.25", "x = -19.25", "x = 1925 / 100", "x = 20 - 0.75", "x = float('19.25')", "x = {'a': [19.25]}", "x = 0.1925",
        "x = 80.75", "x = 0.8075", "x = 7.7 * 2.5", "x = 'error: 19.25 %'", '"""The paper says 19.25."""', "x = 154 / 2**3",
        "def f(a=19.25): return a", "x = 19.25 if a else 3", "x = round(19.25, 2)",
    ],
)  # fmt: skip
def test_a_figure_of_the_paper_in_the_code_is_found_in_each_dress(code: str) -> None:
    assert find_constants({"a.py": f"a = 1\n{code}\n".encode()}, {"E1": 19.25}, []) == {"E1": ["a.py:2"]}


@pytest.mark.parametrize(
    "code", ["x = 19.2", "x = 19.251", "x = 1 + n", "x = 'v19.25.3'", "x = 19 * n / 25", "x = 'a19.25'"]
)
def test_other_numbers_are_no_figures(code: str) -> None:
    assert find_constants({"a.py": code.encode()}, {"E1": 19.25}, []) == {}


def test_data_files_are_looked_at_and_settings_of_the_plan_are_not_suspect() -> None:
    assert find_constants({"a.json": b'{"x":\n19.25}'}, {"E1": 19.25}, []) == {"E1": ["a.json:2"]}
    assert find_constants({"a.py": b"x = 19.25"}, {"E1": 19.25}, [19.25]) == {}


@pytest.mark.parametrize(
    ("value", "digits"), [(19.25, 4), (0.5, 1), (100.0, 1), (1024.0, 1), (5000.0, 1), (4606.0, 4), (4.4e-14, 2)]
)
def test_figures_that_stand_anywhere_by_chance_have_few_digits(value: float, digits: int) -> None:
    assert count_digits(value) == digits
    assert math.isfinite(value)
