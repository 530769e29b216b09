"""A place of its own for a drill, and the real command in it: as a user types it, with an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import command_server
from tests.bare import lend_python
from tests.work import wait_until

COMMAND = Path(sys.executable).parent / "pipeline"
PATIENCE = 60.0
"""Nothing here takes so long, unless it hangs."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        """The lines of error; progress and warnings are not among them."""
        return [line for line in self.err.split("\n") if line.startswith("pipeline: ")]

    def assert_failed(self, *words: str) -> None:
        """It failed as a user should see it: one line, which names all this, and no traceback."""
        assert self.code != 0, f"it ended well:\n{self.out}{self.err}"
        assert "Traceback" not in self.err + self.out, f"a traceback is printed: … {self.err[-300:]}"
        assert len(self.complaints) == 1, (
            f"it ends with {self.code}, and not with one line of complaint: … {self.err[-300:]}"
        )
        for word in words:
            assert word in self.complaints[0], f"{word!r} is not in: {self.complaints[0]}"


@dataclass(frozen=True)
class Ground:
    """One folder in which everything of a drill lies: what the command works in, its home, and its temporary files."""

    base: Path
    phases: str = ""
    """The folder of the toy phases; the real ones where there is none."""
    arguments: tuple[str, ...] = ("run", "paper.md")
    """The command of the drill. Typed again, it goes on where it stopped."""
    tools: bool = True
    """Whether git and bubblewrap may be found."""
    text: str = "# A paper\n\nIts text.\n"
    extra: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in (self.work, self.home, self.temporary, self.base / "bin"):
            folder.mkdir(parents=True, exist_ok=True)
        (self.work / "paper.md").write_text(self.text)
        lend_python(self.home)

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def temporary(self) -> Path:
        return self.base / "tmp"

    @property
    def tasks(self) -> Path:
        return self.work / "tasks"

    @property
    def task(self) -> Path:
        return self.tasks / "paper"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
        path = os.environ.get("PATH", os.defpath) if self.tools else str(self.base / "bin")
        own = {
            "PATH": path,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "LANG": "C.UTF-8",
            "PIPELINE_MUTANTS": "1",
        }
        return {**kept, **own, **({"PIPELINE_PHASES": self.phases} if self.phases else {}), **self.extra}

    def fresh(self) -> None:
        """As if nothing had ever run here."""
        for folder in (self.tasks, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
        self.temporary.mkdir()

    def call(self, *arguments: str, before: Sequence[str] = (), patience: float = PATIENCE) -> Ended:
        """Runs the command to its end. `before` is what stands before it: strace and the like.

        Without these it is forked from a process that has imported the program; `start` is a start.
        """
        if not before and command_server.fits(self.environment):
            typed = arguments or self.arguments
            try:
                told = command_server.call(typed, self.work, self.environment, patience, errors="backslashreplace")
            except subprocess.TimeoutExpired:
                raise AssertionError(f"the command hangs: {' '.join(typed)}") from None
            return Ended(*told)
        process = self.start(*arguments, before=before)
        return self.wait(process, patience=patience)

    def start(self, *arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Starts the command, in a session of its own."""
        return subprocess.Popen(
            [*before, str(COMMAND), *(arguments or self.arguments)],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,
        )

    def wait(self, process: subprocess.Popen[str], *, patience: float = PATIENCE) -> Ended:
        """The end of a command that was started. One that hangs is killed, and fails the drill."""
        try:
            out, err = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"the command hangs:\n{out}{err}") from None
        return Ended(process.returncode, out, err)


@contextmanager
def held(ground: Ground, *arguments: str, before: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
    """The command, started and inside its waiting phase (see scenes.waiting). It is let go with `let_go`."""
    signs = ground.base / "signs"
    for sign in signs.iterdir():
        sign.unlink()
    process = ground.start(*arguments, before=before)
    try:
        until(lambda: (signs / "begun").exists() or process.poll() is not None, "the waiting phase begins")
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        let_go(ground)
        if process.poll() is None:
            process.kill()
        process.communicate()


def let_go(ground: Ground) -> None:
    """Lets the waiting phase end."""
    (ground.base / "signs" / "go").touch()


def until(true: Callable[[], bool], what: str, *, patience: float = PATIENCE) -> None:
    """Waits for something that is sure to happen."""
    wait_until(true, what, patience)
