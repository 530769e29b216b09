"""A new phase is one Python file and one schema: nothing else is edited, and it runs in its place."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.papers import NUMBERS, ROOT, Command, paper
from tests.toys import write_toys

GLOSSARY = '''"""Phase 03b: the words of the paper that come in capitals."""

from __future__ import annotations

import re

from pipeline.engine.phase import Context, Documents, Phase


def run(inputs: Documents, ctx: Context) -> Documents:
    words = sorted(set(re.findall(r"\\\\b[A-Z]{2,}\\\\b", inputs["paper.md"].text)))
    return {"glossary.json": {"sections": len(inputs["outline.json"]["sections"]), "words": words}}


PHASE = Phase(
    number="03b", name="glossary", reads=("paper.md", "outline.json"), writes=("glossary.json",), run=run
)
'''.replace("\\\\", "\\")
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["sections", "words"],
    "properties": {"sections": {"type": "integer"}, "words": {"type": "array", "items": {"type": "string"}}},
    "examples": [{"sections": 1, "words": ["PDF"]}],
}


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A command whose phases are a copy of the built-in ones."""
    folder = tmp_path / "copy"
    (folder / "schemas").mkdir(parents=True)
    for path in (ROOT / "phases").glob("phase*.py"):  # whatever phases there are
        shutil.copy(path, folder)
    for path in (ROOT / "schemas").glob("*.schema.json"):
        shutil.copy(path, folder / "schemas")
    paper(tmp_path)
    return Command(tmp_path, PIPELINE_PHASES=str(folder))


def add(command: Command) -> None:
    """The two files that a new phase is."""
    folder = Path(command.environment["PIPELINE_PHASES"])
    (folder / "phase03b_glossary.py").write_text(GLOSSARY)
    (folder / "schemas" / "glossary.schema.json").write_text(json.dumps(SCHEMA))


@pytest.mark.slow
def test_a_phase_of_two_files_runs_in_its_place(command: Command) -> None:
    add(command)
    ended = command("run", "--fast", "paper.md")
    assert ended.code == 3, ended.err
    told = [line.split()[0] for line in ended.err.splitlines() if line.rstrip().endswith(("done", "skipped"))]
    assert told == sorted([*NUMBERS, "03b"])
    assert command.document("paper", "glossary.json") == {"sections": 6, "words": []}
    assert "03b glossary" in command("status", "paper").out
    assert "-> glossary.json" in command("graph").out
    assert command("check", "paper").code == 0
    assert command("run", "--fast", "paper.md", "--redo", "glossary").code == 3
    assert command.attempts("paper")["glossary"] == 2
    assert command.attempts("paper")["segment"] == 1


@pytest.mark.slow
def test_a_phase_that_is_added_to_a_finished_task_runs_alone(command: Command) -> None:
    assert command("run", "--fast", "paper.md").code == 3
    add(command)
    assert [row["name"] for row in command("why", "paper", "--json").json()] == ["glossary"]
    assert command("resume", "paper").code == 3
    assert set(command.attempts("paper").values()) == {1}


@pytest.mark.slow
def test_a_phase_without_its_schema_is_refused_by_the_name_of_the_missing_file(command: Command) -> None:
    add(command)
    (Path(command.environment["PIPELINE_PHASES"]) / "schemas" / "glossary.schema.json").unlink()
    ended = command("run", "--fast", "paper.md")
    assert ended.code == 1
    assert "glossary.schema.json" in ended.complaints[0]


BROKEN = [
    pytest.param("reads=('gone.json',)", "gone.json, and no phase writes it", id="it reads what nobody writes"),
    pytest.param("reads=('toy01.json',)", "which only phase", id="it reads what is written later"),
]


@pytest.mark.parametrize(("reads", "told"), BROKEN)
def test_a_phase_that_does_not_fit_is_refused_in_words(reads: str, told: str, tmp_path: Path) -> None:
    toys = write_toys(tmp_path / "toys", 2)
    (toys / "phase00b_new.py").write_text(
        "from pipeline.engine.phase import Phase\n"
        f"PHASE = Phase(number='00b', name='new', {reads}, writes=('new.json',), run=lambda inputs, ctx: {{}})\n"
    )
    ended = Command(tmp_path, PIPELINE_PHASES=str(toys))("run", "p.md")
    assert ended.code == 1, ended.err
    assert told in ended.complaints[0]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("X = 1\n", id="it has no PHASE"),
        pytest.param("PHASE = 7\n", id="its PHASE is none"),
        pytest.param(
            "from pipeline.engine.phase import Phase\n"
            "PHASE = Phase(number='07', name='new', reads=(), writes=(), run=lambda inputs, ctx: {})\n",
            id="its number is another one",
        ),
    ],
)
def test_a_module_that_is_no_phase_is_named(text: str, tmp_path: Path) -> None:
    toys = write_toys(tmp_path / "toys", 1)
    (toys / "phase03_new.py").write_text(text)
    ended = Command(tmp_path, PIPELINE_PHASES=str(toys))("run", "p.md")
    assert ended.code == 1, ended.err
    assert "phase03_new" in ended.complaints[0]


@pytest.mark.parametrize("words", [("run", "p.md"), ("resume", "p"), ("status", "p"), ("--help",)], ids=" ".join)
def test_a_command_imports_no_built_in_phase_that_it_does_not_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = Command(tmp_path, PIPELINE_PHASES=str(write_toys(tmp_path / "toys", 2)))
    (tmp_path / "p.md").write_text("# A paper\n")
    assert command("run", "p.md").code == 0
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pipeline", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=command.environment,
        check=True,
    )
    modules = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines() if line.startswith("import time:")}
    names = (
        {"phases", "phases.readers", "phases.readers.origins"} if words[0] == "run" else set()
    )
    found = {name for name in modules if name.startswith(("phases", "pipeline.base.http", "openai", "jinja2"))}
    assert found == names
