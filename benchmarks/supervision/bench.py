"""Whether supervision helps, and what it costs a round.

    python benchmarks/supervision/bench.py --corpus ../shared/trajectories/runs.jsonl.xz [--half seen|unseen|both]
    python benchmarks/supervision/bench.py [--rounds 200,1000] [--files 100] [--calls 3] [--result 2000]

The first plays public runs of other agents to the kernel (corpus.py), and prints rates by the corpus' labels, beside the rules
of OpenHands, Cline and Gemini CLI (peer_rules.py), and by what a reader found in 40 runs (judged.json: chosen by the SHA-256 of
"judge " and the id). The half `unseen` is that of the runs whose id has an odd first byte of its SHA-256; no rule was made on it.

The second times the facts, the kernel, and its files; beside the disk and the model.

A run is played to the kernel as the loop would: each round some calls on a plan of so many files, with results of so many
characters. `healthy` writes, reads, runs the checks and passes them; `failing` edits one file again and again, and its check
fails, so that it is taken over. Printed: milliseconds a round, over all rounds, the first and the last tenth, and the worst.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

from figures import print_figures

from phases.agent.kernel_facts import FactExtractor
from phases.agent.kernel_files import KernelFiles
from phases.agent.supervisor_adapter import setting_from
from phases.agent.tools.toolbox import ToolKind
from phases.llm.model import ToolCall
from phases.supervision.bridge import SupervisorBridge
from phases.supervision.checkpoint import build_checkpoint
from phases.supervision.config import Config
from phases.supervision.facts import DiskFacts, Round
from phases.supervision.serialization import to_json

CHECK = "python -m pytest -q"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", default="200,1000")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--result", type=int, default=2000)
    parser.add_argument("--corpus")
    parser.add_argument("--half", default="both", choices=("seen", "unseen", "both"))
    chosen = parser.parse_args()
    if chosen.corpus:
        with open(os.path.join(HERE, "judged.json"), encoding="utf-8") as file:
            print_figures(chosen.corpus, chosen.half, json.load(file))
        return
    print(f"{'run':<28}{'rounds':>7}{'ms':>8}{'first':>8}{'last':>8}{'worst':>8}   facts, kernel, files")
    for rounds in map(int, chosen.rounds.split(",")):
        for mode, play in (("adaptive", healthy), ("strict", healthy), ("adaptive", failing), ("strict", failing)):
            _print(f"{play.__name__}, {mode}", _timed(mode, play, rounds, chosen))


def _timed(mode, play, rounds, chosen):
    paths = [f"package/module_{number:03}.py" for number in range(chosen.files)]
    plan = {
        "paper": {"title": "A paper about something", "core_contribution": "a method " * 40},
        "file_structure": [{"path": path} for path in paths],
        "validation_approach": {"verify_commands": [CHECK]},
    }
    setting = setting_from({"mode": mode, "shadow": False, "config": to_json(Config())}, plan, there=())
    bridge = SupervisorBridge(setting, lambda: DiskFacts(added=tuple(paths), present=tuple(paths), build_summary="ok"))
    observed = FactExtractor(
        paths, {}, (), [CHECK], {"Write": ToolKind.WRITE, "Bash": ToolKind.EXEC, "Read": ToolKind.READ}
    )
    spent = []
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        files = KernelFiles(f"{folder}/kernel", f"{folder}/kernel-report.json", lambda: None, print)
        spent += [_round(bridge, observed, files, play(number, paths, chosen)) for number in range(rounds)]
    return spent


def _round(bridge, observed, files, calls):
    facts = kernel = 0.0
    began = time.perf_counter()
    bridge.begin()
    kernel += time.perf_counter() - began
    for call, row in calls:
        began = time.perf_counter()
        fact = observed.call(call)
        made = time.perf_counter()
        refused = bridge.gate(fact)
        gated = time.perf_counter()
        result = observed.result(call, {"skipped": True} if refused else row)
        seen = time.perf_counter()
        bridge.record(fact, result)
        facts, kernel = facts + (made - began) + (seen - gated), kernel + (gated - made) + time.perf_counter() - seen
    began = time.perf_counter()
    out = bridge.end(Round(0, (), "I look at the failing test and change the code. " * 10, 0.2, observed.open_files))
    ended = time.perf_counter()
    files.note([{"schemaVersion": 1, "taskId": "x", "turn": 1, **line} for line in bridge.lines()])
    if out.triggers:
        files.checkpoint(build_checkpoint(bridge.state, task="x", turn=1, trigger=",".join(out.triggers)))
        if bridge.state.graph.graph:
            files.graph(to_json(bridge.state.graph.graph))
    if out.stop:
        bridge.resumed()
    return facts, kernel + ended - began, time.perf_counter() - ended


def healthy(number, paths, chosen):
    """Writes the files first, two a round; then reads, and runs checks that pass."""
    per_round = chosen.calls - 1
    calls = [_step(f"{number}-{place}", number * per_round + place, paths, chosen) for place in range(per_round)]
    return [*calls, _check(number, "1 passed in … s\n" + "." * chosen.result, failed=False)]


def _step(identifier, at, paths, chosen):
    path = paths[at % len(paths)]
    if at < len(paths):
        return _write(identifier, path, at)
    return ToolCall(identifier, "Read", {"file_path": path}), _row(f"{at}\n" * (chosen.result // 5))


def failing(number, paths, chosen):
    """Writes half of the files, then changes one of them again and again; the check fails in the same way."""
    if number * 2 < len(paths) // 2:
        return [_write(f"{number}-{place}", paths[number * 2 + place], number) for place in range(2)]
    told = "E   assert 2 == 3\nFAILED tests/test_a.py::test_a - assert 2 == 3\n" + "context\n" * (chosen.result // 8)
    return [_write(f"{number}-0", paths[0], number), _check(number, told, failed=True)]


def _write(identifier, path, number):
    content = f"VALUE = {number}\n" * 20
    states = {path: {"sha256": f"{number:064}", "sound": True, "interface": ""}}
    row = {"text": "written", "failed": False, "touched": [path], "seen": {}, "files": states}
    return ToolCall(identifier, "Write", {"file_path": path, "content": content}), row


def _check(number, text, *, failed):
    return ToolCall(f"{number}-c", "Bash", {"command": CHECK}), {**_row(text), "failed": failed}


def _row(text):
    return {"text": text, "failed": False, "touched": [], "seen": {}, "files": {}}


def _print(name, spent):
    rounds = [1000 * sum(parts) for parts in spent]
    tenth = max(1, len(rounds) // 10)
    shares = [1000 * sum(parts[place] for parts in spent) / len(spent) for place in range(3)]
    figures = (sum(rounds) / len(rounds), sum(rounds[:tenth]) / tenth, sum(rounds[-tenth:]) / tenth, max(rounds))
    told = "".join(f"{figure:>8.2f}" for figure in figures)
    print(f"{name:<28}{len(rounds):>7}{told}   {', '.join(f'{share:.2f}' for share in shares)}")


if __name__ == "__main__":
    main()
