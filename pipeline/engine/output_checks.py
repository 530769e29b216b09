"""Whether what a phase returned is what it promised: its documents, and the files that they list."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pipeline.base.errors import ContractError
from pipeline.engine.phase import Documents, Phase


def refuse_wrong_names(phase: Phase, documents: Documents) -> None:
    """Raises ContractError for a document that is missing, or that the phase does not declare."""
    promised = {name for name in phase.writes if not name.endswith("/")}
    folders = tuple(name for name in phase.writes if name.endswith("/"))
    for name in promised - documents.keys():
        raise ContractError(f"phase {phase.label} did not return {name}, which it promises to write")
    for name in documents.keys() - promised:
        if not (folders and name.startswith(folders)) or ".." in name.split("/"):
            raise ContractError(f"phase {phase.label} returned {name}, which it does not declare")


def listed_digests(
    phase: Phase, documents: Documents, returned: Mapping[str, str], digest: Callable[[str], str | None]
) -> dict[str, str]:
    """The sha256 of every file that the manifests of the phase's folders list; each is there, returned or on the disk, just so.

    Raises ContractError for a file that is not, and for one outside the task.
    """
    found: dict[str, str] = {}
    if not any(name.endswith("/") for name in phase.writes):
        return found  # without a folder no document is a manifest: what it calls files is its own business
    for name, value in documents.items():
        for path, promised in _rows(getattr(value, "front", value)):
            if path.startswith("/") or ".." in path.split("/"):
                raise ContractError(f"{name} lists {path}, which is not in the task (written by phase {phase.label})")
            found[path] = returned.get(path) or digest(path) or ""
            if found[path] != promised:
                raise ContractError(
                    f"{name} lists {path} with another sha256 than the file has (written by phase {phase.label})"
                )
    return found


def _rows(document: object) -> list[tuple[str, str]]:
    """Path and sha256 of each file that a document lists as a manifest does. Any other shape of `files` is for its schema."""
    files = document.get("files") if isinstance(document, Mapping) else None
    rows = [row for row in files if isinstance(row, Mapping)] if isinstance(files, (list, tuple)) else []
    return [
        (row["path"], row["sha256"])
        for row in rows
        if isinstance(row.get("path"), str) and isinstance(row.get("sha256"), str)
    ]
