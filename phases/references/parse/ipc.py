"""What goes through the pipes between the indexer and its parsers: frames of a header in JSON followed by bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

from phases.references.parse.model import KINDS, Import, Parsed, Piece, Symbol

LENGTHS = struct.Struct("!II")
LARGEST = 96 * 1024 * 1024
"""Bytes of an answer; the pieces of the largest notebook have a third of that."""

GIVEN_UP = "given up: "
"""How a fault begins that may be the machine's: out of time or memory, ended by a signal. The next run tries it again."""
_MOST_LINES = 2**31


class InvalidAnswer(ValueError):
    """What came is no answer."""


def pack_message(head: dict[str, Any], body: bytes = b"") -> bytes:
    """One frame, ready to be written."""
    text = json.dumps(head, separators=(",", ":")).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


def parse_header(text: bytes) -> dict[str, Any]:
    """The header of a frame. Raises Nonsense."""
    try:
        head = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer("no JSON") from error
    if not isinstance(head, dict):
        raise InvalidAnswer("no JSON object")
    return head


def pack_answer(parsed: Parsed, number: int) -> bytes:
    """The frame that says what a file holds, and which of the files asked for it is, from 0."""
    return pack_message({"number": number, "parsed": parsed})


def parse_answer(head: dict[str, Any]) -> Parsed:
    """What an answer says. The parser that made it read hostile bytes: every part is checked. Raises Nonsense."""
    try:
        lines, symbols, imports, pieces, fault = head["parsed"]
        return Parsed(
            _check_number(lines),
            tuple(_parse_symbol(*row) for row in symbols),
            tuple(
                Import(_check_text(module), tuple(map(_check_text, names)), _check_number(line))
                for module, names, line in imports
            ),
            tuple(_parse_piece(*row) for row in pieces),
            _check_text(fault),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidAnswer(f"not what a parser says: {error}") from error


def _parse_symbol(name: object, kind: object, line: object, end: object, *words: object) -> Symbol:
    parent, signature, doc = words
    if kind not in KINDS:
        raise InvalidAnswer("an unknown kind")
    return Symbol(
        _check_text(name),
        _check_text(kind),
        _check_number(line, 1),
        _check_number(end),
        _check_text(parent),
        _check_text(signature),
        _check_text(doc),
    )


def _parse_piece(kind: object, name: object, line: object, end: object, *words: object) -> Piece:
    names, doc, body = words
    return Piece(
        _check_text(kind),
        _check_text(name),
        _check_number(line, 1),
        _check_number(end),
        _check_text(names),
        _check_text(doc),
        _check_text(body),
    )


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidAnswer("a word that is none")
    # JSON can spell half a character, which no file and no database takes.
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _check_number(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= _MOST_LINES:
        raise InvalidAnswer("a number that is none")
    return value
