"""Sets the acceptance of one run up: which hooks it has, what they are told, and where they write."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from phases.acceptance.chain import Chain, GateHooks
from phases.acceptance.checks.code_check import Reviewer, check_code
from phases.acceptance.hook_executor import HookContext, HookEvents, HookExecutor
from phases.acceptance.hook_registry import HookRegistry, register_hooks
from phases.acceptance.payload import RunFacts
from phases.acceptance.protected_files import ProtectedFiles, build_protected_files, read_history, refuse_changed_files
from phases.acceptance.stop_reasons import ACCEPTED, EXHAUSTED, HOOK_TAMPERED, TODO_FAILED
from phases.acceptance.tool_hooks import ToolHooks, read_subagents
from phases.agent.agent_state import Ending
from phases.agent.assignment import Assignment
from phases.agent.earlier_code import OFFLINE
from phases.agent.session import Session
from phases.agent.transcript import FILE, Transcript
from phases.evidence.look import OFF, EvidenceSetting
from phases.evidence.traceability import GUARDED
from phases.llm.ledger import Ledger
from phases.llm.model import Model
from phases.llm.providers import PROVIDERS
from phases.llm.redaction import redact_value
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import ManifestReader
from phases.workspace.workspace import Workspace
from pipeline.base.errors import Incomplete, Interrupted, Paused, PipelineError
from pipeline.base.text_escaping import shorten_text

_CHANGES = "5"
"""How many changes are tried on each requirement's code if `guarded` is demanded and no number is given."""


class Acceptance(NamedTuple):
    chain: Chain
    tool_hooks: ToolHooks
    events: HookEvents
    registry: HookRegistry
    protected: ProtectedFiles
    executor: HookExecutor


def build_acceptance(
    assignment: Assignment,
    begun: Session,
    workspace: Workspace,
    commands: CommandRunner,
    model: Model,
    missing: Sequence[str] = (),
    doing: Callable[[str], None] = lambda what: None,
) -> Acceptance:
    """The acceptance of a run that has begun. `doing` is told which hook is asked.

    Raises Incomplete where the hooks of the user keep it from starting.
    """
    places, task, clean = assignment.places, assignment.task, partial(redact_value, secrets=model.secrets)
    root = os.path.realpath(places.workspace)
    events = HookEvents(places.hooks, assignment.in_place, clean)
    past = read_history(begun.journal.begun, begun.journal.all_rows())
    try:
        hooks = register_hooks(
            assignment.hooks, root, trust_now=assignment.hooks.trust_now and past.may_trust_now(root)
        )
        protected = build_protected_files(hooks, past, begun.planned, root)
        refuse_changed_files(protected, task, events.emit)
    except Incomplete as error:
        events.emit("stop_reason_decided", reason=error.stop_reason, detail=str(error))
        raise
    review, evidence = _open_reviewer(assignment, begun, model, commands), _evidence_setting(assignment, model)
    path = os.path.join(places.hooks, FILE)
    transcript = Transcript(path, task, root, begun.journal.all_rows, assignment.in_place)
    facts = RunFacts(task, f"{task}-{begun.journal.run}", root, model.name, path, assignment.hooks.own_folder)
    _report_start(assignment, hooks, facts, begun.planned)
    secret = [provider.key_variable for provider in PROVIDERS.values() if provider.key_variable]
    outside = HookContext(places.hooks, assignment.hooks.environment, secret, clean, transcript.write)
    executor = HookExecutor(facts, outside, events, commands, protected, doing)
    gate_hooks = GateHooks(
        *(hooks.hooks, facts, executor, commands, workspace, ManifestReader(), begun.planned),
        lambda: check_code(workspace, assignment.plan, commands, begun.untouched(workspace), missing, evidence, review),
    )
    chain = Chain(begun.journal, gate_hooks, protected, events, hooks.unverified_reason or past.why_unverified(hooks))
    tool_hooks = ToolHooks(
        hooks.hooks, facts, executor, events, lambda: read_subagents(begun.journal.all_rows()), assignment.tell
    )
    return Acceptance(chain, tool_hooks, events, hooks, protected, executor)


def _evidence_setting(assignment: Assignment, model: Model) -> EvidenceSetting:
    places = assignment.places
    # Nothing mends a scaffold, so how well its tests would notice a mistake is of no use to anybody.
    mutants = OFF if model.name == OFFLINE else assignment.mutants
    if assignment.require == GUARDED and mutants == OFF:
        mutants = _CHANGES
    user_tests = places.user_tests if os.path.isdir(places.user_tests) else ""
    bare = assignment.make_bare_python() if assignment.is_watched else ""
    return EvidenceSetting(bare, places.evidence, mutants, user_tests, assignment.require)


def _open_reviewer(assignment: Assignment, begun: Session, model: Model, commands: CommandRunner) -> Reviewer | None:
    """Return the review of code whose facts hold, or None if no model reviews or the code is only a scaffold."""
    if assignment.judge is None:
        return None
    from phases.agent.judge import Judge  # late: few runs have one

    second, places = assignment.judge, assignment.places
    clean = partial(redact_value, secrets=(*model.secrets, *second.secrets))
    ledger = Ledger(places.ledger, assignment.limits, assignment.in_place)
    judge = Judge(
        *(second, ledger, places.explorations, begun.journal.run, places.paper, assignment.plan, assignment.breach),
        in_place=assignment.in_place,
        clean=clean,
        author=model.name,
        progress=commands.tell,
        tell=assignment.tell,
    )
    if model.name == OFFLINE:
        judge.skip("rules wrote it, and it is a scaffold")
        return None
    return judge.review


def _report_start(assignment: Assignment, hooks: HookRegistry, run: RunFacts, planned: Collection[str]) -> None:
    """What the user should know of the hooks before anything is paid for."""
    if assignment.hooks.trust_now and not hooks.repo.is_trusted:
        assignment.tell(
            "--trust-hooks holds for hooks that stood there before the agent first worked; see: pipeline hooks trust"
        )
    for line in hooks.describe_missing(assignment.hooks, run, planned):
        assignment.tell(line)


@dataclass
class RunEnd:
    """How a run ends, as its hooks and its event log are told."""

    reason: str = "fatal_error"
    detail: str = ""
    said: list[str] = field(default_factory=list)
    """What hooks said for the model when the run began."""

    def ended_by(self, ending: Ending) -> Ending:
        self.reason, self.detail = ending.stop_reason, shorten_text(ending.detail, 500)
        return ending


@contextmanager
def notify_hooks(acceptance: Acceptance, tell: Callable[[str], None], *, resumed: bool) -> Iterator[RunEnd]:
    """The two ends of a run: hooks are told of both, and the last event says, once, why it ended. (section 1, finally)"""
    told, tools, emit = RunEnd(), acceptance.tool_hooks, acceptance.events.emit
    try:
        _report_repo_hooks(acceptance, tell)
        told.said = tools.at_start(resumed=resumed)
        yield told
    except (Interrupted, KeyboardInterrupt):
        told.reason = "user_interrupt"
        raise
    except (Paused, Incomplete) as error:
        told.reason, told.detail = error.stop_reason, str(error)
        raise
    except PipelineError as error:
        told.detail = str(error)
        raise
    finally:
        if told.reason in (EXHAUSTED, HOOK_TAMPERED, TODO_FAILED, ACCEPTED):
            emit(
                "verification_completed" if told.reason == ACCEPTED else "verification_failed", stop_reason=told.reason
            )
        try:
            tools.at_end(told.reason, told.detail)
        finally:
            emit("stop_reason_decided", reason=told.reason, detail=told.detail)


def _report_repo_hooks(acceptance: Acceptance, tell: Callable[[str], None]) -> None:
    """What is found in the workspace, in the event log, and to the user where it matters."""
    repo, emit = acceptance.registry.repo, acceptance.events.emit
    if repo.state == "none":
        return
    if repo.store_fault:
        emit("repo_hooks_trust_store_invalid", reason=repo.store_fault)
    emit("repo_hooks_discovered", state=repo.state)
    if repo.hooks:
        emit("repo_hooks_loaded", count=len(repo.hooks), hooks=[hook.id for hook in repo.hooks])
    event = {
        "untrusted": "repo_hooks_skipped_untrusted",
        "modified": "repo_hooks_modified",
        "invalid": "repo_hooks_invalid",
    }.get(repo.state)
    if event:
        emit(event, reason=repo.reason)
        tell(f"hooks of the workspace are not run ({repo.state}: {repo.reason}); see: pipeline hooks list")
