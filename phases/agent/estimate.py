"""What writing the code will cost, about, before the first call is made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from phases.llm.model import Model, tokens_of

_TURNS_A_FILE, _TURNS_OF_CHECKS = 1.4, 8
_TOKENS_A_FILE, _TOKENS_OF_AN_INTERFACE, _TOKENS_BESIDE = 1500, 250, 4000
_SMALL = 0.005


def estimate_in_words(model: Model, plan: Mapping[str, Any], write: Sequence[str]) -> str:
    """One line for a person; empty where nobody is paid."""
    turns = round(_TURNS_A_FILE * len(write) + _TURNS_OF_CHECKS)
    shown = tokens_of(json.dumps(plan)) + _TOKENS_BESIDE + len(write) * _TOKENS_OF_AN_INTERFACE // 2
    tokens_in, tokens_out = turns * shown, turns * _TOKENS_A_FILE
    usd = model.price(tokens_in, tokens_out)
    if model.priced and not usd:
        return ""
    cost = "price not known" if not model.priced else f"≈ ${usd:.2f}" if usd >= _SMALL else "under one cent"
    return (
        f"asks {model.name} about {turns} times, ≈ {tokens_in + tokens_out:,} tokens, {cost} (less with a prompt cache)"
    )
