#!/usr/bin/env python3
"""Moves modules, merges them, and renames what they define, in the whole project: refactor.py PLAN, from the project's root.

A plan has one order a line; `#` begins a comment:

    rename package.module name new_name     a function, class or constant of a module, and every use of it
    move package.module package.new_name    a module or a whole package, by `git mv`; every import and every mention of it
    merge package.module package.into       a module into another one; every import of it

Renames are done first, then moves, then merges, each in the order of the plan. Attributes and methods are not renamed (types
would have to be known), nor names in strings that are not written in full. mypy and the tests find those.
"""

from __future__ import annotations

import ast
import builtins
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import libcst as cst
from libcst.metadata import ImportAssignment, MetadataWrapper, Scope, ScopeProvider

TEXT = (".py", ".md", ".toml", ".yaml", ".yml", ".json", ".txt", ".cfg", ".sh", "")


Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


class RefactorError(Exception):
    """An order that cannot be carried out; nothing of it was written."""


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        carry_out(Path(arguments[0]).read_text(), Path.cwd())
    except RefactorError as error:
        print(f"refactor: {error}", file=sys.stderr)
        return 1
    return 0


def carry_out(plan: str, root: Path) -> None:
    """Carries out every order of a plan. Raises RefactorError at the first one that cannot be."""
    orders = [line.split("#")[0].split() for line in plan.splitlines()]
    orders = [order for order in orders if order]
    for order in orders:
        if (order[0], len(order)) not in (("rename", 4), ("move", 3), ("merge", 3)):
            raise RefactorError(f"not an order: {' '.join(order)}")
    renames: dict[str, dict[str, str]] = {}
    for _, module, name, new in (order for order in orders if order[0] == "rename"):
        renames.setdefault(module, {})[name] = new
    if renames:
        rename_names(root, renames)
    moves = {old: new for _, old, new in (order for order in orders if order[0] == "move")}
    if moves:
        move_modules(root, moves)
    for _, module, into in (order for order in orders if order[0] == "merge"):
        merge_module(root, module, into)


# Names


def rename_names(root: Path, renames: Mapping[str, Mapping[str, str]]) -> None:
    """Renames what modules define: {module: {name: new name}}."""
    for module, names in renames.items():
        defined = _defined(_read(_path_of(root, module)))
        for name, new in names.items():
            if name not in defined:
                raise RefactorError(f"{module} does not define {name}")
            if new in defined and new not in names:
                raise RefactorError(f"{module} already defines {new}")
    mentions = {
        f"{module}.{name}": f"{module}.{new}" for module, names in renames.items() for name, new in names.items()
    }
    for path in _python_files(root):
        source, module = path.read_text(), _module_of(root, path)
        used = {name: new for name, new in renames.items() if name == module or _may_import(source, name)}
        if any(name in source for names in used.values() for name in names):
            changed = _renamed(source, module, used, str(path))
            _write(path, _replace_words(changed, mentions))


def _may_import(source: str, module: str) -> bool:
    return module in source or f"from {module.rpartition('.')[0]} import" in source


def _renamed(source: str, module: str, renames: Mapping[str, Mapping[str, str]], where: str) -> str:
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=False)
    scopes = {scope for scope in wrapper.resolve(ScopeProvider).values() if scope is not None}
    new_names: dict[cst.CSTNode, str] = {}

    def take(scope: Scope, name: str, new: str) -> None:
        if any(True for _ in scope[new]) and new not in dir(builtins):
            raise RefactorError(f"{where} has a {new} of its own, so {name} cannot be called that")
        for assignment in scope[name]:
            node = getattr(assignment, "node", None)
            if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                new_names[node.name] = new
            elif isinstance(node, cst.Name):
                new_names[node] = new
            for access in assignment.references:
                if isinstance(access.node, cst.Name):
                    new_names[access.node] = new

    for scope in scopes:
        for assignment in list(scope.assignments):
            if isinstance(assignment, ImportAssignment) and isinstance(assignment.node, cst.ImportFrom):
                origin = _full_name(assignment.node.module)
                for alias in assignment.node.names if not isinstance(assignment.node.names, cst.ImportStar) else ():
                    imported, shown = _full_name(alias.name), _shown(alias)
                    if shown != assignment.name:
                        continue
                    if imported in renames.get(origin, {}):
                        new = renames[origin][imported]
                        new_names[alias.name] = new
                        if alias.asname is None:
                            take(scope, imported, new)
                    elif f"{origin}.{imported}" in renames:
                        for access in assignment.references:
                            _take_attributes(wrapper.module, access.node, renames[f"{origin}.{imported}"], new_names)
    own = renames.get(module, {})
    top = next((scope for scope in scopes if scope.globals is scope), None)
    if top is not None:
        for name, new in own.items():
            take(top, name, new)

    class Rename(cst.CSTTransformer):
        def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
            if original_node in new_names and isinstance(updated_node, cst.Name):
                return updated_node.with_changes(value=new_names[original_node])
            if isinstance(original_node, cst.Global) and isinstance(updated_node, cst.Global):
                items = [
                    item.with_changes(name=cst.Name(own.get(item.name.value, item.name.value)))
                    for item in updated_node.names
                ]
                return updated_node.with_changes(names=items)
            return updated_node

    return wrapper.module.visit(Rename()).code


def _take_attributes(
    module: cst.Module, name: cst.CSTNode, new: Mapping[str, str], new_names: dict[cst.CSTNode, str]
) -> None:
    """Notes `module.name` wherever the module is used by that name."""

    class Find(cst.CSTVisitor):
        def visit_Attribute(self, node: cst.Attribute) -> None:
            if node.value is name and node.attr.value in new:
                new_names[node.attr] = new[node.attr.value]

    module.visit(Find())


# Modules


def move_modules(root: Path, moves: Mapping[str, str]) -> None:
    """Moves modules and packages: {old dotted name: new dotted name}. All of a package goes, but for what is named itself."""
    every: dict[str, str] = {}
    for old, new in sorted(moves.items(), key=lambda pair: pair[0].count(".")):
        folder = root / old.replace(".", "/")
        if folder.is_dir():
            every[old] = new
            for path in sorted(folder.rglob("*.py")):
                name = _module_of(root, path)
                every[name] = new + name[len(old) :]
        elif folder.with_suffix(".py").is_file():
            every[old] = new
        else:
            raise RefactorError(f"there is no module {old}")
    targets = [new for old, new in every.items() if not (root / old.replace(".", "/")).is_dir()]
    for twice in {new for new in targets if targets.count(new) > 1}:
        raise RefactorError(f"two modules would become {twice}")
    for path in _python_files(root):
        source = path.read_text()
        _write(path, _moved_imports(source, every))
    for old, new in every.items():
        path = root / (old.replace(".", "/") + ".py")
        if path.is_file():
            _git_move(root, path, root / (new.replace(".", "/") + ".py"))
    for old, new in moves.items():
        folder = root / old.replace(".", "/")
        if folder.is_dir():
            for path in sorted(
                path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
            ):
                _git_move(root, path, root / new.replace(".", "/") / path.relative_to(folder))
    for old in moves:
        folder = root / old.replace(".", "/")
        if folder.is_dir() and not any(path.is_file() for path in folder.rglob("*") if path.suffix != ".pyc"):
            shutil.rmtree(folder)
    paths = {old.replace(".", "/"): new.replace(".", "/") for old, new in every.items()}
    for path in _text_files(root):
        source = path.read_text()
        _write(path, _replace_words(_replace_words(source, every), paths))


def _moved_imports(source: str, moves: Mapping[str, str]) -> str:
    """`from package import module` for modules that move; all else is a mention, which is replaced as text."""
    if not any(f"from {old.rpartition('.')[0]} import" in source for old in moves):
        return source
    wrapper = MetadataWrapper(cst.parse_module(source))
    new_names: dict[cst.CSTNode, str] = {}
    for scope in {scope for scope in wrapper.resolve(ScopeProvider).values() if scope is not None}:
        for assignment in scope.assignments:
            if isinstance(assignment, ImportAssignment) and isinstance(assignment.node, cst.ImportFrom):
                full = f"{_full_name(assignment.node.module)}.{assignment.name}"
                if full in moves:
                    for access in assignment.references:
                        new_names[access.node] = moves[full].rpartition(".")[2]

    class Move(cst.CSTTransformer):
        def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> object:  # type: ignore[override]
            if original_node in new_names and isinstance(updated_node, cst.Name):
                return updated_node.with_changes(value=new_names[original_node])
            if not isinstance(updated_node, cst.ImportFrom) or isinstance(updated_node.names, cst.ImportStar):
                return updated_node
            package, stay, go = _full_name(updated_node.module), [], []
            for alias in updated_node.names:
                new = moves.get(f"{package}.{_full_name(alias.name)}")
                if new is None:
                    stay.append(alias.with_changes(comma=cst.MaybeSentinel.DEFAULT))
                else:
                    parent, _, name = new.rpartition(".")
                    go.append(
                        updated_node.with_changes(
                            module=cst.parse_expression(parent),
                            names=[cst.ImportAlias(name=cst.Name(name), asname=alias.asname)],
                            lpar=None,
                            rpar=None,
                        )
                    )
            if not go:
                return updated_node
            kept = [updated_node.with_changes(names=stay)] if stay else []
            return cst.FlattenSentinel([*kept, *go])

    return wrapper.module.visit(Move()).code


def merge_module(root: Path, module: str, into: str) -> None:
    """Puts what a module defines into another one, in an order that can be imported, and removes it."""
    source_path, target_path = _path_of(root, module), _path_of(root, into)
    source = _without_imports_of(_read(source_path), into)
    target = _without_imports_of(_read(target_path), module)
    twice = _defined(source) & _defined(target)
    if twice:
        raise RefactorError(f"{module} and {into} both define {', '.join(sorted(twice))}: rename one first")
    target_imports, target_body = _split(target)
    source_imports, source_body = _split(source)
    clash = (_bound(source_imports) & _defined(target)) | (_bound(target_imports) & _defined(source))
    if clash:
        raise RefactorError(f"{module} and {into}: {', '.join(sorted(clash))} would mean two things")
    body = _order([*target_body, *source_body])
    new_imports = [one for one in source_imports if "__future__" not in cst.Module(body=[one]).code]
    merged = cst.Module(body=[*_docstring(target)[0], *target_imports, *new_imports, *body], header=target.header)
    _write(target_path, merged.code)
    subprocess.run(["git", "rm", "-q", "-f", str(source_path)], cwd=root, check=True)
    parent, _, last = module.rpartition(".")
    as_path = module.replace(".", "/") + ".py"
    mentions = {as_path: into.replace(".", "/") + ".py", module: into}
    for path in _mentioning(root, module, as_path, f"from {parent} import"):
        text = path.read_text()
        if path.suffix == ".py" and re.search(rf"from {re.escape(parent)} import [^\n]*\b{last}\b", text):
            raise RefactorError(f"{path} imports {module} as a module: let it import names first")
        _write(path, _replace_words(text, mentions))


def _split(module: cst.Module) -> tuple[list[Statement], list[Statement]]:
    """The imports of a module, and all else but the docstring."""

    def is_import(statement: Statement) -> bool:
        return isinstance(statement, cst.SimpleStatementLine) and isinstance(
            statement.body[0], (cst.Import, cst.ImportFrom)
        )

    statements = _docstring(module)[1]
    return [one for one in statements if is_import(one)], [one for one in statements if not is_import(one)]


def _order(body: list[Statement]) -> list[Statement]:
    """The statements as they stand, but each after what it needs while it is being imported."""
    defined_by: dict[str, int] = {}
    for at, statement in enumerate(body):
        for name in _defined(cst.Module(body=[statement])):
            defined_by.setdefault(name, at)
    ordered: list[Statement] = []
    placed: set[int] = set()

    def place(at: int, above: frozenset[int], *, is_called: bool) -> None:
        if at in above or (at in placed and not is_called):
            return
        needed, called = _needed_at_import(body[at], with_bodies=is_called)
        for name in sorted(needed):
            if name in defined_by and defined_by[name] != at:
                place(defined_by[name], above | {at}, is_called=name in called)
        if at not in placed:
            placed.add(at)
            ordered.append(body[at])

    for at in range(len(body)):
        place(at, frozenset(), is_called=False)
    return ordered


def _needed_at_import(statement: Statement, *, with_bodies: bool) -> tuple[set[str], set[str]]:
    """The names that a statement uses when it is run at import, and those among them that it calls.

    Not those in annotations; those in the bodies of functions only where the functions are called then.
    """
    names: set[str] = set()
    called: set[str] = set()

    def walk(node: ast.AST) -> None:
        inner: ast.AST
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body if with_bodies else []
            for inner in (*node.decorator_list, *node.args.defaults, *(x for x in node.args.kw_defaults if x), *body):
                walk(inner)
            return
        if isinstance(node, ast.Lambda) and not with_bodies:
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                walk(node.value)
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        if isinstance(node, ast.Name):
            names.add(node.id)
        for inner in ast.iter_child_nodes(node):
            walk(inner)

    walk(ast.parse(cst.Module(body=[statement]).code))
    return names, called


def _without_imports_of(module: cst.Module, other: str) -> cst.Module:
    """The module without what its functions import from the other one: it will be there."""

    class Drop(cst.CSTTransformer):
        def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> object:  # type: ignore[override]
            if _full_name(original_node.module) != other:
                return updated_node
            if not isinstance(original_node.names, cst.ImportStar) and any(
                alias.asname for alias in original_node.names
            ):
                raise RefactorError(f"something of {other} is imported under another name: rename it first")
            return cst.RemoveFromParent()

    return module.visit(Drop())


# Reading and writing


def _docstring(module: cst.Module) -> tuple[list[Statement], list[Statement]]:
    body = list(module.body)
    first = body[0].body[0] if body and isinstance(body[0], cst.SimpleStatementLine) else None
    if isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString)):
        return body[:1], body[1:]
    return [], body


def _defined(module: cst.Module) -> set[str]:
    """The names that the top level of a module binds, but for imports."""
    names: set[str] = set()
    for node in ast.parse(module.code).body:
        for inner in _statements(node):
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(inner.name)
            elif isinstance(inner, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                names |= {found.id for target in targets for found in ast.walk(target) if isinstance(found, ast.Name)}
    return names


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statement, and for `if`, `try` and `with` those inside it."""
    yield node
    if isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.stmt):
                yield from _statements(inner)


def _bound(imports: Sequence[Statement]) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(cst.Module(body=list(imports)).code)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names - {"annotations"}


def _full_name(node: cst.BaseExpression | None) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_full_name(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _shown(alias: cst.ImportAlias) -> str:
    return _full_name(alias.asname.name) if alias.asname is not None else _full_name(alias.name)


def _replace_words(text: str, words: Mapping[str, str]) -> str:
    """Each of these dotted names or paths by its new one, the longest first, where no longer name or path begins with it."""
    present = [word for word in words if word in text]
    if not present:
        return text
    pattern = "|".join(re.escape(word) for word in sorted(present, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{pattern})(?![\w-])", lambda match: words[match[0]], text)


def _read(path: Path) -> cst.Module:
    return cst.parse_module(path.read_text())


def _write(path: Path, text: str) -> None:
    if path.read_text() != text:
        path.write_text(text)


def _path_of(root: Path, module: str) -> Path:
    path = root / (module.replace(".", "/") + ".py")
    if not path.is_file():
        raise RefactorError(f"there is no module {module}")
    return path


def _module_of(root: Path, path: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts)


def _git_move(root: Path, old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", str(old), str(new)], cwd=root, check=True)


def _tracked(root: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    paths = [root / name for name in listed.split("\0") if name]
    return [path for path in paths if wanted(path) and path.is_file() and not path.is_symlink()]


def _mentioning(root: Path, *words: str) -> list[Path]:
    """The tracked text files that hold one of these."""
    patterns = [part for word in words for part in ("-e", word)]
    asked = subprocess.run(["git", "grep", "-lzIF", *patterns], cwd=root, capture_output=True, text=True, check=False)
    return [root / name for name in asked.stdout.split("\0") if name and Path(name).suffix in TEXT]


def _python_files(root: Path) -> list[Path]:
    return _tracked(root, lambda path: path.suffix == ".py")


def _text_files(root: Path) -> list[Path]:
    def is_text(path: Path) -> bool:
        if path.suffix not in TEXT:
            return False
        try:
            path.read_text()
        except UnicodeDecodeError:
            return False
        return True

    return _tracked(root, is_text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
