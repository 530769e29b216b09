"""Split LaTeX into tokens: commands, braces, brackets, specials, paragraph ends, stored code, and runs of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

PARAGRAPH = "\n\n"
BLOCK_CODE, INLINE_CODE = "\x01", "\x02"
"""Delimiters around the number of a stored verbatim text."""
_TOKEN = re.compile(
    r"\\[A-Za-z@]+\*? ?|\\[\s\S]?|[{}\[\]$&~#^_]|\n\n|\x01[0-9]+\x01|\x02[0-9]+\x02"
    r"|[^\\{}\[\]$&~#^_\n\x01\x02]+|[\s\S]"
)


def tokenise(text: str) -> list[str]:
    """Return the tokens of a text with single blanks and paragraphs that end in two line feeds."""
    found = _TOKEN.findall(text)
    return [lexeme[:-1] if lexeme[0] == "\\" and lexeme[-1] == " " and len(lexeme) > 2 else lexeme for lexeme in found]


def match_pairs(tokens: Sequence[str]) -> list[int]:
    """Return the index that closes each `{` and `[`, and -1 if nothing does. Brackets pair within braces."""
    ends = [-1] * len(tokens)
    open_: list[int] = []
    for index, lexeme in enumerate(tokens):
        if lexeme in ("{", "["):
            open_.append(index)
        elif lexeme == "]" and open_ and tokens[open_[-1]] == "[":
            ends[open_.pop()] = index
        elif lexeme == "}":
            while open_ and tokens[open_[-1]] == "[":
                open_.pop()
            if open_:
                ends[open_.pop()] = index
    return ends


def environment_ends(tokens: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of the \\end commands by environment name."""
    ends: dict[str, list[int]] = {}
    for index, lexeme in enumerate(tokens):
        if lexeme == "\\end" and index + 2 < len(tokens):
            ends.setdefault(tokens[index + 2], []).append(index)
    return ends


def source_of(tokens: Iterable[str]) -> str:
    """Return the tokens as LaTeX, with a blank between a command and a following letter."""
    parts: list[str] = []
    word = False
    for lexeme in tokens:
        if word and (lexeme[0].isalpha() or (lexeme[0] == "\\" and lexeme[1:2].isalpha())):
            parts.append(" ")
        parts.append(" " if lexeme == PARAGRAPH else lexeme)
        word = lexeme[0] == "\\" and lexeme[-1].isalpha()
    return "".join(parts)


def plain_of(tokens: Iterable[str]) -> str:
    """Return the words of a short argument, such as a key or a file name: no commands, no braces, single blanks."""
    kept = (lexeme for lexeme in tokens if lexeme[0] not in "{}\x01\x02")
    text = "".join(
        _ESCAPED.get(lexeme, "") if lexeme[0] == "\\" else " " if lexeme == "~" else lexeme for lexeme in kept
    )
    return " ".join(text.split())


_ESCAPED = {"\\%": "%", "\\#": "#", "\\_": "_", "\\&": "&", "\\$": "$", "\\~": "~", "\\textasciitilde": "~", "\\ ": " "}
