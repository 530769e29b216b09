"""Checks that fail in the same way after every change (section 14)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from phases.supervision.config import Triggers
from phases.supervision.facts import Action, GateVerdict, Result
from phases.supervision.signatures import command_key
from phases.supervision.words import DeviationSignal

GATE = "the completion gate"
_MOST_COMMANDS, _MOST_FAILURES, _MOST_SIGNATURES = 20, 50, 5
_LAST_STAGE = 3


@dataclass(frozen=True)
class Plateau:
    """One verify command that fails."""

    failures: tuple[str, ...]
    """What fails, sorted."""
    count: int = 1
    """Runs that failed in just that way, with a file changed before each but the first."""
    written: bool = False
    """A file changed since its last run."""
    lifted: bool = False
    """A command ended well since its last run, and may have changed what nobody looks at. It lifts the block, and no more."""
    stage: int = 0
    signatures: tuple[str, ...] = ()
    """Of the calls that ran it."""


def failures_of(result: Result) -> tuple[str, ...]:
    """What fails, sorted; nothing where it passed."""
    return (result.failures or (result.error or result.digest,)) if result.failed else ()


def after_actions(
    plateaus: Mapping[str, Plateau], actions: Iterable[Action]
) -> tuple[dict[str, Plateau], tuple[str, ...]]:
    """The plateaus after calls, and the commands that failed once more in the same way."""
    now, grown = dict(plateaus), set[str]()
    for action in actions:
        call, result = action.call, action.result
        if not call.verify:
            if result.changed and call.new_file:
                now = {}
            elif result.changed:
                now = {command: replace(plateau, written=True) for command, plateau in now.items()}
            elif action.may_have_changed:
                now = {command: replace(plateau, lifted=True) for command, plateau in now.items()}
            continue
        if not result.executed or result.background:
            continue
        command = command_key(call.command)
        now, more = _after_run(now, command, failures_of(result), call.signature)
        grown = grown | {command} if more else grown - {command}
    return now, tuple(sorted(grown))


def after_verdict(plateaus: Mapping[str, Plateau], verdict: GateVerdict) -> tuple[dict[str, Plateau], tuple[str, ...]]:
    """The same, after the completion gate has looked at the whole work."""
    failures = () if verdict.passed else verdict.failures or ("",)
    now, more = _after_run(dict(plateaus), GATE, failures, "")
    return now, (GATE,) if more else ()


def escalated(
    plateaus: Mapping[str, Plateau], grown: Iterable[str], triggers: Triggers
) -> tuple[dict[str, Plateau], tuple[str, ...]]:
    """Those that grew are a step further where they were seen often enough; with the names of these."""
    now, stepped = dict(plateaus), []
    for command in grown:
        plateau = now[command]
        if plateau.count >= triggers.plateau_repeats and DeviationSignal.ERROR_PLATEAU not in triggers.disabled:
            now[command] = replace(plateau, stage=min(plateau.stage + 1, _LAST_STAGE))
            stepped.append(command)
    return now, tuple(stepped)


def _after_run(
    plateaus: dict[str, Plateau], command: str, failures: tuple[str, ...], signature: str
) -> tuple[dict[str, Plateau], bool]:
    """Fewer failures, other failures and none are progress; the same ones count where a file changed in between."""
    others = {name: plateau for name, plateau in plateaus.items() if name != command}
    if not failures:
        return others, False
    failures = tuple(sorted(set(failures)))[:_MOST_FAILURES]
    known = plateaus.get(command)
    before = known.signatures if known else ()
    signatures = tuple(name for name in dict.fromkeys((*before, signature)) if name)[-_MOST_SIGNATURES:]
    if known is None or known.failures != failures:
        plateau = Plateau(failures, signatures=signatures)
    else:
        count = known.count + known.written
        plateau = replace(known, count=count, written=False, lifted=False, signatures=signatures)
    while len(others) >= _MOST_COMMANDS:
        del others[next(iter(others))]
    return {**others, command: plateau}, known is not None and plateau.count > known.count
