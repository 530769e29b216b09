"""What a user of the command sees of acceptance: how a run ends, with which code, what the screen says, and how it goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from phases.evidence.traceability import describe_evidence
from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.plain_yaml import dump_yaml
from tests.drills import scenes
from tests.drills.ground import Ended, Ground
from tests.drills.looping import RIGHT, Turn, looping
from tests.hooks import item

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
_CODE = {
    str(arguments["file_path"]): str(arguments["content"])
    for _, _, (_, calls) in scenes.SAID
    for name, arguments in calls
    if name == "Write"
}
WRITES: Turn = [("Write", {"file_path": path, "content": text}) for path, text in {**_CODE, "decay.py": RIGHT}.items()]
MENDS: Turn = [("Write", {"file_path": "better.txt", "content": "better\n"})]
DONE: Turn = []
HOOKS = ".pipeline/hooks.yaml"


def ground(base: Path, *turns: Turn, words: tuple[str, ...] = ()) -> Ground:
    """The real phases on a small paper, whose agent writes everything in the first turn and then says that it is done."""
    return looping(base, [WRITES, *turns, *[DONE] * 6], "--supervisor", "off", "--mutants", "1", *words)


def configure(there: Ground, *items: dict[str, Any], settings: dict[str, Any] | None = None, **hooks: Any) -> Path:
    """The user's settings file, with these hooks in it."""
    path = there.home / ".config" / "pipeline" / "config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(dump_yaml({**(settings or {}), "runtime": {"hooks": {**hooks, "items": list(items)}}}))
    return path


def report(there: Ground) -> Any:
    return json.loads((there.task / "report.json").read_bytes())


def assert_ended(there: Ground, ended: Ended, status: str, code: int, *, verified: bool) -> None:
    """The code, the screen, the report and `status` say the same: the status, why, who vouches for the code, and the counts."""
    assert ended.code == code, ended.out + ended.err
    assert "Traceback" not in ended.err
    told = report(there)
    assert (told["status"], told["exit_code"], told["verified"]) == (status, code, verified)
    state = json.loads(there.call("status", "paper", "--json").out)
    names = ("reason", "verified_by", "requirements")
    assert (state["status"], *(state[name] for name in names)) == (status, *(told[name] for name in names))
    for shown in (ended.out, there.call("status", "paper").out):
        assert describe_evidence(told["requirements"], told["verified_by"]).lower() in " ".join(shown.lower().split())


def assert_said(ended: Ended, *words: str) -> None:
    """In the line that tells of the phase while it runs, and in the report on the screen."""
    [line] = [line for line in ended.err.splitlines() if " stopped: " in line]
    for word in words:
        assert word in line
        assert word in ended.out


def stop_reason(there: Ground) -> str:
    rows = [json.loads(line) for line in (there.task / "hooks" / "events.jsonl").read_text().splitlines()]
    assert [row["event"] for row in rows].count("stop_reason_decided") >= 1
    assert rows[-1]["event"] == "stop_reason_decided"
    return str(rows[-1]["reason"])


# How it ends


def test_work_that_is_accepted_and_verified_is_completed(tmp_path: Path) -> None:
    there = ground(tmp_path)
    configure(there, item("tests", scenes.CHECK.replace("python", sys.executable, 1)))  # a machine may have no `python`
    ended = there.call()
    assert_ended(there, ended, "completed", 0, verified=True)
    assert "Task paper: completed." in ended.out
    shown = there.call("show", "paper", "acceptance").out
    assert "passed   user:tests" in shown
    assert shown.endswith("Accepted, and verified\n")


def test_work_that_a_broken_hook_said_nothing_of_is_a_warning_with_the_reason(tmp_path: Path) -> None:
    there = ground(tmp_path)
    configure(there, item("tests", "no-such-command", failure_policy="fail_open"))
    ended = there.call()
    assert_ended(there, ended, "warning", 0, verified=False)
    for told in (ended.out, report(there)["reason"]):
        assert "accepted, but not verified: user:tests gave no verdict: " in told
        assert "127" in told
    assert "Accepted, with doubts: user:tests gave no verdict" in there.call("show", "paper", "acceptance").out


@pytest.mark.slow
def test_work_that_is_refused_to_the_end_is_incomplete_and_is_not_paid_for_again(tmp_path: Path) -> None:
    there = ground(tmp_path)
    configure(there, item("tests", "echo 3 failed; exit 1"))
    ended = there.call()
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert "no attempts are left" in report(there)["reason"]
    assert stop_reason(there) == "accept_continue_exhausted"
    assert len(json.loads((there.task / "acceptance.json").read_bytes())["attempts"]) == 4
    calls = report(there)["usage"]["calls"]
    again = there.call("resume", "paper")
    assert (again.code, report(there)["usage"]["calls"]) == (3, calls)


@pytest.mark.parametrize(
    ("command", "reason", "told", "words"),
    [
        pytest.param(
            "test -e $HOME/go || exec no-such-command",
            "verification_error",
            "a check did not work",
            "user:tests",
            id="a broken hook",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            """test -e $HOME/go || echo '{"continue": false, "stopReason": "out of GPUs"}'""",
            "hook_stopped",
            "a hook stopped the run",
            "user:tests: out of GPUs",
            id="a hook that stops the run",
        ),
    ],
)
def test_what_only_the_user_can_mend_is_incomplete_and_goes_on_when_it_is_mended(
    command: str, reason: str, told: str, words: str, tmp_path: Path
) -> None:
    there = ground(tmp_path)
    configure(there, item("tests", command))
    ended = there.call()
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert stop_reason(there) == reason
    assert_said(ended, told, words)
    assert "pipeline resume paper" in ended.out
    assert "pipeline show paper acceptance" in ended.out
    assert "pipeline trace paper" not in ended.out, "there is nothing to trace yet"
    assert f"The run stopped here ({told}: {words}" in there.call("show", "paper", "acceptance").out
    again = there.call("resume", "paper")
    assert_ended(there, again, "incomplete", 3, verified=False)
    calls = [row for row in _journal(there) if row["kind"] == "reply"]
    (there.home / "go").touch()
    assert_ended(there, there.call("resume", "paper"), "completed", 0, verified=True)
    assert [row for row in _journal(there) if row["kind"] == "reply"] == calls, "the model was asked nothing more"


def _journal(there: Ground) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (there.task / "journal.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_todos_that_wait_for_the_user_stop_the_run_and_a_resume_goes_on(tmp_path: Path) -> None:
    todo = {"id": "data", "content": "get the data", "status": "blocked", "blocked_reason": "user_input_wait"}
    waits: Turn = [("TodoWrite", {"todos": [todo]})]
    over: Turn = [("TodoWrite", {"todos": [{"id": "data", "content": "get the data", "status": "completed"}]})]
    there = ground(tmp_path, waits, DONE, [("TodoWrite", {"action": "claim", "id": "data"})], over)
    ended = there.call()
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert_said(ended, "a todo waits for you", "data")
    assert "pipeline resume paper" in ended.out
    assert_ended(there, there.call("resume", "paper"), "completed", 0, verified=True)


def test_a_required_todo_that_failed_is_an_error(tmp_path: Path) -> None:
    todos: list[Turn] = [
        [("TodoWrite", {"todos": [{"id": "gpu", "content": "train it", "status": "in_progress"}]})],
        [("TodoWrite", {"action": "fail", "id": "gpu", "reason": "there is no GPU"})],
    ]
    there = ground(tmp_path, *todos)
    ended = there.call()
    assert_ended(there, ended, "error", 1, verified=False)
    assert "a required todo failed" in report(there)["reason"]
    assert "gpu" in report(there)["reason"]


def test_an_exam_that_the_agent_edits_is_incomplete_until_its_owner_restores_it(tmp_path: Path) -> None:
    there = _with_hooks_of_the_workspace(tmp_path, [("Bash", {"command": f"echo '# more' >> {HOOKS}"})])
    path = there.task / "generate_code" / HOOKS
    trusted = path.read_bytes()
    assert there.call("hooks", "trust", "paper", "--yes").code == 0
    # with the user's own rights: in bubblewrap no command writes there
    assert_ended(there, there.call("resume", "paper", "--unsandboxed"), "incomplete", 3, verified=False)
    assert stop_reason(there) == "hook_tampered"
    assert HOOKS in there.call("show", "paper", "acceptance").out
    calls = report(there)["usage"]["calls"]
    path.write_bytes(trusted)
    assert_ended(there, there.call("resume", "paper"), "completed", 0, verified=True)
    assert (ran(there), report(there)["usage"]["calls"]) == (1, calls)


# Before the first call


def _with_hooks_of_the_workspace(base: Path, *turns: Turn) -> Ground:
    """A run that stopped before phase 09, with a hook in the workspace to come, that counts how often it is run."""
    there = ground(base, *turns)
    assert there.call(*there.arguments, "--stop-at", "implement").code == 0
    path = there.task / "generate_code" / HOOKS
    path.parent.mkdir(parents=True)
    path.write_bytes(dump_yaml({"hooks": {"items": [item("checks", f"echo run >> {there.base}/ran")]}}))
    return there


def ran(there: Ground) -> int:
    path = there.base / "ran"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.slow
def test_hooks_of_a_workspace_run_once_they_are_trusted_and_a_run_can_be_told_not_to_begin_before(
    tmp_path: Path,
) -> None:
    there = _with_hooks_of_the_workspace(tmp_path)
    configure(there, on_untrusted="stop")
    ended = there.call("resume", "paper")
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert_said(ended, "not trusted", "pipeline hooks list", "pipeline hooks trust")
    assert stop_reason(there) == "hook_config_invalid"
    assert [row for row in _journal(there) if row["kind"] == "reply"] == []
    assert there.call("hooks", "trust", "paper", "--yes").code == 0
    assert_ended(there, there.call("resume", "paper"), "completed", 0, verified=True)
    assert ran(there) == 1


def test_hooks_of_a_workspace_that_nobody_trusts_are_told_of_on_the_screen_and_not_run(tmp_path: Path) -> None:
    there = _with_hooks_of_the_workspace(tmp_path)
    ended = there.call("resume", "paper")
    assert (ended.code, ran(there)) == (0, 0)
    assert "hooks of the workspace are not run (untrusted: " in ended.err
    assert ended.err.count("pipeline hooks list") == 1


@pytest.mark.slow
def test_hooks_of_a_workspace_run_for_one_run_that_trusts_them(tmp_path: Path) -> None:
    there = _with_hooks_of_the_workspace(tmp_path)
    assert_ended(there, there.call("resume", "paper", "--trust-hooks"), "completed", 0, verified=True)
    assert ran(there) == 1
    assert "trust" not in (there.task / "task.json").read_text()
    assert not (there.home / ".config" / "pipeline" / "trusted-workspaces.json").exists()
    assert " untrusted " in there.call("hooks", "list", "paper").out


@pytest.mark.slow
def test_trusted_hooks_that_cannot_be_used_are_incomplete_before_anything_is_asked(tmp_path: Path) -> None:
    there = _with_hooks_of_the_workspace(tmp_path)
    (there.task / "generate_code" / HOOKS).write_text("hooks: {items: [], later: true}\n")
    assert there.call("hooks", "trust", "paper", "--yes").code != 0
    ended = there.call("resume", "paper", "--trust-hooks")
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert_said(ended, "cannot be used", "'later'", "pipeline hooks trust")
    assert stop_reason(there) == "hook_config_invalid"
    assert [row for row in _journal(there) if row["kind"] == "reply"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"settings": {"trust_hooks": "yes"}}, id="a setting"),
        pytest.param({"runtime": {"hooks": {"items": [item("mine", "touch $HOME/ran", when="always")]}}}, id="runtime"),
        pytest.param({"trust_hooks": "yes"}, id="a key of its own"),
    ],
)
def test_a_task_says_nothing_of_hooks_whatever_it_says(said: dict[str, Any], tmp_path: Path) -> None:
    """Somebody else may have made it: either what it says does nothing, or the task is refused."""
    there = _with_hooks_of_the_workspace(tmp_path)
    path = there.task / "task.json"
    task = json.loads(path.read_bytes())
    path.write_text(json.dumps({**task, **said, "settings": {**task["settings"], **said.get("settings", {})}}))
    (there.task / "config.yaml").write_bytes(dump_yaml({"trust_hooks": "yes", **said}))
    (there.tasks / "config.yaml").write_bytes(dump_yaml({"trust_hooks": "yes", **said}))
    ended = there.call("resume", "paper")
    assert ended.code in (0, 1), ended.err
    assert ended.code == 0 or ended.complaints[0].startswith("pipeline: task.json at $")
    assert (ran(there), (there.home / "ran").exists()) == (0, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            "runtime: {hooks: {items: [{id: a, point: accept_gate, kind: command, params: {command: 'true'}, tiemout: 3}]}}",
            ("$.runtime.hooks.items[0]", "'tiemout'"),
            id="an unknown key",
        ),
        pytest.param(
            "runtime: {hooks: {items: [{id: a, point: Stop, kind: command, params: {command: 'true'}}]}}",
            ("$.runtime.hooks.items[0].point", "accept_gate"),
            id="another tool's point",
        ),
        pytest.param(
            "runtime: {hooks: {items: [{id: a, point: accept_gate, kind: command, params: {command: 'true'}},"
            " {id: A, point: accept_gate, kind: command, params: {command: 'true'}}]}}",
            ("$.runtime.hooks.items[1].id",),
            id="an id twice",
        ),
        pytest.param("runtime: {hook: {}}", ("$.runtime", "`hooks:`"), id="a mistyped hooks"),
        pytest.param("runtime: {hooks: {items: [", ("line ", "column "), id="no YAML"),
    ],
)
def test_hooks_that_cannot_be_used_are_a_usage_error_before_anything_is_made(
    text: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    there = ground(tmp_path)
    path = configure(there)
    path.write_text(text)
    ended = there.call()
    assert ended.code == 2
    ended.assert_failed(str(path), *words)
    assert not there.tasks.exists()


# What the screen says


@pytest.mark.slow
def test_the_screen_says_which_hook_refuses_why_and_how_many_attempts_are_left(tmp_path: Path) -> None:
    there = ground(tmp_path, DONE, MENDS)
    configure(there, item("tests", "test -e better.txt || { seq 1 30; echo FAILED $((40 + 2)); exit 1; }"))
    ended = there.call()
    assert_ended(there, ended, "completed", 0, verified=True)
    lines = [line.split("implement", 1)[1].strip() for line in ended.err.splitlines() if " implement " in line]
    first = lines.index("not accepted (attempt 1 of 4): user:tests: exited with code 1; 3 attempts are left")
    assert lines[first + 1 : first + 7] == ["26", "27", "28", "29", "30", "FAILED 42"]
    assert len([line for line in lines if line.startswith("not accepted")]) == 1
    shown = there.call("show", "paper", "acceptance").out
    for part in ("Attempt 1, turn 2: not accepted by user:tests", "FAILED 42", "hooks/1-user-tests.log"):
        assert part in shown
    assert "Attempt 2" in shown


def test_advice_is_told_as_advice_and_uses_no_attempt_up(tmp_path: Path) -> None:
    idle: Turn = [("Write", {"file_path": "extra.py", "content": 'def halved(x):\n    """R1"""\n    return x / 2\n'})]
    there = looping(tmp_path, [[*WRITES, *idle], *[DONE] * 3], "--max-acceptance-continues", "0")
    ended = there.call()
    assert_ended(there, ended, "warning", 0, verified=False)
    shown = there.call("show", "paper", "acceptance").out
    assert "Attempt 1, turn 2: the checks pass, and advice was given" in shown
    assert "advice   no passing test runs 1 of the 2 functions that cite requirements: extra.py:halved" in shown
    assert "Attempt 1 again, turn 3: accepted, not verified" in shown


@pytest.mark.slow
def test_what_a_hook_prints_cannot_drive_the_terminal(tmp_path: Path) -> None:
    there = ground(tmp_path)
    configure(there, item("tests", r"printf '\033]0;owned\007\033[2Jred\r\n\342\200\256evil\n'; exit 1"))
    ended = there.call()
    assert ended.code == 3
    shown = there.call("show", "paper", "acceptance")
    for text in (ended.out, ended.err, shown.out, there.call("status", "paper").out, there.call("logs", "paper").out):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "evil" in ended.err


@pytest.mark.slow
def test_hooks_and_ordinary_settings_stand_side_by_side_in_one_file(tmp_path: Path) -> None:
    there = ground(tmp_path)
    settings = {"max_acceptance_continues": 1, "max_turns": 50}
    configure(there, item("tests", "exit 1"), settings=settings)
    ended = there.call()
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert "not accepted (attempt 2 of 2): user:tests: exited with code 1; no attempts are left" in ended.err
    document = json.loads((there.task / "acceptance.json").read_bytes())
    assert (document["max_continues"], len(document["attempts"])) == (1, 2)
    assert "user:tests" in there.call("hooks", "list", "paper").out
    assert "runtime" not in (there.task / "task.json").read_text()


@pytest.mark.slow
def test_a_flag_wins_over_the_number_of_attempts_in_the_file(tmp_path: Path) -> None:
    there = ground(tmp_path, words=("--max-acceptance-continues", "0"))
    configure(there, item("tests", "exit 1"), settings={"max_acceptance_continues": 5})
    assert there.call().code == 3
    assert len(json.loads((there.task / "acceptance.json").read_bytes())["attempts"]) == 1


@pytest.mark.slow
def test_a_key_in_the_users_environment_reaches_no_hook_and_no_file_of_the_task(tmp_path: Path) -> None:
    there = ground(tmp_path)
    there.extra.update(X_API_KEY="the-secret-itself", LEVEL="3")
    configure(there, item("tests", "env"))
    assert_ended(there, there.call(), "completed", 0, verified=True)
    log = (there.task / "hooks" / "1-user-tests.log").read_text()
    assert "LEVEL=3" in log
    assert "X_API_KEY" in log, "what was kept from it is named"
    for path in there.tasks.rglob("*"):
        assert not path.is_file() or b"the-secret-itself" not in path.read_bytes(), path


FAKED: Turn = [
    ("Write", {"file_path": "config.py", "content": "# R2\nETA = 0.1\nBETA = 0.05\n"}),
    ("Write", {"file_path": "decay.py", "content": 'def averaged(before, weight):\n    """R1"""\n    return 0.05\n'}),
    (
        "Write",
        {"file_path": "data.py", "content": 'def gaussians(count):\n    """R3"""\n    raise NotImplementedError\n'},
    ),
    ("Write", {"file_path": "tests/__init__.py", "content": '"""Tests."""\n'}),
    (
        "Write",
        {
            "file_path": "tests/test_decay.py",
            "content": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_all_of_r1_r2_r3(self):\n"
            "        self.assertEqual(1 + 1, 2)\n",
        },
    ),
]


@pytest.mark.slow
def test_a_stub_is_refused_by_name_and_its_repair_is_accepted(tmp_path: Path) -> None:
    there = looping(tmp_path, [FAKED, DONE, WRITES, *[DONE] * 3], "--supervisor", "off")
    ended = there.call()
    assert_ended(there, ended, "completed", 0, verified=True)
    rows = [json.loads(line) for line in (there.task / "journal.jsonl").read_text().splitlines()]
    refused = next(row["result"]["feedback"] for row in rows if row["kind"] == "verdict")
    assert "data.py:gaussians is a stub" in refused


@pytest.mark.slow
def test_a_stub_that_nobody_mends_is_incomplete_and_named_as_open(tmp_path: Path) -> None:
    there = looping(tmp_path, [FAKED, DONE, DONE, DONE, DONE], "--supervisor", "off")
    ended = there.call()
    assert_ended(there, ended, "incomplete", 3, verified=False)
    told = report(there)["requirements"]
    assert (told["stubbed"], [row["id"] for row in told["open"]]) == (1, ["R3"])
    assert "Open: 1 of 3 requirements and values (1 stubbed)" in ended.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        ("return 0.05", "a constant for any input"),
        ("import random\n    return random.random()", "random values"),
        ("return {1.0: 0.05}.get(weight)", "constants for inputs that it knows"),
    ],
    ids=["a constant", "random numbers", "a table of answers"],
)
def test_faked_work_without_a_stub_ends_with_a_doubt_and_nobody_but_its_own_tests(
    body: str, doubt: str, tmp_path: Path
) -> None:
    fakes = [
        (
            name,
            {
                **given,
                "content": given["content"].replace("return 0.05", body).replace("raise NotImpl", "return [count] #"),
            },
        )
        for name, given in FAKED
    ]
    there = looping(tmp_path, [fakes, *[DONE] * 6], "--supervisor", "off")
    ended = there.call()
    assert_ended(there, ended, "warning", 0, verified=False)
    assert f"decay.py:averaged returns {doubt} (R1)" in report(there)["reason"]
    assert "1 of 1 tests assert nothing" in report(there)["reason"]
    assert report(there)["verified_by"] == ["own tests (1)"]
