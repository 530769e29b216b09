"""What a command hook says in JSON when it exits with 0 (acceptance chain, section 5.4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from phases.acceptance.commands.clean import cleaned
from phases.acceptance.commands.process import Ran
from phases.acceptance.hook import BLOCK, CLAUDE, FAILED, PASS, STOP, Hook, Result
from phases.acceptance.points import BEFORE_TOOL, Point

MOST_TEXT = 8192
"""Bytes of any one text."""
_LONGEST_LINE = 200
_DENIES, _ALLOWS = ("block", "deny"), ("approve", "allow", "ask")
_REFUSED = ("updatedInput", "updatedToolOutput", "updatedMCPToolOutput")
_SPECIFIC, _PERMISSION = "hookSpecificOutput", "permissionDecision"
_REFUSES = re.compile(
    rb"""["'](?:decision|permissionDecision)["']\s*:\s*["'](?:block|deny)["']|["']continue["']\s*:\s*[Ff]alse"""
)
_TEXTS = ("reason", "stopReason", "systemMessage", "decision")
_SPECIFIC_TEXTS = ("additionalContext", _PERMISSION, "permissionDecisionReason")


class _Misunderstood(ValueError):
    """The hook answered, and nobody can tell what."""


def reply_of(ran: Ran, hook: Hook, point: Point) -> Result:
    """The verdict of a hook that exited with 0: a pass, but for what its standard output says as one JSON object."""
    try:
        reply = said(ran)
        if reply is None:
            return _plain(ran, hook)
        return _taken(reply, hook, point)
    except _Misunderstood as error:
        return Result(FAILED, f"hook {hook.key} exited with 0, and {cleaned(str(error), MOST_TEXT)}")


def said(ran: Ran) -> Mapping[str, Any] | None:
    """Standard output, if the whole of it is one JSON object."""
    try:
        value = json.loads(ran.stdout.decode("utf-8", "replace").strip().removeprefix("\ufeff"))
    except (ValueError, RecursionError):  # RecursionError: lists in lists in lists
        return None
    return value if ran.is_whole and isinstance(value, dict) else None


def _plain(ran: Ran, hook: Hook) -> Result:
    """Output that is no object is a note, unless it was meant for one: a block must not get lost for a missing comma.

    A strict hook is any command at all, and may print braces; its output counts as an answer only if it refuses something.
    """
    text = ran.stdout.strip().removeprefix(b"\xef\xbb\xbf")
    meant = hook.exit_policy == CLAUDE or _REFUSES.search(text) is not None
    if text.startswith(b"{") and meant:
        size = "" if ran.is_whole else ": it is larger than 64 KiB"
        raise _Misunderstood(f"its answer looks like a JSON object and is none{size}")
    lines = [line for line in cleaned(text, MOST_TEXT).splitlines() if line.strip()]
    return Result(PASS, notes=(f"it printed: {cleaned(lines[-1].strip(), _LONGEST_LINE)}",) if lines else ())


def _taken(reply: Mapping[str, Any], hook: Hook, point: Point) -> Result:
    if reply.get("continue") is False:  # it wins over everything, also over what is wrong with the rest
        reason = reply.get("stopReason")
        told = cleaned(reason, MOST_TEXT).strip() if isinstance(reason, str) else ""
        return Result(STOP, told or f"hook {hook.key} stopped the run", message=_message(reply))
    faults = list(_faults(reply))
    if faults and hook.exit_policy == CLAUDE:
        raise _Misunderstood(faults[0])
    found = reply.get(_SPECIFIC)
    specific = found if isinstance(found, dict) else {}
    notes = (*faults, *_refused(reply, specific), *_notes(reply, point), *_specific_notes(specific, point))
    result = Result(PASS, message=_message(reply), context=_text(specific, "additionalContext"), notes=notes)
    if reply.get("decision") in _DENIES:
        told = f"its answer has the decision {reply['decision']!r} without a reason"
        reason = _text(reply, "reason")
        if not reason and hook.exit_policy == CLAUDE:
            raise _Misunderstood(told)
        return result._replace(status=BLOCK, reason=reason or f"hook {hook.key} exited with 0, and {told}")
    if point.name == BEFORE_TOOL and specific.get(_PERMISSION) == "deny":
        reason = _text(specific, "permissionDecisionReason") or f"hook {hook.key} denies this call"
        return result._replace(status=BLOCK, reason=reason)
    return result


def _faults(reply: Mapping[str, Any]) -> Iterator[str]:
    """What counts in an answer and is not as it should be. Null is as good as nothing.

    Under the protocol of Claude Code nobody can tell then what the hook means. Under the other policies exit codes are the
    protocol, and an object of a program's own (`{"decision": "PASS"}`) is no answer at all: it is only told.
    """
    specific = reply.get(_SPECIFIC)
    if not isinstance(reply.get("continue"), bool | None):
        yield "in its answer 'continue' is neither true nor false"
    if not isinstance(specific, dict | None):
        yield f"in its answer {_SPECIFIC!r} is no object"
    specific = specific if isinstance(specific, dict) else {}
    for values, names in ((reply, _TEXTS), (specific, _SPECIFIC_TEXTS)):
        for name in names:
            if not isinstance(values.get(name), str | None):
                yield f"in its answer {name!r} is no text"
    known = (*_DENIES, *_ALLOWS)
    for decision in (reply.get("decision"), specific.get(_PERMISSION)):
        if decision and isinstance(decision, str) and decision not in known:
            told = cleaned(decision, _LONGEST_LINE)
            yield f"its answer has the decision {told!r}, which is none of {', '.join(known)}"


def _refused(reply: Mapping[str, Any], specific: Mapping[str, Any]) -> list[str]:
    names = [name for name in _REFUSED if name in reply or name in specific]
    return [f"{name} is refused: a hook cannot change what a tool is given or gives" for name in names]


def _notes(reply: Mapping[str, Any], point: Point) -> list[str]:
    if reply.get("decision") in _ALLOWS and point.name == BEFORE_TOOL:
        return [f"its decision {reply['decision']!r} changes nothing: a hook can refuse a call, and allow none"]
    return []


def _specific_notes(specific: Mapping[str, Any], point: Point) -> list[str]:
    notes = []
    decision, event = specific.get(_PERMISSION), specific.get("hookEventName")
    if decision and point.name != BEFORE_TOOL:
        notes.append(f"its {_PERMISSION} is left aside: at {point.name} nothing is permitted or denied")
    elif decision in _ALLOWS:
        notes.append(f"its {_PERMISSION} {decision!r} changes nothing: a hook can refuse a call, and allow none")
    if isinstance(event, str) and event not in (point.claude, point.gemini, point.name):
        notes.append(f"it answered as if at {cleaned(event, _LONGEST_LINE)!r}")
    return notes


def _message(reply: Mapping[str, Any]) -> str:
    return _text(reply, "systemMessage")


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return cleaned(value, MOST_TEXT).strip() if isinstance(value, str) else ""
