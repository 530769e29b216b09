"""`--batch-prices`: planning and judging at OpenAI's flex tariff, paid at what the reply says it was made at; never the code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from phases.llm.ledger_rows import read_ledger
from phases.llm.model import Model
from phases.llm.providers import PROVIDERS, Access
from phases.llm.server_model import Timing, open_server_model
from tests.llm.test_agent_models import ASK
from tests.llm_server import LlmServer, Says, Status, always, error_body
from tests.papers import PAPER, Command, paper, read

KEY = "sk-test-0123456789-0123456789"
COUNTED = Says("fine", tokens_in=1_000_000, tokens_out=100_000)
FULL, APIS = 2.5 + 1.0, ["chat", "responses"]
"""What those tokens cost of gpt-4o, in dollars."""


def served(server: LlmServer, api: str, *, flex: bool = True) -> Model:
    access = Access(server.base_url, "", {"OPENAI_API_KEY": KEY}, 100_000, openai_api=api, flex=flex)
    return open_server_model("openai:gpt-4o", PROVIDERS["openai"], access, timing=Timing(lambda seconds: None))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("tier", "paid"), [("flex", FULL / 2), ("default", FULL), ("", FULL)])
def test_a_reply_costs_what_its_own_tariff_says(api: str, tier: str, paid: float) -> None:
    with LlmServer(replace(COUNTED, tier=tier)) as server:
        reply = served(server, api).ask(ASK)
        assert server.requests[0].body["service_tier"] == "flex"
    assert reply.usd == pytest.approx(paid)


@pytest.mark.parametrize("api", APIS)
def test_a_model_without_that_tariff_is_asked_at_the_usual_one(api: str) -> None:
    refusal = Status(400, error_body("Invalid service_tier argument: flex is not available for this model."))
    with LlmServer(refusal, replace(COUNTED, tier="default"), replace(COUNTED, tier="default")) as server:
        model = served(server, api)
        assert [model.ask(ASK).usd, model.ask(ASK).usd] == pytest.approx([FULL, FULL])
        assert ["service_tier" in request.body for request in server.requests] == [True, False, False]


@pytest.mark.parametrize("api", APIS)
def test_who_does_not_ask_for_it_is_sent_nothing_of_it(api: str) -> None:
    with LlmServer(COUNTED) as server:
        served(server, api, flex=False).ask(ASK)
        assert "service_tier" not in server.requests[0].body


def test_where_there_is_no_room_now_it_is_waited_for_and_nothing_is_paid() -> None:
    busy = Status(429, error_body("Resource Unavailable", "resource_unavailable", "requests"))
    with LlmServer(busy, busy, replace(COUNTED, tier="flex")) as server:
        assert served(server, "chat").ask(ASK).usd == pytest.approx(FULL / 2)
        assert server.asked == 3


@pytest.mark.slow
def test_planning_is_asked_at_that_tariff_and_the_code_is_not_and_the_ledger_has_the_price(tmp_path: Path) -> None:
    paper(tmp_path, PAPER)
    command = Command(tmp_path)
    plan = Says(json.dumps(read(PAPER).plan), piece=900, tier="flex", tokens_in=100_000, tokens_out=10_000)
    with LlmServer(plan, always(Says("I am done."))) as server:
        names = ("--plan-model", "openai:gpt-4o", "--code-model", "openai:gpt-4o", "--review", "auto", "--unsandboxed")
        more = {"PIPELINE_OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
        command("run", "--fast", "paper.md", *names, "--batch-prices", "--max-acceptance-continues", "0", **more)
        tiers = [request.body.get("service_tier") for request in server.requests]
    assert tiers[0] == "flex"
    assert set(tiers[1:]) == {None}
    rows = read_ledger(str(command.task("paper") / "logs" / "llm.jsonl"))
    assert next(row["usd"] for row in rows if row["thread"] == "plan") == pytest.approx((0.25 + 0.1) / 2)


def test_a_vendor_without_such_a_tariff_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    paper(tmp_path, PAPER)
    ended = Command(tmp_path)("run", "paper.md", "--plan-model", "anthropic:claude-fable-5", "--batch-prices")
    assert ended.code == 2
    assert "--batch-prices: anthropic:claude-fable-5 cannot be asked at such a price" in ended.err
