"""Installs the packages that a plan names, for commands in the sandbox alone, in a directory outside the workspace."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from phases.sandbox.box import BUBBLEWRAP, OFF, Box, Limits
from phases.sandbox.launch import launch_command
from pipeline.base.errors import PipelineError, StorageError
from pipeline.base.files import make_directory, read_bytes, sha256, storage_error, write_durable
from pipeline.base.logs import logger

SECONDS = 1800
MOST_PACKAGES = 100
_LIMITS = Limits(disk=40 * 2**30, file=8 * 2**30, processes=64)
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_BOUND = r"(?:~=|==|!=|<=|>=|<|>) {0,4}[A-Za-z0-9][A-Za-z0-9.*+!_-]{0,60}"
_REQUIREMENT = re.compile(
    rf"{_NAME}(?: ?\[ ?{_NAME}(?: ?, ?{_NAME}){{0,9}} ?\])?(?: {{0,4}}{_BOUND}(?: ?, ?{_BOUND}){{0,9}})?",
    re.ASCII,
)
_DISTRIBUTION = re.compile(r"([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9.+!_]*)\.dist-info", re.ASCII)
NETWORK_FILES = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"),
    *("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust"),
)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir", "requests_ca_bundle")
_ELSEWHERE = re.compile(
    r"PIP_(TARGET|PREFIX|ROOT.*|USER|REQUIREMENT|EDITABLE|NO_BINARY|PYTHON|LOG|CACHE_DIR|SRC|REPORT)"
)
"""Settings of pip that would install something else, or to another place."""


class InstallResult(NamedTuple):
    ok: bool
    packages: tuple[Mapping[str, str], ...]
    """name and version each, also of those that were installed because another needs them."""
    output: str
    """What pip said; empty when all was there already."""


def environment_in(directory: str) -> str:
    """The virtual environment that an installation into `directory` makes: what Box.python is then."""
    return os.path.join(directory, "environment", "venv")


def why_not_installable(text: str) -> str | None:
    """Why a line of a plan is not a package that will be installed, or None: a name, extras, bounds on the version."""
    if _REQUIREMENT.fullmatch(text):
        return None
    return f"{text[:100]!r} is not installed: give a name with bounds on its version, like numpy>=1.26,<3"


def install_wheels(
    packages: Sequence[str], directory: str, *, kind: str, environment: Mapping[str, str], seconds: float = SECONDS
) -> InstallResult:
    """Makes an environment with these packages in it; one that is there already is left as it is.

    Nothing is built, so nothing of a package runs; pip may write nowhere else. `environment` is the user's: pip's own
    settings in it, those of proxies and where the home directory is are used, the rest is not. Raises PipelineError.
    """
    # Whether packages may be installed at all stands under the seal of task.json and was asked before (decision 115).
    _refuse_what_is_unsafe(packages, kind)
    asked = sorted({" ".join(package.split()) for package in packages})
    digest = sha256(json.dumps([asked, sys.version_info[:3], sys.base_prefix]).encode())
    record = os.path.join(directory, "installed.json")
    if (known := _read_record(record, digest)) is not None and os.path.exists(
        f"{environment_in(directory)}/bin/python"
    ):
        logger.debug("{} packages are there already: what is asked for did not change", len(known))
        return InstallResult(True, known, "")
    home = os.path.dirname(environment_in(directory))
    _remove_leftovers(directory, home, record)
    box = Box(home, kind, readable=tuple(_readable_paths(environment)), limits=_LIMITS)
    variables = {**_pip_variables(environment), "TMPDIR": os.path.join(home, "tmp")}
    finished = launch_command(box, _install_script(asked), seconds, variables=variables, network=kind == BUBBLEWRAP)
    shutil.rmtree(os.path.join(home, "tmp"), ignore_errors=True)
    logger.debug("pip in {} for {} packages: exit code {}", kind, len(asked), finished.exit_code)
    if finished.exit_code != 0:
        return InstallResult(False, (), finished.output)
    found = _list_distributions(environment_in(directory))
    row = {"version": 1, "asked": asked, "asked_sha256": digest, "packages": found}
    write_durable(record, json.dumps(row, indent=1).encode())
    return InstallResult(True, found, finished.output)


def _refuse_what_is_unsafe(packages: Sequence[str], kind: str) -> None:
    if kind not in (BUBBLEWRAP, OFF):
        raise PipelineError(
            f"packages cannot be installed: pip needs the network, and the sandbox here ({kind}) cannot open that "
            "for pip alone; apt-get install bubblewrap, or run without --install"
        )
    if len(packages) > MOST_PACKAGES:
        raise PipelineError(f"the plan names {len(packages)} packages, and at most {MOST_PACKAGES} are installed")
    for package in packages:
        if fault := why_not_installable(package):
            raise PipelineError(f"initial_plan.txt at environment_setup.packages: {fault}")


def _install_script(asked: Sequence[str]) -> str:
    # Wheels alone: to build a source distribution is to run its code, with network.
    pip = "venv/bin/python -I -m pip install --only-binary :all: --no-input --no-cache-dir --no-compile --no-color"
    line = f"{pip} --disable-pip-version-check --progress-bar off -- {' '.join(map(shlex.quote, asked))}"
    # Not `python`: a name of the sandbox alone would lead nowhere outside it.
    python = shlex.quote(os.path.realpath(sys.executable))
    return f"mkdir tmp && {python} -I -m venv venv{f' && {line}' if asked else ''}"


def _read_record(record: str, digest: str) -> tuple[Mapping[str, str], ...] | None:
    try:
        row = json.loads(read_bytes(record, limit=2**20))
        return tuple(row["packages"]) if row["asked_sha256"] == digest else None
    except (StorageError, ValueError, KeyError, TypeError):
        return None


def _remove_leftovers(directory: str, home: str, record: str) -> None:
    """Takes away what an installation that was cut off left, its record first."""
    make_directory(directory)
    try:
        if os.path.lexists(record):
            os.unlink(record)
        if os.path.lexists(home):
            shutil.rmtree(home)
    except OSError as error:
        raise storage_error("empty", directory, error) from error
    make_directory(home)


def _pip_variables(environment: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in environment if name.startswith("PIP_") and not _ELSEWHERE.fullmatch(name)]
    names += [name for name in environment if name.lower() in _PROXIES or name in ("HOME", "XDG_CONFIG_HOME")]
    return {name: environment[name] for name in names}


def _readable_paths(environment: Mapping[str, str]) -> list[str]:
    """The files that pip must be able to read: how to reach the network, its settings, the directories that these name."""
    home = environment.get("HOME", "/nonexistent")
    files = ["/etc/pip.conf", "/etc/xdg/pip/pip.conf", os.path.join(home, ".pip", "pip.conf")]
    files.append(os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "pip", "pip.conf"))
    files += [environment["PIP_CONFIG_FILE"]] if environment.get("PIP_CONFIG_FILE") else []
    settings = [path for path in files if os.path.isfile(path)]
    values = [value for path in settings for value in _list_configured_values(path)]
    values += _pip_variables(environment).values()
    words = [word for value in values for word in value.split()]
    indexes = [word.removeprefix("file://").rstrip("/") for word in words if word.startswith("file:///")]
    # The files of an index lie beside it, and its pages lead there.
    named = [*words, *indexes, *(os.path.dirname(path) for path in indexes)]
    directories = [path for path in named if path.startswith("/") and path.strip("/")]
    return [path for path in dict.fromkeys((*NETWORK_FILES, *settings, *directories)) if _can_be_shown(path, home)]


def _can_be_shown(path: str, home: str) -> bool:
    """A whole home directory is not shown, though it stands in the environment."""
    return os.path.exists(path) and not f"{os.path.realpath(home)}/".startswith(f"{os.path.realpath(path)}/")


def _list_configured_values(path: str) -> Iterable[str]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError):
        return ()  # pip says what is wrong with it
    return [value for section in parser.sections() for _, value in parser.items(section) if value]


def _list_distributions(venv: str) -> tuple[Mapping[str, str], ...]:
    """Name and version of what is installed, from the names of its directories alone."""
    library = os.path.join(venv, "lib")
    directories = [os.path.join(library, name, "site-packages") for name in os.listdir(library)]
    names = [name for directory in directories if os.path.isdir(directory) for name in os.listdir(directory)]
    found = [match.groups() for name in names if (match := _DISTRIBUTION.fullmatch(name))]
    rows = [{"name": name.replace("_", "-").lower(), "version": version} for name, version in sorted(found)]
    return tuple(row for row in rows if row["name"] not in ("pip", "setuptools"))
