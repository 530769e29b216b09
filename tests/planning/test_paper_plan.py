"""The plan by rules: sentences of the paper, its values and its results, the same every time, and fit to be carried out."""

from __future__ import annotations

import ast
import json
import keyword
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.agent.scaffold import scaffold_text
from phases.evidence.demands import demands_of, is_value
from phases.planning.plan_view import render_plan
from phases.planning.rules.component_names import clean_name, is_component_name
from phases.planning.rules.components import Component, give_equations
from phases.planning.rules.naming import package_name
from phases.planning.rules.passages import read_paper
from phases.planning.rules.plan import VERIFY, plan_by_rules
from phases.planning.rules.requirement_choice import MOST
from phases.planning.rules.requirements import LONGEST
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.values import values_in
from phases.readers.latex.reader import read_latex
from phases.readers.markdown import PAGE_MARK, paper_document
from phases.readers.pdf.reader import read_pdf
from phases.readers.reading import Reading
from pipeline.engine.contract import Contracts
from tests.papers import EXAMPLE, MARKDOWN, PAPER, SHARED, Read, example_paper, read, read_on
from tests.strategies import QUICK

PAGE_1 = "# Waiting\n\n# 1 Method\n\nThe waiter is good.\n\n" + "Nothing is said here. " * 20
PAGE_2 = """We minimize the cross-entropy loss on this page.

We use a learning rate of 0.25 here.

# 2 Experiments

We report the accuracy in this section, and compare with the Hurry baseline."""
TWO_PAGES = (PAGE_1, PAGE_2)


def texts(made: Read) -> list[str]:
    return [row["text"] for row in made.requirements]


def assert_kept(plan: Any) -> None:
    """The schema takes the plan, and it is read as it was written."""
    contracts = Contracts()
    data = contracts.serialise("initial_plan.txt", plan, writer="a test")
    assert contracts.parse("initial_plan.txt", data, writer="a test") == plan


def squeezed(text: str) -> str:
    return "".join(PAGE_MARK.sub("", text).split())


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def pages_of(text: str) -> dict[int, str]:
    marks = [*PAGE_MARK.finditer(text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {int(mark.group(1)): squeezed(text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)}


def test_a_small_paper_is_planned_with_all_that_it_says() -> None:
    plan = read(PAPER).plan
    assert plan["plan_version"] == 2
    assert [(row["name"], row["value"]) for row in plan["values"]] == [
        ("loss function", "cross-entropy"), ("learning rate", 0.1), ("batch size", 32), ("number of epochs", 5),
    ]  # fmt: skip
    assert [row["name"] for row in plan["datasets"]] == ["Lobby"]
    assert [row["name"] for row in plan["baselines"]] == ["Hurry"]
    assert {row["name"]: row.get("algorithm") for row in plan["components"]} == {
        "Wait a little": "Algorithm 1", "Waiting model": None, "cross-entropy loss": None,
    }  # fmt: skip
    said = "; ".join(row["text"] for row in plan["requirements"])
    for wanted in ("We minimize the cross-entropy loss", "The model waits first", "Lobby data set", "Hurry baseline"):
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
    made = read(f"# Waiting\n\n{text}\n\n## 7 Setup\n\nWe train the waiter for 5 epochs.\n")
    assert texts(made) == ["We train the waiter for 5 epochs."], "only the setup asks for code"


UNBUILT_HEADINGS = [
    "Abstract", "ABSTRACT", "Zusammenfassung", "Résumé", "摘要", "초록", "1 Introduction", "I. INTRODUCTION", "Introduction",
    "1. Introduction and Motivation", "1 Einleitung", "第1章 绪论", "一、引言", "1 はじめに", "서론", "2 Related Work",
    "RELATED WORK", "2.1 Related Work and Context", "Verwandte Arbeiten", "相关工作", "References", "LITERATUR", "Références",
    "Acknowledgments", "ACKNOWLEDGEMENTS", "Danksagung", "Remerciements", "致谢", "Funding", "Author Contributions",
    "Authors' addresses", "Correspondence", "Table of Contents", "CONTENTS", "Inhaltsverzeichnis", "目录", "8 Conclusion",
]  # fmt: skip


@pytest.mark.parametrize("heading", UNBUILT_HEADINGS)
def test_nothing_under_a_heading_that_every_paper_has_is_a_requirement(heading: str) -> None:
    asked = "We use a queue with a batch size of 64.\n\nAlgorithm 1: Queue up\n\n$$ y = x \\tag{1} $$\n"
    body = "## 7 Method\n\nWe train the waiter for 5 epochs.\n\nAlgorithm 2: Wait\n\n$$ z = x \\tag{2} $$\n"
    made = read(f"# Waiting\n\n## {heading}\n\n{asked}\n### Deeper\n\nWe use a stack of rooms.\n\n{body}")
    said = json.dumps([made.requirements, made.plan["values"], made.plan["components"]], ensure_ascii=False)
    assert [word for word in ("queue", "64", "Queue", "y = x", "stack") if word in said] == []
    assert [word for word in ("5 epochs", "Algorithm 2", "z = x") if word not in said] == []
    names = " ".join(name for row in made.plan["file_structure"] for name in row["interface"])
    assert not any(word in names for word in ("Introduction", "Abstract", "Related", "References"))


AUTHORS = [
    "These authors contributed equally to this work and are listed at random.",
    "The work was done while the first author was at Waiting Research.",
    "This work was supported by the Waiting Foundation under grant number 12.",
    "We thank the reviewers, and use their words in this text.",
    "Correspondence to the first author, who is used to waiting: a@example.org.",
    "2.1 The model that we use . . . . . . . . . . . . . . . 5.",
]


@pytest.mark.parametrize("note", AUTHORS)
def test_a_note_on_the_authors_is_no_requirement_wherever_it_stands(note: str) -> None:
    made = read(f"# Waiting\n\n## 2 Method\n\nWe keep a queue of rooms.\n\n{note}\n\n[^1]: {note}\n")
    assert [row["text"] for row in made.requirements] == ["We keep a queue of rooms."]


def test_a_requirement_is_whole_sentences_of_the_paper_with_every_word() -> None:
    text = (
        "In order to keep the order, we then make use of a queue [4]. This queue is kept in the hall of the rooms. "
        "A **room** is drawn (see Section 2), and then the door is opened."
    )
    assert texts(read(f"# T\n\n## 1 Approach\n\n{text}\n")) == [
        "In order to keep the order, we then make use of a queue [4]. This queue is kept in the hall of the rooms.",
        "A room is drawn (see Section 2), and then the door is opened.",
    ]


def test_a_sentence_that_leans_on_one_that_is_no_requirement_is_left_out() -> None:
    text = "Our approach outperforms all of the others. This is computed in the hall with a queue."
    assert texts(read(f"# T\n\n## 1 Approach\n\n{text}\n\nWe use a door of wood here.\n")) == [
        "We use a door of wood here."
    ]


def test_a_piece_of_a_sentence_is_no_requirement() -> None:
    made = read("# T\n\n## 1 Setup\n\nand then we use a queue. We train the\n\nWe open the door of each room.\n")
    assert texts(made) == ["We open the door of each room."]


def test_a_formula_stands_beside_the_sentence_that_leads_to_it() -> None:
    [row] = read("# T\n\n## 2 Method\n\nWe compute the time of waiting as:\n\n$$ y = x + 1 \\tag{1} $$\n").requirements
    assert (row["text"], row["formula"]) == ("We compute the time of waiting as:", "y = x + 1 \\tag{1}")


@pytest.mark.parametrize(
    ("formulas", "formula"),
    [
        ("$$ y = x + 1, \\tag{1} $$\n\n$$ z = 2 \\tag{2} $$", "y = x + 1, \\tag{1} \\\\ z = 2 \\tag{2}"),
        ("$$ y = x + 1 $$\n\nand\n\n$$ z = 2 $$", "y = x + 1 \\\\ z = 2"),
        ("$$ y = x + 1 $$\n\nThe rest is noise.\n\n$$ z = 2 $$", "y = x + 1"),
        ("$y=x_{1}$ + wait(x) (1)", "$y=x_{1}$ + wait(x) (1)"),
        (f"$$ y = {'x + ' * 300}1 $$", f"y = {'x + ' * 300}1"),
    ],
    ids=["two at once", "a word between", "a sentence between", "without the marks of a formula", "a long one"],
)
def test_a_sentence_has_all_formulas_that_it_leads_to_and_each_to_its_end(formulas: str, formula: str) -> None:
    row, *_ = read(f"# T\n\n## 2 Method\n\nWe compute the time of waiting as:\n\n{formulas}\n").requirements
    assert row["formula"] == formula


DOOR = "The open door lets guests in. The back window lets air in."
APART = """We sum the guests of the open door.\n\n$$ y = 1 $$\n\nWe sum the air.\n\n$$ y = 2 $$\n
The back window counts:\n\n$$ y = 3 $$"""
MANY = "\n\n".join(f"$$ y = x + {number} $$" for number in range(1, 9))


@pytest.mark.parametrize(
    ("text", "homes"),
    [
        (f"{DOOR}\n\n{APART}", [("open door", 2), ("back window", 1)]),
        (f"{DOOR} We sum what the open door lets in:\n\n{MANY}", [("open door", 8)]),
    ],
    ids=["the part that was named last", "all of many"],
)  # fmt: skip
def test_an_equation_belongs_to_the_part_that_was_named_last_before_it(text: str, homes: list[tuple[str, int]]) -> None:
    document = read(f"# T\n\n## 2 Method\n\n{text}\n")
    paper = read_paper(document.document.text, document.outline)
    section = paper.outline["sections"][0]
    parts = [Component(name, None, section, 1) for name in ("open door", "back window")]
    give_equations(paper, parts)
    assert [(one.name, len(one.equations)) for one in parts if one.equations] == homes


NO_BODY = [
    pytest.param("# T\n\n## 1 Introduction\n\nWe keep a queue of all rooms.\n", id="only an introduction"),
    pytest.param("# T\n\n## Abstract\n\nWe keep a queue of all rooms.\n\n## References\n\n[1] B. 1999.\n", id="only an abstract"),
    pytest.param("# T\n\nWe keep a queue of all rooms.\n", id="no heading but the title"),
    pytest.param("We keep a queue of all rooms.\n", id="no heading at all"),
    pytest.param("# T\n\nWe keep a queue of all rooms.\n\n## References\n\n[1] We use a door. 1999.\n", id="references"),
]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["We keep x1, . . . , X9 in a queue.", "Wait from V. . 0 to 9.", "函数的定义域为 0. . . V 中的整数。"]
)
def test_a_sentence_does_not_end_at_the_dots_of_a_range(text: str) -> None:
    assert list(sentences_of(f"{text} Then it ends.")) == [text, "Then it ends."]


@pytest.mark.parametrize("text", NO_BODY)
def test_a_paper_without_a_body_is_planned_from_what_there_is(text: str) -> None:
    made = read(text)
    assert texts(made) == ["We keep a queue of all rooms."]


@pytest.mark.parametrize("text", ["", "# T\n", "# T\n\n## References\n\n[1] We use a queue. 1999.\n", "Hm.\n", "42\n"])
def test_where_nothing_is_found_the_plan_says_so(text: str) -> None:
    made = read(text)
    [row] = made.plan["requirements"]
    assert row["text"].startswith("Nothing to build was found by rules in: ")
    assert row["status"] == "missing"
    assert_kept(made.plan)


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
    pytest.param("a learning rate of 0.001", "learning rate", 0.001, id="a decimal"),
    pytest.param("a learning rate of 1e-4", "learning rate", 0.0001, id="an exponent"),
    pytest.param("a learning rate of $3 \\times 10^{-4}$", "learning rate", 0.0003, id="a power in TeX"),
    pytest.param("the batch size is set to 1,024", "batch size", 1024, id="a thousand with a comma"),
    pytest.param("trained for 20 epochs", "number of epochs", 20, id="a count"),
    pytest.param("dropout = 0.5", "dropout", 0.5, id="an equals sign"),
    pytest.param("momentum 0.9", "momentum", 0.9, id="nothing between name and number"),
    pytest.param("a rate of 3 × 10−4", "rate", 0.0003, id="a power whose text layer lost that it is raised"),
    pytest.param("λ from {0, 0.1, 0.01}", "lambda", [0, 0.1, 0.01], id="a set to try, under a Greek name"),
    pytest.param("$\\beta_2 = 0.98$", "beta_2", 0.98, id="a letter with an index"),
    pytest.param("the mask batch size of 16", "mask batch size", 16, id="a name with a word before it"),
    pytest.param("warmup_steps = 4000", "warmup_steps", 4000, id="a name as in code"),
]


@pytest.mark.parametrize(("words", "name", "value"), VALUES)
def test_a_stated_value_is_taken_as_it_is_stated(words: str, name: str, value: object) -> None:
    [row] = read(f"# T\n\n## 1 Experimental Setup\n\nHere we use {words} in all runs.\n").plan["values"]
    assert name in (row["name"], row.get("symbol"))
    assert row.get("value", row.get("values")) == value


NO_VALUES = [
    "We apply dropout [33] to the output.",
    "We apply dropout [4, 12] to the output.",
    "We apply dropout [Srivastava 2014] to the output.",
    "We apply dropout in [33] to the output.",
    "We apply dropout (Hinton, 2012) to it.",
    "We use a rate of Hinton et al. (2012).",
    "We apply dropout $^{33}$ to the output.",
    "We apply dropout 33 to the output.",
    "We apply dropout<sup>33</sup> to it, and dropout [^33] too.",
    "The batch size is in ref. 12 of them.",
    "We set the decay as in Eq. 3 of it.",
    "The learning rate is Table 2 of it.",
    "The learning rates are Tables 2 and 3 of it.",
    "We use the temperature of Section 4.1 here.",
    "We use the temperature of § 4 here.",
    "The batch size is page 12, the seed p. 12.",
    "Die Lernrate, learning rate: Tabelle 2, wird gesetzt.",
    "We use a rate of 1/n in all runs.",
    "We use a scaling factor of 1/\\sqrt{d} here.",
    "We use a scaling factor of $\\frac{1}{2}$ here.",
    "We use a step size of 3n here.",
    "We use a step size of 0.1³ here.",
    "We use $m_i = 1$ and $\\sum_{k=1}^{n} x$ here.",
    "It reaches the goal after 1923 steps.",
    "It took the waiter, compared to 4200 steps, less.",
    "We find accuracy in 1923.3 steps.",
    "All runs ran in 50 minutes.",
    "It takes 24 GPU hours to do so.",
    "Epoch 1 follows the order of the rooms.",
    "We draw x in [0, 1] for it.",
    "It has two major advantages.",
    "We reduce it by a factor of 100 here.",
    "The weight is set to 1 if both rooms are open.",
    "If both are open, the weight is set to 0.",
    "The rate decays to 0.1 times the first one.",
    "It is a game of rooms such as A + B = 3.",
    "They reached agreement on 86% of the rooms.",
]


@pytest.mark.parametrize("sentence", NO_VALUES)
def test_no_citation_place_fraction_index_or_measurement_is_a_value(sentence: str) -> None:
    assert values_in(sentence) == []


SOME_VALUES = [
    ("We apply dropout [33] with a learning rate of 0.1 [4].", {"learning rate": 0.1}),
    ("We train for 20, 000 iterations in all.", {"number of iterations": 20_000}),
    ("The widths are 50, 100, 200, or 400.", {"widths": (50, 100, 200, 400)}),
    ("Evaluations were performed every 10 batches.", {"evaluation interval": 10}),
    ("We use a learning rate of 0.1, dampened by 0.5.", {"learning rate": 0.1, "learning rate decay factor": 0.5}),
    ("The tables range from 1 to 32 entries.", {"tables": "1 to 32"}),
    ("The inner layer has dimensionality $d = 2048$.", {"inner layer dimensionality": 2048}),
    ("We hold out 25% of all rooms for tests.", {"share of rooms": "25%"}),
    ("It is fed a 64-dimensional latent space.", {"latent space dimension": 64}),
    ("The table is a tree of rooms with size 32.", {"rooms size": 32}),
    ("It reads blocks of 64 KB data pages.", {"data page size": 64}),
    ("We use two Nvidia RTX 3090 cards and 16 rooms.", {"number of rooms": 16}),
    ("We use a 7B model.", {"number of parameters": "7B"}),
    ("We set λ = 1/2 for all.", {"lambda": "1/2"}),
    ("The noise rate is 30% in all.", {"noise rate": "30%"}),
    ("A learning rate of 0.001 and 100 epochs are used.", {"learning rate": 0.001, "number of epochs": 100}),
    ("The batch-size was set to 16, 32 and 64.", {"batch-size": (16, 32, 64)}),
    ("The number of layers is from [1, 4] here.", {"layers": (1, 4)}),
    ("A weight decay of 0.5 is used.", {"weight decay": 0.5}),
    ("A learning rate of 10⁻⁴ is used.", {"learning rate": 0.0001}),
    ("We train for up to 60,000 iterations.", {"number of iterations": 60000}),
    ("It has layers of 512, 256, and 128 units here.", {"number of units": (512, 256, 128)}),
    ("The maximum number of rounds was again 40.", {"maximum number of rounds": 40}),
    ("Those pairs were run 50 times each.", {"number of runs": 50}),
    ("We use PyTorch 1.9.0 for it.", {"PyTorch version": "1.9.0"}),
    ("We drop a room with 50% probability.", {"probability": "50%"}),
    ("The space of halls, so |H| = 720.", {"H": 720}),
    ("We use 130 Billion tokens in all.", {"number of tokens": 130_000_000_000}),
]


@pytest.mark.parametrize(("sentence", "values"), SOME_VALUES)
def test_a_value_beside_a_citation_a_fraction_or_a_count_is_whole(sentence: str, values: dict[str, Any]) -> None:
    found = values_in(sentence)
    assert {value.name: value.value for value in found} == values
    assert all(value.quote in sentence for value in found)


@pytest.mark.parametrize("number", ["1e999", "9" * 5000, "0." + "9" * 400, "1" * 400])
def test_a_value_that_is_no_number_of_this_world_does_no_harm(number: str) -> None:
    made = read(f"# T\n\n## 1 Experiments\n\nHere we use a learning rate of {number} in all runs.\n")
    for row in made.plan["values"]:
        assert isinstance(row["value"], str) or math.isfinite(row["value"])
    json.dumps(made.plan, allow_nan=False)


OWNERS = [
    pytest.param(
        "For Hurry, we use a learning rate of 0.1.", 0.1, "Hurry", "", id="a baseline that the sentence begins with"
    ),
    pytest.param("Lobby consists of 5,000 questions in all.", 5000, "Lobby", "", id="a count of a data set"),
    pytest.param(
        "We use a learning rate of 0.1 for all rooms.",
        0.1,
        "method",
        "for all rooms",
        id="the method, under a condition",
    ),
    pytest.param(
        "On Lobby, we use a batch size of 32 here.", 32, "method", "On Lobby", id="a data set that is a condition"
    ),
]


@pytest.mark.parametrize(("sentence", "value", "owner", "condition"), OWNERS)
def test_a_value_has_an_owner_and_a_condition(sentence: str, value: object, owner: str, condition: str) -> None:
    setup = "We evaluate on the Lobby data set and compare with the Hurry baseline."
    rows = read(f"# Slow\n\n## 4 Setup\n\n{setup}\n\n{sentence}\n").plan["values"]
    assert [(row["value"], row["owner"], row.get("condition", "")) for row in rows] == [(value, owner, condition)]


def test_two_values_for_two_cases_are_two_and_a_grid_is_one() -> None:
    text = "We use a learning rate of 0.1 for rooms and 0.2 for halls. We tune the batch size over {16, 32, 64}."
    rows = read(f"# Slow\n\n## 4 Setup\n\n{text}\n").plan["values"]
    assert [row.get("value", row.get("values")) for row in rows] == [0.1, 0.2, [16, 32, 64]]
    assert rows[1]["condition"] == "for halls"


def test_a_value_that_is_said_twice_is_one() -> None:
    text = "We use a learning rate of 0.1 here. The learning rate is set to 0.1."
    assert len(read(f"# Slow\n\n## 4 Setup\n\n{text}\n").plan["values"]) == 1


TWO_WITHOUT_A_SIGN = """# Waiting

## 4 Setup

> **Table 2.** Hyper-parameters of the waiters

| Symbol | Meaning | Value |
|---|---|---|
| - | batch size | 5 |
| - | test size | 6 |
| $n$ | stream length | 7 |

Each stream has n = 7 examples.
"""


def test_what_has_no_symbol_or_one_value_is_not_stated_with_different_values() -> None:
    plan = read(TWO_WITHOUT_A_SIGN).plan
    assert {row["value"]: row.get("symbol", "") for row in plan["values"]} == {5: "", 6: "", 7: "n"}
    assert not [row for row in plan["uncertain"] if "different values" in row["what"]]


def test_a_requirement_is_cited_with_the_page_that_it_stands_on() -> None:
    made = read_on(paper_document(Reading("ok", "x 1", TWO_PAGES), "0" * 64, "pdf"))
    assert {row["source"]["page"] for row in (*made.requirements, *made.plan["values"])} == {2}


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


def test_a_table_of_settings_gives_each_value_its_row_and_column() -> None:
    rows = read(TABLE).plan["values"]
    assert [(row["name"], row["value"], row.get("condition", "")) for row in rows] == [
        ("learning rate", 0.1, "Lobby"), ("learning rate", 0.2, "Hall"), ("λ", 0.5, ""),
    ], "one that is the same is one"  # fmt: skip


RESULTS = [
    pytest.param("Table 3. Lowest loss after hyperparameter tuning", "Optimizer | Loss", "Adam | 0.1", id="tuned"),
    pytest.param("Table 3. Accuracy in the zero-shot setting", "Model | All", "SLOW-base | 61.1", id="of a setting"),
    pytest.param("Table 3. Variations of the waiter", "dropout | BLEU", "hidden 512 | 24.1", id="an ablation"),
    pytest.param("Table 3. Training settings", "Model | Rooms", "Slow waiter | 3", id="no row is a setting"),
]


@pytest.mark.parametrize(("caption", "head", "row"), RESULTS)
def test_a_table_of_results_sets_nothing_and_is_no_requirement(caption: str, head: str, row: str) -> None:
    table = f"> **{caption}**\n\n| {head} |\n|---|---|\n| {row} |\n| Hurry | 2.5 |\n"
    made = read(f"# T\n\n## 4 Experimental Settings\n\nWe use the rooms of the house.\n\n{table}")
    assert texts(made) == ["We use the rooms of the house."]
    assert made.plan["values"] == []


TARGETS = """# Slow: Waiting for Everyone

## 2 Method

We keep a queue of all rooms.

## 5 Results

> **Table 3.** Accuracy on the Lobby data set

| Method | Rooms |  | Halls |
|---|---|---|---|
|  | Acc | F1 | Acc |
| Hurry [3] | 61.1 | 50.0 | 40.2 |
| Slow (ours) | 72.4 ± 0.3 | 55.5% | 41 |
"""


def test_what_a_paper_reports_for_its_own_method_is_a_target_with_row_and_column() -> None:
    rows = read(TARGETS).plan["expected_results"]
    assert [(row["table"], row["row"], row["column"], row["value"], row["unit"]) for row in rows] == [
        ("Table 3", "Slow (ours)", "Rooms / Acc", 72.4, ""),
        ("Table 3", "Slow (ours)", "Rooms / F1", 55.5, "%"),
        ("Table 3", "Slow (ours)", "Halls / Acc", 41, ""),
    ]
    assert read(TARGETS).plan["values"] == [], "a target is no constant of the code"
    [experiment] = read(TARGETS).plan["experiments"]
    assert experiment["results"] == ["E1", "E2", "E3"]


def test_where_no_row_is_known_as_the_method_s_own_the_reviewer_is_told() -> None:
    plan = read(TARGETS.replace("Slow (ours)", "Loop").replace("# Slow:", "# On")).plan
    assert {row["row"] for row in plan["expected_results"]} == {"Loop"}
    assert any(row.get("about") == "Table 3" for row in plan["uncertain"])


def test_an_algorithm_comes_with_its_steps() -> None:
    fence = "```algorithm\nAlgorithm 1: Wait well\n1: for each room\n2:   wait in it\n```\n\nAfter it comes prose."
    [row] = read(f"# T\n\n## 2 Method\n\n{fence}\n").plan["components"]
    assert (row["name"], row["algorithm"]) == ("Wait well", "Algorithm 1")
    assert row["steps"][-2:] == ["1: for each room", "2:   wait in it"]


@pytest.mark.parametrize(
    ("lines", "steps"),
    [
        (["9:  if a", "10:   swap", "11: stop"], ["9: if a", "10:   swap", "11: stop"]),
        (["1 if a", "2   swap", "    of b", "3 stop"], ["1 if a", "2   swap", "  of b", "3 stop"]),
        (["9 if a", "10   swap", "11 stop"], ["9 if a", "10   swap", "11 stop"]),
        (["if a", "  swap", "stop"], ["if a", "  swap", "stop"]),
    ],
    ids=["numbers that are padded", "a line that goes on", "numbers that are not", "no numbers"],
)
def test_steps_keep_their_nesting_behind_their_numbers(lines: list[str], steps: list[str]) -> None:
    fence = "\n".join(["```algorithm", "Algorithm 1: Wait well", *lines, "```"])
    [row] = read(f"# T\n\n## 2 Method\n\n{fence}\n").plan["components"]
    assert row["steps"][1:] == steps


def test_the_nesting_of_an_algorithm_is_seen_in_the_plan_and_in_the_code() -> None:
    long = "wait in it until somebody comes who has the key, or until the light goes out, whichever is first"
    fence = f"```algorithm\nAlgorithm 1: Wait well\n9:  for each room\n10:   {long}\n11:   sweep it\n```"
    plan = read(f"# T\n\n## 2 Method\n\n{fence}\n").plan
    [path] = [row["path"] for row in plan["file_structure"] if "C1" in row.get("components", ())]
    for shown in (render_plan(plan), scaffold_text(plan, path)):
        lines = shown.split("\n")
        first = next(number for number, line in enumerate(lines) if line.strip() == "9  for each room")
        edge = lines[first].index("for")
        begins = [len(line) - len(line.lstrip()) for line in lines[first : first + 4]]
        assert lines[first + 1].index("wait") == lines[first + 3].index("sweep") == edge + 2, lines[first : first + 4]
        assert begins[2] > edge + 2, "what goes on stands deeper than what is nested"


def test_what_a_requirement_says_is_not_said_again_of_a_component() -> None:
    plan = read("# T\n\n## 1 Method\n\nWe keep a queue of all rooms.\n").plan
    row = plan["requirements"][0]
    about = {"what": row["text"], "source": row["source"], "requirements": []}
    own = {**about, "id": "C1", "name": "queue", "requirements": [row["id"]], "equations": ["(3) y = x"]}
    plan |= {"components": [own, {**about, "id": "C2", "name": "late queue"}]}
    row["formula"] = "y = x + 1"
    shown = render_plan(plan)
    assert " ".join(shown.split()).count(row["text"]) == 1
    assert shown.count("y = x") == 1
    assert f"     See {row['id']}.\n" in shown


def test_what_is_built_comes_before_what_is_set_up() -> None:
    text = "# T\n\n## 1 Setup\n\nWe train the waiter first.\n\n## 2 Method\n\nWe keep a queue of all rooms.\n"
    assert texts(read(text)) == ["We keep a queue of all rooms.", "We train the waiter first."]


def test_the_files_are_few_and_named_after_the_components() -> None:
    text = "".join(
        f"## {n} {name}\n\nThe {name} is computed with a queue of rooms.\n\n"
        for n, name in enumerate(("Waiting Loss", "Door Encoder", "Room Sampler", "Hall Decoder", "Stair Cache"), 2)
    )
    plan = read(f"# Slow\n\n{text}").plan
    assert 5 <= len(plan["file_structure"]) <= 10
    names = [name for row in plan["file_structure"] for name in row["interface"] if "config" not in row["path"]]
    assert {
        "def waiting_loss",
        "class DoorEncoder",
        "def room_sampler",
        "class HallDecoder",
        "class StairCache",
    } <= set(names)


@pytest.mark.parametrize(
    "words", ["超参数 学习率 设置为 0.1。我们使用数据集训练模型。", "Wir berechnen die Wartezeit mit dem Datensatz."]
)
def test_a_paper_in_another_language_has_an_honest_plan(words: str) -> None:
    plan = read(f"# T\n\n## 1 {words[:4]}\n\n{words}\n").plan
    assert plan["file_structure"]
    assert any(" known as a requirement" in row["what"] for row in plan["uncertain"])


@pytest.mark.slow
def test_a_long_paper_has_a_plan_that_can_still_be_read() -> None:
    prose = "\n\n".join(f"We use item{n} with kind{n} for the step{n} and store it in box{n}." for n in range(500))
    rows = read(f"# T\n\n## 1 Method\n\nWe keep a queue of all rooms.\n\n## A Appendix\n\n{prose}\n").requirements
    assert len(rows) == MOST
    assert max(len(row["text"]) for row in rows) <= LONGEST


def test_the_plan_is_for_people(tmp_path: Path) -> None:
    data = Contracts().serialise("initial_plan.txt", example_paper().plan, writer="a test").decode()
    assert max(map(len, data.splitlines())) <= 100
    assert "\n\n- id: R2\n" in data, "an empty line between entries"
    assert "{section:" not in data, "a line a field"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared papers are not here")
@pytest.mark.parametrize(
    "name",
    [
        "rs_h-detach",
        pytest.param("transformer_1706.03762", marks=pytest.mark.slow),
        pytest.param("other/sp_fader11", marks=pytest.mark.slow),
    ],
)
def test_a_requirement_of_a_real_paper_is_in_it_word_for_word(name: str) -> None:
    document = paper_document(read_pdf(str(SHARED / f"{name}.pdf")), "0" * 64, "pdf")
    whole = letters(PAGE_MARK.sub("", document.text))
    rows = read_on(document).requirements
    said = [row["text"] for row in rows]
    missing = [sentence for text in said for sentence in sentences_of(text) if letters(sentence) not in whole]
    assert not missing
    assert len(said) > 20


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared papers are not here")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("pb_rice", marks=pytest.mark.slow),
        pytest.param("transformer_1706.03762", marks=pytest.mark.slow),
        "pwl_mcts",
    ],
)
def test_a_real_paper_is_planned_with_every_quote_from_its_place(name: str) -> None:
    document = paper_document(read_pdf(str(SHARED / f"{name}.pdf")), "0" * 64, "pdf")
    made = read_on(document)
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


@pytest.mark.slow
@given(MARKDOWN)
@example("# T\n\n## 1 Method\n\nWe minimize\n| a | table |\nthe loss of it.")
@example("# T\n\n## 1 Method\n\nWe minimize\n# 1\nthe loss of it.")
@QUICK
def test_every_quote_of_every_text_is_in_it(text: str) -> None:
    made = read(text)
    whole = squeezed(made.document.text)
    for row in made.requirements:
        assert squeezed(row["source"]["quote"].removesuffix("…")) in whole, row


@pytest.mark.slow
@given(MARKDOWN, st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), max_size=3))
@QUICK
def test_the_plan_of_every_text_is_one_that_can_be_carried_out(text: str, requests: list[str]) -> None:
    first, second = read(text, requests), read(text, requests)
    plan = first.plan
    assert json.dumps(plan) == json.dumps(second.plan)
    assert_kept(plan)
    identifiers = [row["id"] for row in (*plan["requirements"], *plan["values"])]
    assert len(set(identifiers)) == len(identifiers)
    paths = [row["path"] for row in plan["file_structure"]]
    assert len(set(paths)) == len(paths) == len(plan["implementation_strategy"])
    met = [identifier for row in plan["file_structure"] for identifier in row["implements"]]
    assert sorted(met) == sorted(identifiers), "each requirement and value has exactly one file"
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
    plan = plan_by_rules(made.document.text, outline, [], body_start=made.document.body_start)
    assert_kept(plan)
    assert {said for row in plan["components"] for said in row.get("equations", ())} == {"y = x + 1"}


def test_a_latex_paper_with_an_empty_equation_is_planned() -> None:
    source = (
        "\\documentclass{article}\\begin{document}\\section{Method}We wait in all of the rooms."
        "\\begin{equation}\\end{equation}\\[ \\]We train the waiter.\\end{document}"
    )
    made = read_on(paper_document(read_latex({"main.tex": source.encode()}), "0" * 64, "latex"))
    assert made.outline["equations"] == []
    assert_kept(made.plan)


def test_what_was_asked_for_at_the_review_is_a_requirement() -> None:
    rows = read(PAPER, ["use the second data set too"]).plan["requirements"]
    assert (rows[-1]["text"], rows[-1]["source"]["section"]) == ("use the second data set too", "review")


@pytest.mark.slow
def test_no_outline_makes_a_plan_that_the_schema_refuses() -> None:
    for text in (
        "",
        "$$ $$\n",
        "# T\n\n$$ $$\n\n|a|\n|---|\n",
        "# 等待\n\n## 1 方法\n\n" + "我们使用队列。" * 3000,
        "# T\n\n" + "## 1 Method\n\nWe use a queue of rooms.\n\n<!-- page 2 -->\n\n" * 300,
    ):
        assert_kept(read(text).plan)


PIECES = [
    "# 等待的艺术", "## 1 Method", "## 2 Experiments", "### 2.1 Data Sets", "## 结果", "## References", "<!-- page 2 -->",
    "We use a learning rate of 0.1, 1e-400 or 10^{-999} for $\\eta_{\\max}$ = 1/0.", "我们使用学习率 0.1。", "$$ $$",
    "$$ x = \\frac{1}{", "> **Table 1.** Hyper-parameters of", "| rate | 0.1 |\n|---|---|\n| seeds | {1, 2, 3} |",
    "- batch size: 64", "| a | |\n|---|---|", "> **Table 2.** Results", "```", "|||",
    "| Method | A / B |\n|---|---|\n| Ours [3] | 1.0 (2.0) 3e5 |",
    "> **Algorithm 1.** Wait\n\n```\n1: wait\n```", "\x0b\u2028\ufffd", "[^1]: a note", "1. 2. 3.", "(((",
    "Waiter wins: 50% of the rooms, from 1 to 32 rooms, every 10 rooms, respectively for A, B and C.",
    "We propose Slow Waiting (SW), a 64-dimensional queue, and compare it with Hurry [2].",
]  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=40), max_size=14))
@QUICK
def test_whatever_a_paper_holds_the_schema_takes_its_plan(pieces: list[str]) -> None:
    assert_kept(read("\n\n".join(pieces)).plan)


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


OWN_NAMES = [
    ("PaperMage: A Toolkit", ["PaperMage"], "papermage"),
    ("Attention Is All You Need", ["Transformer"], "transformer"),
    ("2Q: A Low Overhead Algorithm", ["2Q"], "paper_2q"),
    ("Fast Compression with SZ", ["SZ"], "sz"),
    ("Perceptrons on Streams", ["AP"], "perceptrons_streams"),
    ("Advantage Alignment Algorithms", ["Advantage Alignment"], "advantage_alignment_algorithms"),
    ("Robust Initialization", ["weight initialization method"], "robust_initialization"),
    ("Queue: A Study", ["Queue"], "paper_queue"),
]


@pytest.mark.parametrize(("title", "own", "name"), OWN_NAMES)
def test_a_package_is_named_after_the_method_where_that_says_more_than_the_title(
    title: str, own: list[str], name: str
) -> None:
    assert package_name(title, own) == name


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


@pytest.mark.slow
def test_the_example_paper_is_planned_the_same_way_twice() -> None:
    again = read_on(paper_document(read_pdf(str(EXAMPLE)), "0" * 64, "pdf"))
    assert json.dumps(again.plan) == json.dumps(example_paper().plan)


WHOSE = [
    (
        "We use 3 and 5 layers for Lobby and Hall, respectively.",
        [(3, "method", "for Lobby"), (5, "method", "for Hall")],
    ),
    ("We trained the big models for 300 steps.", [(300, "big models", "")]),
    ("In their paper the room length is set to 6.", [(6, "original paper", "")]),
    ("HURRY uses four layers.", [(4, "HURRY", "")]),
]


@pytest.mark.parametrize(("sentence", "rows"), WHOSE)
def test_a_value_goes_to_the_case_the_model_or_the_paper_that_its_sentence_names(
    sentence: str, rows: list[tuple[object, str, str]]
) -> None:
    made = read(f"# T\n\n## 1 Setup\n\n{sentence}\n").plan["values"]
    assert [(row["value"], row["owner"], row.get("condition", "")) for row in made] == rows


MIXED = """# Waiting

## 2 Model

The waiting model keeps a queue of rooms. The waiting model uses label smoothing.

## 3 Experiments

### 3.1 Task 1: Hall Sorting

The slow model sampled 7 rooms in each round. The fast model had a horizon of 3.

As shown in Figure 5, the network consists of 60 hidden layers.

The slow model achieves the best score with 12 rooms, which is better than before.

| Room type | Cost in coins |
|---|---|
| Hall | 7.5 |
| Lobby | 2.5 |

> **Table 1.** What a room costs.

> **Table 2.** Accuracy of all models.

| Data | Method | Small | Large |
|---|---|---|---|
| Doors | Hurry | 10.1 | 11.1 |
|  | Proposed | 12.1 | 13.1 |
| Stairs | Hurry | 14.1 | 15.1 |
|  | Proposed | 16.1 | 17.1 |
"""


def test_a_sentence_of_an_experiment_sets_what_it_says_unless_it_speaks_of_results() -> None:
    rows = {(row["name"], row["value"], row["owner"]) for row in read(MIXED).plan["values"]}
    assert ("number of rooms", 7, "slow model") in rows
    assert ("horizon", 3, "fast model") in rows
    assert ("number of hidden layers", 60, "method") in rows, "where it is shown says nothing of what it is"
    assert not any(value == 12 for _, value, _ in rows), "a result"


def test_a_table_of_names_and_numbers_is_one_of_settings_and_no_target() -> None:
    plan = read(MIXED).plan
    assert {(row["name"], row["value"]) for row in plan["values"] if "coins" in row["name"]} == {
        ("Hall cost in coins", 7.5),
        ("Lobby cost in coins", 2.5),
    }
    assert {row["table"] for row in plan["expected_results"]} == {"Table 2"}


def test_a_target_has_all_of_its_row_s_labels() -> None:
    found = {(row["row"], row["column"], row["value"]) for row in read(MIXED).plan["expected_results"]}
    assert found == {
        ("Doors / Proposed", "Small", 12.1), ("Doors / Proposed", "Large", 13.1),
        ("Stairs / Proposed", "Small", 16.1), ("Stairs / Proposed", "Large", 17.1),
    }  # fmt: skip


def test_a_task_and_a_technique_that_the_field_knows_are_components() -> None:
    assert {"Hall Sorting", "label smoothing"} <= {row["name"] for row in read(MIXED).plan["components"]}


FOLDED = """# T

## 1 Setup

> **Table 1.** Parameters used for waiting

| Symbol | Meaning | Value | Symbol | Meaning | Value |
|---|---|---|---|---|---|
| V | room size | 5 000 | η | learning rate | 1* |
| L | seeds | 10, 20 (Table 4) | γ | margin | 0.5 |
"""


def test_a_table_of_symbols_meanings_and_values_is_read_by_its_heads() -> None:
    rows = read(FOLDED).plan["values"]
    assert [(row["name"], row["symbol"], row.get("value", row.get("values"))) for row in rows] == [
        ("room size", "V", 5000), ("learning rate", "eta", 1), ("seeds", "L", [10, 20]), ("margin", "gamma", 0.5),
    ]  # fmt: skip


NO_COMPONENTS = [
    "give the tokens it has", "each", "three rooms", "Goals", "learning rate", "Usability", "is common",
    "Addendum", "Addendum: data notes", "experiments", "miniImageNet", "FLAN-T5 models", "L-BFGS improves conditioning here",
    "process", "Phase 2", "keys are rotated", "Problem statement", "PyTorch", "its room", "batch size",
]  # fmt: skip


@pytest.mark.parametrize("name", NO_COMPONENTS)
def test_a_clause_a_property_or_a_value_is_no_component(name: str) -> None:
    assert not is_component_name(clean_name(name))


CLEANED = [
    ("The **Waiting Room** algorithm", "Waiting Room"),
    ("SLOW: a queue for everybody", "SLOW"),
    ("Essentials of the waiting trie", "waiting trie"),
    ("End-to-end processing with Recipes", "Recipes"),
    ("Define the Sampling Pool", "Sampling Pool"),
]


@pytest.mark.parametrize(("heading", "name"), CLEANED)
def test_a_component_is_called_by_its_noun(heading: str, name: str) -> None:
    assert clean_name(heading) == name
    assert is_component_name(name)


NAMED = (
    "# Waiting\n\n## 1 Introduction\n\nWaiting is old.\n\n## 2 Method\n\nThe door predictor reads the hall of the house. "
    "We train the door predictor with the hall penalty. The hall penalty is defined as follows. "
    "Each DoorSampler keeps a key ring.\n\n```python\nclass KeyRing:\n    pass\n```\n\n"
    "> **Algorithm 1.** Same door, other key\n\n### 2.1 Waiting Lists\n\nWaiting lists are kept by the door predictor.\n\n"
    "## 3 Results\n\n### 3.1 Size and Speed\n\nThe door predictor is fast.\n\n"
    "## Addendum\n\nThe door predictor is trained on four rooms. The median is used for all of the rooms.\n"
)


@pytest.mark.parametrize("name", ["door predictor", "hall penalty", "Waiting Lists", "other key"])
def test_a_part_is_named_by_headings_algorithms_and_what_is_said_again(name: str) -> None:
    assert name in [row["name"] for row in read(NAMED).plan["components"]]


def test_a_chapter_of_results_and_an_addendum_are_no_components() -> None:
    names = " ".join(row["name"] for row in read(NAMED).plan["components"])
    assert not any(word in names for word in ("Addendum", "Size", "Results"))


def test_an_abbreviation_and_what_it_stands_for_are_one_component() -> None:
    text = "We propose the Slow Door Opener (SDO). The SDO keeps a key. Each SDO opens the door. The Slow Door Opener waits."
    components = read(f"# T\n\n## 2 The Slow Door Opener\n\n{text}\n").plan["components"]
    assert [row["name"] for row in components if row["name"] in ("SDO", "Slow Door Opener")] == ["Slow Door Opener"]


def test_a_wish_and_a_note_are_requirements_of_the_component_that_they_are_about() -> None:
    wishes = ["The door predictor must log each door.", "Use the median everywhere.", "Write Rust."]
    plan = read(NAMED, wishes).plan
    name_of = {row["id"]: row["name"] for row in plan["components"]}
    homes = {row["text"]: name_of.get(row.get("component", "")) for row in plan["requirements"]}
    assert homes["The door predictor is trained on four rooms."] == "door predictor"
    assert homes["The door predictor must log each door."] == "door predictor"
    assert homes["Use the median everywhere."] == homes["Write Rust."] == "requested changes"


def test_constants_of_one_name_are_told_apart_by_their_condition_or_page() -> None:
    text = "We use a batch size of 32 for images. We use a batch size of 64 for speech."
    config = next(
        row
        for row in read(f"# T\n\n## 1 Setup\n\n{text}\n").plan["file_structure"]
        if row["path"].endswith("config.py")
    )
    names = [line.partition(" = ")[0] for line in config["interface"]]
    assert len(set(names)) == 2
    assert not any(name in ("BATCH_SIZE", "BATCH_SIZE_2") for name in names)


def test_what_describes_data_or_machines_is_not_demanded_of_the_code() -> None:
    text = (
        "# T\n\n## 1 Setup\n\nWe use 8 NVIDIA P100 GPUs. We use a batch size of 32. "
        "In their paper the room length is set to 6.\n"
    )
    plan = read(text).plan
    assert [row["kind"] for row in plan["values"]] == ["fact", "training", "fact"]
    assert [row["id"] for row in demands_of(plan) if is_value(row)] == ["V2"]
    config = next(row for row in plan["file_structure"] if row["path"].endswith("/config.py"))
    assert config["implements"] == ["V2"]


def test_two_values_in_one_cell_are_two_results_of_one_column() -> None:
    text = (
        "# T\n\n## 1 Method\n\nWe propose Slow Waiting.\n\n## 2 Results\n\n> **Table 1.** Results of all\n\n"
        "| Method | Full Part Fast | Time |\n|---|---|---|\n| Hurry | 1.0 2.0 | 7.5 |\n| Ours | 3.0 4.0 | 8.5 |\n"
    )
    made = [(row["row"], row["column"], row["value"]) for row in read(text).plan["expected_results"]]
    assert made == [
        ("Ours", "Full Part Fast (1 of 2)", 3.0), ("Ours", "Full Part Fast (2 of 2)", 4.0), ("Ours", "Time", 8.5),
    ]  # fmt: skip


POINTING = """# Waiting

## 1 Method

Listing 2 shows how the queue is emptied by the waiter. We use a batch size of 25 and a buffer size of 107 in all runs.
"""


def test_what_a_plan_points_to_and_does_not_have_is_a_doubt() -> None:
    said = [row["what"] for row in read(POINTING).plan["uncertain"]]
    assert "Listing 2, to which the paper points, is not in the plan: read it in the paper." in said


def test_a_number_whose_raised_digits_may_be_lost_is_a_doubt() -> None:
    plan = read(POINTING).plan
    doubted = [row["what"] for row in plan["uncertain"] if "raised digits" in row["what"]]
    assert len(doubted) == 1
    assert "107 (section 1, p. 1) may be 10^7" in doubted[0]
    assert {row["value"] for row in plan["values"]} >= {107}


TWICE = """# Waiting

## 1 Method

{first}

{second}
"""


@pytest.mark.parametrize(
    ("first", "second", "is_doubted"),
    [
        pytest.param("We set the queue to 64 in the waiter.", "We set the queue to 128 in the waiter.", True, id="two"),
        pytest.param(
            "For small rooms, we set the queue to 64.",
            "For large rooms, we set the queue to 128.",
            False,
            id="two cases",
        ),
        pytest.param("Each key has 32 bits.", "Each node uses 5 bits.", False, id="counts of different things"),
    ],
)
def test_only_a_setting_that_contradicts_itself_is_a_doubt_and_it_says_where(
    first: str, second: str, is_doubted: bool
) -> None:
    plan = read(TWICE.format(first=first, second=second)).plan
    assert len(plan["values"]) == 2
    told = [row["what"] for row in plan["uncertain"] if "no words say when each holds" in row["what"]]
    assert bool(told) == is_doubted
    assert not told or ("64 (section 1, p. 1)" in told[0] and "128 (section 1, p. 1)" in told[0])
