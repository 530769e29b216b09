"""Sets the supervision of one run up: what it looks at, and where it writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from phases.agent.assignment import Assignment
from phases.agent.begun import Begun
from phases.agent.journal_facts import Observed
from phases.agent.kernel_files import KernelFiles
from phases.agent.kernel_setting import rules_of, wanted
from phases.agent.memory import Memory
from phases.agent.supervisor_adapter import Outside, Supervised
from phases.agent.workspace_facts import disk_facts
from phases.llm.ledger import Ledger
from phases.workspace.workspace import Workspace

_MOST_TURNS = 400


def supervise(
    assignment: Assignment, begun: Begun, memory: Memory, ledger: Ledger, tell: Callable[[str], None]
) -> Supervised:
    """The supervision of a run that has begun. `tell` says what a user should know."""
    plan, places = assignment.plan, assignment.places
    workspace = Workspace(places.workspace)
    observed = observe(begun, plan)
    setting, warning = wanted(assignment)
    outside = Outside(
        setting,
        warning,
        partial(_limits, assignment, ledger),
        lambda: disk_facts(workspace, begun.planned, begun.before, observed.written),
    )
    files = KernelFiles(places.kernel, places.kernel_report, assignment.in_place, tell)
    if warning:
        tell(warning)
    task = os.path.basename(os.path.dirname(places.workspace))
    return Supervised(plan, task, observed, files, begun.journal, memory, outside)


def observe(begun: Begun, plan: Mapping[str, Any]) -> Observed:
    """What turns the journal into facts, at the beginning of a run."""
    done = [path for path in begun.planned if path not in begun.write]
    checks = plan["validation_approach"]["verify_commands"]
    return Observed(begun.planned, begun.before, done, checks, rules=rules_of(begun.journal.begun))


def most_turns(assignment: Assignment) -> int:
    """How many turns the work may take; 0 for no limit."""
    return int(assignment.limits.get("max_turns", _MOST_TURNS))


def _limits(assignment: Assignment, ledger: Ledger, turn: int) -> dict[str, tuple[float, float]]:
    limits = {name: (used, float(assignment.limits[name])) for name, used in ledger.used().items()}
    return {**limits, "max_turns": (turn - 1, float(most_turns(assignment)))}
