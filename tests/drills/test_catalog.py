"""Drills 10 and 11: whatever happens to a line of tasks.jsonl, the rest is listed, and no decision is taken on a guess.

`tests/engine/test_catalog.py` cuts the list at every byte.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.engine.catalog import Catalog
from pipeline.engine.graph import GIVEN
from tests.drills import scenes
from tests.drills.ground import Ended, Ground

pytestmark = pytest.mark.slow

FIRST, SECOND = "first", "zweites-Papier-ä"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A folder whose list has three tasks; the middle one is not there, as if it had been moved away."""
    ground = scenes.chain(tmp_path, 1)
    ground.call("run", "paper.md", "--until", "00")
    (ground.tasks / "tasks.jsonl").unlink()
    for name in (FIRST, SECOND, "paper"):
        _record(ground.tasks, name)
    return ground


@pytest.mark.parametrize("part", [0.02, 0.5, 1.0], ids=["after a byte", "in the middle", "before the newline"])
def test_the_list_command_warns_of_a_torn_record_and_sets_it_aside(ground: Ground, part: float) -> None:
    path = ground.tasks / "tasks.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    torn = lines[-1][: max(1, round((len(lines[-1]) - 1) * part))]
    path.write_bytes(b"".join(lines[:-1]) + torn)
    ended = ground.call("list", "--json")
    assert ended.code == 0
    assert [row["id"] for row in json.loads(ended.out)] == [SECOND, FIRST]
    assert ended.err.startswith("warning: ")
    assert ended.err.count("\n") == 1
    assert (ground.tasks / "tasks.jsonl.corrupt").read_bytes() == torn + b"\n"
    assert not ground.call("list").err, "the second time there is nothing to warn of"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a block of NUL": lambda line: b"\0" * 512 + b"\n",
    "a record whose half is NUL": lambda line: line[:40] + b"\0" * (len(line) - 41) + b"\n",
    "a byte order mark": lambda line: b"\xef\xbb\xbf" + line,
    "an unknown version": lambda line: line.replace(b'"version": 1', b'"version": 2'),
    "half a record": lambda line: line[:30] + b"\n",
    "another kind of value": lambda line: b"[1, 2]\n",
    "bytes that are no UTF-8": lambda line: line.replace("ä".encode(), b"\xff"),
    "a key twice": lambda line: line.replace(b'"version": 1', b'"version": 1, "version": 1'),
    "a line of 2 MB": lambda line: b"x" * (2 * 1024 * 1024) + b"\n",
    "a line of 200 MB": lambda line: b"x" * (200 * 1024 * 1024) + b"\n",
}
EACH_DAMAGE = pytest.mark.parametrize("damage", DAMAGES)


@EACH_DAMAGE
def test_a_damaged_record_in_the_middle_is_named_and_the_rest_is_listed(ground: Ground, damage: str) -> None:
    _change_second(ground, DAMAGES[damage])
    ended = ground.call("list", "--json")
    assert ended.code == 0
    assert [row["id"] for row in json.loads(ended.out)] == ["paper", FIRST]
    assert ended.err.startswith("warning: ")
    assert "tasks.jsonl, line 2: " in ended.err
    assert ended.err.count("\n") == 1


@EACH_DAMAGE
def test_without_a_name_nothing_is_resumed_from_a_damaged_list(ground: Ground, damage: str) -> None:
    _change_second(ground, DAMAGES[damage])
    ground.call("resume").assert_failed("tasks.jsonl, line 2")
    assert _finished(ground.call("resume", "paper")), "by its name the task can be resumed all the same"


HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda line: line[:-1] + b"\r\n",
    "a blank line": lambda line: b"\n" + line,
    "a line of blanks": lambda line: b"  \t \n" + line,
    "the same record twice": lambda line: line + line,
    "an earlier record of the same task": lambda line: line.replace(b'"completed"', b'"running"') + line,
}


@pytest.mark.parametrize("change", HARMLESS, ids=str)
def test_what_an_editor_or_a_copy_leaves_in_the_list_does_no_harm(ground: Ground, change: str) -> None:
    _change_second(ground, HARMLESS[change])
    for name in (FIRST, SECOND):  # with a directory, or the list says that the task is gone
        (ground.tasks / name).mkdir(exist_ok=True)
        for document in GIVEN:
            (ground.tasks / name / document).touch()
    ended = ground.call("list", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert {row["id"]: row["status"] for row in json.loads(ended.out)} == {
        FIRST: "completed",
        SECOND: "completed",
        "paper": "completed",
    }


def test_a_byte_order_mark_at_the_top_costs_no_more_than_the_first_record(ground: Ground) -> None:
    path = ground.tasks / "tasks.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    ended = ground.call("list", "--json")
    assert ended.code == 0
    assert {SECOND, "paper"} <= {row["id"] for row in json.loads(ended.out)}
    assert FIRST in ended.out or "line 1: " in ended.err


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link"])
def test_a_list_that_is_no_file_is_named_and_not_waited_for(ground: Ground, kind: str) -> None:
    path = ground.tasks / "tasks.jsonl"
    aside = path.rename(ground.base / "aside")
    make: dict[str, Callable[[], object]] = {
        "a folder": path.mkdir,
        "a pipe": lambda: os.mkfifo(path),
        "a link": lambda: path.symlink_to(aside),
    }
    make[kind]()
    for command in ("list", "resume", "run"):
        ended = ground.call(*(ground.arguments if command == "run" else (command,)), patience=20)
        ended.assert_failed("tasks.jsonl")
    assert aside.read_bytes().count(b"\n") == 3


def _record(folder: Path, task: str) -> None:
    Catalog(str(folder)).record(task, "completed", mode="fast", source="/a/päper.md", reason="alles erledigt: 論文")


def _change_second(ground: Ground, change: Callable[[bytes], bytes]) -> None:
    path = ground.tasks / "tasks.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + change(lines[1]) + lines[2])


def _finished(ended: Ended) -> bool:
    return ended.code == 0 and "Traceback" not in ended.err
