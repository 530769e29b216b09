"""The commands with which a paper defines commands of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from phases.readers.latex.stream import Macro, Stream
from phases.readers.latex.tokens import plain_of

_MOST_PARAMETERS = 9


def compile_macro(body: list[str], parameters: tuple[tuple[str, ...] | None, ...]) -> Macro:
    """A macro whose body is cut at `#1`; `##` is one sign."""
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
    # commands with an @ are TeX's own machinery: what they would build is no text of the paper
    internal = any(isinstance(piece, str) and piece[0] == "\\" and "@" in piece for piece in macro.body)
    if len(name) > 1 and name not in stream.protected and not internal:
        stream.macros[name] = macro
        stream.originals.pop(name, None)


def _read_signature(stream: Stream) -> tuple[tuple[str, ...] | None, ...]:
    """The parameters that [2][default] announces."""
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
    """\\NewDocumentCommand{\\x}{m o O{default}}{body}: parameters of these three kinds and stars."""
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
    """\\def\\x#1#2{body}. A command with other text between its parameters is left alone."""
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
        # what the target means now, whatever the paper makes of that name later
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
    """\\SetKwInOut{Input}{Input} and its like, with which algorithms get words of their own."""
    # \KwNamed is a command of our own, which the walk over the tokens knows
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
    """Sets a switch, be it one of \\newif or one of \\newtoggle."""
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
