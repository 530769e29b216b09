"""The folder of generated code: paths that a model gives are held inside it, link by link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.errors import PipelineError
from pipeline.files import failure, replace_file

LARGEST_FILE = 2 * 1024 * 1024
_MOST_PARTS = 32
_NOT_OURS = ("__pycache__", ".git")
_FAULTS_OF_THE_PATH = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOTEMPTY,
        errno.EEXIST,
        errno.EACCES,
        errno.EPERM,
        errno.ENXIO,
        errno.EINVAL,
        errno.EILSEQ,
    }
)


class WorkspaceError(PipelineError):
    """What a tool answers when a path or a file is refused."""


class Workspace:
    """The workspace of one task. Every step from its root is opened without following links, so no race leads out."""

    def __init__(self, root: str) -> None:
        self.root = root

    def read(self, path: str) -> str:
        """The text of a file. Raises WorkspaceError."""
        return self.read_bytes(path).decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes:
        """The content of a regular file of bounded size. Raises WorkspaceError."""
        parts = _parts(path)
        with self._folder(parts[:-1]) as folder:
            try:
                descriptor = os.open(
                    parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
                )
            except OSError as error:
                raise self._refusal("read", path, error) from error
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
                    raise WorkspaceError(f"cannot read {path}: not a regular file of at most {LARGEST_FILE:,} bytes")
                return file.read(LARGEST_FILE)

    def write(self, path: str, text: str) -> None:
        """Replaces a file as one step, durably. Raises WorkspaceError."""
        parts = _parts(path)
        data = text.encode("utf-8", "replace")
        if len(data) > LARGEST_FILE:
            raise WorkspaceError(f"cannot write {path}: {len(data):,} bytes, over the limit of {LARGEST_FILE:,}")
        with self._folder(parts[:-1], make=True) as folder:
            temporary = f".{parts[-1]}.tmp"
            try:
                _remove(temporary, folder)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                descriptor = os.open(temporary, flags, 0o644, dir_fd=folder)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                replace_file(temporary, parts[-1], folder=folder)
                os.fsync(folder)
            except OSError as error:
                _remove(temporary, folder)
                raise self._refusal("write", path, error) from error

    def exists(self, path: str) -> bool:
        """Whether there is a readable file at this path."""
        try:
            self.read(path)
        except WorkspaceError:
            return False
        return True

    def files(self) -> list[tuple[str, bytes]]:
        """Every file that can be taken in, by path."""
        return sorted((path, data) for path, data in self._walk() if isinstance(data, bytes))

    def strays(self) -> list[str]:
        """What lies in the workspace and cannot be taken in: links, pipes, odd names, files over the limit."""
        return sorted(f"{path!r}: {fault}" for path, fault in self._walk() if isinstance(fault, str))

    def _walk(self) -> Iterator[tuple[str, bytes | str]]:
        for folder, folders, names in os.walk(self.root, followlinks=False):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            folders[:] = sorted(name for name in folders if name not in _NOT_OURS)
            for name in sorted([*names, *links]):
                path = os.path.relpath(os.path.join(folder, name), self.root)
                try:
                    yield path, self.read_bytes(path)
                except WorkspaceError as error:
                    yield path, str(error)

    def _refusal(self, verb: str, path: str, error: OSError) -> PipelineError:
        """What a path is to blame for goes back to the model; what the disk is to blame for ends the phase, unrecorded."""
        if error.errno in _FAULTS_OF_THE_PATH:
            return WorkspaceError(f"cannot {verb} {path}: {error.strerror}")
        return failure(verb, os.path.join(self.root, path), error)

    @contextmanager
    def _folder(self, parts: list[str], *, make: bool = False) -> Iterator[int]:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            folder = os.open(self.root, flags)
        except OSError as error:
            raise failure("open", self.root, error) from error
        try:
            for part in parts:
                if make:
                    _make(part, folder)
                inner = os.open(part, flags, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        except OSError as error:
            raise self._refusal("open the folder", "/".join(parts), error) from error
        finally:
            os.close(folder)


def _parts(path: str) -> list[str]:
    parts = path.split("/")
    if (
        not path
        or not path.isprintable()
        or path.startswith("/")
        or len(parts) > _MOST_PARTS
        or any(part in ("", ".", "..") or "\x00" in part or "\\" in part or part == ".git" for part in parts)
    ):
        raise WorkspaceError(
            f"the path {path[:200]!r} is refused: give a path inside the workspace, like package/module.py"
        )
    return parts


def _make(name: str, folder: int) -> None:
    try:
        os.mkdir(name, dir_fd=folder)
        os.fsync(folder)
    except FileExistsError:
        return


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return
