"""Encode and check the messages between the indexer and its workers."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from phases.references.parse.model import KINDS, Parsed, Piece, Symbol

LARGEST = 96 * 1024 * 1024
"""Maximum bytes of all answers of one worker; a full batch needs about two thirds."""
GIVEN_UP = "given up: "
"""Prefix of a fault that the machine may have caused: time, memory, a signal. The next run tries again."""
READY = b'{"ready": true}'
_MAX_NUMBER = 2**31


class InvalidAnswer(ValueError):
    """A worker's answer that cannot be trusted."""


def pack_request(language: str, data: bytes) -> bytes:
    """Return a request to parse one file: a line with its language and size, then its bytes."""
    return json.dumps({"language": language, "bytes": len(data)}).encode() + b"\n" + data


def read_request(requests: BinaryIO) -> tuple[str, bytes] | None:
    """Return language and bytes of the next file; None at the end."""
    line = requests.readline()
    if not line:
        return None
    head = json.loads(line)
    return head["language"], requests.read(head["bytes"])


def pack_answer(parsed: Parsed, number: int) -> bytes:
    """Return the answer line for a parsed file with its number within the batch, from 0."""
    return json.dumps({"number": number, "parsed": parsed}, separators=(",", ":")).encode() + b"\n"


def parse_answer(line: bytes, number: int) -> Parsed:
    """Return the parsed file in an answer. Raises InvalidAnswer."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer("no JSON") from error
    if not isinstance(answer, dict) or answer.get("number") != number:
        raise InvalidAnswer("an answer to another file")
    return validate_parsed(answer.get("parsed"))


def validate_parsed(value: Any) -> Parsed:
    """Return a parsed file from JSON. Its writer has read hostile bytes, so every part is checked. Raises InvalidAnswer."""
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
