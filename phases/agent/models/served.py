"""A model behind a server, as the agent sees it: asked patiently, priced, and with no key of ours in what it says."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from phases.agent.model import FATAL, UNKNOWN_WINDOW, Check, Reply, Request
from phases.agent.models.connection import Line
from phases.agent.models.prices import Tariff, Usage
from phases.agent.models.redaction import redacted, redacted_reply
from phases.agent.models.retries import Sleep, ask_patiently


class Adapter(Protocol):
    """One wire format: asks once, and says how that went."""

    def ask(self, request: Request) -> Reply: ...

    def check(self) -> Check: ...


@dataclass(frozen=True)
class Timing:
    """What the waiting is done with."""

    sleep: Sleep = time.sleep
    chance: Callable[[], float] = random.random


class ServedModel:
    """A model that satisfies the agent's protocol."""

    def __init__(
        self, name: str, adapter: Adapter, line: Line, tariff: Tariff, *, missing: str, timing: Timing
    ) -> None:
        self.name = name
        self.detail = f"{line.server.model} at {line.server.host}"
        self.window = tariff.window or UNKNOWN_WINDOW
        self.priced = tariff.known
        self.secrets = line.server.secrets
        self._adapter, self._tariff, self._missing, self._timing = adapter, tariff, missing, timing

    def ask(self, request: Request) -> Reply:
        """One reply, after as many tries as make sense. Nothing is raised but Interrupted."""
        if self._missing:
            return Reply(FATAL, detail=self._missing)
        reply = ask_patiently(self._adapter.ask, request, sleep=self._timing.sleep, chance=self._timing.chance)
        return redacted_reply(reply, self.secrets)

    def check(self) -> Check:
        """Whether it can be asked, by a question that costs nothing."""
        if self._missing:
            return Check(False, self._missing)
        found = self._adapter.check()
        return found._replace(detail=redacted(found.detail, self.secrets))

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost at most: none of them from the provider's cache."""
        return self._tariff.usd(Usage(tokens_in, 0, tokens_out))
