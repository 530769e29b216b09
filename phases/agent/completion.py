"""A claim of the model to be done: how it is put to the chain, and how a run ends that only its user can mend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phases.acceptance.gate import ADVICE, CompletionRequest
from phases.acceptance.stop_reasons import (
    ACCEPTED,
    EXHAUSTED,
    HOOK_TAMPERED,
    TODO_FAILED,
    TODO_WAITING,
    describe_reason,
)
from phases.agent.agent_state import AgentState, Ending
from pipeline.base.errors import Incomplete

WAITED = (
    "You said that required todos wait for somebody: {}. The user has started the run again. Look whether what they waited for "
    "is there now, set them to in_progress, and go on."
)
"""What the model is told when the user starts a run again that waited."""
if TYPE_CHECKING:  # few runs have one
    from phases.reproduction.attempts import Attempt

MORE, TABLES = "more", "tables"
"""The journal's words for: the user allows more attempts, and the work goes on; the paper's tables came out otherwise."""


def judge_request(state: AgentState, text: str, continues: int, *, may_advise: bool = True) -> dict[str, Any]:
    """The decision on a claim to be done. Where only the user can mend what is wrong, the run ends, and is judged anew later."""
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
    """The ending, judged anew where the tree or the sandbox is another one since: a hand edit, say. The agent is not asked."""
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
    """Whether the user allows more attempts since the work ended for want of them, `most` at that time. That is on record."""
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
    """What the model is told of the paper's tables once its work is accepted; empty where that is nothing. It is on record."""
    journal, attempt = state.conversation.journal, state.attempt
    if journal.replaying:
        is_due = journal.next_kind == TABLES
    else:
        heard = [row["result"]["attempt"] for row in journal.all_rows() if row["kind"] == TABLES]
        is_new = attempt is not None and attempt.number not in heard
        is_due = is_new and _is_about(attempt, ending) and not state.is_model_over
    if not is_due or ending.stop_reason != ACCEPTED:
        return ""
    key = {"turn": state.conversation.turn}
    row = journal.replay_or_record(
        TABLES, key, lambda: {"attempt": attempt.number, "text": attempt.text} if attempt else {}
    )
    return str(row["text"])


def _is_about(attempt: Attempt | None, ending: Ending) -> bool:
    """Whether the tables came from the very code that is accepted now."""
    return attempt is not None and bool(ending.verification["tree_sha256"] == attempt.tree_sha256)


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
    """Ends the run here, once: when the user starts it again, it goes on from here. Raises Incomplete."""
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
