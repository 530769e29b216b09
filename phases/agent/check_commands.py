"""Which check of the plan a shell command runs. To show less of its output, or to hide how it ended, makes it no other."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from phases.supervision.signatures import command_key

_TOKEN = re.compile(
    r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""  # what is quoted holds no operator
    r"""|(?P<joins>\|\||\|&|&&|[|;\n])|(?P<other>(?<![>&])&(?![>&])|`|\$\(|<<)"""
)
_SHOWS = {
    "tail", "head", "tee", "grep", "egrep", "fgrep", "rg", "cat", "less", "sort", "uniq", "wc", "cut", "tr", "nl",
    "echo", "printf", "true", ":",
}  # fmt: skip
_REDIRECTS = re.compile(r"(?:\s+(?:2>&1|[&2]?>>? ?[\w./-]+))+\s*$")
_BEGINS = re.compile(r"^(?:\s*(?:set -o pipefail|cd (?:\.|(?:[\w./-]*/)?generate_code/?))\s*(?:;|&&))*\s*")
_LONGEST, _MOST_PARTS = 4_000, 20


class CheckCommand(NamedTuple):
    """A check as a model runs it."""

    key: str
    """Of the plan's command."""
    filtered: bool
    """The exit code is that of a command after it, and its output may not be all there."""


def check_in(command: str, checks: Collection[str]) -> CheckCommand | None:
    """The check that a command runs, by the keys of the plan's; None where it runs none, or something else beside it."""
    if len(command) > _LONGEST:
        key = command_key(command)
        return CheckCommand(key, filtered=False) if key in checks else None
    for whole in (command, _BEGINS.sub("", command, count=1)):
        for head, rest in _divided(whole):
            key = command_key(_REDIRECTS.sub("", head))
            if key in checks and all(map(_only_shows, rest)):
                return CheckCommand(key, filtered=bool(rest))
    return None


def _divided(command: str) -> list[tuple[str, list[str]]]:
    """Each way to take a command for a first one, and those after it. What runs beside it, or is written by a shell, is
    not looked into.
    """
    tokens = list(_TOKEN.finditer(command))
    joins = [token for token in tokens if token["joins"]]
    if any(token["other"] for token in tokens) or len(joins) > _MOST_PARTS:
        return [(command, [])]
    stops = [*(join.start() for join in joins), len(command)]
    starts = [0, *(join.end() for join in joins)]
    parts = [command[start:stop] for start, stop in zip(starts, stops, strict=True)]
    return [(command[:stop], parts[at + 1 :]) for at, stop in enumerate(stops)]


def _only_shows(part: str) -> bool:
    words = _REDIRECTS.sub("", part).split()
    return not words or words[0] in _SHOWS or words[:2] == ["sed", "-n"]
