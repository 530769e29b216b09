"""The folder of generated code: paths that a model gives are held inside it, link by link."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pipeline.errors import PipelineError
from pipeline.files import failure, replace_file, write_all

LARGEST_FILE = 2 * 1024 * 1024
_MOST_PARTS = 32
_NOT_OURS = ("__pycache__", ".git")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FAULTS_OF_THE_PATH = frozenset(
    {
        errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTEMPTY, errno.EEXIST, errno.EACCES,
        errno.EPERM, errno.ENXIO, errno.EINVAL, errno.EILSEQ,
    }
)  # fmt: skip


class WorkspaceError(PipelineError):
    """What a tool answers when a path or a file is refused."""


class _Found(NamedTuple):
    """One entry of the workspace that is no folder to look into, with the open folder that it is in."""

    path: str
    name: str
    folder: int
    regular: bool


class Workspace:
    """The workspace of one task. Every step from its root is opened without following links, so no race leads out."""

    def __init__(self, root: str) -> None:
        self.root = root

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
        parts = _parts(path)
        with self._folder(parts[:-1]) as folder:
            return self._content(path, parts[-1], folder)

    def write(self, path: str, text: str) -> None:
        """Replaces a file as one step, durably. Raises WorkspaceError."""
        parts = _parts(path)
        data = text.encode("utf-8", "replace")
        if len(data) > LARGEST_FILE:
            raise WorkspaceError(f"cannot write {path}: {len(data):,} bytes, over the limit of {LARGEST_FILE:,}")
        with self._folder(parts[:-1], make=True) as folder:
            temporary = f".{parts[-1]}.tmp"
            try:
                _refuse_twin(parts[-1], folder)
                _remove(temporary, folder)
                _write_new(temporary, data, folder)
                replace_file(temporary, parts[-1], folder=folder)
                os.fsync(folder)
            except OSError as error:
                _remove(temporary, folder)
                raise self._refusal("write", path, error) from error

    def remove(self, path: str) -> None:
        """Removes a file, or a link itself, durably. Raises WorkspaceError."""
        parts = _parts(path)
        with self._folder(parts[:-1]) as folder:
            try:
                os.unlink(parts[-1], dir_fd=folder)
                os.fsync(folder)
            except OSError as error:
                raise self._refusal("remove", path, error) from error

    def exists(self, path: str) -> bool:
        """Whether there is a readable file at this path."""
        try:
            parts = _parts(path)
            with self._folder(parts[:-1]) as folder:
                os.close(self._opened(path, parts[-1], folder))
        except WorkspaceError:
            return False
        return True

    def paths(self, *, most: int = 100_000) -> list[str]:
        """The paths of all regular files that can be taken in, sorted; of more than `most`, the first ones that are met."""
        found: list[str] = []
        for entry in self._walk():
            if len(found) == most:
                break
            if entry.regular and _is_path(entry.path):
                found.append(entry.path)
        return sorted(found)

    def files(self) -> list[tuple[str, bytes]]:
        """Every file that can be taken in, by path."""
        return sorted((path, data) for path, data in self._contents() if isinstance(data, bytes))

    def strays(self) -> list[str]:
        """What lies in the workspace and cannot be taken in: links, pipes, odd names, files over the limit."""
        return sorted(f"{path!r}: {fault}" for path, fault in self._contents() if isinstance(fault, str))

    def _contents(self) -> Iterator[tuple[str, bytes | str]]:
        for entry in self._walk():
            try:
                _parts(entry.path)
                yield entry.path, self._content(entry.path, entry.name, entry.folder)
            except WorkspaceError as error:
                yield entry.path, str(error)

    def _walk(self) -> Iterator[_Found]:
        with self._folder([]) as root:
            yield from self._below("", root, 1)

    def _below(self, prefix: str, folder: int, depth: int) -> Iterator[_Found]:
        """By open folders, never by name alone: a folder that turns into a link meanwhile is told as one, not followed."""
        with os.scandir(folder) as entries:
            kinds = {e.name: (e.is_dir(follow_symlinks=False), e.is_file(follow_symlinks=False)) for e in entries}
        for name, (is_folder, is_file) in sorted(kinds.items()):
            inner = _opened_folder(name, folder) if is_folder and depth < _MOST_PARTS else None
            if inner is None:
                yield _Found(prefix + name, name, folder, is_file)
                continue
            try:
                if name not in _NOT_OURS:
                    yield from self._below(f"{prefix}{name}/", inner, depth + 1)
            finally:
                os.close(inner)

    def _content(self, path: str, name: str, folder: int) -> bytes:
        with os.fdopen(self._opened(path, name, folder), "rb") as file:
            return file.read(LARGEST_FILE)

    def _opened(self, path: str, name: str, folder: int) -> int:
        try:
            descriptor = os.open(name, _READ, dir_fd=folder)
        except OSError as error:
            raise self._refusal("read", path, error) from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
            os.close(descriptor)
            raise WorkspaceError(f"cannot read {path}: not a regular file of at most {LARGEST_FILE:,} bytes")
        return descriptor

    def _refusal(self, verb: str, path: str, error: OSError) -> PipelineError:
        """What a path is to blame for goes back to the model; what the disk is to blame for ends the phase, unrecorded."""
        if error.errno in _FAULTS_OF_THE_PATH:
            return WorkspaceError(f"cannot {verb} {path}: {error.strerror}")
        return failure(verb, os.path.join(self.root, path), error)

    @contextmanager
    def _folder(self, parts: list[str], *, make: bool = False) -> Iterator[int]:
        try:
            folder = os.open(self.root, _FOLDER)
        except OSError as error:
            raise failure("open", self.root, error) from error
        try:
            for part in parts:
                if make:
                    _make(part, folder)
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        except OSError as error:
            raise self._refusal("open the folder", "/".join(parts), error) from error
        finally:
            os.close(folder)


def _parts(path: str) -> list[str]:
    if not _is_path(path):
        raise WorkspaceError(
            f"the path {path[:200]!r} is refused: give a path inside the workspace, like package/module.py"
        )
    return path.split("/")


def _is_path(path: str) -> bool:
    parts = path.split("/")
    odd = (part in ("", ".", "..") or "\x00" in part or "\\" in part or part.casefold() == ".git" for part in parts)
    return path.isprintable() and len(parts) <= _MOST_PARTS and not any(odd)


def _opened_folder(name: str, folder: int) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return None


def _make(name: str, folder: int) -> None:
    _refuse_twin(name, folder)
    try:
        os.mkdir(name, dir_fd=folder)
        os.fsync(folder)
    except FileExistsError:
        return


def _refuse_twin(name: str, folder: int) -> None:
    """Two names that differ in case alone are one file on some disks, and the code could not be copied there."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        twins = [other for other in os.listdir(folder) if _folded(other) == _folded(name)]
        if twins:
            raise WorkspaceError(f"{name} is refused: {twins[0]!r} is there, and differs in case alone") from None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _write_new(name: str, data: bytes, folder: int) -> None:
    descriptor = os.open(name, _NEW, 0o644, dir_fd=folder)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return
