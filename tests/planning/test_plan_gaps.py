"""What a plan says that the paper does not say, and what it says once that the paper says twice."""

from __future__ import annotations

from typing import Any

import pytest

from phases.planning.rules.gaps import gaps_of
from phases.planning.rules.passages import read_paper
from phases.planning.rules.values import values_in
from tests.papers import read

TRAINED = """# Waiting

## 1 Method

We train the waiter with the Adam optimizer for 20 epochs and a batch size of 64. {more}

## 2 Results

The waiter wins. {later}
"""
LISTING: dict[str, Any] = {
    "id": "C3", "name": "cleanup", "algorithm": "Listing 5",
    "steps": ["void cleanup(Queue *q)", "if (e - i < MAX_GARBAGE) return EMPTY;", "free_list(q, e);", "find_cell(q);"],
}  # fmt: skip


def doubts_of(more: str = "", later: str = "") -> str:
    return " ".join(row["what"] for row in read(TRAINED.format(more=more, later=later)).plan["uncertain"])


def test_a_training_without_a_learning_rate_is_told_and_nothing_that_the_paper_gives() -> None:
    said = doubts_of()
    assert "Not found in the paper, though it trains a model (section 1, p. 1): the learning rate" in said
    assert "batch size" not in said
    assert "epochs" not in said


@pytest.mark.parametrize("where", ["more", "later"])
def test_what_stands_anywhere_in_the_paper_is_not_missing(where: str) -> None:
    assert "the learning rate" not in doubts_of(**{where: "The learning rate of all our runs is 0.1."})


def gaps_with(text: str) -> list[str]:
    listing = "\n".join(LISTING["steps"])
    document = read(f"# Waiting\n\n## 1 Method\n\n{text}\n\n```\n{listing}\n```\n")
    paper = read_paper(document.document.text, document.outline)
    return [row["what"] for row in gaps_of(paper, [], [LISTING], [])]


def test_a_constant_and_a_function_that_nothing_defines_are_told_with_their_line() -> None:
    said = gaps_with("We call find_cell, which walks the list of segments.")
    assert said == [
        "Not found in the paper: the value of MAX_GARBAGE (Listing 5, line 2).",
        "Not found in the paper: what free_list does, which Listing 5, line 3 calls.",
    ]


def test_what_a_thing_is_put_on_and_what_has_no_number_are_no_missing_constants() -> None:
    steps = ["append v to QUEUE", "best = -INFINITY", "for i = 0 to MAX_SIZE"]
    document = read("# Waiting\n\n## 1 Method\n\nWe wait.\n")
    paper = read_paper(document.document.text, document.outline)
    assert [row["what"] for row in gaps_of(paper, [], [{**LISTING, "steps": steps}], [])] == [
        "Not found in the paper: the value of MAX_SIZE (Listing 5, line 3)."
    ]


def test_a_constant_that_a_sentence_sets_is_not_missing() -> None:
    said = gaps_with("We set MAX_GARBAGE to 64; free_list frees the segments, find_cell finds one.")
    assert said == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "The training and sampling batch sizes are set to 4,096 and 10,000, respectively.",
            [("training batch size", 4096), ("sampling batch size", 10000)],
        ),
        (
            "The values $\\sigma_{\\text{min}}$ and $\\sigma_{{\\rm max}}$ are set to 0.002 and 80.0.",
            [("sigma_min", 0.002), ("sigma_max", 80.0)],
        ),
        ("We use a learning rate and weight decay of 0.1 and 0.01.", [("learning rate", 0.1), ("weight decay", 0.01)]),
        ("We use an encoder with a five-layer MLP.", [("number of MLP layers", 5)]),
        ("The width and the depth are 64 and 4.", [("width", 64), ("depth", 4)]),
        ("The number of layers and heads are 6 and 8.", [("number of layers", 6), ("number of heads", 8)]),
        ("Each cell is 512 bytes.", [("cell size", 512)]),
        ("Here we set it to be $\\phi(x) = \\max(0, x)$ or $a / \\max(5, b)$.", []),
        ("The id of each cell is a 63-bit integer.", []),
        ("We set state = f(1) = 0 at once.", []),
        ("The order is shuffled with seed 1000 + seed in each run.", []),
        ("In this case, 1035 labels are flipped.", []),
    ],
)
def test_each_number_of_a_sentence_has_its_own_name(sentence: str, expected: list[tuple[str, object]]) -> None:
    assert [(one.name, one.value) for one in values_in(sentence)] == expected


SETTINGS = """# Waiting

## 1 Method

We tune the waiter on its own rooms (seed 7).

We use a batch size of 64 in all runs.

> **Table 1.** Settings of all runs

| Setting | Value |
|---|---|
| batch size | 64 |
| tuning seed | 7 |
| learning rate | 0.1 |
"""


def test_one_setting_is_one_row_in_the_words_of_the_table() -> None:
    rows = [(row["name"], row["value"]) for row in read(SETTINGS).plan["values"]]
    assert sorted(rows) == [("batch size", 64), ("learning rate", 0.1), ("tuning seed", 7)]


def doubts_with(text: str) -> list[str]:
    return [row["what"] for row in read(f"# T\n\n<!-- page 1 -->\n\n## 2 Method\n\n{text}\n").plan["uncertain"]]


NUMBERED = "We wait for the sum:\n\n$$ y = x \\tag{1} $$\n\nWe wait for\n\n$$ z = x \\tag{3} $$\n\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (NUMBERED, ["Equation 2 was not found as a formula: read it in the paper."]),
        (NUMBERED.replace("z = x", "u = z (2) \\\\\\\\ z = x"), []),
        (NUMBERED.replace("{1}", "{1a}").replace("{3}", "{2}"), []),
        (NUMBERED.replace("{3}", "{90}"), []),
    ],
    ids=["one is lost", "in one formula with another", "with letters", "numbers of something else"],
)
def test_a_number_that_no_formula_has_between_two_that_have_theirs_is_a_doubt(text: str, told: list[str]) -> None:
    assert [one for one in doubts_with(text) if "as a formula" in one] == told


DRAWN = "We match each word with the pattern shown in Figure 1.\n\n> **Figure 1.** The pattern\n\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{DRAWN}> In the picture: V = verb | adv", ["In Figure 1, p. 1 stands: V = verb | adv"]),
        (f"{DRAWN}> In the picture: Words Door", ["What is drawn is not in the plan: see Figure 1, p. 1."]),
        (DRAWN, ["What is drawn is not in the plan: see Figure 1, p. 1."]),
        (DRAWN.replace("shown in Figure 1", "of the door"), []),
    ],
    ids=["what relates", "words", "nothing", "not pointed to"],
)
def test_what_a_requirement_points_to_in_a_drawing_is_shown_or_its_place_is(text: str, told: list[str]) -> None:
    assert [one for one in doubts_with(text) if "Figure" in one] == told


LONG = "y = wait + stay + rest + stand + sit + lie + sleep + dream"


@pytest.mark.parametrize(
    ("equation", "told"),
    [
        (f"{LONG} + door", ""),
        (LONG, "cut short in the plan"),
        (f"{LONG} + window", "not in the plan"),
    ],
    ids=["whole", "its beginning", "another that begins alike"],
)
def test_a_formula_is_cut_short_where_the_plan_ends_within_it(equation: str, told: str) -> None:
    document = read("# T\n\n## 1 Method\n\n$$ " + LONG + " + door \\tag{1} $$\n")
    paper = read_paper(document.document.text, document.outline)
    said = " ".join(row["what"] for row in gaps_of(paper, [], [{"id": "C1", "equations": [equation]}], []))
    assert (f"Equation (1) is {told}" in said) if told else not said
