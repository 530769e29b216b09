"""The data sets of a plan: given by the user, fetched where the user allowed it, or missing; data.json keeps which."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from phases.sandbox.box import format_bytes
from phases.sandbox.devices import (
    IS_ADDRESS,
    DataAddress,
    parse_data,
    parse_data_addresses,
    split_data,
    variable_of,
)
from phases.workspace.data_store import DownloadRules, NotFetched, StoredData, fetch_data, find_stored, has_changed
from phases.workspace.task_paths import make_shared_directory
from pipeline.base.errors import ContractError, StorageError, TaskBusy
from pipeline.base.files import read_bytes, storage_error, write_durable
from pipeline.base.formats import dump_json
from pipeline.base.http.addresses import printable_url
from pipeline.base.lease import lock_descriptor
from pipeline.base.safe_tree import open_file
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
    """What commands get of the data sets."""

    setting: str
    """NAME=PATH of each that is there, as in --data."""
    rows: tuple[Row, ...] = ()
    """All of them, as data.json has them."""

    def facts(self) -> list[Row]:
        """What results.json and the report tell of them: no path of the user's."""
        return [{name: row[name] for name in _TOLD} for row in self.rows]

    def why_missing(self, name: str) -> str:
        """What a data set that is missing needs, in a sentence. It need not be one of the plan."""
        row = next((row for row in self.rows if variable_of(row["name"]) == variable_of(name)), None)
        return describe_data([row] if row else [_new_row(name)])[0].removeprefix("data: ")


def data_name(called: str) -> str:
    """What a data set is called in --data and below /data: CIFAR-10 is cifar-10."""
    plain = re.sub(r"[^a-z0-9]+", "-", called.lower()).strip("-")
    return (plain if plain[:1].isalpha() else f"data-{plain}")[:_LONGEST_NAME].rstrip("-")


def data_store(cache_directory: str) -> str:
    """Return the directory of the data sets that tasks share; empty where it cannot be made."""
    return make_shared_directory(cache_directory, "data")


def remove_data(store: str) -> None:
    """Removes all that was fetched. Raises TaskBusy while a task fetches something, and StorageError."""
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
    """The data sets of a plan and of --data, without a look at any network: what was fetched before is so."""
    try:
        known = _read_record(root, contracts)
    except (ContractError, StorageError):
        known = {}  # who fetches tells of it
    rows = _wanted(plan, settings, known)
    is_there = [row["state"] == MISSING and bool(row["at"]) and not row["why"] and is_allowed(settings) for row in rows]
    return [{**row, "state": FETCHED} if there else row for row, there in zip(rows, is_there, strict=True)]


def provide_data(plan: Mapping[str, Any], ctx: Context) -> Provided:
    """Fetches what is to be fetched and is not there yet, keeps data.json, and tells of it. Raises UsageError, StorageError.

    What cannot be fetched is missing, and the reason is told: that alone ends no run.
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
    """A line for each data set that is there or could be fetched, and one for all others. `allowed`: it will be fetched."""
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
    """The name, and what the plan calls it where the name does not say that."""
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
        return f"data: {name} is missing: {row['why']} (--data {name}=PATH takes a file or folder of yours)"
    if allowed:
        return f"data: {name} will be fetched from {address} ({facts}licence: {row['licence']})"
    return (
        f"data: {name} is missing; give it with --data {name}=PATH, or let it be fetched with {ALLOW} from {address} "
        f"({facts}licence: {row['licence']})"
    )


def _fetch(row: Row, rules: DownloadRules, ctx: Context) -> Row:
    """The row, fetched or with the reason why it is not. What was fetched once must come again, whatever the address gives."""
    if not rules.store:
        return {**row, "why": "there is no cache directory that can be written, and what is fetched is kept there"}
    found = find_stored(row["address"], row["sha256"], rules)
    if found is None or has_changed(found, rules.store):
        ctx.tell(f"data: fetches {row['name']} from {printable_url(row['address'])}{_warn_of_http(row)}")
        ctx.in_place()
        try:
            found = fetch_data(row["address"], row["sha256"], rules)
        except NotFetched as error:
            return {**row, "why": f"{error}{_how_to_accept(row, error.sha256, ctx)}"}
    elif row["tree_sha256"] == found.tree_sha256:
        return _fetched(row, found)
    ctx.tell(_describe(_fetched(row, found)))
    if row["at"] and row["sha256"] == found.sha256 and row["tree_sha256"] not in ("", found.tree_sha256):
        ctx.tell(f"data: {row['name']} is the same download as before, and other files are unpacked from it now")
    for name in found.left_out:
        ctx.tell(f"data: of {row['name']} was left out {name}")
    if more := found.left_out_count - len(found.left_out):
        ctx.tell(f"data: of {row['name']} {_was(more)} left out {more:,} more")
    return _fetched(row, found)


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
    """Whether the user lets data sets be fetched."""
    return settings.get("allow_data") == "yes"


def _wanted(plan: Mapping[str, Any], settings: Mapping[str, Any], known: Mapping[str, Row]) -> list[Row]:
    """The data sets of the plan, and what the user says of them; then what only the user names."""
    said = str(settings.get("data") or "")
    given = {folder.variable: folder for folder in parse_data(said)}
    theirs = {variable_of(one.name): one for one in parse_data_addresses(said)}
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
    """Each data set of a plan once, with its name; what another has already gets a number: C++ is c, and C# then c-2."""
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
    """The row with what is known of its download, where that was from this address, and is what the user asks for.

    What the user gives keeps it aside: without the user's own files the same must come again as before.
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
    """The rows of data.json by the variable of their name. Raises ContractError, StorageError where it is damaged."""
    path = os.path.join(root, RECORD)
    if not os.path.lexists(path):
        return {}
    if not os.path.isfile(path) or os.path.islink(path):
        raise StorageError(f"{path} is no regular file")
    rows = contracts.parse(RECORD, read_bytes(path), writer=_WRITER)["datasets"]
    return {variable_of(row["name"]): row for row in rows}


def _write_record(ctx: Context, rows: Sequence[Row]) -> None:
    data = dump_json({"version": 1, "datasets": list(rows)})
    ctx.contracts.parse(RECORD, data, writer=_WRITER)
    path = os.path.join(ctx.paths.root, RECORD)
    if not os.path.isfile(path) or read_bytes(path) != data:
        ctx.in_place()
        write_durable(path, data)
