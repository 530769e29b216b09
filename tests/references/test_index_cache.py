"""The cache's file and the documents when they come from a stranger, are damaged, or are written by two at once."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from phases.references import search
from phases.references.index import build
from phases.references.index import cache as cache_module
from phases.references.index.cache import lock_file, open_readable, open_writable, remove_cache
from phases.references.parse.ipc import parse_answer
from phases.references.parse.model import Parsed
from pipeline.base.errors import PhaseError, PipelineError, StorageError
from tests.papers import HANGS, ROOT
from tests.references.indexed import answer_query, cache_file, index_repositories, search_code
from tests.references.test_reference_index import FILES, document, fetched, index

JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task's folder whose one repository is indexed, and index.json as phase 08 writes it."""
    (one,) = index(tmp_path, fetched(tmp_path, FILES))
    listed = {
        "repositories": [{"name": "a__b", "commit": None, "licence": None, "files": one.files}],
        "files": [{"path": one.path, "bytes": one.bytes, "sha256": one.sha256}],
    }
    (tmp_path / "indexes" / "index.json").write_text(json.dumps(listed))
    return tmp_path


def listed(task: Path) -> dict[str, object]:
    value: dict[str, object] = json.loads((task / "indexes" / "index.json").read_bytes())
    return value


def found(task: Path, query: str = "Norm") -> list[str]:
    return [hit.name for hit in search_code(str(task / "indexes"), query)]


def alter(task: Path, *statements: str) -> None:
    with closing(sqlite3.connect(cache_file(task), isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def again(task: Path) -> int:
    """How many files were parsed when it was indexed once more."""
    (one,) = index(task, [{"name": "a__b"}])
    assert one.files == 4
    return one.parsed


def hot_journal(cache: Path, victim: Path) -> None:
    """A journal that SQLite plays when it opens the cache, and that has it remove `victim` afterwards."""
    page = struct.unpack(">H", cache.read_bytes()[16:18])[0]
    head = JOURNAL_MAGIC + struct.pack(">IIIII", 0, 1234, cache.stat().st_size // page, 512, page)
    name = os.fsencode(victim)
    end = struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">II", len(name), sum(name)) + JOURNAL_MAGIC
    cache.with_name(cache.name + "-journal").write_bytes(head.ljust(512, b"\0") + end)


def use_search(task: Path) -> None:
    assert "Norm" in found(task)


def use_index(task: Path) -> None:
    again(task)
    assert "Norm" in found(task)


USES = pytest.mark.parametrize("use", [use_search, use_index], ids=["search", "index"])


@USES
@pytest.mark.parametrize("kind", ["database", "link", "pipe", "hard link"])
def test_what_a_stranger_put_where_the_cache_once_lay_is_never_opened(
    task: Path, use: Callable[[Path], None], kind: str
) -> None:
    planted, elsewhere, victim = task / "indexes" / "cache.sqlite3", task / "elsewhere", task / "thesis.txt"
    elsewhere.write_bytes(b"mine")
    victim.write_text("years of work")
    if kind == "database":
        planted.write_bytes(cache_file(task).read_bytes().replace(b"Norm", b"Evil"))
        hot_journal(planted, victim)
    elif kind == "link":
        planted.symlink_to(elsewhere)
    elif kind == "hard link":
        planted.hardlink_to(elsewhere)
    else:
        os.mkfifo(planted)
    cache_file(task).unlink()
    use(task)
    assert (elsewhere.read_bytes(), victim.read_text()) == (b"mine", "years of work")


def test_an_index_folder_that_is_a_link_is_refused_and_nothing_written_through_it(task: Path) -> None:
    (task / "indexes").rename(task / "elsewhere")
    (task / "indexes").symlink_to(task / "elsewhere")
    before = sorted(os.listdir(task / "elsewhere"))
    with pytest.raises(StorageError, match="indexes is not a directory"):
        again(task)
    assert sorted(os.listdir(task / "elsewhere")) == before


@pytest.mark.parametrize("name", [pytest.param("a__b", marks=pytest.mark.slow), "c__d"])
def test_the_cache_of_another_task_that_was_in_its_place_is_not_used(tmp_path: Path, name: str) -> None:
    for folder, code in (("one", "class Norm: pass"), ("other", "class Different: pass")):
        called = name if folder == "other" else "a__b"
        rows = fetched(tmp_path / folder, {"x.py": code}, called)
        (one,) = index(tmp_path / folder, rows)
        files = [{"path": one.path, "bytes": one.bytes, "sha256": one.sha256}]
        (tmp_path / folder / "indexes" / "index.json").write_text(json.dumps({"files": files}))
    for part in ("indexes", "code_base"):
        shutil.rmtree(tmp_path / "one" / part)
        (tmp_path / "other" / part).rename(tmp_path / "one" / part)
    assert (found(tmp_path / "one", "Norm"), found(tmp_path / "one", "Different")) == ([], ["Different"])


WRONG = {
    "a number for what was parsed": "UPDATE files SET parsed = 5",
    "no totals": "DELETE FROM totals",
    "a text that is none": "UPDATE texts SET data = 'none'",
    "a summary that is a list": "UPDATE repositories SET row = '[1]'",
    "a summary of other keys": """UPDATE repositories SET row = '{"x": 1}'""",
    "a summary that is no JSON": "UPDATE repositories SET row = 'no'",
}


@USES
@pytest.mark.parametrize("statement", WRONG.values(), ids=WRONG)
def test_a_value_of_another_kind_costs_the_cache_alone(task: Path, use: Callable[[Path], None], statement: str) -> None:
    expected = search_code(str(task / "indexes"), "Norm scales"), search_code(str(task / "indexes"), "Norm")
    alter(task, statement)
    use(task)
    assert (search_code(str(task / "indexes"), "Norm scales"), search_code(str(task / "indexes"), "Norm")) == expected


@pytest.mark.slow
def test_a_file_that_takes_the_place_of_a_renamed_one_loses_neither(tmp_path: Path) -> None:
    files = {"a.py": "def alpha_thing(): pass\n", "z.py": "def zeta_thing(): pass\n"}
    index(tmp_path, fetched(tmp_path, files))
    turned = {"a.py": files["z.py"], "z.py": "def other_thing(): pass\n", "b.py": files["a.py"]}
    (one,) = index(tmp_path, fetched(tmp_path, turned))
    assert one.parsed == 3
    rows = {row["path"]: row for row in document(tmp_path)["files"]}
    assert [rows[path]["symbols"][0]["name"] for path in sorted(rows)] == ["zeta_thing", "alpha_thing", "other_thing"]
    assert not any("fault" in row for row in rows.values())


def test_files_that_change_places_in_many_batches_are_all_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phases.references.index.build.BATCH", 2)
    files = {f"m{number}.py": f"def thing_{number}(): pass\n" for number in range(9)}
    index(tmp_path, fetched(tmp_path, files))
    moved = {f"m{(number + 1) % 9}.py": text for number, text in enumerate(files.values())}
    index(tmp_path, fetched(tmp_path, moved))
    names = {row["path"]: row["symbols"][0]["name"] for row in document(tmp_path)["files"]}
    assert names == {f"m{(number + 1) % 9}.py": f"thing_{number}" for number in range(9)}


def _search_till_told(folder: str, stop: multiprocessing.synchronize.Event, told: multiprocessing.Queue[str]) -> None:
    while not stop.is_set():
        try:
            search_code(folder + "/indexes", "common thing")
        except PipelineError as error:
            told.put(str(error))


@pytest.mark.slow
def test_a_search_beside_a_run_that_makes_the_cache_anew_harms_neither(tmp_path: Path) -> None:
    files = {f"m{number}.py": f"def common_thing_{number}(): return {number}\n" * 9 for number in range(300)}
    index(tmp_path, fetched(tmp_path, dict(list(files.items())[:30])))
    fetched(tmp_path, files)
    alter(tmp_path, "DELETE FROM totals")
    spawn = multiprocessing.get_context("spawn")
    stop, told = spawn.Event(), spawn.Queue()
    searcher = spawn.Process(target=_search_till_told, args=(str(tmp_path), stop, told))
    searcher.start()
    (one,) = index(tmp_path, [{"name": "a__b"}])
    stop.set()
    searcher.join(HANGS)
    assert (searcher.exitcode, told.empty(), one.files) == (0, True, 300)
    with open_readable(str(cache_file(tmp_path))) as cache:
        assert len(cache.files("a__b")) == 300


def test_a_cache_is_not_made_anew_while_another_process_writes(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "WAIT", 0.0)
    path = cache_file(task)
    with lock_file(str(path)) as mine, open_writable(str(path)) as cache, cache.writing():
        cache.remove("a__b", ["README.md"])
        before = path.stat().st_ino
        assert mine
        with pytest.raises(StorageError, match=r"another process writes to .*try again"):
            again(task)
        assert (path.stat().st_ino, found(task)[:1]) == (before, ["Norm"])
    path.unlink()
    with lock_file(str(path)), pytest.raises(StorageError, match=r"another process writes to .*try again"):
        found(task)


def test_a_lock_goes_with_the_process_that_held_it(task: Path) -> None:
    program = (
        "import os, sys\nfrom phases.references.index.cache import lock_file\n"
        "with lock_file(sys.argv[1]) as mine:\n    os._exit(7 if mine else 1)\n"
    )
    path = str(cache_file(task))
    assert subprocess.run([sys.executable, "-c", program, path], cwd=ROOT, timeout=HANGS, check=False).returncode == 7
    with open(path + ".lock", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_run_whose_cache_is_deleted_in_the_middle_begins_it_once_more(tmp_path: Path) -> None:
    rows, into = fetched(tmp_path, FILES), tmp_path / "indexes"
    deleted: list[bool] = []

    def check(row: dict[str, object]) -> None:
        if not deleted and cache_file(tmp_path).exists():
            deleted.append(True)
            remove_cache(str(cache_file(tmp_path)))

    (one,) = index_repositories(str(tmp_path / "code_base"), rows, str(into), check)
    assert (deleted, one.files, found(tmp_path)[:1]) == ([True], 4, ["Norm"])


@USES
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_document_that_is_no_file_hangs_nothing(task: Path, use: Callable[[Path], None], kind: str) -> None:
    place = task / "indexes" / "a__b.json"
    (cache_file(task)).unlink()
    place.rename(task / "kept.json")
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("/dev/zero")
    else:
        place.mkdir()
    if use is use_search:
        assert "Norm" in found(task), "the code is searched, and not the document"
    elif kind == "folder":
        with pytest.raises(StorageError, match="cannot write"):
            again(task)
    else:
        assert again(task) == 4
        assert "Norm" in found(task)


@pytest.mark.parametrize("lost", [True, False], ids=["cache lost", "cache there"])
def test_a_document_that_was_edited_is_not_searched_and_written_again(task: Path, lost: bool) -> None:
    place = task / "indexes" / "a__b.json"
    good = place.read_bytes()
    place.write_bytes(good.replace(b"Norm", b"Evil"))
    if lost:
        cache_file(task).unlink()
    assert (found(task, "Evil"), found(task)[:1]) == ([], ["Norm"])
    assert again(task) == 0, "the search has parsed the code already"
    assert place.read_bytes() == good


def test_a_repository_whose_code_is_gone_is_named_by_a_search(task: Path) -> None:
    (task / "code_base" / "a__b.json").unlink()
    cache_file(task).unlink()
    assert found(task) == []
    with pytest.raises(PipelineError, match=r"a__b is gone or damaged.*pipeline resume"):
        answer_query(str(task), listed(task), "Norm", "", 5)


@pytest.mark.parametrize(
    "directory",
    [pytest.param("", marks=pytest.mark.slow), "/dev/null/cache"],
    ids=["none is given", "it cannot be made"],
)
def test_without_a_cache_directory_everything_works_and_nothing_is_left(task: Path, directory: str) -> None:
    into, told = str(task / "indexes"), list[str]()
    hits = search.search_code(into, "Norm", cache_directory=directory)
    (one,) = build.index_repositories(
        str(task / "code_base"), [{"name": "a__b"}], into, lambda row: None, told.append, cache_directory=directory
    )
    assert ([hit.name for hit in hits][:1], one.parsed) == (["Norm"], 0)
    assert sorted(os.listdir(into)) == ["a__b.json", "index.json"]
    said = "cannot write to /dev/null/cache (Not a directory): each command parses the fetched code again"
    assert [text for text in told if "parsed" not in text] == ([said] if directory else [])


def test_a_cache_that_nobody_used_for_long_is_removed(task: Path) -> None:
    old, young = cache_file(task).with_name("0" * 32 + ".sqlite3"), cache_file(task).with_name("1" * 32 + ".sqlite3")
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    assert again(task) == 0
    assert (old.exists(), young.exists()) == (False, True)


def give_up(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """Files with this word are given up, as by a clock."""

    def given_up(line: bytes, number: int) -> Parsed:
        parsed = parse_answer(line, number)
        if any(word in piece.body + piece.names for piece in parsed.pieces):
            return parsed._replace(symbols=(), fault="given up: parsing it took more than 20 s")
        return parsed

    monkeypatch.setattr("phases.references.parse.worker_queue.parse_answer", given_up)


@pytest.mark.parametrize(
    "lost",
    [False, True],
    ids=["nothing", "the cache"],
)
def test_what_was_given_up_is_tried_again_by_the_next_run(tmp_path: Path, lost: bool) -> None:
    rows = fetched(tmp_path, {**FILES, "twin.py": FILES["pkg/layers.py"]})
    with pytest.MonkeyPatch.context() as busy:
        give_up(busy, "norm")
        (first,) = index(tmp_path, rows)
    assert (first.faults, first.parsed) == (3, 5)
    if lost:
        cache_file(tmp_path).unlink()
    (second,) = index(tmp_path, rows)
    assert second.faults == 0
    assert second.parsed == (5 if lost else 3), "the rest is known"
    (third,) = index(tmp_path, rows)
    assert third == second._replace(parsed=0)


def test_a_machine_that_starts_no_parser_is_an_error_and_no_fault_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = fetched(tmp_path, FILES)
    for program, why in (("/bin/false", "ended with code 1 before it was ready"), (str(tmp_path / "none"), "No such")):
        with monkeypatch.context() as broken:
            broken.setattr(sys, "executable", program)
            with pytest.raises(PhaseError, match=rf"the process that parses code could not work \(.*({why}).*resume"):
                index(tmp_path, rows)
    (one,) = index(tmp_path, rows)
    assert (one.faults, one.parsed) == (0, 4)
