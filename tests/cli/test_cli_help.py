"""What the command line says of itself: help, examples, completion, and words for what was mistyped."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pipeline.base.plain_yaml import parse_yaml
from pipeline.cli import COMMANDS, EXIT_CODES, GROUPS, cli
from tests.papers import NUMBERS, ROOT, Command
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


def test_a_group_of_commands_alone_prints_its_help_and_ends_with_0(command: Command) -> None:
    alone = command("hooks")
    assert (alone.code, alone.err) == (0, "")
    assert alone.out == command("hooks", "--help").out
    assert alone.out.startswith("Usage: pipeline")


def test_pipeline_alone_shows_what_one_needs_first_and_names_every_command_in_half_a_screen(command: Command) -> None:
    alone = command()
    assert (alone.code, alone.err) == (0, "")
    assert len(alone.out.splitlines()) <= 24
    assert [line.split()[1] for line in alone.out.splitlines() if line.startswith("  pipeline ")] == [
        *("run", "status", "show", "resume", "models")
    ]
    assert set(COMMANDS) <= set(re.findall(r"[a-z]+", alone.out))


def test_every_command_stands_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        pytest.param(["help"], ["--help"], id="help"),
        pytest.param(["help", "status"], ["status", "--help"], id="help of a command"),
        pytest.param(["--help-all"], ["--help"], id="all help"),
        pytest.param(["version"], ["--version"], id="version"),
    ],
)
def test_help_is_given_however_it_is_asked_for(typed: list[str], same: list[str], command: Command) -> None:
    asked = command(*typed)
    assert (asked.code, asked.err, asked.out) == (0, "", command(*same).out)


@pytest.mark.parametrize("name", ["run", "resume", "chat", "step", "iterate", "batch"])
def test_a_run_shows_ten_options_or_so_and_all_in_groups_when_asked(name: str, command: Command) -> None:
    short, long = command(name, "--help").out, command(name, "--help-all").out
    options = [line for line in short.splitlines() if line.startswith(("  -", "  --"))]
    assert 7 <= len(options) <= 16, short
    assert "--mutants" not in short
    assert "--mutants" in long
    assert "Other:" not in long, "every option has a group"


@pytest.mark.parametrize(
    ("name", "option"),
    [
        pytest.param("step", "--stop-at", id="one phase stops nowhere else"),
        pytest.param("step", "--until", id="nor later"),
        pytest.param("chat", "--password", id="words have no password"),
        pytest.param("batch", "--redo", id="a batch does nothing twice", marks=pytest.mark.slow),
    ],
)
def test_options_that_mean_nothing_to_a_command_are_not_there(name: str, option: str, command: Command) -> None:
    assert option not in command(name, "--help-all").out
    assert "No such option" in command(name, "x", option, "03").err


def test_the_exit_codes_are_told_alike_in_the_help_the_readme_and_the_architecture(command: Command) -> None:
    architecture = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    codes = README[README.index("Exit codes:") :].split("\n\n")[0]
    rows = architecture[architecture.index("| status | exit code") :].split("\n\n")[0]
    helped = command("--help").out.partition("Exit codes:")[2]
    for code, _ in EXIT_CODES:
        assert re.search(rf"\b{code}\b", codes), code
        assert re.search(rf"^  {code} ", helped, re.MULTILINE), code
        assert code == "130" or re.search(rf"\b{code}\b", rows), code


def test_a_word_for_a_command_of_another_name_leads_to_it(command: Command) -> None:
    assert "did you mean 'rm'?" in command("delete", "x").err


def test_an_unknown_option_without_a_command_is_still_refused(command: Command) -> None:
    refused = command("--fsat")
    assert (refused.code, len(refused.complaints), refused.out) == (2, 1, "")


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


def completed(command: Command, typed: str, shell: str = "bash") -> list[str]:
    """What a shell is told when TAB is pressed behind these words: a line an offer, its type first."""
    words = f"pipeline {typed}"
    current = words.split()[-1] if shell == "fish" and not words.endswith(" ") else ""
    count = str(len(words.split()) - (not words.endswith(" ")))
    told = command(
        _PIPELINE_COMPLETE=f"{shell}_complete", COMP_WORDS=words, COMP_CWORD=current if shell == "fish" else count
    )
    assert (told.code, told.err) == (0, "")
    return told.out.splitlines()


def task_with_documents(command: Command) -> None:
    """Two tasks; the first is done, and has code."""
    toys = write_toys(command.folder / "toys", 2)
    for name in ("one", "two"):
        assert command("run", f"{name}.md", PIPELINE_PHASES=str(toys)).code == 0
    code = command.task("one") / "generate_code" / "src"
    code.mkdir(parents=True)
    (code / "model.py").write_text("")
    (code / "$(touch x).py").write_text("")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        pytest.param("re", {"resume", "review"}, id="commands"),
        pytest.param("run --st", {"--stop-at"}, id="options"),
        pytest.param("run --review a", {"auto", "ask"}, id="choices"),
        pytest.param("resume o", {"one"}, id="a task"),
        pytest.param("show ", {"one", "two"}, id="all tasks"),
        pytest.param("hooks list t", {"two"}, id="a task of a command of a group"),
        pytest.param("show one ", {"report", "task", "state"}, id="documents of a task"),
        pytest.param("show one re", {"report", "report.json"}, id="documents that begin so"),
        pytest.param("show one gen", {"generate_code/src/model.py"}, id="files of the code"),
        pytest.param("run p.md --stop-at out", {"outline"}, id="a phase to stop before"),
        pytest.param(
            "resume one --redo 05",
            {number for number in NUMBERS if number.startswith("05")},
            id="a phase to redo by its number",
        ),
        pytest.param("run --until pl", {"plan", "plan_review"}, id="a phase to stop after"),
        pytest.param("step one im", {"implement"}, id="a phase to run alone"),
        pytest.param("config max_u", {"max_usd"}, id="a setting"),
        pytest.param("run p.md --model off", {"offline"}, id="a model"),
    ],
)
@pytest.mark.parametrize(
    "shell", ["bash", pytest.param("zsh", marks=pytest.mark.slow), pytest.param("fish", marks=pytest.mark.slow)]
)
def test_a_shell_is_offered_what_fits(typed: str, offered: set[str], shell: str, command: Command) -> None:
    task_with_documents(command)
    lines = completed(command, typed, shell)
    words = lines if shell == "zsh" else [line.partition(",")[2].partition("\t")[0] for line in lines]
    assert offered <= set(words), lines


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        pytest.param("run ", "file", id="a paper to run"),
        pytest.param("run some/pap", "file", id="a path that is begun"),
        pytest.param("run --fast ", "file", id="a paper behind an option"),
        pytest.param("read pa", "file", id="a paper to read"),
        pytest.param("batch --jobs 2 pa", "file", id="papers of a batch"),
        pytest.param("batch p.pdf --csv ", "file", id="a table to write", marks=pytest.mark.slow),
        pytest.param("resume tasks/o", "file", id="the path of a task", marks=pytest.mark.slow),
        pytest.param("trace one --html ", "file", id="a page to write", marks=pytest.mark.slow),
        pytest.param("hooks import --from claude ", "file", id="settings of another tool", marks=pytest.mark.slow),
        pytest.param("run p.pdf --references ", "dir", id="a folder of code", marks=pytest.mark.slow),
        pytest.param("list --tasks-dir ", "dir", id="the folder of the tasks"),
    ],
)
def test_a_shell_completes_paths_where_a_path_is_wanted(typed: str, kind: str, command: Command) -> None:
    task_with_documents(command)
    last = typed.rpartition(" ")[2]
    assert completed(command, typed) == [f"{kind},{last}"]


def test_no_name_that_a_shell_would_run_is_offered(command: Command) -> None:
    task_with_documents(command)
    (command.folder / "tasks" / "one").rename(command.folder / "tasks" / "`id`")
    assert not any("id" in line for line in completed(command, "show "))
    assert not any("touch" in line for line in completed(command, "show two gen"))


def test_completion_keeps_silent_where_there_is_nothing_or_settings_are_wrong(command: Command) -> None:
    assert completed(command, "resume ") == ["file,"]
    assert not any(completed(command, "show nowhere "))
    command.configure("no_such_setting: 1\n")
    assert completed(command, "resume x") == ["file,x"]
    assert not any(completed(command, "run --until x"))


def test_completion_in_a_tasks_folder_that_is_named_looks_there(command: Command) -> None:
    task_with_documents(command)
    (command.folder / "tasks").rename(command.folder / "elsewhere")
    assert completed(command, "show --tasks-dir elsewhere t") == ["plain,two"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_itself_completes_tasks_and_falls_back_to_files(command: Command) -> None:
    task_with_documents(command)
    (command.folder / "paper.pdf").write_bytes(b"")
    program = Path(sys.executable).with_name("pipeline")
    script = f"""
        source <({program} completion bash)
        compopt() {{ printf "compopt %s %s\\n" "$@"; }}
        complete_words() {{
            COMP_WORDS=(pipeline "$@"); COMP_CWORD=$#; _pipeline_completion {program}; echo "${{COMPREPLY[*]}}"
        }}
        complete_words resume tw
        complete_words run pap
    """
    told = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        cwd=command.folder,
        env=command.environment,
        check=False,
    )
    assert told.stdout.split("\n")[:2] == ["two", "compopt -o default"], told.stderr


def test_completion_imports_no_phase_and_no_heavy_library(command: Command) -> None:
    task_with_documents(command)
    words = "pipeline run p.pdf --until "
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pipeline"],
        capture_output=True,
        text=True,
        cwd=command.folder,
        env={**command.environment, "_PIPELINE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "4"},
        check=False,
    )
    assert "plain,outline" in told.stdout, told.stderr
    modules = {line.rpartition("|")[2].strip().split(".")[0] for line in told.stderr.splitlines()}
    assert modules & {"phases", "loguru", "jsonschema_rs", "yaml", "tenacity"} == set()


PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "guide.md",
    ROOT / "docs" / "machines.md",
    ROOT / "docs" / "integrations.md",
    ROOT / "docs" / "hooks.md",
    *sorted((ROOT / "docs" / "skills").rglob("SKILL.md")),
]
TYPED = sorted(
    {
        (page.name, line.strip())
        for page in PAGES
        for block in re.findall(
            r"^ *```(?:sh|yaml)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        for line in re.findall(r"(?<![\w-])pipeline ([a-z][^|&#>\n]*)", block)
    }
)


@pytest.mark.parametrize(("page", "line"), TYPED, ids=[f"{page}: {line[:60]}" for page, line in TYPED])
def test_what_a_page_says_to_type_is_a_command_with_these_options(page: str, line: str) -> None:
    name, *words = re.sub(r'"[^"]*"', "TEXT", line).replace("'", " ").split()
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"{page}: {line}"
    known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)} | {
        "--help",
        "--help-all",
    }
    if isinstance(command, click.Group):
        known |= {flag for each in command.commands.values() for option in each.params for flag in option.opts}
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert flags <= known, f"{page}: {line}"


def test_the_skill_says_when_it_is_of_use() -> None:
    text = (ROOT / "docs" / "skills" / "paper-to-code" / "SKILL.md").read_text(encoding="utf-8")
    front = parse_yaml(text.split("---\n")[1].encode())
    assert front["name"] == "paper-to-code"
    assert 0 < len(front["description"]) <= 1024


@pytest.mark.parametrize("name", [*COMMANDS])
def test_the_comment_of_an_example_fits_into_80_columns(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"], terminal_width=80).output
    assert [line for line in shown.splitlines() if len(line) > 80 and re.search(r"\S {2,}\S", line[2:])] == []


def test_pipeline_alone_fits_into_80_columns(command: Command) -> None:
    rows = [
        line for line in command().out.splitlines() if not line.startswith(tuple(GROUPS))
    ]  # which wrap in a terminal
    assert [line for line in rows if len(line) > 80] == []


def test_choices_are_named_in_one_line(command: Command) -> None:
    ended = command("completion")
    assert ended.complaints == [
        "pipeline: Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish (see: pipeline completion --help)"
    ]
