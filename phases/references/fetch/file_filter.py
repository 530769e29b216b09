"""Decide by name, kind and size which files of a repository are kept."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from phases.references.fetch.model import BY_HAND, LARGEST_FILE, MIB, FetchRules, KeptFile, RepositoryRefused
from pipeline.base.http.addresses import Target

LINK, SUBMODULE, REGULAR, OTHER = "links", "submodules", "files", "other"
LARGE, LFS, MISSING = "large", "lfs", "missing"
_KINDS = {"120000": LINK, "160000": SUBMODULE, "100644": REGULAR, "100755": REGULAR, "100664": REGULAR}
_LFS = b"version https://git-lfs.github.com/spec/"
_LARGEST_POINTER = 1024


class GitEntry(NamedTuple):
    """One entry of a repository, not a directory."""

    kind: str
    raw: bytes
    """Its path, as it is there."""
    size: int | None = None
    """None where its content is not there."""
    oid: str = ""


def kind_of(mode: str) -> str:
    """Return the kind of entry that a git mode stands for."""
    return _KINDS.get(mode, OTHER)


def select_files(entries: Iterable[GitEntry], absent: str, rules: FetchRules) -> tuple[list[KeptFile], dict[str, int]]:
    """Return the files to keep, and the number left out for each reason. Raises RepositoryRefused if there are too many.

    `absent` is the reason for entries without content.
    """
    kept: list[KeptFile] = []
    left_out: Counter[str] = Counter()
    twins, size = NameCollisions(), 0
    for entry in entries:
        path, fault = plain_path(entry.raw)
        reason = _why_left_out(entry, absent) or fault or (None if twins.add(path) else NAME_COLLISION)
        if reason or entry.size is None:
            left_out[reason or absent] += 1
            continue
        kept.append(KeptFile(path, entry.size, entry.oid))
        size += entry.size
        if len(kept) > rules.most_files:
            raise too_many_files(rules)
        if size > rules.most_bytes:
            raise too_many_bytes(rules)
    return kept, dict(sorted(left_out.items()))


def is_lfs_pointer(data: bytes) -> bool:
    """Return whether a file is a Git LFS pointer."""
    return len(data) <= _LARGEST_POINTER and data.startswith(_LFS)


def too_many_files(rules: FetchRules) -> RepositoryRefused:
    return RepositoryRefused(
        f"it has too many files, and at most {rules.most_files:,} of a repository are taken; {BY_HAND} with those that matter"
    )


def too_many_bytes(rules: FetchRules) -> RepositoryRefused:
    return RepositoryRefused(
        f"it is too large, and at most {rules.most_bytes / MIB:.3g} MiB of a repository are taken; {BY_HAND} with what matters"
    )


def _why_left_out(entry: GitEntry, absent: str) -> str | None:
    if entry.kind != REGULAR:
        return entry.kind
    if entry.size is None:
        return absent
    return LARGE if entry.size > LARGEST_FILE else None


_MOST_PARTS = 40
_LONGEST_PATH = 1000
_LONGEST_PART = 255
_LONGEST_SLUG = 80
_TAKEN = ("index",)
_GITS_OWN = (".git", "git~1")
ODD, DEEP, NAME_COLLISION = "odd_names", "deep", "twins"


def plain_path(raw: bytes) -> tuple[str, str | None]:
    """Return a path as text, and why it is left out: ODD if some system reads it differently, DEEP, or None."""
    if len(raw) > _LONGEST_PATH:
        return "", ODD
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "", ODD
    parts = path.split("/")
    # What is not printable turns the direction of writing, moves a cursor, or cannot be seen.
    if not path.isprintable() or "\\" in path or any(_is_odd(part) for part in parts):
        return path, ODD
    return path, DEEP if len(parts) > _MOST_PARTS else None


class NameCollisions:
    """Detect names that differ only in case or spelling: on some disks they are the same file. The first one wins."""

    def __init__(self) -> None:
        self._spelled: dict[str, str] = {}
        self._files: set[str] = set()

    def add(self, path: str) -> bool:
        """Add a path; return False if it collides with an earlier one."""
        folded = _fold_case(path)
        if folded in self._spelled:
            return False
        parts = path.split("/")
        folders = ["/".join(parts[:count]) for count in range(1, len(parts))]
        pairs = [(_fold_case(folder), folder) for folder in folders]
        if any(name in self._files or self._spelled.get(name, folder) != folder for name, folder in pairs):
            return False
        self._spelled.update(pairs)
        self._spelled[folded] = path
        self._files.add(folded)
        return True


def slug_of(target: Target, taken: Collection[str]) -> str:
    """Return the local name of a repository: owner__name, with a number if it is taken."""
    path = target.path.strip("/").removesuffix(".git")
    return free_name("__".join(path.split("/")[-2:]) or target.host, taken)


def free_name(wish: str, taken: Collection[str]) -> str:
    """Return a name of plain letters that is not taken in any case."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", wish).strip("-.")[:_LONGEST_SLUG].rstrip("-.") or "repository"
    plain = re.sub(r"\.json$", "-json", plain, flags=re.IGNORECASE)  # the manifest of another is called so
    used, number, name = {other.lower() for other in (*taken, *_TAKEN)}, 1, plain
    while name.lower() in used:
        number += 1
        ending = f"-{number}"
        name = plain[: _LONGEST_SLUG - len(ending)] + ending
    return name


def make_printable(text: str) -> str:
    """Return a name or path on one line with unprintable characters replaced."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _is_odd(part: str) -> bool:
    if part in ("", ".", "..") or part[-1] in ". " or len(part.encode("utf-8")) > _LONGEST_PART:
        return True
    stem = unicodedata.normalize("NFKC", part).casefold().split(":")[0].rstrip(". ")
    return stem in _GITS_OWN


def _fold_case(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
