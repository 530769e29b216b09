"""What `pipeline batch` adds to papers that take no time: seconds a paper beside a command each, and its memory as it goes on.

    python benchmarks/batch_toys.py WORK [COUNT]

COUNT toy papers (1,000) with three phases of a few lines each, one at a time; then the first ten by a command each; then the
batch again, where all is done. WORK is emptied first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.toys import write_toys

BY_COMMAND = 10
PIPELINE = [sys.executable, "-m", "pipeline"]


def seconds_of(
    arguments: Sequence[str], work: Path, environment: dict[str, str]
) -> tuple[float, list[tuple[int, int]]]:
    """How long a command takes; and each second how many papers have ended, and the kilobytes that it holds."""
    began, seen = time.monotonic(), []
    with subprocess.Popen(
        [*PIPELINE, *arguments], cwd=work, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            time.sleep(0.05 if time.monotonic() - began < 2 else 1)
            seen.append((len(list(work.glob("tasks/*/report.json"))), _kilobytes_of(process.pid)))
    return time.monotonic() - began, [row for row in seen if row[1]]


def _kilobytes_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


def main() -> None:
    work, count = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    shutil.rmtree(work, ignore_errors=True)
    for name in ("papers", "home"):
        (work / name).mkdir(parents=True)
    for number in range(count):
        text = f"# Paper {number}\n\n## 1 Introduction\n\nWe propose {number}.\n"
        (work / f"papers/p{number:04}.pdf").write_text(text)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(work / "home"),
        "PYTHONPATH": str(ROOT),
        "PIPELINE_PHASES": str(write_toys(work / "toys", 3)),
    }
    first, seen = seconds_of(["batch", "--fast", "papers"], work, environment)
    again, _ = seconds_of(["batch", "--fast", "papers"], work, environment)
    single = 0.0
    for number in range(min(BY_COMMAND, count)):
        words = ["run", "--fast", f"papers/p{number:04}.pdf", "--tasks-dir", "alone"]
        single += seconds_of(words, work, environment)[0] / min(BY_COMMAND, count)
    print(f"{count} papers: {1000 * first / count:.1f} ms each; by a command each {1000 * single:.1f}; ", end="")
    print(f"again, where all is done, {1000 * again / count:.2f}")
    for share in (0.1, 0.5, 0.9):
        done, held = next(((done, size) for done, size in seen if done >= share * count), seen[-1])
        print(f"memory of the batch after {done} papers: {held / 1000:.1f} MB")


if __name__ == "__main__":
    main()
