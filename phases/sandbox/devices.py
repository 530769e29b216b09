"""Host resources exposed to sandboxed commands: read-only data and Python, and graphics cards."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pipeline.base.errors import UsageError
from pipeline.base.http.addresses import Forbidden, printable_url, target_of

NONE, AUTO = "none", "auto"
DATA = "/data"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
_BETWEEN = re.compile(rf"{os.pathsep}(?={_NAME.pattern}=)")
IS_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PIN = re.compile(r"sha256=([0-9a-f]{64})")
_NUMBERS = re.compile(r"[0-9]{1,2}(,[0-9]{1,2}){0,15}")
_SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps", "kfd", "dri", "dxg")
"""The nodes that all cards of a kind need: NVIDIA's, AMD's, and those of Windows' subsystem."""
_MODELS = "/proc/driver/nvidia/gpus/*/information"


class DataFolder(NamedTuple):
    """A folder or file of the user's that commands may read, never write."""

    name: str
    path: str

    @property
    def inside(self) -> str:
        """Return its path for a command with its own view of the system."""
        return f"{DATA}/{self.name}"

    @property
    def variable(self) -> str:
        """Return the variable with its path, in every sandbox."""
        return variable_of(self.name)


class DataAddress(NamedTuple):
    """Address of a user's data set."""

    name: str
    address: str
    sha256: str
    """Required digest; empty for any."""


def variable_of(name: str) -> str:
    """Return the variable of a data set's path. Names that are spelled alike share one."""
    return f"DATA_{name.upper().replace('-', '_')}"


def split_data(setting: str) -> list[tuple[str, str]]:
    """Name and place of each `NAME=PATH` or `NAME=https://…`, as `--data` gives them one by one. Raises UsageError."""
    found: dict[str, tuple[str, str]] = {}
    for word in filter(None, _BETWEEN.split(setting)):
        name, equals, place = word.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError(f"--data takes NAME=PATH, a name of letters, digits, - and _, and not {word!r}")
        if found.setdefault(variable_of(name), (name, place)) != (name, place):
            raise UsageError(f"--data names {name} twice, or one that is spelled like it")
    return list(found.values())


def parse_data(setting: str) -> tuple[DataFolder, ...]:
    """Return the folders and files in the setting. Raises UsageError."""
    pairs = [(name, path) for name, path in split_data(setting) if not IS_ADDRESS.match(path)]
    for name, path in pairs:
        if not os.path.exists(path):
            raise UsageError(f"data {name} names {path}, and there is no such folder or file")
    return tuple(DataFolder(name, os.path.realpath(path)) for name, path in pairs)


def parse_data_addresses(setting: str) -> tuple[DataAddress, ...]:
    """Return the addresses in the setting; `#sha256=…` pins the content. Raises UsageError."""
    found = []
    for name, place in split_data(setting):
        if not IS_ADDRESS.match(place):
            continue
        address, _, pin = place.partition("#")
        if pin and not _PIN.fullmatch(pin):
            raise UsageError(f"--data {name}: after the # of an address comes sha256= and 64 hex digits, not {pin!r}")
        try:
            target_of(address, private=True)
        except Forbidden as error:
            raise UsageError(f"--data {name} names {printable_url(address)}, and {error}") from error
        found.append(DataAddress(name, address, pin.removeprefix("sha256=")))
    return tuple(found)


def why_not_one_data_set(word: str) -> str:
    """Return why a word of --data could not be stored with others, or an empty string."""
    _, _, place = word.partition("=")
    if _SCHEME.match(place) and not IS_ADDRESS.match(place):
        return (
            f"{word!r}: only addresses with https:// and http:// are fetched; download it yourself and give NAME=PATH"
        )
    if _BETWEEN.search(word) or (os.pathsep in place and not IS_ADDRESS.match(place)):
        return f"{word!r} holds a {os.pathsep!r}, which separates two of them"
    return ""


def check_python(setting: str) -> str:
    """Return the folder of the environment of `--python`, named by itself or by its program. Raises UsageError."""
    root = os.path.abspath(setting)
    if os.path.basename(os.path.dirname(root)) == "bin":
        root = os.path.dirname(os.path.dirname(root))
    if not os.path.isdir(os.path.join(root, "lib")) or root in ("/", "/usr", "/usr/local", sys.base_prefix):
        raise UsageError(
            f"--python names {setting}, which is not a Python environment: give the directory that holds bin/"
        )
    if not os.path.isdir(packages_in(root)):
        other = sorted(glob.glob(os.path.join(glob.escape(root), "lib", "python3*")))
        theirs = os.path.basename(other[0]).removeprefix("python") if other else "another version"
        ours = ".".join(map(str, sys.version_info[:2]))
        raise UsageError(
            f"--python names {setting}, which is of Python {theirs}, and this program runs on {ours}; install it with that "
            f"Python as well, or make an environment: python{ours} -m venv DIR"
        )
    return root


def packages_in(environment: str) -> str:
    """Return the directory of packages in an environment of this program's Python."""
    return os.path.join(environment, "lib", "python{}.{}".format(*sys.version_info), "site-packages")


def check_gpu(setting: str) -> str:
    """Return a valid setting. Raises UsageError."""
    if setting in (NONE, AUTO) or _NUMBERS.fullmatch(setting):
        return setting
    raise UsageError(f"--gpu takes none, auto, or numbers like 0,1, and not {setting!r}")


def find_devices(setting: str, directory: str = "/dev") -> tuple[str, ...]:
    """Return the device nodes of the selected graphics cards: none, all (auto), or NVIDIA's with these numbers."""
    if setting == NONE:
        return ()
    numbers = setting.split(",") if setting != AUTO else [""]
    cards = [path for number in numbers for path in _cards_of(directory, number)]
    shared = [path for name in _SHARED if os.path.exists(path := os.path.join(directory, name))]
    has_card = cards or (setting == AUTO and any(path.endswith(("kfd", "dxg")) for path in shared))
    return (*cards, *shared) if has_card else ()


def _cards_of(directory: str, number: str) -> list[str]:
    return sorted(glob.glob(os.path.join(glob.escape(directory), f"nvidia{number or '[0-9]*'}")))


def describe_cards(devices: Iterable[str]) -> str:
    """Describe the cards for the model and the user; empty if there is none."""
    devices = list(devices)
    models = []
    for path in sorted(glob.glob(_MODELS)) if devices else ():
        with open(path, encoding="utf-8", errors="replace") as file:
            models += [line.partition(":")[2].strip() for line in file if line.startswith("Model")]
    return ", ".join(models) or ", ".join(os.path.basename(path) for path in devices)


def variables_of(data: Iterable[DataFolder], gpu: str, *, mounted: bool) -> Mapping[str, str]:
    """Return the variables for data and cards. `mounted`: data is at /data."""
    told = {folder.variable: folder.inside if mounted else folder.path for folder in data}
    return {**told, **({"CUDA_VISIBLE_DEVICES": gpu} if _NUMBERS.fullmatch(gpu) else {})}
