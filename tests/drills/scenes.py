"""Phases to drill on: a chain of toys, a diamond of them, one that waits, one whose command runs for ever; and a paper,
with what a model says that plans and implements it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from phases.llm.model import Reply, ToolCall, reply_to_json
from tests.agents import PLAN_LISTS
from tests.drills.ground import Ground
from tests.llm_server import Answer, Call, Says, Status, error_body
from tests.toys import STEP, schema_of, toy_name, write_toy, write_toys

_FOLDER = '''"""Toy phase {number}, which writes a folder."""

from pipeline.engine.phase import Phase, build_manifest


def run(inputs, ctx):
    files = {{"{name}/one.txt": {before}, "{name}/in/two.txt": "two"}}
    document = {{"step": {index}, "text": "{name}", "files": build_manifest(files)}}
    return {{"{name}.json": document, **files}}


PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json", "{name}/"), run=run{more})
'''

_WAITING = '''"""Toy phase {number}, which says that it began, and waits to be let go."""

import pathlib
import time

from pipeline.engine.phase import Phase

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

from phases.sandbox.box import Box, OFF
from phases.sandbox.commands import run_command
from pipeline.engine.phase import Phase

SIGNS = pathlib.Path(@signs@)


def run(inputs, ctx):
    before = {before}
    if not (SIGNS / "go").exists():
        run_command(Box(ctx.paths.root, OFF), f"echo $$ > {{SIGNS}}/{name}.pid; touch {{SIGNS}}/begun; exec sleep 600")
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

CODE = {
    "config.py": "ETA = 0.1  # R2, section 3, page 1\nBETA = 0.05  # R2, section 3, page 1\n",
    "decay.py": '''"""The decayed average."""

from config import BETA


def averaged(before: float, weight: float) -> float:
    """R1, section 2, page 1."""
    return (1 - BETA) * before + BETA * before
''',
    "data.py": '''"""The data."""


def gaussians(count: int) -> list[float]:
    """R3, section 3, page 1."""
    return [1.0 if number % 2 else -1.0 for number in range(count)]
''',
    "tests/__init__.py": '"""Tests."""\n',
    "tests/test_decay.py": '''"""Tests of R1."""

import unittest

from config import BETA, ETA
from data import gaussians
from decay import averaged


class DecayTest(unittest.TestCase):
    def test_the_average_moves_to_the_weight(self) -> None:
        """R1."""
        self.assertAlmostEqual(averaged(0.0, 1.0), 0.05)

    def test_the_values_are_those_of_the_table(self) -> None:
        """R2."""
        self.assertEqual((ETA, BETA), (0.1, 0.05))

    def test_the_data_has_both_labels(self) -> None:
        """R3."""
        self.assertEqual(gaussians(3), [-1.0, 1.0, -1.0])
''',
}
CHECK = "python -m unittest discover -s tests -t ."
_QUOTES = {
    "R1": ("algorithm", "We keep the average"),
    "R2": ("hyperparameter", "Hyper-parameters"),
    "R3": ("dataset", "We train on the synthetic two-Gaussian dataset with 1000 examples"),
}
_MEETS = {"config.py": ["R2"], "decay.py": ["R1"], "data.py": ["R3"], "tests/test_decay.py": ["R1"]}
PLAN: dict[str, Any] = {
    "plan_version": 2,
    "paper": {"title": "Decayed Averaging", "core_contribution": "a decayed average"},
    "language": "Python",
    "requirements": [
        {
            "id": name,
            "kind": kind,
            "text": quote,
            "source": {"section": "2", "page": 1, "quote": quote},
            "status": "stated",
        }
        for name, (kind, quote) in _QUOTES.items()
    ],
    "file_structure": [
        {"path": path, "purpose": f"is {path}", **({"implements": _MEETS[path]} if path in _MEETS else {})}
        for path in CODE
    ],
    **{name: [] for name in PLAN_LISTS},
    "validation_approach": {"verify_commands": [CHECK]},
    "environment_setup": {"python": ">=3.11", "packages": []},
    "implementation_strategy": list(CODE),
}


def _turn(text: str, *calls: tuple[str, dict[str, Any]]) -> tuple[str, Sequence[tuple[str, dict[str, Any]]]]:
    return text, calls


def _write(path: str) -> tuple[str, dict[str, Any]]:
    return "Write", {"file_path": path, "content": CODE[path]}


_MENDED = {"file_path": "decay.py", "old_string": "BETA * before\n", "new_string": "BETA * weight\n"}
SAID = (
    ("plan", 1, _turn(json.dumps(PLAN))),
    ("implement", 1, _turn("A list first.", ("TodoWrite", {"todos": [{"content": "all", "status": "completed"}]}))),
    ("implement", 2, _turn("", _write("config.py"))),
    ("implement", 3, _turn("", _write("decay.py"))),
    ("implement", 4, _turn("Two at once.", _write("data.py"), _write("tests/__init__.py"))),
    (
        "implement",
        5,
        _turn("", ("Bash", {"command": "echo one >> log.txt; python -c 'import config; print(config.ETA)'"})),
    ),
    ("implement", 6, _turn("", ("Task", {"description": "look", "prompt": "Where is BETA used?"}))),
    ("explore-6-0", 1, _turn("", ("Glob", {"pattern": "*.py"}), ("Grep", {"pattern": "BETA"}))),
    ("explore-6-0", 2, _turn("", ("Read", {"file_path": "decay.py"}))),
    ("explore-6-0", 3, _turn("In decay.py.")),
    ("implement", 7, _turn("", _write("tests/test_decay.py"))),
    ("implement", 8, _turn("", ("Grep", {"pattern": "BETA"}), ("Read", {"file_path": "decay.py"}))),
    ("implement", 9, _turn("Done.")),  # and the check fails
    ("implement", 10, _turn("", ("Edit", _MENDED))),
    ("implement", 11, _turn("", ("Bash", {"command": f"echo two >> log.txt; {CHECK}"}))),
    ("implement", 12, _turn("Done.")),
)
"""What the model of recorded() says, in order: thread, turn, and the words with the calls."""


_VERDICTS = [
    {"id": name, "verdict": "meets", "line": 0, "sentence": "It does what the paper says."} for name in _QUOTES
]
SERVED = (
    *SAID,
    ("explore-judge", 1, _turn(json.dumps({"judgements": _VERDICTS}))),
    ("implement", 13, _turn("It has no README, and needs none.")),  # after the advice that it has none
)
"""What a served model says, which also reviews the work."""


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


def recorded(base: Path, *, tools: bool = True) -> Ground:
    """The real phases on the small paper, planned and implemented by a recording, with a check that fails at first."""
    path = base / "recording.jsonl"
    rows = []
    for thread, turn, (text, calls) in SAID:
        named = tuple(ToolCall(f"c{place}", name, arguments) for place, (name, arguments) in enumerate(calls))
        rows.append(
            {
                "kind": "reply",
                "key": {"thread": thread, "turn": turn},
                "result": reply_to_json(Reply("ok", text, named)),
            }
        )
    base.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return replace(modelled(base, "--model", f"replay:{path}"), tools=tools)


def spoken(place: int) -> Says:
    """The words of SERVED, as a server says them."""
    _, _, (text, calls) = SERVED[place]
    named = [Call(name, json.dumps(arguments), f"s{place}-{at}") for at, (name, arguments) in enumerate(calls)]
    return Says(text, named, piece=300)


class Voice:
    """The script of a server, whoever asks how often: a question that was asked before gets the same answer, any other the next.

    `instead` has other answers: at a place of the script, what is said there when it is asked for the first time, the
    second time and so on; after that, and where nothing else stands, it is what SERVED has next.
    """

    def __init__(self, instead: Mapping[int, Sequence[Answer]] | None = None) -> None:
        self.asked: list[int] = []
        """For each request, which place of the script it got."""
        self._instead, self._questions = dict(instead or {}), dict[str, int]()
        self._said: dict[int, int] = {}

    def __call__(self, body: dict[str, Any]) -> Answer:
        place = self._questions.setdefault(json.dumps(body, sort_keys=True), len(self._questions))
        times = self.asked.count(place)
        self.asked.append(place)
        others = self._instead.get(place, ())
        if times < len(others):
            return others[times]
        said = self._said.setdefault(place, len(self._said))
        return spoken(said) if said < len(SERVED) else Status(400, error_body("the script is over"))


def modelled(base: Path, *model: str, **extra: str) -> Ground:
    """The real phases on the small paper, with the model that these words of the command name."""
    words = ("run", "--fast", "paper.md", "--review", "auto", *model)
    return Ground(base, arguments=words, text=PAPER, extra=extra)


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
