"""The data sets of a plan: given by the user, fetched where the user allowed it, or missing; data.json keeps which."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
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
from pipeline.base.errors import ContractError, StorageError
from pipeline.base.files import read_bytes, write_durable
from pipeline.base.formats import dump_json
from pipeline.base.http.addresses import printable_url
from pipeline.engine.phase import Checker, Context

RECORD = "data.json"
GIVEN, FETCHED, MISSING = "given", "fetched", "missing"
ALLOW = "--allow-data"
UNKNOWN = "not stated"
_WRITER = "the pipeline command"
_LONGEST_NAME, _LONGEST_LICENCE = 40, 80
_MOST_NAMED = 4
_TOLD = ("name", "state", "address", "sha256", "bytes", "licence", "at", "why")
_FACTS = ("sha256", "file", "bytes", "files", "tree_sha256", "at")
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
    """Where the data sets lie that tasks share; empty where that cannot be written."""
    usable = cache_directory and (os.access(cache_directory, os.W_OK) or not os.path.lexists(cache_directory))
    return os.path.join(cache_directory, "data") if usable else ""


def list_data(plan: Mapping[str, Any], settings: Mapping[str, Any], root: str, contracts: Checker) -> list[Row]:
    """The data sets of a plan and of --data, without a look at any network: what was fetched before is so."""
    rows = _wanted(plan, settings, _read_record(root, contracts))
    is_there = [row["state"] == MISSING and bool(row["at"]) and not row["why"] and is_allowed(settings) for row in rows]
    return [{**row, "state": FETCHED} if there else row for row, there in zip(rows, is_there, strict=True)]


def provide_data(plan: Mapping[str, Any], ctx: Context) -> Provided:
    """Fetches what is to be fetched and is not there yet, keeps data.json, and tells of it. Raises UsageError, StorageError.

    What cannot be fetched is missing, and the reason is told: that alone ends no run.
    """
    limits = ctx.limits
    rules = DownloadRules(
        data_store(ctx.cache_directory),
        int(limits.get("max_data_mb") or 0) << 20,
        str(limits.get("blacklist") or ""),
        limits.get("private_addresses") == "allowed",
        ctx.environment,
    )
    rows = _wanted(plan, limits, _read_record(ctx.paths.root, ctx.contracts))
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
    if missing := [row["name"] for row in rows if row["state"] == MISSING and not row["address"]]:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        one = len(missing) == 1
        lines.append(
            f"data: {', '.join(missing[:_MOST_NAMED])}{more} {'is' if one else 'are'} missing; give {'it' if one else 'them'} "
            f"with --data {missing[0]}=PATH, or let {'it' if one else 'them'} be fetched: --data {missing[0]}=https://… {ALLOW}"
        )
    return lines


def _describe(row: Mapping[str, Any], *, allowed: bool = False) -> str:
    name, address = row["name"], printable_url(row["address"])
    if row["state"] == GIVEN:
        return f"data: {name} is given" + (f": {row['path']}" if row.get("path") else "")
    facts = f"{format_bytes(row['bytes'])}, " if row["bytes"] else ""
    if row["state"] == FETCHED:
        where = f"fetched from {address} on {row['at'][:10]} (licence: {row['licence']}; {facts}sha256 {row['sha256'][:12]})"
        return f"data: {name} was {where}"
    if row["why"]:
        return f"data: {name} is missing: {row['why']}; give it with --data {name}=PATH"
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
        ctx.tell(f"data: fetches {row['name']} from {printable_url(row['address'])}")
        ctx.in_place()
        try:
            found = fetch_data(row["address"], row["sha256"], rules)
        except NotFetched as error:
            return {**row, "why": f"{error}{_how_to_accept(row, error.sha256, ctx)}"}
        ctx.tell(_describe(_fetched(row, found)))
        for name in found.left_out:
            ctx.tell(f"data: of {row['name']} was left out {name}")
    return _fetched(row, found)


def _how_to_accept(row: Row, digest: str, ctx: Context) -> str:
    if not digest:
        return ""
    word = shlex.quote(f"{row['name']}={row['address']}#sha256={digest}")
    return f"; to take what it gives now: pipeline resume {os.path.basename(ctx.paths.root)} {ALLOW} --data {word}"


def _fetched(row: Row, found: StoredData) -> Row:
    facts = {name: getattr(found, name) for name in _FACTS}
    return {**row, **facts, "state": FETCHED, "why": ""}


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
    for planned in plan.get("datasets", ()):
        licence = " ".join(str(planned.get("licence") or UNKNOWN).split())[:_LONGEST_LICENCE]
        row = _new_row(data_name(planned["name"]), planned["name"], planned.get("address", ""), licence)
        rows.setdefault(variable_of(row["name"]), row)
    for variable, address in theirs.items():
        rows[variable] = _with_address(rows.get(variable) or _new_row(address.name), address)
    for variable, folder in given.items():
        row = rows.get(variable) or _new_row(folder.name)
        rows[variable] = {**row, "name": folder.name, "state": GIVEN, "path": folder.path, "address": "", "sha256": ""}
    return [_with_record(row, known.get(variable)) for variable, row in rows.items()]


def _with_address(row: Row, user: DataAddress) -> Row:
    return {**row, "name": user.name, "address": user.address, "sha256": user.sha256}


def _with_record(row: Row, known: Row | None) -> Row:
    """The row with what is known of its download, where that was from this address, and is what the user asks for."""
    if not known or known["address"] != row["address"] or row["sha256"] not in ("", known["sha256"]):
        return row
    return {**row, **{name: known[name] for name in (*_FACTS, "why")}}


def _new_row(name: str, called: str = "", address: str = "", licence: str = UNKNOWN) -> Row:
    text = {"name": name, "called": called, "state": MISSING, "path": "", "address": address, "sha256": "", "file": ""}
    return {**text, "bytes": 0, "files": 0, "tree_sha256": "", "licence": licence, "at": "", "why": ""}


def _read_record(root: str, contracts: Checker) -> dict[str, Row]:
    """The rows of data.json by the variable of their name; of a damaged one nothing: what it held is fetched anew."""
    path = os.path.join(root, RECORD)
    if not os.path.isfile(path) or os.path.islink(path):
        return {}
    try:
        rows = contracts.parse(RECORD, read_bytes(path), writer=_WRITER)["datasets"]
    except (ContractError, StorageError):
        return {}
    return {variable_of(row["name"]): row for row in rows}


def _write_record(ctx: Context, rows: Sequence[Row]) -> None:
    data = dump_json({"version": 1, "datasets": list(rows)})
    ctx.contracts.parse(RECORD, data, writer=_WRITER)
    path = os.path.join(ctx.paths.root, RECORD)
    if not os.path.isfile(path) or read_bytes(path) != data:
        ctx.in_place()
        write_durable(path, data)
