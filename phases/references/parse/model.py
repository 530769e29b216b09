"""Values of one parsed source file: symbols and searchable pieces."""

from __future__ import annotations

from typing import NamedTuple

VERSION = 3
"""Version of parsing and splitting. Increase it when the same file gives other results: cached files are then parsed again."""
KINDS = (
    *("module", "namespace", "class", "struct", "union", "interface", "trait", "enum", "type", "function", "method"),
    *("macro", "constant", "variable", "field"),
)


class Symbol(NamedTuple):
    """A thing with a name that the file defines. Lines count from 1; `end` is the last line that belongs to it."""

    name: str
    kind: str
    """Element of KINDS."""
    line: int
    end: int
    parent: str = ""
    """Qualified name of the enclosing symbol (`Encoder`, `Encoder.forward`); empty at the top level."""
    signature: str = ""
    """Signature on one line, at most 300 characters; empty for variables."""
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
    """The reason for missing symbols, in words; empty if none are missing."""
