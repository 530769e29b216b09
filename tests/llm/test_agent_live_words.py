"""What a model says is seen while it says it: on the screen with -v, and in `logs -f`; without keys, and never in the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from phases.llm.live_words import ARGUMENTS, LiveWords
from pipeline.base.logs import WORDS, task_log
from tests.llm.test_agent_models import ASK, model_of
from tests.llm.test_agent_responses import served
from tests.llm_server import LlmServer, Raw, Says, call, openai_chunk
from tests.papers import HANGS, Command, paper

KEY = "sk-test-1234567890abcdefghijkl"


def lines_of(*pieces: tuple[str, str]) -> list[str]:
    shown: list[str] = []
    words = LiveWords(shown.append, (KEY,))
    for kind, piece in pieces:
        words.add(kind, piece)
    words.end()
    return shown


def test_a_line_is_shown_when_it_is_whole_and_another_kind_begins_one() -> None:
    assert lines_of(("reasoning", "Let me "), ("reasoning", "see.\nAh"), ("text", "So\n\nit is.")) == [
        "Let me see.",
        "Ah",
        "So",
        "it is.",
    ]


def test_the_lines_of_a_file_that_is_written_are_shown_as_they_will_be() -> None:
    arguments = json.dumps({"file_path": "a.py", "content": 'A = "ü"\n\tB = "\\n"\nC'})
    for size in (1, 2, 3, 7, 500):
        pieces = [(ARGUMENTS, arguments[place : place + size]) for place in range(0, len(arguments), size)]
        assert lines_of(*pieces) == ['{"file_path": "a.py", "content": "A = "\\u00fc"', '\tB = "\\n"', 'C"}']


@pytest.mark.parametrize("size", [1, 7, 64, 999])
@pytest.mark.parametrize("before", [10, 380, 590, 780])
def test_a_key_is_shown_in_no_part_however_it_comes(size: int, before: int) -> None:
    text = f"{'x ' * (before // 2)}{KEY} and on {'y ' * 900}"
    shown = "".join(lines_of(*[("text", text[place : place + size]) for place in range(0, len(text), size)]))
    assert KEY not in shown
    assert not any(KEY[:length] in shown for length in (12, 20))
    assert shown.count("[redacted]") == 1
    assert len(shown) == len(text) - len(KEY) + len("[redacted]")


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("kind", ["text", ARGUMENTS])
def test_no_line_of_a_private_key_is_shown(size: int, kind: str) -> None:
    told = "see\n-----BEGIN OPENSSH PRIVATE KEY-----\nQ0FOQVJZ\nU1NI\n-----END OPENSSH PRIVATE KEY-----\nthat is it"
    text = json.dumps(told)[1:-1] if kind == ARGUMENTS else told
    pieces = [(kind, text[at : at + size]) for at in range(0, len(text), size)]
    assert lines_of(*pieces, ("reasoning", "well")) == ["see", "[redacted]", "that is it", "well"]


@pytest.mark.parametrize("wire", ["openai", "anthropic", "responses"])
def test_words_reasoning_and_calls_are_shown_on_every_wire_and_signatures_are_not(wire: str, tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    says = Says("I write it.", (call("Write", file_path="a.py", content="A = 1\nB = 2\n"),), thinks="Hm.\nYes.")
    with LlmServer(says) as server, task_log(str(tmp_path / "system.jsonl"), echo=lambda *row: seen.append(row)):
        model = served(server) if wire == "responses" else model_of(server, wire)[0]
        assert model.ask(replace(ASK, thread="implement")).outcome == "ok"
    told = [text for who, text in seen if who == "implement"]
    assert told[-5:] == [
        "| I write it.",
        "| Write",
        '| {"file_path": "a.py", "content": "A = 1',
        "| B = 2",
        '| "}',
    ]
    assert told[:-5] == ["| Hm.", "| Yes."], "and no signature"
    written = [json.loads(line) for line in (tmp_path / WORDS).read_text().splitlines()]
    assert [f"| {row['text']}" for row in written] == told


def test_words_are_on_the_screen_with_v_and_in_another_terminal_before_the_reply_is_over(tmp_path: Path) -> None:
    paper(tmp_path)
    command = Command(tmp_path)
    begins = Raw([openai_chunk({"content": "First I look at\nthe paper"})], after="hang")
    with LlmServer(begins) as server:
        flags = ("--plan-model", "vllm:tiny", "--base-url", server.base_url, "--until", "plan")
        with command.start("run", "--fast", "paper.md", "-v", *flags) as process:
            assert server.hangs.wait(HANGS)
            with command.start("logs", "paper", "-f") as watching:
                assert process.stderr is not None
                assert watching.stdout is not None
                assert watching.stdout.readline(), "it follows by now"
                seen = next(line for line in process.stderr if "First I look" in line)
                process.terminate()
                server.lets_go.set()
                process.communicate(timeout=HANGS)
                followed, _ = watching.communicate(timeout=HANGS)
    assert seen.strip() == "plan    | First I look at"
    assert "plan      | the paper" in followed, "what comes after logs began to follow"
    assert "the paper" not in command("logs", "paper").out
