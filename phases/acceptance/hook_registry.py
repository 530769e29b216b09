"""Register the hooks of a run: the internal one, the user's, and the trusted ones of the workspace."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from phases.acceptance.checks.missing_programs import describe_missing
from phases.acceptance.configuration.checksums import ABSENT, hash_scripts, script_paths_of
from phases.acceptance.configuration.parse_hooks import find_problems, parse_hooks
from phases.acceptance.configuration.repo_hooks import (
    HOOKS_FILE,
    MODIFIED,
    NO_HOOKS,
    TRUSTED,
    RepoHooks,
    discover_repo_hooks,
)
from phases.acceptance.hook import ACCEPT_GATE, ALWAYS, BUILTIN, INTERNAL, STRICT, USER, Hook
from phases.acceptance.payload import RunFacts
from phases.acceptance.stop_reasons import CONFIG_INVALID
from pipeline.base.errors import Incomplete

CODE = Hook("code", INTERNAL, ACCEPT_GATE, BUILTIN, exit_policy=STRICT, when=ALWAYS)
"""The one that ships: planned files, imports, the plan's checks, the entry script."""
STORE = "trusted-workspaces.json"
MOST_CONTINUES = 3
Check = Callable[[Any], str | None]


class HookSetting(NamedTuple):
    """Hook settings of the user, which no task or workspace can change."""

    own: Mapping[str, Any] = {}
    """`{"hooks": …}` of the settings file, checked against its schema."""
    own_folder: str = ""
    """The directory of the settings file, and of the store of trusted workspaces."""
    parse: Callable[[bytes], Mapping[str, Any]] = lambda data: {}
    """A hooks.yaml, checked. Raises PipelineError."""
    check_store: Check = lambda value: None
    """Returns why a value is not a store of trusted workspaces, or None."""
    environment: Mapping[str, str] = {}
    trust_now: bool = False
    most_continues: int = MOST_CONTINUES

    @property
    def settings_file(self) -> str:
        """Return the path of the settings file."""
        return os.path.join(self.own_folder, "config.yaml")

    @property
    def store(self) -> str:
        """Return the path of the trust store; empty if the user has no settings directory."""
        return os.path.join(self.own_folder, STORE) if self.own_folder else ""

    def user_hooks(self) -> tuple[Hook, ...]:
        """Return the user's hooks to run. Raises HookConfigError."""
        return parse_hooks(self.own["hooks"], USER, self.settings_file) if self.own else ()


def why_invalid(own: Mapping[str, Any], settings_file: str) -> str:
    """Return the first fault of the user's hooks, `{"hooks": …}` of a valid shape; empty if there is none."""
    return next(iter(find_problems(own["hooks"], USER, settings_file)), "")


class HookRegistry(NamedTuple):
    """The hooks of one start of a run."""

    hooks: tuple[Hook, ...]
    """In the order in which they run."""
    repo: RepoHooks
    named: Mapping[str, str]
    """Scripts that the user's own hooks name: path -> sha256 as they are now, empty for one that is not there."""
    trusted: Mapping[str, str]
    """Expected digests of scripts and of the workspace's hooks file, by the user's trust."""
    unverified_reason: str
    """Reason why nothing can be verified; empty if there is none."""

    def describe_missing(self, setting: HookSetting, run: RunFacts, planned: Collection[str]) -> Iterator[str]:
        """Yield a line for each hook whose program or script is missing. `planned`: files that the agent is to write."""
        return describe_missing(self.hooks, run, setting.environment, setting.settings_file, planned)


def register_hooks(setting: HookSetting, workspace: str, *, trust_now: bool = False) -> HookRegistry:
    """The hooks at the start of a run. `trust_now`: the user trusts the workspace's own as they stand there now.

    Raises Incomplete where the user wants the run refused, or trusts what cannot be used.
    """
    options, own = setting.own.get("hooks", {}), setting.user_hooks()
    repo = discover_repo_hooks(workspace, setting.store, setting.parse, setting.check_store, trust_now=trust_now)
    trusted = {**repo.user_scripts, **(repo.checksums if repo.state == TRUSTED else {})}
    # The user trusts that there are none, so a hooks file that appears was written by the agent.
    if repo.state == NO_HOOKS and repo.beside is not None:
        trusted[HOOKS_FILE] = ABSENT
    if options.get("enabled") is False:
        repo = repo._replace(state=NO_HOOKS, hooks=(), checksums={})
    _refuse_untrusted(repo, stops=options.get("on_untrusted") == "stop")
    named = {path: ABSENT for hook in own for path in script_paths_of(hook, workspace)}
    for hook in own:
        named.update(hash_scripts(hook, workspace))
    changed = f"trusted hooks of the workspace have changed since they were trusted ({repo.reason})"
    return HookRegistry((CODE, *own, *repo.hooks), repo, named, trusted, changed if repo.state == MODIFIED else "")


def _refuse_untrusted(repo: RepoHooks, *, stops: bool) -> None:
    if repo.state == "invalid" and repo.was_trusted:
        raise Incomplete(
            f"the trusted hooks of the workspace cannot be used: {repo.reason}; fix the file, then: pipeline hooks trust",
            stop_reason=CONFIG_INVALID,
        )
    if stops and repo.state in ("untrusted", "modified", "invalid"):
        raise Incomplete(
            f"the hooks of the workspace are not trusted as they are ({repo.reason}), and on_untrusted is stop: look at them "
            "with: pipeline hooks list, then: pipeline hooks trust",
            stop_reason=CONFIG_INVALID,
        )
