"""Read a paper in a worker process, so that a hostile file can crash, hang or exhaust only the worker."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import IO

from phases.readers.kinds import KINDS, PDF
from phases.readers.reading import (
    BROKEN,
    GARBLED,
    NO_READER,
    NO_TEXT,
    NOTHING_RECOGNIZED,
    READABLE,
    TOO_MUCH_MEMORY,
    Hidden,
    LeftOut,
    Link,
    Reading,
    installation,
)
from pipeline.base.errors import PhaseError
from pipeline.base.logs import logger
from pipeline.base.safe_tree import open_file
from pipeline.base.workers import (
    MEMORY,
    PATIENCE,
    UNCONFINED,
    WorkerStart,
    exit_code_of,
    is_starved,
    why_starved,
    worker_environment,
)

SECONDS = 18
"""Processor seconds per paper. A long book takes two."""
_SECONDS_FOR_MODELS = 1_800
"""The same for a reader that runs models locally, page by page."""
_WORKER = "phases.readers.reader_worker"
_UNCONFINED_JOBS = ("recognize", "read-by")
"""Jobs without filesystem confinement: ocrmypdf starts programs that write files, docling reads its models."""
_LONGEST_TRACEBACK = 8_000
PROGRAM = "ocrmypdf"
INSTALL = f"apt-get install {PROGRAM}, or brew install {PROGRAM}"
_SECONDS = 180
"""Processor seconds for each process of ocrmypdf, several per page."""
_NOT_INSTALLED = 127
_DIRECTORY = "recognized"
"""Directory of a task for copies with a text layer."""


@dataclass(frozen=True)
class WorkerResult:
    """Outcome of a worker."""

    code: int | None
    """Exit code, negative for a signal; None if it hung and was killed."""
    output: bytes = b""
    errors: str = ""
    """The end of its standard error, made printable: the traceback of a fault."""
    is_starved: bool = False
    """Whether a killed worker had got no processor time from the machine."""


def run_worker(arguments: Sequence[str], data: bytes, seconds: int, *, start: WorkerStart = UNCONFINED) -> WorkerResult:
    """Run a worker, which sets its own limits. The second argument is the path of the paper, the only file it can read."""
    # -I: neither the current directory nor PYTHONPATH may add modules to a process that reads hostile bytes
    argv = [sys.executable, "-I", "-m", _WORKER, *arguments, str(seconds)]
    confined = argv if arguments[0] in _UNCONFINED_JOBS else start.command(argv, arguments[1:2])
    # decision 128: the limit is processor time, and the clock only ends hanging workers. Files instead of pipes,
    # because the worker's own limit on file sizes bounds them.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            confined,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            env=worker_environment(start.environment),
            # Ctrl-C is for the run, which then ends its worker
            start_new_session=True,
        ) as worker:
            try:
                # after the start on purpose: the first log line imports loguru while the worker starts
                logger.debug("reader worker {}: {}, {} s at most", worker.pid, arguments[0], seconds)
                worker.communicate(data, timeout=seconds * PATIENCE)
            except subprocess.TimeoutExpired:
                return WorkerResult(None, is_starved=is_starved(worker.pid))
            finally:
                worker.kill()
        return WorkerResult(
            exit_code_of(worker.returncode), _read_end(output), _printable(_read_end(errors, _LONGEST_TRACEBACK))
        )


def read_in_subprocess(
    kind: str,
    path: str,
    password: str | None = None,
    address: str = "",
    *,
    reader: str = "",
    run: RunWorker = run_worker,
) -> Reading:
    """Read a file or a directory of LaTeX source; `address` is the address of its download, if any.

    `reader` is one of PDF_READERS, for PDFs only; empty means the format's own. Never raises for what is in the file: the
    verdict reports it. Raises PhaseError for a format without a reader, a reader that is not installed, and a worker of
    another installation.
    """
    if kind not in KINDS:
        raise PhaseError(f"no reader is known for the kind {kind!r}; known are {', '.join(KINDS)}")
    # both attempts share one limit: the second gets the rest of the first
    secret, began = (password or "").encode(), _cpu_seconds_of_children()
    if reader and kind == PDF:
        reading, _ = _try_reading(run, ["read-by", path, reader, address], secret, _SECONDS_FOR_MODELS)
        if reading.verdict == NO_READER:
            raise PhaseError(reading.detail)
        return reading
    reading, crashed = _try_reading(run, ["read", path, kind, address], secret, SECONDS)
    left = SECONDS - (_cpu_seconds_of_children() - began)
    if not crashed or not KINDS[kind].fallback or left <= SECONDS / 2:
        return reading
    logger.debug("the usual engine crashed ({}): read again by the plain one, {:.0f} s left", reading.detail, left)
    again, _ = _try_reading(run, ["read-plainly", path, kind, address], secret, int(left))
    return again if again.verdict in READABLE else reading


def _try_reading(run: RunWorker, arguments: list[str], secret: bytes, seconds: int) -> tuple[Reading, bool]:
    """Return the reading, and whether the worker crashed. Raises PhaseError if the machine prevented the reading."""
    result = run(arguments, secret, seconds)
    try:
        reading = _parse_answer(result.output)
        if reading.detail != TOO_MUCH_MEMORY:
            return reading, False
    except (ValueError, KeyError, TypeError):
        # it ended before it answered: the reason is determined below
        reading = None
    # decision 254: only its own processor time and memory are the paper's fault
    if why := why_starved(seconds=seconds, memory=MEMORY) or _why_not_the_paper(result, seconds):
        raise PhaseError(f"the paper could not be read: {why}")
    if reading:
        return reading, False
    if result.code is None:
        return _broken(f"reading it took more than {seconds * PATIENCE} s"), False
    if result.code == -signal.SIGXCPU:
        return _broken(f"reading it took more than {seconds} s of processor time"), False
    if result.code < 0:
        return _broken(f"reading it ended with signal {-result.code}, as damage or a trap in a file makes it end"), True
    logger.error("the reader's worker ended with exit code {}:\n{}", result.code, result.errors)
    last = result.errors.strip().rpartition("\n")[2] or "it said nothing"
    return _broken(
        f"the reader has a fault that this file brings out: {last}; please report it with its traceback"
    ), False


def _why_not_the_paper(result: WorkerResult, seconds: int) -> str:
    """Explain a failure caused by the machine, with the next step; "" if the paper caused it."""
    if result.is_starved:
        return (
            f"in {seconds * PATIENCE} s of the clock its process was not given {seconds} s of processor time, because the "
            "machine is busy; wait until it is less so"
        )
    if result.code == -signal.SIGKILL:
        return "its process was killed, as a machine does that runs out of memory; free some"
    return ""


def _parse_answer(output: bytes) -> Reading:
    """Parse the worker's output. Raises PhaseError for a worker of another installation."""
    answer = json.loads(output)
    if not isinstance(answer, dict):
        raise ValueError("no answer of a worker")
    # -I searches where packages are installed, which may differ from where the run was started
    if (other := answer.get("installation")) != installation():
        raise PhaseError(
            f"the reader that was started is not of this installation ({installation()}) but of another one ({other!r}); "
            "install this one where its Python looks, or start the other one"
        )
    row = answer["reading"]
    links, hidden = (Link(**one) for one in row["links"]), (Hidden(**one) for one in row["hidden"])
    left_out = tuple(LeftOut(**one) for one in row["left_out"])
    lists = {"pages": tuple(row["pages"]), "authors": tuple(row["authors"])}
    return Reading(**{**row, **lists, "links": tuple(links), "hidden": tuple(hidden), "left_out": left_out})


def _broken(detail: str) -> Reading:
    return Reading(BROKEN, "none", detail=detail)


def _cpu_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read_end(file: IO[bytes], most: int | None = None) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most) if most else 0)
    return file.read()


def _printable(data: bytes) -> str:
    """Remove control characters: the output may quote the paper, and is read in a terminal."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in data.decode("utf-8", "replace"))


RunWorker = Callable[[Sequence[str], bytes, int], WorkerResult]
"""Runs the worker with arguments, input and a limit in processor seconds."""


def copy_name(source_sha256: str) -> str:
    """Return the path, within its task, of a source's copy with a text layer."""
    return f"{_DIRECTORY}/{source_sha256[:16]}.pdf"


def is_scan(kind: str, reading: Reading) -> bool:
    """Return whether recognizing its letters may help."""
    return kind == PDF and reading.verdict in (NO_TEXT, GARBLED)


def read_copy(path: str, *, reader: str = "", run: RunWorker = run_worker) -> Reading:
    """Read a copy made by `recognize_letters`; the reading names the program that recognized the text."""
    reading = read_in_subprocess(PDF, path, reader=reader, run=run)
    if reading.verdict not in READABLE:
        return replace(reading, detail=NOTHING_RECOGNIZED) if is_scan(PDF, reading) else reading
    return replace(reading, recognized_by=PROGRAM)


def recognize_letters(path: str, *, run: RunWorker = run_worker) -> bytes:
    """Make a copy of a PDF with a text layer recognized by ocrmypdf. Raises PhaseError if ocrmypdf fails."""
    with tempfile.TemporaryDirectory() as directory:
        copy = os.path.join(directory, "copy.pdf")
        result = run(["recognize", os.path.abspath(path), copy], b"", _SECONDS)
        if result.code == _NOT_INSTALLED:
            raise PhaseError(f"{PROGRAM} is not installed, and --ocr needs it; install it ({INSTALL})")
        if result.code != 0 or not os.path.isfile(copy) or os.path.islink(copy):
            how = "took too long" if result.code is None else f"ended with code {result.code}"
            last = result.errors.strip().rpartition("\n")[2]
            raise PhaseError(f"ocrmypdf could not make a text layer: it {how}{f' ({last})' if last else ''}")
        with open_file(copy) as file:
            return file.read()
