"""Which numbers of a sentence are taken for settings, under which names, and whose they are."""

from __future__ import annotations

import pytest

from phases.planning.rules.cells import cells_of
from phases.planning.rules.tables import read_grid
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


@pytest.mark.parametrize(
    ("sentence", "name", "value"),
    [
        ("Each room is trained with AdamW.", "optimizer", "AdamW"),
        ("The nonlinearity is set to be a GELU.", "activation function", "GELU"),
        ("We use a cosine learning rate schedule.", "learning rate schedule", "cosine"),
        ("Rooms are compared by the Hamming distance.", "distance metric", "Hamming"),
        ("The queue is implemented in C++ here.", "programming language", "C++"),
        ("Keys are hashed using MurmurHash3.", "hash function", "MurmurHash3"),
        ("We train all rooms in BF16 precision.", "numerical precision", "BF16"),
        ("We set the queue length to waiting time + 50.", "queue length", "waiting time + 50"),
        ("Then 1,000 × S is added to the urgency.", "urgency", "1,000 × S"),
        ("The table has size $2^{t}$ here.", "table", "2^t"),
        ("We set $\\rho = 1/(20n)$ for all.", "ρ", "1/(20n)"),
    ],
)
def test_a_word_or_a_formula_is_a_value_with_a_name(sentence: str, name: str, value: str) -> None:
    assert (name, value) in [(one.name, one.value) for one in values_in(sentence)]


@pytest.mark.parametrize(
    "sentence",
    ["The softmax function is smooth.", "We wait with step 3 of it.", "He said so.", "A linear queue of rooms."],
)
def test_a_word_that_chooses_nothing_is_no_value(sentence: str) -> None:
    assert [one for one in values_in(sentence) if one.reading == "words"] == []


def test_symbols_that_have_one_value_have_it_each() -> None:
    found = {one.symbol: one.value for one in values_in("We use $d_{k}=d_{v}=d_{room}/h=64$ and $\\beta=0.5$.")}
    assert found == {"d_k": 64, "d_v": 64, "beta": 0.5}


def test_a_set_of_hundreds_is_no_number_of_thousands() -> None:
    assert [one.value for one in values_in("We use $w \\in \\{100,200,500\\}$ rooms.")] == [(100, 200, 500)]


def test_a_value_is_kept_as_the_paper_prints_it_where_that_reads_otherwise() -> None:
    sentence = "We train each room with a learning rate of $10^{-4}$ and a batch size of 64 for 30K steps."
    rows = read(SETUP.format(sentence=sentence, result="It waits.")).plan["values"]
    assert {row["name"]: (row["value"], row.get("printed")) for row in rows} == {
        "learning rate": (0.0001, "10^-4"),
        "batch size": (64, None),
        "number of steps": (30000, "30K"),
    }


TABLE = """# Waiting

## 2 Method

We train the waiter for each room with a batch size of 64.

## 3 Results

Table 1: Accuracy of waiting.

| Model | Steps | Accuracy |
|---|---|---|
| Ours | 300 | 91.2 |
| QUEUE-7 | 100 | 88.1 |
"""


def test_a_column_of_settings_in_a_table_of_results_gives_each_its_row() -> None:
    rows = read(TABLE).plan["values"]
    assert [(row["value"], row["owner"], row.get("condition")) for row in rows if row["name"] == "Steps"] == [
        (300, "method", "Ours"),
        (100, "QUEUE-7", None),
    ]
    assert not [row for row in rows if row["name"] == "Accuracy"]


def test_what_stands_in_a_bracket_behind_a_name_in_quotes_is_of_that_name() -> None:
    rows = read(
        SETUP.format(sentence="We use the data sets “hall” ($n=270$) and “lobby” ($n=380$).", result="It waits.")
    )
    assert [(row["value"], row["owner"]) for row in rows.plan["values"]] == [(270, "hall"), (380, "lobby")]


def test_what_a_table_of_results_runs_over_is_no_setting() -> None:
    swept = TABLE.replace("| QUEUE-7 | 100", "| Ours | 600 | 92.0 |\n| QUEUE-7 | 100")
    assert not [row for row in read(swept).plan["values"] if row["name"] == "Steps"]


@pytest.mark.parametrize(
    ("sentence", "name", "value", "unit"),
    [
        ("We set a timeout of 30 s for every request of the waiter.", "timeout", 30, "s"),
        ("We use a page size of 64kB in the log of the waiter.", "page size", 64, "kB"),
        ("The heartbeat interval (default 100 ms) is shorter than the election.", "heartbeat interval", 100, "ms"),
        ("The replication factor defaults to 3.", "replication factor", 3, ""),
        ("The segment size in our queue, N, we used in our experiments is 1024.", "segment size", 1024, ""),
    ],
)
def test_what_a_system_is_set_to_is_read_with_its_name_and_unit(
    sentence: str, name: str, value: int, unit: str
) -> None:
    rows = read(SETUP.format(sentence=sentence, result="The waiter wins.")).plan["values"]
    assert [(row["name"], row["value"], row.get("unit", "")) for row in rows] == [(name, value, unit)]


@pytest.mark.parametrize(
    "sentence",
    [
        "In the summer 1973 there were three years of data in the library.",
        "We split the work into steps: (1) convert the array, (2) compress it.",
        "0 10 20 30 40 0 10 Time step 1.00",
        "The program allocates 2M bits, where M is the number of points.",
        "If there are five confusable words in the room, then there will be a tag.",
        "We augment the queue with a 64-bit integer I, which records the room.",
        "The query yielded 1369 responses in all, which were then used.",
    ],
    ids=[
        "a year",
        "items of a list",
        "labels of a figure's axes",
        "a factor of a symbol",
        "a case",
        "a type",
        "what came out",
    ],
)
def test_what_only_looks_like_a_setting_is_none(sentence: str) -> None:
    assert values_of(sentence) == []


def test_a_word_that_begins_a_sentence_owns_nothing() -> None:
    rows = values_of("The trace consists of 914145 references to 186880 distinct pages.")
    assert [owner for _, _, owner in rows] == ["method", "method"]


def test_tables_of_names_and_numbers_hold_in_the_cases_of_their_captions() -> None:
    rows = "| Guest | Cost in coins |\n|---|---|\n| Old | {} |\n| New | {} |"
    tables = [
        f"> **Table {at}.** {case}: costs\n\n{rows.format(at, at + 5)}" for at, case in ((1, "Halls"), (2, "Lobbies"))
    ]
    text = "# Waiting\n\n## 2 Method\n\n### 2.1 Halls\n\nWe wait.\n\n" + "\n\n".join(tables)
    cases = {(row["value"], row["condition"]) for row in read(text).plan["values"]}
    assert cases == {
        (one, f"Cost in coins, {case}") for one, case in ((1, "Halls"), (6, "Halls"), (2, "Lobbies"), (7, "Lobbies"))
    }


@pytest.mark.parametrize(
    ("sentence", "is_doubted"), [("We run 2^10 guests, or 210 guests.", True), ("We set the width to 224.", False)]
)
def test_the_usual_size_of_a_picture_is_no_power_that_lost_its_place(sentence: str, is_doubted: bool) -> None:
    plan = read(f"# Waiting\n\n## 2 Method\n\n{sentence}\n").plan
    assert any("raised digits" in row["what"] for row in plan["uncertain"]) is is_doubted


@pytest.mark.parametrize(
    ("sentence", "row"),
    [
        ("We downloaded a 60 megabyte file every 30 minutes for 54 hours.", ("file size", 60, "megabyte")),
        ("We downloaded a 60 megabyte file every 30 minutes for 54 hours.", ("duration", 54, "hours")),
        ("Each client issues 5,000 requests per second from two rooms.", ("requests per second", 5000, "")),
        ("The workload contains 80% reads and 20% writes of the rooms.", ("share of reads", "80%", "")),
        ("We conducted 12 sessions of 45 minutes in the rooms of the hotel.", ("session duration", 45, "minutes")),
        ("Twelve students used the waiter in two rooms of the hotel.", ("number of students", 12, "")),
        ("Each experiment is conducted ten times in the hotel.", ("number of repetitions", 10, "")),
        ("We vary the number of clients from 1 to 64.", ("number of clients", "1 to 64", "")),
        ("Each test consisted of two blocks of 40 trials.", ("number of trials per block", 40, "")),
        ("The dataset contains tweets from 3,500 users of the hotel.", ("number of users", 3500, "")),
        ("We ran informal tests using a network of 4 nodes in a room.", ("number of nodes", 4, "")),
        (
            "We varied the extent of the distribution from zero to 896 bytes.",
            ("distribution extent", "0 to 896", "bytes"),
        ),
        ("The cache of each server contains 4096 entries of 64 bytes.", ("entry size", 64, "bytes")),
        (
            "We trained the recognizer on 430 hours of transcribed speech.",
            ("amount of transcribed speech", 430, "hours"),
        ),
    ],
)
def test_how_a_measurement_was_run_is_set_even_where_its_results_stand(sentence: str, row: tuple[object, ...]) -> None:
    plan = read(SETUP.format(sentence="We look at rooms.", result=sentence)).plan
    assert row in [(one["name"], one["value"], one.get("unit", "")) for one in plan["values"]]


@pytest.mark.parametrize(
    "result",
    [
        "We found that the model generated the room at a rate p = 0.74.",
        "The test arrived in about 300 seconds on average, compared to 210s for a direct run.",
        "The theoretical minimum time is 12.0 using example activities.",
        "The waiter could not approach it with frequency 10 rooms, which had a precision of 0.34.",
    ],
    ids=["what was found", "what it took", "a time before a verb", "which rooms"],
)
def test_what_was_measured_in_a_run_is_no_setting(result: str) -> None:
    assert values_of("We look at rooms.", result) == []


def test_of_a_system_in_use_only_what_was_run_is_set() -> None:
    said = "The network consists of 32 nodes today. We ran tests with a network of 4 nodes in a room."
    plan = read(f"# Waiting\n\n## 2 Method\n\nWe wait.\n\n## 8 Early experiences\n\n{said}\n").plan
    assert [row["value"] for row in plan["values"]] == [4]


def test_all_numbers_that_a_name_is_set_to_are_its_values() -> None:
    rows = values_of("We set Kin to 20% and 30% of the total number of page slots in each run.")
    assert [row[:2] for row in rows] == [("Kin", "20%"), ("Kin", "30%")]


def test_what_is_said_in_one_breath_with_a_setting_is_one() -> None:
    rows = values_of("We refer to it as the base set and construct it with the engine, t = 200, and d = 50.")
    assert [row[:2] for row in rows] == [("t", 200), ("d", 50)]


def test_a_name_does_not_say_again_whose_it_is() -> None:
    assert values_of("In each run the memory model's maximum cache size was set to 16.") == [
        ("maximum cache size", 16, "memory model")
    ]


def test_two_tables_of_one_section_are_each_of_what_their_caption_says_first() -> None:
    costs = "Table {}: {}: Teaching costs\n\n| Type | Cost in seconds |\n|---|---|\n| Quiz | {} |\n| Example | {} |\n"
    said = f"{costs.format(1, 'Letters', 6.6, 7)}\n{costs.format(2, 'Numbers', 2.8, 2.4)}"
    rows = read(SETUP.format(sentence=said, result="The waiter wins.")).plan["values"]
    cases = {row["value"]: row["condition"].rpartition(", ")[2] for row in rows}
    assert (cases[6.6], cases[2.8]) == ("Letters", "Numbers")


def test_a_part_of_those_who_took_part_is_counted_with_what_they_are() -> None:
    said = "We trained it on 144 subjects, of whom 36 were clinically diagnosed with it (training set)."
    rows = read(SETUP.format(sentence=said, result="The waiter wins.")).plan["values"]
    assert [(row["name"], row["value"], row.get("condition", "")) for row in rows] == [
        ("number of subjects", 144, ""),
        ("number of subjects", 36, "those clinically diagnosed with it"),
    ]


@pytest.mark.parametrize(
    ("sentence", "owners"),
    [
        (
            "The memory model used a memory size of 2, and the continuous model's cache size was set to 16.",
            ["memory model", "continuous model"],
        ),
        ("The memoryless model sampled 7 items in the first level.", ["memoryless model"]),
        ("The Waiter (big) model trained for rooms used a dropout rate of 0.1.", ["Waiter (big)"]),
    ],
    ids=["each its own clause", "who does it", "a variant"],
)
def test_a_value_belongs_to_what_does_it_in_its_own_clause(sentence: str, owners: list[str]) -> None:
    assert [owner for _, _, owner in values_of(sentence)] == owners


SIZES = """# Waiting

## 2 Model

The waiter is a stack of N = 6 layers and nothing else.

## 3 Results

Table 1: Variations of the waiter.

|  | $Nd_{model}$ |  | $d_{ff}$ | h | PPL | BLEU |
|---|---|---|---|---|---|---|
| base | 6 | 512 | 2048 | 8 | 4.92 | 25.8 |
| (A) | 2 |  |  |  | 6.11 | 23.7 |
| (A) | 4 |  |  |  | 5.19 | 25.3 |
| big | 6 | 1024 | 4096 | 16 | 4.33 | 26.4 |
"""


def test_the_row_of_a_size_in_a_table_of_variations_gives_its_settings_each_by_its_own_head() -> None:
    rows = [(row["name"], row["value"], row.get("condition", "")) for row in read(SIZES).plan["values"]]
    assert [row for row in rows if row[2] == "big"] == [
        ("N", 6, "big"), ("d_model", 1024, "big"), ("d_ff", 4096, "big"), ("h", 16, "big"),
    ]  # fmt: skip
    assert [row[2] for row in rows if row[1] == 6] == ["", "big"]


def test_rows_that_vary_one_setting_are_called_by_its_head_alone() -> None:
    labels = {row["row"] for row in read(SIZES).plan["expected_results"]}
    assert labels == {"base", "(A) N=2", "(A) N=4", "big"}


def test_a_table_whose_caption_fell_into_the_line_of_another_is_told_as_not_read() -> None:
    said = SIZES.replace(
        "Table 1: Variations of the waiter.", "Table 1: Variations of the waiter Table 2. Noise levels"
    )
    uses = [(row["table"], row["used_as"]) for row in read(said).plan["tables"]]
    assert uses == [("Table 1", "results"), ("Table 2", "none")]
