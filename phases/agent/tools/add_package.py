"""AddPackage: a package that the plan lacks, installed for commands in the sandbox, where the user allowed packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from phases.agent.tools.toolbox import Tool, ToolError, ToolKind, ToolResult, object_schema
from phases.workspace.packages import CannotInstall, Packages, why_not_a_package
from pipeline.base.text_escaping import one_line

MOST_ADDED = 10
"""In one run, resumes included."""
Install = Callable[[Sequence[str]], Packages]
"""Installs what the plan names and these lines, and has commands use them from here on. Raises CannotInstall."""


def add_package_tool(install: Install, added_before: Callable[[], Sequence[Mapping[str, Any]]]) -> Tool:
    """AddPackage. `added_before` gives what the journal says of earlier calls: packages_added()."""
    return Tool(
        "AddPackage",
        "Installs a package that the plan lacks and the code cannot do without, for commands and checks: "
        '{"name": "einops>=0.7", "why": "rearranges tensors"}',
        object_schema(
            {
                "name": {"type": "string", "minLength": 1, "maxLength": 100},
                "why": {"type": "string", "minLength": 1, "maxLength": 300},
            }
        ),
        partial(_add_package, install, added_before),
        ToolKind.NEUTRAL,
    )


def _add_package(
    install: Install, added_before: Callable[[], Sequence[Mapping[str, Any]]], *, name: str, why: str
) -> ToolResult:
    before = [row["line"] for row in added_before()]
    if fault := why_not_a_package(name):
        raise ToolError(fault)
    if len(before) >= MOST_ADDED:
        raise ToolError(f"{MOST_ADDED} packages were added in this run, and no more may be: do without {name}")
    try:
        made = install([*before, name])
    except CannotInstall as error:
        raise ToolError(f"{name} is not installed, and everything is as it was: {error.said}") from error
    there = ", ".join(f"{row['name']} {row['version']}" for row in made.installed)
    return ToolResult(
        f"installed; commands find these packages now: {there}", added={"line": name, "why": one_line(why, 300)}
    )


def packages_added(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What was added, as the rows of a journal tell it; each line once, with why."""
    added = (row["result"]["added"] for row in rows if row["kind"] == "result" and "added" in row["result"])
    return list({row["line"]: dict(row) for row in added}.values())
