"""Durable writes, digests, and reads that no planted file can trap."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from pipeline.base.errors import FileTooLarge, StorageError
from pipeline.base.safe_tree import NotRegularError, open_regular, refuse_linked_directory, write_all

LARGEST_DOCUMENT = 256 * 1024 * 1024
_RENAME_TRIES = 100
_FEW = 8
"""Most files to sync one by one; more are synced with all of their file system."""
DISK_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
PROCESS_SHORT = frozenset((errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM))
"""No descriptors, processes or memory left."""
MACHINE_SHORT = DISK_FULL | PROCESS_SHORT | {errno.EIO, errno.EROFS, errno.ESTALE}
"""Errors of the machine: no room, descriptors, processes or memory left, or a failing disk."""


def sha256(data: bytes) -> str:
    """Return the digest that identifies a document's content."""
    return hashlib.sha256(data).hexdigest()


def read_bytes(path: str, *, limit: int = LARGEST_DOCUMENT) -> bytes:
    """Read a regular file whole. Links, pipes, devices and folders are refused at once, never waited for."""
    try:
        descriptor = open_regular(path)
    except ValueError as error:
        raise StorageError(f"cannot read {path!r}: it is not a valid file name ({error})") from error
    except OSError as error:
        raise storage_error("read", path, error) from error
    try:
        status = os.fstat(descriptor)
        if status.st_size > limit:
            raise FileTooLarge(f"{path} holds {status.st_size:,} bytes, over the limit of {limit:,}")
        data = _read_all(descriptor, status.st_size, limit)
        if len(data) > limit:
            raise FileTooLarge(f"{path} grew over the limit of {limit:,} bytes while it was read")
        return data
    except OSError as error:
        raise storage_error("read", path, error) from error
    finally:
        os.close(descriptor)


def write_durable(path: str, data: bytes, *, rights: int = 0o644) -> None:
    """Replace a file as one step: after a crash at any point it is the old one or the new one, whole."""
    write_all_durable({path: data}, rights=rights)


def write_all_durable(contents: Mapping[str, bytes], *, rights: int = 0o644) -> None:
    """Replace several files, each as one step, and each folder's names made durable once, at the end."""
    path = ""
    try:
        # one by one, each is a commit of the disk's journal (decision 280)
        together = len(contents) > _FEW
        for path, data in contents.items():
            _write_new(temporary_name(path), data, sync=not together, rights=rights)
        if together:
            for path in sorted({os.path.dirname(path) for path in contents}):
                if not sync_file_system(path):
                    _sync_files(temporary_name(name) for name in contents)
                    break
        for path in contents:
            replace_file(temporary_name(path), path)
        for path in sorted({os.path.dirname(path) for path in contents}):
            sync_directory(path)
    except OSError as error:
        for written in contents:
            _remove_quietly(temporary_name(written))
        raise storage_error("write", path, error) from error


def write_without_sync(path: str, data: bytes, *, content: bool = False) -> None:
    """Write a file without waiting for the disk, if a power cut may take it because it can be made again.

    `content`: that is waited for, and the name is not; sync_directory makes many names durable at once.
    """
    try:
        _write_new(temporary_name(path), data, sync=content)
        replace_file(temporary_name(path), path)
    except OSError as error:
        _remove_quietly(temporary_name(path))
        raise storage_error("write", path, error) from error


def replace_file(source: str, target: str, *, folder: int | None = None) -> None:
    """Rename over an existing file; `folder` is the open folder of both names. Raises OSError."""
    for tries_left in reversed(range(_RENAME_TRIES)):
        try:
            if folder is None:
                os.replace(source, target)
            else:
                os.replace(source, target, src_dir_fd=folder, dst_dir_fd=folder)
        except InterruptedError:  # Python repeats an interrupted write by itself, but not an interrupted rename
            if not tries_left:
                raise
        else:
            return


def sync_directory(path: str) -> None:
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: str) -> None:
    """Make a folder durable with all in it: in one call where the system has one, else file by file. Raises StorageError."""
    place = path
    try:
        if sync_file_system(path):
            return
        for place, _, names in os.walk(path, topdown=False):
            for name in names:
                _sync_file(os.path.join(place, name))
            sync_directory(place)
    except OSError as error:
        raise storage_error("sync", place, error) from error


def sync_file_system(path: str) -> bool:
    """Make durable all that was written to the file system of a folder. False where there is no such call. Raises OSError."""
    import ctypes  # few commands sync a whole tree, and every one imports this module

    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if call is None:
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if call(descriptor) == 0:
            return True
        if (code := ctypes.get_errno()) != errno.ENOSYS:
            raise OSError(code, os.strerror(code))
        return False
    finally:
        os.close(descriptor)


def make_directory(path: str) -> None:
    """Make a folder (its parent is there already), durably. One that is there is left alone; a link is refused."""
    try:
        refuse_linked_directory(os.path.dirname(path))
        os.mkdir(path)
        sync_directory(os.path.dirname(path))
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise StorageError(f"{path} is not a directory, and one is needed there; move it away") from None
    except OSError as error:
        raise storage_error("make", path, error) from error


def set_aside(path: str) -> str:
    """Rename a file or folder to `<path>.prev`, `.prev2`, … and return that name.

    One that is not there is fine.
    """
    target = next_aside(path)
    try:
        os.rename(path, target)
        sync_directory(os.path.dirname(path))
    except FileNotFoundError:
        return target
    except OSError as error:
        raise storage_error("set aside", path, error) from error
    return target


def next_aside(path: str) -> str:
    """Return the first free name of `<path>.prev`, `.prev2`, …."""
    target, number = f"{path}.prev", 2
    while os.path.lexists(target):
        target, number = f"{path}.prev{number}", number + 1
    return target


def temporary_name(path: str) -> str:
    """Return the temporary name of a file during a write. One writer a task, so one name a file is enough."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.tmp")


def sweep_temporary_files(folder: str) -> None:
    """Remove what a killed writer left beside its documents."""
    try:
        refuse_linked_directory(folder)
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") and entry.name.endswith(".tmp"):
                    _remove_quietly(entry.path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error("look into", folder, error) from error


def storage_error(verb: str, path: str, error: OSError) -> StorageError:
    """Return the error of a file that cannot be used, in the program's one wording of it."""
    if isinstance(error, NotRegularError):
        return StorageError(str(error))
    code = errno.errorcode.get(error.errno or 0, "unknown")
    return StorageError(f"cannot {verb} {path}: {error.strerror or error} ({code})", code=error.errno or 0)


def describe_room(path: str) -> str:
    """Describe how many bytes are free at a path."""
    folder = path
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    try:
        status = os.statvfs(folder)
    except OSError:
        return "how much room is left there is not known"
    return f"{status.f_bavail * status.f_frsize:,} bytes and {status.f_favail:,} files are free in {folder}"


@contextmanager
def telling_room(path: str, needed: int) -> Iterator[None]:
    """Add the free and the needed bytes at a path to the error of a full disk."""
    try:
        yield
    except StorageError as error:
        if error.code not in DISK_FULL:
            raise
        message = f"{error}; {describe_room(path)}, and up to {needed:,} bytes are needed"
        raise StorageError(message, code=error.code) from error


def why_others_may_write(path: str) -> str:
    """Return why other users may have written a user's file, with what to type, or an empty string."""
    for place in (os.path.dirname(path), path):
        try:
            status = os.stat(place)
        except OSError:  # not there
            continue
        foreign = status.st_uid not in (os.geteuid(), 0)
        if foreign or (status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX):
            from shlex import quote  # late: every command imports this module, and this is rare

            if foreign:
                return f"{place} belongs to another user ({status.st_uid}); type: chown {os.geteuid()} {quote(place)}"
            return f"all users may write to {place}; type: chmod o-w {quote(place)}"
    return ""


def _read_all(descriptor: int, expected: int, limit: int) -> bytes:
    pieces, left = [], limit + 1
    while left > 0 and (piece := os.read(descriptor, min(left, max(expected, 65536)))):
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _write_new(path: str, data: bytes, *, sync: bool = True, rights: int = 0o644) -> None:
    _remove_quietly(path)
    descriptor = open_regular(path, flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=rights)
    try:
        write_all(descriptor, data)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_files(paths: Iterable[str]) -> None:
    for path in paths:
        _sync_file(path)


def _sync_file(path: str) -> None:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return
    descriptor = open_regular(path)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_quietly(path: str) -> None:
    with suppress(OSError):  # not there, or not ours to remove: the write that follows says so if it matters
        refuse_linked_directory(os.path.dirname(path))
        os.unlink(path)
