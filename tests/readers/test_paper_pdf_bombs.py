"""PDFs that want more than a paper may have: each ends in a verdict. The bombs are little here; in full: tests/drills."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from phases.readers.reading import BROKEN, ENCRYPTED, GARBLED, NO_TEXT, OK
from tests.bombs import (
    BOMBS,
    MEMORY_MIB,
    MIB,
    Bomb,
    deflated_zeros,
    explode,
    flate,
    many_kids,
    page_tree_cycle,
    single_letters,
)
from tests.rows import with_covered

VERDICTS = (OK, NO_TEXT, GARBLED, ENCRYPTED, BROKEN)


@pytest.mark.parametrize(
    "bomb",
    with_covered(
        [pytest.param(bomb, id=bomb.name) for bomb in BOMBS],
        "contents named two thousand times",
        "a form that draws itself",
        "three hundred thousand strings of one letter",
        "letters scattered all over",
        "pages of scattered letters",
        "objects in a stream of two gigabytes",
        "two thousand million pages, as it says",
        "arrays a million deep",
        "an outline in a circle",
        "an outline a hundred thousand deep",
        "a font's table of all letters, again and again",
        "states that are saved for ever",
        "a page without an end",
        "a picture of ten gigabytes",
        "three hundred thousand links",
    ),
)
def test_a_little_bomb_ends_in_a_verdict_and_leaves_nothing_behind(bomb: Bomb, tmp_path: Path) -> None:
    blast = explode(bomb.little(), tmp_path)
    assert blast.verdict in VERDICTS
    assert blast.litter == ()
    assert blast.child_mib < MEMORY_MIB
    if bomb.readable:
        assert (blast.verdict, "no bomb at all" in blast.words) == (OK, True), "little, it is a paper like any other"


@pytest.mark.slow
def test_two_gigabytes_in_two_megabytes_are_no_text_or_broken_within_the_limits(tmp_path: Path) -> None:
    blast = explode(flate(), tmp_path)
    assert blast.verdict in (NO_TEXT, BROKEN)
    assert blast.child_mib <= MEMORY_MIB
    assert blast.litter == ()


@pytest.mark.slow
def test_pages_that_are_their_own_children_are_broken_or_read_once(tmp_path: Path) -> None:
    blast = explode(page_tree_cycle(), tmp_path)
    assert blast.verdict in (OK, BROKEN)
    assert blast.words.count("no bomb at all") <= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", [many_kids(3), single_letters(3000)], ids=["every line is on every page", "one line runs off the page"]
)
def test_a_paper_of_which_no_word_is_left_is_not_ok(content: bytes, tmp_path: Path) -> None:
    blast = explode(content, tmp_path)
    assert blast.verdict == NO_TEXT or any(letter.isalnum() for letter in blast.words)


def test_the_bombs_are_the_same_every_time() -> None:
    assert [bomb.little() for bomb in BOMBS] == [bomb.little() for bomb in BOMBS]


@pytest.mark.parametrize(
    "size", [0, 1, MIB, 3 * MIB + 77], ids=["no zeros", "one zero", "a block of zeros", "blocks and a rest"]
)
def test_what_a_bomb_is_packed_into_is_a_valid_stream(size: int) -> None:
    assert zlib.decompress(deflated_zeros(size, b"words")) == b"words" + bytes(size)
