"""Search over fetched code: names, words, and queries that mean harm."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phases.agent.tools.reference import LONGEST_ANSWER, ReferenceContext, reference_tool
from phases.agent.tools.toolbox import ToolResult
from phases.references.search import EXCERPT_LINES, LONGEST_LINE, LONGEST_TEXT, NotShown, SearchHit, read_on
from pipeline.base.files import sha256
from tests.references.indexed import answer_query, cache_file, search_code
from tests.references.test_reference_index import fetched, index

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
    return [f"{hit.path}:{hit.line} {hit.name}" for hit in search_code(into, query, repository=repository)]


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
    found = [hit.name for hit in search_code(into, "Encoder", repository="a__b")]
    assert found[:2] == ["Encoder", "encoder_utils"]


def test_one_repository_can_be_asked_alone(into: str) -> None:
    assert {hit.repository for hit in search_code(into, "Encoder")} == {"a__b", "c__d"}
    assert {hit.repository for hit in search_code(into, "Encoder", repository="c__d")} == {"c__d"}
    assert search_code(into, "Encoder", repository="nobody") == []


def test_a_hit_shows_its_lines_and_its_signature(into: str) -> None:
    hit = search_code(into, "contrastive_loss")[0]
    assert hit.signature == "def contrastive_loss(left, right, temperature)"
    assert hit.excerpt.split("\n")[0] == "def contrastive_loss(left, right, temperature):"
    assert len(hit.excerpt.split("\n")) <= EXCERPT_LINES
    assert hit.end == 9


def test_scores_fall_along_the_list_and_the_list_ends_where_it_is_told(into: str) -> None:
    hits = search_code(into, "forward tokens states", limit=2)
    assert len(hits) == 2
    assert hits[0].score >= hits[1].score
    assert search_code(into, "forward", limit=0) == []


@pytest.mark.parametrize(
    "query",
    ["", "   ", "\0", '"', "' OR 1=1 --", "names:*", "NEAR(a b, 2)", "a AND NOT", "*", "^forward",
     "(" * 500, "%", "\ud800", "𝕏" * 3000, "x" * 100_000, "-" * 50],
    ids=lambda query: repr(query[:12]),
)  # fmt: skip
def test_a_query_is_words_and_never_syntax(into: str, query: str) -> None:
    for hit in search_code(into, query):
        assert hit.path in FILES or hit.path == "far.py"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_no_query_is_an_error(into: str, query: str) -> None:
    search_code(into, query)


def test_a_file_that_changed_since_is_found_and_not_shown(tmp_path: Path) -> None:
    index(tmp_path, fetched(tmp_path, FILES))
    (tmp_path / "code_base" / "a__b" / "net" / "loss.py").write_text("something else\n")
    assert (
        search_code(str(tmp_path / "indexes"), "contrastive_loss")[0].excerpt
        == "(the file changed since it was fetched)"
    )


def test_without_an_index_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "indexes").mkdir()
    assert search_code(str(tmp_path / "indexes"), "anything") == []


def test_a_search_writes_nothing(into: str) -> None:
    before = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(into)}
    search_code(into, "forward")
    assert {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(into)} == before
    assert all(name.endswith(".json") for name in before)


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["words\n"] * 5, "metadata": {}},
        {"cell_type": "code", "source": ["import os\n", "%matplotlib inline"], "metadata": {}, "outputs": []},
        {"cell_type": "code", "source": ["def train_epoch(x):\n", "    return x"], "metadata": {}, "outputs": []},
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
}
ODD = {
    "n.ipynb": json.dumps(NOTEBOOK, indent=1).encode(),
    "mac.py": b"import os\r\rdef mac_function(x):\r    return x\r",
    "wide.py": "import os\n\n\ndef wide_function(x):\n    return x\n".encode("utf-16"),
    "latin.py": "# coding: latin-1\ndef café_function():\n    pass\n".encode("latin-1"),
}
LISTED: dict[str, Any] = {"repositories": [{"name": "a__b", "commit": "c1", "licence": "MIT", "files": 1}]}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("odd")
    base = folder / "code_base"
    (base / "a__b").mkdir(parents=True)
    rows = [{"path": name, "bytes": len(data), "sha256": sha256(data)} for name, data in ODD.items()]
    for name, data in ODD.items():
        (base / "a__b" / name).write_bytes(data)
    (base / "a__b.json").write_text(json.dumps({"version": 1, "name": "a__b", "files": rows}))
    index(folder, [{"name": "a__b"}])
    return str(folder)


@pytest.mark.parametrize(
    ("query", "file", "line", "text"),
    [
        ("train_epoch", "n.ipynb", 4, "def train_epoch(x):\n    return x"),
        ("mac_function", "mac.py", 3, "def mac_function(x):\n    return x"),
        ("wide_function", "wide.py", 4, "def wide_function(x):\n    return x"),
        ("café_function", "latin.py", 2, "def café_function():\n    pass"),
    ],
    ids=["a notebook", "ends of lines of an old Mac", "UTF-16", "Latin-1"],
)
def test_symbols_hits_answers_and_reading_on_count_the_same_lines(
    odd: str, query: str, file: str, line: int, text: str
) -> None:
    hit = search_code(os.path.join(odd, "indexes"), query)[0]
    answer = answer_query(odd, LISTED, query, "", 5)[0]
    document = json.loads(Path(odd, "indexes", "a__b.json").read_bytes())
    symbols = [one for row in document["files"] if row["path"] == file for one in row["symbols"]]
    assert (hit.path, hit.line, hit.excerpt) == (file, line, text)
    assert (answer.file, answer.line, answer.end, answer.text) == (file, line, line + 1, text)
    assert [one["line"] for one in symbols if one["name"] == query] == [line]
    assert read_on(odd, LISTED, "a__b", file, line, 100) == answer._replace(kind="text", name="")


def test_a_line_after_the_last_is_refused_with_how_many_there_are(odd: str) -> None:
    with pytest.raises(NotShown, match=r"n\.ipynb has 5 lines"):
        read_on(odd, LISTED, "a__b", "n.ipynb", 7, 5)


def test_a_file_that_was_taken_away_leaves_the_other_answers(tmp_path: Path) -> None:
    index(tmp_path, fetched(tmp_path, FILES))
    fetched_to = tmp_path / "code_base" / "a__b" / "net"
    (fetched_to / "model.py").unlink()
    assert {answer.file for answer in answer_query(str(tmp_path), LISTED, "forward", "", 5)} == {"net/other.py"}
    (fetched_to / "other.py").unlink()
    with pytest.raises(NotShown, match=r"what matches cannot be shown: net/.* was changed or taken away since"):
        answer_query(str(tmp_path), LISTED, "forward", "", 5)


def test_a_link_is_not_followed_out_of_a_repository(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text(FILES["net/other.py"])
    index(tmp_path, fetched(tmp_path, FILES))
    place = tmp_path / "code_base" / "a__b" / "net" / "other.py"
    place.unlink()
    place.symlink_to(tmp_path / "secret.py")
    with pytest.raises(NotShown, match="was changed or taken away"):
        read_on(str(tmp_path), LISTED, "a__b", "net/other.py", 1, 5)


def test_where_the_index_of_a_repository_is_gone_nothing_found_is_no_answer(tmp_path: Path) -> None:
    index(tmp_path, fetched(tmp_path, FILES))
    (tmp_path / "indexes" / "a__b.json").unlink()
    cache_file(tmp_path).unlink()
    with pytest.raises(NotShown, match="the index of a__b is gone or damaged; rebuild it with: pipeline resume"):
        answer_query(str(tmp_path), LISTED, "forward", "", 5)


def test_a_method_is_found_among_hundreds_of_its_name(tmp_path: Path) -> None:
    files = {
        f"m{at:03}/net.py": f"class Model{at}:\n    def forward(self, x):\n        return x\n" for at in range(400)
    }
    into = str(tmp_path / "indexes")
    index(tmp_path, fetched(tmp_path, files))
    assert [(hit.name, hit.score) for hit in search_code(into, "Model399.forward", limit=1)] == [
        ("Model399.forward", 10)
    ]
    assert search_code(into, "m399.net.Model399.forward", limit=1)[0].name == "Model399.forward"
    unknown = search_code(into, "Nobody.forward", limit=4)
    assert unknown
    assert all(hit.score < 8 for hit in unknown), "another class's method is not what was asked for"


def test_a_paragraph_on_one_line_is_cut_and_a_long_file_read_in_parts(tmp_path: Path) -> None:
    index(
        tmp_path,
        fetched(tmp_path, {"a.md": "temperature " * 50_000, "b.py": "x = 'temperature'  # " + "y" * 200 + "\n" * 9}),
    )
    (answer,) = answer_query(str(tmp_path), LISTED, "temperature", "", 1)[:1]
    assert len(answer.text) < LONGEST_LINE + 50
    assert answer.text.endswith(f" … ({12 * 50_000 - LONGEST_LINE:,} more characters)")
    (tmp_path / "long").mkdir()
    index(tmp_path / "long", fetched(tmp_path / "long", {"c.md": ("w" * 99 + "\n") * 1_000}))
    first = read_on(str(tmp_path / "long"), LISTED, "a__b", "c.md", 1, 1_000)
    assert len(first.text) <= LONGEST_TEXT
    assert (first.line, first.end) == (1, first.text.count("\n") + 1)
    assert read_on(str(tmp_path / "long"), LISTED, "a__b", "c.md", first.end + 1, 1).line == first.end + 1


def test_the_model_gets_so_many_excerpts_as_there_is_room_for_and_is_told_of_the_rest() -> None:
    found = [SearchHit("a__b", f"{at}.py", None, None, 1, 9, "text", "", "x" * 15_000) for at in range(4)]
    tool = reference_tool(ReferenceContext(lambda *asked: found, lambda *asked: found[0], {}))
    acted = tool.act(query="x")
    assert isinstance(acted, ToolResult)
    assert len(acted.text) < LONGEST_ANSWER + 2_000
    assert [shown["file"] for shown in acted.shown] == ["0.py", "1.py"]
    assert "(2 more would make this too long; ask in narrower words, or read on in a file)" in acted.text
