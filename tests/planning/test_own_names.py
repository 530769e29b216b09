"""What a paper calls its own method: whose rows of a table are targets, and what is no baseline, hangs on it."""

from __future__ import annotations

import pytest

from phases.planning.rules.own_names import own_names
from phases.planning.rules.passages import read_paper
from tests.papers import read

PAPER = """# {title}

## Abstract

{abstract}

## 1 Introduction

Rooms are full. Waiting is long, and people [3] have looked at it.

## 2 Method

{method}

## 3 Results

{results}
"""
PLAIN = "People wait."


def names(title: str, abstract: str = PLAIN, method: str = PLAIN, results: str = PLAIN) -> list[str]:
    document = read(PAPER.format(title=title, abstract=abstract, method=method, results=results))
    return own_names(read_paper(document.document.text, document.outline, document.document.body_start))


@pytest.mark.parametrize(
    ("title", "abstract", "method", "name"),
    [
        pytest.param("2Q: Waiting in Two Lines", PLAIN, "2Q has two lines. 2Q is fair. 2Q is fast.", "2Q", id="before a colon"),
        pytest.param("WAITER: Waiting", PLAIN, "Waiter waits. Waiter sits. Waiter stays.", "Waiter", id="as the text prints it"),
        pytest.param("等候者：一种排队的方法", PLAIN, "等候者等待。等候者坐着。等候者不走。", "等候者", id="any script"),
        pytest.param("Min-p Waiting for All", PLAIN, "Min-p waits. " * 9, "Min-p", id="by its letters"),
        pytest.param("Fast Waiting with SZ", PLAIN, "SZ waits. " * 9, "SZ", id="the last word of a title"),
        pytest.param("On Waiting", "We propose a simple way, the Waiter, for all rooms.", PLAIN, "Waiter", id="proposed"),
        pytest.param("On Waiting", "We introduce Long Term Waiting (LTW) for rooms.", PLAIN, "LTW", id="abbreviated"),
        pytest.param("On Waiting", "We call this method DoorBell and test it.", PLAIN, "DoorBell", id="called"),
        pytest.param("Patient Waiters with Chairs", PLAIN, "PW waits. " * 9, "PW", id="the title's initials"),
        pytest.param("On Waiting", PLAIN, "We refer to these versions of our line as WL-10 and WL-0.", "WL-0", id="a version"),
    ],
)  # fmt: skip
def test_a_method_is_known_by_the_title_and_by_what_is_proposed(
    title: str, abstract: str, method: str, name: str
) -> None:
    assert name in names(title, abstract, method)


def test_a_row_that_says_ours_names_the_method() -> None:
    table = "> **Table 1.** Minutes.\n\n| Method | Minutes |\n|---|---|\n| Hurry | 3 |\n| Tarry (ours) | 9 |\n"
    assert names("On Waiting", results=table) == ["Tarry"]


@pytest.mark.parametrize(
    ("title", "abstract", "method"),
    [
        pytest.param("HPC Waiting for Everyone", PLAIN, "HPC waits. " * 9, id="a field in the title"),
        pytest.param("On Waiting", "We wait on ImageNet, and on ImageNet [7] again. " * 6, PLAIN, id="data"),
        pytest.param("On Waiting", "We use many GPUs, and GPUs are fast, as we say. " * 6, PLAIN, id="a kind of thing"),
        pytest.param("Turning Up the Heat: Waiting", PLAIN, PLAIN, id="a figure of speech"),
    ],
)  # fmt: skip
def test_what_is_everybodys_names_no_method(title: str, abstract: str, method: str) -> None:
    assert names(title, abstract, method) == []


@pytest.mark.parametrize(
    ("title", "short"),
    [("Recurrent Neural Networks with Lazy Gates", "RNN"), ("Hidden Markov Models for Lazy Speech", "HMM"),
     ("Support Vector Machines Are Slow on Streams", "SVM"), ("Convolutional Neural Networks for Rooms", "CNN")],
)  # fmt: skip
def test_a_model_that_everybody_has_is_not_the_papers_though_its_title_begins_with_it(title: str, short: str) -> None:
    said = f"We compare with an {short}. The {short} has 64 units. The {short} is trained for 10 epochs. An {short} is slow."
    assert short not in names(title, method=said, results=said)
