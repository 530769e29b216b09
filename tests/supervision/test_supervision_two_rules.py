"""Two rules that keep calls back never block each other: who does what a refusal says gets through, again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from phases.supervision.config import Config, RecoveryLimits
from phases.supervision.enums import ExecutionMode, SupervisorPhase
from phases.supervision.facts import Action
from tests.supervision_runs import Supervision, check, ran, read, write

PATIENT = replace(
    Config(),
    adaptive_takeover=RecoveryLimits(max_recovery_rounds=500, max_recovery_retries=500, recovery_token_ratio=9.0),
)
"""No budget ends the takeover, so that the rules themselves are seen."""
EDITED, FAILED, PLATEAU = "was edited", "failed 2 times", "in exactly the same way"
_MOST_ASKED = 4


class Obedient:
    """A model that wants to edit one file and run the check, and does what a refusal says before it asks again."""

    def __init__(self, run: Supervision, path: str = "src/a.py") -> None:
        self.run, self.path, self.version, self.refusals = run, path, 0, list[str]()

    def edit(self) -> int:
        """How often it asked until the file was edited."""
        for asked in range(1, _MOST_ASKED + 1):
            self.version += 1
            if not self._refused(write(self.path, self.version)):
                return asked
            self._refused(read(self.path, digest=f"version {self.version}"))
        raise AssertionError(f"no edit gets through: {self.refusals[-_MOST_ASKED:]}")

    def check(self, *failures: str) -> int:
        """How often it asked until the check ran."""
        for asked in range(1, _MOST_ASKED + 1):
            if not self._refused(check(*failures)):
                return asked
            self.edit()
        raise AssertionError(f"no check gets through: {self.refusals[-_MOST_ASKED:]}")

    def _refused(self, action: Action) -> str:
        turn = self.run.round(action, open_files=1)
        assert turn.out.stop is None
        self.refusals.extend(told for told in turn.refused if told)
        return turn.refused[0]


def by_rules_alone(word: str) -> Supervision:
    """A run without a task graph: a graph whose ways are all spent stops a run whose check never passes."""
    run = Supervision(word, PATIENT)
    run.bridge.setting = replace(run.bridge.setting, policy=replace(run.bridge.setting.policy, task_graph=False))
    return run


def led(run: Supervision) -> Supervision:
    run.round(write(), open_files=1)
    run.bridge.take_over()
    run.round(read(), open_files=1)
    assert run.phase is SupervisorPhase.TAKEOVER
    return run


def forced(run: Supervision) -> Supervision:
    run.round(ran("lint", error="no lint"), open_files=1)
    run.round(read(), open_files=1)
    assert run.mode is ExecutionMode.FORCED
    return run


RUNS = [
    pytest.param(lambda: by_rules_alone("strict"), id="strict"),
    pytest.param(lambda: led(by_rules_alone("adaptive")), id="led"),
    pytest.param(lambda: forced(by_rules_alone("adaptive")), id="forced"),
]


@pytest.mark.parametrize("begun", RUNS)
@pytest.mark.parametrize("told", ["the same", "another each time"])
def test_who_reads_edits_and_checks_always_gets_through(begun: Callable[[], Supervision], told: str) -> None:
    model = Obedient(begun())
    for number in range(25):
        assert model.edit() <= 2
        assert model.check("test_one fails" if told == "the same" else f"test_{number} fails") == 1
    assert any(EDITED in refusal for refusal in model.refusals)
    assert model.run.mode is ExecutionMode.FORCED


@pytest.mark.parametrize("begun", RUNS)
def test_who_checks_twice_is_told_to_change_a_file_and_then_gets_through(begun: Callable[[], Supervision]) -> None:
    """The check is kept back until a file changed; the file until it was read: one after the other, never both for ever."""
    model = Obedient(begun())
    for _ in range(8):
        model.edit()
        for _ in range(4):
            assert model.check("test_one fails") <= 2
    assert all(any(word in refusal for refusal in model.refusals) for word in (EDITED, FAILED))


@pytest.mark.parametrize("begun", RUNS)
def test_a_check_that_a_plateau_keeps_back_runs_after_an_edit_that_the_budget_kept_back(
    begun: Callable[[], Supervision],
) -> None:
    model = Obedient(begun())
    for _ in range(6):
        model.edit()
        model.check("test_one fails")
    told = len(model.refusals)
    model.check("test_one fails")
    model.check("test_one fails")
    assert any(PLATEAU in refusal for refusal in model.refusals[told:])
    assert any(EDITED in refusal for refusal in model.refusals[told:])
    model.check()


@pytest.mark.parametrize("begun", RUNS)
def test_a_change_that_nobody_sees_lets_the_check_run(begun: Callable[[], Supervision]) -> None:
    """A command that changed a file outside of the plan leaves no mark in the journal."""
    model = Obedient(begun())
    for _ in range(5):
        model.edit()
        model.check("test_one fails")
    for number in range(6):
        model.run.round(ran(f"sed -i s/{number}/x/ conf/base.toml"), open_files=1)
        turn = model.run.round(check("test_one fails"), open_files=1)
        assert turn.refused == ("",), turn.refused


@pytest.mark.parametrize("begun", RUNS)
def test_a_reply_may_edit_one_file_as_often_as_it_likes(begun: Callable[[], Supervision]) -> None:
    run = begun()
    for number in range(3):
        edits = (write("src/b.py", 10 * number + at) for at in range(5))
        assert run.round(*edits, check(f"test_{number} fails"), open_files=1).refused == ("",) * 6
    assert run.state.budget.file_edits["src/b.py"] == 3
    assert EDITED in run.round(write("src/b.py", 99), open_files=1).refused[0]
