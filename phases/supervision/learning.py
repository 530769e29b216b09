"""Whether a round that changed nothing brought something that was not known yet."""

from __future__ import annotations

from dataclasses import dataclass

from phases.supervision.facts import Round
from phases.supervision.progress import is_note, is_run_of_check
from phases.supervision.words import ProgressClass

_MOST_KNOWN = 100
_MOST_ROUNDS = 10
"""Nobody learns for ever without doing anything."""


@dataclass(frozen=True)
class Learning:
    """What the calls of a run have told so far."""

    known: tuple[str, ...] = ()
    """Call with result, the latest last."""
    rounds: int = 0
    """In which something was learned, since the last round with progress."""
    learned: bool = False
    """The last round was one of them."""


def after_reading(before: Learning, turn: Round, progress: ProgressClass) -> Learning:
    """What is known after a round."""
    told = dict.fromkeys(
        f"{action.call.signature} {action.result.digest}"
        for action in turn.actions
        if not action.result.background and not is_note(action) and (action.ok or is_run_of_check(action))
    )
    known = (*(result for result in before.known if result not in told), *told)[-_MOST_KNOWN:]
    if progress is ProgressClass.MEANINGFUL_PROGRESS:
        return Learning(known)
    news = progress is ProgressClass.NON_PROGRESS_SUCCESS and not told.keys() <= set(before.known)
    learned = news and before.rounds < _MOST_ROUNDS
    return Learning(known, before.rounds + learned, learned)
