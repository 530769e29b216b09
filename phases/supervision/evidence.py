"""What the output of a check says (section 14): whether it passed, and which tests fail. Numbers, times and places that differ
from run to run are no part of it.
"""

from __future__ import annotations

import re

from phases.supervision.signatures import Told, digest_of_text, failing_lines, normalised

_MOST, _LONGEST = 50, 160
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NAMED = re.compile(
    r"^(?:(?:FAILED|ERROR) (?P<test>\S*::.*?)(?: - .*)?"  # pytest's summary: the reason is no part of the name
    r"|ERROR (?P<file>\S+\.py(?: - .*)?)"  # a file that cannot be collected: no test of it has run, the reason is all there is
    r"|(?P<before>\S+::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?"  # pytest -v, where its summary is cut off
    r"|(?:FAIL|ERROR): (?P<case>\S+ \([^()]+\)(?: [\[(].*)?))[ \t]*$",  # unittest, a sub-test with its values
    re.MULTILINE,
)
_COUNT = re.compile(r"(?<![\w.:#])(\d+) (?:failed|failures?|errors?)(?=[,;)]| in |[ =]*$)", re.MULTILINE)
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


def told_of_check(text: str) -> Told:
    """What a check that failed says: that the same tests fail is the same result, whatever else it prints."""
    failures = failures_of_check(text)
    return Told(digest_of_text("\n".join(failures)), failures[0] if failures else "", failures)


def failures_of_check(text: str) -> tuple[str, ...]:
    """What fails, sorted, each once: the tests that are named and, where more fail than are named, how many. An output that
    names none is read line by line.
    """
    text = _COLOUR.sub("", text)
    named = set(map(_name_in, _NAMED.finditer(text)))
    count = _count_in(text)
    more = {f"{count} fail"} if count > len(named) else set()
    return _bounded(sorted((named or {_of_any_run(line) for line in failing_lines(text)} - {""}) | more))


def passed(text: str) -> bool | None:
    """Whether a check passed, as its output says it; None where it does not: what a filter left over may be anything."""
    text = _COLOUR.sub("", text)
    if _count_in(text) or _NAMED.search(text):
        return False
    if _PASSED.search(text):
        return True
    return False if _BROKE.search(text) else None


def _name_in(found: re.Match[str]) -> str:
    """What is named; the digits of a test belong to its name."""
    if found["file"]:
        return _of_any_run(found["file"])
    return _without_varying(found["test"] or found["before"] or found["case"])[:_LONGEST]


def _count_in(text: str) -> int:
    """How many fail, by the last line that counts them."""
    for line in reversed(text.splitlines()):
        if counts := [*_COUNT.findall(line), *_KEYED.findall(line)]:
            return sum(map(int, counts))
    return 0


def _of_any_run(line: str) -> str:
    return " ".join(_NUMBER.sub("<n>", normalised(_without_varying(line))).split())[:_LONGEST]


def _without_varying(line: str) -> str:
    for pattern, stands in _VARIES:
        line = pattern.sub(stands, line)
    return line


def _bounded(failures: list[str]) -> tuple[str, ...]:
    """Those over the bound stand in one line, which is another one where they are others."""
    if len(failures) <= _MOST:
        return tuple(failures)
    rest = failures[_MOST - 1 :]
    return (*failures[: _MOST - 1], f"{len(rest)} more ({digest_of_text(' '.join(rest))})")
