"""Which file of the same repository an import means."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from phases.references.parse.model import Import

_SCRIPTS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".json")
_ROOTS = frozenset(("src", "lib", "python", "source"))
_INCLUDES = frozenset(("include", "inc", "includes", "src"))
_MOST_ROOTS = 50
_MOST_NAMESAKES = 200


class ImportResolver:
    """The files of one repository, by the ways in which imports name them."""

    def __init__(self, paths: Collection[str], go_modules: Mapping[str, str] | None = None) -> None:
        """`go_modules`: the module path that each go.mod declares, by the folder that it is in."""
        self._paths = frozenset(paths)
        self._by_name: dict[str, list[str]] = {}
        self._folders: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            folder, name = posixpath.split(path)
            self._by_name.setdefault(name, []).append(path)
            self._folders.setdefault(folder, []).append(path)
        self._go_modules = dict(sorted((go_modules or {}).items())[:_MOST_ROOTS])
        self._go_files = {folder: _two_of_go(places) for folder, places in self._folders.items()}
        self._roots = self._source_roots()
        self._include_roots = self._roots_named(_INCLUDES)
        self._ways: dict[str, Callable[[str, Import], Iterable[str]]] = {
            **dict.fromkeys(("python", "notebook"), self._python),
            **dict.fromkeys(("c", "cpp", "cuda"), self._include),
            **dict.fromkeys(("javascript", "typescript", "tsx"), self._script),
            "java": self._java,
            "go": self._go,
            "rust": self._rust,
            "julia": self._beside,
            "r": self._beside,
        }

    def resolve(self, language: str, path: str, taken: Import) -> str | None:
        """The path of the file that an import in the file at `path` means; None where it is not in the repository."""
        way = self._ways.get(language)
        if way is None or not taken.module or len(taken.module) > 1000:
            return None
        return next((place for place in way(path, taken) if place in self._paths and place != path), None)

    def _python(self, path: str, taken: Import) -> Iterator[str]:
        written = taken.module.lstrip(".")
        above = len(taken.module) - len(written)
        inner = written.replace(".", "/")
        if above:
            base = posixpath.dirname(path)
            for _ in range(above - 1):
                if not base:
                    return
                base = posixpath.dirname(base)
            bases: Iterable[str] = (base,)
        else:
            bases = dict.fromkeys((*self._roots_above(path), *self._roots))
        for base in bases:
            module = _join_path(base, inner) if inner else base
            if len(taken.names) == 1:  # `from . import layers`: the name may be a module of its own
                yield from _module_paths(_join_path(module, taken.names[0]))
            yield from _module_paths(module)
            for name in taken.names[1:] and taken.names[:50]:
                yield from _module_paths(_join_path(module, name))

    def _include(self, path: str, taken: Import) -> Iterator[str]:
        name = taken.module.strip("<>\"' ")
        yield posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        for root in ("", *self._include_roots):
            yield posixpath.normpath(posixpath.join(root, name))
        ending = "/" + posixpath.normpath(name).lstrip("./")
        namesakes = [
            place for place in self._by_name.get(posixpath.basename(name), ()) if ("/" + place).endswith(ending)
        ]
        if len(namesakes) == 1:
            yield namesakes[0]

    def _script(self, path: str, taken: Import) -> Iterator[str]:
        if taken.module.startswith("."):
            bases = [posixpath.normpath(posixpath.join(posixpath.dirname(path), taken.module))]
        elif taken.module.startswith(("@/", "~/")):
            bases = [taken.module[2:], "src/" + taken.module[2:]]
        else:
            bases = [taken.module, "src/" + taken.module]
        for base in bases:
            yield base
            stem, suffix = posixpath.splitext(base)
            if suffix in (".js", ".jsx", ".mjs"):  # TypeScript names what it will be compiled to
                yield from (stem + other for other in (".ts", ".tsx", ".mts"))
            yield from (base + suffix for suffix in _SCRIPTS)
            yield from (posixpath.join(base, "index" + suffix) for suffix in _SCRIPTS)

    def _java(self, path: str, taken: Import) -> Iterator[str]:
        parts = taken.module.removesuffix(".*").split(".")
        for length in range(
            len(parts), max(0, len(parts) - 3), -1
        ):  # a nested class, or a static member, is in its file
            inner = "/".join(parts[:length]) + ".java"
            yield from (
                place for place in self._named(parts[length - 1] + ".java") if f"/{place}".endswith(f"/{inner}")
            )

    def _go(self, path: str, taken: Import) -> Iterator[str]:
        name = taken.module.strip('"')
        for folder, module in self._go_modules.items():
            if name == module or name.startswith(module + "/"):
                inside = posixpath.join(folder, name[len(module) + 1 :]).rstrip("/")
                yield from self._go_files.get(inside, ())

    def _rust(self, path: str, taken: Import) -> Iterator[str]:
        parts = [part for part in re.split(r"::|[{},; ]+", taken.module) if part]
        here, name = posixpath.split(path)
        own = here if name in ("mod.rs", "lib.rs", "main.rs") else posixpath.join(here, name.removesuffix(".rs"))
        if not parts:
            return
        if parts[0] == "crate":
            base, inner = self._crate(path), parts[1:]
        else:
            base, inner = own, parts
            while inner and inner[0] in ("self", "super"):
                base = posixpath.dirname(base) if inner[0] == "super" else base
                inner = inner[1:]
        for end in range(len(inner), 0, -1):
            place = posixpath.join(base, *inner[:end])
            yield place + ".rs"
            yield posixpath.join(place, "mod.rs")
        if base != own:  # an item of that very module; a path that begins with no such word is another crate's
            yield from (posixpath.join(base, name) for name in ("mod.rs", "lib.rs", "main.rs"))
            yield base + ".rs"

    def _crate(self, path: str) -> str:
        folder = posixpath.dirname(path)
        while folder and not {posixpath.join(folder, name) for name in ("lib.rs", "main.rs")} & self._paths:
            folder = posixpath.dirname(folder)
        return folder

    def _beside(self, path: str, taken: Import) -> Iterator[str]:
        """A file that is named as a path: from the file itself, or from the root."""
        name = taken.module.strip("\"' ")
        yield posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        yield posixpath.normpath(name)

    def _named(self, name: str) -> list[str]:
        """Files of that name; none where there are so many that the name says nothing."""
        found = self._by_name.get(name, [])
        return found if len(found) <= _MOST_NAMESAKES else []

    def _source_roots(self) -> list[str]:
        """Folders that hold packages: the root, src/, and whatever a topmost __init__.py stands under."""
        packages = {posixpath.dirname(path) for path in self._by_name.get("__init__.py", ())}
        parents = {posixpath.dirname(folder) for folder in packages if posixpath.dirname(folder) not in packages}
        nearest = sorted(parents, key=lambda one: (len(one), one))
        return list(dict.fromkeys(("", *self._roots_named(_ROOTS), *nearest)))[:_MOST_ROOTS]

    def _roots_named(self, names: Collection[str]) -> list[str]:
        found = {
            posixpath.join(*parts[: at + 1])
            for folder in self._folders
            if len(parts := folder.split("/")) <= 12
            for at, part in enumerate(parts)
            if part in names
        }
        return sorted(found, key=lambda one: (one.count("/"), one))[:_MOST_ROOTS]

    def _roots_above(self, path: str) -> Iterator[str]:
        """The script's own folder, then the parent of the package that the file is in."""
        folder = posixpath.dirname(path)
        if _join_path(folder, "__init__.py") not in self._paths:
            yield folder
            return
        while folder and _join_path(folder, "__init__.py") in self._paths:
            folder = posixpath.dirname(folder)
        yield folder


def _module_paths(place: str) -> tuple[str, str, str]:
    return f"{place}.py", _join_path(place, "__init__.py"), f"{place}.pyi"


def _join_path(folder: str, name: str) -> str:
    """posixpath.join, which takes most of the time of resolving, for what is not absolute and has no slash at its end."""
    return f"{folder}/{name}" if folder else name


def _two_of_go(places: Iterable[str]) -> list[str]:
    """What stands for a package: its first file, and one more in case that the first is the one that imports."""
    files = [place for place in places if place.endswith(".go")]
    return sorted(files, key=lambda place: (place.endswith("_test.go"), place))[:2]
