"""Which modules a build of the project makes, so that they need not lie in a workspace that nobody has built."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_COMPILED = (".c", ".cc", ".cpp", ".cxx", ".cu", ".rs", ".f", ".f90", ".m", ".mm")
_FROM_PROTO = ("_pb2_grpc", "_pb2")
_PROJECTS = ("setup.py", "setup.cfg", "pyproject.toml")
_WORD = re.compile(r"\w+")


class Builds:
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
