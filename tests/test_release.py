"""A release: a lock by hash, an audit that says no more than it looked up, and a wheel of the same bytes each time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts import release
from tests.papers import ROOT


def test_every_package_of_the_lock_has_its_hash_and_names_no_index() -> None:
    text = (ROOT / "requirements.lock").read_text()
    hashes = release.locked_hashes()
    assert len(hashes) > 40
    assert [name for name, files in hashes.items() if not files] == []
    assert not re.search(r"https?://|file:|--index|--find-links|^-e ", text, re.MULTILINE)


def test_the_lock_holds_all_that_development_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    [own] = [row for row in extras["dev"] if row.startswith("paper-pipeline[")]
    wanted = ["dev", *own.partition("[")[2].rstrip("]").split(",")]
    asked = [*project["dependencies"], *(row for name in wanted for row in extras[name])]
    names = {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", row)[0]).lower() for row in asked}  # type: ignore[index]
    assert len(names) > 40
    assert names - {"paper-pipeline"} <= release.locked_hashes().keys()


@pytest.mark.slow
def test_a_file_of_another_hash_is_not_installed(tmp_path: Path) -> None:
    first = (ROOT / "requirements.lock").read_text().partition("\n")[0].split("==")[0]
    (tmp_path / "lock").write_text(f"{first}=={first and '0.0.7'} --hash=sha256:{'0' * 64}\n")
    words = [
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--require-hashes",
        "-r",
        str(tmp_path / "lock"),
        "-d",
        str(tmp_path),
    ]
    ended = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode != 0
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("import sys; sys.exit('no network')", release.NOT_CHECKED, "not checked: no network"),
        ('print(\'{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}\')', 0, "1 packages looked up, 0"),
        ('print(\'{"dependencies": [{"name": "a", "skip_reason": "?"}]}\')', release.NOT_CHECKED, "not checked: a"),
        (
            'print(\'{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1"}]}]}\')',
            1,
            "a 1: X-1",
        ),
    ],
    ids=["offline", "clean", "left out", "a hole"],
)
def test_an_audit_says_what_it_looked_up_and_no_more(
    script: str, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.audit((sys.executable, "-c", script)) == code
    assert told in capsys.readouterr().out


@pytest.mark.slow
def test_two_builds_have_the_same_bytes_and_list_every_part(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        release.build(tmp_path / name)
        made.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert made[0] == made[1]
    assert len([name for name in made[0] if name.endswith((".whl", ".tar.gz"))]) == 2
    listed = json.loads(made[0]["sbom.cdx.json"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {re.match(r"[\w-]+", row)[0] for row in project["dependencies"]}  # type: ignore[index]
    assert wanted <= {part["name"] for part in listed["components"]}
    assert all(part["version"] and part["purl"] for part in listed["components"])
