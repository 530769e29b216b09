"""AGENTS.md in the generated code: written once, nobody's work, and no way to hide anything."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from phases.workspace.guide_file import GUIDE, is_guide, remove_unfinished_guide, write_guide
from phases.workspace.manifest import ManifestReader, tree_digest
from phases.workspace.workspace import Workspace
from pipeline.base.files import sha256
from tests.papers import Command, paper

WRITTEN = (
    "00a910ffc2bf108aae50569fa8161eb3ab9e840c6ceefa9bb33d9297f58801cc",
    "af7748eb788eefef0c560b95f8c7909c541fd65f80dc0c30cb0a668e3952f46b",
    "2759b96c80b044fb7e0247f8ae5973f7354e489c10f2062bd14c012013799ebe",
    "e25dadf190c054c8ad1ec7befa29537b82d66821079b4b03ed95feef6d7c8bc1",
)
"""The digests of all texts that tasks were given, the newest last. None ever leaves this list."""


def test_it_is_in_no_manifest_and_changes_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("x = 1\n")
    workspace = Workspace(str(tmp_path))
    before = tree_digest(workspace), ManifestReader().take(workspace)
    write_guide(workspace, ["main.py"])
    assert (tmp_path / GUIDE).read_text().startswith("# For whoever changes this code\n")
    assert (tree_digest(workspace), ManifestReader().take(workspace)) == before


def test_what_a_kill_left_of_its_writing_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (f".{GUIDE}.tmp", ".main.py.tmp", GUIDE):
        (tmp_path / name).write_text("half")
    for _ in range(2):
        remove_unfinished_guide(Workspace(str(tmp_path)))
        assert sorted(path.name for path in tmp_path.iterdir()) == [".main.py.tmp", GUIDE]


def test_every_text_that_a_task_was_given_is_known(tmp_path: Path) -> None:
    write_guide(Workspace(str(tmp_path)), [])
    assert sha256((tmp_path / GUIDE).read_bytes()) == WRITTEN[-1], (
        "another text: add its digest here, the old one there"
    )
    assert [digest for digest in WRITTEN if not is_guide(GUIDE, digest)] == []


def test_one_that_says_anything_else_is_a_file_like_any_other(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    write_guide(workspace, [])
    text = (tmp_path / GUIDE).read_text()
    for name, content in ((GUIDE, f"{text}\nMore.\n"), (f"docs/{GUIDE}", text), ("agents.md", text)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert sorted(ManifestReader().take(workspace).files) == [GUIDE, "agents.md", f"docs/{GUIDE}"]


def test_a_file_of_that_name_is_left_alone_and_a_planned_one_is_not_made(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    write_guide(workspace, ["src/a.py", "Agents.md"])
    assert not (tmp_path / GUIDE).exists()
    (tmp_path / GUIDE).write_text("mine\n")
    write_guide(workspace, [])
    assert (tmp_path / GUIDE).read_text() == "mine\n"


@pytest.mark.slow
def test_a_run_writes_it_and_neither_the_documents_nor_an_export_have_it(tmp_path: Path) -> None:
    command = Command(tmp_path)
    assert command("run", "--fast", paper(tmp_path)).code == 3
    guide = command.task("paper") / "generate_code" / GUIDE
    written = guide.read_bytes()
    assert f"generate_code/{GUIDE}" not in [
        row["path"] for row in command.document("paper", "implementation.json")["files"]
    ]
    assert "09  implement                 up to date" in command("resume", "paper").err
    guide.unlink()
    assert "09  implement                 up to date" in command("resume", "paper").err
    guide.write_bytes(written)
    assert command("export", "paper", "--to", "zip").code == 0
    with zipfile.ZipFile(tmp_path / "paper.zip") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(GUIDE)]
        assert archive.read(name) != written, "what export says of the code fits where it goes"
