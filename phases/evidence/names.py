"""Find by its name where code implements a component or holds a value, in Python and in data files.

A component of the plan is looked up among the names of functions and classes, a value among those of constants, settings,
arguments and keys. A name that fits nothing proves nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.evidence.places import (
    BY_NAME,
    CLASS,
    DATA,
    FUNCTION,
    VALUE,
    Place,
    find_entries,
    is_test_file,
    split_lines,
    walk_definitions,
)
from phases.evidence.stubs import Function, is_stub
from phases.evidence.values import literal_value
from phases.workspace.syntax import parse_python

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_GENERAL = frozenset(
    ("a", "an", "and", "algorithm", "approach", "for", "function", "in", "layer", "method", "model", "module", "network", "of",
     "on", "our", "proposed", "step", "the", "to", "with")
)  # fmt: skip
"""Words that name nothing by themselves."""
_SHORT: Mapping[str, tuple[str, ...]] = {
    "learning rate": ("lr", "eta", "alpha", "stepsize"),
    "batch size": ("bs", "batch", "batchsize"),
    "weight decay": ("wd", "decay", "l2"),
    "dropout": ("dropout", "pdrop", "drop"),
    "epochs": ("epochs", "nepochs", "epoch"),
    "hidden size": ("hidden", "dmodel", "width", "dim"),
    "number of layers": ("nlayers", "layers", "depth"),
    "number of heads": ("nheads", "heads"),
    "temperature": ("temperature", "tau", "temp"),
    "discount factor": ("gamma", "discount"),
    "random seed": ("seed",),
}
_MOST = 3
_KEY = re.compile(r"""^\s*["']?([\w.-]+)["']?\s*[:=,]""")
_DATA_FILES = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg")


class _Definition(NamedTuple):
    place: Place
    words: frozenset[str]
    path_words: frozenset[str]


def find_by_name(plan: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, list[Place]]:
    """Return, by id, the places whose names fit a requirement's component or a value of the plan."""
    files = {path: text for path, text in sources.items() if not is_test_file(path)}
    definitions = [each for path, text in files.items() for each in _definitions(path, text)]
    values = [each for path, text in files.items() for each in _values(path, text)]
    found = dict[str, list[Place]]()
    for component in plan.get("components", ()):
        for name in component.get("requirements", ()):
            found.setdefault(name, []).extend(_of_component(component["name"], definitions))
    for row in plan.get("values", ()):
        found[row["id"]] = _of_value(row, values)
    return found


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name in snake case, camel case or prose; without a plural s."""
    words = (word.lower() for word in _WORD.findall(name))
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words
    )


def _definitions(path: str, source: str) -> Iterator[_Definition]:
    tree = parse_python(source) if path.endswith(".py") else None
    for one in walk_definitions(tree) if tree else ():
        node = one.node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            functions = [each for each in ast.walk(node) if isinstance(each, Function)]
            body = tuple((each.body[0].lineno, each.end_lineno or each.lineno) for each in functions)
            kind = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
            span = (node.lineno, node.end_lineno or node.lineno)
            place = Place("", path, one.symbol, *span, kind, is_stub=is_stub(node), body=body, how=BY_NAME)
            yield _Definition(place, words_of(node.name), words_of(path.removesuffix(".py")))


def _of_component(name: str, definitions: Sequence[_Definition]) -> list[Place]:
    """Return the definitions that best match a component's name; those with the fewest other words first."""
    wanted = words_of(name) - _GENERAL or words_of(name)
    short = "".join(word[0] for word in re.findall(r"[A-Za-z]+", name)).lower()
    fitting = [
        (len(one.words - wanted), one.place.path, one.place.first, one.place)
        for one in definitions
        if (wanted <= one.words | one.path_words and wanted & one.words)
        or (len(short) > 2 and short in one.words)
        or (len(wanted) == 1 and wanted <= one.words)
    ]
    best = sorted(fitting, key=lambda row: row[:3])
    return [row[3] for row in best if row[0] == best[0][0]][:_MOST]


def _values(path: str, source: str) -> Iterator[tuple[frozenset[str], str, Place]]:
    """Yield the named values of a file: their words, all in one, and their places."""
    if path.endswith(_DATA_FILES):
        for number, line in enumerate(split_lines(source), 1):
            if key := _KEY.match(line):
                yield words_of(key[1]), _joined(key[1]), Place("", path, key[1], number, number, DATA, how=BY_NAME)
    tree = parse_python(source) if path.endswith(".py") else None
    for symbol, value in _named_values(tree) if tree else ():
        name = symbol.rpartition(".")[2]
        place = Place("", path, symbol, value.lineno, value.end_lineno or value.lineno, VALUE, value=value, how=BY_NAME)
        yield words_of(name), _joined(name), place


def _named_values(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for one in walk_definitions(tree):
        if not isinstance(one.node, (ast.Assign, ast.AnnAssign)):
            continue
        value = one.node.value
        is_computed = isinstance(value, ast.BinOp) and literal_value(value) is not None
        if value is not None and (is_computed or isinstance(value, (ast.Constant, ast.UnaryOp))):
            yield one.symbol, value
    for node in ast.walk(tree):
        yield from find_entries(node)
        yield from _options(node)


def _options(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the default of a command-line option."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("add_argument", "option"):
        names = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        default = next((each.value for each in node.keywords if each.arg == "default"), None)
        if names and default is not None:
            yield max(names, key=len).lstrip("-").replace("-", "_"), default


def _of_value(row: Mapping[str, Any], values: Iterable[tuple[frozenset[str], str, Place]]) -> list[Place]:
    """Return the named values that may be a value of the plan, by its name, usual short forms, or symbol."""
    name = str(row.get("name") or "")
    wanted = words_of(name) - _GENERAL
    short = {each for usual, forms in _SHORT.items() if words_of(usual) - _GENERAL <= wanted for each in forms}
    symbol = _joined(str(row.get("symbol") or ""))
    exact, loose = list[Place](), list[Place]()
    for words, joined, place in values:
        if wanted and wanted <= words:
            exact.append(place)
        elif joined in short or (len(symbol) > 1 and joined == symbol):
            loose.append(place)
    return (exact or loose)[:_MOST]


def _joined(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
