"""What is collected beside the blocks of a paper while its lines are written: links and footnotes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urljoin

from phases.readers.dialect.blocks import one_line
from phases.readers.reading import Link

_MOST_LINKS, _LONGEST_ADDRESS, _LONGEST_RAISED = 10_000, 2000, 12
_ORDINALS = ("st", "nd", "rd", "th")
_WEB = re.compile(r"https?://[^/]", re.IGNORECASE)
_QUOTED = str.maketrans({"(": "%28", ")": "%29", "<": "%3C", ">": "%3E"})


@dataclass
class Notes:
    """Footnotes by number, counted in the order in which the page points to them."""

    texts: dict[int, str] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def add(self, text: str) -> int:
        """The number of a footnote whose text stands where its mark does."""
        self._count += 1
        self.texts[self._count] = text
        return self._count

    def number(self, key: str) -> int:
        """The number of the footnote that has this name."""
        if key not in self._numbers:
            self._count += 1
            self._numbers[key] = self._count
        return self._numbers[key]

    def knows(self, key: str) -> bool:
        """Whether the page has pointed to the footnote that has this name."""
        return key in self._numbers


@dataclass
class Found:
    """What is collected beside the blocks, for the whole paper."""

    base: str
    dollars: bool
    """`$...$` in the text is mathematics."""
    links: list[Link] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)


def link(text: str, href: str, found: Found) -> str:
    """A text as a link, if its address is that of another page of the web; it is told in `found` too."""
    words = one_line(text)
    url = _address(href, found.base) if len(found.links) < _MOST_LINKS else ""
    if not url or not words or "](" in words:
        return text
    found.links.append(Link(url, 1, words))
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' * before}[{words}]({url}){' ' * after}"


def shifted(text: str, sign: str) -> str:
    """A short text above (`^`) or below (`_`) the line; a longer one, and the end of an ordinal, as it is."""
    short = len(text) <= _LONGEST_RAISED and text not in _ORDINALS and not text.startswith("[")
    if short and "$" not in text and any(map(str.isalnum, text)):
        return sign + (text if len(text) == 1 else f"{{{text}}}")
    return text


def _address(href: str, base: str) -> str:
    """Where an anchor leads, if that is another page of the web."""
    href = "".join(href.split())
    if not href or href.startswith("#") or len(href) > _LONGEST_ADDRESS:
        return ""
    try:
        url = urljoin(base, href)
    except ValueError:  # no address: brackets that are not those of an IPv6 host, for one
        return ""
    page, mark, _ = url.partition("#")
    same = bool(base) and bool(mark) and page == base.partition("#")[0]
    return url.translate(_QUOTED) if _WEB.match(url) and not same else ""
