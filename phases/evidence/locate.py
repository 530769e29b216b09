"""Locate each requirement and value of the plan in the code: cited, in the files that the plan names for it, or by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.evidence.places import (
    BY_NAME,
    CLASS,
    DATA,
    FUNCTION,
    PLANNED,
    TEXT,
    VALUE,
    Function,
    Place,
    find_entries,
    find_places,
    is_stub,
    is_test_file,
    last_names,
    last_word,
    read_keys,
    split_lines,
    walk_definitions,
    whole_module,
)
from phases.evidence.values import literal_value
from phases.workspace.syntax import parse_python
from phases.workspace.workspace import Workspace, WorkspaceError

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
_BUILT = frozenset(("target", "build", "dist", "CMakeFiles", "node_modules", "__pycache__", "site-packages"))
"""Directories of what tools made or fetched."""
_TAG = re.compile(r"\\tag\{([^{}]+)\}")


def demands_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the requirements and the values of a plan as rows of one form.

    What describes a data set, a machine or another paper's runs is in the plan for its reader, and no code has to hold it.
    """
    values = [row for row in plan.get("values", ()) if not _is_fact(row)]
    return [*plan["requirements"], *map(_demand_of_value, values)]


def is_value(row: Mapping[str, Any]) -> bool:
    """Return whether a row of `demands_of` is a value of the plan."""
    return str(row["id"]).startswith("V")


def describe_value(row: Mapping[str, Any]) -> str:
    """Describe a value: name, symbol, amount, owner and condition."""
    shown = row["value"] if "value" in row else ", ".join(map(str, row["values"]))
    symbol = f" ({row['symbol']})" if row.get("symbol") else ""
    unit = f" {row['unit']}" if row.get("unit") else ""
    owner = f", of {row['owner']}" if row.get("owner") not in (None, "", "method") else ""
    condition = f", {row['condition']}" if row.get("condition") else ""
    return f"{row['name']}{symbol} = {shown}{unit}{owner}{condition}"


def _is_fact(row: Mapping[str, Any]) -> bool:
    return row.get("kind") == "fact" or (row.get("kind") == "data" and row.get("owner") not in (None, "", "method"))


def _demand_of_value(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "kind": "hyperparameter",
        "text": describe_value(row),
        "source": row["source"],
        "status": row.get("status", "stated"),
        "name": row["name"],
        "value": row["value"] if "value" in row else list(row["values"]),
        "unit": row.get("unit", ""),
    }


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
    """Return the words of a name in snake case, camel case or prose, without a plural s."""
    words = (word.lower() for word in _WORD.findall(name))
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words
    )


def _definitions(path: str, source: str) -> Iterator[_Definition]:
    tree = parse_python(source) if path.endswith(".py") else None
    for definition in walk_definitions(tree) if tree else ():
        node = definition.node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            functions = [each for each in ast.walk(node) if isinstance(each, Function)]
            body = tuple((each.body[0].lineno, each.end_lineno or each.lineno) for each in functions)
            kind = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
            span = (node.lineno, node.end_lineno or node.lineno)
            place = Place("", path, definition.symbol, *span, kind, is_stub=is_stub(node), body=body, how=BY_NAME)
            yield _Definition(place, words_of(node.name), words_of(path.removesuffix(".py")))


def _of_component(name: str, definitions: Sequence[_Definition]) -> list[Place]:
    """Return the definitions that a component's name fits best; those with the fewest other words first."""
    wanted = words_of(name) - _GENERAL or words_of(name)
    short = "".join(word[0] for word in re.findall(r"[A-Za-z]+", name)).lower()
    fitting = [
        (len(definition.words - wanted), definition.place.path, definition.place.first, definition.place)
        for definition in definitions
        if (wanted <= definition.words | definition.path_words and wanted & definition.words)
        or (len(short) > 2 and short in definition.words)
        or (len(wanted) == 1 and wanted <= definition.words)
    ]
    best = sorted(fitting, key=lambda row: row[:3])
    return [row[3] for row in best if row[0] == best[0][0]][:_MOST]


def _values(path: str, source: str) -> Iterator[tuple[frozenset[str], str, Place]]:
    """Yield the named values of a file: words, joined name, and place."""
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
    for definition in walk_definitions(tree):
        if not isinstance(definition.node, (ast.Assign, ast.AnnAssign)):
            continue
        value = definition.node.value
        is_computed = isinstance(value, ast.BinOp) and literal_value(value) is not None
        if value is not None and (is_computed or isinstance(value, (ast.Constant, ast.UnaryOp))):
            yield definition.symbol, value
    for node in ast.walk(tree):
        yield from find_entries(node)
        yield from _options(node)


def _options(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the defaults of command line options."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("add_argument", "option"):
        names = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        default = next((each.value for each in node.keywords if each.arg == "default"), None)
        if names and default is not None:
            yield max(names, key=len).lstrip("-").replace("-", "_"), default


def _of_value(row: Mapping[str, Any], values: Iterable[tuple[frozenset[str], str, Place]]) -> list[Place]:
    """Return the named values that may be a value of the plan: by name, usual short form, or symbol."""
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


def read_sources(workspace: Workspace) -> dict[str, str]:
    """Return the text files of a workspace by path, without hidden, built and binary ones, and those that cannot be read."""
    sources = {}
    for path in workspace.paths():
        if not any(part.startswith(".") or part in _BUILT for part in path.split("/")[:-1]):
            try:
                text = workspace.read(path)
            except WorkspaceError:
                continue
            if "\0" not in text and not path.rsplit("/", 1)[-1].startswith("."):
                sources[path] = text
    return sources


def locate_demands(plan: Mapping[str, Any], sources: Mapping[str, str]) -> list[Place]:
    """Return the places of all requirements and values of a plan, each with how it was found.

    A citation of the id counts before one of the equation or algorithm, and that before one of the section. Without a
    citation a requirement is in the files that the plan names for it, else where a name fits; a value the other way round.
    """
    demands = demands_of(plan)
    keys = {str(row["id"]): _keys_of(row) for row in demands}
    cited = _cited_places(sources, {key for wanted in keys.values() for key in wanted})
    overrides = _find_overrides(sources)
    by_name, wholes = find_by_name(plan, sources), _whole_files(plan, sources, overrides)
    # a requirement may be about the tests themselves; which tests run these says nothing
    tests = {path: Place("", path, "(file)", 1, 1, DATA, how=PLANNED) for path in sources if is_test_file(path)}
    found = list[Place]()
    for row in demands:
        name = str(row["id"])
        at = next((cited[key] for key in keys[name] if key in cited), [])
        planned, named = list(_planned_places(row, plan, wholes)), by_name.get(name, [])
        at = at or (named or planned if is_value(row) else planned or named) or list(_planned_places(row, plan, tests))
        found += [other._replace(identifier=name) for place in at for other in _with_overrides(place, overrides)]
    return found


def _keys_of(row: Mapping[str, Any]) -> list[str]:
    """Return what code may cite for a requirement, the most specific key first."""
    source: Mapping[str, Any] = row.get("source") or {}
    text = f"{row['text']} {source.get('quote') or ''}"
    numbered = [f"equation {number}" for number in _TAG.findall(str(row.get("formula") or ""))]
    numbered += [key for key in read_keys(text) if key.startswith(("equation", "algorithm"))]
    section = str(source.get("section") or "").split(" ")[0].rstrip(".")
    own = [] if is_value(row) else [*numbered, *([f"section {section}"] if section else [])]
    return [str(row["id"]), *dict.fromkeys(own)]


def _cited_places(sources: Mapping[str, str], wanted: Collection[str]) -> dict[str, list[Place]]:
    cited = dict[str, list[Place]]()
    for path, source in sources.items():
        for place in find_places(path, source, wanted):
            cited.setdefault(place.identifier, []).append(place)
    return cited


def _planned_places(row: Mapping[str, Any], plan: Mapping[str, Any], wholes: Mapping[str, Place]) -> Iterator[Place]:
    """Yield the files that the plan names for a requirement and that are there, each as a whole."""
    name, component = str(row["id"]), row.get("component")
    for file in plan["file_structure"]:
        named = name in file.get("implements", ()) or (component and component in file.get("components", ()))
        if named and file["path"] in wholes:
            yield wholes[file["path"]]


def _whole_files(plan: Mapping[str, Any], sources: Mapping[str, str], overrides: Collection[str]) -> dict[str, Place]:
    """Return the existing planned files, except tests, as places without an id."""
    paths = [file["path"] for file in plan["file_structure"]]
    return {
        path: _whole_file(path, sources[path], overrides)
        for path in paths
        if path in sources and not is_test_file(path)
    }


def _whole_file(path: str, source: str, overrides: Collection[str]) -> Place:
    tree = parse_python(source) if path.endswith(".py") else None
    count = len(split_lines(source))
    if tree is None:
        return Place("", path, path.rsplit("/", 1)[-1], 1, count, TEXT, how=PLANNED)
    return whole_module(path, tree, count, overrides)._replace(how=PLANNED)


def _find_overrides(sources: Mapping[str, str]) -> dict[str, list[Place]]:
    """Return the methods that do something by each `Class.method` of a class above theirs."""
    trees = {path: parse_python(text) for path, text in sources.items() if path.endswith(".py")}
    classes = [
        (path, definition.symbol, definition.node)
        for path, tree in trees.items()
        if tree and not is_test_file(path)
        for definition in walk_definitions(tree)
        if isinstance(definition.node, ast.ClassDef)
    ]
    parents = dict[str, set[str]]()
    for _, _, node in classes:
        bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
        parents.setdefault(node.name, set()).update(map(last_word, bases))
    found = dict[str, list[Place]]()
    for path, symbol, node in classes:
        methods = [each for each in node.body if isinstance(each, Function) and not is_stub(each)]
        for method in methods:
            end = method.end_lineno or method.lineno
            place = Place(
                "", path, f"{symbol}.{method.name}", method.lineno, end, FUNCTION, body=((method.body[0].lineno, end),)
            )
            for parent in _ancestors(node.name, parents):
                found.setdefault(f"{parent}.{method.name}", []).append(place)
    return found


def _ancestors(name: str, parents: Mapping[str, Collection[str]]) -> set[str]:
    found, todo = set[str](), [name]
    while todo:
        todo += (new := set(parents.get(todo.pop(), ())) - found)
        found |= new
    return found - {name, ""}


def _with_overrides(place: Place, overrides: Mapping[str, Sequence[Place]]) -> list[Place]:
    """Return a place and, if it leaves its work to subclasses, the methods of theirs that do it."""
    if not (place.is_stub or place.is_abstract) or place.kind not in (FUNCTION, CLASS):
        return [place]
    own = place.symbol.rpartition(".")[2]
    keys = (
        [last_names(place.symbol)]
        if place.kind == FUNCTION
        else [key for key in overrides if key.startswith(f"{own}.")]
    )
    methods = [method._replace(how=place.how) for key in keys for method in overrides.get(key, ())]
    return [place._replace(is_abstract=True), *methods] if methods else [place]


def find_tests(names: Sequence[str], sources: Mapping[str, str]) -> list[Place]:
    """Return the places of Python tests by their names (`path::Class::test`), as far as they are there."""
    found = list[Place]()
    for name in names:
        path, *parts = name.split("::")
        tree = parse_python(sources.get(path, "")) if path.endswith(".py") else None
        node = (
            next(
                (definition.node for definition in walk_definitions(tree) if definition.symbol == ".".join(parts)), None
            )
            if tree
            else None
        )
        if isinstance(node, Function):
            found.append(Place("", path, ".".join(parts), node.lineno, node.end_lineno or node.lineno, FUNCTION))
    return found


def describe_places(places: Sequence[Place]) -> str:
    """Return the first three distinct place names, joined."""
    return ", ".join(list(dict.fromkeys(place.name for place in places))[:3])
