"""`pipeline hooks`: which hooks there are, and the ways to trust, try and import them."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phases.sandbox.probe import probe_best
from pipeline.engine.lock import lock_task
from tests.papers import HANGS, Command, Ended, in_terminal, paper

HOSTILE = "\x1b]0;owned\x07\u202e"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task whose code is written."""
    folder = tmp_path_factory.mktemp("done")
    ended = Command(folder)("run", "--fast", paper(folder))
    assert ended.code == 3, ended.err
    return folder


@pytest.fixture
def command(done: Path, tmp_path: Path) -> Command:
    """The command in a copy of that folder."""
    shutil.copytree(done / "tasks", tmp_path / "tasks")
    shutil.copytree(done / "home", tmp_path / "home", symlinks=True)  # with the key that its seal is made with
    return Command(tmp_path)


def item(
    name: str = "check", runs: str | list[str] = "true", point: str = "accept_gate", **more: Any
) -> dict[str, Any]:
    """A command hook as a file has it."""
    params = {"args": runs} if isinstance(runs, list) else {"command": runs}
    return {"id": name, "point": point, "kind": "command", "params": params, **more}


def own(command: Command, *items: dict[str, Any], **top: Any) -> Path:
    """Hooks of the user. JSON is YAML."""
    return command.configure(json.dumps({"runtime": {"hooks": {**top, "items": items}}}))


def repo(command: Command, *items: dict[str, Any], **top: Any) -> Path:
    """Hooks of the workspace."""
    path = workspace(command) / ".pipeline" / "hooks.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {**top, "items": items}}))
    return path


def workspace(command: Command) -> Path:
    return command.task("paper") / "generate_code"


def script(command: Command, text: str) -> Path:
    """A script in the workspace."""
    path = workspace(command) / "ci" / "check.sh"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def trust(command: Command) -> None:
    ended = command("hooks", "trust", "paper", "--yes")
    assert ended.code == 0, ended.err


def store(command: Command) -> Path:
    return command.home / ".config" / "pipeline" / "trusted-workspaces.json"


def states(ended: Ended) -> dict[str, str]:
    """The state of each hook that was listed."""
    return {row["key"]: row["state"] for row in ended.json()["hooks"]}


# hooks list


@pytest.mark.slow
def test_a_project_without_hooks_still_has_the_built_in_check(command: Command) -> None:
    ended = command("hooks", "list", "paper")
    assert (ended.code, ended.err) == (0, "")
    header, row = ended.out.splitlines()
    assert header.split() == ["POINT", "HOOK", "STATE", "KIND", "LIMIT", "POLICY", "RUNS"]
    assert row.split()[:6] == ["accept_gate", "internal:code", "managed", "builtin", "-", "fail_closed"]


def test_hooks_are_listed_by_point_in_the_order_in_which_they_run(command: Command) -> None:
    own(command, item("late"), item("early", priority=5), item("watch", point="before_tool_call", matcher="Write"))
    repo(command, item("theirs", ["sh", "ci/check.sh", "a b"], timeout_sec=90))
    rows = [line.split() for line in command("hooks", "list", "paper").out.splitlines()[1:6]]
    assert [row[1] for row in rows] == ["user:watch", "internal:code", "user:early", "user:late", "repo:theirs"]
    assert rows[0] == ["before_tool_call", "user:watch", "user", "command", "60", "s", "fail_open", "true"]
    assert rows[4][3:] == ["command", "90", "s", "fail_closed", "sh", "ci/check.sh", "'a", "b'"]


def test_without_any_task_the_hooks_of_the_user_are_listed(tmp_path: Path) -> None:
    command = Command(tmp_path)
    own(command, item("tests"))
    assert states(command("hooks", "list", "--json")) == {"internal:code": "managed", "user:tests": "user"}
    refused = command("hooks", "list", "nowhere")
    assert (refused.code, len(refused.complaints)) == (2, 1)


def test_a_program_that_does_not_exist_is_told(command: Command) -> None:
    path = own(command, item("tests", "pytset -q"), item("off", "pytset", enabled=False), item("fine", "true"))
    told = f"hook user:tests cannot run: there is no program pytset; install it, or fix the command in {path}"
    listed = command("hooks", "list", "paper")
    assert (listed.code, [line for line in listed.out.splitlines() if "cannot run" in line]) == (0, [told])
    assert command("hooks", "list", "--json").json()["notes"] == [told]


def test_without_an_id_it_is_about_the_newest_task(command: Command) -> None:
    repo(command, item())
    assert command("hooks", "list").out == command("hooks", "list", "paper").out


def test_hooks_of_a_workspace_are_untrusted_then_trusted_then_modified_one_by_one(command: Command) -> None:
    script(command, "exit 0")
    repo(command, item("one", "sh ci/check.sh"), item("two"))
    listed = command("hooks", "list", "paper")
    assert listed.out.splitlines()[-1] == (
        "look at them with: pipeline hooks trust paper --show, then: pipeline hooks trust paper"
    )
    assert states(command("hooks", "list", "--json")) == {
        "internal:code": "managed", "repo:one": "untrusted", "repo:two": "untrusted"
    }  # fmt: skip
    trust(command)
    assert set(states(command("hooks", "list", "--json")).values()) == {"managed", "trusted"}
    script(command, "exit 1")
    listed = command("hooks", "list", "--json")
    assert states(listed) == {"internal:code": "managed", "repo:one": "modified", "repo:two": "trusted"}
    assert listed.json()["notes"] == [
        ".pipeline/hooks.yaml of the workspace is modified: one: ci/check.sh changed since it was trusted"
    ]


def test_hooks_that_were_trusted_and_are_gone_are_told(command: Command) -> None:
    path = repo(command, item("one"))
    trust(command)
    path.unlink()
    listed = command("hooks", "list", "paper")
    assert listed.code == 0
    assert "is modified: .pipeline/hooks.yaml no longer exists" in listed.out


@pytest.mark.parametrize(
    ("top", "disabled"),
    [
        pytest.param({}, {"user:off"}, id="one hook"),
        pytest.param({"user_hooks_enabled": False}, {"user:off", "user:on"}, id="all of the user"),
        pytest.param({"enabled": False}, {"user:off", "user:on", "repo:theirs"}, id="all"),
    ],
)
def test_what_is_turned_off_is_listed_as_disabled(top: dict[str, Any], disabled: set[str], command: Command) -> None:
    own(command, item("off", enabled=False), item("on"), **top)
    repo(command, item("theirs"))
    found = states(command("hooks", "list", "paper", "--json"))
    assert {key for key, state in found.items() if state == "disabled"} == disabled
    assert found["internal:code"] == "managed"


def test_every_fault_of_both_files_is_told_with_its_place(command: Command) -> None:
    where = own(command, item("one", timeout_sec=0), item("ONE"), item("fine"), item("three", point="Stop"))
    repo(command, {**item("web"), "kind": "http"}, default_timeout_sec=3)
    listed = command("hooks", "list", "paper", "--json")
    assert listed.code == 1
    found = states(listed)
    assert {key for key, state in found.items() if state == "invalid"} == {
        "user:one", "user:ONE", "user:three", "repo:web",
    }  # fmt: skip
    assert found["user:fine"] == "user"
    told = listed.json()["problems"]
    assert [line.partition(": ")[0] for line in told] == [
        f"{where} at $.runtime.hooks.items[0].timeout_sec",
        f"{where} at $.runtime.hooks.items[1].id",
        f"{where} at $.runtime.hooks.items[3].point",
        ".pipeline/hooks.yaml at $.hooks.default_timeout_sec",
        ".pipeline/hooks.yaml at $.hooks.items[0].kind",
    ]
    assert command("hooks", "list", "paper").complaints == [f"pipeline: invalid: {line}" for line in told]


def test_every_breach_of_the_schema_is_told(command: Command) -> None:
    where = own(command, item("one", colour="red"), {"id": "two"})
    listed = command("hooks", "list", "paper")
    assert listed.code == 1
    assert len(listed.complaints) == 2
    assert any(f"{where} at $.runtime.hooks.items[0]: " in line and "'colour'" in line for line in listed.complaints)
    assert any(f"{where} at $.runtime.hooks.items[1]: " in line and "'point'" in line for line in listed.complaints)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("runtime: 3", "at $.runtime: it holds `hooks:` and nothing else", id="no mapping"),
        pytest.param("runtime: {hooks: {}, more: 1}", "at $.runtime: it holds `hooks:` and nothing else", id="more"),
    ],
)
def test_a_settings_file_that_holds_something_else_is_told(text: str, told: str, command: Command) -> None:
    command.configure(text)
    listed = command("hooks", "list", "paper")
    assert listed.code == 1
    assert told in listed.complaints[0]


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.rename(path.with_name("other.yaml"))
    path.symlink_to("other.yaml")


def _no_mapping(path: Path) -> None:
    path.write_text("- 1")


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(_pipe, id="a pipe"),
        pytest.param(_link, id="a link"),
        pytest.param(_no_mapping, id="no mapping", marks=pytest.mark.slow),
        pytest.param(lambda path: path.write_text("{"), id="no YAML"),
        pytest.param(lambda path: path.write_bytes(b"\xff\xfe\x00"), id="no text"),
        pytest.param(lambda path: path.write_text("# " + "x" * 300_000), id="too large", marks=pytest.mark.slow),
        pytest.param(lambda path: path.write_text("[" * 5000), id="nested deeply"),
    ],
)
def test_a_hooks_file_that_cannot_be_read_is_one_line_and_trusted_by_nobody(
    spoil: Callable[[Path], object], command: Command
) -> None:
    spoil(repo(command, item()))
    listed = command("hooks", "list", "paper")
    assert (listed.code, len(listed.complaints)) == (1, 1), listed.err
    assert "hooks.yaml" in listed.complaints[0]
    refused = command("hooks", "trust", "paper", "--yes")
    assert (refused.code, len(refused.complaints)) == (1, 1), refused.err
    assert "nothing is trusted" in refused.complaints[0]
    assert not store(command).exists()


def test_a_store_that_anybody_could_have_written_trusts_nothing_and_is_not_written(command: Command) -> None:
    repo(command, item())
    trust(command)
    store(command).chmod(0o666)
    before = store(command).read_bytes()
    listed = command("hooks", "list", "paper", "--json")
    assert states(listed)["repo:check"] == "untrusted"
    assert any("all users may write to it" in note for note in listed.json()["notes"])
    refused = command("hooks", "trust", "paper", "--yes")
    assert refused.code == 1
    assert "nothing is written" in refused.complaints[0]
    assert store(command).read_bytes() == before


def test_what_a_file_says_cannot_drive_the_terminal(command: Command) -> None:
    own(command, item(f"x{HOSTILE}", f"echo {HOSTILE}"), item("fine", f"true # {HOSTILE}\nPOINT  forged"))
    repo(command, item("fine", f"true # {HOSTILE}\nforged line", env={"A": HOSTILE}))
    for arguments in (["list", "paper"], ["trust", "paper", "--show"], ["list", "--json"], ["test", "paper", HOSTILE]):
        ended = command("hooks", *arguments)
        assert "\x1b" not in ended.out + ended.err, arguments
        assert "\u202e" not in ended.out + ended.err, arguments
        assert not any(line.lstrip().startswith(("forged", "POINT  forged")) for line in ended.out.splitlines())
    assert "owned" in ended.err


# hooks trust


def test_show_writes_nothing_and_shows_all_that_would_be_vouched_for(command: Command) -> None:
    path = script(command, "exit 0")
    repo(command, item("one", "sh ci/check.sh\nsh ci/later.sh", env_allow=["API_KEY"]), item("two", sandbox=True))
    shown = command("hooks", "trust", "paper", "--show")
    assert (shown.code, shown.err) == (0, "")
    assert [line.rstrip() for line in shown.out.splitlines()] == [
        "tasks/paper/generate_code/.pipeline/hooks.yaml:",
        '  new         one: command at accept_gate, with your own rights, env_allow ["API_KEY"]',
        "              | sh ci/check.sh", "              | sh ci/later.sh",
        "  new         two: command at accept_gate, in the sandbox", "              | true", "Files that decide with them:",
        f"  new         ci/check.sh  sha256 {_sha256(path)[:12]}", "  new         ci/later.sh  it must stay absent",
    ]  # fmt: skip
    assert not store(command).exists()


def _sha256(path: Path) -> str:
    from hashlib import sha256

    return sha256(path.read_bytes()).hexdigest()


def test_nobody_at_the_terminal_trusts_nothing_without_saying_yes(command: Command) -> None:
    path = repo(command, item())
    refused = command("hooks", "trust", "paper")
    assert refused.code == 2
    assert refused.complaints == [
        "pipeline: there is no terminal to confirm this in; look with: pipeline hooks trust paper --show, then type --yes"
    ]
    assert not store(command).exists()
    written = command("hooks", "trust", "paper", "--yes", "--json")
    assert (written.code, written.json()["written"]) == (0, True)
    assert store(command).stat().st_mode & 0o777 == 0o600
    entry = json.loads(store(command).read_bytes())["workspaces"][str(workspace(command).resolve())]
    assert entry["hooks_file_sha256"] == written.json()["hooks_file_sha256"] == _sha256(path)
    again = command("hooks", "trust", "paper")
    assert (again.code, again.err) == (0, "all of that is trusted already\n")


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        pytest.param("y", 0, "trusted, as it is now", id="yes"),
        pytest.param("n", 1, "nothing is trusted", id="no"),
        pytest.param("", 1, "nothing is trusted", id="silence"),
    ],
)
def test_a_person_is_shown_the_hooks_and_then_asked(answer: str, code: int, told: str, command: Command) -> None:
    repo(command, item("one", "make test"))
    screen = in_terminal(command, "hooks", "trust", "paper", answers=[answer])
    assert screen.code == code, screen.text
    assert screen.text.index("| make test") < screen.text.index("Trust all of that?") < screen.text.index(told)
    assert store(command).exists() is (code == 0)


def test_what_changed_since_it_was_trusted_is_marked(command: Command) -> None:
    script(command, "exit 0")
    repo(command, item("same"), item("one", "sh ci/check.sh"), item("old"))
    trust(command)
    script(command, "exit 1")
    repo(command, item("same"), item("one", "sh ci/check.sh -v"), item("more"))
    shown = command("hooks", "trust", "paper", "--show")
    rows = [line for line in shown.out.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    marks = {row[14:].split()[0].rstrip(":"): row[2:13].strip() for row in rows}
    assert marks == {
        "same": "as trusted", "one": "changed", "more": "new", "old": "gone",
        "ci/check.sh": "changed", ".pipeline/hooks.yaml": "changed",
    }  # fmt: skip


def test_there_must_be_something_to_trust(command: Command) -> None:
    refused = command("hooks", "trust", "paper", "--yes")
    assert refused.code == 2
    assert (
        "there is nothing to trust: the workspace has no .pipeline/hooks.yaml, and no script that a hook of your own names"
        in refused.complaints[0]
    )
    shutil.rmtree(workspace(command))
    for arguments in (["trust", "paper"], ["test", "paper", "code"]):
        refused = command("hooks", *arguments)
        assert refused.code == 2
        assert "task paper has no workspace yet: phase 09 makes it" in refused.complaints[0]


def test_scripts_that_the_user_s_own_hooks_name_can_be_vouched_for_where_the_workspace_has_no_hooks(
    command: Command,
) -> None:
    path = script(command, "exit 0")
    settings = own(command, item("mine", "sh ci/check.sh"), item("off", "sh ci/off.sh", enabled=False))
    shown = command("hooks", "trust", "paper", "--show")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        "tasks/paper/generate_code has no .pipeline/hooks.yaml:",
        f"Scripts of your own hooks ({settings}):",
        f"  new         ci/check.sh  sha256 {_sha256(path)[:12]}",
    ]
    assert not store(command).exists()
    trust(command)
    entry = json.loads(store(command).read_bytes())["workspaces"][str(workspace(command).resolve())]
    assert (entry["hooks_file_sha256"], entry["user_scripts"]) == ("", {"ci/check.sh": _sha256(path)})
    assert command("hooks", "trust", "paper").err == "all of that is trusted already\n"
    script(command, "exit 1")
    changed = command("hooks", "trust", "paper", "--show", "--json").json()
    assert changed["user_scripts"] == [{"path": "ci/check.sh", "change": "changed", "sha256": _sha256(path)}]
    assert states(command("hooks", "list", "--json"))["user:mine"] == "user"


def test_scripts_of_the_user_s_own_hooks_are_vouched_for_along_with_the_hooks_of_the_workspace(
    command: Command,
) -> None:
    script(command, "exit 0")
    own(command, item("mine", "sh ci/check.sh"))
    path = repo(command, item("theirs", "ruff check ."))
    trust(command)
    assert states(command("hooks", "list", "--json"))["repo:theirs"] == "trusted"
    path.unlink()
    shown = command("hooks", "trust", "paper", "--show")
    rows = [line.split()[:2] for line in shown.out.splitlines() if line.startswith("  ")]
    assert rows == [["gone", "theirs"], ["gone", ".pipeline/hooks.yaml"], ["as", "trusted"]]


def test_what_lies_beside_the_scripts_in_the_folder_of_hooks_is_shown_and_vouched_for_too(command: Command) -> None:
    own(command, item("mine", "sh .pipeline/check.sh"))
    folder = workspace(command) / ".pipeline"
    folder.mkdir()
    (folder / "check.sh").write_text("python -c 'import more'")
    (folder / "more.py").write_text("")
    trust(command)
    assert command("hooks", "trust", "paper").err == "all of that is trusted already\n"
    (folder / "more.py").write_text("1")
    (folder / "link").symlink_to("more.py")
    shown = command("hooks", "trust", "paper", "--show")
    assert [line.rstrip() for line in shown.out.splitlines()][3:] == [
        "Other files in .pipeline/, which may decide in place of a script:",
        "  new         .pipeline/link  a link, or over 2 MiB: it will always count as changed; put a regular file there",
        f"  changed     .pipeline/more.py  sha256 {_sha256(folder / 'more.py')[:12]}",
    ]


def test_an_invalid_file_is_not_trusted(command: Command) -> None:
    repo(command, item("one", timeout_sec=0))
    refused = command("hooks", "trust", "paper", "--yes")
    assert refused.code == 1
    assert (
        "nothing is trusted: .pipeline/hooks.yaml at $.hooks.items[0].timeout_sec: 0 seconds" in refused.complaints[0]
    )


# hooks test


@pytest.mark.parametrize(
    ("runs", "more", "code", "first", "told"),
    [
        pytest.param("echo fine", {}, 0, "user:check passes", "  | fine", id="a pass", marks=pytest.mark.slow),
        pytest.param("echo broken; exit 3", {}, 1, "user:check blocks", "  | broken", id="a block", marks=pytest.mark.slow),
        pytest.param("exit 127", {}, 1, "user:check gives no verdict", "a run would end there, incomplete",
            id="no verdict, closed"),
        pytest.param("exit 127", {"failure_policy": "fail_open"}, 1, "user:check gives no verdict",
            "would not count as verified", id="no verdict, open"),
        pytest.param("""echo '{"continue": false, "stopReason": "enough"}'""", {"exit_policy": "claude"}, 1,
            "user:check would end the run", "enough", id="a stop", marks=pytest.mark.slow),
        pytest.param("sleep 60", {"timeout_sec": 0.2}, 1, "user:check gives no verdict", "0.2", id="a timeout"),
    ],
)  # fmt: skip
def test_a_trial_says_what_the_gate_would_make_of_it(
    runs: str, more: dict[str, Any], code: int, first: str, told: str, command: Command
) -> None:
    own(command, item("check", runs, **more))
    ended = command("hooks", "test", "paper", "check")
    assert ended.code == code, ended.err
    assert ended.out.startswith(first)
    assert told in ended.out
    assert command("hooks", "test", "paper", "user:check", "--json").json()["status"] in (
        "pass", "block", "failed", "stop"
    )  # fmt: skip


def test_a_hook_is_given_what_the_gate_would_give_it(command: Command) -> None:
    given, variables = command.folder / "given.json", command.folder / "variables"
    own(command, item("check", f"cat > {given}; env > {variables}"))
    ended = command("hooks", "test", "paper", "CHECK", OPENAI_API_KEY="sk-secret", SOME_TOKEN="secret")
    assert ended.code == 0, ended.err
    told = json.loads(given.read_text())
    assert (told["hook_event_name"], told["hook_point"], told["stop_hook_active"]) == ("Stop", "accept_gate", False)
    assert told["cwd"] == str(workspace(command).resolve())
    assert told["last_assistant_message"]
    planned = command.document("paper", "implementation.json")["planned"]
    assert {row["path"] for row in told["workspace"]["changed_files"]} == set(planned)
    assert {row["change"] for row in told["workspace"]["changed_files"]} == {"added"}
    assert f"CLAUDE_PROJECT_DIR={told['cwd']}" in variables.read_text().splitlines()
    assert "secret" not in variables.read_text()


def test_without_a_journal_every_file_counts_as_new(command: Command) -> None:
    (command.task("paper") / "journal.jsonl").unlink()
    given = command.folder / "given.json"
    own(command, item("check", f"cat > {given}"))
    assert command("hooks", "test", "paper", "check").code == 0
    told = json.loads(given.read_text())["workspace"]
    assert told["changed"] is True
    assert {row["change"] for row in told["changed_files"]} == {"added"}


def test_a_hook_that_a_run_would_not_ask_says_so(command: Command) -> None:
    own(command, item("check"))
    path = command.task("paper") / "journal.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    base = next(row for row in rows if row["kind"] == "base")
    look = next(row for row in rows if row["kind"] == "look")
    files = {
        row.relative_to(workspace(command)).as_posix(): row for row in workspace(command).rglob("*") if row.is_file()
    }
    kept = {name: _sha256(path) for name, path in files.items() if "__pycache__" not in name}
    base["result"]["manifest"] |= {"files": kept, "sha256": look["result"]["head"]}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = command("hooks", "test", "paper", "check")
    assert ended.code == 0, ended.err
    assert "a run would not call it now: nothing has changed since the run began" in ended.out


def test_what_a_hook_writes_is_told_and_stays(command: Command) -> None:
    own(command, item("check", "echo 1 > made.txt"), item("may", "echo 2 > made.txt", allow_writes=True))
    passed = command("hooks", "test", "paper", "check")
    assert (passed.code, (workspace(command) / "made.txt").exists()) == (0, False), "what a check adds is taken back"
    (workspace(command) / "made.txt").write_text("0")
    blocked = command("hooks", "test", "paper", "check")
    assert blocked.code == 1
    assert "files were modified by hook user:check: made.txt" in blocked.out
    assert "  it wrote: made.txt" in blocked.out.splitlines()
    allowed = command("hooks", "test", "paper", "may")
    assert allowed.code == 0
    assert "  it wrote: made.txt" in allowed.out.splitlines()
    assert (workspace(command) / "made.txt").read_text() == "2\n"


@pytest.mark.slow
def test_a_trial_leaves_the_journal_and_the_logs_of_runs_alone(command: Command) -> None:
    own(command, item("check", "echo words"))
    task = command.task("paper")
    (task / "before_command").mkdir()
    (task / "before_command" / "taken.json").write_text("the tree that a run goes back to")

    def files() -> dict[str, bytes]:
        found = (path for path in task.rglob("*") if path.is_file() and path.parent.name != "tried")
        return {str(path): path.read_bytes() for path in found if path.name != ".lock"}

    before = files()
    ended = command("hooks", "test", "paper", "check", "--json")
    assert files() == before
    log = Path(ended.json()["log"])
    assert log.parent == task / "hooks" / "tried"
    assert "words" in log.read_text()
    assert command("check", "paper").code == 0


def test_the_built_in_check_can_be_tried_and_leaves_nothing_behind(command: Command) -> None:
    def files() -> set[str]:
        return {str(path) for path in workspace(command).rglob("*")}

    before = files()
    ended = command("hooks", "test", "paper", "internal:code", "--json")
    assert (ended.code, ended.json()["status"]) == (1, "block"), ended.err  # a scaffold has stubs
    assert ended.json()["verification"]["sandbox"] == probe_best().kind
    assert files() == before
    gone = next(
        path for path in command.document("paper", "implementation.json")["planned"] if path.endswith("__main__.py")
    )
    (workspace(command) / gone).unlink()
    blocked = command("hooks", "test", "paper", "code")
    assert blocked.code == 1
    assert blocked.out.startswith("internal:code blocks")
    assert gone in blocked.out


@pytest.mark.skipif(not probe_best().usable, reason="no sandbox holds on this machine")
def test_a_hook_in_the_sandbox_is_tried_there(command: Command) -> None:
    outside = command.folder / "outside"
    own(command, item("check", f"echo in; touch {outside}; exit 1", sandbox=True))
    ended = command("hooks", "test", "paper", "check")
    assert ended.code == 1
    assert ended.out.startswith("user:check blocks")
    assert "  | in" in ended.out.splitlines()
    assert not outside.exists()


def test_a_hook_on_tools_is_tried_on_the_last_call_that_it_would_have_watched(command: Command) -> None:
    given = command.folder / "given.json"
    own(
        command, item("watch", f"cat > {given}; echo never >&2; exit 2", "before_tool_call", matcher="Write|Edit"),
        item("after", f"cat > {given}", "after_tool_result", matcher="Write"),
        item("other", "true", "after_tool_result", matcher="Glob"), item("failed", "true", "after_tool_failure"),
        item("ended", "true", "subagent_stop"), item("begin", f"cat > {given}", "session_start"),
    )  # fmt: skip
    blocked = command("hooks", "test", "paper", "watch")
    assert blocked.code == 1
    assert "  | never" in blocked.out.splitlines()
    told = json.loads(given.read_text())
    assert (told["hook_event_name"], told["tool_name"], "tool_response" in told) == ("PreToolUse", "Write", False)
    assert command("hooks", "test", "paper", "after").code == 0
    assert json.loads(given.read_text())["tool_response"]["is_error"] is False
    assert command("hooks", "test", "paper", "begin").code == 0
    assert json.loads(given.read_text())["source"] == "startup"
    for name in ("other", "failed", "ended"):
        refused = command("hooks", "test", "paper", name)
        assert refused.code == 2
        assert "task paper has no recorded tool call that it would watch" in refused.complaints[0]


def test_a_failed_sub_agent_on_record_is_what_hooks_on_failures_and_sub_agents_are_tried_on(command: Command) -> None:
    path, given = command.task("paper") / "journal.jsonl", command.folder / "given.json"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    reply = next(row for row in rows if row["kind"] == "reply" and row["result"]["calls"])
    result = next(row for row in rows if row["kind"] == "result")
    call = {"id": "c1", "name": "Task", "arguments": {"prompt": "look around"}}
    reply = {**reply, "key": {**reply["key"], "turn": 99}, "result": {**reply["result"], "calls": [call]}}
    failed = {**result["result"], "failed": True, "text": "found nothing"}
    rows += [reply, {**result, "key": {"turn": 99, "call": "c1"}, "result": failed}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own(
        command,
        item("failed", f"cat > {given}", "after_tool_failure"),
        item("ended", f"cat > {given}", "subagent_stop"),
    )
    assert command("hooks", "test", "paper", "failed").code == 0
    told = json.loads(given.read_text())
    assert (told["tool_name"], told["tool_input"], told["error"]) == ("Task", call["arguments"], "found nothing")
    assert command("hooks", "test", "paper", "ended").code == 0
    told = json.loads(given.read_text())
    assert (told["hook_event_name"], told["state"], told["turn_id"]) == ("SubagentStop", "failed", "99")


def test_hooks_that_a_run_would_not_use_are_not_tried(command: Command) -> None:
    mark = command.folder / "ran"
    own(command, item("off", f"touch {mark}", enabled=False), item("tests"))
    repo(command, item("check", f"touch {mark}"), item("tests"))
    look = "look at it with: pipeline hooks trust paper --show, then: pipeline hooks trust paper"
    for name, told in {
        "check": f"repo:check is untrusted, and so is not run; {look}",
        "user:off": "user:off is disabled, and so is not run; look with: pipeline hooks list paper",
        "tests": "'tests' is user:tests and repo:tests; name one of them",
        "user:tsets": "there is no hook 'user:tsets'; did you mean 'user:tests'?",
    }.items():
        refused = command("hooks", "test", "paper", name)
        assert (refused.code, refused.complaints) == (2, [f"pipeline: {told}"])
    trust(command)
    repo(command, item("check", f"touch {mark} again"), item("tests"))
    refused = command("hooks", "test", "paper", "check")
    assert f"repo:check is modified (it has changed since it was trusted), and so is not run; {look}" in refused.err
    assert not mark.exists()
    assert command("hooks", "test", "paper", "repo:tests").code == 0


def test_an_invalid_configuration_is_refused_as_a_run_would_refuse_it(command: Command) -> None:
    own(command, item("check", timeout_sec=0))
    refused = command("hooks", "test", "paper", "check")
    assert (refused.code, len(refused.complaints)) == (2, 1)
    assert "$.runtime.hooks.items[0].timeout_sec" in refused.complaints[0]


def test_no_hook_is_tried_while_somebody_works_on_the_task(command: Command) -> None:
    mark = command.folder / "ran"
    own(command, item("check", f"touch {mark}"))
    with lock_task(str(command.task("paper"))):
        refused = command("hooks", "test", "paper", "check")
    assert (refused.code, len(refused.complaints)) == (75, 1)
    assert not mark.exists()


def test_a_stopped_trial_leaves_no_process(command: Command) -> None:
    begun = command.folder / "begun"
    os.mkfifo(begun)
    own(command, item("check", f"exec 9>{begun}; echo $$ >&9; sleep 600 & sleep 600"))
    with command.start("hooks", "test", "paper", "check") as process, begun.open("rb") as line:
        assert line.readline().strip().isdigit()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANGS)
        assert line.read() == b""  # the last process that held the other end is gone
    assert process.returncode == 143


# hooks add

KEEPS = """# mine
max_usd: 3  # dollars
runtime:
  hooks:
    default_timeout_sec: 90
    items:
      # the tests
      - {id: tests, point: accept_gate, kind: command, params: {command: 'true'}}

      - id: lint
        point: accept_gate
        kind: command
        params:
          command: |
            true
            true

# models
max_turns: 80
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="no file"),
        pytest.param("", id="an empty file"),
        pytest.param("# nothing yet\n", id="a comment alone", marks=pytest.mark.slow),
        pytest.param("max_usd: 3  # dollars", id="other settings without a line end"),
        pytest.param(KEEPS, id="hooks among other settings"),
        pytest.param(KEEPS.partition("\n# models")[0], id="hooks at the end", marks=pytest.mark.slow),
        pytest.param('{"runtime": {"hooks": {"items": []}}}', id="JSON"),
        pytest.param("runtime:\n  hooks:\n    enabled: true\n", id="hooks without items", marks=pytest.mark.slow),
    ],
)
def test_an_added_hook_is_listed_and_everything_else_stays(text: str | None, tmp_path: Path) -> None:
    command = Command(tmp_path)
    path = command.home / ".config" / "pipeline" / "config.yaml"
    if text is not None:
        command.configure(text)
        path.chmod(0o600)
    before = states(command("hooks", "list", "--json"))
    ended = command(
        "hooks", "add", "tidy", "ls -l | cat: 'x' # y", "--point", "after_tool_result", "--matcher", "Write"
    )
    assert (ended.code, ended.err) == (0, "")
    assert str(path) in ended.out
    assert "pipeline hooks test ID user:tidy" in ended.out
    listed = command("hooks", "list", "--json").json()
    assert {row["key"]: row["state"] for row in listed["hooks"]} == {**before, "user:tidy": "user"}
    [row] = [row for row in listed["hooks"] if row["key"] == "user:tidy"]
    assert (row["point"], row["command"]) == ("after_tool_result", "ls -l | cat: 'x' # y")
    if text:
        kept = path.read_text()
        left = [line for line in text.splitlines() if line not in kept.splitlines()]
        assert left == ([text] if text.startswith("{") else [])
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_hook_that_is_added_comes_after_the_others(command: Command) -> None:
    own(command, item("one"))
    assert command("hooks", "add", "two", "true").code == 0
    assert list(states(command("hooks", "list", "--json"))) == ["internal:code", "user:one", "user:two"]


def test_a_settings_file_that_is_a_link_stays_one(command: Command) -> None:
    path = own(command, item("one"))
    path.rename(command.folder / "dotfile")
    path.symlink_to(command.folder / "dotfile")
    assert command("hooks", "add", "two", "true", "--json").json()["file"] == str(path)
    assert path.is_symlink()
    assert "two" in (command.folder / "dotfile").read_text()


def test_a_program_that_does_not_exist_is_told_when_its_hook_is_added(command: Command) -> None:
    ended = command("hooks", "add", "tests", "pytset -q")
    assert ended.code == 0
    assert "hook user:tests cannot run: there is no program pytset" in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["Tests", "true"], "there is a hook 'tests' in "),
        (["a b", "true"], "the hook is not added, because of its id: 'a b' is not an id: "),
        (["more", " "], "the hook is not added, because of its command: there is nothing to run"),
        (["more", "true", "--point", "Stop"], "because of its point: 'Stop' is the name of accept_gate in other tools"),
        (["more", "true", "--matcher", "Bash"], "because of its matcher: no tool is called at accept_gate"),
    ],
)
def test_a_hook_that_no_run_could_use_is_not_added(arguments: list[str], told: str, command: Command) -> None:
    path = own(command, item("tests"))
    before = path.read_bytes()
    ended = command("hooks", "add", *arguments)
    assert (ended.code, len(ended.complaints), path.read_bytes()) == (2, 1, before)
    assert told in ended.err


def test_a_comment_is_not_lost_for_an_added_hook(command: Command) -> None:
    path = command.configure("runtime: {hooks: {enabled: true}}  # mine\n")
    ended = command("hooks", "add", "tests", "true")
    assert ended.code == 2
    assert "write this into it by hand:" in ended.err
    assert path.read_text() == "runtime: {hooks: {enabled: true}}  # mine\n"


# hooks import

CLAUDE = {
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "python -m pytest -q"}, {"type": "prompt", "prompt": "good?"}]}
        ],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh guard.sh", "timeout": 5}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "say hi"}]}],
    }
}
GEMINI = {
    "hooks": {
        "AfterAgent": [{"hooks": [{"type": "command", "command": "make test", "timeout": 5000}]}],
        "BeforeTool": [{"matcher": "write_file", "hooks": [{"type": "command", "command": "sh guard.sh"}]}],
        "BeforeModel": [{"hooks": [{"type": "command", "command": "true"}]}],
    }
}


@pytest.mark.parametrize("scope", ["user", "repo"])
@pytest.mark.parametrize(
    ("kind", "value", "left"),
    [
        pytest.param("claude", CLAUDE, ["$.hooks.Stop[0].hooks[1]", "$.hooks.Notification"], id="claude"),
        pytest.param("codex", CLAUDE, ["$.hooks.Stop[0].hooks[1]", "$.hooks.Notification"], id="codex"),
        pytest.param("gemini", GEMINI, ["$.hooks.BeforeModel"], id="gemini"),
    ],
)
def test_what_is_imported_can_be_pasted_and_what_is_not_is_listed(
    kind: str, value: dict[str, Any], left: list[str], scope: str, command: Command
) -> None:
    path = command.folder / "settings.json"
    path.write_text(json.dumps(value))
    ended = command("hooks", "import", "--from", kind, path, "--scope", scope)
    assert ended.code == 0, ended.err
    told = [
        line.removeprefix("not translated: ") for line in ended.err.splitlines() if line.startswith("not translated")
    ]
    assert [line.partition(": ")[0] for line in told] == left
    if scope == "user":
        command.configure(ended.out)
    else:
        repo(command).write_text(ended.out)
        trust(command)
    listed = command("hooks", "list", "paper", "--json")
    assert (listed.code, listed.json()["problems"]) == (0, [])
    ours = [row for row in listed.json()["hooks"] if row["key"] != "internal:code"]
    assert [row["point"] for row in ours] == ["before_tool_call", "accept_gate"]
    assert {row["state"] for row in ours} == {"user" if scope == "user" else "trusted"}
    assert ours[0]["command"] == "sh guard.sh"
    asked = command("hooks", "import", "--from", kind, path, "--json").json()
    assert len(asked["items"]) == 2
    assert asked["untranslated"] == told


@pytest.mark.parametrize(
    "folder", ["mine/.claude", "mine", "."], ids=["a project", "beside its scripts", "the user's own"]
)
def test_the_scripts_of_an_imported_hook_are_those_of_the_project_that_its_file_is_of(
    folder: str, command: Command
) -> None:
    """The user's own file is of every project: there the name stays, and a run says what it is."""
    own = folder == "."
    path = (command.home / ".claude" if own else command.folder / folder) / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    hook = {"type": "command", "command": '"$CLAUDE_PROJECT_DIR"/guard.sh'}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    found = command("hooks", "import", "--from", "claude", path, "--json").json()
    project = "$CLAUDE_PROJECT_DIR" if own else str(command.folder / "mine")
    assert found["items"][0]["params"]["command"] in (f'"{project}"/guard.sh', f"{project}/guard.sh")


def test_the_scripts_of_a_plugin_are_those_beside_its_hooks(command: Command) -> None:
    path = command.folder / "my plugin" / "hooks" / "hooks.json"
    path.parent.mkdir(parents=True)
    hook = {"type": "command", "command": 'sh "${CLAUDE_PLUGIN_ROOT}"/guard.sh'}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))
    found = command("hooks", "import", "--from", "claude", path, "--json").json()
    assert found["items"][0]["params"] == {
        "command": f"CLAUDE_PLUGIN_ROOT='{command.folder}/my plugin'; {hook['command']}"
    }


@pytest.mark.parametrize(
    "hidden", [pytest.param("\u202e", id="direction", marks=pytest.mark.slow), pytest.param("\u200b", id="no width")]
)
def test_a_command_that_hides_something_is_not_offered_for_pasting(hidden: str, command: Command) -> None:
    path = command.folder / "settings.json"
    hooks = [
        {"type": "command", "command": f"true {hidden}"},
        {"type": "command", "command": "printf 'a\tb\n'\nmake ä"},
    ]
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": hooks}]}}))
    ended = command("hooks", "import", "--from", "claude", path)
    assert ended.code == 0, ended.err
    assert hidden not in ended.out + ended.err
    assert "contains invisible characters" in ended.err
    command.configure(ended.out)
    rows = command("hooks", "list", "paper", "--json").json()["hooks"]
    assert [row["command"] for row in rows if row["key"].startswith("user:")] == [hooks[1]["command"]]


def _named_pipe(path: Path) -> None:
    os.mkfifo(path)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(300 * 2**20)


@pytest.mark.parametrize(
    ("make", "code", "told"),
    [
        pytest.param(lambda path: None, 2, "there is no file", id="nothing"),
        pytest.param(lambda path: path.mkdir(), 1, "is a directory", id="a folder"),
        pytest.param(_named_pipe, 1, "is a pipe", id="a pipe"),
        pytest.param(_sparse, 1, "over the limit of 4,194,304", id="300 MB"),
        pytest.param(lambda path: path.write_text("{"), 1, "not JSON", id="no JSON"),
        pytest.param(lambda path: path.write_text("[]"), 1, "not an object with hooks", id="a list"),
        pytest.param(lambda path: path.write_bytes(b"\xff\xfe"), 1, "settings.json", id="no text"),
        pytest.param(lambda path: path.write_text("[" * 100_000), 1, "nested too deeply", id="nested deeply"),
        pytest.param(lambda path: path.write_text('{"hooks": {}}'), 1, "nothing of", id="no hooks"),
        pytest.param(lambda path: path.symlink_to(path), 1, "symbolic link", id="a link to itself"),
    ],
)
def test_a_file_that_gives_no_hooks_is_one_line(
    make: Callable[[Path], object], code: int, told: str, tmp_path: Path
) -> None:
    command = Command(tmp_path)
    make(tmp_path / "settings.json")
    refused = command("hooks", "import", "--from", "claude", "settings.json")
    assert (refused.code, refused.out, len(refused.complaints)) == (code, "", 1), refused.err
    assert told in refused.complaints[0]


# The group


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["lst"], "did you mean 'list'?", id="a mistyped word"),
        pytest.param(["test", "paper"], "HOOK", id="no hook"),
        pytest.param(["import", "x.json"], "--from", id="nobody's file"),
        pytest.param(["import", "--from", "cursor", "x.json"], "'cursor' is not one of", id="another tool"),
        pytest.param(["test", "nowhere", "code"], "there is no task 'nowhere'", id="no such task"),
        pytest.param(["trust"], "there is no task in", id="no task at all"),
    ],
)
def test_nonsense_is_usage_and_one_line(arguments: list[str], told: str, tmp_path: Path) -> None:
    refused = Command(tmp_path)("hooks", *arguments)
    assert (refused.code, len(refused.complaints)) == (2, 1), refused.err
    assert told in refused.complaints[0]


def test_the_help_of_every_word_has_an_example(tmp_path: Path) -> None:
    command = Command(tmp_path)
    for word in ("list", "trust", "test", "import"):
        shown = command("hooks", word, "--help")
        assert shown.code == 0
        assert any(line.strip().startswith(f"pipeline hooks {word}") for line in shown.out.splitlines())
