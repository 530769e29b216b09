"""Definitions that are no sentence of their own, and which requirements are kept where there are too many."""

from __future__ import annotations

from typing import Any

import pytest

from phases.planning.rules.passages import Sentence
from phases.planning.rules.requirement_choice import MOST, choose_requirements
from phases.planning.rules.requirements import Requirement
from phases.planning.rules.sections import BUILD, SETUP
from phases.planning.rules.sentences import count_words, is_whole, sentences_of
from phases.planning.rules.values import values_in
from tests.papers import read
from tests.work import assert_linear, count_steps

FRONT = "# Slow Doors\n\n## 1 Introduction\n\nWe propose SlowDoor, a slow door.\n\n"


def plan_of(method: str, title: str = "2 Method") -> Any:
    return read(f"{FRONT}## {title}\n\n{method}\n").plan


def texts_of(method: str) -> list[str]:
    return [row["text"] for row in plan_of(method)["requirements"]]


HOPELESS = """\
- If this point is the only liberty of a black string of size S, then 1,000 is added to the urgency of the point. A point is
considered a hopeless extension when

- there is at most one contiguous empty intersection, and

- there is no contiguous white string in atari, and

- there is no contiguous black string not in atari.

- If this point is the only liberty of a white string of size S, then 10,000 is added to the urgency of the point.
"""


def test_a_sentence_that_its_items_end_is_one_requirement_with_all_of_them() -> None:
    said = (
        "A point is considered a hopeless extension when there is at most one contiguous empty intersection, and there is no "
        "contiguous white string in atari, and there is no contiguous black string not in atari."
    )
    made = plan_of(HOPELESS)["requirements"]
    assert said in [row["text"] for row in made]
    assert len(made) == 3, "the items around it stay requirements of their own"
    quote = next(row["source"]["quote"] for row in made if row["text"] == said)
    assert quote == "A point is considered a hopeless extension when"


@pytest.mark.parametrize(
    ("lead", "items", "told"),
    [
        pytest.param(
            "We run each door with these settings:",
            ["Width: 90 cm", "Weight: 20 kg"],
            "We run each door with these settings: Width: 90 cm; Weight: 20 kg.",
            id="items without full stops are told apart",
        ),
        pytest.param(
            "To help a guest, a door performs the following steps:",
            ["reserve a room using the key;", "write the name of the guest into the room"],
            "To help a guest, a door performs the following steps: reserve a room using the key; write the name of the guest "
            "into the room.",
            id="steps",
        ),
        pytest.param(
            "Ein Raum heißt offen, wenn gilt:",
            ["(i) Jede Tür steht in einer Liste von Räumen", "(ii) Keine Tür ist mit einem Schlüssel verschlossen"],
            "Ein Raum heißt offen, wenn gilt: (i) Jede Tür steht in einer Liste von Räumen; (ii) Keine Tür ist mit einem "
            "Schlüssel verschlossen.",
            id="another language",
        ),
    ],
)
def test_what_leads_to_a_list_stands_before_its_items(lead: str, items: list[str], told: str) -> None:
    assert told in texts_of("\n\n".join([lead, *(f"- {item}" for item in items)]))


@pytest.mark.parametrize(
    "lead",
    ["The key advantages are:", "Our contributions are:", "The door needs"],
    ids=["advantages", "news", "no lead"],
)
def test_a_list_of_advantages_and_a_list_without_a_sentence_before_it_ask_for_nothing(lead: str) -> None:
    made = texts_of(
        f"We keep a list of all keys in the hall.\n\n{lead}\n\n- fast opening of each door\n\n- slow closing of each door"
    )
    assert made == ["We keep a list of all keys in the hall."]


def test_a_long_list_is_cut_between_its_items_and_each_part_has_the_words_above_it() -> None:
    lead = "To open a door, a guest performs the following steps:"
    items = [
        f"write the number {number} into the list of all the doors that were opened before {number};"
        for number in range(14)
    ]
    items.append("otherwise, write nothing into the list of doors at all.")
    told = [text for text in texts_of("\n\n".join([lead, *(f"- {item}" for item in items)])) if text.startswith(lead)]
    assert len(told) == 2
    assert " ".join(text.removeprefix(f"{lead} ") for text in told).replace(".", ";") == " ".join(items).replace(
        ".", ";"
    )
    assert not told[1].removeprefix(lead).lstrip().startswith("otherwise")


@pytest.mark.parametrize("begun", ["readData takes", "init_model takes", "tanh(x) takes", "x86 takes"])
def test_a_name_begins_a_sentence_as_it_is_written(begun: str) -> None:
    assert is_whole(f"{begun} a path and returns a list.")
    assert not is_whole("and then takes a path and returns a list.")


def test_a_letter_ends_a_sentence_where_the_next_begins_like_one() -> None:
    said = ["It reads the data into R.", "There are three formats of J. R. Smith."]
    assert list(sentences_of(" ".join(said))) == said


def test_no_sentence_ends_behind_an_initial_that_another_stands_before() -> None:
    said = ["The proof by C. S. An and D. We is short.", "It reads the data into R.", "The rest is by D. E. The."]
    assert list(sentences_of(" ".join(said))) == said


@pytest.mark.parametrize("piece", ["layers.Then we train it.", "by2 we train.", "of12 these we keep two."])
def test_two_sentences_without_a_blank_and_a_word_with_a_footnote_begin_no_sentence(piece: str) -> None:
    assert not is_whole(piece)


def test_a_long_list_keeps_its_last_items_where_a_second_list_follows() -> None:
    def items(word: str, count: int) -> str:
        told = "of the block differs from the stored one of its parent by more than the allowed number of units in the table"
        return "".join(f"- the {word} {number} {told};\n" for number in range(count))

    first = f"We reject a message when\n\n{items('stamp', 8)}\n"
    said = " ".join(texts_of(f"{first}We delete a channel from the table when\n\n{items('clock', 3)}\n"))
    assert [number for number in range(8) if f"stamp {number}" not in said] == []
    assert [number for number in range(3) if f"clock {number}" not in said] == []


WHERE = (
    "The bonus of each move is known. It depends on the move and is added to each.\n\n$$ e_i = (0.1 + a_i) / N, $$\n\n"
    "{} $a_i$ is 1 when move i is an atari, and 0 otherwise.\n\nWe play each move in turn."
)


@pytest.mark.parametrize("where", ["where", "Where"])
def test_what_the_signs_of_a_formula_of_a_component_stand_for_stands_behind_it(where: str) -> None:
    components = read(
        f"{FRONT}## 2 Move Selection\n\nThe move selection picks a move.\n\n{WHERE.format(where)}\n"
    ).plan["components"]
    equations = [text for row in components for text in row.get("equations", ())]
    assert equations == [f"e_i = (0.1 + a_i) / N, {where} $a_i$ is 1 when move i is an atari, and 0 otherwise."]


def test_what_the_signs_of_a_formula_are_may_itself_end_with_a_formula() -> None:
    formula = plan_of(
        "The door is found by\n\n$$ a = b c $$\n\nwhere $b$ is a key, and $c$ is given by\n\n$$ c = 2 d $$\n\nWe stop."
    )
    assert [row["formula"] for row in formula["requirements"] if "formula" in row] == [
        "a = b c where $b$ is a key, and $c$ is given by c = 2 d"
    ]


def test_what_the_caption_of_an_algorithm_says_behind_its_name_goes_with_the_algorithm() -> None:
    made = plan_of(
        "The door opener of Algorithm 1 opens each door.\n\n```algorithm\n"
        'Algorithm 1: Door opener. "Guests" is the number of guests.\n1: s <- Guests\n2: return s\n```\n'
    )
    row = next(row for row in made["components"] if row.get("algorithm") == "Algorithm 1")
    assert row["what"].endswith('"Guests" is the number of guests.')


NOTATION = """\
Each follower f keeps a history of doors.

| f.p | Last new epoch proposal follower f acknowledged |
|---|---|
| f.a | Last new leader proposal follower f acknowledged |
| f.z | Last accepted transaction identifier |

> **Table 1.** Summary of persistent variables

We open each door of the history once.
"""


def test_a_table_that_says_in_words_what_names_stand_for_is_a_requirement() -> None:
    plan = plan_of(NOTATION)
    row = next(row for row in plan["requirements"] if "f.p" in row["text"])
    assert row["text"] == (
        "Summary of persistent variables: f.p: Last new epoch proposal follower f acknowledged; "
        "f.a: Last new leader proposal follower f acknowledged; f.z: Last accepted transaction identifier;"
    )
    assert row["source"]["quote"] == "Summary of persistent variables"
    assert plan["tables"] == [{"table": "Table 1", "page": 1, "used_as": "none", "why": f"words, told in {row['id']}"}]


def test_a_table_of_words_with_a_long_caption_says_which_requirement_tells_it() -> None:
    caption = (
        "Summary of the persistent variables that each follower and each leader keeps in the history of all the doors"
    )
    plan = plan_of(NOTATION.replace("Summary of persistent variables", caption))
    row = next(row for row in plan["requirements"] if "f.p" in row["text"])
    assert [table["why"] for table in plan["tables"]] == [f"words, told in {row['id']}"]


def test_a_sentence_without_blanks_leads_to_its_formula() -> None:
    plan = read(
        "# 背包\n\n## 1 引言\n\n本文讨论背包。\n\n## 2 方法\n\n"
        "令 F[i, v] 表示前 i 种物品恰放入一个容量为 v 的背包的最大价值，则有状态转移方程："
        "\n\n$$ F[i, v] = F[i - 1, v - k] + k $$\n\n其中 k 是满足条件的最大整数。\n"
    ).plan
    assert [row["formula"] for row in plan["requirements"]] == [
        "F[i, v] = F[i - 1, v - k] + k 其中 k 是满足条件的最大整数。"
    ]
    assert count_words("这是二进制的思想") == 5


def test_numbers_in_brackets_make_no_sentence_a_list_of_numbers() -> None:
    said = "We employ a [96, 192, 384, 512] scheme in each block."
    assert said in texts_of(said)


def test_two_numbers_and_two_cases_are_one_value_in_two_cases() -> None:
    found = values_in("We use a meta batch-size of 4 and 2 tasks for 1-shot and 5-shot training respectively.")
    assert [(one.name, one.value, one.condition) for one in found] == [
        ("meta batch-size", 4, "for 1-shot training"),
        ("meta batch-size", 2, "for 5-shot training"),
    ]


def test_a_size_that_came_out_is_no_set_up_and_one_that_was_set_is() -> None:
    many = " ".join(f"We set the number of keys of door {number} to {number}." for number in range(2, 10))
    came_out, was_set = "The remaining 18.2 MB of pages are sent to the host.", "We set the limit of pages to 1.5 MB."
    made = read(f"{FRONT}## 4 Experimental Setup\n\n{many} {came_out} {was_set}\n").requirements
    said = [row["text"] for row in made]
    assert was_set in said
    assert came_out not in said


def _row(place: int, said: str, score: float = 1.2, *, role: str = BUILD, formula: str = "") -> Requirement:
    section = {"id": "S1", "number": "1", "title": "", "level": 1, "page": 1}
    return Requirement((Sentence(said, section, 1, role, "prose", formula=formula),), score, place)


def test_a_formula_is_never_left_out_for_what_its_sentence_weighs() -> None:
    many = [_row(place, f"We keep key {place} of room {place} in box {place}.") for place in range(40)]
    for role in (BUILD, SETUP):
        weak = _row(50, "The wave is", 0.5, role=role, formula="a = b")
        ended = _row(51, "The wave is known.", 0.5, role=role, formula="a = b")
        chosen = [row for row, _ in choose_requirements([*many, weak, ended], [None] * 42)]
        assert weak in chosen
        assert ended not in chosen


def test_of_equal_weights_each_part_keeps_its_share_wherever_it_stands() -> None:
    rows = [_row(place, f"We keep key {place} of room {place} in box {place}.") for place in range(120)]
    homes = [place // 40 for place in range(120)]
    chosen = [home for _, home in choose_requirements(rows, homes)]
    assert len(chosen) == MOST
    assert {home: chosen.count(home) for home in set(chosen)} == {0: 20, 1: 20, 2: 20}


def test_the_second_row_of_a_part_gives_way_to_what_weighs_more_and_the_first_does_not() -> None:
    rows = [_row(place, f"We keep key {place} of room {place} in box {place}.", 0.8) for place in range(MOST)]
    homes = [place // 2 for place in range(MOST)]
    formula = _row(90, "For the case of Poisson distributed counts, the weight is", 1.8, formula="W = 1 / n")
    told = _row(91, "The followers accept the proposal and acknowledge by sending an ACK.", 1.7)
    chosen = choose_requirements(
        [*rows, *(_row(80 + at, f"We shut door {at}.", 1.9) for at in range(2)), formula, told],
        [*homes, 50, 50, 50, 50],
    )
    assert {formula.text, told.text} <= {row.text for row, _ in chosen}
    assert set(homes) <= {home for _, home in chosen}


def test_a_sentence_that_ends_in_a_bare_this_stands_behind_what_it_speaks_of() -> None:
    before = "We let the model attend to information from different places at each step."
    texts = texts_of(f"{before} With a single attention head, averaging the layers inhibits this.")
    assert not any(text.startswith("With a single") for text in texts)


def test_what_another_requirement_says_gives_way_where_places_are_few() -> None:
    rows = [_row(place, f"We keep key {place} in the wooden boxes under green stairs.", 1.4) for place in range(MOST)]
    again = _row(MOST, "Key 3 we keep in the wooden boxes under green stairs.", 1.3)
    other = _row(MOST + 1, "Each guest asks the porter for water.", 1.2)
    rows.pop()
    chosen = [row for row, _ in choose_requirements([*rows, again, other], [0] * len([*rows, again, other]))]
    assert other in chosen
    assert again not in chosen


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("If the server buffer is full, we send the packet.", "If the server buffer is not full, we send the packet."),
        ("The momentum of the server buffer starts at 0.5 always.", "The momentum of the server buffer starts at 5.0 always."),
        ("The old packet of the server goes to the left when on.", "The old packet of the server goes to the left when off."),
        ("The server buffer keeps each packet where x > 3 holds.", "The server buffer keeps each packet where x < 3 holds."),
        ("若缓冲区已满则把数据包发送到下一个队列", "若缓冲区不满则把数据包发送到下一个队列"),
    ],
    ids=["denied", "another fraction", "a short word", "another sign", "Chinese"],
)  # fmt: skip
@pytest.mark.parametrize("is_first", [True, False])
def test_a_rule_that_says_the_opposite_is_not_said_again(first: str, second: str, is_first: bool) -> None:
    first, second = (first, second) if is_first else (second, first)
    rows = [_row(place, f"We keep key {place} of room {place} in box {place}.", 1.3) for place in range(MOST - 2)]
    rows += [_row(100, first, 1.5), _row(101, second, 1.4), _row(102, "Each guest asks the porter.", 1.2)]
    said = [row.text for row, _ in choose_requirements(rows, [0] * len(rows))]
    assert {first, second} <= set(said)


def test_what_has_a_formula_of_its_own_is_not_said_again() -> None:
    rows = [_row(place, f"We keep key {place} of room {place} in box {place}.", 1.3) for place in range(MOST - 2)]
    told = "the weight of the encoder from the output of the decoder by"
    rows += [
        _row(100, f"We compute {told}", 1.5, formula="w = f(o)"),
        _row(101, f"We compute {told}", 1.4, formula="o = g(w)"),
    ]
    rows.append(_row(102, "Each guest asks the porter.", 1.2))
    formulas = [row.formula for row, _ in choose_requirements(rows, [0] * len(rows)) if row.formula]
    assert formulas == ["w = f(o)", "o = g(w)"]


@pytest.mark.parametrize(
    "line", ["- a door opens when", "- the door,", "where a is\n\n$$ a = b $$"], ids=["leads", "items", "terms"]
)
def test_lists_that_lead_to_lists_take_the_time_of_their_length(line: str) -> None:
    assert_linear(lambda many: plan_of("We open the door as follows:\n\n" + f"{line}\n\n" * many), 200)


@pytest.mark.parametrize(
    ("text", "homes"),
    [
        ("We keep key {0} of room {0} in box {0}.", 20),
        ("We keep the key of the room in the box.", 20),
        ("We keep key {0} of room {0} in box {0}.", 1),
    ],
    ids=["many components", "the same again and again", "one component"],
)
def test_the_work_of_a_choice_grows_with_the_number_of_requirements_alone(text: str, homes: int) -> None:
    def choose(many: int) -> None:
        rows = [_row(place, text.format(place)) for place in range(many)]
        assert len(choose_requirements(rows, [place % homes for place in range(many)])) == min(many, MOST)

    assert_linear(choose, 500)
    assert count_steps(lambda: choose(1_000)) < 1_000_000, (
        "each is weighed a few times, and not with each that is chosen"
    )
