"""Begin or continue the work on a plan: its fixed facts in the journal header, and the code left by earlier starts.

A decision about earlier code is on the disk, as the header of the coming journal, before it is carried out. Its steps may be
repeated, so the next start finishes a run that was killed in between.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.checks.missing_programs import missing_programs
from phases.acceptance.protected_files import read_checksums
from phases.acceptance.stop_reasons import ACCEPTED
from phases.agent.assignment import Assignment
from phases.agent.interfaces import interfaces_of
from phases.agent.kernel_files import read_settings, set_kernel_aside, unusable_text
from phases.agent.offline_model import GivenCode
from phases.agent.tools.commands import SECONDS
from phases.agent.tools.files import EditError, Replacement, apply_replacement
from phases.agent.tools.reference import excerpts_shown
from phases.llm.journal import Journal, can_continue, header_row, is_header_of, read_journal
from phases.llm.model import AssumesWindow, Model, ToolCall, reply_from_json
from phases.planning.changes import compare_files, plan_difference
from phases.planning.plan_words import is_python
from phases.sandbox.box import MOUNTED, NONE, Box
from phases.sandbox.commands import find_tools
from phases.sandbox.devices import describe_cards
from phases.workspace.backup_tree import back_up_tree, carry_directory_over, carry_file_over, latest_aside
from phases.workspace.manifest import tree_digest
from phases.workspace.syntax import planned_file_fault
from phases.workspace.task_paths import TaskPaths
from phases.workspace.workspace import CONTROL, Workspace, WorkspaceError
from pipeline.base.errors import PhaseError, PipelineError
from pipeline.base.files import (
    make_directory,
    next_aside,
    read_bytes,
    replace_file,
    set_aside,
    sha256,
    sync_directory,
    sync_tree,
    write_durable,
)
from pipeline.base.jsonl import row_line
from pipeline.base.logs import logger

_NEXT, _MACHINE, _REQUIRE = ".next", "machine", "require"
_GIB = 2**30
OFFLINE = "offline"
"""Name of the scaffold model. Another model does not continue its work, nor it another's."""
Rows = Sequence[Mapping[str, Any]]
CHANGED = "changed"
"""Header key: changes made by another plan, one on each line."""
MAY_CHANGE = "may_change"
"""Header key: files that use or test code changed by another plan."""
_MOST_CHANGES = 60
OFF, FACTS = "off", "facts"
"""A mode, and the kind of journal rows with facts for a supervisor."""
RULES_KEY = "rules"
"""Header key under `begun`: the version of supervision's rules."""
RULES = 5
"""Version of supervision's rules; raise it when one changes (decision 433)."""


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
    """Packages of the plan installed at the beginning."""
    window: int
    """Window of the model at the beginning."""
    references: Mapping[str, Any] | None
    """Reference code that helps with each planned file, at the beginning; None: there was none."""
    machine: Mapping[str, Any] | None = None
    """Machine facts for the model at the beginning; None: not given."""
    changed: tuple[str, ...] = ()
    """Changes of this plan to the plan that the code was written from."""
    may_change: tuple[str, ...] = ()
    """Unchanged files that use or test what this plan changed."""
    require: str = ""
    """The level of evidence that the user demanded of each requirement at the beginning; empty: none."""

    def untouched(self, workspace: Workspace) -> list[str]:
        """Return files to be changed that no tool wrote and that are unchanged."""
        begun = {"write": self.write, "before": self.before}
        return untouched_files(begun, self.journal.all_rows(), workspace)


def session_from(journal: Journal, planned: Sequence[str]) -> Session:
    """Return the session from a journal header. Raises KeyError if the header is incomplete."""
    begun = journal.begun
    fixed = (
        begun["kept"],
        begun["before"],
        tuple(begun["packages"]),
        begun["window"],
        begun.get("references"),
        begun.get(_MACHINE),
        tuple(begun.get(CHANGED, ())),
        tuple(begun.get(MAY_CHANGE, ())),
        str(begun.get(_REQUIRE, "")),
    )
    return Session(journal, tuple(planned), tuple(begun["write"]), *fixed)


def begin_session(
    work: Assignment,
    model: Model,
    run: int,
    installed: Sequence[str],
    tell: Callable[[str], None],
    clean: Callable[[Any], Any],
) -> Session:
    """Continue this work's journal, or begin again; nothing that was made is lost.

    `run` counts the starts, this one included; `installed` are packages; `tell` informs the user; `clean` redacts the journal.
    """
    places, header = work.places, {"thread": "implement", "plan_sha256": work.plan_sha256, "version": work.version}
    planned = order_files(work.plan)
    fixed = _start_facts(work, model, installed)
    begun = {**fixed, "first": run == 1, "pins": dict(read_checksums(places.journal))}
    everything = {"write": list(planned), "kept": {}, "before": {}}
    coming = places.journal + _NEXT
    work.in_place()
    # The decision is on the disk before any of it is done, so a kill in between is gone on with.
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
    """Return the model's window; if it is unknown, the one recorded in the journal."""
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
    """Return what new work has to do on existing code; None if the journal is continued."""
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
    """Return the facts that are fixed for the whole run."""
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


def machine_facts(
    box: Box = Box("", NONE),  # noqa: B008 - frozen
    missing: Collection[str] = (),
    *,
    python: bool = True,
) -> dict[str, Any]:
    """Return Python, system, cores, memory and time limits of commands, and visible data.

    `missing`: programs that the plan's commands need and that are not installed. `python`: whether the code is in Python.
    """
    data = {folder.name: folder.inside if box.kind in MOUNTED else f"${folder.variable}" for folder in box.data}
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(min(box.limits.memory, whole) / _GIB, 1),
        "gpu": describe_cards(box.devices) or "none that a command can use",
        "network": "none",
        "seconds_a_command": {"usual": SECONDS, "most": box.limits.seconds},
        **({"data_to_read": data} if data else {}),
        "programs": ", ".join(find_tools(box)) or "Python alone",
        **({"programs_not_here": f"{', '.join(missing)}: write code and tests all the same"} if missing else {}),
        **({"importable": "the standard library, pytest, coverage, packages_installed"} if python else {}),
    }


def order_files(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Return every planned file, in the strategy's order, then the rest."""
    planned = [row["path"] for row in plan["file_structure"]]
    first = [path for path in plan["implementation_strategy"] if path in planned]
    return tuple(dict.fromkeys([*first, *planned]))


def untouched_files(begun: Mapping[str, Any], rows: Rows, workspace: Workspace) -> list[str]:
    """Return files to be changed that no tool wrote and that are unchanged. `begun`: of the header."""
    before = begun.get("before", {})
    written = {path for row in rows if row["kind"] == "result" for path in row["result"].get("files", ())}
    there = [path for path in begun.get("write", ()) if path in before and path not in written]
    return [path for path in there if workspace.digest_of(path) == before[path]]


def read_decision(coming: str, header: Mapping[str, Any], hand: str) -> dict[str, Any] | None:
    """Return an earlier run's decision that is not carried out; None if there is none for this work."""
    try:
        rows = read_journal(coming)
    except PhaseError:
        return None
    if len(rows) != 1 or not is_header_of(rows[0], header) or rows[0]["begun"].get("hand") != hand:
        return None
    return dict(rows[0]["begun"])


def undo_decision(work: Assignment, coming: str) -> None:
    """Undo a pending decision for other work, as far as it was carried out."""
    if not os.path.lexists(coming):
        return
    with contextlib.suppress(PhaseError, IndexError, KeyError):
        aside = _sibling_path(work, read_journal(coming)[0]["begun"]["aside"])
        if not os.path.lexists(work.places.workspace) and os.path.isdir(aside):
            os.rename(aside, work.places.workspace)
    os.unlink(coming)
    sync_directory(os.path.dirname(coming))


def is_unrecorded_code(places: TaskPaths) -> bool:
    """Return whether there is code without a journal, which must not be overwritten."""
    there = os.path.isdir(places.workspace) and bool(set(os.listdir(places.workspace)) - {CONTROL})
    return there and not read_journal(places.journal)


def is_same_author(rows: Rows, model: str) -> bool:
    """Return whether this model may continue the recorded work; finished work belongs to its model."""
    # Work that is not ended goes on with any model: to switch because one is busy must cost nothing (decision 47).
    begun_by = OFFLINE if rows[0].get("begun", {}).get("hand") == OFFLINE else ""
    last = next((row["result"]["model"] for row in reversed(rows) if row["kind"] == "reply"), begun_by or model)
    return bool(last == model or (rows[-1]["kind"] != "ending" and OFFLINE not in (last, model)))


def decide_remaining(work: Assignment, model: str) -> dict[str, Any] | None:
    """Return what is left to do on the existing code; None if that is everything."""
    rows, root = read_journal(work.places.journal), work.places.workspace
    givers = [row["result"]["model"] for row in rows if row["kind"] == "reply"]
    # What a scaffold wrote is no beginning for a model, nor the other way round.
    if not rows or (OFFLINE in {model, *givers} and {model, *givers} != {OFFLINE}) or not os.path.isdir(root):
        return None
    workspace, planned = Workspace(root), order_files(work.plan)
    # Files that the model left as they were in work that was accepted need no change.
    is_accepted = rows[-1].get("result", {}).get("stop_reason") == ACCEPTED
    owed = set() if is_accepted else set(untouched_files(rows[0].get("begun", {}), rows, workspace))
    kept = [path for path in planned if path not in owed and not planned_file_fault(workspace, path)]
    remove: Sequence[str] = ()
    changed, may_change = list[str](), list[str]()
    if rows[0].get("plan_sha256") != work.plan_sha256:
        # Another plan touches only what it changes, whoever changed it (decision 48).
        before = _read_plan(work, str(rows[0].get("plan_sha256")))
        touched = compare_files(before, work.plan) if before else None
        kept = [path for path in kept if touched and path in touched.keep]
        remove = touched.remove if touched else ()
        may_change = [path for path in kept if touched and path in touched.may_change]
        changed = plan_difference(before, work.plan)[:_MOST_CHANGES] if before else []
    elif givers[-1:] != [model] and _is_accepted_unchanged(rows, workspace):
        return None  # another model is asked to do better, and not to look at what is right
    logger.debug("of {} planned files {} stay as they are; {} were not come to", len(planned), len(kept), len(owed))
    copy = next_aside(root)
    if not kept or not back_up_tree(root, copy):
        return None
    digests = {path: workspace.digest_of(path) for path in planned}
    return {
        "write": [path for path in planned if path not in kept],
        "kept": interfaces_of(workspace, planned),
        "before": {path: digest for path, digest in digests.items() if digest},
        "remove": list(remove),
        **({CHANGED: changed} if changed else {}),
        **({MAY_CHANGE: may_change} if may_change else {}),
        "shown": excerpts_shown(rows[0].get("begun", {}), rows),
    }


def carry_out_decision(work: Assignment, begun: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    """Set aside other work. Every step may be repeated after a kill."""
    workspace = work.places.workspace
    if "aside" in begun:
        aside = _sibling_path(work, begun["aside"])
        if os.path.lexists(workspace) and not os.path.lexists(aside):
            os.rename(workspace, aside)
            sync_directory(os.path.dirname(workspace))
            tell(f"begins anew; the earlier code is kept in {os.path.basename(aside)}")
        carry_directory_over(CONTROL, aside, workspace)
        # Protected files outlive every new beginning: nothing is accepted by a hook that was swapped meanwhile (decision 79).
        for path in begun.get("pins", ()):
            carry_file_over(path, aside, workspace)
        if os.path.isdir(workspace):
            sync_tree(workspace)
    else:
        for path in begun["remove"]:
            if os.path.lexists(os.path.join(workspace, path)):
                Workspace(workspace).remove(path)
        total = len(work.plan["file_structure"])
        message = (
            f"continues with the existing code: {len(begun['write'])} of {total} files are to be written or changed"
        )
        near = begun.get(MAY_CHANGE, ())
        tell(f"{message}; may need a change, too: {', '.join(near)}" if near else message)
    for directory in (work.places.explorations, work.places.hooks, work.places.endings):
        set_aside(directory)
    set_kernel_aside(work.places.kernel, work.places.kernel_report)
    set_aside(work.places.journal)


def restore_missing(journal: Journal, workspace: Workspace) -> None:
    """Restore missing files; leave existing files and removed ones alone."""
    last = {
        path: state["sha256"]
        for row in journal.rows()
        if row["kind"] == "result"
        for path, state in row["result"]["files"].items()
    }
    for path, text in _last_texts(journal).items():
        if last.get(path) == sha256(text.encode("utf-8", "replace")) and not workspace.exists(path):
            with contextlib.suppress(WorkspaceError):
                workspace.write(path, text)


def _last_texts(journal: Journal) -> dict[str, str]:
    """Return each file's text after Write and Edit, except edits on top of a command's output."""
    texts: dict[str, str] = {}
    calls: dict[tuple[int, str], ToolCall] = {}
    for row in journal.rows():
        if row["kind"] == "reply":
            turn = row["key"]["turn"]
            calls.update({(turn, call.id): call for call in reply_from_json(row["result"]).calls})
        elif row["kind"] == "result":
            call = calls.get((row["key"]["turn"], row["key"]["call"]))
            for path in row["result"]["touched"] if call else ():
                _apply_call(texts, path, call.name if call else "", call.arguments if call else {})
    return texts


def _apply_call(texts: dict[str, str], path: str, name: str, arguments: Mapping[str, Any]) -> None:
    if name == "Write":
        texts[path] = arguments["content"]
    elif name == "Edit" and path in texts:
        replacement = Replacement(
            arguments["old_string"], arguments["new_string"], arguments.get("replace_all") or False
        )
        try:
            texts[path] = apply_replacement(texts[path], replacement)
        except EditError:
            del texts[path]


def _is_accepted_unchanged(rows: Rows, workspace: Workspace) -> bool:
    """Return whether the work was accepted and is unchanged since."""
    verdict = next((row["result"] for row in reversed(rows) if row["kind"] == "verdict"), None)
    accepted = rows[-1].get("result", {}).get("stop_reason") == ACCEPTED
    return bool(accepted and verdict and verdict["verification"]["tree_sha256"] == tree_digest(workspace))


def _read_plan(work: Assignment, digest: str) -> dict[str, Any] | None:
    path = os.path.join(work.places.plan_versions, f"{digest[:16]}.txt")
    try:
        return work.parse_plan(read_bytes(path)) if os.path.exists(path) else None
    except PipelineError:
        return None


def _sibling_path(work: Assignment, name: str) -> str:
    return os.path.join(os.path.dirname(work.places.workspace), os.path.basename(name))


def read_wanted(work: Assignment) -> tuple[dict[str, Any], str]:
    """Return how this start is to be supervised, and the fault of the settings file.

    Settings that cannot be used turn supervision off and keep no run from starting.
    """
    content, warning = read_settings(work.places.kernel, work.parse_supervision)
    if work.supervisor == OFF and content == {}:
        return {"mode": OFF, "shadow": False, "config": {}}, ""
    # Imported here: with supervision off the kernel is not loaded.
    from phases.supervision.config import Config, resolve_policy
    from phases.supervision.serialization import from_json, to_json

    try:
        config = from_json(Config, content or {})
    except ValueError as error:
        content, config, warning = None, Config(), unusable_text(work.places.kernel, str(error))
    policy = resolve_policy(OFF if content is None else work.supervisor, config, work.shadow)
    return {"mode": policy.mode.value, "shadow": policy.shadow, "config": to_json(config)}, warning


def is_unsupervised(journal: Journal, wanted: Mapping[str, Any], warning: str) -> bool:
    """Return whether this run never had a supervisor. A warning about settings needs its report."""
    was_told = any(row["kind"] == FACTS for row in journal.rows())
    return wanted["mode"] == OFF == journal.begun["supervisor"]["mode"] and not (warning or was_told)
