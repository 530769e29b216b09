"""What related work says of the methods that a paper is compared with: whoever builds the baselines needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from phases.paper.planning.notes import Found, notes_in

_NAME = re.compile(r"\b[A-Z][A-Za-z0-9]*(?:[A-Z0-9]|[+-][A-Z])[A-Za-z0-9+-]*\b")
_MOST_NAMES = 60


def rivals_in(text: str, sections: Sequence[dict[str, Any]], found: Sequence[Found]) -> Iterator[Found]:
    """The notes of these sections that speak of a method which a baseline among the notes found so far names."""
    names = [name for one in found if one.kind == "baseline" for name in _NAME.findall(one.quote)]
    wanted = set(list(dict.fromkeys(names))[:_MOST_NAMES])
    for section in sections:
        kept = False
        for note in notes_in(text, section, "related"):
            kept = (kept and note.follows) or not wanted.isdisjoint(_NAME.findall(note.quote))
            if kept and note.value is None:
                yield Found("baseline", note.text, note.quote, section, note.page, True, note.follows, note.firmness)
