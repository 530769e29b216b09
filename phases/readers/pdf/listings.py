"""Find listings: adjacent lines of code and pseudo-code, recognized by type, signs and words."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from phases.readers.pdf.characters import is_typewriter
from phases.readers.pdf.headings import BodyStyle
from phases.readers.pdf.lines import Line

_NUMBER = re.compile(r"([0-9]{1,3}[:.]?)\s+(?=\S)")
"""The number in front of a line of code."""
_STATEMENT = re.compile(
    r"(?:\}\s*)?(?:"
    r"(?:if|else ?if|elif|while|for|forall|foreach|switch|case|until)\b.*(?:\b(?:then|do|begin|loop)|[:;{)])\s*$"
    r"|(?:if|while)\s*(?:!|\((?:.*[;{)]\s*$|[^)]*[=<>!&|_\[]))|with\b.*\(.*:\s*$"
    r"|for (?:each |all |ever\b)?.*(?:←|:=|<-|=|\\leftarrow).*|for \S+ from \S+ to\b.*"
    r"|(?:else|then|do|begin|repeat|loop|try|atomic|otherwise)\s*(?:[:;{]?\s*$|/[/*])|else\s*[:{]|(?:else|then) (?:return|if)\b"
    r"|end(?:[ -]?(?:if|for|while|do|function|procedure|process|case|switch|loop|repeat|proc|atomic|try))*\s*[;.]?\s*$"
    r"|(?:procedure|subroutine|def|proc)\s+[A-Za-z_]\w*\s*(?:[(:{].*)?$"
    r"|(?:function|process|struct|class)\s+[A-Za-z_]\w*\s*(?:[({].*|:\s*)$"
    r"|return(?:\s+\S+)?\s*$|return\b.{0,40}(?:[;})]$|[=←⟨{(\[+_].{0,40}$)"
    r"|(?:break|continue|exit)\s*;?\s*$|(?://|/\*|▷).*|print\s*[(\"'].{0,40}$"
    r")",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[;{}]\s*$|:=|←|<-|\\leftarrow|\+\+|[!=]=|->\w|&&|\|\|")
_KEYWORDS = frozenset([
    "if", "then", "else", "elif", "while", "for", "each", "all", "ever", "switch", "case", "until", "with", "begin", "end",
    "repeat", "loop", "try", "return", "break", "continue", "exit", "function", "procedure", "process", "subroutine", "def",
    "struct", "class", "void", "int", "char", "bool", "boolean", "float", "double", "string", "unsigned", "const", "static",
    "new", "null", "nil", "true", "false", "and", "not", "mod", "var", "let", "print",
])  # fmt: skip
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u0400-\u04ff]{3,}")
_NO_WORDS = re.compile(r"\\[A-Za-z]+|(?://|▷).*")
"""Commands of a formula, and comments in code."""
_CALL = re.compile(r"\$?[A-Za-z_][\w.]{2,40} ?\([^()=.:;]{0,60}\)\$?[:{]?$")
"""Name and parameters of a function, alone on a line."""
_SIGN_OF_TEXT = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")
"""Two of these letters count as a word."""
_MAIL = re.compile(r"\S@\S+\.\w+$")
_NOTE = re.compile(r"[0-9]{1,2}(?=[^\W\d_]{2})")
_ADDRESS = re.compile(r"(?:[0-9]{1,2}|[*∗†‡§¶])?\s*https?://")
_BULLET = re.compile(r"[•◦▪■●‣∙⋄–*]\s")
_MOST_WORDS, _FEWEST_WORDS = 5, 3
"""Non-keywords in a line of prose, at most for code; and at least for prose in the text's own letters."""
_WIDE = 0.6
_MOST_PROSE = 2
_MOST_TRIES = 6
"""Refused starts in a row after which everything read from them is given up."""
_FEWEST, _FEWEST_TYPED, _FEWEST_STATED = 3, 2, 2
_SHARE, _MOSTLY = 0.5, 0.6
_WHITE = 2.0
"""White between two parts of a listing, at most, in letter sizes."""
_APART, _SET_IN, _DEEPEST_HEAD = 1.5, 0.7, 1.5
_SAME_SIZE, _SMALLER, _RAGGED, _INDENT = 0.3, 0.7, 0.06, 2.2
_LETTER = 0.49
"""Width of the narrowest monospaced letter, in letter sizes; other fonts are narrower on average."""


def find_listings(lines: Sequence[Line], body: BodyStyle, outside: Set[int]) -> dict[int, int]:
    """Return the number of lines of each listing by first line. Lines `outside` (headings, tables, captions) are excluded."""
    outside = outside | {index for index, line in enumerate(lines) if _is_note(line, body)}
    found: dict[int, int] = {}
    index = begin = refused = 0
    while index < len(lines):
        if index in outside or not _is_code(lines[index], body):
            index += 1
            continue
        end = _end_of_listing(lines, index, body, outside)
        if _is_listing(lines, index, end, body):
            first = _first_line(lines, index, begin, outside)
            found[first] = end - first
            index = begin = end
            refused = 0
        else:
            # text that reads like code but is rejected may be as long as the page
            refused += 1
            index = index + 1 if refused % _MOST_TRIES else end
    return found


def _end_of_listing(lines: Sequence[Line], first: int, body: BodyStyle, outside: Set[int]) -> int:
    end = first + 1
    typed = _is_typed(lines[first], body)
    for index in range(first + 1, len(lines)):
        line = lines[index]
        if index in outside or not _is_next(lines[index - 1], line):
            break
        code = _is_code(line, body)
        if not code and ((typed and _is_in_words(line, body)) or _is_text(lines[index : index + 2], body)):
            break
        if index - end >= _MOST_PROSE and all(map(_is_prose, lines[end : index + 1])):
            break
        if code or (index == end and not _is_prose(line) and not _BULLET.match(line.text)):
            end = index + 1
    while not _is_code(lines[end - 1], body) and not _is_set_in(lines[end - 1]):
        end -= 1
    return end


def _first_line(lines: Sequence[Line], first: int, begin: int, outside: Set[int]) -> int:
    """Return the first line of a listing's head: name and inputs, indented like the code, directly above it."""
    code = lines[first]
    while first > begin and first - 1 not in outside and not lines[first].fresh:
        line = lines[first - 1]
        level = -_DEEPEST_HEAD * line.size < line.box.x0 - code.box.x0 < line.size
        is_call = bool(_CALL.match(line.text))
        if not level or not (is_call or _is_set_in(line)) or line.text[-1] in ":：" or lines[first].gap > line.size:
            break
        first -= 1
        if is_call:
            break
    return first


def _is_next(before: Line, line: Line) -> bool:
    white = line.box.y0 - before.box.y1
    beside = line.box.x0 > before.box.x1 or before.box.x0 > line.box.x1
    # two lines of a formula are between brackets two lines high
    return line.page == before.page and abs(white) < _WHITE * line.size and not (line.fresh and beside)


def _is_set_in(line: Line) -> bool:
    return line.box.x0 > line.column.x0 + _SET_IN * line.size and not _is_prose(line) and not _BULLET.match(line.text)


def _is_note(line: Line, body: BodyStyle) -> bool:
    """Return whether a line starts with a web address, or is a footnote with its mark."""
    return bool(_ADDRESS.match(line.text)) or (line.size < body.size - _SMALLER and bool(_NOTE.match(line.text)))


def _is_listing(lines: Sequence[Line], first: int, end: int, body: BodyStyle) -> bool:
    run = lines[first:end]
    coded = sum(_is_code(line, body) for line in run)
    stated = sum(bool(_STATEMENT.match(_without_number(line))) for line in run)
    typed = sum(_is_typed(line, body) for line in run)
    if typed >= _FEWEST_TYPED and typed >= _SHARE * len(run):
        # a web address in a footnote may take two lines of a paragraph
        pitch = run[0].box.y1 - lines[first - 1].box.y1
        apart = run[0].fresh or pitch > _APART * run[0].size or _is_set_in(run[0])
        return apart or stated >= _FEWEST_TYPED
    return coded >= _FEWEST and coded >= _SHARE * len(run) and stated >= _FEWEST_STATED


def _is_code(line: Line, body: BodyStyle) -> bool:
    if _is_typed(line, body):
        return True
    if _BULLET.match(line.text) or _is_prose(line):
        return False
    return bool(_STATEMENT.match(_without_number(line)) or _SIGNS.search(line.text))


def is_set_in_typewriter(line: Line) -> bool:
    """Return whether a line is set in a monospaced font beyond its first word."""
    return is_typewriter(line.font) and not _is_narrow(line)


def split_number(line: Line) -> tuple[str, float | None, str]:
    """Split off the number of a line of code: (number, left edge of the rest, rest); without one, ("", edge, line).

    The edge is None if a formula follows so closely that both are one piece.
    """
    match = _NUMBER.match(line.text)
    if match and len(line.items) > 1 and line.items[0].text == match.group(1):
        return match.group(1), line.items[1].box.x0, line.text[match.end() :]
    words = line.items[0].words
    if match and len(words) > 1 and words[0][0] == match.group(1):
        return match.group(1), words[1][1], line.text[match.end() :]
    if match and not words and match.group(1)[-1] in ":.":
        return match.group(1), None, line.text[match.end() :]
    return "", line.box.x0, line.text


def is_prose(line: Line, body: BodyStyle) -> bool:
    """Return whether a line is words in the text's size, and not a statement."""
    in_words = abs(line.size - body.size) < _SAME_SIZE and _count_words(line) >= _FEWEST_WORDS
    return in_words and not _is_code(line, body)


def _is_typed(line: Line, body: BodyStyle) -> bool:
    """Return whether a line is monospaced but for a sign or two; a line of prose may only begin like that."""
    if is_typewriter(body.font) or _MAIL.search(line.text):
        return False
    typed = sum(len(item.text) for item in line.items if is_typewriter(item.font))
    if typed < _MOSTLY * sum(len(item.text) for item in line.items):
        return False
    if _STATEMENT.match(_without_number(line)) or _SIGNS.search(line.text):
        return True
    return not (_is_narrow(line) and abs(line.size - body.size) < _SAME_SIZE and _count_words(line) >= _FEWEST_WORDS)


def _is_narrow(line: Line) -> bool:
    return line.box.width < _LETTER * line.size * len(line.text)


def _is_text(lines: Sequence[Line], body: BodyStyle) -> bool:
    """Return whether the first line belongs to a paragraph: words from edge to edge in the text's size, without code after it."""
    line = lines[0]
    edges = (
        line.box.x1 > line.column.x1 - _RAGGED * line.column.width,
        line.box.x0 < line.column.x0 + _INDENT * line.size,
    )
    if not all(edges) or abs(line.size - body.size) > _SAME_SIZE or _count_words(line) < _FEWEST_WORDS:
        return False
    return not (lines[1:] and _is_next(line, lines[1]) and _is_code(lines[1], body))


def _is_in_words(line: Line, body: BodyStyle) -> bool:
    return line.font == body.font and _count_words(line) >= _FEWEST_WORDS and not _NUMBER.match(line.text)


def _is_prose(line: Line) -> bool:
    return _count_words(line) > _MOST_WORDS and line.box.width > _WIDE * line.column.width


def _count_words(line: Line) -> int:
    words = sum(word.lower() not in _KEYWORDS for word in _WORD.findall(_NO_WORDS.sub(" ", line.text)))
    return words + len(_SIGN_OF_TEXT.findall(line.text)) // 2


def _without_number(line: Line) -> str:
    return _NUMBER.sub("", line.text, count=1)
