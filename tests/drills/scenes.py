"""Phases to drill on: a chain of toys, a diamond of them, one that waits, one whose command runs for ever; and a paper."""

from __future__ import annotations

import json
from pathlib import Path

from tests.drills.ground import Ground
from tests.toys import STEP, schema_of, toy_name, write_toy, write_toys

_FOLDER = '''"""Toy phase {number}, which writes a folder."""

from pipeline.phase import Phase, manifest


def run(inputs, ctx):
    files = {{"{name}/one.txt": {before}, "{name}/in/two.txt": "two"}}
    document = {{"step": {index}, "text": "{name}", "files": manifest(files)}}
    return {{"{name}.json": document, **files}}


PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json", "{name}/"), run=run{more})
'''

_WAITING = '''"""Toy phase {number}, which says that it began, and waits to be let go."""

import pathlib
import time

from pipeline.phase import Phase

SIGNS = pathlib.Path(@signs@)


def run(inputs, ctx):
    before = {before}
    with (SIGNS / "begun").open("a") as file:
        file.write("{name}\\n")
    while not (SIGNS / "go").exists():
        time.sleep(0.01)
    return {{"{name}.json": {{"step": {index}, "text": before + "{name} "}}}}


PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run{more})
'''

_COMMANDING = '''"""Toy phase {number}, whose command runs for ever, the first time."""

import os
import pathlib

from phases.agent.sandbox.commands import run_command
from pipeline.phase import Phase

SIGNS = pathlib.Path(@signs@)


def run(inputs, ctx):
    before = {before}
    if not (SIGNS / "go").exists():
        run_command(f"echo $$ > {{SIGNS}}/{name}.pid; touch {{SIGNS}}/begun; exec sleep 600", ctx.paths.root, "off")
    return {{"{name}.json": {{"step": {index}, "text": before + "{name} "}}}}


PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run{more})
'''

PAPER = r"""# Decayed Averaging for Online Linear Classification

A. Author, B. Writer

## Abstract

We study online linear classification with a decayed average of the weight vectors. The averaged classifier makes fewer
mistakes on a stream of examples than its last iterate.

## 1 Introduction

Online learners see one example at a time. The perceptron [1] updates its weights on every mistake.

## 2 Method

Let $w_t$ be the weights after example $t$. We keep the average

$$ a_t = (1 - \beta) a_{t-1} + \beta w_t \tag{1} $$

**Algorithm 1** Decayed averaging
Input: examples (x, y), rate eta, decay beta
1. w = 0, a = 0
2. for each example: predict sign(w x)
3. if the prediction is wrong: w = w + eta y x
4. a = (1 - beta) a + beta w
5. return a

## 3 Experiments

We train on the synthetic two-Gaussian dataset with 1000 examples and report accuracy against the perceptron baseline.

Table 1: Hyper-parameters

| name | value |
|------|-------|
| eta | 0.1 |
| beta | 0.05 |
| epochs | 5 |

## References

[1] F. Rosenblatt. The perceptron. Psychological Review, 1958.
"""


def chain(base: Path, count: int = 4) -> Ground:
    """A chain of toys; the last one writes a folder."""
    folder = write_toys(base / "toys", count)
    write_toy(folder, count - 1, body=_FOLDER)
    _let_files_in(folder, count - 1)
    return Ground(base, str(folder), tools=False)


def diamond(base: Path) -> Ground:
    """Two toys side by side, between a first and a last one: the middle runs in threads."""
    folder = write_toys(base / "toys", 2)
    write_toy(folder, 2, body=STEP.replace("{reads}", '("toy00.json",)').replace("{before}", '""'))
    write_toy(folder, 3, body=STEP.replace("{reads}", '("toy01.json", "toy02.json")'))
    return Ground(base, str(folder), tools=False)


def waiting(base: Path) -> Ground:
    """Three toys; the one in the middle waits until it is let go."""
    folder = write_toys(base / "toys", 3)
    write_toy(folder, 1, body=_signed(_WAITING, base))
    return Ground(base, str(folder), tools=False)


def commanding(base: Path, *, side_by_side: bool) -> Ground:
    """Three toys, of which the one in the middle runs a command without end; or two of that kind, side by side."""
    folder = write_toys(base / "toys", 3)
    write_toy(folder, 1, body=_signed(_COMMANDING, base))
    if side_by_side:
        body = _COMMANDING.replace("{reads}", '("toy00.json",)').replace("{before}", '""')
        write_toy(folder, 2, body=_signed(body, base))
    return Ground(base, str(folder))


def paper(base: Path, *, tools: bool) -> Ground:
    """The real phases, fast, on a small paper. Without tools the run starts no other process."""
    return Ground(base, arguments=("run", "--fast", "paper.md"), text=PAPER, tools=tools)


def _signed(body: str, base: Path) -> str:
    signs = base / "signs"
    signs.mkdir(exist_ok=True)
    return body.replace("@signs@", repr(str(signs)))


def _let_files_in(folder: Path, index: int) -> None:
    schema = schema_of(index)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    properties["files"] = {"type": "array", "items": {"type": "object"}}
    (folder / "schemas" / f"{toy_name(index)}.schema.json").write_text(json.dumps(schema))
