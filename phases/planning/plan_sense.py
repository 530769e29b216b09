"""What does not make sense in a plan that a person edited, each with its line: ids, quotes, packages, checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from phases.planning.model.material import split_pages
from phases.planning.model.plan_validation import problems_of
from phases.planning.model.quote_index import QuoteIndex
from phases.planning.paper_check import differences_from_paper
from phases.planning.plan_edits import constant_faults
from pipeline.base.formats import Markdown
from pipeline.base.plain_yaml import locate_yaml

_ID = re.compile(r"\b[RVCEX][0-9]+\b")
_LISTS = {"R": "requirements", "V": "values", "C": "components", "E": "expected_results", "X": "experiments"}


def doubts_about(
    plan: Mapping[str, Any], data: bytes, paper: Markdown, outline: Mapping[str, Any], requests: list[str]
) -> list[str]:
    """One line a fault, with the line of the file where it is known: first what leads nowhere, then what the paper says
    otherwise."""
    pages = split_pages(paper.text[paper.body_start :])
    faults = [fault for fault in problems_of(plan, QuoteIndex(pages, requests)) if not _is_borne(fault)]
    by = paper.front.get("recognized_by")
    scan = [f"the paper is a scan, and {by} recognized its text: hold figures against the pages"] if by else []
    return scan + [
        f"{_place(fault, plan, data)}{fault}"
        for fault in (*faults, *constant_faults(plan), *differences_from_paper(plan, pages, paper.text, outline))
    ]


def _is_borne(fault: str) -> bool:
    """What a reviewer added quotes the reviewer, and nobody asked for it before; an item of a list may be short; and an address
    that no paper prints is a reviewer's: a model can name none."""
    added = "nobody asked for what it quotes" in fault or fault.startswith("datasets: the address ")
    return added or "the quote is too short" in fault


def _place(fault: str, plan: Mapping[str, Any], data: bytes) -> str:
    """ "line 12: ", by the first id or path that a fault names."""
    if match := _ID.search(fault):
        name = _LISTS[match.group()[0]]
        at = next((number for number, row in enumerate(plan.get(name, ())) if row["id"] == match.group()), None)
        if at is not None and fault.startswith(match.group()):
            return _line(data, (name, at))
    for number, row in enumerate(plan["file_structure"]):
        if row["path"] in fault:
            return _line(data, ("file_structure", number))
    section = fault.partition(":")[0]
    return _line(data, (section,)) if section in plan else ""


def _line(data: bytes, path: tuple[str | int, ...]) -> str:
    line, _ = locate_yaml(data, path)
    return f"line {line}: " if line else ""
