"""A paper's tokens in one row: its files taken in, its own macros replaced, its dead branches left out. Nothing is run."""

from __future__ import annotations

from collections.abc import Callable

from phases.readers.latex.conditionals import CONDITIONALS, conditional, is_conditional, named_command
from phases.readers.latex.inclusion import INCLUSIONS
from phases.readers.latex.macros import DEFINERS
from phases.readers.latex.source import Sources
from phases.readers.latex.stream import Macro, Stream
from phases.readers.latex.tokens import PARAGRAPH, plain_of

_MATH = {"equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "alignat", "flalign"}
_MATH_SIGNS = {"\\(": True, "\\[": True, "\\)": False, "\\]": False}


def expanded(sources: Sources, protected: frozenset[str]) -> Stream:
    """Reads a paper from its main file on. The tokens are in the `out` of what comes back, the macros beside them."""
    stream = Stream(sources, protected)
    stream.push(sources.tokens(sources.main), sources.main)
    out = stream.out
    while (lexeme := stream.next()) is not None:
        if lexeme[0] == "\\" and len(lexeme) > 1:
            _command(stream, lexeme)
            continue
        if lexeme == "$":
            stream.in_math = not stream.in_math or out[-1:] == ["$"]
        elif lexeme == PARAGRAPH:
            stream.in_math = False
        out.append(lexeme)
    return stream


def _command(stream: Stream, lexeme: str) -> None:
    bare = lexeme.rstrip("*")
    macro = stream.macros.get(lexeme) or stream.macros.get(bare)
    if macro and bare not in stream.protected:
        _expand(stream, macro, lexeme)
    elif bare in _COMMANDS:
        _COMMANDS[bare](stream, lexeme)
    elif lexeme in stream.switches or is_conditional(lexeme):
        conditional(stream, lexeme)
    else:
        stream.in_math = _MATH_SIGNS.get(lexeme, stream.in_math)
        stream.out.append(lexeme)


def _expand(stream: Stream, macro: Macro, lexeme: str) -> None:
    """Reads the arguments, puts them into the body, and lets that be read next."""
    if not stream.fits(0):
        stream.out.append(lexeme or " ")
        return
    if lexeme[-1:] == "*" and lexeme not in stream.macros:
        stream.push(["*"])
    arguments: list[list[str]] = []
    for default in macro.parameters:
        given = stream.argument() if default is None else stream.option()
        arguments.append(given if given is not None else list(default or ()))
    if stream.fits(sum(map(len, arguments)) + len(macro.body)):
        body = macro.filled(arguments)
        stream.work -= len(body)
        stream.push(body)


def _begin(stream: Stream, lexeme: str) -> None:
    name = plain_of(stream.argument()) or " "
    if name in stream.environments and name not in stream.protected:
        _expand(stream, stream.environments[name][0], "")
        return
    stream.in_math = stream.in_math or name.rstrip("*") in _MATH
    stream.out += ["\\begin", "{", name, "}"]


def _end(stream: Stream, lexeme: str) -> None:
    name = plain_of(stream.argument()) or " "
    if name == "document":
        stream.frames.clear()
    elif name in stream.environments and name not in stream.protected:
        body = stream.environments[name][1]
        stream.push(body if stream.fits(len(body)) else [])
    else:
        stream.in_math = stream.in_math and name.rstrip("*") not in _MATH
        stream.out += ["\\end", "{", name, "}"]


def _named(stream: Stream, lexeme: str) -> None:
    name = named_command(stream)
    if name != "\\csname":
        _command(stream, name)


def _nothing(stream: Stream, lexeme: str) -> None:
    """A command that matters to TeX alone."""


_SILENT = ("\\expandafter", "\\noexpand", "\\protect", "\\global", "\\long", "\\outer", "\\protected", "\\relax",
           "\\unexpanded", "\\makeatletter", "\\makeatother", "\\leavevmode", "\\ignorespaces", "\\unskip")  # fmt: skip
_COMMANDS: dict[str, Callable[[Stream, str], None]] = {
    **dict.fromkeys(_SILENT, _nothing),
    **DEFINERS,
    **CONDITIONALS,
    **INCLUSIONS,
    "\\begin": _begin,
    "\\end": _end,
    "\\csname": _named,
}
