"""Repositories fetched from a server, a mirror and a folder: pinned, whole or not at all, and never twice."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from phases.references.fetch import install
from phases.references.fetch.fetch import fetch_repositories
from phases.references.fetch.install import foreign_names, is_free, remove_repository, remove_tree
from phases.references.fetch.model import FetchRules, RepositoryRefused, WantedRepository
from phases.references.fetch.user_directories import UserRepository, read_user_repository
from phases.references.values import count_fetched
from phases.sandbox.git import git_box_kind
from pipeline.base.errors import TaskBusy, UsageError
from pipeline.base.http.proxy import find_proxy
from tests.drills.points import chosen
from tests.papers import HANGS, ROOT
from tests.proxy import PASSWORD, proxying
from tests.repositories import (
    FILE,
    HOST,
    LINK,
    SUBMODULE,
    Certificates,
    CountingGit,
    GitServer,
    certificates,
    needs_git,
    new_repository,
    serving_repositories,
    without_a_sandbox,
    without_override,
)

pytestmark = needs_git
FILES = {"model.py": b"x = 1\n", "a/b/c.py": b"y = 2\n", "LICENSE": b"SPDX-License-Identifier: MIT\n", "empty": b""}


def valid(name: str, value: Any) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
    Draft202012Validator(schema).validate(value)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass
class Ground:
    """A mirror, and the folder that repositories are fetched into."""

    top: Path
    rules: FetchRules = field(default_factory=FetchRules)
    git: CountingGit = field(default_factory=CountingGit)
    told: list[tuple[int, int, str]] = field(default_factory=list)
    strange: set[str] = field(default_factory=set)
    """Names in the folder that somebody else put there: they stay."""

    @property
    def into(self) -> Path:
        return self.top / "code_base"

    def mirror(self, name: str) -> Path:
        return self.top / "mirror" / "github.com" / name

    def fetch(self, *urls: str, **changed: Any) -> dict[str, Any]:
        wanted = [WantedRepository(url, "cited", (f"B{number}",)) for number, url in enumerate(urls, 1)]
        rules = replace(self.rules, **changed)
        found = fetch_repositories(wanted, str(self.into), rules, self.git, lambda *row: self.told.append(row))
        valid("code_base", found)
        for row in found["files"]:
            data = (self.top / row["path"]).read_bytes()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (row["bytes"], row["sha256"])
            valid("code_base_manifest", json.loads(data))
        names = {row["name"] for row in found["repositories"]}
        assert {path.name for path in self.into.iterdir()} == names | {f"{name}.json" for name in names} | self.strange
        return found


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return ground_in(tmp_path)


def ground_in(folder: Path) -> Ground:
    return Ground(folder, FetchRules(mirror=str(folder / "mirror"), seconds=HANGS))


@pytest.fixture(scope="module")
def fetched_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    ground = ground_in(tmp_path_factory.mktemp("fetched"))
    new_repository(ground.mirror("a/b")).holds(FILES)
    return ground.top, ground.fetch("https://github.com/a/b")


@pytest.fixture
def fetched(fetched_once: tuple[Path, dict[str, Any]], ground: Ground) -> tuple[Ground, dict[str, Any]]:
    """A ground with a repository that was fetched, a copy of one that was made once, and what was found then."""
    shutil.copytree(fetched_once[0], ground.top, dirs_exist_ok=True)
    return ground, fetched_once[1]


def test_a_repository_of_the_mirror_is_kept_with_every_byte_its_commit_and_its_licence(ground: Ground) -> None:
    commit = new_repository(ground.mirror("a/b.git")).holds(FILES)
    found = ground.fetch("https://github.com/a/b", sandbox="bubblewrap")
    assert found == {
        "version": 2,
        "source": "mirror",
        "sandbox": "bubblewrap",
        "repositories": [
            {
                "name": "a__b", "url": "https://github.com/a/b", "fetched_from": "mirror:github.com/a/b.git", "commit": commit,
                "licence": "MIT", "licence_file": "LICENSE", "role": "cited", "references": ["B1"], "files": 4,
                "bytes": sum(map(len, FILES.values())), "left_out": {},
            }
        ],
        "refused": [],
        "notes": [],
        "files": found["files"],
    }  # fmt: skip
    assert contents(ground.into / "a__b") == FILES
    manifest = json.loads((ground.into / "a__b.json").read_text())
    assert [row["path"] for row in manifest["files"]] == sorted(FILES)
    assert ground.told == [(0, 1, "https://github.com/a/b")]


def test_files_are_plain_and_none_can_be_run(ground: Ground) -> None:
    repository = new_repository(ground.mirror("a/b"))
    repository.commit(repository.tree([("100755", b"run.sh", repository.blob(b"#!/bin/sh\n"))]))
    ground.fetch("https://github.com/a/b")
    assert (ground.into / "a__b" / "run.sh").stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (["git", "clone", "-q", "--no-hardlinks"], "a/b"),
        (["git", "clone", "-q", "--no-hardlinks", "--bare"], "a/b"),
        (["git", "clone", "-q", "--mirror"], "a/b.git"),
        (["git", "clone", "-q", "--depth=1"], "a/b"),
    ],
    ids=["a clone with files", "a bare one", "a mirror of git's", "a shallow one"],
)
def test_a_mirror_may_hold_any_kind_of_clone(command: list[str], place: str, ground: Ground) -> None:
    origin = new_repository(ground.top / "origin")
    origin.holds({"old.py": b"1"})
    commit = origin.holds(FILES)
    ground.mirror(place).parent.mkdir(parents=True)
    subprocess.run([*command, f"file://{origin.folder}", str(ground.mirror(place))], check=True, capture_output=True)
    found = ground.fetch("https://github.com/a/b")
    assert [row["commit"] for row in found["repositories"]] == [commit]
    assert contents(ground.into / "a__b") == FILES


def test_a_repository_of_git_with_sha256_is_taken_too(ground: Ground) -> None:
    place = ground.mirror("a/b")
    place.mkdir(parents=True)
    (place / "f").write_bytes(b"f")
    git = ["git", "-C", str(place), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q", "--object-format=sha256"], ["add", "."], ["commit", "-qm", "m"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    found = ground.fetch("https://github.com/a/b")
    assert [len(row["commit"]) for row in found["repositories"]] == [64]
    assert contents(ground.into / "a__b") == {"f": b"f"}


def test_what_is_not_in_the_mirror_is_told_and_the_others_go_on(ground: Ground) -> None:
    new_repository(ground.mirror("c/d")).holds(FILES)
    found = ground.fetch("https://github.com/a/b", "https://github.com/c/d")
    assert [row["name"] for row in found["repositories"]] == ["c__d"]
    assert found["refused"][0]["url"] == "https://github.com/a/b"
    assert "not in the mirror: there is no repository at github.com/a/b in " in found["refused"][0]["why"]


def test_what_is_blacklisted_is_not_taken_from_a_mirror_and_what_was_fetched_before_goes(ground: Ground) -> None:
    new_repository(ground.mirror("a/b")).holds(FILES)
    new_repository(ground.mirror("c/d")).holds(FILES)
    urls = ("https://github.com/a/b", "https://github.com/c/d.git")
    assert len(ground.fetch(*urls)["repositories"]) == 2
    found = ground.fetch(*urls, blacklist="https://github.com/A/b\nx.org")
    assert [row["name"] for row in found["repositories"]] == ["c__d"]
    assert found["refused"] == [
        {"url": urls[0], "why": "it is on your blacklist (https://github.com/A/b)", "cause": "blacklist"}
    ]
    assert not (ground.into / "a__b").exists()
    assert count_fetched(found) == "1 of 2 fetched (1 on your blacklist)"


def test_what_is_there_whole_is_not_fetched_again(ground: Ground) -> None:
    new_repository(ground.mirror("a/b")).holds(FILES)
    first = ground.fetch("https://github.com/a/b")
    starts = len(ground.git.scripts)
    assert ground.fetch("https://github.com/a/b") == first
    assert len(ground.git.scripts) == starts


@pytest.mark.parametrize(
    "damage",
    [
        lambda into: (into / "a__b" / "model.py").write_bytes(b"x = 2\n"),
        lambda into: (into / "a__b" / "a" / "b" / "c.py").unlink(),
        lambda into: (into / "a__b" / "more.py").write_bytes(b"1"),
        lambda into: shutil.rmtree(into / "a__b"),
        lambda into: (into / "a__b" / "link").symlink_to("LICENSE"),
        lambda into: (into / "a__b").rename(into.parent / "moved").with_name("code_base").joinpath("a__b").symlink_to("../moved"),
    ],
    ids=[
        "a changed file", "a lost file", "one more file", "no tree", "a link among the files", "a link for the tree",
    ],
)  # fmt: skip
def test_what_is_not_as_the_manifest_says_is_made_anew(damage: Any, fetched: tuple[Ground, dict[str, Any]]) -> None:
    ground, first = fetched
    damage(ground.into)
    assert ground.fetch("https://github.com/a/b") == first
    assert contents(ground.into / "a__b") == FILES


def test_what_nobody_wants_any_more_is_removed(ground: Ground) -> None:
    for name in ("a/b", "c/d"):
        new_repository(ground.mirror(name)).holds(FILES)
    ground.fetch("https://github.com/a/b", "https://github.com/c/d")
    (ground.into / ".fetching-x" / "git").mkdir(parents=True)
    found = ground.fetch("https://github.com/c/d")
    assert [row["name"] for row in found["repositories"]] == ["c__d"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(pytest.param(key, None, marks=pytest.mark.slow) for key in ("version", "url", "fetched_from", "bytes", "left_out")),
        *(pytest.param(key, [], marks=pytest.mark.slow) for key in ("commit", "licence", "licence_file")),
        ("files", None),
        ("version", True), ("version", 2), ("url", "https://github.com/c/d"), ("fetched_from", "a\x1b[2J"), ("commit", "main"),
        ("licence", ""), ("bytes", 7), ("bytes", "7"), ("left_out", {"links": "1"}), ("left_out", {"links": -1}),
        ("files", {}), ("files", ["model.py"]), ("files", [{"path": "model.py"}]), ("files", []), ("more", 1),
    ],
)  # fmt: skip
def test_a_manifest_that_says_something_odd_is_made_anew(
    key: str, value: Any, fetched: tuple[Ground, dict[str, Any]]
) -> None:
    ground, first = fetched
    path = ground.into / "a__b.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert ground.fetch("https://github.com/a/b") == first


@pytest.mark.parametrize(
    "key", ["version", "url", "fetched_from", "commit", "licence", "licence_file", "bytes", "left_out", "files"]
)
def test_a_manifest_that_lacks_something_is_made_anew(key: str, fetched: tuple[Ground, dict[str, Any]]) -> None:
    ground, first = fetched
    path = ground.into / "a__b.json"
    value = json.loads(path.read_text())
    del value[key]
    path.write_text(json.dumps(value))
    assert ground.fetch("https://github.com/a/b") == first


def test_a_file_that_is_told_of_twice_makes_a_manifest_odd(fetched: tuple[Ground, dict[str, Any]]) -> None:
    ground, first = fetched
    path = ground.into / "a__b.json"
    value = json.loads(path.read_text())
    value["files"].append(next(row for row in value["files"] if not row["bytes"]))
    path.write_text(json.dumps(value))
    assert ground.fetch("https://github.com/a/b") == first


# What somebody else put there


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b'{"version": 1'),
        lambda path: path.write_bytes(b"[]"),
        lambda path: path.write_bytes(b'{"name": "a__b", "version": "1.0.0", "files": ["dist"]}'),
        lambda path: path.write_bytes(path.read_bytes().replace(b'"a__b"', b'"c__d"')),
    ],
    ids=["no manifest", "half a manifest", "a manifest of nothing", "a file of some other tool", "the manifest of another"],
)  # fmt: skip
def test_a_folder_without_a_manifest_of_ours_is_never_touched_and_its_name_not_used(
    damage: Any, fetched: tuple[Ground, dict[str, Any]]
) -> None:
    ground, _ = fetched
    (ground.into / "a__b" / "only_copy.py").write_bytes(b"1")
    damage(ground.into / "a__b.json")
    before, ground.strange = contents(ground.into), {path.name for path in ground.into.iterdir()}
    found = ground.fetch("https://github.com/a/b")
    assert [row["name"] for row in found["repositories"]] == ["a__b-2"]
    assert contents(ground.into / "a__b-2") == FILES
    assert before.items() <= contents(ground.into).items()
    assert "'a__b'" in found["notes"][0]
    assert found["notes"][0].endswith("neither read nor removed; give code of your own with --references DIR")
    starts = len(ground.git.scripts)
    assert ground.fetch("https://github.com/a/b") == found
    assert len(ground.git.scripts) == starts


def test_what_is_not_ours_stays_whatever_is_wanted(ground: Ground) -> None:
    ground.into.mkdir()
    for name in ("mine", "one more"):
        (ground.into / name).mkdir()
        (ground.into / name / "only_copy.py").write_bytes(b"1")
    for name in ("mine.json", "package.json", "notes.txt", "folder__one", ".hidden", "\x1b[2J"):
        (ground.into / name).write_bytes(b"{}")
    (ground.into / "link").symlink_to("mine")
    os.mkfifo(ground.into / "pipe.json")
    (ground.into / ".fetching-a__b" / "git").mkdir(parents=True)
    before = contents(ground.into)
    ground.strange = {path.name for path in ground.into.iterdir()} - {".fetching-a__b"}
    (ground.top / "refs" / "one").mkdir(parents=True)
    (ground.top / "refs" / "one" / "f.py").write_bytes(b"1")
    for _ in range(2):
        found = ground.fetch(mirror=None, folders=str(ground.top / "refs"))
        assert [row["name"] for row in found["repositories"]] == ["folder__one-2"]
        assert before.items() <= contents(ground.into).items()
    assert " and 5 more, which phase 07 did not put there" in found["notes"][0]
    assert found["notes"][0].isprintable()
    ground.fetch()
    assert contents(ground.into) == before


def test_a_file_beside_a_manifest_of_ours_is_not_ours(fetched: tuple[Ground, dict[str, Any]]) -> None:
    ground, _ = fetched
    shutil.rmtree(ground.into / "a__b")
    (ground.into / "a__b").write_bytes(b"precious")
    ground.strange = {"a__b"}
    assert [row["name"] for row in ground.fetch("https://github.com/a/b")["repositories"]] == ["a__b-2"]
    assert (ground.into / "a__b").read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["a__b", "a__b.json"])
def test_what_comes_under_a_name_while_it_is_fetched_is_not_touched(name: str, ground: Ground) -> None:
    new_repository(ground.mirror("a/b")).holds(FILES)
    calls: list[int] = []

    def meanwhile() -> None:
        calls.append(1)
        if len(calls) == 3:  # the last time that it is asked before anything gets its name
            (ground.into / name).write_bytes(b"precious")

    ground.strange = {name}
    found = ground.fetch("https://github.com/a/b", in_place=meanwhile)
    assert "something that is not ours came to " in found["refused"][0]["why"]
    assert (ground.into / name).read_bytes() == b"precious"


def test_what_is_removed_may_be_unwritable_and_no_link_in_it_is_followed(tmp_path: Path) -> None:
    tree = tmp_path / "code_base" / "x"
    (tree / "a" / "b" / "a").mkdir(parents=True)
    (tree / "a" / "b" / "f").write_bytes(b"1")
    (tree / "a" / "out").symlink_to(tmp_path / "kept")
    (tree / "up").symlink_to("..")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "f").write_bytes(b"1")
    for folder in (tree / "a" / "b" / "a", tree / "a" / "b", tree / "a", tree):
        folder.chmod(0o500)
    with without_override():
        remove_tree("x", str(tmp_path / "code_base"))
    assert not tree.exists()
    assert contents(tmp_path) == {"kept/f": b"1"}


def test_what_is_left_of_a_crash_while_sweeping_is_still_ours(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/b", "c/d"):
        new_repository(ground.mirror(name)).holds(FILES)
    ground.fetch("https://github.com/a/b", "https://github.com/c/d")

    def crash(name: str, into: str) -> None:
        remove_tree(name, into)
        raise KeyboardInterrupt

    for _ in range(4):
        with monkeypatch.context() as patch:
            patch.setattr(install, "remove_tree", crash)
            with pytest.raises(KeyboardInterrupt):
                ground.fetch()
        assert foreign_names(str(ground.into)) == set()
    assert ground.fetch()["notes"] == []


@pytest.mark.parametrize("step", ["replace_file", "sync_directory"])
def test_what_is_left_of_a_crash_while_names_are_given_is_still_ours(
    step: str, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*given: str) -> None:
        raise KeyboardInterrupt

    new_repository(ground.mirror("a/b")).holds(FILES)
    with monkeypatch.context() as patch:
        patch.setattr(install, step, crash)
        with pytest.raises(KeyboardInterrupt):
            ground.fetch("https://github.com/a/b")
    assert foreign_names(str(ground.into)) == set()
    assert [row["name"] for row in ground.fetch("https://github.com/a/b")["repositories"]] == ["a__b"]


def test_only_what_is_ours_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    remove_repository("mine", str(tmp_path))
    assert (tmp_path / "mine").exists()
    assert (is_free("mine", str(tmp_path)), is_free("other", str(tmp_path))) == (False, True)


# Folders of the user's that are the task's own


@pytest.mark.parametrize("flag", ["references", "mirror"])
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("tasks/p/code_base", "where this task keeps what it fetches"),
        ("tasks/p/code_base/mine", "where this task keeps what it fetches"),
        ("link", "where this task keeps what it fetches"),
        ("tasks/p", "holds this task itself"),
        ("tasks", "holds this task itself"),
    ],
    ids=["the same", "one in it", "a link to it", "the task", "the tasks"],
)
def test_a_folder_of_the_users_that_is_the_tasks_own_is_refused_before_anything_is_touched(
    place: str, why: str, flag: str, tmp_path: Path
) -> None:
    into = tmp_path / "tasks" / "p" / "code_base"
    (into / "mine").mkdir(parents=True)
    (into / "mine" / "only_copy.py").write_bytes(b"1")
    (into / ".fetching-x").mkdir()
    (tmp_path / "link").symlink_to(into)
    given = str(tmp_path / place)
    rules = FetchRules(folders=given) if flag == "references" else FetchRules(mirror=given)
    with pytest.raises(UsageError) as caught:
        fetch_repositories([], str(into), rules, CountingGit(), lambda *row: None)
    assert str(caught.value).startswith(f"--{flag} {tmp_path / place} ")
    assert why in str(caught.value)
    assert str(caught.value).endswith("; put the code into its own directory, and give that one")
    assert (into / ".fetching-x").exists()
    assert contents(into) == {"mine/only_copy.py": b"1"}


def test_a_mirror_that_holds_the_tasks_is_refused(tmp_path: Path) -> None:
    rules = FetchRules(mirror=str(tmp_path))
    with pytest.raises(UsageError, match="holds this task itself"):
        fetch_repositories([], str(tmp_path / "tasks/p/code_base"), rules, CountingGit(), lambda *row: None)


def with_tasks(top: Path) -> Path:
    """Folders of references with the tasks in one of them. The folder that is fetched into."""
    (top / "refs" / "one").mkdir(parents=True)
    (top / "refs" / "one" / "f.py").write_bytes(b"1")
    into = top / "refs" / "tasks" / "p" / "code_base"
    into.mkdir(parents=True)
    return into


def test_the_folder_of_the_tasks_among_the_references_is_left_out_with_a_note(tmp_path: Path) -> None:
    into, refs = with_tasks(tmp_path), tmp_path / "refs"
    found = fetch_repositories([], str(into), FetchRules(folders=str(refs)), CountingGit(), lambda *row: None)
    assert [row["name"] for row in found["repositories"]] == ["folder__one"]
    assert found["notes"] == [f"{refs}: 'tasks' is left out, because this task itself lies in it"]


def test_one_repository_that_holds_the_tasks_is_refused(tmp_path: Path) -> None:
    into, refs = with_tasks(tmp_path), tmp_path / "refs"
    (refs / ".git").mkdir()
    with pytest.raises(UsageError, match="is one repository, and holds this task itself; put the code into its own directory"):
        fetch_repositories([], str(into), FetchRules(folders=str(refs)), CountingGit(), lambda *row: None)


def test_names_differ_whatever_the_case_and_never_from_a_manifest_of_another(ground: Ground) -> None:
    urls = ["a/b", "A/B", "x-y/data", "x-y/data.json", "deep/er/name"]
    for name in urls:
        new_repository(ground.mirror(name)).holds(FILES)
    found = ground.fetch(*(f"https://github.com/{name}" for name in urls))
    names = [row["name"] for row in found["repositories"]]
    assert names == ["a__b", "A__B-2", "x-y__data", "x-y__data-json", "er__name"]


def test_one_address_in_two_spellings_is_one_repository(ground: Ground) -> None:
    new_repository(ground.mirror("a/b")).holds(FILES)
    found = ground.fetch("https://github.com/a/b", "https://GitHub.com/a/b.git/")
    assert [(row["name"], row["references"]) for row in found["repositories"]] == [("a__b", ["B1", "B2"])]


def test_more_repositories_than_are_permitted_are_named(ground: Ground) -> None:
    for name in ("a/b", "c/d"):
        new_repository(ground.mirror(name)).holds(FILES)
    found = ground.fetch("https://github.com/a/b", "https://github.com/c/d", most_repositories=1)
    assert [row["name"] for row in found["repositories"]] == ["a__b"]
    assert found["refused"][0]["url"] == "https://github.com/c/d"
    assert "at most 1 repositories are fetched" in found["refused"][0]["why"]


def test_a_task_that_another_run_took_over_is_not_written(ground: Ground) -> None:
    def taken() -> None:
        raise TaskBusy("another run works on it")

    new_repository(ground.mirror("a/b")).holds(FILES)
    with pytest.raises(TaskBusy):
        ground.fetch("https://github.com/a/b", in_place=taken)
    assert not ground.into.exists()


# Folders of the user's


def test_each_sub_folder_is_a_repository(ground: Ground) -> None:
    for name, files in (
        ("one", FILES),
        ("two words", {"z.py": b"z", ".git/config": b"[core]\n", "sub/.GIT/hooks/x": b""}),
    ):
        for path, data in files.items():
            (ground.top / "mine" / name / path).parent.mkdir(parents=True, exist_ok=True)
            (ground.top / "mine" / name / path).write_bytes(data)
    (ground.top / "mine" / "link").symlink_to("/etc")
    (ground.top / "mine" / "one" / "out").symlink_to("/etc/passwd")
    os.mkfifo(ground.top / "mine" / "one" / "pipe")
    found = ground.fetch(mirror=None, folders=str(ground.top / "mine"))
    assert (found["source"], found["refused"]) == ("folders", [])
    assert "'link' is a link" in found["notes"][0]
    one, two = found["repositories"]
    assert (one["name"], one["url"], one["commit"], one["licence"]) == ("folder__one", "folder:one", None, "MIT")
    assert one["left_out"] == {"links": 1, "other": 1}
    assert contents(ground.into / "folder__one") == FILES
    assert (two["name"], contents(ground.into / "folder__two-words")) == ("folder__two-words", {"z.py": b"z"})
    assert ground.git.scripts == []


def test_a_folder_without_sub_folders_or_with_a_repository_of_git_in_it_is_one_repository(ground: Ground) -> None:
    (ground.top / "mine").mkdir()
    (ground.top / "mine" / "f.py").write_bytes(b"1")
    found = ground.fetch(mirror=None, folders=str(ground.top / "mine"))
    assert [row["name"] for row in found["repositories"]] == ["folder__mine"]
    for name in ("src", ".git"):
        (ground.top / "mine" / name).mkdir()
    (ground.top / "mine" / "src" / "g.py").write_bytes(b"2")
    ground.fetch(mirror=None, folders=str(ground.top / "mine"))
    assert contents(ground.into / "folder__mine") == {"f.py": b"1", "src/g.py": b"2"}


def test_a_folder_whose_name_is_no_text_is_taken_in_and_the_others_too(ground: Ground) -> None:
    for name in (b"b\xffd", b"good"):
        folder = ground.top / "refs" / os.fsdecode(name)
        folder.mkdir(parents=True)
        (folder / "f.py").write_bytes(name)
    (ground.top / "refs" / os.fsdecode(b"link\xff")).symlink_to("good")
    found = ground.fetch(mirror=None, folders=str(ground.top / "refs"))
    assert found["refused"] == []
    assert [(row["name"], row["url"]) for row in found["repositories"]] == [
        ("folder__b-d", "folder:b\N{REPLACEMENT CHARACTER}d"),
        ("folder__good", "folder:good"),
    ]
    assert found["repositories"][0]["fetched_from"] == str(ground.top / "refs" / "b\N{REPLACEMENT CHARACTER}d")
    assert json.dumps(found, ensure_ascii=False).encode()


def test_folders_whose_own_path_is_no_text_are_told_of_in_text(ground: Ground) -> None:
    odd = ground.top / os.fsdecode(b"o\xffdd")
    (odd / "locked").mkdir(parents=True)
    (odd / "link").symlink_to("locked")
    (odd / "locked").chmod(0)
    with without_override():
        found = ground.fetch(mirror=None, folders=str(odd))
    (odd / "locked").chmod(0o755)
    assert "o\N{REPLACEMENT CHARACTER}dd/locked cannot be read" in found["refused"][0]["why"]
    found["refused"] += ground.fetch("https://github.com/a/b", mirror=str(odd))["refused"]
    assert json.dumps(found, ensure_ascii=False).encode()


def test_a_file_that_the_user_may_not_read_is_counted_and_the_others_are_taken(ground: Ground) -> None:
    folder = ground.top / "refs" / "one"
    (folder / "closed").mkdir(parents=True)
    for name in ("no.py", "yes.py", "closed/f.py"):
        (folder / name).write_bytes(b"1")
    (folder / "no.py").chmod(0)
    (folder / "closed").chmod(0)
    with without_override():
        found = ground.fetch(mirror=None, folders=str(ground.top / "refs"))
    (folder / "closed").chmod(0o755)
    assert (found["refused"], found["repositories"][0]["left_out"]) == ([], {"unreadable": 2})
    assert contents(ground.into / "folder__one") == {"yes.py": b"1"}


def test_a_file_that_grows_while_it_is_taken_in_is_named(ground: Ground) -> None:
    folder = ground.top / "refs" / "one"
    folder.mkdir(parents=True)
    (folder / "f.py").write_bytes(b"1")
    content = read_user_repository(UserRepository("folder__one", str(folder), "folder:one"), ground.rules).contents
    (folder / "f.py").write_bytes(b"1" * 2_200_000)
    with pytest.raises(
        RepositoryRefused, match=r"one/f\.py cannot be read \(f\.py is larger than 2,097,152 bytes\); repair it"
    ):
        next(content)


def test_a_folder_that_changed_is_taken_in_anew(ground: Ground) -> None:
    (ground.top / "mine" / "one").mkdir(parents=True)
    for data in (b"1", b"2"):
        (ground.top / "mine" / "one" / "f.py").write_bytes(data)
        ground.fetch(mirror=None, folders=str(ground.top / "mine"))
        assert contents(ground.into / "folder__one") == {"f.py": data}


# A server


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("certificates"))


ANSWERS = {"/gone/": (404, ""), "/private/": (401, ""), "/slow/": (0, ""), "/plain/": (302, "http://127.0.0.1:1/a/b")}


def asking(certified: Certificates) -> FetchRules:
    """Rules under which the server of the tests may be asked, by its name, which leads nowhere outside them."""
    return FetchRules(
        seconds=HANGS,
        private=True,
        resolve=lambda host, port: ["127.0.0.1"] if host == HOST else [],
        ssl_context=certified.client,
        ca_file=certified.ca_file,
    )


@pytest.fixture
def served(ground: Ground, certified: Certificates) -> Iterator[GitServer]:
    ground.rules = asking(certified)
    with serving_repositories(ground.top / "served", certified.server, ANSWERS) as server:
        yield server


@pytest.mark.parametrize("sandboxed", [True, False], ids=["in the best box here", "without a box"])
def test_a_repository_is_fetched_by_https_from_the_address_that_was_checked(
    sandboxed: bool, ground: Ground, served: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sandboxed:
        without_a_sandbox(monkeypatch)
    repository = new_repository(ground.top / "served" / "a" / "b.git")
    commit = repository.holds({**FILES, "weights.bin": os.urandom(2_100_000)}, (SUBMODULE, b"sub", "1" * 40))
    found = ground.fetch(f"{served.base}/a/b.git", sandbox=git_box_kind())
    assert found["refused"] == []
    row = found["repositories"][0]
    assert (found["source"], row["commit"], row["fetched_from"]) == ("network", commit, f"{served.base}/a/b.git")
    assert row["left_out"] == {"large": 1, "submodules": 1}
    assert contents(ground.into / "a__b") == FILES
    # The name leads nowhere outside this test: git had to be told where.
    assert [asked.split()[0] for asked in served.asked] == ["GET", "GET", "POST", "POST"]


@pytest.mark.parametrize("sandboxed", [True, False], ids=["in the best box here", "without a box"])
def test_a_repository_comes_through_a_proxy_from_the_address_that_was_checked(
    sandboxed: bool, ground: Ground, served: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sandboxed:
        without_a_sandbox(monkeypatch)
    new_repository(ground.top / "served" / "a" / "b").holds(FILES)
    with proxying(ground.top, "407", served.port) as proxy:
        rules = replace(ground.rules, private=False, resolve=lambda host, port: ["8.8.8.8"])
        ground.rules = replace(rules, proxy=find_proxy({"HTTPS_PROXY": proxy.with_password}))
        # a port of the web, since the addresses are public
        found = ground.fetch(f"https://{HOST}/a/b")
        assert found["refused"] == []
        # git was told a name, and the proxy was not
        assert set(proxy.asked) == {"8.8.8.8:443"}
        assert len(proxy.asked) > 1
        assert HOST not in proxy.heads
        assert not any(PASSWORD in script or str(proxy.port) in script for script in ground.git.scripts)
    assert contents(ground.into / "a__b") == FILES


def test_a_proxy_that_leads_to_no_repository_is_named(ground: Ground, served: GitServer) -> None:
    with proxying(ground.top, "403") as proxy:
        ground.rules = replace(ground.rules, proxy=find_proxy({"PIPELINE_PROXY": proxy.url}))
        why = ground.fetch(f"{served.base}/a/b")["refused"][0]["why"]
    assert (
        f"the proxy 127.0.0.1:{proxy.port} (the setting proxy) refuses to lead to 127.0.0.1:{served.port} (403)" in why
    )
    assert why.endswith("or clone it by hand, and give the directory")
    assert served.asked == []


def test_a_dead_a_private_and_a_misled_link_are_told_and_the_others_go_on(ground: Ground, served: GitServer) -> None:
    new_repository(ground.top / "served" / "a" / "b").holds(FILES)
    new_repository(ground.top / "served" / "no" / "commit")
    paths = ["gone/x", "private/x", "plain/x", "no/commit", "a/b"]
    found = ground.fetch(*(f"{served.base}/{path}" for path in paths))
    why = {row["url"].removeprefix(f"{served.base}/"): row["why"] for row in found["refused"]}
    assert list(why) == paths[:-1]
    assert why["gone/x"].endswith("it is not there (404); check the address")
    assert "it is private, or not there (401)" in why["private/x"]
    assert "redirects from https to http" in why["plain/x"]
    assert "it is empty, or has no default branch" in why["no/commit"]
    assert contents(ground.into / "a__b") == FILES


def test_a_redirect_to_a_blacklisted_repository_is_not_followed(ground: Ground, certified: Certificates) -> None:
    ground.rules = asking(certified)
    answers = {"/old/": (302, "/a/b/info/refs?service=git-upload-pack")}
    with serving_repositories(ground.top / "served", certified.server, answers) as served:
        new_repository(ground.top / "served" / "a" / "b").holds(FILES)
        found = ground.fetch(f"{served.base}/old/name", blacklist="a/b")
        assert len(served.asked) == 1
    (refused,) = found["refused"]
    assert (refused["cause"], "it is on your blacklist (a/b)" in refused["why"]) == ("blacklist", True), refused


def test_a_slow_server_is_given_up(ground: Ground, served: GitServer) -> None:
    found = ground.fetch(f"{served.base}/slow/x", seconds=1)
    assert "it takes longer than 1 s" in found["refused"][0]["why"]


def test_a_redirect_to_an_address_inside_is_refused_before_it_is_asked(ground: Ground, certified: Certificates) -> None:
    hosts = {HOST: ["8.8.8.8"], "inside.example": ["127.0.0.1"]}
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return hosts.get(host, [])

    ground.rules = FetchRules(seconds=HANGS, resolve=resolve)
    found = ground.fetch("https://inside.example/a/b", "https://127.0.0.1/a/b", "https://169.254.169.254/a/b")
    assert all("that is not allowed" in row["why"] or "no address" in row["why"] for row in found["refused"])
    assert (len(found["refused"]), ground.git.scripts) == (3, [])


def test_what_was_fetched_from_a_server_is_not_asked_for_again(ground: Ground, served: GitServer) -> None:
    new_repository(ground.top / "served" / "a" / "b").holds(FILES)
    first = ground.fetch(f"{served.base}/a/b")
    before = list(served.asked)
    assert ground.fetch(f"{served.base}/a/b") == first
    assert served.asked == before


@pytest.mark.parametrize("sandboxed", [True, False], ids=["in the best box here", "without a box"])
@pytest.mark.parametrize("question", ["2. /a/b", "POST /a/b"], ids=["the list", "the content"])
def test_a_redirect_that_only_git_is_sent_is_not_followed(
    question: str, sandboxed: bool, ground: Ground, certified: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sandboxed:
        without_a_sandbox(monkeypatch)
    for place in ("served", "inside"):
        new_repository(ground.top / place / "a" / "b").holds(FILES)
    with serving_repositories(ground.top / "inside", certified.server) as inside:
        path = "/a/b/info/refs?service=git-upload-pack" if question.startswith("2") else "/a/b/git-upload-pack"
        answers = {question: (302, f"https://127.0.0.1:{inside.port}{path}")}
        with serving_repositories(ground.top / "served", certified.server, answers) as server:
            ground.rules = asking(certified)
            found = ground.fetch(f"{server.base}/a/b")
        assert "git cannot take it (" in found["refused"][0]["why"]
        assert inside.asked == []


def test_content_that_does_not_come_is_given_up(ground: Ground, certified: Certificates) -> None:
    new_repository(ground.top / "served" / "a" / "b").holds(FILES)
    with serving_repositories(ground.top / "served", certified.server, {"POST /a/b": (0, "")}) as server:
        ground.rules = asking(certified)
        found = ground.fetch(f"{server.base}/a/b", seconds=3)
    assert "it takes longer than 3 s" in found["refused"][0]["why"]


def test_content_that_is_no_pack_is_told(ground: Ground, certified: Certificates) -> None:
    new_repository(ground.top / "served" / "a" / "b").holds(FILES)
    with serving_repositories(ground.top / "served", certified.server, {"POST /a/b": (200, "")}) as server:
        ground.rules = asking(certified)
        found = ground.fetch(f"{server.base}/a/b")
    assert "git cannot take it (" in found["refused"][0]["why"]


def test_more_than_is_permitted_is_not_fetched(ground: Ground, served: GitServer) -> None:
    repository = new_repository(ground.top / "served" / "a" / "b")
    repository.holds({f"{number}.bin": os.urandom(1_500_000) for number in range(8)})
    found = ground.fetch(f"{served.base}/a/b", most_bytes=1_000_000, most_files=100)
    assert "it is too large, and at most 0.954 MiB of a repository are taken" in found["refused"][0]["why"]


def test_evil_names_from_a_server_are_left_out(ground: Ground, served: GitServer) -> None:
    repository = new_repository(ground.top / "served" / "a" / "b")
    evil = repository.blob(b"evil")
    rows = [(FILE, name, evil) for name in (b"..", b".git", b"../../canary")] + [(LINK, b"out", evil)]
    repository.holds({"f.py": b"1", ".gitattributes": b"* filter=lfs\n"}, *rows)
    found = ground.fetch(f"{served.base}/a/b")
    assert [row["left_out"] for row in found["repositories"]] == [{"links": 1, "odd_names": 3}]
    assert contents(ground.into / "a__b") == {"f.py": b"1", ".gitattributes": b"* filter=lfs\n"}


# Killed in the middle

VICTIM = """
import os, signal, sys
from phases.references.fetch.fetch import fetch_repositories
from phases.references.fetch.model import FetchRules, WantedRepository
from phases.sandbox.git import run_git
mirror, into, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
count = 0

def watch(event, arguments):
    global count
    if event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "subprocess.Popen") or (
        event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_WRONLY
    ):
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)

def git(script, folder, **how):
    print(script, flush=True)
    return run_git(script, folder, **how)

wanted = [WantedRepository(f"https://github.com/a/{name}", "cited") for name in ("one", "two")]
sys.addaudithook(watch)
fetch_repositories(wanted, into, FetchRules(mirror=mirror), git, lambda *row: print("TELL", *row, flush=True))
sys.stdout.write(f"COUNT {count}")
"""


def killed(ground: Ground, last: int) -> tuple[int, str]:
    words = [sys.executable, "-c", VICTIM, str(ground.top / "mirror"), str(ground.into), str(last)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode, done.stdout


def nothing_there(into: Path) -> None:
    shutil.rmtree(into)


def damaged_there(into: Path) -> None:
    """What is there has to be replaced: at no point may a folder be left without its manifest."""
    for name in ("one", "two"):
        (into / f"a__{name}" / "model.py").write_bytes(b"damaged")


@pytest.mark.slow
@pytest.mark.parametrize("before", [nothing_there, damaged_there], ids=["nothing there", "damaged there"])
def test_killed_at_any_point_it_ends_the_same_and_what_was_whole_is_not_fetched_twice(
    before: Callable[[Path], None], ground: Ground
) -> None:
    for name in ("one", "two"):
        new_repository(ground.mirror(f"a/{name}")).holds({**FILES, "name": name.encode()})
    assert killed(ground, 0)[0] == 0
    before(ground.into)
    code, told = killed(ground, 0)
    assert code == 0
    steps, starts = int(told.split()[-1]), told.count("git --git-dir")
    whole = contents(ground.into)
    for last in chosen(range(1, steps + 1), 4):
        before(ground.into)
        code, told = killed(ground, last)
        assert code == -signal.SIGKILL, f"it was not killed at step {last}"
        first_was_whole = "TELL 1 2" in told
        again = killed(ground, 0)[1]
        assert contents(ground.into) == whole
        expected = (0, starts // 2) if first_was_whole else (starts // 2, starts)
        assert again.count("git --git-dir") in expected, f"killed at step {last} of {steps}"
    assert {path.name for path in ground.into.iterdir()} == {"a__one", "a__one.json", "a__two", "a__two.json"}
