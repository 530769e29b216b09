"""The main path of a recovery: what stands in the workspace decides how a takeover leads (section 7.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phases.supervision import timeline
from phases.supervision.confidence import Confidence, Evidence, confidence, strangers
from phases.supervision.config import SnapshotConfidence
from phases.supervision.facts import Task
from phases.supervision.graph import TaskGraph
from phases.supervision.ledger import WorkLedger
from phases.supervision.retrospective import Retrospective, retrospective
from phases.supervision.safety import BROKEN, MISSING, UNFINISHED, UNMERGED, Safety, check
from phases.supervision.texts import quoted, recovery_text
from phases.supervision.timeline import Entry
from phases.supervision.words import RecoveryTier, TimelineEvent
from phases.supervision.workspace import OK, DiskFacts, WorkspaceSnapshot, few, snapshot_of

LOW_CONFIDENCE, UNSAFE, BUILDER_FAILED, NO_EXECUTOR = "low_confidence", "unsafe", "builder_failed", "no_executor"
_WHY = {
    LOW_CONFIDENCE: "too little of it is known to be your own work",
    UNSAFE: "it is not fit to be built upon",
    BUILDER_FAILED: "no plan of steps fits the task",
    NO_EXECUTOR: "plans of steps are switched off",
}
_FIRST = {
    MISSING: "write the missing files again.",
    UNMERGED: "take the marks of the merge out of these files; keep the code that is right, and no line of marks.",
    UNFINISHED: "leave the repository itself alone; make the files right one by one.",
    BROKEN: "find out why it dies: run the smallest command that shows it, and read what it prints.",
}
_STRANGERS = "read the files that you did not change yourself; they are not what you left."
_OPEN = "write the first planned file that is not there."


@dataclass(frozen=True)
class RecoveryContext:
    """What a recovery is made of."""

    task: Task
    disk: DiskFacts
    ledger: WorkLedger
    config: SnapshotConfidence
    round: int
    graph_id: str
    domain: str
    reason: str
    """Of the takeover: its signals."""
    tier_failed_before: bool = False
    """The recovery before this one, in the same takeover, came to no more than a hint."""
    has_executor: bool = True
    """There is somebody to follow a graph."""
    shadow: bool = False


@dataclass(frozen=True)
class Recovered:
    """How the takeover leads. In shadow mode there is neither graph nor text: nothing is to be changed."""

    tier: RecoveryTier
    graph: TaskGraph | None
    why: str
    """Of a hint or a stop: why there is no graph."""
    snapshot: WorkspaceSnapshot
    confidence: Confidence
    text: str = ""
    """Of the strong hint, for the model."""
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class _Looked:
    """What M5 to M8 found."""

    snapshot: WorkspaceSnapshot
    confidence: Confidence
    safety: Safety
    built: Retrospective = field(default_factory=lambda: Retrospective(ok=False))


def recover(context: RecoveryContext) -> Recovered:
    """Looks, weighs, checks, builds; the first of these that fails makes it a hint, and the second hint in a row a stop."""
    snapshot = snapshot_of(context.disk, context.ledger, context.round)
    evidence = Evidence(context.disk, context.ledger, context.round)
    trust = confidence(snapshot, evidence, context.config.weights)
    safety = check(snapshot, context.disk, context.ledger, context.task.planned_files)
    looked = _Looked(snapshot, trust, safety)
    why = _refusal(context, looked)
    if not why:
        built = retrospective(context.task, snapshot, context.ledger, graph_id=context.graph_id, at=context.round)
        looked, why = _Looked(snapshot, trust, safety, built), "" if built.ok else BUILDER_FAILED
    tier = _tier(context, why)
    told = _entry(context, looked, tier, why)
    live = not context.shadow
    graph = looked.built.graph if live and tier is RecoveryTier.TEMPLATE_GRAPH else None
    text = _hint(context, looked, why) if live and tier is RecoveryTier.STRONG_HINT else ""
    return Recovered(tier, graph, why, snapshot, trust, text, (told,))


def _hint(context: RecoveryContext, looked: _Looked, why: str) -> str:
    """The one message of a strong hint, with the step that this very workspace wants first."""
    there = set(context.disk.present)
    absent = [path for path in context.task.planned_files if path not in there]
    unknown = strangers(context.disk, context.ledger) if why == LOW_CONFIDENCE else ()
    evidence = (
        looked.safety.human_reason,
        f"changed by no call of yours: {few(unknown)}" if unknown else "",
        f"the last check failed: {context.ledger.build_output}" if context.ledger.build_output else "",
        looked.snapshot.build_summary if looked.snapshot.build_summary not in (None, OK) else "",
        f"planned and not there: {few(absent)}" if absent else "",
        f"the files, against the beginning: {looked.snapshot.git_summary}",
    )
    told = recovery_text(_WHY[why.partition(":")[0]], context.task.goal, [line for line in evidence if line])
    first = [_FIRST[reason] for reason in looked.safety.reasons]
    first += [_STRANGERS] if unknown else [_OPEN] if absent else []
    return f"{told}\nBefore that: {first[0]}" if first else told


def _refusal(context: RecoveryContext, looked: _Looked) -> str:
    """Why no graph may lead, before one is built; empty where one may."""
    # Written this way round, a gate that is no number lets nothing through.
    if not looked.confidence.value >= context.config.template_graph_min:
        return LOW_CONFIDENCE
    if not looked.safety.recoverable:
        return f"{UNSAFE}:{','.join(looked.safety.reasons)}"
    return "" if context.has_executor else NO_EXECUTOR


def _tier(context: RecoveryContext, why: str) -> RecoveryTier:
    if not why:
        return RecoveryTier.TEMPLATE_GRAPH
    return RecoveryTier.MANUAL_CHECKPOINT if context.tier_failed_before else RecoveryTier.STRONG_HINT


def _entry(context: RecoveryContext, looked: _Looked, tier: RecoveryTier, why: str) -> Entry:
    """The line of the event log. In shadow mode it says what would have been done."""
    payload = _payload(context, looked)
    if tier is RecoveryTier.MANUAL_CHECKPOINT:
        stopped = {**payload, "tier": tier.value, "why": why}
        if context.shadow:
            return Entry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_fail:checkpoint", stopped)
        return timeline.failure("checkpoint", **stopped)
    graph = tier is RecoveryTier.TEMPLATE_GRAPH
    reason = f"{tier}:{looked.built.marked}/{looked.built.total}" if graph else f"{tier}:{why}"
    if context.shadow:
        return Entry(TimelineEvent.SHADOW_DIAGNOSTIC, f"would_recover:{reason}", payload)
    return timeline.recover(reason, **payload)


def _payload(context: RecoveryContext, looked: _Looked) -> Mapping[str, Any]:
    graph = looked.built.graph
    more = {"markedDone": list(graph.cursor.completed_node_ids)} if graph else {"builder": looked.built.reason}
    return {
        "snapshotId": looked.snapshot.snapshot_id,
        "confidence": looked.confidence.value,
        "factors": dict(looked.confidence.factors),
        "domain": str(context.domain),
        "takeover": quoted(context.reason),
        **{key: value for key, value in more.items() if value != ""},
    }
