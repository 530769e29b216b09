"""Mark quotes in the text of a paper, each with a tag that links to its row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from phases.planning.quotes import quote_of
from pipeline.base.formats import Markdown

_BLOCK = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+")
_HEADING = re.compile(r"(#{1,6}) +")
_PAGE_MARK = re.compile(r"<!-- page ([0-9]+) -->\s*$")
_SET_AS_IT_IS = ("|", "$$", "```", "~~~", "    ")


class Quote(NamedTuple):
    """The place of a quote; `status` is the class of its mark."""

    start: int
    end: int
    identifier: str
    status: str


def find_quotes(
    paper: Markdown, requirements: Mapping[str, Mapping[str, Any]], statuses: Mapping[str, str]
) -> Iterator[Quote]:
    """Return the places of the requirements' quotes: on the known page, otherwise the first occurrence."""
    starts = {int(mark.group(1)): mark.end() for mark in re.finditer(r"<!-- page ([0-9]{1,6}) -->", paper.text)}
    for identifier, row in requirements.items():
        words = [re.escape(word) for word in quote_of(row).split()]
        if not words or identifier not in statuses:
            continue
        pattern = re.compile(r"\s+".join(words))
        page = starts.get(row["source"]["page"], paper.body_start)
        match = pattern.search(paper.text, page) or pattern.search(paper.text, paper.body_start)
        if match:
            yield Quote(match.start(), match.end(), identifier, statuses[identifier])


class Piece(NamedTuple):
    """Some words, the status of the quote that contains them, and the quotes that begin with them."""

    text: str
    status: str
    tags: Sequence[Quote]


class Block(NamedTuple):
    """A heading, a paragraph, or the number of a page."""

    tag: str
    pieces: Sequence[Piece] = ()
    level: int = 0
    page: str = ""


def cut_blocks(paper: Markdown, quotes: Sequence[Quote], start: int = 0, end: int | None = None) -> Iterator[Block]:
    """Yield the blocks of the paper, or of a part of it. `quotes` are sorted by place."""
    first = 0
    for block in _BLOCK.finditer(paper.text, start or paper.body_start, len(paper.text) if end is None else end):
        while first < len(quotes) and quotes[first].end <= block.start():
            first += 1  # a quote that ends before this block is done; one that continues is considered again
        here = [quote for quote in quotes[first:] if quote.start < block.end() and quote.end > block.start()]
        yield _cut_block(paper.text, block.start(), block.end(), here)


def _cut_block(text: str, start: int, end: int, quotes: Sequence[Quote]) -> Block:
    block = text[start:end]
    if mark := _PAGE_MARK.match(block):
        return Block("p", page=mark.group(1))
    if heading := _HEADING.match(block):
        level = min(6, len(heading.group(1)) + 2)
        return Block("", [*_cut_pieces(text, start + heading.end(), end, quotes)], level)
    tag = "pre" if block.startswith(_SET_AS_IT_IS) else "blockquote" if block.startswith("> ") else "p"
    return Block(tag, [*_cut_pieces(text, start, end, quotes)])


def _cut_pieces(text: str, start: int, end: int, quotes: Sequence[Quote]) -> Iterator[Piece]:
    """Yield the pieces of a block; where quotes overlap, the one that began last marks the piece."""
    edges = {start, end}
    for quote in quotes:
        edges |= {min(max(quote.start, start), end), min(max(quote.end, start), end)}
    for left, right in pairwise(sorted(edges)):
        over = [quote for quote in quotes if quote.start <= left and quote.end >= right]
        yield Piece(text[left:right], over[-1].status if over else "", [quote for quote in over if quote.start == left])
