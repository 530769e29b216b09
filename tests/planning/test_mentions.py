"""Which names of a paper are its data sets, metrics, baselines and packages."""

from __future__ import annotations

import pytest

from phases.planning.rules.mentions import KINDS
from phases.planning.rules.packages import _LINES, _NAMES
from phases.sandbox.installs import read_requirement
from tests.papers import read

PAPER = """# Waiting in rooms

## 1 Introduction

We propose Waiter, a way to wait. Waiter waits for long. Others hurried.

## 2 Method

The Waiter looks at the door and waits until it opens.

## 3 Experiments

### 3.1 Setup

{setup}

### 3.2 Results

{results}
"""
TABLE = """> **Table 1.** Accuracy on Lobby.

| Method | Accuracy | FID $\\downarrow$ |
|---|---|---|
| Hurry [3] | 71.2% | 12.4 |
| Slow Motion [4] | 74.9% | 11.8 |
| Waiter (ours) | 80.1% | 10.2 |
"""


def names(kind: str, setup: str, results: str = "The Waiter waits.") -> list[str]:
    return [row["name"] for row in read(PAPER.format(setup=setup, results=results)).plan[kind]]


@pytest.mark.parametrize(
    ("kind", "setup", "name"),
    [
        pytest.param("datasets", "We evaluate Waiter on the Lobby dataset.", "Lobby", id="before its kind"),
        pytest.param("datasets", "We train on CIFAR-10 [7] and test on it.", "CIFAR-10", id="one that all know"),
        pytest.param("datasets", "We train on the data sets Lobby [7], Foyer [8], and Hall [9].", "Foyer", id="a list"),
        pytest.param("metrics", "We report the word error rate on all rooms.", "word error rate", id="a measure"),
        pytest.param("baselines", "We compare Waiter with Hurry [kim2020h] and Quick [lee2021].", "Quick", id="cited by key"),
        pytest.param("baselines", "We compare with the Hurry baseline.", "Hurry", id="before its kind"),
        pytest.param("baselines", "As baselines, we use k-means and a random forest.", "random forest", id="small letters"),
    ],
)  # fmt: skip
def test_a_name_is_known_by_what_stands_beside_it(kind: str, setup: str, name: str) -> None:
    assert name in names(kind, setup)


def test_the_rows_of_a_table_of_results_that_are_not_the_papers_own_are_baselines() -> None:
    found = names("baselines", "We wait.", TABLE)
    assert {"Hurry", "Slow Motion"} <= set(found)
    assert not any("Waiter" in name for name in found)


def test_a_table_of_settings_names_no_baseline() -> None:
    table = "| Parameter | Value |\n|---|---|\n| Learning Rate | 0.1 |\n| Batch Size | 32 |\n| Door Decay | 0.5 |\n"
    assert names("baselines", f"We set what Table 2 says.\n\n{table}") == []


def test_an_abbreviation_and_what_it_stands_for_are_one_name() -> None:
    setup = "We train on the Fashion MNIST (FMNIST) dataset [7]. The FMNIST dataset has ten classes."
    assert len(names("datasets", setup)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_each_name_has_the_sentence_that_says_it(kind: str) -> None:
    setup = "We train on CIFAR-10 [7], report the word error rate and compare with the Hurry baseline."
    rows = read(PAPER.format(setup=setup, results=TABLE)).plan[kind]
    assert rows
    assert all(row["source"]["page"] == 1 and row["source"]["quote"] for row in rows)


def packages(setup: str) -> list[str]:
    return list(read(PAPER.format(setup=setup, results="The Waiter waits.")).plan["environment_setup"]["packages"])


def test_packages_are_told_with_their_place_and_as_lines_that_the_installer_reads() -> None:
    setup = read(
        PAPER.format(setup="We implement Waiter in Pytorch 1.9 with Numpy, CUDA and sklearn.", results="It waits.")
    ).plan["environment_setup"]
    assert [read_requirement(line) for line in setup["packages"]] == ["torch", "numpy", "", "scikit-learn"]
    assert [row["name"] for row in setup["sources"]] == setup["packages"]
    assert all("implement Waiter" in row["source"]["quote"] for row in setup["sources"])


@pytest.mark.parametrize(
    "setup",
    [
        pytest.param("We implement Waiter with the evilwait library.", id="a package that anybody may have made"),
        pytest.param("We use BERT (Bidirectional Encoder Representations from Transformers) as code.", id="a word of a name"),
        pytest.param("A ray of light meets the Ray at the door.", id="an ordinary word"),
    ],
)  # fmt: skip
def test_what_is_no_package_of_the_list_is_not_installed(setup: str) -> None:
    assert packages(setup) == []


def test_a_package_is_named_as_the_index_has_it() -> None:
    assert packages("We compute scores with the BERTScore library, and implement Waiter in Haiku.") == [
        "bert-score",
        "dm-haiku",
    ]


def test_each_name_of_the_list_stands_there_once() -> None:
    names = _NAMES.split()
    assert (len(names), set(names) & set(_LINES)) == (len(set(names)), set())


def test_of_a_family_of_packages_the_one_that_is_named_is_meant() -> None:
    assert packages("All models are trained with the Hugging Face diffusers package.") == ["diffusers"]


def test_variants_of_the_method_are_no_baselines() -> None:
    table = """> **Table 1.** Accuracy on Lobby.

| Method | Accuracy |
|---|---|
| Hurry [3] | 71.2% |
| Slow Motion [4] | 74.9% |
| PW | 80.1% |
| PW+D | 81.3% |
"""
    setup = "PW is patient waiting. " * 6 + "PW+D adds a door."
    paper = PAPER.replace("# Waiting in rooms", "# Patient Waiting in Rooms").format(setup=setup, results=table)
    assert [row["name"] for row in read(paper).plan["baselines"]] == ["Hurry", "Slow Motion"]


def test_what_is_listed_with_a_baseline_is_one() -> None:
    setup = "We compare Waiter with Hurry [3], Dash [4], and Rush [5]. Hurry outperforms the baseline."
    assert names("baselines", setup) == ["Hurry", "Dash", "Rush"]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        pytest.param("metrics", "Then it returns to the door. Each call returns the room.", id="a verb"),
        pytest.param(
            "datasets", "Tidy datasets are good. We look at tidy rooms, tidy doors and tidy data.", id="a word"
        ),
    ],
)
def test_a_word_of_the_text_is_no_name(kind: str, said: str) -> None:
    assert names(kind, said) == []
