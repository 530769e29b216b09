"""A claim of the model to be done: how it is put to the chain, and how a run ends that only its user can mend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phases.acceptance.decision import Claim
from phases.acceptance.stop_reasons import ACCEPTED, EXHAUSTED, HOOK_TAMPERED, TODO_FAILED, TODO_WAITING
from phases.agent.agent_state import Ending, Run
from pipeline.base.errors import Incomplete

WAITED = (
    "You said that required todos wait for somebody: {}. The user has started the run again. Look whether what they waited for "
    "is there now, set them to in_progress, and go on."
)
"""What the model is told when the user starts a run again that waited."""


def verdict_on(run: Run, text: str, continues: int) -> dict[str, Any]:
    """The decision on a claim to be done. Where only the user can mend what is wrong, the run ends, and is judged anew later."""
    while True:
        replaying = run.conversation.journal.replaying
        verdict = run.chain.judge(claim_of(run, text, continues))
        if not replaying:
            for line in [*verdict["messages"], *verdict["lines"]]:
                run.say(line)
        if verdict["stop"] in ("", TODO_FAILED, TODO_WAITING):
            return verdict
        halt(run, verdict["stop"], verdict["detail"])


def judged_again(run: Run, ending: Ending, holds: Callable[[Ending], bool]) -> Ending:
    """The ending, judged anew where the tree or the sandbox is another one since: a hand edit, say. The agent is not asked."""
    journal, live = run.conversation.journal, False
    while journal.replaying or not (live or holds(ending)):
        live = not journal.replaying  # once a start: what cannot be looked at as a whole is never as it was
        verdict = verdict_on(run, "the work as it is now", run.most_continues)
        if verdict["stop"] == TODO_WAITING:
            halt(run, TODO_WAITING, verdict["detail"])
            continue
        refused = verdict["stop"] or (HOOK_TAMPERED if verdict["tampered"] else EXHAUSTED)
        reason = ACCEPTED if verdict["block"] is None else refused
        if reason != ACCEPTED and not journal.replaying:
            run.keep_ending(_refusals(run), verdict["verification"]["tree_sha256"])
        ending = ended(run, reason, verdict, verdict["block"] or "")
    return ending


def _refusals(run: Run) -> int:
    """How often the work was refused by now."""
    verdicts = (row["result"] for row in run.conversation.journal.all_rows() if row["kind"] == "verdict")
    return sum(verdict["block"] is not None and not verdict["stop"] and verdict["claimed"] for verdict in verdicts)


def ended(run: Run, stop_reason: str, verdict: dict[str, Any], detail: str) -> Ending:
    """Records how the run ends, so far."""
    turn = run.conversation.turn
    run.conversation.journal.once("ending", {"turn": turn}, lambda: {"stop_reason": stop_reason})
    return Ending(stop_reason, turn, verdict["verification"], detail)


def claim_of(run: Run, text: str, continues: int, *, claimed: bool = True) -> Claim:
    """What the chain is asked. `claimed` is False where it is to look at the work though nobody says that it is done."""
    turn, todos, recent = run.conversation.turn, run.todo_list.todos, tuple(run.recent)
    return Claim(turn, text, todos, continues, run.most_continues, recent, claimed)


def halt(run: Run, stop_reason: str, detail: str) -> None:
    """Ends the run here, once: when the user starts it again, it goes on from here. Raises Incomplete."""
    journal = run.conversation.journal
    was_stopped = journal.replaying
    key = {"turn": run.conversation.turn}
    journal.once("stop", key, lambda: {"stop_reason": stop_reason, "detail": detail})
    if not was_stopped:
        raise Incomplete(
            f"{stop_reason}: {' '.join(detail.split())[:400]}; when that is mended, resume the task",
            stop_reason=stop_reason,
        )
