"""run, resume and step: what they do, where they stop, how they end, and that nothing is done twice."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from pipeline.engine.contract import Contracts
from pipeline.engine.stamps import read_state
from tests.papers import NUMBERS, PAPER, Command, paper
from tests.rows import with_covered
from tests.toys import toy_name, write_toy, write_toys
from tests.work import wait_until

BUG = '''"""A toy with a bug."""
from pipeline.engine.phase import Phase
def run(inputs, ctx):
    raise ValueError("an unlucky number")
PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run{more})
'''
GIVES_UP = '''"""A toy that gives up."""
from pipeline.base.errors import PhaseError
from pipeline.engine.phase import Phase
def run(inputs, ctx):
    raise PhaseError("the well is dry; dig another one")
PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run{more})
'''
SLEEPS = '''"""A toy that says that it runs, and then sleeps."""
import os, time
from pipeline.engine.phase import Phase
def run(inputs, ctx):
    open(os.path.join(ctx.paths.root, "it_runs"), "w").close()
    time.sleep(60)
PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run{more})
'''


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def toys(command: Command, count: int = 3) -> Path:
    """Toy phases, in force for every run of this command."""
    folder = write_toys(command.folder / "toys", count)
    command.environment["PIPELINE_PHASES"] = str(folder)
    return folder


def may_be_placeholder(folder: Path, index: int) -> None:
    """Lets a toy document be a placeholder."""
    path = folder / "schemas" / f"{toy_name(index)}.schema.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mayBePlaceholder": True}))


def start_and_wait(command: Command, task: str, *arguments: str) -> int:
    """Starts a run, waits until its sleeping toy runs, and kills the process; the code that it ended with."""
    with command.start(*arguments) as process:
        wait_until((command.task(task) / "it_runs").exists)
        process.kill()
        return process.wait()


# how it ends


def test_a_run_that_did_everything_ends_with_0(command: Command) -> None:
    toys(command)
    ended = command("run", "p.md")
    assert ended.code == 0, ended.err
    assert "Task p: completed." in ended.out


def test_a_run_whose_optional_phase_gave_up_warns_and_ends_with_0(command: Command) -> None:
    folder = toys(command)
    write_toy(folder, 2, body=GIVES_UP, more=", optional=True")
    may_be_placeholder(folder, 2)
    ended = command("run", "p.md", "--full", "--json")
    assert (ended.code, ended.json()["status"]) == (0, "warning")
    assert "the well is dry" in ended.json()["reason"]


def test_a_phase_that_gives_up_ends_the_run_with_1_and_its_own_words(command: Command) -> None:
    write_toy(toys(command), 1, body=GIVES_UP)
    ended = command("run", "p.md")
    assert ended.code == 1
    assert ended.complaints == ["pipeline: the well is dry; dig another one"]
    assert "pipeline resume p" in ended.out
    assert command.document("p", "report.json")["status"] == "error"


def test_a_bug_in_a_phase_ends_the_run_with_70_and_a_traceback_in_the_log(command: Command) -> None:
    write_toy(toys(command), 1, body=BUG)
    ended = command("run", "p.md")
    assert ended.code == 70
    assert "01 toy01" in ended.complaints[0]
    assert "ValueError: an unlucky number" in ended.complaints[0]
    assert "Traceback" not in ended.err
    assert "Traceback" in command("logs", "p").out


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, id="a polite kill"),
    ],
)
def test_a_signal_ends_the_run_in_order(number: signal.Signals, code: int, command: Command) -> None:
    write_toy(toys(command), 1, body=SLEEPS)
    with command.start("run", "p.md") as process:
        wait_until((command.task("p") / "it_runs").exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert command.document("p", "report.json")["status"] == "cancelled"
    assert [entry["status"] for entry in command("list", "--json").json()] == ["cancelled"]


def test_a_killed_run_is_shown_as_interrupted_and_goes_on(command: Command) -> None:
    folder = toys(command)
    write_toy(folder, 1, body=SLEEPS)
    assert start_and_wait(command, "p", "run", "p.md") == -signal.SIGKILL
    [entry] = command("list", "--json").json()
    assert entry["status"] == "interrupted"
    assert "pipeline resume p" in entry["reason"]
    assert command("status", "p", "--json").json()["status"] == "interrupted"
    write_toy(folder, 1)
    resumed = command("resume")
    assert resumed.code == 0, resumed.err
    assert "took over from process" in resumed.err
    assert command.attempts("p") == {"toy00": 1, "toy01": 2, "toy02": 1}


@pytest.mark.slow
def test_a_killed_resume_is_not_shown_with_the_status_of_the_run_before(command: Command) -> None:
    folder = toys(command)
    assert command("run", "p.md", "--until", "00").code == 0
    write_toy(folder, 1, body=SLEEPS)
    start_and_wait(command, "p", "resume", "p")
    assert command("list", "--json").json()[0]["status"] == "interrupted"
    assert command("status", "p", "--json").json()["status"] == "interrupted"


@pytest.mark.slow
def test_a_task_that_is_worked_on_is_refused_with_the_name_of_who_does(command: Command) -> None:
    write_toy(toys(command), 1, body=SLEEPS)
    with command.start("run", "p.md") as process:
        wait_until((command.task("p") / "it_runs").exists)
        second = command("resume", "p")
        shown = command("status", "p", "--json").json()
        process.kill()
    assert second.code == 75
    assert f"process {process.pid}" in second.complaints[0]
    assert shown["status"] == "running"


# the same task, and a new one


def test_the_same_paper_again_goes_on_with_its_task_and_repeats_nothing(command: Command) -> None:
    source = paper(command.folder)
    assert command("run", "--fast", source).code == 3
    before = {path: path.read_bytes() for path in command.task("paper").rglob("*") if path.is_file()}
    again = command("run", "--fast", source)
    assert again.code == 3
    assert set(command.attempts("paper").values()) == {1}
    assert [entry["id"] for entry in command("list", "--json").json()] == ["paper"]
    changed = {path.name for path, data in before.items() if path.read_bytes() != data}
    assert changed <= {"report.json", "system.jsonl", ".lock"}


@pytest.mark.slow
@pytest.mark.parametrize("inside", ["", "outline.json", "generate_code/tests/__init__.py"])
def test_a_path_in_a_task_is_that_task(inside: str, command: Command) -> None:
    command("run", "--fast", paper(command.folder))
    again = command("run", command.task("paper") / inside, "--json")
    assert (again.code, again.json()["id"]) == (3, "paper")
    assert len(command("list", "--json").json()) == 1


def test_new_makes_another_task_of_the_same_paper(command: Command) -> None:
    toys(command)
    command("run", "p.md")
    assert command("run", "p.md", "--new", "--json").json()["id"] == "p-2"
    assert [entry["id"] for entry in command("list", "--json").json()] == ["p-2", "p"]


@pytest.mark.slow
def test_another_paper_under_the_same_name_gets_a_task_of_its_own(command: Command) -> None:
    source = paper(command.folder)
    command("run", "--fast", source, "--until", "intake")
    paper(command.folder, PAPER + "\n## 9 More\n\nMore words.\n")
    assert command("run", "--fast", source, "--until", "intake", "--json").json()["id"] == "paper-2"
    (command.folder / "other").mkdir()
    other = paper(command.folder / "other")
    assert command("run", "--fast", other, "--until", "intake", "--json").json()["id"] == "paper-3"


def test_an_id_that_another_paper_has_is_refused(command: Command) -> None:
    toys(command)
    command("run", "one.md", "--id", "mine")
    refused = command("run", "two.md", "--id", "mine")
    assert refused.code == 2
    assert "one.md" in refused.complaints[0]
    assert "choose another --id" in refused.complaints[0]
    assert command("run", "one.md", "--id", "mine").code == 0


def test_an_id_that_a_strange_folder_has_is_refused(command: Command) -> None:
    toys(command)
    (command.folder / "tasks" / "mine").mkdir(parents=True)
    (command.folder / "tasks" / "mine" / "thesis.doc").write_text("years of work")
    assert command("run", "one.md", "--id", "mine").code == 2
    assert (command.folder / "tasks" / "mine" / "thesis.doc").read_text() == "years of work"


@pytest.mark.parametrize("name", ["../out", "a/b", "", ".", "..", "con", "a b", "-x", "ä", "x" * 300])
def test_an_id_that_is_no_safe_folder_name_is_refused(name: str, command: Command) -> None:
    toys(command)
    refused = command("run", "one.md", f"--id={name}")
    assert refused.code == 2, refused.err
    assert "--id" in refused.complaints[0]


@pytest.mark.slow
def test_a_name_of_any_letters_gives_a_safe_task_folder(command: Command) -> None:
    toys(command)
    for name in ("日本語.pdf", "a b (final).md", "-rf.md", "con.txt", "x" * 200 + ".md", ".hidden.md"):
        assert command("run", "--", name).code == 0, name
    for entry in command("list", "--json").json():
        assert entry["id"].isascii()
        assert (command.task(entry["id"]) / "report.json").is_file()


# resume and step


@pytest.mark.slow
def test_resume_without_an_id_takes_the_newest_unfinished_task(command: Command) -> None:
    toys(command)
    command("run", "one.md", "--until", "00")
    command("run", "two.md", "--until", "00")
    command("run", "three.md")
    assert command("resume", "--json").json()["id"] == "two"
    assert command("resume", "--json").json()["id"] == "one"


def test_resume_with_nothing_unfinished_says_how_to_begin(command: Command) -> None:
    toys(command)
    refused = command("resume")
    assert refused.code == 2
    assert "pipeline run --fast paper.pdf" in refused.complaints[0]
    command("run", "one.md")
    assert command("resume").code == 2


def test_step_runs_exactly_one_phase(command: Command) -> None:
    toys(command, 4)
    assert command("run", "p.md", "--stop-at", "00").code == 0
    assert command("step", "p").code == 0
    assert command("step", "p", "1").code == 0
    assert command.attempts("p") == {"toy00": 1, "toy01": 1, "toy02": 0, "toy03": 0}
    assert command("step", "p", "toy02").code == 0
    assert command("step", "p").code == 0
    assert command.attempts("p") == {"toy00": 1, "toy01": 1, "toy02": 1, "toy03": 1}


def test_step_refuses_a_phase_whose_inputs_are_not_there(command: Command) -> None:
    toys(command, 4)
    command("run", "p.md", "--until", "00")
    refused = command("step", "p", "03")
    assert refused.code == 2
    assert "pipeline step p 02" in refused.complaints[0]
    assert command.attempts("p")["toy03"] == 0


# where it stops

STOPS = [
    pytest.param(["--stop-at", "03"], {}, "acquire", id="before 03 by number"),
    pytest.param(["--stop-at", "3"], {}, "acquire", id="before 03 by short number"),
    pytest.param(["--stop-at", "outline"], {}, "acquire", id="before 03 by name"),
    pytest.param(["--until", "03"], {}, "outline", id="after 03 by number"),
    pytest.param(["--until", "outline"], {}, "outline", id="after 03 by name"),
    pytest.param(["--stop-at", "05b"], {}, "plan", id="before the review by number"),
    pytest.param(["--stop-at", "plan_review"], {}, "plan", id="before the review by name"),
    pytest.param(["--until", "5b"], {}, "plan_review", id="after the review by short number"),
    pytest.param([], {"STOP_AT_PHASE": "8"}, "repositories", id="STOP_AT_PHASE by number"),
    pytest.param([], {"STOP_AT_PHASE": "implement"}, "index", id="STOP_AT_PHASE by name"),
    pytest.param(["--stop-at", "03"], {"STOP_AT_PHASE": "8"}, "acquire", id="a flag over STOP_AT_PHASE"),
]


@pytest.mark.parametrize(
    ("flags", "environment", "last"),
    with_covered(
        STOPS,
        "before 03 by name",
        "after 03 by number",
        "after 03 by name",
        "before the review by number",
        "before the review by name",
        "after the review by short number",
        "STOP_AT_PHASE by number",
    ),
)
def test_a_run_stops_where_it_was_told_to(
    flags: list[str], environment: dict[str, str], last: str, command: Command
) -> None:
    ended = command("run", "--fast", paper(command.folder), "--json", *flags, **environment)
    assert (ended.code, ended.json()["status"]) == (0, "paused"), ended.err
    rows = ended.json()["phases"]
    names = [row["name"] for row in rows]
    border = names.index(last) + 1
    assert all(row["status"] in ("done", "skipped") for row in rows[:border]), rows
    assert all(row["status"] == "pending" for row in rows[border:]), rows


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_end(command: Command) -> None:
    command("run", "--fast", paper(command.folder), "--until", "outline")
    assert command("resume").code == 3
    assert set(command.attempts("paper").values()) == {1}


def test_stopping_after_the_last_phase_is_no_stop(command: Command) -> None:
    toys(command, 2)
    assert command("run", "p.md", "--until", "01").code == 0


# redo, edits, damage


@pytest.mark.slow
def test_redo_keeps_the_code_that_was_there(command: Command) -> None:
    source = paper(command.folder)
    command("run", "--fast", source)
    task = command.task("paper")
    written = {path.relative_to(task / "generate_code"): path.read_bytes()
               for path in (task / "generate_code").rglob("*.py")}  # fmt: skip
    notes = task / "generate_code" / "notes.txt"
    notes.write_text("by hand")
    assert command("run", source, "--redo", "implement").code == 3
    kept = task / "generate_code.prev"
    assert (kept / "notes.txt").read_text() == "by hand"
    assert not notes.exists()
    for path, data in written.items():
        assert (kept / path).read_bytes() == data
        assert (task / "generate_code" / path).read_bytes() == data
    attempts = command.attempts("paper")
    assert attempts.pop("implement") == 2
    assert set(attempts.values()) == {1}


def test_redo_of_an_early_phase_makes_what_follows_again(command: Command) -> None:
    toys(command, 4)
    command("run", "p.md")
    assert command("run", "tasks/p", "--redo", "1").code == 0
    assert command.attempts("p") == {"toy00": 1, "toy01": 2, "toy02": 2, "toy03": 2}


@pytest.mark.slow
def test_a_plan_edited_by_hand_is_taken_and_what_reads_it_runs_again(command: Command) -> None:
    command("run", "--fast", paper(command.folder))
    plan = command.task("paper") / "initial_plan.txt"
    edited = plan.read_text().replace("We wait, and measure how long.", "We wait no more.")
    plan.write_text(edited)
    assert command("resume", "paper").code == 3
    assert plan.read_text() == edited
    phases = {row["name"]: row for row in command("status", "paper", "--json").json()["phases"]}
    again = {name for name, row in phases.items() if row["attempts"] == 2}
    assert {"plan_review", "implement"} <= again <= {"plan_review", "implement", "index"}
    assert phases["plan"]["edited"] == ["initial_plan.txt"]


@pytest.mark.slow
def test_a_plan_edited_by_hand_is_kept_when_the_planner_runs_again(command: Command) -> None:
    source = paper(command.folder)
    command("run", "--fast", source)
    plan = command.task("paper") / "initial_plan.txt"
    edited = plan.read_text().replace("We wait, and measure how long.", "We wait no more.")
    plan.write_text(edited)
    command("run", source, "--redo", "plan")
    assert edited in [path.read_text() for path in (command.task("paper") / "edited").iterdir()]


DAMAGES = [
    pytest.param("plan_version: 1\npaper: [unclosed\n", "line 3, column 1", id="it is not YAML"),
    pytest.param("plan_version: 1\npaper: *one\n", "line 2, column 8", id="it has an alias"),
    pytest.param("a list is no plan\n", "line 1, column 1", id="it is no mapping"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "place"), DAMAGES)
def test_a_damaged_plan_ends_the_run_with_line_and_column(text: str, place: str, command: Command) -> None:
    command("run", "--fast", paper(command.folder))
    plan = command.task("paper") / "initial_plan.txt"
    plan.write_text(text)
    ended = command("resume", "paper")
    assert ended.code == 1
    assert len(ended.complaints) == 1, ended.err
    for words in ("initial_plan.txt", place, "written by phase 05 plan"):
        assert words in ended.complaints[0]
    assert plan.read_text() == text


BREACHES = [
    pytest.param("file_structure:", "file_structure: []\nleft_over:", id="no file is planned and a key is unknown"),
    pytest.param("plan_version: 2", "plan_version: 7", id="another version"),
    pytest.param("  kind: metric", "  kind: miracle", id="an unknown kind of requirement"),
    pytest.param("page: 1", "page: first", id="words for a page"),
]


@pytest.mark.parametrize(
    ("old", "new"), with_covered(BREACHES, "no file is planned and a key is unknown", "words for a page")
)
def test_a_plan_that_breaks_its_schema_ends_the_run_with_line_and_column(old: str, new: str, command: Command) -> None:
    command("run", "--fast", paper(command.folder))
    plan = command.task("paper") / "initial_plan.txt"
    text = plan.read_text()
    assert old in text
    plan.write_text(text.replace(old, new, 1))
    ended = command("resume", "paper")
    assert ended.code == 1
    assert "initial_plan.txt, line " in ended.complaints[0]
    assert ", column " in ended.complaints[0]


@pytest.mark.slow
def test_a_plan_of_no_files_is_refused(command: Command) -> None:
    import yaml

    command("run", "--fast", paper(command.folder), "--until", "plan")
    plan = command.task("paper") / "initial_plan.txt"
    value = yaml.safe_load(plan.read_text())
    plan.write_text(yaml.safe_dump({**value, "file_structure": [], "implementation_strategy": []}, sort_keys=False))
    ended = command("resume", "paper")
    assert ended.code == 1
    for words in ("initial_plan.txt, line ", ", column ", "file_structure"):
        assert words in ended.complaints[0]
    assert not (command.task("paper") / "generate_code").exists()


# what is told


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param("paper.md", 3, id="a good paper", marks=pytest.mark.slow),
        pytest.param("empty.md", 1, id="no paper"),
    ],
)
def test_json_of_a_run_is_its_report_and_nothing_else(source: str, code: int, command: Command) -> None:
    paper(command.folder)
    paper(command.folder, "", name="empty.md")
    ended = command("run", "--fast", source, "--json")
    assert ended.code == code
    assert ended.json() == command.document(Path(source).stem, "report.json")


@pytest.mark.slow
def test_progress_outside_a_terminal_is_plain_lines_one_end_a_phase(command: Command) -> None:
    ended = command("run", "--fast", paper(command.folder))
    assert "\x1b" not in ended.err
    assert "\r" not in ended.err
    finished = [line.split()[0] for line in ended.err.splitlines() if line.rstrip().endswith(("done", "skipped"))]
    assert finished == NUMBERS


def test_nothing_is_printed_as_done_before_it_is_on_the_disk(command: Command) -> None:
    folder = toys(command, 2)
    write_toy(folder, 1, body=SLEEPS)
    with command.start("run", "p.md") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        stamps = read_state(str(command.task("p")), Contracts())
        process.kill()
    assert "toy00" in line
    assert stamps["00"].status == "done"


# code that somebody changed


@pytest.mark.slow
def test_an_edit_of_the_generated_code_is_judged_and_kept(command: Command) -> None:
    paper(command.folder, name="p.md")
    assert command("run", "--fast", "p.md").code == 3
    code = next((command.task("p") / "generate_code").glob("*/config.py"))
    code.write_text("LEARNING_RATE = (\n")
    relative = code.relative_to(command.task("p"))
    assert f"{relative} was edited" in command("why", "p").out
    report = command("resume", "p", "--json").json()
    assert report["status"] == "incomplete"
    assert report["verified"] is not True
    assert f"{code.name} does not parse" in report["reason"]
    assert code.read_text() == "LEARNING_RATE = (\n"


@pytest.mark.slow
def test_a_stub_that_was_implemented_by_hand_counts(command: Command) -> None:
    paper(command.folder, name="p.md")
    before = command("run", "--fast", "p.md", "--json").json()["requirements"]
    package = next(
        path.parent
        for path in (command.task("p") / "generate_code").glob("*/__init__.py")
        if path.parent.name != "tests"
    )
    for path in package.glob("*.py"):
        path.write_text(path.read_text().replace("raise NotImplementedError(", "return str("))
    after = command("resume", "p", "--json").json()["requirements"]
    assert after["stubbed"] < before["stubbed"]


# which task is meant


@pytest.mark.slow
def test_inside_a_task_a_name_is_still_the_name_of_a_task(command: Command) -> None:
    paper(command.folder, name="p.md")
    command("run", "--fast", "p.md", "--id", "one")
    command("run", "--fast", "p.md", "--id", "two")
    ended = command("status", "two", "--tasks-dir", "tasks")
    assert ended.out.startswith("two: ")
    inside = command("run", str(command.task("one") / "paper.md"), "--json").json()
    assert inside["id"] == "one"


@pytest.mark.slow
def test_a_foreign_task_json_above_a_paper_is_no_task(command: Command) -> None:
    paper(command.folder, name="p.md")
    (command.folder / "task.json").write_text("{}")
    assert command("run", "--fast", "p.md").code == 3


@pytest.mark.slow
def test_a_link_that_leads_to_another_paper_now_is_another_source(command: Command) -> None:
    (command.folder / "first.md").write_text("# One\n\n## Method\n\nWe add.\n")
    (command.folder / "second.md").write_text("# Two\n\n## Method\n\nWe subtract.\n")
    link = command.folder / "current.md"
    link.symlink_to("first.md")
    assert command("run", "--fast", "current.md", "--json").json()["id"] == "current"
    link.unlink()
    link.symlink_to("second.md")
    assert command("run", "--fast", "current.md", "--json").json()["id"] == "current-2"


@pytest.mark.parametrize("option", ["--stop-at", "--until", "--redo"])
def test_a_phase_that_is_not_there_is_refused_before_a_task_is_made(command: Command, option: str) -> None:
    ended = command("run", "p.md", option, "bogus")
    assert (ended.code, (command.folder / "tasks").exists()) == (2, False)


@pytest.mark.slow
def test_a_model_that_is_not_there_is_refused_before_it_is_written_down(command: Command) -> None:
    paper(command.folder, name="p.md")
    assert command("run", "--fast", "p.md", "--model", "gpt").code == 2
    assert command("run", "--fast", "p.md").code == 3
