"""The prompts as they are sent for the example, and the book that says why each sentence is there.

`python -m tests.agent.test_prompt_book` writes golden_prompts.txt and golden_planner.txt again and prints the tokens of the
planning prompts, as the program estimates them; look at the difference before you commit it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phases.agent import explore, prompt, review_question
from phases.agent.memory import Memory
from phases.agent.session import Session, order_files
from phases.agent.tools.ask_user import ask_user_tool
from phases.agent.tools.commands import bash_tool, job_tool
from phases.agent.tools.files import file_tools
from phases.agent.tools.search import search_tools
from phases.agent.tools.todos import todo_tool
from phases.agent.tools.toolbox import Notes
from phases.llm.model import Message
from phases.planning.model.material import paper_material
from phases.planning.model.plan_steps import empty_plan, step_question
from phases.planning.model.prompt import (
    ChangeRequest,
    mending_message,
    planning_messages,
    reading_messages,
    refusal_message,
)
from phases.reproduction import attempts
from phases.workspace.jobs import Jobs, JobState
from phases.workspace.workspace import Workspace
from pipeline.engine.contract import Contracts
from tests.agents import small_plan
from tests.papers import EXAMPLE, example_paper

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).with_name("golden_prompts.txt")
PLANNER = GOLDEN.with_name("golden_planner.txt")
FIRST = "averaged_perceptron/averages.py"
"""Of the example's files the one with the algorithms."""
MACHINE = {"python": "3.12.1", "system": "Linux x86_64", "cores": 4}
BOOK = (ROOT / "docs" / "prompts.md").read_text(encoding="utf-8").replace("\n>", "\n")


def flat(text: str) -> str:
    return " ".join(text.split())


PAPER = prompt.build_system({"language": "Python", "expected_results": ["E1"]}, has_references=True)
DELIVERED = f"{review_question.OF_ALL} {review_question.OF_PAPER} {review_question.OF_EXPERIMENTS}"
REQUEST = prompt.build_system({"language": "JavaScript"}, is_request=True)


@pytest.mark.parametrize(
    "text",
    [PAPER, REQUEST, explore._SYSTEM, review_question.SYSTEM, DELIVERED, attempts.WHAT_NEXT],
    ids=["a paper", "a request", "a sub-agent", "the judge", "the delivery", "the tables"],
)
def test_every_sentence_stands_in_the_book(text: str) -> None:
    book = flat(BOOK)
    parts = [part for part in re.split(r"\n- |\n\n", text) if part.strip()]
    sentences = [one for part in parts for one in re.split(r"(?<=[.;:]) ", flat(part))]
    assert [one for one in sentences if one not in book] == []


def rendered() -> str:
    """What is sent for the example's file with the algorithms; the plan is left out, since it stands in plan.yaml."""
    plan: dict[str, Any] = Contracts().parse(
        "initial_plan.txt", EXAMPLE.with_name("plan.yaml").read_bytes(), writer="a person"
    )
    nowhere = Workspace("/nowhere")
    bash = bash_tool(lambda command, seconds: (0, ""), start=lambda command: JobState(1, command))
    tools = [*file_tools(nowhere, Notes()), *search_tools(nowhere), bash, job_tool(Jobs(""), lambda: 0)]
    asks = ask_user_tool(lambda question, options: None, list)
    schemas = [tool.schema() for tool in (*tools, todo_tool(tuple), asks)]
    files = tuple(order_files(plan))
    files = files[files.index(FIRST) :]
    begun = Session(None, files, files, {}, {}, (), 200_000, None, MACHINE)  # type: ignore[arg-type]
    system, first, *step = Memory(plan, begun, schemas, paper=example_paper().document.text).messages()
    told = {**json.loads(first.text), "plan": "as in plan.yaml"}
    parts = [system.text, json.dumps(told, indent=1, ensure_ascii=False), *(message.text for message in step)]
    parts += [json.dumps(schema, ensure_ascii=False) for schema in schemas]
    return "\n\n--------\n\n".join(part.replace("\\n", "\n") for part in parts) + "\n"


def planner_messages() -> dict[str, list[Message]]:
    """What a planner is sent for the example, but for the paper's text: the plan, a change of it, a request, notes on a part."""
    read = example_paper()
    paper = paper_material(read.document, read.outline, read.index["segments"])
    paper = replace(paper, tools="Python 3.12.1, node 20.1.0")
    wanted = ChangeRequest(("report the median too",), "THE PRESENT PLAN")
    return {
        "a paper": list(planning_messages(paper, ChangeRequest(), "THE TEXT", 16_384)),
        "a change": [planning_messages(paper, wanted, "THE NOTES", 16_384, notes=True)[-1]],
        "a request": list(planning_messages(replace(paper, is_request=True), ChangeRequest(), "THE REQUEST", 16_384)),
        "notes on a part": list(reading_messages(paper, "A PART OF THE TEXT", 2, 3, 900)),
    }


def rendered_planner() -> str:
    """The planning messages for the example, and the repairs."""
    told = [message for messages in planner_messages().values() for message in messages]
    row = {"id": "R1", "text": "…", "source": {"section": "2", "page": 3, "quote": "not there"}}
    repairs = [
        refusal_message(["verify_commands is empty"]),
        mending_message([row], {"R1": "page 3 does not say that"}, []),
        mending_message(
            [],
            {},
            ["validation_approach: the check 'pytest | tail' hides how it ended: a pipe ends as its last command does"],
        ),
        step_question([Message("user", "…")], 3, {**empty_plan(), "requirements": [row]}, 1_000)[-1].text,
    ]
    return "\n\n--------\n\n".join([*(message.text for message in told), *repairs]) + "\n"


@pytest.mark.parametrize(
    ("golden", "render"),
    [(GOLDEN, rendered), pytest.param(PLANNER, rendered_planner, marks=pytest.mark.slow)],
    ids=["agent", "planner"],
)
def test_what_is_sent_for_the_example_is_as_it_was_reviewed(golden: Path, render: Callable[[], str]) -> None:
    assert render() == golden.read_text(encoding="utf-8")


def test_the_algorithms_that_the_file_cites_are_in_it_whole() -> None:
    told = rendered()
    assert "What these requirements cite of the paper, whole" in told
    assert told.count("Algorithm 1") > 1, "not in the requirement's words alone"


def test_a_request_is_sent_whole_and_nothing_is_said_of_papers_and_pytest() -> None:
    wish = "# Words\n\nWrite a page that counts words.\n\nIt must show the count while one types."
    plan = {**small_plan("words.js"), "language": "JavaScript"}
    begun = Session(None, ("words.js",), ("words.js",), {}, {}, (), 200_000, None, MACHINE)  # type: ignore[arg-type]
    messages = Memory(plan, begun, [], paper=f"---\nkind: requirement\n---\n<!-- page 1 -->\n\n{wish}\n").messages()
    system, first, *step = (message.text for message in messages)
    assert json.loads(first)["request"] == wish
    told = " ".join([system, *step])
    assert [
        word for word in ("paper", "equation", "pytest", "--help", "Python", "experiments.yaml") if word in told
    ] == []


if __name__ == "__main__":
    GOLDEN.write_text(rendered(), encoding="utf-8")
    PLANNER.write_text(rendered_planner(), encoding="utf-8")
    for about, messages in planner_messages().items():
        told = {message.role: message.tokens for message in messages}
        print(f"planning, {about}: {sum(told.values())} tokens without the text {told}")
