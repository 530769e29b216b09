"""A paper with its addendum, notes on its data and a list of addresses that nothing may be fetched from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phases.references.lookup.candidates import NoServiceAnswer
from phases.references.lookup.client import ClientSettings, RateLimit, ServiceClient
from phases.sandbox.locks import NO_INDEX, LockResult
from phases.workspace import packages
from pipeline.engine.seal import is_sealed
from tests.cli.test_full_mode import PAPER as LINKING
from tests.cli.test_full_mode import repository
from tests.papers import Command, paper
from tests.repositories import needs_git
from tests.rows import later

ADDENDUM = """# Addendum

## Rooms

The waiter uses a batch size of 4096 in all of the rooms.

```sh
# no heading
```

## Out of scope

The Hurry baseline need not be reproduced. See https://github.com/example/rooms.
"""
BLACKLIST = "https://github.com/example/waiting\nbob/encoders\nnone\n"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def bundle(folder: Path, name: str = "waiting") -> Path:
    """A directory in PaperBench's form."""
    made = folder / name
    made.mkdir()
    paper(made)
    (made / "addendum.md").write_text(ADDENDUM)
    (made / "blacklist.txt").write_text(BLACKLIST)
    return made


KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "bm90IGEga2V5IGF0IGFsbA==\n" * 8 + "-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize("name", ["key.md", ".aws/credentials"])
def test_a_file_of_keys_is_no_note(name: str, command: Command) -> None:
    paper(command.folder)
    (command.home / name).parent.mkdir(parents=True, exist_ok=True)
    (command.home / name).write_text(KEY)
    ended = command("run", "--fast", "paper.md", "--until", "plan", "--with", str(command.home / name))
    assert (ended.code, len(ended.complaints)) == (2, 1)
    assert "so it is not read" in ended.complaints[0]
    assert not list(command.folder.rglob("*addendum*")) + list(command.folder.rglob("notes"))


@pytest.mark.parametrize("name", ["paper.md", "addendum.md"])
def test_a_file_of_keys_in_a_directory_with_an_addendum_is_not_read(name: str, command: Command) -> None:
    (bundle(command.folder) / name).write_text(KEY)
    ended = command("run", "--fast", "waiting", "--until", "plan")
    assert ended.code in (1, 2)
    assert "so it is not read" in ended.complaints[0]
    assert "bm90IGEg" not in "".join(
        path.read_text() for path in (command.folder / "tasks").rglob("*.*") if path.is_file()
    )


def plan_of(command: Command, task: str) -> str:
    return (command.task(task) / "initial_plan.txt").read_text()


def test_a_directory_with_an_addendum_and_a_blacklist_is_one_paper(command: Command) -> None:
    bundle(command.folder)
    ended = command("run", "--fast", "waiting", "--until", "plan")
    assert ended.code == 0, ended.err
    text = (command.task("waiting") / "paper.md").read_text()
    assert "## Addendum\n\n### Rooms\n\nThe waiter uses" in text, "its own heading is not said twice"
    assert "# no heading" in text
    assert text.index("## References") < text.index("<!-- page 2 -->") < text.index("## Addendum")
    assert "value: 4096" in plan_of(command, "waiting")
    given = command.document("waiting", "input.json")
    (note,) = given["notes"]
    assert note["path"] == "source/notes/addendum.md"
    assert note["path"] in [row["path"] for row in given["files"]]
    task = command.document("waiting", "task.json")
    assert task["settings"]["blacklist"].split() == ["https://github.com/example/waiting", "bob/encoders"]
    assert is_sealed(task, str(command.home / ".config/pipeline"))
    assert command.document("waiting", "report.json")["blacklist"] == task["settings"]["blacklist"].split()
    assert "up to date" in command("run", "--fast", "waiting", "--until", "plan").err


def test_what_the_addendum_says_is_quoted_and_a_misquote_of_it_is_told(command: Command) -> None:
    paper(command.folder)
    (command.folder / "data-notes.md").write_text(ADDENDUM.replace("# Addendum\n", ""))
    ended = command("run", "--fast", "paper.md", "--with", "data-notes.md", "--until", "plan")
    assert ended.code == 0, ended.err
    assert "## Addendum: data notes\n" in (command.task("paper") / "paper.md").read_text()
    plan = plan_of(command, "paper")
    assert "quote: The waiter uses a batch size of 4096 in all of the rooms." in plan
    assert not command("review", "paper").complaints
    path = command.task("paper") / "initial_plan.txt"
    path.write_text(
        plan.replace("quote: The waiter uses a batch size of 4096", "quote: The waiter has a batch size of 8192")
    )
    assert "8192" in command("review", "paper").err


def test_another_addendum_makes_another_task_and_without_one_nothing_changes(command: Command) -> None:
    made = bundle(command.folder)
    assert command("run", "--fast", "waiting", "--until", "plan").code == 0
    (made / "addendum.md").write_text(ADDENDUM.replace("4096", "512"))
    assert command("run", "--fast", "waiting", "--until", "plan").code == 0
    assert "value: 512" in plan_of(command, "waiting-2")
    assert "value: 4096" in plan_of(command, "waiting")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("nowhere.md", None, "there is no such file"),
        ("data.bin", b"\xff\xfe\x00", "it is not UTF-8 text; only Markdown and plain text can be given with a paper"),
        ("large.md", later(lambda: b"a " * (1 << 20) + b"b"), "larger than 2 MB; data is given with --data"),
    ],
)
def test_what_is_no_text_is_told_before_a_task_is_made(
    command: Command, name: str, content: bytes | None, words: str
) -> None:
    paper(command.folder)
    if content is not None:
        (command.folder / name).write_bytes(content)
    ended = command("run", "--fast", "paper.md", "--with", name)
    assert (ended.code, words in ended.complaints[0]) == (2, True), ended.err
    assert not (command.folder / "tasks").exists()


def test_a_list_that_cannot_be_held_to_is_told_before_a_task_is_made(command: Command) -> None:
    paper(command.folder)
    (command.folder / "list.txt").write_text("bob/encoders\nwhat the authors wrote\n")
    ended = command("run", "--fast", "paper.md", "--blacklist", "list.txt")
    assert (ended.code, "list.txt, line 2: 'what the authors wrote' is not an address" in ended.complaints[0]) == (
        2,
        True,
    )
    assert not (command.folder / "tasks").exists()


@pytest.mark.slow
def test_a_batch_takes_such_directories_as_papers_each_with_its_own_list(command: Command) -> None:
    papers = command.folder / "papers"
    papers.mkdir()
    for name in ("one", "two"):
        bundle(papers, name)
    (papers / "two" / "blacklist.txt").write_text("example.org\n")
    ended = command("batch", "--fast", "papers", "--until", "plan", "--json")
    assert sorted(row["task"] for row in ended.json()) == ["tasks/one", "tasks/two"]
    lists = [command.document(name, "task.json")["settings"]["blacklist"].split() for name in ("one", "two")]
    assert lists == [["https://github.com/example/waiting", "bob/encoders"], ["example.org"]]


def test_a_paper_at_a_blacklisted_address_is_not_fetched(command: Command) -> None:
    (command.folder / "list.txt").write_text("arxiv.org\n")
    ended = command("run", "--fast", "arXiv:2401.01234", "--blacklist", "list.txt")
    assert (ended.code, "it is on your blacklist (arxiv.org)" in ended.complaints[-1]) == (1, True), ended.err


@needs_git
def test_a_line_that_is_added_later_takes_what_was_fetched_and_no_line_is_ever_lost(command: Command) -> None:
    mirror = command.folder / "mirror"
    repository(mirror, "github.com/bob/encoders")
    first = command("run", "--full", paper(command.folder, LINKING), "--mirror", mirror, "--until", "index")
    fetched = {row["url"] for row in command.document("paper", "code_base.json")["repositories"]}
    assert "https://github.com/bob/encoders" in fetched, first.err
    (command.folder / "list.txt").write_text("bob/encoders\n")
    again = command("resume", "paper", "--blacklist", "list.txt", "--until", "index")
    assert again.code == 0, again.err
    assert "on your blacklist)" in again.err
    rows = command.document("paper", "code_base.json")
    assert fetched - {row["url"] for row in rows["repositories"]} == {"https://github.com/bob/encoders"}
    assert not (command.task("paper") / "code_base" / "bob__encoders").exists()
    (command.folder / "list.txt").write_text("example.org\n")
    assert command("resume", "paper", "--blacklist", "list.txt", "--until", "index").code == 0
    kept = command.document("paper", "task.json")["settings"]["blacklist"].split()
    assert kept == ["bob/encoders", "example.org"]
    assert "up to date" in command("resume", "paper", "--until", "index").err


def test_a_lookup_is_not_asked_on_a_blacklisted_host(tmp_path: Path) -> None:
    settings = ClientSettings(str(tmp_path / "lookups"), blacklist="api.github.com")
    with pytest.raises(NoServiceAnswer, match=r"it is on your blacklist \(api\.github\.com\)"):
        ServiceClient("github", RateLimit(1, 1), settings).answer(
            "https://api.github.com/search/repositories?q=x", bool
        )


@pytest.mark.parametrize(("line", "outcome"), [("pack.example.org", "refused"), ("other.example.org", "asked")])
def test_an_index_of_packages_that_is_blacklisted_is_not_asked(
    line: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def lock(*given: Any, **_: Any) -> LockResult:
        asked.append(given)
        return LockResult(NO_INDEX, (), "")

    monkeypatch.setattr(packages, "lock_wheels", lock)
    settings = {"sandbox": "required", "blacklist": line}
    variables = {"PIP_INDEX_URL": "https://me:word@pack.example.org/simple", "HOME": str(tmp_path)}
    rules = packages.make_package_rules(str(tmp_path), settings, variables, "", None)
    found = packages.lock_packages(["numpy"], rules)
    assert bool(asked) == (outcome == "asked")
    if not asked:
        assert found["unresolved"].startswith(
            "https://pack.example.org/simple is not asked for packages: it is on your blacklist"
        )


def test_an_agent_of_the_users_own_is_told_what_not_to_fetch(command: Command) -> None:
    bundle(command.folder)
    command("run", "--fast", "waiting", "--agent", "cat > /dev/null")
    (prompt, *_) = sorted((command.task("waiting") / "logs").glob("agent-*.prompt.md"))
    assert (
        "Fetch nothing from these addresses, and no copy of what is there: https://github.com/example/waiting, bob/encoders"
        in (prompt.read_text())
    )
