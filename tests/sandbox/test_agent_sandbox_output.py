"""What is kept of an output: bounded, whole characters, and nothing that a terminal obeys."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.sandbox.box import OFF, STOPPED, Box, Listener
from phases.sandbox.commands import run_command
from phases.sandbox.output import LARGEST_OUTPUT, OutputBuffer, escape_unseen
from tests.sandbox.test_agent_sandbox import KINDS


@given(st.binary(max_size=200), st.integers(1, 50))
def test_a_short_output_is_kept_whole_however_it_arrives(data: bytes, piece: int) -> None:
    kept = OutputBuffer()
    for start in range(0, len(data), piece):
        kept.add(data[start : start + piece])
    assert kept.text() == escape_unseen(data.decode("utf-8", "replace"))


@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("letter", ["x", "é", "語", "🧪"])
def test_no_character_is_cut_in_two(letter: str, shift: int) -> None:
    kept = OutputBuffer()
    for _ in range(50):
        kept.add(b"a" * shift + letter.encode() * 3000)
    assert "\ufffd" not in kept.text()
    assert set(kept.text()) <= set(f"a{letter}\n… 0123456789,bytes left out here")
    assert len(kept.text().encode()) < LARGEST_OUTPUT + 100


@given(st.text())
@example("\x1b]0;title\x07\x1b[2J\r\x9b31m\u202egnp.exe\u2066\u200b\ufeff\x00\x7f")
def test_nothing_that_is_shown_moves_a_cursor_or_turns_the_text(text: str) -> None:
    shown = escape_unseen(text)
    assert {letter for letter in shown if unicodedata.category(letter) == "Cc"} <= {"\n", "\t"}
    assert not {
        letter for letter in shown if unicodedata.bidirectional(letter) in ("RLO", "LRO", "RLE", "LRE", "RLI", "PDF")
    }
    assert escape_unseen(shown) == shown


def test_line_ends_of_another_system_are_plain_and_a_lone_return_is_seen() -> None:
    assert escape_unseen("a\r\nb\rc") == "a\nb\\rc"


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_command_printed_is_kept_where_it_is_ended_early(kind: str, tmp_path: Path) -> None:
    """Nobody flushes, and a buffer of Python's own dies with the process."""
    pieces: list[bytes] = []
    listener = Listener(pieces.append, lambda: bool(pieces))
    ended = run_command(
        Box(str(tmp_path), kind), "python -c 'print(1729); import time; time.sleep(600)'", listener=listener
    )
    assert (ended.limit, "1729" in ended.output) == (STOPPED, True), ended.output


def test_what_a_command_printed_is_kept_where_the_kernel_kills_it(tmp_path: Path) -> None:
    command = "python -c 'print(1729); import os; os.kill(os.getpid(), 9)'"
    ended = run_command(Box(str(tmp_path), OFF), command)
    assert (ended.exit_code, ended.output.partition("\n")[0]) == (137, "1729")
