"""Packages that a plan names, through the whole command: installed only where it is allowed, and then there for the checks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from phases.llm.model import Reply, ToolCall, reply_to_json
from phases.sandbox.box import BUBBLEWRAP
from phases.sandbox.commands import kind_of_sandbox
from phases.sandbox.devices import packages_in
from tests.agents import write
from tests.papers import Command, Ended, in_terminal, paper
from tests.wheels import wheel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(kind_of_sandbox("required") != BUBBLEWRAP, reason="packages are installed in bubblewrap alone"),
]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "wheels").mkdir()
    wheel(tmp_path / "wheels", "pipelinetest_patience", "1.5")
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels"), "PIP_CONFIG_FILE": os.devnull}
    return Command(tmp_path, **offline)


def run(command: Command, folder: Path, package: str, *more: str) -> Ended:
    """A run of two recorded replies, on a plan that names a package and whose check imports it."""
    return command(*words_of_run(command, folder, package), "--review", "auto", *more)


def words_of_run(command: Command, folder: Path, package: str, *first: Reply) -> list[str]:
    """The words of that run, without who reviews the plan. `first`: what the model replies before it writes the code."""
    source = paper(folder)
    command("run", "--fast", source, "--id", "rules", "--until", "plan")
    plan = command("show", "rules", "plan", "--json").json()
    plan["environment_setup"]["packages"] = [package] if package else []
    plan["requirements"] = [{**plan["requirements"][0], "id": "R1", "component": "C1"}]
    plan.update(
        {
            name: []
            for name in ("values", "datasets", "metrics", "baselines", "expected_results", "experiments", "uncertain")
        }
    )
    plan["file_structure"] = [{"path": "a.py", "purpose": "all", "implements": ["R1"]}]
    plan["components"] = [{**plan["components"][0], "id": "C1", "requirements": ["R1"]}]
    plan["implementation_strategy"] = ["a.py"]
    plan["validation_approach"] = {"verify_commands": ["python -c 'import a; print(a.meet())'"]}
    code = (
        'import pipelinetest_patience\n\n\ndef meet() -> str:\n    """R1"""\n    return pipelinetest_patience.VERSION\n'
    )
    threads = {
        "plan": [Reply("ok", json.dumps(plan))],
        "implement": [*first, write("a.py", code), *[Reply("ok", "done")] * 4],
    }
    rows = [
        {"kind": "reply", "key": {"thread": thread, "turn": turn}, "result": reply_to_json(reply)}
        for thread, replies in threads.items()
        for turn, reply in enumerate(replies, 1)
    ]
    (folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["run", "--fast", str(source), "--id", "task", "--model", "replay:replies.jsonl", "--no-evidence"]


def test_a_package_is_there_for_the_checks_where_it_may_be_installed(command: Command, tmp_path: Path) -> None:
    ended = run(command, tmp_path, "pipelinetest_patience>=1", "--allow-install")
    assert ended.code == 0, ended.err
    made = command.document("task", "implementation.json")
    assert {"name": "pipelinetest-patience", "version": "1.5"} in made["packages"]
    assert not any(name.startswith("pipelinetest") for name in os.listdir(Path(sys.prefix) / "lib"))
    assert command("resume", "task").code == 0


def test_without_leave_nothing_is_installed_and_the_report_says_what_was_not_there(
    command: Command, tmp_path: Path
) -> None:
    ended = run(command, tmp_path, "pipelinetest_patience>=1")
    assert ended.code == 0, ended.err
    assert not (command.task("task") / "packages").exists()
    report = command.document("task", "report.json")
    assert (report["status"], report["missing_packages"]) == ("warning", ["pipelinetest_patience"])
    assert "--install allowed installs the plan's packages" in ended.err


def test_a_package_that_cannot_be_had_is_told_at_the_plan_in_the_resolvers_own_words_and_no_code_is_paid_for(
    command: Command, tmp_path: Path
) -> None:
    ended = run(command, tmp_path, "pipelinetest_nowhere", "--allow-install")
    assert ended.code == 1, ended.err
    assert not (command.task("task") / "journal.jsonl").exists()
    assert command.attempts("task").get("implement", 0) == 0
    assert "the plan's packages cannot be installed" in ended.complaints[0]
    assert "pipelinetest-nowhere was not found" in ended.complaints[0]


def test_an_address_in_place_of_a_package_is_told_to_the_planner_before_anything_is_installed(
    command: Command, tmp_path: Path
) -> None:
    ended = run(command, tmp_path, "evil @ https://example.org/evil.whl", "--allow-install")
    assert ended.code == 1, ended.err
    assert "turn 2 of plan" in ended.complaints[0]
    assert not (command.task("task") / "packages").exists()


def test_what_the_packages_of_a_plan_resolve_to_is_a_document_and_a_line_is_repaired(
    command: Command, tmp_path: Path
) -> None:
    ended = run(command, tmp_path, "Pipelinetest_patience (>=1)", "--install", "allowed")
    assert ended.code == 0, ended.err
    assert "'Pipelinetest_patience (>=1)' is taken as Pipelinetest_patience>=1" in ended.err
    assert "packages of the plan: pipelinetest-patience 1.5 (1 kB)" in ended.err
    lock = command.document("task", "package_lock.json")
    assert (lock["outcome"], lock["unresolved"]) == ("locked", "")
    [row] = lock["resolved"]
    assert (row["name"], row["version"], len(row["sha256"])) == ("pipelinetest-patience", "1.5", 1)


@pytest.mark.parametrize(("answer", "setting"), [("y", "allowed"), ("n", "refused")])
def test_whether_packages_are_installed_is_asked_once_with_their_names_and_kept_for_the_task(
    command: Command, tmp_path: Path, answer: str, setting: str
) -> None:
    words = words_of_run(command, tmp_path, "pipelinetest_patience>=1")
    screen = in_terminal(command, *words, "--review", "ask", answers=["approve", answer], prompt=": ", columns=80)
    assert screen.code == 0, screen.text
    assert "packages of the plan: pipelinetest-patience 1.5" in screen.text
    assert "Install these packages" in screen.text
    assert command.document("task", "task.json")["settings"]["install"] == setting
    installed = command.document("task", "implementation.json")["packages"]
    assert bool(installed) == (answer == "y")
    assert command("why", "task").code == 0
    resumed = command("resume", "task")
    assert "was not started here" not in resumed.err, "the answer is sealed with the task"
    assert command.attempts("task")["implement"] == 1


def test_at_a_review_that_cannot_look_packages_up_nobody_is_asked_and_the_words_are_told(
    command: Command, tmp_path: Path
) -> None:
    words = words_of_run(command, tmp_path, "pipelinetest_nowhere")
    screen = in_terminal(command, *words, "--review", "ask", answers=["approve"], prompt=": ", columns=80)
    assert screen.code == 3, screen.text
    assert "the plan's packages cannot be installed: Because pipelinetest-nowhere was not found" in screen.text
    assert "Install these packages" not in screen.text
    assert command.document("task", "package_lock.json")["outcome"] == "not asked"


def test_an_environment_of_the_users_own_serves_in_the_place_of_an_installation(
    command: Command, tmp_path: Path
) -> None:
    packages = Path(packages_in(str(tmp_path / "mine")))
    (packages / "pipelinetest_patience-1.5.dist-info").mkdir(parents=True)
    (packages / "pipelinetest_patience-1.5.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: pipelinetest_patience\nVersion: 1.5\n"
    )
    (packages / "pipelinetest_patience.py").write_text("VERSION = '1.5'\n")
    ended = run(command, tmp_path, "pipelinetest_patience>=1", "--python", "mine")
    assert ended.code == 0, ended.err
    assert f"commands use the packages in {tmp_path}/mine" in ended.err
    report = command.document("task", "report.json")
    assert report.get("missing_packages", []) == [], report["reason"]
    made = command.document("task", "implementation.json")["packages"]
    assert made == [{"name": "pipelinetest-patience", "version": "1.5"}]
    assert not (command.task("task") / "packages").exists()
    assert command("resume", "task").code == 0


def adds(*lines: str) -> Reply:
    calls = tuple(ToolCall(f"a{at}", "AddPackage", {"name": line, "why": "it waits"}) for at, line in enumerate(lines))
    return Reply("ok", "", calls)


def test_the_agent_adds_a_package_within_what_is_allowed_and_a_resume_has_it_without_an_index(
    command: Command, tmp_path: Path
) -> None:
    asked = adds("pipelinetest_nowhere", "argparse", "evil @ https://example.org/x.whl", "Pipelinetest_patience (>=1)")
    ended = command(*words_of_run(command, tmp_path, "", asked), "--review", "auto", "--install", "allowed")
    assert ended.code == 0, ended.err
    rows = [json.loads(line) for line in (command.task("task") / "journal.jsonl").read_text().splitlines()]
    texts = [row["result"]["text"] for row in rows if row["kind"] == "result"][:4]
    assert "pipelinetest_nowhere is not installed, and everything is as it was" in texts[0]
    assert "because" in texts[0].lower()
    assert "'argparse' is nothing to install" in texts[1]
    assert "is not installed: give a name" in texts[2]
    assert "commands find these packages now: pipelinetest-patience 1.5" in texts[3]
    made = command.document("task", "implementation.json")
    assert made["packages"] == [{"name": "pipelinetest-patience", "version": "1.5"}]
    (tmp_path / "wheels").rename(tmp_path / "gone")
    again = command("verify", "task")
    assert again.code == 0, again.err
    assert command.document("task", "implementation.json")["packages"] == made["packages"]


def test_where_packages_are_not_allowed_the_agent_has_no_way_to_add_one(command: Command, tmp_path: Path) -> None:
    words = words_of_run(command, tmp_path, "", adds("pipelinetest_patience"))
    ended = command(*words, "--review", "auto")
    assert ended.code == 3, ended.err
    journal = (command.task("task") / "journal.jsonl").read_text()
    assert "there is no tool 'AddPackage'" in journal
    assert not (command.task("task") / "packages").exists()
