"""What a run will cost is said before it is paid for: within a factor of two, once earlier tasks have shown what work costs."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from phases.agent.implement import expected_work
from phases.llm.estimate import FILE, Past, Work, expected_usd, learn, price_work
from phases.llm.ledger_rows import read_ledger
from phases.llm.model import Reply, Request, ToolCall
from phases.llm.prices import UNKNOWN
from tests.agents import Scripted, carry_out, small_plan
from tests.llm_server import LlmServer, Says, always
from tests.papers import Command, paper

IN, WRITTEN, CACHED, OUT = 3e-6, 3.75e-6, 0.3e-6, 15e-6
LEARNT, UNSEEN = range(6), range(100, 110)


class Vendor(Scripted):
    """A model that thinks, counts tokens its own way, writes files of any length and looks through them; with a prompt cache.
    How it works is its own; how a project goes is chance.
    """

    def __init__(self, seed: int, files: list[str], name: str = "vendor:thinks", thinks: float = 2.5) -> None:
        super().__init__(self._answer)
        self.name, self._thinks, self._chance, self._before = name, thinks, random.Random(seed), 0.0
        self._density, self._left = self._chance.uniform(0.7, 0.8), [*files]
        self._repairs = self._chance.randrange(1, 6)

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return tokens_in * IN + tokens_out * OUT

    def _answer(self, request: Request) -> Reply:
        calls, chance = list[ToolCall](), self._chance
        for path in [self._left.pop(0) for _ in self._left[:5]]:
            lines = round(chance.lognormvariate(4.2, 0.6))
            text = "".join(f"value_{number} = {number}  # as the paper says\n" for number in range(lines))
            calls.append(ToolCall(f"w{path}", "Write", {"file_path": path, "content": text}))
        if not calls and self._repairs:
            self._repairs -= 1
            calls = [ToolCall("g", "Grep", {"pattern": f"value_{self._repairs}"})]
        size = sum(message.tokens for message in request.messages) * self._density
        cached, self._before = min(self._before, size), size
        said = sum(len(json.dumps(dict(call.arguments))) for call in calls) / 4 + 20
        out = said + self._thinks * chance.lognormvariate(5.5, 0.6)
        usd = cached * CACHED + (size - cached) * WRITTEN + out * OUT
        calls = [ToolCall(f"{call.id}-{request.turn}", call.name, call.arguments) for call in calls]
        return Reply("ok", "" if calls else "done", tuple(calls), int(size), int(cached), int(out), usd)


def run(tasks: Path, seed: int, **more: Any) -> tuple[float, float]:
    """One task: what was expected, and what it came to."""
    chance, folder = random.Random(1000 + seed), tasks / str(seed)
    files = [f"part{number}.py" for number in range(chance.randrange(4, 25))]
    plan = small_plan(*files)
    for row in plan["file_structure"]:
        row["purpose"] = "what it is for " * chance.randrange(2, 30)
    model = Vendor(seed, files, **more)
    carry_out(folder, model, plan)
    ledger = str(folder / "logs" / "llm.jsonl")
    told = [json.loads(line) for line in (folder / "logs" / FILE).read_text().splitlines()]
    work = Work(*(told[0][name] for name in Work._fields))
    expected = expected_usd(work, model, learn(ledger, "implement"))
    report = {"status": "completed", "phases": [{"name": "implement", "status": "done"}]}
    (folder / "report.json").write_text(json.dumps(report))
    return float(expected or 0.0), sum(row["usd"] for row in read_ledger(ledger))


@pytest.mark.parametrize(
    ("files", "plan_tokens", "turns", "read", "wrote"),
    [(25, 15_100, 5, 114_436, 26_218), (18, 15_159, 6, 134_063, 22_247), (10, 4_506, 3, 47_069, 11_553)],
    ids=["a paper of 7 pages, 12 modules", "a paper of 4 pages", "a page in HTML, CSS and JavaScript"],
)
def test_the_rule_of_thumb_gives_what_live_runs_took(
    files: int, plan_tokens: int, turns: int, read: int, wrote: int
) -> None:
    """Without a task to learn from: a run is expected within a third of what it takes."""
    names = [f"part{number}.py" for number in range(files)]
    expected = expected_work({"text": "x" * 3 * plan_tokens}, names, is_reviewed=False)
    for figure, true in ((expected.turns, turns), (expected.tokens_in, read), (expected.tokens_out, wrote)):
        assert true / 1.33 <= figure <= true * 1.33, (figure, true)


@pytest.mark.parametrize(
    ("files", "plan_tokens", "read", "wrote"), [(18, 15_159, 36_506, 2_200), (10, 4_506, 13_867, 1_033)]
)
def test_the_look_of_a_reviewer_is_in_the_estimate(files: int, plan_tokens: int, read: int, wrote: int) -> None:
    plan, names = {"text": "x" * 3 * plan_tokens}, [f"part{number}.py" for number in range(files)]
    alone, reviewed = (expected_work(plan, names, is_reviewed=given) for given in (False, True))
    assert reviewed.turns == alone.turns + 1
    for figure, true in ((reviewed.tokens_in - alone.tokens_in, read), (reviewed.tokens_out - alone.tokens_out, wrote)):
        assert true / 1.5 <= figure <= true * 1.5, (figure, true)


@pytest.mark.slow
def test_ten_runs_that_it_did_not_learn_from_are_estimated_within_a_factor_of_two(tmp_path: Path) -> None:
    for seed in LEARNT:
        run(tmp_path / "tasks", seed)
    ratios = []
    for seed in UNSEEN:
        expected, true = run(tmp_path / "tasks", seed)
        shutil.rmtree(tmp_path / "tasks" / str(seed))  # nothing is learnt from it
        ratios.append(expected / true)
    print("expected / true:", " ".join(f"{ratio:.2f}" for ratio in sorted(ratios)))
    assert all(0.5 <= ratio <= 2 for ratio in ratios), ratios


@pytest.mark.slow
def test_what_another_model_came_to_is_learnt_from_by_its_tokens(tmp_path: Path) -> None:
    for seed in LEARNT:
        run(tmp_path / "tasks", seed)
    expected, true = run(tmp_path / "tasks", 100, name="vendor:other")
    assert 0.3 <= expected / true <= 3


def past(**more: Any) -> Past:
    return Past(**{"model": "a:b", "usd": 2.0, "tokens_in": 1.0, "tokens_out": 1.0, "cached": 0.0, **more})


class Priced(Scripted):
    name = "a:b"

    def __init__(self) -> None:
        super().__init__(lambda request: Reply("ok", "x"))


def test_the_line_says_what_it_rests_on() -> None:
    work, model = Work("implement", 12, 900_000, 100_000), Priced()

    def line(*past: Past) -> str:
        price = price_work(work, model, past)
        return price.text if price else ""

    cost = "≈ 1,000,000 to 3,700,000 tokens, ≈ $1.00 to $3.70"
    assert line() == f"asks a:b 12 to 48 times, {cost} (by a rule of thumb)"
    assert line(past(), past(usd=4.0)).endswith(
        "about 12 times, ≈ 1,000,000 tokens, ≈ $3.00 (by 2 earlier tasks with it)"
    )
    other = past(model="c:d", tokens_in=2.0, tokens_out=3.0)
    assert line(other).endswith("≈ $2.10 (by 1 earlier task)")
    model.priced = False
    assert "price not known" in line(other)
    assert math.isclose(expected_usd(work, model, [past()]) or 0.0, 2.0), "its server says what it costs"
    assert UNKNOWN.input == 0.0


@pytest.mark.parametrize(
    "damage", ["report.json", pytest.param("logs/llm.jsonl", marks=pytest.mark.slow), f"logs/{FILE}"]
)
def test_a_damaged_or_unfinished_task_is_left_out(tmp_path: Path, damage: str) -> None:
    run(tmp_path / "tasks", 0)
    ledger = str(tmp_path / "tasks" / "mine" / "logs" / "llm.jsonl")
    assert len(learn(ledger, "implement")) == 1
    assert learn(ledger, "plan") == []
    (tmp_path / "tasks" / "0" / damage).write_text('{"half": ')
    assert learn(ledger, "implement") == []


PRICED = r"asks openai:gpt-4o \d+ to \d+ times, ≈ [\d,]+ to [\d,]+ tokens, ≈ \$\d+\.\d\d to \$\d+\.\d\d \(by a rule of thumb\)"


def test_a_dry_run_prices_the_plan_and_the_code_of_a_new_paper_asks_no_model_and_ends_with_0(tmp_path: Path) -> None:
    paper(tmp_path)
    command = Command(tmp_path)
    with LlmServer(always(Says("no plan"))) as server:
        served = ("--model", "openai:gpt-4o")
        more = {"PIPELINE_OPENAI_BASE_URL": server.base_url}
        ended = command("run", "--fast", "paper.md", *served, "--dry-run", **more)
        assert ended.code == 0, ended.err
        both = rf"the plan {PRICED}; the code {PRICED}; together ≈ \$\d+\.\d\d to \$\d+\.\d\d; to begin: pipeline resume paper"
        assert re.search(both, command.document("paper", "report.json")["reason"])
        assert server.asked == 0
        assert not (command.task("paper") / "logs" / FILE).exists(), "what a dry run expects is not learnt from"
        more["OPENAI_API_KEY"] = "sk-0123456789abcdef"
        assert command("resume", "paper", *served, "--max-usd", "0.0001", **more).code == 5
        assert server.asked == 0
        assert command("resume", "paper", *served, "--max-usd", "1", "--until", "plan", **more).code != 5
        assert server.asked > 0
    assert command("run", "paper.md", PIPELINE_DRY_RUN="true").code == 2


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        pytest.param(("--plan-model", "offline"), rf"asked: the code {PRICED}; to begin", id="a plan by rules"),
        pytest.param(
            ("--plan-model", "offline", "--review", "file"),
            rf"asked: the code {PRICED}; to begin",
            id="a review that waits",
        ),
        pytest.param(("--code-model", "offline"), rf"asked: the plan {PRICED}; to begin", id="a scaffold"),
        pytest.param(("--model", "offline"), "asked: the work costs nothing; to begin", id="no model"),
    ],
)
def test_a_dry_run_prices_what_costs_something(flags: tuple[str, ...], told: str, tmp_path: Path) -> None:
    paper(tmp_path)
    command = Command(tmp_path)
    ended = command("run", "--fast", "paper.md", "--model", "openai:gpt-4o", *flags, "--dry-run")
    assert ended.code == 0, ended.err
    assert re.search(told, command.document("paper", "report.json")["reason"])


def test_a_dry_run_of_all_phases_says_it_once(tmp_path: Path) -> None:
    paper(tmp_path)
    command = Command(tmp_path)
    ended = command("run", "--full", "paper.md", "--model", "openai:gpt-4o", "--dry-run")
    assert ended.code == 0, ended.err
    assert command.document("paper", "report.json")["reason"].count("a dry run") == 1


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        pytest.param(("--model", "openai:gpt-4o"), "set OPENAI_API_KEY, or openai_api_key", id="both"),
        pytest.param(("--code-model", "anthropic:x"), "set ANTHROPIC_API_KEY, or anthropic_api_key", id="the code's"),
        pytest.param(("--judge", "groq:x"), "set GROQ_API_KEY, or groq_api_key", id="the judge's"),
    ],
)
def test_a_missing_key_is_found_before_the_first_phase(flags: tuple[str, ...], told: str, tmp_path: Path) -> None:
    paper(tmp_path)
    command = Command(tmp_path)
    for arguments in (("run", "--fast", "paper.md"), ("resume", "paper")):
        ended = command(*arguments, *flags)
        assert (ended.code, "; then: pipeline resume paper (without a model: " in ended.complaints[0]) == (2, True), (
            ended.err
        )
        assert told in ended.complaints[0]
        assert not (command.task("paper") / "state.json").exists(), "no phase ran"


def test_a_key_is_not_missed_by_a_run_that_asks_no_model(tmp_path: Path) -> None:
    paper(tmp_path)
    command = Command(tmp_path)
    assert command("run", "--fast", "paper.md", "--model", "openai:gpt-4o", "--until", "segment").code == 0
    assert command("resume", "paper", "--plan-model", "offline", "--until", "plan_review").code == 0
    assert command("resume", "paper").code == 2
