"""Locks of a plan's packages: names, versions and hashes of their files, kept with the task."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes, sha256, write_durable

MOST_LOCK = 2**24
CPU_BUILD = "+cpu"
"""The label of a version that was built for processors alone."""
LOCKED, NO_SOLUTION, NO_INDEX = "locked", "no solution", "no index"
"""Results of resolving: a lock; no compatible packages in the index; the index could not be asked."""
_CUDA_BUILD = re.compile(r"\+(?:cu|rocm)[0-9]")
_CUDA_LIBRARY = re.compile(r"(?:nvidia|cuda)-")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?", re.ASCII)
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,98}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


class LockedPackage(NamedTuple):
    """One package of a lock."""

    name: str
    version: str
    sha256: tuple[str, ...]
    """Digest of each possible file."""
    bytes: int | None = None
    """Size of the largest of these files; None if the index does not state it."""


class LockResult(NamedTuple):
    """Resolution of packages."""

    outcome: str
    """locked, no solution or no index."""
    packages: tuple[LockedPackage, ...]
    output: str
    """Output of uv; empty with a lock."""
    addresses: tuple[str, ...] = ()
    """Addresses of the indexes, without credentials; none: uv's own default."""


def parse_pylock(data: bytes) -> tuple[LockedPackage, ...]:
    """Parse a pylock.toml (the standard's lock file, as uv writes it). Raises ValueError for anything else."""
    found = []
    for row in tomllib.loads(data.decode("utf-8")).get("packages", []):
        wheels = row.get("wheels", [])
        sizes = [size for wheel in wheels if (size := wheel.get("size") or _size_on_disk(str(wheel.get("url", ""))))]
        hashes = [wheel["hashes"]["sha256"] for wheel in wheels if "sha256" in wheel.get("hashes", {})]
        found.append(_check_row(row["name"], row["version"], hashes, max(sizes, default=None)))
    return tuple(found)


def render_requirements(packages: Iterable[LockedPackage]) -> bytes:
    """Render the lock as requirements with hashes, which every installer of Python takes."""
    rows = (
        " \\\n    ".join([f"{row.name}=={row.version}", *(f"--hash=sha256:{digest}" for digest in row.sha256)])
        for row in packages
    )
    return "".join(f"{row}\n" for row in rows).encode()


def exclude_cuda(packages: Iterable[LockedPackage]) -> tuple[str, ...]:
    """Return constraints that the builds for graphics cards among these packages do not meet; empty where there are none."""
    labelled = [
        f"{row.name}=={row.version.partition('+')[0]}{CPU_BUILD}" for row in packages if _CUDA_BUILD.search(row.version)
    ]
    return (*labelled, *(f"{row.name}<0" for row in packages if _CUDA_LIBRARY.match(row.name)))


def list_cpu_builds(packages: Iterable[LockedPackage]) -> tuple[str, ...]:
    """Return the constraints that ask for the builds for processors among these packages."""
    return tuple(f"{row.name}=={row.version}" for row in packages if row.version.endswith(CPU_BUILD))


def describe_cuda(packages: Iterable[Mapping[str, Any]]) -> str:
    """Return what of a download serves graphics cards alone, where that is known; empty for nothing."""
    rows = [row for row in packages if _CUDA_LIBRARY.match(row["name"]) or _CUDA_BUILD.search(row["version"])]
    total = sum(row["bytes"] or 0 for row in rows)
    names = f"{rows[0]['name']} and {len(rows) - 1} more" if len(rows) > 1 else "".join(row["name"] for row in rows)
    return f"{names}{f' ({_size(total)})' if total else ''}"


def write_lock(directory: str, of: str, packages: Sequence[LockedPackage]) -> None:
    """Keep a lock with the task. `of`: the digest of what was asked for, and where. Raises StorageError."""
    rows = {"version": 1, "of": of, "packages": [row._asdict() for row in packages]}
    write_durable(_path_of(directory, of), (json.dumps(rows, indent=1) + "\n").encode())


def read_lock(directory: str, of: str) -> tuple[LockedPackage, ...] | None:
    """Return the lock for exactly this request, from this machine or another.

    A task directory is untrusted: an invalid name, version or hash makes the lock invalid.
    """
    try:
        rows = json.loads(read_bytes(_path_of(directory, of), limit=MOST_LOCK))
        if rows["of"] != of:
            return None
        return tuple(_check_row(row["name"], row["version"], row["sha256"], row["bytes"]) for row in rows["packages"])
    except (StorageError, ValueError, KeyError, TypeError):
        return None


def _path_of(directory: str, of: str) -> str:
    # One for each set of packages: what a run adds to those of its plan must not take the plan's own lock away.
    return os.path.join(directory, f"lock-{sha256(of.encode())[:12]}.json")


def describe_packages(packages: Sequence[Mapping[str, Any]], asked: Sequence[str]) -> str:
    """Return `torch 2.5.1 (850 MB), tqdm 4.70 and 24 that these need; 2.4 GB to download`; `asked` in an installer's form."""
    names = {_normalize_name(match[0]) for text in asked if (match := _NAME.match(text))}
    own = [row for row in packages if _normalize_name(row["name"]) in names]
    told = ", ".join(f"{row['name']} {row['version']}{_in_brackets(row['bytes'])}" for row in own)
    more = len(packages) - len(own)
    total = sum(row["bytes"] or 0 for row in packages)
    download = f"; {_size(total)} to download, if none of it is here yet" if total else ""
    needing = f" and {more} that {'this needs' if len(own) == 1 else 'these need'}" if more else ""
    return f"{told}{needing}{download}"


def _normalize_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _in_brackets(size: int | None) -> str:
    return f" ({_size(size)})" if size else ""


def _size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if count >= factor:
            return f"{count / factor:.{1 if unit == 'GB' else 0}f} {unit}"
    return f"{max(count // 1000, 1)} kB"


def _check_row(name: str, version: str, hashes: Sequence[str], size: int | None) -> LockedPackage:
    sound = _NAME.fullmatch(name) and _VERSION.fullmatch(version) and hashes and all(map(_SHA256.fullmatch, hashes))
    if not sound or not (size is None or (isinstance(size, int) and size >= 0)):
        raise ValueError(f"no locked package: {name!r} {version!r}")
    return LockedPackage(name, version, tuple(sorted(set(hashes))), size)


def _size_on_disk(address: str) -> int | None:
    """Return the size of a file that an index on this machine names."""
    parts = urlsplit(address)
    try:
        return os.path.getsize(unquote(parts.path)) if parts.scheme == "file" else None
    except (OSError, ValueError):
        return None
