"""Extract the structure of paper.md: sections, abstract, references, links, algorithms, equations, tables and figures."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from typing import Any

from phases.readers.line_patterns import (
    ABSTRACT,
    REFERENCES,
    as_latex,
    find_bare_formulas,
    number_of,
    plain_title,
    split_label,
    without_number,
)
from phases.readers.markdown import PAGE_MARK, URL
from pipeline.base.formats import Markdown

_HEADING = re.compile(r"^(#{1,6}) +(\S.*)$", re.MULTILINE)
_MOST_LINKS = 1000
_LONGEST_ABSTRACT = 5000
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_ALGORITHM = "Algorithm|Algorithmus|ALGORITHM|Listing|LISTING|算法|알고리즘"
_TABLE = "Table|TABLE|Tab|Tabelle|表|표"
_FIGURE = "Figure|FIGURE|Fig|Abbildung|Abb|图|圖|그림"
_CAPTION = (
    r"^[ \t>*_|]*((?:{words})\.?[ \t]*(?:(?:[0-9]+|[A-Z]\.?[0-9]+)(?:\.[0-9]+)?|[IVX]{{1,5}}(?=[ \t]*[:.|*_])))"
    r"(?:[ \t]*[:.|*_]+[ \t*_]*|{loose})(.*)$"
)
_GIVEN = re.compile(r"[*_]*(?:Inputs?|Outputs?|Methods?|Require|Ensure|Data|Results?|Given|Parameters?)[*_]*[.:]")
_FARTHEST = 1500
"""Start of a paragraph between the caption of an algorithm and its lines, and the largest distance between these."""
_IN_CODE = re.compile(
    r"pseudo-? ?code|\b(?:code|algorithms?|procedures?|routines?|functions?|subroutines?)\b|代码|算法", re.IGNORECASE
)
_DECLARED = re.compile(
    r"^(?:[0-9]+[:.]? )?[ \t]*(?:(?:function|procedure|process|def|subroutine)\b"
    r"|[\w*&:<>\[\]]++ ++(?:(?:[\w*&:<>\[\]]++ ++)++(?:[*&]*+\w++)?+|[*&]*+\w++)\([^;=\n]*\) *\{?$)",
    re.IGNORECASE | re.MULTILINE,
)
_PSEUDO = re.compile(r"^[^\n]*(?::=|←|\\leftarrow)", re.MULTILINE)
_BRANCHES = re.compile(r"^[0-9]*[ \t]*(?:if|for|while|return|repeat|else)\b", re.MULTILINE)
"""A figure is an algorithm if its caption says so, its code declares a function, or it is pseudo-code."""
_FEWEST_ASSIGNED, _FEWEST_LINES = 3, 3
_UNMARKED = r"[ \t]*$"
_CAPITAL = r"[ \t]+(?=[^\sa-z])"
_DISPLAY = re.compile(r"\$\$([^$]*(?:\$(?!\$)[^$]+)*)\$\$")
_TAG = re.compile(r"\\tag\{([^{}]*)\}")
_UNSEEN = re.compile(
    r"<!--.*?-->|\\(?:label|begin|end)\{[^{}]*\}|\\(?:nonumber|notag|quad|qquad|[,;:! \\])|[\s{}&~]", re.DOTALL
)
_COUNTED = re.compile(r"^(?=[^\n]*[=≤≥<>∑∏∫])([^\n]{3,300}?)[ \t]{1,9}(\([0-9]{1,3}[a-z]?\))[ \t]{0,9}$", re.MULTILINE)
_LONGEST, _LONGEST_FORMULA = 400, 2_000
_FORMULA_SIGN = re.compile(r"\\(?:begin|end) ?\{[^{}]*\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
_GOES_ON = re.compile(r" ?[{_^]")
"""Start of what belongs to the preceding term: the second half of a fraction, an index."""
_START = re.compile(r"^[ \t]{0,20}(?:[-*][ \t]{1,20})?(?:\[[^\]\n]{1,24}\]|[0-9]{1,3}\.)[ \t]+", re.MULTILINE)
_COUNTED_REFERENCE = re.compile(r"(?:^|(?<=\s))(?:[-*][ \t]+)?\[([0-9]{1,4})\]")
_YEAR = re.compile(r"\b(?:1[89]|20)[0-9]{2}[a-z]?\b")
_ASIDE = ("|", ">", "[^")
_SHORTEST = 40
_FEWEST = 3


def outline_of(paper: Markdown) -> dict[str, Any]:
    """Return outline.json of paper.md. Spans count characters from the start of the whole text.

    A section's span runs from its heading to the next heading: sections never overlap.
    """
    # decision 14: nested spans would make every reader of outline.json subtract the subsections
    text, body_start, title = paper.text, paper.body_start, paper.front["title"]
    places = Positions(text, body_start)
    sections = _build_sections(text, body_start, places, title)
    places.know(sections)
    block = "\n\n".join(own_text(text, section) for section in sections if plain_title(section["title"]) in REFERENCES)
    return {
        "version": 1,
        "title": title,
        "authors": list(paper.front["authors"]),
        "abstract": _find_abstract(text, sections),
        "sections": sections,
        "references": references_of(PAGE_MARK.sub("", block)),
        "links": _collect_links(text, body_start, paper.front["links"], places),
        **anchors_of(text, body_start, places),
        "hidden_text": [dict(row) for row in paper.front["hidden_text"]],
        "left_out": [dict(row) for row in paper.front.get("left_out", [])],
    }


def own_text(text: str, section: dict[str, Any]) -> str:
    """Return a section's text without its heading line."""
    return text[section["start"] : section["end"]].partition("\n")[2]


def pages_of(text: str, section: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield a section's text without its heading, page by page: (page, text)."""
    page, block = section["page"], own_text(text, section)
    position = 0
    for mark in PAGE_MARK.finditer(block):
        yield page, block[position : mark.start()]
        page, position = int(mark.group(1)), mark.end()
    yield page, block[position:]


def _build_sections(text: str, body_start: int, places: Positions, title: str | None) -> list[dict[str, Any]]:
    found = [
        (match, name)
        for match in _HEADING.finditer(text, body_start)
        if not places.fence(match.start()) and plain_title(name := _strip_closing_marks(match.group(2)))
    ]
    if found and title and plain_title(found[0][1]) == plain_title(title):
        # the first heading may be the title of the paper
        found = found[1:]
    ends = [*(match.start() for match, _ in found[1:]), len(text)][: len(found)]
    numbered = _number_headings([name for _, name in found])
    return [
        {
            "id": f"S{index}",
            "number": number,
            "title": name,
            "level": max(1, len(match.group(1)) - 1),
            "page": places.page(match.start()),
            "start": match.start(),
            "end": end,
        }
        for index, ((match, _), end, (number, name)) in enumerate(zip(found, ends, numbered, strict=True), 1)
    ]


def _strip_closing_marks(heading: str) -> str:
    """Remove the closing marks of a heading, but not those of "C#"."""
    bare = heading.rstrip().rstrip("#")
    return bare.rstrip() if bare.endswith(" ") else heading.rstrip()


def _number_headings(headings: list[str]) -> list[tuple[str | None, str]]:
    """Return number and title of each heading. A lone letter is a number after the references, or if it has subsections."""
    # "A New Method" is not an appendix: a letter without a dot is a number only if its neighbours say so
    known = [number_of(text) or "" for text in headings]
    divided = {number.partition(".")[0] for number in known if "." in number}
    rows: list[tuple[str | None, str]] = []
    behind = False
    for text, number in zip(headings, known, strict=True):
        letter = re.match(r"([A-Z])\s+(?=\S)", text)
        last = (rows[-1][0] or "") if rows else ""
        goes_on = letter is not None and last[:1] == chr(ord(letter.group(1)) - 1)
        if not number and letter and (behind or goes_on or letter.group(1) in divided):
            rows.append((letter.group(1), text[letter.end() :].strip()))
        else:
            rows.append((number or None, without_number(text)))
        behind = behind or plain_title(text) in REFERENCES
    return rows


def _find_abstract(text: str, sections: list[dict[str, Any]]) -> str | None:
    for section in sections:
        if plain_title(section["title"]) in ABSTRACT:
            return " ".join(PAGE_MARK.sub("", own_text(text, section)).split())[:_LONGEST_ABSTRACT] or None
    return None


def _collect_links(text: str, body_start: int, known: list[dict[str, Any]], places: Positions) -> list[dict[str, Any]]:
    """Collect the links of the reader and the addresses in the text, but not those that a line end cut short."""
    seen: dict[str, dict[str, Any]] = {}
    for row in known[:_MOST_LINKS]:
        seen.setdefault(row["url"], dict(row))
    # an address cut short by a line end is a prefix of one the reader has in full
    whole = sorted(seen)
    for match in URL.finditer(text, body_start):
        url = match.group().rstrip(".,;:!?*_")
        if len(seen) >= _MOST_LINKS:
            break
        if url not in seen and not any(other.startswith(url) for other in whole):
            around = " ".join(text[max(body_start, match.start() - 60) : match.start()].split())
            seen[url] = {"url": url, "page": places.page(match.start()), "text": around}
    return list(seen.values())


class Positions:
    """Find the page, the section and the fenced block of a character position; sections once `know` has them."""

    def __init__(self, text: str, body_start: int) -> None:
        marks = list(PAGE_MARK.finditer(text, body_start))
        self._page_starts = [mark.start() for mark in marks]
        self._pages = [int(mark.group(1)) for mark in marks]
        self._fences = list(_find_fences(text, body_start))
        self._fence_starts = [start for start, _ in self._fences]
        self._section_starts: list[int] = []
        self._section_ids: list[str] = []

    def know(self, sections: list[dict[str, Any]]) -> None:
        """Set the sections of outline.json, in order."""
        self._section_starts = [section["start"] for section in sections]
        self._section_ids = [section["id"] for section in sections]

    def page(self, position: int) -> int:
        """Return the page, from 1; 0 before the first."""
        index = bisect_right(self._page_starts, position) - 1
        return self._pages[index] if index >= 0 else 0

    def section(self, position: int) -> str | None:
        """Return the id of the section."""
        index = bisect_right(self._section_starts, position) - 1
        return self._section_ids[index] if index >= 0 else None

    def fence(self, position: int) -> tuple[int, int] | None:
        """Return start and end of the fenced block around a position."""
        index = bisect_right(self._fence_starts, position) - 1
        return self._fences[index] if index >= 0 and position < self._fences[index][1] else None

    def fence_behind(self, position: int, text: str) -> tuple[int, int] | None:
        """Return start and end of the next fenced block, if only inputs and outputs are described before it."""
        index = bisect_right(self._fence_starts, position)
        if index == len(self._fences) or self._fence_starts[index] - position > _FARTHEST:
            return None
        between = [part.strip() for part in text[position : self._fence_starts[index]].split("\n\n")]
        told = [part for part in between if part and not PAGE_MARK.fullmatch(part)]
        is_told = not told or (_GIVEN.match(told[0]) and all(_GIVEN.match(part) or part[0].islower() for part in told))
        return self._fences[index] if is_told else None


def _find_fences(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each fenced block: up to a fence of the same sign and at least the same length, or to the end."""
    opened, begin, position = "", 0, start
    for line in text[start:].split("\n"):
        match = _FENCE.match(line)
        if match and not opened:
            opened, begin = match.group(1), position
        elif match and match.group(1).startswith(opened) and not match.group(2).strip():
            yield begin, position + len(line)
            opened = ""
        position += len(line) + 1
    if opened:
        yield begin, len(text)


def anchors_of(text: str, body_start: int, places: Positions) -> dict[str, list[dict[str, Any]]]:
    """Return the anchors of each kind, in the order of the text. Spans count characters of the whole text."""
    return {
        "algorithms": _find_algorithms(text, body_start, places),
        "equations": _find_equations(text, body_start, places),
        "tables": _find_captions(text, body_start, places, _TABLE, "T", _UNMARKED),
        "figures": _find_captions(text, body_start, places, _FIGURE, "F", _UNMARKED),
    }


def _find_algorithms(text: str, start: int, places: Positions) -> list[dict[str, Any]]:
    """Find algorithms and listings by caption, and figures with code after their caption, each with its steps."""
    figures = []
    for row in _find_captions(text, start, places, _FIGURE, "A", _UNMARKED):
        code = text[row["start"] : row["end"]].partition("\n")[2]
        if code and (_IN_CODE.search(row["text"]) or _DECLARED.search(code) or _is_pseudo_code(code)):
            figures.append(row)
    rows = [*map(_with_digits, _find_captions(text, start, places, _ALGORITHM, "A", _CAPITAL), repeat(text)), *figures]
    return [{**row, "id": f"A{index}"} for index, row in enumerate(sorted(rows, key=lambda row: row["start"]), 1)]


def _with_digits(row: dict[str, Any], text: str) -> dict[str, Any]:
    """Correct a label "Algorithm I" that is a misread 1: the text cites it with the digit, and there is no Algorithm II."""
    word, _, number = row["label"].rpartition(" ")
    is_digit = number == "I" and re.search(rf"\b{word} 1(?![\w.])", text) and f"{word} II" not in text
    return {**row, "label": f"{word} 1"} if is_digit else row


def _is_pseudo_code(code: str) -> bool:
    return len(_PSEUDO.findall(code)) >= _FEWEST_ASSIGNED and _BRANCHES.search(code) is not None


def _find_captions(
    text: str, start: int, places: Positions, words: str, letter: str, loose: str
) -> list[dict[str, Any]]:
    """Find the captions of floats. `loose` matches between label and text in place of a separator."""
    result: dict[str, dict[str, Any]] = {}
    for match in re.compile(_CAPTION.format(words=words, loose=loose), re.MULTILINE).finditer(text, start):
        label = " ".join(match.group(1).split())
        known = result.get(label.lower())
        # an algorithm whose lines were drawn has its caption twice: the one with lines counts
        if known is None or (letter == "A" and not _has_lines(text, known)):
            caption = " ".join(match.group(2).replace("|", " ").split()).strip("* _")[:_LONGEST]
            # an algorithm is in a fence of its own or right before its code: its span covers all steps
            span = match.span()
            if letter == "A":
                behind = places.fence_behind(match.end(), text)
                span = places.fence(match.start()) or (match.start(), behind[1] if behind else match.end())
            if known is None or _has_lines(text, {"start": span[0], "end": span[1]}):
                identifier = known["id"] if known else f"{letter}{len(result) + 1}"
                result[label.lower()] = _build_anchor(identifier, label, caption, span, places)
    return sorted(result.values(), key=lambda row: int(row["start"]))


def _has_lines(text: str, row: Mapping[str, Any]) -> bool:
    return "```" in (said := text[row["start"] : row["end"]]) and len(said.split("\n")) > _FEWEST_LINES


def cut_formula(formula: str, most: int) -> str:
    r"""Shorten a LaTeX formula to `most` characters, ending in "…".

    The cut is outside all groups, so that no \frac loses its second half; it may be inside an environment.
    """
    if len(formula) <= most:
        return formula
    end = depth = 0
    for match in _FORMULA_SIGN.finditer(formula, 0, most - 2):
        sign, after = match.group(), formula[match.end()]
        depth += (sign == "{") - (sign == "}")
        is_inside_word = sign.isalnum() and after.isalnum()
        if depth == 0 and not re.match(r"\\[A-Za-z]|[_^]", sign) and not is_inside_word:
            end = end if _GOES_ON.match(formula, match.end()) else match.end()
    return f"{formula[: end or most - 2].rstrip()} …"


def _find_equations(text: str, start: int, places: Positions) -> list[dict[str, Any]]:
    """Find displayed equations and unmarked formulas; in a text without either, lines that end in a number."""
    result: list[tuple[tuple[int, int], str, str]] = []
    for match in _DISPLAY.finditer(text, start):
        tag = _TAG.search(match.group(1))
        if not _UNSEEN.sub("", _TAG.sub("", match.group(1))):
            # dollar signs around nothing but labels are not a formula
            continue
        result.append((match.span(), f"({tag.group(1)})" if tag else "", _TAG.sub("", match.group(1))))
    counted = () if result else _COUNTED.finditer(text, start)
    result += [(match.span(), match.group(2), match.group(1)) for match in counted]
    known = [span for span, _, _ in result]
    result += [
        row for row in _bare_formulas(text, start) if not places.fence(row[0][0]) and not _lies_in(row[0], known)
    ]
    return [
        _build_anchor(f"E{number}", label, cut_formula(" ".join(content.split()), _LONGEST_FORMULA), span, places)
        for number, (span, label, content) in enumerate(sorted(result), 1)
    ]


def _bare_formulas(text: str, start: int) -> Iterator[tuple[tuple[int, int], str, str]]:
    lines = text[start:].split("\n")
    begins = list(accumulate((len(line) + 1 for line in lines), initial=start))
    for first, last in find_bare_formulas(lines).items():
        label, content = split_label("  ".join(lines[first : last + 1]))
        yield (begins[first], begins[last] + len(lines[last])), label, as_latex(content)


def _lies_in(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    place = bisect_right(others, span)
    return any(one[0] < span[1] and span[0] < one[1] for one in others[max(place - 1, 0) : place + 1])


def _build_anchor(identifier: str, label: str, text: str, span: tuple[int, int], places: Positions) -> dict[str, Any]:
    return {
        "id": identifier,
        "label": label,
        "text": text,
        "page": places.page(span[0]),
        "section": places.section(span[0]),
        "start": span[0],
        "end": span[1],
    }


def references_of(block: str) -> list[dict[str, str]]:
    """Split the references of a section's text: one per paragraph, or one per label in a hand-made list."""
    raws = [raw for paragraph in re.split(r"\n[ \t]*\n", block) for raw in _split_at_labels(paragraph)]
    # some readers return the whole list as one paragraph
    counted = _starts_of_numbers(block)
    if len(counted) > len(raws):
        raws = [block[start:end] for start, end in zip(counted, [*counted[1:], len(block)], strict=True)]
    cleaned = [" ".join(raw.lstrip(" -*").split()) for raw in raws if not raw.lstrip().startswith(_ASIDE)]
    kept = [raw for raw in cleaned if _YEAR.search(raw) or len(raw) > _SHORTEST]
    return [{"id": f"B{index}", "raw": raw} for index, raw in enumerate(kept, 1)]


def _split_at_labels(paragraph: str) -> list[str]:
    starts = [match.start() for match in _START.finditer(paragraph)]
    if len(starts) < 2:
        return [paragraph]
    starts[0] = 0
    return [paragraph[start:end] for start, end in zip(starts, [*starts[1:], len(paragraph)], strict=True)]


def _starts_of_numbers(block: str) -> list[int]:
    """Return the positions of [1], [2], [3] …, also within a line; nothing if the list is not numbered like that."""
    starts: list[int] = []
    for match in _COUNTED_REFERENCE.finditer(block):
        if int(match.group(1)) == len(starts) + 1:
            starts.append(match.start())
    return starts if len(starts) >= _FEWEST else []
