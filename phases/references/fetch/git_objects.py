"""Parse what git prints about a repository; trust nothing before its digest matches."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from phases.references.fetch.file_filter import GitEntry, kind_of
from phases.references.fetch.model import RepositoryRefused
from pipeline.base.safe_tree import open_file

OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ROW = re.compile(rb"([0-7]{6}) (blob|tree|commit) ([0-9a-f]{40}|[0-9a-f]{64})\t(.*)", re.DOTALL)
_SIZE = re.compile(rb"([0-9a-f]{40,64}) (blob|tree|commit|tag) ([0-9]{1,15})")
_MISSING = re.compile(rb"([0-9a-f]{40,64}) missing")
_LONGEST_HEADER = 200
NOT_WHOLE = "git does not print it as it should: the repository is damaged, or not what it says; ask its authors"


class TreeListing(NamedTuple):
    """Content of a commit."""

    trees: tuple[str, ...]
    """Object ids of its trees, each once."""
    rows: tuple[tuple[str, bytes, str], ...]
    """Kind, path and object id of each entry that is not a tree."""

    def with_sizes(self, sizes: Mapping[str, int]) -> Iterator[GitEntry]:
        """Return the entries with their sizes; None for missing content."""
        return (GitEntry(kind, path, sizes.get(oid), oid) for kind, path, oid in self.rows)


def parse_listing(data: bytes) -> TreeListing:
    """Return the list of `git ls-tree -r -t -z`. Raises RepositoryRefused."""
    trees: dict[str, None] = {}
    rows = []
    for record in data.split(b"\0")[:-1] if data else []:
        found = _ROW.fullmatch(record)
        if not found:
            raise RepositoryRefused(NOT_WHOLE)
        mode, kind, oid, path = found.groups()
        if kind == b"tree":
            trees[oid.decode()] = None
        else:
            rows.append((kind_of(mode.decode()), path, oid.decode()))
    if data and not data.endswith(b"\0"):
        raise RepositoryRefused(NOT_WHOLE)
    return TreeListing(tuple(trees), tuple(rows))


def parse_sizes(data: bytes) -> dict[str, int]:
    """Return the sizes in the output of `git cat-file --batch-check`, without missing objects. Raises RepositoryRefused."""
    found = {}
    for line in data.splitlines():
        if match := _SIZE.fullmatch(line):
            found[match[1].decode()] = int(match[3])
        elif not _MISSING.fullmatch(line):
            raise RepositoryRefused(NOT_WHOLE)
    return found


class Objects:
    """Output of `git cat-file --batch`, read in the order of the request."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = os.fstat(file.fileno()).st_size

    def next(self, oid: str, kind: str) -> bytes:
        """Return the next object, which must be this one, byte for byte. Raises RepositoryRefused."""
        # decision 99: git is not believed either; the digest is the only thing that a hostile server cannot choose
        header = self._file.readline(_LONGEST_HEADER)
        match = _SIZE.fullmatch(header.rstrip(b"\n"))
        self._left -= len(header)
        if not match or (match[1].decode(), match[2].decode()) != (oid, kind) or int(match[3]) >= self._left:
            raise RepositoryRefused(NOT_WHOLE)
        size = int(match[3])
        data = self._file.read(size + 1)
        self._left -= size + 1
        # SHA-1 is git's own name for it, and not a promise of ours
        digest = hashlib.new("sha256" if len(oid) == 64 else "sha1", usedforsecurity=False)
        digest.update(f"{kind} {size}\0".encode() + data[:size])
        if data[size:] != b"\n" or digest.hexdigest() != oid:
            raise RepositoryRefused(NOT_WHOLE)
        return data[:size]

    def check(self, commit: str, root: str, trees: Sequence[str]) -> None:
        """Check that the commit leads to the listed trees, which come first. Raises RepositoryRefused."""
        if not self.next(commit, "commit").startswith(f"tree {root}\n".encode()):
            raise RepositoryRefused(NOT_WHOLE)
        for tree in trees:
            self.next(tree, "tree")


@contextmanager
def open_objects(path: str) -> Iterator[Objects]:
    """Open the objects in a file that git wrote."""
    with open_file(path) as file:
        yield Objects(file)
