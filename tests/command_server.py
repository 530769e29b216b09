"""One process that has imported the program and forks itself for each command: a command of a test costs a fork, not a start.

Each command is still a process of its own, with its own directory, environment, output and exit code, and ends by os._exit.
What a start of Python is needed for (signals, closed streams, what is imported) is started: `Command.start`.
"""

from __future__ import annotations

import array
import atexit
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PAPER = """# Waiting

## 1 Method

We propose Slow Waiting (SW), which waits and then answers. We minimize the cross-entropy loss of the waiter. We use a
learning rate of 0.1, and train for 5 epochs with Adam on the Lobby data set; the batch size is 32 and the momentum 0.9. It
has 3 layers of 64 units. We compare with the Hurry baseline and report the accuracy.

Algorithm 1: Wait

$$ y = x + 1 $$

```
for step in steps: wait
```

| Model | Accuracy | Learning rate |
|---|---|---|
| SW | 0.9 | 0.1 |

Table 1: Results of waiting

## References

[1] A. Author. On time. 1999. https://github.com/example/waiting
"""
"""Has what the patterns of most plans look at."""
WARM = "C.UTF-8"
"""The language of the server. A command in another one, or with settings of Python's own, needs a start."""


def fits(environment: Mapping[str, str]) -> bool:
    """Whether a fork means the same as a start in this environment."""
    return environment.get("LANG") == WARM and not any(
        name.startswith(("PYTHON", "LC_", "LD_")) for name in environment
    )


def call(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float, *, errors: str = "strict"
) -> tuple[int, str, str]:
    """Runs a command in a fork of the server: its exit code, what it printed, and its complaints.

    `errors` says what becomes of bytes that are no UTF-8, as in `bytes.decode`.
    """
    with open(os.devnull, "rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with begin(arguments, folder, environment, [nothing.fileno(), out.fileno(), err.fileno()]) as command:
            code = command.wait(seconds)
        return code, _content(out.fileno(), errors), _content(err.fileno(), errors)


class Begun:
    """A command that runs in a fork of the server."""

    def __init__(self, line: socket.socket, arguments: Sequence[str]) -> None:
        self._line, self._arguments = line, arguments

    def __enter__(self) -> Begun:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def wait(self, timeout: float) -> int:
        """Its exit code. Raises subprocess.TimeoutExpired where it takes longer than these seconds, and kills it then."""
        self._line.settimeout(timeout)
        with self._line.makefile() as reply:
            pid = int(reply.readline())
            try:
                return int(reply.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired([*self._arguments], timeout) from None


def begin(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], streams: Sequence[int]) -> Begun:
    """Begins a command on these descriptors for input, output and complaints; in a session of its own on a terminal."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(_server())
    noting = {name: value for name, value in os.environ.items() if name.startswith("MUTANTS_")}
    request = json.dumps([list(arguments), str(folder), {**environment, **noting}]).encode()
    line.sendmsg([len(request).to_bytes(8)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))])
    line.sendall(request)
    return Begun(line, arguments)


def _content(descriptor: int, errors: str) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), encoding="utf-8", errors=errors) as file:
        return file.read()


@cache
def _server() -> str:
    """The address of this process's server, which is started now and ends with this process."""
    folder = tempfile.mkdtemp(prefix="commands-")
    address = f"{folder}/server"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.command_server", address],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "LANG": WARM, "HOME": folder},
        stdin=subprocess.PIPE,  # it is closed when this process ends, however that happens
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    atexit.register(_end, process, folder)
    return address


def _end(process: subprocess.Popen[bytes], folder: str) -> None:
    process.kill()
    process.communicate()
    Path(folder, "server").unlink(missing_ok=True)
    Path(folder).rmdir()


def _serve(address: str) -> None:
    """Forks for each connection, until stdin is closed. The first fork starts the command in another one and tells its end."""
    import select

    _import_everything()
    _try_sandbox()
    _plan_something()
    gc.collect()
    gc.freeze()  # the collector of a fork leaves alone what it shares with this process
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    os.write(1, b"ready\n")
    while True:
        ready, _, _ = select.select([listener.fileno(), 0], [], [])
        if 0 in ready:
            return
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                _answer(line)
            finally:
                os._exit(1)
        line.close()


def _answer(line: socket.socket) -> None:
    head, streams, _, _ = line.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    descriptors = array.array("i", streams[0][2])
    with line.makefile("rb") as reader:
        arguments, folder, environment = json.loads(reader.read(int.from_bytes(head)))
    pid = os.fork()
    if pid == 0:
        line.close()
        _become(arguments, folder, environment, descriptors)
    line.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    line.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(arguments: list[str], folder: str, environment: dict[str, str], streams: Sequence[int]) -> None:
    """Makes this process the command."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.closerange(3, 64)
    if os.isatty(0):
        os.setsid()
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # as Python does at a start there
    os.chdir(folder)
    sandbox = shutil.which("bwrap")
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # TMPDIR is another one now
    if shutil.which("bwrap") != sandbox:
        _forget_sandbox()
    sys.argv = [str(Path(sys.executable).with_name("pipeline")), *arguments]
    sys.path.pop(0)  # the folder of the project: the program is installed, and its start has no such place
    from pipeline.cli import main

    if "MUTANTS_COVERAGE" in environment:
        from scripts.mutants_plugin import start

        start(environment["MUTANTS_CONTEXT"])
    try:
        main(arguments)
    finally:
        os._exit(70)


def _try_sandbox() -> None:
    """The forks know which sandbox the machine has: to try it out starts five programs."""
    from phases.sandbox.probe import probe_best

    probe_best()


def _plan_something() -> None:
    """The forks have the patterns compiled that a plan needs."""
    from phases.planning.rules import plan_by_rules
    from phases.readers.markdown import paper_document
    from phases.readers.outline import outline_of
    from phases.readers.segments import segments_of
    from phases.readers.text import read_text

    document = paper_document(read_text(_PAPER.encode(), markdown=True), "0" * 64, "md")
    outline = outline_of(document)
    segments_of(document.text, outline)
    plan_by_rules(document.text, outline, [], body_start=document.body_start)


def _forget_sandbox() -> None:
    """Where another bubblewrap is found, or none, a command tries for itself."""
    from phases.sandbox.probe import probe_kind

    probe_kind.cache_clear()


def _there(name: str) -> list[str]:
    return [name] if find_spec(name) else []


def _import_everything() -> None:
    import pkgutil
    from importlib import import_module

    import phases
    import pipeline

    for package in (pipeline, phases):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if (
                not module.name.endswith(("__main__", ".reader_worker", ".child", ".matcher"))
                and ".inside." not in module.name
            ):
                import_module(module.name)
    for name in ("jsonschema_rs", "loguru", "yaml", *_there("openai")):  # the program imports these where it needs them
        import_module(name)
    sysconfig.get_config_vars()


if __name__ == "__main__":
    _serve(sys.argv[1])
