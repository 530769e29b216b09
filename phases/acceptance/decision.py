"""One decision on a claim that the work is done, from what the hooks and the gate said. Pure: the chain records it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.feedback import Reason, Rejection, block_lines, feedback, gate_rejection_text
from phases.acceptance.gate import Report, gate
from phases.acceptance.hook import BLOCK, FAILED, INTERNAL, PASS, STOP, is_broken
from phases.acceptance.points import FAIL_CLOSED
from phases.acceptance.stop_reasons import HOOK_STOPPED, TODO_FAILED, TODO_WAITING, VERIFICATION_ERROR
from phases.acceptance.todo_list.todos import Todo

_TAMPERED = "acceptance"
Outcome = Mapping[str, Any]
"""What the journal keeps of one hook."""


class Claim(NamedTuple):
    """The model says that it is done."""

    turn: int
    text: str
    """What it says, visibly."""
    todos: tuple[Todo, ...]
    continues: int
    """How often it was told to go on by now."""
    most: int
    recent_tools: Sequence[tuple[str, bool]] = ()
    """Name, and whether it failed."""
    claimed: bool = True
    """False where nobody says that it is done, and it is looked at all the same."""


class Standing(NamedTuple):
    """What is known beside the hooks."""

    tree: str
    """The digest of the tree that the hooks have seen."""
    unchanged: bool
    """Nothing has changed since the last refusal."""
    tampered: Sequence[str]
    """Files of the exam that are not what they were."""
    doubt: str
    """Why nothing can be verified, whatever the hooks say; or empty."""


def decide(claim: Claim, outcomes: Mapping[str, Outcome], standing: Standing) -> dict[str, Any]:
    """The decision, as the journal keeps it. `block`: what must be mended, or None; `stop`: why the run ends here, or empty;
    `feedback`: what the model is told. (acceptance chain, section 1)
    """
    verification = _verification(outcomes, standing)
    messages = [f"{key}: {row['message']}" for key, row in outcomes.items() if row["message"]]
    decision = _decision(claim, outcomes, standing, verification)
    return {**decision, "most": claim.most, "claimed": claim.claimed, "messages": messages}


def _decision(
    claim: Claim, outcomes: Mapping[str, Outcome], standing: Standing, verification: Mapping[str, Any]
) -> dict[str, Any]:
    if standing.tampered:
        return _refused(claim, standing, _TAMPERED, _tamper_reasons(standing), (), verification)
    for status, stop in ((STOP, HOOK_STOPPED), (FAILED, VERIFICATION_ERROR)):
        for key, row in outcomes.items():
            if row["status"] == status and (status == STOP or row["policy"] == FAIL_CLOSED):
                return _stopped(stop, f"{key}: {row['reason']}", verification, None)
    reasons = tuple(_reason_of(key, row) for key, row in outcomes.items() if row["status"] == BLOCK)
    notes = tuple(f"{key}: {row['context']}" for key, row in outcomes.items() if row["context"])
    if reasons or notes:
        keys = [reason.key for reason in reasons] or [key for key, row in outcomes.items() if row["context"]]
        source = f"hook:{keys[0]}" if len(keys) == 1 else "hooks"
        return _refused(claim, standing, source, reasons, notes, verification)
    report = gate(claim.todos, claim.text)
    if report.status == "accepted":
        return {**_empty(verification), "gate": _gate_row(report)}
    if report.stop_reason in (TODO_FAILED, TODO_WAITING):
        return _stopped(report.stop_reason, report.summary, verification, report)
    told = (Reason("gate", gate_rejection_text(report), "", ""),)
    return {**_refused(claim, standing, "gate", told, (), verification), "gate": _gate_row(report)}


def _verification(outcomes: Mapping[str, Outcome], standing: Standing) -> dict[str, Any]:
    """Verified: every hook passed, and at least one of them ran something."""
    inner = next((row["verification"] for row in outcomes.values() if row.get("verification")), None) or {}
    others = [row for row in outcomes.values() if row["source"] != INTERNAL]
    ran = bool(inner.get("verified")) or any(row["ran"] and row["status"] == PASS for row in others)
    mute = {
        key: row["reason"] or "; ".join(row["notes"])
        for key, row in outcomes.items()
        if is_broken(row["kind"], row["status"], row["notes"])
    }
    missing = [f"{key} gave no verdict: {why}" for key, why in mute.items()]
    blocked = [f"{key} does not accept it" for key, row in outcomes.items() if row["status"] in (BLOCK, STOP)]
    edited = f"files that decide about it were changed: {', '.join(standing.tampered)}" if standing.tampered else ""
    doubt = list(filter(None, [standing.doubt, edited, *inner.get("doubts", ())]))
    why = [*doubt, *missing, *blocked] or ([] if ran else [str(inner.get("why") or "nothing was run")])
    return {
        "verified": not why,
        "why": "; ".join(why),
        "tree_sha256": standing.tree,
        "sandbox": inner.get("sandbox", "none"),
        "commands": inner.get("commands", []),
        "missing_packages": inner.get("missing_packages", []),
    }


def _empty(verification: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "block": None, "stop": "", "detail": "", "source": "", "feedback": "", "lines": [], "tampered": False, "gate": None,
        "verification": dict(verification),
    }  # fmt: skip


def _stopped(stop: str, detail: str, verification: Mapping[str, Any], report: Report | None) -> dict[str, Any]:
    gate_row = _gate_row(report) if report else None
    return {**_empty(verification), "block": detail or stop, "stop": stop, "detail": detail, "gate": gate_row}


def _refused(
    claim: Claim,
    standing: Standing,
    source: str,
    reasons: tuple[Reason, ...],
    notes: tuple[str, ...],
    verification: Mapping[str, Any],
) -> dict[str, Any]:
    left = claim.most - claim.continues
    attempt = claim.continues + 1
    rejection = Rejection(attempt, claim.most, source, reasons, notes, standing.unchanged, max(left - 1, 0))
    block = "\n\n".join([*(f"{reason.fact}\n{reason.output}".strip() for reason in reasons), *notes])
    return {
        **_empty(verification),
        "block": block,
        "source": source,
        "detail": " ".join(block.split())[:500],
        "feedback": feedback(rejection) if left > 0 else "",
        "lines": block_lines(rejection),
        "tampered": bool(standing.tampered),
    }


def _reason_of(key: str, row: Outcome) -> Reason:
    nothing = (
        not row["tail"] and not row["wrote"] and row["exit_code"]
    )  # then the reason is ours, and says what the fact says
    return Reason(key, row["fact"], "" if nothing else row["reason"], row["log"])


def _tamper_reasons(standing: Standing) -> tuple[Reason, ...]:
    names = ", ".join(standing.tampered)
    return (
        Reason(
            _TAMPERED,
            f"Files that decide about acceptance were changed during the run: {names}. Restore them to what they were; until "
            "then no check is run and nothing is accepted. (Whoever changed them himself: pipeline hooks trust.)",
            "",
            "",
        ),
    )


def _gate_row(report: Report) -> dict[str, Any]:
    return {
        "status": report.status,
        "stop_reason": report.stop_reason,
        "summary": report.summary,
        "results": [{"name": row.name, "passed": row.passed, "reason": row.reason} for row in report.results],
    }
