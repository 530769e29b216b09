"""Hooks in words: the rows of their list, and what came of a trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phases.acceptance.hook import Hook
    from pipeline.cli.hooks_found import ListedHook

_WORDS = {"pass": "passes", "block": "blocks", "failed": "gives no verdict", "stop": "would end the run"}
_LINES, _WIDTH, _NAMED = 20, 200, 20
_LONGEST_COMMAND = 120


def hook_rows(rows: Iterable[ListedHook]) -> list[tuple[str, ...]]:
    """The rows of a table, each on one line."""
    return [tuple(_short_line(cell) for cell in _row_cells(row)) for row in rows]


def trial_lines(hook: Hook, outcome: Mapping[str, Any]) -> Iterator[str]:
    """What came of a trial. What a command printed is behind a bar."""
    yield f"{hook.key} {_WORDS[outcome['status']]} ({outcome['seconds']:g} s{_exit_text(outcome)})"
    if hook.command:
        yield f"  runs: {_short_line(hook.command)}"
    if outcome["changed"] is False and hook.when != "always":
        yield "  a run would not ask it now: nothing is other than when the run began"
    if outcome["status"] == "failed":
        yield f"  it is {hook.failure_policy}: {_policy_text(hook)}"
    yield from _verification_lines(outcome["verification"])
    if outcome["fact"] and outcome["status"] != "pass":
        yield f"  {_short_line(outcome['fact'])}"
    yield from (f"  | {line[:_WIDTH]}" for line in _last_lines(outcome))
    for word in ("message", "context"):
        if outcome[word]:
            yield f"  {word}: {_short_line(outcome[word])}"
    yield from (f"  note: {_short_line(note)}" for note in outcome["notes"] or ())
    if wrote := outcome["wrote"]:
        more = f" and {len(wrote) - _NAMED} more" if len(wrote) > _NAMED else ""
        yield f"  it wrote: {', '.join(_short_line(path) for path in wrote[:_NAMED])}{more}"
    if outcome["log"]:
        yield f"  all of its output: {outcome['log']}"


def _row_cells(row: ListedHook) -> tuple[str, ...]:
    limit = "-" if row.seconds is None else f"{row.seconds:g} s"
    return row.point, row.key, row.state, row.kind, limit, row.policy or "-", row.command[:_LONGEST_COMMAND]


def _short_line(text: str) -> str:
    from pipeline.base.text_escaping import one_line

    return one_line(text.strip().replace("\n", " ⏎ "), _WIDTH)


def _exit_text(outcome: Mapping[str, Any]) -> str:
    return f", exit code {outcome['exit_code']}" if outcome["exit_code"] is not None else ""


def _policy_text(hook: Hook) -> str:
    at_the_gate = hook.point == "accept_gate"
    if hook.failure_policy == "fail_open":
        return "a run would go on" + (", and its work would not count as verified" if at_the_gate else "")
    return "a run would end there, incomplete" if at_the_gate else "what it watches would be blocked"


def _verification_lines(verification: Mapping[str, Any] | None) -> Iterator[str]:
    """What the built-in check has run."""
    if not verification:
        return
    told = (
        "yes" if verification["verified"] else f"no: {_short_line(str(verification.get('why') or 'nothing was run'))}"
    )
    yield f"  verified: {told} (sandbox: {verification['sandbox']})"
    for row in verification["commands"]:
        yield f"  {'passed' if row['exit_code'] == 0 else 'failed'}: {_short_line(row['command'])}"


def _last_lines(outcome: Mapping[str, Any]) -> list[str]:
    text = outcome["tail"] if outcome["status"] == "pass" else outcome["reason"] or outcome["tail"]
    return [line for line in str(text or "").splitlines() if line.strip()][-_LINES:]
