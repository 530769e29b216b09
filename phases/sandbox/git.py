"""Run git on other people's repositories: in a box, with no settings but these, so that nothing of a repository acts."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from functools import cache

from phases.sandbox.box import BUBBLEWRAP, OFF, Box, CommandResult, Limits
from phases.sandbox.launch import launch_command
from phases.sandbox.package_index import NETWORK_FILES
from phases.sandbox.probe import probe_best
from pipeline.base.logs import logger
from pipeline.base.text_escaping import one_line

# From here on git connects to the address that was checked, and not to what its name means by then (decision 101).
OLDEST_FOR_THE_NETWORK = (2, 37)
_MEMORY = 3 * 2**30
_SETTINGS = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.symlinks", "false"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.bigFileThreshold", "16m"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("http.followRedirects", "false"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "30"),
    ("http.proxy", ""),
    ("http.sslVerify", "true"),
    ("init.defaultBranch", "main"),
    ("maintenance.auto", "false"),
    ("pack.threads", "2"),
    ("protocol.allow", "never"),
    ("protocol.https.allow", "always"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
    # Odd names are left out one by one, by who reads the list: one of them must not cost the whole repository.
    ("transfer.fsckObjects", "false"),
)


def git_box_kind() -> str:
    """Return git's sandbox: bubblewrap, or the user's own rights (Landlock cannot open the network for git alone)."""
    return BUBBLEWRAP if probe_best().kind == BUBBLEWRAP else OFF


def run_git(
    script: str, folder: str, *, readable: Sequence[str], seconds: float, most_bytes: int, network: bool
) -> CommandResult:
    """Run a shell script of git's commands in a directory, the one place that it may fill, with at most so many bytes.

    `network` opens the network, for https alone; what no fetch needs should not ask for it.
    """
    if fault := _why_unusable(network=network):
        return CommandResult(None, f"not run: {fault}\n")
    kind = git_box_kind()
    files = [path for path in NETWORK_FILES if os.path.exists(path)] if network and kind == BUBBLEWRAP else []
    limits = Limits(memory=_MEMORY, processes=32, disk=most_bytes, file=most_bytes)
    box = Box(folder, kind, readable=(*files, *readable), limits=limits)
    began = time.monotonic()
    result = launch_command(box, script, seconds, variables=_git_variables(), network=network and kind == BUBBLEWRAP)
    logger.debug(
        "git in {}{}, exit code {} after {:.2f} s: {}",
        kind, " with network" if network else "", result.exit_code, time.monotonic() - began, one_line(script),
    )  # fmt: skip
    return result


@cache
def git_version() -> tuple[int, ...]:
    """Return git's version as numbers; empty without git."""
    try:
        told = subprocess.run(
            ["git", "version"], cwd="/", env={"PATH": os.defpath, **_git_variables()}, capture_output=True, text=True,
            timeout=20, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"[0-9]+(?:\.[0-9]+){1,3}", told.stdout)
    return tuple(int(number) for number in found.group().split(".")) if found else ()


def _why_unusable(*, network: bool) -> str | None:
    version = git_version()
    if not version:
        return "git is not installed; apt-get install git"
    if network and version < OLDEST_FOR_THE_NETWORK:
        asked, has = (".".join(map(str, numbers)) for numbers in (OLDEST_FOR_THE_NETWORK, version))
        return f"git {asked} or newer is needed to fetch, and this is {has}; update it, or clone by hand and give the directory"
    return None


def _git_variables() -> dict[str, str]:
    """Return git settings as variables: they override those of any repository, and need no quoting."""
    found = {
        "GIT_ALLOW_PROTOCOL": "https",
        "GIT_ASKPASS": "true",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
    }
    for number, (name, value) in enumerate(_SETTINGS):
        found[f"GIT_CONFIG_KEY_{number}"], found[f"GIT_CONFIG_VALUE_{number}"] = name, value
    return found
