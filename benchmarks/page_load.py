"""What open pages cost: `pipeline serve` with 50 live pages on 20 tasks that change, beside runs with none open.

    python benchmarks/page_load.py TASK PAPER [PAIRS]

TASK is the directory of a finished task, copied twenty times; each copy's log gets a row every five seconds. PAPER is run from
phase 00 to 05 in PAIRS pairs (16), with the pages open and without, in turns. Printed are the medians of the ratios by the clock
and in processor time, the share of a core that the server takes, and its memory after the first and the last pair.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import suppress
from http.cookiejar import CookieJar
from pathlib import Path

PAGES, TASKS, EVERY = 50, 20, 5.0
PIPELINE = [sys.executable, "-m", "pipeline"]


class Visitors:
    """Fifty browsers: each follows the events of a task, and asks for what changed."""

    def __init__(self, address: str, tasks: Path) -> None:
        self.open, self.asked, self._tasks = threading.Event(), 0, tasks
        jar = CookieJar()
        self._browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        self._browser.open(address).read()
        self._base = address.partition("/?")[0]
        self._cookie = "; ".join(f"{one.name}={one.value}" for one in jar)
        for number in range(PAGES):
            threading.Thread(target=self._follow, args=(f"{self._base}/t/t{number % TASKS}",), daemon=True).start()
        threading.Thread(target=self._change, daemon=True).start()

    def _follow(self, task: str) -> None:
        request = urllib.request.Request(f"{task}/events", headers={"Cookie": self._cookie})
        while self.open.wait():
            with suppress(OSError), urllib.request.urlopen(request, timeout=2 * EVERY) as events:
                while self.open.is_set():
                    if events.readline().startswith(b"event: changed"):
                        for part in ("state", "turns?after=30"):
                            self._browser.open(f"{task}/{part}").read()
                            self.asked += 1

    def _change(self) -> None:
        row = {"seq": 9000, "at": "2026-01-01T00:00:00Z", "level": "INFO", "message": "something happened"}
        while self.open.wait():
            for number in range(TASKS):
                log = self._tasks / f"t{number}/logs/system.jsonl"
                # when all is measured, the tasks go
                with suppress(FileNotFoundError), open(log, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            time.sleep(EVERY)


def run_once(paper: str, tasks: Path) -> tuple[float, float]:
    """Seconds of a run by the clock, and of the processor."""
    before, began = os.times(), time.monotonic()
    words = ["run", "--fast", paper, "--id", f"x{time.time_ns()}", "--review", "auto", "--until", "05"]
    subprocess.run([*PIPELINE, *words, "--tasks-dir", str(tasks)], capture_output=True, check=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - began, spent


def ticks_of(pid: int) -> float:
    """Seconds of the processor that a process has taken."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().split()[13:15])) / os.sysconf("SC_CLK_TCK")


def megabytes_of(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000


def main() -> None:
    task, paper, pairs = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 16
    with tempfile.TemporaryDirectory() as folder:
        tasks, runs = Path(folder) / "tasks", Path(folder) / "runs"
        for number in range(TASKS):
            shutil.copytree(task, tasks / f"t{number}", symlinks=True)
        subprocess.run([*PIPELINE, "list", "--rebuild", "--tasks-dir", str(tasks)], capture_output=True, check=True)
        words = [*PIPELINE, "serve", "--port", "0", "--tasks-dir", str(tasks)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout is not None
            visitors = Visitors(server.stdout.readline().strip(), tasks)
            run_once(paper, runs)
            clock, processor, share, memory = [], [], [], []
            for number in range(pairs):
                found: dict[bool, tuple[float, float]] = {}
                for is_open in (True, False) if number % 2 else (False, True):
                    visitors.open.set() if is_open else visitors.open.clear()
                    time.sleep(3 if is_open else 1)
                    before, began = ticks_of(server.pid), time.monotonic()
                    found[is_open] = run_once(paper, runs)
                    if is_open:
                        share.append((ticks_of(server.pid) - before) / (time.monotonic() - began))
                clock.append(found[True][0] / found[False][0])
                processor.append(found[True][1] / found[False][1])
                memory.append(megabytes_of(server.pid))
            visitors.open.clear()
            server.terminate()
    print(f"with {PAGES} pages / without, median of {pairs}: {statistics.median(clock):.3f} by the clock, ", end="")
    print(f"{statistics.median(processor):.3f} of the processor; {visitors.asked} requests")
    print(
        f"the server: {statistics.median(share):.1%} of a core; {memory[0]:.0f} MB at first, {memory[-1]:.0f} at last"
    )


if __name__ == "__main__":
    main()
