"""What every page is made with: the escaping of text that others chose, and the frame, which runs and loads nothing."""

from __future__ import annotations

import base64
from html import escape

from pipeline.base.text_escaping import escape_text

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def in_html(text: str) -> str:
    """The text for an element or a quoted attribute, with what no person can see spelt out."""
    # hostile text reaches a page here and nowhere else (decision 72)
    return escape(escape_text(text))


def page_start(command: str) -> str:
    """What every page of a command begins with, and no other file: so no other file is ever written over."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="generator" content="pipeline {command}">'
    )


def render_frame(start: str, title: str, style: str, places: tuple[str, ...], body: str) -> str:
    """A whole page. `places` are the ids of its parts, which a keyboard can skip to."""
    links = " ".join(f'<a href="#{place}">{place}</a>' for place in places)
    skip = f'<nav class="skip" aria-label="Skip to">{links}</nav>' if places else ""
    return (
        f'{start}<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{style}</style></head>\n'
        f"<body>{skip}\n{body}</body></html>\n"
    )


def in_picture(png: bytes, words: str) -> str:
    """A picture that the page itself holds; `words` say what it shows."""
    return f'<img alt="{in_html(words)}" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">'
