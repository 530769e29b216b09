"""The comment that stands directly above a definition."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FURTHEST = 120
"""Lines above a definition that may belong to its comment."""
_LONGEST = 2_000
_LINE = re.compile(r"\s*(?://[/!]?|#['#!]?|--)(?!\w*\[) ?")
_SKIPPED = re.compile(r"\s*(?:@\w[\w.]*(?:\(.*\))?|#\[.*\]|\[\[.*\]\]|template\s*<.*>|__\w+__(?:\(.*\))?)\s*$")
"""What may stand between a comment and what it documents: annotations, attributes, a template's head."""
_BORDER = re.compile(r"^\s*(?:/\*+!?|\*+/|\*(?!\*)) ?|\s*\*+/\s*$")
_DIRECTIVES = ("#include", "#define", "#if", "#endif", "#else", "#elif", "#pragma", "#undef", "#error", "#line")


def comment_above(lines: Sequence[str], line: int, *, quoted: bool = False) -> str:
    """The comment that ends right above a line (from 1), without its marks; `quoted` takes a string as one (Julia)."""
    at = line - 2
    lowest = max(0, at - _FURTHEST)
    while at >= lowest and _SKIPPED.match(lines[at]):
        at -= 1
    if at < lowest:
        return ""
    last = lines[at].strip()
    if quoted and last.endswith('"'):
        return _string_above(lines, at, lowest)
    if last.endswith("*/"):
        return _block_comment(lines, at, lowest)
    return _line_comments(lines, at, lowest)


def _line_comments(lines: Sequence[str], at: int, lowest: int) -> str:
    found: list[str] = []
    while at >= lowest and (mark := _LINE.match(lines[at])) and not lines[at].lstrip().startswith(_DIRECTIVES):
        found.append(lines[at][mark.end() :].rstrip())
        at -= 1
    return "\n".join(reversed(found)).strip()[:_LONGEST]


def _block_comment(lines: Sequence[str], at: int, lowest: int) -> str:
    found: list[str] = []
    while at >= lowest:
        found.append(_BORDER.sub("", lines[at]).rstrip())
        opened = lines[at].find("/*")
        if opened >= 0:
            alone = not lines[at][:opened].strip()
            return "\n".join(reversed(found)).strip()[:_LONGEST] if alone else ""
        at -= 1
    return ""


def _string_above(lines: Sequence[str], at: int, lowest: int) -> str:
    last = lines[at].strip()
    if not last.endswith('"""'):
        return last.strip('"')[:_LONGEST] if last.startswith('"') else ""
    found = [last[:-3]]
    if last.startswith('"""') and len(last) >= 6:
        return last[3:-3].strip()[:_LONGEST]
    while (at := at - 1) >= lowest:
        opened = lines[at].find('"""')
        if opened >= 0:
            found.append(lines[at][opened + 3 :])
            return "\n".join(part.rstrip() for part in reversed(found)).strip()[:_LONGEST]
        found.append(lines[at])
    return ""
