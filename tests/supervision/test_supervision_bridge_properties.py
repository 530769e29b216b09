"""What holds in every run under supervision, whatever a model does and whoever steers it from outside."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.config import Config, Layers, ModeLimits, RecoveryLimits
from phases.supervision.enums import (
    LED,
    ExecutionMode,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
    ToolClass,
)
from phases.supervision.facts import Action, DiskFacts, GateVerdict, Task
from phases.supervision.serialization import to_json
from phases.supervision.state import KernelState, PhaseState, RecoveryBudget
from phases.supervision.wording import HANDED_BACK, MOST_WORDS
from tests.strategies import QUICK
from tests.supervision_runs import (
    CHECK,
    MODERATE,
    UNMERGED,
    Supervision,
    Turn,
    as_written,
    broken,
    check,
    find_breaches,
    ran,
    read,
    write,
)

FORCED, FREE = ExecutionMode.FORCED, ExecutionMode.FREE


# What happens in a run


@dataclass(frozen=True)
class Move:
    """A round, made so many times; before it, somebody may steer from outside."""

    actions: tuple[Action, ...] = ()
    text: str = ""
    open_files: int = 0
    ratio: float = 0.0
    verdict: GateVerdict | None = None
    times: int = 1
    outside: str = ""
    """resumed, take_over, a mode (with +shadow) that it goes on with, or nothing."""


@dataclass(frozen=True)
class Script:
    """A whole run."""

    mode: str = "adaptive"
    shadow: str = ""
    config: Config = field(default_factory=Config)
    task: Task = MODERATE
    disk: DiskFacts | Callable[[KernelState], DiskFacts] = as_written
    moves: tuple[Move, ...] = ()

    def begun(self) -> Supervision:
        return Supervision(self.mode, self.config, self.task, disk=self.disk, shadow=self.shadow)

    def steer(self, run: Supervision, outside: str) -> None:
        """What happens between two rounds."""
        if outside == "resumed" or run.state.stopped:
            run.resumed()
        if outside == "take_over":
            run.bridge.take_over()
        elif outside not in ("", "resumed"):
            word, _, shadow = outside.partition("+")
            run.set_to(word, self.config, self.task, shadow="1" if shadow else "")


def made(run: Supervision, move: Move) -> Turn:
    return run.round(*move.actions, text=move.text, open_files=move.open_files, ratio=move.ratio, verdict=move.verdict)


def turns_of(script: Script, run: Supervision) -> Iterator[Turn]:
    """All rounds of a script. A run that was stopped is looked at by a person, and goes on with the next move."""
    for move in script.moves:
        script.steer(run, move.outside)
        for _ in range(move.times):
            if run.state.stopped:
                break
            yield made(run, move)


PATHS = ("src/a.py", "src/b.py", "src/x.py", "tests/test_a.py", "pyproject.toml")
ROLLBACK = replace(ran("git reset --hard"), call=replace(ran("git reset --hard").call, rollback=True))
BACKGROUND = replace(ran("train &"), result=replace(ran("train &").result, background=True))
WRITES = st.builds(
    write, st.sampled_from(PATHS), st.integers(0, 3), lines=st.sampled_from((1, 50, 300)), new=st.booleans()
)
CHECKS = st.builds(
    lambda failures, command: check(*failures, command=command),
    st.sets(st.sampled_from(("t1", "t2", "t3"))),
    st.sampled_from((CHECK, CHECK, "ruff check")),
)
ACTIONS = st.one_of(
    WRITES,
    WRITES,
    CHECKS,
    st.builds(read, st.sampled_from(PATHS), digest=st.sampled_from("12"), kind=st.sampled_from(ToolClass)),
    st.builds(broken, st.sampled_from("ab")),
    st.builds(ran, st.sampled_from(("make", "ls")), error=st.sampled_from(("", "boom", "timed out", "no such file"))),
    st.sampled_from((ROLLBACK, ROLLBACK, BACKGROUND)),
)
SHARED: dict[str, Any] = {
    "open_files": st.sampled_from((0, 0, 2)),
    "ratio": st.sampled_from((0.0, 0.3)),
    "times": st.sampled_from((1, 1, 1, 2, 5)),
}
AT_WORK = st.builds(Move, st.lists(ACTIONS, min_size=1, max_size=3).map(tuple), **SHARED)
VERDICTS = (None, GateVerdict(True), GateVerdict(False, ("t1",)), GateVerdict(False, ("t1", "t2")))
TALK = st.builds(
    Move,
    text=st.sampled_from(("", "step done", "I train the method of the paper")),
    verdict=st.sampled_from(VERDICTS),
    **SHARED,
)
MODES = ("off", "adaptive", "strict", "adaptive+shadow")
STEERED = st.builds(
    replace, AT_WORK, outside=st.sampled_from(("resumed", "take_over", "take_over", *MODES)), times=st.just(1)
)
HEALTHY = st.builds(lambda first: Move((write("src/b.py", first), check()), times=2), st.integers(10, 99))
LAYERS = st.one_of(
    st.just(Layers()),
    st.sampled_from(("mode_engine", "observer", "recovery_supervisor", "task_graph")).map(
        lambda name: Layers(**{name: False})
    ),
)
CONFIGS = st.builds(
    Config,
    layers=LAYERS,
    takeover=st.builds(RecoveryLimits, max_recovery_rounds=st.sampled_from((2, 6))),
    execution_mode=st.builds(ModeLimits, mode_lock_rounds=st.integers(0, 3), forced_min_dwell_rounds=st.integers(0, 2)),
)
TASKS = (
    MODERATE,
    replace(MODERATE, verify_commands=(CHECK, "ruff check")),
    replace(MODERATE, verify_commands=()),
    replace(MODERATE, from_nothing=True),
    replace(MODERATE, planned_files=()),
)


def scripts(*modes: str, shadow: str = "", steered: bool = True) -> st.SearchStrategy[Script]:
    """Runs in one of these modes."""
    moves = st.one_of(AT_WORK, AT_WORK, TALK, HEALTHY, *([STEERED] if steered else []))
    return st.builds(
        Script,
        st.sampled_from(modes),
        st.just(shadow),
        CONFIGS,
        st.sampled_from(TASKS),
        st.sampled_from((as_written, as_written, UNMERGED, DiskFacts())),
        st.lists(moves, min_size=4, max_size=14).map(tuple),
    )


# What must hold after every round


def holds_together(turn: Turn) -> None:
    """Section 6.1."""
    graph = turn.state.graph.graph
    assert graph is None or find_breaches(graph) == []
    assert not [line for line in turn.lines if "kernel_error" in line["reason"]]


def speaks_as_it_logs(turn: Turn) -> None:
    """I1: one text a round at most, each on record, and none of the observer's while somebody leads."""
    hints = [line for line in turn.lines if line["event"] == "recover" and line["reason"].startswith("hint:")]
    handed = [line for line in turn.lines if (line["event"], line["reason"]) == ("handoff", "handoff")]
    assert len(turn.said) == len(hints) + len(handed) <= 1
    assert turn.state.counts.hints - turn.before.counts.hints == len(hints)
    assert not (hints and turn.begun.phase.phase in LED)
    assert turn.said in ([], *([line["payload"]["text"]] for line in hints), [HANDED_BACK])
    assert all(len(text.split()) <= MOST_WORDS for text in (turn.context, *turn.said))
    if turn.before.spoke_at == turn.before.round > 0 and turn.begun.phase.phase not in LED:
        assert turn.context == "", "a word is read before the next one comes"


def keeps_back_what_it_refuses(turn: Turn) -> None:
    """I2."""
    for answer, action in zip(turn.refused, turn.actions, strict=True):
        assert not answer or (answer.startswith("[Supervision] Not executed: ") and answer.endswith("."))
        assert action.result.executed is not bool(answer)
        assert "\n" not in answer
    executed = [action for action in turn.actions if action.result.executed]
    assert turn.state.counts.blocks - turn.before.counts.blocks == len(turn.actions) - len(executed)


def changes_its_mode_as_it_says(turn: Turn, run: Supervision) -> None:
    """I8, I9, and I7: what fails at the end of a round frees nobody."""
    order = list(ModeSignal)
    for line in turn.lines:
        if line["reason"].startswith("free->forced"):
            reasons = [ModeSignal(reason) for reason in line["payload"]["enteredBy"]]
            assert reasons
            assert reasons == sorted(set(reasons), key=order.index)
            assert ModeSignal.RECOVERY_PENDING not in reasons
            assert line["reason"] == f"free->forced: {reasons[0]}"
    if turn.before.phase.phase in LED and run.bridge.setting.policy.mode_engine:
        assert turn.begun.mode.execution_mode is FORCED
    assert turn.state.mode.execution_mode is turn.begun.mode.execution_mode
    if any("graph_failed" in reason for reason in turn.reasons):
        assert turn.state.mode.recovery_pending


def builds_no_graph_by_itself(turn: Turn, run: Supervision) -> None:
    """I3."""
    if run.bridge.setting.policy.mode is not SupervisorMode.STRICT and not turn.state.phase.takeovers:
        assert turn.state.graph.graph is None


@dataclass
class Dwell:
    """I10, counted by somebody else."""

    limits: ModeLimits
    entered: int = 0
    bearing: int = 0

    def look(self, turn: Turn) -> None:
        was, now = turn.before.mode.execution_mode, turn.begun.mode.execution_mode
        if was is FREE and now is FORCED:
            self.entered, self.bearing = turn.state.round, 0
        if was is FORCED and now is FREE:
            assert turn.state.round - self.entered > self.limits.mode_lock_rounds
            assert self.bearing >= self.limits.forced_min_dwell_rounds
        self.bearing += any(action.ok for action in turn.actions) or _where(turn.begun) != _where(turn.state)


def _where(state: KernelState) -> tuple[object, ...]:
    graph = state.graph.graph
    return (graph.cursor, graph.status) if graph else ()


REACHED = (
    "switch free->forced",
    "switch forced->free",
    "recover task_graph_init",
    "recover template_graph",
    "recover strong_hint",
    "recover graph_switch",
    "recover hint",
    "recover kept_back",
    "failure graph_failed",
    "failure budget_exhausted",
    "handoff handoff_pending",
    "handoff handoff",
    "handoff cooldown_over",
    "rollback rollback",
    "shadow_diagnostic would_recover",
)
"""Without these lines in some run, the promises would have been looked at where nothing happens."""


def test_whatever_comes_every_promise_of_the_kernel_is_kept() -> None:
    reached = Counter[str]()

    @given(scripts("off", "adaptive", "adaptive", "adaptive", "strict"))
    @settings(QUICK, max_examples=250)
    def holds(script: Script) -> None:
        run, dwell = script.begun(), Dwell(script.config.execution_mode)
        for turn in turns_of(script, run):
            reached.update(reason.partition(":")[0] for reason in turn.reasons)
            holds_together(turn)
            speaks_as_it_logs(turn)
            keeps_back_what_it_refuses(turn)
            changes_its_mode_as_it_says(turn, run)
            builds_no_graph_by_itself(turn, run)
            dwell.look(turn)

    holds()
    assert [what for what in REACHED if what not in reached] == []


# What each mode promises beside it


def fixed(moves: tuple[Move, ...]) -> tuple[Move, ...]:
    """The same moves, with nobody who goes on in another mode."""
    return tuple(replace(move, outside="" if move.outside in MODES else move.outside) for move in moves)


@given(scripts("off"))
@settings(QUICK, max_examples=40)
def test_a_run_in_off_is_never_spoken_to_stopped_kept_back_or_forced(script: Script) -> None:
    run = script.begun()
    for turn in turns_of(replace(script, moves=fixed(script.moves)), run):
        holds_together(turn)
        assert (turn.lines, turn.out.entries, turn.out.injections) == ([], [], [])
        assert (turn.out.stop, turn.out.snapshot, set(turn.refused) - {""}) == (None, None, set())
        assert (turn.context, turn.state.mode.execution_mode, turn.state.phase) == ("", FREE, PhaseState())
    assert run.asked == 0


@pytest.mark.slow
@given(scripts("strict"))
@settings(QUICK, max_examples=40)
def test_a_run_in_strict_is_forced_from_its_first_round_to_its_last(script: Script) -> None:
    script = replace(script, config=replace(script.config, layers=Layers()), moves=fixed(script.moves))
    switches: list[str] = []
    for turn in turns_of(script, script.begun()):
        assert turn.begun.mode.execution_mode is FORCED
        switches += [reason for reason in turn.reasons if reason.startswith("switch")]
        if turn.out.stop:
            assert is_quiet(switches)
            switches.clear()  # who looked at it let it begin anew
    assert is_quiet(switches)


def is_quiet(switches: list[str]) -> bool:
    """Whether a run went into forced mode, stayed there, and said both once."""
    entered, *denied = switches or ["switch free->forced: "]
    return entered.startswith("switch free->forced: ") and denied in ([], ["switch denied:strict_floor"])


@pytest.mark.slow
@given(scripts("adaptive", "strict", shadow="1"))
@settings(QUICK, max_examples=50)
def test_a_shadow_of_the_supervisor_changes_nothing_and_says_nothing(script: Script) -> None:
    for turn in turns_of(replace(script, moves=fixed(script.moves)), script.begun()):
        holds_together(turn)
        state = turn.state
        assert (state.phase, state.recovery, state.recovery_failed) == (PhaseState(), RecoveryBudget(), False)
        assert (turn.said, turn.context, turn.out.snapshot, turn.out.stop) == ([], "", None, None)
        assert not [reason for reason in turn.reasons if reason.startswith(("handoff", "recover template_graph"))]
        graphs = state.counts.graphs - turn.before.counts.graphs
        assert graphs == 0 or "recover task_graph_init" in turn.reasons


@pytest.mark.slow
@given(scripts("adaptive", "strict"))
@settings(QUICK, max_examples=40)
def test_nothing_that_a_takeover_put_before_the_model_outlives_it(script: Script) -> None:
    for turn in turns_of(script, script.begun()):
        step = turn.context == "" or turn.context.startswith("[Supervision] Current step: ")
        assert step is (turn.begun.phase.phase not in LED)
        if turn.state.phase.phase in (SupervisorPhase.FREE, SupervisorPhase.COOLDOWN):
            assert turn.state.recovery == RecoveryBudget()


# A run that is walked again, or goes on elsewhere


@pytest.mark.slow
@given(scripts("adaptive", "strict", "off"))
@settings(QUICK, max_examples=50)
def test_the_same_events_give_the_same_states_lines_and_texts(script: Script) -> None:
    first, second = (list(turns_of(script, script.begun())) for _ in range(2))
    assert first == second
    assert [list(map(str, turn.out.injections)) for turn in first] == [
        list(map(str, turn.out.injections)) for turn in second
    ]


@given(scripts("adaptive", "adaptive", "strict", "off"))
@settings(QUICK, max_examples=50)
def test_a_run_that_goes_on_from_its_checkpoint_decides_as_one_that_never_stopped(script: Script) -> None:
    run = script.begun()
    for move in script.moves:
        script.steer(run, move.outside)
        run.bridge.lines()
        for _ in range(move.times):
            if run.state.stopped:
                break
            other = run.continued()
            assert other.state == run.state
            assert orders(to_json(other.state)) == orders(to_json(run.state)), "what is oldest goes first"
            assert made(other, move) == made(run, move)
    assert run.kept() == run.state


def orders(value: Any) -> Any:
    """The keys of all objects, in their order."""
    if isinstance(value, dict):
        return [(key, orders(inner)) for key, inner in value.items()]
    return [orders(inner) for inner in value] if isinstance(value, list) else None


# Cost


def noise(dice: random.Random, number: int, names: int) -> Move:
    """A round as bad as a model can make it: so many files, long texts, checks that fail in many ways."""
    path = f"src/package_{number % 10}/module_{dice.randrange(names)}.py"
    error = f"{dice.randrange(10**9)} error: " + "what went wrong " * 20
    failures = [f"FAILED tests/test_{dice.randrange(300)}.py::test_{row} - assert" for row in range(40)]
    actions = (
        write(path, number, lines=dice.randrange(80)),
        broken(f"{path} {number}"),
        ran(f"python {path}", error=error[:200] if dice.random() < 0.6 else ""),
        check(*failures, command=dice.choice((CHECK, "ruff check"))),
        replace(ran(f"train {number} &"), result=replace(ran(f"train {number} &").result, background=True)),
        read(path, digest=str(number)),
    )
    verdict = None if number % 7 else GateVerdict(False, tuple(failures))
    return Move(
        () if verdict else tuple(dice.sample(actions, 6)), "I go on. " * 200, dice.randrange(3), verdict=verdict
    )


def sizes(mode: str, names: int, rounds: int) -> list[int]:
    """Of the checkpoint, after each tenth round. What a takeover settles makes room, so a single one says little."""
    dice, seen = random.Random(7), []
    run = Supervision(mode, task=replace(MODERATE, verify_commands=(CHECK, "ruff check")))
    for number in range(1, rounds + 1):
        made(run, noise(dice, number, names))
        if run.state.stopped:
            run.resumed()
        if number % 10 == 0:
            seen.append(len(json.dumps(run.files()[0])))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["off", "adaptive", "strict"])
def test_a_checkpoint_stays_small_however_long_a_run_makes_noise(mode: str) -> None:
    assert max(sizes(mode, 1_000, 400)) < 200 * 1024


@pytest.mark.parametrize("mode", ["off", pytest.param("adaptive", marks=pytest.mark.slow), "strict"])
def test_a_checkpoint_is_as_large_after_400_rounds_as_after_200(mode: str) -> None:
    seen = sizes(mode, 4, 400)
    assert max(seen[20:]) < 1.05 * max(seen[10:20])
