"""Fetch repositories one by one, each whole or not at all, and report the outcome of each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from phases.references.fetch.clone import CloneWorkspace, clone_repository
from phases.references.fetch.file_filter import make_printable, slug_of
from phases.references.fetch.install import (
    TEMPORARY,
    Manifest,
    backup_edits,
    foreign_names,
    install_repository,
    installed_manifest,
    manifest_path,
    remove_leftovers,
    remove_repository,
    remove_tree,
)
from phases.references.fetch.model import BY_HAND, FetchRules, RepositoryRefused, RunGit, WantedRepository
from phases.references.fetch.user_directories import (
    UserRepository,
    list_user_repositories,
    read_user_repository,
    refuse_overlap,
)
from phases.references.values import BASIS, BLACKLISTED, NO_NETWORK
from pipeline.base.files import make_directory, read_bytes, sha256, storage_error, sync_directory
from pipeline.base.http.addresses import Forbidden, Target, printable_url, target_of
from pipeline.base.http.blacklist import Blacklisted, why_blacklisted
from pipeline.base.http.fetch import DownloadError
from pipeline.base.logs import logger

Tell = Callable[[int, int, str], None]
_MAX_NAMED = 5


class _Order(NamedTuple):
    """One repository to have, under the name that it gets here."""

    name: str
    wanted: WantedRepository
    source: Target | UserRepository


def fetch_repositories(
    wanted: Sequence[WantedRepository], into: str, rules: FetchRules, git: RunGit, tell: Tell
) -> dict[str, Any]:
    """Return the value of code_base.json, with <name>/ and <name>.json in `into` for each fetched repository.

    A repository that is there and whole is not fetched again; one that is no longer wanted is removed if it is ours. A failure is
    reported, and the others continue. Raises StorageError, UsageError if a directory of the user's is our own, and what
    `rules.in_place` raises.
    """
    refuse_overlap(rules, into)
    rules.in_place()
    make_directory(into)
    strange = foreign_names(into)
    orders, refused, notes = _plan_orders(wanted, rules, into, strange)
    remove_leftovers(into, {order.name for order in orders}, strange)
    repositories = []
    for count, order in enumerate(orders):
        tell(count, len(orders), order.wanted.url)
        rules.in_place()
        try:
            manifest = _fetch_one(order, into, rules, git)
        except (RepositoryRefused, DownloadError, Forbidden) as error:
            # named, and the phase goes on: else every resume would try it again (decision 103)
            rules.in_place()
            remove_repository(order.name, into)
            logger.info("{} is not fetched: {}", order.wanted.url, error)
            refused.append({"url": order.wanted.url, "why": str(error), **_name_cause(error)})
            continue
        repositories.append(_repository_row(manifest, order.wanted))
        logger.info("{}: {} files at {}", order.wanted.url, len(manifest["files"]), manifest["commit"])
        logger.debug("{}: licence {}, left out {}", order.name, manifest["licence"], manifest["left_out"])
    _sync_directory(into)
    return {
        "version": 2,
        "source": _source_kind(wanted, rules),
        "sandbox": rules.sandbox,
        "repositories": repositories,
        "refused": refused,
        "notes": [*notes, *_foreign_notes(strange)],
        "files": [_manifest_row(row["name"], into) for row in sorted(repositories, key=lambda row: str(row["name"]))],
    }


def _name_cause(error: Exception) -> dict[str, str]:
    """Return the machine-readable cause of a refusal; empty for most."""
    if isinstance(error.__cause__, Blacklisted):  # a redirect led there
        return {"cause": BLACKLISTED}
    return {"cause": NO_NETWORK} if isinstance(error, DownloadError) and error.offline else {}


def _plan_orders(
    wanted: Sequence[WantedRepository], rules: FetchRules, into: str, strange: Collection[str]
) -> tuple[list[_Order], list[dict[str, str]], list[str]]:
    """Return the repositories to fetch, the user's own first, the immediate refusals, and notes."""
    taken = [*strange, *(name.removesuffix(".json") for name in strange)]
    # where the user gave folders, phase 07 wants nothing else: a mixture would look like a failed network (decision 106)
    folders, notes = list_user_repositories(rules.folders, into, taken) if rules.folders else ([], [])
    orders = [_Order(folder.name, WantedRepository(folder.url, BASIS), folder) for folder in folders]
    refused: list[dict[str, str]] = []
    known: dict[str, int] = {}
    for asked in wanted:
        target, fault = _parse_target(asked.url, rules)
        if target is None:
            refused.append({"url": printable_url(asked.url) or "(no address)", "why": fault})
        elif why := why_blacklisted(target, rules.blacklist):
            refused.append({"url": target.url, "why": why, "cause": BLACKLISTED})
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


def _parse_target(url: str, rules: FetchRules) -> tuple[Target | None, str]:
    """Return the parts of an address, or why it is refused."""
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


def _fetch_one(order: _Order, into: str, rules: FetchRules, git: RunGit) -> Manifest:
    """Return the manifest of a repository, fetched if necessary. The user's directories are always read again."""
    # what is there and whole stays, also when the phase runs again (decision 102)
    if isinstance(order.source, Target) and (manifest := installed_manifest(order.name, order.wanted.url, into)):
        return manifest
    backup_edits(order.name, into)
    temporary = os.path.join(into, TEMPORARY + order.name)
    _make_directory(temporary)
    try:
        if isinstance(order.source, UserRepository):
            source = read_user_repository(order.source, rules)
            return install_repository(source, order.name, order.wanted.url, into, rules.in_place)
        bench = CloneWorkspace(os.path.join(temporary, "git"), rules, git, time.monotonic() + rules.seconds)
        _make_directory(bench.folder)
        return install_repository(
            clone_repository(order.source, bench), order.name, order.wanted.url, into, rules.in_place
        )
    finally:
        remove_tree(os.path.basename(temporary), into)


def _foreign_notes(strange: Collection[str]) -> list[str]:
    """Return a note about names in code_base/ that are not ours."""
    if not strange:
        return []
    named = ", ".join(f"'{make_printable(name)}'" for name in sorted(strange)[:_MAX_NAMED])
    more = f" and {len(strange) - _MAX_NAMED} more" if len(strange) > _MAX_NAMED else ""
    what = "which phase 07 did not put there: that is neither read nor removed"
    return [f"code_base/ holds {named}{more}, {what}; give code of your own with --references DIR"]


def _make_directory(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except OSError as error:
        raise storage_error("make", folder, error) from error


def _sync_directory(folder: str) -> None:
    """Make names durable that an interrupted run left."""
    try:
        sync_directory(folder)
    except OSError as error:
        raise storage_error("sync", folder, error) from error


def _repository_row(manifest: Manifest, wanted: WantedRepository) -> dict[str, Any]:
    same = ("name", "url", "fetched_from", "commit", "licence", "licence_file")
    return {
        **{key: manifest[key] for key in same},
        "role": wanted.role,
        "references": list(wanted.references),
        "files": len(manifest["files"]),
        "bytes": manifest["bytes"],
        "left_out": manifest["left_out"],
    }


def _manifest_row(name: str, into: str) -> dict[str, Any]:
    data = read_bytes(manifest_path(name, into))
    return {"path": f"code_base/{name}.json", "bytes": len(data), "sha256": sha256(data)}


def _source_kind(wanted: Sequence[WantedRepository], rules: FetchRules) -> str:
    if rules.mirror:
        return "mirror"
    return "folders" if rules.folders and not wanted else "network"
