"""A reviewer strikes, changes and adds rows by id; what makes no sense is told with its line; the plan is shown in tables."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from phases.planning.model.material import split_pages
from phases.planning.plan_edits import add_row, change_row, strike_row
from phases.planning.plan_sense import doubts_about
from phases.planning.plan_view import render_plan
from pipeline.base.errors import UsageError
from pipeline.engine.contract import Contracts
from tests.papers import PAPER, example_paper, read

CONTRACTS = Contracts()
READ = read(PAPER)
NAME = "initial_plan.txt"


def config_of(plan: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in plan["file_structure"] if row["path"].endswith("config.py"))


def ids_in(plan: dict[str, Any]) -> str:
    return CONTRACTS.serialise(NAME, plan, writer="a test").decode()


@pytest.mark.parametrize("identifier", ["R1", "V2", "C1"])
def test_a_struck_row_leaves_nothing_that_leads_nowhere(identifier: str) -> None:
    before = copy.deepcopy(READ.plan)
    made = strike_row(READ.plan, identifier)
    assert f"{identifier}]" not in ids_in(made)
    assert f"id: {identifier}\n" not in ids_in(made)
    assert READ.plan == before, "what was passed in is as it was"


def test_a_struck_value_takes_its_constant_along() -> None:
    made = strike_row(READ.plan, "V2")
    assert config_of(READ.plan)["interface"][1] == "LEARNING_RATE = 0.1"
    assert config_of(made)["interface"] == [
        line for line in config_of(READ.plan)["interface"] if "LEARNING" not in line
    ]


def test_a_changed_value_changes_its_constant() -> None:
    made = change_row(READ.plan, "V2", "value", "0.25")
    assert made["values"][1]["value"] == 0.25
    assert config_of(made)["interface"][1] == "LEARNING_RATE = 0.25"
    several = change_row(READ.plan, "V2", "value", "[0.1, 0.2]")
    assert several["values"][1]["values"] == [0.1, 0.2]
    assert "value" not in several["values"][1]
    ids_in(several)


def test_a_row_is_added_where_such_rows_are() -> None:
    made = add_row(add_row(READ.plan, "value", "queue length = 7"), "requirement", "It must log every step.")
    assert made["values"][-1]["value"] == 7
    assert config_of(made)["interface"][-1] == "QUEUE_LENGTH = 7"
    assert made["requirements"][-1]["text"] == "It must log every step."
    ids_in(made)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        pytest.param(lambda plan: strike_row(plan, "R99"), "no row R99", id="a row that is not there"),
        pytest.param(lambda plan: change_row(plan, "V1", "id", "V9"), "keeps its id", id="another id"),
        pytest.param(lambda plan: add_row(plan, "value", "seven"), "NAME = VALUE", id="a value without one"),
        pytest.param(lambda plan: add_row(plan, "thing", "x"), "cannot be added", id="a thing"),
        pytest.param(lambda plan: strike_row({**plan, "plan_version": 1}, "R1"), "of version 1", id="an older plan"),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused(edit: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        edit(READ.plan)


def test_a_hand_edit_is_checked_for_sense_with_the_line() -> None:
    plan = copy.deepcopy(READ.plan)
    plan["requirements"][1]["source"]["quote"] = "nobody ever wrote these words down"
    plan["file_structure"][1]["implements"].append("R77")
    data = CONTRACTS.serialise(NAME, plan, writer="a test")
    pages = split_pages(READ.document.text[READ.document.body_start :])
    quote, lost = doubts_about(plan, data, pages, [])
    line = data.decode().splitlines().index("- id: R2") + 1
    assert quote.startswith(f"line {line}: R2: the quote 'nobody ever wrote")
    assert "implements R77, which is no requirement" in lost
    assert lost.startswith("line ")


def test_what_the_planner_writes_makes_sense() -> None:
    for made in (READ, example_paper()):
        data = CONTRACTS.serialise(NAME, made.plan, writer="a test")
        assert doubts_about(made.plan, data, split_pages(made.document.text[made.document.body_start :]), []) == []


def test_a_plan_is_shown_in_sections_of_a_hundred_columns() -> None:
    text = render_plan(example_paper().plan)
    assert max(map(len, text.splitlines())) <= 110
    for title in ("Requirements", "Values", "Components", "Files, in the order of writing", "Checks and packages"):
        assert f"\n{title}\n" in text
    assert "R1 " in text


def test_a_plan_of_version_1_is_shown_too() -> None:
    assert "We wait." in render_plan(CONTRACTS.schema(NAME)["examples"][-1])
