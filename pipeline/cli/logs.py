"""`pipeline logs`: print a task's log, once or as it grows."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

import click

from pipeline.base.errors import StorageError
from pipeline.base.files import storage_error
from pipeline.base.safe_tree import open_file
from pipeline.cli.arguments import task_or_newest, tasks_dir_option
from pipeline.cli.assembly import open_task, settings_from
from pipeline.cli.output import print_text
from pipeline.cli.streams import reader_left
from pipeline.engine.lock import holder_of

_POLL = 0.2
_LONGEST_LINE = 16 * 1024 * 1024


@click.command("logs")
@task_or_newest
@click.option(
    "-f", "--follow", is_flag=True, help="Keep printing while the task runs, and what models say as they say it."
)
@click.option("-v", "--verbose", is_flag=True, help="Print DEBUG lines too: why each decision was made.")
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print the lines as they are, one JSON object each.")
def logs_command(task: str | None, follow: bool, verbose: bool, tasks_dir: str | None, as_json: bool) -> None:
    """Print the log of a task; without ID, of the newest.

    \b
    pipeline logs paper -f
    pipeline logs paper -v
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    path = store.path("logs/system.jsonl")
    log = _open_log(path)
    if log is None:
        print_text("no log yet")
        return
    with log as file, _Words(store.path("logs/words.jsonl")) as words:
        while True:
            at_work = follow and holder_of(store.root)
            for line in _new_lines(file, path):
                _print_line(line, verbose=verbose, as_json=as_json)
            for line in () if as_json else words.new_lines():
                _print_words(line)
            sys.stdout.flush()
            if not at_work or reader_left():
                return
            time.sleep(_POLL)


class _Words:
    """New words of the models. The file starts again with each run, and when it became too long."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = _open_log(path)
        if self._file:
            self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> _Words:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def new_lines(self) -> Iterator[bytes]:
        self._file = self._file or _open_log(self._path)
        if self._file is None:
            return
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)
        yield from _new_lines(self._file, self._path)


def _open_log(path: str) -> BinaryIO | None:
    """Open a log, or return None if there is none yet. Raises StorageError for anything but a regular file."""
    try:
        return open_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error("read", path, error) from error


def _new_lines(file: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield the lines from here to the end. Raises StorageError for a line without end, as a sparse file has."""
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise StorageError(
                f"{path} has a line of more than {_LONGEST_LINE:,} bytes, which a log does not have; remove it"
            )
        yield line


def _print_words(line: bytes) -> None:
    with suppress(ValueError, KeyError, TypeError):  # a line that is half there is of no use to anybody
        row = json.loads(line)
        print_text(f"{row['who']:<9} | {row['text']}")


def _print_line(line: bytes, *, verbose: bool, as_json: bool) -> None:
    text = line.decode("utf-8", "replace").rstrip("\n")
    if not as_json:
        try:
            row = json.loads(text)
            if row["level"] in ("DEBUG", "TRACE") and not verbose:
                return
            text = f"{row['at'][11:19]} {row['level']:<7} {row['message']}" + (
                f"\n{row['traceback']}" if "traceback" in row else ""
            )
        except (ValueError, KeyError, TypeError):
            text = f"(damaged line) {text}"
    print_text(text)
