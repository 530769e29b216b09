"""Probes in the code say which lines ran, and change nothing that it does; a change is there for one job alone."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from phases.evidence.bare_python import INSIDE
from phases.evidence.inside.mutation_worker import _run_changed

PROGRAM = '''"""A docstring."""
from __future__ import annotations

import asyncio
import contextlib


@contextlib.contextmanager
def opened(name):
    """Gives a name."""
    try:
        yield name
    finally:
        name = ""


class Shape:
    """A shape."""

    sides: int = 0

    @property
    def area(self):
        if self.sides > 3:
            return 4
        elif self.sides == 3:
            return 3
        else:
            return 0

    def never(self):
        return self.sides


def words(count):
    for number in range(count):
        if number == 1:
            continue
        yield (
            number,
            number + 1,
        )
    else:
        yield "end"


def kind(value):
    match value:
        case int():
            return "whole"
        case [first, *_]:
            return first
        case _:
            raise ValueError(value)


async def later(value):
    async with asyncio.timeout(5):
        await asyncio.sleep(0)
        return value


def main():
    found = [each for each in words(3)]
    with opened("x") as name:
        found.append(name)
    try:
        kind(1.5)
    except ValueError as error:
        found.append(str(error))
    while len(found) < 8:
        found.append(kind(1))
    found += [kind([2]), Shape().area, asyncio.run(later(5)), (lambda a: a + 1)(1)]
    total: int
    global RESULT
    RESULT = found
    return None


if True:
    main()
'''


def lines_of_statements(source: str) -> set[int]:
    """The first lines of what can run; a docstring is no statement, nor is a name without a value."""
    tree, texts = ast.parse(source), set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                texts.add(first.lineno)
    simple = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    left_out = (ast.Global, ast.Nonlocal)
    bare = {node.lineno for node in simple if isinstance(node, ast.AnnAssign) and node.value is None}
    return {node.lineno for node in simple if not isinstance(node, left_out)} - texts - bare


def run(folder: Path, script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, INSIDE, str(folder)], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_lines_are_those_that_a_tracer_sees(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    probed = json.loads(
        run(
            tmp_path,
            "import json, sys\nsys.path[:0] = [sys.argv[1], sys.argv[2]]\nimport line_probes\n"
            "could = {}\nline_probes.begin(sys.argv[2], lambda path, lines: could.update({path: lines}))\n"
            "import program\nprint(json.dumps([line_probes.take(), could, program.RESULT, program.__doc__]))",
        )
    )
    traced = json.loads(
        run(
            tmp_path,
            "import json, sys\nsys.path[:0] = [sys.argv[2]]\nimport coverage\n"
            "watch = coverage.Coverage(data_file=None, source=[sys.argv[2]])\nwatch.start()\nimport program\nwatch.stop()\n"
            "data = watch.get_data()\nprint(json.dumps([sorted(data.lines(data.measured_files().pop())), program.RESULT]))",
        )
    )
    ran, could, result, docstring = probed
    statements = lines_of_statements(PROGRAM) - {2}  # from __future__ must come first
    assert result == traced[1]
    assert docstring == "A docstring."
    assert set(ran["program.py"]) & statements == set(traced[0]) & statements
    assert set(could["program.py"]) & statements == statements


def test_a_test_that_follows_has_its_own_lines(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n")
    seen = run(
        tmp_path,
        "import sys\nsys.path[:0] = [sys.argv[1], sys.argv[2]]\nimport line_probes\n"
        "line_probes.begin(sys.argv[2], lambda path, lines: None)\nimport two\nline_probes.take()\n"
        "two.one()\nprint(line_probes.take())\ntwo.two()\ntwo.one()\nprint(line_probes.take(), line_probes.take())",
    )
    assert seen.split("\n")[:2] == ["{'two.py': [2]}", "{'two.py': [2, 6]} {}"]


def test_a_script_that_python_itself_compiles_is_traced(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import line_probes\nif len('a') == 2:\n    x = 1\nprint(line_probes.take())\n")
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nsys.path.append({INSIDE!r})\nimport line_probes\n"
        f"line_probes.begin({str(tmp_path)!r}, lambda path, lines: None)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == "{'script.py': [1, 2, 4]}\n"


@pytest.mark.parametrize(
    "letter", ["a", "z", *(pytest.param(letter, marks=pytest.mark.slow) for letter in "bcdhjlptuw")]
)
def test_no_code_is_broken_by_probes(letter: str, tmp_path: Path) -> None:
    """Whatever is in Python's own library compiles with them, and has the same names and docstrings."""
    library = Path(sysconfig.get_paths()["stdlib"])
    paths = [str(path) for path in sorted(library.glob(f"{letter}*.py"))]
    (tmp_path / "paths.json").write_text(json.dumps(paths))
    told = run(
        tmp_path,
        "import ast, json, sys\nsys.path.append(sys.argv[1])\nimport line_probes\n"
        "for path in json.load(open('paths.json')):\n"
        "    source = open(path, encoding='utf-8').read()\n"
        "    tree = ast.parse(source)\n    line_probes._Compiler(path).add_probes(tree)\n"
        "    made, plain = compile(tree, path, 'exec', dont_inherit=True), compile(source, path, 'exec', dont_inherit=True)\n"
        "    def names(code):\n"
        "        inner = [each for each in code.co_consts if hasattr(each, 'co_code')]\n"
        "        return [(code.co_name, code.co_varnames, code.co_flags), *(names(each) for each in inner)]\n"
        "    assert names(made) == names(plain), path\n"
        "    assert ast.get_docstring(tree) == ast.get_docstring(ast.parse(source)), path\n"
        "print('all')",
    )
    assert told == "all\n"


def test_a_file_that_cannot_be_changed_leaves_the_others_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("y = 1\n")
    sources = {"a.py": "x = 2\n", "b.py": "y = '\ud800'\n"}  # half a pair has no UTF-8
    job = {"job": 1, "sources": sources, "tests": [], "seconds": 1}
    with pytest.raises(UnicodeEncodeError):
        _run_changed(job, str(tmp_path))
    assert ((tmp_path / "a.py").read_text(), (tmp_path / "b.py").read_text()) == ("x = 1\n", "y = 1\n")
