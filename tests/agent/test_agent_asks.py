"""AskUser: a person is asked once and at most three times a run, the journal answers a resume, and the rest are assumptions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phases.agent.implement import implement_plan
from phases.llm.model import Reply, Request, ToolCall
from pipeline.base.errors import PhaseError
from tests.agents import Scripted, assignment_in, small_plan
from tests.llm_server import Answer, LlmServer, Says, call
from tests.papers import PAPER, Command, in_terminal, paper

OPTIONS = ["natural", "base 2"]


def asks(*questions: str, cut: int = 0) -> Scripted:
    """Writes the file, then asks one question a turn; `cut`: the turn at which it cannot go on."""

    def answer(request: Request) -> Reply:
        turn = request.turn
        if turn == cut:
            return Reply("fatal", detail="cut")
        if turn == 1:
            return Reply("ok", "", (ToolCall("w", "Write", {"file_path": "a.py", "content": "A = 1\n"}),))
        if turn <= len(questions) + 1:
            arguments = {"question": questions[turn - 2], "options": OPTIONS}
            return Reply("ok", "", (ToolCall(f"q{turn}", "AskUser", arguments),))
        return Reply("ok", "done")

    return Scripted(answer)


class Person:
    """Answers with the second option; `away`: does not answer."""

    def __init__(self, *, away: bool = False) -> None:
        self.away, self.heard = away, list[str]()

    def __call__(self, question: str, options: Sequence[str]) -> str | None:
        self.heard.append(question)
        return None if self.away else options[1]


def run(folder: Path, model: Scripted, person: Person) -> Any:
    work = assignment_in(folder, small_plan("a.py"))._replace(ask=person)
    return implement_plan(work, model, lambda done, total, text: None)["implementation"]["questions"]


def test_a_person_is_asked_once_and_at_most_three_times_and_then_the_first_option_is_assumed(tmp_path: Path) -> None:
    person, model = Person(), asks("log?", "sum?", "LOG?  ", "mean?", "norm?")
    rows = run(tmp_path, model, person)
    assert person.heard == ["log?", "sum?", "mean?"]
    assert [(row["question"], row["answer"], row["by"]) for row in rows] == [
        ("log?", "base 2", "user"),
        ("sum?", "base 2", "user"),
        ("mean?", "base 2", "user"),
        ("norm?", "natural", "assumed"),
    ]
    told = [message.text for message in model.requests[-1].messages if message.role == "tool"]
    assert told[-5:-2] == ["the user says: base 2"] * 3
    assert told[-1] == "there is no answer; take this, which the report lists as an assumption: natural"


def test_where_nobody_is_there_every_answer_is_an_assumption(tmp_path: Path) -> None:
    rows = run(tmp_path, asks("log?", "sum?"), Person(away=True))
    assert [(row["answer"], row["by"], row["options"]) for row in rows] == [("natural", "assumed", OPTIONS)] * 2


def test_a_resume_asks_nobody_again_and_counts_what_was_asked_before(tmp_path: Path) -> None:
    questions, person = ("log?", "sum?", "mean?", "norm?"), Person()
    with pytest.raises(PhaseError, match="cut"):
        run(tmp_path, asks(*questions, cut=4), person)
    rows = run(tmp_path, asks(*questions), person)
    assert person.heard == ["log?", "sum?", "mean?"]
    assert [row["by"] for row in rows] == ["user"] * 3 + ["assumed"]


@pytest.mark.parametrize(
    "arguments", [{"question": "log?"}, {"question": "log?", "options": ["one"]}, {"options": OPTIONS}]
)
def test_a_question_without_options_is_refused(tmp_path: Path, arguments: dict[str, Any]) -> None:
    script = (Reply("ok", "", (ToolCall("q", "AskUser", arguments),)), Reply("ok", "done"))
    model, person = Scripted(lambda request: script[min(request.turn, 2) - 1]), Person()
    assert run(tmp_path, model, person) == []
    assert person.heard == []
    assert "AskUser cannot take these arguments" in model.requests[1].messages[-1].text


def answers(body: dict[str, Any]) -> Answer:
    told = [message for message in body["messages"] if message["role"] == "tool"]
    return (
        Says("I am done.") if told else Says(calls=(call("AskUser", question="Which \x1b[31mlog?", options=OPTIONS),))
    )


@pytest.mark.parametrize(
    ("typed", "flags", "said"),
    [
        pytest.param(("approve", "2"), (), ("base 2", "user"), id="a number"),
        pytest.param(("approve", "of Napier"), (), ("of Napier", "user"), id="own words", marks=pytest.mark.slow),
        pytest.param(("approve", ""), (), ("natural", "assumed"), id="no answer", marks=pytest.mark.slow),
        pytest.param((), ("--review", "auto"), ("natural", "assumed"), id="nobody is to be asked"),
    ],
)
def test_the_person_at_the_terminal_is_asked_and_the_report_has_the_answer(
    tmp_path: Path, typed: Sequence[str], flags: Sequence[str], said: tuple[str, str]
) -> None:
    paper(tmp_path, PAPER)
    command = Command(tmp_path)
    with LlmServer(answers) as server:
        served = ("--code-model", "vllm:tiny", "--base-url", server.base_url, "--context-tokens", "100000")
        more = ("--max-acceptance-continues", "0", "--unsandboxed")
        screen = in_terminal(command, "run", "--fast", "paper.md", *served, *more, *flags, answers=typed)
    assert ("The model asks: Which" in screen.text) == bool(typed)
    assert "\x1b[31mlog" not in screen.text
    (row,) = json.loads((command.task("paper") / "report.json").read_text())["questions"]
    assert (row["answer"], row["by"]) == said
    assert ("assumed: Which" in screen.text) == (said[1] == "assumed")
