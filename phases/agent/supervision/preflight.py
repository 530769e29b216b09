"""What speaks against a task before it begins (section 6.4)."""

from __future__ import annotations

import re

from phases.agent.supervision.facts import Task

_LONGEST_GOAL = 20_000
_URL = re.compile(r"\w+://\S+")
_TOKEN = re.compile(r"[\w./-]+")
_FILES = frozenset(
    {"py", "pyi", "ipynb", "md", "rst", "txt", "toml", "cfg", "ini", "json", "jsonl", "yaml", "yml", "csv", "tsv", "sh"}
    | {"c", "h", "cc", "cpp", "hpp", "cu", "rs", "go", "java", "jl", "tex", "bib", "sql", "html", "css"}
)
_FILES_IN_FOLDERS = frozenset({"js", "jsx", "ts", "tsx", "r"})
"""`Node.js` is no file: of these, a path has a folder."""


def preflight(task: Task, exists: frozenset[str]) -> tuple[str, ...]:
    """`file_not_found: <path>` for each path of the goal that is not there.

    A file that the task is to write need not be there. A name without a folder stands for any file of that name.
    """
    there = exists | set(task.planned_files)
    names = {path.rpartition("/")[2] for path in there}
    return tuple(
        f"file_not_found: {path}"
        for path in paths_in(task.goal)
        if path not in there and ("/" in path or path not in names)
    )


def paths_in(goal: str) -> tuple[str, ...]:
    """What reads as a file's path in a text, each once."""
    tokens = _TOKEN.findall(_URL.sub(" ", goal[:_LONGEST_GOAL]))
    paths = (token.rstrip(".").removeprefix("./") for token in tokens)
    return tuple(dict.fromkeys(path for path in paths if _is_file(path)))


def _is_file(path: str) -> bool:
    stem, _, suffix = path.rpartition(".")
    return bool(stem.strip("./-")) and suffix in (_FILES | _FILES_IN_FOLDERS if "/" in path else _FILES)
