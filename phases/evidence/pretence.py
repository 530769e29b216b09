"""Code that runs, and does not do the work: what its tree gives away. Each finding is a sentence for who must mend it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from phases.evidence.places import CLASS, FUNCTION, MODULE, Place
from phases.evidence.stubs import Function, gives_up, is_stub, last_word
from phases.workspace.syntax import parse_python

_ANSWERS = ("equation", "algorithm", "model", "loss", "metric", "baseline", "procedure")
"""Kinds of requirement that are worked out, and cannot be looked up."""
_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set)
_LOOKS_UP = ("get", "index")
_SIZES = ("len", "isinstance")


def find_overload(places: Sequence[Place], others: Sequence[Place], kinds: Mapping[str, str], source: str) -> str:
    """Whether a function is said to do more than it has statements for; empty where it is not. `others`: all places."""
    tree = parse_python(source)
    for place in places if tree else ():
        same = {
            each.identifier for each in others if each[1:5] == place[1:5] and kinds.get(each.identifier) in _ANSWERS
        }
        inside = [each for each in _functions_of(tree) if place.first <= each.lineno <= place.last]
        count = sum(_statements_in(each) for each in inside)
        if place.kind in (FUNCTION, CLASS, MODULE) and inside and len(same) > count + 1:
            return f"{place.symbol} is too small for all of {', '.join(sorted(same))}: name the code of each"
    return ""


def _statements_in(function: Function) -> int:
    return (
        sum(isinstance(each, ast.stmt) for each in ast.walk(function)) - 1 - (ast.get_docstring(function) is not None)
    )


def _functions_of(tree: ast.Module | None) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)] if tree else []


def find_pretence(
    path: str, source: str, places: Sequence[Place], kind: str, ran: Collection[int], unrun: Collection[int]
) -> str:
    """What the code of these places leaves undone. `ran`, `unrun`: lines that tests run, or do not."""
    tree = parse_python(source)
    if tree is None:
        return ""
    own = [place for place in places if not place.is_abstract]
    for node in _parts_given_up(tree):
        if _is_within(node, own) and node.lineno not in ran:
            return f"line {node.lineno} of {path} raises NotImplementedError"
    functions = _functions_of(tree)
    stubs = {node.name for node in functions if is_stub(node) and any(map(gives_up, node.body))}
    for node in functions:
        if not _is_within(node.body[0], own):
            continue
        for name in _called(node) & stubs:
            return f"{node.name} calls {name}, which raises NotImplementedError"
        if inner := next((each for each in _inner(node) if _is_unrun(each, ran, unrun)), None):
            return f"{inner.name}, inside of {node.name}, is never run"
        is_one = any(place.kind == FUNCTION and place.first <= node.lineno <= place.last for place in own)
        if is_one and kind in _ANSWERS and _is_looked_up(node, tree):
            return f"{node.name} gives back constants for inputs that it knows, and works nothing out"
        if is_one and kind in _ANSWERS and _is_random(node):
            return f"{node.name} gives back random values, whatever it is given"
    return ""


def _is_within(node: ast.stmt, places: Sequence[Place]) -> bool:
    return any(first <= node.lineno <= last for place in places for first, last in place.body)


def _parts_given_up(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that give up in a case of their own. At the end of a function, or in an else, they refuse what is unknown."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.For, ast.While, ast.With)):
            yield from filter(gives_up, node.body)


def _called(node: ast.AST) -> set[str]:
    """The functions that are called by their bare names; a method may be another class's."""
    return {each.func.id for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}


def _inner(node: Function) -> Iterator[Function]:
    for child in ast.walk(node):
        if isinstance(child, Function) and child is not node:
            yield child


def _is_unrun(node: Function, ran: Collection[int], unrun: Collection[int]) -> bool:
    lines = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    return any(line in unrun for line in lines) and not any(line in ran for line in lines)


def _is_looked_up(node: Function, tree: ast.Module) -> bool:
    """Whether all that a function gives back are constants, chosen by whether an argument is this or that constant."""
    given = {each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)} - {"self", "cls"}
    tables = _tables(tree)
    backs = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value is not None]
    if not given or not backs or not all(_is_answer(back, tables) for back in backs):
        return False
    # An argument may be compared with constants for being equal, and stand where a table is asked; a threshold is work.
    tests = [each for each in ast.walk(node) if isinstance(each, ast.Compare)]
    equal = all(
        isinstance(each.ops[0], (ast.Eq, ast.In)) and isinstance(each.comparators[-1], _LITERALS) for each in tests
    )
    if tests and all(_compares_names(each) for each in tests):
        return False  # which setting is meant
    asked = tests or any(not isinstance(back, _LITERALS) and not _is_negative(back) for back in backs)
    others = [each for each in ast.walk(node) if isinstance(each, (ast.For, ast.While, ast.AugAssign, ast.BinOp))]
    return equal and bool(asked) and all(_is_number(each) for each in others)


def _tables(tree: ast.Module) -> Mapping[str, ast.expr]:
    """The containers of numbers that a module begins with, by name."""
    return {
        each.targets[0].id: each.value
        for each in tree.body
        if isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and isinstance(each.value, (ast.Dict, ast.List, ast.Tuple))
        and not any(isinstance(inner, (ast.Lambda, ast.Name)) for inner in ast.walk(each.value))
        and not _is_named(each.value)
    }


def _compares_names(node: ast.Compare) -> bool:
    texts = [each.value for each in ast.walk(node.comparators[-1]) if isinstance(each, ast.Constant)]
    return bool(texts) and all(isinstance(text, str) and _is_name(text) for text in texts)


def _is_named(node: ast.expr) -> bool:
    """Whether a table is one of settings: its keys are names."""
    keys = node.keys if isinstance(node, ast.Dict) else []
    texts = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return bool(texts) and len(texts) == len(keys) and all(map(_is_name, texts))


def _is_name(text: str) -> bool:
    return text.replace("-", "_").isidentifier()


def _is_answer(node: ast.expr, tables: Mapping[str, ast.expr]) -> bool:
    """A number, or what a table of numbers holds for the arguments."""
    if _is_number(node) or isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Subscript):
        return _is_table(node.value, tables)
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS_UP
    return is_call and _is_table(node.func.value, tables)  # type: ignore[attr-defined]


def _is_table(node: ast.expr, tables: Mapping[str, ast.expr]) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_table(node.value, tables)
    return (isinstance(node, ast.Dict) and not _is_named(node)) or (isinstance(node, ast.Name) and node.id in tables)


def _is_number(node: ast.AST) -> bool:
    """A literal number, or a sum of such."""
    parts = [each for each in ast.walk(node) if not isinstance(each, (ast.operator, ast.unaryop))]
    return all(isinstance(each, (ast.Constant, ast.BinOp, ast.UnaryOp)) for each in parts)


def _is_negative(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def _is_random(node: Function) -> bool:
    """Whether random numbers are drawn, and of the arguments nothing but the size is looked at."""
    given = {each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)} - {"self", "cls"}
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    draws = any("random" in ast.unparse(each.func).split(".")[:-1] for each in calls)
    if not draws or not given:
        return False
    sized = {
        id(inner)
        for each in calls
        if last_word(each.func) in _SIZES
        for argument in each.args
        for inner in ast.walk(argument)
    }
    read = [each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in given]
    return all(id(each) in sized for each in read)
