"""Hooks as they are configured: every default by its point, and every fault with its place and what to do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.acceptance.command_hooks import SET_FOR_ALL
from phases.acceptance.configuration.parse_hooks import HookConfigError, find_problems, parse_hooks
from phases.acceptance.hook import POINTS, REPO, USER, Hook
from phases.acceptance.payload import RunFacts, variables_for
from pipeline.base.errors import ContractError
from pipeline.base.plain_yaml import dump_yaml
from pipeline.engine.contract import Contracts
from tests.strategies import QUICK

COMMAND = {"id": "a", "point": "accept_gate", "kind": "command", "params": {"command": "true"}}
BUILTIN = {"id": "a", "point": "accept_gate", "params": {"handler": "require_file_exists", "path": "README.md"}}
CONTRACTS = Contracts()


def loaded(config: dict[str, Any], source: str = USER) -> tuple[Hook, ...]:
    """The hooks of a file, by way of its schema."""
    data = dump_yaml({"hooks": config})
    value = CONTRACTS.parse("hooks.yaml", data, writer="the user")
    return parse_hooks(value["hooks"], source, "config.yaml" if source == USER else ".pipeline/hooks.yaml")


def one(item: dict[str, Any], source: str = USER, **config: Any) -> Hook:
    (hook,) = loaded({**config, "items": [item]}, source)
    return hook


def refusal(config: dict[str, Any], source: str = USER) -> str:
    with pytest.raises(HookConfigError) as caught:
        loaded(config, source)
    return str(caught.value)


# Defaults


@pytest.mark.parametrize(
    ("point", "seconds", "failure_policy", "exit_policy"),
    [
        ("accept_gate", 600, "fail_closed", "strict"),
        ("before_tool_call", 60, "fail_open", "claude"),
        ("after_tool_result", 60, "fail_open", "claude"),
        ("after_tool_failure", 60, "fail_open", "claude"),
        ("subagent_stop", 60, "fail_open", "claude"),
        ("session_start", 60, "fail_open", "claude"),
        ("session_end", 5, "fail_open", "claude"),
    ],
)
def test_what_a_hook_does_not_say_is_said_by_its_point(
    point: str, seconds: float, failure_policy: str, exit_policy: str
) -> None:
    hook = one({**COMMAND, "point": point})
    assert (hook.seconds, hook.failure_policy, hook.exit_policy) == (seconds, failure_policy, exit_policy)
    assert (hook.key, hook.priority, hook.when, hook.timeout_blocks) == ("user:a", 0, "workspace_changed", False)
    assert (hook.fail_fast, hook.allow_writes, hook.sandbox, hook.matcher) == (False, False, False, "")


def test_every_point_that_is_offered_takes_a_hook_and_every_other_refuses_it() -> None:
    """The table is the one truth, for configuration and for execution."""
    for name, point in POINTS.items():
        item = {**COMMAND, "point": name}
        if point.mountable and point.fires:
            assert one(item).point == name
        else:
            assert f"items[0].point: {'phase 09 never' if point.mountable else 'no hook'}" in refusal({"items": [item]})


def test_what_a_hook_says_goes_before_what_the_file_says_and_that_before_the_point() -> None:
    config: dict[str, Any] = {"default_timeout_sec": 2, "default_failure_policy": "warn_only"}
    by_file = one(COMMAND, **config)
    assert (by_file.seconds, by_file.failure_policy) == (2, "fail_open")
    by_item = one({**COMMAND, "timeout_sec": 3.5, "failure_policy": "fail_closed"}, **config)
    assert (by_item.seconds, by_item.failure_policy) == (3.5, "fail_closed")


def test_warn_only_is_fail_open_and_in_the_sandbox_exit_codes_alone_count() -> None:
    assert one({**COMMAND, "failure_policy": "warn_only"}).failure_policy == "fail_open"
    assert one({**COMMAND, "point": "after_tool_result", "sandbox": True}).exit_policy == "strict"


def test_all_that_a_hook_can_say_is_taken_over() -> None:
    hook = one(
        {
            "id": "Style.1", "point": "before_tool_call", "scope": "user", "kind": "command", "mode": "sync", "priority": -3,
            "exit_policy": "auto", "on_timeout": "block", "matcher": "Write|Edit", "env": {"A": "b"}, "env_allow": ["MY_TOKEN"],
            "params": {"args": ["ci/style", "--all"]},
        }
    )  # fmt: skip
    assert hook == Hook(
        "Style.1", USER, "before_tool_call", "command", priority=-3, seconds=60, failure_policy="fail_open", exit_policy="auto",
        timeout_blocks=True, params={"args": ["ci/style", "--all"]}, matcher="Write|Edit", env={"A": "b"},
        env_allow=("MY_TOKEN",),
    )  # fmt: skip
    gate = one({**COMMAND, "when": "always", "allow_writes": True, "sandbox": True, "fail_fast": True})
    assert (gate.when, gate.allow_writes, gate.sandbox, gate.fail_fast) == ("always", True, True, True)


# Order, and what is turned off


def test_a_higher_priority_runs_first_and_ties_keep_the_order_of_the_file() -> None:
    rows = [("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", -1)]
    hooks = loaded({"items": [{**COMMAND, "id": name, "priority": priority} for name, priority in rows]})
    assert [hook.id for hook in hooks] == ["b", "d", "a", "c", "e"]


@pytest.mark.parametrize(
    ("config", "source", "ids"),
    [
        pytest.param({}, USER, ["b"], id="a hook that is turned off does not run"),
        pytest.param({"enabled": False}, USER, [], id="a file that is turned off has no hooks"),
        pytest.param({"user_hooks_enabled": False}, USER, [], id="the user's hooks can be turned off alone"),
        pytest.param({"enabled": False}, REPO, [], id="a repository can turn its own hooks off"),
    ],
)
def test_what_is_turned_off_does_not_run(config: dict[str, Any], source: str, ids: list[str]) -> None:
    items = [{**COMMAND, "enabled": False}, {**COMMAND, "id": "b"}]
    assert [hook.id for hook in loaded({**config, "items": items}, source)] == ids


def test_a_hook_that_is_turned_off_is_checked_all_the_same() -> None:
    assert "items[0].timeout_sec" in refusal({"items": [{**COMMAND, "enabled": False, "timeout_sec": 0}]})


@pytest.mark.parametrize(
    "config", [{}, {"items": []}, {"enabled": True}], ids=["nothing", "no items", "a switch alone"]
)
def test_a_file_without_hooks_has_none(config: dict[str, Any]) -> None:
    assert loaded(config) == ()


# Refused: by place


NEAR = (
    "; there are: session_start, before_tool_call, after_tool_result, after_tool_failure, subagent_stop, "
    "accept_gate, session_end"
)
REFUSED = [
    pytest.param({**COMMAND, "point": "accept_gat"}, ".point", "'accept_gat' is not a point; did you mean 'accept_gate'?",
        id="an unknown point, with what is near"),
    pytest.param({**COMMAND, "point": "xyz"}, ".point", f"'xyz' is not a point{NEAR}",
        id="an unknown point, with nothing near"),
    pytest.param({**COMMAND, "point": "before_completion_decision"}, ".point",
        "there is no point before_completion_decision; work is accepted at accept_gate: write that",
        id="the point that never was"),
    *(pytest.param({**COMMAND, "point": name}, ".point", f"'{name}' is the name of accept_gate in other tools; write that",
        id=f"the name {name} of other tools") for name in ("Stop", "AfterAgent")),
    pytest.param({**COMMAND, "point": "pre_compact"}, ".point",
        f"no hook of the user or of a repository can be mounted at pre_compact{NEAR}", id="a point where nothing is mounted"),
    pytest.param({**COMMAND, "point": "user_prompt_submit"}, ".point",
        f"phase 09 never reaches user_prompt_submit, so this hook would never run{NEAR}", id="a point that never comes"),
    *(pytest.param({**COMMAND, "timeout_sec": seconds}, ".timeout_sec",
        f"{seconds} seconds: it must be over 0 and at most 3600", id=f"{seconds} seconds") for seconds in (0, -1.5, 3601)),
    *(pytest.param({**COMMAND, "kind": kind}, ".kind",
        f"hooks of kind {kind} are not run here: the opinion of a model is not a check; write kind: command", id=kind)
      for kind in ("prompt", "agent")),
    pytest.param({**COMMAND, "kind": "internal"}, ".kind",
        "internal hooks come with the pipeline and cannot be added; write kind: command", id="an internal hook"),
    pytest.param({**COMMAND, "kind": "comand"}, ".kind", "'comand' is not a kind; did you mean 'command'?",
        id="an unknown kind"),
    pytest.param({**COMMAND, "scope": "repo"}, ".scope", "'repo' is not the scope of this file; write user, or delete it",
        id="another scope"),
    pytest.param({**COMMAND, "mode": "async"}, ".mode", "'async' is not a mode of kind command; write sync, or delete it",
        id="an async command"),
    pytest.param({**BUILTIN, "sandbox": True}, ".sandbox",
        "only hooks of kind command have sandbox; delete it, or write kind: command", id="the sandbox for a builtin"),
    pytest.param({**BUILTIN, "exit_policy": "strict"}, ".exit_policy",
        "only hooks of kind command have exit_policy; delete it, or write kind: command", id="exit codes of a builtin"),
    pytest.param({**COMMAND, "sandbox": True, "exit_policy": "claude"}, ".exit_policy",
        "in the sandbox exit codes alone count; write strict or auto, or delete it",
        id="the protocol of Claude Code in the sandbox"),
    pytest.param({**COMMAND, "sandbox": True, "env": {"A": "b"}}, ".env",
        "the sandbox gives no variables to commands; delete it, or sandbox", id="variables in the sandbox"),
    pytest.param({**COMMAND, "env": {"A": "b\0"}}, ".env.A", "no variable can hold a NUL character; delete it",
        id="a NUL in a variable"),
    pytest.param({**COMMAND, "matcher": "Bash"}, ".matcher",
        "no tool is called at accept_gate; delete it, or mount the hook at before_tool_call",
        id="a matcher where no tool is called"),
    pytest.param({**COMMAND, "point": "session_start", "matcher": "Bash"}, ".matcher",
        "'Bash' fits neither startup nor resume, so this hook would never run; write one of them",
        id="a matcher that fits no way to begin"),
    pytest.param({**COMMAND, "point": "before_tool_call", "matcher": "("}, ".matcher",
        "'(' is not a regular expression: missing ), unterminated subpattern at position 0; fix it, like 'Write|Edit'",
        id="a matcher that is none"),
    pytest.param({**COMMAND, "point": "before_tool_call", "matcher": "[[a]"}, ".matcher",
        "'[[a]' is not a regular expression: Possible nested set at position 1; fix it, like 'Write|Edit'",
        id="a matcher that will mean something else"),
    pytest.param({**COMMAND, "point": "session_end", "when": "always"}, ".when",
        "it has no effect at session_end, only at accept_gate; delete it", id="a condition away from the gate"),
    pytest.param({**COMMAND, "point": "session_end", "allow_writes": True}, ".allow_writes",
        "it has no effect at session_end, only at accept_gate; delete it", id="a right to write away from the gate"),
    pytest.param({**COMMAND, "point": "before_tool_call", "fail_fast": True}, ".fail_fast",
        "it has no effect at before_tool_call, only at accept_gate; delete it",
        id="later hooks that are skipped away from the gate"),
    pytest.param({**COMMAND, "point": "session_end", "failure_policy": "fail_closed"}, ".failure_policy",
        "nothing can be blocked at session_end, so fail_closed says nothing there; delete it",
        id="a hook that fails closed where nothing can be blocked"),
    pytest.param({**COMMAND, "point": "after_tool_result", "on_timeout": "block"}, ".on_timeout",
        "nothing can be blocked at after_tool_result, so block says nothing there; delete it",
        id="a timeout that blocks where nothing can be blocked"),
    *(
        pytest.param(
            {**COMMAND, "env": {name: "0"}},
            f".env.{name}",
            (f"the pipeline sets {name} for every hook; delete it, or set it in the command: env {name}=… COMMAND"),
            id=f"the variable {name}, which every hook is given",
        )
        for name in ("CI", "GIT_TERMINAL_PROMPT", "PYTHONUNBUFFERED")
    ),
    *(
        pytest.param(
            {**BUILTIN, "params": {"handler": "require_file_exists", "path": path}},
            ".params.path",
            (f"{path!r} leads out of the workspace, so it would never be found; write a path in it, like README.md"),
            id=f"a file outside the workspace: {path}",
        )
        for path in ("../README.md", "a/../../README.md", "..", "/etc/passwd")
    ),
    *(
        pytest.param(
            {**BUILTIN, "params": {"handler": "require_file_exists", "path": path}},
            ".params.path",
            (f"{path!r} is not a file in the workspace; name one, like README.md"),
            id=f"a file that can be none: {path!a}",
        )
        for path in (".", "a/..", "docs/", "a\0b")
    ),
    *(pytest.param({**COMMAND, "id": name}, ".id",
        f"{name!r} is not an id: use letters, digits, '.', '_' and '-', at most 64 of them", id=f"the id {name!a}")
      for name in ("", "../x", "a\n", "tésts", "x" * 65)),
    pytest.param({**COMMAND, "params": {}}, ".params", "give either command (a line for sh) or args (a list, without a shell)",
        id="no command"),
    pytest.param({**COMMAND, "params": {"command": "a", "args": ["a"]}}, ".params",
        "give either command (a line for sh) or args (a list, without a shell)", id="command and args"),
    pytest.param({**COMMAND, "params": {"command": " "}}, ".params.command",
        "there is nothing to run; write a command, like 'python -m pytest -q'", id="an empty command"),
    pytest.param({**COMMAND, "params": {"args": []}}, ".params.args",
        "there is nothing to run; write a command, like [python, -m, pytest, -q]", id="empty args"),
    pytest.param({**COMMAND, "params": {"args": [""]}}, ".params.args",
        "there is nothing to run; write a command, like [python, -m, pytest, -q]", id="an empty program"),
    pytest.param({**COMMAND, "params": {"command": "a\0b"}}, ".params.command",
        "no command can hold a NUL character; delete it", id="a NUL in a command"),
    pytest.param({**COMMAND, "params": {"command": "a", "message": "b"}}, ".params.message",
        "kind command has no message; it has: command, args; delete it", id="params of another kind"),
    pytest.param(
        {"id": "a", "point": "accept_gate", "params": {"command": "a"}},
        ".params.handler",
        (
            "a builtin needs a handler; there are: require_file_exists, warn_on_tool_call, "
            "add_context_note (kind is builtin where it is not given; for a command write kind: "
            "command)"
        ),
        id="a command without its kind",
    ),
    pytest.param({**BUILTIN, "kind": "builtin", "params": {"handler": "x"}}, ".params.handler",
        "'x' is not a builtin; there are: require_file_exists, warn_on_tool_call, add_context_note", id="an unknown builtin"),
    pytest.param({**BUILTIN, "params": {"handler": "require_file_exists"}}, ".params", "require_file_exists needs path",
        id="a file that is required and not named"),
    pytest.param({**BUILTIN, "params": {"handler": "require_file_exists", "path": " "}}, ".params.path",
        "it is empty; write it, or delete it", id="a file of no name"),
    pytest.param(
        {
            **BUILTIN,
            "point": "before_tool_call",
            "params": {"handler": "warn_on_tool_call", "tool_name": "a", "tool_names": ["a"]},
        },
        ".params",
        ("warn_on_tool_call needs tool_name or tool_names, not both"),
        id="one tool and several",
    ),
    pytest.param({**BUILTIN, "params": {"handler": "warn_on_tool_call", "tool_name": "a"}}, ".params.handler",
        "no tool is called at accept_gate; mount it at before_tool_call", id="a warning of tools where none is called"),
    pytest.param({**BUILTIN, "params": {"handler": "add_context_note", "note": "a"}}, ".params.handler",
        "a note goes back to the model and costs an attempt, so nothing would ever be accepted; mount it at session_start",
        id="a note that would refuse all work"),
    pytest.param({**BUILTIN, "point": "session_end", "params": {"handler": "add_context_note", "note": "a"}}, ".params.handler",
        "no model is asked after session_end; mount it at session_start", id="a note that nobody would read"),
    pytest.param({**BUILTIN, "point": "session_start", "params": {"handler": "add_context_note"}}, ".params",
        "add_context_note needs note or message, not both", id="a note without words"),
    pytest.param({**COMMAND, "kind": "http"}, ".kind",
        "hooks of kind http are not run here; write kind: command with a command that calls curl", id="an http hook"),
]  # fmt: skip


@pytest.mark.parametrize(("item", "place", "words"), REFUSED)
def test_refused_with_the_place_of_the_fault(item: dict[str, Any], place: str, words: str) -> None:
    message = refusal({"items": [{**COMMAND, "id": "first"}, item]})
    assert message == f"config.yaml at $.runtime.hooks.items[1]{place}: {words}"


@pytest.mark.parametrize("path", ["README.md", "./docs/a.md", "a/../b.md", "..notes/x", "a b"])
def test_any_file_in_the_workspace_can_be_required(path: str) -> None:
    assert one({**BUILTIN, "params": {"handler": "require_file_exists", "path": path}}).params["path"] == path


def test_the_variables_that_are_refused_are_those_that_every_hook_is_given() -> None:
    given = variables_for(one(COMMAND), RunFacts("s", "r", "/w", "m"))
    assert set(SET_FOR_ALL) == {name for name in given if not name.startswith(("CLAUDE_", "PIPELINE_"))}


def test_an_id_stands_once_in_a_file_whatever_its_case() -> None:
    assert refusal({"items": [{**COMMAND, "id": "Tests"}, {**COMMAND, "id": "b"}, {**COMMAND, "id": "tESTS"}]}) == (
        "config.yaml at $.runtime.hooks.items[2].id: "
        "'tESTS' is the id of items[0] too (case does not count); choose another"
    )


@pytest.mark.parametrize(
    "name", ["user_hooks_enabled", "on_untrusted", "default_timeout_sec", "default_failure_policy"]
)
def test_a_repository_says_nothing_of_the_users_own_choices(name: str) -> None:
    value = {"user_hooks_enabled": False, "on_untrusted": "skip", "default_timeout_sec": 9}.get(name, "fail_open")
    assert refusal({name: value, "items": []}, REPO) == (
        f".pipeline/hooks.yaml at $.hooks.{name}: a repository may not set this; "
        f"put {name} under runtime.hooks in the config.yaml of the user"
    )


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({**COMMAND, "kind": "internal"}, ".kind: internal hooks come with the pipeline"),
        ({**COMMAND, "scope": "user"}, ".scope: 'user' is not the scope of this file; write repo, or delete it"),
    ],
    ids=["an internal hook", "the scope of the user"],
)
def test_a_repository_may_not_mount(item: dict[str, Any], words: str) -> None:
    assert f".pipeline/hooks.yaml at $.hooks.items[0]{words}" in refusal({"items": [item]}, REPO)


def test_a_default_of_no_time_is_refused_too() -> None:
    assert "$.runtime.hooks.default_timeout_sec: 0 seconds" in refusal({"default_timeout_sec": 0})


def test_all_problems_are_told_at_once_where_they_are_asked_for() -> None:
    items = [{**COMMAND, "timeout_sec": 0, "point": "Stop"}, {**COMMAND, "id": "A", "kind": "agent"}]
    places = [line.partition(": ")[0] for line in find_problems({"items": items}, USER, "config.yaml")]
    root = "config.yaml at $.runtime.hooks.items"
    assert places == [f"{root}[0].point", f"{root}[0].timeout_sec", f"{root}[1].id", f"{root}[1].kind"]


# Refused: by the schema


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"itmes": []}, "at $.hooks: Additional properties are not allowed ('itmes' was unexpected)"),
        ({"items": [{**COMMAND, "timeout": 5}]}, "at $.hooks.items[0]: Additional properties are not allowed ('timeout'"),
        ({"items": [{**COMMAND, "args": ["a"]}]}, "at $.hooks.items[0]: Additional properties are not allowed ('args'"),
        ({"items": [{"id": "a"}]}, "at $.hooks.items[0]: 'point' is a required property"),
        ({"items": [{"point": "accept_gate"}]}, "at $.hooks.items[0]: 'id' is a required property"),
        ({"items": [{**COMMAND, "failure_policy": "maybe"}]}, "at $.hooks.items[0].failure_policy: 'maybe' is not one of"),
        ({"items": [{**COMMAND, "timeout_sec": "5"}]}, "at $.hooks.items[0].timeout_sec: '5' is not of type 'number'"),
        ({"items": [{**COMMAND, "env": {"A=B": "c"}}]}, "at $.hooks.items[0].env: 'A=B' does not match"),
        ({"on_untrusted": "ask"}, "at $.hooks.on_untrusted: 'ask' is not one of"),
    ],
    ids=lambda value: str(value)[:50] if isinstance(value, str) else "",
)  # fmt: skip
def test_a_shape_that_is_unknown_is_refused_with_its_place(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ContractError) as caught:
        loaded(config)
    assert words in str(caught.value)


@pytest.mark.parametrize("number", [0, 1])
def test_the_examples_of_the_schema_are_hooks(number: int) -> None:
    config = CONTRACTS.schema("hooks.yaml")["examples"][number]["hooks"]
    assert find_problems(config, USER, "example") == []
    assert loaded(config)


texts = st.text(max_size=12)
words = st.one_of(
    texts, st.sampled_from(["accept_gate", "Stop", "command", "builtin", "http", "user", "repo", "claude"])
)
items = st.fixed_dictionaries(
    {"id": words, "point": words},
    optional={
        "kind": words, "scope": words, "mode": words, "matcher": words, "timeout_sec": st.floats(allow_nan=False),
        "env": st.dictionaries(st.sampled_from(["A", "B"]), texts, max_size=2), "sandbox": st.booleans(),
        "params": st.fixed_dictionaries({}, optional={
            "command": texts, "args": st.lists(texts, max_size=3), "handler": words, "url": texts,
            "headers": st.dictionaries(texts, texts, max_size=2), "tool_names": st.lists(texts, max_size=2), "note": texts,
        }),
    },
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(items, max_size=4), st.sampled_from([USER, REPO]))
@QUICK
def test_hooks_are_made_or_refused_in_one_line_whatever_the_file_says(rows: list[dict[str, Any]], source: str) -> None:
    problems = find_problems({"items": rows}, source, "x")
    if problems:
        assert all("\n" not in problem and problem.startswith("x at $.") for problem in problems)
        with pytest.raises(HookConfigError):
            parse_hooks({"items": rows}, source, "x")
    else:
        assert len(parse_hooks({"items": rows}, source, "x")) == len(rows)
