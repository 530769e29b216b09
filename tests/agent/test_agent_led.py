"""Takeovers in real runs of phase 09: the model goes wrong until the text of a takeover stands before it, then works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from phases.llm.model import Reply, Request, ToolCall
from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from tests.agent.test_agent_supervised import _LEADS, CHECK, PATHS, RIGHT, again, report, said, supervised, written
from tests.agents import Scripted, call, write

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
BOTH = pytest.mark.parametrize("mode", ["adaptive", pytest.param("strict", marks=pytest.mark.slow)])
MENDED = [write("total.py", RIGHT), call("Bash", command=CHECK)]
REST = [*(write(path, f"NAME = {path!r}\n") for path in PATHS[5:]), call("Bash", command=CHECK)]
ALL_WRITTEN = [*written(), *REST]


def led(
    first: Sequence[Reply], wrong: Callable[[int], Reply], right: Callable[[str], Sequence[Reply]], patience: int = 1
) -> Scripted:
    """A model that goes wrong after `first`, and does the right work from the given turn of a takeover on."""
    seen: list[tuple[int, Sequence[Reply]]] = []

    def reply(request: Request) -> Reply:
        if request.turn <= len(first):
            return first[request.turn - 1]
        text = said(request)
        if _LEADS in text and not seen:
            seen.append((request.turn + patience - 1, right(text[text.index(_LEADS) :])))
        if seen and request.turn >= seen[0][0]:
            step, work = request.turn - seen[0][0], seen[0][1]
            return work[step] if step < len(work) else Reply("ok", "done")
        return wrong(request.turn - len(first) - 1)

    return Scripted(reply)


def look(path: str) -> Reply:
    return call("Read", file_path=path)


def look_at(*paths: str) -> Reply:
    """A reply that reads several files."""
    return Reply("ok", "", tuple(ToolCall(f"c{at}", "Read", {"file_path": path}) for at, path in enumerate(paths)))


def named_in(text: str) -> str:
    return min((path for path in PATHS if path in text), key=text.index, default="total.py")


def assert_led_to_the_end(model: Scripted, mode: str, folder: Path) -> None:
    assert supervised(folder, model, mode, max_turns=90)["stop_reason"] == "accepted"
    told = report(folder)
    assert (told["takeovers"], told["stopReason"]) == (1, "model_done")
    assert again(folder) == []


@BOTH
def test_who_reads_eight_files_again_before_its_mend_is_let_through(mode: str, tmp_path: Path) -> None:
    model = led(ALL_WRITTEN, lambda step: look(PATHS[step % 9]), lambda text: [look_at(*PATHS[:8]), *MENDED])
    assert_led_to_the_end(model, mode, tmp_path)


@BOTH
def test_who_reads_the_file_that_the_takeover_names_may_then_mend_it(mode: str, tmp_path: Path) -> None:
    command = "python -c 'import total; total.mean([1])'"
    first = [*written(), call("Bash", command=CHECK)]
    model = led(
        first, lambda step: call("Bash", command=command), lambda text: [look(named_in(text)), *MENDED, *REST], 2
    )
    assert_led_to_the_end(model, mode, tmp_path)
    assert report(tmp_path)["handoffs"] == 1


@BOTH
def test_who_drifts_is_led_back_to_the_planned_files(mode: str, tmp_path: Path) -> None:
    model = led(
        written()[:3],
        lambda step: write(f"extra/helper{step}.py", "N = 1\n"),
        lambda text: [written()[3], written()[4], *MENDED, *REST],
    )
    assert_led_to_the_end(model, mode, tmp_path)
