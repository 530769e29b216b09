"""Times the runner against its peers on one workload, as whole commands, in pairs with a bare script.

    python benchmarks/runner/bench.py [--peers pipeline,doit,…] [--modes cold,noop,resume,hundred,list,help] [--rounds N]

A ratio is taken between two commands that ran one after the other, so it survives a machine whose speed drifts; what is
printed is the median of those ratios, with the least and the largest. Peers that are not installed are left out by name:
BENCH_VENVS names a folder with one virtual environment a peer (requirements.txt says what goes into each).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "peers"))
sys.path.insert(0, HERE)

import bare_script
import toys

PYTHON = os.path.join(ROOT, ".venv", "bin", "python")
PIPELINE = os.path.join(ROOT, ".venv", "bin", "pipeline")
VENVS = os.environ.get("BENCH_VENVS", "")
PEERS = {
    "atomic": ("base", ["python", "{peers}/bare_script.py", "atomic"]),
    "checked": ("base", ["python", "{peers}/bare_script.py", "checked"]),
    "doit": ("doit", ["python", "{peers}/doit_tasks.py"]),
    "luigi": ("luigi", ["python", "{peers}/luigi_tasks.py"]),
    "langgraph": ("langgraph", ["python", "{peers}/langgraph_graph.py"]),
    "dbos": ("dbos", ["python", "{peers}/dbos_workflow.py"]),
    "snakemake": (
        "snakemake",
        ["snakemake", "--snakefile", "{peers}/Snakefile", "--directory", "{task}", "--cores", "1", "--quiet"],
    ),
}


class Bench:
    """One folder with everything that is measured in it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.toys = os.path.join(folder, "toys")
        toys.write_toys(self.toys, bare_script.SCHEMA)
        self.source = os.path.join(folder, "source.txt")
        with open(self.source, "w", encoding="utf-8") as file:
            file.write("a source\n")
        self._count = 0

    def fresh(self) -> str:
        """A store of its own for one cold run."""
        self._count += 1
        store = os.path.join(self.folder, f"store{self._count}")
        os.makedirs(store)
        return store

    def command(self, peer: str, store: str, task: str = "task") -> tuple[list[str], dict[str, str]]:
        """The command of one run of a peer, and its environment."""
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.folder, "LANG": "C.UTF-8"}
        directory = os.path.join(store, task)
        if peer == "pipeline":
            argv = [PIPELINE, "run", self.source, "--id", task, "--tasks-dir", store]
            return argv, {**environment, "PIPELINE_PHASES": self.toys}
        if peer == "bare":
            return [_base(), f"{HERE}/peers/bare_script.py", "plain"], {**environment, "BENCH_DIR": directory}
        venv, argv = PEERS[peer]
        filled = [word.format(peers=f"{HERE}/peers", task=directory) for word in argv]
        program = os.path.join(VENVS, venv, "bin", filled[0])
        os.makedirs(directory, exist_ok=True)
        return [program, *filled[1:]], {**environment, "BENCH_DIR": directory, "WORKLOAD": HERE, "DO_NOT_TRACK": "1"}


def timed(command: tuple[list[str], dict[str, str]], **more: str) -> float:
    """Seconds of one whole command."""
    argv, environment = command
    started = time.perf_counter()
    subprocess.run(
        argv,
        env={**environment, **more},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        start_new_session=True,
    )
    return time.perf_counter() - started


def cold(bench: Bench, peer: str) -> float:
    """A task that does not exist yet."""
    return timed(bench.command(peer, bench.fresh()))


def noop(bench: Bench, peer: str) -> float:
    """A task in which everything is done."""
    store = os.path.join(bench.folder, f"done-{peer}")
    if not os.path.exists(store):
        os.makedirs(store)
        timed(bench.command(peer, store))
        timed(bench.command(peer, store))
    return timed(bench.command(peer, store))


def resume(bench: Bench, peer: str) -> float:
    """From the start of the command to the first open step, after a SIGKILL in step 6."""
    store = bench.fresh()
    trace = os.path.join(store, "trace")
    timed(bench.command(peer, store), BENCH_KILL_AT="6", BENCH_TRACE=trace)
    started = time.time_ns()
    if peer == "snakemake":
        argv, environment = bench.command(peer, store)
        timed(([*argv, "--unlock"], environment))
        timed(([*argv, "--rerun-incomplete"], environment), BENCH_TRACE=trace)
    else:
        timed(bench.command(peer, store), BENCH_TRACE=trace)
    with open(trace, encoding="ascii") as file:
        starts = [int(line.split()[0]) for line in file if " start " in line and int(line.split()[0]) > started]
    return (min(starts) - started) / 1e9


def hundred(bench: Bench, peer: str) -> float:
    """A hundred tasks, one command each, in one store."""
    store = bench.fresh()
    return sum(timed(bench.command(peer, store, f"task{number:03}")) for number in range(100))


def pairs(bench: Bench, measure: Callable[[Bench, str], float], peer: str, rounds: int) -> dict[str, float]:
    """Median, least and largest ratio of a peer to the bare script, and the medians of both in seconds."""
    bare, own, ratios = [], [], []
    for _ in range(rounds):
        bare.append(measure(bench, "bare"))
        own.append(measure(bench, peer))
        ratios.append(own[-1] / bare[-1])
    return {
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "largest": max(ratios),
        "seconds": statistics.median(own),
        "bare": statistics.median(bare),
    }


def listing(bench: Bench, rounds: int) -> None:
    """`pipeline list` with 1,000 and with 10,000 tasks."""
    for count in (1_000, 10_000):
        store = bench.fresh()
        with open(os.path.join(store, "tasks.jsonl"), "w", encoding="utf-8") as file:
            for number in range(count):
                row = {
                    "version": 1,
                    "id": f"task{number:05}",
                    "at": "2026-01-31T12:00:00.000Z",
                    "mode": "fast",
                    "source": "/papers/p.pdf",
                }
                file.writelines(
                    json.dumps({**row, "status": status, "reason": "every phase is done"}) + "\n"
                    for status in ("running", "completed")
                )
        argv = [PIPELINE, "list", "--tasks-dir", store]
        seconds = statistics.median(timed((argv, bench.command("bare", store)[1])) for _ in range(rounds))
        print(f"| list | pipeline, {count:,} tasks | | {seconds:.3f} |", flush=True)


def help_text(bench: Bench, rounds: int) -> None:
    """`pipeline --help` against importing click."""
    environment = bench.command("bare", bench.folder)[1]
    ratios, seconds = [], []
    for _ in range(rounds):
        click = timed(([PYTHON, "-c", "import click"], environment))
        seconds.append(timed(([PIPELINE, "--help"], environment)))
        ratios.append(seconds[-1] / click)
    print(
        f"| help | pipeline --help / import click | {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}) "
        f"| {statistics.median(seconds):.3f} |",
        flush=True,
    )


def main() -> None:
    """Runs what is asked for and prints one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=",".join(["pipeline", *PEERS]))
    parser.add_argument("--modes", default="cold,noop,resume,hundred,list,help")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--folder", help="where to work; a new folder on the disk that is to be measured")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    folder = tempfile.mkdtemp(prefix="bench-", dir=given.folder)
    try:
        _run(Bench(folder), given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(bench: Bench, given: argparse.Namespace) -> None:
    print("| mode | who | ratio to the bare script (least-largest) | seconds |\n|---|---|---|---|", flush=True)
    measures = {"cold": cold, "noop": noop, "resume": resume, "hundred": hundred}
    for mode in given.modes.split(","):
        if mode == "list":
            listing(bench, given.rounds)
        elif mode == "help":
            help_text(bench, given.rounds)
        else:
            for peer in filter(_installed, given.peers.split(",")):
                rounds = 1 if mode == "hundred" else given.rounds
                found = pairs(bench, measures[mode], peer, rounds)
                print(
                    f"| {mode} | {peer} | {found['ratio']:.2f} ({found['least']:.2f}-{found['largest']:.2f}) "
                    f"| {found['seconds']:.3f} (bare {found['bare']:.3f}) |",
                    flush=True,
                )


def _base() -> str:
    return os.path.join(VENVS, "base", "bin", "python") if VENVS else PYTHON


def _installed(peer: str) -> bool:
    there = peer in ("pipeline", "bare") or (
        bool(VENVS) and os.path.exists(os.path.join(VENVS, PEERS[peer][0], "bin", "python"))
    )
    if not there:
        print(f"({peer} is not installed, and is left out)", file=sys.stderr)
    return there


if __name__ == "__main__":
    main()
