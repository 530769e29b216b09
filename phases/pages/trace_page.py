"""A page that puts the paper beside the code, with each requirement marked in both. It is escaped, and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from phases.evidence.demands import demands_of
from phases.evidence.places import Place, split_lines
from phases.evidence.values import value_difference
from phases.pages import style
from phases.pages.markup import in_html, page_start, render_frame
from pipeline.base.formats import Markdown

PAGE_START = page_start("trace")
MOST_LINES = 5000
_BLOCK = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+")
_HEADING = re.compile(r"(#{1,6}) +")
_PAGE_MARK = re.compile(r"<!-- page ([0-9]+) -->\s*$")
_SET_AS_IT_IS = ("|", "$$", "```", "~~~", "    ")


class Traced(NamedTuple):
    """All that the page shows."""

    paper: Markdown
    plan: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    """Of traceability.json."""
    places: Sequence[Place]
    files: Mapping[str, str]


class _Quote(NamedTuple):
    start: int
    end: int
    identifier: str
    status: str


def render_page(traced: Traced) -> str:
    """The page, as HTML."""
    requirements = {row["id"]: row for row in demands_of(traced.plan)}
    statuses = {row["id"]: row["status"] for row in traced.rows}
    quotes = sorted(_find_quotes(traced.paper, requirements, statuses))
    anchors = _code_anchors(traced)
    title = in_html(traced.plan["paper"]["title"] or "untitled")
    table = "".join(
        _table_row(
            row, requirements.get(row["id"], {}), {quote.identifier for quote in quotes}, (traced.places, anchors)
        )
        for row in traced.rows
    )
    code = "".join(_render_file(number, path, text, traced) for number, (path, text) in enumerate(traced.files.items()))
    body = (
        f'<header><h1>{title}</h1><p class="counts">{_render_counts(statuses)}</p></header>\n'
        '<section id="requirements" class="pane" tabindex="0" aria-label="Requirements">'
        "<table><thead><tr><th scope=col>Id<th scope=col>Status<th scope=col>Kind<th scope=col>What the paper demands"
        f"<th scope=col>In the paper<th scope=col>In the code</thead>\n<tbody>{table}</tbody></table></section>\n"
        '<main><section id="paper" class="pane" tabindex="0" aria-label="The paper">'
        f"<h2>The paper</h2>\n{_render_paper(traced.paper, quotes)}</section>\n"
        '<section id="code" class="pane" tabindex="0" aria-label="The code">'
        f"<h2>The code</h2>\n{code or '<p>No file is written.</p>'}</section></main>"
    )
    return render_frame(PAGE_START, title, style.TRACE, ("requirements", "paper", "code"), body)


def _render_counts(statuses: Mapping[str, str]) -> str:
    found = list(statuses.values())
    names = [name for name in dict.fromkeys((*_STATUSES, *found)) if name in found]
    badges = (f'<span class="badge {name}">{found.count(name)} {name}</span>' for name in names)
    return f"{len(found)} requirements: {' '.join(badges)}"


_STATUSES = ("guarded", "tested", "executed", "implemented", "stubbed", "named", "differs", "missing")


def _table_row(
    row: Mapping[str, Any],
    requirement: Mapping[str, Any],
    quoted: set[str],
    code: tuple[Sequence[Place], Mapping[str, str]],
) -> str:
    """One requirement; its id is what the other panes link to."""
    identifier, (places, anchors) = in_html(row["id"]), code
    source = requirement.get("source", {"section": None, "page": 0, "quote": ""})
    where = (f"section {source['section']}, " if source["section"] else "") + f"page {source['page']}"
    if row["id"] in quoted:
        found = f'<a href="#quote-{identifier}">{in_html(where)}</a>'
    else:
        found = f"{in_html(where)} <small>(the quote is not in the text as it stands)</small>"
    note = row.get("why") or value_difference(dict(requirement), places)
    return (
        f'<tr id="{identifier}"><th scope=row>{identifier}'
        f'<td><span class="badge {in_html(row["status"])}">{in_html(row["status"])}</span>'
        f'<td>{in_html(requirement.get("kind", ""))}<td><div class="demand">{in_html(row["text"])}</div>'
        + (f'<p class="note">{in_html(note)}</p>' if note else "")
        + f"<td>{found}<br><q>{in_html(source['quote'])}</q><td>{_render_links(row['places'], anchors) or 'nowhere'}"
        + _render_tests(row["tests"], anchors)
        + "</tr>\n"
    )


def _render_tests(names: Sequence[str], anchors: Mapping[str, str]) -> str:
    count = f"{len(names)} test{'s' if len(names) > 1 else ''}"
    return f"<details><summary>{count}</summary>{_render_links(names, anchors)}</details>" if names else ""


def _render_links(names: Sequence[str], anchors: Mapping[str, str]) -> str:
    shown = (
        f'<a href="#{anchors[name]}"><code>{in_html(name)}</code></a>'
        if name in anchors
        else f"<code>{in_html(name)}</code>"
        for name in names
    )
    return "<br>".join(shown)


def _code_anchors(traced: Traced) -> dict[str, str]:
    numbers = {path: number for number, path in enumerate(traced.files)}
    return {
        place.name: f"code-{numbers[place.path]}-{place.first}"
        for place in reversed(traced.places)
        if place.path in numbers and place.first <= MOST_LINES
    }


def _find_quotes(
    paper: Markdown, requirements: Mapping[str, Mapping[str, Any]], statuses: Mapping[str, str]
) -> Iterator[_Quote]:
    """Where each requirement's quote stands: on its page where that is known, else wherever it is first."""
    starts = {int(mark.group(1)): mark.end() for mark in re.finditer(r"<!-- page ([0-9]{1,6}) -->", paper.text)}
    for identifier, row in requirements.items():
        words = [re.escape(word) for word in row["source"]["quote"].split()]
        if not words or identifier not in statuses:
            continue
        pattern = re.compile(r"\s+".join(words))
        page = starts.get(row["source"]["page"], paper.body_start)
        match = pattern.search(paper.text, page) or pattern.search(paper.text, paper.body_start)
        if match:
            yield _Quote(match.start(), match.end(), identifier, statuses[identifier])


def _render_paper(paper: Markdown, quotes: Sequence[_Quote]) -> str:
    shown, first = [], 0
    for block in _BLOCK.finditer(paper.text, paper.body_start):
        while first < len(quotes) and quotes[first].end <= block.start():
            first += 1  # what ends before this block is done; a quote that runs on is looked at again
        here = [quote for quote in quotes[first:] if quote.start < block.end() and quote.end > block.start()]
        shown.append(_render_block(paper.text, block.start(), block.end(), here))
    return "\n".join(shown)


def _render_block(text: str, start: int, end: int, quotes: Sequence[_Quote]) -> str:
    block = text[start:end]
    if mark := _PAGE_MARK.match(block):
        return f'<p class="pagemark" id="page-{mark.group(1)}">page {mark.group(1)}</p>'
    if heading := _HEADING.match(block):
        level = min(6, len(heading.group(1)) + 2)
        return f"<h{level}>{_mark_quotes(text, start + heading.end(), end, quotes)}</h{level}>"
    tag = "pre" if block.startswith(_SET_AS_IT_IS) else "blockquote" if block.startswith("> ") else "p"
    return f"<{tag}>{_mark_quotes(text, start, end, quotes).rstrip()}</{tag}>"


def _mark_quotes(text: str, start: int, end: int, quotes: Sequence[_Quote]) -> str:
    """A piece of the paper; where quotes overlap, each piece is marked as the last that began."""
    edges = {start, end}
    for quote in quotes:
        edges |= {min(max(quote.start, start), end), min(max(quote.end, start), end)}
    shown = []
    for left, right in pairwise(sorted(edges)):
        over = [quote for quote in quotes if quote.start <= left and quote.end >= right]
        shown += [_render_tag(quote) for quote in over if quote.start == left]
        words = in_html(text[left:right])
        shown.append(f'<mark class="{in_html(over[-1].status)}">{words}</mark>' if over else words)
    return "".join(shown)


def _render_tag(quote: _Quote) -> str:
    identifier = in_html(quote.identifier)
    return f'<a class="tag {in_html(quote.status)}" id="quote-{identifier}" href="#{identifier}">{identifier}</a>'


def _render_file(number: int, path: str, text: str, traced: Traced) -> str:
    lines = split_lines(text)
    lines = lines[:-1] if lines[-1] == "" else lines
    statuses = {row["id"]: row["status"] for row in traced.rows}
    colours: dict[int, str] = {}
    tags: dict[int, list[str]] = {}
    own = [place for place in traced.places if place.path == path]
    for place in sorted(own, key=lambda place: place.first - place.last):  # the innermost colours last
        kind = "test" if place.is_test else "stubbed" if place.is_stub else statuses.get(place.identifier, "named")
        colours |= dict.fromkeys(range(place.first, min(place.last, MOST_LINES) + 1), kind)
        identifier = in_html(place.identifier)
        tags.setdefault(place.first, []).append(f'<a class="tag {kind}" href="#{identifier}">{identifier}</a>')
    rows = []
    for line_number, line in enumerate(lines[:MOST_LINES], 1):
        anchor = f' id="code-{number}-{line_number}"' if line_number in tags else ""
        rows.append(
            f'<span class="line {colours.get(line_number, "")}"{anchor}>{in_html(line)}'
            f"{''.join(tags.get(line_number, ()))}</span>"
        )
    more = f"<p>… {len(lines) - MOST_LINES:,} more lines</p>" if len(lines) > MOST_LINES else ""
    return f'<section class="file"><h3>{in_html(path)}</h3><pre>{"".join(rows)}</pre>{more}</section>\n'
