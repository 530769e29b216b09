"""From the name of a model to what answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phases.agent.model import Model
from phases.agent.models.providers import provider_of


@dataclass(frozen=True)
class Access:
    """What the user's own settings say of reaching models. Nothing of a task or a paper may stand here."""

    base_url: str = ""
    """Where a server of the user's own answers; empty: where such a server usually does."""
    key: str = field(default="", repr=False)
    """The setting api_key, for a server of the user's own."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The real environment, with what the settings add to it: the vendors' own variables are read from it."""
    context_tokens: int = 0
    """The model's window; 0: what is known of it."""
    prices: Mapping[str, Any] = field(default_factory=dict)
    """The user's own price table, of the same shape as prices.json; it goes before that one."""
    unsent: tuple[str, ...] = field(default=(), repr=False)
    """Further keys of the user's, which may not be written down either."""
    most_output: int = 0
    """The setting max_output_tokens; 0: what is known of the model."""


def open_model(name: str, access: Access | None = None) -> Model:
    """The adapter for a model's name. Raises UsageError for a name, an address or a price that makes no sense.

    A vendor is asked at its own address, whatever the settings say: its key goes nowhere else.
    A key or a package that is missing is no reason to fail here: the model says so when it is asked.
    """
    if name == "offline":
        from phases.agent.models.offline import OfflineModel

        return OfflineModel()
    if name.startswith("replay:"):
        from phases.agent.models.replay import ReplayModel

        return ReplayModel(name.removeprefix("replay:"))
    provider = provider_of(name)
    from phases.agent.models.served import open_served

    access = access or Access()
    return open_served(name, provider, access if provider.takes_address else replace(access, base_url=""))
