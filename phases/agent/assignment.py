"""What phase 09 is asked to do, and where it keeps what."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from phases.acceptance.hook_registry import HookSetting
from phases.agent.reference_context import ReferenceContext
from phases.workspace.task_paths import TaskPaths

_MOST_TURNS = 400


class Assignment(NamedTuple):
    """One plan that is to become code."""

    plan: dict[str, Any]
    plan_sha256: str
    places: TaskPaths
    sandbox: str
    """The kind of sandbox that commands run in."""
    limits: Mapping[str, Any]
    breach: Callable[[Mapping[str, Any], Any], str | None]
    """Why a value does not fit a JSON schema, or None."""
    parse_plan: Callable[[bytes], dict[str, Any]]
    """A plan of before. Raises PipelineError where it breaks its schema."""
    parse_supervision: Callable[[bytes], dict[str, Any]]
    """The user's kernel/supervisor-config.json. Raises PipelineError where it breaks its schema."""
    version: int
    """Of the phase: another version does not go on with the journal of this one."""
    environment: Mapping[str, str] | None = None
    """The user's environment, for pip, where the packages that the plan names may be installed; else None."""
    deadline: float | None = None
    supervisor: str = ""
    """off, adaptive or strict; empty: what the file of the supervision says."""
    shadow: str = ""
    """Whether supervision only looks on; empty: what its file says."""
    hooks: HookSetting = HookSetting()
    library: ReferenceContext | None = None
    """Other people's code, where there is any."""
    tell: Callable[[str], None] = lambda text: None
    """Tells the user something that stays on the screen."""
    in_place: Callable[[], None] = lambda: None
    """Raises when the task directory is no longer where it was."""

    @property
    def task(self) -> str:
        return os.path.basename(os.path.dirname(self.places.workspace))

    @property
    def turn_limit(self) -> int:
        """How many turns the work may take; 0 for no limit."""
        return int(self.limits.get("max_turns", _MOST_TURNS))
