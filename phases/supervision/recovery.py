"""Plan a recovery from the workspace: a rebuilt graph, a strong hint or a stop (section 7.6)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phases.supervision.effects import TimelineEntry, failure_entry
from phases.supervision.effects import recovery_entry as timeline_recover
from phases.supervision.enums import FAULTS, NodeStatus, NodeType, RecoveryTier, TimelineEvent
from phases.supervision.facts import ERROR, OK, DiskFacts, Task, WorkspaceSnapshot, quote_text
from phases.supervision.graph import TaskGraph, build_graph, close_step, to_first_open
from phases.supervision.work_ledger import FAILED, PASSED, WorkLedger

LOW_CONFIDENCE, UNSAFE, BUILDER_FAILED, NO_EXECUTOR = "low_confidence", "unsafe", "builder_failed", "no_executor"
MISSING, UNMERGED, UNFINISHED, BROKEN = "missing_files", "unmerged", "unfinished_merge", "broken_baseline"
_FIRST = {
    MISSING: "write the missing files again.",
    UNMERGED: "remove the conflict markers from these files, and keep the code that is right.",
    UNFINISHED: "leave the repository itself alone; make the files right one by one.",
    BROKEN: "find out why it dies: run the smallest command that shows it, and read its output.",
}
_STRANGERS = "read these files: they changed, and no call of yours changed them."


@dataclass(frozen=True)
class RecoveryContext:
    task: Task
    disk: DiskFacts
    ledger: WorkLedger
    gate: float
    """The least confidence for a graph."""
    round: int
    graph_id: str
    reason: str
    """The signals of the takeover."""
    tier_failed_before: bool = False
    """The last recovery of this takeover gave only a hint."""
    has_executor: bool = True
    """The task graph layer is on."""
    shadow: bool = False


@dataclass(frozen=True)
class RecoveryPlan:
    """The lead of a takeover. In shadow mode it has no graph, since nothing changes."""

    tier: RecoveryTier
    graph: TaskGraph | None
    why: str
    """The reason for a hint or a stop instead of a graph."""
    snapshot: WorkspaceSnapshot
    confidence: Confidence
    first_action: str = ""
    """The first action of a strong hint, if this workspace needs a special one."""
    entries: tuple[TimelineEntry, ...] = ()


@dataclass(frozen=True)
class _Findings:
    """Results of the steps M5 to M8."""

    snapshot: WorkspaceSnapshot
    confidence: Confidence
    safety: Safety
    graph: TaskGraph | None = None


def plan_recovery(context: RecoveryContext) -> RecoveryPlan:
    """Return a graph if snapshot, confidence, safety and builder allow it; else a hint, and after a hint a stop."""
    snapshot = snapshot_of(context.disk, context.ledger, context.round)
    trust = weigh_snapshot(snapshot, context.disk, context.ledger)
    safety = check_safety(snapshot, context.disk, context.ledger, context.task.planned_files)
    looked = _Findings(snapshot, trust, safety)
    why = _why_no_graph(context, looked)
    if not why:
        graph = build_retrospective(context.task, snapshot, graph_id=context.graph_id)
        looked, why = _Findings(snapshot, trust, safety, graph), "" if graph else BUILDER_FAILED
    tier = _choose_tier(context, why)
    graph = None if context.shadow else looked.graph
    first = _first_action(context, looked, why) if tier is RecoveryTier.STRONG_HINT else ""
    return RecoveryPlan(tier, graph, why, snapshot, trust, first, (_recovery_entry(context, looked, tier, why),))


def _first_action(context: RecoveryContext, looked: _Findings, why: str) -> str:
    if looked.safety.reasons:
        return f"{_FIRST[looked.safety.reasons[0]]} Found: {looked.safety.human_reason}."
    unknown = unexpected_files(context.disk, context.ledger) if why == LOW_CONFIDENCE else ()
    return f"{_STRANGERS} Found: {name_few(unknown)}." if unknown else ""


def _why_no_graph(context: RecoveryContext, looked: _Findings) -> str:
    """Return why no graph may lead, before one is built; empty if one may."""
    # `not >=` rather than `<`: a NaN threshold lets nothing through.
    if not looked.confidence.value >= context.gate:
        return LOW_CONFIDENCE
    if not looked.safety.recoverable:
        return f"{UNSAFE}:{','.join(looked.safety.reasons)}"
    return "" if context.has_executor else NO_EXECUTOR


def _choose_tier(context: RecoveryContext, why: str) -> RecoveryTier:
    if not why:
        return RecoveryTier.TEMPLATE_GRAPH
    return RecoveryTier.MANUAL_CHECKPOINT if context.tier_failed_before else RecoveryTier.STRONG_HINT


def _recovery_entry(context: RecoveryContext, looked: _Findings, tier: RecoveryTier, why: str) -> TimelineEntry:
    payload = _entry_payload(context, looked)
    if tier is RecoveryTier.MANUAL_CHECKPOINT:
        stopped = {**payload, "tier": tier.value, "why": why}
        if context.shadow:
            return TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_fail:checkpoint", stopped)
        return failure_entry("checkpoint", **stopped)
    if looked.graph:
        why = f"{len(looked.graph.cursor.completed_node_ids)}/{len(looked.graph.main_branch.node_ids)}"
    reason = f"{tier}:{why}"
    if context.shadow:
        return TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_recover:{reason}", payload)
    return timeline_recover(reason, **payload)


def _entry_payload(context: RecoveryContext, looked: _Findings) -> Mapping[str, Any]:
    return {
        "snapshotId": looked.snapshot.snapshot_id,
        "confidence": looked.confidence.value,
        "factors": dict(looked.confidence.factors),
        "takeover": quote_text(context.reason),
        **({"markedDone": list(looked.graph.cursor.completed_node_ids)} if looked.graph else {}),
    }


_SHOWN = 3
MOST_LISTED = 200


def snapshot_of(disk: DiskFacts, ledger: WorkLedger, turn: int) -> WorkspaceSnapshot:
    """Return the workspace after a round, as disk and ledger show it."""
    return WorkspaceSnapshot(
        snapshot_id=f"snapshot-{turn}",
        at=turn,
        git_summary=_summarize_disk(disk),
        files_added=disk.added[:MOST_LISTED],
        files_modified=disk.modified[:MOST_LISTED],
        files_deleted=disk.deleted[:MOST_LISTED],
        build_summary=disk.build_summary,
        test_summary=ledger.test_summary,
    )


def name_few(paths: Sequence[str]) -> str:
    shown = ", ".join(quote_text(path, 60) for path in paths[:_SHOWN])
    return f"{shown} and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else shown


def _summarize_disk(disk: DiskFacts) -> str:
    counts = {
        "added": len(disk.added),
        "modified": len(disk.modified),
        "deleted": len(disk.deleted),
        "more": disk.left_out,
        "unmerged": len(disk.unmerged),
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    if disk.head_broken:
        parts.append(quote_text(disk.head_broken))
    return ", ".join(parts) or "clean"


UNKNOWN = 0.5
"""Value of a factor without evidence."""
_WEIGHTS = {"gitClean": 0.25, "snapshotAge": 0.15, "verifyPassed": 0.2, "repoContextMatch": 0.25, "buildSignal": 0.15}


@dataclass(frozen=True)
class Confidence:
    """A value between 0 and 1, and its factors by their names in the specification."""

    value: float
    factors: Mapping[str, float] = field(default_factory=dict)


def weigh_snapshot(snapshot: WorkspaceSnapshot, disk: DiskFacts, ledger: WorkLedger) -> Confidence:
    """Return the weighted mean of five factors. The snapshot is new: it is always of this round."""
    factors = {
        "gitClean": _clean_factor(disk, ledger),
        "snapshotAge": 1.0,
        "verifyPassed": _verify_factor(snapshot),
        "repoContextMatch": _match_factor(disk, ledger),
        "buildSignal": _build_factor(snapshot),
    }
    # Rounded, so that a sum of decimal weights equal to the gate is not below it.
    value = round(sum(_WEIGHTS[name] * factor for name, factor in factors.items()), 6)
    return Confidence(value, {name: round(factor, 6) for name, factor in factors.items()})


def unexpected_files(disk: DiskFacts, ledger: WorkLedger) -> tuple[str, ...]:
    """Return the changed files that no call of this run has written."""
    return tuple(path for path in disk.dirty if path not in ledger.files)


def _clean_factor(disk: DiskFacts, ledger: WorkLedger) -> float:
    """Return the share of changed files that this run has written, however many there are."""
    count = len(disk.dirty) + disk.left_out
    if not count:
        return 1.0 if ledger.files else UNKNOWN
    return 1.0 - (len(unexpected_files(disk, ledger)) + disk.left_out) / count


def _verify_factor(snapshot: WorkspaceSnapshot) -> float:
    """Return how well the result of the checks is known; a known failure counts."""
    return {PASSED: 1.0, FAILED: 0.8}.get(snapshot.test_summary or "", UNKNOWN)


def _match_factor(disk: DiskFacts, ledger: WorkLedger) -> float:
    if not ledger.files:
        return UNKNOWN
    there = {*disk.added, *disk.modified}
    return sum(path in there for path in ledger.files) / len(ledger.files)


def _build_factor(snapshot: WorkspaceSnapshot) -> float:
    """Return whether the code builds: a failing test does not tell, code that does not parse does."""
    summary = snapshot.build_summary or ""
    if summary.startswith(ERROR):
        return 0.0
    if snapshot.test_summary == FAILED:
        return UNKNOWN
    if summary == OK:
        return 1.0
    return 0.9 if snapshot.test_summary == PASSED else UNKNOWN


# Whole words only: tests/test_crash.py and crash.py are names, not build results.
_BROKEN = re.compile(
    r"(?<![\w./-])(?:fatal|crash(?:ed)?|panic(?:ked)?|segfault|segmentation fault)(?![\w/-]|\.\w)", re.IGNORECASE
)


@dataclass(frozen=True)
class Safety:
    """The fitness of a workspace for a graph: `reasons` for the event log, `human_reason` for a reader."""

    recoverable: bool
    reasons: tuple[str, ...] = ()
    human_reason: str = ""


def check_safety(snapshot: WorkspaceSnapshot, disk: DiskFacts, ledger: WorkLedger, planned: Sequence[str]) -> Safety:
    """Return whether all written files are present, nothing is half merged, and no build has crashed."""
    there = set(disk.present)
    missing = tuple(path for path in planned if path in ledger.files and path not in there)
    died = next((text for text in (ledger.build_output, snapshot.build_summary or "") if _BROKEN.search(text)), "")
    problems = {
        MISSING: f"{name_few(missing)} was written, and is gone" if missing else "",
        UNMERGED: f"conflict markers in {name_few(disk.unmerged)}" if disk.unmerged else "",
        UNFINISHED: quote_text(disk.head_broken),
        BROKEN: f"the last check died: {quote_text(died)}" if died else "",
    }
    reasons = tuple(reason for reason, text in problems.items() if text)
    return Safety(not reasons, reasons, "; ".join(problems[reason] for reason in reasons))


_LOOKING = (NodeType.INSPECT, NodeType.SEARCH)


def build_retrospective(task: Task, snapshot: WorkspaceSnapshot, *, graph_id: str) -> TaskGraph | None:
    """Return the graph with its finished steps marked; None if it cannot be built."""
    try:
        graph = build_graph(task, graph_id=graph_id)
        for step in _steps_standing(graph, snapshot):
            graph = close_step(graph, step, NodeStatus.DONE)
        return to_first_open(graph)
    except FAULTS:
        return None


def _steps_standing(graph: TaskGraph, snapshot: WorkspaceSnapshot) -> tuple[str, ...]:
    """Return the steps that the workspace shows to be done; never the summary."""
    # An edit never counts as done: present files do not make it complete. A write after a passed check invalidates it.
    checked = (NodeType.VERIFY,) if snapshot.test_summary == PASSED else ()
    kinds = {*(_LOOKING if snapshot.changed else ()), *checked}
    return tuple(name for name in graph.main_branch.node_ids if graph.nodes[name].type in kinds)
