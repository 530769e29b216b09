"""Runs under supervision, killed: one that is led out of a loop and one that cannot be helped end as if nobody had killed
them, taken over once, and told so once."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from phases.supervision.enums import DeviationSignal
from tests.drills import scenes
from tests.drills.aftermath import at_each, last_words
from tests.drills.faults import launched
from tests.drills.ground import Ended, Ground, until
from tests.drills.looping import LED, LOST, RIGHT, STOPS_AT, looping
from tests.drills.points import Share, sample, seed, shares
from tests.drills.test_agent_kill import Undisturbed, processes_of, settled_tree
from tests.drills.trees import differences, half_written

pytestmark = pytest.mark.slow

PAUSED = 5
POINTS = 48
"""Of the audited events of a takeover, which are hundreds: so many are all."""
_LOG = "kernel/supervisor-events.jsonl"
_SIGNALS = {signal.value for signal in DeviationSignal}


@dataclass(frozen=True)
class Led:
    """A run that was taken over, and that nobody killed."""

    undisturbed: Undisturbed
    ended: Ended
    takeover: range
    """The audited events from the takeover to its end."""

    @property
    def code(self) -> int:
        return self.ended.code


@pytest.fixture(scope="module")
def led(tmp_path_factory: pytest.TempPathFactory) -> Led:
    """It ends accepted; the takeover ends when the work is handed back."""
    return _led(looping(tmp_path_factory.mktemp("led"), LED), 0)


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Led:
    """It is stopped; the takeover ends with it."""
    return _led(looping(tmp_path_factory.mktemp("lost"), LOST), PAUSED)


# undisturbed


def test_a_healthy_run_is_told_nothing_kept_from_nothing_and_never_taken_over(tmp_path: Path) -> None:
    ground = scenes.recorded(tmp_path)
    ended = ground.call()
    assert ended.code == 0, last_words(ended)
    report = _report(ground)
    assert report["interventions"] == {"hints": 0, "blocks": 0, "takeovers": 0}
    assert report["modeRounds"] == {"free": report["rounds"], "forced": 0}
    assert report["stopReason"] == "model_done"
    assert not (ground.task / _LOG).exists()
    assert not (ground.task / "kernel" / "task-graph.json").exists()


def test_a_loop_is_taken_over_with_a_graph_of_what_stands_there_and_handed_back_once_it_is_mended(led: Led) -> None:
    tree = led.undisturbed.tree
    report = tree["work/tasks/paper/kernel-report.json"]
    assert (report["takeovers"], report["handoffs"], report["stopReason"]) == (1, 1, "model_done")
    assert tree["work/tasks/paper/generate_code/decay.py"] == RIGHT
    lines = tree[f"work/tasks/paper/{_LOG}"]
    (takeover,) = _takeovers(lines)
    made = [f"{line['event']} {line['reason']}" for line in lines[lines.index(takeover) + 1 :]]
    assert [line for line in made if line.startswith(("recover", "handoff"))] == [
        "recover template_graph:2/5",
        "handoff handoff_pending",
        "handoff handoff",
        "handoff cooldown_over",
    ]
    graph = json.loads((led.undisturbed.ground.base / "kept" / "paper" / "kernel" / "task-graph.json").read_bytes())
    steps = {node["type"]: node for node in graph["nodes"].values()}
    assert [steps[name]["status"] for name in ("inspect", "search", "edit", "verify")] == ["done"] * 4
    (snapshot,) = [path for path in tree if "/kernel/snapshots/" in path and path.endswith(".json")]
    found = json.loads(tree[snapshot])
    assert found["testSummary"] == "failed"
    assert set(found["filesAdded"]) >= {"config.py", "data.py", "decay.py", "tests/test_decay.py"}


def test_a_run_that_never_recovers_is_stopped_with_its_code_kept_and_every_resume_lets_it_try_anew(lost: Led) -> None:
    ground, tree = lost.undisturbed.ground, lost.undisturbed.tree
    report = tree["work/tasks/paper/kernel-report.json"]
    assert (report["stopReason"], report["takeovers"], report["handoffs"]) == ("user_checkpoint", 1, 0)
    assert report["rounds"] == STOPS_AT
    assert "attempt = " in tree["work/tasks/paper/generate_code/decay.py"]
    assert "supervision stopped the run: the supervisor led for" in lost.ended.err
    assert "pipeline resume paper" in lost.ended.err
    ground.fresh()
    shutil.copytree(ground.base / "kept", ground.tasks, symlinks=True)
    rounds = [STOPS_AT]
    while (again := ground.call("resume", "paper")).code == PAUSED:
        rounds.append(_report(ground)["rounds"])
        assert rounds[-1] > rounds[-2] + 5, f"the stops came after the rounds {rounds}"
        assert "attempt = " in (ground.task / "generate_code" / "decay.py").read_text()
    assert len(rounds) > 1, "it was not stopped again"
    assert again.code == 0, last_words(again)
    assert (ground.task / "generate_code" / "decay.py").read_text() == RIGHT
    assert _report(ground)["stopReason"] == "model_done"
    assert [line["reason"] for line in _lines(ground)].count("checkpoint_resumed") == len(rounds)


# killed


@shares(12, few=3)
def test_a_run_killed_while_it_is_led_is_led_to_the_same_end(led: Led, share: Share) -> None:
    at_each(led.undisturbed, share.of(sample(led.takeover, POINTS)), lambda nth: _killed_at(led, [nth]))


@shares(12, few=3)
def test_a_run_that_cannot_be_helped_is_stopped_in_the_same_round_though_it_was_killed_before(
    lost: Led, share: Share
) -> None:
    at_each(lost.undisturbed, share.of(sample(lost.takeover, POINTS)), lambda nth: _killed_at(lost, [nth]))


@pytest.mark.parametrize("scene", ["led", "lost"])
@shares(3, few=1)
def test_a_run_killed_again_and_again_while_it_is_led_ends_the_same(
    scene: str, share: Share, request: pytest.FixtureRequest
) -> None:
    """The events after a resume are fewer, so a later kill may come after the takeover, or not at all."""
    whole: Led = request.getfixturevalue(scene)
    chance = random.Random(seed())
    first = [chance.choice(whole.takeover) for _ in range(9)]
    rounds = [[nth, *(chance.randint(200, 700) for _ in range(2))] for nth in first]
    at_each(whole.undisturbed, share.of(rounds), lambda points: _killed_at(whole, points))


@pytest.mark.parametrize("scene", ["led", "lost"])
@shares(2, few=2)
def test_a_run_killed_with_all_its_group_at_random_times_of_its_takeover_ends_the_same(
    scene: str, share: Share, request: pytest.FixtureRequest
) -> None:
    """By the clock, from the moment at which the event log is there: a command may be at work."""
    whole: Led = request.getfixturevalue(scene)
    chance = random.Random(seed())
    waits = [round(chance.uniform(0.0, 0.6), 3) for _ in range(8)]
    at_each(whole.undisturbed, share.of(waits), lambda wait: _killed_after(whole, wait))


def _killed_at(whole: Led, points: Sequence[int]) -> list[str]:
    ground = whole.undisturbed.ground
    found = []
    for number, nth in enumerate(points):
        ended = launched(ground, nth)
        if ended.code != 137 and (number == 0 or ended.code != whole.code):
            found.append(f"killed, it ends with {ended.code}: {last_words(ended)}")
        if ended.code == PAUSED:  # stopped: to go on is another drill
            return found + _problems_at_the_end(whole, ended)
        if _is_stopped(ground):
            return found + half_written(ground)
    return found + _problems_afterwards(whole)


def _killed_after(whole: Led, seconds: float) -> list[str]:
    ground = whole.undisturbed.ground
    process = ground.start()
    until(lambda: (ground.task / _LOG).exists() or process.poll() is not None, "the supervisor takes over")
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    if process.returncode == PAUSED:
        return _problems_at_the_end(whole, Ended(PAUSED, out, err))
    return _problems_afterwards(whole)


def _problems_afterwards(whole: Led) -> list[str]:
    """After kills: what is half written, and what is not as it should be once the run went on.

    Once a stop is on record the next start goes on after it, as another test says: there is no more to compare.
    """
    ground = whole.undisturbed.ground
    found = half_written(ground)
    return found if _is_stopped(ground) else found + _problems_at_the_end(whole, ground.call())


def _is_stopped(ground: Ground) -> bool:
    path = ground.task / "journal.jsonl"
    return path.exists() and path.read_bytes().rpartition(b'{"kind": "')[2].startswith(b"stop")


def _problems_at_the_end(whole: Led, ended: Ended) -> list[str]:
    """The whole tree is the undisturbed one: the code, the requests (their digests are in the journal), the phases that the
    supervisor went through, what it told.
    """
    ground = whole.undisturbed.ground
    if ended.code != whole.code or "Traceback" in ended.err:
        return [f"going on ends with {ended.code}, and not with {whole.code}: {last_words(ended)}"]
    # What a command began with is cleared away when the work ends, or when the next one begins; a pause is neither.
    found = [
        line for line in differences(settled_tree(ground), whole.undisturbed.tree) if "/before_command/" not in line
    ]
    told = [line["round"] for line in _takeovers(_lines(ground))]
    if len(told) != 1:
        found.append(f"the takeover was told in the rounds {told}")
    numbers = [line["seq"] for line in _lines(ground)]
    if numbers != list(range(1, len(numbers) + 1)):
        found.append(f"the event log has the lines {numbers}")
    until(lambda: not processes_of(ground.base), "every process of the killed run is gone", patience=20)
    return found


# what is looked at


def _led(ground: Ground, code: int) -> Led:
    """Runs it once, and keeps a copy. The takeover lasts from where its snapshot is recorded to its handoff or its stop."""
    ended = launched(ground, 0)
    assert ended.code == code, last_words(ended)
    shutil.copytree(ground.tasks, ground.base / "kept", symlinks=True)
    tree = settled_tree(ground)
    events = (ground.base / "events").read_text().splitlines()
    notes = [nth for nth, event in enumerate(events, 1) if event.startswith("open") and _LOG in event]
    lines = _lines(ground)
    turns = sorted({line["turn"] for line in lines})
    assert len(notes) == len(turns), "the log is opened once for each turn that it tells of"
    last = next((line["turn"] for line in lines if line["reason"] == "handoff"), turns[-1])
    at = dict(zip(turns, notes, strict=True))
    takeover = range(at[_takeovers(lines)[0]["turn"]] - 3, at[last] + 1)
    return Led(Undisturbed(ground, tree, len(events)), ended, takeover)


def _takeovers(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of the event log that say by which signal a takeover began."""
    return [line for line in lines if line["event"] == "recover" and line["reason"].partition(":")[0] in _SIGNALS]


def _report(ground: Ground) -> Any:
    return json.loads((ground.task / "kernel-report.json").read_bytes())


def _lines(ground: Ground) -> list[dict[str, Any]]:
    path = ground.task / _LOG
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
