"""Render the steps of algorithms (algorithmic, algpseudocode, algorithm2e), one per line, with indented blocks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from phases.readers.latex.walk import Act, Walk, ignore_command

_OPEN = {
    "For": ("for ", " do"), "ForAll": ("for all ", " do"), "ForEach": ("for each ", " do"), "While": ("while ", " do"),
    "If": ("if ", " then"), "uIf": ("if ", " then"), "eIf": ("if ", " then"), "ForPar": ("for ", " do in parallel"),
    "lIf": ("if ", " then "), "lFor": ("for ", " do "), "lForEach": ("for each ", " do "), "Switch": ("switch ", " do"),
    "Case": ("case ", ":"), "lElseIf": ("else if ", " then "), "lWhile": ("while ", " do "),
}  # fmt: skip
_ELSE_IF = ("ElsIf", "ElseIf", "uElseIf", "ELSIF", "ELSEIF")
_BARE = {"Loop": "loop", "Repeat": "repeat", "Begin": "begin", "Other": "otherwise", "lElse": "else "}
_END = {"EndFor": "end for", "EndIf": "end if", "EndWhile": "end while", "EndLoop": "end loop", "EndForAll": "end for",
        "EndFunction": "end function", "EndProcedure": "end procedure", "EndForEach": "end for"}  # fmt: skip
_NAMED = {
    "Require": "Require:", "Ensure": "Ensure:", "Input": "Input:", "Output": "Output:", "KwIn": "Input:", "KwOut": "Output:",
    "KwData": "Data:", "KwResult": "Result:", "Initialize": "Initialize:", "Parameters": "Parameters:", "KwInput": "Input:",
    "KwOutput": "Output:",
}  # fmt: skip
_WORDS = {"KwTo": "to", "TO": "to", "To": "to", "AND": "and", "OR": "or", "NOT": "not", "TRUE": "true", "FALSE": "false",
          "KwBy": "by", "Break": "break", "Continue": "continue"}  # fmt: skip
_LINES = {"Return": "return ", "KwRet": "return ", "PRINT": "print ", "RETURN": "return "}
_SILENT = ("SetAlgoLined", "LinesNumbered", "DontPrintSemicolon", "BlankLine", "SetAlgoNoLine", "SetNlSty", "nl", "SetAlgoVlined",
           "SetAlgoNoEnd", "SetNoFillComment", "LinesNotNumbered", "RestyleAlgo", "PrintSemicolon", "IncMargin")  # fmt: skip


def _new_line(walk: Walk) -> bool:
    """End the preceding step. Return False outside algorithms and within a note, where words are plain text."""
    if walk.flow.kind != "algorithm" or walk.captures:
        return False
    walk.flush()
    return True


def _on_step(walk: Walk, lexeme: str) -> None:
    if not _new_line(walk):
        walk.out.append(" ")


def _open_body(walk: Walk) -> bool:
    if not walk.follows("{"):
        return False
    walk.flush()
    flow = walk.flow
    flow.indent += 1
    walk.at += 1

    def close(_: str) -> None:
        if walk.flow is flow and not walk.captures:
            walk.flush()
        flow.indent -= 1

    walk.push("}", close)
    return True


def _one_line(walk: Walk) -> None:
    if walk.follows("{"):
        walk.at += 1
        walk.push("}", lambda _: _on_step(walk, ""))


def _on_open(before: str, behind: str, walk: Walk, lexeme: str) -> None:
    if not _new_line(walk):
        walk.out.append(before)
        return
    _skip_note(walk)
    name = lexeme.strip("\\*")

    def close(text: str) -> None:
        walk.out.append(f"{before}{' '.join(text.split())}{behind}")
        if name in _ELSE_IF and not walk.follows("{"):
            walk.flow.indent -= 1
        if name.startswith("l"):
            _one_line(walk)
        elif not _open_body(walk):
            walk.flow.deeper += 1
        elif name == "eIf":
            frame = walk.frames[-1]
            inner = frame.close

            def then_else(text: str) -> None:
                if inner:
                    inner(text)
                _on_else(walk, "\\Else")

            frame.close = then_else

    walk.capture(close)


def _skip_note(walk: Walk) -> None:
    """Skip a comment in parentheses before the condition, which algorithm2e allows."""
    text = walk.tokens[walk.at] if walk.at < len(walk.tokens) else ""
    if text.lstrip().startswith("(") and walk.tokens[walk.at + 1 : walk.at + 2] != []:
        end = next(
            (index for index in range(walk.at, min(walk.at + 40, len(walk.tokens))) if ")" in walk.tokens[index]), -1
        )
        walk.at = end + 1 if end >= 0 else walk.at


def _on_else(walk: Walk, lexeme: str) -> None:
    if not _new_line(walk):
        walk.out.append("else ")
        return
    if walk.follows("{"):
        walk.out.append("else")
        _open_body(walk)
    else:
        walk.flow.indent -= 1
        walk.out.append("else")
        walk.flow.deeper += 1


def _on_bare(word: str, walk: Walk, lexeme: str) -> None:
    if not _new_line(walk):
        return
    if lexeme == "\\Repeat" and walk.follows("{"):
        _on_open("repeat until ", "", walk, lexeme)
        return
    walk.out.append(word)
    if lexeme.startswith("\\l"):
        _one_line(walk)
    elif not _open_body(walk):
        walk.flow.deeper += 1


def _on_end(word: str, walk: Walk, lexeme: str) -> None:
    if _new_line(walk):
        walk.flow.deeper = 0
        walk.flow.indent = max(0, walk.flow.indent - 1)
        walk.out.append(word)
        walk.flush()


def _on_until(walk: Walk, lexeme: str) -> None:
    if _new_line(walk):
        walk.flow.indent = max(0, walk.flow.indent - 1)
    walk.out.append("until ")


def _on_function(word: str, walk: Walk, lexeme: str) -> None:
    if not _new_line(walk):
        return

    def close(name: str) -> None:
        walk.out.append(f"{word} {name.strip()}(")
        walk.capture(lambda arguments: walk.out.append(f"{arguments.strip()})"))
        walk.flow.deeper += 1

    walk.capture(close)


def _on_call(walk: Walk, lexeme: str) -> None:
    def close(name: str) -> None:
        walk.out.append(f"{name.strip()}(")
        walk.capture(lambda arguments: walk.out.append(f"{arguments.strip()})"))

    walk.capture(close)


def _on_name(word: str, walk: Walk, lexeme: str) -> None:
    _new_line(walk)
    word = walk.known.words.get("algorithmic" + lexeme.strip("\\*").lower(), word)
    walk.out.append(f"{word} ")
    _one_line(walk)


def _on_keyword(walk: Walk, lexeme: str) -> None:
    _new_line(walk)

    def close(name: str) -> None:
        walk.out.append(f"{name.strip().rstrip(':')}: ")
        _one_line(walk)

    walk.capture(close)


def _on_line(word: str, walk: Walk, lexeme: str) -> None:
    _new_line(walk)
    walk.out.append(word)


def _on_word(word: str, walk: Walk, lexeme: str) -> None:
    walk.out.append(f" {word} ")


def _on_comment(walk: Walk, lexeme: str) -> None:
    walk.option()
    walk.capture(lambda text: walk.out.append(f" // {text.strip()} "))


def _both_spellings(table: Mapping[str, Act]) -> dict[str, Act]:
    return {f"\\{name}": act for name, act in table.items()} | {f"\\{name.upper()}": act for name, act in table.items()}


ALGORITHMS: dict[str, Act] = {
    **_both_spellings({name: partial(_on_open, *words) for name, words in _OPEN.items()}),
    **{f"\\{name}": partial(_on_open, "else if ", " then") for name in _ELSE_IF},
    **_both_spellings({name: partial(_on_bare, word) for name, word in _BARE.items()}),
    **_both_spellings({name: partial(_on_end, word) for name, word in _END.items()}),
    **_both_spellings({name: partial(_on_name, word) for name, word in _NAMED.items()}),
    **_both_spellings(dict.fromkeys(("State", "Statex"), _on_step) | dict.fromkeys(("Else", "uElse"), _on_else)),
    **_both_spellings({"Until": _on_until, "Comment": _on_comment}),
    **_both_spellings({"Function": partial(_on_function, "function"), "Procedure": partial(_on_function, "procedure")}),
    **{f"\\{name}": partial(_on_word, word) for name, word in _WORDS.items()},
    **{f"\\{name}": partial(_on_line, word) for name, word in _LINES.items()},
    **{f"\\{name}": ignore_command for name in _SILENT},
    "\\KwNamed": _on_keyword,
    "\\Call": _on_call,
    "\\tcp": _on_comment,
    "\\tcc": _on_comment,
    "\\;": _on_step,
}
