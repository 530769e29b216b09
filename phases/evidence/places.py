"""Find where code cites a requirement or a value of the plan, by id, equation, algorithm or section, and what is a stub.

In Python a place is a definition (its docstring, the comment above it, a comment in its body), a module (its docstring), or a
value: a constant, a field, an entry of a dict, an argument, a default. In a data file it is a line; in any other language
it runs from the line that cites to the next citation.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from phases.workspace.syntax import parse_python

FUNCTION, CLASS, MODULE, VALUE, DATA, TEXT = "function", "class", "module", "value", "data", "text"
CITED, PLANNED, BY_NAME = "cited", "planned", "named"
_RANGE = re.compile(r"\b([RV])([0-9]+)\s*(?:-|–|—|\.\.\.?|\bto\b|\bthrough\b)\s*\1?([0-9]+)\b")
_ID = re.compile(r"\b(?!R2[ _-]?(?i:score|squared|statistic|metric|coefficient))[RV][0-9]+\b")
"""Ids, but for the measure R2."""
_TEST_DIRECTORIES = frozenset(("test", "tests", "spec", "__tests__"))
_TEST_NAME = re.compile(
    r"^test_|_test\.|[._-](?:test|spec)\.[a-z]+$|(?:Test|Tests)\.(?:java|cs|kt)$|^(?:conftest|runtests)\."
)
_REFERENCE = re.compile(
    r"(?:\b(eq(?:uation|n)?\.?|alg(?:orithm|o)?\.?|sec(?:tion|t)?\.?)|(§))\s*\(?(\d+(?:\.\d+)*|[A-Z](?:\.\d+)+)\b",
    re.IGNORECASE,
)
_KINDS = {"e": "equation", "a": "algorithm", "s": "section", "§": "section"}
_PROSE = (".md", ".rst", ".txt", ".adoc")
_MOST_IN_RANGE = 60
_LINE_END = re.compile(r"\r\n|\r|\n")
_DATA_FILES = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".csv", ".tsv")
_LARGEST_TEXT = 512 * 1024
Function = ast.FunctionDef | ast.AsyncFunctionDef
Value = ast.Assign | ast.AnnAssign
SETS_UP = ("__init__", "__post_init__", "__new__", "__repr__", "__str__")
"""Methods that only create or show an object."""


_TODO = r"""["'`]TODO\s*(?:["'`:]|implement)"""
_SAYS_SO = r"""["'`](?i:not (?:yet )?implemented|unimplemented)\b"""
_THROWS = r"\bthrow\s+(?:new\s+)?\w*(?:Error|Exception)\w*\s*\(\s*|\bpanic!?\(\s*"
_UNWRITTEN = re.compile(rf"(?:{_THROWS}){_TODO}|\btodo!\s*\(|\{{\s*(?://\s*TODO[^\n]*\n\s*|/\*\s*TODO[^*]*\*/\s*)\}}")
"""Unfinished code, wherever it is."""
_GIVES_UP = re.compile(rf"(?:{_THROWS}){_SAYS_SO}|\bunimplemented!\s*\(|\bthrow\s+new\s+NotImplementedException\s*\(")
"""A statement that makes a function a stub if it is the only one."""
_BEGINS_FUNCTION = re.compile(r"\)[^(){};=]*(?:=>\s*)?\{?\s*\Z")
_BEGINS_BRANCH = re.compile(r"\b(?:if|for|while|switch|catch|match|when)\b")
_COMMENTS = re.compile(r"(?:\s*(?://[^\n]*|/\*[^*]*\*/))+\Z")
_CLASS = re.compile(r"\bclass\s+(\w+)")
_EXTENDS = re.compile(r"(?:\bextends\s+|\bclass\s+\w+\s*:\s*(?:public\s+)?)(\w+)")
_LONGEST_HEAD = 2000
_LOREM = re.compile(r"\blorem ipsum\b", re.IGNORECASE)
_PAGES = (".html", ".htm", ".svelte", ".vue", ".jsx", ".tsx")
_NO_CODE = (".py", ".md", ".rst", ".txt", ".json", ".yaml", ".yml", ".toml", ".csv", ".css")


class Place(NamedTuple):
    """A piece of a file that implements a requirement, as far as can be read from it."""

    identifier: str
    path: str
    symbol: str
    first: int
    last: int
    kind: str
    """function, class, module, value, data or text."""
    is_stub: bool = False
    """It does nothing: it passes, returns nothing, or raises NotImplementedError."""
    is_abstract: bool = False
    """An interface that others implement."""
    value: ast.expr | None = None
    """Of a value in Python that is given."""
    body: tuple[tuple[int, int], ...] = ()
    """The lines that run when it is used, not when it is defined: first and last of each function in it."""
    how: str = CITED
    """cited: the code says so; planned: the plan names the file; named: its name fits."""

    @property
    def name(self) -> str:
        return f"{self.path}:{self.symbol}"


class _Named(NamedTuple):
    """A definition, with what stands around it."""

    node: Function | ast.ClassDef | Value
    symbol: str
    after: int
    """The line that what stands before it ends in: a comment is its own from there on."""
    inside: Function | ast.ClassDef | None


def find_places(path: str, source: str, wanted: Collection[str]) -> list[Place]:
    """Return the places of one file that cite a wanted key, from top to bottom: code and data, no tests and no prose.

    A key is an id ("R3") or a reference to the paper ("equation 4", "algorithm 1", "section 3.2").
    """
    if is_test_file(path) or path.endswith(_PROSE) or len(source) > _LARGEST_TEXT:
        return []
    if path.endswith(".py"):
        return _PythonFile(path, source, wanted).places()
    if path.endswith(_DATA_FILES):
        return _data_places(path, source, wanted)
    return _text_places(path, source, wanted)


def _text_places(path: str, source: str, wanted: Collection[str]) -> list[Place]:
    """Return the citations in a file whose language is not parsed: each runs to the next line that cites something."""
    lines = split_lines(source)
    cited = [(number, keys) for number, line in enumerate(lines, 1) if (keys := _read_wanted(line, wanted))]
    ends = [*(number - 1 for number, _ in cited[1:]), len(lines)][: len(cited)]
    return [
        Place(key, path, str(number), number, max(end, number), TEXT)
        for (number, keys), end in zip(cited, ends, strict=True)
        for key in keys
    ]


def split_lines(source: str) -> list[str]:
    """Split the lines as Python counts them."""
    return _LINE_END.split(source)


def is_test_file(path: str) -> bool:
    """Return whether a file of this path holds tests, in any language."""
    *directories, name = path.split("/")
    return bool(_TEST_DIRECTORIES.intersection(directories)) or _TEST_NAME.search(name) is not None


def read_ids(text: str) -> list[str]:
    """Return the ids in a text, each once, in order. "R1-R3" names three."""
    found = []
    for match in _RANGE.finditer(text):
        first, last = int(match[2]), int(match[3])
        if first <= last <= first + _MOST_IN_RANGE:
            found += [f"{match[1]}{number}" for number in range(first, last + 1)]
    return list(dict.fromkeys([*_ID.findall(text), *found]))


def _read_wanted(text: str, wanted: Collection[str]) -> list[str]:
    return [key for key in read_keys(text) if key in wanted]


def read_keys(text: str) -> list[str]:
    """Return the keys that a text cites: ids, then references such as "equation 4"."""
    references = (f"{_KINDS[(match[1] or match[2])[0].lower()]} {match[3]}" for match in _REFERENCE.finditer(text))
    return list(dict.fromkeys([*read_ids(text), *references]))


class _PythonFile:
    """One Python file: its definitions, its values, and the comments that belong to each."""

    def __init__(self, path: str, source: str, wanted: Collection[str]) -> None:
        self._path, self._wanted = path, wanted
        self._tree = parse_python(source)
        self._lines = split_lines(source)
        self._named: list[_Named] = []
        self._comments = _read_comments(source) if self._tree and "#" in source else {}

    def places(self) -> list[Place]:
        if self._tree is None:
            return []
        found = list[Place]()
        named = self._named = sorted(
            walk_definitions(self._tree), key=lambda one: (one.node.lineno, one.node.col_offset)
        )
        taken = set[int]()
        """Lines of comments that belong to a definition or a value, so not to what is around it."""
        texts = [[*self._text_of(one, taken)] for one in named]
        entries = [*self._entries(self._tree, taken)]
        for number, one in enumerate(named):
            if not isinstance(one.node, Value):
                inner = [other for other in named if other.inside is one.node and not isinstance(other.node, Value)]
                texts[number] += self._comments_inside(one.node, inner, taken)
        for one, text in zip(named, texts, strict=True):
            found += [self._place(one, name) for name in self._known(text)]
        found += entries
        found += self._of_the_module(self._tree, found)
        return sorted(self._most_specific(found, named), key=lambda place: place.first)

    def _text_of(self, one: _Named, taken: set[int]) -> Iterator[str]:
        """Return the text about a definition: its docstring and the comments above it; for a value, also behind it."""
        node = one.node
        first = _first_line(node)
        for number in range(first - 1, one.after, -1):
            if number not in self._comments or self._lines[number - 1].strip()[:1] != "#":
                break
            taken.add(number)
            yield self._comments[number]
        end = node.end_lineno or node.lineno
        if isinstance(node, Value):
            if end in self._comments:
                taken.add(end)
                yield self._comments[end]
            return
        yield ast.get_docstring(node, clean=False) or ""

    def _comments_inside(
        self, node: Function | ast.ClassDef, inner: Sequence[_Named], taken: set[int]
    ) -> Iterator[str]:
        """Yield the comments in a body, but not in definitions within it."""
        spans = [(_first_line(other.node), other.node.end_lineno or 0) for other in inner]
        for number, text in self._comments.items():
            is_inner = any(first <= number <= last for first, last in spans)
            if node.lineno <= number <= (node.end_lineno or 0) and number not in taken and not is_inner:
                yield text

    def _entries(self, tree: ast.Module, taken: set[int]) -> Iterator[Place]:
        """Yield named values within statements: dict entries, arguments and defaults on a line with a comment."""
        if not any(map(read_keys, self._comments.values())):
            return
        for node in ast.walk(tree):
            for symbol, value in find_entries(node):
                last = value.end_lineno or value.lineno
                above = value.lineno - 1
                own_line = above in self._comments and self._lines[above - 1].strip()[:1] == "#"
                text = self._comments.get(last, "") or (self._comments[above] if own_line else "")
                for name in self._known([text]):
                    taken.add(last)
                    taken.add(above)
                    yield Place(name, self._path, symbol, value.lineno, last, VALUE, value=value)

    def _of_the_module(self, tree: ast.Module, found: Sequence[Place]) -> Iterator[Place]:
        """Return what only the module docstring names: the whole file is about it."""
        there = {place.identifier for place in found}
        for name in self._known([ast.get_docstring(tree, clean=False) or ""]):
            if name in there:
                continue
            yield whole_module(self._path, tree, len(self._lines))._replace(identifier=name)

    def _most_specific(self, found: Sequence[Place], named: Sequence[_Named]) -> Iterator[Place]:
        """Yield the places, without a class of which a method names the same requirement."""
        for place in found:
            if place.kind != CLASS:
                yield place
                continue
            inner = [other for other in found if _is_inside(other, place)]
            if not inner:
                yield from self._fields_of(place, named) or [place]

    def _fields_of(self, place: Place, named: Sequence[_Named]) -> list[Place]:
        """Yield the fields of a class that has only fields."""
        own = [
            item.node
            for item in named
            if item.inside and item.inside.lineno >= place.first and place.last >= item.node.lineno
        ]
        if any(isinstance(node, (*Function.__args__, ast.ClassDef)) for node in own):
            return []
        return [
            place._replace(
                symbol=f"{place.symbol}.{item.symbol.rpartition('.')[2]}",
                first=item.node.lineno,
                last=item.node.end_lineno or item.node.lineno,
                kind=VALUE,
                value=item.node.value,
            )
            for item in named
            if isinstance(item.node, Value)
            and place.first <= item.node.lineno <= place.last
            and item.node.value is not None
        ]

    def _known(self, texts: Sequence[str]) -> list[str]:
        return _read_wanted("\n".join(texts), self._wanted)

    def _place(self, one: _Named, identifier: str) -> Place:
        node = one.node
        span = (_first_line(node), node.end_lineno or node.lineno)
        if isinstance(node, Value) and isinstance(one.inside, Function) and not isinstance(node.value, ast.Constant):
            around = next(other for other in self._named if other.node is one.inside)
            return self._place(around, identifier)  # what a function works out is its work
        if isinstance(node, Value):
            stub = is_stub(node, inside_class=isinstance(one.inside, ast.ClassDef))
            return Place(identifier, self._path, one.symbol, *span, VALUE, is_stub=stub, value=node.value)
        kind = FUNCTION if isinstance(node, Function) else CLASS
        stub = is_stub(node)
        abstract = is_definition_alone(one)
        functions = (
            [node] if isinstance(node, Function) else [each for each in ast.walk(node) if isinstance(each, Function)]
        )
        body = tuple(map(_body_of, functions))
        return Place(identifier, self._path, one.symbol, *span, kind, stub, abstract, body=body)


def whole_module(path: str, tree: ast.Module, count: int, overrides: Collection[str] = ()) -> Place:
    """Return a Python file of so many lines as a place. `overrides`: each `Class.method` that a subclass implements."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    own = [
        definition.node
        for definition in walk_definitions(tree)
        if isinstance(definition.node, Function)
        and not is_definition_alone(definition)
        and last_names(definition.symbol) not in overrides
    ]
    body = tuple(map(_body_of, functions)) or ((1, count),)
    return Place("", path, "(module)", 1, count, MODULE, is_stub=bool(own) and all(map(is_stub, own)), body=body)


def is_definition_alone(one: _Named) -> bool:
    """Return whether a definition says what others implement: it is abstract, or part of a protocol."""
    return is_abstract(one.node) or (isinstance(one.inside, ast.ClassDef) and is_protocol(one.inside))


def last_names(symbol: str) -> str:
    """Return the last two names of a dotted symbol: `Class.method`."""
    return ".".join(symbol.split(".")[-2:])


def _body_of(function: Function) -> tuple[int, int]:
    return function.body[0].lineno, function.end_lineno or function.lineno


def _is_inside(inner: Place, outer: Place) -> bool:
    same = inner.identifier == outer.identifier and inner is not outer
    return same and outer.first <= inner.first and inner.last <= outer.last


def _read_comments(source: str) -> dict[int, str]:
    """Return the comments by line."""
    try:
        lines = iter([f"{line}\n" for line in split_lines(source.removeprefix("\ufeff"))])
        tokens = tokenize.generate_tokens(lambda: next(lines, ""))
        return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return {}


def walk_definitions(tree: ast.Module) -> Iterator[_Named]:
    """Yield every function, class and named value, at any depth; without recursion, because elif chains nest deeply."""
    todo: list[tuple[str, int, Function | ast.ClassDef | None, list[ast.stmt]]] = [("", 0, None, tree.body)]
    while todo:
        prefix, after, inside, body = todo.pop()
        for node in body:
            if isinstance(node, Function | ast.ClassDef):
                yield _Named(node, prefix + node.name, after, inside)
                todo.append((f"{prefix}{node.name}.", node.lineno, node, node.body))
            elif isinstance(node, Value):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, (ast.Name, ast.Attribute)):
                    name = target.id if isinstance(target, ast.Name) else target.attr
                    yield _Named(node, prefix + name, after, inside)
            else:
                todo += [(prefix, node.lineno, inside, block) for block in _inner_blocks(node)]
            after = node.end_lineno or node.lineno


def _inner_blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for child in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            yield getattr(child, name, [])


def find_entries(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the named values in an expression."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and not isinstance(value, ast.Dict):
                yield str(key.value), value
    elif isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg and isinstance(keyword.value, (ast.Constant, ast.UnaryOp, ast.Tuple, ast.List)):
                yield keyword.arg, keyword.value
    elif isinstance(node, Function):
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
        pairs += [(one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
        yield from ((f"{node.name}.{argument.arg}", value) for argument, value in pairs)


def _data_places(path: str, source: str, wanted: Collection[str]) -> list[Place]:
    """Yield the lines of a data file that name a requirement, or follow a comment that does."""
    lines, places, above = split_lines(source), [], list[str]()
    for number, line in enumerate(lines, 1):
        named = _read_wanted(line.replace("_", " "), wanted)  # a key may be `rate_R4`
        is_comment = line.strip()[:1] in ("#", ";") or line.strip()[:2] == "//"
        if is_comment:
            above = named
            continue
        symbol = re.split(r"[:=,]", line.strip(), maxsplit=1)[0].strip("\"' ")[:60] or path
        places += [Place(name, path, symbol, number, number, DATA) for name in dict.fromkeys([*named, *above])]
        above = []
    return places


def _first_line(node: Function | ast.ClassDef | Value) -> int:
    decorators = [] if isinstance(node, Value) else node.decorator_list
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def text_stubs(path: str, text: str, bases: Collection[str] = ()) -> Iterator[tuple[int, str]]:
    """Yield the line and a description of each stub in a file other than Python, and of filler text in a page.

    `bases`: the classes that others extend, whose methods may leave the work to them.
    """
    found = [] if path.endswith(_NO_CODE) else [(match, "is not implemented") for match in _find_unwritten(text, bases)]
    found += [(match, "is filler text") for match in _LOREM.finditer(text) if path.endswith(_PAGES)]
    for match, what in found:
        line = text.count("\n", 0, match.start()) + 1
        yield line, f"`{text.split(chr(10))[line - 1].strip()[:60]}` {what}"


def _find_unwritten(text: str, bases: Collection[str]) -> Iterator[re.Match[str]]:
    yield from _UNWRITTEN.finditer(text)
    for match in _GIVES_UP.finditer(text):
        before = _COMMENTS.sub("", text[max(0, match.start() - _LONGEST_HEAD) : match.start()].rstrip())
        opening = before[before.rfind("\n") + 1 :]
        is_body = _BEGINS_FUNCTION.search(opening) and not _BEGINS_BRANCH.search(opening)
        if is_body and not set(_CLASS.findall(text, 0, match.start())[-1:]) & set(bases):
            yield match


def extended_classes(texts: Iterable[str]) -> set[str]:
    """Return the names of the classes that others extend, in languages that are not parsed."""
    return {name for text in texts for name in _EXTENDS.findall(text)}


def is_stub(node: Function | ast.ClassDef | Value, *, inside_class: bool = False) -> bool:
    """Return whether a definition does nothing.

    That is a function that only passes, returns something empty or gives up; a class with only such methods apart from
    its set-up; a value that is None, an ellipsis, or not given.
    """
    if isinstance(node, Value):
        if node.value is None:
            return not inside_class  # a field that is filled in when an object is made
        return isinstance(node.value, ast.Constant) and node.value.value in (None, ...)
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, Function)]
        working = [method for method in methods if method.name not in SETS_UP] or methods
        if not working:
            return not node.bases and all(
                _is_nothing(child) for child in node.body
            )  # an error, or its base with a name
        return all(is_stub(method) for method in working)
    rest = [child for child in node.body if not _is_text(child)]
    returns = any(isinstance(child, (ast.Return, ast.Yield, ast.YieldFrom)) for child in ast.walk(node))
    gives = rest and (gives_up(rest[0]) or (gives_up(rest[-1]) and not returns))
    return not has_none(node) and bool(all(map(_is_nothing, rest)) or gives)


def has_none(node: Function) -> bool:
    """Return whether a function without arguments only returns an empty container: perhaps there are none by default."""
    *before, last = node.body
    is_empty = isinstance(last, ast.Return) and _is_empty(last.value)
    return is_empty and all(map(_is_nothing, before)) and not ast.unparse(node.args)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Return):
        is_none = isinstance(node.value, ast.Constant) and node.value.value in (None, ...)
        return is_none or node.value is None or _is_empty(node.value)
    return gives_up(node) or isinstance(
        node, (ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete)
    )


def _is_empty(node: ast.expr | None) -> bool:
    """Return whether an expression is an empty list, tuple or dict."""
    return (isinstance(node, (ast.List, ast.Tuple)) and not node.elts) or (isinstance(node, ast.Dict) and not node.keys)


def gives_up(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return False


def is_abstract(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, Function) and child.name not in SETS_UP]
        return is_protocol(node) or (bool(methods) and all(map(is_abstract, methods)))
    return any(
        "abstract" in last_word(mark) or last_word(mark) == "overload" for mark in getattr(node, "decorator_list", ())
    )


def is_protocol(node: ast.ClassDef) -> bool:
    return any(last_word(base.value if isinstance(base, ast.Subscript) else base) == "Protocol" for base in node.bases)


def last_word(node: ast.AST) -> str:
    """Return the last word of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
