"""`--python`: commands use the packages of an environment of the user's own, and can change nothing in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from phases.evidence.bare_python import layer_python
from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, Box
from phases.sandbox.commands import run_command
from phases.sandbox.devices import check_python, packages_in
from phases.sandbox.probe import probe_kind
from phases.workspace.packages import own_packages
from pipeline.base.errors import UsageError
from tests.bare import shared_python
from tests.papers import HANGS


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """An environment with one package, and another one that it finds by a .pth file, as an editable installation does."""
    root = tmp_path / "my env"
    packages = Path(packages_in(str(root)))
    (packages / "pipelinetest_patience-1.5.dist-info").mkdir(parents=True)
    (packages / "pipelinetest_patience-1.5.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: pipelinetest_patience\nVersion: 1.5\n"
    )
    (packages / "pipelinetest_patience.py").write_text("VERSION = '1.5'\n")
    (root / "src").mkdir()
    (root / "src" / "pipelinetest_mine.py").write_text("HERE = True\n")
    (packages / "mine.pth").write_text(f"{root}/src\n")
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(sys.executable)
    return root


@pytest.mark.parametrize("kind", [BUBBLEWRAP, LANDLOCK])
def test_commands_find_its_packages_and_the_tools_and_cannot_write_to_it(kind: str, own: Path, tmp_path: Path) -> None:
    if not probe_kind(kind).usable:
        pytest.skip(probe_kind(kind).detail)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    bare = shared_python()
    layer = layer_python(str(own), bare, str(tmp_path / "python" / "own"))
    box = Box(str(workspace), kind, readable=(bare, str(own)), python=layer)
    asked = "import pipelinetest_patience as p, pipelinetest_mine, pytest; print(p.VERSION)"
    done = run_command(box, f'python -c "{asked}"', seconds=HANGS)
    assert (done.exit_code, done.output) == (0, "1.5\n"), done.output
    before = sorted(os.listdir(packages_in(str(own))))
    for target in (packages_in(str(own)), packages_in(layer)):
        refused = run_command(box, f"echo x > '{target}/evil.py'", seconds=HANGS)
        assert refused.exit_code != 0
        assert not os.path.exists(f"{target}/evil.py")
    assert sorted(os.listdir(packages_in(str(own)))) == before


def test_what_of_a_plan_is_in_it_is_told(own: Path, tmp_path: Path) -> None:
    layer = layer_python(str(own), shared_python(), str(tmp_path / "python" / "own"))
    found = own_packages(["Pipelinetest_patience (>=1)", "pipelinetest_nowhere"], str(own), layer)
    assert found.names == ("Pipelinetest_patience (>=1)",)
    assert found.installed == ({"name": "pipelinetest-patience", "version": "1.5"},)


def test_the_folder_and_its_program_both_name_it(own: Path) -> None:
    assert check_python(str(own)) == str(own)
    assert check_python(str(own / "bin" / "python")) == str(own)


@pytest.mark.parametrize("path", ["nowhere", ".", "/", "/usr", sys.base_prefix])
def test_what_is_no_environment_is_refused(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="which is not a Python environment"):
        check_python(path)


def test_an_environment_of_another_python_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "lib" / "python3.2" / "site-packages").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"is of Python 3\.2, and this program runs on .*make an environment: python3"):
        check_python(str(tmp_path))
