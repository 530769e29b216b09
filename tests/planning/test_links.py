"""Addresses and licences of data sets: only what the paper prints beside the name, and only links to files."""

from __future__ import annotations

import pytest

from phases.planning.links import link_and_licence
from phases.planning.model.quote_index import QuoteIndex
from phases.planning.plan_md import plan_md
from pipeline.engine.contract import Contracts
from tests.papers import read

PAPER = """\
We train on Iris [^1] and on MNIST, https://example.org/mnist.tar.gz, which is licensed under CC BY-SA 3.0.
Our code is at https://github.com/me/code and the page of Adult is https://example.org/adult/index.
The Adult data are in https://example.org/adult.data?version=2.

[^1]: See https://example.org/iris.csv. It is old.
"""
NAMES = ("Iris", "MNIST", "Adult")


@pytest.mark.parametrize(
    ("name", "address", "licence"),
    [
        ("Iris", "https://example.org/iris.csv", ""),
        ("MNIST", "https://example.org/mnist.tar.gz", "CC BY-SA 3.0"),
        ("Adult", "https://example.org/adult.data?version=2", ""),
        ("COCO", "", ""),
    ],
)
def test_a_link_to_a_file_beside_the_name_is_its_address(name: str, address: str, licence: str) -> None:
    expected = {key: value for key, value in {"address": address, "licence": licence}.items() if value}
    assert link_and_licence(name, PAPER, NAMES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Iris and MNIST (https://example.org/mnist.zip).",
        "Iris-like flowers: https://example.org/x.csv",
        "Iris, see https://example.org/about.html and https://example.org/",
        "Iris is known." + " It is used." * 30 + " https://example.org/x.csv",
        "Iris is known.\nhttps://example.org/x.csv",
        "Iris: ftp://example.org/x.csv and file:///etc/x.csv",
    ],
)
def test_what_is_not_beside_it_or_no_file_is_left_out(text: str) -> None:
    assert "address" not in link_and_licence("Iris", text, NAMES)


def test_a_plan_by_rules_names_the_address_and_the_reviewer_sees_it() -> None:
    text = (
        "# A Paper\n\n## 1 Method\n\nWe propose the counter. The counter counts rows.\n\n"
        "## 2 Experiments\n\nWe train on the MNIST dataset, https://example.org/mnist.zip, under CC BY 4.0.\n"
    )
    plan = read(text).plan
    Contracts().serialise("initial_plan.txt", plan, writer="a test")
    row = next(row for row in plan["datasets"] if row["name"] == "MNIST")
    assert (row["address"], row["licence"]) == ("https://example.org/mnist.zip", "CC BY 4.0")
    assert "MNIST: https://example.org/mnist.zip (licence: CC BY 4.0)" in plan_md(plan)


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("https://example.org/mnist.tar.gz", True),
        ("https://example.org/mnist", False),  # shorter, and of the same host
        ("https://example.org/mnist.tar.gz,which", False),  # with what stands behind it
        ("https://example.org/iris.csvIt", False),
        ("https://example.org/adult.data?version=2", True),
        ("https://example.org", False),
        ("https://exam", False),
        ("https://evil.example/mnist.tar.gz", False),
        ("https://example.org/mnist.tar.gz?say=secret", False),
    ],
)
def test_a_model_can_name_no_host_and_add_nothing_that_the_paper_does_not_print(address: str, printed: bool) -> None:
    broken = PAPER.replace("example.org/mnist", "example.org/\nmnist")  # as PDFs break lines
    assert QuoteIndex([(1, broken)]).has_address(address) is printed


def test_words_behind_an_address_belong_to_no_address() -> None:
    cited = QuoteIndex([(1, "See https://example.org/data/all.zip for it, and **https://example.org/b.zip**.")])
    shown = ("data/all.zip", "b.zip", "d", "data/all.zipfor", "data/all.zipforit")
    assert [name for name in shown if cited.has_address(f"https://example.org/{name}")] == ["data/all.zip", "b.zip"]
