"""Run one experiment in the sandbox, without plan and paper, and keep its results. Finished experiments are not run again."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from phases.reproduction.declared import Experiment
from phases.sandbox.box import Box, limits_from, with_machine
from phases.sandbox.commands import run_command
from phases.sandbox.devices import parse_data, variable_of
from phases.workspace.data_sets import Provided
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.errors import StorageError
from pipeline.base.files import make_directory, read_bytes, sha256, storage_error, sync_tree, write_durable
from pipeline.base.formats import dump_json, dump_json_line, parse_json
from pipeline.base.logs import logger
from pipeline.base.safe_tree import open_file, read_beneath, walk_files

RESULTS, DATA = "results", "data"
LABELS = "labels"
"""Directory of --held-out that no experiment sees."""
DONE, FAILED, NOT_RUN = "done", "failed", "not run"
_LARGEST_CODE = 2 * 2**20
_LARGEST_GIVEN = 2**31
_LARGEST_TABLE = 64 * 2**20
_LARGEST_KEPT, _MOST_KEPT = 256 * 2**20, 2**30
_MOST_FILES = 1000
_TESTS = ("tests", "test", "docs")
_TEXTS = (".md", ".rst", ".tex", ".bib")


class Place(NamedTuple):
    """Directories and limits for the experiments of one task."""

    results: str
    """The directory that keeps everything, `results` in the task."""
    kind: str
    """Kind of sandbox."""
    python: str | None
    readable: tuple[str, ...]
    seconds: float
    """Time limit of one experiment."""
    held_out: str
    """The user's data, at data/ for experiments without its directory of labels; empty: none."""
    in_place: Callable[[], None]
    settings: Mapping[str, Any] = MappingProxyType({})
    """What the user permits commands to see and use: data, gpu, command_memory_gb."""
    provided: Provided = Provided("")
    """The data sets of the plan and of --data."""


class Run(NamedTuple):
    """Outcome of an experiment."""

    status: str
    why: str
    seconds: float = 0.0
    log: str = ""
    """A path in the task."""
    files: tuple[Mapping[str, Any], ...] = ()
    """path in the task, bytes, sha256 of each."""
    directory: str = ""
    """Directory of the files; empty if there are none."""


def collect_code(workspace: Workspace, leave_out: Sequence[str]) -> dict[str, bytes]:
    """Return the files for experiments by path: text, without tests, documentation and what was left out.

    Experiments cannot take figures from files that they cannot read; all others are searched for figures, so they have to be
    text.
    """
    files: dict[str, bytes] = {}
    for row in workspace.digests():
        parts = row.path.split("/")
        is_test = (
            parts[-1].startswith("test_") or parts[-1].endswith("_test.py") or any(p in _TESTS for p in parts[:-1])
        )
        left_out = any(
            row.path == name.rstrip("/") or row.path.startswith(f"{name.rstrip('/')}/") for name in leave_out
        )
        if is_test or left_out or parts[-1].lower().endswith(_TEXTS) or parts[0] in (RESULTS, DATA, ".pipeline"):
            continue
        if row.sha256 is None or row.bytes > _LARGEST_CODE:
            continue
        try:
            data = workspace.read_bytes(row.path)
        except WorkspaceError:
            continue
        if b"\0" not in data and data.decode("utf-8", "ignore").encode() == data:
            files[row.path] = data
    return files


def run_experiment(experiment: Experiment, size: str, code: Mapping[str, bytes], place: Place) -> Run:
    """Run an experiment, or return the result of an earlier run on the same input. Raises StorageError."""
    if not experiment.command:
        return Run(NOT_RUN, f"the code has no {size} size of {experiment.name}")
    given = {folder.variable for folder in parse_data(str(place.settings.get("data") or ""))}
    if missing := [name for name in experiment.data if variable_of(name) not in given]:
        return Run(NOT_RUN, "; ".join(map(place.provided.why_missing, missing)))
    home = os.path.join(place.results, f"{experiment.name}-{size}")
    _refuse_links(place.results, home)
    key = _key_of(experiment, code, place)
    if kept := _read_kept(home, key):
        logger.info("experiment {} is done already", experiment.name)
        return kept
    place.in_place()
    work = _prepare_directory(home, code, place)
    own = os.path.join(work, DATA)
    box = Box(work, place.kind, place.readable, place.python, limits_from(place.settings), read_only=(own,))
    box = with_machine(box, place.settings)
    spelled = {variable_of(name): name for name in experiment.data}  # as the code looks for it
    box = box._replace(data=tuple(each._replace(name=spelled.get(each.variable, each.name)) for each in box.data))
    logger.info("experiment {} runs: {}", experiment.name, experiment.command)
    began = time.monotonic()
    ended = run_command(
        box, experiment.command, seconds=place.seconds, variables={"PIPELINE_EXPERIMENT": experiment.name}
    )
    seconds = time.monotonic() - began
    files, why = _keep_files(work, home)
    write_durable(os.path.join(home, "log.txt"), ended.output.encode("utf-8", "replace"))
    shutil.rmtree(work, ignore_errors=True)
    if ended.exit_code is None and not ended.limit:
        return Run(NOT_RUN, " ".join(ended.output.split())[:300])  # nothing ran, so a later run may
    status = DONE if ended.exit_code == 0 and not why else FAILED
    why = why or ("" if status == DONE else _describe_end(ended.exit_code, ended.limit, ended.output))
    row = {"key": key, "status": status, "why": why, "seconds": round(seconds, 2), "files": files}
    sync_tree(home)
    write_durable(os.path.join(home, "run.json"), dump_json(row))
    return _run_of(row, home)


def _refuse_links(*paths: str) -> None:
    """Raise StorageError if a directory is a link; a task may come from elsewhere."""
    for path in paths:
        if os.path.islink(path):
            raise StorageError(f"{path} is a link; results must be in the task itself: remove the link")


def _describe_end(code: int | None, limit: str | None, output: str) -> str:
    last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
    how = f"it was stopped at a limit: {limit}" if limit else f"it ended with exit code {code}"
    return f"{how}: {' '.join(last.split())[:200]}" if last else how


def _key_of(one: Experiment, code: Mapping[str, bytes], place: Place) -> str:
    """Of all that a result follows from: with another one it is run again."""
    try:
        given = {name: _digest_of_file(place.held_out, name) for name in _given_files(place.held_out)}
    except OSError as error:
        raise storage_error("read", place.held_out, error) from error
    files = {path: sha256(data) for path, data in sorted(code.items())}
    # only what was set: what ran before there were such settings is still done
    seen = [
        f"{name} {place.settings[name]}"
        for name in ("data", "gpu")
        if place.settings.get(name) not in (None, "", "none")
    ]
    return sha256(dump_json_line([one.command, files, given, place.kind, (place.python or "").split("/")[-2:], *seen]))


def _read_kept(home: str, key: str) -> Run | None:
    """Return what an experiment gave, where it ended well and every file is still as it was."""
    try:
        row = parse_json(read_bytes(os.path.join(home, "run.json")))
        same = (
            row["status"] == DONE
            and row["key"] == key
            and all(_digest_of_file(home, f"files/{f['path']}") == f["sha256"] for f in row["files"])
        )
        return _run_of(row, home) if same and os.path.isfile(os.path.join(home, "log.txt")) else None
    except (StorageError, OSError, ValueError, KeyError, TypeError):
        return None


def _run_of(row: Mapping[str, Any], home: str) -> Run:
    own = f"{RESULTS}/{os.path.basename(home)}"
    files = tuple({**file, "path": f"{own}/files/{file['path']}"} for file in row["files"])
    directory = os.path.join(home, "files")
    return Run(row["status"], row["why"], float(row["seconds"]), f"{own}/log.txt", files, directory)


def _prepare_directory(home: str, code: Mapping[str, bytes], place: Place) -> str:
    """Make a new directory with the code and the user's data."""
    shutil.rmtree(home, ignore_errors=True)
    work = os.path.join(home, "work")
    try:
        for path, data in code.items():
            _write(os.path.join(work, *path.split("/")), data)
        for path in _given_files(place.held_out):
            _write(os.path.join(work, DATA, *path.split("/")), read_beneath(place.held_out, path, _LARGEST_GIVEN))
        for name in (RESULTS, DATA):
            os.makedirs(os.path.join(work, name), exist_ok=True)
    except OSError as error:
        raise storage_error("write", work, error) from error
    return work


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open_file(path, "xb") as file:
        file.write(data)


def _given_files(held_out: str) -> list[str]:
    """Return the user's files that experiments may see."""
    if not held_out:
        return []
    try:
        entries = [(each.path, each.is_regular()) for each in walk_files(held_out)]
    except OSError as error:
        raise storage_error("read", held_out, error) from error
    return [path for path, is_regular in entries if is_regular and path.split("/")[0] != LABELS]


def read_given_tables(held_out: str) -> dict[str, bytes]:
    """Return the tables among the user's files, by their path in an experiment's directory."""
    names = [name for name in _given_files(held_out) if name.endswith((".csv", ".tsv"))]
    tables: dict[str, bytes] = {}
    for name in names:
        with suppress(OSError):
            tables[f"{DATA}/{name}"] = read_beneath(held_out, name, _LARGEST_TABLE)
    return tables


def _digest_of_file(root: str, path: str) -> str:
    return sha256(read_beneath(root, path, _LARGEST_GIVEN))


def _keep_files(work: str, home: str) -> tuple[list[dict[str, Any]], str]:
    """Move an experiment's files from results/; return why if that fails."""
    target, kept, total = os.path.join(home, "files"), list[dict[str, Any]](), 0
    make_directory(target)
    source = os.path.join(work, RESULTS)
    try:
        paths = [entry.path for entry in walk_files(source) if entry.is_regular()]
        if len(paths) > _MOST_FILES:
            return [], f"it left {len(paths):,} files below {RESULTS}/, and at most {_MOST_FILES:,} are kept"
        for path in paths:
            data = read_beneath(source, path, _LARGEST_KEPT)
            total += len(data)
            if total > _MOST_KEPT:
                return kept, f"it left more than {_MOST_KEPT >> 20:,} MiB below {RESULTS}/"
            _write(os.path.join(target, *path.split("/")), data)
            kept.append({"path": path, "bytes": len(data), "sha256": sha256(data)})
    except OSError as error:
        return kept, f"what it left below {RESULTS}/ cannot be read: {error}"
    return kept, ""
