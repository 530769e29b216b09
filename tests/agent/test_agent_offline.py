"""The offline scaffold: it parses, its tests pass, it cites the paper, and no words of a stranger break it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.agent.offline_model import scaffold_text
from phases.evidence.traceability import trace_requirements
from phases.planning.rules.plan import assemble_plan
from phases.workspace.workspace import Workspace
from tests.papers import PAPER, Read, example_paper, read
from tests.strategies import QUICK

KINDS = ("algorithm", "model", "loss", "dataset", "metric", "baseline", "hyperparameter", "experiment", "artifact")
OUTLINE: dict[str, Any] = {"title": "Slow Waiting", "abstract": "We wait.", "equations": []}
HOSTILE = [
    '"""',
    "'''",
    '""" + __import__("os").system("touch owned") + """',
    "\\",
    "\\x",
    "\\N{",
    "\\u12",
    "{}{0}{x!r:>{y}}",
    "%s %(x)d %",
    "a\nimport os\n",
    "a\rb\x0bc\x0cd\x85e\u2028f\u2029g",
    "\x00\x07\x1b[31m",
    "# -*- coding: utf-16 -*-",
    "\ufeff\u202e\u200b",
    "\ud800",
    "$(touch owned)`touch owned`",
    "𝐱 ∈ ℝⁿ, naïve Ünïcödé",
    "",
    ".",
    "x" * 5000,
]
STRANGE = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=200), st.lists(st.sampled_from(HOSTILE)).map("".join))


def requirement(kind: str, text: str, quote: str, section: str | None = "3.2", number: int = 1) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": f"R{number}",
        "kind": kind,
        "text": text,
        "source": {"section": section, "page": 4, "quote": quote},
        "status": "stated",
    }
    return {**row, "name": f"value_{number}", "value": 0.5} if kind == "hyperparameter" else row


def planned(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A plan with a component for each requirement; what has a value is one."""
    said = [row for row in rows if "value" not in row]
    parts = [
        {"id": f"C{number}", "name": row["text"] or "part", "what": row["text"], "source": row["source"],
         "requirements": [row["id"]], "equations": [row["text"]], "steps": [row["text"]]}
        for number, row in enumerate(said, 1)
    ]  # fmt: skip
    values = [
        {"id": f"V{number}", "name": row["text"] or "x", "symbol": row["text"], "value": row["value"],
         "owner": row["text"] or "x", "condition": row["text"], "kind": "training", "source": row["source"]}
        for number, row in enumerate((row for row in rows if "value" in row), 1)
    ]  # fmt: skip
    nothing: dict[str, list[Any]] = {
        name: [] for name in ("datasets", "metrics", "baselines", "expected_results", "experiments", "uncertain")
    }
    return assemble_plan(OUTLINE, {"requirements": said, "components": parts, "values": values, **nothing}, [])


def python_files(plan: dict[str, Any]) -> list[str]:
    return [row["path"] for row in plan["file_structure"] if row["path"].endswith(".py")]


def write_tree(folder: Path, plan: dict[str, Any]) -> Workspace:
    """The scaffold of a plan on the disk."""
    folder.mkdir(exist_ok=True)
    workspace = Workspace(str(folder))
    for row in plan["file_structure"]:
        workspace.write(row["path"], scaffold_text(plan, row["path"]))
    return workspace


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


PAPERS = [
    pytest.param(lambda: read(PAPER), id="a Markdown paper"),
    pytest.param(example_paper, id="the example paper"),
    pytest.param(lambda: read("# 3D\n\n## 1 Method\n\nNothing is demanded.\n"), id="a paper that demands little"),
]


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_the_scaffold_parses_its_tests_pass_and_its_entry_script_answers(paper: Any, tmp_path: Path) -> None:
    plan = paper().plan
    write_tree(tmp_path, plan)
    for path in tmp_path.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path))
    tested = python(tmp_path, "-m", "unittest")
    assert (tested.returncode, "\nOK" in tested.stderr) == (0, True), tested.stderr
    verified = python(tmp_path, *plan["validation_approach"]["verify_commands"][0].split()[1:])
    assert verified.returncode == 0, verified.stderr
    package = plan["file_structure"][0]["path"].partition("/")[0]
    assert "--kind" in python(tmp_path, "-m", package, "--help").stdout
    listed = python(tmp_path, "-m", package)
    assert listed.returncode == 0, listed.stderr
    assert len(listed.stdout.splitlines()) == len(plan["requirements"])


@pytest.mark.parametrize("paper", PAPERS)
def test_the_tests_of_the_scaffold_repeat_no_value_and_call_no_stub(paper: Any) -> None:
    plan = paper().plan
    tree = ast.parse(scaffold_text(plan, "tests/test_scaffold.py"))
    assert not [
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    ]
    names = {name for row in plan["file_structure"] for words in row["interface"] for name in words.split()[:2]} - {
        "main"
    }
    called = {ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not called & names


def test_a_planned_name_that_is_gone_fails_the_test_of_the_scaffold(tmp_path: Path) -> None:
    plan = read(PAPER).plan
    write_tree(tmp_path, plan)
    [config] = tmp_path.glob("*/config.py")
    config.write_text(config.read_text(encoding="utf-8").replace("LEARNING_RATE", "RATE"), encoding="utf-8")
    assert "LEARNING_RATE" in python(tmp_path, "-m", "unittest").stderr


@pytest.mark.parametrize("paper", PAPERS)
def test_every_requirement_is_cited_where_it_is_to_be_met(paper: Any, tmp_path: Path) -> None:
    made: Read = paper()
    workspace = write_tree(tmp_path, made.plan)
    rows = {row["id"]: row for row in trace_requirements(workspace, made.plan)["requirements"]}
    for wanted in made.plan["requirements"]:
        if wanted["status"] == "missing":
            continue
        path = rows[wanted["id"]]["places"][0].partition(":")[0]
        text = " ".join(workspace.read(path).split())
        section = f"section {wanted['source']['section']}, " if wanted["source"]["section"] else ""
        assert f"{wanted['id']} ({section}page {wanted['source']['page']}): " in text
        assert rows[wanted["id"]]["status"] == "stubbed"
    for value in made.plan["values"]:
        assert (rows[value["id"]]["status"], rows[value["id"]]["kind"]) == ("located", "value")


@given(STRANGE, STRANGE, st.one_of(st.none(), STRANGE), st.sampled_from(KINDS))
@QUICK
def test_no_words_of_a_paper_break_the_code(text: str, quote: str, section: str | None, kind: str) -> None:
    plan = planned([requirement(kind, text, quote, section), requirement("hyperparameter", text, quote, section, 2)])
    for path in python_files(plan):
        ast.parse(scaffold_text(plan, path), path)


SLOW_TAILS = [pytest.param(tail, marks=pytest.mark.slow) for tail in ('"', "\\'", '"""')]


@pytest.mark.parametrize("tail", ["\\x", "\\N", "\\u", "\\", "'", *SLOW_TAILS])
def test_no_words_break_the_code_wherever_a_line_is_wrapped(tail: str) -> None:
    for length in range(140):
        words = "a" * length + tail + "b" * 120
        plan = planned([requirement("model", words, words), requirement("loss", words, words, words, 2)])
        for path in python_files(plan):
            ast.parse(scaffold_text(plan, path), path)


@pytest.mark.slow
@given(st.lists(STRANGE, min_size=2, max_size=2), STRANGE)
@example(["class", "def lambda"], "purpose")
@example(["class None", "def class"], "purpose")
@example(["def a", "def a"], "purpose")
@QUICK
def test_no_interface_of_an_edited_plan_breaks_the_code(interface: list[str], purpose: str) -> None:
    rows = [requirement("loss", "A loss", "a loss"), requirement("model", "A model", "a model", None, 2)]
    files = [
        {"path": "p/m.py", "purpose": purpose, "implements": ["R1", "R2"], "depends_on": [], "interface": interface},
        {"path": "p/__main__.py", "purpose": purpose, "implements": [], "depends_on": [], "interface": []},
        {"path": "tests/test_m.py", "purpose": purpose, "implements": [], "depends_on": [], "interface": []},
        {"path": "README.md", "purpose": purpose, "implements": [], "depends_on": [], "interface": []},
    ]
    plan = {**planned(rows), "file_structure": files}
    for row in files:
        text = scaffold_text(plan, str(row["path"]))
        if str(row["path"]).endswith(".py"):
            ast.parse(text, str(row["path"]))


def test_code_of_a_hostile_paper_runs_and_does_nothing_that_the_paper_says(tmp_path: Path) -> None:
    words = [word.encode("utf-8", "replace").decode() for word in HOSTILE]
    rows = [requirement(KINDS[number % len(KINDS)], word, word, word or None, number)
            for number, word in enumerate(words, 1)]  # fmt: skip
    plan = planned(rows)
    write_tree(tmp_path, plan)
    tested = python(tmp_path, "-m", "unittest")
    assert tested.returncode == 0, tested.stderr
    listed = python(tmp_path, "-m", plan["file_structure"][0]["path"].partition("/")[0])
    assert listed.returncode == 0, listed.stderr
    assert not any("\x1b" in line or "\x00" in line for line in listed.stdout)
    assert list(tmp_path.rglob("owned")) == []
