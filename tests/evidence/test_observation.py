"""The notes of a check are a stranger's text: whatever is in them, they are read as far as they make sense."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.evidence.observation import FAILED, PASSED, Watch, read_rows
from phases.evidence.places import find_places, read_ids
from pipeline.base.errors import StorageError
from tests.strategies import QUICK


def observe(folder: Path, *rows: object) -> Watch:
    watch = Watch(str(folder / "notes"))
    watch.begin()
    (folder / "notes" / "notes.1.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return watch


def test_a_test_with_parameters_passed_where_all_of_them_did(tmp_path: Path) -> None:
    rows = [{"test": "a::b", "outcome": outcome, "command": "1"} for outcome in ("passed", "failed", "passed")]
    watch = observe(tmp_path, *rows, {"test": "a::c", "outcome": "passed", "command": "1"})
    seen = watch.collect()
    assert (dict(seen.tests), seen.lines, seen.is_blind) == ({"a::b": FAILED, "a::c": PASSED}, {}, False)
    assert (watch.count("1"), watch.count("2")) == ((3, 1, 0), None)


def test_notes_that_a_check_closed_or_nested_are_deleted_with_their_directory(tmp_path: Path) -> None:
    watch = observe(tmp_path)
    inner = tmp_path / "notes" / "node" / "deep"
    inner.mkdir(parents=True)
    (inner / "coverage.json").write_text("{}")
    for directory in (inner, inner.parent, tmp_path / "notes"):
        directory.chmod(0)
    watch.end()
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_place_of_the_notes_is_told_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "letter").write_text("mine")
    (tmp_path / "notes").symlink_to("private")
    with pytest.raises(StorageError, match=r"cannot remove .*notes"):
        Watch(str(tmp_path / "notes")).begin()
    assert (tmp_path / "private" / "letter").read_text() == "mine"


def test_a_run_that_began_and_did_not_end_is_seen(tmp_path: Path) -> None:
    rows = ({"session": "begun", "paths": ["."]}, {"test": "a", "outcome": "passed"})
    assert observe(tmp_path, *rows).collect().cut_off
    assert not observe(tmp_path, *rows, {"session": "ended"}).collect().cut_off


def test_notes_that_are_no_notes_are_passed_over(tmp_path: Path) -> None:
    strange = [
        7, [], {"test": 3, "outcome": "passed"}, {"test": "a", "outcome": "splendid"}, {"paths": "x"}, {"session": []},
    ]  # fmt: skip
    watch = observe(tmp_path, *strange)
    notes = tmp_path / "notes"
    (notes / "notes.2.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(notes / "notes.3.jsonl")
    (notes / "notes.4.jsonl").write_bytes(b"\xff\x00{\n" + b"[" * 100_000)
    assert watch.collect().tests == {}
    odd: list[object] = [{"ran": 3, "lines": {"a.py": [1, "2", None]}}, {"lines": 7}]
    odd += [{"could_run": [{}]}, {"could_run": {"b.py": 5}}]
    (notes / "notes.5.jsonl").write_text("\n".join(map(json.dumps, odd)))
    assert watch.collect().lines == {"a.py": {1: frozenset({"3"})}}
    assert read_rows(str(notes / "absent")) == []


def test_notes_that_could_not_be_written_down_again_or_be_reckoned_with_are_passed_over(tmp_path: Path) -> None:
    watch = observe(tmp_path, {"test": "a::b", "outcome": "passed", "seconds": 1})
    lines = (
        '{"test": "\\ud800::b", "outcome": "failed"}',
        '{"test": "c", "outcome": "passed", "seconds": ' + "9" * 400 + "}",
        '{"test": "d", "outcome": "passed", "seconds": Infinity}',
        '{"test": "e", "outcome": "passed", "seconds": NaN}',
    )
    (tmp_path / "notes" / "notes.9.jsonl").write_text("\n".join(lines))
    seen = watch.collect()
    assert dict(seen.tests) == {"a::b": PASSED, "d": PASSED, "e": PASSED}


@given(st.text("R1V-–..to through 29\n", max_size=40))
@QUICK
def test_ids_are_read_from_whatever_text(text: str) -> None:
    assert all(name[0] in "RV" and name[1:].isdigit() for name in read_ids(text))


def test_ranges_name_all_that_is_between_and_no_more_than_makes_sense() -> None:
    assert read_ids("R2-R4, R7 to R8") == ["R2", "R4", "R7", "R8", "R3"]
    assert read_ids("R1-R900") == ["R1", "R900"]
    assert read_ids("R9-R2") == ["R9", "R2"]


@given(st.text("R1#:=,{}\"'\n ab0.", max_size=60))
@QUICK
def test_no_data_file_surprises_the_search_for_places(source: str) -> None:
    for path in ("a.yaml", "a.json", "a.toml", "README.md"):
        assert all(place.identifier == "R1" for place in find_places(path, source, {"R1"}))
