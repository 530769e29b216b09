"""The hooks that a workspace brings along, in real runs: they run as the user trusts them, or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.configuration.parse_hooks import HookConfigError
from phases.acceptance.configuration.repo_hooks import HOOKS_FILE, build_trust_entry, write_trust
from phases.acceptance.hook_registry import STORE, HookSetting
from phases.llm.model import Reply, Request
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.errors import Incomplete, Paused
from pipeline.base.files import sha256
from pipeline.base.plain_yaml import dump_yaml
from tests.agents import CONTRACTS, WITHOUT_MOUNTS, Scripted, call, carry_out, says, small_plan, tree, write
from tests.hooks import events, feedback_in, item, mounting, names_of, script

PLAN = small_plan("a.py")
CODE = 'def meet() -> int:\n    """R1, section 1, page 1."""\n    return 4\n'
DONE = Reply("ok", "done")
SCRIPT = ".pipeline/check.sh"
needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")


class Place:
    """A task whose workspace has one hook, that counts how often it is run; and the folder of the user's settings."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.task, self.own = folder, folder / "task", folder / "config"
        self.root, self.ran = self.task / "generate_code", folder / "ran"
        self.file, self.script, self.store = self.root / HOOKS_FILE, self.root / SCRIPT, self.own / STORE
        self.own.mkdir()
        self.write(item("checks", f"sh {SCRIPT}"))
        self.script.write_text(f"echo run >> {self.ran}\n")

    def write(self, *items: dict[str, Any], **hooks: Any) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(dump_yaml({"hooks": {**hooks, "items": list(items)}}))

    def trust(self) -> None:
        entry = build_trust_entry(str(self.root), _parsed, "2026-01-31T12:00:00.000Z", "a test")
        write_trust(str(self.store), str(self.root), entry, mounting().check_store)

    def setting(self, *items: dict[str, Any], **more: Any) -> HookSetting:
        return mounting(*items, folder=self.own, **more)

    def made(self, model: Scripted, hooks: HookSetting | None = None, **more: Any) -> dict[str, Any]:
        """implementation.json of a run, with its attempts."""
        more = {"sandbox": WITHOUT_MOUNTS, "hooks": hooks or self.setting(), **more}
        documents = carry_out(self.task, model, more.pop("plan", PLAN), **more)
        return {**documents["implementation"], "attempts": documents["acceptance"]["attempts"]}

    @property
    def runs(self) -> int:
        return len(self.ran.read_text().splitlines()) if self.ran.exists() else 0

    def of(self, event: str) -> list[dict[str, Any]]:
        return [row for row in events(self.task) if row["event"] == event]


def _parsed(data: bytes) -> dict[str, Any]:
    return dict(CONTRACTS.parse("hooks.yaml", data, writer="a test"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def bash(command: str, identifier: str = "b1") -> Reply:
    return call("Bash", {"command": command}, identifier)


def asked(ended: dict[str, Any], attempt: int = 0) -> list[str]:
    return [row["hook"] for row in ended["attempts"][attempt]["hooks"]]


# Trusted, or not


@needs_a_sandbox
def test_hooks_of_a_workspace_run_after_those_of_the_user_each_by_priority_and_then_by_place(place: Place) -> None:
    """Scenario 33."""
    order = place.folder / "order"
    names = {name: f"echo {name} >> {order}" for name in "abcxyz"}
    place.write(item("x", names["x"]), item("y", names["y"], priority=900), item("z", names["z"]))
    place.trust()
    own = place.setting(item("a", names["a"]), item("b", names["b"]), item("c", names["c"], priority=1))
    ended = place.made(says(write("a.py", CODE)), own)
    assert asked(ended) == ["internal:code", "user:c", "user:a", "user:b", "repo:y", "repo:x", "repo:z"]
    assert order.read_text().split() == ["c", "a", "b", "y", "x", "z"]
    assert (ended["stop_reason"], ended["verification"]["verified"]) == ("accepted", True)
    [loaded] = place.of("repo_hooks_loaded")
    assert (loaded["count"], loaded["hooks"]) == (3, ["y", "x", "z"])


def test_a_refusal_of_the_user_does_not_hide_what_the_workspace_says(place: Place) -> None:
    place.write(item("lint", "echo a line is too long; exit 1"))
    place.trust()
    model = says(write("a.py", CODE))
    place.made(model, place.setting(item("tests", "echo 3 failed; exit 1"), most_continues=1))
    [told, *_] = feedback_in(list(model.requests[2].messages))
    for part in ("[user:tests]", "3 failed", "[repo:lint]", "a line is too long"):
        assert part in told


def test_hooks_that_nobody_trusts_are_not_run_and_that_is_told_once(place: Place) -> None:
    """Scenario 40."""
    told: list[str] = []
    ended = place.made(says(write("a.py", CODE)), tell=told.append)
    assert (ended["stop_reason"], place.runs, asked(ended)) == ("accepted", 0, ["internal:code"])
    [skipped] = place.of("repo_hooks_skipped_untrusted")
    assert skipped["reason"].startswith(f"no workspace is trusted yet ({place.store} is not there)")
    assert place.of("repo_hooks_loaded") == place.of("repo_hooks_trust_store_invalid") == []
    [line] = [line for line in told if "hooks of the workspace" in line]
    assert line.startswith("hooks of the workspace are not run (untrusted: ")
    assert line.endswith("see: pipeline hooks list")


def test_trust_for_one_run_runs_them_and_is_gone_with_the_run(place: Place) -> None:
    ended = place.made(says(write("a.py", CODE)), place.setting(trust_now=True))
    assert (ended["stop_reason"], place.runs, place.store.exists()) == ("accepted", 1, False)
    other = says(write("a.py", CODE + "# again\n"))
    other.name = "another"
    assert place.made(other, digest="3" * 64)["stop_reason"] == "accepted"
    assert place.runs == 1
    assert len(place.of("repo_hooks_skipped_untrusted")) == 1


@needs_a_sandbox
@pytest.mark.parametrize("state", ["untrusted", "modified", "invalid"])
def test_who_wants_no_run_without_the_hooks_of_a_workspace_gets_none(state: str, place: Place) -> None:
    if state == "modified":
        place.trust()
        place.script.write_text("exit 0\n")
    if state == "invalid":
        place.file.write_text("hooks: {later: true}\n")
    model = says(write("a.py", CODE))
    with pytest.raises(Incomplete, match=r"on_untrusted is stop: .*pipeline hooks trust") as caught:
        place.made(model, place.setting(on_untrusted="stop"))
    assert (caught.value.stop_reason, model.asked, place.runs) == ("hook_config_invalid", 0, 0)
    place.write(item("checks", f"sh {SCRIPT}"))
    place.script.write_text(f"echo run >> {place.ran}\n")
    place.trust()
    assert place.made(model, place.setting(on_untrusted="stop"))["stop_reason"] == "accepted"
    assert place.runs == 1


def test_a_store_that_cannot_be_trusted_trusts_nothing_and_the_run_goes_on_without_it(place: Place) -> None:
    """Scenario 41."""
    place.trust()
    place.store.chmod(0o602)
    ended = place.made(says(write("a.py", CODE)))
    assert (ended["stop_reason"], place.runs, asked(ended)) == ("accepted", 0, ["internal:code"])
    for event in ("repo_hooks_trust_store_invalid", "repo_hooks_skipped_untrusted"):
        assert ["all users may write to it" in row["reason"] for row in place.of(event)] == [True]
    assert place.of("repo_hooks_loaded") == []


def _edit(place: Place) -> None:
    place.write(item("checks", f"sh {SCRIPT}; true"))


def _edit_the_script(place: Place) -> None:
    place.script.write_text(f"echo other >> {place.ran}\n")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(_edit, "checks: it has changed since it was trusted", id="the hook"),
        pytest.param(_edit_the_script, f"checks: {SCRIPT} changed since it was trusted", id="its script"),
        pytest.param(lambda place: place.file.unlink(), f"{HOOKS_FILE} no longer exists", id="deleted"),
        pytest.param(lambda place: place.file.write_text("hooks: ["), "cannot be used", id="spoiled"),
    ],
)
def test_a_hook_that_changed_since_it_was_trusted_is_not_run_and_nothing_counts_as_verified(
    change: Callable[[Place], object], why: str, place: Place
) -> None:
    """Scenario 42."""
    place.trust()
    change(place)
    ended = place.made(says(write("a.py", CODE)))
    assert (ended["status"], ended["stop_reason"], place.runs) == ("warning", "accepted", 0)
    assert ended["verification"]["verified"] is False
    assert "trusted hooks of the workspace have changed since they were trusted" in ended["verification"]["why"]
    [modified] = place.of("repo_hooks_modified")
    assert why in modified["reason"]


# Edited by the agent while it runs

EDITS: list[Any] = [
    pytest.param(f"echo 'exit 0' > {SCRIPT}", SCRIPT, id="the script"),
    pytest.param(f"sed -i 's/sh /true /' {HOOKS_FILE}", HOOKS_FILE, id="the hooks file"),
    pytest.param(f"rm {SCRIPT}", SCRIPT, id="the script is deleted"),
    pytest.param(f"rm -f {HOOKS_FILE}", HOOKS_FILE, id="the hooks file is deleted"),
    pytest.param(f"mv {SCRIPT} b.sh; ln -s ../b.sh {SCRIPT}", SCRIPT, id="the script is a link to itself"),
    pytest.param("mv .pipeline x; cp -r x .pipeline; echo '# more' >> .pipeline/hooks.yaml", HOOKS_FILE, id="the folder"),
]  # fmt: skip


@needs_a_sandbox
@pytest.mark.parametrize(("command", "named"), EDITS)
def test_an_exam_that_the_agent_edits_is_not_held_and_nothing_is_accepted(
    command: str, named: str, place: Place
) -> None:
    """Scenario 43: never restored."""
    place.trust()
    model = says(write("a.py", CODE), bash(command))
    ended = place.made(model)
    assert (ended["status"], ended["stop_reason"], place.runs) == ("incomplete", "hook_tampered", 0)
    assert ended["verification"]["verified"] is False
    assert [row["hooks"] for row in ended["attempts"]] == [[]] * 4
    assert [row["files"] for row in place.of("hook_tampered")] == [[named]] * 4
    [told, *_] = feedback_in(list(model.requests[3].messages))
    assert f"Files that decide about acceptance were changed during the run: {named}. Restore them" in told
    assert place.of("stop_reason_decided")[-1]["reason"] == "hook_tampered"
    assert names_of(events(place.task), "verification_failed", "verification_completed") == ["verification_failed"]


@needs_a_sandbox
def test_an_exam_that_is_restored_is_held_and_can_be_passed(place: Place) -> None:
    """Scenario 43: restored."""
    place.trust()
    away, back = (
        f"cp -r .pipeline kept; echo 'exit 0' > {SCRIPT}; echo >> {HOOKS_FILE}",
        "cp kept/* .pipeline; rm -r kept",
    )
    model = says(write("a.py", CODE), bash(away), DONE, bash(back, "b2"), DONE)
    ended = place.made(model)
    assert (ended["status"], ended["stop_reason"], place.runs) == ("completed", "accepted", 1)
    assert [row["tampered"] for row in ended["attempts"]] == [[SCRIPT, HOOKS_FILE], []]
    assert asked(ended, 1) == ["internal:code", "repo:checks"]


@needs_a_sandbox
@pytest.mark.parametrize("every_start", [False, True], ids=["trusted once", "--trust-hooks at every start"])
@pytest.mark.parametrize(("command", "named"), EDITS)
def test_a_pause_does_not_make_an_edited_exam_good(command: str, named: str, every_start: bool, place: Place) -> None:
    """Scenario 43: a later start asks the user first. --trust-hooks covers the beginning of a run, not its edits."""
    if not every_start:
        place.trust()
    hooks = place.setting(trust_now=every_start)
    model = says(write("a.py", CODE), bash(command))
    with pytest.raises(Paused):
        place.made(model, hooks, max_turns=2)
    for _ in range(2):
        with pytest.raises(Incomplete, match=f"{named}.* decides about acceptance, and is not what it was") as caught:
            place.made(model, hooks)
        assert (caught.value.stop_reason, place.runs, model.asked) == ("hook_tampered", 0, 2)


@needs_a_sandbox
def test_a_hook_that_the_agent_itself_puts_there_is_never_run(place: Place) -> None:
    """Not by the start that it is made in, and not by one that trusts what it finds: the agent has no way to the host."""
    place.file.unlink()
    place.script.unlink()
    items = "\n".join(
        f"  - {{id: {point.replace('_', '-')}, point: {point}, kind: command, params: {{command: 'touch {place.ran}'}}}}"
        for point in ("session_start", "before_tool_call", "accept_gate", "session_end")
    )
    plant = bash(f"mkdir -p .pipeline; cat > {HOOKS_FILE} <<'END'\nhooks:\n  items:\n{items}\nEND\n")
    hooks = place.setting(trust_now=True)
    model = says(write("a.py", CODE), plant, bash("true", "b2"))
    with pytest.raises(Paused):
        place.made(model, hooks, max_turns=2)
    assert place.file.exists(), model.replies
    place.made(model, hooks)
    assert not place.ran.exists()


@needs_a_sandbox
def test_a_hook_that_the_agent_left_is_not_run_when_the_work_begins_anew(place: Place) -> None:
    """The folder of hooks goes along with the workspace, and the agent of the run before could write to it."""
    items = f"[{{id: mine, point: session_start, kind: command, params: {{command: 'touch {place.ran}'}}}}]"
    plant = bash(f"echo 'hooks: {{items: {items}}}' > {HOOKS_FILE}".replace("'touch", "touch").replace("ran'}", "ran}"))
    hooks = place.setting(trust_now=True)
    place.made(says(write("a.py", CODE), plant), hooks)
    assert b"session_start" in place.file.read_bytes()
    other = Scripted(_another)
    other.name = "another"
    with pytest.raises(Incomplete, match=f"{HOOKS_FILE} decides about acceptance"):
        place.made(other, hooks, plan=small_plan("b.py"), digest="2" * 64)
    assert (other.asked, place.ran.exists()) == (0, False)


@needs_a_sandbox
def test_what_the_user_trusts_anew_between_two_starts_is_the_exam_from_then_on(place: Place) -> None:
    place.trust()
    model = says(write("a.py", CODE), bash("true"))
    with pytest.raises(Paused):
        place.made(model, max_turns=2)
    place.script.write_text(f"echo better >> {place.ran}\n")
    place.trust()
    ended = place.made(model)
    assert (ended["stop_reason"], place.ran.read_text()) == ("accepted", "better\n")


def test_an_exam_that_is_edited_by_code_that_another_hook_runs_is_not_passed(place: Place) -> None:
    """Tests are the agent's own code, and a hook that may write runs them: the edit comes between two hooks."""
    place.script.write_text(f"echo run >> {place.ran}; exit 1\n")
    place.trust()
    evil = f"open({SCRIPT!r}, 'w').write('echo evil >> {place.ran}')\n"
    model = says(write("a.py", CODE), write("evil.py", evil, "w2"))
    ended = place.made(model, place.setting(item("tests", "python3 evil.py", allow_writes=True)))
    assert (ended["status"], ended["stop_reason"], ended["verification"]["verified"]) == (
        "incomplete",
        "hook_tampered",
        False,
    )
    assert not place.ran.exists(), "what was edited is not run"


@needs_a_sandbox
def test_a_script_that_the_user_gives_another_name_and_trusts_is_missed_by_nobody(place: Place) -> None:
    place.trust()
    model = says(write("a.py", CODE), bash("true"))
    with pytest.raises(Paused):
        place.made(model, max_turns=2)
    os.rename(place.script, place.script.with_name("other.sh"))
    place.write(item("checks", "sh .pipeline/other.sh"))
    place.trust()
    ended = place.made(model)
    assert (ended["stop_reason"], place.runs, ended["attempts"][0]["tampered"]) == ("accepted", 1, [])


@needs_a_sandbox
def test_a_script_of_the_user_that_is_mended_while_the_run_stands_still_is_no_edited_exam(place: Place) -> None:
    """It lies outside, where the agent cannot write: a hook that broke is mended and asked again, and nothing is lost."""
    place.file.unlink()
    hooks = place.setting(item("mine", script(place.folder / "home", "check.sh", "exec no-such-command\n")))
    model = says(write("a.py", CODE))
    with pytest.raises(Incomplete, match="a check did not work"):
        place.made(model, hooks)
    script(place.folder / "home", "check.sh", f"echo run >> {place.ran}\n")
    ended = place.made(model, hooks)
    assert (ended["stop_reason"], place.runs, model.asked) == ("accepted", 1, 2)


def test_a_script_of_the_user_that_changes_while_it_is_asked_is_an_edited_exam(place: Place) -> None:
    """Whoever does it: within one start nobody can have looked at it."""
    place.file.unlink()
    path = place.folder / "home" / "check.sh"
    command = script(path.parent, path.name, f"echo run >> {place.ran}; echo '# more' >> {path}; exit 1\n")
    ended = place.made(says(write("a.py", CODE)), place.setting(item("mine", command)))
    assert (ended["stop_reason"], place.runs) == ("hook_tampered", 1)
    assert ended["attempts"][1]["tampered"] == [str(path)]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(write(HOOKS_FILE, "hooks: {}\n", "w2"), id="Write over the hooks file"),
        pytest.param(write(f"./{HOOKS_FILE}", "hooks: {}\n", "w2"), id="Write by another name"),
        pytest.param(write(".pipeline/new.sh", "true\n", "w2"), id="Write beside it"),
        pytest.param(write("ci/check.sh", "exit 0\n", "w2"), id="Write over a pinned script elsewhere"),
        pytest.param(
            call("Edit", {"file_path": SCRIPT, "old_string": "echo", "new_string": "true"}, "e1"), id="Edit the script"
        ),
    ],
)
def test_the_file_tools_refuse_to_touch_what_decides(reply: Reply, place: Place) -> None:
    place.write(item("checks", f"sh {SCRIPT}"), item("later", "test ! -e ci/check.sh || sh ci/check.sh"))
    place.trust()
    before = tree(place.task)
    model = says(call("Read", {"file_path": SCRIPT}, "r1"), reply, write("a.py", CODE))
    ended = place.made(model)
    answer = model.requests[2].messages[-1].text
    assert "is the user's: it decides whether the work is accepted, and is not to be written" in answer
    assert tree(place.task) == {**before, "a.py": CODE.encode()}
    assert (ended["stop_reason"], place.runs) == ("accepted", 1)


# Trusted, and of no use


def test_trusted_hooks_that_cannot_be_used_stop_the_run_before_the_model_is_asked(place: Place) -> None:
    """Scenario 44: these very bytes are trusted, by an earlier version say, and refused today."""
    place.trust()
    place.file.write_text("hooks: {items: [], later: true}\n")
    stored = json.loads(place.store.read_bytes())
    stored["workspaces"][str(place.root)]["hooks_file_sha256"] = sha256(place.file.read_bytes())
    place.store.write_text(json.dumps(stored))
    model = says(write("a.py", CODE))
    with pytest.raises(Incomplete, match=r"the trusted hooks of the workspace cannot be used: .*'later'") as caught:
        place.made(model)
    assert (caught.value.stop_reason, caught.value.exit_code, model.asked) == ("hook_config_invalid", 3, 0)
    with pytest.raises(HookConfigError, match=r"nothing is trusted: .*'later'"):
        place.trust()
    place.write(item("checks", f"sh {SCRIPT}"))
    place.trust()
    assert (place.made(model)["stop_reason"], place.runs) == ("accepted", 1)


def test_an_invalid_file_that_nobody_trusts_is_told_of_and_the_run_goes_on(place: Place) -> None:
    place.file.write_text("hooks: {items: [], later: true}\n")
    told: list[str] = []
    ended = place.made(says(write("a.py", CODE)), tell=told.append)
    assert (ended["stop_reason"], asked(ended)) == ("accepted", ["internal:code"])
    [invalid] = place.of("repo_hooks_invalid")
    assert "'later'" in invalid["reason"]
    assert any(line.startswith("hooks of the workspace are not run (invalid: ") for line in told)


def test_an_invalid_file_that_one_run_is_told_to_trust_stops_it(place: Place) -> None:
    place.file.write_text("hooks: [")
    model = says(write("a.py", CODE))
    with pytest.raises(Incomplete, match="cannot be used"):
        place.made(model, place.setting(trust_now=True))
    assert model.asked == 0


# By which way, and by whom


def test_a_task_that_is_reached_by_a_link_is_trusted_as_what_it_is_and_a_turned_link_is_not(place: Place) -> None:
    """Scenario 45."""
    place.trust()
    link = place.folder / "link"
    link.symlink_to(place.task)
    documents = carry_out(link, says(write("a.py", CODE)), PLAN, hooks=place.setting())
    assert (documents["implementation"]["stop_reason"], place.runs) == ("accepted", 1)
    other = Place(_folder(place.folder / "other"))
    link.unlink()
    link.symlink_to(other.task)
    carry_out(link, says(write("a.py", CODE)), PLAN, hooks=place.setting())
    assert (place.runs, other.runs) == (1, 0)
    assert len(other.of("repo_hooks_skipped_untrusted")) == 1


def test_nothing_in_the_folder_of_a_task_mounts_or_trusts_a_hook(place: Place) -> None:
    """A task may come from a stranger: what it holds beside its workspace says nothing of hooks."""
    place.trust()
    stored = place.store.read_bytes()
    place.store.unlink()
    own = {"runtime": {"hooks": {"items": [item("mine", f"echo mine >> {place.ran}", when="always")]}}}
    for folder in (place.task, place.root / ".pipeline", place.task / ".config" / "pipeline", place.task / ".pipeline"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STORE).write_bytes(stored)
        (folder / STORE).chmod(0o600)
        (folder / "config.yaml").write_bytes(dump_yaml(own))
    for folder in (place.task, place.task / ".pipeline"):
        (folder / "hooks.yaml").write_bytes(dump_yaml(own["runtime"]))
    (place.task / "task.json").write_text(
        json.dumps({"runtime": own["runtime"], "settings": {"trust_hooks": "yes", **own}})
    )
    ended = place.made(says(write("a.py", CODE)))
    assert (ended["stop_reason"], asked(ended), place.ran.exists()) == ("accepted", ["internal:code"], False)


@needs_a_sandbox
def test_the_users_hooks_stay_in_the_workspace_when_the_work_begins_anew(place: Place) -> None:
    place.trust()
    place.made(says(write("a.py", CODE), bash("echo x > left.txt")))
    other = Scripted(_another)
    other.name = "another"
    ended = place.made(other, plan=small_plan("b.py"), digest="2" * 64)
    assert (ended["stop_reason"], place.runs) == ("accepted", 2)
    assert sorted(tree(place.task)) == [SCRIPT, HOOKS_FILE, "b.py"]
    kept = [path for path in place.task.iterdir() if (path / "left.txt").exists()]
    assert len(kept) == 1
    assert (kept[0] / HOOKS_FILE).exists()


def _another(request: Request) -> Reply:
    return write("b.py", CODE) if request.turn == 1 else DONE


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
