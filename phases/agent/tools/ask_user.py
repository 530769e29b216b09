"""AskUser: ask the person at the terminal; without an answer, record the model's choice as an assumption."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from phases.agent.tools.toolbox import Tool, ToolKind, ToolResult, object_schema
from pipeline.base.text_escaping import one_line

MOST_QUESTIONS = 3
"""Questions in one run, resumes included."""
USER, ASSUMED = "user", "assumed"
Ask = Callable[[str, Sequence[str]], str | None]
"""Takes a question and options; returns the answer, or None."""
_TEXT = {"type": "string", "minLength": 1, "maxLength": 500}


def ask_user_tool(ask: Ask, asked_before: Callable[[], Sequence[Mapping[str, Any]]]) -> Tool:
    """Return AskUser. `asked_before` returns the earlier questions: questions_in()."""
    return Tool(
        "AskUser",
        "Asks the user one question. The first option is what you would take, and what counts without an answer: "
        '{"question": "Which logarithm is meant?", "options": ["natural", "base 2"]}',
        object_schema(
            {"question": _TEXT, "options": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 4}},
        ),
        partial(_answer, ask, asked_before),
        ToolKind.NEUTRAL,
    )


def _answer(
    ask: Ask, asked_before: Callable[[], Sequence[Mapping[str, Any]]], *, question: str, options: Sequence[str]
) -> ToolResult:
    before, question = asked_before(), one_line(question, 500)
    row = next((row for row in before if _key(row["question"]) == _key(question)), None)
    if row is None:
        may_ask = sum(row["by"] == USER for row in before) < MOST_QUESTIONS
        given = ask(question, options) if may_ask else None
        answer, by = (given, USER) if given is not None else (options[0], ASSUMED)
        row = {"question": question, "options": list(options), "answer": one_line(answer, 500), "by": by}
    if row["by"] == USER:
        return ToolResult(f"the user says: {row['answer']}", asked=row)
    return ToolResult(
        f"there is no answer; take this, which the report lists as an assumption: {row['answer']}", asked=row
    )


def questions_in(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each question in the journal once, with its answer."""
    asked = (row["result"]["asked"] for row in rows if row["kind"] == "result" and "asked" in row["result"])
    return list({_key(row["question"]): dict(row) for row in asked}.values())


def _key(question: str) -> str:
    return " ".join(question.lower().split())
