"""The references of paper.md, one by one."""

from __future__ import annotations

import re

_START = re.compile(r"^[ \t]{0,20}(?:[-*][ \t]{1,20})?(?:\[[^\]\n]{1,24}\]|[0-9]{1,3}\.)[ \t]+", re.MULTILINE)
_COUNTED = re.compile(r"(?:^|(?<=\s))(?:[-*][ \t]+)?\[([0-9]{1,4})\]")
_YEAR = re.compile(r"\b(?:1[89]|20)[0-9]{2}[a-z]?\b")
_ASIDE = ("|", ">", "[^")
_SHORTEST = 40
_FEWEST = 3


def references_of(block: str) -> list[dict[str, str]]:
    """The references in the text of their section, one for each paragraph; a list by hand has one for each label."""
    raws = [raw for paragraph in re.split(r"\n[ \t]*\n", block) for raw in _labelled(paragraph)]
    counted = _counted_starts(block)
    if len(counted) > len(raws):
        raws = [block[start:end] for start, end in zip(counted, [*counted[1:], len(block)], strict=True)]
    cleaned = [" ".join(raw.lstrip(" -*").split()) for raw in raws if not raw.lstrip().startswith(_ASIDE)]
    kept = [raw for raw in cleaned if _YEAR.search(raw) or len(raw) > _SHORTEST]
    return [{"id": f"B{index}", "raw": raw} for index, raw in enumerate(kept, 1)]


def _labelled(paragraph: str) -> list[str]:
    """The pieces of a paragraph whose lines begin with labels."""
    starts = [match.start() for match in _START.finditer(paragraph)]
    if len(starts) < 2:
        return [paragraph]
    starts[0] = 0
    return [paragraph[start:end] for start, end in zip(starts, [*starts[1:], len(paragraph)], strict=True)]


def _counted_starts(block: str) -> list[int]:
    """Where [1], [2], [3] … begin, also within a line; nothing where the list is not counted so."""
    starts: list[int] = []
    for match in _COUNTED.finditer(block):
        if int(match.group(1)) == len(starts) + 1:
            starts.append(match.start())
    return starts if len(starts) >= _FEWEST else []
