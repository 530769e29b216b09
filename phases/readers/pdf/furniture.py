"""Remove what the publisher added to the pages: running heads, page numbers, line numbers."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from math import inf
from statistics import median

from phases.readers.pdf.characters import is_typewriter
from phases.readers.pdf.lines import Line, rows_of
from phases.readers.pdf.page import BoundingBox, Item, Page
from phases.readers.reading import LeftOut

FURNITURE, MARGIN = "furniture", "margin"

_EDGE = 0.14
"""Share of the page height, at the top and the bottom, for running heads and feet."""
_WHITE = 0.5
_MORE = 1.5
_FEWEST_WHITES = 5
_FEWEST_PAGES = 3
_FEWEST_LETTERS = 4
_FEWEST_LINE_NUMBERS = 8
_FAR_FROM_NUMBER, _MOST_IN_ROW = 14.0, 400
"""White between the number of a line of code and the line, at most, in letter sizes."""
_MOST_GROUPED, _LARGER = 3, 0.4
_SHIFT = 4
"""Tolerance in steps of two points for equal heights: scanned sheets are not aligned."""
_NO_OFFSET = 10_000
_SAME_ROW = 4.0
_ROMAN = re.compile(r"[ivxlc]{1,7}", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"(?:page\s+|seite\s+|[-–—]\s*)?([0-9]{1,4})(?:\s*(?:of|/|von)\s*[0-9]{1,4}|\s*[-–—])?", re.IGNORECASE
)
_LEADERS = re.compile(r"(?:\. ?){4,300} ?[0-9ivxlc]{1,4}$")
_FEWEST = 4
_WIDEST_HOLE = 2


def without_furniture(pages: Sequence[Page]) -> tuple[list[Page], list[LeftOut]]:
    """Return the pages with only the author's text, and the text removed."""
    pages = [_with_numbers_of_code(page) for page in pages]
    apart = [list(_apart_at_edges(page)) for page in pages]
    groups = [[*edge, *_groups_at_edges(page)] for page, edge in zip(pages, apart, strict=True)]
    heads = _find_repeats(groups, pages) | _page_numbers(apart, pages) | _at_usual_heights(apart, len(pages))
    kept, left_out = [], []
    for page, edge in zip(pages, groups, strict=True):
        heights = [item.box.y0 for item in page.items if item in heads]
        edge_items = [*heads.intersection(page.items), *(item for _, item in edge)]
        beside = {item for item in edge_items if any(abs(item.box.y0 - height) < _SAME_ROW for height in heights)}
        dropped = beside.union(*_line_numbers(page))
        items = tuple(item for item in page.items if item not in dropped)
        kept.append(replace(page, items=items))
        left_out += [LeftOut(item.text, page.number, FURNITURE) for item in page.items if item in dropped and item.text]
        left_out += [LeftOut(page.margin, page.number, MARGIN)] if page.margin else []
    return kept, left_out


def _apart_at_edges(page: Page) -> Iterator[tuple[int, Item]]:
    """Yield items at the top or the bottom of a page, with nothing further out and white between them and the text."""
    edge = [item for item in page.items if _is_outermost(item, page) or _PAGE_NUMBER.fullmatch(item.text.strip())]
    usual = _usual_white(page)
    downwards = sorted((item.box.y0, item.box.middle) for item in page.items)
    upwards = sorted(((item.box.y1, item.box.middle) for item in page.items), reverse=True)
    for item in edge:
        middle, half = item.box.middle, item.box.height / 2
        if middle < page.height / 2:
            further = upwards[-1][0] < item.box.y0
            behind = islice(downwards, bisect_right(downwards, (middle, inf)), None)
            white = next((y0 for y0, other in behind if abs(other - middle) > half), page.height) - item.box.y1
        else:
            further = downwards[-1][0] > item.box.y1
            behind = islice(upwards, bisect_left(upwards, -middle, key=lambda edge: -edge[0]), None)
            white = item.box.y0 - next((y1 for y1, other in behind if y1 < middle and abs(other - middle) > half), 0.0)
        if not further and white > max(_WHITE * min(item.box.height, item.size), _MORE * usual):
            yield page.number, item


def _groups_at_edges(page: Page) -> Iterator[tuple[int, Item]]:
    """Yield items in up to three small lines at the top or the bottom of a page, with white between them and the text."""
    rows = rows_of(page.items)
    usual = _usual_white(page)
    size = median(item.size for item in page.items) if page.items else 0.0
    for group in (rows, rows[::-1]):
        for count, (near, far) in enumerate(pairwise(group[: _MOST_GROUPED + 1]), 1):
            if not all(_is_outermost(item, page) and item.size <= size + _LARGER for item in near):
                break
            down = min(item.box.y0 for item in far) - max(item.box.y1 for item in near)
            up = min(item.box.y0 for item in near) - max(item.box.y1 for item in far)
            if max(down, up) > max(_WHITE * near[0].size, _MORE * usual):
                yield from ((page.number, item) for row in group[:count] for item in row)
                break


def _usual_white(page: Page) -> float:
    below: dict[int, BoundingBox] = {}
    whites = []
    for item in sorted(page.items, key=lambda item: item.box.y0):
        above = below.get(round(item.box.x0 / 3))
        if above and above.y1 < item.box.middle < above.y1 + 3 * item.box.height:
            whites.append(item.box.y0 - above.y1)
        below[round(item.box.x0 / 3)] = item.box
    return median(whites) if len(whites) >= _FEWEST_WHITES else 0.0


def _is_outermost(item: Item, page: Page) -> bool:
    return item.box.y0 < _EDGE * page.height or item.box.y1 > (1 - _EDGE) * page.height


def _find_repeats(apart: Sequence[Sequence[tuple[int, Item]]], pages: Sequence[Page]) -> set[Item]:
    """Find words repeated at the same height of many pages, whatever their digits, which mostly are set apart."""
    result: dict[tuple[str, int], list[tuple[int, Item]]] = defaultdict(list)
    for number, item in chain.from_iterable(apart):
        shape = _shape_of(item)
        if sum(character.isalpha() for character in shape) >= _FEWEST_LETTERS:
            for near in range(-_SHIFT, _SHIFT + 1):
                result[shape, round(item.box.y0 / 2) + near].append((number, item))
    fewest = max(_FEWEST_PAGES, len(pages) // 5)
    usual = {key for key, same in result.items() if len({number for number, _ in same}) >= fewest}
    if not usual:
        return set()
    edges = (item for page in pages for item in page.items if _is_outermost(item, page))
    return {item for item in edges if (_shape_of(item), round(item.box.y0 / 2)) in usual}


def _shape_of(item: Item) -> str:
    return re.sub(r"[0-9]+", "0", item.text.lower())


def _page_numbers(apart: Sequence[Sequence[tuple[int, Item]]], pages: Sequence[Page]) -> set[Item]:
    result: dict[tuple[int, bool], list[Item]] = defaultdict(list)
    half = pages[0].height / 2 if pages else 0.0
    for number, item in chain.from_iterable(apart):
        match = _PAGE_NUMBER.fullmatch(item.text.strip())
        if match:
            result[int(match.group(1)) - number, item.box.y0 < half].append(item)
        elif _ROMAN.fullmatch(item.text.strip()):
            result[_NO_OFFSET, item.box.y0 < half].append(item)
    return {item for same in result.values() if len(same) > 1 for item in same}


def _at_usual_heights(apart: Sequence[Sequence[tuple[int, Item]]], pages: int) -> set[Item]:
    """Find items alone at the same height of most pages: running heads that name the chapter."""
    result: dict[int, set[int]] = defaultdict(set)
    for number, item in chain.from_iterable(apart):
        for near in (-1, 0, 1):
            result[round(item.box.y0) + near].add(number)
    fewest = max(_FEWEST_PAGES + 1, pages * 3 // 5)
    return {item for _, item in chain.from_iterable(apart) if len(result[round(item.box.y0)]) >= fewest}


def _with_numbers_of_code(page: Page) -> Page:
    """Make the numbers next to the lines of a listing their first words, because the text refers to them."""
    instead: dict[Item, Item | None] = {}
    for column in _line_numbers(page):
        beside = _lines_beside(column, page)
        if 2 * sum(is_typewriter(item.font) for item in beside.values()) > len(column):
            instead |= {item: _join_number(number, item) for number, item in beside.items()}
            instead |= dict.fromkeys(beside)
    if not instead:
        return page
    items = (instead.get(item, item) for item in page.items)
    return replace(page, items=tuple(item for item in items if item is not None))


def _lines_beside(numbers: Sequence[Item], page: Page) -> dict[Item, Item]:
    rows = sorted(page.items, key=lambda item: item.box.middle)
    result: dict[Item, Item] = {}
    for number in numbers:
        first = bisect_left(rows, number.box.middle - _SAME_ROW, key=lambda item: item.box.middle)
        last = bisect_right(rows, number.box.middle + _SAME_ROW, key=lambda item: item.box.middle)
        right = [item for item in rows[first:last][:_MOST_IN_ROW] if item.box.x0 > number.box.x1]
        nearest = min(right, key=lambda item: item.box.x0, default=None)
        if nearest and nearest.box.x0 - number.box.x1 < _FAR_FROM_NUMBER * nearest.size:
            result[number] = nearest
    return result


def _join_number(number: Item, item: Item) -> Item:
    words = item.words or ((item.text, item.box.x0, item.box.x1),)
    return replace(item, text=f"{number.text} {item.text}", words=((number.text, number.box.x0, number.box.x1), *words))


def _line_numbers(page: Page) -> Iterator[list[Item]]:
    numbers = [item for item in page.items if re.fullmatch(r"[0-9]{1,4}", item.text) and item.box.width < 30]
    texts = [item.box for item in page.items if item.box.width > 60]
    # set flush left in some styles, flush right in others
    for edge in (lambda item: item.box.x0, lambda item: item.box.x1):
        for column in _find_stacks(sorted(numbers, key=edge), edge):
            x0, x1 = min(item.box.x0 for item in column), max(item.box.x1 for item in column)
            column.sort(key=lambda item: item.box.y0)
            steps = Counter(int(after.text) - int(before.text) for before, after in pairwise(column))
            over = sum(box.x0 < x1 - 1 and box.x1 > x0 + 1 for box in texts)
            counted = steps[1] + 5 * steps[5]
            near = len({round(box.y0 / 4) for box in texts if column[0].box.y0 <= box.y0 <= column[-1].box.y1})
            if steps[1] + steps[5] >= 0.8 * (len(column) - 1) and over <= 0.1 * len(texts) and counted >= 0.35 * near:
                yield column


def _find_stacks(items: Sequence[Item], edge: Callable[[Item], float]) -> Iterator[list[Item]]:
    stack: list[Item] = []
    for item in items:
        if stack and edge(item) - edge(stack[-1]) > 1.0:
            if len(stack) >= _FEWEST_LINE_NUMBERS:
                yield stack
            stack = []
        stack.append(item)
    if len(stack) >= _FEWEST_LINE_NUMBERS:
        yield stack


def contents_of(lines: Sequence[Line]) -> set[int]:
    """Return the indexes of lines of a table of contents: many together that name a section and its page."""
    found = [index for index, line in enumerate(lines) if _is_entry(line)]
    groups: list[list[int]] = []
    for index in found:
        if groups and index - groups[-1][-1] <= _WIDEST_HOLE and lines[index].page == lines[groups[-1][-1]].page:
            groups[-1].append(index)
        else:
            groups.append([index])
    result = [group for group in groups if len(group) >= _FEWEST and _counts_up([lines[index] for index in group])]
    return {index for group in result for index in range(group[0], group[-1] + 1)}


def _counts_up(entries: Sequence[Line]) -> bool:
    """Return whether the numbers at the ends never decrease, as page numbers do; the last column of a table may."""
    numbers = [int(found.group()) for line in entries if (found := re.search(r"[0-9]{1,4}$", line.text))]
    return sum(before > after for before, after in pairwise(numbers)) * 10 <= len(numbers)


def _is_entry(line: Line) -> bool:
    if _LEADERS.search(line.text):
        return True
    if len(line.items) < 2 or not re.fullmatch(r"[0-9]{1,4}", line.items[-1].text):
        return False
    white = line.items[-1].box.x0 - line.items[-2].box.x1
    lettered = sum(character.isalpha() for character in line.text) >= 2
    return white > line.size and lettered and line.column.x1 - line.box.x1 < 3
