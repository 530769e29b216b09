"""Exclusive lease files, for directories that several machines share and where the kernel has no locks.

A dead process cannot release its lease. So its holder touches it every few seconds, and one that was not touched for a
minute is taken over. Clocks of machines are never compared: the age is measured by a file that is made next to it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pipeline.base.errors import FormatError
from pipeline.base.files import storage_error
from pipeline.base.formats import parse_json
from pipeline.base.logs import utc_timestamp
from pipeline.base.safe_tree import open_regular

if TYPE_CHECKING:
    from threading import Event

BEAT, STALE = 10.0, 60.0
"""Seconds between two signs of life, and without one, until a holder on another machine counts as dead."""
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of flock on a file system without locks."""
_SETTLE, _AGAIN, _UNWRITTEN = 0.2, 0.02, 2.0
_FOREVER = 1e9
_LARGEST = 4096
_TRIES = 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
Holder = Mapping[str, object]
"""pid, host, boot, started, attempt, and of the process its start and its space of process numbers."""


class Claim(NamedTuple):
    """Result of a request for a lease."""

    mine: bool
    holder: Holder
    """Current holder, or the dead one that it was taken over from; empty for none."""
    silent: float = 0.0
    """Seconds since that holder's last sign of life."""


def describe_holder(content: Holder) -> str:
    pid, host, started = content.get("pid", "unknown"), content.get("host", "this machine"), content.get("started", "?")
    return f"process {pid} on {host} since {started}"


def new_attempt() -> str:
    """Return a unique name for one holding of a lease."""
    return uuid.uuid4().hex


def own_record(attempt: str) -> str:
    """Return the content of a lease of this process."""
    return json.dumps(
        {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "boot": boot_id(),
            "started": utc_timestamp(),
            "attempt": attempt,
            "born": _birth_of(os.getpid()),
            "space": _number_space(),
        }
    )


def parse_record(data: bytes) -> Holder:
    """Parse the content of a lock or lease: `{"pid": "unknown"}` if it is unreadable, empty if there is none."""
    try:
        value = parse_json(data) if data.strip() else {}
    except FormatError:
        return {"pid": "unknown"}
    return value if isinstance(value, dict) else {"pid": "unknown"}


def boot_id() -> str:
    """Name this machine since it was started; "unknown" where there is no such name."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def claim_lease(path: str, attempt: str, *, alone: bool) -> Claim:
    """Ask for the lease. `alone`: a lock of the kernel keeps all others of this machine away. Raises OSError, StorageError."""
    claim = Claim(False, {"pid": "unknown"})
    for _ in range(_TRIES):
        if _make_lease(path, attempt):
            return Claim(True, {})
        seen = look_at_lease(path, alone=alone)
        if seen is None:  # it was given back in between
            continue
        claim, is_gone = seen
        if alone and "boot" not in claim.holder:  # another machine is making it, or a power cut left it without words
            if claim.silent < _UNWRITTEN:
                time.sleep(_UNWRITTEN / 4)
                continue
            is_gone = True
        if not is_gone:
            return claim
        _replace_lease(path, attempt, claim.holder)
        if not alone or claim.silent > STALE:  # others may have seen the same: the last one has it
            time.sleep(_SETTLE)
        if has_lease(path, attempt):
            return claim._replace(mine=True)
    return claim


def look_at_lease(path: str, *, alone: bool) -> tuple[Claim, bool] | None:
    """Return the claim on a lease and whether its holder is gone, or None if it is free. Raises OSError, StorageError."""
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        content = parse_record(os.pread(descriptor, _LARGEST, 0))
    finally:
        os.close(descriptor)
    silent = max(0.0, _time_there(path) - status.st_mtime)
    return Claim(False, content, silent), _is_gone(content, silent, alone=alone)


def has_lease(path: str, attempt: str) -> bool:
    """Return whether the lease is still this attempt's. Raises OSError where it cannot be read."""
    return _read_lease(path).get("attempt") == attempt


@contextmanager
def keep_lease(path: str, attempt: str) -> Iterator[None]:
    """Keep a claimed lease alive from a thread, and release it at the end. Raises StorageError."""
    # imported here: only who holds a lease needs them
    import threading

    from pipeline.base.threads import start_thread

    ended = threading.Event()
    try:
        start_thread(partial(_beat, path, attempt, ended), "lease")
        yield
    finally:
        ended.set()
        with suppress(OSError):
            if has_lease(path, attempt):
                os.unlink(path)


@contextmanager
def lock_descriptor(descriptor: int, path: str, seconds: float | None = None) -> Iterator[bool]:
    """Lock an open file for this process alone; False if another process still has it after so many seconds.

    `path` is the file's. Where its file system has no locks, a lease beside it keeps others away. Raises StorageError.
    """
    until = time.monotonic() + (_FOREVER if seconds is None else seconds)
    attempt, lease = new_attempt(), f"{path}.lease"
    try:
        how = fcntl.LOCK_EX | (fcntl.LOCK_NB if seconds is not None else 0)
        while not (mine := _try_lock(descriptor, how, lease, attempt)) and time.monotonic() < until:
            time.sleep(_AGAIN)
    except OSError as error:
        raise storage_error("lock", path, error) from error
    if mine == "lease":
        with keep_lease(lease, attempt):
            yield True
    else:
        yield bool(mine)


def _try_lock(descriptor: int, how: int, lease: str, attempt: str) -> str:
    """Return the kind of lock obtained: "kernel" or "lease"; empty if another process has it."""
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return ""
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return "lease" if claim_lease(lease, attempt, alone=False).mine else ""
    return "kernel"


def _read_lease(path: str) -> Holder:
    """Return what a lease says; nothing where there is none. Raises OSError."""
    with suppress(FileNotFoundError):
        descriptor = open_regular(path)
        try:
            return parse_record(os.pread(descriptor, _LARGEST, 0))
        finally:
            os.close(descriptor)
    return {}


def _make_lease(path: str, attempt: str) -> bool:
    """Make the file; False where there is one."""
    try:
        descriptor = open_regular(path, flags=_NEW)
    except FileExistsError:
        return False
    try:
        os.write(descriptor, own_record(attempt).encode())
        os.fsync(descriptor)  # after a power cut it must say of which start of the machine it is
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)
    return True


def _replace_lease(path: str, attempt: str, before: Holder) -> None:
    """Put ours in the place of a dead holder's, if it is still there."""
    beside = f"{path}.{attempt}.tmp"
    try:
        if _make_lease(beside, attempt) and _read_lease(path) == before:
            os.replace(beside, path)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def _time_there(path: str) -> float:
    """Return the time by the clock of the file system, which may be another machine's."""
    beside = f"{path}.{new_attempt()}.tmp"
    try:
        descriptor = open_regular(beside, flags=_NEW)
    except OSError:
        return time.time()  # who may only look has no other
    try:
        return os.fstat(descriptor).st_mtime
    finally:
        os.close(descriptor)
        os.unlink(beside)


def _is_gone(content: Holder, silent: float, *, alone: bool) -> bool:
    """Return whether the holder has surely ended: by the kernel, its process, a restart of the machine, or its silence."""
    own, host = boot_id(), content.get("host") == socket.gethostname()
    if content.get("boot") == own if own != "unknown" else host:
        if alone:
            return True
        if content.get("space") == _number_space():
            return not _is_alive(content)
    elif host:
        return True
    return silent > STALE


def _is_alive(content: Holder) -> bool:
    pid = content.get("pid")
    if not isinstance(pid, int) or pid < 1:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return content.get("born") in ("", _birth_of(pid))  # else another process got its number


def _birth_of(pid: int) -> str:
    """Return when a process was started, in the kernel's ticks, or an empty string."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _number_space() -> str:
    """Return the name space of process ids: containers of one machine each have their own."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return socket.gethostname()


def _beat(path: str, attempt: str, ended: Event) -> None:
    while not ended.wait(BEAT):
        with suppress(OSError):  # a network that is away for a while
            if not has_lease(path, attempt):
                return
            os.utime(path, follow_symlinks=False)  # the time is the file system's own
