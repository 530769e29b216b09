"""The stamps of a task on the disk: state.json, and in state.jsonl what changed since it was written.

A whole state.json costs two syncs and grows with the phases; a line costs one and does not. So a run adds lines, and writes
state.json anew when it ends. Each line is a state of its own that holds the changed stamps: read in order, the last word on
a phase holds. Lines that state.json has taken in already change nothing, so the two need not agree on where they meet.
"""

from __future__ import annotations

import os

from pipeline.base.append import append_durable
from pipeline.base.files import failure, read_bytes, write_durable
from pipeline.engine.contract import Contracts
from pipeline.engine.stamps import Stamps, stamps_from, stamps_to

NAME = "state.json"
LINES = "state.jsonl"
_WRITER = "the pipeline command"


def read_state(root: str, contracts: Contracts) -> Stamps:
    """The stamps of a task. Raises ContractError for a damaged document or line; a torn last line was never promised."""
    stamps: Stamps = {}
    path, lines = os.path.join(root, NAME), os.path.join(root, LINES)
    if os.path.lexists(path):
        stamps.update(stamps_from(contracts.parse(NAME, read_bytes(path), writer=_WRITER)))
    if os.path.lexists(lines):
        for number, line in enumerate(read_bytes(lines).split(b"\n")[:-1], 1):
            stamps.update(stamps_from(contracts.parse(f"{LINES}, entry {number}", line, writer=_WRITER)))
    return stamps


def add_to_state(root: str, changed: Stamps, contracts: Contracts) -> None:
    """Makes changed stamps durable as one line."""
    line = contracts.serialise_line(NAME, stamps_to(changed), writer=_WRITER)
    append_durable(os.path.join(root, LINES), line)


def write_state(root: str, stamps: Stamps, contracts: Contracts) -> None:
    """Makes all stamps durable as one document, which takes the lines in."""
    data = contracts.serialise(NAME, stamps_to(stamps), writer=_WRITER)
    write_durable(os.path.join(root, NAME), data)
    try:
        os.unlink(os.path.join(root, LINES))
    except FileNotFoundError:
        return
    except OSError as error:
        raise failure("remove", os.path.join(root, LINES), error) from error


def has_lines(root: str) -> bool:
    """Whether a run added lines and did not get to write the document: it was killed, or is at work."""
    return os.path.lexists(os.path.join(root, LINES))
