"""What every fault is measured by: nothing is half written, and the next run ends in the tree of a run without faults."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tests.drills.faults import CHANGING, Call, calls_of, events_of, need_strace, path_of
from tests.drills.ground import Ended, Ground
from tests.drills.trees import attempts_of_done, differences, half_written, tree_of

Point = TypeVar("Point")


_KEPT = re.compile(r"/endings(/[0-9]+-[0-9a-f]{12})?$")


def _is_in(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


class OnGround(Protocol):
    """What has a ground."""

    @property
    def ground(self) -> Ground: ...


@dataclass(frozen=True)
class Reference:
    """The ground of a drill, and what an undisturbed run on it makes."""

    ground: Ground
    code: int
    tree: dict[str, Any]
    may_lose_copies: bool = False
    """Whether the copy of a refused attempt may be missing: without room for it the work goes on without a way back to it,
    and a rewind says that none was kept. Where nothing is refused, it must be there."""

    def calls(self, names: str = CHANGING) -> list[Call]:
        """The system calls of an undisturbed run."""
        self.ground.fresh()
        return calls_of(self.ground, names)

    def events(self) -> list[str]:
        """The audited events of an undisturbed run."""
        self.ground.fresh()
        return events_of(self.ground)

    def problems_untold(self, call: Call) -> list[str]:
        """Tells what is amiss after a run that did without a call: it says nothing of it, so all must be as it should be.

        What the call was to delete may be left, with the directories that it lies in: it is a trouble only if the next run
        does not take it away, which `problems_afterwards` looks at.
        """
        deleted = self._deleted_by(call) or ""
        left = [
            told for told in self._differences() if not _is_in(deleted, [told.removesuffix(" should not be there")])
        ]
        return [f"it tells of no trouble, and {told}" for told in left]

    def _deleted_by(self, call: Call) -> str | None:
        """The path that a call was to delete, as tree_of names it; None for a call of another kind."""
        path = path_of(call) if call.name.startswith(("unlink", "rmdir")) else ""
        return os.path.relpath(os.path.join(self.ground.work, path), self.ground.base) if path else None

    def _differences(self) -> list[str]:
        tree = tree_of(self.ground)
        lost = [path for path in self.tree if path not in tree and _KEPT.search(path)] if self.may_lose_copies else []
        expected = {path: content for path, content in self.tree.items() if not _is_in(path, lost)}
        return differences(tree, expected)

    def problems_afterwards(self, *go_on: str) -> list[str]:
        """Goes on after a fault, and tells in words what is not as it should be."""
        problems, done = half_written(self.ground), attempts_of_done(self.ground)
        ended = self.ground.call(*go_on)
        if ended.code != self.code or "Traceback" in ended.err:
            problems.append(f"going on ends with {ended.code}: {last_words(ended)}")
        problems += self._differences()
        now = attempts_of_done(self.ground)
        return problems + [
            f"phase {number} was done, and ran again" for number in done if now.get(number) != done[number]
        ]


def reference_on(ground: Ground, *, traced: bool = True, may_lose_copies: bool = False) -> Reference:
    """Runs undisturbed, twice: the first time writes byte code, and two runs must leave the same."""
    if traced:
        need_strace()
    ground.call()
    ground.fresh()
    ended = ground.call()
    tree = tree_of(ground)
    ground.fresh()
    ground.call()
    assert not differences(tree_of(ground), tree), "two undisturbed runs differ"
    return Reference(ground, ended.code, tree, may_lose_copies)


def at_each(whole: OnGround, points: Iterable[Point], drill: Callable[[Point], Sequence[str]]) -> None:
    """Drills at every point from a fresh start, and fails with all that was found at any of them."""
    found, tried = [], 0
    for point in points:
        whole.ground.fresh()
        found += [f"{point}\n      {problem}" for problem in drill(point)]
        tried += 1
    assert tried, "there was nothing to drill at"
    assert not found, f"{len(found)} problems at {tried} points:\n" + "\n".join(found)


def last_words(ended: Ended) -> str:
    """The end of what a command said on stderr."""
    return ended.err.strip()[-600:] or ended.out.strip()[-200:]
