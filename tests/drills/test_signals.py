"""Drill 21: whoever stops a run, and how often, leaves no process behind and a task that goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.drills import scenes
from tests.drills.aftermath import Reference, at_each, last_words, reference_on
from tests.drills.faults import Call, call_with, stopped_at_its_first_child
from tests.drills.ground import Ended, Ground, held, let_go, until
from tests.drills.points import Share, shares
from tests.drills.trees import differences, tree_of
from tests.papers import ROOT

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
EACH_SIGNAL = pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)


@EACH_SIGNAL
def test_a_stopped_run_says_so_and_goes_on_later(tmp_path: Path, number: signal.Signals) -> None:
    ground = scenes.waiting(tmp_path)
    with held(ground) as process:
        process.send_signal(number)
        ended = ground.wait(process)
    ended.assert_failed("interrupted")
    assert ended.code == SIGNALS[number]
    report = json.loads((ground.task / "report.json").read_bytes())
    assert (report["status"], report["exit_code"]) == ("cancelled", SIGNALS[number])
    assert "paper" in ground.call("list").out
    assert "cancelled" in ground.call("list").out
    _assert_goes_on(ground)


@EACH_SIGNAL
@pytest.mark.parametrize("side_by_side", [False, True], ids=["alone", "side by side"])
def test_a_stopped_run_leaves_no_process_behind(tmp_path: Path, number: signal.Signals, side_by_side: bool) -> None:
    ground = scenes.commanding(tmp_path, side_by_side=side_by_side)
    with held(ground) as process:
        signs = [ground.base / "signs" / f"toy{index:02}.pid" for index in ((1, 2) if side_by_side else (1,))]
        until(lambda: all(sign.exists() and sign.read_text().strip() for sign in signs), "the commands run")
        children = [int(sign.read_text()) for sign in signs]
        assert all(map(_alive, children))
        process.send_signal(number)
        assert ground.wait(process).code == SIGNALS[number]
    try:
        until(lambda: not any(map(_alive, children)), "the commands are gone", patience=5)
    finally:
        for child in filter(_alive, children):
            os.kill(child, signal.SIGKILL)
    _assert_goes_on(ground)


def test_a_run_that_is_stopped_while_it_starts_a_command_leaves_no_process_behind(tmp_path: Path) -> None:
    ground = scenes.commanding(tmp_path, side_by_side=False)
    process = ground.start(before=stopped_at_its_first_child(ground))
    sign = ground.base / "signs" / "toy01.pid"
    try:
        until(lambda: process.poll() is not None or sign.exists(), "the run is stopped or its command runs")
        until(lambda: process.poll() is not None, "the run is stopped", patience=10)
        assert process.returncode == 143
        until(lambda: not sign.exists() or not _alive(int(sign.read_text() or 0)), "the command is gone", patience=2)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        for child in (int(path.read_text() or 0) for path in [sign] if path.exists()):
            if _alive(child):
                os.kill(child, signal.SIGKILL)


def test_a_run_that_is_told_twice_to_stop_stops_and_goes_on_later(tmp_path: Path) -> None:
    ground = scenes.waiting(tmp_path)
    with held(ground) as process:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        ended = ground.wait(process)
    assert ended.code in (130, -signal.SIGINT)
    assert "Traceback" not in ended.err
    _assert_goes_on(ground)


def test_a_run_that_is_stopped_and_continued_ends_well(tmp_path: Path) -> None:
    ground = scenes.waiting(tmp_path)
    with held(ground) as process:
        process.send_signal(signal.SIGSTOP)
        ground.call("resume", "paper").assert_failed(f"process {process.pid} on")
        process.send_signal(signal.SIGCONT)
        let_go(ground)
        assert ground.wait(process).code == 0


def test_a_run_whose_terminal_goes_away_is_finished_under_nohup(tmp_path: Path) -> None:
    ground = scenes.waiting(tmp_path)
    ignoring = ("/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    with held(ground, before=ignoring) as process:
        process.send_signal(signal.SIGHUP)
        let_go(ground)
        assert ground.wait(process).code == 0


def test_a_run_whose_reader_goes_away_still_ends_in_order(tmp_path: Path) -> None:
    ground = scenes.waiting(tmp_path)
    with held(ground) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stderr.close()
        let_go(ground)
        until(lambda: process.poll() is not None, "the run ends")
        process.stdout = process.stderr = None
    assert json.loads((ground.task / "report.json").read_bytes())["status"] in ("completed", "error")
    assert "running now" not in ground.call("status", "paper").out
    _assert_goes_on(ground)


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference_on(scenes.chain(tmp_path_factory.mktemp("toys")))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference_on(scenes.paper(tmp_path_factory.mktemp("alone"), tools=False))


@pytest.mark.slow
@shares(16, few=20)
@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_a_run_that_is_stopped_at_any_system_call_goes_on_to_the_same_tree(
    toys: Reference, name: str, share: Share
) -> None:
    at_each(toys, share.of(toys.calls()), lambda call: _stopped_at(toys, call, name))


@pytest.mark.slow
@shares(120, few=12)
def test_a_fast_run_that_is_stopped_at_any_system_call_goes_on_to_the_same_tree(alone: Reference, share: Share) -> None:
    at_each(alone, share.of(alone.calls()), lambda call: _stopped_at(alone, call, "TERM"))


def _stopped_at(reference: Reference, call: Call, name: str) -> list[str]:
    code = SIGNALS[signal.Signals[f"SIG{name}"]]
    ended = call_with(reference.ground, f"signal={name}", call)
    problems = []
    if ended.code not in (code, reference.code):
        problems.append(f"it ends with {ended.code}: {last_words(ended)}")
    elif "Traceback" in ended.err:
        problems.append(f"a traceback is printed: {last_words(ended)}")
    elif ended.code == code and not _told(ended):
        problems.append(f"it does not say that it was stopped: {last_words(ended)}")
    elif ended.code == reference.code:
        problems += [f"it ends as if it was not stopped, and {told}" for told in _missing(reference)]
    return problems + reference.problems_afterwards()


def _told(ended: Ended) -> bool:
    return len(ended.complaints) == 1 and "interrupted" in ended.complaints[0]


def _missing(reference: Reference) -> list[str]:
    return differences(tree_of(reference.ground), reference.tree)


def _assert_goes_on(ground: Ground) -> None:
    let_go(ground)
    ended = ground.call("resume", "paper")
    assert ended.code == 0, last_words(ended)
    assert ground.call("check", "paper").code == 0


def _alive(pid: int) -> bool:
    """Whether a process is there, and more than a remnant that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("ignored", ["INT", "HUP", "INT HUP"])
def test_these_tests_may_be_run_under_nohup_and_in_the_background_of_a_script(ignored: str) -> None:
    started = "print(subprocess.run(['cat', '/proc/self/status'], capture_output=True, text=True).stdout)"
    words = [sys.executable, "-c", f"import subprocess, tests.conftest; {started}"]
    sh = ["/bin/sh", "-c", f'trap "" {ignored}; exec "$@"', "sh", *words]
    told = subprocess.run(sh, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ignores = next((line for line in told.splitlines() if line.startswith("SigIgn:")), "")
    if not ignores:
        pytest.skip("no /proc to read from which signals a process ignores")
    mask = int(ignores.split()[1], 16)
    assert not mask & (1 << signal.SIGINT - 1 | 1 << signal.SIGHUP - 1)
