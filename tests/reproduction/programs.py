"""Small programs with experiments, honest ones and cheats, and what phase 10 says of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from phases.reproduction.reproduce import Request, reproduce_tables
from phases.reproduction.runs import Place
from phases.sandbox.commands import kind_of_sandbox
from pipeline.engine.contract import Contracts
from tests.bare import shared_python

ROWS = 400
FIGURE = 18.75
"""What the paper reports, unless a test says something else."""


def contracts() -> Contracts:
    return Contracts()


def expect(value: object = FIGURE, *, metric: str = "error", count: int = 1, **more: Any) -> list[dict[str, Any]]:
    """Rows of a plan's expected_results, E1 to En, all of one figure."""
    row = {
        "table": "Table 2",
        "row": "ours",
        "column": "Error",
        "metric": metric,
        "value": value,
        "unit": "%",
        "page": 3,
    }
    return [{"id": f"E{number}", **row, **more} for number in range(1, count + 1)]


def declare(command: str = "python study.py", results: str = "[E1]", **more: str) -> str:
    """experiments.yaml with one experiment."""
    rows = "".join(f"    {name}: {value}\n" for name, value in more.items())
    return f"experiments:\n  - name: main\n    results: {results}\n    quick: {command} --quick\n    full: {command}\n{rows}"


def reproduce(
    folder: Path,
    files: dict[str, str],
    expected: list[dict[str, Any]] | None = None,
    *,
    size: str = "full",
    held_out: Path | None = None,
    percent: float = 0.0,
    seconds: float = 60.0,
    python: str = "",
    readable: tuple[str, ...] = (),
    **more: Any,
) -> dict[str, Any]:
    """results.json of these files; checked against its schema."""
    code = folder / "task" / "generate_code"
    for path, text in files.items():
        (code / path).parent.mkdir(parents=True, exist_ok=True)
        (code / path).write_text(text)
    code.mkdir(parents=True, exist_ok=True)
    plan = {"requirements": [], "expected_results": expect() if expected is None else expected, **more}
    place = Place(
        str(folder / "task" / "results"),
        kind_of_sandbox("required"),
        python or shared_python(),
        readable,
        seconds,
        str(held_out or ""),
        lambda: None,
    )
    found = reproduce_tables(
        Request(
            plan,
            str(code),
            size,
            percent,
            place,
            lambda data: dict(contracts().parse("experiments.yaml", data, writer="the code")),
        )
    )
    contracts().serialise("results.json", found, writer="a test")
    return found


def cell(found: dict[str, Any], name: str = "E1") -> dict[str, Any]:
    return next(row for row in found["cells"] if row["id"] == name)


def hold_out(folder: Path) -> Path:
    """Data of the user: two clouds of points; the labels of the second half are held back, and nothing tells them."""
    draw = random.Random(20261123)
    rows = []
    for number in range(2 * ROWS):
        label = draw.randrange(2)
        rows.append((number, draw.gauss(0.0, 1.0) + 1.75 * label, label))
    held_out = folder / "held_out"
    (held_out / "labels").mkdir(parents=True)
    training = "".join(f"{number},{x:.6f},{label}\n" for number, x, label in rows[:ROWS])
    test = "".join(f"{number},{x:.6f}\n" for number, x, _ in rows[ROWS:])
    labels = "".join(f"{number},{label}\n" for number, _, label in rows[ROWS:])
    (held_out / "train.csv").write_text("row,x,y\n" + training)
    (held_out / "test.csv").write_text("row,x\n" + test)
    (held_out / "labels" / "main.csv").write_text("row,y_true\n" + labels)
    return held_out


READ = """\
import csv, json, os, random, sys

def rows(name):
    with open(name, newline="") as file:
        return list(csv.DictReader(file))

def write(predicted, true=None):
    with open("results/predictions.csv", "w") as file:
        file.write("result,row,y_pred" + (",y_true" if true else "") + "\\n")
        for number, (row, label) in enumerate(predicted):
            file.write(f"E1,{row},{label}" + (f",{true[number]}" if true else "") + "\\n")
"""
HONEST = (
    READ
    + """
def mean(values):
    return sum(values) / len(values)

def threshold(training):
    classes = [[float(row["x"]) for row in training if row["y"] == label] for label in "01"]
    return sum(map(mean, classes)) / 2

border = threshold(rows("data/train.csv"))
write([(row["row"], int(float(row["x"]) > border)) for row in rows("data/test.csv")])
"""
)
"""The classifier with the nearest class mean: what the paper of these tests proposes."""
