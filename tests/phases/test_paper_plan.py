"""Requirements and the plan by rules: the same every time, every claim quoted from the paper, and fit to be carried out."""

from __future__ import annotations

import ast
import json
import keyword
import math
import sys
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.paper.latex.reader import read_latex
from phases.paper.markdown import PAGE_MARK, paper_document
from phases.paper.pdf.reader import read_pdf
from phases.paper.planning.choice import LONGEST_TEXT, MOST_CHARACTERS
from phases.paper.planning.plan import VERIFY, package_name, plan_by_rules
from phases.paper.planning.requirements import requirements_of
from phases.paper.planning.sentences import sentences_of, statement_of
from phases.paper.reading import Reading
from pipeline.contract import Contracts
from tests.papers import EXAMPLE, HANGS, MARKDOWN, PAPER, SHARED, Read, example_paper, read, read_on
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
    assert "Model waits first and then answers all questions at once" in kinds["model"]
    assert kinds["loss"] == ["Minimize cross-entropy loss of waiter over all rooms"]
    assert set(kinds["hyperparameter"]) == {"learning_rate = 0.1", "batch_size = 32", "epochs = 5"}
    said = "; ".join(text for texts in kinds.values() for text in texts)
    for wanted in ("Lobby data set", "accuracy over 5 epochs", "Hurry baseline"):
        assert wanted in said, f"{wanted} is asked for in the paper"


NOTHING_TO_BUILD = [
    pytest.param("## 1 Method\n\nOur approach outperforms all of the others by a wide margin.", id="praise"),
    pytest.param("## 1 Method\n\nBy Lemma 3 the sequence of all iterates is bounded in norm.", id="a step of a proof"),
    pytest.param("## 2 Related Work\n\nThe early waiters use a queue to keep the order.", id="what others did"),
    pytest.param("## A Proofs\n\n### A.1 Steps\n\nWe use a queue to keep the order.", id="what is under a proof"),
    pytest.param("## 1 Introduction\n\nWaiting is a very old habit of all people.", id="motivation"),
    pytest.param("## References\n\n[1] We use a queue to keep the order. 1999.", id="a reference"),
    pytest.param("## 1 Method\n\n0.1 0.2 0.3 0.4 Top10 Top20 Top10 Top20 Top10 waiting", id="the labels of a picture"),
]


@pytest.mark.parametrize("text", NOTHING_TO_BUILD)
def test_what_asks_for_no_code_is_no_requirement(text: str) -> None:
    kinds = by_kind(read(f"# Waiting\n\n{text}\n\n## 7 Setup\n\nWe train the waiter for 5 epochs.\n"))
    assert kinds == {"model": ["Train waiter for 5 epochs"], "hyperparameter": ["epochs = 5"]} or kinds == {
        "experiment": ["Train waiter for 5 epochs"],
        "hyperparameter": ["epochs = 5"],
    }, "only the setup asks for code"


STATEMENTS = [
    ("Moreover, in this section, we use the Adam optimizer (Kingma & Ba, 2015).", "use Adam optimizer"),
    ("The batch size is set to 32 [4, 12].", "batch size = 32"),
    ("As shown in Figure 3, a queue is used in order to keep the order.", "queue is used to keep order"),
    ("We sample x from the interval in [0, 1].", "sample x from interval in [0, 1]"),
    ("We follow Guan et al. (2021), see [the code](https://example.org/a).", "follow Guan et al., see code"),
    ("In addition to the queue, we propose to use a stack.", "In addition to queue, use stack"),
    ("Die Wartezeit wird mit dem Verfahren [müller2019] berechnet.", "Die Wartezeit wird mit dem Verfahren berechnet"),
]


@pytest.mark.parametrize(("clause", "statement"), STATEMENTS)
def test_a_statement_keeps_names_and_numbers_and_drops_the_rest(clause: str, statement: str) -> None:
    assert statement_of(clause) == statement


def test_a_sentence_does_not_end_at_an_abbreviation() -> None:
    text = "We follow Guan et al. In this they wait, cf. Sec. 3. Then they go. 他们等待。然后走。"
    assert list(sentences_of(text)) == [
        "We follow Guan et al. In this they wait, cf. Sec. 3.",
        "Then they go.",
        "他们等待。",
        "然后走。",
        "",
    ]


VALUES = [
    pytest.param("a learning rate of 0.001", "learning_rate", 0.001, id="a decimal"),
    pytest.param("a learning rate of 1e-4", "learning_rate", 0.0001, id="an exponent"),
    pytest.param("a learning rate of $3 \\times 10^{-4}$", "learning_rate", 0.0003, id="a power in TeX"),
    pytest.param("the batch size is set to 1,024", "batch_size", 1024, id="a thousand with a comma"),
    pytest.param("trained for 20 epochs", "epochs", 20, id="a count"),
    pytest.param("dropout = 0.5", "dropout", 0.5, id="an equals sign"),
    pytest.param("momentum 0.9", "momentum", 0.9, id="nothing between name and number"),
    pytest.param("a rate of 3 × 10−4", "rate", 0.0003, id="a power whose text layer lost that it is raised"),
    pytest.param("λ from {0, 0.1, 0.01}", "lambda", "0, 0.1, 0.01", id="a set to try, under a Greek name"),
    pytest.param("$\\beta_2 = 0.98$", "beta_2", 0.98, id="a letter with an index"),
    pytest.param("the mask batch size of 16", "mask_batch_size", 16, id="a name with a word before it"),
    pytest.param("warmup_steps = 4000", "warmup_steps", 4000, id="a name as in code"),
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
    made = read_on(paper_document(Reading("ok", "x 1", TWO_PAGES), "0" * 64, "pdf"))
    pages = {row["kind"]: row["source"]["page"] for row in made.requirements}
    assert pages, "something is demanded"
    assert set(pages.values()) == {2}, made.requirements


TABLE = """# Waiting

## 4 Setup

> **Table 2.** Hyper-parameters of the waiters

| Setting | Lobby | Hall |
|---|---|---|
| learning rate | 0.1 | 0.2 |
| λ | 0.5 | 0.5 |

> **Table 3.** Time that is waited

| Method | Rooms A | Rooms B |
|---|---|---|
| Hurry | 1.0 | 2.0 |
| Slow waiter | 3.0 | 4.0 |
"""


def test_a_table_of_settings_gives_each_value_the_name_of_its_row_and_column() -> None:
    rows = [row for row in read(TABLE).requirements if row["kind"] == "hyperparameter"]
    values = {row["name"]: row["value"] for row in rows}
    assert values == {"learning_rate_lobby": 0.1, "learning_rate_hall": 0.2, "lambda": 0.5}, (
        "one that is the same is one"
    )
    assert {row["source"]["quote"] for row in rows} == {"| learning rate | 0.1 | 0.2 |", "| λ | 0.5 | 0.5 |"}


def test_a_table_of_results_tells_what_is_compared_and_sets_nothing() -> None:
    said = "; ".join(row["text"] for row in read(TABLE).requirements)
    assert "Table 3, rows: Hurry, Slow waiter; columns: Method, Rooms A, Rooms B" in said


def test_an_algorithm_comes_with_its_steps() -> None:
    fence = "```algorithm\nAlgorithm 1: Wait well\n1: for each room\n2:   wait in it\n```\n\nAfter it comes prose."
    rows = read(f"# T\n\n## 2 Method\n\n{fence}\n").requirements
    assert [row["text"] for row in rows if row["kind"] == "algorithm"] == [
        "Algorithm 1: Wait well: for each room; wait in it"
    ]


def test_the_most_telling_requirement_comes_first() -> None:
    often = "\n\n".join(f"## {n} Method\n\nThe waiter keeps a queue of rooms {n}." for n in range(1, 9))
    text = (
        f"# T\n\n## 0 Method\n\nA lamp is lit.\n\n{often}\n\n## 9 Method\n\nWe use the waiter and its queue of rooms.\n"
    )
    assert "queue" in read(text).requirements[0]["text"]


@pytest.mark.parametrize(
    "words", ["超参数 学习率 设置为 0.1。我们使用数据集训练模型。", "Wir berechnen die Wartezeit mit dem Datensatz."]
)
def test_a_paper_in_another_language_has_a_plan_too(words: str) -> None:
    made = read(f"# T\n\n## 1 {words[:4]}\n\n{words}\n")
    assert made.requirements[0]["kind"] in ("dataset", "model"), "something is demanded"
    assert made.plan["file_structure"]


def test_a_long_paper_has_a_plan_that_can_still_be_read() -> None:
    prose = "\n\n".join(f"We use item{n} with kind{n} for the step{n} and store it in box{n}." for n in range(500))
    rows = read(f"# T\n\n## 1 Method\n\n{prose}\n").requirements
    assert sum(len(row["text"]) for row in rows) <= MOST_CHARACTERS
    assert max(len(row["text"]) for row in rows) <= LONGEST_TEXT


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared papers are not here")
@pytest.mark.parametrize("name", ["pb_rice", "transformer_1706.03762", "zh_knapsack9"])
def test_a_real_paper_is_planned_soon_with_every_quote_from_its_place(name: str) -> None:
    document = paper_document(read_pdf(str(SHARED / f"{name}.pdf")), "0" * 64, "pdf")
    made = read_on(document)
    began = time.process_time()
    read_on(document)
    assert time.process_time() - began < HANGS
    pages = pages_of(document.text)
    assert len(made.requirements) > 20
    for row in made.requirements:
        assert squeezed(row["source"]["quote"]) in pages[row["source"]["page"]], row


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: read(PAPER), id="a Markdown paper"),
        pytest.param(lambda: read_on(paper_document(Reading("ok", "x 1", TWO_PAGES), "0" * 64, "pdf")), id="two pages"),
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


@pytest.mark.parametrize("label", ["", "(3)"])
def test_an_empty_equation_in_an_outline_of_before_breaks_no_plan(label: str) -> None:
    made = read(PAPER)
    empty = {**made.outline["equations"][0], "label": label, "text": ""}
    outline = {**made.outline, "equations": [empty, *made.outline["equations"]]}
    rows = requirements_of(made.document.text, outline, made.index["segments"])
    plan = plan_by_rules(outline, rows, [])
    Contracts().serialise("initial_plan.txt", plan, writer="a test")
    assert {said for row in plan["implementation_components"] for said in row["equations"]} == {"y = x + 1"}
    assert not any(row["source"]["quote"] == "" for row in rows)


def test_a_latex_paper_with_an_empty_equation_is_planned() -> None:
    source = (
        "\\documentclass{article}\\begin{document}\\section{Method}We wait in all of the rooms."
        "\\begin{equation}\\end{equation}\\[ \\]We train the waiter.\\end{document}"
    )
    made = read_on(paper_document(read_latex({"main.tex": source.encode()}), "0" * 64, "latex"))
    assert made.outline["equations"] == []
    Contracts().serialise("initial_plan.txt", made.plan, writer="a test")


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
    again = read_on(paper_document(read_pdf(str(EXAMPLE)), "0" * 64, "pdf"))
    assert json.dumps(again.plan) == json.dumps(example_paper().plan)
