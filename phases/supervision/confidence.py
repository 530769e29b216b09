"""How far a snapshot can be trusted as a record of our own work (M6), with what makes it so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from phases.supervision.config import Weights
from phases.supervision.ledger import FAILED, PASSED, WorkLedger
from phases.supervision.workspace import ERROR, OK, DiskFacts, WorkspaceSnapshot

UNKNOWN = 0.5
"""Stands for a factor that nothing is known of."""
_FRESH_ROUNDS, _OLD_ROUNDS = 1, 5


@dataclass(frozen=True)
class Evidence:
    """What a snapshot is held against."""

    disk: DiskFacts
    ledger: WorkLedger
    round: int


@dataclass(frozen=True)
class Confidence:
    """Between 0 and 1. `factors` go by the names of the specification."""

    value: float
    factors: Mapping[str, float] = field(default_factory=dict)


def confidence(snapshot: WorkspaceSnapshot, evidence: Evidence, weights: Weights) -> Confidence:
    """The weighted mean of five factors. Weights that do not add up to anything leave it unknown."""
    weighted = {
        "gitClean": (weights.git_clean, _attributed(evidence.disk, evidence.ledger)),
        "snapshotAge": (weights.snapshot_age, _young(evidence.round - snapshot.at)),
        "verifyPassed": (weights.verify_passed, _verified(snapshot, evidence.ledger)),
        "repoContextMatch": (weights.repo_context_match, _matched(evidence.disk, evidence.ledger)),
        "buildSignal": (weights.build_signal, _builds(snapshot)),
    }
    total = sum(weight for weight, _ in weighted.values())
    value = sum(weight * factor for weight, factor in weighted.values()) / total if total else UNKNOWN
    bounded = min(1.0, max(0.0, value)) if math.isfinite(value) else UNKNOWN
    # Rounded, so that a sum of decimal weights that comes to the gate is not held to be below it.
    return Confidence(round(bounded, 6), {name: round(factor, 6) for name, (_, factor) in weighted.items()})


def strangers(disk: DiskFacts, ledger: WorkLedger) -> tuple[str, ...]:
    """Changed files that no call of this work is known to have changed."""
    return tuple(path for path in disk.dirty if path not in ledger.files)


def _attributed(disk: DiskFacts, ledger: WorkLedger) -> float:
    """The share of changed files that are of our own making: how many there are says nothing."""
    count = len(disk.dirty) + disk.left_out
    if not count:
        return 1.0 if ledger.files else UNKNOWN
    return 1.0 - (len(strangers(disk, ledger)) + disk.left_out) / count


def _young(age: int) -> float:
    return min(1.0, max(0.0, (_OLD_ROUNDS - age) / (_OLD_ROUNDS - _FRESH_ROUNDS)))


def _verified(snapshot: WorkspaceSnapshot, ledger: WorkLedger) -> float:
    """Whether it is KNOWN how the checks end: that they fail is knowledge too."""
    if snapshot.test_summary not in (PASSED, FAILED):
        return UNKNOWN
    if snapshot.test_summary != ledger.test_summary or ledger.last_write_round > ledger.last_verify_round:
        return 0.25
    return 1.0 if snapshot.test_summary == PASSED else 0.8


def _matched(disk: DiskFacts, ledger: WorkLedger) -> float:
    """The share of files we wrote that show as changed, and are there still."""
    if not ledger.files:
        return UNKNOWN
    there = {*disk.added, *disk.modified}
    return sum(path in there for path in ledger.files) / len(ledger.files)


def _builds(snapshot: WorkspaceSnapshot) -> float:
    """A test that fails says nothing of what was built; code that does not parse does."""
    summary = (snapshot.build_summary or "").casefold()
    if summary.startswith((ERROR, "fail")):
        return 0.0
    if snapshot.test_summary == FAILED:
        return UNKNOWN
    if summary.startswith((OK, "pass")):
        return 1.0
    return 0.9 if snapshot.test_summary == PASSED else UNKNOWN
