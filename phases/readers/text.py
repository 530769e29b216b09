"""Read Markdown and plain text, such as notes, drafts and RFCs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from phases.readers.markdown import FENCED, URL, lower_headings
from phases.readers.reading import BROKEN, OK, Hidden, InputFile, Link, Reading, Unreadable
from pipeline.base.errors import FormatError
from pipeline.base.plain_yaml import parse_yaml

_FRONT = re.compile(r"\A---\n((?:[A-Za-z_][\w-]*:[^\n]*\n|[ \t-][^\n]*\n)+)---\n")
_GIVEN_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_NAME_KEYS = ("name", "given-names", "given", "surname", "family")
_PAGE_BREAK = re.compile(r"(?<!\n)\n+\S[^\n]*\[Page [0-9]+\][\n\f]*(?:\S[^\n]* {3}[^\n]*\n+)?")
"""Foot of a page in a paginated text, such as an RFC, with the running head of the next one."""
_INDENTED = " " * 3
_EDGE_HEADING = re.compile(r"[^\W\d_](?:\S| (?! )){0,80}$")
_CENTRED = re.compile(r" {4,40}[^\W_](?:\S| (?! )){0,80}$")
_TABLE_RULE = re.compile(r"^[ \t]*(?:[-=]{2,}[ \t]+){1,40}[-=]{2,}[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^((?:[0-9]{1,2}\.)*[0-9]{1,2})\.?[ \t]+([^\W\d_].{0,100})$")
_SETEXT = re.compile(r"^(=|-)\1{2,}[ \t]*$")
_OWN_MARK = re.compile(r"page [0-9]{1,6}")
_LONGEST_TITLE = 80
_MOST_HIDDEN, _LONGEST_HIDDEN = 200, 300


def read_text(content: bytes, *, markdown: bool) -> Reading:
    """Read a Markdown or plain-text file as one page. Raises Unreadable if it is not UTF-8."""
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise Unreadable(BROKEN, f"it is not UTF-8 text: byte {error.start} is invalid") from error
    # front matter is not part of the text, but names title and authors
    front = _FRONT.match(text) if markdown else None
    known = _parse_front(front.group(1)) if front else {}
    body = text[front.end() :] if front else text if markdown else _with_headings(_PAGE_BREAK.sub("\n\n", text))
    match = _TITLE.search(FENCED.sub("", body))
    title = str(known.get("title") or (match.group(1) if match else "")).strip()
    if known.get("title") and match:
        body = f"# {title}\n\n{lower_headings(body, title, 2)}\n"
    body, hidden = _without_comments(body) if markdown else (body, [])
    links = dict.fromkeys(found.rstrip(".,;:!?") for found in URL.findall(body))
    return Reading(
        verdict=OK,
        reader="markdown 3" if markdown else "text 3",
        pages=(body,),
        title=title or None,
        authors=tuple(dict.fromkeys(_names_in(known.get("authors") or known.get("author")))),
        links=tuple(Link(url, 1) for url in links),
        hidden=tuple(Hidden(words, 1, "invisible") for words in hidden[:_MOST_HIDDEN]),
    )


def _parse_front(front: str) -> dict[str, Any]:
    """Parse front matter; where it is not valid YAML (a colon in a title without quotes), its title alone is read."""
    try:
        known = parse_yaml(front.encode())
    except FormatError:
        match = _GIVEN_TITLE.search(front)
        known = {"title": match.group(1)} if match else {}
    return known if isinstance(known, dict) else {}


def _names_in(value: Any) -> Iterator[str]:
    for author in (
        value if isinstance(value, list) else re.split(r"[,;]\s|\band\b", value) if isinstance(value, str) else ()
    ):
        parts = [author.get(key) for key in _NAME_KEYS] if isinstance(author, dict) else [author]
        if name := " ".join(part.strip() for part in parts if isinstance(part, str)).strip():
            yield name


def read_markdown_input(source: InputFile) -> Reading:
    """Read a Markdown file (InputKind.reader)."""
    return read_text(source.content(), markdown=True)


def read_text_input(source: InputFile) -> Reading:
    """Read a plain-text file (InputKind.reader)."""
    return read_text(source.content(), markdown=False)


def read_requirement_input(source: InputFile) -> Reading:
    """Read a requirement in plain words (InputKind.reader)."""
    return read_requirement(source.content())


def _without_comments(body: str) -> tuple[str, list[str]]:
    """Remove HTML comments outside fences, and return their words as hidden text."""
    result: list[str] = []
    hidden: list[str] = []
    position = 0
    for fence in [*FENCED.finditer(body), None]:
        stretch = body[position : fence.start() if fence else len(body)]
        words = (" ".join(match.group(1).split())[:_LONGEST_HIDDEN] for match in _COMMENT.finditer(stretch))
        hidden += [word for word in words if any(map(str.isalnum, word)) and not _OWN_MARK.fullmatch(word)]
        result += [_COMMENT.sub("", stretch), fence.group() if fence else ""]
        position = fence.end() if fence else len(body)
    return "".join(result), hidden


def read_requirement(content: bytes) -> Reading:
    """Read a requirement in plain words. Its title is its first sentence, cut to the length of a title."""
    reading = read_text(content, markdown=True)
    first = re.split(r"(?<=[.!?])\s|\n|[。！？]", reading.pages[0].strip(), maxsplit=1)[0].rstrip(".!?")
    title = (
        first if len(first) <= _LONGEST_TITLE else first[:_LONGEST_TITLE].rpartition(" ")[0] or first[:_LONGEST_TITLE]
    )
    return replace(reading, reader="requirement 1", title=title or None)


def _with_headings(text: str) -> str:
    """Mark the title, the headings and the aligned tables of plain text.

    A heading stands alone: a numbered line, an underlined one, or one at the left edge of a text that is set in.
    """
    lines = text.split("\n")
    is_set_in = 2 * sum(line.startswith(_INDENTED) for line in lines) > sum(bool(line.strip()) for line in lines)
    result: list[str] = []
    for index, line in enumerate(lines):
        before = lines[index - 1].strip() if index else ""
        after = lines[index + 1] if index + 1 < len(lines) else ""
        alone = not before and not after.strip() and not line.rstrip().endswith((".", ",", ";"))
        match = _NUMBERED.match(line.lstrip() if is_set_in else line)
        if _SETEXT.match(after) and line.strip() and not before:
            result.append(("# " if after.startswith("=") else "## ") + line.strip())
        elif _SETEXT.match(line) and result and result[-1].startswith("#"):
            continue
        elif match and alone and (line[:1].strip() or "." in match.group(1)):
            result.append(f"{'#' * (match.group(1).count('.') + 2)} {line.strip()}")
        elif is_set_in and alone and _EDGE_HEADING.match(line):
            result.append(f"## {line.strip().rstrip(':')}")
        elif is_set_in and alone and not any(row.startswith("#") for row in result) and _CENTRED.match(line):
            result.append(f"# {line.strip()}")
        else:
            result.append(line)
    return _with_fenced_tables("\n".join(result))


def _with_fenced_tables(text: str) -> str:
    """Put each paragraph of a plain text that has a ruling below its column names into a fence: its columns stay aligned."""
    paragraphs = re.split(r"(\n[ \t]*\n)", text)
    return "".join(f"```\n{one}\n```" if _TABLE_RULE.search(one) else one for one in paragraphs)
