"""The seal on task.json: it shows that the user who holds the key wrote what the document says.

The key is in the directory of the user's settings, which every function takes; no task can write there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from threading import get_native_id
from typing import Any

from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes, write_durable

_SEAL = "2:"
"""Version prefix of a seal."""
_KEY, _KEY_BYTES = "seal-key", 32
_SEALED = ("id", "created", "source", "settings", "said")
"""As far as they are there."""


def seal_task(task: Mapping[str, Any], directory: str) -> dict[str, Any]:
    """Return task.json with this user's seal, or without one if no key can be stored.

    The seal is on what task.json says and not on a place: a directory may be moved, copied and renamed.
    """
    bare = {name: value for name, value in task.items() if name != "seal"}
    seal = _compute_seal(bare, directory, make=True)
    return {**bare, "seal": seal} if seal else bare


def is_sealed(task: Mapping[str, Any], directory: str) -> bool:
    """Return whether task.json bears this user's seal over its present content."""
    from hmac import compare_digest  # late: most commands look at no seal

    seal = _compute_seal(task, directory, make=False) if "seal" in task else None
    return bool(seal and compare_digest(seal, str(task["seal"])))


def make_key(directory: str) -> None:
    """Make the key if there is none and one can be kept."""
    _read_key(directory, make=True)


def has_key(directory: str) -> bool:
    """Return whether this user has a key."""
    return _read_key(directory, make=False) is not None


def sign_digest(digest: str, directory: str) -> str:
    """Sign a packed task's digest as this user, or return an empty string if no key can be stored."""
    return _sign(f"packed {digest}", directory, make=True) or ""


def is_signed(digest: str, signature: str, directory: str) -> bool:
    from hmac import compare_digest  # late, as above

    own = _sign(f"packed {digest}", directory, make=False)
    return bool(own and compare_digest(own.encode(), signature.encode()))


def _compute_seal(task: Mapping[str, Any], directory: str, *, make: bool) -> str | None:
    import json  # late: most commands look at no seal

    # decision 125: by its content and not by its place, which changes with every copy.
    sealed = [task[name] for name in _SEALED if name in task]
    return _sign(json.dumps(sealed, sort_keys=True), directory, make=make)


def _sign(text: str, directory: str, *, make: bool) -> str | None:
    key = _read_key(directory, make=make)
    if key is None:
        return None
    import hmac  # late: a task without a key has no seal to compute

    return _SEAL + hmac.new(key, text.encode(), "sha256").hexdigest()


def _read_key(directory: str, *, make: bool) -> bytes | None:
    """Return the user's key, or None if there is none or it cannot be stored."""
    path = os.path.join(directory, _KEY)
    try:
        if os.path.lexists(path):
            key = read_bytes(path, limit=_KEY_BYTES)
            return key if len(key) == _KEY_BYTES else None
        if not make:
            return None
        os.makedirs(directory, mode=0o700, exist_ok=True)
        new = f"{path}.{get_native_id()}"
        write_durable(new, os.urandom(_KEY_BYTES), rights=0o600)
        with suppress(FileExistsError):  # several first runs at once: the first key is everybody's
            os.link(new, path)
        os.unlink(new)
        return read_bytes(path, limit=_KEY_BYTES)
    except (StorageError, OSError):
        return None
