"""Decides which files of a repository are kept, from nothing but their names, kinds, sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from phases.references.fetch.names import TWIN, Twins, plain_path
from phases.references.fetch.values import BY_HAND, LARGEST_FILE, MIB, Kept, Refused, Rules

LINK, SUBMODULE, REGULAR, OTHER = "links", "submodules", "files", "other"
LARGE, LFS, MISSING = "large", "lfs", "missing"
_KINDS = {"120000": LINK, "160000": SUBMODULE, "100644": REGULAR, "100755": REGULAR, "100664": REGULAR}
_LFS = b"version https://git-lfs.github.com/spec/"
_LARGEST_POINTER = 1024


class Listed(NamedTuple):
    """One entry of a repository that is no folder."""

    kind: str
    raw: bytes
    """Its path, as it is there."""
    size: int | None = None
    """None where its content is not there."""
    oid: str = ""


def kind_of(mode: str) -> str:
    """What an entry with this mode is."""
    return _KINDS.get(mode, OTHER)


def chosen(entries: Iterable[Listed], absent: str, rules: Rules) -> tuple[list[Kept], dict[str, int]]:
    """The files that are kept, and how many were left out for which reason. Raises Refused where it is too much.

    `absent` is the reason for what is listed, and not there.
    """
    kept: list[Kept] = []
    left_out: Counter[str] = Counter()
    twins, size = Twins(), 0
    for entry in entries:
        path, fault = plain_path(entry.raw)
        reason = _left_out(entry, absent) or fault or (None if twins.add(path) else TWIN)
        if reason or entry.size is None:
            left_out[reason or absent] += 1
            continue
        kept.append(Kept(path, entry.size, entry.oid))
        size += entry.size
        if len(kept) > rules.most_files:
            raise too_many(rules)
        if size > rules.most_bytes:
            raise too_large(rules)
    return kept, dict(sorted(left_out.items()))


def is_pointer(data: bytes) -> bool:
    """Whether a file only stands for a large one that lies elsewhere."""
    return len(data) <= _LARGEST_POINTER and data.startswith(_LFS)


def too_many(rules: Rules) -> Refused:
    return Refused(
        f"it has too many files, and at most {rules.most_files:,} of a repository are taken; {BY_HAND} with those that matter"
    )


def too_large(rules: Rules) -> Refused:
    return Refused(
        f"it is too large, and at most {rules.most_bytes / MIB:.3g} MiB of a repository are taken; {BY_HAND} with what matters"
    )


def _left_out(entry: Listed, absent: str) -> str | None:
    if entry.kind != REGULAR:
        return entry.kind
    if entry.size is None:
        return absent
    return LARGE if entry.size > LARGEST_FILE else None
