#!/usr/bin/env python3
"""Small changes to the code, each against the tests that run its line: which of them does a test notice?

    mutants.py [--count 200] [--seed 16] [--all] [--seconds 60] [--workers 2] [--map DIRECTORY]

First the tests run once under coverage.py, each with its name as the context, those commands included that tests fork from the
command server; the map is kept in --map and used again. Then a sample of all places that can be changed is drawn by the seed.
Each change is made in a copy of the tree, and the tests that run its line run there, the fastest first, until one fails.
`--all` draws on every test; without it, on what `make test` runs.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("pipeline", "phases")
SWAPS: dict[type[ast.AST], type[ast.AST]] = dict(
    [
        *[
            (ast.Lt, ast.LtE),
            (ast.LtE, ast.Lt),
            (ast.Gt, ast.GtE),
            (ast.GtE, ast.Gt),
            (ast.Eq, ast.NotEq),
            (ast.NotEq, ast.Eq),
        ],
        *[(ast.Is, ast.IsNot), (ast.IsNot, ast.Is), (ast.In, ast.NotIn), (ast.NotIn, ast.In), (ast.And, ast.Or)],
        *[(ast.Or, ast.And), (ast.Add, ast.Sub), (ast.Sub, ast.Add), (ast.Mult, ast.Add), (ast.Div, ast.Mult)],
    ]
)


class Mutant(NamedTuple):
    """One change: the module, the line, what it was and what it is."""

    path: str
    line: int
    before: str
    after: str
    source: str
    """The whole module, changed."""


class Judged(NamedTuple):
    mutant: Mutant
    outcome: str
    """killed, survived, or no test runs it"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--map", type=Path, default=ROOT / ".mutants")
    options = parser.parse_args()
    marks = "" if options.all else "not slow"
    folder = options.map / ("all" if options.all else "quick")
    if not (folder / "seconds.json").exists():
        record_map(folder, marks)
    tests, seconds = read_map(folder)
    judged = judge(sample(options.count, options.seed), tests, seconds, options.seconds, options.workers)
    killed = sum(one.outcome == "killed" for one in judged)
    for one in judged:
        if one.outcome != "killed":
            print(f"{one.outcome}: {one.mutant.path}:{one.mutant.line}: {one.mutant.before} -> {one.mutant.after}")
    print(f"killed {killed} of {len(judged)} ({100 * killed / len(judged):.0f} %)")
    return 0


# Which tests run which line


def record_map(folder: Path, marks: str) -> None:
    """Runs the tests once, with every line noted under the test that ran it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    configuration = folder / "coveragerc"
    sources = "\n    ".join(str(ROOT / name) for name in PRODUCT)
    configuration.write_text(
        f"[run]\nsource =\n    {sources}\ndata_file = {folder}/data\nparallel = true\npatch = _exit\ndisable_warnings =\n"
        "    no-data-collected\n    module-not-measured\n    module-not-imported\n    couldnt-parse\n"
    )
    environment = {**os.environ, "MUTANTS_COVERAGE": str(configuration), "MUTANTS_SECONDS": str(folder / "seconds")}
    words = ["-m", "pytest", "-q", "-n", "auto", "-m", marks, "-p", "scripts.mutants_plugin"]
    ended = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=False)
    if ended.returncode:
        sys.exit("a test fails without any change, so nothing could be said of one with a change")
    combine = [sys.executable, "-m", "coverage", "combine", "-q", f"--rcfile={configuration}"]
    subprocess.run(combine, cwd=ROOT, check=True)
    seconds: dict[str, float] = {}
    for part in folder.glob("seconds.*"):
        for line in part.read_text().splitlines():
            name, took = json.loads(line)
            seconds[name] = took
    (folder / "seconds.json").write_text(json.dumps(seconds))


def read_map(folder: Path) -> tuple[dict[str, dict[int, list[str]]], dict[str, float]]:
    """{module: {line: the tests that run it}}, and how long each test took."""
    import coverage

    data = coverage.CoverageData(str(folder / "data"))
    data.read()
    lines: dict[str, dict[int, list[str]]] = {}
    for path in data.measured_files():
        contexts = data.contexts_by_lineno(path)
        named = {line: [name for name in names if name] for line, names in contexts.items()}
        lines[os.path.relpath(path, ROOT)] = named
    return lines, json.loads((folder / "seconds.json").read_text())


# What is changed


def sample(count: int, seed: int) -> list[Mutant]:
    """A sample of the places that can be changed, the same for the same code and seed."""
    places = [
        (path, number)
        for package in PRODUCT
        for path in sorted((ROOT / package).rglob("*.py"))
        for number in range(sum(1 for _ in _changes(ast.parse(path.read_text()))))
    ]
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    return [_mutant(path, number) for path, number in sorted(chosen)]


def _mutant(path: Path, number: int) -> Mutant:
    text = path.read_text()
    tree = ast.parse(text)
    for at, (node, before, change) in enumerate(_changes(tree)):
        if at == number:
            line = node.lineno  # type: ignore[attr-defined]
            change()
            return Mutant(str(path.relative_to(ROOT)), line, before, _short(node), ast.unparse(tree))
    raise AssertionError(number)


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, _Change]]:
    """Each place that can be changed: the node, how it reads, and a function that changes it in the tree."""
    for node in ast.walk(tree):
        before = ""
        if isinstance(
            node, (ast.Compare, ast.BoolOp, ast.BinOp, ast.Constant, ast.If, ast.IfExp, ast.While, ast.Return)
        ):
            before = _short(node)
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield node, before, _Change(node, "ops", [SWAPS[type(node.ops[0])](), *node.ops[1:]])
        elif isinstance(node, ast.BoolOp) or (
            isinstance(node, ast.BinOp) and type(node.op) in SWAPS and not _is_text(node)
        ):
            yield node, before, _Change(node, "op", SWAPS[type(node.op)]())
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, before, _Change(node, "value", node.value + 1)
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            yield node, before, _Change(node, "value", not node.value)
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield node, before, _Change(node, "test", ast.UnaryOp(ast.Not(), node.test))
        elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            yield node, before, _Change(node, "value", ast.Constant(None))


class _Change(NamedTuple):
    node: ast.AST
    field: str
    value: object

    def __call__(self) -> None:
        setattr(self.node, self.field, self.value)
        ast.fix_missing_locations(self.node)


def _is_text(node: ast.BinOp) -> bool:
    """Whether it may be a join of texts or lists, which has no other sign."""
    texts = (ast.JoinedStr, ast.List, ast.Tuple)
    return any(
        isinstance(side, texts) or isinstance(getattr(side, "value", 0), str) for side in (node.left, node.right)
    )


def _short(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:80]


# What the tests say


def judge(
    mutants: list[Mutant], tests: dict[str, dict[int, list[str]]], seconds: dict[str, float], limit: float, workers: int
) -> list[Judged]:
    """What the tests say of each change."""
    copies: Queue[Path] = Queue()
    for number in range(workers):
        copies.put(_copy_of_the_tree(number))

    def one(mutant: Mutant) -> Judged:
        wanted = _chosen(tests.get(mutant.path, {}).get(mutant.line, ()), seconds, limit / 2)
        if not wanted:
            return Judged(mutant, "no test runs it")
        copy = copies.get()
        try:
            outcome = "killed" if _is_noticed(copy, mutant, wanted, limit) else "survived"
        finally:
            copies.put(copy)
        print(f"{outcome}: {mutant.path}:{mutant.line} ({len(wanted)} tests)", file=sys.stderr)
        return Judged(mutant, outcome)

    with ThreadPoolExecutor(workers) as pool:
        judged = list(pool.map(one, mutants))
    while not copies.empty():
        shutil.rmtree(copies.get().parent, ignore_errors=True)
    return judged


def _chosen(names: Iterable[str], seconds: dict[str, float], limit: float) -> list[str]:
    """The fastest of these tests, as many as fit into so many seconds, but one at least."""
    chosen: list[str] = []
    left = limit
    for name in sorted(names, key=lambda name: seconds.get(name, limit)):
        left -= seconds.get(name, limit)
        if left < 0 and chosen:
            break
        chosen.append(name)
    return chosen


def _is_noticed(copy: Path, mutant: Mutant, wanted: list[str], limit: float) -> bool:
    """Whether a test fails. Without the change they take half of the time at most, so what takes all of it hangs."""
    path = copy / mutant.path
    path.write_text(mutant.source)
    words = [str(copy / ".venv/bin/python"), "-m", "pytest", "-q", "-x", *wanted]
    try:
        return subprocess.run(words, cwd=copy, timeout=limit, capture_output=True, check=False).returncode == 1
    except subprocess.TimeoutExpired:
        return True
    finally:
        shutil.copy(ROOT / mutant.path, path)


def _copy_of_the_tree(number: int) -> Path:
    """A copy with an environment of its own, whose command runs the copy."""
    copy = ROOT / ".mutants" / f"tree-{number}" / "main"
    shutil.rmtree(copy.parent, ignore_errors=True)
    copy.mkdir(parents=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    shared = ROOT.parent / "shared"
    if shared.is_dir():
        (copy.parent / "shared").symlink_to(shared)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(copy / ".venv")], check=True)
    packages = next((copy / ".venv/lib").glob("python*/site-packages"))
    ours = next((ROOT / ".venv/lib").glob("python*/site-packages"))
    (packages / "copy.pth").write_text(f"{copy}\n{ours}\n")
    command = copy / ".venv/bin/pipeline"
    command.write_text(f"#!{copy}/.venv/bin/python\nfrom pipeline.cli import main\nmain()\n")
    command.chmod(0o755)
    return copy


if __name__ == "__main__":
    sys.exit(main())
