"""A task directory of a stranger: its files are not obeyed until the user adopts it, and can all be read before."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.trust import settings_in_force
from pipeline.engine.seal import is_sealed
from pipeline.engine.settings import Settings
from tests.papers import PAPER, Command, paper

SECRET = "aws_secret_access_key = 'sk-very-secret'\n"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the user's that no task of a stranger may have."""
    path = tmp_path / "home" / ".aws" / "credentials.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"# Keys\n\n{SECRET}\n\nWe use the key for training the model.\n")
    return path


@pytest.fixture
def victim(tmp_path: Path, secret: Path) -> Command:
    """A user who has begun a task of his own here before."""
    command = Command(tmp_path)
    command("run", "--fast", paper(tmp_path, "# Mine\n\nWe wait and measure.\n"), "--id", "mine", "--until", "01")
    return command


def stranger_task(tmp_path: Path, *arguments: str | Path, until: str = "05") -> Path:
    """The directory of a task that somebody else made, in the tasks folder of the victim."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    stranger = Command(folder)
    stranger("run", "--fast", paper(folder, PAPER), *arguments, "--until", until)
    shutil.copytree(stranger.task("paper"), tmp_path / "tasks" / "paper")
    return tmp_path / "tasks" / "paper"


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def holds_secret(task: Path) -> list[Path]:
    return [path for path in task.rglob("*") if path.is_file() and b"sk-very-secret" in path.read_bytes()]


# The source


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(lambda path: str(path), id="a file", marks=pytest.mark.slow),
        pytest.param(lambda path: str(path.parent), id="a folder"),
        pytest.param(
            lambda path: os.path.relpath(path, path.parents[2]), id="a path from here", marks=pytest.mark.slow
        ),
        pytest.param(lambda path: f"{path.parents[2]}/tasks/paper/../../home/.aws/credentials.md", id="a way back out"),
        pytest.param(lambda path: "~/.aws/credentials.md", id="a home"),
        pytest.param(lambda path: f"file://{path}", id="an address of a file", marks=pytest.mark.slow),
        pytest.param(lambda path: "http://127.0.0.1:1/paper.md", id="an address", marks=pytest.mark.slow),
    ],
)
def test_the_source_that_a_stranger_s_task_names_is_not_read(
    name: Callable[[Path], str], victim: Command, secret: Path, tmp_path: Path
) -> None:
    task = stranger_task(tmp_path)
    edit(task / "task.json", lambda document: document.update(source=name(secret)))
    edit(task / "state.json", lambda document: document["phases"].pop("01"))
    ended = victim("resume", "paper", "--until", "05")
    assert ended.code == 0, ended.err
    told = (
        "task paper was not started here, or its task.json was changed: nothing outside of it is read, and the stricter of its "
        "settings and yours hold; to see what it says, and to allow that: pipeline adopt paper"
    )
    assert [line for line in ended.err.splitlines() if "pipeline adopt paper" in line] == [told]
    assert holds_secret(task) == []
    assert (task / "source" / "paper.md").read_text() == PAPER


def test_a_link_in_the_task_leads_no_further(victim: Command, secret: Path, tmp_path: Path) -> None:
    task = stranger_task(tmp_path)
    (task / "source" / "paper.md").unlink()
    (task / "source" / "paper.md").symlink_to(secret)
    ended = victim("resume", "paper", "--redo", "01", "--until", "05")
    assert ended.code in (1, 2)
    assert len(ended.complaints) == 1
    assert holds_secret(task) in ([], [task / "source" / "paper.md"])  # the link itself
    edit(task / "task.json", lambda document: document.update(source=str(task / "link.md")))
    (task / "link.md").symlink_to(secret)
    assert victim("resume", "paper", "--redo", "01", "--until", "05").code in (1, 2)
    assert not [path for path in holds_secret(task) if not path.is_symlink()]


@pytest.mark.parametrize("way", [pytest.param("absolute", marks=pytest.mark.slow), "back out", "a link"])
def test_what_input_json_names_outside_of_the_task_is_not_read(
    way: str, victim: Command, secret: Path, tmp_path: Path
) -> None:
    task = stranger_task(tmp_path)
    (task / "source" / "link.md").symlink_to(secret)
    named = {
        "absolute": str(secret),
        "back out": "source/../../../home/.aws/credentials.md",
        "a link": "source/link.md",
    }
    edit(task / "input.json", lambda document: document["files"][0].update(path=named[way]))
    edit(task / "state.json", lambda document: document["phases"]["01"].update(written={}))
    ended = victim("step", "paper", "02")
    assert ended.code != 0
    assert "Traceback" not in ended.err
    assert not [path for path in holds_secret(task) if not path.is_symlink()]


def test_a_state_that_names_a_file_outside_has_it_removed_by_nobody(
    victim: Command, secret: Path, tmp_path: Path
) -> None:
    from pipeline.base.files import sha256

    task = stranger_task(tmp_path)
    written = {"../../home/.aws/credentials.md": sha256(secret.read_bytes())}
    edit(task / "state.json", lambda document: document["phases"]["04"]["written"].update(written))
    ended = victim("resume", "paper", "--redo", "04", "--until", "05")
    assert (ended.code, len(ended.complaints)) == (1, 1)
    assert "state.json" in ended.complaints[0]
    assert secret.exists()


def test_a_task_whose_source_was_never_taken_in_says_what_to_do(victim: Command, secret: Path, tmp_path: Path) -> None:
    task = stranger_task(tmp_path)
    shutil.rmtree(task / "source")
    edit(task / "task.json", lambda document: document.update(source=str(secret)))
    ended = victim("resume", "paper")
    assert ended.code == 2
    told = f"no copy of its source is in {task}/source; to read {secret}, allow that with: pipeline adopt paper"
    assert ended.complaints == [f"pipeline: task paper was not started here, and {told}"]
    assert victim("adopt", "paper", "--yes").code == 0
    assert victim("resume", "paper", "--redo", "01", "--until", "02").code == 0
    assert holds_secret(task)


# The settings


class Store:
    """As much of a task's store as the rules of its settings need."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.root, self.id = str(root), "paper"
        self._task = {"id": "paper", "created": "2026", "source": "typed: words", "settings": settings}

    def load(self, name: str) -> Any:
        return self._task

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)


@pytest.mark.parametrize(
    ("name", "own", "theirs", "holds"),
    [
        ("model", "offline", "openai:gpt", "offline"),
        ("plan_model", "", "compatible:x", ""),
        ("code_model", "anthropic:a", "openai:b", "anthropic:a"),
        ("review", "", "auto", ""),
        ("review", "ask", "auto", "ask"),
        ("review", "auto", "ask", "ask"),
        ("review", "auto", "file", "file"),
        ("review", "file", "ask", "file"),
        ("max_usd", 0.0, 5.0, 5.0),
        ("max_usd", 2.0, 5.0, 2.0),
        ("max_usd", 2.0, 0.0, 2.0),
        ("max_tokens", 10, 5, 5),
        ("max_turns", 400, 100_000, 400),
        ("max_minutes", 0, 0, 0),
        ("max_acceptance_continues", 3, 20, 3),
        ("sandbox", "required", "off", "required"),
        ("sandbox", "off", "off", "required"),
        ("install", "refused", "allowed", "refused"),
        ("allow_data", "no", "yes", "no"),
        ("allow_own_code", "no", "yes", "no"),
        ("supervisor", "strict", "off", "strict"),
        ("supervisor_shadow", "", "true", ""),
        ("references", "", "/home", ""),
        ("mirror", "/mine", "/theirs", "/mine"),
        ("lookup", "", "github", ""),
        ("mode", "full", "fast", "fast"),
        ("mode", "fast", "full", "fast"),
    ],
)
def test_of_a_stranger_s_settings_and_the_user_s_the_stricter_holds(
    name: str, own: Any, theirs: Any, holds: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    store: Any = Store(tmp_path / "task", **{name: theirs})
    found = settings_in_force(store, Settings()._replace(**{name: own}), {})
    assert not found.trusted
    assert found.values[name] == holds
    flagged = settings_in_force(store, Settings()._replace(**{name: own}), {name: own})
    assert flagged.values[name] == own  # what is said now is the user's word


def _no_limit_is_widest(value: float) -> float:
    return float(value) or float("inf")


WIDENESS: dict[str, Callable[[Any], float]] = {
    **dict.fromkeys(("max_usd", "max_tokens", "max_turns", "max_minutes"), _no_limit_is_widest),
    **dict.fromkeys(("max_acceptance_continues", "command_seconds", "command_memory_gb", "job_seconds"), float),
    "mode": ["fast", "full"].index,
    "review": lambda value: {"auto": 2, "": 1, "ask": 0, "file": 0}[value],
    "sandbox": ["required", "off"].index,
    "install": ["refused", "ask", "allowed"].index,
    "gpu": ["none", "0", "auto"].index,
    "allow_data": ["no", "yes"].index,
    "allow_own_code": ["no", "yes"].index,
    "blacklist": lambda value: -len(value.split()),
}
"""Of which settings a task may ask for less: how much each value allows. All others are the user's alone."""
VALUES: dict[str, tuple[Any, ...]] = {
    "mode": ("fast", "full"),
    "review": ("auto", "", "ask", "file"),
    "sandbox": ("required", "off"),
    "install": ("refused", "ask", "allowed"),
    "gpu": ("none", "0", "auto"),
    "allow_data": ("no", "yes"),
    "allow_own_code": ("no", "yes"),
}


def _values_of(name: str) -> tuple[Any, ...]:
    default = Settings._field_defaults[name]
    return VALUES.get(name) or ((0, 1, 7, 10**9) if isinstance(default, (int, float)) else (default, "yours", "theirs"))


@pytest.mark.parametrize("name", Settings._fields)
def test_no_value_of_any_setting_in_a_stranger_s_task_widens_what_the_user_allows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    tried = 0
    for own in _values_of(name):
        for theirs in _values_of(name):
            store: Any = Store(tmp_path / "task", **{name: theirs})
            holds = settings_in_force(store, Settings()._replace(**{name: own}), {}).values[name]
            tried += 1
            if name in WIDENESS:
                assert WIDENESS[name](holds) <= WIDENESS[name](own), (own, theirs, holds)
                assert name != "blacklist" or set(own.split()) <= set(holds.split())
            else:
                assert holds == own, f"{theirs} of a stranger holds"
    assert tried >= 4


@pytest.mark.slow
def test_a_batch_takes_a_stranger_s_task_for_a_stranger_s_too(victim: Command, secret: Path, tmp_path: Path) -> None:
    task = stranger_task(tmp_path, "--review", "auto", until="01")
    edit(task / "task.json", lambda document: document.update(source=str(tmp_path / "paper.md")))
    edit(
        task / "task.json",
        lambda document: document["settings"].update(max_turns=10**6, sandbox="off", data=f"h={secret.parent}"),
    )
    (tmp_path / "paper.md").write_text(PAPER)
    victim("batch", "paper.md", "--fast", "--until", "05")
    again = [path.parent for path in (tmp_path / "tasks").glob("*/task.json") if path.parent.name != "mine"]
    assert all(not holds_secret(folder) for folder in again)
    said = json.loads((task / "task.json").read_text())
    assert "seal" not in said or not is_sealed(said, str(victim.home / ".config" / "pipeline")), (
        "a batch trusts nothing"
    )


def test_every_setting_that_a_task_keeps_is_sealed(victim: Command) -> None:
    path = victim.task("mine") / "task.json"
    whole = json.loads(path.read_text())
    directory = str(victim.home / ".config" / "pipeline")
    assert is_sealed(whole, directory)
    for name in whole["settings"]:
        assert not is_sealed({**whole, "settings": {**whole["settings"], name: "other"}}, directory), name
    for name in ("id", "created", "source"):
        assert not is_sealed({**whole, name: "other"}, directory), name


# Adopting


def test_adopt_shows_what_differs_and_allows_it_only_when_told(victim: Command, tmp_path: Path) -> None:
    task = stranger_task(tmp_path, "--max-usd", "7", "--review", "auto")
    asked = victim("adopt", "paper")
    assert asked.code == 2
    assert asked.complaints == [
        "pipeline: there is no terminal to confirm this in; to trust them: pipeline adopt paper --yes"
    ]
    rows = {line.split()[0]: line.split()[1:] for line in asked.out.splitlines()}
    assert rows["max_usd"] == ["7.0", "0.0"]
    assert rows["review"] == ["auto", '""']
    assert rows["source"][0] == str(tmp_path / "stranger" / "paper.md")
    assert "sandbox" not in rows
    before = (task / "task.json").read_bytes()
    victim("resume", "paper", "--until", "05")
    assert (task / "task.json").read_bytes() == before  # a run allows nothing
    told = victim("adopt", "paper", "--yes")
    assert (told.code, told.err) == (0, "trusted; continue with: pipeline resume paper\n")
    ended = victim("resume", "paper", "--until", "05")
    assert "pipeline adopt" not in ended.err
    assert victim.document("paper", "task.json")["settings"]["max_usd"] == 7
    assert "paper: already trusted; nothing to do" in victim("adopt", "paper").out
    edit(task / "task.json", lambda document: document["settings"].update(max_usd=1000.0))
    assert "pipeline adopt paper" in victim("resume", "paper", "--until", "05").err


@pytest.mark.slow
def test_a_task_that_its_owner_copies_or_moves_needs_no_adopting(victim: Command, tmp_path: Path) -> None:
    shutil.copytree(victim.task("mine"), tmp_path / "elsewhere" / "copy")
    for place in (tmp_path / "elsewhere" / "copy", tmp_path / "moved"):
        if place.name == "moved":
            shutil.move(victim.task("mine"), place)
        ended = victim("resume", place, "--until", "02")
        assert ended.code == 0
        assert "adopt" not in ended.err


def test_everything_of_a_stranger_s_task_can_be_read(victim: Command, tmp_path: Path) -> None:
    task = stranger_task(tmp_path, "--unsandboxed", "--review", "file", until="05b")
    before = (task / "task.json").read_bytes()
    for words in (
        ("status", "paper"),
        ("show", "paper", "plan"),
        ("why", "paper"),
        ("review", "paper"),
        ("check", "paper"),
    ):
        ended = victim(*words)
        assert (ended.code, ended.complaints) == (0, []), words
    assert victim("list").code == 0
    assert victim("review", "paper", "--approve").code == 0
    assert victim("iterate", "paper", "use the second data set too", "--until", "05").code in (0, 2)
    assert (task / "task.json").read_bytes() == before


def test_a_second_run_of_a_stranger_s_task_does_not_make_it_one_s_own(tmp_path: Path, secret: Path) -> None:
    victim = Command(tmp_path)  # who never used the pipeline before
    (tmp_path / "tasks").mkdir()
    task = stranger_task(tmp_path, "--review", "auto", "--max-usd", "9")
    edit(task / "task.json", lambda document: document.pop("seal"))
    for _ in range(2):
        assert "pipeline adopt paper" in victim("resume", "paper", "--until", "05").err


@pytest.mark.slow
def test_first_runs_at_once_have_one_key(tmp_path: Path) -> None:
    command = Command(tmp_path)
    paper(tmp_path, PAPER)
    runs = [command.start("run", "--fast", "paper.md", "--id", f"t{number}", "--until", "00") for number in range(6)]
    for run in runs:
        run.communicate()
    for number in range(6):
        assert "adopt" not in command("resume", f"t{number}", "--until", "00").err


def test_where_no_key_can_be_kept_a_run_is_as_before(tmp_path: Path) -> None:
    command = Command(tmp_path, XDG_CONFIG_HOME="/proc/nowhere")
    ended = command("run", "--fast", paper(tmp_path, PAPER), "--max-usd", "3", "--until", "02")
    assert ended.code == 0
    assert "adopt" not in ended.err
    again = command("resume", "paper", "--until", "03")
    assert (again.code, "adopt" in again.err) == (0, False)
    assert command.document("paper", "task.json")["settings"]["max_usd"] == 3


@pytest.mark.parametrize("way", ["no list", "elsewhere", "of another source", "open to all", "opens a door"])
def test_where_no_key_can_be_kept_what_is_not_surely_one_s_own_is_not_obeyed(way: str, tmp_path: Path) -> None:
    command = Command(tmp_path, XDG_CONFIG_HOME="/proc/nowhere")
    command("run", "--fast", paper(tmp_path, PAPER), "--until", "02")
    task, named = command.task("paper"), "paper"
    if way == "no list":
        (command.folder / "tasks" / "tasks.jsonl").unlink()
    elif way == "elsewhere":
        shutil.copytree(command.folder / "tasks", command.folder / "downloads")
        named = str(command.folder / "downloads" / "paper")
    elif way == "of another source":
        edit(task / "task.json", lambda document: document.update(source="/home/you/.aws/credentials"))
    elif way == "open to all":
        task.chmod(0o777)
    else:
        edit(task / "task.json", lambda document: document["settings"].update(sandbox="off"))
    assert "pipeline adopt" in command("resume", named, "--until", "02").err
