"""Find the programs that a plan needs and that commands on this machine do not find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phases.acceptance.configuration.missing_programs import find_unknown_programs
from phases.sandbox.bash import build_search_path
from phases.sandbox.box import Box

_WITH_PYTHON = frozenset({"python", "python3", "pytest", "coverage"})


def missing_programs(plan: Mapping[str, Any], box: Box) -> dict[str, str]:
    """Return the programs that are not there, each with the first command that needs it.

    What Python and the plan's packages bring is not looked for: it is installed later, or told of by itself.
    """
    setup = plan.get("environment_setup", {})
    brought = {str(name).partition(">")[0].partition("=")[0].strip() for name in setup.get("packages", ())}
    commands = [*plan["validation_approach"]["verify_commands"], *setup.get("tools", ())]
    found = find_unknown_programs(commands, build_search_path(box, ""))
    return {name: command for name, command in found.items() if name not in {*_WITH_PYTHON, *brought}}


def describe_missing_programs(missing: Mapping[str, str]) -> list[str]:
    """Return a line for each: what is not there, what cannot be checked for want of it, and what to do."""
    return [
        f"{name} was not found where commands look for programs, so `{command}` cannot be run here and the code will not be "
        f"checked by it; show commands the directory where {name} is: {programs_option(name)}"
        for name, command in missing.items()
    ]


def programs_option(name: str) -> str:
    """Return the option that shows commands the directory of a program."""
    # rustup's own directory holds stand-ins that find no toolchain in a sandbox
    return '--programs "$(rustc --print sysroot)"' if name in ("cargo", "rustc") else "--programs DIR"
