"""What one takeover may cost before it is given up (section 7.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from phases.supervision.config import Recovery
from phases.supervision.facts import Round
from phases.supervision.progress import progress_of
from phases.supervision.timeline import Entry, failure
from phases.supervision.words import ProgressClass

ROUNDS, TOKENS, RETRIES = "rounds", "tokens", "retries"
_RECENT_ROUNDS = 5
_CHEAP = 0.1
_MOST_SIGNATURES = 50


@dataclass(frozen=True)
class RecoveryBudget:
    """Spent so far, in one takeover."""

    rounds: int = 0
    """Of any kind: a takeover that stands still must end too."""
    effective_rounds: int = 0
    """With meaningful progress."""
    peak_token_ratio: float = 0.0
    """By how much the requests grew since the takeover began, as a share of the model's window: what was there before
    it is not its cost."""
    first_token_ratio: float | None = None
    """Of its first round."""
    retries: Mapping[str, int] = field(default_factory=dict)
    """Call with result -> how often it failed again in just that way; the least recent left out over a bound."""
    extended: bool = False
    last_progress_round: int = 0


def spend(budget: RecoveryBudget, turn: Round, progress: ProgressClass) -> RecoveryBudget:
    """The budget after a round of the takeover."""
    effective = progress is ProgressClass.MEANINGFUL_PROGRESS
    first = turn.token_ratio if budget.first_token_ratio is None else budget.first_token_ratio
    return replace(
        budget,
        rounds=budget.rounds + 1,
        effective_rounds=budget.effective_rounds + effective,
        first_token_ratio=first,
        peak_token_ratio=max(budget.peak_token_ratio, turn.token_ratio - first),
        retries=_retried(budget.retries, turn),
        last_progress_round=turn.number if effective else budget.last_progress_round,
    )


class Spent(NamedTuple):
    """What a round of a takeover leaves of its budget."""

    budget: RecoveryBudget
    extended: bool
    which: str
    """Which part is spent; empty where none is."""


def after_round(budget: RecoveryBudget, turn: Round, recovery: Recovery) -> Spent:
    """The budget after a round of the takeover, extended where that is due."""
    budget, extended = try_extension(spend(budget, turn, progress_of(turn)), recovery, turn.number)
    return Spent(budget, extended, exhausted(budget, recovery))


def exhausted(budget: RecoveryBudget, recovery: Recovery) -> str:
    """Which part is spent: rounds, tokens or retries; empty where none is. A part is spent when it is over its most."""
    most = recovery.max_recovery_rounds
    if budget.effective_rounds > most * (1 + budget.extended) or budget.rounds > most * (2 + budget.extended):
        return ROUNDS
    if budget.peak_token_ratio > recovery.recovery_token_ratio:
        return TOKENS
    return RETRIES if max(budget.retries.values(), default=0) > recovery.max_recovery_retries else ""


def try_extension(budget: RecoveryBudget, recovery: Recovery, turn: int) -> tuple[RecoveryBudget, bool]:
    """As many rounds again, once: where only rounds are spent, progress is recent, and few tokens were used."""
    recent = budget.last_progress_round > 0 and turn - budget.last_progress_round < _RECENT_ROUNDS
    longer = replace(budget, extended=True)
    # What is extended already is no longer than it was, and so does not help.
    helps = exhausted(budget, recovery) == ROUNDS and not exhausted(longer, recovery)
    return (longer, True) if helps and recent and budget.peak_token_ratio < _CHEAP else (budget, False)


def exhausted_entry(which: str) -> Entry:
    """The line for a spent budget."""
    return failure(f"budget_exhausted:{which}")


def extended_entry() -> Entry:
    """The line for an extension."""
    return failure(f"budget_extended:{ROUNDS}")


def _retried(before: Mapping[str, int], turn: Round) -> dict[str, int]:
    retries = dict(before)
    for action in turn.actions:
        if action.result.executed and action.result.failed:
            key = f"{action.call.signature} {action.result.digest}"
            retries[key] = retries.pop(key, -1) + 1
    return dict(list(retries.items())[-_MOST_SIGNATURES:])
