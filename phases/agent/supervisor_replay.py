"""Computes every decision of a supervised run a second time: the same loop walks again, through a copy of the journal."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from phases.agent.assignment import Assignment
from phases.agent.earlier_code import order_files
from phases.agent.implement import build_state
from phases.agent.kernel_files import CHECKPOINT, EVENTS, GRAPH
from phases.agent.kernel_setting import FIRST_RULES, RULES, RULES_KEY
from phases.agent.loop import run_loop
from phases.agent.session import session_from
from phases.agent.supervisor_adapter import KernelSupervisor
from phases.llm.conversation import NoRoom
from phases.llm.journal import Journal, read_journal
from phases.llm.ledger import Ledger
from phases.llm.model import Reachability, Reply, Request
from phases.sandbox.box import NONE, Box
from phases.supervision.checkpoint import restore_state
from phases.supervision.enums import FAULTS
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from phases.workspace.task_paths import TaskPaths, task_paths
from pipeline.base.errors import FormatError, PhaseError, PipelineError
from pipeline.base.files import read_bytes, sha256, write_without_sync
from pipeline.base.formats import parse_json
from pipeline.base.jsonl import drop_torn_tail

ParsePlan = Callable[[bytes], Mapping[str, Any]]
_NOT_COMPARED = ("ts", "taskId")
_MOST_TOLD = 20


class _JournalOver(Exception):
    """The journal has no more answers."""


class _SilentModel:
    """Stands for the model: what it said is in the journal, and it is asked nothing."""

    name, detail, priced, reports_cost = "the journal", "", True, False
    secrets: tuple[str, ...] = ()

    def __init__(self, window: int) -> None:
        self.window = window

    def ask(self, request: Request) -> Reply:
        raise _JournalOver

    def check(self) -> Reachability:
        return Reachability(False, "")

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0


def replay_decisions(root: str, parse_plan: ParsePlan) -> tuple[list[str], int]:
    """In words, where decisions differ from those on record; and how many were computed. Those that older rules made are taken as
    they are. Raises PhaseError without a journal.
    """
    places = task_paths(root)
    with tempfile.TemporaryDirectory(prefix="pipeline-replay-") as directory:
        copy = task_paths(directory)
        os.mkdir(os.path.dirname(copy.ledger))
        if os.path.exists(places.journal):
            write_without_sync(copy.journal, read_bytes(places.journal))
            drop_torn_tail(copy.journal)  # a run that is at work may be writing it
        if os.path.exists(places.paper):  # its sections are part of the questions
            write_without_sync(copy.paper, read_bytes(places.paper))
        rows = read_journal(copy.journal) if os.path.exists(copy.journal) else []
        if not rows or "supervisor" not in rows[0].get("begun", {}):
            raise PhaseError(
                f"{places.journal} is not there, or of a run without supervision: there is nothing to replay"
            )
        try:
            plan = _plan_of(places, rows[0]["plan_sha256"], parse_plan)
            supervisor, told = _walk_journal(copy, plan, rows[0])
        except FAULTS as error:
            raise PhaseError(
                f"{places.journal}: fits no run of this version ({type(error).__name__}: {error})"
            ) from error
        # The state is computed again and held against the file, never read from it (decision 51).
        differences = [*told, *_compare_events(places, copy), *_compare_state(places, supervisor)]
    rounds = supervisor.bridge.state.round
    calls = sum(row["kind"] == "result" for row in rows[1:]) if rounds else 0
    return differences[:_MOST_TOLD], calls + rounds


def _walk_journal(
    places: TaskPaths, plan: dict[str, Any], header: Mapping[str, Any]
) -> tuple[KernelSupervisor, list[str]]:
    """The supervisor at the end of its journal. A decision that differs from the one on record parts with it, and is named."""
    begun = header["begun"]
    identity = {name: header[name] for name in header if name not in ("kind", "run", "begun")}
    # Where older rules began the work, a text that they pinned was not told again: questions differ from there (decision 201).
    is_ours = begun.get(RULES_KEY, FIRST_RULES) >= RULES
    journal = Journal(places.journal, identity, in_place=_end_journal, strict=is_ours)
    session = session_from(journal, order_files(plan))
    # No file of settings lies in the copy, so nothing is ever parsed.
    limits = {"max_turns": 0, "evidence": "off"}  # nothing is run, so no environment is made for it
    assignment = Assignment(
        plan, header["plan_sha256"], places, NONE, limits, lambda schema, value: None, _no_file, _no_file, 0
    )
    commands = CommandRunner(Box(places.workspace, NONE), Snapshot(places.workspace, places.snapshot))
    model = _SilentModel(begun["window"])
    state, _ = build_state(assignment, model, Ledger(places.ledger, {}), session, commands)
    supervisor = state.supervisor
    if not isinstance(supervisor, KernelSupervisor):
        raise TypeError("an assignment that names no mode is supervised")
    try:
        run_loop(state)
    except (_JournalOver, NoRoom):
        return supervisor, []
    except PipelineError as error:
        return supervisor, [str(error).replace(places.journal, "journal.jsonl").partition("; start afresh")[0]]
    return supervisor, []


def _no_file(data: bytes) -> NoReturn:
    raise ValueError("a replay reads no settings and no other plan")


def _end_journal() -> NoReturn:
    raise _JournalOver


def _compare_events(places: TaskPaths, copy: TaskPaths) -> list[str]:
    old, new = (_read_events(os.path.join(directory, EVENTS)) for directory in (places.kernel, copy.kernel))
    older = sum(isinstance(line, dict) and line.get("rules", FIRST_RULES) < RULES for line in old)
    old = old[older:]
    told = [
        f"{EVENTS}, line {number}: {_describe_line(was)} on record, {_describe_line(now)} when computed again"
        for number, (was, now) in enumerate(zip(old, new, strict=False), older + 1)
        if was != now
    ]
    if len(old) != len(new):
        told.append(f"{EVENTS}: {len(old)} lines on record, {len(new)} when computed again")
    return told


def _read_events(path: str) -> list[Any]:
    whole = read_bytes(path).rpartition(b"\n")[0] if os.path.exists(path) else b""  # a last line may be being written
    return [_comparable_line(line) for line in whole.splitlines()]


def _comparable_line(data: bytes) -> Any:
    """A line without what no second run can repeat; one that is damaged as it is."""
    try:
        row = parse_json(data)
    except FormatError:
        return data.decode("utf-8", "replace")
    return {name: row[name] for name in row if name not in _NOT_COMPARED} if isinstance(row, dict) else row


def _describe_line(line: Any) -> str:
    if isinstance(line, dict):
        return f"round {line.get('round')}: {line.get('event')} {line.get('reason')}"
    return f"{str(line)[:60]!r}"


def _compare_state(places: TaskPaths, supervisor: KernelSupervisor) -> list[str]:
    """Whether the checkpoint, where it is of the last round, holds the very state that was computed."""
    if not supervisor.watches:
        return []  # it was all made under older rules
    path, graph = (os.path.join(places.kernel, name) for name in (CHECKPOINT, GRAPH))
    state = supervisor.bridge.state
    try:
        data = parse_json(read_bytes(path)) if os.path.exists(path) else {}
        if not isinstance(data, dict) or data.get("round") != state.round or data.get("trigger") != "ended":
            return [] if isinstance(data, dict) else [f"{CHECKPOINT}: is no checkpoint"]
        if data.get("journalRows") != len(supervisor.journal.all_rows()):
            return []  # the run went on since
        kept = restore_state(data, parse_json(read_bytes(graph)) if os.path.exists(graph) else None)
    except (ValueError, FormatError) as error:
        return [f"{CHECKPOINT} or {GRAPH}: {error}"]
    return [] if kept == state else [f"{CHECKPOINT}: holds another state of round {state.round} than was computed"]


def _plan_of(places: TaskPaths, digest: str, parse_plan: ParsePlan) -> dict[str, Any]:
    root = os.path.dirname(places.workspace)
    for path in (os.path.join(root, "initial_plan.txt"), os.path.join(places.plan_versions, f"{digest[:16]}.txt")):
        if os.path.exists(path) and sha256(data := read_bytes(path)) == digest:
            return dict(parse_plan(data))
    raise PhaseError(f"{root}: the plan that this run followed is not there any more, so it cannot be walked again")
