"""Times indexing beside its peers, over real trees: the whole, a second run, one changed file, and growth up to 20,000 files.

    python benchmarks/index/bench.py --peers VENV/bin/python TREE... [--rounds 3] [--sizes 2500,5000,10000,20000]

Ours does all: it reads and checks each file, parses it in child processes, cuts and indexes its words, and writes the document.
universal-ctags lists symbols alone, tantivy and bm25s index whole files as text alone, on the same files, in turns in one run.
Trees of many files are made of the real ones, shuffled by a fixed seed so that each size holds the same mix, with a distinct
line of comment at the end of each. Memory is the highest resident set
of the run, parent and children each, as the kernel counted it in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from trees import code_base_of, sources_in

from phases.references.index.build import index_repositories
from phases.references.index.cache import cache_path
from phases.references.parse import worker_queue
from phases.references.search import search_code

QUERIES = (
    *("the shortest path between two nodes of a weighted graph", "fit", "read a table from a file with column names"),
    *("DataFrame", "compute the loss of a batch and its gradient", "parse_args"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--peers", help="a Python that has bm25s, PyStemmer and tantivy")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", default="2500,5000,10000,20000")
    parser.add_argument("--children", default="1,2", help="how many children may parse, for the trees of many files")
    parser.add_argument("--once", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.once:
        _once(Path(chosen.once), int(chosen.children) if chosen.children.isdecimal() else None)
        return
    sources = {tree.name: sources_in(tree) for tree in chosen.trees}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _against_peers(folder / "peers", sources, chosen.peers, chosen.rounds)
        _again(folder / "peers", sources)
        flat = [(name, path, data) for name, files in sources.items() for path, data in files.items()]
        random.Random(1).shuffle(flat)
        for children in chosen.children.split(","):
            costs = [_grown(folder / size, flat, int(size), children) for size in chosen.sizes.split(",") if size]
            if costs:
                print(
                    f"{children} children: a file of the largest tree costs {costs[-1] / costs[0]:.2f} times one of the smallest"
                )


def _against_peers(folder: Path, sources: dict[str, dict[str, bytes]], peers: str | None, rounds: int) -> None:
    rows = code_base_of(folder, sources)
    (folder / "rows.json").write_text(json.dumps(rows))
    paths = [str(folder / "code_base" / name / path) for name, files in sources.items() for path in files]
    (folder / "list.txt").write_text("\n".join(paths))
    size = sum(len(data) for files in sources.values() for data in files.values())
    print(f"{len(paths):,} files, {size / 1e6:.0f} MB")
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        shutil.rmtree(folder / "indexes", ignore_errors=True)
        shutil.rmtree(folder / "cache", ignore_errors=True)
        seconds.setdefault("ours: all", []).append(_ours(folder)["seconds"])
        if shutil.which("ctags"):
            seconds.setdefault("universal-ctags: symbols", []).append(_ctags(folder))
        if peers:
            seconds.setdefault("tantivy: words", []).append(_peer(peers, folder, {"peer": "tantivy"}))
            seconds.setdefault("bm25s: words", []).append(_peer(peers, folder, {"peer": "bm25s", "stemmed": False}))
    for name, took in seconds.items():
        best = statistics.median(took)
        print(
            f"{name:<28}{best:>8.2f} s{len(paths) / best:>9,.0f} files/s{size / 1e6 / best:>8.1f} MB/s   {_list(took)}",
            flush=True,
        )


def _again(folder: Path, sources: dict[str, dict[str, bytes]]) -> None:
    """The tree is indexed already: once more as it is, and with one file changed."""
    shutil.rmtree(folder / "indexes", ignore_errors=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    first = _ours(folder)["seconds"]
    again = [_ours(folder)["seconds"] for _ in range(5)]
    name = next(iter(sources))
    path = next(path for path, data in sources[name].items() if len(data) > 1000)
    changed = {**sources[name], path: sources[name][path] + b"\nCHANGED = 1\n"}
    code_base_of(folder, {name: changed})
    one = _ours(folder)
    print(f"first {first:.2f} s; again {statistics.median(again):.3f} s, {first / statistics.median(again):.0f} times faster; "
          f"one file changed {one['seconds']:.2f} s ({one['parsed']} parsed)")  # fmt: skip


def _grown(folder: Path, flat: list[tuple[str, str, bytes]], size: int, children: str) -> float:
    """The seconds of one file, by the clock."""
    files: dict[str, bytes] = {}
    for number, (name, path, data) in enumerate(cycle(flat)):
        if number == size:
            break
        files[f"part{number // 500}/{name}/{number}_{os.path.basename(path)}"] = data + b"\n# copy %d\n" % number
    (folder / "rows.json").write_text(json.dumps(code_base_of(folder, {"grown": files})))
    took = _ours(folder, children)
    again = _ours(folder, children)["seconds"]
    processor = f"{took['own_cpu']:.0f} + {took['child_cpu']:.0f} s of processor"
    speed = f"{took['seconds']:.1f} s, {size / took['seconds']:.0f} files/s ({processor})"
    memory = f"resident {took['own_mb']:.0f} MB, largest child {took['child_mb']:.0f} MB"
    rest = f"cache {took['cache_mb'] / size * 1000:.1f} KB a file; again {again:.2f} s; a search {took['search_ms']:.0f} ms"
    print(f"{size:>7,} files, {children} children: {speed}; {memory}; {rest}", flush=True)
    shutil.rmtree(folder)
    return took["seconds"] / size


def _ours(folder: Path, children: str = "") -> dict[str, float]:
    """In a process of its own, so that its memory is its own."""
    command = [sys.executable, __file__, "--once", str(folder), "--children", children]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(ended.stdout)
    return figures


def _once(folder: Path, children: int | None) -> None:
    if children is not None:
        worker_queue.count_processors = lambda: children  # elsewhere the machine says how many
    rows = json.loads((folder / "rows.json").read_text())
    into = folder / "indexes"
    began = time.perf_counter()
    indexes = index_repositories(
        str(folder / "code_base"), rows, str(into), lambda row: None, cache_directory=str(folder / "cache")
    )
    figures = {"seconds": time.perf_counter() - began, "parsed": sum(one.parsed for one in indexes)}
    # Not ru_maxrss for ourselves: that one is inherited from whoever started us, who holds all trees in memory.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own, child = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    figures |= {"own_mb": int(status["VmHWM"].split()[0]) / 1024, "child_mb": child.ru_maxrss / 1024}
    figures |= {"own_cpu": own.ru_utime + own.ru_stime, "child_cpu": child.ru_utime + child.ru_stime}
    figures["cache_mb"] = Path(cache_path(str(folder / "cache"), str(into))).stat().st_size / 1e6
    figures["search_ms"] = statistics.median(_asked(into, query) for query in QUERIES for _ in range(3)) * 1000
    print(json.dumps(figures))


def _asked(into: Path, query: str) -> float:
    began = time.perf_counter()
    search_code(str(into), query, cache_directory=str(into.parent / "cache"))
    return time.perf_counter() - began


def _ctags(folder: Path) -> float:
    command = [
        "ctags",
        "-f",
        str(folder / "tags"),
        "--languages=Python",
        "--fields=+neS",
        "-L",
        str(folder / "list.txt"),
    ]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def _peer(python: str, folder: Path, job: dict[str, object]) -> float:
    where: dict[str, object] = {"list": str(folder / "list.txt")}
    if job["peer"] == "tantivy":
        shutil.rmtree(folder / "tantivy", ignore_errors=True)
        (folder / "tantivy").mkdir()
        where["folder"] = str(folder / "tantivy")
    peer = [python, str(Path(__file__).with_name("peers.py"))]
    ended = subprocess.run(peer, input=json.dumps({**job, **where}), capture_output=True, text=True, check=True)
    return float(json.loads(ended.stdout)["seconds"])


def _list(took: list[float]) -> str:
    return "(" + ", ".join(f"{one:.2f}" for one in sorted(took)) + ")"


if __name__ == "__main__":
    main()
