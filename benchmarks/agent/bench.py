"""Times what a turn of an agent costs beside the model and the tool, against other agent loops with the same canned model.

    python benchmarks/agent/bench.py [--turns 20,200] [--rounds N] [--peers pipeline,mini-swe-agent,…]

Each round runs every loop once, one after the other, each as a process of its own; printed are medians over the rounds, in
milliseconds a turn. `saved` says what is on the disk when a turn ends: journal (synced before it is acted on), a file that is
written anew each turn, a database, or nothing. BENCH_VENVS names a folder with one virtual environment a peer (requirements.txt).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VENVS = os.environ.get("BENCH_VENVS", "")
LOOPS = {
    "pipeline": ("", "pipeline_loop.py", [], "journal, synced"),
    "pipeline, supervised": ("", "pipeline_loop.py", ["adaptive"], "journal, synced"),
    "mini-swe-agent": ("mini-swe-agent", "mini_loop.py", [], "nothing"),
    "mini-swe-agent, saving": ("mini-swe-agent", "mini_loop.py", ["save"], "a file, anew each turn"),
    "smolagents": ("smolagents", "smol_loop.py", [], "nothing"),
    "openai-agents": ("openai-agents", "openai_agents_loop.py", [], "nothing"),
    "openai-agents, saving": ("openai-agents", "openai_agents_loop.py", ["save"], "a database"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", default="20,200")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default=",".join(name for name in LOOPS if "," not in name) + ",saving")
    chosen = parser.parse_args()
    loops = {name: loop for name, loop in LOOPS.items() if _wanted(name, chosen.peers.split(","))}
    found = {name: loop for name, loop in loops.items() if os.path.exists(_python(loop[0]))}
    for name in loops.keys() - found.keys():
        print(f"left out, not installed: {name}")
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".bench-") as folder:
        for turns in map(int, chosen.turns.split(",")):
            figures: dict[str, list[dict[str, float]]] = {name: [] for name in found}
            for _ in range(chosen.rounds):
                for name, loop in found.items():
                    figures[name].append(_timed(loop, turns, folder))
            _print(turns, figures)


def _wanted(name: str, peers: list[str]) -> bool:
    base, _, saving = name.partition(", ")
    return base in peers and (saving in ("", "supervised") or saving in peers)


def _python(venv: str) -> str:
    return os.path.join(VENVS, venv, "bin", "python") if venv else sys.executable


def _timed(loop: tuple[str, str, list[str], str], turns: int, folder: str) -> dict[str, float]:
    venv, script, words, _ = loop
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "BENCH_FOLDER": folder}
    argv = [_python(venv), os.path.join(HERE, "loops", script), str(turns), *words]
    told = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=600)
    if told.returncode:
        sys.exit(f"{script} failed:\n{told.stderr[-2000:]}")
    return dict(json.loads(told.stdout.strip().splitlines()[-1]))


def _print(turns: int, figures: dict[str, list[dict[str, float]]]) -> None:
    print(f"\n{turns} turns: ms a turn (median of {len(next(iter(figures.values())))} runs)")
    print(f"  {'loop':<26}{'ms':>9}{'first tenth':>13}{'last tenth':>12}  saved")
    for name, rows in sorted(figures.items(), key=lambda item: statistics.median(row["ms"] for row in item[1])):
        medians = [statistics.median(row[key] for row in rows) for key in ("ms", "first_tenth", "last_tenth")]
        print(f"  {name:<26}{medians[0]:>9.3f}{medians[1]:>13.3f}{medians[2]:>12.3f}  {LOOPS[name][3]}")


if __name__ == "__main__":
    main()
