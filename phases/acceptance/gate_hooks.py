"""Asks one hook at the gate, on a tree that can be gone back to: what it says and what it wrote, as the journal keeps it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from phases.acceptance.hook import ACCEPT_GATE, BLOCK, COMMAND, FAILED, INTERNAL, PASS, STOP, Hook, HookResult
from phases.acceptance.hook_executor import HookExecutor, Occasion
from phases.acceptance.payload import EndingFacts, RunFacts, stop_input
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import ADDED, Manifest, ManifestReader, compare_manifests
from phases.workspace.workspace import Workspace

MOST_ROUNDS = 3
"""So often the hooks are asked where one that may write goes on writing."""
_NAMED = 20


class WorkspaceChanged(Exception):
    """The workspace is not what the hooks before have seen, or the hook is not there any more."""


@dataclass(frozen=True)
class GateHooks:
    """The hooks at the gate of one run."""

    hooks: tuple[Hook, ...]
    run: RunFacts
    executor: HookExecutor
    commands: CommandRunner
    workspace: Workspace
    manifests: ManifestReader
    planned: Collection[str]
    """Files that no .gitignore hides."""
    check: Callable[[], dict[str, Any]]
    """The built-in check: `block`, or None, and `verification`."""

    def now(self) -> Manifest:
        """The workspace as it is."""
        return self.manifests.take(self.workspace)

    def ask(
        self,
        step: Mapping[str, Any],
        facts: EndingFacts,
        seen: str = "",
        holds: Callable[[], bool] = lambda: True,
        rules: Manifest | None = None,
    ) -> dict[str, Any]:
        """The record of one hook. `seen`: the tree that it should find, where the hooks before were run by an earlier start;
        `holds`: whether what that start decided about hooks is still so; `rules`: whose .gitignore files hide what is written.

        Raises Moved.
        """
        hook = next((hook for hook in self.hooks if hook.key == step["hook"]), None)
        self.commands.step = f"hook-{step['turn']}-{step['look']}-{step['round']}-{step['hook']}"
        self.commands.remove_bytecode()
        self.commands.begin()
        before = self.now()
        if hook is None or (seen and not (before.sha256 == seen and not before.truncated and holds())):
            self.commands.settled()
            raise WorkspaceChanged
        occasion = Occasion(ACCEPT_GATE, partial(stop_input, run=self.run, ending=facts), attempt=facts.attempt)
        checked: dict[str, Any] = {}
        result = self.executor.run(hook, occasion, partial(self._own, checked) if hook.source == INTERNAL else None)
        after = self.now()
        found = compare_manifests(before, after, rules, planned=self.planned).files
        wrote = [path for path, change in found if change != ADDED or hook.allow_writes]
        if found and not wrote:  # a report, say: what checks leave behind is no work
            self.commands.take_back()
            after = self.now()
        self.commands.sync()
        refused = _refuse_writer(hook, result, wrote, last=step["round"] == MOST_ROUNDS)
        if refused is not result:
            result = refused
            self.executor.blocked(hook, occasion, result.reason)
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
    said = result._asdict()
    del said["seconds"]  # two equal runs have equal journals
    return {
        **said,
        "notes": list(result.notes),
        "source": hook.source,
        "kind": hook.kind,
        "ran": hook.kind == COMMAND,
        "fact": _state_fact(hook, result),
        "policy": hook.failure_policy,
        "fail_fast": hook.fail_fast,
    }


def _refuse_writer(hook: Hook, result: HookResult, wrote: list[str], *, last: bool) -> HookResult:
    """A check that changes what it checks is refused, unless it may; and then, only until it has nothing more to change."""
    if not wrote or result.status in (STOP, FAILED) or (hook.allow_writes and not last):
        return result
    names = ", ".join(wrote[:_NAMED]) + (f" and {len(wrote) - _NAMED} more" if len(wrote) > _NAMED else "")
    told = f"files were modified by hook {hook.key}: {names}"
    if hook.allow_writes:
        told = f"hook {hook.key} changes files each time that it is run: {names}"
    return result._replace(status=BLOCK, reason="\n".join(filter(None, [told, result.reason])))


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
