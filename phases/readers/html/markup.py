"""HTML text to tags, in one pass whose cost is linear in the text, whatever is wrong with it.

Not on html.parser: its cost grows with the square of a broken page (unclosed tags and comments), in versions that we run on.
"""

from __future__ import annotations

import re

from phases.readers.html.tree import KEPT, RAW, Builder, Page, characters

_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
_NAME = re.compile(r"[a-zA-Z][^\s/>]*")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?""")
_STYLING = ("style", "hidden", "aria-hidden", "bgcolor", "color")


def parse_html(text: str) -> Page:
    """The tree of an HTML text, whatever is wrong with it."""
    builder = Builder()
    position, length = 0, len(text)
    while position < length:
        found = _MARKUP.search(text, position)
        start = found.start() if found else length
        if start > position:
            builder.text(text[position:start])
        position = _markup(text, start, builder) if found else length
    return builder.page()


def _markup(text: str, start: int, builder: Builder) -> int:
    """Takes what stands at a `<`; gives the position behind it."""
    following = text[start + 1 : start + 2]
    if following in ("!", "?"):
        comment = text.startswith("<!--", start)
        end = text.find("-->" if comment else ">", start + (2 if comment else 1))
        return len(text) if end < 0 else end + (3 if comment else 1)
    closing = following == "/"
    name = _NAME.match(text, start + 2 if closing else start + 1)
    if name is None:
        return start + 2  # an end tag without a name
    tag = name.group().lower()
    if closing:
        builder.close(tag)
        end = text.find(">", name.end())
        return len(text) if end < 0 else end + 1
    attributes, end, empty = _attributes(text, name.end())
    builder.open(tag, attributes, empty=empty)
    if tag in RAW and not empty:
        return _raw(text, end, tag, builder)
    return end


def _attributes(text: str, position: int) -> tuple[dict[str, str], int, bool]:
    found: dict[str, str] = {}
    while match := _ATTRIBUTE.match(text, position):
        position = match.end()
        name, value = match.group(1).lower(), match.group(2) or ""
        if (name in KEPT or name in _STYLING) and name not in found:
            found[name] = characters(value[1:-1] if value[:1] in ("'", '"') else value)
    end = text.find(">", position)
    if end < 0:
        return found, len(text), False
    return found, end + 1, text[end - 1] == "/"


def _raw(text: str, start: int, tag: str, builder: Builder) -> int:
    closing = re.compile(f"</{tag}(?=[\\s/>])", re.IGNORECASE).search(text, start)
    end = closing.start() if closing else len(text)
    builder.raw(tag, text[start:end])
    return end
