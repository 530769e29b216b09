"""Drills 12 and 13: what somebody did to a file of a task is seen, said in words, and never papered over."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.engine.contract import BUILT_IN
from tests.drills import scenes
from tests.drills.ground import Ended, Ground
from tests.drills.points import chosen
from tests.drills.trees import differences, tree_of

pytestmark = pytest.mark.slow

QUICK = 20.0
"""Seconds in which a command has to say what is wrong. A hang is what this is about, not speed."""


def _truncated(path: Path) -> None:
    path.write_bytes(b"")


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x80
    path.write_bytes(data)


def _newer(path: Path) -> None:
    text = path.read_text()
    changed = text.replace('"version": 1', '"version": 99', 1).replace("plan_version: 1", "plan_version: 99", 1)
    path.write_text(
        changed if changed != text else text.replace("{", '{"version": 99,', 1) if text[0] == "{" else "a: ["
    )


def _listed(path: Path) -> None:
    path.write_text("[]\n")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _unreadable(path: Path) -> None:
    path.chmod(0)


def _linked(path: Path) -> None:
    aside = path.parents[2] / f"aside-{path.name}"
    path.rename(aside)
    path.symlink_to(aside)


def _piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "truncated": _truncated,
    "a byte flipped": _flipped,
    "of another version": _newer,
    "of another type": _listed,
    "a folder": _folder,
    "unreadable": _unreadable,
    "a link": _linked,
    "a pipe": _piped,
}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A finished task of toys."""
    ground = scenes.chain(tmp_path, 3)
    assert ground.call().code == 0
    return ground


@pytest.fixture
def paper(tmp_path: Path) -> Ground:
    """A finished task of the real phases."""
    ground = scenes.paper(tmp_path, tools=False)
    assert ground.call().code == 3
    return ground


COMMANDS = ("resume paper", "check paper", "run tasks/paper", "step paper", "status paper", "why paper")


@pytest.mark.parametrize("name", ["task.json", "state.json", "toy00.json", "toy02.json"])
@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_damaged_file_is_named_by_every_command_that_needs_it(ground: Ground, name: str, damage: str) -> None:
    kept = shutil.copytree(ground.task, ground.base / "kept")
    found = []
    for command in COMMANDS:
        shutil.rmtree(ground.task)
        shutil.copytree(kept, ground.task)
        DAMAGES[damage](ground.task / name)
        try:
            _assert_named(ground, command, name, damage)
        except AssertionError as problem:
            found.append(f"{command}: {problem}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("damage", ["a folder", "a link", "a pipe", "truncated"])
def test_the_next_step_after_a_damaged_document_is_one_that_works(ground: Ground, damage: str) -> None:
    path = ground.task / "toy00.json"
    DAMAGES[damage](path)
    ended = ground.call("resume", "paper")
    ended.assert_failed("toy00.json")
    assert "once you have fixed tasks/paper/toy00.json" in ended.out
    if damage == "truncated":
        assert "pipeline resume paper --redo 00" in ended.out
        assert ground.call("resume", "paper", "--redo", "00").code == 0
    else:  # what no phase can replace is not made again
        assert "--redo" not in ended.out


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_damaged_task_file_is_no_reason_to_begin_a_second_task(ground: Ground, damage: str) -> None:
    DAMAGES[damage](ground.task / "task.json")
    _run(ground, "run paper.md", damage).assert_failed("task.json")
    assert sorted(path.name for path in ground.tasks.iterdir() if path.is_dir()) == ["paper"]


@pytest.mark.parametrize("name", ["report.json", "plan_requests.json"])
@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_damaged_file_that_no_phase_needs_is_named_by_check(ground: Ground, name: str, damage: str) -> None:
    DAMAGES[damage](ground.task / name)
    _assert_named(ground, "check paper", name, damage)
    if name == "report.json":
        _assert_named(ground, "status paper", name, damage)


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_damaged_report_is_written_anew_or_named(ground: Ground, damage: str) -> None:
    DAMAGES[damage](ground.task / "report.json")
    ended = _run(ground, "resume paper", damage)
    if ended.code != 0:
        ended.assert_failed("report.json")
        return
    assert ground.call("check", "paper").code == 0
    aside = ground.work / "aside-report.json"
    assert not aside.exists() or aside.read_bytes().startswith(b"{"), "what the link led to is left alone"


NEEDED_BY_NO_PHASE = ("data.json", "kernel-report.json", "plan_requests.json", "report.json")
"""Of a run whose phases are up to date: a resume reads none of them."""


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_damaged_document_of_a_real_run_is_named_by_check_and_never_made_again_in_silence(
    paper: Ground, damage: str
) -> None:
    kept = shutil.copytree(paper.task, paper.base / "kept")
    names = [path.name for path in sorted(kept.iterdir()) if _is_document(path)]
    assert len(names) >= 14
    found = []
    for name in chosen(names, 5):
        shutil.rmtree(paper.task)
        shutil.copytree(kept, paper.task)
        DAMAGES[damage](paper.task / name)
        for command in ("check paper", "resume paper"):
            if name in NEEDED_BY_NO_PHASE and command != "check paper":
                continue
            try:
                _assert_named(paper, command, name, damage)
            except AssertionError as problem:
                found.append(f"{name} is {damage}, {command}: {problem}")
    assert not found, "\n".join(found)


def test_an_edited_output_is_taken_as_it_is_and_its_readers_run_again(ground: Ground) -> None:
    path = ground.task / "toy00.json"
    path.write_text(path.read_text().replace("toy00 ", "by hand "))
    assert "01 toy01 would run: toy00.json changed" in ground.call("why", "paper").out
    assert "will run: toy00.json changed" in ground.call("status", "paper").out
    ended = ground.call("resume", "paper")
    assert "edited by hand: toy00.json" in ended.err
    assert "by hand toy01" in (ground.task / "toy01.json").read_text()
    assert "by hand" in path.read_text()
    assert "everything is up to date" in ground.call("why", "paper").out
    assert "edited by hand: toy00.json" in ground.call("status", "paper").out


def test_a_deleted_output_is_made_again_for_that_reason(ground: Ground) -> None:
    before = tree_of(ground)
    (ground.task / "toy01.json").unlink()
    assert "01 toy01 would run: toy01.json is missing" in ground.call("why", "paper").out
    assert "will run: toy01.json is missing" in ground.call("status", "paper").out
    assert ground.call("check", "paper").code == 1
    assert ground.call("resume", "paper").code == 0
    assert not differences(tree_of(ground), before)


def test_a_deleted_file_of_a_folder_document_is_made_again_for_that_reason(ground: Ground) -> None:
    before = tree_of(ground)
    (ground.task / "toy02" / "in" / "two.txt").unlink()
    assert "02 toy02 would run: toy02/in/two.txt is missing" in ground.call("why", "paper").out
    assert ground.call("resume", "paper").code == 0
    assert not differences(tree_of(ground), before)


def test_a_touched_output_is_reused(ground: Ground) -> None:
    for path in ground.task.iterdir():
        os.utime(path, (0, 0))
    assert "everything is up to date" in ground.call("why", "paper").out
    assert "will run" not in ground.call("status", "paper").out
    assert ground.call("resume", "paper").err.count("up to date") == 3


def _run(ground: Ground, command: str, damage: str) -> Ended:
    before = _without_privileges() if damage == "unreadable" else ()
    return ground.call(*command.split(), before=before, patience=QUICK)


def _assert_named(ground: Ground, command: str, name: str, damage: str) -> None:
    ended = _run(ground, command, damage)
    assert ended.code not in (0, 70), f"`{command}` ends with {ended.code}: {ended.out}{ended.err}"
    if command.startswith("check") and not ended.complaints:
        assert f"damaged  {name}" in ended.out, ended.out
    else:
        ended.assert_failed(name)


def _without_privileges() -> tuple[str, ...]:
    """A launcher under which a file's mode counts for root too."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    if not setpriv:
        pytest.skip("for root every file is readable, and setpriv is not installed")
    privileges = "-dac_override,-dac_read_search"
    return (setpriv, f"--bounding-set={privileges}", f"--inh-caps={privileges}")


def _is_document(path: Path) -> bool:
    """Whether a schema governs a file at the top of a task."""
    name = path.name.split(".", 1)[0] + ".schema.json"
    return path.is_file() and path.suffix != ".jsonl" and Path(BUILT_IN, name).is_file()
