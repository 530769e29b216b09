"""What goes between the indexer and its workers: requests with a file in each, and answers, one JSON object a line."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from phases.references.parse.model import KINDS, Parsed, Piece, Symbol

LARGEST = 96 * 1024 * 1024
"""Bytes of all answers of one worker; those to the largest batch have two thirds of that."""
GIVEN_UP = "given up: "
"""How a fault begins that may be the machine's: out of time or memory, ended by a signal. The next run tries it again."""
READY = b'{"ready": true}'
_MAX_NUMBER = 2**31


class InvalidAnswer(ValueError):
    """What came is no answer."""


def pack_request(language: str, data: bytes) -> bytes:
    """One file to parse: a line that says its language and its size, then its bytes."""
    return json.dumps({"language": language, "bytes": len(data)}).encode() + b"\n" + data


def read_request(requests: BinaryIO) -> tuple[str, bytes] | None:
    """Language and bytes of the next file; None where there are no more."""
    line = requests.readline()
    if not line:
        return None
    head = json.loads(line)
    return head["language"], requests.read(head["bytes"])


def pack_answer(parsed: Parsed, number: int) -> bytes:
    """The line that says what a file holds, and which of the files of this worker it is, from 0."""
    return json.dumps({"number": number, "parsed": parsed}, separators=(",", ":")).encode() + b"\n"


def parse_answer(line: bytes, number: int) -> Parsed:
    """What the answer to this file says. Raises InvalidAnswer."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer("no JSON") from error
    if not isinstance(answer, dict) or answer.get("number") != number:
        raise InvalidAnswer("an answer to another file")
    return validate_parsed(answer.get("parsed"))


def validate_parsed(value: Any) -> Parsed:
    """A parsed file as JSON gives it. Whoever wrote it has read hostile bytes: every part is checked. Raises InvalidAnswer."""
    try:
        lines, symbols, pieces, fault = value
        return Parsed(
            _check_number(lines),
            tuple(_parse_symbol(*row) for row in symbols),
            tuple(_parse_piece(*row) for row in pieces),
            _check_text(fault),
        )
    except (TypeError, ValueError) as error:
        raise InvalidAnswer(f"not what a parser says: {error}") from error


def _parse_symbol(name: object, kind: object, line: object, end: object, *texts: object) -> Symbol:
    if kind not in KINDS:
        raise InvalidAnswer("an unknown kind")
    parent, signature, doc = map(_check_text, texts)
    return Symbol(_check_text(name), str(kind), _check_number(line, 1), _check_number(end), parent, signature, doc)


def _parse_piece(kind: object, name: object, line: object, end: object, *texts: object) -> Piece:
    names, doc, body = map(_check_text, texts)
    return Piece(_check_text(kind), _check_text(name), _check_number(line, 1), _check_number(end), names, doc, body)


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidAnswer("a text that is none")
    # JSON can spell half a character, which no file and no database takes.
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _check_number(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= _MAX_NUMBER:
        raise InvalidAnswer("a number that is none")
    return value
