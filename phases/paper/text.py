"""Reads Markdown and plain text: what a person wrote by hand, as it stands."""

from __future__ import annotations

import re
from dataclasses import replace

from phases.paper.reading import BROKEN, OK, Link, Reading, Unreadable

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^((?:[0-9]{1,2}\.)*[0-9]{1,2})\.?[ \t]+([^\W\d_].{0,100})$")
_SETEXT = re.compile(r"^(=|-)\1{2,}[ \t]*$")
_LONGEST_TITLE = 80
_URL = re.compile(r"https?://[^\s<>()\[\]{}\"'`|]+")


def read_text(content: bytes, *, markdown: bool) -> Reading:
    """The reading of a Markdown or plain-text file: one page. Raises Unreadable for what is not UTF-8."""
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise Unreadable(BROKEN, f"it is not UTF-8 text, byte {error.start} is wrong") from error
    body = _FRONT.sub("", text) if markdown else _with_headings(text)
    match = _TITLE.search(body)
    links = dict.fromkeys(found.rstrip(".,;:!?") for found in _URL.findall(body))
    return Reading(
        verdict=OK,
        reader="markdown 2" if markdown else "text 2",
        pages=(body,),
        title=match.group(1).strip() if match else None,
        links=tuple(Link(url, 1) for url in links),
    )


def read_requirement(content: bytes) -> Reading:
    """The reading of a requirement in plain words. Its title is its first sentence, or as much of it as a title holds."""
    reading = read_text(content, markdown=True)
    first = re.split(r"(?<=[.!?])\s|\n|[。！？]", reading.pages[0].strip(), maxsplit=1)[0].rstrip(".!?")
    title = (
        first if len(first) <= _LONGEST_TITLE else first[:_LONGEST_TITLE].rpartition(" ")[0] or first[:_LONGEST_TITLE]
    )
    return replace(reading, reader="requirement 1", title=title or None)


def _with_headings(text: str) -> str:
    """Plain text whose headings stand alone: numbered lines between empty ones, and underlined lines."""
    lines = text.split("\n")
    kept: list[str] = []
    for index, line in enumerate(lines):
        before = lines[index - 1].strip() if index else ""
        after = lines[index + 1] if index + 1 < len(lines) else ""
        match = _NUMBERED.match(line)
        if _SETEXT.match(after) and line.strip() and not before:
            kept.append(("# " if after.startswith("=") else "## ") + line.strip())
        elif _SETEXT.match(line) and kept and kept[-1].startswith("#"):
            continue
        elif match and not before and not after.strip() and not line.rstrip().endswith((".", ",", ";")):
            kept.append(f"{'#' * (match.group(1).count('.') + 2)} {line.strip()}")
        else:
            kept.append(line)
    return "\n".join(kept)
