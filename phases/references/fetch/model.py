"""Values of fetching: what is wanted, within which limits, and how git is run."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pipeline.base.errors import PipelineError
from pipeline.base.http.connection import addresses_of
from pipeline.base.http.proxy import Proxy

LARGEST_FILE = 2 * 2**20
"""Bytes of one file of a repository; larger files are data, and left out."""
BY_HAND = "clone it by hand, and give the directory"
MIB = 2**20


class WantedRepository(NamedTuple):
    """A repository to fetch."""

    url: str
    role: str
    references: tuple[str, ...] = ()
    """The ids of the references that lead to it."""


@dataclass(frozen=True)
class FetchRules:
    """From where repositories come, and how much of them there may be."""

    mirror: str | None = None
    """A directory with host/owner/name in it; repositories are read from there, without network."""
    folders: str | None = None
    """A directory whose subdirectories are repositories of the user's."""
    most_bytes: int = 200 * MIB
    """Limit for one repository."""
    most_files: int = 20_000
    most_repositories: int = 8
    seconds: float = 300
    """Time limit for one repository."""
    private: bool = False
    """Addresses inside a private network may be asked."""
    in_place: Callable[[], None] = lambda: None
    """Raises where the task is not this run's any more; called before anything of it is written."""
    sandbox: str = "not recorded"
    """In which kind of sandbox git runs, for the record."""
    blacklist: str = ""
    """Addresses that are never used, also not from the mirror."""
    resolve: Callable[[str, int], Sequence[str]] = addresses_of
    ssl_context: ssl.SSLContext | None = None
    ca_file: str | None = None
    """Certificates that git trusts instead of the system's; `ssl_context` is the same for the first question."""
    proxy: Proxy | None = None


class GitResult(Protocol):
    """Outcome of a git script."""

    @property
    def exit_code(self) -> int | None: ...

    @property
    def output(self) -> str: ...

    @property
    def limit(self) -> str | None: ...


class RunGit(Protocol):
    """Runs a shell script of git commands in a directory, the only writable one, without anyone's git settings."""

    def __call__(
        self, script: str, folder: str, *, readable: Sequence[str], seconds: float, most_bytes: int, network: bool
    ) -> GitResult: ...


class RepositoryRefused(PipelineError):
    """A repository that is not fetched: why, whose fault, and what to do."""


class KeptFile(NamedTuple):
    """One file of a repository to keep."""

    path: str
    size: int
    oid: str = ""
    """Object id of its content."""


class RepositoryContent(NamedTuple):
    """Content of a repository, ready to be written."""

    fetched_from: str
    commit: str | None
    contents: Iterator[tuple[str, bytes]]
    """Path and content of each file, read as they are asked for."""
    left_out: Mapping[str, int]
    """The number of files left out for each reason; complete when the contents have been consumed."""
