"""ResearchCodeBench as fill-in tasks: one block of a paper's code is left out, and its own tests say whether it came back right.

A paper is a folder: its LaTeX, its code with each block between two markers, its tests, and often the code once more for the
tests to compare with. The model sees the paper and the code without the block; never the tests.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.base.plain_yaml import parse_yaml

PAPER, TESTS = "paper2code_paper.tex", "paper2code_test.py"
SECTION = "Code to complete"
_MARK = re.compile(r'^(?P<indent>[ \t]*)# <(?P<end>/?)paper2code name="(?P<name>[^"]+)">[ \t]*$')
_IMPORT = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)


class Problem(NamedTuple):
    """One block of one paper's code."""

    paper: str
    folder: Path
    file: str
    block: str
    lines: tuple[int, int]
    """The block in the file: the number of its first line and of the line behind it, from 0."""
    weight: int
    """Its lines of code, blank lines and comments not counted: what the block counts for in the score."""

    @property
    def name(self) -> str:
        """A name for files: the paper and the block."""
        return f"{self.paper}-{re.sub(r'[^a-z0-9]+', '-', self.block.lower()).strip('-')}"

    def whole_text(self) -> str:
        """The file as its authors wrote it, without the markers."""
        return "".join(line for line in _lines_of(self.folder / self.file) if not _MARK.match(line))

    def masked_text(self) -> str:
        """The file without the block, and without the markers of all blocks."""
        return self.filled_with(f'# TODO: the block "{self.block}" is left out here\n')

    def filled_with(self, text: str) -> str:
        """The file with something else in the place of the block, indented as the block is."""
        lines = _lines_of(self.folder / self.file)
        begin, end = self.lines
        indent = _MARK.match(lines[begin - 1])["indent"]  # type: ignore[index] # the line above a block is its marker
        filled = [*lines[:begin], *(indent + line for line in text.splitlines(keepends=True)), *lines[end:]]
        return "".join(line for line in filled if not _MARK.match(line))


def find_problems(data: Path, papers: list[str]) -> list[Problem]:
    """Every block of the papers named (of all that are there where none is), in the order of the files."""
    rows = parse_yaml((data / "papers.yaml").read_bytes())
    files = {row["id"]: row["annotated_file_paths"] for row in rows}
    wanted = papers or [name for name in files if (data / name / TESTS).is_file()]
    if unknown := [name for name in wanted if name not in files or not (data / name / TESTS).is_file()]:
        raise SystemExit(f"{data} has no paper {', '.join(unknown)}")
    folders = [(data / name, data / name / files[name]) for name in wanted]
    return [problem for folder, path in folders for problem in _blocks_of(folder, path)]


def _blocks_of(folder: Path, path: Path) -> Iterator[Problem]:
    lines, open_blocks = _lines_of(path), {}
    for number, line in enumerate(lines):
        if not (mark := _MARK.match(line)):
            continue
        if not mark["end"]:
            open_blocks[mark["name"]] = number + 1
        elif (begin := open_blocks.pop(mark["name"], None)) is not None:
            inside = [text.strip() for text in lines[begin:number]]
            weight = sum(1 for text in inside if text and not text.startswith("#"))
            yield Problem(folder.name, folder, path.name, mark["name"], (begin, number), weight)


def _lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def write_paper(problem: Problem, target: Path) -> None:
    """The paper's LaTeX with the code to complete as its last section: all that a model is given."""
    source = (problem.folder / PAPER).read_text(encoding="utf-8", errors="replace")
    added = (
        f"\n\\section{{{SECTION}}}\n{_lack_of(problem).replace('_', chr(92) + '_')}\n"
        f"\\begin{{verbatim}}\n{problem.masked_text()}\\end{{verbatim}}\n"
    )
    before, end, after = source.rpartition(r"\end{document}")
    target.write_text(f"{before}{added}{end}{after}" if end else source + added, encoding="utf-8")


def _lack_of(problem: Problem) -> str:
    return f"The file {problem.file} lacks one block: {problem.block}."


def fill_in_plan(problem: Problem, plan: dict[str, Any], outline: dict[str, Any]) -> dict[str, Any]:
    """The plan of a fill-in task: one file, one requirement. `plan` is one made by rules."""
    last = next(row for row in reversed(outline["sections"]) if row["title"] == SECTION)
    said = _lack_of(problem)
    requirement = {
        "id": "R1",
        "kind": "algorithm",
        "text": f'Write {problem.file} whole, with the block "{problem.block}" in it as the paper describes it.',
        "source": {"section": last["number"] or last["title"], "page": last["page"], "quote": said},
        "status": "inferred",
    }
    emptied: dict[str, Any] = {key: [] for key, value in plan.items() if isinstance(value, list)}
    return {
        **plan,
        **emptied,
        "requirements": [requirement],
        "file_structure": [{"path": problem.file, "purpose": "the code of the paper, complete"}],
        "implementation_strategy": [problem.file],
        "validation_approach": {
            "verify_commands": [f'python -c "import {problem.file.removesuffix(".py")}"'],
        },
        "environment_setup": {"python": ">=3.11", "packages": packages_of(problem.folder)},
    }


def packages_of(folder: Path) -> list[str]:
    """What the paper's code and tests import beside the standard library and each other."""
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    own = {path.stem for path in folder.rglob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    return sorted(set(_IMPORT.findall(text)) - own - sys.stdlib_module_names)


def lay_out_tests(problem: Problem, code: Path, target: Path) -> None:
    """Puts the tests and all that they need beside the code that is to be judged; of that, only the one file is taken."""
    shutil.copytree(problem.folder, target, ignore=shutil.ignore_patterns("__pycache__", PAPER))
    (target / problem.file).unlink()
    if code.is_file():
        shutil.copy(code, target / problem.file)
