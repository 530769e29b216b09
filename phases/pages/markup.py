"""Text that a paper, a model or a workspace chose, as it may stand in a page: the same marks, and nothing that acts."""

from __future__ import annotations

from html import escape

from pipeline.base.text_escaping import escape_text


def in_html(text: str) -> str:
    """The text for an element or a quoted attribute, with what no person can see spelt out."""
    return escape(escape_text(text))
