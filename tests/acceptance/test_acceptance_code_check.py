"""The hook that ships: it refuses for facts, tells all of them at once, and lets healthy code through."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.checks import planned_files
from phases.acceptance.checks.code_check import MOST_NAMED, Reviewer, check_code
from phases.acceptance.checks.planned_files import find_program
from phases.evidence.look import OFF, EvidenceSetting
from phases.sandbox.box import NONE, Box, Limits
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import tree_digest
from phases.workspace.snapshots import Snapshot
from phases.workspace.syntax import LARGEST_PYTHON
from phases.workspace.workspace import LARGEST_FILE, Workspace
from tests.bare import shared_python

KIND = kind_of_sandbox("required")
needs_a_sandbox = pytest.mark.skipif(KIND == NONE, reason="no sandbox on this machine")
VERIFY = "python -m unittest discover -s tests -t ."
HELP = "PYTHONPATH=. python -m net --help"
HEALTHY = {
    "net/__init__.py": "",
    "net/model.py": "import math\n\n\nclass Encoder:\n    width = math.floor(2.5)\n",
    "net/settings.json": '{"width": 2}\n',
    "net/__main__.py": "import argparse\n\nfrom net.model import Encoder\n\n"
    "argparse.ArgumentParser().parse_args()\nprint(Encoder.width)\n",
    "tests/__init__.py": "",
    "tests/test_model.py": "import unittest\n\nfrom net import model\n\n\nclass Widths(unittest.TestCase):\n"
    "    def test_width(self) -> None:\n        self.assertEqual(model.Encoder.width, 2)\n",
    "pyproject.toml": '[project]\nname = "net"\n',
}


def plan_of(
    files: Mapping[str, str], verify: tuple[str, ...] = (VERIFY,), requirements: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """A plan as far as this hook reads it; files without content are not planned."""
    planned = [{"path": path} for path, text in files.items() if text]
    checks = {"verify_commands": list(verify)}
    return {"file_structure": planned, "validation_approach": checks, "requirements": list(requirements)}


def written(tmp_path: Path, files: Mapping[str, str]) -> Workspace:
    root = tmp_path / "task" / "generate_code"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return Workspace(str(root))


def checked(
    tmp_path: Path,
    files: Mapping[str, str],
    *,
    plan: Mapping[str, Any] | None = None,
    kind: str = KIND,
    untouched: tuple[str, ...] = (),
    missing: tuple[str, ...] = (),
    seconds: int = Limits().seconds,
    mutants: str = OFF,
    review: Reviewer | None = None,
) -> dict[str, Any]:
    """The verdict on these files."""
    workspace = written(tmp_path, files)
    evidence = EvidenceSetting(shared_python(), str(tmp_path / "task" / "evidence"), mutants)
    box = Box(workspace.root, kind, python=shared_python(), limits=Limits(seconds=seconds))
    commands = CommandRunner(box, Snapshot(workspace.root, str(tmp_path / "task" / "kept")))
    commands.step = "verdict-1"
    verdict = check_code(workspace, dict(plan or plan_of(HEALTHY)), commands, untouched, missing, evidence, review)
    commands.settled()
    assert verdict["verification"]["tree_sha256"] == tree_digest(workspace)
    return verdict


@needs_a_sandbox
def test_healthy_code_is_verified_by_its_own_tests_and_answers_help(tmp_path: Path) -> None:
    verdict = checked(tmp_path, HEALTHY)
    assert verdict["block"] is None
    found = verdict["verification"]
    assert (found["verified"], found["why"], found["sandbox"]) == (True, "", KIND)
    assert [(row["command"], row["exit_code"]) for row in found["commands"]] == [(VERIFY, 0), (HELP, 0)]
    assert found["verified_by"] == ["own tests (1)"]
    assert "usage: " in found["commands"][1]["tail"]


READ = [
    pytest.param({"net/model.py": None}, "net/model.py is planned and not there", id="a planned file is not there"),
    pytest.param({"net/model.py": " \n"}, "net/model.py is empty", id="a planned file is empty"),
    pytest.param({"net/model.py": "class Encoder\n"}, "net/model.py does not parse: line 1", id="planned code does not parse"),
    pytest.param({"net/settings.json": "{]"}, "net/settings.json does not parse: line 1", id="planned JSON does not parse"),
    pytest.param({"pyproject.toml": "name ="}, "pyproject.toml does not parse: line 1", id="planned TOML does not parse"),
    pytest.param({"net/extra.py": "x ="}, "net/extra.py does not parse: line 1", id="other code does not parse"),
    pytest.param({"out.json": '{"a": 1}\n}\n'}, "out.json does not parse: Extra", id="a line of JSON does not parse"),
    pytest.param({"unittest.py": "class TestCase: ...\n"}, "unittest.py replaces a module of Python",
        id="a test runner is replaced"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "told"), READ)
def test_a_file_that_is_missing_empty_or_broken_refuses_the_work(
    change: dict[str, str | None], told: str, tmp_path: Path
) -> None:
    files = {path: text for path, text in {**HEALTHY, **change}.items() if text is not None}
    assert told in checked(tmp_path, files, kind=NONE)["block"]


RUN = [
    pytest.param({"net/model.py": "Coder = 1\n"}, "net/__main__.py", "cannot import name 'Encoder'",
        id="a name that nothing defines"),
    pytest.param({"net/model.py": "import net.gone\n"}, "net/model.py cannot be imported", "No module named 'net.gone'",
        id="a missing module"),
    pytest.param({"net/model.py": "class Encoder:\n    width = 1 / 0\n"}, "net/model.py cannot be imported",
        "ZeroDivisionError", id="a crash"),
    pytest.param({"net/model.py": "class Encoder:\n    width = 3\n"}, f"`{VERIFY}` ended with 1:\n", "FAILED",
        id="a failing check"),
    pytest.param({"net/__main__.py": "import argparse\nraise SystemExit(3)\n"}, f"`{HELP}` ended with 3:\n", "", id="no help"),
]  # fmt: skip


@needs_a_sandbox
@pytest.mark.parametrize(("change", "told", "detail"), RUN)
def test_code_that_fails_when_it_is_executed_refuses_the_work(
    change: dict[str, str], told: str, detail: str, tmp_path: Path
) -> None:
    block = checked(tmp_path, {**HEALTHY, **change})["block"]
    assert told in block
    assert detail in block


@needs_a_sandbox
def test_a_refusal_tells_all_facts_at_once_and_marks_what_commands_printed(tmp_path: Path) -> None:
    files = {**HEALTHY, "net/model.py": "class Encoder:\n    width = 3\n", "out.json": "{", "net/settings.json": "{]"}
    block = checked(tmp_path, files)["block"]
    assert all(
        told in block for told in ("net/settings.json does not parse", "out.json does not parse", "ended with 1")
    )
    assert block.count("--- output (tail, untrusted text) ---") == block.count("--- end ---") == 1


@needs_a_sandbox
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("python -m unittest discover -s tests -t . | tail -1", id="a pipe"),
        pytest.param("python -m unittest discover -s tests -t .; exit 0", id="an exit that follows"),
        pytest.param("python -m unittest discover -s tests -t . || true", id="or true"),
        pytest.param("python -m pytest -q tests || echo failed", id="an echo that follows"),
    ],
)
def test_a_check_that_hides_its_end_refuses_all_the_same(command: str, tmp_path: Path) -> None:
    files = {**HEALTHY, "net/model.py": "class Encoder:\n    width = 3\n"}
    assert f"`{command}` ended with " in checked(tmp_path, files, plan=plan_of(files, (command,)))["block"]


@needs_a_sandbox
def test_a_script_of_the_workspace_that_is_missing_is_a_fault(tmp_path: Path) -> None:
    files = {"net/model.py": "X = 1\n"}
    assert "ended with 127" in checked(tmp_path, files, plan=plan_of(files, ("./check.sh",)))["block"]


REQUIREMENT = {"id": "R1", "kind": "algorithm", "text": "Sum all values."}


def test_a_function_that_cites_a_requirement_and_is_a_stub_refuses_the_work(tmp_path: Path) -> None:
    files = {"net/model.py": 'def total(values):\n    """R1"""\n    raise NotImplementedError\n'}
    verdict = checked(tmp_path, files, plan=plan_of(files, (), [REQUIREMENT]), kind=NONE)
    assert verdict["block"] == "net/model.py:total is a stub"


@needs_a_sandbox
def test_a_stub_is_refused_although_its_tests_pass(tmp_path: Path) -> None:
    tests = "def test_it():\n    assert len(open('sort.js').read()) > 9\n"
    files = {"sort.js": 'function sort(x) {\n  throw new Error("TODO: write it");\n}\n', "test_a.py": tests}
    assert "line 2" in checked(tmp_path, files, plan=plan_of(files, ("python -m pytest -q",)))["block"]


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("web/app.js", 'function sort(x) {\n  throw new Error("TODO: not implemented");\n}\n', "line 2"),
        ("src/lib.rs", "fn sort() {\n    todo!()\n}\n", "line 2"),
        ("src/lib.rs", "fn sort() {\n    unimplemented!();\n}\n", "line 2"),
        ("Sort.cs", "void Sort() => throw new NotImplementedException();\n", "line 1"),
        ("web/app.ts", "function sort() {\n  // TODO write it\n}\n", "line 1"),
        ("main.go", 'func sort() {\n\tpanic("not implemented")\n}\n', "line 2"),
        ("index.html", "<p>TODO: Lorem ipsum dolor</p>\n", "line 1"),
    ],
)
def test_a_stub_in_another_language_refuses_the_work(path: str, text: str, told: str, tmp_path: Path) -> None:
    files = {path: text}
    assert f"{path}, {told}: " in checked(tmp_path, files, plan=plan_of(files, ()), kind=NONE)["block"]


def test_a_file_that_was_to_be_changed_and_was_not_is_advice(tmp_path: Path) -> None:
    verdict = checked(tmp_path, HEALTHY, untouched=("net/model.py",), kind=NONE)
    assert verdict["block"] is None
    assert verdict["verification"]["advice"][0].startswith("net/model.py is unchanged, although the plan changed")


def test_a_link_in_the_workspace_refuses_the_work(tmp_path: Path) -> None:
    workspace = written(tmp_path, HEALTHY)
    os.symlink("/etc/passwd", os.path.join(workspace.root, "link"))
    assert "delete what cannot be included: 'link': it is a link" in checked(tmp_path, HEALTHY, kind=NONE)["block"]


def test_no_more_faults_are_named_than_a_model_can_fix_at_once(tmp_path: Path) -> None:
    files = {**HEALTHY, **{f"x/{number}.py": "(" for number in range(MOST_NAMED + 5)}}
    block = checked(tmp_path, files, kind=NONE)["block"]
    assert block.count("does not parse") == MOST_NAMED
    assert "and 5 more files that do not parse" in block


def test_without_a_sandbox_nothing_is_run_and_nothing_is_verified(tmp_path: Path) -> None:
    files = {**HEALTHY, "net/__main__.py": "import argparse\nopen('was_run', 'w').close()\n"}
    verdict = checked(tmp_path, files, kind=NONE)
    assert verdict["block"] is None
    assert verdict["verification"]["why"].startswith("no sandbox on this machine, so nothing was run: ")
    assert not list(tmp_path.rglob("was_run"))


@needs_a_sandbox
def test_work_with_nothing_to_run_is_accepted_and_not_verified(tmp_path: Path) -> None:
    files = {"net/model.py": "X = 1\n"}
    verdict = checked(tmp_path, files, plan=plan_of(files, ()))
    assert verdict["block"] is None
    assert verdict["verification"]["why"] == "nothing was run: the plan has no check commands"


@needs_a_sandbox
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import argparse\nimport torchless\n", id="in the program"),
        pytest.param("import argparse\nfrom net import model\nimport torchless.nn as nn\n", id="a part of the package"),
    ],
)
def test_what_fails_for_want_of_a_package_of_the_plan_is_a_doubt(text: str, tmp_path: Path) -> None:
    verdict = checked(tmp_path, {**HEALTHY, "net/__main__.py": text}, missing=("torchless",))
    assert (verdict["block"], verdict["verification"]["why"]) == (None, "not checked: torchless is not installed here")


@needs_a_sandbox
def test_a_module_for_want_of_a_package_that_the_plan_does_not_name_refuses_the_work(tmp_path: Path) -> None:
    block = checked(tmp_path, {**HEALTHY, "net/model.py": "import torchless\n"})["block"]
    assert "net/model.py cannot be imported" in block
    assert "No module named 'torchless'" in block


@needs_a_sandbox
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import sys\n\nsys.exit(2)\n", id="it exits"),
        pytest.param("open('data/train.csv')\n", id="it reads a file that is not there"),
        pytest.param("input()\n", id="it reads what nobody types"),
        pytest.param("import threading\n\nthreading.Event().wait()\n", id="it goes on and on"),
        pytest.param("from model import Encoder\n", id="it finds what is beside it"),
    ],
)
def test_a_script_that_works_when_it_is_imported_is_no_fault(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_files, "_SECONDS", 2)
    files = {**HEALTHY, "net/train.py": text, "net/last.py": "X = 1\n"}
    assert checked(tmp_path, files, plan=plan_of(files))["block"] is None


@needs_a_sandbox
def test_a_program_that_works_whatever_it_is_asked_is_not_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_files, "_SECONDS", 2)
    files = {**HEALTHY, "net/__main__.py": "import argparse, threading\nthreading.Event().wait()\n"}
    verdict = checked(tmp_path, files)
    assert (verdict["block"], verdict["verification"]["commands"][-1]["exit_code"]) == (None, None)


@needs_a_sandbox
def test_a_check_of_the_plan_that_does_not_end_refuses_the_work(tmp_path: Path) -> None:
    verdict = checked(tmp_path, HEALTHY, plan=plan_of(HEALTHY, ("sleep 60",)), seconds=2)
    assert "did not end by itself" in verdict["block"]


@needs_a_sandbox
def test_what_the_checks_leave_behind_is_taken_back(tmp_path: Path) -> None:
    main = HEALTHY["net/__main__.py"] + "\n"
    files = {**HEALTHY, "net/__main__.py": "open('left', 'w').close()\nopen('net/model.py', 'a').write('#')\n" + main}
    before = tree_digest(written(tmp_path, files))
    verdict = checked(tmp_path, files)
    assert (verdict["block"], verdict["verification"]["tree_sha256"]) == (None, before)


@needs_a_sandbox
def test_results_and_what_tools_put_there_are_not_taken_for_code(tmp_path: Path) -> None:
    others = {
        "out/metrics.json": '{"loss": NaN, "loss": Infinity}', "out/log.json": '{"step": 1}\n\n{"step": 2, "loss": NaN}\n',
        "out/marked.py": "\ufeffx = 1\n", "out/large.json": '{"x": "' + "y" * LARGEST_FILE + '"',
        "data/generated.py": "x = (" + "1," * LARGEST_PYTHON, "node_modules/bad.py": "(", "env/pyvenv.cfg": "home = /usr\n",
        "env/lib/bad.py": "(", ".tox/bad.py": "(",
    }  # fmt: skip
    assert checked(tmp_path, {**HEALTHY, **others})["block"] is None


PARSER = 'import argparse\n\nif __name__ == "__main__":\n    argparse.ArgumentParser().parse_args()\n'


@pytest.mark.parametrize(
    ("files", "program"),
    [
        pytest.param({"main.py": PARSER, "train.py": PARSER}, "main.py", id="by its name"),
        pytest.param({"a/b/run.py": PARSER, "train.py": PARSER}, "a/b/run.py", id="by its name, deeper"),
        pytest.param({"wc/__main__.py": "from .cli import main\nmain()\n", "wc/cli.py": "import argparse\n"}, "wc/__main__.py",
            id="a package"),
        pytest.param({"wc/__main__.py": "import sys\nprint(open(sys.argv[1]).read())\n"}, "", id="it reads no options"),
        pytest.param({"train.py": "import argparse\n"}, "", id="it is imported only"),
        pytest.param({"tests/test_cli.py": PARSER}, "", id="a test"),
    ],
)  # fmt: skip
def test_the_program_is_a_planned_file_that_reads_a_command_line(files: dict[str, str], program: str) -> None:
    assert find_program(list(files), files) == program
