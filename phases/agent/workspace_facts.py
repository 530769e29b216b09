"""What the disk says of the work, for the kernel: read by the safe reader alone, and no repository is asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from phases.supervision.facts import ERROR, OK, DiskFacts
from phases.workspace import syntax
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.files import sha256
from pipeline.base.text_escaping import one_line

MOST_FILES = 500
"""Changed files that are told of each kind; further ones are counted."""
_BEGINS, _ENDS = "\n<<<<<<< ", "\n>>>>>>> "
_PYTHON = (".py", ".pyi")


class _PlannedFile(NamedTuple):
    """A planned file that is there, as far as it is looked into."""

    sha256: str
    unmerged: bool
    fault: str
    """Why it does not parse; empty where it does, and where nobody looked."""


def read_disk_facts(
    workspace: Workspace, planned: Sequence[str], before: Mapping[str, str], written: Collection[str] = ()
) -> DiskFacts:
    """The workspace against its beginning. `before`: the sha256 of files that were there; `written`: what calls are known
    to have changed.

    Only the content of planned files, and of those in `before`, is read. Of all others it counts that they are there, and
    only for kinds of files that the plan has: tables, pictures and checkpoints that a run leaves behind are no work.
    """
    # The workspace's .git is not asked: the directory is hostile, and git runs what its configuration says (decision 73).
    files = _read_planned(workspace, planned)
    listed = set(workspace.paths())
    there = {*files, *listed, *(path for path in {*before, *written} - listed if workspace.exists(path))}
    ours = dict.fromkeys((*planned, *sorted(_work_files(listed, planned, written))))
    added = [path for path in ours if path in there and path not in before]
    modified = [path for path in before if path in there and _digest_of(workspace, path, files) != before[path]]
    deleted = [path for path in before if path not in there]
    return DiskFacts(
        added=tuple(added[:MOST_FILES]),
        modified=tuple(modified[:MOST_FILES]),
        deleted=tuple(deleted[:MOST_FILES]),
        left_out=sum(len(paths[MOST_FILES:]) for paths in (added, modified, deleted)),
        unmerged=tuple(path for path, file in files.items() if file.unmerged)[:MOST_FILES],
        present=tuple(files),
        build_summary=_build_summary(files),
    )


def _read_planned(workspace: Workspace, planned: Sequence[str]) -> dict[str, _PlannedFile]:
    """The planned files that can be read. Each is read once, and none is held; after one fault nothing more is parsed."""
    files: dict[str, _PlannedFile] = {}
    broken = False
    for path in dict.fromkeys(planned):
        try:
            data = workspace.read_bytes(path)
        except WorkspaceError:
            continue
        text = data.decode("utf-8", "replace")
        fault = syntax.find_syntax_fault(path, text) if path.endswith(_PYTHON) and not broken else None
        broken = broken or bool(fault)
        files[path] = _PlannedFile(sha256(data), _is_unmerged(text), fault or "")
    return files


def _is_unmerged(text: str) -> bool:
    lines = "\n" + text
    begins = lines.find(_BEGINS)
    return begins >= 0 and lines.find(_ENDS, begins + 1) >= 0


def _work_files(listed: Collection[str], planned: Sequence[str], written: Collection[str]) -> set[str]:
    kinds = {_kind_of(path) for path in planned}
    return {path for path in listed if _kind_of(path) in kinds} | set(written)


def _kind_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :].casefold() if "." in name else name


def _digest_of(workspace: Workspace, path: str, files: Mapping[str, _PlannedFile]) -> str | None:
    return files[path].sha256 if path in files else workspace.digest_of(path)


def _build_summary(files: Mapping[str, _PlannedFile]) -> str | None:
    """The first planned Python file that does not parse. An empty one does: it is for others to say that it is empty."""
    if not any(path.endswith(_PYTHON) for path in files):
        return None
    path, fault = next(((path, file.fault) for path, file in files.items() if file.fault), ("", ""))
    # Place and message, without the line itself: that is text of the workspace, and would be read for what it says.
    told = ": ".join(fault.split(": ")[:2])
    return f"{ERROR}: {one_line(path, 80)} does not parse: {one_line(told, 100)}" if path else OK
