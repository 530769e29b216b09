"""Reads Markdown and plain text: what a person wrote by hand, as it stands."""

from __future__ import annotations

import re
from dataclasses import replace

from phases.readers.markdown import FENCED, URL
from phases.readers.reading import BROKEN, OK, Hidden, InputFile, Link, Reading, Unreadable

_FRONT = re.compile(r"\A---\n((?:[A-Za-z_][\w-]*:[^\n]*\n|[ \t-][^\n]*\n)+)---\n")
_GIVEN_TITLE = re.compile(r"^title:[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^((?:[0-9]{1,2}\.)*[0-9]{1,2})\.?[ \t]+([^\W\d_].{0,100})$")
_SETEXT = re.compile(r"^(=|-)\1{2,}[ \t]*$")
_OWN_MARK = re.compile(r"page [0-9]{1,6}")
_LONGEST_TITLE = 80
_MOST_HIDDEN, _LONGEST_HIDDEN = 200, 300


def read_text(content: bytes, *, markdown: bool) -> Reading:
    """The reading of a Markdown or plain-text file: one page. Raises Unreadable for what is not UTF-8."""
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise Unreadable(BROKEN, f"it is not UTF-8 text, byte {error.start} is wrong") from error
    # front matter is no text of the paper, but its title is kept
    front = _FRONT.match(text) if markdown else None
    body = text[front.end() :] if front else text if markdown else _with_headings(text)
    match = _TITLE.search(FENCED.sub("", body)) or (front and _GIVEN_TITLE.search(front.group(1)))
    body, hidden = _without_comments(body) if markdown else (body, [])
    links = dict.fromkeys(found.rstrip(".,;:!?") for found in URL.findall(body))
    return Reading(
        verdict=OK,
        reader="markdown 2" if markdown else "text 2",
        pages=(body,),
        title=match.group(1).strip() if match else None,
        links=tuple(Link(url, 1) for url in links),
        hidden=tuple(Hidden(words, 1, "invisible") for words in hidden[:_MOST_HIDDEN]),
    )


def read_markdown_input(source: InputFile) -> Reading:
    """The reading of a Markdown file (InputKind.reader)."""
    return read_text(source.content(), markdown=True)


def read_text_input(source: InputFile) -> Reading:
    """The reading of a plain-text file (InputKind.reader)."""
    return read_text(source.content(), markdown=False)


def read_requirement_input(source: InputFile) -> Reading:
    """The reading of a requirement in plain words (InputKind.reader)."""
    return read_requirement(source.content())


def _without_comments(body: str) -> tuple[str, list[str]]:
    """The text without HTML comments, which no reader of the page sees, and their words; in fences they are code."""
    kept: list[str] = []
    hidden: list[str] = []
    position = 0
    for fence in [*FENCED.finditer(body), None]:
        stretch = body[position : fence.start() if fence else len(body)]
        words = (" ".join(match.group(1).split())[:_LONGEST_HIDDEN] for match in _COMMENT.finditer(stretch))
        hidden += [word for word in words if any(map(str.isalnum, word)) and not _OWN_MARK.fullmatch(word)]
        kept += [_COMMENT.sub("", stretch), fence.group() if fence else ""]
        position = fence.end() if fence else len(body)
    return "".join(kept), hidden


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
