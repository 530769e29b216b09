"""Drills 27 and 28: odd names work or are refused at once; a task that is taken away under a run ends it, and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.drills import scenes
from tests.drills.faults import launched
from tests.drills.ground import Ended, Ground, held, let_go
from tests.drills.trees import tree_of

pytestmark = pytest.mark.slow

NAMES = {
    "spaces": " two  words ",
    "a newline": "two\nlines",
    "255 bytes": "x" * 255,
    "255 bytes of letters of two bytes": "ä" * 127 + "x",
    "a trailing dot": "dot.",
    "dots": "...",
    "a leading dash": "-rf",
    "bytes that are no UTF-8": os.fsdecode(b"caf\xe9 \xff"),
    "quotes and a dollar": "a'b\"c$HOME`id`",
    "an escape sequence": "red\x1b[31m",
    "another direction": "abc\u202efdp",
}
EACH_NAME = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return scenes.chain(tmp_path, 2)


@EACH_NAME
def test_a_folder_of_tasks_may_have_any_name_or_is_refused_at_once(ground: Ground, name: str) -> None:
    folder = ground.work / name
    _assert_whole_or_refused(ground, folder, "run", "paper.md", f"--tasks-dir={folder}")


@EACH_NAME
def test_a_task_may_lie_in_a_folder_of_any_name(ground: Ground, name: str) -> None:
    assert ground.call().code == 0
    moved = ground.work / name / "in" / "paper"
    moved.parent.mkdir(parents=True)
    ground.task.rename(moved)
    for command in ("status", "check", "why", "resume"):
        ended = ground.call(command, "--", str(moved))
        assert ended.code == 0, f"{command}: {ended.err}"
        assert "\x1b" not in ended.out + ended.err


@EACH_NAME
def test_a_paper_may_have_any_name_or_is_refused_at_once(ground: Ground, name: str) -> None:
    paper = ground.work / name
    paper.write_text("# A paper\n")
    _assert_whole_or_refused(ground, ground.tasks, "run", "--", str(paper))
    for path in ground.tasks.iterdir() if ground.tasks.exists() else ():
        assert path.name.isascii()
        assert len(path.name) <= 70


@pytest.mark.parametrize("levels", [15, 17, 40], ids=["just under PATH_MAX", "just over it", "far over it"])
def test_a_very_deep_folder_works_or_is_refused_at_once(ground: Ground, levels: int) -> None:
    folder = "/".join(["d" * 250] * levels)
    ended = ground.call("run", "paper.md", f"--tasks-dir={folder}")
    _assert_well_told(ended)
    if ended.code == 0:
        assert ground.call("status", f"--tasks-dir={folder}").code == 0


def test_a_command_in_a_folder_over_path_max_works_or_is_refused_in_one_line(ground: Ground) -> None:
    inside = 'for level in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do mkdir "$0"; cd "$0"; done; exec "$@"'
    before = ("/bin/sh", "-c", inside.replace("mkdir", "/bin/mkdir"), "d" * 250)
    _assert_well_told(ground.call("run", str(ground.work / "paper.md"), before=before))


def test_a_command_in_a_deleted_folder_is_refused_in_one_line(ground: Ground) -> None:
    before = ("/bin/sh", "-c", '/bin/mkdir gone; cd gone; /bin/rmdir ../gone; exec "$@"', "sh")
    for arguments in (("run", str(ground.work / "paper.md")), ("list",), ("resume",)):
        _assert_well_told(ground.call(*arguments, before=before))


@pytest.fixture
def waiting(tmp_path: Path) -> Ground:
    return scenes.waiting(tmp_path)


def test_a_task_that_is_deleted_while_it_runs_ends_the_run(waiting: Ground) -> None:
    with held(waiting) as process:
        shutil.rmtree(waiting.task)
        let_go(waiting)
        waiting.wait(process).assert_failed(str(waiting.task))
    assert not waiting.task.exists()


def test_a_task_that_is_moved_while_it_runs_ends_the_run_and_stays_as_it_was(waiting: Ground) -> None:
    aside = waiting.work / "aside"
    with held(waiting) as process:
        waiting.task.rename(aside)
        before = tree_of(waiting)
        let_go(waiting)
        waiting.wait(process).assert_failed(str(waiting.task))
    assert not waiting.task.exists()
    assert _beside_the_catalog(tree_of(waiting)) == _beside_the_catalog(before)
    assert waiting.call("resume", str(aside)).code == 0, "where it is now, it goes on"


@pytest.mark.parametrize("decoy", ["empty", "another task", "the task itself"])
def test_a_task_that_is_replaced_by_a_link_while_it_runs_is_not_followed(waiting: Ground, decoy: str) -> None:
    target = waiting.work / "target"
    with held(waiting) as process:
        aside = waiting.task.rename(waiting.work / "aside")
        if decoy == "another task":
            shutil.copytree(aside, target)
        elif decoy == "the task itself":
            target = aside
        else:
            target.mkdir()
        waiting.task.symlink_to(target)
        before = tree_of(waiting)
        let_go(waiting)
        waiting.wait(process).assert_failed(str(waiting.task))
    assert _beside_the_catalog(tree_of(waiting)) == _beside_the_catalog(before)


def test_a_task_that_is_replaced_by_another_folder_while_it_runs_is_not_written_to(waiting: Ground) -> None:
    with held(waiting) as process:
        waiting.task.rename(waiting.work / "aside")
        waiting.task.mkdir()
        (waiting.task / "mine").write_text("do not touch")
        let_go(waiting)
        waiting.wait(process).assert_failed(str(waiting.task))
    assert [path.name for path in waiting.task.iterdir()] == ["mine"]


@pytest.mark.parametrize("moment", ["generate_code", "config.py", "journal.jsonl", "plan_versions/"])
def test_a_real_run_whose_task_is_replaced_by_a_link_writes_nothing_to_where_it_leads(
    tmp_path: Path, moment: str
) -> None:
    ground = scenes.paper(tmp_path, tools=False)
    decoy = ground.work / "decoy"
    decoy.mkdir()
    swap = (
        f"if {moment!r} in str(details[0]) and not os.path.islink({str(ground.task)!r}): "
        f"os.rename({str(ground.task)!r}, {str(ground.work / 'aside')!r}); os.symlink({str(decoy)!r}, {str(ground.task)!r})"
    )
    ended = launched(ground, -1, swap)
    assert ground.task.is_symlink(), "the moment never came"
    _assert_well_told(ended)
    assert ended.code != 0
    # What was being opened at that very moment may still land there; nothing that comes after it may.
    assert sorted(path.name for path in decoy.rglob("*") if path.name != moment) == []


def _assert_whole_or_refused(ground: Ground, tasks: Path, *command: str) -> None:
    """A run to the end, twice; or one line, and nothing that looks like a task."""
    ended = ground.call(*command)
    _assert_well_told(ended)
    if ended.code == 0:
        again = ground.call(*command)
        assert again.code == 0, again.err
        assert "up to date" in again.err
        listed = ground.call("list", f"--tasks-dir={tasks}")
        assert listed.code == 0, listed.err
        assert "completed" in listed.out
        assert "\x1b" not in ended.out + ended.err + listed.out
    else:
        assert not list(ground.work.rglob("task.json")), "it is refused, and there is half a task"


def _assert_well_told(ended: Ended) -> None:
    if ended.code != 0:
        ended.assert_failed()
    assert ended.code != 70


def _beside_the_catalog(tree: dict[str, object]) -> dict[str, object]:
    """Without the list of tasks, and without a lease: a run takes its own away, which it knows by its name, wherever it lies."""
    return {path: content for path, content in tree.items() if not path.endswith(("tasks.jsonl", "/.lease"))}
