"""Which sentences become requirements: what one does against what it talks about, and what is printed with it."""

from __future__ import annotations

from string import ascii_lowercase

import pytest

from phases.planning.rules.deeds import gist_of, weigh_deeds
from tests.papers import read

DOES = [
    "Bob copies the message into a cell and passes it to Carol.",
    "Followers accept proposals and append them to their history.",
    "When a quorum of processes has accepted the proposal, the leader sends a commit message.",
    "Let E be the number of epochs and n the training size.",
    "We split each file into blocks of 512 bytes.",
    "Each entry holds a key and a pointer to the next node.",
    "Set the threshold to half of the largest count.",
    "To avoid a second pass, the writer keeps a counter for each page.",
]
TALKS = [
    "This makes it easy to add new features to the system.",
    "The design can be extended to many other applications in principle.",
    "It is important to note that the approach is very flexible.",
    "We now discuss the main ideas behind this design.",
    "For example, an attacker could send a large file through the network.",
    "In Section 4 we give an overview of the implementation.",
    "One might ask whether the ordering is really necessary?",
    "Previous systems often suffer from expensive lookups because they were not designed for it.",
]


@pytest.mark.parametrize("sentence", DOES)
def test_what_says_what_to_build_outweighs_what_talks_about_it(sentence: str) -> None:
    assert weigh_deeds(sentence) >= 0.9


@pytest.mark.parametrize("sentence", TALKS)
def test_what_talks_about_a_method_weighs_too_little(sentence: str) -> None:
    assert weigh_deeds(sentence) < 0.5


def test_brackets_a_purpose_and_a_pointer_are_not_what_a_sentence_says() -> None:
    said = "To save time, the door opens twice (as in most houses), as shown in Figure 3."
    assert gist_of(said) == "the door opens twice."


@pytest.fixture(name="texts")
def _texts() -> list[str]:
    return [str(row["text"]) for row in read(PAPER).requirements]


PAPER = """# The Door Protocol

## 1 Method

The guest sends the last promise of the hall to the

WAITER(e) from a quorum of guests, and the waiter stores it. It is important to see how nice and natural this is. The waiter
opens the door for each guest.2 The host then counts the guests. Step 3 begins once the waiter receives a count from a quo-

rum of guests, and the host returns to the hall. Hence we store the count of guests in a table of the hall. A guest has
weight

$$
w = \\frac{1}{n}
$$

where $n$ is the number of guests.

With noise, the weight of a room is updated as follows.

$$
r = r + w
$$

A share is drawn from the interval [0, 1) for each guest (one call each).

## 2 Results

The waiter was fast and liked by all. We set the number of doors to 4 for all runs.
"""


def test_a_line_that_was_cut_off_is_joined_with_the_one_that_it_goes_on_in(texts: list[str]) -> None:
    assert (
        "The guest sends the last promise of the hall to the WAITER(e) from a quorum of guests, and the waiter stores it."
        in texts
    )
    assert any("from a quorum of guests, and the host returns" in text for text in texts)
    assert not any(text.startswith(("WAITER", "rum of")) for text in texts)


def test_what_the_signs_of_a_formula_stand_for_comes_with_it() -> None:
    row = next(row for row in read(PAPER).requirements if row["text"] == "A guest has weight")
    assert row["formula"] == "w = \\frac{1}{n} where $n$ is the number of guests."


def test_words_that_point_down_to_a_formula_are_printed_with_it() -> None:
    row = next(row for row in read(PAPER).requirements if "weight of a room" in row["text"])
    assert row["formula"] == "r = r + w"


def test_the_number_of_a_footnote_is_no_part_of_a_sentence(texts: list[str]) -> None:
    assert "The waiter opens the door for each guest." in texts


def test_a_half_open_interval_is_no_piece_of_a_sentence(texts: list[str]) -> None:
    assert "A share is drawn from the interval [0, 1) for each guest (one call each)." in texts


def test_a_setting_among_results_is_a_requirement_and_a_result_is_none(texts: list[str]) -> None:
    assert "We set the number of doors to 4 for all runs." in texts
    assert not any("liked by all" in text for text in texts)


def test_praise_takes_no_place(texts: list[str]) -> None:
    assert not any("nice and natural" in text for text in texts)


@pytest.mark.slow
def test_free_places_are_not_filled_with_what_is_hardly_a_requirement() -> None:
    sure = "".join(f"The waiter opens door {number} for each of the guests. " for number in range(40))
    vague = "".join(
        f"Since it is late, the guests of room {letter}{letter} are counted by the host. " for letter in ascii_lowercase
    )
    texts = [row["text"] for row in read(f"# The Doors\n\n## 1 Method\n\n{sure}{vague}\n").requirements]
    assert len(texts) == 40
    assert not any("room" in text for text in texts)


def _texts_of(body: str) -> list[str]:
    return [str(row["text"]) for row in read(f"# The Doors\n\n## 1 Method\n\n{body}\n").requirements]


STEPS = [
    (
        "a list",
        ["- The guest sends a card to the host.", "- The cards.", "- The host then returns the card of the guest."],
        2,
    ),
    (
        "paragraphs with labels",
        [
            "Stage 0: The guest sends a card to the host.",
            "Stage 1: Nobody is in the hall at that time of the day.",
            "Stage 2: The host stores the card in a table of the hall.",
            "Stage 3: The host returns the card to the guest.",
        ],
        4,
    ),
    (
        "an item that ends in and",
        [
            "- D1.cards: the cards of all guests, initially empty; and",
            "- D1.hall: the hall of the guest, initially empty.",
        ],
        2,
    ),
    (
        "items that say what a word stands for",
        [
            "- id is the number of the door.",
            "- key is the name of the guest.",
            "- hall = the hall that the door opens.",
        ],
        3,
    ),
]


@pytest.mark.parametrize(("lines", "count"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS])
def test_the_items_of_a_list_are_taken_together(lines: list[str], count: int) -> None:
    texts = " ".join(
        _texts_of("The protocol works in the hall of the house. It has these parts:\n\n" + "\n\n".join(lines))
    )
    assert sum(line.removeprefix("- ").removesuffix(" and") in texts for line in lines) == count


def test_a_list_keeps_its_place_where_there_are_more_requirements_than_places() -> None:
    others = "".join(
        f"The waiter of hall {number} sends {number} cards to each of the guests. " for number in range(80)
    )
    items = (
        "- If the card is new, the host sets the count to 1.\n- Nobody asks for the name of a guest.\n"
        "- The host opens a door for each guest.\n"
    )
    texts = _texts_of(f"{others}\n\nThe host does this:\n\n{items}")
    assert len(texts) == 60
    assert texts[-3:] == [line.removeprefix("- ") for line in items.splitlines()]


@pytest.mark.slow
def test_many_lists_leave_places_to_what_is_said_of_each_part() -> None:
    body = ""
    for part in ("Red", "Blue", "Green", "White", "Black", "Brown"):
        items = (f"- The host sends card {number} to the {part.lower()} guest and closes it.\n" for number in range(12))
        body += f"### 1.1 {part} gate controller\n\nThe {part.lower()} gate controller stores one weight for each guest and "
        body += f"updates it after every step.\n\nThe host does the following:\n\n{''.join(items)}\n"
    texts = _texts_of(body)
    assert len(texts) == 60
    assert sum("gate controller" in text for text in texts) == 6


def test_a_list_of_problems_asks_for_nothing() -> None:
    texts = _texts_of(
        "The waiter opens the door. There are two problems with the halls:\n\n"
        "- The guest stores two cards in one hall.\n- The host sends each card to a guest twice."
    )
    assert texts == ["The waiter opens the door."]


def test_what_holds_under_a_premise_is_printed_with_it() -> None:
    texts = _texts_of(
        "C2: Suppose that a card is in the table of the host. If b is larger than a, the host returns the card."
    )
    assert texts == [
        "C2: Suppose that a card is in the table of the host. If b is larger than a, the host returns the card."
    ]


ASIDES = [
    "Consider the following scenario. The host sends card 1 to the guest.\n\nNow the guest stores card 1 in the table.",
    "For example, the host takes card 4. The host sends card 4 to guest 7.",
    "As an example, consider this card:\n\nCard 4 is for guest 7.\n\nThe host sends card 4 to guest 7.",
    "Proof. Let n be the number of cards. The host sends n cards to the guests.\n\nThen the guest stores n cards. ∎",
]


@pytest.mark.parametrize("words", ASIDES)
def test_a_worked_example_and_a_proof_ask_for_nothing(words: str) -> None:
    assert _texts_of(f"The waiter opens the door.\n\n{words}\n\nThe waiter closes the door.") == [
        "The waiter opens the door.",
        "The waiter closes the door.",
    ]


def test_what_a_paragraph_behind_an_example_says_of_an_algorithm_is_asked_for() -> None:
    step = "In step 2, the host sends card 5 to guest 8."
    asked = "In Algorithm 1, the host removes each card from the table."
    assert _texts_of(f"For example, the host takes card 4.\n\n{step}\n\n{asked}") == [asked]
