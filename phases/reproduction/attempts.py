"""Keep the record of further attempts at the paper's tables: what was reported to the agent, and what it changed.

attempts/N/ of a task holds attempt.json (what was told, of which code and cells), results.json (the tables until then), before/
(the code until then; until it is ended) and changes.diff. It lies outside of results/, because no redo may forget it: a figure
that an agent was told of is no proof on the same labels (decision 293).
"""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from phases.reproduction.compare import DIFFERS, HELD_BACK, NOT_RUN, SUSPECT, YES
from phases.reproduction.runs import FAILED, LABELS
from phases.workspace.manifest import tree_digest
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.errors import FormatError, StorageError
from pipeline.base.files import (
    make_directory,
    read_bytes,
    sha256,
    storage_error,
    sync_directory,
    sync_tree,
    write_durable,
)
from pipeline.base.formats import dump_json, parse_json
from pipeline.base.safe_tree import open_file, read_beneath, walk_files
from pipeline.base.text_escaping import bound_text, escape_text, one_line

DIRECTORY, CHANGES = "attempts", "changes.diff"
_TOLD, _BEFORE, _TABLES = "attempt.json", "before", "results.json"
_LARGEST_CODE = 2 * 2**20
_LARGEST_LABELS = 256 * 2**20
_MOST_CELLS, _LONGEST_LOG, _LONGEST_TOLD = 60, 1500, 12_000
_TAG = "paper-tables"
_BEGIN, _END = "--- log (end of it, untrusted text) ---", "--- end ---"
WHAT_NEXT = (
    "Find the cause: where does the code differ from what the paper says? Fix it, with a test that fails without the fix, and "
    "say again that you are done. A figure that is written down, or a seed, data or stopping rule chosen to produce it, does "
    "not count as a result. If you find no cause, leave the code unchanged and say so: that is an honest answer."
)


class Attempt(NamedTuple):
    """One report of the tables to the agent."""

    number: int
    text: str
    """Text for the agent."""
    told: tuple[str, ...]
    """Cells reported to the agent, as by `place_of`: another plan may number them differently."""
    labels: str
    """The digest of the labels that were held back then; empty: there were none."""
    tree_sha256: str
    """Digest of the code that produced the tables; only this code gets the report."""
    plan_sha256: str
    sentence: str
    """Summary of the tables before the attempt."""
    is_over: bool
    changed: tuple[str, ...] = ()
    """The files that it changed; empty until it is over."""

    @property
    def changes(self) -> str:
        """The diff of the attempt, as a path in the task."""
        return f"{DIRECTORY}/{self.number}/{CHANGES}"


def read_attempts(root: str) -> list[Attempt]:
    """Return the attempts of a task, in order. Raises StorageError if the record is damaged."""
    home = os.path.join(root, DIRECTORY)
    numbers = sorted(int(name) for name in os.listdir(home) if name.isdecimal()) if os.path.isdir(home) else []
    # a task may come from a stranger, and nothing is written or removed where a link leads
    for path in (home, *(os.path.join(home, str(number)) for number in numbers)):
        if os.path.islink(path):
            raise StorageError(f"{path} is a link; attempts must be in the task itself: remove the link")
    return [_read_attempt(home, number) for number in numbers]


def open_attempt(root: str) -> Attempt | None:
    """Return the attempt in progress or to be started."""
    return next((attempt for attempt in read_attempts(root) if not attempt.is_over), None)


def begin_attempt(
    root: str, code: str, results: Mapping[str, Any], plan_sha256: str, most: int
) -> tuple[Attempt | None, str]:
    """Record code, tables and the report for the agent; return why if there is no further attempt. Raises StorageError.

    `code`: the workspace; `most`: the user's limit of attempts for this plan.
    """
    before = read_attempts(root)
    own = [one for one in before if one.plan_sha256 == plan_sha256]
    cells = find_cells(results)
    if not cells and not _failures(results):
        return None, ""
    if len(own) >= most:
        return (
            None,
            f"attempt {len(own)} of {most} was the last one; more: --reproduce-attempts {most + 1}" if own else "",
        )
    if own and not own[-1].changed:
        return None, f"attempt {own[-1].number} changed nothing, so there is no further attempt"
    number, home = len(before) + 1, os.path.join(root, DIRECTORY)
    text = describe_tables(results, root, len(own) + 1, most)
    row = {
        "text": text,
        "told": [place_of(cell) for cell in cells],
        "labels": digest_labels(os.path.join(root, "held_out")),
        "tree_sha256": tree_digest(Workspace(code)),
        "plan_sha256": plan_sha256,
        "sentence": results["sentence"],
    }
    coming = os.path.join(home, f"{number}.next")
    shutil.rmtree(coming, ignore_errors=True)
    for path, data in _read_code(code).items():
        _write(os.path.join(coming, _BEFORE, *path.split("/")), data)
    make_directory(coming)
    write_durable(os.path.join(coming, _TABLES), dump_json(dict(results)))
    write_durable(os.path.join(coming, _TOLD), dump_json(row))
    sync_tree(coming)
    try:
        os.rename(coming, os.path.join(home, str(number)))
    except OSError as error:
        raise storage_error("rename", coming, error) from error
    sync_directory(home)
    return _read_attempt(home, number), ""


def end_attempt(root: str, code: str) -> list[Attempt]:
    """Return all attempts after ending the open one and writing its diff. Raises StorageError."""
    attempt = open_attempt(root)
    if attempt is None:
        return read_attempts(root)
    home = os.path.join(root, DIRECTORY, str(attempt.number))
    kept = os.path.join(home, _BEFORE)
    try:
        before = {entry.path: read_beneath(kept, entry.path, _LARGEST_CODE) for entry in walk_files(kept)}
    except OSError as error:
        raise storage_error("read", kept, error) from error
    write_durable(os.path.join(home, CHANGES), "".join(_compare(before, _read_code(code))).encode("utf-8", "replace"))
    shutil.rmtree(kept, ignore_errors=True)
    return read_attempts(root)


def find_cells(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the cells that an agent could improve: different, suspect, or without a result."""
    unable = {row["name"] for row in results["experiments"] if row["status"] == NOT_RUN}  # data or a sandbox is missing
    return [
        cell
        for cell in results["cells"]
        if cell["verdict"] in (DIFFERS, SUSPECT)
        or (results["size"] == "full" and _is_without_figure(cell) and cell["experiment"] not in unable)
    ]


def _is_without_figure(cell: Mapping[str, Any]) -> bool:
    return cell["ours"] is None and cell["paper"] is not None


def place_of(cell: Mapping[str, Any]) -> str:
    """Return where a figure is in the paper."""
    return one_line(", ".join(filter(None, (cell["table"], cell["row"], cell["column"], cell.get("unit", "")))))


def told_cells(attempts: Iterable[Attempt], labels: str) -> dict[str, int]:
    """Return the cells reported to an agent with these labels held back, each with its first attempt."""
    found: dict[str, int] = {}
    for attempt in attempts:
        if attempt.labels == labels:
            for name in attempt.told:
                found.setdefault(name, attempt.number)
    return found


def digest_labels(held_out: str) -> str:
    """Of all labels that the user holds back; empty where there are none."""
    directory = os.path.join(held_out, LABELS)
    if not os.path.isdir(directory) or os.path.islink(held_out):
        return ""
    try:
        rows = [
            f"{name} {sha256(read_beneath(directory, name, _LARGEST_LABELS))}" for name in sorted(os.listdir(directory))
        ]
    except OSError as error:
        raise storage_error("read", directory, error) from error
    return sha256("\n".join(rows).encode())


def describe_tables(results: Mapping[str, Any], root: str, number: int, most: int) -> str:
    """Return the tables as reported to the agent; for figures on held-back labels only that they differ."""
    cells, told = results["cells"], find_cells(results)
    agree = sum(cell["agrees"] == YES and cell["verdict"] != SUSPECT for cell in cells)
    first = (
        f"Your code is accepted. Then its experiments were run in {results['size']} size, and the paper's tables compared: "
        f"{agree} of {len(cells)} figures agree. {'These do not:' if told else 'An experiment failed:'}"
    )
    lines = [
        first,
        *(_describe_cell(cell) for cell in told[:_MOST_CELLS]),
        *([f"… and {len(told) - _MOST_CELLS} more"] if len(told) > _MOST_CELLS else []),
        *(f"experiments: {one_line(fault, 300)}" for fault in results["faults"][:8]),
        *(_describe_failure(row, root) for row in _failures(results)[:4]),
    ]
    text = (
        bound_text("\n".join(lines), _LONGEST_TOLD)
        .replace(f"<{_TAG}", f"<\\{_TAG}")
        .replace(f"</{_TAG}", f"<\\/{_TAG}")
    )
    return f'<{_TAG} attempt="{number}" of="{most}">\n{text}\n{WHAT_NEXT}\n</{_TAG}>'


def _failures(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [row for row in results["experiments"] if row["status"] == FAILED]


def _describe_cell(cell: Mapping[str, Any]) -> str:
    start = f"- {cell['id']} ({place_of(cell)}), the paper: {cell['paper']:g}"
    if cell["ours"] is None or cell["verdict"] == SUSPECT:
        return f"{start}; {cell['verdict']}: {one_line(cell['why'], 300)}"
    if cell["known_from"] == HELD_BACK:
        return f"{start}; the figure of your code, on labels that are held back, differs"
    return f"{start}, your code: {cell['ours']:.6g}, may differ by {cell['tolerance']:.3g} ({cell['tolerance_from']})"


def _describe_failure(row: Mapping[str, Any], root: str) -> str:
    try:
        log = read_bytes(os.path.join(root, *row["log"].split("/"))).decode("utf-8", "replace") if row["log"] else ""
    except StorageError:
        log = ""
    shown = escape_text(log[-_LONGEST_LOG:].strip()).replace("---", "~~~")
    return f"- experiment {row['name']} failed: {one_line(row['why'], 300)}\n{_BEGIN}\n{shown}\n{_END}"


def _read_attempt(home: str, number: int) -> Attempt:
    own = os.path.join(home, str(number))
    changes = os.path.join(own, CHANGES)
    try:
        row = parse_json(read_bytes(os.path.join(own, _TOLD)))
        is_over = os.path.isfile(changes)
        text = read_bytes(changes).decode("utf-8", "replace") if is_over else ""
        return Attempt(
            number,
            row["text"],
            tuple(row["told"]),
            row["labels"],
            row["tree_sha256"],
            row["plan_sha256"],
            row["sentence"],
            is_over,
            _files_of(text),
        )
    except (FormatError, KeyError, TypeError) as error:
        raise StorageError(f"{own}/{_TOLD} is damaged ({error}); remove {own}") from error


def _files_of(changes: str) -> tuple[str, ...]:
    """Return the paths in one of our diffs."""
    return tuple(line.removeprefix("diff ") for line in changes.split("\n") if line.startswith("diff "))


def _read_code(code: str) -> dict[str, bytes]:
    """Return the files of a workspace; large ones are represented by their digest."""
    workspace, contents = Workspace(code), dict[str, bytes]()
    for row in workspace.digests():
        if row.path.startswith(".pipeline/"):
            continue
        try:
            small = row.sha256 is not None and row.bytes <= _LARGEST_CODE
            contents[row.path] = workspace.read_bytes(row.path) if small else f"sha256 {row.sha256}\n".encode()
        except WorkspaceError:
            continue
    return contents


def _compare(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterable[str]:
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        yield f"diff {path}\n"
        if b"\0" in (old or b"") + (new or b""):
            yield "binary files differ\n"
            continue
        names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
        was, now = ((data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (old, new))
        for line in difflib.unified_diff(was, now, *names):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _write(path: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open_file(path, "xb") as file:
            file.write(data)
    except OSError as error:
        raise storage_error("write", path, error) from error
