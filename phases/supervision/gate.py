"""The one place that says why a call is kept back (section 5.6): what would take work back, and what can bring nothing.

Free mode keeps nothing back. A step of the graph is shown and told of, and forbids nothing: of 1,945 calls that strict mode once
kept from public runs, 1,435 had worked (decision 199).
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
"""A call that goes well is kept back after so many equal results, with nothing changed since, once a stall is blocked."""


@dataclass(frozen=True)
class GateDecision:
    """What becomes of the call, and the reason where it is kept back."""

    action: GateAction
    reason: str = ""


def decide_call(call: Call, state: KernelState, setting: Setting) -> GateDecision:
    """The first rule that fits. Every reason names a way that is open."""
    led = state.phase.phase in LED
    # decision 62: taking work back needs a person, and the run has no history but the copies beside it.
    if call.rollback and (led or setting.policy.mode is SupervisorMode.STRICT):
        return GateDecision(
            GateAction.CONFIRM if led else GateAction.SKIP,
            "it would take work back, and a person has to agree first. Next: change the files that are wrong.",
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
    """What a model reads in place of the result of a call that was kept back."""
    told = " ".join(reason.split())[:_LONGEST_REASON].rstrip(" .")
    return f"[Supervision] Not executed: {told}."


def gate_call(state: KernelState, setting: Setting, call: Call, out: Effects) -> tuple[KernelState, GateDecision]:
    """What becomes of a call. One that is kept back is counted here, and nowhere else."""
    if call.rollback and state.rollback_allowed:  # a person was asked, and let the run go on: once
        return replace(state, rollback_allowed=False), GateDecision(GateAction.EXECUTE)
    decision = decide_call(call, state, setting)
    if decision.action is GateAction.EXECUTE:
        return state, decision
    about = {"path": call.path, "command": call.command[:200], "detail": decision.reason[:300]}
    if setting.policy.shadow:
        # decision 64: in shadow it is logged, and let through.
        out.note(TimelineEntry(TimelineEvent.SHADOW_DIAGNOSTIC, "would_keep_back", about))
        return state, GateDecision(GateAction.EXECUTE)
    state = replace(state, counts=replace(state.counts, blocks=state.counts.blocks + 1))
    if decision.action is GateAction.CONFIRM:
        out.note(TimelineEntry(TimelineEvent.ROLLBACK, "rollback", {"command": call.command[:200]}))
        out.end(StopReason.USER_CHECKPOINT, f"the model wants to take work back: {call.command[:200]}")
        return replace(state, rollback_asked=True), decision
    out.note(recovery_entry("kept_back", **about))
    if call.rollback:
        return state, decision
    mode = submit_signals(state.mode, ModeSignal.RECOVERY_PENDING)
    return replace(state, mode=mode, refused=add_keys(state.refused, call.signature)), decision


def open_refusals(state: KernelState) -> int:
    """Calls that were kept back, and of which nothing says yet that they may go well now: they keep forced mode."""
    return sum(signature in state.progress.fruitless for signature in state.refused)


def is_verified(state: KernelState, setting: Setting) -> bool:
    """Whether the work is known to be right, as far as anything in the plan says so."""
    unchecked = not setting.task.verify_commands and not check_fails(state.ledger)
    return state.ledger.test_summary == PASSED or (unchecked and state.graph.command_passed)


def _why_useless(call: Call, known: Fruitless, state: KernelState) -> str:
    about = quote_text(" ".join(f"{call.tool} {describe_call(call)}".split()), 120)
    if not known.failed:
        told, todo = f"gave the same result {known.count} times", "use that result"
        return f"{about} {told}, and nothing changed since. Next: {todo}."
    limit = next((way.limit for way in state.progress.ways if way.limit and way_label(call) == way.label), "")
    if limit:
        todo = "do what can be done without it, and say so in your summary"
        return f"{about} failed {known.count} times: {limit}, and no command mends that. Next: {todo}."
    todo = "change a file, then run it again" if call.checks else "send other arguments, or read what it is about"
    return f"{about} failed {known.count} times in the same way, and nothing changed since. Next: {todo}."
