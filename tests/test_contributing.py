"""CONTRIBUTING.md holds: its examples work in a copy of the code, and what it names is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = ("pipeline", "phases", "schemas", "scripts")
ALSO_COPIED = (
    "pyproject.toml",
    "tests/__init__.py",
    "tests/agents.py",
    "tests/bare.py",
    "tests/supervision/test_supervision_signals.py",
)
LONGEST_GLOSSARY = 25
FENCED = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PHASE = """
from pipeline.cli.assembly import discover_phases
from pipeline.base.formats import Markdown
from pipeline.engine.contract import Contracts

graph = discover_phases("")
(phase,) = [phase for phase in graph.phases if phase.name == "length"]
assert graph.writer("length.json") is phase
assert "phases.phase04b_length" in open("pyproject.toml").read()
inputs = {"paper.md": Markdown(text="We wait for everyone.", front={}), "outline.json": {"sections": [{}, {}]}}
written = json.dumps(phase.run(inputs, None)["length.json"]).encode()
assert Contracts().parse("length.json", written, writer="a test") == {"words": 4, "sections": 2}
cli("graph")
assert "04b length" in told() and "-> length.json" in told()
"""
TOOL = """
from phases.acceptance.administration.import_hooks import TOOLS, translate_matcher
from phases.llm.model import Reply, ToolCall
from pipeline.base.errors import PhaseError
from tests.agents import CONTRACTS, Scripted, carry_out, write

def reply(request):
    replies = [
        write("a.py", "def first():\\n    return 1\\n\\n\\nclass Second:\\n    pass\\n"),
        write("b.py", "def broken(:\\n"),
        Reply("ok", "", tuple(ToolCall(name, "Names", {"path": name}) for name in ("a.py", "b.py", "c.py"))),
    ]
    return replies[request.turn - 1] if request.turn <= len(replies) else Reply("fatal", detail="that is all")

model = Scripted(reply)
try:
    carry_out(Path("task"), model, CONTRACTS.schema("initial_plan.txt")["examples"][0], sandbox="off")
except PhaseError as error:
    assert "that is all" in str(error), error
assert "Names" in [tool["name"] for tool in model.requests[0].tools]
answers = [message.text for message in model.requests[-1].messages[-3:]]
assert answers[0] == "1: first\\n5: Second"
assert "no Python that parses" in answers[1] and "c.py" in answers[2], answers
assert translate_matcher("Names", {}, TOOLS) == ("Names", (), False)
"""
KIND = """
from phases.readers.kinds import KINDS, kind_of
from phases.readers.reader_worker import read_input
from phases.readers.reading import BROKEN, OK, InputFile
from phases.readers.intake import source_of
from pipeline.engine.contract import Contracts

cells = [
    {"cell_type": "markdown", "source": ["# Slow Waiting\\n", "We wait."]},
    {"cell_type": "code", "source": "wait()"},
    {"cell_type": "markdown", "source": "For everyone."},
]
notebook = json.dumps({"cells": cells, "nbformat": 4}).encode()
source = source_of(notebook)
assert (source.kind, list(source.files)) == ("ipynb", ["paper.ipynb"])
Path("paper").write_bytes(notebook)
reading = read_input(source.kind, InputFile("paper"))
assert (reading.verdict, reading.title) == (OK, "Slow Waiting")
assert reading.pages == ("# Slow Waiting\\nWe wait.\\n\\nFor everyone.",)
Path("paper").write_bytes(b'{"nbformat": 4}')
assert read_input("ipynb", InputFile("paper")).verdict == BROKEN
assert kind_of(b'{"some": "other JSON"}').name is None
schema = Contracts().schema("input.json")
assert set(schema["properties"]["kind"]["enum"]) == set(KINDS)
"""
PROVIDER = """
from phases.llm.factory import open_model
from phases.llm.prices import Usage, tariff_of
from phases.llm.providers import PROVIDERS, Access, address_of

model = open_model("lmstudio:tiny", Access())
assert model.name == "lmstudio:tiny" and model.priced
assert tariff_of("lmstudio:tiny", {}).usd(Usage(10**6, 0, 10**6)) == 0
assert address_of(PROVIDERS["lmstudio"], "") == "http://localhost:1234/v1"
"""
COMMAND = """
cli("size", "--help")
assert "Usage: pipeline size" in told() and "--json" in told() and "pipeline size paper" in told(), told()
cli("--help")
assert "Tell how many bytes each document" in told()
cli("run", "--fast", "--id", "paper", "--stop-at", "acquire", "paper.md")
cli("size", "paper", "--json")
rows = {row["document"]: row["bytes"] for row in json.loads(told())}
assert rows["input.json"] == Path("tasks/paper/input.json").stat().st_size
cli("size", "paper")
assert "DOCUMENT" in told() and "input.json" in told()
"""
SIGNAL = """
import runpy
from phases.supervision.config import Config
from phases.supervision.enums import ToolClass
from phases.supervision.facts import Action, Call, CallResult, Round, Task
from phases.supervision.observer import ObservedRound, ObserverState, observe_round
from phases.supervision.progress import Progress
from phases.supervision.serialization import from_json
from pipeline.engine.contract import Contracts

runpy.run_module("scripts.kernel_schema", run_name="__main__")
setting = b'{"triggers": {"manyFilesMin": 2}}'
config = from_json(Config, dict(Contracts().parse("supervisor-config.json", setting, writer="a test")))

def reasons(triggers):
    task, actions = Task("wait"), []
    for number, path in enumerate(("a.py", "b.py"), 1):
        call = Call("c", "Write", ToolClass.WRITE, f"write {path}", path=path, new_file=True)
        actions.append(Action(call, CallResult(True, changed=(path,), lines=1)))
        seen = ObservedRound(Round(number, tuple(actions)), task, Progress())
        yield [signal.reason for signal in observe_round(ObserverState(), seen, triggers).now]

assert list(reasons(config.triggers)) == [[], ["many_files:2"]]
assert list(reasons(Config().triggers)) == [[], []], "earlier runs would be supervised otherwise"
import pytest
assert pytest.main(["-c", "pyproject.toml", "tests/supervision/test_supervision_signals.py"]) == 0
"""
CHECKS = {
    "Add a phase": PHASE,
    "Add a tool of the agent": TOOL,
    "Add an input kind": KIND,
    "Add a model provider": PROVIDER,
    "Add a command": COMMAND,
    "Add a supervision signal": SIGNAL,
}
PREAMBLE = """
import json
from pathlib import Path
from click.testing import CliRunner
import pipeline.cli
assert Path(pipeline.__file__).is_relative_to(Path.cwd()), "that is not the copy"
_told = []

def cli(*words):
    ended = CliRunner().invoke(pipeline.cli.cli, words, prog_name="pipeline")
    _told.append(ended.stdout)

def told():
    return _told[-1]
"""


class Block(NamedTuple):
    """A fenced block: its language, the path behind it, its text."""

    language: str
    path: str
    text: str


def section(title: str) -> str:
    """The text below a heading, to the next one that is as high."""
    found = re.search(rf"^(##+) {re.escape(title)}\n(.*?)(?=^##+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"CONTRIBUTING.md has no section '{title}'"
    return found[2]


def blocks_of(text: str) -> list[Block]:
    return [Block(*found) for found in FENCED.findall(text)]


def copy_code(folder: Path) -> None:
    """What the examples need of the code. Byte code comes along, but for what another test is just writing."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ALSO_COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    (folder / "paper.md").write_text(
        "# Slow Waiting\n\n## 1 Method\n\nWe must wait for everyone, at most ten minutes.\n"
    )


def carry_out_example(title: str, folder: Path) -> None:
    """Writes the files of an example, and applies its diffs."""
    for block in blocks_of(section(title)):
        if block.path:
            assert not (folder / block.path).exists(), f"'{title}' writes {block.path}, which is there already"
            (folder / block.path).write_text(block.text)
        elif block.language == "diff":
            environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
            done = subprocess.run(
                ["git", "apply", "-"],
                input=block.text,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (
                f"CONTRIBUTING.md, '{title}': the code has changed, renew the diff: {done.stderr}"
            )


@pytest.mark.parametrize("title", CHECKS)
def test_an_example_works_in_a_copy_of_the_code(title: str, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    copy_code(folder)
    carry_out_example(title, folder)
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + CHECKS[title]],
        cwd=folder,
        env=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_example_is_checked() -> None:
    assert re.findall(r"^### (.+)$", PAGE, re.MULTILINE) == list(CHECKS)


def test_the_files_of_an_example_are_those_that_its_list_names() -> None:
    for title in CHECKS:
        text = section(title)
        listed = set(re.findall(r"^- `([^`]+)`: ", text, re.MULTILINE))
        blocks = blocks_of(text)
        changed = {path for block in blocks for path in re.findall(r"^\+\+\+ b/(\S+)$", block.text, re.MULTILINE)}
        written = {block.path for block in blocks if block.path}
        made = {"schemas/supervisor-config.schema.json"} if "scripts.kernel_schema" in text else set()
        assert listed == changed | written | made, title


def test_every_path_in_backticks_exists() -> None:
    made = {block.path for block in blocks_of(PAGE)}
    prose = FENCED.sub("", PAGE)
    tops = {entry.name for entry in ROOT.iterdir()}
    named = [path for path in re.findall(r"`([\w./-]+)`", prose) if path.split("/")[0] in tops]
    assert len(named) > 30
    assert [path for path in named if path not in made and not (ROOT / path).exists()] == []


def test_every_target_of_make_and_every_link_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets |= {f"test-{folder.name}" for folder in (ROOT / "tests").iterdir()}
    assert set(re.findall(r"`make ([\w-]+)`", PAGE)) <= targets
    assert [path for path in re.findall(r"\]\(([^)#]+)\)", PAGE) if not (ROOT / path).exists()] == []


def test_the_glossary_has_at_most_25_lines() -> None:
    lines = [line for line in section("Glossary").splitlines() if line.strip()]
    assert 10 < len(lines) <= LONGEST_GLOSSARY


def test_no_line_is_longer_than_120_characters() -> None:
    assert [line for line in PAGE.splitlines() if len(line) > 120] == []
