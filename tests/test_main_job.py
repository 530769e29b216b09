"""The main job, end to end, as a user has it: the project's own example paper, offline."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.papers import EXAMPLE, Command, Ended, built_in_phases


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, Ended]:
    command = Command(tmp_path_factory.mktemp("fast"))
    return command, command("run", "--fast", EXAMPLE)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, Ended]:
    command = Command(tmp_path_factory.mktemp("full"))
    return command, command("run", "--full", EXAMPLE)


def report_of(command: Command) -> dict[str, Any]:
    report: dict[str, Any] = command.document("paper", "report.json")
    return report


def test_an_offline_run_ends_incomplete_and_says_so_everywhere(fast: tuple[Command, Ended]) -> None:
    command, ended = fast
    assert ended.code == 3, ended.err
    report = report_of(command)
    assert (report["status"], report["exit_code"], report["input_verdict"]) == ("incomplete", 3, "ok")
    assert [entry["status"] for entry in command("list", "--json").json()] == ["incomplete"]
    assert command("status", "paper", "--json").json()["status"] == "incomplete"


def test_every_planned_file_is_there_and_parses(fast: tuple[Command, Ended]) -> None:
    command, _ = fast
    plan = yaml.safe_load((command.task("paper") / "initial_plan.txt").read_text(encoding="utf-8"))
    code = command.task("paper") / "generate_code"
    assert len(plan["file_structure"]) > 5
    for row in plan["file_structure"]:
        text = (code / row["path"]).read_text(encoding="utf-8")
        assert text.strip(), row["path"]
        if row["path"].endswith(".py"):
            ast.parse(text)
    assert report_of(command)["files"] == {
        "planned": len(plan["file_structure"]),
        "written": len(plan["file_structure"]),
        "missing": [],
    }


def test_the_report_lists_every_requirement_that_is_only_a_stub(fast: tuple[Command, Ended]) -> None:
    command, _ = fast
    plan = yaml.safe_load((command.task("paper") / "initial_plan.txt").read_text(encoding="utf-8"))
    report = report_of(command)
    counted, stubs = report["requirements"], [row["id"] for row in plan["requirements"]]
    assert [(row["id"], row["status"]) for row in counted["open"]] == [(name, "stubbed") for name in stubs]
    assert (counted["stubbed"], counted["total"]) == (len(stubs), len(stubs) + len(plan["values"]))
    assert report["verified_by"] == [], "nobody vouches for work that is refused"


def test_the_report_has_a_row_a_phase_and_what_it_cost(fast: tuple[Command, Ended]) -> None:
    report = report_of(fast[0])
    assert [(row["number"], row["status"], row["attempts"]) for row in report["phases"]] == [
        (phase.number, "skipped" if phase.optional else "done", 1)
        for phase in built_in_phases().phases
        if not phase.asked
    ]
    assert (report["usage"]["tokens_in"], report["usage"]["usd"]) == (0, 0)
    assert report["usage"]["calls"] == report["files"]["planned"] + 1


def test_the_last_screen_is_one_screen_that_says_what_was_planned_where_it_is_and_what_to_type(
    fast: tuple[Command, Ended],
) -> None:
    command, ended = fast
    report = report_of(command)
    screen = ended.out[ended.out.index("Task paper: incomplete.") :]
    assert len(screen.splitlines()) <= 15
    assert re.search(r"Planned by rules, without a model: [0-9]+ requirements, ", screen)
    for name in ("plan.md", "generate_code"):
        assert f"tasks/paper/{name}" in screen
        assert (command.task("paper") / name).exists()
    assert f"{report['files']['written']} of {report['files']['planned']} planned files" in screen


def test_every_command_that_the_last_screen_shows_works(fast: tuple[Command, Ended]) -> None:
    command, ended = fast
    after = ended.out.partition("Next:")[2]
    # the program as it can be typed here (its path, where the shell does not find it), the words, and what it is for
    shown = re.findall(r"^  \S*pipeline ((?:show|review|models)[^ ]*(?: \S+)*) {2,}\S", after, re.MULTILINE)
    assert [line.split()[0] for line in shown] == ["show", "review", "models"]
    for line in shown:
        assert command(*line.split()).code == 0, line


def test_the_code_runs_its_tests_and_its_entry_script(fast: tuple[Command, Ended]) -> None:
    code = fast[0].task("paper") / "generate_code"
    tested = subprocess.run(
        [sys.executable, "-B", "-m", "unittest"], cwd=code, capture_output=True, text=True, check=False
    )
    assert (tested.returncode, "\nOK" in tested.stderr) == (0, True), tested.stderr
    [entry] = code.glob("*/__main__.py")
    helped = subprocess.run([sys.executable, "-B", "-m", entry.parent.name, "--help"], cwd=code, capture_output=True,
                            text=True, check=False)  # fmt: skip
    assert (helped.returncode, "usage" in helped.stdout) == (0, True), helped.stderr


def test_the_checks_of_the_plan_were_run_where_a_sandbox_works(fast: tuple[Command, Ended]) -> None:
    report = report_of(fast[0])
    assert report["sandbox"] in ("bubblewrap", "landlock", "none")
    assert report["verified"] is False, "only what is completed is verified"
    if report["sandbox"] != "none":
        assert [check["exit_code"] for check in report["checks"]] == [0, 0]
        assert report["checks"][0]["tests"]["passed"] > 0


def test_every_document_of_the_task_is_fine(fast: tuple[Command, Ended]) -> None:
    assert fast[0]("check", "paper").code == 0


def test_a_fast_run_leaves_placeholders_that_say_why(fast: tuple[Command, Ended]) -> None:
    for name in ("code_base.json", "indexes/index.json"):
        assert fast[0].document("paper", name) == {
            "status": "skipped",
            "reason": "fast mode leaves this phase out",
            "mode": "fast",
        }


def test_a_full_run_of_a_paper_that_links_no_code_says_so_in_its_index(full: tuple[Command, Ended]) -> None:
    command, ended = full
    assert ended.code == 3, ended.err
    phases = {row["number"]: row["status"] for row in report_of(command)["phases"]}
    assert [phases[number] for number in ("06", "07", "08")] == ["done", "done", "done"]
    assert command.document("paper", "code_base.json")["repositories"] == []
    assert command.document("paper", "indexes/index.json")["notes"] == ["no code to index: the paper links none"]


@pytest.mark.slow
def test_a_full_run_after_a_fast_one_runs_what_fast_left_out(tmp_path: Path) -> None:
    command = Command(tmp_path)
    assert command("run", "--fast", EXAMPLE).code == 3
    assert command("resume", "paper", "--full").code == 3
    attempts = command.attempts("paper")
    assert {name: attempts[name] for name in ("references", "repositories", "index")} == dict.fromkeys(
        ("references", "repositories", "index"), 2
    )
    assert (attempts["acquire"], attempts["plan"]) == (1, 1)
    assert report_of(command)["mode"] == "full"


def test_nothing_is_written_beside_the_tasks_folder(fast: tuple[Command, Ended]) -> None:
    command, _ = fast
    assert sorted(path.name for path in command.folder.iterdir()) == ["home", "tasks"]
    [key] = (path for path in command.home.rglob("*") if path.is_file())
    assert key.relative_to(command.home) == Path(".config/pipeline/seal-key")


def test_no_line_of_the_log_is_damaged_and_none_holds_a_secret(fast: tuple[Command, Ended]) -> None:
    text = (fast[0].task("paper") / "logs" / "system.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(isinstance(line, dict) for line in lines)
    told = [line for line in lines if line["level"] != "DEBUG"]
    assert len(told) <= 3 * 11 + 5, "at most three lines a phase"
