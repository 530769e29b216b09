"""A model behind a server, as the agent sees it: asked patiently, priced, and with no key of ours in what it says.

Nothing else waits for a server; tenacity holds the policy.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_result, stop_any, wait_exponential
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from phases.llm.adapters.connection import Connection, Timeouts
from phases.llm.adapters.streams import ModelListing
from phases.llm.error_classification import Server
from phases.llm.model import (
    EMPTY,
    FATAL,
    RATE_LIMITED,
    TRANSIENT,
    UNAVAILABLE,
    UNKNOWN_WINDOW,
    Model,
    Reachability,
    Reply,
    Request,
    Room,
)
from phases.llm.prices import Tariff, Usage, tariff_of
from phases.llm.providers import Access, Provider, address_of, key_fault, key_of, secrets_in
from phases.llm.redaction import redact_reply, redact_text
from pipeline.base.logs import logger


class Adapter(Protocol):
    """One wire format: asks once, and says how that went. A module of one has open_adapter(provider, connection, tariff)."""

    def ask(self, request: Request) -> Reply: ...

    def check(self) -> ModelListing: ...


@dataclass(frozen=True)
class Timing:
    sleep: Sleep = time.sleep
    chance: Callable[[], float] = random.random


def open_server_model(
    name: str, provider: Provider, access: Access, *, timeouts: Timeouts | None = None, timing: Timing | None = None
) -> Model:
    """A model behind a server, at the address that is given, whoever it is; tests bring timeouts of their own."""
    base_url = address_of(provider, access.base_url)
    key = key_of(provider, access.key, access.environment)
    secrets = secrets_in((access.key, *access.unsent), access.environment)
    host = urlsplit(base_url).netloc
    server = Server(provider.name, host, name.partition(":")[2], provider.key_variable, secrets)
    connection = Connection(server, base_url, key, timeouts or Timeouts(silence=provider.silence))
    tariff = tariff_of(name, access.prices)
    if access.context_tokens:
        tariff = tariff._replace(window=access.context_tokens)
    # late: the adapter of the other wire format is not needed
    adapter: Adapter = import_module(provider.wire.adapter).open_adapter(provider, connection, tariff)
    room, fault = room_for(name, access.most_output), key_fault(provider, key)
    logger.debug("{} is asked at {}; its window: {:,} by the table", name, host, tariff.window)
    return ServedModel(name, provider, adapter, server, tariff, room=room, fault=fault, timing=timing or Timing())


class ServedModel:
    def __init__(
        self, name: str, provider: Provider, adapter: Adapter, server: Server, tariff: Tariff, *,
        room: Room, fault: str, timing: Timing,
    ) -> None:  # fmt: skip
        self.name, self.room = name, room
        self.detail, self.secrets = f"{server.model} at {server.host}", server.secrets
        self.priced, self.reports_cost = tariff.known, provider.reports_cost
        self._adapter, self._tariff, self._fault, self._timing = adapter, tariff, fault, timing
        self._told_window: int | None = None
        """What the server says, 0 where it says nothing; None: it was not asked yet."""
        self._listed: ModelListing | None = None
        """What it answered when it was asked for that, for the next check."""

    @property
    def window(self) -> int:
        """As the user says, else the table, else the server; else a careful guess."""
        if not self._tariff.window and self._told_window is None:
            self._listed = self._list()
        return self._tariff.window or self._told_window or UNKNOWN_WINDOW

    @property
    def window_is_assumed(self) -> bool:
        return self.window == UNKNOWN_WINDOW and not (self._tariff.window or self._told_window)

    def take_window(self, window: int) -> None:
        """Takes the window that recorded work was begun with, where neither the user nor the table says one."""
        self._told_window = window

    def ask(self, request: Request) -> Reply:
        """One reply, after as many tries as make sense. Nothing is raised but Interrupted."""
        if self._fault:
            return Reply(FATAL, detail=self._fault)
        reply = ask_patiently(self._adapter.ask, request, sleep=self._timing.sleep, chance=self._timing.chance)
        return redact_reply(reply, self.secrets)

    def check(self) -> Reachability:
        """Whether it can be asked, by a question that costs nothing."""
        found, self._listed = self._listed or self._list(), None
        return Reachability(found.reachable, redact_text(found.detail, self.secrets))

    def _list(self) -> ModelListing:
        found = ModelListing(False, self._fault) if self._fault else self._adapter.check()
        self._told_window = self._told_window or found.window
        return found

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost where the provider's cache has no part in it."""
        return self._tariff.usd(Usage(tokens_in, 0, tokens_out))


THINKS = 32_768
_REPLY_LIMITS = (
    # The beginning of a model's name; how much it gets at first (0: as much as any other), and its own limit (0: not known).
    ("gpt-4.1", 0, 32_768),
    ("gpt-4o", 0, 16_384),
    ("gpt-5", THINKS, 128_000),
    ("gpt-6", THINKS, 0),
    ("o3", THINKS, 100_000),
    ("o4-mini", THINKS, 100_000),
    ("claude-opus-4-1", 0, 32_000),
    ("claude-opus-4-5", THINKS, 64_000),
    ("claude-sonnet-4-5", THINKS, 64_000),
    ("claude-haiku-4-5", THINKS, 64_000),
    ("claude-opus", THINKS, 0),
    ("claude-sonnet", THINKS, 0),
    ("claude-fable", THINKS, 0),
    ("deepseek-reasoner", THINKS, 64_000),
    ("deepseek-r1", THINKS, 0),
    ("kimi-k2-thinking", THINKS, 0),
)


def room_for(name: str, setting: int) -> Room:
    """What a model gets: what the user says, else what is known of it. `name` is as in the setting `model`."""
    if setting:
        return Room(setting, setting)
    plain = name.partition(":")[2].rpartition("/")[2].lower().replace(".", "-")
    found = [row for row in _REPLY_LIMITS if plain.startswith(row[0].replace(".", "-"))]
    _, first, most = max(found, key=lambda row: len(row[0]), default=("", 0, 0))
    return Room(first, most or Room().most)


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
        # decision 132: what broke off in the middle was charged for, and an address that never answered may be wrong.
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
