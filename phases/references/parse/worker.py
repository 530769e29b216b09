"""The process that parses strangers' files, one after the other. It may crash or be killed at any time."""

from __future__ import annotations

import ctypes
import gc
import resource
import signal
import sys
import warnings
from typing import BinaryIO

from phases.references.parse.ipc import GIVEN_UP, LENGTHS, pack_answer, pack_message, parse_header
from phases.references.parse.model import Parsed
from phases.references.parse.source_code import parse_code

MEMORY = 1024**3
_PR_SET_PDEATHSIG = 1
_COLLECT_EVERY = 200


def run_worker() -> None:
    """Answers frames with a file in each until there are no more."""
    seconds = int(sys.argv[1])
    _set_limits()
    warnings.simplefilter("ignore")
    gc.disable()  # trees of syntax are no cycles: collecting while one is made costs a third of the time
    sys.stdout.buffer.write(pack_message({"ready": True}))
    sys.stdout.buffer.flush()
    answer_requests(sys.stdin.buffer, sys.stdout.buffer, seconds)


def answer_requests(questions: BinaryIO, answers: BinaryIO, seconds: int) -> None:
    """Reads files from one stream, writes what they hold to the other."""
    count = 0
    while lengths := questions.read(LENGTHS.size):
        head_size, body_size = LENGTHS.unpack(lengths)
        head = parse_header(questions.read(head_size))
        data = questions.read(body_size)
        _allow_seconds(seconds)
        answers.write(_parse_answer(str(head["language"]), data, count))
        answers.flush()
        count += 1
        if count % _COLLECT_EVERY == 0:
            gc.collect()


def _parse_answer(language: str, data: bytes, number: int) -> bytes:
    try:
        return pack_answer(parse_code(language, data), number)
    except MemoryError:
        return pack_answer(
            Parsed(data.count(b"\n") + 1, fault=GIVEN_UP + "parsing it takes more memory than a file may"), number
        )


def _set_limits() -> None:
    """From here on this process has a GiB of memory, writes no file, and dies with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _allow_seconds(seconds: int) -> None:
    """So much more processor time for the next file: where it is used up, SIGXCPU ends this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = int(used.ru_utime + used.ru_stime) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    run_worker()
