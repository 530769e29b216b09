"""Archives of strangers: what comes out of them, what is left out, and that no bomb goes off."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phases.readers.reading import BROKEN, Unreadable, unpack
from pipeline.base.archives import LARGEST_FILE, MOST_MEMBERS
from tests.work import must_end

PAPER = b"\\documentclass{article}"
Pack = Callable[[bytes], bytes]


def tar(*members: tuple[str, bytes], format_: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format_) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def special(kind: bytes, name: str = "odd") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, "/etc/passwd"
        archive.addfile(entry)
        entry = tarfile.TarInfo("main.tex")
        entry.size = len(PAPER)
        archive.addfile(entry, io.BytesIO(PAPER))
    return buffer.getvalue()


def zipped(*members: tuple[str, bytes], mode: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def same(data: bytes) -> bytes:
    return data


@pytest.mark.parametrize("pack", [same, gzip.compress, bz2.compress, lzma.compress], ids=["plain", "gz", "bz2", "xz"])
@pytest.mark.parametrize("format_", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_of_every_kind_gives_its_files(pack: Pack, format_: int) -> None:
    long = "/".join(["folder"] * 15) + "/" + "x" * 60 + ".tex"
    data = pack(tar(("./main.tex", PAPER), ("sec//one.tex", b"one"), (long, b"long"), format_=format_))
    assert unpack(data).files == {"main.tex": PAPER, "sec/one.tex": b"one", long: b"long"}
    assert unpack(data).refused == ()


def test_a_zip_gives_its_files() -> None:
    assert unpack(zipped(("main.tex", PAPER), ("sec/", b""), ("sec/a.tex", b"a"))).files == {
        "main.tex": PAPER,
        "sec/a.tex": b"a",
    }


def test_a_lone_compressed_file_is_called_main_tex() -> None:
    assert unpack(gzip.compress(PAPER)).files == {"main.tex": PAPER}


@pytest.mark.parametrize("name", ["/etc/passwd", "../up.tex", "a/../../up.tex", "C:/x.tex", "x" * 201, "a/" * 21 + "b"])
@pytest.mark.parametrize("archive", [tar, zipped], ids=["tar", "zip"])
def test_a_name_that_no_paper_needs_is_left_out_alone(name: str, archive: Callable[..., bytes]) -> None:
    found = unpack(archive((name, b"x"), ("main.tex", PAPER)))
    assert found.files == {"main.tex": PAPER}
    assert len(found.refused) == 1


def test_of_names_that_differ_in_case_alone_the_first_is_kept() -> None:
    found = unpack(tar(("main.tex", b"1"), ("Main.tex", b"2"), ("main.tex", b"3")))
    assert found.files == {"main.tex": b"1"}
    assert found.refused == ("'Main.tex': twin of another name", "'main.tex': twin of another name")


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"S"],
    ids=["a symbolic link", "a hard link", "a device", "a disk", "a pipe", "a sparse file"],
)
def test_what_is_no_regular_file_is_left_out(kind: bytes) -> None:
    found = unpack(special(kind))
    assert found.files == {"main.tex": PAPER}
    assert found.refused == ("'odd': not a regular file",)


def test_a_link_in_a_zip_is_left_out() -> None:
    found = unpack(zipped(("link", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777))
    assert (found.files, found.refused) == ({}, ("'link': not a regular file",))


def test_an_archive_within_an_archive_is_one_file_of_it() -> None:
    inner = gzip.compress(bytes(1000))
    assert unpack(zipped(("inner.gz", inner))).files == {"inner.gz": inner}


def patched_size() -> bytes:
    """A tar whose header claims more than there is."""
    data = bytearray(tar(("main.tex", PAPER), format_=tarfile.USTAR_FORMAT))
    data[124:136] = b"77777777777\x00"
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\x00 " % sum(data[:512])
    return bytes(data)


BOMBS: Sequence[tuple[str, Callable[[], bytes], str]] = [
    ("a gzip bomb", lambda: gzip.compress(bytes(300 << 20), 9), "unpacks to more than"),
    ("a bzip2 bomb", lambda: bz2.compress(bytes(100 << 20)), "unpacks to more than"),
    ("an xz bomb", lambda: lzma.compress(bytes(100 << 20)), "unpacks to more than"),
    ("a zip bomb", lambda: zipped(*[(f"{n}.tex", bytes(12 << 20)) for n in range(4)]), "unpacks to more than"),
    (
        "a flood of members",
        lambda: tar(*[(f"{n}.tex", b"") for n in range(MOST_MEMBERS + 1)]),
        "more than 5000 members",
    ),
    ("a flood of members in a zip", lambda: zipped(*[(f"{n}", b"") for n in range(MOST_MEMBERS + 1)]), "5000 members"),
    ("a file beyond its cap", lambda: tar(("a", bytes(LARGEST_FILE + 1))), "unpacks to more than"),
    ("a size that is a lie", patched_size, "ends too early"),
    ("a cut gzip", lambda: gzip.compress(PAPER * 99)[:-20], "damaged"),
    ("a cut zip", lambda: zipped(("a", PAPER))[:-30], "damaged"),
    ("a cut xz", lambda: lzma.compress(PAPER)[:-20], "damaged"),
    ("not an archive", lambda: b"%PDF-1.7 ...", "not an archive"),
    ("nothing at all", lambda: b"", "not an archive"),
]


@pytest.mark.parametrize(("make", "reason"), [row[1:] for row in BOMBS], ids=[row[0] for row in BOMBS])
def test_a_bomb_or_a_ruin_ends_fast_and_in_words(make: Callable[[], bytes], reason: str) -> None:
    data = make()
    with must_end():
        with pytest.raises(Unreadable, match=reason) as caught:
            unpack(data)
        assert caught.value.verdict == BROKEN


SOUND = [
    tar(("main.tex", PAPER), ("a/b.tex", b"x" * 700)),
    zipped(("main.tex", PAPER * 9), ("b", b"")),
    gzip.compress(tar(("main.tex", PAPER))),
    tar(("é" * 70 + ".tex", PAPER)),
]


@settings(max_examples=300, deadline=None)
@example(0, [(124, 0x80)])
@given(st.integers(0, len(SOUND) - 1), st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=6))
def test_damage_is_told_and_never_crashes(which: int, changes: list[tuple[int, int]]) -> None:
    data = bytearray(SOUND[which])
    for place, value in changes:
        data[place % len(data)] = value
    try:
        found = unpack(bytes(data))
    except Unreadable:
        return
    assert all(not name.startswith("/") and ".." not in name.split("/") for name in found.files)
