"""Scripted models on a simulated workspace: each goes wrong in one way, and may do the right work once it is told something."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from phases.supervision.bridge import SupervisorBridge
from phases.supervision.effects import Injection
from phases.supervision.enums import LED, CorrectionKind, ExecutionMode, ToolClass
from phases.supervision.facts import Action, CallResult, DiskFacts, GateVerdict, Round, Task
from tests.supervision_runs import CHECK, MODERATE, broken, check, ran, read, setting_of, write

PLANNED = (
    "src/config.py",
    "src/data.py",
    "src/total.py",
    "src/report.py",
    "tests/test_total.py",
    "src/mean.py",
    "src/table.py",
    "src/main.py",
    "README.md",
)
TASK = replace(MODERATE, planned_files=PLANNED, from_nothing=True)
NOTES = Task(
    "Notes on the paper",
    tuple(f"notes/part{number}.md" for number in range(9)),
    (CHECK,),
    from_nothing=True,
)
"""A plan of prose only; its check counts the links that are dead."""
RIGHT = 1000
"""The version of the third planned file with which the check passes."""
FIXABLE = 2
"""The place of that file in the plan."""

Do = Callable[[Mapping[str, str]], Action]
"""One call, with its result in a workspace: path -> what the file holds."""
Told = Sequence[Sequence[Injection]]
"""For each turn, the texts that the model got after it."""
Model = Callable[[Told], Sequence[Do]]
"""The calls of the next turn; a turn without calls says that the work is done."""
Wrong = Callable[[int, Sequence[str]], Sequence[Do]]
"""The calls of one wrong turn, from its number and the planned files."""
Right = Callable[[str, Sequence[str]], Sequence[Sequence[Do]]]
"""The turns of the right work, from the text and the planned files."""


def look(path: str) -> Do:
    """Read a file. A planned one that is not written yet cannot be read; others come with the repository."""

    def do(files: Mapping[str, str]) -> Action:
        action = read(path, digest=files.get(path, path))
        missing = path not in files and path in (*TASK.planned_files, *NOTES.planned_files)
        error = f"{path}: no such file"
        gone = CallResult(executed=True, failed=True, digest=error, error=error)
        return replace(action, result=gone) if missing else action

    return do


def look_again(path: str) -> Do:
    """Read a file that the conversation no longer shows."""

    def do(files: Mapping[str, str]) -> Action:
        action = look(path)(files)
        return replace(action, result=replace(action.result, forgotten=True))

    return do


def put(path: str, version: int = 0) -> Do:
    """Write a version of a file."""

    def do(files: Mapping[str, str]) -> Action:
        action = write(path, version, new=path not in files)
        known = path in files or path not in (*TASK.planned_files, *NOTES.planned_files)
        return replace(action, result=replace(action.result, sound=())) if known else action

    return do


def runs(command: str, shows: str = "ok", *, error: str = "") -> Do:
    action = ran(command, error=error)
    return lambda files: action if error else replace(action, result=replace(action.result, digest=shows))


def find(what: str) -> Do:
    return lambda files: read(what, kind=ToolClass.SEARCH)


def fail_to_find(what: str) -> Do:
    return lambda files: broken(what)


def note(what: str) -> Do:
    return lambda files: read(what, kind=ToolClass.NEUTRAL)


def checks(files: Mapping[str, str]) -> Action:
    """Run the check, which fails in one way until the third planned file is right."""
    path = next((path for path in files if path in (PLANNED[FIXABLE], NOTES.planned_files[FIXABLE])), "")
    if files.get(path) == f"{path} {RIGHT}":
        return check()
    action = check("tests/test_total.py::test_sum")
    return replace(action, result=replace(action.result, assertion=f"test_sum\nassert 2 == 3\n{path}:3: AssertionError"))


def finish(paths: Sequence[str], opened: int = FIXABLE) -> list[Sequence[Do]]:
    """Mend the file that fails, run the check, write every planned file from `opened` on, run it again."""
    rest = [[put(path, 1)] for path in paths[opened:] if path != paths[FIXABLE]]
    return [[put(paths[FIXABLE], RIGHT)], [checks], *rest, [checks]]


def turns_since(told: Told, kinds: Sequence[CorrectionKind]) -> int:
    """Return how many turns ago a text of one of these kinds came first; 0 if none came."""
    return next((len(told) - at for at, texts in enumerate(told) if any(text.kind in kinds for text in texts)), 0)


@dataclass(frozen=True)
class Player:
    """A model that writes some planned files, then goes wrong; from `patience` turns after a text on it does the right work."""

    wrong: Wrong
    right: Right | None = None
    patience: int = 1
    written: int = 9
    """Planned files that it writes first. From five on it also runs the check, which fails."""
    heeds: Sequence[CorrectionKind] = (CorrectionKind.TAKEOVER,)
    task: Task = TASK

    @property
    def begun(self) -> list[Sequence[Do]]:
        first: list[Sequence[Do]] = [[put(path)] for path in self.task.planned_files[: self.written]]
        return [*first, [checks]] if self.written >= 5 else first

    def __call__(self, told: Told) -> Sequence[Do]:
        begun, at, since = self.begun, len(told), turns_since(told, self.heeds)
        if at < len(begun):
            return begun[at]
        if self.right is None or not since or since < self.patience:
            return self.wrong(at - len(begun), self.task.planned_files)
        text = "\n".join(text.text for texts in told for text in texts if text.kind in self.heeds)
        work = self.right(text, self.task.planned_files)
        return work[since - self.patience] if since - self.patience < len(work) else []


@dataclass
class Played:
    """A run with the turns in which something happened; 0 where it did not."""

    told: list[list[Injection]] = field(default_factory=list)
    kept_back: list[int] = field(default_factory=list)
    """Turns in which a call was not executed."""
    led: int = 0
    handed_back: int = 0
    stopped: int = 0
    accepted: int = 0
    graph: int = 0
    forced: int = 0
    stall: int = 0
    """At its end, in half rounds."""

    @property
    def texts(self) -> list[str]:
        return [text.text for texts in self.told for text in texts]

    @property
    def words(self) -> list[tuple[int, str]]:
        """The texts about what goes wrong, each with its turn; hints on a step of the graph are none."""
        told = ((at, text) for at, texts in enumerate(self.told, 1) for text in texts)
        return [(at, text.text) for at, text in told if text.kind is not CorrectionKind.GRAPH_HINT]

    @property
    def word(self) -> int:
        """The turn of the first of them."""
        return self.words[0][0] if self.words else 0

    @property
    def end(self) -> str:
        return "accepted" if self.accepted else "stopped" if self.stopped else "goes on"


def play(model: Model, mode: str, task: Task = TASK, *, turns: int = 70) -> Played:
    """Play a run of at most so many turns."""
    files: dict[str, str] = {}
    disk = DiskFacts(build_summary="ok")
    bridge = SupervisorBridge(
        setting_of(mode, task=task), lambda: replace(disk, added=tuple(files), present=tuple(files))
    )
    made = Played()
    for turn in range(1, turns + 1):
        text = bridge.begin()
        if bridge.state.phase.phase in LED:  # the block that stands before the model in each led round
            made.told[-1] = [*made.told[-1], Injection(CorrectionKind.TAKEOVER, text)]
        made.graph = made.graph or (turn if bridge.state.graph.graph else 0)
        made.forced = made.forced or (turn if bridge.state.mode.execution_mode is ExecutionMode.FORCED else 0)
        calls = model(made.told)
        for do in calls:
            action = do(files)
            if bridge.gate(action.call):
                made.kept_back.append(turn)
                action = replace(action, result=CallResult(executed=False, failed=True))
            files |= dict.fromkeys(action.result.changed, action.result.digest)
            bridge.record(action.call, action.result)
        missing = tuple(path for path in task.planned_files if path not in files)
        passed = not missing and not checks(files).result.failed
        failures = tuple(f"{path} is not written" for path in missing) or ("the check fails",)
        verdict = None if calls else GateVerdict(passed, () if passed else failures)
        said = Round(
            turn, text="" if calls else "Done.", token_ratio=0.01, open_files=len(missing), missing=missing[:8]
        )
        out = bridge.end(replace(said, next_file=next(iter(missing), "")), verdict)
        made.told.append(out.injections)
        phase = bridge.state.phase
        made.stall, made.led = bridge.state.progress.stall, made.led or (turn if phase.takeovers else 0)
        made.handed_back = made.handed_back or (turn if phase.handoffs else 0)
        made.stopped, made.accepted = turn if out.stop else 0, turn if verdict and passed and not out.stop else 0
        if made.stopped or made.accepted:
            break
    return made
