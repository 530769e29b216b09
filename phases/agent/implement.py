"""From an approved plan to the documents of phase 09: sets the run up, lets it work, then reads what is on the disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from phases.acceptance.checks.traceability import trace_requirements
from phases.acceptance.stop_reasons import ACCEPTED, HOOK_TAMPERED, STUCK
from phases.acceptance.subagents import read_subagents
from phases.acceptance.todo_list.todos import plan_todos, todo_rows
from phases.agent.acceptance_setup import Acceptance, build_acceptance, notify_hooks
from phases.agent.agent_state import AgentState, Ending, RunTodos
from phases.agent.assignment import Assignment
from phases.agent.begun import Session
from phases.agent.completion import judge_again
from phases.agent.explore import Explorers
from phases.agent.kernel_setting import rules_of
from phases.agent.loop import run_loop
from phases.agent.memory import Memory
from phases.agent.reference_context import excerpts_shown, group_by_file
from phases.agent.reports import acceptance_document, implementation_document, summary_document
from phases.agent.restore_files import restore_missing
from phases.agent.rewind import finish_rewind
from phases.agent.session import RULES, begin_session
from phases.agent.supervisor_setup import build_supervisor, turn_limit
from phases.agent.tool_runner import RunnerContext, ToolRunner
from phases.agent.tools.commands import bash_tool
from phases.agent.tools.files import file_tools
from phases.agent.tools.reference import reference_tool
from phases.agent.tools.search import search_tools
from phases.agent.tools.todos import todo_tool
from phases.agent.tools.toolbox import Notes, Tool, Toolbox
from phases.llm.conversation import Conversation
from phases.llm.ledger import Ledger
from phases.llm.model import Model, tokens_of
from phases.llm.redaction import redact_value
from phases.sandbox.box import Box
from phases.supervision.config import RULES as SUPERVISION_RULES
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import tree_digest
from phases.workspace.packages import ALLOW, Packages, describe_missing, install_packages, missing_packages
from phases.workspace.rejected_snapshots import keep_rejected
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import Workspace
from pipeline.base.errors import Incomplete, Paused, PhaseError
from pipeline.base.files import read_bytes, sync_tree, write_durable

Progress = Callable[[int, int, str], None]
_TOLD_EVERY = 1000
_OLDER_RULES = (
    "this work began under older rules: what is recorded of it stands; from here on requirements that are open, and checks "
    "that ran no test, keep it from being accepted"
)


def implement_plan(assignment: Assignment, model: Model, progress: Progress) -> dict[str, Any]:
    """The documents of phase 09, by short name: implementation, summary, traceability."""
    plan, places = assignment.plan, assignment.places
    finish_rewind(places, assignment.in_place)
    ledger = Ledger(places.ledger, assignment.limits, assignment.in_place)
    total = len(plan["file_structure"])
    tell, clean = partial(progress, 0, total), partial(redact_value, secrets=model.secrets)
    packages = _install_packages(assignment, tell)
    missing = missing_packages(plan["environment_setup"]["packages"], packages.python)
    begun = begin_session(assignment, model, ledger.next_run("implement"), packages.names, tell, clean)
    workspace = Workspace(places.workspace)
    box = Box(places.workspace, assignment.sandbox, (places.paper,), packages.python)
    commands = CommandRunner(box, Snapshot(places.workspace, places.snapshot), tell)
    begun.journal.on_other_question = assignment.tell
    restore_missing(begun.journal, workspace)  # before anybody looks at the files
    try:
        run, acceptance = build_state(assignment, model, ledger, begun, commands, missing)
    except Incomplete as error:
        raise _with_files(error, assignment, workspace) from error
    acceptance.executor.doing = _listen(assignment, workspace, run, progress)
    _tell_beforehand(assignment, begun, missing)
    if not begun.journal.replaying:
        shutil.rmtree(places.snapshot, ignore_errors=True)  # of other work: it must not be gone back to
        if told := describe_estimate(model, plan, begun.write):
            tell(told)
    with notify_hooks(acceptance, assignment.tell, resumed=begun.journal.replaying) as end:
        run.said = end.said
        ending = end.ended_by(_run_loop(run, assignment, workspace, commands, missing))
    run.supervised.close(_in_report(ending), ending.detail)
    shutil.rmtree(places.snapshot, ignore_errors=True)
    sync_tree(places.workspace)
    traced, rows = trace_requirements(workspace, plan), begun.journal.all_rows()
    made = implementation_document(ending, workspace, plan, traced, scaffold=model.name == RULES)
    return {
        "implementation": {
            **made,
            "subagents": read_subagents(rows).counts,
            "todos": todo_rows(run.todo_list.todos),
            "packages": [dict(row) for row in packages.installed],
            "reference_files": group_by_file(excerpts_shown(begun.journal.begun, rows)),
        },
        "summary": summary_document(run.memory.interfaces, workspace, plan, assignment.plan_sha256),
        "traceability": traced,
        "acceptance": acceptance_document(ending, made["verification"], rows, assignment.hooks.most_continues),
    }


def _install_packages(assignment: Assignment, tell: Callable[[str], None]) -> Packages:
    """Installs what the plan names, where the user allowed it."""
    wanted = tuple(assignment.plan["environment_setup"]["packages"])
    if assignment.environment is None or not wanted:
        return Packages()
    tell(f"installs {len(wanted)} packages for the sandbox: {', '.join(wanted)[:120]}")
    assignment.in_place()
    return install_packages(wanted, assignment.places.packages, assignment.sandbox, assignment.environment)


def _listen(assignment: Assignment, workspace: Workspace, run: AgentState, progress: Progress) -> Callable[[str], None]:
    """Has the run tell its user what it does. Returns what is told of things that take a while."""
    doing = partial(_doing, assignment, workspace, run, progress)
    run.on_turn = partial(_after_turn, assignment, workspace, run.memory, progress)
    # A scaffold is what it is: its stubs are on the last screen, not refusals that somebody could mend.
    run.say = (lambda line: None) if run.conversation.model.name == RULES else assignment.tell
    run.keep_ending = partial(keep_rejected, assignment.places)
    run.conversation.on_text = partial(_while_it_comes, assignment, workspace, run, progress)
    run.conversation.on_wait = doing
    return doing


def _tell_beforehand(assignment: Assignment, begun: Session, missing: Sequence[str]) -> None:
    """What the user should know before anything is paid for."""
    if missing:
        told = "what needs it cannot be checked" if len(missing) == 1 else "what needs them cannot be checked"
        assignment.tell(f"{describe_missing(missing)}: {told}; {ALLOW} installs the plan's packages")
    if begun.journal.replaying and rules_of(begun.journal.begun) < SUPERVISION_RULES:
        assignment.tell(_OLDER_RULES)


def files_done(workspace: Workspace, plan: Mapping[str, Any]) -> tuple[int, int, str]:
    """How many planned files are there, how many are planned, and the last that is there."""
    planned = [row["path"] for row in plan["file_structure"]]
    there = [path for path in planned if workspace.exists(path)]
    return len(there), len(planned), there[-1] if there else ""


def _run_loop(
    run: AgentState, assignment: Assignment, workspace: Workspace, commands: CommandRunner, missing: Sequence[str]
) -> Ending:
    """Lets it work to an ending. Whatever else comes is passed on, and kernel-report.json says it."""
    try:
        return judge_again(run, run_loop(run), partial(_is_current, workspace, commands, missing))
    except (Paused, Incomplete) as error:
        run.supervised.close(error.stop_reason, str(error))
        raise _with_files(error, assignment, workspace) from error
    except PhaseError as error:
        run.supervised.close("error", str(error))
        raise


def _with_files(error: Paused | Incomplete, assignment: Assignment, workspace: Workspace) -> Paused | Incomplete:
    """The same, with what is written so far."""
    done, total, _ = files_done(workspace, assignment.plan)
    told = f"{done} of {total} files written; {error}"
    if isinstance(error, Paused):
        return Paused(told, stop_reason=error.stop_reason, flag=error.flag)
    report = {"files": {"planned": total, "written": done, "missing": []}, "verified": False}
    return Incomplete(told, stop_reason=error.stop_reason, report=report)


def build_state(
    assignment: Assignment,
    model: Model,
    ledger: Ledger,
    begun: Session,
    commands: CommandRunner,
    missing: Sequence[str] = (),
) -> tuple[AgentState, Acceptance]:
    """Everything that the loop works with; nothing is asked or done yet."""
    notes, planned, root = Notes(), begun.planned, assignment.places.workspace
    acceptance = build_acceptance(assignment, begun, Workspace(root), commands, model, missing)
    workspace, todo_list = Workspace(root, tuple(acceptance.protected.checksums)), RunTodos(plan_todos(assignment.plan))

    def tools(notes: Notes) -> list[Tool]:
        return [*file_tools(workspace, notes), *search_tools(workspace)]

    explorers = Explorers(
        model,
        ledger,
        lambda notes: Toolbox([tool for tool in tools(notes) if tool.reads_only], assignment.breach),
        assignment.places.explorations,
        begun.journal.run,
        assignment.in_place,
        partial(redact_value, secrets=model.secrets),
        around=acceptance.tool_hooks.around,
    )
    own = [bash_tool(commands.bash), todo_tool(lambda: todo_list.todos, lambda: todo_list.turn)]
    others = [reference_tool(assignment.library)] if begun.references is not None else []
    box = Toolbox([*tools(notes), *own, *others, explorers.tool()], assignment.breach)
    hands = ToolRunner(box, RunnerContext(workspace, planned, commands, explorers, notes, begun.before))
    memory = Memory(assignment.plan, begun, hands.schemas)
    run = AgentState(
        Conversation(model, begun.journal, ledger, "implement"),
        memory,
        hands,
        acceptance.chain,
        acceptance.tool_hooks,
        build_supervisor(assignment, begun, memory, ledger, commands.tell),
        turn_limit(assignment),
        assignment.hooks.most_continues,
        todo_list,
        assignment.deadline,
    )
    return run, acceptance


def _after_turn(assignment: Assignment, workspace: Workspace, memory: Memory, progress: Progress, what: str) -> None:
    """Tells what was done, and keeps the memory on the disk up to date."""
    progress(*files_done(workspace, assignment.plan)[:2], what)
    summary = summary_document(memory.interfaces, workspace, assignment.plan, assignment.plan_sha256).text.encode()
    if not os.path.lexists(assignment.places.summary) or read_bytes(assignment.places.summary) != summary:
        assignment.in_place()
        write_durable(assignment.places.summary, summary)


def _doing(assignment: Assignment, workspace: Workspace, run: AgentState, progress: Progress, what: str) -> None:
    """Tells what takes a while."""
    progress(*files_done(workspace, assignment.plan)[:2], f"turn {run.conversation.turn}: {what}")


def _while_it_comes(
    assignment: Assignment, workspace: Workspace, run: AgentState, progress: Progress, characters: int
) -> None:
    """Tells that a long reply is on its way."""
    if characters // _TOLD_EVERY > run.characters // _TOLD_EVERY:
        _doing(assignment, workspace, run, progress, f"{characters:,} characters so far …")
    run.characters = characters


def _in_report(ending: Ending) -> str:
    """The ending as kernel-report.json names it: work that no check has looked at is never called done."""
    if ending.stop_reason == ACCEPTED:
        return "model_done" if ending.verification["verified"] else "completed_unverified"
    return "stuck_cycle" if ending.stop_reason == STUCK else ending.stop_reason


def _is_current(workspace: Workspace, commands: CommandRunner, missing: Sequence[str], ending: Ending) -> bool:
    """Whether a verdict is still about this tree, in this sandbox, with these packages."""
    boxed = ending.stop_reason != HOOK_TAMPERED  # then nothing was run
    same_box = not boxed or ending.verification["sandbox"] == commands.box.kind
    same_packages = ending.verification.get("missing_packages", list(missing)) == list(missing)
    return bool(same_box and same_packages and ending.verification["tree_sha256"] == tree_digest(workspace))


_TURNS_A_FILE, _TURNS_OF_CHECKS = 1.4, 8
_TOKENS_A_FILE, _TOKENS_OF_AN_INTERFACE, _TOKENS_BESIDE = 1500, 250, 4000
_SMALL = 0.005


def describe_estimate(model: Model, plan: Mapping[str, Any], write: Sequence[str]) -> str:
    """One line for a person; empty where nobody is paid."""
    turns = round(_TURNS_A_FILE * len(write) + _TURNS_OF_CHECKS)
    shown = tokens_of(json.dumps(plan)) + _TOKENS_BESIDE + len(write) * _TOKENS_OF_AN_INTERFACE // 2
    tokens_in, tokens_out = turns * shown, turns * _TOKENS_A_FILE
    usd = model.price(tokens_in, tokens_out)
    if model.priced and not usd:
        return ""
    cost = "price not known" if not model.priced else f"≈ ${usd:.2f}" if usd >= _SMALL else "under one cent"
    return (
        f"asks {model.name} about {turns} times, ≈ {tokens_in + tokens_out:,} tokens, {cost} (less with a prompt cache)"
    )
