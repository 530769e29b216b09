"""Install the packages that a plan names, with the user's permission, for commands in the sandbox only."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.sandbox.commands import kind_of_sandbox
from phases.sandbox.devices import NONE as GPU_NONE
from phases.sandbox.installs import (
    find_environment,
    find_lock,
    index_addresses,
    install_wheels,
    list_distributions,
    list_installed,
    lock_wheels,
    read_requirement,
    why_not_installable,
)
from phases.sandbox.locks import LOCKED, NO_INDEX, NO_SOLUTION, describe_cuda, describe_packages
from phases.workspace.task_paths import TaskPaths, make_shared_directory, task_paths
from pipeline.base.errors import PhaseError, PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.http.addresses import Forbidden, target_of
from pipeline.base.http.blacklist import Blacklisted, refuse_blacklisted
from pipeline.engine.phase import Context

CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
"""The index of builds for processors that uv knows of by itself."""
_INPUT = "input.json"
_MOST_WORDS = 400
_UNSOLVED = "error: No solution found when resolving dependencies cause: "
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_ASK = """
import importlib.metadata, sys
for name in sys.argv[1:]:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        print(name)
"""
_ASK_SECONDS = 30
ALLOW = "--install allowed"
ALLOWED, ASK = "allowed", "ask"
CANNOT = "the plan's packages cannot be installed"
_INSTEAD = "change environment_setup in the plan, or go on without them: --install refused"
_LOCK_SECONDS = 120
_NOT_ASKED = "packages are looked up once they may be installed"
_YEARS = 2
"""So long after a paper may a package have been released that its code was written with."""


class CannotInstall(PhaseError):
    """The packages cannot be installed. `said`: why, in the resolver's own words."""

    def __init__(self, said: str) -> None:
        super().__init__(f"{CANNOT}: {said}; {_INSTEAD}")
        self.said = said


class PackageRules(NamedTuple):
    """Source and target of the packages of one task."""

    directory: str
    """The task's, for its lock."""
    store: str
    """The environments that tasks share; empty: the task has its own."""
    sandbox: str
    environment: Mapping[str, str]
    """The user's."""
    until: str = ""
    """Latest release day of packages (2024-05-28); empty: today."""
    blacklist: str = ""
    """Addresses that are not asked."""
    cpu: bool = False
    """True if builds for processors are enough because commands see no graphics card."""


class Packages(NamedTuple):
    """Packages that commands can import."""

    names: tuple[str, ...] = ()
    """As the plan names them."""
    installed: tuple[Mapping[str, str], ...] = ()
    """name and version each, those among them that others need."""
    python: str | None = None
    """The environment that they are in."""
    own: str = ""
    """The user's own environment, where they are in that."""


def own_packages(wanted: Sequence[str], own: str, python: str) -> Packages:
    """Return the packages of the user's own environment; `python` lends them to commands."""
    missing = missing_packages(wanted, python)
    names = tuple(line for line in wanted if not {read_requirement(line), *_NAME.findall(line)[:1]} & set(missing))
    return Packages(names, list_distributions(own), python, own)


def package_store(cache_directory: str) -> str:
    """Return the directory of the environments that tasks share; empty where it cannot be made: then a task has its own."""
    return make_shared_directory(cache_directory, "environments")


def package_rules(ctx: Context) -> PackageRules:
    """Return the rules for the task of a phase."""
    path, arxiv = os.path.join(ctx.paths.root, _INPUT), None
    if os.path.isfile(path):
        arxiv = (ctx.contracts.parse(_INPUT, read_bytes(path), writer="phase 01")["fetched"] or {}).get("arxiv")
    return make_package_rules(ctx.paths.root, ctx.limits, ctx.environment, ctx.cache_directory, arxiv)


def make_package_rules(
    root: str, settings: Mapping[str, Any], environment: Mapping[str, str], cache_directory: str, arxiv: str | None
) -> PackageRules:
    """Return the rules of the task at `root`. `arxiv`: the paper's number there, as input.json has it."""
    blacklist = str(settings.get("blacklist", ""))
    return PackageRules(
        task_paths(root).packages,
        package_store(cache_directory),
        kind_of_sandbox(str(settings["sandbox"])),
        environment,
        _last_day(settings.get("packages_of"), arxiv),
        blacklist,
        str(settings.get("gpu") or GPU_NONE) == GPU_NONE and not _why_blacklisted(CPU_BUILDS, blacklist),
    )


def _last_day(packages_of: object, arxiv: object) -> str:
    """Return the date after which no package may be released; empty if there is none."""
    month = re.match(r"(\d\d)(0[1-9]|1[0-2])\.", str(arxiv or ""))
    return f"{2000 + int(month[1]) + _YEARS}-{month[2]}-28" if month and packages_of == "paper" else ""


def lock_packages(wanted: Sequence[str], rules: PackageRules) -> dict[str, Any]:
    """Resolve the plan's packages; return the value of package_lock.json. Nothing is installed."""
    if unclear := [why for line in wanted if (why := why_not_installable(line))]:
        return _describe(wanted, rules, NO_SOLUTION, "; ".join(unclear))
    if why := _why_forbidden(rules):
        return _describe(wanted, rules, NO_SOLUTION, why)
    try:
        result = lock_wheels(wanted, rules.directory, seconds=_LOCK_SECONDS, **_options_of(rules))
    except PipelineError as error:
        return _describe(wanted, rules, NO_INDEX, str(error))
    return _describe(wanted, rules, result.outcome, _words_of(result.output), result.addresses)


def _options_of(rules: PackageRules) -> dict[str, Any]:
    return {
        "store": rules.store,
        "kind": rules.sandbox,
        "environment": rules.environment,
        "until": rules.until,
        "cpu": rules.cpu,
    }


def _why_forbidden(rules: PackageRules) -> str:
    """Return the index of the user's settings that is blacklisted; empty if none is.

    A package with an address of its own is never installed, so nothing else can be fetched.
    """
    for address in index_addresses(rules.environment):
        if why := _why_blacklisted(address, rules.blacklist):
            return f"{address} is not asked for packages: {why}"
    return ""


def _why_blacklisted(address: str, blacklist: str) -> str:
    try:
        refuse_blacklisted(target_of(address, private=True), blacklist)
    except Blacklisted as error:
        return str(error)
    except Forbidden:  # an index that is a directory
        return ""
    return ""


def read_package_lock(wanted: Sequence[str], rules: PackageRules) -> dict[str, Any]:
    """Return the lock of an earlier resolution without asking an index."""
    return _describe(wanted, rules, LOCKED, _NOT_ASKED)


def _describe(
    wanted: Sequence[str], rules: PackageRules, outcome: str, said: str, index: Sequence[str] = ()
) -> dict[str, Any]:
    read = {line: read_requirement(line) for line in wanted}
    asked = sorted({text for text in read.values() if text})
    resolved = find_lock(asked, rules.directory, rules.until, cpu=rules.cpu) if asked else ()
    is_locked = outcome == LOCKED and None not in read.values() and resolved is not None
    return {
        "version": 1,
        "outcome": LOCKED if is_locked else "not asked" if outcome == LOCKED else outcome,
        "asked": asked,
        "repaired": [
            {"line": line, "taken_as": text} for line, text in read.items() if text not in (None, line.strip())
        ],
        "resolved": [{**row._asdict(), "sha256": list(row.sha256)} for row in resolved or ()] if is_locked else [],
        "unresolved": "" if is_locked else said,
        "python": platform.python_version(),
        "platform": sysconfig.get_platform(),
        "index": list(index),
        "until": rules.until,
    }


def describe_lock(lock: Mapping[str, Any], gpu: str) -> list[str]:
    """Return the packages of a plan for the reviewer; empty if it names none. `gpu`: the user's setting."""
    lines = [
        f"{row['line']!r} is " + (f"taken as {row['taken_as']}" if row["taken_as"] else "nothing to install")
        for row in lock["repaired"]
    ]
    if lock["resolved"]:
        lines.append(f"packages of the plan: {describe_packages(lock['resolved'], lock['asked'])}")
        if gpu == GPU_NONE and (unused := describe_cuda(lock["resolved"])):
            lines.append(f"builds for graphics cards, which --gpu none does not use: {unused}; no others were found")
    elif lock["outcome"] == NO_SOLUTION:
        lines.append(f"{CANNOT}: {lock['unresolved']}")
    elif lock["outcome"] == NO_INDEX:
        lines.append(f"the plan's packages could not be looked up: {lock['unresolved']}")
    return lines


def refuse_unsolvable(lock: Mapping[str, Any]) -> None:
    """Raise CannotInstall if the packages may be installed and cannot be, before anything is paid for."""
    if lock["outcome"] == NO_SOLUTION:
        raise CannotInstall(lock["unresolved"])


def _words_of(output: str) -> str:
    """Return uv's message without its prefix."""
    return " ".join(output.split()).removeprefix(_UNSOLVED)[:_MOST_WORDS]


def install_packages(wanted: Sequence[str], rules: PackageRules) -> Packages:
    """Install the plan's packages, once for all tasks with the same packages. Raises CannotInstall."""
    if why := _why_forbidden(rules):
        raise CannotInstall(why)
    done = install_wheels(wanted, rules.directory, **_options_of(rules))
    if not done.ok:
        raise CannotInstall(_words_of(done.output))
    return Packages(tuple(wanted), done.packages, find_environment(rules.directory, rules.store))


def find_or_install(rules: PackageRules) -> str | None:
    """Return the environment of what was installed for a task, made again where its store is gone; None: nothing was.

    Raises CannotInstall.
    """
    if found := find_environment(rules.directory, rules.store):
        return found
    asked = list_installed(rules.directory)
    return install_packages(asked, rules).python if asked else None


def why_not_a_package(line: str) -> str:
    """Return why a line names no installable package; empty if it does."""
    if read_requirement(line) == "":
        return f"{line!r} is nothing to install: it is a part of Python, or no package of Python's"
    return why_not_installable(line) or ""


def find_python(places: TaskPaths, settings: Mapping[str, Any], store: str) -> str | None:
    """Return the environment that the commands of a task ran with: the user's own, or that of its packages; None if neither."""
    if settings.get("python") and os.path.isdir(places.own_python):
        return places.own_python
    return find_environment(places.packages, store) if settings["install"] == ALLOWED else None


def missing_packages(wanted: Sequence[str], environment: str | None = None) -> tuple[str, ...]:
    """Return the plan's packages that commands in the sandbox cannot import, in the plan's order.

    `environment` is a virtual environment with installed packages. An invalid package name counts as missing. The interpreter
    of the sandbox is asked, without this program's and the user's own packages.
    """
    read = {line: line.strip() if (text := read_requirement(line)) is None else text for line in wanted}
    read = {line: text for line, text in read.items() if text}
    names = {line: match[0] if (match := _NAME.match(text)) else text for line, text in read.items()}
    if not names:
        return ()
    python = os.path.join(environment, "bin", "python") if environment else os.path.realpath(sys.executable)
    asked = subprocess.run(
        [python, "-I", "-c", _ASK, *names.values()], capture_output=True, text=True, timeout=_ASK_SECONDS, check=False
    )
    absent = set(asked.stdout.split())
    return tuple(dict.fromkeys(name for name in names.values() if name in absent or " " in name))


def describe_missing(missing: Sequence[str]) -> str:
    names = ", ".join(missing[:-1]) + f" and {missing[-1]}" if len(missing) > 1 else missing[0]
    return f"{names} {'are' if len(missing) > 1 else 'is'} not installed here"
