"""A model behind a server, as the agent sees it: asked patiently, priced, and with no key of ours in what it says."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from phases.llm.access import Access
from phases.llm.adapters.connection import Line, Waits
from phases.llm.adapters.streams import Listed
from phases.llm.error_classification import Server
from phases.llm.model import FATAL, UNKNOWN_WINDOW, Check, Model, Reply, Request, Room
from phases.llm.prices import Tariff, Usage, tariff_of
from phases.llm.providers import ANTHROPIC_WIRE, PROVIDERS, Provider, address_of, key_fault, key_of, secrets_in
from phases.llm.redaction import redacted, redacted_reply
from phases.llm.reply_limits import room_for
from phases.llm.retries import Sleep, ask_patiently


class Adapter(Protocol):
    """One wire format: asks once, and says how that went."""

    def ask(self, request: Request) -> Reply: ...

    def check(self) -> Listed: ...


@dataclass(frozen=True)
class Timing:
    """What the waiting is done with."""

    sleep: Sleep = time.sleep
    chance: Callable[[], float] = random.random


def open_served(
    name: str, provider: Provider, access: Access, *, waits: Waits | None = None, timing: Timing | None = None
) -> Model:
    """A model behind a server, at the address that is given, whoever it is; tests bring waits of their own."""
    base_url = address_of(provider, access.base_url)
    key = key_of(provider, access.key, access.environment)
    secrets = secrets_in((access.key, *access.unsent), access.environment)
    host = urlsplit(base_url).netloc
    server = Server(provider.name, host, name.partition(":")[2], provider.key_variable, secrets)
    line = Line(server, base_url, key, waits or Waits(silence=provider.silence))
    tariff = tariff_of(name, access.prices)
    if access.context_tokens:
        tariff = tariff._replace(window=access.context_tokens)
    adapter = _adapter(provider, line, tariff)
    room, fault = room_for(name, access.most_output), key_fault(provider, key)
    return ServedModel(name, adapter, line, tariff, room=room, fault=fault, timing=timing or Timing())


class ServedModel:
    """A model that satisfies the agent's protocol."""

    def __init__(
        self, name: str, adapter: Adapter, line: Line, tariff: Tariff, *, room: Room, fault: str, timing: Timing
    ) -> None:
        self.name = name
        self.detail = f"{line.server.model} at {line.server.host}"
        self.room = room
        self.priced, self.reports_cost = tariff.known, PROVIDERS[line.server.provider].reports_cost
        self.secrets = line.server.secrets
        self._adapter, self._tariff, self._fault, self._timing = adapter, tariff, fault, timing
        self._told_window: int | None = None
        """What the server says, 0 where it says nothing; None: it was not asked yet."""
        self._listed: Listed | None = None
        """What it answered when it was asked for that, for the next check."""

    @property
    def window(self) -> int:
        """As the user says, else the table, else the server; else a careful guess."""
        if not self._tariff.window and self._told_window is None:
            self._listed = self._list()
        return self._tariff.window or self._told_window or UNKNOWN_WINDOW

    @property
    def window_is_assumed(self) -> bool:
        """Whether the window is a guess."""
        return self.window == UNKNOWN_WINDOW and not (self._tariff.window or self._told_window)

    def take_window(self, window: int) -> None:
        """Takes the window that recorded work was begun with, where neither the user nor the table says one."""
        self._told_window = window

    def ask(self, request: Request) -> Reply:
        """One reply, after as many tries as make sense. Nothing is raised but Interrupted."""
        if self._fault:
            return Reply(FATAL, detail=self._fault)
        reply = ask_patiently(self._adapter.ask, request, sleep=self._timing.sleep, chance=self._timing.chance)
        return redacted_reply(reply, self.secrets)

    def check(self) -> Check:
        """Whether it can be asked, by a question that costs nothing."""
        found, self._listed = self._listed or self._list(), None
        return Check(found.reachable, redacted(found.detail, self.secrets))

    def _list(self) -> Listed:
        found = Listed(False, self._fault) if self._fault else self._adapter.check()
        self._told_window = self._told_window or found.window
        return found

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost where the provider's cache has no part in it."""
        return self._tariff.usd(Usage(tokens_in, 0, tokens_out))


def _adapter(provider: Provider, line: Line, tariff: Tariff) -> Adapter:
    if provider.wire == ANTHROPIC_WIRE:
        from phases.llm.adapters.anthropic_messages import AnthropicMessages

        return AnthropicMessages(line, tariff)
    from phases.llm.adapters.openai_chat import OpenAIChat

    return OpenAIChat(line, tariff, limit=provider.limit, reports_cost=provider.reports_cost)
