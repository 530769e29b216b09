"""Expand a paper into one token list: files included, own macros replaced, dead branches dropped. Nothing is executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from phases.readers.latex.source import Sources
from phases.readers.latex.tokens import PARAGRAPH, plain_of

_MATH = {"equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "alignat", "flalign"}
_MATH_SIGNS = {"\\(": True, "\\[": True, "\\)": False, "\\]": False}
_SILENT = ("\\expandafter", "\\noexpand", "\\protect", "\\global", "\\long", "\\outer", "\\protected", "\\relax",
           "\\unexpanded", "\\makeatletter", "\\makeatother", "\\leavevmode", "\\ignorespaces", "\\unskip")  # fmt: skip
_NO_CONDITIONALS = {"\\iff", "\\ifthenelse", "\\iftoggle", "\\ifbool", "\\ifblank", "\\ifdefempty", "\\ifstrempty",
                    "\\ifstrequal", "\\ifdefstring", "\\ifnumcomp", "\\ifpackageloaded"}  # fmt: skip
_SILENT_FILES = (".sty", ".cls", ".tikz", ".pgf", ".pdf_tex", ".eps_tex", ".pstex_t", ".def", ".cfg", ".clo", ".fd")
_LONGEST_PACKAGE = 20_000
"""Tokens; a longer package is not the paper's own file of macros."""
_KNOWN_PACKAGES = {
    "algorithm", "algorithmic", "algorithmicx", "algpseudocode", "algorithm2e", "natbib", "hyperref", "cleveref", "fancyhdr",
    "booktabs", "multirow", "subfigure", "subcaption", "caption", "url", "times", "amsmath",
}  # fmt: skip
_MOST_PARAMETERS = 9
MOST_WORK = 1_500_000
"""Tokens that macros and files may add; afterwards commands stay unexpanded and files are left out."""
DEEPEST = 120


def expand_sources(sources: Sources, protected: frozenset[str]) -> Stream:
    """Expand a paper from its main file on. The result holds the tokens in `out`, and the macros."""
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
    # the paper's own macros first: it may redefine what TeX has
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
    """Skip a command that matters to TeX only."""


def _on_choice(stream: Stream, lexeme: str) -> None:
    """Handle \\ifthenelse{test}{one}{other} with a switch, or with a comparison of texts."""
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
    """Include the .bbl if it consists of \\bibitem; else keep the command, and read the .bib files later."""
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
    """Keep the command, which names packages, and read the macros of a package that comes with the paper."""
    option = stream.option() or []
    names = plain_of(stream.argument()) or " "
    stream.out += [lexeme, "[", *option, "]", "{", names, "}"]
    for name in names.split(",")[:50]:
        path = stream.sources.find(name.strip(), suffixes=(".sty",)) if name.strip() not in _KNOWN_PACKAGES else None
        tokens = stream.sources.tokens(path) if path else []
        if len(tokens) <= _LONGEST_PACKAGE and stream.fits(len(tokens)):
            _harvest_macros(stream, tokens)


def is_conditional(lexeme: str) -> bool:
    """Return whether a command opens a branch that \\fi closes."""
    return lexeme.startswith("\\if") and lexeme not in _NO_CONDITIONALS


def on_conditional(stream: Stream, lexeme: str) -> None:
    """Enter the branch that applies, and skip the other one."""
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
    unknown = ("\\relax", "\\undefined", "\\@undefined")
    first, second = (stream.macros.get(word, "" if word in unknown else word) for word in (one, other))
    # "is it defined?": only by the paper itself
    if not first or not second:
        return not (one in stream.macros or other in stream.macros)
    return first == second


def _read_word(stream: Stream, *, named: bool = False) -> str:
    lexeme = stream.next() or ""
    while lexeme in ("\\expandafter", " "):
        lexeme = stream.next() or ""
    return read_command_name(stream, lexeme) if named or lexeme == "\\csname" else lexeme


def read_command_name(stream: Stream, first: str = "") -> str:
    """Read the command name before \\endcsname."""
    parts = [first] if first not in ("", "\\csname") else []
    while (part := stream.next()) not in (None, "\\endcsname") and len(parts) < 50:
        parts.append(part or "")
    word = plain_of(parts).replace(" ", "")
    return f"\\{word}" if word.isalpha() else "\\relax"


def _skip_branch(stream: Stream, *, to_the_end: bool = False) -> str:
    """Skip to the \\else or \\fi of this branch and return which. Skip nothing if neither comes."""
    taken: list[str] = []
    depth = 0
    while stream.trusts_conditionals and (lexeme := stream.next()) is not None:
        if not depth and (lexeme == "\\fi" or (lexeme == "\\else" and not to_the_end)):
            return lexeme
        if lexeme[0] == "\\":
            depth += (is_conditional(lexeme) and lexeme not in stream.macros) - (lexeme == "\\fi")
        taken.append(lexeme)
    # no \fi in the whole paper: from here on skip no branch, or half of the text would go with it
    stream.trusts_conditionals = False
    stream.push(taken)
    return ""


def _file_name(stream: Stream) -> str:
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


def compile_macro(body: list[str], parameters: tuple[tuple[str, ...] | None, ...]) -> Macro:
    """Return a macro with its body split at `#1`; `##` is a literal sign."""
    pieces: list[str | int] = []
    index = 0
    while index < len(body):
        lexeme = body[index]
        follower = body[index + 1] if lexeme == "#" and index + 1 < len(body) else ""
        if follower[:1].isdecimal() and follower.isascii():
            pieces.append(int(follower[0]))
            pieces += [follower[1:]] if follower[1:] else []
            index += 1
        elif follower == "#":
            pieces.append("#")
            index += 1
        else:
            pieces.append(lexeme)
        index += 1
    return Macro(parameters, tuple(pieces))


def _read_name(stream: Stream) -> str:
    name = stream.argument()
    return next((lexeme.rstrip("*") for lexeme in name if lexeme[0] == "\\"), "")


def _define_macro(stream: Stream, name: str, macro: Macro) -> None:
    # commands with an @ are TeX internals: they build no text
    internal = any(isinstance(piece, str) and piece[0] == "\\" and "@" in piece for piece in macro.body)
    if len(name) > 1 and name not in stream.protected and not internal:
        stream.macros[name] = macro
        stream.originals.pop(name, None)


def _read_signature(stream: Stream) -> tuple[tuple[str, ...] | None, ...]:
    number = plain_of(stream.option() or [])
    count = min(int(number), _MOST_PARAMETERS) if number.isdecimal() and number.isascii() else 0
    default = stream.option() if count else None
    plain: tuple[tuple[str, ...] | None, ...] = (None,) * count
    return (tuple(default), *plain[1:]) if default is not None else plain


def _new_command(stream: Stream, lexeme: str) -> None:
    name = _read_name(stream)
    parameters = _read_signature(stream)
    body = stream.argument()
    if lexeme.startswith("\\provide") and name in stream.macros:
        return
    _define_macro(stream, name, compile_macro(body, parameters))


def _document_command(stream: Stream, lexeme: str) -> None:
    """Handle \\NewDocumentCommand{\\x}{m o O{default}}{body}, with these kinds of parameters and stars."""
    name = _read_name(stream)
    kinds = stream.argument()
    body = stream.argument()
    parameters: list[tuple[str, ...] | None] = []
    depth, start = 0, -1
    for index, piece in enumerate(kinds):
        depth += (piece == "{") - (piece == "}")
        if depth == 1 and piece == "{":
            start = index
        elif depth == 0 and piece == "}" and parameters:
            parameters[-1] = tuple(kinds[start + 1 : index])
        elif not depth:
            parameters += [None if letter == "m" else () for letter in piece if letter in "moO"]
    if not set("".join(piece for piece in kinds if piece.isalpha())) & set("srRdDtve"):
        _define_macro(stream, name, compile_macro(body, tuple(parameters[:_MOST_PARAMETERS])))


def _on_def(stream: Stream, lexeme: str) -> None:
    """Handle \\def\\x#1#2{body}. A command with other text between its parameters stays unexpanded."""
    name = stream.next() or ""
    pattern: list[str] = []
    while (part := stream.next()) not in (None, "{") and len(pattern) < 4 * _MOST_PARAMETERS:
        pattern.append(part or "")
    body = stream.until("}")
    given = "".join(pattern).replace(" ", "")
    count = len(given) // 2
    if name[:1] == "\\" and given == "".join(f"#{number}" for number in range(1, count + 1)):
        _define_macro(stream, name.rstrip("*"), compile_macro(body, (None,) * count))


def _on_let(stream: Stream, lexeme: str) -> None:
    name = stream.next() or ""
    target = stream.next() or ""
    if target.strip() == "=":
        target = stream.next() or ""
    elif target.startswith("=") and len(target) > 1:
        target = target[1:]
    if name[:1] != "\\" or not target or name in stream.protected:
        return
    if target[0] == "\\" and target not in stream.macros:
        # the present meaning of the target, whatever its name means later
        stream.macros.pop(name, None)
        stream.originals[name] = stream.originals.get(target, target)
    else:
        _define_macro(stream, name, stream.macros.get(target) or Macro((), (target,)))


def _on_operator(stream: Stream, lexeme: str) -> None:
    name = _read_name(stream)
    body = stream.argument()
    _define_macro(stream, name, Macro((), ("\\operatorname", *("*" * lexeme.endswith("*")), "{", *body, "}")))


def _on_paired_delimiter(stream: Stream, lexeme: str) -> None:
    name = _read_name(stream)
    left, right = stream.argument(), stream.argument()
    _define_macro(stream, name, Macro((None,), ("\\left", *left, 1, "\\right", *right)))


def _on_keyword(stream: Stream, lexeme: str) -> None:
    """Handle \\SetKwInOut{Input}{Input} and the like, which define keywords of algorithms."""
    # \KwNamed is our own command, handled in algorithms.py
    name = f"\\{plain_of(stream.argument())}"
    text = stream.argument()
    if lexeme in ("\\SetKwInOut", "\\SetKwInput"):
        _define_macro(stream, name, Macro((None,), ("\\KwNamed", "{", *text, "}", "{", 1, "}")))
    elif lexeme == "\\SetKwFunction":
        _define_macro(stream, name, Macro((None,), (*text, "(", 1, ")")))
    else:
        _define_macro(stream, name, Macro((), tuple(text)))


def _new_environment(stream: Stream, lexeme: str) -> None:
    name = plain_of(stream.argument())
    parameters = _read_signature(stream)
    begin, end = stream.argument(), stream.argument()
    internal = any("@" in lexeme for lexeme in chain(begin, end) if lexeme[0] == "\\")
    if name and name not in stream.protected and not internal:
        stream.environments[name] = (compile_macro(begin, parameters), end)


def _new_if(stream: Stream, lexeme: str) -> None:
    name = _read_name(stream)
    if name.startswith("\\if") and len(name) > 3:
        stream.switches[name] = False
        stream.macros[f"\\{name[3:]}true"] = Macro((), ("\\toggletrue", "{", name, "}"))
        stream.macros[f"\\{name[3:]}false"] = Macro((), ("\\togglefalse", "{", name, "}"))


def _on_toggle(stream: Stream, lexeme: str) -> None:
    stream.switches["".join(stream.argument())] = lexeme == "\\toggletrue"


DEFINERS: dict[str, Callable[[Stream, str], None]] = {
    **dict.fromkeys(("\\newcommand", "\\renewcommand", "\\providecommand", "\\DeclareRobustCommand"), _new_command),
    **dict.fromkeys(("\\algrenewcommand", "\\algnewcommand"), _new_command),
    **dict.fromkeys(("\\NewDocumentCommand", "\\RenewDocumentCommand", "\\DeclareDocumentCommand"), _document_command),
    **dict.fromkeys(("\\def", "\\gdef", "\\edef", "\\xdef"), _on_def),
    **dict.fromkeys(("\\newenvironment", "\\renewenvironment"), _new_environment),
    **dict.fromkeys(("\\toggletrue", "\\togglefalse"), _on_toggle),
    **dict.fromkeys(("\\SetKwInOut", "\\SetKwInput", "\\SetKwFunction", "\\SetKw", "\\SetKwData"), _on_keyword),
    "\\let": _on_let,
    "\\DeclareMathOperator": _on_operator,
    "\\DeclarePairedDelimiter": _on_paired_delimiter,
    "\\newif": _new_if,
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


@dataclass(frozen=True)
class Macro:
    """Definition of a command. A parameter is None, or the default of an optional one; `#1` in the body is 1."""

    parameters: tuple[tuple[str, ...] | None, ...]
    body: tuple[str | int, ...]

    def fill(self, arguments: list[list[str]]) -> list[str]:
        """Return the body with the arguments in place."""
        tokens: list[str] = []
        for piece in self.body:
            if isinstance(piece, str):
                tokens.append(piece)
            elif piece <= len(arguments):
                tokens += arguments[piece - 1]
        return tokens


class Frame:
    """Tokens being read, with the position and the file they come from."""

    __slots__ = ("at", "file", "tokens")

    def __init__(self, tokens: list[str], file: str = "") -> None:
        self.tokens, self.at, self.file = tokens, 0, file


class Stream:
    """Input stack, macros known so far, and the expanded tokens in `out`."""

    def __init__(self, sources: Sources, protected: frozenset[str]) -> None:
        self.sources = sources
        self.protected = protected
        """Commands and environments that the reader implements, and a paper cannot redefine."""
        self.macros: dict[str, Macro] = {}
        self.originals: dict[str, str] = {}
        """Names given by \\let to commands of TeX and LaTeX, and those commands."""
        self.environments: dict[str, tuple[Macro, list[str]]] = {}
        self.switches: dict[str, bool] = {}
        self.out: list[str] = []
        self.work = MOST_WORK
        self.frames: list[Frame] = []
        self.open_conditionals = 0
        self.trusts_conditionals = True
        self.in_math = False
        self.has_bibliography = False

    def next(self) -> str | None:
        """Return the next token, wherever it comes from; None at the end."""
        while self.frames:
            frame = self.frames[-1]
            if frame.at < len(frame.tokens):
                frame.at += 1
                return frame.tokens[frame.at - 1]
            self.frames.pop()
        return None

    def push(self, tokens: list[str], file: str = "") -> None:
        """Read these tokens next."""
        if tokens:
            self.frames.append(Frame(tokens, file))

    def argument(self) -> list[str]:
        """Read the next argument: the content of braces, else one token or one character."""
        lexeme = self.next()
        while lexeme is not None and lexeme.isspace() and lexeme != PARAGRAPH:
            lexeme = self.next()
        if lexeme is None:
            return []
        if lexeme == "{":
            return self.until("}")
        text = lexeme.lstrip()
        if len(text) > 1 and text[0] not in "\\\x01\x02":
            self.push([text[1:]])
            return [text[0]]
        return [text or lexeme]

    def option(self) -> list[str] | None:
        """Read the content of brackets, if they come next."""
        lexeme = self.next()
        if lexeme == "[" and self.work > 0:
            return self.until("]")
        self.push([lexeme] if lexeme else [])
        return None

    def until(self, end: str) -> list[str]:
        """Read up to a closing brace or bracket; the content of an unclosed bracket is pushed back, since it was a character."""
        taken: list[str] = []
        depth = 0
        while (lexeme := self.next()) is not None:
            if lexeme == end and not depth:
                break
            depth += (lexeme == "{") - (lexeme == "}")
            if end == "]" and (depth < 0 or lexeme == PARAGRAPH):
                self.work -= len(taken)
                self.push([*taken, lexeme])
                return []
            taken.append(lexeme)
        self.work -= len(taken) + 1
        return taken

    def fits(self, count: int) -> bool:
        """Return whether so many tokens may still be added, and count them as added."""
        self.work -= count + 1
        return self.work > 0 and len(self.frames) < DEEPEST
