"""One conversation with a model: recorded replies are not asked again, and new ones are paid for within the limits."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from phases.llm.journal import QUESTION, Journal, can_continue, digest_of, read_journal
from phases.llm.ledger import Ledger, LedgerCall, paid_replies
from phases.llm.ledger_rows import has_answered, longest_reply, tokens_at_most, usd_a_token
from phases.llm.model import (
    EMPTY,
    FATAL,
    MALFORMED,
    OK,
    OVERFLOW,
    RATE_LIMITED,
    REFUSED,
    TRANSIENT,
    TRUNCATED,
    UNAVAILABLE,
    AssumesWindow,
    Message,
    Model,
    Reply,
    Request,
    Room,
    dearest,
    message_of,
    most_tokens,
    reply_from_json,
    reply_to_json,
    room_of,
    tokens_of,
)
from pipeline.base.errors import Interrupted, Paused, PhaseError
from pipeline.base.files import set_aside
from pipeline.base.jsonl import repair_tail
from pipeline.base.logs import logger

MOST_REPAIRS = 3
"""Consecutive unusable replies before giving up."""
_USELESS = (TRUNCATED, EMPTY, MALFORMED, OVERFLOW)
_AGAIN = "pipeline resume {} (finished work is kept)"


class CallFailed(PhaseError):
    """There is no reply. `what` gives the reason, without the advice for a phase that can only stop."""

    def __init__(self, what: str, advice: str = "", *, flag: str = "") -> None:
        super().__init__(f"{what}; {advice}" if advice else what, flag=flag)
        self.what = what


class Unusable(CallFailed):
    """The model answers, but no answer can be used."""


class NoRoom(Unusable):
    """The model thinks for longer than a reply may be."""


class Conversation:
    """One thread of questions. `turn` counts its replies, also unusable ones."""

    def __init__(
        self,
        model: Model,
        journal: Journal,
        ledger: Ledger,
        thread: str,
        *,
        shown_again: bool = True,
        on_text: Callable[[int], None] = lambda characters: None,
        on_wait: Callable[[str], None] = lambda what: None,
    ) -> None:
        """`shown_again`: replies become part of later questions, so one that takes half the window is of no use; `on_text` is
        told how many characters of a reply have come, while it comes; `on_wait` that a server is waited for, and why.
        """
        self.model, self.journal, self.ledger, self.thread = model, journal, ledger, thread
        self.turn, self._useless = 0, 0
        self._known_limit = sys.maxsize
        """Longest reply by the server's word."""
        self._longest = model.window // 2 if shown_again else 0
        self.on_text, self.on_wait = on_text, on_wait
        ledger.recover(paid_replies(journal.rows(), thread, journal.run_of))

    def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        about: str = "",
        digest: str,
        lasting: Sequence[int] = (),
    ) -> Reply:
        """Return the next reply.

        Its outcome is ok, or it is unusable: truncated, empty, malformed or overflow; then its `detail` gives the reason, the
        caller may ask in another way, and MOST_REPAIRS in a row raise Unusable.

        Raises PhaseError if the model refuses or cannot be asked, Paused if a limit is reached. `digest` covers the whole
        question, and stays with the reply: a strict journal uses it for no other question. `lasting` is as in a Request.
        """
        cut: list[Reply] = []
        while True:
            self.turn += 1
            key = {"thread": self.thread, "turn": self.turn, QUESTION: digest}
            call = LedgerCall(self.thread, self.journal.run_of(self.turn), self.turn, about)
            room = most_tokens(self.model.window) if self.journal.replaying else self._room(messages, tools, cut, call)
            request = Request(
                *(messages, tools, schema, room, self.thread, self.turn, self.on_text),
                lasting=lasting,
                on_wait=lambda seconds, why: self.on_wait(f"waits {seconds:,.0f} s ({why})"),
            )
            if self.journal.replaying:
                logger.debug("{}, turn {}: the recorded reply is taken", self.thread, self.turn)
            row = self.journal.replay_or_record("reply", key, partial(self._paid, request, call))
            reply = reply_from_json(row)
            self.ledger.recover([(call, row["model"], reply)])
            # From the journal, too: else a resume would ask the same once more, and be refused the same.
            if reply.window and row["model"] == self.model.name and isinstance(self.model, AssumesWindow):
                self.model.learn_window(reply.window)
            if not reply.room:
                self._useless = self._useless + 1 if reply.outcome in _USELESS else 0
                return reply
            cut.append(reply)

    def _room(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], cut: Sequence[Reply], call: LedgerCall
    ) -> int:
        """Return the room for the next reply; `cut`: replies to this question that ended during thinking.

        Raises NoRoom where it cannot have more than those had.
        """
        window, told = self.model.window, room_of(self.model)
        least = most_tokens(window)
        tried = max((reply.room for reply in cut), default=0)
        wanted = min(max(told.first or least, 2 * tried), told.most, self._known_limit)
        if wanted > least:
            asked = sum(message.tokens for message in messages) + _tokens_of_tools(tools)
            wanted = min(wanted, max(least, window - asked))
        if wanted > tried and (told.first > tried or not _cut_elsewhere(cut)):
            return wanted
        where = f"{self.model.name}, turn {call.turn - 1} of {call.thread}"
        flag = f"--max-output-tokens {2 * tried}"
        raise NoRoom(
            f"{where}: the model used up {tried:,} tokens in thinking and gave no answer, and a reply may have no more "
            f"({_why_no_more(cut, told, window)}); give it more with: pipeline resume {self.ledger.task} "
            f"{flag}, or choose another model with --plan-model or --code-model",
            flag=flag,
        )

    def _paid(self, request: Request, call: LedgerCall) -> dict[str, Any]:
        tokens, usd = self._least(request)
        counts = bool(usd) or not self.model.priced
        with self.ledger.alone():
            request = self._affordable(request, tokens, usd)
            if counts:  # a run may be killed in the call, or end during it: then this note is its cost (decision 116)
                self.ledger.begin(call, self.model.name, tokens, usd)
        before = has_answered(self.ledger.rows(), self.model.name)
        try:
            request = replace(request, answered_before=before)
            reply = self.model.ask(request)
            if reply.limit:
                logger.debug("{} takes no reply over {:,} tokens: asked again with that", self.model.name, reply.limit)
                self._known_limit = reply.limit
                reply = self.model.ask(replace(request, most_tokens=reply.limit))
            reply = _check_reply(reply, self._longest)
            spent = (reply.tokens_in, reply.tokens_out, reply.usd)
            logger.debug("{}, turn {}: {}, {:,} + {:,} tokens, ${:.4f}", self.thread, call.turn, reply.outcome, *spent)
        except Interrupted:  # a call that was cut off from this side is paid for, too, as far as it came
            self.ledger.release(self.thread)
            if counts:
                told = "interrupted; what it cost is an estimate"
                reply = Reply(TRANSIENT, "", (), tokens, usd=usd, detail=told)
                self.ledger.record(call, self.model.name, reply, used=False)
            raise
        if reply.outcome == OK or reply.room or (reply.outcome in _USELESS and self._useless < MOST_REPAIRS):
            prompt = prompt_version(request.messages, request.tools)
            return {**reply_to_json(reply), "model": self.model.name, "about": call.about, "prompt": prompt}
        self.ledger.record(
            call, self.model.name, reply, used=False
        )  # not journalled: the next run asks again (decision 27)
        raise self._ending(reply, call, answered=before or reply.tokens_in > 0)

    def _affordable(self, request: Request, tokens: int, usd: float) -> Request:
        """Return the request with no more room than the budget allows. Raises Paused if that is too little for a likely reply."""
        # decision 169: the cap holds for the call in flight too; a likely reply must fit, or the money is spent for nothing.
        rows, model = self.ledger.rows(), self.model
        if model.priced:
            usd = max(usd, dearest(model, tokens_at_most(rows, model.name, tokens)))
        likely = model.price(0, min(longest_reply(rows, self.thread, model.name), request.most_tokens))
        worst = usd + model.price(0, request.most_tokens)
        left = self.ledger.enforce_limits(model, self.thread, usd + likely, most=worst)
        if left == math.inf or not model.price(0, 1_000_000):
            return request
        room = math.floor((left - usd) / model.price(0, 1_000_000) * 1_000_000)
        return replace(
            request, most_tokens=min(request.most_tokens, max(1, room)), most_usd=left, worst_usd=min(worst, left)
        )

    def _least(self, request: Request) -> tuple[int, float]:
        """Estimate the cost of a question without its answer: tokens, dollars."""
        tokens = _tokens_of_tools(request.tools) + sum(message.tokens for message in request.messages)
        if self.model.priced:
            return tokens, self.model.price(tokens, 0)
        return tokens, tokens * usd_a_token(self.ledger.rows(), self.model.name)

    def _ending(self, reply: Reply, call: LedgerCall, *, answered: bool) -> PhaseError | Paused:
        where, again = f"{self.model.name}, turn {call.turn} of {call.thread}", _AGAIN.format(self.ledger.task)
        retry = f"try again with: {again}"
        wait = f" and asks to wait {reply.wait:,.0f} s" if reply.wait else ""
        if reply.outcome == RATE_LIMITED:
            return Paused(
                f"rate limited: {where}: the server accepts no more calls now{wait} ({reply.detail}); {retry}"
            )
        if reply.outcome == UNAVAILABLE or (reply.outcome == TRANSIENT and answered):
            return Paused(f"unavailable: {where}: the server does not answer now{wait} ({reply.detail}); {retry}")
        if reply.outcome == REFUSED:
            return Unusable(
                f"refused: {where}: the model will not do this ({reply.detail}); nothing it said was used; choose another with "
                "--plan-model or --code-model"
            )
        if reply.outcome in _USELESS:
            told = f"{MOST_REPAIRS + 1} replies in a row could not be used, the last one {reply.outcome}"
            return Unusable(f"{where}: {told} ({reply.detail})", retry)
        if reply.outcome == FATAL:  # trying again helps only when what it says is mended
            return CallFailed(f"{where}: {reply.detail}", f"then: {again}")
        return CallFailed(f"{where}: {reply.outcome}: {reply.detail}", retry)


def _cut_elsewhere(cut: Sequence[Reply]) -> bool:
    """Return whether the server has a limit of its own, so that more room did not help."""
    return len(cut) > 1 and cut[-1].tokens_out * 2 < cut[-1].room and cut[-1].tokens_out <= cut[-2].tokens_out


def _why_no_more(cut: Sequence[Reply], room: Room, window: int) -> str:
    if _cut_elsewhere(cut):
        return f"the server cuts it off after {cut[-1].tokens_out:,}: raise the limit there"
    if cut[-1].room >= room.most:
        return "that is the limit of max_output_tokens, or the model's own"
    return f"its window is {window:,} tokens: if it is larger, say so with context_tokens"


@dataclass(frozen=True)
class Record:
    """Journal and listeners of a conversation."""

    journal: str
    """Path of its journal."""
    ledger: Ledger
    in_place: Callable[[], None]
    """Raises where the task was moved, before anything is written into it."""


def open_conversation(
    model: Model,
    record: Record,
    header: Mapping[str, Any],
    *,
    begun: Mapping[str, Any] | None = None,
    is_same: Callable[[list[dict[str, Any]]], bool] = lambda rows: True,
    on_set_aside: Callable[[str], None] = lambda name: None,
    shown_again: bool = True,
    on_wait: Callable[[str], None] = lambda what: None,
) -> Conversation:
    """Go on with what is recorded where it is of this work, and begin anew otherwise: the old journal is set aside.

    `header` says what the work is, its `thread` among the rest; `begun` is kept of how it began, `is_same` may look closer at
    recorded rows, `on_set_aside` hears the name of a journal that was set aside; `shown_again` and `on_wait` are a
    Conversation's. Raises PhaseError for a damaged journal, StorageError.
    """
    record.in_place()
    if not can_continue(record.journal, header, is_same):
        aside = os.path.basename(set_aside(record.journal))
        logger.debug("{} belongs to other work: it is kept as {}", os.path.basename(record.journal), aside)
        on_set_aside(aside)
    thread = header["thread"]
    journal = Journal(record.journal, header, record.ledger.next_run(thread), record.in_place, begun=begun)
    logger.debug("{}: run {}, {} recorded steps to replay", thread, journal.run, len(journal.rows()))
    return Conversation(model, journal, record.ledger, thread, shown_again=shown_again, on_wait=on_wait)


def question_digest(messages: Sequence[Message], schema: Mapping[str, Any] | None) -> str:
    """Return the digest of all that is sent, by which a question is recognized."""
    parts: list[str | bytes] = [part for message in messages for part in (message.role, message.text)]
    parts += [message.digest for message in messages if message.reasoning or message.pictures]
    parts.append(json.dumps(schema, sort_keys=True))
    return sha256(b"".join(map(digest_of, parts))).hexdigest()


def prompt_version(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the version of the prompts: a digest of the system's orders and the tools, without the task."""
    said = [message.text for message in messages if message.role == "system"]
    return sha256(json.dumps([said, [dict(tool) for tool in tools]], sort_keys=True).encode()).hexdigest()[:8]


def keep_window(model: Model, path: str) -> None:
    """Keep the window that recorded work began with, unless the user set one.

    A server may state another one later, and the work would be asked all over again.
    """
    # decision 131
    if not isinstance(model, AssumesWindow):
        return
    repair_tail(path)
    with contextlib.suppress(PhaseError):  # a damaged one is named by who works with it
        header = next(iter(read_journal(path)), {})
        window = header.get("window")
        if header.get("model") == model.name and isinstance(window, int) and window > 0:
            model.take_window(window)


def _tokens_of_tools(tools: Sequence[Mapping[str, Any]]) -> int:
    return tokens_of(json.dumps(list(map(dict, tools)))) if tools else 0


def _check_reply(reply: Reply, longest: int) -> Reply:
    """Return the reply, or an unusable one if its calls share an id or it is too long to continue."""
    if len({call.id for call in reply.calls}) != len(reply.calls):
        return replace(reply, outcome=MALFORMED, detail="two calls have the same id")
    size = Message("assistant", reply.text, reply.calls).tokens
    if reply.outcome == OK and longest and size > longest:
        told = f"it is longer than is allowed (about {size:,} tokens, and there is room for {longest:,})"
        return replace(reply, outcome=TRUNCATED, text="", calls=(), reasoning={}, detail=told)
    if longest and message_of(reply).tokens > longest:
        return replace(reply, reasoning={})  # it can be shown again without what the model thought
    return reply
