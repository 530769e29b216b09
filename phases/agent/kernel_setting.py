"""How a run is to be supervised, as the journal keeps it. The kernel itself is loaded only where a run has a supervisor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phases.agent.assignment import Assignment
from phases.agent.kernel_files import read_settings
from phases.llm.journal import Journal

OFF, FACTS = "off", "facts"
"""A mode; and the kind of the journal rows that say what a supervisor learned from outside."""
RULES_KEY = "rules"
"""In the header of a journal, under `begun`: the number of the rules of supervision."""
RULES = 5
"""What a model was told follows from them; raise this where one is changed (decision 433)."""


def read_wanted(work: Assignment) -> tuple[dict[str, Any], str]:
    """How this start of a run should be supervised, and what is wrong with the file of settings, if anything.

    A file that cannot be used supervises nobody, and keeps nobody from starting.
    """
    content, warning = read_settings(work.places.kernel, work.parse_supervision)
    if work.supervisor == OFF and content == {}:
        return {"mode": OFF, "shadow": False, "config": {}}, ""
    # Imported here: with supervision off the kernel is not loaded.
    from phases.agent.supervisor_adapter import resolve_setting

    return resolve_setting(work, content, warning)


def is_unsupervised(journal: Journal, wanted: Mapping[str, Any], warning: str) -> bool:
    """Whether nobody supervises this run, nor did at any time. A warning about the settings goes into the supervisor's report."""
    was_told = any(row["kind"] == FACTS for row in journal.rows())
    return wanted["mode"] == OFF == journal.begun["supervisor"]["mode"] and not (warning or was_told)
