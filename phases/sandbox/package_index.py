"""Package indexes: the user's settings for pip and uv in uv's form, and the files that uv must read."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from pipeline.base.http.proxy import DIRECT, SETTING

NETWORK_FILES = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"),
    *("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust"),
)
_WAYS = ("http_proxy", "https_proxy", "all_proxy")
_PROXIES = (*_WAYS, "no_proxy", "ssl_cert_file", "ssl_cert_dir", "requests_ca_bundle")
_UV = re.compile(
    r"UV_((DEFAULT_|EXTRA_)?INDEX\w*|FIND_LINKS|NO_INDEX|INSECURE_HOST|EXCLUDE_NEWER|HTTP_TIMEOUT|TORCH_BACKEND|SYSTEM_CERTS)"
)
"""Settings of uv's own that say where packages come from. Others would install something else, or to another place."""
_FLAGS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
"""pip's names of settings with words behind them, and uv's."""


class PackageIndex(NamedTuple):
    flags: tuple[str, ...]
    addresses: tuple[str, ...]
    """Addresses of the indexes, without names and passwords."""
    variables: Mapping[str, str]
    readable: tuple[str, ...]
    is_usual: bool
    """PyPI is asked and nothing else: no setting says where packages come from."""


def find_index(environment: Mapping[str, str]) -> PackageIndex:
    """Read the index from the user's environment: pip's and uv's settings, proxies, and the home directory."""
    settings = _pip_settings(environment)
    flags = [
        word for name, flag in _FLAGS.items() for value in settings.get(name, "").split() for word in (flag, value)
    ]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        flags.append("--no-index")
    # pip takes the best version of all indexes; uv by itself takes the first index that has the name.
    flags += ["--index-strategy", "unsafe-best-match"]
    variables = {
        name: value
        for name, value in environment.items()
        if _UV.fullmatch(name) or name.lower() in _PROXIES or name in ("HOME", "XDG_CONFIG_HOME")
    }
    if settings.get("cert"):
        variables["SSL_CERT_FILE"] = settings["cert"]
    if settings.get("proxy"):
        variables["ALL_PROXY"] = settings["proxy"]
    if own := environment.get(SETTING, "").strip():
        variables = {name: value for name, value in variables.items() if name.lower() not in _WAYS}
        variables |= {} if own == DIRECT else {"ALL_PROXY": own, "HTTPS_PROXY": own, "HTTP_PROXY": own}
    named = [value for name in ("index-url", "extra-index-url") for value in settings.get(name, "").split()]
    named += [value for name, value in variables.items() if "INDEX" in name and "://" in value]
    readable = _readable_paths(environment, [*settings.values(), *variables.values()])
    said = settings.keys() - {"cert", "proxy"} or any(name.startswith("UV_") for name in variables)
    is_usual = not said and not any(path.endswith("uv.toml") for path in readable)
    return PackageIndex(tuple(flags), tuple(map(_without_password, named)), variables, tuple(readable), is_usual)


def _without_password(address: str) -> str:
    return re.sub(r"(?<=://)[^/@\s]*@", "", address)


def _pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings by their long names: those of files, then those of the environment."""
    found: dict[str, str] = {}
    for path in _pip_files(environment):
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):
            continue  # pip would say what is wrong with it
        for section in ("global", "install"):
            found.update(dict(parser.items(section)) if parser.has_section(section) else {})
    told = {name: value for name, value in environment.items() if name.startswith("PIP_")}
    found.update({name[4:].lower().replace("_", "-"): value for name, value in told.items()})
    return {name: value for name, value in found.items() if name in (*_FLAGS, "no-index", "cert", "proxy")}


def _pip_files(environment: Mapping[str, str]) -> list[str]:
    if environment.get("PIP_CONFIG_FILE") == os.devnull:
        return []
    home, config = _home_of(environment)
    files = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", os.path.join(home, ".pip", "pip.conf")]
    files += [os.path.join(config, "pip", "pip.conf"), environment.get("PIP_CONFIG_FILE", "")]
    return [path for path in files if path and os.path.isfile(path)]


def _readable_paths(environment: Mapping[str, str], values: list[str]) -> list[str]:
    """Return the paths to read for the network, uv's settings, and the directories of settings."""
    home, config = _home_of(environment)
    words = [word for value in values for word in value.split() if value != home]
    indexes = [word.removeprefix("file://").rstrip("/") for word in words if word.startswith("file:///")]
    # The files of an index are next to it, and its pages link to them.
    named = [*words, *indexes, *(os.path.dirname(path) for path in indexes)]
    named += [os.path.join(config, "uv", "uv.toml"), "/etc/uv/uv.toml"]
    directories = [path for path in named if path.startswith("/") and path.strip("/")]
    return [path for path in dict.fromkeys((*NETWORK_FILES, *directories)) if _can_be_shown(path, home)]


def _home_of(environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the home directory, and that of settings in it."""
    home = environment.get("HOME", "/nonexistent")
    return home, environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")


def _can_be_shown(path: str, home: str) -> bool:
    """Return whether a path may be shown: a whole home directory is not, even if the environment names it."""
    return os.path.exists(path) and not f"{os.path.realpath(home)}/".startswith(f"{os.path.realpath(path)}/")
