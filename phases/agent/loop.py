"""The loop: ask, act, observe, until the work is accepted or a limit says stop. Its whole state is the journal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from phases.agent.acceptance.judge import MOST_CONTINUES
from phases.agent.asking import Conversation
from phases.agent.hands import Hands, kept_back
from phases.agent.memory import Memory
from phases.agent.model import OK, Reply, ToolCall
from phases.agent.supervised import Supervised
from pipeline.errors import Paused

_TOLD, _STUCK, _HOPELESS = 3, 10, 30
"""After so many equal turns in a row the model is told; after so many the work ends; and under a supervisor after so many."""
ACCEPTED, EXHAUSTED, STUCK = "accepted", "accept_continue_exhausted", "stuck"
_SHOWN = 3


@dataclass
class Run:
    """What the loop works with."""

    conversation: Conversation
    memory: Memory
    hands: Hands
    judge: Callable[[int], dict[str, Any]]
    """The verdict on the files as they are in that turn: `block` is None, or what must be mended, in words for the model."""
    supervised: Supervised
    most_turns: int
    deadline: float | None = None
    """time.monotonic() after which no further turn begins."""
    on_turn: Callable[[str], None] = lambda what: None
    """Told what was done in a turn; not of turns that the journal answered."""
    characters: int = 0
    """Of the reply that is on its way."""
    todos: list[Mapping[str, Any]] = field(default_factory=list)
    """The model's own list, as it wrote it last."""


@dataclass(frozen=True)
class Ending:
    """How the loop ended."""

    stop_reason: str
    """accepted, accept_continue_exhausted or stuck."""
    turns: int
    verification: dict[str, Any]
    detail: str = ""


def work(run: Run) -> Ending:
    """Drives the model until an ending. On resume the same steps are walked again, answered by the journal.

    Raises Paused at a limit and where supervision stops the run, PhaseError where the model cannot go on.
    """
    continues, repeated, last = 0, 0, ""
    while True:
        reply = _ask(run)
        if reply.outcome != OK:
            run.memory.useless(reply)
            continue
        run.memory.heard(reply)
        if reply.calls:
            turn = _turn(run, reply)
            repeated, last = (repeated + 1 if turn == last else 1), turn
            if ending := _of_repeats(run, repeated):
                return ending
            _end_turn(run, reply)
            continue
        verdict = _verdict(run)
        if verdict["block"] is None:
            _tell(run, "accepted")
            _end_turn(run, reply, verdict)
            return _ended(run, ACCEPTED, verdict, "")
        _tell(run, f"not accepted yet: {' '.join(verdict['block'].split())[:160]}")
        continues += 1
        if continues > MOST_CONTINUES:
            return _ended(run, EXHAUSTED, verdict, verdict["block"])
        run.memory.told(f"Not accepted yet. Mend this:\n{verdict['block']}")
        _end_turn(run, reply, verdict)


def _turn(run: Run, reply: Reply) -> str:
    """Does what a reply asks for, and tells of it. Returns what stands for the turn when turns are compared."""
    replaying = run.conversation.journal.replaying
    turn, said = _act(run, reply)
    if not replaying:
        run.on_turn(f"turn {run.conversation.turn}: {said}")
    return turn


def _end_turn(run: Run, reply: Reply, verdict: dict[str, Any] | None = None) -> None:
    if said := run.supervised.after(reply, verdict):
        _tell(run, said)


def _of_repeats(run: Run, repeated: int) -> Ending | None:
    """Equal turns in a row are told of, and end the work. A supervisor that may act has better answers; it is given time."""
    watched = run.supervised.acts
    if repeated >= (_HOPELESS if watched else _STUCK):
        return _ended(run, STUCK, _verdict(run), f"the same call with the same result {repeated} times in a row")
    if repeated >= _TOLD and not watched:
        run.memory.told(f"That was the same call with the same result {repeated} times in a row. Do something else.")
    return None


def _ask(run: Run) -> Reply:
    turns = run.conversation.turn
    if run.most_turns and turns >= run.most_turns and not run.conversation.journal.replaying:
        raise Paused(
            f"the limit max_turns = {run.most_turns} is reached; what is written is kept; go on with: "
            f"pipeline resume {run.conversation.ledger.task} --max-turns {2 * run.most_turns}",
            stop_reason="budget_rounds",
        )
    while _widened(run) or run.supervised.took_in(turns + 1):
        continue
    aside = run.supervised.before()
    if run.deadline is not None and time.monotonic() > run.deadline:
        raise Paused(
            f"the time for this phase (phase_seconds) is used up after {turns} turns; what is written is kept; go on with: "
            f"pipeline resume {run.conversation.ledger.task}",
            stop_reason="budget_time",
        )
    messages = run.memory.messages(aside)
    run.hands.forget(run.memory.forgotten)
    return run.conversation.ask(messages, run.hands.schemas, about=run.memory.target, digest=run.memory.digest())


def _widened(run: Run) -> bool:
    """Whether the model has another window than before: one that goes on with the work of another, say."""
    journal, window = run.conversation.journal, run.conversation.model.window
    if journal.next_kind != "window" and (journal.replaying or window == run.memory.window):
        return False
    key = {"turn": run.conversation.turn}
    run.memory.widen(journal.once("window", key, lambda: {"window": window})["window"])
    return True


def _act(run: Run, reply: Reply) -> tuple[str, str]:
    """Does what a reply asks for. Returns what stands for the turn when turns are compared, and the turn in words."""
    journal, turn, results, words = run.conversation.journal, run.conversation.turn, [], []
    for index, call in enumerate(reply.calls):
        fact, refused = run.supervised.refusal(call)
        do = partial(run.hands.act, call, f"{turn}-{index}", again=journal.cut_here)
        durable = not refused and run.hands.may_change(call)
        done = partial(kept_back, refused) if refused else do
        key = {"turn": turn, "call": call.id, **({"kept_back": True} if refused else {})}
        result = journal.once("result", key, done, durable=durable)
        run.hands.settled(result)
        run.supervised.saw(fact, call, result)
        run.memory.observed(call.id, ("error: " if result["failed"] else "") + result["text"], result["files"])
        if call.name == "TodoWrite" and not result["failed"]:
            run.todos = list(call.arguments["todos"])
        results.append([call.name, dict(call.arguments), "" if refused else result["text"]])
        words.append(_in_words(call) + (" (kept back)" if refused else " (failed)" if result["failed"] else ""))
    run.memory.turn_over()
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return json.dumps(results, sort_keys=True), ", ".join(words[:_SHOWN]) + more


def _tell(run: Run, what: str) -> None:
    if not run.conversation.journal.replaying:
        run.on_turn(f"turn {run.conversation.turn}: {what}")


def _in_words(call: ToolCall) -> str:
    first = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    return f"{call.name} {' '.join(first[:200].split())[:80]}".strip()


def _verdict(run: Run) -> dict[str, Any]:
    turn = run.conversation.turn
    verdict = run.conversation.journal.once("verdict", {"turn": turn}, partial(run.judge, turn))
    run.hands.settled(verdict)
    return verdict


def _ended(run: Run, stop_reason: str, verdict: dict[str, Any], detail: str) -> Ending:
    turn = run.conversation.turn
    run.conversation.journal.once("ending", {"turn": turn}, lambda: {"stop_reason": stop_reason})
    return Ending(stop_reason, turn, verdict["verification"], detail)
