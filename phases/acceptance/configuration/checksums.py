"""Find the files that a hook's command names, and whether they changed: the agent must not edit its own tests.

Not covered: what a named file calls in its turn, the tests that pytest finds, words that a shell makes at run time
(`*.sh`, `$NAME`, `~`), a directory that turns into a link after a word like `ci/../run.sh` was recorded, links outside the
workspace, and what lies under the directories of the system.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from phases.acceptance.hook import COMMAND, REPO, Hook
from phases.workspace.workspace import CONTROL, LARGEST_FILE, Workspace, WorkspaceError
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes, sha256

Checksums = Mapping[str, str]
"""Path -> sha256 of the content. Paths inside the workspace are relative to it, others are absolute."""
ABSENT, UNREADABLE = "", "unreadable"
"""There was no file; there was one that cannot be read safely (a link, over 2 MiB), and so cannot be trusted."""
_SUFFIXES = (".sh", ".py", ".js", ".rb", ".pl", ".ts", ".mjs")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/dev", "/proc", "/sys")
_HERE = re.compile(
    r"\$(?:\{(?:CLAUDE_PROJECT_DIR|PIPELINE_PROJECT_DIR|PWD)\}|(?:CLAUDE_PROJECT_DIR|PIPELINE_PROJECT_DIR|PWD)\b)"
)
_BESIDE_THE_HOOKS = re.compile(r"\$(?:\{CLAUDE_PLUGIN_ROOT\}|CLAUDE_PLUGIN_ROOT\b)")
_NO_PATH = re.compile(r"[*?\[\]{}$~\0]|://")
INTERPRETERS = frozenset(
    {"sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "Rscript", "source", "."}
)
_GOES_BEFORE = INTERPRETERS | {
    "if", "then", "elif", "else", "while", "until", "do", "!", "time", "exec", "env", "nice", "nohup", "timeout",
}  # fmt: skip
"""Words after which there still comes what is run."""
_MEANT = {"make": ("GNUmakefile", "makefile", "Makefile")}
"""Files that a command reads though its line does not name them."""
_CACHE = "__pycache__"
_TOOLS = frozenset(
    {
        "bandit", "black", "compileall", "coverage", "doctest", "flake8", "isort", "mypy", "nox", "pre_commit", "py_compile",
        "pylint", "pyright", "pytest", "ruff", "tox", "unittest",
    }
)  # fmt: skip
_BREAKS = re.compile(r"[;&|()\n]+")
_DEEPEST = 3


def hash_scripts(hook: Hook, workspace: str) -> dict[str, str]:
    """Return the digests of the files that a hook's command names. Directories and mere words are left out."""
    found: dict[str, str] = {}
    for path, is_script, word, _ in _walk_paths(hook, workspace):
        digest = UNREADABLE if _leads_elsewhere(word, path, workspace) else _file_digest(path, workspace)
        if digest or (is_script and not os.path.isabs(path)):
            found[path] = digest
    return found


def paths_run_by(hook: Hook, workspace: str) -> tuple[str, ...]:
    """Return the workspace paths that a hook runs, as opposed to those it only reads."""
    return tuple(path for path, _, _, runs in _walk_paths(hook, workspace) if runs and not os.path.isabs(path))


def script_paths_of(hook: Hook, workspace: str) -> tuple[str, ...]:
    """Return the workspace paths that a hook's command names as scripts, spelled as in `hash_scripts`.

    What stands there, if anything, plays no part in it.
    """
    # Decision 78: a script that is not there yet must not be supplied by the agent.
    named = (path for path, is_script, _, _ in _walk_paths(hook, workspace) if is_script and not os.path.isabs(path))
    return tuple(dict.fromkeys(named))


def is_tool_module(path: str) -> bool:
    """Return whether a workspace file would replace a tool that `python -m` runs."""
    return path.split("/")[0].removesuffix(".py") in _TOOLS


def hash_control_files(workspace: str) -> dict[str, str]:
    """Return the digests of all files in the directory of the hooks: a file next to a script may be imported instead.

    Caches of Python are left out: `remove_caches` deletes them before a hook could use one.
    """
    root, found = os.path.join(workspace, CONTROL), dict[str, str]()
    if os.path.islink(root):
        return {CONTROL: UNREADABLE}
    if not os.path.exists(root):
        return {}
    for directory, directories, names in os.walk(root, onerror=lambda error: found.update({CONTROL: UNREADABLE})):
        links = [name for name in directories if os.path.islink(os.path.join(directory, name))]
        directories[:] = [name for name in directories if name != _CACHE]
        for name in sorted([*names, *links]):
            path = os.path.relpath(os.path.join(directory, name), workspace)
            found[path] = _content_digest(os.path.join(directory, name), workspace)
    return found


def remove_caches(workspace: str) -> None:
    """Remove Python caches from the directory of hooks: a cache runs instead of its source."""
    root = os.path.join(workspace, CONTROL)
    for directory, directories, _ in os.walk(root) if not os.path.islink(root) else ():
        if _CACHE in directories:
            shutil.rmtree(os.path.join(directory, _CACHE), ignore_errors=True)
            directories.remove(_CACHE)


def _content_digest(path: str, workspace: str) -> str:
    """Return the digest of a file of any size, or of a link's target; a link into the workspace is unreliable."""
    if os.path.islink(path):
        inside = os.path.realpath(path).startswith(os.path.realpath(workspace) + os.sep)
        return UNREADABLE if inside else sha256(f"link to {os.readlink(path)}".encode("utf-8", "surrogateescape"))
    try:
        return sha256(read_bytes(path))
    except StorageError:
        return UNREADABLE


def find_changed(checksums: Checksums, workspace: str) -> tuple[str, ...]:
    """Return the pinned files that changed, or cannot be shown to be unchanged."""
    return tuple(
        sorted(path for path, was in checksums.items() if was == UNREADABLE or _file_digest(path, workspace) != was)
    )


def item_digest(item: Mapping[str, Any]) -> str:
    """Return the sha256 of a hook's item, independent of the order of its keys."""
    return sha256(json.dumps(item, sort_keys=True, separators=(",", ":")).encode("ascii"))


def _walk_paths(hook: Hook, workspace: str) -> Iterator[tuple[str, bool, str, bool]]:
    """Yield each path that a command names: as pinned, whether it is a script, as written, and whether it is run."""
    if hook.kind != COMMAND:
        return
    args = hook.params.get("args")
    command = shlex.join(map(str, args)) if args else str(hook.params.get("command", ""))
    if hook.source == REPO:
        command = _BESIDE_THE_HOOKS.sub(f"${{CLAUDE_PROJECT_DIR}}/{CONTROL}", command)
    for word, runs in _parse_paths(command, ".", _DEEPEST):
        path = _locate_word(word, workspace)
        if path:
            yield path, runs is not None and (runs or path.endswith(_SUFFIXES)), word, bool(runs)


def _leads_elsewhere(word: str, path: str, workspace: str) -> bool:
    """Return whether a word such as `ci/../run.sh` leads elsewhere because `ci` is a link."""
    directories = (os.path.dirname(os.path.join(workspace, each)) for each in (word, path))
    return ".." in word.split("/") and len(set(map(os.path.realpath, directories))) > 1


def _parse_paths(command: str, directory: str, levels: int) -> Iterator[tuple[str, bool | None]]:
    """Yield the words of a command that may be paths, each with whether it is run; None for a guess. `cd` is followed."""
    begins, written, follows_cd, before = True, False, False, ""
    for word in shell_words(command):
        if _BREAKS.fullmatch(word):
            begins, written, follows_cd, before = True, False, False, ""
        elif word.strip("<>&|0123456789") == "" and ">" in word:
            written = True
        elif written:
            written = False  # a file that the command writes is not protected
        elif re.search(r"[\s;&|()<>]", word) and levels:
            yield from _parse_paths(word, directory, levels - 1)
            begins = False
        elif follows_cd:
            directory, follows_cd = os.path.join(directory, _HERE.sub(".", word)), False
        elif begins and word == "cd":
            follows_cd, begins = True, False
        else:
            is_setting = re.match(r"[A-Za-z_]\w*=", word)
            named = word.partition("=")[2] if is_setting or word.startswith("-") else word
            if named:
                yield _join_word(directory, named), begins and not is_setting and _is_named(named, before)
            for path in _module_paths(word) if before == "-m" else _MEANT.get(word, ()) if begins else ():
                yield _join_word(directory, path), True if is_tool_module(path) else None
            before = word
            begins = begins and (bool(is_setting) or word in _GOES_BEFORE or word.startswith("-"))


def _is_named(word: str, before: str) -> bool:
    """Return whether a word names a file to run, rather than a command that the shell looks up."""
    return "/" in word or (before in INTERPRETERS and word not in _GOES_BEFORE)


def _module_paths(name: str) -> tuple[str, ...]:
    """Return the files that `python -m` may mean."""
    path = name.replace(".", "/")
    return (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")


def shell_words(command: str) -> list[str]:
    """Split as a shell does, with operators as separate words; an invalid line is split at blanks."""
    # Guessing errs on the side of protecting too much; `pipeline hooks trust --show` lists what was found.
    lexer = shlex.shlex(command.replace("`", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:
        return command.replace('"', " ").replace("'", " ").split()


def _join_word(directory: str, word: str) -> str:
    """Return a word as a path relative to the workspace."""
    if _HERE.match(word):
        return _HERE.sub(".", word, count=1)
    return word if os.path.isabs(word) else os.path.join(directory, word)


def _locate_word(word: str, workspace: str) -> str:
    """Return a path as it is pinned; empty if it is unknown or belongs to the system."""
    if _NO_PATH.search(word):
        return ""
    root = os.path.realpath(workspace)
    path = os.path.normpath(os.path.join(root, word))
    for inside in (root, os.path.abspath(workspace)):
        if path == inside:
            return ""
        if path.startswith(inside + "/"):
            return path[len(inside) + 1 :]
    if path.startswith("/dev/shm/"):  # noqa: S108 - the one part of /dev that all users may write to
        return path
    return "" if any(path == directory or path.startswith(directory + "/") for directory in _SYSTEM) else path


def _file_digest(path: str, workspace: str) -> str:
    if os.path.isabs(path):
        try:
            return sha256(read_bytes(path, limit=LARGEST_FILE))
        except StorageError:
            return ABSENT
    root = os.path.realpath(workspace)
    where = os.path.join(root, path)
    if not os.path.lexists(where) or (os.path.isdir(where) and not os.path.islink(where)):
        return ABSENT
    try:
        return sha256(Workspace(root).read_bytes(path))
    except WorkspaceError:
        return UNREADABLE
