"""Drills 1, 2 and 22: killed at any point, a run goes on to the very tree of a run that nobody killed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.drills import scenes
from tests.drills.aftermath import Reference, at_each, last_words, reference_on
from tests.drills.faults import Call, call_with, launched
from tests.drills.points import Share, shares

KILLED = -9


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference_on(scenes.chain(tmp_path_factory.mktemp("toys")))


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference_on(scenes.diamond(tmp_path_factory.mktemp("diamond")))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """The real phases, on a machine without git and bubblewrap."""
    return reference_on(scenes.paper(tmp_path_factory.mktemp("alone"), tools=False))


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference_on(scenes.paper(tmp_path_factory.mktemp("paper"), tools=True))


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Toys for what needs no strace."""
    return reference_on(scenes.chain(tmp_path_factory.mktemp("hooked")), traced=False)


@shares(8, few=20)
def test_a_run_killed_at_any_system_call_goes_on_to_the_same_tree(toys: Reference, share: Share) -> None:
    at_each(toys, share.of(toys.calls()), lambda call: _killed_at(toys, call))


@pytest.mark.slow
@shares(8, few=20)
def test_a_run_of_phases_side_by_side_killed_at_any_system_call_goes_on_to_the_same_tree(
    side_by_side: Reference, share: Share
) -> None:
    at_each(side_by_side, share.of(side_by_side.calls()), lambda call: _killed_at(side_by_side, call))


@pytest.mark.slow
@shares(120, few=12)
def test_a_fast_run_killed_at_any_system_call_goes_on_to_the_same_tree(alone: Reference, share: Share) -> None:
    calls = alone.calls()
    at_each(alone, share.of(calls), lambda call: _killed_at(alone, call, _those_that_may_not_come_again(calls)))


@pytest.mark.slow
@shares(120, few=12)
def test_a_fast_run_with_a_sandbox_killed_at_any_system_call_goes_on_to_the_same_tree(
    paper: Reference, share: Share
) -> None:
    calls = paper.calls()
    at_each(paper, share.of(calls), lambda call: _killed_at(paper, call, _those_that_may_not_come_again(calls)))


def test_a_run_killed_again_and_again_gets_to_the_end(toys: Reference) -> None:
    toys.ground.fresh()
    for step in range(3, 200, 12):
        ended = call_with(toys.ground, "signal=KILL", Call("fsync", step % 40 + 1, ""))
        assert ended.code in (KILLED, toys.code), last_words(ended)
    assert not toys.problems_afterwards()


@pytest.mark.slow
@shares(8, few=20)
def test_a_run_killed_at_any_audited_event_goes_on_to_the_same_tree(hooked: Reference, share: Share) -> None:
    at_each(hooked, share.of(range(1, len(hooked.events()) + 1)), lambda nth: _gone_at(hooked, nth))


@pytest.mark.slow
@shares(480, few=12)
def test_a_fast_run_killed_at_any_audited_event_goes_on_to_the_same_tree(paper: Reference, share: Share) -> None:
    at_each(paper, share.of(range(1, len(paper.events()) + 1)), lambda nth: _gone_at(paper, nth))


def test_a_phase_whose_outputs_are_written_but_not_stamped_is_made_again(hooked: Reference) -> None:
    """Between the outputs and the stamp lies the one moment at which a result exists that nobody vouches for."""
    stampings = [
        nth for nth, event in enumerate(hooked.events(), 1) if event.startswith("open") and "state.json" in event
    ]
    assert len(stampings) >= 5
    at_each(hooked, stampings, lambda nth: _gone_at(hooked, nth))


@pytest.mark.slow
def test_a_killed_run_leaves_nothing_in_the_temporary_folder_after_the_next_start(paper: Reference) -> None:
    probes = [nth for nth, event in enumerate(paper.events(), 1) if "Popen" in event and "bwrap" in event]
    if not probes:
        pytest.skip("bubblewrap is not installed, so nothing is tried in a temporary folder")
    paper.ground.fresh()
    assert launched(paper.ground, probes[0]).code == 137
    paper.ground.call()
    assert [path.name for path in paper.ground.temporary.iterdir()] == []


def _those_that_may_not_come_again(calls: list[Call]) -> list[Call]:
    """Which files a copy of the workspace looks at twice hangs on their age: from there on a run may make fewer calls."""
    first = next((at for at, call in enumerate(calls) if "/before_command/" in call.text), len(calls))
    return calls[first:]


def _killed_at(reference: Reference, call: Call, uncertain: Sequence[Call] = ()) -> list[str]:
    ground = reference.ground
    ended = call_with(ground, "signal=KILL", call)
    if ended.code == reference.code and call in uncertain:
        return []
    if ended.code != KILLED:
        return [f"the kill never came, it ends with {ended.code}: {last_words(ended)}"]
    by_name = call.nth % 2 and (ground.task / "task.json").exists()
    return reference.problems_afterwards(*(("resume", "paper") if by_name else ()))


def _gone_at(reference: Reference, nth: int) -> list[str]:
    ended = launched(reference.ground, nth)
    if ended.code != 137:
        return [f"killed, it ends with {ended.code}: {last_words(ended)}"]
    return reference.problems_afterwards()
