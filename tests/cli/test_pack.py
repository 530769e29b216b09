"""`pipeline pack` and `unpack`: a task travels whole, stays its owner's, and no archive of an enemy gets anywhere."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.papers import Command, copy_command, paper
from tests.toys import write_toys

Member = tuple[tarfile.TarInfo, bytes]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture(scope="module")
def packer(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Who planned a paper, packed the task, and put it away."""
    command = Command(tmp_path_factory.mktemp("packer"))
    assert command("run", "--fast", paper(command.folder), "--until", "plan").code == 0
    assert command("pack", "paper").code == 0
    shutil.move(command.folder / "tasks", command.folder / "before")
    return command


@pytest.fixture
def packed(packer: Command, command: Command) -> Path:
    """An archive of a task that was planned, and an empty place to unpack it."""
    return copy_command(packer, command.folder).folder / "paper.task.tar.gz"


def files_of(root: Path) -> dict[str, tuple[bytes, bool]]:
    """The files below a directory, with what they hold and whether they may be run."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), os.access(path, os.X_OK))
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_a_task_travels_whole_and_goes_on(command: Command, packed: Path) -> None:
    ended = command("unpack", packed)
    assert (ended.code, ended.out.splitlines()[0].startswith("unpacked ")) == (0, True), ended.err
    assert files_of(command.task("paper")) == files_of(command.folder / "before" / "paper")
    assert "not packed by you" not in ended.err
    assert command("list", "--json").json()[0]["status"] == "paused"
    resumed = command("resume", "paper")
    assert resumed.code == 3, resumed.err
    assert "was not started here" not in resumed.err
    assert command.attempts("paper")["plan"] == 1


def test_of_a_finished_task_the_next_command_looks_at_it(tmp_path: Path) -> None:
    command = Command(tmp_path, PIPELINE_PHASES=str(write_toys(tmp_path / "toys", 2)))
    assert command("run", "--fast", paper(command.folder)).code == 0
    assert command("pack", "paper").code == 0
    ended = command("unpack", "paper.task.tar.gz", "--id", "other")
    assert "next: pipeline show other plan (read the plan)" in ended.err


def test_the_same_task_gives_the_same_file_and_tells_of_no_machine(command: Command, packed: Path) -> None:
    first = packed.read_bytes()
    assert command("unpack", packed).code == 0
    assert command("pack", "paper", "-o", "again.tar.gz").code == 0
    assert (command.folder / "again.tar.gz").read_bytes() == first
    with tarfile.open(packed) as tar:
        members = tar.getmembers()
    assert {(member.uid, member.gid, member.uname, member.gname, member.mtime) for member in members} == {
        (0, 0, "", "", 0)
    }
    assert all(member.name.startswith("paper/") for member in members)


def test_code_that_may_be_run_still_may_and_links_stay_behind(command: Command) -> None:
    assert command("run", "--fast", paper(command.folder)).code == 3
    script = command.task("paper") / "generate_code" / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (command.task("paper") / "generate_code" / "out").symlink_to("/etc")
    (command.task("paper") / "python").mkdir()
    (command.task("paper") / "python" / "python3").write_text("of this machine")
    ended = command("pack", "paper")
    assert "left out: 1 (links" in ended.err
    assert command("unpack", "paper.task.tar.gz", "--id", "copy").code == 0
    assert os.access(command.task("copy") / "generate_code" / "run.sh", os.X_OK)
    assert not (command.task("copy") / "generate_code" / "out").exists()
    assert not (command.task("copy") / "python").exists()


def test_a_packed_task_is_no_paper_and_another_file_is_not_packed_over(command: Command, packed: Path) -> None:
    ended = command("run", "--fast", packed)
    assert (ended.code, "is a packed task; first: pipeline unpack " in ended.err) == (2, True)
    (command.folder / "notes.txt").write_text("mine")
    assert command("unpack", packed).code == 0
    ended = command("pack", "paper", "-o", "notes.txt")
    assert (ended.code, "notes.txt already exists" in ended.err) == (2, True)
    assert (command.folder / "notes.txt").read_text() == "mine"


def test_what_is_there_already_is_left_alone(command: Command, packed: Path) -> None:
    assert command("unpack", packed).code == 0
    ended = command("unpack", packed)
    assert (ended.code, "already exists" in ended.err, "--id paper-2" in ended.err) == (2, True, True)
    assert sorted(os.listdir(command.folder / "tasks")) == [".tasks.jsonl.lock", "paper", "tasks.jsonl"]


def test_what_somebody_else_packed_is_not_one_s_own_word(command: Command, packed: Path) -> None:
    other = command.folder / "other"
    other.mkdir()
    victim = Command(other)
    assert victim("run", "--fast", paper(other, name="own.md"), "--until", "intake").code == 0  # has a key of its own
    ended = victim("unpack", packed)
    assert (ended.code, "pipeline adopt paper" in ended.err) == (0, True)
    assert "seal" not in victim.document("paper", "task.json")


def test_what_was_changed_on_its_way_loses_its_seal_even_if_its_list_is_right(command: Command, packed: Path) -> None:
    """An enemy can compute the digests, and not the seal on them."""
    rows = members_of(packed)
    changed = [(m, data.replace(b"Slow", b"Evil") if m.name == "paper/paper.md" else data) for m, data in rows]
    listing = json.loads(changed[-1][1])
    write_archive(packed, [*changed[:-1], (changed[-1][0], json.dumps(listing).encode())])
    ended = command("unpack", packed)
    assert (ended.code, "cut off or changed" in ended.err) == (2, True)
    assert not command.task("paper").exists()
    listing["sha256"] = digest_of(changed[:-1])
    write_archive(packed, [*changed[:-1], (changed[-1][0], json.dumps(listing).encode())])
    ended = command("unpack", packed)
    assert ended.code == 0, ended.err
    assert "it was not packed by you, or changed since" in ended.err
    assert "seal" not in command.document("paper", "task.json")


def test_a_task_is_not_packed_into_itself(command: Command, packed: Path) -> None:
    assert command("unpack", packed).code == 0
    ended = command("pack", "paper", "-o", command.task("paper") / "logs" / "mine.tar.gz")
    assert (ended.code, "lies in the task itself" in ended.err) == (2, True)
    assert not list((command.task("paper") / "logs").glob("mine*"))


def test_a_task_that_is_held_is_not_packed(command: Command, packed: Path) -> None:
    from pipeline.engine.lock import lock_task

    assert command("unpack", packed).code == 0
    with lock_task(str(command.task("paper"))):
        assert command("pack", "paper", "-o", "held.tar.gz").code == 75
    assert not [name for name in os.listdir(command.folder) if name.startswith("held")]


def members_of(path: Path) -> list[Member]:
    with tarfile.open(path) as tar:
        return [(member, (tar.extractfile(member) or io.BytesIO()).read()) for member in tar.getmembers()]


def write_archive(path: Path, members: list[Member]) -> None:
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for member, data in members:
            member.size = len(data) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(data))


def digest_of(members: list[Member]) -> str:
    from hashlib import sha256

    lines = [
        f"{json.dumps(m.name.partition('/')[2])} {'x' if m.mode & 0o100 else '-'} {sha256(data).hexdigest()}\n"
        for m, data in members
    ]
    return sha256("".join(lines).encode()).hexdigest()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


HOSTILE: dict[str, Callable[[list[Member]], list[Member]]] = {
    "a path that leads out": lambda rows: [(member("paper/../../evil"), b"x"), *rows],
    "an absolute path": lambda rows: [(member("/tmp/evil"), b"x"), *rows],
    "a link": lambda rows: [(member("paper/link", tarfile.SYMTYPE, "/etc"), b""), *rows],
    "a link, and a file behind it": lambda rows: [
        (member("paper/logs", tarfile.SYMTYPE, "../../home"), b""),
        (member("paper/logs/evil"), b"x"),
        *rows,
    ],
    "a hard link": lambda rows: [(member("paper/hard", tarfile.LNKTYPE, "/etc/passwd"), b""), *rows],
    "a pipe": lambda rows: [(member("paper/pipe", tarfile.FIFOTYPE), b""), *rows],
    "a device": lambda rows: [(member("paper/disk", tarfile.BLKTYPE), b""), *rows],
    "two tasks": lambda rows: [*rows[:-1], (member("other/task.json"), b"{}"), rows[-1]],
    "a task of a hidden name": lambda rows: [(member(".ssh/authorized_keys"), b"x")],
    "a file twice": lambda rows: [rows[0], *rows],
    "a file that is a directory, too": lambda rows: [(member("paper/a"), b"x"), (member("paper/a/b"), b"x"), *rows],
    "an empty part": lambda rows: [(member("paper//evil"), b"x"), *rows],
    "a part that is too long": lambda rows: [(member("paper/" + "x" * 300), b"x"), *rows],
    "directories without end": lambda rows: [(member("paper/" + "d/" * 80 + "x"), b"x"), *rows],
    "a lock": lambda rows: [(member("paper/.lock"), b"{}"), *rows],
    "a Python of its own": lambda rows: [(member("paper/python/bin/python"), b"x"), *rows],
    "more behind the list": lambda rows: [*rows, (member("paper/late"), b"x")],
    "no list": lambda rows: rows[:-1],
    "no member": lambda rows: [],
    "a file that the list does not know": lambda rows: [(member("paper/new"), b"x"), *rows],
    "a file too few": lambda rows: rows[1:],
    "a bomb": lambda rows: [(member("paper/zeros"), bytes(300 << 20)), *rows],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_leaves_nothing(name: str, command: Command, packed: Path) -> None:
    write_archive(packed, HOSTILE[name](members_of(packed)))
    refuse_quietly(command, packed)


def test_a_header_without_end_gets_no_memory(command: Command, packed: Path) -> None:
    big = member("paper/evil")
    big.pax_headers = {"comment": "x" * (4 << 20)}
    write_archive(packed, [(big, b"x"), *members_of(packed)])
    refuse_quietly(command, packed)


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, 0.99], ids=lambda keep: f"{keep} of it")
def test_an_archive_that_was_cut_off_leaves_nothing(keep: float, command: Command, packed: Path) -> None:
    data = packed.read_bytes()
    packed.write_bytes(data[: int(keep * len(data)) if keep < 1 else int(keep)])
    refuse_quietly(command, packed)


@pytest.mark.parametrize(
    "content",
    [b"%PDF-1.4 no archive", gzip.compress(b"no archive either", mtime=0), b"\x1f\x8b\x08"],
    ids=["a paper", "packed, and no archive", "cut off"],
)
def test_what_is_no_archive_is_told(content: bytes, command: Command, packed: Path) -> None:
    packed.write_bytes(content)
    refuse_quietly(command, packed)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"version": 1, "id": 3}'])
def test_an_archive_whose_list_is_right_and_which_is_no_task_leaves_nothing(
    content: bytes, command: Command, packed: Path
) -> None:
    rows = [(m, data) for m, data in members_of(packed)[:-1] if content or not m.name.endswith("task.json")]
    rows = [(m, content if m.name.endswith("task.json") else data) for m, data in rows]
    listing = {"version": 1, "task": "paper", "files": len(rows), "sha256": digest_of(rows), "seal": "2:0"}
    write_archive(packed, [*rows, (member("paper/.packed.json"), json.dumps(listing).encode())])
    ended = command("unpack", packed)
    assert ended.code in (1, 2)
    assert len(ended.complaints) == 1
    assert not list((command.folder / "tasks").glob("*/*"))


def refuse_quietly(command: Command, archive: Path) -> None:
    """Unpacks it: one line says what is wrong, and nothing is anywhere."""
    before = files_of(command.home)
    ended = command("unpack", archive)
    assert ended.code == 2, ended.err
    assert len(ended.complaints) == 1
    assert "Traceback" not in ended.err
    assert not list((command.folder / "tasks").glob("*/*"))
    assert not list(command.folder.rglob("evil*"))
    assert files_of(command.home) == before
