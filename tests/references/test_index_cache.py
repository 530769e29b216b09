"""The cache's file and the documents when they come from a stranger, are damaged, or are written by two at once."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import sqlite3
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from phases.references.index import checked_statements, lock, restore
from phases.references.index.build import index_repositories
from phases.references.index.cache_file import NAME, open_readable, open_writable, remove_cache
from phases.references.index.lock import lock_file
from phases.references.index.packing import CacheUnusable
from phases.references.index.restore import rebuild_cache
from phases.references.parse.ipc import parse_answer
from phases.references.parse.model import Parsed
from phases.references.search.answers import answer_query
from phases.references.search.search import search_code
from pipeline.base.errors import PhaseError, PipelineError, StorageError
from tests.papers import HANGS, ROOT
from tests.references.test_reference_index import FILES, document, fetched, index

JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


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
    with closing(sqlite3.connect(task / "indexes" / NAME, isolation_level=None)) as connection:
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
    cache.with_name(NAME + "-journal").write_bytes(head.ljust(512, b"\0") + end)


def use_search(task: Path) -> None:
    assert "Norm" in found(task)


def use_index(task: Path) -> None:
    assert again(task) == 0
    assert "Norm" in found(task)


USES = pytest.mark.parametrize("use", [use_search, use_index], ids=["search", "index"])


def test_the_planted_journal_of_these_tests_does_remove_a_file(task: Path) -> None:
    victim = task / "thesis.txt"
    victim.write_text("years of work")
    hot_journal(task / "indexes" / NAME, victim)
    alter(task, "SELECT count(*) FROM files")
    assert not victim.exists()


@USES
def test_a_planted_journal_removes_no_file(task: Path, use: Callable[[Path], None]) -> None:
    victim = task / "thesis.txt"
    victim.write_text("years of work")
    hot_journal(task / "indexes" / NAME, victim)
    use(task)
    assert victim.read_text() == "years of work"
    assert not (task / "indexes" / f"{NAME}-journal").exists()


@USES
@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal", "", ".lock"])
@pytest.mark.parametrize("kind", ["link", "pipe", "hard link"])
def test_what_is_no_file_of_ours_is_never_opened(
    task: Path, use: Callable[[Path], None], ending: str, kind: str
) -> None:
    place, elsewhere = task / "indexes" / (NAME + ending), task / "elsewhere"
    place.unlink(missing_ok=True)
    elsewhere.write_bytes(b"mine")
    if kind == "link":
        place.symlink_to(elsewhere)
    elif kind == "hard link":
        place.hardlink_to(elsewhere)
    else:
        os.mkfifo(place)
    use(task)
    assert elsewhere.read_bytes() == b"mine"
    if not (use is use_search and ending == ".lock"):  # nobody needed that one
        assert not place.exists() or stat.S_ISREG(place.lstat().st_mode)


def test_an_index_folder_that_is_a_link_is_refused_and_nothing_written_through_it(task: Path) -> None:
    (task / "indexes").rename(task / "elsewhere")
    (task / "indexes").symlink_to(task / "elsewhere")
    (task / "elsewhere" / NAME).unlink()
    with pytest.raises(StorageError, match="indexes is a link or a file"):
        found(task)
    assert not (task / "elsewhere" / NAME).exists()


TRIGGER = (
    "CREATE TRIGGER t BEFORE DELETE ON repositories BEGIN"
    f" DELETE FROM files WHERE id IN ({ENDLESS} SELECT -i FROM n WHERE i < 0); END"
)
VIEW = (
    f"CREATE VIEW symbols AS {ENDLESS} SELECT 1 AS id, 'norm' AS name, 'norm' AS folded, '' AS parent, 'class' AS kind,"
    " 1 AS line, 1 AS end, '' AS signature, 1 AS file FROM n WHERE i < 0"
)
PLANTED = {
    "a trigger": (TRIGGER,),
    "a view": ("ALTER TABLE symbols RENAME TO other", VIEW),
    "another index": ("CREATE INDEX more ON files (path)",),
    "another table": ("CREATE TABLE more (a)",),
    "a generated column": ("ALTER TABLE files ADD COLUMN more AS (id + 1)",),
    "a table of another kind": ("DROP TABLE counts", "CREATE TABLE counts (term, doc)"),
    "a write-ahead log": ("PRAGMA journal_mode = WAL",),
}


@USES
@pytest.mark.parametrize("statements", PLANTED.values(), ids=PLANTED)
def test_nothing_but_our_own_tables_is_used(
    task: Path, use: Callable[[Path], None], statements: tuple[str, ...]
) -> None:
    alter(task, *statements)
    use(task)
    with open_readable(str(task / "indexes" / NAME)) as cache:
        assert cache.rows("SELECT name FROM sqlite_master WHERE name IN ('t', 'more', 'other')") == []


def test_a_statement_that_never_ends_is_ended(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_statements, "LONGEST", 0.2)
    with pytest.raises(CacheUnusable, match="interrupted"), open_readable(str(task / "indexes" / NAME)) as cache:
        cache.rows(f"{ENDLESS} SELECT i AS id FROM n WHERE i < 0")


WRONG = {
    "a word for a line": "UPDATE symbols SET line = 'x', end = 'y'",
    "a line before the first": "UPDATE symbols SET line = -5",
    "a path of bytes": "UPDATE files SET path = x'ff41' WHERE path = 'pkg/layers.py'",
    "a digest of bytes": "UPDATE files SET sha256 = x'00'",
    "a path that is no text": "UPDATE files SET path = CAST(x'ff41' AS TEXT) WHERE path = 'pkg/layers.py'",
    "a number for what was parsed": "UPDATE files SET parsed = 5",
    "no totals": "DELETE FROM totals",
    "words for totals": "UPDATE totals SET pieces = 'many'",
    "a text that is none": "UPDATE texts SET data = 'none'",
    "a summary that is a list": "UPDATE repositories SET row = '[1]'",
    "a summary of other keys": """UPDATE repositories SET row = '{"x": 1}'""",
    "a summary of other values": """UPDATE repositories SET row = replace(row, '"files": 4', '"files": "4"')""",
    "a summary of other languages": """UPDATE repositories SET row = '{"languages": 4, "sha256": ""}'""",
    "a summary that is no JSON": "UPDATE repositories SET row = 'no'",
}


@USES
@pytest.mark.parametrize("statement", WRONG.values(), ids=WRONG)
def test_a_value_of_another_kind_costs_the_cache_alone(task: Path, use: Callable[[Path], None], statement: str) -> None:
    expected = search_code(str(task / "indexes"), "Norm scales"), search_code(str(task / "indexes"), "Norm")
    alter(task, statement)
    use(task)
    assert (search_code(str(task / "indexes"), "Norm scales"), search_code(str(task / "indexes"), "Norm")) == expected


def test_a_file_that_takes_the_place_of_a_renamed_one_loses_neither(tmp_path: Path) -> None:
    files = {"a.py": "def alpha_thing(): pass\n", "z.py": "def zeta_thing(): pass\n"}
    index(tmp_path, fetched(tmp_path, files))
    turned = {"a.py": files["z.py"], "z.py": "def other_thing(): pass\n", "b.py": files["a.py"]}
    (one,) = index(tmp_path, fetched(tmp_path, turned))
    assert one.parsed == 1, "what is known is copied before it is replaced"
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


def test_a_search_beside_a_run_that_makes_the_cache_anew_harms_neither(tmp_path: Path) -> None:
    files = {f"m{number}.py": f"def common_thing_{number}(): return {number}\n" * 9 for number in range(300)}
    index(tmp_path, fetched(tmp_path, dict(list(files.items())[:30])))
    fetched(tmp_path, files)
    alter(tmp_path, "PRAGMA user_version = 1")
    spawn = multiprocessing.get_context("spawn")
    stop, told = spawn.Event(), spawn.Queue()
    searcher = spawn.Process(target=_search_till_told, args=(str(tmp_path), stop, told))
    searcher.start()
    (one,) = index(tmp_path, [{"name": "a__b"}])
    stop.set()
    searcher.join(HANGS)
    assert (searcher.exitcode, told.empty(), one.files) == (0, True, 300)
    with open_readable(str(tmp_path / "indexes" / NAME)) as cache:
        assert len(cache.files("a__b")) == 300


def test_a_cache_is_not_made_anew_while_another_process_writes(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore, "_PATIENCE", 0.0)
    monkeypatch.setattr(lock, "WAIT", 0.0)
    monkeypatch.setattr("phases.references.search.search.WAIT", 0.0)
    path = task / "indexes" / NAME
    with lock_file(str(path)) as mine, open_writable(str(path)) as cache, cache.writing():
        cache.remove("a__b", ["README.md"])
        before = path.stat().st_ino
        assert mine
        assert not rebuild_cache(str(task / "indexes"), str(task / "code_base"))
        with pytest.raises(StorageError, match=r"another process writes to .*pipeline resume"):
            again(task)
        assert (path.stat().st_ino, found(task)[:1]) == (before, ["Norm"])
    path.unlink()
    with lock_file(str(path)), pytest.raises(StorageError, match=r"another process is making .* search again"):
        found(task)


def test_a_cache_that_another_process_made_meanwhile_is_not_made_twice(task: Path) -> None:
    into, code = str(task / "indexes"), str(task / "code_base")
    seen = restore.file_identity(into + "/" + NAME)
    assert rebuild_cache(into, code, seen)
    assert not rebuild_cache(into, code, seen)


def test_a_lock_goes_with_the_process_that_held_it(task: Path) -> None:
    program = (
        "import os, sys\nfrom phases.references.index.lock import lock_file\n"
        "with lock_file(sys.argv[1]) as mine:\n    os._exit(7 if mine else 1)\n"
    )
    path = str(task / "indexes" / NAME)
    assert subprocess.run([sys.executable, "-c", program, path], cwd=ROOT, timeout=HANGS, check=False).returncode == 7
    with open(path + ".lock", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_run_whose_cache_is_deleted_in_the_middle_begins_it_once_more(tmp_path: Path) -> None:
    rows, into = fetched(tmp_path, FILES), tmp_path / "indexes"
    deleted: list[bool] = []

    def check(row: dict[str, object]) -> None:
        if not deleted and (into / NAME).exists():
            deleted.append(True)
            remove_cache(str(into / NAME))

    (one,) = index_repositories(str(tmp_path / "code_base"), rows, str(into), check)
    assert (deleted, one.files, found(tmp_path)[:1]) == ([True], 4, ["Norm"])


@USES
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_document_that_is_no_file_hangs_nothing(task: Path, use: Callable[[Path], None], kind: str) -> None:
    place = task / "indexes" / "a__b.json"
    (task / "indexes" / NAME).unlink()
    place.rename(task / "kept.json")
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("/dev/zero")
    else:
        place.mkdir()
    if use is use_search:
        assert found(task) == []
        with pytest.raises(PipelineError, match="pipeline resume"):
            answer_query(str(task), listed(task), "Norm", "", 5)
    elif kind == "folder":
        with pytest.raises(StorageError, match="cannot write"):
            again(task)
    else:
        assert again(task) == 4
        assert "Norm" in found(task)


def cut(data: bytes) -> bytes:
    return b"\n".join(data.split(b"\n")[:10])


def cut_at_its_end(data: bytes) -> bytes:
    return data[:-4]


def edited(data: bytes) -> bytes:
    return data.replace(b"Norm", b"Evil")


def misspelled(data: bytes) -> bytes:
    return data.replace(b'"why":', b'"wny":')


@pytest.mark.parametrize("damage", [cut, cut_at_its_end, edited, misspelled])
@pytest.mark.parametrize("known", [True, False], ids=["with index.json", "without"])
def test_a_document_that_is_not_as_written_is_not_believed(
    task: Path, damage: Callable[[bytes], bytes], known: bool
) -> None:
    place = task / "indexes" / "a__b.json"
    good = place.read_bytes()
    if not known:
        (task / "indexes" / "index.json").unlink()
        if damage is edited:
            pytest.skip("nothing is there that says what it was")
    place.write_bytes(damage(good))
    (task / "indexes" / NAME).unlink()
    assert found(task, "Evil") == found(task, "Norm") == []
    with open_readable(str(task / "indexes" / NAME)) as cache:
        assert cache.repositories() == [], "nothing of it was taken"
    (task / "indexes" / NAME).unlink()
    assert again(task) == 4
    assert place.read_bytes() == good


@pytest.mark.parametrize(
    "damage",
    [(b'"line":1,', b'"line":-1,'), (b'"kind":"class"', b'"kind":"spell"'), (b'"name":"Norm"', b'"name":7')],
    ids=["a negative line", "an unknown kind", "a number for a name"],
)
def test_a_symbol_that_none_could_be_is_not_taken_from_a_document(task: Path, damage: tuple[bytes, bytes]) -> None:
    (task / "indexes" / "index.json").unlink()
    place = task / "indexes" / "a__b.json"
    good = place.read_bytes().replace(b": ", b":").replace(b", ", b",")
    assert damage[0] in good
    place.write_bytes(place.read_bytes().replace(damage[0].replace(b":", b": "), damage[1]).replace(*damage))
    assert place.read_bytes() != good
    (task / "indexes" / NAME).unlink()
    assert found(task) == []


def test_a_search_where_nothing_can_be_written_makes_its_cache_elsewhere(
    task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (task / "indexes" / NAME).unlink()
    (task / "indexes" / f"{NAME}.lock").unlink()
    # Root may write where the mode says no: what the system would say of a disk that is mounted for reading stands in.
    monkeypatch.setattr("phases.references.search.search.may_write", lambda path: False)
    assert found(task)[:1] == ["Norm"]
    assert sorted(os.listdir(task / "indexes")) == ["a__b.json", "index.json"]


def give_up(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """Files with this word are given up, as by a clock."""

    def given_up(head: dict[str, object]) -> Parsed:
        parsed = parse_answer(head)
        if any(word in piece.body + piece.names for piece in parsed.pieces):
            return parsed._replace(symbols=(), fault="given up: parsing it took more than 20 s")
        return parsed

    monkeypatch.setattr("phases.references.parse.worker_process.parse_answer", given_up)


@pytest.mark.parametrize("lost", [(), (NAME,), (NAME, "a__b.json")], ids=["nothing", "the cache", "both"])
def test_what_was_given_up_is_tried_again_by_the_next_run(tmp_path: Path, lost: tuple[str, ...]) -> None:
    rows = fetched(tmp_path, {**FILES, "twin.py": FILES["pkg/layers.py"]})
    with pytest.MonkeyPatch.context() as busy:
        give_up(busy, "norm")
        (first,) = index(tmp_path, rows)
    assert (first.faults, first.parsed) == (3, 4), "a twin of what was given up is not tried in the same run"
    for name in lost:
        (tmp_path / "indexes" / name).unlink()
    (second,) = index(tmp_path, rows)
    assert second.faults == 0
    assert second.parsed == (4 if len(lost) == 2 else 2), "the rest is known"
    (third,) = index(tmp_path, rows)
    assert third == second._replace(parsed=0)


def test_a_machine_that_starts_no_parser_is_an_error_and_no_fault_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = fetched(tmp_path, FILES)
    for program, why in (("/bin/false", "ended with code 1 before it was ready"), (str(tmp_path / "none"), "No such")):
        with monkeypatch.context() as broken:
            broken.setattr(sys, "executable", program)
            with pytest.raises(PhaseError, match=rf"cannot start a process that parses code \(.*({why}).*resume"):
                index(tmp_path, rows)
    (one,) = index(tmp_path, rows)
    assert (one.faults, one.parsed) == (0, 4)
