"""The commands that only look: list, status, show, why, check, logs, graph, doctor."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.papers import ALL_NUMBERS, NUMBERS, PAPER, Command, built_in_phases, command_line, paper
from tests.rows import with_covered
from tests.toys import write_toys


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A finished task that no test changes."""
    command = Command(tmp_path_factory.mktemp("done"))
    assert command("run", "--fast", paper(command.folder)).code == 3
    return command


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


JSON = [
    ["list"], ["status"], ["status", "paper"], ["show", "paper"], ["show", "paper", "plan"], ["show", "paper", "paper"],
    ["show", "paper", "outline"], ["why", "paper"], ["why", "paper", "--full"], ["check", "paper"], ["graph"],
    ["graph", "paper"], ["doctor"],
]  # fmt: skip


@pytest.mark.parametrize(
    "arguments", with_covered([pytest.param(row, id=" ".join(row)) for row in JSON], "list", "check paper", "doctor")
)
def test_json_is_json_and_nothing_else(arguments: list[str], done: Command) -> None:
    ended = done(*arguments, "--json")
    assert ended.code == 0, ended.err
    assert isinstance(ended.json(), (dict, list))


def test_the_json_of_a_log_is_a_line_an_object(done: Command) -> None:
    rows = [json.loads(line) for line in done("logs", "paper", "--json").out.splitlines()]
    assert len(rows) > 10
    assert {"at", "level", "message"} <= rows[0].keys()


@pytest.mark.slow
def test_looking_changes_nothing(done: Command) -> None:
    def tree() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (done.folder / "tasks").rglob("*") if path.is_file()}

    before = tree()
    for arguments in (*JSON, ["logs", "paper"], ["graph", "paper", "--format", "svg"]):
        done(*arguments)
    assert tree() == before


# list


def test_an_empty_list_says_how_to_begin(command: Command) -> None:
    ended = command("list")
    assert (ended.code, "pipeline run --fast paper.pdf" in ended.out) == (0, True)
    assert command("list", "--json").json() == []


@pytest.mark.slow
def test_a_list_of_many_tasks_has_every_one(command: Command) -> None:
    command.environment["PIPELINE_PHASES"] = str(write_toys(command.folder / "toys", 1))
    command("run", "p.md")
    tasks = command.folder / "tasks"
    for number in range(300):
        copy = tasks / f"copy-{number}"
        copy.mkdir()
        for name in ("task.json", "report.json"):
            shutil.copy(tasks / "p" / name, copy / name)
    lines = [json.loads(line) for line in (tasks / "tasks.jsonl").read_text().splitlines()]
    rows = [{**lines[-1], "id": f"copy-{number}"} for number in range(300)]
    (tasks / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*lines, *rows]))
    assert len(command("list", "--json").json()) == 301
    assert len(command("list").out.splitlines()) == 302


def test_the_list_is_written_anew_from_the_tasks_themselves(command: Command) -> None:
    toys = str(write_toys(command.folder / "toys", 2))
    command("run", "one.md", PIPELINE_PHASES=toys)
    command("run", "two.md", "--until", "00", PIPELINE_PHASES=toys)
    before = command("list", "--json").json()
    catalog = command.folder / "tasks" / "tasks.jsonl"
    old = catalog.read_bytes()
    catalog.write_bytes(b"rubbish\n" + old[10:])
    damaged = command("list")
    assert "line 1" in damaged.err
    assert command("list", "--rebuild").code == 0
    after = command("list", "--json").json()
    assert {row["id"]: row["status"] for row in after} == {row["id"]: row["status"] for row in before}
    assert (command.folder / "tasks" / "tasks.jsonl.prev").read_bytes() == b"rubbish\n" + old[10:]


def test_a_rebuild_without_any_task_is_an_empty_list(command: Command) -> None:
    ended = command("list", "--rebuild")
    assert ended.code == 0, ended.err
    assert "no tasks" in ended.out


def test_one_damaged_task_does_not_hide_the_others_from_a_rebuild(command: Command) -> None:
    command.environment["PIPELINE_PHASES"] = str(write_toys(command.folder / "toys", 1))
    command("run", "one.md")
    command("run", "two.md")
    (command.task("one") / "task.json").write_text("{")
    ended = command("list", "--rebuild")
    assert "two" in ended.out, ended.err
    assert "one" in ended.err + ended.out


# status, why, show


def test_the_status_has_a_row_a_phase(done: Command) -> None:
    told = done("status").out
    assert told.startswith("paper: incomplete")
    assert [line.split()[0] for line in told.splitlines()[2:]] == [*NUMBERS, "evidence:"]


def test_why_says_that_everything_is_up_to_date_where_it_is(done: Command) -> None:
    assert "everything is up to date" in done("why", "paper").out
    assert done("why", "paper", "--json").json() == []


def test_why_tells_of_a_plan_that_an_older_release_made_and_runs_nothing_for_it(done: Command) -> None:
    path = done.task("paper") / "state.json"
    state = json.loads(path.read_text())
    assert state["phases"]["05"].pop("edition") > 1
    path.write_text(json.dumps(state))
    told = done("why", "paper").out
    assert "everything is up to date" in told
    assert "05 plan was made by an older release" in told
    assert "resume paper --redo plan" in " ".join(told.split())
    assert done("why", "paper", "--json").json() == []


def test_why_says_what_another_mode_would_run_and_why(done: Command) -> None:
    rows = done("why", "paper", "--full", "--json").json()
    graph = built_in_phases()
    optional = [phase for phase in graph.phases if phase.optional]
    stale = {phase.number for first in optional for phase in (first, *graph.after(first)) if not phase.asked}
    assert [row["number"] for row in rows] == sorted(stale)
    assert rows[0]["reason"] == "mode changed from fast to full"


@pytest.mark.slow
def test_why_names_the_document_that_changed(command: Command) -> None:
    command("run", "--fast", paper(command.folder))
    plan = command.task("paper") / "initial_plan.txt"
    plan.write_text(plan.read_text() + "# looked at\n")
    reasons = {row["name"]: row["reason"] for row in command("why", "paper", "--json").json()}
    assert reasons["plan_review"] == "initial_plan.txt changed"
    assert "plan" not in reasons


@pytest.mark.slow
def test_show_prints_a_document_by_its_short_name_and_by_its_path(done: Command) -> None:
    plan = (done.task("paper") / "initial_plan.txt").read_text()
    assert done("show", "paper", "plan").out == (done.task("paper") / "plan.md").read_text()
    assert done("show", "paper", "plan", "--json").json()["plan_version"] == 2
    assert done("show", "paper", "initial_plan.txt").out.strip() == plan.strip()
    module = next((done.task("paper") / "generate_code").rglob("config.py"))
    shown = done("show", "paper", str(module.relative_to(done.task("paper"))))
    assert shown.out.strip() == module.read_text().strip()


@pytest.mark.parametrize(
    ("document", "told"),
    [
        pytest.param("outlien", "did you mean 'outline'?", id="a mistyped name"),
        pytest.param("../../paper.md", "no document", id="a file outside the task"),
        pytest.param("/etc/passwd", "no document", id="an absolute path"),
        pytest.param("generate_code", "no document", id="a folder"),
    ],
)
def test_show_refuses_what_is_no_document_of_the_task(document: str, told: str, done: Command) -> None:
    refused = done("show", "paper", document)
    assert refused.code == 2, refused.out
    assert told in refused.complaints[0]


@pytest.mark.slow
def test_a_title_cannot_drive_the_terminal(command: Command) -> None:
    hostile = "\x1b[31mRed\x1b]0;owned\x07 Paper\x9b2J \u202eback\x08"
    command("run", "--fast", paper(command.folder, PAPER.replace("Slow Waiting for Everyone", hostile)))
    shown = [
        command("run", "--fast", "paper.md"),
        command("status", "paper"),
        command("show", "paper", "paper"),
        command("show", "paper", "plan"),
        command("show", "paper", "outline"),
        command("review", "paper"),
        command("logs", "paper"),
        command("list"),
    ]
    for ended in shown:
        assert ended.code in (0, 3), ended.err
        for character in "\x1b\x07\x08\x9b\u202e":
            assert character not in ended.out + ended.err
    assert "\\e[31mRed" in shown[2].out, "the front matter tells what the title is made of"


# check, logs


def test_check_finds_nothing_wrong_with_a_good_task(done: Command) -> None:
    ended = done("check", "paper")
    assert ended.code == 0
    assert "all fine" in ended.out


@pytest.mark.parametrize(
    ("name", "damage", "verdict"),
    [
        pytest.param("outline.json", b"{}", "damaged", id="a document that breaks its schema", marks=pytest.mark.slow),
        pytest.param("outline.json", b"[1, 2", "damaged", id="a document that does not parse"),
        pytest.param("paper.md", b"no front matter", "damaged", id="a paper without its front matter"),
        pytest.param("initial_plan.txt", b"\xff\xfe", "damaged", id="a plan that is not text", marks=pytest.mark.slow),
        pytest.param("task.json", b"{}", "damaged", id="the task's own document", marks=pytest.mark.slow),
        pytest.param("outline.json", None, "missing", id="a document that is gone"),
        pytest.param(
            "document_segments/segment_0001.md",
            None,
            "missing",
            id="a file of a folder that is gone",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_check_names_what_is_damaged_and_ends_with_1(
    name: str, damage: bytes | None, verdict: str, command: Command
) -> None:
    command("run", "--fast", paper(command.folder), "--until", "plan")
    path = command.task("paper") / name
    path.unlink() if damage is None else path.write_bytes(damage)
    ended = command("check", "paper", "--json")
    assert ended.code == 1, ended.err
    assert [(row["document"], row["verdict"]) for row in ended.json() if row["verdict"] != "fine"] == [(name, verdict)]
    assert name in command("check", "paper").out


def test_check_calls_a_hand_edit_by_its_name_and_finds_it_fine(command: Command) -> None:
    command("run", "--fast", paper(command.folder), "--until", "plan")
    plan = command.task("paper") / "initial_plan.txt"
    plan.write_text(plan.read_text() + "# looked at\n")
    ended = command("check", "paper", "--json")
    assert ended.code == 0
    assert [row["document"] for row in ended.json() if row["verdict"] == "edited"] == ["initial_plan.txt"]


def test_the_log_tells_the_story_of_the_run_and_a_damaged_line_hides_no_other(command: Command) -> None:
    command("run", "--fast", paper(command.folder), "--until", "outline")
    log = command.task("paper") / "logs" / "system.jsonl"
    log.write_bytes(log.read_bytes() + b'{"at": \xff\n')
    told = command("logs", "paper").out
    assert "03 outline runs: never ran" in told
    assert "damaged line" in told


def test_the_log_says_why_each_decision_was_made_where_that_is_asked_for(command: Command) -> None:
    ended = command("run", "--fast", paper(command.folder), "--until", "intake", "--verbose")
    assert "INFO    00 environment runs: never ran" in ended.err
    log = command.task("paper") / "logs" / "system.jsonl"
    why = {"seq": 99, "at": "2026-01-31T12:00:00.000Z", "level": "DEBUG", "message": "read as Markdown"}
    log.write_bytes(log.read_bytes() + json.dumps(why).encode() + b"\n")
    assert "read as Markdown" not in command("logs", "paper").out
    assert "12:00:00 DEBUG   read as Markdown" in command("logs", "paper", "-v").out
    assert command("logs", "paper", "--json").out.splitlines()[-1] == json.dumps(why)


def test_following_the_log_of_a_task_that_nobody_works_on_ends(done: Command) -> None:
    assert done("logs", "paper", "-f").code == 0


# graph, doctor


def test_the_graph_has_every_phase_and_who_writes_what_it_reads(done: Command) -> None:
    text = done("graph").out
    assert [line.split()[0] for line in text.splitlines() if not line.startswith(" ")] == ALL_NUMBERS
    assert "<- paper.md  (from 02 acquire)" in text
    assert "[skipped]" in done("graph", "paper").out


def test_the_mermaid_graph_has_a_node_a_phase_and_an_arrow_a_flow(done: Command) -> None:
    lines = done("graph", "--format", "mermaid").out.splitlines()
    assert lines[0].split()[0] == "flowchart"
    for number in ALL_NUMBERS:
        assert any(f"p{number}[" in line for line in lines), number
    assert any("p02" in line and "p03" in line and "paper.md" in line for line in lines)


@pytest.mark.parametrize("task", [[], ["paper"]], ids=["of the phases alone", "of a task"])
def test_the_svg_graph_is_xml_and_shows_every_phase(task: list[str], done: Command) -> None:
    root = ElementTree.fromstring(done("graph", *task, "--format", "svg").out)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    shown = " ".join(root.itertext())
    for name in ("environment", "plan_review", "implement"):
        assert name in shown


def test_doctor_finds_everything_that_the_main_job_needs(done: Command) -> None:
    ended = done("doctor", "--json")
    assert ended.code == 0
    assert "missing" not in {row["state"] for row in ended.json()}
    assert {"liteparse", "sandbox", "phases", "task directory"} <= {row["what"] for row in ended.json()}


def test_doctor_names_phases_that_do_not_fit_together(command: Command) -> None:
    toys = write_toys(command.folder / "toys", 2)
    (toys / "schemas" / "toy01.schema.json").unlink()
    ended = command("doctor", PIPELINE_PHASES=str(toys))
    assert ended.code == 1
    assert "toy01.schema.json" in ended.out


@pytest.mark.parametrize("stream", ["stdout", pytest.param("stderr", marks=pytest.mark.slow)])
def test_a_closed_stream_is_no_bug(command: Command, stream: str) -> None:
    closed = {"stdout": ">&-", "stderr": "2>&-"}[stream]
    line = " ".join(shlex.quote(str(word)) for word in command_line("list"))
    ended = subprocess.run(["sh", "-c", f"{line} {closed}"], cwd=command.folder, env=command.environment, check=False)
    assert ended.returncode == 0


def test_a_short_name_of_what_is_not_written_yet_says_who_writes_it(tmp_path: Path) -> None:
    command = Command(tmp_path)
    command("run", "--fast", paper(tmp_path), "--until", "outline")
    for word, name, who in (
        ("data", "data.json", "phases 09 and 10 write it, where the plan or --data names a data set"),
        ("plan", "initial_plan.txt", "phase 05 plan writes it; go on with: pipeline resume paper --until 05"),
        ("results", "results.json", "phase 10 reproduce writes it; go on with: pipeline resume paper --reproduce"),
    ):
        ended = command("show", "paper", word)
        assert (ended.code, f"task paper has no {name} yet: {who}" in " ".join(ended.err.split())) == (2, True)
    assert "did you mean 'data'?" in command("show", "paper", "dat").err
