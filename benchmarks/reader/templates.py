"""Papers in other templates against gold made by hand, scored by reading_quality.py, the two halves apart.

Which half a paper is in its file name decides: the first hexadecimal digit of its SHA-256 is even for those that the
reader's rules were made on ("looked at"), odd for those that nobody opened before the rules
were done ("unseen"; their figures were looked at meanwhile).
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from runs import OK, PARTIAL, Bench

HALVES = {0: "looked at", 1: "unseen"}
FIGURES = {
    "title": "titles",
    "lines_found": "body lines found once",
    "number_lines_found": "of those with numbers, signs kept",
    "text_given_twice": "text given twice",
    "heading_f1": "heading F1",
    "outline_agrees": "outline agrees with the Markdown",
    "cells_right": "cells of tables",
    "order_right": "reading order",
    "equations_with_relation": "equations with a relation",
    "equations_alike": "equations alike",
    "reference_error": "reference count error, mean",
}
LEFT_OUT = "lines left out, furniture aside"
ENDED = "verdicts and exit codes"
TARGETS = {
    "titles": (">=", 0.95), "body lines found once": (">=", 0.99), "of those with numbers, signs kept": (">=", 0.98),
    "text given twice": ("<=", 0.01), "heading F1": (">=", 0.93), "outline agrees with the Markdown": (">=", 0.99),
    "cells of tables": (">=", 0.88), "reading order": (">=", 0.97), "equations with a relation": (">=", 0.90),
    "equations alike": (">=", 0.50), "reference count error, mean": ("<=", 0.03), LEFT_OUT: ("<=", 0.02), ENDED: (">=", 1.0),
}  # fmt: skip
_FURNITURE = ("furniture", "margin")
_STOPPED = 0
Row = tuple[str, str, float | None, str]


def half_of(name: str) -> str:
    """Which half a paper is in, by the name of its file."""
    return HALVES[int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2]


def templates(bench: Bench) -> Iterator[Row]:
    """The figures of the pipeline and of each peer, by half. What a paper has no gold for is not counted for it."""
    folder, gold = (os.path.join(bench.given.papers, name) for name in ("other", "gold-reading"))
    script = os.path.join(bench.given.measure, "reading_quality.py")
    if not (os.path.isdir(folder) and os.path.isdir(gold) and os.path.isfile(script)):
        print(f"(other templates are left out: they need {folder}, {gold} and {script})", file=sys.stderr)
        return
    quality = _load_script(script)
    found: dict[tuple[str, str, str], list[float]] = {}
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".pdf")):
        path, half = os.path.join(folder, name), half_of(name)
        with open(os.path.join(gold, f"{name[:-4]}.json"), encoding="utf-8") as file:
            wanted = json.load(file)
        for who, figures in _figures_of(bench, quality, wanted, path):
            bench.note(f"{name} ({half}), {who}: {figures}")
            for figure, value in figures.items():
                if value is not None:
                    found.setdefault((figure, half, who), []).append(value)
    for (figure, half, who), values in found.items():
        mean = statistics.mean(values)
        words = f"{sum(values):.0f} of {len(values)}" if figure in ("titles", ENDED) else f"{mean:.3f}"
        yield f"{figure}, {half}", who, mean, words


def _figures_of(bench: Bench, quality: Any, gold: Any, path: str) -> Iterator[tuple[str, dict[str, float | None]]]:
    run = bench.run(path)
    outline = run.document("outline.json")
    empty = {"title": None, "sections": [], "references": [], "equations": []}
    figures, _ = quality.score(gold, run.text("paper.md"), outline or empty)
    named = {words: figures[name] for name, words in FIGURES.items() if name in figures}
    if not any(quality.heading(row["title"]) not in ("abstract", "references") for row in gold["sections"]):
        # a page without sections has no F1, and nothing to agree
        named["heading F1"] = None
        named["outline agrees with the Markdown"] = None
    left_out = [row for row in (outline or {}).get("left_out", []) if row["reason"] not in _FURNITURE]
    named[LEFT_OUT] = len(left_out) / max(1, run.text("paper.md").count("\n"))
    named[ENDED] = float(run.verdict in (OK, PARTIAL) and run.code == _STOPPED)
    yield "pipeline", named
    for name in bench.peers.names:
        figures, _ = quality.score(gold, bench.peers.extract(name, path).text, None)
        yield name, {words: figures[key] for key, words in FIGURES.items() if key in figures}


def _load_script(path: str) -> Any:
    specification = importlib.util.spec_from_file_location("reading_quality", path)
    if specification is None or specification.loader is None:
        raise SystemExit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
