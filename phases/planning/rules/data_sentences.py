"""Which sentences say how the data are made, read or cut, so that they are no part of the method."""

from __future__ import annotations

import re

from phases.planning.rules.blocks import ITEM
from phases.planning.rules.passages import PaperText
from phases.planning.rules.sections import BUILD, MIXED, SETUP

_HEADING = re.compile(
    r"\bdata ?sets?\b|\bcorp(?:us|ora)\b|^(?:[\w-]+ ){0,2}data(?:$|:| and\b| collection| generation| preparation| sources?| splits?)"
    r"|Datens[aä]tz|数据集|データセット",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\bdata ?sets?\b|\bcorp(?:us|ora)\b|\b(?:training|test|validation|dev(?:elopment)?) (?:set|split|data|labels|examples)\b",
    re.IGNORECASE,
)
_MADE = re.compile(
    r"\b(?:drawn|sampled|generat(?:es?|ed|or)|flipped|simulated|randomly|split into|divided into|partition(?:ed)?|collected"
    r"|downloaded|annotated|consists? of|contains?|comprises?)\b|\b(?:there are|has|have) [^.;]{0,20}\d",
    re.IGNORECASE,
)
_RUN_IN = re.compile(r"[A-Z][\w-]*(?: [\w-]+){0,3}\.")
"""A topic in a sentence of its own: "Hashing."."""


def is_section_of_data(title: str) -> bool:
    """Whether a heading says that what stands under it is about data."""
    return bool(_HEADING.search(title))


def find_data_sentences(paper: PaperText) -> set[int]:
    """The places in `paper.sentences` of what is said of the data: under their headings, of their making, and lists of that."""
    found: set[int] = set()
    topic, topics = 0, dict[str, int]()
    for place, one in enumerate(paper.sentences):
        if one.role not in (BUILD, SETUP, MIXED):
            continue
        topic += bool(_RUN_IN.fullmatch(one.text))
        is_item = one.kind == ITEM and topics.get(one.lead) == topic
        if is_item or is_section_of_data(one.section["title"]) or (_SAID.search(one.text) and _MADE.search(one.text)):
            found.add(place)
            topics[one.text] = topic
    return found
