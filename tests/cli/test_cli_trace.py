"""`pipeline trace`: where each requirement is in the code, for people, for programs, and as a page."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from phases.evidence.traceability import count_evidence, describe_counts
from pipeline.cli import trace
from tests.papers import Command, paper


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one task that ran to its end."""
    folder = tmp_path_factory.mktemp("finished")
    ended = Command(folder)("run", "--fast", paper(folder))
    assert ended.code in (0, 3), ended.err
    return folder


@pytest.fixture
def command(finished: Path, tmp_path: Path) -> Command:
    """The command in a copy of that folder."""
    shutil.copytree(finished / "tasks", tmp_path / "tasks")
    shutil.copytree(finished / "home", tmp_path / "home", symlinks=True)  # with the key that its seal is made with
    return Command(tmp_path)


def rows_of(command: Command) -> list[dict[str, object]]:
    return list(command("trace", "paper", "--json").json()["requirements"])


def code_of(command: Command, place: str) -> Path:
    return command.task("paper") / "generate_code" / place.partition(":")[0]


@pytest.mark.slow
def test_every_requirement_is_told_with_its_status_its_places_and_its_quote(command: Command) -> None:
    ended = command("trace", "paper")
    assert (ended.code, ended.err) == (0, "")
    rows = command.document("paper", "traceability.json")["requirements"]
    assert ended.out.splitlines()[0] == f"paper: {describe_counts(count_evidence(rows))}"
    for row in rows:
        assert f"\n{row['id']:<5} {row['status']}" in ended.out
        assert all(place in ended.out for place in [*row["places"], *row["tests"]])
    assert 'quote  "' in ended.out
    assert "page 1" in ended.out


def test_a_program_is_told_the_same_with_the_counts(command: Command) -> None:
    found = command("trace", "paper", "--json").json()
    rows = command.document("paper", "traceability.json")["requirements"]
    assert found["task"] == "paper"
    assert found["counts"] == count_evidence(rows)
    assert [row["id"] for row in found["requirements"]] == [row["id"] for row in rows]
    assert set(found["requirements"][0]) == {*rows[0], "source"}


def test_without_a_task_it_is_about_the_newest(command: Command) -> None:
    assert command("trace").out == command("trace", "paper").out


@pytest.mark.slow
def test_ci_is_told_where_tests_run_too_little(command: Command) -> None:
    path = command.task("paper") / "traceability.json"
    document = json.loads(path.read_text())
    count = len(document["requirements"])
    for number, row in enumerate(document["requirements"]):
        row["status"] = ["run", "guarded", "located"][min(number, 2)]
    path.write_text(json.dumps(document))
    assert command("trace", "paper", "--fail-under", "0").code == 0
    ended = command("trace", "paper", "--fail-under", "99.5")
    told = f"tests run the code of {100 * 2 / count:.0f} % of the requirements; --fail-under asks for 99.5 %"
    assert (ended.code, ended.complaints) == (3, [f"pipeline: {told}"])
    assert command("trace", "paper", "--fail-under", str(100 * 2 / count - 0.1)[:6]).code == 0
    assert command("trace", "paper", "--fail-under", str(100 * 2 / count + 0.1)[:6]).code == 3
    assert command("trace", "paper", "--fail-under", "101").code == 2


def test_one_requirement_is_shown_in_full_with_its_code(command: Command) -> None:
    row = next(
        row for row in command.document("paper", "traceability.json")["requirements"] if row["status"] == "stubbed"
    )
    ended = command("trace", "paper", row["id"].lower())
    assert (ended.code, ended.err) == (0, "")
    assert row["text"] in ended.out
    assert "raise NotImplementedError" in ended.out
    assert ended.out.count("stubbed") == 1
    found = command("trace", "paper", row["id"], "--json").json()["requirements"]
    assert [one["id"] for one in found] == [row["id"]]


def test_a_requirement_wraps_at_the_width_of_the_terminal_and_its_formulas_are_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pipeline.cli.output.width_of_terminal", lambda stream=None: 80)
    row: dict[str, object] = {"id": "R1", "status": "run", "kind": "model", "note": "It notes this. " * 9, "tried": 0}
    row |= {"text": "It takes $B_{t}$ of the words. " * 6, "places": ["a.py:f"], "tests": [], "measured": True}
    row |= {"source": {"section": "3", "page": 1, "quote": "the words $y_{t}$ " * 9}}
    trace._show_all("paper", [row], ["own tests (12)"])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) < 80
    assert "paper: checked by its own tests only; 1 of 1" in shown
    assert "It takes B_t of the words." in shown
    assert "the words y_t the" in shown


def test_code_that_was_changed_since_is_said_to_be(command: Command) -> None:
    row = next(
        row for row in command.document("paper", "traceability.json")["requirements"] if row["status"] == "stubbed"
    )
    code_of(command, row["places"][0]).write_text("x = 1\n")
    ended = command("trace", "paper", row["id"])
    assert ended.code == 0
    assert "warning: the code was changed since it was traced; this is its current state" in ended.err
    assert "raise NotImplementedError" not in ended.out


def test_a_value_that_is_not_the_plans_is_noted(command: Command) -> None:
    row = next(row for row in rows_of(command) if row["kind"] == "hyperparameter" and "0.1" in str(row["text"]))
    path = code_of(command, str(row["places"][0]))  # type: ignore[index]
    path.write_text(path.read_text().replace(" = 0.1\n", " = 0.7\n"))
    assert command("verify", "paper").code == 3
    for words in ((), (str(row["id"]),)):
        assert "note   the plan says 0.1, " in command("trace", "paper", *words).out


@pytest.mark.slow
def test_the_page_is_written_and_may_be_written_again(command: Command) -> None:
    for _ in range(2):
        ended = command("trace", "paper", "--html", "trace.html")
        assert ended.code == 0, ended.err
        assert "wrote trace.html" in ended.err
    page = (command.folder / "trace.html").read_text(encoding="utf-8")
    assert "cross-entropy" in page
    assert "raise NotImplementedError" in page
    assert (command.folder / "trace.html").stat().st_size == len(page.encode())


def test_the_page_of_one_requirement_is_the_page_of_all(command: Command) -> None:
    command("trace", "paper", "--html", "all.html")
    command("trace", "paper", "R1", "--html", "one.html")
    assert (command.folder / "one.html").read_text() == (command.folder / "all.html").read_text()


@pytest.mark.parametrize("kind", ["a text", "an empty file", "a page of read", "a folder", "a broken link"])
def test_what_is_no_such_page_is_not_written_over(kind: str, command: Command) -> None:
    out = command.folder / "out.html"
    if kind == "a folder":
        out.mkdir()
    elif kind == "a broken link":
        os.symlink("gone", out)
    else:
        out.write_text(
            {"a text": "mine", "an empty file": ""}.get(kind, '<!doctype html>\n<html><head><meta charset="utf-8">')
        )
    ended = command("trace", "paper", "--html", "out.html")
    assert ended.code == 2
    assert ended.complaints == [
        "pipeline: --html out.html already exists, and was not written by this command; choose another name"
    ]
    assert os.path.lexists(out)


def test_a_requirement_that_there_is_not_is_a_usage_error(command: Command) -> None:
    ended = command("trace", "paper", "R999")
    assert (ended.code, ended.out) == (2, "")
    assert ended.complaints[0].startswith("pipeline: there is no requirement 'R999'")


def test_a_task_without_code_is_told_what_to_do(command: Command, tmp_path: Path) -> None:
    (command.task("paper") / "traceability.json").unlink()
    ended = command("trace", "paper")
    assert (ended.code, ended.out) == (2, "")
    assert "has no traceability.json yet: phase 09 writes it; go on with: pipeline resume paper" in ended.complaints[0]


def test_code_that_is_gone_is_no_reason_to_fail(command: Command) -> None:
    shutil.rmtree(command.task("paper") / "generate_code")
    assert command("trace", "paper").code == 0
    assert command("trace", "paper", "R1").code == 0
    assert command("trace", "paper", "--html", "trace.html").code == 0
    assert "No file is written." in (command.folder / "trace.html").read_text()


def test_what_a_model_wrote_cannot_drive_the_terminal(command: Command) -> None:
    row = rows_of(command)[0]
    path = code_of(command, str(row["places"][0]))  # type: ignore[index]
    path.write_text(f'def wait():\n    """{row["id"]}: \x1b]0;owned\x07."""\n    return 1\n')
    ended = command("trace", "paper", str(row["id"]))
    assert "\x1b" not in ended.out + ended.err
    assert "owned" in ended.out


def test_a_plan_that_was_changed_since_is_said_to_be(command: Command) -> None:
    path = command.task("paper") / "traceability.json"
    traced = json.loads(path.read_text())
    traced["requirements"].append({**traced["requirements"][0], "id": "R998", "status": "unlocated"})
    path.write_text(json.dumps(traced))
    ended = command("trace", "paper")
    assert ended.code == 0
    assert "warning: the plan was changed since the code was traced: R998" in ended.err
    assert "R998  unlocated" in ended.out
