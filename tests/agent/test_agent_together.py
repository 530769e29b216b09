"""Sub-agents that one reply calls work side by side; the record, a resume and a replay are as if they had worked one by one."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from phases.llm.ledger_rows import read_ledger
from phases.llm.model import Reply, Request, ToolCall
from pipeline.base.errors import PhaseError
from pipeline.base.threads import run_side_by_side
from tests.agents import Scripted, carry_out, small_plan

SECONDS = 20.0


def task(number: int) -> ToolCall:
    return ToolCall(f"t{number}", "Task", {"description": f"look {number}", "prompt": f"what is {number}?"})


WRITE = ToolCall("w", "Write", {"file_path": "a.py", "content": "A = 1\n"})
LOOK = ToolCall("l", "Glob", {"pattern": "*.py"})


class Together(Scripted):
    """Writes the file in turn 1, calls `calls` in turn 2, and answers the sub-agents when so many of them have asked."""

    def __init__(self, calls: Sequence[ToolCall], together: int, fails: str = "") -> None:
        super().__init__(self.say)
        self.calls, self.fails, self.meet = tuple(calls), fails, threading.Barrier(together)
        self.at_work = self.most = 0

    def say(self, request: Request) -> Reply:
        if request.thread != "implement":
            self.at_work += 1
            self.most = max(self.most, self.at_work)
            self.meet.wait(SECONDS)  # raises where the others do not come
            threading.Event().wait(0.05)
            self.at_work -= 1
            return Reply("fatal", detail="cut") if request.thread == self.fails else Reply("ok", f"of {request.thread}")
        return {1: Reply("ok", "", (WRITE,)), 2: Reply("ok", "", self.calls)}.get(request.turn, Reply("ok", "done"))


def results_of(folder: Path) -> list[tuple[str, str]]:
    rows = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
    results = [row for row in rows if row["kind"] == "result" and row["key"]["turn"] == 2]
    return [(row["key"]["call"], row["result"]["text"]) for row in results]


def test_sub_agents_of_one_reply_ask_at_the_same_time_and_stand_in_the_journal_in_order(tmp_path: Path) -> None:
    calls = [task(1), LOOK, task(2), task(3)]
    carry_out(tmp_path / "task", Together(calls, 3), small_plan("a.py"))
    told = [("t1", "of explore-2-0"), ("l", "a.py"), ("t2", "of explore-2-2"), ("t3", "of explore-2-3")]
    assert results_of(tmp_path / "task") == told
    ledger = read_ledger(str(tmp_path / "task" / "logs" / "llm.jsonl"))
    assert sorted(row["thread"] for row in ledger if row["thread"] != "implement") == [
        "explore-2-0",
        "explore-2-2",
        "explore-2-3",
    ]


@pytest.mark.parametrize(
    "supervisor", ["off", "strict"], ids=["a file written between them", "a supervisor that may refuse"]
)
def test_what_must_come_between_them_keeps_them_apart(supervisor: str, tmp_path: Path) -> None:
    calls = [task(1), *([WRITE] if supervisor == "off" else []), task(2)]
    model = Together(calls, 1)
    carry_out(tmp_path / "task", model, small_plan("a.py"), supervisor=supervisor)
    assert model.most == 1
    assert [call for call, _ in results_of(tmp_path / "task")] == [call.id for call in calls]


def test_where_one_of_them_cannot_go_on_the_answers_of_the_others_are_not_paid_for_again(tmp_path: Path) -> None:
    calls = [task(1), task(2), task(3)]
    with pytest.raises(PhaseError, match="cut"):
        carry_out(tmp_path / "task", Together(calls, 3, fails="explore-2-1"), small_plan("a.py"))
    assert results_of(tmp_path / "task") == [("t1", "of explore-2-0")]
    again = Together(calls, 1)
    carry_out(tmp_path / "task", again, small_plan("a.py"))
    assert [request.thread for request in again.requests] == ["explore-2-1", "implement"]
    assert [text for _, text in results_of(tmp_path / "task")] == [f"of explore-2-{place}" for place in range(3)]


def test_threads_do_all_of_the_work_and_no_more_at_once_than_they_may() -> None:
    at_work, most, lock = 0, 0, threading.Lock()

    def work(number: int) -> int:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        threading.Event().wait(0.01)
        with lock:
            at_work -= 1
        if number == 3:
            raise PhaseError("three")
        return number

    ended = run_side_by_side({str(number): partial(work, number) for number in range(9)}, 4)
    assert list(ended) == [str(number) for number in range(9)]
    assert [ended[str(number)]() for number in range(9) if number != 3] == [0, 1, 2, 4, 5, 6, 7, 8]
    assert 1 < most <= 4
    with pytest.raises(PhaseError, match="three"):
        ended["3"]()
