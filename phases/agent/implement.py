"""From an approved plan to the documents of phase 09: sets the run up, lets it work, then reads what is on the disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from phases.agent.acceptance.judge import judge
from phases.agent.acceptance.manifest import tree_digest
from phases.agent.asking import Conversation
from phases.agent.assignment import Assignment
from phases.agent.beginning import Begun, begin
from phases.agent.commands import Commands
from phases.agent.estimate import estimate_in_words
from phases.agent.explore import Explorers, counts_of
from phases.agent.hands import Hands, Watched
from phases.agent.ledger import Ledger
from phases.agent.loop import ACCEPTED, EXHAUSTED, STUCK, Ending, Run, work
from phases.agent.memory import Memory
from phases.agent.model import Model
from phases.agent.models.redaction import redacted_value
from phases.agent.outcome import implementation_document, summary_document
from phases.agent.packages import install_packages
from phases.agent.restoring import restore
from phases.agent.sandbox.commands import Box
from phases.agent.sandbox.snapshots import Snapshot
from phases.agent.supervising import most_turns, supervise
from phases.agent.tools.commands import bash_tool
from phases.agent.tools.files import file_tools
from phases.agent.tools.notes import Notes
from phases.agent.tools.search import search_tools
from phases.agent.tools.todos import todo_tool
from phases.agent.tools.tool import Tool
from phases.agent.tools.toolbox import Toolbox
from phases.agent.trace import trace
from phases.agent.workspace import Workspace
from pipeline.errors import Paused, PhaseError
from pipeline.files import read_bytes, write_durable

Progress = Callable[[int, int, str], None]
_TOLD_EVERY = 1000


def implement(assignment: Assignment, model: Model, progress: Progress) -> dict[str, Any]:
    """The documents of phase 09, by short name: implementation, summary, traceability."""
    plan, places = assignment.plan, assignment.places
    ledger = Ledger(places.ledger, assignment.limits, assignment.in_place)
    total = len(plan["file_structure"])
    tell, clean = partial(progress, 0, total), partial(redacted_value, secrets=model.secrets)
    packages = install_packages(assignment, tell)
    begun = begin(assignment, model, ledger.next_run("implement"), packages.names, tell, clean)
    workspace = Workspace(places.workspace)
    box = Box(places.workspace, assignment.sandbox, (places.paper,), packages.python)
    commands = Commands(box, Snapshot(places.workspace, places.snapshot), tell)
    restore(begun.journal, workspace)  # before anybody looks at the files
    run = prepared(assignment, model, ledger, begun, commands)
    run.on_turn = partial(_after_turn, assignment, workspace, run.memory, progress)
    run.conversation.on_text = partial(_while_it_comes, assignment, workspace, run, progress)
    if not begun.journal.rows():
        shutil.rmtree(places.snapshot, ignore_errors=True)  # of other work: it must not be gone back to
        if told := estimate_in_words(model, plan, begun.write):
            tell(told)
    try:
        ending = _checked_again(work(run), workspace, plan, commands, clean)
    except Paused as error:
        done, total, _ = files_done(workspace, plan)
        run.supervised.close(error.stop_reason, str(error))
        raise Paused(f"{done} of {total} files written; {error}", stop_reason=error.stop_reason) from error
    except PhaseError as error:
        run.supervised.close("error", str(error))
        raise
    run.supervised.close(_in_report(ending), ending.detail)
    shutil.rmtree(places.snapshot, ignore_errors=True)
    traced = trace(workspace, plan)
    return {
        "implementation": {
            **implementation_document(ending, workspace, plan, traced),
            "subagents": counts_of(begun.journal.all_rows()),
            "todos": run.todos,
            "packages": [dict(row) for row in packages.installed],
        },
        "summary": summary_document(run.memory.interfaces, workspace, plan, assignment.plan_sha256),
        "traceability": traced,
    }


def files_done(workspace: Workspace, plan: Mapping[str, Any]) -> tuple[int, int, str]:
    """How many planned files are there, how many are planned, and the last that is there."""
    planned = [row["path"] for row in plan["file_structure"]]
    there = [path for path in planned if workspace.exists(path)]
    return len(there), len(planned), there[-1] if there else ""


def prepared(assignment: Assignment, model: Model, ledger: Ledger, begun: Begun, commands: Commands) -> Run:
    """Everything that the loop works with; nothing is asked or done yet."""
    workspace, notes, planned = Workspace(assignment.places.workspace), Notes(), begun.planned

    def tools(notes: Notes) -> list[Tool]:
        return [*file_tools(workspace, notes), *search_tools(workspace)]

    explorers = Explorers(
        model,
        ledger,
        lambda notes: Toolbox([tool for tool in tools(notes) if tool.reads_only], assignment.breach),
        assignment.places.explorations,
        begun.journal.run,
        assignment.in_place,
        partial(redacted_value, secrets=model.secrets),
    )
    box = Toolbox([*tools(notes), bash_tool(commands.bash), todo_tool(), explorers.tool()], assignment.breach)
    hands = Hands(box, Watched(workspace, planned, commands, explorers, notes, begun.before))
    memory = Memory(assignment.plan, begun, hands.schemas)
    return Run(
        Conversation(model, begun.journal, ledger, "implement"),
        memory,
        hands,
        partial(_judge, workspace, assignment.plan, commands, begun),
        supervise(assignment, begun, memory, ledger, commands.tell),
        most_turns(assignment),
        assignment.deadline,
    )


def _after_turn(assignment: Assignment, workspace: Workspace, memory: Memory, progress: Progress, what: str) -> None:
    """Tells what was done, and keeps the memory on the disk up to date."""
    progress(*files_done(workspace, assignment.plan)[:2], what)
    summary = summary_document(memory.interfaces, workspace, assignment.plan, assignment.plan_sha256).text.encode()
    if not os.path.lexists(assignment.places.summary) or read_bytes(assignment.places.summary) != summary:
        assignment.in_place()
        write_durable(assignment.places.summary, summary)


def _while_it_comes(
    assignment: Assignment, workspace: Workspace, run: Run, progress: Progress, characters: int
) -> None:
    """Tells that a long reply is on its way."""
    if characters // _TOLD_EVERY > run.characters // _TOLD_EVERY:
        text = f"turn {run.conversation.turn}: {characters:,} characters so far …"
        progress(*files_done(workspace, assignment.plan)[:2], text)
    run.characters = characters


def _judge(workspace: Workspace, plan: dict[str, Any], commands: Commands, begun: Begun, turn: int) -> dict[str, Any]:
    commands.step = f"verdict-{turn}"
    return judge(workspace, plan, commands, begun.untouched(workspace))


def _in_report(ending: Ending) -> str:
    """The ending as kernel-report.json names it: work that no check has looked at is never called done."""
    if ending.stop_reason == ACCEPTED:
        return "model_done" if ending.verification["verified"] else "completed_unverified"
    return "stuck_cycle" if ending.stop_reason == STUCK else ending.stop_reason


def _checked_again(
    ending: Ending, workspace: Workspace, plan: dict[str, Any], commands: Commands, clean: Callable[[Any], Any]
) -> Ending:
    """A verdict is about one tree in one sandbox. If either is another by now (a hand edit, say), it is taken anew."""
    taken = ending.verification
    if taken["tree_sha256"] in (None, tree_digest(workspace)) and taken["sandbox"] == commands.box.kind:
        return ending
    commands.step = "again"
    verdict = clean(judge(workspace, plan, commands))
    commands.settled()
    reason = ACCEPTED if verdict["block"] is None else EXHAUSTED
    return Ending(reason, ending.turns, verdict["verification"], verdict["block"] or "")
