"""One writer a task: a lock of the kernel, and a lease beside it for other machines. Both name their holder, and are taken over
only from one that is surely gone."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipeline.base.errors import StorageError, TaskBusy
from pipeline.base.files import storage_error
from pipeline.base.lease import (
    NO_LOCKS,
    STALE,
    Holder,
    boot_id,
    claim_lease,
    describe_holder,
    has_lease,
    keep_lease,
    look_at_lease,
    new_attempt,
    own_record,
    parse_record,
)
from pipeline.base.safe_tree import open_regular

NAME, LEASE = ".lock", ".lease"
_LARGEST = 4096
_PATIENCE = 1.0


@contextmanager
def lock_task(folder: str, attempt: str = "") -> Iterator[str | None]:
    """Hold the task. Gives the words for a lock that a dead process left, or None. Raises TaskBusy at once.

    `attempt` is the name of this holding (new_attempt), for `is_held`.
    """
    path, lease, attempt = os.path.join(folder, NAME), os.path.join(folder, LEASE), attempt or new_attempt()
    try:
        descriptor = open_regular(path, flags=os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise storage_error("lock", path, error) from error
    try:
        alone = _take_lock(descriptor, folder)
        try:
            left = _describe_dead_holder(_read_record(descriptor), path)
            left = _take_lease(folder, attempt, alone=alone) or left
        except OSError as error:
            raise storage_error("lock", path, error) from error
        with keep_lease(lease, attempt):
            try:
                _write_record(descriptor, own_record(attempt))
            except OSError as error:
                raise storage_error("lock", path, error) from error
            try:
                yield left
            finally:
                # closing the file frees the lock all the same; the next holder is told of a dead one
                with suppress(OSError):
                    _write_record(descriptor, "")
    finally:
        os.close(descriptor)


def holder_of(folder: str) -> str | None:
    """Describe the process that works on the task now, or return None."""
    try:
        descriptor = open_regular(os.path.join(folder, NAME))
    except OSError:
        return None
    alone = True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return describe_holder(_read_record(descriptor))
    except OSError as error:
        if error.errno not in NO_LOCKS:
            return None
        alone = False
    finally:
        os.close(descriptor)
    with suppress(OSError, StorageError):
        lease = look_at_lease(os.path.join(folder, LEASE), alone=alone)
        if lease and not lease[1]:
            return describe_holder(lease[0].holder)
    return None


def is_held(folder: str, attempt: str) -> bool:
    """Return whether the task is still held by this attempt, and no other machine took it over. Raises StorageError."""
    path = os.path.join(folder, LEASE)
    try:
        return has_lease(path, attempt)
    except OSError as error:
        raise storage_error("read", path, error) from error


def holding_process(folder: str) -> int | None:
    """Return the id of a process on this machine that holds the lock of a task, or None."""
    path = os.path.join(folder, NAME)
    if holder_of(folder) is None:
        return None
    try:
        descriptor = open_regular(path)
    except OSError:
        return None
    try:
        pid, status = _read_record(descriptor).get("pid"), os.fstat(descriptor)
    finally:
        os.close(descriptor)
    # the record is an untrusted file of the task: only a process that has the lock open counts
    return pid if isinstance(pid, int) and pid > 1 and _has_open(pid, (status.st_dev, status.st_ino)) else None


def _has_open(pid: int, identity: tuple[int, int]) -> bool:
    for name in _names_of_descriptors(pid):
        with suppress(OSError):
            status = os.stat(f"/proc/{pid}/fd/{name}")
            if (status.st_dev, status.st_ino) == identity:
                return True
    return False


def _names_of_descriptors(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []


def _take_lock(descriptor: int, folder: str) -> bool:
    """Take the kernel's lock; False where the file system has none, and the lease alone keeps others away."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            content = _read_record(descriptor)
            # Held without a process at work: holder() is reading it, or a run has not written its name yet.
            if time.monotonic() > deadline or _is_at_work(content):
                raise TaskBusy(
                    f"{folder} is in use by {describe_holder(content)}; wait for it to end, or stop it first"
                ) from error
            time.sleep(_PATIENCE / 200)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return False
            raise storage_error("lock", os.path.join(folder, NAME), error) from error
        else:
            return True


def _take_lease(folder: str, attempt: str, *, alone: bool) -> str | None:
    """Take the lease; the words for a dead holder, or None for none. Raises TaskBusy."""
    path = os.path.join(folder, LEASE)
    claim = claim_lease(path, attempt, alone=alone)
    who = describe_holder(claim.holder)
    if not claim.mine:
        raise TaskBusy(
            f"{folder} is in use by {who}, which gave a sign of life {claim.silent:.0f} s ago; wait for it to end, or stop it "
            f"where it runs; {STALE:.0f} s after the last sign it is taken over (or, if it is gone, delete {path})"
        )
    if not claim.holder:
        return None
    silent = (
        f"gave no sign of life for {claim.silent:.0f} s" if claim.silent > STALE else "ended without releasing its lock"
    )
    return f"took over from {who}, which {silent}"


def _is_at_work(content: Holder) -> bool:
    """Return whether the holder of a lock still runs, as far as can be seen from here."""
    pid = content.get("pid")
    if not isinstance(pid, int) or content.get("boot") != boot_id():
        return "pid" in content
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _describe_dead_holder(content: Holder, path: str) -> str | None:
    """Return a warning about the previous holder of a lock that the kernel gave us.

    Its holder on this machine is dead; one on another machine may run if it is of a release without leases.
    """
    if not content:
        return None
    elsewhere = content.get("boot") != boot_id() and content.get("host") not in (None, socket.gethostname())
    if elsewhere and "attempt" not in content:
        raise TaskBusy(
            f"{path} was left by {describe_holder(content)}; on another machine it may still be running: "
            f"if it is not, delete {path}"
        )
    return f"took over from {describe_holder(content)}, which ended without releasing its lock"


def _read_record(descriptor: int) -> Holder:
    return parse_record(os.pread(descriptor, _LARGEST, 0))


def _write_record(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode("utf-8"), 0)
