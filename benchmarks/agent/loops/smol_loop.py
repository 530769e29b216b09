"""smolagents: its ToolCallingAgent, in memory."""

from __future__ import annotations

import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from canned import OUTPUT, SYSTEM, TEXT, TURNS, Clock
from smolagents import LogLevel, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

CLOCK = Clock()


@tool
def look(number: int) -> str:
    """Shows a file.

    Args:
        number: which one
    """
    return OUTPUT


class Canned(Model):
    def generate(self, messages: list[Any], **options: Any) -> ChatMessage:
        turn = CLOCK.tick()
        name, arguments = ("final_answer", {"answer": "ok"}) if turn >= TURNS else ("look", {"number": turn})
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        calls = [ChatMessageToolCall(id=f"c{turn}", type="function", function=function)]
        return ChatMessage(role=MessageRole.ASSISTANT, content=TEXT, tool_calls=calls)


agent = ToolCallingAgent(
    tools=[look], model=Canned(), instructions=SYSTEM, max_steps=TURNS + 5, verbosity_level=LogLevel.OFF
)
agent.run("read the file")
CLOCK.tell()
