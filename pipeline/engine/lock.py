"""One writer a task: an advisory lock that names its holder, and is taken over only from a process that is surely gone."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipeline.base.errors import FormatError, StorageError, TaskBusy
from pipeline.base.files import lock_error, storage_error
from pipeline.base.formats import parse_json
from pipeline.base.logs import utc_timestamp

NAME = ".lock"
_LARGEST = 4096
_PATIENCE = 1.0


@contextmanager
def lock_task(folder: str) -> Iterator[str | None]:
    """Holds the task. Gives the words for a lock that a dead process left, or None. Raises TaskBusy at once."""
    path = os.path.join(folder, NAME)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise storage_error("lock", path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StorageError(f"{path} is not a regular file, and a lock is one; delete it")
        _take_lock(descriptor, folder)
        try:
            left = _describe_dead_holder(descriptor, path)
            _write_record(descriptor, _own_record())
        except OSError as error:
            raise storage_error("lock", path, error) from error
        try:
            yield left
        finally:
            with suppress(
                OSError
            ):  # closing the file frees the lock all the same; the next holder is told of a dead one
                _write_record(descriptor, "")
    finally:
        os.close(descriptor)


def holder_of(folder: str) -> str | None:
    """Who works on the task right now, in words; None when nobody does."""
    try:
        descriptor = os.open(os.path.join(folder, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _describe_record(_read_record(descriptor))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def holding_process(folder: str) -> int | None:
    """The id of the process that works on the task, where it is one of this machine that has the lock open; else None."""
    path = os.path.join(folder, NAME)
    if holder_of(folder) is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        pid, status = _read_record(descriptor).get("pid"), os.fstat(descriptor)
    finally:
        os.close(descriptor)
    # the record is a file of the task, which may be a stranger's: no process is believed in that has not the lock open
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


def _take_lock(descriptor: int, folder: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            content = _read_record(descriptor)
            # Held and nobody at work: it is a glance of holder(), or a run that has not written its name yet.
            if time.monotonic() > deadline or _is_at_work(content):
                raise TaskBusy(
                    f"{folder} is in use by {_describe_record(content)}; wait for it to end, or stop it first"
                ) from error
            time.sleep(_PATIENCE / 200)
        except OSError as error:
            raise lock_error(os.path.join(folder, NAME), error) from error
        else:
            return


def _is_at_work(content: dict[str, object]) -> bool:
    """Whether a lock's content names a process that runs, as far as can be seen from here."""
    pid = content.get("pid")
    if not isinstance(pid, int) or content.get("boot") != _boot_id():
        return "pid" in content
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _describe_dead_holder(descriptor: int, path: str) -> str | None:
    """The kernel gave us the lock, so a holder on this machine is dead. One on another machine might not be."""
    content = _read_record(descriptor)
    if not content:
        return None
    if content.get("boot") != _boot_id() and content.get("host") not in (None, socket.gethostname()):
        raise TaskBusy(
            f"{path} was left by {_describe_record(content)}; on another machine it may still be running: "
            f"if it is not, delete {path}"
        )
    return f"took over from {_describe_record(content)}, which ended without releasing its lock"


def _own_record() -> str:
    record = {"pid": os.getpid(), "host": socket.gethostname(), "boot": _boot_id(), "started": utc_timestamp()}
    return json.dumps(record)


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def _read_record(descriptor: int) -> dict[str, object]:
    data = os.pread(descriptor, _LARGEST, 0)
    try:
        value = parse_json(data) if data.strip() else {}
    except FormatError:
        return {"pid": "unknown"}
    return value if isinstance(value, dict) else {"pid": "unknown"}


def _describe_record(content: dict[str, object]) -> str:
    pid, host, started = content.get("pid", "unknown"), content.get("host", "this machine"), content.get("started", "?")
    return f"process {pid} on {host} since {started}"


def _write_record(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode("utf-8"), 0)
