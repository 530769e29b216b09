"""The plan of a served model, through the real command: mended, read in parts, killed and resumed, recorded and repeated."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from phases.llm.model import Reply, reply_to_json, tokens_of
from tests.llm_server import Answer, LlmServer, Raw, Says
from tests.papers import HANGS, PAPER, Command, paper, read

PLAN = "initial_plan.txt"
PLANNED = read(PAPER).plan
GOOD = Says(json.dumps(PLANNED), piece=900)
NO_FILES = Says(json.dumps({**PLANNED, "file_structure": []}), piece=900)
NO_COMMAND = Says(json.dumps({**PLANNED, "validation_approach": {"verify_commands": []}}), piece=900)
LONG = PAPER.partition("## References")[0] + "\n\n".join(
    f"## {n} Part {n}\n\nStep {n} waits {n} s. {f'Room {n} is blue. ' * 90}" for n in range(4, 60)
)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A command with a paper beside it."""
    paper(tmp_path)
    return Command(tmp_path)


def served(server: LlmServer) -> tuple[str, ...]:
    return ("--plan-model", "vllm:tiny", "--base-url", server.base_url, "--until", "plan")


def plan_of(command: Command) -> Any:
    return yaml.safe_load((command.task("paper") / PLAN).read_text(encoding="utf-8"))


def said(body: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in body["messages"])


@pytest.mark.slow
def test_a_plan_that_is_never_one_ends_the_run_with_its_last_fault_and_the_next_run_asks_anew(command: Command) -> None:
    with LlmServer(*[Says("Sure!")] * 3, NO_COMMAND, GOOD) as server:
        ended = command("run", "--fast", "paper.md", *served(server))
        assert ended.code == 1
        assert "verify_commands is empty" in ended.complaints[0]
        assert not (command.task("paper") / PLAN).exists()
        assert command("resume", "paper", *served(server)).code == 0
        assert server.asked == 5
    assert plan_of(command) == PLANNED


def test_a_row_that_the_model_never_mends_is_warned_of_on_the_screen_and_the_run_goes_on(command: Command) -> None:
    rows = [dict(row) for row in PLANNED["requirements"]]
    rows[0]["source"] = {**rows[0]["source"], "quote": "nobody wrote this down"}
    said = [{**PLANNED, "requirements": rows}, *[{"requirements": rows[:1]}] * 3]
    with LlmServer(*[Says(json.dumps(value), piece=900) for value in said]) as server:
        ended = command("run", "--fast", "paper.md", *served(server))
        assert server.asked == 3
    assert ended.code == 0
    assert (
        "warning: R1 of the plan is marked as inferred: the quote 'nobody wrote this down' is not in the paper"
        in ended.err
    )
    first, *others = plan_of(command)["requirements"]
    assert (first["status"], first["source"]["quote"]) == ("inferred", "")
    assert others == PLANNED["requirements"][1:]


@pytest.mark.slow
def test_a_run_that_was_killed_in_a_turn_asks_only_that_turn_again(command: Command) -> None:
    with LlmServer(NO_FILES, Raw([b": wait\n\n"], after="hang"), GOOD) as server:
        with command.start("run", "--fast", "paper.md", *served(server)) as process:
            assert server.hangs.wait(HANGS)
            process.kill()
        server.lets_go.set()
        ended = command("resume", "paper", *served(server))
        assert ended.code == 0, ended.err
        assert server.asked == 3
        assert server.requests[1].body["messages"] == server.requests[2].body["messages"]
        assert command("resume", "paper", *served(server)).code == 0
        assert server.asked == 3, "a plan that is there is not asked for again"
    assert plan_of(command) == PLANNED
    ledger = (command.task("paper") / "logs" / "llm.jsonl").read_text().splitlines()
    assert [json.loads(line)["turn"] for line in ledger] == [1, 2]


@pytest.mark.slow
def test_a_paper_that_is_longer_than_the_window_reaches_the_server_whole(command: Command) -> None:
    paper(command.folder, LONG)
    lock, bodies = threading.Lock(), list[dict[str, Any]]()

    def answer(body: dict[str, Any]) -> Answer:
        with lock:
            bodies.append(body)
        return GOOD if "<<<NOTES " in said(body) else Says('method | 2 | 1 | "The model waits first" | wait')

    with LlmServer(answer) as server:
        ended = command("run", "--fast", "paper.md", *served(server), PIPELINE_CONTEXT_TOKENS="16000")
    assert ended.code == 0, ended.err
    assert len(bodies) > 3
    for number in range(4, 60):
        assert sum(f"Step {number} waits {number} s. Room {number} is blue." in said(body) for body in bodies) == 1
    assert all(tokens_of(said(body)) < 12_000 for body in bodies)
    assert f"asks vllm:tiny about {len(bodies)} times" in ended.err


@pytest.mark.slow
def test_the_last_screen_of_a_scaffold_names_the_model_that_planned_it(command: Command) -> None:
    with LlmServer(GOOD) as server:
        ended = command("run", "--fast", "paper.md", "--plan-model", "vllm:tiny", "--base-url", server.base_url)
    assert ended.code == 3
    assert "Planned by vllm:tiny: " in ended.out
    assert "by rules" not in ended.out


@pytest.mark.slow
def test_recorded_replies_plan_as_they_did(command: Command) -> None:
    key = {"thread": "plan", "turn": 1, "request": ""}
    reply = {**reply_to_json(Reply("ok", json.dumps(PLANNED))), "model": "recorded"}
    recording = command.folder / "replies.jsonl"
    recording.write_text(json.dumps({"kind": "reply", "key": key, "result": reply}) + "\n", encoding="utf-8")
    ended = command("run", "--fast", "paper.md", "--plan-model", f"replay:{recording}", "--until", "plan")
    assert (ended.code, plan_of(command)) == (0, PLANNED), ended.err
