"""Unpack untrusted archives, in memory or into an empty directory, and stop a bomb at its first megabytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from pipeline.base.errors import PipelineError
from pipeline.base.safe_tree import create_new, make_in, open_directory, open_file, write_all

MOST_MEMBERS, LARGEST_FILE, LARGEST_TOTAL = 5_000, 64 << 20, 256 << 20
LARGEST_RATIO, RATIO_COUNTS_FROM = 200, 16 << 20
LONGEST_NAME, DEEPEST_NAME = 200, 20
ONLY_FILE = "main.tex"
"""Name of a lone compressed file: arXiv serves papers of one file so."""
_LONGEST_PART = 200
"""Bytes: disks have room for 255, and a name may still get an ending."""
_CHUNK = 1 << 20
_LARGEST_LIST = 24 << 20
_XZ_MEMORY, _MOST_STREAMS = 128 << 20, 10_000
_GZIP, _BZIP2, _XZ, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", (b"PK\x03\x04", b"PK\x05\x06")
_BAD = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, struct.error)
_BAD_ZIP = (*_BAD, NotImplementedError, RuntimeError, OverflowError, IndexError, KeyError)
_BLOCK = 512
_LONGEST_HEADER = 1 << 16
_REGULAR, _DIRECTORY, _LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL = b"0\x007", b"5", b"L", b"K", b"xX", b"g"


class BadArchive(PipelineError):
    """An archive that cannot be opened, or that wants too much."""


@dataclass(frozen=True)
class Unpacked:
    """The files of an archive by their relative POSIX path."""

    files: dict[str, bytes]
    refused: tuple[str, ...] = ()
    """Members that were left out, as `name: reason`."""


def unpack(data: bytes) -> Unpacked:
    """Return the files of a tar (plain, gz, bz2, xz), a zip, or a gzip of one file. Raises BadArchive only."""
    if data.startswith(_ZIP):
        return _collect_files(_zip_members(io.BytesIO(data)), len(data))
    plain = data
    if data.startswith((_GZIP, _BZIP2, _XZ)):
        plain = b"".join(_decompress_stream(io.BytesIO(data), _limit_for_size(len(data))))
    if _is_tar(plain):
        return _collect_files(_tar_members(plain), len(data))
    if plain is data:
        raise BadArchive("it is not an archive of a known kind")
    if len(plain) > LARGEST_FILE:
        raise BadArchive(f"{ONLY_FILE} is larger than {LARGEST_FILE >> 20} MiB")
    return Unpacked({ONLY_FILE: plain})


def unpack_to(path: str, directory: str, most_bytes: int, most_members: int) -> list[str]:
    """Unpack a tar (plain, gz, bz2, xz) or a zip into an empty directory; what was left out, each with the reason.

    Nothing is written outside of the directory, and never more than `most_bytes`, also of what a compressed tar is in
    between: a file of that size beside the directory. Names may differ by case alone. Raises BadArchive, and OSError
    for a disk that is full.
    """
    with open_file(path) as file, open_directory(directory) as root:
        start = file.read(len(_XZ))
        file.seek(0)
        if start.startswith(_ZIP):
            return _write_files(_zip_members(_SmallReads(file.fileno(), closefd=False)), root, most_bytes, most_members)
        if not start.startswith((_GZIP, _BZIP2, _XZ)):
            return _write_files(_members_of_tar(file), root, most_bytes, most_members)
        with tempfile.TemporaryFile(dir=os.path.dirname(directory)) as plain:
            for piece in _decompress_stream(file, most_bytes):
                plain.write(piece)
            plain.flush()
            return _write_files(_members_of_tar(plain), root, most_bytes, most_members)


def _members_of_tar(file: IO[bytes]) -> Iterator[Member]:
    data = _FileBytes(file.fileno())
    if not _is_tar(data):
        raise BadArchive("it is not an archive of a known kind")
    return _tar_members(data)


def _write_files(members: Iterator[Member], root: int, most_bytes: int, most_members: int) -> list[str]:
    refused: list[str] = []
    total = 0
    for name, member in _sound_members(members, most_members, refused, str):
        *parts, last = name.split("/")
        with open_directory(root, parts, make=make_in) as directory, create_new(last, directory) as descriptor:
            for piece in member.pieces(most_bytes - total):
                write_all(descriptor, piece)
                total += len(piece)
    return refused


def _collect_files(members: Iterator[Member], compressed: int) -> Unpacked:
    files: dict[str, bytes] = {}
    refused: list[str] = []
    total = 0
    # each file is read when its turn comes, so the limits hold before the memory is taken
    for name, member in _sound_members(members, MOST_MEMBERS, refused, str.casefold):
        content = b"".join(member.pieces(min(LARGEST_FILE, _limit_for_size(compressed) - total)))
        total += len(content)
        files[name] = content
    return Unpacked(files, tuple(refused))


def _sound_members(
    members: Iterator[Member], most: int, refused: list[str], fold: Callable[[str], str]
) -> Iterator[tuple[str, Member]]:
    """Yield the members that may be unpacked under a safe name, and list the others with reasons in `refused`.

    Of names that `fold` makes equal the first is taken.
    """
    twins: set[str] = set()
    directories: set[str] = set()
    for count, member in enumerate(members, 1):
        if count > most:
            raise BadArchive(f"the archive has more than {most} members")
        if member.refusal == "directory":
            continue
        name = _normalize_name(member.name)
        reason = member.refusal or _why_refused_name(member.name, name) or _why_clashing(fold(name), twins, directories)
        if reason:
            refused.append(f"{member.name[:LONGEST_NAME]!r}: {reason}")
            continue
        twins.add(fold(name))
        directories.update(_parent_paths(fold(name)))
        yield name, member


def _parent_paths(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _why_clashing(name: str, twins: set[str], directories: set[str]) -> str:
    """Return why a name clashes with an earlier one, or an empty string."""
    if name in twins:
        return "twin of another name"
    # "a" and "a/b" cannot both be written to a disk
    if name in directories or not twins.isdisjoint(_parent_paths(name)):
        return "a file and a directory of one name"
    return ""


def _limit_for_size(compressed: int) -> int:
    """Return the total of bytes that an archive of this size may unpack to."""
    # small sources compress a thousand times without harm, so the ratio counts from some size on
    return min(LARGEST_TOTAL, max(RATIO_COUNTS_FROM, LARGEST_RATIO * compressed))


def _normalize_name(name: str) -> str:
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _why_refused_name(name: str, normal: str) -> str:
    """Return why a name is refused, or an empty string."""
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


def _decompress_stream(file: IO[bytes], limit: int) -> Iterator[bytes]:
    """Yield the content of a compressed stream in pieces, and stop exactly at the cap."""
    start = file.read(len(_XZ))
    file.seek(0)
    try:
        if start.startswith(_XZ):
            yield from _cap(_xz_chunks(file), limit)
            return
        opened = gzip.GzipFile(fileobj=file) if start.startswith(_GZIP) else bz2.BZ2File(file)
        yield from _cap(iter(lambda: opened.read(_CHUNK), b""), limit)
    except _BAD as error:
        raise BadArchive(f"the compressed data is damaged ({error})") from error
    except MemoryError as error:
        raise BadArchive("it needs too much memory to decompress") from error


def _xz_chunks(file: IO[bytes]) -> Iterator[bytes]:
    # Not LZMAFile, which takes no limit on memory: a header may ask for gigabytes.
    rest = file.read(_CHUNK)
    for _ in range(_MOST_STREAMS):
        machine = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        yield machine.decompress(rest, max_length=_CHUNK)
        while not machine.eof:
            fed = file.read(_CHUNK) if machine.needs_input else b""
            if not fed and machine.needs_input:
                raise EOFError("it ends too early")
            yield machine.decompress(fed, max_length=_CHUNK)
        rest = machine.unused_data.lstrip(b"\0")
        while not rest and (more := file.read(_CHUNK)):
            rest = more.lstrip(b"\0")
        if not rest:
            return
    raise BadArchive(f"it has more than {_MOST_STREAMS} streams")


def _cap(chunks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > limit:
            raise BadArchive(_describe_excess(limit))
        yield chunk


def _describe_excess(limit: int) -> str:
    return f"it unpacks to more than {limit >> 20} MiB"


def _zip_members(file: IO[bytes]) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(file)
    except _BAD_ZIP as error:
        raise BadArchive(f"the zip archive is damaged ({error})") from error
    for entry in archive.infolist():
        name = entry.orig_filename
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if name.endswith("/") or kind == stat.S_IFDIR:
            refusal = "directory"
        elif kind not in (0, stat.S_IFREG):
            refusal = "not a regular file"
        elif entry.flag_bits & 1:
            refusal = "encrypted"
        elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            refusal = "an unusual compression"
        else:
            refusal = ""

        def read(limit: int, entry: zipfile.ZipInfo = entry) -> Iterator[bytes]:
            return _zip_content(archive, entry, limit)

        yield Member(name, refusal, read)


def _zip_content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> Iterator[bytes]:
    try:
        with archive.open(entry) as stream:
            yield from _cap(iter(lambda: stream.read(_CHUNK), b""), limit)
    except _BAD_ZIP as error:
        raise BadArchive(f"the zip archive is damaged ({error})") from error


@dataclass(frozen=True)
class Member:
    """One entry of an archive; `pieces(limit)` gives its bytes or raises BadArchive where they are more."""

    name: str
    refusal: str
    """Reason to leave the member out, like "directory"; empty for a regular file."""
    pieces: Callable[[int], Iterator[bytes]]


class _SmallReads(io.FileIO):
    """A file with bounded reads: zipfile reads the list of a zip whole, however large it claims to be."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _LARGEST_LIST:
            raise BadArchive(f"its list of members is larger than {_LARGEST_LIST >> 20} MiB")
        return super().read(size) or b""


class _FileBytes:
    """An open file, as far as bytes are sliced and measured here."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._size = descriptor, os.fstat(descriptor).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        return os.pread(self._descriptor, max(0, min(part.stop, self._size) - part.start), part.start)


_Bytes = bytes | _FileBytes


def _is_tar(data: _Bytes) -> bool:
    """Return whether the bytes begin with a tar header, or are an empty tar."""
    header = data[0:_BLOCK]
    return len(header) == _BLOCK and (_has_valid_checksum(header) or not any(data[0 : 2 * _BLOCK]))


def _tar_members(data: _Bytes) -> Iterator[Member]:
    """Yield every member in order; one that must not be unpacked has the reason in `refusal`."""
    # Not tarfile: it stops without a word at a damaged header, and recurses over a chain of long names.
    position, name, size = 0, "", -1
    while len(header := data[position : position + _BLOCK]) == _BLOCK and any(header):
        if not _has_valid_checksum(header):
            raise BadArchive("the tar archive is damaged")
        kind, length = header[156:157], _parse_size(header[124:136])
        start = position + _BLOCK
        if kind in (_LONG_NAME, _LONG_LINK) or kind in _PAX or kind == _PAX_FOR_ALL:
            extra = data[start : start + min(length, _LONGEST_HEADER)]
            if kind == _LONG_NAME:
                name = _decode_name(extra)
            elif kind in _PAX:
                records = _parse_pax(extra)
                name, size = records.get("path", name), int(records.get("size", str(size)))
            # it counts as one, a flood of them is refused
            member = Member("", "directory", lambda limit: iter(()))
        else:
            length = size if size >= 0 else length
            member = _read_member(data, header, start, length, name)
            name, size = "", -1
        if length > len(data) - start:
            raise BadArchive("the tar archive ends too early")
        yield member
        position = start + -(-length // _BLOCK) * _BLOCK


def _read_member(data: _Bytes, header: bytes, start: int, length: int, name: str) -> Member:
    def read(limit: int) -> Iterator[bytes]:
        if length > limit:
            raise BadArchive(_describe_excess(limit))
        for begin in range(start, start + length, _CHUNK):
            yield data[begin : min(begin + _CHUNK, start + length)]

    prefix = _decode_name(header[345:500]) if header[257:263] == b"ustar\x00" else ""
    own = _decode_name(header[:100])
    name = name or (f"{prefix}/{own}" if prefix else own)
    kind = header[156:157]
    if kind == _DIRECTORY or (kind in _REGULAR and name.endswith("/")):
        return Member(name, "directory", read)
    return Member(name, "" if kind in _REGULAR else "not a regular file", read)


def _has_valid_checksum(header: bytes) -> bool:
    try:
        claimed = int(header[148:156].split(b"\x00")[0].strip() or b"x", 8)
    except ValueError:
        return False
    return claimed == sum(header) - sum(header[148:156]) + 8 * 32


def _parse_size(field: bytes) -> int:
    """Parse a size: octal digits, or binary if the first bit is set."""
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    try:
        size = int(field.split(b"\x00")[0].strip() or b"0", 8)
    except ValueError:
        size = -1
    if size < 0:
        raise BadArchive("the tar archive is damaged")
    return size


def _decode_name(field: bytes) -> str:
    """Decode a name up to its first NUL."""
    raw = field.split(b"\x00", 1)[0]
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _parse_pax(extra: bytes) -> dict[str, str]:
    """Return the valid records `length key=value` of an extended header."""
    records: dict[str, str] = {}
    position = 0
    while position < len(extra):
        space = extra.find(b" ", position, position + 8)
        digits = extra[position:space] if space > 0 else b""
        if not digits.isdigit() or int(digits) <= space - position:
            break
        key, _, value = extra[space + 1 : position + int(digits) - 1].partition(b"=")
        text = value.decode("utf-8", "replace")
        if key == b"path" or (key == b"size" and value.isdigit() and len(value) < 16):
            records[key.decode()] = text
        position += int(digits)
    return records
