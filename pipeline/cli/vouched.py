"""What a task says that only its user may say: his folders, services that are asked, doors that are opened.

A task directory may come from a stranger. What is in a folder that it names would be copied into it and shown to a model, and
code would run outside of the sandbox. So that is sealed with a key that lies in the user's own folder; what bears no seal of
his is asked for again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pipeline.cli.assembly import command_name
from pipeline.cli.own import config_folder
from pipeline.errors import PipelineError, StorageError, UsageError
from pipeline.settings import Settings
from pipeline.store import TaskStore

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


def sealed(task: Mapping[str, Any], root: str) -> dict[str, Any]:
    """task.json with the seal of this user on what only he may say; without one where there is nothing to seal, or no key.

    The seal holds for the folder `root` alone: a copy may have been through other hands.
    """
    bare = {name: value for name, value in task.items() if name != "seal"}
    seal = _seal(bare, root, make=True) if _said(bare["settings"]) else None
    return {**bare, "seal": seal} if seal else bare


def refuse_strange(store: TaskStore, values: Mapping[str, Any], settings: Settings) -> None:
    """Raises UsageError where a run by `values` would do what the task says and its user did not: neither now, in
    `settings`, nor when it was begun here."""
    task, given = store.load("task.json"), settings._asdict()
    vouched = _said(task["settings"]) if _holds(task, store.root) else {}
    said = _said(values)
    strange = {word: value for word, value in said.items() if value not in (given[word], vouched.get(word))}
    if not strange:
        return
    from shlex import quote

    name = command_name(store)
    words = " ".join(_OPENED.get((word, value), f"--{word} {quote(value)}") for word, value in strange.items())
    raise UsageError(
        f"task {name} was not begun here with {words}: its directory says so, and a directory may come from anybody (or the key "
        f"that seals yours, {os.path.join(config_folder(), _KEY)}, is not there); if you mean it, say it again: "
        f"pipeline resume {name} {words}"
    )


def refuse_own_folders(values: Mapping[str, Any], code_base: str) -> None:
    """Raises UsageError where a folder of the user's is the one that the task keeps what it fetches in, or holds it."""
    if not (values["references"] or values["mirror"]):
        return
    from phases.reference.fetch.apart import refuse_own
    from phases.reference.fetch.values import Rules

    refuse_own(Rules(mirror=values["mirror"], folders=values["references"]), code_base)


def _said(settings: Mapping[str, Any]) -> dict[str, str]:
    named = {name: str(settings[name]) for name in _NAMED if settings.get(name)}
    return {**named, **{name: value for name, value in _OPENED if settings.get(name) == value}}


def _holds(task: Mapping[str, Any], root: str) -> bool:
    from hmac import compare_digest

    seal = _seal(task, root, make=False) if "seal" in task else None
    return bool(seal and compare_digest(seal, str(task["seal"])))


def _seal(task: Mapping[str, Any], root: str, *, make: bool) -> str | None:
    key = _key(make=make)
    if key is None:
        return None
    import hmac
    import json

    told = json.dumps([task["created"], os.stat(root).st_ino, _said(task["settings"])], sort_keys=True)
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
        is_file = os.path.lexists(path)
        why = "that is no folder; name the folder that it lies in" if is_file else "there is no such folder"
        raise UsageError(f"--{name} names {path}, and {why}")
    if path and name == "references":
        from phases.reference.fetch.folders import refuse_useless

        refuse_useless(path)
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
