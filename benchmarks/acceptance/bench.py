"""Times what one claim to be done costs beside the hooks' own work: looks at the tree, copies of it, rows of the journal.

    python benchmarks/acceptance/bench.py [--files 10,1000,10000] [--hooks 0,1,5] [--claims 4]

A model says nothing and claims that it is done, several times, in a workspace of so many files of 2 KB; each hook is
`true`, and the gate refuses, because nothing was said. Printed: milliseconds of the first claim (it reads every file, and
copies the tree so that a hook that is cut off can run again on it), of a later one, and of a shell for the same hooks.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

from phases.acceptance.gate import CompletionRequest
from phases.agent.acceptance_setup import build_acceptance
from phases.agent.session import begin_session
from phases.sandbox.box import Box
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import Workspace
from tests.agents import assignment_in, says, small_plan
from tests.hooks import item, mounting


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", default="10,1000,10000")
    parser.add_argument("--hooks", default="0,1,5")
    parser.add_argument("--claims", type=int, default=4)
    chosen = parser.parse_args()
    print(f"{'files':>7}{'hooks':>7}{'first claim':>13}{'later claim':>13}{'a shell':>9}")
    for files in map(int, chosen.files.split(",")):
        for hooks in map(int, chosen.hooks.split(",")):
            with tempfile.TemporaryDirectory(dir=HERE) as folder:
                first, later = _timed(Path(folder), files, hooks, chosen.claims)
            print(f"{files:>7}{hooks:>7}{first:>10.0f} ms{later:>10.0f} ms{_shell(hooks):>6.0f} ms")


def _timed(folder: Path, files: int, hooks: int, claims: int) -> tuple[float, float]:
    """Milliseconds of the first claim, and of one of the later ones."""
    setting = mounting(*(item(f"h{number}", "true", when="always") for number in range(hooks)))
    work = assignment_in(folder, small_plan("a.py"), hooks=setting)
    model = says()
    begun = begin_session(work, model, 1, (), lambda text: None, lambda value: value)
    root = Path(work.places.workspace)
    (root / "a.py").write_text("A = 1\n")
    for number in range(files - 1):
        path = root / f"part{number // 100:03}" / f"file{number:05}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number} " * 300)
    commands = CommandRunner(Box(work.places.workspace, "none"), Snapshot(work.places.workspace, work.places.snapshot))
    chain = build_acceptance(work, begun, Workspace(work.places.workspace), commands, model).chain
    chain.begin()
    spent = []
    for turn in range(1, claims + 1):
        started = time.perf_counter()
        verdict = chain.judge(CompletionRequest(turn, "", (), 0, 3))
        spent.append((time.perf_counter() - started) * 1000)
        if verdict["source"] != "gate":
            raise SystemExit(f"not the claim that is timed: {verdict}")
    return spent[0], sum(spent[1:]) / len(spent[1:])


def _shell(hooks: int) -> float:
    started = time.perf_counter()
    for _ in range(hooks):
        subprocess.run(["/bin/sh", "-c", "true"], check=True)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
