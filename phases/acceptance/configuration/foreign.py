"""What Claude Code, Codex and Gemini CLI call things, in our words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from phases.acceptance.configuration.refused import matcher_words
from phases.acceptance.points import POINTS

CLAUDE_CODE, CODEX, GEMINI = "claude", "codex", "gemini"
_OWN_TOOLS = frozenset({"Read", "Write", "Edit", "Glob", "Grep", "Bash", "TodoWrite", "Task", "SearchReference"})
_CLAUDE_TOOLS = {"MultiEdit": "Edit", "Agent": "Task"}
_CODEX_TOOLS = {
    "apply_patch": "Write|Edit", "shell": "Bash", "local_shell": "Bash", "exec_command": "Bash", "unified_exec": "Bash",
    "update_plan": "TodoWrite", "spawn_agent": "Task",
}  # fmt: skip
_GEMINI_TOOLS = {
    "run_shell_command": "Bash", "write_file": "Write", "replace": "Edit", "read_file": "Read", "read_many_files": "Read",
    "glob": "Glob", "search_file_content": "Grep", "grep_search": "Grep", "grep": "Grep", "write_todos": "TodoWrite",
}  # fmt: skip


class Dialect(NamedTuple):
    """How one tool writes hooks down."""

    name: str
    points: Mapping[str, str]
    """Its event -> our point."""
    tools: Mapping[str, str]
    """Its tool -> ours."""
    a_second: float
    """What it writes for one second."""
    seconds: float
    """How long it gives a command that does not say."""


_CLAUDE_POINTS = MappingProxyType({point.claude: point.name for point in POINTS.values() if point.claude})
_GEMINI_POINTS = MappingProxyType({point.gemini: point.name for point in POINTS.values() if point.gemini})
DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        CLAUDE_CODE: Dialect("Claude Code", _CLAUDE_POINTS, MappingProxyType(_CLAUDE_TOOLS), 1, 600),
        CODEX: Dialect("Codex", _CLAUDE_POINTS, MappingProxyType({**_CLAUDE_TOOLS, **_CODEX_TOOLS}), 1, 600),
        GEMINI: Dialect("Gemini CLI", _GEMINI_POINTS, MappingProxyType(_GEMINI_TOOLS), 1000, 60),
    }
)
_LIST = re.compile(r"[A-Za-z0-9_\-,| ]*")


class Matched(NamedTuple):
    """A matcher of another tool, in our words."""

    matcher: str
    """Empty: any tool."""
    unknown: tuple[str, ...] = ()
    """Names in it of tools that there are not here."""
    never: bool = False
    """No tool here has a name that it asks for."""


def matched(theirs: str, dialect: Dialect) -> Matched:
    """What a matcher asks for. A list of names fits whole names; anything else is searched for anywhere in the name."""
    if theirs.strip() in ("", "*"):
        return Matched("")
    if not _LIST.fullmatch(theirs):
        pattern = f".*(?:{_renamed(theirs, dialect)}).*"
        # one that is no pattern fits no name for another reason, which is told where items are checked
        never = not matcher_words(pattern) and not any(re.fullmatch(pattern, tool) for tool in _OWN_TOOLS)
        return Matched(pattern, never=never)
    names = [name for name in (part.strip() for part in re.split(r"[|,]", theirs)) if name]
    ours = {name: dialect.tools.get(name, name) for name in names}
    unknown = tuple(name for name, own in ours.items() if not _OWN_TOOLS.issuperset(own.split("|")))
    kept = dict.fromkeys(own for name, own in ours.items() if name not in unknown)
    return Matched("|".join(kept), unknown, never=not kept)


def _renamed(pattern: str, dialect: Dialect) -> str:
    """A regular expression with the names of tools in it replaced, word by word; escapes like `\\b` are no words."""

    def own(found: re.Match[str]) -> str:
        name = dialect.tools.get(found[0], found[0])
        return f"(?:{name})" if found[0] in dialect.tools and "|" in name else name

    return re.sub(r"\\.|[A-Za-z_][A-Za-z0-9_]*", own, pattern)
