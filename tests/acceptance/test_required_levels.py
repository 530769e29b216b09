"""`--require`: the level of evidence that a user demands of every requirement; and programs that checks lack."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.checks.code_check import Reviewer, check_code
from phases.acceptance.checks.missing_programs import describe_missing_programs, missing_programs
from phases.evidence.look import EvidenceSetting
from phases.evidence.traceability import find_below
from phases.sandbox.box import NONE, OFF, Box, with_machine
from phases.sandbox.commands import kind_of_sandbox, run_command
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import Workspace
from tests.bare import shared_python

KIND = kind_of_sandbox("required")
needs_a_sandbox = pytest.mark.skipif(KIND == NONE, reason="no sandbox works on this machine")
CODE = '''"""The sums of a paper."""


def total(values):
    """Return the sum (R1)."""
    result = 0
    for value in values:
        result = result + 2 * value
    return result


def mean(values):
    """Return the mean (R2)."""
    return sum(values) / len(values)
'''
TESTS = "import unittest\n\nfrom sums import total\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        {}\n"
EXACT, LOOSE = "self.assertEqual(total([1, 2, 4]), 14)", "self.assertIsNotNone(total([1]))"
TOTAL = {"id": "R1", "kind": "equation", "text": "Sum twice all values."}
MEAN = {"id": "R2", "kind": "equation", "text": "Take the mean."}
SPREAD = {"id": "R3", "kind": "equation", "text": "Take the spread."}


def verdict_of(
    tmp_path: Path,
    require: str,
    test: str,
    *requirements: dict[str, Any],
    code: str = CODE,
    review: Reviewer | None = None,
) -> dict[str, Any]:
    root = tmp_path / "task" / "generate_code"
    root.mkdir(parents=True)
    (root / "sums.py").write_text(code)
    (root / "test_sums.py").write_text(TESTS.format(test))
    checks = {"verify_commands": ["python -m unittest"]}
    plan = {
        "file_structure": [{"path": "sums.py"}], "validation_approach": checks, "requirements": requirements
    }  # fmt: skip
    box = Box(str(root), KIND, python=shared_python())
    commands = CommandRunner(box, Snapshot(str(root), str(tmp_path / "task" / "kept")))
    commands.step = "verdict-1"
    mutants = "5" if require == "guarded" else "off"
    evidence = EvidenceSetting(shared_python(), str(tmp_path / "task" / "evidence"), mutants, require=require)
    verdict = check_code(Workspace(str(root)), plan, commands, evidence=evidence, review=review)
    commands.settled()
    return verdict


@needs_a_sandbox
@pytest.mark.parametrize(
    ("require", "test", "requirements", "told"),
    [
        ("", EXACT, (TOTAL, MEAN, SPREAD), ""),
        ("located", EXACT, (TOTAL, MEAN), ""),
        ("located", EXACT, (TOTAL, SPREAD), "R3 is unlocated"),
        ("run", LOOSE, (TOTAL,), ""),
        ("run", EXACT, (TOTAL, MEAN), "R2 is located: no passing test runs sums.py:mean"),
        ("guarded", EXACT, (TOTAL,), ""),
        ("guarded", LOOSE, (TOTAL,), "R1 is run: its tests also pass with sums.py, line"),
    ],
)
def test_code_is_refused_below_the_level_that_the_user_requires_and_for_nothing_else(
    tmp_path: Path, require: str, test: str, requirements: tuple[dict[str, Any], ...], told: str
) -> None:
    block = verdict_of(tmp_path, require, test, *requirements)["block"]
    if told:
        assert block.startswith(f"the user requires `{require}` of every requirement, and 1 are below it:\n{told}")
    else:
        assert block is None


def test_what_cannot_be_measured_is_not_below_a_level() -> None:
    row = {"id": "R1", "level": "located", "note": "", "missed": [], "measured": False, "tried": 0}
    assert find_below([row], "run") == ([], ["R1 is located"])
    assert find_below([{**row, "measured": True}], "run") == (["R1 is located"], [])
    assert find_below([{**row, "level": "run", "measured": True}], "guarded") == ([], ["R1 is run"])


# Programs


def program_in(folder: Path, name: str) -> str:
    folder.mkdir(parents=True)
    (folder / name).write_text("#!/bin/sh\necho compiled\n")
    (folder / name).chmod(0o755)
    return str(folder)


def plan_with(*commands: str) -> dict[str, Any]:
    return {
        "environment_setup": {"packages": ["ruff>=0.4"]},
        "validation_approach": {"verify_commands": list(commands)},
    }


def test_programs_that_no_command_finds_are_named_once_with_their_command(tmp_path: Path) -> None:
    plan = plan_with(
        "no-cargo test", "cd x && no-cargo build", "no-cargo run", "ruff check", "python -m pytest", "A=1 no-go vet"
    )
    missing = missing_programs(plan, Box("", KIND))
    assert missing == {"no-cargo": "no-cargo test", "no-go": "A=1 no-go vet"}
    wanted = {**plan, "environment_setup": {"packages": [], "tools": ["no-node", "sh"]}}
    assert missing_programs(wanted, Box("", KIND))["no-node"] == "no-node"
    assert "--programs DIR" in describe_missing_programs(missing)[0]
    shown = with_machine(Box("", KIND), {"programs": program_in(tmp_path / "tools", "no-cargo")})
    assert missing_programs(plan, shown) == {"no-go": "A=1 no-go vet"}


@needs_a_sandbox
@pytest.mark.parametrize("inside", ["", "bin"], ids=["at its top", "in its bin"])
def test_commands_run_the_programs_of_a_directory_that_the_user_shows(inside: str, tmp_path: Path) -> None:
    program_in(tmp_path / "tools" / inside, "no-cargo")
    (tmp_path / "work").mkdir()
    hidden = Box(str(tmp_path / "work"), KIND)
    shown = with_machine(hidden, {"programs": str(tmp_path / "tools")})
    assert run_command(hidden, "no-cargo").exit_code == 127
    assert run_command(shown, "no-cargo").output.split() == ["compiled"]
    assert run_command(shown, f"touch {tmp_path}/tools/new").exit_code != 0


def test_with_the_users_own_rights_commands_find_what_his_shell_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program_in(tmp_path / "tools", "no-cargo")
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/tools", prepend=os.pathsep)
    assert run_command(Box(str(tmp_path / "work"), OFF), "no-cargo").output.split() == ["compiled"]


@needs_a_sandbox
@pytest.mark.parametrize(
    ("verdicts", "doubts"),
    [
        (None, ["sums.py:total returns a constant for any input (R1)"]),
        (("meets", "meets"), []),
        (("meets", None), []),
        ((None, "meets"), ["sums.py:total returns a constant for any input (R1)"]),
        (("differs", "meets"), ["R1 differs: It is a constant. (model)"]),
    ],
    ids=["nobody has read it", "all was read", "it was read", "another part was read", "a difference was found"],
)
def test_a_sign_of_fake_work_is_told_where_no_reviewer_has_decided(
    verdicts: tuple[str | None, ...] | None, doubts: list[str], tmp_path: Path
) -> None:
    def review(workspace: Workspace, rows: Any, tried: Any) -> tuple[list[dict[str, Any]], list[str]]:
        said = {"by": "model", "file": "", "line": 0, "sentence": "It is a constant."}
        return [
            {**row, **({"judged": {"verdict": verdict, **said}} if verdict else {})}
            for row, verdict in zip(rows, verdicts or (), strict=True)
        ], []

    code = 'def total(values):\n    """Return the sum of all values (R1, R2)."""\n    return 12\n'
    rows = (TOTAL, MEAN)
    verdict = verdict_of(tmp_path, "", EXACT.replace("14", "12"), *rows, code=code, review=review if verdicts else None)
    assert (verdict["block"], verdict["verification"]["doubts"]) == (None, doubts)
