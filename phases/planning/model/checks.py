"""What is wrong with a plan that fits its schema: names that lead nowhere, circles, citations that are not the paper's."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_FEWEST_LETTERS = 10
REVIEW = "review"
"""The section that a requirement cites which a person asked for."""


def problems_of(plan: Mapping[str, Any], cited: Cited, present: Mapping[str, Any] | None = None) -> list[str]:
    """Every fault, each as a line for the model. Citations that stand so in the present plan are not looked at again."""
    return [*_requirement_faults(plan, cited, present), *_file_faults(plan), *_order_faults(plan), *_other_faults(plan)]


def misquotes_of(plan: Mapping[str, Any], cited: Cited, present: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Requirement id -> why its source cannot stand."""
    kept = {row["id"]: row for row in present["requirements"]} if present else {}
    faults = ((row["id"], cited.fault(row)) for row in plan["requirements"] if row != kept.get(row["id"]))
    return {name: fault for name, fault in faults if fault}


def without_quote(row: Mapping[str, Any], cited: Cited) -> dict[str, Any]:
    """The requirement with nothing in it that says the paper states it."""
    source = row["source"]
    page = source["page"] if cited.has_page(source["page"]) else 0
    section = None if source["section"] == REVIEW else source["section"]
    status = "missing" if row["status"] == "missing" else "inferred"
    return {**row, "source": {**source, "section": section, "page": page, "quote": ""}, "status": status}


class Cited:
    """What may be cited: the pages of the paper, and what people asked for."""

    def __init__(self, pages: Sequence[tuple[int, str]], requests: Iterable[str] = ()) -> None:
        self._numbers = [number for number, _ in pages]
        self._starts: list[int] = []
        parts, length = [], 0
        for _, text in pages:
            self._starts.append(length)
            parts.append(_letters(text))
            length += len(parts[-1])
        self._text = "".join(parts)
        self._requests = _letters("\n".join(requests))

    def has_page(self, page: int) -> bool:
        """Whether the paper has a page of this number."""
        return page in self._numbers

    def fault(self, row: Mapping[str, Any]) -> str | None:
        """Why the source of a requirement cannot stand, or None. Letters and digits count; marks and spaces do not."""
        source, quote = row["source"], _letters(row["source"]["quote"])
        if source["section"] == REVIEW and source["page"] == 0:
            return None if quote in self._requests else "nobody asked for what it quotes"
        if not quote and row["status"] != "stated":
            return None if source["page"] in (0, *self._numbers) else self._no_page(source["page"])
        if source["page"] not in self._numbers:
            return self._no_page(source["page"])
        if len(quote.encode("utf-8")) < min(_FEWEST_LETTERS, len(self._text.encode("utf-8"))):
            return "the quote is too short to find its place by: quote a few whole words of the paper"
        pages = self._pages_of(quote)
        if not pages:
            return (
                f"the quote {source['quote'][:120]!r} is not in the paper; quote it word for word, without leaving out"
            )
        if source["page"] not in pages:
            return f"the quote stands on page {min(pages)}, not on page {source['page']}"
        return None

    def _pages_of(self, quote: str) -> set[int]:
        """Every page that the quote stands on, in whole or in part."""
        found, at = set(), self._text.find(quote)
        while at >= 0:
            first, last = (bisect_right(self._starts, place) - 1 for place in (at, at + len(quote) - 1))
            found |= set(self._numbers[first : last + 1])
            at = self._text.find(quote, at + len(quote))
        return found

    def _no_page(self, page: int) -> str:
        return f"there is no page {page}; the pages are {min(self._numbers)} to {max(self._numbers)}"


def _requirement_faults(plan: Mapping[str, Any], cited: Cited, present: Mapping[str, Any] | None) -> Iterator[str]:
    known = Counter(row["id"] for row in plan["requirements"])
    yield from (f"requirements: the id {name} stands {count} times" for name, count in known.items() if count > 1)
    yield from (f"{name}: {fault}" for name, fault in misquotes_of(plan, cited, present).items())
    for row in plan["file_structure"]:
        yield from (f"{row['path']}: implements {name}, which is no requirement" for name in row.get("implements", ())
                    if name not in known)  # fmt: skip
    for row in plan["implementation_components"]:
        yield from (f"the component {row['name']!r} names {name}, which is no requirement" for name in row["requirements"]
                    if name not in known)  # fmt: skip


def _file_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    planned = Counter(row["path"] for row in plan["file_structure"])
    yield from (f"file_structure: {path} is planned {count} times" for path, count in planned.items() if count > 1)
    for path in planned:
        parts = path.split("/")
        folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        yield from (
            f"file_structure: {folder} is a file and the folder of {path}" for folder in folders if folder in planned
        )
    for row in plan["file_structure"]:
        yield from (f"{row['path']}: depends_on {path}, which is not planned" for path in row.get("depends_on", ())
                    if path not in planned)  # fmt: skip
    if circle := _circle({row["path"]: row.get("depends_on", ()) for row in plan["file_structure"]}):
        yield f"file_structure: depends_on goes round in a circle: {' -> '.join(circle)}"


def _order_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    order = plan["implementation_strategy"]
    needs = {row["path"]: row.get("depends_on", ()) for row in plan["file_structure"]}
    counted, place = Counter(order), {path: index for index, path in enumerate(order)}
    yield from (f"implementation_strategy: {path} stands {count} times" for path, count in counted.items() if count > 1)
    yield from (f"implementation_strategy: {path} is not planned" for path in counted if path not in needs)
    yield from (f"implementation_strategy: {path} is planned and missing here" for path in needs if path not in counted)
    for path, index in place.items():
        yield from (f"implementation_strategy: {path} comes before {other}, which it depends on"
                    for other in needs.get(path, ()) if place.get(other, -1) > index)  # fmt: skip


def _other_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    commands = plan["validation_approach"]["verify_commands"]
    if not any(command.strip() for command in commands):
        yield "validation_approach: verify_commands is empty; nothing would show that the code works"


def _circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """One circle, its first name again at its end; nothing where there is none."""
    done: set[str] = set()
    for start in needs:
        path, on_path, waiting = [start], {start}, [iter(needs[start])]
        while path:
            following = next((name for name in waiting[-1] if name in needs and name not in done), None)
            if following is None or path[-1] in done:
                on_path.discard(path[-1])
                done.add(path.pop())
                waiting.pop()
            elif following in on_path:
                return [*path[path.index(following) :], following]
            else:
                path.append(following)
                on_path.add(following)
                waiting.append(iter(needs[following]))
    return []


def _letters(text: str) -> str:
    """Letters and digits alone, in one case: how words are broken, spaced and marked makes no difference."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
