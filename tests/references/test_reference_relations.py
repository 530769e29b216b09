"""How fetched code is related to a plan, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from phases.references.relations import LEAST, MOST, MOST_OF_ONE
from tests.papers import ROOT
from tests.references.indexed import relate_repositories
from tests.references.test_reference_index import fetched, index

CODE = {
    "net/losses.py": (
        "def contrastive_loss(left, right, temperature):\n    '''Cross entropy over the similarity of pairs.'''\n"
        "    logits = left @ right.T / temperature\n    return cross_entropy(logits)\n"
    ),
    "net/encoder.py": (
        "class Encoder:\n    '''Embeds tokens by attention heads.'''\n"
        "    def forward(self, tokens):\n        return attention(tokens)\n"
    ),
    "net/metrics.py": (
        "def recall_at(k, ranks):\n    '''Recall among the first k ranks.'''\n"
        "    return sum(rank <= k for rank in ranks)\n"
    ),
    "tests/test_losses.py": (
        "def test_contrastive_loss():\n    contrastive_loss(1, 2, 3)\n\n\ndef contrastive_loss(*a):\n    pass\n"
    ),
    "net/unrelated.py": "def open_door(key):\n    return key.turn()\n",
}
PLAN: dict[str, Any] = {
    "requirements": [
        {"id": "R1", "kind": "loss", "text": "A contrastive loss: cross entropy over the similarity of pairs with a temperature",
         "source": {"section": "3.2", "page": 4, "quote": "We minimize the contrastive loss over all pairs in a batch"}},
        {"id": "R2", "kind": "model", "text": "An encoder embeds tokens by attention",
         "source": {"section": "3.1", "page": 3, "quote": "tokens are embedded"}},
        {"id": "R3", "kind": "metric", "text": "Recall among the first ten ranks",
         "source": {"section": "4", "page": 6, "quote": "we report recall"}},
    ],
    "file_structure": [
        {"path": "waiting/loss.py", "purpose": "the contrastive loss", "implements": ["R1"], "depends_on": [],
         "interface": ["def contrastive_loss(left, right, temperature)"]},
        {"path": "waiting/models.py", "purpose": "the encoder of tokens", "implements": ["R2"], "depends_on": [],
         "interface": ["class TokenEncoder"]},
        {"path": "waiting/metrics.py", "purpose": "recall among ranks", "implements": ["R3"], "depends_on": [],
         "interface": ["def top_recall"]},
        {"path": "waiting/__init__.py", "purpose": "the package", "implements": [], "depends_on": [], "interface": []},
    ],
}  # fmt: skip


def citation(section: str | None, page: int, quote: str) -> dict[str, Any]:
    return {"where": "text", "section": section, "page": page, "start": 1, "quote": quote}


def references(*citations: dict[str, Any]) -> dict[str, Any]:
    return {"references": [{"id": "B1", "citations": list(citations)}], "repositories": []}


def repository(name: str = "a__b", role: str = "basis") -> dict[str, Any]:
    return {"name": name, "url": f"https://example.org/{name}", "role": role, "references": ["B1"]}


@pytest.fixture(scope="module")
def into(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("relations")
    index(folder, fetched(folder, CODE) + fetched(folder, CODE, "c__d"))
    return str(folder / "indexes")


def rows_of(into: str, path: str, *repositories: dict[str, Any]) -> list[dict[str, Any]]:
    rows, _ = relate_repositories(into, PLAN, repositories or [repository()], references())
    return [row for row in rows if row["file"] == path]


def test_a_file_that_defines_the_planned_name_is_a_direct_match_and_comes_first(into: str) -> None:
    row = rows_of(into, "waiting/loss.py")[0]
    assert (row["reference"], row["symbol"], row["line"], row["kind"]) == (
        "net/losses.py",
        "contrastive_loss",
        1,
        "direct_match",
    )
    assert row["confidence"] > 0.7
    assert "defines contrastive_loss, which the plan's interface names" in row["why"]
    assert "the paper says that it builds on the repository" in row["why"]


def test_a_file_of_the_same_topic_is_no_direct_match(into: str) -> None:
    row = rows_of(into, "waiting/models.py")[0]
    assert (row["reference"], row["kind"]) == ("net/encoder.py", "partial_match")


def test_what_helps_and_is_not_the_method_is_a_utility(into: str) -> None:
    row = rows_of(into, "waiting/metrics.py")[0]
    assert row["reference"] == "net/metrics.py"
    assert row["kind"] in ("utility", "direct_match")


def test_tests_and_what_is_unrelated_are_not_offered(into: str) -> None:
    rows, _ = relate_repositories(into, PLAN, [repository()], references())
    assert {row["reference"] for row in rows} & {"tests/test_losses.py", "net/unrelated.py"} == set()
    assert not any(row["file"] == "waiting/__init__.py" for row in rows)


def test_the_more_the_paper_leans_on_a_repository_the_surer_it_is(into: str) -> None:
    rows = rows_of(into, "waiting/loss.py", repository("a__b", "mentioned"), repository("c__d", "basis"))
    assert [row["repository"] for row in rows[:2]] == ["c__d", "a__b"]
    assert rows[0]["confidence"] > rows[1]["confidence"]


def test_no_planned_file_gets_more_than_it_can_use(into: str) -> None:
    rows, _ = relate_repositories(into, PLAN, [repository("a__b"), repository("c__d")], references())
    for planned in PLAN["file_structure"]:
        own = [row for row in rows if row["file"] == planned["path"]]
        assert len(own) <= MOST
        assert all(len([row for row in own if row["repository"] == name]) <= MOST_OF_ONE for name in ("a__b", "c__d"))
    assert all(LEAST <= row["confidence"] <= 1 for row in rows)


def test_the_rows_keep_the_schema(into: str) -> None:
    import jsonschema

    schema = json.loads((ROOT / "schemas" / "index.schema.json").read_bytes())["properties"]["relations"]
    rows, _ = relate_repositories(into, PLAN, [repository()], references())
    assert rows
    jsonschema.validate(rows, schema)


@pytest.mark.parametrize(
    ("cited", "requirements", "why"),
    [
        (
            citation("S5", 9, "As [1], we minimize the contrastive loss over all pairs in a batch."),
            ("R1",),
            "B1 is cited in the very passage of R1",
        ),
        (citation("S4", 4, "See [1]."), ("R1",), "B1 is cited next to R1"),
        (citation("S9", 4, "See [1]."), (), ""),
        (citation("S4", 5, "See [1]."), (), ""),
        (citation(None, 4, "A contrastive loss with temperature [1]."), ("R1",), "B1 is cited on the page of R1"),
        (citation(None, 4, "See [1]."), (), ""),
    ],
    ids=[
        "the same passage",
        "the same section",
        "another section",
        "another page",
        "the same words",
        "nothing in common",
    ],
)
def test_requirements_beside_a_citation_are_named(
    into: str, cited: dict[str, Any], requirements: tuple[str, ...], why: str
) -> None:
    sections = {"S4": ("3.2", "The loss"), "S9": ("5", "Ends")}
    _, near = relate_repositories(into, PLAN, [repository()], references(cited), sections=sections)
    assert near["a__b"] == (requirements, why)


@pytest.mark.parametrize(
    ("urls", "requirements"),
    [
        (("https://example.org/x/averages.git",), ("R1",)),
        (("https://example.org/x/averages", "https://example.org/y/Averages"), ()),
        (("https://example.org/x/others",), ()),
    ],
    ids=["the paper names one like it", "it names two", "it names none"],
)
def test_a_folder_of_the_users_is_said_to_be_that_and_known_by_its_name(
    into: str, urls: tuple[str, ...], requirements: tuple[str, ...]
) -> None:
    known = references(citation(None, 4, "We minimize the contrastive loss over all pairs in a batch [1]."))
    known["repositories"] = [{"url": url, "score": 0.5, "references": ["B1"], "mentions": []} for url in urls]
    folder = {"name": "a__b", "url": "folder:averages", "role": "basis", "references": []}
    rows, near = relate_repositories(into, PLAN, [folder], known)
    assert near["a__b"].requirements == requirements
    assert all(row["why"].endswith("you gave the repository as one to work from") for row in rows)


def test_the_words_of_a_why_are_those_of_the_plan_each_once(into: str) -> None:
    row = rows_of(into, "waiting/loss.py")[0]
    assert "(" in row["why"]
    words = row["why"].partition("(")[2].partition(")")[0].split(", ")
    assert set(words) <= {
        "contrastive",
        "loss",
        "left",
        "right",
        "temperature",
        "cross",
        "entropy",
        "similarity",
        "pairs",
    }


def test_without_repositories_or_a_plan_there_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "indexes").mkdir()
    assert relate_repositories(str(tmp_path / "indexes"), PLAN, [], references()) == ([], {})
    assert relate_repositories(str(tmp_path / "indexes"), PLAN, [repository()], references())[0] == []
