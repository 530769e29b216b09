"""Asks again where that helps, within limits: the only place that waits for a server."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phases.llm.model import EMPTY, RATE_LIMITED, TRANSIENT, UNAVAILABLE, Reply, Request

MOST_TRIES = {UNAVAILABLE: 4, TRANSIENT: 4, EMPTY: 3}
"""Of replies that are no use to wait for, or that cost something each time."""
LONGEST_WAIT = 60.0
"""A server that wants to be left alone for longer than this is not waited for: the caller is told, and pauses the task."""
LONGEST_PATIENCE = 300.0
"""All waits of one question together, where a server is busy or cannot be reached."""
_FIRST, _CAP = 1.0, 30.0

Sleep = Callable[[float], None]


class Patience:
    """How often one question is asked again, and after what wait. Good for one question."""

    def __init__(self, chance: Callable[[], float], *, answered_before: bool = False) -> None:
        self._chance, self._answered_before = chance, answered_before
        self._met: Counter[str] = Counter()
        self._waited, self._begun = 0.0, time.monotonic()

    def next_wait(self, reply: Reply) -> float | None:
        """Seconds to wait before the next try; None: this reply is the last."""
        self._met[reply.outcome] += 1
        met = self._met[reply.outcome]
        if met >= MOST_TRIES.get(reply.outcome, 1) and not self._is_outage(reply):
            return None
        grown = min(_CAP, _FIRST * 2.0 ** (met - 1))
        # Spread, so that those who failed together do not come back together; and a server that says "at once" for
        # ever is not hammered either.
        wait = grown * (0.5 + self._chance() / 2) if reply.wait is None else max(reply.wait, grown / 4)
        if wait > LONGEST_WAIT or self._waited + wait > LONGEST_PATIENCE:
            return None
        self._waited += wait
        return wait

    def _is_outage(self, reply: Reply) -> bool:
        """Whether asking again is free and may help for as long as there is patience."""
        if reply.outcome == RATE_LIMITED:
            return True
        # What broke off in the middle was charged for, each time; and an address that never answered may be a wrong one.
        down = reply.outcome == UNAVAILABLE or (reply.outcome == TRANSIENT and self._answered_before)
        return down and not reply.tokens_in and time.monotonic() - self._begun < LONGEST_PATIENCE


def ask_patiently(
    ask: Callable[[Request], Reply],
    request: Request,
    *,
    sleep: Sleep = time.sleep,
    chance: Callable[[], float] = random.random,
) -> Reply:
    """The reply to a question, asked again as long as Patience allows. What failed tries cost is added to it."""
    from tenacity import RetryCallState, Retrying, retry_if_result

    patience = Patience(chance, answered_before=request.answered_before)
    waits, replies = list[float | None](), list[Reply]()

    def once() -> Reply:
        replies.append(ask(request))
        waits.append(patience.next_wait(replies[-1]))
        return replies[-1]

    def again(reply: Reply) -> bool:
        return waits[-1] is not None

    def wait(state: RetryCallState) -> float:
        request.on_wait(waits[-1] or 0.0, replies[-1].detail)
        return waits[-1] or 0.0

    def never(state: RetryCallState) -> bool:
        return False

    retrying: Any = Retrying(retry=retry_if_result(again), wait=wait, stop=never, sleep=sleep)
    retrying(once)
    return _add_costs(replies)


def _add_costs(replies: list[Reply]) -> Reply:
    last = replies[-1]
    detail = f"{last.detail}; asked {len(replies)} times" if last.detail and len(replies) > 1 else last.detail
    return replace(
        last,
        tokens_in=sum(reply.tokens_in for reply in replies),
        tokens_cached=sum(reply.tokens_cached for reply in replies),
        tokens_out=sum(reply.tokens_out for reply in replies),
        usd=sum(reply.usd for reply in replies),
        detail=detail,
    )
