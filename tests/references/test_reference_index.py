"""Indexing of fetched repositories: documents, the cache, and what is done again and what is not."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.references.index.build import RepositoryIndex
from phases.references.index.cache import (
    CHUNK,
    CacheUnusable,
    chunks_of,
    open_readable,
    open_writable,
    unpack_chunk,
    unpack_parsed,
)
from phases.references.parse.model import Piece
from pipeline.base.errors import PhaseError
from tests.papers import HANGS, ROOT
from tests.references.indexed import cache_file, index_repositories, search_code

FILES = {
    "pkg/__init__.py": "",
    "pkg/model.py": (
        "from .layers import Norm\nimport numpy\n\n\nclass Encoder:\n    def forward(self, x):\n        return Norm(x)\n"
    ),
    "pkg/layers.py": "class Norm:\n    '''Scales to unit length.'''\n",
    "README.md": "# Waiting\n\nHow to wait for rooms.\n",
    "data.bin": "\0\1\2\0",
}


def fetched(folder: Path, files: Mapping[str, str], name: str = "a__b") -> list[dict[str, Any]]:
    """A code_base with one repository, and the rows of code_base.json."""
    rows = []
    for path, text in files.items():
        place = folder / "code_base" / name / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        data = place.read_bytes()
        rows.append({"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    (folder / "code_base" / f"{name}.json").write_text(json.dumps({"version": 1, "name": name, "files": rows}))
    return [{"name": name}]


def index(folder: Path, rows: list[dict[str, Any]]) -> list[RepositoryIndex]:
    return index_repositories(str(folder / "code_base"), rows, str(folder / "indexes"), lambda row: None)


def document(folder: Path, name: str = "a__b") -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "indexes" / f"{name}.json").read_bytes())
    return value


@pytest.mark.slow
def test_a_repository_gets_a_document_that_keeps_its_schema(tmp_path: Path) -> None:
    import jsonschema

    (one,) = index(tmp_path, fetched(tmp_path, FILES))
    schema = json.loads((ROOT / "schemas" / "repository_index.schema.json").read_bytes())
    jsonschema.validate(document(tmp_path), schema)
    rows = {row["path"]: row for row in document(tmp_path)["files"]}
    assert [symbol["name"] for symbol in rows["pkg/model.py"]["symbols"]] == ["Encoder", "forward"]
    assert document(tmp_path)["left_out"] == [{"path": "data.bin", "why": "binary"}]
    data = (tmp_path / "indexes" / "a__b.json").read_bytes()
    assert (one.files, one.left_out, one.faults, one.parsed) == (4, {"binary": 1}, 0, 4)
    assert (one.sha256, one.bytes) == (hashlib.sha256(data).hexdigest(), len(data))


@pytest.mark.slow
def test_an_unchanged_repository_is_not_looked_at_again(tmp_path: Path) -> None:
    rows = fetched(tmp_path, FILES)
    (first,) = index(tmp_path, rows)
    before = (tmp_path / "indexes" / "a__b.json").stat()
    (tmp_path / "code_base" / "a__b" / "README.md").unlink()  # nobody asks
    (second,) = index(tmp_path, rows)
    assert second == first._replace(parsed=0)
    assert (tmp_path / "indexes" / "a__b.json").stat().st_ino == before.st_ino


def test_only_a_changed_file_is_parsed_again_and_a_gone_one_is_forgotten(tmp_path: Path) -> None:
    index(tmp_path, fetched(tmp_path, FILES))
    changed = {**FILES, "pkg/layers.py": "class Scale:\n    pass\n"}
    del changed["README.md"]
    (one,) = index(tmp_path, fetched(tmp_path, changed))
    assert one.parsed == 1
    into = str(tmp_path / "indexes")
    assert [hit.path for hit in search_code(into, "Scale")][:1] == ["pkg/layers.py"]
    assert not any(hit.name == "Norm" for hit in search_code(into, "Norm"))
    assert search_code(into, "rooms") == []


def test_a_repository_that_is_gone_leaves_nothing(tmp_path: Path) -> None:
    both = fetched(tmp_path, FILES) + fetched(tmp_path, {"other.py": "def waits(): pass\n"}, "c__d")
    index(tmp_path, both)
    assert search_code(str(tmp_path / "indexes"), "waits")
    index(tmp_path, both[:1])
    assert not (tmp_path / "indexes" / "c__d.json").exists()
    assert not [hit for hit in search_code(str(tmp_path / "indexes"), "waits") if hit.repository == "c__d"]


@pytest.mark.parametrize("how", ["changed", "gone", "a link", "in a linked folder"])
def test_a_file_that_is_not_as_it_was_fetched_is_left_out(tmp_path: Path, how: str) -> None:
    rows = fetched(tmp_path, FILES)
    place = tmp_path / "code_base" / "a__b" / "pkg" / "layers.py"
    if how == "changed":
        place.write_text("class Evil: pass\n")
    elif how == "gone":
        place.unlink()
    elif how == "a link":
        place.rename(tmp_path / "elsewhere.py")
        place.symlink_to(tmp_path / "elsewhere.py")
    else:
        place.parent.rename(tmp_path / "elsewhere")
        place.parent.symlink_to(tmp_path / "elsewhere")
    index(tmp_path, rows)
    assert {"path": "pkg/layers.py", "why": "changed since it was fetched"} in document(tmp_path)["left_out"]


@pytest.mark.parametrize(
    "path", ["../secret.py", "/etc/passwd", "pkg/../../../secret.py", "pkg/./layers.py", "pkg//layers.py"]
)
def test_a_manifest_cannot_name_a_file_outside(tmp_path: Path, path: str) -> None:
    rows = fetched(tmp_path, FILES)
    (tmp_path / "code_base" / "secret.py").write_text("KEY = 1\n")
    data = b"KEY = 1\n"
    manifest = {"files": [{"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}]}
    (tmp_path / "code_base" / "a__b.json").write_text(json.dumps(manifest))
    (one,) = index(tmp_path, rows)
    assert one.files == 0


def test_a_name_that_is_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PhaseError, match=r"'\.\./x' cannot name a repository"):
        index(tmp_path, [{"name": "../x"}])


def test_a_row_that_breaks_the_schema_is_left_out_and_said(tmp_path: Path) -> None:
    rows = fetched(tmp_path, FILES)
    into = str(tmp_path / "indexes")
    (one,) = index_repositories(
        str(tmp_path / "code_base"), rows, into, lambda row: "no" if row["path"] == "README.md" else None
    )
    assert one.left_out == {"binary": 1, "not valid": 1}
    assert {"path": "README.md", "why": "not valid: no"} in document(tmp_path)["left_out"]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param("deleted", marks=pytest.mark.slow),
        "cut",
        "overwritten",
        "a journal without its file",
    ],
)
def test_a_cache_that_is_lost_or_damaged_is_made_anew(tmp_path: Path, damage: str) -> None:
    rows = fetched(tmp_path, FILES)
    index(tmp_path, rows)
    cache, into = cache_file(tmp_path), str(tmp_path / "indexes")
    expected = search_code(into, "unit length")
    hurt(cache, damage)
    assert search_code(into, "unit length") == expected
    hurt(cache, damage)
    (one,) = index(tmp_path, rows)
    assert (one.parsed, one.files) == (4, 4)
    assert search_code(into, "unit length") == expected
    assert expected[0].name == "Norm"


def hurt(cache: Path, damage: str) -> None:
    if damage in ("deleted", "a journal without its file"):
        cache.unlink()
    if damage == "cut":
        os.truncate(cache, 5000)
    elif damage == "overwritten":
        cache.write_bytes(b"no database" * 1000)
    elif damage == "a journal without its file":
        cache.with_name(cache.name + "-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + b"\1" * 4000)


def test_a_document_that_was_edited_is_made_anew(tmp_path: Path) -> None:
    rows = fetched(tmp_path, FILES)
    (first,) = index(tmp_path, rows)
    place = tmp_path / "indexes" / "a__b.json"
    place.write_bytes(place.read_bytes().replace(b"Encoder", b"Decoder"))
    (second,) = index(tmp_path, rows)
    assert second == first._replace(parsed=0)


KILLED = """
import os, signal, sys
from phases.references.index import build
from phases.references.index.cache import Cache
build.BATCH = 3
kept, replace, count = int(sys.argv[3]), Cache.replace, 0
def counted(*arguments):
    global count
    count += 1
    if count > kept:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*arguments)
Cache.replace = counted
build.index_repositories(sys.argv[1], [{"name": "a__b"}], sys.argv[2], lambda row: None, cache_directory=sys.argv[4])
"""


@pytest.mark.parametrize(
    "kept", [0, 1, pytest.param(4, marks=pytest.mark.slow), 7, pytest.param(10, marks=pytest.mark.slow)]
)
def test_a_run_that_is_killed_goes_on_where_it_stopped(tmp_path: Path, kept: int) -> None:
    rows = fetched(tmp_path, {f"m{number}.py": f"def f{number}(): return {number}\n" for number in range(12)})
    into = tmp_path / "indexes"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "code_base"), str(into), str(kept), str(tmp_path / "cache")]
    ended = subprocess.run(command, cwd=ROOT, timeout=HANGS, check=False)
    assert ended.returncode == -signal.SIGKILL
    search_code(str(into), "f1")  # a reader in between is harmless
    (one,) = index(tmp_path, rows)
    assert one.parsed == 12 - kept // 3 * 3, "what was written is not parsed again"
    assert [hit.name for hit in search_code(str(into), "f11")][:1] == ["f11"]
    assert not list(into.glob(".*.tmp"))
    with open_readable(str(cache_file(tmp_path))) as cache:
        assert len(cache.files("a__b")) == 12
        assert cache.rows("SELECT count(*) FROM words WHERE words MATCH 'return'") == [(12,)]


def _index_in_a_process(folder: str, name: str) -> None:
    index(Path(folder), [{"name": "a__b"}])
    assert [hit.name for hit in search_code(folder + "/indexes", name)][:1] == [name]


@pytest.mark.slow
def test_two_processes_at_once_are_harmless(tmp_path: Path) -> None:
    fetched(tmp_path, {f"m{number}.py": f"def f{number}(): return {number}\n" for number in range(30)})
    (tmp_path / "indexes").mkdir()
    fork = multiprocessing.get_context("spawn")
    both = [fork.Process(target=_index_in_a_process, args=(str(tmp_path), f"f{number}")) for number in (3, 17)]
    for one in both:
        one.start()
    for one in both:
        one.join(HANGS)
    assert [one.exitcode for one in both] == [0, 0]
    with open_readable(str(cache_file(tmp_path))) as cache:
        assert len(cache.files("a__b")) == 30


@pytest.mark.slow
def test_the_full_text_agrees_with_its_rows_after_many_changes(tmp_path: Path) -> None:
    for turn in range(4):
        files = {
            f"m{number}.py": f"def f{number}(): return {number * (turn if number % 2 else 1)}\n"
            for number in range(8 - turn)
        }
        index(tmp_path, fetched(tmp_path, files))
    index(tmp_path, fetched(tmp_path, FILES))
    with open_writable(str(cache_file(tmp_path))) as cache:
        cache.rows("INSERT INTO words (words) VALUES ('integrity-check')")
        pieces = [number for (number,) in cache.rows("SELECT rowid FROM words")]
        expected = Counter(word for number in pieces for word in cache.words_in(number))
        assert dict(cache.rows("SELECT term, doc FROM counts")) == expected
        assert cache.count_of_pieces() == len(pieces) > 4


@pytest.mark.parametrize("column", ["files SET parsed", pytest.param("texts SET data", marks=pytest.mark.slow)])
def test_a_row_of_the_cache_that_is_damaged_costs_the_cache_alone(tmp_path: Path, column: str) -> None:
    index(tmp_path, fetched(tmp_path, FILES))
    into = str(tmp_path / "indexes")
    expected = search_code(into, "unit length")

    def damage() -> None:
        with sqlite3.connect(cache_file(tmp_path)) as connection:
            connection.execute(f"UPDATE {column} = x'789c'")
        connection.close()

    damage()
    assert search_code(into, "unit length") == expected
    damage()
    (one,) = index(tmp_path, fetched(tmp_path, {**FILES, "pkg/layers.py": "class Scale:\n    '''Unit length.'''\n"}))
    assert one.files == 4
    assert search_code(into, "unit length")[0].name == "Scale"


PIECES = st.builds(
    Piece,
    *(st.sampled_from(["function", "text"]), st.text(max_size=9), st.integers(1, 99), st.integers(1, 99)),
    *(st.text("ab ", max_size=20), st.text("ab ", max_size=20), st.sampled_from(["", "word", "many words " * 5000])),
)


@given(st.lists(PIECES, max_size=200))
def test_pieces_come_out_of_their_chunks_as_they_went_in(pieces: list[Piece]) -> None:
    chunks = list(chunks_of("some path", pieces))
    unpacked = [unpack_chunk(data) for data, _ in chunks]
    assert [piece for chunk in unpacked for piece in chunk.pieces] == pieces
    assert all(chunk.path == "some path" and 1 <= len(chunk.pieces) <= CHUNK for chunk in unpacked)
    assert [tuple(taken) for _, taken in chunks] == [chunk.pieces for chunk in unpacked]


@pytest.mark.parametrize(
    "value",
    [b"null", b'["a"]', b'["a", [[1]]]', b"[[["],
    ids=["nothing", "half of it", "a short piece", "cut off"],
)
def test_a_chunk_that_is_none_is_said_to_be_damaged(value: bytes) -> None:
    with pytest.raises(CacheUnusable, match="damaged"):
        unpack_chunk(zlib.compress(value))


@given(st.binary(max_size=200))
def test_no_bytes_break_unpacking(data: bytes) -> None:
    for read in (unpack_chunk, unpack_parsed):
        with pytest.raises(CacheUnusable, match="damaged"):
            read(data)
