"""Describe a run, its events and the phases it would run, for callers of the runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pipeline.engine.phase import Decision, Phase
from pipeline.engine.store import TaskStore


class RunEvent(NamedTuple):
    """An event of a run for the user."""

    kind: str
    """started, progress, told (it stays on the screen), fresh, or the status that a phase ended with."""
    phase: Phase
    text: str = ""
    seconds: float = 0.0
    done: int = 0
    total: int = 0


class RunRequest(NamedTuple):
    settings: Mapping[str, Any]
    open_model: Callable[[str], object]
    """Open the model of a phase by the phase's name."""
    review: Callable[[str, str], Decision]
    record: Callable[[str, str], None]
    """Tells the catalog the task's status and the reason."""
    environment: Mapping[str, str] = MappingProxyType({})
    """The user's environment."""
    config_directory: str = ""
    """Directory of the user's settings."""
    cache_directory: str = ""
    """The user's cache directory."""
    hooks: Mapping[str, Any] = MappingProxyType({})
    """The user's own hooks, `{"hooks": …}` as in hooks.yaml."""
    spent: Callable[[], Mapping[str, Any]] = dict
    """Return what the task has spent on models so far: the fields of `usage` in report.json, or nothing."""
    ask: Callable[[str, Sequence[str]], str | None] = lambda question, options: None
    """Ask the user a question with options; None without an answer."""
    watch: Callable[[RunEvent], None] = lambda event: None
    stop_at: Phase | None = None
    until: Phase | None = None
    only: Phase | None = None
    """Run this one phase and nothing else; what it reads must be there and fresh."""

    def wants(self, phase: Phase) -> bool:
        """Return whether this run may get as far as that phase."""
        return (
            phase.is_selected(self.settings)
            and (self.only is None or phase is self.only)
            and (self.stop_at is None or phase.number < self.stop_at.number)
            and (self.until is None or phase.number <= self.until.number)
        )

    def settings_of(self, phase: Phase) -> dict[str, Any]:
        """Return the settings that concern a phase: those it names, what it observes of the machine, and the mode.

        The mode counts only if fast mode skips the phase.
        """
        names = (*phase.settings, "mode") if phase.optional else phase.settings
        return {**{name: self.settings[name] for name in names}, **(phase.observe() if phase.observe else {})}


def stale_phases(store: TaskStore, run: RunRequest) -> list[tuple[Phase, str]]:
    """Return the phases that would run, each with a reason: the stale ones and their readers."""
    stale: dict[str, tuple[Phase, str]] = {}
    for phase in store.graph.phases:
        if not phase.is_selected(run.settings):
            continue
        reason = store.stale_reason(phase, run.settings_of(phase))
        first = next((before for before in store.graph.before(phase) if before.number in stale), None)
        if first and not reason:
            reason = f"it reads what phase {first.label} writes, and that runs first"
        if reason:
            stale[phase.number] = phase, reason
    return list(stale.values())


def stops_before(store: TaskStore, run: RunRequest) -> Phase | None:
    """Return the first phase that --stop-at or --until excludes from a run."""
    whole = run._replace(only=None)
    selected = (phase for phase in store.graph.phases if phase.is_selected(run.settings))
    return next((phase for phase in selected if not whole.wants(phase)), None)


def missing_input(store: TaskStore, run: RunRequest) -> tuple[Phase, str] | None:
    """Return the earlier phase that must run before a single one, with the reason, or None."""
    for before in store.graph.before(run.only) if run.only else ():
        if reason := store.stale_reason(before, run.settings_of(before)):
            return before, reason
    return None
