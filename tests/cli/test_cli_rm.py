"""`pipeline rm`: what it removes, and all that it leaves alone; and that list and status agree about what is gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.papers import Command, in_terminal
from tests.rows import with_covered
from tests.toys import write_toys
from tests.work import wait_until

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
    command = Command(tmp_path)
    command.environment["PIPELINE_PHASES"] = str(write_toys(tmp_path / "toys", 2))
    for name in ("one", "two", "three"):
        assert command("run", f"{name}.md").code == 0
    return command


def test_the_packages_that_tasks_share_are_removed_when_that_is_asked_for(command: Command) -> None:
    store = Path(command.environment["HOME"]) / ".cache" / "pipeline" / "environments"
    assert "no packages were installed" in command("rm", "--environments").out
    store.mkdir(parents=True)
    (store / "file").write_bytes(b"x" * 2**20)
    assert command("rm", "--environments").code == 2
    assert store.exists()
    ended = command("rm", "--environments", "--yes")
    assert (ended.code, store.exists()) == (0, False)
    assert ": 1 MB" in ended.out
    assert there(command) == {"one", "two", "three"}


@pytest.mark.parametrize("words", [pytest.param(("rm",), marks=pytest.mark.slow), ("rm", "one", "--environments")])
def test_tasks_or_environments_are_named_and_not_both(command: Command, words: tuple[str, ...]) -> None:
    ended = command(*words)
    assert (ended.code, there(command)) == (2, {"one", "two", "three"})
    assert "rm takes the names of tasks, or --environments" in ended.complaints[0]


def listed(command: Command) -> list[str]:
    return [entry["id"] for entry in command("list", "--json").json()]


def there(command: Command) -> set[str]:
    return {name for name in os.listdir(command.folder / "tasks") if not name.startswith((".tasks", "tasks"))}


@pytest.mark.slow
def test_tasks_are_removed_from_the_disk_and_from_the_list(command: Command) -> None:
    removed = command("rm", "one", "tasks/two", "one", "--yes")
    assert (removed.code, removed.out) == (0, "removed tasks/one\nremoved tasks/two\n")
    assert there(command) == {"three"}
    assert listed(command) == ["three"]
    assert command("run", "one.md", "--json").json()["id"] == "one"


@pytest.mark.slow
def test_a_link_inside_of_a_task_is_removed_and_not_followed(command: Command) -> None:
    (command.folder / "thesis").mkdir()
    (command.folder / "thesis" / "years.txt").write_text("of work")
    (command.task("one") / "link").symlink_to("../../thesis")
    assert command("rm", "one", "--yes").code == 0
    assert (command.folder / "thesis" / "years.txt").read_text() == "of work"


def _link(command: Command) -> str:
    (command.folder / "tasks" / "link").symlink_to("one")
    return "link"


def _strange(command: Command) -> str:
    (command.folder / "tasks" / "thesis").mkdir()
    return "thesis"


def _outside(command: Command) -> str:
    command.task("one").rename(command.folder / "outside")
    return "../outside"


REFUSED = [
    pytest.param(_link, "is a link", id="a link to a task"),
    pytest.param(_strange, "there is no task", id="a directory that is no task"),
    pytest.param(_outside, "is not a task in tasks", id="a task outside of the tasks directory"),
    pytest.param(lambda command: "tasks/one/generate_code", "is not a task in tasks", id="a part of a task"),
    pytest.param(lambda command: ".", "is not a task in tasks", id="all of them"),
    pytest.param(lambda command: "..", "is not a task in tasks", id="what holds them"),
    pytest.param(lambda command: "/", "is not a task in tasks", id="the whole disk"),
    pytest.param(lambda command: "four", "there is no task 'four'", id="what is not there"),
    pytest.param(lambda command: "tasks.jsonl", "there is no task", id="the list itself"),
]


@pytest.mark.parametrize(
    ("make", "why"),
    with_covered(
        REFUSED,
        "a directory that is no task",
        "a part of a task",
        "all of them",
        "the whole disk",
        "what is not there",
        "the list itself",
    ),
)
def test_anything_else_is_refused_and_nothing_is_removed(
    make: Callable[[Command], str], why: str, command: Command
) -> None:
    name = make(command)
    before = there(command)
    refused = command("rm", "two", name, "--yes")
    assert (refused.code, len(refused.complaints)) == (2, 1), refused.err
    assert why in refused.complaints[0]
    assert there(command) == before


def test_a_task_that_is_at_work_is_left_alone(command: Command) -> None:
    (command.folder / "sleeping").mkdir()
    folder = write_toys(command.folder / "sleeping" / "toys", 2)
    from tests.toys import write_toy

    write_toy(folder, 1, body=SLEEPS)
    with command.start("run", "busy.md", PIPELINE_PHASES=str(folder)) as process:
        wait_until((command.task("busy") / "it_runs").exists)
        refused = command("rm", "one", "busy", "--yes")
        process.kill()
    assert refused.code == 75
    assert f"in use by process {process.pid}" in refused.complaints[0]
    assert {"one", "busy"} <= there(command)
    assert command("rm", "busy", "--yes").code == 0


def test_without_a_terminal_it_says_how_to_remove_without_a_question(command: Command) -> None:
    refused = command("rm", "one", "two")
    assert refused.code == 2
    assert "pipeline rm one two --yes" in refused.complaints[0]
    assert there(command) == {"one", "two", "three"}


@pytest.mark.parametrize(
    ("answer", "code", "left"),
    [
        pytest.param("y", 0, {"two", "three"}, id="yes", marks=pytest.mark.slow),
        pytest.param("n", 1, {"one", "two", "three"}, id="no"),
        pytest.param("", 1, {"one", "two", "three"}, id="nothing"),
    ],
)
def test_in_a_terminal_it_asks_first(answer: str, code: int, left: set[str], command: Command) -> None:
    asked = in_terminal(command, "rm", "one", answers=[answer])
    assert "Remove this task, with all code and documents in it?" in asked.text
    assert asked.code == code
    assert there(command) == left


def test_a_damaged_line_of_the_list_stays_where_it_is(command: Command) -> None:
    catalog = command.folder / "tasks" / "tasks.jsonl"
    catalog.write_bytes(b"not a line\n" + catalog.read_bytes())
    assert command("rm", "one", "--yes").code == 0
    assert catalog.read_bytes().startswith(b"not a line\n")
    assert b'"one"' not in catalog.read_bytes()


def test_list_and_status_agree_that_a_task_is_gone_and_rm_takes_it_off_the_list(command: Command) -> None:
    shutil.rmtree(command.task("one"))
    [entry] = [entry for entry in command("list", "--json").json() if entry["id"] == "one"]
    assert entry["status"] == "gone"
    assert "pipeline rm one" in entry["reason"]
    for name in ("status", "show", "resume"):
        told = command(name, "one")
        assert told.code == 2
        assert "task 'one' is gone: tasks/one is missing; remove it from the list: pipeline rm one" in told.err
    assert command("rm", "one", "--yes").code == 0
    assert listed(command) == ["three", "two"]
    assert "there is no task 'one'" in command("status", "one").err
    assert command("status", "--json").json()["id"] == "three"
