"""Drills 1, 2, 23 and 86: an agent that is killed at any point goes on to the very end of one that nobody killed, and asks
nobody anything twice whose answer is on the disk."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from phases.sandbox.commands import kind_of_sandbox
from tests.drills import scenes
from tests.drills.aftermath import at_each, last_words
from tests.drills.faults import Call, call_with, calls_of, launched, need_strace
from tests.drills.ground import Ground, until
from tests.drills.points import Share, sample, seed, shares
from tests.drills.trees import differences, half_written, tree_of
from tests.llm_server import Answer, LlmServer, Raw, Says, openai_chunks

pytestmark = pytest.mark.slow

if kind_of_sandbox("required") == "none":
    pytest.skip("no sandbox on this machine, so the recorded commands do not run", allow_module_level=True)

KILLED = -9
POINTS = 200
"""Of the audited events of a run, which are thousands: so many are all."""
_JOURNALS = ("plan_journal.jsonl", "journal.jsonl")
_CLOCKS = ("at", "seconds")
_SCRATCH = "pipeline-sandbox-"


@dataclass(frozen=True)
class Undisturbed:
    """A ground, and what a run on it makes that nobody kills."""

    ground: Ground
    tree: dict[str, Any]
    events: int
    """The audited events of such a run."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed_on(scenes.recorded(tmp_path_factory.mktemp("recorded")))


@pytest.fixture(scope="module")
def by_rules_alone(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Without bubblewrap: Landlock, and a supervisor that must die with the run."""
    return undisturbed_on(scenes.recorded(tmp_path_factory.mktemp("rules"), tools=False))


# a recording


@shares(24, few=6)
def test_an_agent_killed_at_a_random_audited_event_ends_as_if_it_had_not_been(
    recorded: Undisturbed, share: Share
) -> None:
    points = share.of(sample(range(1, recorded.events + 1), POINTS))
    at_each(recorded, points, lambda nth: gone_at(recorded, nth))


@shares(6, few=4)
def test_an_agent_without_bubblewrap_killed_at_a_random_audited_event_ends_as_if_it_had_not_been(
    by_rules_alone: Undisturbed, share: Share
) -> None:
    points = share.of(sample(range(1, by_rules_alone.events + 1), 48))
    at_each(by_rules_alone, points, lambda nth: gone_at(by_rules_alone, nth))


@shares(10, few=4)
def test_an_agent_killed_at_a_random_system_call_ends_as_if_it_had_not_been(
    recorded: Undisturbed, share: Share
) -> None:
    need_strace()
    recorded.ground.fresh()
    points = share.of(sample(calls_of(recorded.ground), 60))
    came = []

    def drill(call: Call) -> list[str]:
        ended = call_with(recorded.ground, "signal=KILL", call)
        came.append(ended.code == KILLED)
        told = [] if ended.code in (KILLED, 0) else [f"killed, it ends with {ended.code}: {last_words(ended)}"]
        return told + problems_afterwards(recorded)

    at_each(recorded, points, drill)
    # Which files a copy of the workspace looks at twice hangs on their age, so the last calls of a name may not come again.
    assert came.count(True) >= len(points) - 2


@shares(8, few=2)
def test_an_agent_killed_again_and_again_at_audited_events_ends_as_if_it_had_not_been(
    recorded: Undisturbed, share: Share
) -> None:
    chance = random.Random(seed())
    rounds = [[chance.randint(1, recorded.events // 2) for _ in range(chance.randint(2, 5))] for _ in range(24)]

    def drill(points: Sequence[int]) -> list[str]:
        ends = [launched(recorded.ground, nth) for nth in points]
        odd = [f"it ends with {ended.code}: {last_words(ended)}" for ended in ends if ended.code not in (0, 137)]
        return odd + problems_afterwards(recorded)

    at_each(recorded, share.of(rounds), drill)


@shares(12, few=2)
def test_an_agent_killed_at_random_times_with_all_its_group_ends_as_if_it_had_not_been(
    recorded: Undisturbed, share: Share
) -> None:
    """By the clock: what the audited events and the system calls of one process cannot name, like a command at work."""
    chance = random.Random(seed())
    times = [[round(chance.uniform(0.1, 2.5), 3) for _ in range(chance.randint(1, 4))] for _ in range(48)]

    def drill(waits: Sequence[float]) -> list[str]:
        for wait in waits:
            _killed_after(recorded.ground, wait)
        return problems_afterwards(recorded)

    at_each(recorded, share.of(times), drill)


def test_an_agent_killed_while_its_command_runs_leaves_no_process_and_its_command_is_run_once(
    recorded: Undisturbed,
) -> None:
    """The log that the command adds a line to has that line once."""
    log = recorded.ground.task / "generate_code" / "log.txt"
    recorded.ground.fresh()
    process = recorded.ground.start()
    until(lambda: log.exists() or process.poll() is not None, "the command has written")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert problems_afterwards(recorded) == []
    assert log.read_text() == "one\ntwo\n"


@pytest.mark.parametrize("scene", ["recorded", "by_rules_alone"])
def test_a_killed_run_leaves_no_folder_of_the_sandbox_after_the_next_start(
    scene: str, request: pytest.FixtureRequest
) -> None:
    """Killed where such a folder is made, and while it is in use."""
    undisturbed: Undisturbed = request.getfixturevalue(scene)
    ground = undisturbed.ground
    ground.fresh()
    launched(ground, 0)
    events = (ground.base / "events").read_text().splitlines()
    points = [nth for nth, event in enumerate(events, 1) if _SCRATCH in event]
    assert points

    def drill(nth: int) -> list[str]:
        launched(ground, nth)
        ground.wait(ground.start())  # a fork of a process that has looked for such folders does not look again
        return [f"{path} is left over" for path in ground.temporary.iterdir()]

    at_each(undisturbed, sample(points, 3), drill)


def gone_at(undisturbed: Undisturbed, nth: int) -> list[str]:
    """Killed at an audited event, what is not as it should be afterwards."""
    ended = launched(undisturbed.ground, nth)
    told = [] if ended.code == 137 else [f"killed, it ends with {ended.code}: {last_words(ended)}"]
    return told + problems_afterwards(undisturbed)


def _killed_after(ground: Ground, seconds: float) -> None:
    process = ground.start()
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


# a server


class Killer:
    """The script of a server that kills who asks: at these requests (from 0), before, amid or after the answer."""

    def __init__(self, kills: dict[int, str]) -> None:
        self.voice, self.kills, self.group = scenes.Voice(), kills, 0

    def __call__(self, body: dict[str, Any]) -> Answer:
        kill = self.kills.get(len(self.voice.asked), "")
        answer = self.voice(body)
        assert isinstance(answer, Says)
        pieces = list(openai_chunks(answer))
        return Raw(lambda: self._streamed(pieces, kill))

    def _streamed(self, pieces: Sequence[bytes], kill: str) -> Iterator[bytes]:
        at = {"before": 0, "amid": len(pieces) // 2, "after": len(pieces)}.get(kill, -1)
        for place, piece in enumerate([*pieces, b""]):
            if place == at:
                os.killpg(self.group, signal.SIGKILL)
            yield piece


MOMENTS = ("before", "amid", "after")
POINTS_OF_THE_SERVER = [(request, moment) for request in range(len(scenes.SERVED)) for moment in MOMENTS]


@shares(16, few=3)
def test_a_killed_agent_asks_a_server_nothing_again_but_what_was_never_answered(share: Share, tmp_path: Path) -> None:
    """All points in one run, in their order: each kill shifts the count of the requests by one at most."""
    points = share.of(POINTS_OF_THE_SERVER)
    assert killed_by_the_server(tmp_path, Killer(dict(points))) == [], points


@shares(8, few=2)
def test_an_agent_killed_at_audited_events_asks_a_server_nothing_again(share: Share, tmp_path: Path) -> None:
    chance = random.Random(seed())
    rounds = [[chance.randint(1, 1100) for _ in range(chance.randint(1, 3))] for _ in range(32)]
    for number, points in enumerate(share.of(rounds)):
        assert killed_at_events(tmp_path / str(number), points) == [], points


def killed_at_events(folder: Path, points: Sequence[int]) -> list[str]:
    """Runs until the end is reached, killed at an audited event each time but the last; tells what is not as it should be."""
    pytest.importorskip("openai", reason="the openai package is not installed")
    voice, found = scenes.Voice(), []
    with LlmServer(voice) as server:
        ground = scenes.modelled(folder, "--model", "compatible:x", "--base-url", server.base_url)
        for nth in [*points, 0]:
            before, on_disk = len(voice.asked), _replies_on_disk(ground)
            code = launched(ground, nth).code
            if code not in (0, 137):
                found.append(f"it ends with {code}")
            if len(voice.asked) > before and voice.asked[before] != on_disk:
                found.append(f"{on_disk} answers are on the disk, and it asks for answer {voice.asked[before] + 1}")
    return found + _all_said(ground, voice, len(points)) + _left_over(ground)


def killed_by_the_server(folder: Path, killer: Killer) -> list[str]:
    """Runs until the end is reached, with a server that kills; tells what is not as it should be."""
    pytest.importorskip("openai", reason="the openai package is not installed")
    found, voice = list[str](), killer.voice
    with LlmServer(killer) as server:
        ground = scenes.modelled(folder, "--model", "compatible:x", "--base-url", server.base_url)

        def once() -> int:
            process = ground.start()
            killer.group = process.pid
            return ground.wait(process).code

        code, kills = KILLED, -1
        while code == KILLED and kills < len(killer.kills):
            before = len(voice.asked)
            on_disk = _replies_on_disk(ground)
            code, kills = once(), kills + 1
            if len(voice.asked) > before and voice.asked[before] != on_disk:
                found.append(f"{on_disk} answers are on the disk, and it asks for answer {voice.asked[before] + 1}")
        if code != 0 or kills != len(killer.kills):
            found.append(f"it ends with {code} after {kills} of {len(killer.kills)} kills")
        found += _all_said(ground, voice, kills)
        found += _left_over(ground)
    return found


def _all_said(ground: Ground, voice: scenes.Voice, kills: int) -> list[str]:
    """What is wrong with the requests as a whole, and with what became of the answers."""
    times = Counter(voice.asked)
    if not (ground.task / "generate_code" / "log.txt").exists():
        return ["nothing was done"]
    again = sum(times.values()) - len(times)
    found = [] if again <= kills else [f"{again} requests were asked again, and there were {kills} kills"]
    if sorted(times) != list(range(len(scenes.SERVED))):
        found.append(f"it asked for the answers {sorted(times)}, and there are {len(scenes.SERVED)}")
    code = {path: (ground.task / "generate_code" / path).read_text() for path in ("log.txt", "decay.py")}
    if code["log.txt"] != "one\ntwo\n" or "BETA * weight" not in code["decay.py"]:
        found.append(f"the code is another: {code}")
    return found + ledger_faults(ground, scenes.SERVED)


def _replies_on_disk(ground: Ground) -> int:
    """How many answers the journals hold. A last line without its end is not one."""
    files = [*(ground.task / name for name in _JOURNALS), *(ground.task / "explorations").glob("*.jsonl")]
    lines = [line for path in files if path.exists() for line in path.read_bytes().split(b"\n")[:-1]]
    return sum(json.loads(line)["kind"] == "reply" for line in lines)


# what is compared


def undisturbed_on(ground: Ground) -> Undisturbed:
    """Two runs, which must leave the same; the second counts its events."""
    first = ground.call()
    assert first.code == 0, last_words(first)
    tree = settled_tree(ground)
    ground.fresh()
    launched(ground, 0)
    assert differences(settled_tree(ground), tree) == []
    assert ledger_faults(ground) == []
    return Undisturbed(ground, tree, len((ground.base / "events").read_text().splitlines()))


def problems_afterwards(undisturbed: Undisturbed) -> list[str]:
    """After kills: nothing is half written, nothing is left, and going on ends in the same tree and the same calls."""
    ground = undisturbed.ground
    found = [*half_written(ground), *_alive(ground)]
    ended = ground.call()
    if ended.code != 0 or "Traceback" in ended.err:
        return [*found, f"going on ends with {ended.code}: {last_words(ended)}"]
    found += differences(settled_tree(ground), undisturbed.tree)
    return found + ledger_faults(ground) + _left_over(ground)


def settled_tree(ground: Ground) -> dict[str, Any]:
    """The tree of a run, without what depends on the clock or the disk in the ledger and in the copy of the workspace."""
    tree = tree_of(ground)
    for path in list(tree):
        if path.endswith("/logs/llm.jsonl"):
            tree[path] = sorted(
                json.dumps({name: value for name, value in row.items() if name not in _CLOCKS}, sort_keys=True)
                for row in _rows(ground.base / path)
            )
        elif path.endswith("/before_command/tree.json"):
            # Path, kind, mode, size and copy: times and the numbers of inodes are the disk's.
            entries = json.loads((ground.base / path).read_bytes())["entries"]
            tree[path] = [[*entry[:4], entry[-1]] for entry in entries]
    return tree


def ledger_faults(ground: Ground, said: Sequence[tuple[str, int, Any]] = scenes.SAID) -> list[str]:
    """Every call must stand in the ledger, once; beside them stand those that a kill cut off, which are paid for, too."""
    answered = [
        row for row in _rows(ground.task / "logs" / "llm.jsonl") if "the run ended in this call" not in row["detail"]
    ]
    rows = [(row["thread"], row["run"], row["turn"]) for row in answered]
    found = [f"{key} stands {times} times in the ledger" for key, times in Counter(rows).items() if times > 1]
    wanted = Counter((thread, 1, turn) for thread, turn, _ in said)
    there = Counter((re.sub("(?<=judge)-.*", "", thread), run, turn) for thread, run, turn in set(rows))
    if there != wanted:
        found.append(f"the ledger has not the calls that were made: {sorted((there - wanted) + (wanted - there))}")
    return found


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _left_over(ground: Ground) -> list[str]:
    """Processes, and temporary files anywhere; the folders of the sandbox's own have a drill of their own."""
    litter = [path for folder in (ground.temporary, ground.task) for path in folder.rglob("*")]
    litter = [path for path in litter if _SCRATCH not in str(path)]  # until the next start
    odd = [
        path for path in litter if ground.temporary in path.parents or path.name.endswith((".tmp", ".new", ".corrupt"))
    ]
    return [*_alive(ground), *(f"{path} is left over" for path in odd)]


def _alive(ground: Ground) -> list[str]:
    """Processes that work in the ground, or name it: those of a killed run have a moment to end, since the kernel ends them."""
    try:
        until(lambda: not processes_of(ground.base), "every process is gone", patience=20)
    except AssertionError:
        return [f"a process is left: {words}" for words in processes_of(ground.base)]
    return []


def processes_of(folder: Path) -> list[str]:
    """The command lines of processes that name a folder, or work in it."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            place = str(Path("/proc", name, "cwd").readlink())
        except OSError:
            continue
        if str(folder) in words or place.startswith(str(folder)):
            found.append(f"{name} in {place}: {words[:200]}")
    return found
