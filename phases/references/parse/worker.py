"""Parse hostile files one after the other, in a process that may crash or be killed at any time."""

from __future__ import annotations

import ctypes
import gc
import resource
import signal
import sys
import warnings
from typing import BinaryIO

from phases.references.parse.ipc import GIVEN_UP, READY, pack_answer, read_request
from phases.references.parse.model import Parsed
from phases.references.parse.source_code import parse_code
from pipeline.base.workers import MEMORY, lower_limit

_PR_SET_PDEATHSIG = 1
_COLLECT_EVERY = 200


def run_worker() -> None:
    """Answer the requests on standard input until it ends."""
    seconds = int(sys.argv[1])
    _set_limits()
    warnings.simplefilter("ignore")
    gc.disable()  # trees of syntax are no cycles: collecting while one is made costs a third of the time
    answer_requests(sys.stdin.buffer, sys.stdout.buffer, seconds)


def answer_requests(requests: BinaryIO, answers: BinaryIO, seconds: int) -> None:
    """Read files from one stream, and write their parsed form to the other."""
    answers.write(READY + b"\n")
    answers.flush()
    count = 0
    while request := read_request(requests):
        _allow_seconds(seconds)
        answers.write(build_answer(*request, count))
        answers.flush()
        count += 1
        if count % _COLLECT_EVERY == 0:
            gc.collect()


def build_answer(language: str, data: bytes, number: int) -> bytes:
    """Return the answer line for one file."""
    try:
        return pack_answer(parse_code(language, data), number)
    except MemoryError:
        fault = GIVEN_UP + "parsing it takes more memory than a file may"
        return pack_answer(Parsed(data.count(b"\n") + 1, fault=fault), number)


def _set_limits() -> None:
    """From here on this process has a GiB of memory, writes no file, and dies with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # one file that swells may cost itself alone (decision 108)
    lower_limit(resource.RLIMIT_AS, MEMORY)
    lower_limit(resource.RLIMIT_CORE, 0)
    lower_limit(resource.RLIMIT_FSIZE, 0)


def _allow_seconds(seconds: int) -> None:
    """So much more processor time for the next file: where it is used up, SIGXCPU ends this process."""
    # processor time, not the clock: a busy machine is no fault of the file (decision 128)
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = int(used.ru_utime + used.ru_stime) + seconds + 1
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (allowed if hard == resource.RLIM_INFINITY else min(allowed, hard), hard))


if __name__ == "__main__":
    run_worker()
