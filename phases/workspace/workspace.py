"""Keep every path that a model gives inside the directory of generated code, link by link."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import NamedTuple

from pipeline.base.errors import PipelineError
from pipeline.base.files import replace_file, sha256, storage_error
from pipeline.base.safe_tree import (
    NotRegularError,
    WalkedEntry,
    open_directory,
    open_one,
    open_regular,
    walk_files,
    walk_tree,
    write_new,
)

LARGEST_FILE = 2 * 1024 * 1024
"""Bytes of a file that is read or written. Larger files, as data or checkpoints, are ignored."""
MOST_PARTS = 32
"""Names in a path."""
CONTROL = ".pipeline"
"""The directory of the user's hooks in a workspace."""
REGULAR, LINK = "a regular file", "a link"
DIRECTORY, OTHER = "a folder that lies too deep or cannot be opened", "a pipe, a socket or a device"
"""Kind of an entry by the listing of its directory. These words are part of tree digests on the disk."""
_TOOL_DIRECTORIES = ("__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
"""Nothing in them is work."""
_KEPT_BITS, _OWN_BITS = 0o755, 0o600
# Everything else (ENOSPC, EIO, EROFS) is the disk's fault: no model can mend that by another path, and once recorded it
# would be replayed on a healthy disk (decision 22).
_FAULTS_OF_THE_PATH = frozenset(
    {
        errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTEMPTY, errno.EEXIST, errno.EACCES,
        errno.EPERM, errno.ENXIO, errno.EINVAL, errno.EILSEQ,
    }
)  # fmt: skip


class WorkspaceError(PipelineError):
    """A refused path or file; its text is the tool's answer."""


class FileDigest(NamedTuple):
    path: str
    bytes: int
    sha256: str | None
    """None for a file over LARGEST_FILE: of that, only the size counts."""


class Workspace:
    """The workspace of one task. Every step from its root is opened without following links, so no race leads out."""

    def __init__(self, root: str, theirs: Collection[str] = ()) -> None:
        """`theirs`: files of the user, which decide about acceptance; no tool writes them, nor anything under .pipeline."""
        self.root = root
        self._theirs = frozenset(theirs)

    def relative(self, path: str) -> str:
        """Return a path written by a model, `./a.py` or absolute, in the form of the other methods; `.` is the workspace."""
        root = os.path.abspath(self.root)
        inside = path.removeprefix(root + "/") if path.rstrip("/") != root else ""
        while inside.startswith("./"):
            inside = inside[2:]
        return inside.rstrip("/") if inside not in ("", ".") else "."

    def read(self, path: str) -> str:
        """Return the text of a file. Raises WorkspaceError."""
        return self.read_bytes(path).decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a regular file of bounded size. Raises WorkspaceError."""
        parts = _split_path(path)
        with self._directory(parts[:-1]) as directory:
            descriptor = self._open(path, parts[-1], directory, most=LARGEST_FILE)
            with os.fdopen(descriptor, "rb") as file:
                return file.read(LARGEST_FILE)

    def digest_of(self, path: str) -> str | None:
        """Return the sha256 of a file; None if it cannot be read."""
        try:
            return sha256(self.read_bytes(path))
        except WorkspaceError:
            return None

    def write(self, path: str, text: str) -> None:
        """Replace a file atomically and durably; an executable stays executable. Raises WorkspaceError."""
        parts = _split_path(path)
        self._refuse_theirs(path)
        data = text.encode("utf-8", "replace")
        if len(data) > LARGEST_FILE:
            raise WorkspaceError(f"cannot write {path}: {len(data):,} bytes, over the limit of {LARGEST_FILE:,}")
        with self._directory(parts[:-1], make=True) as directory:
            temporary = f".{parts[-1]}.tmp"
            try:
                _refuse_twin(parts[-1], directory)
                # What an interrupted write left, O_EXCL would refuse to replace for ever.
                _remove_quietly(temporary, directory)
                write_new(temporary, data, directory, mode=_mode_to_keep(parts[-1], directory), sync=True)
                replace_file(temporary, parts[-1], folder=directory)
                os.fsync(directory)
            except OSError as error:
                _remove_quietly(temporary, directory)
                raise self._refusal("write", path, error) from error

    def remove(self, path: str) -> None:
        """Remove a file, or a link itself, durably. Raises WorkspaceError."""
        parts = _split_path(path)
        self._refuse_theirs(path)
        with self._directory(parts[:-1]) as directory:
            try:
                os.unlink(parts[-1], dir_fd=directory)
                os.fsync(directory)
            except OSError as error:
                raise self._refusal("remove", path, error) from error

    def exists(self, path: str) -> bool:
        try:
            parts = _split_path(path)
            with self._directory(parts[:-1]) as directory:
                os.close(self._open(path, parts[-1], directory, most=LARGEST_FILE))
        except WorkspaceError:
            return False
        return True

    def paths(self, *, most: int = 100_000) -> list[str]:
        """Return the paths of all readable regular files, sorted; at most `most`."""
        return sorted(entry.path for entry in islice(self._regular(), most))

    def digests(self) -> list[FileDigest]:
        """Return the digests of all readable regular files by path, holding one file at a time."""
        rows = []
        for entry in self._regular():
            with suppress(WorkspaceError):  # it cannot be read, or it went since it was listed
                rows.append(self._digest(entry))
        return sorted(rows)

    def strays(self) -> list[str]:
        """Return what cannot be read: links, pipes, sockets, devices, odd names, and what is nested too deeply."""
        faults = ((entry.path, self._fault(entry)) for entry in self._walk())
        return sorted(f"{path!r}: {fault}" for path, fault in faults if fault)

    def _refuse_theirs(self, path: str) -> None:
        if path in self._theirs or path.split("/")[0] == CONTROL:
            raise WorkspaceError(
                f"{path} is the user's: it decides whether the work is accepted, and is not to be written"
            )

    def _fault(self, entry: WalkedEntry) -> str:
        """Return why an entry cannot be read, without looking at its content."""
        kind = kind_of(entry)
        try:
            if kind == REGULAR:
                os.close(self._open(entry.path, entry.name, entry.directory))
            _split_path(entry.path)
        except WorkspaceError as error:
            return str(error)
        return "" if kind == REGULAR else f"it is {kind}"

    def _digest(self, entry: WalkedEntry) -> FileDigest:
        with os.fdopen(self._open(entry.path, entry.name, entry.directory), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            try:
                data = file.read(LARGEST_FILE + 1) if size <= LARGEST_FILE else b""
            except OSError as error:
                raise self._refusal("read", entry.path, error) from error
        if max(size, len(data)) > LARGEST_FILE:  # it may have grown since
            return FileDigest(entry.path, max(size, len(data)), None)
        return FileDigest(entry.path, len(data), sha256(data))

    def _regular(self) -> Iterator[WalkedEntry]:
        return (entry for entry in self._walk() if entry.is_regular() and is_workspace_path(entry.path))

    def _walk(self) -> Iterator[WalkedEntry]:
        with self._directory([]) as root:
            yield from walk_workspace(root)

    def _open(self, path: str, name: str, directory: int, *, most: int | None = None) -> int:
        limit = f" of at most {most:,} bytes" if most is not None else ""
        try:
            descriptor = open_regular(name, directory)
            if most is not None and os.fstat(descriptor).st_size > most:
                os.close(descriptor)
                raise NotRegularError(path)
        except NotRegularError as error:
            raise WorkspaceError(f"cannot read {path}: not a regular file{limit}") from error
        except OSError as error:
            raise self._refusal("read", path, error) from error
        return descriptor

    def _refusal(self, verb: str, path: str, error: OSError) -> PipelineError:
        """Return the error: a bad path is reported to the model; a disk error ends the phase, unrecorded."""
        if error.errno in _FAULTS_OF_THE_PATH:
            return WorkspaceError(f"cannot {verb} {path}: {error.strerror}")
        return storage_error(verb, os.path.join(self.root, path), error)

    @contextmanager
    def _directory(self, parts: list[str], *, make: bool = False) -> Iterator[int]:
        try:
            root = open_one(self.root, None)
        except OSError as error:
            raise storage_error("open", self.root, error) from error
        try:
            with open_directory(root, parts, make=_make_directory if make else None) as directory:
                yield directory
        except OSError as error:
            raise self._refusal("open the directory", "/".join(parts), error) from error
        finally:
            os.close(root)


def walk_workspace(root: str | int) -> Iterator[WalkedEntry]:
    """Yield all entries of a workspace but directories to enter; directories of tools are skipped. Raises OSError."""
    for entry in walk_tree(
        root, deepest=MOST_PARTS - 1, enters=lambda path: path.rpartition("/")[2] not in _TOOL_DIRECTORIES
    ):
        if not entry.is_entered and not (entry.name in _TOOL_DIRECTORIES and entry.is_directory()):
            yield entry


def kind_of(entry: WalkedEntry) -> str:
    """REGULAR, LINK, DIRECTORY or OTHER; what it is by now may be something else."""
    if entry.entry.is_symlink():
        return LINK
    if entry.is_directory():
        return DIRECTORY
    return REGULAR if entry.is_regular() else OTHER


def remove_bytecode(root: str) -> None:
    """Remove what Python keeps of modules in a workspace: a copy that is older than its source is run in its stead.

    An empty PYTHONPYCACHEPREFIX would do it too, and make every start of Python five times as slow.
    """
    # PYTHONDONTWRITEBYTECODE does not stop a command that wants to write it (decision 118).
    with suppress(OSError):
        for entry in walk_files(root):
            if entry.name.endswith((".pyc", ".pyo")) and not entry.is_directory():
                os.unlink(entry.name, dir_fd=entry.directory)


def is_workspace_path(path: str) -> bool:
    """Return whether a path is inside the directory and can be written, shown and copied anywhere."""
    parts = path.split("/")
    odd = (part in ("", ".", "..") or "\x00" in part or "\\" in part or part.casefold() == ".git" for part in parts)
    return path.isprintable() and len(parts) <= MOST_PARTS and not any(odd)


def _split_path(path: str) -> list[str]:
    if not is_workspace_path(path):
        raise WorkspaceError(
            f"the path {path[:200]!r} is refused: give a path inside the workspace, like package/module.py"
        )
    return path.split("/")


def _make_directory(name: str, directory: int) -> None:
    _refuse_twin(name, directory)
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=directory)
        os.fsync(directory)


def _refuse_twin(name: str, directory: int) -> None:
    """Two names that differ in case alone are one file on some disks, and the code could not be copied there."""
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        twin = next((other for other in os.listdir(directory) if _fold_name(other) == _fold_name(name)), None)
        if twin is not None:
            raise WorkspaceError(f"{name} is refused: {twin!r} is there, and differs in case alone") from None


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _mode_to_keep(name: str, directory: int) -> int | None:
    """Return the permissions of a replaced file: never setuid, always readable and writable for its owner."""
    try:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    return mode & _KEPT_BITS | _OWN_BITS if stat.S_ISREG(mode) else None


def _remove_quietly(name: str, directory: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)
