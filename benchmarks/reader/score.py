"""How a reading is scored against what is known of a paper: pure functions from texts to figures."""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

SHORTEST_TITLE = 12
"""A reference title of fewer letters stands in too many places to be looked for."""
_NUMBER = re.compile(
    r"""\s* (?: appendix \s+ )?        # "appendix B" ...
        (?: [A-Z] | [0-9]+ )?          # ... or 3, or B
        (?: \. [0-9]+ )*               # .2.1
        \.? \s+                        # "3.2. ", and nothing at all without white space behind it""",
    re.VERBOSE,
)
_NOT_IN_GOLD = frozenset({"abstract", "references"})
_THANKS = frozenset({"acknowledgments", "acknowledgements", "acknowledgement"})
_LONE_NUMBER = re.compile(r"(?:[0-9]{1,2}|[A-Z])(?:\.[0-9]{1,2}){0,3}\.?")
_NUMBERED_LINE = re.compile(_LONE_NUMBER.pattern + r" +[A-Z][^\n]{2,80}")
_MARKUP = re.compile(r"[*_`]+|</?[a-z]{1,8}>|\\(?=[^\w\s])")
_REFERENCES = re.compile(
    r"^[#*_\s]*(?:[0-9A-Z]{1,2}\.?\s+)?(?:references|bibliography)[*_\s]*$", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True)
class Headings:
    """Shares of section titles: found of the known ones, known ones of the found, and both in one figure."""

    f1: float
    precision: float
    recall: float


def plain(title: str) -> str:
    """A title as it is compared: without its number, small letters and digits alone."""
    match = _NUMBER.match(title)
    return "".join(
        letter for letter in title[match.end() if match else 0 :].lower() if letter.isascii() and letter.isalnum()
    )


def letters(text: str) -> str:
    """A text as reference titles are looked for in it: accents, ligatures, hyphens and white space make no difference."""
    split = unicodedata.normalize("NFKD", text).lower()
    return "".join(letter for letter in split if letter.isascii() and letter.isalnum())


def headings(gold: Sequence[str], found: Sequence[str]) -> Headings:
    """Counts titles that are the same when compared plainly, each one as often as it stands in the paper."""
    known = [title for title in map(plain, gold) if title not in _THANKS]
    named = [title for title in map(plain, found) if title and title not in _NOT_IN_GOLD | _THANKS]
    left, hits = list(named), 0
    for title in known:
        if title in left:
            left.remove(title)
            hits += 1
    recall, precision = hits / max(1, len(known)), hits / max(1, len(named))
    return Headings(2 * recall * precision / max(1e-9, recall + precision), precision, recall)


def wanted_references(gold: Iterable[str], paper_text: str) -> list[str]:
    """The reference titles that can be asked for: long enough, and there in the paper's own text."""
    text = letters(paper_text)
    titles = dict.fromkeys(map(letters, gold))
    return [title for title in titles if len(title) >= SHORTEST_TITLE and title in text]


def own_blocks(wanted: Sequence[str], blocks: Iterable[str]) -> float:
    """The share of reference titles that stand in a block with no other of them."""
    alone: set[str] = set()
    for block in map(letters, blocks):
        inside = [title for title in wanted if title in block]
        # A title may be the beginning of another one: that is no second reference.
        tops = [title for title in inside if not any(title != other and title in other for other in inside)]
        if len(tops) == 1:
            alone.add(tops[0])
    return len(alone) / max(1, len(wanted))


def in_one_segment(characters: int, spans: Iterable[tuple[int, int]]) -> int:
    """How many characters of a text of this length lie in exactly one of the spans."""
    turns = sorted([(start, 1) for start, _ in spans_of(spans)] + [(end, -1) for _, end in spans_of(spans)])
    depth, place, once = 0, 0, 0
    for at, step in turns:
        inside = min(at, characters)
        once += (inside - place) if depth == 1 else 0
        depth, place = depth + step, inside
    return once


def spans_of(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans that hold anything."""
    return [(start, end) for start, end in spans if 0 <= start < end]


# What stands in the Markdown or the plain text of a peer


def peer_headings(text: str, *, markdown: bool) -> list[str]:
    """The titles that a peer marks with `#`; where it marks none, the lines that read like `3.1 Title`, be it in two lines."""
    marked = [bare(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")]
    if markdown and marked:
        return marked
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    following = zip(lines, [*lines[1:], ""], strict=True)
    joined = [f"{line} {after}" if _LONE_NUMBER.fullmatch(line) else line for line, after in following]
    return [line for line in joined if _is_numbered_title(line)]


def peer_titles(text: str) -> list[str]:
    """What may be the title of the paper: the first heading, or the first lines, one to four of them together."""
    lines = [bare(line.lstrip("#")) for line in text[:5000].splitlines() if line.strip()]
    first = [bare(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")][:1]
    return first + [" ".join(lines[:count]) for count in range(1, 5)]


def peer_blocks(text: str) -> list[str]:
    """What stands between empty lines behind the last heading that announces references."""
    starts = [match.end() for match in _REFERENCES.finditer(text)]
    return [block for block in re.split(r"\n[ \t\r\f]*\n", text[starts[-1] :] if starts else text) if block.strip()]


def bare(line: str) -> str:
    """A line without Markdown's marks for bold, italics and code."""
    return " ".join(_MARKUP.sub("", line).split())


def _is_numbered_title(line: str) -> bool:
    return len(line) <= 90 and line[-1:] not in ".,;:-" and _NUMBERED_LINE.fullmatch(line) is not None


# What graders look for


def scorer(path: str) -> Callable[[Any, str], float]:
    """`score(rubric, text)` of a Python file. It may give a number, or a row a leaf that begins with its share."""
    specification = importlib.util.spec_from_file_location("rubric_scorer", path)
    if specification is None or specification.loader is None:
        raise SystemExit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)

    def mean(rubric: Any, text: str) -> float:
        found = module.score(rubric, text)
        if isinstance(found, (int, float)):
            return float(found)
        return sum(float(row[0]) for row in found) / max(1, len(found))

    return mean
