"""plan.md: all of a plan that a reviewer needs, on at most 150 lines, in which words of a paper are text and nothing else."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.planning.plan_md import MOST_LINES, plan_md
from phases.planning.rules import plan_of_text
from tests.papers import PAPER, example_paper, read

READ = read(PAPER)


def planned(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(READ.plan), **changes}


def longer(times: int) -> dict[str, Any]:
    plan = copy.deepcopy(example_paper().plan)
    for name in ("requirements", "values", "expected_results", "components", "uncertain"):
        plan[name] = plan[name] * times
    return plan


@pytest.mark.parametrize("times", [1, 7], ids=["the example paper", "a paper seven times as long"])
def test_a_plan_has_at_most_150_lines_and_says_what_is_cut(times: int) -> None:
    plan = longer(times)
    text = plan_md(plan)
    assert text.count("\n") <= MOST_LINES
    assert "more lines: initial_plan.txt" in text
    assert "more lines" not in plan_md(plan, 0), "all of it, where all is asked for"
    assert text.count("```") % 2 == 0, "a listing that is cut is closed"


def test_a_reviewer_reads_what_is_built_then_what_is_uncertain_then_the_rest_in_the_order_of_the_paper() -> None:
    text = plan_md(example_paper().plan)
    heads = [line.removeprefix("## ").partition(":")[0] for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "What is built", "What is uncertain or missing", "Requirements", "Algorithms", "Equations of the components",
        "Settings", "Targets", "Files, in the order of writing",
    ]  # fmt: skip
    shown = re.findall(r"^- \*\*R([0-9]+)\*\*", text, re.MULTILINE)
    assert shown == sorted(shown, key=int)
    assert "  5    for each (x, y) in order do" in text, "steps as printed"


def test_what_is_uncertain_shows_its_rows_and_what_is_missing_its_assumption() -> None:
    missing = {**READ.plan["requirements"][0], "text": "No clip is given; assume 1.", "status": "missing"}
    text = plan_md(planned(requirements=[missing], uncertain=[{"about": "R1, V1", "what": "Which holds?"}]))
    doubts = text.partition("## What is uncertain or missing")[2].partition("## Settings")[0]
    assert re.search(r"- Which holds\? \(R1\)\n  - \*\*V1\*\* learning rate = 0\.1, of ", doubts)
    assert "- **R1** No clip is given; assume 1. (assumed)" in doubts


def test_settings_are_a_table_without_the_columns_that_nothing_fills() -> None:
    rows = [{**READ.plan["values"][0], "unit": "Hz", "condition": "for a|b"}, READ.plan["values"][1]]
    lines = [line for line in plan_md(planned(values=rows)).splitlines() if line.startswith("|")]
    assert lines[0].strip("| ").split() == ["id", "|", "name", "|", "value", "|", "unit", "|", "condition"]
    assert "for a\\|b" in lines[2]
    assert "| unit |" not in plan_md(planned(values=[READ.plan["values"][1]]))


def test_a_table_of_results_has_a_line_a_row() -> None:
    cells = [("AP", "Error", 17.5), ("AP", "Writes", 21.8), ("AP+M", "Error", 17.8)]
    made = [
        {"id": f"E{at}", "table": "Table 2", "row": row, "column": column, "value": value, "page": 3}
        for at, (row, column, value) in enumerate(cells, 1)
    ]
    assert "\n- **Table 2**\n  - AP: Error 17.5, Writes 21.8 (E1, E2)\n  - AP+M: Error 17.8 (E3)\n" in plan_md(
        planned(expected_results=made)
    ).replace(", p. 3", "")


HOSTILE = (
    "<script>x</script>",
    "\\<img src=x>",
    "![x](http://a.example/p.png)",
    "[x](javascript:x)",
    "\x1b[2J\u202egone",
    "<!-- x",
)


@pytest.mark.parametrize("words", HOSTILE)
def test_words_of_a_paper_are_neither_html_nor_links_nor_pictures_nor_control_characters(words: str) -> None:
    plan = planned(paper={"title": words, "core_contribution": words}, uncertain=[{"what": words}])
    plan["requirements"][0]["text"] = plan["values"][0]["name"] = plan["components"][0]["name"] = words
    text = plan_md(plan)
    assert not re.search(r"<[A-Za-z/!]|!\[|\]\(", text)
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("words", ["```", "````", "~~~", "  ```  ", "<b>"])
def test_no_step_of_an_algorithm_ends_its_block(words: str) -> None:
    plan = planned()
    plan["components"][0] |= {"steps": [words, "x"], "algorithm": "Algorithm 1"}
    fences = [line for line in plan_md(plan).splitlines() if re.match(r" {0,3}(```|~~~)", line)]
    assert fences[:2] == ["```", "```"]
    assert len(fences) % 2 == 0


@given(st.text(max_size=40))
def test_any_words_keep_the_lines_of_the_plan(words: str) -> None:
    plan = planned(paper={"title": words, "core_contribution": words})
    assert plan_md(plan).count("\n") == plan_md(planned()).count("\n")


def test_a_plan_by_a_model_names_its_language_and_needs_neither_pages_nor_quotes() -> None:
    source = {"section": None, "page": 0, "quote": ""}
    rows = [{**row, "source": source} for row in READ.plan["requirements"]]
    text = plan_md(planned(language="C++", framework="Qt", requirements=rows))
    assert " In C++ with Qt.\n" in text
    assert f"- **R2** {rows[1]['text']}\n" in text


def test_a_requirement_in_the_words_of_its_planner_says_so_and_shows_its_quote() -> None:
    first, *others = READ.plan["requirements"]
    own = {**first, "text": "Clip at 1 and log each step.", "source": {**first["source"], "quote": "We clip at 1"}}
    text = plan_md(planned(requirements=[own, *others]))
    assert "These are the planner's words; a quote is the paper's, and may prove only a part of its row." in text
    assert re.search(r"Clip at 1 and log each step\..* \(.*quote: “We clip at 1”\)", text)
    assert "quote: " not in plan_md(READ.plan), "sentences of the paper are their own proof"


def test_a_wish_is_shown_without_pages() -> None:
    plan = plan_of_text(
        "Build a queue. It must survive a crash.", {"title": "A queue", "abstract": "", "equations": []}
    )
    assert plan
    assert "The plan: 2 requirements, 2 components, 7 files." in plan_md(plan)
    assert "p. " not in plan_md(plan)
