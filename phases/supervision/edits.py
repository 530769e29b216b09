"""How often files are edited without getting anywhere, in every mode (section 7.1).

While no check is known to fail, nobody can say that the edits lead nowhere: then none are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phases.supervision.facts import Action, Round, Task
from phases.supervision.plateaus import failures_of
from phases.supervision.signatures import command_key, digest_of_result
from phases.supervision.words import ToolClass

_MOST_FILES, _MOST_COMMANDS = 300, 20
_TEST = ("test", "tests")
_FRAME = {
    "__init__.py",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "README.md",
    "LICENSE",
    "Makefile",
}


@dataclass(frozen=True)
class Edits:
    """Counted over rounds."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Path -> rounds that edited it since a check fails, or since fewer tests failed; the least recent left out over a bound."""
    failing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Verify command -> what failed in its last run."""
    ways: tuple[str, ...] = ()
    """Digests of the ways in which checks failed, the latest last."""
    strayed: tuple[str, ...] = ()
    """Files written outside the plan."""


def after_edits(edits: Edits, turn: Round, task: Task, *, failing: bool) -> Edits:
    """The counts after a round, in which a file is edited once. To create it is no edit. `failing`: a check is known to fail."""
    counts, told, strayed = dict(edits.counts), dict(edits.failing), dict.fromkeys(edits.strayed)
    edited, ways = set[str](), list(edits.ways)
    for action in turn.actions:
        call, result = action.call, action.result
        for path in edited_by(action):
            if path not in edited and not (call.new_file and path == call.path):
                counts[path] = counts.pop(path, 0) + 1
                edited.add(path)
            if is_outside(path, task):
                strayed.setdefault(path)
        if call.verify and result.executed and not result.background:
            key = command_key(call.command)
            before, told[key] = told.pop(key, ()), failures_of(result)
            way = digest_of_result(f"{key}\n" + "\n".join(told[key]))
            new = bool(before and told[key]) and way not in ways
            ways = [*(other for other in ways if other != way), way]
            if action.verified or set(told[key]) < set(before) or new:  # to fail in another way is to get on
                counts.clear()
        elif call.like_check and action.ok and not result.background:
            counts.clear()
    return Edits(
        dict(list(counts.items())[-_MOST_FILES:]) if failing else {},
        dict(list(told.items())[-_MOST_COMMANDS:]),
        tuple(ways[-_MOST_COMMANDS:]),
        tuple(strayed)[-_MOST_FILES:],
    )


def most_edited(edits: Edits, turn: Round) -> tuple[str, int]:
    """Of the files that were edited in this round, the one with the most edits; without any, an empty path."""
    paths = sorted({path for action in turn.actions for path in edited_by(action)})
    path = max(paths, key=lambda name: edits.counts.get(name, 0), default="")
    return path, edits.counts.get(path, 0)


def edited_by(action: Action) -> tuple[str, ...]:
    """Files that a WRITE changed. What a command leaves behind is its output, and no edit."""
    return action.result.changed if action.ok and action.call.tool_class is ToolClass.WRITE else ()


def is_outside(path: str, task: Task) -> bool:
    """Whether the plan does not know this file. Where there is no list, nothing is outside; tests never are."""
    return bool(task.planned_files) and path not in task.planned_files and not (is_test(path) or _is_frame(path))


def _is_frame(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _FRAME or name.startswith(".")


def is_test(path: str) -> bool:
    """Whether a part of the path begins or ends with test or tests; its suffix does not count."""
    parts = [part.casefold() for part in path.split("/")]
    return any(part.startswith("test") or part.partition(".")[0].endswith(_TEST) for part in parts)
