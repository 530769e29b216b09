"""Decide a completion request: the hooks first, then the gate.

Each step is a row of the journal, so a run that was cut off goes on in the middle of it, and a hook that gave its verdict on
a tree is not asked again about that tree. On the disk the rows are called `look` (the attempt's snapshot), `hook` and `verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from phases.acceptance.gate import ADVICE, CompletionRequest, GateContext, decide_completion
from phases.acceptance.hook import ACCEPT_GATE, ALWAYS, BLOCK, COMMAND, FAILED, INTERNAL, PASS, STOP, Hook, HookResult
from phases.acceptance.hook_executor import HookEvents, HookExecutor, Occasion, select_hooks
from phases.acceptance.payload import EndingFacts, RunFacts, stop_input
from phases.acceptance.protected_files import BASE, ProtectedFiles
from phases.acceptance.todos import summarize_todos
from phases.acceptance.tool_hooks import UNGUARDED
from phases.llm.journal import Journal
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import (
    ADDED,
    Manifest,
    ManifestReader,
    compare_manifests,
    manifest_from_json,
    manifest_to_json,
)
from phases.workspace.workspace import CONTROL, Workspace, remove_bytecode
from pipeline.base.files import sha256
from pipeline.base.logs import logger

SNAPSHOT, HOOK, VERDICT = "look", "hook", "verdict"
"""Kinds of journal rows: the workspace at an attempt, what a hook said, and the decision."""
MOST_ROUNDS = 3
"""So often the hooks are asked where one that may write goes on writing."""
_MOST_FAULTS, _NAMED = 3, 20
Row = Mapping[str, Any]


class WorkspaceChanged(Exception):
    """The workspace is not what the hooks before have seen, or the hook is not there any more."""


class _Attempt(NamedTuple):
    """One look at one request."""

    request: CompletionRequest
    key: Mapping[str, int]
    snapshot: Row
    replayed: bool
    """The snapshot was taken by an earlier start of the run."""


@dataclass
class Chain:
    """The chain of one run."""

    journal: Journal
    hooks: GateHooks
    protected: ProtectedFiles
    events: HookEvents
    unverified_reason: str = ""
    """Reason why nothing can be verified; empty if there is none."""
    _snapshots: dict[int, int] = field(default_factory=dict)
    _refused_tree: str = ""
    _last_block: tuple[str, str] | None = None
    added: dict[str, str] = field(default_factory=dict)
    """Checksums of protected files that came since the work began, and that the journal does not hold yet."""
    same: int = 0
    """So many refusals in a row found the tree as the one before left it."""

    def begin(self) -> None:
        """Records what the workspace holds before anything is done."""
        began = not self.journal.replaying
        row = self.journal.replay_or_record(BASE, {"turn": 0}, self._base)
        self.added = {} if began else dict(self.protected.added)
        self._start = manifest_from_json(row["manifest"])

    def judge(self, request: CompletionRequest) -> dict[str, Any]:
        """The decision on a request, as the journal keeps it."""
        while True:
            self._snapshots[request.turn] = self._snapshots.get(request.turn, 0) + 1
            key = {"turn": request.turn, "look": self._snapshots[request.turn]}
            replayed = self.journal.replaying
            # Decision 76: every step is a row of the journal, so nothing else has to be restored.
            snapshot = self.journal.replay_or_record(SNAPSHOT, key, partial(self._take_snapshot, request))
            attempt = _Attempt(request, key, snapshot, replayed)
            try:
                verdict = self._record_verdict(attempt, self._ask_hooks(attempt))
            except WorkspaceChanged:
                logger.debug("turn {}: the workspace or its hooks changed, so it is checked again", request.turn)
                continue
            self._remember(verdict)
            return verdict

    def _base(self) -> dict[str, Any]:
        return {"manifest": manifest_to_json(self.hooks.now()), "pins": dict(self.protected.added)}

    def _take_snapshot(self, request: CompletionRequest) -> dict[str, Any]:
        head = self.hooks.now()
        found = compare_manifests(self._start, head, planned=self.hooks.planned)
        rows = [row["result"] for row in self.journal.all_rows() if row["kind"] == "result"]
        began_on_code = any(not path.startswith(f"{CONTROL}/") for path in self._start.files)
        # Decision 89: these hooks never accepted what was there at the start.
        changed = found.changed or began_on_code
        tampered = self._find_tampered()
        return {
            "claimed": request.claimed,
            "changed": changed,
            "touched": changed or any(row["touched"] or row["files"] for row in rows),
            "base": self._start.sha256,
            "head": head.sha256,
            "whole": not head.truncated,
            "files": [list(row) for row in found.files],
            "truncated": found.truncated,
            "hooks": [] if tampered else self._due_hooks(claimed=request.claimed, changed=changed),
            "tampered": tampered,
            "setting": self._setting_digest(),
        }

    def _setting_digest(self) -> str:
        """Return one digest of all hook definitions and of the expected state of their files."""
        setting = (self.hooks.hooks, sorted(self.protected.checksums.items()))
        return sha256(repr(setting).encode("utf-8", "surrogatepass"))

    def _due_hooks(self, *, claimed: bool, changed: bool) -> list[str]:
        """Return the hooks to ask; only the built-in one if the agent is stuck and requests nothing (decision 91)."""
        # Decision 75: the built-in hook is asked each time, also where nothing changed.
        hooks = select_hooks(self.hooks.hooks, ACCEPT_GATE)
        return [hook.key for hook in hooks if hook.source == INTERNAL or (claimed and (changed or hook.when == ALWAYS))]

    def _still_holds(self, snapshot: Row) -> bool:
        """Return whether the hooks and scripts are still those of the run that was cut off."""
        tampered = self.protected.changed()
        due = [] if tampered else self._due_hooks(claimed=snapshot["claimed"], changed=snapshot["changed"])
        now = (due, tampered, self._setting_digest())
        return now == (snapshot["hooks"], snapshot["tampered"], snapshot["setting"])

    def _find_tampered(self) -> list[str]:
        tampered = self.protected.changed()
        if tampered:
            logger.debug("protected files were changed: {}", ", ".join(tampered))
            self.events.emit("hook_tampered", files=tampered)
        return tampered

    def _ask_hooks(self, attempt: _Attempt) -> dict[str, dict[str, Any]]:
        """Return the result of each hook in order; if one that may write wrote, ask all again."""
        snapshot, facts = attempt.snapshot, self._ending_facts(attempt)
        tree = snapshot["head"]
        for number in range(1, MOST_ROUNDS + 1):
            outcomes: dict[str, dict[str, Any]] = {}
            for name in snapshot["hooks"]:
                if self.journal.next_kind == SNAPSHOT:
                    raise WorkspaceChanged
                step = {**attempt.key, "hook": name, "round": number}
                # Only what an earlier start of the run has seen is compared: within one start nobody else writes.
                ask = partial(self._ask_hook, step, facts, tree if attempt.replayed else "", snapshot)
                row = self.journal.replay_or_record(HOOK, step, ask)
                self.hooks.commands.settled()
                outcomes[name], tree = row, row["tree"]
                # Tests run code of the agent, which may have edited the hooks that come next.
                if row["tampered"] or (row["fail_fast"] and row["status"] != PASS):
                    break
            tampered = any(row["tampered"] for row in outcomes.values())
            if tampered or not any(row["wrote"] and row["status"] == PASS for row in outcomes.values()):
                break
        return outcomes

    def _ask_hook(self, step: Row, facts: EndingFacts, seen: str, snapshot: Row) -> dict[str, Any]:
        """Run a hook, and find the protected files that changed meanwhile: tests run code of the agent."""
        row = self.hooks.ask(step, facts, seen, partial(self._still_holds, snapshot))
        return {**row, "tampered": self._find_tampered()}

    def _ending_facts(self, attempt: _Attempt) -> EndingFacts:
        request, snapshot = attempt.request, attempt.snapshot
        return EndingFacts(
            turn_id=str(request.turn),
            last_message=request.text,
            changed=snapshot["changed"],
            base=snapshot["base"],
            head=snapshot["head"],
            files=snapshot["files"],
            truncated=snapshot["truncated"],
            todo_summary=summarize_todos(request.todos),
            recent_tools=request.recent_tools,
            continue_count=request.continues,
            max_continues=request.most,
            last_block=self._last_block,
            attempt=request.continues + 1,
        )

    def _record_verdict(self, attempt: _Attempt, outcomes: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        if self.journal.next_kind == SNAPSHOT:
            raise WorkspaceChanged
        return self.journal.replay_or_record(VERDICT, attempt.key, partial(self._decide, attempt, outcomes))

    def _decide(self, attempt: _Attempt, outcomes: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        request, snapshot = attempt.request, attempt.snapshot
        tree = next((row["tree"] for row in reversed(list(outcomes.values()))), snapshot["head"])
        edited = {path for row in outcomes.values() for path in row["tampered"]}
        # What an earlier start saw holds only while the tree and the hooks are still the same.
        if attempt.replayed and not (self.hooks.now().sha256 == tree and (edited or self._still_holds(snapshot))):
            raise WorkspaceChanged
        tampered = sorted({*snapshot["tampered"], *edited})
        context = GateContext(
            tree, tree == self._refused_tree, tampered, self._why_unverified(snapshot), self._is_advised()
        )
        decision = decide_completion(request, outcomes, context)
        if request.claimed:
            self._report_decision(request, decision, tree)
        return decision

    def _report_decision(self, request: CompletionRequest, decision: Row, tree: str) -> None:
        advised = decision["source"] == ADVICE
        status = "failed" if decision["stop"] else "continued" if decision["block"] else "accepted"
        verified, number = decision["verification"]["verified"], request.continues + 1
        why = "" if verified else f", not verified: {decision['verification']['why']}"
        detail = decision["detail"] or decision["stop"]
        refused = f"not accepted by {decision['source'] or 'a hook'}: {detail}"
        message = (
            f"accepted{why}" if status == "accepted" else "the checks pass, and advice is given" if advised else refused
        )
        logger.info("attempt {} of {}: {}", number, request.most + 1, message.split("\n")[0][:300])
        self.events.emit(
            "acceptance_decided",
            attempt=number,
            status=status,
            stop_reason=decision["stop"] or ("accept_continue" if decision["block"] else "accepted"),
            hint=decision["detail"],
            results=(decision["gate"] or {}).get("results", []),
            workspace_digest=tree,
            verified=verified,
        )

    def _why_unverified(self, snapshot: Row) -> str:
        if not snapshot["claimed"]:
            return "the agent did not claim that it is done"
        if not snapshot["whole"]:
            return "the workspace could not be read as a whole"
        # Decision 124: an unwatched call leaves the work unverified even after the guard is mended.
        results = (row["result"] for row in self.journal.all_rows() if row["kind"] == "result")
        faults = dict.fromkeys(fault for result in results for fault in result.get(UNGUARDED, ()))
        unguarded = [f"tool calls were not watched: {fault}" for fault in list(faults)[:_MOST_FAULTS]]
        return "; ".join(filter(None, [self.unverified_reason, *unguarded]))

    def _is_advised(self) -> bool:
        """Return whether the model has had its one piece of advice in this run."""
        verdicts = (row["result"] for row in self.journal.all_rows() if row["kind"] == VERDICT)
        return any(verdict["source"] == ADVICE for verdict in verdicts)

    def _remember(self, verdict: Row) -> None:
        if verdict["block"] is None or verdict["stop"] or not verdict["claimed"] or verdict["source"] == ADVICE:
            return
        tree = verdict["verification"]["tree_sha256"]
        self.same = self.same + 1 if tree == self._refused_tree else 0
        self._refused_tree = tree
        self._last_block = (verdict["source"].removeprefix("hook:"), verdict["detail"])


@dataclass(frozen=True)
class GateHooks:
    """The hooks at the gate of one run, each asked on a tree that can be gone back to."""

    hooks: tuple[Hook, ...]
    run: RunFacts
    executor: HookExecutor
    commands: CommandRunner
    workspace: Workspace
    manifests: ManifestReader
    planned: Collection[str]
    """Files that count wherever they lie, in a directory of caches too."""
    check: Callable[[], dict[str, Any]]
    """The built-in check: `block`, or None, and `verification`."""

    def now(self) -> Manifest:
        """The workspace as it is."""
        return self.manifests.take(self.workspace)

    def ask(
        self, step: Row, facts: EndingFacts, seen: str = "", holds: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        """Return the record of one hook. Raises WorkspaceChanged.

        Args:
            seen: The tree that the hook should find, if an earlier start ran the hooks before it.
            holds: Returns whether the decisions of that start about hooks still hold.
        """
        hook = next((hook for hook in self.hooks if hook.key == step["hook"]), None)
        self.commands.step = f"hook-{step['turn']}-{step['look']}-{step['round']}-{step['hook']}"
        # Decision 118: stale bytecode could be run instead of the code that is checked.
        remove_bytecode(self.workspace.root)
        self.commands.begin()
        before = self.now()
        if hook is None or (seen and not (before.sha256 == seen and not before.truncated and holds())):
            self.commands.settled()
            raise WorkspaceChanged
        occasion = Occasion(ACCEPT_GATE, partial(stop_input, run=self.run, ending=facts), attempt=facts.attempt)
        checked: dict[str, Any] = {}
        result = self.executor.run(hook, occasion, partial(self._own, checked) if hook.source == INTERNAL else None)
        after = self.now()
        found = compare_manifests(before, after, planned=self.planned).files
        wrote = [path for path, change in found if change != ADDED or hook.allow_writes]
        # Decision 90: what a check only adds, a report or a coverage file, is taken back.
        if found and not wrote:
            self.commands.take_back()
            after = self.now()
        self.commands.sync()
        refused = _refuse_writer(hook, result, wrote, last=step["round"] == MOST_ROUNDS)
        if refused is not result:
            result = refused
            self.executor.report_block(hook, occasion, result.reason)
        log = self.executor.log_of(hook, facts.attempt) if hook.kind == COMMAND and not hook.sandbox else ""
        return {
            **_result_row(hook, result),
            "log": log,
            "wrote": wrote,
            "tree": after.sha256,
            "verification": checked.get("verification"),
        }

    def _own(self, checked: dict[str, Any]) -> HookResult:
        checked.update(self.check())
        return HookResult(BLOCK if checked["block"] else PASS, checked["block"] or "")


def _result_row(hook: Hook, result: HookResult) -> dict[str, Any]:
    return {  # without the seconds: two equal runs have equal journals
        "status": result.status,
        "reason": result.reason,
        "tail": result.tail,
        "message": result.message,
        "context": result.context,
        "exit_code": result.exit_code,
        "timed_out": result.timed_out,
        "notes": list(result.notes),
        "fault": result.fault,
        "source": hook.source,
        "kind": hook.kind,
        "ran": hook.kind == COMMAND,
        "fact": _state_fact(hook, result),
        "policy": hook.failure_policy,
        "fail_fast": hook.fail_fast,
    }


def _refuse_writer(hook: Hook, result: HookResult, wrote: list[str], *, last: bool) -> HookResult:
    """Refuse a check that changes what it checks, unless it may and still has something to change."""
    if not wrote or result.status in (STOP, FAILED) or (hook.allow_writes and not last):
        return result
    names = ", ".join(wrote[:_NAMED]) + (f" and {len(wrote) - _NAMED} more" if len(wrote) > _NAMED else "")
    reason = f"files were modified by hook {hook.key}: {names}"
    if hook.allow_writes:
        reason = f"hook {hook.key} changes files each time it runs: {names}"
    return result._replace(status=BLOCK, reason="\n".join(filter(None, [reason, result.reason])))


def _state_fact(hook: Hook, result: HookResult) -> str:
    if result.status == PASS:
        return ""
    if hook.source == INTERNAL:
        return "The built-in check of the code does not pass."
    if result.status == FAILED and result.exit_code is None and not result.timed_out:
        return f"The hook {hook.key} gave no verdict."
    if result.timed_out:
        return f"The command `{hook.command}` was stopped after {hook.seconds:g} s."
    if result.exit_code:
        return f"The command `{hook.command}` exited with code {result.exit_code}."
    return f"The hook {hook.key} does not accept the work."
