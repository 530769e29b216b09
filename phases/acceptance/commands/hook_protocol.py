"""What a command hook says in JSON when it exits with 0 (acceptance chain, section 5.4)."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from phases.acceptance.commands.hook_process import ProcessOutcome
from phases.acceptance.commands.sanitize import strip_control
from phases.acceptance.hook import (
    AUTO,
    BEFORE_TOOL,
    BLOCK,
    CLAUDE,
    FAILED,
    PASS,
    SESSION_START,
    STOP,
    STRICT,
    Hook,
    HookPoint,
    HookResult,
)

MOST_TEXT = 8192
"""Bytes of any one text."""
_LONGEST_QUOTE = 200
_DENIES, _ALLOWS = ("block", "deny"), ("approve", "allow", "ask")
_REFUSED_UPDATES = ("updatedInput", "updatedToolOutput", "updatedMCPToolOutput")
_SPECIFIC, _PERMISSION = "hookSpecificOutput", "permissionDecision"
_REFUSES = re.compile(
    rb"""["'](?:decision|permissionDecision)["']\s*:\s*["'](?:block|deny)["']|["']continue["']\s*:\s*[Ff]alse"""
)
_TEXTS = ("reason", "stopReason", "systemMessage", "decision")
_SPECIFIC_TEXTS = ("additionalContext", _PERMISSION, "permissionDecisionReason")


class _Misunderstood(ValueError):
    """The hook answered, and its answer is not valid."""


def judge_reply(ran: ProcessOutcome, hook: Hook, point: HookPoint) -> HookResult:
    """The verdict of a hook that exited with 0: a pass, but for what its standard output says as one JSON object."""
    try:
        reply = parse_object(ran)
        if reply is None:
            return _plain_reply(ran, hook, point)
        return _judge_object(reply, hook, point)
    except _Misunderstood as error:
        return HookResult(FAILED, f"hook {hook.key} exited with 0, and {strip_control(str(error), MOST_TEXT)}")


def parse_object(ran: ProcessOutcome) -> Mapping[str, Any] | None:
    """Standard output, if the whole of it is one JSON object."""
    try:
        value = json.loads(ran.stdout.decode("utf-8", "replace").strip().removeprefix("\ufeff"))
    except (ValueError, RecursionError):  # RecursionError: lists in lists in lists
        return None
    return value if ran.is_whole and isinstance(value, dict) else None


def _plain_reply(ran: ProcessOutcome, hook: Hook, point: HookPoint) -> HookResult:
    """Output that is no object is a note, unless it was meant for one: a block must not get lost for a missing comma.

    A strict hook is any command at all, and may print braces; its output counts as an answer only if it refuses something.
    """
    # decision 92: test commands print what they like, so braces alone are no answer
    text = ran.stdout.strip().removeprefix(b"\xef\xbb\xbf")
    meant = hook.exit_policy == CLAUDE or _REFUSES.search(text) is not None
    if text.startswith(b"{") and meant:
        size = "" if ran.is_whole else ": it is larger than 64 KiB"
        raise _Misunderstood(f"its answer looks like a JSON object but is not valid{size}")
    shown = strip_control(text, MOST_TEXT).strip()
    if point.name == SESSION_START and hook.exit_policy == CLAUDE:  # as Claude Code takes it
        return HookResult(PASS, context=shown)
    lines = [line for line in shown.splitlines() if line.strip()]
    return HookResult(PASS, notes=(f"it printed: {strip_control(lines[-1].strip(), _LONGEST_QUOTE)}",) if lines else ())


def _judge_object(reply: Mapping[str, Any], hook: Hook, point: HookPoint) -> HookResult:
    if reply.get("continue") is False:  # it wins over everything, also over what is wrong with the rest
        reason = reply.get("stopReason")
        told = strip_control(reason, MOST_TEXT).strip() if isinstance(reason, str) else ""
        return HookResult(STOP, told or f"hook {hook.key} stopped the run", message=_message_of(reply))
    faults = list(_reply_faults(reply))
    if faults and hook.exit_policy == CLAUDE:
        raise _Misunderstood(faults[0])
    found = reply.get(_SPECIFIC)
    specific = found if isinstance(found, dict) else {}
    notes = (
        *faults,
        *_update_notes(reply, specific),
        *_decision_notes(reply, point),
        *_specific_notes(specific, point),
    )
    result = HookResult(PASS, message=_message_of(reply), context=_text_of(specific, "additionalContext"), notes=notes)
    if reply.get("decision") in _DENIES:
        told = f"its answer has the decision {reply['decision']!r} without a reason"
        reason = _text_of(reply, "reason")
        if not reason and hook.exit_policy == CLAUDE:
            raise _Misunderstood(told)
        return result._replace(status=BLOCK, reason=reason or f"hook {hook.key} exited with 0, and {told}")
    if point.name == BEFORE_TOOL and specific.get(_PERMISSION) == "deny":
        reason = _text_of(specific, "permissionDecisionReason") or f"hook {hook.key} denies this call"
        return result._replace(status=BLOCK, reason=reason)
    return result


def _reply_faults(reply: Mapping[str, Any]) -> Iterator[str]:
    """What counts in an answer and is not as it should be. Null is as good as nothing.

    Under the protocol of Claude Code the answer is invalid then. Under the other policies exit codes are the
    protocol, and an object of a program's own (`{"decision": "PASS"}`) is no answer at all: it is only told.
    """
    specific = reply.get(_SPECIFIC)
    if not isinstance(reply.get("continue"), bool | None):
        yield "in its answer 'continue' is neither true nor false"
    if not isinstance(specific, dict | None):
        yield f"in its answer {_SPECIFIC!r} is not an object"
    specific = specific if isinstance(specific, dict) else {}
    for values, names in ((reply, _TEXTS), (specific, _SPECIFIC_TEXTS)):
        for name in names:
            if not isinstance(values.get(name), str | None):
                yield f"in its answer {name!r} is not a string"
    known = (*_DENIES, *_ALLOWS)
    for decision in (reply.get("decision"), specific.get(_PERMISSION)):
        if decision and isinstance(decision, str) and decision not in known:
            told = strip_control(decision, _LONGEST_QUOTE)
            yield f"its answer has the decision {told!r}, which is none of {', '.join(known)}"


def _update_notes(reply: Mapping[str, Any], specific: Mapping[str, Any]) -> list[str]:
    names = [name for name in _REFUSED_UPDATES if name in reply or name in specific]
    return [f"{name} is refused: a hook cannot change a tool's input or output" for name in names]


def _decision_notes(reply: Mapping[str, Any], point: HookPoint) -> list[str]:
    if reply.get("decision") in _ALLOWS and point.name == BEFORE_TOOL:
        return [f"its decision {reply['decision']!r} changes nothing: a hook can refuse a call, and allow none"]
    return []


def _specific_notes(specific: Mapping[str, Any], point: HookPoint) -> list[str]:
    notes = []
    decision, event = specific.get(_PERMISSION), specific.get("hookEventName")
    if decision and point.name != BEFORE_TOOL:
        notes.append(f"its {_PERMISSION} is ignored: at {point.name} nothing is permitted or denied")
    elif decision in _ALLOWS:
        notes.append(f"its {_PERMISSION} {decision!r} changes nothing: a hook can refuse a call, and allow none")
    if isinstance(event, str) and event not in (point.claude, point.gemini, point.name):
        notes.append(f"it answered as if at {strip_control(event, _LONGEST_QUOTE)!r}")
    return notes


def _message_of(reply: Mapping[str, Any]) -> str:
    return _text_of(reply, "systemMessage")


def _text_of(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return strip_control(value, MOST_TEXT).strip() if isinstance(value, str) else ""


_NOT_EXECUTABLE, _NOT_FOUND, _BLOCKS = 126, 127, 2
_LONGEST_LINE = 200


def read_verdict(ran: ProcessOutcome, hook: Hook, point: HookPoint) -> HookResult:
    """The verdict of one run of a hook. A block is returned at any point: whether it holds there is not decided here."""
    printed = _combine_output(ran)
    verdict = _judge_exit(ran, hook, point, printed)
    return verdict._replace(
        tail=printed,
        exit_code=ran.exit_code,
        timed_out=ran.timed_out,
        notes=(*verdict.notes, *(strip_control(note, MOST_TEXT) for note in ran.notes)),
        seconds=ran.seconds,
    )


def _judge_exit(ran: ProcessOutcome, hook: Hook, point: HookPoint, printed: str) -> HookResult:
    name = f"hook {hook.key}"
    if ran.fault:
        return HookResult(FAILED, f"{name} could not be run: {strip_control(ran.fault, MOST_TEXT)}")
    if ran.timed_out:
        told = f"{name} timed out after {hook.seconds:g} s"
        return HookResult(BLOCK, _join_texts(told, printed)) if hook.timeout_blocks else HookResult(FAILED, told)
    if ran.signal is not None or ran.exit_code is None:
        return HookResult(FAILED, f"{name} was ended by {_signal_name(ran.signal)}{_last_words(printed)}")
    if ran.exit_code == 0:
        return (
            HookResult(PASS) if hook.sandbox else judge_reply(ran, hook, point)
        )  # in the sandbox exit codes alone count
    told = f"exited with code {ran.exit_code}"
    # The shell says so of a mistyped command: that is a broken hook, not a verdict on the code.
    if ran.exit_code in (_NOT_EXECUTABLE, _NOT_FOUND):
        return HookResult(FAILED, f"{name} {told}: its command cannot be run{_last_words(printed)}")
    if ran.exit_code in _blocking_codes(hook, ran.exit_code):
        silent = "and wrote no reason to standard error" if printed.strip() else "without output"
        return HookResult(BLOCK, _block_reason(ran, hook, printed) or f"{name} {told} {silent}")
    if hook.exit_policy == CLAUDE:
        fault = f"{name} {told}{_last_words(printed)}"
        return HookResult(PASS, notes=(f"hook_failed: {fault}",), fault=fault)
    return HookResult(FAILED, f"{name} {told}, which is not a verdict{_last_words(printed)}")


def _blocking_codes(hook: Hook, code: int) -> tuple[int, ...]:
    """Which codes block, of those that are left when 0 and what cannot be run are dealt with."""
    return {STRICT: (code,), AUTO: (1, _BLOCKS)}.get(hook.exit_policy, (_BLOCKS,))


def _block_reason(ran: ProcessOutcome, hook: Hook, printed: str) -> str:
    """What it printed. At exit code 2 an answer in JSON does not count, and standard error is the reason."""
    errors = strip_control(ran.stderr, MOST_TEXT).strip("\n")
    answered = ran.exit_code == _BLOCKS and parse_object(ran) is not None
    return errors if hook.exit_policy == CLAUDE or (answered and errors.strip()) else printed.strip("\n")


def _combine_output(ran: ProcessOutcome) -> str:
    """Standard error, then standard output: half of the room is each one's, if it needs it."""
    # Failures are printed at the end, often to standard output: neither stream may crowd out the other.
    room = MOST_TEXT - 1
    errors, output = (strip_control(data, room).strip("\n") for data in (ran.stderr, ran.stdout))
    half = room // 2
    errors = strip_control(errors, max(half, room - len(output.encode())))
    output = strip_control(output, room - len(errors.encode()))
    return _join_texts(errors, output)


def _join_texts(first: str, second: str) -> str:
    return strip_control("\n".join(part for part in (first, second) if part.strip()), MOST_TEXT)


def _last_words(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.strip()]
    return f": {strip_control(lines[-1].strip(), _LONGEST_LINE)}" if lines else ""


def _signal_name(number: int | None) -> str:
    if number is None:
        return "something that is not known"
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
