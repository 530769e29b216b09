"""Decide whether the work is finished by its own account. No file or command is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.feedback import Reason, Rejection, build_feedback, gate_rejection_text, rejection_lines
from phases.acceptance.hook import BLOCK, FAIL_CLOSED, FAILED, INTERNAL, PASS, STOP, is_broken
from phases.acceptance.stop_reasons import (
    ACCEPT_CONTINUE,
    ACCEPTED,
    HOOK_STOPPED,
    TODO_FAILED,
    TODO_WAITING,
    VERIFICATION_ERROR,
)
from phases.acceptance.todos import Todo, find_failed
from pipeline.base.text_escaping import escape_text, one_line, shorten_text

GATE_CONTINUED, GATE_FAILED = "continued", "failed"
OUTPUT, NONE_FAILED, CONVERGENCE = "output_only", "required_todo_failed", "required_todo_convergence"
_EMPTY_HINT = "You gave no visible reply just now; continue the task and give a clear result."
_OPEN_HINT = "Required todos are still unfinished; keep working on them before finishing:"


class Check(NamedTuple):
    """One of the three checks."""

    name: str
    passed: bool
    reason: str = ""
    """Reason why it does not pass."""


class GateReport(NamedTuple):
    """Verdict of the gate on one ending."""

    status: str
    """accepted, continued or failed. What is failed ends the run, and `stop_reason` says how."""
    stop_reason: str
    """accepted, accept_continue, required_todo_failed or todo_waiting_external."""
    summary: str
    continue_hint: str
    """For the model: every check that continued work could mend."""
    results: list[Check]
    """Always all three, in one order."""


def run_gate(todos: Sequence[Todo], text: str) -> GateReport:
    """The three checks on the todos and on the visible text of the ending. (acceptance chain, section 8)

    Where nothing but waiting is left, the run ends at once: to continue would only use up the attempts (section 9).
    """
    failed, left = find_failed(todos), [row for row in todos if row.open]
    results = [
        _make_check(OUTPUT, "" if _is_visible(text) else "the reply has no visible text"),
        _make_check(NONE_FAILED, f"required todos failed: {_list_todos(failed)}" if failed else ""),
        _make_check(CONVERGENCE, f"required todos are open: {_list_todos(left)}" if left else ""),
    ]
    waiting = bool(left) and all(row.waits for row in left)
    if failed:
        status, stop = GATE_FAILED, TODO_FAILED
    elif waiting:
        # To continue would only use up the attempts: nothing that the model does ends a wait for the user.
        status, stop = GATE_FAILED, TODO_WAITING
    else:
        status, stop = (ACCEPTED, ACCEPTED) if all(row.passed for row in results) else (GATE_CONTINUED, ACCEPT_CONTINUE)
    return GateReport(status, stop, _build_summary(results), _build_hint(results, left), results)


def _make_check(name: str, reason: str) -> Check:
    return Check(name, not reason, reason)


def _is_visible(text: str) -> bool:
    """Return whether a text has a visible character."""
    return any(mark.isprintable() and not mark.isspace() and escape_text(mark) == mark for mark in text)


def _list_todos(todos: Sequence[Todo]) -> str:
    return ", ".join(f"{one_line(row.id)} ({row.blocked_reason})" if row.waits else one_line(row.id) for row in todos)


def _build_summary(results: Sequence[Check]) -> str:
    return "; ".join(f"{row.name}: {row.reason}" for row in results if not row.passed) or "acceptance prechecks passed"


def _build_hint(results: Sequence[Check], left: Sequence[Todo]) -> str:
    """Return every finding that continued work could fix."""
    parts = [_EMPTY_HINT] if not results[0].passed else []
    if left:
        parts.append("\n".join([_OPEN_HINT, *(f"- {one_line(row.id)}: {one_line(row.content)}" for row in left)]))
    return "\n".join(parts)


_TAMPERED = "acceptance"
ADVICE = "advice"
"""The source of a decision that accepts the facts and asks once for improvements."""
_ADVICE = (
    "Nothing is refused. Improve what is worth improving of the following, then finish; this will not be asked again."
)
_ADVISED = "the checks pass; possible improvements were sent to the model once"
Outcome = Mapping[str, Any]
"""Journal record of one hook."""


class CompletionRequest(NamedTuple):
    """The model says that its work is done."""

    turn: int
    text: str
    """Visible text of the assistant."""
    todos: tuple[Todo, ...]
    continues: int
    """Times the agent was sent back so far."""
    most: int
    recent_tools: Sequence[tuple[str, bool]] = ()
    """Name, and whether it failed."""
    claimed: bool = True
    """False where the agent is stuck and requests nothing, and its work is checked all the same."""
    may_advise: bool = False
    """A model waits for the answer, and can act on advice."""


class GateContext(NamedTuple):
    """Facts other than the results of hooks."""

    tree: str
    """The digest of the tree that the hooks have seen."""
    unchanged: bool
    """Nothing has changed since the last refusal."""
    tampered: Sequence[str]
    """Protected files that were changed."""
    unverified_reason: str
    """Reason why nothing can be verified, whatever the hooks report; empty if there is none."""
    is_advised: bool = False
    """The model has had its one piece of advice in this run."""


def decide_completion(
    request: CompletionRequest, outcomes: Mapping[str, Outcome], context: GateContext
) -> dict[str, Any]:
    """Return the decision, as the journal keeps it (acceptance chain, section 1).

    `block` is what must be fixed, or None; `stop` why the run ends here, or empty; `feedback` the text for the model.
    """
    verification = _build_verification(outcomes, context)
    messages = [f"{key}: {row['message']}" for key, row in outcomes.items() if row["message"]]
    decision = _make_decision(request, outcomes, context, verification)
    return {**decision, "most": request.most, "claimed": request.claimed, "messages": messages}


def _make_decision(
    request: CompletionRequest, outcomes: Mapping[str, Outcome], context: GateContext, verification: Mapping[str, Any]
) -> dict[str, Any]:
    # First of all: what the hooks said after somebody edited them says nothing.
    if context.tampered:
        return _refusal_decision(request, context, _TAMPERED, _tamper_reasons(context), (), verification)
    for status, stop in ((STOP, HOOK_STOPPED), (FAILED, VERIFICATION_ERROR)):
        for key, row in outcomes.items():
            if row["status"] == status and (status == STOP or row["policy"] == FAIL_CLOSED):
                return _stop_decision(stop, f"{key}: {row['reason']}", verification, None)
    reasons = tuple(_reason_of(key, row) for key, row in outcomes.items() if row["status"] == BLOCK)
    notes = tuple(f"{key}: {row['context']}" for key, row in outcomes.items() if row["context"])
    if reasons or notes:
        keys = [reason.key for reason in reasons] or [key for key, row in outcomes.items() if row["context"]]
        source = f"hook:{keys[0]}" if len(keys) == 1 else "hooks"
        return _refusal_decision(request, context, source, reasons, notes, verification)
    report = run_gate(request.todos, request.text)
    if report.status == "accepted":
        accepted = {**_empty_decision(verification), "gate": _gate_row(report)}
        advice = _advice_of(outcomes) if request.may_advise and not context.is_advised else ""
        return (
            {**accepted, "block": advice, "source": ADVICE, "feedback": advice, "lines": [_ADVISED]}
            if advice
            else accepted
        )
    if report.stop_reason in (TODO_FAILED, TODO_WAITING):
        return _stop_decision(report.stop_reason, report.summary, verification, report)
    rejected = (Reason("gate", gate_rejection_text(report), "", ""),)
    return {**_refusal_decision(request, context, "gate", rejected, (), verification), "gate": _gate_row(report)}


def _advice_of(outcomes: Mapping[str, Outcome]) -> str:
    """Return what the built-in check would improve in work that it accepts; empty if nothing."""
    inner = next((row["verification"] for row in outcomes.values() if row.get("verification")), None) or {}
    points = [str(line) for line in inner.get("advice", ())]
    return "\n".join([_ADVICE, *(f"- {point}" for point in points)]) if points else ""


def _build_verification(outcomes: Mapping[str, Outcome], context: GateContext) -> dict[str, Any]:
    """Return what was verified and by whom: every hook passed, at least one ran something, and nothing is in doubt.

    Refused work is never verified.
    """
    inner = next((row["verification"] for row in outcomes.values() if row.get("verification")), None) or {}
    others = {key: row for key, row in outcomes.items() if row["source"] != INTERNAL}
    passed = [key for key, row in others.items() if row["ran"] and row["status"] == PASS]
    mute = {
        key: row["reason"] or "; ".join(row["notes"])
        for key, row in outcomes.items()
        if is_broken(row["status"], row["fault"])
    }
    missing = [f"{key} gave no verdict: {why}" for key, why in mute.items()]
    blocked = [f"{key} does not accept it" for key, row in outcomes.items() if row["status"] in (BLOCK, STOP)]
    edited = f"files that decide about it were changed: {', '.join(context.tampered)}" if context.tampered else ""
    doubts = list(filter(None, [context.unverified_reason, edited, *inner.get("doubts", ())]))
    ran = bool(inner.get("verified")) or bool(passed)
    by = [] if blocked or edited else [*inner.get("verified_by", ()), *(f"your hook {key}" for key in passed)]
    why = [*doubts, *missing, *blocked] or ([] if ran else [str(inner.get("why") or "nothing was run")])
    return {
        "verified": not why,
        "why": "; ".join(why),
        "verified_by": by,
        "tree_sha256": context.tree,
        "sandbox": inner.get("sandbox", "none"),
        "commands": inner.get("commands", []),
        "missing_packages": inner.get("missing_packages", []),
        "missing_programs": inner.get("missing_programs", []),
        "doubts": doubts,
        "evidence": inner.get("evidence", []),
    }


def _empty_decision(verification: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "block": None, "stop": "", "detail": "", "source": "", "feedback": "", "lines": [], "tampered": False, "gate": None,
        "verification": dict(verification),
    }  # fmt: skip


def _stop_decision(
    stop: str, detail: str, verification: Mapping[str, Any], report: GateReport | None
) -> dict[str, Any]:
    gate_row = _gate_row(report) if report else None
    return {**_empty_decision(verification), "block": detail or stop, "stop": stop, "detail": detail, "gate": gate_row}


def _refusal_decision(
    request: CompletionRequest,
    context: GateContext,
    source: str,
    reasons: tuple[Reason, ...],
    notes: tuple[str, ...],
    verification: Mapping[str, Any],
) -> dict[str, Any]:
    rejection = Rejection(request.continues + 1, request.most, source, reasons, notes, context.unchanged)
    block = "\n\n".join([*(f"{reason.fact}\n{reason.output}".strip() for reason in reasons), *notes])
    return {
        **_empty_decision(verification),
        "block": block,
        "source": source,
        "detail": shorten_text(block, 500),
        "feedback": build_feedback(rejection),
        "lines": rejection_lines(rejection),
        "tampered": bool(context.tampered),
    }


def _reason_of(key: str, row: Outcome) -> Reason:
    if row["source"] == INTERNAL:
        return Reason(key, f"{row['fact']}\n{row['reason']}", framed=True)
    nothing = (
        not row["tail"] and not row["wrote"] and row["exit_code"]
    )  # then the reason is ours, and says what the fact says
    return Reason(key, row["fact"], "" if nothing else row["reason"], row["log"])


def _tamper_reasons(context: GateContext) -> tuple[Reason, ...]:
    names = ", ".join(context.tampered)
    return (
        Reason(
            _TAMPERED,
            f"Files that decide about acceptance were changed during the run: {names}. Restore them to what they were; until "
            "then no check is run and nothing is accepted. (Whoever changed them himself: pipeline hooks trust.)",
            "",
            "",
        ),
    )


def _gate_row(report: GateReport) -> dict[str, Any]:
    return {
        "status": report.status,
        "stop_reason": report.stop_reason,
        "summary": report.summary,
        "results": [{"name": row.name, "passed": row.passed, "reason": row.reason} for row in report.results],
    }
