"""Render the templates, for single-file pages and for the page of `serve`.

Every value is escaped and nothing is marked as safe, since the content comes from papers and models.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any, NamedTuple

from phases.pages.mathml import set_formula, split_formulas
from phases.planning.plan_words import name_place, name_value, read_aloud, write_value
from pipeline.base.files import read_bytes
from pipeline.base.text_escaping import escape_text

_HERE = os.path.dirname(__file__)
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class Shape(NamedTuple):
    """An element of a drawing. Tag and attributes are trusted; text and title may be untrusted."""

    tag: str
    attributes: Mapping[str, object]
    text: str = ""
    title: str = ""
    inside: Sequence[Shape] = ()


class Templates:
    """The templates in templates/ and in `more`, with their shared filters."""

    def __init__(self, *more: str, **filters: Callable[..., object]) -> None:
        import jinja2  # imported here: importers of this module may only write text

        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([*more, os.path.join(_HERE, "templates")]),
            autoescape=True,
            finalize=_show_unseen,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(
            count=lambda number: f"{number:,}",
            aloud=read_aloud,
            formula=lambda text: [set_formula(text)],
            formulas=split_formulas,
            place=name_place,
            value=write_value,
            value_name=name_value,
            figure=write_figure,
            lasted=write_seconds,
            pretty=lambda value: json.dumps(value, indent=2, ensure_ascii=False),
            capitalize_first=lambda text: text[:1].upper() + text[1:],
            **filters,
        )

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """Return a template with these values."""
        return self._environment.get_template(template).render(values)


def render_file(start: str, title: str, template: str, values: Mapping[str, Any], places: tuple[str, ...] = ()) -> str:
    """Return a page that is one file, with its styles. `start` begins every page of its command."""
    body = _own_templates().render(template, values)
    return render_frame(start, in_html(title or "untitled"), read_style(), places, body)


@cache
def _own_templates() -> Templates:
    return Templates()


@cache
def read_style() -> str:
    """Return the stylesheet."""
    return read_bytes(os.path.join(_HERE, "page.css")).decode()


def in_html(text: str) -> str:
    """Return text for an element or a quoted attribute, with invisible characters spelled out."""
    # untrusted text reaches a page only through here (decision 72)
    return escape(escape_text(text))


def page_start(command: str) -> str:
    """Return the start of every page of a command, and of no other file, so that no other file is overwritten."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="generator" content="pipeline {command}">'
    )


def render_frame(start: str, title: str, style: str, places: tuple[str, ...], body: str) -> str:
    """Return a whole page. `places`: ids of its parts, which the keyboard can skip to."""
    links = " ".join(f'<a href="#{place}">{place}</a>' for place in places)
    skip = f'<nav class="skip" aria-label="Skip to">{links}</nav>' if places else ""
    return (
        f'{start}<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{style}</style></head>\n'
        f"<body>{skip}\n{body}</body></html>\n"
    )


def embed_picture(png: bytes) -> str:
    """Return a picture as a data address."""
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _show_unseen(value: Any) -> Any:
    """Return text with invisible characters spelled out; autoescape follows."""
    return escape_text(value) if type(value) is str else value


def write_figure(value: float | None, spread: float | None) -> str:
    """Return a figure of a table, with its spread if it has one."""
    if value is None:
        return "–"
    return f"{value:.5g}" if spread is None else f"{value:.5g}±{spread:.3g}"


def write_seconds(seconds: float) -> str:
    """Return a duration in at most two digits: 4 s, 3 min, 2 h."""
    if seconds < 1:
        return f"{seconds:.1f} s" if seconds >= 0.05 else "0 s"
    return write_span(seconds)


def write_span(seconds: float) -> str:
    """Return a whole number of the largest unit that fits."""
    return next(f"{seconds / size:.0f} {unit}" for below, unit, size in _STEPS if seconds < below)


_STEPS = ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600), (float("inf"), "d", 86400))
