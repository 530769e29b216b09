"""Count wording that CONTRIBUTING.md advises against, per package; the counts only go down.

`python -m tests.test_english` lowers the counts in english_budget.json; with the name of a package it lists its places.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUDGET = Path(__file__).with_name("english_budget.json")
KINDS = ("docstrings", "messages", "names")
SLACK = 20
"""How far a count may lie below its budget before the budget has to be lowered."""
NAMES = {"one", "row", "found", "told", "said", "kept"}
ROLES = r"\b(?:nobody|somebody|strangers?)\b"
NEGATION = (
    r"(?<!there )(?<!this )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|better\b|worse\b|different\b)"
)
MESSAGE = re.compile(rf"{NEGATION}|{ROLES}", re.IGNORECASE)
CLAUSE = re.compile(r"(?:What|Whether|Whose|Who|How|Which|Where|When|Why)\b")
NOUN_AND_CLAUSE = re.compile(r"(?:The|A|An|One|All|Those|Each|Every)\b.*?\b(?:that|which|who|whose|what|where)\b")
"""Fits the first line of a function whose docstring describes a noun instead of saying what to do."""
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_old_docstring(text: str, of: type[ast.AST] | None) -> bool:
    """Return whether a docstring of such a node counts; None stands for a variable, whose "Whether" describes a flag."""
    first = text.strip().partition("\n")[0]
    is_clause = CLAUSE.match(first) and not (of is None and first.startswith("Whether "))
    return bool(is_clause or MESSAGE.search(text) or (of in Function and NOUN_AND_CLAUSE.match(first)))


def places(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, line and text of every place in a module whose wording counts."""
    documented = (ast.Module, ast.ClassDef, *Function)
    docstrings: dict[int, type[ast.AST] | None] = {}
    for node in ast.walk(tree):
        for index, statement in enumerate(getattr(node, "body", None) or ()) if isinstance(node, documented) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                docstrings[id(statement.value)] = None if index else type(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NAMES:
            yield "names", node.lineno, node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            if id(node) not in docstrings:
                if MESSAGE.search(text):
                    yield "messages", node.lineno, text
            elif is_old_docstring(text, docstrings[id(node)]):
                yield "docstrings", node.lineno, text


def package_of(path: Path) -> str:
    inner = path.relative_to(ROOT).parts
    return "/".join(inner[:2]) if len(inner) > 2 else inner[0]


def modules() -> list[Path]:
    return sorted(path for top in ("pipeline", "phases") for path in (ROOT / top).rglob("*.py"))


def counts() -> dict[str, dict[str, int]]:
    by_package: dict[str, Counter[str]] = {}
    for path in modules():
        counter = by_package.setdefault(package_of(path), Counter())
        counter.update(kind for kind, _, _ in places(ast.parse(path.read_bytes())))
    return {package: {kind: counter[kind] for kind in KINDS} for package, counter in sorted(by_package.items())}


def test_no_package_gains_wording_of_the_kinds_that_are_counted() -> None:
    budget = json.loads(BUDGET.read_text(encoding="utf-8"))
    excess = {
        (package, kind): number - budget.get(package, {}).get(kind, 0)
        for package, numbers in counts().items()
        for kind, number in numbers.items()
    }
    grown = {place: number for place, number in excess.items() if number > 0}
    assert grown == {}, "python -m tests.test_english PACKAGE lists the places"
    shrunk = {place: number for place, number in excess.items() if number < -SLACK}
    assert shrunk == {}, "lower the counts: python -m tests.test_english"


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ('"""What a task is."""', ["docstrings"]),
        ('def f():\n    """The name that a user gave."""', ["docstrings"]),
        ('class A:\n    """A name that a user gave."""', []),
        ('def f():\n    """Return the name that a user gave. There is no other."""', []),
        ('def f():\n    """Return a name. It is no path."""', ["docstrings"]),
        ('LIMIT = 3\n"""Where it ends."""', ["docstrings"]),
        ('IS_OPEN = True\n"""Whether it is open."""', []),
        ('raise OSError(f"{name} is no file")', ["messages"]),
        ('raise OSError("nobody works on it")', ["messages"]),
        ('raise OSError("there is no file; it is no longer here")', []),
        ("for row in rows:\n    found = [one for one in row]", ["names", "names", "names"]),
    ],
)
def test_wording_is_counted(source: str, kinds: list[str]) -> None:
    assert sorted(kind for kind, _, _ in places(ast.parse(source))) == kinds


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for path in modules():
            if f"{path.relative_to(ROOT)}".startswith(sys.argv[1]):
                for kind, line, text in places(ast.parse(path.read_bytes())):
                    print(f"{path.relative_to(ROOT)}:{line}: {kind}: {' '.join(text.split())[:150]}")
    else:
        before = json.loads(BUDGET.read_text(encoding="utf-8")) if BUDGET.exists() else {}
        lowered = {
            package: {
                kind: min(number, before.get(package, {}).get(kind, 0)) for kind, number in numbers.items()
            }
            for package, numbers in counts().items()
        }
        BUDGET.write_text(json.dumps(lowered, indent=2) + "\n", encoding="utf-8")
