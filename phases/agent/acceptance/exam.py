"""The exam: which files decide about acceptance, and what each must be. What was taken down first counts, in this journal and in
those that it follows on; only the user can put something else in its place, by vouching for it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from phases.agent.acceptance.configuration.pins import ABSENT, names_in, tampered
from phases.agent.acceptance.configuration.repo_hooks import HOOKS_FILE
from phases.agent.acceptance.hook import REPO, Hook
from phases.agent.acceptance.mounted import Mounted
from phases.agent.journal import recorded_rows
from phases.agent.workspace import CONTROL

BASE, PINS = "base", "pins"
"""Kinds of journal rows: what stood at the start, and files that came to be part of the exam since."""


class Past(NamedTuple):
    """What the journals say."""

    pins: Mapping[str, str]
    """What was taken down of files of the workspace: path -> sha256."""
    files: Mapping[str, str] | None
    """The workspace when this journal began; None while it begins."""


class Exam(NamedTuple):
    """The exam of one start of a run."""

    must: Mapping[str, str]
    """Path -> sha256, empty for one that must not be there. Absolute paths lie outside of the workspace."""
    new: Mapping[str, str]
    """Those of the workspace that no journal has taken down yet."""
    root: str

    def odd(self) -> list[str]:
        """The files that are not what they must be."""
        return list(tampered(self.must, self.root))

    def odd_of(self, hook: Hook) -> list[str]:
        """The same, of the files that one hook rests on."""
        mine = {*names_in(hook, self.root), *((HOOKS_FILE,) if hook.source == REPO else ())}
        pins = {path: digest for path, digest in self.must.items() if path in mine or os.path.isabs(path)}
        return list(tampered(pins, self.root))

    def missing_of(self, hook: Hook) -> list[str]:
        """Scripts of a hook in the user's folder of the workspace that are not there. The agent must not supply them."""
        named = (path for path in names_in(hook, self.root) if _is_control(path))
        return [path for path in named if not os.path.exists(os.path.join(self.root, path))]


def past_of(begun: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Past:
    """What the header of a journal and its rows have taken down. What came first counts."""
    pins, files = dict(begun.get("pins", {})), None
    for row in rows:
        if row["kind"] in (BASE, PINS):
            pins = {**row["result"]["pins"], **pins}
        if row["kind"] == BASE:
            files = row["result"]["manifest"]["files"]
    return Past(pins, files)


def pins_in(journal: str) -> Mapping[str, str]:
    """What a journal on the disk has taken down: another beginning of the work makes none of it another."""
    rows = recorded_rows(journal)
    return past_of(rows[0].get("begun", {}), rows[1:]).pins if rows else {}


def exam_of(mounted: Mounted, past: Past, planned: Collection[str], root: str) -> Exam:
    """The exam as it is now. `planned` files are the agent's to write, whatever hook of the user names them."""
    must: dict[str, str] = {}
    for path, now in mounted.named.items():
        if os.path.isabs(path):
            must[path] = (
                now  # only for this start: the user may mend it while the run stands still, and the agent cannot reach it
            )
        elif path not in planned:
            known = mounted.vouched.get(path, past.pins.get(path, _first_seen(path, now, past.files)))
            must.update({path: known} if known is not None else {})
    for path, now in mounted.repo.pins.items():
        must[path] = mounted.vouched.get(path, past.pins.get(path, now))
    if (
        HOOKS_FILE in past.pins and HOOKS_FILE not in mounted.vouched
    ):  # what it named cannot be told any more: all of it stays
        must = {**past.pins, **must}
    new = {path: digest for path, digest in must.items() if path not in past.pins and not os.path.isabs(path)}
    return Exam(must, new, root)


def _first_seen(path: str, now: str, files: Mapping[str, str] | None) -> str | None:
    """What a file that is named for the first time must be: as when the journal began. None where the agent may make it."""
    if files is not None:
        now = files.get(path, ABSENT)
    return now if now or _is_control(path) else None


def _is_control(path: str) -> bool:
    return path.split("/")[0] == CONTROL
