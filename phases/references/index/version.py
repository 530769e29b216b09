"""What an index was made with: where that changes, the same file may give something else."""

from __future__ import annotations

import sys
from importlib.metadata import distributions

from phases.references.parse.ipc import GIVEN_UP
from phases.references.parse.model import VERSION, Parsed

_GRAMMARS = "tree-sitter"


def index_version() -> str:
    """`1, python 3.11, tree-sitter 0.26.1, c 0.24.2`: our version, and those of all that parses."""
    found = {
        str(name).lower().replace("_", "-"): one.version
        for one in distributions()
        if (name := one.metadata["Name"]) and str(name).lower().startswith(("tree-sitter", "tree_sitter"))
    }
    grammars = [f"{name.removeprefix(_GRAMMARS + '-')} {found[name]}" for name in sorted(found)]
    return ", ".join((str(VERSION), f"python {sys.version_info[0]}.{sys.version_info[1]}", *grammars))


def file_version(by: str, parsed: Parsed) -> str:
    """What a file's row is made by: one that was given up is as good as made by nothing, and the next run tries again."""
    return f"{by} (given up)" if parsed.fault.startswith(GIVEN_UP) else by
