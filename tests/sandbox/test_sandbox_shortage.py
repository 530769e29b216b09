"""A machine that is short of room, inodes or descriptors stops a run; it never turns the sandbox off."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, Box
from phases.sandbox.commands import run_command
from phases.sandbox.probe import describe_sandbox, probe_best, probe_kind
from phases.sandbox.scratch import scratch_directory
from pipeline.base.errors import StorageError
from tests.drills.faults import small_disk
from tests.papers import Command, command_line, paper

ONE_PAGE, TOO_FEW_NAMES, TOO_FEW_INSIDE = "size=4k", "nr_inodes=4", "nr_inodes=6"
"""Of a tmpfs: room for one of two files; names for the first of them; names for both, and none for the probe's own file."""
RUN = ("run", "--fast", "paper.md", "--until", "environment")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    paper(tmp_path)
    return Command(tmp_path, LC_ALL="C.UTF-8")  # so that each call starts a process: a fork has tried the sandbox out


def recorded(command: Command) -> object:
    return command.document("paper", "environment.json")["tools"]["sandbox"]


def usable() -> object:
    found = probe_best()
    return found.detail if found.usable else None


@pytest.mark.parametrize("options", [ONE_PAGE, TOO_FEW_NAMES, TOO_FEW_INSIDE])
def test_no_room_for_temporary_files_stops_the_run_and_the_next_one_finds_the_sandbox(
    options: str, command: Command, tmp_path: Path
) -> None:
    full = tmp_path / "full"
    with small_disk(full, options):
        ended = command(*RUN, TMPDIR=str(full))
        reported = command.document("paper", "report.json")
    assert (ended.code, reported["status"]) == (1, "error")
    lines = [line for line in ended.err.splitlines() if line.startswith("pipeline: ")]
    assert [line.startswith(f"pipeline: cannot try the sandbox out in {full}") for line in lines] == [True]
    assert lines[0].endswith(": No space left on device (ENOSPC)")
    assert not (command.task("paper") / "environment.json").exists()
    assert command("resume", "paper", "--until", "environment").code == 0
    assert recorded(command) == usable()


def test_too_few_descriptors_stop_the_run_or_leave_the_sandbox_as_it_is(command: Command, tmp_path: Path) -> None:
    codes = []
    for most in (10, 13, 400):
        limited = ["sh", "-c", f'ulimit -n {most}; exec "$@"', "sh", *command_line(*RUN)]
        ended = subprocess.run(
            limited, cwd=tmp_path, env=command.environment, capture_output=True, text=True, check=False
        )
        codes.append(ended.returncode)
        if ended.returncode:
            assert "Too many open files (EMFILE)\n" in ended.stderr
            assert not (command.task("paper") / "environment.json").exists()
    assert (codes[0], codes[-1]) == (1, 0)
    assert recorded(command) == usable()


@pytest.mark.parametrize("options", [TOO_FEW_NAMES, "nr_inodes=1"])
def test_a_command_that_cannot_be_started_for_want_of_room_is_not_reported_as_its_own_failure(
    options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not probe_kind(LANDLOCK).usable:
        pytest.skip(probe_kind(LANDLOCK).detail)
    (tmp_path / "workspace").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "full"))
    words = r"cannot start a command in .*/full/.*: No space left on device"
    with small_disk(tmp_path / "full", options), pytest.raises(StorageError, match=words):
        run_command(Box(str(tmp_path / "workspace"), LANDLOCK), "true")


def test_where_no_directory_takes_a_temporary_file_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "full")])
    words = pytest.raises(StorageError, match="set TMPDIR")
    with small_disk(tmp_path / "full", "nr_inodes=1"), words as caught, scratch_directory():
        pass
    assert str(caught.value).startswith("no directory takes a temporary file; free some room")


def test_doctor_reports_a_machine_without_room_beside_all_else(command: Command, tmp_path: Path) -> None:
    with small_disk(tmp_path / "full", TOO_FEW_NAMES):
        ended = command("doctor", TMPDIR=str(tmp_path / "full"))
    assert ended.code == 1
    assert f"missing  sandbox        cannot try the sandbox out in {tmp_path}/full" in ended.out
    assert "task directory" in ended.out


def test_a_sandbox_that_cannot_be_tried_out_is_unknown_and_not_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise StorageError("cannot try the sandbox out in /tmp: No space left on device (ENOSPC)")

    monkeypatch.setattr("phases.sandbox.probe.probe_kind", fail)
    assert describe_sandbox() == "unknown: cannot try the sandbox out in /tmp: No space left on device (ENOSPC)"


def test_phase_00_runs_again_where_another_sandbox_holds_and_why_names_both(command: Command, tmp_path: Path) -> None:
    best, weaker = probe_kind(BUBBLEWRAP), probe_kind(LANDLOCK)
    if not (best.usable and weaker.usable):
        pytest.skip(f"two kinds of sandbox are needed: {best.detail}; {weaker.detail}")
    names = tmp_path / "names"
    names.mkdir()
    without = {"PATH": str(names)}
    assert command(*RUN).code == 0
    assert "00 environment" not in command("why", "paper").out
    change = f"00 environment would run: usable_sandbox changed from {best.detail} to {weaker.detail}"
    assert change in " ".join(command("why", "paper", **without).out.split())
    for environment, expected in ((without, weaker.detail), ({}, best.detail)):
        assert command("resume", "paper", "--until", "environment", **environment).code == 0
        assert recorded(command) == expected
        assert command("why", "paper", **environment).out.startswith("01 intake")
    assert command.attempts("paper")["environment"] == 3
