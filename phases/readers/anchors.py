"""The algorithms, equations, tables and figures of paper.md: label, caption and place of each."""

from __future__ import annotations

import re
from typing import Any

from phases.readers.places import Places

_ALGORITHM = "Algorithm|Algorithmus|ALGORITHM|算法|알고리즘"
_TABLE = "Table|TABLE|Tab|Tabelle|表|표"
_FIGURE = "Figure|FIGURE|Fig|Abbildung|Abb|图|圖|그림"
_CAPTION = (
    r"^[ \t>*_|]*((?:{words})\.?[ \t]*(?:[0-9]+|[A-Z]\.?[0-9]+)(?:\.[0-9]+)?)(?:[ \t]*[:.|*_]+[ \t*_]*|{loose})(.*)$"
)
_UNMARKED = r"[ \t]*$"
_CAPITAL = r"[ \t]+(?=[^\sa-z])"
_DISPLAY = re.compile(r"\$\$([^$]*(?:\$(?!\$)[^$]+)*)\$\$")
_TAG = re.compile(r"\\tag\{([^{}]*)\}")
_UNSEEN = re.compile(
    r"<!--.*?-->|\\(?:label|begin|end)\{[^{}]*\}|\\(?:nonumber|notag|quad|qquad|[,;:! \\])|[\s{}&~]", re.DOTALL
)
_COUNTED = re.compile(r"^(?=[^\n]*[=≤≥<>∑∏∫])([^\n]{3,300}?)[ \t]{1,9}(\([0-9]{1,3}[a-z]?\))[ \t]{0,9}$", re.MULTILINE)
_LONGEST = 400


def anchors_of(text: str, body_start: int, places: Places) -> dict[str, list[dict[str, Any]]]:
    """The anchors of each kind, in the order of the text. Spans count characters of the whole text."""
    return {
        "algorithms": _captions(text, body_start, places, _ALGORITHM, "A", _CAPITAL),
        "equations": _equations(text, body_start, places),
        "tables": _captions(text, body_start, places, _TABLE, "T", _UNMARKED),
        "figures": _captions(text, body_start, places, _FIGURE, "F", _UNMARKED),
    }


def _captions(text: str, start: int, places: Places, words: str, letter: str, loose: str) -> list[dict[str, Any]]:
    """What stands under or over a float. `loose` is what may stand between label and text where no mark does."""
    found: dict[str, dict[str, Any]] = {}
    for match in re.compile(_CAPTION.format(words=words, loose=loose), re.MULTILINE).finditer(text, start):
        label = " ".join(match.group(1).split())
        if label.lower() not in found:
            caption = " ".join(match.group(2).replace("|", " ").split()).strip("* _")[:_LONGEST]
            # An algorithm stands in a fence of its own: its span is all of its steps.
            span = places.fence(match.start()) or match.span() if letter == "A" else match.span()
            found[label.lower()] = _anchor(f"{letter}{len(found) + 1}", label, caption, span, places)
    return list(found.values())


def _equations(text: str, start: int, places: Places) -> list[dict[str, Any]]:
    """Displayed equations; in a text without such marks, lines that end in a number of their own."""
    anchors: list[dict[str, Any]] = []
    for match in _DISPLAY.finditer(text, start):
        tag = _TAG.search(match.group(1))
        if not _UNSEEN.sub("", _TAG.sub("", match.group(1))):
            continue  # marks with no formula between them
        content = " ".join(_TAG.sub("", match.group(1)).split())[:_LONGEST]
        label = f"({tag.group(1)})" if tag else ""
        anchors.append(_anchor(f"E{len(anchors) + 1}", label, content, match.span(), places))
    for match in _COUNTED.finditer(text, start) if not anchors else ():
        content = " ".join(match.group(1).split())
        anchors.append(_anchor(f"E{len(anchors) + 1}", match.group(2), content, match.span(), places))
    return anchors


def _anchor(identifier: str, label: str, text: str, span: tuple[int, int], places: Places) -> dict[str, Any]:
    return {
        "id": identifier,
        "label": label,
        "text": text,
        "page": places.page(span[0]),
        "section": places.section(span[0]),
        "start": span[0],
        "end": span[1],
    }
