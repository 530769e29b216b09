"""Chooses what a plan says first: each next note is the one that adds most of the paper's terms for its length."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

OVERHEAD = 90
"""Characters that a requirement costs beside its text: its id, kind, place and quote."""
LONGEST_TEXT = 800
FIRST_STRETCH = 14_000
"""A reader with little room sees the beginning of the plan: what fits here is chosen first, then twice as much, and so on."""
MOST_CHARACTERS = 36_000
_JOINT = 2


@dataclass(frozen=True)
class Note:
    """One thing that the paper says. Notes with the same `group` may share a requirement; those without stand alone."""

    text: str
    terms: tuple[str, ...]
    """Each once, in an order that is always the same: sums of weights depend on it."""
    group: Hashable | None
    firmness: float = 1.0
    follows: bool = False
    """It is the rest of the note before it, and says nothing without that."""


def chosen(notes: Sequence[Note], weights: Mapping[str, float]) -> list[list[int]]:
    """Indexes of notes, a list a requirement, the most telling one first; a note that says nothing new is in none."""
    choice = _Choice(notes, weights)
    rows: list[list[int]] = []
    limit = FIRST_STRETCH
    while choice.used < MOST_CHARACTERS:
        found = choice.stretch(min(limit, MOST_CHARACTERS))
        if not found:
            break
        rows += found
        limit *= 2
    return rows


@dataclass
class _Row:
    """The notes of one requirement so far, and how long its text is."""

    notes: list[int] = field(default_factory=list)
    length: int = 0


class _Choice:
    """The greedy choice so far: what is said already, and how much of the plan it takes."""

    def __init__(self, notes: Sequence[Note], weights: Mapping[str, float]) -> None:
        self._notes, self._weights = notes, weights
        self._said: set[str] = set()
        self._left = set(range(len(notes)))
        self._groups: dict[Hashable, list[int]] = {}
        for index, note in enumerate(notes):
            if note.group is not None:
                self._groups.setdefault(note.group, []).append(index)
        self._queue: list[tuple[float, int]] = []
        self._worths: dict[int, float] = {}
        self._open: dict[Hashable, _Row] = {}
        self._home: dict[int, _Row] = {}
        self.used = 0

    def stretch(self, limit: int) -> list[list[int]]:
        """The requirements that fill the plan up to a limit, in the order in which their first notes were chosen."""
        rows: list[_Row] = []
        self._open, self._queue, self._worths = {}, [], {}
        self._weigh(sorted(self._left))
        while self._queue and self.used < limit:
            worth, index = heapq.heappop(self._queue)
            if -worth != self._worths.get(index):
                continue  # it was weighed again since
            # What was weighed a while ago promises too much, never too little: what comes up is weighed before it is taken.
            self._weigh([index])
            if self._queue and self._queue[0] != (worth, index):
                continue
            row = self._joinable(index)
            if row is None:
                row = _Row()
                rows.append(row)
                if self._notes[index].group is not None:
                    self._open[self._notes[index].group] = row
            self._take(index, row)
        return [row.notes for row in rows]

    def _take(self, index: int, row: _Row) -> None:
        note, opens = self._notes[index], not row.notes
        row.notes.append(index)
        self._home[index] = row
        row.length += len(note.text) + _JOINT
        self.used += len(note.text) + (OVERHEAD if opens else _JOINT)
        self._said.update(note.terms)
        self._left.discard(index)
        self._worths.pop(index, None)
        # This makes some others worth more: the rest of its sentence, and its group, which costs less from now on.
        others = self._groups.get(note.group, ()) if opens else (index + 1,)
        self._weigh([other for other in others if other in self._left])

    def _weigh(self, indexes: Sequence[int]) -> None:
        """Puts notes into the queue with what they are worth now; those that are worth nothing leave it."""
        for index in indexes:
            worth = self._worth(index)
            self._worths[index] = worth
            if worth > 0:
                heapq.heappush(self._queue, (-worth, index))

    def _worth(self, index: int) -> float:
        note = self._notes[index]
        if note.follows and self._joinable(index) is None:
            return 0.0
        gain = sum([self._weights.get(term, 0.0) for term in note.terms if term not in self._said])
        return note.firmness * gain / (len(note.text) + (OVERHEAD if self._joinable(index) is None else _JOINT))

    def _joinable(self, index: int) -> _Row | None:
        note = self._notes[index]
        row = self._open.get(note.group) if note.group is not None else None
        row = self._home.get(index - 1) if note.follows else row
        return row if row and row.length + len(note.text) <= LONGEST_TEXT else None
