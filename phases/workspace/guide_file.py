"""AGENTS.md in the generated code: what it is and how it is checked, for whoever goes on with it in another program.

One text for every task, so that it is known by its digest: it is nobody's work, and no manifest has it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection

from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.files import sha256

GUIDE = "AGENTS.md"
RULES = """\
- Code says in a docstring or comment which part it implements: a requirement's id, or its section, equation or algorithm.
- Tests fail if the code is wrong: they assert numbers worked out by hand, and relations that the text states.
- No stub is called done, and none of the paper's results is written into the code.
"""
_TEXT = f"""# For whoever changes this code

It implements a research paper or a request, and was written from a plan that cites it for each requirement.

- ../paper.md is that text, ../initial_plan.txt the plan: a requirement is R and a number, a value V and a number.
- ../traceability.json says where each is in the code and which tests run it, ../report.json how the work ended.
- The checks are the commands under validation_approach in the plan; run them here.
{RULES}- Leave .pipeline as it is. `pipeline verify` checks the code again; `pipeline trace` shows what is known of a requirement.
"""
_DIGESTS = frozenset(
    (
        sha256(_TEXT.encode()),
        "2759b96c80b044fb7e0247f8ae5973f7354e489c10f2062bd14c012013799ebe",
        "00a910ffc2bf108aae50569fa8161eb3ab9e840c6ceefa9bb33d9297f58801cc",
        "af7748eb788eefef0c560b95f8c7909c541fd65f80dc0c30cb0a668e3952f46b",
    )
)
"""Of this text, and of those that earlier releases wrote: who changes the text adds the digest that it had."""


def is_guide(path: str, digest: str) -> bool:
    """Whether a file of the workspace is this one, as it was written."""
    return path == GUIDE and digest in _DIGESTS


def write_guide(workspace: Workspace, planned: Collection[str]) -> None:
    """Writes it where nothing of that name is, nor is to be. Raises StorageError."""
    path = os.path.join(workspace.root, GUIDE)
    if not os.path.lexists(path) and GUIDE.casefold() not in map(str.casefold, planned):
        workspace.write(GUIDE, _TEXT)


def remove_unfinished_guide(workspace: Workspace) -> None:
    """Remove what a kill within `write_guide` left: a later look at the tree would take it for work."""
    with contextlib.suppress(WorkspaceError):
        workspace.remove(f".{GUIDE}.tmp")
