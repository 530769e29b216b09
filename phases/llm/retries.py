"""Asks again where that helps, within limits: the only place that waits for a server. tenacity holds the policy."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_result, stop_any, wait_exponential
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from phases.llm.model import EMPTY, RATE_LIMITED, TRANSIENT, UNAVAILABLE, Reply, Request
from pipeline.base.logs import logger

MOST_TRIES = {UNAVAILABLE: 4, TRANSIENT: 4, EMPTY: 3}
"""Of replies that are no use to wait for, or that cost something each time."""
LONGEST_WAIT = 60.0
"""A server that wants to be left alone for longer than this is not waited for: the caller is told, and pauses the task."""
LONGEST_PATIENCE = 300.0
"""All waits of one question together, where a server is busy or cannot be reached."""

Sleep = Callable[[float], None]


def ask_patiently(
    ask: Callable[[Request], Reply],
    request: Request,
    *,
    sleep: Sleep = time.sleep,
    chance: Callable[[], float] = random.random,
) -> Reply:
    """The reply to a question, asked again as long as that may help. What failed tries cost is added to it."""
    replies: list[Reply] = []

    def ask_once() -> Reply:
        replies.append(ask(request))
        return replies[-1]

    def before_wait(state: RetryCallState) -> None:
        logger.debug("try {} was {}: waits {:.1f} s", len(replies), replies[-1].outcome, state.upcoming_sleep)
        request.on_wait(state.upcoming_sleep, replies[-1].detail)

    policy = Retrying(
        retry=retry_if_result(lambda reply: reply.outcome in (RATE_LIMITED, *MOST_TRIES)),
        wait=_WaitAsTold(chance),
        stop=stop_any(_StopAfterTries(request.answered_before), _StopBeforeLongWait()),
        before_sleep=before_wait,
        sleep=sleep,
        retry_error_callback=_reply_of,
    )
    policy(ask_once)
    return _add_costs(replies)


class _WaitAsTold(wait_base):
    """As long as the server's Retry-After says, else exponentially longer."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance, self._grow = chance, wait_exponential(multiplier=1.0, max=30.0)

    def __call__(self, retry_state: RetryCallState) -> float:
        grown, told = self._grow(retry_state), _reply_of(retry_state).wait
        # Spread, so that those who failed together do not come back together; and a server that says "at once" for
        # ever is not hammered either.
        return grown * (0.5 + self._chance() / 2) if told is None else max(told, grown / 4)


class _StopAfterTries(stop_base):
    """Stops where a kind of failure was met as often as it may be, and asking again is not free. Good for one question."""

    def __init__(self, answered_before: bool) -> None:
        self._answered_before = answered_before
        self._met: Counter[str] = Counter()

    def __call__(self, retry_state: RetryCallState) -> bool:
        reply = _reply_of(retry_state)
        self._met[reply.outcome] += 1
        return reply.outcome != RATE_LIMITED and (
            self._met[reply.outcome] >= MOST_TRIES[reply.outcome] and not self._is_outage(reply, retry_state)
        )

    def _is_outage(self, reply: Reply, state: RetryCallState) -> bool:
        """Whether asking again is free and may help for as long as there is patience."""
        # What broke off in the middle was charged for, each time; and an address that never answered may be a wrong one.
        down = reply.outcome == UNAVAILABLE or (reply.outcome == TRANSIENT and self._answered_before)
        return down and not reply.tokens_in and (state.seconds_since_start or 0.0) < LONGEST_PATIENCE


class _StopBeforeLongWait(stop_base):
    """Stops where the next wait would be too long, alone or with those before it."""

    def __call__(self, retry_state: RetryCallState) -> bool:
        wait = retry_state.upcoming_sleep
        return wait > LONGEST_WAIT or retry_state.idle_for + wait > LONGEST_PATIENCE


def _reply_of(state: RetryCallState) -> Reply:
    outcome: Any = state.outcome
    reply: Reply = outcome.result()
    return reply


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
