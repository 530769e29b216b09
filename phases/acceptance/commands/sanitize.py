"""Sanitize hostile text for display: visible characters only, bounded, without our own tag."""

from __future__ import annotations

import re

from phases.sandbox.output import cut_middle
from pipeline.base.text_escaping import UNSEEN

_SEQUENCES = re.compile(
    # No part of a sequence can begin another one, so the time is linear in the text. What is not closed ends with its line.
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x9c|\x1b\\\\)?"
    "|\x1b[ -/]*[0-~]?"
)
_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?acceptance\s*+[-_\u2010-\u2015\u2212]\s*+feedback)", re.IGNORECASE)


def strip_control(data: bytes | str, most: int) -> str:
    """Return its visible characters; of more than `most` bytes the first quarter and the last three."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    text = _SEQUENCES.sub("", text)
    if "\r" in text:
        text = "\n".join(map(_last_shown, text.split("\n")))
    return cut_middle(UNSEEN.sub("", text).encode(), most).decode()


def mask_tag(text: str) -> str:
    """Mask `<acceptance-feedback` and `</acceptance-feedback` in any spelling, keeping the length."""
    return _TAG.sub("[", text)


def _last_shown(line: str) -> str:
    """Return the final state of a line that is overwritten, as progress is."""
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")
