"""What is kept of an output: bounded, whole characters, and nothing that a terminal obeys."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.sandbox.output import LARGEST_OUTPUT, OutputBuffer, escape_unseen


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
    assert set(kept.text()) <= set(f"a{letter}\n… 0123456789,bytes here are left out")
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
