"""What the command line says of itself: help, examples, completion, and words for what was mistyped."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli import COMMANDS, cli
from tests.papers import ROOT, Command
from tests.toys import write_toys

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def test_the_help_names_every_command_with_what_it_does() -> None:
    shown = CliRunner().invoke(cli, ["--help"])
    assert shown.exit_code == 0
    for name, (_, line) in COMMANDS.items():
        assert any(row.split()[:1] == [name] and line in row for row in shown.output.splitlines()), name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example_that_can_be_pasted(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    examples = [line.strip() for line in shown.output.splitlines() if line.strip().startswith(f"pipeline {name}")]
    assert examples, shown.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_every_command_says_what_it_is_for(name: str) -> None:
    command = cli.get_command(cli.make_context("pipeline", [name]), name)
    assert command is not None
    silent = [
        parameter.name
        for parameter in command.params
        if parameter.param_type_name == "option" and not getattr(parameter, "help", None)
    ]
    assert silent == []


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.skipif(len(README.splitlines()) < 20, reason="README.md is not written yet")
def test_the_readme_names_every_command(name: str) -> None:
    assert re.search(rf"\b{name}\b", README)


def test_the_version_is_told(command: Command) -> None:
    told = command("--version")
    assert (told.code, told.out.split()[:1]) == (0, ["pipeline,"])


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        pytest.param(["rnu", "paper.md"], "did you mean 'run'?", id="a command"),
        pytest.param(["stauts"], "did you mean 'status'?", id="another command"),
        pytest.param(["run", "paper.md", "--fsat"], "did you mean", id="an option"),
        pytest.param(["run", "paper.md", "--until", "toy1"], "did you mean 'toy01'?", id="a phase to stop after"),
        pytest.param(["run", "paper.md", "--stop-at", "tooy00"], "did you mean 'toy00'?", id="a phase to stop before"),
        pytest.param(["run", "paper.md", "--redo", "tyo01"], "did you mean 'toy01'?", id="a phase to redo"),
    ],
)
def test_a_mistyped_word_is_refused_with_the_one_that_was_meant(
    arguments: list[str], meant: str, command: Command
) -> None:
    toys = write_toys(command.folder / "toys", 2)
    refused = command(*arguments, PIPELINE_PHASES=str(toys))
    assert refused.code == 2
    assert meant in refused.err.lower(), refused.err
    assert len(refused.complaints) == 1, refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["run"], id="no source"),
        pytest.param(["run", "a", "b"], id="two sources"),
        pytest.param(["status", "nowhere"], id="a task that is not there"),
        pytest.param(["show", "../../etc", "passwd"], id="a task outside the folder"),
        pytest.param(["completion", "tcsh"], id="a shell that is not known"),
        pytest.param(["graph", "--format", "png"], id="a format that is not known"),
        pytest.param(["run", "p.md", "--review", "maybe"], id="a way of review that is not known"),
        pytest.param(["run", "p.md", "--model", "gpt-unknown"], id="a model that is not known"),
    ],
)
def test_nonsense_on_the_command_line_is_usage_and_one_line(arguments: list[str], command: Command) -> None:
    (command.folder / "p.md").write_text("# P\n\nwords\n")
    refused = command(*arguments)
    assert refused.code == 2, refused.err
    assert len(refused.complaints) == 1, refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_parses_in_its_shell(shell: str, command: Command) -> None:
    script = command("completion", shell)
    assert script.code == 0
    assert "_PIPELINE_COMPLETE" in script.out
    program = shutil.which(shell)
    if program:
        path = command.folder / "script"
        path.write_text(script.out)
        checked = subprocess.run([program, "-n", str(path)], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        pytest.param("re", {"resume", "review"}, id="commands"),
        pytest.param("run --st", {"--stop-at"}, id="options"),
        pytest.param("run --review a", {"auto", "ask"}, id="choices"),
    ],
)
def test_a_shell_is_offered_what_fits(typed: str, offered: set[str], command: Command) -> None:
    words = f"pipeline {typed}"
    told = command(_PIPELINE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1))
    assert offered <= {line.partition(",")[2] for line in told.out.splitlines()}, told.out
