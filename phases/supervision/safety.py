"""Whether a workspace is fit to be built upon (M7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from phases.supervision.ledger import WorkLedger
from phases.supervision.texts import quoted
from phases.supervision.workspace import DiskFacts, WorkspaceSnapshot, few

MISSING, UNMERGED, UNFINISHED, BROKEN = "missing_files", "unmerged", "unfinished_merge", "broken_baseline"
# As words of their own: tests/test_crash.py and crash.py are names, and say nothing of how a build ended.
_BROKEN = re.compile(
    r"(?<![\w./-])(?:fatal|crash(?:ed)?|panic(?:ked)?|segfault|segmentation fault)(?![\w/-]|\.\w)", re.IGNORECASE
)


@dataclass(frozen=True)
class Safety:
    """`reasons` are short words for the event log; `human_reason` says the same to a reader."""

    recoverable: bool
    reasons: tuple[str, ...] = ()
    missing_files: tuple[str, ...] = ()
    human_reason: str = ""


def check(snapshot: WorkspaceSnapshot, disk: DiskFacts, ledger: WorkLedger, planned: Sequence[str]) -> Safety:
    """All must hold: what was written is there, nothing is half merged, and no build died."""
    there = set(disk.present)
    missing = tuple(path for path in planned if path in ledger.files and path not in there)
    died = next((text for text in (ledger.build_output, snapshot.build_summary or "") if _BROKEN.search(text)), "")
    found = {
        MISSING: f"written and gone: {few(missing)}" if missing else "",
        UNMERGED: f"marks of a merge in {few(disk.unmerged)}" if disk.unmerged else "",
        UNFINISHED: quoted(disk.head_broken),
        BROKEN: f"the last check died: {quoted(died)}" if died else "",
    }
    reasons = tuple(reason for reason, told in found.items() if told)
    return Safety(not reasons, reasons, missing, "; ".join(found[reason] for reason in reasons))
