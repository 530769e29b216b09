"""One thing that is wrong with a configuration, in words that fit on a line."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """One thing that is wrong."""

    place: str
    """Where, below `hooks`: `.items[2].timeout_sec`."""
    words: str


def quoted(value: object) -> str:
    """A value as a message shows it: on one line, and not too long."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]}…{text[-15:]}"
