"""Templates of the pages, in addition to those of the one-file pages."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from phases.pages import render as shared

_HERE = os.path.dirname(__file__)
STATIC = os.path.join(_HERE, "static")


def build_templates() -> shared.Templates:
    """Return all templates, with their shared words."""
    return shared.Templates(os.path.join(_HERE, "templates"), money=write_money, ago=write_age)


def write_money(usd: float) -> str:
    """Format dollars, to the cent; less than one cent in full."""
    return "$0" if not usd else f"${usd:.4f}" if usd < 0.01 else f"${usd:,.2f}"


def write_age(at: str) -> str:
    """Return the age of a time stamp: "3 min ago"."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return at
    seconds = (datetime.now(UTC) - then.astimezone(UTC)).total_seconds()
    return "now" if seconds < 5 else f"{shared.write_span(seconds)} ago"
