"""Drills 79 to 91: the whole command against a server that does what servers do on bad days."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.drills import scenes
from tests.drills.aftermath import last_words
from tests.drills.ground import Ended, Ground
from tests.llm_server import (
    Answer,
    Call,
    LlmServer,
    Raw,
    Says,
    Status,
    call,
    error_body,
    openai_chunk,
    openai_chunks,
    sse,
)
from tests.web import sends, serving

pytestmark = pytest.mark.slow

pytest.importorskip("openai", reason="the openai package is not installed")

KEY = "sk-canary-0123456789-0123456789"
CALLS = len(scenes.SERVED)
EVIL = "evil.py"


def ground_at(folder: Path, server: LlmServer | str, model: str = "compatible:x", **extra: str) -> Ground:
    """A run whose model is asked there."""
    address = server if isinstance(server, str) else server.base_url
    return scenes.modelled(folder, "--model", model, "--base-url", address, **extra)


def document(ground: Ground, name: str) -> Any:
    return json.loads((ground.task / name).read_bytes())


def ledger(ground: Ground) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ground.task / "logs" / "llm.jsonl").read_bytes().splitlines()]


def code(ground: Ground) -> dict[str, str]:
    """The files of the workspace that the program has not written itself."""
    root = ground.task / "generate_code"
    files = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
    return {name: path.read_text() for name, path in files.items()}


def planned_code() -> dict[str, str]:
    """What a run without faults leaves."""
    files = {
        arguments["file_path"]: arguments["content"]
        for _, _, (_, calls) in scenes.SAID
        for name, arguments in calls
        if name == "Write"
    }
    files["decay.py"] = files["decay.py"].replace("BETA * before\n", "BETA * weight\n")
    return dict(sorted({**files, "log.txt": "one\ntwo\n"}.items()))


def assert_ended_well(ended: Ended, ground: Ground) -> None:
    """The work is done, as if nothing had been the matter."""
    assert (ended.code, ended.complaints) == (0, []), last_words(ended)
    assert code(ground) == planned_code()


# busy


@pytest.mark.parametrize(
    ("status", "wait", "words"),
    [
        pytest.param(429, "120", "rate limited", id="429 for two minutes"),
        pytest.param(429, "3600", "rate limited", id="429 for an hour"),
        pytest.param(503, "120", "unavailable", id="503 for two minutes"),
        pytest.param(529, "3600", "unavailable", id="529 for an hour"),
    ],
)
def test_a_server_that_is_busy_or_down_for_long_pauses_the_task_and_it_goes_on_later(
    status: int, wait: str, words: str, tmp_path: Path
) -> None:
    busy = Status(status, error_body("slow down"), {"Retry-After": wait})
    voice = scenes.Voice({3: [busy]})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        ended = ground.call()
        assert ended.code == 5, last_words(ended)
        report = document(ground, "report.json")
        assert report["status"] == "paused"
        assert words in report["reason"]
        assert f"asks to wait {int(wait):,} s" in report["reason"]
        assert "pipeline resume" in report["reason"]
        assert voice.asked == [0, 1, 2, 3]
        assert_ended_well(ground.call(), ground)
        assert voice.asked == [0, 1, 2, 3, *range(3, CALLS)]
    assert [row["used"] for row in ledger(ground)].count(False) == 1


@pytest.mark.parametrize(
    "told",
    [
        pytest.param("0.2", id="a short wait"),
        pytest.param("-5", id="negative"),
        pytest.param("soon", id="no number"),
        pytest.param("Thu, 01 Jan 1970 00:00:00 GMT", id="a date that is over"),
    ],
)
def test_a_server_that_is_busy_for_a_moment_is_waited_for(told: str, tmp_path: Path) -> None:
    voice = scenes.Voice({1: [Status(429, error_body("slow down"), {"Retry-After": told})]})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        assert_ended_well(ground.call(), ground)
    assert voice.asked == [0, 1, *range(1, CALLS)]


# no


@pytest.mark.parametrize(
    ("status", "words"),
    [
        pytest.param(401, ["answered 401", "api_key"], id="401"),
        pytest.param(403, ["answered 403", "api_key"], id="403"),
        pytest.param(404, ["answered 404", "'gpt-nine'", "pipeline models"], id="404"),
        pytest.param(400, ["answered 400"], id="400"),
        pytest.param(422, ["answered 422"], id="422"),
        pytest.param(302, ["answered 302", "base_url"], id="302"),
        pytest.param(500, ["answered 500", "asked 4 times"], id="500"),
    ],
)
def test_a_server_that_says_no_is_told_in_one_line_without_the_key(
    status: int, words: list[str], tmp_path: Path
) -> None:
    answer = Status(status, error_body(f"no: {KEY}"), {"Location": "http://127.0.0.1:9/"} if status == 302 else {})
    voice = scenes.Voice({0: [answer] * 20, 1: [answer] * 20})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server, "compatible:gpt-nine", PIPELINE_API_KEY=KEY)
        ended = ground.call()
        ended.assert_failed(server.host, *words)
    assert ended.code == 1
    assert len(voice.asked) in ((4,) if status >= 500 else (1, 2))  # twice where what was asked for might be the reason
    assert_no_key(ground, ended)
    assert document(ground, "report.json")["status"] == "error"


def assert_no_key(ground: Ground, *ends: Ended) -> None:
    """Neither in a file nor on the screen."""
    holding = [path for path in ground.work.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holding == []
    assert all(KEY not in ended.out + ended.err for ended in ends)


def test_a_missing_key_is_told_by_its_variable_and_nothing_is_asked(tmp_path: Path) -> None:
    with LlmServer() as server:
        ended = scenes.modelled(tmp_path, "--model", "openai:gpt-nine").call()
        ended.assert_failed("OPENAI_API_KEY", "openai_api_key")
        assert (ended.code, server.asked) == (2, 0)


# bodies that are none


def evil(finish: str | None = "", **more: Any) -> Says:
    """A reply that would write a file, were it taken."""
    return Says("Here it is.", (call("Write", file_path=EVIL, content="X = 1\n"),), finish, **more)


def chunks(*end: bytes) -> Raw:
    """The evil reply, with another end."""
    return Raw([*list(openai_chunks(evil(then=[b""]))), *end])


MANY = tuple(call("Write", file_path=f"evil{number}.py", content="X = 1\n") for number in range(501))
AGAIN: dict[str, Answer] = {
    "cut off before its end": chunks(),
    "without its end mark": Raw(list(openai_chunks(evil(ends=False)))),
    "reset": Raw(list(openai_chunks(evil()))[:-2], after="reset"),
    "an error after the text": chunks(sse({"error": {"message": "overloaded", "code": 503}})),
    "an empty body": Raw([b""]),
    "nothing in it": Says(""),
}
"""Faults that pass: the same question is asked again."""
MENDED: dict[str, Answer] = {
    "half an argument": Says("", (Call("Write", '{"file_path": "evil.py", "content": "X'),)),
    "text behind the arguments": Says("", (Call("Write", '{"file_path": "evil.py", "content": "X"} and more'),)),
    "arguments that are no object": Says("", (Call("Write", '["evil.py", "X"]'),)),
    "no reason for its end": evil(None),
    "an unknown reason for its end": evil("because"),
    "cut off at the limit": evil("length"),
    "calls without a call": Says("I call.", finish="tool_calls"),
    "a broken chunk": chunks(b"data: {broken\n\n"),
    "a chunk that is no object": chunks(b"data: [1]\n\n"),
    "two choices": Raw([sse({"choices": [json.loads(openai_chunk({"content": "x"})[6:])["choices"][0]] * 2})]),
    "a page of a website": Status(200, "<html>sign in</html>", kind="text/html"),
    "501 calls": Says("", MANY, piece=1000),
    "a call that the window does not hold": Says(
        "", (call("Write", file_path=EVIL, content="X" * 2_200_000),), piece=60_000
    ),
}
"""Replies that can be told to the model: it says what it wanted once more."""
ANSWERED: dict[str, Answer] = {
    "an unknown tool": Says("", (call("Shell", command=f"touch {EVIL}"),)),
    "arguments of the wrong type": Says("", (call("Write", file_path=7, content=["X"]),)),
    "a path outside": Says("", (call("Write", file_path=f"../../{EVIL}", content="X = 1\n"),)),
    "an absolute path": Says("", (call("Write", file_path=f"/tmp/{EVIL}", content="X = 1\n"),)),
}
"""Calls that come whole and make no sense: each is answered, and nothing is done."""


FOUR = [dict(list(MENDED.items())[first : first + 4]) for first in range(0, len(MENDED), 4)]
"""Faults for one run each: it ends at the fourth in a row."""


def spread(faults: dict[str, Answer]) -> dict[int, Answer]:
    """Every other reply is one of these."""
    return {2 * number + 2: fault for number, fault in enumerate(faults.values())}


def test_a_reply_that_broke_off_is_asked_for_again_and_nothing_of_it_is_used(tmp_path: Path) -> None:
    faults = spread(AGAIN)
    voice = scenes.Voice({place: [fault] for place, fault in faults.items()})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        assert_ended_well(ground.call(), ground)
    assert sorted(voice.asked) == sorted([*range(CALLS), *faults]), dict(zip(faults, AGAIN, strict=True))


@pytest.mark.parametrize("rows", [MENDED, ANSWERED], ids=["as a whole", "in its calls"])
def test_a_reply_that_makes_no_sense_is_told_to_the_model_and_never_becomes_a_file(
    rows: dict[str, Answer], tmp_path: Path
) -> None:
    faults = spread(rows)
    voice = scenes.Voice({place: [fault] for place, fault in faults.items()})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        assert_ended_well(ground.call(), ground)
    assert voice.asked == list(range(CALLS + len(faults))), dict(zip(faults, rows, strict=True))
    assert list(tmp_path.rglob("evil*")) == []


@pytest.mark.parametrize("rows", FOUR, ids=lambda rows: next(iter(rows)))
def test_a_server_that_only_sends_nonsense_ends_the_run_after_a_few_tries(
    rows: dict[str, Answer], tmp_path: Path
) -> None:
    faults = list(rows.values()) * 10
    voice = scenes.Voice({place: [fault] for place, fault in enumerate(faults, 2)})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        ended = ground.call()
        ended.assert_failed("4 replies in a row could not be used")
        assert ended.code == 1
        assert len(voice.asked) == 2 + 4, list(rows)
    assert code(ground) == {}
    assert list(tmp_path.rglob("evil*")) == []


@pytest.mark.parametrize("rows", FOUR, ids=lambda rows: next(iter(rows)))
def test_no_plan_is_made_of_nonsense(rows: dict[str, Answer], tmp_path: Path) -> None:
    faults = cycle(row for name, row in rows.items() if name != "501 calls")
    with LlmServer(lambda body: next(faults)) as server:
        ground = ground_at(tmp_path, server)
        ground.call().assert_failed("compatible:x")
        assert server.asked <= 8, list(rows)
    assert not (ground.task / "initial_plan.txt").exists()


def test_calls_with_one_id_are_told_apart(tmp_path: Path) -> None:
    """Servers that number no calls, or all of them alike, are common."""
    twins = tuple(Call(one.name, one.arguments, "same") for one in scenes.spoken(4).calls)
    with LlmServer(scenes.Voice({4: [Says("", twins)]})) as server:
        ground = ground_at(tmp_path, server)
        assert_ended_well(ground.call(), ground)


# too long, refused


OVERFLOW = Status(400, error_body("maximum context length is 9 tokens", "context_length_exceeded"))


def test_a_request_that_is_too_long_in_the_middle_is_made_shorter_and_the_work_goes_on(tmp_path: Path) -> None:
    """After long answers of tools, which can be left out."""
    long = {place: [Says("", (call("Bash", command=f"seq {place} 3000"),))] for place in range(10, 14)}
    voice = scenes.Voice({**long, 14: [OVERFLOW]})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        assert_ended_well(ground.call(), ground)
        sizes = [len(json.dumps(asked.body["messages"])) for asked in server.requests]
    assert voice.asked == list(range(CALLS + 5))
    assert sizes[15] < 0.7 * sizes[14]


@pytest.mark.parametrize("place", [pytest.param(0, id="at the first call"), pytest.param(6, id="in the middle")])
def test_requests_that_are_always_too_long_end_the_run_soon(place: int, tmp_path: Path) -> None:
    voice = scenes.Voice({later: [OVERFLOW] for later in range(place, 60)})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        ended = ground.call()
    ended.assert_failed("context_tokens")
    assert ended.code == 1
    assert len(voice.asked) <= place + 12


@pytest.mark.parametrize(
    ("place", "answer", "word"),
    [
        pytest.param(0, Says("I will not.", finish="content_filter"), "refused", id="the plan"),
        pytest.param(3, Says("I will not.", finish="content_filter"), "refused", id="the code"),
    ],
)
def test_a_model_that_refuses_is_believed_at_once(place: int, answer: Says, word: str, tmp_path: Path) -> None:
    voice = scenes.Voice({place: [answer] * 9})
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        ended = ground.call()
    ended.assert_failed(word, "I will not.")
    assert (ended.code, len(voice.asked)) == (1, place + 1)
    assert ledger(ground)[-1]["outcome"] == "refused"


def test_a_model_that_refuses_in_words_is_not_asked_ten_times(tmp_path: Path) -> None:
    with LlmServer(lambda body: Says("I am sorry, but I cannot help with that.")) as server:
        ground = ground_at(tmp_path, server)
        ground.call().assert_failed("no plan")
        assert server.asked == 4


# money


def test_a_call_that_would_pass_the_limit_is_not_made_and_the_command_that_is_told_makes_it(tmp_path: Path) -> None:
    voice = scenes.Voice()
    with LlmServer(voice) as server:
        ground = ground_at(tmp_path, server)
        prices = ground.home / ".config" / "pipeline" / "prices.yaml"
        prices.parent.mkdir(parents=True)
        prices.write_text('"compatible:x": {in: 15, out: 75}\n')
        first = ground.call(*ground.arguments, "--max-usd", "0.02")
        assert first.code == 5, last_words(first)
        told = re.search(r"pipeline resume paper --add-usd ([0-9.]+)", document(ground, "report.json")["reason"])
        assert voice.asked == []
        assert told
        assert f"resume paper --add-usd {told[1]}" in first.out.partition("Next:")[2]
        second = ground.call("resume", "paper", "--base-url", server.base_url, "--add-usd", told[1])
        assert second.code in (0, 5), last_words(second)
        assert voice.asked
    assert _paid(ground) <= 0.02 + float(told[1])


def _paid(ground: Ground) -> float:
    return float(sum(row["usd"] for row in ledger(ground)))


# whose settings


@contextlib.contextmanager
def _canary() -> Iterator[LlmServer]:
    """A server that nobody may ask anything."""
    with LlmServer() as server:
        yield server
        assert (server.requests, server.listings) == ([], [])


def test_settings_that_lie_about_in_papers_tasks_and_workspaces_are_never_read(tmp_path: Path) -> None:
    with _canary() as strangers, LlmServer(scenes.Voice()) as server:
        ground = ground_at(tmp_path, server)

        def strew(*folders: Path) -> None:
            for folder in folders:
                (folder / ".config" / "pipeline").mkdir(parents=True, exist_ok=True)
                lines = f"base_url: {strangers.base_url}\napi_key: {KEY}\nmodel: compatible:stolen\n"
                for name in ("config.yaml", ".config/pipeline/config.yaml", "pipeline.yaml"):
                    (folder / name).write_text(lines)
                (folder / "pipeline.toml").write_text(f'base_url = "{strangers.base_url}"\n')
                pairs = (
                    f"{name}={strangers.base_url}" for name in ("PIPELINE_BASE_URL", "OPENAI_BASE_URL", "HTTP_PROXY")
                )
                (folder / ".env").write_text("\n".join([*pairs, f"OPENAI_API_KEY={KEY}", ""]))
                (folder / ".netrc").write_text(f"machine 127.0.0.1 login x password {KEY}\n")

        strew(ground.work)
        assert ground.call(*ground.arguments, "--stop-at", "implement").code == 0
        strew(ground.task, ground.task / "generate_code")
        ended = ground.call()
        assert ended.code == 0, last_words(ended)
        assert all(KEY not in repr(asked) for asked in server.requests)
        assert all(asked.body["model"] == "x" for asked in server.requests)


def test_a_task_that_says_where_the_server_is_is_refused(tmp_path: Path) -> None:
    with _canary() as strangers, LlmServer(scenes.Voice()) as server:
        ground = ground_at(tmp_path, server, "compatible:x", PIPELINE_API_KEY=KEY)
        assert ground.call(*ground.arguments, "--stop-at", "plan").code == 0
        task = document(ground, "task.json")
        task["settings"]["base_url"] = strangers.base_url
        (ground.task / "task.json").write_text(json.dumps(task))
        ended = ground.call("resume", "paper")
        ended.assert_failed("task.json", "base_url")
        assert server.asked == 0


# keys that are said


def test_keys_that_a_model_says_are_in_no_file_and_not_on_the_screen(tmp_path: Path) -> None:
    said = f"{KEY} AKIAIOSFODNN7CANARY1 -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"
    leak = Says(said, (call("Write", file_path="config.py", content=f"KEY = '''{said}'''\n"), call(KEY, **{KEY: said})))
    shows = Says(
        "", (call("Bash", command=f"echo {KEY} {KEY[:12]}''{KEY[12:]}; cat config.py; printf '%s\\n' '{said}'"),)
    )
    with LlmServer(scenes.Voice({1: [leak], 7: [shows]})) as server:
        ground = ground_at(tmp_path, server, "compatible:x", PIPELINE_API_KEY=KEY)
        ended = ground.call()
        shown = [ground.call(*words) for words in (("status", "paper"), ("show", "paper", "plan"), ("trace", "paper"))]
    assert ended.code == 0, last_words(ended)
    assert_no_key(ground, ended, *shown)
    texts = [path.read_text(errors="replace") for path in ground.task.rglob("*") if path.is_file()]
    assert not any("AKIAIOSFODNN7CANARY1" in text or "b3BlbnNzaC1rZXk" in text for text in texts)


# no way there


@contextlib.contextmanager
def _nothing() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def _no_name() -> Iterator[str]:
    yield "http://nowhere.invalid/v1"


@contextlib.contextmanager
def _plain() -> Iterator[str]:
    with LlmServer() as server:
        yield f"https://{server.host}/v1"


@contextlib.contextmanager
def _hangs_up() -> Iterator[str]:
    with serving(sends()) as server:
        yield f"http://127.0.0.1:{server.port}/v1"


@pytest.mark.parametrize(
    ("place", "word", "extra"),
    [
        pytest.param(_nothing, "nothing listens at", {}, id="nothing listens"),
        pytest.param(_no_name, "cannot be resolved (DNS)", {}, id="no such name"),
        pytest.param(_plain, "does not speak TLS", {}, id="no TLS"),
        pytest.param(_hangs_up, "", {}, id="it hangs up"),
        pytest.param(_no_name, "", {"HTTP_PROXY": "http://127.0.0.1:9"}, id="a proxy that is not there"),
    ],
)
def test_a_server_that_cannot_be_reached_is_named_and_the_task_goes_on_later(
    place: Callable[[], contextlib.AbstractContextManager[str]], word: str, extra: dict[str, str], tmp_path: Path
) -> None:
    with place() as address:
        ground = ground_at(tmp_path, address, **extra)
        ended = ground.call()
        ended.assert_failed(address.split("/")[2], word)
        assert ended.code == 1
        assert "pipeline resume paper" in ended.out
    with LlmServer(scenes.Voice()) as server:
        again = Ground(ground.base, arguments=("resume", "paper", "--base-url", server.base_url), text=ground.text)
        assert_ended_well(again.call(), again)
