"""Drill: a tree of files is on the disk before anything says that it is: the row of a journal, or the stamp of a phase."""

from __future__ import annotations

from pathlib import Path

import pytest

from phases.sandbox.commands import kind_of_sandbox
from tests.drills import scenes
from tests.drills.faults import Call, calls_of
from tests.drills.ground import Ground

pytestmark = pytest.mark.slow

_CALLS = "fsync fdatasync syncfs write rename renameat renameat2"
RENAMES = ("rename", "renameat", "renameat2")


def made(ground: Ground) -> list[Call]:
    return [call for call in calls_of(ground, _CALLS) if str(ground.task) in call.text]


def places(calls: list[Call], names: tuple[str, ...], *words: str) -> list[int]:
    """Where calls of these names come that say all these words."""
    return [at for at, call in enumerate(calls) if call.name in names and all(word in call.text for word in words)]


def next_row(calls: list[Call], at: int) -> int:
    """Where the next row of the journal is written."""
    return at + places(calls[at:], ("write",), "/journal.jsonl>")[0]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    if kind_of_sandbox("required") == "none":
        pytest.skip("no sandbox on this machine, so the recorded commands do not run")
    return made(scenes.recorded(tmp_path_factory.mktemp("durable")))


def test_what_a_command_wrote_is_on_the_disk_before_its_row_is_in_the_journal(agent: list[Call]) -> None:
    synced = [
        at for at in places(agent, ("fsync",), "/generate_code/log.txt>") if "result" in agent[next_row(agent, at)].text
    ]
    assert len(synced) == 2, (
        "two commands of the recording write it; a check after them may put it back, which has another row"
    )
    assert places(agent[synced[0] : next_row(agent, synced[0])], ("fsync",), "/generate_code>"), (
        "its name is not durable"
    )


def test_the_code_is_on_the_disk_before_the_stamp_of_its_phase(agent: list[Call]) -> None:
    (stamp,) = places(agent, ("write",), "/state.jsonl>", '"09')
    last = places(agent[:stamp], ("write", *RENAMES), "/generate_code")[-1]
    assert places(agent[last:stamp], ("syncfs",), "/generate_code>")


def test_the_report_of_the_supervision_is_on_the_disk_before_the_stamp_of_its_phase(agent: list[Call]) -> None:
    (stamp,) = places(agent, ("write",), "/state.jsonl>", '"09')
    named = places(agent[:stamp], RENAMES, 'kernel-report.json"')
    assert len(named) == 1, "it is written once"
    assert places(agent[: named[0]], ("fsync",), "kernel-report.json")
    task = f"{agent[named[0]].text.partition('kernel-report.json')[0].strip(chr(34))}"
    assert places(agent[named[0] : stamp], ("fsync",), Path(task).name), "its name is not durable"


def test_fetched_code_is_on_the_disk_before_it_has_its_name_and_before_the_stamp(tmp_path: Path) -> None:
    (tmp_path / "ours" / "encoders").mkdir(parents=True)
    (tmp_path / "ours" / "encoders" / "model.py").write_text("SIZE = 1\n")
    words = ("run", "--full", "paper.md", "--references", str(tmp_path / "ours"), "--unsandboxed", "--until", "07")
    ground = Ground(tmp_path, arguments=words, text=scenes.PAPER, tools=False)
    made(ground)
    calls = (ground.base / "calls").read_text().splitlines()  # of all threads: in full mode a phase runs in one
    named = last(calls, "rename", "/code_base/folder__encoders")
    assert last(calls[:named], "syncfs(", "/code_base/.fetching-folder__encoders/tree>") >= 0
    stamp = last(calls, "write(", "/state.jsonl>", "07")
    assert last(calls[named:stamp], "fsync(", "/code_base>") >= 0


def last(lines: list[str], *words: str) -> int:
    """Where the last line is that says all these words."""
    return max((at for at, line in enumerate(lines) if all(word in line for word in words)), default=-1)
