"""The branches of a source that count: \\iffalse, \\newif switches, toggles; of what cannot be known, the other branch."""

from __future__ import annotations

from collections.abc import Callable

from phases.readers.latex.stream import Stream
from phases.readers.latex.tokens import plain_of

_NO_CONDITIONALS = {"\\iff", "\\ifthenelse", "\\iftoggle", "\\ifbool", "\\ifblank", "\\ifdefempty", "\\ifstrempty",
                    "\\ifstrequal", "\\ifdefstring", "\\ifnumcomp", "\\ifpackageloaded"}  # fmt: skip


def is_conditional(lexeme: str) -> bool:
    """Whether a command opens a branch that \\fi closes."""
    return lexeme.startswith("\\if") and lexeme not in _NO_CONDITIONALS


def conditional(stream: Stream, lexeme: str) -> None:
    """Enters the branch that counts, and skips the other one."""
    if lexeme in stream.switches:
        holds = stream.switches[lexeme]
    elif lexeme == "\\ifx":
        holds = _same(stream, _word(stream), _word(stream))
    elif lexeme in ("\\ifdefined", "\\ifcsname"):
        holds = _word(stream, named=lexeme == "\\ifcsname") in stream.macros
    else:
        holds = lexeme == "\\iftrue" or (lexeme == "\\ifmmode" and stream.in_math)
    if holds or _skip(stream) == "\\else":
        stream.open_conditionals += 1


def _same(stream: Stream, one: str, other: str) -> bool:
    """Whether two commands mean the same, as far as is known; what nobody defined is \\relax."""
    unknown = ("\\relax", "\\undefined", "\\@undefined")
    first, second = (stream.macros.get(word, "" if word in unknown else word) for word in (one, other))
    if not first or not second:  # "is it defined?": only what the paper itself defined is
        return not (one in stream.macros or other in stream.macros)
    return first == second


def _word(stream: Stream, *, named: bool = False) -> str:
    lexeme = stream.next() or ""
    while lexeme in ("\\expandafter", " "):
        lexeme = stream.next() or ""
    return named_command(stream, lexeme) if named or lexeme == "\\csname" else lexeme


def named_command(stream: Stream, first: str = "") -> str:
    """The command whose name stands before \\endcsname."""
    parts = [first] if first not in ("", "\\csname") else []
    while (part := stream.next()) not in (None, "\\endcsname") and len(parts) < 50:
        parts.append(part or "")
    word = plain_of(parts).replace(" ", "")
    return f"\\{word}" if word.isalpha() else "\\relax"


def _skip(stream: Stream, *, to_the_end: bool = False) -> str:
    """Reads on behind the \\else or \\fi of this branch and says which. Where none comes, nothing was skipped."""
    taken: list[str] = []
    depth = 0
    while stream.trusts_conditionals and (lexeme := stream.next()) is not None:
        if not depth and (lexeme == "\\fi" or (lexeme == "\\else" and not to_the_end)):
            return lexeme
        if lexeme[0] == "\\":
            depth += (is_conditional(lexeme) and lexeme not in stream.macros) - (lexeme == "\\fi")
        taken.append(lexeme)
    stream.trusts_conditionals = False
    stream.push(taken)
    return ""


def _else(stream: Stream, lexeme: str) -> None:
    if stream.open_conditionals:
        stream.open_conditionals -= 1
        _skip(stream, to_the_end=True)


def _fi(stream: Stream, lexeme: str) -> None:
    stream.open_conditionals = max(0, stream.open_conditionals - 1)


def _choice(stream: Stream, lexeme: str) -> None:
    """\\ifthenelse{test}{one}{other} with a switch, or with texts that are compared."""
    test = stream.argument()
    one, other = stream.argument(), stream.argument()
    words = "".join(test)
    if lexeme == "\\ifthenelse" and test[:1] == ["\\equal"]:
        left, _, right = words.removeprefix("\\equal{").removesuffix("}").partition("}{")
        holds = left.strip() == right.strip()
    elif lexeme == "\\ifthenelse" and test[:1] == ["\\boolean"]:
        holds = stream.switches.get("\\if" + plain_of(test), False)
    else:
        holds = stream.switches.get(words, stream.switches.get(f"\\if{words}", False))
    stream.push(one if holds else other)


CONDITIONALS: dict[str, Callable[[Stream, str], None]] = {
    **dict.fromkeys(("\\ifthenelse", "\\iftoggle", "\\ifbool"), _choice),
    "\\else": _else,
    "\\fi": _fi,
}
