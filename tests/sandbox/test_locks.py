"""Locks of packages: read from the standard's lock file, kept with the task, and believed only as far as they name packages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phases.sandbox.locks import (
    describe_packages,
    parse_pylock,
    read_lock,
    render_requirements,
    write_lock,
)

ONE, TWO = "1" * 64, "2" * 64
PYLOCK = f"""
lock-version = "1.0"
[[packages]]
name = "torch"
version = "2.5.1+cpu"
wheels = [{{ url = "https://example.org/a.whl", size = 850000000, hashes = {{ sha256 = "{ONE}" }} }},
          {{ url = "https://example.org/b.whl", size = 190000000, hashes = {{ sha256 = "{TWO}" }} }}]
[[packages]]
name = "tqdm"
version = "4.70"
wheels = [{{ url = "https://example.org/c.whl", hashes = {{ sha256 = "{TWO}" }} }}]
"""


def test_a_lock_keeps_names_versions_and_the_hash_of_each_file(tmp_path: Path) -> None:
    packages = parse_pylock(PYLOCK.encode())
    write_lock(str(tmp_path), "of this", packages)
    assert read_lock(str(tmp_path), "of this") == packages
    assert read_lock(str(tmp_path), "of that") is None
    assert render_requirements(packages).decode().replace(" \\\n    ", " ") == (
        f"torch==2.5.1+cpu --hash=sha256:{ONE} --hash=sha256:{TWO}\ntqdm==4.70 --hash=sha256:{TWO}\n"
    )
    rows = [row._asdict() for row in packages]
    shown = describe_packages(rows, ["Torch>=2"])
    assert shown == "torch 2.5.1+cpu (850 MB) and 1 that this needs; 850 MB to download, if none of it is here yet"
    assert describe_packages(rows[1:], ["tqdm"]) == "tqdm 4.70"


def lock_in(folder: Path) -> Path:
    """Where the lock of x is."""
    folder.mkdir(exist_ok=True)
    write_lock(str(folder), "x", parse_pylock(PYLOCK.encode()))
    [path] = folder.glob("lock-*.json")
    return path


@pytest.mark.parametrize(
    "row",
    [
        {"name": "-r /etc/passwd"},
        {"name": "x @ https://example.org/x.whl"},
        {"version": "1\n--index-url https://example.org"},
        {"version": "1 --global-option=y"},
        {"sha256": []},
        {"sha256": ["0" * 63 + "\n"]},
        {"bytes": -1},
        {"bytes": "many"},
    ],
    ids=str,
)
def test_a_lock_of_a_stranger_can_name_nothing_but_packages(tmp_path: Path, row: dict[str, object]) -> None:
    sound = {"name": "numpy", "version": "2.1.0", "sha256": [ONE], "bytes": None}
    for packages, is_lock in (([sound], True), ([sound, {**sound, **row}], False)):
        lock_in(tmp_path).write_text(json.dumps({"version": 1, "of": "x", "packages": packages}))
        assert (read_lock(str(tmp_path), "x") is not None) == is_lock


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"of": "x", "packages": {}}', '{"of": "x", "packages": [1]}', "\0"])
def test_a_damaged_lock_is_none(tmp_path: Path, text: str) -> None:
    lock_in(tmp_path).write_text(text)
    assert not read_lock(str(tmp_path), "x")


def test_a_package_without_a_hash_is_no_lock() -> None:
    with pytest.raises(ValueError, match="no locked package"):
        parse_pylock(b'[[packages]]\nname = "x"\nversion = "1"\n')
