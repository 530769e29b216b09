"""Arrange text pieces into columns and lines in reading order, and join lines into text."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from phases.readers.pdf.characters import mend_letters
from phases.readers.pdf.page import BoundingBox, Item, Page

_SPACE = 0.12
"""Gap between words, as a share of the letter size."""
_HOLE = 1.6
_CLOSING = re.compile(r"^[,.;:!?)\]}’”]")
_NUMBER, _FAR = re.compile(r"\([0-9A-Z.]{1,6}[a-z]?\)"), 2.0
_FROM, _TO = 0.3, 0.7
"""Part of the page width in which the gutter between two columns lies."""
_THIRDS, _NARROWEST_THIRD = ((0.26, 0.44), (0.56, 0.74)), 0.15
_FEWEST_ROWS = 5
_NARROWEST_GUTTER = 8.0
_NARROWEST_LINE = 0.2
_FEWEST_CELLS = 5
_FEWEST_WIDE_ROWS = 3
_FULL = 0.8
_PITCH = 2.2
_STRIPE = 0.5
_NEAR = 30.0
_MOST_CROSSING = 0.6
_SLACK = 6.0
_HYPHEN = re.compile(r"(?<=\w)[-‐]$")
_LAST = re.compile(r"([^\W\d_]+(?:[-‐][^\W\d_]+)*)[-‐]$")
_FIRST = re.compile(r"^[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_CJK = re.compile(r"[\u3000-\u9fff\uf900-\ufaff\uff00-\uffef]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_ADDRESS = re.compile(r"(?:https?:\S*|www\.\S*|doi:\S*)$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of one column. `x0` and `x1` of `column` are the column's edges; `fresh` means that a column begins here."""

    text: str
    box: BoundingBox
    size: float
    font: str
    bold: bool
    """Whether all of it is bold."""
    bold_start: bool
    page: int
    column: BoundingBox
    fresh: bool = False
    gap: float = 0.0
    """White above it, up to the previous line of the column; the top line of a column has the page's usual gap."""
    items: tuple[Item, ...] = ()
    run_in: bool = False
    """Whether it is a heading, and the next line is the rest of its printed line."""


def lines_of_pages(pages: Sequence[Page]) -> list[list[Line]]:
    """Return the lines of each page in reading order."""
    columns = columns_of_pages(pages)
    return [
        [line for stretch in stretches for line in _build_lines(stretch, page.number)]
        for page, stretches in zip(pages, columns, strict=True)
    ]


def _build_lines(stretch: Sequence[Item], page: int) -> list[Line]:
    rows = rows_of(stretch)
    edges = _edges_of(rows)
    lines: list[Line] = []
    for row in rows:
        above = lines[-1].box if lines else None
        behind = next((place for place, item in enumerate(row, 1) if item.run_in), 0)
        if behind:
            lines.append(_build_line(row[:behind], page, edges, above))
        if row[behind:]:
            lines.append(_build_line(row[behind:], page, edges, lines[-1].box if behind else above))
    return lines


def _edges_of(rows: Sequence[Sequence[Item]]) -> BoundingBox:
    starts = sorted(row[0].box.x0 for row in rows)
    ends = sorted(row[-1].box.x1 for row in rows)
    return BoundingBox(starts[len(starts) // 10], rows[0][0].box.y0, ends[-1 - len(ends) // 10], rows[-1][-1].box.y1)


def _build_line(row: Sequence[Item], page: int, column: BoundingBox, above: BoundingBox | None) -> Line:
    box = row[0].box
    for item in row[1:]:
        box = box.around(item.box)
    longest = max(row, key=lambda item: (len(item.text), -item.box.x0))
    lettered = [item for item in row if any(character.isalpha() for character in item.text)] or list(row)
    return Line(
        text=join_items(_with_number_behind(row)),
        box=box,
        size=longest.size,
        font=longest.font,
        bold=_is_bold(lettered),
        bold_start=row[0].bold,
        page=page,
        column=column,
        fresh=above is None,
        gap=box.y0 - above.y1 if above else 0.0,
        items=tuple(row),
        run_in=row[-1].run_in,
    )


def _with_number_behind(row: Sequence[Item]) -> Sequence[Item]:
    if len(row) < 2 or not _NUMBER.fullmatch(row[0].text) or row[1].box.x0 - row[0].box.x1 < _FAR * row[0].size:
        return row
    return [*row[1:], replace(row[0], box=replace(row[0].box, x0=row[-1].box.x1 + row[0].size))]


def _is_bold(items: Sequence[Item]) -> bool:
    words = [item for item in items if not item.text.startswith("$")]
    return bool(words) and all(item.bold and (item.bold_end or item.text.endswith("$")) for item in words)


def join_items(row: Sequence[Item]) -> str:
    """Return the text of adjacent items."""
    text = row[0].text
    for left, right in itertools.pairwise(row):
        gap = right.box.x0 - left.box.x1
        close = gap < _SPACE * min(left.size, right.size) and not ("$" in left.text[-1:] and "$" in right.text[:1])
        text += right.text if close or _CLOSING.match(right.text) else f" {right.text}"
    # mended after joining: an accent may end one item, and its letter begin the next
    return mend_letters(text)


def has_holes(line: Line, *, after: int = 0, widest: float = _HOLE) -> bool:
    """Return whether a line has wide white between words, from the gap `after` on, like a row of a table."""
    gaps = [right.box.x0 - left.box.x1 for left, right in zip(line.items, line.items[1:], strict=False)]
    return any(gap > widest * line.size for gap in gaps[after:])


def columns_of_pages(pages: Sequence[Page]) -> list[list[list[Item]]]:
    """Return the single-column stretches of each page in reading order. Columns are at the same place on all pages of a paper."""
    left, right = _find_margins(pages)
    gutters = [_find_gutter(page) for page in pages]
    seen = Counter(round(gutter / 4) * 4 for gutter in gutters if gutter)
    usual = float(seen.most_common(1)[0][0]) if seen and sum(seen.values()) * 3 >= len(pages) else None
    if usual is not None:
        usual = median(gutter for gutter in gutters if gutter and abs(gutter - usual) <= 4)
    result = []
    for page, own in zip(pages, gutters, strict=True):
        # scanned sheets are not aligned: the page's own stripe is the clear one
        clear = False
        if own is not None and usual is not None:
            across_own, across_usual = _count_crossing(page, (own, usual))
            clear = across_own < across_usual
        near = usual is not None and (own is None or abs(own - usual) < _NEAR) and not clear
        gutter = usual if near and usual is not None and _is_gutter(page, usual, fewest=2) else own
        inside = [item for item in page.items if item.box.x1 > left and item.box.x0 < right]
        beside = [item for item in page.items if item.box.x1 <= left or item.box.x0 >= right]
        between = _find_two_gutters(page) or ((gutter,) if gutter else ())
        result.append([*_split_columns(inside, between), *_split_columns(beside, ())])
    return result


def rows_of(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items of each printed line, left to right, top to bottom."""
    rows: list[list[Item]] = []
    middles: list[float] = []
    for item in sorted(items, key=lambda item: (item.box.y0 + item.box.y1, item.box.x0)):
        middle = item.box.middle
        if rows and middle - middles[-1] < 0.42 * min(item.box.height, 1.6 * item.size):
            rows[-1].append(item)
            middles[-1] = max(middles[-1], middle) if item.box.height <= 1.6 * item.size else middles[-1]
        else:
            rows.append([item])
            middles.append(middle)
    return [sorted(row, key=lambda item: item.box.x0) for row in rows]


def _find_margins(pages: Sequence[Page]) -> tuple[float, float]:
    wide = [item.box for page in pages for item in page.items if item.box.width > _NARROWEST_LINE * page.width]
    if not wide:
        return 0.0, float("inf")
    starts, ends = sorted(box.x0 for box in wide), sorted(box.x1 for box in wide)
    return starts[len(starts) // 50] - _SLACK, ends[-1 - len(ends) // 50] + _SLACK


def _find_gutter(page: Page) -> float | None:
    gutter = _clearest_stripe(page, _count_white(page, _FROM, _TO))
    return gutter if gutter and _is_gutter(page, gutter, fewest=_FEWEST_ROWS) else None


def _runs_of_row(row: Sequence[Item]) -> list[BoundingBox]:
    """Return the boxes of adjacent pieces without room for a gutter between them: recognized lines come word by word."""
    runs = [item.box for item in row[:1]]
    for item in row[1:]:
        if item.box.x0 - runs[-1].x1 < _NARROWEST_GUTTER:
            runs[-1] = runs[-1].around(item.box)
        else:
            runs.append(item.box)
    return runs


def _find_two_gutters(page: Page) -> tuple[float, ...] | None:
    left, right = (_clearest_stripe(page, _count_white(page, *part)) for part in _THIRDS)
    if not left or not right:
        return None
    wide = [item.box for item in page.items if item.box.width > _NARROWEST_THIRD * page.width and not item.table]
    edges = itertools.pairwise((0.0, left, right, page.width))
    columns = [sum(box.height for box in wide if box.x0 > x0 - 2 and box.x1 < x1 + 2) for x0, x1 in edges]
    crossing = sum(box.height for box in wide if any(box.x0 < edge - 6 and box.x1 > edge + 6 for edge in (left, right)))
    return (left, right) if min(columns) > 8 * _FEWEST_ROWS and sum(columns) * _MOST_CROSSING > crossing else None


def _count_white(page: Page, start: float, end: float) -> Counter[int]:
    # each row votes for its white, so that a title or a figure across both columns does not hide the stripe
    votes: Counter[int] = Counter()
    for row in rows_of(page.items):
        for left, right in itertools.pairwise(row):
            middle = (left.box.x1 + right.box.x0) / 2
            if right.box.x0 - left.box.x1 > _NARROWEST_GUTTER and start * page.width < middle < end * page.width:
                votes.update(range(int(left.box.x1) + 1, int(right.box.x0) + 1))
    return votes


def _clearest_stripe(page: Page, votes: Counter[int]) -> float | None:
    """Return the middle of the stripe with white in most rows and fewest crossing pieces, if there are enough rows."""
    best = max(votes.values(), default=0)
    if best < _FEWEST_ROWS:
        return None
    stripe = sorted(place for place, count in votes.items() if count >= _STRIPE * best)
    crossed = _count_crossing(page, stripe)
    least = min(crossed)
    stripe = [place for place, count in zip(stripe, crossed, strict=True) if count == least]
    return float(stripe[len(stripe) // 2])


def _count_crossing(page: Page, places: Sequence[float]) -> list[int]:
    boxes = [item.box for item in page.items if item.box.width > 2]
    begins, ends = sorted(box.x0 for box in boxes), sorted(box.x1 for box in boxes)
    return [bisect_left(begins, place - 1) - bisect_right(ends, place + 1) for place in places]


def _is_gutter(page: Page, gutter: float, *, fewest: int) -> bool:
    """Return whether text on both sides ends and begins at the stripe, unlike the cells of a table."""
    rows = rows_of([item for item in page.items if not item.table])
    wide = [box for row in rows for box in _runs_of_row(row) if box.width > _NARROWEST_LINE * page.width]
    left = sum(box.height for box in wide if box.x1 <= gutter + 2)
    right = sum(box.height for box in wide if box.x0 >= gutter - 2)
    crossing = sum(box.height for box in wide if box.x0 < gutter - 12 and box.x1 > gutter + 12)
    tall = 8 * fewest
    return min(left, right) > tall and (left + right) * _MOST_CROSSING > crossing


def _split_columns(unsorted: Sequence[Item], gutters: Sequence[float]) -> list[list[Item]]:
    items = sorted(unsorted, key=lambda item: (item.box.y0, item.box.x0))
    if not gutters:
        return [items] if items else []
    spanning = _items_across(items, gutters[0])
    stretches: list[list[Item]] = []
    across = set(spanning)
    rest = [item for item in items if item not in across]
    for band in _bands_across(spanning):
        above = [item for item in rest if item.box.middle < band.y0]
        rest = [item for item in rest if item.box.middle >= band.y0]
        within = [item for item in rest if item.box.middle <= band.y1]
        rest = [item for item in rest if item.box.middle > band.y1]
        stretches += _split_sides(above, gutters)
        whole = [item for item in spanning if band.y0 <= item.box.y0 and item.box.y1 <= band.y1]
        stretches.append(sorted([*whole, *within], key=lambda item: (item.box.y0, item.box.x0)))
    return [stretch for stretch in [*stretches, *_split_sides(rest, gutters)] if stretch]


def _items_across(items: Sequence[Item], gutter: float) -> list[Item]:
    """Return the items across both columns, with their short last lines, which have nothing next to them."""
    result: list[Item] = []
    wide_rows = _rows_of_wide_tables(items, gutter)
    for item in items:
        above = result[-1] if result else None
        if (item.box.x0 < gutter - 4 and item.box.x1 > gutter + 4) or item in wide_rows:
            if item in wide_rows or not _is_between_columns(item, items, gutter):
                result.append(item)
        elif above and 0 <= item.box.y0 - above.box.y0 < 2 * above.box.height and abs(item.size - above.size) < 0.3:
            last = abs(item.box.x0 - above.box.x0) < 3 and item.box.y0 > above.box.y1 - 2
            if last and not any(other.box.x0 > gutter and _same_row(item, other) for other in items):
                result.append(item)
    return result


def _rows_of_wide_tables(items: Sequence[Item], gutter: float) -> set[Item]:
    """Return the items of adjacent rows with many short pieces on both sides: a table across both columns."""
    result: set[Item] = set()
    together: list[list[Item]] = []
    for row in [*rows_of(items), []]:
        runs = _runs_of_row(row)
        left = [box for box in runs if box.x1 < gutter + 4]
        right = [box for box in runs if box.x0 > gutter - 4]
        short = all(box.width < 0.45 * gutter for box in runs) and not (_is_full(left) and _is_full(right))
        if min(len(left), len(right)) >= 2 and len(runs) >= _FEWEST_CELLS and short:
            together.append(row)
            continue
        if len(together) >= _FEWEST_WIDE_ROWS:
            result.update(item for members in together for item in members)
        together = []
    return result


def _is_between_columns(item: Item, items: Sequence[Item], gutter: float) -> bool:
    """Return whether both columns continue directly above and below: the engine merged two of their lines into a formula."""
    sides = set()
    for other in items:
        above = 0 <= item.box.y0 - other.box.y0 < _PITCH * item.size
        below = 0 <= other.box.y0 - item.box.y0 < _PITCH * item.size
        across = other.box.x0 < gutter - 4 and other.box.x1 > gutter + 4
        beside = abs(other.box.middle - item.box.middle) <= other.box.height / 2
        if (above or below) and not (across or beside):
            sides.add((above, other.box.centre < gutter))
    return len(sides) == 4


def _is_full(side: Sequence[BoundingBox]) -> bool:
    return sum(box.width for box in side) > _FULL * (side[-1].x1 - side[0].x0) if side else False


def _same_row(item: Item, other: Item) -> bool:
    return abs((item.box.y0 + item.box.y1) - (other.box.y0 + other.box.y1)) < item.box.height


def _bands_across(spanning: Sequence[Item]) -> list[BoundingBox]:
    """Return the stripes over the whole width, top to bottom: items across the columns, with close lines joined."""
    bands: list[BoundingBox] = []
    for item in spanning:
        if bands and item.box.y0 - bands[-1].y1 < 1.5 * item.box.height:
            bands[-1] = bands[-1].around(item.box)
        else:
            bands.append(item.box)
    return bands


def _split_sides(items: Sequence[Item], gutters: Sequence[float]) -> list[list[Item]]:
    left = [item for item in items if item.box.centre < gutters[0]]
    right = [item for item in items if item.box.centre >= gutters[0]]
    return [left, *_split_columns(right, gutters[1:])]


class Words:
    """The words of a paper, which decide whether a hyphen at a line end belongs to the word."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._whole: set[str] = set()
        self._hyphened: set[str] = set()
        for text in texts:
            for word in re.findall(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*", text.lower()):
                self._whole.add(word)
                if "-" in word:
                    self._hyphened.add(word)

    def join(self, lines: Sequence[str]) -> str:
        """Return the lines as one line of text."""
        text = ""
        for line in lines:
            text = self._join_words(text, line.strip()) if text else line.strip()
        return text

    def _join_words(self, before: str, after: str) -> str:
        if not after:
            return before
        last, first = _LAST.search(before[-60:]), _FIRST.match(after)
        if last and first:
            return self._across(before, after, last.group(1).lower(), first.group().lower())
        if _ADDRESS.search(before[-300:]) and not before.endswith(",") and re.match(r"[\w/#?&=%~-]", after):
            return before + after if _is_continuation(before, after) else f"{before} {after}"
        if _HANGUL.match(before[-1]) and _HANGUL.match(after[0]):
            whole = before[-40:].rpartition(" ")[2] + after[:40].partition(" ")[0]
            return before + after if whole.rstrip(".,") in self._whole else f"{before} {after}"
        if _HYPHEN.search(before[-2:]) or (_CJK.match(before[-1]) and _CJK.match(after[0])):
            return before + after
        return f"{before} {after}"

    def _across(self, before: str, after: str, last: str, first: str) -> str:
        """Join a split word: the hyphen stays if the paper has the word with it elsewhere, or never without it."""
        whole = last + first
        compound = "-" in last or "-" in first or after[0].isupper() or len(last) == 1
        if f"{last}-{first}" in self._hyphened or (compound and whole not in self._whole):
            return before + after
        return before[:-1] + after


def _is_continuation(before: str, after: str) -> bool:
    """Return whether an address continues in the next line: it was cut at a slash or a hyphen, or continues with one."""
    # after a full stop an address continues only with text that cannot begin a sentence
    if before.endswith("."):
        return bool(re.match(r"[a-z0-9][^\s]*[/.]\S", after))
    return before.endswith(("/", "-", "_", "=", "&", "?", ":")) or after.startswith(("/", "_", "-", "?"))
