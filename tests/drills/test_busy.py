"""A busy machine: many runs at once of a long paper, and a soak of kills, full disks and two at once. No verdict, nothing lost.

SOAK_ROUNDS says how many faults the soak has.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills import scenes
from tests.drills.aftermath import Reference, last_words, reference_on
from tests.drills.faults import mount, small_disk
from tests.drills.ground import Ended, Ground
from tests.drills.points import EVERY, seed
from tests.papers import good_pdf, pdf
from tests.work import deadline_in, is_over

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("SOAK_ROUNDS", "200" if EVERY else "8"))
BUSY = 75
"""How a run ends whose task another one holds."""
PATIENCE = 500.0
_TEXT = "We wait for the answer of each of these machines, and measure how long that takes with a clock of our own."


def _long_paper(pages: int) -> bytes:
    chance, words = random.Random(seed()), _TEXT.split()
    lines = [[" ".join(chance.choices(words, k=14)) for _ in range(45)] for _ in range(pages)]
    lines[0][:2] = ["# A Long Paper on Waiting", "# 1 Introduction"]
    return pdf(lines, title="A Long Paper on Waiting")


@pytest.mark.parametrize(
    ("runs", "pages"), [(16, 300), (50, 1)] if EVERY else [(4, 60), (12, 1)], ids=["long ones", "small ones"]
)
def test_every_paper_is_read_however_many_are_read_at_once(runs: int, pages: int, tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    (ground.work / "paper.pdf").write_bytes(_long_paper(pages) if pages > 1 else good_pdf())
    begun = [
        ground.start("run", "--fast", "--until", "02", "--id", f"paper{turn}", "--new", "paper.pdf")
        for turn in range(runs)
    ]
    ended = [ground.wait(process, patience=PATIENCE) for process in begun]
    read = [(ground.tasks / f"paper{turn}" / "paper.md").exists() for turn in range(runs)]
    untold = [last_words(end) for end in ended if end.code]
    print(f"\n{sum(read)} of {runs} read, exit codes {sorted({end.code for end in ended})}")
    assert (sum(read), untold) == (runs, [])


class Soak:
    """Faults on one ground, one after the other, and what was wrong after each."""

    def __init__(self, reference: Reference) -> None:
        self.reference, self.ground, self.chance = reference, reference.ground, random.Random(seed())
        began = time.monotonic()
        self.ground.fresh()
        self.ground.call()
        self.seconds = time.monotonic() - began

    def kill(self) -> Iterator[str]:
        process = self.ground.start()
        time.sleep(self.chance.uniform(0, self.seconds))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        ends = deadline_in(15)
        while (left := _processes_of(self.ground)) and not is_over(ends):
            time.sleep(0.05)
        yield from (f"a process is left: {command}" for command in left)
        yield from self.reference.problems_afterwards()

    def two_at_once(self) -> Iterator[str]:
        begun = [self.ground.start() for _ in range(2)]
        ended: list[Ended] = [self.ground.wait(process) for process in begun]
        codes = sorted(end.code for end in ended)
        if codes not in ([self.reference.code] * 2, sorted([self.reference.code, BUSY])):
            yield f"two at once end with {codes}: {[last_words(end) for end in ended]}"
        yield from self.reference.problems_afterwards()

    def full_disk(self) -> Iterator[str]:
        with small_disk(self.ground.tasks, f"size={self.chance.randrange(4, 120) * 4}k"):
            ended = self.ground.call()
            if ended.code != self.reference.code:
                try:
                    ended.assert_failed("ENOSPC")
                except AssertionError as problem:
                    yield str(problem)
            mount("-o", "remount,size=100m", str(self.ground.tasks))
            # copies of refused work are kept where there is room: the work goes on without (rejected_snapshots)
            yield from (one for one in self.reference.problems_afterwards() if "/endings" not in one)


def _processes_of(ground: Ground) -> list[str]:
    """The command lines that name something of a ground."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(ground.base) in command:
            found.append(command[:200])
    return found


def test_a_mixed_soak_loses_nothing_and_leaves_no_process(tmp_path: Path) -> None:
    soak = Soak(reference_on(scenes.paper(tmp_path, tools=True), traced=False))
    faults = {"kill": soak.kill, "two at once": soak.two_at_once, "full disk": soak.full_disk}
    tried, found = dict.fromkeys(faults, 0), list[str]()
    for _ in range(ROUNDS):
        name = soak.chance.choice([*faults, "kill", "kill"])
        soak.ground.fresh()
        found += [f"{name}: {problem}" for problem in faults[name]()]
        tried[name] += 1
    print(f"\n{tried}, {len(found)} problems")
    assert found == []
