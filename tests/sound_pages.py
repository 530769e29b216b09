"""Pages that are one file, for tests: what a browser makes of them, and that nothing in them can run or load."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_VOID = {"meta", "br", "img", "link"}
_OPEN_ENDED = {"th", "td", "tr", "tbody", "thead", "dt", "dd", "li"}
_ACTIVE = {"script", "img", "image", "iframe", "object", "embed", "link", "svg", "form", "base"}


class Seen(HTMLParser):
    """The tags, attributes, ids, links and words of a page; it raises for a tag that is not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.marked: list[tuple[str, str]] = []
        self.words, self.style = "", ""
        self._open: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        self.attributes |= set(found)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name == "href" and value]
        if tag not in _VOID | _OPEN_ENDED:
            self._open.append((tag, found.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _OPEN_ENDED:
            assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, kind = self._open[-1] if self._open else ("", "")
        if tag == "style":
            self.style += data
            return
        self.words += data
        if tag == "mark":
            self.marked.append((kind, data))


def assert_sound(page: str) -> Seen:
    """Every link leads to a place on the page, every id is one, and nothing can run or load."""
    seen = Seen(page)
    assert "default-src 'none'" in page
    assert [link for link in seen.links if not link.startswith("#") or link[1:] not in seen.ids] == []
    assert len(seen.ids) == len(set(seen.ids))
    assert not _ACTIVE & seen.tags
    assert not {name for name in seen.attributes if name.startswith("on")} | ({"src", "style"} & seen.attributes)
    for pattern in ("url(", "@import", "http:", "https:"):
        assert pattern not in seen.style
        assert not re.search(rf'"[^"<>]*{re.escape(pattern)}[^"<>]*"', page), pattern
    page.encode("utf-8")
    return seen
