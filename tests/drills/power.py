"""A disk that forgets: what a run wrote, renamed and synced is recorded by strace, and replayed into what a power cut may leave.

A recording is a list of steps. `Disk` takes them one by one and knows, for each file and each directory, what is there and what
would be there after a power cut: by the strictest reading of the standard (`nothing unsynced`), as a journal of names keeps it
that says nothing of contents (`names alone`, as ext4 does), and with a random part of what was not synced.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.drills.faults import need_strace
from tests.drills.ground import Ended, Ground

STRICT, NAMES, RANDOM = "nothing unsynced", "names alone", "a random part"
MODELS = (STRICT, NAMES, RANDOM)
_CALLS = (
    "open openat creat write pwrite64 writev ftruncate rename renameat renameat2 unlink unlinkat rmdir mkdir mkdirat symlink "
    "symlinkat link linkat fsync fdatasync syncfs sendfile copy_file_range"
)
_LINE = re.compile(rb"(\d+) +(\w+)\((.*)\) += (-?\d+)(.*)", re.DOTALL)
_STRING = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"')
_PLACE = re.compile(rb"(AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2}|[^>])*)>")


class Step(NamedTuple):
    """One call that changed the disk, or told the user something (`name` is `told`)."""

    name: str
    paths: tuple[str, ...] = ()
    data: bytes = b""
    offset: int = -1
    """Where data goes; -1: where the last of that open file ended."""
    flags: str = ""


def record(ground: Ground, *arguments: str) -> tuple[Ended, list[Step]]:
    """Runs a command to its end; the steps that it and its children took, in their order."""
    need_strace()
    log, names = ground.base / "power", ",".join(f"?{name}" for name in _CALLS.split())
    strace = [shutil.which("strace") or "strace", "-f", "-qq", "-y", "-xx", "-s", "100000000", "-o", str(log)]
    ended = ground.call(*arguments, before=[*strace, "-e", f"trace={names}"], patience=300)
    return ended, list(_parse(log.read_bytes(), str(ground.base), str(ground.work)))


def _parse(log: bytes, base: str, work: str) -> Iterator[Step]:
    begun: dict[bytes, bytes] = {}
    current: dict[bytes, str] = {}  # the directory that each process is in, as far as it was told
    for line in log.split(b"\n"):
        pid, _, rest = line.partition(b" ")
        if line.endswith(b"<unfinished ...>"):
            begun[pid] = rest.removesuffix(b"<unfinished ...>").strip()
            continue
        if b" resumed>" in rest[:60]:
            rest = begun.pop(pid, b"") + rest.partition(b" resumed>")[2]
        match = _LINE.fullmatch(pid + b" " + rest)
        for kind, path in _PLACE.findall(rest):
            if kind == b"AT_FDCWD":
                current[pid] = os.fsdecode(_plain(path))
        if match and int(match[4]) >= 0 and b'root"' not in _plain(match[3]):  # bubblewrap's own names, in its own view
            for step in _step(match[2].decode(), match[3], int(match[4]), match[5], current.get(pid, work)):
                if any(path.startswith(base + "/") for path in step.paths) or step.name == "told":
                    yield step


def _step(name: str, words: bytes, result: int, after: bytes, current: str) -> Iterator[Step]:
    strings = [_plain(found) for found in _STRING.findall(words)]
    places = [(kind, os.fsdecode(_plain(path))) for kind, path in _PLACE.findall(words)]
    folders = [path for _, path in places]
    if (
        name == "write" and words[:2] in (b"1<", b"2<") and not folders[0].startswith("/")
    ):  # a pipe, and no file of a command's
        yield Step("told", data=strings[0][:result])
    elif name in ("write", "pwrite64"):
        offset = int(words.rpartition(b",")[2]) if name == "pwrite64" else -1
        yield Step("write", (folders[0],), strings[0][:result], offset)
    elif name == "writev":
        yield Step("write", (folders[0],), b"".join(strings)[:result])
    elif name in ("sendfile", "copy_file_range"):
        into, source = (0, 1) if name == "sendfile" else (1, 0)
        yield Step("copy", (folders[into], folders[source]), b"", result)
    elif name in ("fsync", "fdatasync", "syncfs"):
        yield Step(name, (folders[0],))
    elif name == "ftruncate":
        yield Step(name, (folders[0],), offset=int(words.rpartition(b",")[2]))
    elif name in ("open", "openat", "creat"):
        flags = words.decode("latin-1")
        if "O_CREAT" in flags or "O_TRUNC" in flags or name == "creat":
            found = _PLACE.search(b"0" + after.strip()) or _PLACE.search(b"%d%s" % (result, after.strip()))
            path = os.fsdecode(_plain(found[2])) if found else ""
            yield Step("open", (path,), flags="O_TRUNC" if "O_TRUNC" in flags else "")
    else:
        named = [os.fsdecode(text) for text in strings]
        if name in ("symlink", "symlinkat"):
            named, target = named[1:], named[0]
            yield Step("symlink", (_joined(named[0], [*folders, current]),), os.fsencode(target))
            return
        paths = tuple(
            _joined(path, [*folders[place : place + 1], *folders[:1], current]) for place, path in enumerate(named)
        )
        kind = re.sub("at2?$", "", name)
        yield Step("rmdir" if b"AT_REMOVEDIR" in words else kind, paths)


def _plain(text: bytes) -> bytes:
    return re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), text)


def _joined(path: str, folders: list[str]) -> str:
    return os.path.normpath(os.path.join(folders[0], path))


@dataclass
class _File:
    """A file: what it holds, and what of that is surely on the disk. A link holds where it leads."""

    content: bytes = b""
    synced: bytes | None = None
    """None: it was never synced, so its length is not known to the disk."""
    is_link: bool = False


@dataclass
class _Folder:
    names: dict[str, _File | _Folder] = field(default_factory=dict)
    synced: dict[str, _File | _Folder] = field(default_factory=dict)


class Disk:
    """What lies below a directory, as steps change it. What was there before the first step is safe."""

    def __init__(self, base: Path) -> None:
        self._base, self._top = str(base), _Folder()
        self._ends: dict[int, int] = {}
        self._read_in(str(base), self._top)

    def take(self, step: Step) -> None:
        """Does what a step does. One that names what is not known here (a deleted file) does nothing."""
        place = self._find(step.paths[0])
        if step.name == "open":
            self._open(step.paths[0], empty=step.flags == "O_TRUNC")
        elif step.name == "write" and isinstance(place, _File):
            at = len(place.content) if step.offset < 0 else step.offset
            place.content = place.content[:at].ljust(at, b"\0") + step.data + place.content[at + len(step.data) :]
        elif step.name == "copy" and isinstance(place, _File):
            source = self._find(step.paths[1])
            given = source.content if isinstance(source, _File) else Path(step.paths[1]).read_bytes()
            place.content += given[len(place.content) :][: step.offset]
        elif step.name == "ftruncate" and isinstance(place, _File):
            place.content = place.content[: step.offset].ljust(step.offset, b"\0")
        elif step.name in ("fsync", "fdatasync"):
            _sync(place)
        elif step.name == "syncfs":
            _sync_all(self._top)
        else:
            self._rename(step)

    def leave(self, model: str, chance: random.Random, into: Path) -> None:
        """Writes what a power cut leaves now, by a model, in the place of what is there."""
        shutil.rmtree(into)
        into.mkdir()
        _write_out(self._top, into, model, chance)

    def _rename(self, step: Step) -> None:
        first, name = self._folder(step.paths[0])
        if first is None:
            return
        if step.name == "mkdir":
            first.names.setdefault(name, _Folder())
        elif step.name == "symlink":
            first.names[name] = _File(step.data, step.data, is_link=True)
        elif step.name in ("unlink", "rmdir"):
            first.names.pop(name, None)
        elif step.name in ("rename", "link") and name in first.names:
            second, new = self._folder(step.paths[1])
            moved = first.names.pop(name) if step.name == "rename" else first.names[name]
            if second is not None:
                second.names[new] = moved

    def _open(self, path: str, *, empty: bool) -> None:
        folder, name = self._folder(path)
        if folder is not None:
            file = folder.names.setdefault(name, _File())
            if empty and isinstance(file, _File):
                file.content = b""

    def _folder(self, path: str) -> tuple[_Folder | None, str]:
        folder, name = os.path.split(path)
        found = self._find(folder)
        return (found if isinstance(found, _Folder) else None), name

    def _find(self, path: str) -> _File | _Folder | None:
        found: _File | _Folder | None = self._top
        if path == self._base:
            return found
        if not path.startswith(self._base + "/"):
            return None
        for part in path[len(self._base) + 1 :].split("/"):
            found = found.names.get(part) if isinstance(found, _Folder) else None
        return found

    def _read_in(self, path: str, folder: _Folder) -> None:
        with os.scandir(path) as entries:
            for entry in entries:
                made: _File | _Folder
                if entry.is_symlink():
                    made = _File(os.fsencode(os.readlink(entry.path)), is_link=True)
                elif entry.is_dir():
                    made = _Folder()
                    self._read_in(entry.path, made)
                else:
                    made = _File(Path(entry.path).read_bytes())
                if isinstance(made, _File):
                    made.synced = made.content
                folder.names[entry.name] = folder.synced[entry.name] = made


def _sync(place: _File | _Folder | None) -> None:
    if isinstance(place, _File):
        place.synced = place.content
    elif isinstance(place, _Folder):
        place.synced = dict(place.names)


def _sync_all(place: _File | _Folder) -> None:
    _sync(place)
    for child in place.names.values() if isinstance(place, _Folder) else ():
        _sync_all(child)


def _write_out(folder: _Folder, path: Path, model: str, chance: random.Random) -> None:
    keeps_names = model == NAMES or (model == RANDOM and chance.random() < 0.5)
    for name, child in (folder.names if keeps_names else folder.synced).items():
        place = path / name
        if isinstance(child, _Folder):
            place.mkdir()
            _write_out(child, place, model, chance)
        elif child.is_link:
            place.symlink_to(os.fsdecode(child.content))
        else:
            place.write_bytes(_content(child, model, chance))


def _content(file: _File, model: str, chance: random.Random) -> bytes:
    synced = file.synced or b""
    if model != RANDOM or file.content == synced:
        return synced
    kind = chance.randrange(3)
    if kind == 0:
        return synced
    if kind == 1:
        return file.content
    # the length came to the disk, and not all of the blocks; what was synced before and is as it was stays
    safe = next(
        (at for at, (one, other) in enumerate(zip(synced, file.content, strict=False)) if one != other), len(synced)
    )
    kept = chance.randrange(min(safe, len(file.content)), len(file.content) + 1)
    return file.content[:kept] + bytes(len(file.content) - kept)
