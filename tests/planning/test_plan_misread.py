"""What the rules took for something else once: each paper of a few lines is planned as a person would."""

from __future__ import annotations

from typing import Any

import pytest

from phases.planning.rules.passages import read_paper
from phases.readers.markdown import paper_document
from phases.readers.reading import Reading
from tests.papers import read, read_on


def plan_of(
    method: str = "FastQ keeps a list of nodes.", results: str = "We wait.", title: str = "FastQ: A Fast Queue"
) -> Any:
    return read(
        f"# {title}\n\n## 1 Introduction\n\nWe propose FastQ, a fast queue.\n\n## 2 Method\n\n{method}\n\n"
        f"## 4 Results\n\n{results}\n"
    ).plan


@pytest.mark.parametrize(
    ("caption", "metric"),
    [
        ("Mapping of keys onto nodes", "mAP"),
        ("Emission probability table update", "EM"),
        ("Island model search step", "IS"),
        ("Loss scaling by halving", "loss"),
    ],
)
def test_an_algorithm_whose_name_begins_with_the_letters_of_a_measure_is_a_component(caption: str, metric: str) -> None:
    plan = plan_of(
        f"```algorithm\nAlgorithm 1: {caption}\n1: s <- 1\n2: return s\n```\n\nAlgorithm 1 returns the state.",
        f"We report {metric} on COCO. The {metric} is measured on the test set. We evaluate {metric} and latency.",
    )
    assert metric in [row["name"] for row in plan["metrics"]]
    assert caption in [row["name"] for row in plan["components"]]


STEPS = (
    "The thread reads the head pointer of the queue. Then it compares the pointer with its stamp. Otherwise it waits for the "
    "lock of the node. The node stores the value and the next pointer. Then the thread writes the new node. Otherwise the "
    "thread retries the operation. We store the stamp in each node. The queue keeps a list of free nodes. Then the free node "
    "is returned to the list. We allocate nodes from a pool."
)


@pytest.mark.parametrize(("more", "is_built"), [("", True), (" By Lemma 2 the list is empty, a contradiction.", False)])
def test_an_algorithm_in_prose_is_no_proof_until_it_says_that_it_proves_something(more: str, is_built: bool) -> None:
    plan = plan_of(
        f"### 2.1 Enqueue operation\n\n{STEPS}{more}\n\n### 2.2 Node layout\n\nWe pad each node to a cache line."
    )
    assert ("2.1" in [row["source"]["section"] for row in plan["requirements"]]) is is_built


@pytest.mark.parametrize("names", [["FastQ"], ["FastQ", "MSQ"]], ids=["alone", "beside another"])
def test_a_method_with_a_row_for_each_number_of_threads_has_a_result_for_each(names: list[str]) -> None:
    rows = [f"| {name} | {threads} | {threads}0.{len(name)} |" for name in names for threads in (1, 2, 4)]
    table = "\n".join(["| Method | Threads | Mops/s |", "|---|---|---|", *rows])
    plan = plan_of(results=f"> **Table 1.** Throughput of FastQ by number of threads.\n\n{table}")
    assert [(row["row"], row["column"], row["value"]) for row in plan["expected_results"]] == [
        ("FastQ Threads=1", "Mops/s", 10.5),
        ("FastQ Threads=2", "Mops/s", 20.5),
        ("FastQ Threads=4", "Mops/s", 40.5),
    ]


@pytest.mark.parametrize(
    "said",
    [
        "In contrast to FastQ, LockQ is 3 times faster than MSQ.",
        "Unlike FastQ, LockQ is 3 times faster than MSQ.",
        "We found that the GPU is 5 times faster than the CPU.",
        "We measured LockQ to be 5 times faster than MSQ.",
        "It is known that LockQ is 2 times faster than MSQ.",
        "FastQ is not 5 times faster than MSQ.",
        "FastQ is between 2 and 3 times faster than MSQ.",
        "MSQ is 3 times slower than FastQ.",
    ],
)
def test_a_comparison_whose_subject_is_another_or_that_is_no_number_gives_no_result(said: str) -> None:
    assert plan_of(results=said)["expected_results"] == []


@pytest.mark.parametrize(
    ("said", "row", "column"),
    [
        ("FastQ is 5 times faster than MSQ.", "FastQ", "faster than MSQ"),
        ("On average, FastQ is 5 times faster than MSQ.", "FastQ", "faster than MSQ"),
        ("FastQ, with eight threads, is about 5 times faster than MSQ.", "FastQ", "faster than MSQ"),
        ("In contrast to LockQ, our queue is 5 times faster than MSQ.", "the method", "queue faster than MSQ"),
        ("We show that the throughput of FastQ is 5 times higher than that of MSQ.", "FastQ", "higher than MSQ"),
        ("FastQ is smaller and 5 times faster than MSQ.", "FastQ", "faster than MSQ"),
        ("On large rooms, it is 5 times faster than MSQ.", "the method", "faster than MSQ on large rooms"),
    ],
)
def test_a_comparison_of_the_method_is_its_result(said: str, row: str, column: str) -> None:
    [found] = plan_of(results=said)["expected_results"]
    assert (found["row"], found["column"], found["value"]) == (row, column, 5)


@pytest.mark.parametrize("head", ["Depth error", "Rank correlation", "Depth accuracy", "Layers recall"])
def test_a_column_with_a_measure_in_its_head_is_measured_though_it_begins_like_a_setting(head: str) -> None:
    rows = f"| Method | {head} | Score |\n|---|---|---|\n| FastQ | 12 | 3 |\n| MSQ | 25 | 4 |\n| LockQ | 31 | 6 |"
    plan = plan_of(results=f"> **Table 1.** Results of FastQ.\n\n{rows}")
    assert plan["values"] == []
    assert (head, 12) in [(row["column"], row["value"]) for row in plan["expected_results"]]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("The replay buffer holds batches of 2048 samples.", 2048),
        ("Each model is trained on a set of 2048 images.", 2048),
        ("We use a 2-dimensional latent space.", 2),
        ("We use a 3-dimensional embedding.", 3),
        ("We use the 8-bit version of the optimizer.", 8),
    ],
)
def test_a_number_that_looks_like_a_year_a_plane_or_a_machine_is_a_value(said: str, value: int) -> None:
    assert [row["value"] for row in plan_of(said)["values"]] == [value]


@pytest.mark.parametrize(
    "said",
    [
        "The documents of 2014 are read.",
        "We use documents of 2014 and 2015.",
        "Points lie in a 2-dimensional space.",
        "We draw a 3-dimensional grid.",
        "We use the 64-bit version of the compiler.",
    ],
)
def test_a_year_a_plane_and_a_machine_are_no_values(said: str) -> None:
    assert plan_of(said)["values"] == []


def doubts_of(said: str) -> str:
    return " ".join(row["what"] for row in plan_of(said)["uncertain"])


def test_an_algorithm_of_another_paper_is_not_missed_and_one_of_this_is() -> None:
    others = "We use Algorithm 3 of Smith [7]. We use Algorithm 4 in [8]. We use Algorithm 5 of Jones et al. for it."
    told = doubts_of(f"{others} We use Algorithm 6 of this paper.")
    assert [f"Algorithm {number}" for number in range(3, 7) if f"Algorithm {number}," in told] == ["Algorithm 6"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Rooms.", "No sentence is known as a requirement"),
        ("We pad each node to a line.", "Only one sentence is known as a requirement"),
        ("We pad each node to a line. We store a stamp in each node.", "Only 2 sentences are known as requirements"),
    ],
)
def test_how_few_requirements_are_known_is_said_in_good_english(said: str, told: str) -> None:
    assert told in doubts_of(said)


@pytest.mark.parametrize(
    ("said", "is_doubted"),
    [
        ("The learning rate is 0.1, 0.2 and 0.3 in all layers.", True),
        ("We test learning rates of 0.1, 0.2 and 0.3.", False),
        ("For each learning rate of 0.1, 0.2 and 0.3 we wait.", False),
        ("Learning rates of 0.1, 0.2 and 0.3 are compared.", False),
    ],
)
def test_several_values_are_doubted_where_nothing_beside_them_says_that_all_were_tried(
    said: str, is_doubted: bool
) -> None:
    assert ("Decide: try all of them" in doubts_of(said)) is is_doubted


def test_two_values_in_brackets_behind_what_they_are_of_do_not_contradict_each_other() -> None:
    told = doubts_of(
        "We choose the number of epochs on a separate data set (seed 100). The values are drawn once (seed 0)."
    )
    assert "no words say when each holds" not in told


@pytest.mark.parametrize(
    ("said", "unit"),
    [
        ("The batch size is 32 s per run.", None),
        ("The timeout is 30 s per run.", "s"),
    ],
)
def test_a_unit_fits_what_it_is_of_and_ends_where_it_ends(said: str, unit: str | None) -> None:
    assert [row.get("unit") for row in plan_of(said)["values"]] == [unit]


def sentences_of_pages(*pages: str) -> list[tuple[str, int, str, str]]:
    made = read_on(paper_document(Reading("ok", "x 1", pages), "0" * 64, "pdf"))
    found = read_paper(made.document.text, made.outline, made.document.body_start).sentences
    return [(one.text, one.page, one.kind, one.lead) for one in found]


def test_of_a_paragraph_that_runs_over_a_page_each_sentence_has_the_page_where_it_begins() -> None:
    found = sentences_of_pages(
        "# Waiting\n\n## 1 Method\n\nWe keep a list of rooms. The waiter opens each",
        "door of the list. Then the waiter closes it.",
    )
    assert [(text, page) for text, page, _, _ in found] == [
        ("We keep a list of rooms.", 1),
        ("The waiter opens each door of the list.", 1),
        ("Then the waiter closes it.", 2),
    ]


def test_an_item_that_runs_over_a_page_is_an_item_and_its_list_goes_on() -> None:
    found = sentences_of_pages(
        "# Waiting\n\n## 1 Method\n\nThe waiter does two things:\n\n- The waiter opens each",
        "door of the list. It is kind.\n\n- It closes each door.",
    )
    assert [(kind, lead) for _, _, kind, lead in found[1:]] == [("item", "The waiter does two things:")] * 3
