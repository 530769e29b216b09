"""Model behind a server: asked patiently, priced, and with our keys redacted from its replies.

Nothing else waits for a server; tenacity holds the policy.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_result, stop_any, wait_exponential
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from phases.llm.adapters.connection import Connection, Timeouts
from phases.llm.adapters.streams import ModelListing
from phases.llm.adapters.window_probes import ask_window
from phases.llm.error_classification import Server
from phases.llm.live_words import LiveWords
from phases.llm.model import (
    EMPTY,
    FATAL,
    RATE_LIMITED,
    TRANSIENT,
    UNAVAILABLE,
    Model,
    Reachability,
    Reply,
    Request,
    Room,
    describe_pictures,
    describe_unknown_window,
)
from phases.llm.prices import Tariff, Usage, facts_by_name, tariff_of
from phases.llm.providers import Access, Provider, address_of, key_fault, key_of, secrets_in
from phases.llm.redaction import redact_reply, redact_text
from pipeline.base.errors import PhaseError
from pipeline.base.http.proxy import client_proxy, find_proxy
from pipeline.base.logs import logger, show_words


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
    """Open a model behind a server at the given address; tests pass their own timeouts."""
    base_url = address_of(provider, access.base_url)
    key = key_of(provider, access.key, access.environment)
    secrets = secrets_in((access.key, *access.unsent), access.environment)
    host = urlsplit(base_url).netloc
    parts, proxy = urlsplit(base_url), find_proxy(access.environment)
    way = client_proxy(access.environment, parts.hostname or "", parts.port or 0)
    proxied = proxy and proxy.is_for(parts.hostname or "", parts.port or 0) and (way or parts.scheme == "https")
    server = Server(
        *(provider.name, host, name.partition(":")[2], provider.key_variable, secrets),
        proxy=proxy.name if proxy and proxied else "",
    )
    usual = Timeouts(first=FLEX_SECONDS if access.flex else Timeouts().first, silence=provider.silence)
    connection = Connection(server, base_url, key, timeouts or usual, way)
    tariff = tariff_of(name, access.prices)
    facts = facts_of(name, tariff)
    # late: the adapter of the other wire format is not needed
    adapter: Adapter = import_module(_choose_adapter(provider, facts, access.openai_api)).open_adapter(
        provider, connection, facts
    )
    room, fault = room_for(facts, access.most_output), key_fault(provider, key)
    windows = Windows(access.context_tokens, tariff.window, facts.window, partial(ask_window, connection))
    logger.debug("{} is asked at {}; its window: {:,} by the table", name, host, facts.window)
    return ServedModel(
        *(name, provider, adapter, server, facts, windows),
        room=room, effort=access.effort, flex=access.flex and bool(provider.flex), fault=fault, timing=timing or Timing(),
    )  # fmt: skip


def _choose_adapter(provider: Provider, facts: Tariff, said: str) -> str:
    """Return the module that speaks to a model: OpenAI's reasoning models keep their thoughts on the Responses API alone."""
    if not provider.wire.responses or said == "chat":
        return provider.wire.adapter
    reasons = provider.name == "openai" and any(mark in facts.marks for mark in "rR")
    return provider.wire.responses if said == "responses" or reasons else provider.wire.adapter


class Windows(NamedTuple):
    """Known sizes of a model's window; 0: unknown."""

    said: int
    """Window by the user."""
    listed: int
    """Window in the price table, under the vendor's name."""
    usual: int
    """Usual window of that model on any server."""
    asked: Callable[[], int]
    """Ask a server in its own way, besides its list of models."""


class ServedModel:
    def __init__(
        self, name: str, provider: Provider, adapter: Adapter, server: Server, facts: Tariff, windows: Windows, *,
        room: Room, effort: str, flex: bool, fault: str, timing: Timing,
    ) -> None:  # fmt: skip
        self.name, self.room, self.marks = name, room, facts.marks
        self.sees = "v" in facts.marks
        self.detail, self.secrets = f"{server.model} at {server.host}", server.secrets
        self.priced, self.reports_cost = facts.known, provider.reports_cost
        self._provider = provider
        self._adapter, self._tariff, self._fault, self._timing = adapter, facts, fault, timing
        self._windows, self._recorded, self._effort, self._flex = windows, 0, effort, flex
        # Ollama cuts a longer request off at its front without a word, so there nothing is assumed.
        self._assumes = provider.name != "ollama"
        self._refused_at = 0
        """The window that the server named when a request was too long; 0: none was."""
        self._told_window: int | None = None
        """Window by the server, 0 if it states none; None: not asked yet."""
        self._listed: ModelListing | None = None
        """The server's answer to that request, for the next check."""

    @property
    def window(self) -> int:
        """Return the window by the user, else by recorded work, the vendor's table, the server, or the usual one.

        Raises PhaseError if it is unknown: with a guess, a paper would be planned from notes unnoticed.
        """
        known = self._windows.said or self._recorded or self._windows.listed
        if self._refused_at:
            return min(known or self._refused_at, self._refused_at)
        if not known and self._told_window is None:
            self._listed = self._list()
        if known := known or self._told_window or (self._windows.usual if self._assumes else 0):
            return known
        if self._listed is not None and not self._listed.reachable:
            raise PhaseError(f"{self.name}: {redact_text(self._listed.detail, self.secrets)}")
        raise PhaseError(describe_unknown_window(self.name), flag="--context-tokens N")

    def assumes_window(self) -> bool:
        """Return whether the window is only the usual one of this model."""
        known = self._windows.said or self._recorded or self._windows.listed
        return not known and bool(self.window) and not self._told_window

    def take_window(self, window: int) -> None:
        """Take the window that recorded work was begun with, where the user says none."""
        self._recorded = window

    def learn_window(self, window: int) -> None:
        """Record the window that the server named for an oversized request: an upper bound for what was known."""
        self._refused_at = min(window, self._refused_at or window)

    def ask(self, request: Request) -> Reply:
        """Return one reply, after as many tries as make sense. Only Interrupted is raised."""
        if self._fault:
            return Reply(FATAL, detail=self._fault)
        with_pictures = any(message.pictures for message in request.messages)
        if with_pictures and not self.sees:
            request = replace(request, messages=[*map(describe_pictures, request.messages)])
        words = LiveWords(partial(show_words, request.thread), self.secrets)
        request = replace(request, effort=self._effort, flex=self._flex, on_words=words.add)
        try:
            reply = ask_patiently(self._adapter.ask, request, sleep=self._timing.sleep, chance=self._timing.chance)
        finally:
            words.end()
        if with_pictures and self.sees and reply.outcome == FATAL and "image" in reply.detail.lower():
            logger.debug("{} takes no pictures: it is asked again without ({})", self.name, reply.detail)
            self.sees = False
            return self.ask(request)
        return redact_reply(reply, self.secrets)

    def why_unready(self) -> str:
        """Return what keeps it from being asked, as far as this machine knows: no key, or no package; empty for nothing."""
        sdk = self._provider.wire.sdk
        installed = sdk in sys.modules or find_spec(sdk)
        return self._fault or (
            "" if installed else f"the {sdk} package is not installed: pip install 'paper-pipeline[{sdk}]'"
        )

    def check(self) -> Reachability:
        """Check whether the model can be asked, by a request that costs nothing."""
        found, self._listed = self._listed or self._list(), None
        return Reachability(found.reachable, redact_text(found.detail, self.secrets))

    def _list(self) -> ModelListing:
        found = ModelListing(False, self._fault) if self._fault else self._adapter.check()
        if found.reachable and not self._told_window:
            self._told_window = self._windows.asked() or found.window
        return found

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """Return the cost of so many tokens without the provider's cache."""
        return self._tariff.usd(Usage(tokens_in, 0, tokens_out))

    def price_cached(self, tokens_in: int, tokens_out: int, share: float) -> float:
        """Return the cost if that share of the request is read from the provider's cache, and the rest written to it."""
        read = round(tokens_in * share) if self._tariff.cached < self._tariff.input else 0
        return self._tariff.usd(Usage(tokens_in, read, tokens_out, tokens_in - read if self._tariff.written else 0))

    def dearest(self, tokens_in: int) -> float:
        """Return the largest cost of a request: all of its tokens written to the provider's cache."""
        return max(self._tariff.usd(Usage(tokens_in, 0, 0, written)) for written in (0, tokens_in))


FLEX_SECONDS = 900.0
"""Time limit for the start of a reply at the flex tariff, by its vendor."""
THINKS = 32_768
"""First reply limit of a reasoning model."""


def room_for(facts: Tariff, setting: int) -> Room:
    """Return the reply limits of a model: the user's setting, else what is known of it."""
    if setting:
        return Room(setting, setting)
    most = facts.reply or Room().most
    return Room(min(THINKS, most) if "r" in facts.marks else 0, most)


def facts_of(name: str, tariff: Tariff) -> Tariff:
    """Return the facts of a model by its vendor's name for it, else by the common one."""
    if tariff.window and tariff.reply:
        return tariff
    plain = facts_by_name(name.partition(":")[2])
    return tariff._replace(
        window=tariff.window or plain.window, reply=tariff.reply or plain.reply, marks=tariff.marks or plain.marks
    )


MOST_TRIES = {UNAVAILABLE: 4, TRANSIENT: 4, EMPTY: 3}
"""Limits for failures that waiting does not help, or that cost something each time."""
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
    """Ask a question, again as long as that may help. The cost of failed tries is added to the reply."""
    replies: list[Reply] = []

    def ask_once() -> Reply:
        replies.append(ask(request))
        return replies[-1]

    def before_wait(state: RetryCallState) -> None:
        logger.debug("try {} was {}: waiting {:.1f} s", len(replies), replies[-1].outcome, state.upcoming_sleep)
        request.on_wait(state.upcoming_sleep, replies[-1].detail)

    policy = Retrying(
        retry=retry_if_result(lambda reply: reply.outcome in (RATE_LIMITED, *MOST_TRIES)),
        wait=_WaitAsTold(chance),
        stop=stop_any(_StopAfterTries(request.answered_before), _StopBeforeLongWait(), _StopAtLimit(request)),
        before_sleep=before_wait,
        sleep=sleep,
        retry_error_callback=_reply_of,
    )
    policy(ask_once)
    return _add_costs(replies)


class _WaitAsTold(wait_base):
    """Wait as long as the server's Retry-After, else exponentially longer."""

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
        """Return whether asking again is free and may help, so that patience is the only limit."""
        # decision 132: what broke off in the middle was charged for, and an address that never answered may be wrong.
        down = reply.outcome == UNAVAILABLE or (reply.outcome == TRANSIENT and self._answered_before)
        return down and not reply.tokens_in and (state.seconds_since_start or 0.0) < LONGEST_PATIENCE


class _StopAtLimit(stop_base):
    """Stops where another try might cost more than is left. Good for one question."""

    def __init__(self, request: Request) -> None:
        self._request, self._spent = request, 0.0

    def __call__(self, retry_state: RetryCallState) -> bool:
        self._spent += _reply_of(retry_state).usd
        most = self._request.most_usd
        return bool(most and self._spent) and self._spent + self._request.worst_usd > most


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
