"""Sets the supervision of one run up: what it looks at, and where it writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from phases.agent.assignment import Assignment
from phases.agent.begun import Session
from phases.agent.journal_facts import FactExtractor
from phases.agent.kernel_files import KernelFiles
from phases.agent.kernel_setting import read_wanted, rules_of
from phases.agent.memory import Memory
from phases.agent.supervisor_adapter import Supervisor, SupervisorInputs
from phases.agent.workspace_facts import read_disk_facts
from phases.llm.ledger import Ledger
from phases.workspace.workspace import Workspace

_MOST_TURNS = 400


def build_supervisor(
    assignment: Assignment, begun: Session, memory: Memory, ledger: Ledger, tell: Callable[[str], None]
) -> Supervisor:
    """The supervision of a run that has begun. `tell` says what a user should know."""
    plan, places = assignment.plan, assignment.places
    workspace = Workspace(places.workspace)
    observed = build_extractor(begun, plan)
    setting, warning = read_wanted(assignment)
    outside = SupervisorInputs(
        setting,
        warning,
        partial(_limits_used, assignment, ledger),
        lambda: read_disk_facts(workspace, begun.planned, begun.before, observed.written),
    )
    files = KernelFiles(places.kernel, places.kernel_report, assignment.in_place, tell)
    if warning:
        tell(warning)
    task = os.path.basename(os.path.dirname(places.workspace))
    return Supervisor(plan, task, observed, files, begun.journal, memory, outside)


def build_extractor(begun: Session, plan: Mapping[str, Any]) -> FactExtractor:
    """What turns the journal into facts, at the beginning of a run."""
    done = [path for path in begun.planned if path not in begun.write]
    checks = plan["validation_approach"]["verify_commands"]
    return FactExtractor(begun.planned, begun.before, done, checks, rules=rules_of(begun.journal.begun))


def turn_limit(assignment: Assignment) -> int:
    """How many turns the work may take; 0 for no limit."""
    return int(assignment.limits.get("max_turns", _MOST_TURNS))


def _limits_used(assignment: Assignment, ledger: Ledger, turn: int) -> dict[str, tuple[float, float]]:
    limits = {name: (used, float(assignment.limits[name])) for name, used in ledger.used().items()}
    return {**limits, "max_turns": (turn - 1, float(turn_limit(assignment)))}
