"""What a sentence is about by its place: data, measures, or the topic of a run-in heading. Data are no part of the method."""

from __future__ import annotations

import re

from phases.planning.rules.blocks import ITEM
from phases.planning.rules.passages import PaperText
from phases.planning.rules.sections import BUILD, KINDS_OF_DATA, MIXED, SETUP

_HEADING = re.compile(
    rf"\bdata ?sets?\b|\bcorp(?:us|ora)\b|^(?:the )?(?:(?:[\w-]+ )?(?:{KINDS_OF_DATA}) )?data(?:$|:| and\b)"
    r"|^(?:[\w-]+ ){0,2}data(?: collection| generation| preparation| sources?| splits?)"
    r"|Datens[aä]tz|数据集|データセット",
    re.IGNORECASE,
)
_MEASURES = re.compile(r"\b(?:metrics?|measures|baselines?|hardware|GPUs?)\b", re.IGNORECASE)
_SAID = re.compile(
    r"\bdata ?sets?\b|\bcorp(?:us|ora)\b|\b(?:training|test|validation|dev(?:elopment)?) (?:set|split|data|labels|examples)\b",
    re.IGNORECASE,
)
_MADE = re.compile(
    r"\b(?:drawn|sampled|generat(?:es?|ed|or)|flipped|simulated|randomly|split into|divided into|partition(?:ed)?|collected"
    r"|downloaded|annotated|consists? of|contains?|comprises?)\b|\b(?:there are|has|have) [^.;]{0,20}\d",
    re.IGNORECASE,
)
_RUN_IN = re.compile(r"([A-Z][\w-]*(?: [\w-]+){0,3})(?:\.$|: (?=[A-Z]))")
"""A topic in a sentence of its own, "Hashing.", or before one: "Preparing requests: While"."""


def is_section_of_data(title: str) -> bool:
    """Whether a heading says that what stands under it is about data."""
    return bool(_HEADING.search(title))


def is_section_of_measures(title: str) -> bool:
    """Whether a heading says that what stands under it is about measures, rivals or machines."""
    return bool(_MEASURES.search(title))


def read_topics(paper: PaperText) -> list[str]:
    """For each sentence the run-in heading under which it stands in its section; empty where there is none."""
    topics: list[str] = []
    last, topic = "", ""
    for one in paper.sentences:
        topic = topic if one.section["id"] == last else ""
        last = one.section["id"]
        found = _RUN_IN.match(one.text)
        topic = found.group(1) if found else topic
        topics.append(topic)
    return topics


def find_data_sentences(paper: PaperText) -> set[int]:
    """The places in `paper.sentences` of what is said of the data: under their headings, of their making, and lists of that."""
    found: set[int] = set()
    leads: dict[str, str] = {}
    for place, (one, topic) in enumerate(zip(paper.sentences, read_topics(paper), strict=True)):
        if one.role not in (BUILD, SETUP, MIXED):
            continue
        is_item = one.kind == ITEM and leads.get(one.lead) == topic
        if is_item or is_section_of_data(one.section["title"]) or (_SAID.search(one.text) and _MADE.search(one.text)):
            found.add(place)
            leads[one.text] = topic
    return found
