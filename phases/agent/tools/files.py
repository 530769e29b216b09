"""Read, Write and Edit: how a model works on the files of the workspace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from phases.agent.tools.edit import EditError, Replacement, apply_replacement, text_before
from phases.agent.tools.toolbox import Notes, Tool, ToolError, ToolKind, ToolResult, object_schema
from phases.llm.pictures import Picture, PictureStore, parse_picture, why_not_shown
from phases.workspace.syntax import find_syntax_fault, may_be_empty
from phases.workspace.workspace import Workspace
from pipeline.base.files import sha256
from pipeline.base.text_escaping import LARGEST_ANSWER, escape_text

MOST_LINES, LONGEST_LINE = 2000, 2000
_ROOM = LARGEST_ANSWER - 400
_PATH = {"type": "string"}
_LINE = {"type": "integer", "minimum": 1, "maximum": 10_000_000}
_TEXT = {"type": "string"}


FindFault = Callable[[str, str], str]
"""Says, from its path and text, why a file is of no use to what reads it later; empty where it is."""


def find_parse_fault(path: str, text: str) -> str:
    """Say why a file does not parse; empty where it does."""
    fault = find_syntax_fault(path, text)
    return f"does not parse: {fault}" if fault else ""


def file_tools(
    workspace: Workspace, notes: Notes, pictures: PictureStore | None = None, find_fault: FindFault = find_parse_fault
) -> list[Tool]:
    """Read, Write and Edit. `notes` is the conversation's own; `pictures` keeps what is shown; None: nothing may be."""
    return [
        Tool(
            "Read",
            f"Reads a file of the workspace with line numbers, {MOST_LINES} lines (or `limit`) from line `offset` on: "
            '{"file_path": "package/module.py"}.' + (" Shows a PNG, JPEG, GIF or WebP." if pictures else ""),
            object_schema({"file_path": _PATH}, offset=_LINE, limit={**_LINE, "maximum": MOST_LINES}),
            partial(_read_file, workspace, notes, pictures),
            ToolKind.READ,
        ),
        Tool(
            "Write",
            "Writes a whole file of the workspace; folders are made. Python, JSON and TOML are parsed at once: "
            '{"file_path": "package/module.py", "content": "A = 1\\n"}.',
            object_schema({"file_path": _PATH, "content": _TEXT}),
            partial(_write_file, workspace, notes, find_fault),
            ToolKind.WRITE,
        ),
        Tool(
            "Edit",
            "Replaces old_string by new_string in a file. old_string is exact, with spaces and line ends, and occurs once, or "
            'replace_all is true: {"file_path": "package/module.py", "old_string": "n - 1", "new_string": "n"}.',
            object_schema(
                {"file_path": _PATH, "old_string": _TEXT, "new_string": _TEXT}, replace_all={"type": "boolean"}
            ),
            partial(_edit_file, workspace, notes, find_fault, again=False),
            ToolKind.WRITE,
            redo=partial(_edit_file, workspace, notes, find_fault, again=True),
        ),
    ]


def _read_file(
    workspace: Workspace,
    notes: Notes,
    pictures: PictureStore | None,
    *,
    file_path: str,
    offset: int | None = None,
    limit: int | None = None,
) -> ToolResult:
    path = workspace.relative(file_path)
    data = workspace.read_bytes(path)
    if picture := parse_picture(data):
        return _show_picture(path, picture, pictures)
    if b"\x00" in data:
        raise ToolError(f"{path} is no text: it holds NUL bytes ({len(data):,} bytes in all)")
    lines = _split_lines(data.decode("utf-8", "replace"))
    if not lines:
        return ToolResult(f"{path} is empty")
    digest = sha256(data)
    if offset is None and limit is None and notes.known(path) == digest:
        return ToolResult(f"{path} is unchanged since you last read or wrote it ({len(lines)} lines, shown above)")
    first, most = int(offset or 1), int(limit or MOST_LINES)
    if first > len(lines):
        raise ToolError(f"{path} has {len(lines)} lines; there is no line {first}")
    shown, whole = _number_lines(lines[first - 1 : first - 1 + most], first)
    last = first - 1 + len(shown)
    text = "\n".join(shown)
    if last < len(lines):
        text += f"\n… lines {first} to {last} of {len(lines)}; go on with offset {last + 1}"
    if whole and first == 1 and last == len(lines):
        return _learn_seen(notes, ToolResult(text, seen={path: digest}))
    return ToolResult(text)


def _show_picture(path: str, picture: Picture, pictures: PictureStore | None) -> ToolResult:
    told = f"{path} is {picture.describe()}"
    if why := "this model sees none" if pictures is None else why_not_shown(picture):
        raise ToolError(f"{told}, and it is not shown: {why}")
    return ToolResult(told, pictures=(pictures.keep(picture),) if pictures else ())


def _write_file(
    workspace: Workspace, notes: Notes, find_fault: FindFault, *, file_path: str, content: str
) -> ToolResult:
    path, text = workspace.relative(file_path), _replace_surrogates(content)
    workspace.write(path, text)
    return _report_write(notes, path, text, "written", find_fault(path, text), knows_all=True)


def _edit_file(
    workspace: Workspace, notes: Notes, find_fault: FindFault, *, again: bool, file_path: str, **asked: Any
) -> ToolResult:
    path = workspace.relative(file_path)
    old, new = _replace_surrogates(asked["old_string"]), _replace_surrogates(asked["new_string"])
    replacement = Replacement(old, new, bool(asked.get("replace_all")))
    data = workspace.read_bytes(path)
    try:
        text, known = data.decode("utf-8"), notes.known(path)
        before = text_before(text, replacement, known) if again else None
        after = text if before is not None else apply_replacement(text, replacement)
    except UnicodeDecodeError as error:
        raise ToolError(f"{path} is not UTF-8 text, and only text is edited") from error
    except EditError as error:
        raise ToolError(f"{path} is not changed: {error}") from error
    # Also where it was made already: a crash may have come before the disk had it for good.
    workspace.write(path, after)
    source = (text if before is None else before).encode()
    knows_all = known is not None and sha256(source) == known
    return _report_write(notes, path, after, "edited", find_fault(path, after), knows_all=knows_all)


def _report_write(notes: Notes, path: str, text: str, done: str, fault: str, *, knows_all: bool) -> ToolResult:
    digest = sha256(text.encode()) if knows_all else ""
    count = len(_split_lines(text))
    if fault:
        said = f"{path} is {done} ({count} lines) and {fault}"
        raise ToolError(said, _learn_seen(notes, ToolResult(said, (path,), {path: digest})))
    empty = "" if text.strip() or may_be_empty(path) else "; it is empty, and an empty file does not count as written"
    return _learn_seen(notes, ToolResult(f"{path} is {done}, {count} lines{empty}", (path,), {path: digest}))


def _learn_seen(notes: Notes, acted: ToolResult) -> ToolResult:
    notes.learn(acted.seen)
    return acted


def _replace_surrogates(text: str) -> str:
    """The text as it will be read back: half a surrogate pair cannot be stored."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _number_lines(lines: list[str], first: int) -> tuple[list[str], bool]:
    """As many lines as an answer has room for, and whether each of those is whole."""
    shown: list[str] = []
    room, whole = _ROOM, True
    for number, line in enumerate(lines, first):
        row = f"{number:>6}\t{escape_text(line[:LONGEST_LINE])}"
        if len(line) > LONGEST_LINE:
            row += f" … {len(line) - LONGEST_LINE:,} characters more in this line"
            whole = False
        room -= len(row) + 1
        if room < 0 and shown:
            break
        shown.append(row)
    return shown, whole
