"""From the name of a model to what answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from phases.agent.model import Model
from phases.agent.models.connection import Line, Waits
from phases.agent.models.prices import Tariff, tariff_of
from phases.agent.models.providers import ANTHROPIC_WIRE, Provider, address_of, key_of, provider_of, secrets_in
from phases.agent.models.served import Adapter, ServedModel, Timing
from phases.agent.models.verdicts import Server


class Access(NamedTuple):
    """What the user's own settings say of reaching models. Nothing of a task or a paper may stand here."""

    base_url: str = ""
    """Where an OpenAI-compatible server answers; empty: where the provider does."""
    key: str = ""
    """The setting api_key; it goes before the provider's own variable."""
    environment: Mapping[str, str] = {}
    """The real environment: the providers' own variables are read from it."""
    context_tokens: int = 0
    """The model's window; 0: what is known of it."""
    prices: Mapping[str, Any] = {}
    """The user's own price table, of the same shape as prices.json; it goes before that one."""


def open_model(name: str, access: Access | None = None) -> Model:
    """The adapter for a model's name. Raises UsageError for a name, an address or a price that makes no sense.

    A key or a package that is missing is no reason to fail here: the model says so when it is asked.
    """
    if name == "offline":
        from phases.agent.models.offline import OfflineModel

        return OfflineModel()
    if name.startswith("replay:"):
        from phases.agent.models.replay import ReplayModel

        return ReplayModel(name.removeprefix("replay:"))
    return open_served(name, provider_of(name), access or Access())


def open_served(
    name: str, provider: Provider, access: Access, *, waits: Waits | None = None, timing: Timing | None = None
) -> Model:
    """A model behind a server; tests bring waits of their own."""
    base_url = address_of(provider, access.base_url)
    key = key_of(provider, access.key, access.environment)
    secrets = secrets_in(access.key, access.environment)
    host = urlsplit(base_url).netloc
    server = Server(provider.name, host, name.partition(":")[2], provider.key_variable, secrets)
    line = Line(server, base_url, key, waits or Waits(silence=provider.silence))
    tariff = tariff_of(name, access.prices)
    if access.context_tokens:
        tariff = tariff._replace(window=access.context_tokens)
    missing = ""
    if provider.key_variable and not key:
        missing = f"no key for {provider.name}: set {provider.key_variable}, or api_key in the settings file"
    adapter = _adapter(provider, line, tariff)
    return ServedModel(name, adapter, line, tariff, missing=missing, timing=timing or Timing())


def _adapter(provider: Provider, line: Line, tariff: Tariff) -> Adapter:
    if provider.wire == ANTHROPIC_WIRE:
        from phases.agent.models.anthropic_messages import AnthropicMessages

        return AnthropicMessages(line, tariff)
    from phases.agent.models.openai_chat import OpenAIChat

    return OpenAIChat(line, tariff, limit=provider.limit, reports_cost=provider.reports_cost)
