"""`pipeline pack` and `pipeline unpack`: move a task to another machine as one file."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from threading import get_native_id
from typing import IO, Any, NamedTuple

import click

from pipeline.base.errors import FormatError, UsageError
from pipeline.base.files import storage_error, sync_directory, sync_tree
from pipeline.base.formats import parse_json
from pipeline.base.safe_tree import NotRegularError, open_directory, open_file, open_regular, walk_files, write_new
from pipeline.cli.arguments import complete_files, task_argument, tasks_dir_option
from pipeline.cli.assembly import (
    config_directory,
    is_task,
    name_in_commands,
    open_task,
    open_task_directory,
    relative_path,
    settings_from,
)
from pipeline.cli.next_steps import next_steps
from pipeline.cli.output import notify, print_text
from pipeline.cli.task_factory import NOT_BEGUN, PACKED, UNFINISHED, safe_name
from pipeline.engine.catalog import Catalog
from pipeline.engine.graph import GIVEN
from pipeline.engine.lock import LEASE
from pipeline.engine.lock import NAME as LOCK
from pipeline.engine.seal import has_key, is_signed, make_key, sign_digest
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore

LIST = ".packed.json"
_LEFT_OUT = (LOCK, LEASE, "python", "packages")
"""Entries that belong to one machine and are made again where they are needed."""
MOST_FILES, LARGEST_TOTAL = 500_000, 64 << 30
_FREE_TOTAL, _LARGEST_RATIO = 256 << 20, 200
"""An archive may unpack to so many bytes, or so many times its own size: text shrinks far, and a bomb further."""
_LARGEST_HEADER = 1 << 16
"""Longest header between two files: names and padding."""
_DEEPEST, _LONGEST_PART = 60, 255
_CHUNK = 1 << 20
_BAD = (EOFError, ValueError, zlib.error, gzip.BadGzipFile, tarfile.TarError, RecursionError, FormatError)


class Packed(NamedTuple):
    """Summary of a packed or unpacked task."""

    task: str
    files: int
    bytes: int
    left_out: int = 0
    """Links, pipes and the like, which are not packed."""
    own: bool = True
    """True if this user packed it and it is unchanged since."""


def pack_task(store: TaskStore, target: str, key_directory: str) -> Packed:
    """Write an idle task to a file. Raises TaskBusy, and StorageError if something cannot be read."""
    if os.path.commonpath([os.path.realpath(target), os.path.realpath(store.root)]) == os.path.realpath(store.root):
        raise UsageError(f"{target} lies in the task itself; name another place with -o")
    unfinished = f"{target}.{get_native_id()}.tmp"
    with store.writing():
        try:
            packed = _write_archive(store, unfinished, key_directory)
            os.replace(unfinished, target)
            sync_directory(os.path.dirname(target))
        except OSError as error:
            raise storage_error("pack", target, error) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(unfinished)
    return packed


def unpack_task(path: str, settings: Settings, key_directory: str, *, wanted_id: str | None) -> Packed:
    """Make a task of an archive: whole, or not at all. Raises UsageError for one that is damaged, hostile or too large, and
    where there is such a task already."""
    tasks_dir = os.path.abspath(settings.tasks_dir)
    unfinished = os.path.join(tasks_dir, f"{UNFINISHED}{get_native_id()}")
    try:
        os.makedirs(unfinished)
        try:
            packed = _read_archive(path, unfinished, key_directory)
            name = wanted_id or packed.task
            root = os.path.join(tasks_dir, name)
            if os.path.lexists(root):
                raise UsageError(f"{root} already exists; unpack it under another name: --id {name}-2")
            if not is_task(unfinished):
                raise UsageError(f"{path} holds no task: it has no {' and '.join(GIVEN)}")
            _keep_trust(open_task_directory(settings, unfinished), own=packed.own)
            sync_tree(unfinished)
            os.rename(unfinished, root)
            sync_directory(tasks_dir)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise storage_error("unpack to", tasks_dir, error) from error
    return packed._replace(task=name)


def _keep_trust(store: TaskStore, *, own: bool) -> None:
    """Remove the seal from another user's settings. Raises ContractError for a damaged one."""
    task = store.load("task.json")
    if not own and "seal" in task:
        store.write({"task.json": {name: value for name, value in task.items() if name != "seal"}})


def _write_archive(store: TaskStore, path: str, key_directory: str) -> Packed:
    digest, files, size, left_out = sha256(), 0, 0, 0
    task = safe_name(store.id)
    with (
        open_file(path, "xb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for found in walk_files(store.root, skip=_is_no_part):
            if found.path.partition("/")[0] in _LEFT_OUT:
                continue
            try:
                descriptor = open_regular(found.name, found.directory)
            except NotRegularError:
                left_out += 1
                continue
            except OSError:
                if found.is_regular():
                    raise
                left_out += 1
                continue
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                member = _describe_member(f"{task}/{found.path}", status.st_size, status.st_mode)
                reader = _Hashing(file)
                tar.addfile(member, reader)
            digest.update(_line_of(found.path, member.mode, reader.digest.hexdigest()))
            files, size = files + 1, size + member.size
        told = digest.hexdigest()
        listing = {
            "version": 1,
            "task": task,
            "files": files,
            "sha256": told,
            "seal": sign_digest(told, key_directory),
        }
        data = json.dumps(listing).encode()
        tar.addfile(_describe_member(f"{task}/{LIST}", len(data), 0o644), io.BytesIO(data))
    return Packed(task, files, size, left_out)


def _is_no_part(name: str) -> bool:
    return name == LIST or (name.startswith(".") and name.endswith(".tmp"))


def _describe_member(name: str, size: int, mode: int) -> tarfile.TarInfo:
    """Describe a member without any trace of the user or the machine."""
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o755 if mode & 0o100 else 0o644, 0
    return member


def _line_of(path: str, mode: int, digest: str) -> bytes:
    return f"{json.dumps(path)} {'x' if mode & 0o100 else '-'} {digest}\n".encode()


def _read_archive(path: str, folder: str, key_directory: str) -> Packed:
    digest, files, size, listing, task = sha256(), 0, 0, None, ""
    try:
        with _Budget(path) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            stream.allow(_LARGEST_HEADER)
            for member in _members(tar, folder):
                first, _, name = member.name.partition("/")
                task = task or first
                _refuse_member(member, task, listing is not None)
                stream.allow(member.size + _LARGEST_HEADER)
                files, size = files + 1, size + member.size
                if files > MOST_FILES or size > stream.most:
                    raise UsageError(
                        f"{path} would unpack to more than {stream.most >> 20:,} MB or {MOST_FILES:,} files"
                    )
                content = tar.extractfile(member)
                if content is None:
                    raise UsageError(f"{path} holds {member.name!r}, which is not a regular file")
                if name == LIST:
                    listing = parse_json(content.read(_LARGEST_HEADER))
                    continue
                digest.update(_line_of(name, member.mode, _write_member(folder, name, content, member.mode)))
    except _BAD as error:
        raise UsageError(f"{path} is not a task archive, or is damaged: {error}") from error
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{path} holds two entries of one name ({error.filename}); nothing was unpacked") from error
    if (
        not isinstance(listing, dict)
        or listing.get("sha256") != digest.hexdigest()
        or listing.get("files") != files - 1
    ):
        raise UsageError(f"{path} was cut off or changed since it was packed: its content does not match its list")
    signature = str(listing.get("seal", ""))
    return Packed(task, files - 1, size, own=is_signed(digest.hexdigest(), signature, key_directory))


def _members(tar: tarfile.TarFile, folder: str) -> Iterator[tarfile.TarInfo]:
    """Yield the members that Python's own filter for data accepts."""
    for member in tar:
        yield tarfile.data_filter(member, folder).replace(name=member.name, deep=False)


def _refuse_member(member: tarfile.TarInfo, task: str, is_over: bool) -> None:
    """Raise UsageError for whatever is not a plain file of this one task."""
    first, *parts = member.name.split("/")
    why = ""
    if not member.isreg() or member.issparse():
        why = "which is not a regular file"
    elif first != task or safe_name(task) != task:
        why = "whose first part does not name the task"
    elif not parts or len(parts) > _DEEPEST or any(_is_bad_part(part) for part in parts):
        why = "which is an unsafe name"
    elif is_over or parts[0] in _LEFT_OUT:
        why = "which is not part of a packed task"
    if why:
        raise UsageError(f"the archive holds {member.name[:200]!r}, {why}; nothing was unpacked")


def _is_bad_part(part: str) -> bool:
    return part in ("", ".", "..") or len(os.fsencode(part)) > _LONGEST_PART or "\0" in part


def _write_member(folder: str, name: str, content: IO[bytes], mode: int) -> str:
    """Write a file in pieces; return its digest. A second one of the same name is refused."""
    *parts, last = name.split("/")
    digest = sha256()
    with open_directory(folder, parts, make=_make_directory) as directory:
        write_new(last, b"", directory, mode=0o755 if mode & 0o100 else 0o644)
        descriptor = open_regular(last, directory, flags=os.O_WRONLY)
        with os.fdopen(descriptor, "wb") as file:
            while piece := content.read(_CHUNK):
                digest.update(piece)
                file.write(piece)
    return digest.hexdigest()


def _make_directory(name: str, directory: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=directory)


class _Hashing(io.RawIOBase):
    """A file that is read, and digested on the way."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, sha256()

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


class _Budget(io.RawIOBase):
    """The unpacked bytes of an archive, of which no more can be read than was allowed: a bomb gets no memory and no disk."""

    def __init__(self, path: str) -> None:
        try:
            self._raw = open(path, "rb")  # noqa: SIM115 - closed with this one
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        packed = os.fstat(self._raw.fileno()).st_size
        self.most = min(max(_FREE_TOTAL, packed * _LARGEST_RATIO), LARGEST_TOTAL)
        self._file, self._left = gzip.GzipFile(fileobj=self._raw), 0

    def allow(self, size: int) -> None:
        """Let so many bytes be read from here on."""
        self._left = size

    def read(self, size: int = -1, /) -> Any:
        data = self._file.read(min(size, _CHUNK) if size >= 0 else _CHUNK)
        self._left -= len(data)
        if self._left < -tarfile.RECORDSIZE:  # tarfile reads a record ahead
            raise UsageError("the archive holds a header that is too large; nothing was unpacked")
        return data

    def close(self) -> None:
        self._file.close()
        self._raw.close()
        super().close()


@click.command("pack")
@task_argument
@click.option(
    "-o", "--output", metavar="FILE", help=f"The archive (default: ID{PACKED}).", shell_complete=complete_files
)
@tasks_dir_option
def pack_command(task: str, output: str | None, tasks_dir: str | None) -> None:
    """Pack a task into one file: documents, code, logs and journals, without what belongs to one machine.

    The file is sealed with your key, so that your own tasks stay yours on another machine with your settings directory.

    \b
    pipeline pack paper
    pipeline pack paper -o /mnt/share/paper.task.tar.gz
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    target = os.path.abspath(output or f"{store.id}{PACKED}")
    if os.path.isdir(target):
        target = os.path.join(target, f"{store.id}{PACKED}")
    if os.path.lexists(target) and not target.endswith(PACKED):
        raise UsageError(f"{relative_path(target)} already exists; remove it first, or name another place with -o")
    packed = pack_task(store, target, config_directory())
    if packed.left_out:
        notify(f"left out: {packed.left_out} (links and special files)")
    size = os.path.getsize(target) / 2**20
    print_text(
        f"packed {packed.files:,} files of {packed.bytes / 2**20:,.1f} MB into {relative_path(target)} ({size:,.1f} MB)"
    )
    notify(f"elsewhere: pipeline unpack {os.path.basename(target)}")


@click.command("unpack")
@click.argument("file", metavar="FILE", shell_complete=complete_files)
@click.option("--id", "wanted_id", metavar="NAME", help="The name of the task; by default the one that it had.")
@tasks_dir_option
def unpack_command(file: str, wanted_id: str | None, tasks_dir: str | None) -> None:
    """Unpack a task from a file that `pack` wrote, whole or not at all.

    Another user's archive, or a changed one, is an untrusted task: nothing outside of it is read before you say `adopt`.

    \b
    pipeline unpack paper.task.tar.gz
    pipeline unpack paper.task.tar.gz --id paper-of-the-cluster
    """
    if wanted_id is not None and safe_name(wanted_id) != wanted_id:
        raise UsageError(f"--id {wanted_id!r} is not a safe directory name; try --id {safe_name(wanted_id)}")
    settings = settings_from({"tasks_dir": tasks_dir})
    make_key(config_directory())
    if not has_key(config_directory()):
        raise UsageError(
            f"no key can be stored in {config_directory()}, so the owner of the task cannot be verified; make it writable"
        )
    packed = unpack_task(file, settings, config_directory(), wanted_id=wanted_id)
    root = os.path.join(os.path.abspath(settings.tasks_dir), packed.task)
    store, name = open_task_directory(settings, root), name_in_commands(root)
    task = store.load("task.json")
    report = store.load("report.json") if store.exists("report.json") else {"status": "paused", "reason": NOT_BEGUN}
    mode, source = task["settings"]["mode"], task["source"]
    Catalog(settings.tasks_dir).record(packed.task, report["status"], mode=mode, source=source, reason=report["reason"])
    print_text(f"unpacked {packed.files:,} files into {relative_path(root)}")
    if not packed.own:
        notify(f"it was not packed by you, or changed since: to trust its settings, pipeline adopt {name}")
    command, what = (
        next_steps(store, report)[0] if store.exists("report.json") else (f"pipeline resume {name}", "begin")
    )
    notify(f"next: {command} ({what})")
