"""The packages that a plan names: installed where the user allowed it, for commands in the sandbox alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import NamedTuple

from phases.agent.assignment import Assignment
from phases.agent.sandbox.installs import environment_in, install
from pipeline.errors import PhaseError

_TAIL = 400


class Packages(NamedTuple):
    """What commands can import beside the standard library."""

    names: tuple[str, ...] = ()
    """As the plan names them."""
    installed: tuple[Mapping[str, str], ...] = ()
    """name and version each, those among them that others need."""
    python: str | None = None
    """The environment that they are in."""


def install_packages(assignment: Assignment, tell: Callable[[str], None]) -> Packages:
    """Installs what the plan names, once. Nothing where it may not, or names nothing. Raises PhaseError."""
    wanted = tuple(assignment.plan["environment_setup"]["packages"])
    if assignment.environment is None or not wanted:
        return Packages()
    tell(f"installs {len(wanted)} packages for the sandbox: {', '.join(wanted)[:120]}")
    assignment.in_place()
    folder = assignment.places.packages
    done = install(wanted, folder, kind=assignment.sandbox, environment=assignment.environment)
    if not done.ok:
        shutil.rmtree(folder, ignore_errors=True)
        said = " ".join(done.output.split())[-_TAIL:]
        raise PhaseError(
            f"the plan's packages cannot be installed: {said}; change environment_setup in the plan, or leave --allow-install out"
        )
    return Packages(wanted, done.packages, environment_in(folder))
