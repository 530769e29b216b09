"""Glob and Grep: what they find is in the workspace, and no pattern holds up a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.agent.tools import search
from phases.agent.tools.search import LONGEST_PATTERN, PatternError, match_paths
from pipeline.base.text_escaping import LARGEST_ANSWER
from tests.agent.test_agent_tools import Bench, bench_in
from tests.rows import with_covered
from tests.strategies import QUICK
from tests.work import must_end

FILES = {
    "README.md": "# Waiting\n",
    "model/__init__.py": "",
    "model/train.py": "import os\n\n\ndef train(rate):\n    return rate\n",
    "model/deep/loss.py": "def loss(x):\n    return x  # Rate\n",
    "tests/test_train.py": "def test_train():\n    assert True\n",
}
PATHS = sorted(FILES)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "inside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.py").write_text("a secret rate\n")
    bench = bench_in(tmp_path / "inside")
    for path, text in FILES.items():
        bench.workspace.write(path, text)
    os.symlink(tmp_path / "out", tmp_path / "inside" / "link")
    os.symlink(tmp_path / "out" / "secret.py", tmp_path / "inside" / "link.py")
    os.mkfifo(tmp_path / "inside" / "pipe.py")
    return bench


# Glob

PATTERNS = {
    "**/*.py": [path for path in PATHS if path.endswith(".py")],
    "*.py": [path for path in PATHS if path.endswith(".py")],
    "model/*.py": ["model/__init__.py", "model/train.py"],
    "model/**": ["model/__init__.py", "model/deep/loss.py", "model/train.py"],
    "model/**/loss.py": ["model/deep/loss.py"],
    "model/**/train.py": ["model/train.py"],
    "**/t*.{py,md}": ["model/train.py", "tests/test_train.py"],
    "./*/train.py": ["model/train.py"],
    "[mt]*/t[!x]*.py": ["model/train.py", "tests/test_train.py"],
    "?EADME.md": ["README.md"],
    "model": [],
    "train.p": [],
}


def test_a_pattern_means_these_files(bench: Bench) -> None:
    for pattern, expected in PATTERNS.items():
        assert bench.says("Glob", pattern=pattern) == ("\n".join(expected) or f"no file matches {pattern}")


def test_a_pattern_is_seen_from_the_folder_that_is_named(bench: Bench) -> None:
    assert bench.says("Glob", pattern="*/loss.py", path="model") == "model/deep/loss.py"
    assert bench.says("Glob", pattern="*.py", path=os.path.join(bench.workspace.root, "tests")) == "tests/test_train.py"


def test_nothing_outside_is_listed(bench: Bench) -> None:
    for path in ("..", "/", "/etc", "link", "../out", "model/../..", "gone", "\x00"):
        assert "there is no file at or under" in bench.refuses("Glob", pattern="**", path=path), path


def test_a_long_list_is_cut_and_that_is_said(tmp_path: Path) -> None:
    for number in range(search.MOST_PATHS + 7):
        (tmp_path / f"f{number:05}.txt").write_text("x")
    lines = bench_in(tmp_path).says("Glob", pattern="*.txt").splitlines()
    assert lines[:2] == ["f00000.txt", "f00001.txt"]
    assert (len(lines), lines[-1]) == (search.MOST_PATHS + 1, "… 7 more; give a narrower pattern")


@given(st.text("ab*?[]!{},/.-", max_size=25))
@example("{" * LONGEST_PATTERN)
@example("[" * 100)
@example("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}")
@QUICK
def test_no_pattern_surprises(pattern: str) -> None:
    try:
        found = match_paths(["a", "a/b", "b.a"], pattern)
    except PatternError:
        return
    assert set(found) <= {"a", "a/b", "b.a"}


def test_a_pattern_of_stars_ends() -> None:
    assert match_paths(["a" * 255], "*a" * 200 + "b") == []
    assert match_paths(["/".join("a" * 30)], "**/a/" * 60 + "b") == []


# Grep


def test_a_search_tells_the_files_how_often_and_within_a_pattern_of_paths_and_opens_no_link(bench: Bench) -> None:
    assert bench.says("Grep", pattern="rate") == "model/train.py"
    assert bench.says("Grep", pattern="rate", ignore_case=True) == "model/deep/loss.py\nmodel/train.py"
    assert bench.says("Grep", pattern=r"\breturn\b", output_mode="count") == "model/deep/loss.py:1\nmodel/train.py:1"
    assert bench.says("Grep", pattern="train", glob="test_*") == "tests/test_train.py"
    assert bench.says("Grep", pattern="train", glob="*.md") == "no line of 1 files matches train"
    assert bench.says("Grep", pattern="secret") == "no line of 5 files matches secret"
    for odd in ("(" * 300, "a" * 1000, "\x00", "\ud800", "(?P<a>x)(?P<a>y)", "[z-a]", "x{99999999999}"):
        assert bench("Grep", pattern=odd)["text"], odd


def test_a_search_shows_the_lines_and_what_is_around_them(bench: Bench) -> None:
    assert bench.says("Grep", pattern="^def", path="model", output_mode="content").splitlines() == [
        "model/deep/loss.py:1:def loss(x):",
        "model/train.py:4:def train(rate):",
    ]
    assert bench.says("Grep", pattern="^def", path="model/train.py", output_mode="content", context=1).splitlines() == [
        "model/train.py-3-",
        "model/train.py:4:def train(rate):",
        "model/train.py-5-    return rate",
    ]


def test_many_matches_are_cut_and_counted(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    bench.workspace.write("a.txt", "x" * 1000 + "\n" + "x\n" * 1999)
    lines = bench.says("Grep", pattern="x", output_mode="content").splitlines()
    assert (len(lines), lines[-1]) == (search.MOST_MATCHES + 1, f"… {2000 - search.MOST_MATCHES:,} more matches")
    assert len(lines[0]) < 500
    assert len("\n".join(lines)) <= LARGEST_ANSWER


def test_what_is_no_text_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00x")
    (tmp_path / "b.txt").write_bytes(b"x\xff\n")
    assert bench_in(tmp_path).says("Grep", pattern="x") == "b.txt"


def test_what_there_is_no_room_for_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LARGEST_SEARCH", 10)
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("x" * 8)
    assert bench_in(tmp_path).says("Grep", pattern="x") == (
        "a.txt\nb.txt\n… 1 files were not searched: over 10 characters; give a path or a glob"
    )


TRAPS = [
    pytest.param("(a+)+b", id="nested repetition"),
    pytest.param("(a|a)*b", id="the same choice twice", marks=pytest.mark.slow),
    pytest.param("(a*)*(a*)*b", id="repetition of nothing", marks=pytest.mark.slow),
    pytest.param("(((a{1,300}){1,300}){1,300}){1,300}b", id="a pattern that is large when compiled"),
]


@pytest.mark.parametrize("pattern", with_covered(TRAPS, "nested repetition"))
def test_a_pattern_that_takes_for_ever_is_stopped(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SECONDS", 1)
    bench = bench_in(tmp_path)
    bench.workspace.write("a.txt", "a" * 5000)
    with must_end():
        answer = bench("Grep", pattern=pattern)
        assert answer["failed"], answer["text"]
        assert "use a simpler pattern" in answer["text"]
