"""Find or make the task of `pipeline run SOURCE`."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Mapping
from shlex import quote
from shutil import rmtree
from threading import get_native_id
from typing import Any

from pipeline.base.errors import PipelineError, UsageError
from pipeline.base.files import make_directory, read_bytes, sha256, storage_error, sync_directory
from pipeline.base.logs import utc_timestamp
from pipeline.cli.assembly import (
    command_name,
    config_directory,
    enclosing_task,
    is_task,
    name_in_commands,
    open_task_directory,
    relative_path,
    settings_to_store,
    with_settings_to_keep,
)
from pipeline.cli.trust import join_blacklists, refuse_idle_attempts
from pipeline.engine.catalog import Catalog
from pipeline.engine.phase import TYPED
from pipeline.engine.seal import seal_task
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore

_LONGEST_ID = 60
UNFINISHED = ".unfinished-"
PACKED = ".task.tar.gz"
"""Suffix of a file that `pipeline pack` wrote."""
NOT_BEGUN = "it has not begun yet"
"""Reason of a new task without a run."""
_RESERVED = ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)))


def find_or_make_task(
    source: str,
    settings: Settings,
    flags: Mapping[str, Any],
    *,
    wanted_id: str | None,
    new: bool,
    tell: Callable[[str], None] = lambda text: None,
) -> TaskStore:
    """Return the task that SOURCE is, lies in, or was made into before; else make a new one.

    `flags`: what of the settings the user said for this task. `tell` gets the name of the file that is taken from a
    directory. Raises UsageError.
    """
    if wanted_id is not None and safe_name(wanted_id) != wanted_id:
        raise UsageError(f"--id {wanted_id!r} is not a safe directory name; try --id {safe_name(wanted_id)}")
    root = enclosing_task(source)
    if root:
        return open_task_directory(settings, root)
    source, name = name_source(source)
    base, number = wanted_id or safe_name(name), 1
    while True:
        name = base if number == 1 else f"{base}-{number}"
        root = os.path.join(settings.tasks_dir, name)
        if is_free := _is_free(root):
            if os.path.isabs(source) and not settings.phases:
                _look_at_source(source, settings, tell)
            refuse_idle_attempts(settings._asdict(), flags)
            if _make_task(root, source, settings, flags):
                return open_task_directory(settings, root)
        if is_task(root):
            store = open_task_directory(settings, root)
            made_from = store.load("task.json")["source"]
            changed = made_from == source and _content_changed(store, source)
            if made_from == source and not new and not changed:
                return store
            if wanted_id:
                why = "its source has changed since" if changed else f"it was made from {made_from}"
                raise UsageError(
                    f"the task '{wanted_id}' already exists, and {why}; choose another --id, "
                    f"or continue it: pipeline resume {command_name(store)}"
                )
        elif wanted_id and not is_free:
            raise UsageError(f"{root} already exists, and is not a task; choose another --id")
        number += 1


def _look_at_source(source: str, settings: Settings, tell: Callable[[str], None]) -> None:
    if chosen := refuse_unusable(source, settings):
        tell(f"{relative_path(source)}: the paper is {chosen}")


def _is_free(root: str) -> bool:
    """Return whether a task may be made there: nothing, or an empty directory, as workflow programs make before a job."""
    if not os.path.lexists(root):
        return True
    return os.path.isdir(root) and not os.path.islink(root) and not os.listdir(root)


def safe_name(name: str) -> str:
    """Return a safe folder name of at most 60 ASCII characters."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name)[:_LONGEST_ID].strip("-._")
    reserved = plain.lower().split(".")[0] in _RESERVED  # Windows opens a device under these names
    return f"task-{plain}" if reserved else plain or "task"


def _content_changed(store: TaskStore, source: str) -> bool:
    """Return whether the source changed since the task was made. A missing one has not changed."""
    if not store.exists("input.json"):
        return False
    taken = store.load("input.json")
    for note in taken.get("notes", ()):
        if os.path.lexists(note["origin"]) and sha256(read_bytes(note["origin"])) != note["sha256"]:
            return True
    if taken["fetched"] or not os.path.lexists(source):
        return False
    try:
        if taken["kind"] != "tex" and not os.path.isdir(source):
            same = sha256(read_bytes(os.path.realpath(source))) == taken["sha256"]
            if same:
                return False  # the usual case, without a look at what kinds of source there are
        from phases.readers.intake import digest_of, source_on_disk  # imported here: TAB must import no phase

        now = source_on_disk(source, sys.maxsize, anyway=True)
        known = {note["sha256"] for note in taken.get("notes", ())}
        return digest_of(now) != str(taken["sha256"]) or not known.issuperset(map(sha256, now.notes.values()))
    except PipelineError:
        return False


def _make_task(root: str, source: str, settings: Settings, flags: Mapping[str, Any]) -> bool:
    """Make a task folder as one step: whole, or not at all. Returns False if another process was faster."""
    _make_tasks_dir(settings.tasks_dir)
    _sweep_unfinished(settings.tasks_dir)
    unfinished = os.path.join(settings.tasks_dir, f"{UNFINISHED}{get_native_id()}")
    try:
        os.mkdir(unfinished)
        store = open_task_directory(settings, unfinished)
        store.write(_first_documents(os.path.basename(root), source, _add_own_blacklist(source, settings), flags))
        os.mkdir(store.path("logs"))
        os.rename(unfinished, root)
        sync_directory(settings.tasks_dir)
    except OSError as error:
        rmtree(unfinished, ignore_errors=True)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise storage_error("make", root, error) from error
    # its run says when it begins: until then it may wait in a scheduler's queue for hours, or be refused there
    catalog, name = Catalog(settings.tasks_dir), os.path.basename(root)
    catalog.record(name, "paused", mode=settings.mode, source=source, reason=NOT_BEGUN)
    return True


def _add_own_blacklist(source: str, settings: Settings) -> Settings:
    """Add the list of addresses next to the paper, if there is one."""
    if not os.path.isdir(source):
        return settings
    from phases.readers.intake import find_blacklist  # imported here: TAB must import no phase
    from pipeline.base.http.blacklist import read_blacklist

    found = find_blacklist(source)
    return settings._replace(blacklist=join_blacklists(settings.blacklist, read_blacklist(found) if found else ""))


def _first_documents(task: str, source: str, settings: Settings, flags: Mapping[str, Any]) -> dict[str, Any]:
    first = {
        "version": 1,
        "id": task,
        "created": utc_timestamp(),
        "source": source,
        "settings": settings_to_store(settings._asdict()),
    }
    first = with_settings_to_keep(first, settings._asdict(), flags)
    return {"task.json": seal_task(first, config_directory()), "plan_requests.json": {"version": 1, "requests": []}}


def _sweep_unfinished(tasks_dir: str) -> None:
    """Remove what a killed process did not get to name."""
    for name in os.listdir(tasks_dir):
        if name.startswith(UNFINISHED) and not os.path.exists(f"/proc/{name.removeprefix(UNFINISHED)}"):
            rmtree(os.path.join(tasks_dir, name), ignore_errors=True)


def _make_tasks_dir(path: str) -> None:
    missing = []
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        if os.path.lexists(folder) and not os.path.isdir(folder):  # another run may have made it just now
            raise UsageError(f"--tasks-dir {path}: {folder} is not a directory")
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        make_directory(folder)


def name_source(source: str) -> tuple[str, str]:
    """Return a source as task.json keeps it, and a name for its task. Raises UsageError if it cannot be written down."""
    from phases.readers.origins import canonical_origin, name_of_origin  # imported here: TAB must import no phase

    try:
        source.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the name {source!r} is not UTF-8, and so cannot be written down; rename the file first"
        ) from error
    if source.startswith(TYPED):
        return source, " ".join(source.removeprefix(TYPED).split()[:6])
    origin = canonical_origin(source)
    return origin, name_of_origin(origin)


_MOST = 3
_LIKE_AN_ADDRESS = re.compile(r"(?:arxiv|https?|ftp|file):", re.IGNORECASE)


def refuse_unusable(source: str, settings: Settings, *, command: str = "run --fast") -> str:
    """Return the file of a directory that is its paper; empty for anything else.

    Raises UsageError for a path, in full, with nothing there, and for a directory without exactly one paper.
    """
    if not os.path.lexists(source):
        if _LIKE_AN_ADDRESS.match(relative_path(source)):
            raise UsageError(f"{relative_path(source)} is neither a file, a URL nor an arXiv id (like 2401.01234)")
        raise UsageError(
            f"{relative_path(source)} does not exist{_similar_names(source)}{_mention_task(source, settings)}"
        )
    if source.endswith(PACKED):
        raise UsageError(
            f"{relative_path(source)} is a packed task; first: pipeline unpack {quote(relative_path(source))}"
        )
    if not os.path.isdir(source):
        return ""
    from phases.readers.intake import source_on_disk
    from phases.readers.reading import UnclearDirectory  # imported here: as above

    try:
        return source_on_disk(source, sys.maxsize).chosen
    except UnclearDirectory as error:
        named = quote(os.path.normpath(os.path.join(relative_path(source), error.names[0])))
        has_batch = command != "read" and not error.is_deep
        every = f" (all of them: pipeline batch --fast {quote(relative_path(source))})" if has_batch else ""
        raise UsageError(f"{relative_path(source)} {error.detail}{every}: pipeline {command} {named}") from error
    except PipelineError:
        return ""  # phase 01 says what is wrong, and the task remembers it


def _similar_names(source: str) -> str:
    """Return similar file names, else the missing directory, or nothing."""
    from difflib import get_close_matches  # imported here: only a mistyped name needs it

    folder, name = os.path.split(source)
    try:
        names = {entry.casefold(): entry for entry in sorted(os.listdir(folder))}
    except OSError:
        return f", and there is no directory {relative_path(folder)}" if not os.path.isdir(folder) else ""
    found = [names[match] for match in get_close_matches(name.casefold(), list(names), n=_MOST, cutoff=0.7)]
    places = [quote(relative_path(os.path.join(folder, match))) for match in found]
    return f"; did you mean {' or '.join(places)}?" if places else "; check the name"


def _mention_task(source: str, settings: Settings) -> str:
    name = os.path.basename(source)
    root = os.path.abspath(os.path.join(settings.tasks_dir, name))
    return f" (to continue the task {name}: pipeline resume {name_in_commands(root)})" if is_task(root) else ""
