"""openai-agents: its Runner; with `save` the history in its SQLiteSession, on the disk."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool
from canned import OUTPUT, SYSTEM, TEXT, TURNS, Clock
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

CLOCK = Clock()


@function_tool
async def look(number: int) -> str:
    return OUTPUT


class Canned(Model):
    async def get_response(self, *arguments: Any, **options: Any) -> ModelResponse:
        turn = CLOCK.tick()
        said = ResponseOutputText(text=TEXT, type="output_text", annotations=[])
        output: list[Any] = [
            ResponseOutputMessage(id=f"m{turn}", type="message", role="assistant", status="completed", content=[said])
        ]
        if turn < TURNS:
            called = f'{{"number": {turn}}}'
            output.append(
                ResponseFunctionToolCall(
                    id=f"f{turn}", call_id=f"c{turn}", type="function_call", name="look", arguments=called
                )
            )
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError


folder = tempfile.mkdtemp(dir=os.environ.get("BENCH_FOLDER"))
session = SQLiteSession("one", f"{folder}/session.db") if "save" in sys.argv else None
Runner.run_sync(
    Agent(name="a", instructions=SYSTEM, model=Canned(), tools=[look]),
    "read the file",
    max_turns=TURNS + 5,
    session=session,
)
CLOCK.tell()
