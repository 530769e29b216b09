"""The cap is a cap: no run spends more, whatever its replies turn out to cost, and a cap with some room costs no run its end."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from phases.llm.conversation import Conversation
from phases.llm.journal import Journal
from phases.llm.ledger import Ledger
from phases.llm.model import OK, TRANSIENT, TRUNCATED, Message, Reply, Request
from phases.llm.server_model import ask_patiently
from pipeline.base.errors import Paused, PhaseError
from tests.agents import Scripted

TURNS, RUNS = 12, 25
IN, WRITTEN, CACHED, OUT = 3e-6, 3.75e-6, 0.3e-6, 15e-6


class Vendor(Scripted):
    """Counts tokens in its own way, caches or not, thinks long or short; and breaks off at the room that it is given."""

    def __init__(self, seed: int) -> None:
        super().__init__(self._answer)
        self._chance = random.Random(seed)
        self._density = self._chance.uniform(0.6, 1.1)
        self.billed = 0.0

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return tokens_in * IN + tokens_out * OUT

    def dearest(self, tokens_in: int) -> float:
        return tokens_in * WRITTEN

    def _answer(self, request: Request) -> Reply:
        asked = sum(message.tokens for message in request.messages)
        tokens_in = int(asked * self._density * self._chance.uniform(0.97, 1.0))
        wanted = int(self._chance.lognormvariate(6.5, 0.7))
        out, outcome = min(wanted, request.most_tokens), OK if wanted <= request.most_tokens else TRUNCATED
        cached = int(tokens_in * self._chance.choice([0, 0.5, 0.9]))
        usd = cached * CACHED + (tokens_in - cached) * self._chance.choice([IN, WRITTEN]) + out * OUT
        self.billed += usd
        return Reply(outcome, "x" * 3 * min(out, 2_000), (), tokens_in, cached, out, usd)


def run(folder: Path, seed: int, cap: float) -> tuple[float, bool]:
    """What a run is billed under a cap (0: none), and whether it came to its end."""
    (folder / "task" / "logs").mkdir(parents=True)
    model = Vendor(seed)
    ledger = Ledger(str(folder / "task" / "logs" / "llm.jsonl"), {"max_usd": cap} if cap else {})
    talk = Conversation(
        model, Journal(str(folder / "task" / "journal.jsonl"), {"thread": "implement"}), ledger, "implement"
    )
    messages = [Message("system", "Do it."), Message("user", "A paper. " * 2_000)]
    try:
        for _ in range(TURNS):
            reply = talk.ask(messages, digest="d")
            messages += [Message("assistant", reply.text), Message("user", "A result. " * 100)]
    except (Paused, PhaseError):
        return model.billed, False
    return model.billed, True


@pytest.mark.slow
def test_two_hundred_random_caps_are_never_passed_with_the_call_in_flight(tmp_path: Path) -> None:
    chance, ended = random.Random(20), 0
    true = {seed: run(tmp_path / f"true-{seed}", seed, 0.0)[0] for seed in range(RUNS)}
    for number in range(200):
        seed = number % RUNS
        cap = round(true[seed] * chance.uniform(0.005, 1.2), 6)
        billed, whole = run(tmp_path / str(number), seed, cap)
        assert billed <= cap + 1e-9, f"run {number}: {billed} of {cap}"
        ended += whole
    assert 0 < ended < 200


def test_at_one_and_a_half_times_the_true_cost_runs_end_as_without_a_cap(tmp_path: Path) -> None:
    same = 0
    for seed in range(100, 160):
        true, whole = run(tmp_path / f"true-{seed}", seed, 0.0)
        assert whole
        billed, whole = run(tmp_path / f"capped-{seed}", seed, 1.5 * true)
        same += int(whole and math.isclose(billed, true))
    assert same >= 57, f"{same} of 60"


def test_tries_that_were_charged_and_gave_nothing_count_before_the_next_one() -> None:
    broken = Reply(TRANSIENT, "half", (), 100, 0, 100, 0.4)
    asked: list[Request] = []

    def ask(request: Request) -> Reply:
        asked.append(request)
        return broken

    for left, tries in ((0.5, 1), (0.95, 2), (0.0, 4)):
        asked.clear()
        reply = ask_patiently(ask, Request((), most_usd=left, worst_usd=0.5), sleep=lambda seconds: None)
        assert len(asked) == tries
        assert reply.usd == pytest.approx(0.4 * tries)
