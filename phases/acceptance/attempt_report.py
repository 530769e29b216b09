"""Report every attempt to have the work accepted, from the journal: for acceptance.json and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phases.acceptance.checks.planned_files import decides_checks
from phases.acceptance.gate import ADVICE
from phases.acceptance.hook import BLOCK, FAILED, PASS, STOP

Row = Mapping[str, Any]
_MARKS = {PASS: "passed", BLOCK: "blocked", FAILED: "broken", STOP: "stopped"}
ADVISED = "advised"
"""The decision that accepts the facts and asks once for improvements; it uses no attempt up."""
_LONGEST_COMMAND = 50
_LINES, _WIDTH = 6, 150


def read_attempts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return every completion request with the results of its hooks and the gate."""
    attempts: list[dict[str, Any]] = []
    for row in rows:
        key, result = row["key"], row["result"]
        if row["kind"] == "look":
            attempts.append(_start_attempt(key, result))
        elif row["kind"] == "hook" and attempts:
            # A hook is asked again after another has written: its last word counts.
            attempts[-1]["tampered"] = sorted({*attempts[-1]["tampered"], *result["tampered"]})
            attempts[-1]["hooks"] = [*_other_hooks(attempts[-1]["hooks"], key["hook"]), _hook_row(key, result)]
        elif row["kind"] == "verdict" and attempts:
            attempts[-1].update(_decision_fields(result))
    return attempts


def summarize_checks(verification: Row) -> list[dict[str, Any]]:
    """Return the commands of the built-in check with their results and test counts."""
    return [
        {name: row[name] for name in ("command", "exit_code", "tests") if name in row}
        for row in verification["commands"]
    ]


def deciding_files(attempts: Sequence[Row]) -> list[str]:
    """Return the files that configure the checks and that the work added or changed, as of the last attempt."""
    return [row["path"] for attempt in attempts[-1:] for row in attempt["files"] if decides_checks(row["path"])]


def describe_check(check: Row) -> str:
    """`python -m pytest -q: 12 tests passed, 1 skipped`, on one line of a terminal."""
    tests, command = check.get("tests"), " ".join(check["command"].split())
    command = command if len(command) <= _LONGEST_COMMAND else f"{command[: _LONGEST_COMMAND - 1]}…"
    if tests is None:
        code = check["exit_code"]
        return f"{command}: {'did not end by itself' if code is None else f'exit code {code}'}"
    counts = [f"{tests[name]} {name}" for name in ("failed", "skipped") if tests[name]]
    passed = "1 test" if tests["passed"] == 1 else f"{tests['passed']} tests"
    return f"{command}: {', '.join([f'{passed} passed', *counts])}"


def format_attempts(attempts: Sequence[Row], verdict: str) -> list[str]:
    """The report on a terminal. `verdict`: how it ended, in a sentence."""
    lines: list[str] = []
    number, again = 1, ""
    for attempt in attempts:
        lines += [
            f"Attempt {number}{again}, turn {attempt['turn']}: {describe_attempt(attempt)}",
            *_file_lines(attempt),
        ]
        counts = attempt["claimed"] and attempt["decision"] in ("continued", "accepted")
        number, again = (number + 1, "") if counts else (number, " again")
        for hook in attempt["hooks"]:
            text = hook["fact"] if hook["status"] != PASS else "; ".join(hook["notes"])
            lines.append(f"  {_MARKS[hook['status']]:<8} {hook['hook']:<24} {_shorten_line(text)}".rstrip())
            if hook["status"] != PASS:
                lines += [f"           {line[:_WIDTH]}" for line in _last_lines(hook["reason"])]
                lines += [f"           all of it: {hook['log']}"] if hook["log"] else []
        lines += [f"  check    {_shorten_line(describe_check(check))}" for check in attempt.get("checks", ())]
        lines += _gate_lines(attempt)
        if attempt["decision"] == ADVISED:
            lines += [
                f"  advice   {_shorten_line(line.removeprefix('- '))}" for line in attempt["reason"].split("\n")[1:]
            ]
        lines.append("")
    return [*lines, verdict]


def _start_attempt(key: Row, look: Row) -> dict[str, Any]:
    return {
        "turn": key["turn"],
        "look": key["look"],
        "claimed": look["claimed"],
        "changed": look["changed"],
        "touched": look["touched"],
        "tree_sha256": look["head"],
        "files": [{"path": path, "change": change} for path, change in look["files"]],
        "tampered": list(look["tampered"]),
        "hooks": [],
        "decision": "cut off",
        "stop_reason": "",
        "source": "",
        "reason": "",
        "verified": False,
        "gate": None,
    }


def _other_hooks(hooks: Sequence[Row], key: str) -> list[Row]:
    return [hook for hook in hooks if hook["hook"] != key]


def _hook_row(key: Row, result: Row) -> dict[str, Any]:
    fields = {name: result[name] for name in ("status", "fact", "reason", "exit_code", "notes", "log", "wrote")}
    return {"hook": key["hook"], **fields}


def _decision_fields(verdict: Row) -> dict[str, Any]:
    stopped, refused, advised = bool(verdict["stop"]), verdict["block"] is not None, verdict["source"] == ADVICE
    return {
        "decision": "stopped" if stopped else ADVISED if advised else "continued" if refused else "accepted",
        "stop_reason": verdict["stop"] or ("accept_continue" if refused else "accepted"),
        "source": verdict["source"],
        "reason": verdict["block"] if advised else verdict["detail"],
        "verified": verdict["verification"]["verified"],
        "gate": verdict["gate"],
        "checks": summarize_checks(verdict["verification"]),
    }


def describe_attempt(attempt: Row) -> str:
    """Return the outcome of an attempt in a few words."""
    if not attempt["claimed"]:
        return "the run was stuck, so the work was checked without a claim that it is done"
    if attempt["decision"] == "accepted":
        return "accepted" + ("" if attempt["verified"] else ", not verified")
    if attempt["decision"] == "cut off":
        return "cut off before there was a decision"
    if attempt["decision"] == "stopped":
        return f"the run was ended ({attempt['stop_reason']})"
    if attempt["decision"] == ADVISED:
        return "the checks pass, and advice was given"
    return f"not accepted by {attempt['source'].removeprefix('hook:')}"


def _file_lines(attempt: Row) -> list[str]:
    if attempt["tampered"]:
        return [f"  changed during the run, and decides about acceptance: {', '.join(attempt['tampered'])}"]
    if attempt["changed"]:
        deciding = deciding_files([attempt])
        notes = [f"  of these, {', '.join(deciding)} decide what the checks mean"] if deciding else []
        return [f"  {len(attempt['files'])} files have changed since the run began", *notes]
    return ["  nothing has changed since the run began: the hooks for changes are not run"]


def _gate_lines(attempt: Row) -> list[str]:
    if not attempt["gate"]:
        return []
    failed = [row for row in attempt["gate"]["results"] if not row["passed"]]
    summary = "; ".join(f"{row['name']}: {row['reason']}" for row in failed) or "all prechecks passed"
    return [f"  {'blocked' if failed else 'passed':<8} {'gate':<24} {summary}"]


def _shorten_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 60]} … {line[-57:]}"


def _last_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()][-_LINES:]
