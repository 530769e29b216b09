"""The defects of the supervision that this one learned from: a test for each that no other file stands against."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phases.supervision import gate
from phases.supervision.config import BranchLimits, Config, Layers, ModeLimits
from phases.supervision.effects import Effects
from phases.supervision.enums import (
    DeviationSignal,
    ExecutionMode,
    GateAction,
    GraphStatus,
    NodeType,
    SupervisorPhase,
)
from phases.supervision.execution_mode import ModeState
from phases.supervision.facts import Action, DiskFacts
from phases.supervision.graph import CONTRACTS, is_active
from phases.supervision.progress import Fruitless, Progress
from phases.supervision.signals import Signal
from phases.supervision.state import KernelState
from phases.supervision.work_ledger import WorkLedger, after_action
from tests.supervision_runs import Supervision, Turn, check, ran, read, write

L1_ALONE = Config(layers=Layers(recovery_supervisor=False))


# Contracts were empty lists


@pytest.mark.parametrize("kind", NodeType)
def test_each_step_says_what_completes_it_how_long_it_may_last_and_what_to_do(kind: NodeType) -> None:
    contract = CONTRACTS[kind]
    assert contract.required or kind is NodeType.INSPECT
    assert contract.max_rounds > 0
    assert contract.next.endswith(".")


# What kept forced mode could never be settled


def in_debt() -> Supervision:
    """A forced run in which a call was kept back."""
    run = Supervision("adaptive", L1_ALONE)
    turns = run.rounds(*[ran("make data", error="no rule")] * (BranchLimits().command_retry_max + 1))
    assert turns[-1].refused[0]
    assert (gate.open_refusals(run.state), run.state.mode.recovery_pending) == (1, True)
    return run


def reading(run: Supervision, count: int) -> list[Turn]:
    return run.rounds(*(read(f"docs/{number}.md") for number in range(count)))


@pytest.mark.parametrize(
    "action", [ran("make"), write("src/a.py"), check()], ids=["a command ends well", "a file changes", "checks pass"]
)
def test_what_was_kept_back_is_settled_by_a_change_and_forced_mode_is_left(action: Action) -> None:
    run = in_debt()
    assert {turn.begun.mode.execution_mode for turn in reading(run, 5)} == {ExecutionMode.FORCED}
    run.round(action)
    assert (gate.open_refusals(run.state), run.state.mode.recovery_pending) == (0, False)
    reading(run, ModeLimits().stable_rounds_exit_threshold + 1)
    assert run.mode is ExecutionMode.FREE


def test_the_gate_goes_by_the_execution_mode_that_is() -> None:
    fails = ran("make", error="boom").call
    known = KernelState(progress=Progress(fruitless={fails.signature: Fruitless(3, failed=True)}))
    setting = Supervision("adaptive").bridge.setting
    for mode, action in ((ExecutionMode.FREE, GateAction.EXECUTE), (ExecutionMode.FORCED, GateAction.SKIP)):
        state = replace(known, mode=ModeState(execution_mode=mode))
        assert gate.gate_call(state, setting, fails, Effects())[1].action is action


# A takeover was never left


def test_a_takeover_that_is_over_leaves_nothing_that_forces() -> None:
    run = Supervision(disk=DiskFacts(modified=("src/a.py",), present=("src/a.py", "src/b.py"), build_summary="ok"))
    run.round(write("src/a.py"))
    run.bridge.take_over()
    run.round(read())
    assert is_active(run.state.graph)
    run.rounds(*(write("src/b.py", number) for number in range(4)))
    assert run.phase is SupervisorPhase.COOLDOWN
    assert run.state.graph.graph is not None
    assert run.state.graph.graph.status in (GraphStatus.PAUSED, GraphStatus.DONE)
    assert not run.state.mode.recovery_pending
    reading(run, ModeLimits().mode_lock_rounds + ModeLimits().stable_rounds_exit_threshold + 1)
    assert run.mode is ExecutionMode.FREE


# Old signals lived for ever


def test_a_signal_that_does_not_come_again_dies_after_three_rounds() -> None:
    run, old = Supervision("adaptive", L1_ALONE), Signal(DeviationSignal.ERROR_PLATEAU, 3, 0)
    run.bridge.state = replace(run.state, observer=replace(run.state.observer, live=(old,)))
    lives = [old in run.round(write(f"src/{number}.py")).state.observer.live for number in range(4)]
    assert lives == [True, True, False, False]


# Lines were guessed, and mistakes decided


def test_the_lines_of_a_change_are_counted_and_not_guessed_by_its_files() -> None:
    book = WorkLedger()
    for number, (path, lines) in enumerate([("src/a.py", 3), ("src/b.py", 4), ("src/c.py", 900)]):
        action = write(path, lines=lines)
        book, _ = after_action(book, action.call, action.result, number, ())
    assert book.diff_lines == 907


def test_an_error_of_the_supervisor_is_logged_and_counts_as_no_decision() -> None:
    def breaks(state: KernelState) -> DiskFacts:
        raise RuntimeError("no disk")

    run = Supervision(disk=breaks)
    run.round(write("src/a.py"))
    run.bridge.take_over()
    turn = run.round(read())
    assert "failure kernel_error" in turn.reasons
    assert run.phase is SupervisorPhase.FREE
    assert (turn.said, turn.out.stop) == ([], None), "what was not decided is not said"
