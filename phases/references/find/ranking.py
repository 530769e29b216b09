"""Score how much each reference would help to write the paper's code, with the reason in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.references.find.own_code import says_builds_on
from phases.references.find.text import shorten_text
from phases.references.values import Entry, Mention

_METHOD_KINDS = frozenset({"method", "algorithm", "experiment"})
_OTHER_KINDS = frozenset({"introduction", "related", "abstract", "conclusion", "references", "front"})
_METHOD_TITLE = re.compile(
    r"\b(?:method\w*|approach|model\w*|architecture|algorithms?|implementation|training|experiment\w*|set-?up|settings?|procedure|"
    r"framework|system|design|optimi[sz]\w+|objective|loss|network|baselines?|evaluation|hyper-?parameters?|Verfahren|Methode\w*|Versuch\w*)\b|方法|实验|算法|模型",
    re.IGNORECASE,
)
_OTHER_TITLE = re.compile(
    r"\b(?:related|introduction|background|conclusions?|discussion|previous|literature|acknowledg\w+|limitations?)\b",
    re.IGNORECASE,
)
METHOD, BUILDS, OFTEN, NEAR, LINKED = 0.25, 0.35, 0.2, 0.1, 0.1
"""Maximum score of each sign; together they are 1."""


class Rank(NamedTuple):
    """The place of a reference among the others."""

    score: float
    why: str
    builds: str | None
    """The sentence that says that the paper builds on it, if there is one."""


def ranks_of(
    entries: Sequence[Entry],
    citations: Mapping[str, Sequence[Mention]],
    outline: Mapping[str, Any],
    kinds: Mapping[str, str],
) -> dict[str, Rank]:
    """Return the rank of each reference, by id."""
    methods = method_sections(outline, kinds)
    anchored = {
        row["section"]: row["label"]
        for name in ("equations", "tables", "algorithms")
        for row in outline.get(name, ())
        if row["section"] in methods
    }
    return {entry.id: _rank_entry(entry, citations.get(entry.id, ()), methods, anchored) for entry in entries}


def method_sections(outline: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the sections that describe the method, with a name for people: by kind, by title, or by parent section."""
    names: dict[str, str] = {}
    numbers: set[str] = set()
    for section in outline.get("sections", ()):
        kind, number = kinds.get(section["id"]), section["number"] or ""
        parents = {number.rsplit(".", back)[0] for back in range(1, number.count(".") + 1)} if number else set()
        by_title = _METHOD_TITLE.search(section["title"][:200]) and not _OTHER_TITLE.search(section["title"][:200])
        if kind in _METHOD_KINDS or (kind not in _OTHER_KINDS and (by_title or parents & numbers)):
            names[section["id"]] = number or shorten_text(section["title"], 40)
            numbers |= {number} - {""}
    return names


def _rank_entry(
    entry: Entry, mentions: Sequence[Mention], methods: Mapping[str, str], anchored: Mapping[str, str]
) -> Rank:
    inside = [mention for mention in mentions if mention.section in methods]
    builds = next((mention.quote for mention in mentions if says_builds_on(mention.quote)), None)
    near = next(
        (anchored[mention.section] for mention in inside if mention.section and mention.section in anchored), None
    )
    score = OFTEN * (1 - 0.6 ** len(mentions)) + METHOD * (1 - 0.5 ** len(inside))
    score += BUILDS * (builds is not None) + NEAR * (near is not None) + LINKED * bool(entry.repositories)
    reasons = [_citation_reason(mentions, inside, methods)]
    reasons += [f'the paper builds on it: "{shorten_text(builds, 160)}"'] if builds else []
    reasons += [f"cited in the same section as {shorten_text(near, 40)}"] if near else []
    reasons += ["links a repository"] if entry.repositories else []
    return Rank(round(min(1.0, score), 3), "; ".join(reasons), builds)


def _citation_reason(mentions: Sequence[Mention], inside: Sequence[Mention], methods: Mapping[str, str]) -> str:
    if not mentions:
        return "never seen cited in the text"
    words = "cited once" if len(mentions) == 1 else f"cited {len(mentions)} times"
    if not inside:
        return f"{words}, not in the method"
    names = list(dict.fromkeys(methods[mention.section] for mention in inside if mention.section))
    shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    part = "" if len(mentions) == 1 else f" {len(inside)} of them"
    return f"{words},{part} in the method ({shown})"
