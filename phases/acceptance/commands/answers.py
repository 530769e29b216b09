"""What a command hook said: from what came of its process to a verdict (acceptance chain, sections 5.3 to 5.5)."""

from __future__ import annotations

import signal

from phases.acceptance.commands.clean import cleaned
from phases.acceptance.commands.process import Ran
from phases.acceptance.commands.replies import MOST_TEXT, reply_of, said
from phases.acceptance.hook import AUTO, BLOCK, CLAUDE, FAILED, PASS, STRICT, Hook, Result
from phases.acceptance.points import Point

HOOK_FAILED = "hook_failed"
_NOT_EXECUTABLE, _NOT_FOUND, _BLOCKS = 126, 127, 2
_LONGEST_LINE = 200


def answer_of(ran: Ran, hook: Hook, point: Point) -> Result:
    """The verdict of one run of a hook. A block is returned at any point: whether it holds there is not decided here."""
    printed = _printed(ran)
    verdict = _verdict(ran, hook, point, printed)
    return verdict._replace(
        tail=printed,
        exit_code=ran.exit_code,
        timed_out=ran.timed_out,
        notes=(*verdict.notes, *(cleaned(note, MOST_TEXT) for note in ran.notes)),
        seconds=ran.seconds,
    )


def _verdict(ran: Ran, hook: Hook, point: Point, printed: str) -> Result:
    name = f"hook {hook.key}"
    if ran.fault:
        return Result(FAILED, f"{name} could not be run: {cleaned(ran.fault, MOST_TEXT)}")
    if ran.timed_out:
        told = f"{name} timed out after {hook.seconds:g} s"
        return Result(BLOCK, _joined(told, printed)) if hook.timeout_blocks else Result(FAILED, told)
    if ran.signal is not None or ran.exit_code is None:
        return Result(FAILED, f"{name} was ended by {_signal(ran.signal)}{_last_words(printed)}")
    if ran.exit_code == 0:
        return Result(PASS) if hook.sandbox else reply_of(ran, hook, point)  # in the sandbox exit codes alone count
    told = f"exited with code {ran.exit_code}"
    if ran.exit_code in (_NOT_EXECUTABLE, _NOT_FOUND):
        return Result(FAILED, f"{name} {told}: its command cannot be run{_last_words(printed)}")
    if ran.exit_code in _blocking(hook, ran.exit_code):
        silent = "and wrote no reason to standard error" if printed.strip() else "without output"
        return Result(BLOCK, _reason(ran, hook, printed) or f"{name} {told} {silent}")
    if hook.exit_policy == CLAUDE:
        return Result(PASS, notes=(f"{HOOK_FAILED}: {name} {told}{_last_words(printed)}",))
    return Result(FAILED, f"{name} {told}, which is no verdict{_last_words(printed)}")


def _blocking(hook: Hook, code: int) -> tuple[int, ...]:
    """Which codes block, of those that are left when 0 and what cannot be run are dealt with."""
    return {STRICT: (code,), AUTO: (1, _BLOCKS)}.get(hook.exit_policy, (_BLOCKS,))


def _reason(ran: Ran, hook: Hook, printed: str) -> str:
    """What it printed. At exit code 2 an answer in JSON does not count, and standard error is the reason."""
    errors = cleaned(ran.stderr, MOST_TEXT).strip("\n")
    answered = ran.exit_code == _BLOCKS and said(ran) is not None
    return errors if hook.exit_policy == CLAUDE or (answered and errors.strip()) else printed.strip("\n")


def _printed(ran: Ran) -> str:
    """Standard error, then standard output: half of the room is each one's, if it needs it."""
    room = MOST_TEXT - 1
    errors, output = (cleaned(data, room).strip("\n") for data in (ran.stderr, ran.stdout))
    half = room // 2
    errors = cleaned(errors, max(half, room - len(output.encode())))
    output = cleaned(output, room - len(errors.encode()))
    return _joined(errors, output)


def _joined(first: str, second: str) -> str:
    return cleaned("\n".join(part for part in (first, second) if part.strip()), MOST_TEXT)


def _last_words(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.strip()]
    return f": {cleaned(lines[-1].strip(), _LONGEST_LINE)}" if lines else ""


def _signal(number: int | None) -> str:
    if number is None:
        return "something that is not known"
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
