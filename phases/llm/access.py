"""What is needed to reach models: addresses, keys, prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
