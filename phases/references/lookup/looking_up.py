"""Asks services which repositories belong to references, and tells how that went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phases.references.lookup.protocol import Lookup, NoAnswer
from phases.references.values import Candidate, Entry

_MOST_FAILURES = 2


def look_up(
    entries: Sequence[Entry], lookups: Sequence[Lookup], *, most: int = 40
) -> tuple[list[Candidate], list[dict[str, Any]]]:
    """What the services say, and a row for each of them: service, asked, found, and why in words where something failed.

    Asked are the first `most` entries that can be asked for, in their order, so the likeliest should come first: those
    that link no repository themselves, and have a title or a number. A service that fails twice in a row is not asked
    again.
    """
    open_ones = [e for e in entries if not e.repositories and (e.title or e.doi or e.arxiv)]
    candidates, rows = [], []
    for lookup in lookups:
        found, row = _asked(lookup, open_ones[:most])
        if len(open_ones) > most:
            row["why"] = "; ".join(
                filter(None, [row["why"], f"only the first {most} of {len(open_ones)} were to be asked"])
            )
        candidates += found
        rows.append(row)
    return candidates, rows


def _asked(lookup: Lookup, entries: Sequence[Entry]) -> tuple[list[Candidate], dict[str, Any]]:
    """One service. `asked` counts the questions that it was asked, those without an answer among them."""
    found: list[Candidate] = []
    failed, in_a_row, asked, why = 0, 0, 0, ""
    for entry in entries:
        asked += 1
        try:
            found += lookup.ask(entry)
            in_a_row = 0
        except NoAnswer as error:
            failed, in_a_row, why = failed + 1, in_a_row + 1, str(error)
            if in_a_row == _MOST_FAILURES:
                break
    if failed:
        left = len(entries) - asked
        why = f"{failed} of {asked} questions had no answer; the last: {why}"
        why += f"; {left} more were not asked" if left else ""
    return found, {"service": lookup.name, "asked": asked, "found": len(found), "why": why}
