"""Ten file-to-file steps, the same for every program that is measured.

Step N reads ``step_<N-1>.json`` of a task directory and writes ``step_N.json``, which carries the sha256 of the
bytes it read.  Every document is 2 KB; step 2 also writes a plan of 60 KB.  The work in a step is next to nothing,
so what a program takes is what it spends on running steps.

Two environment variables, read once at import:

BENCH_KILL_AT  number of a step: half of its document is written, then this process group gets SIGKILL.
               Start the program as the leader of its own process group (and session) when this is set.
BENCH_TRACE    file to which every step appends ``<time_ns> start <step>`` and ``<time_ns> end <step>``.

As a program: ``workload.py run STEP DIRECTORY`` runs one step, ``workload.py check DIRECTORY`` exits 0 when the
directory holds the whole chain.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable

STEPS = 10
PLAN_STEP = 2
DOCUMENT_BYTES = 2048
PLAN_BYTES = 60 * 1024
ITEMS = 16

_KILL_AT = os.environ.get("BENCH_KILL_AT", "")
_TRACE = os.environ.get("BENCH_TRACE", "")


def step_path(directory: str, step: int) -> str:
    """Return where a step's document lies."""
    return os.path.join(directory, f"step_{step}.json")


def plan_path(directory: str) -> str:
    """Return where the plan lies."""
    return os.path.join(directory, "plan.md")


def document(step: int, previous: bytes) -> dict[str, object]:
    """Build a step's document from the bytes of the one before it (no bytes for the first step)."""
    content: dict[str, object] = {
        "step": step,
        "name": f"stage-{step}",
        "status": "done",
        "previous": hashlib.sha256(previous).hexdigest(),
        "items": [_item(number) for number in range(ITEMS)],
        "notes": "",
    }
    content["notes"] = "." * (DOCUMENT_BYTES - len(encode(content)))
    return content


def _item(number: int) -> dict[str, object]:
    """Build one of a document's items."""
    return {
        "id": f"item-{number}",
        "path": f"package/part_{number}.py",
        "lines": 40 + 7 * number,
        "ok": number % 5 != 4,
        "score": number / 4,
    }


def encode(content: dict[str, object]) -> bytes:
    """Turn a document into the bytes that go to disk."""
    return json.dumps(content).encode()


def plan_text() -> str:
    """Return 60 KB of Markdown."""
    lines = ["# What is to be done", ""]
    size = sum(len(line) + 1 for line in lines)
    while size < PLAN_BYTES:
        lines.append(f"{len(lines) - 1}. Open part {len(lines) % ITEMS}, change what the review asks for, test it.")
        size += len(lines[-1]) + 1
    return "\n".join(lines)[: PLAN_BYTES - 1] + "\n"


def plain_write(path: str, content: bytes, sync: bool = False) -> None:
    """Write a whole file in place, with an fsync where asked for."""
    doomed = bool(_KILL_AT) and os.path.basename(path).startswith(f"step_{_KILL_AT}.json")
    with open(path, "wb") as file:
        file.write(content[: len(content) // 2] if doomed else content)
        if doomed:
            file.flush()
            _kill_own_group()
        if sync:
            file.flush()
            os.fsync(file.fileno())


def _kill_own_group() -> None:
    """Send SIGKILL to every process of this process group, this one included."""
    import signal

    os.killpg(0, signal.SIGKILL)


def read_step(directory: str, step: int) -> bytes:
    """Return the bytes of a step's document; raise ValueError where they are not a document of that step."""
    with open(step_path(directory, step), "rb") as file:
        content = file.read()
    if json.loads(content).get("step") != step:
        raise ValueError(f"{step_path(directory, step)} is not the document of step {step}")
    return content


def run_step(
    step: int,
    directory: str,
    write: Callable[[str, bytes], None] = plain_write,
    read: Callable[[str, int], bytes] = read_step,
) -> None:
    """Run one step: read the document before it, write its own.

    A writer that puts its bytes elsewhere first and then calls ``plain_write`` keeps the file's name as the
    beginning of the temporary one, so that BENCH_KILL_AT strikes there.
    """
    trace("start", step)
    previous = read(directory, step - 1) if step > 1 else b""
    content = encode(document(step, previous))
    if step == PLAN_STEP:
        write(plan_path(directory), plan_text().encode())
    write(step_path(directory, step), content)
    trace("end", step)


def trace(event: str, step: int) -> None:
    """Append one line to the trace, where there is one."""
    if not _TRACE:
        return
    descriptor = os.open(_TRACE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{time.time_ns()} {event} {step}\n".encode())
    finally:
        os.close(descriptor)


def is_complete(directory: str) -> bool:
    """Tell whether a directory holds every document, each made from the one before it, and the plan."""
    previous = b""
    try:
        for step in range(1, STEPS + 1):
            with open(step_path(directory, step), "rb") as file:
                found = file.read()
            if found != encode(document(step, previous)):
                return False
            previous = found
        with open(plan_path(directory), "rb") as file:
            return file.read() == plan_text().encode()
    except OSError:
        return False


def task_directory() -> str:
    """Return the task directory that BENCH_DIR names, made where it is missing."""
    directory = os.path.abspath(os.environ["BENCH_DIR"])
    os.makedirs(directory, exist_ok=True)
    return directory


def main(arguments: list[str]) -> int:
    """Run one step, or check a directory."""
    match arguments:
        case ["run", step, directory]:
            run_step(int(step), directory)
            return 0
        case ["check", directory]:
            return 0 if is_complete(directory) else 1
    print("usage: workload.py run STEP DIRECTORY | check DIRECTORY", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
