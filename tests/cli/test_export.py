"""`pipeline export`: what leaves a task is the code, what it is worth, and nothing that acts."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml

from phases.evidence.traceability import describe_counts
from phases.pages.notebook import Walk, render_notebook
from tests.papers import Command, copy_command, paper


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A finished scaffold of a small paper."""
    command = Command(tmp_path_factory.mktemp("finished"))
    assert command("run", "--fast", paper(command.folder)).code == 3
    return command


@pytest.fixture
def command(finished: Command, tmp_path: Path) -> Command:
    """A finished scaffold of a small paper, of this test alone."""
    return copy_command(finished, tmp_path)


def code_of(command: Command) -> dict[str, bytes]:
    root = command.task("paper") / "generate_code"
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_notebook_is_valid_writes_the_same_code_and_was_run(command: Command) -> None:
    plan = yaml.safe_load((command.task("paper") / "initial_plan.txt").read_text())
    ended = command("export", "paper", "--to", "notebook")
    assert (ended.code, ended.out) == (0, "wrote paper.ipynb\n"), ended.err
    notebook = nbformat.read(command.folder / "paper.ipynb", as_version=4)  # type: ignore[no-untyped-call]  # it has none
    nbformat.validate(notebook)
    texts = [cell.source for cell in notebook.cells]
    assert texts[0].startswith("# Slow Waiting for Everyone\n\nCode written by rules, without a model")
    assert [texts[place].partition("\n")[0] for place in (1, 3, -2)] == ["## Install", "## The code", "## The checks"]
    assert texts[2].startswith("%pip install -q ")
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code"), texts[0]
    assert "OK" in notebook.cells[-1].outputs[0].text
    section = next(place for place, text in enumerate(texts) if text.startswith("## 2"))
    assert "**R1** (page 1, " in "".join(texts[section:])
    written = {}
    for text in texts:
        first, _, rest = text.partition("\n")
        if first.startswith("%%writefile "):
            written[shlex.split(first)[1]] = rest.encode()
    assert written == {path: data for path, data in code_of(command).items() if data.strip()}
    order = [path for path in plan["implementation_strategy"] if path in written]
    assert list(written)[: len(order)] == order


def test_a_notebook_whose_cells_fail_says_so(command: Command) -> None:
    broken = next((command.task("paper") / "generate_code").glob("*/config.py"))
    broken.write_text("raise ValueError('of no use')\n")
    ended = command("export", "paper", "--to", "notebook")
    assert (ended.code, ended.err.count("not all cells ran: ValueError: of no use")) == (0, 1)
    notebook = nbformat.read(command.folder / "paper.ipynb", as_version=4)  # type: ignore[no-untyped-call]  # as above
    assert "**Not all cells ran when this notebook was made:** ValueError: of no use" in notebook.cells[0].source


def test_code_in_another_language_is_no_notebook_and_its_container_has_its_tools(command: Command) -> None:
    path = command.task("paper") / "initial_plan.txt"
    path.write_text(path.read_text().replace("language: Python", "language: Rust"))
    ended = command("export", "paper", "--to", "notebook")
    assert (ended.code, "export it with --to zip or --to git" in ended.err) == (2, True)
    assert command("export", "paper", "--to", "zip", "-o", "out.zip").code == 0
    with zipfile.ZipFile(command.folder / "out.zip") as archive:
        assert b"ARG BASE=docker.io/library/rust" in archive.read("paper/Containerfile")
        assert b"\ncargo fetch\n" in archive.read("paper/reproduce.sh")
        assert "paper/requirements.txt" not in archive.namelist()


@pytest.mark.parametrize(
    ("model", "author"),
    [
        pytest.param(
            "agent:/home/me/bin/claude -p x", "Code written by claude, an agent that its user ran.", id="own agent"
        ),
        pytest.param("given", "Code written elsewhere.", id="given"),
    ],
)
def test_who_wrote_the_code_is_said(model: str, author: str, command: Command) -> None:
    path = command.task("paper") / "task.json"
    task = json.loads(path.read_text())
    path.write_text(json.dumps({**task, "settings": {**task["settings"], "code_model": model}}))
    assert command("export", "paper", "--to", "zip", "-o", "out.zip").code == 0
    with zipfile.ZipFile(command.folder / "out.zip") as archive:
        assert author in archive.read("paper/PROVENANCE.md").decode()


def test_what_a_paper_says_is_shown_and_does_nothing() -> None:
    evil = "<img src=x onerror=alert(1)> [click](javascript:x) `a` | b"
    row = {
        "id": "R1",
        "text": evil,
        "status": "located",
        "places": ["a`b.py:c"],
        "tests": [],
        "source": {"section": evil, "page": 0},
    }
    walk = Walk("n", evil, evil, (), [row], {"a b.py": "x = 1\n", "e.py": ""}, (), (), ())
    made = render_notebook(walk, lambda sources: ((), evil))
    nbformat.validate(nbformat.from_dict(made))  # type: ignore[no-untyped-call]  # as above
    shown = "".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert "<img" not in shown
    assert "[click](" not in shown.replace("\\[click\\](", "")
    assert "%%writefile 'a b.py'\nx = 1\n" in [cell["source"] for cell in made["cells"]]


def test_a_zip_holds_the_code_with_its_own_readme_who_wrote_it_and_how_to_run_it(command: Command) -> None:
    assert command("export", "--to", "zip", "-o", "out.zip", "--agents-md").code == 0
    with zipfile.ZipFile(command.folder / "out.zip") as archive:
        held = {row.filename.removeprefix("paper/"): archive.read(row) for row in archive.infolist()}
        modes = {row.filename: row.external_attr >> 16 for row in archive.infolist()}
    code = code_of(command)
    assert {name: data for name, data in held.items() if name in code} == code
    assert sorted(set(held) - set(code)) == [
        "AGENTS.md",
        "Containerfile",
        "PROVENANCE.md",
        "reproduce.sh",
        "requirements.txt",
    ]
    counts = command.document("paper", "report.json")["requirements"]
    assert describe_counts(counts) in held["PROVENANCE.md"].decode()
    assert b"No code from other projects was shown" in held["PROVENANCE.md"]
    assert b"\n- R1 (section" in held["PROVENANCE.md"]
    assert b"      python -m unittest discover" in held["AGENTS.md"]
    assert modes["paper/reproduce.sh"] & 0o111
    assert subprocess.run(["sh", "-n"], input=held["reproduce.sh"], check=False).returncode == 0
    assert not [name for name in held if "paper.md" in name or ".pipeline" in name]


def test_an_export_says_which_files_of_packages_it_was_made_with(command: Command) -> None:
    path = command.task("paper") / "package_lock.json"
    row = {"name": "numpy", "version": "2.1.0", "sha256": ["1" * 64], "bytes": None}
    locked = {"outcome": "locked", "asked": ["numpy>=2"], "resolved": [row]}
    path.write_text(json.dumps({**json.loads(path.read_text()), **locked}))
    assert command("export", "--to", "zip", "-o", "out.zip").code == 0
    with zipfile.ZipFile(command.folder / "out.zip") as archive:
        assert archive.read("paper/requirements.lock").decode() == f"numpy==2.1.0 \\\n    --hash=sha256:{'1' * 64}\n"


def test_an_export_says_where_its_data_are_from_and_nothing_of_the_users_paths(command: Command) -> None:
    row = dict.fromkeys(("called", "path", "address", "sha256", "file", "tree_sha256", "at", "why"), "")
    row |= {"name": "iris", "state": "fetched", "bytes": 8, "files": 1, "licence": "CC BY 4.0"}  # type: ignore[dict-item]
    rows = [
        {**row, "address": "https://example.org/iris.csv", "sha256": "1" * 64},
        {**row, "name": "own", "state": "given", "path": "/home/me/secret-project"},
        {**row, "name": "gone", "state": "missing"},
    ]
    (command.task("paper") / "data.json").write_text(json.dumps({"version": 1, "datasets": rows}))
    assert command("export", "--to", "zip", "-o", "out.zip").code == 0
    with zipfile.ZipFile(command.folder / "out.zip") as archive:
        text = archive.read("paper/PROVENANCE.md").decode()
        container = archive.read("paper/Containerfile").decode()
    assert f"- `/data/iris`: https://example.org/iris.csv, sha256 `{'1' * 64}`, licence: CC BY 4.0" in text
    assert ("- `/data/own`: given by its user" in text, "gone" in text, "secret" in text) == (True, False, False)
    assert "RUN sh reproduce.sh install" in container


def git(folder: Path, *arguments: str) -> str:
    ended = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return ended.stdout


def test_a_repository_has_a_commit_for_each_version_of_the_code(command: Command) -> None:
    (command.task("paper") / "generate_code" / "notes.txt").write_text("of the first version\n")
    assert command("resume", "paper", "--redo", "implement").code == 3
    assert command("export", "paper", "--to", "git", "-o", "code").code == 0
    folder = command.folder / "code"
    subjects = git(folder, "log", "--reverse", "--format=%s").splitlines()
    assert subjects == ["Earlier version of the code", "Implement Slow Waiting for Everyone"]
    assert "It ended incomplete" in git(folder, "log", "-1", "--format=%b")
    assert git(folder, "show", "HEAD~1:notes.txt") == "of the first version\n"
    assert not (folder / "notes.txt").exists()
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "ls-files", "-s", "reproduce.sh").startswith("100755")


def test_nothing_of_the_workspace_acts_in_the_repository(command: Command) -> None:
    root = command.task("paper") / "generate_code"
    (root / ".gitattributes").write_text("*.txt filter=evil text eol=crlf\n")
    (root / "a.txt").write_bytes(b"one\r\ntwo\n")
    (root / ".gitignore").write_text("a.txt\n")
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text('[filter "evil"]\n\tclean = touch /tmp/evil-was-here\n')
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\ntouch ../evil\nexit 1\n")
    hook.chmod(0o755)
    (root / "out.py").symlink_to("/etc/passwd")
    assert command("export", "paper", "--to", "git", "-o", "code").code == 0
    folder = command.folder / "code"
    assert (
        subprocess.run(["git", "show", "HEAD:a.txt"], cwd=folder, capture_output=True, check=True).stdout
        == b"one\r\ntwo\n"
    )
    assert not (folder / ".git" / "hooks").exists()
    assert "filter" not in (folder / ".git" / "config").read_text()
    assert not (folder / "out.py").is_symlink()
    assert not list(command.folder.rglob("evil*"))
    assert not Path("/tmp/evil-was-here").exists()


@pytest.mark.parametrize("form", ["notebook", "zip", "git"])
def test_what_is_there_is_not_written_over(form: str, command: Command) -> None:
    (command.folder / "there").write_text("mine")
    ended = command("export", "paper", "--to", form, "-o", "there")
    assert (ended.code, (command.folder / "there").read_text()) == (2, "mine")
    assert not [name for name in os.listdir(command.folder) if name.endswith(".tmp")]


def test_a_task_without_code_has_nothing_to_export(tmp_path: Path) -> None:
    command = Command(tmp_path)
    assert command("run", "--fast", paper(tmp_path), "--until", "plan").code == 0
    ended = command("export", "paper", "--to", "zip")
    assert (ended.code, "pipeline resume paper" in ended.err) == (2, True)


def test_files_of_others_are_told_with_their_licences(command: Command) -> None:
    path = command.task("paper") / "implementation.json"
    document = json.loads(path.read_text())
    shown = {"repository": "a__b", "file": "m.py", "commit": "0" * 40, "licence": "MIT", "lines": ["1-4"]}
    path.write_text(json.dumps({**document, "reference_files": [shown]}))
    assert command("export", "paper", "--to", "zip").code == 0
    with zipfile.ZipFile(command.folder / "paper.zip") as archive:
        assert b"| a\\_\\_b | " + b"0" * 40 + b" | m.py | 1-4 | MIT |" in archive.read("paper/PROVENANCE.md")
