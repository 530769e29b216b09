"""Every text that supervision puts before a model, as it reads; golden_texts.txt holds them.

`python -m tests.supervision.test_supervision_texts` writes the file anew; read the difference before you commit it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from phases.supervision.enums import DeviationSignal, ExecutionMode, NodeType, SupervisorPhase, ToolClass
from phases.supervision.facts import Call
from phases.supervision.gate import decide_call, refusal_text
from phases.supervision.graph_executor import init_run
from phases.supervision.observer import ObserverState
from phases.supervision.progress import Fruitless, Plateau, Progress, Way
from phases.supervision.recovery import _FIRST, _STRANGERS
from phases.supervision.signals import BLOCKED, Signal
from phases.supervision.state import KernelState, LastRound, PhaseState, Setting
from phases.supervision.wording import HANDED_BACK, MOST_WORDS, context_of, describe_signal, hint_text, lead_block
from phases.supervision.work_ledger import WorkLedger
from tests.supervision_runs import CHECK, check, read, setting_of

GOLDEN = Path(__file__).with_name("golden_texts.txt")
ASSERTION = "tests/test_sum.py::test_sum\nassert 4 == 5\n/home/me/tasks/paper/generate_code/tests/test_sum.py:12: AssertionError"
SEARCH = Way("gone", "Grep totals", "totals.py: not found", 5, 9)
KNOWN = Way("known", "Read src/a.py", "", 4, 9)
NO_JULIA = Way("lacks", "Bash julia run.jl", "julia: not found", 4, 9, "this machine has no julia")
S = DeviationSignal


def _progress(*ways: Way) -> Progress:
    plateau = Plateau(("tests/test_sum.py::test_sum",), 3, command=CHECK)
    return Progress(stall=12, since=7, ways=ways, plateaus={"sum": plateau})


SEEN = {
    "the checks fail alike": (Signal(S.ERROR_PLATEAU, 3, 9, CHECK), _progress()),
    "one file again and again": (Signal(S.FILE_LOOP, 4, 9, "src/a.py"), _progress()),
    "off the plan": (Signal(S.GOAL_DRIFT, 5, 9, "src/b.py"), _progress()),
    "files beside the plan": (Signal(S.SCOPE_CREEP, 3, 9, "src/helper.py"), _progress()),
    "the same calls in turns": (Signal(S.CYCLE, 3, 9, "2 calls, 3 times"), _progress(SEARCH)),
    "one call fails": (Signal(S.TOOL_REPEAT_FAIL, 5, 9, "Grep totals: totals.py: not found"), _progress(SEARCH)),
    "known results": (Signal(S.NO_PROGRESS, 6, 9), _progress(KNOWN)),
    "no calls": (Signal(S.NO_PROGRESS, 6, 9), _progress()),
    "the machine lacks it": (Signal(S.TOOL_REPEAT_FAIL, 4, 9, "Bash julia run.jl"), _progress(NO_JULIA)),
}
FAILING = WorkLedger(test_summary="failed", build_output="test_sum", assertion=ASSERTION)


def _led(name: str, ledger: WorkLedger, *, next_file: str = "", first: str = "") -> KernelState:
    signal, progress = SEEN[name]
    phase = PhaseState(SupervisorPhase.TAKEOVER, takeover_start_round=9)
    tried = (describe_signal(signal, progress),)
    return KernelState(9, ledger, phase=phase, tried=tried, next_file=next_file, first_action=first)


def _refused(call: Call, known: Fruitless, setting: Setting, *ways: Way) -> str:
    state = KernelState(progress=Progress(fruitless={call.signature: known}, ways=ways))
    state = replace(state, mode=replace(state.mode, execution_mode=ExecutionMode.FORCED))
    state = replace(state, observer=ObserverState(stages={"stall": BLOCKED}))
    return refusal_text(decide_call(call, state, setting).reason)


def _steps(setting: Setting) -> dict[str, str]:
    run = init_run(setting.task, graph_id="graph-1")
    graph = run.graph
    assert graph is not None
    texts = {}
    for node in graph.nodes.values():
        at = next(row for row in (graph.main_branch, *graph.fallback_branches) if node.id in row.node_ids)
        cursor = replace(graph.cursor, branch_id=at.id, node_id=node.id, node_index=at.node_ids.index(node.id))
        missing = ("src/b.py is not written, or not sound",) if node.type is NodeType.EDIT else ()
        led_by = replace(run, graph=replace(graph, cursor=cursor), missing=missing)
        state = KernelState(3, graph=led_by)
        state = replace(state, mode=replace(state.mode, execution_mode=ExecutionMode.FORCED))
        texts[f"step: {node.title}"] = context_of(state, setting)
    return texts


def texts() -> Mapping[str, str]:
    """Return every text by what it is about."""
    setting, open_step = setting_of("strict"), f"write src/b.py, a planned file that is open, then run `{CHECK}`."
    read_again, tested = read("src/a.py").call, check("x").call
    return {
        **{f"word: {name}": hint_text(*seen, ASSERTION, open_step) for name, seen in SEEN.items()},
        **{
            f"led: {name}": lead_block(state, setting)
            for name, state in {
                "a check fails": _led("the checks fail alike", FAILING),
                "a check fails, and was read": replace(
                    _led("one file again and again", FAILING), last=LastRound(tool_classes=(ToolClass.READ,))
                ),
                "a file changed since": _led("the checks fail alike", replace(FAILING, test_summary="required")),
                "one file was edited": replace(
                    _led("the checks fail alike", FAILING), progress=Progress(edits={"src/a.py": 4})
                ),
                "it helped": replace(_led("the checks fail alike", WorkLedger()), proved=True),
                "a planned file is open": _led("off the plan", WorkLedger(), next_file="src/b.py"),
                "nothing fails": _led("known results", WorkLedger()),
                "all checks passed": _led("known results", WorkLedger(passed_since_write=(CHECK,))),
                **{
                    f"first, {name}": _led("one call fails", FAILING, first=f"{first} Found: src/a.py.")
                    for name, first in {**_FIRST, "strangers": _STRANGERS}.items()
                },
            }.items()
        },
        "handed back": HANDED_BACK,
        **_steps(setting),
        "kept back: known": _refused(read_again, Fruitless(4, False), setting),
        "kept back: a check": _refused(tested, Fruitless(3, True), setting),
        "kept back: another call": _refused(read_again, Fruitless(3, True), setting),
        "kept back: the machine lacks it": _refused(
            replace(tested, tool="Bash", command="julia run.jl"), Fruitless(4, True), setting, NO_JULIA
        ),
        "kept back: takes work back": _refused(replace(tested, rollback=True), Fruitless(1, True), setting),
    }


def _book() -> str:
    return "\n\n".join(f"== {name}\n{text}" for name, text in texts().items()) + "\n"


def test_every_text_reads_as_it_was_read_last() -> None:
    assert _book() == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(texts()))
def test_a_text_is_short_names_one_next_action_and_shows_no_inner_name_and_no_path_of_the_host(name: str) -> None:
    text = texts()[name]
    assert 0 < len(text.split()) <= MOST_WORDS
    assert text.count("Next: ") == (name != "handed back")
    inner = "|".join((*DeviationSignal, *SupervisorPhase, "adaptive", "critical_"))
    assert not re.search(rf"\b(?:{inner.replace('|free', '')})\b|/home/", text.replace("takeover", ""))


def test_a_text_with_the_longest_quotes_stays_within_its_limit() -> None:
    long = Way("w", "Bash " + "a b " * 300, "e f " * 300, 9, 9)
    failing = replace(FAILING, assertion="\n".join(["x y " * 300] * 9))
    state = replace(_led("one call fails", failing), tried=("u v " * 300,) * 9)
    for text in (
        lead_block(state, setting_of("adaptive")),
        hint_text(Signal(S.NO_PROGRESS, 6, 9), _progress(long, long, long), "", ""),
    ):
        assert len(text.split()) <= MOST_WORDS
        assert "Next: " in text


if __name__ == "__main__":
    GOLDEN.write_text(_book(), encoding="utf-8")
