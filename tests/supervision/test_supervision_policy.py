"""L0: one policy for a whole run, and who in the kernel may see or write what."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.supervision.config import Config, GlobalModePolicy, Layers, resolve_policy
from phases.supervision.enums import ExecutionMode, SupervisorMode
from tests.strategies import QUICK

KERNEL = Path(__file__).resolve().parents[2] / "phases" / "supervision"
MODULES = sorted(KERNEL.glob("*.py"))
ADAPTIVE = GlobalModePolicy(
    mode=SupervisorMode.ADAPTIVE,
    auto_decision=True,
    observer=True,
    mode_engine=True,
    recovery_supervisor=True,
    task_graph=True,
    floor=ExecutionMode.FREE,
    shadow=False,
    first_round_graph=False,
)
STRICT = replace(ADAPTIVE, mode=SupervisorMode.STRICT, floor=ExecutionMode.FORCED, first_round_graph=True)
NOTHING: dict[str, Any] = dict.fromkeys(
    ("auto_decision", "observer", "mode_engine", "recovery_supervisor", "task_graph"), False
)
OFF = replace(ADAPTIVE, mode=SupervisorMode.OFF, **NOTHING)

# The three modes


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param("off", OFF, id="off: no layer works, and no graph is made"),
        pytest.param("adaptive", ADAPTIVE, id="adaptive: all layers work, and nothing is forced from the start"),
        pytest.param("strict", STRICT, id="strict: as adaptive, forced and with a graph from the first round on"),
    ],
)
def test_a_mode_says_what_holds_for_the_whole_run(mode: str, expected: GlobalModePolicy) -> None:
    assert resolve_policy(mode, Config()) == expected


@pytest.mark.parametrize(
    ("setting", "in_file", "expected"),
    [
        pytest.param("", None, "adaptive", id="nothing said"),
        pytest.param("", "strict", "strict", id="the file alone"),
        pytest.param("off", "strict", "off", id="the setting goes before the file"),
        pytest.param("wild", "off", "adaptive", id="an unknown mode is not looked up in the file"),
        pytest.param("Strict", None, "adaptive", id="another spelling is unknown"),
    ],
)
def test_the_mode_is_of_the_setting_then_of_the_file_then_adaptive(
    setting: str, in_file: str | None, expected: str
) -> None:
    assert resolve_policy(setting, Config(mode=SupervisorMode(in_file) if in_file else None)).mode == expected


@pytest.mark.parametrize("mode", SupervisorMode)
@pytest.mark.parametrize("in_file", [False, True], ids=["file off", "file on"])
@pytest.mark.parametrize(
    ("variable", "says"),
    [("1", True), ("true", True), ("0", False), ("false", False), ("", None), ("yes", None), ("TRUE", None)],
)
def test_the_shadow_variable_goes_before_the_file_and_never_before_off(
    mode: SupervisorMode, in_file: bool, variable: str, says: bool | None
) -> None:
    expected = in_file if says is None else says
    assert resolve_policy(mode, Config(shadow=in_file), variable).shadow == (
        expected and mode is not SupervisorMode.OFF
    )


@given(st.text(), st.text())
@QUICK
def test_no_setting_and_no_variable_breaks_the_policy(setting: str, variable: str) -> None:
    assert resolve_policy(setting, Config(), variable).mode in SupervisorMode


@pytest.mark.parametrize(
    ("layer", "in_strict"),
    [
        ("mode_engine", {"floor": ExecutionMode.FREE}),
        ("observer", {}),
        ("recovery_supervisor", {}),
        ("task_graph", {"first_round_graph": False}),
    ],
)
def test_each_layer_is_switched_off_alone_with_what_strict_adds_by_it(layer: str, in_strict: dict[str, Any]) -> None:
    off: dict[str, Any] = {layer: False}
    config = Config(layers=Layers(**off))
    assert resolve_policy("adaptive", config) == replace(ADAPTIVE, **off)
    assert resolve_policy("strict", config) == replace(STRICT, **off, **in_strict)
    assert resolve_policy("off", config) == OFF


# Who in the kernel may see or write what, by the syntax trees

IMPURE = {
    "asyncio", "datetime", "glob", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets",
    "shutil", "signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def identifiers(tree: ast.AST) -> Iterator[str]:
    """All names that a module speaks in; of its texts only those that are a name, as getattr takes it."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.alias | ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value if node.value.isidentifier() else ""
        else:
            yield name_of(node)


def outside_imports(tree: ast.AST) -> list[str]:
    """What a module imports that is neither of the kernel nor of the standard library's pure part."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append("." * node.level + (node.module or ""))
    pure = sys.stdlib_module_names - IMPURE
    return [name for name in names if not name.startswith("phases.supervision") and name.split(".")[0] not in pure]


def effects(tree: ast.AST) -> list[str]:
    calls = {name_of(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return sorted(calls & {"open", "print", "input", "getenv", "eval", "exec", "__import__"})


def writers(tree: ast.AST) -> list[int]:
    """Lines that make a ModeState with an execution mode of their own, or set one."""
    return sorted({getattr(node, "lineno", 0) for node in ast.walk(tree) if _writes(node)})


def _writes(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "execution_mode" and isinstance(node.ctx, ast.Store)
    if not isinstance(node, ast.Call):
        return False
    called = name_of(node.func)
    if called in ("setattr", "__setattr__"):
        return any(isinstance(value, ast.Constant) and value.value == "execution_mode" for value in node.args)
    if called == "ModeState" and node.args:
        return True
    return called in ("replace", "ModeState") and any(word.arg in ("execution_mode", None) for word in node.keywords)


def goals(tree: ast.AST) -> list[str]:
    return sorted({name for name in identifiers(tree) if re.search("goal|intent|domain", name, re.IGNORECASE)})


def shadow_variables(tree: ast.AST) -> list[str]:
    return sorted({name for name in identifiers(tree) if re.search("shadow_?var|environ|getenv", name, re.IGNORECASE)})


def modes_made(tree: ast.AST) -> list[int]:
    """Lines that make a mode of a run from a text."""
    return [
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and name_of(node.func) == "SupervisorMode"
    ]


def trees() -> dict[str, ast.Module]:
    return {module.name: ast.parse(module.read_bytes()) for module in MODULES}


def found(look: Callable[[ast.AST], list[str]] | Callable[[ast.AST], list[int]]) -> dict[str, list[object]]:
    rows = {name: list(look(tree)) for name, tree in trees().items()}
    return {name: list(row) for name, row in rows.items() if row}


def test_the_example_of_the_readme_runs_and_ends_in_a_stop(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (KERNEL / "README.md").read_text(encoding="utf-8")
    exec(readme.partition("```python\n")[2].partition("```")[0], {})
    shown = capsys.readouterr().out
    assert "[Supervision] The last turns produced nothing new." in shown
    assert "circuit_breaker" in shown


def test_the_kernel_imports_itself_and_the_pure_part_of_the_standard_library() -> None:
    assert len(MODULES) > 10
    assert found(outside_imports) == {}


def test_the_kernel_reads_writes_and_prints_nothing() -> None:
    assert found(effects) == {}


def test_the_constraints_alone_set_the_execution_mode() -> None:
    assert set(found(writers)) == {"execution_mode.py"}


def test_the_policy_alone_sees_the_shadow_variable() -> None:
    assert found(shadow_variables) == {"config.py": ["shadow_variable"]}


def test_no_module_but_the_policy_makes_a_mode_of_a_text() -> None:
    assert set(found(modes_made)) <= {"config.py"}


@pytest.mark.parametrize("module", ["execution_mode.py", "gate.py", "progress.py"])
def test_l1_knows_no_goal_no_intent_and_no_domain(module: str) -> None:
    assert goals(trees()[module]) == []


@pytest.mark.parametrize(
    ("look", "source"),
    [
        pytest.param(outside_imports, "import os", id="os"),
        pytest.param(outside_imports, "from os.path import join", id="a part of os"),
        pytest.param(outside_imports, "def f():\n    from loguru import logger", id="a library, late"),
        pytest.param(outside_imports, "from phases.workspace.workspace import Workspace", id="a neighbour"),
        pytest.param(outside_imports, "from . import words", id="a relative one"),
        pytest.param(effects, "open('x')", id="open"),
        pytest.param(writers, "replace(state, execution_mode=1)", id="replace"),
        pytest.param(writers, "dataclasses.replace(state, **fields)", id="replace with anything"),
        pytest.param(writers, "ModeState(execution_mode=1)", id="a new state"),
        pytest.param(writers, "mode.ModeState(FORCED)", id="a new state by place"),
        pytest.param(writers, "object.__setattr__(state, 'execution_mode', 1)", id="by force"),
        pytest.param(writers, "state.execution_mode = 1", id="an assignment"),
        pytest.param(goals, "task.goal", id="a goal"),
        pytest.param(goals, "getattr(task, 'intent')", id="an intent by its name"),
        pytest.param(goals, "from somewhere import TaskDomain", id="the kind of a domain"),
        pytest.param(shadow_variables, "def f(shadow_variable): pass", id="the shadow variable"),
        pytest.param(shadow_variables, "x.environ", id="the environment"),
        pytest.param(modes_made, "SupervisorMode(text)", id="a mode of a text"),
    ],
)
def test_the_looks_above_see_what_they_look_for(look: Callable[[ast.AST], list[object]], source: str) -> None:
    assert look(ast.parse(source)) != []


def test_the_look_for_writers_lets_readers_be() -> None:
    assert writers(ast.parse("CallContext(execution_mode=state.execution_mode)\nModeState(last_decision='x')")) == []
