"""`pipeline iterate`: a change is planned, shown, reviewed and carried out; and what stands in its way is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.llm_server import LlmServer, Says
from tests.papers import PAPER, Command, Ended, copy_command, in_terminal, paper, read

CHANGE = "also wait in the garden"
PLAN = "initial_plan.txt"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A command with a paper beside it."""
    paper(tmp_path)
    return Command(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A task that went through."""
    command = Command(tmp_path_factory.mktemp("finished"))
    paper(command.folder)
    ended = command("run", "--fast", "paper.md")
    assert ended.code == 3, ended.err
    return command


@pytest.fixture
def done(finished: Command, tmp_path: Path) -> Command:
    """A command with a task that went through."""
    return copy_command(finished, tmp_path)


def plan_of(command: Command) -> Any:
    return yaml.safe_load((command.task("paper") / PLAN).read_text(encoding="utf-8"))


def requests_of(command: Command) -> list[str]:
    return [row["text"] for row in command.document("paper", "plan_requests.json")["requests"]]


def difference(ended: Ended) -> list[str]:
    """The lines that tell what changes in the plan."""
    lines = ended.err.partition("What changes in the plan:\n")[2].splitlines()
    return [line.strip() for line in lines if line.startswith(("  + ", "  ~ ", "  - "))]


def test_a_change_is_planned_shown_and_carried_out(done: Command) -> None:
    before = done.attempts("paper")
    ended = done("iterate", "paper", CHANGE)
    assert ended.code == 3, ended.err
    (new,) = [row for row in plan_of(done)["requirements"] if row["source"]["section"] == "review"]
    assert difference(ended)[0] == f"+ {new['id']} artifact: {CHANGE}"
    assert any(line.startswith(("+ ", "~ ")) and ".py: " in line for line in difference(ended))
    after = done.attempts("paper")
    again = {name for name, count in after.items() if count > before[name]}
    assert {"plan", "plan_review", "implement"} <= again
    assert not {"intake", "acquire", "outline", "segment"} & again
    assert done.document("paper", "plan_review.json")["by"] == "auto"
    places = done.document("paper", "traceability.json")["requirements"]
    assert next(row for row in places if row["id"] == new["id"])["places"]


@pytest.mark.slow
def test_experiments_that_ran_once_do_not_run_again_unasked(done: Command) -> None:
    done("reproduce", "paper")
    before = done.attempts("paper")["reproduce"]
    ended = done("iterate", "paper", CHANGE)
    assert ended.code == 3, ended.err
    assert done.attempts("paper").get("reproduce", before) == before
    assert done("iterate", "paper", "report the median", "--reproduce").code != 2
    assert done.attempts("paper")["reproduce"] == before + 1


@pytest.mark.slow
def test_the_difference_is_told_once(done: Command) -> None:
    assert done("iterate", "paper", CHANGE).err.count("What changes in the plan:") == 1


@pytest.mark.slow
def test_the_report_as_json_is_nothing_but_json(done: Command) -> None:
    ended = done("iterate", "paper", CHANGE, "--json")
    assert ended.json()["id"] == "paper"
    assert difference(ended)


@pytest.mark.slow
def test_the_changed_plan_waits_for_its_review(done: Command) -> None:
    ended = done("iterate", "paper", CHANGE, "--review", "file")
    assert ended.code == 5
    assert difference(ended)
    assert "pipeline review paper --approve" in ended.out
    code = (done.task("paper") / "generate_code").rglob("*.py")
    assert not any(CHANGE in path.read_text(encoding="utf-8").lower() for path in code)
    assert done("review", "paper", "--approve").code == 0
    assert done("resume", "paper").code == 3
    code = (done.task("paper") / "generate_code").rglob("*.py")
    assert any(CHANGE in path.read_text(encoding="utf-8").lower() for path in code)


def test_the_person_at_the_terminal_is_asked(done: Command) -> None:
    screen = in_terminal(done, "iterate", "paper", CHANGE, "--review", "ask", answers=["approve"])
    assert screen.code == 3, screen.text
    assert "What changes in the plan:" in screen.text
    assert done.document("paper", "plan_review.json")["by"] != "auto"


def test_a_change_can_be_typed_again_after_it_was_cut_off(done: Command) -> None:
    assert done("iterate", "paper", CHANGE, "--stop-at", "plan").code == 0
    assert requests_of(done) == [CHANGE]
    ended = done("iterate", "paper", CHANGE)
    assert ended.code == 3, ended.err
    assert requests_of(done) == [CHANGE]
    assert difference(ended)


@pytest.mark.slow
def test_a_change_whose_plan_was_not_reviewed_yet_is_shown_when_it_is_typed_again(done: Command) -> None:
    assert done("iterate", "paper", CHANGE, "--until", "plan").code == 0
    attempts = done.attempts("paper")["plan"]
    ended = done("iterate", "paper", CHANGE)
    assert ended.code == 3, ended.err
    assert any(CHANGE in line for line in difference(ended)), ended.err
    assert "The plan is unchanged" not in ended.err
    assert (requests_of(done), done.attempts("paper")["plan"]) == ([CHANGE], attempts), "it was planned a second time"


def test_a_change_whose_code_was_not_written_yet_is_carried_out_when_it_is_typed_again(done: Command) -> None:
    assert done("iterate", "paper", CHANGE, "--until", "plan_review").code == 0
    ended = done("iterate", "paper", CHANGE)
    assert ended.code == 3, ended.err
    assert "that change is in it already" in ended.err
    assert "changed nothing" not in ended.err
    assert requests_of(done) == [CHANGE]
    code = (done.task("paper") / "generate_code").rglob("*.py")
    assert any(CHANGE in path.read_text(encoding="utf-8").lower() for path in code)


@pytest.mark.slow
def test_a_change_that_was_carried_out_is_a_new_one_when_it_is_typed_again(done: Command) -> None:
    for _ in range(2):
        assert done("iterate", "paper", CHANGE).code == 3
    assert requests_of(done) == [CHANGE, CHANGE]


def test_a_version_of_the_plan_that_was_touched_is_not_compared_with(done: Command) -> None:
    for version in (done.task("paper") / "plan_versions").iterdir():
        version.write_text("not a plan")
    ended = done("iterate", "paper", CHANGE)
    assert ended.code in (1, 3), ended.err
    assert "a bug" not in ended.err


@pytest.mark.slow
def test_every_change_stays(done: Command) -> None:
    done("iterate", "paper", CHANGE)
    done("iterate", "paper", "report the median")
    assert requests_of(done) == [CHANGE, "report the median"]


# What stands in the way


def test_a_task_without_a_plan_has_nothing_to_change(command: Command) -> None:
    command("run", "--fast", "paper.md", "--stop-at", "plan")
    ended = command("iterate", "paper", CHANGE)
    assert ended.code == 2
    assert "has no plan yet" in ended.complaints[0]
    assert "pipeline resume paper" in ended.complaints[0]
    assert requests_of(command) == []


def test_a_plan_that_waits_for_its_review_is_decided_about_first(command: Command) -> None:
    assert command("run", "--fast", "paper.md", "--review", "file").code == 5
    ended = command("iterate", "paper", CHANGE)
    assert ended.code == 2
    assert "waits for a decision" in ended.complaints[0]
    assert "pipeline review paper --approve" in ended.complaints[0]
    assert "pipeline review paper --change TEXT" in ended.complaints[0]
    assert requests_of(command) == []


def test_a_rejected_plan_is_not_changed_behind_the_back_of_who_rejected_it(command: Command) -> None:
    command("run", "--fast", "paper.md", "--review", "file")
    command("review", "paper", "--reject")
    ended = command("iterate", "paper", CHANGE)
    assert ended.code == 2
    assert "rejected plan" in ended.complaints[0]
    assert "pipeline review paper --change TEXT" in ended.complaints[0]
    assert requests_of(command) == []


def test_a_damaged_plan_is_named_and_nothing_is_noted(done: Command) -> None:
    (done.task("paper") / PLAN).write_text("plan_version: 7\n")
    ended = done("iterate", "paper", CHANGE)
    assert ended.code == 1
    assert "initial_plan.txt" in ended.complaints[0]
    assert requests_of(done) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["iterate", "paper", "  "], "say what must change", id="a blank change"),
        pytest.param(["iterate", "nobody", CHANGE], "there is no task 'nobody'", id="no such task"),
        pytest.param(["iterate", "paper", CHANGE, "--until", "nowhere"], "nowhere", id="no such phase"),
    ],
)
def test_what_makes_no_sense_is_refused_and_notes_nothing(done: Command, arguments: list[str], said: str) -> None:
    ended = done(*arguments)
    assert ended.code == 2
    assert said in ended.complaints[0]
    assert requests_of(done) == []


# With a model


def with_garden(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with one requirement more, and one row that differs for it."""
    source = {"section": "review", "page": 0, "quote": CHANGE}
    row = {"id": "R99", "kind": "artifact", "text": "Wait in the garden.", "source": source, "status": "stated"}
    first, *others = plan["file_structure"]
    first = {**first, "implements": [*first["implements"], "R99"]}
    return {**plan, "requirements": [*plan["requirements"], row], "file_structure": [first, *others]}


PLANNED = read(PAPER).plan


@pytest.mark.slow
def test_a_served_model_plans_and_changes_its_plan(command: Command) -> None:
    broken = json.dumps({**PLANNED, "file_structure": []})
    changed = with_garden(PLANNED)
    with LlmServer(
        Says(broken, piece=900), Says(json.dumps(PLANNED), piece=900), Says(json.dumps(changed), piece=900)
    ) as server:
        served = (
            "--plan-model",
            "vllm:tiny",
            "--base-url",
            server.base_url,
            "--review",
            "auto",
            "--until",
            "plan_review",
        )
        ended = command("run", "--fast", "paper.md", *served)
        assert (ended.code, plan_of(command)) == (0, PLANNED), ended.err
        assert f"pipeline resume paper --base-url {server.base_url}" in ended.out + ended.err
        assert "asks vllm:tiny once" in ended.err
        assert "should be non-empty" in server.requests[1].body["messages"][-1]["content"]
        assert command("resume", "paper", *served).code == 0
        assert server.asked == 2, "a plan that is there is not asked for again"
        ended = command("iterate", "paper", CHANGE, *served)
        assert ended.code == 0, ended.err
        assert difference(ended) == [
            "+ R99 artifact: Wait in the garden.",
            f"~ {PLANNED['file_structure'][0]['path']}: implements +R99",
        ]
        assert f"1. {CHANGE}" in server.requests[2].body["messages"][1]["content"]
    assert plan_of(command) == {**changed, "user_requests": [CHANGE]}
