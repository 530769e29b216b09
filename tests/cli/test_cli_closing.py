"""The last screen: the commands under Next are right, are typed as the user called the program, and fit the terminal."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.papers import EXAMPLE, SECONDS, Command, Ended, good_pdf, in_terminal, paper, pdf, scan
from tests.toys import write_toys

PROGRAM = Path(sys.executable).with_name("pipeline")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def under_next(out: str) -> list[str]:
    """The commands that the last screen names, in their order."""
    rows = out.partition("\nNext:\n")[2].splitlines()
    return [re.split(r" {2,}", row.strip())[0] for row in rows if row.startswith("  ")]


def paste(command: Command, line: str, **environment: str) -> Ended:
    """Runs a line as a shell does where the program is on the PATH; one that is nothing but words needs no shell."""
    path = os.pathsep.join([str(PROGRAM.parent), command.environment["PATH"]])
    if line.startswith("pipeline ") and re.fullmatch(r"[\w ./=-]+", line):
        return command(*line.split()[1:], PATH=path, **environment)
    variables = {**command.environment, "PATH": path, **environment}
    ended = subprocess.run(
        ["bash", "--norc", "-c", line],
        cwd=command.folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


# after an error


@pytest.mark.slow
def test_a_damaged_document_is_made_again_or_mended_by_the_commands_under_next(command: Command) -> None:
    paste(command, f"pipeline run --fast {paper(command.folder)} --until outline")
    outline = command.task("paper") / "outline.json"
    whole = outline.read_bytes()
    outline.write_text("{")
    ended = paste(command, "pipeline resume paper")
    again, go_on = under_next(ended.out)
    assert (ended.code, again, go_on) == (1, "pipeline resume paper --redo 03", "pipeline resume paper")
    outline.write_bytes(whole)
    assert paste(command, go_on).code == 3
    outline.write_text("{")
    assert paste(command, "pipeline resume paper").code == 1
    assert paste(command, again).code == 3
    assert command.attempts("paper")["outline"] == 2


@pytest.mark.slow
def test_a_damage_after_the_end_of_the_work_is_no_end_of_the_work(command: Command) -> None:
    paste(command, f"pipeline run --fast {paper(command.folder)}")
    (command.task("paper") / "outline.json").write_text("{")
    ended = paste(command, "pipeline resume paper")
    assert (ended.code, "Checks:" in ended.out) == (1, False), "the checks were of an earlier run"
    again, _ = under_next(ended.out)
    assert again == "pipeline resume paper --redo 03"
    assert paste(command, again).code == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document", "phase"),
    [pytest.param("initial_plan.txt", "05", id="a plan"), pytest.param("paper.md", "02", id="the paper as Markdown")],
)
def test_a_damage_of_any_document_names_the_phase_that_made_it(document: str, phase: str, command: Command) -> None:
    paste(command, f"pipeline run --fast {paper(command.folder)} --until plan")
    (command.task("paper") / document).write_text("*nothing")
    ended = paste(command, "pipeline resume paper")
    assert under_next(ended.out)[0] == f"pipeline resume paper --redo {phase}"
    assert paste(command, under_next(ended.out)[0]).code == 3


@pytest.mark.slow
def test_a_document_that_is_damaged_is_named_so_that_a_path_with_spaces_can_be_pasted(tmp_path: Path) -> None:
    (tmp_path / "my papers").mkdir()
    command = Command(tmp_path / "my papers")
    paste(command, "pipeline run --fast " + shlex.quote(str(paper(command.folder))) + " --until outline")
    (command.task("paper") / "outline.json").write_text("{")
    told = paste(command, "pipeline resume paper").complaints[0]
    assert paste(command, "pipeline run" + told.rpartition("pipeline run")[2]).code == 3


@pytest.mark.slow
@pytest.mark.parametrize("content", [pytest.param(scan(), id="a scan"), pytest.param(pdf([[], []]), id="empty pages")])
def test_a_scan_goes_on_with_the_letters_that_are_recognized_in_it(content: bytes, command: Command) -> None:
    (command.folder / "my scan.pdf").write_bytes(content)
    tools = command.folder / "bin"
    tools.mkdir()
    (command.folder / "good.pdf").write_bytes(good_pdf())
    (tools / "ocrmypdf").write_text(f'#!/bin/sh\nfor last; do :; done\ncp {command.folder}/good.pdf "$last"\n')
    (tools / "ocrmypdf").chmod(0o755)
    ended = paste(command, f"PATH={tools}:$PATH pipeline run --fast 'my scan.pdf'")
    [resume] = under_next(ended.out)
    assert paste(command, f"PATH={tools}:$PATH {resume}").code == 3


def test_an_encrypted_paper_goes_on_with_the_password_that_is_asked_for(command: Command) -> None:
    (command.folder / "locked.pdf").write_bytes(pdf([["a b"]], locked=True))
    ended = paste(command, "pipeline run --fast locked.pdf")
    assert under_next(ended.out) == ["pipeline resume locked --password"]
    asked = in_terminal(command, *under_next(ended.out)[0].split()[1:], answers=["wrong"])
    assert "Password of the PDF: " in asked.text
    assert "that password is wrong" in asked.text


def test_a_broken_file_is_run_again_when_it_is_mended(command: Command) -> None:
    source = command.folder / "paper.pdf"
    source.write_bytes(good_pdf()[:400])
    [again] = under_next(paste(command, "pipeline run --fast paper.pdf").out)
    source.write_bytes(good_pdf())
    assert paste(command, again).code == 3


# after a decision


@pytest.mark.slow
def test_after_a_rejected_plan_another_is_asked_for_or_the_rejection_is_taken_back(command: Command) -> None:
    paste(command, f"pipeline run --fast {paper(command.folder)} --review file")
    told = paste(command, "pipeline review paper --reject").err
    assert "pipeline review paper --change TEXT" in told
    assert "resume" not in told
    ended = paste(command, "pipeline resume paper")
    change, edit, approve, resume = under_next(ended.out)
    assert ended.code == 4
    assert paste(command, approve).code == 0
    assert paste(command, resume).code == 3
    assert paste(command, change.replace("TEXT", "'wait longer'")).code == 0
    waits = paste(command, resume)
    assert waits.code == 5
    assert "wait longer" in (command.task("paper") / "initial_plan.txt").read_text()
    assert paste(command, "pipeline review paper --reject").code == 0
    assert paste(command, edit, EDITOR="sed -i 's/wait longer/wait much longer/'").code == 0
    read, approve, resume = under_next(waits.out)
    assert "wait much longer" in paste(command, read).out
    assert paste(command, approve.split("(")[0]).code == 0
    assert paste(command, resume).code == 3


# after a stop


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "label", "number"),
    [
        pytest.param("--stop-at plan", "05 plan", "05", id="stop before a phase"),
        pytest.param("--until segment", "05 plan", "05", id="stop after a phase"),
    ],
)
def test_a_task_that_is_beyond_its_stop_says_so_and_how_to_make_the_phase_again(
    flags: str, label: str, number: str, command: Command
) -> None:
    paste(command, f"pipeline run --fast {paper(command.folder)}")
    ended = paste(command, f"pipeline resume paper {flags}")
    assert ended.code == 3
    assert f"Phase {label} was done before, so there was nothing to stop for." in ended.out
    again = under_next(ended.out)[0]
    assert again == f"pipeline resume paper --redo {number}"
    assert paste(command, again).code == 3
    assert command.attempts("paper")["plan"] == 2


def test_a_paused_task_that_is_beyond_its_stop_names_what_is_next(command: Command) -> None:
    paste(command, f"pipeline run --fast {paper(command.folder)} --until plan")
    ended = paste(command, "pipeline resume paper --stop-at outline")
    assert ended.code == 0
    assert "Phase 03 outline was done before; phase 05b plan_review is next." in ended.out
    again, go_on, _ = under_next(ended.out)
    assert paste(command, go_on).code == 3
    assert paste(command, again).code == 3
    assert command.attempts("paper")["outline"] == 2


@pytest.mark.slow
def test_a_stop_where_it_was_asked_for_is_said_as_before(command: Command) -> None:
    ended = paste(command, f"pipeline run --fast {paper(command.folder)} --stop-at outline")
    assert "Stopped before phase 03 outline, as asked." in ended.out
    assert "done before" not in ended.out
    go_on, why = under_next(ended.out)
    assert "03 outline would run" in paste(command, why).out
    assert paste(command, go_on).code == 3


# after an end


@pytest.mark.slow
def test_a_finished_scaffold_names_how_to_try_a_model(command: Command) -> None:
    ended = paste(command, f"pipeline run --fast {paper(command.folder)}")
    plan, review, models, model = under_next(ended.out)
    assert "openai:NAME" in paste(command, models).out
    recording = EXAMPLE.with_name("replies.jsonl")
    tried = paste(command, model.replace("NAME", f"replay:{recording} --until plan"))
    assert tried.code == 1, "another paper's replies are no plan of this one"
    assert command.attempts("paper")["plan"] == 2
    assert "requirements" in paste(command, plan).out
    assert paste(command, review).code == 0
    assert paste(command, model.replace("--model NAME", "--model offline --plan-model offline")).code == 3


# as the program was called


def run_toys(command: Command, line: str, **environment: str) -> Ended:
    toys = command.folder / "toys"
    return paste(command, line, PIPELINE_PHASES=str(toys if toys.exists() else write_toys(toys, 3)), **environment)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("called", "shown"),
    [
        pytest.param("pipeline", "pipeline", id="by its name"),
        pytest.param(str(PROGRAM), "pipeline", id="by its path, and the shell finds it"),
        pytest.param("python -m pipeline", "pipeline", id="as a module, and the shell finds it"),
        pytest.param(
            f"PATH=/usr/bin:/bin; {sys.executable} -m pipeline", f"{sys.executable} -m pipeline", id="a module"
        ),
        pytest.param(f"PATH=/usr/bin:/bin; {PROGRAM}", str(PROGRAM), id="a path alone"),
        pytest.param(f"PATH=other:$PATH; {PROGRAM}", str(PROGRAM), id="another program has the name"),
        pytest.param("PATH=/usr/bin:/bin; venv/bin/pipeline", "venv/bin/pipeline", id="a relative path"),
        pytest.param("PATH=/usr/bin:/bin; $PWD/venv/bin/pipeline", "venv/bin/pipeline", id="a path in full from near"),
        pytest.param("PATH=/usr/bin:/bin; 'my venv/bin/pipeline'", "'my venv/bin/pipeline'", id="a path with a space"),
        pytest.param("PATH=/usr/bin:/bin; cd venv/bin; ./pipeline", "./pipeline", id="beside it"),
    ],
)
def test_printed_commands_begin_as_the_program_was_called_and_run(called: str, shown: str, command: Command) -> None:
    for name in ("venv", "my venv"):
        (command.folder / name / "bin").mkdir(parents=True)
        shutil.copy(PROGRAM, command.folder / name / "bin")
    (command.folder / "other").mkdir()
    (command.folder / "other" / "pipeline").write_text("#!/bin/sh\nexit 99\n")
    (command.folder / "other" / "pipeline").chmod(0o755)
    ended = run_toys(command, f"{called} run p.md --until 01")
    steps = under_next(ended.out)
    assert [step.startswith(f"{shown} ") for step in steps] == [True, True], ended.out
    setting = called.rpartition("; ")[0]
    for step in reversed(steps):
        assert run_toys(command, f"{setting}\n{step}").code == 0
    refused = run_toys(command, f"{called} show nowhere")
    listed = refused.err.rpartition("to see the tasks: ")[2].strip()
    assert listed == f"{shown} list"
    assert run_toys(command, f"{setting}\n{listed}").code == 0


def test_words_of_a_paper_are_printed_as_they_are_however_the_program_was_called(command: Command) -> None:
    source = paper(command.folder, "# A\n\n## 1 Method\n\nType pipeline run to begin.\n")
    paste(command, f"pipeline run --fast {source} --until acquire")
    assert "Type pipeline run to begin." in paste(command, f"PATH=/usr/bin:/bin; {PROGRAM} show paper paper").out


# in a terminal


def screen_lines(text: str) -> list[str]:
    """What stood in a terminal, line by line, without colours and what was drawn over."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return [row.rsplit("\r\x1b[K", 1)[-1].rstrip("\r") for row in plain.split("\n")]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["run", "--fast", "a-paper-with-a-long-name.md"], id="the last screen and progress"),
        pytest.param(["list"], id="list"),
        pytest.param(["status", "a-paper-with-a-long-name"], id="status"),
    ],
)
def test_no_line_is_longer_than_the_terminal_and_no_word_is_cut(
    arguments: list[str], columns: int, command: Command
) -> None:
    paper(command.folder, name="a-paper-with-a-long-name.md")
    if arguments[0] != "run":
        assert command("run", "--fast", "a-paper-with-a-long-name.md", "--until", "plan").code == 0
    command.environment["PATH"] = f"{PROGRAM.parent}:{command.environment['PATH']}"
    screen = in_terminal(command, *arguments, columns=columns)
    too_long = [line for line in screen_lines(screen.text) if len(line) > columns]
    assert [line for line in too_long if not line.startswith("  pipeline ")] == [], "but a command stays in one piece"


@pytest.mark.slow
def test_status_words_have_a_colour_in_a_terminal(command: Command) -> None:
    paper(command.folder)
    ended = in_terminal(command, "run", "--fast", "paper.md")
    assert "\x1b[33mincomplete\x1b[0m" in ended.text
    assert "\x1b[32mdone\x1b[0m" in ended.text
    assert "\x1b[33mincomplete\x1b[0m" in in_terminal(command, "list").text
    assert "\x1b[32mdone\x1b[0m" in in_terminal(command, "status", "paper").text


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [pytest.param({"NO_COLOR": "1"}, id="NO_COLOR"), pytest.param({"TERM": "dumb"}, id="a dumb terminal")],
)
def test_colours_are_left_out_where_they_are_not_wanted(variables: dict[str, str], command: Command) -> None:
    paper(command.folder)
    text = in_terminal(command, "run", "--fast", "paper.md", environment=variables).text
    text += in_terminal(command, "list", environment=variables).text
    assert "\x1b[3" not in text
    if "TERM" in variables:
        assert "\x1b" not in text


@pytest.mark.slow
def test_a_pipe_gets_no_colour_and_whole_lines(command: Command) -> None:
    paper(command.folder)
    ended = command("run", "--fast", "paper.md")
    listed = command("list", COLUMNS="40")
    assert "\x1b" not in ended.out + ended.err + listed.out
    assert len(listed.out.splitlines()) == 2


@pytest.mark.slow
def test_a_file_name_cannot_colour_or_drive_the_terminal(command: Command) -> None:
    paper(command.folder, name="a\x1b[31mred.md")
    text = in_terminal(command, "run", "--fast", "a\x1b[31mred.md").text + in_terminal(command, "list").text
    assert "\x1b[31m" not in text


def test_the_help_that_a_complaint_names_is_typed_as_the_program_was_called(command: Command) -> None:
    ended = paste(command, f"PATH=/usr/bin:/bin; {sys.executable} -m pipeline lst")
    assert f"(see: {sys.executable} -m pipeline --help)" in ended.err
