"""scripts/refactor.py: what it moves, merges and renames means the same afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.refactor import RefactorError, carry_out

BEFORE = {
    "pipeline/__init__.py": "",
    "pipeline/shapes.py": '''"""Shapes."""
from __future__ import annotations

from pipeline.units import UNIT, scaled

LARGEST = scaled(5)


class Square:
    def __init__(self, side: int) -> None:
        self.side = side

    def area(self) -> int:
        told = self.side * self.side
        return told * UNIT


def told(shape: Square, *, twice: bool = False) -> str:
    """In words."""
    def inner(told: str) -> str:  # its own name
        return told
    return inner(f"{shape.area()}") * (2 if twice else 1)
''',
    "pipeline/units.py": '''"""Units."""
from __future__ import annotations

import json

UNIT = 3


def scaled(number: int) -> int:
    return json.loads(str(number)) * UNIT
''',
    "pipeline/use.py": '''"""Uses them."""
from __future__ import annotations

from pipeline import shapes
from pipeline.shapes import Square, told
from pipeline.units import UNIT


def show(told_before: str = "") -> str:
    from pipeline.shapes import LARGEST

    return told_before + told(Square(2)) + shapes.told(shapes.Square(1), twice=True) + f" {UNIT} {LARGEST}"
''',
    "docs/page.md": "See pipeline/shapes.py (`pipeline.shapes.told`), not pipeline/shapes_of_old.py.\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in BEFORE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def shown(project: Path, module: str = "pipeline.use") -> str:
    program = f"from {module} import show; print(show('> '))"
    done = subprocess.run([sys.executable, "-c", program], cwd=project, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.slow
def test_a_function_is_renamed_wherever_it_is_used_and_nothing_else_of_that_name(project: Path) -> None:
    before = shown(project)
    carry_out("rename pipeline.shapes told describe  # a verb\n", project)
    assert shown(project) == before
    text = (project / "pipeline/shapes.py").read_text()
    assert "def describe(shape" in text
    assert "told = self.side" in text
    assert "def inner(told: str)" in text
    assert "shapes.describe(shapes.Square(1)" in (project / "pipeline/use.py").read_text()
    assert "`pipeline.shapes.describe`" not in (project / "docs/page.md").read_text(), "only code is renamed"


@pytest.mark.slow
def test_a_module_and_a_package_move_with_every_import_and_every_mention(project: Path) -> None:
    before = shown(project)
    carry_out("move pipeline.shapes pipeline.base.figures\n", project)
    assert shown(project) == before
    use = (project / "pipeline/use.py").read_text()
    assert "from pipeline.base import figures" in use
    assert "figures.Square(1)" in use
    page = (project / "docs/page.md").read_text()
    assert page.startswith("See pipeline/base/figures.py (`pipeline.base.figures.told`), not pipeline/shapes_of_old.py")
    carry_out("move pipeline.base pipeline.ground\n", project)
    assert shown(project) == before
    assert not (project / "pipeline/base").exists()


def test_a_module_is_merged_into_another_in_an_order_that_can_be_imported(project: Path) -> None:
    before = shown(project)
    carry_out("merge pipeline.units pipeline.shapes\n", project)
    assert shown(project) == before
    text = (project / "pipeline/shapes.py").read_text()
    assert text.index("def scaled") < text.index("LARGEST = scaled(5)")
    assert text.startswith('"""Shapes."""')
    assert "pipeline.units" not in text
    assert not (project / "pipeline/units.py").exists()


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        pytest.param("rename pipeline.shapes nothing x", "does not define nothing", id="a name that is not there"),
        pytest.param("rename pipeline.shapes told Square", "already defines Square", id="a name that is taken"),
        pytest.param(
            "rename pipeline.shapes told show", "has a show of its own", id="a name that is taken where it is used"
        ),
        pytest.param("move pipeline.nowhere pipeline.x", "no module pipeline.nowhere", id="a module that is not there"),
        pytest.param("remove pipeline.shapes", "not an order", id="no order"),
        pytest.param(
            "merge pipeline.shapes pipeline.units", "imports pipeline.shapes as a module", id="imported as a module"
        ),
    ],
)
def test_what_cannot_be_done_is_said(project: Path, plan: str, reason: str) -> None:
    with pytest.raises(RefactorError, match=reason):
        carry_out(plan, project)
