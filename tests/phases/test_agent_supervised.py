"""Runs under supervision, as they are: a healthy one, one that is led out of a loop, one that cannot be helped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phases.agent.implement import implement
from phases.agent.model import Reply, Request
from phases.agent.sandbox.commands import NONE, kind_of_sandbox
from phases.agent.supervisor_replay import replayed
from pipeline.errors import Paused
from tests.agents import CONTRACTS, Scripted, assignment_in, call, small_plan, tree, write

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
CHECK = "python -m unittest -q test_sum"
PATHS = ("config.py", "numbers_of.py", "total.py", "report.py", "test_sum.py")
PLAN = small_plan(*PATHS, verify=(CHECK,))
TEST = (
    "import unittest\n\nfrom total import total\n\n\nclass SumTest(unittest.TestCase):\n"
    "    def test_the_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
RIGHT = "def total(values):\n    return sum(values)\n"
_LEADS = "The supervisor leads from here"


def wrong(number: int) -> str:
    """Another wrong sum, which fails in just the same way."""
    return f"def total(values):\n    attempt = {number}\n    return len(values)\n"


def written() -> list[Reply]:
    return [
        write("config.py", "UNIT = 1\n"),
        write("numbers_of.py", "def numbers():\n    return [1, 2]\n"),
        write("total.py", wrong(0)),
        write("report.py", "def report(value):\n    return str(value)\n"),
        write("test_sum.py", TEST),
    ]


def supervised(folder: Path, model: Scripted, mode: str = "adaptive", **limits: Any) -> dict[str, Any]:
    work = assignment_in(folder, PLAN, supervisor=mode, **limits)
    return implement(work, model, lambda done, total, text: None)["implementation"]


def report(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "kernel-report.json").read_text())


def events(folder: Path) -> list[str]:
    path = folder / "kernel" / "supervisor-events.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [f"{row['round']} {row['event']} {row['reason']}" for row in map(json.loads, lines)]


def said(request: Request) -> str:
    return "\n".join(message.text for message in request.messages)


def looping(helped: bool) -> Callable[[Request], Reply]:
    """Writes all files, then changes the sum again and again without getting it right, until it is led, if that helps."""

    def reply(request: Request) -> Reply:
        first = written()
        if request.turn <= len(first):
            return first[request.turn - 1]
        step = request.turn - len(first)
        if helped and _LEADS in said(request):
            if "return sum(values)" not in said(request):
                return write("total.py", RIGHT)
        if step % 2:
            return call("Bash", command=CHECK)
        return write("total.py", wrong(step))

    return reply
