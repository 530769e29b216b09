"""Set up the acceptance of one run: its hooks, what they are told, and the transcript that hooks read."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

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
from phases.agent.session import OFFLINE, Session
from phases.evidence.look import OFF, EvidenceSetting
from phases.evidence.traceability import GUARDED
from phases.llm.ledger import Ledger
from phases.llm.model import Model
from phases.llm.providers import PROVIDERS
from phases.llm.redaction import redact_value
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import ManifestReader
from phases.workspace.workspace import Workspace
from pipeline.base.errors import Incomplete, Interrupted, Paused, PipelineError, StorageError
from pipeline.base.files import make_directory, write_without_sync
from pipeline.base.jsonl import append_without_sync
from pipeline.base.text_escaping import shorten_text

_CHANGES = "5"
"""Number of code changes tried for each requirement if `guarded` is demanded without a number."""
FILE = "transcript.jsonl"
Row = Mapping[str, Any]


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
    """Return the acceptance of a run that has begun. `doing` is called with the hook that is asked.

    Raises Incomplete if the user's hooks keep the run from starting.
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
    """Tell the user about missing hooks before anything is paid for."""
    if assignment.hooks.trust_now and not hooks.repo.is_trusted:
        assignment.tell(
            "--trust-hooks holds for hooks that stood there before the agent first worked; see: pipeline hooks trust"
        )
    for line in hooks.describe_missing(assignment.hooks, run, planned):
        assignment.tell(line)


@dataclass
class RunEnd:
    """The end of a run, as its hooks and its event log get it."""

    reason: str = "fatal_error"
    detail: str = ""
    said: list[str] = field(default_factory=list)
    """Messages of hooks to the model at the start of the run."""

    def ended_by(self, ending: Ending) -> Ending:
        self.reason, self.detail = ending.stop_reason, shorten_text(ending.detail, 500)
        return ending


@contextmanager
def notify_hooks(acceptance: Acceptance, tell: Callable[[str], None], *, resumed: bool) -> Iterator[RunEnd]:
    """Notify hooks of the start and the end of a run; log once why it ended. (section 1, finally)"""
    end, tools, emit = RunEnd(), acceptance.tool_hooks, acceptance.events.emit
    try:
        _report_repo_hooks(acceptance, tell)
        end.said = tools.at_start(resumed=resumed)
        yield end
    except (Interrupted, KeyboardInterrupt):
        end.reason = "user_interrupt"
        raise
    except (Paused, Incomplete) as error:
        end.reason, end.detail = error.stop_reason, str(error)
        raise
    except PipelineError as error:
        end.detail = str(error)
        raise
    finally:
        if end.reason in (EXHAUSTED, HOOK_TAMPERED, TODO_FAILED, ACCEPTED):
            emit("verification_completed" if end.reason == ACCEPTED else "verification_failed", stop_reason=end.reason)
        try:
            tools.at_end(end.reason, end.detail)
        finally:
            emit("stop_reason_decided", reason=end.reason, detail=end.detail)


def _report_repo_hooks(acceptance: Acceptance, tell: Callable[[str], None]) -> None:
    """Log the hooks found in the workspace, and tell the user about those that do not run."""
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


class Transcript:
    """The journal as a Claude Code transcript, a JSON object a line, for hooks that read it; never read back.

    It grows with the journal, and begins again with each start of the run.
    """

    def __init__(
        self, path: str, session: str, cwd: str, rows: Callable[[], Sequence[Row]], in_place: Callable[[], None]
    ) -> None:
        """`rows`: of the journal, as they are by now."""
        self.path, self._session, self._cwd, self._rows, self._in_place = path, session, cwd, rows, in_place
        self._seen = self._written = 0

    def write(self) -> None:
        """Append new journal rows. A disk that refuses keeps no hook from running."""
        rows = self._rows()
        lines = [self._line(entry) for row in rows[self._seen :] for entry in _entries_of(row)]
        with contextlib.suppress(StorageError, OSError):
            self._in_place()
            make_directory(os.path.dirname(self.path))
            if not self._seen:
                write_without_sync(self.path, b"")
            if lines:
                append_without_sync(self.path, b"\n".join(lines))
            self._seen = len(rows)

    def _line(self, entry: Mapping[str, Any]) -> bytes:
        before, self._written = self._written, self._written + 1
        line = {
            "parentUuid": self._name(before) if before else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self._session,
            **entry,
            "uuid": self._name(self._written),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def _name(self, number: int) -> str:
        # No random ones: the transcript is written anew with each start, and an entry must keep its name.
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._session}/{number}"))


def _entries_of(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the transcript entries of a journal row: the model's words and what it was told."""
    kind, result = row["kind"], row["result"]
    if kind == "reply" and result["outcome"] == "ok":
        yield {"type": "assistant", "message": _assistant_message(row["key"]["turn"], result)}
    elif kind == "result":
        yield _user_entry([_tool_result(row["key"]["call"], result)])
        for text in result.get("hooks_say", ()):
            yield _user_entry(text)
    elif kind == "verdict" and result["feedback"]:
        yield _user_entry(result["feedback"])
    elif kind == "tables":
        yield _user_entry(result["text"])
    elif kind == "said":
        for text in result["texts"]:
            yield _user_entry(text)


def _assistant_message(turn: int, reply: Row) -> dict[str, Any]:
    texts = [{"type": "text", "text": reply["text"]}] if reply.get("text") else []
    calls = [
        {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
        for call in reply["calls"]
    ]
    return {
        "id": f"msg_{turn}",
        "type": "message",
        "role": "assistant",
        "model": reply["model"],
        "content": [*texts, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": reply["tokens_in"], "output_tokens": reply["tokens_out"]},
    }


def _tool_result(call: str, result: Row) -> dict[str, Any]:
    return {"tool_use_id": call, "type": "tool_result", "content": result["text"], "is_error": result["failed"]}


def _user_entry(content: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}}
