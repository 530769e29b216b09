"""List what the plan may lack: parts of the paper without a row, words with holes, tables whose rows are not known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.planning.rules.names import letters_of
from phases.planning.rules.passages import PaperText, name_section
from phases.planning.rules.requirements import has_hole
from phases.planning.rules.results import TableUse
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, SETUP, Section, split_heading

Row = Mapping[str, Any]
Doubts = Iterator[dict[str, Any]]
Plan = Mapping[str, Sequence[Row]]
MOST, _NAMED, _FEWEST_SENTENCES, _FEWEST = 10, 5, 2, 8
_BUILT = (BUILD, SETUP, MIXED)
_POINTS_TO = re.compile(
    r"\b(Algorithm|Listing|Procedure) ([0-9]+|[A-Z][0-9]+)(?![\w.])(?! (?:of|in|from|by) [^.;]{0,40}?(?:\[[0-9]|et al"
    r"|\([^()]{0,40}(?:19|20)[0-9]{2}))"
)
"""An algorithm of this paper: "Algorithm 3 of Smith [7]" is another's."""


def find_doubts(paper: PaperText, plan: Plan, uses: Sequence[TableUse]) -> list[dict[str, Any]]:
    """Return at most `MOST` doubts, what was left out first."""
    left_out = (*_few(paper, plan), *_empty_sections(paper, plan), *_lost_listings(paper, plan), *_unused_tables(plan))
    others = (*_holes(paper), *_unsure_tables(uses))
    return [*left_out, *others][:MOST]


def _few(paper: PaperText, plan: Plan) -> Doubts:
    count = len(plan["requirements"])
    if count < _FEWEST:
        why = "its sections say little of what is built" if paper.outline["sections"] else "no heading was recognized"
        yield {"what": f"Only {count} of the sentences are read as requirements: {why}. Add what is missing."}
    if not plan["values"]:
        yield {"what": "No value is stated in a sentence or table that the rules can read."}


def _empty_sections(paper: PaperText, plan: Plan) -> Doubts:
    parts = [row for row in plan["components"] if row.get("steps") or row.get("equations")]
    quoted = {row["source"]["section"] for row in (*plan["requirements"], *plan["values"], *parts)}
    said = Counter(one.section["id"] for one in paper.sentences)
    empty = [
        _place(one)
        for one in paper.outline["sections"]
        if paper.roles.get(one["id"]) in _BUILT
        and said[one["id"]] >= _FEWEST_SENTENCES
        and name_section(one) not in quoted
    ]
    if empty:
        yield {"what": f"Nothing is taken from section {_join(empty)}: read it for what is built."}


def _lost_listings(paper: PaperText, plan: Plan) -> Doubts:
    joint = letters_of(" ".join(step for row in plan["components"] for step in row.get("steps", ())))
    lost: dict[str, None] = {}
    for one in paper.listings:
        lines = [letters_of(line) for line in one.text.split("\n") if len(letters_of(line)) > 3]
        if lines and 2 * sum(line in joint for line in lines) < len(lines):
            lost[f"section {name_section(one.section)} (p. {one.page})"] = None
    if lost:
        yield {"what": f"Not in the plan: the listings of {_join(list(lost))}: read them in the paper."}
    known = {str(row.get("algorithm", "")) for row in plan["components"]}
    for match in _POINTS_TO.finditer(paper.prose):
        label = f"{match[1]} {match[2]}"
        if label not in known:
            known.add(label)
            yield {"what": f"{label}, to which the paper points, is not in the plan: read it in the paper."}
    for row in plan["components"]:
        if row.get("algorithm") and not row.get("steps"):
            page = row["source"]["page"]
            yield {"about": row["id"], "what": f"The lines of {row['algorithm']} could not be read: read page {page}."}


def _unused_tables(plan: Plan) -> Doubts:
    unused = [f"{row['table']} (p. {row['page']}), {row['why']}" for row in plan["tables"] if row["used_as"] == "none"]
    if unused:
        yield {"what": f"Nothing is taken from {_join(unused)}."}


def _holes(paper: PaperText) -> Doubts:
    broken = [one for one in paper.sentences if one.role in _BUILT and len(one.text) > 40 and has_hole(one.text)]
    if broken:
        places = dict.fromkeys(f"“{one.text[:60].rstrip()}…” (p. {one.page})" for one in broken)
        yield {"what": f"Words or signs are lost in {_join(list(places))}: read them in the paper."}


def _unsure_tables(uses: Sequence[TableUse]) -> Doubts:
    for one in uses:
        if one.rows and not one.is_sure:
            what = f"The method's own rows of {one.label} are not known: all rows but those of others are targets."
            yield {"about": one.label, "what": what}
    if not any(one.rows for one in uses) and any(one.table.role in (RESULTS, MIXED) for one in uses):
        yield {"what": "No table is read as results."}


def _place(section: Section) -> str:
    title = split_heading(section["title"])[0]
    name = f"{section['number']} {title}" if section["number"] else repr(title)
    return f"{name} (p. {section['page']})"


def _join(places: Sequence[str]) -> str:
    more = len(places) - _NAMED
    return f"{'; '.join(places[:_NAMED])}{f' and {more} more' if more > 0 else ''}"
