"""Whether the imports between the files of a workspace hold: the module is there, and defines the name. Nothing is run.

Only what is certainly wrong is told. Not covered: packages from elsewhere, modules of the standard library, names that a
module gets while it runs, imports in a circle.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from phases.acceptance.checks.bindings import STAR, Bindings, PythonImport, read_bindings

MOST_PROBLEMS = 20
_MOST_PARTS = 32
_MOST_PLACES = 64
_ALWAYS = frozenset(
    {"__builtins__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"}
)
_ELSEWHERE = frozenset(sys.stdlib_module_names) | {"__main__"}
_BINARIES = (".py", ".pyi", ".pyx", ".so", ".pyd")


def import_problems(files: Mapping[str, str], there: Collection[str] = ()) -> list[str]:
    """What is wrong with the imports of Python files, by path and line. `there`: further files, which are not looked into."""
    modules = Modules(files, there)
    found = [problem for path in sorted(files) for problem in _problems_of(modules, path)]
    told = [problem.text for problem in found if not problem.doubtful or problem.doubtful in modules.ours]
    more = len(told) - MOST_PROBLEMS
    return [*told[:MOST_PROBLEMS], *([f"and {more} more imports that do not hold"] if more > 0 else [])]


class Modules:
    """The modules and packages of a workspace. A location is a path without its ending."""

    def __init__(self, files: Mapping[str, str], there: Collection[str] = ()) -> None:
        self.bindings: dict[str, Bindings | None] = {path: read_bindings(source) for path, source in files.items()}
        self.ours: set[str] = set()
        """What an absolute import that holds starts with, so that it is meant, and nothing from elsewhere."""
        paths = [*(path for path in there if path.endswith(_BINARIES)), *files]
        self._files = {path[: path.index(".", path.rfind("/") + 1)]: path for path in paths}
        self._directories = {"", *_directories_of(self._files)}
        self._all_directories = _directories_of(there) | self._directories
        """Those that hold no module, too: Python lets them be imported."""
        self._builds = BuildProducts(files, there)
        self._given = frozenset[str]().union(*(each.given for each in self.bindings.values() if each))
        self._reached: dict[str, list[str] | None] = {}
        self._holders: dict[str, list[str]] = {}
        """Of each name, where it is: for programs that put directories into their path."""
        if any("sys.path" in source for source in files.values()):
            for location in sorted({*self._files, *self._directories}):
                directory, _, name = location.rpartition("/")
                self._holders.setdefault(name, []).append(directory)

    def targets(self, path: str) -> list[str]:
        """The files of the workspace that a file imports."""
        bindings = self.bindings.get(path)
        found = [(place, each) for each in _imports_of(bindings) for place in self.places_of(path, each)]
        locations = [
            _join_parts(place, [*each.module.split("."), name]) for place, each in found for name in ("", *each.names)
        ]
        files = dict.fromkeys(self.file_of(location) for location in locations)
        return [file for file in files if file and file != path]

    def file_of(self, location: str) -> str | None:
        """The file that is run when this is imported."""
        return self._files.get(_join_parts(location, ["__init__"])) or self._files.get(location)

    def is_there(self, location: str) -> bool:
        """Whether it is a module, a package, or a directory that holds one."""
        return location in self._directories or location in self._files

    def is_package(self, location: str) -> bool:
        """Whether it has an __init__.py."""
        return _join_parts(location, ["__init__"]) in self._files

    def places_of(self, path: str, found: PythonImport) -> list[str]:
        """The directories that an import may start from, where it is one of this workspace; the likeliest first."""
        directory, top = path.rpartition("/")[0], found.module.partition(".")[0]
        if found.level:
            up = directory.split("/") if directory else []
            return ["/".join(up[: len(up) - found.level + 1])] if found.level <= len(up) + 1 else []
        if top in _ELSEWHERE:
            return []
        near = [place for place in dict.fromkeys(("", "src", directory)) if not place or not self.is_package(place)]
        found_near = [place for place in near if self._has(place, top, path)]
        if not found_near:
            return []
        # A sibling, or a directory that the program puts into its path, may be meant as well: that is no fault.
        far = [directory, *self._holders.get(top, ())[:_MOST_PLACES]]
        return list(dict.fromkeys([*found_near, *(place for place in far if self._has(place, top, path))]))

    def may_hold(self, location: str, name: str) -> bool:
        """Whether something may have this name there: a module inside, what its file binds, or what others bring or set."""
        if location not in self._reached:
            self._reached[location] = self._reach(location)
        reached = self._reached[location]
        if reached is None or name in _ALWAYS or name in self._given or self.may_be_made(location, name):
            return True
        return any(self._holds(each, name) for each in reached)

    def may_be_made(self, holder: str, name: str) -> bool:
        """Whether a directory gets a module of this name when the project is built."""
        return holder in self._all_directories and self._builds.may_make(name)

    def _holds(self, location: str, name: str) -> bool:
        bindings = self._bindings_at(location)
        inner = _join_parts(location, [name])
        return (
            self.is_there(inner) or inner in self._all_directories or (bindings is not None and name in bindings.names)
        )

    def _reach(self, location: str) -> list[str] | None:
        """It, and what it takes everything from; None where that may bring any name."""
        todo, seen = [location], dict[str, None]()
        while todo:
            location = todo.pop()
            if location in seen:
                continue
            seen[location] = None
            bindings, file = self._bindings_at(location), self.file_of(location)
            if file is None:
                continue
            if bindings is None or bindings.opaque or len(seen) > _MOST_PLACES:
                return None
            for star in bindings.stars:
                sources = [_join_parts(place, star.module.split(".")) for place in self.places_of(file, star)]
                known = [source for source in sources if self.is_there(source)]
                if not known:
                    return None
                todo += known
        return list(seen)

    def _bindings_at(self, location: str) -> Bindings | None:
        return self.bindings.get(self.file_of(location) or "")

    def _has(self, place: str, top: str, path: str) -> bool:
        """Whether a name is there, as something else than the file that asks for it."""
        location = _join_parts(place, [top])
        return self.is_there(location) and (self.file_of(location) != path or self.is_package(location))


class _ImportProblem(NamedTuple):
    text: str
    doubtful: str
    """What it hangs on being the one that is meant: a package from elsewhere may be. Empty where it is certain."""


def _problems_of(modules: Modules, path: str) -> Iterator[_ImportProblem]:
    for found in _imports_of(modules.bindings[path]):
        if found.optional or found.module.count(".") >= _MOST_PARTS:
            continue
        where = f"{path}, line {found.line}: "
        if found.level and _leads_out(modules, path, found.level):
            shown = "." * min(found.level, _MOST_PARTS) + found.module[:200]
            yield _ImportProblem(f"{where}imports from {shown!r}, which leads out of its package", "")
            continue
        faults = [(place, _fault_at(modules, place, found)) for place in modules.places_of(path, found)]
        tops = [_join_parts(place, [found.module.partition(".")[0]]) for place, fault in faults if not fault]
        if tops:
            sure = not found.level and (found.names or "." in found.module)
            modules.ours.update(tops if sure else ())
        elif faults:
            place, fault = faults[0]
            top = _join_parts(place, [found.module.partition(".")[0]])
            certain = found.level or (not place and modules.file_of(top))
            yield _ImportProblem(where + fault, "" if certain else top)


def is_own_import(modules: Modules, path: str, found: PythonImport) -> bool:
    """Whether an import of a file is one of this workspace, and holds."""
    return any(import_holds_at(modules, place, found) for place in modules.places_of(path, found))


def import_holds_at(modules: Modules, place: str, found: PythonImport) -> bool:
    """Whether an import that starts from this directory holds."""
    return not _fault_at(modules, place, found)


def _imports_of(bindings: Bindings | None) -> tuple[PythonImport, ...]:
    return bindings.imports if bindings else ()


def _leads_out(modules: Modules, path: str, level: int) -> bool:
    """Whether so many dots lead above the outermost package. The workspace itself is one only by an __init__.py."""
    depth = path.count("/")
    return level > depth and not (level == depth + 1 and modules.is_package(""))


def _fault_at(modules: Modules, place: str, found: PythonImport) -> str:
    """What is wrong if the import starts from this directory; empty for nothing."""
    location = place
    for part in filter(None, found.module.split(".")):
        holder, location = location, _join_parts(location, [part])
        if not modules.is_there(location):
            if _may_load_others(modules, holder) or modules.may_be_made(holder, part):
                return ""
            shown = f"{'.' * found.level}{found.module}"[:200]
            return f"imports from {shown!r}, and there is no module {part[:80]!r} in {holder or 'the workspace'}"
    missing = [name for name in found.names if name != STAR and not modules.may_hold(location, name)]
    if not missing:
        return ""
    names, file = ", ".join(repr(name[:80]) for name in missing[:5]), modules.file_of(location)
    if file is None:
        return f"imports {names} from the directory {location or '.'}, which has no such module"
    return f"imports name {names} from {file}, which does not define it"


def _may_load_others(modules: Modules, holder: str) -> bool:
    """Whether a package may have modules that lie elsewhere."""
    file = modules.file_of(holder)
    bindings = modules.bindings.get(file or "")
    return file is not None and (bindings is None or bindings.opaque or "__path__" in bindings.names)


def _directories_of(paths: Iterable[str]) -> set[str]:
    directories = set[str]()
    for path in paths:
        while (path := path.rpartition("/")[0]) and path not in directories:
            directories.add(path)
    return directories


def _join_parts(directory: str, parts: list[str]) -> str:
    return "/".join([*([directory] if directory else []), *(part for part in parts if part)])


_COMPILED = (".c", ".cc", ".cpp", ".cxx", ".cu", ".rs", ".f", ".f90", ".m", ".mm")
_FROM_PROTO = ("_pb2_grpc", "_pb2")
_PROJECTS = ("setup.py", "setup.cfg", "pyproject.toml")
_WORD = re.compile(r"\w+")


class BuildProducts:
    """What a workspace holds that modules are made from. `files`: the Python files; `there`: the paths of all files."""

    def __init__(self, files: Mapping[str, str], there: Collection[str]) -> None:
        names = {path.rpartition("/")[2] for path in there} | {path.rpartition("/")[2] for path in files}
        scripts = [text for path, text in files.items() if path.rpartition("/")[2] == "setup.py"]
        self._stems = {name.partition(".")[0] for name in names if name.endswith(_COMPILED)}
        self._protos = {name.removesuffix(".proto") for name in names if name.endswith(".proto")}
        self._named = {word for text in scripts for word in _WORD.findall(text)} if self._stems else set()
        self._is_project = not names.isdisjoint(_PROJECTS)
        self._by_cargo = "Cargo.toml" in names
        """It names the module that it makes itself, in a text that is not looked into."""

    def may_make(self, name: str) -> bool:
        """Whether a module of this name may be one."""
        if name == "_version":
            return self._is_project
        if any(name.endswith(end) and name.removesuffix(end) in self._protos for end in _FROM_PROTO):
            return True
        compiled = name.startswith("_") or self._by_cargo or name in self._stems or name in self._named
        return bool(self._stems) and compiled
