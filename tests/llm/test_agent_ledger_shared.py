"""One ledger for two phases that run side by side: both count what any of them spent, and no row is lost or counted twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from phases.llm.journal import Journal
from phases.llm.ledger import Ledger, LedgerCall
from phases.llm.ledger_rows import read_ledger, rows_by_now, sum_rows
from phases.llm.model import Reply, reply_to_json
from pipeline.base.errors import Paused
from tests.agents import says
from tests.papers import HANGS

CENT = Reply("ok", "words", tokens_in=100, tokens_out=10, usd=0.01)


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "task" / "logs").mkdir(parents=True)
    return str(tmp_path / "task" / "logs" / "llm.jsonl")


def side_by_side(*works: Callable[[], None]) -> None:
    """Runs these at once, each in a thread of its own; what one of them raises is raised here."""
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        gate.wait(HANGS)
        work()

    with ThreadPoolExecutor(len(works)) as threads:
        for running in [threads.submit(run, work) for work in works]:
            running.result(HANGS)


def calls(ledger: Ledger, thread: str, most: int, *, used: bool = True) -> Callable[[], None]:
    def work() -> None:
        for turn in range(1, most + 1):
            ledger.record(LedgerCall(thread, 1, turn, "x" * 5000), "scripted", CENT, used=used)

    return work


@pytest.mark.parametrize("used", [True, False], ids=["replies that were used", "calls that gave nothing"])
def test_rows_of_two_threads_stay_whole_and_both_count_all_of_them(path: str, used: bool) -> None:
    plan, references = Ledger(path, {}), Ledger(path, {})
    side_by_side(calls(plan, "plan", 60, used=used), calls(references, "references", 60, used=used))
    rows = [json.loads(line) for line in Path(path).read_bytes().splitlines()]
    assert sorted((row["thread"], row["turn"]) for row in rows) == sorted(
        (thread, turn) for thread in ("plan", "references") for turn in range(1, 61)
    )
    for ledger in (plan, references):
        ledger.used()
        assert ledger.spent["calls"] == 120
        assert ledger.spent["usd"] == pytest.approx(1.2)


def test_a_limit_stops_a_phase_for_what_the_other_one_spent(path: str) -> None:
    plan, references = Ledger(path, {"max_usd": 0.05}), Ledger(path, {"max_usd": 0.05})
    references.enforce_limits(says())
    calls(plan, "plan", 5)()
    with pytest.raises(
        Paused, match=r"the limit max_usd = 0\.05 is reached \(\$0\.0500 and 550 tokens in 5 calls so far\)"
    ):
        references.enforce_limits(says())


def test_a_limit_of_two_threads_is_not_passed_by_their_calls_under_way(path: str) -> None:
    def spends(thread: str) -> Callable[[], None]:
        ledger, turn = Ledger(path, {"max_usd": 0.30}), count(1)

        def asks() -> None:
            while True:
                ledger.enforce_limits(says(), thread, CENT.usd)
                ledger.record(LedgerCall(thread, 1, next(turn)), "scripted", CENT, used=True)

        def work() -> None:
            with pytest.raises(Paused):
                asks()

        return work

    side_by_side(spends("plan"), spends("references"))
    assert len(read_ledger(path)) in (29, 30)  # the last cent may be reserved by one when the other looks


def test_what_is_reserved_for_a_call_under_way_is_told_and_given_back(path: str) -> None:
    plan, references = Ledger(path, {"max_usd": 0.05}), Ledger(path, {"max_usd": 0.05})
    plan.enforce_limits(says(), "plan", 0.03)
    with pytest.raises(
        Paused,
        match=r"0\.05 would be passed: the next call costs about \$0\.0250, and calls under way \$0\.0300 .*0\.01$",
    ):
        references.enforce_limits(says(), "references", 0.025)
    plan.record(LedgerCall("plan", 1, 1), "scripted", CENT, used=True)
    references.enforce_limits(says(), "references", 0.025)


def test_a_reply_that_two_ledgers_recover_at_once_is_counted_once(path: str, tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "task" / "plan_journal.jsonl"), {"thread": "plan"})
    for turn in range(1, 41):
        kept = {**reply_to_json(CENT), "model": "scripted", "about": "the plan"}
        journal.replay_or_record("reply", {"thread": "plan", "turn": turn, "request": "r"}, lambda kept=kept: kept)  # type: ignore[misc]
    ledgers: list[Ledger] = []
    side_by_side(*[lambda: ledgers.append(Ledger(path, {}))] * 4)
    assert len(Path(path).read_bytes().splitlines()) == 40
    assert [ledger.spent["calls"] for ledger in ledgers] == [40] * 4


def test_rows_that_say_the_same_reply_twice_count_once_and_calls_that_gave_nothing_each_time(path: str) -> None:
    ledger = Ledger(path, {})
    calls(ledger, "plan", 1)()
    calls(ledger, "plan", 1, used=False)()
    Path(path).write_bytes(Path(path).read_bytes() * 2)
    assert [(row["turn"], row["used"]) for row in read_ledger(path)] == [(1, True), (1, False), (1, False)]
    assert sum_rows(read_ledger(path))["usd"] == pytest.approx(0.03)
    assert Ledger(path, {}).spent["calls"] == 3


@pytest.mark.slow
def test_a_ledger_that_is_opened_cuts_no_line_that_another_thread_just_adds(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, half, opened = Ledger(path, {}), threading.Event(), threading.Event()

    def in_two_pieces(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[: len(data) // 2])
        half.set()
        opened.wait(0.3)  # in vain: what opens waits for the line to be whole
        os.write(descriptor, data[len(data) // 2 :])

    def opens() -> None:
        assert half.wait(HANGS)
        ledger = Ledger(path, {})
        opened.set()
        assert ledger.spent["calls"] == 1

    monkeypatch.setattr("pipeline.base.jsonl.write_all", in_two_pieces)
    side_by_side(calls(writing, "plan", 1), opens)
    assert not Path(path + ".corrupt").exists()
    assert [row["turn"] for row in read_ledger(path)] == [1]


def test_a_line_that_a_crash_tore_is_cut_and_kept_when_the_next_run_opens_the_ledger(path: str) -> None:
    calls(Ledger(path, {}), "plan", 2)()
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:-40])
    assert Ledger(path, {}).spent["calls"] == 1
    assert Path(path + ".corrupt").read_bytes() == whole[:-40].splitlines()[1] + b"\n"


def test_a_ledger_that_goes_away_takes_back_nothing_that_was_spent(path: str) -> None:
    ledger = Ledger(path, {"max_usd": 0.02})
    calls(ledger, "plan", 2)()
    Path(path).unlink()
    with pytest.raises(Paused, match=r"\$0\.0200"):
        ledger.enforce_limits(says())


def test_a_call_that_a_run_was_killed_in_is_counted_once(tmp_path: Path) -> None:
    task = tmp_path / "task"
    (task / "logs").mkdir(parents=True)
    path = str(task / "logs" / "llm.jsonl")
    code = (
        "import os, sys\n"
        "from phases.llm.ledger import Ledger, LedgerCall\n"
        "ledger = Ledger(sys.argv[1], {})\n"
        "ledger.begin(LedgerCall('plan', 1, 1), 'openai:x', 1000, 0.25)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    assert sum_rows(rows_by_now(path))["usd"] == 0.25  # what `pipeline cost` tells at once
    for _ in range(2):
        again = Ledger(path, {})
        assert (again.spent["calls"], again.spent["usd"], again.spent["tokens_in"]) == (1, 0.25, 1000)
    assert "the run ended in this call" in read_ledger(path)[0]["detail"]
    again.begin(LedgerCall("plan", 1, 1), "openai:x", 1000, 0.25)
    again.record(LedgerCall("plan", 1, 1), "openai:x", Reply("ok", "plan", (), 1000, tokens_out=10, usd=0.3), used=True)
    assert Ledger(path, {}).spent["usd"] == 0.55
    assert sum_rows(rows_by_now(path))["usd"] == 0.55


def test_a_call_whose_reply_is_in_a_journal_is_no_open_one(tmp_path: Path) -> None:
    task = tmp_path / "task"
    (task / "logs").mkdir(parents=True)
    path, call = str(task / "logs" / "llm.jsonl"), LedgerCall("plan", 1, 1)
    first = Ledger(path, {})
    first.begin(call, "openai:x", 1000, 0.25)
    row = (task / "logs" / "open_calls" / "plan.json").read_bytes()
    first.record(call, "openai:x", Reply("ok", "plan", (), 1000, usd=0.3), used=True)
    (task / "logs" / "open_calls" / "plan.json").write_bytes(row)  # killed between the two
    assert Ledger(path, {}).spent["usd"] == 0.3
    assert list((task / "logs" / "open_calls").iterdir()) == []


def test_only_notes_of_calls_are_ever_taken_away(tmp_path: Path) -> None:
    victim, logs = tmp_path / "victim", tmp_path / "task" / "logs"
    victim.mkdir()
    (victim / "package.json").write_text('{"name": "x"}')
    logs.mkdir(parents=True)
    (logs / "open_calls").symlink_to(victim)
    Ledger(str(logs / "llm.jsonl"), {})
    assert (victim / "package.json").exists()
    (logs / "open_calls").unlink()
    (logs / "open_calls").mkdir()
    (logs / "open_calls" / "mine.json").write_text('{"thread": "plan"}')
    (logs / "open_calls" / "plan.json").write_text('{"thread": "plan"}')
    Ledger(str(logs / "llm.jsonl"), {})
    assert sorted(path.name for path in (logs / "open_calls").iterdir()) == ["mine.json", "plan.json"]


def test_a_reply_of_no_use_is_counted_once_where_the_run_is_killed_before_its_note_goes(tmp_path: Path) -> None:
    logs = tmp_path / "task" / "logs"
    logs.mkdir(parents=True)
    path, call = str(logs / "llm.jsonl"), LedgerCall("plan", 1, 1)
    first = Ledger(path, {})
    first.begin(call, "openai:x", 1000, 0.25)
    note = (logs / "open_calls" / "plan.json").read_bytes()
    first.record(call, "openai:x", Reply("refused", "", (), 1000, usd=0.5), used=False)
    (logs / "open_calls" / "plan.json").write_bytes(note)
    assert sum_rows(rows_by_now(path))["usd"] == 0.5
    assert (Ledger(path, {}).spent["calls"], sum_rows(rows_by_now(path))["usd"]) == (1, 0.5)


def test_tasks_side_by_side_never_take_more_than_the_limit_for_all_of_them(tmp_path: Path) -> None:
    model, made = says(Reply("ok", "x", usd=0.4)), []

    def work(name: str) -> None:
        (tmp_path / name / "logs").mkdir(parents=True)
        ledger = Ledger(str(tmp_path / name / "logs" / "llm.jsonl"), {"batch_usd": 1.0})
        try:
            with ledger.alone():
                ledger.enforce_limits(model, "plan", 0.3, most=0.3)
                ledger.begin(LedgerCall("plan", 1, 1), "scripted", 10, 0.1)
        except Paused:
            return
        made.append(ledger)  # and the call goes on, so that its money is kept for it

    side_by_side(*(partial(work, f"task{number}") for number in range(8)))
    assert len(made) == 3
    for ledger in made:
        ledger.record(LedgerCall("plan", 1, 1), "scripted", Reply("ok", "", usd=0.1), used=False)
    work("later")
    assert len(made) == 4, "what a call did not cost is there again once it has ended"
