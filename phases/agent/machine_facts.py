"""What the model is told of the machine that its commands run on."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection
from typing import Any

from phases.agent.tools.commands import SECONDS
from phases.sandbox.box import MOUNTED, NONE, Box
from phases.sandbox.commands import find_tools
from phases.sandbox.devices import describe_cards

_GIB = 2**30


def machine_facts(
    box: Box = Box("", NONE),  # noqa: B008 - frozen
    missing: Collection[str] = (),
    *,
    python: bool = True,
) -> dict[str, Any]:
    """Python, system, cores, memory and time of a command, and what of the user's machine it sees.

    `missing`: programs that the plan's commands need and that are not there. `python`: whether the code is in Python.
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
        "programs": ", ".join(find_tools(box)) or "Python alone",
        **({"programs_not_here": f"{', '.join(missing)}: write code and tests all the same"} if missing else {}),
        **({"importable": "the standard library, pytest, coverage, packages_installed"} if python else {}),
    }
