"""The exam: files that decide about acceptance stay what they were, whatever comes between, and only the user changes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.configuration.repo_hooks import build_trust_entry, write_trust
from phases.acceptance.hook_registry import HookSetting
from phases.llm.model import Reply, Request
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.errors import Incomplete, Paused
from tests.agents import CONTRACTS, WITHOUT_MOUNTS, Scripted, call, carry_out, says, small_plan, write
from tests.hooks import events, item, mounting, names_of

CODE = 'def meet() -> int:\n    """R1, section 1, page 1."""\n    return 4\n'
DONE = Reply("ok", "done")
SCRIPT = ".pipeline/tests.sh"
needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")
pytestmark = needs_a_sandbox


class Place:
    """A task whose workspace holds scripts of the user's own hooks, and a file that only an escape makes."""

    def __init__(self, folder: Path) -> None:
        self.task, self.own, self.escaped = folder / "task", folder / "own", folder / "escaped"
        self.control = self.task / "generate_code" / ".pipeline"
        self.control.mkdir(parents=True)
        self.own.mkdir(mode=0o700)

    def script(self, text: str, name: str = "tests.sh") -> None:
        (self.control / name).write_text(text)

    def setting(self, *items: dict[str, Any], **more: Any) -> HookSetting:
        return mounting(*(items or (item("tests", f"sh {SCRIPT}"),)), folder=self.own, **more)

    def vouch(self, setting: HookSetting) -> None:
        """What `pipeline hooks trust` writes."""
        from phases.acceptance.configuration.parse_hooks import parse_hooks

        root = str(self.task / "generate_code")
        own = parse_hooks(setting.own["hooks"], "user", "config.yaml")
        entry = build_trust_entry(root, setting.parse, "2026-01-31T12:00:00.000Z", "cli", own)
        write_trust(str(self.own / "trusted-workspaces.json"), root, entry, setting.check_store)

    def made(self, model: Scripted, setting: HookSetting, **more: Any) -> dict[str, Any]:
        made = carry_out(
            self.task, model, more.pop("plan", small_plan("a.py")), hooks=setting, sandbox=WITHOUT_MOUNTS, **more
        )
        return {**made["implementation"], "attempts": made["acceptance"]["attempts"]}

    def edits(self, name: str = "tests.sh") -> Reply:
        """The agent puts a script of its own in the place of one, by a command."""
        return call("Bash", {"command": f"echo 'touch {self.escaped}; exit 0' > .pipeline/{name}"}, f"edit-{name}")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_hook_around_calls_whose_script_was_edited_is_not_run_and_ends_the_run(place: Place) -> None:
    place.script("exit 0\n", "guard.sh")
    guard = item("guard", "sh .pipeline/guard.sh", point="before_tool_call")
    model = says(write("a.py", CODE), place.edits("guard.sh"), call("Bash", command="true"))
    with pytest.raises(Incomplete, match=r"a check was changed: user:guard: .*\.pipeline/guard\.sh") as caught:
        place.made(model, place.setting(guard, item("end", "sh .pipeline/guard.sh", point="session_end")))
    assert (caught.value.stop_reason, place.escaped.exists()) == ("hook_tampered", False)


@pytest.mark.parametrize("name", ["json.py", "sub/helper.sh", "tests.sh.orig"])
def test_a_file_that_the_agent_puts_beside_a_script_is_part_of_the_exam(name: str, place: Place) -> None:
    place.script("exit 0\n")
    add = call("Bash", command=f"mkdir -p .pipeline/sub; echo > .pipeline/{name}")
    ended = place.made(says(write("a.py", CODE), add), place.setting())
    assert (ended["stop_reason"], ended["verification"]["verified"]) == ("hook_tampered", False)
    assert ended["attempts"][0]["tampered"] == [f".pipeline/{name}"]


def test_what_python_caches_of_the_users_scripts_changes_nothing_and_is_never_run(place: Place) -> None:
    """A cache of another content, with the time and size of its source, would be run instead of it."""
    place.script("import helper\n", "t.py")
    place.script("", "helper.py")
    setting = place.setting(item("tests", "python3 .pipeline/t.py"))
    program = f"""import importlib._bootstrap_external as loader, importlib.util, os
code = compile("open({str(place.escaped)!r}, 'w')", "helper.py", "exec")
status = os.stat(".pipeline/helper.py")
os.makedirs(".pipeline/__pycache__", exist_ok=True)
with open(importlib.util.cache_from_source(".pipeline/helper.py"), "wb") as file:
    file.write(loader._code_to_timestamp_pyc(code, int(status.st_mtime), status.st_size))
"""
    plant = f"python3 - <<'END'\n{program}END\n"
    ended = place.made(says(write("a.py", CODE), call("Bash", command=plant)), setting)
    assert (ended["stop_reason"], place.escaped.exists()) == ("accepted", False)
    (place.control / "__pycache__").mkdir()
    (place.control / "__pycache__" / "helper.cpython-311.pyc").write_bytes(b"x")
    other = says(write("a.py", CODE + "# more\n"))
    other.name = "another"
    assert place.made(other, setting)["stop_reason"] == "accepted"


@pytest.mark.parametrize("kind", [pytest.param("a large file", marks=pytest.mark.slow), "a link into the workspace"])
def test_what_nobody_can_vouch_for_in_the_folder_of_hooks_is_refused_before_anything_is_asked(
    kind: str, place: Place
) -> None:
    place.script("exit 0\n")
    if kind == "a large file":
        (place.control / "data.bin").write_bytes(b"x" * 3_000_000)
        edit = call("Bash", command="printf y | dd of=.pipeline/data.bin conv=notrunc")
        ended = place.made(says(write("a.py", CODE), edit), place.setting())
        assert (ended["stop_reason"], ended["attempts"][0]["tampered"]) == ("hook_tampered", [".pipeline/data.bin"])
        return
    (place.control / "data.bin").symlink_to("../a.py")
    model = says(write("a.py", CODE))
    with pytest.raises(Incomplete, match=r"data\.bin decides about acceptance"):
        place.made(model, place.setting())
    assert model.asked == 0


def test_a_trusted_hook_that_runs_what_the_agent_is_to_write_is_refused_in_words(place: Place) -> None:
    (place.control / "hooks.yaml").write_bytes(
        CONTRACTS.serialise("hooks.yaml", {"hooks": {"items": [item("app", "python3 a.py")]}}, writer="a test")
    )
    model = says(write("a.py", CODE))
    with pytest.raises(Incomplete, match=r"repo:app runs a\.py, which the plan has the agent write") as caught:
        place.made(model, mounting(folder=place.own, trust_now=True))
    assert (caught.value.stop_reason, model.asked) == ("hook_config_invalid", 0)
    looks = {"hooks": {"items": [item("app", "grep -q 'return 4' a.py")]}}
    (place.control / "hooks.yaml").write_bytes(CONTRACTS.serialise("hooks.yaml", looks, writer="a test"))
    ended = place.made(model, mounting(folder=place.own, trust_now=True))
    assert ended["stop_reason"] == "accepted"


@pytest.mark.slow
def test_a_file_that_the_agent_wrote_is_its_own_also_for_another_model(place: Place) -> None:
    setting = place.setting(item("smoke", "sh smoke.sh"))
    place.made(says(write("a.py", CODE), write("smoke.sh", "exit 1\n")), setting)
    other = says(write("a.py", CODE + "# more\n"), write("smoke.sh", "exit 0\n", "w2"))
    other.name = "another"
    assert place.made(other, setting)["stop_reason"] == "accepted"


def test_a_file_that_python_would_take_for_the_users_tool_is_part_of_the_exam(place: Place) -> None:
    """`python -m pytest` takes a pytest.py that lies in the workspace for pytest."""
    ended = place.made(
        says(write("a.py", CODE), call("Bash", command="echo > pytest.py")),
        place.setting(item("t", "python3 -m pytest -q")),
    )
    assert (ended["stop_reason"], ended["attempts"][0]["tampered"]) == ("hook_tampered", ["pytest.py"])


def test_a_script_in_the_users_folder_that_is_not_there_is_no_work_of_the_agent(place: Place) -> None:
    """It is missed before the agent spends an attempt, and what the agent puts there is never run."""
    with pytest.raises(
        Incomplete, match=r"a check did not work: user:tests: its script \.pipeline/tests\.sh is not there"
    ):
        place.made(says(write("a.py", CODE)), place.setting())
    (place.task.parent / "other").mkdir()
    other = Place(place.task.parent / "other")
    ended = other.made(says(write("a.py", CODE), other.edits()), other.setting())
    assert (ended["stop_reason"], other.escaped.exists()) == ("hook_tampered", False)


def test_a_script_outside_of_that_folder_that_is_not_there_is_the_agents_to_write_also_after_a_pause(
    place: Place,
) -> None:
    setting = place.setting(item("smoke", "sh smoke.sh"))
    model = says(write("a.py", CODE), write("smoke.sh", "exit 1\n"), write("smoke.sh", "exit 0\n", "w3"))
    with pytest.raises(Paused):
        place.made(model, setting, max_turns=2)
    assert place.made(model, setting)["stop_reason"] == "accepted"


@pytest.mark.parametrize("again", ["another model", "another plan"])
def test_an_edited_script_stays_edited_for_the_work_that_follows(again: str, place: Place) -> None:
    place.script("exit 0\n")
    assert place.made(says(write("a.py", CODE), place.edits()), place.setting())["stop_reason"] == "hook_tampered"
    other = says(write("a.py", CODE + "# more\n"), write("b.py", CODE, "w2"))
    other.name = "another"
    more = {"plan": small_plan("a.py", "b.py"), "digest": "2" * 64} if again == "another plan" else {}
    with pytest.raises(Incomplete, match=r"tests\.sh decides about acceptance, and is not what it was"):
        place.made(other, place.setting(), **more)
    assert (other.asked, place.escaped.exists()) == (0, False)


def test_a_script_that_is_deleted_in_one_start_and_put_there_in_another_is_not_run(place: Place) -> None:
    place.script("exit 0\n")
    model = says(write("a.py", CODE), call("Bash", command=f"rm {SCRIPT}"), place.edits(), DONE)
    with pytest.raises(Paused):
        place.made(model, place.setting(), max_turns=2)
    for _ in range(2):
        with pytest.raises(Incomplete, match="decides about acceptance"):
            place.made(model, place.setting())
    assert not place.escaped.exists()


def test_a_hook_that_is_added_in_a_pause_rests_on_what_was_there_when_the_work_began(place: Place) -> None:
    place.script("exit 0\n")
    model = says(write("a.py", CODE), place.edits(), DONE)
    with pytest.raises(Paused):
        place.made(model, mounting(), max_turns=2)
    with pytest.raises(Incomplete, match="decides about acceptance"):
        place.made(model, place.setting())
    assert not place.escaped.exists()


def test_a_script_that_the_user_mends_counts_once_he_vouches_for_it(place: Place) -> None:
    place.script("no-such-command\n")
    model = says(write("a.py", CODE))
    with pytest.raises(Incomplete, match="a check did not work"):
        place.made(model, place.setting())
    place.script("exit 0\n")
    with pytest.raises(Incomplete, match="if you changed it yourself: pipeline hooks trust task"):
        place.made(model, place.setting())
    place.vouch(place.setting())
    ended = place.made(model, place.setting())
    assert (ended["stop_reason"], ended["verification"]["verified"], model.asked) == ("accepted", True, 2)


def test_hooks_that_were_taken_as_they_are_for_one_start_leave_a_doubt_where_the_next_does_not_take_them(
    place: Place,
) -> None:
    (place.control / "hooks.yaml").write_bytes(
        CONTRACTS.serialise("hooks.yaml", {"hooks": {"items": [item("checks", "exit 0")]}}, writer="a test")
    )
    model = says(write("a.py", CODE), call("Bash", command="true"))
    with pytest.raises(Paused):
        place.made(model, mounting(folder=place.own, trust_now=True), max_turns=2)
    ended = place.made(model, mounting(folder=place.own))
    assert (ended["status"], ended["stop_reason"]) == ("warning", "accepted")
    assert "the hooks of the workspace that the work began with are not run now" in ended["verification"]["why"]


def test_a_second_try_of_a_hook_is_not_run_from_what_the_first_made_of_its_script(place: Place) -> None:
    place.script(f"echo 'touch {place.escaped}; exit 0' > {SCRIPT}; no-such-command\n")
    setting = place.setting(item("tests", f"sh {SCRIPT}", allow_writes=True))
    ended = place.made(says(write("a.py", CODE)), setting)
    assert (ended["stop_reason"], place.escaped.exists()) == ("hook_tampered", False)


# What else is told, taken back and looked at


def test_what_a_check_adds_is_taken_back_and_no_reason_to_refuse(place: Place) -> None:
    ended = place.made(
        says(write("a.py", CODE)), place.setting(item("cover", "echo x > .coverage; mkdir html; touch html/i"))
    )
    assert (ended["stop_reason"], [row["path"] for row in ended["files"]]) == ("accepted", ["generate_code/a.py"])


def test_what_a_hook_says_at_the_beginning_stays_before_the_model(place: Place) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "use float64"}}
    setting = place.setting(item("hello", f"echo '{json.dumps(answer)}'", point="session_start"))
    model = says(write("a.py", CODE), call("Bash", command="true"))
    with pytest.raises(Paused):
        place.made(model, setting, max_turns=1)
    place.made(model, setting)
    for request in model.requests:
        told = [message.text for message in request.messages]
        assert told.count("A hook of the user says: user:hello: use float64") == 1


def test_calls_of_a_sub_agent_are_watched_over_too(place: Place) -> None:
    guard = item("guard", "echo no reading >&2; exit 2", point="before_tool_call", matcher="Read")

    def reply(request: Request) -> Reply:
        if request.thread != "implement":
            return call("Read", file_path="a.py") if request.turn == 1 else Reply("ok", "it was not read")
        script = [write("a.py", CODE), call("Task", description="look", prompt="read a.py")]
        return script[request.turn - 1] if request.turn <= len(script) else DONE

    model = Scripted(reply)
    assert place.made(model, place.setting(guard))["stop_reason"] == "accepted"
    shown = [message.text for request in model.requests for message in request.messages]
    assert any("hook_blocked: user:guard does not allow this call: no reading" in text for text in shown)


def test_a_message_of_a_hook_at_the_gate_is_for_the_user(place: Place) -> None:
    told: list[str] = []
    setting = place.setting(item("note", """echo '{"systemMessage": "coverage is 71%"}'"""))
    place.made(says(write("a.py", CODE)), setting, tell=told.append)
    assert "user:note: coverage is 71%" in told


@pytest.mark.slow
def test_work_that_is_edited_by_hand_after_its_end_is_judged_anew_on_record(place: Place) -> None:
    setting = place.setting(item("tests", "grep -q 'return 4' a.py"))
    model = says(write("a.py", CODE))
    assert place.made(model, setting)["stop_reason"] == "accepted"
    code = place.task / "generate_code" / "a.py"
    code.write_text(CODE.replace("4", "5"))
    ended = place.made(model, setting)
    assert (ended["stop_reason"], ended["verification"]["verified"], model.asked) == (
        "accept_continue_exhausted",
        False,
        2,
    )
    assert [row["decision"] for row in ended["attempts"]] == ["accepted", "continued"]
    code.write_text(CODE)
    ended = place.made(model, setting)
    assert (ended["stop_reason"], ended["verification"]["verified"], model.asked) == ("accepted", True, 2)
    before = len(ended["attempts"])
    assert len(place.made(model, setting)["attempts"]) == before, "what is on record is not judged again"


def test_a_run_that_is_stuck_is_looked_at_and_nobody_is_said_to_have_claimed_anything(place: Place) -> None:
    model = Scripted(lambda request: call("Read", {"file_path": "none.py"}, f"c{request.turn}"))
    ended = place.made(model, place.setting(item("tests", f"touch {place.escaped}")))
    assert (ended["stop_reason"], place.escaped.exists()) == ("stuck", False)
    assert [row["claimed"] for row in ended["attempts"]] == [False]
    assert names_of(events(place.task), "acceptance_decided") == []
