"""What phase 09 is asked to do, and where it keeps what."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from phases.agent.acceptance.mounted import HookSetting
from phases.agent.library import Library


class Places(NamedTuple):
    """Paths of one task."""

    workspace: str
    journal: str
    explorations: str
    """The journals of sub-agents."""
    snapshot: str
    """The tree that the command at work began with."""
    ledger: str
    plan_versions: str
    paper: str
    """paper.md: the agent may read it."""
    packages: str
    """Where the packages of the plan are installed, if they may be."""
    summary: str
    """implement_code_summary.md, as it grows."""
    kernel: str
    """The folder of the supervision."""
    kernel_report: str
    hooks: str
    """What hooks printed, and what they did."""
    endings: str
    """The workspace as it was each time that the work was not accepted."""


def places_in(root: str) -> Places:
    """The paths of the task in that folder."""
    names = (
        *("generate_code", "journal.jsonl", "explorations", "before_command", "logs/llm.jsonl", "plan_versions"),
        *("paper.md", "packages", "implement_code_summary.md", "kernel", "kernel-report.json"),
        *("hooks", "endings"),
    )
    return Places(*(os.path.join(root, name) for name in names))


class Assignment(NamedTuple):
    """One plan that is to become code."""

    plan: dict[str, Any]
    plan_sha256: str
    places: Places
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
    library: Library | None = None
    """Other people's code, where there is any."""
    tell: Callable[[str], None] = lambda text: None
    """Tells the user something that stays on the screen."""
    in_place: Callable[[], None] = lambda: None
    """Raises when the task folder is no longer where it was."""
