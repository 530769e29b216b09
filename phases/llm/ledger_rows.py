"""The rows of a ledger: read, each call once, added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phases.llm.model import OK
from phases.llm.open_calls import noted_calls
from pipeline.base.jsonl import read_rows

ZERO = {"calls": 0, "tokens_in": 0, "tokens_cached": 0, "tokens_out": 0, "usd": 0.0, "seconds": 0.0}
_INFINITE = float("inf")


def read_ledger(path: str) -> list[dict[str, Any]]:
    """The rows of a ledger, a reply that was used once; none where there is no file. Raises PhaseError for a damaged one."""
    rows = read_rows(path, is_row, "a row of what calls cost", "cut that line out by hand")
    first: dict[tuple[Any, ...], int] = {}
    return [
        row for number, row in enumerate(rows) if not row["used"] or first.setdefault(paid_call(row), number) == number
    ]


def rows_by_now(path: str) -> list[dict[str, Any]]:
    """The rows of a ledger, and of the calls that were under way when its run ended, with what these cost at least."""
    rows = read_ledger(path)
    return [*rows, *(row for row in noted_calls(path).values() if is_row(row) and not is_noted(row, rows))]


def is_noted(note: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the call of a note has its row: the run was killed between the two."""
    return any(
        row.get("begun") == note.get("at") or (row["used"] and paid_call(row) == paid_call(note) and "begun" not in row)
        for row in rows
        if row["thread"] == note["thread"]
    )


def paid_call(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a reply that was used is known by: it is paid for once, however many rows say so."""
    return row["thread"], row["run"], row["turn"]


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a line is a row of a ledger."""
    texts = all(isinstance(row.get(name), str) for name in ("thread", "about", "model", "outcome"))
    counts = all(isinstance(row.get(name), int) for name in ("run", "turn", "used"))
    amounts = [row.get(name) for name in ZERO if name != "calls"]
    return texts and counts and all(isinstance(amount, (int, float)) and 0 <= amount < _INFINITE for amount in amounts)


def sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """calls, tokens, money and seconds of some rows, added up."""
    total = dict(ZERO)
    for row in rows:
        for name in ZERO:
            total[name] += 1 if name == "calls" else row[name]
    return total


def tokens(spent: Mapping[str, Any]) -> int:
    """Tokens read and written together."""
    return int(spent["tokens_in"] + spent["tokens_out"])


def has_answered(rows: Iterable[Mapping[str, Any]], model: str) -> bool:
    """Whether a model gave a reply before."""
    return any(row["used"] and row["model"] == model for row in rows)


def longest_reply(rows: Iterable[Mapping[str, Any]], thread: str, model: str) -> int:
    """Of all replies of a model to a kind of thread, in tokens: the next one may be as long."""
    kind = thread.partition("-")[0]
    own = (row for row in rows if row["model"] == model and row["thread"].partition("-")[0] == kind)
    return max((int(row["tokens_out"]) for row in own if row["outcome"] == OK), default=1)


def usd_a_token(rows: Iterable[Mapping[str, Any]], model: str) -> float:
    """What a model's replies cost, in dollars a token that was read: for one whose price is not known."""
    own = [row for row in rows if row["model"] == model and row["used"]]
    return float(sum(row["usd"] for row in own) / max(1, sum(row["tokens_in"] for row in own)))
