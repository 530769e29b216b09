"""What a workspace looks like to the kernel: the facts of the disk, as they were told, joined with those of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phases.supervision.wording import quote_text
from phases.supervision.work_ledger import WorkLedger

MOST_LISTED = 200
_SHOWN = 3
OK, ERROR = "ok", "error"
"""What a build summary begins with."""


@dataclass(frozen=True)
class DiskFacts:
    """The files of the work, against what was there when it began. Paths are relative to the workspace."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    left_out: int = 0
    """Further changed files, over the bound of these lists."""
    unmerged: tuple[str, ...] = ()
    """Files with the marks of a merge in them."""
    present: tuple[str, ...] = ()
    """Planned files that are there."""
    build_summary: str | None = None
    """`ok`, or `error: path does not parse: …`; None where there is nothing to parse."""
    head_broken: str = ""
    """What is wrong with the repository itself, like a merge that is not finished; empty where nothing is known to be."""

    @property
    def dirty(self) -> tuple[str, ...]:
        """All that is other than it was."""
        return *self.added, *self.modified, *self.deleted


@dataclass(frozen=True)
class WorkspaceSnapshot:
    """A workspace at the end of one round (M5). The lists are bounded; `git_summary` counts everything."""

    snapshot_id: str
    at: int
    git_summary: str
    files_added: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()
    build_summary: str | None = None
    test_summary: str | None = None
    """passed, failed or required."""

    @property
    def changed(self) -> bool:
        """Whether a file of the work was added or modified."""
        return bool(self.files_added or self.files_modified)


def snapshot_of(disk: DiskFacts, ledger: WorkLedger, turn: int) -> WorkspaceSnapshot:
    """The workspace as disk and ledger know it after a round."""
    return WorkspaceSnapshot(
        snapshot_id=f"snapshot-{turn}",
        at=turn,
        git_summary=_summarize_disk(disk),
        files_added=disk.added[:MOST_LISTED],
        files_modified=disk.modified[:MOST_LISTED],
        files_deleted=disk.deleted[:MOST_LISTED],
        build_summary=disk.build_summary,
        test_summary=ledger.test_summary,
    )


def name_few(paths: Sequence[str]) -> str:
    """The first paths, and how many more there are."""
    shown = ", ".join(quote_text(path, 60) for path in paths[:_SHOWN])
    return f"{shown} and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else shown


def _summarize_disk(disk: DiskFacts) -> str:
    counts = {
        "added": len(disk.added),
        "modified": len(disk.modified),
        "deleted": len(disk.deleted),
        "more": disk.left_out,
        "unmerged": len(disk.unmerged),
    }
    told = [f"{count} {what}" for what, count in counts.items() if count]
    if disk.head_broken:
        told.append(quote_text(disk.head_broken))
    return ", ".join(told) or "clean"
