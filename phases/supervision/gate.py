"""Decide which calls are refused (section 5.6): those that would discard work, and those that cannot produce a new result.

Free mode refuses nothing. A step of the graph is shown, and forbids nothing: of 1,945 calls that strict mode once refused in
public runs, 1,435 had worked (decision 199).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from phases.supervision.effects import Effects, TimelineEntry, recovery_entry
from phases.supervision.enums import LED, GateAction, ModeSignal, StopReason, SupervisorMode, TimelineEvent
from phases.supervision.execution_mode import is_forced, submit_signals
from phases.supervision.facts import Call, describe_call, quote_text
from phases.supervision.progress import Fruitless, add_keys, way_label
from phases.supervision.state import KernelState, Setting
from phases.supervision.work_ledger import PASSED, check_fails

_LONGEST_REASON = 600
_MOST_KNOWN = 3
"""Equal results of a successful call, with nothing changed since, before it is refused in a blocked stall."""


@dataclass(frozen=True)
class GateDecision:
    """The decision on a call, and the reason for a refusal."""

    action: GateAction
    reason: str = ""


def decide_call(call: Call, state: KernelState, setting: Setting) -> GateDecision:
    """Return the first decision that applies. Every reason names an action that is possible."""
    led = state.phase.phase in LED
    # decision 62: discarding work needs the user's consent, since the run has no other history than its copies.
    if call.rollback and (led or setting.policy.mode is SupervisorMode.STRICT):
        return GateDecision(
            GateAction.CONFIRM if led else GateAction.SKIP,
            "it would discard work, which the user has to allow first. Next: change the files that are wrong.",
        )
    known = state.progress.fruitless.get(call.signature)
    if known is None or not is_forced(state.mode):
        return GateDecision(GateAction.EXECUTE)
    failures = setting.config.branch_budget.command_retry_max
    most = failures if known.failed else _MOST_KNOWN if state.observer.blocks else known.count + 1
    if known.count < most:
        return GateDecision(GateAction.EXECUTE)
    return GateDecision(GateAction.SKIP, _why_useless(call, known, state))


def refusal_text(reason: str) -> str:
    """Return the text that a model reads in place of a refused call's result."""
    text = " ".join(reason.split())[:_LONGEST_REASON].rstrip(" .")
    return f"[Supervision] Not executed: {text}."


def gate_call(state: KernelState, setting: Setting, call: Call, out: Effects) -> tuple[KernelState, GateDecision]:
    """Return the state and the decision on a call. A refused call is counted here alone."""
    if call.rollback and state.rollback_allowed:  # the user was asked and resumed the run: allowed once
        return replace(state, rollback_allowed=False), GateDecision(GateAction.EXECUTE)
    decision = decide_call(call, state, setting)
    if decision.action is GateAction.EXECUTE:
        return state, decision
    about = {"path": call.path, "command": call.command[:200], "detail": decision.reason[:300]}
    if setting.policy.shadow:
        # decision 64: in shadow mode the call is logged and executed.
        out.note(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_keep_back", about))
        return state, GateDecision(GateAction.EXECUTE)
    state = replace(state, counts=replace(state.counts, blocks=state.counts.blocks + 1))
    if decision.action is GateAction.CONFIRM:
        out.note(TimelineEntry(TimelineEvent.ROLLBACK, "rollback", {"command": call.command[:200]}))
        out.end(StopReason.USER_CHECKPOINT, f"the model wants to discard work: {call.command[:200]}")
        return replace(state, rollback_asked=True), decision
    out.note(recovery_entry("kept_back", **about))
    if call.rollback:
        return state, decision
    mode = submit_signals(state.mode, ModeSignal.RECOVERY_PENDING)
    return replace(state, mode=mode, refused=add_keys(state.refused, call.signature)), decision


def open_refusals(state: KernelState) -> int:
    """Return the number of refused calls that may still not succeed: they keep forced mode."""
    return sum(signature in state.progress.fruitless for signature in state.refused)


def is_verified(state: KernelState, setting: Setting) -> bool:
    """Return whether the work is known to be right, as far as the plan's checks can tell."""
    unchecked = not setting.task.verify_commands and not check_fails(state.ledger)
    return state.ledger.test_summary == PASSED or (unchecked and state.graph.command_passed)


def _why_useless(call: Call, known: Fruitless, state: KernelState) -> str:
    about = quote_text(" ".join(f"{call.tool} {describe_call(call)}".split()), 120)
    if not known.failed:
        result, todo = f"gave the same result {known.count} times", "use that result"
        return f"{about} {result}, and nothing changed since. Next: {todo}."
    limit = next((way.limit for way in state.progress.ways if way.limit and way_label(call) == way.label), "")
    if limit:
        todo = "do what can be done without it, and say so in your summary"
        return f"{about} failed {known.count} times: {limit}, and no command fixes that. Next: {todo}."
    todo = "change a file, then run it again" if call.checks else "send other arguments, or read what it is about"
    return f"{about} failed {known.count} times in the same way, and nothing changed since. Next: {todo}."
