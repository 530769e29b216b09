"""A model writes a plan without what can be looked up or counted; the plan that comes of it is the same."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.planning.changes import plan_difference
from phases.planning.model.form import complete_plan, in_form, reply_form, server_form
from phases.planning.model.plan_validation import PLAN, NoPlan, mended_plan, plan_in_reply, problems_of, whole_plan
from phases.planning.model.quote_index import QuoteIndex, find_places
from phases.planning.plan_md import plan_md
from phases.planning.quotes import quote_of
from pipeline.base.plain_yaml import dump_yaml
from pipeline.engine.contract import Contracts
from tests.papers import PAPER, read
from tests.work import assert_linear

CONTRACTS = Contracts()
SCHEMA = CONTRACTS.schema(PLAN)
READ = read(PAPER)
WHOLE = READ.plan
BODY = READ.document.text[READ.document.body_start :]
SECTIONS = [
    (str(row["number"] or row["title"]), READ.document.text[row["start"] : end])
    for row, end in zip(
        READ.outline["sections"],
        [*(row["start"] for row in READ.outline["sections"][1:]), len(READ.document.text)],
        strict=True,
    )
]
FRONT = READ.document.text[READ.document.body_start : READ.outline["sections"][0]["start"]]
CITED = QuoteIndex([(1, BODY)], (), [(None, FRONT), *SECTIONS])
SOURCED = ("requirements", "components", "values", "datasets", "metrics", "baselines")


def _short(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan as a model writes it."""
    made = {key: value for key, value in plan.items() if key not in ("tables", "implementation_strategy")}
    for name in SOURCED:
        made[name] = [in_form(row) for row in plan[name]]
    for row in made["requirements"]:
        row["quote"] = quote_of({**row, "source": row})
        del row["status"]
    for row in made["components"]:
        del row["requirements"]
    made["file_structure"] = [{k: v for k, v in row.items() if k != "implements"} for row in plan["file_structure"]]
    return made


SHORT = _short(WHOLE)


def _plan_of(value: dict[str, Any], present: dict[str, Any] | None = None) -> dict[str, Any]:
    return find_places(plan_in_reply(json.dumps(value), CONTRACTS, present), CITED, present)


def test_a_plan_without_places_statuses_and_lists_that_can_be_counted_comes_out_whole() -> None:
    plan = _plan_of(SHORT)
    assert CONTRACTS.breach(SCHEMA, plan) is None
    assert problems_of(plan, CITED) == []
    for name in SOURCED:
        assert [(row["source"]["section"], row["source"]["page"]) for row in plan[name]] == [
            (row["source"]["section"], row["source"]["page"]) for row in WHOLE[name]
        ]
    assert [row["requirements"] for row in plan["components"]] == [row["requirements"] for row in WHOLE["components"]]
    met = [name for row in plan["file_structure"] for name in row.get("implements", ())]
    facts = [row["id"] for row in WHOLE["values"] if row["kind"] == "fact"]
    assert sorted(met) == sorted(
        row["id"] for key in ("requirements", "values") for row in WHOLE[key] if row["id"] not in facts
    )
    places = {path: place for place, path in enumerate(plan["implementation_strategy"])}
    assert all(places[path] > places[one] for row in plan["file_structure"] for path in [row["path"]]
               for one in row.get("depends_on", ()))  # fmt: skip


def test_the_server_is_given_the_schema_of_the_short_form() -> None:
    schema = server_form(reply_form(SCHEMA, is_change=False), is_request=False)
    assert CONTRACTS.breach(schema, {**SHORT, "expected_results": [], "experiments": []}) is None
    assert "source" in (CONTRACTS.breach(schema, {**SHORT, "requirements": WHOLE["requirements"]}) or "")


def test_a_request_needs_neither_quotes_nor_results() -> None:
    schema = server_form(reply_form(SCHEMA, is_change=False), is_request=True)
    asked = {name: rows for name, rows in SHORT.items() if name not in ("datasets", "metrics", "baselines")}
    asked |= {"values": [{key: said for key, said in row.items() if key != "quote"} for row in SHORT["values"]]}
    asked = {name: rows for name, rows in asked.items() if name not in ("expected_results", "experiments")}
    assert CONTRACTS.breach(schema, asked) is None
    plan = _plan_of(asked)
    assert plan["metrics"] == plan["expected_results"] == []
    assert {row["status"] for row in plan["values"]} == {"inferred"}
    assert problems_of(plan, CITED) == []


TABLES: list[dict[str, Any]] = [
    {"table": "Table 2", "page": 7, "metric": "accuracy", "unit": "%", "columns": ["A", "B"],
     "rows": [["ours", "92.1 ± 0.3", "–"], ["ours, small", "at least 50", 90]]},
    {"table": "Figure 3", "columns": ["model", "loss"], "rows": [["ours", 0.5]]},
]  # fmt: skip


def test_a_table_of_results_becomes_a_target_for_each_cell_and_is_named_by_its_label() -> None:
    experiments = [{"id": "X1", "what": "x", "results": ["table 2", "Figure 3", "Table 9"]}]
    plan = _plan_of({**SHORT, "expected_results": TABLES, "experiments": experiments})
    place = {"table": "Table 2", "metric": "accuracy", "unit": "%", "page": 7}
    assert plan["expected_results"] == [
        {"id": "E1", "row": "ours", "column": "A", "value": "92.1 ± 0.3", **place},
        {"id": "E2", "row": "ours, small", "column": "A", "value": "at least 50", **place},
        {"id": "E3", "row": "ours, small", "column": "B", "value": 90, **place},
        {"id": "E4", "table": "Figure 3", "row": "ours", "column": "loss", "value": 0.5, "page": 0},
    ]
    assert plan["experiments"][0]["results"] == ["E1", "E2", "E3", "E4"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        pytest.param({"text": "Dance all night.", "quote": "", "status": "stated"}, "is not in the paper", id="no quote"),
        pytest.param({"text": "Dance all night.", "quote": ""}, "", id="no quote, and so inferred"),
        pytest.param(
            {"text": "We dance.", "status": "inferred", "quote": "we dance all night long"},
            "is not in the paper",
            id="a quote of nobody",
        ),
        pytest.param({"text": "Assume zeros.", "status": "missing", "quote": ""}, "", id="what is missing"),
    ],
)  # fmt: skip
def test_a_row_in_the_models_own_words_says_so_or_is_told_back(row: dict[str, Any], said: str) -> None:
    plan = _plan_of({**SHORT, "requirements": [{**SHORT["requirements"][0], **row}, *SHORT["requirements"][1:]]})
    problems = problems_of(plan, CITED)
    assert [said in problem for problem in problems] == ([True] if said else [])


def test_a_plan_that_quotes_nothing_is_refused_as_a_whole() -> None:
    rows = [
        {**row, "text": f"Dance on {row['id']}.", "status": "missing", "quote": ""} for row in SHORT["requirements"]
    ]
    problems = problems_of(_plan_of({**SHORT, "requirements": rows}), CITED)
    assert problems == ["requirements: not one of them quotes words that are there"]


def test_a_requirement_in_the_papers_own_words_needs_no_quote_and_never_says_them_twice() -> None:
    assert {row["source"]["quote"] for row in WHOLE["requirements"]} == {""}
    assert misquoted({**WHOLE["requirements"][0], "text": "Nobody wrote this down."})
    assert not any(misquoted(row) for row in WHOLE["requirements"])


def misquoted(row: dict[str, Any]) -> bool:
    return CITED.fault(row) is not None


def test_what_the_paper_does_not_say_is_told_so_where_a_person_reads_it() -> None:
    missing = {"id": "R99", "kind": "model", "text": "No clip is given; assume 1.", "status": "missing"}
    plan = _plan_of(
        {
            **SHORT,
            "requirements": [*SHORT["requirements"], missing],
        }
    )
    assert problems_of(plan, CITED) == []
    shown = plan_md(plan)
    assert "No clip is given; assume 1. (assumed)" in shown


def test_what_is_wrong_is_told_in_the_form_in_which_the_model_wrote() -> None:
    with pytest.raises(NoPlan, match=r"at \$\.metrics\[0\]\.name: 3 is not of type"):
        _plan_of({**SHORT, "metrics": [{"name": 3}]})


def test_files_in_a_circle_are_told_of_and_do_not_hang() -> None:
    files = copy.deepcopy(SHORT["file_structure"])
    files[0]["depends_on"], files[1]["depends_on"] = [files[1]["path"]], [files[0]["path"]]
    assert any("in a circle" in one for one in problems_of(_plan_of({**SHORT, "file_structure": files}), CITED))


# A change of a plan that is there


def test_a_change_that_says_nothing_leaves_every_byte() -> None:
    assert _plan_of({}, WHOLE) == WHOLE


def test_a_row_that_is_struck_is_gone_everywhere_and_all_others_stay() -> None:
    first, *others = WHOLE["requirements"]
    plan = _plan_of({"struck": [first["id"]], "requirements": [{"id": others[0]["id"]}]}, WHOLE)
    assert plan["requirements"] == others
    assert not any(first["id"] in row["requirements"] for row in plan["components"])
    assert not any(first["id"] in row.get("implements", ()) for row in plan["file_structure"])
    assert problems_of(plan, CITED, WHOLE) == []


def test_a_row_that_a_change_rewords_keeps_what_it_names_unless_that_is_set() -> None:
    part, home = (
        WHOLE["components"][0],
        next(row for row in WHOLE["file_structure"] if len(row.get("implements", ())) > 1),
    )
    reworded = {"id": part["id"], "name": part["name"], "what": "It waits longer.", "quote": part["source"]["quote"]}
    plan = _plan_of(
        {"components": [reworded], "file_structure": [{"path": home["path"], "purpose": "It waits longer."}]}, WHOLE
    )
    assert next(row for row in plan["components"] if row["id"] == part["id"])["requirements"] == part["requirements"]
    after = next(row for row in plan["file_structure"] if row["path"] == home["path"])
    assert after == {**home, "purpose": "It waits longer."}
    less = {**home, "implements": home["implements"][:1]}
    cut = _plan_of({"file_structure": [less]}, WHOLE)
    assert plan_difference(WHOLE, cut) == [f"~ {home['path']}: implements -{' -'.join(home['implements'][1:])}"]


def test_a_new_row_of_a_change_joins_its_component_and_the_file_of_that() -> None:
    part = WHOLE["components"][0]
    new = {"id": "R77", "kind": "model", "component": part["id"], "text": "Assume zeros.", "status": "missing"}
    plan = _plan_of({"requirements": [new], "uncertain": [{"what": "How long?"}]}, WHOLE)
    assert plan["requirements"][:-1] == WHOLE["requirements"]
    assert plan["uncertain"] == [*WHOLE["uncertain"], {"what": "How long?"}]
    assert "R77" in next(row for row in plan["components"] if row["id"] == part["id"])["requirements"]
    [home] = [row for row in plan["file_structure"] if "R77" in row.get("implements", ())]
    assert part["id"] in home["components"]
    unchanged = [row for row in plan["file_structure"] if row["path"] != home["path"]]
    assert all(row in WHOLE["file_structure"] for row in unchanged)


def test_a_requirement_that_quotes_what_was_asked_for_is_of_the_review() -> None:
    wish = "Also wait in the garden, please."
    cited = QuoteIndex([(1, BODY)], [wish], [(None, FRONT), *SECTIONS])
    new = {"id": "R77", "kind": "artifact", "text": "It waits in the garden, too.", "quote": "wait in the garden"}
    plan = find_places(plan_in_reply(json.dumps({"requirements": [new]}), CONTRACTS, WHOLE), cited, WHOLE)
    assert plan["requirements"][-1]["source"] == {"section": "review", "page": 0, "quote": "wait in the garden"}
    assert problems_of(plan, cited, WHOLE) == []


def test_a_change_fits_the_schema_that_the_server_is_given_for_it() -> None:
    change = {"struck": ["R1"], "file_structure": [{"path": "a.py", "purpose": "It waits."}]}
    schema = server_form(reply_form(SCHEMA, is_change=True), is_request=False)
    assert CONTRACTS.breach(schema, change) is None


def test_tables_of_a_change_are_further_results() -> None:
    present = _plan_of({**SHORT, "expected_results": TABLES})
    plan = _plan_of({"expected_results": [TABLES[1], {**TABLES[1], "table": "Figure 4"}]}, present)
    assert [row["id"] for row in plan["expected_results"]] == ["E1", "E2", "E3", "E4", "E5", "E6"]
    assert [row["table"] for row in plan["expected_results"][-2:]] == ["Figure 3", "Figure 4"]


def test_a_whole_plan_in_the_place_of_a_change_is_the_plan() -> None:
    without = {**SHORT, "requirements": SHORT["requirements"][1:]}
    assert len(_plan_of(without, WHOLE)["requirements"]) == len(WHOLE["requirements"]) - 1


def test_what_is_struck_is_named_nowhere_and_its_id_is_not_used_again() -> None:
    tables = {**SHORT, "expected_results": TABLES, "experiments": [{"id": "X1", "what": "x", "results": ["Table 2"]}]}
    present = _plan_of(tables)
    plan = _plan_of({"struck": ["E3", "C1"], "expected_results": [TABLES[1]]}, present)
    assert [row["id"] for row in plan["expected_results"]] == ["E1", "E2", "E4", "E5"]
    assert plan["experiments"][0]["results"] == ["E1", "E2"]
    assert "C1" not in json.dumps([plan["file_structure"], plan["requirements"]])
    assert problems_of(plan, CITED, present) == []


def test_the_order_of_files_is_counted_again_where_one_depends_on_a_later_one() -> None:
    first, [last] = WHOLE["file_structure"][1], [row for row in WHOLE["file_structure"] if row["path"] == "README.md"]
    plan = _plan_of({"file_structure": [{**first, "depends_on": [last["path"]]}]}, WHOLE)
    order = plan["implementation_strategy"]
    assert order.index(first["path"]) > order.index(last["path"])
    assert problems_of(plan, CITED, WHOLE) == []


def test_a_change_that_says_nothing_fills_no_gaps_of_the_present_plan() -> None:
    bare = {
        **WHOLE,
        "file_structure": [{k: v for k, v in row.items() if k != "implements"} for row in WHOLE["file_structure"]],
    }
    assert _plan_of({}, bare) == bare


def test_a_plan_in_its_own_form_keeps_its_files_though_one_of_them_meets_nothing() -> None:
    first, *others = WHOLE["file_structure"]
    bare = {**WHOLE, "file_structure": [{key: value for key, value in first.items() if key != "implements"}, *others]}
    assert plan_in_reply(json.dumps(bare), CONTRACTS) == bare


def test_a_plan_in_the_short_form_may_be_yaml() -> None:
    assert plan_in_reply(dump_yaml(SHORT).decode(), CONTRACTS) == complete_plan(SHORT)


# Tables, quotes and sizes


@pytest.mark.parametrize(
    ("rows", "found", "told"),
    [
        pytest.param(
            [["ours", 1, 2], ["small", 3]], [("ours", "A", 1), ("ours", "B", 2)], "Table 5, small", id="a cell too few"
        ),
        pytest.param(
            [["small", 3, 4, 5], ["ours", 1, 2]],
            [("ours", "A", 1), ("ours", "B", 2)],
            "Table 5, small",
            id="a cell too many",
        ),
    ],
)
def test_a_row_that_does_not_fit_its_heads_is_left_out_and_told(rows: list[Any], found: list[Any], told: str) -> None:
    plan = _plan_of({**SHORT, "expected_results": [{"table": "Table 5", "columns": ["A", "B"], "rows": rows}]})
    assert [(row["row"], row["column"], row["value"]) for row in plan["expected_results"]] == found
    assert told in plan["uncertain"][-1]["what"]


def test_more_targets_than_a_plan_may_have_are_told_with_their_number() -> None:
    table = {"table": "T", "columns": ["A"] * 30, "rows": [["r", *range(30)]] * 60}
    plan = complete_plan({**SHORT, "expected_results": [table] * 40})
    assert len(plan["expected_results"]) == 5000
    assert list(problems_of(plan, CITED)) == [
        "expected_results: 5000 cells are too many; at most 400: leave out columns"
    ]


def test_a_reply_that_mends_changes_the_rows_that_misquote_and_no_others() -> None:
    first, second = WHOLE["values"][:2]
    said = {"values": [{"id": first["id"], "quote": "We wait, and measure how long"}, {"id": second["id"], "value": 7}]}
    plan = mended_plan(json.dumps(said), WHOLE, {first["id"]: "x"}, [], CONTRACTS)
    assert plan["values"][0]["source"]["quote"] == "We wait, and measure how long"
    assert plan["values"][1:] == WHOLE["values"][1:]


class Compared(str):
    """A name of which each comparison is a step that can be counted."""

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def complete_long_reply(length: int) -> None:
    part = {**SHORT["components"][0], "requirements": [Compared(f"R{number}") for number in range(length)]}
    files = [{**row, "components": [part["id"]] * length} for row in SHORT["file_structure"]]
    experiments = [{"id": "X1", "what": "x", "results": ["Table 2"] * length}]
    many = {
        **SHORT,
        "components": [part],
        "file_structure": files,
        "experiments": experiments,
        "expected_results": TABLES,
    }
    complete_plan(many)


def test_a_reply_is_completed_in_work_that_grows_with_its_length_alone() -> None:
    assert_linear(complete_long_reply, 300)


# Whatever a model writes

LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=4)
    | st.sampled_from(["R1", "C1", "E1", "Table 2"])
)
KEY = st.sampled_from(
    ["id", "name", "component", "components", "requirements", "table", "columns", "rows", "results", "path",
     "depends_on", "implements", "source", "quote", "page", "text", "kind"]
)  # fmt: skip
INNER = LEAF | st.lists(LEAF | st.lists(LEAF, max_size=3), max_size=3) | st.dictionaries(KEY, LEAF, max_size=3)
JSON = (
    LEAF
    | st.lists(LEAF | st.dictionaries(KEY, INNER, max_size=5), max_size=4)
    | st.dictionaries(KEY, INNER, max_size=4)
)


@given(st.dictionaries(st.sampled_from([*SHORT, "implementation_strategy", "struck"]), JSON, max_size=5), st.booleans())
@example({"requirements": True}, True)
@example({"struck": {"R1": 1}, "values": [{"id": ["V1"]}], "uncertain": [3]}, True)
@example({"expected_results": [{"columns": ["a"], "rows": [[], "x", [1, 2]]}]}, False)
@example({"components": [{"id": ["C1"]}], "requirements": [{"component": ["C1"]}]}, True)
def test_no_reply_breaks_what_completes_it(value: dict[str, Any], is_change: bool) -> None:
    before = copy.deepcopy(value)
    present = WHOLE if is_change else None
    with suppress(NoPlan):
        plan = find_places(whole_plan(value, CONTRACTS, present), CITED, present)
        assert all(isinstance(problem, str) for problem in problems_of(plan, CITED, present))
    assert value == before
