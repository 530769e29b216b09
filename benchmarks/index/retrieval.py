"""How well a function is found by what its docstring said, once that is gone: ours beside bm25s, on the same functions.

    python benchmarks/index/retrieval.py --peers VENV/bin/python TREE... [--seeds 5] [--functions 100] [--strip]

From each tree functions are drawn whose docstring begins with a paragraph of 8 words or more and whose body has 3 statements or
more. That paragraph is the query. The docstring is blanked in the copy that is indexed (with --strip all docstrings of all
functions are), and the function has to be found among all that the trees hold. bm25s gets the same copy twice: cut into the same
pieces as plain source text, and cut into windows of 40 lines that overlap by half; each with its own tokeniser as it comes, and
with stemmer and stop words. A window counts as found where it holds the line of the `def`. Printed: recall@5 and MRR@10, mean and
spread over the seeds.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from trees import code_base_of, sources_in

from phases.references.index.build import index_repositories
from phases.references.index.cache import cache_path, open_readable
from phases.references.search import search_code

BEST = 10


class Asked(NamedTuple):
    """A function to be found."""

    repository: str
    path: str
    line: int
    end: int
    query: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--peers", help="a Python that has bm25s and PyStemmer")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--functions", type=int, default=100)
    parser.add_argument("--strip", action="store_true", help="blank the docstrings of all functions")
    chosen = parser.parse_args()
    sources = {tree.name: sources_in(tree) for tree in chosen.trees}
    drawn = draw(sources, chosen.seeds, chosen.functions)
    blanked = blank(
        sources, None if chosen.strip else {(one.repository, one.path, one.line) for row in drawn for one in row}
    )
    with tempfile.TemporaryDirectory() as scratch:
        rows = code_base_of(Path(scratch), blanked)
        into = f"{scratch}/indexes"
        index_repositories(f"{scratch}/code_base", rows, into, lambda row: None, cache_directory=f"{into}/../cache")
        report("ours", [[ranks_of_ours(into, one) for one in row] for row in drawn])
        if chosen.peers:
            for name, units in (("functions", pieces_in(into, blanked)), ("windows", windows_in(blanked))):
                for stemmed in (False, True):
                    label = f"bm25s, {name}, {'stemmer and stop words' if stemmed else 'as it comes'}"
                    report(label, ranks_of_peer(chosen.peers, units, drawn, stemmed=stemmed))


def draw(sources: dict[str, dict[str, bytes]], seeds: int, count: int) -> list[list[Asked]]:
    """For each seed so many functions; no function twice."""
    fit = [one for name, files in sources.items() for path, data in files.items() for one in _fit(name, path, data)]
    taken: set[Asked] = set()
    drawn = []
    for seed in range(seeds):
        left = [one for one in fit if one not in taken]
        row = random.Random(seed).sample(left, min(count, len(left)))
        taken |= set(row)
        drawn.append(row)
    print(f"{len(fit):,} functions fit, {sum(map(len, drawn))} are asked for")
    return drawn


def blank(sources: dict[str, dict[str, bytes]], only: set[tuple[str, str, int]] | None) -> dict[str, dict[str, bytes]]:
    """The sources with docstrings blanked, line by line: of these functions, or of all."""
    return {
        name: {path: _blanked(name, path, data, only) for path, data in files.items()}
        for name, files in sources.items()
    }


def ranks_of_ours(into: str, one: Asked) -> int:
    hits = search_code(into, one.query, limit=BEST, cache_directory=f"{into}/../cache")
    places = [(hit.repository, hit.path, hit.line) for hit in hits]
    wanted = (one.repository, one.path, one.line)
    return places.index(wanted) + 1 if wanted in places else 0


Units = list[tuple[str, str, int, int, str]]


def pieces_in(into: str, sources: dict[str, dict[str, bytes]]) -> Units:
    """The pieces of our own index, as plain text."""
    units: Units = []
    with open_readable(cache_path(f"{into}/../cache", into)) as cache:
        for name in cache.repositories():
            for path, content in cache.files(name).items():
                parsed, lines = cache.known(*content), _text(sources[name][path]).split("\n")
                for piece in parsed.pieces if parsed else ():
                    units.append((name, path, piece.line, piece.end, "\n".join(lines[piece.line - 1 : piece.end])))
    return units


def windows_in(sources: dict[str, dict[str, bytes]]) -> Units:
    """Windows of 40 lines, 20 apart."""
    units: Units = []
    for name, files in sources.items():
        for path, data in files.items():
            lines = _text(data).split("\n")
            starts = range(0, max(1, len(lines) - 20), 20)
            units += [(name, path, start + 1, start + 40, "\n".join(lines[start : start + 40])) for start in starts]
    return units


def ranks_of_peer(python: str, units: Units, drawn: list[list[Asked]], *, stemmed: bool) -> list[list[int]]:
    queries = [one.query for row in drawn for one in row]
    job = {"peer": "bm25s", "stemmed": stemmed, "texts": [unit[4] for unit in units], "queries": queries, "best": BEST}
    peer = [python, str(Path(__file__).with_name("peers.py"))]
    ended = subprocess.run(peer, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=True)
    best = iter(json.loads(ended.stdout)["best"])
    exact = {(unit[0], unit[1], unit[2]) for unit in units}
    ranks = []
    for row in drawn:
        ranks.append([])
        for one in row:
            found = [_is_it(units[number], one, exact) for number in next(best)]
            ranks[-1].append(found.index(True) + 1 if True in found else 0)
    return ranks


def _is_it(unit: tuple[str, str, int, int, str], one: Asked, exact: set[tuple[str, str, int]]) -> bool:
    if unit[:2] != (one.repository, one.path):
        return False
    if (one.repository, one.path, one.line) in exact and (unit[3] - unit[2]) != 39:
        return unit[2] == one.line
    return unit[2] <= one.line <= unit[3]


def report(label: str, ranks: list[list[int]]) -> None:
    recall = [sum(0 < rank <= 5 for rank in row) / len(row) for row in ranks]
    mrr = [sum(1 / rank for rank in row if rank) / len(row) for row in ranks]
    cells = [
        f"{statistics.mean(row):.3f} ± {statistics.stdev(row) if len(row) > 1 else 0:.3f}" for row in (recall, mrr)
    ]
    print(f"{label:<50}recall@5 {cells[0]}   MRR@10 {cells[1]}", flush=True)


def _fit(name: str, path: str, data: bytes) -> list[Asked]:
    found = []
    for node in _functions(data):
        paragraph = re.split(r"\n\s*\n", (ast.get_docstring(node) or "").strip())[0]
        if len(paragraph.split()) >= 8 and len(node.body) >= 4 and not _in_tests(path):
            found.append(Asked(name, path, node.lineno, node.end_lineno or 0, " ".join(paragraph.split())))
    return found


def _in_tests(path: str) -> bool:
    return "test" in path


def _functions(data: bytes) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods that are pieces of their own: none that stands within a function."""
    try:
        waiting: list[ast.AST] = [ast.parse(data)]
    except (SyntaxError, ValueError):
        return []
    found = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node)
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def _blanked(name: str, path: str, data: bytes, only: set[tuple[str, str, int]] | None) -> bytes:
    lines = data.split(b"\n")
    for node in _functions(data):
        first = node.body[0]
        if ast.get_docstring(node) is None or len(node.body) < 2 or first.lineno == node.lineno:
            continue
        if only is None or (name, path, node.lineno) in only:
            for at in range(first.lineno - 1, first.end_lineno or first.lineno):
                lines[at] = b""
    return b"\n".join(lines)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


if __name__ == "__main__":
    main()
