"""What the kernel decides, against a second implementation of its tables, over random streams of events."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from phases.supervision import execution_mode, takeover
from phases.supervision.config import ModeLimits, RecoveryLimits
from phases.supervision.effects import TimelineEntry
from phases.supervision.enums import (
    FAULTS,
    DeviationSignal,
    ExecutionMode,
    ModeSignal,
    SupervisorMode,
    SupervisorPhase,
)
from phases.supervision.execution_mode import (
    ModeContext,
    ModeDecision,
    ModeState,
    RuntimeState,
    apply_decision,
    clear_recovery,
    count_round,
    signals_of_run,
)
from phases.supervision.signals import BLOCKED, HINTED, TOLD, Signal
from phases.supervision.state import PhaseState
from phases.supervision.takeover import PhaseContext
from tests import supervision_tables as tables

STREAMS, SHARES = 1000, 10
SUBMITTED = tuple(signal for signal in ModeSignal if signal is not ModeSignal.ENGINE_FAIL_SAFE)
SETTINGS = (
    ModeLimits(),
    ModeLimits(2, 200, 1, 2, 2, 1),
    ModeLimits(1, 0, 0, 1, 0, 0),
    ModeLimits(0, 0, 0, 0, 1, 1),
    ModeLimits(3, 50, 2, 3, 4, 2),
)
RECOVERIES = (
    RecoveryLimits(),
    RecoveryLimits(stability_window_rounds=1, handoff_cooldown_rounds=1),
    RecoveryLimits(stability_window_rounds=4, handoff_cooldown_rounds=5),
    RecoveryLimits(stability_window_rounds=0, handoff_cooldown_rounds=0),
)


class Broken(RuntimeState):
    """What cannot be read: each look at it ends in a fault."""

    def __getattribute__(self, name: str) -> Any:
        raise random.Random(name).choice(FAULTS)(name)


@dataclass(frozen=True)
class Stream:
    """What holds for all rounds of one stream."""

    seed: int
    mode: SupervisorMode
    mixed: bool
    """Mode and floor change from round to round: no run does that, but the tables decide it."""
    coupled: bool
    """L1 is told the phase that L2 is in; else any."""
    calm: float
    """How likely a round is that disturbs nothing: without them nothing would ever end."""
    limits: ModeLimits
    recovery: RecoveryLimits


@dataclass(frozen=True)
class Given:
    """All that one round brings."""

    number: int
    mode: SupervisorMode
    floor: ExecutionMode
    phase: SupervisorPhase
    submitted: tuple[ModeSignal, ...]
    runtime: RuntimeState
    task_bearing: bool
    settled: bool
    """What was pending of a recovery is settled."""
    context: PhaseContext


def stream_of(seed: int) -> Stream:
    dice = random.Random(seed)
    return Stream(
        seed=seed,
        mode=dice.choices(tuple(SupervisorMode), (1, 6, 3))[0],
        mixed=dice.random() < 0.2,
        coupled=dice.random() < 0.6,
        calm=dice.choice((0.2, 0.6, 0.85, 0.97)),
        limits=dice.choice(SETTINGS),
        recovery=dice.choice(RECOVERIES),
    )


def runtime_of(dice: random.Random, *, calm: bool) -> RuntimeState:
    if calm:
        return RuntimeState(
            stable_rounds=dice.randint(0, 5),
            accumulated_diff_lines=dice.choice((0, 0, 1, 50)),
        )
    return RuntimeState(
        task_graph_active=dice.random() < 0.15,
        pending_step_count=dice.choice((0, 0, 0, 1, 2, 3)),
        write_targets=dice.choice((0, 0, 1, 2, 3, 4, 5)),
        planned_write_targets=dice.choice((0, 0, 0, 1)),
        accumulated_diff_lines=dice.choice((0, 0, 50, 51, 200, 201, 400, 401)),
        branch_switched=dice.random() < 0.1,
        checkpoint_resumed=dice.random() < 0.05,
        last_tool_success=dice.random() < 0.7,
        recovery_pending=dice.random() < 0.1,
        branch_debt=dice.choice((0, 0, 0, 0, 1)),
        stable_rounds=dice.randint(0, 5),
        edit_step_open=dice.random() < 0.15,
    )


def signals_of(dice: random.Random, number: int) -> tuple[Signal, ...]:
    kinds = dice.sample(tuple(DeviationSignal), dice.choices((0, 1, 2), (5, 3, 1))[0])
    return tuple(
        Signal(
            kind,
            dice.choice((0.35, 3, 4, 5, 6)),
            dice.randint(max(0, number - 3), number),
            stage=dice.choice((HINTED, BLOCKED, TOLD)),
        )
        for kind in kinds
    )


def context_of(stream: Stream, dice: random.Random, number: int) -> PhaseContext:
    now = () if dice.random() < stream.calm else signals_of(dice, number)
    older = signals_of(dice, number)
    return PhaseContext(
        round=number - (dice.random() < 0.1),  # now and then the same round is decided twice
        now=now,
        live=(*older, *(signal for signal in now if signal.kind not in {other.kind for other in older})),
        meaningful=dice.random() < 0.5,
        exhausted=dice.choices(("", "rounds", "tokens", "retries"), (40, 1, 1, 1))[0],
        failed_round=dice.random() < 0.6 * (1 - stream.calm),
        check_failed=dice.random() < 0.8 * (1 - stream.calm),
        proof=dice.random() < 0.7,
    )


def given(stream: Stream, dice: random.Random, number: int, l2: PhaseState) -> Given:
    who = dice.choice(tuple(SupervisorMode)) if stream.mixed else stream.mode
    floor = ExecutionMode.FORCED if who is SupervisorMode.STRICT else ExecutionMode.FREE
    calm = dice.random() < stream.calm
    quiet = dice.random() < max(0.5, stream.calm)
    return Given(
        number=number,
        mode=who,
        floor=dice.choice(tuple(ExecutionMode)) if stream.mixed else floor,
        phase=l2.phase if stream.coupled else dice.choices(tuple(SupervisorPhase), (6, 1, 1, 2))[0],
        submitted=() if quiet else tuple(dice.choices(SUBMITTED, k=dice.randint(1, 4))),
        runtime=runtime_of(dice, calm=calm),
        task_bearing=dice.random() < 0.6,
        settled=dice.random() < 0.3,
        context=context_of(stream, dice, number),
    )


def must_look(state: ModeState, here: Given, limits: ModeLimits) -> bool:
    """Whether no answer can be given without a look at the runtime: only then is a broken one an error of the engine."""
    if here.mode is SupervisorMode.OFF:
        return False
    if state.execution_mode is ExecutionMode.FREE:
        return True
    context = ModeContext(here.mode, here.floor, here.phase, state, here.runtime)
    return not any(holds(context, limits) for _, holds in tables.HELD)


def shown(entries: tuple[TimelineEntry, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((str(entry.event), entry.reason) for entry in entries)


def unlike(stream: Stream, here: Given, what: str, ours: Any, theirs: Any) -> str:
    """The first difference, so that it can be read and run again."""
    if dataclasses.is_dataclass(ours) and dataclasses.is_dataclass(theirs):
        names = [row.name for row in dataclasses.fields(ours)]
        pairs = [(name, getattr(ours, name), getattr(theirs, name)) for name in names]
        differing = "".join(f"\n    {name}: tables {a!r}, product {b!r}" for name, a, b in pairs if a != b)
    else:
        differing = f"\n    tables {ours!r}\n    product {theirs!r}"
    runtime = "cannot be read" if isinstance(here.runtime, Broken) else repr(here.runtime)
    return (
        f"stream {stream.seed}, round {here.number}: {what} differs:{differing}"
        f"\n  {stream}\n  mode {here.mode}, floor {here.floor}, phase {here.phase}, submitted {here.submitted}"
        f"\n  runtime {runtime}\n  context {here.context}\n  tables {ours!r}\n  product {theirs!r}"
    )


def l1_round(
    stream: Stream, state: ModeState, here: Given, *, broken: bool
) -> Iterator[tuple[str, Any, Any, ModeState]]:
    """Each thing that both say of a round of L1: what it is, the tables, the product, and the state after it."""
    limits = stream.limits
    if not broken:
        yield "derived", tables.derived(here.runtime, limits), signals_of_run(here.runtime, limits), state
    ours, product = tables.submitted(state, here.submitted), execution_mode.submit_signals(state, *here.submitted)
    yield "submitted", in_any_order(ours), in_any_order(product), ours
    context = ModeContext(here.mode, here.floor, here.phase, ours, here.runtime)
    decision = tables.decided(context, limits, broken=broken)
    yield "decision", decision, execution_mode.evaluate_mode(replace(context, state=product), limits), ours
    applied, told = tables.applied(ours, decision, turn=here.number, limits=limits)
    product, entries = apply_decision(product, decision, round=here.number, config=limits)
    yield "state", applied, product, applied
    if not decision.fail_safe:
        yield "log", told, shown(entries), applied
    after = tables.worked(applied, task_bearing=here.task_bearing)
    yield "work", after, count_round(product, task_bearing=here.task_bearing), after


def in_any_order(state: ModeState) -> ModeState:
    """What waits has no order: reasons are put in theirs when they are used."""
    return replace(state, pending_signals=tuple(sorted(state.pending_signals)))


def driven(stream: Stream) -> Counter[str]:
    """Drives both through one stream, and counts what was decided: the first difference fails."""
    dice = random.Random(stream.seed + 1_000_000)
    seen: Counter[str] = Counter()
    l1, l2 = ModeState(), PhaseState()
    for number in range(1, dice.randint(30, 60) + 1):
        here = given(stream, dice, number, l2)
        broken = dice.random() < 0.03 and must_look(l1, here, stream.limits)
        here = replace(here, runtime=Broken()) if broken else here
        for what, ours, theirs, after in l1_round(stream, l1, here, broken=broken):
            assert ours == theirs, unlike(stream, here, f"L1 {what}", ours, theirs)
            l1 = after
            if isinstance(ours, ModeDecision):
                seen[" ".join(filter(None, (ours.kind, ours.denied, "fail-safe" * ours.fail_safe)))] += 1
        decision = tables.led(l2, here.context, stream.recovery)
        product = takeover.compute_next(l2, here.context, stream.recovery)
        assert decision == product, unlike(stream, here, f"L2 decision from {l2}", decision, product)
        committed = product.next
        seen[f"{l2.phase}: {decision.kind} -> {committed.phase}{' again' * decision.rerun_recovery}"] += 1
        if here.settled:
            l1, product_l1 = replace(l1, recovery_pending=False), clear_recovery(l1)
            assert l1 == product_l1, unlike(stream, here, "L1 cleared", l1, product_l1)
        l2 = committed
    return seen


EVERYTHING = {
    "keep",
    "enter_forced",
    "enter_forced fail-safe",
    "exit_forced",
    "keep strict_floor",
    "keep takeover_floor",
    "keep mode_lock",
    "keep min_dwell",
    "keep exit_conditions",
    "keep fail-safe",
    "free: continue -> free",
    "free: takeover -> takeover",
    "takeover: fail -> takeover",
    "takeover: continue -> takeover",
    "takeover: handoff_pending -> handoff_pending",
    "handoff_pending: continue -> takeover",
    "handoff_pending: continue -> takeover again",
    "handoff_pending: handoff -> cooldown",
    "cooldown: continue -> cooldown",
    "cooldown: continue -> free",
    "cooldown: takeover -> takeover",
}


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES), ids=lambda share: f"share {share + 1} of {SHARES}")
def test_both_decide_alike_in_every_round_of_every_stream(share: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(share, STREAMS, SHARES):
        seen += driven(stream_of(seed))
    assert seen.keys() >= EVERYTHING, f"never came up: {sorted(EVERYTHING - seen.keys())}"
