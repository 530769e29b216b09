"""Search over fetched code: names, words, and queries that mean harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phases.reference.index.opening import NAME
from phases.reference.search.searching import EXCERPT_LINES, search
from tests.phases.test_reference_index import fetched, index

FILES = {
    "net/loss.py": (
        "import torch\n\nTEMPERATURE = 0.1\n\n\ndef contrastive_loss(left, right, temperature):\n"
        '    """Cross-entropy over the similarity of all pairs."""\n    logits = left @ right.T / temperature\n'
        "    return cross_entropy(logits, range(len(left)))\n\n\ndef getLoss():\n    return contrastive_loss\n"
    ),
    "net/model.py": (
        "class Encoder:\n    def forward(self, tokens):\n        return self.embed(tokens)\n\n\nclass encoder_utils:\n    pass\n"
    ),
    "net/other.py": "class Decoder:\n    def forward(self, states):\n        return states\n",
    "README.md": "# Learning\n\nTrain with `python train.py`.\n\n## Data\n\nDownload the room temperatures first.\n",
}


@pytest.fixture(scope="module")
def into(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("search")
    index(folder, fetched(folder, FILES) + fetched(folder, {"far.py": "class Encoder:\n    pass\n"}, "c__d"))
    return str(folder / "indexes")


def places(into: str, query: str, repository: str | None = None) -> list[str]:
    return [f"{hit.path}:{hit.line} {hit.name}" for hit in search(into, query, repository=repository)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("contrastive_loss", "net/loss.py:6 contrastive_loss"),
        ("ContrastiveLoss", "net/loss.py:6 contrastive_loss"),
        ("get_loss()", "net/loss.py:12 getLoss"),
        ("Decoder.forward", "net/other.py:2 Decoder.forward"),
        ("model.Encoder", "net/model.py:1 Encoder"),
        ("contrast", "net/loss.py:6 contrastive_loss"),
        ("astive", "net/loss.py:6 contrastive_loss"),
        ("TEMPERATURE", "net/loss.py:3 TEMPERATURE"),
        ("similarity of pairs with a temperature", "net/loss.py:6 contrastive_loss"),
        ("download data", "README.md:5 "),
    ],
    ids=[
        "a name",
        "in another spelling",
        "as a call",
        "with its class",
        "with its module",
        "its beginning",
        "its middle",
        "a constant",
        "words",
        "text",
    ],
)
def test_what_is_asked_for_comes_first(into: str, query: str, first: str) -> None:
    assert places(into, query)[0] == first


def test_an_exact_name_stands_before_one_in_another_case_and_longer_ones(into: str) -> None:
    found = [hit.name for hit in search(into, "Encoder", repository="a__b")]
    assert found[:2] == ["Encoder", "encoder_utils"]


def test_one_repository_can_be_asked_alone(into: str) -> None:
    assert {hit.repository for hit in search(into, "Encoder")} == {"a__b", "c__d"}
    assert {hit.repository for hit in search(into, "Encoder", repository="c__d")} == {"c__d"}
    assert search(into, "Encoder", repository="nobody") == []


def test_a_hit_shows_its_lines_and_its_signature(into: str) -> None:
    hit = search(into, "contrastive_loss")[0]
    assert hit.signature == "def contrastive_loss(left, right, temperature)"
    assert hit.excerpt.split("\n")[0] == "def contrastive_loss(left, right, temperature):"
    assert len(hit.excerpt.split("\n")) <= EXCERPT_LINES
    assert hit.end == 9


def test_scores_fall_along_the_list_and_the_list_ends_where_it_is_told(into: str) -> None:
    hits = search(into, "forward tokens states", limit=2)
    assert len(hits) == 2
    assert hits[0].score >= hits[1].score
    assert search(into, "forward", limit=0) == []


@pytest.mark.parametrize(
    "query",
    ["", "   ", "\0", '"', "' OR 1=1 --", "names:*", "NEAR(a b, 2)", "a AND NOT", "*", "^forward",
     "(" * 500, "%", "\ud800", "𝕏" * 3000, "x" * 100_000, "-" * 50],
    ids=lambda query: repr(query[:12]),
)  # fmt: skip
def test_a_query_is_words_and_never_syntax(into: str, query: str) -> None:
    for hit in search(into, query):
        assert hit.path in FILES or hit.path == "far.py"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_no_query_is_an_error(into: str, query: str) -> None:
    search(into, query)


def test_a_file_that_changed_since_is_found_and_not_shown(tmp_path: Path) -> None:
    index(tmp_path, fetched(tmp_path, FILES))
    (tmp_path / "code_base" / "a__b" / "net" / "loss.py").write_text("something else\n")
    assert search(str(tmp_path / "indexes"), "contrastive_loss")[0].excerpt == "(the file changed since it was fetched)"


def test_without_an_index_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "indexes").mkdir()
    assert search(str(tmp_path / "indexes"), "anything") == []


def test_a_search_writes_nothing(into: str) -> None:
    before = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(into)}
    search(into, "forward")
    assert {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(into)} == before
    assert NAME in before
