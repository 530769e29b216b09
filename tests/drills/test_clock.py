"""Drill 17: the wall clock jumps in the middle of a run. Only labels may show it: the work is the same, and is done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phases.sandbox.commands import kind_of_sandbox
from tests.drills import scenes
from tests.drills.aftermath import last_words
from tests.drills.test_agent_kill import Undisturbed, settled_tree, undisturbed_on
from tests.drills.trees import differences

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine"),
]

JUMPS = """
import pathlib, time

real, real_ns, asked = time.time, time.time_ns, 0


def shift():
    global asked
    asked += 1
    if asked == 10:
        pathlib.Path({sign!r}).touch()
    return {shift}


time.time = lambda: real() + shift()
time.time_ns = lambda: real_ns() + shift() * 10**9
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed_on(scenes.recorded(tmp_path_factory.mktemp("recorded")))


@pytest.mark.parametrize(
    "shift",
    [
        pytest.param("86400 * (asked > 9)", id="a day ahead"),
        pytest.param("-86400 * (asked > 9)", id="a day back"),
        pytest.param("86400 * (-1) ** asked", id="to and fro"),
    ],
)
def test_a_run_whose_clock_jumps_does_the_same_work_and_is_done(
    recorded: Undisturbed, shift: str, tmp_path: Path
) -> None:
    ground, sign = recorded.ground, tmp_path / "jumped"
    (tmp_path / "sitecustomize.py").write_text(JUMPS.format(sign=str(sign), shift=shift))
    ground.fresh()
    ended = replace(ground, extra={**ground.extra, "PYTHONPATH": str(tmp_path)}).call()
    assert ended.code == 0, last_words(ended)
    assert sign.exists(), "the clock was never asked after its jump"
    assert differences(settled_tree(ground), recorded.tree) == []
    again = ground.call()
    assert again.code == 0, last_words(again)
    assert differences(settled_tree(ground), recorded.tree) == []
    assert "everything is up to date" in ground.call("why", "paper").out
