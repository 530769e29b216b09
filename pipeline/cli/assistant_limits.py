"""Limits on what an assistant may start through `pipeline mcp`: the user's own limits, agents, and the places of papers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.base.errors import UsageError
from pipeline.cli.assembly import OWN_AGENT, settings_file
from pipeline.engine.phase import TYPED
from pipeline.engine.settings import PREFIX, Settings, read_user_file

_ZERO_IS_NONE = ("max_usd", "max_tokens", "max_turns", "max_minutes", "max_output_tokens")
_AMOUNTS = (
    *("max_acceptance_continues", "reproduce_attempts"),
    *("command_seconds", "command_memory_gb", "job_seconds"),
)
_ASKING = ("ask", "file")
_MODELS = ("model", "plan_model", "code_model", "judge")
_ADDRESSES = ("arXiv:", "http://", "https://")


def refuse_over_limits(values: Mapping[str, Any], own: Settings) -> None:
    """Raise UsageError if the settings of a run go beyond a limit that the user has set for all runs.

    Args:
        values: What the run would go by.
        own: The user's settings. Of their limits only those count that the settings file or a variable sets, and the sandbox.
    """
    for name in _list_exceeded(values, own._asdict()):
        where = _find_origin(name)
        if where or name == "sandbox":
            limit, where = getattr(own, name), where or "the defaults"
            value = "none" if name in _ZERO_IS_NONE and not values[name] else f"{values[name] or 'not set'}"
            raise UsageError(
                f"{name} would be {value}, which is beyond the user's own limit: {name} is {limit} in {where}; only the user "
                "raises it, there or by running the task in a terminal"
            )


def _find_origin(name: str) -> str:
    """Return what sets a setting for all runs: a variable, or the settings file; empty where its default holds."""
    variable = PREFIX + name.upper()
    if variable in os.environ:
        return variable
    return settings_file() if name in read_user_file(settings_file()) else ""


def _list_exceeded(values: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    for name in _ZERO_IS_NONE:
        if own[name] and not 0 < values[name] <= own[name]:
            yield name
    yield from (name for name in _AMOUNTS if values[name] > own[name])
    if own["review"] in _ASKING and values["review"] not in _ASKING:
        yield "review"
    if values["sandbox"] == "off" != own["sandbox"]:
        yield "sandbox"


def refuse_agents(values: Mapping[str, Any]) -> None:
    """Raise UsageError if a run would start an agent of the user's own, which no sandbox holds."""
    for name in _MODELS:
        if str(values[name]).startswith(OWN_AGENT):
            raise UsageError(
                f"{name} is {values[name]}: the user's own agent runs outside of the sandbox, so no assistant starts it; "
                "run the task in a terminal, or start the server with: pipeline mcp --may-run-agent"
            )


def refuse_source(source: str, papers: Sequence[str]) -> None:
    """Raise UsageError unless a source is typed words, an address, an arXiv id, or lies in a directory of papers.

    Args:
        source: What an assistant names.
        papers: Directories, with links resolved. A link counts as the place that it leads to.
    """
    from phases.readers.origins import canonical_origin  # imported here: TAB must import no phase

    if source.startswith(TYPED):
        return
    if not os.path.lexists(source) and canonical_origin(source).startswith(_ADDRESSES):
        return
    if outside := [path for path in (source, *_links_at_top(source)) if not _is_inside(path, papers)]:
        allowed = f"in {' or '.join(papers)}" if papers else "in no directory of this machine"
        raise UsageError(
            f"{outside[0]!r} is not a source that an assistant may name: it names papers {allowed}, addresses (http, https), "
            "arXiv ids and typed: words; the user allows another directory with: pipeline mcp --papers DIR"
        )


def _links_at_top(directory: str) -> list[str]:
    """Return the links that a reader of the directory may follow."""
    try:
        return [entry.path for entry in os.scandir(directory) if entry.is_symlink()] if os.path.isdir(directory) else []
    except OSError:
        return []


def _is_inside(path: str, directories: Sequence[str]) -> bool:
    real = os.path.realpath(path)
    return any(os.path.commonpath([real, directory]) == directory for directory in directories)
