"""Which hooks this start of a run has: the internal one, the user's, and those of the workspace that the user trusts."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from phases.agent.acceptance.configuration.configured import hooks_from
from phases.agent.acceptance.configuration.pins import scripts_in
from phases.agent.acceptance.configuration.repo_hooks import HOOKS_FILE, Discovered, discover
from phases.agent.acceptance.hook import ALWAYS, BUILTIN, INTERNAL, STRICT, USER, Hook
from phases.agent.acceptance.points import ACCEPT_GATE
from phases.agent.acceptance.stop_reasons import CONFIG_INVALID
from pipeline.errors import Incomplete

CODE = Hook("code", INTERNAL, ACCEPT_GATE, BUILTIN, exit_policy=STRICT, when=ALWAYS)
"""The one that ships: planned files, imports, the plan's checks, the entry script."""
STORE = "trusted-workspaces.json"
MOST_CONTINUES = 3
Check = Callable[[Any], str | None]


class HookSetting(NamedTuple):
    """What the user says of hooks. Nothing of it can be said by a task or a workspace."""

    own: Mapping[str, Any] = {}
    """`{"hooks": …}` of the settings file, checked against its schema."""
    own_folder: str = ""
    """The folder of the settings file, and of the store of trusted workspaces."""
    parse: Callable[[bytes], Mapping[str, Any]] = lambda data: {}
    """A hooks.yaml, checked. Raises PipelineError."""
    check_store: Check = lambda value: None
    """Why a value is no store of trusted workspaces, or None."""
    environment: Mapping[str, str] = {}
    trust_now: bool = False
    most_continues: int = MOST_CONTINUES


class Mounted(NamedTuple):
    """The hooks of one start of a run."""

    hooks: tuple[Hook, ...]
    """In the order in which they run."""
    pins: Mapping[str, str]
    """Path -> sha256 of the files that decide about acceptance, as they are now."""
    trusted: Mapping[str, str]
    """Those of them that the user vouches for as they are now."""
    repo: Discovered
    doubt: str
    """Why nothing can be verified, or empty."""


def mounted(setting: HookSetting, workspace: str, planned: Collection[str] = (), *, trust_now: bool = False) -> Mounted:
    """What there is at the start. `planned` files are the agent's to write, whatever hook names them;
    `trust_now`: the user vouches for what stands there.

    Raises Incomplete where the user wants the run refused, or trusts what cannot be used.
    """
    own = hooks_from(setting.own["hooks"], USER, os.path.join(setting.own_folder, "config.yaml")) if setting.own else ()
    options = setting.own.get("hooks", {})
    if options.get("user_hooks_enabled") is False:
        own = ()
    repo = discover(
        workspace,
        os.path.join(setting.own_folder, STORE) if setting.own_folder else "",
        setting.parse,
        setting.check_store,
        trust_now=trust_now,
    )
    if options.get("enabled") is False:
        repo = repo._replace(state="none", hooks=(), pins={})
    _refuse(repo, stops=options.get("on_untrusted") == "stop")
    named = {path: digest for hook in own for path, digest in scripts_in(hook, workspace).items()}
    pins = {path: digest for path, digest in named.items() if digest and path not in planned}
    pins |= {path: digest for path, digest in repo.pins.items() if path == HOOKS_FILE or path not in planned}
    doubt = (
        f"trusted hooks of the workspace are not as they were trusted ({repo.reason})"
        if repo.state == "modified"
        else ""
    )
    trusted = {path: pins[path] for path in repo.pins if path in pins} if repo.state == "trusted" else {}
    return Mounted((CODE, *own, *repo.hooks), pins, trusted, repo, doubt)


def _refuse(repo: Discovered, *, stops: bool) -> None:
    if repo.state == "invalid" and repo.was_trusted:
        raise Incomplete(
            f"the trusted hooks of the workspace cannot be used: {repo.reason}; mend the file, then: pipeline hooks trust",
            stop_reason=CONFIG_INVALID,
        )
    if stops and repo.state in ("untrusted", "modified", "invalid"):
        raise Incomplete(
            f"the hooks of the workspace are not trusted as they are ({repo.reason}), and on_untrusted is stop: look at them "
            "with: pipeline hooks list, then: pipeline hooks trust",
            stop_reason=CONFIG_INVALID,
        )
