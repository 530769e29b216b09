"""Importing hooks of other tools: what is taken over is a hook of ours, and what is not is named."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.acceptance.administration.import_hooks import ImportedHooks, import_hooks
from phases.acceptance.configuration.parse_hooks import HookConfigError, parse_hooks
from phases.acceptance.hook import POINTS, USER
from pipeline.base.plain_yaml import dump_yaml
from pipeline.engine.contract import Contracts
from tests.strategies import QUICK, hostile_json, json_values

CONTRACTS = Contracts()
PLACE = "$.hooks.Stop[0].hooks[0]"
STOP = {"type": "command", "command": "python -m pytest -q"}


def imported(kind: str, value: Any) -> ImportedHooks:
    """What is imported, once it is known that the items are hooks by the schema and by the rules."""
    found = import_hooks(kind, json.dumps(value).encode(), "settings.json")
    assert_sound(found)
    return found


def assert_sound(found: ImportedHooks) -> None:
    data = dump_yaml({"hooks": {"items": found.items}})
    value = CONTRACTS.parse("hooks.yaml", data, writer="the import")
    assert len(parse_hooks(value["hooks"], USER, "config.yaml")) == len(found.items)
    assert all("\n" not in line and line.startswith("$") for line in found.untranslated)


def of_event(kind: str, event: str, *hooks: Any, **group: Any) -> ImportedHooks:
    return imported(kind, {"hooks": {event: [{**group, "hooks": list(hooks)}]}})


# Taken over


def test_a_stop_hook_of_claude_code_becomes_an_accept_gate_hook() -> None:
    assert of_event("claude", "Stop", {**STOP, "timeout": 90}, matcher="") == ImportedHooks(
        [
            {
                "id": "stop-python-m-pytest-q", "point": "accept_gate", "kind": "command", "timeout_sec": 90,
                "exit_policy": "claude", "params": {"command": "python -m pytest -q"},
            }
        ],
        [],
    )  # fmt: skip


def test_an_event_becomes_a_point() -> None:
    shared = {"SessionStart": "session_start", "SessionEnd": "session_end"}
    claude = {
        **shared, "PreToolUse": "before_tool_call", "PostToolUse": "after_tool_result", "Stop": "accept_gate",
        "PostToolUseFailure": "after_tool_failure", "SubagentStop": "subagent_stop",
    }  # fmt: skip
    gemini = {
        **shared, "AfterAgent": "accept_gate", "BeforeTool": "before_tool_call", "AfterTool": "after_tool_result"
    }  # fmt: skip
    for kind, points in (("claude", claude), ("codex", claude), ("gemini", gemini)):
        for event, point in points.items():
            found = of_event(kind, event, STOP)
            assert ([item["point"] for item in found.items], found.untranslated) == ([point], []), (kind, event)


def test_the_tools_that_a_matcher_names_are_called_by_our_names() -> None:
    for kind, theirs, ours in (
        ("claude", "Bash", "Bash"),
        ("claude", "Write|Edit|MultiEdit", "Write|Edit"),
        ("claude", "Edit, Write", "Edit|Write"),
        ("claude", "*", None),
        ("claude", "", None),
        ("claude", "^(Edit|Write)$", ".*(?:^(Edit|Write)$).*"),
        ("gemini", "run_shell_command", "Bash"),
        ("gemini", "write_file|replace", "Write|Edit"),
        ("gemini", "read_file|glob|search_file_content|grep", "Read|Glob|Grep"),
        ("gemini", r"^\bwrite_file\b|^replace$", r".*(?:^\bWrite\b|^Edit$).*"),
        ("codex", "apply_patch", "Write|Edit"),
        ("codex", "^apply_patch$", ".*(?:^(?:Write|Edit)$).*"),
        ("codex", "shell", "Bash"),
    ):
        found = of_event(kind, "BeforeTool" if kind == "gemini" else "PreToolUse", STOP, matcher=theirs)
        assert (found.items[0].get("matcher"), found.untranslated) == (ours, []), (kind, theirs)


def test_a_pattern_is_searched_for_as_it_was_there() -> None:
    for pattern, tool, fits in (
        ("Edit.*", "Edit", True), ("^Ed", "Edit", True), ("it$", "Edit", True), ("^Edit$", "TodoEdit", False),
        ("E[d]it|Write", "Write", True), ("^Todo", "Write", False),
    ):  # fmt: skip
        found = of_event("claude", "PreToolUse", STOP, matcher=pattern)
        assert bool(re.fullmatch(found.items[0]["matcher"], tool)) is fits, pattern


@pytest.mark.parametrize(
    ("kind", "theirs", "seconds", "line"),
    [
        ("claude", 5, 5, None),
        ("claude", 0.5, 0.5, None),
        ("claude", None, 600, None),
        ("gemini", 5000, 5, None),
        ("gemini", 1500, 1.5, None),
        ("gemini", None, 60, None),
        ("claude", 7200, 3600, "7200 is over the limit; it becomes 3600 s"),
        ("gemini", 10**30, 3600, f"{10**30} is over the limit; it becomes 3600 s"),
        ("claude", 0, 600, "0 is not a timeout; it is ignored"),
        ("claude", True, 600, "True is not a timeout; it is ignored"),
        ("claude", "5", 600, "'5' is not a timeout; it is ignored"),
    ],
)
def test_a_time_is_given_in_seconds(kind: str, theirs: Any, seconds: float, line: str | None) -> None:
    hook = STOP if theirs is None else {**STOP, "timeout": theirs}
    event = "AfterAgent" if kind == "gemini" else "Stop"
    found = of_event(kind, event, hook)
    assert found.items[0]["timeout_sec"] == seconds
    assert found.untranslated == ([f"$.hooks.{event}[0].hooks[0].timeout: {line}"] if line else [])


def test_a_command_without_a_shell_and_one_for_bash_are_lists() -> None:
    found = of_event("claude", "Stop", {"command": "ruff", "args": ["check", "."]}, {**STOP, "shell": "bash"})
    assert [item["params"] for item in found.items] == [
        {"args": ["ruff", "check", "."]},
        {"args": ["bash", "-c", "python -m pytest -q"]},
    ]
    assert found.untranslated == []


def test_the_folder_of_the_project_has_our_name_where_theirs_is_not_set() -> None:
    found = of_event("gemini", "AfterAgent", {**STOP, "command": "$GEMINI_PROJECT_DIR/a ${GEMINI_PROJECT_DIR}/b"})
    assert found.items[0]["params"] == {"command": "${PIPELINE_PROJECT_DIR}/a ${PIPELINE_PROJECT_DIR}/b"}
    assert found.untranslated == []
    found = of_event("claude", "Stop", {**STOP, "command": "$CLAUDE_PROJECT_DIR/a ${CLAUDE_PLUGIN_ROOT}/b"})
    [told] = found.untranslated
    assert told.startswith(f"{PLACE}.command: $CLAUDE_PLUGIN_ROOT is the directory of your settings file")
    found = of_event("claude", "Stop", {**STOP, "command": "$CLAUDE_REMOTE_HOME/a >> $CLAUDE_ENV_FILE"})
    assert found.untranslated == ["$.hooks.Stop[0].hooks[0].command: $CLAUDE_REMOTE_HOME is not set here"]


def test_the_directory_of_the_project_is_put_in_where_a_command_names_it() -> None:
    names = dict.fromkeys(("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"), "/home/me/own")
    for kind, event, command, ours in (
        ("claude", "PreToolUse", '"$CLAUDE_PROJECT_DIR"/.claude/guard.sh', '"/home/me/own"/.claude/guard.sh'),
        ("claude", "Stop", "${CLAUDE_PROJECT_DIR}/check.sh --all", "/home/me/own/check.sh --all"),
        ("codex", "PostToolUse", "$CLAUDE_PROJECT_DIR/lint", "/home/me/own/lint"),
        ("gemini", "AfterAgent", "$GEMINI_PROJECT_DIR/a", "/home/me/own/a"),
        ("claude", "Stop", "cd ${CLAUDE_PROJECT_DIR:-.}", "CLAUDE_PROJECT_DIR=/home/me/own; cd ${CLAUDE_PROJECT_DIR:-.}"),
    ):  # fmt: skip
        value = {"hooks": {event: [{"hooks": [{**STOP, "command": command}]}]}}
        found = import_hooks(kind, json.dumps(value).encode(), "settings.json", names)
        assert_sound(found)
        assert [item["params"]["command"] for item in found.items] == [ours]
        assert [item["id"] for item in found.items] == [item["id"] for item in imported(kind, value).items]
        assert "_PROJECT_DIR becomes '/home/me/own'" in found.untranslated[0]


def test_the_directory_of_a_project_is_quoted_for_the_shell_and_not_in_a_list_of_words(tmp_path: Path) -> None:
    project = tmp_path / "it's $HOME; mine"
    project.mkdir()
    (project / "a.sh").write_text("echo it ran")
    hook = {**STOP, "command": 'sh "$CLAUDE_PROJECT_DIR"/a.sh'}
    words: dict[str, Any] = {"type": "command", "command": "sh", "args": ["${CLAUDE_PROJECT_DIR}/a.sh"]}
    value = {"hooks": {"Stop": [{"hooks": [hook]}]}}
    [item] = import_hooks(
        "claude", json.dumps(value).encode(), "settings.json", {"CLAUDE_PROJECT_DIR": str(project)}
    ).items
    assert subprocess.check_output(["sh", "-c", item["params"]["command"]], text=True) == "it ran\n"
    value = {"hooks": {"Stop": [{"hooks": [words]}]}}
    [item] = import_hooks(
        "claude", json.dumps(value).encode(), "settings.json", {"CLAUDE_PROJECT_DIR": "/home/me/own"}
    ).items
    assert item["params"] == {"args": ["sh", "/home/me/own/a.sh"]}


def test_an_id_says_what_it_is_and_is_no_other_items() -> None:
    hooks = [STOP, STOP, {**STOP, "command": "é"}, {**STOP, "command": "x" * 200}, {**STOP, "name": "My Tests!"}]
    names = [item["id"] for item in of_event("gemini", "AfterAgent", *hooks).items]
    assert names == [
        "afteragent-python-m-pytest-q", "afteragent-python-m-pytest-q-2", "afteragent", f"afteragent-{'x' * 37}", "my-tests",
    ]  # fmt: skip


def test_codex_writes_toml_too() -> None:
    text = """
        model = "m"
        [[hooks.Stop]]
        [[hooks.Stop.hooks]]
        type = "command"
        command = "make check"
        timeout = 30
        [hooks.state."x"]
        enabled = false
    """
    found = import_hooks("codex", text.encode(), "config.toml")
    assert_sound(found)
    assert [(item["point"], item["timeout_sec"]) for item in found.items] == [("accept_gate", 30)]
    assert found.untranslated == ["$.model: not a hook", "$.hooks.state: this event does not exist here"]


# Not taken over


def test_a_hook_that_would_be_another_here_is_left_out_with_the_reason() -> None:
    rows: list[tuple[Any, str]] = [
        ({"type": "prompt", "prompt": "ok?"}, "hooks of type 'prompt' are not run here"),
        ({"type": ["command"]}, "hooks of type ['command'] are not run here"),
        ({"type": "http", "url": "http://localhost"}, "hooks of type 'http' are not run here: write a command that calls curl"),
        ({"type": "command"}, "`command` is not a text, or `args` is not a list of texts"),
        ({**STOP, "args": [1]}, "`command` is not a text, or `args` is not a list of texts"),
        ({**STOP, "args": ["$A"]}, "variables in `args` are not replaced here; write one line for a shell"),
        ({**STOP, "command": " "}, "there is nothing to run; write a command, like 'python -m pytest -q'"),
        ({**STOP, "command": "a" * 9000}, "longer than 8,192 characters; put it into a script"),
        ({**STOP, "async": True}, "async is not supported here, and the hook would run differently"),
        ({**STOP, "if": "Bash(git *)"}, "if is not supported here, and the hook would run differently"),
        ({**STOP, "shell": "powershell"}, "there is no shell 'powershell' here"),
        ({**STOP, "enabled": False}, "it is turned off there"),
        ("echo", "not a hook"),
    ]  # fmt: skip
    for hook, line in rows:
        assert of_event("claude", "Stop", hook) == ImportedHooks([], [f"{PLACE}: {line}"])


def test_every_field_that_says_nothing_here_is_named() -> None:
    value = {
        "permissions": {},
        "disableAllHooks": True,
        "hooks": {"Stop": [{"hooks": [{**STOP, "once": True, "statusMessage": "…", "a b": 1}], "sequential": True}]},
    }
    found = imported("claude", value)
    assert len(found.items) == 1
    assert found.untranslated == [
        "$.permissions: not a hook",
        "$.disableAllHooks: a switch, which is not followed: hooks that it turns off there are on in this translation",
        "$.hooks.Stop[0].sequential: has no equivalent here",
        f"{PLACE}.once: has no equivalent here",
        f"{PLACE}.statusMessage: has no equivalent here",
        f"{PLACE}['a b']: has no equivalent here",
    ]


def test_an_event_that_never_comes_here_is_named() -> None:
    for kind, event, line in (
        ("claude", "Notification", "this event does not exist here"),
        ("claude", "UserPromptSubmit", "phase 09 never reaches user_prompt_submit"),
        ("claude", "PreCompact", "no hook can be mounted at pre_compact"),
        ("gemini", "BeforeModel", "this event does not exist here"),
        ("gemini", "Stop", "this event does not exist here"),
    ):
        assert of_event(kind, event, STOP) == ImportedHooks([], [f"$.hooks.{event}: {line}"])


def test_how_a_session_begins_chooses_a_hook_here_too() -> None:
    for theirs, ours in (("startup", "startup"), ("resume|clear", "resume"), ("^start", ".*(?:^start).*"), ("*", None)):
        found = of_event("claude", "SessionStart", STOP, matcher=theirs)
        assert [item.get("matcher") for item in found.items] == [ours]
        assert found.untranslated == (
            ["$.hooks.SessionStart[0].matcher: no run here begins with 'clear'"] if "clear" in theirs else []
        )


def test_a_matcher_that_chooses_nothing_here_is_named() -> None:
    for event, matcher, items, line in (
        ("PreToolUse", "WebFetch", 0, "$.hooks.PreToolUse[0]: no tool here is called 'WebFetch'"),
        ("PreToolUse", "mcp__a-b", 0, "$.hooks.PreToolUse[0]: no tool here is called 'mcp__a-b'"),
        ("PreToolUse", "mcp__memory__.*", 0, "$.hooks.PreToolUse[0]: no tool here is called 'mcp__memory__.*'"),
        ("PostToolUse", "^Web.*", 0, "$.hooks.PostToolUse[0]: no tool here is called '^Web.*'"),
        ("PreToolUse", "Write|WebFetch", 1, "$.hooks.PreToolUse[0].matcher: no tool here is called 'WebFetch'"),
        ("PreToolUse", "(?<x>a)", 0, "$.hooks.PreToolUse[0].hooks[0]: '.*(?:(?<x>a)).*' is not a regular expression: "),
        ("SessionStart", "compact", 0, "$.hooks.SessionStart[0]: no run here begins with 'compact'"),
        ("SubagentStop", "Explore", 0, "$.hooks.SubagentStop[0]: at subagent_stop a matcher is not supported, "),
        ("Stop", "x", 1, "$.hooks.Stop[0].matcher: has no effect at Stop, there as here"),
    ):  # fmt: skip
        found = of_event("claude", event, STOP, matcher=matcher)
        assert (len(found.items), len(found.untranslated)) == (items, 1), matcher
        assert found.untranslated[0].startswith(line)


def test_a_file_of_another_shape_is_told_of() -> None:
    rows: list[tuple[Any, str]] = [
        ({}, "$.hooks: there are no hooks in this file"),
        ({"hooks": []}, "$.hooks: there are no hooks in this file"),
        ({"hooks": {"Stop": {}}}, "$.hooks.Stop: not a list of hooks"),
        ({"hooks": {"Stop": [STOP]}},
            "$.hooks.Stop[0]: not a group of hooks: it needs a list `hooks`, and may have a text `matcher`"),
        ({"hooks": {"Stop": [{"hooks": []}]}}, "$.hooks.Stop[0].hooks: is empty"),
        ({"hooks": {"St\nop": []}}, "$.hooks['St\\nop']: this event does not exist here"),
    ]  # fmt: skip
    for value, line in rows:
        assert imported("claude", value) == ImportedHooks([], [line])


def test_a_file_that_cannot_be_read_is_refused() -> None:
    for kind, data, name, message in (
        ("claude", b"{", "a.json", "a.json, line 1: not JSON: "),
        ("claude", b"[]", "a.json", "a.json: not an object with hooks; name its tool with --from"),
        ("codex", b"a = ", "a.toml", "a.toml: Invalid value (at end of document); fix it, "),
        ("codex", b"\xff", "a.toml", "a.toml: 'utf-8' codec can't decode"),
        ("codex", b"a = " + b"[" * 9999, "a.toml", "a.toml: "),
    ):
        with pytest.raises(HookConfigError) as caught:
            import_hooks(kind, data, name)
        assert str(caught.value).startswith(message)


# Whatever the file says

EVENTS = sorted({name for point in POINTS.values() for name in (point.claude, point.gemini) if name} | {"Other", "a b"})
texts = st.one_of(
    st.text(max_size=8), st.sampled_from(["Write", "write_file|replace", "^a(", "*", "make check", "$CODEX_HOME/x"])
)
hooks = st.one_of(
    json_values,
    st.fixed_dictionaries(
        {"command": texts},
        optional={
            "type": st.sampled_from(["command", "command", "http", "prompt"]), "timeout": json_values,
            "args": st.lists(texts, max_size=2), "name": texts, "url": st.sampled_from(["http://localhost", "http://a"]),
            "headers": st.dictionaries(texts, texts, max_size=2), "enabled": st.booleans(), "async": st.booleans(),
            "shell": texts, "other": json_values,
        },
    ),
)  # fmt: skip
groups = st.one_of(
    json_values,
    st.fixed_dictionaries(
        {"hooks": st.lists(hooks, max_size=3)}, optional={"matcher": texts, "sequential": st.booleans()}
    ),
)
settings = st.fixed_dictionaries(
    {
        "hooks": st.dictionaries(
            st.sampled_from(EVENTS), st.one_of(json_values, st.lists(groups, max_size=2)), max_size=4
        )
    },
    optional={"disableAllHooks": st.booleans(), "hooksConfig": json_values, "model": texts},
)


def is_named(place: str, found: ImportedHooks) -> bool:
    """Whether a place, or something that it is in, stands in a line."""
    named = {line.partition(": ")[0] for line in found.untranslated}
    return any(place == name or place.startswith((f"{name}.", f"{name}[")) for name in named)


def shown(key: str) -> str:
    return f".{key}" if re.fullmatch("[A-Za-z0-9_-]+", key) else f"[{key!r}]"


@given(st.sampled_from(["claude", "codex", "gemini"]), settings)
@QUICK
def test_nothing_is_dropped_in_silence(kind: str, value: dict[str, Any]) -> None:
    found = imported(kind, value)
    kept = 0
    for event, rows in value["hooks"].items():
        place = f"$.hooks{shown(event)}"
        if not isinstance(rows, list) or is_named(place, found):
            assert is_named(place, found)
            continue
        for index, group in enumerate(rows):
            inner = f"{place}[{index}]"
            if is_named(inner, found):
                continue
            for number, hook in enumerate(group["hooks"]):
                spot = f"{inner}.hooks[{number}]"
                kept += not any(line.startswith(f"{spot}: ") for line in found.untranslated)
                for key in hook if isinstance(hook, dict) else ():
                    known = key in ("type", "command", "args", "timeout", "name", "shell", "url", "headers", "enabled")
                    assert known or is_named(f"{spot}{shown(key)}", found)
    assert len(found.items) == kept
    assert len({item["id"] for item in found.items}) == kept


@given(
    st.sampled_from(["claude", "codex", "gemini"]),
    st.sampled_from(["a.json", "a.toml"]),
    st.one_of(hostile_json, st.binary()),
)
@QUICK
def test_any_bytes_are_hooks_or_refused_in_words(kind: str, name: str, data: bytes) -> None:
    try:
        found = import_hooks(kind, data, name)
    except HookConfigError as error:
        told = str(error)
    else:
        assert_sound(found)
        return
    assert told.startswith(name)
