"""What a user types to call this very program, for the commands that it prints."""

from __future__ import annotations

import os
import re
import sys

_NAME = "pipeline"


def program() -> str:
    """`pipeline` where the shell finds this one under that name, else its path, or `python -m pipeline`; ready to paste."""
    called = sys.argv[0] if os.path.basename(sys.argv[0]) == _NAME and os.access(sys.argv[0], os.X_OK) else ""
    found, beside = _found(_NAME), os.path.join(os.path.dirname(sys.executable), _NAME)
    if found and os.path.realpath(found) in (os.path.realpath(called or beside), os.path.realpath(beside)):
        return _NAME
    return _typed(called) if called else f"{_python()} -m {_NAME}"


def as_called(text: str) -> str:
    """The text with every `pipeline COMMAND` in it as this user types it."""
    if f"{_NAME} " not in text or (name := program()) == _NAME:
        return text
    from pipeline.cli import COMMANDS

    return re.sub(rf"(?<![\w./-])(?<!-m ){_NAME} (?=(?:{'|'.join(COMMANDS)})\b)", lambda _: f"{name} ", text)


def _python() -> str:
    """The interpreter as it was typed, where that still means the one that runs."""
    typed = sys.orig_argv[0]
    if os.sep in typed:
        return _typed(typed)
    found = _found(typed)  # its last link stays unfollowed: the python of a venv is a link out of it
    same = found and os.path.realpath(os.path.dirname(found)) == os.path.realpath(os.path.dirname(sys.executable))
    return typed if same else _typed(sys.executable)


def _found(name: str) -> str:
    """What the shell finds under a name; empty for nothing. shutil.which would import shutil, which costs 2 ms."""
    paths = (os.path.join(folder, name) for folder in os.environ.get("PATH", "").split(os.pathsep))
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), "")


def _typed(path: str) -> str:
    """The shorter one of a path in full and as seen from here, as a shell takes it."""
    relative = os.path.relpath(path)
    name = min(os.path.abspath(path), relative if os.sep in relative else f"./{relative}", key=len)
    if re.fullmatch(r"[\w./+-]+", name, re.ASCII):
        return name

    from shlex import quote

    return quote(name)
