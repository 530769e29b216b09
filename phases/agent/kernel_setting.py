"""How a run is supervised: the user's setting and the file of the task, as one value that the journal keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phases.agent.assignment import Assignment
from phases.agent.kernel_files import read_settings, unusable_text
from phases.supervision.config import FIRST, RULES, Config
from phases.supervision.enums import TaskIntent
from phases.supervision.facts import RepoShape, Task
from phases.supervision.policy import infer_task_domain, resolve_policy
from phases.supervision.serialization import from_json, to_json
from phases.supervision.state import Setting
from pipeline.base.errors import PhaseError

_INTENT = TaskIntent.EDIT
"""Of the phase that writes code, whatever a goal says."""
OFF = "off"
RULES_KEY = "rules"
"""In the header of a journal, under `begun`."""


def read_wanted(work: Assignment) -> tuple[dict[str, Any], str]:
    """How this start of a run should be supervised, and what is wrong with the file of settings, if anything.

    A file that cannot be used supervises nobody, and keeps nobody from starting.
    """
    content, warning = read_settings(work.places.kernel, work.parse_supervision)
    try:
        config = _config_of(content)
    except ValueError as error:
        content, config, warning = None, Config(), unusable_text(work.places.kernel, str(error))
    policy = resolve_policy(OFF if content is None else work.supervisor, config, _INTENT, work.shadow)
    return {"mode": policy.mode.value, "shadow": policy.shadow, "config": to_json(config)}, warning


def rules_of(begun: Mapping[str, Any]) -> int:
    """The rules that work began under, and is supervised by to its end. Raises PhaseError for rules of a later version."""
    rules = begun.get(RULES_KEY, FIRST)
    if rules not in range(FIRST, RULES + 1):
        raise PhaseError(
            f"journal.jsonl: this work is supervised under rules {rules}, and this version of pipeline knows rules {FIRST} to "
            f"{RULES}; go on with the version that began it, or start afresh with --redo implement"
        )
    return int(rules)


def setting_from(pinned: Mapping[str, Any], plan: Mapping[str, Any], *, there: int, rules: int = RULES) -> Setting:
    """What the kernel goes by. `there`: files that stood in the workspace. Raises ValueError for what no version of it wrote."""
    config = _config_of(pinned["config"])
    checks = tuple(plan["validation_approach"]["verify_commands"])
    task = Task(
        f"{plan['paper']['title']}: {plan['paper']['core_contribution']}",
        _INTENT,
        tuple(row["path"] for row in plan["file_structure"]),
        checks,
        RepoShape(there, test_framework="the plan's" if checks else "none"),
        from_nothing=not there,
    )
    policy = resolve_policy(str(pinned["mode"]), config, _INTENT, "1" if pinned["shadow"] else "0")
    return Setting(task, policy, config, infer_task_domain(_INTENT, task.goal), rules)


def _config_of(content: Mapping[str, Any] | None) -> Config:
    return from_json(Config, dict(content or {}))
