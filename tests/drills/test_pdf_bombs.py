"""Drill 51: PDF bombs in full, read by the reader with its limits, and by the real command."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from phases.readers.reading import BROKEN, ENCRYPTED, GARBLED, NO_TEXT, OK
from tests.bombs import BOMBS, MEMORY_MIB, Bomb, explode, processes_with, scattered_letters
from tests.drills.points import chosen
from tests.papers import Command
from tests.work import must_end, wait_until

EXIT_CODES = {OK: 0, NO_TEXT: 1, GARBLED: 1, ENCRYPTED: 1, BROKEN: 1}
"""Of a run that is told to stop after phase 04."""
MOST_GROWTH_MIB = 256
MOST_LINKS = 100_000


def bombs(few: int) -> pytest.MarkDecorator:
    """Parametrize with a few of the bombs, which the commit chooses; in `make drills`, with all."""
    return pytest.mark.parametrize("bomb", chosen(BOMBS, few), ids=lambda bomb: bomb.name)


@pytest.mark.slow
@bombs(8)
def test_a_bomb_ends_in_a_verdict_and_in_bounds(bomb: Bomb, tmp_path: Path) -> None:
    blast = explode(bomb.make(), tmp_path)
    assert blast.verdict in EXIT_CODES
    assert blast.child_mib <= MEMORY_MIB
    assert blast.growth_mib <= MOST_GROWTH_MIB, "what the child prints is bounded, too"
    assert blast.links <= MOST_LINKS
    assert blast.litter == ()
    if blast.verdict == OK:
        assert any(letter.isalnum() for letter in blast.words), "a paper without a word has no text"


@pytest.mark.slow
@bombs(4)
def test_a_run_on_a_bomb_ends_with_its_verdict_and_no_traceback(bomb: Bomb, tmp_path: Path) -> None:
    (tmp_path / "bomb.pdf").write_bytes(bomb.make())
    (tmp_path / "temporary").mkdir()
    pipeline = Command(tmp_path, TMPDIR=str(tmp_path / "temporary"))
    with must_end():
        ended = pipeline("run", "--fast", "bomb.pdf", "--json", "--until", "segment")
    assert ended.code == EXIT_CODES[ended.json()["input_verdict"]], ended.err
    assert "Traceback" not in ended.err
    assert list((tmp_path / "temporary").iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bomb.pdf", "home", "tasks", "temporary"]
    assert processes_with(str(pipeline.task("bomb") / "source" / "paper.pdf")) == []


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="only Linux tells what processes there are")
def test_a_run_that_is_killed_takes_the_reader_of_a_bomb_along(tmp_path: Path) -> None:
    (tmp_path / "bomb.pdf").write_bytes(scattered_letters(300, 2000))
    pipeline = Command(tmp_path)
    source = str(pipeline.task("bomb") / "source" / "paper.pdf")
    with pipeline.start("run", "--fast", "bomb.pdf", "--until", "segment") as process:
        wait_until(lambda: processes_with(source), "the reader starts")
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    wait_until(lambda: not processes_with(source), "the reader ends with the run")
    (tmp_path / "bomb.pdf").unlink()
    again = pipeline("status", "bomb")
    assert (again.code, "Traceback" in again.err) == (0, False), again.err
