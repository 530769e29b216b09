"""When a value holds: what a person would call its condition, and what only looks like one."""

from __future__ import annotations

import pytest

from phases.planning.rules.conditions import condition_of
from phases.planning.rules.values import values_in


@pytest.mark.parametrize(
    ("sentence", "condition"),
    [
        pytest.param("We use a learning rate of 0.1 during testing.", "during testing", id="behind the value"),
        pytest.param("For the larger halls, we use a batch size of 64.", "For the larger halls", id="at the beginning"),
        pytest.param(
            "We use a dropout of 0.1 for the first 50 steps.", "for the first 50 steps", id="a number of its own"
        ),
        pytest.param(
            "For each of these 1,500 halls, we use a batch size of 64.", "For each of these 1,500 halls", id="thousands"
        ),
        pytest.param("We use a learning rate of 0.1 on Lobby v1.4.", "on Lobby v1.4", id="a point in a name"),
        pytest.param(
            "We use a learning rate of 0.1 for $Lobby_{Large}$ and $10^{-4}$ for halls.",
            "for Lobby_Large",
            id="the next value",
        ),
        pytest.param("We train 30 epochs per hall finding that it helps.", "per hall", id="what was found"),
        pytest.param("We use a batch size of 64 on a single hall to fix the error.", "on a single hall", id="what for"),
        pytest.param("In the first run (Figure 3), we use a batch size of 64.", "In the first run", id="a bracket"),
        pytest.param("In Table 1, we use a batch size of 64.", "", id="a place in the paper"),
        pytest.param("In our experiments, we use a batch size of 64.", "", id="the paper itself"),
        pytest.param("In order to save time, we use a batch size of 64.", "", id="a purpose"),
        pytest.param("We use a batch size of 64 on a total of 200B words.", "", id="a sum"),
        pytest.param("We use a batch size of 64 on many 32 bit machines.", "", id="words that a number cuts off"),
        pytest.param(
            "We use a batch size of 4 and 2 runs for halls and rooms respectively.", "for halls", id="two cases"
        ),
    ],
)
def test_a_condition_says_when_the_value_holds_and_ends_where_its_phrase_ends(sentence: str, condition: str) -> None:
    value = values_in(sentence)[0]
    assert condition_of(sentence, value, "method") == condition


def test_a_sentence_that_turns_to_another_case_gives_it_to_what_follows() -> None:
    said = "In the lobby, 9 actions were precomputed, while in the great hall, 20 actions were precomputed."
    first, second = values_in(said)
    assert (condition_of(said, first, "method"), condition_of(said, second, "method")) == (
        "In the lobby",
        "in the great hall",
    )
