"""Normalize calls, commands, errors and results for comparison, and read the output of failed commands."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_LONGEST_KEY, _LONGEST_LINE, _LONGEST_ERROR = 200, 160, 200
_END = 4000
_LAST_LINES = 10
# Each pattern begins with a character that is found fast; the lookbehind checks the boundary before it.
_ADDRESS = (re.compile(r"0x(?<!\w0x)[0-9a-fA-F]+"), "<address>")
_STAMP = (
    re.compile(r"[0-9](?<!\w[0-9])\d{3}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"),
    "<time>",
)
_CLOCK = (re.compile(r"[0-9](?<!\w[0-9])\d:\d\d:\d\d(?:[.,]\d+)?"), "<time>")
_PLACES = (
    (re.compile(r"[0-9](?<!\w[0-9])\d*(?:\.\d+)? ?(?:[mun]?s|µs|seconds|minutes)\b"), "<duration>"),
    (re.compile(r":(?<=[\w\]'\").]:)\d+(?::\d+)?"), ":<line>"),
    (re.compile(r"line (?<!\wline )\d+\b"), "line <line>"),
)
_IN_STAMP, _IN_CLOCK = re.compile(r"-\d\d-\d\d"), re.compile(r":\d\d:\d\d")
_COUNT = re.compile(r"[0-9](?<![\w.][0-9])\d* (?=[a-z])")
_FAILS = re.compile(r"fail|error|exception|assert|panic|not ok|✗|✘|×")
_NUMBERS = b"0123456789.:"


class ResultSummary(NamedTuple):
    digest: str
    error: str = ""
    """Failed call: the line that names the error."""
    failures: tuple[str, ...] = ()
    """Failed check: the failing tests, sorted, without times and places."""


def signature_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a digest of a tool and its arguments, independent of key order."""
    text = json.dumps([tool, dict(arguments)], sort_keys=True, ensure_ascii=True, default=str)
    return digest_of_text(text)


def summarize_result(text: str, *, failed: bool) -> ResultSummary:
    """Return digest, error and failures of a result. Of a long failed one only both ends are read; the digest covers all."""
    if not failed:
        return ResultSummary(digest_of_text(_without_stamps(text)))
    normalized = normalize_text(_telling_lines(text))
    failures = _failures_of_text(normalized)
    error = " ".join((failures[0] if failures else "").split())[:_LONGEST_ERROR]
    return ResultSummary(_digest_of_failed(text, normalized, failures), error)


def command_key(command: str) -> str:
    """Return a command without differences that a shell ignores."""
    return " ".join(command.split())[:_LONGEST_KEY]


def error_key(error: str) -> str:
    """Return an error without its time and place; empty without an error."""
    return " ".join(normalize_text(error).split())[:_LONGEST_KEY]


def normalize_text(text: str) -> str:
    """Return a text without times, durations, addresses and line numbers."""
    text = _without_stamps(text)
    if _IN_CLOCK.search(text):
        text = _CLOCK[0].sub(_CLOCK[1], text)
    for pattern, stands in _PLACES:
        text = pattern.sub(stands, text)
    return text


def failing_lines(output: str) -> tuple[str, ...]:
    """Return the lines that name failures, sorted, of any test runner; of a long output only both ends are read.

    An output without such a line gives its last line that is not empty.
    """
    return _failures_of_text(normalize_text(_telling_lines(output)))


def _without_stamps(text: str) -> str:
    """Return a text without dates and addresses; a bare clock time may be a duration."""
    if _IN_STAMP.search(text):
        text = _STAMP[0].sub(_STAMP[1], text)
    return _ADDRESS[0].sub(_ADDRESS[1], text) if "0x" in text else text


def _telling_lines(text: str) -> str:
    """Return the lines at both ends of a long text that name failures, with the very last ones.

    A truncated line is left out: where it is cut differs between runs.
    """
    if len(text) <= 2 * _END:
        return text
    first, last = text[:_END], text.rstrip()[-_END:]
    lines = [line for line in (first[: first.rfind("\n") + 1] + last[last.find("\n") + 1 :]).splitlines() if line]
    least = len(lines) - _LAST_LINES
    return "\n".join(line for at, line in enumerate(lines) if at >= least or _FAILS.search(line.lower()))


def _failures_of_text(said: str) -> tuple[str, ...]:
    lines = [line for line in _COUNT.sub("<n> ", said).splitlines() if line]
    failing = {_in_short(line) for line in lines if _FAILS.search(line.lower())}
    last = next((line for line in map(_in_short, reversed(lines)) if line), "")
    return tuple(sorted((failing or {last}) - {""}))


def _in_short(line: str) -> str:
    return " ".join(line.split())[:_LONGEST_LINE]


def _digest_of_failed(text: str, said: str, failures: tuple[str, ...]) -> str:
    """Return the digest of a failed result; of a long one, numbers count only in the last lines."""
    if len(text) <= 2 * _END:
        return digest_of_text(said)
    rest = _ADDRESS[0].sub("", text).encode("utf-8", "surrogatepass").translate(None, _NUMBERS)
    parts = (*failures, *said.splitlines()[-_LAST_LINES:], hashlib.sha256(rest).hexdigest())
    return digest_of_text("\n".join(parts))


def digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_MOST_NAMED, _LONGEST_NAME = 50, 160
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NAMED = re.compile(
    r"^(?:(?:FAILED|ERROR) (?P<test>\S*::.*?)(?: - .*)?"  # pytest's summary: the reason is no part of the name
    r"|ERROR (?P<file>\S+\.py(?: - .*)?)"  # a file that cannot be collected: no test of it has run, the reason is all there is
    r"|(?P<before>\S+::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?"  # pytest -v, where its summary is cut off
    r"|(?:FAIL|ERROR): (?P<case>\S+ \([^()]+\)(?: [\[(].*)?))[ \t]*$",  # unittest, a sub-test with its values
    re.MULTILINE,
)
_FAILURE_COUNT = re.compile(r"(?<![\w.:#])(\d+) (?:failed|failures?|errors?)(?=[,;)]| in |[ =]*$)", re.MULTILINE)
_KEYED = re.compile(r"\b(?:failures|failed|errors) ?[=:] ?(\d+)", re.IGNORECASE)
_PASSED = re.compile(
    r"(?<![\w.])[1-9]\d* (?:passed|passing)\b|^OK(?: \(.*\))?[ \t]*$|\btest result: ok\b", re.MULTILINE
)
_BROKE = re.compile(
    r"^Traceback \(most recent call last\)|^[ >E]*[\w.]*(?:Error|Exception)\b(?::|$)|\bFAIL(?:ED|URE)?\b|^error\b|\bpanicked\b",
    re.MULTILINE,
)
_VARIES = (
    (re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'\"`,;:)\]]*"), "<temporary>"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8,}\b"), "<id>"),
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,_]*(?:[eE][-+]?\d+)?(?!\w)")


def summarize_check(text: str) -> ResultSummary:
    """Return the summary of a failed check: the same failing tests are the same result."""
    failures = failures_of_check(text)
    return ResultSummary(digest_of_text("\n".join(failures)), failures[0] if failures else "", failures)


def failures_of_check(text: str) -> tuple[str, ...]:
    """Return the failures, sorted: the named tests and, if more fail than are named, how many.

    An output that names no test is read line by line.
    """
    text = _COLOUR.sub("", text)
    named = set(map(_name_in, _NAMED.finditer(text)))
    count = _count_in(text)
    more = {f"{count} fail"} if count > len(named) else set()
    return _bound_failures(sorted((named or {_of_any_run(line) for line in failing_lines(text)} - {""}) | more))


def has_passed(text: str) -> bool | None:
    """Return whether a check passed, by its output; None if the output does not say."""
    text = _COLOUR.sub("", text)
    # decision 123: behind a filter only the output shows whether a check passed, and it may not.
    if _count_in(text) or _NAMED.search(text):
        return False
    if _PASSED.search(text):
        return True
    return False if _BROKE.search(text) else None


def _name_in(found: re.Match[str]) -> str:
    if found["file"]:
        return _of_any_run(found["file"])
    return _without_varying(found["test"] or found["before"] or found["case"])[:_LONGEST_NAME]


def _count_in(text: str) -> int:
    for line in reversed(text.splitlines()):
        if counts := [*_FAILURE_COUNT.findall(line), *_KEYED.findall(line)]:
            return sum(map(int, counts))
    return 0


def _of_any_run(line: str) -> str:
    return " ".join(_NUMBER.sub("<n>", normalize_text(_without_varying(line))).split())[:_LONGEST_NAME]


def _without_varying(line: str) -> str:
    for pattern, stands in _VARIES:
        line = pattern.sub(stands, line)
    return line


def _bound_failures(failures: list[str]) -> tuple[str, ...]:
    if len(failures) <= _MOST_NAMED:
        return tuple(failures)
    rest = failures[_MOST_NAMED - 1 :]
    return (*failures[: _MOST_NAMED - 1], f"{len(rest)} more ({digest_of_text(' '.join(rest))})")


# The output of a failed command: the kind of failure, what the machine lacks, the whole first assertion.

_TELLS = re.compile(
    r"error|not found|no such|cannot|can't|unable|fail|denied|unexpected|invalid|usage:|timed out|fatal|abort|refused",
    re.IGNORECASE,
)
_STANDS = (
    (re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`"), "<quoted>"),
    (re.compile(r"\S*/\S+"), "<path>"),
    (re.compile(r"0x[0-9a-fA-F]+|[-+]?\d[\d.,_]*(?:[eE][-+]?\d+)?"), "<n>"),
)
_LONGEST_KIND, _LOOK_AT = 120, 4_000
_TRANSIENT = re.compile(r"tim(?:ed|e)[ -]?out|temporar(?:y|ily)|connection (?:reset|refused)|try again", re.IGNORECASE)
_NO_PROGRAM = re.compile(r"(?:^|[ :])([a-zA-Z][\w+-]{1,39}): (?:command )?not found$", re.MULTILINE)
_NO_MODULE = re.compile(r"No module named '?([\w.]+)")
_LIMITS = (
    (re.compile(r"No space left on device|Disk quota exceeded"), "the disk is full"),
    (
        re.compile(r"Cannot allocate memory|MemoryError|out of memory|^Killed$", re.MULTILINE),
        "there is not enough memory",
    ),
    (
        re.compile(r"Temporary failure in name resolution|Network is unreachable|Could not resolve host|ENETUNREACH"),
        "there is no network",
    ),
    (re.compile(r"CUDA (?:error|is not available)|no CUDA-capable device|No CUDA GPUs"), "there is no GPU"),
    (re.compile(r"Read-only file system"), "this place cannot be written to"),
)
_FLOAT = r"([-+]?\d+\.?\d*(?:[eE][-+]?\d+)?)"
_COMPARED = re.compile(
    rf"(?<![\w.]){_FLOAT} *(?:==|!=|<=?|>=?|≈|is not|not equal to) *{_FLOAT}(?![\w.])"
    rf"|expected:? *<?{_FLOAT}>?,? (?:but )?(?:was|got):? *<?{_FLOAT}",
    re.IGNORECASE,
)
_LONGEST_TOLD, _MOST_LINES = 2_000, 12
_REASON = re.compile(r"^(?:FAILED|ERROR) (\S+::\S+) - (.+)$", re.MULTILINE)
_E_LINE = re.compile(r"^E +\S.*$")
_PLACE = re.compile(r"^(\S+\.py:\d+): \w+|^ *File \"([^\"]+)\", line (\d+)")
_HEAD = re.compile(r"^_{3,} (.+?) _{3,}$|^(?:FAIL|ERROR): (.+)$")


def kind_of_failure(text: str) -> str:
    """Return the first line that names the error, without what differs between calls."""
    lines = [line.strip() for line in text[:_LOOK_AT].splitlines() if line.strip()]
    line = next((line for line in lines if _TELLS.search(line)), lines[-1] if lines else "")
    line = line[: 4 * _LONGEST_KIND]
    for pattern, stands in _STANDS:
        line = pattern.sub(stands, line)
    return " ".join(line.split())[:_LONGEST_KIND]


def is_transient(error: str) -> bool:
    """Return whether the same call may succeed next time although nothing changes."""
    return _TRANSIENT.search(error) is not None


def limit_of(text: str, own: frozenset[str] = frozenset()) -> str:
    """Return what this machine lacks, as a sentence; empty if the failure does not say.

    `own`: names of modules that the work itself provides.
    """
    text = text[-_LOOK_AT:]
    if lack := next((sentence for pattern, sentence in _LIMITS if pattern.search(text)), ""):
        return lack
    if (program := _NO_PROGRAM.search(text)) and program[1] not in own:
        return f"the program {program[1]} is not there"
    module = _NO_MODULE.search(text)
    name = module[1].partition(".")[0] if module else ""
    return f"the package {name} is not installed" if name and name not in own else ""


def gap_of(text: str) -> float | None:
    """Return the distance between the first two compared numbers; None without a comparison."""
    match = _COMPARED.search(text[-_LOOK_AT:])
    if match is None:
        return None
    actual, expected = (float(number) for number in match.groups() if number is not None)
    return abs(actual - expected)


def first_assertion(text: str) -> str:
    """Return the first failing test with its assertion and place, in whole lines; empty if the output names none."""
    lines = text.splitlines()
    head = next((at for at, line in enumerate(lines) if _HEAD.match(line)), None)
    if head is not None:
        match = _HEAD.match(lines[head])
        name = next((part for part in match.groups() if part), "") if match else ""
        rest = _until_next(lines[head + 1 :])
        assertion = [line for line in rest if _E_LINE.match(line)] or [line for line in rest if _TELLS.search(line)]
        place = next((_place_of(line) for line in reversed(rest) if _PLACE.match(line)), "")
        if assertion:
            return "\n".join([f"{name}{f' ({place})' if place else ''}", *assertion[:_MOST_LINES]])[:_LONGEST_TOLD]
    if reason := _REASON.search(text):
        return f"{reason[1]}\n{reason[2]}"[:_LONGEST_TOLD]
    return "\n".join(line for line in lines if _E_LINE.match(line))[:_LONGEST_TOLD]


def _until_next(lines: list[str]) -> list[str]:
    end = next((at for at, line in enumerate(lines) if _HEAD.match(line) or line.startswith("=====")), len(lines))
    return lines[:end]


def _place_of(line: str) -> str:
    match = _PLACE.match(line)
    if match is None:
        return ""
    return match[1] or f"{match[2]}:{match[3]}"
