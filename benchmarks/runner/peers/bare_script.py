"""The script that needs no engine: a loop over the steps that leaves out those already done.

Usage: ``BENCH_DIR=<task directory> python bare_script.py plain|atomic|checked``

plain    files are written in place; a step is done when its document can be read
atomic   the same, but a file is written beside its place, synced and renamed, and its folder synced
checked  atomic, and every document is checked against a JSON Schema when it is written and when it is read;
         state.json, written the same way after every step, tells a reader how far the task is (what is done is
         decided by the documents)
"""

import os
import sys
from collections.abc import Callable

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import workload

HASH = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
ITEM = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "path": {"type": "string"},
        "lines": {"type": "integer"},
        "ok": {"type": "boolean"},
        "score": {"type": "number"},
    },
    "required": ["id", "path", "lines", "ok", "score"],
    "additionalProperties": False,
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "step": {"type": "integer"},
        "name": {"type": "string"},
        "status": {"const": "done"},
        "previous": HASH,
        "items": {"type": "array", "items": ITEM, "minItems": workload.ITEMS, "maxItems": workload.ITEMS},
        "notes": {"type": "string"},
    },
    "required": ["step", "name", "status", "previous", "items", "notes"],
    "additionalProperties": False,
}


def atomic_write(path: str, content: bytes) -> None:
    """Replace a file so that even after a power cut either the old or the new one is there, whole."""
    temporary = f"{path}.tmp"
    workload.plain_write(temporary, content, sync=True)
    os.replace(temporary, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def run(
    directory: str,
    write: Callable[[str, bytes], None] = workload.plain_write,
    read: Callable[[str, int], bytes] = workload.read_step,
    note: Callable[[int], None] = lambda _: None,
) -> None:
    """Run the steps that are not done, and note each one that is."""
    for step in range(1, workload.STEPS + 1):
        try:
            read(directory, step)
        except (OSError, ValueError):
            workload.run_step(step, directory, write, read)
            note(step)


def run_checked(directory: str) -> None:
    """Run the steps with every document checked and the state on disk."""
    import json

    import jsonschema

    validator = jsonschema.Draft202012Validator(SCHEMA)
    state_path = os.path.join(directory, "state.json")

    def check(content: bytes) -> None:
        error = next(validator.iter_errors(json.loads(content)), None)
        if error is not None:
            raise ValueError(error.message)

    def read(folder: str, step: int) -> bytes:
        content = workload.read_step(folder, step)
        check(content)
        return content

    def write(path: str, content: bytes) -> None:
        if path.endswith(".json"):
            check(content)
        atomic_write(path, content)

    def note(step: int) -> None:
        atomic_write(state_path, json.dumps({"completed": step, "steps": workload.STEPS}).encode())

    run(directory, write, read, note)


def main(arguments: list[str]) -> int:
    """Run the workload in the mode that was asked for."""
    match arguments:
        case ["plain"]:
            run(workload.task_directory())
        case ["atomic"]:
            run(workload.task_directory(), atomic_write)
        case ["checked"]:
            run_checked(workload.task_directory())
        case _:
            print("usage: bare_script.py plain|atomic|checked", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
