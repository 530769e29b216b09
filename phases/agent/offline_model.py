"""The model without a model: rules that turn a plan into an honest scaffold. No network, no key, no cost.

It drives the same loop as any other model. What it writes runs, and says of itself what is only a stub.
"""

from __future__ import annotations

from typing import Any

from phases.agent.prompt import parse_first_messages
from phases.agent.scaffold import scaffold_text
from phases.llm.model import Reachability, Reply, Request, ToolCall


# Not an adapter of llm/: it answers by reading the agent's own prompt (decision 142).
class OfflineModel:
    """Writes one planned file a turn, in the plan's order, and then says what it did not do."""

    name = "offline"
    detail = "rules, no network"
    window = 10**9
    secrets: tuple[str, ...] = ()
    priced = True
    reports_cost = False

    def __init__(self) -> None:
        self._told = b""
        self._plan: dict[str, Any] = {}
        self._write: list[str] = []

    def ask(self, request: Request) -> Reply:
        if request.messages[1].digest != self._told:
            self._told = request.messages[1].digest
            self._plan, self._write = parse_first_messages(request.messages)
        if request.turn > len(self._write):
            return Reply("ok", "The scaffold is written. What the plan demands beyond values is a stub.")
        path = self._write[request.turn - 1]
        arguments = {"file_path": path, "content": scaffold_text(self._plan, path)}
        return Reply("ok", "", (ToolCall(f"write-{request.turn}", "Write", arguments),))

    def is_over(self, thread: str, turn: int) -> bool:
        return turn > len(self._write) + 1

    def check(self) -> Reachability:
        return Reachability(True, self.detail)

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0
