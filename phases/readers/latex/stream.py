"""The tokens of a paper as they are being read: files and macro bodies on a stack, within a fixed amount of work."""

from __future__ import annotations

from dataclasses import dataclass

from phases.readers.latex.source import Sources
from phases.readers.latex.tokens import PARAGRAPH

MOST_WORK = 1_500_000
"""Tokens that macros and files may add; when they are used up, commands stay as they are and files are left out."""
DEEPEST = 120


@dataclass(frozen=True)
class Macro:
    """What a command stands for. A parameter is None, or the default of one in brackets; `#1` in the body is 1."""

    parameters: tuple[tuple[str, ...] | None, ...]
    body: tuple[str | int, ...]

    def fill(self, arguments: list[list[str]]) -> list[str]:
        """The body with the arguments in their places."""
        tokens: list[str] = []
        for piece in self.body:
            if isinstance(piece, str):
                tokens.append(piece)
            elif piece <= len(arguments):
                tokens += arguments[piece - 1]
        return tokens


class Frame:
    """Tokens that are being read, and how far; `file` is the one that they come from."""

    __slots__ = ("at", "file", "tokens")

    def __init__(self, tokens: list[str], file: str = "") -> None:
        self.tokens, self.at, self.file = tokens, 0, file


class Stream:
    """What is read, what is known so far, and in `out` what has been made of it."""

    def __init__(self, sources: Sources, protected: frozenset[str]) -> None:
        self.sources = sources
        self.protected = protected
        """Commands and environments that a paper cannot redefine: the reader knows them itself."""
        self.macros: dict[str, Macro] = {}
        self.originals: dict[str, str] = {}
        """Names that \\let gave to commands of TeX and LaTeX, and those commands."""
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
        """The next token, wherever it comes from; None at the end."""
        while self.frames:
            frame = self.frames[-1]
            if frame.at < len(frame.tokens):
                frame.at += 1
                return frame.tokens[frame.at - 1]
            self.frames.pop()
        return None

    def push(self, tokens: list[str], file: str = "") -> None:
        """Lets these tokens be read next."""
        if tokens:
            self.frames.append(Frame(tokens, file))

    def argument(self) -> list[str]:
        """The next argument: what stands in braces, else one token or one character."""
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
        """What stands in brackets, if they come next."""
        lexeme = self.next()
        if lexeme == "[" and self.work > 0:
            return self.until("]")
        self.push([lexeme] if lexeme else [])
        return None

    def until(self, end: str) -> list[str]:
        """The tokens before a closing brace or bracket; what an open bracket holds is given back, it was a character."""
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
        """Whether so many tokens may still be added; they are counted as added."""
        self.work -= count + 1
        return self.work > 0 and len(self.frames) < DEEPEST
