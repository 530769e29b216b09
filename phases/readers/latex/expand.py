"""A paper's tokens in one row: its files taken in, its own macros replaced, its dead branches left out. Nothing is run."""

from __future__ import annotations

from collections.abc import Callable

from phases.readers.latex.macros import DEFINERS
from phases.readers.latex.source import Sources
from phases.readers.latex.stream import Frame, Macro, Stream
from phases.readers.latex.tokens import PARAGRAPH, plain_of

_MATH = {"equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "alignat", "flalign"}
_MATH_SIGNS = {"\\(": True, "\\[": True, "\\)": False, "\\]": False}
_SILENT = ("\\expandafter", "\\noexpand", "\\protect", "\\global", "\\long", "\\outer", "\\protected", "\\relax",
           "\\unexpanded", "\\makeatletter", "\\makeatother", "\\leavevmode", "\\ignorespaces", "\\unskip")  # fmt: skip
_NO_CONDITIONALS = {"\\iff", "\\ifthenelse", "\\iftoggle", "\\ifbool", "\\ifblank", "\\ifdefempty", "\\ifstrempty",
                    "\\ifstrequal", "\\ifdefstring", "\\ifnumcomp", "\\ifpackageloaded"}  # fmt: skip
_SILENT_FILES = (".sty", ".cls", ".tikz", ".pgf", ".pdf_tex", ".eps_tex", ".pstex_t", ".def", ".cfg", ".clo", ".fd")
_LONGEST_PACKAGE = 20_000
"""Tokens; what is longer is no paper's own file of macros."""
_KNOWN_PACKAGES = {
    "algorithm", "algorithmic", "algorithmicx", "algpseudocode", "algorithm2e", "natbib", "hyperref", "cleveref", "fancyhdr",
    "booktabs", "multirow", "subfigure", "subcaption", "caption", "url", "times", "amsmath",
}  # fmt: skip


def expand_sources(sources: Sources, protected: frozenset[str]) -> Stream:
    """Reads a paper from its main file on. The tokens are in the `out` of what comes back, the macros beside them."""
    stream = Stream(sources, protected)
    stream.push(sources.tokens(sources.main), sources.main)
    out = stream.out
    while (lexeme := stream.next()) is not None:
        if lexeme[0] == "\\" and len(lexeme) > 1:
            _on_command(stream, lexeme)
            continue
        if lexeme == "$":
            stream.in_math = not stream.in_math or out[-1:] == ["$"]
        elif lexeme == PARAGRAPH:
            stream.in_math = False
        out.append(lexeme)
    return stream


def _on_command(stream: Stream, lexeme: str) -> None:
    # the paper's own macros come first: it may define again what TeX has
    bare = lexeme.rstrip("*")
    macro = stream.macros.get(lexeme) or stream.macros.get(bare)
    if not macro and bare in stream.originals:
        bare, lexeme = stream.originals[bare], stream.originals[bare] + lexeme[len(bare) :]
    if macro and bare not in stream.protected:
        _expand_macro(stream, macro, lexeme)
    elif bare in _COMMANDS:
        _COMMANDS[bare](stream, lexeme)
    elif lexeme in stream.switches or is_conditional(lexeme):
        on_conditional(stream, lexeme)
    else:
        stream.in_math = _MATH_SIGNS.get(lexeme, stream.in_math)
        stream.out.append(lexeme)


def _expand_macro(stream: Stream, macro: Macro, lexeme: str) -> None:
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
        body = macro.fill(arguments)
        stream.work -= len(body)
        stream.push(body)


def _on_begin(stream: Stream, lexeme: str) -> None:
    name = plain_of(stream.argument()) or " "
    if name in stream.environments and name not in stream.protected:
        _expand_macro(stream, stream.environments[name][0], "")
        return
    stream.in_math = stream.in_math or name.rstrip("*") in _MATH
    stream.out += ["\\begin", "{", name, "}"]


def _on_end(stream: Stream, lexeme: str) -> None:
    name = plain_of(stream.argument()) or " "
    if name == "document":
        stream.frames.clear()
    elif name in stream.environments and name not in stream.protected:
        body = stream.environments[name][1]
        stream.push(body if stream.fits(len(body)) else [])
    else:
        stream.in_math = stream.in_math and name.rstrip("*") not in _MATH
        stream.out += ["\\end", "{", name, "}"]


def _on_csname(stream: Stream, lexeme: str) -> None:
    name = read_command_name(stream)
    if name != "\\csname":
        _on_command(stream, name)


def _ignore_command(stream: Stream, lexeme: str) -> None:
    """A command that matters to TeX alone."""


def _on_choice(stream: Stream, lexeme: str) -> None:
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


def _on_else(stream: Stream, lexeme: str) -> None:
    if stream.open_conditionals:
        stream.open_conditionals -= 1
        _skip_branch(stream, to_the_end=True)


def _on_fi(stream: Stream, lexeme: str) -> None:
    stream.open_conditionals = max(0, stream.open_conditionals - 1)


def _end_of_file(stream: Stream, lexeme: str) -> None:
    while stream.frames and not stream.frames[-1].file:
        stream.frames.pop()
    if stream.frames:
        stream.frames.pop()


def _on_bibliography(stream: Stream, lexeme: str) -> None:
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


def _on_import(stream: Stream, lexeme: str) -> None:
    directory = plain_of(stream.argument())
    _read_file(stream, directory, plain_of(stream.argument()))


def _on_input(stream: Stream, lexeme: str) -> None:
    _read_file(stream, "", _file_name(stream))


def _on_package(stream: Stream, lexeme: str) -> None:
    """Keeps the command, from which the packages are known later, and reads the macros of a package that comes with the paper."""
    option = stream.option() or []
    names = plain_of(stream.argument()) or " "
    stream.out += [lexeme, "[", *option, "]", "{", names, "}"]
    for name in names.split(",")[:50]:
        path = stream.sources.find(name.strip(), suffixes=(".sty",)) if name.strip() not in _KNOWN_PACKAGES else None
        tokens = stream.sources.tokens(path) if path else []
        if len(tokens) <= _LONGEST_PACKAGE and stream.fits(len(tokens)):
            _harvest_macros(stream, tokens)


def is_conditional(lexeme: str) -> bool:
    """Whether a command opens a branch that \\fi closes."""
    return lexeme.startswith("\\if") and lexeme not in _NO_CONDITIONALS


def on_conditional(stream: Stream, lexeme: str) -> None:
    """Enters the branch that counts, and skips the other one."""
    if lexeme in stream.switches:
        holds = stream.switches[lexeme]
    elif lexeme == "\\ifx":
        holds = _is_same(stream, _read_word(stream), _read_word(stream))
    elif lexeme in ("\\ifdefined", "\\ifcsname"):
        holds = _read_word(stream, named=lexeme == "\\ifcsname") in stream.macros
    else:
        holds = lexeme == "\\iftrue" or (lexeme == "\\ifmmode" and stream.in_math)
    if holds or _skip_branch(stream) == "\\else":
        stream.open_conditionals += 1


def _is_same(stream: Stream, one: str, other: str) -> bool:
    """Whether two commands mean the same, as far as is known; an undefined one is \\relax."""
    unknown = ("\\relax", "\\undefined", "\\@undefined")
    first, second = (stream.macros.get(word, "" if word in unknown else word) for word in (one, other))
    # "is it defined?": only what the paper itself defined is
    if not first or not second:
        return not (one in stream.macros or other in stream.macros)
    return first == second


def _read_word(stream: Stream, *, named: bool = False) -> str:
    lexeme = stream.next() or ""
    while lexeme in ("\\expandafter", " "):
        lexeme = stream.next() or ""
    return read_command_name(stream, lexeme) if named or lexeme == "\\csname" else lexeme


def read_command_name(stream: Stream, first: str = "") -> str:
    """The command whose name stands before \\endcsname."""
    parts = [first] if first not in ("", "\\csname") else []
    while (part := stream.next()) not in (None, "\\endcsname") and len(parts) < 50:
        parts.append(part or "")
    word = plain_of(parts).replace(" ", "")
    return f"\\{word}" if word.isalpha() else "\\relax"


def _skip_branch(stream: Stream, *, to_the_end: bool = False) -> str:
    """Reads on behind the \\else or \\fi of this branch and says which. Where none comes, nothing was skipped."""
    taken: list[str] = []
    depth = 0
    while stream.trusts_conditionals and (lexeme := stream.next()) is not None:
        if not depth and (lexeme == "\\fi" or (lexeme == "\\else" and not to_the_end)):
            return lexeme
        if lexeme[0] == "\\":
            depth += (is_conditional(lexeme) and lexeme not in stream.macros) - (lexeme == "\\fi")
        taken.append(lexeme)
    # no \fi in the whole paper: from here on no branch is skipped, for half of the text would go with it
    stream.trusts_conditionals = False
    stream.push(taken)
    return ""


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


def _read_file(stream: Stream, directory: str, name: str) -> None:
    name = name.strip("\"' ")
    path = stream.sources.find(name, directory)
    if path is None:
        if name and not name.lower().endswith(_SILENT_FILES):
            stream.out.append(f" [file {name[:100]} is missing] ")
        return
    tokens = stream.sources.tokens(path)
    if all(frame.file != path for frame in stream.frames) and stream.fits(len(tokens)):
        stream.push(tokens, path)


def _harvest_macros(stream: Stream, tokens: list[str]) -> None:
    """Takes the definitions out of a package, and nothing else."""
    outer, stream.frames = stream.frames, [Frame(tokens)]
    depth = 0
    while (lexeme := stream.next()) is not None:
        depth += (lexeme == "{") - (lexeme == "}")
        if not depth and lexeme.rstrip("*") in DEFINERS:
            DEFINERS[lexeme.rstrip("*")](stream, lexeme)
    stream.frames = outer


CONDITIONALS: dict[str, Callable[[Stream, str], None]] = {
    **dict.fromkeys(("\\ifthenelse", "\\iftoggle", "\\ifbool"), _on_choice),
    "\\else": _on_else,
    "\\fi": _on_fi,
}
INCLUSIONS: dict[str, Callable[[Stream, str], None]] = {
    **dict.fromkeys(("\\input", "\\include", "\\subfile", "\\subfileinclude", "\\@input"), _on_input),
    **dict.fromkeys(("\\import", "\\subimport", "\\includefrom", "\\inputfrom", "\\subincludefrom"), _on_import),
    **dict.fromkeys(("\\bibliography", "\\printbibliography"), _on_bibliography),
    **dict.fromkeys(("\\usepackage", "\\RequirePackage"), _on_package),
    "\\endinput": _end_of_file,
}
_COMMANDS: dict[str, Callable[[Stream, str], None]] = {
    **dict.fromkeys(_SILENT, _ignore_command),
    **DEFINERS,
    **CONDITIONALS,
    **INCLUSIONS,
    "\\begin": _on_begin,
    "\\end": _on_end,
    "\\csname": _on_csname,
}
