"""Whether what a phase returned is what it promised: its documents, and the files that they list."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pipeline.errors import ContractError
from pipeline.phase import Documents, Phase


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
    documents: Documents, returned: Mapping[str, str], digest: Callable[[str], str | None], label: str
) -> dict[str, str]:
    """The sha256 of every file that a document lists in `files`; each is there, returned or on the disk, just so.

    Raises ContractError for a file that is not, and for one outside the task.
    """
    found: dict[str, str] = {}
    for name, value in documents.items():
        listed = getattr(value, "front", value)
        for row in (listed.get("files") or ()) if isinstance(listed, Mapping) else ():
            if not isinstance(row, Mapping) or "sha256" not in row:
                continue
            path = str(row["path"])
            if path.startswith("/") or ".." in path.split("/"):
                raise ContractError(f"{name} lists {path}, which is not in the task (written by {label})")
            found[path] = returned.get(path) or digest(path) or ""
            if found[path] != row["sha256"]:
                raise ContractError(f"{name} lists {path} with another sha256 than the file has (written by {label})")
    return found
