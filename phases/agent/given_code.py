"""Stands for the model where nobody writes: the code is judged as it is, and no call is made."""

from __future__ import annotations

from phases.llm.model import Reachability, Reply, Request

NAME = "given"


class GivenCode:
    """Says at once that the work is done, and nothing to a refusal. `name`: who wrote the code, as its journal has it."""

    detail = "judges code that is there, no network"
    window = 10**9
    secrets: tuple[str, ...] = ()
    priced = True
    reports_cost = False

    def __init__(self, name: str = NAME) -> None:
        self.name = name

    def ask(self, request: Request) -> Reply:
        return Reply("ok", "The code is as it was given.")

    def is_over(self, thread: str, turn: int) -> bool:
        return turn > 1

    def check(self) -> Reachability:
        return Reachability(True, self.detail)

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0
