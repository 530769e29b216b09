"""Track the files that decide about acceptance, and their expected digests.

The checksum that was recorded first counts, in this journal and in those that it follows on; only the user can put another
in its place, by trusting the file as it is now.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from phases.acceptance.configuration.checksums import (
    ABSENT,
    UNREADABLE,
    find_changed,
    hash_control_files,
    hash_scripts,
    is_tool_module,
    paths_run_by,
    script_paths_of,
)
from phases.acceptance.configuration.repo_hooks import HOOKS_FILE, TRUSTED
from phases.acceptance.hook import REPO, Hook
from phases.acceptance.hook_registry import HookRegistry
from phases.acceptance.stop_reasons import CONFIG_INVALID, HOOK_TAMPERED, describe_reason
from phases.llm.journal import read_journal
from phases.workspace.backup_tree import latest_aside
from phases.workspace.workspace import CONTROL
from pipeline.base.errors import Incomplete
from pipeline.base.jsonl import repair_tail

BASE, CHECKSUMS = "base", "pins"
"""Kinds of journal rows: what stood at the start, and files that have become protected since."""


class ChecksumHistory(NamedTuple):
    """State of protected files, as recorded in the journals."""

    checksums: Mapping[str, str]
    """Of files of the workspace: path -> sha256."""
    files: Mapping[str, str] | None
    """The workspace when this journal began; None while it begins."""
    first: bool
    """No agent worked in this workspace before this journal."""

    def may_trust_now(self, root: str) -> bool:
        """Return whether --trust-hooks may apply: only before the agent could add or change what is there."""
        # Decision 88: the flag holds for what stood there before the agent first worked.
        if not self.first or self.files is None:
            return self.first
        control = {path for path in self.checksums if _is_control(path)}
        unchanged = HOOKS_FILE in self.checksums and not find_changed(self.checksums, root)
        return unchanged and hash_control_files(root).keys() == control

    def why_unverified(self, registry: HookRegistry) -> str:
        """Checks with which the work began, and which are not asked now, leave it unverified; else empty."""
        repo = registry.repo
        if HOOKS_FILE not in self.checksums or repo.state == TRUSTED:
            return ""
        return f"the hooks of the workspace that the work began with are not run now ({repo.state}: {repo.reason})"


class ProtectedFiles(NamedTuple):
    """The protected files of one start of a run."""

    checksums: Mapping[str, str]
    """Path -> sha256, empty for one that must not be there. Absolute paths lie outside of the workspace."""
    added: Mapping[str, str]
    """Those of the workspace that no journal has recorded yet."""
    companions: Mapping[str, str] | None
    """Other files in the directory of hooks; None if no hook uses that directory."""
    root: str

    def changed(self) -> list[str]:
        """Return the protected files that changed."""
        return sorted({*find_changed(self.checksums, self.root), *self._unexpected_files()})

    def changed_for(self, hook: Hook) -> list[str]:
        """Return the changed files that one hook uses."""
        mine = {*script_paths_of(hook, self.root), *hash_scripts(hook, self.root)}
        mine |= {HOOKS_FILE} if hook.source == REPO else set()
        checksums = {path: digest for path, digest in self.checksums.items() if path in mine or os.path.isabs(path)}
        unexpected = self._unexpected_files() if any(map(_is_control, mine)) or CONTROL in hook.command else []
        return sorted({*find_changed(checksums, self.root), *unexpected})

    def missing_for(self, hook: Hook) -> list[str]:
        """Scripts of a hook in the user's directory of the workspace that are not there. The agent must not supply them."""
        named = (path for path in script_paths_of(hook, self.root) if _is_control(path))
        return [path for path in named if not os.path.exists(os.path.join(self.root, path))]

    def _unexpected_files(self) -> list[str]:
        """Return the differences in the directory of hooks: a file next to a script may be imported instead (decision 87)."""
        if self.companions is None:
            return []
        now = {path: digest for path, digest in hash_control_files(self.root).items() if path not in self.checksums}
        expected = self.companions
        differs = [path for path in {*now, *expected} if now.get(path, ABSENT) != expected.get(path, ABSENT)]
        return [*differs, *(path for path in now if now[path] == UNREADABLE == expected.get(path))]


def refuse_changed_files(protected: ProtectedFiles, task: str, emit: Callable[..., None]) -> None:
    """Raises Incomplete where a file was changed before this start: the agent may have done it, and so may the user."""
    if changed := protected.changed():
        emit("hook_tampered", files=changed)
        raise Incomplete(
            f"{describe_reason(HOOK_TAMPERED)}: {', '.join(changed)} decides about acceptance, and is not what it "
            f"was: restore it, or if you changed it yourself: pipeline hooks trust {shlex.quote(task)}",
            stop_reason=HOOK_TAMPERED,
        )


def read_history(begun: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> ChecksumHistory:
    """Read the header and rows of a journal. The first record of a file counts."""
    checksums, files = dict(begun.get("pins", {})), None
    for row in rows:
        if row["kind"] in (BASE, CHECKSUMS):
            checksums = {**row["result"]["pins"], **checksums}
        if row["kind"] == BASE:
            files = row["result"]["manifest"]["files"]
    return ChecksumHistory(checksums, files, bool(begun.get("first")))


def read_checksums(journal: str) -> Mapping[str, str]:
    """Read the journal, or the last one that was set aside: starting again changes none of it."""
    journal = journal if os.path.lexists(journal) else latest_aside(journal) or journal
    repair_tail(journal)
    rows = read_journal(journal)
    return read_history(rows[0].get("begun", {}), rows[1:]).checksums if rows else {}


def build_protected_files(
    registry: HookRegistry, past: ChecksumHistory, planned: Collection[str], root: str
) -> ProtectedFiles:
    """The protected files as they are now. `planned` files are the agent's to write, whatever hook of the user looks at them.

    Raises Incomplete where a trusted hook of the workspace runs one of them.
    """
    must: dict[str, str] = {}
    for path, now in registry.named.items():
        if os.path.isabs(path):  # for this start alone: the user may mend it in a pause, and the agent cannot reach it
            must[path] = now
        elif path not in planned:  # decision 78: a hook `python main.py` must not forbid the agent to write main.py
            # Decision 79: what was recorded first counts, until the user trusts something else.
            known = registry.trusted.get(path, past.checksums.get(path, _first_checksum(path, now, past)))
            must.update({path: known} if known is not None else {})
    _refuse_planned(registry, planned, root)
    for path, now in registry.repo.checksums.items():
        if path == HOOKS_FILE or path not in planned:
            must[path] = registry.trusted.get(path, past.checksums.get(path, now))
    if HOOKS_FILE in past.checksums and HOOKS_FILE not in registry.trusted:
        must = {**past.checksums, **must}  # which scripts it named is unknown now: all of them stay
    in_force = any(map(_is_control, must)) or any(CONTROL in hook.command for hook in registry.hooks)
    beside = _companion_files(must, registry, past, root) if in_force else None
    unseen = {path: digest for path, digest in {**must, **(beside or {})}.items() if path not in past.checksums}
    return ProtectedFiles(
        must, {path: digest for path, digest in unseen.items() if not os.path.isabs(path)}, beside, root
    )


def _refuse_planned(registry: HookRegistry, planned: Collection[str], root: str) -> None:
    """Raise Incomplete for a trusted script that the plan has the agent write: it cannot be both."""
    for hook in registry.repo.hooks:
        # Decision 78: its bytes cannot be both trusted and written by the agent.
        if both := [path for path in paths_run_by(hook, root) if path in planned and not hook.sandbox]:
            raise Incomplete(
                f"{hook.key} runs {', '.join(both)}, which the plan has the agent write: let it run another script, or "
                "run in the sandbox (sandbox: true), then trust it again",
                stop_reason=CONFIG_INVALID,
            )


def _companion_files(
    must: Mapping[str, str], registry: HookRegistry, past: ChecksumHistory, root: str
) -> dict[str, str]:
    """Return the expected other files in the directory of hooks: as trusted, else as first seen."""
    repo = registry.repo
    if repo.beside is not None and repo.is_trusted:
        return {path: digest for path, digest in repo.beside.items() if path not in must}
    # Decision 87: a file beside a script may be imported instead of another.
    first = hash_control_files(root) if past.files is None and past.first else past.files or {}
    known = {**first, **past.checksums}
    return {path: known[path] for path in known if _is_control(path) and path not in must and known[path]}


def _first_checksum(path: str, now: str, past: ChecksumHistory) -> str | None:
    """Return the expected digest of a file that is named for the first time; None if the agent may write it."""
    if past.files is not None:
        now = past.files.get(path, ABSENT)
    if not past.first:
        now = ABSENT
    return now if now or _is_control(path) or is_tool_module(path) else None


def _is_control(path: str) -> bool:
    return path.split("/")[0] == CONTROL
