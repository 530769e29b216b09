"""Escape and bound text for a model, so that the text hides nothing."""

from __future__ import annotations

import re

LARGEST_ANSWER = 30_000
_SHARE_OF_THE_TAIL = 3
# Controls but line end and tab, what has no width, what turns the direction of writing, tags, and halves of surrogate pairs.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def escape_text(text: str) -> str:
    """Return the text with every invisible character written out."""
    return UNSEEN.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def bound_text(text: str, most: int = LARGEST_ANSWER) -> str:
    """Return the text, or its head and tail with the number of characters left out."""
    if len(text) <= most:
        return text
    room = most - 60
    tail = room // _SHARE_OF_THE_TAIL
    return f"{text[: room - tail]}\n… {len(text) - room:,} characters left out here …\n{text[-tail:]}"


def one_line(text: str, most: int = 200) -> str:
    """Return the text as one escaped line of bounded length."""
    line = " ".join(escape_text(text[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def shorten_text(text: str, most: int) -> str:
    """Return the text as one line of at most so many characters, cut between words."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    return (head.rpartition(" ")[0] if " " in head[most // 2 :] else head) + "…"
