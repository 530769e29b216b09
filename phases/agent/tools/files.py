"""Read, Write and Edit: how a model works on the files of the workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import partial
from heapq import nlargest
from itertools import islice
from typing import Any, NamedTuple

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
"""Returns why a later reader cannot use a file, from its path and text; empty if it can."""
_MOST_WORK = 50_000_000
_NEAR_LINES = 8
_MOST_LINES, _MOST_LINES_WANTED, _MOST_LOOKED_AT, _LONGEST_COMPARED = 5_000, 200, 40, 120
_LIKE = 0.5


def find_parse_fault(path: str, text: str) -> str:
    """Return why a file does not parse; empty if it does."""
    fault = find_syntax_fault(path, text)
    return f"does not parse: {fault}" if fault else ""


def file_tools(
    workspace: Workspace, notes: Notes, pictures: PictureStore | None = None, find_fault: FindFault = find_parse_fault
) -> list[Tool]:
    """Return Read, Write and Edit. `notes` belongs to the conversation; `pictures` keeps shown pictures, None: none are shown."""
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
        raise ToolError(f"{path} is not text: it holds NUL bytes ({len(data):,} bytes in all)")
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
    what = f"{path} is {picture.describe()}"
    if why := "this model sees none" if pictures is None else why_not_shown(picture):
        raise ToolError(f"{what}, and it is not shown: {why}")
    return ToolResult(what, pictures=(pictures.keep(picture),) if pictures else ())


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
        message = f"{path} is {done} ({count} lines) and {fault}"
        raise ToolError(message, _learn_seen(notes, ToolResult(message, (path,), {path: digest})))
    empty = "" if text.strip() or may_be_empty(path) else "; it is empty, and an empty file does not count as written"
    return _learn_seen(notes, ToolResult(f"{path} is {done}, {count} lines{empty}", (path,), {path: digest}))


def _learn_seen(notes: Notes, acted: ToolResult) -> ToolResult:
    notes.learn(acted.seen)
    return acted


def _replace_surrogates(text: str) -> str:
    """Return the text as it is stored, without halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _number_lines(lines: list[str], first: int) -> tuple[list[str], bool]:
    """Return the numbered lines that fit an answer, and whether each is whole."""
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


class Replacement(NamedTuple):
    old: str
    new: str
    everywhere: bool = False


class EditError(Exception):
    """A replacement that cannot be made; its message is for the model."""


def apply_replacement(text: str, replacement: Replacement) -> str:
    """Return the text with the replacement made. Raises EditError."""
    old, new, everywhere = replacement
    if old == new:
        raise EditError("old_string and new_string are the same: there is nothing to change")
    if not old:
        raise EditError("old_string is empty; give the exact text to replace, or write the whole file with Write")
    count = _count_places(text, old)
    if not count:
        raise EditError(f"old_string does not occur in the file. {_nearest_lines(text, old)}")
    if count > 1 and not everywhere:
        raise EditError(f"old_string occurs {count} times; give more of the lines around it, or set replace_all")
    after = text.replace(old, new)
    if everywhere and (after.replace(new, old) != text if old in new else old in after):
        # Whether such a replacement was made could not be seen afterwards, and made twice it would change more.
        raise EditError("the replacement would make new places with old_string in them; edit the places one by one")
    return after


def text_before(text: str, replacement: Replacement, known: str | None) -> str | None:
    """Return the text before a replacement that was already made; None if it is still to be made.

    The sha256 `known`, of the text as the model last saw it, settles it. Without it, a new text that contains the old one counts
    as made if it occurs, and any other if the old one is gone.
    """
    old, new, _ = replacement
    if not old or old == new or (known and sha256(_encode(text)) == known):
        return None
    # Whoever wrote the texts must not choose how long this takes.
    tries = max(1, _MOST_WORK // (len(text) + 1))
    candidates = [
        before for before in islice(_texts_before(text, replacement), tries) if _leads_to(before, replacement, text)
    ]
    exact = next((before for before in candidates if known and sha256(_encode(before)) == known), None)
    if exact is not None or (old in text and old not in new):
        return exact
    if candidates:
        return candidates[0]
    return text if old not in text and new in text else None  # where it stood cannot be told


def _texts_before(text: str, replacement: Replacement) -> Iterator[str]:
    old, new, everywhere = replacement
    if everywhere:
        if new:
            yield text.replace(new, old)
        return
    place = text.find(new)
    while place >= 0:
        yield text[:place] + old + text[place + len(new) :]
        place = text.find(new, place + 1) if place < len(text) else -1


def _leads_to(before: str, replacement: Replacement, text: str) -> bool:
    try:
        return apply_replacement(before, replacement) == text
    except EditError:
        return False


def _count_places(text: str, old: str) -> int:
    """Count the occurrences, overlaps included: `aa` occurs twice in `aaa`."""
    count, place = 0, text.find(old)
    while place >= 0 and count < 1000:
        count, place = count + 1, text.find(old, place + 1)
    return count


def _nearest_lines(text: str, old: str) -> str:
    """Return the lines most similar to the requested ones."""
    if not text.strip():
        return "The file is empty."
    lines, wanted = text.split("\n"), old.split("\n")[:_MOST_LINES_WANTED]
    anchor = max(range(len(wanted)), key=lambda number: len(wanted[number].strip()))
    like = SequenceMatcher(autojunk=False)
    like.set_seq2(wanted[anchor].strip()[:_LONGEST_COMPARED])

    def ratio(number: int, *, quick: bool) -> float:
        like.set_seq1(lines[number].strip()[:_LONGEST_COMPARED])
        return like.quick_ratio() if quick else like.ratio()

    likely = nlargest(
        _MOST_LOOKED_AT, range(min(len(lines), _MOST_LINES)), key=lambda number: ratio(number, quick=True)
    )
    best = max(likely, key=lambda number: ratio(number, quick=False))
    if ratio(best, quick=False) < _LIKE:
        return "Nothing in it is like that; read the file again."
    first = max(0, best - anchor)
    near = lines[first : first + min(len(wanted), _NEAR_LINES)]
    shown = "\n".join(f"{first + number:>6}\t{escape_text(line[:300])}" for number, line in enumerate(near, 1))
    return f"The nearest lines are:\n{shown}\nGive old_string exactly as it stands there, spaces included, without line numbers."


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
