"""Provide the data sets of a plan: given by the user, fetched with permission, or missing; data.json is the record."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from phases.sandbox.box import format_bytes
from phases.sandbox.devices import (
    IS_ADDRESS,
    DataAddress,
    parse_data,
    parse_data_addresses,
    split_data,
    variable_of,
)
from phases.workspace.task_paths import make_shared_directory
from pipeline.base.errors import ContractError, PipelineError, StorageError, TaskBusy
from pipeline.base.files import read_bytes, sha256, storage_error, sync_tree, write_durable
from pipeline.base.formats import dump_json, parse_json
from pipeline.base.http.addresses import Forbidden, printable_url, target_of
from pipeline.base.http.blacklist import why_blacklisted
from pipeline.base.lease import lock_descriptor
from pipeline.base.logs import utc_timestamp
from pipeline.base.safe_tree import open_file, open_regular, walk_files
from pipeline.engine.phase import Checker, Context

RECORD = "data.json"
GIVEN, FETCHED, MISSING = "given", "fetched", "missing"
ALLOW = "--allow-data"
UNKNOWN = "not stated"
_WRITER = "the pipeline command"
_LONGEST_NAME, _LONGEST_LICENCE = 40, 80
_MOST_NAMED = 4
_TOLD = ("name", "state", "address", "sha256", "bytes", "licence", "at", "why", "left_out_count")
_FACTS = ("sha256", "file", "bytes", "files", "tree_sha256", "at", "left_out", "left_out_count")
Row = dict[str, Any]


class Provided(NamedTuple):
    """Data sets as commands get them."""

    setting: str
    """NAME=PATH of each that is there, as in --data."""
    rows: tuple[Row, ...] = ()
    """All of them, as data.json has them."""

    def facts(self) -> list[Row]:
        """Return the data sets for results.json and the report, without paths of the user's."""
        return [{name: row[name] for name in _TOLD} for row in self.rows]

    def why_missing(self, name: str) -> str:
        """Return what a missing data set needs, in a sentence; it may be unknown to the plan."""
        row = next((row for row in self.rows if variable_of(row["name"]) == variable_of(name)), None)
        return describe_data([row] if row else [_new_row(name)])[0].removeprefix("data: ")


def data_name(called: str) -> str:
    """Return the name of a data set in --data and below /data: CIFAR-10 becomes cifar-10."""
    plain = re.sub(r"[^a-z0-9]+", "-", called.lower()).strip("-")
    return (plain if plain[:1].isalpha() else f"data-{plain}")[:_LONGEST_NAME].rstrip("-")


def data_store(cache_directory: str) -> str:
    """Return the directory of the data sets that tasks share; empty where it cannot be made."""
    return make_shared_directory(cache_directory, "data")


def remove_data(store: str) -> None:
    """Remove all downloads. Raises TaskBusy while a task downloads, and StorageError."""
    try:
        locks = [os.path.join(store, name) for name in os.listdir(store) if name.endswith(".lock")]
        with ExitStack() as held:
            for path in locks:
                file = held.enter_context(open_file(path, "r+b"))
                if not held.enter_context(lock_descriptor(file.fileno(), path, 0)):
                    raise TaskBusy(f"a task fetches data into {store} now; wait for it to end, or stop it first")
            shutil.rmtree(store)
    except OSError as error:
        raise storage_error("remove", store, error) from error


def list_data(plan: Mapping[str, Any], settings: Mapping[str, Any], root: str, contracts: Checker) -> list[Row]:
    """Return the data sets of a plan and of --data, without network access; earlier downloads count."""
    try:
        known = _read_record(root, contracts)
    except (ContractError, StorageError):
        known = {}  # who fetches tells of it
    rows = _wanted(plan, settings, known)
    is_there = [row["state"] == MISSING and bool(row["at"]) and not row["why"] and is_allowed(settings) for row in rows]
    return [{**row, "state": FETCHED} if there else row for row, there in zip(rows, is_there, strict=True)]


def provide_data(plan: Mapping[str, Any], ctx: Context) -> Provided:
    """Fetch missing data sets, update data.json, and report them. Raises UsageError, StorageError.

    A failed download is reported as missing with the reason, and does not end the run.
    """
    limits = ctx.limits
    rules = DownloadRules(
        data_store(ctx.cache_directory),
        (int(limits.get("max_data_mb") or 0) << 20) or sys.maxsize,
        str(limits.get("blacklist") or ""),
        limits.get("private_addresses") == "allowed",
        ctx.environment,
    )
    try:
        known = _read_record(ctx.paths.root, ctx.contracts)
    except (ContractError, StorageError) as error:
        ctx.tell(f"data: what was fetched before is not known any more, and nothing compared with it: {error}")
        known = {}
    rows = _wanted(plan, limits, known)
    for number, row in enumerate(rows):
        if row["state"] == MISSING and row["address"] and is_allowed(limits):
            rows[number] = _fetch(row, rules, ctx)
            _write_record(ctx, rows)  # at once: a kill must not lose what has to come again
    if rows:
        _write_record(ctx, rows)
    for line in describe_data([row for row in rows if row["state"] == MISSING and row["address"]]):
        ctx.tell(line)
    there = [f"{name}={path}" for name, path in split_data(str(limits.get("data") or "")) if not IS_ADDRESS.match(path)]
    there += [f"{row['name']}={_directory_of(row, rules.store)}" for row in rows if row["state"] == FETCHED]
    return Provided(os.pathsep.join(there), tuple(rows))


def describe_data(rows: Sequence[Mapping[str, Any]], *, allowed: bool = False) -> list[str]:
    """Return a line for each data set that is present or can be fetched, and one for the others. `allowed`: it is fetched."""
    lines = [_describe(row, allowed=allowed) for row in rows if row["state"] != MISSING or row["address"]]
    if missing := [row for row in rows if row["state"] == MISSING and not row["address"]]:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        named, first = ", ".join(map(_title_of, missing[:_MOST_NAMED])), missing[0]["name"]
        are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        lines.append(
            f"data: {named}{more} {are} missing; give {them} with --data {first}=PATH, or let {them} be fetched: "
            f"--data {first}=https://… {ALLOW}"
        )
    return lines


def _title_of(row: Mapping[str, Any]) -> str:
    """Return the name, with the plan's title if that differs."""
    called = " ".join(str(row.get("called") or "").split())[:_LONGEST_LICENCE]
    is_plain = not called or (called.isascii() and variable_of(data_name(called)) == variable_of(row["name"]))
    return row["name"] if is_plain else f"{row['name']} ({called})"


def _describe(row: Mapping[str, Any], *, allowed: bool = False) -> str:
    name, address = row["name"], printable_url(row["address"])
    if row["state"] == GIVEN:
        return f"data: {name} is given" + (f": {row['path']}" if row.get("path") else "")
    facts = f"{format_bytes(row['bytes'])}, " if row["bytes"] else ""
    if row["state"] == FETCHED:
        where = f"fetched from {address} on {row['at'][:10]} (licence: {row['licence']}; {facts}sha256 {row['sha256'][:12]})"
        out = row.get("left_out_count", 0)
        return f"data: {name} was {where}" + (
            f"; {out:,} of what its archive holds {_was(out)} left out" if out else ""
        )
    if row["why"]:
        return f"data: {name} is missing: {row['why']} (--data {name}=PATH takes a file or directory of yours)"
    if allowed:
        return f"data: {name} will be fetched from {address} ({facts}licence: {row['licence']})"
    return (
        f"data: {name} is missing; give it with --data {name}=PATH, or let it be fetched with {ALLOW} from {address} "
        f"({facts}licence: {row['licence']})"
    )


def _fetch(row: Row, rules: DownloadRules, ctx: Context) -> Row:
    """Return the row, fetched or with the reason why it is not. What was fetched once must come again, whatever the address
    gives.
    """
    if not rules.store:
        return {**row, "why": "no cache directory is writable, and downloads are stored there"}
    stored = find_stored(row["address"], row["sha256"], rules)
    if stored is None or has_changed(stored, rules.store):
        ctx.tell(f"data: fetches {row['name']} from {printable_url(row['address'])}{_warn_of_http(row)}")
        ctx.in_place()
        try:
            stored = fetch_data(row["address"], row["sha256"], rules)
        except NotFetched as error:
            return {**row, "why": f"{error}{_how_to_accept(row, error.sha256, ctx)}"}
    elif row["tree_sha256"] == stored.tree_sha256:
        return _fetched(row, stored)
    ctx.tell(_describe(_fetched(row, stored)))
    if row["at"] and row["sha256"] == stored.sha256 and row["tree_sha256"] not in ("", stored.tree_sha256):
        ctx.tell(f"data: {row['name']} is the same download as before, and other files are unpacked from it now")
    for name in stored.left_out:
        ctx.tell(f"data: of {row['name']} was left out {name}")
    if more := stored.left_out_count - len(stored.left_out):
        ctx.tell(f"data: of {row['name']} {_was(more)} left out {more:,} more")
    return _fetched(row, stored)


def _warn_of_http(row: Row) -> str:
    if row["sha256"] or not row["address"].lower().startswith("http://"):
        return ""
    return "; anybody on the way can change what comes over http://, unless #sha256=… behind the address says what must come"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _how_to_accept(row: Row, digest: str, ctx: Context) -> str:
    if not digest:
        return ""
    word = shlex.quote(f"{row['name']}={row['address']}#sha256={digest}")
    return f"; to take what it gives now: pipeline resume {os.path.basename(ctx.paths.root)} {ALLOW} --data {word}"


def _fetched(row: Row, found: StoredData) -> Row:
    facts = {name: getattr(found, name) for name in _FACTS}
    return {**row, **facts, "left_out": list(found.left_out), "state": FETCHED, "why": ""}


def _directory_of(row: Row, store: str) -> str:
    return os.path.join(store, f"{row['sha256']}-{row['file']}")


def is_allowed(settings: Mapping[str, Any]) -> bool:
    """Return whether the user permits downloads of data sets."""
    return settings.get("allow_data") == "yes"


def _wanted(plan: Mapping[str, Any], settings: Mapping[str, Any], known: Mapping[str, Row]) -> list[Row]:
    """Return the data sets of the plan with the user's settings, then those that only the user names."""
    setting = str(settings.get("data") or "")
    given = {folder.variable: folder for folder in parse_data(setting)}
    theirs = {variable_of(one.name): one for one in parse_data_addresses(setting)}
    rows: dict[str, Row] = {}
    for name, planned in _name_all(plan.get("datasets", ())):
        licence = " ".join(str(planned.get("licence") or UNKNOWN).split())[:_LONGEST_LICENCE]
        rows[variable_of(name)] = _new_row(name, planned["name"], planned.get("address", ""), licence)
    for variable, address in theirs.items():
        rows[variable] = _with_address(rows.get(variable) or _new_row(address.name), address)
    for variable, folder in given.items():
        row = rows.get(variable) or _new_row(folder.name)
        rows[variable] = {**row, "name": folder.name, "state": GIVEN, "path": folder.path, "address": "", "sha256": ""}
    return [_with_record(row, known.get(variable)) for variable, row in rows.items()]


def _name_all(planned: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each data set of a plan once, with a unique name: C++ is c, and C# then c-2."""
    names: dict[str, Mapping[str, Any]] = {}
    seen, taken = set(), set()
    for row in planned:
        spelled = re.sub(r"[\s_-]+", "", row["name"].casefold())
        if spelled in seen:
            continue
        seen.add(spelled)
        plain, number = data_name(row["name"]), 1
        while variable_of(name := plain if number == 1 else f"{plain[: _LONGEST_NAME - 5]}-{number}") in taken:
            number += 1
        taken.add(variable_of(name))
        names[name] = row
    return list(names.items())


def _with_address(row: Row, user: DataAddress) -> Row:
    return {**row, "name": user.name, "address": user.address, "sha256": user.sha256}


def _with_record(row: Row, known: Row | None) -> Row:
    """Return the row with the record of its download, if that was from this address and matches the user's request.

    Data that the user gives keep the record: without them, the same download is expected as before.
    """
    if known and row["state"] == GIVEN:
        before = known.get("before") or {name: known[name] for name in ("address", *_FACTS, "why") if name in known}
        return {**row, "before": before} if before["sha256"] else row
    known = {**known, **known.get("before", {})} if known else None
    if not known or known["address"] != row["address"] or row["sha256"] not in ("", known["sha256"]):
        return row
    return {**row, **{name: known[name] for name in (*_FACTS, "why") if name in known}}


def _new_row(name: str, called: str = "", address: str = "", licence: str = UNKNOWN) -> Row:
    nothing: Row = {"left_out": [], "left_out_count": 0}
    text = {"name": name, "called": called, "state": MISSING, "path": "", "address": address, "sha256": "", "file": ""}
    return {**text, "bytes": 0, "files": 0, "tree_sha256": "", "licence": licence, "at": "", "why": "", **nothing}


def _read_record(root: str, contracts: Checker) -> dict[str, Row]:
    """Return the rows of data.json by variable name. Raises ContractError and StorageError if it is damaged."""
    path = os.path.join(root, RECORD)
    if not os.path.lexists(path):
        return {}
    if not os.path.isfile(path) or os.path.islink(path):
        raise StorageError(f"{path} is not a regular file")
    rows = contracts.parse(RECORD, read_bytes(path), writer=_WRITER)["datasets"]
    return {variable_of(row["name"]): row for row in rows}


def _write_record(ctx: Context, rows: Sequence[Row]) -> None:
    data = dump_json({"version": 1, "datasets": list(rows)})
    ctx.contracts.parse(RECORD, data, writer=_WRITER)
    path = os.path.join(ctx.paths.root, RECORD)
    if not os.path.isfile(path) or read_bytes(path) != data:
        ctx.in_place()
        write_durable(path, data)


_SECONDS, _SECONDS_TO_CONNECT = 3600, 10
_MOST_MEMBERS = 100_000
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
"""By name and not by content: .npz, .docx and .pt are zips, too, and data as they are."""
_PAGES = ("text/html", "application/xhtml+xml")
_PAGE = re.compile(rb"\s{0,200}(?:<!--.{0,500}?-->\s{0,200})?<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
_LONGEST_FILE_NAME = 80
_MOST_LEFT_OUT = 20
_CHUNK = 1 << 20


class NotFetched(PipelineError):
    """A data set that could not be fetched, or that is not what it was: then `sha256` is that of what its address gives now."""

    def __init__(self, message: str, digest: str = "") -> None:
        super().__init__(message)
        self.sha256 = digest


class DownloadRules(NamedTuple):
    """Rules and target directory for downloads of data sets."""

    store: str
    """Directory that tasks share; no task can write to it."""
    most: int
    """Bytes: of what is downloaded, and of what that unpacks to."""
    blacklist: str = ""
    private: bool = False
    """True if addresses in a private network may be asked."""
    environment: Mapping[str, str] = {}
    """The user's, for the proxy in it."""


class StoredData(NamedTuple):
    """A data set in the store. Its files lie in a directory of their own."""

    address: str
    reached: str
    """Final address after redirects."""
    private: bool
    """True if addresses in a private network were permitted."""
    sha256: str
    """Digest of the download."""
    bytes: int
    file: str
    """The name of what was downloaded."""
    files: int
    tree_sha256: str
    """Digest of all files with their names, as commands see them."""
    at: str
    """Time of the download, UTC."""
    left_out: tuple[str, ...] = ()
    """Members of an archive that were not unpacked, each with the reason: the first of them."""
    left_out_count: int = 0
    """Total number of omissions."""

    def directory(self, store: str) -> str:
        """Return the path that commands read: the file, or the content of an archive."""
        return os.path.join(store, f"{self.sha256}-{self.file}")


def find_stored(address: str, digest: str, rules: DownloadRules) -> StoredData | None:
    """Return the newest download from an address, or the one with that sha256; None if there is none.

    Also None if the current rules might refuse it: a new download checks them.
    """
    candidates, store = [], rules.store
    for name in os.listdir(store) if os.path.isdir(store) else ():
        if name.startswith(_key_of(address)) and name.endswith(".json"):
            with suppress(StorageError, ValueError, KeyError, TypeError):
                row = parse_json(read_bytes(os.path.join(store, name)))
                candidates.append(StoredData(**{**row, "left_out": tuple(row["left_out"])}))
    fits = [
        data
        for data in candidates
        if data.address == address and digest in ("", data.sha256) and _is_permitted(data, rules)
    ]
    newest = max(fits, key=lambda data: data.at, default=None)
    return newest if newest and os.path.isdir(newest.directory(store)) else None


def _is_permitted(stored: StoredData, rules: DownloadRules) -> bool:
    try:
        asked = [target_of(url, private=rules.private) for url in (stored.address, stored.reached)]
    except Forbidden:
        return False
    # a download where an intranet was permitted says nothing of one where it is not
    return not (stored.private and not rules.private) and not any(
        why_blacklisted(target, rules.blacklist) for target in asked
    )


def has_changed(stored: StoredData, store: str) -> bool:
    """Return whether the files differ from the download; every byte is read."""
    return not _holds(stored.directory(store), stored.tree_sha256)


def fetch_data(address: str, digest: str, rules: DownloadRules) -> StoredData:
    """Download a data set, or use the download of another task that finished meanwhile. Raises NotFetched, StorageError.

    `digest` is the sha256 that it must have; empty for any. An archive is unpacked, and what must not be is left out.
    """
    home = os.path.join(rules.store, _key_of(address))
    with _only_one(f"{home}.lock"):
        if (stored := find_stored(address, digest, rules)) and not has_changed(stored, rules.store):
            return stored
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
    """Move a file, or the content of an archive, to its place in the store, and record it."""
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
            raise BadArchive("it contains no file that may be unpacked")
        sync_tree(unpacked)
        with _only_one(f"{target}.lock"):  # another address may give the same
            if not _holds(target, tree):
                shutil.rmtree(target, ignore_errors=True)  # it was damaged
                os.rename(unpacked, target)
    except BadArchive as error:
        raise NotFetched(f"{printable_url(data.address)} is an archive that is not unpacked: {error}") from error
    except OSError as error:
        raise storage_error("write", target, error) from error
    stored = data._replace(
        files=files, tree_sha256=tree, left_out=tuple(left_out[:_MOST_LEFT_OUT]), left_out_count=len(left_out)
    )
    write_durable(
        os.path.join(rules.store, f"{_key_of(data.address)}-{data.sha256[:16]}.json"), dump_json(stored._asdict())
    )
    return stored


def _key_of(address: str) -> str:
    return sha256(address.encode())[:32]


def _name_of(address: str, reached: str) -> str:
    """Return a name for the file: the last part of its address, or of its redirect target if that has a suffix."""
    paths = [["", *urlsplit(url).path.rstrip("/").split("/")] for url in (address, reached)]
    # .../data.zip/content is how archives of research serve data.zip
    names = [_make_plain(unquote(path[at])) for at in (-1, -2) for path in paths]
    return next((name for name in names if re.search(r"[^.]\.[A-Za-z]", name)), "") or names[0] or "data"


def _make_plain(name: str) -> str:
    """Return a file name of plain characters that keeps the suffix: 数据.zip becomes data.zip. Empty if nothing remains."""
    kind = next((one for one in _ARCHIVES if name.lower().endswith(one)), "")
    suffix = re.search(r"\.[A-Za-z][A-Za-z0-9]{0,15}$", name)
    ending = name[len(name) - len(kind) :] if kind else suffix[0] if suffix else ""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name[: len(name) - len(ending)]).strip(".-")
    return f"{stem or 'data'}{ending}"[-_LONGEST_FILE_NAME:].strip(".-") if stem or ending else ""


def _digest_tree(root: str) -> tuple[str, int]:
    """Return a digest of the names and bytes of all files below a directory, and how many there are. Raises OSError."""
    whole, count = hashlib.sha256(), 0
    for entry in walk_files(root):
        if not entry.is_regular():
            raise OSError(f"{entry.path} is not a file")
        *_, name = entry.path.split("/")
        own = hashlib.sha256()
        with os.fdopen(open_regular(name, entry.directory), "rb") as file:
            while piece := file.read(_CHUNK):
                own.update(piece)
        whole.update(f"{own.hexdigest()} {entry.path}\0".encode("utf-8", "surrogateescape"))
        count += 1
    return whole.hexdigest(), count


def _holds(directory: str, tree: str) -> bool:
    try:
        return _digest_tree(directory)[0] == tree
    except OSError:
        return False


@contextmanager
def _only_one(path: str) -> Iterator[None]:
    """Allow one download of an address at a time; a process that waited finds the result."""
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
