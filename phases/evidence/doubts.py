"""Find signs of fake work in Python code: cheap, by its syntax tree and the words in it.

A doubt is reported to the user and never refuses work. A wrong doubt about honest code is worse than a missed fake: the
reviewer is the real answer.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.evidence.locate import demands_of, is_value, locate_demands, words_of
from phases.evidence.observation import Observation
from phases.evidence.places import (
    CITED,
    FUNCTION,
    VALUE,
    Function,
    Place,
    gives_up,
    has_none,
    is_stub,
    is_test_file,
    last_word,
    split_lines,
)
from phases.workspace.syntax import parse_python

_WORKED_OUT = ("equation", "algorithm", "model", "loss", "metric", "baseline")
"""Kinds of requirement that are computed and cannot be looked up."""
_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set)
_ASSERTS = re.compile(r"assert|raises|check|expect|verify|fail|compare|should|warns", re.IGNORECASE)
_OF_TYPE = ("isinstance", "callable", "hasattr", "str", "repr")
_LEAST_COPIES, _MOST_NAMED = 3, 5
_ORDINARY = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "each", "for", "from", "if", "in", "is", "it", "its", "of", "on", "or",
     "return", "self", "that", "the", "this", "to", "we", "with")
)  # fmt: skip


def find_doubts(plan: Mapping[str, Any], sources: Mapping[str, str], seen: Observation) -> list[str]:
    """Return the doubts about the code of a plan, each as a sentence; only Python is examined."""
    demands = {str(row["id"]): row for row in demands_of(plan)}
    trees = {path: tree for path, text in sources.items() if path.endswith(".py") and (tree := parse_python(text))}
    places = [place for place in locate_demands(plan, sources) if place.how == CITED and place.path in trees]
    code = [
        (place, node) for place in places if place.kind == FUNCTION for node in _function_at(place, trees[place.path])
    ]
    return [
        *_doubt_functions(code, demands, trees),
        *_doubt_unfinished(code, demands, trees, seen),
        *_doubt_untested(code, demands, seen),
        *_doubt_abstract(places),
        *_doubt_copies(code),
        *_doubt_words(places, demands, sources),
        *_doubt_values(places, sources),
        *_doubt_tests(trees, seen),
    ]


def _function_at(place: Place, tree: ast.Module) -> Iterator[Function]:
    for node in _functions_of(tree):
        if min([node.lineno, *(each.lineno for each in node.decorator_list)]) == place.first:
            yield node


def _doubt_functions(
    code: Sequence[tuple[Place, Function]], demands: Mapping[str, Any], trees: Mapping[str, ast.Module]
) -> Iterator[str]:
    for place, node in _distinct(code):
        kind = demands[place.identifier].get("kind")
        what = "random values" if _is_random(node) else "a constant for any input" if _is_constant(node) else ""
        what = "constants for inputs that it knows" if _is_looked_up(node, trees[place.path]) else what
        what = "nothing" if has_none(node) else what if kind in _WORKED_OUT else ""
        if what and kind in (*_WORKED_OUT, "dataset", "experiment"):
            yield f"{place.name} returns {what} ({place.identifier})"


def _distinct(code: Sequence[tuple[Place, Function]]) -> Iterator[tuple[Place, Function]]:
    seen = set[tuple[str, int]]()
    for place, node in code:
        if (place.path, node.lineno) not in seen and not place.is_abstract:
            seen.add((place.path, node.lineno))
            yield place, node


def _doubt_unfinished(
    code: Sequence[tuple[Place, Function]],
    demands: Mapping[str, Any],
    trees: Mapping[str, ast.Module],
    seen: Observation,
) -> Iterator[str]:
    """Yield functions that give up in a case of their own or call what gives up, and those of which tests run little."""
    for place, node in _distinct(code):
        ran, unrun = seen.lines.get(place.path, {}), seen.unrun.get(place.path, frozenset())
        others = _functions_of(trees[place.path])
        stubs = {each.name for each in others if is_stub(each) and any(map(gives_up, each.body))}
        blocks = [each for each in ast.walk(node) if isinstance(each, (ast.If, ast.For, ast.While, ast.With))]
        given_up = [each.lineno for block in blocks for each in block.body if gives_up(each) and each.lineno not in ran]
        called = {last_word(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
        own = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        run, left = sum(line in ran for line in own), sum(line in unrun for line in own)
        inner = [each for each in _functions_of(node) if each is not node and each.body[0].lineno in unrun]
        if given_up or called & stubs:
            where = f"line {given_up[0]}" if given_up else f"{min(called & stubs)}, which it calls"
            yield f"{place.name} raises NotImplementedError in {where}"
        elif demands[place.identifier].get("kind") in _WORKED_OUT and run and (left >= run or inner):
            what = f"{inner[0].name} inside of it" if inner else f"{left} of its {run + left} lines"
            yield f"{place.name} was run, but no test ran {what}"


def _doubt_untested(
    code: Sequence[tuple[Place, Function]], demands: Mapping[str, Any], seen: Observation
) -> Iterator[str]:
    """Yield that no passing test runs the functions that cite requirements, where that is true of half of them or more."""
    own = [(place, node) for place, node in _distinct(code) if demands[place.identifier].get("kind") in _WORKED_OUT]
    idle = [place.name for place, _ in own if not seen.tests_of(place.path, place.body)]
    if idle and 2 * len(idle) >= len(own) and not seen.is_blind:
        named = ", ".join(idle[:_MOST_NAMED])
        yield f"no passing test runs {len(idle)} of the {len(own)} functions that cite requirements: {named}"


def _doubt_abstract(places: Sequence[Place]) -> Iterator[str]:
    """Yield requirements of which nothing but abstract definitions is there."""
    for name in dict.fromkeys(place.identifier for place in places):
        own = [place for place in places if place.identifier == name]
        if all(place.is_abstract for place in own):
            yield f"{own[0].name} is abstract, and nothing that implements it cites {name}"


def _doubt_copies(code: Sequence[tuple[Place, Function]]) -> Iterator[str]:
    """Yield functions for different requirements that differ in nothing but constants and names."""
    shapes = dict[str, dict[str, str]]()
    for place, node in code:
        if len(_work_of(node)) > 1:
            shapes.setdefault(_shape(node), {})[place.name] = place.identifier
    for names in shapes.values():
        if len(names) >= _LEAST_COPIES and len(set(names.values())) >= _LEAST_COPIES:
            yield f"{', '.join(list(names)[:_MOST_NAMED])} are {len(names)} copies of one function with other constants"


def _work_of(node: Function) -> list[ast.stmt]:
    return [each for each in node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]


def _shape(node: Function) -> str:
    """Return the tree of a body without its constants, and without the names that it gives itself."""
    given = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    given |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    text = "\n".join(ast.dump(each) for each in _work_of(node))
    text = re.sub(r"Constant\(value=(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,)]*)", "Constant(", text)
    return re.sub(r"id='([^']*)'", lambda match: "id=own" if match[1] in given else match[0], text)


def _doubt_words(places: Sequence[Place], demands: Mapping[str, Any], sources: Mapping[str, str]) -> Iterator[str]:
    """Yield requirements of which no word is in the code that cites them, where these are most of all that is cited."""
    texts = dict[str, set[str]]()
    for place in places:
        lines = split_lines(sources[place.path])[place.first - 1 : place.last]
        texts.setdefault(place.identifier, set()).update(words_of(f"{place.path} {place.symbol} {' '.join(lines)}"))
    own = {name: words_of(text) - _ORDINARY for name in texts if (text := str(demands[name]["text"])).isascii()}
    strange = [name for name, words in own.items() if words and not words & texts[name]]
    is_english = any("the" in str(demands[name]["text"]).lower().split() for name in own)  # as names in code mostly are
    if is_english and len(strange) >= _LEAST_COPIES and 2 * len(strange) >= len(own):
        named = ", ".join(strange[:_MOST_NAMED])
        yield f"the code that cites {named} shares no word with them ({len(strange)} of {len(own)} requirements)"


def _doubt_values(places: Sequence[Place], sources: Mapping[str, str]) -> Iterator[str]:
    """Yield constants of modules that nothing reads."""
    for place in places:
        is_constant = split_lines(sources[place.path])[place.first - 1].startswith(place.symbol)
        if place.kind == VALUE and is_value({"id": place.identifier}) and is_constant:
            pattern = re.compile(rf"\b{re.escape(place.symbol)}\b")
            if sum(len(pattern.findall(text)) for path, text in sources.items() if not is_test_file(path)) == 1:
                yield f"nothing reads {place.name} ({place.identifier})"


def _doubt_tests(trees: Mapping[str, ast.Module], seen: Observation) -> Iterator[str]:
    """Yield that tests assert nothing, where that is true of half of them or more; and tests that another one replaces."""
    files = {path: list(_functions_of(tree)) for path, tree in trees.items() if is_test_file(path)}
    names = {node.name for nodes in files.values() for node in nodes if not _is_silent(node, set())}
    tests = [node for nodes in files.values() for node in nodes if node.name.startswith("test")]
    silent = [node.name for node in tests if _is_silent(node, names)]
    if seen.tests and silent and 2 * len(silent) >= len(tests):
        yield f"{len(silent)} of {len(tests)} tests assert nothing: {', '.join(silent[:_MOST_NAMED])}"
    for path, nodes in files.items():
        own = Counter(node.name for node in trees[path].body if isinstance(node, Function))
        again = [name for name, count in own.items() if count > 1 and name.startswith("test")]
        yield from (f"{path} defines {name} more than once: only the last one runs" for name in again)
        weak = [node.name for node in nodes if node.name.startswith("assert") and _is_silent(node, set())]
        yield from (f"{path} replaces {name} by one that cannot fail" for name in weak)


def _functions_of(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _is_silent(node: Function, asserting: set[str]) -> bool:
    """Return whether a function asserts nothing that could fail. `asserting`: functions of the tests that do."""
    caught = {
        id(inner)
        for block in ast.walk(node)
        if isinstance(block, ast.Try) and any(not any(map(_raises, ast.walk(each))) for each in block.handlers)
        for statement in block.body
        for inner in ast.walk(statement)
    }
    return not any(id(each) not in caught and _can_fail(each, asserting) for each in ast.walk(node))


def _raises(node: ast.AST) -> bool:
    return isinstance(node, (ast.Raise, ast.Assert)) or (
        isinstance(node, ast.Call) and bool(_ASSERTS.search(last_word(node.func)))
    )


def _can_fail(node: ast.AST, asserting: set[str]) -> bool:
    if isinstance(node, ast.Assert):
        return not _is_vacuous(node.test)
    if isinstance(node, ast.Call):
        name = last_word(node.func)
        if name in asserting or name in ("assertIsNotNone", "assertIsInstance"):
            return name in asserting
        is_equal = name in ("assertEqual", "assertAlmostEqual") and len(node.args) > 1
        test = ast.Compare(node.args[0], [ast.Eq()], [node.args[1]]) if is_equal else next(iter(node.args), None)
        return bool(_ASSERTS.search(name)) and not (
            test and name.startswith(("assertTrue", "assertEq", "assertA")) and _is_vacuous(test)
        )
    return isinstance(node, ast.Raise)


def _is_vacuous(test: ast.expr) -> bool:
    """Return whether an expression is true whatever the code computes: a constant, a type, something and not None, itself."""
    if isinstance(test, ast.Compare):
        same = ast.dump(test.left) == ast.dump(test.comparators[0])
        is_not_none = isinstance(test.ops[0], ast.IsNot) and isinstance(test.comparators[0], ast.Constant)
        return same or is_not_none or all(map(_is_number, (test.left, *test.comparators)))
    if isinstance(test, ast.BoolOp):
        dumps = [ast.dump(each) for each in test.values]
        excludes = [ast.dump(each.operand) for each in test.values if isinstance(each, ast.UnaryOp)]
        return bool(set(dumps) & set(excludes)) or (isinstance(test.op, ast.And) and all(map(_is_vacuous, test.values)))
    is_type = isinstance(test, ast.Call) and last_word(test.func) in _OF_TYPE
    return is_type or isinstance(test, (ast.Constant, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict)) or _is_number(test)


def _given(node: Function) -> set[str]:
    return {each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)} - {"self", "cls"}


def _is_constant(node: Function) -> bool:
    """Return whether a function with arguments reads none of them and returns literals."""
    given = _given(node)
    read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    returns = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
    return bool(given and returns) and not read & given and not is_stub(node) and "self" not in read


def _is_looked_up(node: Function, tree: ast.Module) -> bool:
    """Return whether all that a function returns are numbers that it knows by its arguments. Names choose a setting."""
    given, inside = _given(node), list(ast.walk(node))
    tables = {
        target.id
        for each in tree.body
        if isinstance(each, ast.Assign) and isinstance(each.value, _LITERALS[1:]) and _holds_numbers(each.value)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    returned = [each.value for each in inside if isinstance(each, ast.Return) and each.value is not None]
    tests = [each.comparators[-1] for each in inside if isinstance(each, ast.Compare)]
    work = [each for each in inside if isinstance(each, (ast.For, ast.While, ast.AugAssign, ast.BinOp))]
    entries = [each for each in returned if _is_entry(each, tables)]
    known = all(each in entries or _is_number(each) for each in returned) and all(map(_holds_numbers, tests))
    return bool(given and (entries or (returned and tests))) and known and all(map(_is_number, work))


def _is_entry(node: ast.expr, tables: set[str]) -> bool:
    """Return whether an expression is what a table of numbers holds: `TABLE[x]`, `{1: 2}.get(x)`."""
    is_call = isinstance(node, ast.Call) and last_word(node.func) in ("get", "index")
    table = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_call else node
    while isinstance(table, ast.Subscript):
        table = table.value
    own = isinstance(table, ast.Dict) and table is not node and _holds_numbers(table)
    return own or (isinstance(table, ast.Name) and table is not node and table.id in tables)


def _holds_numbers(node: ast.expr) -> bool:
    """Return whether an expression is a literal without a name in it: no variable, and no text that could be a key's name."""
    names = (each for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Lambda)))
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    is_named = any(text.replace("-", "_").isidentifier() for text in texts)
    return isinstance(node, _LITERALS) and not is_named and not any(names)


def _is_number(node: ast.AST) -> bool:
    parts = [each for each in ast.walk(node) if not isinstance(each, (ast.operator, ast.unaryop))]
    return all(isinstance(each, (ast.Constant, ast.BinOp, ast.UnaryOp)) for each in parts)


def _is_random(node: Function) -> bool:
    """Return whether a function draws random numbers and looks at nothing but the size of its arguments."""
    given = _given(node)
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    if not given or not any("random" in ast.unparse(each.func).split(".")[:-1] for each in calls):
        return False
    sized = {id(inner) for each in calls if last_word(each.func) in ("len", "isinstance") for inner in ast.walk(each)}
    return all(id(each) in sized for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in given)
