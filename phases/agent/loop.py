"""The loop: ask, act, observe, until the work is accepted or a limit says stop. Its whole state is the journal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from phases.agent.acceptance import MOST_CONTINUES, NOT_VERIFIED, judge
from phases.agent.journal import Journal, request_digest
from phases.agent.model import Message, Model, Reply, ToolCall, reply_from_json, reply_to_json
from phases.agent.tools import Tools
from phases.agent.workspace import Workspace
from pipeline.errors import PhaseError

MOST_TURNS = 400
OK = "ok"
_GO_ON = "what is written is kept; go on with: pipeline resume"


@dataclass
class Run:
    """What the loop works with, and the transcript as it grows."""

    model: Model
    tools: Tools
    workspace: Workspace
    journal: Journal
    plan: dict[str, Any]
    sandbox: str
    messages: list[Message]
    deadline: float | None = None
    """time.monotonic() after which no further turn begins."""
    on_turn: Callable[[], None] = lambda: None
    usage: dict[str, Any] = field(default_factory=lambda: {"calls": 0, "tokens_in": 0, "tokens_out": 0, "usd": 0.0})


@dataclass(frozen=True)
class Ending:
    """How the loop ended."""

    stop_reason: str
    """accepted, accept_continue_exhausted or turn_limit."""
    turns: int
    verification: dict[str, Any]
    detail: str = ""


def work(run: Run) -> Ending:
    """Drives the model until an ending. On resume the same steps are walked again, answered by the journal."""
    _restore(run)
    digest, told, continues = "", 0, 0
    verdict: dict[str, Any] = {"block": None, "verification": {**NOT_VERIFIED, "sandbox": run.sandbox}}
    for turn in range(1, MOST_TURNS + 1):
        if run.deadline is not None and time.monotonic() > run.deadline:
            raise PhaseError(f"the time for this phase is used up after {turn - 1} turns; {_GO_ON}")
        digest, told = _digest_of_new(run, digest, told)
        reply = _ask(run, turn, digest)
        run.messages.append(Message("assistant", reply.text, reply.calls))
        if reply.calls:
            _act(run, turn, reply)
            run.on_turn()
            continue
        verdict = run.journal.once("verdict", {"turn": turn}, lambda: judge(run.workspace, run.plan, run.sandbox))
        if verdict["block"] is None:
            return Ending("accepted", turn, verdict["verification"])
        continues += 1
        if continues > MOST_CONTINUES:
            return Ending("accept_continue_exhausted", turn, verdict["verification"], verdict["block"])
        run.messages.append(Message("user", f"Not accepted yet. Mend this:\n{verdict['block']}"))
    return Ending("turn_limit", MOST_TURNS, verdict["verification"], f"{MOST_TURNS} turns")


def _ask(run: Run, turn: int, digest: str) -> Reply:
    def ask() -> dict[str, Any]:
        reply = run.model.ask(run.messages, run.tools.schemas())
        if reply.outcome != OK:  # raised, not recorded: the next run asks again
            raise PhaseError(
                f"the model gave no usable reply in turn {turn} ({reply.outcome}: {reply.detail}); {_GO_ON}"
            )
        return reply_to_json(reply)

    reply = reply_from_json(run.journal.once("reply", {"turn": turn, "request": digest}, ask))
    run.usage["calls"] += 1
    for name in ("tokens_in", "tokens_out", "usd"):
        run.usage[name] += getattr(reply, name)
    if len({call.id for call in reply.calls}) != len(reply.calls):
        raise PhaseError(f"turn {turn}: the model gave two tool calls the same id")
    return reply


def _act(run: Run, turn: int, reply: Reply) -> None:
    for call in reply.calls:
        result = run.journal.once("result", {"turn": turn, "call": call.id}, partial(run.tools.answer, call))
        prefix = "error: " if result["failed"] else ""
        run.messages.append(Message("tool", prefix + result["text"], call_id=call.id))


def _restore(run: Run) -> None:
    """Writes files again that a run before this one wrote and that are gone since, with what was written last."""
    failed = {
        (row["key"]["turn"], row["key"]["call"])
        for row in run.journal.rows()
        if row["kind"] == "result" and row["result"]["failed"]
    }
    last: dict[str, ToolCall] = {}
    for row in run.journal.rows():
        for call in reply_from_json(row["result"]).calls if row["kind"] == "reply" else ():
            if call.name == "Write" and (row["key"]["turn"], call.id) not in failed:
                last[str(call.arguments.get("path"))] = call
    for path, call in last.items():
        if not run.workspace.exists(path):
            run.tools.answer(call)


def _digest_of_new(run: Run, digest: str, told: int) -> tuple[str, int]:
    for message in run.messages[told:]:
        added = [
            message.role,
            message.text,
            [[call.id, call.name, dict(call.arguments)] for call in message.calls],
            message.call_id,
        ]
        digest = request_digest(digest, json.dumps(added, ensure_ascii=True, sort_keys=True))
    return digest, len(run.messages)
