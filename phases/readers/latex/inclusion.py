"""The commands with which one file of a paper takes in another: only what was handed in is ever read."""

from __future__ import annotations

from collections.abc import Callable

from phases.readers.latex.macros import DEFINERS
from phases.readers.latex.stream import Frame, Stream
from phases.readers.latex.tokens import plain_of

_SILENT = (".sty", ".cls", ".tikz", ".pgf", ".pdf_tex", ".eps_tex", ".pstex_t", ".def", ".cfg", ".clo", ".fd")
_LONGEST_PACKAGE = 20_000
"""Tokens; what is longer is no paper's own file of macros."""

_KNOWN_PACKAGES = {
    "algorithm", "algorithmic", "algorithmicx", "algpseudocode", "algorithm2e", "natbib", "hyperref", "cleveref", "fancyhdr",
    "booktabs", "multirow", "subfigure", "subcaption", "caption", "url", "times", "amsmath",
}  # fmt: skip


def _input(stream: Stream, lexeme: str) -> None:
    _read(stream, "", _file_name(stream))


def _import(stream: Stream, lexeme: str) -> None:
    folder = plain_of(stream.argument())
    _read(stream, folder, plain_of(stream.argument()))


def _file_name(stream: Stream) -> str:
    """The name behind \\input, in braces or up to a blank."""
    lexeme = stream.next()
    if lexeme == "{":
        return plain_of(stream.until("}"))
    name = ""
    while lexeme and lexeme[0] not in "\\{}\n":
        word, blank, rest = (lexeme if name else lexeme.lstrip()).partition(" ")
        name += word
        if blank:
            stream.push([blank + rest])
            return name
        lexeme = stream.next()
    stream.push([lexeme] if lexeme else [])
    return name


def _read(stream: Stream, folder: str, name: str) -> None:
    name = name.strip("\"' ")
    path = stream.sources.find(name, folder)
    if path is None:
        if name and not name.lower().endswith(_SILENT):
            stream.out.append(f" [file {name[:100]} is missing] ")
        return
    tokens = stream.sources.tokens(path)
    if all(frame.file != path for frame in stream.frames) and stream.fits(len(tokens)):
        stream.push(tokens, path)


def _package(stream: Stream, lexeme: str) -> None:
    """Keeps the command for whoever wants to know the packages, and learns the macros of one that came along."""
    option = stream.option() or []
    names = plain_of(stream.argument()) or " "
    stream.out += [lexeme, "[", *option, "]", "{", names, "}"]
    for name in names.split(",")[:50]:
        path = stream.sources.find(name.strip(), suffixes=(".sty",)) if name.strip() not in _KNOWN_PACKAGES else None
        tokens = stream.sources.tokens(path) if path else []
        if len(tokens) <= _LONGEST_PACKAGE and stream.fits(len(tokens)):
            _harvest(stream, tokens)


def _harvest(stream: Stream, tokens: list[str]) -> None:
    """Takes the definitions out of a package, and nothing else."""
    outer, stream.frames = stream.frames, [Frame(tokens)]
    depth = 0
    while (lexeme := stream.next()) is not None:
        depth += (lexeme == "{") - (lexeme == "}")
        if not depth and lexeme.rstrip("*") in DEFINERS:
            DEFINERS[lexeme.rstrip("*")](stream, lexeme)
    stream.frames = outer


def _bibliography(stream: Stream, lexeme: str) -> None:
    """Takes in the .bbl where it is one of \\bibitem; else the command stays, and the .bib files are asked later."""
    path = stream.sources.bibliography()
    tokens = stream.sources.tokens(path) if path else []
    if path and "\\bibitem" in tokens and not stream.has_bibliography and stream.fits(len(tokens)):
        stream.has_bibliography = True
        if lexeme == "\\bibliography":
            stream.argument()
        else:
            stream.option()
        stream.push(tokens, path)
    else:
        stream.out.append(lexeme)


def _end_of_file(stream: Stream, lexeme: str) -> None:
    while stream.frames and not stream.frames[-1].file:
        stream.frames.pop()
    if stream.frames:
        stream.frames.pop()


INCLUSIONS: dict[str, Callable[[Stream, str], None]] = {
    **dict.fromkeys(("\\input", "\\include", "\\subfile", "\\subfileinclude", "\\@input"), _input),
    **dict.fromkeys(("\\import", "\\subimport", "\\includefrom", "\\inputfrom", "\\subincludefrom"), _import),
    **dict.fromkeys(("\\bibliography", "\\printbibliography"), _bibliography),
    **dict.fromkeys(("\\usepackage", "\\RequirePackage"), _package),
    "\\endinput": _end_of_file,
}
