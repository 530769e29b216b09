"""The loop: ask, act, observe, until the work is accepted or a limit says stop. Its whole state is the journal."""

from __future__ import annotations

import json
import time
from typing import Any

from phases.acceptance.gate import ADVICE, CompletionRequest
from phases.acceptance.stop_reasons import (
    ACCEPTED,
    EXHAUSTED,
    HOOK_TAMPERED,
    STUCK,
    TODO_FAILED,
    TODO_WAITING,
    describe_reason,
)
from phases.agent.agent_state import HOOKS_SAY, AgentState, Ending
from phases.agent.tool_runner import ToolCallStep
from phases.llm.model import OK, Reply
from pipeline.base.errors import Incomplete, Paused
from pipeline.base.logs import logger

_TELL_AFTER, _STUCK_AFTER, _HOPELESS_AFTER = 3, 10, 30
"""After so many equal turns in a row the model is told; after so many the work ends; and under a supervisor after so many."""
_MOST_DESCRIBED = 3
DONE = "DONE"
"""Alone on the last line of a reply with calls it claims that the work is done if all of them succeed: a turn for that
alone costs a whole transcript."""
# Without this a model that changes nothing would be refused for as long as attempts are left (decision 80).
_SAME_TREE = 2
"""So many refusals in a row may find that nothing changed since the one before; the next one ends the run."""
WAITED = (
    "You said that required todos wait for a person: {}. The user has started the run again. See whether what they waited for "
    "is there now, set them to in_progress, and go on."
)
"""Message to the model when the user restarts a run that waited."""
MORE, TABLES = "more", "tables"
"""The journal's words for: the user allows more attempts, and the work goes on; the paper's tables came out otherwise."""


def run_loop(state: AgentState) -> Ending:
    """Run the model until an ending. A resume takes the same steps, replayed from the journal.

    Raises Paused at a limit or if supervision stops the run, PhaseError if the model cannot continue, Incomplete if only the
    user can fix the problem.
    """
    # No state is ever loaded: a resume walks the same steps, so there is no second way to rebuild it (decision 15).
    state.chain.begin()
    continues, repeated, last = 0, 0, ""
    while True:
        reply = _ask(state)
        if reply.outcome != OK:
            logger.debug("turn {}: the reply is {}: {}", state.conversation.turn, reply.outcome, reply.detail)
            state.memory.useless(reply)
            continue
        state.memory.heard(reply)
        verdict = None
        is_claim = not reply.calls
        if reply.calls:
            turn, went_well = _act(state, reply)
            repeated, last = (repeated + 1 if turn == last else 1), turn
            if ending := _end_if_stuck(state, repeated):
                return judge_again(state, ending)
            is_claim = went_well and reply.text.rstrip().rpartition("\n")[2].strip(" *.") == DONE
        if is_claim:
            verdict = judge_request(state, reply.text, continues)
            continues += verdict["block"] is not None and not verdict["stop"] and verdict["source"] != ADVICE
            if ending := _end_if_decided(state, reply, verdict, continues):
                ending = judge_again(state, ending)
                if tables := hear_tables(state, ending):
                    state.memory.told(tables)
                    continue
                if not goes_on(state, ending, continues, verdict["most"]):
                    return ending
                state.memory.rejected(ending.feedback)
        _end_turn(state, reply, verdict)


def _ask(state: AgentState) -> Reply:
    """Return the next reply, after recording facts from outside."""
    conversation, memory = state.conversation, state.memory
    turns = conversation.turn
    state.todo_list.turn = turns + 1
    state.events.begin_turn(turns + 1)
    if state.most_turns and turns >= state.most_turns and not state.replaying:
        flag = f"--max-turns {2 * state.most_turns}"
        raise Paused(
            f"the limit max_turns = {state.most_turns} is reached; what is written is kept; continue with: "
            f"pipeline resume {conversation.ledger.task} {flag}",
            stop_reason="budget_rounds",
            flag=flag,
        )
    # What a decision rests on must be there when it is made again, so it is on record before it counts (decision 53).
    for fact in state.pending_facts():
        if not state.replaying:
            logger.debug("before turn {}: takes in {}", turns + 1, fact.kind)
        fact.record(conversation.journal)
    aside = state.supervisor.brief()
    if state.deadline is not None and time.monotonic() > state.deadline:
        raise Paused(
            f"the time for this phase (phase_seconds) is used up after {turns} turns; what is written is kept; continue with: "
            f"pipeline resume {conversation.ledger.task}",
            stop_reason="budget_time",
        )
    messages = memory.messages(aside)
    state.tools.forget(memory.forgotten)
    return conversation.ask(
        messages, state.tools.schemas, about=memory.target, digest=memory.digest(), lasting=memory.lasting
    )


def _act(state: AgentState, reply: Reply) -> tuple[str, bool]:
    """Execute the calls of a reply. Return a digest to compare turns by, and whether every call succeeded."""
    turn, live, went_well = state.conversation.turn, not state.replaying, True
    outcome, words, hook_messages = [], [], []
    for index, call in enumerate(reply.calls):
        if not state.replaying and not state.supervisor.may_refuse:
            state.tools.ask_together(turn, index, reply.calls)
        step = ToolCallStep(state.tools, call, turn, index, state.supervisor.refuse(call))
        result = step.run(state.conversation.journal)
        state.observe(step, result)
        went_well = went_well and not result["failed"]
        if step.refusal and live:
            logger.debug("turn {}: {} is kept back by the supervisor: {}", turn, call.name, step.refusal)
        hook_messages += result.get("hooks_say", ())
        if result.get("stopped"):
            stop_for_user(state, result["stop_reason"], result["stopped"])
        outcome.append([call.name, dict(call.arguments), "" if step.refusal else result["text"]])
        words.append(step.describe(result))
    state.memory.turn_over()
    for text in hook_messages:
        state.memory.told(f"{HOOKS_SAY}{text}")
    if live:  # also of a turn that the journal answered in part
        more = f" and {len(words) - _MOST_DESCRIBED} more" if len(words) > _MOST_DESCRIBED else ""
        state.events.end_turn(turn, ", ".join(words[:_MOST_DESCRIBED]) + more, state.memory.interfaces)
    return json.dumps(outcome, sort_keys=True), went_well


def _end_turn(state: AgentState, reply: Reply, verdict: dict[str, Any] | None) -> None:
    if line := state.supervisor.end_turn(reply, verdict):
        state.report_turn(line)


def _end_if_stuck(state: AgentState, repeated: int) -> Ending | None:
    """Warn of equal turns in a row, and end the work after too many; a supervisor gets more time."""
    watched = state.supervisor.acts
    if repeated >= _TELL_AFTER:
        logger.debug("turn {}: the same call and result for the {}th time", state.conversation.turn, repeated)
    if repeated >= (_HOPELESS_AFTER if watched else _STUCK_AFTER):
        # Nobody says that the work is done, so the user's hooks are not asked (decision 91).
        verdict = state.chain.judge(completion_request(state, "", 0, claimed=False))
        return record_ending(state, STUCK, verdict, f"the same call with the same result {repeated} times in a row")
    if repeated >= _TELL_AFTER and not watched:
        state.memory.told(f"That was the same call with the same result {repeated} times in a row. Do something else.")
    return None


def _end_if_decided(state: AgentState, reply: Reply, verdict: dict[str, Any], continues: int) -> Ending | None:
    """Return the ending after a verdict; None if the model goes on. `continues`: refusals, this one included."""
    if verdict["block"] is None:
        state.report_turn("accepted")
        _end_turn(state, reply, verdict)
        return record_ending(state, ACCEPTED, verdict, "")
    if verdict["stop"] == TODO_FAILED:
        return record_ending(state, TODO_FAILED, verdict, verdict["detail"])
    if verdict["stop"] == TODO_WAITING:
        stop_for_user(state, TODO_WAITING, verdict["detail"])
        state.memory.told(WAITED.format(verdict["detail"]))
        return None
    if verdict["source"] == ADVICE:
        state.memory.rejected(verdict["feedback"])
        return None
    if not state.replaying:  # a copy for `pipeline rewind`
        state.events.rejected(continues, verdict["verification"]["tree_sha256"])
    # The same tree again and again: asking once more would pay for the same refusal.
    if continues > verdict["most"] or state.chain.same > _SAME_TREE or _is_over(state):
        return record_ending(state, HOOK_TAMPERED if verdict["tampered"] else EXHAUSTED, verdict, verdict["block"])
    state.memory.rejected(verdict["feedback"])
    return None


def _is_over(state: AgentState) -> bool:
    """Return whether another refusal is pointless because no model is left to act on it (decision 119)."""
    return state.conversation.journal.next_kind == "ending" if state.replaying else state.is_model_over


def judge_request(state: AgentState, text: str, continues: int, *, may_advise: bool = True) -> dict[str, Any]:
    """Judge a completion request. If only the user can fix the problem, the run ends and is judged again later."""
    while True:
        replaying = state.conversation.journal.replaying
        verdict = state.chain.judge(completion_request(state, text, continues, may_advise=may_advise))
        if not replaying:
            for line in [*verdict["messages"], *verdict["lines"]]:
                state.events.say(line)
        if verdict["stop"] in ("", TODO_FAILED, TODO_WAITING):
            return verdict
        stop_for_user(state, verdict["stop"], verdict["detail"])


def judge_again(state: AgentState, ending: Ending) -> Ending:
    """Judge an ending again if the tree or the sandbox changed since, without asking the agent."""
    journal, live = state.conversation.journal, False
    while journal.next_kind not in (MORE, TABLES) and (journal.replaying or not (live or state.holds(ending))):
        live = not journal.replaying  # once a start: what cannot be looked at as a whole is never as it was
        verdict = judge_request(state, "the work as it is now", state.most_continues, may_advise=False)
        if verdict["stop"] == TODO_WAITING:
            stop_for_user(state, TODO_WAITING, verdict["detail"])
            continue
        refused = verdict["stop"] or (HOOK_TAMPERED if verdict["tampered"] else EXHAUSTED)
        reason = ACCEPTED if verdict["block"] is None else refused
        if reason != ACCEPTED and not journal.replaying:
            state.events.rejected(_count_refusals(state), verdict["verification"]["tree_sha256"])
        ending = record_ending(state, reason, verdict, verdict["block"] or "")
    return ending


def goes_on(state: AgentState, ending: Ending, continues: int, most: int) -> bool:
    """Record and return whether the user now allows more than `most` attempts."""
    journal = state.conversation.journal
    if journal.replaying:
        more = journal.next_kind == MORE
    else:
        is_allowed = max(most, continues - 1) < state.most_continues
        more = is_allowed and ending.stop_reason == EXHAUSTED and not state.is_model_over
    if more:
        key = {"turn": state.conversation.turn}
        journal.replay_or_record(MORE, key, lambda: {"most": state.most_continues})
    return more


def hear_tables(state: AgentState, ending: Ending) -> str:
    """Record and return the results of the paper's tables once work is accepted; empty if there are none."""
    journal, attempt = state.conversation.journal, state.attempt
    if journal.replaying:
        is_due = journal.next_kind == TABLES
    else:
        heard = [row["result"]["attempt"] for row in journal.all_rows() if row["kind"] == TABLES]
        is_new = attempt is not None and attempt.number not in heard
        is_about = attempt is not None and attempt.tree_sha256 == ending.verification["tree_sha256"]
        is_due = is_new and is_about and not state.is_model_over
    if not is_due or ending.stop_reason != ACCEPTED:
        return ""
    key = {"turn": state.conversation.turn}
    row = journal.replay_or_record(
        TABLES, key, lambda: {"attempt": attempt.number, "text": attempt.text} if attempt else {}
    )
    return str(row["text"])


def _count_refusals(state: AgentState) -> int:
    verdicts = (row["result"] for row in state.conversation.journal.all_rows() if row["kind"] == "verdict")
    return sum(
        verdict["block"] is not None and not verdict["stop"] and verdict["claimed"] and verdict["source"] != ADVICE
        for verdict in verdicts
    )


def record_ending(state: AgentState, stop_reason: str, verdict: dict[str, Any], detail: str) -> Ending:
    turn = state.conversation.turn
    state.conversation.journal.replay_or_record("ending", {"turn": turn}, lambda: {"stop_reason": stop_reason})
    return Ending(stop_reason, turn, verdict["verification"], detail, verdict["feedback"])


def completion_request(
    state: AgentState, text: str, continues: int, *, claimed: bool = True, may_advise: bool = False
) -> CompletionRequest:
    """Return what the chain is asked. `claimed` is False if the model does not say that the work is done."""
    turn, todos, recent = state.conversation.turn, state.todo_list.todos, tuple(state.recent)
    may_advise = may_advise and not state.is_model_over
    return CompletionRequest(turn, text, todos, continues, state.most_continues, recent, claimed, may_advise)


def stop_for_user(state: AgentState, stop_reason: str, detail: str) -> None:
    """End the run here, once; the next start goes on from here. Raises Incomplete."""
    # Without the documents of phase 09: with them the phase would be done, and a resume would do nothing (decision 77).
    journal = state.conversation.journal
    was_stopped = journal.replaying
    key = {"turn": state.conversation.turn}
    journal.replay_or_record("stop", key, lambda: {"stop_reason": stop_reason, "detail": detail})
    if not was_stopped:
        raise Incomplete(
            f"{describe_reason(stop_reason)}: {' '.join(detail.split())[:400]}; when that is mended, resume the task",
            stop_reason=stop_reason,
        )
