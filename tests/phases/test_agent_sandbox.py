"""The sandbox, from the inside: what a command of the agent cannot do."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from phases.agent.sandbox import BUBBLEWRAP, LARGEST_OUTPUT, NONE, OFF, kind_of_sandbox, probe, run_command

FOUND = probe()
needs_a_sandbox = pytest.mark.skipif(not FOUND.usable, reason=f"no sandbox on this machine: {FOUND.detail}")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "task" / "generate_code").mkdir(parents=True)
    (tmp_path / "task" / "paper.md").write_text("the paper")
    return tmp_path / "task" / "generate_code"


def inside(command: str, workspace: Path, seconds: int = 60) -> tuple[int | None, str]:
    finished = run_command(command, str(workspace), BUBBLEWRAP, seconds=seconds)
    return finished.exit_code, finished.output


@needs_a_sandbox
def test_a_command_works_in_the_workspace_with_python(workspace: Path) -> None:
    code, output = inside("python -c 'print(6 * 7)' > made.txt && cat made.txt && pwd", workspace)
    assert (code, output.split()) == (0, ["42", str(workspace)])
    assert (workspace / "made.txt").read_text() == "42\n"


@needs_a_sandbox
@pytest.mark.parametrize("place", ["..", "../paper.md", "/usr/owned", "/etc/owned", "/owned", "{home}/owned"])
def test_a_command_cannot_write_outside(place: str, workspace: Path) -> None:
    target = place.format(home=os.path.expanduser("~"))
    inside(f"echo owned > {target}; rm -rf {target}; mkdir -p {target}/owned", workspace)
    assert (workspace.parent / "paper.md").read_text() == "the paper"
    assert sorted(path.name for path in workspace.parent.iterdir()) == ["generate_code", "paper.md"]
    assert not place.endswith("owned") or not os.path.lexists(target)


@needs_a_sandbox
def test_a_command_cannot_read_the_home_folder_nor_the_task(workspace: Path) -> None:
    home = os.path.expanduser("~")
    (workspace.parent.parent / "key").write_text("secret-4711")
    _, output = inside("exec 2>/dev/null; cat ../paper.md ../../key; ls -a .. ../..", workspace)
    for words in ("secret-4711", "the paper", "paper.md", "key\n"):
        assert words not in output
    _, output = inside(f"ls -A {home}", workspace)
    python = os.path.relpath(sys.base_prefix, home).partition("/")[0]  # a Python that lives at home must be seen
    assert {line for line in output.splitlines() if line in os.listdir(home)} <= {python}


@needs_a_sandbox
def test_a_command_does_not_see_the_environment(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-4711")
    code, output = inside("env; cat /proc/*/environ | tr '\\0' '\\n'", workspace)
    assert "HOME=/tmp" in output, (code, output)
    assert "4711" not in output


@needs_a_sandbox
def test_a_command_has_no_network(workspace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code, output = inside(
            f"python -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)'", workspace
        )
    assert code == 1
    assert "Error" in output


@needs_a_sandbox
def test_a_command_sees_no_process_of_the_host(workspace: Path) -> None:
    code, output = inside("ls /proc | grep -c '^[0-9]'; kill -9 -1", workspace)
    assert int(output.split()[0]) < 10, (code, output)


def running(mark: str) -> bool:
    """Whether a process of this machine has these words on its command line."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and mark.encode() in Path("/proc", name, "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


@needs_a_sandbox
def test_a_child_that_was_sent_to_the_background_is_gone_too(workspace: Path) -> None:
    mark = f"86400.{os.getpid()}"
    code, output = inside(
        f"setsid sleep {mark} >/dev/null 2>&1 & (setsid nohup sleep {mark} &) ; sleep 0.2; echo started", workspace
    )
    assert (code, "started" in output) == (0, True), output
    for _ in range(100):
        if not running(mark):
            return
        time.sleep(0.1)
    pytest.fail("a background child outlived its command")


@needs_a_sandbox
def test_a_command_that_takes_too_long_is_stopped_with_its_children(workspace: Path) -> None:
    mark = f"86401.{os.getpid()}"
    code, output = inside(f"setsid sleep {mark} & sleep {mark}", workspace, seconds=1)
    assert code is None
    assert "stopped after 1 s" in output
    for _ in range(100):
        if not running(mark):
            return
        time.sleep(0.1)
    pytest.fail("a child outlived the time limit")


@needs_a_sandbox
def test_what_a_command_prints_is_of_bounded_size(workspace: Path) -> None:
    code, output = inside("yes | head -c 3000000; echo the end", workspace)
    assert code == 0
    assert len(output) < LARGEST_OUTPUT + 100
    assert output.rstrip().endswith("the end")


@needs_a_sandbox
def test_a_file_of_a_command_is_of_bounded_size(workspace: Path) -> None:
    inside("truncate -s 8G big || true", workspace)
    big = workspace / "big"
    assert not big.exists() or big.stat().st_size <= 2**31


def test_without_a_sandbox_nothing_runs_unless_the_user_says_so(workspace: Path) -> None:
    refused = run_command("touch ran", str(workspace), NONE)
    assert (refused.exit_code, "--unsandboxed" in refused.output) == (None, True)
    assert not (workspace / "ran").exists()
    assert run_command("touch ran", str(workspace), OFF).exit_code == 0
    assert (workspace / "ran").exists()
    assert kind_of_sandbox("off") == OFF
    assert kind_of_sandbox("required") == (BUBBLEWRAP if FOUND.usable else NONE)
