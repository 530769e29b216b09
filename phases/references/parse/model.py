"""What is known of one source file: symbols, and the pieces that are searched."""

from __future__ import annotations

from typing import NamedTuple

VERSION = 3
"""Of parsing and cutting together. Raise it when the same file should give something else: what was kept is then made anew."""
KINDS = (
    *("module", "namespace", "class", "struct", "union", "interface", "trait", "enum", "type", "function", "method"),
    *("macro", "constant", "variable", "field"),
)


class Symbol(NamedTuple):
    """A thing with a name that the file defines. Lines count from 1; `end` is the last line that belongs to it."""

    name: str
    kind: str
    """One of KINDS."""
    line: int
    end: int
    parent: str = ""
    """The qualified name of what it stands in (`Encoder`, `Encoder.forward`); empty at the top."""
    signature: str = ""
    """As the source writes it, on one line, 300 characters at most; empty for variables."""
    doc: str = ""
    """The docstring or the comment that documents it, 2,000 characters at most."""

    @property
    def qualified_name(self) -> str:
        """`Encoder.forward`."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


class Piece(NamedTuple):
    """A stretch of a file that a search can find: a function with its body, the rest of a class, a part of a text."""

    kind: str
    """A kind of symbol, or `text`."""
    name: str
    """The qualified name of its symbol; empty for text."""
    line: int
    end: int
    names: str
    """Words of its names, identifiers split and lower case, separated by spaces."""
    doc: str
    """Words of its documentation, in the same way."""
    body: str
    """Words of the rest."""


class Parsed(NamedTuple):
    """One file, parsed."""

    lines: int
    symbols: tuple[Symbol, ...] = ()
    pieces: tuple[Piece, ...] = ()
    fault: str = ""
    """Why its symbols are not all there, in words; empty where they are."""
