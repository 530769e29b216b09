"""`config` and `open`: what is in force and where it comes from, what is set, and where a task lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.papers import Command
from tests.toys import write_toys


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def origins(command: Command, **environment: str) -> dict[str, tuple[object, str]]:
    rows = command("config", "--json", **environment).json()["settings"]
    return {row["name"]: (row["value"], row["from"]) for row in rows}


def test_a_setting_is_told_with_the_place_that_it_comes_from(command: Command) -> None:
    path = str(command.configure("max_usd: 5\nmodel: offline\n"))
    assert origins(command, PIPELINE_MODE="fast", STOP_AT_PHASE="plan") == {
        "mode": ("fast", "PIPELINE_MODE"),
        "model": ("offline", path),
        "max_usd": (5.0, path),
        "stop_at": ("plan", "STOP_AT_PHASE"),
    }
    assert command("config", "max_turns", "--json").json()["settings"] == [
        {"name": "max_turns", "value": 400, "from": "default"}
    ]


@pytest.mark.slow
def test_what_is_set_is_one_line_and_comments_and_hooks_stay(command: Command) -> None:
    hooks = "runtime:\n  hooks: {}\n"
    path = command.configure(f"# mine\nmax_usd: 5  # enough\n{hooks}")
    assert command("config", "max_usd", "7.5").code == 0
    assert command("config", "model", "replay:a b").code == 0
    assert path.read_text() == f'# mine\nmax_usd: 7.5\nmodel: "replay:a b"\n{hooks}'
    assert command("config", "max_usd", "--unset").code == 0
    assert path.read_text() == f'# mine\nmodel: "replay:a b"\n{hooks}'


def test_a_file_is_made_where_there_is_none(command: Command) -> None:
    assert command("config", "mode", "fast").code == 0
    assert (command.home / ".config" / "pipeline" / "config.yaml").read_text() == "mode: fast\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["modle", "x"], "did you mean 'mode'?", id="a mistyped name"),
        pytest.param(["max_usd", "much"], "must be an amount", id="a value that is not right"),
        pytest.param(["trust_hooks", "true"], "the flag --trust-hooks", id="a permission"),
        pytest.param(["openai_api_key", "k"], "PIPELINE_OPENAI_API_KEY", id="a secret, which a shell would remember"),
        pytest.param(["--unset"], "--unset takes one NAME", id="nothing to unset"),
    ],
)
def test_what_cannot_be_set_is_refused_and_nothing_is_written(
    arguments: list[str], told: str, command: Command
) -> None:
    refused = command("config", *arguments)
    assert (refused.code, len(refused.complaints)) == (2, 1)
    assert told in refused.err
    assert not (command.home / ".config" / "pipeline").exists()


def test_no_secret_is_printed(command: Command) -> None:
    command.configure("openai_api_key: sk-very-secret-1\n")
    shown = command("config", "--all", PIPELINE_PASSWORD="geheim-123")
    assert "(set)" in shown.out
    assert "sk-very" not in shown.out + shown.err
    assert "geheim" not in shown.out + shown.err


def test_open_prints_where_a_task_or_a_document_of_it_lies_and_nothing_outside_of_it(command: Command) -> None:
    toys = write_toys(command.folder / "toys", 2)
    assert command("run", "one.md", PIPELINE_PHASES=str(toys)).code == 0
    root = command.task("one")
    assert command("open").out == f"{root}\n"
    assert command("open", "one", "report", "--print").out == f"{root}/report.json\n"
    (root / "logs" / "out").symlink_to("/etc")
    for outside in ("../../home", "logs/out/passwd", "nothing"):
        refused = command("open", "one", outside)
        assert (refused.code, refused.out) == (2, ""), outside
