"""Opens archives in memory: nothing is written to the disk, and a bomb is put out at its first megabytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from phases.readers.archive_tar import Member, is_tar, tar_members
from phases.readers.reading import BROKEN, Unreadable

MOST_MEMBERS, LARGEST_FILE, LARGEST_TOTAL = 5_000, 64 << 20, 256 << 20
LARGEST_RATIO, RATIO_COUNTS_FROM = 200, 16 << 20
LONGEST_NAME, DEEPEST_NAME = 200, 20
ONLY_FILE = "main.tex"
"""What a lone compressed file is called: arXiv serves papers of one file so."""
_LONGEST_PART = 200
"""Bytes: disks have room for 255, and a name may still get an ending."""
_CHUNK = 1 << 20
_XZ_MEMORY = 128 << 20
_GZIP, _BZIP2, _XZ, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", (b"PK\x03\x04", b"PK\x05\x06")
_BAD = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, struct.error)
_BAD_ZIP = (*_BAD, NotImplementedError, RuntimeError, OverflowError, IndexError, KeyError)


@dataclass(frozen=True)
class Unpacked:
    """The files of an archive by their relative POSIX path."""

    files: dict[str, bytes]
    refused: tuple[str, ...] = ()
    """What was left out, each with the reason: `name: reason`."""


def unpack(data: bytes) -> Unpacked:
    """The files in a tar (plain, gz, bz2, xz), a zip, or a gzip of one file; raises Unreadable and nothing else."""
    if data.startswith(_ZIP):
        return _gathered(_zip_members(data), len(data))
    plain = data
    if data.startswith((_GZIP, _BZIP2, _XZ)):
        plain = _decompressed(data)
    if is_tar(plain):
        return _gathered(tar_members(plain), len(data))
    if plain is data:
        raise Unreadable(BROKEN, "it is no archive of a known kind")
    if len(plain) > LARGEST_FILE:
        raise Unreadable(BROKEN, f"{ONLY_FILE} is larger than {LARGEST_FILE >> 20} MiB")
    return Unpacked({ONLY_FILE: plain})


def _gathered(members: Iterator[Member], compressed: int) -> Unpacked:
    files: dict[str, bytes] = {}
    refused: list[str] = []
    twins: set[str] = set()
    folders: set[str] = set()
    total = 0
    for count, member in enumerate(members, 1):
        if count > MOST_MEMBERS:
            raise Unreadable(BROKEN, f"the archive has more than {MOST_MEMBERS} members")
        if member.refusal == "folder":
            continue
        name = _normal(member.name)
        reason = member.refusal or _fault(member.name, name) or _clash(name.casefold(), twins, folders)
        if reason:
            refused.append(f"{member.name[:LONGEST_NAME]!r}: {reason}")
            continue
        content = member.content(min(LARGEST_FILE, _allowed(compressed) - total))
        total += len(content)
        twins.add(name.casefold())
        folders.update(_parents(name.casefold()))
        files[name] = content
    return Unpacked(files, tuple(refused))


def _parents(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _clash(name: str, twins: set[str], folders: set[str]) -> str:
    """Why a name cannot stand beside those that were taken; empty if it can."""
    if name in twins:
        return "twin of another name"
    if name in folders or not twins.isdisjoint(_parents(name)):
        return "a file and a folder of one name"
    return ""


def _allowed(compressed: int) -> int:
    """How many bytes an archive of this size may hold in all."""
    return min(LARGEST_TOTAL, max(RATIO_COUNTS_FROM, LARGEST_RATIO * compressed))


def _normal(name: str) -> str:
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _fault(name: str, normal: str) -> str:
    """Why a name is not one that a paper needs; empty for a good one."""
    parts = normal.split("/")
    if any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in name):
        return "a control character in its name"
    if name.startswith(("/", "\\")) or name[1:2] == ":":
        return "an absolute name"
    if ".." in parts:
        return "a name that climbs out"
    longest = max(len(part.encode("utf-8", "surrogatepass")) for part in parts)
    if len(normal) > LONGEST_NAME or longest > _LONGEST_PART or len(parts) > DEEPEST_NAME:
        return "a name that is too long or too deep"
    return "" if normal else "no name"


def _decompressed(data: bytes) -> bytes:
    """All that a compressed stream holds, read until a cap and not a byte further."""
    limit = _allowed(len(data))
    try:
        if data.startswith(_XZ):
            return _capped(_xz_chunks(data), limit)
        stream: IO[bytes] = io.BytesIO(data)
        opened = gzip.GzipFile(fileobj=stream) if data.startswith(_GZIP) else bz2.BZ2File(stream)
        return _capped(iter(lambda: opened.read(_CHUNK), b""), limit)
    except _BAD as error:
        raise Unreadable(BROKEN, f"the compressed data is damaged ({error})") from error
    except MemoryError as error:
        raise Unreadable(BROKEN, "it needs too much memory to decompress") from error


def _xz_chunks(data: bytes) -> Iterator[bytes]:
    machine = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    fed = data
    while not machine.eof:
        chunk = machine.decompress(fed, max_length=_CHUNK)
        if not chunk and not machine.eof and machine.needs_input:
            raise EOFError("it ends too early")
        fed = b""
        yield chunk


def _capped(chunks: Iterator[bytes], limit: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > limit:
            raise Unreadable(BROKEN, f"it unpacks to more than {limit >> 20} MiB")
        parts.append(chunk)
    return b"".join(parts)


def _zip_members(data: bytes) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _BAD_ZIP as error:
        raise Unreadable(BROKEN, f"the zip archive is damaged ({error})") from error
    for entry in archive.infolist():
        name = entry.orig_filename
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if name.endswith("/") or kind == stat.S_IFDIR:
            refusal = "folder"
        elif kind not in (0, stat.S_IFREG):
            refusal = "no regular file"
        elif entry.flag_bits & 1:
            refusal = "encrypted"
        elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            refusal = "an unusual compression"
        else:
            refusal = ""

        def read(limit: int, entry: zipfile.ZipInfo = entry) -> bytes:
            return _zip_content(archive, entry, limit)

        yield Member(name, refusal, read)


def _zip_content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    try:
        with archive.open(entry) as stream:
            return _capped(iter(lambda: stream.read(_CHUNK), b""), limit)
    except _BAD_ZIP as error:
        raise Unreadable(BROKEN, f"the zip archive is damaged ({error})") from error
