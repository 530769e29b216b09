"""Find the title's and headings' lines of a PDF, by its own outline, else by numbers, type and white space."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from phases.readers.line_patterns import ABSTRACT, REFERENCES, UNNUMBERED, number_of, plain_title, without_number
from phases.readers.pdf.lines import Line, Words, has_holes
from phases.readers.pdf.page import Bookmark

LONGEST = 160
MOST_LINES = 6
_ALIKE = 0.86
_NEAR = 30.0
"""Distance in points from the outline's target within which the wording of a heading may differ slightly."""
_HOLE, _SPREAD = 1.6, 3.2
_FEWEST_BOOKMARKS = 3
_SPACED = re.compile(r"(?<!\S)(?:[^\W\d_] ){3,}[^\W\d_]$")
"""Letter-spaced words, up to the end of a heading."""
_CHAPTER = re.compile(
    r"^(?:chapter|appendix|part|kapitel|anhang|chapitre|annexe)\s+([0-9]{1,2}|[A-Z])\.?$", re.IGNORECASE
)
_NO_HEADING = re.compile(
    r"(?:figure|fig\.|table|algorithm|abbildung|tabelle|listing|theorem|lemma|proof\b|corollary|definition"
    r"|proposition|remark|example|assumption|claim|conjecture)\s*[0-9A-Z.]*[.:\s]|key\s?words\s*[:—–]",
    re.IGNORECASE,
)
_NAMES = re.compile(r"[A-Z]\.\s+(?:[A-Z]\.|[^,;]{2,40}[,;]\s+(?:[A-Z]\.\s?)+\S)")
"""Initials and names: an author is not appendix A."""
_ITALIC = re.compile(r"ital|obli|slant|cmti|cmsl|[-]it$|ti[0-9]+$", re.IGNORECASE)
_CLOSE, _SPREAD_LINES = 0.55, 1.2
"""White between the lines of a heading, in letter sizes: the usual value, and the maximum for spread lines."""
_LESS_WITHIN, _MORE_BELOW = 0.9, 1.2
_SMALL_CAPITALS = 0.7
_LISTED = re.compile(r"[0-9]+\)")
Path = tuple[int, ...]
_ROMANS = {"I": 1, "V": 5, "X": 10}
_FIRST_LETTER = 1000
"""Offset that sorts lettered appendices after all numbers."""
_FEWEST_ROMANS = 3
_ALL, _PART = 0.97, 0.8
_WIDEST_HOLE = 2
_MOST = 600
LARGER = 0.4
_MOST_LINES = 4
_LONGEST = 90
_FEWEST_LETTERS = 4
_ENOUGH = 0.7
"""Share of the lines in a style that must head something."""
_NARROW = 0.5
_SAME_SIZE = 1.0
_FEWEST_ALONE = 2
_WHITE_ABOVE, _WHITE_BELOW, _FULL_LINE = 0.9, 0.4, 0.95
_PARTED_ABOVE, _PARTED_BELOW, _PROSE, _SHORT = 1.0, 0.4, 0.8, 0.98
_FLOAT = re.compile(r"(?:fig(?:ure|\.)|tab(?:le|\.))\s*[0-9IVX]", re.IGNORECASE)
_CAPITAL = re.compile(r"[0-9]{1,2}[A-Z]")
"""Dimensions such as 3D, which are words."""
Style = tuple[str, float, bool]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading made of lines `first` up to `first + count`. `level` counts from 1."""

    first: int
    count: int
    text: str
    level: int


def headings_by_bookmarks(
    lines: Sequence[Line], bookmarks: Sequence[Bookmark], words: Words, outside: Set[int]
) -> list[Heading]:
    """Return the headings that bookmarks point to, in reading order. Lines `outside` (contents, tables) are excluded."""
    pages: dict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        if index not in outside:
            pages[line.page].append(index)
    result: dict[int, Heading] = {}
    for mark in bookmarks:
        places = [index for page in (mark.page, mark.page + 1) for index in pages.get(page, ()) if index not in result]
        best = max(
            (match for index in places if (match := _match_bookmark(lines, index, mark, words))),
            default=None,
            key=lambda match: match[0],
        )
        if best:
            result[best[1].first] = best[1]
    return [result[first] for first in sorted(result)]


def _match_bookmark(lines: Sequence[Line], first: int, mark: Bookmark, words: Words) -> tuple[float, Heading] | None:
    """Score how well a heading that begins at a line matches a bookmark; return score and heading."""
    wanted = plain_title(mark.title)
    best: tuple[float, Heading] | None = None
    line = lines[first]
    away = abs(line.box.y0 - mark.y) if mark.y is not None and line.page == mark.page else 2 * _NEAR
    if not wanted or len(line.text) > 2 * LONGEST:
        return None
    for count in range(1, MOST_LINES + 1):
        if first + count > len(lines) or lines[first + count - 1].page != line.page:
            break
        text = words.join([each.text for each in lines[first : first + count]])
        given = plain_title(text)
        if len(given) > len(wanted) + 12:
            break
        if given != wanted and (away >= _NEAR or abs(len(given) - len(wanted)) > 0.3 * len(wanted)):
            continue
        likeness = 1.0 if given == wanted else SequenceMatcher(None, given, wanted, autojunk=False).ratio() - 0.05
        if likeness >= _ALIKE:
            score = 10 * likeness - min(away, 300.0) / 100 + (0.5 if line.bold else 0.0)
            if best is None or score > best[0]:
                best = (score, Heading(first, count, text, mark.level + 1))
    return best


def body_of(lines: Sequence[Line]) -> BodyStyle:
    """Return the most common font and size."""
    fonts: Counter[str] = Counter()
    sizes: Counter[float] = Counter()
    for line in lines:
        fonts[line.font] += len(line.text)
        sizes[line.size] += len(line.text)
    if not lines:
        return BodyStyle("", 10.0)
    font, letters = fonts.most_common(1)[0]
    return BodyStyle(font, sizes.most_common(1)[0][0], letters >= _ALL * fonts.total())


def headings_of(lines: Sequence[Line], bookmarks: Sequence[Bookmark], words: Words, outside: Set[int]) -> list[Heading]:
    """Return the headings in reading order. Lines `outside` (title, contents, tables) are excluded."""
    headings = _find_all(lines, bookmarks, words, outside)
    return [
        replace(heading, text=_SPACED.sub(lambda match: match.group().replace(" ", ""), heading.text))
        for heading in headings
    ]


def _find_all(lines: Sequence[Line], bookmarks: Sequence[Bookmark], words: Words, outside: Set[int]) -> list[Heading]:
    by_rules = _by_rules(lines, body_of(lines), words, outside)
    if len(bookmarks) < _FEWEST_BOOKMARKS:
        return by_rules
    marked = headings_by_bookmarks(lines, bookmarks, words, outside)
    if len(marked) * 2 < len(bookmarks):
        return by_rules
    taken = {index for heading in marked for index in range(heading.first, heading.first + heading.count)}
    styles = Counter(style_of(lines[heading.first]) for heading in marked if heading.level == 1)
    deepest = max(heading.level for heading in marked)
    more = [
        heading
        for heading in by_rules
        if heading.first not in taken and _is_missing(heading, lines[heading.first], styles, deepest)
    ]
    return sorted([*marked, *more], key=lambda heading: heading.first)


def _is_missing(heading: Heading, line: Line, styles: Counter[Style], deepest: int) -> bool:
    """Return whether a PDF's own outline may omit a heading: sections without a number, and the deepest levels."""
    if heading.level > deepest:
        return True
    if number_of(heading.text):
        return False
    return plain_title(heading.text) in UNNUMBERED or style_of(line) in styles


def _by_rules(lines: Sequence[Line], body: BodyStyle, words: Words, outside: Set[int]) -> list[Heading]:
    candidates = [index for index in range(len(lines)) if index not in outside and _may_head(lines, index, body)]
    candidates = candidates if body.alone else _without_references(lines, candidates)
    titles = {index: _title_text(lines, index) for index in candidates}
    run = longest_run(list(titles.values()))
    numbered = {candidates[place]: depth for place, depth in run.items()} if len(run) > 1 else {}
    styles: dict[Style, list[int]] = defaultdict(list)
    for index, depth in numbered.items():
        styles[style_of(lines[index])].append(depth)
    levels = unnumbered_levels(lines, set(candidates) - set(numbered), body, styles)
    named = {plain_title(lines[index].text) for index in numbered}
    headings: list[Heading] = []
    until = 0
    for index in candidates:
        level = numbered.get(index) or _level_without_number(lines, index, body, styles, levels)
        again = index not in numbered and plain_title(lines[index].text) in named - set(REFERENCES)
        if level and index >= until and not (again and plain_title(lines[index].text) in UNNUMBERED):
            own = style_of(lines[index]) in levels
            run_on = index in numbered or lines[index].bold or own
            most = (body.alone and count_parted(lines, index)) or (MOST_LINES if run_on else 1)
            headings.append(_whole_heading(lines, index, level, words, most))
            until = index + headings[-1].count
            named.add(plain_title(lines[index].text))
    return _behind_the_front(lines, headings)


def _without_references(lines: Sequence[Line], candidates: Sequence[int]) -> list[int]:
    """Drop candidates after the references heading, unless their style occurs in it or before it.

    References may continue the numbers of the sections; an appendix looks like a section.
    """
    name = next((index for index in candidates if plain_title(lines[index].text) in REFERENCES), None)
    if name is None:
        return list(candidates)
    before = [index for index in candidates if index == name or (index < name and number_of(lines[index].text))]
    known = {(lines[index].size, lines[index].bold) for index in before}
    return [index for index in candidates if index <= name or (lines[index].size, lines[index].bold) in known]


def _behind_the_front(lines: Sequence[Line], headings: Sequence[Heading]) -> list[Heading]:
    """Drop headings above the abstract or the first number, in any column: the authors, a motto."""
    known = [heading for heading in headings if plain_title(heading.text) in ABSTRACT or number_of(heading.text)]
    if not known:
        return list(headings)
    begin = known[0].first
    page, top = lines[begin].page, lines[begin].box.y0

    def is_behind(heading: Heading) -> bool:
        line = lines[heading.first]
        return heading.first >= begin and (line.page > page or line.box.y0 >= top or bool(number_of(heading.text)))

    return [heading for heading in headings if is_behind(heading) or plain_title(heading.text) in UNNUMBERED]


def _title_text(lines: Sequence[Line], index: int) -> str:
    """Return the text of a heading's first line; after "Chapter 3", with larger letters below, number and that line."""
    chapter = _CHAPTER.match(lines[index].text)
    below = lines[index + 1] if index + 1 < len(lines) else None
    if chapter and below and below.size > lines[index].size - LARGER and below.page == lines[index].page:
        return f"{chapter.group(1)} {below.text}"
    return lines[index].text


def _may_head(lines: Sequence[Line], index: int, body: BodyStyle) -> bool:
    line = lines[index]
    letters = [character for character in line.text if character.isalpha()]
    if not letters or len(line.text) > LONGEST or line.text.count("$") > 4:
        return False
    if _NO_HEADING.match(line.text) or _NAMES.match(line.text):
        return False
    # justified words of a heading in a narrow column look like table cells
    numbered = number_of(line.text) is not None
    if not _is_different(lines, index, body) or has_holes(
        line, after=int(numbered), widest=_SPREAD if numbered else _HOLE
    ):
        return False
    # by number and face first: some layouts leave no white above a heading
    large = numbered and line.bold and line.size > body.size + LARGER
    return line.run_in or large or _stands_alone(lines, index) or plain_title(line.text) in UNNUMBERED


def _is_different(lines: Sequence[Line], index: int, body: BodyStyle) -> bool:
    line = lines[index]
    if body.alone and (number_of(line.text) or plain_title(line.text) in UNNUMBERED):
        short = len(line.text) < LONGEST // 2 and line.box.width < _PART * line.column.width
        if short and reads_like_a_title(without_number(line.text)):
            return True
    if body.alone and count_parted(lines, index):
        return True
    capitals = sum(character.isupper() for character in line.text)
    small = sum(character.islower() for character in line.text)
    other_font = font_family(line.font) != font_family(body.font) and line.size >= body.size - 1.5
    italic = _ITALIC.search(line.font) and not _ITALIC.search(body.font) and number_of(line.text)
    return (
        line.bold
        or bool(italic)
        or line.size > body.size + LARGER
        or other_font
        or (capitals > 3 and capitals > 2 * small)
    )


def _stands_alone(lines: Sequence[Line], index: int) -> bool:
    """Return whether a line has white above and ends before the next paragraph line."""
    line = lines[index]
    after = lines[index + 1] if index + 1 < len(lines) else None
    usual = 0.32 * line.size
    return line.fresh or line.gap > usual or (after is not None and not after.fresh and after.gap > 1.6 * usual)


def _level_without_number(
    lines: Sequence[Line], index: int, body: BodyStyle, styles: dict[Style, list[int]], levels: dict[Style, int]
) -> int:
    """Return the level of an unnumbered heading: of numbered ones in the same style, or of its own style; 0 for other lines."""
    line = lines[index]
    name = plain_title(line.text)
    if name in UNNUMBERED and not line.text.startswith("\\"):
        return 1
    if body.alone and count_parted(lines, index):
        return 1 + max((max(depths) for depths in styles.values()), default=0)
    if number_of(line.text) or not reads_like_a_title(line.text):
        return 0
    after = lines[index + 1] if index + 1 < len(lines) else None
    if after and after.bold_start and not after.bold and after.gap < 0.5 * line.size and not after.fresh:
        # bold words that begin a paragraph continue in the next line; a heading does not
        return 0
    depths = styles.get(style_of(line))
    if depths and (line.bold or line.size > body.size + LARGER):
        return min(depths)
    return levels.get(style_of(line), 0)


def _whole_heading(lines: Sequence[Line], first: int, level: int, words: Words, most: int) -> Heading:
    chapter = _CHAPTER.match(lines[first].text)
    if chapter and _title_text(lines, first) != lines[first].text:
        title = _whole_heading(lines, first + 1, level, words, MOST_LINES)
        return Heading(first, title.count + 1, f"{chapter.group(1)} {title.text}", level)
    if lines[first].run_in:
        return Heading(first, 1, lines[first].text.rstrip(" .:—–-"), level)
    count = 1
    named = plain_title(lines[first].text) in UNNUMBERED
    while not named and count < most and first + count < len(lines):
        line = lines[first + count]
        goes_on = _is_set_alike(lines[first], line) and _follows_closely(lines, first, first + count)
        if not goes_on or number_of(line.text) or plain_title(line.text) in UNNUMBERED:
            break
        count += 1
    return Heading(first, count, words.join([line.text for line in lines[first : first + count]]), level)


def _is_set_alike(first: Line, line: Line) -> bool:
    bold = first.bold or (first.bold_start and "$" in first.text)
    # small capitals report the size of the first letter, which is large in the first line only
    capitals = first.text.isupper() and line.text.isupper() and _SMALL_CAPITALS * first.size < line.size
    return line.font == first.font and line.bold == bold and (line.size == first.size or capitals)


def _follows_closely(lines: Sequence[Line], first: int, index: int) -> bool:
    """Return whether the white above a line fits inside a heading; spread lines have more below the last than above."""
    line, before = lines[index], lines[index - 1]
    if line.fresh or line.page != before.page:
        return False
    below = lines[index + 1] if index + 1 < len(lines) else None
    last = below is None or below.fresh or below.gap > _MORE_BELOW * line.gap or _is_set_alike(line, below)
    first_gap = float("inf") if lines[first].fresh else lines[first].gap
    wide = line.bold and line.gap < min(_SPREAD_LINES * line.size, _LESS_WITHIN * first_gap)
    return line.gap < _CLOSE * line.size or (wide and last)


def longest_run(titles: Sequence[str]) -> dict[int, int]:
    """Return index -> depth of the titles in the longest consecutive run of numbers.

    Each number follows the one before: its first child, or the next one (one may be missing) of itself or of an ancestor.
    Among runs of one length, the one with more titles wins: steps of a proof may be numbered, too.
    """
    paths = _paths_of(titles[:_MOST])
    best: dict[int, tuple[int, int, int]] = {}
    for here, path in paths.items():
        before = [(*best[other][:2], other) for other in best if _is_next(paths[other], path)]
        length, named, other = max([*before, (0, 0, -1)])
        if length or _is_start(path):
            best[here] = (length + 1, named + reads_like_a_title(without_number(titles[here])), other)
    if not best:
        return {}
    here = max(best, key=lambda index: (*best[index][:2], -index))
    run: dict[int, int] = {}
    while here >= 0:
        run[here] = len(paths[here])
        here = best[here][2]
    return dict(sorted(run.items()))


def _paths_of(titles: Sequence[str]) -> dict[int, Path]:
    """Return index -> path, (3, 1) for 3.1; with Roman section numbers, a lone letter is a subsection."""
    numbers = {index: number for index, title in enumerate(titles) if (number := _number_in(title))}
    romans = [index for index, number in numbers.items() if re.fullmatch(r"[IVX]+", number)]
    roman = _count_romans([numbers[index] for index in romans]) >= _FEWEST_ROMANS
    paths: dict[int, Path] = {}
    chapter: Path = ()
    section = 0
    for index, number in numbers.items():
        if not roman and _LISTED.match(titles[index]):
            continue
        if roman and index in romans and _roman_value(number) == (chapter[0] if chapter else 0) + 1:
            chapter = (_roman_value(number),)
            paths[index], section = chapter, 0
        elif roman and chapter and re.fullmatch(r"[A-Z]", number):
            section = ord(number) - ord("A") + 1
            paths[index] = (*chapter, section)
        elif roman and chapter and number.isdigit():
            paths[index] = (*chapter, section, int(number))
        else:
            paths[index] = tuple(_count_of(part) for part in number.split("."))
    return paths


def _count_romans(numbers: Sequence[str]) -> int:
    reached = 0
    for number in numbers:
        reached += _roman_value(number) == reached + 1
    return reached


def _number_in(title: str) -> str | None:
    known = number_of(title)
    letter = re.match(r"([A-Z])\s+(?=[^a-z\s])", title)
    return known or (letter.group(1) if letter else None)


def _count_of(part: str) -> int:
    if part.isdigit():
        return int(part)
    return _FIRST_LETTER + ord(part) - ord("A") + 1 if len(part) == 1 else _roman_value(part)


def _roman_value(number: str) -> int:
    values = [_ROMANS[sign] for sign in number]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))


def _is_start(path: Path) -> bool:
    return path in ((0,), (1,), (2,), (1, 1), (_FIRST_LETTER + 1,))


def _is_next(before: Path, after: Path) -> bool:
    if after == (_FIRST_LETTER + 1,) and before[0] < _FIRST_LETTER:
        return True
    if len(before) > 1 and after == (before[0] + 1, 1):
        # the number of a chapter may be drawn, or separate
        return True
    if len(after) == len(before) + 1:
        return after[:-1] == before and after[-1] <= _WIDEST_HOLE
    if len(after) > len(before):
        return after == (*before, 1, 1)
    return after[:-1] == before[: len(after) - 1] and 1 <= after[-1] - before[len(after) - 1] <= _WIDEST_HOLE


@dataclass(frozen=True, slots=True)
class BodyStyle:
    """Style of most of the text."""

    font: str
    size: float
    alone: bool = False
    """Whether hardly a word has another style: recognized text of a scan, or typewriting, in which type means nothing."""


def style_of(line: Line) -> Style:
    """Return font, size and whether the line is bold."""
    return line.font, line.size, line.bold


def font_family(font: str) -> str:
    """Return a font's name without weight and size."""
    return re.sub(r"[-,0-9~].*$|(?i:bold|regular|roman|italic|medi|light)", "", font)


def reads_like_a_title(text: str) -> bool:
    """Return whether a text begins with a capital letter and is not a sentence."""
    letters = sum(character.isalpha() for character in text)
    begins = _CAPITAL.match(text) or (text[:1].isalpha() and not text[:1].islower())
    return letters >= _FEWEST_LETTERS and bool(begins) and not text.endswith((".", ",", ";", ":", "-"))


def unnumbered_levels(
    lines: Sequence[Line], candidates: Collection[int], body: BodyStyle, numbered: Mapping[Style, Sequence[int]]
) -> dict[Style, int]:
    """Return style -> level for styles whose lines are headings. `numbered` has the depths of numbered headings by style."""
    own = {
        index for index in candidates if _may_be_one(lines[index], body, numbered) or _is_set_off(lines, index, body)
    }
    styles = {style_of(lines[index]) for index in own}
    groups: dict[Style, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        if style_of(line) in styles and not number_of(line.text):
            groups[style_of(line)].append(index)
    kept = [style for style, group in groups.items() if _head_text(lines, group, own, body, bool(numbered))]
    return {style: _level_of(style, kept, numbered) for style in kept}


def _may_be_one(line: Line, body: BodyStyle, numbered: Mapping[Style, Sequence[int]]) -> bool:
    if number_of(line.text) or not reads_like_a_title(line.text):
        return False
    if len(line.text) > _LONGEST or line.size < body.size - LARGER:
        return False
    if not numbered:
        return line.bold or line.size > body.size + LARGER
    families = {(font_family(font), bold) for font, _, bold in numbered}
    return (font_family(line.font), line.bold) in families and (line.bold or line.size > body.size + LARGER)


def _is_set_off(lines: Sequence[Line], index: int, body: BodyStyle) -> bool:
    """Return whether a title in a font of its own, neither bold nor large, has much more white above than a paragraph."""
    line = lines[index]
    below = lines[index + 1] if index + 1 < len(lines) else None
    alone = below is not None and not below.fresh and below.gap > _WHITE_BELOW * line.size
    short = line.box.width < _FULL_LINE * line.column.width and len(line.text) <= _LONGEST
    own = line.font != body.font and abs(line.size - body.size) <= _SAME_SIZE and not number_of(line.text)
    return own and short and alone and line.gap > _WHITE_ABOVE * line.size and reads_like_a_title(line.text)


def count_parted(lines: Sequence[Line], index: int) -> int:
    """Count the lines of a title, by white above and below alone: one, two, or 0 for other lines.

    It is flush left, and prose follows. For text in which type means nothing.
    """
    goes_on = index + 1 < len(lines) and _goes_on(lines[index], lines[index + 1])
    return next((count for count in (1, 2)[: 1 + goes_on] if _is_parted(lines, index, index + count)), 0)


def _is_parted(lines: Sequence[Line], index: int, end: int) -> bool:
    if end + 1 >= len(lines) or lines[end].fresh or lines[end + 1].fresh:
        return False
    line, title, (after, second) = lines[index], lines[index:end], lines[end : end + 2]
    below = after.gap - second.gap
    above = float("inf") if line.fresh else line.gap - second.gap
    apart = above > max(_PARTED_ABOVE * line.size, below) and below > _PARTED_BELOW * line.size
    flush = abs(line.box.x0 - line.column.x0) < line.size and title[-1].box.width < _SHORT * line.column.width
    prose = after.text[:1].isupper() and min(after.box.width, second.box.width) > _PROSE * line.column.width
    text = without_number("".join(part.text.removesuffix("-") for part in title))
    return apart and flush and prose and reads_like_a_title(text)


def _head_text(
    lines: Sequence[Line], group: Sequence[int], own: Collection[int], body: BodyStyle, counted: bool
) -> bool:
    """Return whether the lines of a style head something; a single line is enough if it is larger than the text."""
    firsts = [index for index in group if not (index - 1 in group and _goes_on(lines[index - 1], lines[index]))]
    firsts = [index for index in firsts if not _FLOAT.match(lines[index].text)]
    heads = [index for index in firsts if index in own and _has_body_below(lines, index, own, body)]
    larger = lines[group[0]].size > body.size + LARGER
    return len(heads) >= _ENOUGH * len(firsts) and len(heads) >= (1 if larger and counted else _FEWEST_ALONE)


def _goes_on(before: Line, line: Line) -> bool:
    return line.page == before.page and not line.fresh and line.gap < 0.6 * line.size


def _has_body_below(lines: Sequence[Line], index: int, own: Collection[int], body: BodyStyle) -> bool:
    style = style_of(lines[index])
    for place, line in enumerate(lines[index + 1 : index + 1 + _MOST_LINES], index + 1):
        if style_of(line) != style:
            if place in own and line.size <= lines[index].size:
                return True
            text = abs(line.size - body.size) < _SAME_SIZE and not line.bold
            wide = line.box.width > _NARROW * line.column.width
            return (text and wide) or (line.bold and number_of(line.text) is not None)
    return False


def _level_of(style: Style, kept: Sequence[Style], numbered: Mapping[Style, Sequence[int]]) -> int:
    _, size, _ = style
    same = [min(depths) for (_, other, _), depths in numbered.items() if abs(other - size) <= LARGER]
    if same:
        return min(same)
    above = [max(depths) for (_, other, _), depths in numbered.items() if other > size]
    if numbered:
        return max(above, default=0) + 1
    return 1 + len({round(other, 1) for _, other, _ in kept if other > size + LARGER})
