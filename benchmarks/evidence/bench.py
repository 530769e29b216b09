"""Judges fakes, wrong formulas and honest code as the built-in check does, and prints what is said of each.

    python benchmarks/evidence/bench.py [--set fakes|wrong_formulas|honest_forms] [--only NAME] [--mutants N|auto|off]

The cases were written without a look at the judge. A fake must not be `tested` where it is faked, nor be accepted and verified;
an honest form must be `executed` at least. A wrong formula that its own tests agree with is beyond the judge: with the user's
tests laid over the workspace, the work must be refused.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

from case import Case  # noqa: TC002 - beside the sets, which need it
from fakes import CASES as FAKES
from honest_forms import CASES as HONEST
from wrong_formulas import CASES as WRONG

from phases.acceptance.checks.code_check import check_code
from phases.evidence.bare_python import bare_python
from phases.evidence.look import EvidenceSetting
from phases.evidence.rungs import IMPLEMENTED
from phases.sandbox.box import Box
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import Workspace

SETS = {"fakes": FAKES, "wrong_formulas": WRONG, "honest_forms": HONEST}
TESTED = ("tested", "guarded")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", choices=SETS, action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--mutants", default="auto")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bare = bare_python(os.path.join(folder, "cache"))
        for name in options.set or SETS:
            cases = [case for case in SETS[name] if options.only in case.name]
            print(f"## {name}: {len(cases)} cases")
            found = [judge(case, os.path.join(folder, case.name), bare, options.mutants) for case in cases]
            SUMMARIES[name](cases, found)
            if name == "wrong_formulas":
                over = [case._replace(files={**case.files, **case.user_tests}) for case in cases]
                again = [judge(case, os.path.join(folder, f"{case.name}-user"), bare, "off") for case in over]
                refused = sum(row["block"] is not None for row in again)
                print(f"with the user's tests laid over the workspace, {refused} of {len(cases)} are refused\n")


def judge(case: Case, folder: str, bare: str, mutants: str) -> dict[str, Any]:
    """What the check says of a case."""
    root = os.path.join(folder, "code")
    os.makedirs(root)
    workspace = Workspace(root)
    for path, text in case.files.items():
        workspace.write(path, text)
    plan = {
        "requirements": case.requirements,
        "file_structure": [{"path": path} for path in case.files if path.endswith(".py")],
        "validation_approach": {"verify_commands": [case.verify], "experiments": []},
    }
    commands = CommandRunner(
        Box(root, kind_of_sandbox("required"), python=bare), Snapshot(root, os.path.join(folder, "kept"))
    )
    commands.step = "check"
    setting = EvidenceSetting(bare, os.path.join(folder, "notes"), mutants)
    found = check_code(workspace, plan, commands, evidence=setting)
    rungs = {row["id"]: row["rung"] for row in found["verification"]["evidence"]}
    print(f"{case.name} ({case.kind}): {rungs or 'not run'}; {_outcome(found)}", flush=True)
    return {**found, "rungs": rungs}


def _outcome(found: Mapping[str, Any]) -> str:
    if found["block"] is not None:
        return f"refused: {' '.join(found['block'].split())[:150]}"
    return (
        "accepted, verified" if found["verification"]["verified"] else f"accepted: {found['verification']['why'][:150]}"
    )


def sum_up_fakes(cases: list[Case], found: list[dict[str, Any]]) -> None:
    rows = [(case, one, name) for case, one in zip(cases, found, strict=True) for name in case.expected]
    tested = [f"{case.name} {name}" for case, one, name in rows if one["rungs"].get(name) in TESTED]
    done = [case.name for case, one in zip(cases, found, strict=True) if one["verification"]["verified"]]
    print(f"\n{len(tested)} of {len(rows)} faked requirements are called tested: {', '.join(tested) or 'none'}")
    print(f"{len(done)} of {len(cases)} fakes are accepted and verified: {', '.join(done) or 'none'}\n")


def sum_up_wrong(cases: list[Case], found: list[dict[str, Any]]) -> None:
    done = sum(one["verification"]["verified"] for one in found)
    print(f"\n{done} of {len(cases)} wrong formulas with tests that agree are accepted and verified by the check alone")


def sum_up_honest(cases: list[Case], found: list[dict[str, Any]]) -> None:
    rows = [(case, one, name) for case, one in zip(cases, found, strict=True) for name in case.expected]
    below = [f"{case.name} {name}" for case, one, name in rows if one["rungs"].get(name) not in IMPLEMENTED]
    lower = [
        f"{case.name} {name}"
        for case, one, name in rows
        if case.expected[name] == "tested" and one["rungs"].get(name) not in TESTED
    ]
    print(f"\n{len(below)} of {len(rows)} honest requirements stand below executed: {', '.join(below) or 'none'}")
    print(f"{len(lower)} that should be tested are not: {', '.join(lower) or 'none'}\n")


SUMMARIES = {"fakes": sum_up_fakes, "wrong_formulas": sum_up_wrong, "honest_forms": sum_up_honest}

if __name__ == "__main__":
    main()
