"""Runs that go wrong in each of the ways that real ones did, in which the model does as it is told: they end well."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phases.agent.kernel_facts import takes_back
from phases.supervision.enums import SupervisorPhase
from phases.supervision.facts import GateVerdict
from phases.supervision.wording import LEADS
from tests.supervision.test_supervision_healthy_runs import CHECK, Asked, Run, edit, name, read, run, shown, write

PATIENCE = 40
Trouble = Callable[[int], list[Asked]]


def numbers_differ(at: int) -> list[Asked]:
    """1: the check fails with another number each time."""
    told = f"loss {0.9 - 0.13 * (at % 5):.3f}: AssertionError: not close\n"
    told += f"FAILED tests/test_a.py::test_loss - {at * 37} wrong\n1 failed"
    return [edit(0, f"try {at}"), shown(CHECK, told, failed=True)]


def behind_a_filter(at: int) -> list[Asked]:
    """2: `CHECK 2>&1 | tail -3`, whose exit code is the filter's."""
    return [
        edit(0, f"try {at}"),
        shown(f"{CHECK} 2>&1 | tail -3", "FAILED tests/test_a.py::test_a\n1 failed", failed=False),
    ]


def edits_that_fail(at: int) -> list[Asked]:
    """3: failing edits with a read between them."""
    told = {"text": f"old_string is not in the file (line {at})", "failed": True}
    wrong: Asked = ("Edit", {"file_path": name(0), "old_string": f"gone {at}", "new_string": ""}, told)
    return [wrong if at % 2 else read(0)]


def same_failure(at: int) -> list[Asked]:
    """6 and 9: pytest's failure in the same way after each change."""
    told = "E   assert 1 == 2\n\ntests/test_a.py:7: AssertionError\n"
    told += f"FAILED tests/test_a.py::test_a - assert 1 == 2\n1 failed in {at}s"
    return [edit(0, f"try {at}"), shown(CHECK, told, failed=True)]


def other_flags(at: int) -> list[Asked]:
    """10: other flags, the same failure, no change."""
    return [shown(f"{CHECK} --maxfail={at + 1}", "FAILED tests/test_a.py::test_a - no\n1 failed", failed=True)]


def other_spelling(at: int) -> list[Asked]:
    """7: another spelling of the check, which fails alike after each change."""
    words = ("pytest -x", "python -m pytest tests -q", "cd . && pytest")[at % 3]
    return [edit(0, f"try {at}"), shown(words, "FAILED tests/test_a.py::test_a - no\n1 failed", failed=True)]


def the_same_file_over_and_over(at: int) -> list[Asked]:
    """3: what was just read is read again."""
    return [read(at % 2)]


TROUBLES: list[Trouble] = [
    numbers_differ,
    behind_a_filter,
    edits_that_fail,
    same_failure,
    other_flags,
    other_spelling,
    the_same_file_over_and_over,
]


@pytest.mark.parametrize("heeds", [1, 2], ids=["at the first word", "when it is led"])
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
def test_who_heeds_what_it_is_told_ends_well(trouble: Trouble, heeds: int) -> None:
    here = Run(4, CHECK)
    here.rounds([write(number) for number in range(3)])
    for at in range(PATIENCE):
        out = here.round(*trouble(at))
        assert out.stop is None, "it ends before the model could heed it"
        if here.said and (heeds == 1 or here.bridge.state.phase.phase is SupervisorPhase.TAKEOVER):
            break
    else:
        raise AssertionError("nobody said a word")
    refused = len(here.refused)
    here.rounds([edit(0, "the cause, mended"), run(CHECK), write(3), read(3), run(CHECK)])
    out = here.round(text="done", verdict=GateVerdict(passed=True))
    assert len(here.refused) == refused, "every step that it was told to take is let through"
    assert (out.stop, here.bridge.state.ledger.test_summary, here.facts.open_files) == (None, "passed", 0)
    assert here.bridge.state.phase.phase is not SupervisorPhase.TAKEOVER
    assert here.bridge.state.progress.stall == 0


def test_a_word_on_a_failing_check_names_test_error_and_file() -> None:
    here = Run(2, CHECK)
    here.rounds([write(number) for number in range(2)])
    for at in range(4):
        here.round(*same_failure(at))
    assert "tests/test_a.py" in here.said[0]
    assert "assert 1 == 2" in here.said[0]


def test_a_takeover_of_nothing_begins_with_the_first_file_and_ends_with_the_last() -> None:
    """4: it never begins with understanding the goal, nor refuses the first writes; after its checks the README is written."""
    here = Run(3, CHECK)
    here.bridge.take_over()
    here.round(read(0))
    told = here.bridge.begin()
    assert told == f"{LEADS}\nNext: write {name(0)}, a planned file that is open."
    here.rounds([write(0), write(1), run(CHECK), write(2)])
    assert here.refused == []


def test_what_the_machine_lacks_is_named_and_the_rest_of_the_work_is_done() -> None:
    """11: a missing program; the model leaves it, and goes on."""
    here = Run(2, CHECK)
    here.round(write(0))
    for at in range(PATIENCE):
        here.round(
            ("Bash", {"command": f"nvcc a{at}.cu"}, {"text": "bash: line 1: nvcc: command not found", "failed": True})
        )
        if here.said:
            break
    assert "the program nvcc is not there" in here.said[0]
    here.rounds([write(1), run(CHECK)])
    assert (here.bridge.state.phase.takeovers, here.bridge.state.progress.stall) == (0, 0)


@pytest.mark.parametrize(
    ("command", "taken"),
    [
        ("git checkout -b other", False),
        ("git stash list", False),
        ("git clean -nfd", False),
        ("git reset HEAD src/a.py", False),
        ("rm -rf build __pycache__", False),
        ("echo 'git reset --hard'", False),
        ("cat > notes <<EOF\ngit reset --hard\nEOF", False),
        ("/usr/bin/git reset --hard", True),
        ('bash -c "git checkout -- src/a.py"', True),
        ("env X=1 git stash", True),
        ("sudo -u me git clean -fdx", True),
        ("rm -rf *", True),
        ("rm -r src", True),
        ("git -C src restore a.py", True),
    ],
)
def test_work_is_taken_back_by_what_git_and_rm_would_do(command: str, taken: bool) -> None:
    assert takes_back(command, ["src/a.py"]) is taken
