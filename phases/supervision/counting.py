"""What an executed call counts for on its step (section 6.5): signals, use, failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from phases.supervision.contracts import Contract, class_in
from phases.supervision.facts import Action, Result
from phases.supervision.graph_run import StepUse
from phases.supervision.words import NodeType, OutputSignal, ToolClass

_MOST_FAILURE_KEYS = 20
_CHECKING = (NodeType.VERIFY, NodeType.FALLBACK, NodeType.SUMMARIZE)
_READS = (ToolClass.READ, ToolClass.SEARCH)


@dataclass(frozen=True)
class Step:
    """What a call is counted against."""

    kind: NodeType
    contract: Contract
    checks: bool
    """The call says if the work is right. One that fails is how work goes, and no idle round."""


def used(use: StepUse, action: Action, step: Step) -> StepUse:
    """What was done on a step, with this call."""
    call, kind = action.call, class_in(step.contract, action.call)
    wrote = action.ok and (kind is ToolClass.WRITE or bool(action.result.changed))
    read = kind in _READS and action.ok
    told, checked = step.checks, step.checks and step.kind in _CHECKING
    settled = action.verified or (told and action.ok and not call.verify and not call.like_check)
    return replace(
        use,
        calls=use.calls + 1,
        reads=use.reads + read,
        reads_since_write=0 if wrote else use.reads_since_write + read,
        signals=tuple(
            dict.fromkeys((*use.signals, *signals_of(action), *((OutputSignal.FILE_WRITTEN,) if wrote else ())))
        ),
        last_signature=call.signature,
        same_calls=use.same_calls + 1 if call.signature == use.last_signature else 1,
        round_calls=(*use.round_calls, ToolClass.WRITE if wrote else kind),
        round_ok=use.round_ok + (action.ok or told),
        round_checks=use.round_checks + told,
        check_failed=_why(action.result) if checked and not action.ok else "" if settled else use.check_failed,
    )


def with_failure(before: Mapping[str, int], action: Action, step: Step) -> dict[str, int]:
    """Counts of failures, with this call. A check that fails while code is still being written is none."""
    same = f"{action.call.signature} "
    counts = {key: count for key, count in before.items() if not (action.ok and key.startswith(same))}
    if action.result.failed and (step.kind in _CHECKING or not step.checks):
        key = failure_key(action)
        counts[key] = counts.pop(key, 0) + 1
        while len(counts) > _MOST_FAILURE_KEYS:
            del counts[next(iter(counts))]
    return counts


def signals_of(action: Action) -> tuple[OutputSignal, ...]:
    """What a call brought about. A command that was only started has not been executed."""
    result = action.result
    if not action.ok or result.background:
        return ()
    match action.call.tool_class:
        case ToolClass.READ:
            return (OutputSignal.FILE_READ,)
        case ToolClass.SEARCH:
            return (OutputSignal.SEARCH_COMPLETED,)
        case ToolClass.WRITE:
            return (OutputSignal.FILE_WRITTEN, *((OutputSignal.FILE_CHANGED,) if result.changed else ()))
        case ToolClass.DELEGATE:
            return (OutputSignal.DELEGATE_DONE, OutputSignal.SEARCH_COMPLETED)
        case ToolClass.EXEC:
            checks = (OutputSignal.VERIFICATION_DONE,) if action.call.verify else ()
            passed = (OutputSignal.TEST_PASSED,) if action.verified else ()
            return (OutputSignal.COMMAND_EXECUTED, *checks, *passed)
        case _:
            return ()


def failure_key(action: Action) -> str:
    """Stands for one way in which one call fails."""
    return f"{action.call.signature} {action.result.digest}"


def _why(result: Result) -> str:
    return " ".join((result.failures[0] if result.failures else result.error or "a check failed").split())[:200]
