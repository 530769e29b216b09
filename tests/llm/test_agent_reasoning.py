"""What a thinking model thought comes back to it word for word within a tool loop, and to no other model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from phases.llm.adapters import openai_chat
from phases.llm.conversation import _check_reply
from phases.llm.model import Message, Model, Reply, Request, ToolCall, message_of, reply_from_json, reply_to_json
from phases.llm.providers import PROVIDERS, Access
from phases.llm.redaction import redact_reply
from phases.llm.server_model import Timing, open_server_model
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.errors import PhaseError
from tests.agent.test_agent_replay import plan_for
from tests.agents import carry_out, small_plan, tree
from tests.llm_server import LlmServer, Raw, Says, Status, call, error_body, signature_of
from tests.papers import HANGS, Command, paper
from tests.rows import with_covered
from tests.thinking_server import ThinkingServer, merged

pytest.importorskip("openai", reason="the openai package is not installed")
pytest.importorskip("anthropic", reason="the anthropic package is not installed")
needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")

KEY = "sk-test-0123456789-0123456789"
LOOK, FIND = call("Glob", pattern="*.py"), call("Grep", pattern="x")
WRITES = call("Write", file_path="a.py", content="A = 1\n")
DETAILS = (
    {"type": "reasoning.text", "text": "First ", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "text": "I look.", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "signature": "c2lnbmVk", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.summary", "summary": "In short", "id": "rs_1", "format": "openai-responses-v1", "index": 1},
    {"type": "reasoning.encrypted", "data": "gAAAAABo/+=", "id": "rs_1", "format": "openai-responses-v1", "index": 2},
)


def signed(one: Any, signature: str) -> Any:
    """A call as Gemini sends it."""
    return type(one)(one.name, one.arguments, one.id, {"google": {"thought_signature": signature}})


FORMS: Mapping[str, tuple[str, dict[str, Any], Any]] = {
    "reasoning_content": ("compatible", {"thinks": "I look first. 🌍"}, LOOK),
    "reasoning_details, some encrypted": ("openrouter", {"details": DETAILS}, LOOK),
    "Gemini's signature beside a call": ("compatible", {}, signed(LOOK, "c2ln")),
    "Anthropic's thinking": ("anthropic", {"thinks": "I look first. 🌍"}, LOOK),
    "an encrypted item of the Responses API": ("responses", {"thinks": "I look first. 🌍"}, LOOK),
    "Anthropic's redacted thinking": ("anthropic", {"thinks": "I look.", "redacted": "EmwKAhgB"}, LOOK),
}


@pytest.fixture(autouse=True)
def nothing_is_known_of_any_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_chat, "_lacking", {})


def served(server: LlmServer, provider: str = "compatible", name: str = "tiny", *, effort: str = "") -> Model:
    """A model at this server; `responses` is OpenAI, asked in that way."""
    api, provider = ("responses", "openai") if provider == "responses" else ("", provider)
    url = server.anthropic_url if provider == "anthropic" else server.base_url
    variable = PROVIDERS[provider].key_variable
    keys = {variable: KEY} if variable else {}
    access = Access(url, "" if variable else KEY, keys, 100_000, openai_api=api, effort=effort)
    return open_server_model(f"{provider}:{name}", PROVIDERS[provider], access, timing=Timing(lambda seconds: None))


def rows(folder: Path) -> list[dict[str, Any]]:
    """The replies of the journal."""
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row["result"] for row in lines if row["kind"] == "reply"]


@pytest.mark.parametrize("form", FORMS)
def test_what_a_model_thought_comes_back_word_for_word_in_its_tool_loop(form: str, tmp_path: Path) -> None:
    provider, thought, first = FORMS[form]
    script = (
        Says("I look.", (first,), **thought),
        Says("", (FIND, call("Glob", pattern="*.md"))),
        Says("", (WRITES,), **thought),
        Says("done", **thought),
    )
    with ThinkingServer(*script) as server:
        carry_out(tmp_path, served(server, provider), small_plan("a.py"))
        assert server.refused == []
    assert tree(tmp_path) == {"a.py": b"A = 1\n"}
    kept = [row.get("reasoning", {}) for row in rows(tmp_path)]
    assert kept[0]["model"] == f"{'openai' if provider == 'responses' else provider}:tiny"
    assert kept[1] == {}
    if provider == "openrouter":
        assert kept[0]["reasoning_details"] == merged(DETAILS)


@pytest.mark.parametrize(
    "form", with_covered(FORMS, "reasoning_content", "Anthropic's thinking", "an encrypted item of the Responses API")
)
def test_after_a_crash_it_comes_back_as_if_there_had_been_none(form: str, tmp_path: Path) -> None:
    provider, thought, first = FORMS[form]
    script = (
        Says("I look.", (first,), **thought),
        Says("", (FIND,), **thought),
        Status(401, error_body("no")),
        Says("", (WRITES,)),
        Says("done"),
    )
    with ThinkingServer(*script) as server:
        with pytest.raises(PhaseError):
            carry_out(tmp_path, served(server, provider), small_plan("a.py"))
        carry_out(tmp_path, served(server, provider), small_plan("a.py"))
        assert server.refused == []
        assert server.requests[2].body == server.requests[3].body


@pytest.mark.slow
def test_turns_that_leave_the_transcript_take_their_reasoning_with_them(tmp_path: Path) -> None:
    names = ("a.py", "b.py", "c.py")
    long = [call("Write", file_path=name, content="A = 1\n" * 10_000) for name in names]
    script = (
        Says("", (LOOK,), thinks="About a."),
        Says("", (long[0],), thinks="Now a.", piece=9_000),
        *(Says("", (write,)) for write in long[1:]),
        Says("done"),
    )
    with ThinkingServer(*script) as server:
        carry_out(tmp_path, served(server), small_plan(*names))
        assert "About a." in json.dumps(server.requests[1].body)
        last = json.dumps(server.requests[4].body)
        assert not [word for word in ("About a.", "Now a.", "reasoning_content") if word in last]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", ["same wire", "other wire"])
def test_another_model_never_gets_it(form: str, other: str, tmp_path: Path) -> None:
    provider, thought, first = FORMS[form]
    successor = provider if other == "same wire" else "compatible" if provider == "anthropic" else "anthropic"
    with (
        ThinkingServer(Says("", (first,), **thought), Status(401, error_body("no"))) as server,
        pytest.raises(PhaseError),
    ):
        carry_out(tmp_path, served(server, provider), small_plan("a.py"))
    with ThinkingServer(Says("", (WRITES,)), Says("done")) as server:
        carry_out(tmp_path, served(server, successor, "other"), small_plan("a.py"))
        assert server.refused == []


def test_a_model_that_wants_reasoning_in_every_turn_goes_on_with_turns_that_have_none(tmp_path: Path) -> None:
    with LlmServer(Says("", (LOOK,)), Status(401, error_body("no"))) as server, pytest.raises(PhaseError):
        carry_out(tmp_path, served(server, name="another"), small_plan("a.py"))
    script = (Says("", (FIND,), thinks="Mine."), Says("", (WRITES,), thinks="Mine, too."), Says("done"))
    with ThinkingServer(*script, always_wanted=True) as server:
        carry_out(tmp_path, served(server), small_plan("a.py"))
        assert len(server.refused) == 1, "what it misses is learnt once"


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("compatible", "'messages.2': property 'reasoning_content' is unsupported"),
        ("anthropic", "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ],
)
def test_a_server_that_refuses_what_it_sent_is_asked_without_it(provider: str, words: str) -> None:
    def answer(body: dict[str, Any]) -> Says | Status:
        return Status(400, error_body(words)) if "Mine." in json.dumps(body) else Says("done")

    with LlmServer(Says("", (LOOK,), thinks="Mine."), *[answer] * 4) as server:
        model = served(server, provider)
        begun = (Message("user", "go"),)
        reply = model.ask(Request(begun))
        answered = (*begun, message_of(reply), Message("tool", "none", call_id=reply.calls[0].id))
        assert model.ask(Request(answered)).outcome == "ok"
        assert server.asked <= 4


def test_a_reply_without_reasoning_is_recorded_and_digested_as_before() -> None:
    reply = Reply("ok", "text", (ToolCall("c1", "Read", {"path": "a"}),))
    calls = [{"id": "c1", "name": "Read", "arguments": {"path": "a"}}]
    row = {
        "outcome": "ok",
        "text": "text",
        "calls": calls,
        "tokens_in": 0,
        "tokens_cached": 0,
        "tokens_out": 0,
        "usd": 0.0,
    }
    assert reply_to_json(reply) == {**row, "detail": "", "wait": None}
    assert reply_from_json(reply_to_json(reply)) == reply
    before = json.dumps(["assistant", "text", [["c1", "Read", {"path": "a"}]], None], sort_keys=True)
    assert message_of(reply).digest == sha256(before.encode()).digest()
    thought = Reply("ok", "text", reply.calls, reasoning={"model": "x:y", "reasoning_content": "hm"})
    assert message_of(thought).digest != message_of(reply).digest
    assert reply_from_json(reply_to_json(thought)) == thought


@pytest.mark.parametrize("odd", ["text", 3, [1], None])
def test_a_journal_that_holds_something_else_as_reasoning_is_read_without_it(odd: Any) -> None:
    assert reply_from_json({**reply_to_json(Reply("ok", "hi")), "reasoning": odd}) == Reply("ok", "hi")


def test_a_plain_text_loses_our_keys_and_what_is_signed_is_kept_whole_or_not_at_all() -> None:
    said = {
        "model": "x:y",
        "reasoning_content": f"the key is {KEY}",
        "reasoning_details": [{"text": KEY, "signature": "s"}],
    }
    kept = redact_reply(Reply("ok", "hi", reasoning=said), (KEY,)).reasoning
    assert kept == {"model": "x:y", "reasoning_content": "the key is [redacted]"}
    blocks = {"model": "x:y", "blocks": [{"type": "thinking", "thinking": KEY, "signature": "s"}]}
    assert redact_reply(Reply("ok", "hi", reasoning=blocks), (KEY,)).reasoning == {}
    assert redact_reply(Reply("ok", "hi", reasoning={"model": "x:y", "blocks": []}), (KEY,)).reasoning["blocks"] == []


@pytest.mark.parametrize("provider", ["compatible", "anthropic"])
def test_a_key_in_the_reasoning_reaches_no_journal_and_the_loop_goes_on(provider: str, tmp_path: Path) -> None:
    script = (Says("", (LOOK,), thinks=f"The key is {KEY}."), Says("", (WRITES,)), Says("done"))
    with LlmServer(*script) as server:
        carry_out(tmp_path, served(server, provider), small_plan("a.py"))
        assert KEY not in json.dumps([request.body for request in server.requests])
    assert KEY not in (tmp_path / "journal.jsonl").read_text(encoding="utf-8")


def test_the_blocks_of_a_reply_keep_their_order_where_thoughts_stand_between_them() -> None:
    def block(index: int, begins: dict[str, Any], *deltas: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        return [
            ("content_block_start", {"index": index, "content_block": begins}),
            *(("content_block_delta", {"index": index, "delta": delta}) for delta in deltas),
            ("content_block_stop", {"index": index}),
        ]

    def thinking(index: int, text: str) -> list[tuple[str, dict[str, Any]]]:
        signature = {"type": "signature_delta", "signature": signature_of(text)}
        begins = {"type": "thinking", "thinking": "", "signature": ""}
        return block(index, begins, {"type": "thinking_delta", "thinking": text}, signature)

    events = [
        ("message_start", {"message": {}}),
        *thinking(0, "one"),
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look."}),
        *thinking(2, "two"),
        *block(3, {"type": "tool_use", "id": "t1", "name": "Glob", "input": {"pattern": "*"}}),
        ("message_delta", {"delta": {"stop_reason": "tool_use"}}),
        ("message_stop", {}),
    ]
    stream = [f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode() for kind, fields in events]
    with LlmServer(Raw(stream), Says("done")) as server:
        model = served(server, "anthropic")
        reply = model.ask(Request((Message("user", "go"),)))
        answered = (Message("user", "go"), message_of(reply), Message("tool", "none", call_id="t1"))
        model.ask(Request(answered))
        content = server.requests[1].body["messages"][1]["content"]
    assert [row["type"] for row in content] == ["thinking", "text", "thinking", "tool_use"]
    assert [row.get("signature") for row in content][::2] == [signature_of("one"), signature_of("two")]


def test_reasoning_that_leaves_no_room_is_not_kept() -> None:
    long = Reply("ok", "hi", reasoning={"model": "x:y", "reasoning_content": "hm " * 40_000})
    assert _check_reply(long, 20_000) == Reply("ok", "hi")
    assert _check_reply(long, 80_000) == long


def test_reasoning_counts_as_what_came_and_is_bounded() -> None:
    told: list[int] = []
    with LlmServer(Says("hi", thinks="x" * 300, tokens_in=None)) as server:
        reply = served(server).ask(Request((Message("user", "go"),), on_text=told.append))
    assert told[-1] == 302
    assert reply.tokens_out > 100
    deep: Any = {}
    for _ in range(80):
        deep = {"a": deep}
    with LlmServer(Says("hi", details=[{"type": "reasoning.text", "index": 0, "text": "x", "more": deep}])) as server:
        assert served(server).ask(Request((Message("user", "go"),))).outcome == "malformed"
    with LlmServer(Says("hi", thinks="x" * 5_000_000, piece=500_000)) as server:
        assert served(server).ask(Request((Message("user", "go"),))).outcome == "malformed"


# Efforts

EFFORTS: Mapping[str, tuple[str, str, Callable[[dict[str, Any]], bool]]] = {
    "chat completions": ("compatible", "low", lambda body: body["reasoning_effort"] == "low"),
    "OpenRouter": ("openrouter", "high", lambda body: body["reasoning"] == {"effort": "high"}),
    "the Responses API": ("responses", "medium", lambda body: body["reasoning"] == {"effort": "medium"}),
    "Anthropic, by a budget": ("anthropic", "low", lambda body: body["thinking"] == {"type": "enabled", "budget_tokens": 4_096}),
    "Anthropic, none": ("anthropic", "none", lambda body: body["thinking"] == {"type": "disabled"}),
}  # fmt: skip


@pytest.mark.parametrize("form", EFFORTS)
def test_an_effort_is_said_in_the_vendors_words_and_no_temperature_ever(form: str) -> None:
    provider, effort, is_said = EFFORTS[form]
    with LlmServer(Says("hi"), Says("hi")) as server:
        for wanted in (effort, ""):
            assert served(server, provider, effort=wanted).ask(Request((Message("user", "go"),))).outcome == "ok"
        with_it, without = (request.body for request in server.requests)
    assert is_said(with_it)
    assert not {"reasoning_effort", "reasoning", "thinking", "output_config"} & without.keys()
    assert "temperature" not in with_it.keys() | without.keys()


def test_a_newer_claude_takes_an_effort() -> None:
    with LlmServer(Says("hi"), models=("claude-opus-5-5",)) as server:
        served(server, "anthropic", "claude-opus-5-5", effort="high").ask(Request((Message("user", "go"),)))
        body = server.requests[0].body
    assert (body["thinking"], body["output_config"]) == ({"type": "adaptive"}, {"effort": "high"})


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("compatible", "Unrecognized request argument supplied: reasoning_effort"),
        ("openrouter", "Unsupported value: 'effort' does not support 'low'"),
        ("responses", "Unsupported parameter: 'reasoning.effort' is not supported with this model."),
        ("anthropic", "thinking: adaptive thinking is not supported on this model; budget_tokens"),
    ],
)
def test_a_model_that_takes_no_effort_is_asked_without(provider: str, words: str) -> None:
    with LlmServer(Status(400, error_body(words)), Says("hi")) as server:
        assert served(server, provider, effort="low").ask(Request((Message("user", "go"),))).outcome == "ok"
        assert not {"reasoning_effort", "reasoning", "thinking"} & server.requests[1].body.keys()


def test_a_model_that_does_not_reason_is_asked_on_the_responses_api_without_reasoning() -> None:
    refusal = Status(400, error_body("Encrypted content is not supported with this model."))
    with LlmServer(refusal) as server:
        assert served(server, "responses").ask(Request((Message("user", "go"),))).outcome == "fatal"
        assert "include" not in server.requests[-1].body
        server.faults.clear()


@pytest.mark.parametrize(
    ("name", "api", "path"),
    [
        ("openai:gpt-5", "", "/v1/responses"),
        ("openai:gpt-5", "chat", "/v1/chat/completions"),
        ("openai:gpt-4.1", "", "/v1/chat/completions"),
        ("openai:gpt-5-codex", "", "/v1/responses"),
        ("compatible:gpt-5", "", "/v1/chat/completions"),
        ("compatible:tiny", "responses", "/v1/responses"),
    ],
)
def test_the_api_is_chosen_by_the_model_and_can_be_set(name: str, api: str, path: str) -> None:
    provider = PROVIDERS[name.partition(":")[0]]
    with LlmServer(Says("hi")) as server:
        access = Access(server.base_url, KEY, {"OPENAI_API_KEY": KEY}, openai_api=api)
        assert open_server_model(name, provider, access).ask(Request((Message("user", "go"),))).outcome == "ok"
        assert server.requests[0].path == path


def test_claude_behind_openrouter_gets_the_marks_of_a_cache_and_nobody_else_does() -> None:
    said = (Message("system", "Be brief."), Message("user", "the plan"), Message("user", "the file"))
    with LlmServer(Says("hi"), Says("hi")) as server:
        for name in ("anthropic/claude-sonnet-4.5", "qwen/qwen3-8b"):
            served(server, "openrouter", name).ask(Request(said, lasting=(1,)))
        marked, plain = (request.body["messages"] for request in server.requests)
    mark = {"type": "ephemeral"}
    assert [message["content"] for message in marked] == [
        [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        [{"type": "text", "text": "the plan", "cache_control": mark}],
        "the file",
    ]
    assert "cache_control" not in json.dumps(plain)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_questions_that_begin_alike_go_to_openai_under_one_key_of_its_cache(api: str) -> None:
    first = (Message("system", "Be brief."), Message("user", "the plan"))
    with LlmServer(Says("hi"), Says("hi"), Says("hi")) as server:
        access = Access(server.base_url, "", {"OPENAI_API_KEY": KEY}, openai_api=api)
        model = open_server_model("openai:tiny", PROVIDERS["openai"], access)
        for messages in (first, (*first, Message("user", "more")), (first[0], Message("user", "another plan"))):
            assert model.ask(Request(messages)).outcome == "ok"
        keys = [request.body["prompt_cache_key"] for request in server.requests]
    assert keys[0] == keys[1] != keys[2]


# The whole command


@pytest.mark.slow
@needs_a_sandbox
def test_a_run_killed_in_planning_and_in_writing_gives_back_what_was_thought_and_so_does_a_replay(
    tmp_path: Path,
) -> None:
    command = Command(tmp_path)
    plan = plan_for(command, paper(tmp_path))
    hang, code = Raw([b": wait\n\n"], after="hang"), "import a\n\nB = a.A  # R1, section 2, page 1\n"
    both = (call("Write", file_path="a.py", content="A = 2\n"), call("Write", file_path="b.py", content=code))
    script = (
        *(Says("no plan", thinks="I plan badly."), hang, Says(plan, thinks="I plan.", piece=900)),
        *(Says("", (LOOK,), thinks="I look."), hang, Says("", both, thinks="Two."), Says("done", thinks="Done.")),
    )
    with ThinkingServer(*script) as server:
        served_there = ("--model", "vllm:tiny", "--base-url", server.base_url, "--judge", "off")
        for arguments in (("run", "--fast", "paper.md", "--id", "task", "--review", "auto"), ("resume", "task")):
            with command.start(*arguments, *served_there, PIPELINE_CONTEXT_TOKENS="100000") as process:
                assert server.hangs.wait(HANGS)
                process.kill()
            server.hangs.clear()
            server.lets_go.set()
            server.lets_go.clear()
        ended = command("resume", "task", *served_there, PIPELINE_CONTEXT_TOKENS="100000")
        assert ended.code == 0, ended.err
        assert (server.refused, server.asked) == ([], len(script))
        assert "I plan badly." in json.dumps(server.requests[2].body)
    replayed = ("--model", f"replay:{command.task('task')}", "--id", "again", "--review", "auto")
    again = command("run", "--fast", "paper.md", *replayed)
    assert again.code == 0, again.err
    first, second = rows(command.task("task")), rows(command.task("again"))
    assert [row["reasoning"] for row in first] == [row["reasoning"] for row in second]
    assert [row["reasoning"]["reasoning_content"] for row in first] == ["I look.", "Two.", "Done."]
