"""Build the feedback on refused work: facts first, then the output of hooks as untrusted text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from phases.acceptance.command_hooks import mask_tag, strip_control
from phases.sandbox.output import cut_middle, head_of
from pipeline.base.text_escaping import shorten_text

if TYPE_CHECKING:
    from phases.acceptance.gate import GateReport

LARGEST = 8 * 1024
"""Bytes of the whole block."""
MOST_REASONS = 64
"""That many hooks are named whatever they say; further ones are counted."""
_LONGEST_KEY, _LONGEST_LOG, _LONGEST_SOURCE, _GATE_ROOM, _CLEANED = 80, 200, 120, 6 * 1024, 64 * 1024
_LEAST_OUTPUT = 40
_BEGIN, _END = "--- output (tail, untrusted text) ---", "--- end ---"
_FRAMED = re.compile(rf"^{re.escape(_BEGIN)}\n(.*?)\n{re.escape(_END)}$", re.MULTILINE | re.DOTALL)
_LOOKS_LIKE_OURS = re.compile(r"^[^\w\n]*+(?=(?:output|end)\b)", re.MULTILINE | re.IGNORECASE)
_LINES_FOR_PEOPLE, _NAMED_FOR_PEOPLE, _WIDTH = 6, 3, 160


class Reason(NamedTuple):
    """One reason why a hook or the gate refuses the work."""

    key: str
    """`user:tests`, or `gate`."""
    fact: str
    """The fact in our words: "The command `python -m pytest -q` exited with code 1."."""
    output: str = ""
    """Output of the hook."""
    log: str = ""
    """Path of the whole output within the task, or empty."""
    framed: bool = False
    """The fact is ours as a whole: what it quotes of commands is marked already (frame_output)."""


class Rejection(NamedTuple):
    """One ending that was not accepted."""

    attempt: int
    most: int
    """Attempts that are allowed."""
    source: str
    """`gate`, `hook:user:tests`, or `hooks` for several."""
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...] = ()
    """Context from hooks that pass."""
    unchanged: bool = False
    """The workspace is as it was at the last check."""

    @property
    def left(self) -> int:
        """Return the number of attempts left."""
        return max(self.most + 1 - self.attempt, 0)


def build_feedback(rejection: Rejection) -> str:
    """The block for the transcript: at most 8 KiB, one opening tag, one closing tag (acceptance chain, section 6)."""
    source = escape(_clean_line(rejection.source, _LONGEST_SOURCE))
    first = f'<acceptance-feedback attempt="{rejection.attempt}" of="{rejection.most + 1}" source="{source}">'
    last = f"{_what_next(rejection)}\n</acceptance-feedback>"
    room = LARGEST - _byte_count(first) - _byte_count(last) - 2
    notes = _format_notes(rejection.notes, room // 4 if rejection.reasons else room // 2)
    body = _format_reasons(rejection, room - _byte_count(notes) - 1)
    return "\n".join(part for part in (first, body, notes, last) if part)


def frame_output(output: str) -> str:
    """Return the output of a command, marked as untrusted; none of its lines can pass for the mark."""
    return f"{_BEGIN}\n{_mask_frame(output)}\n{_END}"


def gate_rejection_text(report: GateReport) -> str:
    """List what the gate wants, short enough to name every open todo."""
    failed = "\n".join(f"{check.name}: {check.reason}" for check in report.results if not check.passed)
    text = report.continue_hint.strip() or failed
    lines = [words for line in text.split("\n") if (words := _clean_text(line))]
    rooms = _share_room([_byte_count(line) + 1 for line in lines], _GATE_ROOM)
    short = (_cut_text(line, room - 1) for line, room in zip(lines, rooms, strict=True))
    return "\n".join(short) or "The work is not finished."


def rejection_lines(rejection: Rejection) -> list[str]:
    """Return the same for a person at a terminal."""
    whys = [f"{_clean_line(reason.key, _LONGEST_KEY)}: {_shorten_fact(reason.fact)}" for reason in rejection.reasons]
    whys = whys or [f"note of {_clean_line(note, _WIDTH)}" for note in rejection.notes] or ["no reason was given"]
    more = [f"and {len(whys) - _NAMED_FOR_PEOPLE} more"] if len(whys) > _NAMED_FOR_PEOPLE else []
    named = "; ".join([*whys[:_NAMED_FOR_PEOPLE], *more])
    first = (
        f"not accepted (attempt {rejection.attempt} of {rejection.most + 1}): {named}; {_attempts_left(rejection.left)}"
    )
    details = [detail for reason in rejection.reasons if any(detail := _split_detail(reason))]
    each = max(_LINES_FOR_PEOPLE // len(details), 1) if details else 0
    lines = [line for facts, output in details for line in _choose_lines(facts, output, each)]
    return [first, *(f"  {shorten_text(line, _WIDTH - 2)}" for line in lines[:_LINES_FOR_PEOPLE])]


def _what_next(rejection: Rejection) -> str:
    unchanged = "Nothing has changed since the last check. " if rejection.unchanged else ""
    order = "Fix the cause" if rejection.reasons else "Take the note into account"
    left = f" {_attempts_left(rejection.left).capitalize()}." if rejection.left else ""
    return f"{unchanged}{order} and finish again.{left}"


def _attempts_left(count: int) -> str:
    if count == 1:
        return "1 attempt is left"
    return f"{count or 'no'} attempts are left"


def _format_reasons(rejection: Rejection, room: int) -> str:
    """List every reason within a shared limit, so that a long one leaves room for the others."""
    reasons = rejection.reasons[:MOST_REASONS]
    if not reasons:
        return "Completion was not accepted yet. No check failed; there is a note."
    if (
        len(rejection.reasons) == 1
        and reasons[0].key
        and reasons[0].key in _clean_line(rejection.source, _LONGEST_SOURCE)
    ):
        return _format_reason("Completion was not accepted. ", reasons[0], room)
    head = f"Completion was not accepted, for {len(rejection.reasons)} reason{'s' * (len(rejection.reasons) > 1)}."
    more = len(rejection.reasons) - len(reasons)
    tail = [f"- {more} more hooks do not accept it either."] if more else []
    starts = [f"- [{_clean_line(reason.key, _LONGEST_KEY)}] " for reason in reasons]
    rows = list(zip(starts, reasons, strict=True))
    room -= sum(_byte_count(line) + 1 for line in [head, *tail]) + len(rows)
    rooms = _share_room([_byte_count(_format_reason(start, reason, LARGEST)) for start, reason in rows], room)
    blocks = [_format_reason(start, reason, share) for (start, reason), share in zip(rows, rooms, strict=True)]
    return "\n".join([head, *blocks, *tail])


def _format_reason(start: str, reason: Reason, room: int) -> str:
    """One reason within so many bytes: its name always, then the fact, the end of the output, and the log."""
    fact = _clean_text(reason.fact) if reason.framed else _mask_frame(reason.fact)
    output = _mask_frame(reason.output)
    if output == fact:
        output = ""
    log = f"\nFull output: {_clean_line(reason.log, _LONGEST_LOG)} in the directory of the task." if reason.log else ""
    # The reason matters more than where its log is.
    if _byte_count(start) + _byte_count(log) > room // 2:
        log = ""
    room -= _byte_count(log)
    frame = _byte_count(_BEGIN) + _byte_count(_END) + 3
    output_room = min(_byte_count(output) + frame, room // 2) if output else 0
    fact_room = room - _byte_count(start) - output_room
    line = (start + _cut_text(_fit_outputs(fact, fact_room) if reason.framed else fact, fact_room)).rstrip()
    left = room - _byte_count(line) - frame
    shown = (
        f"\n{_BEGIN}\n{cut_middle(output.encode(), left).decode()}\n{_END}"
        if output and left >= min(_byte_count(output), _LEAST_OUTPUT)
        else ""
    )
    return line + shown + log


def _fit_outputs(text: str, room: int) -> str:
    """Return a text of ours within so many bytes if cutting the outputs that it quotes is enough for that."""
    if _byte_count(text) <= room:
        return text
    own = _byte_count(_FRAMED.sub(frame_output(""), text))
    rooms = iter(_share_room([_byte_count(output) for output in _FRAMED.findall(text)], max(room - own, 0)))
    return _FRAMED.sub(lambda match: frame_output(cut_middle(match[1].encode(), next(rooms)).decode()), text)


def _format_notes(notes: Sequence[str], room: int) -> str:
    texts = (_mask_frame(note).replace("\n", "\n  ") for note in notes[:MOST_REASONS])
    lines = [f"- note, not a failure: {note}" for note in texts]
    rooms = _share_room([_byte_count(line) + 1 for line in lines], room)
    return "\n".join(_cut_text(line, share - 1) for line, share in zip(lines, rooms, strict=True))


def _split_detail(reason: Reason) -> tuple[list[str], list[str]]:
    """Return the lines of a reason below its first one: our own words, and what commands printed."""
    fact = _clean_text(reason.fact).partition("\n")[2]
    outputs = [*(_FRAMED.findall(fact) if reason.framed else []), _clean_text(reason.output)]
    own = _FRAMED.sub("", fact) if reason.framed else fact
    return _lines_of(own), _lines_of("\n".join(outputs))


def _lines_of(text: str) -> list[str]:
    return [line for each in text.split("\n") if (line := " ".join(each.split()))]


def _choose_lines(facts: list[str], output: list[str], most: int) -> list[str]:
    """Return the first facts and, in the room that they leave, the end of the output."""
    if len(facts) > most:
        return [*facts[: most - 1], f"and {len(facts) - most + 1} more"]
    return [*facts, *output[len(output) - min(most - len(facts), len(output)) :]]


def _shorten_fact(fact: str) -> str:
    """`exited with code 1` from "The command `…` exited with code 1."."""
    words = _clean_text(fact)
    text = words.rpartition("` ")[2] if words.startswith("The command `") else words
    return shorten_text(text.split("\n")[0].rstrip(".:"), _WIDTH)


def _share_room(needs: Sequence[int], room: int) -> list[int]:
    """Return the bytes for each: its need, or an even share of what is left."""
    rooms = [0] * len(needs)
    for done, index in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        rooms[index] = min(needs[index], room // (len(needs) - done))
        room -= rooms[index]
    return rooms


def _mask_frame(text: str) -> str:
    """Text of a hook: none of its lines can pass for the frame of an output."""
    return _LOOKS_LIKE_OURS.sub(_mask_dashes, _clean_text(text))


def _mask_dashes(start: re.Match[str]) -> str:
    return start.group().replace("-", "~") if "--" in start.group() else start.group()


def _clean_text(text: str) -> str:
    return mask_tag(strip_control(text, _CLEANED)).strip()


def _clean_line(text: str, most: int) -> str:
    return _cut_text(mask_tag(" ".join(strip_control(text, 4 * most).split())), most)


def _cut_text(text: str, room: int) -> str:
    """The beginning of it."""
    if _byte_count(text) <= room:
        return text
    return head_of(text.encode(), room - 3).decode() + "…" if room >= 3 else ""


def _byte_count(text: str) -> int:
    return len(text.encode())
