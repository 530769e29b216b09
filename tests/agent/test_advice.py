"""Advice: once a run and never again, by a reviewer that looks a second time only at what changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phases.llm.model import Reply, Request
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.errors import PhaseError
from tests.agent.test_judge import Answer, Judges, meets
from tests.agent.test_judge import says as verdict
from tests.agents import Scripted, call, carry_out, says, small_plan, write
from tests.hooks import item, mounting

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")
PLAN = small_plan("a.py", "b.py", demands=True)
DONE = Reply("ok", "done")
CODE = 'def meet():\n    """R{}"""\n    return {}\n'
_CALLS = (*write("a.py", CODE.format(1, 1), "w1").calls, *write("README.md", "# Two values\n", "w0").calls)
WRITES = [Reply("ok", "", _CALLS), write("b.py", CODE.format(2, 2), "w2")]
BETTER = write("b.py", CODE.format(2, 4), "w3")
WRONG = write("b.py", CODE.format(2, 0), "w4")
"""meet() gives nothing, and the plan's check fails."""
ADVICE = "Improve what is worth improving of the following, then finish; this will not be asked again."


def differing(*names: str) -> Answer:
    return lambda asked: [verdict(name, "differs" if name in names else "meets") for name in asked]


def until_changed(names: Sequence[str]) -> Answer:
    """Finds these to differ the first time that it is asked."""
    seen = set[str]()

    def answer(asked: Sequence[str]) -> list[dict[str, Any]]:
        new = [name for name in asked if name in names and name not in seen]
        seen.update(asked)
        return [verdict(name, "differs" if name in new else "meets") for name in asked]

    return answer


def asked_of(reviewer: Judges) -> list[str]:
    """What the reviewer was asked for, in order."""
    return [text.rpartition("Judge ")[2].partition(". Reply")[0] for text in reviewer.requests]


def told_to(model: Scripted) -> list[str]:
    """What the last request of a model shows of refusals and advice, in order."""
    words = {ADVICE: "advice", 'attempt="1" of="4"': "refusal 1", 'attempt="2" of="4"': "refusal 2"}
    texts = [message.text for message in model.requests[-1].messages if message.role == "user"]
    return [name for text in texts for sign, name in words.items() if sign in text]


def journal_of(folder: Path) -> list[str]:
    return (folder / "journal.jsonl").read_text().splitlines()


def test_a_model_that_reviews_its_own_code_is_told_apart(tmp_path: Path) -> None:
    author, reviewer = says(*WRITES, DONE), Judges(meets)
    reviewer.name = author.name
    made = carry_out(tmp_path / "task", author, PLAN, judge=reviewer)["implementation"]
    assert made["verification"]["verified_by"] == ["own tests (2)", f"reviewer ({author.name}, which wrote the code)"]


# once


@pytest.mark.parametrize(
    ("answer", "after", "told", "status", "verified_by"),
    [
        pytest.param(meets, [], [], "completed", ["own tests (2)", "reviewer (tiny)"], id="there is nothing to advise"),
        pytest.param(differing("R2"), [DONE], ["advice"], "warning", ["own tests (2)"], id="it is not followed"),
        pytest.param(
            until_changed(["R2"]), [BETTER, DONE], ["advice"], "completed", ["own tests (2)", "reviewer (tiny)"],
            id="it is followed",
        ),
        pytest.param(differing("R1", "R2"), [BETTER, DONE], ["advice"], "warning", ["own tests (2)"], id="in part"),
        pytest.param(
            differing("R2"), [WRONG, DONE, BETTER, DONE], ["advice", "refusal 1"], "warning", ["own tests (2)"], id="facts break"
        ),
    ],
)  # fmt: skip
def test_advice_is_given_once_and_facts_alone_decide_after_it(
    answer: Answer, after: list[Reply], told: list[str], status: str, verified_by: list[str], tmp_path: Path
) -> None:
    model = says(*WRITES, DONE, *after)
    made = carry_out(tmp_path / "task", model, PLAN, judge=Judges(answer))["implementation"]
    assert (made["status"], made["stop_reason"], model.asked) == (status, "accepted", 3 + len(after))
    assert (told_to(model), made["verification"]["verified_by"]) == (told, verified_by)
    assert ("R2 differ" in made["reason"]) == (status == "warning")


@pytest.mark.parametrize(
    ("check", "after", "told"),
    [
        pytest.param("grep 4 b.py", [BETTER, DONE, DONE], ["refusal 1", "advice"], id="before the advice"),
        pytest.param("! grep 4 b.py", [BETTER, DONE, WRITES[1], DONE], ["advice", "refusal 1"], id="after it"),
        pytest.param("grep 4 b.py && ! grep x a.py", [BETTER, DONE, write("a.py", CODE.format(1, 1) + "x = 1\n", "w5"), DONE,
                     WRITES[0], DONE], ["refusal 1", "advice", "refusal 2"], id="before and after it"),
    ],
)  # fmt: skip
def test_hooks_of_the_user_refuse_before_and_after_the_advice_and_it_is_not_given_again(
    check: str, after: list[Reply], told: list[str], tmp_path: Path
) -> None:
    model = says(*WRITES, DONE, *after)
    hooks = mounting(item("own", check))
    made = carry_out(tmp_path / "task", model, PLAN, judge=Judges(differing("R1", "R2")), hooks=hooks)["implementation"]
    assert (made["stop_reason"], model.asked, told_to(model)) == ("accepted", 3 + len(after), told)
    assert "your hook user:own" in made["verification"]["verified_by"]


def test_no_one_is_advised_who_cannot_act_on_it(tmp_path: Path) -> None:
    model = Finite(*WRITES, DONE)
    made = carry_out(tmp_path / "task", model, PLAN, judge=Judges(differing("R2")))["implementation"]
    assert (made["status"], made["stop_reason"], model.asked) == ("warning", "accepted", 3)


class Finite(Scripted):
    """A recording, which says nothing after its last reply."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(lambda request: replies[request.turn - 1])
        self._most = len(replies)

    def is_over(self, thread: str, turn: int) -> bool:
        return turn > self._most


# over a kill, and over more attempts


def test_a_run_that_is_killed_at_any_step_is_advised_once_and_its_reviewer_paid_once(tmp_path: Path) -> None:
    script, straight = [*WRITES, DONE, DONE], tmp_path / "straight"
    documents = carry_out(straight, says(*script), PLAN, judge=Judges(differing("R2")))
    whole = journal_of(straight)
    first = next(number for number, row in enumerate(whole) if json.loads(row).get("kind") == "look")
    for cut in range(first, len(whole)):
        folder = tmp_path / f"cut{cut}"
        shutil.copytree(straight, folder, symlinks=True)
        (folder / "journal.jsonl").write_text("".join(f"{row}\n" for row in whole[:cut]))
        model, reviewer = says(*script), Judges(differing("R2"))
        again = carry_out(folder, model, PLAN, judge=reviewer)
        assert (journal_of(folder), again, reviewer.requests) == (whole, documents, []), cut
        assert not model.asked or told_to(model) == ["advice"], cut


def test_a_run_that_is_cut_off_before_the_model_acts_on_the_advice_goes_on_as_if_it_had_not_been(
    tmp_path: Path,
) -> None:
    answer, cut = until_changed(["R2"]), Reply("fatal", detail="cut")
    stopped, resumed = says(*WRITES, DONE, cut), says(*WRITES, DONE, BETTER, DONE)
    first, second = Judges(answer), Judges(answer)
    with pytest.raises(PhaseError, match="cut"):
        carry_out(tmp_path / "task", stopped, PLAN, judge=first)
    made = carry_out(tmp_path / "task", resumed, PLAN, judge=second)["implementation"]
    assert resumed.requests[0].messages == stopped.requests[-1].messages
    assert (made["status"], told_to(resumed)) == ("completed", ["advice"])
    assert (asked_of(first), asked_of(second)) == (["R1, R2, DELIVERY"], ["R2"])


def test_work_that_was_advised_accepted_and_broken_by_hand_is_mended_without_advice(tmp_path: Path) -> None:
    script = [*WRITES, DONE, DONE]
    carry_out(tmp_path / "task", says(*script), PLAN, judge=Judges(differing("R2")))
    (tmp_path / "task" / "generate_code" / "b.py").write_text(CODE.format(2, 0))
    model = says(*script, BETTER, DONE)
    hooks = mounting(most_continues=6)
    made = carry_out(tmp_path / "task", model, PLAN, judge=Judges(differing("R2")), hooks=hooks)["implementation"]
    assert (made["status"], made["stop_reason"], model.asked) == ("warning", "accepted", 2)
    told = [message.text for message in model.requests[-1].messages if message.role == "user"]
    assert sum(ADVICE in text for text in told) == 1
    assert sum("acceptance-feedback" in text for text in told) == 1


# what a second look costs


@pytest.mark.parametrize(
    ("after", "asked"),
    [
        pytest.param([DONE], ["R1, R2, DELIVERY"], id="nothing changed"),
        pytest.param([BETTER, DONE], ["R1, R2, DELIVERY", "R2"], id="what it found to differ"),
        pytest.param(
            [write("notes.md", "# A\n", "w5"), DONE], ["R1, R2, DELIVERY"], id="a file that is not reviewed"
        ),
        pytest.param([WRONG, DONE, BETTER, DONE], ["R1, R2, DELIVERY", "R2"], id="not while facts do not hold"),
        pytest.param(
            [BETTER, call("Bash", command="rm b.py"), WRITES[1], DONE],
            ["R1, R2, DELIVERY"],
            id="a change taken back",
        ),
    ],
)
def test_a_reviewer_looks_again_at_what_changed_and_at_nothing_else(
    after: list[Reply], asked: list[str], tmp_path: Path
) -> None:
    reviewer = Judges(until_changed(["R2"]))
    made = carry_out(tmp_path / "task", says(*WRITES, DONE, *after), PLAN, judge=reviewer)["implementation"]
    assert (made["stop_reason"], asked_of(reviewer)) == ("accepted", asked)
    assert ("reviewer (tiny)" in made["verification"]["verified_by"]) == (len(asked) > 1)


# what a resume sends


def is_heard(request: Request) -> bool:
    """Whether a request ends with something to act on, and no message of it is empty."""
    texts = [message.text.strip() for message in request.messages if message.role == "user"]
    return all(texts) and request.messages[-1].role != "assistant"


SILENT = [*WRITES[:1], Reply("ok", ""), Reply("malformed", detail="half"), *WRITES[1:], DONE, DONE]


@pytest.mark.parametrize(
    ("script", "edit", "most", "requests"),
    [
        pytest.param(WRITES[:1], None, 6, 1, id="more attempts on the same tree"),
        pytest.param(WRITES[:1], ("a.py", "A = 3\n"), 6, 3, id="more attempts after an edit"),
        pytest.param([*WRITES, DONE, DONE], ("b.py", "B = 3\n"), 6, 3, id="accepted work that an edit broke"),
        pytest.param([*WRITES, DONE, DONE], ("b.py", "B = (\n"), 3, 0, id="an edit, and no more attempts"),
        pytest.param([*WRITES, DONE, DONE], None, 6, 0, id="nothing to do"),
    ],
)
def test_a_run_that_goes_on_tells_the_model_why(
    script: list[Reply], edit: tuple[str, str] | None, most: int, requests: int, tmp_path: Path
) -> None:
    carry_out(tmp_path / "task", says(*script), PLAN, judge=Judges(differing("R2")))
    if edit:
        (tmp_path / "task" / "generate_code" / edit[0]).write_text(edit[1])
    model, hooks = says(*script), mounting(most_continues=most)
    carry_out(tmp_path / "task", model, PLAN, judge=Judges(differing("R2")), hooks=hooks)
    assert (model.asked, [*map(is_heard, model.requests)]) == (requests, [True] * requests)
    assert all("acceptance-feedback" in request.messages[-1].text for request in model.requests)


@pytest.mark.parametrize("supervisor", ["off", pytest.param("auto", marks=pytest.mark.slow)])
def test_a_run_that_is_cut_off_at_any_turn_never_sends_the_model_nothing(supervisor: str, tmp_path: Path) -> None:
    for cut in range(1, len(SILENT) + 1):
        model, replies = says(*SILENT), [*SILENT[: cut - 1], Reply("fatal", detail="cut")]
        with pytest.raises(PhaseError, match="cut"):
            carry_out(tmp_path / f"{cut}", says(*replies), PLAN, judge=Judges(differing("R2")), supervisor=supervisor)
        carry_out(tmp_path / f"{cut}", model, PLAN, judge=Judges(differing("R2")), supervisor=supervisor)
        assert (model.requests[0].turn, all(map(is_heard, model.requests))) == (cut, True), cut
