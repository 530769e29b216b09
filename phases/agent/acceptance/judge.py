"""The verdict of the built-in checks: planned files, then the plan's verify commands in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phases.agent.acceptance.manifest import tree_digest
from phases.agent.acceptance.written import file_problems
from phases.agent.commands import Commands
from phases.agent.sandbox.commands import NONE
from phases.agent.workspace import Workspace

MOST_CONTINUES = 3
NOT_VERIFIED: dict[str, Any] = {"verified": None, "tree_sha256": None, "sandbox": NONE, "commands": []}
_SECONDS = 300
_TAIL = 1500


def judge(
    workspace: Workspace, plan: dict[str, Any], commands: Commands, untouched: Sequence[str] = ()
) -> dict[str, Any]:
    """The verdict on the workspace as it is: `block` is None, or what must be mended, in words for the model.

    `untouched`: files that this work was to change and that are as they were.
    """
    problems = [
        *file_problems(workspace, plan),
        *(f"{path} is as it was, and the plan changed it" for path in untouched),
    ]
    verification = {**NOT_VERIFIED, "tree_sha256": tree_digest(workspace), "sandbox": commands.box.kind}
    if not problems and commands.box.kind != NONE:
        verification = _verify(workspace, plan, commands)
        problems = [
            f"`{row['command']}` ended with {row['exit_code']}:\n{row['tail']}"
            for row in verification["commands"]
            if row["exit_code"] != 0
        ]
    return {"block": "\n\n".join(problems) or None, "verification": verification}


def _verify(workspace: Workspace, plan: dict[str, Any], commands: Commands) -> dict[str, Any]:
    rows = []
    for command in plan["validation_approach"]["verify_commands"]:
        finished = commands.run(command, _SECONDS)
        tail = finished.output[-_TAIL:]
        limit = f"\nstopped by a limit: {finished.limit}" if finished.limit else ""
        rows.append({"command": command, "exit_code": finished.exit_code, "tail": tail + limit})
    commands.take_back()
    passed = all(row["exit_code"] == 0 for row in rows) if rows else None
    return {"verified": passed, "tree_sha256": tree_digest(workspace), "sandbox": commands.box.kind, "commands": rows}
