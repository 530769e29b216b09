"""Task directories that older code left: they show, resume and replay with the code of today, and nothing is asked again."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from tests.papers import Command, Ended
from tests.rows import with_covered

OLD = Path(__file__).parent / "old_tasks"
NAMES = sorted(path.name.partition(".")[0] for path in OLD.glob("*.tar.xz"))
TASKS = {name: "demo" if name == "demo" else "paper" for name in NAMES}
ENDED = {"demo": "completed", "finished": "incomplete", "full": "incomplete", "led": "completed", "waiting": "paused"}
_PATIENCE = 600
"""Seconds: the tests of the demo's code are long ones."""
needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")


class Old:
    """One old task in a directory of its own, with the home of its user."""

    def __init__(self, name: str, folder: Path) -> None:
        with tarfile.open(OLD / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        self.task, self.command = TASKS[name], Command(folder / name)
        self.recording = folder / name / "recording.jsonl"
        self.root = self.command.task(self.task)

    def resume(self, *more: str) -> Ended:
        """Goes on; the recorded replies have moved since, and another model for the plan would plan anew."""
        model = ["--code-model", f"replay:{self.recording}"] if self.recording.exists() else []
        with self.command.start("resume", self.task, *model, *more) as process:
            out, err = process.communicate(timeout=_PATIENCE)
        return Ended(process.returncode, out, err)

    def replies(self) -> list[str]:
        """Every reply in its journal."""
        rows = [json.loads(line) for line in (self.root / "journal.jsonl").read_text().splitlines()]
        return [json.dumps([row["key"], row["result"]["text"]]) for row in rows if row["kind"] == "reply"]

    def paid(self) -> int:
        """How many calls its ledger holds."""
        return len((self.root / "logs" / "llm.jsonl").read_text().splitlines())


def test_there_is_one_of_each_kind() -> None:
    assert NAMES == ["demo", "finished", "full", "killed", "led", "waiting"]


@pytest.mark.parametrize("name", with_covered(NAMES, "finished", "killed", "led"))
def test_an_old_task_is_shown(name: str, tmp_path: Path) -> None:
    old = Old(name, tmp_path)
    listed = old.command("list").out
    assert ENDED.get(name, "") in listed
    for words in (["status"], ["why"], ["check"], ["show"], ["logs"], ["cost"]):
        ended = old.command(words[0], old.task)
        assert ended.code in (0, 1), (words, ended.err)  # `check` tells of a task that was cut off by its code
        assert not ended.complaints or words == ["check"], ended.err
    assert old.command("show", old.task, "plan").code == 0
    if name != "waiting":
        assert old.command("show", old.task, "acceptance").code == 0


@needs_a_sandbox
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("demo", marks=pytest.mark.slow),
        "finished",
        pytest.param("full", marks=pytest.mark.slow),
        "led",
    ],
)
def test_an_old_task_that_ended_is_not_worked_on_again(name: str, tmp_path: Path) -> None:
    old = Old(name, tmp_path)
    before = {path: path.read_bytes() for path in (old.root / "generate_code").rglob("*") if path.is_file()}
    replies, paid = old.replies(), old.paid()
    report = json.loads((old.root / "report.json").read_text())
    more = ["--mirror", str(tmp_path / name / "mirror")] if name == "full" else []
    ended = old.command("resume", old.task, *more) if name != "full" else old.resume(*more)
    assert ended.code == report["exit_code"], ended.err
    assert old.replies() == replies
    assert old.paid() == paid
    assert {path: path.read_bytes() for path in before} == before
    assert json.loads((old.root / "report.json").read_text())["status"] == report["status"]


@pytest.mark.slow
@needs_a_sandbox
def test_an_old_task_that_was_killed_goes_on_to_its_end(tmp_path: Path) -> None:
    old = Old("killed", tmp_path)
    before = old.replies()
    ended = old.resume()
    assert ended.code == 0, ended.err
    assert "this work began under older rules" in ended.err
    assert old.replies()[: len(before)] == before
    # a busy machine leaves values untried, which is a warning
    assert json.loads((old.root / "report.json").read_text())["status"] in ("completed", "warning")


@pytest.mark.slow
@needs_a_sandbox
def test_an_old_plan_that_waits_is_approved_and_carried_out(tmp_path: Path) -> None:
    old = Old("waiting", tmp_path)
    plan = (old.root / "initial_plan.txt").read_bytes()
    assert old.command("review", old.task, "--approve").code == 0
    assert old.resume().code == 3
    assert (old.root / "initial_plan.txt").read_bytes() == plan


@needs_a_sandbox
def test_an_old_run_that_was_led_is_replayed_or_says_what_is_decided_otherwise(tmp_path: Path) -> None:
    old = Old("led", tmp_path)
    shutil.copytree(old.root, tmp_path / "copy")
    ended = old.command("supervisor", old.task, "--replay")
    assert ended.code == 0 or "rules" in ended.out + ended.err, ended.err
