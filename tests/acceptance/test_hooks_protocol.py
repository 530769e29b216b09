"""What a command hook says, by exit code and in JSON, and what is made of it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.acceptance.command_hooks import HookPlace, ProcessOutcome, read_verdict, run_command, strip_control
from phases.acceptance.hook import (
    ACCEPT_GATE,
    AFTER_TOOL,
    AUTO,
    BEFORE_TOOL,
    BLOCK,
    CLAUDE,
    COMMAND,
    FAILED,
    PASS,
    POINTS,
    SESSION_END,
    SESSION_START,
    STOP,
    STRICT,
    USER,
    Hook,
    HookResult,
)
from phases.acceptance.payload import RunFacts, variables_for
from tests.papers import HANGS
from tests.strategies import NASTY, QUICK

POLICIES = (STRICT, CLAUDE, AUTO)
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES)
EXIT_CODES = pytest.mark.parametrize("policy", [STRICT, AUTO])
OWN = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}


def hook_of(
    script: str = "true", policy: str = STRICT, *, point: str = ACCEPT_GATE, seconds: float = HANGS, **more: Any
) -> Hook:
    params = more.pop("params", {"command": script})
    return Hook("tests", USER, point, COMMAND, seconds=seconds, exit_policy=policy, params=params, **more)


def place_of(folder: Path, environment: dict[str, str] | None = None) -> HookPlace:
    return HookPlace(str(folder), str(folder / "hook.log"), {**OWN, **(environment or {})})


def run(folder: Path, script: str, policy: str = STRICT, payload: bytes = b"{}", **more: Any) -> HookResult:
    return run_command(hook_of(script, policy, **more), payload, place_of(folder))


def answer(
    stdout: bytes | dict[str, Any] = b"", policy: str = CLAUDE, *, point: str = ACCEPT_GATE, **ran: Any
) -> HookResult:
    printed = json.dumps(stdout).encode() if isinstance(stdout, dict) else stdout
    return read_verdict(
        ProcessOutcome(stdout=printed, **{"exit_code": 0, **ran}), hook_of(policy=policy, point=point), POINTS[point]
    )


# What it is given


def test_a_hook_runs_in_the_workspace_with_what_it_may_know_and_no_key(tmp_path: Path) -> None:
    hook = hook_of('pwd; echo "$CLAUDE_PROJECT_DIR"; env | grep -c KEY; exit 1', env={"LEVEL": "3"})
    place = place_of(tmp_path, {"X_API_KEY": "k"})._replace(
        added=variables_for(hook, RunFacts("s", "r", str(tmp_path), "m"))
    )
    assert run_command(hook, b"", place).reason.splitlines() == [str(tmp_path), str(tmp_path), "0"]
    allowed = hook_of("env | grep KEY; exit 1", env_allow=("X_API_KEY",))
    assert run_command(allowed, b"", place).reason == "X_API_KEY=k"


def test_the_log_names_what_was_kept_from_a_hook_and_never_its_value(tmp_path: Path) -> None:
    run_command(hook_of("echo out"), b"", place_of(tmp_path, {"X_API_KEY": "the value"}))
    assert (tmp_path / "hook.log").read_text() == (
        "user:tests at accept_gate: echo out\nnot given to it: X_API_KEY (env_allow gives one by its name)\nout\n"
    )


def test_a_list_of_words_runs_without_a_shell(tmp_path: Path) -> None:
    hook = hook_of(params={"args": ["printf", "%s", "$HOME; exit 1"]})
    assert run_command(hook, b"", place_of(tmp_path)).tail == "$HOME; exit 1"


def test_a_hook_without_a_command_gives_no_verdict(tmp_path: Path) -> None:
    assert (
        run_command(hook_of(params={}), b"", place_of(tmp_path)).reason
        == "hook user:tests could not be run: it has no command"
    )


# Exit codes


@pytest.mark.parametrize(
    ("policy", "code", "status"),
    [
        *((policy, 0, PASS) for policy in POLICIES),
        *((policy, 2, BLOCK) for policy in POLICIES),
        *((policy, code, FAILED) for policy in POLICIES for code in (126, 127)),
        *((STRICT, code, BLOCK) for code in (1, 3, 4, 5, 101, 137, 255)),
        (AUTO, 1, BLOCK),
        *((AUTO, code, FAILED) for code in (3, 5, 101, 255)),
        *((CLAUDE, code, PASS) for code in (1, 3, 5, 101, 255)),
    ],
)
def test_what_an_exit_code_means_is_said_by_the_policy(tmp_path: Path, policy: str, code: int, status: str) -> None:
    result = run(tmp_path, f"echo words >&2; exit {code}", policy)
    assert (result.status, result.exit_code, result.timed_out) == (status, code, False)
    if status == BLOCK:
        assert result.reason == "words"
    if status == FAILED:
        assert result.reason.startswith(f"hook user:tests exited with code {code}")
    if policy == CLAUDE and code not in (0, 2, 126, 127):
        assert result.notes == (f"hook_failed: hook user:tests exited with code {code}: words",)


MISSING = [
    pytest.param("nosuchtool -q || exit 1", "", 1, id="a shell, and a script that exits with 1"),
    pytest.param("sh check.sh", "nosuchtool -q || { echo tests fail >&2; exit 2; }", 2, id="a script of the hook"),
    pytest.param("python3 check.py", "import subprocess\nsubprocess.run(['nosuchtool', '-q'])", 1, id="a script in Python"),
    pytest.param("python3 check.py", "try: open('nosuchtool')\nexcept OSError as error: raise SystemExit(str(error))", 1,
        id="the words of Python alone"),
    pytest.param("make check", "check:\n\tnosuchtool -q", 2, id="make"),
    pytest.param("python3 -S -m pytest", "", 1, id="a module that Python does not have"),
    pytest.param("echo 'zsh: command not found: nosuchtool' >&2; exit 2", "", 2, id="another shell"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "text", "code"), MISSING)
def test_a_hook_that_lacks_a_program_of_its_own_says_nothing_of_the_work(
    command: str, text: str, code: int, tmp_path: Path
) -> None:
    if command.startswith("make") and shutil.which("make") is None:
        pytest.skip("make is not on this machine")
    (tmp_path / ("Makefile" if command.startswith("make") else command.split()[-1].replace("/", "_"))).write_text(text)
    result = run(tmp_path, command)
    assert (result.status, result.exit_code) == (FAILED, code), result
    name = "pytest" if "pytest" in command else "nosuchtool"
    told = f"hook user:tests exited with code {code} because a program is missing: {name} is not installed here ("
    assert result.reason.startswith(told)


def test_a_guard_that_refuses_a_call_for_want_of_a_program_still_refuses_it(tmp_path: Path) -> None:
    assert run(tmp_path, "nosuchtool || exit 2", CLAUDE, point=BEFORE_TOOL).status == BLOCK


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("python3 main.py", id="what the code of the agent calls and the hook does not name"),
        pytest.param("python3 -c 'open(\"data.csv\")'; cat main.py; ls data.csv; exit 1", id="a file that is missing",
            marks=pytest.mark.slow),
        pytest.param("echo 'x: ls: command not found'; exit 1", id="a program that is there"),
        pytest.param("python3 -m package", id="a module that the agent owes", marks=pytest.mark.slow),
        pytest.param("echo 'a: nosuchtool: command not found'; exit 3", id="an exit code of its own"),
    ],
)  # fmt: skip
def test_what_the_work_itself_lacks_is_still_refused(command: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import subprocess\nname = 'nosuch' + 'tool'\nsubprocess.run([name])\n")
    assert run(tmp_path, command).status == BLOCK


@EVERY_POLICY
def test_a_signal_a_timeout_and_a_command_that_cannot_start_are_no_verdict(tmp_path: Path, policy: str) -> None:
    assert run(tmp_path, "kill -KILL $$", policy).reason == "hook user:tests was ended by signal 9 (SIGKILL)"
    late = run(tmp_path, "echo begun; exec sleep 999", policy, seconds=0.2)
    assert (late.status, late.timed_out) == (FAILED, True)
    assert (late.reason, late.tail) == ("hook user:tests timed out after 0.2 s", "begun")
    broken = run(tmp_path, "", policy, params={"args": ["./gone"]})
    assert (broken.status, broken.reason) == (
        FAILED,
        "hook user:tests could not be run: ./gone: No such file or directory",
    )


def test_a_timeout_blocks_where_the_hook_says_so_with_what_it_printed(tmp_path: Path) -> None:
    result = run(tmp_path, "echo test 3 of 9; exec sleep 999", seconds=0.2, timeout_blocks=True)
    assert (result.status, result.timed_out) == (BLOCK, True)
    assert result.reason == "hook user:tests timed out after 0.2 s\ntest 3 of 9"


WHERE = "hook user:tests exited with code 2"
REASONS = [
    *(pytest.param(policy, "exit 2", f"{WHERE} without output", id=f"no word, {policy}") for policy in POLICIES),
    pytest.param(CLAUDE, "echo words; exit 2", f"{WHERE} and wrote no reason to standard error", id="on standard output"),
    pytest.param(CLAUDE, "echo out; echo wrong >&2; exit 2", "wrong", id="standard error alone"),
    *(pytest.param(policy, "echo out; echo wrong >&2; exit 2", "wrong\nout", id=f"both, {policy}") for policy in (STRICT, AUTO)),
    *(pytest.param(policy, """echo '{"continue": false, "decision": "approve"}'; echo wrong >&2; exit 2""", "wrong",
        id=f"whatever the JSON says, {policy}") for policy in POLICIES),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "script", "reason"), REASONS)
def test_the_reason_of_a_block_is_what_the_policy_says_and_never_json(
    tmp_path: Path, policy: str, script: str, reason: str
) -> None:
    result = run(tmp_path, script, policy)
    assert (result.status, result.reason) == (BLOCK, reason)


def test_the_end_of_a_long_output_is_in_the_reason_and_so_is_the_end_of_the_errors(tmp_path: Path) -> None:
    result = run(
        tmp_path, "yes out | head -c 9000000; echo last out; (yes err | head -c 90000; echo last err) >&2; exit 1"
    )
    assert len(result.reason.encode()) <= 8192
    errors, _, output = result.reason.partition("last err\n")
    assert errors.startswith("err\n")
    assert output.startswith("out\n")
    assert output.endswith("\nlast out")
    assert (len(errors) // 1000, len(output) // 1000) == (4, 4)
    assert result.tail == result.reason


def test_what_a_hook_prints_is_clean_text(tmp_path: Path) -> None:
    result = run(tmp_path, r"printf '\033[31mred\033[0m\0 \377 </acceptance-feedback>\033]0;x\007\n'; exit 1")
    assert result.reason == "red � </acceptance-feedback>", "the tag is dealt with where the feedback is written"


# JSON


@EVERY_POLICY
def test_an_object_with_a_decision_blocks_under_any_policy(policy: str) -> None:
    for word in ("block", "deny"):
        result = answer({"decision": word, "reason": "not yet"}, policy)
        assert (result.status, result.reason) == (BLOCK, "not yet")


@pytest.mark.parametrize("reason", [None, "", "  ", "\u200b"])
def test_a_decision_without_a_reason_is_no_verdict(reason: str | None) -> None:
    result = answer({"decision": "block", "reason": reason}, CLAUDE)
    assert result.status == FAILED
    assert "has the decision 'block' without a reason" in result.reason


@EXIT_CODES
@pytest.mark.parametrize("reason", [None, "", "  ", []])
def test_where_exit_codes_are_the_protocol_a_block_without_a_reason_is_still_a_block(policy: str, reason: Any) -> None:
    result = answer({"decision": "block", "reason": reason}, policy)
    told = "hook user:tests exited with 0, and its answer has the decision 'block' without a reason"
    assert (result.status, result.reason) == (BLOCK, told)


@EVERY_POLICY
def test_a_stop_wins_over_everything(policy: str) -> None:
    stop = {"continue": False, "stopReason": "s", "decision": "block", "reason": "r", "systemMessage": "m"}
    assert answer(stop, policy)[:4] == (STOP, "s", strip_control(json.dumps(stop), 8192), "m")
    assert (
        answer({"continue": False, "stopReason": 3, "decision": 4}, policy).reason == "hook user:tests stopped the run"
    )


def test_messages_and_contexts_reach_whom_they_are_for() -> None:
    said = {"systemMessage": "to you", "suppressOutput": True, "hookSpecificOutput": {"additionalContext": "to it"}}
    for point in (ACCEPT_GATE, AFTER_TOOL, SESSION_START):
        result = answer(said, point=point)
        assert (result.status, result.message, result.context, result.notes) == (PASS, "to you", "to it", ())


@pytest.mark.parametrize(
    "stdout", [{}, {"decision": None}, {"decision": "approve"}, {"continue": True}, {"other": [1]}, b"", b" \n"]
)
def test_an_answer_that_asks_for_nothing_is_a_pass(stdout: bytes | dict[str, Any]) -> None:
    assert answer(stdout) == HookResult(
        PASS, tail=strip_control(json.dumps(stdout), 99) if isinstance(stdout, dict) else "", exit_code=0
    )


@pytest.mark.parametrize(
    ("specific", "status", "told"),
    [
        ({"permissionDecision": "deny", "permissionDecisionReason": "no"}, BLOCK, "no"),
        ({"permissionDecision": "deny"}, BLOCK, "hook user:tests denies this call"),
        ({"permissionDecision": "allow"}, PASS, "its permissionDecision 'allow' changes nothing"),
        ({"permissionDecision": "ask"}, PASS, "its permissionDecision 'ask' changes nothing"),
        ({"permissionDecision": "maybe"}, FAILED, "has the decision 'maybe', which is none of block, deny, "),
        ({"updatedInput": {"command": "x"}}, PASS, "updatedInput is refused"),
        ({"updatedToolOutput": "x"}, PASS, "updatedToolOutput is refused"),
    ],
    ids=["deny", "deny without a reason", "allow", "ask", "unknown", "updated input", "updated output"],
)
def test_a_hook_can_deny_a_call_and_neither_allow_nor_change_one(
    specific: dict[str, Any], status: str, told: str
) -> None:
    result = answer({"hookSpecificOutput": specific}, point=BEFORE_TOOL)
    assert result.status == status
    assert told in " ".join((result.reason, *result.notes))


def test_a_permission_at_another_point_is_left_aside_and_told() -> None:
    said = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
    result = answer(said)
    assert result.status == PASS
    assert result.notes == (
        "its permissionDecision is ignored: at accept_gate nothing is permitted or denied",
        "it answered as if at 'PreToolUse'",
    )


ODD: list[tuple[dict[str, Any], str]] = [
    ({"continue": "no"}, "'continue' is neither true nor false"),
    ({"continue": 0}, "'continue' is neither true nor false"),
    ({"decision": 1}, "'decision' is not a string"),
    ({"decision": "stop"}, "has the decision 'stop', which is none of"),
    ({"decision": "block", "reason": ["x"]}, "'reason' is not a string"),
    ({"systemMessage": {}}, "'systemMessage' is not a string"),
    ({"hookSpecificOutput": []}, "'hookSpecificOutput' is not an object"),
    ({"hookSpecificOutput": {"additionalContext": 1}}, "'additionalContext' is not a string"),
]


@pytest.mark.parametrize(
    ("stdout", "told"), [*ODD, (b'{"continue": ' + b"[" * 60_000, "looks like a JSON object but is not valid")]
)
def test_an_answer_that_nobody_understands_is_no_verdict(stdout: bytes | dict[str, Any], told: str) -> None:
    result = answer(stdout, CLAUDE)
    assert result.status == FAILED
    assert result.reason.startswith("hook user:tests exited with 0, and ")
    assert told in result.reason


@EXIT_CODES
@pytest.mark.parametrize(("stdout", "told"), [
    *((row, told) for row, told in ODD if row.get("decision") != "block"),
    ({"decision": "PASS", "score": 0.9}, "has the decision 'PASS', which is none of"),
    ({"reason": []}, "'reason' is not a string"),
    ({"decision": ["block"]}, "'decision' is not a string"),
])  # fmt: skip
def test_an_object_of_a_program_of_its_own_is_a_note_where_exit_codes_are_the_protocol(
    policy: str, stdout: dict[str, Any], told: str
) -> None:
    result = answer(stdout, policy)
    assert (result.status, len(result.notes)) == (PASS, 1)
    assert told in result.notes[0]


@EXIT_CODES
def test_what_else_an_odd_object_says_properly_still_counts(policy: str) -> None:
    result = answer({"decision": "deny", "reason": "no", "systemMessage": 3}, policy)
    assert (result.status, result.reason, result.notes) == (
        BLOCK,
        "no",
        ("in its answer 'systemMessage' is not a string",),
    )
    assert answer({"continue": False, "decision": []}, policy).status == STOP
    said = {"decision": "PASS", "hookSpecificOutput": {"permissionDecision": "deny"}}
    assert answer(said, policy, point=BEFORE_TOOL).status == BLOCK


@EXIT_CODES
@pytest.mark.parametrize(
    "stdout",
    [b'{"decision": "PASS"}\n{"decision": "FAIL"}', b'{"systemMessage": "cut', b'{"continue": ' + b"[" * 60_000],
)
def test_lines_of_json_that_refuse_nothing_are_a_note_where_exit_codes_are_the_protocol(
    policy: str, stdout: bytes
) -> None:
    result = answer(stdout, policy)
    assert (result.status, result.notes[0].startswith("it printed: ")) == (PASS, True)


@pytest.mark.parametrize(
    "stdout",
    [
        b'{"decision": "block", "reason": "x"',
        b'{"decision": "block", "reason": "x"} {}',
        b"{'decision': 'block', \"decision\"}",
        b"{'continue': False}",
        b'{"hookSpecificOutput": {"permissionDecision" : "deny"}',
    ],
)
@EVERY_POLICY
def test_a_refusal_that_is_no_json_object_is_not_lost(policy: str, stdout: bytes) -> None:
    result = answer(stdout, policy)
    assert result.status == FAILED
    assert result.reason == "hook user:tests exited with 0, and its answer looks like a JSON object but is not valid"


def test_an_answer_that_is_too_large_is_no_verdict(tmp_path: Path) -> None:
    result = run(
        tmp_path, """printf '{"decision": "block", "reason": "'; head -c 99999 /dev/zero | tr '\\0' x; printf '"}'"""
    )
    assert result.status == FAILED
    assert result.reason.endswith("looks like a JSON object but is not valid: it is larger than 64 KiB")


@pytest.mark.parametrize(
    ("stdout", "policy"),
    [
        (b"all 3 tests passed\n", CLAUDE),
        (b"[1, 2]", CLAUDE),
        (b"null", STRICT),
        (b"{'loss': 0.1}", STRICT),
        (b'{"a": 1}\n{"b": 2}', AUTO),
    ],
    ids=["words", "a list", "null", "a dict of Python", "lines of JSON"],
)
def test_text_that_is_no_answer_is_a_note(stdout: bytes, policy: str) -> None:
    result = answer(stdout, policy)
    assert (result.status, result.notes) == (PASS, (f"it printed: {stdout.decode().splitlines()[-1]}",))


def test_in_the_sandbox_exit_codes_alone_count() -> None:
    ran = ProcessOutcome(exit_code=0, stdout=b'{"continue": false}')
    assert read_verdict(ran, hook_of(sandbox=True), POINTS[ACCEPT_GATE]).status == PASS


# For any output

FIELDS = ("continue", "stopReason", "decision", "reason", "systemMessage", "suppressOutput", "hookSpecificOutput")
SPECIFIC = ("hookEventName", "additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput")
WORDS = st.sampled_from(["block", "deny", "approve", "allow", "ask", "Stop", "\x1b[0m", "\ud800", *NASTY])
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), WORDS, st.just([]), st.just({}))
REPLIES = st.dictionaries(
    st.sampled_from(FIELDS), st.one_of(VALUES, st.dictionaries(st.sampled_from(SPECIFIC), VALUES)), max_size=5
).map(lambda reply: json.dumps(reply).encode())
OUTPUT = st.one_of(st.binary(max_size=200), REPLIES, REPLIES.map(lambda reply: reply[:-1]))
RAN = st.builds(
    ProcessOutcome, exit_code=st.one_of(st.none(), st.integers(0, 255)),
    signal=st.one_of(st.none(), st.none(), st.integers(1, 64)), timed_out=st.sampled_from([False, False, False, True]),
    fault=st.one_of(st.just(""), st.just(""), st.text(max_size=20)), stdout=OUTPUT, stderr=st.binary(max_size=100),
    is_whole=st.booleans(),
)  # fmt: skip


@QUICK
@given(RAN, st.sampled_from(POLICIES), st.sampled_from([ACCEPT_GATE, BEFORE_TOOL, SESSION_END]), st.booleans())
@example(ProcessOutcome(exit_code=0, stdout=b'{"a":' * 30_000), CLAUDE, ACCEPT_GATE, False)
@example(ProcessOutcome(exit_code=0, stdout=b'{"continue": ' + b"9" * 5000 + b"}"), STRICT, ACCEPT_GATE, False)
@example(ProcessOutcome(exit_code=2, stdout=b"[" * 60_000), CLAUDE, BEFORE_TOOL, False)
def test_whatever_a_hook_does_there_is_one_clean_verdict(
    ran: ProcessOutcome, policy: str, point: str, blocks: bool
) -> None:
    hook = hook_of(policy=policy, point=point, timeout_blocks=blocks)
    result = read_verdict(ran, hook, POINTS[point])
    assert result.status in (PASS, BLOCK, FAILED, STOP)
    assert (result.status == PASS) == (not result.reason)
    for text in (result.reason, result.tail, result.message, result.context, *result.notes):
        assert strip_control(text, 8192 + 200) == text
    if result.status == PASS:
        assert ran.exit_code is not None
        assert not ran.fault
        assert not ran.timed_out


@QUICK
@given(OUTPUT, st.binary(max_size=100), st.integers(1, 255))
def test_a_strict_hook_that_fails_is_never_a_pass_whatever_it_prints(stdout: bytes, stderr: bytes, code: int) -> None:
    result = read_verdict(
        ProcessOutcome(exit_code=code, stdout=stdout, stderr=stderr), hook_of(policy=STRICT), POINTS[ACCEPT_GATE]
    )
    assert result.status == (FAILED if code in (126, 127) else BLOCK)
