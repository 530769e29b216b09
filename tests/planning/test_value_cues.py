"""Which numbers of a sentence are taken for settings, under which names, and whose they are."""

from __future__ import annotations

import pytest

from phases.planning.rules.tables import cells_of, read_grid
from phases.planning.rules.values import candidates_in, values_in
from tests.papers import read

SETUP = """# Waiting

## 2 Experiments

### 2.1 Setup

{sentence}

## 3 Results

{result}
"""


def values_of(sentence: str, result: str = "The waiter wins.") -> list[tuple[object, ...]]:
    rows = read(SETUP.format(sentence=sentence, result=result)).plan["values"]
    return [(row["name"], row.get("value", row.get("values")), row["owner"]) for row in rows]


@pytest.mark.parametrize(
    ("sentence", "name", "value"),
    [
        pytest.param(
            "We tune the stepsize in $\\{1, 0.1, 0.01\\}$ for all rooms.", "stepsize", [1, 0.1, 0.01], id="a set"
        ),
        pytest.param(
            "We tune the learning rate by a grid search on $\\{10^{-3},10^{-2}\\}$ for all rooms.",
            "learning rate",
            [0.001, 0.01],
            id="a set that is searched",
        ),
        pytest.param(
            "We train with random cropping to 224x224 for all rooms.", "random cropping size", "224x224", id="a crop"
        ),
        pytest.param(
            "We train all rooms with the LR fixed to 1.5 in each run.", "LR", 1.5, id="a name of two capitals"
        ),
        pytest.param(
            "We train all rooms on 4 Nvidia RTX 3090 GPUs in each run.",
            "number of GPUs",
            4,
            id="devices by their maker",
        ),
        pytest.param("We train each room with a batch size of 64 for each task.", "batch size", 64, id="plain words"),
    ],
)
def test_what_a_setup_sets_is_taken_by_its_name(sentence: str, name: str, value: object) -> None:
    assert (name, value) in [row[:2] for row in values_of(sentence)]


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(
            "The waiter achieves the best score with 12 rooms, which is better than before.", id="a best case"
        ),
        pytest.param("The error drops by 17 percent after the first 12 rooms.", id="a change"),
    ],
)
def test_what_a_result_tells_is_no_setting(result: str) -> None:
    assert values_of("We train each room with a batch size of 64 for each task.", result) == [
        ("batch size", 64, "method")
    ]


def test_a_number_that_no_way_of_setting_knows_is_a_candidate_by_the_noun_beside_it_and_no_value_by_its_words_alone() -> (
    None
):
    said = "The modulus 97 was kept."
    assert [(one.name, one.value) for one in candidates_in(said)] == [("modulus", 97)]
    assert values_in(said) == []


def test_a_data_set_owns_what_it_consists_of() -> None:
    assert ("number of photographs", 30000, "Lobby-HQ") in values_of(
        "The Lobby-HQ dataset consists of 30000 photographs. We use a batch size of 64 for each task."
    )


def test_a_table_that_begins_with_its_numbers_is_read_by_what_they_are_of() -> None:
    rows = cells_of("| Share | Reason |\n|---|---|\n| 65% | wrong room |\n| 16% | wrong door |")
    assert [(label, cells) for label, cells in read_grid(rows).rows] == [
        ("wrong room", ["65%"]),
        ("wrong door", ["16%"]),
    ]


def test_a_sentence_that_says_where_it_is_shown_first_is_no_result() -> None:
    found = read(
        SETUP.format(sentence="As shown in Figure 5, the network consists of 60 hidden layers.", result="It waits.")
    )
    assert [(row["name"], row["value"]) for row in found.plan["values"]] == [("number of hidden layers", 60)]
