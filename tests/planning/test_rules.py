"""The plan by rules: sentences, listings, values and tables as the paper prints them, and files that would hold them."""

from __future__ import annotations

import json
import keyword
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.planning.plan_md import plan_md
from phases.planning.rules import plan_by_rules, roles_of
from phases.planning.rules.layout import package_name
from phases.planning.rules.passages import CAPTION, blocks_of, sentences_of
from phases.planning.rules.plan import VERIFY
from phases.planning.rules.requirements import MOST
from phases.planning.rules.sections import split_heading
from phases.planning.rules.tables import read_grid
from phases.planning.rules.values import values_in
from phases.readers.markdown import PAGE_MARK, paper_document
from phases.readers.pdf.reader import read_pdf
from pipeline.engine.contract import Contracts
from tests.papers import EXAMPLE, MARKDOWN, PAPER, Read, example_paper, read, read_on
from tests.strategies import QUICK


def texts(made: Read) -> list[str]:
    return [row["text"] for row in made.requirements]


def method(text: str) -> Read:
    return read(f"# Waiting\n\n## 2 Method\n\n{text}\n")


def table(*rows: str) -> str:
    first, *rest = (f"| {row} |" for row in rows)
    return "\n".join([first, "|---" * (first.count("|") - 1) + "|", *rest])


def assert_kept(plan: Any) -> None:
    """The schema takes the plan, and it is read as it was written."""
    data = Contracts().serialise("initial_plan.txt", plan, writer="a test")
    assert Contracts().parse("initial_plan.txt", data, writer="a test") == plan


def squeezed(text: str) -> str:
    return "".join(PAGE_MARK.sub("", text).split())


def test_a_small_paper_is_planned_with_all_that_it_says() -> None:
    plan = read(PAPER).plan
    assert [(row["name"], row["value"]) for row in plan["values"]] == [
        ("learning rate", 0.1), ("batch size", 32), ("number of epochs", 5),
    ]  # fmt: skip
    named = [[row["name"] for row in plan[key]] for key in ("datasets", "metrics", "baselines")]
    assert named == [["Lobby"], ["accuracy"], ["Hurry"]]
    assert {row["name"]: row.get("algorithm") for row in plan["components"]} == {
        "Wait a little": "Algorithm 1", "Waiting model": None,
    }  # fmt: skip
    assert plan["requirements"][0]["formula"] == "y = x + 1"
    said = "; ".join(row["text"] for row in plan["requirements"])
    for wanted in ("We minimize the cross-entropy loss", "The model waits first", "Lobby data set", "Hurry baseline"):
        assert wanted in said
    assert plan["expected_results"] == [], "an accuracy over 5 epochs is none of 5"


def section(number: str | None, title: str, level: int) -> dict[str, Any]:
    return {"id": f"{number} {title}", "number": number, "title": title, "level": level}


@pytest.mark.parametrize(
    "sections",
    [
        pytest.param([(None, "Abstract", 1), ("1", "Introduction", 2), ("2", "Waiting", 2)], id="an abstract"),
        pytest.param(
            [(None, "Zusammenfassung", 1), (None, "Einleitung", 2), (None, "Waiting", 2)], id="without numbers"
        ),
        pytest.param([("1", "Introduction", 1), ("2", "Waiting", 2), ("2.1", "Rooms", 3)], id="an introduction"),
    ],
)
def test_a_heading_of_the_front_that_is_set_larger_contains_no_chapter(sections: list[Any]) -> None:
    roles = roles_of([section(*row) for row in sections])
    assert {name.split()[-1]: role for name, role in roles.items()}["Waiting"] == "build"


SWALLOWED = "Related work is old and was done by many people who all used a queue of rooms for it."


@pytest.mark.parametrize(
    "heading",
    [
        pytest.param(SWALLOWED, id="a whole sentence"),
        pytest.param(
            "We prove by a theorem that the rooms of the hotel are all in one list which is long.", id="a proof"
        ),
        pytest.param(
            "Queue of rooms We use a list for all of the related work, and its background is the motivation for it.",
            id="a name before it",
        ),
    ],
)
def test_a_heading_that_swallowed_its_paragraph_decides_no_role_and_loses_no_sentence(heading: str) -> None:
    made = read(
        f"# Waiting\n\n## 2 Method\n\nWe keep a queue.\n\n## {heading}\n\nWe store rooms in it.\n\n"
        "## Door\n\nWe open it with a key.\n"
    )
    said = " ".join(texts(made))
    assert "We store rooms in it." in said
    assert "with a key." in said


def test_the_sentences_of_a_heading_are_read() -> None:
    name, rest = split_heading(
        "3.2 Training We train the waiter for 10 epochs with a batch size of 32 rooms on one machine."
    )
    assert (name, rest[:8]) == ("3.2 Training", "We train")
    assert split_heading("Rooms and halls") == ("Rooms and halls", "")


@pytest.mark.parametrize(
    "line",
    [
        "Table 2 shows the results. The waiter was run for 10 epochs.",
        "Figure 3 and Table 1 agree. The waiter was run for 10 epochs.",
        "Table II gives the errors. The waiter was run for 10 epochs.",
    ],
)
def test_a_sentence_that_begins_with_a_table_is_no_caption(line: str) -> None:
    assert [block.kind for block in blocks_of(line)] != [CAPTION]
    assert "The waiter was run for 10 epochs." in texts(method(line))


@pytest.mark.parametrize(
    "line", ["Table 2: Results", "**Table 2.** Results", "TABLE IV. HITS", "Figure 3 Rooms of all", "表 2. 结果"]
)
def test_a_label_and_a_title_are_a_caption(line: str) -> None:
    assert [block.kind for block in blocks_of(line)] == [CAPTION]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("## 1 Method\n\nOur approach outperforms all of the others by a wide margin.", id="praise"),
        pytest.param("## 2 Related Work\n\nThe early waiters use a queue to keep the order.", id="what others did"),
        pytest.param("## A Proofs\n\n### A.1 Steps\n\nWe use a queue to keep the order.", id="a part of a proof"),
        pytest.param("## 1 Introduction\n\nWe use a queue for a very old habit.", id="motivation"),
        pytest.param("## References\n\n[1] We use a queue to keep the order. 1999.", id="a reference"),
        pytest.param("## 1 Method\n\nFigure 3 shows the rooms of the method in a row.", id="a pointer"),
        pytest.param("## 1 Method\n\nSmith et al. have shown that rooms are used [3].", id="cited work"),
        pytest.param("## 第1章 绪论\n\n我们使用一个队列。", id="another language"),
    ],
)
def test_what_asks_for_no_code_is_no_requirement(text: str) -> None:
    made = read(f"# Waiting\n\n{text}\n\n## 7 Setup\n\nWe train the waiter for 5 epochs.\n")
    assert texts(made) == ["We train the waiter for 5 epochs."]


def test_a_requirement_is_whole_sentences_of_the_paper_with_every_word() -> None:
    text = (
        "In order to keep the order, we then make use of a queue [4]. This queue is kept in the hall of the rooms. "
        "A **room** is drawn (see Section 2), and then the door is opened. The key of ("
    )
    assert texts(method(text)) == [
        "In order to keep the order, we then make use of a queue [4]. This queue is kept in the hall of the rooms.",
        "A room is drawn (see Section 2), and then the door is opened.",
    ]


def test_a_sentence_that_leans_on_an_outcome_is_left_out() -> None:
    assert texts(method("Our approach outperforms all of the others. This is computed in the hall with a queue.")) != []
    assert not any(
        text.startswith("This") for text in texts(method("Ours outperforms others. This is computed in it."))
    )


VALUES = [
    ("We use a learning rate of 0.1 and a batch size of 32.", [("learning rate", 0.1), ("batch size", 32)]),
    ("The margin is set to 0.5 in all runs.", [("margin", 0.5)]),
    ("Here b is set to 0.003.", [("b", 0.003)]),
    ("Here K is the norm and b set to 0.75.", [("b", 0.75)]),
    ("We set $\\eta =1,K=2000$ for all rooms.", [("η", 1), ("K", 2000)]),
    ("The waiter has three hidden layers.", [("number of hidden layers", 3)]),
    ("It is trained on 6, 066 rooms.", [("number of rooms", 6066)]),
    ("The widths are 50, 100, or 200.", [("widths", (50, 100, 200))]),
    ("We use a 32 bit hash of the key.", [("number of bits", 32)]),
    (
        "The memory size and the number of slots are set to 100 and 5 respectively.",
        [("memory size", 100), ("number of slots", 5)],
    ),
    ("The queue size is set to 10, 20, and 30 respectively.", [("queue size", (10, 20, 30))]),
    ("We use $d_{k}=d_{v}=64$ here.", [("d_k", 64), ("d_v", 64)]),
    ("We use a meta batch-size of 4.", [("meta batch-size", 4)]),
    ("It is trained using SGD with a learning rate of 0.1.", [("learning rate", 0.1), ("optimizer", "SGD")]),
    ("The rate is tuned over $\\{10^{-3},10^{-2}\\}$.", [("rate", (0.001, 0.01))]),
    ("As in Table 3 of Section 4.2 [17], rooms are kept.", []),
    ("It is better by 0.5 than all of the others.", []),
    ("There are two reasons for it.", []),
    ("Let γ ∈ [0, 1] be the margin.", []),
]


@pytest.mark.parametrize(("sentence", "found"), VALUES)
def test_a_stated_value_is_taken_as_it_is_stated(sentence: str, found: list[tuple[str, object]]) -> None:
    assert sorted((value.name, str(value.value)) for value in values_in(sentence)) == sorted(
        (name, str(value)) for name, value in found
    )


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("For Hurry, we use a batch size of 32.", "Hurry"),
        ("We use a batch size of 32.", "method"),
        ("**LobbyNet.** The batch size is set to 32.", "LobbyNet"),
    ],
)
def test_a_value_belongs_to_what_its_paragraph_names_else_to_the_method(text: str, owner: str) -> None:
    made = read(f"# T\n\n## 3 Setup\n\nWe compare with Hurry.\n\n{text}\n")
    assert [row["owner"] for row in made.plan["values"] if row["name"] == "batch size"] == [owner]


def test_every_table_is_told_as_what_it_is_used() -> None:
    tables = [
        ("1", "Hyper-parameters of the queue", table("Name | Value", "Learning rate | 0.1", "Batch size | 32")),
        ("2", "Hits on all trees", table("Rule | Oak | Ash", "Slow | 41.5 | 42.5", "Old | 40.5 | 39.5")),
        ("3", "Statistics of the data sets", table("Set | Rows | Classes", "Oak | 100 | 2", "Ash | 200 | 3")),
        ("4", "Which rule needs what", table("Rule | Needs", "Slow | a queue", "Old | a bell")),
    ]
    shown = "\n\n".join(f"> **Table {at}.** {said}.\n\n{rows}" for at, said, rows in tables)
    plan = read(
        f"# Slow: A Rule\n\n## 2 Method\n\nWe propose Slow. Slow waits. Slow works.\n\n## 4 Results\n\n{shown}\n"
    ).plan
    assert [row["used_as"] for row in plan["tables"]] == ["settings", "results", "data", "none"]
    assert [(row["name"], row["value"]) for row in plan["values"]] == [("Learning rate", 0.1), ("Batch size", 32)]
    assert [(row["row"], row["column"], row["value"]) for row in plan["expected_results"]] == [
        ("Slow", "Oak", 41.5), ("Slow", "Ash", 42.5),
    ]  # fmt: skip
    assert [row["name"] for row in plan["baselines"]] == ["Old"]
    assert any("Table 4 (p. 1), words and no numbers" in row["what"] for row in plan["uncertain"])
    assert "## Left out\n\n- not used (words and no numbers): Table 4" in plan_md(plan)


GRIDS = [
    pytest.param(["| A | B", "Slow | 1.5 | 2.5"], ["A", "B"], [("Slow", ["1.5", "2.5"])], id="heads and a label"),
    pytest.param(
        ["| Oak | | Ash |", "| P | R | P | R", "Slow | 1.5 | 2.5 | 3.5 | 4.5"],
        ["Oak / P", "Oak / R", "Ash / P", "Ash / R"], [("Slow", ["1.5", "2.5", "3.5", "4.5"])], id="a head over its columns",
    ),
    pytest.param(
        ["Rule | k | Hits", "Slow | 1 | 2.5", "Slow | 2 | 3.5"], ["Hits"],
        [("Slow k=1", ["2.5"]), ("Slow k=2", ["3.5"])], id="a setting",
    ),
    pytest.param(
        ["Set | Rule | Hits", "Oak | Slow | 2.5", "| Old | 3.5"], ["Hits"],
        [("Oak / Slow", ["2.5"]), ("Oak / Old", ["3.5"])], id="two labels",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "heads", "rows"), GRIDS)
def test_a_table_is_read_with_its_heads_and_labels(lines: list[str], heads: list[str], rows: list[Any]) -> None:
    grid = read_grid([[cell.strip() for cell in line.split("|")] for line in lines])
    assert (grid.heads, grid.rows) == (heads, rows)


def test_a_method_is_called_as_the_paper_introduces_it_and_a_rival_is_what_it_is_compared_with() -> None:
    rows = table("Rule | Hits | Misses", "Slow Hall | 41.5 | 1.5", "Door | 42.5 | 2.5", "Old | 40.5 | 3.5")
    made = read(
        "# On Waiting\n\n## 2 Method\n\nThis paper proposes Slow Hall, a rule. Slow Hall waits. Slow Hall works. We "
        "first introduce the LSTM cells of others. Matches were played against Hurry.\n\n### 2.1 Door\n\n"
        "We open a door of the hall.\n\n"
        f"## 4 Results\n\n> **Table 1.** Results.\n\n{rows}\n"
    ).plan
    assert {row["row"] for row in made["expected_results"]} == {"Slow Hall"}
    assert {row["name"] for row in made["baselines"]} == {"Old", "Hurry"}


def test_data_sets_and_measures_that_a_sentence_lists_are_named() -> None:
    made = read(
        "# T\n\n## 3 Setup\n\nWe use two data sets: Lobby12 and Hall-Rooms13, both small. Lobby and Hall-Rooms are old. Lobby is "
        "small, and Hall-Rooms is long. It has three metrics: the number of doors, ratio of halls and "
        "ratio of keys.\n"
    ).plan
    assert [row["name"] for row in made["datasets"]] == ["Lobby", "Hall-Rooms"]
    assert [row["name"] for row in made["metrics"]] == ["number of doors", "ratio of halls", "ratio of keys"]


def test_listings_and_algorithms_are_kept_line_by_line() -> None:
    lines = "1: read the room\n2:   if it is full then\n3:     wait for it\n4: return the room"
    plan = method(
        f"> **Algorithm 1.** Wait a little\n\n```\n{lines}\n```\n\nWe also call this:\n\n"
        "```python\ndef f(x):\n    y = g(x)\n    return y\n```"
    ).plan
    steps = [step for row in plan["components"] for step in row.get("steps", ())]
    assert steps[:4] == ["1: read the room", "2:   if it is full then", "3:     wait for it", "4: return the room"]
    assert steps[-3:] == ["def f(x):", "    y = g(x)", "    return y"]


def test_a_paper_in_any_language_is_planned_as_far_as_its_structure_carries() -> None:
    rows = table("参数 | 值", "学习率 | 0.1")
    text = "# 等待\n\n## 1 引言\n\n等待。\n\n## 2 队列\n\n我们使用一个队列来保存所有的房间。\n\n"
    text += f"```\nx = f(y)\nz = g(x)\nreturn z\n```\n\n> **表 1.** 超参数\n\n{rows}\n"
    plan = read(text).plan
    assert [row["text"] for row in plan["requirements"]] == ["我们使用一个队列来保存所有的房间。"]
    assert [row["value"] for row in plan["values"]] == [0.1]
    assert [row["steps"] for row in plan["components"] if "steps" in row] == [["x = f(y)", "z = g(x)", "return z"]]
    assert_kept(plan)


def test_what_nothing_was_taken_from_is_doubted_first() -> None:
    parts = (
        "## 3 Halls\n\nHalls are long.\n\nHalls are wide.\n\n"
        "## 4 Doors\n\nAlgorithm 3 is run here. The width of ( is lost in this very long sentence.\n"
    )
    what = [
        row["what"] for row in read(f"# T\n\n## 2 Method\n\nWe keep a queue of rooms.\n\n{parts}").plan["uncertain"]
    ]
    assert any(said.startswith("Nothing is taken from section 3 Halls") for said in what)
    assert any(said.startswith("Algorithm 3, to which the paper points") for said in what)
    assert any("Words or signs are lost" in said for said in what)
    assert what[0].startswith("Only")


def test_where_nothing_is_found_the_plan_says_so() -> None:
    plan = read("# Nothing\n\nNothing.\n").plan
    assert plan["requirements"][0]["status"] == "missing"
    assert plan["uncertain"]
    assert_kept(plan)


def test_a_wish_is_a_requirement_of_the_part_that_it_names_else_of_its_own() -> None:
    wishes = ["The waiting model must log each door.", "Use the median everywhere."]
    plan = read(PAPER, wishes).plan
    name_of = {row["id"]: row["name"] for row in plan["components"]}
    homes = {
        row["text"]: name_of[row["component"]] for row in plan["requirements"] if row["source"]["section"] == "review"
    }
    assert homes == {wishes[0]: "Waiting model", wishes[1]: "requested changes"}


def test_a_long_paper_has_a_plan_that_can_still_be_read() -> None:
    prose = "\n\n".join(f"We use item{n} with kind{n} for the step{n} and store it in box{n}." for n in range(200))
    assert len(method(prose).requirements) == MOST


@pytest.mark.parametrize(
    ("title", "own", "name"),
    [
        ("Slow Waiting for Everyone", [], "slow_waiting_everyone"), ("3D Vision", [], "paper_3d_vision"),
        ("等待的艺术", [], "paper"), ("../../etc/passwd", [], "etc_passwd"), ("PaperMage: A Toolkit", ["PaperMage"], "papermage"),
        ("Tests", [], "paper_tests"), ("JSON", [], "paper_json"),
    ],
)  # fmt: skip
def test_a_package_is_named_after_the_method_or_the_title_and_hides_no_other(
    title: str, own: list[str], name: str
) -> None:
    assert package_name(title, own) == name


@given(st.text(max_size=300))
@example("class")
@QUICK
def test_a_package_name_is_always_a_name(title: str) -> None:
    name = package_name(title)
    assert name.isidentifier()
    assert not keyword.iskeyword(name)
    assert name not in sys.stdlib_module_names


@pytest.mark.parametrize("made", [lambda: read(PAPER), example_paper], ids=["a Markdown paper", "the example paper"])
def test_every_sentence_is_in_the_paper_on_the_page_and_in_the_section_it_cites(made: Any) -> None:
    paper: Read = made()
    marks = [*PAGE_MARK.finditer(paper.document.text)]
    ends = [mark.start() for mark in marks[1:]] + [len(paper.document.text)]
    pages = {
        int(mark[1]): squeezed(paper.document.text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)
    }
    sections = {row["number"] or row["title"] for row in paper.outline["sections"]}
    letters = "".join(filter(str.isalnum, PAGE_MARK.sub("", paper.document.text)))
    for row in paper.requirements:
        assert squeezed(row["source"]["quote"]) in pages[row["source"]["page"]], row
        assert row["source"]["section"] in sections, row
        assert all("".join(filter(str.isalnum, said)) in letters for said in sentences_of(row["text"])), row


def test_the_example_paper_is_planned_so_that_it_can_be_built_and_the_same_way_twice() -> None:
    plan = example_paper().plan
    again = read_on(paper_document(read_pdf(str(EXAMPLE)), "0" * 64, "pdf")).plan
    assert json.dumps(again) == json.dumps(plan)
    assert [row["algorithm"] for row in plan["components"] if row.get("steps")] == ["Algorithm 1", "Algorithm 2"]
    assert {row["table"] for row in plan["expected_results"]} == {"Table 2", "Table 3", "Table 4"}
    assert len(plan["requirements"]) > 30
    data = Contracts().serialise("initial_plan.txt", plan, writer="a test").decode()
    assert max(map(len, data.splitlines())) <= 130


@pytest.mark.slow
@given(MARKDOWN, st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), max_size=3))
@QUICK
def test_the_plan_of_every_text_is_one_that_can_be_carried_out(text: str, requests: list[str]) -> None:
    plan = read(text, requests).plan
    assert_kept(plan)
    identifiers = [row["id"] for row in (*plan["requirements"], *plan["values"])]
    assert len(set(identifiers)) == len(identifiers)
    paths = [row["path"] for row in plan["file_structure"]]
    assert len(set(paths)) == len(paths) == len(plan["implementation_strategy"])
    met = [identifier for row in plan["file_structure"] for identifier in row["implements"]]
    facts = {row["id"] for row in plan["values"] if row["kind"] == "fact"}
    assert sorted(met) == sorted(set(identifiers) - facts), "each requirement and value has exactly one file"
    for row in plan["file_structure"]:
        before = plan["implementation_strategy"][: plan["implementation_strategy"].index(row["path"])]
        assert set(row["depends_on"]) <= set(before), "a file comes after what it depends on"
        names = [words.split(" = ")[0].removeprefix("class ").removeprefix("def ") for words in row["interface"]]
        assert len(set(names)) == len(names)
        assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    assert plan["validation_approach"]["verify_commands"] == [VERIFY]


PIECES = [
    "# 等待的艺术", "## 1 Method", "## 2 Experiments", "### 2.1 Data Sets", "## 结果", "## References", "<!-- page 2 -->",
    "We use a learning rate of 0.1, 1e-400 or 10^{-999} for $\\eta_{\\max}$ = 1/0.", "我们使用学习率 0.1。", "$$ $$",
    "$$ x = \\frac{1}{", "> **Table 1.** Hyper-parameters of", "| rate | 0.1 |\n|---|---|\n| seeds | {1, 2, 3} |",
    "- batch size: 64", "| a | |\n|---|---|", "> **Table 2.** Results", "```", "|||", "1. 2. 3.", "(((", "[^1]: a note",
    "| Method | A / B |\n|---|---|\n| Ours [3] | 1.0 (2.0) 3e5 |", "> **Algorithm 1.** Wait\n\n```\n1: wait\n```",
    "We propose Slow Waiting (SW), a 64-dimensional queue, and compare it with Hurry [2].", "\x0b\u2028\ufffd",
]  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=40), max_size=14))
@QUICK
def test_whatever_a_paper_holds_the_schema_takes_its_plan(pieces: list[str]) -> None:
    assert_kept(read("\n\n".join(pieces)).plan)


@pytest.mark.parametrize("label", ["", "(3)"])
def test_an_empty_equation_in_an_outline_breaks_no_plan(label: str) -> None:
    made = read(PAPER)
    empty = {**made.outline["equations"][0], "label": label, "text": ""}
    outline = {**made.outline, "equations": [empty, *made.outline["equations"]]}
    assert_kept(plan_by_rules(made.document.text, outline, [], body_start=made.document.body_start))
