"""Settings: defaults < the user's file < environment < flags, and nothing unknown is taken silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.papers import Command
from tests.toys import write_toys


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path, PIPELINE_PHASES=str(write_toys(tmp_path / "toys", 1)))


@pytest.mark.parametrize(
    ("file", "environment", "flags", "mode"),
    [
        pytest.param("", {}, [], "full", id="the default where nobody says anything"),
        pytest.param("mode: fast\n", {}, [], "fast", id="the file over the default"),
        pytest.param("mode: fast\n", {"PIPELINE_MODE": "full"}, [], "full", id="the environment over the file"),
        pytest.param("mode: full\n", {"PIPELINE_MODE": "full"}, ["--fast"], "fast", id="a flag over both"),
        pytest.param("", {"PIPELINE_MODE": "fast"}, ["--full"], "full", id="a flag over the environment"),
    ],
)
def test_the_nearer_setting_wins(
    file: str, environment: dict[str, str], flags: list[str], mode: str, command: Command
) -> None:
    command.configure(file)
    assert command("run", "p.md", "--json", *flags, **environment).json()["mode"] == mode


def test_the_settings_file_is_looked_for_where_xdg_says(command: Command) -> None:
    folder = command.folder / "elsewhere" / "pipeline"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("mode: fast\n")
    report = command("run", "p.md", "--json", XDG_CONFIG_HOME=str(folder.parent)).json()
    assert report["mode"] == "fast"


def test_the_folder_of_the_tasks_can_be_set_in_each_place(command: Command) -> None:
    command.configure("tasks_dir: one\n")
    command("run", "p.md")
    command("run", "p.md", PIPELINE_TASKS_DIR="two")
    command("run", "p.md", "--tasks-dir", "three", PIPELINE_TASKS_DIR="two")
    for name in ("one", "two", "three"):
        assert (command.folder / name / "p" / "report.json").is_file(), name


def test_a_resume_keeps_the_mode_that_the_task_was_begun_with(command: Command) -> None:
    command("run", "p.md", "--fast")
    assert command("resume", "p", "--json").json()["mode"] == "fast"
    assert command("resume", "p", "--json", "--full").json()["mode"] == "full"
    assert command("resume", "p", "--json").json()["mode"] == "full"


@pytest.mark.parametrize(
    ("file", "environment", "told"),
    [
        pytest.param("taks_dir: x\n", {}, ["config.yaml", "taks_dir", "did you mean 'tasks_dir'?"], id="key in the file"),
        pytest.param("", {"PIPELINE_TASK_DIR": "x"}, ["PIPELINE_TASK_DIR", "did you mean 'PIPELINE_TASKS_DIR'?"], id="one"),
        pytest.param("zzz: 1\n", {}, ["config.yaml", "zzz", "known: "], id="a key that is like nothing"),
        pytest.param("mode: quick\n", {}, ["config.yaml", "quick", "fast, full"], id="a value in the file"),
        pytest.param("", {"PIPELINE_MODE": "quick"}, ["PIPELINE_MODE", "quick", "fast, full"], id="a value of a variable"),
        pytest.param("", {"PIPELINE_MAX_SOURCE_MB": "-1"}, ["PIPELINE_MAX_SOURCE_MB", "whole number"], id="below 0"),
        pytest.param("max_source_mb: a lot\n", {}, ["max_source_mb", "whole number"], id="words for a number"),
        pytest.param("mode: [fast\n", {}, ["config.yaml", "line 2", "column"], id="a file that is not YAML"),
        pytest.param("- mode\n", {}, ["config.yaml", "name: value"], id="a file that is a list"),
        pytest.param("", {"STOP_AT_PHASE": "toy0"}, ["toy0", "did you mean 'toy00'?"], id="a phase in STOP_AT_PHASE"),
        pytest.param("phases: /nowhere/at/all\n", {"PIPELINE_PHASES": "/nowhere/at/all"}, ["/nowhere/at/all"],
                     id="a folder of phases that is not there"),
    ],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_refused_by_name_and_place(
    file: str, environment: dict[str, str], told: list[str], command: Command
) -> None:
    command.configure(file)
    refused = command("run", "p.md", **environment)
    assert refused.code == 2, refused.err
    assert len(refused.complaints) == 1, refused.err
    for words in told:
        assert words in refused.err


def test_a_variable_that_sets_nothing_near_a_setting_hurts_nobody(command: Command) -> None:
    assert command("run", "p.md", PATH_PIPELINE="x", SOMETHING_ELSE="y").code == 0
