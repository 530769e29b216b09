"""The wheel alone, in an empty environment, does the main job."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.papers import ROOT, paper

SECONDS = 600


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIPELINE_", "PYTHON"))}
    return subprocess.run(
        [str(argument) for argument in arguments],
        cwd=cwd,
        env={**environment, "HOME": str(cwd)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.slow
def test_the_wheel_alone_does_the_main_job(tmp_path: Path) -> None:
    reach = run(
        sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", tmp_path / "reach", "click", cwd=tmp_path
    )
    if reach.returncode:
        pytest.skip(f"pip cannot reach a package index: {reach.stderr.strip().splitlines()[-1:]}")
    built = run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    [wheel] = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for schema in (ROOT / "schemas").glob("*.schema.json"):
        assert f"pipeline/schemas/{schema.name}" in names
    assert not [name for name in names if name.startswith(("tests/", "tasks/", "examples/", "benchmarks/"))]

    venv.create(tmp_path / "empty", with_pip=True)
    bin_folder = tmp_path / "empty" / "bin"
    installed = run(bin_folder / "python", "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr

    (tmp_path / "work").mkdir()
    source = paper(tmp_path / "work")
    ended = run(bin_folder / "pipeline", "run", "--fast", source, cwd=tmp_path / "work")
    assert ended.returncode == 3, ended.stderr
    assert "Task paper: incomplete." in ended.stdout
    assert (tmp_path / "work" / "tasks" / "paper" / "traceability.json").is_file()
    doctor = run(bin_folder / "pipeline", "doctor", cwd=tmp_path / "work")
    assert doctor.returncode == 0, doctor.stdout
