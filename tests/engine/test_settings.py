"""Settings: defaults < the user's file < environment < flags, and what is not known is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import StorageError, UsageError
from pipeline.engine.settings import STORED, Settings, did_you_mean, load_settings


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def load(user_file: Path, environment: dict[str, str] | None = None, **flags: Any) -> Settings:
    return load_settings(str(user_file), environment or {}, flags)


def test_without_anything_the_defaults_hold(user_file: Path) -> None:
    assert load(user_file) == Settings()


@pytest.mark.parametrize("content", ["", "# nothing yet\n", "---\n"], ids=["empty", "a comment", "a mark"])
def test_a_file_that_sets_nothing_changes_nothing(user_file: Path, content: str) -> None:
    user_file.write_text(content)
    assert load(user_file) == Settings()


def test_a_flag_goes_before_the_environment_and_that_before_the_file(user_file: Path) -> None:
    user_file.write_text("model: file\ntasks_dir: file\nmode: fast\n")
    settings = load(
        user_file, {"PIPELINE_MODEL": "environment", "PIPELINE_TASKS_DIR": "environment"}, model="flag", tasks_dir=None
    )
    assert (settings.model, settings.tasks_dir, settings.mode) == ("flag", "environment", "fast")


@pytest.mark.parametrize(
    ("variable", "value", "name", "expected"),
    [
        ("STOP_AT_PHASE", "08", "stop_at", "08"),
        ("STOP_AT_PHASE", "plan", "stop_at", "plan"),
        ("PIPELINE_MODE", "fast", "mode", "fast"),
        ("PIPELINE_MAX_SOURCE_MB", "7", "max_source_mb", 7),
        ("PIPELINE_PHASE_SECONDS", "0", "phase_seconds", 0),
        ("PIPELINE_SANDBOX", "off", "sandbox", "off"),
        ("PIPELINE_INSTALL", "true", "install", "allowed"),
        ("PIPELINE_ALLOW_OWN_CODE", "False", "allow_own_code", "no"),
        ("PIPELINE_SUPERVISOR_SHADOW", "1", "supervisor_shadow", "true"),
        ("PIPELINE_SUPERVISOR_SHADOW", "", "supervisor_shadow", ""),
    ],
)
def test_the_environment_sets_a_setting(
    user_file: Path, variable: str, value: str, name: str, expected: object
) -> None:
    assert getattr(load(user_file, {variable: value}), name) == expected


@pytest.mark.parametrize(
    ("said", "kept"),
    [("true", "allowed"), ("false", "refused"), ("yes", "allowed"), ("no", "refused"), ("allowed", "allowed")],
)
def test_a_switch_is_true_or_false_and_what_was_said_before_still_holds(user_file: Path, said: str, kept: str) -> None:
    user_file.write_text(f"install: {said}\n")
    assert load(user_file).install == kept
    assert load(user_file, install="true").install == "allowed"


def test_variables_of_others_are_let_be(user_file: Path) -> None:
    others = {"PATH": "x", "MODE": "x", "PIPELINE_OF_SOMEBODY_ELSE": "x", "PIPELINE_": "x"}
    assert load(user_file, others) == Settings()


def test_a_misspelt_variable_is_refused(user_file: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(user_file, {"PIPELINE_MODLE": "x"})
    assert str(caught.value).startswith("PIPELINE_MODLE is not a setting; did you mean '")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("modle: x", "{file}: 'modle' is not a setting; did you mean 'mode", id="a misspelt name"),
        pytest.param("zzz: x", "{file}: 'zzz' is not a setting; known: tasks_dir, mode", id="an unknown name"),
        pytest.param("1: x", "{file}: '1' is not a setting", id="a number as name"),
        pytest.param("mode: slow", "{file}: mode must be one of fast, full, not 'slow'", id="an unknown mode"),
        pytest.param(
            "install: perhaps", "{file}: install must be one of ask, allowed, refused, not 'perhaps'", id="a switch"
        ),
        pytest.param("review: me", "{file}: review must be one of auto, ask, file, not 'me'", id="a review"),
        pytest.param(
            "max_source_mb: -1", "{file}: max_source_mb must be a whole number (0 or more), not -1", id="below 0"
        ),
        pytest.param(
            "max_source_mb: big", "{file}: max_source_mb must be a whole number (0 or more), not 'big'", id="no number"
        ),
        pytest.param(
            "max_source_mb: [1]", "{file}: max_source_mb must be a whole number (0 or more), not [1]", id="a list"
        ),
        pytest.param(
            "max_source_mb: 1.5",
            "{file}: max_source_mb must be a whole number (0 or more)",
            id="a part of one",
        ),
        pytest.param(
            "phase_seconds: 0.5",
            "{file}: phase_seconds must be a whole number (0 or more)",
            id="half a second",
        ),
        pytest.param("phase_seconds: .inf", "{file}", id="infinity"),
        pytest.param("phase_seconds: yes", "{file}: phase_seconds must be ", id="a bool"),
        pytest.param(
            "phase_seconds:", "{file}: phase_seconds must be a whole number (0 or more), not None", id="no value"
        ),
        pytest.param("model: [a]", "{file}: model must be text, not ['a']", id="a list for a text"),
        pytest.param("model: {a: b}", "{file}: model must be text, not {{'a': 'b'}}", id="a mapping for a text"),
        pytest.param("- mode", "{file}: settings are 'name: value' lines", id="a list of settings"),
        pytest.param("fast", "{file}: settings are 'name: value' lines", id="a word"),
        pytest.param("mode: [", "{file}, line ", id="no YAML"),
        pytest.param("model: x\nmode: &a fast", "{file}, line 2, column 7: anchors and aliases", id="an anchor"),
    ],
)
def test_a_wrong_line_in_the_users_file_is_refused_by_name(user_file: Path, content: str, message: str) -> None:
    user_file.write_text(content)
    with pytest.raises(UsageError) as caught:
        load(user_file)
    assert str(caught.value).startswith(message.format(file=user_file))


def test_a_setting_without_a_value_is_refused_or_left_at_its_default(user_file: Path) -> None:
    user_file.write_text("tasks_dir:\nmodel: ~\n")
    try:
        settings = load(user_file)
    except UsageError:
        return
    assert settings == Settings()


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        pytest.param("sandbox: off", "sandbox", "off", id="off, which YAML takes for a bool"),
        pytest.param("sandbox: 'off'", "sandbox", "off", id="off in quotes"),
        pytest.param("stop_at: 08", "stop_at", "08", id="a phase number that is no octal number"),
        pytest.param("stop_at: 5b", "stop_at", "5b", id="a phase number with a letter"),
        pytest.param("model: replay:a b.json", "model", "replay:a b.json", id="a model with a colon"),
        pytest.param("review: ''", "review", "", id="nothing chosen"),
        pytest.param("max_source_mb: 0", "max_source_mb", 0, id="zero"),
    ],
)
def test_a_line_in_the_users_file_means_what_it_says(
    user_file: Path, content: str, name: str, expected: object
) -> None:
    user_file.write_text(content)
    assert getattr(load(user_file), name) == expected


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"mode": "slow"}, "--mode must be one of fast, full, not 'slow'"),
        ({"stop_att": "8"}, "--stop-att: 'stop_att' is not a setting; did you mean 'stop_at'?"),
        ({"max_source_mb": "x"}, "--max-source-mb must be a whole number (0 or more), not 'x'"),
    ],
)
def test_a_wrong_flag_is_refused_as_it_was_typed(user_file: Path, flags: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(user_file, **flags)
    assert str(caught.value) == message


def test_a_wrong_variable_is_refused_by_its_own_name(user_file: Path) -> None:
    with pytest.raises(UsageError, match="PIPELINE_MODE must be one of fast, full, not 'slow'"):
        load(user_file, {"PIPELINE_MODE": "slow"})


def test_a_users_file_that_is_a_folder_is_refused(user_file: Path) -> None:
    user_file.mkdir()
    with pytest.raises(StorageError, match="is a directory, not a regular file"):
        load(user_file)


def test_what_a_task_keeps_of_the_settings_exists() -> None:
    assert all(hasattr(Settings(), name) for name in STORED)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("outlin.json", "; did you mean 'outline.json'?"),
        ("zzz", "; known: outline.json, paper.md"),
    ],
)
def test_a_hint_names_what_is_near_or_all_that_is_known(wrong: str, hint: str) -> None:
    assert did_you_mean(wrong, ["outline.json", "paper.md"]) == hint
