"""The session of an agent: what was fixed when its work began, as the header of the journal keeps it, and how it begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.checks.missing_programs import missing_programs
from phases.acceptance.protected_files import read_checksums
from phases.agent.assignment import Assignment
from phases.agent.earlier_code import (
    CHANGED,
    MAY_CHANGE,
    OFFLINE,
    carry_out_decision,
    decide_remaining,
    is_same_author,
    is_unrecorded_code,
    order_files,
    read_decision,
    undo_decision,
    untouched_files,
)
from phases.agent.given_code import GivenCode
from phases.agent.kernel_setting import RULES, RULES_KEY, read_wanted
from phases.agent.machine_facts import machine_facts
from phases.llm.journal import Journal, can_continue, header_row, read_journal
from phases.llm.model import AssumesWindow, Model
from phases.sandbox.installs import is_python
from phases.workspace.backup_tree import carry_directory_over, latest_aside
from phases.workspace.workspace import CONTROL, Workspace
from pipeline.base.errors import PhaseError
from pipeline.base.files import make_directory, next_aside, replace_file, sync_directory, write_durable
from pipeline.base.jsonl import row_line
from pipeline.base.logs import logger

_NEXT, _MACHINE, _REQUIRE = ".next", "machine", "require"


class Session(NamedTuple):
    journal: Journal
    planned: tuple[str, ...]
    """Every planned file, in the order of writing."""
    write: tuple[str, ...]
    """Those that this work is to write."""
    kept: Mapping[str, str]
    """The interfaces of planned files that were there at the beginning."""
    before: Mapping[str, str]
    """The sha256 of planned files that were there at the beginning."""
    packages: tuple[str, ...]
    """Which of the plan's packages were installed at the beginning."""
    window: int
    """The model's at the beginning."""
    references: Mapping[str, Any] | None
    """Planned file -> what of other people's code helps with it, as it was at the beginning; None: there was no such code."""
    machine: Mapping[str, Any] | None = None
    """What the model is told of the machine, as it was at the beginning; None: nothing was."""
    changed: tuple[str, ...] = ()
    """What this plan changed in the one that the code was written from, a line a change."""
    may_change: tuple[str, ...] = ()
    """Files that use or test what this plan changed, and that it does not change itself."""
    require: str = ""
    """The level of evidence that the user demanded of each requirement at the beginning; empty: none."""

    def untouched(self, workspace: Workspace) -> list[str]:
        """Files that were to be changed, were written by no tool, and are as they were."""
        begun = {"write": self.write, "before": self.before}
        return untouched_files(begun, self.journal.all_rows(), workspace)


def session_from(journal: Journal, planned: Sequence[str]) -> Session:
    """The session that the header of a journal tells of. Raises KeyError where it says too little."""
    told = journal.begun
    fixed = (
        told["kept"],
        told["before"],
        tuple(told["packages"]),
        told["window"],
        told.get("references"),
        told.get(_MACHINE),
        tuple(told.get(CHANGED, ())),
        tuple(told.get(MAY_CHANGE, ())),
        str(told.get(_REQUIRE, "")),
    )
    return Session(journal, tuple(planned), tuple(told["write"]), *fixed)


def begin_session(
    work: Assignment,
    model: Model,
    run: int,
    installed: Sequence[str],
    tell: Callable[[str], None],
    clean: Callable[[Any], Any],
) -> Session:
    """Goes on with the journal on the disk where it is of this work, and begins anew otherwise: nothing that was made is lost.

    `run` counts how often this was begun, this time included; `installed` are packages; `tell` says what is not plain;
    `clean` takes out of the journal what may be in no file.
    """
    places, header = work.places, {"thread": "implement", "plan_sha256": work.plan_sha256, "version": work.version}
    planned = order_files(work.plan)
    fixed = _start_facts(work, model, installed)
    begun = {**fixed, "first": run == 1, "pins": dict(read_checksums(places.journal))}
    everything = {"write": list(planned), "kept": {}, "before": {}}
    coming = places.journal + _NEXT
    work.in_place()
    # The decision is on the disk before any of it is done, so a kill in between is gone on with (earlier_code.py).
    decided = read_decision(coming, header, fixed["hand"])
    if decided is None:
        undo_decision(work, coming)  # one for another plan or model: what it had moved goes back
        if remaining := _what_remains(work, model, header):
            decided = {**everything, **remaining, **begun}
            write_durable(coming, row_line(header_row(header, run, decided)) + b"\n")
    if decided is not None:
        carry_out_decision(work, decided, tell)
        replace_file(coming, places.journal)
        sync_directory(os.path.dirname(places.journal))
    work.in_place()
    if not os.path.lexists(places.workspace) and (before := latest_aside(places.workspace)):
        carry_directory_over(CONTROL, before, places.workspace)  # it was set aside by a redo
    make_directory(places.workspace)
    journal = Journal(places.journal, header, run, work.in_place, begun={**everything, **begun}, clean=clean)
    if not journal.begun.keys() >= {*everything, *fixed} - {"references", _MACHINE, _REQUIRE}:
        raise PhaseError(
            f"{places.journal}, line 1: does not say how the work began; start afresh with --redo implement"
        )
    return session_from(journal, planned)


def _find_window(work: Assignment, model: Model) -> int:
    """The model's window; where nobody knows it any more, the one that the recorded work was begun with."""
    try:
        return model.window
    except PhaseError:
        header = next(iter(read_journal(work.places.journal)), {})
        window = header.get("begun", {}).get("window")
        if not isinstance(model, AssumesWindow) or not isinstance(window, int) or window <= 0:
            raise
        model.take_window(window)
        return window


def _what_remains(work: Assignment, model: Model, header: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the work that begins anew has to do on the code that is there; None where the journal is gone on with."""
    places = work.places
    goes_on = can_continue(places.journal, header, lambda rows: is_same_author(rows, model.name))
    logger.debug("the journal on the disk is {}of this work", "" if goes_on else "not ")
    if goes_on and not is_unrecorded_code(places):
        return None
    if isinstance(model, GivenCode):
        if not goes_on:
            raise PhaseError("the plan was changed since this code was written, so it must be written on first: resume")
        return {"write": [], "remove": [], "shown": {}}  # the code was put there to be judged, and stays
    return decide_remaining(work, model.name) or {"aside": os.path.basename(next_aside(places.workspace))}


def _start_facts(work: Assignment, model: Model, installed: Sequence[str]) -> dict[str, Any]:
    """What stays as it is at the beginning."""
    supervisor, _ = read_wanted(work)
    return {
        "packages": list(installed),
        "window": _find_window(work, model),
        "hand": OFFLINE if model.name == OFFLINE else "model",
        "supervisor": supervisor,
        RULES_KEY: RULES,
        _MACHINE: machine_facts(
            work.command_box, missing_programs(work.plan, work.command_box), python=is_python(work.plan)
        ),
        # An index that was made anew would ask other questions than those on record (decision 113).
        **({"references": work.library.relations} if work.library else {}),
        **({_REQUIRE: work.require} if work.require else {}),
    }
