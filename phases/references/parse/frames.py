"""What goes through the pipes between the indexer and its parsers: frames of a header in JSON followed by bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

from phases.references.parse.parsed import KINDS, Import, Parsed, Piece, Symbol

LENGTHS = struct.Struct("!II")
LARGEST = 96 * 1024 * 1024
"""Bytes of an answer; the pieces of the largest notebook have a third of that."""

GIVEN_UP = "given up: "
"""How a fault begins that may be the machine's: out of time or memory, ended by a signal. The next run tries it again."""
_MOST_LINES = 2**31


class Nonsense(ValueError):
    """What came is no answer."""


def frame(head: dict[str, Any], body: bytes = b"") -> bytes:
    """One frame, ready to be written."""
    text = json.dumps(head, separators=(",", ":")).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


def header(text: bytes) -> dict[str, Any]:
    """The header of a frame. Raises Nonsense."""
    try:
        head = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Nonsense("no JSON") from error
    if not isinstance(head, dict):
        raise Nonsense("no JSON object")
    return head


def answer(parsed: Parsed, number: int) -> bytes:
    """The frame that says what a file holds, and which of the files asked for it is, from 0."""
    return frame({"number": number, "parsed": parsed})


def parsed_in(head: dict[str, Any]) -> Parsed:
    """What an answer says. The parser that made it read hostile bytes: every part is checked. Raises Nonsense."""
    try:
        lines, symbols, imports, pieces, fault = head["parsed"]
        return Parsed(
            _number(lines),
            tuple(_symbol(*row) for row in symbols),
            tuple(Import(_word(module), tuple(map(_word, names)), _number(line)) for module, names, line in imports),
            tuple(_piece(*row) for row in pieces),
            _word(fault),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Nonsense(f"not what a parser says: {error}") from error


def _symbol(name: object, kind: object, line: object, end: object, *words: object) -> Symbol:
    parent, signature, doc = words
    if kind not in KINDS:
        raise Nonsense("an unknown kind")
    return Symbol(_word(name), _word(kind), _number(line, 1), _number(end), _word(parent), _word(signature), _word(doc))


def _piece(kind: object, name: object, line: object, end: object, *words: object) -> Piece:
    names, doc, body = words
    return Piece(_word(kind), _word(name), _number(line, 1), _number(end), _word(names), _word(doc), _word(body))


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise Nonsense("a word that is none")
    # JSON can spell half a character, which no file and no database takes.
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _number(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= _MOST_LINES:
        raise Nonsense("a number that is none")
    return value
