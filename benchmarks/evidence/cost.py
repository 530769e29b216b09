"""What the look at tests costs: a suite of so many seconds, run plainly, watched, and with changes tried.

    python benchmarks/evidence/cost.py [--seconds 5] [--tests 20] [--mutants 5]

The code is a tight loop of plain Python, the dearest kind to watch.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from phases.acceptance.checks.code_check import check_code
from phases.evidence.bare_python import bare_python
from phases.evidence.look import EvidenceSetting
from phases.sandbox.box import Box
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import Workspace

_CODE = '''"""Steps of a walk."""


def step(x: float, rate: float) -> float:
    """R1: one step."""
    if x > 1.0:
        x = x - 1.0
    return x * (1.0 - rate) + rate


def walk(count: int, rate: float) -> float:
    """R2: so many steps."""
    x = 0.0
    for _ in range(count):
        x = step(x, rate)
    return x
'''
_TEST = """

def test_r{rule}_{number}() -> None:
    assert abs(walk({count}, 0.25) - 1.0) < 1e-9
    assert step(0.0, 0.5) == 0.5
"""
_STEPS_A_SECOND = 6_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--tests", type=int, default=20)
    parser.add_argument("--mutants", type=int, default=5)
    options = parser.parse_args()
    count = int(options.seconds / options.tests * _STEPS_A_SECOND)
    tests = "".join(
        _TEST.format(number=number, rule=1 + number % 2, count=max(count, 100)) for number in range(options.tests)
    )
    with tempfile.TemporaryDirectory() as folder:
        bare = bare_python(os.path.join(folder, "cache"))
        plain = _look(folder, "plain", tests, EvidenceSetting())
        watched = _look(folder, "watched", tests, EvidenceSetting(bare, os.path.join(folder, "notes"), "off"))
        changed = _look(
            folder, "changed", tests, EvidenceSetting(bare, os.path.join(folder, "notes"), str(options.mutants))
        )
    print(f"plain {plain:.1f} s, watched {watched:.1f} s ({watched / plain:.2f} times)")
    print(f"with changes tried {changed:.1f} s, of which the changes took {changed - watched:.1f} s")


def _look(folder: str, name: str, tests: str, setting: EvidenceSetting) -> float:
    """The seconds of one check."""
    root = os.path.join(folder, name)
    os.mkdir(root)
    workspace = Workspace(root)
    workspace.write("work.py", _CODE)
    workspace.write("test_work.py", f"from work import step, walk\n{tests}")
    rows = [{"id": f"R{number}", "kind": "equation", "text": "a step"} for number in (1, 2)]
    plan = {
        "requirements": rows,
        "file_structure": [{"path": "work.py"}, {"path": "test_work.py"}],
        "validation_approach": {"verify_commands": ["python -m pytest -q"]},
    }
    box = Box(root, kind_of_sandbox("required"), python=setting.bare or None)
    commands = CommandRunner(box, Snapshot(root, os.path.join(folder, f"{name}-kept")))
    commands.step = "check"
    began = time.monotonic()
    found = check_code(workspace, plan, commands, evidence=setting)
    took = time.monotonic() - began
    said = {
        row["id"]: f"{row['level']} ({row['noticed']} of {row['tried']})" for row in found["verification"]["evidence"]
    }
    print(f"{name}: {took:.1f} s, {said}, {found['verification']['why'][:120]}", flush=True)
    return took


if __name__ == "__main__":
    main()
