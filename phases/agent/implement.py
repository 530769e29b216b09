"""Carry out an approved plan: set up the run, let it work, then write its documents from the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from phases.acceptance.checks.missing_programs import missing_programs
from phases.acceptance.stop_reasons import ACCEPTED, HOOK_TAMPERED, STUCK, describe_reason
from phases.acceptance.todos import plan_todos, todo_rows
from phases.acceptance.tool_hooks import read_subagents
from phases.agent.acceptance_setup import Acceptance, build_acceptance, notify_hooks
from phases.agent.agent_state import AgentEvents, AgentState, Ending, RunTodos, Supervisor, Unsupervised
from phases.agent.assignment import Assignment
from phases.agent.explore import Explorers
from phases.agent.loop import run_loop
from phases.agent.memory import Memory
from phases.agent.offline_model import GivenCode
from phases.agent.reports import (
    Progress,
    ProgressReporter,
    acceptance_document,
    count_written,
    implementation_document,
    summary_document,
)
from phases.agent.rewind import finish_rewind
from phases.agent.session import OFFLINE, Session, begin_session, is_unsupervised, read_wanted, restore_missing
from phases.agent.tool_runner import ToolRunner
from phases.agent.tools.ask_user import ask_user_tool, questions_in
from phases.agent.tools.commands import add_package_tool, bash_tool, job_tool, packages_added
from phases.agent.tools.files import file_tools
from phases.agent.tools.reference import excerpts_shown, group_by_file, reference_tool
from phases.agent.tools.search import search_tools
from phases.agent.tools.todos import todo_tool
from phases.agent.tools.toolbox import Notes, Tool, Toolbox
from phases.evidence.bare_python import layer_python, lend_tools
from phases.evidence.traceability import trace_requirements
from phases.llm.conversation import Conversation
from phases.llm.estimate import DryRun, Price, Work, learn, price_work
from phases.llm.ledger import Ledger
from phases.llm.model import Model, as_model, sees_pictures, tokens_of
from phases.llm.pictures import PictureStore
from phases.llm.redaction import redact_value
from phases.planning.plan_words import is_python, pip_packages
from phases.reproduction.attempts import open_attempt
from phases.sandbox.box import Box
from phases.sandbox.devices import AUTO, describe_cards, find_devices
from phases.sandbox.devices import NONE as GPU_NONE
from phases.workspace.command_runner import CommandRunner
from phases.workspace.jobs import Jobs, jobs_on_record
from phases.workspace.manifest import tree_digest
from phases.workspace.packages import (
    ALLOW,
    Packages,
    describe_missing,
    install_packages,
    missing_packages,
    own_packages,
)
from phases.workspace.snapshots import Snapshot
from phases.workspace.workspace import CONTROL, Workspace
from pipeline.base.errors import Incomplete, Paused, PhaseError
from pipeline.base.files import sync_tree
from pipeline.base.logs import logger

_MOST_LOGGED = 300


def implement_plan(assignment: Assignment, model: Model, progress: Progress) -> dict[str, Any]:
    """Return the documents of phase 09, by short name: implementation, summary, traceability, acceptance."""
    plan, places = assignment.plan, assignment.places
    _refuse_without_model(plan, model)
    finish_rewind(places, assignment.in_place)
    ledger = Ledger(places.ledger, assignment.limits, assignment.in_place)
    tell, clean = partial(_tell, progress, assignment), partial(redact_value, secrets=model.secrets)
    bare = assignment.make_bare_python()
    packages = _install_packages(assignment, bare, tell)
    missing = missing_packages(pip_packages(plan), packages.python or bare or None)
    session = begin_session(assignment, model, ledger.next_run("implement"), packages.names, tell, clean)
    workspace = Workspace(places.workspace)
    if added := packages_added(session.journal.all_rows()):  # by the agent, in an earlier start of this run
        packages = _install_packages(assignment, bare, tell, [row["line"] for row in added])
    box, snapshot = _build_box(assignment, bare, packages), Snapshot(places.workspace, places.snapshot)
    commands = CommandRunner(box, snapshot, tell, Jobs(places.jobs, assignment.tell))
    # Before anybody looks at the files. One that was edited is left alone, and the verdict taken anew (decision 15).
    restore_missing(session.journal, workspace)
    events = ProgressReporter(assignment, workspace, progress, scaffold=model.name == OFFLINE)
    try:
        state, acceptance = build_state(assignment, model, ledger, session, commands, missing, events)
    except Incomplete as error:
        raise _with_files(error, assignment, workspace) from error
    supervision = "off" if isinstance(state.supervisor, Unsupervised) else "on"
    files = f"{len(session.write)} of {len(session.planned)} planned files"
    logger.info("{} is to write {}; supervision: {}; sandbox: {}", model.name, files, supervision, box.kind)
    _tell_beforehand(assignment, missing)
    if not session.journal.replaying:
        snapshot.clear()  # of other work: it must not be gone back to
        commands.jobs.forget()
        _tell_expected(state, assignment, session, tell)
    at_work = commands.jobs.at_work(session.journal.rows(), box)
    with notify_hooks(acceptance, assignment.tell, resumed=session.journal.replaying) as end, at_work:
        state.hook_messages = end.said
        state.attempt = open_attempt(os.path.dirname(places.workspace))
        ending = end.ended_by(_work_to_ending(state, assignment, workspace, commands, missing))
    state.supervisor.close(_in_report(ending), ending.detail, ended=True)
    detail = ending.detail.partition("\n")[0][:_MOST_LOGGED]
    logger.info("the agent ended after {} turns: {} {}", ending.turns, describe_reason(ending.stop_reason), detail)
    snapshot.clear()
    # The documents hold the digests of these files, so the files must not be lost after them.
    sync_tree(places.workspace)
    if added := packages_added(session.journal.all_rows()):
        packages = _install_packages(assignment, bare, tell, [row["line"] for row in added])
    return _documents(assignment, session, state, ending, packages, scaffold=events.scaffold)


def _refuse_without_model(plan: Mapping[str, Any], model: Model) -> None:
    """Raise Incomplete if the plan's language has no scaffold by rules."""
    if model.name == OFFLINE and not is_python(plan):
        message = f"code in {plan['language']} needs a model; continue with --model PROVIDER:NAME"
        raise Incomplete(message, stop_reason="needs_model", report={"scaffold": True})


def _tell(progress: Progress, assignment: Assignment, text: str) -> None:
    planned = [os.path.join(assignment.places.workspace, row["path"]) for row in assignment.plan["file_structure"]]
    progress(sum(map(os.path.lexists, planned)), len(planned), text)


def _build_box(assignment: Assignment, bare: str, packages: Packages) -> Box:
    places = assignment.places
    beside = filter(None, (bare, packages.own)) if packages.python else ()
    return assignment.command_box._replace(
        readable=(places.paper, *beside),
        python=packages.python or bare or None,
        read_only=(os.path.join(places.workspace, CONTROL),),
    )


def _documents(
    assignment: Assignment, session: Session, state: AgentState, ending: Ending, packages: Packages, *, scaffold: bool
) -> dict[str, Any]:
    """Return the documents by their short names."""
    plan, workspace = assignment.plan, Workspace(assignment.places.workspace)
    checked = ending.verification
    # What a check saw is true of the tree that it saw, and of no other.
    evidence = checked.get("evidence", ()) if checked["tree_sha256"] == tree_digest(workspace) else ()
    traced, rows = trace_requirements(workspace, plan, evidence), session.journal.all_rows()
    made = implementation_document(ending, workspace, plan, traced, scaffold=scaffold)
    jobs = state.tools.commands.jobs.report(rows)
    return {
        "implementation": {
            **made,
            "subagents": read_subagents(rows).counts,
            "todos": todo_rows(state.todo_list.todos),
            "packages": [dict(row) for row in packages.installed],
            "questions": questions_in(rows),
            **({"jobs": jobs} if jobs else {}),
            "reference_files": group_by_file(excerpts_shown(session.journal.begun, rows)),
        },
        "summary": summary_document(state.memory.interfaces, workspace, plan, assignment.plan_sha256),
        "traceability": traced,
        "acceptance": acceptance_document(ending, made["verification"], rows, assignment.hooks.most_continues),
    }


def build_state(
    assignment: Assignment,
    model: Model,
    ledger: Ledger,
    session: Session,
    commands: CommandRunner,
    missing: Sequence[str],
    events: AgentEvents,
) -> tuple[AgentState, Acceptance]:
    """Return everything that the loop works with; nothing is asked or done yet."""
    root, notes, clean = assignment.places.workspace, Notes(), partial(redact_value, secrets=model.secrets)
    acceptance = build_acceptance(assignment, session, Workspace(root), commands, model, missing, events.working)
    workspace, todo_list = Workspace(root, tuple(acceptance.protected.checksums)), RunTodos(plan_todos(assignment.plan))
    pictures = PictureStore(assignment.places.pictures, assignment.in_place) if sees_pictures(model) else None

    def tools(notes: Notes) -> list[Tool]:
        return [*file_tools(workspace, notes, pictures, assignment.find_fault), *search_tools(workspace)]

    def looking(notes: Notes) -> Toolbox:
        return Toolbox([tool for tool in tools(notes) if tool.reads_only], assignment.breach)

    files, run, hooks = assignment.places.explorations, session.journal.run, acceptance.tool_hooks
    explorers = Explorers(model, ledger, looking, files, run, assignment.in_place, clean, pictures, hooks.around)
    own = [
        *_own_tools(assignment, session, ledger, commands, todo_list),
        *_package_tools(assignment, session, commands),
    ]
    box = Toolbox([*tools(notes), *own, explorers.tool()], assignment.breach)
    before = {path: session.before.get(path, "") for path in session.planned}
    runner = ToolRunner(box, hooks, workspace, commands, explorers, notes, before, pictures)
    memory = Memory(assignment.plan, session, runner.schemas, paper=assignment.read_paper())
    state = AgentState(
        Conversation(model, session.journal, ledger, "implement", on_text=events.receiving, on_wait=events.working),
        memory,
        runner,
        acceptance.chain,
        _choose_supervisor(assignment, session, memory, ledger, runner, commands),
        events,
        assignment.turn_limit,
        assignment.hooks.most_continues,
        todo_list,
        assignment.deadline,
    )
    return state, acceptance


def _own_tools(
    assignment: Assignment, session: Session, ledger: Ledger, commands: CommandRunner, todo_list: RunTodos
) -> list[Tool]:
    """Return the tools that sub-agents lack."""
    # A list of todos is answered, not kept, here: the run keeps it when the answer is on record.
    todos = todo_tool(lambda: todo_list.todos)
    asks = ask_user_tool(ledger.leave_out(assignment.ask), lambda: questions_in(session.journal.all_rows()))
    # Where the work began with other people's code the tool stays, even if that code is gone: recorded calls named it.
    others = [reference_tool(assignment.library)] if session.references is not None else []
    most, journal = commands.box.limits.seconds, session.journal
    jobs = commands.jobs

    def started() -> int:
        return len(jobs_on_record(journal.all_rows()))

    bash = bash_tool(commands.bash, most, lambda command: jobs.start(started() + 1, command, commands.box))
    return [bash, job_tool(jobs, started, most), todos, asks, *others]


def _package_tools(assignment: Assignment, session: Session, commands: CommandRunner) -> list[Tool]:
    """Return AddPackage if Python packages may be installed."""
    if assignment.packages is None or assignment.limits.get("python") or not is_python(assignment.plan):
        return []

    def install(lines: Sequence[str]) -> Packages:
        bare = assignment.make_bare_python()
        made = _install_packages(assignment, bare, commands.tell, lines)
        commands.box = _build_box(assignment, bare, made)
        return made

    return [add_package_tool(install, lambda: packages_added(session.journal.all_rows()))]


def _choose_supervisor(
    assignment: Assignment,
    session: Session,
    memory: Memory,
    ledger: Ledger,
    runner: ToolRunner,
    commands: CommandRunner,
) -> Supervisor:
    wanted, warning = read_wanted(assignment)
    if warning:
        commands.tell(warning)
    if is_unsupervised(session.journal, wanted, warning):
        return Unsupervised()
    # Imported here: with supervision off the kernel is not loaded.
    from phases.agent.supervisor_adapter import build_supervisor

    return build_supervisor(assignment, session, memory, ledger, runner.kinds, commands.tell)


def _work_to_ending(
    state: AgentState, assignment: Assignment, workspace: Workspace, commands: CommandRunner, missing: Sequence[str]
) -> Ending:
    """Run the loop to an ending; write kernel-report.json on any other exit."""
    once_more = isinstance(state.conversation.model, GivenCode) and state.replaying
    programs = list(missing_programs(assignment.plan, commands.box))
    state.holds = (lambda ending: False) if once_more else partial(_is_current, workspace, commands, missing, programs)
    try:
        return run_loop(state)
    except (Paused, Incomplete) as error:
        state.supervisor.close(error.stop_reason, str(error))
        raise _with_files(error, assignment, workspace) from error
    except PhaseError as error:
        state.supervisor.close("error", str(error))
        raise


def _install_packages(
    assignment: Assignment, bare: str, tell: Callable[[str], None], added: Sequence[str] = ()
) -> Packages:
    """Install the packages of the plan and the agent where allowed, or use the user's own environment."""
    wanted = (*pip_packages(assignment.plan), *added)
    if own := str(assignment.limits.get("python") or ""):
        tell(f"commands use the packages in {own}")
        assignment.in_place()
        return own_packages(wanted, own, layer_python(own, bare, assignment.places.own_python))
    if assignment.packages is None or not wanted:
        return Packages()
    tell(f"installs {len(wanted)} packages for the sandbox: {', '.join(wanted)[:120]}")
    assignment.in_place()
    packages = install_packages(wanted, assignment.packages)
    if bare and packages.python:
        lend_tools(packages.python, bare)
    return packages


def _tell_beforehand(assignment: Assignment, missing: Sequence[str]) -> None:
    """Tell the user about missing packages, graphics cards and user tests before anything is paid for."""
    if missing:
        effect = "what needs it cannot be checked" if len(missing) == 1 else "what needs them cannot be checked"
        assignment.tell(f"{describe_missing(missing)}: {effect}; {ALLOW} installs the plan's packages")
    box = assignment.command_box
    if box.gpu == GPU_NONE and (cards := describe_cards(find_devices(AUTO))):
        assignment.tell(f"a graphics card is here ({cards}), and commands do not see it: --gpu auto lets them use it")
    if box.gpu != GPU_NONE and not box.devices:
        assignment.tell(f"--gpu {box.gpu}: no such graphics card is here, so checks run without one")
    if os.path.isdir(assignment.places.user_tests):
        assignment.tell("the code must pass your own tests, which lie in user_tests/; without that folder it need not")


def _tell_expected(state: AgentState, assignment: Assignment, session: Session, tell: Callable[[str], None]) -> None:
    talk, begins = state.conversation, not session.journal.rows()
    work = expected_work(assignment.plan, session.write, is_reviewed=assignment.judge is not None)
    if message := talk.ledger.expect(work, session.journal.run, talk.model, begins=begins):
        tell(message)


def _with_files(error: Paused | Incomplete, assignment: Assignment, workspace: Workspace) -> Paused | Incomplete:
    """Return the error with the number of files written so far."""
    done, total = count_written(workspace, assignment.plan)
    message = f"{done} of {total} files written; {error}"
    if isinstance(error, DryRun):
        return error
    if isinstance(error, Paused):
        return Paused(message, stop_reason=error.stop_reason, flag=error.flag)
    report = {"files": {"planned": total, "written": done, "missing": []}, "verified": False}
    return Incomplete(message, stop_reason=error.stop_reason, report=report)


def _in_report(ending: Ending) -> str:
    """Return the ending for kernel-report.json, which never calls unchecked work done."""
    if ending.stop_reason == ACCEPTED:
        return "model_done" if ending.verification["verified"] else "completed_unverified"
    return "stuck_cycle" if ending.stop_reason == STUCK else ending.stop_reason


def _is_current(
    workspace: Workspace, commands: CommandRunner, missing: Sequence[str], programs: Sequence[str], ending: Ending
) -> bool:
    """Return whether a verdict applies to the present tree, sandbox, packages and programs."""
    boxed = ending.stop_reason != HOOK_TAMPERED  # then nothing was run
    same_box = not boxed or ending.verification["sandbox"] == commands.box.kind
    # Another set of packages may let checks run that could not, so the same tree is judged once more.
    same_packages = ending.verification.get("missing_packages", list(missing)) == list(missing)
    same_programs = ending.verification.get("missing_programs", list(programs)) == list(programs)
    same_machine = same_box and same_packages and same_programs
    return bool(same_machine and ending.verification["tree_sha256"] == tree_digest(workspace))


_FILES_A_TURN, _TURNS_BESIDE = 7, 2
_SHOWN_A_FILE, _SHOWN_BESIDE = 150, 6000
_WRITTEN_A_FILE, _WRITTEN_A_TURN = 1050, 100
"""Turns and tokens of live runs in November 2026: papers of 25 and 18 files and a page of 10, in 5, 6 and 3 turns.

A current model writes ten files and more a turn; in the other turns it runs its tests, mends what fails and claims the end.
"""
_VERDICTS = 6
"""A reviewer reads the plan's rows and the code once, and writes a part in so many of the former."""


def price_code(plan: Mapping[str, Any], model: object, ledger: str) -> dict[str, Price]:
    """Return the price of a plan's code with this model, as `DryRun` takes it; empty where it is free or not known."""
    asked = as_model(model)
    work = expected_work(plan, [row["path"] for row in plan["file_structure"]], is_reviewed=True)
    price = price_work(work, asked, learn(ledger, work.thread)) if asked else None
    return {"the code": price} if price else {}


def expected_work(plan: Mapping[str, Any], write: Sequence[str], *, is_reviewed: bool) -> Work:
    """Return what the code of a plan will take, by a rule of thumb; with the reviewer's look at it, if there is one."""
    files, turns = len(write), round(len(write) / _FILES_A_TURN + _TURNS_BESIDE)
    rows, code = tokens_of(json.dumps(plan)), files * _WRITTEN_A_FILE
    shown, written = rows + _SHOWN_BESIDE + files * _SHOWN_A_FILE, code + turns * _WRITTEN_A_TURN
    if not is_reviewed:
        return Work("implement", turns, turns * shown, written)
    return Work("implement", turns + 1, turns * shown + rows + code, written + rows // _VERDICTS)
