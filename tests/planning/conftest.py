"""What the tests of planning share: what the rules find in a text, which they would otherwise look for at every turn."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from phases.planning.model import material
from phases.planning.rules.plan import plan_by_rules


@cache
def _found(text: str, outline: str, body_start: int) -> dict[str, Any]:
    return plan_by_rules(text, json.loads(outline), body_start=body_start)


def _find_once(text: str, outline: Mapping[str, Any], *, body_start: int) -> dict[str, Any]:
    return copy.deepcopy(_found(text, json.dumps(outline), body_start))


@pytest.fixture(autouse=True)
def hints_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text gives the same hints; a plan without a model is made anew each time."""
    monkeypatch.setattr(material, "plan_by_rules", _find_once)
