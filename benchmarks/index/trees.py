"""Folders of source code as a code_base, as the phase before indexing leaves one."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def sources_in(tree: Path, suffix: str = ".py") -> dict[str, bytes]:
    """path: content of the files of a tree."""
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted(tree.rglob("*" + suffix))
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts
    }


def code_base_of(folder: Path, repositories: Mapping[str, Mapping[str, bytes]]) -> list[dict[str, str]]:
    """Writes name: {path: content} as folder/code_base, and returns the rows of code_base.json that indexing reads."""
    for name, files in repositories.items():
        rows = []
        for path, data in sorted(files.items()):
            place = folder / "code_base" / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            rows.append({"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
        write_manifest(folder, name, rows)
    return [{"name": name} for name in repositories]


def write_manifest(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    """code_base/<name>.json."""
    head = {
        "version": 1,
        "name": name,
        "url": f"https://example.org/{name}",
        "fetched_from": "a folder",
        "commit": None,
    }
    rest = {"licence": None, "licence_file": None, "bytes": sum(int(str(row["bytes"])) for row in rows), "left_out": {}}
    os.makedirs(folder / "code_base", exist_ok=True)
    (folder / "code_base" / f"{name}.json").write_text(json.dumps({**head, **rest, "files": rows}))
