"""Build, show and write what `hooks trust` trusts: whole hooks, digests of scripts, and changes since last time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from phases.acceptance.administration.discovery import what_runs
from phases.acceptance.configuration.checksums import ABSENT, UNREADABLE
from phases.acceptance.configuration.repo_hooks import (
    HOOKS_FILE,
    build_trust_entry,
    hash_user_scripts,
    read_store,
    write_trust,
)
from phases.acceptance.hook import COMMAND
from phases.acceptance.hook_registry import HookSetting
from pipeline.base.errors import UsageError

REPO_FILE = HOOKS_FILE
"""Path of the hooks file within a workspace."""
_PREFIX = 12
_SHOWN_APART = ("id", "point", "kind", "params", "sandbox")
NEW, CHANGED, SAME, GONE = "new", "changed", "as trusted", "gone"


class TrustOffer(NamedTuple):
    """The hooks and files of a workspace that can be trusted."""

    entry: dict[str, Any]
    """Entry for the store."""
    items: tuple[Mapping[str, Any], ...]
    """The hooks as parsed from the bytes that the entry covers."""
    hooks: Mapping[str, str]
    """Id -> new, changed, as trusted or gone."""
    scripts: Mapping[str, str]
    """Path -> the same."""
    user_scripts: Mapping[str, str]
    """The same, of scripts in the workspace that the user's own hooks name."""
    beside: Mapping[str, str]
    """The same, of the other files in the directory of the hooks file."""
    fault: str
    """Fault of the store; empty if it is sound."""

    @property
    def nothing_new(self) -> bool:
        """Return whether everything is trusted already."""
        marks = (self.hooks, self.scripts, self.user_scripts, self.beside)
        return {mark for part in marks for mark in part.values()} <= {SAME}

    @property
    def has_file(self) -> bool:
        return bool(self.entry["hooks_file_sha256"])


def build_offer(setting: HookSetting, workspace: str, at: str, by: str) -> TrustOffer:
    """Build the offer for a workspace. Raises UsageError if there is nothing, HookConfigError if it cannot be trusted."""
    own = setting.user_hooks()
    store = read_store(setting.store, setting.check_store)
    known = store.entry(workspace)
    there = os.path.lexists(os.path.join(workspace, HOOKS_FILE)) or hash_user_scripts(workspace, own)
    if not (there or (known and known["hooks"])):
        raise UsageError(
            f"there is nothing to trust: the workspace has no {HOOKS_FILE}, and no script that a hook of your own names; "
            f"write {workspace}/{HOOKS_FILE} first"
        )
    parsed: list[Mapping[str, Any]] = [{"hooks": {}}]

    def parse(data: bytes) -> Mapping[str, Any]:
        parsed.append(setting.parse(data))
        return parsed[-1]

    entry = build_trust_entry(workspace, parse, at, by, own)
    before = known or {"hooks": {}, "scripts": {}, "hooks_file_sha256": ""}
    hooks, scripts, named, beside = (
        _change_marks(entry.get(of, {}), before.get(of, {})) for of in ("hooks", "scripts", "user_scripts", "beside")
    )
    if before["hooks_file_sha256"] not in ("", entry["hooks_file_sha256"]):
        scripts = {HOOKS_FILE: CHANGED if entry["hooks_file_sha256"] else GONE, **scripts}
    items = tuple(parsed[-1]["hooks"].get("items", ()))
    return TrustOffer(entry, items, hooks, scripts, named, beside, "" if store.missing else store.fault)


def write_offer(setting: HookSetting, workspace: str, offer: TrustOffer) -> None:
    """Trust the offer. Raises TrustRefused."""
    write_trust(setting.store, workspace, offer.entry, setting.check_store)


def offer_lines(offer: TrustOffer, settings_file: str) -> Iterator[str]:
    """Yield the offer for a terminal that escapes unprintable characters. No line of a hook can pass for one of ours."""
    if offer.has_file and not offer.items:
        yield f"  {HOOKS_FILE} has no hooks"
    for item in offer.items:
        yield f"  {offer.hooks[item['id']]:<11} {item['id']}: {', '.join(_item_facts(item))}"
        for line in what_runs(item.get("params", {})).splitlines():
            yield f"{' ' * 14}| {line}"
    yield from (f"  {GONE:<11} {name}" for name, mark in offer.hooks.items() if mark == GONE)
    scripts = {HOOKS_FILE: offer.entry["hooks_file_sha256"], **offer.entry["scripts"]}
    yield from _file_lines("Files that decide with them:", offer.scripts, scripts)
    theirs = offer.entry.get("user_scripts", {})
    yield from _file_lines(f"Scripts of your own hooks ({settings_file}):", offer.user_scripts, theirs)
    title = f"Other files in {os.path.dirname(HOOKS_FILE)}/, which may decide in place of a script:"
    yield from _file_lines(title, offer.beside, offer.entry.get("beside", {}))


def offer_json(offer: TrustOffer) -> dict[str, Any]:
    """Return the offer as JSON."""
    return {
        "hooks_file_sha256": offer.entry["hooks_file_sha256"],
        "hooks": [{"change": offer.hooks[item["id"]], **item} for item in offer.items],
        "scripts": _file_rows(offer.scripts, offer.entry["scripts"]),
        "user_scripts": _file_rows(offer.user_scripts, offer.entry.get("user_scripts", {})),
        "beside": _file_rows(offer.beside, offer.entry.get("beside", {})),
        "gone": [name for name, mark in offer.hooks.items() if mark == GONE],
    }


def _file_lines(title: str, marks: Mapping[str, str], checksums: Mapping[str, str]) -> Iterator[str]:
    if marks:
        yield title
    for path, mark in marks.items():
        shown = path if path.isprintable() else json.dumps(path)
        yield f"  {mark:<11} {shown}  {_digest_text(checksums.get(path), gone=mark == GONE)}"


def _file_rows(marks: Mapping[str, str], checksums: Mapping[str, str]) -> list[dict[str, str | None]]:
    return [{"path": path, "change": mark, "sha256": checksums.get(path)} for path, mark in marks.items()]


def _change_marks(now: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    marks = {name: NEW if name not in before else SAME if before[name] == now[name] else CHANGED for name in now}
    return {**marks, **{name: GONE for name in before if name not in now}}


def _item_facts(item: Mapping[str, Any]) -> Iterator[str]:
    """Yield every field of an item except what it runs."""
    kind = item.get("kind", "builtin")
    yield f"{kind} at {item['point']}"
    if kind == COMMAND:
        yield "in the sandbox" if item.get("sandbox") else "with your own rights"
    yield from (f"{name} {json.dumps(value)}" for name, value in item.items() if name not in _SHOWN_APART)


def _digest_text(sha256: str | None, *, gone: bool) -> str:
    if gone or sha256 is None:
        return ""
    if sha256 == UNREADABLE:
        return "a link, or over 2 MiB: it will always count as changed; put a regular file there"
    return "it must stay absent" if sha256 == ABSENT else f"sha256 {sha256[:_PREFIX]}"
