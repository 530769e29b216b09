"""A reviewer strikes, changes and adds rows by id; what makes no sense is told with its line."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.agent.offline_model import scaffold_text
from phases.planning.model.material import split_pages
from phases.planning.plan_edits import add_row, change_row, strike_row
from phases.planning.plan_faults import reference_faults
from phases.planning.plan_sense import differences_from_paper, doubts_about
from phases.planning.plan_words import group_doubts, read_aloud, read_formula, steps_of, write_ids
from pipeline.base.errors import UsageError
from pipeline.engine.contract import Contracts
from tests.papers import PAPER, Read, example_paper, read

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
    made = strike_row(READ.plan, "V1")
    assert config_of(READ.plan)["interface"][0] == "LEARNING_RATE = 0.1"
    assert config_of(made)["interface"] == [
        line for line in config_of(READ.plan)["interface"] if "LEARNING" not in line
    ]


def test_a_changed_value_changes_its_constant() -> None:
    made = change_row(READ.plan, "V1", "value", "0.25")
    assert made["values"][0]["value"] == 0.25
    assert config_of(made)["interface"][0] == "LEARNING_RATE = 0.25"
    several = change_row(READ.plan, "V1", "value", "[0.1, 0.2]")
    assert several["values"][0]["values"] == [0.1, 0.2]
    assert "value" not in several["values"][0]
    ids_in(several)


@pytest.mark.parametrize("typed", ["1e-3", "1E-3", "+.1e-2", "[1e-3]"])
def test_a_number_may_be_typed_as_a_power_of_ten(typed: str) -> None:
    made = change_row(READ.plan, "V2", "value", typed)["values"][1]
    assert made.get("values", [made.get("value")]) == [0.001]
    assert add_row(READ.plan, "value", f"patience = {typed}")["values"][-1].get("value") in (0.001, None)


@pytest.mark.parametrize(("typed", "number"), [("1e-3", "0.001"), ("100,000", "100000")])
def test_a_number_that_a_hand_edit_left_as_a_text_is_told(typed: str, number: str) -> None:
    plan = copy.deepcopy(READ.plan)
    plan["values"][1]["value"] = typed
    assert f"V2: {typed!r} is a text here, which code cannot count with; write {number}" in "".join(what_is_told(plan))


def test_a_value_that_was_edited_by_hand_without_its_constant_is_told() -> None:
    plan = copy.deepcopy(READ.plan)
    plan["values"][1]["value"] = 64
    assert any("V2: slow_waiting_everyone/config.py is to have BATCH_SIZE = 32, and the value is 64" in one
               for one in what_is_told(plan))  # fmt: skip
    assert not any("is to have" in one for one in what_is_told(change_row(READ.plan, "V2", "value", "64")))


def test_a_struck_component_takes_its_class_or_function_along_and_no_other() -> None:
    file = next(row for row in READ.plan["file_structure"] if len(row.get("components", ())) > 1)
    first, *others = file["components"]
    made = next(row for row in strike_row(READ.plan, first)["file_structure"] if row["path"] == file["path"])
    assert made["components"] == others
    assert made["interface"] == file["interface"][1:]
    text = scaffold_text(strike_row(READ.plan, first), file["path"])
    assert re.search(r'class WaitingModel.*\n    """Waiting model \(', text), "each stub tells what it is itself"
    renamed = {**READ.plan, "file_structure": [{**file, "interface": ["def wholly_other", *file["interface"]]}]}
    assert strike_row(renamed, first)["file_structure"][0]["interface"][0] == "def wholly_other"


def test_no_constant_is_touched_where_it_is_not_known_whose_it_is() -> None:
    plan = copy.deepcopy(READ.plan)
    config_of(plan)["interface"].insert(0, "SEED = 0")
    before = config_of(plan)["interface"]
    assert config_of(change_row(plan, "V2", "value", "7"))["interface"] == before
    assert config_of(strike_row(plan, "V2"))["interface"] == before


def test_a_section_and_a_column_are_texts_also_where_they_are_numbers() -> None:
    assert change_row(READ.plan, "R1", "section", "4.5")["requirements"][0]["source"]["section"] == "4.5"
    result = {"id": "E1", "table": "Table 1", "row": "ours", "column": "a", "metric": "a", "value": 1, "page": 1}
    made = change_row({**READ.plan, "expected_results": [result]}, "E1", "column", "2019")
    assert made["expected_results"][0]["column"] == "2019"


def test_a_requirement_can_be_taken_out_of_its_component() -> None:
    one = next(row for row in READ.plan["requirements"] if "component" in row)
    for made in (
        change_row(READ.plan, one["id"], "component", ""),
        change_row(READ.plan, one["component"], "requirements", ""),
    ):
        assert "component" not in next(row for row in made["requirements"] if row["id"] == one["id"])
        assert all(one["id"] not in row["requirements"] for row in made["components"])
        ids_in(made)


def test_a_row_is_added_where_such_rows_are() -> None:
    made = add_row(add_row(READ.plan, "value", "queue length = 7"), "requirement", "It must log every step.")
    assert made["values"][-1]["value"] == 7
    assert config_of(made)["interface"][-1] == "QUEUE_LENGTH = 7"
    path = config_of(made)["path"]
    assert "queue length (asked for at the review)\nQUEUE_LENGTH = 7\n" in scaffold_text(made, path)
    assert made["requirements"][-1]["text"] == "It must log every step."
    ids_in(made)


@pytest.mark.parametrize(
    ("printed", "written"),
    [("2^19", "2 ** 19"), ("1/2", "1 / 2"), ("80/20", "'80/20'"), ("09/10", "'09/10'"), ("word-piece", "'word-piece'")],
)
def test_a_power_and_a_fraction_are_computed_by_the_code_and_no_other_text(printed: str, written: str) -> None:
    made = change_row(READ.plan, "V1", "value", printed)
    assert f" = {written}\n" in scaffold_text(made, config_of(made)["path"])


def test_a_requirement_and_its_component_name_each_other_after_an_edit_of_either() -> None:
    homes = {one: row["id"] for row in READ.plan["components"] for one in row["requirements"]}
    moved = next(one for one in homes if homes[one] != "C1")
    for made in (change_row(READ.plan, moved, "component", "C1"), change_row(READ.plan, "C1", "requirements", moved)):
        assert next(row for row in made["requirements"] if row["id"] == moved)["component"] == "C1"
        assert [row["id"] for row in made["components"] if moved in row["requirements"]] == ["C1"]
        assert list(reference_faults(made)) == []


def test_a_row_that_was_deleted_by_hand_can_still_be_struck_from_what_names_it() -> None:
    made = copy.deepcopy(READ.plan)
    del made["requirements"][0]
    assert list(reference_faults(made)) != []
    assert list(reference_faults(strike_row(made, "R1"))) == []


def test_the_place_of_a_row_is_set_like_its_fields() -> None:
    made = change_row(change_row(READ.plan, "R1", "page", "4"), "R1", "quote", "12")
    assert made["requirements"][0]["source"] == {**READ.plan["requirements"][0]["source"], "page": 4, "quote": "12"}
    ids_in(made)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        pytest.param(lambda plan: strike_row(plan, "R99"), "no row R99", id="a row that is not there"),
        pytest.param(lambda plan: change_row(plan, "V1", "id", "V9"), "keeps its id", id="another id"),
        pytest.param(lambda plan: add_row(plan, "value", "seven"), "NAME = VALUE", id="a value without one"),
        pytest.param(lambda plan: add_row(plan, "requirement", " "), "nothing to add", id="a requirement of no words"),
        pytest.param(lambda plan: change_row(plan, "V2", "value", "[]"), "the list is empty", id="no values"),
        pytest.param(lambda plan: add_row(plan, "thing", "x"), "cannot be added", id="a thing"),
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
    quote, lost = doubts_about(plan, data, READ.document, READ.outline, [])
    line = data.decode().splitlines().index("- id: R2") + 1
    assert quote.startswith(f"line {line}: R2: the quote 'nobody ever wrote")
    assert "R77, which the plan does not have" in lost
    assert lost.startswith("line ")


def test_an_address_that_a_reviewer_typed_is_no_fault_of_the_plan() -> None:
    plan = copy.deepcopy(READ.plan)
    source = plan["requirements"][0]["source"]
    plan["datasets"] = [{"name": "Lobby", "address": "https://example.org/lobby.zip", "source": source}]
    data = CONTRACTS.serialise(NAME, plan, writer="a test")
    assert doubts_about(plan, data, READ.document, READ.outline, []) == []


def test_what_the_planner_writes_makes_sense() -> None:
    for made in (READ, example_paper()):
        data = CONTRACTS.serialise(NAME, made.plan, writer="a test")
        assert doubts_about(made.plan, data, made.document, made.outline, []) == []


def what_is_told(plan: dict[str, Any], made: Read = READ) -> list[str]:
    data = CONTRACTS.serialise(NAME, plan, writer="a test")
    return doubts_about(plan, data, made.document, made.outline, [])


def test_doubts_that_are_worded_alike_stand_once_with_the_rows_of_all_of_them() -> None:
    values = READ.plan["values"][:2]
    doubts = [{"about": row["id"], "what": "It may be of a baseline."} for row in values]
    ((what, rows),) = group_doubts({**READ.plan, "uncertain": doubts})
    assert (what, [one for one, _ in rows]) == ("It may be of a baseline.", [row["id"] for row in values])
    tables = [{"about": name, "what": f"Which rows of {name} count is not said."} for name in ("Table 2", "Table 5")]
    ((what, rows),) = group_doubts({**READ.plan, "uncertain": tables})
    assert (what, rows) == ("Which rows of Table 2 count is not said. The same of Table 5.", [])


def test_a_value_that_its_quote_does_not_hold_is_told() -> None:
    [told] = what_is_told(change_row(READ.plan, "V2", "value", "0.25"))
    assert "V2: 0.25 does not stand in the words that it quotes" in told


TABLES = """\
# Slow Waiting

## 1 Method

We wait with a patience of 3.

```
Algorithm 1: Wait a little
take a chair from the wall
sit down on the chair
```

## 2 Results

> **Table 1.** What came out.

| Method | WMT | IWSLT |
| --- | --- | --- |
| Hurry | 20.1 | 30.2 |
| Ours | 27.3 | 38.1 |
"""


@pytest.mark.parametrize(
    ("value", "row", "column", "told"),
    [
        pytest.param(27.3, "Ours", "WMT", "", id="where it stands"),
        pytest.param(27.3, "We", "test set", "", id="another name for its row"),
        pytest.param(38.1, "Ours", "WMT", "in the row 'Ours' and column 'WMT' of Table 1 on page 1, where '27.3' stands",
                     id="another column"),
        pytest.param(20.1, "Ours", "WMT", "where '27.3' stands", id="another row"),
        pytest.param(99.9, "We", "test set", "E1: 99.9 is not in the tables of page 1", id="nowhere"),
    ],
)  # fmt: skip
def test_a_result_that_is_not_where_it_is_said_to_stand_is_told(value: float, row: str, column: str, told: str) -> None:
    made = read(TABLES)
    result = {"id": "E1", "table": "Table 1", "row": row, "column": column, "metric": "BLEU", "value": value, "page": 1}
    plan = {**made.plan, "expected_results": [{**result, "condition": ""}]}
    pages = split_pages(made.document.text[made.document.body_start :])
    found = list(differences_from_paper(plan, pages, made.document.text, made.outline))
    assert len(found) == bool(told)
    assert told in "".join(found)


def test_a_result_of_a_sentence_is_not_looked_for_in_the_tables_of_its_page() -> None:
    made = read(TABLES)
    result = {"id": "E1", "table": "text of section 2", "row": "the method", "column": "BLEU", "metric": "BLEU"}
    plan = {**made.plan, "expected_results": [{**result, "value": 41.0, "page": 1}], "experiments": []}
    assert what_is_told(plan, made) == []


@pytest.mark.parametrize(("value", "is_told"), [("0 to 896", False), ("0 to 897", True), ("1 to 896", True)])
def test_a_range_is_held_by_its_ends(value: str, is_told: bool) -> None:
    said = "We varied the extent from zero to 896 bytes."
    made = read(f"# T\n\n## 1 Setup\n\n{said}\n")
    row = {"id": "V1", "name": "extent", "value": value, "owner": "method", "kind": "hyperparameter"}
    plan = {**made.plan, "values": [{**row, "source": {"section": "1", "page": 1, "quote": said}}]}
    pages = split_pages(made.document.text[made.document.body_start :])
    assert bool(list(differences_from_paper(plan, pages, made.document.text, made.outline))) is is_told


TWO_TABLES = """# T

## 1 Results

| Task | ours |
|---|---|
| Sedov | 11.9 |

> **Table 2.** Compression of our method.

| Task | ours |
|---|---|
| Sedov | 3 |

> **Table 3.** Speed of our method.
"""


def test_a_result_is_held_against_its_own_table_where_two_of_a_page_have_the_same_heads() -> None:
    made = read(TWO_TABLES)
    row = {"id": "E1", "table": "Table 3", "row": "Sedov", "column": "ours", "value": 14.7, "page": 1}
    pages = split_pages(made.document.text[made.document.body_start :])
    plan = {**made.plan, "values": [], "expected_results": [row]}
    [told] = differences_from_paper(plan, pages, made.document.text, made.outline)
    assert told == "E1: 14.7 is not in the row 'Sedov' and column 'ours' of Table 3 on page 1, where '3' stands"


def test_a_step_that_is_gone_from_an_algorithm_is_told() -> None:
    made = read(TABLES)
    source = {"section": "1", "page": 1, "quote": "Algorithm 1: Wait a little"}
    [algorithm] = made.outline["algorithms"]
    component = {"id": "C1", "name": "Wait", "what": "It waits.", "source": source, "requirements": []}
    plan = {
        **made.plan,
        "components": [{**component, "algorithm": algorithm["label"], "steps": ["take a chair from the wall"]}],
    }
    pages = split_pages(made.document.text[made.document.body_start :])
    told = list(differences_from_paper(plan, pages, made.document.text, made.outline))
    assert any("is missing from its steps: 'sit down on the chair'" in line for line in told), told


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (r"\mathrm{softmax}( QK^{T} / \sqrt{d_{k}} ) V", "softmax(QK^T / √(d_k)) V"),
        (r"\frac{1}{2n} \sum _{i=1}^{n} x_{i}", "1/(2n) ∑_(i=1)^n x_i"),
        (r"\hat{\pi} \leq \lambda \cdot \varepsilon \tag{3}", "π̂ ≤ λ · ε (3)"),
        (r"a \\ b", "a; b"),
        (r"\frac12 x + \frac1{n}", "1/2 x + 1/n"),
        (r"\begin{array}{l|r} a & b \\ c & d \end{array}", "a b; c d"),
        (r"\frac{1}{T - t_{0}} \sum w", "1/(T - t_0) ∑ w"),
        (r"\frac{\frac{1}{a_{1}}}{b}", "(1/(a_1))/b"),
        (r"\begin{cases} x & y > 0 \\ 0 \mathrm{otherwise} \end{cases}", "{x y > 0; 0 otherwise}"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a = b; c = d"),
        (r"\parallel x \parallel _{2} / \surd t + \|y\|", "‖ x ‖_2 / √ t + ‖y‖"),
        (r"\bigl( \bar s \bigr)", "(s̄)"),
        (r"\{ 1, 2 \}", "{1, 2}"),
        (r"\unknown{x} + {{{{", "x +"),
        ("{" * 3000, ""),
    ],
)
def test_a_formula_is_said_in_one_line_of_text(formula: str, said: str) -> None:
    assert " ".join(read_formula(formula).split()).replace("{ ", "{").replace(" }", "}") == said


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        (
            ["Algorithm 1: Sort", "Input: a", "1: swap", "2: stop"],
            [("", 0, "Input: a"), ("1", 0, "swap"), ("2", 0, "stop")],
        ),
        (["Algorithm 1: Sort", "swap 2 items", "stop"], [("1", 0, "swap 2 items"), ("2", 0, "stop")]),
        (["1 swap", "of them", "2 stop"], [("1", 0, "swap"), ("", 0, "of them"), ("2", 0, "stop")]),
        (["0.5 x + y", "2 x", "z"], [("1", 0, "0.5 x + y"), ("2", 0, "2 x"), ("3", 0, "z")]),
        (["1.1 init", "1.2 loop"], [("1", 0, "1.1 init"), ("2", 0, "1.2 loop")]),
        (
            ["100 epochs: train", "10 samples per class"],
            [("1", 0, "100 epochs: train"), ("2", 0, "10 samples per class")],
        ),
        (["9: if a", "10:   swap", "11: stop"], [("9", 0, "if a"), ("10", 2, "swap"), ("11", 0, "stop")]),
        (["  if a", "    swap", "  stop"], [("1", 0, "if a"), ("2", 2, "swap"), ("3", 0, "stop")]),
        (["1 if a", "\t2 swap"], [("1", 0, "if a"), ("2", 4, "swap")]),
        ([f"{' ' * 90}swap", "stop"], [("1", 24, "swap"), ("2", 0, "stop")]),
        (
            ["14 if b", "156 else", "  // it is free", "17   swap", "18 stop"],
            [("14", 0, "if b"), ("", 0, "else"), ("", 2, "// it is free"), ("17", 2, "swap"), ("18", 0, "stop")],
        ),
        (
            ["Require: a", "Require: b", "1: swap", "  a and b", "2: again", "  and again", "3: stop"],
            [
                ("", 0, "Require: a"),
                ("", 0, "Require: b"),
                ("1", 0, "swap"),
                ("", 2, "a and b"),
                ("2", 0, "again"),
                ("", 2, "and again"),
                ("3", 0, "stop"),
            ],
        ),
        (
            ["1 swap", "2   twice", "Then:", "1 wait", "2 stop"],
            [("1", 0, "swap"), ("2", 2, "twice"), ("3", 0, "Then:"), ("4", 0, "wait"), ("5", 0, "stop")],
        ),
        (["Step a.1 Send.", "Step b.1: Wait."], [("", 0, "Step a.1 Send."), ("", 0, "Step b.1: Wait.")]),
    ],
)
def test_the_lines_of_an_algorithm_keep_their_numbers_and_their_nesting(
    steps: list[str], shown: list[tuple[str, int, str]]
) -> None:
    assert [tuple(step) for step in steps_of({"algorithm": "Algorithm 1", "steps": steps})] == shown


@pytest.mark.slow
@given(st.text(st.sampled_from("\\{}_^$ ab1αfracqtsum&~")))
def test_any_formula_is_said(text: str) -> None:
    assert isinstance(read_aloud(text) + read_formula(text), str)


def test_ids_that_follow_each_other_are_a_range() -> None:
    assert write_ids(["R1", "R2", "R3", "R5", "V1", "V2"]) == "R1–R3, R5, V1, V2"
