"""Symbols against universal-ctags: how many of its we have, which of ours it lacks, and how fast both are.

    python benchmarks/index/symbols.py TREE... [--languages python,c] [--rounds 3] [--show 10]

A symbol is the same where file, name and line are the same. For Python all kinds count that ctags gives by default, but
imports and names of which it does not know what they are; for the others functions, methods and types. Speeds are taken in one
run, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from phases.references.parse.file_kinds import HEAD, language_of, why_left_out
from phases.references.parse.source_code import parse_code
from phases.references.parse.worker_queue import parse_files

NAMES = {
    "python": "Python", "c": "C", "cpp": "C++", "cuda": "CUDA", "java": "Java", "javascript": "JavaScript",
    "typescript": "TypeScript", "tsx": "TypeScript", "go": "Go", "rust": "Rust", "r": "R", "julia": "Julia",
}  # fmt: skip
KINDS = {
    "Python": "class function member variable",
    "C": "function struct union enum macro typedef",
    "C++": "function class struct union enum macro typedef namespace",
    "CUDA": "function class struct union enum macro typedef namespace",
    "Java": "class interface enum method annotation",
    "JavaScript": "function class method generator getter setter",
    "TypeScript": "function class interface enum method generator alias namespace",
    "Go": "func struct interface type talias methodSpec",
    "Rust": "function struct interface enum typedef macro method module",
    "R": "function",
    "Julia": "function macro module struct type",
}
OUR_KINDS = frozenset(
    (
        "class",
        "struct",
        "union",
        "interface",
        "trait",
        "enum",
        "type",
        "function",
        "method",
        "macro",
        "namespace",
        "module",
    )
)
ANONYMOUS = re.compile(r"__anon|anonymous|AnonymousFunction|anonFunc")
Found = dict[tuple[str, str, int], str]


class File(NamedTuple):
    path: str
    language: str
    data: bytes


def files_of(trees: list[str], languages: set[str]) -> list[File]:
    """What an index would take, in the languages asked for."""
    files: list[File] = []
    for tree in trees:
        for base, folders, names in os.walk(tree):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(base, name)
                if os.path.islink(path):
                    continue
                size = os.path.getsize(path)
                with open(path, "rb") as file:
                    head = file.read(HEAD)
                language = language_of(path, head)
                if language in languages and not why_left_out(os.path.relpath(path, tree), size, head):
                    files.append(File(path, language, Path(path).read_bytes()))
    return files


def ctags(files: list[File], language: str, *, fields: bool = True) -> Found:
    """Its symbols; ctags is told the language, for a .h may be of three."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("\n".join(file.path for file in files))
        listing.flush()
        command = [
            "ctags",
            "--options=NONE",
            f"--language-force={language}",
            "--output-format=json",
            "--fields=NFnK",
            "-f",
            "-",
            "-L",
            listing.name,
        ]
        output = subprocess.run(command, check=True, capture_output=True, timeout=600).stdout
    if not fields:
        return {}
    found: Found = {}
    kinds = frozenset(KINDS[language].split())
    for line in output.decode("utf-8", "replace").split("\n")[:-1]:
        tag = json.loads(line)
        if tag.get("kind") in kinds and not ANONYMOUS.match(tag["name"]):
            found[tag["path"], _plain(tag["name"]), tag.get("line", 0)] = tag["kind"]
    return (
        found
        if language != "JavaScript"
        else {key: kind for key, kind in found.items() if kind != "class" or _says_class(key)}
    )


def _plain(name: str) -> str:
    """A name without its scope and parameters, operators without spaces, without quotes."""
    return re.sub(r"\{.*", "", name.split("::")[-1].replace(" ", "")).strip("`\"'")


def _says_class(key: tuple[str, str, int]) -> bool:
    """ctags calls every object with functions in it a class of JavaScript; only what says so is counted."""
    return "class" in Path(key[0]).read_text("utf-8", "replace").split("\n")[key[2] - 1]


def ours(files: list[File], *, values: bool) -> Found:
    found: Found = {}
    for file in files:
        for symbol in parse_code(file.language, file.data).symbols:
            if values or symbol.kind in OUR_KINDS:
                found[file.path, _plain(symbol.name), symbol.line] = symbol.kind
    return found


def report_recall(language: str, files: list[File], show: int) -> None:
    theirs = ctags(files, language)
    if not theirs:
        print(f"{language:11} {len(files):6} files: ctags finds nothing")
        return
    mine, everything = ours(files, values=language == "Python"), ours(files, values=True)
    missed = {key: kind for key, kind in theirs.items() if key not in everything}
    extra = {key: kind for key, kind in mine.items() if key not in theirs}
    share = 1 - len(missed) / len(theirs)
    print(
        f"{language:11} {len(files):6} files  {len(theirs):7} of ctags  recall {share:.4f}  ours alone {len(extra):6}"
    )
    print(f"            missed: {dict(Counter(missed.values()).most_common())}")
    print(f"            ours alone: {dict(Counter(extra.values()).most_common())}")
    for title, rows in (("missed", missed), ("ours alone", extra)):
        for (path, name, line), kind in random.Random(1).sample(sorted(rows.items()), min(show, len(rows))):
            print(f"            {title}: {kind} {name}  {path}:{line}")


def seconds_of_ours(files: list[File], count: int) -> float:
    began = time.perf_counter()
    for _ in parse_files(((file.path, file.language, file.data) for file in files), count=count):
        pass
    return time.perf_counter() - began


def report_speed(files: list[File], rounds: int) -> None:
    """Ours in one process, in one child and in two, beside ctags, in turns."""
    size = sum(len(file.data) for file in files) / 1e6
    by_language: dict[str, list[File]] = {}
    for file in files:
        by_language.setdefault(NAMES[file.language], []).append(file)
    taken: dict[str, list[float]] = {"ctags": [], "in one process": [], "one child": [], "two children": []}
    for _ in range(rounds):
        began = time.perf_counter()
        for language, group in by_language.items():
            ctags(group, language, fields=False)
        taken["ctags"].append(time.perf_counter() - began)
        began = time.perf_counter()
        for file in files:
            parse_code(file.language, file.data)
        taken["in one process"].append(time.perf_counter() - began)
        taken["one child"].append(seconds_of_ours(files, 1))
        taken["two children"].append(seconds_of_ours(files, 2))
    for name, times in taken.items():
        best = sorted(times)[len(times) // 2]
        print(f"{name:15} {len(files) / best:8.0f} files/s {size / best:7.2f} MB/s   median of {rounds}: {best:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+")
    parser.add_argument("--languages", default=",".join(NAMES))
    parser.add_argument("--rounds", type=int, default=0, help="rounds of the race; 0: no race")
    parser.add_argument("--show", type=int, default=0, help="so many misses and so many of ours alone")
    parser.add_argument("--most", type=int, default=0, help="a seeded sample of so many files")
    asked = parser.parse_args()
    if not shutil.which("ctags"):
        sys.exit("ctags is not there: apt-get install universal-ctags")
    files = files_of(asked.trees, set(asked.languages.split(",")))
    if asked.most and len(files) > asked.most:
        files = sorted(random.Random(1).sample(files, asked.most))
    print(f"{len(files)} files, {sum(len(file.data) for file in files) / 1e6:.1f} MB")
    for language in dict.fromkeys(NAMES.values()):
        if group := [file for file in files if NAMES[file.language] == language]:
            report_recall(language, group, asked.show)
    if asked.rounds:
        report_speed(files, asked.rounds)


if __name__ == "__main__":
    main()
