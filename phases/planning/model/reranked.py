"""What a model's word makes of the ranking of references: half of each score is the rules', half is the model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple

from phases.planning.model.material import seen

_RULES = 0.5
_OWN = "own"
_LONGEST_USE, _LONGEST_NOTE = 200, 500
_LEDGERS_WORD = "; nothing that is done is lost; ask again with:"
"""What follows is true of a phase that is not done; this one is."""


class Help(NamedTuple):
    """What the model says of one reference: how much it helps, from 0 to 1, and what for."""

    score: float
    use: str


def helps_of(rows: Sequence[Mapping[str, Any]], most: int) -> dict[str, Help]:
    """The rows of a reply by reference: the first in rank scores 1, the last of `most` next to nothing."""
    ordered = sorted(rows, key=lambda row: row["rank"])
    return {row["id"]: Help(1 - place / most, _shown(row["use"])) for place, row in enumerate(ordered)}


def mixed(document: Mapping[str, Any], helps: Mapping[str, Help], name: str) -> dict[str, Any]:
    """The document with new scores, reasons and order. Roles, addresses and what is to be fetched stay as they are."""
    references = [_with(row, helps.get(row["id"])) for row in document["references"]]
    repositories = [_follows(row, helps) for row in document["repositories"]]
    note = (
        f"each score is half from the rules and half from the rank that {name} gave ({len(helps)} references would help); "
        "repositories follow their references; one without any has no rank, and half of the score of the rules"
    )
    return {
        **document,
        "references": sorted(references, key=lambda row: -row["score"]),
        "repositories": sorted(repositories, key=lambda row: -row["score"]),
        "refined_by": name,
        "notes": [*document["notes"], note],
    }


def unchanged(document: Mapping[str, Any], error: Exception, task: str) -> dict[str, Any]:
    """The document as it was, with a note that says why, and what asks again: the ledger's own word would not."""
    why = on_one_line(str(error).partition(_LEDGERS_WORD)[0], _LONGEST_NOTE)
    note = f"not refined: {why}; the ranking by rules stands; ask again with: pipeline resume {quote(task)} --redo 06"
    return {**document, "notes": [*document["notes"], note]}


def on_one_line(text: str, most: int) -> str:
    """The text without what is never seen, cut to its first characters."""
    return " ".join(seen(text).split())[:most].rstrip()


def _follows(row: dict[str, Any], helps: Mapping[str, Help]) -> dict[str, Any]:
    if row["role"] == _OWN:
        return row  # no reference can speak for it, and it is fetched only where its user says so
    return _with(row, max((helps[key] for key in row["references"] if key in helps), default=None))


def _with(row: dict[str, Any], said: Help | None) -> dict[str, Any]:
    score = _RULES * row["score"] + (1 - _RULES) * (said.score if said else 0.0)
    why = f"{row['why']}; the model: {said.use}" if said else row["why"]
    return {**row, "score": round(score, 4), "why": why}


def _shown(use: str) -> str:
    return on_one_line("".join(letter if letter.isprintable() else " " for letter in use), _LONGEST_USE)
