"""tasks.jsonl: what was recorded is never lost, and what is damaged is named and never guessed."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.base.errors import CatalogError, StorageError
from pipeline.engine.catalog import LARGEST_LINE, Catalog, CatalogEntry, TaskList
from tests.strategies import FEW, texts


def line_of(task: str, **changes: object) -> bytes:
    row = {
        "version": 1,
        "id": task,
        "at": "2026-01-31T12:00:00.000Z",
        "status": "done",
        "mode": "fast",
        "source": "ß.pdf",
        "reason": "😀",
    }
    return json.dumps({**row, **changes}, ensure_ascii=False).encode("utf-8") + b"\n"


def statuses(listing: TaskList) -> dict[str, str]:
    return {name: entry.status for name, entry in listing.entries.items()}


def record(catalog: Catalog, task: str, status: str) -> None:
    catalog.record(task, status, mode="full", source="paper.pdf")


def test_no_file_is_an_empty_list(tmp_path: Path) -> None:
    listing = Catalog(str(tmp_path)).read()
    assert (listing.entries, listing.damages, listing.repairs) == ({}, [], [])
    assert list(tmp_path.iterdir()) == []


def test_a_record_comes_back_with_all_it_says(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    catalog.record("a", "error", mode="fast", source="a b.pdf", reason="no\nspace")
    (entry,) = catalog.read().entries.values()
    assert (entry.id, entry.status, entry.mode, entry.source, entry.reason) == (
        "a",
        "error",
        "fast",
        "a b.pdf",
        "no\nspace",
    )
    assert entry.at.endswith("Z")


@FEW
@given(reason=texts)
def test_a_record_is_one_line_whatever_its_texts_hold(tmp_path_factory: pytest.TempPathFactory, reason: str) -> None:
    catalog = Catalog(str(tmp_path_factory.mktemp("tasks")))
    catalog.record("a", "error", mode="fast", source=reason, reason=reason)
    assert Path(catalog.path).read_bytes().count(b"\n") == 1
    listing = catalog.read()
    assert listing.damages == []
    assert (listing.entries["a"].source, listing.entries["a"].reason) == (reason, reason)


def test_the_last_line_of_a_task_is_what_holds(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    for task, status in (("a", "running"), ("b", "running"), ("a", "error"), ("c", "running"), ("b", "completed")):
        record(catalog, task, status)
    listing = catalog.read()
    assert statuses(listing) == {"a": "error", "c": "running", "b": "completed"}
    assert list(listing.entries) == ["a", "c", "b"], "the latest change comes last"


WHOLE = line_of("eins") + line_of("zwei") + line_of("drei")
LAST = len(WHOLE) - len(line_of("drei"))


def test_a_last_record_cut_at_any_byte_costs_no_other(tmp_path: Path) -> None:
    catalog, aside = Catalog(str(tmp_path)), tmp_path / "tasks.jsonl.corrupt"
    for end in range(LAST + 1, len(WHOLE)):
        aside.unlink(missing_ok=True)
        Path(catalog.path).write_bytes(WHOLE[:end])
        listing = catalog.read()
        assert list(listing.entries) == ["eins", "zwei"], end
        assert listing.damages == [], end
        (repair,) = listing.repairs
        torn = f"the last line was torn ({end - LAST} bytes); it is now in tasks.jsonl.corrupt"
        assert repair == f"{catalog.path}: {torn}"
        assert aside.read_bytes() == WHOLE[LAST:end] + b"\n", end
        assert Path(catalog.path).read_bytes() == WHOLE[:LAST], end
        assert catalog.read().repairs == [], end


def test_a_record_after_one_torn_at_any_byte_is_readable(tmp_path: Path) -> None:
    catalog, aside = Catalog(str(tmp_path)), tmp_path / "tasks.jsonl.corrupt"
    for end in range(LAST + 1, len(WHOLE)):
        aside.unlink(missing_ok=True)
        Path(catalog.path).write_bytes(WHOLE[:end])
        record(catalog, "vier", "running")
        listing = catalog.read()
        assert list(listing.entries) == ["eins", "zwei", "vier"], end
        assert (listing.damages, listing.repairs) == ([], []), end
        assert aside.read_bytes() == WHOLE[LAST:end] + b"\n", end


def test_a_torn_tail_that_cannot_be_mended_still_gives_the_list(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    Path(catalog.path).write_bytes(WHOLE[:-5])
    (tmp_path / ".tasks.jsonl.lock").mkdir()  # as on a disk that is read-only
    listing = catalog.read()
    assert list(listing.entries) == ["eins", "zwei"]
    (repair,) = listing.repairs
    assert "the last line is torn, and stays so: cannot lock" in repair
    assert Path(catalog.path).read_bytes() == WHOLE[:-5]


DAMAGES = [
    pytest.param(b"\0" * 4096 + b"\n", "not JSON", id="a block of NULs"),
    pytest.param(b"\xef\xbb\xbf" + line_of("x"), "not JSON", id="a byte order mark"),
    pytest.param(b"\xff\xfe\n", "not UTF-8 text", id="bytes that are not text"),
    pytest.param(line_of("x")[:-9] + b"\n", "not", id="half a line"),
    pytest.param(line_of("x")[:-1] + line_of("y"), "not JSON", id="two records on a line"),
    pytest.param(line_of("x", reason="x" * LARGEST_LINE), "over the limit of 1,048,576", id="a huge line"),
    pytest.param(line_of("x", version=2), "not a record of version 1", id="an unknown version"),
    pytest.param(line_of("x", version=True), "not a task record", id="a version that is a bool"),
    pytest.param(line_of("x", version="1"), "not a record of version 1", id="a version that is a text"),
    pytest.param(line_of("x", status=3), "not a task record", id="a status that is a number"),
    pytest.param(line_of("x", id=None), "not a task record", id="an id that is null"),
    pytest.param(line_of("x", more=1), "not a task record", id="a field more"),
    pytest.param(b'{"version": 1, "id": "x"}\n', "not a task record", id="fields missing"),
    pytest.param(b"[]\n", "not a record of version 1", id="a list"),
    pytest.param(b"null\n", "not a record of version 1", id="null"),
    pytest.param(b"NaN\n", "not JSON", id="NaN"),
    pytest.param(b"[" * 100_000 + b"\n", "nested too deeply", id="100,000 brackets"),
    pytest.param(b'{"id": "x", "id": "y"}\n', "appears twice", id="a key that stands twice"),
]


@pytest.mark.parametrize(("damage", "problem"), DAMAGES)
def test_a_damage_in_the_middle_is_named_and_the_rest_is_listed(tmp_path: Path, damage: bytes, problem: str) -> None:
    catalog = Catalog(str(tmp_path))
    Path(catalog.path).write_bytes(line_of("eins") + damage + line_of("drei"))
    listing = catalog.read()
    assert list(listing.entries) == ["eins", "drei"]
    assert listing.repairs == []
    (told,) = listing.damages
    assert told.startswith(f"{catalog.path}, line 2: ")
    assert problem in told


@pytest.mark.parametrize(("damage", "problem"), DAMAGES)
def test_no_decision_is_taken_over_a_damage(tmp_path: Path, damage: bytes, problem: str) -> None:
    catalog = Catalog(str(tmp_path))
    Path(catalog.path).write_bytes(line_of("eins") + damage + line_of("drei"))
    with pytest.raises(CatalogError) as caught:
        catalog.read().must_be_whole()
    assert f"{catalog.path}, line 2: " in str(caught.value)
    assert str(caught.value).endswith("name the task, or rebuild the list with: pipeline list --rebuild")


@pytest.mark.parametrize("harmless", [b"\n", b"  \n", b"\r\n", b"\n\n\n"], ids=ascii)
def test_a_blank_line_is_no_damage_and_moves_no_line_number(tmp_path: Path, harmless: bytes) -> None:
    catalog = Catalog(str(tmp_path))
    Path(catalog.path).write_bytes(line_of("eins") + harmless + b"damage\n" + line_of("drei"))
    listing = catalog.read()
    assert list(listing.entries) == ["eins", "drei"]
    (told,) = listing.damages
    assert f", line {2 + harmless.count(10)}: " in told


def test_windows_line_ends_are_no_damage(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    Path(catalog.path).write_bytes(WHOLE.replace(b"\n", b"\r\n"))
    listing = catalog.read()
    assert list(listing.entries) == ["eins", "zwei", "drei"]
    listing.must_be_whole()


def test_the_same_status_again_is_not_a_change_but_another_task_between_is(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    for task in ("a", "b", "a"):
        record(catalog, task, "running")
        record(catalog, task, "running")
    assert list(catalog.read().entries) == ["b", "a"]


def test_a_rebuilt_list_is_whole_and_the_old_one_is_kept(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    before = line_of("eins") + b"damage\n" + line_of("zwei")
    Path(catalog.path).write_bytes(before)
    late = CatalogEntry("late", "2026-02-02T00:00:00.000Z", "error", "full", "b.pdf", "")
    early = CatalogEntry("early", "2026-01-01T00:00:00.000Z", "completed", "fast", "a.pdf", "fine")
    catalog.rebuild(lambda: [late, early])
    listing = catalog.read()
    listing.must_be_whole()
    assert list(listing.entries.items()) == [("early", early), ("late", late)]
    assert Path(catalog.path + ".prev").read_bytes() == before


def test_a_list_can_be_rebuilt_from_nothing(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    catalog.rebuild(list)
    assert catalog.read().entries == {}
    assert not Path(catalog.path + ".prev").exists()


RECORDER = """
import sys
from pipeline.engine.catalog import Catalog
catalog = Catalog(sys.argv[1])
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    catalog.record(f"{sys.argv[2]}-{number}", "running", mode="full", source="x" * 300)
"""


def test_processes_that_record_at_once_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_bytes(WHOLE[:-5])
    recorders = [
        subprocess.Popen([sys.executable, "-c", RECORDER, str(tmp_path), name, "25"], stdin=subprocess.PIPE)
        for name in "abcd"
    ]
    for recorder in recorders:
        assert recorder.stdin is not None
        recorder.stdin.write(b"go\n")
        recorder.stdin.flush()
    readings = [Catalog(str(tmp_path)).read() for _ in range(50)]
    for recorder in recorders:
        recorder.communicate(timeout=120)
        assert recorder.returncode == 0
    listing = Catalog(str(tmp_path)).read()
    assert (listing.damages, listing.repairs) == ([], [])
    assert set(listing.entries) == {"eins", "zwei"} | {f"{name}-{number}" for name in "abcd" for number in range(25)}
    assert all(reading.damages == [] for reading in readings)
    assert (tmp_path / "tasks.jsonl.corrupt").read_bytes() == WHOLE[LAST:-5] + b"\n"


@pytest.mark.parametrize("name", ["record", "rebuild"])
def test_the_list_is_locked_whenever_something_is_written(tmp_path: Path, name: str) -> None:
    catalog, locked = Catalog(str(tmp_path)), list[bool]()
    record(catalog, "a", "running")

    def watch(real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(descriptor: int) -> None:
            with (tmp_path / ".tasks.jsonl.lock").open() as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    locked.append(True)
                else:
                    locked.append(False)
            real(descriptor)

        return sync

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", watch(os.fsync))
        patch.setattr(os, "fdatasync", watch(os.fdatasync))
        if name == "record":
            record(catalog, "b", "running")
        else:
            catalog.rebuild(list)
    assert locked
    assert all(locked)


@pytest.mark.parametrize("plant", ["a folder", "a link"])
def test_a_list_that_is_no_file_is_refused(tmp_path: Path, plant: str) -> None:
    catalog, path = Catalog(str(tmp_path)), tmp_path / "tasks.jsonl"
    if plant == "a folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "nothing")
    with pytest.raises(StorageError, match=r"tasks\.jsonl is a .*, not a regular file"):
        catalog.read()
    with pytest.raises(StorageError, match=r"tasks\.jsonl"):
        record(catalog, "a", "running")


@pytest.mark.parametrize(
    "task", ["", ".", "..", ".a", "../a", "a/b", "/etc", "a/", "a\x00", "a\nb", "a\x7f", "\x1b[2Ja", "a\x85"]
)
def test_an_id_that_leads_elsewhere_is_a_damaged_line_and_is_never_recorded(tmp_path: Path, task: str) -> None:
    catalog = Catalog(str(tmp_path))
    Path(catalog.path).write_bytes(line_of("eins") + line_of(task) + line_of("zwei"))
    listing = catalog.read()
    assert list(listing.entries) == ["eins", "zwei"]
    (damage,) = listing.damages
    assert damage.startswith(f"{catalog.path}, line 2: the id {task!r} is not a plain name")
    before = Path(catalog.path).read_bytes()
    with pytest.raises(CatalogError, match="is not a plain name"):
        record(catalog, task, "running")
    assert Path(catalog.path).read_bytes() == before


@pytest.mark.parametrize("task", ["a", "A paper", "a.b-c_d", "ä", "论文", "a.", "-a", "a\xa0b", "\u202ea"])
def test_a_name_that_a_user_gave_a_directory_is_kept(tmp_path: Path, task: str) -> None:
    catalog = Catalog(str(tmp_path))
    record(catalog, task, "running")
    assert list(catalog.read().entries) == [task]


def test_a_folder_that_is_not_there_cannot_be_recorded_in(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot lock .*/no/\.tasks\.jsonl\.lock: .*ENOENT"):
        record(Catalog(str(tmp_path / "no")), "a", "running")


@FEW
@given(lines=st.lists(st.binary(max_size=30), max_size=5))
def test_any_bytes_give_a_list(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    catalog = Catalog(str(tmp_path_factory.mktemp("tasks")))
    Path(catalog.path).write_bytes(line_of("eins") + b"\n".join(lines) + b"\n" + line_of("zwei"))
    listing = catalog.read()
    assert list(listing.entries) == ["eins", "zwei"]
    assert listing.repairs == []
    assert len(listing.damages) <= sum(1 for line in b"\n".join(lines).split(b"\n") if line.strip())
