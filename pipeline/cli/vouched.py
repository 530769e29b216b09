"""What a task says that only its user may say: his folders, services that are asked, doors that are opened.

A task directory may come from a stranger. What is in a folder that it names would be copied into it and shown to a model, and
code would run outside of the sandbox. So that is sealed with a key that lies in the user's own folder; what bears no seal of
his is asked for again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pipeline.cli.own import config_folder
from pipeline.errors import PipelineError, StorageError, UsageError
from pipeline.settings import Settings

_NAMED = ("references", "mirror", "lookup")
_OPENED = {("sandbox", "off"): "--unsandboxed", ("install", "allowed"): "--allow-install"}
_KEY, _KEY_BYTES = "task-key", 32


def whole(settings: Settings) -> Settings:
    """The same settings with absolute paths, for a resume from elsewhere. Raises UsageError for what is not there."""
    return settings._replace(
        references=_folder("references", settings.references),
        mirror=_folder("mirror", settings.mirror),
        lookup=_lookup(settings.lookup),
    )


def sealed(task: Mapping[str, Any]) -> dict[str, Any]:
    """task.json with the seal of this user on what only he may say; without one where there is nothing to seal, or no key."""
    bare = {name: value for name, value in task.items() if name != "seal"}
    seal = _seal(bare, make=True) if _said(bare) else None
    return {**bare, "seal": seal} if seal else bare


def refuse_strange(task: Mapping[str, Any], settings: Settings, name: str) -> None:
    """Raises UsageError where a task says what its user did not: neither now, nor when it was begun here."""
    given = settings._asdict()
    strange = {word: value for word, value in _said(task).items() if given[word] != value}
    if not strange:
        return
    from hmac import compare_digest
    from shlex import quote

    seal = _seal(task, make=False)
    if seal and compare_digest(seal, str(task.get("seal", ""))):
        return
    words = " ".join(_OPENED.get((word, value), f"--{word} {quote(value)}") for word, value in strange.items())
    raise UsageError(
        f"task {name} was not begun on this machine with {words}: its directory says so, and a directory may come from anybody; "
        f"if you mean it, say it again: pipeline resume {name} {words}"
    )


def refuse_own_folders(values: Mapping[str, Any], code_base: str) -> None:
    """Raises UsageError where a folder of the user's is the one that the task keeps what it fetches in, or holds it."""
    if not (values["references"] or values["mirror"]):
        return
    from phases.reference.fetch.apart import refuse_own
    from phases.reference.fetch.values import Rules

    refuse_own(Rules(mirror=values["mirror"], folders=values["references"]), code_base)


def _said(task: Mapping[str, Any]) -> dict[str, str]:
    settings = task["settings"]
    named = {name: str(settings[name]) for name in _NAMED if settings.get(name)}
    return {**named, **{name: value for name, value in _OPENED if settings.get(name) == value}}


def _seal(task: Mapping[str, Any], *, make: bool) -> str | None:
    key = _key(make=make)
    if key is None:
        return None
    import hmac
    import json

    told = json.dumps([task["id"], task["created"], _said(task)], sort_keys=True)
    return hmac.new(key, told.encode(), "sha256").hexdigest()


def _key(*, make: bool) -> bytes | None:
    """The user's key; None where there is none, or none can be kept."""
    from pipeline.files import read_bytes, write_durable

    path = os.path.join(config_folder(), _KEY)
    try:
        if os.path.lexists(path):
            key = read_bytes(path, limit=_KEY_BYTES)
            return key if len(key) == _KEY_BYTES else None
        if not make:
            return None
        os.makedirs(config_folder(), mode=0o700, exist_ok=True)
        mask = os.umask(0o077)
        try:
            write_durable(path, os.urandom(_KEY_BYTES))
        finally:
            os.umask(mask)
        return read_bytes(path, limit=_KEY_BYTES)
    except (StorageError, OSError):
        return None


def _folder(name: str, path: str) -> str:
    if path and not os.path.isdir(path):
        raise UsageError(f"--{name} names {path}, and there is no such folder")
    return os.path.abspath(path) if path else ""


def _lookup(setting: str) -> str:
    if not setting:
        return ""
    from phases.reference.lookup.opening import open_lookups

    parts = [part.strip().partition(":") for part in setting.split(",") if part.strip()]
    absolute = ",".join(f"{name}:{os.path.abspath(path)}" if path else name for name, _, path in parts)
    try:
        open_lookups(absolute, cache="", canonical=lambda url: url)  # nothing is asked; only whether it could be
    except PipelineError as error:
        raise UsageError(str(error)) from error
    return absolute
