"""Endings that were not accepted: what is kept of them, and how the work is gone on with from one of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phases.agent.rewind import Rewind, finish_rewind, rewind_to, unfinished_rewind
from phases.llm.journal import read_journal
from phases.llm.model import Message, Reply, Request
from phases.workspace.rejected_snapshots import MOST_KEPT, digest_of_tree, keep_rejected, read_refusals
from phases.workspace.task_paths import TaskPaths, task_paths
from pipeline.base.errors import PhaseError, PipelineError
from tests.agents import Scripted, carry_out, small_plan, tree, write
from tests.papers import HANGS, ROOT

PLAN = small_plan("a.py", "b.py")
DONE = Reply("ok", "done")
SCRIPT = [
    write("a.py", "A = (\n", "w1"),
    DONE,
    write("a.py", "A = 1\n", "w2"),
    DONE,
    write("b.py", "def (\n", "w3"),
    DONE,
    write("b.py", "B = 1\n", "w4"),
    DONE,
]
"""Three endings that are refused (turns 2, 4, 6), and one that is accepted."""
REFUSED_AT = (2, 4, 6)


class Keeping(Scripted):
    """Follows a script, and keeps every ending that was refused, as the loop does."""

    def __init__(self, folder: Path, script: Sequence[Reply] = SCRIPT) -> None:
        self.folder, self.script = folder, script
        super().__init__(self._next)

    def _next(self, request: Request) -> Reply:
        keep_the_last(self.folder)
        return self.script[request.turn - 1] if request.turn <= len(self.script) else DONE


def keep_the_last(folder: Path) -> None:
    places = task_paths(str(folder))
    if refusals := read_refusals(places):
        keep_rejected(places, refusals[-1].number, refusals[-1].tree)


def go_back(folder: Path, number: int) -> Rewind:
    return rewind_to(task_paths(str(folder)), number, lambda: None)


def told(request: Request) -> list[Message]:
    return list(request.messages)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Keeping]:
    """A task whose work was refused three times, then accepted."""
    folder = tmp_path_factory.mktemp("finished") / "task"
    model = Keeping(folder)
    made = carry_out(folder, model, PLAN)["implementation"]
    assert (made["stop_reason"], model.asked) == ("accepted", len(SCRIPT))
    return folder, model


@pytest.fixture
def task(finished: tuple[Path, Keeping], tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(finished[0], tmp_path / "task", symlinks=True))


@pytest.fixture
def asked(finished: tuple[Path, Keeping]) -> list[Request]:
    return finished[1].requests


# what is kept


def test_every_refusal_is_told_of_with_its_turn_who_refused_why_and_its_copy(task: Path) -> None:
    refusals = read_refusals(task_paths(str(task)))
    assert [(row.number, row.turn, row.source, row.last) for row in refusals] == [
        (number, turn, "internal:code", False) for number, turn in enumerate(REFUSED_AT, 1)
    ]
    assert "a.py does not parse" in refusals[0].reason
    assert "b.py is planned and not there" in refusals[1].reason
    assert [os.path.basename(row.copy) for row in refusals] == [f"{row.number}-{row.tree[:12]}" for row in refusals]


def test_a_copy_is_the_workspace_with_its_links_and_modes(tmp_path: Path) -> None:
    places = workspace_of(tmp_path, {"a.py": "A = 1\n", "deep/run.sh": "#!/bin/sh\n"})
    os.chmod(tmp_path / "generate_code" / "deep" / "run.sh", 0o755)
    (tmp_path / "generate_code" / "link").symlink_to("a.py")
    digest = digest_of_tree(places.workspace)
    assert keep_rejected(places, 1, digest)
    copy = tmp_path / "endings" / f"1-{digest[:12]}"
    assert (copy / "link").readlink() == Path("a.py")
    assert (copy / "deep" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert digest_of_tree(str(copy)) == digest


def test_what_is_not_the_tree_that_was_judged_is_not_kept(tmp_path: Path) -> None:
    places = workspace_of(tmp_path, {"a.py": "A = 1\n"})
    digest = digest_of_tree(places.workspace)
    (tmp_path / "generate_code" / "a.py").write_text("A = 2\n")
    assert not keep_rejected(places, 1, digest)
    assert not (tmp_path / "endings").exists()


def test_a_copy_that_is_there_is_left_as_it_is_and_a_damaged_one_is_made_again(tmp_path: Path) -> None:
    places = workspace_of(tmp_path, {"a.py": "A = 1\n"})
    digest = digest_of_tree(places.workspace)
    assert keep_rejected(places, 1, digest)
    copy = tmp_path / "endings" / f"1-{digest[:12]}"
    inode = (copy / "a.py").stat().st_ino
    (tmp_path / "generate_code" / "a.py").write_text("A = 2\n")
    assert keep_rejected(places, 1, digest)
    assert (copy / "a.py").stat().st_ino == inode
    (tmp_path / "generate_code" / "a.py").write_text("A = 1\n")
    (copy / "a.py").write_text("damaged\n")
    assert keep_rejected(places, 1, digest)
    assert (copy / "a.py").read_text() == "A = 1\n"


def test_no_more_than_twenty_copies_are_kept_and_the_oldest_go(tmp_path: Path) -> None:
    for number in range(1, MOST_KEPT + 4):
        places = workspace_of(tmp_path, {"a.py": f"A = {number}\n"})
        assert keep_rejected(places, number, digest_of_tree(places.workspace))
    names = sorted(int(name.partition("-")[0]) for name in os.listdir(tmp_path / "endings"))
    assert names == list(range(4, MOST_KEPT + 4))


def test_a_workspace_that_is_too_large_or_cannot_be_read_is_not_kept_and_stops_nothing(tmp_path: Path) -> None:
    places = workspace_of(tmp_path, {"a.py": "A = 1\n"})
    with open(tmp_path / "generate_code" / "huge.bin", "wb") as file:
        file.truncate(257 * 2**20)
    assert not keep_rejected(places, 1, digest_of_tree(places.workspace))
    shutil.rmtree(places.workspace)
    assert not keep_rejected(places, 1, "0" * 64)


# going back


@pytest.mark.parametrize("number", [1, 2, 3])
def test_after_going_back_the_model_is_asked_exactly_what_it_was_asked_then(
    number: int, task: Path, asked: list[Request]
) -> None:
    turn = REFUSED_AT[number - 1]
    then = tree(task) if number == 3 else {}
    go_back(task, number)
    resumed = Keeping(task)
    made = carry_out(task, resumed, PLAN)
    assert [request.turn for request in resumed.requests] == list(range(turn + 1, len(SCRIPT) + 1))
    assert told(resumed.requests[0]) == told(asked[turn])
    assert f'attempt="{number}"' in resumed.requests[0].messages[-1].text
    assert made["implementation"]["stop_reason"] == "accepted"
    assert not then or tree(task) == then


def test_the_files_are_those_of_that_ending_and_the_next_refusal_is_the_second(task: Path) -> None:
    go_back(task, 1)
    assert tree(task) == {"a.py": b"A = (\n"}
    assert [row["kind"] for row in read_journal(str(task / "journal.jsonl"))][-1] == "verdict"
    other = Keeping(task, [*SCRIPT[:2], write("c.py", "C = 1\n", "other"), DONE, *SCRIPT[2:]])
    carry_out(task, other, PLAN)
    for request, words in (
        (0, 'attempt="1" of="4"'),
        (0, "3 attempts are left"),
        (2, 'attempt="2" of="4"'),
        (2, "2 attempts"),
    ):
        assert words in other.requests[request].messages[-1].text
    assert other.requests[0].turn == REFUSED_AT[0] + 1


def test_another_course_of_the_work_can_be_gone_back_in_too(task: Path) -> None:
    go_back(task, 1)
    carry_out(task, Keeping(task, [*SCRIPT[:2], write("c.py", "C = 1\n", "other"), DONE, *SCRIPT[2:]]), PLAN)
    first = go_back(task, 2)
    assert (first.turn, first.suffix) == (4, ".prev2")
    assert tree(task) == {"a.py": b"A = (\n", "c.py": b"C = 1\n"}
    again = go_back(task, 1)
    assert again.suffix == ".prev3"
    assert tree(task) == {"a.py": b"A = (\n"}
    assert carry_out(task, Keeping(task), PLAN)["implementation"]["stop_reason"] == "accepted"


def test_all_that_came_after_is_kept_under_one_suffix(task: Path) -> None:
    (task / "generate_code.prev").mkdir()
    before, journal = tree(task), (task / "journal.jsonl").read_bytes()
    done = go_back(task, 2)
    assert done.suffix == ".prev2"
    assert {"generate_code", "journal.jsonl", "hooks"} <= set(done.aside)
    assert all((task / f"{name}.prev2").exists() for name in done.aside)
    assert (task / "journal.jsonl.prev2").read_bytes() == journal
    os.rename(task / "generate_code", task / "elsewhere")
    os.rename(task / "generate_code.prev2", task / "generate_code")
    assert tree(task) == before


def test_moved_back_the_work_is_as_if_nobody_had_gone_back(task: Path) -> None:
    before, straight = tree(task), (task / "journal.jsonl").read_bytes()
    done = go_back(task, 1)
    carry_out(task, Keeping(task), PLAN)
    for name in done.names:
        if (task / name).exists():
            os.rename(task / name, task / f"{name}.undone")
        if (task / f"{name}{done.suffix}").exists():
            os.rename(task / f"{name}{done.suffix}", task / name)
    again = Keeping(task)
    assert carry_out(task, again, PLAN)["implementation"]["stop_reason"] == "accepted"
    assert (again.asked, tree(task), (task / "journal.jsonl").read_bytes()) == (0, before, straight)


def test_logs_of_hooks_stay_as_far_as_the_story_that_is_kept_names_them(task: Path) -> None:
    journal = task / "journal.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    places = [place for place, row in enumerate(rows) if row["kind"] == "hook"]
    (task / "hooks").mkdir(exist_ok=True)
    for number, place in enumerate(places, 1):
        rows[place]["result"]["log"] = f"hooks/{number}-user-tests.log"
        (task / "hooks" / f"{number}-user-tests.log").write_text(f"log {number}")
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    go_back(task, 2)
    assert sorted(os.listdir(task / "hooks")) == ["1-user-tests.log", "2-user-tests.log"]
    assert {"3-user-tests.log", "events.jsonl"} <= set(os.listdir(task / "hooks.prev"))


def test_an_ending_that_ended_the_run_is_judged_anew(tmp_path: Path) -> None:
    folder, model = tmp_path / "task", Keeping(tmp_path / "task", [DONE])
    (folder).mkdir()
    made = carry_out(folder, model, PLAN)["implementation"]
    assert made["stop_reason"] == "accept_continue_exhausted"
    keep_the_last(folder)
    last = read_refusals(task_paths(str(folder)))[-1]
    assert last.last
    done = go_back(folder, last.number)
    assert (done.number, done.last) == (last.number, True)
    assert read_journal(str(folder / "journal.jsonl"))[-1]["kind"] == "reply"
    again = carry_out(folder, Keeping(folder, [DONE]), PLAN)["implementation"]
    assert again["stop_reason"] == "accept_continue_exhausted"
    assert [row.number for row in read_refusals(task_paths(str(folder)))] == list(range(1, last.number + 1))


def test_what_is_asked_after_going_back_is_paid_for_though_it_is_of_a_turn_that_was_paid_for(task: Path) -> None:
    before = ledger_of(task)
    go_back(task, 2)
    assert ledger_of(task) == before
    header = read_journal(str(task / "journal.jsonl"))[0]
    assert (header["run"], header["begun"]["paid"]) == (2, [[4, 1]])
    carry_out(task, Keeping(task), PLAN)
    rows = ledger_of(task)
    assert rows[: len(before)] == before
    assert {(row["run"], row["turn"]) for row in rows} >= {(2, 5), (2, 6), (2, 7), (2, 8)}
    go_back(task, 1)
    header = read_journal(str(task / "journal.jsonl"))[0]
    assert (header["run"], header["begun"]["paid"]) == (3, [[2, 1]])


def test_what_was_asked_before_going_back_is_never_paid_for_twice(task: Path) -> None:
    before = len(ledger_of(task))
    go_back(task, 2)
    carry_out(task, Keeping(task), PLAN)
    go_back(task, 1)
    carry_out(task, Keeping(task), PLAN)
    asked_again = (len(SCRIPT) - REFUSED_AT[1]) + (len(SCRIPT) - REFUSED_AT[0])
    assert len(ledger_of(task)) == before + asked_again


# what is refused


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "no rejected attempt 0; there are 1 to 3"), (4, "no rejected attempt 4"), (-1, "no rejected attempt -1")],
    ids=["none", "one too many", "a negative one"],
)
def test_an_ending_that_is_not_there_is_refused_with_those_that_are(number: int, words: str, task: Path) -> None:
    before = everything_in(task)
    with pytest.raises(PipelineError, match=words):
        go_back(task, number)
    assert everything_in(task) == before


def test_an_ending_whose_copy_is_gone_is_refused_with_those_that_are_kept(task: Path) -> None:
    shutil.rmtree(read_refusals(task_paths(str(task)))[1].copy)
    with pytest.raises(
        PipelineError, match=r"no copy of the code of attempt 2 \(turn 4\) was kept; there are copies of: 1, 3"
    ):
        go_back(task, 2)
    assert not (task / "generate_code.prev").exists()


def test_a_copy_that_was_changed_is_refused_and_nothing_is_moved(task: Path) -> None:
    (Path(read_refusals(task_paths(str(task)))[0].copy) / "a.py").write_text("other\n")
    before = tree(task)
    with pytest.raises(PhaseError, match="has changed since attempt 1 was rejected"):
        go_back(task, 1)
    assert (tree(task), unfinished_rewind(task_paths(str(task)))) == (before, None)
    assert go_back(task, 2).number == 2


def test_a_beginning_that_was_cut_off_is_finished_first(task: Path) -> None:
    (task / "journal.jsonl.next").write_text("{}\n")
    with pytest.raises(PipelineError, match=r"about to start over.*pipeline resume task"):
        go_back(task, 1)


def test_a_journal_that_is_cut_off_in_a_line_is_gone_back_in(task: Path) -> None:
    with open(task / "journal.jsonl", "ab") as file:
        file.write(b'{"kind": "re')
    assert len(read_refusals(task_paths(str(task)))) == 3
    go_back(task, 1)
    assert tree(task) == {"a.py": b"A = (\n"}


def test_a_damaged_journal_is_named_with_its_line(task: Path) -> None:
    lines = (task / "journal.jsonl").read_bytes().split(b"\n")
    (task / "journal.jsonl").write_bytes(b"\n".join([*lines[:2], b"nonsense", *lines[3:]]))
    with pytest.raises(PhaseError, match=r"journal\.jsonl, line 3: .*--redo implement"):
        read_refusals(task_paths(str(task)))


# kills

_KILLED = """
import os, sys
from phases.workspace.task_paths import task_paths
from phases.agent.rewind import rewind_to

task, nth, seen = sys.argv[1], int(sys.argv[2]), []
EVENTS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "open")

def hook(event, details):
    if event in EVENTS and (event != "open" or details[2] & (os.O_WRONLY | os.O_RDWR)):
        seen.append(event)
        if len(seen) == nth:
            os.kill(os.getpid(), 9)

sys.addaudithook(hook)
rewind_to(task_paths(task), 1, lambda: None)
print(len(seen))
"""


def gone_at(task: Path, nth: int) -> subprocess.CompletedProcess[str]:
    """Goes back to the first ending in a process that is killed at its nth change of the disk."""
    return subprocess.run(
        [sys.executable, "-c", _KILLED, str(task), str(nth)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )


@pytest.mark.slow
def test_killed_at_any_change_of_the_disk_it_is_carried_out_by_the_next_or_was_not_begun(
    task: Path, tmp_path: Path
) -> None:
    undisturbed = Path(shutil.copytree(task, tmp_path / "undisturbed", symlinks=True))
    ended = gone_at(undisturbed, 0)
    assert ended.returncode == 0, ended.stderr
    wanted, untouched = everything_in(undisturbed), everything_in(task)
    halves = 0
    for nth in range(1, int(ended.stdout) + 1):
        folder = Path(shutil.copytree(task, tmp_path / f"killed{nth}" / "task", symlinks=True))
        assert gone_at(folder, nth).returncode == -9
        if finish_rewind(task_paths(str(folder)), lambda: None):
            halves += 1
        elif everything_in(folder) != wanted:
            assert everything_in(folder) == untouched, nth
            go_back(folder, 1)
        assert everything_in(folder) == wanted, nth
        shutil.rmtree(folder)
    assert halves > 5, "kills between the decision and the end are among them"


@pytest.mark.slow
def test_a_rewind_that_was_cut_off_is_finished_before_another_one(task: Path) -> None:
    total = int(gone_at(Path(shutil.copytree(task, task.parent / "count")), 0).stdout)
    for nth in range(total, 0, -1):
        folder = Path(shutil.copytree(task, task.parent / f"killed{nth}", symlinks=True))
        gone_at(folder, nth)
        if unfinished_rewind(task_paths(str(folder))) is not None and not (folder / "journal.jsonl").exists():
            break
    with pytest.raises(PipelineError, match=rf"going back to attempt 1 was cut off; .*pipeline rewind killed{nth} 1"):
        go_back(folder, 2)
    assert go_back(folder, 1).number == 1


@pytest.mark.slow
def test_a_run_carries_out_a_rewind_that_was_cut_off_before_it_goes_on(task: Path, asked: list[Request]) -> None:
    count = int(gone_at(Path(shutil.copytree(task, task.parent / "count", symlinks=True)), 0).stdout)
    for nth in range(count, 0, -1):
        folder = Path(shutil.copytree(task, task.parent / f"killed{nth}", symlinks=True))
        gone_at(folder, nth)
        if not (folder / "journal.jsonl").exists() and not (folder / "generate_code").exists():
            break
    resumed = Keeping(folder)
    carry_out(folder, resumed, PLAN)
    assert told(resumed.requests[0]) == told(asked[REFUSED_AT[0]])
    assert not (folder / "generate_code.prev2").exists()


def workspace_of(folder: Path, files: dict[str, str]) -> TaskPaths:
    for path, text in files.items():
        (folder / "generate_code" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "generate_code" / path).write_text(text)
    return task_paths(str(folder))


def ledger_of(task: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (task / "logs" / "llm.jsonl").read_text().splitlines()]


def everything_in(folder: Path) -> dict[str, bytes]:
    """Every file of a task by its path; but for what a rewind that did not come to pass makes ready."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    named = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: data for name, data in named.items() if "rewinding/" not in name and ".copy/" not in name}
