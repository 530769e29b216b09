"""Read a repository's objects from git, without a checkout: the listing, the sizes, the contents."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from phases.references.fetch.file_filter import (
    LARGE,
    MISSING,
    GitEntry,
    kind_of,
    make_printable,
    select_files,
    too_many_bytes,
    too_many_files,
)
from phases.references.fetch.model import (
    BY_HAND,
    LARGEST_FILE,
    MIB,
    FetchRules,
    GitResult,
    KeptFile,
    RepositoryContent,
    RepositoryRefused,
    RunGit,
)
from pipeline.base.files import read_bytes, storage_error, write_without_sync
from pipeline.base.http.addresses import Target, printable_url
from pipeline.base.http.fetch import DownloadLimits
from pipeline.base.http.git_remote import GitRemote, resolve_remote
from pipeline.base.http.proxy import lend_to_git
from pipeline.base.safe_tree import open_directory, open_file, read_beneath

_GIT = "git --git-dir=repository"
_BYTES_A_ROW = 300
_LEAST_LIST = 4 * MIB
_SECONDS_TO_LAND, _SECONDS_TO_CONNECT = 60, 15
_TOO_LARGE = re.compile(r"signal 25|File too large|SIGXFSZ|filesize", re.IGNORECASE)
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")
_LITTLE_ROOM = 64 * 2**20
_EMPTY = re.compile(r"couldn't find remote ref HEAD|no matching remote head", re.IGNORECASE)
# A settings file of our own: git's would remember the server it came from.
_PLAIN = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


class CloneWorkspace(NamedTuple):
    """Working directory and limits for one repository."""

    folder: str
    """Empty, and git's alone."""
    rules: FetchRules
    git: RunGit
    ends: float
    """On the monotonic clock."""

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)


def clone_repository(target: Target, bench: CloneWorkspace) -> RepositoryContent:
    """Return a repository's content, from the mirror or else from its server.

    Raises RepositoryRefused and DownloadError.
    """
    if bench.rules.mirror:
        # the mirror is read by its objects and not cloned: its settings and hooks are never read (decision 100)
        mirrored = find_in_mirror(target, bench.rules.mirror)
        _link_mirror(mirrored.commit, mirrored.objects, bench)
        return _read_content(bench, f"mirror:{mirrored.folder}", (mirrored.objects,), MISSING)
    rules = bench.rules
    limits = DownloadLimits(0, round(min(_SECONDS_TO_LAND, _seconds_left(bench)), 2), _SECONDS_TO_CONNECT)
    options = {
        "resolve": rules.resolve,
        "private": rules.private,
        "ssl_context": rules.ssl_context,
        "proxy": rules.proxy,
        "blacklist": rules.blacklist,
    }
    landed = resolve_remote(target.url, limits, **options)  # type: ignore[arg-type]
    if rules.proxy and rules.proxy.is_for(landed.host, landed.port):
        # git tells a proxy names, where curloptResolve does not count: this one knows the addresses that were checked
        with lend_to_git(rules.proxy, landed.host, landed.port, landed.addresses) as way:
            _fetch_head(landed, bench, f"http.proxy={way}")
    else:
        _fetch_head(landed, bench)
    return _read_content(bench, landed.url, (), LARGE)  # the server was asked to keep what is large


def _link_mirror(commit: str, objects: str, bench: CloneWorkspace) -> None:
    """Make a repository that finds its objects in the mirror, so that git never reads the mirror's settings."""
    write_without_sync(bench.path("alternates"), f"{objects}\n".encode())
    form = "sha256" if len(commit) == 64 else "sha1"
    begin = f"git init --quiet --bare --template= --object-format={form} repository"
    script = f"{begin} && mkdir -p repository/objects/info && cp alternates repository/objects/info/alternates && "
    _run_git(script + _list_script(f"{commit}^{{commit}}", bench.rules), bench, readable=(objects,))


def _fetch_head(landed: GitRemote, bench: CloneWorkspace, *more: str) -> None:
    """Fetch the head of the default branch, without large files, from an address that was checked."""
    # git resolves no name of its own: it would get another answer than the one that was checked (decision 101)
    numbers = ",".join(f"[{address}]" if ":" in address else address for address in landed.addresses)
    settings = [f"http.curloptResolve={landed.host}:{landed.port}:{numbers}", *more]
    ca_file = bench.rules.ca_file
    settings += [f"http.sslCAInfo={ca_file}"] if ca_file else []
    given = " ".join(f"-c {shlex.quote(setting)}" for setting in settings)
    how = f"--quiet --depth=1 --no-tags --no-recurse-submodules --filter=blob:limit={LARGEST_FILE + 1}"
    write_without_sync(bench.path("plain"), _PLAIN.encode())
    script = (
        "git init --quiet --bare --template= repository && "
        f"{_GIT} {given} fetch {how} -- {shlex.quote(landed.url)} HEAD && "
        "cp plain repository/config && "  # git noted where to ask for what is large; nobody is to ask
    )
    readable = (ca_file,) if ca_file else ()
    _run_git(script + _list_script("FETCH_HEAD^{commit}", bench.rules), bench, readable=readable, network=True)


def _list_script(what: str, rules: FetchRules) -> str:
    """Return the script that writes the commit and the listing of its tree, with an end mark."""
    # ls-tree and cat-file instead of a checkout: filters, hooks and attributes then have nothing to act on (decision 99)
    listed = f'{_GIT} ls-tree -r -t -z --full-tree "$(cat commit)"; echo $? > listed'
    return (
        f"{_GIT} rev-parse --verify --quiet '{what}' > commit && "
        f'{_GIT} rev-parse --verify --quiet "$(cat commit)^{{tree}}" > root && '
        f"{{ {listed}; }} | head -c {_listing_limit(rules)} > list"
    )


def _listing_limit(rules: FetchRules) -> int:
    return max(rules.most_files * _BYTES_A_ROW, _LEAST_LIST)


def _read_content(bench: CloneWorkspace, fetched_from: str, readable: Sequence[str], absent: str) -> RepositoryContent:
    """Return the selected files; each is read and checked as the contents are consumed."""
    commit, root, listing = _read_listing(bench)
    oids = dict.fromkeys(oid for _, _, oid in listing.rows)
    write_without_sync(bench.path("asked"), "".join(f"{oid}\n" for oid in oids).encode())
    _run_git(f"{_GIT} cat-file --batch-check < asked > sizes", bench, readable=readable)
    sizes = parse_sizes(read_bytes(bench.path("sizes")))
    kept, left_out = select_files(listing.with_sizes(sizes), absent, bench.rules)
    trees = tuple(dict.fromkeys((root, *listing.trees)))
    wanted = (commit, *trees, *(file.oid for file in kept))
    write_without_sync(bench.path("wanted"), "".join(f"{oid}\n" for oid in wanted).encode())
    _run_git(f"{_GIT} cat-file --batch < wanted > blobs", bench, readable=readable)
    return RepositoryContent(fetched_from, commit, _file_contents(bench, (commit, root, trees), kept), left_out)


def _read_listing(bench: CloneWorkspace) -> tuple[str, str, TreeListing]:
    data = read_bytes(bench.path("list"))
    if len(data) >= _listing_limit(bench.rules):
        raise too_many_files(bench.rules)
    texts = [
        read_bytes(bench.path(name), limit=1000).decode("ascii", "replace") for name in ("commit", "root", "listed")
    ]
    commit, root, ended = (text.removesuffix("\n") for text in texts)
    if ended != "0" or not OID.fullmatch(commit) or not OID.fullmatch(root):
        raise RepositoryRefused(NOT_WHOLE)
    return commit, root, parse_listing(data)


def _file_contents(
    bench: CloneWorkspace, pinned: tuple[str, str, Sequence[str]], kept: Sequence[KeptFile]
) -> Iterator[tuple[str, bytes]]:
    with open_objects(bench.path("blobs")) as objects:
        objects.check(*pinned)
        for file in kept:
            yield file.path, objects.next(file.oid, "blob")


def _run_git(script: str, bench: CloneWorkspace, *, readable: Sequence[str] = (), network: bool = False) -> None:
    """Run a script that has to succeed. Raises RepositoryRefused with the reason, or StorageError."""
    # What was fetched lies beside what is printed of it.
    most = (1 if network else 2) * bench.rules.most_bytes + 2 * _listing_limit(bench.rules)
    ended = bench.git(
        script, bench.folder, readable=readable, seconds=_seconds_left(bench), most_bytes=most, network=network
    )
    if ended.exit_code != 0:
        _raise_if_full(ended, bench)
        raise _explain_failure(ended, bench.rules)


def _raise_if_full(ended: GitResult, bench: CloneWorkspace) -> None:
    """Raise StorageError if git found no room. A server can print these words as well, so the disk is checked, too."""
    status = os.statvfs(bench.folder)
    if _NO_ROOM.search(ended.output) and status.f_bavail * status.f_frsize < min(bench.rules.most_bytes, _LITTLE_ROOM):
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise storage_error("fetch into", bench.folder, full)


def _explain_failure(ended: GitResult, rules: FetchRules) -> RepositoryRefused:
    """Return an error that says what went wrong and what to do."""
    limit, last = ended.limit or "", next((line for line in reversed(ended.output.split("\n")) if line.strip()), "")
    if limit.startswith("time"):
        return RepositoryRefused(f"it takes longer than {rules.seconds:g} s; try again later, or {BY_HAND}")
    if limit.startswith(("disk", "file")) or _TOO_LARGE.search(ended.output):
        return too_many_bytes(rules)
    if limit:
        return RepositoryRefused(f"git was stopped at a limit ({limit}); {BY_HAND}")
    if _EMPTY.search(ended.output):
        return RepositoryRefused("it is empty, or has no default branch; ask its authors")
    if ended.exit_code is None:
        return RepositoryRefused(f"git did not run: {printable_url(last.removeprefix('not run: '))}")
    return RepositoryRefused(
        f"git cannot take it ({printable_url(last) or f'exit code {ended.exit_code}'}); try again later, or {BY_HAND}"
    )


def _seconds_left(bench: CloneWorkspace) -> float:
    left = bench.ends - time.monotonic()
    if left <= 0:
        raise RepositoryRefused(f"it takes longer than {bench.rules.seconds:g} s; try again later, or {BY_HAND}")
    return left


OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PART = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~+-]{1,100}")
_BRANCH = re.compile(r"ref: (refs/heads/[^\x00-\x20\x7f~^:?*\[\\]{1,250})\n?")
_DETACHED = re.compile(rf"({OID.pattern})\n?")
_LARGEST_REF, _LARGEST_REFS = 4096, 64 * 2**20
_LEADS_ELSEWHERE = ("objects/info/alternates", "objects/info/http-alternates", "commondir")


class MirrorRepository(NamedTuple):
    """A repository in the mirror."""

    folder: str
    """As the mirror has it."""
    objects: str
    """Its directory of objects; git reads nothing else."""
    commit: str


def find_in_mirror(target: Target, mirror: str) -> MirrorRepository:
    """Return the mirror's repository for an address. Raises RepositoryRefused if it is missing or cannot be used."""
    # the name is joined to a path: nothing that climbs, and nothing that git or a shell reads as a word of its own
    path = f"{target.host}/{target.path.strip('/').removesuffix('.git')}"
    parts = path.split("/")
    if not all(_PART.fullmatch(part) for part in parts) or "\n" in mirror:
        raise RepositoryRefused("its address is not a valid path in the mirror; use a plain one, like host/owner/name")
    top = os.path.realpath(mirror)
    for folder in (path, f"{path}.git"):
        for inner in (folder, f"{folder}/.git"):
            if _is_there(top, inner):
                return _read_mirror(top, inner, folder)
    raise RepositoryRefused(
        f"it is not in the mirror: there is no repository at {path} in {make_printable(mirror)}; clone it there, or set no mirror"
    )


def _is_there(top: str, inner: str) -> bool:
    """Return whether a repository's files exist at this path, without following links."""
    try:
        with open_directory(top, [*inner.split("/"), "objects"]):
            read_beneath(top, f"{inner}/HEAD", _LARGEST_REF)
    except OSError:
        return False
    return True


def _read_mirror(top: str, inner: str, folder: str) -> MirrorRepository:
    place = os.path.join(top, inner)
    for name in _LEADS_ELSEWHERE:
        if os.path.lexists(os.path.join(place, name)):
            raise RepositoryRefused(f"in the mirror it leads elsewhere ({name}); make a self-contained clone there")
    try:
        if link := next(_find_links(place), None):
            raise RepositoryRefused(
                f"in the mirror it holds a link ({make_printable(link)}), and no link is followed; make a clone there without"
            )
        commit = _head_commit(place)
    except OSError as error:
        why = make_printable(str(error.strerror or error))
        raise RepositoryRefused(f"in the mirror it cannot be read ({why}); make a new clone there") from error
    if commit is None:
        raise RepositoryRefused(
            "in the mirror it is empty, or its HEAD names no branch that is there; make a new clone there"
        )
    return MirrorRepository(folder, os.path.join(place, "objects"), commit)


def _find_links(place: str) -> Iterator[str]:
    """Yield the links among the objects, down to the last level that git reads."""
    with open_directory(place, ["objects"]) as objects, os.scandir(objects) as entries:
        names = [(entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, link, is_folder in names:
            if link:
                yield f"objects/{name}"
            elif is_folder:
                with open_directory(objects, [name]) as inner, os.scandir(inner) as files:
                    yield from (f"objects/{name}/{file.name}"[:100] for file in files if file.is_symlink())


def _head_commit(place: str) -> str | None:
    """Return the commit that HEAD leads to; None if there is none."""
    head = read_beneath(place, "HEAD", _LARGEST_REF).decode("utf-8", "replace")
    if match := _DETACHED.fullmatch(head):
        return match[1]
    branch = _BRANCH.fullmatch(head)
    if not branch or not all(part and part != ".." for part in branch[1].split("/")):
        return None
    try:
        found = _DETACHED.fullmatch(read_beneath(place, branch[1], _LARGEST_REF).decode("utf-8", "replace"))
        return found[1] if found else None
    except FileNotFoundError:
        return _packed_commit(place, branch[1].encode())


def _packed_commit(place: str, branch: bytes) -> str | None:
    try:
        lines = read_beneath(place, "packed-refs", _LARGEST_REFS).splitlines()
    except FileNotFoundError:
        return None
    rows = (line.split(b" ", 1) for line in lines)
    oids = [fields[0].decode("ascii", "replace") for fields in rows if len(fields) == 2 and fields[1] == branch]
    return next((oid for oid in oids if OID.fullmatch(oid)), None)


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
        match = _ROW.fullmatch(record)
        if not match:
            raise RepositoryRefused(NOT_WHOLE)
        mode, kind, oid, path = match.groups()
        if kind == b"tree":
            trees[oid.decode()] = None
        else:
            rows.append((kind_of(mode.decode()), path, oid.decode()))
    if data and not data.endswith(b"\0"):
        raise RepositoryRefused(NOT_WHOLE)
    return TreeListing(tuple(trees), tuple(rows))


def parse_sizes(data: bytes) -> dict[str, int]:
    """Return the sizes in the output of `git cat-file --batch-check`, without missing objects. Raises RepositoryRefused."""
    sizes = {}
    for line in data.splitlines():
        if match := _SIZE.fullmatch(line):
            sizes[match[1].decode()] = int(match[3])
        elif not _MISSING.fullmatch(line):
            raise RepositoryRefused(NOT_WHOLE)
    return sizes


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
