"""Requirements and the plan by rules: the same every time, every claim quoted from the paper, and fit to be carried out."""

from __future__ import annotations

import ast
import json
import keyword
import math
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.paper.markdown import PAGE_MARK, paper_document
from phases.paper.pdf import read_pdf
from phases.paper.plan import VERIFY, package_name
from phases.paper.reading import Reading
from pipeline.contract import Contracts
from tests.papers import EXAMPLE, MARKDOWN, PAPER, Read, example_paper, read, read_on
from tests.strategies import QUICK

PAGE_1 = "# Waiting\n\n# 1 Method\n\nThe waiter is good.\n\n" + "Nothing is said here. " * 20
PAGE_2 = """We minimize the cross-entropy loss on this page.

We use a learning rate of 0.25 here.

# 2 Experiments

We report the accuracy in this section, and compare with the Hurry baseline."""
TWO_PAGES = (PAGE_1, PAGE_2)


def by_kind(made: Read) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for row in made.requirements:
        kinds.setdefault(row["kind"], []).append(row["text"])
    return kinds


def squeezed(text: str) -> str:
    return "".join(PAGE_MARK.sub("", text).split())


def pages_of(text: str) -> dict[int, str]:
    marks = [*PAGE_MARK.finditer(text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {int(mark.group(1)): squeezed(text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)}


def test_every_kind_of_demand_of_a_small_paper_is_found() -> None:
    kinds = by_kind(read(PAPER))
    assert kinds["algorithm"] == ["Algorithm 1: Wait a little"]
    assert kinds["model"] == ["Waiting model"]
    assert kinds["loss"] == ["We minimize the cross-entropy loss of the waiter over all rooms."]
    assert kinds["hyperparameter"] == ["learning_rate = 0.1", "batch_size = 32", "epochs = 5"]
    assert kinds["experiment"] == ["Experiments"]
    assert {"dataset", "metric", "baseline"} <= kinds.keys()


VALUES = [
    pytest.param("a learning rate of 0.001", "learning_rate", 0.001, id="a decimal"),
    pytest.param("a learning rate of 1e-4", "learning_rate", 0.0001, id="an exponent"),
    pytest.param("a learning rate of $3 \\times 10^{-4}$", "learning_rate", 0.0003, id="a power in TeX"),
    pytest.param("the batch size is set to 1,024", "batch_size", 1024, id="a thousand with a comma"),
    pytest.param("trained for 20 epochs", "epochs", 20, id="a count"),
    pytest.param("dropout = 0.5", "dropout", 0.5, id="an equals sign"),
    pytest.param("| momentum | 0.9 |", "momentum", 0.9, id="a row of a table"),
]


@pytest.mark.parametrize(("words", "name", "value"), VALUES)
def test_a_stated_value_is_taken_as_it_is_stated(words: str, name: str, value: float) -> None:
    rows = read(f"# T\n\n## 1 Experiments\n\nHere we see {words} in all runs.\n").requirements
    assert [(row["name"], row["value"]) for row in rows if row["kind"] == "hyperparameter"] == [(name, value)]


@pytest.mark.parametrize("number", ["1e999", "9" * 5000, "0." + "9" * 400, "1" * 400])
def test_a_value_that_is_no_number_of_this_world_does_no_harm(number: str) -> None:
    made = read(f"# T\n\n## 1 Experiments\n\nHere a learning rate of {number} is used in all runs.\n")
    for row in made.requirements:
        if row["kind"] == "hyperparameter":
            assert math.isfinite(row["value"])
    json.dumps(made.plan, allow_nan=False)


def test_a_demand_is_cited_with_the_page_that_it_stands_on() -> None:
    made = read_on(paper_document(Reading("ok", "x 1", TWO_PAGES), "0" * 64))
    pages = {row["kind"]: row["source"]["page"] for row in made.requirements}
    assert pages == dict.fromkeys(pages, 2) | {"model": 1}, made.requirements


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: read(PAPER), id="a Markdown paper"),
        pytest.param(lambda: read_on(paper_document(Reading("ok", "x 1", TWO_PAGES), "0" * 64)), id="two pages"),
        pytest.param(example_paper, id="the example paper"),
    ],
)
def test_every_quote_is_in_the_paper_on_the_page_and_in_the_section_it_cites(made: Any) -> None:
    paper: Read = made()
    pages = pages_of(paper.document.text)
    sections = {row["number"] or row["title"] for row in paper.outline["sections"]}
    assert paper.requirements
    for row in paper.requirements:
        quote = squeezed(row["source"]["quote"].removesuffix("…"))
        assert quote, row
        assert quote in pages[row["source"]["page"]], row
        assert row["source"]["section"] in sections, row


@given(MARKDOWN)
@example("# T\n\n## 1 Method\n\nWe minimize\n| a | table |\nthe loss of it.")
@example("# T\n\n## 1 Method\n\nWe minimize\n# 1\nthe loss of it.")
@QUICK
def test_every_quote_of_every_text_is_in_it(text: str) -> None:
    made = read(text)
    whole = squeezed(made.document.text)
    for row in made.requirements:
        assert squeezed(row["source"]["quote"].removesuffix("…")) in whole, row


@given(MARKDOWN, st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), max_size=3))
@QUICK
def test_the_plan_of_every_text_is_one_that_can_be_carried_out(text: str, requests: list[str]) -> None:
    first, second = read(text, requests), read(text, requests)
    plan = first.plan
    assert json.dumps(plan) == json.dumps(second.plan)
    Contracts().serialise("initial_plan.txt", plan, writer="a test")
    identifiers = [row["id"] for row in plan["requirements"]]
    assert len(set(identifiers)) == len(identifiers)
    paths = [row["path"] for row in plan["file_structure"]]
    assert len(set(paths)) == len(paths) == len(plan["implementation_strategy"])
    met = [identifier for row in plan["file_structure"] for identifier in row["implements"]]
    assert sorted(met) == sorted(identifiers), "each requirement has exactly one file"
    for row in plan["file_structure"]:
        before = plan["implementation_strategy"][: plan["implementation_strategy"].index(row["path"])]
        assert set(row["depends_on"]) <= set(before), "a file comes after what it depends on"
        names = [words.split(" = ")[0].removeprefix("class ").removeprefix("def ") for words in row["interface"]]
        assert len(set(names)) == len(names)
        for name in names:
            assert name.isidentifier(), name
            assert not keyword.iskeyword(name), name
    assert plan["validation_approach"]["verify_commands"] == [VERIFY]


def test_what_was_asked_for_at_the_review_is_a_requirement() -> None:
    rows = read(PAPER, ["use the second data set too"]).plan["requirements"]
    assert (rows[-1]["text"], rows[-1]["source"]["section"]) == ("use the second data set too", "review")


NAMES = [
    ("Slow Waiting for Everyone", "slow_waiting_everyone"),
    ("The Art of the Deal: A Study", "art_deal_study"),
    ("3D Vision", "paper_3d_vision"),
    ("Import", "paper_import"),
    ("等待的艺术", "paper"),
    ("", "paper"),
    ("../../etc/passwd", "etc_passwd"),
]


@pytest.mark.parametrize(("title", "name"), NAMES)
def test_a_package_is_named_after_the_telling_words_of_the_title(title: str, name: str) -> None:
    assert package_name(title) == name


@pytest.mark.parametrize("title", ["Tests", "Random", "Unittest", "JSON", "Types", "Logging", "The Tests", "Argparse"])
def test_a_package_hides_neither_the_tests_nor_the_standard_library(title: str) -> None:
    name = package_name(title)
    assert name != "tests"
    assert name not in sys.stdlib_module_names


@given(st.text(max_size=300))
@example("a" * 3000)
@example("class")
@example("tests")
@QUICK
def test_a_package_name_is_always_a_name(title: str) -> None:
    name = package_name(title)
    assert name.isidentifier()
    assert name.isascii()
    assert not keyword.iskeyword(name)
    assert len(name) <= 200, "longer ones are no file names"
    ast.parse(f"import {name}")


def test_the_example_paper_is_planned_the_same_way_twice() -> None:
    again = read_on(paper_document(read_pdf(str(EXAMPLE)), "0" * 64))
    assert json.dumps(again.plan) == json.dumps(example_paper().plan)
