"""What is the machine's fault is told as that: one line, exit 1, nothing lost. Settings that others may write are not read."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.base.errors import Paused, PhaseBug, StorageError
from pipeline.base.files import storage_error, telling_room
from pipeline.engine.attempt import call_guarded, failure_result
from pipeline.engine.phase import Phase
from tests.papers import Command


def end_in(error: str) -> subprocess.CompletedProcess[str]:
    """How a command ends that raises this: in a process of its own, because the boundary holds back signals for good."""
    lines = ("import sys", "from pipeline.cli.boundary import exit_code_of", f"def call(): raise {error}")
    program = "\n".join([*lines, "sys.exit(exit_code_of(call))"])
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "code", [errno.EMFILE, errno.EAGAIN, errno.EIO, pytest.param(errno.EPERM, marks=pytest.mark.slow)]
)
def test_what_the_machine_refuses_outside_of_a_phase_is_one_line(code: int) -> None:
    ended = end_in(f"OSError({code}, {os.strerror(code)!r}, '/a/place')")
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    word = f"{os.strerror(code)} ({errno.errorcode[code]}, <string>:3)"
    assert ended.stderr.startswith(f"pipeline: the machine failed: /a/place: {word}; finished work is kept")
    assert ended.stderr.endswith(" resume\n")


def test_a_bug_is_still_called_one() -> None:
    ended = end_in("KeyError('x')")
    assert ended.returncode == 70
    assert "a bug in the pipeline: KeyError" in ended.stderr


PHASE = Phase(number="07", name="toy", reads=(), writes=(), run=lambda inputs, ctx: {}, optional=True)


def test_what_the_machine_refuses_in_a_phase_is_no_bug_of_it() -> None:
    def run(code: int) -> None:
        raise OSError(code, os.strerror(code), "/a/place")

    _, error = call_guarded(PHASE, lambda: run(errno.EMFILE))
    assert isinstance(error, StorageError)
    assert str(error) == "cannot go on with /a/place: Too many open files (EMFILE)"
    _, error = call_guarded(PHASE, lambda: run(errno.ENOENT))
    assert isinstance(error, PhaseBug)


def test_a_full_disk_pauses_an_optional_phase_and_tells_the_bytes_that_are_needed(tmp_path: Path) -> None:
    full = storage_error("write", str(tmp_path / "file"), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    words = r"bytes and [0-9,]+ files are free in .*, and up to 1,234,567 bytes are needed"
    with pytest.raises(StorageError, match=words) as caught, telling_room(str(tmp_path / "not" / "there"), 1_234_567):
        raise full
    result = failure_result(PHASE, caught.value, "full", 1.0)
    assert (result.status, result.documents) == ("stopped", None)
    assert isinstance(result.error, Paused)
    assert str(result.error).endswith("are needed; free some room, and continue with: pipeline resume")
    broken = storage_error("read", "file", OSError(errno.EIO, os.strerror(errno.EIO)))
    assert failure_result(PHASE, broken, "full", 1.0).status == "degraded"


# Settings that are not the user's alone


@pytest.fixture
def command(tmp_path: Path) -> Command:
    command = Command(tmp_path)
    command.configure("mode: fast\n")
    return command


@pytest.mark.parametrize("which", ["the file", "the directory", "what a link leads to"])
def test_settings_that_everybody_may_write_are_refused_with_the_command_that_mends_it(
    which: str, command: Command, tmp_path: Path
) -> None:
    path = command.home / ".config" / "pipeline" / "config.yaml"
    place = path if which == "the file" else path.parent
    if which == "what a link leads to":
        place = tmp_path / "elsewhere.yaml"
        path.rename(place)
        path.symlink_to(place)
    place.chmod(place.stat().st_mode | 0o002)
    for words in (("run", "paper.md"), ("config",), ("list",)):
        ended = command(*words)
        assert ended.code == 2
        named = path.parent if which == "the directory" else path
        why = f"all users may write to {named}; type: chmod o-w {named}"
        assert ended.err == f"pipeline: the settings in {path} are not read: {why}\n"
    place.chmod(place.stat().st_mode & ~0o002)
    assert command("config").code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_settings_of_somebody_else_are_refused(command: Command) -> None:
    path = command.home / ".config" / "pipeline" / "config.yaml"
    os.chown(path, 12345, -1)
    ended = command("config")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"{path} belongs to another user (12345); type: chown 0 {path}" in ended.err


def test_a_settings_directory_of_everybody_is_refused_also_where_it_holds_no_settings_yet(command: Command) -> None:
    path = command.home / ".config" / "pipeline" / "config.yaml"
    path.unlink()
    path.parent.chmod(0o777)
    assert "type: chmod o-w" in command("list").err
