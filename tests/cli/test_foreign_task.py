"""A task directory and a tasks folder of another user: through them no file of this user is read, written or worked on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.base.errors import StorageError
from pipeline.cli.assembly import newest_task, open_task
from pipeline.engine.settings import Settings
from tests.cli.test_mcp import call, serve
from tests.papers import Command, copy_command
from tests.toys import write_toys

if TYPE_CHECKING:
    from mcp import Client

SECRET = "the user's own words"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Two tasks of toy phases."""
    command = Command(tmp_path_factory.mktemp("foreign"))
    command.environment["PIPELINE_PHASES"] = str(write_toys(command.folder / "toys", 2))
    for name in ("paper", "stranger"):
        (command.folder / f"{name}.md").write_text("# A paper\n")
        assert command("run", f"{name}.md").code == 0
    return command


@pytest.fixture
def command(original: Command, tmp_path: Path) -> Command:
    copy = copy_command(original, tmp_path)
    copy.environment["PIPELINE_PHASES"] = str(tmp_path / "toys")
    (copy.home / "private.txt").write_text(SECRET)
    return copy


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# Files of a task


def replace_by_link(path: Path, to: Path | str) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(to)


def replace_by_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


Plant = Callable[[Command, Path], object]
LOGS: dict[str, tuple[Plant, str]] = {
    "a link": (
        lambda command, logs: replace_by_link(logs / "system.jsonl", command.home / "private.txt"),
        "system.jsonl is a symbolic link",
    ),
    "a link to an endless device": (
        lambda command, logs: replace_by_link(logs / "system.jsonl", "/dev/zero"),
        "system.jsonl is a symbolic link",
    ),
    "a pipe": (lambda command, logs: replace_by_pipe(logs / "system.jsonl"), "system.jsonl is a pipe"),
    "a file of a terabyte without a line": (
        lambda command, logs: os.truncate(logs / "system.jsonl", 2**40),
        "system.jsonl has a line of more than",
    ),
    "a pipe for the words of models": (
        lambda command, logs: replace_by_pipe(logs / "words.jsonl"),
        "words.jsonl is a pipe",
    ),
    "a link for the words of models": (
        lambda command, logs: replace_by_link(logs / "words.jsonl", command.home / "private.txt"),
        "words.jsonl is a symbolic link",
    ),
    "a link for the directory": (
        lambda command, logs: replace_by_link(logs, command.home),
        "logs is a symbolic link, and a task holds its own files",
    ),
}


@pytest.mark.parametrize("plant", LOGS)
def test_logs_prints_no_other_file_and_ends_with_what_is_wrong(plant: str, command: Command) -> None:
    (command.home / "system.jsonl").write_text(SECRET)
    make, why = LOGS[plant]
    make(command, command.task("stranger") / "logs")
    for flags in ([], ["-f"], ["--json"]):
        ended = command("logs", "stranger", *flags)
        assert ended.code == 1, ended
        assert len(ended.complaints) == 1
        assert why in ended.complaints[0]
        assert SECRET not in ended.out + ended.err


def test_logs_of_a_task_without_one_says_so(command: Command) -> None:
    (command.task("stranger") / "logs" / "system.jsonl").unlink()
    ended = command("logs", "stranger")
    assert (ended.code, ended.out) == (0, "no log yet\n")


def test_an_assistant_s_run_writes_over_no_file_of_the_user_s(command: Command) -> None:
    plants: dict[str, Callable[[Path], object]] = {
        "link": lambda logs: (logs / "mcp.out").symlink_to(command.home / "private.txt"),
        "pipe": lambda logs: os.mkfifo(logs / "mcp.out"),
        "directory": lambda logs: replace_by_link(logs, command.home),
        "dangling": lambda logs: replace_by_link(logs, command.home / "new"),
    }
    for name, plant in plants.items():
        shutil.copytree(command.task("stranger"), command.task(name))
        plant(command.task(name) / "logs")
    before = tree(command.home)

    async def work(client: Client) -> None:
        for name in plants:
            with pytest.raises(ValueError, match=f"{name}/logs.* is (a symbolic link|a pipe|not a directory)"):
                await call(client, "resume", task=name)

    serve(command, work)
    assert tree(command.home) == before
    assert not (command.home / "new").exists()


@pytest.mark.parametrize("name", ["logs", "generate_code", "jobs", "source", "anything"])
@pytest.mark.parametrize("arguments", ["resume", "status", "show"])
def test_a_task_with_a_link_to_a_directory_is_not_opened(arguments: str, name: str, command: Command) -> None:
    replace_by_link(command.task("stranger") / name, command.home)
    before = tree(command.home)
    ended = command(arguments, "stranger")
    assert ended.code == 1, ended
    assert f"stranger/{name} is a symbolic link" in ended.complaints[0]
    assert tree(command.home) == before


def test_a_task_with_a_link_is_still_listed_and_can_be_removed(command: Command) -> None:
    replace_by_link(command.task("stranger") / "logs", command.home)
    assert "stranger" in command("list").out
    assert command("rm", "stranger", "--yes").code == 0
    assert (command.home / "private.txt").read_text() == SECRET


@pytest.mark.parametrize("name", [".lock", "state.jsonl", "toy01.json", "report.json", "logs/system.jsonl"])
def test_no_run_writes_through_a_link(name: str, command: Command) -> None:
    replace_by_link(command.task("stranger") / name, command.home / "private.txt")
    ended = command("resume", "stranger", "--redo", "01")
    assert "Traceback" not in ended.err
    assert (command.home / "private.txt").read_text() == SECRET


@pytest.mark.parametrize("name", ["tasks.jsonl", ".tasks.jsonl.lock"])
@pytest.mark.parametrize("kind", ["a link", "a pipe"])
def test_the_list_of_tasks_is_a_regular_file_or_refused(kind: str, name: str, command: Command) -> None:
    path = command.folder / "tasks" / name
    if kind == "a pipe":
        replace_by_pipe(path)
    else:
        replace_by_link(path, command.home / "private.txt")
    ended = command("resume", "stranger", "--redo", "01")
    assert ended.code == 1, ended
    assert f"{name} is {kind.replace('a link', 'a symbolic link')}" in ended.complaints[-1]
    assert (command.home / "private.txt").read_text() == SECRET


# Names in the list of tasks


def foreign_list(command: Command, name: str) -> None:
    """A tasks folder of somebody else, whose list names a task."""
    folder = command.folder / "foreign"
    folder.mkdir(exist_ok=True)
    row = json.loads((command.folder / "tasks" / "tasks.jsonl").read_text().splitlines()[-1])
    (folder / "tasks.jsonl").write_text(json.dumps({**row, "id": name, "status": "paused"}) + "\n")


NAMES: dict[str, Callable[[Command], str]] = {
    "a path out of the folder": lambda command: "../tasks/paper",
    "an absolute path": lambda command: str(command.task("paper")),
    "a path into the folder": lambda command: "inner/paper",
    "the folder above": lambda command: "..",
    "the folder itself": lambda command: ".",
    "nothing": lambda command: "",
    "a hidden name": lambda command: ".paper",
    "a control character": lambda command: "pap\x1ber",
    "a line end": lambda command: "paper\n",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_the_list_that_is_not_plain_is_a_damaged_line_for_every_command(name: str, command: Command) -> None:
    foreign_list(command, NAMES[name](command))
    before = tree(command.task("paper"))
    for words in (["resume"], ["status"], ["why"], ["logs"]):
        ended = command(*words, "--tasks-dir", "foreign")
        assert ended.code != 0, (words, ended)
        assert "foreign/tasks.jsonl, line 1: the id" in ended.complaints[0]
        assert "is not a plain name" in ended.complaints[0]
        assert "pipeline list --rebuild" in ended.complaints[0]
    listed = command("list", "--tasks-dir", "foreign", "--json")
    assert listed.json() == []
    assert "is not a plain name" in listed.err
    assert tree(command.task("paper")) == before


def test_a_list_is_rebuilt_without_names_that_are_not_plain(command: Command) -> None:
    shutil.copytree(command.task("paper"), command.folder / "tasks" / ".hidden")
    foreign_list(command, "../tasks/paper")
    (command.folder / "foreign" / "tasks.jsonl").replace(command.folder / "tasks" / "tasks.jsonl")
    listed = command("list", "--rebuild", "--json")
    assert sorted(row["id"] for row in listed.json()) == ["paper", "stranger"]
    assert "tasks.jsonl, line" not in listed.err


def test_a_task_in_a_directory_that_is_not_plainly_named_says_to_rename_it(command: Command) -> None:
    shutil.move(command.task("paper"), command.folder / "tasks" / ".paper")
    ended = command("resume", "tasks/.paper", "--redo", "01")
    assert ended.code != 0
    assert "the directory name '.paper' is not a plain name" in ended.complaints[0]
    assert "rename the directory in " in ended.complaints[0]


def test_the_newest_task_is_never_a_link_but_a_task_that_is_named_may_be_one(command: Command) -> None:
    folder = command.folder / "foreign"
    foreign_list(command, "own")
    (folder / "own").symlink_to(command.task("paper"))
    settings = Settings()._replace(tasks_dir=str(folder), phases=str(command.folder / "toys"))
    with pytest.raises(Exception, match="there is no task"):
        newest_task(settings)
    assert open_task(settings, "own").load("task.json")["id"] == "paper"


def test_the_store_names_the_link(command: Command) -> None:
    settings = Settings()._replace(tasks_dir=str(command.folder / "tasks"), phases=str(command.folder / "toys"))
    replace_by_link(command.task("stranger") / "kernel", command.home)
    with pytest.raises(StorageError, match="stranger/kernel is a symbolic link, and a task holds its own files"):
        open_task(settings, "stranger")
