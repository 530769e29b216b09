"""Which lines of a page are headings: the PDF's own outline decides, else the reader's guess held against a few rules."""

from __future__ import annotations

import re

from phases.paper.reading import Reading, TocEntry

NUMBER = re.compile(
    r"^(?:(?:[Ss]ection|[Cc]hapter|[Aa]ppendix)\s+)?"
    r"((?:[0-9]{1,2}|[A-Z](?=\.|:|\.[0-9])|(?<=ppendix )[A-Z])(?:\.[0-9]{1,2})*)[.:)]?\s+(?=\S)"
)
UNNUMBERED = (
    "abstract",
    "references",
    "bibliography",
    "acknowledgments",
    "acknowledgements",
    "appendix",
    "zusammenfassung",
    "literatur",
    "literaturverzeichnis",
    "参考文献",
    "초록",
    "참고문헌",
)
_FEWEST_ENTRIES = 3
_LONGEST_HEADING = 120


def mark_headings(reading: Reading) -> list[str]:
    """The pages with `#` before headings and before nothing else; the depth of a heading is its level."""
    if reading.exact:
        return list(reading.pages)
    title = plain(reading.title or "")
    if len(reading.toc) >= _FEWEST_ENTRIES:
        return [
            _by_toc(page, [entry for entry in reading.toc if abs(entry.page - number) <= 1], title)
            for number, page in enumerate(reading.pages, 1)
        ]
    return [_by_rules(page, first=number == 1) for number, page in enumerate(reading.pages, 1)]


def plain(title: str) -> str:
    """A title without its number, case, spaces and marks, for comparing."""
    return re.sub(r"[\W_]+", "", NUMBER.sub("", title.strip()).lower())


def number_of(title: str) -> str | None:
    """The number that a heading begins with."""
    match = NUMBER.match(title)
    return match.group(1) if match else None


def without_number(title: str) -> str:
    """A heading without its number."""
    return NUMBER.sub("", title).strip()


def _by_toc(page: str, entries: list[TocEntry], title: str) -> str:
    wanted = {plain(entry.title): entry for entry in entries}
    lines = []
    for line in page.split("\n"):
        text = _bare(line)
        entry = wanted.pop(plain(text), None) if text and len(text) <= _LONGEST_HEADING else None
        if entry and plain(text):
            lines.append("#" * min(entry.level + 2, 6) + " " + text)
        elif line.startswith("#") and title and plain(text) == title:
            lines.append("# " + text)
        elif line.startswith("#") and plain(text) in UNNUMBERED:
            lines.append("## " + text)
        else:
            lines.append(text if line.startswith("#") else line)
    return "\n".join(lines)


def _by_rules(page: str, *, first: bool) -> str:
    lines, titled = [], not first
    for line in page.split("\n"):
        text = _bare(line)
        if not line.startswith("#"):
            lines.append(line)
        elif not titled:
            lines.append("# " + text)
            titled = True
        elif _is_heading(text):
            number = number_of(text)
            lines.append("#" * (2 + (number.count(".") if number else 0)) + " " + text)
        else:
            lines.append(text)
    return "\n".join(lines)


def _is_heading(text: str) -> bool:
    known = plain(text) in UNNUMBERED
    sentence = text.endswith((".", ",", ";", ":")) or len(text) > _LONGEST_HEADING
    return known or (bool(number_of(text)) and not sentence and any(c.isalpha() for c in without_number(text)))


def _bare(line: str) -> str:
    return line.lstrip("#").strip().strip("*_ ").strip()
