"""The folder of generated code: paths that a model gives are held inside it, link by link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from phases.workspace.atomic_replace import mode_to_keep, remove_quietly, write_new_file
from phases.workspace.path_rules import is_workspace_path, twin_of
from phases.workspace.walk import OPEN_DIRECTORY, REGULAR, WorkspaceEntry, walk_workspace
from pipeline.base.errors import PipelineError
from pipeline.base.files import replace_file, sha256, storage_error

LARGEST_FILE = 2 * 1024 * 1024
"""What is read and written here. A larger file may lie in the workspace, as data or a checkpoint; nobody looks into it."""
CONTROL = ".pipeline"
"""The folder of the user's hooks in a workspace."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FAULTS_OF_THE_PATH = frozenset(
    {
        errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTEMPTY, errno.EEXIST, errno.EACCES,
        errno.EPERM, errno.ENXIO, errno.EINVAL, errno.EILSEQ,
    }
)  # fmt: skip


class WorkspaceError(PipelineError):
    """What a tool answers when a path or a file is refused."""


class FileDigest(NamedTuple):
    """One regular file of the workspace."""

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
        """A path as a model may write it, `./a.py` or absolute, as the other methods take it; `.` is the workspace itself."""
        root = os.path.abspath(self.root)
        inside = path.removeprefix(root + "/") if path.rstrip("/") != root else ""
        while inside.startswith("./"):
            inside = inside[2:]
        return inside.rstrip("/") if inside not in ("", ".") else "."

    def read(self, path: str) -> str:
        """The text of a file. Raises WorkspaceError."""
        return self.read_bytes(path).decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes:
        """The content of a regular file of bounded size. Raises WorkspaceError."""
        parts = _split_path(path)
        with self._folder(parts[:-1]) as folder:
            descriptor = self._opened(path, parts[-1], folder, most=LARGEST_FILE)
            with os.fdopen(descriptor, "rb") as file:
                return file.read(LARGEST_FILE)

    def write(self, path: str, text: str) -> None:
        """Replaces a file as one step, durably; one that could be run can be run still. Raises WorkspaceError."""
        parts = _split_path(path)
        self._refuse_theirs(path)
        data = text.encode("utf-8", "replace")
        if len(data) > LARGEST_FILE:
            raise WorkspaceError(f"cannot write {path}: {len(data):,} bytes, over the limit of {LARGEST_FILE:,}")
        with self._folder(parts[:-1], make=True) as folder:
            temporary = f".{parts[-1]}.tmp"
            try:
                _refuse_twin(parts[-1], folder)
                remove_quietly(temporary, folder)
                write_new_file(temporary, data, folder, mode=mode_to_keep(parts[-1], folder))
                replace_file(temporary, parts[-1], folder=folder)
                os.fsync(folder)
            except OSError as error:
                remove_quietly(temporary, folder)
                raise self._refusal("write", path, error) from error

    def remove(self, path: str) -> None:
        """Removes a file, or a link itself, durably. Raises WorkspaceError."""
        parts = _split_path(path)
        self._refuse_theirs(path)
        with self._folder(parts[:-1]) as folder:
            try:
                os.unlink(parts[-1], dir_fd=folder)
                os.fsync(folder)
            except OSError as error:
                raise self._refusal("remove", path, error) from error

    def exists(self, path: str) -> bool:
        """Whether there is a readable file at this path."""
        try:
            parts = _split_path(path)
            with self._folder(parts[:-1]) as folder:
                os.close(self._opened(path, parts[-1], folder, most=LARGEST_FILE))
        except WorkspaceError:
            return False
        return True

    def paths(self, *, most: int = 100_000) -> list[str]:
        """The paths of all regular files that can be taken in, sorted; of more than `most`, the first ones that are met."""
        return sorted(entry.path for entry in islice(self._regular(), most))

    def digests(self) -> list[FileDigest]:
        """Every regular file that can be taken in, by path. No more than one file of bounded size is held at a time."""
        return sorted(
            FileDigest(path, size, None if data is None else sha256(data)) for path, size, data in self._contents()
        )

    def files(self) -> list[tuple[str, bytes]]:
        """Every file of at most LARGEST_FILE by path, all of them held at once: for workspaces known to be small."""
        return sorted((path, data) for path, _, data in self._contents() if data is not None)

    def strays(self) -> list[str]:
        """What lies in the workspace and cannot be taken in: links, pipes, sockets, devices, odd names, what lies too deep."""
        faults = ((entry.path, self._fault(entry)) for entry in self._walk())
        return sorted(f"{path!r}: {fault}" for path, fault in faults if fault)

    def _refuse_theirs(self, path: str) -> None:
        if path in self._theirs or path.split("/")[0] == CONTROL:
            raise WorkspaceError(
                f"{path} is the user's: it decides whether the work is accepted, and is not to be written"
            )

    def _fault(self, entry: WorkspaceEntry) -> str:
        """Why an entry cannot be taken in. Its content is not looked at."""
        try:
            if entry.kind == REGULAR:
                os.close(self._opened(entry.path, entry.name, entry.folder))
            _split_path(entry.path)
        except WorkspaceError as error:
            return str(error)
        return "" if entry.kind == REGULAR else f"it is {entry.kind}"

    def _contents(self) -> Iterator[tuple[str, int, bytes | None]]:
        """Path, size and content of each regular file that can be taken in; no content of one over the limit."""
        for path, name, folder, _ in self._regular():
            try:
                yield path, *self._measured(path, name, folder)
            except WorkspaceError:
                continue  # it cannot be read, or it went since it was listed

    def _measured(self, path: str, name: str, folder: int) -> tuple[int, bytes | None]:
        with os.fdopen(self._opened(path, name, folder), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            try:
                data = file.read(LARGEST_FILE + 1) if size <= LARGEST_FILE else b""
            except OSError as error:
                raise self._refusal("read", path, error) from error
        size = max(size, len(data))  # it may have grown since
        return (size, None) if size > LARGEST_FILE else (len(data), data)

    def _regular(self) -> Iterator[WorkspaceEntry]:
        return (entry for entry in self._walk() if entry.kind == REGULAR and is_workspace_path(entry.path))

    def _walk(self) -> Iterator[WorkspaceEntry]:
        with self._folder([]) as root:
            yield from walk_workspace(root)

    def _opened(self, path: str, name: str, folder: int, *, most: int | None = None) -> int:
        try:
            descriptor = os.open(name, _READ, dir_fd=folder)
        except OSError as error:
            raise self._refusal("read", path, error) from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (most is not None and status.st_size > most):
            os.close(descriptor)
            limit = f" of at most {most:,} bytes" if most is not None else ""
            raise WorkspaceError(f"cannot read {path}: not a regular file{limit}")
        return descriptor

    def _refusal(self, verb: str, path: str, error: OSError) -> PipelineError:
        """What a path is to blame for goes back to the model; what the disk is to blame for ends the phase, unrecorded."""
        if error.errno in _FAULTS_OF_THE_PATH:
            return WorkspaceError(f"cannot {verb} {path}: {error.strerror}")
        return storage_error(verb, os.path.join(self.root, path), error)

    @contextmanager
    def _folder(self, parts: list[str], *, make: bool = False) -> Iterator[int]:
        try:
            folder = os.open(self.root, OPEN_DIRECTORY)
        except OSError as error:
            raise storage_error("open", self.root, error) from error
        try:
            for part in parts:
                if make:
                    _make_directory(part, folder)
                inner = os.open(part, OPEN_DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        except OSError as error:
            raise self._refusal("open the folder", "/".join(parts), error) from error
        finally:
            os.close(folder)


def _split_path(path: str) -> list[str]:
    if not is_workspace_path(path):
        raise WorkspaceError(
            f"the path {path[:200]!r} is refused: give a path inside the workspace, like package/module.py"
        )
    return path.split("/")


def _make_directory(name: str, folder: int) -> None:
    _refuse_twin(name, folder)
    try:
        os.mkdir(name, dir_fd=folder)
        os.fsync(folder)
    except FileExistsError:
        return


def _refuse_twin(name: str, folder: int) -> None:
    twin = twin_of(name, folder)
    if twin is not None:
        raise WorkspaceError(f"{name} is refused: {twin!r} is there, and differs in case alone")
