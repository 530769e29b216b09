"""Choose the points of a drill: a few that the commit picks, so that CI tries others at each commit, or all of them.

`make drills` sets DRILL_POINTS=all. DRILL_SEED=... repeats the choice that a failed drill names.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import pytest

from tests.command_server import ROOT

Point = TypeVar("Point")

EVERY = os.environ.get("DRILL_POINTS") == "all"
NO_COMMIT = "no commit"


@cache
def seed() -> str:
    """DRILL_SEED, or the commit; where there is no git repository, a constant."""
    if given := os.environ.get("DRILL_SEED"):
        return given
    try:
        head = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return NO_COMMIT
    return head.stdout.strip()


def sample(points: Sequence[Point], count: int) -> list[Point]:
    """Return `count` of the points, in their order, chosen by the seed; all where there are no more."""
    if len(points) <= count:
        return list(points)
    print(f"{count} of {len(points)} points; to repeat: DRILL_SEED={seed()!r}")
    chosen = random.Random(seed()).sample(range(len(points)), count)
    return [points[index] for index in sorted(chosen)]


def chosen(points: Sequence[Point], few: int) -> list[Point]:
    """Return a few points; in `make drills`, all of them."""
    return list(points) if EVERY else sample(points, few)


@dataclass(frozen=True)
class Share:
    """A part of a drill's points."""

    few: int
    """How many points CI tries."""
    first: int | None = None
    """Of all points: the first of this share; None where only a few are tried."""
    step: int = 1

    def of(self, points: Sequence[Point]) -> list[Point]:
        """Return the points of this share."""
        return sample(points, self.few) if self.first is None else list(points[self.first :: self.step])

    def __str__(self) -> str:
        return f"{self.few} points" if self.first is None else f"share {self.first + 1} of {self.step}"


def all_shares(count: int, few: int, *, every: bool = EVERY) -> list[Share]:
    """Return one share with a few points, or `count` shares that have every point between them."""
    return [Share(few, first, count) for first in range(count)] if every else [Share(few)]


def shares(count: int, few: int) -> pytest.MarkDecorator:
    """Parametrize a drill with its shares: `few` points, or all of them in `count` tests (`make drills`)."""
    return pytest.mark.parametrize("share", all_shares(count, few), ids=str)
