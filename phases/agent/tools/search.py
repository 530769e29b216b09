"""Glob and Grep: a model's eyes on the workspace."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any

from phases.agent.tools.patterns import NoPattern, matching
from phases.agent.tools.tool import Tool, ToolError, closed
from phases.workspace.workspace import Workspace, WorkspaceError

MOST_PATHS, MOST_MATCHES, SECONDS = 500, 300, 10
LARGEST_SEARCH = 16 * 1024 * 1024
"""Characters that one search looks at; what lies behind them is said to be left out."""
_MODES = ("content", "files_with_matches", "count")
_FOLDER = {"type": "string", "description": "A folder or file of the workspace; all of it when left out"}
_PATTERN = {"type": "string", "minLength": 1, "maxLength": 1000}


def search_tools(workspace: Workspace) -> list[Tool]:
    """Glob and Grep."""
    return [
        Tool(
            "Glob",
            "Lists files of the workspace whose path matches a pattern like package/**/*.py, sorted. * stays within a folder, "
            "** does not. A pattern without a slash is about names, in any folder.",
            closed({"pattern": _PATTERN}, path=_FOLDER),
            partial(_glob, workspace),
            reads_only=True,
        ),
        Tool(
            "Grep",
            "Searches the files of the workspace, line by line, for a regular expression of Python. output_mode is "
            "files_with_matches unless given. context is the number of lines to show around a match.",
            closed(
                {"pattern": _PATTERN},
                path=_FOLDER,
                glob=_PATTERN,
                output_mode={"enum": list(_MODES)},
                ignore_case={"type": "boolean"},
                context={"type": "integer", "minimum": 0, "maximum": 20},
            ),
            partial(_grep, workspace),
            reads_only=True,
        ),
    ]


def _glob(workspace: Workspace, *, pattern: str, path: str = ".") -> str:
    found = _matching(_under(workspace, path), pattern, workspace.relative(path))
    if not found:
        return f"no file matches {pattern}"
    more = f"\n… {len(found) - MOST_PATHS:,} more; give a narrower pattern" if len(found) > MOST_PATHS else ""
    return "\n".join(found[:MOST_PATHS]) + more


def _grep(workspace: Workspace, *, pattern: str, path: str = ".", **options: Any) -> str:
    paths = _under(workspace, path)
    if "glob" in options:
        paths = _matching(paths, options["glob"], workspace.relative(path))
    texts, left_out = _texts(workspace, paths)
    mode = options.get("output_mode", "files_with_matches")
    request = {
        "pattern": pattern,
        "ignore_case": options.get("ignore_case", False),
        "context": int(options.get("context", 0)),
        "most": MOST_MATCHES if mode == "content" else 0,
        "seconds": SECONDS,
        "texts": texts,
    }
    found = _searched(request)
    note = (
        f"\n… {left_out:,} files were not searched: over {LARGEST_SEARCH:,} characters; give a path or a glob"
        if left_out
        else ""
    )
    if not found:
        return f"no line of {len(texts)} files matches {pattern}{note}"
    return "\n".join(_shown(found, mode)) + note


def _under(workspace: Workspace, path: str) -> list[str]:
    folder = workspace.relative(path)
    if folder == ".":
        return workspace.paths()
    found = [name for name in workspace.paths() if name == folder or name.startswith(f"{folder}/")]
    if not found:
        raise ToolError(f"there is no file at or under {folder} in the workspace")
    return found


def _matching(paths: list[str], pattern: str, folder: str) -> list[str]:
    """A pattern is seen from the folder that is searched."""
    prefix = "" if folder == "." or folder in paths else f"{folder}/"
    try:
        return [prefix + name for name in matching([name.removeprefix(prefix) for name in paths], pattern)]
    except NoPattern as error:
        raise ToolError(str(error)) from error


def _texts(workspace: Workspace, paths: list[str]) -> tuple[dict[str, str], int]:
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


def _searched(request: dict[str, Any]) -> list[dict[str, Any]]:
    code, output = _in_child(json.dumps(request).encode("ascii"))
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


def _in_child(told: bytes) -> tuple[int | None, bytes]:
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


def _shown(files: list[dict[str, Any]], mode: str) -> list[str]:
    if mode == "files_with_matches":
        return [row["path"] for row in files]
    if mode == "count":
        return [f"{row['path']}:{row['count']}" for row in files]
    lines = []
    for row in files:
        lines += [
            f"{row['path']}{':' if hit else '-'}{number}{':' if hit else '-'}{text}"
            for number, hit, text in row["lines"]
        ]
    total = sum(row["count"] for row in files)
    return [*lines, f"… {total - MOST_MATCHES:,} more matches"] if total > MOST_MATCHES else lines
