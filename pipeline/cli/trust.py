"""Decide whether this user wrote task.json, and which settings apply if not.

A task directory is untrusted. What its task.json names would be copied into it and shown to a model, money would be spent by
its limits, and code would run outside of the sandbox. So the whole of it is sealed with a key in the user's own folder.
Without that seal nothing outside of the directory is read, and the stricter of its settings and the user's apply.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pipeline.base.credentials import credential_store
from pipeline.base.errors import UsageError
from pipeline.cli.assembly import command_name, config_directory, effective_settings
from pipeline.cli.user_tests import check_held_out, check_user_tests
from pipeline.engine.catalog import NAME as CATALOG
from pipeline.engine.catalog import Catalog
from pipeline.engine.phase import OFF, TYPED
from pipeline.engine.seal import has_key, is_sealed
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore

_NAMED = ("references", "mirror", "lookup", "data", "python")
_OPENED = (("sandbox", "off"), ("install", "allowed"), ("allow_data", "yes"))
_REVIEWS = ("auto", "", "ask", "file")
"""Reviewers, from none to one that is surely asked."""


class SettingsInForce(NamedTuple):
    """Settings of a task's run."""

    values: dict[str, Any]
    trusted: bool
    """True if this user wrote task.json, so that it may be sealed with the settings in force."""
    told: str
    """Notes for the user; empty for none."""


def settings_in_force(store: TaskStore, settings: Settings, flags: Mapping[str, Any]) -> SettingsInForce:
    """Return task.json's settings if this user wrote them; else the stricter of those and the user's."""
    task = store.load("task.json")
    said = effective_settings(settings, task, dict(flags))
    # what was forbidden once stays so: a flag adds to it
    said["blacklist"] = join_blacklists(str(task["settings"].get("blacklist", "")), settings.blacklist)
    # sealed by its content and not by its place: a task directory may be moved and copied (decision 125)
    if is_sealed(task, config_directory()):
        return SettingsInForce(said, True, "")
    if not has_key(config_directory()) and _is_in_own_list(store, settings, task):
        return SettingsInForce(said, True, "")
    values = {**_stricter_settings(settings._asdict(), task["settings"], flags), "source": task["source"]}
    if leads_out(store.root, task["source"]):
        # decision 5: the task has a copy, so it can go on without the file that it names
        values["source"] = _own_copy(store)
    told = (
        f"task {store.id} was not started here, or its task.json was changed: nothing outside of it is read, and the stricter "
        f"of its settings and yours hold; to see what it says, and to allow that: pipeline adopt {command_name(store)}"
    )
    return SettingsInForce(values, False, told if values != said else "")


def refuse_outside(store: TaskStore, allowed: SettingsInForce) -> None:
    """Raise UsageError where a task that is not trusted would read a source outside of its directory, or has none in it."""
    source = allowed.values["source"]
    inside = source.startswith(TYPED) or (os.path.lexists(source) and not leads_out(store.root, source))
    if allowed.trusted or inside:
        return
    raise UsageError(
        f"task {store.id} was not started here, and no copy of its source is in {store.path('source')}; to read "
        f"{store.load('task.json')['source']}, allow that with: pipeline adopt {command_name(store)}"
    )


def leads_out(root: str, source: str) -> bool:
    """Return whether a source is anything but typed words or a file of the task directory, links followed."""
    real, folder = os.path.realpath(source), os.path.realpath(root)
    return not source.startswith(TYPED) and not real.startswith(folder + os.sep)


def refuse_own_directories(values: Mapping[str, Any], code_base: str) -> None:
    """Raise UsageError where a folder of the user's is the one that the task keeps what it fetches in, or holds that one."""
    if not (values["references"] or values["mirror"]):
        return
    from phases.references.fetch.model import FetchRules  # imported here: TAB must import no phase
    from phases.references.fetch.user_directories import refuse_overlap

    refuse_overlap(FetchRules(mirror=values["mirror"], folders=values["references"]), code_base)


def refuse_idle_attempts(values: Mapping[str, Any], flags: Mapping[str, Any], command: str = "") -> None:
    """Raise UsageError if attempts at the paper's tables are requested without the tables.

    `command`: what stands before the flags in a command that would work, with a blank behind it.
    """
    wanted = flags.get("reproduce_attempts")
    if wanted and int(wanted) and values["reproduce"] == OFF:
        raise UsageError(
            "--reproduce-attempts sends what differs from the paper's tables back to the agent, and this task does not compare "
            f"them; ask for both: {command}--reproduce --reproduce-attempts {wanted}"
        )


def with_absolute_paths(settings: Settings) -> Settings:
    """Return the settings with absolute paths, for a resume from elsewhere. Raises UsageError for a missing path."""
    return settings._replace(
        references=_check_directory("references", settings.references),
        mirror=_check_directory("mirror", settings.mirror),
        lookup=_check_lookup(settings.lookup),
        sandbox=_check_sandbox(settings.sandbox),
        gpu=_check_gpu(settings.gpu),
        data=_check_data(settings.data),
        python=_check_python(settings.python),
        programs=_check_programs(settings.programs),
        notes=_check_notes(settings.notes),
        tests=check_user_tests(settings.tests),
        held_out=check_held_out(settings.held_out),
    )


def _stricter_settings(own: Mapping[str, Any], theirs: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's settings with the task's stricter ones. A flag that is given now counts as the user's."""
    values = dict(own)
    for name, choose in _STRICTER.items():
        if flags.get(name) is None:
            values[name] = choose(own[name], theirs.get(name, own[name]))
    return values


def _lower_limit(own: float, theirs: float) -> float:
    """Return the lower of two limits; 0 means no limit."""
    return min(own, theirs) if own and theirs else own or theirs


def _more_asked(own: str, theirs: str) -> str:
    asked = own in ("ask", "file")  # which of the two is for the user to say
    return own if asked else max(own, theirs, key=_REVIEWS.index)


def join_blacklists(*lists: str) -> str:
    """Return all lines of several lists of addresses, each once."""
    return "\n".join(dict.fromkeys(line for one in lists for line in one.split()))


_STRICTER: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("max_usd", "max_tokens", "max_turns", "max_minutes"), _lower_limit),
    **dict.fromkeys(("max_acceptance_continues", "command_seconds", "command_memory_gb", "job_seconds"), min),
    "mode": lambda own, theirs: "fast" if "fast" in (own, theirs) else own,
    "review": _more_asked,
    "sandbox": lambda own, theirs: "required" if own == "off" else own,
    "install": lambda own, theirs: "refused",
    "gpu": lambda own, theirs: "none",
    "allow_data": lambda own, theirs: "no",
    "allow_own_code": lambda own, theirs: "no",
    "blacklist": join_blacklists,
}
"""Merge functions by setting. Other settings are the user's alone: models, supervision, folders, services."""


def _own_copy(store: TaskStore) -> str:
    """Return the task's copy of the source: its one file, or the folder of its many."""
    folder = store.path("source")
    names = os.listdir(folder) if os.path.isdir(folder) and not os.path.islink(folder) else []
    return os.path.join(folder, names[0]) if len(names) == 1 else folder


def _is_in_own_list(store: TaskStore, settings: Settings, task: Mapping[str, Any]) -> bool:
    """Return whether a task stands in the user's own list and opens nothing: all that is known where no key can be kept."""
    said, folder = task["settings"], os.path.abspath(settings.tasks_dir)
    if any(said.get(name) for name in _NAMED) or any(said.get(name) == value for name, value in _OPENED):
        return False
    paths = (folder, os.path.join(folder, CATALOG), store.root, store.path("task.json"))
    if said.get("gpu", "none") != "none" or os.path.dirname(store.root) != folder or not all(map(_is_own, paths)):
        return False
    entry = Catalog(folder).read().entries.get(store.id)
    return entry is not None and entry.source == task["source"]


def _is_own(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode) and not status.st_mode & stat.S_IWOTH


def _check_directory(name: str, path: str) -> str:
    if path and not os.path.isdir(path):
        is_file = os.path.lexists(path)
        why = "that is not a directory; name the one that it is in" if is_file else "there is no such directory"
        raise UsageError(f"--{name} names {path}, and {why}")
    if path and name == "references":
        from phases.references.fetch.user_directories import refuse_empty  # imported here: as above

        refuse_empty(path)
    return os.path.abspath(path) if path else ""


def _check_gpu(setting: str) -> str:
    if setting == Settings().gpu:
        return setting
    from phases.sandbox.devices import check_gpu  # imported here: as above

    return check_gpu(setting)


def _check_data(setting: str) -> str:
    """Return the folders with absolute paths, for a resume from elsewhere."""
    if not setting:
        return ""
    from phases.sandbox.devices import parse_data, parse_data_addresses, split_data  # imported here: as above

    folders = {folder.name: folder for folder in parse_data(setting)}
    parse_data_addresses(setting)  # raises for what is none
    for folder in folders.values():
        if store := credential_store(folder.path, os.path.expanduser("~")):
            raise UsageError(
                f"--data {folder.name} names {folder.path}, where {store} is, and a model sees what is printed of it; name the "
                "one folder that is needed"
            )
    words = [(name, folders[name].path if name in folders else place) for name, place in split_data(setting)]
    return os.pathsep.join(f"{name}={place}" for name, place in words)


def _check_sandbox(setting: str) -> str:
    if setting in ("required", "off"):
        return setting
    from phases.sandbox.probe import probe_kind  # imported here: as above

    found = probe_kind(setting)
    if not found.usable:
        raise UsageError(
            f"--sandbox {setting} cannot be used on this machine: {found.detail}; `pipeline doctor` says which can"
        )
    return setting


def _check_python(setting: str) -> str:
    if not setting:
        return ""
    from phases.sandbox.devices import check_python  # imported here: as above

    return check_python(setting)


def _check_programs(setting: str) -> str:
    paths = [os.path.abspath(os.path.expanduser(path)) for path in filter(None, setting.split(os.pathsep))]
    return os.pathsep.join(map(_check_program_directory, paths))


def _check_program_directory(path: str) -> str:
    """Return the directory to show: a compiler finds its libraries beside its `bin`."""
    if not os.path.isdir(path):
        raise UsageError(f"--programs names {path}, and there is no such directory")
    if any(os.path.lexists(os.path.join(path, name)) for name in ("rustup", "bin/rustup")):
        raise UsageError(
            f"--programs names {path}, where rustup's stand-ins for a toolchain are; name the toolchain itself: "
            '--programs "$(rustc --print sysroot)"'
        )
    home, above = os.path.expanduser("~"), os.path.dirname(path)
    if (
        os.path.basename(path) == "bin"
        and os.path.isdir(os.path.join(above, "lib"))
        and not credential_store(above, home)
    ):
        return above
    if store := credential_store(path, home):
        raise UsageError(
            f"--programs names {path}, where {store} is, and commands of a model could read it; name the directory of the "
            "programs alone"
        )
    return path


def _check_notes(setting: str) -> str:
    if not setting:
        return ""
    from phases.readers.intake import read_note  # imported here: as above

    paths = [os.path.abspath(path) for path in setting.split(os.pathsep)]
    for path in paths:
        read_note(path)
    return os.pathsep.join(paths)


def _check_lookup(setting: str) -> str:
    if not setting:
        return ""
    from phases.references.lookup.services import open_lookups  # imported here: as above

    open_lookups(setting, cache="")  # nothing is asked; only whether it could be
    return setting
