"""Fills the templates. Every value is escaped, and nothing is ever marked as safe: what is shown comes from papers and models."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jinja2

from phases.planning.plan_words import name_place, name_value, read_aloud, read_formula, write_value
from pipeline.base.text_escaping import escape_text
from pipeline.cli.results import write_figure

_HERE = os.path.dirname(__file__)
STATIC = os.path.join(_HERE, "static")
_STEPS = ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600), (float("inf"), "d", 86400))


Templates = jinja2.Environment


def build_templates() -> Templates:
    """The templates of the pages, with the words that they share."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.join(_HERE, "templates")),
        autoescape=True,
        finalize=_show_unseen,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        money=write_money,
        ago=write_age,
        lasted=write_seconds,
        count=lambda number: f"{number:,}",
        aloud=read_aloud,
        formula=read_formula,
        place=name_place,
        value=write_value,
        value_name=name_value,
        figure=write_figure,
        capitalize_first=lambda text: text[:1].upper() + text[1:],
        pretty=lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    )
    return templates


def render(templates: Templates, template: str, values: Mapping[str, Any]) -> bytes:
    """A template as bytes."""
    return templates.get_template(template).render(values).encode("utf-8", "replace")


def _show_unseen(value: Any) -> Any:
    """Text with every character that would not be seen written out; autoescape follows."""
    return escape_text(value) if type(value) is str else value


def write_money(usd: float) -> str:
    """Dollars, to the cent; less than one in full."""
    return "$0" if not usd else f"${usd:.4f}" if usd < 0.01 else f"${usd:,.2f}"


def write_seconds(seconds: float) -> str:
    """A length of time in two figures at most: 4 s, 3 min, 2 h."""
    if seconds < 1:
        return f"{seconds:.1f} s" if seconds >= 0.05 else "0 s"
    return _write_span(seconds)


def write_age(at: str) -> str:
    """How long ago a time stamp is: "3 min ago"."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return at
    seconds = (datetime.now(UTC) - then.astimezone(UTC)).total_seconds()
    return "now" if seconds < 5 else f"{_write_span(seconds)} ago"


def _write_span(seconds: float) -> str:
    return next(f"{seconds / size:.0f} {unit}" for below, unit, size in _STEPS if seconds < below)
