"""The store of trusted workspaces: which hooks the user has read and trusts, by their content.

A store that somebody else could have written trusts nothing, and is not written over.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pipeline.base.errors import FormatError, PipelineError
from pipeline.base.files import storage_error, write_durable
from pipeline.base.formats import dump_json, parse_json
from pipeline.base.lease import lock_descriptor

VERSION = 2
LARGEST_STORE = 4 * 1024 * 1024
_PATIENCE = 10
Check = Callable[[Any], str | None]
"""Why a value is no store, by its schema, or None."""


class TrustRefused(PipelineError):
    """A store that is not written to, because it could not be trusted afterwards."""


class TrustStore(NamedTuple):
    """What is trusted. Where there is a fault, nothing is."""

    workspaces: Mapping[str, Mapping[str, Any]]
    fault: str = ""
    """Why nothing is trusted, and what to do; empty where the store is sound."""
    missing: bool = False
    """There is no store yet. That is no fault of anybody's."""

    def entry(self, workspace: str) -> Mapping[str, Any] | None:
        """What is trusted of a workspace, however it was reached."""
        return self.workspaces.get(os.path.realpath(workspace))


def read_store(path: str, check: Check) -> TrustStore:
    """The store at a path. It is not raised for: a store that cannot be trusted is one in which nothing is."""
    if not path:
        return TrustStore({}, "no directory of settings is known, so no workspace is trusted", missing=True)
    try:
        fault = _directory_fault(path)
        data = b"" if fault else _read_bytes(path)
        return TrustStore({}, f"{path}: {fault}") if fault else TrustStore(_parse_workspaces(data, check))
    except FileNotFoundError:
        return TrustStore({}, f"no workspace is trusted yet ({path} is not there)", missing=True)
    except _StoreFault as error:
        return TrustStore({}, f"{path}: {error}")
    except OSError as error:
        return TrustStore({}, f"{path}: it cannot be read ({errno.errorcode.get(error.errno or 0, error.strerror)})")


def write_trust(path: str, workspace: str, entry: Mapping[str, Any], check: Check) -> None:
    """Trusts what an entry says of a workspace; other entries are kept. Raises TrustRefused over a store that is not sound."""
    _require_sound(path, check)  # before anything is made beside it
    directory = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        os.chmod(directory, 0o700)
        with _lock_store(path):
            known = _require_sound(path, check).workspaces
            value = {"version": VERSION, "workspaces": {**known, os.path.realpath(workspace): dict(entry)}}
            if breach := check(value):
                raise TrustRefused(f"nothing is written: {path} would no longer be a valid store ({breach})")
            write_durable(path, dump_json(value), rights=0o600)
            fault = read_store(path, check).fault
    except OSError as error:
        raise storage_error("write", path, error) from error
    if fault:
        raise TrustRefused(f"it is written, and trusts nothing: {fault}")


def _require_sound(path: str, check: Check) -> TrustStore:
    store = read_store(path, check)
    if store.fault and not store.missing:
        raise TrustRefused(f"nothing is written: {store.fault}")
    return store


@contextmanager
def _lock_store(path: str) -> Iterator[None]:
    """Nobody else writes between the reading and the writing of a store: the later of two would lose the other's entry."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(f"{path}.lock", flags, 0o600)
    try:
        with lock_descriptor(descriptor, f"{path}.lock", _PATIENCE) as mine:
            if not mine:
                raise TrustRefused(
                    f"nothing is written: another process has held {path}.lock for {_PATIENCE} s; end it first"
                )
            yield
    finally:
        os.close(descriptor)


class _StoreFault(PipelineError):
    """Why a store is not to be trusted."""


def _read_bytes(path: str) -> bytes:
    """The bytes of a store, once the open file itself has been looked at: its name may be another file's by then."""
    try:
        # By descriptor, so that what is looked at is what is read: the name may be another file's by then.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _StoreFault("it is a symbolic link; put the file there itself") from error
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _StoreFault("it is not a regular file; move it away")
        if status.st_uid != os.geteuid():
            raise _StoreFault(
                f"it belongs to another user ({status.st_uid}); move it away, then trust what you need again"
            )
        if status.st_mode & 0o022:
            raise _StoreFault(f"{_other_writers(status.st_mode)} may write to it; check it, then: chmod 600 {path}")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(LARGEST_STORE + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST_STORE:
        raise _StoreFault(f"it is over {LARGEST_STORE:,} bytes; move it away")
    return data


def _parse_workspaces(data: bytes, check: Check) -> dict[str, Mapping[str, Any]]:
    if not data.strip():
        raise _StoreFault("it is empty; delete it, then trust what you need again")
    try:
        value = parse_json(data)
    except FormatError as error:
        place = f"line {error.line}: " if error.line else ""
        raise _StoreFault(f"{place}{error}; fix or delete it") from error
    version = value.get("version") if isinstance(value, dict) else None
    if version != VERSION or isinstance(version, bool):
        raise _StoreFault(f"its version is not {VERSION}; delete it, then trust what you need again")
    if breach := check(value):
        raise _StoreFault(f"it is damaged {breach}; fix or delete it")
    for workspace in value["workspaces"]:
        if not os.path.isabs(workspace):
            raise _StoreFault(f"the workspace {workspace!r} is not an absolute path; fix or delete it")
    return dict(value["workspaces"])


def _directory_fault(path: str) -> str:
    """Why the file could be swapped for another, or nothing. In a sticky directory, like /tmp, it could not."""
    for directory in _parent_directories(path):
        mode = os.stat(directory).st_mode
        # Whoever may write to a directory can put a store of their own in the place of the user's.
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"all users may write to the directory {directory}, and so could swap the file; type: chmod o-w {directory}"
    return ""


def _parent_directories(path: str) -> Iterator[str]:
    """Every directory on the way to a file, by the way that is written and by the one that links lead."""
    seen = set()
    for start in (os.path.dirname(os.path.abspath(path)), os.path.realpath(os.path.dirname(path))):
        directory = start
        while directory not in seen:
            seen.add(directory)
            if os.path.isdir(directory):
                yield directory
            directory = os.path.dirname(directory)


def _other_writers(mode: int) -> str:
    return "all users" if mode & stat.S_IWOTH else "its group"
