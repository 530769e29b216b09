"""The main path of a recovery: what stands in the workspace decides how a takeover leads (section 7.6)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from phases.supervision.config import SnapshotConfidence, Weights
from phases.supervision.effects import TimelineEntry, failure_entry
from phases.supervision.effects import recovery_entry as timeline_recover
from phases.supervision.enums import FAULTS, GraphStatus, NodeStatus, NodeType, RecoveryTier, TimelineEvent
from phases.supervision.facts import Task
from phases.supervision.graph import Cursor, NodeRecord, TaskGraph, percent_closed
from phases.supervision.templates import build_graph
from phases.supervision.wording import quote_text
from phases.supervision.work_ledger import FAILED, PASSED, WorkLedger
from phases.supervision.workspace_snapshot import ERROR, OK, DiskFacts, WorkspaceSnapshot, name_few, snapshot_of

LOW_CONFIDENCE, UNSAFE, BUILDER_FAILED, NO_EXECUTOR = "low_confidence", "unsafe", "builder_failed", "no_executor"
MISSING, UNMERGED, UNFINISHED, BROKEN = "missing_files", "unmerged", "unfinished_merge", "broken_baseline"
_FIRST = {
    MISSING: "write the missing files again.",
    UNMERGED: "remove the conflict markers from these files, and keep the code that is right.",
    UNFINISHED: "leave the repository itself alone; make the files right one by one.",
    BROKEN: "find out why it dies: run the smallest command that shows it, and read what it prints.",
}
_STRANGERS = "read these files: they changed, and no call of yours changed them."


@dataclass(frozen=True)
class RecoveryContext:
    task: Task
    disk: DiskFacts
    ledger: WorkLedger
    config: SnapshotConfidence
    round: int
    graph_id: str
    reason: str
    """Of the takeover: its signals."""
    tier_failed_before: bool = False
    """The recovery before this one, in the same takeover, came to no more than a hint."""
    has_executor: bool = True
    """There is somebody to follow a graph."""
    shadow: bool = False


@dataclass(frozen=True)
class RecoveryPlan:
    """How the takeover leads. In shadow mode there is no graph: nothing is to be changed."""

    tier: RecoveryTier
    graph: TaskGraph | None
    why: str
    """Of a hint or a stop: why there is no graph."""
    snapshot: WorkspaceSnapshot
    confidence: Confidence
    first_action: str = ""
    """Of the strong hint: what this very workspace wants before all else."""
    entries: tuple[TimelineEntry, ...] = ()


@dataclass(frozen=True)
class _Findings:
    """What M5 to M8 found."""

    snapshot: WorkspaceSnapshot
    confidence: Confidence
    safety: Safety
    built: Retrospective = field(default_factory=lambda: Retrospective(ok=False))


def plan_recovery(context: RecoveryContext) -> RecoveryPlan:
    """Looks, weighs, checks, builds; the first of these that fails makes it a hint, and the second hint in a row a stop."""
    snapshot = snapshot_of(context.disk, context.ledger, context.round)
    evidence = SnapshotEvidence(context.disk, context.ledger, context.round)
    trust = weigh_snapshot(snapshot, evidence, context.config.weights)
    safety = check_safety(snapshot, context.disk, context.ledger, context.task.planned_files)
    looked = _Findings(snapshot, trust, safety)
    why = _why_no_graph(context, looked)
    if not why:
        built = build_retrospective(context.task, snapshot, context.ledger, graph_id=context.graph_id, at=context.round)
        looked, why = _Findings(snapshot, trust, safety, built), "" if built.ok else BUILDER_FAILED
    tier = _choose_tier(context, why)
    told = _recovery_entry(context, looked, tier, why)
    live = not context.shadow
    graph = looked.built.graph if live and tier is RecoveryTier.TEMPLATE_GRAPH else None
    first = _first_action(context, looked, why) if tier is RecoveryTier.STRONG_HINT else ""
    return RecoveryPlan(tier, graph, why, snapshot, trust, first, (told,))


def _first_action(context: RecoveryContext, looked: _Findings, why: str) -> str:
    if looked.safety.reasons:
        return f"{_FIRST[looked.safety.reasons[0]]} Found: {looked.safety.human_reason}."
    unknown = unexpected_files(context.disk, context.ledger) if why == LOW_CONFIDENCE else ()
    return f"{_STRANGERS} Found: {name_few(unknown)}." if unknown else ""


def _why_no_graph(context: RecoveryContext, looked: _Findings) -> str:
    """Why no graph may lead, before one is built; empty where one may."""
    # Written this way round, a gate that is no number lets nothing through.
    if not looked.confidence.value >= context.config.template_graph_min:
        return LOW_CONFIDENCE
    if not looked.safety.recoverable:
        return f"{UNSAFE}:{','.join(looked.safety.reasons)}"
    return "" if context.has_executor else NO_EXECUTOR


def _choose_tier(context: RecoveryContext, why: str) -> RecoveryTier:
    if not why:
        return RecoveryTier.TEMPLATE_GRAPH
    return RecoveryTier.MANUAL_CHECKPOINT if context.tier_failed_before else RecoveryTier.STRONG_HINT


def _recovery_entry(context: RecoveryContext, looked: _Findings, tier: RecoveryTier, why: str) -> TimelineEntry:
    """The line of the event log. In shadow mode it says what would have been done."""
    payload = _entry_payload(context, looked)
    if tier is RecoveryTier.MANUAL_CHECKPOINT:
        stopped = {**payload, "tier": tier.value, "why": why}
        if context.shadow:
            return TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_fail:checkpoint", stopped)
        return failure_entry("checkpoint", **stopped)
    graph = tier is RecoveryTier.TEMPLATE_GRAPH
    reason = f"{tier}:{looked.built.marked}/{looked.built.total}" if graph else f"{tier}:{why}"
    if context.shadow:
        return TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_recover:{reason}", payload)
    return timeline_recover(reason, **payload)


def _entry_payload(context: RecoveryContext, looked: _Findings) -> Mapping[str, Any]:
    graph = looked.built.graph
    more = {"markedDone": list(graph.cursor.completed_node_ids)} if graph else {"builder": looked.built.reason}
    return {
        "snapshotId": looked.snapshot.snapshot_id,
        "confidence": looked.confidence.value,
        "factors": dict(looked.confidence.factors),
        "takeover": quote_text(context.reason),
        **{key: value for key, value in more.items() if value != ""},
    }


UNKNOWN = 0.5
"""Stands for a factor that nothing is known of."""
_FRESH_ROUNDS, _OLD_ROUNDS = 1, 5


@dataclass(frozen=True)
class SnapshotEvidence:
    disk: DiskFacts
    ledger: WorkLedger
    round: int


@dataclass(frozen=True)
class Confidence:
    """Between 0 and 1. `factors` go by the names of the specification."""

    value: float
    factors: Mapping[str, float] = field(default_factory=dict)


def weigh_snapshot(snapshot: WorkspaceSnapshot, evidence: SnapshotEvidence, weights: Weights) -> Confidence:
    """The weighted mean of five factors. Weights that do not add up to anything leave it unknown."""
    weighted = {
        "gitClean": (weights.git_clean, _clean_factor(evidence.disk, evidence.ledger)),
        "snapshotAge": (weights.snapshot_age, _age_factor(evidence.round - snapshot.at)),
        "verifyPassed": (weights.verify_passed, _verify_factor(snapshot, evidence.ledger)),
        "repoContextMatch": (weights.repo_context_match, _match_factor(evidence.disk, evidence.ledger)),
        "buildSignal": (weights.build_signal, _build_factor(snapshot)),
    }
    total = sum(weight for weight, _ in weighted.values())
    value = sum(weight * factor for weight, factor in weighted.values()) / total if total else UNKNOWN
    bounded = min(1.0, max(0.0, value)) if math.isfinite(value) else UNKNOWN
    # Rounded, so that a sum of decimal weights that comes to the gate is not held to be below it.
    return Confidence(round(bounded, 6), {name: round(factor, 6) for name, (_, factor) in weighted.items()})


def unexpected_files(disk: DiskFacts, ledger: WorkLedger) -> tuple[str, ...]:
    """Changed files that no call of this work is known to have changed."""
    return tuple(path for path in disk.dirty if path not in ledger.files)


def _clean_factor(disk: DiskFacts, ledger: WorkLedger) -> float:
    """The share of changed files that are of our own making: how many there are says nothing."""
    count = len(disk.dirty) + disk.left_out
    if not count:
        return 1.0 if ledger.files else UNKNOWN
    return 1.0 - (len(unexpected_files(disk, ledger)) + disk.left_out) / count


def _age_factor(age: int) -> float:
    return min(1.0, max(0.0, (_OLD_ROUNDS - age) / (_OLD_ROUNDS - _FRESH_ROUNDS)))


def _verify_factor(snapshot: WorkspaceSnapshot, ledger: WorkLedger) -> float:
    """Whether it is KNOWN how the checks end: that they fail is knowledge too."""
    if snapshot.test_summary not in (PASSED, FAILED):
        return UNKNOWN
    if snapshot.test_summary != ledger.test_summary or ledger.last_write_round > ledger.last_verify_round:
        return 0.25
    return 1.0 if snapshot.test_summary == PASSED else 0.8


def _match_factor(disk: DiskFacts, ledger: WorkLedger) -> float:
    """The share of files we wrote that show as changed, and are there still."""
    if not ledger.files:
        return UNKNOWN
    there = {*disk.added, *disk.modified}
    return sum(path in there for path in ledger.files) / len(ledger.files)


def _build_factor(snapshot: WorkspaceSnapshot) -> float:
    """A test that fails says nothing of what was built; code that does not parse does."""
    summary = (snapshot.build_summary or "").casefold()
    if summary.startswith((ERROR, "fail")):
        return 0.0
    if snapshot.test_summary == FAILED:
        return UNKNOWN
    if summary.startswith((OK, "pass")):
        return 1.0
    return 0.9 if snapshot.test_summary == PASSED else UNKNOWN


# As words of their own: tests/test_crash.py and crash.py are names, and say nothing of how a build ended.
_BROKEN = re.compile(
    r"(?<![\w./-])(?:fatal|crash(?:ed)?|panic(?:ked)?|segfault|segmentation fault)(?![\w/-]|\.\w)", re.IGNORECASE
)


@dataclass(frozen=True)
class Safety:
    """`reasons` are short words for the event log; `human_reason` says the same to a reader."""

    recoverable: bool
    reasons: tuple[str, ...] = ()
    human_reason: str = ""


def check_safety(snapshot: WorkspaceSnapshot, disk: DiskFacts, ledger: WorkLedger, planned: Sequence[str]) -> Safety:
    """All must hold: what was written is there, nothing is half merged, and no build died."""
    there = set(disk.present)
    missing = tuple(path for path in planned if path in ledger.files and path not in there)
    died = next((text for text in (ledger.build_output, snapshot.build_summary or "") if _BROKEN.search(text)), "")
    found = {
        MISSING: f"{name_few(missing)} was written, and is gone" if missing else "",
        UNMERGED: f"conflict markers in {name_few(disk.unmerged)}" if disk.unmerged else "",
        UNFINISHED: quote_text(disk.head_broken),
        BROKEN: f"the last check died: {quote_text(died)}" if died else "",
    }
    reasons = tuple(reason for reason, told in found.items() if told)
    return Safety(not reasons, reasons, "; ".join(found[reason] for reason in reasons))


BUILD_THREW = "build_threw"
_LOOKING = (NodeType.INSPECT, NodeType.SEARCH)


@dataclass(frozen=True)
class Retrospective:
    ok: bool
    graph: TaskGraph | None = None
    marked: int = 0
    total: int = 0
    reason: str = ""


def build_retrospective(
    task: Task, snapshot: WorkspaceSnapshot, ledger: WorkLedger, *, graph_id: str, at: int
) -> Retrospective:
    """Never raises: a builder that does is a reason."""
    try:
        graph = build_graph(task, graph_id=graph_id, at=at)
        done = _steps_standing(graph, snapshot, ledger)
        total = len(graph.main_branch.node_ids)
        return Retrospective(True, _mark_done(graph, done, at), len(done), total)
    except FAULTS:  # a graph that does not hold together is a fault of its builder
        return Retrospective(ok=False, reason=BUILD_THREW)


def _steps_standing(graph: TaskGraph, snapshot: WorkspaceSnapshot, ledger: WorkLedger) -> tuple[str, ...]:
    """The pending steps that the workspace shows to be done; nobody has summed up anything yet."""
    passed = snapshot.test_summary == PASSED == ledger.test_summary
    verified = passed and ledger.last_write_round <= ledger.last_verify_round
    # An edit is never taken for done: that files are there does not make it complete.
    kinds = {*(_LOOKING if snapshot.changed else ()), *((NodeType.VERIFY,) if verified else ())}
    nodes = (graph.nodes[name] for name in graph.main_branch.node_ids)
    return tuple(node.id for node in nodes if node.status is NodeStatus.PENDING and node.type in kinds)


def _mark_done(graph: TaskGraph, done: tuple[str, ...], at: int) -> TaskGraph:
    order = graph.main_branch.node_ids
    index = next((place for place, name in enumerate(order) if name not in done), None)
    ended = {name: replace(graph.nodes[name], status=NodeStatus.DONE, started_at=at, ended_at=at) for name in done}
    nodes = {**graph.nodes, **ended}
    if index is not None:
        nodes[order[index]] = replace(nodes[order[index]], status=NodeStatus.RUNNING, started_at=at)
    place = len(order) - 1 if index is None else index
    return replace(
        graph,
        nodes=nodes,
        progress=percent_closed(nodes, graph.main_branch),
        cursor=Cursor(graph.main_branch.id, order[place], place, completed_node_ids=done),
        status=GraphStatus.DONE if index is None else GraphStatus.RUNNING,
        updated_at=at,
        node_history=(*graph.node_history, *(NodeRecord(name, NodeStatus.DONE, at, at, 0) for name in done)),
    )
