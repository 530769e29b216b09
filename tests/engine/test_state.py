"""state.json and the lines beside it: the last word on a phase holds, wherever it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.base.errors import ContractError
from pipeline.engine.contract import Contracts
from pipeline.engine.stamps import Stamp, Stamps, add_to_state, has_lines, read_state, write_state
from tests.strategies import FEW

CONTRACTS = Contracts()
NUMBERS = st.sampled_from(["00", "01", "05b"])
STATUS = st.sampled_from(["running", "done", "failed", "redo"])


def stamp(status: str, attempts: int = 1) -> Stamp:
    return Stamp("toy", status=status, attempts=attempts)


@FEW
@given(steps=st.lists(st.tuples(st.sampled_from(["line", "whole"]), NUMBERS, STATUS, st.integers(1, 9)), max_size=12))
def test_what_is_read_is_the_last_word_on_each_phase(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str, int]]
) -> None:
    root, expected = str(tmp_path_factory.mktemp("task")), {}
    for kind, number, status, attempts in steps:
        expected[number] = stamp(status, attempts)
        if kind == "line":
            add_to_state(root, {number: expected[number]}, CONTRACTS)
        else:
            write_state(root, expected, CONTRACTS)
    assert read_state(root, CONTRACTS) == expected


def test_lines_that_the_document_took_in_already_change_nothing(tmp_path: Path) -> None:
    root = str(tmp_path)
    add_to_state(root, {"00": stamp("running")}, CONTRACTS)
    add_to_state(root, {"00": stamp("done"), "01": stamp("running")}, CONTRACTS)
    lines = (tmp_path / "state.jsonl").read_bytes()
    stamps = read_state(root, CONTRACTS)
    write_state(root, stamps, CONTRACTS)
    assert not has_lines(root)
    (tmp_path / "state.jsonl").write_bytes(lines)  # as after a crash between the document and the removal of the lines
    assert read_state(root, CONTRACTS) == stamps


def test_a_torn_last_line_was_never_promised_at_any_byte(tmp_path: Path) -> None:
    root, path = str(tmp_path), tmp_path / "state.jsonl"
    add_to_state(root, {"00": stamp("done")}, CONTRACTS)
    whole = path.read_bytes()
    add_to_state(root, {"01": stamp("done")}, CONTRACTS)
    both = path.read_bytes()
    for cut in range(len(whole), len(both)):
        path.write_bytes(both[:cut])
        expected: Stamps = {"00": stamp("done")}
        assert read_state(root, CONTRACTS) == expected


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    add_to_state(str(tmp_path), {"00": stamp("done")}, CONTRACTS)
    add_to_state(str(tmp_path), {"01": stamp("done")}, CONTRACTS)
    path = tmp_path / "state.jsonl"
    path.write_bytes(b"{}" + path.read_bytes()[2:])
    with pytest.raises(ContractError, match=r"state\.jsonl, entry 1"):
        read_state(str(tmp_path), CONTRACTS)
