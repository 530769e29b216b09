"""Fetches repositories one by one, each whole or not at all, and tells what came of each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from phases.references.fetch.apart import refuse_own
from phases.references.fetch.cloning import Bench, cloned
from phases.references.fetch.folders import Folder, folder_content, folder_repositories
from phases.references.fetch.keeping import keep, keep_edits, kept
from phases.references.fetch.manifests import Manifest, manifest_path
from phases.references.fetch.names import printable, slug_of
from phases.references.fetch.removing import TEMPORARY, drop, remove, strangers, sweep
from phases.references.fetch.values import BY_HAND, Git, Refused, Rules, Wanted
from phases.references.values import BASIS, NO_NETWORK
from pipeline.base.files import make_directory, read_bytes, sha256, storage_error, sync_directory
from pipeline.base.http.addresses import Forbidden, Target, printable_url, target_of
from pipeline.base.http.answers import DownloadError

__all__ = ["Git", "Rules", "Tell", "Wanted", "fetch_repositories"]
Tell = Callable[[int, int, str], None]
_MOST_NAMED = 5


class _Order(NamedTuple):
    """One repository to have, under the name that it gets here."""

    name: str
    wanted: Wanted
    source: Target | Folder


def fetch_repositories(wanted: Sequence[Wanted], into: str, rules: Rules, git: Git, tell: Tell) -> dict[str, Any]:
    """The value of code_base.json. `into` then holds <name>/ and <name>.json of each repository that could be had.

    What is there already and whole is not fetched again; what nobody wants any more is removed where it is ours. One that
    fails is told of, and the others go on. Raises StorageError for a disk that says no, UsageError for a folder of the
    user's that is our own, and what `rules.in_place` raises.
    """
    refuse_own(rules, into)
    rules.in_place()
    make_directory(into)
    strange = strangers(into)
    orders, refused, notes = _orders(wanted, rules, into, strange)
    sweep(into, {order.name for order in orders}, strange)
    repositories = []
    for count, order in enumerate(orders):
        tell(count, len(orders), order.wanted.url)
        rules.in_place()
        try:
            manifest = _had(order, into, rules, git)
        except (Refused, DownloadError, Forbidden) as error:
            rules.in_place()
            drop(order.name, into)
            offline = isinstance(error, DownloadError) and error.offline
            refused.append({"url": order.wanted.url, "why": str(error), **({"cause": NO_NETWORK} if offline else {})})
            continue
        repositories.append(_row(manifest, order.wanted))
    _sync_names(into)
    return {
        "version": 2,
        "source": _source(wanted, rules),
        "sandbox": rules.sandbox,
        "repositories": repositories,
        "refused": refused,
        "notes": [*notes, *_note(strange)],
        "files": [_file(row["name"], into) for row in sorted(repositories, key=lambda row: str(row["name"]))],
    }


def _orders(
    wanted: Sequence[Wanted], rules: Rules, into: str, strange: Collection[str]
) -> tuple[list[_Order], list[dict[str, str]], list[str]]:
    """What is to be had, the user's own folders first, what is refused at once, and notes."""
    taken = [*strange, *(name.removesuffix(".json") for name in strange)]
    folders, notes = folder_repositories(rules.folders, into, taken) if rules.folders else ([], [])
    orders = [_Order(folder.name, Wanted(folder.url, BASIS), folder) for folder in folders]
    refused: list[dict[str, str]] = []
    known: dict[str, int] = {}
    for asked in wanted:
        target, fault = _target(asked.url, rules)
        if target is None:
            refused.append({"url": printable_url(asked.url) or "(no address)", "why": fault})
        elif (key := target.url.removesuffix(".git")) in known:
            place = known[key]
            both = (*orders[place].wanted.references, *asked.references)
            orders[place] = orders[place]._replace(
                wanted=orders[place].wanted._replace(references=tuple(dict.fromkeys(both)))
            )
        elif len(known) >= rules.most_repositories:
            most = f"{rules.most_repositories} repositories are fetched, and others come first"
            refused.append({"url": target.url, "why": f"at most {most}; {BY_HAND}, or raise the limit"})
        else:
            known[key] = len(orders)
            name = slug_of(target, [*taken, *(order.name for order in orders)])
            orders.append(_Order(name, asked._replace(url=target.url), target))
    return orders, refused, notes


def _target(url: str, rules: Rules) -> tuple[Target | None, str]:
    """The parts of an address, or why it is refused."""
    try:
        target = target_of(url, private=rules.private)
    except Forbidden as error:
        return None, f"{error}; check the address"
    if target.scheme != "https":
        return None, "only https:// is asked for repositories; check the address"
    path = target.path.rstrip("/")
    if not path or "?" in path or any(part in ("", ".", "..") for part in path[1:].split("/")):
        return None, "it is not the address of a repository, like https://host/owner/name; check the address"
    return Target(target.scheme, target.host, target.port, path), ""


def _had(order: _Order, into: str, rules: Rules, git: Git) -> Manifest:
    """The manifest of a repository that is there, or is now. Folders of the user's may change, and are read anew."""
    if isinstance(order.source, Target) and (manifest := kept(order.name, order.wanted.url, into)):
        return manifest
    keep_edits(order.name, into)
    temporary = os.path.join(into, TEMPORARY + order.name)
    _make(temporary)
    try:
        if isinstance(order.source, Folder):
            source = folder_content(order.source, rules)
            return keep(source, order.name, order.wanted.url, into, rules.in_place)
        bench = Bench(os.path.join(temporary, "git"), rules, git, time.monotonic() + rules.seconds)
        _make(bench.folder)
        return keep(cloned(order.source, bench), order.name, order.wanted.url, into, rules.in_place)
    finally:
        remove(os.path.basename(temporary), into)


def _note(strange: Collection[str]) -> list[str]:
    """What to know of names that are not ours, where there are any."""
    if not strange:
        return []
    named = ", ".join(f"'{printable(name)}'" for name in sorted(strange)[:_MOST_NAMED])
    more = f" and {len(strange) - _MOST_NAMED} more" if len(strange) > _MOST_NAMED else ""
    what = "which phase 07 did not put there: that is neither read nor removed"
    return [f"code_base/ holds {named}{more}, {what}; give code of your own with --references DIR"]


def _make(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except OSError as error:
        raise storage_error("make", folder, error) from error


def _sync_names(folder: str) -> None:
    """What a run before this one made may have been cut off before its name was durable."""
    try:
        sync_directory(folder)
    except OSError as error:
        raise storage_error("sync", folder, error) from error


def _row(manifest: Manifest, wanted: Wanted) -> dict[str, Any]:
    same = ("name", "url", "fetched_from", "commit", "licence", "licence_file")
    return {
        **{key: manifest[key] for key in same},
        "role": wanted.role,
        "references": list(wanted.references),
        "files": len(manifest["files"]),
        "bytes": manifest["bytes"],
        "left_out": manifest["left_out"],
    }


def _file(name: str, into: str) -> dict[str, Any]:
    data = read_bytes(manifest_path(name, into))
    return {"path": f"code_base/{name}.json", "bytes": len(data), "sha256": sha256(data)}


def _source(wanted: Sequence[Wanted], rules: Rules) -> str:
    if rules.mirror:
        return "mirror"
    return "folders" if rules.folders and not wanted else "network"
