"""What hooks are given: one object that scripts for Claude Code and Codex can read, bounded, with nothing secret in it."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.acceptance.hook import POINTS, REPO, USER, Hook
from phases.acceptance.payload import (
    EndingFacts,
    RunFacts,
    SessionFacts,
    SubagentFacts,
    ToolFacts,
    ToolResponse,
    payload_bytes,
    session_input,
    stop_input,
    subagent_input,
    tool_input,
    variables_for,
)
from pipeline.base.formats import parse_json
from tests.strategies import QUICK

RUN = RunFacts("s1", "r1", "/ws", "some-model")
ENDING = EndingFacts(
    "7", "All done.", changed=True, base="b", head="h", files=[("a.py", "modified")],
    todo_summary={"total": 3, "required_total": 2, "required_completed": 1, "required_failed": 0, "required_open": 1},
    recent_tools=[("Bash", False)],
)  # fmt: skip
CALL = ToolFacts("7", "Write", {"file_path": "a.py", "content": "x = 1\n"}, "call-1")


def hook_at(point: str, source: str = REPO) -> Hook:
    return Hook("tests", source, point)


def every_input() -> dict[str, dict[str, Any]]:
    """One input for each point that phase 09 comes by."""
    answered = CALL._replace(response=ToolResponse("ok", failed=False))
    return {
        "accept_gate": stop_input(hook_at("accept_gate"), RUN, ENDING),
        "before_tool_call": tool_input(hook_at("before_tool_call"), RUN, CALL),
        "after_tool_result": tool_input(hook_at("after_tool_result"), RUN, answered),
        "after_tool_failure": tool_input(hook_at("after_tool_failure"), RUN, answered),
        "session_start": session_input(hook_at("session_start"), RUN, SessionFacts("startup")),
        "session_end": session_input(hook_at("session_end"), RUN, SessionFacts("accepted")),
        "subagent_stop": subagent_input(
            hook_at("subagent_stop"), RUN, SubagentFacts("7", "7-call-2", "explore", "succeeded", "found it")
        ),
    }


@pytest.mark.parametrize("point", every_input())
def test_every_input_is_compact_and_names_its_transcript(point: str) -> None:
    """Scripts for Claude Code look for `"tool_name":"Bash"` with grep."""
    body = {**every_input()[point], "tool_name": "Bash", "tool_input": {"a": [1, {"b": "c, d: e"}]}}
    data = payload_bytes(body)
    assert b'"tool_name":"Bash"' in data
    assert b'"tool_input":{"a":[1,{"b":"c, d: e"}]}' in data
    assert data == json.dumps(body, separators=(",", ":")).encode() + b"\n"
    named = session_input(hook_at("session_start"), RUN._replace(transcript="/t.jsonl"), SessionFacts("startup"))
    assert named["transcript_path"] == "/t.jsonl"


def test_the_input_of_a_stop_hook_is_exactly_the_one_that_is_promised() -> None:
    asked = ENDING._replace(continue_count=1, last_block=("tests", "2 failed"), attempt=2)
    assert json.dumps(stop_input(hook_at("accept_gate"), RUN, asked)) == json.dumps(
        {
            "schema_version": 1,
            "hook_event_name": "Stop",
            "hook_point": "accept_gate",
            "session_id": "s1",
            "run_id": "r1",
            "turn_id": "7",
            "transcript_path": None,
            "cwd": "/ws",
            "permission_mode": "default",
            "model": "some-model",
            "stop_hook_active": True,
            "last_assistant_message": "All done.",
            "hook": {"id": "tests", "source": "repo", "attempt": 2},
            "workspace": {
                "root": "/ws", "changed": True, "base": "b", "head": "h",
                "changed_files": [{"path": "a.py", "change": "modified"}], "truncated": False,
            },
            "todo_summary": {
                "total": 3, "required_total": 2, "required_completed": 1, "required_failed": 0, "required_open": 1,
            },
            "recent_tools": [{"name": "Bash", "is_error": False}],
            "acceptance": {
                "continue_count": 1,
                "max_continues": 3,
                "last_block": {"hook": "tests", "reason": "2 failed"},
            },
        }
    )  # fmt: skip


def test_the_first_ending_is_no_answer_to_a_stop_hook() -> None:
    body = stop_input(hook_at("accept_gate"), RUN, ENDING)
    assert body["stop_hook_active"] is False
    assert body["acceptance"] == {"continue_count": 0, "max_continues": 3, "last_block": None}


def test_there_is_an_input_for_every_point_that_is_come_by() -> None:
    assert set(every_input()) == {point.name for point in POINTS.values() if point.fires}


@pytest.mark.parametrize("point", every_input())
def test_every_input_says_where_and_what_for(point: str) -> None:
    body = every_input()[point]
    assert body["hook_event_name"] == POINTS[point].claude
    said = {name: body[name] for name in ("schema_version", "hook_point", "session_id", "run_id", "cwd", "model")}
    assert said == {
        "schema_version": 1, "hook_point": point, "session_id": "s1", "run_id": "r1", "cwd": "/ws", "model": "some-model",
    }  # fmt: skip
    assert (body["transcript_path"], body["permission_mode"]) == (None, "default")
    assert body["hook"] == {"id": "tests", "source": "repo", "attempt": 1}
    assert ("turn_id" in body) == (not point.startswith("session_"))


def test_the_changed_files_are_at_most_500_and_it_says_so() -> None:
    files = [(f"{number}.py", "added") for number in range(501)]
    told = stop_input(hook_at("accept_gate"), RUN, ENDING._replace(files=files))["workspace"]
    assert (len(told["changed_files"]), told["truncated"]) == (500, True)
    told = stop_input(hook_at("accept_gate"), RUN, ENDING._replace(files=files[:500]))["workspace"]
    assert (len(told["changed_files"]), told["truncated"]) == (500, False)
    told = stop_input(hook_at("accept_gate"), RUN, ENDING._replace(truncated=True))["workspace"]
    assert (len(told["changed_files"]), told["truncated"]) == (1, True)


def test_of_many_tools_the_latest_twenty_are_told() -> None:
    tools = [(f"tool {number}", number % 2 == 0) for number in range(30)]
    told = stop_input(hook_at("accept_gate"), RUN, ENDING._replace(recent_tools=tools))["recent_tools"]
    assert [tool["name"] for tool in told] == [f"tool {number}" for number in range(10, 30)]
    assert told[-1] == {"name": "tool 29", "is_error": False}


@pytest.mark.parametrize("letter", ["a", "é", "語", "😀"], ids=["1 byte", "2 bytes", "3 bytes", "4 bytes"])
@pytest.mark.parametrize("start", ["", "x", "xx", "xxx"])
def test_a_long_last_message_is_cut_between_two_characters(letter: str, start: str) -> None:
    body = stop_input(hook_at("accept_gate"), RUN, ENDING._replace(last_message=start + letter * 32 * 1024))
    told = body["last_assistant_message"]
    assert 32 * 1024 - 4 < len(told.encode()) <= 32 * 1024
    assert (start + letter * 32 * 1024).startswith(told)


def test_a_tool_call_is_told_in_the_names_of_claude_code() -> None:
    body = tool_input(hook_at("before_tool_call"), RUN, CALL)
    assert (body["tool_name"], body["tool_use_id"]) == ("Write", "call-1")
    assert body["tool_input"] == {"file_path": "a.py", "content": "x = 1\n"}
    assert "tool_response" not in body
    answered = CALL._replace(response=ToolResponse("written", failed=False))
    body = tool_input(hook_at("after_tool_result"), RUN, answered)
    assert (body["tool_response"], "error" in body) == ({"text": "written", "is_error": False}, False)
    failed = CALL._replace(response=ToolResponse("no such file", failed=True))
    body = tool_input(hook_at("after_tool_failure"), RUN, failed)
    assert (body["tool_response"], body["error"]) == ({"text": "no such file", "is_error": True}, "no such file")


def test_a_session_says_why_it_begins_and_why_it_ends() -> None:
    began = session_input(hook_at("session_start"), RUN, SessionFacts("resume"))
    assert (began["source"], "reason" in began) == ("resume", False)
    ended = session_input(hook_at("session_end"), RUN, SessionFacts("hook_stopped", "user:tests: out of quota"))
    assert (ended["reason"], ended["detail"]) == ("hook_stopped", "user:tests: out of quota")
    assert "source" not in ended


def test_a_sub_agent_that_stops_is_told_in_the_names_of_claude_code() -> None:
    body = every_input()["subagent_stop"]
    told = {"agent_id": "7-call-2", "agent_type": "explore", "state": "succeeded", "last_assistant_message": "found it"}
    assert told.items() <= body.items()
    assert body["stop_hook_active"] is False


def test_the_variables_for_a_hook_hold_no_secret() -> None:
    assert variables_for(hook_at("accept_gate", USER), RUN) == {
        "CLAUDE_PROJECT_DIR": "/ws", "PIPELINE_PROJECT_DIR": "/ws", "PIPELINE_RUN_ID": "r1", "PIPELINE_HOOK_ID": "tests",
        "CI": "1", "GIT_TERMINAL_PROMPT": "0", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


@pytest.mark.parametrize(("source", "root"), [(USER, "/own"), (REPO, "/ws/.pipeline")])
def test_the_plugin_root_is_where_a_hook_is_written_down(source: str, root: str) -> None:
    run = RUN._replace(settings_directory="/own")
    hook = hook_at("accept_gate", source)
    assert variables_for(hook, run)["CLAUDE_PLUGIN_ROOT"] == root
    assert "CLAUDE_PLUGIN_ROOT" not in variables_for(replace(hook, env={"CLAUDE_PLUGIN_ROOT": "/mine"}), run)


def test_arguments_that_cannot_be_changed_are_written_like_any_others() -> None:
    arguments = MappingProxyType({"nested": MappingProxyType({"a": 1})})
    body = tool_input(hook_at("before_tool_call"), RUN, CALL._replace(arguments=arguments))
    assert parse_json(payload_bytes(body))["tool_input"] == {"nested": {"a": 1}}


def test_what_is_no_json_is_a_bug_and_not_a_text() -> None:
    with pytest.raises(TypeError, match="a set is not JSON"):
        payload_bytes({"x": set()})


TEXTS = st.text(st.characters(exclude_categories=[]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@QUICK
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), TEXTS)
@example({"a": "\ud800"}, "\udc80 and \ud83d\ude00")
@example({"a": "\u2028\x00\x7f"}, "\r\n")
def test_whatever_is_said_the_input_is_one_line_of_strict_json(arguments: dict[str, Any], text: str) -> None:
    call = CALL._replace(arguments=arguments, response=ToolResponse(text, failed=True))
    for body in (
        tool_input(hook_at("after_tool_failure"), RUN, call),
        stop_input(hook_at("accept_gate"), RUN, ENDING._replace(last_message=text)),
    ):
        data = payload_bytes(body)
        assert (data.count(b"\n"), data[-1:]) == (1, b"\n")
        assert parse_json(data).keys() == body.keys()


def test_half_a_surrogate_pair_is_replaced() -> None:
    body = stop_input(hook_at("accept_gate"), RUN, ENDING._replace(last_message="a\ud800b"))
    assert parse_json(payload_bytes(body))["last_assistant_message"] == "a\ufffdb"
