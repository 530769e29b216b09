"""Full mode as a user has it: a paper that links repositories, a mirror of them on the disk, the real command and real git."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from phases.references.values import count_fetched
from tests.papers import HANGS, Command, Ended, command_line, paper
from tests.rows import later

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine")

PAPER = """\
# Patient Encoders

Alice Author

## Abstract

We encode with patience. Our code is available at https://github.com/alice/patient-encoders.

## 1 Introduction

Encoders are old [2].

## 2 Method

Our implementation is based on the encoder of [1]. The patient encoder adds a waiting gate to each attention head
and normalizes the layer before it. We minimize the cross-entropy loss of the encoder.

$$ y = \\mathrm{softmax}(x) + w $$

## 3 Experiments

We train the encoder with a learning rate of 0.1 and a batch size of 32 on the Lobby data set, and report the accuracy.
We compare with https://github.com/carol/missing as a baseline.

## References

[1] B. Builder and D. Doer. Waiting encoders for everyone. In Proceedings of Waiting, 2019. https://github.com/bob/encoders

[2] E. Elder. On old encoders. Journal of Time, 2001.
"""
MODEL = '''\
"""Encoders that wait."""

from .layers import LayerNorm


class PatientEncoder:
    """An attention encoder with a waiting gate on each head."""

    def forward(self, x):
        """Normalizes the layer, attends, and waits."""
        return LayerNorm()(x)
'''
FILES = {
    "README.md": "# Encoders\n\nEncoders that wait.\n",
    "LICENSE": (
        "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software.\n\n"
        "The above copyright notice and this permission notice shall be included in all copies of the Software.\n"
    ),
    "encoders/__init__.py": "",
    "encoders/model.py": MODEL,
    "encoders/layers.py": 'class LayerNorm:\n    """Normalizes a layer."""\n\n    def __call__(self, x):\n        return x\n',
    "encoders/loss.c": "/* The cross-entropy loss. */\nint cross_entropy(int label) { return label; }\n",
}
TRIO = ("references", "repositories", "index")


def git(folder: Path, *arguments: str) -> str:
    nobody = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    names = {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {f"GIT_{who}_DATE": "2020-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    told = subprocess.run(
        ["git", *arguments], cwd=folder, env={**nobody, **names, **dates}, capture_output=True, text=True, check=True
    )
    return told.stdout.strip()


def repository(mirror: Path, name: str, files: Mapping[str, str] = FILES) -> str:
    """A repository in a mirror; its commit."""
    folder = mirror / name
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=all")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mirror")
    repository(folder, "github.com/bob/encoders")
    repository(folder, "github.com/alice/patient-encoders", {"secret.py": "ANSWER = 42\n"})
    return folder


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, mirror: Path) -> tuple[Command, Ended]:
    command = Command(tmp_path_factory.mktemp("full"))
    return command, command("run", "--full", paper(command.folder, PAPER), "--mirror", mirror)


def statuses(command: Command) -> dict[str, str]:
    return {row["name"]: row["status"] for row in command.document("paper", "report.json")["phases"]}


def references(command: Command) -> Any:
    return yaml.safe_load((command.task("paper") / "reference.txt").read_text(encoding="utf-8"))


def test_the_trio_finds_fetches_and_indexes_what_the_paper_builds_on(full: tuple[Command, Ended], mirror: Path) -> None:
    command, ended = full
    assert ended.code == 3, ended.err
    assert "code of a repository that the paper builds on; " in ended.out
    assert {name: statuses(command)[name] for name in TRIO} == dict.fromkeys(TRIO, "done")
    found = {row["url"]: row for row in references(command)["repositories"]}
    assert found["https://github.com/bob/encoders"]["role"] == "basis"
    assert "Our implementation is based on" in found["https://github.com/bob/encoders"]["why"]
    fetched = command.document("paper", "code_base.json")
    assert [row["url"] for row in fetched["repositories"]] == ["https://github.com/bob/encoders"]
    row = fetched["repositories"][0]
    assert row["commit"] == git(mirror / "github.com/bob/encoders", "rev-parse", "HEAD")
    assert (row["licence"], row["licence_file"], row["files"]) == ("MIT", "LICENSE", len(FILES))
    assert (command.task("paper") / "code_base" / row["name"] / "encoders/model.py").read_text() == MODEL
    index = command.document("paper", "indexes/index.json")
    assert index["repositories"][0]["languages"]["python"] == 3
    symbols = json.loads((command.task("paper") / index["repositories"][0]["path"]).read_text())["files"]
    model = next(row for row in symbols if row["path"] == "encoders/model.py")
    assert [(symbol["kind"], symbol["name"]) for symbol in model["symbols"]] == [
        ("class", "PatientEncoder"),
        ("method", "forward"),
    ]
    assert index["relations"], "no planned file has anything to do with the code that the paper builds on"
    assert all(0 < row["confidence"] <= 1 and row["why"] for row in index["relations"])


def test_what_cannot_be_fetched_is_named_and_the_run_goes_on(full: tuple[Command, Ended]) -> None:
    command, _ = full
    refused = {row["url"]: row["why"] for row in command.document("paper", "code_base.json")["refused"]}
    assert "mirror" in refused["https://github.com/carol/missing"]


@pytest.mark.slow
def test_the_papers_own_repository_is_left_out_unless_it_is_allowed(
    full: tuple[Command, Ended], mirror: Path, tmp_path: Path
) -> None:
    own = "https://github.com/alice/patient-encoders"
    command, _ = full
    row = next(row for row in references(command)["repositories"] if row["url"] == own)
    assert (row["role"], row["fetch"]) == ("own", False)
    assert "--allow-own-code" in row["why"]
    assert not list((command.task("paper") / "code_base").rglob("secret.py"))
    allowed = Command(tmp_path)
    allowed("run", "--full", paper(tmp_path, PAPER), "--mirror", mirror, "--allow-own-code", "--until", "08")
    assert own in [row["url"] for row in allowed.document("paper", "code_base.json")["repositories"]]


def test_the_code_is_searched_in_words_and_by_name(full: tuple[Command, Ended]) -> None:
    command, _ = full
    for query in ("PatientEncoder", "attention encoder with a waiting gate"):
        best = command("search", "paper", query, "--json").json()["answers"][0]
        assert (best["file"], best["name"], best["licence"]) == ("encoders/model.py", "PatientEncoder", "MIT")
    shown = command("search", "paper", "cross_entropy").out
    assert "bob__encoders/encoders/loss.c:2  function cross_entropy  (MIT)" in shown
    assert "int cross_entropy(int label)" in shown
    nothing = command("search", "paper", "zebra quagga okapi")
    assert (nothing.code, nothing.out) == (1, "nothing matches 'zebra quagga okapi'\n")


def test_a_search_without_its_cache_makes_it_anew(full: tuple[Command, Ended], tmp_path: Path) -> None:
    command, _ = full
    shutil.copytree(command.task("paper"), tmp_path / "paper")
    assert all(path.name.endswith(".json") for path in (tmp_path / "paper" / "indexes").iterdir())
    caches = [*(command.home / ".cache" / "pipeline" / "indexes").glob("*.sqlite3")]
    assert caches
    for path in caches:
        path.unlink()
    told = command("search", str(tmp_path / "paper"), "PatientEncoder", "--json").json()
    assert told["answers"] == command("search", "paper", "PatientEncoder", "--json").json()["answers"]


@pytest.mark.slow
def test_nothing_is_fetched_or_indexed_twice(full: tuple[Command, Ended]) -> None:
    command, _ = full
    before = inodes(command)
    assert len(before) >= 4
    command("resume", "paper")
    command("resume", "paper", "--redo", "06")
    assert inodes(command) == before


def inodes(command: Command) -> dict[str, int]:
    """Every fetched and indexed file, and which one on the disk it is: what is written again is another."""
    task = command.task("paper")
    found = [path for folder in ("code_base", "indexes") for path in (task / folder).rglob("*") if path.is_file()]
    kept = [path for path in found if path.suffix != ".sqlite3" and path.name != "index.json"]
    return {str(path.relative_to(task)): path.stat().st_ino for path in kept if "sqlite" not in path.name}


def whole_ones(command: Command) -> dict[str, int]:
    """What a killed run had done: manifests with the folder that they are of, and indexes. None of it is made again."""
    task = command.task("paper")
    found = {name: inode for name, inode in inodes(command).items() if name.endswith(".json")}
    return {name: inode for name, inode in found.items() if name.startswith("indexes/") or (task / name[:-5]).is_dir()}


def documents(command: Command) -> dict[str, bytes]:
    """What the trio wrote."""
    task = command.task("paper")
    found = [task / "reference.txt", task / "code_base.json"]
    found += [path for folder in ("code_base", "indexes") for path in sorted((task / folder).rglob("*"))]
    return {
        str(path.relative_to(task)): path.read_bytes() for path in found if path.is_file() and "sqlite" not in path.name
    }


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["02", "04", "05", "06", "07", "08", "09"])
def test_a_run_that_is_killed_in_a_phase_goes_on_to_the_same_documents(
    full: tuple[Command, Ended], mirror: Path, tmp_path: Path, phase: str
) -> None:
    command = Command(tmp_path)
    source = paper(tmp_path, PAPER)
    with command.start("run", "--full", source, "--mirror", mirror) as process:
        killed_in(command, process, phase)
    whole = whole_ones(command)
    ended = command("resume", "paper")
    assert ended.code == 3, ended.err
    assert documents(command) == documents(full[0])
    after = inodes(command)
    assert {name: after[name] for name in whole} == whole


def killed_in(command: Command, process: subprocess.Popen[str], phase: str) -> None:
    """Kills a run as soon as it says that this phase is at work."""
    lines = command.task("paper") / "state.jsonl"
    running = f'"{phase}"'
    while process.poll() is None:
        text = lines.read_text(encoding="utf-8") if lines.exists() else ""
        if any(running in line and '"running"' in line for line in text.splitlines()):
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=HANGS)


def test_folders_of_the_user_take_the_place_of_what_the_paper_links(tmp_path: Path) -> None:
    command = Command(tmp_path)
    for path, text in FILES.items():
        (tmp_path / "mine" / "encoders" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / "encoders" / path).write_text(text, encoding="utf-8")
    (tmp_path / "mine" / "encoders" / "out").symlink_to("/etc/passwd")
    command("run", "--full", paper(tmp_path, PAPER), "--references", "mine", "--until", "08")
    fetched = command.document("paper", "code_base.json")
    assert fetched["source"] == "folders"
    row = fetched["repositories"][0]
    assert (row["commit"], row["licence"], row["files"], row["left_out"]["links"]) == (None, "MIT", len(FILES), 1)
    assert command("search", "paper", "PatientEncoder", "--json").json()["answers"][0]["repository"] == row["name"]


def test_a_paper_without_code_is_done_and_says_that_there_is_none(tmp_path: Path) -> None:
    command = Command(tmp_path)
    text = "# Alone\n\n## 1 Method\n\nWe minimize the loss of the waiter over all rooms with a learning rate of 0.1.\n"
    ended = command("run", "--full", paper(tmp_path, text))
    assert ended.code == 3, ended.err
    assert {name: statuses(command)[name] for name in TRIO} == dict.fromkeys(TRIO, "done")
    assert command.document("paper", "indexes/index.json")["notes"] == ["no code to index: the paper links none"]
    told = command("search", "paper", "loss")
    assert (told.code, told.err) == (
        2,
        "pipeline: task paper: no code to index: the paper links none; give code of your own with --references DIR\n",
    )


def test_a_folder_that_is_not_there_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    command = Command(tmp_path)
    told = command("run", "--full", paper(tmp_path, PAPER), "--references", "nowhere")
    assert (told.code, told.err) == (2, "pipeline: --references names nowhere, and there is no such directory\n")
    assert not command.task("paper").exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param({}, "holds no usable code", id="an empty folder", marks=pytest.mark.slow),
        pytest.param(
            {"deep/empty/": ""},
            "holds no usable code",
            id="a folder of empty folders",
            marks=pytest.mark.slow,
        ),
        pytest.param({".git/config": "[core]"}, "holds no usable code", id="nothing but what git keeps"),
        pytest.param(
            later(lambda: {"one/big.bin": "\0" * (2 * 2**20 + 1)}),
            "holds no usable code",
            id="only what is too large",
        ),
        pytest.param(None, "that is not a directory", id="a file"),
    ],
)
def test_references_without_code_are_refused_with_what_to_do(
    content: Mapping[str, str] | None, why: str, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    if content is None:
        mine.write_text("def one(): ...\n")
    else:
        mine.mkdir()
    for name, text in (content or {}).items():
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            (mine / name).write_text(text)
    command = Command(tmp_path)
    told = command("run", "--full", paper(tmp_path, PAPER), "--references", "mine")
    assert (told.code, len(told.complaints)) == (2, 1)
    assert why in told.err
    assert not command.task("paper").exists()
    if content is not None:
        (mine / "one").mkdir(exist_ok=True)
        (mine / "one" / "a.py").write_text("def one():\n    return 1\n")
        assert command("run", "--full", "paper.md", "--references", "mine", "--until", "07").code == 0


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        pytest.param([], "", id="nothing to fetch"),
        pytest.param([("github.com", True), ("github.com", True)], "0 of 2 fetched (no network)", id="no network"),
        pytest.param([("one.org", True), ("two.org", True)], "0 of 2 fetched (no network)", id="no host answers"),
        pytest.param([("one.org", True)], "0 of 1 fetched (no such host)", id="one host that is not there"),
        pytest.param([("github.com", True), ("a.org", False)], "0 of 2 fetched", id="another reason for one of them"),
    ],
)
def test_what_was_not_fetched_is_counted_with_the_reason_that_holds_for_all(
    rows: list[tuple[str, bool]], told: str
) -> None:
    refused = [
        {"url": f"https://{host}/a/b", "why": "w", **({"cause": "no_network"} if no else {})} for host, no in rows
    ]
    assert count_fetched({"repositories": [], "refused": refused}) == told


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
def test_without_a_network_the_progress_and_the_last_screen_say_how_many_were_fetched(tmp_path: Path) -> None:
    command = Command(tmp_path)
    paper(tmp_path, PAPER)
    alone = [
        "bwrap",
        "--dev-bind",
        "/",
        "/",
        "--unshare-net",
        "--",
        *command_line("run", "--full", "paper.md", "--until", "07"),
    ]
    ended = subprocess.run(alone, cwd=tmp_path, env=command.environment, capture_output=True, text=True, check=False)
    if "bwrap:" in ended.stderr:
        pytest.skip("bubblewrap may not be used here")
    [line] = [line for line in ended.stderr.splitlines() if " fetched" in line]
    count = len(command.document("paper", "code_base.json")["refused"])
    assert count > 0
    assert line == f"  07  repositories  0 of {count} fetched (no network)"
    assert f"\nRepositories: 0 of {count} fetched (no network)\n" in ended.stdout
    assert f"{count} of {count}:" not in ended.stderr
    assert command("show", "paper", "repositories").code == 0
    assert command("resume", "paper", "--redo", "07").code == 3


def test_the_counts_of_a_mirror_are_told_too(full: tuple[Command, Ended]) -> None:
    command, ended = full
    count = len(command.document("paper", "code_base.json")["refused"])
    assert f"  07  repositories  1 of {1 + count} fetched\n" in ended.err
    assert f"Repositories: 1 of {1 + count} fetched\n" in ended.out


def test_fast_mode_has_nothing_to_search_and_says_what_to_type(tmp_path: Path) -> None:
    command = Command(tmp_path)
    command("run", "--fast", paper(tmp_path, PAPER))
    told = command("search", "paper", "encoder")
    assert told.code == 2
    assert "pipeline resume paper --full" in told.err


# What a task may name of its user's


def test_a_folder_that_only_the_task_of_a_stranger_names_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "stranger").mkdir()
    stranger = Command(tmp_path / "stranger")
    (tmp_path / "private" / "keys").mkdir(parents=True)
    (tmp_path / "private" / "keys" / "settings.py").write_text("API_KEY = 'sk-very-secret'\n")
    stranger("run", "--full", paper(stranger.folder, PAPER), "--references", tmp_path / "private", "--until", "05")
    victim = Command(tmp_path)
    shutil.copytree(stranger.folder / "tasks", tmp_path / "tasks")
    told = victim("resume", "paper", "--until", "07")
    assert "pipeline adopt paper" in told.err
    assert not list(victim.task("paper").rglob("settings.py"))
    assert victim("resume", "paper", "--references", "private", "--until", "08").code == 0
    assert victim.document("paper", "code_base.json")["source"] == "folders"
    assert "pipeline adopt paper" in victim("resume", "paper", "--until", "05").err  # a flag is for one run
    assert victim("adopt", "paper", "--yes").code == 0
    assert victim("resume", "paper").code == 3  # from now on it is a task of this user
    forged = victim.document("paper", "task.json")
    forged["settings"]["references"] = str(tmp_path / "home")
    (victim.task("paper") / "task.json").write_text(json.dumps(forged))
    assert "pipeline adopt paper" in victim("resume", "paper", "--until", "05").err


@pytest.mark.parametrize(
    ("lookup", "why"),
    [
        ("githbu", "there is no lookup 'githbu'; did you mean 'github'?"),
        ("github:8080", "there is no lookup 'github:8080'; did you mean 'github'?"),
    ],
)
def test_a_lookup_that_cannot_be_kept_is_refused_before_anything_is_made(tmp_path: Path, lookup: str, why: str) -> None:
    command = Command(tmp_path)
    told = command("run", "--full", paper(tmp_path, PAPER), "--lookup", lookup)
    assert (told.code, len(told.complaints)) == (2, 1)
    assert why in told.err
    assert not command.task("paper").exists()


def test_the_task_of_a_stranger_cannot_open_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "stranger").mkdir()
    stranger, victim = Command(tmp_path / "stranger"), Command(tmp_path)
    stranger("run", "--fast", paper(stranger.folder), "--unsandboxed", "--until", "05")
    shutil.copytree(stranger.folder / "tasks", tmp_path / "tasks")
    told = victim("resume", "paper")
    assert "pipeline adopt paper" in told.err
    assert victim.document("paper", "report.json")["sandbox"] != "off"
    assert stranger("resume", "paper").code == 3  # whose task it is


@pytest.mark.slow
def test_the_user_of_a_task_adds_and_drops_what_he_says_without_being_asked_again(tmp_path: Path) -> None:
    command = Command(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name / "code").mkdir(parents=True)
        (tmp_path / name / "code" / "a.py").write_text(f"def {name}():\n    return 1\n")
    words = ("--unsandboxed", "--until", "08")
    assert command("run", "--full", paper(tmp_path, PAPER), *words).code == 0
    assert command("resume", "paper", "--references", "one", "--until", "08").code == 0
    assert command("resume", "paper", "--references", "two", "--until", "08").code == 0
    assert command("search", "paper", "two", "--json").json()["answers"][0]["name"] == "two"
    assert command("resume", "paper", "--until", "08").code == 0


@pytest.mark.slow
def test_a_copy_of_a_task_is_its_owner_s_as_the_task_is(tmp_path: Path) -> None:
    command = Command(tmp_path)
    command("run", "--fast", paper(tmp_path), "--unsandboxed", "--until", "05")
    shutil.copytree(command.task("paper"), tmp_path / "tasks" / "copy")
    assert "adopt" not in command("resume", "copy", "--until", "05").err
    assert command.document("copy", "task.json")["settings"]["sandbox"] == "off"
    (command.task("paper")).rename(tmp_path / "tasks" / "moved")
    assert command("resume", "moved", "--until", "05").code == 0


@pytest.mark.slow
def test_what_was_fetched_is_there_again_after_a_run_without_it(tmp_path: Path, mirror: Path) -> None:
    command = Command(tmp_path)
    command("run", "--full", paper(tmp_path, PAPER), "--mirror", mirror, "--until", "08")
    before = inodes(command)
    command("resume", "paper", "--fast", "--until", "08")
    command("resume", "paper", "--full", "--until", "08")
    assert inodes(command) == before


@pytest.mark.parametrize(
    ("change", "path", "reason", "verdict"),
    [
        (lambda code: (code / "model.py").write_text("EDITED = 1\n"), "model.py", "was edited", "edited"),
        pytest.param(
            lambda code: (code / "model.py").unlink(), "model.py", "is missing", "missing", marks=pytest.mark.slow
        ),
        (lambda code: (code / "mine.py").write_text("MINE = 1\n"), "mine.py", "was added", "edited"),
    ],
    ids=["edited", "removed", "added"],
)
def test_a_file_of_the_fetched_code_that_is_not_as_it_was_is_told_and_fetched_again_and_an_edit_is_kept(
    change: Callable[[Path], object], path: str, reason: str, verdict: str, tmp_path: Path, mirror: Path
) -> None:
    command = Command(tmp_path)
    assert command("run", "--full", paper(tmp_path, PAPER), "--mirror", mirror, "--until", "08").code == 0
    name, code = f"code_base/bob__encoders/encoders/{path}", command.task("paper") / "code_base/bob__encoders/encoders"
    documents = {name: (command.task("paper") / name).read_bytes() for name in ("code_base.json", "indexes/index.json")}
    change(code)
    assert f"07 repositories would run: {name} {reason}" in command("why", "paper").out
    checked = command("check", "paper", "--json")
    odd = [(row["document"], row["verdict"]) for row in checked.json() if row["verdict"] != "fine"]
    assert (checked.code, odd) == (int(verdict == "missing"), [(name, verdict)])
    assert command("resume", "paper", "--until", "08").code == 0
    assert (code / "model.py").read_text() == MODEL
    assert {name: (command.task("paper") / name).read_bytes() for name in documents} == documents
    kept = [file.read_text() for file in (command.task("paper") / "edited").glob("*")]
    assert kept == (
        [f"{path.removesuffix('.py').upper()} = 1\n".replace("MODEL", "EDITED")] if verdict == "edited" else []
    )
    assert command("check", "paper").code == 0


@pytest.mark.slow
def test_fetched_code_that_is_gone_as_a_whole_is_told(tmp_path: Path, mirror: Path) -> None:
    command = Command(tmp_path)
    command("run", "--full", paper(tmp_path, PAPER), "--mirror", mirror, "--until", "07")
    shutil.rmtree(command.task("paper") / "code_base" / "bob__encoders")
    assert "07 repositories would run: code_base/bob__encoders is missing" in command("why", "paper").out
    assert command("check", "paper").code == 1
