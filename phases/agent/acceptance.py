"""Whether the work is done: decided by files and checks, never by what the model says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phases.agent.commands import Commands
from phases.agent.sandbox.commands import NONE
from phases.agent.tools import syntax
from phases.agent.workspace import Workspace, WorkspaceError
from pipeline.files import sha256

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


def file_problems(workspace: Workspace, plan: dict[str, Any]) -> list[str]:
    """What is wrong with the planned files: not there, empty, or not what their names say."""
    problems = [f"delete what cannot be taken in: {stray}" for stray in workspace.strays()]
    faults = ((row["path"], fault_of(workspace, row["path"])) for row in plan["file_structure"])
    return problems + [f"{path} {fault}" for path, fault in faults if fault]


def fault_of(workspace: Workspace, path: str) -> str | None:
    """Why a planned file is no file yet, or None."""
    try:
        text = workspace.read(path)
    except WorkspaceError as error:
        return f"is planned and not there ({error})"
    if not text.strip():
        return "is empty"
    fault = syntax.fault_of(path, text)
    return f"does not parse: {fault}" if fault else None


def tree_digest(workspace: Workspace) -> str:
    """One sha256 for all files of the workspace: what a verdict is about."""
    lines = "".join(f"{row.path} {row.bytes} {row.sha256}\n" for row in workspace.digests())
    return sha256(lines.encode("utf-8", "surrogateescape"))


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
