"""Judge fakes, wrong formulas and honest code by the built-in check, alone or with a reviewer, and print the verdicts.

    python benchmarks/evidence/bench.py [--set fakes|wrong_formulas|honest_forms] [--only NAME,NAME] [--mutants N] [--judge NAME]

The cases were written without a look at the check. A fake should be refused or be in doubt, and never be vouched for by more
than its own tests; an honest form must be accepted without a doubt. A wrong formula that its own tests agree with is beyond the
check: with the user's tests laid over the workspace, the work must be refused.
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

from phases.acceptance.checks.code_check import Reviewer, check_code
from phases.agent.judge import Judge
from phases.evidence.bare_python import bare_python
from phases.evidence.look import EvidenceSetting
from phases.evidence.places import is_test_file
from phases.evidence.traceability import RUN
from phases.llm.ledger import Ledger
from phases.llm.model import as_model
from phases.sandbox.box import Box
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import Workspace
from pipeline.cli.assembly import open_model
from pipeline.engine.contract import Contracts
from pipeline.engine.settings import Settings

SETS = {"fakes": FAKES, "wrong_formulas": WRONG, "honest_forms": HONEST}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", choices=SETS, action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--mutants", default="off")
    parser.add_argument("--judge", default="", help="a model as in --model; then --base-url says where it is")
    parser.add_argument("--base-url", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bare = bare_python(os.path.join(folder, "cache"))
        for name in options.set or SETS:
            cases = [case for case in SETS[name] if any(word in case.name for word in options.only.split(","))]
            print(f"## {name}: {len(cases)} cases")
            places = [os.path.join(folder, case.name) for case in cases]
            found = [
                judge(case, place, bare, options.mutants, review=_open_reviewer(case, place, options))
                for case, place in zip(cases, places, strict=True)
            ]
            SUMMARIES[name](cases, found)
            own = [case for case in cases if case.user_tests]
            again = [judge(case, os.path.join(folder, f"{case.name}-user"), bare, "off", given=True) for case in own]
            print(
                f"with the user's tests, {sum(row['block'] is not None for row in again)} of {len(own)} are refused\n"
            )


def _open_reviewer(case: Case, folder: str, options: argparse.Namespace) -> Reviewer | None:
    if not options.judge:
        return None
    values = {**Settings()._asdict(), "judge": options.judge, "base_url": options.base_url, "send_key": "yes"}
    model = as_model(open_model(values, "judge"))
    if model is None:
        raise SystemExit(f"{options.judge} cannot review")
    os.makedirs(folder)
    text = "\n\n".join(row["text"] for row in case.requirements)
    rows = [
        {**row, "status": "stated", "source": {"section": "1", "page": 1, "quote": row["text"]}}
        for row in case.requirements
    ]
    with open(os.path.join(folder, "paper.md"), "w", encoding="utf-8") as paper:
        paper.write(f"---\ntitle: {case.name}\n---\n<!-- page 1 -->\n{text}\n")
    ledger = Ledger(os.path.join(folder, "llm.jsonl"), {}, lambda: None)
    places = os.path.join(folder, "asked"), 1, os.path.join(folder, "paper.md")
    plan = {**plan_of(case), "requirements": rows}
    return Judge(model, ledger, *places, plan, Contracts().breach, lambda: None, lambda value: value).review


def plan_of(case: Case) -> dict[str, Any]:
    """Return the plan that a case is judged by."""
    return {
        "requirements": case.requirements,
        "file_structure": [
            {"path": path, "implements": [] if is_test_file(path) else [row["id"] for row in case.requirements]}
            for path in case.files
            if path.endswith(".py")
        ],
        "validation_approach": {"verify_commands": [case.verify]},
    }


def judge(
    case: Case, folder: str, bare: str, mutants: str, *, given: bool = False, review: Reviewer | None = None
) -> dict[str, Any]:
    """Return the verdict of the check on a case. `given`: with its user's tests."""
    root = os.path.join(folder, "code")
    os.makedirs(root)
    workspace = Workspace(root)
    for path, text in case.files.items():
        workspace.write(path, text)
    user_tests = os.path.join(folder, "user_tests")
    os.makedirs(user_tests)
    for path, text in case.user_tests.items():
        Workspace(user_tests).write(path, text)
    commands = CommandRunner(
        Box(root, kind_of_sandbox("required"), python=bare), Snapshot(root, os.path.join(folder, "kept"))
    )
    commands.step = "check"
    setting = EvidenceSetting(bare, os.path.join(folder, "notes"), mutants, user_tests if given else "")
    found = check_code(workspace, plan_of(case), commands, evidence=setting, review=review)
    levels = {row["id"]: row["level"] for row in found["verification"]["evidence"]}
    print(f"{case.name} ({case.kind}): {levels}; {_outcome(found)}", flush=True)
    return found


def _outcome(found: Mapping[str, Any]) -> str:
    if found["block"] is not None:
        return f"refused: {' '.join(found['block'].split())[:150]}"
    return (
        "accepted, verified" if found["verification"]["verified"] else f"accepted: {found['verification']['why'][:150]}"
    )


def sum_up_fakes(cases: list[Case], found: list[dict[str, Any]]) -> None:
    refused = sum(one["block"] is not None for one in found)
    doubted = sum(one["block"] is None and bool(one["verification"]["doubts"]) for one in found)
    done = [case.name for case, one in zip(cases, found, strict=True) if one["verification"]["verified"]]
    more = [one for one in found if len(one["verification"]["verified_by"]) > 1]
    print(f"\n{refused} of {len(cases)} fakes are refused, {doubted} in doubt, {len(done)} accepted without a doubt")
    print(f"without a doubt: {', '.join(done) or 'none'}; vouched for by more than their own tests: {len(more)}\n")


def sum_up_wrong(cases: list[Case], found: list[dict[str, Any]]) -> None:
    done = sum(one["verification"]["verified"] for one in found)
    print(f"\n{done} of {len(cases)} wrong formulas with tests that agree are accepted and verified by the check alone")


def sum_up_honest(cases: list[Case], found: list[dict[str, Any]]) -> None:
    refused = [case.name for case, one in zip(cases, found, strict=True) if one["block"] is not None]
    doubted = [case.name for case, one in zip(cases, found, strict=True) if one["verification"]["doubts"]]
    print(f"\n{len(refused)} of {len(cases)} honest forms are refused: {', '.join(refused) or 'none'}")
    print(f"{len(doubted)} are in doubt: {', '.join(doubted) or 'none'}")
    levels = [row["level"] for one in found for row in one["verification"]["evidence"]]
    print(f"{levels.count(RUN)} of their {len(levels)} requirements are run by passing tests\n")


SUMMARIES = {"fakes": sum_up_fakes, "wrong_formulas": sum_up_wrong, "honest_forms": sum_up_honest}

if __name__ == "__main__":
    main()
