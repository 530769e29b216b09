"""How far a round still serves its task (section 7.1): the mean of four factors, 1 where nothing speaks against it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from phases.supervision.config import GoalDrift
from phases.supervision.facts import Round, Task
from phases.supervision.ledger import WorkLedger
from phases.supervision.progress import progress_of
from phases.supervision.words import ProgressClass, TaskIntent, ToolClass

_READING_INTENTS = (TaskIntent.QUESTION, TaskIntent.INSPECT)
_READS = (ToolClass.READ, ToolClass.SEARCH)
_MOSTLY = 0.6
_LONGEST_TEXT = 4000
_WORD = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True)
class Alignment:
    """From 0 to 1, and what it is made of."""

    value: float
    factors: Mapping[str, float]


def alignment(
    turn: Round, task: Task, ledger: WorkLedger, budget_triggers: int, jaccard_min: float = GoalDrift.jaccard_min
) -> Alignment:
    """The alignment of one round. The ledger is the one after it."""
    factors = {
        "toolIntent": _tool_intent(turn, task),
        "fileIntent": _file_intent(turn, task),
        "text": _text(turn, task, jaccard_min),
        "progress": _progress(turn, ledger, budget_triggers),
    }
    return Alignment(round(sum(factors.values()) / len(factors), 3), factors)


def similarity(goal: str, said: str) -> float:
    """Jaccard's measure on the pairs of letters that stand beside each other in a word; 0 where there are none."""
    one, other = _bigrams(goal[:_LONGEST_TEXT]), _bigrams(said[:_LONGEST_TEXT])
    return len(one & other) / len(one | other) if one and other else 0.0


def _tool_intent(turn: Round, task: Task) -> float:
    classes = [action.call.tool_class for action in turn.actions if action.call.tool_class is not ToolClass.NEUTRAL]
    if not classes:
        return 1.0
    reads = sum(kind in _READS for kind in classes) / len(classes)
    writes = classes.count(ToolClass.WRITE) / len(classes)
    if task.intent in _READING_INTENTS:
        return 0.4 + 0.6 * reads
    return 0.2 if not writes and reads > _MOSTLY else 0.4 + 0.6 * writes


def _file_intent(turn: Round, task: Task) -> float:
    if task.intent in _READING_INTENTS or any(action.result.changed for action in turn.actions):
        return 1.0
    return 0.3 if any(action.call.tool_class is ToolClass.WRITE for action in turn.actions) else 0.2


def _text(turn: Round, task: Task, jaccard_min: float) -> float:
    if not turn.text.strip():
        return 0.3
    alike = similarity(task.goal, turn.text)
    return min(1.0, 0.5 + 2 * alike) if alike >= jaccard_min else min(1.0, 5 * alike)


def _progress(turn: Round, ledger: WorkLedger, budget_triggers: int) -> float:
    failures = ledger.consecutive_failed_rounds
    lost = 0.4 if failures >= 3 else 0.2 if failures == 2 else 0.0
    lost += 0.2 if budget_triggers >= 2 else 0.0
    lost += 0.2 if progress_of(turn) is ProgressClass.ALL_FAILED_OR_BLOCKED else 0.0
    return max(0.0, 1.0 - lost)


@lru_cache(maxsize=8)
def _bigrams(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(word[at : at + 2] for word in words for at in range(len(word) - 1))
