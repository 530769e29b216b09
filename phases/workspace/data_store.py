"""The data sets that were downloaded, which tasks share: each lies under the digest of its bytes, and is only read then."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pipeline.base.errors import PipelineError, StorageError
from pipeline.base.files import read_bytes, sha256, storage_error, sync_tree, write_durable
from pipeline.base.formats import dump_json, parse_json
from pipeline.base.http.addresses import Forbidden, printable_url, target_of
from pipeline.base.http.blacklist import why_blacklisted
from pipeline.base.lease import lock_descriptor
from pipeline.base.logs import utc_timestamp
from pipeline.base.safe_tree import open_file, open_regular, walk_files

_SECONDS, _SECONDS_TO_CONNECT = 3600, 10
_MOST_MEMBERS = 100_000
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
"""By name and not by content: .npz, .docx and .pt are zips, too, and data as they are."""
_PAGES = ("text/html", "application/xhtml+xml")
_PAGE = re.compile(rb"\s{0,200}(?:<!--.{0,500}?-->\s{0,200})?<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
_LONGEST_NAME = 80
_MOST_LEFT_OUT = 20
_CHUNK = 1 << 20


class NotFetched(PipelineError):
    """A data set that could not be fetched, or that is not what it was: then `sha256` is that of what its address gives now."""

    def __init__(self, message: str, digest: str = "") -> None:
        super().__init__(message)
        self.sha256 = digest


class DownloadRules(NamedTuple):
    """How data sets are downloaded, and where to."""

    store: str
    """The directory that tasks share. No task can write it."""
    most: int
    """Bytes: of what is downloaded, and of what that unpacks to."""
    blacklist: str = ""
    private: bool = False
    """Whether addresses of an intranet are asked."""
    environment: Mapping[str, str] = {}
    """The user's, for the proxy in it."""


class StoredData(NamedTuple):
    """A data set in the store. Its files lie in a directory of their own."""

    address: str
    reached: str
    """Where redirects led to in the end."""
    private: bool
    """Whether addresses of an intranet were permitted then."""
    sha256: str
    """Of what was downloaded."""
    bytes: int
    file: str
    """The name of what was downloaded."""
    files: int
    tree_sha256: str
    """Of all files as commands see them, with their names."""
    at: str
    """When it was downloaded, UTC."""
    left_out: tuple[str, ...] = ()
    """Members of an archive that were not unpacked, each with the reason: the first of them."""
    left_out_count: int = 0
    """How many they are in all."""

    def directory(self, store: str) -> str:
        """What commands read: the file, or what an archive holds."""
        return os.path.join(store, f"{self.sha256}-{self.file}")


def find_stored(address: str, digest: str, rules: DownloadRules) -> StoredData | None:
    """What was downloaded from an address before, the newest or the one of that sha256; None where there is none.

    Nor is there any that the rules of today might refuse: a download asks them.
    """
    found, store = [], rules.store
    for name in os.listdir(store) if os.path.isdir(store) else ():
        if name.startswith(_key_of(address)) and name.endswith(".json"):
            with suppress(StorageError, ValueError, KeyError, TypeError):
                row = parse_json(read_bytes(os.path.join(store, name)))
                found.append(StoredData(**{**row, "left_out": tuple(row["left_out"])}))
    fits = [one for one in found if one.address == address and digest in ("", one.sha256) and _is_permitted(one, rules)]
    newest = max(fits, key=lambda one: one.at, default=None)
    return newest if newest and os.path.isdir(newest.directory(store)) else None


def _is_permitted(stored: StoredData, rules: DownloadRules) -> bool:
    try:
        asked = [target_of(url, private=rules.private) for url in (stored.address, stored.reached)]
    except Forbidden:
        return False
    # a download where an intranet was permitted says nothing of one where it is not
    return not (stored.private and not rules.private) and not any(
        why_blacklisted(one, rules.blacklist) for one in asked
    )


def has_changed(stored: StoredData, store: str) -> bool:
    """Whether the files are no longer those that were downloaded: every byte is read again."""
    return not _holds(stored.directory(store), stored.tree_sha256)


def fetch_data(address: str, digest: str, rules: DownloadRules) -> StoredData:
    """Downloads a data set, or finds what another task downloaded while this one waited. Raises NotFetched, StorageError.

    `digest` is the sha256 that it must have; empty for any. An archive is unpacked, and what must not be is left out.
    """
    home = os.path.join(rules.store, _key_of(address))
    with _only_one(f"{home}.lock"):
        if (found := find_stored(address, digest, rules)) and not has_changed(found, rules.store):
            return found
        part, unpacked = f"{home}.part", f"{home}.new"
        try:
            shutil.rmtree(unpacked, ignore_errors=True)  # of a run that was killed
            return _keep(_download(address, digest, part, rules), part, unpacked, rules)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
            with suppress(FileNotFoundError):
                os.unlink(part)


def _download(address: str, digest: str, part: str, rules: DownloadRules) -> StoredData:
    # imported here: TLS costs 45 ms, and most runs fetch no data
    from pipeline.base.http import fetch, proxy

    try:
        fetched = fetch.fetch_url(
            address,
            part,
            fetch.DownloadLimits(rules.most, _SECONDS, _SECONDS_TO_CONNECT),
            private=rules.private,
            proxy=proxy.find_proxy(rules.environment),
            blacklist=rules.blacklist,
        )
    except fetch.DownloadError as error:
        raise NotFetched(str(error)) from error
    shown = printable_url(address)
    with open_file(part) as file:
        is_page = fetched.content_type in _PAGES or _PAGE.match(file.read(1024))
    if is_page:
        raise NotFetched(f"{shown} is a web page and no data; look for the link to the files on it")
    if digest and fetched.sha256 != digest:
        raise NotFetched(
            f"{shown} gives other bytes now: their sha256 is {fetched.sha256}, and {digest} was fetched before or asked for",
            fetched.sha256,
        )
    name = _name_of(address, fetched.url)
    return StoredData(address, fetched.url, rules.private, fetched.sha256, fetched.bytes, name, 0, "", utc_timestamp())


def _keep(data: StoredData, part: str, unpacked: str, rules: DownloadRules) -> StoredData:
    """Puts a file, or what an archive holds, into its place in the store; then says so in a record."""
    # imported here: most runs unpack no archive, and what it needs takes a while
    from pipeline.base.archives import BadArchive, unpack_to

    left_out: list[str] = []
    target = data.directory(rules.store)
    try:
        os.mkdir(unpacked, 0o755)
        if data.file.lower().endswith(_ARCHIVES):
            left_out = unpack_to(part, unpacked, rules.most, _MOST_MEMBERS)
        else:
            os.rename(part, os.path.join(unpacked, data.file))
        tree, files = _digest_tree(unpacked)
        if not files:
            raise BadArchive("there is no file in it that may be unpacked")
        sync_tree(unpacked)
        with _only_one(f"{target}.lock"):  # another address may give the same
            if not _holds(target, tree):
                shutil.rmtree(target, ignore_errors=True)  # it was damaged
                os.rename(unpacked, target)
    except BadArchive as error:
        raise NotFetched(f"{printable_url(data.address)} is an archive that is not unpacked: {error}") from error
    except OSError as error:
        raise storage_error("write", target, error) from error
    kept = data._replace(
        files=files, tree_sha256=tree, left_out=tuple(left_out[:_MOST_LEFT_OUT]), left_out_count=len(left_out)
    )
    write_durable(
        os.path.join(rules.store, f"{_key_of(data.address)}-{data.sha256[:16]}.json"), dump_json(kept._asdict())
    )
    return kept


def _key_of(address: str) -> str:
    return sha256(address.encode())[:32]


def _name_of(address: str, reached: str) -> str:
    """A name for the file: the last part of its address, or of the one that redirects led to, if one has an ending."""
    paths = [["", *urlsplit(url).path.rstrip("/").split("/")] for url in (address, reached)]
    # .../data.zip/content is how archives of research serve data.zip
    names = [_make_plain(unquote(path[at])) for at in (-1, -2) for path in paths]
    return next((name for name in names if re.search(r"[^.]\.[A-Za-z]", name)), "") or names[0] or "data"


def _make_plain(name: str) -> str:
    """A name of few signs, with the ending that it has: what is left of 数据.zip is data.zip. Empty where nothing is left."""
    kind = next((one for one in _ARCHIVES if name.lower().endswith(one)), "")
    found = re.search(r"\.[A-Za-z][A-Za-z0-9]{0,15}$", name)
    ending = name[len(name) - len(kind) :] if kind else found[0] if found else ""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name[: len(name) - len(ending)]).strip(".-")
    return f"{stem or 'data'}{ending}"[-_LONGEST_NAME:].strip(".-") if stem or ending else ""


def _digest_tree(root: str) -> tuple[str, int]:
    """A digest of the names and bytes of all files below a directory, and how many there are. Raises OSError."""
    whole, count = hashlib.sha256(), 0
    for found in walk_files(root):
        if not found.is_regular():
            raise OSError(f"{found.path} is no file")
        *_, name = found.path.split("/")
        own = hashlib.sha256()
        with os.fdopen(open_regular(name, found.directory), "rb") as file:
            while piece := file.read(_CHUNK):
                own.update(piece)
        whole.update(f"{own.hexdigest()} {found.path}\0".encode("utf-8", "surrogateescape"))
        count += 1
    return whole.hexdigest(), count


def _holds(directory: str, tree: str) -> bool:
    try:
        return _digest_tree(directory)[0] == tree
    except OSError:
        return False


@contextmanager
def _only_one(path: str) -> Iterator[None]:
    """One download of an address at a time: who waited finds what the other one fetched."""
    while True:
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            file = open_file(path, "wb")
        except OSError as error:
            raise storage_error("write", path, error) from error
        with file, lock_descriptor(file.fileno(), path):
            # the whole store may have been removed meanwhile, and another process have the lock of a new one
            if _is_at(path, file.fileno()):
                yield
                return


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False
