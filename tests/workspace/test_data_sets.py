"""Data sets that a plan names: given, fetched by the downloader's rules and kept for all tasks, or missing; never silently."""

from __future__ import annotations

import io
import lzma
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import pytest

from phases.workspace.data_sets import Provided, data_name, describe_data, list_data, provide_data, remove_data
from pipeline.base.errors import TaskBusy, UsageError
from pipeline.base.lease import lock_descriptor
from pipeline.engine.contract import Contracts
from pipeline.engine.phase import Context, WorkflowContext
from tests.drills.points import chosen
from tests.papers import HANGS, ROOT
from tests.rows import with_covered
from tests.web import Server, redirects, says, serving
from tests.work import must_end, wait_until

ROWS = b"x,y\n1,0\n2,1\n"
DIGEST = sha256(ROWS).hexdigest()


class Task:
    """A task directory, and what a phase of it does about data sets."""

    def __init__(self, folder: Path, name: str = "paper") -> None:
        self.root, self.cache = folder / name, folder / "cache"
        self.told: list[str] = []
        self.root.mkdir(exist_ok=True)

    def provide(self, address: str = "", *, called: str = "Iris", **limits: Any) -> Provided:
        row = {"name": called, "source": {"section": "4", "page": 3, "quote": ""}}
        plan = {"datasets": [{**row, **({"address": address} if address else {})}]}
        limits = {"allow_data": "yes", "max_data_mb": 1, "private_addresses": "allowed", **limits}
        context = Context(
            paths=WorkflowContext(str(self.root)),
            settings={},
            secrets={},
            limits=limits,
            environment={},
            contracts=Contracts(),
            digests={},
            open_model=_never,
            review=_never,
            progress=lambda _done, _total, _now: None,
            in_place=lambda: None,
            deadline=None,
            tell=self.told.append,
            cache_directory=str(self.cache),
        )
        return provide_data(plan, context)

    def state(self, address: str = "", **limits: Any) -> tuple[str, str]:
        """The state of the one data set, and why it is missing."""
        row = self.provide(address, **limits).rows[0]
        return row["state"], row["why"]

    def files(self, provided: Provided) -> dict[str, bytes]:
        folder = Path(provided.setting.partition("=")[2])
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _never(*words: object) -> NoReturn:
    raise AssertionError("nobody is asked here")


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(says(ROWS)) as running:
        yield running


def zipped(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(*members: tuple[str, bytes], mode: str = "w:gz", link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]  # the mode is a parameter
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        if link:
            entry = tarfile.TarInfo("link")
            entry.type, entry.linkname = tarfile.SYMTYPE, link
            archive.addfile(entry)
    return buffer.getvalue()


def test_nothing_is_fetched_without_permission(task: Task, server: Server) -> None:
    found = task.provide(f"{server.base}/iris.csv", allow_data="no")
    assert (found.rows[0]["state"], found.setting, server.questions) == ("missing", "", [])
    assert (
        "data: iris is missing; give it with --data iris=PATH, or let it be fetched with --allow-data" in task.told[0]
    )
    assert list(task.cache.rglob("*")) == []


def test_what_is_fetched_is_told_noted_and_the_bytes_of_the_server(task: Task, server: Server) -> None:
    found = task.provide(f"{server.base}/iris.csv")
    assert task.files(found) == {"iris.csv": ROWS}
    row = Contracts().parse("data.json", (task.root / "data.json").read_bytes(), writer="a test")["datasets"][0]
    facts = {name: row[name] for name in ("name", "called", "state", "address", "sha256", "bytes", "licence")}
    assert facts == {
        "name": "iris",
        "called": "Iris",
        "state": "fetched",
        "address": f"{server.base}/iris.csv",
        "sha256": DIGEST,
        "bytes": len(ROWS),
        "licence": "not stated",
    }
    assert task.told[0].startswith(f"data: fetches iris from {server.base}/iris.csv; anybody on the way can change")
    assert DIGEST[:12] in task.told[1]


def test_another_task_finds_it_and_asks_nobody(task: Task, server: Server, tmp_path: Path) -> None:
    address = f"{server.base}/iris.csv"
    first, second = task.provide(address), Task(tmp_path, "other").provide(address)
    assert (first.setting, len(server.questions)) == (second.setting, 1)


def test_other_bytes_than_before_are_refused_until_they_are_asked_for(task: Task) -> None:
    with serving(says(ROWS), says(b"other")) as server:
        address = f"{server.base}/iris.csv"
        task.provide(address)
        for path in task.cache.glob("data/*/*"):
            path.unlink()  # as if it had been removed
        state, why = task.state(address)
        new = sha256(b"other").hexdigest()
        assert (state, DIGEST in why, new in why) == ("missing", True, True)
        word = f"iris={address}#sha256={new}"
        assert why.endswith(f"pipeline resume paper --allow-data --data '{word}'")
        assert task.state(address)[0] == "missing", "it is not forgotten what came first"
        found = task.provide(address, data=word)
        assert (found.rows[0]["state"], task.files(found)) == ("fetched", {"iris.csv": b"other"})


def test_what_came_first_is_not_forgotten_while_the_user_gives_files(task: Task, tmp_path: Path) -> None:
    with serving(says(ROWS), says(b"other")) as server:
        address = f"{server.base}/iris.csv"
        task.provide(address)
        for _ in range(2):
            given = task.provide(address, data=f"iris={tmp_path}")
            assert [(row["state"], row["sha256"], row["address"]) for row in given.facts()] == [("given", "", "")]
        for path in task.cache.glob("data/*/*"):
            path.unlink()
        state, why = task.state(address)
    assert (state, DIGEST in why) == ("missing", True)


def test_a_damaged_record_is_told(task: Task, server: Server) -> None:
    address = f"{server.base}/iris.csv"
    task.provide(address)
    assert not [line for line in task.told if "not known any more" in line]
    (task.root / "data.json").write_bytes(b"{")
    task.provide(address)
    assert [
        line for line in task.told if "what was fetched before is not known any more" in line and "data.json" in line
    ]


def test_other_files_from_the_same_download_are_told(task: Task, server: Server) -> None:
    address = f"{server.base}/iris.csv"
    before = task.provide(address).rows[0]["tree_sha256"]
    record = task.root / "data.json"
    record.write_text(record.read_text().replace(before, "0" * 64))
    task.told.clear()
    assert task.provide(address).rows[0]["tree_sha256"] == before
    assert [line for line in task.told if "other files are unpacked from it now" in line]
    task.told.clear()
    task.provide(address)
    assert task.told == []


def test_files_that_were_changed_in_the_store_are_fetched_again(task: Task, server: Server) -> None:
    address = f"{server.base}/iris.csv"
    found = task.provide(address)
    (Path(found.setting.partition("=")[2]) / "iris.csv").write_bytes(b"x,y\n1,0\n2,0\n")
    assert task.files(task.provide(address)) == {"iris.csv": ROWS}
    assert len(server.questions) == 2


@pytest.mark.parametrize(
    ("body", "header"),
    [
        (b"<!DOCTYPE html><title>Iris</title>", "Content-Type: application/octet-stream"),
        (b"  \n<html><body>Download</body></html>", "X: y"),
        (b"Please log in", "Content-Type: text/html; charset=utf-8"),
    ],
)
def test_a_page_about_the_data_is_no_data(task: Task, body: bytes, header: str) -> None:
    with serving(says(body, header)) as server:
        state, why = task.state(f"{server.base}/iris.csv")
    assert (state, "is a web page and no data; look for the link to the files on it" in why) == ("missing", True)
    assert list(task.cache.glob("data/*.part")) == []


def test_archives_are_unpacked_and_what_must_not_be_is_left_out(task: Task) -> None:
    data = tarred(("iris/train.csv", ROWS), ("../../out.csv", b"x"), ("/etc/x", b"x"), link="/etc/passwd")
    with serving(says(data)) as server:
        found = task.provide(f"{server.base}/iris.tar.gz")
    assert task.files(found) == {"iris/train.csv": ROWS}
    assert sum("was left out" in line for line in task.told) == 3
    assert [path.name for path in task.root.parent.rglob("out.csv")] == []


@pytest.mark.parametrize("name", ["iris.zip", "iris.tar", "iris.tar.bz2", "iris.tar.xz"])
def test_each_kind_of_archive_is_unpacked(task: Task, name: str) -> None:
    mode = "w:" + name.removeprefix("iris.tar").removeprefix(".")
    data = zipped(("a/b.csv", ROWS)) if name.endswith("zip") else tarred(("a/b.csv", ROWS), mode=mode)
    with serving(says(data)) as server:
        assert task.files(task.provide(f"{server.base}/{name}")) == {"a/b.csv": ROWS}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("iris.csv?token=../../x", "iris.csv"),
        ("a/%2e%2e%2f%2e%2e%2fetc%2fpasswd.txt", "etc-passwd.txt"),
        ("x" * 90 + "/..-" + "y" * 77 + ".csv", "y" * 76 + ".csv"),
        ("%00%0a.csv", "data.csv"),
        ("%E6%95%B0%E6%8D%AE.txt", "data.txt"),
        ("records/1/files/iris.csv/content", "iris.csv"),
        ("-.-", "data"),
        ("", "data"),
    ],
)
def test_the_file_has_a_safe_name_by_its_address(task: Task, server: Server, path: str, name: str) -> None:
    assert list(task.files(task.provide(f"{server.base}/{path}"))) == [name]


@pytest.mark.parametrize("path", ["%E6%95%B0%E6%8D%AE.zip", "-.zip", "records/1/files/iris.zip/content", "a.ZIP"])
def test_an_archive_is_known_by_its_address_in_any_language(task: Task, path: str) -> None:
    with serving(says(zipped(("a.csv", ROWS)))) as server:
        assert task.files(task.provide(f"{server.base}/{path}")) == {"a.csv": ROWS}


def test_all_streams_of_a_tar_xz_are_unpacked(task: Task) -> None:
    plain = tarred(*((f"{number}.csv", ROWS) for number in range(3)), mode="w")
    data = lzma.compress(plain[:1024]) + bytes(8) + lzma.compress(plain[1024:]) + bytes(4)
    with serving(says(data), says(data + b"more")) as server:
        found = task.provide(f"{server.base}/iris.tar.xz")
        assert task.files(found) == {f"{number}.csv": ROWS for number in range(3)}
        assert "compressed data is damaged" in task.state(f"{server.base}/other.tar.xz")[1]


def test_names_that_differ_by_case_are_two_files(task: Task) -> None:
    members = (("A/x.csv", ROWS), ("a/x.csv", b"1\n"), ("a/X.csv", b"2\n"))
    with serving(says(zipped(*members))) as server:
        assert task.files(task.provide(f"{server.base}/iris.zip")) == dict(members)


def test_all_that_was_left_out_is_counted_and_told_to_each_task(task: Task, tmp_path: Path) -> None:
    data = tarred(("iris.csv", ROWS), *((f"../{number}", b"x") for number in range(30)))
    other = Task(tmp_path, "other")
    with serving(says(data)) as server:
        for one in (task, other):
            row = one.provide(f"{server.base}/iris.tar.gz").rows[0]
            assert (row["left_out_count"], len(row["left_out"])) == (30, 20)
            assert "; 30 of what its archive holds were left out" in "\n".join(one.told)
            assert one.told[-1] == "data: of iris were left out 10 more"
            assert sum("a name that climbs out" in line for line in one.told) == 20
    record = Contracts().parse("data.json", (other.root / "data.json").read_bytes(), writer="a test")
    assert record["datasets"][0]["left_out_count"] == 30


@pytest.mark.parametrize("name", ["iris.npz", "model.pt", "iris.csv.gz", "download"])
def test_what_is_no_archive_by_its_name_stays_as_it_is(task: Task, name: str) -> None:
    data = zipped(("a.npy", ROWS))
    with serving(says(data)) as server:
        assert task.files(task.provide(f"{server.base}/{name}")) == {name: data}


BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a zip of zeros": ("b.zip", lambda: zipped(("zeros", bytes(50 << 20))), "more than 1 MiB"),
    "a tar.xz of zeros": ("b.tar.xz", lambda: tarred(("zeros", bytes(50 << 20)), mode="w:xz"), "more than 1 MiB"),
    "a tar.gz of zeros": ("b.tar.gz", lambda: tarred(("zeros", bytes(50 << 20))), "more than 1 MiB"),
    "many members": ("b.zip", lambda: zipped(*((f"{n}", b"") for n in range(100_001))), "more than 100000 members"),
    "a list that is huge": ("b.zip", lambda: _with_huge_list(), "list of members is larger than"),
    "cut off": ("b.tar.gz", lambda: tarred(("a", os.urandom(5000)))[:-300], "compressed data is damaged"),
    "a damaged header": (
        "b.tar",
        lambda: _damaged(tarred(("a", ROWS), ("b", ROWS), mode="w")),
        "tar archive is damaged",
    ),
    "no archive": ("b.zip", lambda: ROWS, "not an archive of a known kind"),
    "nothing in it": ("b.zip", lambda: zipped(), "contains no file"),
    "bytes over the limit": ("b.csv", lambda: bytes(range(256)) * 8192, "larger than the 1,048,576 bytes"),
}
_LARGE = ("many members", "a list that is huge")


def _with_huge_list() -> bytes:
    size = (40 << 20).to_bytes(4, "little")
    return b"PK\x03\x04" + bytes((40 << 20) - 4) + b"PK\x05\x06" + bytes(8) + size + bytes(6)


def _damaged(data: bytes) -> bytes:
    return data[:1030] + b"\xff" + data[1031:]


@pytest.mark.parametrize(
    "name",
    with_covered(BOMBS, "many members", "a zip of zeros", "a tar.xz of zeros", "a tar.gz of zeros"),
)
def test_a_bomb_is_missing_with_the_reason_and_leaves_nothing(task: Task, name: str) -> None:
    file, make, words = BOMBS[name]
    data = make()
    with must_end():
        with serving(says(data)) as server:
            state, why = task.state(f"{server.base}/{file}", max_data_mb=64 if name in _LARGE else 1)
        assert (state, words in why) == ("missing", True), why
    left = [path for path in task.cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []


def test_the_blacklist_and_the_rules_for_addresses_hold(task: Task, server: Server) -> None:
    address = f"{server.base}/iris.csv"
    assert "blacklist" in task.state(address, blacklist="127.0.0.1")[1]
    assert (
        "loopback"
        in task.state(address, private_addresses="refused", data=f"iris={address.replace(':' + str(server.port), '')}")[
            1
        ]
    )
    assert server.questions == []


def test_the_blacklist_holds_for_what_another_task_fetched(task: Task, tmp_path: Path) -> None:
    other = Task(tmp_path, "other")
    with serving(says(ROWS)) as mirror, serving(redirects(f"http://localhost:{mirror.port}/x.csv")) as server:
        address = f"{server.base}/iris.csv"
        other.provide(address)
        asked = len(mirror.questions)
        for blacklist in ("127.0.0.1", "localhost"):  # the address, and where a redirect led to
            state, why = task.state(address, blacklist=blacklist)
            assert (state, "on your blacklist" in why) == ("missing", True)
        assert len(mirror.questions) == asked
        assert task.state(address, blacklist="example.org") == ("fetched", "")
        assert len(mirror.questions) == asked, "what no line forbids is taken from the store"


def test_what_was_fetched_from_an_intranet_is_nothing_for_a_task_that_may_not_ask_there(
    task: Task, server: Server, tmp_path: Path
) -> None:
    address = f"{server.base}/iris.csv"
    Task(tmp_path, "other").provide(address)
    state, why = task.state(address, private_addresses="refused")
    assert (state, "cannot download" in why) == ("missing", True)


def test_what_the_user_gives_is_taken_before_what_could_be_fetched(task: Task, server: Server, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    found = task.provide(f"{server.base}/iris.csv", data=f"IRIS={tmp_path / 'own'}")
    assert [(row["name"], row["state"]) for row in found.rows] == [("IRIS", "given")]
    assert (found.setting, server.questions) == (f"IRIS={tmp_path / 'own'}", [])


def test_an_address_of_the_users_counts_more_than_the_papers(task: Task, server: Server) -> None:
    found = task.provide("https://example.org/iris.csv", data=f"iris={server.base}/mine.csv")
    assert task.files(found) == {"mine.csv": ROWS}


def test_what_comes_over_http_is_told_to_be_unpinned_only_where_it_is(task: Task, server: Server) -> None:
    task.provide(data=f"iris={server.base}/iris.csv#sha256={DIGEST}")
    assert task.told[0] == f"data: fetches iris from {server.base}/iris.csv"


def test_zero_is_no_limit(task: Task) -> None:
    data = zipped(("zeros", bytes(2 << 20)))
    with serving(says(data), says(bytes(2 << 20))) as server:
        assert task.state(f"{server.base}/iris.zip", max_data_mb=0) == ("fetched", "")
        assert task.state(f"{server.base}/iris.bin", max_data_mb=0) == ("fetched", "")


def test_what_failed_says_once_what_to_do(task: Task) -> None:
    with serving(says(status="403 Forbidden")) as server:
        address = f"{server.base}/iris.csv"
        why = task.state(address)[1]
    assert why.endswith("(403); download it with your browser and give the file")
    assert task.told[-1] == f"data: iris is missing: {why} (--data iris=PATH takes a file or directory of yours)"


def test_a_look_at_the_plan_asks_no_network(task: Task, server: Server) -> None:
    address = f"{server.base}/iris.csv"
    plan = {"datasets": [{"name": "Iris", "address": address}, {"name": "MNIST"}]}
    settings = {"allow_data": "yes", "data": ""}
    rows = list_data(plan, settings, str(task.root), Contracts())
    assert [(row["name"], row["state"]) for row in rows] == [("iris", "missing"), ("mnist", "missing")]
    task.provide(address)
    assert list_data(plan, settings, str(task.root), Contracts())[0]["state"] == "fetched"
    assert list_data(plan, {**settings, "allow_data": "no"}, str(task.root), Contracts())[0]["state"] == "missing"
    assert len(server.questions) == 1


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("CIFAR-10", "cifar-10"),
        ("20 Newsgroups", "data-20-newsgroups"),
        ("数据", "data"),
        ("a" * 90, "a" * 40),
        ("2" * 60, "data-" + "2" * 35),
    ],
)
def test_a_data_set_has_a_name_that_a_path_may_have(called: str, name: str, task: Task, tmp_path: Path) -> None:
    assert data_name(called) == name
    assert task.provide(called=called, data=f"{name}={tmp_path}").rows[0]["state"] == "given"


def test_data_sets_of_one_spelling_are_told_apart(tmp_path: Path) -> None:
    long = "A very long name of a data set that goes on and on"
    called = [
        "数据集甲",
        "数据集乙",
        "C++",
        "C#",
        "CIFAR-10",
        "CIFAR 10",
        "Data 2",
        f"{long}, train",
        f"{long}, test",
        "c",
    ]
    rows = list_data({"datasets": [{"name": name} for name in called]}, {}, str(tmp_path), Contracts())
    names = {row["called"]: row["name"] for row in rows}
    assert names == {
        "数据集甲": "data",
        "数据集乙": "data-2",
        "C++": "c",
        "C#": "c-2",
        "CIFAR-10": "cifar-10",
        "Data 2": "data-2-2",
        f"{long}, train": "a-very-long-name-of-a-data-set-that-goes",
        f"{long}, test": "a-very-long-name-of-a-data-set-that-2",
        "c": "c-3",
    }
    assert "data: data (数据集甲), data-2 (数据集乙), c, c-2 (C#) and 5 more are missing" in describe_data(rows)[0]


@pytest.mark.parametrize(
    "word", ["iris=ftp://x/y", "iris=https://x/y#md5=1", "iris=https://me:pw@x.org/y", "i ris=/tmp"]
)
def test_what_is_no_address_is_said_at_once(task: Task, word: str) -> None:
    with pytest.raises(UsageError, match="data"):
        task.provide(data=word)


def test_a_damaged_or_foreign_record_names_no_file_outside(task: Task, server: Server) -> None:
    address = f"{server.base}/iris.csv"
    task.provide(address)
    record = task.root / "data.json"
    good = record.read_bytes()
    before = good.replace(b'"left_out_count"', b'"before": {"file": "../../../etc", "sha256": 1}, "left_out_count"')
    assert before != good
    for wrong in (b"{", good.replace(b'"iris.csv"', b'"../../../etc"'), b"[]", before):
        record.write_bytes(wrong)
        task.told.clear()
        found = task.provide(address)
        assert "not known any more" in task.told[0]
        assert task.files(found) == {"iris.csv": ROWS}


_FETCH = """
import sys
from pathlib import Path
from tests.workspace.test_data_sets import Task
Task(Path(sys.argv[1])).provide(sys.argv[2], max_data_mb=64)
"""


def test_a_download_that_was_killed_is_made_again_and_no_half_of_it_is_used(task: Task, tmp_path: Path) -> None:
    body = os.urandom(1 << 20) * 8
    with ExitStack() as stack:
        server = stack.enter_context(serving(says(body)))
        slow = server.trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n" + body[:100_000])
        server.scripts = [slow, says(body)]
        words = [sys.executable, "-c", _FETCH, str(tmp_path), f"{server.base}/big.bin"]
        process = stack.enter_context(subprocess.Popen(words, cwd=ROOT))
        stack.callback(process.kill)
        wait_until(lambda: server.questions, "it asks for the file")
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.wait(HANGS)
        assert not list(task.cache.glob("data/*.json"))
        found = task.provide(f"{server.base}/big.bin", max_data_mb=64)
        assert task.files(found) == {"big.bin": body}
        assert [*task.cache.glob("data/.*"), *task.cache.glob("data/*.part")] == []


@pytest.mark.slow
def test_two_tasks_that_want_the_same_fetch_it_once(tmp_path: Path, server: Server) -> None:
    words = [sys.executable, "-c", _FETCH, str(tmp_path), f"{server.base}/iris.csv"]
    both = [subprocess.Popen(words, cwd=ROOT) for _ in range(2)]
    assert [process.wait(HANGS) for process in both] == [0, 0]
    assert len(server.questions) == 1


def test_data_are_not_removed_while_a_task_fetches_some(task: Task, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(serving(says(ROWS)))
        task.provide(f"{server.base}/iris.csv")
        server.scripts = [server.trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n")]
        words = [sys.executable, "-c", _FETCH, str(tmp_path), f"{server.base}/big.bin"]
        process = stack.enter_context(subprocess.Popen(words, cwd=ROOT))
        stack.callback(process.kill)
        wait_until(lambda: len(server.questions) == 2, "it asks for the other file")
        with pytest.raises(TaskBusy, match="fetches data"):
            remove_data(str(task.cache / "data"))
        process.kill()
        process.wait(HANGS)
        assert list(task.cache.glob("data/*/iris.csv")) != []
        remove_data(str(task.cache / "data"))
    assert list(task.cache.iterdir()) == []


@pytest.mark.slow
def test_who_waited_while_all_was_removed_fetches_into_a_new_store(task: Task, server: Server, tmp_path: Path) -> None:
    address = f"{server.base}/iris.csv"
    task.provide(address)
    (lock,) = [path for path in task.cache.glob("data/*.lock") if DIGEST not in path.name]
    with ExitStack() as stack:
        with open(lock, "rb+") as file, lock_descriptor(file.fileno(), str(lock)):
            for path in task.cache.glob("data/*.json"):
                path.unlink()
            words = [sys.executable, "-c", _FETCH, str(tmp_path), address]
            process = stack.enter_context(subprocess.Popen(words, cwd=ROOT))
            stack.callback(process.kill)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1.5)
            shutil.rmtree(task.cache / "data")
        assert process.wait(HANGS) == 0
    assert [path.read_bytes() for path in task.cache.glob("data/*/iris.csv")] == [ROWS]


@pytest.mark.slow
def test_two_mirrors_of_the_same_file_wait_for_each_other_to_put_it_into_its_place(
    task: Task, server: Server, tmp_path: Path
) -> None:
    place = Path(task.provide(f"{server.base}/iris.csv").setting.partition("=")[2])
    (place / "iris.csv").write_bytes(b"damaged")
    with ExitStack() as stack:
        with open(f"{place}.lock", "wb") as file, lock_descriptor(file.fileno(), f"{place}.lock"):
            words = [sys.executable, "-c", _FETCH, str(tmp_path), f"{server.base}/mirror/iris.csv"]
            process = stack.enter_context(subprocess.Popen(words, cwd=ROOT))
            stack.callback(process.kill)
            wait_until(lambda: len(server.questions) == 2, "it asks for the file")
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            assert (len(server.questions), (place / "iris.csv").read_bytes()) == (2, b"damaged")
        assert process.wait(HANGS) == 0
    assert (place / "iris.csv").read_bytes() == ROWS


@pytest.mark.slow
@pytest.mark.parametrize("seed", chosen(range(10), 2))
def test_a_fetch_killed_at_forty_moments_leaves_nothing_half(seed: int, task: Task, tmp_path: Path) -> None:
    draw, rows = random.Random(seed), os.urandom(1 << 20)
    body = tarred(*((f"part-{number}.bin", rows) for number in range(4)))

    def slowly(connection: socket.socket) -> None:
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        for start in range(0, len(body), 1 << 18):
            connection.sendall(body[start : start + (1 << 18)])
            time.sleep(0.04)

    with serving(slowly) as server:
        address = f"{server.base}/parts.tar.gz"
        for _ in range(4):
            with subprocess.Popen([sys.executable, "-c", _FETCH, str(tmp_path), address], cwd=ROOT) as process:
                time.sleep(draw.uniform(0.3, 2.5))
                process.kill()
            if list(task.cache.glob("data/*.json")):  # it was done: nothing is asked for again
                asked = len(server.questions)
                task.provide(address, max_data_mb=64)
                assert len(server.questions) == asked
        found = task.provide(address, max_data_mb=64)
    assert task.files(found) == {f"part-{number}.bin": rows for number in range(4)}
    assert [path.name for path in task.cache.glob("data/*") if path.suffix in (".part", ".new", ".tmp")] == []
