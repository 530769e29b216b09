"""Takes a repository out of git without git ever writing a file of it: a list, the sizes, the contents."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from phases.references.fetch.choosing import LARGE, MISSING, chosen, too_large, too_many
from phases.references.fetch.mirror import mirrored
from phases.references.fetch.objects import NOT_WHOLE, OID, Listing, listing_of, objects_in, sizes_of
from phases.references.fetch.values import BY_HAND, LARGEST_FILE, MIB, Ended, Git, Kept, Refused, Rules, Source
from pipeline.base.files import read_bytes, write_without_sync
from pipeline.base.http.addresses import Target, printable_url
from pipeline.base.http.answers import DownloadLimits
from pipeline.base.http.git_remote import GitRemote, resolve_remote

_GIT = "git --git-dir=repository"
_BYTES_A_ROW = 300
_LEAST_LIST = 4 * MIB
_SECONDS_TO_LAND, _SECONDS_TO_CONNECT = 60, 15
_TOO_LARGE = re.compile(r"signal 25|File too large|SIGXFSZ|filesize", re.IGNORECASE)
_EMPTY = re.compile(r"couldn't find remote ref HEAD|no matching remote head", re.IGNORECASE)
_PLAIN = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


class Bench(NamedTuple):
    """Where one repository is worked on."""

    folder: str
    """Empty, and git's alone."""
    rules: Rules
    git: Git
    ends: float
    """On the monotonic clock."""

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)


def cloned(target: Target, bench: Bench) -> Source:
    """The content of a repository, from the mirror where there is one, else from its server. Raises Refused and DownloadError."""
    if bench.rules.mirror:
        found = mirrored(target, bench.rules.mirror)
        _link_up(found.commit, found.objects, bench)
        return _content(bench, f"mirror:{found.folder}", (found.objects,), MISSING)
    rules = bench.rules
    limits = DownloadLimits(0, round(min(_SECONDS_TO_LAND, _left(bench)), 2), _SECONDS_TO_CONNECT)
    options = {"resolve": rules.resolve, "private": rules.private, "ssl_context": rules.ssl_context}
    landed = resolve_remote(target.url, limits, **options)  # type: ignore[arg-type]
    _fetch(landed, bench)
    return _content(bench, landed.url, (), LARGE)  # the server was asked to keep what is large


def _link_up(commit: str, objects: str, bench: Bench) -> None:
    """A repository of our own that finds its objects in the mirror: git never sees what the mirror's is set to."""
    write_without_sync(bench.path("alternates"), f"{objects}\n".encode())
    form = "sha256" if len(commit) == 64 else "sha1"
    begin = f"git init --quiet --bare --template= --object-format={form} repository"
    script = f"{begin} && mkdir -p repository/objects/info && cp alternates repository/objects/info/alternates && "
    _run(script + _list_of(f"{commit}^{{commit}}", bench.rules), bench, readable=(objects,))


def _fetch(landed: GitRemote, bench: Bench) -> None:
    """Fetches the newest state of the default branch, without what is large, from an address that was checked."""
    numbers = ",".join(f"[{address}]" if ":" in address else address for address in landed.addresses)
    settings = [f"http.curloptResolve={landed.host}:{landed.port}:{numbers}"]
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
    _run(script + _list_of("FETCH_HEAD^{commit}", bench.rules), bench, readable=readable, network=True)


def _list_of(what: str, rules: Rules) -> str:
    """The script that writes which commit it is, and the list of all that it holds, with an end to the list."""
    listed = f'{_GIT} ls-tree -r -t -z --full-tree "$(cat commit)"; echo $? > listed'
    return (
        f"{_GIT} rev-parse --verify --quiet '{what}' > commit && "
        f'{_GIT} rev-parse --verify --quiet "$(cat commit)^{{tree}}" > root && '
        f"{{ {listed}; }} | head -c {_most_listed(rules)} > list"
    )


def _most_listed(rules: Rules) -> int:
    return max(rules.most_files * _BYTES_A_ROW, _LEAST_LIST)


def _content(bench: Bench, fetched_from: str, readable: Sequence[str], absent: str) -> Source:
    """The files that are kept, read and checked one by one as the source is gone through."""
    commit, root, listing = _listing(bench)
    oids = dict.fromkeys(oid for _, _, oid in listing.rows)
    write_without_sync(bench.path("asked"), "".join(f"{oid}\n" for oid in oids).encode())
    _run(f"{_GIT} cat-file --batch-check < asked > sizes", bench, readable=readable)
    sizes = sizes_of(read_bytes(bench.path("sizes")))
    kept, left_out = chosen(listing.with_sizes(sizes), absent, bench.rules)
    trees = tuple(dict.fromkeys((root, *listing.trees)))
    wanted = (commit, *trees, *(file.oid for file in kept))
    write_without_sync(bench.path("wanted"), "".join(f"{oid}\n" for oid in wanted).encode())
    _run(f"{_GIT} cat-file --batch < wanted > blobs", bench, readable=readable)
    return Source(fetched_from, commit, _contents(bench, (commit, root, trees), kept), left_out)


def _listing(bench: Bench) -> tuple[str, str, Listing]:
    data = read_bytes(bench.path("list"))
    if len(data) >= _most_listed(bench.rules):
        raise too_many(bench.rules)
    told = [
        read_bytes(bench.path(name), limit=1000).decode("ascii", "replace") for name in ("commit", "root", "listed")
    ]
    commit, root, ended = (text.removesuffix("\n") for text in told)
    if ended != "0" or not OID.fullmatch(commit) or not OID.fullmatch(root):
        raise Refused(NOT_WHOLE)
    return commit, root, listing_of(data)


def _contents(
    bench: Bench, pinned: tuple[str, str, Sequence[str]], kept: Sequence[Kept]
) -> Iterator[tuple[str, bytes]]:
    with objects_in(bench.path("blobs")) as objects:
        objects.check(*pinned)
        for file in kept:
            yield file.path, objects.next(file.oid, "blob")


def _run(script: str, bench: Bench, *, readable: Sequence[str] = (), network: bool = False) -> None:
    """Runs a script to its good end, or tells why it had none. Raises Refused."""
    # What was fetched lies beside what is printed of it.
    most = (1 if network else 2) * bench.rules.most_bytes + 2 * _most_listed(bench.rules)
    ended = bench.git(script, bench.folder, readable=readable, seconds=_left(bench), most_bytes=most, network=network)
    if ended.exit_code != 0:
        raise _told(ended, bench.rules)


def _told(ended: Ended, rules: Rules) -> Refused:
    """What went wrong, in words: whose fault, and what to do."""
    limit, last = ended.limit or "", next((line for line in reversed(ended.output.split("\n")) if line.strip()), "")
    if limit.startswith("time"):
        return Refused(f"it takes longer than {rules.seconds:g} s; try again later, or {BY_HAND}")
    if limit.startswith(("disk", "file")) or _TOO_LARGE.search(ended.output):
        return too_large(rules)
    if limit:
        return Refused(f"git was stopped at a limit ({limit}); {BY_HAND}")
    if _EMPTY.search(ended.output):
        return Refused("it is empty, or has no default branch; ask its authors")
    if ended.exit_code is None:
        return Refused(f"git did not run: {printable_url(last.removeprefix('not run: '))}")
    return Refused(
        f"git cannot take it ({printable_url(last) or f'exit code {ended.exit_code}'}); try again later, or {BY_HAND}"
    )


def _left(bench: Bench) -> float:
    left = bench.ends - time.monotonic()
    if left <= 0:
        raise Refused(f"it takes longer than {bench.rules.seconds:g} s; try again later, or {BY_HAND}")
    return left
