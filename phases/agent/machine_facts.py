"""What the model is told of the machine that its commands run on."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Mapping
from typing import Any

from phases.acceptance.configuration.missing_programs import find_unknown_programs
from phases.agent.tools.commands import SECONDS
from phases.sandbox.box import MOUNTED, NONE, Box
from phases.sandbox.bubblewrap import build_search_path
from phases.sandbox.devices import describe_cards

_GIB = 2**30
_WITH_PYTHON = frozenset({"python", "python3", "pytest", "coverage"})


def missing_programs(plan: Mapping[str, Any], box: Box) -> dict[str, str]:
    """Return the programs that check commands of a plan need and commands in this box do not find, each with its command.

    What Python and its packages bring is not looked for: it is installed later, or told of by itself.
    """
    setup = {str(name).partition(">")[0].partition("=")[0].strip() for name in plan["environment_setup"]["packages"]}
    found = find_unknown_programs(plan["validation_approach"]["verify_commands"], build_search_path(box, ""))
    return {name: command for name, command in found.items() if name not in {*_WITH_PYTHON, *setup}}


def describe_missing_programs(missing: Mapping[str, str]) -> list[str]:
    """Return a line for each: what is not there, what cannot be checked for want of it, and what to do."""
    return [
        f"{name} was not found where commands look for programs, so `{command}` cannot be run here and the code will not be "
        f"checked by it; --programs DIR shows commands the directory where {name} is"
        for name, command in missing.items()
    ]


def machine_facts(box: Box = Box("", NONE), missing: Collection[str] = ()) -> dict[str, Any]:  # noqa: B008 - frozen
    """Python, system, cores, memory and time of a command, and what of the user's machine it sees.

    `missing`: programs that the plan's commands need and that are not there.
    """
    data = {folder.name: folder.inside if box.kind in MOUNTED else f"${folder.variable}" for folder in box.data}
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(min(box.limits.memory, whole) / _GIB, 1),
        "gpu": describe_cards(box.devices) or "none that a command can use",
        "network": "none",
        "seconds_a_command": {"usual": SECONDS, "most": box.limits.seconds},
        **({"data_to_read": data} if data else {}),
        **(
            {"programs_not_here": f"{', '.join(missing)}: write the code and its tests all the same"} if missing else {}
        ),
        "importable": "the standard library, pytest, coverage, packages_installed",
    }
