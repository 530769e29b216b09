"""The tables of the paper as text."""

from __future__ import annotations

from collections.abc import Sequence

from averaged_perceptron.experiments import BitsRow, Choice, MarginRow, MethodRow, paired_wins
from averaged_perceptron.metrics import spread
from averaged_perceptron.values import Value


def main_text(rows: Sequence[MethodRow]) -> str:
    """Table 2, with the count of paired comparisons (R30, section 4.4, page 2)."""
    won, of = paired_wins(list(rows))
    head = ("Method", "Error, rho=0", "Error, rho=0.1", "Error, rho=0.2", "Mistakes", "Updates", "Writes")
    body = [
        (row.name, *(str(spread(errors)) for errors in row.errors), *map(_tenth, row.online or (None, None, None)))
        for row in rows
    ]
    return _text("Table 2", head, body) + f"AP is ahead in {won} of {of} paired comparisons with learned baselines.\n"


def bits_text(rows: Sequence[BitsRow]) -> str:
    """Table 3 (R28, section 4.5, page 3)."""
    head = ("Bits", "Buckets", "Perceptron", "AP", "No average", "Dense", "Stamps", "Correction", "Difference")
    body = [
        (
            str(row.bits),
            str(row.buckets),
            str(row.perceptron),
            str(row.averaged),
            *map(_tenth, row.writes),
            f"{row.difference:.1e}",
        )
        for row in rows
    ]
    return _text("Table 3", head, body)


def margin_text(rows: Sequence[MarginRow]) -> str:
    """Table 4 (R29, section 4.6, page 3)."""
    body = [(f"{row.gamma:g}", str(row.epochs), str(row.last), str(row.averaged), _tenth(row.updates)) for row in rows]
    return _text("Table 4", ("gamma", "E", "Last", "Average", "Updates"), body)


def tuning_text(rows: Sequence[Choice]) -> str:
    """What is chosen on the tuning seed (R27, section 4.3, page 2)."""
    body = [(row.method, ", ".join(f"{value:g}" for value in row.value), f"{row.error:.2f}") for row in rows]
    return _text("Tuning, seed 100", ("Method", "Chosen", "Error"), body)


def values_text(rows: Sequence[Value]) -> str:
    """The values to check (R21, appendix A, page 4)."""
    body = [("ok" if row.agrees else "DIFFERS", row.name, row.paper, row.here) for row in rows]
    return _text("Values to check", ("", "Value", "Paper", "Here"), body)


def _tenth(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _text(title: str, head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (head, *body)) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *body)
    ]
    return "\n".join([title, lines[0], "-" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]]) + "\n"
