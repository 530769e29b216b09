"""What lies in the workspace, by path and content: the one way to tell whether a run has changed it."""

from __future__ import annotations

from phases.agent.workspace import Workspace
from pipeline.files import sha256


def tree_digest(workspace: Workspace) -> str:
    """One sha256 for all files of the workspace: what a verdict is about."""
    lines = "".join(f"{row.path} {row.bytes} {row.sha256}\n" for row in workspace.digests())
    return sha256(lines.encode("utf-8", "surrogateescape"))
