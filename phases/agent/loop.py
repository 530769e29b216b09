"""The loop: ask, act, observe, until the work is accepted or a limit says stop. Its whole state is the journal."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

from phases.acceptance.stop_reasons import (
    ACCEPTED,
    EXHAUSTED,
    HOOK_TAMPERED,
    STUCK,
    TODO_FAILED,
    TODO_WAITING,
)
from phases.acceptance.todo_list.todos import apply_change
from phases.agent.agent_state import AgentState, Ending
from phases.agent.completion import WAITED, completion_request, judge_request, record_ending, stop_for_user
from phases.agent.tool_runner import skipped_result
from phases.llm.model import OK, Finite, Reply, ToolCall
from pipeline.base.errors import Paused

_TOLD, _STUCK, _HOPELESS = 3, 10, 30
"""After so many equal turns in a row the model is told; after so many the work ends; and under a supervisor after so many."""
_SHOWN, _MOST_RECENT = 3, 20
HOOKS_SAY = "A hook of the user says: "
_SAME_TREE = 2
"""So many refusals in a row may find that nothing changed since the one before; the next one ends the run."""


def run_loop(run: AgentState) -> Ending:
    """Drives the model until an ending. On resume the same steps are walked again, answered by the journal.

    Raises Paused at a limit and where supervision stops the run, PhaseError where the model cannot go on, Incomplete where only
    the user can mend what is wrong.
    """
    run.chain.begin()
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
            if ending := _end_if_stuck(run, repeated):
                return ending
            _end_turn(run, reply)
            continue
        verdict = judge_request(run, reply.text, continues)
        if verdict["block"] is None:
            _tell(run, "accepted")
            _end_turn(run, reply, verdict)
            return record_ending(run, ACCEPTED, verdict, "")
        if verdict["stop"] == TODO_FAILED:
            return record_ending(run, TODO_FAILED, verdict, verdict["detail"])
        if verdict["stop"] == TODO_WAITING:
            stop_for_user(run, TODO_WAITING, verdict["detail"])
            run.memory.told(WAITED.format(verdict["detail"]))
        else:
            continues += 1
            _keep(run, continues, verdict)
            if continues > verdict["most"] or run.chain.same > _SAME_TREE or _cannot_go_on(run):
                return record_ending(
                    run, HOOK_TAMPERED if verdict["tampered"] else EXHAUSTED, verdict, verdict["block"]
                )
            run.memory.rejected(verdict["feedback"])
        _end_turn(run, reply, verdict)


def _cannot_go_on(run: AgentState) -> bool:
    """Whether the model has nothing more to say: a scaffold, or a recording made when less was refused."""
    conversation = run.conversation
    model, journal = conversation.model, conversation.journal
    if journal.replaying:
        return journal.next_kind == "ending"
    return isinstance(model, Finite) and model.is_over(conversation.thread, conversation.turn + 1)


def _turn(run: AgentState, reply: Reply) -> str:
    """Does what a reply asks for, and tells of it. Returns what stands for the turn when turns are compared."""
    replaying = run.conversation.journal.replaying
    turn, said = _act(run, reply)
    if not replaying:
        run.on_turn(f"turn {run.conversation.turn}: {said}")
    return turn


def _end_turn(run: AgentState, reply: Reply, verdict: dict[str, Any] | None = None) -> None:
    if said := run.supervised.after(reply, verdict):
        _tell(run, said)


def _end_if_stuck(run: AgentState, repeated: int) -> Ending | None:
    """Equal turns in a row are told of, and end the work. A supervisor that may act has better answers; it is given time."""
    watched = run.supervised.acts
    if repeated >= (_HOPELESS if watched else _STUCK):
        return record_ending(
            run,
            STUCK,
            run.chain.judge(completion_request(run, "", 0, claimed=False)),
            f"the same call with the same result {repeated} times in a row",
        )
    if repeated >= _TOLD and not watched:
        run.memory.told(f"That was the same call with the same result {repeated} times in a row. Do something else.")
    return None


def _ask(run: AgentState) -> Reply:
    turns = run.conversation.turn
    run.todo_list.turn = turns + 1
    if run.most_turns and turns >= run.most_turns and not run.conversation.journal.replaying:
        flag = f"--max-turns {2 * run.most_turns}"
        raise Paused(
            f"the limit max_turns = {run.most_turns} is reached; what is written is kept; go on with: "
            f"pipeline resume {run.conversation.ledger.task} {flag}",
            stop_reason="budget_rounds",
            flag=flag,
        )
    while (
        _widened(run)
        or run.chain.record_added_checksums(turns + 1)
        or _heard_hooks(run)
        or run.supervised.took_in(turns + 1)
    ):
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
    memory = run.memory
    return run.conversation.ask(
        messages, run.hands.schemas, about=memory.target, digest=memory.digest(), lasting=memory.lasting
    )


def _widened(run: AgentState) -> bool:
    """Whether the model has another window than before: one that goes on with the work of another, say."""
    journal, window = run.conversation.journal, run.conversation.model.window
    if journal.next_kind != "window" and (journal.replaying or window == run.memory.window):
        return False
    key = {"turn": run.conversation.turn}
    run.memory.widen(journal.replay_or_record("window", key, lambda: {"window": window})["window"])
    return True


def _heard_hooks(run: AgentState) -> bool:
    """Whether hooks at the beginning of this start have something for the model."""
    journal = run.conversation.journal
    if journal.next_kind != "said" and (journal.replaying or not run.said):
        return False
    texts = journal.replay_or_record("said", {"turn": run.conversation.turn}, lambda: {"texts": list(run.said)})[
        "texts"
    ]
    run.said = []
    run.memory.pin("hooks", "\n".join(f"{HOOKS_SAY}{text}" for text in texts))
    return True


def _act(run: AgentState, reply: Reply) -> tuple[str, str]:
    """Does what a reply asks for. Returns what stands for the turn when turns are compared, and the turn in words."""
    journal, turn, results, words = run.conversation.journal, run.conversation.turn, [], []
    told: list[str] = []
    for index, call in enumerate(reply.calls):
        fact, refused = run.supervised.refusal(call)
        step, again = f"{turn}-{index}", journal.cut_here
        begin = partial(run.hands.begin, step, again=again, hooked=run.tool_hooks.are_there_for(call))
        do = partial(run.hands.act, call, step, again=again)
        durable = not refused and run.hands.may_change(call)
        done = (
            partial(skipped_result, refused)
            if refused
            else partial(run.hands.do_durably, partial(run.tool_hooks.around, call, turn, do, begin))
        )
        key = {"turn": turn, "call": call.id, **({"kept_back": True} if refused else {})}
        result = journal.replay_or_record("result", key, done, durable=durable)
        run.hands.settled(result)
        run.supervised.saw(fact, call, result)
        run.memory.observed(call.id, ("error: " if result["failed"] else "") + result["text"], result["files"])
        if call.name == "TodoWrite" and not result["failed"]:
            run.todo_list.todos = apply_change(run.todo_list.todos, call.arguments, turn, recorded=True)
        run.recent = [*run.recent, (call.name, bool(result["failed"]))][-_MOST_RECENT:]
        told += result.get("hooks_say", ())
        if result.get("stopped"):
            stop_for_user(run, result["stop_reason"], result["stopped"])
        results.append([call.name, dict(call.arguments), "" if refused else result["text"]])
        words.append(_in_words(call) + (" (kept back)" if refused else " (failed)" if result["failed"] else ""))
    run.memory.turn_over()
    for text in told:
        run.memory.told(f"{HOOKS_SAY}{text}")
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return json.dumps(results, sort_keys=True), ", ".join(words[:_SHOWN]) + more


def _tell(run: AgentState, what: str) -> None:
    if not run.conversation.journal.replaying:
        run.on_turn(f"turn {run.conversation.turn}: {what}")


def _in_words(call: ToolCall) -> str:
    first = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    return f"{call.name} {' '.join(first[:200].split())[:80]}".strip()


def _keep(run: AgentState, number: int, verdict: dict[str, Any]) -> None:
    """So that the user can go back to this ending, and let the work take another way from there."""
    if not run.conversation.journal.replaying:
        run.keep_ending(number, verdict["verification"]["tree_sha256"])
