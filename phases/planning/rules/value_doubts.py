"""What the rules could not decide of the values: each doubt says what was seen, on which page, and what to decide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from phases.planning.rules.value_patterns import HEADS

_MOST = 8
_POWER = re.compile(r"(10(?=.$)|2(?=..$))([3-9]|10|12|14|16|1[89]|20|3[0-2]|64)")
"""Whole numbers that mostly are powers whose raised digits stand in the line: 107 operations, 210 experiments; not 224."""
_TRIED = re.compile(
    r"\b(?:grids?|seeds|tun\w+|search\w*|swe[ep]\w*|swept|var(?:y|ied|ies|ying)|rang\w+|tri(?:ed|als?)|compar\w+|explor\w+"
    r"|candidates?|chosen from|selected from)\b|∈|\\in(?![a-z])",
    re.IGNORECASE,
)
"""What says that all of the values were tried."""
_TRIED_NEAR = re.compile(r"\b(?:test(?:s|ed|ing)?|different|each|all)\b", re.IGNORECASE)
"""What says so of the values that follow closely; elsewhere it is said of layers, or of the test set."""
_TRIED_AFTER = re.compile(r"\btested\b", re.IGNORECASE)
_CLOSE = 60
_PARTS = re.compile(r"^[^#]*(?:, | and )[^#]*#|(?:units|neurons|filters|channels) #.*layers")
"""One setting of several parts: beta1, beta2; the units of each layer."""
_SETTING = re.compile(
    rf"(?:(?!number of ).* )?(?:{HEADS})|number of .*(?:layers|heads|epochs|runs|folds|seeds)",
    re.IGNORECASE,
)
"""A name that stands for one setting wherever it is read. A count is often of another thing each time: bits, examples, pages."""
_CASE = re.compile(
    r"\b(?:for|if|when|while|whereas|during|in (?:figure|table|our|\(|all|each)|on|first|second|initial\w*|final\w*|low|high"
    r"|small|large|base|big|respectively|instead|also|excluded|experiments?|versions?|variants?|both|increas\w+|decreas\w+)\b|:|\([a-z]\)",
    re.IGNORECASE,
)
"""What says that a value is of one case, so that another has another."""
Row = dict[str, Any]


def doubts_of_values(values: Sequence[Row]) -> list[Row]:
    """Rows of `uncertain` about values: several in one, digits that may be a power, and two that contradict each other."""
    return [row for find in (_several, _powers, _contradictions) for row in islice(find(values), _MOST)]


def _several(values: Sequence[Row]) -> Iterator[Row]:
    """Of rows with several values whose words say neither that all were tried nor, by a bracket, that they are one setting."""
    for row in values:
        quote = str(row["source"]["quote"])
        is_plain = "values" in row and " | " not in quote and not _PARTS.search(f"{row['name']} # {quote}")
        if (
            not is_plain
            or _is_sweep(row["values"])
            or _are_tried(row["name"], row["values"], quote)
            or _is_in_bracket(row["values"], quote)
        ):
            continue
        numbers = ", ".join(map(str, row["values"]))
        seen = (
            "says “respectively”, but not of what" if "respectively" in quote else "does not say of which case each is"
        )
        what = f"{row['name']}: {_page_of(row)} gives {numbers} and {seen}. Decide: try all of them, or give each its case."
        yield {"about": row["id"], "what": what}


def _is_sweep(values: Sequence[object]) -> bool:
    """Whether four or more numbers only rise or fall: what is run over, all of it."""
    numbers = [one for one in values if isinstance(one, int | float)]
    rising = sorted(numbers)
    return len(values) == len(numbers) > 3 and len(set(numbers)) == len(numbers) and numbers in (rising, rising[::-1])


def _are_tried(name: str, values: Sequence[object], quote: str) -> bool:
    place, last = quote.find(str(values[0])), quote.rfind(str(values[-1]))
    if place < 0 or last < 0:  # printed otherwise: 10^-4
        return bool(_TRIED.search(f"{name} {quote}") or _TRIED_NEAR.search(quote))
    near = _TRIED_NEAR.search(quote[max(0, place - _CLOSE) : place])
    return bool(near or _TRIED.search(f"{name} {quote}") or _TRIED_AFTER.search(quote[last : last + _CLOSE]))


def _is_in_bracket(values: Sequence[object], quote: str) -> bool:
    first, last = (re.escape(str(value)) for value in (values[0], values[-1]))
    return bool(re.search(rf"[\[({{] ?{first}[^\])}}]*{last} ?[\])}}]", quote))


def _powers(values: Sequence[Row]) -> Iterator[Row]:
    for row in values:
        if (power := _POWER.fullmatch(str(row.get("value")))) and not row.get("printed"):
            raised = f"{power.group(1)}^{power.group(2)}"
            what = (
                f"{power.group()} ({_page_of(row)}) may be {raised}: raised digits get lost in reading. See the page."
            )
            yield {"about": row["id"], "what": what}


def _contradictions(values: Sequence[Row]) -> Iterator[Row]:
    """Of settings with one name and owner that differ, in two sentences of one section, neither of which speaks of a case."""
    same: dict[tuple[str, ...], list[Row]] = {}
    for row in values:
        is_setting = row.get("symbol") or _SETTING.fullmatch(row["name"]) or " " not in row["name"]
        if is_setting and "value" in row and not _CASE.search(str(row["source"]["quote"])):
            place = (str(row.get("condition", "")).lower(), str(row["source"]["section"]))
            key = (row["name"].lower(), str(row.get("symbol")), row["owner"], *place)
            same.setdefault(key, []).append(row)
    for rows in same.values():
        quotes = {row["source"]["quote"] for row in rows}
        if len(rows) != len(quotes) or len(rows) != 2 or len({_figure_of(row) for row in rows}) != 2:
            continue
        seen = "; ".join(f"{_figure_of(row)} ({_page_of(row)})" for row in rows)
        what = f"{rows[0]['name']} is given as {seen}, and no words say when each holds. Decide which the main experiment has."
        yield {"about": ", ".join(row["id"] for row in rows), "what": what}


def _figure_of(row: Row) -> str:
    given = row["values"] if "values" in row else [row["value"]]
    return " ".join(filter(None, (", ".join(map(str, given)), str(row.get("unit", "")))))


def _page_of(row: Row) -> str:
    section = str(row["source"]["section"] or "")
    named = f"section {section}, " if section[:1].isdigit() else f"“{section}”, " if section else ""
    return f"{named}p. {row['source']['page']}"
