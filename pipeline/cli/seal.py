"""The seal on task.json: what it says is the word of the user who holds the key, which lies in his own folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pipeline.base.errors import StorageError
from pipeline.cli.user_config import config_directory

SEAL = "2:"
"""What a seal begins with. One of an earlier version does not, and was on folders, services and open doors alone."""
_KEY, _KEY_BYTES = "seal-key", 32
_SEALED = ("id", "created", "source", "settings")


def seal_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """task.json with the seal of this user; without one where no key can be kept.

    The seal is on what task.json says and not on a place: a directory may be moved, copied and renamed.
    """
    bare = {name: value for name, value in task.items() if name != "seal"}
    seal = _compute_seal(bare, make=True)
    return {**bare, "seal": seal} if seal else bare


def is_sealed(task: Mapping[str, Any]) -> bool:
    """Whether task.json bears the seal of this user, on exactly what it says now."""
    from hmac import compare_digest

    seal = _compute_seal(task, make=False) if "seal" in task else None
    return bool(seal and compare_digest(seal, str(task["seal"])))


def make_key() -> None:
    """Makes the key where there is none, before anything is added to the list of the tasks: only what stood there before is
    the user's own without a seal."""
    _read_key(make=True)


def day_of_key() -> float | None:
    """When the key was made, in seconds; None where there is none."""
    return os.stat(os.path.join(config_directory(), _KEY)).st_mtime if _read_key(make=False) else None


def _compute_seal(task: Mapping[str, Any], *, make: bool) -> str | None:
    key = _read_key(make=make)
    if key is None:
        return None
    import hmac
    import json

    told = json.dumps([task[name] for name in _SEALED], sort_keys=True)
    return SEAL + hmac.new(key, told.encode(), "sha256").hexdigest()


def _read_key(*, make: bool) -> bytes | None:
    """The user's key; None where there is none, or none can be kept."""
    from pipeline.base.files import read_bytes, write_durable

    path = os.path.join(config_directory(), _KEY)
    try:
        if os.path.lexists(path):
            key = read_bytes(path, limit=_KEY_BYTES)
            return key if len(key) == _KEY_BYTES else None
        if not make:
            return None
        os.makedirs(config_directory(), mode=0o700, exist_ok=True)
        mask, new = os.umask(0o077), f"{path}.{os.getpid()}"
        try:
            write_durable(new, os.urandom(_KEY_BYTES))
            with suppress(FileExistsError):  # several first runs at once: the first key is everybody's
                os.link(new, path)
            os.unlink(new)
        finally:
            os.umask(mask)
        return read_bytes(path, limit=_KEY_BYTES)
    except (StorageError, OSError):
        return None
