"""What this machine lacks, where a program fails that need not be at fault: packages, libraries, or what a build makes."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence

from phases.acceptance.checks.bindings import PythonImport
from phases.acceptance.checks.imports import Modules, import_holds_at, is_own_import
from phases.workspace.command_runner import CommandRunner

_NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([^'\n]{1,200})'", re.MULTILINE)
_NOT_IN_PACKAGE = re.compile(
    r"^ImportError: cannot import name '(\w{1,100})' from [^\n]{0,40}?'([\w.]{1,200})'", re.MULTILINE
)
_NO_LIBRARY = re.compile(r"^(?:ImportError|OSError): (?:[^\n]{0,200} )?([^\s:]{1,300}\.so[.\d]*):", re.MULTILINE)
_ERROR = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception)\b.*", re.MULTILINE)
_FAULT = re.compile(
    r"^(?:E +)?(?:\w+\.)*(\w*(?:Error|Exception|Failed|Exit|Interrupt))(?::[^\S\n]*|$)([^\n]*)", re.MULTILINE
)
_NAMED_MODULE = re.compile(r"No module named '([^'\n]{1,200})'")
_IMPORTED_AS = {
    "beautifulsoup4": "bs4", "faiss-cpu": "faiss", "faiss-gpu": "faiss", "opencv-python": "cv2", "opencv-python-headless": "cv2",
    "pillow": "PIL", "python-dateutil": "dateutil", "pytorch": "torch", "pyyaml": "yaml", "scikit-image": "skimage",
    "scikit-learn": "sklearn", "tensorflow-cpu": "tensorflow", "umap-learn": "umap",
}  # fmt: skip
_PLAIN_ASSERT = re.compile(r"^E +assert\b", re.MULTILINE)
_MISSING_ERROR = re.compile(
    r"^(?:ImportError|ModuleNotFoundError|NameError|AttributeError|RuntimeError|OSError)\b|NoneType"
)
"""What becomes of a package that is not there and that the code goes on without, for a while."""
_ASK = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; import importlib.util as u; "
    "print('lacks', *[n for n in sys.argv[1:] if u.find_spec(n) is None])"
)
_ASK_SECONDS = 30
_MOST_FILES, _MOST_ASKED, _MOST_NAMED = 300, 200, 5


def find_missing_dependency(output: str, entry: str, modules: Modules, commands: CommandRunner) -> str:
    """The lack that a failed program may have failed for, in words; empty where the failure is its own.

    `output` ends with what it said last. Whether packages are installed is asked in the sandbox, once.
    """
    if named := _NO_MODULE.findall(output):
        return _name_missing_module(str(named[-1]), entry, modules)
    if (taken := _NOT_IN_PACKAGE.findall(output)) and modules.may_be_made(_location_of(taken[-1][1]), taken[-1][0]):
        return _describe_unbuilt(".".join(reversed(taken[-1])))
    if library := next(
        (each for each in _NO_LIBRARY.findall(output) if not _lies_in(commands.box.workspace, each)), ""
    ):
        return f"needs the library {library}, which is not in order here"
    missing = _ask_for_missing(sorted(set(_external_packages(modules, entry)))[:_MOST_ASKED], commands)
    errors = _ERROR.findall(output)
    if not missing or (errors and not _is_missing_error(errors[-1], missing)):
        return ""
    return _describe_missing(missing)


def packages_missing_in_tests(output: str, missing: Sequence[str]) -> list[str]:
    """Those of the plan's `missing` packages for whose lack alone tests failed; empty where anything else failed too."""
    imported = {top: name for name in missing for top in _import_names(name)}
    lacking, others = dict[str, None](), []
    for kind, rest in _FAULT.findall(output):
        named = _NAMED_MODULE.match(rest) if kind == "ModuleNotFoundError" else None
        if named and (name := imported.get(named[1].partition(".")[0])):
            lacking[name] = None
        elif not rest.startswith("Failed to import test module"):
            others.append(rest)
    words = [word for name in lacking for word in (name, *_import_names(name))]
    # One failure of another kind, and the missing package is no excuse for the rest.
    if _PLAIN_ASSERT.search(output) or not all(any(word in rest for word in words) for rest in others):
        return []
    return list(lacking)


def _import_names(package: str) -> tuple[str, ...]:
    """What a package is imported as, as far as its name tells."""
    name = re.sub(r"[-_.]+", "-", package).lower()
    return (_IMPORTED_AS.get(name, name.replace("-", "_")), package.replace("-", "_"))


def _name_missing_module(module: str, entry: str, modules: Modules) -> str:
    """What is lacking where this module was not found."""
    holder, _, name = module.rpartition(".")
    if holder and modules.may_be_made(_location_of(holder), name):
        return _describe_unbuilt(module)
    top = module.partition(".")[0]
    return "" if _is_meant_here(modules, top, entry) else _describe_missing([top])


def _is_meant_here(modules: Modules, top: str, entry: str) -> bool:
    """Whether a module that was not found is one of the workspace: where one of its name holds what is taken from it."""
    asked = [found for _, found in _absolute_imports(modules, modules.bindings) if _top_name(found) == top]
    asked = [found for found in asked if found.names or "." in found.module]
    for place in dict.fromkeys(("", "src", entry.rpartition("/")[0])):
        if modules.is_there(f"{place}/{top}".lstrip("/")) and (
            not place or not asked or any(import_holds_at(modules, place, found) for found in asked)
        ):
            return True
    return False


def _external_packages(modules: Modules, entry: str) -> Iterator[str]:
    """The packages from elsewhere that a program imports, or that something of the workspace does which it imports."""
    reached, todo = dict[str, None](), [entry]
    while todo and len(reached) < _MOST_FILES:
        path = todo.pop()
        if path not in reached:
            reached[path] = None
            directories = path.split("/")[:-1]
            around = (modules.file_of("/".join(directories[: depth + 1])) for depth in range(len(directories)))
            todo += [*modules.targets(path), *filter(None, around)]
    for path, found in _absolute_imports(modules, reached):
        if (
            _top_name(found) not in sys.stdlib_module_names
            and _top_name(found).isidentifier()
            and not is_own_import(modules, path, found)
        ):
            yield _top_name(found)


def _absolute_imports(modules: Modules, paths: Iterable[str]) -> Iterator[tuple[str, PythonImport]]:
    for path in paths:
        bindings = modules.bindings.get(path)
        yield from ((path, found) for found in (bindings.imports if bindings else ()) if not found.level)


def _ask_for_missing(tops: list[str], commands: CommandRunner) -> list[str]:
    """Those that Python does not find in the sandbox."""
    if not tops:
        return []
    answer = commands.run(f"python -c {shlex.quote(_ASK)} {shlex.join(tops)}", _ASK_SECONDS)
    lines = [line.split() for line in answer.output.splitlines() if line.startswith("lacks")]
    return [top for top in tops if top in lines[-1][1:]] if lines and answer.exit_code == 0 else []


def _is_missing_error(error: str, missing: list[str]) -> bool:
    return bool(_MISSING_ERROR.search(error)) or any(top.casefold() in error.casefold() for top in missing)


def _lies_in(workspace: str, library: str) -> bool:
    return library.startswith(f"{workspace}/") or ("/" in library and not library.startswith("/"))


def _location_of(module: str) -> str:
    return module.replace(".", "/")


def _top_name(found: PythonImport) -> str:
    return found.module.partition(".")[0]


def _describe_missing(tops: list[str]) -> str:
    if len(tops) == 1:
        return f"needs the package {tops[0]}, which is not installed here"
    more = f" and {len(tops) - _MOST_NAMED} more" if len(tops) > _MOST_NAMED else ""
    return f"needs the packages {', '.join(tops[:_MOST_NAMED])}{more}, which are not installed here"


def _describe_unbuilt(module: str) -> str:
    return f"needs the module {module}, which a build of the project makes"
