"""Import modules of a workspace, one after another, and print a line of JSON for each.

    import_modules.py PATHS SECONDS

PATHS is a JSON list of Python files. A line is {path, error, missing}: `error` is empty if the module could be imported under
one of its names, ended the process by sys.exit, asked for a file, an argument or input that is not there, or ran longer than
SECONDS; `missing` is the module that could not be found, if that was the error.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Iterator

_HARMLESS = (SystemExit, KeyboardInterrupt, OSError, EOFError)
_LONGEST = 1500


def main(paths: list[str], seconds: float) -> None:
    """Import in one process as long as it lives; after a crash or a hang, the rest in a new one."""
    left = list(paths)
    while left:
        for row in _import_in_child(left, seconds):
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
            left.remove(row["path"])


def _import_in_child(paths: list[str], seconds: float) -> Iterator[dict[str, str]]:
    """Yield the results of a child process, up to the first module that ends it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _become_importer(paths, write)
    os.close(write)
    lines = b""
    for path in paths:
        while b"\n" not in lines:
            is_ready = bool(select.select([read], [], [], seconds)[0])
            more = os.read(read, 65536) if is_ready else b""
            if not more:
                os.close(read)
                yield {"path": path, "error": _end_child(child), "missing": ""}
                return
            lines += more
        line, _, lines = lines.partition(b"\n")
        yield json.loads(line)
    os.close(read)
    os.waitpid(child, 0)


def _end_child(child: int) -> str:
    """End a child that hangs or has ended; return what is wrong with the module that it imported last."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    crashed = os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL
    return f"signal {os.WTERMSIG(status)} ended the process" if crashed else ""


def _become_importer(paths: list[str], write: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    for path in paths:
        sys.argv = [path]
        error, missing = _import_file(path)
        os.write(write, (json.dumps({"path": path, "error": error[-_LONGEST:], "missing": missing}) + "\n").encode())
    os._exit(0)


def _import_file(path: str) -> tuple[str, str]:
    """Return the error and the missing module of the last name that was tried; both empty after a success."""
    error, missing = "", ""
    for root, name in _names_of(path):
        before = list(sys.path)
        sys.path.insert(0, os.path.abspath(root))
        try:
            importlib.import_module(name)
        except _HARMLESS:
            return "", ""
        except BaseException as fault:  # noqa: BLE001 - code of a stranger may raise anything
            if _asks_caller(fault):
                return "", ""
            found = fault.name or "" if isinstance(fault, ModuleNotFoundError) else ""
            # Under another name it may be found; a fault of the code itself is the same under each.
            if not error or missing:
                error, missing = "".join(traceback.format_exception(fault, limit=-3)).strip(), found
        else:
            return "", ""
        finally:
            sys.path[:] = before
    return error, missing


def _asks_caller(fault: BaseException) -> bool:
    """Return whether a script failed for want of an argument or a variable of its environment."""
    lines = [frame.line or "" for frame in traceback.extract_tb(fault.__traceback__)]
    return isinstance(fault, (LookupError, ValueError)) and any(
        "sys.argv" in line or "environ" in line for line in lines
    )


def _names_of(path: str) -> Iterator[tuple[str, str]]:
    """Yield the directories from which a file may be imported, each with its dotted name there."""
    parts = path.removesuffix(".py").split("/")
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    first = [1, 0] if parts[0] in ("src", "lib") else [0]
    for start in dict.fromkeys([*first, *range(1, len(parts))]):
        if parts[start:] and all(part.isidentifier() for part in parts[start:]):
            yield "/".join(parts[:start]) or ".", ".".join(parts[start:])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), float(sys.argv[2]))
