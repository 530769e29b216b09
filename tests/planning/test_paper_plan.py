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

from phases.planning.rules.plan import VERIFY, package_name, plan_by_rules
from phases.planning.rules.requirements import MOST_STATEMENTS, requirements_of
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.values import values_in
from phases.readers.latex.reader import read_latex
from phases.readers.markdown import PAGE_MARK, paper_document
from phases.readers.pdf.reader import read_pdf
from phases.readers.reading import Reading
from pipeline.engine.contract import Contracts
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


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def pages_of(text: str) -> dict[int, str]:
    marks = [*PAGE_MARK.finditer(text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {int(mark.group(1)): squeezed(text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)}


def test_every_kind_of_demand_of_a_small_paper_is_found() -> None:
    kinds = by_kind(read(PAPER))
    assert kinds["algorithm"] == ["Algorithm 1: Wait a little"]
    assert kinds["model"] == ["The model waits first and then answers all of the questions at once."]
    assert kinds["loss"] == ["We minimize the cross-entropy loss of the waiter over all rooms."]
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
    assert kinds.pop("hyperparameter") == ["epochs = 5"]
    assert list(kinds.values()) == [["We train the waiter for 5 epochs."]], "only the setup asks for code"


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
    said = " ".join(row["text"] for row in made.requirements)
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
        "However, the waiter is patient. In order to keep the order, we then make use of a queue [4], as shown in Figure 3. "
        "This keeps the order of the rooms. A **room** is drawn (see Section 2), and then the door is opened;"
    )
    [first, *rest] = read(f"# T\n\n## 1 Approach\n\n{text}\n").requirements
    assert first["text"] == text.partition(" A **room**")[0]
    assert [row["text"] for row in rest] == ["A room is drawn (see Section 2), and then the door is opened;"]


def test_a_sentence_that_a_page_or_a_formula_divides_is_whole() -> None:
    pages = ("# T\n\n## 1 Setup\n\nWe compute the time as\n\n$$ y = x $$\n\nwhere x is used in", "all of the rooms.")
    made = read_on(paper_document(Reading("ok", "x 1", pages), "0" * 64, "pdf"))
    [row] = made.requirements
    assert row["text"] == "We compute the time as $$ y = x $$ where x is used in all of the rooms."
    assert row["source"] == {"section": "1", "page": 1, "quote": "We compute the time as"}


def test_a_piece_of_a_sentence_is_no_requirement() -> None:
    made = read("# T\n\n## 1 Setup\n\nand then we use a queue. We train the\n\nWe open the door.\n")
    assert [row["text"] for row in made.requirements] == ["We open the door."]


NO_BODY = [
    pytest.param("# T\n\n## 1 Introduction\n\nWe keep a queue of rooms.\n", id="only an introduction"),
    pytest.param("# T\n\n## Abstract\n\nWe keep a queue of rooms.\n\n## References\n\n[1] B. 1999.\n", id="only an abstract"),
    pytest.param("# T\n\nWe keep a queue of rooms.\n", id="no heading but the title"),
    pytest.param("We keep a queue of rooms.\n", id="no heading at all"),
    pytest.param("# T\n\nWe keep a queue of rooms.\n\n## References\n\n[1] We use a door. 1999.\n", id="references"),
]  # fmt: skip


@pytest.mark.parametrize("text", NO_BODY)
def test_a_paper_without_a_body_is_planned_from_what_there_is(text: str) -> None:
    made = read(text)
    assert [row["text"] for row in made.requirements] == ["We keep a queue of rooms."]
    names = [name for row in made.plan["file_structure"] for name in row["interface"]]
    assert "class KeepQueueRooms" in names


@pytest.mark.parametrize("text", ["", "# T\n", "# T\n\n## References\n\n[1] We use a queue. 1999.\n", "Hm.\n", "42\n"])
def test_where_nothing_is_found_the_plan_says_so(text: str) -> None:
    made = read(text)
    [row] = made.plan["requirements"]
    assert row["text"].startswith("Nothing to build was found by rules in: ")
    assert row["status"] == "missing"
    Contracts().serialise("initial_plan.txt", made.plan, writer="a test")


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
    "We reduce it by a factor of 100 here.",
    "We train for 20, 000 iterations in all.",
]


@pytest.mark.parametrize("sentence", NO_VALUES)
def test_no_citation_place_fraction_index_or_measurement_is_a_value(sentence: str) -> None:
    assert list(values_in(sentence)) == []


SOME_VALUES = [
    ("We apply dropout [33] with a learning rate of 0.1 [4].", {"learning_rate": 0.1}),
    ("We set λ = 1/2 for all.", {"lambda": "1/2"}),
    ("The noise rate is 30% in all.", {"noise_rate": "30%"}),
    ("A learning rate of 0.001 and 100 epochs are used.", {"learning_rate": 0.001, "epochs": 100}),
    ("The batch-size was set to 16, 32 and 64.", {"batch_size": "16, 32, 64"}),
    ("The number of layers is from [1, 4] here.", {"number_of_layers": "1, 4"}),
    ("A weight decay of 0.5 is used.", {"weight_decay": 0.5}),
    ("A learning rate of 10⁻⁴ is used.", {"learning_rate": 0.0001}),
    ("We train for up to 60,000 iterations.", {"iterations": 60000}),
]


@pytest.mark.parametrize(("sentence", "values"), SOME_VALUES)
def test_a_value_beside_a_citation_a_fraction_or_a_count_is_whole(sentence: str, values: dict[str, Any]) -> None:
    found = list(values_in(sentence))
    assert {value.name: value.value for value in found} == values
    assert all(value.quote in sentence for value in found)


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


RESULTS = [
    pytest.param("Table 3. Lowest loss after hyperparameter tuning", "Optimizer | Loss", "Adam | 0.1", id="tuned"),
    pytest.param("Table 3. Accuracy in the zero-shot setting", "Model | All", "SLOW-base | 61.1", id="of a setting"),
    pytest.param("Table 3. Variations of the waiter", "dropout | BLEU", "hidden 512 | 24.1", id="an ablation"),
    pytest.param("Table 3. Training settings", "Model | Rooms", "Slow waiter | 3", id="no row is a setting"),
]


@pytest.mark.parametrize(("caption", "head", "row"), RESULTS)
def test_a_table_of_results_sets_nothing_and_is_no_requirement(caption: str, head: str, row: str) -> None:
    table = f"> **{caption}**\n\n| {head} |\n|---|---|\n| {row} |\n| Hurry | 2.5 |\n"
    made = read(f"# T\n\n## 4 Experimental Settings\n\nWe use two rooms.\n\n{table}")
    assert [row["text"] for row in made.requirements] == ["We use two rooms."]


def test_an_algorithm_comes_with_its_steps() -> None:
    fence = "```algorithm\nAlgorithm 1: Wait well\n1: for each room\n2:   wait in it\n```\n\nAfter it comes prose."
    rows = read(f"# T\n\n## 2 Method\n\n{fence}\n").requirements
    assert [row["text"] for row in rows if row["kind"] == "algorithm"] == [
        "Algorithm 1: Wait well: for each room; wait in it"
    ]


def test_requirements_come_in_the_order_of_the_paper() -> None:
    text = "# T\n\n## 1 Setup\n\nWe train the waiter first.\n\n## 2 Method\n\nWe keep a queue of rooms.\n\nAlgorithm 1: Wait\n"
    assert [row["text"] for row in read(text).requirements] == [
        "Algorithm 1: Wait",
        "We train the waiter first.",
        "We keep a queue of rooms.",
    ]


@pytest.mark.parametrize(
    "words", ["超参数 学习率 设置为 0.1。我们使用数据集训练模型。", "Wir berechnen die Wartezeit mit dem Datensatz."]
)
def test_a_paper_in_another_language_has_a_plan_too(words: str) -> None:
    made = read(f"# T\n\n## 1 {words[:4]}\n\n{words}\n")
    assert made.requirements[0]["kind"] in ("dataset", "model"), "something is demanded"
    assert made.plan["file_structure"]


def test_a_long_paper_has_a_plan_that_can_still_be_read() -> None:
    prose = "\n\n".join(f"We use item{n} with kind{n} for the step{n} and store it in box{n}." for n in range(500))
    rows = read(f"# T\n\n## A Appendix\n\n{prose}\n\n## 1 Method\n\nWe keep a queue of rooms.\n").requirements
    assert len(rows) == MOST_STATEMENTS
    assert max(len(row["text"]) for row in rows) <= 600
    assert rows[-1]["text"] == "We keep a queue of rooms.", "what stands in an appendix is left out first"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared papers are not here")
@pytest.mark.parametrize("name", ["rs_h-detach", "transformer_1706.03762", "other/sp_fader11"])
def test_a_requirement_of_a_real_paper_is_in_it_word_for_word(name: str) -> None:
    document = paper_document(read_pdf(str(SHARED / f"{name}.pdf")), "0" * 64, "pdf")
    whole = letters(PAGE_MARK.sub("", document.text))
    rows = read_on(document).requirements
    said = [row["text"] for row in rows if row["kind"] not in ("hyperparameter", "equation", "algorithm")]
    missing = [sentence for text in said for sentence in sentences_of(text) if letters(sentence) not in whole]
    assert not missing
    assert len(said) > 20


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
    rows = requirements_of(made.document.text, outline, made.index["segments"], made.document.body_start)
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
