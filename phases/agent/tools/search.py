"""Glob and Grep: list and search the files of the workspace."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from phases.agent.tools.toolbox import Tool, ToolError, ToolKind, object_schema
from phases.workspace.workspace import Workspace, WorkspaceError

MOST_PATHS, MOST_MATCHES, SECONDS = 500, 300, 10
LARGEST_SEARCH = 16 * 1024 * 1024
"""Characters that one search looks at; what lies behind them is said to be left out."""
_MODES = ("content", "files_with_matches", "count")
_FOLDER = {"type": "string", "description": "A folder or file; all when left out"}
_PATTERN = {"type": "string", "minLength": 1, "maxLength": 1000}


def search_tools(workspace: Workspace) -> list[Tool]:
    return [
        Tool(
            "Glob",
            'Lists files of the workspace by a pattern: {"pattern": "package/**/*.py"}. * stays within a folder, ** does not. A '
            "pattern without a slash is about names, in any folder.",
            object_schema({"pattern": _PATTERN}, path=_FOLDER),
            partial(_glob_files, workspace),
            ToolKind.SEARCH,
        ),
        Tool(
            "Grep",
            "Searches the lines of the workspace for a regular expression of Python. output_mode is files_with_matches unless "
            'given; context: lines around a match. {"pattern": "def mean", "glob": "*.py", "output_mode": "content"}.',
            object_schema(
                {"pattern": _PATTERN},
                path=_FOLDER,
                glob=_PATTERN,
                output_mode={"enum": list(_MODES)},
                ignore_case={"type": "boolean"},
                context={"type": "integer", "minimum": 0, "maximum": 20},
            ),
            partial(_grep_files, workspace),
            ToolKind.SEARCH,
        ),
    ]


def _glob_files(workspace: Workspace, *, pattern: str, path: str = ".") -> str:
    found = _match_under(_paths_under(workspace, path), pattern, workspace.relative(path))
    if not found:
        return f"no file matches {pattern}"
    more = f"\n… {len(found) - MOST_PATHS:,} more; give a narrower pattern" if len(found) > MOST_PATHS else ""
    return "\n".join(found[:MOST_PATHS]) + more


def _grep_files(workspace: Workspace, *, pattern: str, path: str = ".", **options: Any) -> str:
    paths = _paths_under(workspace, path)
    if "glob" in options:
        paths = _match_under(paths, options["glob"], workspace.relative(path))
    texts, left_out = _read_texts(workspace, paths)
    mode = options.get("output_mode", "files_with_matches")
    request = {
        "pattern": pattern,
        "ignore_case": options.get("ignore_case", False),
        "context": int(options.get("context", 0)),
        "most": MOST_MATCHES if mode == "content" else 0,
        "seconds": SECONDS,
        "texts": texts,
    }
    found = _search_texts(request)
    told = f"\n… {left_out:,} files were not searched: over {LARGEST_SEARCH:,} characters; give a path or a glob"
    note = told if left_out else ""
    if not found:
        return f"no line of {len(texts)} files matches {pattern}{note}"
    return "\n".join(_render_hits(found, mode)) + note


def _paths_under(workspace: Workspace, path: str) -> list[str]:
    folder = workspace.relative(path)
    if folder == ".":
        return workspace.paths()
    found = [name for name in workspace.paths() if name == folder or name.startswith(f"{folder}/")]
    if not found:
        raise ToolError(f"there is no file at or under {folder} in the workspace")
    return found


def _match_under(paths: list[str], pattern: str, folder: str) -> list[str]:
    """Resolve a pattern relative to the searched folder."""
    prefix = "" if folder == "." or folder in paths else f"{folder}/"
    try:
        return [prefix + name for name in match_paths([name.removeprefix(prefix) for name in paths], pattern)]
    except PatternError as error:
        raise ToolError(str(error)) from error


def _read_texts(workspace: Workspace, paths: list[str]) -> tuple[dict[str, str], int]:
    """The texts to search, and how many files there was no room for."""
    texts: dict[str, str] = {}
    room = LARGEST_SEARCH
    for number, path in enumerate(paths):
        if room <= 0:
            return texts, len(paths) - number
        try:
            data = workspace.read_bytes(path)
        except WorkspaceError:
            continue  # it is over the limit, or went since it was listed
        if b"\x00" not in data:
            texts[path] = data.decode("utf-8", "replace").removesuffix("\n")
            room -= len(data)
    return texts, 0


def _search_texts(request: dict[str, Any]) -> list[dict[str, Any]]:
    code, output = _run_matcher(json.dumps(request).encode("ascii"))
    try:
        answer = json.loads(output) if code == 0 else {}
    except ValueError:
        answer = {}
    if "fault" in answer:
        raise ToolError(str(answer["fault"]))
    if "files" not in answer:
        raise ToolError(
            f"the search was stopped after {SECONDS} s or 1 GB of memory; use a simpler pattern, or a path or a glob"
        )
    return list(answer["files"])


# A pattern may need for ever, and Python's matcher cannot be stopped within its process.
def _run_matcher(told: bytes) -> tuple[int | None, bytes]:
    with tempfile.TemporaryFile() as output:  # not a pipe: the child's own limit on file sizes bounds it
        with subprocess.Popen(
            [sys.executable, "-I", "-m", "phases.agent.tools.matcher"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={},
        ) as child:
            try:
                child.communicate(told, timeout=SECONDS + 2)
            except subprocess.TimeoutExpired:
                return None, b""
            finally:
                child.kill()
        output.seek(0)
        return child.returncode, output.read()


def _render_hits(files: list[dict[str, Any]], mode: str) -> list[str]:
    if mode == "files_with_matches":
        return [row["path"] for row in files]
    if mode == "count":
        return [f"{row['path']}:{row['count']}" for row in files]
    lines = []
    for row in files:
        for number, hit, text in row["lines"]:
            sign = ":" if hit else "-"
            lines.append(f"{row['path']}{sign}{number}{sign}{text}")
    total = sum(row["count"] for row in files)
    return [*lines, f"… {total - MOST_MATCHES:,} more matches"] if total > MOST_MATCHES else lines


MOST_ALTERNATIVES = 64
LONGEST_PATTERN = 500


class PatternError(Exception):
    """Return why a pattern cannot be used, for the model."""


def match_paths(paths: list[str], pattern: str) -> list[str]:
    """Return the paths that match a pattern. Raises PatternError.

    `*` and `?` match within a name, `**` matches over folders, `{a,b}` matches one of them. A pattern without a slash is about
    names, in any folder.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"the pattern has {len(pattern):,} characters, over {LONGEST_PATTERN}")
    wanted = []
    for text in _expand_braces(pattern.removeprefix("./")):
        parts = text.split("/")
        if text.startswith("/") or ".." in parts:
            raise PatternError(f"the pattern {text[:80]!r} leads out of the workspace; give one like package/**/*.py")
        wanted.append(["**", *parts] if len(parts) == 1 else parts)
    return [path for path in paths if any(_fits_parts(path.split("/"), parts) for parts in wanted)]


def _expand_braces(pattern: str) -> list[str]:
    """The pattern with every `{a,b}` written out, the innermost first."""
    done, todo = [], [pattern]
    while todo:
        text = todo.pop()
        end = text.find("}")
        start = text.rfind("{", 0, end) if end >= 0 else -1
        if start < 0:
            done.append(text)
            continue
        todo += [text[:start] + choice + text[end + 1 :] for choice in reversed(text[start + 1 : end].split(","))]
        if len(done) + len(todo) > MOST_ALTERNATIVES:
            raise PatternError(f"the pattern means more than {MOST_ALTERNATIVES} patterns")
    return done


def _fits_parts(names: list[str], parts: list[str]) -> bool:
    """By a row for each part: which beginnings of the path fit the parts so far."""
    reached = [True, *[False] * len(names)]
    for part in parts:
        following = [False] * (len(names) + 1)
        for place, fits in enumerate(reached):
            if part == "**":
                following[place] = fits or (place > 0 and following[place - 1])
            elif fits and place < len(names):
                following[place + 1] = following[place + 1] or fnmatchcase(names[place], part)
        reached = following
    return reached[-1]
