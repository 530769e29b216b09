"""What the syncs of a fast offline run cost: the same run with them and with calls that do nothing, in turns.

    python benchmarks/runner/syncs.py [PAIRS] [DIRECTORY]

It needs gcc. DIRECTORY lies on the disk to measure; others who write to it are waited for, too (syncfs), so look at the least.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAPER = Path(__file__).parents[2] / "examples" / "averaged-perceptron" / "paper.pdf"
COMMAND = Path(sys.executable).parent / "pipeline"
NOTHING = "int fsync(int d) { return 0; }\nint fdatasync(int d) { return 0; }\nint syncfs(int d) { return 0; }\n"


def run(folder: Path, **environment: str) -> float:
    """Seconds of one run in an empty directory."""
    shutil.rmtree(folder / "tasks", ignore_errors=True)
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", **environment}
    began = time.perf_counter()
    done = subprocess.run([COMMAND, "run", "--fast", str(PAPER)], cwd=folder, env=own, capture_output=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr.decode())
    return seconds


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as place:
        folder = Path(place)
        (folder / "nothing.c").write_text(NOTHING)
        library = str(folder / "nothing.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, str(folder / "nothing.c")], check=True)
        for warm in ({}, {"LD_PRELOAD": library}):
            run(folder, **warm)
        rows = [(run(folder), run(folder, LD_PRELOAD=library)) for _ in range(pairs)]
    with_syncs, without = zip(*rows, strict=True)
    ratios = sorted(one / other for one, other in rows)
    print(f"{pairs} pairs on {'/'.join(Path(place).parts[1:-1])}")
    print(f"with syncs:    median {statistics.median(with_syncs):.3f} s, least {min(with_syncs):.3f} s")
    print(f"without:       median {statistics.median(without):.3f} s, least {min(without):.3f} s")
    print(
        f"ratio:         median of pairs {statistics.median(ratios):.3f}, of the least {min(with_syncs) / min(without):.3f}"
    )


if __name__ == "__main__":
    main()
