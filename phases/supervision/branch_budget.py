"""Counts what is tried again and again in forced mode: edits of a file, failures of a command, an error (section 5.6).

The counts outlive rounds, and free mode; only what settles them takes them back.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phases.supervision.bounded_map import add_keys, count_one_more, put_bounded, without_keys
from phases.supervision.config import BranchLimits
from phases.supervision.enums import ToolClass
from phases.supervision.facts import Action, Call, CallResult
from phases.supervision.signatures import command_key, error_key

_MOST_CHECKS, _LONGEST_QUOTE = 20, 120


@dataclass(frozen=True)
class BranchBudget:
    """What was counted, the latest last; each mapping is bounded. Keys of debt and bypasses: `file:src/a.py`, `command:…`."""

    file_edits: Mapping[str, int] = field(default_factory=dict)
    """Path -> rounds in which it was edited."""
    file_rounds: Mapping[str, int] = field(default_factory=dict)
    """Path -> the last of these rounds."""
    command_failures: Mapping[str, int] = field(default_factory=dict)
    error_counts: Mapping[str, int] = field(default_factory=dict)
    error_sources: Mapping[str, str] = field(default_factory=dict)
    """Error -> the key of what ended in it: once that succeeds, its errors are settled."""
    failing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Verify command -> what failed when it was run last."""
    in_debt: tuple[str, ...] = ()
    bypasses: tuple[str, ...] = ()
    """Granted by a recovery, each for one call over its limit."""
    triggers: int = 0
    """Blocked attempts, and errors that went over their limit, since the task began."""

    @property
    def debt(self) -> int:
        """Keys over their limit that are not settled: they keep forced mode."""
        return len(self.in_debt)


def why_refused(budget: BranchBudget, call: Call, config: BranchLimits, *, enabled: bool, turn: int = 0) -> str:
    """Why a call must not be executed; empty where it may. Writing a file that is not there is always allowed.

    `turn`: the round, from 1. An edit goes on in the round in which it was let through; 0: every call is a round of its own.
    """
    key = _spent_key(budget, call, config, turn) if enabled else ""
    if not key or key in budget.bypasses:
        return ""
    kind, _, what = key.partition(":")
    quoted = " ".join(what.split())[:_LONGEST_QUOTE]
    # decision 57: each of these texts names the way that is left.
    if kind == "file":
        return (
            f"{quoted} was edited {budget.file_edits.get(what, 0)} times, and no check has passed since."
            " Read it again: then one more edit is let through. Or work on another file."
        )
    return (
        f"`{quoted}` failed {budget.command_failures.get(what, 0)} times, and nothing that is known to me changed since."
        " Find the cause in its output and change a file: then it may run again. Or try another command."
    )


def note_refusal(budget: BranchBudget, call: Call, config: BranchLimits, turn: int = 0) -> tuple[BranchBudget, bool]:
    """The budget after a refused attempt, and whether it was one over a limit: a recover trigger. Debt comes once a key."""
    key = _spent_key(budget, call, config, turn)
    if not key or key in budget.bypasses:
        return budget, False
    return replace(budget, in_debt=add_keys(budget.in_debt, key), triggers=budget.triggers + 1), True


def count_call(
    budget: BranchBudget, action: Action, config: BranchLimits, *, enabled: bool, turn: int = 0
) -> BranchBudget:
    """The budget after an executed call. What is not enabled counts nothing new, but a success settles all the same."""
    call, result = action.call, action.result
    if not result.executed or call.tool_class is ToolClass.NEUTRAL:
        return budget
    if action.verified:
        return settle_all(budget)
    if call.tool_class is ToolClass.READ and not result.failed and _is_worn(budget, call, config):
        # decision 57: a refusal leaves a way.
        # else a file that is wrong could never be mended, once it was edited too often
        return grant_bypass(budget, _key_of(call))
    key = _spent_key(budget, call, config, turn) if enabled else ""
    # A bypass is used up by the call that it was for, whatever came of it.
    budget = replace(budget, bypasses=tuple(one for one in budget.bypasses if one != key))
    if result.changed:
        budget = _settle_commands(budget, _key_of(call))
    elif action.may_have_changed:
        budget = _grant_other_commands(budget, _key_of(call), config)
    if result.failed:
        return _find_error_debt(_count_failure(budget, call, result, enabled=enabled), config)
    if result.background:
        return budget
    budget = _count_success(budget, call)
    return _count_edits(budget, call, result, turn) if enabled else budget


def _find_error_debt(budget: BranchBudget, config: BranchLimits) -> BranchBudget:
    """The budget with the debt of errors over their limit; each new one is a recover trigger."""
    over = [f"error:{error}" for error, count in budget.error_counts.items() if count > config.error_repeat_max]
    new = tuple(key for key in over if key not in budget.in_debt)
    return replace(budget, in_debt=add_keys(budget.in_debt, *new), triggers=budget.triggers + len(new))


def settle_all(budget: BranchBudget) -> BranchBudget:
    """The budget after every check has passed."""
    return BranchBudget(triggers=budget.triggers)


def settle_switch(budget: BranchBudget) -> BranchBudget:
    """The budget on another branch: debt is settled, commands and errors begin anew; edits of a file stay counted."""
    return replace(budget, command_failures={}, error_counts={}, error_sources={}, in_debt=())


def update_failures(budget: BranchBudget, check: str, failures: tuple[str, ...]) -> BranchBudget:
    """The budget after a check that left these failures: fewer of the same than before are progress, and reset edits."""
    before, now = set(budget.failing.get(check, ())), set(failures)
    kept = (
        put_bounded(budget.failing, check, failures, _MOST_CHECKS)
        if failures
        else without_keys(budget.failing, {check})
    )
    budget = replace(budget, failing=kept)
    return _settle_edits(budget) if now < before else budget


def grant_bypass(budget: BranchBudget, key: str) -> BranchBudget:
    """The budget with leave for one call over the limit of this path or command."""
    return replace(budget, bypasses=add_keys(budget.bypasses, key))


def grant_bypasses(budget: BranchBudget, config: BranchLimits) -> BranchBudget:
    """The budget with leave for one call over each limit that was reached: a recovery may need just that edit."""
    files = [f"file:{path}" for path, count in budget.file_edits.items() if count >= config.file_edit_max]
    commands = [f"command:{key}" for key, count in budget.command_failures.items() if count >= config.command_retry_max]
    return replace(budget, bypasses=add_keys(budget.bypasses, *budget.in_debt, *files, *commands))


def _spent_key(budget: BranchBudget, call: Call, config: BranchLimits, turn: int) -> str:
    """The key of a call whose limit is reached; empty where it is not."""
    key = _key_of(call)
    # A file that is not there yet was edited by nobody: writing it is never held back.
    if call.tool_class is ToolClass.WRITE and call.path and not call.new_file:
        path = _path_key(call.path)
        begun = turn > 0 and budget.file_rounds.get(path) == turn
        return key if budget.file_edits.get(path, 0) >= config.file_edit_max and not begun else ""
    failures = budget.command_failures.get(command_key(call.command), 0)
    return key if call.tool_class is ToolClass.EXEC and failures >= config.command_retry_max else ""


def _settle_commands(budget: BranchBudget, by: str) -> BranchBudget:
    # decision 57: after a change a check may run again; what a command leaves behind is no change for itself.
    own = {by.partition(":")[2]} if by.startswith("command:") else set()
    return replace(
        budget,
        command_failures=without_keys(budget.command_failures, budget.command_failures.keys() - own),
        in_debt=tuple(key for key in budget.in_debt if key == by or not key.startswith("command:")),
        bypasses=tuple(key for key in budget.bypasses if key == by or not key.startswith("command:")),
    )


def _grant_other_commands(budget: BranchBudget, by: str, config: BranchLimits) -> BranchBudget:
    """A command that ended well may have mended what another one lacked: each that is over its limit may run once more."""
    for command, failures in budget.command_failures.items():
        if failures >= config.command_retry_max and by != f"command:{command}":
            budget = grant_bypass(budget, f"command:{command}")
    return budget


def _count_failure(budget: BranchBudget, call: Call, result: CallResult, *, enabled: bool) -> BranchBudget:
    error = error_key(" ".join(result.failures) or result.error)
    if call.verify:
        budget = update_failures(budget, command_key(call.command), result.failures or (error or "failed",))
    if enabled and call.tool_class is ToolClass.EXEC:
        budget = replace(budget, command_failures=count_one_more(budget.command_failures, command_key(call.command)))
    if enabled and error:
        sources = put_bounded(budget.error_sources, error, _key_of(call))
        budget = replace(budget, error_counts=count_one_more(budget.error_counts, error), error_sources=sources)
    return budget


def _count_success(budget: BranchBudget, call: Call) -> BranchBudget:
    budget = _settle_call(budget, call)
    if call.verify:
        return update_failures(budget, command_key(call.command), ())
    return _settle_edits(budget) if call.like_check else budget


def _count_edits(budget: BranchBudget, call: Call, result: CallResult, turn: int) -> BranchBudget:
    """The budget with one more round for each file that was written, however often it was in this round."""
    if call.tool_class is not ToolClass.WRITE or call.new_file:
        return budget
    for path in map(_path_key, (call.path,) if call.path else result.changed):
        if turn and budget.file_rounds.get(path) == turn:
            continue
        edits, rounds = count_one_more(budget.file_edits, path), put_bounded(budget.file_rounds, path, turn)
        budget = replace(budget, file_edits=edits, file_rounds=rounds)
    return budget


def _settle_edits(budget: BranchBudget) -> BranchBudget:
    debt = tuple(key for key in budget.in_debt if not key.startswith("file:"))
    return replace(budget, file_edits={}, file_rounds={}, in_debt=debt)


def _settle_call(budget: BranchBudget, call: Call) -> BranchBudget:
    """Without what was counted against this call. Edits of a file are settled by checks alone."""
    key = _key_of(call)
    commands = {command_key(call.command)} if call.tool_class is ToolClass.EXEC else set()
    errors = {error for error, source in budget.error_sources.items() if source == key}
    if not commands and not errors:
        return budget
    gone = {f"error:{error}" for error in errors} | {f"command:{command}" for command in commands}
    return replace(
        budget,
        command_failures=without_keys(budget.command_failures, commands),
        error_counts=without_keys(budget.error_counts, errors),
        error_sources=without_keys(budget.error_sources, errors),
        in_debt=tuple(one for one in budget.in_debt if one not in gone),
    )


def _is_worn(budget: BranchBudget, call: Call, config: BranchLimits) -> bool:
    return _key_of(call) in budget.in_debt or budget.file_edits.get(_path_key(call.path), 0) >= config.file_edit_max


def _key_of(call: Call) -> str:
    if call.tool_class is ToolClass.EXEC:
        return f"command:{command_key(call.command)}"
    return f"file:{_path_key(call.path)}" if call.path else f"call:{call.signature}"


def _path_key(path: str) -> str:
    return posixpath.normpath(path)
