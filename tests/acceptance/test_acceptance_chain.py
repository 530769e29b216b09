"""The chain as a whole, with a scripted model and real scripts as hooks: what is asked when, and what comes of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.hook_registry import HookSetting
from phases.llm.model import Reply, Request
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.errors import Incomplete, Interrupted, Paused
from tests.agents import Scripted, call, carry_out, says, small_plan, tree, write
from tests.hooks import events, feedback_in, item, mounting, names_of, script
from tests.work import wait_until

PLAN = small_plan("a.py")
CODE = 'def meet() -> int:\n    """R1, section 1, page 1."""\n    return 4\n'
DONE = Reply("ok", "done")
needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")


def made(folder: Path, model: Scripted, hooks: HookSetting, plan: dict[str, Any] = PLAN, **more: Any) -> dict[str, Any]:
    """implementation.json and acceptance.json of one run."""
    documents = carry_out(folder, model, plan, hooks=hooks, **more)
    return {**documents["implementation"], "attempts": documents["acceptance"]["attempts"]}


def changing(*first: Reply, times: int = 9) -> Scripted:
    """Says what it was given, and then by turns changes the file and says that it is done."""

    def reply(request: Request) -> Reply:
        if request.turn <= len(first):
            return first[request.turn - 1]
        number = request.turn - len(first)
        return DONE if number % 2 or number > 2 * times else write("a.py", f"{CODE}# {number}\n", f"w{number}")

    return Scripted(reply)


def counted(folder: Path, text: str) -> str:
    """A script that also counts how often it was run, in runs.txt beside it."""
    return script(folder, "hook.sh", f'cd "$(dirname "$0")"; echo run >> runs.txt; {text}')


def runs(folder: Path) -> int:
    path = folder / "runs.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


# A. the chain


def test_where_nothing_was_changed_no_mounted_hook_runs_and_the_work_is_accepted(tmp_path: Path) -> None:
    """Scenario 1: a plan without files, and a model that only says hi. What ships is asked all the same."""
    bench, task = tmp_path / "bench", tmp_path / "task"
    ended = made(task, says(Reply("ok", "hi")), mounting(item("tests", counted(bench, "exit 2"))), small_plan())
    assert (runs(bench), ended["stop_reason"]) == (0, "accepted")
    assert [row["hook"] for row in ended["attempts"][0]["hooks"]] == ["internal:code"]


@pytest.mark.slow
def test_code_that_hooks_refused_is_not_accepted_by_another_model_that_does_nothing(tmp_path: Path) -> None:
    """What stood there when a run began was accepted by nobody: the hooks are asked about it, however little was done."""
    bench, task = tmp_path / "bench", tmp_path / "task"
    hooks = mounting(item("tests", counted(bench, "exit 1")))
    assert made(task, says(write("a.py", CODE)), hooks)["stop_reason"] == "accept_continue_exhausted"
    before, other = runs(bench), says(Reply("ok", "fine as it is"))
    other.name = "another"
    ended = made(task, other, hooks)
    assert (ended["stop_reason"], ended["verification"]["verified"]) == ("accept_continue_exhausted", False)
    assert runs(bench) == before + 4


def test_a_run_that_only_read_runs_no_mounted_hook(tmp_path: Path) -> None:
    """Scenario 2, and the gate asks for what is missing: nothing was written, so the built-in check refuses."""
    hooks = mounting(item("tests", counted(tmp_path / "bench", "exit 0")))
    ended = made(tmp_path / "task", says(call("Glob", pattern="*")), hooks)
    assert runs(tmp_path / "bench") == 0
    assert [row["hook"] for row in ended["attempts"][0]["hooks"]] == ["internal:code"]
    assert ended["attempts"][0]["changed"] is False


@needs_a_sandbox
def test_a_hook_that_passes_is_run_once_and_then_the_gate_accepts(tmp_path: Path) -> None:
    """Scenario 3."""
    hooks = mounting(item("tests", counted(tmp_path / "bench", "exit 0")))
    ended = made(tmp_path / "task", says(write("a.py", CODE)), hooks)
    assert (ended["status"], ended["stop_reason"], runs(tmp_path / "bench")) == ("completed", "accepted", 1)
    told = names_of(
        events(tmp_path / "task"), "hook_started", "hook_finished", "acceptance_decided", "stop_reason_decided"
    )
    assert told == [*["hook_started", "hook_finished"] * 2, "acceptance_decided", "stop_reason_decided"]


@needs_a_sandbox
def test_a_refusal_goes_back_to_the_model_and_its_repair_is_accepted(tmp_path: Path) -> None:
    """Scenario 4: exits 2 with a reason, then 0."""
    bench, task = tmp_path / "bench", tmp_path / "task"
    command = counted(bench, 'if [ "$(wc -l < runs.txt)" -eq 1 ]; then echo "tests failed" >&2; exit 2; fi')
    model = says(write("a.py", CODE), DONE, DONE)
    ended = made(task, model, mounting(item("tests", command)))
    assert (ended["stop_reason"], model.asked) == ("accepted", 3)
    [told] = feedback_in(list(model.requests[2].messages))
    assert "tests failed" in told
    assert 'attempt="1" of="4" source="hook:user:tests"' in told
    assert model.requests[2].messages[-2].text == "done"  # its own answer, refused, stands before it
    order = names_of(events(task), "hook_blocked", "acceptance_decided")
    assert order == ["hook_blocked", "acceptance_decided", "acceptance_decided"]
    decided = [row["status"] for row in events(task) if row["event"] == "acceptance_decided"]
    assert decided == ["continued", "accepted"]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [True, False], ids=["while the model tries", "while nothing changes"])
def test_a_hook_that_always_refuses_ends_the_run_at_the_fourth_claim(changes: bool, tmp_path: Path) -> None:
    """Scenario 5."""
    hooks = mounting(item("tests", counted(tmp_path / "bench", "echo no >&2; exit 2")))
    model = changing(write("a.py", CODE)) if changes else says(write("a.py", CODE))
    ended = made(tmp_path / "task", model, hooks)
    assert (ended["status"], ended["stop_reason"]) == ("incomplete", "accept_continue_exhausted")
    assert (len(ended["attempts"]), runs(tmp_path / "bench")) == (4, 4)
    assert names_of(events(tmp_path / "task")).count("verification_failed") == 1
    shown = feedback_in(list(model.requests[-1].messages))
    assert ("Nothing has changed since the last check" in shown[-1]) is not changes


def test_a_model_that_changes_nothing_is_not_asked_on_for_ever(tmp_path: Path) -> None:
    """Section 6: told twice that nothing changed, then it is over, however many attempts there are."""
    hooks = mounting(item("tests", "exit 2"), most_continues=20)
    ended = made(tmp_path / "task", says(write("a.py", CODE)), hooks)
    assert (ended["stop_reason"], len(ended["attempts"])) == ("accept_continue_exhausted", 4)


def test_four_claims_without_a_word_end_the_run(tmp_path: Path) -> None:
    """Scenario 6, on code that the built-in check accepts."""
    model = Scripted(lambda request: write("a.py", CODE) if request.turn == 1 else Reply("ok", " \n"))
    ended = made(tmp_path / "task", model, mounting())
    assert (ended["stop_reason"], len(ended["attempts"]), model.asked) == ("accept_continue_exhausted", 4, 5)
    assert "You gave no visible reply just now" in feedback_in(list(model.requests[2].messages))[-1]


@pytest.mark.slow
def test_refusals_of_hooks_and_of_the_gate_share_one_count(tmp_path: Path) -> None:
    """Scenario 7."""
    command = counted(tmp_path / "bench", '[ "$(wc -l < runs.txt)" -gt 1 ] || exit 2')
    todo = call("TodoWrite", todos=[{"content": "measure", "status": "pending"}])
    says_nothing = Reply("ok", "")
    model = says(write("a.py", CODE), DONE, says_nothing, says_nothing, todo, DONE)
    ended = made(tmp_path / "task", model, mounting(item("tests", command)))
    assert ended["stop_reason"] == "accept_continue_exhausted"
    assert [row["source"] for row in ended["attempts"]] == ["hook:user:tests", "gate", "gate", "gate"]


def test_with_no_attempts_to_spare_the_first_refusal_ends_the_run(tmp_path: Path) -> None:
    """Scenario 8."""
    model = says(write("a.py", CODE))
    ended = made(tmp_path / "task", model, mounting(item("tests", "exit 1"), most_continues=0))
    assert (ended["stop_reason"], model.asked, len(ended["attempts"])) == ("accept_continue_exhausted", 2, 1)


def test_a_required_todo_that_is_open_is_named_to_the_model(tmp_path: Path) -> None:
    """Scenario 9."""
    todo = call("TodoWrite", todos=[{"id": "table-2", "content": "make Table 2", "status": "in_progress"}])
    model = says(write("a.py", CODE), todo, DONE)
    ended = made(tmp_path / "task", model, mounting(item("tests", "exit 0")))
    assert ended["attempts"][0]["source"] == "gate"
    assert "table-2: make Table 2" in feedback_in(list(model.requests[3].messages))[0]


@pytest.mark.slow
def test_a_new_run_begins_to_count_anew(tmp_path: Path) -> None:
    """Scenario 12: a run that was given up, then another: its hooks are told of no refusal."""
    seen = tmp_path / "bench" / "seen"
    command = script(tmp_path / "bench", "hook.sh", f"cat >> {seen}; exit 2")
    hooks = mounting(item("tests", command))
    made(tmp_path / "task", says(write("a.py", CODE)), hooks)
    rows = [json.loads(line) for line in seen.read_text().splitlines()]
    assert [row["stop_hook_active"] for row in rows] == [False, True, True, True]
    seen.unlink()
    other = says(write("a.py", CODE + "# again\n"))
    other.name = "another"
    made(tmp_path / "task", other, hooks, digest="3" * 64)
    rows = [json.loads(line) for line in seen.read_text().splitlines()]
    assert [row["stop_hook_active"] for row in rows] == [False, True, True, True]


@pytest.mark.slow
def test_every_way_out_is_told_once_and_last(tmp_path: Path) -> None:
    """Scenario 14: session_end hooks see the reason that the last event has."""
    heard = tmp_path / "heard"
    end = item("end", f"cat >> {heard}", point="session_end")
    cases: dict[str, tuple[HookSetting, dict[str, Any]]] = {
        "accepted": (mounting(end), {}),
        "accept_continue_exhausted": (mounting(end, item("no", "exit 1")), {}),
        "hook_stopped": (mounting(end, item("stop", """echo '{"continue":false,"stopReason":"enough"}'""")), {}),
        "verification_error": (mounting(end, item("gone", "no-such-command")), {}),
        "budget_rounds": (mounting(end), {"max_turns": 1}),
    }
    for reason, (hooks, limits) in cases.items():
        task = tmp_path / reason
        heard.write_text("")
        with contextlib.suppress(Incomplete, Paused):
            made(task, says(write("a.py", CODE)), hooks, **limits)
        told = [row for row in events(task) if row["event"] == "stop_reason_decided"]
        assert [row["reason"] for row in told] == [reason]
        assert events(task)[-1] == told[0]
        assert json.loads(heard.read_text())["reason"] == reason


# C and D. hooks that stop, break, write, block


def test_what_a_hook_is_given_names_the_changed_files_and_the_state_of_acceptance(tmp_path: Path) -> None:
    """Scenario 22."""
    seen = tmp_path / "bench" / "seen"
    command = script(tmp_path / "bench", "hook.sh", f"cat >> {seen}; [ $(wc -l < {seen}) -gt 1 ] || exit 2")
    made(tmp_path / "task", says(write("a.py", CODE), Reply("ok", "all done")), mounting(item("tests", command)))
    first, second = [json.loads(line) for line in seen.read_text().splitlines()]
    assert (first["hook_event_name"], first["hook_point"], first["stop_hook_active"]) == ("Stop", "accept_gate", False)
    assert first["workspace"]["changed_files"] == [{"path": "a.py", "change": "added"}]
    assert first["cwd"] == str(tmp_path / "task" / "generate_code")
    assert first["last_assistant_message"] == "all done"
    assert first["todo_summary"]["total"] == 0
    assert first["recent_tools"] == [{"name": "Write", "is_error": False}]
    assert (second["stop_hook_active"], second["acceptance"]["last_block"]["hook"]) == (True, "user:tests")


def test_a_hook_may_end_the_run_whatever_the_others_say_and_the_next_start_asks_it_again(tmp_path: Path) -> None:
    """Scenario 25."""
    stop = script(
        tmp_path, "stop.sh", f"""test -e {tmp_path}/go || echo '{{"continue":false,"stopReason":"out of GPUs"}}'"""
    )
    hooks = mounting(item("no", "exit 1"), item("stop", stop))
    model = says(write("a.py", CODE))
    with pytest.raises(
        Incomplete, match=r"a hook stopped the run: user:stop: out of GPUs; when that is mended, resume the task"
    ) as caught:
        made(tmp_path / "task", model, hooks)
    assert (caught.value.exit_code, model.asked) == (3, 2)
    (tmp_path / "go").touch()
    ended = made(tmp_path / "task", model, mounting(item("stop", stop)))
    assert (ended["stop_reason"], model.asked) == ("accepted", 2)
    assert [row["decision"] for row in ended["attempts"]] == ["stopped", "accepted"]


def test_hooks_run_internal_first_then_the_users_by_priority_then_by_their_place(tmp_path: Path) -> None:
    """Scenario 33, but for the hooks of a workspace (test_hooks_of_a_workspace)."""
    hooks = mounting(item("c", "true"), item("a", "true", priority=5), item("b", "true"), item("z", "true", priority=9))
    ended = made(tmp_path / "task", says(write("a.py", CODE)), hooks)
    ran = [row["hook"] for row in ended["attempts"][0]["hooks"]]
    assert ran == ["internal:code", "user:z", "user:a", "user:c", "user:b"]


@pytest.mark.slow
def test_the_reasons_of_several_hooks_are_joined_and_one_may_keep_the_others_from_running(tmp_path: Path) -> None:
    """Scenario 34."""
    pair = [item("lint", "echo long line; exit 1"), item("tests", counted(tmp_path / "bench", "echo 3 failed; exit 1"))]
    model = says(write("a.py", CODE))
    made(tmp_path / "both", model, mounting(*pair, most_continues=1))
    [told, *_] = feedback_in(list(model.requests[2].messages))
    assert 'source="hooks"' in told
    for part in ("[user:lint]", "long line", "[user:tests]", "3 failed"):
        assert part in told
    before = runs(tmp_path / "bench")
    hooks = mounting({**pair[0], "fail_fast": True}, pair[1], most_continues=0)
    ended = made(tmp_path / "fast", says(write("a.py", CODE)), hooks)
    assert runs(tmp_path / "bench") == before
    assert [row["hook"] for row in ended["attempts"][0]["hooks"]] == ["internal:code", "user:lint"]


@pytest.mark.slow
def test_a_hook_that_takes_too_long_is_tried_once_more_and_then_ends_the_run_at_no_cost_to_the_model(
    tmp_path: Path,
) -> None:
    """Scenario 35."""
    slow = item("slow", counted(tmp_path / "bench", "sleep 60"), timeout_sec=0.3)
    model = says(write("a.py", CODE))
    with pytest.raises(Incomplete, match="a check did not work: user:slow"):
        made(tmp_path / "closed", model, mounting(slow))
    assert (runs(tmp_path / "bench"), model.asked) == (2, 2)
    ended = made(tmp_path / "open", says(write("a.py", CODE)), mounting({**slow, "failure_policy": "fail_open"}))
    assert (ended["status"], ended["stop_reason"]) == ("warning", "accepted")
    assert ended["verification"]["verified"] is False
    assert "user:slow gave no verdict" in ended["verification"]["why"]


@pytest.mark.slow
def test_a_hook_that_changes_files_is_refused_by_name_unless_it_may(tmp_path: Path) -> None:
    """Scenario 37: a formatter is run again on what it left, and passes then."""
    tidy = item("tidy", counted(tmp_path / "bench", "cd \"$PIPELINE_PROJECT_DIR\"; sed -i 's/four/4/' a.py"))
    rough = CODE.replace("4", "4  # four")
    model = says(write("a.py", rough))
    ended = made(tmp_path / "task", model, mounting(tidy))
    assert ended["attempts"][0]["source"] == "hook:user:tidy"
    assert "files were modified by hook user:tidy: a.py" in feedback_in(list(model.requests[2].messages))[0]
    assert ended["stop_reason"] == "accepted"
    before = runs(tmp_path / "bench")
    ended = made(tmp_path / "may", says(write("a.py", rough)), mounting({**tidy, "allow_writes": True}))
    assert (ended["stop_reason"], len(ended["attempts"])) == ("accepted", 1)
    assert runs(tmp_path / "bench") == before + 2
    assert b"# 4" in tree(tmp_path / "may")["a.py"]


def test_a_hook_that_never_stops_changing_files_is_refused_though_it_may(tmp_path: Path) -> None:
    hooks = mounting(item("noise", "date +1%N >> a.py", allow_writes=True), most_continues=0)
    ended = made(tmp_path / "task", says(write("a.py", CODE)), hooks)
    assert ended["stop_reason"] == "accept_continue_exhausted"
    assert "changes files each time it runs: a.py" in ended["attempts"][0]["reason"]


def test_a_call_that_a_hook_blocks_is_not_done_and_the_run_goes_on(tmp_path: Path) -> None:
    """Scenario 38."""
    guard = item("guard", "grep -q forbidden && { echo 'not this one' >&2; exit 2; } || true", point="before_tool_call")
    hooks = mounting({**guard, "matcher": "Bash|Write"})
    model = says(call("Bash", command="touch forbidden"), write("a.py", CODE))
    ended = made(tmp_path / "task", model, hooks)
    assert ended["stop_reason"] == "accepted"
    assert sorted(tree(tmp_path / "task")) == ["a.py"]
    answer = model.requests[1].messages[-1].text
    assert answer.startswith("error: hook_blocked: user:guard does not allow this call")
    assert "not this one" in answer
    [told] = [row for row in events(tmp_path / "task") if row["event"] == "hook_blocked"]
    assert (told["tool_name"], told["tool_call_id"]) == ("Bash", "c1")


def test_what_a_hook_adds_after_a_call_is_told_to_the_model_and_its_message_to_the_user(tmp_path: Path) -> None:
    answer = {
        "systemMessage": "formatted",
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "keep lines under 100"},
    }
    hooks = mounting(item("style", f"echo '{json.dumps(answer)}'", point="after_tool_result", matcher="Write"))
    model, told = says(write("a.py", CODE)), list[str]()
    made(tmp_path / "task", model, hooks, tell=told.append)
    assert "A hook of the user says: user:style: keep lines under 100" in [m.text for m in model.requests[1].messages]
    assert "user:style: formatted" in told


def test_what_a_hook_adds_at_the_gate_is_a_note_that_costs_an_attempt(tmp_path: Path) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "also write a README"}}
    command = script(tmp_path, "h.sh", f"""grep -q '"stop_hook_active":true' || echo '{json.dumps(answer)}'""")
    model = says(write("a.py", CODE))
    ended = made(tmp_path / "task", model, mounting(item("docs", command)))
    assert "also write a README" in feedback_in(list(model.requests[2].messages))[0]
    assert [row["decision"] for row in ended["attempts"]] == ["continued", "accepted"]


def test_a_sandboxed_hook_sees_the_workspace_and_nothing_of_the_host(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    hooks = mounting(item("boxed", f"test -e a.py && test ! -e {secret} && exit 3", sandbox=True), most_continues=0)
    if kind_of_sandbox("required") == "none":
        pytest.skip("no sandbox on this machine")
    ended = made(tmp_path / "task", says(write("a.py", CODE)), hooks)
    assert ended["attempts"][0]["hooks"][-1]["exit_code"] == 3


# B and F. what counts as a change, todos, people


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        pytest.param("python3 -c \"open('made.txt', 'w').write('x')\"", 1, id="a file that a program made"),
        pytest.param("echo x > b.txt; exit 1", 1, id="a command that failed after writing"),
        pytest.param("mkdir -p __pycache__ && touch __pycache__/x.pyc", 0, id="a cache alone"),
    ],
)
@needs_a_sandbox
def test_a_change_is_what_the_disk_says(command: str, asked: int, tmp_path: Path) -> None:
    """Scenarios 15, 16, 18, 20: in a run where nothing else was written."""
    bench, task = tmp_path / "bench", tmp_path / "task"
    made(task, says(write("a.py", CODE)), mounting())
    other = says(call("Bash", command=command))
    other.name = "another"
    hooks = mounting(item("tests", counted(bench, "exit 0")), most_continues=0)
    plan = small_plan("a.py")
    plan["validation_approach"]["experiments"] = ["one more"]
    ended = made(task, other, hooks, plan, digest="2" * 64)
    assert runs(bench) == asked, ended["attempts"]


@pytest.mark.parametrize(
    "makes",
    [
        pytest.param(write("b.txt", "x\n"), id="by an edit"),
        pytest.param(call("Bash", command="echo x > a.py"), id="by a command that writes a planned file"),
    ],
)
@needs_a_sandbox
def test_a_file_that_was_made_and_removed_counts_as_touched_and_not_as_changed(makes: Reply, tmp_path: Path) -> None:
    ended = made(tmp_path / "task", says(makes, call("Bash", command="rm -f a.py b.txt")), mounting(most_continues=0))
    [attempt] = ended["attempts"]
    assert (attempt["changed"], attempt["touched"], attempt["files"]) == (False, True, [])


def test_todos_that_wait_for_the_user_end_the_run_at_once_and_the_next_start_goes_on(tmp_path: Path) -> None:
    """Scenario 52."""
    waits = call(
        "TodoWrite",
        todos=[{"id": "d", "content": "get the data", "status": "blocked", "blocked_reason": "user_input_wait"}],
    )
    over = call("TodoWrite", todos=[{"id": "d", "content": "get the data", "status": "completed"}])
    model = says(write("a.py", CODE), waits, DONE, call("TodoWrite", action="claim", id="d"), over, DONE)
    with pytest.raises(Incomplete, match="a todo waits for you"):
        made(tmp_path / "task", model, mounting())
    assert model.asked == 3
    ended = made(tmp_path / "task", model, mounting())
    assert ended["stop_reason"] == "accepted"
    assert "The user has started the run again" in model.requests[3].messages[-1].text


def test_a_person_sees_which_hook_refused_why_and_how_many_attempts_are_left(tmp_path: Path) -> None:
    told: list[str] = []
    hooks = mounting(item("tests", "seq 1 20; echo 'FAILED test_loss' >&2; exit 1"), most_continues=1)
    made(tmp_path / "task", says(write("a.py", CODE)), hooks, tell=told.append)
    [first] = [number for number, line in enumerate(told) if line.startswith("not accepted (attempt 1 of 2)")]
    assert "user:tests: exited with code 1; 1 attempt is left" in told[first]
    assert any("20" in line for line in told[first + 1 : first + 8])


def test_a_run_that_is_cut_off_while_a_hook_sleeps_records_no_refusal(tmp_path: Path) -> None:
    """Scenario 13: the hook and its children are gone, and the run that goes on asks it again."""
    marker = tmp_path / "started"
    hooks = mounting(item("slow", f"touch {marker}; sleep 300 & sleep 300"))

    def interrupt(number: int, frame: object) -> None:
        raise Interrupted(number)

    before = signal.signal(signal.SIGUSR1, interrupt)

    def wait_and_send() -> None:
        wait_until(marker.exists, "the hook runs")
        os.kill(os.getpid(), signal.SIGUSR1)

    try:
        threading.Thread(target=wait_and_send, daemon=True).start()
        with pytest.raises(Interrupted):
            made(tmp_path / "task", says(write("a.py", CODE)), hooks)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [row["reason"] for row in events(tmp_path / "task") if row["event"] == "stop_reason_decided"] == [
        "user_interrupt"
    ]
    assert "hook_blocked" not in names_of(events(tmp_path / "task"))
    ended = made(tmp_path / "task", says(write("a.py", CODE)), mounting(item("slow", "exit 0")))
    assert ended["stop_reason"] == "accepted"
