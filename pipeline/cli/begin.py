"""Finds the task that `pipeline run SOURCE` is about, or makes it."""

from __future__ import annotations

import os
import re
from typing import Any

from pipeline.catalog import Catalog
from pipeline.cli.assembly import enclosing_task, is_task, open_folder, stored
from pipeline.errors import StorageError, UsageError
from pipeline.files import failure, make_folder, read_bytes, sha256
from pipeline.formats import parse_json
from pipeline.logs import timestamp
from pipeline.settings import Settings
from pipeline.store import TaskStore

_LONGEST_ID = 60
_RESERVED = ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)))


def find_or_make(source: str, settings: Settings, *, wanted_id: str | None, new: bool) -> TaskStore:
    """The task directory that SOURCE is or lies in; else the task that was made from it before; else a new one."""
    if wanted_id is not None and slug(wanted_id) != wanted_id:
        raise UsageError(f"--id {wanted_id!r} is not a safe folder name; try --id {slug(wanted_id)}")
    root = enclosing_task(source)
    if root is None:
        source = _absolute(source)
        _make_tasks_dir(settings.tasks_dir)
        root = _existing(source, settings, wanted_id) if not new else None
        if root is None:
            return _make(source, settings, wanted_id)
    return open_folder(settings, root)


def slug(name: str) -> str:
    """A safe folder name of at most 60 ASCII characters."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name)[:_LONGEST_ID].strip("-._")
    reserved = plain.lower().split(".")[0] in _RESERVED  # Windows opens a device under these names
    return f"task-{plain}" if reserved else plain or "task"


def _existing(source: str, settings: Settings, wanted_id: str | None) -> str | None:
    base = wanted_id or slug(_stem(source))
    number = 1
    while is_task(root := os.path.join(settings.tasks_dir, base if number == 1 else f"{base}-{number}")):
        task = parse_json(read_bytes(os.path.join(root, "task.json")))
        same = isinstance(task, dict) and task.get("source") == source
        if same and not _content_changed(root, source):
            return root
        if wanted_id:
            made_from = task.get("source") if isinstance(task, dict) else "?"
            raise UsageError(
                f"the task '{wanted_id}' was made from {made_from}; choose another --id, "
                f"or go on with: pipeline resume {wanted_id}"
            )
        number += 1
    return None


def _content_changed(root: str, source: str) -> bool:
    """Whether the source is another one now than when the task took it in. One that is gone has not changed."""
    try:
        taken = parse_json(read_bytes(os.path.join(root, "input.json")))
        return bool(sha256(read_bytes(source)) != taken["sha256"])
    except StorageError:
        return False


def _make(source: str, settings: Settings, wanted_id: str | None) -> TaskStore:
    root = _free_folder(settings.tasks_dir, wanted_id or slug(_stem(source)), fixed=wanted_id is not None)
    store = open_folder(settings, root)
    for name, value in _first_documents(store.id, source, settings).items():
        store.write(name, value)
    Catalog(settings.tasks_dir).record(store.id, "running", mode=settings.mode, source=source)
    return store


def _first_documents(task: str, source: str, settings: Settings) -> dict[str, Any]:
    return {
        "plan_requests.json": {"version": 1, "requests": []},
        # last, because a folder is a task from the moment that it has a task.json
        "task.json": {
            "version": 1,
            "id": task,
            "created": timestamp(),
            "source": source,
            "settings": stored(settings._asdict()),
        },
    }


def _free_folder(tasks_dir: str, base: str, *, fixed: bool) -> str:
    number = 1
    while True:
        root = os.path.join(tasks_dir, base if number == 1 else f"{base}-{number}")
        try:
            os.mkdir(root)
        except FileExistsError as error:
            if not is_task(root) and os.path.isdir(root) and not _holds_documents(root):
                return root  # a run was killed before it could write anything here
            if fixed:
                raise UsageError(
                    f"{root} is there already, and is not a task of this source; choose another --id"
                ) from error
            number += 1
        except OSError as error:
            raise failure("make", root, error) from error
        else:
            return root


def _holds_documents(root: str) -> bool:
    return any(not name.startswith(".") and name != "plan_requests.json" for name in os.listdir(root))


def _make_tasks_dir(path: str) -> None:
    missing = []
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        if os.path.lexists(folder):
            raise UsageError(f"--tasks-dir {path}: {folder} is not a folder")
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        make_folder(folder)


def _absolute(source: str) -> str:
    try:
        source.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the name {source!r} is not UTF-8, and so cannot be written down; rename the file first"
        ) from error
    return source if re.match(r"^[a-z][a-z+.-]*://", source) else os.path.abspath(source)


def _stem(source: str) -> str:
    base = os.path.basename(source.rstrip("/"))
    return base.rsplit(".", 1)[0] or base
