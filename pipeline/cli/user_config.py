"""What lies in the user's own folder: settings, hooks, prices, and which workspaces are trusted. No task can write there."""

from __future__ import annotations

import os
from typing import Any

from pipeline.base.errors import UsageError
from pipeline.engine.contract import Contracts
from pipeline.engine.settings import user_hooks


def config_directory() -> str:
    """Where the user's settings lie: no task can write there."""
    given = os.environ.get("XDG_CONFIG_HOME", "")  # a relative one is no one, says its standard
    home = given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "pipeline")


def cache_directory() -> str:
    """Where what can be made anew is kept for the user: no task can write there."""
    given = os.environ.get("XDG_CACHE_HOME", "")  # the same
    home = given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "pipeline")


def settings_file() -> str:
    """The user's settings; it need not be there."""
    return os.path.join(config_directory(), "config.yaml")


def read_user_hooks() -> dict[str, Any]:
    """The user's own hooks, `{"hooks": …}`; empty where there are none. Raises UsageError for a file that is not right."""
    where = settings_file()
    runtime = user_hooks(where)
    if not runtime:
        return {}
    from phases.acceptance.configuration.parse_hooks import HookConfigError, parse_hooks
    from phases.acceptance.hook import USER

    contracts = Contracts()
    if wrong := contracts.breach(contracts.schema("hooks.yaml"), runtime):
        raise UsageError(f"{where}, {wrong.replace('at $', 'at $.runtime', 1)}")
    try:
        parse_hooks(runtime["hooks"], USER, where)
    except HookConfigError as error:
        raise UsageError(str(error)) from error
    return runtime


def read_user_prices() -> dict[str, Any]:
    """The user's own price table; empty where there is none."""
    path = os.path.join(config_directory(), "prices.yaml")
    if not os.path.exists(path):
        return {}
    from pipeline.base.errors import FormatError
    from pipeline.base.files import read_bytes
    from pipeline.base.plain_yaml import parse_yaml

    try:
        table = parse_yaml(read_bytes(os.path.realpath(path)))
    except FormatError as error:
        raise UsageError(f"{path}, line {error.line}, column {error.column}: {error}") from error
    if not isinstance(table, dict):
        raise UsageError(f"{path}: prices are 'MODEL: {{in: …, out: …}}' lines, in dollars for a million tokens")
    return table
